//! Parts of a FlatBuffer that the slot tables do not have, because a newer schema added them: fields of known tables,
//! and members of unions with everything that they refer to.
//!
//! Their types are unknown, so their bytes are kept as they are. Only two things change when the bytes are written
//! again: an offset to another object, and the offset of a table to its vtable. [`super::flatbuffer::unknown`] finds
//! them, `pte-emit` writes them.

use std::fmt;

use super::flatbuffer::FieldEnds;
use super::path::SchemaStep;
use super::{Kind, TableSchema};

/// A step from a table to another one: a slot, and the index of an item if the slot has a vector of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TableStep {
    /// Slot.
    pub slot: u16,
    /// Index of the item.
    pub item: Option<u32>,
}

/// An object whose bytes are kept: a table with unknown fields, or an object that only unknown fields refer to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnknownObject {
    /// Distance in bytes from its start to the end of the FlatBuffer. Modulo [`ALIGNMENT`], it stays the same in
    /// another FlatBuffer.
    pub end: u32,
    /// Of a table: its size in bytes, and the offset of the field of each slot, 0 if it is absent. Empty for other
    /// objects.
    pub vtable: Vec<u16>,
    /// Bytes, with zeros for references, for the offset to the vtable, and for known fields.
    pub bytes: Vec<u8>,
    /// Offsets to other objects: position in `bytes`, and index in [`UnknownParts::objects`].
    pub references: Vec<(u32, u32)>,
}

/// Alignment in bytes that unknown objects keep: at least that of every scalar.
pub const ALIGNMENT: u32 = 16;

/// Maximum size in bytes of a table with unknown fields; a vtable cannot express more than 65535.
pub const MAX_TABLE: usize = 65000;

/// A table of the schema with unknown fields, or with an unknown member of a union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownTable {
    /// Path from the root table.
    pub path: Vec<TableStep>,
    /// Name of the table in the schema.
    pub name: &'static str,
    /// Its bytes.
    pub object: UnknownObject,
}

impl UnknownTable {
    /// Returns the path by the names of the schema.
    pub fn steps(&self, root: &'static TableSchema) -> Vec<SchemaStep> {
        let mut steps = Vec::with_capacity(2 * self.path.len());
        let mut tables: &[&TableSchema] = &[root];
        for step in &self.path {
            let fields = tables.iter().filter_map(|table| table.fields.get(usize::from(step.slot)));
            // Members of a union that have no such table are not meant.
            let Some((field, next)) = fields.into_iter().find_map(|field| Some((field, targets(&field.kind)?))) else {
                break;
            };
            steps.push(SchemaStep::Field(field.name));
            steps.extend(step.item.map(|item| SchemaStep::Item(item as usize)));
            tables = next;
        }
        steps
    }

    /// Returns the slots with content that the schema does not have.
    pub fn slots(&self, schema: &TableSchema) -> Vec<(u16, SlotBytes<'_>)> {
        let (size, entries) = self.object.vtable.split_first().unwrap_or((&0, &[]));
        let ends = FieldEnds::of(entries.iter().copied(), *size);
        let reference = |entry: u16| {
            let found = self.object.references.iter().find(|(position, _)| *position == u32::from(entry));
            found.map(|(_, id)| *id)
        };
        let content = |entry: u16| match reference(entry) {
            Some(id) => SlotBytes::Object(id),
            None => {
                let end = ends.after(entry).unwrap_or(*size).into();
                let bytes = self.object.bytes.get(entry.into()..end).unwrap_or_default();
                let zeros = bytes.iter().rev().take_while(|byte| **byte == 0).count();
                SlotBytes::Inline(&bytes[..(bytes.len() - zeros).max(bytes.len().min(1))])
            }
        };
        let is_unknown = |slot: u16, entry: u16| usize::from(slot) >= schema.fields.len() || reference(entry).is_some();
        let slots = (0u16..).zip(entries).filter(|(slot, entry)| **entry > 0 && is_unknown(*slot, **entry));
        slots.map(|(slot, entry)| (slot, content(*entry))).collect()
    }
}

/// Content of an unknown slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlotBytes<'t> {
    /// Bytes in the table, without zeros at the end, which may be padding.
    Inline(&'t [u8]),
    /// Index of an object.
    Object(u32),
}

/// Returns the tables that a field may lead to; `None` if it leads to none.
pub fn targets(kind: &'static Kind) -> Option<&'static [&'static TableSchema]> {
    match kind {
        Kind::Table(table) | Kind::Tables(table) => Some(std::slice::from_ref(table)),
        Kind::Union(members) => Some(members),
        Kind::Bool
        | Kind::Byte
        | Kind::Enum(_)
        | Kind::UnionTag
        | Kind::Short
        | Kind::Int
        | Kind::UInt
        | Kind::Long
        | Kind::ULong
        | Kind::Float
        | Kind::Double
        | Kind::Text
        | Kind::Bytes
        | Kind::AlignedBytes(_)
        | Kind::Bools
        | Kind::UShorts
        | Kind::Ints
        | Kind::UInts
        | Kind::Longs
        | Kind::ULongs
        | Kind::Floats
        | Kind::Doubles => None,
    }
}

/// Returns the table with a name that `root` leads to.
pub fn table_named(root: &'static TableSchema, name: &str) -> Option<&'static TableSchema> {
    let (mut open, mut seen) = (vec![root], Vec::new());
    while let Some(table) = open.pop() {
        if table.name == name {
            return Some(table);
        }
        if !seen.contains(&table.name) {
            seen.push(table.name);
            open.extend(table.fields.iter().filter_map(|field| targets(&field.kind)).flatten());
        }
    }
    None
}

/// The unknown parts of a FlatBuffer.
///
/// ```
/// use pte_model::format::program::PROGRAM;
/// use pte_model::format::flatbuffer::unknown;
///
/// assert!(unknown::find(pte_model::LINEAR_PTE, &PROGRAM, 40).unwrap().is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnknownParts {
    /// Tables of the schema with unknown parts.
    pub tables: Vec<UnknownTable>,
    /// Objects that only unknown parts refer to, the last one of the file first. References lead to earlier ones.
    pub objects: Vec<UnknownObject>,
    /// Distance in bytes from the root table to the end of the FlatBuffer.
    pub root_end: u32,
    /// The parts can only be written at the offsets that they have: a word in them may be an offset or a number, or
    /// bytes of the FlatBuffer belong to none of them.
    pub is_fixed: bool,
}

impl UnknownParts {
    /// Returns true if every part is known.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
}

/// Bytes as hexadecimal digits; at most 32 are shown.
pub struct ShownBytes<'b>(pub &'b [u8]);

impl fmt::Display for ShownBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, byte) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{byte:02x}", if position == 0 { "" } else { " " })?;
        }
        if self.0.len() > SHOWN { f.write_str(" ...") } else { Ok(()) }
    }
}

/// Number of bytes in messages.
const SHOWN: usize = 32;
