//! Lists every object of a FlatBuffer that is reachable by the slot tables: vtables, tables, vectors, strings.
//!
//! Each object is listed once, with the number of references to it. The walk reports no defects: an object that does
//! not fit the bytes is marked. The recursion depth is bounded by the schema, the work by the file's size.

use super::{Budget, ObjectKind, Vtable, fields, follow, u32_at};
use crate::format::TableSchema;

/// Parent of the root table.
pub const NONE: u32 = u32::MAX;

/// Cost of a new object. A FlatBuffer without overlaps spends at most six per byte: an object and the offset to it take
/// at least eight bytes.
const OBJECT_COST: u64 = 32;

/// Assumed size in bytes of a table without a readable vtable: larger than any table of the schemas.
const LOST: usize = 64;

/// Cost of an item of a vector of tables, in addition to the table.
const ITEM_COST: u64 = 8;

/// An object of a FlatBuffer.
#[derive(Debug, Clone, Copy)]
pub struct BufferObject {
    /// Type.
    pub what: ObjectKind,
    /// Offset in the FlatBuffer.
    pub at: u32,
    /// Size in bytes, limited to the end of the FlatBuffer.
    pub size: u32,
    /// First object that refers to it.
    pub parent: u32,
    /// Slot or item of the parent that refers to it.
    pub step: u32,
    /// Number of references to it.
    pub referrers: u32,
    /// Next object that begins in the same four bytes, or `NONE`.
    next: u32,
    /// The size exceeds the bytes, or cannot be read.
    pub overrun: bool,
    /// Not all of its references were followed, because the budget was exhausted.
    pub abandoned: bool,
    /// A vtable of tables of different types.
    pub mixed: bool,
}

/// All objects of a FlatBuffer.
#[derive(Debug)]
pub struct Objects {
    /// Objects in preorder; the root is the first.
    pub list: Vec<BufferObject>,
    /// Last object found that begins in each group of four bytes, or `NONE`.
    heads: Vec<u32>,
}

impl Objects {
    /// Lists the objects that are reachable from the root.
    pub fn find(bytes: &[u8], root: &'static TableSchema) -> Objects {
        let budget = Budget::of(bytes.len());
        let heads = vec![NONE; bytes.len() / 4 + 1];
        let mut objects = Objects { list: Vec::with_capacity(bytes.len() / 13), heads };
        if let Some(at) = follow(bytes, 0) {
            objects.table(&budget, bytes, at, root, NONE, 0);
        }
        objects
    }

    /// Calls `take` with the index and the offset of each object, ascending by offset, then by index.
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

    /// Returns the object of this type at an offset, and `true` if it is new; `None` once the budget is exhausted.
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
        self.list.push(BufferObject { what, at, size: 4, parent, step, referrers: 1, next, overrun, abandoned, mixed });
        Some((id, true))
    }

    /// Sets the size of an object, limited to the end of the bytes.
    fn take(&mut self, id: u32, size: usize, bytes: &[u8]) {
        let object = &mut self.list[id as usize];
        let available = bytes.len() - object.at as usize;
        object.overrun = size > available;
        object.size = size.min(available) as u32;
    }

    /// Adds a table and everything reachable from it; returns `false` once the budget is exhausted.
    fn table(
        &mut self,
        budget: &Budget,
        bytes: &[u8],
        at: usize,
        schema: &'static TableSchema,
        parent: u32,
        step: u32,
    ) -> bool {
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
        // The fields determine the end of the table, because tables of different sizes may share a vtable. The size in
        // the vtable counts if the vtable has slots that the schema does not have.
        let mut end = if vtable.entry(schema.fields.len()).is_some() { vtable.inline.max(4) } else { 4 };
        let mut whole = true;
        for field in fields(bytes, at, vtable.entries(bytes), schema) {
            end = end.max(field.offset + field.content.size());
            if let Some(what) = field.object()
                && let Some(target) = follow(bytes, at + field.offset)
            {
                whole &= self.object(budget, bytes, target, what, id, field.slot as u32);
            }
        }
        self.take(id, end, bytes);
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
        let count = (self.list[id as usize].size as usize - 4) / 4;
        for index in 0..count {
            if !budget.spend(ITEM_COST) {
                self.list[id as usize].abandoned = true;
                return false;
            }
            let position = at + 4 + 4 * index;
            if let Some(target) = follow(bytes, position)
                && !self.table(budget, bytes, target, table, id, index as u32)
            {
                self.list[id as usize].abandoned = true;
                return false;
            }
        }
        true
    }
}

/// Returns `true` if two types at the same offset denote the same object.
fn same(a: ObjectKind, b: ObjectKind) -> bool {
    match (a, b) {
        (ObjectKind::Vtable(_), ObjectKind::Vtable(_)) | (ObjectKind::Text, ObjectKind::Text) => true,
        (ObjectKind::Table(a), ObjectKind::Table(b)) | (ObjectKind::Tables(a), ObjectKind::Tables(b)) => {
            std::ptr::eq(a, b)
        }
        (ObjectKind::Scalars(a), ObjectKind::Scalars(b)) => a == b,
        (
            ObjectKind::Vtable(_)
            | ObjectKind::Table(_)
            | ObjectKind::Tables(_)
            | ObjectKind::Scalars(_)
            | ObjectKind::Text,
            _,
        ) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::flatbuffer::tests::buffer;
    use crate::format::program::*;
    use crate::format::{Field, Kind};

    /// Name of the kind, offset and size of each object, in the order of their offsets.
    fn objects(bytes: &[u8], root: &'static TableSchema) -> Vec<(&'static str, u32, u32)> {
        let objects = Objects::find(bytes, root);
        let mut list = Vec::new();
        objects.in_order(|id, _| {
            let object = &objects.list[id as usize];
            let what = match object.what {
                ObjectKind::Vtable(_) => "vtable",
                ObjectKind::Table(table) => table.name,
                ObjectKind::Tables(_) => "tables",
                ObjectKind::Scalars(_) => "numbers",
                ObjectKind::Text => "text",
            };
            list.push((what, object.at, object.size));
        });
        list
    }

    /// A table `FrameList` at 16 with a vector of offsets at 24, all to one empty table after its vtable.
    fn list(count: u32) -> Vec<u8> {
        let mut rest = count.to_le_bytes().to_vec();
        (0..count).for_each(|index| rest.extend((4 * (count - index) + 4).to_le_bytes()));
        rest.extend([4, 0, 4, 0, 4, 0, 0, 0]);
        buffer(&[4], &4u32.to_le_bytes(), &rest)
    }

    #[test]
    fn every_object_is_found_once_with_its_size() {
        let expected =
            [("vtable", 10, 6), ("FrameList", 16, 8), ("tables", 24, 12), ("vtable", 36, 4), ("Frame", 40, 4)];
        assert_eq!(objects(&list(2), &FRAME_LIST), expected);
    }

    #[test]
    fn parents_come_before_their_children_and_referrers_are_counted() {
        let found = Objects::find(&list(3), &FRAME_LIST).list;
        assert_eq!((found[0].parent, found[0].at), (NONE, 16));
        let frame = found.iter().find(|object| object.at == 44).unwrap();
        assert_eq!((frame.referrers, found[frame.parent as usize].at, frame.step), (3, 24, 0));
    }

    #[test]
    fn a_string_takes_its_length_and_its_terminator() {
        let bytes = buffer(&[4], &4u32.to_le_bytes(), b"\x03\0\0\0abc\0");
        assert_eq!(objects(&bytes, &OPERATOR)[2], ("text", 24, 8));
    }

    #[test]
    fn an_object_beyond_the_end_takes_what_is_there() {
        let bytes = buffer(&[4], &4u32.to_le_bytes(), b"\xff\xff\xff\xffabc\0");
        let found = Objects::find(&bytes, &OPERATOR).list;
        let text = found.iter().find(|object| object.at == 24).unwrap();
        assert_eq!((text.size, text.overrun, found[0].overrun), (8, true, false));
    }

    #[test]
    fn a_table_without_a_vtable_takes_what_its_schemas_need_at_most() {
        let mut bytes = buffer(&[4], &[1, 0, 0, 0], &[0; 100]);
        bytes[16..20].copy_from_slice(&1000u32.to_le_bytes());
        let found = Objects::find(&bytes, &FREE_CALL).list;
        assert_eq!((found.len(), found[0].size, found[0].overrun), (1, 64, true));
    }

    #[test]
    fn what_an_unknown_tag_selects_is_not_followed() {
        let union = |tag: u8| {
            let bytes = buffer(&[4, 8], &[tag, 0, 0, 0, 8, 0, 0, 0], &[4, 0, 4, 0, 4, 0, 0, 0]);
            objects(&bytes, &EVALUE).len()
        };
        // Vtable and table, and those of the value.
        assert_eq!([union(0), union(1), union(2), union(12)], [2, 4, 4, 2]);
    }

    #[test]
    fn a_vtable_of_two_kinds_of_tables_is_mixed() {
        static BOTH: TableSchema = TableSchema {
            name: "Both",
            fields: &[
                Field { name: "a", kind: Kind::Table(&FREE_CALL) },
                Field { name: "b", kind: Kind::Table(&MOVE_CALL) },
            ],
        };
        // Two tables at 28 and 32 with the vtable at 36.
        let rest = [&(-8i32).to_le_bytes()[..], &(-4i32).to_le_bytes(), &[4, 0, 4, 0]].concat();
        let bytes = buffer(&[4, 8], &[8, 0, 0, 0, 8, 0, 0, 0], &rest);
        let mixed = |id: &&BufferObject| matches!(id.what, ObjectKind::Vtable(_)) && id.mixed;
        let found = Objects::find(&bytes, &BOTH).list;
        assert_eq!(found.iter().filter(mixed).map(|object| object.at).collect::<Vec<_>>(), [36]);
    }

    #[test]
    fn the_walk_of_many_references_to_the_same_bytes_is_abandoned() {
        let normal = Objects::find(&list(1000), &FRAME_LIST).list;
        assert!(normal.iter().all(|object| !object.abandoned));
        // Words of 400, each the length of a vector, an item of others, and the head of a table: 400 vectors of 400
        // items.
        let rest = [400u32; 3000].map(u32::to_le_bytes).concat();
        let found = Objects::find(&buffer(&[0, 0, 0, 4], &400u32.to_le_bytes(), &rest), &CHAIN).list;
        assert!(found[0].abandoned);
    }
}
