//! Bytes and where they come from: blobs, files, conversion and reordering of elements, random numbers, de-duplication.
//!
//! Nothing here knows what the bytes are for; where they go is the [`crate::layout`]'s business.

pub mod blob;
pub mod dedup;
pub mod number;
pub mod origin;
pub mod positioned;
pub mod produce;
pub mod random;
mod reorder;
pub mod workers;

pub use blob::{Blob, BlobId, Source};
pub use origin::{Head, Origin};
