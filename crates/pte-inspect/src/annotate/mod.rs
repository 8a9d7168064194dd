//! Explains every byte of a `.pte`, `.ptd` or `.bpte`, including malformed ones: offset, type, value, meaning and
//! owner.
//!
//! ```text
//! file --part--> objects, header, segments --map--> blocks that tile the file --regions--> lines, or JSON
//! ```
//!
//! It is driven by the slot tables of [`pte_model::format`]. It only reports offsets that cannot be followed, and
//! inconsistencies; `pte-check` validates files against the rules of the runtime.

mod block;
mod json;
pub mod leaves;
mod map;
mod part;
mod path;
mod payload;
mod regions;
mod segments;
mod source;
mod table;
mod text;

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;

use block::{BlockKind, FileBlock};
use map::FileMap;
use pte_model::data::Origin;
use pte_model::data::workers;
use pte_model::format::Format;
use regions::RegionType;
pub use table::{FileRegions, RegionRow, regions as file_regions};

/// Maximum number of blocks per chunk.
const CHUNK: usize = 256;

/// Size in bytes of the pieces into which large vectors are split: a multiple of a row.
const PIECE: u64 = 1 << 14;

pte_model::options! {
    /// Options of [`annotate`].
    ///
    /// ```
    /// use pte_inspect::annotate::{AnnotateOptions, AnnotatePart, annotate};
    /// use pte_model::data::Origin;
    /// use pte_model::format::Format;
    ///
    /// let options = AnnotateOptions::default().only(AnnotatePart::Headers).json(true);
    /// let mut json = Vec::new();
    /// let origin = Origin::Bytes(pte_model::LINEAR_PTE.into());
    /// annotate(&origin, Format::Program, &options, &mut json)?;
    /// assert!(String::from_utf8(json)?.contains(r#""value":"ET12","meaning":"file identifier""#));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[derive(Debug, Clone, Default)]
    pub struct AnnotateOptions {
        /// Print only blocks that overlap these bytes.
        pub range: Option<Range<u64>>,
        /// Print only this part of the file.
        pub only: Option<AnnotatePart>,
        /// Print one JSON array instead of text.
        pub json: bool,
        /// Use terminal colours.
        pub colours: bool,
    }
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnnotatePart {
    /// The first bytes, with the extended header.
    Headers,
    /// The FlatBuffer, without header and segments.
    Program,
    /// The data after the FlatBuffer.
    Segments,
}

/// Detects the format of a file of `len` bytes from its first bytes: by its identifier, its extended header, or the
/// extension of `path`. Any other binary file counts as a `.pte`. Returns `None` for a text file and for a
/// `.safetensors`.
pub fn format(head: &[u8], len: u64, path: Option<&Path>) -> Option<Format> {
    let extension = path.and_then(|path| path.extension()).and_then(|extension| extension.to_str());
    let by_content = Format::identify_damaged(head, len).or_else(|| extension.and_then(Format::of_extension));
    let format = by_content.or_else(|| {
        let text = head.iter().all(|byte| *byte >= b' ' || byte.is_ascii_whitespace());
        (!text).then_some(Format::Program)
    });
    format.filter(|format| *format != Format::Safetensors)
}

/// Numbers of bytes by kind.
#[derive(Default, Clone, Copy)]
struct ByteCounts {
    explained: u64,
    padding: u64,
    unreachable: u64,
}

impl ByteCounts {
    fn add(&mut self, other: ByteCounts) {
        self.explained += other.explained;
        self.padding += other.padding;
        self.unreachable += other.unreachable;
    }
}

/// Writes the explanation of a file's bytes.
///
/// # Errors
/// The file cannot be read, or `out` returns an error.
pub fn annotate(origin: &Origin, format: Format, options: &AnnotateOptions, out: &mut dyn Write) -> io::Result<()> {
    let map = FileMap::new(origin, format)?;
    let all = options.range.is_none() && options.only.is_none();
    let selected: Option<Vec<u32>> = (!all).then(|| {
        let selected = map.blocks.iter().enumerate().filter(|(_, block)| is_selected(&map, block, options));
        selected.map(|(index, _)| index as u32).collect()
    });
    let count = selected.as_ref().map_or(map.blocks.len(), Vec::len);
    let style = text::Style::new(options.colours);
    let mut counts = ByteCounts::default();
    let mut first = true;
    // Buffers are reused: allocating costs more than filling them.
    let buffers: Mutex<Vec<Vec<u8>>> = Mutex::default();
    let buffers = || workers::lock(&buffers);
    let number = |index: usize| selected.as_ref().map_or(index, |selected| selected[index] as usize);
    let chunks: Vec<Chunk> = Chunks { block: &|index| &map.blocks[number(index)], count, next: 0, within: 0 }.collect();
    let explain = |chunk: &Chunk| {
        let (mut regions, mut counts) = (Vec::new(), ByteCounts::default());
        let mut text = buffers().pop().unwrap_or_default();
        for index in chunk.blocks.clone() {
            let number = number(index);
            let block = &map.blocks[number];
            let piece = chunk.piece.clone().unwrap_or(block.at..block.end);
            let is_first = piece.start == block.at;
            regions::of(&map, &FileBlock { at: piece.start, end: piece.end, ..*block }, &mut regions);
            for region in &regions {
                match region.form {
                    RegionType::Padding => counts.padding += region.size,
                    RegionType::Unreachable => counts.unreachable += region.size,
                    RegionType::Number(_) | RegionType::Offset | RegionType::String | RegionType::Data => {
                        counts.explained += region.size;
                    }
                }
            }
            match options.json {
                true => json::block(&map, number, is_first, &regions, &mut text),
                false => {
                    if is_first {
                        text::title(&map, number, &style, &mut text);
                    }
                    text::lines(&regions, &style, &mut text);
                }
            }
        }
        (text, counts)
    };
    workers::in_order(&chunks, workers::cores(), explain, |(mut text, of_chunk)| {
        if first && options.json && !text.is_empty() {
            // The first region has no comma before it.
            text[0] = b'[';
        }
        // The first heading has no blank line above it.
        let blank = usize::from(first && text.first() == Some(&b'\n'));
        first &= text.is_empty();
        out.write_all(&text[blank..])?;
        text.clear();
        buffers().push(text);
        counts.add(of_chunk);
        Ok(())
    })?;
    match options.json {
        true => out.write_all(if first { b"[]\n" } else { b"\n]\n" }),
        false => {
            let overlapping: u64 = map.overlaps.iter().map(|overlap| overlap.bytes.end - overlap.bytes.start).sum();
            let ByteCounts { explained, padding, unreachable } = counts;
            let sum = explained + padding + unreachable;
            debug_assert!(!all || sum == map.len, "{sum} of {} bytes have an owner", map.len);
            let blank = if first { "" } else { "\n" };
            write!(out, "{blank}{sum} bytes: {explained} explained, {padding} of padding, {unreachable} unreachable")?;
            match all {
                true => writeln!(out, ", {overlapping} overlapping"),
                false => writeln!(out),
            }
        }
    }
}

/// Unit of work: several blocks, or a piece of a large one.
struct Chunk {
    blocks: Range<usize>,
    piece: Option<Range<u64>>,
}

/// The chunks of `count` blocks, in order.
struct Chunks<'c> {
    block: &'c dyn Fn(usize) -> &'c FileBlock,
    count: usize,
    /// Index of the next block.
    next: usize,
    /// Number of bytes of the next block in earlier chunks.
    within: u64,
}

impl Iterator for Chunks<'_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let start = self.next;
        let is_large = |block: &FileBlock| matches!(block.kind, BlockKind::Object(_)) && block.end - block.at > PIECE;
        let large = |index: usize| Some((self.block)(index)).filter(|block| is_large(block));
        if start >= self.count {
            return None;
        }
        if let Some(block) = large(start) {
            // Rows begin after the length, which the first piece includes.
            let from = block.at + self.within;
            let end = if self.within == 0 { from + 4 + PIECE } else { from + PIECE };
            let end = end.min(block.end);
            let is_last = end == block.end;
            self.within = if is_last { 0 } else { end - block.at };
            self.next += usize::from(is_last);
            return Some(Chunk { blocks: start..start + 1, piece: Some(from..end) });
        }
        let end = (start + 1..self.count.min(start + CHUNK)).find(|index| large(*index).is_some());
        self.next = end.unwrap_or(self.count.min(start + CHUNK));
        Some(Chunk { blocks: start..self.next, piece: None })
    }
}

/// Returns `true` if the options select a block.
fn is_selected(map: &FileMap, block: &FileBlock, options: &AnnotateOptions) -> bool {
    let overlaps = options.range.as_ref().is_none_or(|range| {
        block.at < range.end && block.end > range.start || block.at == block.end && range.contains(&block.at)
    });
    let part = map.part(block);
    let behind = match &part.payload {
        Some(payload) => payload.in_segment,
        None => block.at >= part.start + part.memory as u64,
    };
    overlaps
        && options.only.is_none_or(|only| match (only, block.kind) {
            (AnnotatePart::Headers, kind) => kind == BlockKind::Header && part.payload.is_none(),
            (AnnotatePart::Segments, _) if part.payload.is_some() => behind,
            (AnnotatePart::Program, _) if part.payload.is_some() => !behind,
            (AnnotatePart::Segments, BlockKind::Segment(_)) => true,
            (AnnotatePart::Segments, BlockKind::Padding | BlockKind::Newer | BlockKind::Unreachable) => behind,
            (AnnotatePart::Program, BlockKind::Object(_)) => true,
            (AnnotatePart::Program, BlockKind::Padding | BlockKind::Newer | BlockKind::Unreachable) => !behind,
            (
                AnnotatePart::Segments,
                BlockKind::Header | BlockKind::Object(_) | BlockKind::PayloadHeader | BlockKind::PayloadConstants,
            )
            | (
                AnnotatePart::Program,
                BlockKind::Header | BlockKind::Segment(_) | BlockKind::PayloadHeader | BlockKind::PayloadConstants,
            ) => false,
        })
}
