//! The field overrides and patches under `raw:` with which YAML reproduces a malformed file: YAML with the same meaning is assembled,
//! and compared with the file field by field, then byte by byte.
//!
//! Only for files that their YAML does not reproduce without.

use std::io;

use super::layout;
use super::options::Printer;
use crate::assembly::{Assembly, OutputFile};
use crate::format::Table;
use crate::format::path::Path;
use crate::raw::fields::header_words;
use crate::raw::{FieldOverride, FileOverrides, OverrideValue, Patch, diff, residue};
use crate::data::Origin;

/// The search for the overrides that reproduce a file.
pub struct OverrideSearch<'l> {
    /// The file.
    pub origin: &'l Origin,
    /// Assembles the YAML.
    pub printer: Printer<'l>,
    /// The root table of the file's kind.
    pub root: &'static Table,
    /// How many odd bytes a text may patch.
    pub most: usize,
    /// The text with these lies.
    pub print: &'l dyn Fn(&FileOverrides) -> io::Result<String>,
    /// Which of the files that a text makes is the one.
    pub file: fn(&Assembly) -> Option<OutputFile<'_>>,
}

/// So many odd bytes beside what fields and header explain are a lie or two.
pub const FEW: usize = 64;

/// More than this are another file.
pub const MANY: usize = 4096;

/// Files up to so many bytes are compared as a whole, of larger ones the data are taken to be where the file says.
const SMALL: u64 = 1 << 20;

impl OverrideSearch<'_> {
    /// The text that gives the file back, if lies do it.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn text(&self) -> io::Result<Option<String>> {
        // First what decides where bytes are, then the bytes.
        let mut raw = FileOverrides::default();
        let Some(fields) = self.with_file(&raw, |file| {
            // What is left out makes a file shorter, what is forced longer; not by more than this.
            let most = file.emitted.placement.program_size.saturating_mul(2);
            let wanted = self.origin.range(0, most.min(self.origin.len()?))?;
            Ok(diff::differences(&wanted, file.emitted.flatbuffer, self.root))
        })?
        else {
            return Ok(None);
        };
        let numbered = fields.into_iter().zip(0..);
        raw.fields = numbered.map(|((path, value), number)| FieldOverride { number, path, value }).collect();
        let Some(bytes) = self.with_file(&raw, |file| self.bytes(file))? else { return Ok(None) };
        raw.fields.extend(bytes.fields);
        let raw = FileOverrides { fields: raw.fields, ..bytes };
        let same = self.with_file(&raw, |file| Ok(layout::difference(self.origin, file)?.is_none().then_some(())))?;
        if same.is_none() { Ok(None) } else { (self.print)(&raw).map(Some) }
    }

    /// What is found in the file that a text with these lies makes; `None` if it makes none.
    fn with_file<T>(&self, raw: &FileOverrides, find: impl FnOnce(&OutputFile<'_>) -> io::Result<Option<T>>) -> io::Result<Option<T>> {
        let Some(assembly) = (self.printer.assemble)(&(self.print)(raw)?, self.printer.folder) else { return Ok(None) };
        let Some(file) = (self.file)(&assembly) else { return Ok(None) };
        find(&file)
    }

    /// What of the bytes of a file is still to be changed: words of the frame, runs in the FlatBuffer, padding, the end.
    fn bytes(&self, file: &OutputFile<'_>) -> io::Result<Option<FileOverrides>> {
        let length = self.origin.len()?;
        let mut made = Vec::new();
        match file.emitted.placement.file_size {
            0..=SMALL => file.write(&mut made)?,
            _ => made = file.metadata(),
        }
        let wanted = self.origin.head(made.len() as u64)?;
        let header_end = 8 + file.emitted.placement.header.len();
        let mut raw = FileOverrides::default();
        for (name, at, size) in header_words(self.root) {
            let (Some(wanted), Some(is)) = (wanted.get(at..at + size), made.get(at..at + size)) else { continue };
            // A header that is not there has no words, and the root is where the header moves it.
            if wanted != is && at + size <= header_end {
                let text = matches!(name.as_str(), "identifier" | "header.magic");
                let value =
                    if text { OverrideValue::Bytes(wanted.to_vec()) } else { OverrideValue::Integer(number(wanted)) };
                let path = Path::parse(&name).map_err(io::Error::other)?;
                raw.fields.push(FieldOverride { number: raw.fields.len(), path, value });
                made[at..at + size].copy_from_slice(wanted);
            }
        }
        let (mut at, mut patched) = (0, 0);
        while at < wanted.len() {
            if wanted[at] == made[at] {
                at += 1;
                continue;
            }
            // Runs that are close are one.
            let mut end = at + 1;
            let mut last = at;
            while end < wanted.len() && end - last <= 4 {
                if wanted[end] != made[end] {
                    last = end;
                }
                end += 1;
            }
            raw.patches.push(Patch { at: at as u64, bytes: wanted[at..=last].to_vec() });
            patched += 1 + last - at;
            at = last + 1;
            if patched > self.most {
                return Ok(None);
            }
        }
        let around = residue::patches(self.origin, &file.emitted)?;
        raw.patches.extend(around.patches.into_iter().filter(|patch| patch.at >= made.len() as u64));
        raw.append = around.append;
        raw.truncate = Some(length).filter(|length| *length < file.emitted.placement.file_size);
        Ok(Some(raw))
    }
}

fn number(bytes: &[u8]) -> i128 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | i128::from(*byte))
}
