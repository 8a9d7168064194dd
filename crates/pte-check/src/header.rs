//! Checks the container header: identifier, extended header, and the ranges of metadata and data in it (`H-`;
//! docs/format.md, "Containers").

use std::ops::Range;

use super::path::{Reporter, add};
use crate::RuleId::{self, *};
use pte_model::diagnostics::Counted;
use pte_model::format::container::HEAD;
use pte_model::format::path::Trail;
use pte_model::format::{bundled_program, flat_tensor, program};

/// Ranges of a file according to its validated header.
pub struct CheckedHeader {
    /// Size of header and metadata in bytes, from the start of the file.
    pub metadata_len: u64,
    /// Bytes of the extended header, which must not overlap tables.
    pub range: Range<usize>,
    /// Offset of the first segment; 0 if there are no segments.
    pub segment_base: u64,
    /// Size in bytes of all segments.
    pub segment_bytes: u64,
}

/// Returns the 64-bit integer at byte `at`; 0 beyond the end.
fn field(head: &[u8], at: usize) -> u64 {
    head.get(at..at + 8).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
}

/// Returns the 32-bit integer at byte `at`, a multiple of 4; 0 beyond the end.
fn word(head: &[u8], at: usize) -> u32 {
    field(head, at & !7).to_le_bytes()[at & 7..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn has(head: &[u8], at: usize, expected: &[u8]) -> bool {
    head.get(at..at + expected.len()) == Some(expected)
}

/// Validates the header of a `.pte` of `len` bytes; `None` if the program cannot be read.
pub fn program(head: &[u8], len: u64, report: &mut Reporter<'_, '_>) -> Option<CheckedHeader> {
    let root = &Trail::ROOT;
    head_of_file(H_1, head, len, report)?;
    let mut header = CheckedHeader { metadata_len: len, range: 8..8, segment_base: 0, segment_bytes: 0 };
    if has(head, 8, b"eh00") {
        let length = word(head, 12);
        if length < 24 {
            add!(report, H_4, root, 12, "header length {length}", "at least 24");
            return None;
        }
        header.metadata_len = field(head, 16);
        header.segment_base = field(head, 24);
        header.range = 8..8usize.saturating_add(length as usize);
        let size = if length < 32 {
            add!(report, H_5, root, 12, "header length {length}", "32");
            0
        } else {
            field(head, 32)
        };
        header.segment_bytes = match length {
            ..32 => len.saturating_sub(header.segment_base),
            _ => size,
        };
        if header.segment_base == 0 {
            header.segment_bytes = 0;
        }
        segment_range(&header, size, len, report);
        check_32_bits(
            &[
                ("program_size", 16, header.metadata_len),
                ("segment_base_offset", 24, header.segment_base),
                ("segment_data_size", 32, size),
            ],
            report,
        );
    } else if has(head, 8, b"eh") {
        let found = String::from_utf8_lossy(&head[8..12]).into_owned();
        add!(report, H_3, root, 8, "header magic {found:?}", "\"eh00\"");
    }
    if header.metadata_len > len {
        let found = format_args!("program size {}", header.metadata_len);
        report.add(H_10, root, 16, found, format_args!("at most {len}, the size of the file"));
        return None;
    }
    if header.metadata_len < 8 {
        report.add(H_12, root, 16, format_args!("program size {}", header.metadata_len), "at least 8");
        return None;
    }
    identifier(H_13, program::IDENTIFIER, head, report)?;
    let offset = u64::from(word(head, 0));
    if offset < 8 || offset > header.metadata_len.saturating_sub(4) {
        let expected = format_args!("8 to {}", header.metadata_len.saturating_sub(4));
        report.add(H_14, root, 0, format_args!("root table offset {offset}"), expected);
        return None;
    }
    Some(header)
}

/// Checks the range of the segments of a `.pte`; `size` is `segment_data_size`.
fn segment_range(header: &CheckedHeader, size: u64, len: u64, report: &mut Reporter<'_, '_>) {
    let (root, base) = (&Trail::ROOT, header.segment_base);
    if base == 0 && size > 0 {
        add!(report, G_2, root, 32, "segment data size {size} without a segment base offset", "0");
    }
    if base != 0 && base < header.metadata_len {
        let expected = format_args!("at least {}, the end of the program", header.metadata_len);
        report.add(G_1, root, 24, format_args!("segment base offset {base}"), expected);
    }
    if base != 0 && size == 0 && base > len {
        add!(report, H_9, root, 24, "segment base offset {base}", "at most {len}, the size of the file");
    }
    match base.checked_add(size) {
        None => {
            report.add(
                H_7,
                root,
                32,
                format_args!("{} of segment data at offset {base}", Counted(size, "byte")),
                "an end below 2^64",
            );
        }
        Some(end) if size > 0 && end > len => {
            let found = format_args!("{} of segment data at offset {base}", Counted(size, "byte"));
            report.add(H_8, root, 32, found, format_args!("an end of at most {len}, the size of the file"));
        }
        Some(end) if base != 0 && size > 0 && end < len => {
            let found = format_args!("{} after the segment data", Counted(len - end, "byte"));
            report.add(G_3, root, end as usize, found, "none");
        }
        _ => {}
    }
}

/// Reports fields that exceed 32 bits.
fn check_32_bits(fields: &[(&'static str, usize, u64)], report: &mut Reporter<'_, '_>) {
    for (name, at, value) in fields.iter().filter(|(_, _, value)| *value > u64::from(u32::MAX)) {
        report.add(G_5, &Trail::ROOT.field(name), *at, value, format_args!("at most {}", u32::MAX));
    }
}

/// Reports a file of `len` bytes that is too short for the part that every file has.
fn head_of_file(rule: RuleId, head: &[u8], len: u64, report: &mut Reporter<'_, '_>) -> Option<()> {
    if len >= HEAD && head.len() as u64 >= HEAD {
        return Some(());
    }
    let found = format_args!("a file of {}", Counted(len, "byte"));
    report.add(rule, &Trail::ROOT, 0, found, format_args!("at least {HEAD} bytes"));
    None
}

fn identifier(rule: RuleId, expected: &str, head: &[u8], report: &mut Reporter<'_, '_>) -> Option<()> {
    if has(head, 4, expected.as_bytes()) {
        return Some(());
    }
    let found = String::from_utf8_lossy(head.get(4..8).unwrap_or_default()).into_owned();
    add!(report, rule, &Trail::ROOT, 4, "identifier {found:?}", "{expected:?}");
    None
}

/// Validates the header of a `.ptd` of `len` bytes; `None` if the metadata cannot be read.
pub fn flat_tensor(head: &[u8], len: u64, report: &mut Reporter<'_, '_>) -> Option<CheckedHeader> {
    let root = &Trail::ROOT;
    head_of_file(H_20, head, len, report)?;
    if !has(head, 8, b"FH01") {
        let found = String::from_utf8_lossy(&head[8..12]).into_owned();
        add!(report, H_21, root, 8, "header magic {found:?}", "\"FH01\"");
        return None;
    }
    let length = word(head, 12);
    if length < 40 {
        add!(report, H_22, root, 12, "header length {length}", "at least 40");
        return None;
    }
    let (flatbuffer_offset, size, base, data) = (field(head, 16), field(head, 24), field(head, 32), field(head, 40));
    if flatbuffer_offset < 40 {
        add!(report, G_7, root, 16, "flatbuffer offset {flatbuffer_offset}", "at least 40");
    }
    let Some(metadata_len) = flatbuffer_offset.checked_add(size).filter(|metadata_len| *metadata_len <= len) else {
        let found = format_args!("{flatbuffer_offset} + {} of metadata", Counted(size, "byte"));
        report.add(H_24, root, 24, found, format_args!("at most {len}, the size of the file"));
        return None;
    };
    if base.checked_add(data).is_none_or(|end| end > len) {
        let found = format_args!("{} of segment data at offset {base}", Counted(data, "byte"));
        report.add(H_23, root, 40, found, format_args!("an end of at most {len}, the size of the file"));
    }
    if base < metadata_len {
        add!(report, G_8, root, 32, "segment base offset {base}", "at least {metadata_len}, the end of the metadata");
    }
    check_32_bits(&[("segment_base_offset", 32, base), ("segment_data_size", 40, data)], report);
    identifier(H_25, flat_tensor::IDENTIFIER, head, report)?;
    let end = usize::try_from(flatbuffer_offset).unwrap_or(usize::MAX).saturating_add(8);
    Some(CheckedHeader { metadata_len, range: 8..end, segment_base: base, segment_bytes: data })
}

/// Validates the identifier of a `.bpte` of `len` bytes; `None` if the file cannot be read.
pub fn bundled_program(head: &[u8], len: u64, report: &mut Reporter<'_, '_>) -> Option<CheckedHeader> {
    if len < 12 {
        report.add(H_31, &Trail::ROOT, 0, format_args!("a file of {}", Counted(len, "byte")), "at least 12 bytes");
        return None;
    }
    identifier(H_30, bundled_program::IDENTIFIER, head, report)?;
    Some(CheckedHeader { metadata_len: head.len() as u64, range: 0..8, segment_base: 0, segment_bytes: 0 })
}
