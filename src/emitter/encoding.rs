//! Encodings of single fields that differ from the default: absent, present with the default value, null offset, empty
//! vector.
//!
//! It is a parameter of the emitter that the field overrides of `raw:` determine.

use std::collections::HashMap;

/// Non-default encodings by table, numbered in the order of writing, and slot.
#[derive(Default)]
pub struct FieldEncodings(HashMap<u32, Vec<(u16, FieldEncoding)>>);

/// Encoding of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldEncoding {
    /// Absent from its table.
    Absent,
    /// Present, although it has the default value.
    Present,
    /// An offset of zero.
    Null,
    /// An offset to an empty vector or string.
    Empty,
}

impl FieldEncodings {
    /// Adds a field of a table.
    pub fn add(&mut self, table: u32, slot: u16, encoding: FieldEncoding) {
        self.0.entry(table).or_default().push((slot, encoding));
    }

    /// Returns the fields of a table.
    pub fn table(&self, number: u32) -> &[(u16, FieldEncoding)] {
        self.0.get(&number).map_or(&[], Vec::as_slice)
    }

    /// Returns true if all fields have the default encoding.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
