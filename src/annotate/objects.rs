//! Walks a FlatBuffer by the slot tables and writes down every object that it leads to: vtables, tables, vectors, strings.
//!
//! An object is written down once, however many refer to it. Nothing is judged here and nothing is said: what is wrong with an
//! object is seen again when it is explained. No file can make the walk recurse deeper than the schema nests, and the work
//! is bounded by the file's size.

use crate::pages;
use crate::schema::{Kind, Table};

/// No object.
pub const NONE: u32 = u32::MAX;

/// What the walk may cost for each byte of the file. A FlatBuffer without overlaps needs three: an object takes at least eight
/// bytes with the offset that leads to it.
const BUDGET: u64 = 4;

/// What a new object costs.
const OBJECT_COST: u64 = 16;

/// Bytes that a table may take of which the vtable cannot be read: more than any of the schemas' has.
const LOST: usize = 64;

/// What an item of a vector of tables costs, besides the table.
const ITEM_COST: u64 = 4;

/// What an object is.
#[derive(Debug, Clone, Copy)]
pub enum What {
    /// A vtable, first met at a table of this kind.
    Vtable(&'static Table),
    /// A table.
    Table(&'static Table),
    /// A vector of offsets to tables.
    Tables(&'static Table),
    /// A vector of numbers.
    Numbers(Number),
    /// A string.
    Text,
}

/// The items of a vector of numbers, or a number in a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// One byte, 0 or 1.
    Bool,
    /// `u8`
    U8,
    /// `i8`
    I8,
    /// `u16`
    U16,
    /// `i16`
    I16,
    /// `i32`
    I32,
    /// `u32`
    U32,
    /// `i64`
    I64,
    /// `u64`
    U64,
    /// `f64`
    F64,
}

impl Number {
    /// Bytes of one.
    pub fn size(self) -> usize {
        match self {
            Number::Bool | Number::U8 | Number::I8 => 1,
            Number::U16 | Number::I16 => 2,
            Number::I32 | Number::U32 => 4,
            Number::I64 | Number::U64 | Number::F64 => 8,
        }
    }

    /// As Rust calls it.
    pub fn name(self) -> &'static str {
        match self {
            Number::Bool => "bool",
            Number::U8 => "u8",
            Number::I8 => "i8",
            Number::U16 => "u16",
            Number::I16 => "i16",
            Number::I32 => "i32",
            Number::U32 => "u32",
            Number::I64 => "i64",
            Number::U64 => "u64",
            Number::F64 => "f64",
        }
    }
}

/// What a slot holds: a number, or an offset to an object.
#[derive(Debug, Clone, Copy)]
pub enum Holds {
    /// A number in the table itself.
    Number(Number),
    /// An offset to this.
    Object(What),
    /// An offset to a table that the union's tag tells.
    Union(&'static [&'static Table]),
}

/// What a slot of this kind holds.
pub fn holds(kind: Kind) -> Holds {
    match kind {
        Kind::Bool => Holds::Number(Number::Bool),
        Kind::Byte | Kind::Enum(_) => Holds::Number(Number::I8),
        Kind::UnionTag => Holds::Number(Number::U8),
        Kind::Short => Holds::Number(Number::I16),
        Kind::Int => Holds::Number(Number::I32),
        Kind::UInt => Holds::Number(Number::U32),
        Kind::Long => Holds::Number(Number::I64),
        Kind::ULong => Holds::Number(Number::U64),
        Kind::Double => Holds::Number(Number::F64),
        Kind::Union(members) => Holds::Union(members),
        Kind::Text => Holds::Object(What::Text),
        Kind::Table(table) => Holds::Object(What::Table(table)),
        Kind::Tables(table) => Holds::Object(What::Tables(table)),
        Kind::Bytes | Kind::AlignedBytes(_) => Holds::Object(What::Numbers(Number::U8)),
        Kind::Bools => Holds::Object(What::Numbers(Number::Bool)),
        Kind::Ints => Holds::Object(What::Numbers(Number::I32)),
        Kind::Longs => Holds::Object(What::Numbers(Number::I64)),
        Kind::ULongs => Holds::Object(What::Numbers(Number::U64)),
        Kind::Doubles => Holds::Object(What::Numbers(Number::F64)),
    }
}

impl Holds {
    /// Bytes that it takes in the table.
    pub fn size(self) -> usize {
        match self {
            Holds::Number(number) => number.size(),
            Holds::Object(_) | Holds::Union(_) => 4,
        }
    }
}

/// An object of a FlatBuffer.
#[derive(Debug, Clone, Copy)]
pub struct Object {
    /// What it is.
    pub what: What,
    /// Where it begins.
    pub at: u32,
    /// Its bytes as far as they are there.
    pub size: u32,
    /// The object that refers to it first.
    pub parent: u32,
    /// By which slot or item.
    pub step: u32,
    /// How many refer to it.
    pub referrers: u32,
    /// Another object that begins in the same four bytes.
    next: u32,
    /// It says it is longer than the bytes are, or it cannot say: what it takes is not known.
    pub overrun: bool,
    /// Not everything that it refers to was followed, since that would be more than a file of this size has.
    pub abandoned: bool,
    /// A vtable of tables of several kinds.
    pub mixed: bool,
}

/// All objects.
#[derive(Debug, Default)]
pub struct Objects {
    /// In the order of the walk: parents before their children; the root is the first.
    pub list: Vec<Object>,
    /// For each four bytes the last object found that begins there.
    heads: Vec<u32>,
    budget: u64,
}

/// The `u32` at a place.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The `u16` at a place.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Where the offset at a place leads, if that is inside the bytes; an offset of 0 leads nowhere.
pub fn follow(bytes: &[u8], at: usize) -> Option<usize> {
    let offset = u32_at(bytes, at)? as usize;
    at.checked_add(offset).filter(|target| offset != 0 && target.checked_add(4).is_some_and(|end| end <= bytes.len()))
}

/// A vtable: where it is, its size in the bytes, and the size of the tables.
#[derive(Debug, Clone, Copy)]
pub struct Vtable {
    /// Where it begins.
    pub at: usize,
    /// What it says is its size.
    pub size: usize,
    /// What it says is the size of its tables.
    pub inline: usize,
}

/// The vtable of the table at a place, if its first four bytes are inside the bytes.
pub fn vtable(bytes: &[u8], table: usize) -> Option<Vtable> {
    let back = i64::from(u32_at(bytes, table)? as i32);
    let at = usize::try_from(i64::try_from(table).ok()?.checked_sub(back)?).ok()?;
    let inline = u16_at(bytes, at.checked_add(2)?)?;
    Some(Vtable { at, size: u16_at(bytes, at)?.into(), inline: inline.into() })
}

impl Vtable {
    /// Where a field is, counted from its table; `None` if it is absent.
    pub fn offset(&self, bytes: &[u8], slot: usize) -> Option<usize> {
        let entry = 4 + 2 * slot;
        let offset = if entry + 2 <= self.size { u16_at(bytes, self.at + entry)? } else { 0 };
        (offset != 0).then_some(offset.into())
    }
}

impl Objects {
    /// Everything that the root offset leads to.
    pub fn find(bytes: &[u8], root: &'static Table) -> Objects {
        let mut heads = pages::vector(bytes.len() / 4 + 1);
        heads.resize(bytes.len() / 4 + 1, NONE);
        let mut objects =
            Objects { list: pages::vector(bytes.len() / 13), heads, budget: BUDGET * bytes.len() as u64 + (1 << 16) };
        if let Some(at) = follow(bytes, 0) {
            objects.table(bytes, at, root, NONE, 0);
        }
        objects
    }

    /// Gives the objects, and where each begins, in the order of their places; of several at one place the one that was found first.
    pub fn in_order(&self, mut take: impl FnMut(u32, u64)) {
        let mut several: Vec<(u32, u32)> = Vec::new();
        for head in self.heads.iter().filter(|head| **head != NONE) {
            let object = &self.list[*head as usize];
            if object.next == NONE {
                take(*head, object.at.into());
                continue;
            }
            let mut object = *head;
            while object != NONE {
                several.push((self.list[object as usize].at, object));
                object = self.list[object as usize].next;
            }
            several.sort_unstable();
            several.drain(..).for_each(|(at, object)| take(object, at.into()));
        }
    }

    /// The object of this kind that begins at a place, and whether it is new.
    fn visit(&mut self, what: What, at: usize, parent: u32, step: u32) -> Option<(u32, bool)> {
        let mut object = self.heads[at / 4];
        while object != NONE {
            let found = &mut self.list[object as usize];
            if found.at as usize == at && same(found.what, what) {
                found.referrers += 1;
                if let (What::Vtable(first), What::Vtable(table)) = (found.what, what) {
                    found.mixed |= !std::ptr::eq(first, table);
                }
                return Some((object, false));
            }
            object = found.next;
        }
        self.budget = self.budget.checked_sub(OBJECT_COST)?;
        let id = self.list.len() as u32;
        let next = std::mem::replace(&mut self.heads[at / 4], id);
        let (overrun, abandoned, mixed) = (false, false, false);
        let at = at as u32;
        self.list.push(Object { what, at, size: 4, parent, step, referrers: 1, next, overrun, abandoned, mixed });
        Some((id, true))
    }

    /// Takes bytes for an object, as far as they are there.
    fn take(&mut self, id: u32, size: usize, bytes: &[u8]) {
        let object = &mut self.list[id as usize];
        let there = bytes.len() - object.at as usize;
        object.overrun = size > there;
        object.size = size.min(there) as u32;
    }

    /// Writes down a table and what it leads to; false once the budget is spent.
    fn table(&mut self, bytes: &[u8], at: usize, schema: &'static Table, parent: u32, step: u32) -> bool {
        let Some((id, new)) = self.visit(What::Table(schema), at, parent, step) else { return false };
        if !new {
            return true;
        }
        let Some(vtable) = vtable(bytes, at) else {
            self.take(id, LOST, bytes);
            self.list[id as usize].overrun = true;
            return true;
        };
        let Some((vtable_id, new)) = self.visit(What::Vtable(schema), vtable.at, id, 0) else {
            self.list[id as usize].abandoned = true;
            return false;
        };
        if new {
            self.take(vtable_id, vtable.size.max(4), bytes);
        }
        self.take(id, vtable.inline.max(4), bytes);
        let mut tag = 0;
        let mut whole = true;
        for (slot, field) in schema.fields.iter().enumerate() {
            let place = vtable.offset(bytes, slot).and_then(|offset| at.checked_add(offset));
            if let Kind::UnionTag = field.kind {
                tag = place.and_then(|place| bytes.get(place).copied()).unwrap_or(0);
                continue;
            }
            let what = match holds(field.kind) {
                Holds::Number(_) => continue,
                Holds::Object(what) => what,
                Holds::Union(members) => match member(members, tag) {
                    Some(table) => What::Table(table),
                    None => continue,
                },
            };
            if let Some(target) = place.and_then(|place| follow(bytes, place)) {
                whole &= self.object(bytes, target, what, id, slot as u32);
            }
        }
        self.list[id as usize].abandoned = !whole;
        whole
    }

    fn object(&mut self, bytes: &[u8], at: usize, what: What, parent: u32, step: u32) -> bool {
        if let What::Table(table) = what {
            return self.table(bytes, at, table, parent, step);
        }
        let Some((id, new)) = self.visit(what, at, parent, step) else { return false };
        if !new {
            return true;
        }
        let count = u32_at(bytes, at).unwrap_or(0) as usize;
        let (width, end) = match what {
            What::Text => (1, 1),
            What::Numbers(number) => (number.size(), 0),
            _ => (4, 0),
        };
        let size = count.saturating_mul(width).saturating_add(4 + end);
        self.take(id, size, bytes);
        let What::Tables(table) = what else { return true };
        let there = (self.list[id as usize].size as usize - 4) / 4;
        for index in 0..there {
            let Some(left) = self.budget.checked_sub(ITEM_COST) else {
                self.list[id as usize].abandoned = true;
                return false;
            };
            self.budget = left;
            let place = at + 4 + 4 * index;
            if let Some(target) = follow(bytes, place)
                && !self.table(bytes, target, table, id, index as u32)
            {
                self.list[id as usize].abandoned = true;
                return false;
            }
        }
        true
    }
}

/// The member of a union that a tag stands for.
pub fn member(members: &[&'static Table], tag: u8) -> Option<&'static Table> {
    members.get(usize::from(tag).checked_sub(1)?).copied()
}

/// Whether two objects at one place are one.
fn same(a: What, b: What) -> bool {
    match (a, b) {
        (What::Vtable(_), What::Vtable(_)) | (What::Text, What::Text) => true,
        (What::Table(a), What::Table(b)) | (What::Tables(a), What::Tables(b)) => std::ptr::eq(a, b),
        (What::Numbers(a), What::Numbers(b)) => a == b,
        _ => false,
    }
}
