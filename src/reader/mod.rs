//! Bytes -> Program: files of others, which nobody trusts. Every access is checked, work is bounded by the file's size,
//! and weights are not loaded: they stay ranges of the file.
//!
//! A file that can be read is not yet one that the runtime accepts, let alone one that makes sense.

pub mod bundled_program;
pub mod flat_tensor;
pub mod flatbuffer;
pub mod layout;
pub mod mend;
pub mod program;
pub mod safetensors;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use crate::program::{Blob, Source};

pub use flatbuffer::ReadError;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A `.pte`.
    Program,
    /// A `.ptd`.
    FlatTensor,
    /// A `.bpte`.
    BundledProgram,
    /// A `.safetensors`.
    Safetensors,
}

/// How many first bytes tell what a file is.
pub const TELLING: u64 = 9;

/// What a file of `len` bytes is, by its first ones: by the letters of its identifier, whatever its version, or by its
/// header. `None`: none of ours.
pub fn format(head: &[u8], len: u64) -> Option<Format> {
    match head.get(4..8) {
        Some([b'E', b'T', b'0'..=b'9', b'0'..=b'9']) => Some(Format::Program),
        Some([b'F', b'T', b'0'..=b'9', b'0'..=b'9']) => Some(Format::FlatTensor),
        Some([b'B', b'P', b'0'..=b'9', b'0'..=b'9']) => Some(Format::BundledProgram),
        _ => safetensors::is_safetensors(head, len).then_some(Format::Safetensors),
    }
}

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
    pub fn len(&self) -> io::Result<u64> {
        match self {
            Origin::File(path) => {
                let metadata = path.metadata()?;
                if metadata.is_file() { Ok(metadata.len()) } else { Err(io::Error::other("it is no file")) }
            }
            Origin::Part { len, .. } => Ok(*len),
            Origin::Bytes(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// Whether there are no bytes.
    ///
    /// # Errors
    /// As [`Origin::len`].
    pub fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|len| len == 0)
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
