//! What the bytes of a block are, line by line: offset, size, how to read them, what they mean, where they lead, what is wrong.
//!
//! Driven by the slot tables. The regions of a block tile it; no text is made here but that of defects, which are few.

use std::ops::Range;

use super::map::{Block, Kind as BlockKind, Map};
use crate::format::flatbuffer::walk::Object;
use crate::format::flatbuffer::{ObjectKind, Scalar, SlotContent, Vtable, follow, member, u16_at, u32_at};
use super::part::{Header, PREAMBLE, Part};
use super::segments::{Fill, Layout, Piece, Segments};
use crate::format::flatbuffer::view;
use crate::format::{Field, Kind, Table, bundled_program, program};

/// Bytes of a row of numbers.
const ROW: usize = 16;

/// Vectors of bytes longer than this are data, of which only the beginning is shown.
const FEW: usize = 16;

/// Bytes of data that are handed on.
const SHOWN: usize = 64;

/// What padding is made of, wherever it is.
static ZEROS: [u8; SHOWN] = [0; SHOWN];

/// How bytes are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A number, or several of a kind.
    Number(Scalar),
    /// `u32`, counted from its own place.
    Offset,
    /// Letters.
    Text,
    /// Bytes of which only the first are shown.
    Data,
    /// Zeros for an alignment.
    Padding,
    /// Bytes that nothing refers to.
    Unreachable,
}

/// What bytes mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Meaning<'m> {
    /// In words.
    Says(&'m str),
    /// In words that were made.
    Made(String),
    /// A field of this name.
    Field(&'static str),
    /// A field and the name of the number in it.
    Named(&'static str, &'static str),
    /// An item of a vector.
    Item(u32),
    /// Items of a vector, from and up to.
    Items(u32, u32),
    /// A field's place in its table, in a vtable.
    Entry(&'static str),
    /// The entry of a field that the table does not have.
    Absent(&'static str),
    /// An entry that the schema has no field for.
    Unknown(u32),
}

/// Where bytes lead.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The place in the file.
    pub at: u64,
    /// What is there.
    pub what: Leads,
}

/// What is at the end of an offset.
#[derive(Debug, Clone, Copy)]
pub enum Leads {
    /// An object.
    To(ObjectKind),
    /// Nothing that could be read.
    Nowhere,
    /// Something else.
    Called(&'static str),
}

/// Bytes with one meaning.
#[derive(Debug, Clone)]
pub struct Region<'m> {
    /// Where they begin in the file.
    pub offset: u64,
    /// How many.
    pub size: u64,
    /// The first of them.
    pub bytes: &'m [u8],
    /// How to read them.
    pub form: Form,
    /// What they mean.
    pub meaning: Meaning<'m>,
    /// Where they lead.
    pub target: Option<Target>,
    /// What is wrong.
    pub defect: Option<Box<str>>,
}

impl Region<'_> {
    fn wrong(mut self, defect: impl Into<String>) -> Self {
        let defect = defect.into();
        self.defect = Some(match self.defect {
            Some(before) => format!("{before}; {defect}").into(),
            None => defect.into(),
        });
        self
    }
}

/// The regions of a block, in order, into a list that is emptied first.
pub fn of<'m>(map: &'m Map, block: &Block, out: &mut Vec<Region<'m>>) {
    out.clear();
    let part = map.part(block);
    let within = |at: u64| usize::try_from(at.saturating_sub(part.start)).unwrap_or(usize::MAX);
    let mut maker = Maker { map, part, segments: map.segments(block), bytes: map.bytes(part), own: within(block.at)..within(block.end), out };
    match block.kind {
        BlockKind::Header => maker.header(),
        // Others explain its bytes.
        BlockKind::Object(_) if block.at == block.end => {}
        BlockKind::Object(id) => maker.object(&part.objects.list[id as usize]),
        BlockKind::Segment(index) => maker.segment(&map.segments(block).list[index as usize].pieces),
        BlockKind::Padding => maker.rest(block.at, block.end, Form::Padding),
        BlockKind::Unreachable => maker.rest(block.at, block.end, Form::Unreachable),
    }
    tile(map, block, out);
}

/// Makes the regions fill their block and nothing else. Mostly they do.
fn tile<'m>(map: &'m Map, block: &Block, out: &mut Vec<Region<'m>>) {
    let mut at = block.at;
    let neat = out.iter().all(|region| {
        let next = region.offset == at;
        at = region.offset + region.size;
        next
    });
    if neat && at == block.end {
        return;
    }
    let mut found = std::mem::take(out);
    found.sort_by_key(|region| region.offset);
    let mut at = block.at;
    let fill = |from: u64, to: u64, out: &mut Vec<Region<'m>>| {
        let bytes = shown(map.memory(), from, to);
        // Between the fields of a table nothing is aligned to more than eight bytes.
        let zeros = to - from < 8 && bytes.iter().all(|byte| *byte == 0);
        let (form, meaning) =
            if zeros { (Form::Padding, "padding") } else { (Form::Unreachable, "nothing refers to it") };
        out.push(Region {
            offset: from,
            size: to - from,
            bytes,
            form,
            meaning: Meaning::Says(meaning),
            target: None,
            defect: None,
        });
    };
    for mut region in found {
        let end = region.offset + region.size;
        if region.offset > block.end
            || region.offset == block.end && region.size > 0
            || end <= block.at && block.at > region.offset
        {
            continue;
        }
        if region.offset > at {
            fill(at, region.offset.min(block.end), out);
            at = region.offset.min(block.end);
        }
        let (from, to) = (region.offset.max(at), end.min(block.end));
        let cut = from > region.offset || to < end;
        if from > region.offset && block.at < from {
            region = region.wrong(format!(
                "claimed twice: the bytes {:#x} to {:#x}",
                region_start(from, end),
                end.min(from)
            ));
        }
        if cut {
            let skipped = usize::try_from(from - (end - region.size)).unwrap_or(usize::MAX);
            region.bytes = region.bytes.get(skipped..).unwrap_or_default();
            let left = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
            region.bytes = &region.bytes[..region.bytes.len().min(left)];
            if let Form::Number(_) | Form::Offset = region.form {
                region.form = Form::Data;
            }
        }
        region.offset = from;
        region.size = to.saturating_sub(from);
        at = at.max(to);
        out.push(region);
    }
    if at < block.end {
        fill(at, block.end, out);
    }
}

fn region_start(from: u64, end: u64) -> u64 {
    from.min(end)
}

/// The first bytes of a range, as far as they are in memory.
fn shown(memory: &[u8], from: u64, to: u64) -> &[u8] {
    let len = memory.len() as u64;
    let (from, to) = (from.min(len), to.min(len));
    &memory[from as usize..(to.max(from) as usize).min(from as usize + SHOWN)]
}

struct Maker<'m, 'o> {
    map: &'m Map,
    part: &'m Part,
    segments: &'m Segments,
    bytes: &'m [u8],
    /// The bytes of the block, from the part's start. What is outside is not looked at: objects may overlap a million times.
    own: Range<usize>,
    out: &'o mut Vec<Region<'m>>,
}

impl<'m> Maker<'m, '_> {
    fn region(&self, at: usize, size: usize, form: Form, meaning: Meaning<'m>) -> Region<'m> {
        let from = at.min(self.bytes.len());
        let bytes = &self.bytes[from..at.saturating_add(size).min(self.bytes.len()).max(from)];
        let offset = self.part.start + at as u64;
        Region { offset, size: size as u64, bytes, form, meaning, target: None, defect: None }
    }

    fn push(&mut self, at: usize, size: usize, form: Form, meaning: Meaning<'m>) {
        let region = self.region(at, size, form, meaning);
        self.out.push(region);
    }

    fn rest(&mut self, from: u64, to: u64, form: Form) {
        let mut bytes = shown(self.map.memory(), from, to);
        if to > self.map.memory().len() as u64 {
            bytes = match form {
                Form::Padding => &ZEROS[..ZEROS.len().min(usize::try_from(to - from).unwrap_or(usize::MAX))],
                _ => self.map.beyond.get(&from).map_or(bytes, Vec::as_slice),
            };
        }
        let says = if form == Form::Padding { "padding" } else { "nothing refers to it" };
        let meaning = Meaning::Says(says);
        self.out.push(Region { offset: from, size: to - from, bytes, form, meaning, target: None, defect: None });
    }

    /// An offset, and what is wrong with it.
    fn offset(&self, at: usize, what: Leads, meaning: Meaning<'m>) -> Region<'m> {
        let mut region = self.region(at, 4, Form::Offset, meaning);
        let Some(offset) = u32_at(self.bytes, at) else { return region };
        let target = at as u64 + u64::from(offset);
        let found = follow(self.bytes, at);
        region.target =
            Some(Target { at: self.part.start + target, what: if found.is_some() { what } else { Leads::Nowhere } });
        match found {
            _ if offset == 0 => region.wrong("it leads to itself"),
            None => region.wrong(self.beyond(target)),
            Some(target) if target % 4 != 0 => region.wrong("no multiple of 4"),
            Some(_) => region,
        }
    }

    /// What a place behind the metadata is.
    fn beyond(&self, target: u64) -> &'static str {
        match (target.saturating_add(4) > self.part.len, self.part.start) {
            (true, 0) => "beyond the end of the file",
            (true, _) => "beyond the end of the program",
            (false, _) => "beyond the end of the FlatBuffer",
        }
    }

    fn header(&mut self) {
        let (part, bytes) = (self.part, self.bytes);
        if bytes.len() < 8 {
            if !bytes.is_empty() {
                let region = self.region(
                    0,
                    bytes.len(),
                    Form::Data,
                    Meaning::Says("too short for a root offset and an identifier"),
                );
                self.out.push(region.wrong("the file ends here"));
            }
            return;
        }
        let mut root = self.offset(0, Leads::To(ObjectKind::Table(part.root())), Meaning::Says("root table"));
        let (size, _) = part.header_bytes();
        let offset = u32_at(bytes, 0).unwrap_or(0);
        if offset != 0 && u64::from(offset) < size {
            root = root.wrong("inside the header");
        }
        self.out.push(root);
        let mut identifier = self.region(4, 4, Form::Text, Meaning::Says("file identifier"));
        if bytes[4..8] != *part.identifier().as_bytes() {
            identifier = identifier.wrong(format!("{:?} is expected", part.identifier()));
        }
        self.out.push(identifier);
        let Some(header) = part.header else { return };
        let mut magic = self.region(PREAMBLE, 4, Form::Text, Meaning::Says("extended header magic"));
        if bytes[PREAMBLE..PREAMBLE + 4] != *header.shape.magic {
            magic = magic.wrong(format!("{:?} is expected", String::from_utf8_lossy(header.shape.magic)));
        }
        self.out.push(magic);
        let mut length = self.region(PREAMBLE + 4, 4, Form::Number(Scalar::U32), Meaning::Says("header length"));
        if header.length < header.shape.least {
            length = length.wrong(format!("{} at least", header.shape.least));
        } else if header.length.saturating_add(PREAMBLE as u64) > part.len {
            length = length.wrong("beyond the end of the file");
        }
        self.out.push(length);
        for (index, name) in header.shape.fields.iter().enumerate().take(header.fields) {
            let at = Header::place(index);
            let size = 8.min(bytes.len().saturating_sub(at));
            if size == 0 {
                break;
            }
            let form = if size == 8 { Form::Number(Scalar::U64) } else { Form::Data };
            let mut region = self.region(at, size, form, Meaning::Field(name));
            if size < 8 {
                region = region.wrong("the file ends here");
            }
            self.out.push(self.header_field(&header, name, region));
        }
        let known = Header::place(header.fields).min(bytes.len());
        let stated = usize::try_from(header.length).unwrap_or(usize::MAX).saturating_add(PREAMBLE).min(bytes.len());
        if stated > known {
            self.push(known, stated - known, Form::Data, Meaning::Says("header fields that are not known"));
        }
    }

    /// What a field of the header says of other places.
    fn header_field(&self, header: &Header, name: &str, mut region: Region<'m>) -> Region<'m> {
        let field = |name: &str| header.field(self.bytes, name);
        let Some(value) = field(name) else { return region };
        let (len, end_called) = (self.part.len, "end of the FlatBuffer");
        let target = match name {
            "program_size" => (Some(value), end_called),
            "flatbuffer_size" => (field("flatbuffer_offset").and_then(|offset| offset.checked_add(value)), end_called),
            "segment_base_offset" if value > 0 => (Some(value), "start of the segments"),
            "segment_data_size" if value > 0 => {
                (field("segment_base_offset").and_then(|base| base.checked_add(value)), "end of the segments")
            }
            _ => return region,
        };
        let (Some(at), called) = target else { return region.wrong("the sum exceeds 64 bits") };
        region.target = self.part.start.checked_add(at).map(|at| Target { at, what: Leads::Called(called) });
        if at > len {
            let what = if self.part.start > 0 { "program" } else { "file" };
            return region.wrong(format!("beyond the end of the {what}, {:#x}", self.part.start + len));
        }
        let metadata =
            field("program_size").or_else(|| field("flatbuffer_offset")?.checked_add(field("flatbuffer_size")?));
        if name == "segment_base_offset" && metadata.is_some_and(|metadata| metadata > value) {
            return region.wrong("inside the FlatBuffer");
        }
        if called == end_called && at < self.bytes.len() as u64 {
            return region.wrong("not even the root table is inside");
        }
        region
    }

    fn object(&mut self, object: &Object) {
        let at = object.at as usize;
        match object.what {
            ObjectKind::Vtable(table) => self.vtable(at, object.size as usize, table),
            ObjectKind::Table(table) => self.table(object, table),
            ObjectKind::Tables(table) => {
                self.length(object, 4);
                let count = (object.size as usize - 4) / 4;
                for index in self.owned(at + 4, 4, count) {
                    let place = at + 4 + 4 * index;
                    let region = self.offset(place, Leads::To(ObjectKind::Table(table)), Meaning::Item(index as u32));
                    self.out.push(region);
                }
                self.odd_end(at + 4 + 4 * count, at + object.size as usize);
            }
            ObjectKind::Scalars(number) => {
                self.length(object, number.size());
                self.numbers(object, number);
            }
            ObjectKind::Text => self.text(object),
        }
    }

    /// Which of the items that begin at a place are the block's own, even in part.
    fn owned(&self, start: usize, width: usize, count: usize) -> Range<usize> {
        let first = self.own.start.saturating_sub(start) / width;
        let end = self.own.end.saturating_sub(start).div_ceil(width).min(count);
        first.min(end)..end
    }

    /// The number of items of a vector.
    fn length(&mut self, object: &Object, item: usize) {
        let at = object.at as usize;
        let mut region = self.region(at, 4, Form::Number(Scalar::U32), Meaning::Says("length"));
        if object.overrun {
            let count = u64::from(u32_at(self.bytes, at).unwrap_or(0));
            let end = self.part.start + at as u64 + 4 + count * item as u64;
            let whole = self.part.start + self.bytes.len() as u64;
            region = region
                .wrong(format!("{count} x {item} bytes would end at {end:#x}, {} bytes too far", end - whole.min(end)));
        } else if object.abandoned {
            region = region.wrong("its items overlap with so many others that they are not followed");
        }
        self.out.push(region);
    }

    /// The beginning of an item, where the bytes end.
    fn odd_end(&mut self, from: usize, to: usize) {
        if from < to {
            self.push(from, to - from, Form::Data, Meaning::Says("the beginning of an item"));
        }
    }

    fn numbers(&mut self, object: &Object, number: Scalar) {
        let start = object.at as usize + 4;
        let size = object.size as usize - 4;
        let owner = if number == Scalar::U8 && size > 0 { self.owner(object, start, size) } else { None };
        if owner.is_some() || number.size() == 1 && size > FEW {
            let meaning = owner.map_or(Meaning::Says("bytes"), Meaning::Made);
            let region = self.region(start, size, Form::Data, meaning);
            return self.out.push(Region { bytes: &region.bytes[..region.bytes.len().min(SHOWN)], ..region });
        }
        let width = number.size();
        let count = size / width;
        let step = ROW / width;
        let owned = self.owned(start, width, count);
        for from in (owned.start / step * step..owned.end).step_by(step) {
            let to = count.min(from + step);
            let mut region = self.region(
                start + from * width,
                (to - from) * width,
                Form::Number(number),
                Meaning::Items(from as u32, to as u32),
            );
            if number == Scalar::Bool && region.bytes.iter().any(|byte| *byte > 1) {
                region = region.wrong("bools are 0 or 1");
            }
            if from == 0 && width == 8 && !start.is_multiple_of(8) {
                region = region.wrong("no multiple of 8");
            }
            self.out.push(region);
        }
        self.odd_end(start + count * width, start + size);
    }

    /// Whose the data in a vector of bytes are.
    fn owner(&self, object: &Object, start: usize, size: usize) -> Option<String> {
        if let Some(says) = self.segments.inline.get(&(object.at as usize)) {
            return Some(says.clone());
        }
        let parent = self.part.objects.list.get(object.parent as usize)?;
        let ObjectKind::Table(table) = parent.what else { return None };
        if !std::ptr::eq(table, &bundled_program::TENSOR) || object.step != u32::from(bundled_program::tensor::data) {
            return None;
        }
        let tensor = view::Table::at(self.bytes, parent.at as usize)?;
        let layout = Layout::of(&tensor, bundled_program::tensor::scalar_type, bundled_program::tensor::sizes);
        let end = start.saturating_add(size).min(self.bytes.len());
        Some(layout.says(&self.bytes[start.min(end)..end.min(start + SHOWN)], size as u64))
    }

    fn text(&mut self, object: &Object) {
        self.length(object, 1);
        let start = object.at as usize + 4;
        let count = u32_at(self.bytes, object.at as usize).unwrap_or(0) as usize;
        let end = object.at as usize + object.size as usize;
        let letters = if object.overrun { end - start } else { count };
        if letters > 0 {
            let mut region = self.region(start, letters, Form::Text, Meaning::Says("text"));
            if start < self.own.start || start + letters > self.own.end {
                // Not all of it is its own.
            } else if let Err(error) = std::str::from_utf8(region.bytes) {
                region = region.wrong(format!("no UTF-8 from its byte {}", error.valid_up_to()));
            } else if region.bytes.contains(&0) {
                region = region.wrong("a zero byte inside the text");
            }
            self.out.push(region);
        }
        if !object.overrun {
            let region = self.region(start + letters, 1, Form::Number(Scalar::U8), Meaning::Says("terminator"));
            let wrong = region.bytes.first() != Some(&0);
            self.out.push(if wrong { region.wrong("0 is expected") } else { region });
        }
    }

    fn vtable(&mut self, at: usize, size: usize, table: &'static Table) {
        let entry = Form::Number(Scalar::U16);
        let mut region = self.region(at, 2, entry, Meaning::Says("vtable size"));
        let stated = usize::from(u16_at(self.bytes, at).unwrap_or(0));
        if stated < 4 {
            region = region.wrong("4 at least");
        } else if stated % 2 != 0 {
            region = region.wrong("an odd number");
        } else if stated > size {
            region = region.wrong("beyond the end of the FlatBuffer");
        }
        self.out.push(region);
        let mut region = self.region(at + 2, 2, entry, Meaning::Says("table size"));
        let inline = usize::from(u16_at(self.bytes, at + 2).unwrap_or(0));
        if inline < 4 {
            region = region.wrong("4 at least");
        }
        self.out.push(region);
        for slot in self.owned(at + 4, 2, (size - 4) / 2) {
            let place = at + 4 + 2 * slot;
            let offset = usize::from(u16_at(self.bytes, place).unwrap_or(0));
            let Some(field) = table.fields.get(slot) else {
                let meaning = if offset == 0 { Meaning::Absent("") } else { Meaning::Unknown(slot as u32) };
                self.push(place, 2, entry, meaning);
                continue;
            };
            let meaning = if offset == 0 { Meaning::Absent(field.name) } else { Meaning::Entry(field.name) };
            let mut region = self.region(place, 2, entry, meaning);
            if offset != 0 && (offset < 4 || offset + SlotContent::of(field.kind).size() > inline) {
                region = region.wrong(format!("not inside the table, which has the bytes 4 to {inline}"));
            }
            self.out.push(region);
        }
        self.odd_end(at + 4 + (size - 4) / 2 * 2, at + size);
    }

    fn table(&mut self, object: &Object, table: &'static Table) {
        let at = object.at as usize;
        let mut region = self.region(at, 4, Form::Number(Scalar::I32), Meaning::Says("vtable"));
        let back = i64::from(u32_at(self.bytes, at).unwrap_or(0) as i32);
        let place = at as i64 - back;
        let absolute = u64::try_from(place).ok().map(|place| self.part.start + place);
        let Some(vtable) = Vtable::of(self.bytes, at) else {
            region = match absolute {
                Some(at) => {
                    region.target = Some(Target { at, what: Leads::Nowhere });
                    region.wrong(self.beyond(place as u64))
                }
                None => region.wrong("a vtable before the beginning"),
            };
            self.out.push(region);
            let size = object.size as usize - 4;
            if size > 0 {
                self.push(at + 4, size, Form::Data, Meaning::Says("fields that only the vtable would tell apart"));
            }
            return;
        };
        region.target = absolute.map(|at| Target { at, what: Leads::Nowhere });
        if object.abandoned {
            region = region.wrong("what it refers to overlaps with so much else that it is not followed");
        }
        if at + vtable.inline > self.bytes.len() {
            region = region.wrong(format!("the table's {} bytes end {}", vtable.inline, self.beyond(u64::MAX - 4)));
        }
        self.out.push(region);
        // Fields in the order of their bytes; those outside the table are another's.
        let mut places = [(0u16, 0u16); 16];
        let mut count = 0;
        for (slot, field) in table.fields.iter().enumerate().take(places.len()) {
            let Some(offset) = vtable.offset(self.bytes, slot) else { continue };
            let end = offset + SlotContent::of(field.kind).size();
            if offset >= 4 && end <= vtable.inline && at + end <= self.bytes.len() {
                places[count] = (offset as u16, slot as u16);
                count += 1;
            }
        }
        places[..count].sort_unstable();
        let mut end = at + 4;
        for (offset, slot) in &places[..count] {
            let place = at + usize::from(*offset);
            if place > end {
                self.between(end, place);
            }
            let region = self.field(at, place, table, usize::from(*slot), &vtable);
            end = end.max(place + region.size as usize);
            self.out.push(region);
        }
        let whole = (at + vtable.inline.max(4)).min(self.bytes.len());
        if whole > end {
            self.between(end, whole);
        }
    }

    /// Bytes of a table that are no field's.
    fn between(&mut self, from: usize, to: usize) {
        let zeros = to - from < 8 && self.bytes[from..to].iter().all(|byte| *byte == 0);
        let (form, says) = if zeros { (Form::Padding, "padding") } else { (Form::Unreachable, "nothing refers to it") };
        let region = self.region(from, to - from, form, Meaning::Says(says));
        self.out.push(Region { bytes: &region.bytes[..region.bytes.len().min(SHOWN)], ..region });
    }

    fn field(
        &self,
        at: usize,
        place: usize,
        table: &'static Table,
        slot: usize,
        vtable: &Vtable,
    ) -> Region<'m> {
        let Field { name, kind } = &table.fields[slot];
        let tag = |slot: usize| {
            let place = vtable.offset(self.bytes, slot).and_then(|offset| self.bytes.get(at + offset));
            place.copied().unwrap_or(0)
        };
        match SlotContent::of(*kind) {
            SlotContent::Object(what) => self.offset(place, Leads::To(what), Meaning::Field(name)),
            SlotContent::Union(members) => match member(members, tag(slot.saturating_sub(1))) {
                Some(table) => self.offset(place, Leads::To(ObjectKind::Table(table)), Meaning::Field(name)),
                None => self
                    .region(place, 4, Form::Offset, Meaning::Field(name))
                    .wrong("no member of the union is said to be there"),
            },
            SlotContent::Scalar(number) => {
                let mut region = self.region(place, number.size(), Form::Number(number), Meaning::Field(name));
                let byte = region.bytes.first().copied().unwrap_or(0);
                match (*kind, table.fields.get(slot + 1).map(|field| field.kind)) {
                    (Kind::Bool, _) if byte > 1 => return region.wrong("bools are 0 or 1"),
                    (Kind::Enum(names), _) => match names.name_of(byte as i8) {
                        Some(is) => region.meaning = Meaning::Named(name, is),
                        None => return region.wrong(format!("{} has no such number", names.name)),
                    },
                    (Kind::UnionTag, Some(Kind::Union(members))) => match member(members, byte) {
                        Some(table) => region.meaning = Meaning::Named(name, table.name),
                        None if byte == 0 => region.meaning = Meaning::Named(name, "NONE"),
                        None => return region.wrong("the union has no such member"),
                    },
                    _ => {}
                }
                if std::ptr::eq(table, &program::DATA_SEGMENT) {
                    return self.data_segment(at, slot, region);
                }
                region
            }
        }
    }

    /// Where the data are that an entry of the list of segments speaks of.
    fn data_segment(&self, at: usize, slot: usize, mut region: Region<'m>) -> Region<'m> {
        let Some(table) = view::Table::at(self.bytes, at) else { return region };
        let (offset, size) = (table.u64(program::data_segment::offset), table.u64(program::data_segment::size));
        let is_offset = slot == usize::from(program::data_segment::offset);
        let place = self.part.base(self.bytes).checked_add(offset);
        let place = if is_offset { place } else { place.and_then(|place| place.checked_add(size)) };
        let Some(place) = place else { return region.wrong("the sum exceeds 64 bits") };
        let called = if is_offset { "start of the segment" } else { "end of the segment" };
        region.target = self.part.start.checked_add(place).map(|at| Target { at, what: Leads::Called(called) });
        if place > self.part.len {
            let what = if self.part.start > 0 { "program" } else { "file" };
            return region.wrong(format!("beyond the end of the {what}"));
        }
        region
    }

    fn segment(&mut self, pieces: &'m [Piece]) {
        for piece in pieces {
            let (form, says) = match piece.fill {
                Fill::Data => (Form::Data, piece.says.as_str()),
                Fill::Padding => (Form::Padding, "padding"),
                Fill::Unreachable => (Form::Unreachable, "nothing refers to it"),
            };
            self.out.push(Region {
                offset: piece.at,
                size: piece.end - piece.at,
                bytes: &piece.bytes,
                form,
                meaning: Meaning::Says(says),
                target: None,
                defect: piece.defect.as_deref().map(Into::into),
            });
        }
    }
}
