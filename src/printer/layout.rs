//! The layout of a file as text, and what of a file that is written anew is not as it was.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::data::DataPrinter;
use super::yaml;
use crate::emitter::File;
use crate::layout::{Builder, Header, Options, Strings};
use crate::program::{Blob, Source};
use crate::raw::{Lie, Raw, Set};
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
    if *raw == Raw::default() {
        return Ok(());
    }
    out.push_str("raw:\n");
    if !raw.sets.is_empty() {
        out.push_str("  set:\n");
    }
    for Set { path, lie, .. } in &raw.sets {
        let path = path.to_string();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '@');
        let path = if path.chars().all(plain) { path } else { yaml::quoted(&path) };
        let _ = write!(out, "    {path}: ");
        match lie {
            Lie::Integer(n) => _ = write!(out, "{n}"),
            Lie::Float(x) => yaml::double(x, out),
            Lie::Absent => out.push_str("absent"),
            Lie::Null => out.push_str("null"),
            Lie::Empty => out.push_str("empty"),
            Lie::SameAs(path) => _ = write!(out, "{{same_as: {}}}", yaml::quoted(&path.to_string())),
            Lie::Bytes(bytes) => _ = write!(out, "{{bytes: {{hex: \"{}\"}}}}", data_encoding::HEXLOWER.encode(bytes)),
        }
        out.push('\n');
    }
    if raw.fill != 0 {
        let _ = writeln!(out, "  fill: {:#x}", raw.fill);
    }
    if !raw.patches.is_empty() {
        out.push_str("  patch:\n");
    }
    for patch in &raw.patches {
        let bytes = data_encoding::HEXLOWER.encode(&patch.bytes);
        let _ = writeln!(out, "    - {{at: {:#x}, bytes: {{hex: \"{bytes}\"}}}}", patch.at);
    }
    if let Some(size) = raw.truncate {
        let _ = writeln!(out, "  truncate: {size}");
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
    let compare = |at: u64, write: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
        let mut written = Written { origin, raw: file.raw, at, differs: None };
        write(&mut written)?;
        // What is cut off need not be there.
        Ok::<_, io::Error>(written.differs.filter(|at| file.raw.truncate.is_none_or(|end| *at < end)))
    };
    if let Some(at) = compare(0, &|out| file.write_flatbuffer(out))? {
        return Ok(Some(format!("the program differs from byte {at:#x} on")));
    }
    let length = origin.len()?;
    if Some(length) != file.size() {
        return Ok(Some(format!("the file has {length} bytes, the text makes {}", file.size().unwrap_or(u64::MAX))));
    }
    // Data that the text takes from the file itself are the same, unless they are changed in the end.
    let same = |blob: &Blob, start: u64| origin.is_range(blob, start) && !file.raw.touches(start, blob.len);
    for segment in file.segments {
        for piece in &segment.pieces {
            let start = file.placement.segment_base_offset + segment.offset + piece.offset;
            let blob = &file.blobs[piece.blob.0 as usize];
            if !same(blob, start) && compare(start, &|out| blob.copy_to(out))?.is_some() {
                return Ok(Some(format!("the data at byte {start:#x} differ")));
            }
        }
    }
    for (start, end) in gaps(file) {
        let zeros = Blob::new(end - start, Source::Repeat([0].into()));
        if let Some(at) = compare(start, &|out| zeros.copy_to(out))? {
            return Ok(Some(format!("the padding from byte {at:#x} on differs")));
        }
    }
    let end = file.placement.file_size;
    if let Some(append) = file.raw.append.as_ref().filter(|append| !same(append, end))
        && compare(end, &|out| append.copy_to(out))?.is_some()
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
    /// The first byte that is not the same.
    differs: Option<u64>,
}

impl Write for Written<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.differs.is_none() {
            let there = self.origin.len()?.saturating_sub(self.at).min(bytes.len() as u64);
            let expected = self.origin.range(self.at, there)?;
            let same = if self.raw.touches(self.at, bytes.len() as u64) {
                let mut changed = bytes.to_vec();
                self.raw.apply(self.at, &mut changed);
                common(&changed, &expected)
            } else {
                common(bytes, &expected)
            };
            self.differs = (same < bytes.len()).then(|| self.at + same as u64);
        }
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// So many bytes at the start are the same.
fn common(a: &[u8], b: &[u8]) -> usize {
    match a == b {
        true => a.len(),
        false => a.iter().zip(b).take_while(|(a, b)| a == b).count(),
    }
}
