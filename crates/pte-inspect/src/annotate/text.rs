//! Writes blocks as text: a heading, and a line with columns for each region. Digits are written without `write!`,
//! which is too slow for the millions of lines of a large file.

use std::io::Write;

use super::block::{BlockKind, FileBlock};
use super::map::FileMap;
use super::path;
use super::regions::{Meaning, Region, RegionType, TargetKind};
use pte_model::format::flatbuffer::{ObjectKind, Scalar};
use pte_model::format::path::{write_decimal, write_item};

/// Maximum number of bytes per line in hexadecimal.
const HEX: usize = 8;

/// Width of the hexadecimal column, with the dots for omitted bytes.
const HEX_WIDTH: usize = 3 * HEX + 2;

/// Width of the type column.
const TYPE_WIDTH: usize = 8;

/// Width of the value column; longer values shift the meaning.
const VALUE_WIDTH: usize = 12;

/// Maximum number of characters of a string that are shown.
const MAX_STRING: usize = 60;

/// Colours of a terminal, or none.
#[derive(Clone, Copy)]
pub struct Style {
    heading: &'static str,
    defect: &'static str,
    faint: &'static str,
    end: &'static str,
}

impl Style {
    /// With colours or without.
    pub fn new(colours: bool) -> Style {
        match colours {
            true => Style { heading: "\x1b[1m", defect: "\x1b[31m", faint: "\x1b[2m", end: "\x1b[0m" },
            false => Style { heading: "", defect: "", faint: "", end: "" },
        }
    }
}

/// Appends the heading and the defects of a block.
pub fn title(map: &FileMap, number: usize, style: &Style, out: &mut Vec<u8>) {
    let block = &map.blocks[number];
    if block.kind == BlockKind::Padding {
        return;
    }
    if number > 0 {
        out.push(b'\n');
    }
    put(out, style.heading);
    heading(map, block, out);
    put(out, style.end);
    out.push(b'\n');
    notes(map, number, style, out);
}

/// Appends a line for each region.
pub fn lines(regions: &[Region<'_>], style: &Style, out: &mut Vec<u8>) {
    regions.iter().for_each(|region| line(region, style, out));
}

/// Appends a text.
pub fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn heading(map: &FileMap, block: &FileBlock, out: &mut Vec<u8>) {
    let part = map.part(block);
    let inside = part.prefix.trim_end_matches('.');
    match block.kind {
        BlockKind::Header => {
            put(out, "header");
            if !inside.is_empty() {
                put(out, "  ");
                put(out, inside);
            }
        }
        BlockKind::Object(id) => {
            let object = &part.objects.list[id as usize];
            put(out, label(object.what));
            put(out, name(object.what));
            if object.mixed {
                put(out, " and other tables");
            }
            let before = out.len();
            put(out, "  ");
            path::write(part, id, false, out);
            if out.len() == before + 2 {
                out.truncate(before);
            }
            if object.referrers > 1 {
                put(out, "  (");
                write_decimal(object.referrers.into(), out);
                put(out, " references, this is the first)");
            }
        }
        BlockKind::Segment(index) => {
            let segment = &map.segments(block).list[index as usize];
            if !inside.is_empty() {
                put(out, inside);
                out.push(b'.');
            }
            put(out, "segment ");
            write_decimal(segment.index as u64, out);
            put(out, "  ");
            put(out, &segment.role);
            put(out, ", ");
            write_decimal(segment.size, out);
            put(out, " bytes");
        }
        BlockKind::PayloadHeader => {
            put(out, "header of a payload  ");
            put(out, inside);
        }
        BlockKind::PayloadConstants => {
            put(out, "constants  ");
            put(out, inside);
        }
        BlockKind::Padding => {}
        BlockKind::Newer | BlockKind::Unreachable => {
            put(out, if block.kind == BlockKind::Newer { "of unknown fields  " } else { "unreachable  " });
            write_decimal(block.end - block.at, out);
            put(out, " bytes");
        }
    }
}

/// Appends the defects of a block as a whole.
fn notes(map: &FileMap, number: usize, style: &Style, out: &mut Vec<u8>) {
    let block = &map.blocks[number];
    if let BlockKind::Segment(index) = block.kind
        && let Some(defect) = &map.segments(block).list[index as usize].defect
    {
        note(out, style, |out| put(out, defect));
    }
    let Some(overlap) = map.overlap(number) else { return };
    note(out, style, |out| {
        put(out, "overlap: bytes ");
        hex(overlap.bytes.start, out);
        put(out, " to ");
        hex(overlap.bytes.end, out);
        put(out, " also belong to ");
        let owner = &map.blocks[overlap.owner as usize];
        heading(map, owner, out);
        put(out, " at ");
        hex(owner.at, out);
    });
}

fn note(out: &mut Vec<u8>, style: &Style, write: impl FnOnce(&mut Vec<u8>)) {
    put(out, "  ");
    put(out, style.defect);
    put(out, "! ");
    write(out);
    put(out, style.end);
    out.push(b'\n');
}

/// Returns the words before the name of an object.
fn label(what: ObjectKind) -> &'static str {
    match what {
        ObjectKind::Vtable(_) => "vtable of ",
        ObjectKind::Table(_) => "table ",
        ObjectKind::Tables(_) | ObjectKind::Scalars(_) => "vector of ",
        ObjectKind::Text => "string",
    }
}

/// Returns the name of an object's table or item type; empty for a string.
pub fn name(what: ObjectKind) -> &'static str {
    match what {
        ObjectKind::Vtable(table) | ObjectKind::Table(table) | ObjectKind::Tables(table) => table.name,
        ObjectKind::Scalars(number) => number.name(),
        ObjectKind::Text => "",
    }
}

/// Positions of the columns: offset, digits, type, value, meaning.
const OFFSET: usize = 2;
const DIGITS: usize = OFFSET + 12;
const TYPE: usize = DIGITS + HEX_WIDTH + 2;
const VALUE: usize = TYPE + TYPE_WIDTH;
const MEANING: usize = VALUE + VALUE_WIDTH + 2;

fn line(region: &Region<'_>, style: &Style, out: &mut Vec<u8>) {
    let faint = matches!(region.form, RegionType::Padding);
    if faint {
        put(out, style.faint);
    }
    // Most columns have fixed positions, and are written in place.
    let start = out.len();
    out.extend_from_slice(&[b' '; MEANING]);
    let columns = &mut out[start..];
    if region.offset <= u64::from(u32::MAX) {
        columns[OFFSET] = b'0';
        columns[OFFSET + 1] = b'x';
        for (pair, byte) in
            columns[OFFSET + 2..OFFSET + 10].chunks_exact_mut(2).zip((region.offset as u32).to_be_bytes())
        {
            pair.copy_from_slice(&PAIRS[usize::from(byte)]);
        }
    } else {
        // Longer offsets shift the other columns.
        out.truncate(start + OFFSET);
        hex(region.offset, out);
        out.extend_from_slice(&[b' '; MEANING - DIGITS + 2]);
    }
    let shift = out.len() - start - MEANING;
    let columns = &mut out[start + shift..];
    let size = usize::try_from(region.size).unwrap_or(usize::MAX);
    let shown = region.bytes.len().min(HEX).min(size);
    for (byte, digits) in region.bytes[..shown].iter().zip(columns[DIGITS..].chunks_exact_mut(3)) {
        digits[..2].copy_from_slice(&PAIRS[usize::from(*byte)]);
    }
    if shown < size {
        let end = DIGITS + 3 * shown;
        columns[end..end + 2].copy_from_slice(b"..");
    }
    let kind = type_name(region.form);
    columns[TYPE..TYPE + kind.len()].copy_from_slice(kind.as_bytes());
    let from = start + shift + VALUE;
    out.truncate(from);
    value(region, out);
    let end = from + VALUE_WIDTH + 2;
    match out.len() + 2 <= end {
        true => out.resize(end, b' '),
        false => out.extend_from_slice(b"  "),
    }
    // Omit a meaning that repeats the type.
    if !matches!(region.meaning, Meaning::Text(text) if text == kind) {
        meaning(&region.meaning, out);
    }
    if let Some(target) = &region.target {
        out.extend_from_slice(b" -> ");
        hex(target.at, out);
        target_label(target.kind, out);
    }
    if let Some(defect) = &region.defect {
        out.extend_from_slice(b": ");
        put(out, style.defect);
        put(out, defect);
        put(out, style.end);
    }
    while out.last() == Some(&b' ') {
        out.pop();
    }
    if faint {
        put(out, style.end);
    }
    out.push(b'\n');
}

/// Two hexadecimal digits for each byte.
pub static PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [nibble((byte >> 4) as u8), nibble(byte as u8)];
        byte += 1;
    }
    pairs
};

/// Appends a space and the label of a target; nothing for an unknown one.
pub fn target_label(kind: TargetKind, out: &mut Vec<u8>) {
    match kind {
        TargetKind::Object(what) => {
            out.push(b' ');
            if !matches!(what, ObjectKind::Table(_)) {
                put(out, label(what));
            }
            put(out, name(what));
        }
        TargetKind::Unknown => {}
        TargetKind::Named(what) => {
            out.push(b' ');
            put(out, what);
        }
    }
}

/// Returns the name of a region's type.
pub fn type_name(form: RegionType) -> &'static str {
    match form {
        RegionType::Number(number) => number.name(),
        RegionType::Offset => "offset",
        RegionType::String => "string",
        RegionType::Data => "data",
        RegionType::Padding => "padding",
        RegionType::Unreachable => "?",
    }
}

/// Appends the meaning of a region.
pub fn meaning(meaning: &Meaning<'_>, out: &mut Vec<u8>) {
    match meaning {
        Meaning::Text(text) => put(out, text),
        Meaning::OwnedText(text) => put(out, text),
        Meaning::Field(field) => put(out, field),
        Meaning::Named(field, value) => {
            put(out, field);
            put(out, " = ");
            put(out, value);
        }
        Meaning::Item(index) => write_item((*index).into(), out),
        Meaning::Items(from, to) if *to == from + 1 => write_item((*from).into(), out),
        Meaning::Items(from, to) => {
            out.push(b'[');
            write_decimal((*from).into(), out);
            out.extend_from_slice(b"..");
            write_decimal((*to).into(), out);
            out.push(b']');
        }
        Meaning::Entry(field) => put(out, field),
        Meaning::Absent(field) => {
            put(out, field);
            put(out, if field.is_empty() { "absent" } else { " absent" });
        }
        Meaning::Unknown(slot) => {
            put(out, "unknown slot ");
            write_decimal((*slot).into(), out);
        }
    }
}

/// Appends the value of a region.
pub fn value(region: &Region<'_>, out: &mut Vec<u8>) {
    match region.form {
        RegionType::Number(number) => {
            for (index, item) in region.bytes.chunks_exact(number.size()).enumerate() {
                if index > 0 {
                    out.extend_from_slice(b", ");
                }
                scalar(number, item, out);
            }
        }
        RegionType::Offset => scalar(Scalar::U32, region.bytes, out),
        RegionType::String => quoted(region.bytes, out),
        RegionType::Data | RegionType::Padding | RegionType::Unreachable => {
            write_decimal(region.size, out);
            put(out, if region.size == 1 { " byte" } else { " bytes" });
        }
    }
}

/// Appends a number from its little-endian bytes.
pub fn scalar(number: Scalar, bytes: &[u8], out: &mut Vec<u8>) {
    let mut wide = [0u8; 8];
    let len = bytes.len().min(8);
    wide[..len].copy_from_slice(&bytes[..len]);
    let unsigned = u64::from_le_bytes(wide);
    match number {
        Scalar::Bool if unsigned < 2 => put(out, if unsigned == 1 { "true" } else { "false" }),
        Scalar::Bool | Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 => write_decimal(unsigned, out),
        Scalar::I8 => signed((unsigned as i8).into(), out),
        Scalar::I16 => signed((unsigned as i16).into(), out),
        Scalar::I32 => signed((unsigned as i32).into(), out),
        Scalar::I64 => signed(unsigned as i64, out),
        Scalar::F32 => {
            // Writing to memory does not fail.
            let _ = write!(out, "{:?}", f32::from_bits(unsigned as u32));
        }
        Scalar::F64 => {
            // Writing to memory does not fail.
            let _ = write!(out, "{:?}", f64::from_bits(unsigned));
        }
    }
}

/// Appends a string in quotes, truncated if it is long.
fn quoted(bytes: &[u8], out: &mut Vec<u8>) {
    let printable = |byte: &u8| (b' '..=b'~').contains(byte) && !matches!(byte, b'"' | b'\\');
    if bytes.len() <= MAX_STRING && bytes.iter().all(printable) {
        out.push(b'"');
        out.extend_from_slice(bytes);
        return out.push(b'"');
    }
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * MAX_STRING)]);
    let short: String = text.chars().take(MAX_STRING).collect();
    let _ = write!(out, "{short:?}");
    if short.len() < bytes.len() {
        out.extend_from_slice(b"..");
    }
}

const fn nibble(value: u8) -> u8 {
    b"0123456789abcdef"[(value & 15) as usize]
}

/// Appends an offset in hexadecimal, with at least eight digits.
pub fn hex(value: u64, out: &mut Vec<u8>) {
    let mut digits = *b"0x0000000000000000";
    for (pair, byte) in digits[2..].chunks_exact_mut(2).zip(value.to_be_bytes()) {
        pair.copy_from_slice(&PAIRS[usize::from(byte)]);
    }
    if value <= u64::from(u32::MAX) {
        let [.., a, b, c, d, e, f, g, h] = digits;
        return out.extend_from_slice(&[b'0', b'x', a, b, c, d, e, f, g, h]);
    }
    let needed = (64 - value.leading_zeros() as usize).div_ceil(4).max(8);
    out.extend_from_slice(b"0x");
    out.extend_from_slice(&digits[18 - needed..]);
}

fn signed(value: i64, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    write_decimal(value.unsigned_abs(), out);
}

#[cfg(test)]
mod tests {
    #[test]
    fn offsets_have_at_least_eight_digits() {
        let cases = [0, 1, 0xffff_ffff, 0x1_0000_0000, 0xabc_1234_5678, u64::MAX];
        for value in cases {
            let mut out = Vec::new();
            super::hex(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("0x{value:08x}"));
        }
    }

    #[test]
    fn decimal_digits_match_the_standard_library() {
        for value in [0, 7, 10, 12_345, u64::MAX] {
            let mut out = Vec::new();
            super::write_decimal(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
        for value in [0, -1, i64::MIN, i64::MAX] {
            let mut out = Vec::new();
            super::signed(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }
}
