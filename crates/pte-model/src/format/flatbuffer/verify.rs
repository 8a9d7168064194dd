//! Verifies the structure of a FlatBuffer: every table, vector and string that is reachable by the schema.
//!
//! One verifier, driven by the slot tables, handles the three schemas. It checks the rules of FlatBuffers' own verifier
//! (`F-`), and rules that FlatBuffers' verifier does not have (`G-`). The recursion depth is bounded by the schema, the
//! work by the file's size.

use std::fmt;
use std::ops::Range;

use self::Defect::*;
use super::{Budget, FieldEnds, ObjectKind, Scalar, SlotContent, TableField, fields, u16_at, u32_at};
use crate::format::path::Trail;
use crate::format::unknown::ShownBytes;
use crate::format::{Kind, TableSchema};

/// Maximum number of tables of FlatBuffers' own verifier.
const MAX_TABLES: u64 = 1_000_000;

/// Cost of a table; the budget is eight times the file's size.
const TABLE_COST: u64 = 16;

/// Number of unknown fields of a table that are reported with their bytes.
const SHOWN_FIELDS: usize = 4;

/// Maximum offset, and maximum size of a vector in bytes.
const MAX_OFFSET: u32 = 0x7fff_ffff;

/// Kind of a defect. Each is a rule of the validator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// There are fewer bytes than a root offset, a vtable and a table need.
    BufferSize,
    /// The offset of the root table is invalid.
    RootOffset,
    /// A table or its vtable is outside the buffer.
    TablePosition,
    /// A field overlaps the start of its table.
    FieldStart,
    /// A field is not aligned, or is outside the buffer.
    FieldPosition,
    /// The offset in a field is invalid.
    FieldOffset,
    /// A vector ends outside the buffer.
    VectorSize,
    /// The offset in an item of a vector is invalid.
    ItemOffset,
    /// A string has no zero byte after it.
    Terminator,
    /// The size in a vtable is too small for the fields, or exceeds the buffer.
    TableSize,
    /// A vtable is smaller than its own two sizes.
    VtableSize,
    /// Items of 8 bytes are not aligned.
    LongAlignment,
    /// Bytes do not have the alignment that the schema requires.
    BytesAlignment,
    /// A string is not UTF-8.
    Utf8,
    /// A string contains a zero byte.
    ZeroByte,
    /// A truth value is neither 0 nor 1.
    Bool,
    /// There are more tables than the limit of FlatBuffers' own verifier.
    TableCount,
    /// Tables share too many bytes.
    SharedBytes,
    /// An object overlaps the extended header.
    HeaderOverlap,
    /// A table has fields, or a union a member, that the schema does not have. A newer schema may have them.
    UnknownPart,
}

/// Receiver of the verifier's findings.
pub trait DefectSink {
    /// Reports a defect at a path and an offset, with the value found and the value expected.
    fn add(
        &mut self,
        defect: Defect,
        path: &Trail<'_>,
        at: usize,
        found: fmt::Arguments<'_>,
        expected: fmt::Arguments<'_>,
    );
}

/// Verifies everything that is reachable from the root. `header` is the range of the extended header.
pub fn verify(bytes: &[u8], root: &'static TableSchema, header: Range<usize>, report: &mut dyn DefectSink) {
    let mut verifier = Verifier {
        bytes,
        header,
        tables: 0,
        budget: Budget::of(bytes.len()),
        report,
        exhausted: false,
        shared_vtable: false,
    };
    if bytes.len() < 12 {
        let found = format_args!("{} bytes", bytes.len());
        return verifier.report.add(BufferSize, &Trail::ROOT, 0, found, format_args!("at least 12"));
    }
    if let Some(at) = verifier.follow(0, RootOffset, &Trail::ROOT) {
        verifier.table(at, root, &Trail::ROOT);
    }
}

struct Verifier<'b, 'r> {
    bytes: &'b [u8],
    header: Range<usize>,
    tables: u64,
    budget: Budget,
    report: &'r mut dyn DefectSink,
    /// G-17 was reported: the budget is exhausted.
    exhausted: bool,
    /// F-12 was reported.
    shared_vtable: bool,
}

impl Verifier<'_, '_> {
    /// Subtracts from the budget; reports G-17 and returns `false` if less is left.
    fn spend(&mut self, cost: u64, at: usize, path: &Trail<'_>) -> bool {
        if self.budget.spend(cost) {
            return true;
        }
        if !std::mem::replace(&mut self.exhausted, true) {
            self.budget.exhaust();
            let found = format_args!("tables that share too many bytes");
            self.report.add(SharedBytes, path, at, found, format_args!("few references to each table"));
        }
        false
    }

    /// Reports an object that overlaps the extended header.
    fn outside_header(&mut self, at: usize, end: usize, path: &Trail<'_>) {
        if at < self.header.end && end > self.header.start {
            let expected = format_args!("nothing in bytes {:#x} to {:#x}", self.header.start, self.header.end);
            self.report.add(HeaderOverlap, path, at, format_args!("bytes {at:#x} to {end:#x} in the header"), expected);
        }
    }

    /// Returns the target of the offset at `at`; reports `defect` if it is invalid.
    fn follow(&mut self, at: usize, defect: Defect, path: &Trail<'_>) -> Option<usize> {
        let offset = match at.is_multiple_of(4).then(|| u32_at(self.bytes, at)).flatten() {
            Some(offset) => offset,
            None => {
                let expected = format_args!("an offset at a multiple of 4 inside {} bytes", self.bytes.len());
                self.report.add(defect, path, at, format_args!("an offset at byte {at:#x}"), expected);
                return None;
            }
        };
        let target = at.saturating_add(offset as usize);
        if offset == 0 || offset > MAX_OFFSET || target >= self.bytes.len() || !target.is_multiple_of(4) {
            let expected = format_args!("a target at a multiple of 4 inside {} bytes", self.bytes.len());
            self.report.add(defect, path, at, format_args!("an offset of {offset} bytes to {target:#x}"), expected);
            return None;
        }
        Some(target)
    }

    fn table(&mut self, at: usize, table: &'static TableSchema, path: &Trail<'_>) {
        self.tables += 1;
        if self.tables == MAX_TABLES + 1 {
            let found = format_args!("more than {MAX_TABLES} tables");
            self.report.add(
                TableCount,
                path,
                at,
                found,
                format_args!("at most that many, counting a table once for each path to it"),
            );
        }
        if !self.spend(TABLE_COST, at, path) {
            return;
        }
        let Some(vtable) = self.vtable(at, table, path) else { return };
        let inline = usize::from(u16_at(self.bytes, vtable.start + 2).unwrap_or(0));
        self.outside_header(vtable.start, vtable.end, path);
        let (entries, _) = self.bytes[vtable.start + 4..vtable.end].as_chunks::<2>();
        // The fields determine the end of the table, whatever the size in the vtable.
        let mut needed = 4;
        for field in fields(self.bytes, at, entries, table) {
            let (offset, width) = (field.offset, field.content.size());
            let position = at + offset;
            needed = needed.max(offset + width);
            let path = path.field(field.field.name);
            if offset < 4 {
                let found = format_args!("{width} bytes at byte {offset} of a table");
                let entry = vtable.start + 4 + 2 * field.slot;
                self.report.add(FieldStart, &path, entry, found, format_args!("byte 4 or later"));
            }
            if !position.is_multiple_of(width) || position + width > self.bytes.len() {
                let expected = format_args!("a multiple of {width} inside {} bytes", self.bytes.len());
                let found = format_args!("{width} bytes at byte {position:#x}");
                self.report.add(FieldPosition, &path, position, found, expected);
                continue;
            }
            self.field(position, &field, &path);
        }
        if (inline < needed || at + inline > self.bytes.len()) && !std::mem::replace(&mut self.shared_vtable, true) {
            let expected = format_args!("at least {needed} for its fields, and inside {} bytes", self.bytes.len());
            self.report.add(TableSize, path, vtable.start + 2, format_args!("a table of {inline} bytes"), expected);
        }
        self.outside_header(at, at + needed, path);
        if entries.len() > table.fields.len() {
            self.unknown_fields(at..at + inline, table, entries, path);
        }
    }

    /// Reports the fields of a table that the schema does not have, with the first bytes of some.
    fn unknown_fields(&mut self, at: Range<usize>, table: &TableSchema, entries: &[[u8; 2]], path: &Trail<'_>) {
        let Range { start: at, end: end_of_table } = at;
        let offsets = || entries.iter().map(|entry| u16::from_le_bytes(*entry));
        let present = || offsets().enumerate().skip(table.fields.len()).filter(|(_, offset)| *offset > 0);
        if present().next().is_none() || !self.spend(entries.len() as u64 * (2 + SHOWN_FIELDS as u64), at, path) {
            return;
        }
        let ends = FieldEnds::of(offsets(), (end_of_table - at) as u16);
        let shown = present().take(SHOWN_FIELDS).map(|(slot, offset)| {
            let start = at + usize::from(offset);
            let end = ends.after(offset).map_or(start, |end| (at + usize::from(end)).min(start + 8).min(end_of_table));
            let bytes = self.bytes.get(start..end).unwrap_or_default();
            format!("slot {slot}: {}", ShownBytes(bytes))
        });
        let shown = shown.collect::<Vec<String>>().join("; ");
        let more = if present().count() > SHOWN_FIELDS { "; ..." } else { "" };
        let found = format_args!("{} with fields that the schema does not have ({shown}{more})", table.name);
        self.report.add(UnknownPart, path, at, found, format_args!("only the first {} slots", table.fields.len()));
    }

    /// Reports a member of a union that the schema does not have, with the first bytes of its table.
    fn unknown_member(&mut self, position: usize, tag: u8, members: usize, path: &Trail<'_>) {
        let target = u32_at(self.bytes, position).map_or(0, |offset| position.saturating_add(offset as usize));
        let bytes = self.bytes.get(target..).unwrap_or_default();
        let bytes = ShownBytes(&bytes[..bytes.len().min(16)]);
        let found = format_args!("member {tag}, which the schema does not have (at byte {target:#x}: {bytes})");
        self.report.add(UnknownPart, path, position, found, format_args!("members 1 to {members}"));
    }

    /// Returns the bytes of the vtable of the table at `at`; reports one that is not inside the buffer.
    fn vtable(&mut self, at: usize, table: &TableSchema, path: &Trail<'_>) -> Option<Range<usize>> {
        let Some(back) = u32_at(self.bytes, at) else {
            let found = format_args!("{} at byte {at:#x}", table.name);
            let expected = format_args!("a table inside {} bytes", self.bytes.len());
            self.report.add(TablePosition, path, at, found, expected);
            return None;
        };
        let vtable = at as i64 - i64::from(back as i32);
        let size =
            usize::try_from(vtable).ok().filter(|vtable| vtable % 2 == 0).and_then(|vtable| u16_at(self.bytes, vtable));
        let whole = |size: &u16| size.is_multiple_of(2) && vtable as usize + usize::from(*size) <= self.bytes.len();
        let Some(size) = size.filter(whole) else {
            let found = match size {
                Some(size) => format!("a vtable of {size} bytes at byte {vtable:#x}"),
                None => format!("a vtable at byte {vtable}"),
            };
            let expected = format_args!("an even offset and an even size inside {} bytes", self.bytes.len());
            self.report.add(TablePosition, path, at, format_args!("{found}"), expected);
            return None;
        };
        let vtable = vtable as usize;
        if size < 4 {
            let found = format_args!("a vtable of {size} bytes");
            self.report.add(VtableSize, path, vtable, found, format_args!("at least 4"));
            return None;
        }
        Some(vtable..vtable + usize::from(size))
    }

    /// Verifies a field at a position inside the buffer.
    fn field(&mut self, position: usize, field: &TableField, path: &Trail<'_>) {
        let child = match field.content {
            SlotContent::Scalar(scalar) => {
                let byte = self.bytes[position];
                if scalar == Scalar::Bool && byte > 1 {
                    self.report.add(Bool, path, position, format_args!("the byte {byte}"), format_args!("0 or 1"));
                }
                None
            }
            // A union with an unknown tag is not followed, as in FlatBuffers' verifier.
            SlotContent::Union(_) => {
                if let Some((tag, members)) = field.unknown_member() {
                    self.unknown_member(position, tag, members, path);
                }
                field.object()
            }
            SlotContent::Object(object) => Some(object),
        };
        match child {
            Some(ObjectKind::Table(child)) => {
                if let Some(target) = self.follow(position, FieldOffset, path) {
                    self.table(target, child, path);
                }
            }
            Some(object) => self.vector(position, field.field.kind, object, path),
            None => {}
        }
    }

    fn vector(&mut self, position: usize, kind: Kind, object: ObjectKind, path: &Trail<'_>) {
        let Some(target) = self.follow(position, FieldOffset, path) else { return };
        let count = u32_at(self.bytes, target).unwrap_or(u32::MAX);
        let item = object.item_size();
        let start = target + 4;
        let size = count as u64 * item as u64;
        if size > u64::from(MAX_OFFSET) || start as u64 + size > self.bytes.len() as u64 {
            let expected = format_args!("a vector inside {} bytes", self.bytes.len());
            return self.report.add(
                VectorSize,
                path,
                target,
                format_args!("a vector of {count} x {item} bytes"),
                expected,
            );
        }
        let end = start + size as usize;
        self.outside_header(target, end, path);
        if !self.spend(size, target, path) {
            return;
        }
        if item == 8 && count > 0 && start % 8 != 0 {
            let found = format_args!("8-byte items from byte {start:#x}");
            self.report.add(LongAlignment, path, start, found, format_args!("a multiple of 8"));
        }
        if let Kind::AlignedBytes(alignment) = kind
            && count > 0
            && start % alignment as usize != 0
        {
            let found = format_args!("bytes from byte {start:#x}");
            self.report.add(BytesAlignment, path, start, found, format_args!("a multiple of {alignment}"));
        }
        match object {
            ObjectKind::Scalars(Scalar::Bool) => {
                if let Some(wrong) = self.bytes[start..end].iter().position(|byte| *byte > 1) {
                    let found = format_args!("the byte {}", self.bytes[start + wrong]);
                    self.report.add(Bool, &path.item(wrong), start + wrong, found, format_args!("0 or 1"));
                }
            }
            ObjectKind::Text => self.text(start, end, path),
            ObjectKind::Tables(table) => {
                for index in 0..count as usize {
                    let path = path.item(index);
                    if let Some(target) = self.follow(start + 4 * index, ItemOffset, &path) {
                        self.table(target, table, &path);
                    }
                    if self.exhausted {
                        return;
                    }
                }
            }
            // Any number is valid, and `field` follows tables.
            ObjectKind::Scalars(_) | ObjectKind::Table(_) | ObjectKind::Vtable(_) => {}
        }
    }

    fn text(&mut self, start: usize, end: usize, path: &Trail<'_>) {
        if self.bytes.get(end) != Some(&0) {
            let found = format_args!("a string without a terminator");
            return self.report.add(Terminator, path, end, found, format_args!("a zero byte after it"));
        }
        let text = &self.bytes[start..end];
        if let Err(error) = std::str::from_utf8(text) {
            let at = error.valid_up_to();
            let found = format_args!("the byte {:#04x}", text[at]);
            self.report.add(Utf8, path, start + at, found, format_args!("UTF-8"));
        }
        if let Some(at) = text.iter().position(|byte| *byte == 0) {
            let found = format_args!("a zero byte after {at} of {} bytes", text.len());
            self.report.add(ZeroByte, path, start + at, found, format_args!("no zero byte inside a string"));
        }
    }
}

#[cfg(test)]
mod tests;
