//! Patches, truncation and appended bytes, applied to the bytes of a file while it is written.

use std::io::{self, Write};

use super::FileOverrides;
use crate::emitter::ByteSink;
use pte_model::data::Blob;

impl FileOverrides {
    /// Writes the file that `write` produces, patched and truncated, followed by the appended bytes.
    ///
    /// # Errors
    /// Errors of `write` and `out`.
    pub fn write(
        &self,
        out: &mut dyn ByteSink,
        write: impl FnOnce(&mut dyn ByteSink) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut truncated = TruncatedOutput { out, left: self.truncate.unwrap_or(u64::MAX) };
        write(&mut PatchedOutput { out: &mut truncated, raw: self, written: 0 })?;
        self.append.as_ref().map_or(Ok(()), |append| out.blob(append))
    }
}

/// Forwards the first `left` bytes and drops the rest.
struct TruncatedOutput<'a> {
    out: &'a mut dyn ByteSink,
    left: u64,
}

impl Write for TruncatedOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let kept = self.left.min(bytes.len() as u64) as usize;
        self.out.write_all(&bytes[..kept])?;
        self.left -= kept as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl ByteSink for TruncatedOutput<'_> {
    fn blob(&mut self, blob: &Blob) -> io::Result<()> {
        match self.left {
            0 => Ok(()),
            left if left < blob.len => blob.copy_to(self),
            _ => {
                self.left -= blob.len;
                self.out.blob(blob)
            }
        }
    }
}

/// Applies patches to the bytes that it forwards.
struct PatchedOutput<'a> {
    out: &'a mut dyn ByteSink,
    raw: &'a FileOverrides,
    /// Number of bytes forwarded so far.
    written: u64,
}

impl Write for PatchedOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = if self.raw.touches(self.written, bytes.len() as u64) {
            let mut changed = bytes.to_vec();
            self.raw.patch(self.written, &mut changed);
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

impl ByteSink for PatchedOutput<'_> {
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
    use super::super::Patch;
    use super::*;

    #[test]
    fn patches_may_span_several_writes() {
        let patch = |at, bytes: &[u8]| Patch { at, bytes: bytes.to_vec() };
        let raw = FileOverrides { patches: vec![patch(1, &[9, 9, 9, 9]), patch(3, &[7])], ..FileOverrides::default() };
        let mut out = Vec::new();
        let pieces: [&[u8]; 3] = [&[0, 1], &[2, 3, 4], &[5]];
        raw.write(&mut out, |out| pieces.iter().try_for_each(|piece| out.write_all(piece))).unwrap();
        assert_eq!(out, [0, 9, 9, 7, 9, 5]);
        assert!(raw.touches(4, 1) && !raw.touches(5, 9) && !raw.touches(0, 1));
    }

    #[test]
    fn a_file_is_truncated_before_bytes_are_appended() {
        for (size, expected) in
            [(0, &[9][..]), (3, &[0, 1, 2, 9]), (7, &[0, 1, 2, 3, 4, 5, 6, 9]), (99, &[0, 1, 2, 3, 4, 5, 6, 7, 9])]
        {
            let raw =
                FileOverrides { truncate: Some(size), append: Some(Blob::bytes([9])), ..FileOverrides::default() };
            let mut out = Vec::new();
            raw.write(&mut out, |out| {
                out.write_all(&[0, 1])?;
                out.blob(&Blob::bytes([2, 3, 4]))?;
                out.blob(&Blob::bytes([5, 6, 7]))
            })
            .unwrap();
            assert_eq!(out, expected);
            assert_eq!(raw.size(8), Some(out.len() as u64));
        }
    }
}
