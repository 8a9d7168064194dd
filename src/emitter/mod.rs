//! Plan -> bytes: FlatBuffers from programs, and files from FlatBuffers and data. Decides nothing; asserts every offset
//! against the plan.

pub mod bundled_program;
pub mod encoding;
pub mod flat_tensor;
pub mod flatbuffer;
mod out;
pub mod program;
pub mod safetensors;

use std::io::{self, Write};

pub use out::{Out, Stream};

use crate::data::Blob;
use crate::layout::file::Placement;
use crate::layout::segments::Segment;
use flatbuffer::FlatBuffer;

/// A file ready to be written: metadata in memory, data still where they are.
#[derive(Debug)]
pub struct File<'a> {
    /// The FlatBuffer, without the header.
    pub flatbuffer: &'a [u8],
    /// Its frame.
    pub placement: &'a Placement,
    /// The segments.
    pub segments: &'a [Segment],
    /// The blobs that the segments refer to.
    pub blobs: &'a [Blob],
    /// The byte that padding around the segments consists of; 0 unless it is overridden.
    pub padding: u8,
}

/// The metadata of a file: its FlatBuffer, and where the container puts it.
#[derive(Debug)]
pub struct Metadata {
    /// The FlatBuffer, without the header.
    pub flatbuffer: FlatBuffer,
    /// Header, offsets and sizes.
    pub placement: Placement,
}

impl Metadata {
    /// The file, with `segments` of `blobs` behind the metadata.
    pub fn file<'a>(&'a self, segments: &'a [Segment], blobs: &'a [Blob]) -> File<'a> {
        File { flatbuffer: &self.flatbuffer, placement: &self.placement, segments, blobs, padding: 0 }
    }
}

impl File<'_> {
    /// The data of the segments: where each is in the file and how long, and what it is.
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
    pub fn write(&self, out: &mut dyn Out) -> io::Result<()> {
        let out = &mut Counted { out, fill: self.padding, written: 0 };
        self.write_metadata(out)?;
        assert_eq!(out.written, self.placement.program_size, "the FlatBuffer ends where the plan says");
        for segment in self.segments.iter().filter(|segment| segment.size > 0) {
            let start = self.placement.segment_base_offset + segment.offset;
            out.pad_to(start)?;
            for piece in &segment.pieces {
                out.pad_to(start + piece.offset)?;
                let blob = &self.blobs[piece.blob.0 as usize];
                out.blob(blob)?;
                assert_eq!(out.written, start + piece.offset + blob.len, "data are as long as the plan says");
            }
        }
        // A file whose segments are all empty still reaches to where they begin.
        out.pad_to(self.placement.file_size)
    }

    /// The FlatBuffer with the header behind its byte 8, and the root offset moved by the header's length (W-4, W-5).
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

    /// The whole file in memory.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn to_vec(&self) -> io::Result<Vec<u8>> {
        // Room for the metadata; data may turn out shorter than their files promise.
        let mut bytes = Vec::with_capacity(self.placement.program_size as usize);
        self.write(&mut bytes)?;
        Ok(bytes)
    }
}

struct Counted<'a> {
    out: &'a mut dyn Out,
    /// What padding consists of.
    fill: u8,
    written: u64,
}

impl Counted<'_> {
    fn pad_to(&mut self, position: u64) -> io::Result<()> {
        let padding = [self.fill; 4096];
        while self.written < position {
            let now = (position - self.written).min(padding.len() as u64) as usize;
            self.write_all(&padding[..now])?;
        }
        Ok(())
    }
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.written += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl Out for Counted<'_> {
    fn blob(&mut self, blob: &Blob) -> io::Result<()> {
        self.out.blob(blob)?;
        self.written += blob.len;
        Ok(())
    }
}
