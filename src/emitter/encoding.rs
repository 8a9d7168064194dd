//! What the emitter does to single fields against its defaults: leave one out, write a default, a null offset, an empty vector.
//!
//! A plain parameter of emitting. Files without field overrides have none; who fills it is not known here.

use std::collections::HashMap;

/// Fields that are encoded otherwise than by default: by the number of their table in the order of writing, and by slot.
#[derive(Debug, Default)]
pub struct FieldEncodings(HashMap<u32, Vec<(u16, FieldEncoding)>>);

/// The encoding of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldEncoding {
    /// Left out of its table.
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

    /// The fields of a table.
    pub fn table(&self, number: u32) -> &[(u16, FieldEncoding)] {
        self.0.get(&number).map_or(&[], Vec::as_slice)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
