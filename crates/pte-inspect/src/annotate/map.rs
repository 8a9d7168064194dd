//! Assigns each byte of a file to one owner: blocks that tile the file from its first byte to its last.
//!
//! Claims come from the FlatBuffer's objects, the header and the segments. If claims overlap, the one that begins first
//! owns the bytes, and the overlap is recorded with the other.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use super::block::{BlockKind, FileBlock};
use super::part::{FilePart, has_root};
use super::payload::{self, PayloadBlocks};
use super::segments::SegmentMap;
use super::source::{FileBytes, alignment};
use pte_model::data::{Head, Origin};
use pte_model::format::Format;
use pte_model::format::container::HEAD;
use pte_model::format::container::MAX_FLATBUFFER;
use pte_model::reader::root;

/// Number of unreachable bytes that are read for display.
const SHOWN: u64 = 64;

/// Upper bound on the padding after a header in bytes.
const MAX_HEADER_PADDING: u64 = 64;

/// Bytes that two blocks claim.
pub struct Overlap {
    /// Block that claims the bytes but does not own them.
    pub block: u32,
    /// Block that owns the first byte.
    pub owner: u32,
    /// Offsets in the file.
    pub bytes: Range<u64>,
}

/// A file as blocks.
pub struct FileMap {
    /// Metadata.
    head: Head,
    /// Length of the file in bytes.
    pub len: u64,
    /// The file, in a `.bpte` the program, and the graphs in payloads of delegates.
    pub parts: Vec<FilePart>,
    /// Segments of each part.
    pub segments: Vec<SegmentMap>,
    /// Blocks in the order of the file.
    pub blocks: Vec<FileBlock>,
    /// Overlaps in the order of their blocks.
    pub overlaps: Vec<Overlap>,
    /// First bytes of unreachable blocks after the metadata, by offset.
    pub beyond: BTreeMap<u64, Vec<u8>>,
}

/// A range of bytes that an object, a header or a segment refers to.
#[derive(Clone, Copy)]
struct BlockClaim {
    at: u64,
    end: u64,
    kind: BlockKind,
    part: u32,
    /// The claim ends at the next one, because its size exceeds the file or other claims have precedence.
    weak: bool,
}

impl FileMap {
    /// Reads a file of this format.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn new(origin: &Origin, format: Format) -> io::Result<FileMap> {
        let len = origin.len()?;
        let head = metadata(origin, format, len)?;
        let bytes: &[u8] = &head;
        let source = FileBytes::new(origin, bytes, len)?;
        let mut parts = vec![FilePart::new(format, "", 0, bytes, len)];
        let inner = parts[0].inner(bytes);
        if let Some((_, start, size)) = inner {
            let program = &bytes[start..start + size];
            let stated = usize::try_from(Format::Program.metadata_len(program, size as u64)).unwrap_or(size);
            let program = &program[..metadata_len(program, stated, size)];
            parts.push(FilePart::new(Format::Program, "program.", start as u64, program, size as u64));
        }
        let of_part = |part: &FilePart| {
            let start = part.start as usize;
            SegmentMap::find(part, &source, &bytes[start..start + part.memory])
        };
        let mut segments: Vec<SegmentMap> = parts.iter().map(of_part).collect::<io::Result<_>>()?;
        for (part, segments) in parts.iter().zip(&mut segments) {
            payload::split_flat(segments, part, origin, &source)?;
        }
        let claims = BlockClaims::new(&parts, &segments, inner.map(|(id, ..)| id));
        let (mut blocks, overlaps) =
            sweep(&claims, &segments, parts.last().map_or(0, |part| part.start), len, &source)?;
        for block in blocks.iter_mut().filter(|block| block.kind == BlockKind::Unreachable) {
            if parts[block.part as usize].has_newer(block.at, block.end) {
                block.kind = BlockKind::Newer;
            }
        }
        let mut beyond = BTreeMap::new();
        for block in
            blocks.iter().filter(|block| block.kind == BlockKind::Unreachable && block.end > bytes.len() as u64)
        {
            beyond.insert(block.at, source.read(block.at, block.end.min(block.at.saturating_add(SHOWN)))?);
        }
        let mut found = Vec::new();
        for (index, block) in blocks.iter().enumerate().filter(|(_, block)| !block.overlap) {
            let (part, segments) = (&parts[block.part as usize], &segments[block.part as usize]);
            if let Some(payload) = payload::of(block, part, segments, origin, &source)? {
                found.push((index, payload));
            }
        }
        drop(source);
        let mut map = FileMap { head, len, parts, segments, blocks, overlaps, beyond };
        map.insert(found);
        Ok(map)
    }

    /// Returns the segments of a block's part.
    pub fn segments(&self, block: &FileBlock) -> &SegmentMap {
        &self.segments[block.part as usize]
    }

    /// Returns the bytes in memory, from the start of the file.
    pub fn memory(&self) -> &[u8] {
        &self.head
    }

    /// Replaces blocks, in ascending order, by the blocks of the payloads that they are.
    fn insert(&mut self, found: Vec<(usize, PayloadBlocks)>) {
        if found.is_empty() {
            return;
        }
        // Number of blocks that are inserted before each of the old ones.
        let mut before = vec![0u32; self.blocks.len()];
        let mut blocks = Vec::with_capacity(self.blocks.len());
        let (mut found, mut inserted) = (found.into_iter().peekable(), 0);
        for (index, block) in std::mem::take(&mut self.blocks).into_iter().enumerate() {
            before[index] = inserted;
            let Some((_, payload)) = found.next_if(|(at, _)| *at == index) else {
                blocks.push(block);
                continue;
            };
            let part = self.parts.len() as u32;
            blocks.push(FileBlock { end: payload.blocks.first().map_or(block.end, |first| first.at), ..block });
            blocks.extend(payload.blocks.iter().map(|block| FileBlock { part, ..*block }));
            inserted += payload.blocks.len() as u32;
            self.parts.push(payload.part);
            self.segments.push(payload.segments);
        }
        for overlap in &mut self.overlaps {
            overlap.block += before[overlap.block as usize];
            overlap.owner += before[overlap.owner as usize];
        }
        self.blocks = blocks;
    }

    /// Returns the first bytes of a range of a block, as far as they are in memory.
    pub fn shown(&self, block: &FileBlock, from: u64, to: u64) -> &[u8] {
        let (memory, start) = match &self.part(block).payload {
            Some(payload) => (&*payload.head, payload.at),
            None => (self.memory(), 0),
        };
        let within = |at: u64| at.saturating_sub(start).min(memory.len() as u64) as usize;
        let (from, to) = (within(from), within(to));
        &memory[from..to.max(from).min(from + SHOWN as usize)]
    }

    /// Returns the metadata of a part.
    pub fn bytes<'m>(&'m self, part: &'m FilePart) -> &'m [u8] {
        if let Some(payload) = &part.payload {
            return payload.graph();
        }
        &self.head[part.start as usize..part.start as usize + part.memory]
    }

    /// Returns the part of a block.
    pub fn part(&self, block: &FileBlock) -> &FilePart {
        &self.parts[block.part as usize]
    }

    /// Returns the overlap of a block, by its index.
    pub fn overlap(&self, block: usize) -> Option<&Overlap> {
        if !self.blocks[block].overlap {
            return None;
        }
        let index = self.overlaps.partition_point(|overlap| (overlap.block as usize) < block);
        self.overlaps.get(index).filter(|overlap| overlap.block as usize == block)
    }
}

/// Reads the metadata of a file: the size that its header states, or the whole file if the root table is beyond that.
/// Without a root table, there is nothing to read.
fn metadata(origin: &Origin, format: Format, len: u64) -> io::Result<Head> {
    let head = origin.head(HEAD)?;
    let stated = format.metadata_len(&head, len);
    let whole = stated < len && !has_root(&head, stated) && has_root(&head, len);
    let size = if whole { len } else { stated }.min(MAX_FLATBUFFER);
    match format.container().map(|container| root::has_table(origin, &head, size, container)).transpose()? {
        Some(false) => Ok(head),
        Some(true) | None => origin.head(size),
    }
}

/// Returns the size of the metadata of bytes in memory, like [`metadata`].
fn metadata_len(bytes: &[u8], stated: usize, len: usize) -> usize {
    let stated = stated.min(len);
    if !has_root(bytes, stated as u64) && has_root(bytes, len as u64) { len } else { stated }
}

/// All claims ordered by start offset, as indices: objects are too many to copy (one per dozen bytes).
struct BlockClaims<'p> {
    parts: &'p [FilePart],
    /// Object that contains the program of a `.bpte`.
    inner: Option<u32>,
    /// Headers and segments.
    few: Vec<BlockClaim>,
    /// Indices of objects, or of `few`, with their kind in the upper bits.
    order: Vec<u32>,
}

/// Shift of the kind in [`BlockClaims::order`]: the index of the object's part, or [`FEW`].
const KIND: u32 = 30;
/// Kind of headers and segments.
const FEW: u32 = 2;

impl<'p> BlockClaims<'p> {
    fn new(parts: &'p [FilePart], segments: &[SegmentMap], inner: Option<u32>) -> BlockClaims<'p> {
        let mut claims = BlockClaims { parts, inner, few: Vec::new(), order: Vec::new() };
        let numbered = parts.iter().zip(segments).zip(0..);
        numbered.for_each(|((part, segments), number)| few_claims(part, segments, number, &mut claims.few));
        // At equal offsets, headers come before objects, and segments after them.
        claims.few.sort_by_key(|claim| (claim.at, claim.kind != BlockKind::Header));
        let mut few = (0..claims.few.len() as u32).peekable();
        let mut order =
            Vec::with_capacity(claims.few.len() + parts.iter().map(|part| part.objects.list.len()).sum::<usize>());
        for (part, number) in parts.iter().zip(0u32..) {
            part.objects.in_order(|id, at| {
                let at = part.start + at;
                let is_before = |index: &u32| {
                    let claim = &claims.few[*index as usize];
                    claim.at < at || claim.at == at && claim.kind == BlockKind::Header
                };
                while let Some(index) = few.next_if(is_before) {
                    order.push(FEW << KIND | index);
                }
                order.push(number << KIND | id);
            });
        }
        order.extend(few.map(|index| FEW << KIND | index));
        if parts.len() > 1 {
            // The objects of a bundle are before and after its program.
            order.sort_by_key(|claim| claims.claim(*claim).at);
        }
        claims.order = order;
        claims
    }

    fn get(&self, index: usize) -> Option<BlockClaim> {
        self.order.get(index).map(|claim| self.claim(*claim))
    }

    fn claim(&self, claim: u32) -> BlockClaim {
        let (number, id) = (claim >> KIND, claim & ((1 << KIND) - 1));
        if number == FEW {
            return self.few[id as usize];
        }
        let part = &self.parts[number as usize];
        let object = &part.objects.list[id as usize];
        let at = part.start + u64::from(object.at);
        // The bytes of the program are claimed by its own objects.
        let is_program = number == 0 && self.inner == Some(id);
        let size = if is_program { 4 } else { object.size };
        let weak = object.overrun && !is_program;
        BlockClaim { at, end: at + u64::from(size), kind: BlockKind::Object(id), part: number, weak }
    }
}

fn few_claims(part: &FilePart, segments: &SegmentMap, number: u32, claims: &mut Vec<BlockClaim>) {
    let (size, overrun) = part.header_bytes();
    let start = part.start;
    claims.push(BlockClaim { at: start, end: start + size, kind: BlockKind::Header, part: number, weak: overrun });
    for (index, segment) in segments.list.iter().enumerate() {
        let kind = BlockKind::Segment(index as u32);
        // Inside the FlatBuffer its objects have precedence: they explain more.
        let metadata = (start + part.memory as u64).clamp(segment.at, segment.end);
        if metadata > segment.at {
            claims.push(BlockClaim { at: segment.at, end: metadata, kind, part: number, weak: true });
        }
        if metadata < segment.end || segment.at == segment.end {
            claims.push(BlockClaim { at: metadata, end: segment.end, kind, part: number, weak: false });
        }
    }
}

/// Assigns each byte to one claim, or to a gap. `inner` is the offset of the program in a `.bpte`.
fn sweep(
    claims: &BlockClaims<'_>,
    segments: &[SegmentMap],
    inner: u64,
    len: u64,
    source: &FileBytes<'_>,
) -> io::Result<(Vec<FileBlock>, Vec<Overlap>)> {
    let mut blocks: Vec<FileBlock> = Vec::with_capacity(claims.order.len() + claims.order.len() / 2);
    let mut overlaps = Vec::new();
    // Blocks that own bytes. They are only collected after the first overlap, because most files have none.
    let mut owners: Vec<u32> = Vec::new();
    let mut has_overlap = false;
    let mut cursor = 0;
    // Index of the first claim that begins after the current one.
    let mut beyond = 0;
    let first_segment = |map: &SegmentMap| map.list.iter().map(|segment| segment.at).min();
    let first_segments: Vec<Option<u64>> = segments.iter().map(first_segment).collect();
    for (number, claim) in claims.order.iter().map(|claim| claims.claim(*claim)).enumerate() {
        let mut end = claim.end;
        if claim.weak {
            // The size of the claim is wrong, or the next claim has precedence.
            beyond = beyond.max(number + 1);
            while claims.get(beyond).is_some_and(|next| next.at <= claim.at) {
                beyond += 1;
            }
            let next = claims.get(beyond).map_or(len, |next| next.at);
            let minimum = if let BlockKind::Segment(_) = claim.kind { claim.at } else { claim.at.saturating_add(4) };
            end = end.min(next.max(minimum));
        }
        if claim.at > cursor {
            let minimum = blocks.last().map_or(0, |before| max_padding(before, claim.part, inner));
            // Offsets in a program are aligned relative to its start.
            let minimum = minimum.max(if claim.part > 0 { alignment(claim.at - inner) } else { 0 });
            // Offsets of segments are aligned relative to the first segment.
            let minimum = match (claim.kind, first_segments[claim.part as usize]) {
                (BlockKind::Segment(_), Some(first)) if claim.at > first => minimum.max(alignment(claim.at - first)),
                _ => minimum,
            };
            blocks.push(gap(cursor, claim.at, claim.part, minimum, source)?);
            owners.extend(has_overlap.then_some(blocks.len() as u32 - 1));
            cursor = claim.at;
        }
        let at = claim.at.max(cursor);
        let overlap = claim.at < cursor.min(end);
        if overlap {
            if !has_overlap {
                has_overlap = true;
                owners.extend((0..blocks.len() as u32).filter(|block| {
                    let block: &FileBlock = &blocks[*block as usize];
                    block.end > block.at
                }));
            }
            let before = owners.partition_point(|owner| blocks[*owner as usize].at <= claim.at);
            let owner = before.checked_sub(1).map_or(0, |index| owners[index]);
            overlaps.push(Overlap { block: blocks.len() as u32, owner, bytes: claim.at..end.min(cursor) });
        }
        if end > at && has_overlap {
            owners.push(blocks.len() as u32);
        }
        // The block after this one is the next claim's.
        let lost = matches!(claim.kind, BlockKind::Segment(_)) && end < claim.end && !overlap;
        if lost {
            let block = blocks.len() as u32;
            overlaps.push(Overlap { block, owner: block + 1, bytes: end..claim.end });
        }
        let overlap = overlap || lost;
        blocks.push(FileBlock { at, end: end.max(at), kind: claim.kind, part: claim.part, overlap });
        cursor = cursor.max(end);
    }
    if cursor < len {
        let minimum = blocks.last().map_or(0, |before| max_padding(before, 0, inner));
        blocks.push(gap(cursor, len, 0, minimum, source)?);
    }
    debug_assert!(
        blocks.iter().try_fold(0, |at, block| (block.at == at && block.end >= at).then_some(block.end)) == Some(len)
    );
    Ok((blocks, overlaps))
}

/// Upper bound on the padding after a block in bytes. FlatBuffers are written from the end, so the padding of an
/// aligned object is after it.
fn max_padding(before: &FileBlock, part: u32, inner: u64) -> u64 {
    match before.kind {
        _ if before.part != part => alignment(inner),
        BlockKind::Header => MAX_HEADER_PADDING,
        BlockKind::Object(_) => alignment(before.at).max(alignment(before.at + 4)),
        BlockKind::Segment(_)
        | BlockKind::PayloadHeader
        | BlockKind::PayloadConstants
        | BlockKind::Padding
        | BlockKind::Newer
        | BlockKind::Unreachable => 0,
    }
}

fn gap(at: u64, end: u64, part: u32, minimum: u64, source: &FileBytes<'_>) -> io::Result<FileBlock> {
    let kind = if source.is_padding(at, end, minimum)? { BlockKind::Padding } else { BlockKind::Unreachable };
    Ok(FileBlock { at, end, kind, part, overlap: false })
}
