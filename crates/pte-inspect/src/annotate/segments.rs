//! Finds the owners of data: the tensor, delegate or key of each range of a segment, and of vectors inside the
//! FlatBuffer.
//!
//! This is the only module of the annotator that interprets tables; the others only use the slot tables. It reads the
//! first bytes of each range.

use std::collections::{BTreeMap, HashMap};
use std::io;

use super::part::FilePart;
use super::source::{FileBytes, alignment};
use pte_model::data::number;
use pte_model::diagnostics::counted;
use pte_model::format::Format;
use pte_model::format::ScalarType;
use pte_model::format::flat_tensor as ptd;
use pte_model::format::flatbuffer::view::Table;
use pte_model::format::program::{
    DataLocation, backend_delegate, backend_delegate_data_reference, backend_delegate_inline_data, buffer,
    data_segment, evalue, execution_plan, extra_tensor_info, named_data, program, subsegment_offsets, tensor,
};
use pte_payload::PayloadFormat;
use pte_xnnpack::{BACKEND, FORMATS};

/// Number of bytes of a range that are read for display.
pub const SHOWN: usize = 64;

/// Number of elements of a tensor that are shown.
const NUMBERS: usize = 4;

/// Maximum number of bytes of a name or a key that are read.
const MAX_NAME: usize = 1024;

/// Maximum rank for which the size of a tensor is computed.
const MAX_RANK: usize = 64;

/// Minimum size in bytes of the FlatBuffer objects of an owner; bounds the number of owners by the size of the file.
const CLAIM: usize = 16;

/// Number of owners that are allowed in any file.
const FEW: usize = 64;

/// Union tag of `Tensor` in `KernelTypes`.
const TENSOR_TAG: u8 = 5;

/// The segments of a file, and the owners of data inside its FlatBuffer.
#[derive(Default)]
pub struct SegmentMap {
    /// Segments in the order of the file.
    pub list: Vec<FileSegment>,
    /// Descriptions of vectors of bytes inside the FlatBuffer, by their offset.
    pub inline: HashMap<usize, String>,
    /// Paths of the delegates whose payloads are explained, by index of the segment.
    pub payloads: HashMap<usize, String>,
    /// Paths of the delegates whose payloads are FlatBuffers of a known schema, with their format, by index of the
    /// segment.
    pub flat_payloads: HashMap<usize, (String, &'static dyn PayloadFormat)>,
    /// Paths of the delegates whose payloads are inside the FlatBuffer, by offset of the vector.
    pub inline_payloads: HashMap<usize, String>,
    /// For a payload: the constants after its graph, and the padding between them.
    pub constants: Vec<DataRange>,
}

/// A segment, and the data in it.
pub struct FileSegment {
    /// Index in the list of segments.
    pub index: usize,
    /// Start offset in the file, limited to the end of the file.
    pub at: u64,
    /// End offset in the file, limited to the end of the file.
    pub end: u64,
    /// Stated size in bytes.
    pub size: u64,
    /// Kind of the data.
    pub role: String,
    /// Defect of the segment.
    pub defect: Option<String>,
    /// Ranges that tile the segment.
    pub pieces: Vec<DataRange>,
}

/// Kind of a range of a segment.
#[derive(Clone, Copy)]
pub enum RangeKind {
    /// Data with an owner.
    Data,
    /// Zeros up to an aligned offset.
    Padding,
    /// Bytes without an owner.
    Unreachable,
}

/// A range of a segment.
pub struct DataRange {
    /// Start offset in the file.
    pub at: u64,
    /// End offset in the file.
    pub end: u64,
    /// Kind.
    pub kind: RangeKind,
    /// First bytes.
    pub bytes: Vec<u8>,
    /// First owner; empty without one.
    pub owner: String,
    /// Owners and content.
    pub description: String,
    /// Defect of the range.
    pub defect: Option<String>,
}

/// A range of a segment that an owner refers to.
pub struct DataClaim {
    /// Offset from the start of the segment.
    pub from: u64,
    /// Length in bytes; `None` if it ends at the next claim.
    pub len: Option<u64>,
    /// First owner.
    pub owner: String,
    /// Layout of a tensor.
    pub layout: Option<ElementLayout>,
    /// What it is, if it has no layout; empty if the owner says it.
    pub text: String,
    /// Number of further owners.
    pub others: u64,
}

impl DataClaim {
    /// Creates the claim of one owner.
    pub fn of(from: u64, len: Option<u64>, owner: String, layout: Option<ElementLayout>) -> DataClaim {
        DataClaim { from, len, owner, layout, text: String::new(), others: 0 }
    }
}

/// Element type and sizes of a tensor.
pub struct ElementLayout {
    scalar_type: ScalarType,
    sizes: Vec<i32>,
    rank: usize,
    bytes: Option<u64>,
}

impl ElementLayout {
    /// Creates a layout.
    pub fn new(scalar_type: ScalarType, sizes: impl ExactSizeIterator<Item = i32>) -> ElementLayout {
        let rank = sizes.len();
        let mut shown = Vec::new();
        let mut bytes = scalar_type.info().map(|info| info.size).filter(|_| rank <= MAX_RANK);
        for size in sizes.take(MAX_RANK) {
            bytes = bytes.and_then(|bytes| bytes.checked_mul(u64::try_from(size).ok()?));
            if shown.len() < 8 {
                shown.push(size);
            }
        }
        ElementLayout { scalar_type, sizes: shown, rank, bytes }
    }

    /// Reads the layout from the slots of a table.
    pub fn of(table: &Table<'_>, scalar_type: u16, sizes: u16) -> ElementLayout {
        match table.i32s(sizes) {
            Some(items) => ElementLayout::new(ScalarType(table.i8(scalar_type)), items.iter()),
            None => ElementLayout::new(ScalarType(table.i8(scalar_type)), std::iter::empty()),
        }
    }

    /// Returns type, sizes and first elements: `float32 [2, 2]: 1, 2, 3, 4`. `first` are the first of `len` bytes.
    pub fn describe(&self, first: &[u8], len: u64) -> String {
        let sizes: Vec<String> = self.sizes.iter().map(ToString::to_string).collect();
        let more = if self.rank > sizes.len() { ", .." } else { "" };
        let mut text = format!("{} [{}{more}]", self.scalar_type, sizes.join(", "));
        let Some(info) = self.scalar_type.info() else { return text };
        let count = len.min(self.bytes.unwrap_or(len)) / info.size;
        let mut shown = 0;
        for element in
            first.chunks_exact(info.size as usize).take(NUMBERS.min(usize::try_from(count).unwrap_or(NUMBERS)))
        {
            let Some(number) = number::decode(self.scalar_type, element) else { break };
            text += if shown == 0 { ": " } else { ", " };
            text += &number::element(number, info.encoding);
            shown += 1;
        }
        if shown < count && shown > 0 {
            text += ", ..";
        }
        text
    }
}

impl SegmentMap {
    /// Finds the segments of a part, and their owners.
    pub fn find(part: &FilePart, source: &FileBytes<'_>, bytes: &[u8]) -> io::Result<SegmentMap> {
        let mut segments = SegmentMap::default();
        let Some(root) = Table::root(bytes) else { return Ok(segments) };
        let slot = match part.format {
            Format::Program => program::segments,
            Format::FlatTensor => ptd::flat_tensor::segments,
            Format::BundledProgram | Format::Safetensors => return Ok(segments),
        };
        let mut claims = DataClaims { of: BTreeMap::new(), left: bytes.len() / CLAIM + FEW };
        match part.format {
            Format::Program => claims.program(part, &root, bytes, &mut segments),
            Format::FlatTensor | Format::BundledProgram | Format::Safetensors => claims.flat_tensor(&root),
        }
        let base = part.base(bytes);
        let Some(list) = root.tables(slot) else { return Ok(segments) };
        for index in 0..list.len().min(bytes.len() / CLAIM + FEW) {
            let Some(table) = list.get(index) else { continue };
            let (offset, size) = (table.u64(data_segment::offset), table.u64(data_segment::size));
            let place = |offset: u64| base.checked_add(offset).map_or(part.len, |at| at.min(part.len));
            let (at, end) = (place(offset), place(offset.saturating_add(size)));
            let missing = size - (end - at).min(size);
            let defect = (missing > 0)
                .then(|| format!("{missing} of its {} are beyond the end of the file", counted(size, "byte")));
            // An empty segment may have any offset; after the FlatBuffer it overlaps nothing.
            let (at, end) =
                if at == end { (at.max(bytes.len() as u64), at.max(bytes.len() as u64)) } else { (at, end) };
            let (at, end) = (part.start + at, part.start + end);
            let (role, claims) = match claims.of.remove(&(index as u64)) {
                Some((role, claims)) => (role, claims),
                None => ("unreferenced".to_owned(), Vec::new()),
            };
            let pieces = pieces(part.start, at, end, claims, source)?;
            segments.list.push(FileSegment { index, at, end, size, role, defect, pieces });
        }
        Ok(segments)
    }
}

/// Splits a segment into ranges by the claims on it. `start` is the offset of the part.
pub fn pieces(
    start: u64,
    at: u64,
    end: u64,
    mut claims: Vec<DataClaim>,
    source: &FileBytes<'_>,
) -> io::Result<Vec<DataRange>> {
    claims.sort_by_key(|claim| claim.from);
    let mut pieces: Vec<DataRange> = Vec::new();
    let mut cursor = at;
    let gap = |from: u64, to: u64| -> io::Result<DataRange> {
        // Offsets in a segment are aligned relative to its start, whatever that is aligned to.
        let inside = if to > at { alignment(to - at) } else { 0 };
        let kind = if source.is_padding(from, to, alignment(to - start).max(inside))? {
            RangeKind::Padding
        } else {
            RangeKind::Unreachable
        };
        let bytes = source.read(from, to.min(from.saturating_add(SHOWN as u64)))?;
        Ok(DataRange { at: from, end: to, kind, bytes, owner: String::new(), description: String::new(), defect: None })
    };
    // Indices of nonempty ranges, to find the owner of a byte.
    let mut owners: Vec<usize> = Vec::new();
    let mut beyond = 0;
    for claim in &claims {
        let from = at.saturating_add(claim.from).min(end);
        while claims.get(beyond).is_some_and(|next| next.from <= claim.from) {
            beyond += 1;
        }
        let next = claims.get(beyond).map_or(end, |next| at.saturating_add(next.from).min(end));
        let to = claim.len.map_or(next, |len| from.saturating_add(len));
        let mut defect = (to > end || claim.from > end - at).then(|| "exceeds the segment".to_owned());
        let to = to.min(end);
        if from > cursor {
            pieces.push(gap(cursor, from)?);
        }
        if from < cursor && to > from {
            let before = owners.partition_point(|owner| pieces[*owner].at <= from);
            let owner = before.checked_sub(1).map_or("", |index| &pieces[owners[index]].description);
            let owner = owner.split(": ").next().unwrap_or_default();
            defect = Some(format!("overlap: bytes {from:#x} to {:#x} also belong to {owner}", to.min(cursor)));
        }
        let shown = source.read(from, to.min(from.saturating_add(SHOWN as u64)))?;
        let mut description = claim.owner.clone();
        if claim.others > 0 {
            description += &format!(" and {} more", claim.others);
        }
        if let Some(layout) = &claim.layout {
            description += ": ";
            description += &layout.describe(&shown, to - from);
        } else if !claim.text.is_empty() {
            description += &format!(": {}", claim.text);
        }
        let owned = from.max(cursor);
        if to > owned {
            owners.push(pieces.len());
        }
        let bytes = shown.get((owned - from) as usize..).unwrap_or_default().to_vec();
        let (end, owner) = (to.max(owned), claim.owner.clone());
        pieces.push(DataRange { at: owned, end, kind: RangeKind::Data, bytes, owner, description, defect });
        cursor = cursor.max(to);
    }
    if cursor < end {
        pieces.push(gap(cursor, end)?);
    }
    Ok(pieces)
}

/// Claims on the bytes of segments.
struct DataClaims {
    /// Role and claims of each segment, by index.
    of: BTreeMap<u64, (String, Vec<DataClaim>)>,
    /// Number of owners that are still allowed.
    left: usize,
}

/// The tensors that refer to a range.
struct DataUsers {
    /// First tensor.
    owner: String,
    /// Layout of the first tensor.
    layout: ElementLayout,
    /// Number of further tensors.
    others: u64,
}

impl DataClaims {
    fn add(&mut self, segment: u64, role: &str, claims: impl IntoIterator<Item = DataClaim>) {
        let entry = self.of.entry(segment).or_insert_with(|| (role.to_owned(), Vec::new()));
        if !entry.0.contains(role) {
            entry.0 = format!("{} and {role}", entry.0);
        }
        entry.1.extend(claims);
    }

    fn flat_tensor(&mut self, root: &Table<'_>) {
        let Some(entries) = root.tables(ptd::flat_tensor::named_data) else { return };
        for index in 0..entries.len().min(self.left) {
            let Some(entry) = entries.get(index) else { continue };
            let layout = entry.child(ptd::named_data::tensor_layout);
            let layout = layout
                .map(|layout| ElementLayout::of(&layout, ptd::tensor_layout::scalar_type, ptd::tensor_layout::sizes));
            let owner = format!("{:?}", shown(&entry, ptd::named_data::key));
            let len = layout.as_ref().and_then(|layout| layout.bytes);
            let claim = DataClaim::of(0, len, owner, layout);
            self.named(entry.u32(ptd::named_data::segment_index), claim);
        }
    }

    /// Adds a key; several keys with the same range are one claim.
    fn named(&mut self, segment: u32, claim: DataClaim) {
        let entry = self.of.entry(segment.into()).or_insert_with(|| ("named data".to_owned(), Vec::new()));
        match entry.1.first_mut() {
            Some(first) if first.from == 0 && first.len == claim.len && entry.0 == "named data" => first.others += 1,
            _ => self.add(segment.into(), "named data", [claim]),
        }
    }

    fn program(&mut self, part: &FilePart, root: &Table<'_>, bytes: &[u8], segments: &mut SegmentMap) {
        let (constants, mut mutable) = self.methods(part, root, bytes.len(), segments);
        if let Some(buffers) = root.tables(program::constant_buffer) {
            for (index, users) in &constants {
                let data = usize::try_from(*index).ok().and_then(|index| buffers.get(index));
                let Some(data) = data.and_then(|data| data.u8s(buffer::storage)) else { continue };
                let content = match bytes.get(data.at..data.at + data.len()) {
                    Some(data) => users.layout.describe(&data[..data.len().min(SHOWN)], data.len() as u64),
                    None => String::new(),
                };
                segments.inline.insert(data.at - 4, format!("{}{}: {content}", users.owner, more(users.others)));
            }
        }
        if let Some(list) = root.child(program::constant_segment) {
            let mut users = constants;
            self.subsegments(&list, "constants", "constant", |index| users.remove(&index));
        }
        let lists = root.tables(program::mutable_data_segments);
        for (index, list) in lists.iter().flat_map(|lists| lists.iter()).enumerate().take(self.left) {
            self.subsegments(&list, "mutable state", "state", |number| mutable.remove(&(index as u64, number)));
        }
        let Some(entries) = root.tables(program::named_data) else { return };
        for entry in entries.iter().take(self.left) {
            let owner = named_data_owner(entry.text(named_data::key).unwrap_or_default());
            self.named(entry.u32(named_data::segment_index), DataClaim::of(0, None, owner, None));
        }
    }

    /// Adds the payloads of the delegates of all methods. Returns the tensors that refer to constants and to initial
    /// states.
    fn methods(
        &mut self,
        part: &FilePart,
        root: &Table<'_>,
        mut left: usize,
        segments: &mut SegmentMap,
    ) -> (BTreeMap<u64, DataUsers>, BTreeMap<(u64, u64), DataUsers>) {
        let (mut constants, mut mutable) = (BTreeMap::new(), BTreeMap::new());
        let plans = root.tables(program::execution_plan);
        for (index, plan) in plans.iter().flat_map(|plans| (0..plans.len()).map(move |i| (i, plans.get(i)))) {
            // Methods may share their vectors: the work is bounded by the size of the file.
            left = left.saturating_sub(1);
            if left == 0 {
                break;
            }
            let Some(plan) = plan else { continue };
            let method = part.methods.get(index).map_or("methods", |method| method.path.as_str());
            let values = plan.tables(execution_plan::values);
            for (value, table) in values.iter().flat_map(|values| (0..values.len()).map(|i| (i, values.get(i)))) {
                left = left.saturating_sub(1);
                if left == 0 {
                    break;
                }
                let Some(table) = table.filter(|table| table.u8(evalue::val_type) == TENSOR_TAG) else { continue };
                let Some(table) = table.child(evalue::val) else { continue };
                let data = u64::from(table.u32(tensor::data_buffer_idx));
                if data == 0 || self.left == 0 {
                    continue;
                }
                self.left -= 1;
                let extra = table.child(tensor::extra_tensor_info);
                let users = || data_users(format!("{method}.values[{value}]"), &table, extra.as_ref());
                if !table.has(tensor::allocation_info) {
                    constants.entry(data).and_modify(|users: &mut DataUsers| users.others += 1).or_insert_with(users);
                } else {
                    let list =
                        extra.as_ref().map_or(0, |extra| extra.u64(extra_tensor_info::mutable_data_segments_idx));
                    let entry = mutable.entry((list, data));
                    entry.and_modify(|users: &mut DataUsers| users.others += 1).or_insert_with(users);
                }
            }
            self.delegates(method, &plan, root, segments);
        }
        (constants, mutable)
    }

    /// Adds the payloads of the delegates of a method.
    fn delegates(&mut self, method: &str, plan: &Table<'_>, root: &Table<'_>, segments: &mut SegmentMap) {
        let Some(delegates) = plan.tables(execution_plan::delegates) else { return };
        for delegate in 0..delegates.len().min(self.left) {
            self.left -= 1;
            let Some(table) = delegates.get(delegate) else { continue };
            let Some(processed) = table.child(backend_delegate::processed) else { continue };
            let number = processed.u32(backend_delegate_data_reference::index);
            let id = shown(&table, backend_delegate::id);
            let path = format!("{method}.delegates[{delegate}]");
            let owner = format!("{path} ({id})");
            let is_explained = id == BACKEND;
            let format = FORMATS.of_backend(&id).filter(|_| !is_explained);
            if DataLocation(processed.i8(backend_delegate_data_reference::location)) == DataLocation::INLINE {
                let data = root.tables(program::backend_delegate_data).and_then(|all| all.get(number as usize));
                if let Some(data) = data.and_then(|data| data.u8s(backend_delegate_inline_data::data)) {
                    segments.inline.entry(data.at - 4).or_insert_with(|| format!("payload of {owner}"));
                    if is_explained {
                        segments.inline_payloads.entry(data.at - 4).or_insert(path);
                    }
                }
                continue;
            }
            if is_explained {
                segments.payloads.entry(number as usize).or_insert(path);
            } else if let Some(format) = format.filter(|format| format.flat().is_some()) {
                segments.flat_payloads.entry(number as usize).or_insert((path, format));
            }
            let entry = self.of.entry(number.into()).or_insert_with(|| ("delegate payload".to_owned(), Vec::new()));
            match entry.1.first_mut() {
                Some(first) => first.others += 1,
                None => entry.1.push(DataClaim::of(0, None, owner, None)),
            }
        }
    }

    /// Adds the ranges of a segment that a list of offsets defines. Entry 0 is reserved.
    fn subsegments(&mut self, list: &Table<'_>, role: &str, one: &str, mut user: impl FnMut(u64) -> Option<DataUsers>) {
        let Some(offsets) = list.u64s(subsegment_offsets::offsets) else { return };
        let mut claims: Vec<DataClaim> = Vec::new();
        // Offsets without a tensor count as owners, too.
        let few = self.left;
        for (index, from) in offsets.iter().enumerate().skip(1).take(few) {
            claims.push(match user(index as u64) {
                Some(DataUsers { owner, layout, others }) => {
                    DataClaim { others, ..DataClaim::of(from, layout.bytes, owner, Some(layout)) }
                }
                None => DataClaim::of(from, None, format!("{one} {index}, unreferenced"), None),
            });
        }
        self.left -= claims.len().min(self.left);
        // Several indices with the same offset do not overlap.
        claims.sort_by_key(|claim| claim.from);
        claims.dedup_by(|next, first| {
            let same = next.from == first.from && (next.len == first.len || next.layout.is_none());
            if same {
                first.others += 1 + next.others;
            }
            same
        });
        self.add(list.u32(subsegment_offsets::segment_index).into(), role, claims);
    }
}

/// Returns the tensor at `path` as the first one that refers to its data.
fn data_users(path: String, tensor: &Table<'_>, extra: Option<&Table<'_>>) -> DataUsers {
    let named = extra.filter(|extra| extra.has(extra_tensor_info::fully_qualified_name));
    let owner = match named {
        Some(extra) => format!("{path} ({})", shown(extra, extra_tensor_info::fully_qualified_name)),
        None => path,
    };
    DataUsers { owner, layout: ElementLayout::of(tensor, tensor::scalar_type, tensor::sizes), others: 0 }
}

/// Returns the start of a string. Thousands of references may share a long one.
fn shown(table: &Table<'_>, slot: u16) -> String {
    clipped_name(table.text(slot).unwrap_or_default())
}

fn clipped_name(text: &[u8]) -> String {
    pte_model::diagnostics::clipped(&String::from_utf8_lossy(&text[..text.len().min(MAX_NAME)]))
}

/// Returns the owner of the data with a key in the named data of a program.
pub fn named_data_owner(key: &[u8]) -> String {
    format!("named data {:?}", clipped_name(key))
}

fn more(others: u64) -> String {
    if others > 0 { format!(" and {others} more") } else { String::new() }
}
