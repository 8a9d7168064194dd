//! Data of any size that is not held in memory unless it was written in the text: a length and a way to produce the bytes.
//!
//! A blob says nothing of where its bytes go.

use std::path::Path;
use std::sync::Arc;


use super::number::Number;
use super::random::Distribution;
use crate::format::ScalarType;
use crate::format::scalar_type::Encoding;

/// Index of a blob in [`crate::program::Program::blobs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(pub u32);

/// Data: how long, and where from.
#[derive(Debug, Clone, PartialEq)]
pub struct Blob {
    /// Length in bytes.
    pub len: u64,
    /// Where the bytes come from.
    pub source: Source,
    /// Equal data share a place in a file; those of another copy have one of their own. 0 for most.
    pub copy: u32,
}

/// Where a blob's bytes come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// These.
    Bytes(Arc<[u8]>),
    /// A file, from this offset.
    File {
        /// The file.
        path: Arc<Path>,
        /// Bytes from its start.
        offset: u64,
    },
    /// These bytes, again and again.
    Repeat(Arc<[u8]>),
    /// `start`, `start + step`, ... as elements of a type.
    Iota {
        /// Element type.
        scalar_type: ScalarType,
        /// First number.
        start: Number,
        /// Difference of neighbours.
        step: Number,
    },
    /// Random elements of a type, the same on every machine.
    Random {
        /// Element type.
        scalar_type: ScalarType,
        /// The same seed gives the same numbers.
        seed: u64,
        /// How they are spread.
        distribution: Distribution,
    },
    /// The elements of another blob as another type.
    Converted {
        /// The blob.
        data: Arc<Blob>,
        /// Its type.
        from: ScalarType,
        /// The wanted one.
        to: ScalarType,
    },
    /// The elements of another blob in another order of dimensions.
    Reordered {
        /// The blob.
        data: Arc<Blob>,
        /// Bytes per element.
        element: u64,
        /// Size of each dimension.
        sizes: Arc<[u64]>,
        /// The blob's dimensions from the outermost to the innermost.
        from: Arc<[u8]>,
        /// The wanted order.
        to: Arc<[u8]>,
    },
}

impl Blob {
    /// A blob of so many bytes.
    pub fn new(len: u64, source: Source) -> Blob {
        Blob { len, source, copy: 0 }
    }

    /// A blob of bytes in memory.
    pub fn bytes(bytes: impl Into<Arc<[u8]>>) -> Blob {
        let bytes = bytes.into();
        Blob::new(bytes.len() as u64, Source::Bytes(bytes))
    }

    /// The elements, of so many bytes each, which lie with dimensions `from`, as they lie with dimensions `to`; as it is if
    /// that is the same, or if it has not the bytes that the sizes say.
    pub fn reordered(self, element: u64, sizes: &[i32], from: &[u8], to: &[u8]) -> Blob {
        // A dimension of size 1 may stand anywhere.
        let matter = |order: &[u8]| -> Vec<u8> {
            order.iter().copied().filter(|d| sizes.get(usize::from(*d)) != Some(&1)).collect()
        };
        if from.len() != to.len() || matter(from) == matter(to) || matches!(self.source, Source::Repeat(_)) {
            return self;
        }
        let sizes: Arc<[u64]> = sizes.iter().map(|size| u64::try_from(*size).unwrap_or(0)).collect();
        let nbytes = sizes.iter().try_fold(element, |product, size| product.checked_mul(*size));
        if self.len == 0 || nbytes != Some(self.len) {
            return self;
        }
        let (len, from, to) = (self.len, from.into(), to.into());
        Blob::new(len, Source::Reordered { data: Arc::new(self), element, sizes, from, to })
    }

    /// The file that the bytes come from, if they come from one.
    pub fn file(&self) -> Option<&Path> {
        match &self.source {
            Source::File { path, .. } => Some(path),
            Source::Reordered { data, .. } | Source::Converted { data, .. } => data.file(),
            _ => None,
        }
    }

    /// The elements, which are of type `from`, as another type; as it is if that is the same. `None` for types without
    /// numbers, and if there are more bytes than can be counted.
    pub fn converted(self, from: ScalarType, to: ScalarType) -> Option<Blob> {
        if from == to {
            return Some(self);
        }
        let (from_info, to_info) = (from.info()?, to.info()?);
        if from_info.encoding == Encoding::Opaque || to_info.encoding == Encoding::Opaque {
            return None;
        }
        let len = (self.len / from_info.size).checked_mul(to_info.size)?;
        Some(Blob::new(len, Source::Converted { data: Arc::new(self), from, to }))
    }
}
