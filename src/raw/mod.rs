//! Field overrides and patches: what a file is made to hold after everything is laid out, so that loaders can be tested with
//! malformed files.
//!
//! ```text
//! field overrides --path--> encodings for the emitter --emit--> FlatBuffer --> patches of the finished file
//! ```
//!
//! An optional last stage: a file without overrides does not pass through it. Nothing is recomputed: an override of an offset gives
//! a file whose offset is wrong. What needs room in the FlatBuffer (a field that would be left out) or a vtable of its own (one that
//! is to be left out) is a parameter of the emitter; everything else overwrites a few bytes.

pub mod apply;
pub mod diff;
pub mod fields;
pub mod residue;
pub mod stream;
pub mod walker;

use crate::data::Blob;
use crate::format::path::Path;

/// Overrides of one file, applied in this order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FileOverrides {
    /// Fields of the header and of the FlatBuffer, and their new contents.
    pub fields: Vec<FieldOverride>,
    /// The byte that padding around the segments consists of.
    pub fill: u8,
    /// Bytes that are overwritten; later patches win.
    pub patches: Vec<Patch>,
    /// Length in bytes to which the file is truncated.
    pub truncate: Option<u64>,
    /// Bytes behind the end.
    pub append: Option<Blob>,
}

/// Overrides of all files of one source.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overrides {
    /// Of the `.pte`; of a source without methods of its `.ptd`.
    pub main: FileOverrides,
    /// Of the first `.ptd` beside a program.
    pub ptd: FileOverrides,
    /// Of the `.bpte` around a program.
    pub bpte: FileOverrides,
}

/// A field and its new content.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldOverride {
    /// Number of the override in the source.
    pub number: usize,
    /// The field.
    pub path: Path,
    /// Its content.
    pub value: OverrideValue,
}

/// The new content of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum OverrideValue {
    /// An integer that fits the width of the field, signed or unsigned.
    Integer(i128),
    /// A floating point number.
    Float(f64),
    /// The field is left out of its table.
    Absent,
    /// An offset of zero.
    Null,
    /// A vector or a string without items.
    Empty,
    /// The offset leads to the target of another field.
    SameAs(Path),
    /// Bytes, from the first one on of a number, a string, the items of a vector or a table.
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
    /// Offset of the first byte behind it; `None` beyond `u64`.
    pub fn end(&self) -> Option<u64> {
        self.at.checked_add(self.bytes.len() as u64)
    }
}

impl FileOverrides {
    /// Whether nothing is overridden.
    pub fn is_empty(&self) -> bool {
        *self == FileOverrides::default()
    }

    /// Bytes of a file that has `size` without overrides; `None` beyond `u64`.
    pub fn size(&self, size: u64) -> Option<u64> {
        let kept = self.truncate.map_or(size, |end| end.min(size));
        kept.checked_add(self.append.as_ref().map_or(0, |append| append.len))
    }

    /// Patches bytes that begin at offset `start` of the file.
    pub fn patch(&self, start: u64, bytes: &mut [u8]) {
        for patch in &self.patches {
            // The part of the patch that is in these bytes.
            let skip = start.saturating_sub(patch.at).min(patch.bytes.len() as u64) as usize;
            let at = patch.at.saturating_sub(start).min(bytes.len() as u64) as usize;
            bytes[at..].iter_mut().zip(&patch.bytes[skip..]).for_each(|(byte, patched)| *byte = *patched);
        }
    }

    /// Whether a patch overwrites some of these bytes.
    pub fn touches(&self, start: u64, len: u64) -> bool {
        self.patches
            .iter()
            .any(|patch| patch.at < start.saturating_add(len) && patch.end().is_some_and(|end| end > start))
    }
}
