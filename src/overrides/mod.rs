//! Field overrides and patches: changes of a finished file, to build malformed files for testing loaders.
//!
//! ```text
//! field overrides --path--> encodings for the emitter --emit--> FlatBuffer --> patches of the finished file
//! ```
//!
//! This is an optional last stage; files without overrides skip it. Nothing is recomputed: an overridden offset stays
//! as it is. An override that changes the size of the FlatBuffer (a present field with its default, an absent field) is
//! a parameter of the emitter; every other override replaces bytes.

pub mod apply;
pub mod diff;
pub mod fields;
pub mod payload;
pub mod residue;
pub mod stream;
pub mod walker;

use pte_model::data::Blob;
use pte_model::format::path::FieldPath;

/// Overrides of one file, applied in this order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileOverrides {
    /// Overrides of fields of the header and of the FlatBuffer.
    pub fields: Vec<FieldOverride>,
    /// Value of the padding bytes around the segments.
    pub fill: u8,
    /// Patches in order: later ones overwrite earlier ones.
    pub patches: Vec<Patch>,
    /// Length in bytes to which the file is truncated.
    pub truncate: Option<u64>,
    /// Bytes appended after the end, or after the truncation.
    pub append: Option<Blob>,
}

/// Overrides of all files of one source.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// Overrides of the `.pte`, or of the `.ptd` of a source without methods.
    pub main: FileOverrides,
    /// Overrides of the first `.ptd` of a source with methods.
    pub ptd: FileOverrides,
    /// Overrides of the `.bpte` around a program.
    pub bpte: FileOverrides,
}

impl Overrides {
    /// Returns the total size in bytes of the data that overwrite fields or are appended.
    pub fn size(&self) -> u64 {
        let files = [&self.main, &self.ptd, &self.bpte];
        let sizes = files.into_iter().flat_map(|file| {
            let fields = file.fields.iter().map(|field| match &field.value {
                OverrideValue::Bytes(bytes) => bytes.len() as u64,
                OverrideValue::Text(text) => text.len() as u64,
                OverrideValue::Integer(_)
                | OverrideValue::Float(_)
                | OverrideValue::Absent
                | OverrideValue::Null
                | OverrideValue::Empty
                | OverrideValue::SameAs(_) => 0,
            });
            let patches = file.patches.iter().map(|patch| patch.bytes.len() as u64);
            fields.chain(patches).chain(file.append.as_ref().map(|append| append.len))
        });
        sizes.fold(0, u64::saturating_add)
    }
}

/// A field and its new content.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldOverride {
    /// Index of the override in the source.
    pub number: usize,
    /// Path of the field.
    pub path: FieldPath,
    /// New content.
    pub value: OverrideValue,
}

/// The new content of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum OverrideValue {
    /// An integer that fits the width of the field, signed or unsigned.
    Integer(i128),
    /// A floating point number.
    Float(f64),
    /// The field is absent from its table.
    Absent,
    /// An offset of zero.
    Null,
    /// A vector or a string without items.
    Empty,
    /// The offset of the target of another field.
    SameAs(FieldPath),
    /// New text of the same length for a string, a vector of bytes, or the identifier or the magic in the header.
    Text(String),
    /// Bytes that overwrite a number, a string, the items of a vector, or a table, from the first byte on.
    Bytes(Vec<u8>),
}

/// Bytes that are overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// Offset from the start of the file.
    pub at: u64,
    /// The new bytes.
    pub bytes: Vec<u8>,
}

impl Patch {
    /// Returns the offset of the end; `None` beyond `u64`.
    pub fn end(&self) -> Option<u64> {
        self.at.checked_add(self.bytes.len() as u64)
    }
}

impl FileOverrides {
    /// Returns `true` if nothing is overridden.
    pub fn is_empty(&self) -> bool {
        *self == FileOverrides::default()
    }

    /// Returns the size of a file that has `size` bytes without overrides; `None` beyond `u64`.
    pub fn size(&self, size: u64) -> Option<u64> {
        let kept = self.truncate.map_or(size, |end| end.min(size));
        kept.checked_add(self.append.as_ref().map_or(0, |append| append.len))
    }

    /// Applies the patches to bytes that begin at offset `start` of the file.
    pub fn patch(&self, start: u64, bytes: &mut [u8]) {
        for patch in &self.patches {
            // The part of the patch that is in these bytes.
            let skip = start.saturating_sub(patch.at).min(patch.bytes.len() as u64) as usize;
            let at = patch.at.saturating_sub(start).min(bytes.len() as u64) as usize;
            bytes[at..].iter_mut().zip(&patch.bytes[skip..]).for_each(|(byte, patched)| *byte = *patched);
        }
    }

    /// Returns `true` if a patch overlaps `len` bytes from offset `start` on.
    pub fn touches(&self, start: u64, len: u64) -> bool {
        self.patches
            .iter()
            .any(|patch| patch.at < start.saturating_add(len) && patch.end().is_some_and(|end| end > start))
    }
}
