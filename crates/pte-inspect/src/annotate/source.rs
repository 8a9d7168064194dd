//! Access to the bytes of a file: the metadata in memory, short ranges of the rest on request.

use std::io;

use pte_model::data::Origin;
use pte_model::data::files::{self, File};

/// Number of bytes that are compared with zero at a time.
const PIECE: u64 = 1 << 16;

/// Maximum alignment of FlatBuffer fields: fewer zeros than this are always padding.
const MAX_FIELD_ALIGNMENT: u64 = 8;

/// Number of zeros above which they do not count as padding, so that those of an enlarged file are not read.
const MAX_PADDING: u64 = 1 << 24;

/// The bytes of a file.
pub struct FileBytes<'a> {
    /// Bytes in memory, from the start of the file.
    pub memory: &'a [u8],
    origin: &'a Origin,
    /// Open file, if not all bytes are in memory.
    file: Option<File>,
}

impl<'a> FileBytes<'a> {
    /// Opens `origin`, a file of `len` bytes that begins with `memory`.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub fn new(origin: &'a Origin, memory: &'a [u8], len: u64) -> io::Result<FileBytes<'a>> {
        let file = match origin {
            Origin::File(path) if (memory.len() as u64) < len => Some(File::open(path)?),
            Origin::File(_) | Origin::Part { .. } | Origin::Bytes(_) | Origin::Planned(_) => None,
        };
        Ok(FileBytes { memory, origin, file })
    }

    /// Reads a short range.
    ///
    /// # Errors
    /// The file cannot be read, or was truncated in the meantime.
    pub fn read(&self, from: u64, to: u64) -> io::Result<Vec<u8>> {
        if from >= to {
            return Ok(Vec::new());
        }
        if to <= self.memory.len() as u64 {
            return Ok(self.memory[from as usize..to as usize].to_vec());
        }
        let Some(file) = &self.file else { return self.origin.range(from, to - from) };
        let mut bytes = vec![0; (to - from) as usize];
        files::read_exact_at(file, from, &mut bytes)?;
        Ok(bytes)
    }

    /// Returns `true` if a range consists of zeros, and is shorter than the alignment of its end or than `minimum`
    /// bytes.
    ///
    /// # Errors
    /// As [`FileBytes::read`].
    pub fn is_padding(&self, from: u64, to: u64, minimum: u64) -> io::Result<bool> {
        // Vectors are aligned by their first item, four bytes after their start.
        let most = alignment(to).max(alignment(to.saturating_add(4))).max(MAX_FIELD_ALIGNMENT).max(minimum);
        if to - from >= most.min(MAX_PADDING) {
            return Ok(false);
        }
        let mut at = from;
        while at < to {
            let end = to.min(at + PIECE);
            let zeros = match self.memory.get(at as usize..end as usize) {
                Some(bytes) => bytes.iter().all(|byte| *byte == 0),
                None => self.read(at, end)?.iter().all(|byte| *byte == 0),
            };
            if !zeros {
                return Ok(false);
            }
            at = end;
        }
        Ok(true)
    }
}

/// Returns the largest power of two that divides an offset, at most 2^40.
pub fn alignment(at: u64) -> u64 {
    1 << at.trailing_zeros().min(40)
}
