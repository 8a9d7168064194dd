//! The first bytes of a file: identifier, extended header, and where they say that metadata and data are (`H-`;
//! docs/format.md, "Containers").
//!
//! Of a file on disk only these bytes are read before the metadata are.

use std::ops::Range;

use super::path::Reporter;
use crate::format::flatbuffer::verify::Report;
use crate::format::path::Trail;
use crate::format::container::HEAD;
use crate::format::{bundled_program, flat_tensor, program};

/// What a header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of the metadata, from the file's start.
    pub metadata: u64,
    /// The bytes of the header, where nothing else can be.
    pub header: Range<usize>,
    /// Where the first segment begins; 0 if there are none.
    pub base: u64,
    /// Bytes from there on that may belong to segments.
    pub room: u64,
}

/// A 64-bit field.
fn field(head: &[u8], at: usize) -> u64 {
    head.get(at..at + 8).map_or(0, |bytes| u64::from_le_bytes(bytes.try_into().unwrap_or_default()))
}

/// The upper or lower half of a 64-bit field.
fn word(head: &[u8], at: usize) -> u32 {
    field(head, at & !7).to_le_bytes()[at & 7..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn has(head: &[u8], at: usize, what: &[u8]) -> bool {
    head.get(at..at + what.len()) == Some(what)
}

/// The header of a `.pte` of `len` bytes; `None` if nothing can be read after it.
pub fn program(head: &[u8], len: u64, report: &mut Reporter<'_, '_>) -> Option<Frame> {
    let root = &Trail::ROOT;
    if len < HEAD || (head.len() as u64) < HEAD {
        report.add("H-1", root, 0, format_args!("{len} bytes"), format_args!("{HEAD} at least"));
        return None;
    }
    let mut frame = Frame { metadata: len, header: 8..8, base: 0, room: 0 };
    if has(head, 8, b"eh00") {
        let length = word(head, 12);
        if length < 24 {
            report.add("H-4", root, 12, format_args!("a header of {length} bytes"), format_args!("24 at least"));
            return None;
        }
        frame.metadata = field(head, 16);
        frame.base = field(head, 24);
        frame.header = 8..8usize.saturating_add(length as usize);
        let size = if length < 32 {
            report.add("H-5", root, 12, format_args!("a header of {length} bytes"), format_args!("32"));
            0
        } else {
            field(head, 32)
        };
        frame.room = match length {
            ..32 => len.saturating_sub(frame.base),
            _ => size,
        };
        if frame.base == 0 {
            frame.room = 0;
        }
        data(&frame, size, len, report);
        wide(
            &[
                ("program_size", 16, frame.metadata),
                ("segment_base_offset", 24, frame.base),
                ("segment_data_size", 32, size),
            ],
            report,
        );
    } else if has(head, 8, b"eh") {
        let found = String::from_utf8_lossy(&head[8..12]).into_owned();
        report.add("H-3", root, 8, format_args!("a header {found:?}"), format_args!("\"eh00\", or no header"));
    }
    if frame.metadata > len {
        let found = format_args!("a program of {} bytes", frame.metadata);
        report.add("H-10", root, 16, found, format_args!("no more than the file's {len}"));
        return None;
    }
    if frame.metadata < 8 {
        let found = format_args!("a program of {} bytes", frame.metadata);
        report.add("H-12", root, 16, found, format_args!("8 at least"));
        return None;
    }
    identifier("H-13", program::IDENTIFIER, head, report)?;
    let offset = u64::from(word(head, 0));
    if offset < 8 || offset > frame.metadata.saturating_sub(4) {
        let expected = format_args!("8 to {}", frame.metadata.saturating_sub(4));
        report.add("H-14", root, 0, format_args!("the root table at byte {offset}"), expected);
        return None;
    }
    Some(frame)
}

/// Where the data of a `.pte` are said to be.
fn data(frame: &Frame, size: u64, len: u64, report: &mut Reporter<'_, '_>) {
    let (root, base) = (&Trail::ROOT, frame.base);
    if base == 0 && size > 0 {
        report.add("G-2", root, 32, format_args!("{size} bytes of data without a place"), format_args!("none"));
    }
    if base != 0 && base < frame.metadata {
        let expected = format_args!("{} at least, where the program ends", frame.metadata);
        report.add("G-1", root, 24, format_args!("segments from byte {base}"), expected);
    }
    if base != 0 && size == 0 && base > len {
        report.add("H-9", root, 24, format_args!("segments from byte {base}"), format_args!("a place in {len} bytes"));
    }
    match base.checked_add(size) {
        None => {
            report.add(
                "H-7",
                root,
                32,
                format_args!("{size} bytes from byte {base}"),
                format_args!("a sum of 64 bits"),
            );
        }
        Some(end) if size > 0 && end > len => {
            let found = format_args!("{size} bytes of data from byte {base}");
            report.add("H-8", root, 32, found, format_args!("no more than the file's {len}"));
        }
        Some(end) if base != 0 && size > 0 && end < len => {
            let found = format_args!("{} bytes behind the data", len - end);
            report.add("G-3", root, end as usize, found, format_args!("none"));
        }
        _ => {}
    }
}

/// What does not fit 32 bits.
fn wide(fields: &[(&'static str, usize, u64)], report: &mut Reporter<'_, '_>) {
    for (name, at, value) in fields.iter().filter(|(_, _, value)| *value > u64::from(u32::MAX)) {
        let expected = format_args!("no more than {}", u32::MAX);
        report.add("G-5", &Trail::ROOT.field(name), *at, format_args!("{value}"), expected);
    }
}

fn identifier(rule: &str, expected: &str, head: &[u8], report: &mut Reporter<'_, '_>) -> Option<()> {
    if has(head, 4, expected.as_bytes()) {
        return Some(());
    }
    let found = String::from_utf8_lossy(head.get(4..8).unwrap_or_default()).into_owned();
    report.add(rule, &Trail::ROOT, 4, format_args!("the identifier {found:?}"), format_args!("{expected:?}"));
    None
}

/// The header of a `.ptd` of `len` bytes; `None` if nothing can be read after it.
pub fn flat_tensor(head: &[u8], len: u64, report: &mut Reporter<'_, '_>) -> Option<Frame> {
    let root = &Trail::ROOT;
    if len < HEAD || (head.len() as u64) < HEAD {
        report.add("H-20", root, 0, format_args!("{len} bytes"), format_args!("{HEAD} at least"));
        return None;
    }
    if !has(head, 8, b"FH01") {
        let found = String::from_utf8_lossy(&head[8..12]).into_owned();
        report.add("H-21", root, 8, format_args!("{found:?}"), format_args!("\"FH01\""));
        return None;
    }
    let length = word(head, 12);
    if length < 40 {
        report.add("H-22", root, 12, format_args!("a header of {length} bytes"), format_args!("40"));
        return None;
    }
    let (inserted, size, base, data) = (field(head, 16), field(head, 24), field(head, 32), field(head, 40));
    if inserted < 40 {
        report.add(
            "G-7",
            root,
            16,
            format_args!("{inserted} bytes inserted for the header"),
            format_args!("40 at least"),
        );
    }
    let Some(metadata) = inserted.checked_add(size).filter(|metadata| *metadata <= len) else {
        let found = format_args!("{inserted} + {size} bytes of metadata");
        report.add("H-24", root, 24, found, format_args!("no more than the file's {len}"));
        return None;
    };
    if base.checked_add(data).is_none_or(|end| end > len) {
        let found = format_args!("{data} bytes of data from byte {base}");
        report.add("H-23", root, 40, found, format_args!("no more than the file's {len}"));
    }
    if base < metadata {
        let expected = format_args!("{metadata} at least, where the metadata end");
        report.add("G-8", root, 32, format_args!("segments from byte {base}"), expected);
    }
    wide(&[("segment_base_offset", 32, base), ("segment_data_size", 40, data)], report);
    identifier("H-25", flat_tensor::IDENTIFIER, head, report)?;
    let end = usize::try_from(inserted).unwrap_or(usize::MAX).saturating_add(8);
    Some(Frame { metadata, header: 8..end, base, room: data })
}

/// The identifier of a `.bpte`; `None` if nothing can be read after it.
pub fn bundled_program(head: &[u8], len: u64, report: &mut Reporter<'_, '_>) -> Option<Frame> {
    if len < 12 {
        report.add("H-31", &Trail::ROOT, 0, format_args!("{len} bytes"), format_args!("12 at least"));
        return None;
    }
    identifier("H-30", bundled_program::IDENTIFIER, head, report)?;
    Some(Frame { metadata: head.len() as u64, header: 0..8, base: 0, room: 0 })
}
