//! A file to read from: on disk, a range of one on disk, or in memory. Only what is requested is read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use super::{Blob, Source};

/// A file to read from: one on disk, of which only what is asked for is read, or one in memory.
#[derive(Debug, Clone)]
pub enum Origin {
    /// A file on disk.
    File(Arc<Path>),
    /// A range of a file on disk, which is a file of its own: the program inside a `.bpte`.
    Part {
        /// The file.
        path: Arc<Path>,
        /// Where the range begins.
        offset: u64,
        /// Its length.
        len: u64,
    },
    /// Bytes.
    Bytes(Arc<[u8]>),
}

/// The first bytes of an [`Origin`]: read from the file, or shared with what is in memory already.
#[derive(Debug, Clone)]
pub enum Head {
    /// Read.
    Read(Vec<u8>),
    /// So many bytes of these.
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
    /// Length in bytes.
    ///
    /// # Errors
    /// A file that cannot be looked at, or that is a pipe or a device.
    // Whether it is empty is of no interest, and would be as fallible.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> io::Result<u64> {
        match self {
            Origin::File(path) => {
                let metadata = path.metadata()?;
                if metadata.is_file() { Ok(metadata.len()) } else { Err(io::Error::new(io::ErrorKind::IsADirectory, "expected a regular file")) }
            }
            Origin::Part { len, .. } => Ok(*len),
            Origin::Bytes(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// The first `len` bytes, or all if there are fewer.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn head(&self, len: u64) -> io::Result<Head> {
        // What is read is bounded by what is there, whatever a header promises.
        let len = len.min(self.len()?);
        let read = |path: &Path, offset: u64| {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(offset))?;
            let mut bytes = Vec::with_capacity(len as usize);
            file.take(len).read_to_end(&mut bytes)?;
            Ok(Head::Read(bytes))
        };
        match self {
            Origin::File(path) => read(path, 0),
            Origin::Part { path, offset, .. } => read(path, *offset),
            Origin::Bytes(bytes) => Ok(Head::Shared(bytes.clone(), len as usize)),
        }
    }

    /// A range of the file as a blob; `None` if it is not inside the file.
    pub fn blob(&self, offset: u64, len: u64, file_len: u64) -> Option<Blob> {
        offset.checked_add(len).filter(|end| *end <= file_len)?;
        let source = match self {
            Origin::File(path) => Source::File { path: path.clone(), offset },
            Origin::Part { path, offset: start, .. } => {
                Source::File { path: path.clone(), offset: start.checked_add(offset)? }
            }
            Origin::Bytes(bytes) => Source::Bytes(bytes[offset as usize..(offset + len) as usize].into()),
        };
        Some(Blob::new(len, source))
    }

    /// A range of the file.
    ///
    /// # Errors
    /// A file that cannot be read, or ends before the range does.
    pub fn range(&self, offset: u64, len: u64) -> io::Result<Vec<u8>> {
        let length = self.len()?;
        let blob = self.blob(offset, len, length);
        blob.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?.to_vec()
    }

    /// Whether a blob is the range of this file that begins at `offset`.
    pub fn is_range(&self, blob: &Blob, offset: u64) -> bool {
        let Source::File { path, offset: at } = &blob.source else { return false };
        match self {
            Origin::File(own) => own == path && *at == offset,
            Origin::Part { path: own, offset: start, .. } => own == path && Some(*at) == start.checked_add(offset),
            Origin::Bytes(_) => false,
        }
    }
}
