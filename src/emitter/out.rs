//! The destination of a file's bytes: any writer that may also take a blob as a whole.

use std::io::{self, Write};

use crate::data::Blob;

/// Where a file's bytes go, one after the other.
pub trait Out: Write {
    /// Writes the bytes of a blob.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    fn blob(&mut self, blob: &Blob) -> io::Result<()>;
}

impl Out for Vec<u8> {
    fn blob(&mut self, blob: &Blob) -> io::Result<()> {
        blob.copy_to(self)
    }
}

/// Any writer as a destination.
pub struct Stream<'w>(pub &'w mut dyn Write);

impl Write for Stream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Out for Stream<'_> {
    fn blob(&mut self, blob: &Blob) -> io::Result<()> {
        blob.copy_to(self.0)
    }
}
