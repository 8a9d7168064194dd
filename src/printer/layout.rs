//! The layout of a file as text, and what of a file that is written anew is not as it was.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::data::DataPrinter;
use crate::emitter::File;
use crate::emitter::raw::Raw;
use crate::layout::{Builder, Header, Options, Strings};
use crate::reader::Origin;
use crate::reader::layout::gaps;

/// The lines of `layout:`, if any are needed.
pub fn print(o: &Options, out: &mut String) {
    let default = Options::default();
    let mut lines = String::new();
    let mut number = |name: &str, value: u64, default: u64| {
        if value != default {
            let _ = writeln!(lines, "  {name}: {value}");
        }
    };
    number("segment_alignment", o.segment_alignment, default.segment_alignment);
    number("tensor_alignment", o.tensor_alignment, default.tensor_alignment);
    number("delegate_alignment", o.delegate_alignment, default.delegate_alignment);
    number("base_alignment", o.base_alignment.unwrap_or(0), 0);
    let mut word = |name: &str, value: &str, different: bool| {
        if different {
            let _ = writeln!(lines, "  {name}: {value}");
        }
    };
    word("builder", "flatc", o.builder != default.builder);
    word("ptd_builder", "exir", o.ptd_builder != default.ptd_builder);
    word("strings", "shared", o.strings == Strings::Shared);
    if let Some(builder) = o.bpte_builder.filter(|builder| *builder != o.builder) {
        word("bpte_builder", if builder == Builder::Flatc { "flatc" } else { "exir" }, true);
    }
    word("constants", "inline", o.constants != default.constants);
    word("delegates", "inline", o.delegates != default.delegates);
    match o.header {
        Header::Auto => {}
        Header::None => word("header", "none", true),
        Header::Length(length) => word("header", &length.to_string(), true),
    }
    if let Some(size) = o.header_size {
        let _ = writeln!(lines, "  header_size: {size}");
    }
    if !lines.is_empty() {
        out.push_str("layout:\n");
        out.push_str(&lines);
    }
}

/// The lines of `raw:`, if any are needed.
///
/// # Errors
/// Data that cannot be read or written.
pub fn print_raw(raw: &Raw, out: &mut String, data: &mut DataPrinter<'_>) -> io::Result<()> {
    if raw.patches.is_empty() && raw.append.is_none() {
        return Ok(());
    }
    out.push_str("raw:\n");
    if !raw.patches.is_empty() {
        out.push_str("  patch:\n");
    }
    for patch in &raw.patches {
        let bytes = data_encoding::HEXLOWER.encode(&patch.bytes);
        let _ = writeln!(out, "    - {{at: {:#x}, bytes: {{hex: \"{bytes}\"}}}}", patch.at);
    }
    if let Some(append) = &raw.append {
        let _ = writeln!(out, "  append: {}", data.bytes(append, "raw.append")?);
    }
    Ok(())
}

/// What of a file that is written anew is not as it was, if anything is.
///
/// # Errors
/// A file that cannot be read.
pub fn difference(origin: &Origin, file: &File<'_>) -> io::Result<Option<String>> {
    let metadata = origin.head(file.placement.program_size)?;
    let mut compared = Compared { expected: &metadata, at: 0, same: true };
    file.write_flatbuffer(&mut compared)?;
    if !compared.same {
        return Ok(Some(format!("the program differs from byte {:#x} on", compared.at)));
    }
    let length = origin.len()?;
    if Some(length) != file.size() {
        return Ok(Some(format!("the file has {length} bytes, the text makes {}", file.size().unwrap_or(u64::MAX))));
    }
    let differs = |start: u64, made: &[u8]| -> io::Result<bool> { Ok(made != origin.range(start, made.len() as u64)?) };
    // Data that the text takes from the file itself are the same, unless they are changed in the end.
    for segment in file.segments {
        for piece in &segment.pieces {
            let start = file.placement.segment_base_offset + segment.offset + piece.offset;
            let blob = &file.blobs[piece.blob.0 as usize];
            if origin.is_range(blob, start) && !file.raw.touches(start, blob.len) {
                continue;
            }
            let mut written = Written { origin, raw: file.raw, at: start, same: true };
            blob.copy_to(&mut written)?;
            if !written.same {
                return Ok(Some(format!("the data at byte {start:#x} differ")));
            }
        }
    }
    for (start, end) in gaps(file) {
        let mut at = start;
        while at < end {
            let mut bytes = vec![0; (end - at).min(1 << 20) as usize];
            file.raw.apply(at, &mut bytes);
            if differs(at, &bytes)? {
                return Ok(Some(format!("the padding from byte {at:#x} on differs")));
            }
            at += bytes.len() as u64;
        }
    }
    if let Some(append) = &file.raw.append
        && !origin.is_range(append, file.placement.file_size)
        && differs(file.placement.file_size, &append.to_vec()?)?
    {
        return Ok(Some("the bytes behind the end differ".into()));
    }
    Ok(None)
}

/// Compares what is written, once it is changed as it will be in the end, with a part of a file, piece by piece.
struct Written<'w> {
    origin: &'w Origin,
    raw: &'w Raw,
    at: u64,
    same: bool,
}

impl Write for Written<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut bytes = bytes.to_vec();
        self.raw.apply(self.at, &mut bytes);
        self.same = self.same && bytes == self.origin.range(self.at, bytes.len() as u64)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Compares what is written with what is expected, as far as it is the same.
struct Compared<'e> {
    expected: &'e [u8],
    /// So many bytes are the same.
    at: usize,
    same: bool,
}

impl Write for Compared<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let expected = self.expected.get(self.at..).unwrap_or_default();
        if self.same && !expected.starts_with(bytes) {
            self.at += bytes.iter().zip(expected).take_while(|(made, wanted)| made == wanted).count();
            self.same = false;
        } else if self.same {
            self.at += bytes.len();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
