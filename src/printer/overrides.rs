//! Finds the field overrides and patches under `raw:` with which YAML reproduces a malformed file. It assembles the
//! YAML without them, and compares the result with the file, first by fields, then by bytes.

use std::io;

use super::layout;
use super::options::Printer;
use crate::assembly::{Assembly, OutputFile};
use crate::layout::LayoutConfig;
use crate::overrides::fields::{header_words, is_text_word};
use crate::overrides::{FieldOverride, FileOverrides, OverrideValue, Patch, diff, residue};
use pte_model::data::Origin;
use pte_model::format::TableSchema;
use pte_model::format::path::FieldPath;

/// The search for the overrides that reproduce a file.
pub struct OverrideSearch<'l> {
    /// Original file.
    pub origin: &'l Origin,
    /// Assembles the YAML.
    pub printer: Printer<'l>,
    /// Root table of the format.
    pub root: &'static TableSchema,
    /// Maximum number of bytes in patches.
    pub most: usize,
    /// YAML without layout and overrides.
    pub body: &'l str,
    /// Layout of the file.
    pub layout: &'l LayoutConfig,
    /// Selects the assembled file to compare.
    pub file: fn(&Assembly) -> Option<OutputFile<'_>>,
}

/// Maximum number of bytes in patches of the first attempt.
pub const FEW: usize = 64;

/// Maximum number of bytes in patches of the last attempt.
pub const MANY: usize = 4096;

/// Size in bytes up to which a file is compared as a whole. Only the metadata of larger files are compared.
const SMALL: u64 = 1 << 20;

impl OverrideSearch<'_> {
    /// Returns the YAML that reproduces the file; `None` if no overrides were found.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn text(&self) -> io::Result<Option<String>> {
        // Fields come first because they determine the offsets of the bytes.
        let mut raw = FileOverrides::default();
        let Some(fields) = self.with_file(&raw, |file| {
            // Overrides change the size of the FlatBuffer by less than a factor of two.
            let most = file.emitted.placement.program_size.saturating_mul(2);
            let original = self.origin.range(0, most.min(self.origin.len()?))?;
            Ok(diff::differences(&original, file.emitted.flatbuffer, self.root))
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
        if same.is_none() { Ok(None) } else { self.yaml(&raw).map(Some) }
    }

    /// Returns the YAML with these overrides.
    fn yaml(&self, raw: &FileOverrides) -> io::Result<String> {
        Ok(self.body.to_owned() + &layout::print_all(None, self.layout, raw, self.printer)?)
    }

    /// Assembles the YAML with these overrides and calls `find` with the file; `None` if there are errors or no file.
    fn with_file<T>(
        &self,
        raw: &FileOverrides,
        find: impl FnOnce(&OutputFile<'_>) -> io::Result<Option<T>>,
    ) -> io::Result<Option<T>> {
        let Ok(assembly) = self.printer.assemble(&self.yaml(raw)?) else { return Ok(None) };
        let Some(file) = (self.file)(&assembly) else { return Ok(None) };
        find(&file)
    }

    /// Returns the overrides for the remaining differences: header fields, runs of bytes in the FlatBuffer, padding,
    /// the end.
    fn bytes(&self, file: &OutputFile<'_>) -> io::Result<Option<FileOverrides>> {
        let length = self.origin.len()?;
        let mut assembled = Vec::new();
        match file.emitted.placement.file_size {
            0..=SMALL => file.write(&mut assembled)?,
            _ => assembled = file.metadata(),
        }
        let original = self.origin.head(assembled.len() as u64)?;
        let header_end = 8 + file.emitted.placement.header.len();
        let mut raw = FileOverrides::default();
        for (name, at, size) in header_words(self.root) {
            let (Some(original), Some(word)) = (original.get(at..at + size), assembled.get(at..at + size)) else {
                continue;
            };
            // A file without a header has no header fields. The root offset is a field override of its own.
            if original != word && at + size <= header_end {
                let path = FieldPath::parse(&name).map_err(io::Error::other)?;
                let value = if is_text_word(&path) {
                    OverrideValue::Bytes(original.to_vec())
                } else {
                    OverrideValue::Integer(number(original))
                };
                raw.fields.push(FieldOverride { number: raw.fields.len(), path, value });
                assembled[at..at + size].copy_from_slice(original);
            }
        }
        let (mut at, mut patched) = (0, 0);
        while at < original.len() {
            if original[at] == assembled[at] {
                at += 1;
                continue;
            }
            // Merge runs that are at most 4 bytes apart.
            let mut end = at + 1;
            let mut last = at;
            while end < original.len() && end - last <= 4 {
                if original[end] != assembled[end] {
                    last = end;
                }
                end += 1;
            }
            raw.patches.push(Patch { at: at as u64, bytes: original[at..=last].to_vec() });
            patched += 1 + last - at;
            at = last + 1;
            if patched > self.most {
                return Ok(None);
            }
        }
        let around = residue::patches(self.origin, &file.emitted)?;
        raw.patches.extend(around.patches.into_iter().filter(|patch| patch.at >= assembled.len() as u64));
        raw.append = around.append;
        raw.truncate = Some(length).filter(|length| *length < file.emitted.placement.file_size);
        Ok(Some(raw))
    }
}

fn number(bytes: &[u8]) -> i128 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | i128::from(*byte))
}
