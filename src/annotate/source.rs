//! The bytes of a file: its metadata in memory, the rest read in short pieces where it is looked at.

use std::fs::File;
use std::io;

use crate::data::Origin;
use crate::data::positioned;

/// Bytes that are read at a time to see whether they are zeros.
const PIECE: u64 = 1 << 16;

/// Zeros that no alignment of a FlatBuffer needs.
const ODD: u64 = 8;

/// The bytes of a file.
#[derive(Debug)]
pub struct Source<'a> {
    /// Those in memory, from the file's start.
    pub memory: &'a [u8],
    origin: &'a Origin,
    /// The file, opened once however many pieces are read.
    file: Option<File>,
}

impl<'a> Source<'a> {
    /// The bytes of `origin`, of which `memory` are read already.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub fn new(origin: &'a Origin, memory: &'a [u8], len: u64) -> io::Result<Source<'a>> {
        let file = match origin {
            Origin::File(path) if (memory.len() as u64) < len => Some(File::open(path)?),
            _ => None,
        };
        Ok(Source { memory, origin, file })
    }

    /// The bytes of a short range.
    ///
    /// # Errors
    /// A file that cannot be read, or that has become shorter.
    pub fn read(&self, from: u64, to: u64) -> io::Result<Vec<u8>> {
        if from >= to {
            return Ok(Vec::new());
        }
        if to <= self.memory.len() as u64 {
            return Ok(self.memory[from as usize..to as usize].to_vec());
        }
        let Some(file) = &self.file else { return self.origin.range(from, to - from) };
        let mut bytes = vec![0; (to - from) as usize];
        positioned::read_exact_at(file, from, &mut bytes)?;
        Ok(bytes)
    }

    /// Whether the bytes of a gap are zeros that the alignment of what follows explains, or fewer than `least`.
    ///
    /// # Errors
    /// As [`Source::read`].
    pub fn is_padding(&self, from: u64, to: u64, least: u64) -> io::Result<bool> {
        // Vectors are aligned by their first item, which stands four bytes behind their beginning.
        if to - from >= alignment(to).max(alignment(to.saturating_add(4))).max(ODD).max(least) {
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

/// The largest power of two that a place is a multiple of, as far as files are aligned at all.
pub fn alignment(at: u64) -> u64 {
    1 << at.trailing_zeros().min(40)
}
