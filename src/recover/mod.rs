//! Layout options and serializer that explain the bytes of a file.

pub mod layout;
pub mod repair;
