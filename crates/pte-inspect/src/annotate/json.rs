//! Writes regions as JSON objects, one per line: `{"offset", "size", "path", "type", "value", "meaning", "target"?,
//! "leads_to"?, "defect"?}`.
//!
//! This is written without `serde_json`, which takes 1.5 times as long for the same bytes: 2.1 s of CPU time and 3.1 s
//! of wall time instead of 1.4 s and 2.1 s for a program of 14 MB (506 MB of JSON; the fastest of 9 runs on 2 shared
//! cores).

use super::block::{BlockKind, FileBlock};
use super::map::FileMap;
use super::path;
use super::regions::{Meaning, Region, RegionType, TargetKind};
use super::text::{self, put};
use pte_model::diagnostics::{is_unsafe, json_escape};
use pte_model::format::flatbuffer::Scalar;
use pte_model::format::path::{write_decimal, write_field, write_item};

/// Returns the path of a block, and the prefix of the paths of its fields.
pub fn block_paths(map: &FileMap, block: &FileBlock) -> (Vec<u8>, Vec<u8>) {
    let part = map.part(block);
    let mut whole = Vec::new();
    match block.kind {
        BlockKind::Object(id) => {
            let mut prefix = Vec::new();
            path::write(part, id, false, &mut whole);
            path::write(part, id, true, &mut prefix);
            return (whole, prefix);
        }
        BlockKind::Header => {
            whole.extend_from_slice(part.prefix.as_bytes());
            whole.extend_from_slice(b"header");
        }
        BlockKind::PayloadHeader | BlockKind::PayloadConstants => {
            whole.extend_from_slice(part.prefix.trim_end_matches('.').as_bytes());
            write_field(if block.kind == BlockKind::PayloadHeader { "header" } else { "constants" }, 0, &mut whole);
        }
        BlockKind::Segment(index) => {
            whole.extend_from_slice(part.prefix.as_bytes());
            whole.extend_from_slice(b"segments");
            write_item(map.segments(block).list[index as usize].index as u64, &mut whole);
        }
        BlockKind::Padding | BlockKind::Newer | BlockKind::Unreachable => {}
    }
    (whole.clone(), whole)
}

/// Appends the regions of a block, or of a piece of it, each preceded by a comma and a line break.
pub fn block(map: &FileMap, number: usize, is_first: bool, regions: &[Region<'_>], out: &mut Vec<u8>) {
    let block = &map.blocks[number];
    let (whole, prefix) = block_paths(map, block);
    let mut own = Vec::new();
    // The overlap of a block is reported with its first region, or with an empty one.
    let mut overlap = map.overlap(number).filter(|_| is_first);
    let empty = overlap.is_some() && regions.is_empty();
    for region in regions {
        let path = match region.meaning {
            Meaning::Field(name) | Meaning::Named(name, _) | Meaning::Entry(name) | Meaning::Absent(name) => {
                own.clear();
                own.extend_from_slice(&prefix);
                write_field(name, 0, &mut own);
                &own
            }
            Meaning::Item(index) => {
                own.clear();
                own.extend_from_slice(&whole);
                write_item(index.into(), &mut own);
                &own
            }
            Meaning::Text(_) | Meaning::OwnedText(_) | Meaning::Items(..) | Meaning::Unknown(_) => &whole,
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
            if let TargetKind::Named(_) | TargetKind::Object(_) = target.kind {
                let mut label = Vec::new();
                text::target_label(target.kind, &mut label);
                put(out, ",\"leads_to\":");
                string(label.trim_ascii(), out);
            }
        }
        let overlap = overlap.take().map(|overlap| describe_overlap(map, overlap));
        let defect = match (&region.defect, overlap) {
            (Some(defect), Some(overlap)) => Some(format!("{overlap}; {defect}")),
            (Some(defect), None) => Some(defect.to_string()),
            (None, overlap) => overlap,
        };
        if let Some(defect) = defect {
            put(out, ",\"defect\":");
            string(defect.as_bytes(), out);
        }
        out.push(b'}');
    }
    if empty && let Some(overlap) = overlap {
        start(block.at, 0, &whole, "data", out);
        put(out, ",\"value\":null,\"meaning\":\"all bytes belong to another object\",\"defect\":");
        string(describe_overlap(map, overlap).as_bytes(), out);
        out.push(b'}');
    }
}

fn describe_overlap(map: &FileMap, overlap: &super::map::Overlap) -> String {
    let owner = &map.blocks[overlap.owner as usize];
    let mut path = Vec::new();
    match owner.kind {
        BlockKind::Object(id) => path::write(map.part(owner), id, false, &mut path),
        BlockKind::Segment(index) => path.extend_from_slice(format!("segments[{index}]").as_bytes()),
        // The blocks of payloads never overlap.
        BlockKind::Header
        | BlockKind::Padding
        | BlockKind::Newer
        | BlockKind::Unreachable
        | BlockKind::PayloadHeader
        | BlockKind::PayloadConstants => path.extend_from_slice(b"the header"),
    }
    let path = String::from_utf8_lossy(&path);
    format!("overlap: bytes {:#x} to {:#x} also belong to {path}", overlap.bytes.start, overlap.bytes.end)
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

/// Appends the value: a number, a list of numbers, a string, or the first bytes in hexadecimal.
fn value(region: &Region<'_>, out: &mut Vec<u8>) {
    put(out, ",\"value\":");
    match region.form {
        RegionType::Number(number) => {
            let items = region.bytes.chunks_exact(number.size());
            let list = !matches!(items.len(), 1) || matches!(region.meaning, Meaning::Items(..));
            if list {
                out.push(b'[');
            }
            for (index, item) in items.enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                let start = out.len();
                text::scalar(number, item, out);
                // JSON cannot express `NaN` and `inf`.
                if let Some(b'N' | b'f') = out.last() {
                    out.insert(start, b'"');
                    out.push(b'"');
                }
            }
            if list {
                out.push(b']');
            }
        }
        RegionType::Offset => text::scalar(Scalar::U32, region.bytes, out),
        RegionType::String => string(region.bytes, out),
        RegionType::Data | RegionType::Padding | RegionType::Unreachable => {
            out.push(b'"');
            for byte in region.bytes.iter().take(16) {
                out.extend_from_slice(&text::PAIRS[usize::from(*byte)]);
            }
            out.push(b'"');
        }
    }
}

/// Appends a JSON string; invalid UTF-8 is replaced.
fn string(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    if bytes.iter().all(|byte| (b' '..=b'~').contains(byte) && !matches!(byte, b'"' | b'\\')) {
        out.extend_from_slice(bytes);
    } else {
        for c in String::from_utf8_lossy(bytes).chars() {
            match c {
                '"' => put(out, "\\\""),
                '\\' => put(out, "\\\\"),
                c if is_unsafe(c) => put(out, &json_escape(c)),
                c => put(out, c.encode_utf8(&mut [0; 4])),
            }
        }
    }
    out.push(b'"');
}
