//! Data and their sources: blobs, files, conversion and reordering of elements, random numbers, deduplication.
//!
//! [`crate::program`] refers to the data.

pub mod blob;
pub mod dedup;
pub mod elements;
pub mod files;
pub mod number;
pub mod origin;
pub mod positioned;
pub mod produce;
pub mod random;
mod reorder;
pub mod workers;

pub use blob::{Blob, BlobId, BlobSource, available};
pub use origin::{Head, Origin, PlannedBytes};
