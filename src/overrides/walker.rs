//! Resolves the path of a field in a FlatBuffer to the offset and the type of its bytes, by the slot tables.
//!
//! The FlatBuffer was written by the emitter and is well-formed, so an unresolved path is a mistake in the path; the
//! error names the fields that exist.

use pte_model::diagnostics::counted;
use pte_model::format::container::CONTAINERS;
use pte_model::format::flatbuffer::view::Table;
use pte_model::format::flatbuffer::{ObjectKind, Scalar, SlotContent, Vtable, follow, member, u32_at};
use pte_model::format::path::{FieldPath, PathStep};
use pte_model::format::table::Field;
use pte_model::format::{Kind, TableSchema, program};
use pte_xnnpack::schema as xnnpack;

/// Offset and type of a field or an item in a FlatBuffer.
#[derive(Clone, Copy)]
pub struct FieldLocation {
    /// Offset of the table and slot; `None` for an item.
    pub field: Option<(usize, u16)>,
    /// Offset of the bytes; `None` for a field that is absent.
    pub at: Option<usize>,
    /// Type of the bytes.
    pub content: FieldContent,
}

/// The content of a field or an item.
#[derive(Clone, Copy)]
pub enum FieldContent {
    /// A number of this type.
    Scalar(Scalar),
    /// An offset to an object; `None` for a union without a member, or with an unknown one.
    Offset(Option<ObjectKind>),
}

impl FieldLocation {
    /// Returns the location of the offset to the root table.
    pub fn root(root: &'static TableSchema) -> FieldLocation {
        FieldLocation { field: None, at: Some(0), content: FieldContent::Offset(Some(ObjectKind::Table(root))) }
    }
}

/// Names and indices of the named values of a method.
pub type ValueNames<'v> = dyn Fn(usize) -> Vec<(String, usize)> + 'v;

/// Resolver of paths in a FlatBuffer.
pub struct Walker<'w> {
    /// Bytes of the FlatBuffer.
    pub bytes: &'w [u8],
    /// Root table.
    pub root: &'static TableSchema,
    /// Names that paths may use for the values of a method.
    pub values: &'w ValueNames<'w>,
}

/// Words for structural fields, which the schema does not name.
const STRUCTURE: &[&str] =
    &["@offset", "@length", "@terminator", "@vtable_offset", "@vtable_size", "@table_size", "@vtable"];

impl Walker<'_> {
    /// Resolves a path to a location, and to a path of fields and indices, which stays valid when names change.
    ///
    /// # Errors
    /// A message about the first step that does not exist.
    pub fn find(&self, path: &FieldPath) -> Result<(FieldLocation, FieldPath), String> {
        let mut location = FieldLocation::root(self.root);
        let mut numbers = Vec::new();
        let mut method = None;
        let mut steps = path.0.iter().peekable();
        while let Some(step) = steps.next() {
            let next = match step {
                PathStep::Name(name) if name == "@vtable" => {
                    let entry = match steps.next() {
                        Some(PathStep::Name(field)) => self.vtable_entry(location, field)?,
                        Some(PathStep::Index(_)) | None => {
                            return Err("expected the name of a field after `@vtable`".into());
                        }
                    };
                    numbers.extend([step.clone(), PathStep::Name(entry.1.to_owned())]);
                    location = entry.0;
                    continue;
                }
                PathStep::Name(name) if name.starts_with('@') => self.structure(location, name)?,
                PathStep::Name(name) => {
                    // A name may abbreviate several steps.
                    for step in self.named(location, name, method)? {
                        location = self.step(location, &step)?;
                        if let (PathStep::Index(index), 1) = (&step, numbers.len()) {
                            method = Some(*index);
                        }
                        numbers.push(step);
                    }
                    continue;
                }
                PathStep::Index(index) => {
                    if numbers.len() == 1 {
                        method = Some(*index);
                    }
                    self.step(location, step)?
                }
            };
            numbers.push(step.clone());
            location = next;
        }
        Ok((location, FieldPath(numbers)))
    }

    /// Returns the fields and indices that a name stands for.
    fn named(&self, location: FieldLocation, name: &str, method: Option<usize>) -> Result<Vec<PathStep>, String> {
        let field = |name: &str| PathStep::Name(name.to_owned());
        if let FieldContent::Offset(Some(ObjectKind::Tables(table))) = location.content {
            let names = match method.filter(|_| std::ptr::eq(table, &program::EVALUE)) {
                Some(method) => (self.values)(method),
                None => self.names(location, table),
            };
            return match names.iter().find(|(known, _)| known == name) {
                Some((_, index)) => Ok(vec![PathStep::Index(*index)]),
                None => {
                    let known: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
                    Err(format!("unknown {} `{name}`{}", table.name, hint(name, &known)))
                }
            };
        }
        let Some(table) = self.table_of(location) else {
            return Err(format!("{} has no `{name}`", self.describe(location)));
        };
        if table.fields.iter().any(|field| field.name == name) {
            return Ok(vec![field(name)]);
        }
        let abbreviated = match name {
            "methods" if std::ptr::eq(table, &program::PROGRAM) => Some(vec![field("execution_plan")]),
            "values" if std::ptr::eq(table, &xnnpack::GRAPH) => Some(vec![field("xvalues")]),
            "nodes" if std::ptr::eq(table, &xnnpack::GRAPH) => Some(vec![field("xnodes")]),
            "instructions" | "stacktrace" if std::ptr::eq(table, &program::EXECUTION_PLAN) => {
                Some(vec![field("chains"), PathStep::Index(0), field(name)])
            }
            _ => None,
        };
        if let Some(steps) = abbreviated {
            return Ok(steps);
        }
        // Paths may omit the step into a union.
        let union = table.fields.iter().find(|field| matches!(field.kind, Kind::Union(_)));
        if let Some(union) = union {
            let member = self.step(location, &field(union.name))?;
            if let FieldContent::Offset(Some(ObjectKind::Table(member))) = member.content {
                if member.fields.iter().any(|field| field.name == name) {
                    return Ok(vec![field(union.name), field(name)]);
                }
                return Err(unknown(name, member));
            }
        }
        Err(unknown(name, table))
    }

    /// Returns the type of the table at a location; `None` if it is not a table.
    fn table_of(&self, location: FieldLocation) -> Option<&'static TableSchema> {
        match location.content {
            FieldContent::Offset(Some(ObjectKind::Table(table))) => Some(table),
            FieldContent::Scalar(_) | FieldContent::Offset(_) => None,
        }
    }

    /// Returns the target of an offset.
    ///
    /// # Errors
    /// The field is absent, or the offset is outside the FlatBuffer.
    pub fn target(&self, location: FieldLocation) -> Result<usize, String> {
        let at =
            location.at.ok_or("the field is absent, so it has no content; set it to `empty` or to a number first")?;
        let offset = self.u32(at).ok_or("the field is outside the FlatBuffer")? as usize;
        match at.checked_add(offset).filter(|to| offset != 0 && *to < self.bytes.len()) {
            Some(to) => Ok(to),
            None => Err("the offset points outside the FlatBuffer".into()),
        }
    }

    /// Resolves one step: a field or an index.
    fn step(&self, location: FieldLocation, step: &PathStep) -> Result<FieldLocation, String> {
        match step {
            PathStep::Name(name) => {
                let table =
                    self.table_of(location).ok_or_else(|| format!("{} has no `{name}`", self.describe(location)))?;
                let slot = table.fields.iter().position(|field| field.name == name);
                let slot = slot.ok_or_else(|| unknown(name, table))?;
                let at = self.target(location)?;
                let field = &table.fields[slot];
                let content = self.content(at, slot as u16, field);
                Ok(FieldLocation { field: Some((at, slot as u16)), at: self.slot(at, slot as u16), content })
            }
            PathStep::Index(index) => {
                let (content, size) = match location.content {
                    FieldContent::Offset(Some(ObjectKind::Tables(table))) => {
                        (FieldContent::Offset(Some(ObjectKind::Table(table))), 4)
                    }
                    FieldContent::Offset(Some(ObjectKind::Scalars(number))) => {
                        (FieldContent::Scalar(number), number.size())
                    }
                    FieldContent::Offset(Some(ObjectKind::Text)) => (FieldContent::Scalar(Scalar::U8), 1),
                    FieldContent::Offset(Some(ObjectKind::Table(_) | ObjectKind::Vtable(_)) | None)
                    | FieldContent::Scalar(_) => return Err(format!("{} has no items", self.describe(location))),
                };
                let at = self.target(location)?;
                let count = self.u32(at).unwrap_or(0) as usize;
                if *index >= count {
                    return Err(format!(
                        "index {index} is out of range: the vector has {}",
                        counted(count as u64, "item")
                    ));
                }
                Ok(FieldLocation { field: None, at: Some(at + 4 + index * size), content })
            }
        }
    }

    /// Resolves a structural word: offsets, lengths, sizes.
    fn structure(&self, location: FieldLocation, word: &str) -> Result<FieldLocation, String> {
        let number =
            |at: usize, number| Ok(FieldLocation { field: None, at: Some(at), content: FieldContent::Scalar(number) });
        let vector = |size: usize| match location.content {
            FieldContent::Offset(
                Some(ObjectKind::Text) | Some(ObjectKind::Tables(_)) | Some(ObjectKind::Scalars(_)),
            ) => self.target(location).map(|at| at + size),
            FieldContent::Offset(Some(ObjectKind::Table(_) | ObjectKind::Vtable(_)) | None)
            | FieldContent::Scalar(_) => Err(format!("{} has no `{word}`", self.describe(location))),
        };
        match (word, location.content) {
            ("@offset", FieldContent::Offset(_)) => match location.at {
                Some(at) => number(at, Scalar::U32),
                None => Err("the field is absent, so it has no offset; set it to `null` first".into()),
            },
            ("@length", _) => vector(0).and_then(|at| number(at, Scalar::U32)),
            ("@terminator", FieldContent::Offset(Some(ObjectKind::Text))) => {
                let at = self.target(location)?;
                number(at + 4 + self.u32(at).unwrap_or(0) as usize, Scalar::U8)
            }
            ("@vtable_offset" | "@vtable_size" | "@table_size", _) if self.table_of(location).is_some() => {
                let table = self.target(location)?;
                let vtable = Vtable::of(self.bytes, table).ok_or("the table has no vtable")?.at;
                match word {
                    "@vtable_offset" => number(table, Scalar::U32),
                    "@vtable_size" => number(vtable, Scalar::U16),
                    _ => number(vtable + 2, Scalar::U16),
                }
            }
            _ if STRUCTURE.contains(&word) => Err(format!("{} has no `{word}`", self.describe(location))),
            _ => Err(format!("unknown word `{word}`; expected {}", STRUCTURE.join(", "))),
        }
    }

    /// Returns the location of a field's vtable entry, and the name of the field.
    fn vtable_entry(&self, location: FieldLocation, name: &str) -> Result<(FieldLocation, &'static str), String> {
        let table = self.table_of(location).ok_or_else(|| format!("{} has no vtable", self.describe(location)))?;
        let slot = table.fields.iter().position(|field| field.name == name).ok_or_else(|| unknown(name, table))?;
        let at = self.target(location)?;
        let vtable = Vtable::of(self.bytes, at).ok_or("the table has no vtable")?;
        let entry = vtable
            .entry(slot)
            .ok_or_else(|| format!("the vtable ends before `{name}`, which is absent; set it to a value first"))?;
        let location = FieldLocation { field: None, at: Some(entry), content: FieldContent::Scalar(Scalar::U16) };
        Ok((location, table.fields[slot].name))
    }

    /// Returns the type of a field's bytes.
    pub(super) fn content(&self, table: usize, slot: u16, field: &Field) -> FieldContent {
        match SlotContent::of(field.kind) {
            SlotContent::Scalar(scalar) => FieldContent::Scalar(scalar),
            SlotContent::Object(object) => FieldContent::Offset(Some(object)),
            SlotContent::Union(members) => {
                // The tag is in the previous slot.
                let tag = slot.checked_sub(1).and_then(|tag| self.slot(table, tag)).and_then(|at| self.bytes.get(at));
                FieldContent::Offset(tag.and_then(|tag| member(members, *tag)).map(ObjectKind::Table))
            }
        }
    }

    /// Returns the names, keys or ids of the items of a vector of tables, with their indices.
    fn names(&self, location: FieldLocation, table: &'static TableSchema) -> Vec<(String, usize)> {
        let words: &[&str] = &["name", "key", "id", "method_name"];
        let slot = table.fields.iter().position(|field| words.contains(&field.name));
        let (Some(slot), Ok(vector)) = (slot, self.target(location)) else { return Vec::new() };
        let text = |index| Some((String::from_utf8_lossy(self.text(vector, index, slot as u16)?).into_owned(), index));
        (0..self.u32(vector).unwrap_or(0) as usize).filter_map(text).collect()
    }

    /// Returns the string in a slot of an item of a vector of tables.
    pub(super) fn text(&self, vector: usize, index: usize, slot: u16) -> Option<&[u8]> {
        Table::at(self.bytes, follow(self.bytes, vector + 4 + 4 * index)?)?.text(slot)
    }

    /// Returns the offset of a field; `None` if it is absent.
    pub(super) fn slot(&self, table: usize, slot: u16) -> Option<usize> {
        Table::at(self.bytes, table)?.offset(slot)
    }

    pub(super) fn u32(&self, at: usize) -> Option<u32> {
        u32_at(self.bytes, at)
    }

    fn describe(&self, location: FieldLocation) -> String {
        match location.content {
            FieldContent::Offset(_) if location.at == Some(0) => format!("the root table, {},", self.root.name),
            FieldContent::Scalar(_) => "a number".into(),
            FieldContent::Offset(Some(ObjectKind::Text)) => "a string".into(),
            FieldContent::Offset(Some(ObjectKind::Scalars(_))) => "a vector of numbers".into(),
            FieldContent::Offset(Some(ObjectKind::Tables(table))) => format!("a vector of {}", table.name),
            FieldContent::Offset(Some(ObjectKind::Table(table))) => format!("a {}", table.name),
            FieldContent::Offset(Some(ObjectKind::Vtable(_)) | None) => "a union without a member".into(),
        }
    }
}

/// Returns the root table of a file by its identifier.
pub fn root_of(identifier: &[u8]) -> Option<&'static TableSchema> {
    let container = CONTAINERS.into_iter().find(|container| container.identifier.as_bytes() == identifier);
    container.map(|container| container.root)
}

fn unknown(name: &str, table: &TableSchema) -> String {
    let names: Vec<&str> = table.fields.iter().map(|field| field.name).collect();
    format!("{} has no field `{name}`{}", table.name, hint(name, &names))
}

/// Returns a suffix of a message with the most similar known name, or otherwise some known names.
fn hint(name: &str, known: &[&str]) -> String {
    let near = known.iter().map(|known| (strsim::damerau_levenshtein(name, known), *known)).min();
    match near {
        Some((distance, near)) if distance <= near.len() / 2 => format!("; did you mean `{near}`?"),
        None => "; there are none".into(),
        _ => {
            let more = if known.len() > 10 { ", ..." } else { "" };
            format!("; expected {}{more}", known[..known.len().min(10)].join(", "))
        }
    }
}
