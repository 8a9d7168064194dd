//! Content of a FlatBuffer by a schema: a tree whose types are those of the schema, without offsets.

use std::fmt;

use pte_model::data::Blob;

/// A table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Table {
    /// Fields that are present, ascending by slot.
    pub fields: Vec<(u16, Value)>,
    /// Fields that the schema does not have, ascending by slot.
    pub unknown: Vec<UnknownField>,
}

/// Value of a field. Numbers are little-endian, and their type is that of the schema.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Bits of a number.
    Number(u64),
    /// A string.
    Text(String),
    /// A table.
    Table(Table),
    /// Bytes of a struct.
    Struct(Vec<u8>),
    /// A member of a union: its tag and its table.
    Union(u8, Table),
    /// Bytes of the numbers of a vector, which may be a part of the payload.
    Numbers(Blob),
    /// A vector of strings.
    Texts(Vec<String>),
    /// A vector of tables.
    Tables(Vec<Table>),
    /// Bytes of the structs of a vector.
    Structs(Vec<u8>),
}

/// A field that the schema does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownField {
    /// Slot.
    pub slot: u16,
    /// The bytes of a number: 1, 2, 4 or 8.
    pub bytes: Vec<u8>,
}

/// An error in a FlatBuffer, or in what is written as one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlatError {
    /// Path in the schema, such as `Graph.nodes[3].kind`.
    pub path: String,
    /// Offset in the FlatBuffer of what was read.
    pub at: Option<usize>,
    /// What was found, and what was expected.
    pub message: String,
}

impl fmt::Display for FlatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)?;
        match self.at {
            Some(at) => write!(f, " (at byte {at:#x})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for FlatError {}

/// Returns a path: the name of the root table, and fields, each with its position in a vector.
pub fn path(root: &str, fields: &[(impl AsRef<str>, Option<usize>)]) -> String {
    fields.iter().fold(root.to_owned(), |path, (field, position)| match position {
        Some(position) => format!("{path}.{}[{position}]", field.as_ref()),
        None => format!("{path}.{}", field.as_ref()),
    })
}

impl Table {
    /// Returns the value of a slot.
    pub fn get(&self, slot: u16) -> Option<&Value> {
        let position = self.fields.binary_search_by_key(&slot, |(slot, _)| *slot).ok()?;
        Some(&self.fields[position].1)
    }
}
