//! Binary input: a file on disk, a range of one, bytes in memory, or a file that is not written. Only the requested
//! ranges are read.

use std::io;
use std::path::Path;
use std::sync::Arc;

use super::blob::SharedBytes;
use super::files::{self, File};
use super::{Blob, BlobSource, workers};
use crate::format::{Format, container};

/// Binary input.
#[derive(Debug, Clone)]
pub enum Origin {
    /// A file on disk.
    File(Arc<Path>),
    /// A range of a file on disk: the program inside a `.bpte`.
    Part {
        /// File.
        path: Arc<Path>,
        /// Offset of the range in bytes.
        offset: u64,
        /// Length of the range in bytes.
        len: u64,
    },
    /// Bytes in memory.
    Bytes(Arc<[u8]>),
    /// The content of a file that is not written.
    Planned(Arc<PlannedBytes>),
}

/// Size in bytes from which on two threads read the first bytes of a file, because the kernel must first clear the
/// memory that it copies them to.
const LARGE: u64 = 4 << 20;

/// Blobs, one after the other, with an index to find any range quickly.
#[derive(Debug, Default)]
pub struct PlannedBytes {
    /// Offset of each blob.
    starts: Vec<u64>,
    /// The blobs; none is empty.
    parts: Vec<Blob>,
    len: u64,
}

impl PlannedBytes {
    /// Adds a blob at an offset, and `fill` bytes up to it. The part of the blob that overlaps the previous one is
    /// skipped.
    pub fn add(&mut self, offset: u64, blob: Blob, fill: u8) {
        let gap = offset.saturating_sub(self.len);
        let fill: Arc<[u8]> = [fill].into();
        for part in [Blob::new(gap, BlobSource::Repeat(fill)), blob] {
            if let Some(end) = self.len.checked_add(part.len()).filter(|end| *end > self.len) {
                self.starts.push(self.len);
                self.parts.push(part);
                self.len = end;
            }
        }
    }

    /// Returns a range; `None` if it is outside, or cannot be read.
    fn range(&self, offset: u64, len: u64) -> Option<Blob> {
        let end = offset.checked_add(len).filter(|end| *end <= self.len)?;
        let first = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let parts = self.starts.iter().zip(&self.parts).skip(first).take_while(|(start, _)| **start < end);
        let pieces = parts.map(|(start, part)| {
            let from = offset.max(*start);
            part.part_or_whole(from - start, end.min(start + part.len()) - from).ok().flatten()
        });
        Blob::joined(pieces.collect::<Option<Vec<Blob>>>()?)
    }
}

/// The first bytes of an [`Origin`], read from the file or shared with the bytes in memory.
#[derive(Debug, Clone)]
pub enum Head {
    /// Bytes read from a file.
    Read(Vec<u8>),
    /// The first bytes of a shared buffer, with their number.
    Shared(Arc<[u8]>, usize),
}

impl std::ops::Deref for Head {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Head::Read(bytes) => bytes,
            Head::Shared(bytes, len) => &bytes[..*len],
        }
    }
}

impl Origin {
    /// Returns the length in bytes.
    ///
    /// # Errors
    /// The metadata of the file cannot be read, or it is not a regular file.
    // Nothing needs `is_empty`, which would also be fallible.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> io::Result<u64> {
        match self {
            Origin::File(path) => {
                let metadata = files::metadata(path)?;
                if metadata.is_file() {
                    Ok(metadata.len())
                } else {
                    Err(io::Error::new(io::ErrorKind::IsADirectory, "expected a regular file"))
                }
            }
            Origin::Part { len, .. } => Ok(*len),
            Origin::Bytes(bytes) => Ok(bytes.len() as u64),
            Origin::Planned(planned) => Ok(planned.len),
        }
    }

    /// Returns the format by the content; `None` if it is unknown.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn format(&self) -> io::Result<Option<Format>> {
        Ok(Format::identify(&self.head(container::IDENTIFYING)?, self.len()?))
    }

    /// Returns the format by the extension of the file's name; `None` if it is unknown.
    pub fn format_by_name(&self) -> Option<Format> {
        match self {
            Origin::File(path) => Format::of_extension(path.extension()?.to_str()?),
            Origin::Part { .. } | Origin::Bytes(_) | Origin::Planned(_) => None,
        }
    }

    /// Returns the format by the content, or that of a `.safetensors` by its name: the error about a malformed header
    /// must be about the header. `None` if neither says it.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn recognized_format(&self) -> io::Result<Option<Format>> {
        let by_name = || self.format_by_name().filter(|format| *format == Format::Safetensors);
        Ok(self.format()?.or_else(by_name))
    }

    /// Reads the first `len` bytes, or all if there are fewer.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn head(&self, len: u64) -> io::Result<Head> {
        // Sizes in headers are untrusted: allocate at most the size of the file.
        let len = len.min(self.len()?);
        let read = |path: &Path, offset: u64| {
            let len_in_memory = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
            let (file, mut bytes) = (File::open(path)?, vec![0; len_in_memory]);
            let (first, second) = bytes.split_at_mut(if len < LARGE { 0 } else { (len / 2) as usize });
            let middle = offset.saturating_add(first.len() as u64);
            let read = |at: u64, bytes| files::read_exact_at(&file, at, bytes);
            let (first, second) = workers::both(len >= LARGE, || read(offset, first), || read(middle, second));
            first.and(second)?;
            Ok(Head::Read(bytes))
        };
        match self {
            Origin::File(path) => read(path, 0),
            Origin::Part { path, offset, .. } => read(path, *offset),
            Origin::Bytes(bytes) => Ok(Head::Shared(bytes.clone(), len as usize)),
            Origin::Planned(_) => Ok(Head::Read(self.range(0, len)?)),
        }
    }

    /// Returns a range of the input, which has `file_len` bytes, as a blob; `None` if it is outside.
    pub fn blob(&self, offset: u64, len: u64, file_len: u64) -> Option<Blob> {
        offset.checked_add(len).filter(|end| *end <= file_len)?;
        let source = match self {
            Origin::File(path) => BlobSource::File { path: path.clone(), offset },
            Origin::Part { path, offset: start, .. } => {
                BlobSource::File { path: path.clone(), offset: start.checked_add(offset)? }
            }
            Origin::Bytes(bytes) => {
                let (offset, len) = (usize::try_from(offset).ok()?, usize::try_from(len).ok()?);
                BlobSource::Bytes(SharedBytes::from(bytes.clone()).range(offset, len)?)
            }
            Origin::Planned(planned) => return planned.range(offset, len),
        };
        Some(Blob::new(len, source))
    }

    /// Reads a range of the input.
    ///
    /// # Errors
    /// The file cannot be read, or ends before the range.
    pub fn range(&self, offset: u64, len: u64) -> io::Result<Vec<u8>> {
        let length = self.len()?;
        let blob = self.blob(offset, len, length);
        blob.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?.to_vec()
    }

    /// Returns `true` if a blob is the range of this file that begins at `offset`.
    pub fn is_range(&self, blob: &Blob, offset: u64) -> bool {
        let BlobSource::File { path, offset: at } = &blob.source else { return false };
        match self {
            Origin::File(own) => own == path && *at == offset,
            Origin::Part { path: own, offset: start, .. } => own == path && Some(*at) == start.checked_add(offset),
            Origin::Bytes(_) | Origin::Planned(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_a_planned_file_are_those_of_its_bytes() {
        let mut planned = PlannedBytes::default();
        planned.add(0, Blob::bytes([1, 2, 3]), 0);
        planned.add(3, Blob::bytes([]), 0);
        planned.add(6, Blob::bytes([4, 5]), 9);
        planned.add(10, Blob::bytes([]), 9);
        let origin = Origin::Planned(Arc::new(planned));
        let bytes = [1, 2, 3, 9, 9, 9, 4, 5, 9, 9];
        assert_eq!(origin.len().unwrap(), 10);
        assert_eq!(*origin.head(99).unwrap(), bytes);
        for start in 0..=10usize {
            for end in start..=10 {
                let found = origin.blob(start as u64, (end - start) as u64, 10).unwrap();
                assert_eq!(found.to_vec().unwrap(), bytes[start..end], "{start}..{end}");
            }
        }
        assert!(origin.blob(9, 2, 11).is_none() && origin.range(u64::MAX, 2).is_err());
    }
}
