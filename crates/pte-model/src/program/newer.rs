//! Parts of a newer schema in a program. They are found by the positions of the tables that have them, so that they are
//! lost, or belong to other elements, once a change of the program moves these.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::element::ProgramMethods;
use super::{ExecutionPlan, FieldReference, Instruction, Memory, Program, Tensor};
use crate::diagnostics::{clipped, counted, first_names};
use crate::format::path::{self, FieldPath, PathStep};
use crate::format::program::{CHAIN, EXECUTION_PLAN, PROGRAM, execution_plan};
use crate::format::unknown::{
    ShownBytes, SlotBytes, TableStep, UnknownObject, UnknownParts, UnknownTable, table_named, targets,
};
use crate::format::{Kind, TableSchema};

/// Parts of a newer schema, and the structure of the program that they belong to.
#[derive(Debug, Clone, PartialEq)]
pub struct NewerParts {
    /// Unknown fields and union members, with their bytes.
    pub parts: UnknownParts,
    /// Digest of the structure of each method, and of the keys of named data.
    structure: (Vec<u64>, u64),
}

/// A slot with content that the schema does not have.
#[derive(Debug)]
pub struct NewerSlot<'p> {
    /// Path of the table.
    pub path: String,
    /// Name of the table.
    pub table: &'static str,
    /// Slot.
    pub slot: u16,
    /// Content.
    pub content: SlotBytes<'p>,
}

impl Program {
    /// Sets the parts of a newer schema, by their positions in this program.
    #[doc(hidden)]
    pub fn set_newer_parts(&mut self, parts: UnknownParts) {
        let structure = structure(self);
        self.newer = (!parts.is_empty()).then(|| Box::new(NewerParts { parts, structure }));
    }

    /// Returns the parts of a newer schema; `None` if there are none.
    ///
    /// ```
    /// use pte_model::data::Origin;
    /// use pte_model::reader;
    ///
    /// let program = reader::program::read(&Origin::Bytes(pte_model::LINEAR_PTE.into()))?.program;
    /// assert_eq!(program.newer_parts(), None);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(hidden)]
    pub fn newer_parts(&self) -> Option<&UnknownParts> {
        self.newer.as_ref().map(|newer| &newer.parts)
    }

    /// Returns the slots with content that the schema does not have.
    #[doc(hidden)]
    pub fn newer_slots(&self) -> impl Iterator<Item = NewerSlot<'_>> {
        let tables = self.newer_parts().map_or(&[][..], |parts| &parts.tables);
        tables.iter().flat_map(|table| {
            let path = self.path_of(table, &PROGRAM);
            let slots = table_named(&PROGRAM, table.name).map(|schema| table.slots(schema)).unwrap_or_default();
            let slot = move |(slot, content)| NewerSlot { path: path.clone(), table: table.name, slot, content };
            slots.into_iter().map(slot)
        })
    }

    /// Returns the paths of the tables with parts of a newer schema, for a message.
    #[doc(hidden)]
    pub fn newer_paths(&self) -> String {
        let tables = self.newer_parts().map_or(&[][..], |parts| &parts.tables);
        let paths: Vec<String> = tables.iter().map(|table| self.path_of(table, &PROGRAM)).collect();
        first_names(paths.iter().map(String::as_str))
    }

    /// Returns true if the elements with parts of a newer schema are where they were. Methods may have been added after
    /// them.
    #[doc(hidden)]
    pub fn keeps_newer_parts(&self) -> bool {
        self.newer.as_ref().is_none_or(|newer| {
            let (methods, named_data) = structure(self);
            methods.starts_with(&newer.structure.0) && named_data == newer.structure.1
        })
    }
}

impl Program {
    /// Returns the path of a table, as findings have it: `methods.forward.instructions[3].instr_args`, `the program`
    /// for the root.
    #[doc(hidden)]
    pub fn path_of(&self, table: &UnknownTable, root: &'static TableSchema) -> String {
        if table.path.is_empty() {
            return "the program".to_owned();
        }
        let mut out = Vec::new();
        path::write(&table.steps(root), false, &ProgramMethods(self), &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// Returns the steps of a path that [`Program::path_of`] returns.
    ///
    /// # Errors
    /// A message about the first step that does not lead to a table.
    #[doc(hidden)]
    pub fn table_at(&self, path: &FieldPath, root: &'static TableSchema) -> Result<Vec<TableStep>, String> {
        let mut steps = Vec::new();
        let mut tables: &[&'static TableSchema] = &[root];
        let mut names = path.0.iter().peekable();
        while let Some(step) = names.next() {
            let PathStep::Name(name) = step else { return Err(format!("expected a name, found {step:?}")) };
            let name = match name.as_str() {
                "methods" if steps.is_empty() => "execution_plan",
                "instructions" | "stacktrace" if tables.iter().any(|table| table.name == EXECUTION_PLAN.name) => {
                    steps.push(TableStep { slot: execution_plan::chains, item: Some(0) });
                    tables = &CHAINS;
                    name
                }
                name => name,
            };
            // Paths may leave out the step into a union.
            if find(tables, name).is_none()
                && let Some((slot, kind)) = tables.iter().find_map(|table| union(table))
            {
                steps.push(TableStep { slot, item: None });
                tables = targets(kind).unwrap_or_default();
            }
            let Some((slot, kind)) = find(tables, name) else { return Err(format!("there is no table `{name}`")) };
            let item = match (kind, names.peek()) {
                (Kind::Tables(_), Some(PathStep::Index(index))) => u32::try_from(*index).ok(),
                (Kind::Tables(_), Some(PathStep::Name(method))) if steps.is_empty() => {
                    let mut plans = self.plans().iter();
                    plans
                        .position(|plan| plan.name.as_ref() == Some(method))
                        .and_then(|index| u32::try_from(index).ok())
                }
                _ => None,
            };
            if let Kind::Tables(_) = kind {
                names.next();
                item.ok_or_else(|| format!("expected an item of `{name}`"))?;
            }
            steps.push(TableStep { slot, item });
            tables = targets(kind).unwrap_or_default();
        }
        Ok(steps)
    }
}

impl UnknownObject {
    /// Returns a description of the bytes.
    pub fn kind(&self) -> String {
        let count = self.bytes.first_chunk().map_or(0, |count| u32::from_le_bytes(*count)) as usize;
        let end = count.saturating_add(4);
        let text = self.bytes.get(4..end).and_then(|bytes| std::str::from_utf8(bytes).ok());
        let text =
            text.filter(|text| !text.is_empty() && !text.contains(char::is_control) && self.bytes.get(end) == Some(&0));
        match text {
            _ if !self.vtable.is_empty() => format!("a table of {}", counted(self.vtable.len() as u64 - 1, "slot")),
            _ if !self.references.is_empty() => format!("a vector of {}", counted(count as u64, "offset")),
            Some(text) => format!("the string {:?}", clipped(text)),
            None => format!("a vector of {}", counted(count as u64, "item")),
        }
    }
}

impl UnknownParts {
    /// Returns a description of the content of a slot.
    pub fn describe(&self, content: SlotBytes<'_>) -> String {
        match content {
            SlotBytes::Inline(bytes) => ShownBytes(bytes).to_string(),
            SlotBytes::Object(id) => {
                let kind = self.objects.get(id as usize).map_or(String::new(), UnknownObject::kind);
                format!("object {id}, {kind}")
            }
        }
    }
}

/// Type of the items of the field that some paths leave out.
static CHAINS: [&TableSchema; 1] = [&CHAIN];

/// Returns slot and kind of the field with a name that leads to tables, of the first table that has one.
fn find(tables: &[&'static TableSchema], name: &str) -> Option<(u16, &'static Kind)> {
    tables.iter().find_map(|table| {
        let fields = (0u16..).zip(table.fields);
        let mut found = fields.filter(|(_, field)| field.name == name && targets(&field.kind).is_some());
        found.next().map(|(slot, field)| (slot, &field.kind))
    })
}

/// Returns slot and kind of the value of the union of a table.
fn union(table: &'static TableSchema) -> Option<(u16, &'static Kind)> {
    let mut fields = (0u16..).zip(table.fields);
    fields.find(|(_, field)| matches!(field.kind, Kind::Union(_))).map(|(slot, field)| (slot, &field.kind))
}

impl ExecutionPlan {
    /// Returns true if an instruction is of a newer schema, so that its reads and writes are unknown.
    #[doc(hidden)]
    pub fn has_unknown_instruction(&self) -> bool {
        self.instructions().any(|instruction| matches!(instruction, Instruction::Unknown { .. }))
    }
}

impl ExecutionPlan {
    /// Returns false if no planner can place the tensors: an instruction reads and writes unknown values, or the size
    /// of a tensor in planned memory is unknown, because its element type is.
    #[doc(hidden)]
    pub fn can_be_planned(&self) -> bool {
        let is_known = |tensor: &Tensor| tensor.memory == Memory::None || tensor.scalar_type.info().is_some();
        !self.has_unknown_instruction() && self.tensors().all(|(_, tensor)| is_known(tensor))
    }
}

/// Returns a digest of each method, and one of the keys of named data.
fn structure(program: &Program) -> (Vec<u64>, u64) {
    let mut named_data = DefaultHasher::new();
    program.named_data.iter().flatten().for_each(|entry| entry.key.hash(&mut named_data));
    (program.plans().iter().map(structure_of).collect(), named_data.finish())
}

/// Returns a digest of the kinds of the values of a method, its lists of indices, and its instructions.
fn structure_of(plan: &ExecutionPlan) -> u64 {
    let digest = &mut DefaultHasher::new();
    plan.values().iter().for_each(|value| value.tag().hash(digest));
    (&plan.inputs, &plan.outputs).hash(digest);
    (plan.operators.as_ref().map(Vec::len), plan.delegates().len()).hash(digest);
    for chain in plan.chains.iter().flatten() {
        chain.instructions.as_ref().map(Vec::len).hash(digest);
        for instruction in chain.instructions.iter().flatten() {
            instruction.tag().hash(digest);
            for field in instruction.fields() {
                match field.reference {
                    FieldReference::Operator(id) => id.0.hash(digest),
                    FieldReference::Delegate(id) => id.0.hash(digest),
                    FieldReference::Operand(id, _) => id.0.hash(digest),
                    FieldReference::Destination(index) => index.hash(digest),
                    FieldReference::Args(args) => args.hash(digest),
                }
            }
        }
    }
    digest.finish()
}
