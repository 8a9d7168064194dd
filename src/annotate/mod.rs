//! Explains every byte of a `.pte`, `.ptd` or `.bpte`, broken ones too: where it is, how to read it, what it means, whose it is.
//!
//! ```text
//! file --part--> objects, header, segments --map--> blocks that tile the file --regions--> lines, or JSON
//! ```
//!
//! The slot tables of [`crate::format`] drive it. It judges nothing: whether the runtime accepts a file is
//! [`crate::check`]'s business; what is said here of a defect is what cannot be followed or does not add up.

mod json;
mod map;
mod part;
mod path;
mod regions;
mod segments;
mod source;
mod text;

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::data::Origin;
use crate::data::workers;
use crate::format::Format;
use map::{Block, Kind, Map};
use regions::Form;

/// Blocks that a worker takes at a time.
const CHUNK: usize = 256;

/// Vectors with more bytes than this, a multiple of a row's, are taken in pieces.
const PIECE: u64 = 1 << 14;

/// What to print.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Only blocks that touch these bytes.
    pub range: Option<Range<u64>>,
    /// Only this part of the file.
    pub only: Option<Only>,
    /// One JSON array instead of text.
    pub json: bool,
    /// Colours of a terminal.
    pub colours: bool,
}

/// A part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Only {
    /// The first bytes, with the extended header.
    Headers,
    /// The FlatBuffer.
    Program,
    /// The data behind it.
    Segments,
}

/// What a file of `len` bytes with these first ones is: by its identifier, by its extended header, by its name; failing
/// that a `.pte`, unless it looks like a text. `None`: none of ours.
pub fn format(head: &[u8], len: u64, path: Option<&Path>) -> Option<Format> {
    if let Some(format) = Format::identify_damaged(head, len) {
        return Some(format).filter(|format| *format != Format::Safetensors);
    }
    let extension = path.and_then(|path| path.extension()).and_then(|extension| extension.to_str());
    extension.and_then(Format::of_extension).or_else(|| {
        let text = head.iter().all(|byte| *byte >= b' ' || byte.is_ascii_whitespace());
        (!text).then_some(Format::Program)
    })
}

/// Bytes by what became of them.
#[derive(Debug, Default, Clone, Copy)]
struct Counts {
    explained: u64,
    padding: u64,
    unreachable: u64,
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.explained += other.explained;
        self.padding += other.padding;
        self.unreachable += other.unreachable;
    }
}

/// Writes what the bytes of a file are.
///
/// # Errors
/// A file that cannot be read, or `out` cannot be written to.
pub fn annotate(origin: &Origin, format: Format, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let map = Map::new(origin, format)?;
    let all = options.range.is_none() && options.only.is_none();
    let wanted: Option<Vec<u32>> = (!all).then(|| {
        let wanted = map.blocks.iter().enumerate().filter(|(_, block)| wants(&map, block, options));
        wanted.map(|(index, _)| index as u32).collect()
    });
    let count = wanted.as_ref().map_or(map.blocks.len(), Vec::len);
    let style = text::Style::new(options.colours);
    let mut counts = Counts::default();
    let mut first = true;
    // Memory that is used again and again: to ask for new costs more than to fill it.
    let room: Mutex<Vec<Vec<u8>>> = Mutex::default();
    let room = || room.lock().unwrap_or_else(PoisonError::into_inner);
    let number = |index: usize| wanted.as_ref().map_or(index, |wanted| wanted[index] as usize);
    let chunks: Vec<Chunk> = Chunks { block: &|index| &map.blocks[number(index)], count, next: 0, within: 0 }.collect();
    let make = |chunk: &Chunk| {
        let (mut regions, mut counts) = (Vec::new(), Counts::default());
        let mut text = room().pop().unwrap_or_default();
        for index in chunk.blocks.clone() {
            let number = number(index);
            let block = &map.blocks[number];
            let piece = chunk.piece.clone().unwrap_or(block.at..block.end);
            let is_first = piece.start == block.at;
            regions::of(&map, &Block { at: piece.start, end: piece.end, ..*block }, &mut regions);
            for region in &regions {
                match region.form {
                    Form::Padding => counts.padding += region.size,
                    Form::Unreachable => counts.unreachable += region.size,
                    _ => counts.explained += region.size,
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
    workers::in_order(&chunks, workers::cores(), make, |(mut text, of_chunk)| {
        if first && options.json && !text.is_empty() {
            // The first region has no comma in front of it.
            text[0] = b'[';
        }
        // The first heading has no blank line above it.
        let blank = usize::from(first && text.first() == Some(&b'\n'));
        first &= text.is_empty();
        out.write_all(&text[blank..])?;
        text.clear();
        room().push(text);
        counts.add(of_chunk);
        Ok(())
    })?;
    match options.json {
        true => out.write_all(if first { b"[]\n" } else { b"\n]\n" }),
        false => {
            let twice: u64 = map.clashes.iter().map(|clash| clash.bytes.end - clash.bytes.start).sum();
            let Counts { explained, padding, unreachable } = counts;
            let sum = explained + padding + unreachable;
            debug_assert!(!all || sum == map.len, "{sum} of {} bytes have an owner", map.len);
            let blank = if first { "" } else { "\n" };
            write!(out, "{blank}{sum} bytes: {explained} explained, {padding} of padding, {unreachable} unreachable")?;
            match all {
                true => writeln!(out, ", {twice} claimed twice"),
                false => writeln!(out),
            }
        }
    }
}

/// What a worker takes at a time: several blocks, or a piece of a large one.
struct Chunk {
    blocks: Range<usize>,
    piece: Option<Range<u64>>,
}

/// The chunks of `count` blocks, in order.
struct Chunks<'c> {
    block: &'c dyn Fn(usize) -> &'c Block,
    count: usize,
    /// The block that is next, and how much of it was taken.
    next: usize,
    within: u64,
}

impl Iterator for Chunks<'_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let start = self.next;
        let is_large = |block: &Block| matches!(block.kind, Kind::Object(_)) && block.end - block.at > PIECE;
        let large = |index: usize| Some((self.block)(index)).filter(|block| is_large(block));
        if start >= self.count {
            return None;
        }
        if let Some(block) = large(start) {
            // Rows begin behind the length, which the first piece takes in addition.
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

/// Whether a block is asked for.
fn wants(map: &Map, block: &Block, options: &Options) -> bool {
    let touches = options.range.as_ref().is_none_or(|range| {
        block.at < range.end && block.end > range.start || block.at == block.end && range.contains(&block.at)
    });
    let part = map.part(block);
    let behind = block.at >= part.start + part.memory as u64;
    touches
        && options.only.is_none_or(|only| match (only, block.kind) {
            (Only::Headers, kind) => kind == Kind::Header,
            (Only::Segments, Kind::Segment(_)) => true,
            (Only::Segments, Kind::Padding | Kind::Unreachable) => behind,
            (Only::Program, Kind::Object(_)) => true,
            (Only::Program, Kind::Padding | Kind::Unreachable) => !behind,
            _ => false,
        })
}
