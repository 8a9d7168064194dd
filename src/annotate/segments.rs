//! Whose the data are: which bytes behind the FlatBuffer, or in a vector inside it, belong to which tensor, delegate or key.
//!
//! The only place of the annotator that knows what tables mean; the rest goes by the slot tables. Of the data only the first
//! bytes of each piece are read.

use std::collections::{BTreeMap, HashMap};
use std::io;

use super::part::Part;
use super::source::{Source, alignment};
use crate::data::number;
use crate::format::Format;
use crate::format::ScalarType;
use crate::format::flat_tensor as ptd;
use crate::format::program::{
    backend_delegate, backend_delegate_data_reference, backend_delegate_inline_data, buffer, data_segment, evalue,
    execution_plan, extra_tensor_info, named_data, program, subsegment_offsets, tensor,
};
use crate::format::flatbuffer::view::Table;

/// Bytes of a piece that are read: what is shown of it.
const SHOWN: usize = 64;

/// Numbers of a tensor that are shown.
const NUMBERS: usize = 4;

/// Bytes of a name or a key that are read.
const LONGEST: usize = 1024;

/// Tensors of more dimensions are not measured.
const MAX_RANK: usize = 64;

/// Whoever has data takes as many bytes of the FlatBuffer: an entry of a list, a table, a name. More are not told apart.
const CLAIM: usize = 16;

/// So many may have data however small the FlatBuffer is.
const FEW: usize = 64;

/// The tag of a tensor among the values of a program.
const TENSOR_TAG: u8 = 5;

/// The segments of a file and whose data are inside its FlatBuffer.
#[derive(Debug, Default)]
pub struct Segments {
    /// In the order of the file's list.
    pub list: Vec<Segment>,
    /// For vectors of bytes inside the FlatBuffer, by where they begin: whose they are.
    pub inline: HashMap<usize, String>,
}

/// A segment.
#[derive(Debug)]
pub struct Segment {
    /// Its place in the list.
    pub index: usize,
    /// Where it begins and ends in the file, as far as it is inside.
    pub at: u64,
    /// See `at`.
    pub end: u64,
    /// The size that is stated.
    pub size: u64,
    /// What it is for.
    pub role: String,
    /// What is wrong with it.
    pub defect: Option<String>,
    /// What is in it, in order; these tile it.
    pub pieces: Vec<Piece>,
}

/// What bytes of a segment are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Somebody's data.
    Data,
    /// Zeros up to the next data.
    Padding,
    /// Nobody's.
    Unreachable,
}

/// A piece of a segment.
#[derive(Debug)]
pub struct Piece {
    /// Where it begins in the file.
    pub at: u64,
    /// Where it ends.
    pub end: u64,
    /// What it is.
    pub fill: Fill,
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// Whose it is.
    pub says: String,
    /// What is wrong with it.
    pub defect: Option<String>,
}

/// Somebody who says that bytes are theirs.
struct Claim {
    /// From the segment's start.
    from: u64,
    /// `None`: up to the next one.
    len: Option<u64>,
    who: String,
    layout: Option<Layout>,
    others: u64,
}

/// How the bytes of a tensor are to be understood.
pub struct Layout {
    scalar_type: ScalarType,
    sizes: Vec<i32>,
    rank: usize,
    bytes: Option<u64>,
}

impl Layout {
    fn new(scalar_type: i8, sizes: impl ExactSizeIterator<Item = i32>) -> Layout {
        let (scalar_type, rank) = (ScalarType(scalar_type), sizes.len());
        let mut shown = Vec::new();
        let mut bytes = scalar_type.info().map(|info| info.size).filter(|_| rank <= MAX_RANK);
        for size in sizes.take(MAX_RANK) {
            bytes = bytes.and_then(|bytes| bytes.checked_mul(u64::try_from(size).ok()?));
            if shown.len() < 8 {
                shown.push(size);
            }
        }
        Layout { scalar_type, sizes: shown, rank, bytes }
    }

    /// The layout that three fields of a table describe.
    pub fn of(table: &Table<'_>, scalar_type: u16, sizes: u16) -> Layout {
        match table.i32s(sizes) {
            Some(items) => Layout::new(table.i8(scalar_type), items.iter()),
            None => Layout::new(table.i8(scalar_type), std::iter::empty()),
        }
    }

    /// `float32 [2, 2] 1, 2, 3, 4`
    pub fn says(&self, first: &[u8], all: u64) -> String {
        let sizes: Vec<String> = self.sizes.iter().map(ToString::to_string).collect();
        let more = if self.rank > sizes.len() { ", .." } else { "" };
        let mut text = format!("{} [{}{more}]", self.scalar_type, sizes.join(", "));
        let Some(info) = self.scalar_type.info() else { return text };
        let single = info.name != "float64" && info.name != "complex128";
        let there = all.min(self.bytes.unwrap_or(all)) / info.size;
        let mut shown = 0;
        for element in
            first.chunks_exact(info.size as usize).take(NUMBERS.min(usize::try_from(there).unwrap_or(NUMBERS)))
        {
            let Some(number) = number::decode(self.scalar_type, element) else { break };
            text += if shown == 0 { ": " } else { ", " };
            text += &number::element(number, single);
            shown += 1;
        }
        if shown < there && shown > 0 {
            text += ", ..";
        }
        text
    }
}

impl Segments {
    /// Finds the segments of a part, and whose they are.
    pub fn find(part: &Part, source: &Source<'_>, bytes: &[u8]) -> io::Result<Segments> {
        let mut segments = Segments::default();
        let Some(root) = Table::root(bytes) else { return Ok(segments) };
        let slot = match part.format {
            Format::Program => program::segments,
            Format::FlatTensor => ptd::flat_tensor::segments,
            _ => return Ok(segments),
        };
        let mut claims = Claims { of: BTreeMap::new(), left: bytes.len() / CLAIM + FEW };
        match part.format {
            Format::Program => claims.program(part, &root, bytes, &mut segments.inline),
            _ => claims.flat_tensor(&root),
        }
        let base = part.base(bytes);
        let Some(list) = root.tables(slot) else { return Ok(segments) };
        for index in 0..list.len().min(bytes.len() / CLAIM + FEW) {
            let Some(table) = list.get(index) else { continue };
            let (offset, size) = (table.u64(data_segment::offset), table.u64(data_segment::size));
            let place = |offset: u64| base.checked_add(offset).map_or(part.len, |at| at.min(part.len));
            let (at, end) = (place(offset), place(offset.saturating_add(size)));
            let missing = size - (end - at).min(size);
            let defect = (missing > 0).then(|| format!("{missing} of its {size} bytes are beyond the end of the file"));
            // One without bytes may be anywhere; behind the FlatBuffer it disturbs nobody.
            let (at, end) =
                if at == end { (at.max(bytes.len() as u64), at.max(bytes.len() as u64)) } else { (at, end) };
            let (at, end) = (part.start + at, part.start + end);
            let (role, claims) = match claims.of.remove(&(index as u64)) {
                Some((role, claims)) => (role, claims),
                None => ("nothing refers to it".to_owned(), Vec::new()),
            };
            let pieces = pieces(part.start, at, end, claims, source)?;
            segments.list.push(Segment { index, at, end, size, role, defect, pieces });
        }
        Ok(segments)
    }
}

/// What is in the bytes of a segment of a part that begins at `start`, given who wants them.
fn pieces(start: u64, at: u64, end: u64, mut claims: Vec<Claim>, source: &Source<'_>) -> io::Result<Vec<Piece>> {
    claims.sort_by_key(|claim| claim.from);
    let mut pieces: Vec<Piece> = Vec::new();
    let mut cursor = at;
    let gap = |from: u64, to: u64| -> io::Result<Piece> {
        let fill = if source.is_padding(from, to, alignment(to - start))? { Fill::Padding } else { Fill::Unreachable };
        let bytes = source.read(from, to.min(from.saturating_add(SHOWN as u64)))?;
        Ok(Piece { at: from, end: to, fill, bytes, says: String::new(), defect: None })
    };
    // Pieces that have bytes, for finding the owner of one.
    let mut owners: Vec<usize> = Vec::new();
    let mut beyond = 0;
    for claim in &claims {
        let from = at.saturating_add(claim.from).min(end);
        while claims.get(beyond).is_some_and(|next| next.from <= claim.from) {
            beyond += 1;
        }
        let next = claims.get(beyond).map_or(end, |next| at.saturating_add(next.from).min(end));
        let to = claim.len.map_or(next, |len| from.saturating_add(len));
        let mut defect = (to > end || claim.from > end - at).then(|| "it is longer than the segment".to_owned());
        let to = to.min(end);
        if from > cursor {
            pieces.push(gap(cursor, from)?);
        }
        if from < cursor && to > from {
            let before = owners.partition_point(|owner| pieces[*owner].at <= from);
            let owner = before.checked_sub(1).map_or("", |index| &pieces[owners[index]].says);
            let owner = owner.split(": ").next().unwrap_or_default();
            defect = Some(format!("claimed twice: {:#x} to {:#x} by {owner}, too", from, to.min(cursor)));
        }
        let shown = source.read(from, to.min(from.saturating_add(SHOWN as u64)))?;
        let mut says = claim.who.clone();
        if claim.others > 0 {
            says += &format!(" and {} more", claim.others);
        }
        if let Some(layout) = &claim.layout {
            says += ": ";
            says += &layout.says(&shown, to - from);
        }
        let owned = from.max(cursor);
        if to > owned {
            owners.push(pieces.len());
        }
        let bytes = shown.get((owned - from) as usize..).unwrap_or_default().to_vec();
        pieces.push(Piece { at: owned, end: to.max(owned), fill: Fill::Data, bytes, says, defect });
        cursor = cursor.max(to);
    }
    if cursor < end {
        pieces.push(gap(cursor, end)?);
    }
    Ok(pieces)
}

/// Who wants bytes of which segment.
struct Claims {
    of: BTreeMap<u64, (String, Vec<Claim>)>,
    /// How many more may have data.
    left: usize,
}

/// The tensors that refer to a piece: the first of them, and how many more.
struct Users {
    who: String,
    layout: Layout,
    others: u64,
}

impl Claims {
    fn add(&mut self, segment: u64, role: &str, claims: impl IntoIterator<Item = Claim>) {
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
            let layout =
                layout.map(|layout| Layout::of(&layout, ptd::tensor_layout::scalar_type, ptd::tensor_layout::sizes));
            let who = format!("{:?}", shown(&entry, ptd::named_data::key));
            let len = layout.as_ref().and_then(|layout| layout.bytes);
            let claim = Claim { from: 0, len, who, layout, others: 0 };
            self.named(entry.u32(ptd::named_data::segment_index), claim);
        }
    }

    /// Several keys may mean the same bytes: that is one piece.
    fn named(&mut self, segment: u32, claim: Claim) {
        let entry = self.of.entry(segment.into()).or_insert_with(|| ("named data".to_owned(), Vec::new()));
        match entry.1.first_mut() {
            Some(first) if first.from == 0 && first.len == claim.len && entry.0 == "named data" => first.others += 1,
            _ => self.add(segment.into(), "named data", [claim]),
        }
    }

    fn program(&mut self, part: &Part, root: &Table<'_>, bytes: &[u8], inline: &mut HashMap<usize, String>) {
        let method = |index: usize| part.methods.get(index).map_or("methods", |method| method.path.as_str());
        let mut constants: BTreeMap<u64, Users> = BTreeMap::new();
        let mut mutable: BTreeMap<(u64, u64), Users> = BTreeMap::new();
        let mut left = bytes.len();
        let plans = root.tables(program::execution_plan);
        for (index, plan) in plans.iter().flat_map(|plans| (0..plans.len()).map(move |i| (i, plans.get(i)))) {
            // Methods that share their lists are looked at as long as that is no more than the file has.
            left = left.saturating_sub(1);
            if left == 0 {
                break;
            }
            let Some(plan) = plan else { continue };
            if let Some(values) = plan.tables(execution_plan::values) {
                for value in 0..values.len() {
                    left = left.saturating_sub(1);
                    if left == 0 {
                        break;
                    }
                    let Some(table) = values.get(value) else { continue };
                    if table.u8(evalue::val_type) != TENSOR_TAG {
                        continue;
                    }
                    let Some(table) = table.child(evalue::val) else { continue };
                    let data = u64::from(table.u32(tensor::data_buffer_idx));
                    if data == 0 || self.left == 0 {
                        continue;
                    }
                    self.left -= 1;
                    let extra = table.child(tensor::extra_tensor_info);
                    let users = || {
                        let mut who = format!("{}.values[{value}]", method(index));
                        if let Some(name) = extra.filter(|extra| extra.has(extra_tensor_info::fully_qualified_name)) {
                            who += &format!(" ({})", shown(&name, extra_tensor_info::fully_qualified_name));
                        }
                        Users { who, layout: Layout::of(&table, tensor::scalar_type, tensor::sizes), others: 0 }
                    };
                    if !table.has(tensor::allocation_info) {
                        constants.entry(data).and_modify(|users| users.others += 1).or_insert_with(users);
                    } else {
                        let list = extra.map_or(0, |extra| extra.u64(extra_tensor_info::mutable_data_segments_idx));
                        mutable.entry((list, data)).and_modify(|users| users.others += 1).or_insert_with(users);
                    }
                }
            }
            let Some(delegates) = plan.tables(execution_plan::delegates) else { continue };
            for delegate in 0..delegates.len().min(self.left) {
                self.left -= 1;
                let Some(table) = delegates.get(delegate) else { continue };
                let Some(processed) = table.child(backend_delegate::processed) else { continue };
                let number = processed.u32(backend_delegate_data_reference::index);
                let id = shown(&table, backend_delegate::id);
                let who = format!("{}.delegates[{delegate}] ({id})", method(index));
                if processed.i8(backend_delegate_data_reference::location) == 0 {
                    let data = root.tables(program::backend_delegate_data).and_then(|all| all.get(number as usize));
                    if let Some(data) = data.and_then(|data| data.u8s(backend_delegate_inline_data::data)) {
                        inline.entry(data.at - 4).or_insert_with(|| format!("payload of {who}"));
                    }
                    continue;
                }
                let entry = self.of.entry(number.into()).or_insert_with(|| ("delegate payload".to_owned(), Vec::new()));
                match entry.1.first_mut() {
                    Some(first) => first.others += 1,
                    None => entry.1.push(Claim { from: 0, len: None, who, layout: None, others: 0 }),
                }
            }
        }
        if let Some(buffers) = root.tables(program::constant_buffer) {
            for (index, users) in &constants {
                let data = usize::try_from(*index).ok().and_then(|index| buffers.get(index));
                let Some(data) = data.and_then(|data| data.u8s(buffer::storage)) else { continue };
                let says = match bytes.get(data.at..data.at + data.len()) {
                    Some(all) => users.layout.says(&all[..all.len().min(SHOWN)], all.len() as u64),
                    None => String::new(),
                };
                inline.insert(data.at - 4, format!("{}{}: {says}", users.who, more(users.others)));
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
            let who = format!("named data {:?}", shown(&entry, named_data::key));
            self.named(
                entry.u32(named_data::segment_index),
                Claim { from: 0, len: None, who, layout: None, others: 0 },
            );
        }
    }

    /// The pieces of a segment that a list of offsets tells. The entry 0 is reserved.
    fn subsegments(&mut self, list: &Table<'_>, role: &str, one: &str, mut user: impl FnMut(u64) -> Option<Users>) {
        let Some(offsets) = list.u64s(subsegment_offsets::offsets) else { return };
        let mut claims: Vec<Claim> = Vec::new();
        // Those of tensors have been counted; others are told apart as long as they are few.
        let few = self.left;
        for (index, from) in offsets.iter().enumerate().skip(1).take(few) {
            claims.push(match user(index as u64) {
                Some(Users { who, layout, others }) => {
                    Claim { from, len: layout.bytes, who, layout: Some(layout), others }
                }
                None => Claim {
                    from,
                    len: None,
                    who: format!("{one} {index}, no tensor refers to it"),
                    layout: None,
                    others: 0,
                },
            });
        }
        self.left -= claims.len().min(self.left);
        // Several numbers of one place are no conflict.
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

/// A text for a line, however long it is: of many that are the same megabyte only the beginnings are read.
fn shown(table: &Table<'_>, slot: u16) -> String {
    let text = table.text(slot).unwrap_or_default();
    crate::diagnostics::clipped(&String::from_utf8_lossy(&text[..text.len().min(LONGEST)]))
}

fn more(others: u64) -> String {
    if others > 0 { format!(" and {others} more") } else { String::new() }
}
