//! What there is at a path in a FlatBuffer, by the slot tables: where its bytes are, and what they are.
//!
//! The FlatBuffer is one that was just written, so it is whole; a place that is not found is a mistake in the path, and the message
//! says what was there instead.

use super::path::{Path, Step};
use crate::schema::table::Field;
use crate::schema::{Kind, Table, bundled_program, flat_tensor, program};

/// A place in a FlatBuffer.
#[derive(Debug, Clone, Copy)]
pub struct Place {
    /// The table and the slot, if it is a field.
    pub field: Option<(usize, u16)>,
    /// Where the bytes of the field, item or number are; `None` for a field that is left out.
    pub at: Option<usize>,
    /// What it is.
    pub what: What,
}

/// What a place holds.
#[derive(Debug, Clone, Copy)]
pub enum What {
    /// A number.
    Number(Number),
    /// An offset to something.
    Offset(Target),
    /// The root table.
    Root,
}

/// The width of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// `u8`, `i8`, bool.
    Byte,
    /// `u16`, `i16`.
    Short,
    /// `u32`, `i32`.
    Int,
    /// `u64`, `i64`.
    Long,
    /// `f64`.
    Double,
}

/// What an offset leads to.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// A text.
    Text,
    /// A vector of numbers.
    Numbers(Number),
    /// A vector of tables.
    Tables(&'static Table),
    /// A table.
    Table(&'static Table),
    /// The member of a union that is none, or unknown.
    Nothing,
}

impl Number {
    /// Bytes.
    pub fn size(self) -> usize {
        match self {
            Number::Byte => 1,
            Number::Short => 2,
            Number::Int => 4,
            Number::Long | Number::Double => 8,
        }
    }
}

/// The values of a method that have a name: names and indices.
pub type Values<'v> = dyn Fn(usize) -> Vec<(String, usize)> + 'v;

/// A FlatBuffer to walk in.
pub struct Walker<'w> {
    /// Its bytes.
    pub bytes: &'w [u8],
    /// Its root table.
    pub root: &'static Table,
    /// The values of a method that have a name in the text.
    pub values: &'w Values<'w>,
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
        let mut place = Place { field: None, at: Some(0), what: What::Root };
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
        if let What::Offset(Target::Tables(table)) = place.what {
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
            if let What::Offset(Target::Table(member)) = member.what {
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
            What::Root => Some(self.root),
            What::Offset(Target::Table(table)) => Some(table),
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
                    What::Offset(Target::Tables(table)) => (What::Offset(Target::Table(table)), 4),
                    What::Offset(Target::Numbers(number)) => (What::Number(number), number.size()),
                    What::Offset(Target::Text) => (What::Number(Number::Byte), 1),
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
        let number = |at: usize, number| Ok(Place { field: None, at: Some(at), what: What::Number(number) });
        let vector = |size: usize| match place.what {
            What::Offset(Target::Text | Target::Tables(_) | Target::Numbers(_)) => {
                self.target(place).map(|at| at + size)
            }
            _ => Err(format!("{} has no `{word}`", self.describe(place))),
        };
        match (word, place.what) {
            ("@offset", What::Offset(_) | What::Root) => match place.at {
                Some(at) => number(at, Number::Int),
                None => Err("the field is left out, so it has no offset; make it `null` first".into()),
            },
            ("@length", _) => vector(0).and_then(|at| number(at, Number::Int)),
            ("@terminator", What::Offset(Target::Text)) => {
                let at = self.target(place)?;
                number(at + 4 + self.u32(at).unwrap_or(0) as usize, Number::Byte)
            }
            ("@vtable_offset" | "@vtable_size" | "@table_size", _) if self.table_of(place).is_some() => {
                let table = self.table_at(place)?;
                let vtable = self.vtable(table).ok_or("the table has no vtable")?;
                match word {
                    "@vtable_offset" => number(table, Number::Int),
                    "@vtable_size" => number(vtable, Number::Short),
                    _ => number(vtable + 2, Number::Short),
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
        let vtable = self.vtable(at).ok_or("the table has no vtable")?;
        let size = self.u16(vtable).unwrap_or(0) as usize;
        let entry = 4 + 2 * slot;
        if entry + 2 > size {
            return Err(format!("the vtable ends before `{name}`, which is left out; make it present first"));
        }
        let place = Place { field: None, at: Some(vtable + entry), what: What::Number(Number::Short) };
        Ok((place, table.fields[slot].name))
    }

    pub(super) fn what(&self, table: usize, slot: u16, field: &Field) -> What {
        let offset = |target| What::Offset(target);
        match field.kind {
            Kind::Bool | Kind::Byte | Kind::Enum(_) | Kind::UnionTag => What::Number(Number::Byte),
            Kind::Short => What::Number(Number::Short),
            Kind::Int | Kind::UInt => What::Number(Number::Int),
            Kind::Long | Kind::ULong => What::Number(Number::Long),
            Kind::Double => What::Number(Number::Double),
            Kind::Text => offset(Target::Text),
            Kind::Bytes | Kind::AlignedBytes(_) | Kind::Bools => offset(Target::Numbers(Number::Byte)),
            Kind::Ints => offset(Target::Numbers(Number::Int)),
            Kind::Longs | Kind::ULongs => offset(Target::Numbers(Number::Long)),
            Kind::Doubles => offset(Target::Numbers(Number::Double)),
            Kind::Table(table) => offset(Target::Table(table)),
            Kind::Tables(table) => offset(Target::Tables(table)),
            Kind::Union(members) => {
                // The tag is in the slot before.
                let tag = slot.checked_sub(1).and_then(|tag| self.slot(table, tag)).and_then(|at| self.bytes.get(at));
                let member = tag.and_then(|tag| members.get(usize::from(*tag).checked_sub(1)?));
                offset(member.map_or(Target::Nothing, |table| Target::Table(table)))
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

    /// Where a field is, if the vtable has it.
    pub(super) fn slot(&self, table: usize, slot: u16) -> Option<usize> {
        let vtable = self.vtable(table)?;
        let entry = 4 + 2 * usize::from(slot);
        if entry + 2 > usize::from(self.u16(vtable)?) {
            return None;
        }
        let offset = usize::from(self.u16(vtable + entry)?);
        (offset != 0).then_some(table + offset)
    }

    fn vtable(&self, table: usize) -> Option<usize> {
        let back = i64::from(i32::from_le_bytes(self.array(table)?));
        usize::try_from(table as i64 - back).ok()
    }

    fn u16(&self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.bytes.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn describe(&self, place: Place) -> String {
        match place.what {
            What::Root => format!("the root table, {},", self.root.name),
            What::Number(_) => "a number".into(),
            What::Offset(Target::Text) => "a text".into(),
            What::Offset(Target::Numbers(_)) => "a vector of numbers".into(),
            What::Offset(Target::Tables(table)) => format!("a vector of {}", table.name),
            What::Offset(Target::Table(table)) => format!("a {}", table.name),
            What::Offset(Target::Nothing) => "a union without a member".into(),
        }
    }
}

/// The root table of a file by its identifier.
pub fn root_of(identifier: &[u8]) -> Option<&'static Table> {
    let roots: [(&str, &'static Table); 3] = [
        (program::IDENTIFIER, &program::PROGRAM),
        (flat_tensor::IDENTIFIER, &flat_tensor::FLAT_TENSOR),
        (bundled_program::IDENTIFIER, &bundled_program::BUNDLED_PROGRAM),
    ];
    roots.iter().find(|(known, _)| known.as_bytes() == identifier).map(|(_, table)| *table)
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
