//! Data of any size: a length and a source that produces the bytes. Only data written in the YAML are held in memory.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Range;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::Path;
use std::sync::Arc;

use super::number::NumericValue;
use super::random::Distribution;
use crate::format::ScalarType;
use crate::format::scalar_type::Encoding;

/// Index of a blob in [`crate::program::Program::blobs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlobId(pub u32);

/// Data as a length and a source.
///
/// ```
/// use pte_model::data::{Blob, Origin};
/// use pte_model::reader;
///
/// let program = reader::program::read(&Origin::Bytes(pte_model::LINEAR_PTE.into()))?.program;
/// let weight: &Blob = &program.blobs[0];
/// assert_eq!(weight.len(), 48);
/// assert!(!weight.is_empty());
/// assert_eq!((weight.file(), weight.file_range()), (None, None)); // the bytes are in memory
/// assert_eq!(weight.read_at(0, 4)?, 0.2576316f32.to_le_bytes());
///
/// let mut copy = Vec::new();
/// weight.copy_to(&mut copy)?;
/// assert_eq!(copy, weight.to_vec()?);
/// assert_eq!(Blob::bytes(copy).digest()?, weight.digest()?);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Blob {
    /// Length in bytes.
    #[doc(hidden)]
    pub len: u64,
    /// Source of the bytes.
    #[doc(hidden)]
    pub source: BlobSource,
    /// Equal data with the same number are stored once; 0 by default.
    pub copy: u32,
}

/// A range of bytes in memory. Ranges of the same bytes share them, also if they overlap: the tensors of a hostile file
/// may all have the same constant.
#[derive(Clone)]
pub struct SharedBytes {
    bytes: Held,
    range: Range<usize>,
}

/// Owner of the bytes of [`SharedBytes`].
#[derive(Clone)]
enum Held {
    /// The bytes themselves.
    Bytes(Arc<[u8]>),
    /// Memory of the caller.
    Owner(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

// The bytes are only read, so that a panic while they are read leaves nothing half-changed.
impl RefUnwindSafe for Held {}
impl UnwindSafe for Held {}

impl Held {
    fn bytes(&self) -> &[u8] {
        match self {
            Held::Bytes(bytes) => bytes,
            Held::Owner(owner) => (**owner).as_ref(),
        }
    }
}

impl SharedBytes {
    /// Returns a range of these bytes; `None` if it is outside.
    pub fn range(&self, offset: usize, len: usize) -> Option<SharedBytes> {
        let start = self.range.start.checked_add(offset)?;
        let end = start.checked_add(len).filter(|end| *end <= self.range.end)?;
        Some(SharedBytes { bytes: self.bytes.clone(), range: start..end })
    }

    /// Returns `true` if two ranges are the same bytes of the same memory. It reads none.
    pub fn is_same_memory(&self, other: &SharedBytes) -> bool {
        self.range == other.range && std::ptr::eq(self.bytes.bytes(), other.bytes.bytes())
    }
}

impl From<Arc<[u8]>> for SharedBytes {
    fn from(bytes: Arc<[u8]>) -> SharedBytes {
        let range = 0..bytes.len();
        SharedBytes { bytes: Held::Bytes(bytes), range }
    }
}

impl std::ops::Deref for SharedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes.bytes()[self.range.clone()]
    }
}

impl fmt::Debug for SharedBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for SharedBytes {
    fn eq(&self, other: &SharedBytes) -> bool {
        **self == **other
    }
}

/// Source of a blob's bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum BlobSource {
    /// Bytes in memory.
    Bytes(SharedBytes),
    /// A range of a file.
    File {
        /// File.
        path: Arc<Path>,
        /// Offset in bytes.
        offset: u64,
    },
    /// A pattern that is repeated, and truncated to the blob's length.
    Repeat(Arc<[u8]>),
    /// `start`, `start + step`, ... as elements of a type.
    Iota {
        /// Element type.
        scalar_type: ScalarType,
        /// First number.
        start: NumericValue,
        /// Difference between consecutive numbers.
        step: NumericValue,
    },
    /// Random elements of a type, reproducible on every machine.
    Random {
        /// Element type.
        scalar_type: ScalarType,
        /// Seed of the sequence.
        seed: u64,
        /// Distribution of the numbers.
        distribution: Distribution,
    },
    /// The elements of another blob, converted to another type.
    Converted {
        /// Blob to convert.
        data: Arc<Blob>,
        /// Element type of `data`.
        from: ScalarType,
        /// Element type of the result.
        to: ScalarType,
    },
    /// The elements of another blob in another order of dimensions.
    Reordered {
        /// Blob to reorder.
        data: Arc<Blob>,
        /// Bytes per element.
        element: u64,
        /// Size of each dimension.
        sizes: Arc<[u64]>,
        /// Dimensions of `data` from the outermost to the innermost.
        from: Arc<[u8]>,
        /// Dimensions of the result from the outermost to the innermost.
        to: Arc<[u8]>,
    },
    /// Other blobs, one after the other. The sum of their lengths is the length of the blob.
    Joined(Arc<[Blob]>),
}

impl Blob {
    /// Creates a blob of `len` bytes.
    #[doc(hidden)]
    pub fn new(len: u64, source: BlobSource) -> Blob {
        Blob { len, source, copy: 0 }
    }

    /// Creates a blob of bytes in memory.
    pub fn bytes(bytes: impl Into<Arc<[u8]>>) -> Blob {
        let bytes: Arc<[u8]> = bytes.into();
        Blob::new(bytes.len() as u64, BlobSource::Bytes(bytes.into()))
    }

    /// Creates a blob of the bytes of an owner, without a copy: a mapped file, or an array of another language. The
    /// owner is dropped with the last blob that has the bytes, and must return the same bytes until then.
    ///
    /// ```
    /// use pte_model::data::Blob;
    ///
    /// let blob = Blob::owned(vec![1, 2, 3]);
    /// assert_eq!((blob.len(), blob.read_at(1, 2)?), (3, vec![2, 3]));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn owned(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Blob {
        let bytes = Held::Owner(Arc::new(owner));
        let range = 0..bytes.bytes().len();
        Blob::new(range.len() as u64, BlobSource::Bytes(SharedBytes { bytes, range }))
    }

    /// Joins blobs, one after the other, without empty ones. `None` if the length overflows.
    #[doc(hidden)]
    pub fn joined(parts: impl IntoIterator<Item = Blob>) -> Option<Blob> {
        let mut parts: Vec<Blob> = parts.into_iter().filter(|part| part.len > 0).collect();
        let len = parts.iter().try_fold(0u64, |len, part| len.checked_add(part.len))?;
        match parts.len() {
            1 => parts.pop(),
            _ => Some(Blob::new(len, BlobSource::Joined(parts.into()))),
        }
    }

    /// Returns `len` bytes from `offset` on, as a range of the same source if possible, otherwise as a copy. `None` if
    /// they are not within the blob.
    ///
    /// # Errors
    /// The bytes cannot be read.
    #[doc(hidden)]
    pub fn part(&self, offset: u64, len: u64) -> io::Result<Option<Blob>> {
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            return Ok(None);
        }
        if len == 0 {
            return Ok(Some(Blob::bytes([])));
        }
        if len == self.len {
            return Ok(Some(Blob::new(len, self.source.clone())));
        }
        if let BlobSource::Joined(parts) = &self.source {
            let mut start = 0;
            for part in parts.iter() {
                // The sum is the length of the blob.
                if offset >= start && offset + len <= start + part.len {
                    return part.part(offset - start, len);
                }
                start += part.len;
            }
        }
        Ok(Some(match &self.source {
            BlobSource::File { path, offset: start } => {
                let Some(offset) = start.checked_add(offset) else { return Ok(None) };
                Blob::new(len, BlobSource::File { path: path.clone(), offset })
            }
            BlobSource::Bytes(bytes) => {
                let range = usize::try_from(offset).ok().zip(usize::try_from(len).ok());
                let Some(bytes) = range.and_then(|(offset, len)| bytes.range(offset, len)) else { return Ok(None) };
                Blob::new(len, BlobSource::Bytes(bytes))
            }
            BlobSource::Repeat(_)
            | BlobSource::Iota { .. }
            | BlobSource::Random { .. }
            | BlobSource::Converted { .. }
            | BlobSource::Reordered { .. }
            | BlobSource::Joined(_) => {
                let Ok(len) = usize::try_from(len) else { return Ok(None) };
                Blob::bytes(self.read_at(offset, len)?)
            }
        }))
    }

    /// Returns the offset of a blob that [`Blob::part`] made of another; `None` if it has another source.
    #[doc(hidden)]
    pub fn offset_in(&self, whole: &Blob) -> Option<u64> {
        let (start, end) = match (&self.source, &whole.source) {
            (BlobSource::File { path, offset }, BlobSource::File { path: of, offset: start }) if path == of => {
                (*start, *offset)
            }
            (BlobSource::Bytes(bytes), BlobSource::Bytes(of))
                if std::ptr::eq(bytes.bytes.bytes(), of.bytes.bytes()) =>
            {
                (of.range.start as u64, bytes.range.start as u64)
            }
            _ => return None,
        };
        end.checked_sub(start).filter(|offset| offset.checked_add(self.len).is_some_and(|end| end <= whole.len))
    }

    /// Returns a range like [`Blob::part`]. If the range is the whole blob, returns the blob itself without reading it.
    ///
    /// # Errors
    /// The bytes cannot be read.
    #[doc(hidden)]
    pub fn part_or_whole(&self, offset: u64, len: u64) -> io::Result<Option<Blob>> {
        if (offset, len) == (0, self.len) { Ok(Some(self.clone())) } else { self.part(offset, len) }
    }

    /// Returns the length in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if the blob has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the source of the bytes.
    #[doc(hidden)]
    pub fn source(&self) -> &BlobSource {
        &self.source
    }

    /// Reorders elements of `element` bytes from dimension order `from` to `to`. Returns the blob unchanged if the
    /// orders are equivalent, or if its length does not match the sizes.
    #[doc(hidden)]
    pub fn reordered(self, element: u64, sizes: &[i32], from: &[u8], to: &[u8]) -> Blob {
        // The position of a dimension of size 1 does not matter.
        let significant = |order: &[u8]| -> Vec<u8> {
            order.iter().copied().filter(|d| sizes.get(usize::from(*d)) != Some(&1)).collect()
        };
        if from.len() != to.len()
            || significant(from) == significant(to)
            || matches!(self.source, BlobSource::Repeat(_))
        {
            return self;
        }
        let sizes: Arc<[u64]> = sizes.iter().map(|size| u64::try_from(*size).unwrap_or(0)).collect();
        let nbytes = sizes.iter().try_fold(element, |product, size| product.checked_mul(*size));
        if self.len == 0 || nbytes != Some(self.len) {
            return self;
        }
        let (len, from, to) = (self.len, from.into(), to.into());
        Blob::new(len, BlobSource::Reordered { data: Arc::new(self), element, sizes, from, to })
    }

    /// Returns the file that the bytes are read from; the first one of several, `None` without one.
    pub fn file(&self) -> Option<&Path> {
        let mut first = None;
        self.each_file(&mut |path| first = first.or(Some(path)));
        first
    }

    /// Returns the file and the offset of the first byte in it, if the bytes are one range of a file.
    pub fn file_range(&self) -> Option<(&Path, u64)> {
        match &self.source {
            BlobSource::File { path, offset } => Some((path, *offset)),
            BlobSource::Bytes(_)
            | BlobSource::Repeat(_)
            | BlobSource::Iota { .. }
            | BlobSource::Random { .. }
            | BlobSource::Converted { .. }
            | BlobSource::Reordered { .. }
            | BlobSource::Joined(_) => None,
        }
    }

    /// Calls `take` with each file that the bytes are read from.
    #[doc(hidden)]
    pub fn each_file<'b>(&'b self, take: &mut dyn FnMut(&'b Path)) {
        match &self.source {
            BlobSource::File { path, .. } => take(path),
            BlobSource::Reordered { data, .. } | BlobSource::Converted { data, .. } => data.each_file(take),
            BlobSource::Joined(parts) => parts.iter().for_each(|part| part.each_file(take)),
            BlobSource::Bytes(_) | BlobSource::Repeat(_) | BlobSource::Iota { .. } | BlobSource::Random { .. } => {}
        }
    }

    /// Converts elements of type `from` to type `to`. `None` for unknown and opaque types, and if the length overflows.
    #[doc(hidden)]
    pub fn converted(self, from: ScalarType, to: ScalarType) -> Option<Blob> {
        if from == to {
            return Some(self);
        }
        let (from_info, to_info) = (from.info()?, to.info()?);
        if from_info.encoding == Encoding::Opaque || to_info.encoding == Encoding::Opaque {
            return None;
        }
        let len = (self.len / from_info.size).checked_mul(to_info.size)?;
        Some(Blob::new(len, BlobSource::Converted { data: Arc::new(self), from, to }))
    }
}

/// Returns an upper bound of the bytes of data that do not overlap.
pub fn available<'b>(payloads: impl Iterator<Item = &'b Blob>) -> u64 {
    let (mut ends, mut total) = (HashMap::new(), 0u64);
    for payload in payloads {
        match payload.source() {
            BlobSource::File { path, offset } => {
                let end: &mut u64 = ends.entry(path).or_default();
                *end = (*end).max(offset.saturating_add(payload.len()));
            }
            BlobSource::Bytes(_)
            | BlobSource::Repeat(_)
            | BlobSource::Iota { .. }
            | BlobSource::Random { .. }
            | BlobSource::Converted { .. }
            | BlobSource::Reordered { .. }
            | BlobSource::Joined(_) => total = total.saturating_add(payload.len()),
        }
    }
    ends.into_values().fold(total, u64::saturating_add)
}
