//! Emits the files of a plan: FlatBuffers from programs, files from FlatBuffers and data. It chooses no offsets, and
//! asserts those of the plan.

pub mod bundled_program;
pub mod encoding;
pub mod flat_tensor;
pub mod flatbuffer;
mod newer;
mod out;
pub mod program;
pub mod safetensors;
mod table;

use std::io::{self, Write};

pub use out::{ByteSink, OutputSink, WriterSink};

use crate::layout::file::Placement;
use crate::layout::segments::Segment;
use flatbuffer::FlatBuffer;
use pte_model::data::Blob;

/// A file ready to be written: metadata in memory, data in their sources.
#[derive(Debug)]
pub struct File<'a> {
    /// The FlatBuffer, without the header.
    pub flatbuffer: &'a [u8],
    /// Container header, offsets and sizes.
    pub placement: &'a Placement,
    /// Segments after the FlatBuffer, in the order of the file.
    pub segments: &'a [Segment],
    /// The blobs that the segments refer to.
    pub blobs: &'a [Blob],
    /// Value of the padding bytes around the segments; 0 unless it is overridden.
    pub padding: u8,
}

/// Metadata of a file: FlatBuffer and container header.
#[derive(Debug)]
pub struct Metadata {
    /// The FlatBuffer, without the header.
    pub flatbuffer: FlatBuffer,
    /// Container header, offsets and sizes.
    pub placement: Placement,
}

impl Metadata {
    /// Returns the file with `segments` of `blobs` after the metadata.
    pub fn file<'a>(&'a self, segments: &'a [Segment], blobs: &'a [Blob]) -> File<'a> {
        File { flatbuffer: &self.flatbuffer, placement: &self.placement, segments, blobs, padding: 0 }
    }
}

impl File<'_> {
    /// Returns offset, size and blob of all data in the segments.
    pub fn ranges(&self) -> impl Iterator<Item = ((u64, u64), &Blob)> {
        let pieces = self.segments.iter().flat_map(|segment| segment.pieces.iter().map(move |piece| (segment, piece)));
        pieces.map(|(segment, piece)| {
            let blob = &self.blobs[piece.blob.0 as usize];
            ((self.placement.segment_base_offset + segment.offset + piece.offset, blob.len), blob)
        })
    }

    /// Writes the file.
    ///
    /// # Errors
    /// Errors of `out`, and data that cannot be read.
    pub fn write(&self, out: &mut dyn ByteSink) -> io::Result<()> {
        let out = &mut CountingSink { out, fill: self.padding, written: 0 };
        self.write_metadata(out)?;
        assert_eq!(out.written, self.placement.program_size, "size of the FlatBuffer as planned");
        for segment in self.segments.iter().filter(|segment| segment.size > 0) {
            let start = self.placement.segment_base_offset + segment.offset;
            out.pad_to(start)?;
            for piece in &segment.pieces {
                out.pad_to(start + piece.offset)?;
                let blob = &self.blobs[piece.blob.0 as usize];
                out.blob(blob)?;
                assert_eq!(out.written, start + piece.offset + blob.len, "size of data as planned");
            }
        }
        // A file whose segments are all empty extends to the offset of the first one.
        out.pad_to(self.placement.file_size)
    }

    /// Returns the FlatBuffer with the header after its byte 8, and the root offset increased by the length of the
    /// header (W-4, W-5).
    pub fn metadata(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.placement.program_size as usize);
        self.write_metadata(&mut bytes).expect("writing to memory does not fail");
        bytes
    }

    fn write_metadata(&self, out: &mut dyn Write) -> io::Result<()> {
        let (head, rest) = self.flatbuffer.split_at(8);
        let root = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) + self.placement.header.len() as u32;
        out.write_all(&root.to_le_bytes())?;
        out.write_all(&head[4..])?;
        out.write_all(&self.placement.header)?;
        out.write_all(rest)
    }

    /// Returns the content of the file.
    ///
    /// # Errors
    /// Data that cannot be read.
    #[cfg(test)]
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.placement.program_size as usize);
        self.write(&mut bytes)?;
        Ok(bytes)
    }
}

struct CountingSink<'a> {
    out: &'a mut dyn ByteSink,
    /// Byte of padding.
    fill: u8,
    written: u64,
}

impl CountingSink<'_> {
    fn pad_to(&mut self, position: u64) -> io::Result<()> {
        let count = position.saturating_sub(self.written);
        match self.fill {
            0 => self.out.zeros(count)?,
            byte => out::fill(self.out, count, byte)?,
        }
        self.written += count;
        Ok(())
    }
}

impl Write for CountingSink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl ByteSink for CountingSink<'_> {
    fn blob(&mut self, blob: &Blob) -> io::Result<()> {
        self.out.blob(blob)?;
        self.written += blob.len;
        Ok(())
    }
}
