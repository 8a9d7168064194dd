//! Prints `layout:` and `raw:`, and compares an assembled file with the original.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::data::DataPrinter;
use super::options::Printer;
use crate::assembly::OutputFile;
use crate::ir::shape::raw;
use crate::ir::{write, yaml};
use crate::layout::LayoutConfig;
use crate::layout::options::OPTIONS;
use crate::overrides::residue::gaps;
use crate::overrides::{FieldOverride, FileOverrides};
use pte_model::data::Origin;
use pte_model::data::{Blob, BlobSource};
use pte_model::diagnostics::counted;
use pte_releases::Version;

/// Returns `runtime:`, `layout:` and `raw:`; an empty string if none is needed. `release` is that of an exporter whose
/// program has the layout besides `layout`.
///
/// # Errors
/// Data that cannot be read.
pub fn print_all(
    release: Option<Version>,
    layout: &LayoutConfig,
    raw: &FileOverrides,
    printer: Printer<'_>,
) -> io::Result<String> {
    let mut out = String::new();
    if let Some(Version { major, minor, .. }) = release {
        let _ = writeln!(out, "runtime: \"{major}.{minor}\"");
    }
    print(layout, &mut out);
    print_raw(raw, &mut out, &mut DataPrinter::new(printer.options, printer.readable, printer.extracted))?;
    Ok(out)
}

/// Appends `layout:` with the options that are not the default.
fn print(options: &LayoutConfig, out: &mut String) {
    let default = LayoutConfig::default();
    let mut lines = String::new();
    for option in OPTIONS {
        if let Some(value) = option.get(options).filter(|value| option.get(&default) != Some(*value)) {
            let _ = writeln!(lines, "  {}: {}", option.name, option.print(value));
        }
    }
    if !lines.is_empty() {
        out.push_str("layout:\n");
        out.push_str(&lines);
    }
}

/// Appends `raw:`, unless there are no overrides.
///
/// # Errors
/// Data that cannot be read or written.
fn print_raw(raw: &FileOverrides, out: &mut String, data: &mut DataPrinter<'_>) -> io::Result<()> {
    if raw.is_empty() {
        return Ok(());
    }
    out.push_str("raw:\n");
    if !raw.fields.is_empty() {
        out.push_str("  set:\n");
    }
    for FieldOverride { path, value, .. } in &raw.fields {
        let path = path.to_string();
        let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '@');
        let path = if path.chars().all(safe) { path } else { yaml::quoted(&path) };
        write::line(out, "    ", &path, value);
    }
    if raw.fill != 0 {
        let _ = writeln!(out, "  fill: {:#x}", raw.fill);
    }
    if !raw.patches.is_empty() {
        out.push_str("  patch:\n");
    }
    for patch in &raw.patches {
        let _ = writeln!(out, "    - {{at: {:#x}, bytes: {}}}", patch.at, yaml::hex(&patch.bytes));
    }
    write::line(out, "  ", raw::truncate, &raw.truncate);
    if let Some(append) = &raw.append {
        let append = data.bytes(append, "raw.append")?;
        write::line(out, "  ", raw::append, &append);
    }
    Ok(())
}

/// Returns the first difference between the original and the assembled file; `None` if they are equal.
///
/// # Errors
/// A file that cannot be read.
pub fn difference(origin: &Origin, file: &OutputFile<'_>) -> io::Result<Option<String>> {
    let compare = |at: u64, write: &dyn Fn(&mut dyn Write) -> io::Result<()>| {
        let mut written = FileComparison { origin, overrides: file.overrides, at, differs: None };
        write(&mut written)?;
        // Bytes after the truncation are not in the file.
        let end = file.overrides.and_then(|overrides| overrides.truncate);
        Ok::<_, io::Error>(written.differs.filter(|at| end.is_none_or(|end| *at < end)))
    };
    if let Some(at) = compare(0, &|out| out.write_all(&file.metadata()))? {
        return Ok(Some(format!("the metadata differ from byte {at:#x} on")));
    }
    let length = origin.len()?;
    if Some(length) != file.size() {
        let (expected, found) = (counted(length, "byte"), file.size().unwrap_or(u64::MAX));
        return Ok(Some(format!("expected {expected}, the assembled file has {found}")));
    }
    // Data that refer to the same range of the original are equal, unless a patch changes them.
    let same = |blob: &Blob, start: u64| {
        origin.is_range(blob, start) && file.overrides.is_none_or(|overrides| !overrides.touches(start, blob.len))
    };
    let emitted = &file.emitted;
    for segment in emitted.segments {
        for piece in &segment.pieces {
            let start = emitted.placement.segment_base_offset + segment.offset + piece.offset;
            let blob = &emitted.blobs[piece.blob.0 as usize];
            if !same(blob, start) && compare(start, &|out| blob.copy_to(out))?.is_some() {
                return Ok(Some(format!("the data at byte {start:#x} differ")));
            }
        }
    }
    for (start, end) in gaps(emitted) {
        let zeros = Blob::new(end - start, BlobSource::Repeat([0].into()));
        if let Some(at) = compare(start, &|out| zeros.copy_to(out))? {
            return Ok(Some(format!("the padding from byte {at:#x} on differs")));
        }
    }
    let end = emitted.placement.file_size;
    if let Some(append) =
        file.overrides.and_then(|overrides| overrides.append.as_ref()).filter(|append| !same(append, end))
        && compare(end, &|out| append.copy_to(out))?.is_some()
    {
        return Ok(Some("the appended bytes differ".into()));
    }
    Ok(None)
}

/// Compares the bytes that are written to it, with overrides applied, with the original from an offset on.
struct FileComparison<'w> {
    origin: &'w Origin,
    overrides: Option<&'w FileOverrides>,
    at: u64,
    /// Offset of the first difference.
    differs: Option<u64>,
}

impl Write for FileComparison<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.differs.is_none() {
            let there = self.origin.len()?.saturating_sub(self.at).min(bytes.len() as u64);
            // The emitted file may be longer than the original.
            let expected = if there == 0 { Vec::new() } else { self.origin.range(self.at, there)? };
            let same = match self.overrides.filter(|overrides| overrides.touches(self.at, bytes.len() as u64)) {
                Some(overrides) => {
                    let mut changed = bytes.to_vec();
                    overrides.patch(self.at, &mut changed);
                    common(&changed, &expected)
                }
                None => common(bytes, &expected),
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

/// Returns the length of the common prefix.
fn common(a: &[u8], b: &[u8]) -> usize {
    match a == b {
        true => a.len(),
        false => a.iter().zip(b).take_while(|(a, b)| a == b).count(),
    }
}
