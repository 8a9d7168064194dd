//! What there is at a path in a FlatBuffer, by the slot tables: where its bytes are, and what they are.
//!
//! The FlatBuffer is one that was just written, so it is whole; a place that is not found is a mistake in the path, and the message
//! says what was there instead.

use crate::format::path::{Path, Step};
use crate::format::flatbuffer::{ObjectKind, Scalar, SlotContent, Vtable, member, u32_at};
use crate::format::table::Field;
use crate::format::container::CONTAINERS;
use crate::format::{Kind, Table, program};

/// A place in a FlatBuffer.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The table and the slot, if it is a field.
    pub field: Option<(usize, u16)>,
    /// Where the bytes of the field, item or number are; `None` for a field that is left out.
    pub at: Option<usize>,
    /// What it is.
    pub what: Content,
}

/// The content of a field or an item.
#[derive(Debug, Clone, Copy)]
pub enum Content {
    /// A number.
    Scalar(Scalar),
    /// An offset; `None` if it is that of a union without a member, or with an unknown one.
    Offset(Option<ObjectKind>),
    /// The root table.
    Root,
}

/// The values of a method that have a name: names and indices.
pub type ValueNames<'v> = dyn Fn(usize) -> Vec<(String, usize)> + 'v;

/// A FlatBuffer to walk in.
pub struct Walker<'w> {
    /// Its bytes.
    pub bytes: &'w [u8],
    /// Its root table.
    pub root: &'static Table,
    /// The values of a method that have a name in the text.
    pub values: &'w ValueNames<'w>,
}

/// Words that lead to what holds a thing together.
const STRUCTURE: &[&str] =
    &["@offset", "@length", "@terminator", "@vtable_offset", "@vtable_size", "@table_size", "@vtable"];

impl Walker<'_> {
    /// The place at a path, and the path in numbers, which finds it again when names have changed.
    ///
    /// # Errors
    /// What there is instead of the step that leads nowhere.
    pub fn find(&self, path: &Path) -> Result<(Place, Path), String> {
        let mut place = Place { field: None, at: Some(0), what: Content::Root };
        let mut numbers = Vec::new();
        let mut method = None;
        let mut steps = path.0.iter().peekable();
        while let Some(step) = steps.next() {
            let next = match step {
                Step::Name(name) if name == "@vtable" => {
                    let entry = match steps.next() {
                        Some(Step::Name(field)) => self.vtable_entry(place, field)?,
                        _ => return Err("`@vtable` is followed by the name of a field".into()),
                    };
                    numbers.extend([step.clone(), Step::Name(entry.1.to_owned())]);
                    place = entry.0;
                    continue;
                }
                Step::Name(name) if name.starts_with('@') => self.structure(place, name)?,
                Step::Name(name) => {
                    // A name stands for one step or several: what lies between is not worth writing down.
                    for step in self.named(place, name, method)? {
                        place = self.one(place, &step)?;
                        if let (Step::Index(index), 1) = (&step, numbers.len()) {
                            method = Some(*index);
                        }
                        numbers.push(step);
                    }
                    continue;
                }
                Step::Index(index) => {
                    if numbers.len() == 1 {
                        method = Some(*index);
                    }
                    self.one(place, step)?
                }
            };
            numbers.push(step.clone());
            place = next;
        }
        Ok((place, Path(numbers)))
    }

    /// The plain steps that a name stands for.
    fn named(&self, place: Place, name: &str, method: Option<usize>) -> Result<Vec<Step>, String> {
        let field = |name: &str| Step::Name(name.to_owned());
        if let Content::Offset(Some(ObjectKind::Tables(table))) = place.what {
            let names = match method.filter(|_| std::ptr::eq(table, &program::EVALUE)) {
                Some(method) => (self.values)(method),
                None => self.names(place, table),
            };
            return match names.iter().find(|(known, _)| known == name) {
                Some((_, index)) => Ok(vec![Step::Index(*index)]),
                None => {
                    let known: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
                    Err(format!("no {} is called `{name}`{}", table.name, hint(name, &known)))
                }
            };
        }
        let Some(table) = self.table_of(place) else {
            return Err(format!("{} has no `{name}`", self.describe(place)));
        };
        if table.fields.iter().any(|field| field.name == name) {
            return Ok(vec![field(name)]);
        }
        let plain = match name {
            "methods" if std::ptr::eq(table, &program::PROGRAM) => Some(vec![field("execution_plan")]),
            "instructions" | "stacktrace" if std::ptr::eq(table, &program::EXECUTION_PLAN) => {
                Some(vec![field("chains"), Step::Index(0), field(name)])
            }
            _ => None,
        };
        if let Some(plain) = plain {
            return Ok(plain);
        }
        // What is in a union need not be said.
        let union = table.fields.iter().find(|field| matches!(field.kind, Kind::Union(_)));
        if let Some(union) = union {
            let member = self.one(place, &field(union.name))?;
            if let Content::Offset(Some(ObjectKind::Table(member))) = member.what {
                if member.fields.iter().any(|field| field.name == name) {
                    return Ok(vec![field(union.name), field(name)]);
                }
                return Err(unknown(name, member));
            }
        }
        Err(unknown(name, table))
    }

    /// The table that a place refers to.
    fn table_of(&self, place: Place) -> Option<&'static Table> {
        match place.what {
            Content::Root => Some(self.root),
            Content::Offset(Some(ObjectKind::Table(table))) => Some(table),
            _ => None,
        }
    }

    /// Where the table begins that a place refers to.
    fn table_at(&self, place: Place) -> Result<usize, String> {
        self.target(place)
    }

    /// Where an offset leads.
    pub fn target(&self, place: Place) -> Result<usize, String> {
        let at = place.at.ok_or("the field is left out, so nothing is in it; make it `empty` or a number first")?;
        let offset = self.u32(at).ok_or("it is not inside the FlatBuffer")? as usize;
        match at.checked_add(offset).filter(|to| offset != 0 && *to < self.bytes.len()) {
            Some(to) => Ok(to),
            None => Err("the offset there leads nowhere".into()),
        }
    }

    /// One plain step: a field, or an item.
    fn one(&self, place: Place, step: &Step) -> Result<Place, String> {
        match step {
            Step::Name(name) => {
                let table = self.table_of(place).ok_or_else(|| format!("{} has no `{name}`", self.describe(place)))?;
                let slot = table.fields.iter().position(|field| field.name == name);
                let slot = slot.ok_or_else(|| unknown(name, table))?;
                let at = self.table_at(place)?;
                let field = &table.fields[slot];
                let what = self.what(at, slot as u16, field);
                Ok(Place { field: Some((at, slot as u16)), at: self.slot(at, slot as u16), what })
            }
            Step::Index(index) => {
                let (what, size) = match place.what {
                    Content::Offset(Some(ObjectKind::Tables(table))) => (Content::Offset(Some(ObjectKind::Table(table))), 4),
                    Content::Offset(Some(ObjectKind::Scalars(number))) => (Content::Scalar(number), number.size()),
                    Content::Offset(Some(ObjectKind::Text)) => (Content::Scalar(Scalar::U8), 1),
                    _ => return Err(format!("{} has no items", self.describe(place))),
                };
                let at = self.target(place)?;
                let count = self.u32(at).unwrap_or(0) as usize;
                if *index >= count {
                    return Err(format!("[{index}] is beyond the {count} items there are"));
                }
                Ok(Place { field: None, at: Some(at + 4 + index * size), what })
            }
        }
    }

    /// What holds a thing together: lengths, offsets, sizes.
    fn structure(&self, place: Place, word: &str) -> Result<Place, String> {
        let number = |at: usize, number| Ok(Place { field: None, at: Some(at), what: Content::Scalar(number) });
        let vector = |size: usize| match place.what {
            Content::Offset(Some(ObjectKind::Text) | Some(ObjectKind::Tables(_)) | Some(ObjectKind::Scalars(_))) => {
                self.target(place).map(|at| at + size)
            }
            _ => Err(format!("{} has no `{word}`", self.describe(place))),
        };
        match (word, place.what) {
            ("@offset", Content::Offset(_) | Content::Root) => match place.at {
                Some(at) => number(at, Scalar::U32),
                None => Err("the field is left out, so it has no offset; make it `null` first".into()),
            },
            ("@length", _) => vector(0).and_then(|at| number(at, Scalar::U32)),
            ("@terminator", Content::Offset(Some(ObjectKind::Text))) => {
                let at = self.target(place)?;
                number(at + 4 + self.u32(at).unwrap_or(0) as usize, Scalar::U8)
            }
            ("@vtable_offset" | "@vtable_size" | "@table_size", _) if self.table_of(place).is_some() => {
                let table = self.table_at(place)?;
                let vtable = Vtable::of(self.bytes, table).ok_or("the table has no vtable")?.at;
                match word {
                    "@vtable_offset" => number(table, Scalar::U32),
                    "@vtable_size" => number(vtable, Scalar::U16),
                    _ => number(vtable + 2, Scalar::U16),
                }
            }
            _ if STRUCTURE.contains(&word) => Err(format!("{} has no `{word}`", self.describe(place))),
            _ => Err(format!("there is no `{word}`; there are {}", STRUCTURE.join(", "))),
        }
    }

    /// The entry of a field in the vtable of its table.
    fn vtable_entry(&self, place: Place, name: &str) -> Result<(Place, &'static str), String> {
        let table = self.table_of(place).ok_or_else(|| format!("{} has no vtable", self.describe(place)))?;
        let slot = table.fields.iter().position(|field| field.name == name).ok_or_else(|| unknown(name, table))?;
        let at = self.table_at(place)?;
        let vtable = Vtable::of(self.bytes, at).ok_or("the table has no vtable")?;
        let entry = vtable
            .entry(slot)
            .ok_or_else(|| format!("the vtable ends before `{name}`, which is left out; make it present first"))?;
        let place = Place { field: None, at: Some(entry), what: Content::Scalar(Scalar::U16) };
        Ok((place, table.fields[slot].name))
    }

    pub(super) fn what(&self, table: usize, slot: u16, field: &Field) -> Content {
        match SlotContent::of(field.kind) {
            SlotContent::Scalar(scalar) => Content::Scalar(scalar),
            SlotContent::Object(object) => Content::Offset(Some(object)),
            SlotContent::Union(members) => {
                // The tag is in the slot before.
                let tag = slot.checked_sub(1).and_then(|tag| self.slot(table, tag)).and_then(|at| self.bytes.get(at));
                Content::Offset(tag.and_then(|tag| member(members, *tag)).map(ObjectKind::Table))
            }
        }
    }

    /// The names, keys or ids of the items of a vector of tables, as far as they have some.
    fn names(&self, place: Place, table: &'static Table) -> Vec<(String, usize)> {
        let words: &[&str] = &["name", "key", "id", "method_name"];
        let slot = table.fields.iter().position(|field| words.contains(&field.name));
        let (Some(slot), Ok(vector)) = (slot, self.target(place)) else { return Vec::new() };
        let text = |index: usize| {
            let item = vector + 4 + 4 * index;
            let at = self.slot(item + self.u32(item)? as usize, slot as u16)?;
            let text = at + self.u32(at)? as usize;
            let bytes = self.bytes.get(text + 4..text + 4 + self.u32(text)? as usize)?;
            Some((String::from_utf8_lossy(bytes).into_owned(), index))
        };
        (0..self.u32(vector).unwrap_or(0) as usize).filter_map(text).collect()
    }

    /// Offset of a field, if the vtable has it.
    pub(super) fn slot(&self, table: usize, slot: u16) -> Option<usize> {
        Vtable::of(self.bytes, table)?.offset(self.bytes, slot.into()).map(|offset| table + offset)
    }

    pub(super) fn u32(&self, at: usize) -> Option<u32> {
        u32_at(self.bytes, at)
    }

    fn describe(&self, place: Place) -> String {
        match place.what {
            Content::Root => format!("the root table, {},", self.root.name),
            Content::Scalar(_) => "a number".into(),
            Content::Offset(Some(ObjectKind::Text)) => "a text".into(),
            Content::Offset(Some(ObjectKind::Scalars(_))) => "a vector of numbers".into(),
            Content::Offset(Some(ObjectKind::Tables(table))) => format!("a vector of {}", table.name),
            Content::Offset(Some(ObjectKind::Table(table))) => format!("a {}", table.name),
            Content::Offset(Some(ObjectKind::Vtable(_)) | None) => "a union without a member".into(),
        }
    }
}

/// The root table of a file by its identifier.
pub fn root_of(identifier: &[u8]) -> Option<&'static Table> {
    let container = CONTAINERS.into_iter().find(|container| container.identifier.as_bytes() == identifier);
    container.map(|container| container.root)
}

fn unknown(name: &str, table: &Table) -> String {
    let names: Vec<&str> = table.fields.iter().map(|field| field.name).collect();
    format!("{} has no field `{name}`{}", table.name, hint(name, &names))
}

/// The nearest of the names that there are, or else some of them.
fn hint(name: &str, known: &[&str]) -> String {
    let near = known.iter().map(|known| (strsim::damerau_levenshtein(name, known), *known)).min();
    match near {
        Some((distance, near)) if distance <= near.len() / 2 => format!("; did you mean `{near}`?"),
        None => "; there are no names".into(),
        _ => {
            let more = if known.len() > 10 { ", ..." } else { "" };
            format!("; there are {}{more}", known[..known.len().min(10)].join(", "))
        }
    }
}
