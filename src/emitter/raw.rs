//! What a file is made to hold in the end, whatever the plan says: bytes that are overwritten, and bytes behind the end.
//!
//! Nothing is computed anew: who changes an offset here gets a file whose offset is wrong.

use std::io::{self, Write};

use super::sink::Out;
use crate::program::Blob;

/// Changes of a file's bytes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Raw {
    /// What is overwritten; later patches win.
    pub patches: Vec<Patch>,
    /// What is written behind the end.
    pub append: Option<Blob>,
}

/// Bytes that are overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// Where, from the start of the file.
    pub at: u64,
    /// With what.
    pub bytes: Vec<u8>,
}

impl Patch {
    /// The first byte behind it; `None` beyond what can be addressed.
    pub fn end(&self) -> Option<u64> {
        self.at.checked_add(self.bytes.len() as u64)
    }
}

impl Raw {
    /// Overwrites bytes that begin at `start` in the file.
    pub fn apply(&self, start: u64, bytes: &mut [u8]) {
        for patch in &self.patches {
            // The part of the patch that is in these bytes.
            let skip = start.saturating_sub(patch.at).min(patch.bytes.len() as u64) as usize;
            let at = patch.at.saturating_sub(start).min(bytes.len() as u64) as usize;
            bytes[at..].iter_mut().zip(&patch.bytes[skip..]).for_each(|(byte, wanted)| *byte = *wanted);
        }
    }

    /// Whether a patch overwrites some of these bytes.
    pub fn touches(&self, start: u64, len: u64) -> bool {
        self.patches
            .iter()
            .any(|patch| patch.at < start.saturating_add(len) && patch.end().is_some_and(|end| end > start))
    }
}

/// Overwrites what passes through.
pub(super) struct Patched<'a, O: ?Sized> {
    pub(super) out: &'a mut O,
    pub(super) raw: &'a Raw,
    /// So many bytes have passed.
    pub(super) written: u64,
}

impl<O: Write + ?Sized> Write for Patched<'_, O> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = if self.raw.touches(self.written, bytes.len() as u64) {
            let mut changed = bytes.to_vec();
            self.raw.apply(self.written, &mut changed);
            self.out.write_all(&changed)?;
            bytes.len()
        } else {
            self.out.write(bytes)?
        };
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<O: Out + ?Sized> Out for Patched<'_, O> {
    fn blob(&mut self, blob: &Blob) -> io::Result<()> {
        if self.raw.touches(self.written, blob.len) {
            return blob.copy_to(self);
        }
        self.out.blob(blob)?;
        self.written += blob.len;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_may_cross_what_is_written_at_a_time() {
        let patch = |at, bytes: &[u8]| Patch { at, bytes: bytes.to_vec() };
        let raw = Raw { patches: vec![patch(1, &[9, 9, 9, 9]), patch(3, &[7])], append: None };
        let mut out = Vec::new();
        let mut patched = Patched { out: &mut out, raw: &raw, written: 0 };
        for piece in [&[0u8, 1][..], &[2, 3, 4], &[5]] {
            patched.write_all(piece).unwrap();
        }
        assert_eq!(out, [0, 9, 9, 7, 9, 5]);
        assert!(raw.touches(4, 1) && !raw.touches(5, 9) && !raw.touches(0, 1));
    }
}
