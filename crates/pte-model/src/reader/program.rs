//! Reads a `.pte`: extended header, program, ranges of its data.
//!
//! Content that the program model cannot represent (a delegate without a payload, an unknown instruction) is an error;
//! a violated rule of the runtime is not.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{io, vec};

use indexmap::IndexSet;

use super::table::ReadField;
use crate::data::workers;
use crate::data::{Blob, BlobId};
use crate::data::{Head, Origin};
use crate::diagnostics::counted;
use crate::format::ScalarType;
use crate::format::container;
use crate::format::container::{
    ExtendedHeader, HEAD, PREAMBLE, PROGRAM_HEADER, PROGRAM_SIZE, SEGMENT_BASE_OFFSET, SEGMENT_DATA_SIZE,
};
use crate::format::flatbuffer::read::{Buffer, ReadError, Result, TableRef, TableVector};
use crate::format::flatbuffer::unknown;
use crate::format::program as schema;
use crate::format::program::DataLocation;
use crate::format::program::*;
use crate::format::unknown::{UnknownParts, UnknownTable};
use crate::program::attributes::{AttributeKind, TENSOR_ATTRIBUTES};
use crate::program::element::{Element, Part};
use crate::program::instruction::InstructionSource;
use crate::program::tables::value_tables;
use crate::program::{
    Args, BackendDelegate, Chain, DimOrder, EValue, ExecutionPlan, Instruction, Memory, MemoryRequest, NamedData,
    Program, Tensor, TensorData, ValueId,
};

/// The extended header of a `.pte`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramHeader {
    /// Length field in bytes.
    pub length: u32,
    /// Size in bytes of the FlatBuffer with the header.
    pub program_size: u64,
    /// Offset of the first segment.
    pub segment_base_offset: u64,
    /// Size in bytes of all segments; `None` in headers shorter than 32 bytes.
    pub segment_data_size: Option<u64>,
}

/// Content of a `.pte`: program, and layout of its data in the file.
#[derive(Debug)]
pub struct ProgramContents {
    /// Content of the file.
    pub program: Program,
    /// Extended header.
    pub header: Option<ProgramHeader>,
    /// Offset and size of each segment, relative to the first one.
    pub segments: Vec<(u64, u64)>,
    /// Offsets of the constants in their segment, with the reserved entry.
    pub constant_offsets: Vec<u64>,
    /// Segment of the constants; `None` without constants in a segment. The runtime loads it as a whole.
    pub constant_segment: Option<u32>,
    /// True if constants are inside the FlatBuffer (`constant_buffer`).
    pub inline_constants: bool,
    /// Segment of each entry of `named_data`.
    pub named_segments: Vec<u32>,
    /// Entries of the lists of data.
    pub data: DataEntries,
    /// References to data that are not in the file, of a program that is [read in part](read_part): the element, and a
    /// message. Such a tensor has [`TensorData::Elsewhere`]; such a delegate or entry of `named_data` has no bytes.
    pub missing: Vec<(Element, String)>,
    /// FlatBuffer with the header, as in the file.
    pub metadata: Head,
}

/// An entry of a list of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataEntry {
    /// Of `constant_segment.offsets`, or of `constant_buffer`.
    Constant(u32),
    /// Of `mutable_data_segments[0].offsets`.
    InitialState(u32),
    /// Of `backend_delegate_data`.
    Inline(u32),
    /// Of `segments`.
    Segment(u32),
}

/// The entries of the lists of data that a program has, and those that it uses.
#[derive(Debug, Default)]
pub struct DataEntries {
    /// Entries that tensors, delegates, named data and lists of offsets use, in the order of their uses.
    uses: Vec<DataEntry>,
    /// Number of constants, with the reserved entry.
    constants: usize,
    /// Number of initial states, with the reserved entry.
    states: usize,
    /// Number of inline payloads.
    inline: usize,
}

impl DataEntries {
    /// Returns the entries that nothing uses. `segments` is the number of segments.
    pub fn unused(&self, segments: usize) -> Vec<DataEntry> {
        let used: HashSet<DataEntry> = self.uses.iter().copied().collect();
        let constants = (1..self.constants as u32).map(DataEntry::Constant);
        let states = (1..self.states as u32).map(DataEntry::InitialState);
        let inline = (0..self.inline as u32).map(DataEntry::Inline);
        let all = constants.chain(states).chain(inline).chain((0..segments as u32).map(DataEntry::Segment));
        all.filter(|entry| !used.contains(entry)).collect()
    }

    /// Returns a description of data that YAML cannot express: unused data, and data in an order other than that of
    /// their first use. `None` if there are none. `segments` is the number of segments.
    pub fn irregularity(&self, segments: usize) -> Option<String> {
        let used: IndexSet<DataEntry> = self.uses.iter().copied().collect();
        let list = |first: u32, count: usize, what: &str, entry: fn(u32) -> DataEntry| {
            let all = first..count as u32;
            if let Some(unused) = all.clone().find(|n| !used.contains(&entry(*n))) {
                return Some(format!("{what} {unused} is not used"));
            }
            let kind = std::mem::discriminant(&entry(0));
            let order = used.iter().filter(|used| std::mem::discriminant(*used) == kind);
            let misplaced = all.zip(order).find(|(expected, used)| entry(*expected) != **used);
            misplaced
                .map(|(expected, _)| format!("{what} {expected} is not at its place in the order of the first use"))
        };
        list(1, self.constants, "constant", DataEntry::Constant)
            .or_else(|| list(1, self.states, "initial state", DataEntry::InitialState))
            .or_else(|| list(0, self.inline, "inline payload", DataEntry::Inline))
            .or_else(|| {
                let unused = (0..segments as u32).find(|n| !used.contains(&DataEntry::Segment(*n)));
                unused.map(|n| format!("segment {n} is not used"))
            })
    }
}

/// Offset and size of each segment, relative to the first one, in a vector of `DataSegment`.
pub(super) fn segments(t: &TableRef<'_, '_>, slot: u16) -> Result<Vec<(u64, u64)>> {
    let segments =
        t.children(slot, &DATA_SEGMENT, |t| Ok((t.u64(data_segment::offset)?, t.u64(data_segment::size)?)))?;
    Ok(segments.unwrap_or_default())
}

/// Reads the extended header from the first bytes of a file (rules H-3 to H-6).
///
/// # Errors
/// The header is shorter than its minimum length.
pub fn header(head: &[u8]) -> Result<Option<ProgramHeader>> {
    let (shape, field) = (&PROGRAM_HEADER, |name| PROGRAM_HEADER.get(head, name));
    if !shape.is_in(head) {
        return Ok(None);
    }
    let length = ExtendedHeader::stated_length(head).unwrap_or(0);
    let required = (field(PROGRAM_SIZE), field(SEGMENT_BASE_OFFSET), length >= shape.minimum);
    let (Some(program_size), Some(segment_base_offset), true) = required else {
        let message =
            format!("the extended header has {}, expected {} or more", counted(length, "byte"), shape.minimum);
        return Err(Box::new(ReadError { offset: ExtendedHeader::LENGTH as u64, field: String::new(), message }));
    };
    let segment_data_size = if length >= shape.length { field(SEGMENT_DATA_SIZE) } else { None };
    Ok(Some(ProgramHeader { length, program_size, segment_base_offset, segment_data_size }))
}

/// Reads a program.
///
/// # Errors
/// The file cannot be read, or is not a program ([`ReadError`], wrapped).
pub fn read(origin: &Origin) -> io::Result<ProgramContents> {
    let length = origin.len()?;
    read_with(origin, length, References::Valid, &|offset, len| origin.blob(offset, len, length))
}

/// Treatment of references to data that are not in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum References {
    /// They are errors.
    Valid,
    /// They are listed in [`ProgramContents::missing`].
    Listed,
}

/// Reads a program with possibly invalid references to data, which are in [`ProgramContents::missing`].
///
/// # Errors
/// As [`read`], except for references to data.
pub fn read_part(origin: &Origin) -> io::Result<ProgramContents> {
    let length = origin.len()?;
    read_with(origin, length, References::Listed, &|offset, len| origin.blob(offset, len, length))
}

/// Maximum number of bytes that may be missing in a truncated file.
const MAX_MISSING: u64 = 16 << 20;

/// Reads a program that may be truncated or have wrong data offsets. Missing data are zeros.
///
/// # Errors
/// As [`read`].
pub fn read_cut(origin: &Origin) -> io::Result<ProgramContents> {
    let length = origin.len()?;
    // A limit on the total, since equal data are compared byte by byte.
    let missing = AtomicU64::new(0);
    let zeros = |len: u64| {
        let before = missing.fetch_add(len.min(MAX_MISSING), Ordering::Relaxed);
        (before.saturating_add(len) <= MAX_MISSING).then(|| Blob::new(len, crate::data::BlobSource::Repeat([0].into())))
    };
    read_with(origin, length.saturating_add(MAX_MISSING), References::Valid, &|offset, len| {
        origin.blob(offset, len, length).or_else(|| zeros(len))
    })
}

/// Message about a file without bytes.
pub const EMPTY: &str = "the file is empty";

/// Reads a program whose data end at `length`.
fn read_with(origin: &Origin, length: u64, references: References, data: &Ranges<'_>) -> io::Result<ProgramContents> {
    if origin.len()? == 0 {
        return Err(io::Error::other(EMPTY));
    }
    let head = origin.head(HEAD)?;
    let header = header(&head)?;
    let program_size = header.map_or(length, |header| header.program_size.min(length));
    super::root::verify(origin, &head, program_size, &container::PROGRAM)?;
    let bytes = origin.head(program_size)?;
    let mut found = parse(&bytes, header, data, length, references)?;
    found.metadata = bytes;
    Ok(found)
}

/// Reads a program from its metadata alone. `bytes` is the FlatBuffer with its header, of a file of `length` bytes, and
/// `data` returns ranges of the file. [`ProgramContents::metadata`] stays empty.
///
/// # Errors
/// Bytes that are not a program.
pub fn read_head(bytes: &[u8], length: u64, references: References, data: &Ranges<'_>) -> Result<ProgramContents> {
    parse(bytes, header(bytes)?, data, length, references)
}

/// Returns the range of a file with an offset and length; `None` if it exceeds the file.
pub type Ranges<'a> = dyn Fn(u64, u64) -> Option<Blob> + Sync + 'a;

fn parse(
    bytes: &[u8],
    header: Option<ProgramHeader>,
    data: &Ranges<'_>,
    length: u64,
    references: References,
) -> Result<ProgramContents> {
    let mut reader = ProgramReader {
        data,
        base: header.map_or(0, |header| header.segment_base_offset),
        program: Program::default(),
        segments: Vec::new(),
        constant_offsets: Vec::new(),
        constant_segment: None,
        inline_constants: false,
        named_segments: Vec::new(),
        data_entries: DataEntries::default(),
        missing: MissingData { references, list: Vec::new() },
        methods: 0,
        empty: HashMap::new(),
        ranges: HashMap::new(),
        lists: Vec::new().into_iter(),
    };
    let buffer = Buffer::new(bytes);
    let root = buffer.root(schema::IDENTIFIER, &PROGRAM)?;
    reader.segments = segments(&root, program::segments)?;
    let places = reader.data_ranges(&root)?;
    let mut lists = lists(&root, bytes.len())?;
    // The total cost is checked after all chunks are read, so that the result does not depend on their order. No
    // further chunk is read after the limit is exceeded.
    let (spent, limit) = (AtomicU64::new(0), buffer.left());
    let parts = workers::map(pieces(&mut lists), if bytes.len() < LARGE { 1 } else { 2 }, |piece| {
        let buffer = Buffer::new(bytes);
        let mut part = if spent.load(Ordering::Relaxed) > limit {
            Ok(ChunkData::default())
        } else {
            piece.read(&buffer, &places, length, references)
        };
        part.iter_mut().for_each(|part| part.is_newer = buffer.is_newer());
        spent.fetch_add(buffer.spent(), Ordering::Relaxed);
        part
    });
    buffer.settle(spent.into_inner())?;
    // Tensors of a method with the same index share the data of the longest one.
    let mut longest: HashMap<(usize, u32), u64> = HashMap::new();
    let mut is_newer = false;
    for part in parts {
        let ChunkData { constants, missing, is_newer: is_newer_part } = part?;
        is_newer |= is_newer_part;
        reader.missing.list.extend(missing.list);
        for constant in constants {
            if let Some(index) = constant.shared {
                let len = longest.entry((constant.plan, index)).or_default();
                *len = constant.len.max(*len);
            }
            lists[constant.plan].constants.push(constant);
        }
    }
    for constant in lists.iter_mut().flat_map(|list| &mut list.constants) {
        let len = constant.shared.and_then(|index| longest.get(&(constant.plan, index)));
        constant.len = len.copied().unwrap_or(constant.len);
    }
    reader.lists = lists.into_iter();
    reader.program(root, &places)?;
    if is_newer || buffer.is_newer() {
        reader.program.set_newer_parts(unknown_parts(&buffer, bytes)?);
    }
    share_empty_payloads(&mut reader.program);
    Ok(ProgramContents {
        program: reader.program,
        header,
        segments: reader.segments,
        constant_offsets: reader.constant_offsets,
        constant_segment: reader.constant_segment,
        inline_constants: reader.inline_constants,
        named_segments: reader.named_segments,
        data: reader.data_entries,
        missing: reader.missing.list,
        metadata: Head::Read(Vec::new()),
    })
}

/// Returns the parts of a program that the schema does not have.
fn unknown_parts(buffer: &Buffer<'_>, bytes: &[u8]) -> Result<UnknownParts> {
    let length = if PROGRAM_HEADER.is_in(bytes) { ExtendedHeader::stated_length(bytes).unwrap_or(0) } else { 0 };
    let head = PREAMBLE.saturating_add(length as usize).min(bytes.len());
    let Some(mut parts) = unknown::find(bytes, &PROGRAM, head) else { return buffer.too_shared() };
    // The layout decides which entries these lists have.
    let planned = [
        program::constant_buffer,
        program::backend_delegate_data,
        program::segments,
        program::constant_segment,
        program::mutable_data_segments,
    ];
    let is_planned = |table: &UnknownTable| table.path.first().is_some_and(|step| planned.contains(&step.slot));
    parts.is_fixed |= parts.tables.iter().any(is_planned);
    Ok(parts)
}

/// Marks the empty payloads that several delegates share as inline, because others have an entry each (W-11).
fn share_empty_payloads(program: &mut Program) {
    let mut uses: HashMap<BlobId, usize> = HashMap::new();
    let empty = |delegate: &&mut BackendDelegate| delegate.inline.is_none();
    for delegate in program.execution_plan.iter().flatten().flat_map(ExecutionPlan::delegates) {
        *uses.entry(delegate.processed).or_default() += 1;
    }
    let plans = program.execution_plan.iter_mut().flatten();
    for delegate in plans.flat_map(|plan| plan.delegates.iter_mut().flatten()).filter(empty) {
        delegate.inline = (uses[&delegate.processed] > 1).then_some(true);
    }
}

struct ProgramReader<'d> {
    data: &'d Ranges<'d>,
    base: u64,
    program: Program,
    segments: Vec<(u64, u64)>,
    constant_offsets: Vec<u64>,
    constant_segment: Option<u32>,
    inline_constants: bool,
    named_segments: Vec<u32>,
    data_entries: DataEntries,
    missing: MissingData,
    /// Number of methods that are read.
    methods: usize,
    /// Blobs of entries without bytes.
    empty: HashMap<DataEntry, BlobId>,
    /// Blobs by range, so that shared data stay shared.
    ranges: HashMap<(u64, u64), BlobId>,
    /// The values and instructions of each method.
    lists: vec::IntoIter<MethodLists>,
}

/// References to data that are not in the file.
struct MissingData {
    references: References,
    list: Vec<(Element, String)>,
}

impl MissingData {
    /// Lists an invalid reference.
    ///
    /// # Errors
    /// That of `wrong`, if it is not listed.
    fn add(&mut self, at: Element, message: String, wrong: impl FnOnce(String) -> Result<()>) -> Result<()> {
        match self.references {
            References::Valid => wrong(message),
            References::Listed => {
                self.list.push((at, message));
                Ok(())
            }
        }
    }
}

/// Data of a chunk in addition to its values or instructions.
#[derive(Default)]
struct ChunkData {
    constants: Vec<TensorRange>,
    missing: MissingData,
    /// The chunk has parts that the schema does not have.
    is_newer: bool,
}

impl Default for MissingData {
    fn default() -> MissingData {
        MissingData { references: References::Valid, list: Vec::new() }
    }
}

/// Values and instructions of a method, which are read before the rest, in chunks and with two threads.
#[derive(Default)]
struct MethodLists {
    values: Option<TableList<EValue>>,
    constants: Vec<TensorRange>,
    /// The instructions of each chain.
    chains: vec::IntoIter<Option<TableList<Instruction>>>,
}

/// A vector of tables and the decoded items.
struct TableList<T> {
    tables: TableVector,
    items: Vec<T>,
}

/// A tensor whose data are in the file.
struct TensorRange {
    /// Index of the method.
    plan: usize,
    /// Index of the tensor's value.
    value: usize,
    /// The entry of the data.
    entry: DataEntry,
    /// Index of the data, if it is a constant with bytes.
    shared: Option<u32>,
    offset: u64,
    len: u64,
}

/// Consecutive values or instructions: their vector, the index of the first, and the destination.
enum ListChunk<'l> {
    Values { plan: usize, tables: TableVector, start: usize, room: &'l mut [EValue] },
    Instructions { tables: TableVector, start: usize, room: &'l mut [Instruction] },
}

/// Minimum size in bytes of metadata that are read with two threads.
const LARGE: usize = 1 << 20;

/// Number of values or instructions in a chunk.
const PIECE: usize = 4096;

/// Maximum number of bytes of decoded items per byte of the file, which values need that all refer to one table, with
/// four bytes each. Only overlapping lists exceed it.
const ROOM: usize = size_of::<EValue>() / 4;

/// Returns the lists of each method, with capacity for their items.
fn lists(root: &TableRef<'_, '_>, len: usize) -> Result<Vec<MethodLists>> {
    let mut room = len.saturating_mul(ROOM);
    let lists = root.children(program::execution_plan, &EXECUTION_PLAN, |t| {
        let values = t.tables(execution_plan::values, &EVALUE)?;
        let chains = t.children(execution_plan::chains, &CHAIN, |t| {
            let instructions = t.tables(chain::instructions, &INSTRUCTION)?;
            let nothing = Instruction::FreeCall { value_index: ValueId(0) };
            instructions.map(|tables| TableList::new(tables, nothing, &mut room)).transpose()
        })?;
        Ok(MethodLists {
            values: values.map(|tables| TableList::new(tables, EValue::Null, &mut room)).transpose()?,
            constants: Vec::new(),
            chains: chains.unwrap_or_default().into_iter(),
        })
    })?;
    Ok(lists.unwrap_or_default())
}

impl<T: Clone> TableList<T> {
    fn new(tables: TableVector, nothing: T, room: &mut usize) -> Result<TableList<T>> {
        let size = tables.len.saturating_mul(size_of::<T>());
        let Some(left) = room.checked_sub(size) else {
            return tables.wrong("overlapping lists exceed the size limit");
        };
        *room = left;
        Ok(TableList { tables, items: vec![nothing; tables.len] })
    }

    /// Returns the chunks of the list, each with the index of its first item.
    fn pieces(&mut self) -> impl Iterator<Item = (usize, &mut [T])> {
        (0..).step_by(PIECE).zip(self.items.chunks_mut(PIECE))
    }
}

fn pieces(lists: &mut [MethodLists]) -> Vec<ListChunk<'_>> {
    let mut pieces = Vec::new();
    for (plan, lists) in lists.iter_mut().enumerate() {
        if let Some(list) = &mut lists.values {
            let tables = list.tables;
            pieces.extend(list.pieces().map(|(start, room)| ListChunk::Values { plan, tables, start, room }));
        }
        for list in lists.chains.as_mut_slice().iter_mut().flatten() {
            let tables = list.tables;
            pieces.extend(list.pieces().map(|(start, room)| ListChunk::Instructions { tables, start, room }));
        }
    }
    pieces
}

impl ListChunk<'_> {
    /// Reads the chunk without the data of its tensors.
    fn read(self, buffer: &Buffer<'_>, places: &DataRanges, length: u64, references: References) -> Result<ChunkData> {
        match self {
            ListChunk::Values { plan, tables, start, room } => {
                let missing = MissingData { references, list: Vec::new() };
                let data = ChunkData { missing, ..ChunkData::default() };
                let mut values = ValueReader { places, length, plan, value: start, data };
                buffer.fill(&tables, start, room, |t| values.evalue(t))?;
                Ok(values.data)
            }
            ListChunk::Instructions { tables, start, room } => {
                buffer.fill(&tables, start, room, instruction)?;
                Ok(ChunkData::default())
            }
        }
    }
}

/// Ranges of data, by the lists that tensors and delegates refer to.
#[derive(Default)]
struct DataRanges {
    /// Start of each constant, and end of its segment.
    constants: Vec<(u64, u64)>,
    /// Start of each initial state, and end of its segment.
    mutable: Vec<(u64, u64)>,
    /// Start and length of each inline payload.
    inline: Vec<(u64, u64)>,
    /// Starts of the constants and of the initial states, ascending.
    starts: [OnceLock<Vec<u64>>; 2],
}

impl DataRanges {
    /// Returns the end of data of unknown size: the start of the next data, at most `end`.
    fn end_of(&self, is_mutable: bool, start: u64, end: u64) -> u64 {
        let ranges = if is_mutable { &self.mutable } else { &self.constants };
        let starts = self.starts[usize::from(is_mutable)].get_or_init(|| {
            let mut starts: Vec<u64> = ranges.iter().skip(1).map(|(start, _)| *start).collect();
            starts.sort_unstable();
            starts
        });
        let next = starts.get(starts.partition_point(|other| *other <= start)).copied().unwrap_or(end);
        next.min(end).max(start)
    }
}

impl ProgramReader<'_> {
    fn blob(&mut self, offset: u64, len: u64) -> Option<BlobId> {
        if let Some(id) = self.ranges.get(&(offset, len)) {
            return Some(*id);
        }
        let blob = (self.data)(offset, len)?;
        let id = self.program.add_blob(blob);
        self.ranges.insert((offset, len), id);
        Some(id)
    }

    /// Returns the empty blob of an entry. Entries without bytes have different blobs, although they have the same
    /// range.
    fn empty_blob(&mut self, entry: DataEntry) -> BlobId {
        let program = &mut self.program;
        *self.empty.entry(entry).or_insert_with(|| program.add_blob(Blob::bytes([])))
    }

    /// Start and size of a segment in the file.
    fn segment(&self, index: u32) -> Option<(u64, u64)> {
        let (offset, size) = *self.segments.get(index as usize)?;
        Some((self.base.checked_add(offset)?, size))
    }

    fn program(&mut self, t: TableRef<'_, '_>, places: &DataRanges) -> Result<()> {
        self.program.version = t.u32(program::version)?;
        let plans = t.children(program::execution_plan, &EXECUTION_PLAN, |t| self.execution_plan(t, places))?;
        self.program.execution_plan = plans;
        let named = t.children(program::named_data, &NAMED_DATA, |t| {
            let index = t.u32(named_data::segment_index)?;
            self.data_entries.uses.push(DataEntry::Segment(index));
            self.named_segments.push(index);
            let key = t.text(named_data::key)?;
            let place = self.segment(index).and_then(|(offset, size)| self.blob(offset, size));
            let Some(key) = key else { return t.wrong(named_data::key, "missing key") };
            let data = match place {
                Some(data) => data,
                None => {
                    let at = Element::NamedData(self.named_segments.len() - 1);
                    let wrong = |message| t.wrong(named_data::segment_index, message);
                    self.missing.add(at, format!("segment {index} is out of range"), wrong)?;
                    self.program.add_blob(Blob::bytes([]))
                }
            };
            Ok(NamedData::new(key, data))
        })?;
        self.program.named_data = named;
        Ok(())
    }

    fn data_ranges(&mut self, t: &TableRef<'_, '_>) -> Result<DataRanges> {
        let mut places = DataRanges::default();
        let inline = t.children(program::backend_delegate_data, &BACKEND_DELEGATE_INLINE_DATA, |t| {
            t.range(backend_delegate_inline_data::data)
        })?;
        self.data_entries.inline = inline.as_ref().map_or(0, Vec::len);
        places.inline = inline.unwrap_or_default().into_iter().map(Option::unwrap_or_default).collect();
        if let Some(t) = t.child(program::constant_segment, &SUBSEGMENT_OFFSETS)? {
            places.constants = self.subsegments(&t)?;
            self.constant_offsets = t.u64s(subsegment_offsets::offsets)?.unwrap_or_default();
            let has_constants = self.constant_offsets.len() > 1;
            self.constant_segment = has_constants.then_some(t.u32(subsegment_offsets::segment_index)?);
        }
        if places.constants.len() <= 1 {
            let buffers = t.children(program::constant_buffer, &BUFFER, |t| t.range(buffer::storage))?;
            let buffers = buffers.unwrap_or_default().into_iter().map(Option::unwrap_or_default);
            let buffers: Vec<_> = buffers.map(|(start, len)| (start, start + len)).collect();
            if !buffers.is_empty() {
                places.constants = buffers;
                self.inline_constants = true;
            }
        }
        // The runtime looks up the segment of a state only when a method uses it. Without a segment, there are no
        // ranges.
        let mutable = t.children(program::mutable_data_segments, &SUBSEGMENT_OFFSETS, |t| {
            let is_found = self.segment(t.u32(subsegment_offsets::segment_index)?).is_some();
            if is_found { self.subsegments(&t) } else { Ok(Vec::new()) }
        })?;
        // Only entry 0 is ever used (docs/format.md, "Location of tensor data").
        places.mutable = mutable.unwrap_or_default().into_iter().next().unwrap_or_default();
        (self.data_entries.constants, self.data_entries.states) = (places.constants.len(), places.mutable.len());
        Ok(places)
    }

    /// Returns the start of each range and the end of the segment, since ranges may overlap.
    fn subsegments(&mut self, t: &TableRef<'_, '_>) -> Result<Vec<(u64, u64)>> {
        let index = t.u32(subsegment_offsets::segment_index)?;
        self.data_entries.uses.push(DataEntry::Segment(index));
        let offsets: Vec<u64> = t.u64s(subsegment_offsets::offsets)?.unwrap_or_default();
        if offsets.len() <= 1 {
            return Ok(vec![(0, 0); offsets.len()]);
        }
        let Some((start, size)) = self.segment(index) else {
            let wrong = |message| t.wrong(subsegment_offsets::segment_index, message);
            self.missing.add(Element::Program, format!("segment {index} of constants is out of range"), wrong)?;
            return Ok(Vec::new());
        };
        let end = start.saturating_add(size);
        Ok(offsets.iter().map(|offset| (start.saturating_add(*offset), end)).collect())
    }

    fn execution_plan(&mut self, t: TableRef<'_, '_>, places: &DataRanges) -> Result<ExecutionPlan> {
        let mut lists = self.lists.next().unwrap_or_default();
        let method = self.methods;
        self.methods += 1;
        let mut delegates = 0..;
        Ok(ExecutionPlan {
            name: t.text(execution_plan::name)?,
            container_meta_type: ReadField::read_field(&t, execution_plan::container_meta_type)?,
            values: self.values(method, &mut lists)?,
            inputs: t.ids(execution_plan::inputs)?,
            outputs: t.ids(execution_plan::outputs)?,
            chains: t.children(execution_plan::chains, &CHAIN, |t| chain(t, lists.chains.next().flatten()))?,
            operators: ReadField::read_field(&t, execution_plan::operators)?,
            delegates: t.children(execution_plan::delegates, &BACKEND_DELEGATE, |t| {
                let at = Element::Method(method, Part::Delegate(delegates.next().unwrap_or(usize::MAX)));
                self.delegate(t, at, places)
            })?,
            memory: MemoryRequest {
                non_const_buffer_sizes: t.i64s(execution_plan::non_const_buffer_sizes)?,
                non_const_buffer_device: ReadField::read_field(&t, execution_plan::non_const_buffer_device)?,
                ..MemoryRequest::default()
            },
        })
    }

    /// Returns the values of a method, with the blobs of their data.
    fn values(&mut self, method: usize, lists: &mut MethodLists) -> Result<Option<Vec<EValue>>> {
        let Some(mut values) = lists.values.take() else { return Ok(None) };
        for constant in &lists.constants {
            let Some(EValue::Tensor(tensor)) = values.items.get_mut(constant.value) else { continue };
            let found = match constant.len {
                0 => Some(self.empty_blob(constant.entry)),
                len => self.blob(constant.offset, len),
            };
            self.data_entries.uses.push(constant.entry);
            match found {
                Some(blob) => tensor.data = TensorData::Blob(blob),
                None => {
                    let at = Element::Method(method, Part::Value(constant.value));
                    let wrong = |message: String| values.tables.wrong(message);
                    self.missing.add(at, "the data of a tensor exceed the file".to_owned(), wrong)?;
                    tensor.data = TensorData::Elsewhere(constant.shared);
                }
            }
        }
        Ok(Some(values.items))
    }

    fn delegate(&mut self, t: TableRef<'_, '_>, at: Element, places: &DataRanges) -> Result<BackendDelegate> {
        let Some(reference) = t.child(backend_delegate::processed, &BACKEND_DELEGATE_DATA_REFERENCE)? else {
            return t.wrong(backend_delegate::processed, "missing payload");
        };
        let index = reference.u32(backend_delegate_data_reference::index)?;
        let location = reference.i8(backend_delegate_data_reference::location)?;
        let (range, inline) = match DataLocation(location) {
            DataLocation::INLINE => (places.inline.get(index as usize).copied(), true),
            DataLocation::SEGMENT => (self.segment(index), false),
            _ => {
                let message = format!("unknown location {location}");
                return reference.wrong(backend_delegate_data_reference::location, message);
            }
        };
        let entry = if inline { DataEntry::Inline(index) } else { DataEntry::Segment(index) };
        self.data_entries.uses.push(entry);
        let found = range.and_then(|(offset, len)| match (inline, len) {
            (true, 0) => Some(self.empty_blob(entry)),
            _ => self.blob(offset, len),
        });
        let processed = match found {
            Some(processed) => processed,
            None => {
                let wrong = |message| reference.wrong(backend_delegate_data_reference::index, message);
                self.missing.add(at, format!("payload {index} is out of range"), wrong)?;
                self.program.add_blob(Blob::bytes([]))
            }
        };
        let compile_specs = ReadField::read_field(&t, backend_delegate::compile_specs)?;
        // An empty payload is always inline (W-11); see `share_empty_payloads`.
        let inline = (self.program.blob(processed).len > 0).then_some(inline);
        Ok(BackendDelegate { id: t.text(backend_delegate::id)?, processed, inline, compile_specs })
    }
}

macro_rules! values {
    ($( $variant:ident = $table:ident $module:ident $field:ident; )*) => {
        impl ValueReader<'_> {
            /// Reads the table of a value of a kind.
            fn member(&mut self, kind: KernelType, t: TableRef<'_, '_>) -> Result<EValue> {
                Ok(match kind {
                    KernelType::Null => EValue::Null,
                    KernelType::Tensor => EValue::Tensor(self.tensor(t)?),
                    $( KernelType::$variant => EValue::$variant(ReadField::read_field(&t, $module::$field)?), )*
                })
            }
        }
    };
}

value_tables!(values);

fn chain(t: TableRef<'_, '_>, instructions: Option<TableList<Instruction>>) -> Result<Chain> {
    let stacktrace = t.children(chain::stacktrace, &FRAME_LIST, |t| ReadField::read_field(&t, frame_list::items))?;
    Ok(Chain {
        inputs: t.ids(chain::inputs)?,
        outputs: t.ids(chain::outputs)?,
        instructions: instructions.map(|list| list.items),
        stacktrace,
    })
}

/// Reader of the values of a chunk.
struct ValueReader<'p> {
    places: &'p DataRanges,
    /// Bytes of the file.
    length: u64,
    /// Index of the method.
    plan: usize,
    /// Index of the value that is read next.
    value: usize,
    data: ChunkData,
}

impl ValueReader<'_> {
    fn evalue(&mut self, t: TableRef<'_, '_>) -> Result<EValue> {
        self.value += 1;
        let (kind, table) = match t.member_or_tag(evalue::val_type, evalue::val, "kind of value")? {
            Ok(member) => member,
            Err(tag) => return Ok(EValue::Unknown(tag)),
        };
        let Some(v) = table else {
            // None needs no table (M-3).
            return if kind == KernelType::Null { Ok(EValue::Null) } else { t.wrong(evalue::val, "missing value") };
        };
        self.member(kind, v)
    }

    fn tensor(&mut self, t: TableRef<'_, '_>) -> Result<Tensor> {
        let allocation = t.child(tensor::allocation_info, &ALLOCATION_DETAILS)?;
        let memory = match allocation {
            Some(t) => {
                let low = u64::from(t.u32(allocation_details::memory_offset_low)?);
                let high = u64::from(t.u32(allocation_details::memory_offset_high)?);
                Memory::At { pool: t.u32(allocation_details::memory_id)?, offset: low | high << 32 }
            }
            None => Memory::None,
        };
        let mut found = Tensor {
            scalar_type: ScalarType(t.i8(tensor::scalar_type)?),
            sizes: t.i32s(tensor::sizes)?,
            dim_order: t.bytes(tensor::dim_order)?.map(DimOrder::from),
            memory,
            extra_tensor_info: Option::read_field(&t, tensor::extra_tensor_info)?.map(Box::new),
            ..Tensor::default()
        };
        for attribute in TENSOR_ATTRIBUTES {
            let value = match attribute.kind {
                AttributeKind::Bool => t.bool(attribute.slot)?.into(),
                AttributeKind::Byte(_) => t.i8(attribute.slot)?.into(),
                AttributeKind::Int => t.i32(attribute.slot)?,
            };
            (attribute.set)(&mut found, value);
        }
        let index = t.u32(tensor::data_buffer_idx)?;
        found.data = if found.is_external() {
            TensorData::Elsewhere(Some(index))
        } else if index == 0 {
            TensorData::None
        } else {
            let rooms = if memory == Memory::None { &self.places.constants } else { &self.places.mutable };
            // Empty data need no entry; the emitter writes none if all states are empty.
            let room = rooms.get(index as usize).copied().or_else(|| (found.nbytes() == Some(0)).then_some((0, 0)));
            let is_mutable = memory != Memory::None;
            let nbytes = match found.scalar_type.info() {
                Some(_) => found.nbytes(),
                None => room.map(|(start, end)| self.places.end_of(is_mutable, start, end.min(self.length)) - start),
            };
            let range = match room.zip(nbytes) {
                None => Err(format!("data {index} are out of range")),
                Some(((start, end), nbytes)) => match start.checked_add(nbytes) {
                    Some(needed) if needed <= end.min(self.length) => Ok((start, nbytes)),
                    Some(_) | None => Err(format!("the {nbytes} bytes of the tensor exceed its data")),
                },
            };
            let (start, nbytes) = match range {
                Ok(range) => range,
                Err(message) => {
                    let at = Element::Method(self.plan, Part::Value(self.value - 1));
                    self.data.missing.add(at, message, |message| t.wrong(tensor::data_buffer_idx, message))?;
                    found.data = TensorData::Elsewhere(Some(index));
                    return Ok(found);
                }
            };
            // See `ProgramReader::values`.
            let shared = (memory == Memory::None && nbytes > 0).then_some(index);
            let (plan, value) = (self.plan, self.value - 1);
            let entry =
                if memory == Memory::None { DataEntry::Constant(index) } else { DataEntry::InitialState(index) };
            self.data.constants.push(TensorRange { plan, value, entry, shared, offset: start, len: nbytes });
            TensorData::None
        };
        Ok(found)
    }
}

fn instruction(t: TableRef<'_, '_>) -> Result<Instruction> {
    let (kind, table) = match t.member_or_tag(instruction::instr_args_type, instruction::instr_args, "instruction")? {
        Ok(member) => member,
        Err(tag) => return Ok(Instruction::Unknown { tag }),
    };
    let Some(a) = table else {
        return t.wrong(instruction::instr_args, "missing instruction");
    };
    Instruction::read(kind, &a)
}

impl InstructionSource for TableRef<'_, '_> {
    type Error = Box<ReadError>;

    fn index(&self, slot: u16) -> Result<i32> {
        self.i32(slot)
    }

    fn args(&self, slot: u16) -> Result<Option<Args>> {
        self.ids(slot)
    }
}
