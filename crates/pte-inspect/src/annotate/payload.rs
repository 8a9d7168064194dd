//! Splits the payload of an XNNPACK delegate into blocks: its header, the objects of its graph, its constants.
//!
//! A payload that cannot be decoded, or whose objects overlap, is not split. It stays one region of its segment or
//! vector.

use std::collections::HashMap;
use std::io;

use super::block::{BlockKind, FileBlock};
use super::part::{FilePart, PayloadBytes};
use super::segments::{DataClaim, DataRange, ElementLayout, RangeKind, SHOWN, SegmentMap, pieces};
use super::source::FileBytes;
use pte_model::data::Origin;
use pte_model::format::container::PREAMBLE;
use pte_model::format::flatbuffer::ObjectKind;
use pte_model::format::flatbuffer::walk::Objects;
use pte_model::format::table::Union;
use pte_payload::decoded::ConstantData;
use pte_payload::header::HEADER;
use pte_xnnpack::decode::ReadGraph;
use pte_xnnpack::model::{Container, FieldContent, Graph};
use pte_xnnpack::payload::XnnpackPayload;
use pte_xnnpack::schema::{BUFFER, Datatype, GRAPH};

/// Largest graph that is explained, in bytes.
const MAX_GRAPH: u64 = 64 << 20;

/// Alignment of constants in the FlatBuffer: up to this number of zeros before one are padding.
const MAX_PADDING: u64 = 16;

/// A payload as blocks, which tile it.
pub struct PayloadBlocks {
    /// Block of the graph.
    pub part: FilePart,
    /// Owners of constants in the graph.
    pub segments: SegmentMap,
    /// Blocks. Their part is not set.
    pub blocks: Vec<FileBlock>,
}

/// Returns the payload in a block; `None` if the block is not a payload, or is not split.
///
/// # Errors
/// A file that cannot be read.
pub fn of(
    block: &FileBlock,
    part: &FilePart,
    segments: &SegmentMap,
    origin: &Origin,
    source: &FileBytes<'_>,
) -> io::Result<Option<PayloadBlocks>> {
    let found = match block.kind {
        BlockKind::Segment(index) => segments.list.get(index as usize).and_then(|segment| {
            let is_whole =
                segment.at == block.at && segment.end == block.end && segment.end - segment.at == segment.size;
            Some((segments.payloads.get(&segment.index).filter(|_| is_whole)?, block.at))
        }),
        BlockKind::Object(id) => {
            let object = part.objects.list.get(id as usize).filter(|object| !object.overrun);
            object.and_then(|object| Some((segments.inline_payloads.get(&(object.at as usize))?, block.at + 4)))
        }
        BlockKind::Header
        | BlockKind::PayloadHeader
        | BlockKind::PayloadConstants
        | BlockKind::Padding
        | BlockKind::Newer
        | BlockKind::Unreachable => None,
    };
    let Some((path, at)) = found.filter(|(_, at)| *at < block.end) else { return Ok(None) };
    split(block, part, at, &format!("{}{path}.payload.", part.prefix), origin, source)
}

/// Splits the segments of payloads that are FlatBuffers of a known schema into ranges: fields, vectors, constants.
///
/// # Errors
/// A file that cannot be read.
pub fn split_flat(
    segments: &mut SegmentMap,
    part: &FilePart,
    origin: &Origin,
    source: &FileBytes<'_>,
) -> io::Result<()> {
    for segment in &mut segments.list {
        let Some((path, format)) = segments.flat_payloads.get(&segment.index) else { continue };
        let size = segment.end - segment.at;
        let is_whole = size == segment.size && size <= MAX_GRAPH && segment.pieces.len() == 1;
        let Some(payload) = origin.blob(segment.at, size, segment.end).filter(|_| is_whole) else { continue };
        let Some(Ok(((start, _), spans))) = format.flat().map(|flat| flat.spans(&payload)) else { continue };
        let owner = |inner: &str| format!("{path}.payload{}{inner}", if inner.is_empty() { "" } else { "." });
        let mut claims: Vec<DataClaim> = Vec::new();
        claims.extend((start > 0).then(|| DataClaim::of(0, Some(start), owner("header"), None)));
        let in_graph = spans.iter().map(|span| DataClaim {
            text: span.text.clone(),
            ..DataClaim::of(start + span.at.0 as u64, Some(span.at.1 as u64), owner(&span.owner), None)
        });
        claims.extend(in_graph);
        let graph = format.graph(&payload).ok().flatten().unwrap_or_default();
        let end = claims.iter().filter_map(|claim| claim.from.checked_add(claim.len?)).max().unwrap_or(0);
        for (position, value) in graph.values.iter().enumerate() {
            let Some(ConstantData::Inside(blob)) = &value.data else { continue };
            // Those in the FlatBuffer are vectors of it.
            let Some(from) = blob.offset_in(&payload).filter(|from| *from >= end) else { continue };
            let layout = value.elements.map(|elements| {
                ElementLayout::new(elements, value.sizes.iter().map(|size| i32::try_from(*size).unwrap_or(-1)))
            });
            claims.push(DataClaim::of(from, Some(blob.len()), owner(&format!("values[{position}]")), layout));
        }
        segment.pieces = pieces(part.start, segment.at, segment.end, claims, source)?;
    }
    Ok(())
}

/// Splits the payload from `at` to the end of a block.
fn split(
    block: &FileBlock,
    program: &FilePart,
    at: u64,
    prefix: &str,
    origin: &Origin,
    source: &FileBytes<'_>,
) -> io::Result<Option<PayloadBlocks>> {
    let len = block.end - at;
    let Some(payload) = origin.blob(at, len, block.end).map(XnnpackPayload::new) else { return Ok(None) };
    let (Ok(ReadGraph { sections, .. }), Ok(graph)) = (payload.read(MAX_GRAPH), payload.graph()) else {
        return Ok(None);
    };
    let (start, size) = sections.graph;
    let has_header = sections.constants.is_some();
    let is_arranged = if has_header { start >= HEADER as u64 } else { start == 0 };
    if !is_arranged {
        return Ok(None);
    }
    let head = source.read(at, at + start + size)?;
    let objects = Objects::find(&head[start as usize..], &GRAPH);
    let base = at + start;
    let mut blocks = Vec::with_capacity(objects.list.len() + 4);
    if has_header {
        blocks.push(new_block(BlockKind::PayloadHeader, at, base));
    }
    let end = base + size;
    if !tile(&objects, &head[start as usize..], base, &mut blocks) {
        return Ok(None);
    }
    let mut constants = Vec::new();
    if let Some((data, size)) = sections.constants {
        if at + data < end {
            return Ok(None);
        }
        constants = pieces(at, at + data, at + data + size, claims(graph), source)?;
        if at + data > end {
            constants.insert(0, padding(end, at + data, source)?);
        }
        if at + data + size < block.end {
            constants.push(padding(at + data + size, block.end, source)?);
        }
        if end < block.end {
            blocks.push(new_block(BlockKind::PayloadConstants, end, block.end));
        }
    }
    let inline = match graph.container {
        Container::Header => HashMap::new(),
        Container::Bare => owners(graph, &objects, &head),
    };
    let memory = size as usize;
    let in_segment = matches!(block.kind, BlockKind::Segment(_));
    let part = FilePart {
        format: program.format,
        root: &GRAPH,
        identifier: graph.identifier,
        prefix: prefix.to_owned(),
        start: base,
        len: size,
        memory,
        header: None,
        objects,
        methods: Vec::new(),
        newer: Vec::new(),
        payload: Some(PayloadBytes { at, head, start: start as usize, in_segment }),
    };
    Ok(Some(PayloadBlocks { part, segments: SegmentMap { inline, constants, ..SegmentMap::default() }, blocks }))
}

fn new_block(kind: BlockKind, from: u64, to: u64) -> FileBlock {
    FileBlock { at: from, end: to, kind, part: 0, overlap: false }
}

/// Adds the blocks of a graph, which has these bytes and begins at `base`. Returns false if its objects overlap.
fn tile(objects: &Objects, graph: &[u8], base: u64, blocks: &mut Vec<FileBlock>) -> bool {
    let gap = |from: u64, to: u64| {
        let bytes = graph.get((from - base) as usize..(to - base) as usize).unwrap_or_default();
        let is_padding = to - from < MAX_PADDING && bytes.iter().all(|byte| *byte == 0);
        new_block(if is_padding { BlockKind::Padding } else { BlockKind::Unreachable }, from, to)
    };
    let mut cursor = base + PREAMBLE as u64;
    blocks.push(new_block(BlockKind::Header, base, cursor));
    let mut is_tiled = true;
    objects.in_order(|id, offset| {
        let object = &objects.list[id as usize];
        let (from, to) = (base + offset, base + offset + u64::from(object.size));
        is_tiled &= from >= cursor && !object.overrun && !object.abandoned;
        if is_tiled {
            blocks.extend((from > cursor).then(|| gap(cursor, from)));
            blocks.push(new_block(BlockKind::Object(id), from, to));
            cursor = to;
        }
    });
    let end = base + graph.len() as u64;
    if is_tiled && cursor < end {
        blocks.push(gap(cursor, end));
    }
    is_tiled
}

/// Returns a range between the parts of a payload.
fn padding(from: u64, to: u64, source: &FileBytes<'_>) -> io::Result<DataRange> {
    let bytes = source.read(from, to.min(from.saturating_add(SHOWN as u64)))?;
    let kind = match to - from < MAX_PADDING && bytes.iter().all(|byte| *byte == 0) {
        true => RangeKind::Padding,
        false => RangeKind::Unreachable,
    };
    Ok(DataRange { at: from, end: to, kind, bytes, owner: String::new(), description: String::new(), defect: None })
}

/// A value that reads a constant.
struct ConstantUser {
    owner: String,
    layout: Option<ElementLayout>,
    others: u64,
}

/// Returns the users of constants by their indices.
fn users(graph: &Graph) -> HashMap<u32, ConstantUser> {
    let mut users: HashMap<u32, ConstantUser> = HashMap::new();
    let mut add = |index: u32, owner: String, layout: Option<ElementLayout>| {
        let first = ConstantUser { owner, layout, others: 0 };
        users.entry(index).and_modify(|user| user.others += 1).or_insert(first);
    };
    for (position, value) in graph.values.iter().enumerate() {
        if value.constant != 0 {
            let layout = Datatype::of(value.datatype).and_then(|datatype| {
                let sizes = datatype.stored_sizes(&value.dims).ok()?;
                Some(ElementLayout::new(datatype.storage, sizes.into_iter()))
            });
            add(value.constant, format!("values[{position}]"), layout);
        }
        let Some(params) = &value.quantization else { continue };
        let uint = |name: &str| {
            let slot = params.kind.table().fields.iter().position(|field| field.name == name)?;
            params.fields.get(slot).map(FieldContent::uint)
        };
        if let (Some(index @ 1..), Some(count)) = (uint("scale_buffer_idx"), uint("num_scales")) {
            let sizes = [i32::try_from(count).unwrap_or(-1)];
            let layout = ElementLayout::new(params.kind.scale_type(), sizes.into_iter());
            add(index, format!("scales of values[{position}]"), Some(layout));
        }
    }
    users
}

/// Returns the ranges of the constants after the graph.
fn claims(graph: &Graph) -> Vec<DataClaim> {
    let mut users = users(graph);
    let inside = (0..).zip(&graph.constants).filter(|(_, constant)| constant.is_inside());
    let claims = inside.map(|(index, constant)| {
        let (from, len) = (constant.offset, Some(constant.size));
        match users.remove(&index) {
            Some(ConstantUser { owner, layout, others }) => {
                DataClaim { others, ..DataClaim::of(from, len, owner, layout) }
            }
            None => DataClaim::of(from, len, format!("constant {index}, unreferenced"), None),
        }
    });
    claims.collect()
}

/// Returns descriptions of the constants in the graph, by the offset of their vector.
fn owners(graph: &Graph, objects: &Objects, bytes: &[u8]) -> HashMap<usize, String> {
    let users = users(graph);
    let storage = objects.list.iter().filter_map(|object| {
        let buffer = objects.list.get(object.parent as usize)?;
        let is_storage = matches!(object.what, ObjectKind::Scalars(_))
            && matches!(buffer.what, ObjectKind::Table(table) if std::ptr::eq(table, &BUFFER));
        let user = users.get(&buffer.step).filter(|_| is_storage)?;
        let (start, len) = (object.at as usize + 4, (object.size as usize).saturating_sub(4));
        let first = bytes.get(start..start + len.min(SHOWN))?;
        let content = user.layout.as_ref().map_or(String::new(), |layout| layout.describe(first, len as u64));
        let more = if user.others > 0 { format!(" and {} more", user.others) } else { String::new() };
        Some((object.at as usize, format!("{}{more}: {content}", user.owner)))
    });
    storage.collect()
}
