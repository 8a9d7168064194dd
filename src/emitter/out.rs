//! Destination of the bytes of a file: a writer that may copy blobs directly from their sources. It does not open
//! files.

use std::io::{self, Write};

use crate::data::Blob;

/// Sequential destination of bytes and blobs.
pub trait ByteSink: Write {
    /// Writes the bytes of a blob.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    fn blob(&mut self, blob: &Blob) -> io::Result<()>;
}

impl ByteSink for Vec<u8> {
    fn blob(&mut self, blob: &Blob) -> io::Result<()> {
        blob.copy_to(self)
    }
}

/// Adapts a writer.
pub struct WriterSink<'w>(pub &'w mut dyn Write);

impl Write for WriterSink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl ByteSink for WriterSink<'_> {
    fn blob(&mut self, blob: &Blob) -> io::Result<()> {
        blob.copy_to(self.0)
    }
}
