//! Splits a block into regions: offset, size, type, meaning, target and defect of each.
//!
//! It is driven by the slot tables. The regions of a block tile it. Strings are only allocated for defects, which are
//! rare.

use std::ops::Range;

use super::block::{BlockKind, FileBlock};
use super::map::FileMap;
use super::part::{FilePart, HeaderRegion, PayloadBytes, StatedHeader};
use super::segments::{DataRange, ElementLayout, RangeKind, SegmentMap};
use pte_model::format::container::{ExtendedHeader, PREAMBLE};
use pte_model::format::flatbuffer::view;
use pte_model::format::flatbuffer::walk::BufferObject;
use pte_model::format::flatbuffer::{
    ObjectKind, Scalar, SlotContent, TableField, Vtable, fields, follow, member, u16_at, u32_at,
};
use pte_model::format::{Field, Kind, TableSchema, bundled_program, program};

/// Number of bytes in a row of numbers.
const ROW: usize = 16;

/// Maximum length of a vector of bytes that is shown as numbers.
const FEW: usize = 16;

/// Maximum number of bytes of a data region.
const SHOWN: usize = 64;

/// Number of unknown fields of a table that are listed.
const MAX_UNKNOWN: usize = 256;

/// Bytes of padding outside memory.
static ZEROS: [u8; SHOWN] = [0; SHOWN];

/// Type of the bytes of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegionType {
    /// One or several numbers.
    Number(Scalar),
    /// `u32`, relative to its own offset.
    Offset,
    /// Characters of a string.
    String,
    /// Bytes; only the first ones are shown.
    Data,
    /// Zeros up to an aligned offset.
    Padding,
    /// Bytes without references.
    Unreachable,
}

/// Meaning of the bytes of a region.
pub enum Meaning<'m> {
    /// A description in words.
    Text(&'m str),
    /// A formatted description.
    OwnedText(String),
    /// A field of this name.
    Field(&'static str),
    /// A field and the name of its value.
    Named(&'static str, &'static str),
    /// An item of a vector.
    Item(u32),
    /// Items of a vector: start and end index.
    Items(u32, u32),
    /// A vtable entry: the offset of this field in its table.
    Entry(&'static str),
    /// The vtable entry of an absent field.
    Absent(&'static str),
    /// The vtable entry of a slot beyond the schema.
    Unknown(u32),
}

/// Target of an offset or of a header field.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Offset in the file.
    pub at: u64,
    /// Kind of the target.
    pub kind: TargetKind,
}

/// Kind of a target.
#[derive(Debug, Clone, Copy)]
pub enum TargetKind {
    /// An object of this kind.
    Object(ObjectKind),
    /// A target that cannot be read, or needs no label.
    Unknown,
    /// A position with a name.
    Named(&'static str),
}

/// Bytes with one meaning.
pub struct Region<'m> {
    /// Offset in the file.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// First bytes.
    pub bytes: &'m [u8],
    /// Type.
    pub form: RegionType,
    /// Meaning.
    pub meaning: Meaning<'m>,
    /// Target of an offset.
    pub target: Option<Target>,
    /// Defects, separated by `; `.
    pub defect: Option<Box<str>>,
}

impl Region<'_> {
    fn with_defect(mut self, defect: impl Into<String>) -> Self {
        let defect = defect.into();
        self.defect = Some(match self.defect {
            Some(before) => format!("{before}; {defect}").into(),
            None => defect.into(),
        });
        self
    }
}

/// Replaces the content of `out` by the regions of a block, in order.
pub fn of<'m>(map: &'m FileMap, block: &FileBlock, out: &mut Vec<Region<'m>>) {
    out.clear();
    let part = map.part(block);
    let within = |at: u64| usize::try_from(at.saturating_sub(part.start)).unwrap_or(usize::MAX);
    let mut builder = RegionBuilder {
        map,
        part,
        segments: map.segments(block),
        bytes: map.bytes(part),
        own: within(block.at)..within(block.end),
        out,
    };
    match block.kind {
        BlockKind::Header => builder.header(),
        // All its bytes belong to other blocks.
        BlockKind::Object(_) if block.at == block.end => {}
        BlockKind::Object(id) => builder.object(&part.objects.list[id as usize]),
        BlockKind::Segment(index) => builder.segment(&map.segments(block).list[index as usize].pieces),
        BlockKind::PayloadHeader => part.payload.iter().for_each(|payload| builder.payload_header(payload)),
        BlockKind::PayloadConstants => builder.segment(&map.segments(block).constants),
        BlockKind::Padding => builder.rest(block, RegionType::Padding),
        BlockKind::Newer => builder.rest(block, RegionType::Data),
        BlockKind::Unreachable => builder.rest(block, RegionType::Unreachable),
    }
    tile(map, block, out);
}

/// Ensures that the regions tile their block: truncates those that exceed it, and fills gaps.
fn tile<'m>(map: &'m FileMap, block: &FileBlock, out: &mut Vec<Region<'m>>) {
    let mut at = block.at;
    let contiguous = out.iter().all(|region| {
        let next = region.offset == at;
        at = region.offset + region.size;
        next
    });
    if contiguous && at == block.end {
        return;
    }
    let mut found = std::mem::take(out);
    found.sort_by_key(|region| region.offset);
    let mut at = block.at;
    let fill = |from: u64, to: u64, out: &mut Vec<Region<'m>>| {
        let bytes = map.shown(block, from, to);
        // Fields of a table are aligned to at most eight bytes.
        let zeros = to - from < 8 && bytes.iter().all(|byte| *byte == 0);
        let (form, meaning) =
            if zeros { (RegionType::Padding, "padding") } else { (RegionType::Unreachable, "unreferenced") };
        out.push(Region {
            offset: from,
            size: to - from,
            bytes,
            form,
            meaning: Meaning::Text(meaning),
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
            region = region.with_defect(format!("overlap: bytes {:#x} to {:#x}", from.min(end), end.min(from)));
        }
        if cut {
            let skipped = usize::try_from(from - (end - region.size)).unwrap_or(usize::MAX);
            region.bytes = region.bytes.get(skipped..).unwrap_or_default();
            let left = usize::try_from(to.saturating_sub(from)).unwrap_or(usize::MAX);
            region.bytes = &region.bytes[..region.bytes.len().min(left)];
            if let RegionType::Number(_) | RegionType::Offset = region.form {
                region.form = RegionType::Data;
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

/// Builder of the regions of a block.
struct RegionBuilder<'m, 'o> {
    map: &'m FileMap,
    part: &'m FilePart,
    segments: &'m SegmentMap,
    bytes: &'m [u8],
    /// Range of the block, relative to the part. Bytes outside are skipped: millions of objects may overlap.
    own: Range<usize>,
    out: &'o mut Vec<Region<'m>>,
}

impl<'m> RegionBuilder<'m, '_> {
    fn region(&self, at: usize, size: usize, form: RegionType, meaning: Meaning<'m>) -> Region<'m> {
        let from = at.min(self.bytes.len());
        let bytes = &self.bytes[from..at.saturating_add(size).min(self.bytes.len()).max(from)];
        let offset = self.part.start + at as u64;
        Region { offset, size: size as u64, bytes, form, meaning, target: None, defect: None }
    }

    fn push(&mut self, at: usize, size: usize, form: RegionType, meaning: Meaning<'m>) {
        let region = self.region(at, size, form, meaning);
        self.out.push(region);
    }

    fn rest(&mut self, block: &FileBlock, form: RegionType) {
        let (from, to) = (block.at, block.end);
        let mut bytes = self.map.shown(block, from, to);
        if self.part.payload.is_none() && to > self.map.memory().len() as u64 {
            bytes = match form {
                RegionType::Padding => &ZEROS[..ZEROS.len().min(usize::try_from(to - from).unwrap_or(usize::MAX))],
                RegionType::Number(_)
                | RegionType::Offset
                | RegionType::String
                | RegionType::Data
                | RegionType::Unreachable => self.map.beyond.get(&from).map_or(bytes, Vec::as_slice),
            };
        }
        let meaning = Meaning::Text(match block.kind {
            BlockKind::Newer => "tables, vectors and strings of unknown types",
            _ if form == RegionType::Padding => "padding",
            _ => "unreferenced",
        });
        self.out.push(Region { offset: from, size: to - from, bytes, form, meaning, target: None, defect: None });
    }

    /// Returns the region of an offset to an object of this kind, with its defects.
    fn offset(&self, at: usize, what: TargetKind, meaning: Meaning<'m>) -> Region<'m> {
        let mut region = self.region(at, 4, RegionType::Offset, meaning);
        let Some(offset) = u32_at(self.bytes, at) else { return region };
        let target = at as u64 + u64::from(offset);
        let found = follow(self.bytes, at);
        region.target = Some(Target {
            at: self.part.start + target,
            kind: if found.is_some() { what } else { TargetKind::Unknown },
        });
        match found {
            _ if offset == 0 => region.with_defect("the offset is zero"),
            None => region.with_defect(self.beyond(target)),
            Some(target) if target % 4 != 0 => region.with_defect("not at a multiple of 4"),
            Some(_) => region,
        }
    }

    /// Returns the defect of a target outside the metadata.
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
                    RegionType::Data,
                    Meaning::Text("too short for a root offset and a file identifier"),
                );
                self.out.push(region.with_defect("the file ends here"));
            }
            return;
        }
        let mut root = self.offset(0, TargetKind::Object(ObjectKind::Table(part.root)), Meaning::Text("root table"));
        let (size, _) = part.header_bytes();
        let offset = u32_at(bytes, 0).unwrap_or(0);
        if offset != 0 && u64::from(offset) < size {
            root = root.with_defect("inside the header");
        }
        self.out.push(root);
        let mut identifier = self.region(4, 4, RegionType::String, Meaning::Text("file identifier"));
        if bytes[4..8] != *part.identifier.as_bytes() {
            identifier = identifier.with_defect(format!("expected {:?}", part.identifier));
        }
        self.out.push(identifier);
        let Some(header) = part.header else { return };
        let mut magic = self.region(PREAMBLE, 4, RegionType::String, Meaning::Text("extended header magic"));
        if bytes[PREAMBLE..PREAMBLE + 4] != *header.format.magic {
            magic = magic.with_defect(format!("expected {:?}", String::from_utf8_lossy(header.format.magic)));
        }
        self.out.push(magic);
        let mut length = self.region(PREAMBLE + 4, 4, RegionType::Number(Scalar::U32), Meaning::Text("header length"));
        if header.length < u64::from(header.format.minimum) {
            length = length.with_defect(format!("expected at least {}", header.format.minimum));
        } else if header.length.saturating_add(PREAMBLE as u64) > part.len {
            length = length.with_defect("beyond the end of the file");
        }
        self.out.push(length);
        for (index, name) in header.format.fields.iter().enumerate().take(header.fields) {
            let at = ExtendedHeader::field_offset(index);
            let size = 8.min(bytes.len().saturating_sub(at));
            if size == 0 {
                break;
            }
            let form = if size == 8 { RegionType::Number(Scalar::U64) } else { RegionType::Data };
            let mut region = self.region(at, size, form, Meaning::Field(name));
            if size < 8 {
                region = region.with_defect("the file ends here");
            }
            self.out.push(self.header_field(&header, name, region));
        }
        let known = ExtendedHeader::field_offset(header.fields).min(bytes.len());
        let stated = usize::try_from(header.length).unwrap_or(usize::MAX).saturating_add(PREAMBLE).min(bytes.len());
        if stated > known {
            self.push(known, stated - known, RegionType::Data, Meaning::Text("unknown header fields"));
        }
    }

    /// Adds the header of a payload.
    fn payload_header(&mut self, payload: &'m PayloadBytes) {
        for HeaderRegion { range, number, meaning } in payload.header() {
            let bytes = &payload.head[range.start..range.end];
            let form = number.map_or(RegionType::String, RegionType::Number);
            let form = if bytes.iter().all(|byte| *byte == 0) && number.is_none() { RegionType::Padding } else { form };
            let meaning = if number.is_some() { Meaning::Field(meaning) } else { Meaning::Text(meaning) };
            let offset = payload.at + range.start as u64;
            self.out.push(Region {
                offset,
                size: range.len() as u64,
                bytes,
                form,
                meaning,
                target: None,
                defect: None,
            });
        }
    }

    /// Returns the region of a header field with its target and defects.
    fn header_field(&self, header: &StatedHeader, name: &str, mut region: Region<'m>) -> Region<'m> {
        let field = |name: &str| header.field(self.bytes, name);
        let Some(value) = field(name) else { return region };
        const END_OF_FLATBUFFER: &str = "end of the FlatBuffer";
        let len = self.part.len;
        let target = match name {
            "program_size" => (Some(value), END_OF_FLATBUFFER),
            "flatbuffer_size" => {
                (field("flatbuffer_offset").and_then(|offset| offset.checked_add(value)), END_OF_FLATBUFFER)
            }
            "segment_base_offset" if value > 0 => (Some(value), "start of the segments"),
            "segment_data_size" if value > 0 => {
                (field("segment_base_offset").and_then(|base| base.checked_add(value)), "end of the segments")
            }
            _ => return region,
        };
        let (Some(at), label) = target else { return region.with_defect("the sum exceeds 64 bits") };
        region.target = self.part.start.checked_add(at).map(|at| Target { at, kind: TargetKind::Named(label) });
        if at > len {
            let what = if self.part.start > 0 { "program" } else { "file" };
            return region.with_defect(format!("beyond the end of the {what}, {:#x}", self.part.start + len));
        }
        let metadata =
            field("program_size").or_else(|| field("flatbuffer_offset")?.checked_add(field("flatbuffer_size")?));
        if name == "segment_base_offset" && metadata.is_some_and(|metadata| metadata > value) {
            return region.with_defect("inside the FlatBuffer");
        }
        if label == END_OF_FLATBUFFER && at < self.bytes.len() as u64 {
            return region.with_defect("the root table is beyond it");
        }
        region
    }

    fn object(&mut self, object: &BufferObject) {
        let at = object.at as usize;
        match object.what {
            ObjectKind::Vtable(table) => self.vtable(at, object.size as usize, table),
            ObjectKind::Table(table) => self.table(object, table),
            ObjectKind::Tables(table) => {
                self.length(object, 4);
                let count = (object.size as usize - 4) / 4;
                for index in self.owned(at + 4, 4, count) {
                    let position = at + 4 + 4 * index;
                    let region = self.offset(
                        position,
                        TargetKind::Object(ObjectKind::Table(table)),
                        Meaning::Item(index as u32),
                    );
                    self.out.push(region);
                }
                self.incomplete_item(at + 4 + 4 * count, at + object.size as usize);
            }
            ObjectKind::Scalars(number) => {
                self.length(object, number.size());
                self.numbers(object, number);
            }
            ObjectKind::Text => self.text(object),
        }
    }

    /// Returns the indices of the items that overlap the block, of `count` items of `width` bytes from `start` on.
    fn owned(&self, start: usize, width: usize, count: usize) -> Range<usize> {
        let first = self.own.start.saturating_sub(start) / width;
        let end = self.own.end.saturating_sub(start).div_ceil(width).min(count);
        first.min(end)..end
    }

    /// Adds the length of a vector with items of `item` bytes.
    fn length(&mut self, object: &BufferObject, item: usize) {
        let at = object.at as usize;
        let mut region = self.region(at, 4, RegionType::Number(Scalar::U32), Meaning::Text("length"));
        if object.overrun {
            let count = u64::from(u32_at(self.bytes, at).unwrap_or(0));
            let end = self.part.start + at as u64 + 4 + count * item as u64;
            let whole = self.part.start + self.bytes.len() as u64;
            region = region.with_defect(format!(
                "{count} x {item} bytes would end at {end:#x}, {} bytes beyond the end",
                end - whole.min(end)
            ));
        } else if object.abandoned {
            region = region.with_defect("items not followed: too many overlapping objects");
        }
        self.out.push(region);
    }

    /// Adds the first bytes of an item that exceeds the file.
    fn incomplete_item(&mut self, from: usize, to: usize) {
        if from < to {
            self.push(from, to - from, RegionType::Data, Meaning::Text("incomplete item"));
        }
    }

    fn numbers(&mut self, object: &BufferObject, number: Scalar) {
        let start = object.at as usize + 4;
        let size = object.size as usize - 4;
        let owner = if number == Scalar::U8 && size > 0 { self.owner(object, start, size) } else { None };
        if owner.is_some() || number.size() == 1 && size > FEW {
            let meaning = owner.map_or(Meaning::Text("bytes"), Meaning::OwnedText);
            let region = self.region(start, size, RegionType::Data, meaning);
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
                RegionType::Number(number),
                Meaning::Items(from as u32, to as u32),
            );
            if number == Scalar::Bool && region.bytes.iter().any(|byte| *byte > 1) {
                region = region.with_defect("expected 0 or 1");
            }
            if from == 0 && width == 8 && !start.is_multiple_of(8) {
                region = region.with_defect("not at a multiple of 8");
            }
            self.out.push(region);
        }
        self.incomplete_item(start + count * width, start + size);
    }

    /// Returns owner and content of the data in a vector of bytes.
    fn owner(&self, object: &BufferObject, start: usize, size: usize) -> Option<String> {
        if let Some(description) = self.segments.inline.get(&(object.at as usize)) {
            return Some(description.clone());
        }
        let parent = self.part.objects.list.get(object.parent as usize)?;
        let ObjectKind::Table(table) = parent.what else { return None };
        if !std::ptr::eq(table, &bundled_program::TENSOR) || object.step != u32::from(bundled_program::tensor::data) {
            return None;
        }
        let tensor = view::Table::at(self.bytes, parent.at as usize)?;
        let layout = ElementLayout::of(&tensor, bundled_program::tensor::scalar_type, bundled_program::tensor::sizes);
        let end = start.saturating_add(size).min(self.bytes.len());
        Some(layout.describe(&self.bytes[start.min(end)..end.min(start + SHOWN)], size as u64))
    }

    fn text(&mut self, object: &BufferObject) {
        self.length(object, 1);
        let start = object.at as usize + 4;
        let count = u32_at(self.bytes, object.at as usize).unwrap_or(0) as usize;
        let end = object.at as usize + object.size as usize;
        let characters = if object.overrun { end - start } else { count };
        if characters > 0 {
            let mut region = self.region(start, characters, RegionType::String, Meaning::Text("string"));
            if start < self.own.start || start + characters > self.own.end {
                // A piece of a string is not validated.
            } else if let Err(error) = std::str::from_utf8(region.bytes) {
                region = region.with_defect(format!("not UTF-8 from byte {} on", error.valid_up_to()));
            } else if region.bytes.contains(&0) {
                region = region.with_defect("zero byte inside the string");
            }
            self.out.push(region);
        }
        if !object.overrun {
            let region =
                self.region(start + characters, 1, RegionType::Number(Scalar::U8), Meaning::Text("terminator"));
            let wrong = region.bytes.first() != Some(&0);
            self.out.push(if wrong { region.with_defect("expected 0") } else { region });
        }
    }

    fn vtable(&mut self, at: usize, size: usize, table: &'static TableSchema) {
        let entry = RegionType::Number(Scalar::U16);
        let mut region = self.region(at, 2, entry, Meaning::Text("vtable size"));
        let stated = usize::from(u16_at(self.bytes, at).unwrap_or(0));
        if stated < 4 {
            region = region.with_defect("expected at least 4");
        } else if stated % 2 != 0 {
            region = region.with_defect("expected an even number");
        } else if stated > size {
            region = region.with_defect("beyond the end of the FlatBuffer");
        }
        self.out.push(region);
        let mut region = self.region(at + 2, 2, entry, Meaning::Text("table size"));
        let inline = usize::from(u16_at(self.bytes, at + 2).unwrap_or(0));
        if inline < 4 {
            region = region.with_defect("expected at least 4");
        }
        self.out.push(region);
        for slot in self.owned(at + 4, 2, (size - 4) / 2) {
            let position = at + 4 + 2 * slot;
            let offset = usize::from(u16_at(self.bytes, position).unwrap_or(0));
            let Some(field) = table.fields.get(slot) else {
                let meaning = if offset == 0 { Meaning::Absent("") } else { Meaning::Unknown(slot as u32) };
                self.push(position, 2, entry, meaning);
                continue;
            };
            let meaning = if offset == 0 { Meaning::Absent(field.name) } else { Meaning::Entry(field.name) };
            let mut region = self.region(position, 2, entry, meaning);
            if offset != 0 && offset < 4 {
                region = region.with_defect("inside the offset of the vtable: expected at least 4");
            }
            self.out.push(region);
        }
        self.incomplete_item(at + 4 + (size - 4) / 2 * 2, at + size);
    }

    fn table(&mut self, object: &BufferObject, table: &'static TableSchema) {
        let at = object.at as usize;
        let mut region = self.region(at, 4, RegionType::Number(Scalar::I32), Meaning::Text("vtable"));
        let back = i64::from(u32_at(self.bytes, at).unwrap_or(0) as i32);
        let position = at as i64 - back;
        let absolute = u64::try_from(position).ok().map(|position| self.part.start + position);
        let Some(vtable) = Vtable::of(self.bytes, at) else {
            region = match absolute {
                Some(at) => {
                    region.target = Some(Target { at, kind: TargetKind::Unknown });
                    region.with_defect(self.beyond(position as u64))
                }
                None => region.with_defect("before the start of the file"),
            };
            self.out.push(region);
            let size = object.size as usize - 4;
            if size > 0 {
                self.push(at + 4, size, RegionType::Data, Meaning::Text("fields of a table without a readable vtable"));
            }
            return;
        };
        region.target = absolute.map(|at| Target { at, kind: TargetKind::Unknown });
        if object.abandoned {
            region = region.with_defect("references not followed: too many overlapping objects");
        }
        self.out.push(region);
        let inside =
            |field: &TableField| field.offset >= 4 && at + field.offset + field.content.size() <= self.bytes.len();
        let present = fields(self.bytes, at, vtable.entries(self.bytes), table);
        let mut present: Vec<TableField> = present.filter(inside).collect();
        present.sort_unstable_by_key(|field| (field.offset, field.slot));
        let mut end = at + 4;
        for field in &present {
            let position = at + field.offset;
            if position > end {
                self.unknown_fields(at, table, &vtable, end..position);
            }
            let region = self.field(at, table, field);
            end = end.max(position + region.size as usize);
            self.out.push(region);
        }
        let whole = at + object.size as usize;
        if whole > end {
            self.unknown_fields(at, table, &vtable, end..whole);
        }
    }

    /// Adds the fields of a table that the schema does not have, in a range between others. Their sizes are unknown:
    /// each extends to the next.
    fn unknown_fields(&mut self, at: usize, table: &TableSchema, vtable: &Vtable, range: Range<usize>) {
        let slots = table.fields.len()..(vtable.size / 2).min(table.fields.len() + MAX_UNKNOWN);
        let place = |slot: usize| Some((at + vtable.offset(self.bytes, slot)?, slot));
        let mut fields: Vec<(usize, usize)> = slots.filter_map(place).filter(|(at, _)| range.contains(at)).collect();
        fields.sort_unstable();
        let first = fields.first().map_or(range.end, |(at, _)| *at);
        if first > range.start {
            self.gap(range.start, first);
        }
        let ends: Vec<usize> = fields.iter().skip(1).map(|(at, _)| *at).chain([range.end]).collect();
        for ((from, slot), to) in fields.into_iter().zip(ends) {
            let region = self.region(from, to - from, RegionType::Data, Meaning::Unknown(slot as u32));
            self.out.push(Region { bytes: &region.bytes[..region.bytes.len().min(SHOWN)], ..region });
        }
    }

    /// Adds bytes of a table that belong to no field.
    fn gap(&mut self, from: usize, to: usize) {
        let zeros = to - from < 8 && self.bytes[from..to].iter().all(|byte| *byte == 0);
        let (form, description) =
            if zeros { (RegionType::Padding, "padding") } else { (RegionType::Unreachable, "unreferenced") };
        let region = self.region(from, to - from, form, Meaning::Text(description));
        self.out.push(Region { bytes: &region.bytes[..region.bytes.len().min(SHOWN)], ..region });
    }

    fn field(&self, at: usize, table: &'static TableSchema, present: &TableField) -> Region<'m> {
        let TableField { slot, field: Field { name, kind }, offset, content, .. } = *present;
        let position = at + offset;
        match content {
            SlotContent::Object(_) | SlotContent::Union(_) => match present.object() {
                Some(what) => self.offset(position, TargetKind::Object(what), Meaning::Field(name)),
                None => self
                    .region(position, 4, RegionType::Offset, Meaning::Field(name))
                    .with_defect("the union has no valid tag"),
            },
            SlotContent::Scalar(number) => {
                let mut region = self.region(position, number.size(), RegionType::Number(number), Meaning::Field(name));
                let byte = region.bytes.first().copied().unwrap_or(0);
                match (*kind, table.fields.get(slot + 1).map(|field| field.kind)) {
                    (Kind::Bool, _) if byte > 1 => return region.with_defect("expected 0 or 1"),
                    (Kind::Enum(names), _) => match names.name_of(byte as i8) {
                        Some(value) => region.meaning = Meaning::Named(name, value),
                        None => return region.with_defect(format!("unknown {}", names.name)),
                    },
                    (Kind::UnionTag, Some(Kind::Union(members))) => match member(members, byte) {
                        Some(table) => region.meaning = Meaning::Named(name, table.name),
                        None if byte == 0 => region.meaning = Meaning::Named(name, "NONE"),
                        None => return region.with_defect("unknown union tag"),
                    },
                    (
                        Kind::Bool
                        | Kind::Byte
                        | Kind::UnionTag
                        | Kind::Union(_)
                        | Kind::Short
                        | Kind::Int
                        | Kind::UInt
                        | Kind::Long
                        | Kind::ULong
                        | Kind::Float
                        | Kind::Double
                        | Kind::Text
                        | Kind::Table(_)
                        | Kind::Bytes
                        | Kind::AlignedBytes(_)
                        | Kind::Bools
                        | Kind::UShorts
                        | Kind::Ints
                        | Kind::UInts
                        | Kind::Longs
                        | Kind::ULongs
                        | Kind::Floats
                        | Kind::Doubles
                        | Kind::Tables(_),
                        _,
                    ) => {}
                }
                if std::ptr::eq(table, &program::DATA_SEGMENT) {
                    return self.data_segment(at, slot, region);
                }
                region
            }
        }
    }

    /// Adds the target of an entry of the list of segments.
    fn data_segment(&self, at: usize, slot: usize, mut region: Region<'m>) -> Region<'m> {
        let Some(table) = view::Table::at(self.bytes, at) else { return region };
        let (offset, size) = (table.u64(program::data_segment::offset), table.u64(program::data_segment::size));
        let is_offset = slot == usize::from(program::data_segment::offset);
        let position = self.part.base(self.bytes).checked_add(offset);
        let position = if is_offset { position } else { position.and_then(|position| position.checked_add(size)) };
        let Some(position) = position else { return region.with_defect("the sum exceeds 64 bits") };
        let label = if is_offset { "start of the segment" } else { "end of the segment" };
        region.target = self.part.start.checked_add(position).map(|at| Target { at, kind: TargetKind::Named(label) });
        if position > self.part.len {
            let what = if self.part.start > 0 { "program" } else { "file" };
            return region.with_defect(format!("beyond the end of the {what}"));
        }
        region
    }

    fn segment(&mut self, pieces: &'m [DataRange]) {
        for piece in pieces {
            let (form, description) = match piece.kind {
                RangeKind::Data => (RegionType::Data, piece.description.as_str()),
                RangeKind::Padding => (RegionType::Padding, "padding"),
                RangeKind::Unreachable => (RegionType::Unreachable, "unreferenced"),
            };
            self.out.push(Region {
                offset: piece.at,
                size: piece.end - piece.at,
                bytes: &piece.bytes,
                form,
                meaning: Meaning::Text(description),
                target: None,
                defect: piece.defect.as_deref().map(Into::into),
            });
        }
    }
}
