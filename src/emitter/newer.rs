//! Parts of a newer schema in an emitted FlatBuffer: the tables that have them, and the objects that only they refer
//! to.
//!
//! [`super::flatbuffer::Writer`] writes them. Tables are numbered in the order of writing, and the parts have paths; a
//! FlatBuffer without the parts relates both.

use std::collections::HashMap;
use std::io;

use pte_model::format::TableSchema;
use pte_model::format::flatbuffer::{ObjectKind, Vtable, fields, follow, u32_at};
use pte_model::format::unknown::{TableStep, UnknownObject, UnknownParts, UnknownTable};
use pte_model::program::Program;

/// The unknown parts of a FlatBuffer that is being written.
pub struct NewerWriter<'p> {
    parts: &'p UnknownParts,
    /// Tables with unknown parts, by number.
    tables: HashMap<u32, &'p UnknownObject>,
    /// Offset from the end of each object that is written.
    offsets: Vec<Option<u32>>,
    /// An object has another offset than before.
    pub has_moved: bool,
}

impl<'p> NewerWriter<'p> {
    /// Finds the tables in the FlatBuffer of the program without its unknown parts, with the offsets of its tables from
    /// the end.
    ///
    /// # Errors
    /// A part without a table.
    pub fn new(
        program: &'p Program,
        parts: &'p UnknownParts,
        (plain, numbers): (&[u8], &[u32]),
        root: &'static TableSchema,
    ) -> io::Result<NewerWriter<'p>> {
        let numbers: HashMap<usize, u32> =
            numbers.iter().zip(0..).map(|(end, number)| (plain.len() - *end as usize, number)).collect();
        let mut tables = HashMap::with_capacity(parts.tables.len());
        for table in &parts.tables {
            let number = table_at(plain, root, &table.path).filter(|(_, schema)| schema.name == table.name);
            let Some(number) = number.and_then(|(at, _)| numbers.get(&at)) else {
                return Err(io::Error::other(lost(program, table, root)));
            };
            tables.insert(*number, &table.object);
        }
        Ok(NewerWriter { parts, tables, offsets: vec![None; parts.objects.len()], has_moved: false })
    }

    /// Returns the object of the table with a number; `None` if all of it is known.
    pub fn table(&self, number: u32) -> Option<&'p UnknownObject> {
        self.tables.get(&number).copied()
    }

    /// Returns an object by its index.
    pub fn object(&self, id: u32) -> &'p UnknownObject {
        &self.parts.objects[id as usize]
    }

    /// Returns the objects that an object needs and that are not written, in the order of writing.
    pub fn missing(&self, object: &UnknownObject) -> Vec<u32> {
        let is_missing = |id: &u32| self.offsets.get(*id as usize) == Some(&None);
        let targets = |object: &UnknownObject| object.references.iter().map(|(_, id)| *id).collect::<Vec<u32>>();
        let mut open: Vec<u32> = targets(object).into_iter().filter(is_missing).collect();
        let mut missing = std::collections::BTreeSet::new();
        while let Some(id) = open.pop() {
            if missing.insert(id) {
                open.extend(targets(self.object(id)).into_iter().filter(is_missing));
            }
        }
        missing.into_iter().collect()
    }

    /// Returns the references of an object: positions, and offsets of the targets from the end.
    pub fn offsets(&self, object: &UnknownObject) -> Vec<(u32, u32)> {
        let offset = |(position, id): &(u32, u32)| Some((*position, (*self.offsets.get(*id as usize)?)?));
        object.references.iter().filter_map(offset).collect()
    }

    /// Records the offset from the end of an object.
    pub fn set_offset(&mut self, id: u32, offset: u32) {
        self.offsets[id as usize] = Some(offset);
    }

    /// Returns true if parts that cannot be moved have moved. `root` is the offset from the end of the root table.
    pub fn is_moved(&self, root: u32) -> bool {
        self.parts.is_fixed && (self.has_moved || root != self.parts.root_end)
    }
}

/// Returns offset and type of the table at a path.
fn table_at(bytes: &[u8], root: &'static TableSchema, path: &[TableStep]) -> Option<(usize, &'static TableSchema)> {
    let (mut at, mut schema) = (follow(bytes, 0)?, root);
    for step in path {
        let entries = Vtable::of(bytes, at)?.entries(bytes);
        let field = fields(bytes, at, entries, schema).find(|field| field.slot == usize::from(step.slot))?;
        let target = follow(bytes, at + field.offset)?;
        (at, schema) = match (field.object()?, step.item) {
            (ObjectKind::Table(table), None) => (target, table),
            (ObjectKind::Tables(table), Some(item)) if item < u32_at(bytes, target)? => {
                (follow(bytes, target + 4 + 4 * item as usize)?, table)
            }
            _ => return None,
        };
    }
    Some((at, schema))
}

/// Message about a part whose table the program does not have.
fn lost(program: &Program, table: &UnknownTable, root: &'static TableSchema) -> String {
    let path = program.path_of(table, root);
    format!("`{path}` has parts of a newer schema, but is no {} any more: they would be lost", table.name)
}
