//! Regions as JSON objects, one a line: `{"offset", "size", "path", "type", "value", "meaning", "target"?, "defect"?}`.
//!
//! The regions of a whole file tile it. What the bytes mean was decided before.

use crate::format::path::{write_decimal, write_field, write_item};
use super::map::{Kind, Map};
use crate::format::flatbuffer::Scalar;
use super::regions::{Form, Leads, Meaning, Region};
use super::{path, text};

/// Appends the regions of a block, or of a piece of it, each with a comma in front and a line of its own.
pub fn block(map: &Map, number: usize, is_first: bool, regions: &[Region<'_>], out: &mut Vec<u8>) {
    let block = &map.blocks[number];
    let part = map.part(block);
    let (mut whole, mut above) = (Vec::new(), Vec::new());
    match block.kind {
        Kind::Object(id) => {
            path::write(part, id, false, &mut whole);
            path::write(part, id, true, &mut above);
        }
        Kind::Header => {
            whole.extend_from_slice(part.prefix.as_bytes());
            whole.extend_from_slice(b"header");
            above.extend_from_slice(&whole);
        }
        Kind::Segment(index) => {
            whole.extend_from_slice(part.prefix.as_bytes());
            whole.extend_from_slice(b"segments");
            write_item(map.segments(block).list[index as usize].index as u64, &mut whole);
            above.extend_from_slice(&whole);
        }
        Kind::Padding | Kind::Unreachable => {}
    }
    let mut made = Vec::new();
    // What is wrong with a block as a whole is told with its first region, or by one without bytes.
    let mut clash = map.clash(number).filter(|_| is_first);
    let empty = clash.is_some() && regions.is_empty();
    for region in regions {
        let path = match region.meaning {
            Meaning::Field(name) | Meaning::Named(name, _) | Meaning::Entry(name) | Meaning::Absent(name) => {
                made.clear();
                made.extend_from_slice(&above);
                write_field(name, 0, &mut made);
                &made
            }
            Meaning::Item(index) => {
                made.clear();
                made.extend_from_slice(&whole);
                write_item(index.into(), &mut made);
                &made
            }
            _ => &whole,
        };
        start(region.offset, region.size, path, text::type_name(region.form), out);
        value(region, out);
        put(out, ",\"meaning\":");
        let mut meaning = Vec::new();
        text::meaning(&region.meaning, &mut meaning);
        string(&meaning, out);
        if let Some(target) = &region.target {
            put(out, ",\"target\":");
            write_decimal(target.at, out);
            if let Leads::Called(_) | Leads::To(_) = target.what {
                let mut what = Vec::new();
                text::leads(target.what, &mut what);
                put(out, ",\"leads_to\":");
                string(what.trim_ascii(), out);
            }
        }
        let twice = clash.take().map(|clash| twice(map, clash));
        let defect = match (&region.defect, twice) {
            (Some(defect), Some(twice)) => Some(format!("{twice}; {defect}")),
            (Some(defect), None) => Some(defect.to_string()),
            (None, twice) => twice,
        };
        if let Some(defect) = defect {
            put(out, ",\"defect\":");
            string(defect.as_bytes(), out);
        }
        out.push(b'}');
    }
    if empty && let Some(clash) = clash {
        start(block.at, 0, &whole, "data", out);
        put(out, ",\"value\":null,\"meaning\":\"all its bytes are another's\",\"defect\":");
        string(twice(map, clash).as_bytes(), out);
        out.push(b'}');
    }
}

fn twice(map: &Map, clash: &super::map::Clash) -> String {
    let owner = &map.blocks[clash.owner as usize];
    let mut path = Vec::new();
    match owner.kind {
        Kind::Object(id) => path::write(map.part(owner), id, false, &mut path),
        Kind::Segment(index) => path.extend_from_slice(format!("segments[{index}]").as_bytes()),
        _ => path.extend_from_slice(b"the header"),
    }
    let path = String::from_utf8_lossy(&path);
    format!("claimed twice: {:#x} to {:#x} by {path}, too", clash.bytes.start, clash.bytes.end)
}

fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

fn start(offset: u64, size: u64, path: &[u8], kind: &str, out: &mut Vec<u8>) {
    put(out, ",\n{\"offset\":");
    write_decimal(offset, out);
    put(out, ",\"size\":");
    write_decimal(size, out);
    put(out, ",\"path\":");
    string(path, out);
    put(out, ",\"type\":\"");
    put(out, kind);
    put(out, "\"");
}

/// The value: a number, a list of numbers, a text, or the first bytes as hexadecimal digits.
fn value(region: &Region<'_>, out: &mut Vec<u8>) {
    put(out, ",\"value\":");
    match region.form {
        Form::Number(number) => {
            let items = region.bytes.chunks_exact(number.size());
            let list = !matches!(items.len(), 1) || matches!(region.meaning, Meaning::Items(..));
            if list {
                out.push(b'[');
            }
            for (index, item) in items.enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                let odd = number == Scalar::F64
                    && item.first_chunk().is_some_and(|bytes| !f64::from_le_bytes(*bytes).is_finite());
                // JSON has no word for these.
                if odd {
                    out.push(b'"');
                }
                text::scalar(number, item, out);
                if odd {
                    out.push(b'"');
                }
            }
            if list {
                out.push(b']');
            }
        }
        Form::Offset => text::scalar(Scalar::U32, region.bytes, out),
        Form::Text => string(region.bytes, out),
        Form::Data | Form::Padding | Form::Unreachable => {
            out.push(b'"');
            for byte in region.bytes.iter().take(16) {
                out.extend_from_slice(&text::PAIRS[usize::from(*byte)]);
            }
            out.push(b'"');
        }
    }
}

/// A text as JSON; what is not UTF-8 is replaced.
fn string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    if bytes.iter().all(|byte| (b' '..=b'~').contains(byte) && !matches!(byte, b'"' | b'\\')) {
        out.extend_from_slice(bytes);
    } else {
        for c in String::from_utf8_lossy(bytes).chars() {
            match c {
                '"' => put(out, "\\\""),
                '\\' => put(out, "\\\\"),
                c if c < ' ' => put(out, &format!("\\u{:04x}", c as u32)),
                c => put(out, c.encode_utf8(&mut [0; 4])),
            }
        }
    }
    out.push(b'"');
}
