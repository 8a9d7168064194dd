//! Blocks as lines for people: a heading and a line for each region, in columns. The digits are written by hand, since a
//! large file has millions of lines.
//!
//! What the bytes mean was decided before.

use std::io::Write;

use crate::format::path::{write_decimal, write_item};
use super::map::{Block, Kind, Map};
use crate::format::flatbuffer::{ObjectKind, Scalar};
use super::path;
use super::regions::{Form, Leads, Meaning, Region};

/// Bytes of a line that are written as hexadecimal digits.
const HEX: usize = 8;

/// Columns of the digits, with the dots of those left out.
const HEX_WIDTH: usize = 3 * HEX + 2;

/// Columns of the type.
const TYPE_WIDTH: usize = 8;

/// Columns of the value; longer ones push the rest of their line.
const VALUE_WIDTH: usize = 12;

/// Bytes of a text that are shown.
const TEXT: usize = 60;

/// Colours of a terminal, or none.
#[derive(Debug, Clone, Copy)]
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

/// Appends what stands above the lines of a block.
pub fn title(map: &Map, number: usize, style: &Style, out: &mut Vec<u8>) {
    let block = &map.blocks[number];
    if block.kind == Kind::Padding {
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

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn heading(map: &Map, block: &Block, out: &mut Vec<u8>) {
    let part = map.part(block);
    let inside = part.prefix.trim_end_matches('.');
    match block.kind {
        Kind::Header => {
            put(out, "header");
            if !inside.is_empty() {
                put(out, "  ");
                put(out, inside);
            }
        }
        Kind::Object(id) => {
            let object = &part.objects.list[id as usize];
            put(
                out,
                match object.what {
                    ObjectKind::Vtable(_) => "vtable of ",
                    ObjectKind::Table(_) => "table ",
                    ObjectKind::Tables(_) | ObjectKind::Scalars(_) => "vector of ",
                    ObjectKind::Text => "string",
                },
            );
            put(out, name(object.what));
            if object.mixed {
                put(out, " and others");
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
        Kind::Segment(index) => {
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
        Kind::Padding => {}
        Kind::Unreachable => {
            put(out, "unreachable  ");
            write_decimal(block.end - block.at, out);
            put(out, " bytes that nothing refers to");
        }
    }
}

/// What is wrong with a block as a whole.
fn notes(map: &Map, number: usize, style: &Style, out: &mut Vec<u8>) {
    let block = &map.blocks[number];
    if let Kind::Segment(index) = block.kind
        && let Some(defect) = &map.segments(block).list[index as usize].defect
    {
        note(out, style, |out| put(out, defect));
    }
    let Some(clash) = map.clash(number) else { return };
    note(out, style, |out| {
        put(out, "claimed twice: ");
        hex(clash.bytes.start, out);
        put(out, " to ");
        hex(clash.bytes.end, out);
        put(out, " by ");
        let owner = &map.blocks[clash.owner as usize];
        heading(map, owner, out);
        put(out, " at ");
        hex(owner.at, out);
        put(out, ", too");
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

/// What an object is called.
pub fn name(what: ObjectKind) -> &'static str {
    match what {
        ObjectKind::Vtable(table) | ObjectKind::Table(table) | ObjectKind::Tables(table) => table.name,
        ObjectKind::Scalars(number) => number.name(),
        ObjectKind::Text => "",
    }
}

/// Where the columns of a line begin: place, digits, type, value, meaning.
const PLACE: usize = 2;
const DIGITS: usize = PLACE + 12;
const TYPE: usize = DIGITS + HEX_WIDTH + 2;
const VALUE: usize = TYPE + TYPE_WIDTH;
const MEANING: usize = VALUE + VALUE_WIDTH + 2;

fn line(region: &Region<'_>, style: &Style, out: &mut Vec<u8>) {
    let faint = matches!(region.form, Form::Padding);
    if faint {
        put(out, style.faint);
    }
    // What most lines consist of has fixed places: it is put together where the processor can do it in a few moves.
    let start = out.len();
    out.extend_from_slice(&[b' '; MEANING]);
    let columns = &mut out[start..];
    if region.offset <= u64::from(u32::MAX) {
        columns[PLACE] = b'0';
        columns[PLACE + 1] = b'x';
        for (pair, byte) in columns[PLACE + 2..PLACE + 10].chunks_exact_mut(2).zip((region.offset as u32).to_be_bytes())
        {
            pair.copy_from_slice(&PAIRS[usize::from(byte)]);
        }
    } else {
        // Such places take more room, and push the rest.
        out.truncate(start + PLACE);
        hex(region.offset, out);
        out.extend_from_slice(&[b' '; MEANING - DIGITS + 2]);
    }
    let shift = out.len() - start - MEANING;
    let columns = &mut out[start + shift..];
    let size = usize::try_from(region.size).unwrap_or(usize::MAX);
    let shown = region.bytes.len().min(HEX).min(size);
    for (byte, place) in region.bytes[..shown].iter().zip(columns[DIGITS..].chunks_exact_mut(3)) {
        place[..2].copy_from_slice(&PAIRS[usize::from(*byte)]);
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
    // What the type says need not be said again.
    if !matches!(region.meaning, Meaning::Says(says) if says == kind) {
        meaning(&region.meaning, out);
    }
    if let Some(target) = &region.target {
        out.extend_from_slice(b" -> ");
        hex(target.at, out);
        leads(target.what, out);
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

/// Each byte as two hexadecimal digits.
pub static PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [nibble((byte >> 4) as u8), nibble(byte as u8)];
        byte += 1;
    }
    pairs
};

/// What is at the end of an offset.
pub fn leads(what: Leads, out: &mut Vec<u8>) {
    match what {
        Leads::To(what) => {
            put(
                out,
                match what {
                    ObjectKind::Vtable(_) => " vtable of ",
                    ObjectKind::Table(_) => " ",
                    ObjectKind::Tables(_) | ObjectKind::Scalars(_) => " vector of ",
                    ObjectKind::Text => " string",
                },
            );
            put(out, name(what));
        }
        Leads::Nowhere => {}
        Leads::Called(what) => {
            out.push(b' ');
            put(out, what);
        }
    }
}

/// The type of a region.
pub fn type_name(form: Form) -> &'static str {
    match form {
        Form::Number(number) => number.name(),
        Form::Offset => "offset",
        Form::Text => "text",
        Form::Data => "data",
        Form::Padding => "padding",
        Form::Unreachable => "?",
    }
}

/// What a region means.
pub fn meaning(meaning: &Meaning<'_>, out: &mut Vec<u8>) {
    match meaning {
        Meaning::Says(says) => put(out, says),
        Meaning::Made(says) => put(out, says),
        Meaning::Field(field) => put(out, field),
        Meaning::Named(field, is) => {
            put(out, field);
            put(out, " = ");
            put(out, is);
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
            put(out, "slot ");
            write_decimal((*slot).into(), out);
            put(out, ", which the schema does not have");
        }
    }
}

/// The value of a region, read from its bytes.
pub fn value(region: &Region<'_>, out: &mut Vec<u8>) {
    match region.form {
        Form::Number(number) => {
            for (index, item) in region.bytes.chunks_exact(number.size()).enumerate() {
                if index > 0 {
                    out.extend_from_slice(b", ");
                }
                scalar(number, item, out);
            }
        }
        Form::Offset => scalar(Scalar::U32, region.bytes, out),
        Form::Text => quoted(region.bytes, out),
        Form::Data | Form::Padding | Form::Unreachable => {
            write_decimal(region.size, out);
            put(out, if region.size == 1 { " byte" } else { " bytes" });
        }
    }
}

/// A number of these bytes.
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
        Scalar::F64 => {
            // Writing to memory does not fail.
            let _ = write!(out, "{:?}", f64::from_bits(unsigned));
        }
    }
}

/// A text in quotes, its end left out if it is long.
fn quoted(bytes: &[u8], out: &mut Vec<u8>) {
    let plain = |byte: &u8| (b' '..=b'~').contains(byte) && !matches!(byte, b'"' | b'\\');
    if bytes.len() <= TEXT && bytes.iter().all(plain) {
        out.push(b'"');
        out.extend_from_slice(bytes);
        return out.push(b'"');
    }
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * TEXT)]);
    let short: String = text.chars().take(TEXT).collect();
    let _ = write!(out, "{short:?}");
    if short.len() < bytes.len() {
        out.extend_from_slice(b"..");
    }
}

const fn nibble(value: u8) -> u8 {
    b"0123456789abcdef"[(value & 15) as usize]
}

/// A place: at least eight digits.
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
    fn places_have_eight_digits_or_more() {
        let cases = [0, 1, 0xffff_ffff, 0x1_0000_0000, 0xabc_1234_5678, u64::MAX];
        for value in cases {
            let mut out = Vec::new();
            super::hex(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("0x{value:08x}"));
        }
    }

    #[test]
    fn numbers_are_those_of_the_standard_library() {
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
