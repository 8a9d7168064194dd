//! Data of any size that is not held in memory unless it was written in the text: a length and a way to produce the bytes.
//!
//! A blob says nothing of where its bytes go.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::number::Number;
use super::produce::Producer;
use super::random::Distribution;
use crate::schema::ScalarType;
use crate::schema::scalar_type::Encoding;

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

    /// Writes all bytes to `out`, in blocks.
    ///
    /// # Errors
    /// What `out` says; a file that cannot be read or has become too short, named in the message; a number that its new type
    /// does not hold.
    pub fn copy_to(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Source::Bytes(bytes) = &self.source {
            return out.write_all(bytes);
        }
        if self.len == 0 {
            return Ok(());
        }
        let producer = self.open()?;
        let (mut start, mut bytes) = (0, Vec::new());
        while start < self.len {
            bytes.resize((self.len - start).min(self.block()) as usize, 0);
            producer.read_at(start, &mut bytes)?;
            out.write_all(&bytes)?;
            start += bytes.len() as u64;
        }
        Ok(())
    }

    /// How many bytes are best asked for at a time.
    pub(crate) fn block(&self) -> u64 {
        match self.source {
            // The larger, the longer the pieces that lie together.
            Source::Reordered { .. } => 8 << 20,
            _ => 1 << 20,
        }
    }

    /// What gives any part of the bytes, to any thread.
    ///
    /// # Errors
    /// A file that cannot be opened, named in the message.
    pub(crate) fn open(&self) -> io::Result<Producer<'_>> {
        Producer::open(self)
    }

    /// Some of the bytes, from `offset` on, of which `len` must be there.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    pub fn read_at(&self, offset: u64, len: usize) -> io::Result<Vec<u8>> {
        self.read_several([offset], len)
    }

    /// So many bytes from each of these offsets on, one after the other.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    pub fn read_several<const N: usize>(&self, offsets: [u64; N], len: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; N * len];
        if bytes.is_empty() {
            return Ok(bytes);
        }
        let producer = self.open()?;
        for (offset, bytes) in offsets.into_iter().zip(bytes.chunks_exact_mut(len)) {
            producer.read_at(offset, bytes)?;
        }
        Ok(bytes)
    }

    /// All bytes in memory. For small blobs, and for those that go into the FlatBuffer.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        // The length may come from a stranger: grow with what really arrives.
        let mut bytes = Vec::new();
        self.copy_to(&mut bytes)?;
        Ok(bytes)
    }

    /// SHA-256 of the bytes.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    pub fn digest(&self) -> io::Result<[u8; 32]> {
        struct Hash(Sha256);
        impl Write for Hash {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.update(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut hash = Hash(Sha256::new());
        self.copy_to(&mut hash)?;
        Ok(hash.0.finalize().into())
    }
}

/// The `index`-th number of a progression. Its ends are checked when the text is read, so it never leaves the type.
pub(crate) fn iota(start: Number, step: Number, index: u64) -> Number {
    match (start, step) {
        (Number::Int(start), Number::Int(step)) => Number::Int(start.saturating_add(step.saturating_mul(index.into()))),
        _ => Number::Float(start.to_f64() + step.to_f64() * index as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_pattern_is_cut_at_the_length() {
        let blob = Blob::new(7, Source::Repeat(Arc::from([1, 2, 3])));
        assert_eq!(blob.to_vec().unwrap(), [1, 2, 3, 1, 2, 3, 1]);
    }

    #[test]
    fn channels_last_is_a_reordering() {
        // Sizes [1, 2, 2, 2], logical 0..8; in memory channels run fastest.
        let data = Arc::new(Blob::bytes([0, 1, 2, 3, 4, 5, 6, 7]));
        let source = Source::Reordered {
            data,
            element: 1,
            sizes: Arc::from([1, 2, 2, 2]),
            from: Arc::from([0, 1, 2, 3]),
            to: Arc::from([0, 2, 3, 1]),
        };
        assert_eq!(Blob::new(8, source).to_vec().unwrap(), [0, 4, 1, 5, 2, 6, 3, 7]);
    }

    #[test]
    fn a_file_that_is_gone_is_named() {
        let source = Source::File { path: Arc::from(Path::new("no/such/file.bin")), offset: 0 };
        let error = Blob::new(1, source).to_vec().unwrap_err().to_string();
        assert!(error.starts_with("no/such/file.bin: "), "{error}");
    }
}
