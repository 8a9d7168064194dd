//! Recovers the layout options and the serializer that reproduce the bytes of a file.

pub mod layout;
pub mod repair;
