//! Walks a FlatBuffer by the slot tables and writes down every object that it leads to: vtables, tables, vectors, strings.
//!
//! An object is written down once, however many refer to it. Nothing is judged here and nothing is said: what is wrong with an
//! object is seen again when it is explained. No file can make the walk recurse deeper than the schema nests, and the work
//! is bounded by the file's size.

use super::{Budget, ObjectKind, SlotContent, Vtable, follow, member, u32_at};
use crate::format::{Kind, Table};

/// No object.
pub const NONE: u32 = u32::MAX;

/// Cost of a new object. A FlatBuffer without overlaps needs six for each byte: an object takes at least eight bytes with the offset that
/// leads to it.
const OBJECT_COST: u64 = 32;

/// Bytes that a table may take of which the vtable cannot be read: more than any of the schemas' has.
const LOST: usize = 64;

/// What an item of a vector of tables costs, besides the table.
const ITEM_COST: u64 = 8;

/// An object of a FlatBuffer.
#[derive(Debug, Clone, Copy)]
pub struct Object {
    /// What it is.
    pub what: ObjectKind,
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
#[derive(Debug)]
pub struct Objects {
    /// In the order of the walk: parents before their children; the root is the first.
    pub list: Vec<Object>,
    /// For each four bytes the last object found that begins there.
    heads: Vec<u32>,
}

impl Objects {
    /// Everything that the root offset leads to.
    pub fn find(bytes: &[u8], root: &'static Table) -> Objects {
        let budget = Budget::of(bytes.len());
        let heads = vec![NONE; bytes.len() / 4 + 1];
        let mut objects = Objects {
            list: Vec::with_capacity(bytes.len() / 13),
            heads,
        };
        if let Some(at) = follow(bytes, 0) {
            objects.table(&budget, bytes, at, root, NONE, 0);
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
    fn visit(&mut self, budget: &Budget, what: ObjectKind, at: usize, parent: u32, step: u32) -> Option<(u32, bool)> {
        let mut object = self.heads[at / 4];
        while object != NONE {
            let found = &mut self.list[object as usize];
            if found.at as usize == at && same(found.what, what) {
                found.referrers += 1;
                if let (ObjectKind::Vtable(first), ObjectKind::Vtable(table)) = (found.what, what) {
                    found.mixed |= !std::ptr::eq(first, table);
                }
                return Some((object, false));
            }
            object = found.next;
        }
        if !budget.spend(OBJECT_COST) {
            return None;
        }
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
    fn table(&mut self, budget: &Budget, bytes: &[u8], at: usize, schema: &'static Table, parent: u32, step: u32) -> bool {
        let Some((id, new)) = self.visit(budget, ObjectKind::Table(schema), at, parent, step) else { return false };
        if !new {
            return true;
        }
        let Some(vtable) = Vtable::of(bytes, at) else {
            self.take(id, LOST, bytes);
            self.list[id as usize].overrun = true;
            return true;
        };
        let Some((vtable_id, new)) = self.visit(budget, ObjectKind::Vtable(schema), vtable.at, id, 0) else {
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
            let what = match SlotContent::of(field.kind) {
                SlotContent::Scalar(_) => continue,
                SlotContent::Object(what) => what,
                SlotContent::Union(members) => match member(members, tag) {
                    Some(table) => ObjectKind::Table(table),
                    None => continue,
                },
            };
            if let Some(target) = place.and_then(|place| follow(bytes, place)) {
                whole &= self.object(budget, bytes, target, what, id, slot as u32);
            }
        }
        self.list[id as usize].abandoned = !whole;
        whole
    }

    fn object(&mut self, budget: &Budget, bytes: &[u8], at: usize, what: ObjectKind, parent: u32, step: u32) -> bool {
        if let ObjectKind::Table(table) = what {
            return self.table(budget, bytes, at, table, parent, step);
        }
        let Some((id, new)) = self.visit(budget, what, at, parent, step) else { return false };
        if !new {
            return true;
        }
        let count = u32_at(bytes, at).unwrap_or(0) as usize;
        let end = usize::from(matches!(what, ObjectKind::Text));
        let size = count.saturating_mul(what.item_size()).saturating_add(4 + end);
        self.take(id, size, bytes);
        let ObjectKind::Tables(table) = what else { return true };
        let there = (self.list[id as usize].size as usize - 4) / 4;
        for index in 0..there {
            if !budget.spend(ITEM_COST) {
                self.list[id as usize].abandoned = true;
                return false;
            }
            let place = at + 4 + 4 * index;
            if let Some(target) = follow(bytes, place)
                && !self.table(budget, bytes, target, table, id, index as u32)
            {
                self.list[id as usize].abandoned = true;
                return false;
            }
        }
        true
    }
}

/// Whether two objects at one place are one.
fn same(a: ObjectKind, b: ObjectKind) -> bool {
    match (a, b) {
        (ObjectKind::Vtable(_), ObjectKind::Vtable(_)) | (ObjectKind::Text, ObjectKind::Text) => true,
        (ObjectKind::Table(a), ObjectKind::Table(b)) | (ObjectKind::Tables(a), ObjectKind::Tables(b)) => std::ptr::eq(a, b),
        (ObjectKind::Scalars(a), ObjectKind::Scalars(b)) => a == b,
        _ => false,
    }
}
