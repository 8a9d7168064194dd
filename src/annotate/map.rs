//! Whose each byte of a file is: blocks that tile the file from its first byte to its last, each with one owner.
//!
//! Claims come from the FlatBuffer's objects, the header and the segments. Where claims meet, the one that begins first
//! owns the bytes, and the other says so. Nothing is explained here and nothing is printed.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use super::part::{Part, has_root};
use super::segments::Segments;
use super::source::{Source, alignment};
use crate::data::{Head, Origin};
use crate::format::Format;
use crate::format::container::HEAD;
use crate::format::container::MAX_FLATBUFFER;

/// Bytes that are read of what nothing refers to.
const SHOWN: u64 = 64;

/// Headers are filled up with fewer zeros than this, which come before what their FlatBuffer is filled up with.
const AFTER_HEADER: u64 = 64;

/// What a block is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The first bytes of a file, with its extended header.
    Header,
    /// An object of a FlatBuffer.
    Object(u32),
    /// A segment.
    Segment(u32),
    /// Zeros that an alignment needs.
    Padding,
    /// Bytes that nothing refers to.
    Unreachable,
}

/// Bytes with one owner. Those of a claim whose bytes are all another's are none.
#[derive(Debug, Clone, Copy)]
pub struct Block {
    /// Where they begin in the file.
    pub at: u64,
    /// Where they end.
    pub end: u64,
    /// What they are.
    pub kind: Kind,
    /// The part that they are of.
    pub part: u8,
    /// Bytes that it claims are another's; [`Map::clashes`] tells which.
    pub clash: bool,
}

/// Bytes that are claimed twice.
#[derive(Debug, Clone)]
pub struct Clash {
    /// Which block claims them, too.
    pub block: u32,
    /// The block that owns the first of them.
    pub owner: u32,
    /// The bytes.
    pub bytes: Range<u64>,
}

/// A file, byte by byte.
#[derive(Debug)]
pub struct Map {
    /// The metadata.
    head: Head,
    /// Length of the file.
    pub len: u64,
    /// The file, and the program inside it.
    pub parts: Vec<Part>,
    /// The segments of each part.
    pub segments: Vec<Segments>,
    /// All bytes, in order.
    pub blocks: Vec<Block>,
    /// In the order of their blocks.
    pub clashes: Vec<Clash>,
    /// The first bytes of what nothing refers to behind the metadata, by where it begins.
    pub beyond: BTreeMap<u64, Vec<u8>>,
}

/// Somebody who says that bytes are theirs.
#[derive(Clone, Copy)]
struct Claim {
    at: u64,
    end: u64,
    kind: Kind,
    part: u8,
    /// It says that there are more, or others have a better right: it ends where the next one begins.
    weak: bool,
}

impl Map {
    /// Reads a file of this format.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn new(origin: &Origin, format: Format) -> io::Result<Map> {
        let len = origin.len()?;
        let head = metadata(origin, format, len)?;
        let bytes: &[u8] = &head;
        let source = Source::new(origin, bytes, len)?;
        let mut parts = vec![Part::new(format, "", 0, bytes, len)];
        let inner = parts[0].inner(bytes);
        if let Some((_, start, size)) = inner {
            let program = &bytes[start..start + size];
            let stated = usize::try_from(Format::Program.metadata_len(program, size as u64)).unwrap_or(size);
            let program = &program[..enough(program, stated, size)];
            parts.push(Part::new(Format::Program, "program.", start as u64, program, size as u64));
        }
        let of_part = |part: &Part| {
            let start = part.start as usize;
            Segments::find(part, &source, &bytes[start..start + part.memory])
        };
        let segments: Vec<Segments> = parts.iter().map(of_part).collect::<io::Result<_>>()?;
        let claims = Claims::new(&parts, &segments, inner.map(|(id, ..)| id));
        let (blocks, clashes) = sweep(&claims, parts.last().map_or(0, |part| part.start), len, &source)?;
        let mut beyond = BTreeMap::new();
        for block in blocks.iter().filter(|block| block.kind == Kind::Unreachable && block.end > bytes.len() as u64) {
            beyond.insert(block.at, source.read(block.at, block.end.min(block.at.saturating_add(SHOWN)))?);
        }
        drop(source);
        Ok(Map { head, len, parts, segments, blocks, clashes, beyond })
    }

    /// The segments of a block's part.
    pub fn segments(&self, block: &Block) -> &Segments {
        &self.segments[usize::from(block.part)]
    }

    /// The bytes in memory, from the file's start.
    pub fn memory(&self) -> &[u8] {
        &self.head
    }

    /// The metadata of a part.
    pub fn bytes(&self, part: &Part) -> &[u8] {
        &self.head[part.start as usize..part.start as usize + part.memory]
    }

    /// The part of a block.
    pub fn part(&self, block: &Block) -> &Part {
        &self.parts[usize::from(block.part)]
    }

    /// What a block claims that is another's.
    pub fn clash(&self, block: usize) -> Option<&Clash> {
        if !self.blocks[block].clash {
            return None;
        }
        let index = self.clashes.partition_point(|clash| (clash.block as usize) < block);
        self.clashes.get(index).filter(|clash| clash.block as usize == block)
    }
}

/// The metadata of a file: what its header says, or all of it if that cannot be right.
fn metadata(origin: &Origin, format: Format, len: u64) -> io::Result<Head> {
    let head = origin.head(HEAD)?;
    let stated = format.metadata_len(&head, len);
    if stated < len && !has_root(&head, stated) && has_root(&head, len) {
        return origin.head(len.min(MAX_FLATBUFFER));
    }
    origin.head(stated.min(MAX_FLATBUFFER))
}

/// The same for bytes in memory.
fn enough(bytes: &[u8], stated: usize, len: usize) -> usize {
    let stated = stated.min(len);
    if !has_root(bytes, stated as u64) && has_root(bytes, len as u64) { len } else { stated }
}

/// All claims by where they begin. There is an object for a dozen bytes, so of each only its number is kept.
struct Claims<'p> {
    parts: &'p [Part],
    /// The vector that holds the program of a `.bpte`.
    inner: Option<u32>,
    /// Headers and segments.
    few: Vec<Claim>,
    /// Numbers of objects, or of `few`, each with its kind in the upper bits.
    order: Vec<u32>,
}

/// In [`Claims::order`], the kind of a claim: an object of the first part, of the second, or one of the few others.
const KIND: u32 = 30;
const FEW: u32 = 2;

impl<'p> Claims<'p> {
    fn new(parts: &'p [Part], segments: &[Segments], inner: Option<u32>) -> Claims<'p> {
        let mut claims = Claims { parts, inner, few: Vec::new(), order: Vec::new() };
        let numbered = parts.iter().zip(segments).zip(0..);
        numbered.for_each(|((part, segments), number)| few_claims(part, segments, number, &mut claims.few));
        // The header of a part comes before its objects, its segments behind those that begin with them.
        claims.few.sort_by_key(|claim| (claim.at, claim.kind != Kind::Header));
        let mut few = (0..claims.few.len() as u32).peekable();
        let mut order =
            Vec::with_capacity(claims.few.len() + parts.iter().map(|part| part.objects.list.len()).sum::<usize>());
        for (part, number) in parts.iter().zip(0u32..) {
            part.objects.in_order(|id, at| {
                let at = part.start + at;
                let is_before = |index: &u32| {
                    let claim = &claims.few[*index as usize];
                    claim.at < at || claim.at == at && claim.kind == Kind::Header
                };
                while let Some(index) = few.next_if(is_before) {
                    order.push(FEW << KIND | index);
                }
                order.push(number << KIND | id);
            });
        }
        order.extend(few.map(|index| FEW << KIND | index));
        if parts.len() > 1 {
            // The objects of a bundle lie before and behind its program.
            order.sort_by_key(|claim| claims.claim(*claim).at);
        }
        claims.order = order;
        claims
    }

    fn get(&self, index: usize) -> Option<Claim> {
        self.order.get(index).map(|claim| self.claim(*claim))
    }

    fn claim(&self, claim: u32) -> Claim {
        let (number, id) = (claim >> KIND, claim & ((1 << KIND) - 1));
        if number == FEW {
            return self.few[id as usize];
        }
        let part = &self.parts[number as usize];
        let object = &part.objects.list[id as usize];
        let at = part.start + u64::from(object.at);
        // The items of the vector that holds a program are that program's.
        let holds_program = number == 0 && self.inner == Some(id);
        let size = if holds_program { 4 } else { object.size };
        let weak = object.overrun && !holds_program;
        Claim { at, end: at + u64::from(size), kind: Kind::Object(id), part: number as u8, weak }
    }
}

fn few_claims(part: &Part, segments: &Segments, number: u8, claims: &mut Vec<Claim>) {
    let (size, overrun) = part.header_bytes();
    let start = part.start;
    claims.push(Claim { at: start, end: start + size, kind: Kind::Header, part: number, weak: overrun });
    for (index, segment) in segments.list.iter().enumerate() {
        let kind = Kind::Segment(index as u32);
        // Inside the FlatBuffer its objects have the better right: they explain more.
        let metadata = (start + part.memory as u64).clamp(segment.at, segment.end);
        if metadata > segment.at {
            claims.push(Claim { at: segment.at, end: metadata, kind, part: number, weak: true });
        }
        if metadata < segment.end || segment.at == segment.end {
            claims.push(Claim { at: metadata, end: segment.end, kind, part: number, weak: false });
        }
    }
}

/// Gives each byte to one claim, or to none. `inner` is where the program of a `.bpte` begins.
fn sweep(claims: &Claims<'_>, inner: u64, len: u64, source: &Source<'_>) -> io::Result<(Vec<Block>, Vec<Clash>)> {
    let mut blocks: Vec<Block> = Vec::with_capacity(claims.order.len() + claims.order.len() / 2);
    let mut clashes = Vec::new();
    // Blocks that own bytes, for finding the owner of one; listed from the first time that somebody asks.
    let mut owners: Vec<u32> = Vec::new();
    let mut crowded = false;
    let mut cursor = 0;
    // Where the first claim behind the present one begins that does not begin with it.
    let mut beyond = 0;
    for (number, claim) in claims.order.iter().map(|claim| claims.claim(*claim)).enumerate() {
        let mut end = claim.end;
        if claim.weak {
            // What it says of its length is wrong; what comes next has the better right.
            beyond = beyond.max(number + 1);
            while claims.get(beyond).is_some_and(|next| next.at <= claim.at) {
                beyond += 1;
            }
            let next = claims.get(beyond).map_or(len, |next| next.at);
            let least = if let Kind::Segment(_) = claim.kind { claim.at } else { claim.at.saturating_add(4) };
            end = end.min(next.max(least));
        }
        if claim.at > cursor {
            let least = blocks.last().map_or(0, |before| filled(before, claim.part, inner));
            // A program is aligned by itself, wherever it lies.
            let least = least.max(if claim.part > 0 { alignment(claim.at - inner) } else { 0 });
            blocks.push(gap(cursor, claim.at, claim.part, least, source)?);
            owners.extend(crowded.then_some(blocks.len() as u32 - 1));
            cursor = claim.at;
        }
        let at = claim.at.max(cursor);
        let clash = claim.at < cursor.min(end);
        if clash {
            if !crowded {
                crowded = true;
                owners.extend((0..blocks.len() as u32).filter(|block| {
                    let block: &Block = &blocks[*block as usize];
                    block.end > block.at
                }));
            }
            let before = owners.partition_point(|owner| blocks[*owner as usize].at <= claim.at);
            let owner = before.checked_sub(1).map_or(0, |index| owners[index]);
            clashes.push(Clash { block: blocks.len() as u32, owner, bytes: claim.at..end.min(cursor) });
        }
        if end > at && crowded {
            owners.push(blocks.len() as u32);
        }
        // The next claim's block is the next but this one.
        let lost = matches!(claim.kind, Kind::Segment(_)) && end < claim.end && !clash;
        if lost {
            let block = blocks.len() as u32;
            clashes.push(Clash { block, owner: block + 1, bytes: end..claim.end });
        }
        let clash = clash || lost;
        blocks.push(Block { at, end: end.max(at), kind: claim.kind, part: claim.part, clash });
        cursor = cursor.max(end);
    }
    if cursor < len {
        let least = blocks.last().map_or(0, |before| filled(before, 0, inner));
        blocks.push(gap(cursor, len, 0, least, source)?);
    }
    debug_assert!(
        blocks.iter().try_fold(0, |at, block| (block.at == at && block.end >= at).then_some(block.end)) == Some(len)
    );
    Ok((blocks, clashes))
}

/// Fewer zeros than this may fill up what stands before them. FlatBuffers are written from their end: what is aligned has its
/// padding behind it.
fn filled(before: &Block, part: u8, inner: u64) -> u64 {
    match before.kind {
        _ if before.part != part => alignment(inner),
        Kind::Header => AFTER_HEADER,
        Kind::Object(_) => alignment(before.at).max(alignment(before.at + 4)),
        _ => 0,
    }
}

fn gap(at: u64, end: u64, part: u8, least: u64, source: &Source<'_>) -> io::Result<Block> {
    let kind = if source.is_padding(at, end, least)? { Kind::Padding } else { Kind::Unreachable };
    Ok(Block { at, end, kind, part, clash: false })
}
