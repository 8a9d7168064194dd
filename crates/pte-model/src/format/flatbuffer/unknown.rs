//! Finds the parts of a FlatBuffer that its slot tables do not have: unknown fields of tables, unknown members of
//! unions, and the objects that they refer to.
//!
//! The type of an unknown field is not in the file. What is known is which bytes no table of the schema refers to, and
//! a writer leaves none of those but padding. A word is an offset if it leads to such bytes, and these are a string or
//! a table in all respects, or at least may be a vector. The object has the bytes up to the next one. If a word has two
//! meanings, or bytes remain without a reference, the parts are [fixed](UnknownParts::is_fixed): they can be written
//! where they are, but not be moved.
//!
//! Work and memory are bounded by the size of the file.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::walk::{BufferObject, NONE, Objects};
use super::{Budget, FieldEnds, ObjectKind, SlotContent, Vtable, array, fields, u32_at};
use crate::format::TableSchema;
use crate::format::unknown::{MAX_TABLE, TableStep, UnknownObject, UnknownParts, UnknownTable};

/// Cost of an object, in addition to its bytes.
const OBJECT_COST: u64 = 64;

/// Maximum size in bytes of padding between two objects: that of the largest alignment, without one.
const MAX_PADDING: usize = 15;

/// Finds the unknown parts of a FlatBuffer whose first `head` bytes are the file's preamble and header. `None` if
/// tables overlap and a copy of each would exceed the memory budget, a multiple of the size of the file.
pub fn find(bytes: &[u8], root: &'static TableSchema, head: usize) -> Option<UnknownParts> {
    find_in(bytes, &Objects::find(bytes, root), head)
}

/// As [`find`], of a FlatBuffer with these objects.
pub fn find_in(bytes: &[u8], objects: &Objects, head: usize) -> Option<UnknownParts> {
    let budget = Budget::of(bytes.len());
    let mut newer = Vec::new();
    for object in &objects.list {
        let ObjectKind::Table(schema) = object.what else { continue };
        let Some(vtable) = Vtable::of(bytes, object.at as usize) else { continue };
        let slots = unknown_slots(bytes, object.at as usize, &vtable, schema, &budget)?;
        if !slots.is_empty() {
            newer.push((object, schema, vtable, slots));
        }
    }
    if newer.is_empty() {
        return Some(UnknownParts::default());
    }
    let mut search = Search {
        bytes,
        known: KnownBytes::of(objects, head),
        nodes: BTreeMap::new(),
        vtables: BTreeMap::new(),
        weak: Vec::new(),
        budget,
        depth: 0,
        is_fixed: objects.list.iter().any(|object| object.abandoned || object.overrun),
    };
    let mut tables = Vec::new();
    for (object, schema, vtable, slots) in newer {
        let path = path_of(objects, object);
        let table = Image::of(bytes, object.at as usize, &vtable)?;
        search.spend(table.bytes.len() + 8 * path.len())?;
        tables.push(FoundTable { path, schema, slots, table });
    }
    for FoundTable { slots, table, .. } in &mut tables {
        for slot in slots {
            search.field(table, *slot)?;
        }
    }
    search.finish(tables, objects)
}

/// A table of the schema with unknown slots.
struct FoundTable {
    path: Vec<TableStep>,
    schema: &'static TableSchema,
    slots: Vec<u16>,
    table: Image,
}

/// Returns the slots of a table whose content the schema does not have: those beyond its fields, and the values of
/// unions with an unknown tag. `None` if the copies of a long vtable that tables share exceed the budget.
fn unknown_slots(
    bytes: &[u8],
    at: usize,
    vtable: &Vtable,
    schema: &'static TableSchema,
    budget: &Budget,
) -> Option<Vec<u16>> {
    let entries = vtable.entries(bytes);
    let is_affordable = budget.spend(2 * entries.len().saturating_sub(schema.fields.len()) as u64);
    let beyond = entries.iter().enumerate().skip(schema.fields.len()).filter(|(_, entry)| **entry != [0, 0]);
    let unions = fields(bytes, at, entries, schema).filter(|field| field.unknown_member().is_some());
    let slots = unions.map(|field| field.slot).chain(beyond.map(|(slot, _)| slot));
    is_affordable.then(|| slots.filter_map(|slot| u16::try_from(slot).ok()).collect())
}

/// Returns the steps from the root to a table, by its first parents.
fn path_of(objects: &Objects, object: &BufferObject) -> Vec<TableStep> {
    let mut path = Vec::new();
    let (mut object, mut item) = (object, None);
    while object.parent != NONE {
        let parent = &objects.list[object.parent as usize];
        match parent.what {
            ObjectKind::Tables(_) => item = Some(object.step),
            ObjectKind::Table(_) | ObjectKind::Vtable(_) | ObjectKind::Scalars(_) | ObjectKind::Text => {
                path.push(TableStep { slot: object.step as u16, item: item.take() });
            }
        }
        object = parent;
    }
    path.reverse();
    path
}

/// The bytes of a table as in the file.
struct Image {
    at: usize,
    vtable: Vec<u16>,
    ends: FieldEnds,
    bytes: Vec<u8>,
    /// Position of each reference, and offset of the target in the FlatBuffer.
    references: Vec<(u32, usize)>,
}

impl Image {
    /// Copies a table; `None` if it is not inside the FlatBuffer, or larger than tables may be.
    fn of(bytes: &[u8], at: usize, vtable: &Vtable) -> Option<Image> {
        let image =
            bytes.get(at..at.checked_add(vtable.inline)?).filter(|image| (4..=MAX_TABLE).contains(&image.len()))?;
        let entries = bytes.get(vtable.at + 4..vtable.at.checked_add(vtable.size)?)?;
        let entries = entries.as_chunks().0.iter().map(|entry| u16::from_le_bytes(*entry));
        let ends = FieldEnds::of(entries.clone(), vtable.inline as u16);
        let vtable = std::iter::once(vtable.inline as u16).chain(entries).collect();
        let mut bytes = image.to_vec();
        bytes[..4].fill(0);
        Some(Image { at, vtable, ends, bytes, references: Vec::new() })
    }

    /// Returns the range of a field in the table: up to the next field, or to the end.
    fn field(&self, slot: u16) -> Option<std::ops::Range<usize>> {
        let (size, entries) = self.vtable.split_first()?;
        let start = *entries.get(usize::from(slot)).filter(|offset| **offset >= 4 && *offset < size)?;
        Some(start.into()..self.ends.after(start)?.into())
    }

    /// Sets the bytes of the fields of the schema to zero, except those of `kept` slots.
    fn clear_known(&mut self, schema: &TableSchema, kept: &[u16]) {
        for (slot, field) in (0u16..).zip(schema.fields) {
            let Some(range) = self.field(slot).filter(|_| !kept.contains(&slot)) else { continue };
            let end = range.end.min(range.start + SlotContent::of(field.kind).size());
            self.bytes[range.start..end].fill(0);
        }
    }

    /// Returns the object, with zeros in place of references.
    fn object(mut self, len: usize, id: impl Fn(usize) -> Option<u32>) -> Option<UnknownObject> {
        let mut references = Vec::with_capacity(self.references.len());
        for (position, target) in self.references {
            self.bytes[position as usize..][..4].fill(0);
            references.push((position, id(target)?));
        }
        let end = u32::try_from(len - self.at).ok()?;
        Some(UnknownObject { end, vtable: self.vtable, bytes: self.bytes, references })
    }
}

/// The bytes that tables of the schema refer to.
struct KnownBytes {
    /// Ranges, ascending and disjoint.
    ranges: Vec<(usize, usize)>,
    /// Offsets of objects other than vtables.
    starts: HashSet<usize>,
    /// Offsets of vtables.
    vtables: HashSet<usize>,
}

impl KnownBytes {
    fn of(objects: &Objects, head: usize) -> KnownBytes {
        let mut known = KnownBytes { ranges: vec![(0, head)], starts: HashSet::new(), vtables: HashSet::new() };
        objects.in_order(|id, at| {
            let (object, at) = (&objects.list[id as usize], at as usize);
            let end = at + object.size as usize;
            match object.what {
                ObjectKind::Vtable(_) => known.vtables.insert(at),
                ObjectKind::Table(_) | ObjectKind::Tables(_) | ObjectKind::Scalars(_) | ObjectKind::Text => {
                    known.starts.insert(at)
                }
            };
            match known.ranges.last_mut().filter(|last| at <= last.1) {
                Some(last) => last.1 = last.1.max(end),
                None => known.ranges.push((at, end)),
            }
        });
        known
    }

    /// Returns true if no table of the schema refers to any of these bytes.
    fn is_free(&self, start: usize, end: usize) -> bool {
        let next = self.ranges.partition_point(|(_, stop)| *stop <= start);
        self.ranges.get(next).is_none_or(|(first, _)| *first >= end)
    }

    /// Returns the end of the free bytes from `start` on.
    fn end_of_free(&self, start: usize, len: usize) -> usize {
        let next = self.ranges.partition_point(|(_, stop)| *stop <= start);
        self.ranges.get(next).map_or(len, |(first, _)| *first)
    }
}

/// An object that only unknown parts refer to.
enum Node {
    /// A table, with its bytes.
    Table(Image),
    /// A vector of offsets to tables or strings, by the offsets of these.
    Offsets(Vec<usize>),
    /// A string, of this size in bytes with length and terminator.
    Text(usize),
    /// A vector of numbers or structs, by the number of its items.
    Vector(usize),
    /// A table that is being read.
    Open(usize),
}

impl Node {
    /// Size in bytes; of a vector the least that it may have.
    fn size(&self) -> usize {
        match self {
            Node::Table(table) => table.bytes.len(),
            Node::Offsets(items) => 4 + 4 * items.len(),
            Node::Text(size) | Node::Open(size) => *size,
            Node::Vector(count) => 4 + count,
        }
    }
}

/// Meaning of a word that may be an offset.
enum Meaning {
    Number,
    Offset,
    /// Perhaps a vector; known when all other objects are.
    Weak,
    /// Both are possible.
    Ambiguous,
}

struct Search<'b> {
    bytes: &'b [u8],
    known: KnownBytes,
    /// Objects by offset.
    nodes: BTreeMap<usize, Node>,
    /// Vtables of unknown tables that no known table has: offset and end.
    vtables: BTreeMap<usize, usize>,
    /// Offsets that may lead to vectors: table that has the word, its position, and the target.
    weak: Vec<(usize, u32, usize)>,
    budget: Budget,
    /// Number of unknown tables around the current one.
    depth: u32,
    is_fixed: bool,
}

/// Maximum depth of unknown tables.
const MAX_DEPTH: u32 = 64;

impl Search<'_> {
    fn spend(&self, bytes: usize) -> Option<()> {
        self.budget.spend(bytes as u64 + OBJECT_COST).then_some(())
    }

    /// Follows an unknown field of a table, if it is an offset.
    fn field(&mut self, table: &mut Image, slot: u16) -> Option<()> {
        let Some(range) = table.field(slot) else {
            self.is_fixed = true;
            return Some(());
        };
        let position = table.at + range.start;
        if range.len() < 4 || !position.is_multiple_of(4) {
            return Some(());
        }
        let offset = array(&table.bytes, range.start).map_or(0, u32::from_le_bytes) as usize;
        let target = position.saturating_add(offset);
        if offset == 0 || target >= self.bytes.len() || !target.is_multiple_of(4) {
            return Some(());
        }
        let place = u32::try_from(range.start).ok()?;
        match self.object(target)? {
            Meaning::Number => {}
            Meaning::Offset => table.references.push((place, target)),
            Meaning::Weak => self.weak.push((table.at, place, target)),
            Meaning::Ambiguous => self.is_fixed = true,
        }
        Some(())
    }

    /// Visits the object at an offset with all objects that it refers to.
    fn object(&mut self, at: usize) -> Option<Meaning> {
        if self.nodes.contains_key(&at) {
            // An offset to it was found; a number has the same value only by chance, but objects are rarely shared.
            self.is_fixed = true;
            return Some(Meaning::Offset);
        }
        if !self.known.is_free(at, at + 4) {
            return Some(if self.known.starts.contains(&at) { Meaning::Ambiguous } else { Meaning::Number });
        }
        if let Some(end) = self.string(at) {
            self.add(at, Node::Text(end - at))?;
            return Some(Meaning::Offset);
        }
        if self.depth == MAX_DEPTH {
            return Some(Meaning::Ambiguous);
        }
        if let Some(table) = self.table(at) {
            return self.add_table(at, table).map(|()| Meaning::Offset);
        }
        if let Some(items) = self.offsets(at) {
            self.add(at, Node::Offsets(items.clone()))?;
            for item in items {
                self.object(item)?;
            }
            return Some(Meaning::Offset);
        }
        Some(match u32_at(self.bytes, at) {
            Some(0) => Meaning::Ambiguous,
            Some(count) if (count as usize) <= self.known.end_of_free(at, self.bytes.len()) - at - 4 => Meaning::Weak,
            Some(_) | None => Meaning::Number,
        })
    }

    fn add(&mut self, at: usize, node: Node) -> Option<()> {
        self.spend(node.size())?;
        self.nodes.insert(at, node);
        Some(())
    }

    /// Adds a table, and the objects that its fields refer to.
    fn add_table(&mut self, at: usize, vtable: Vtable) -> Option<()> {
        let mut table = Image::of(self.bytes, at, &vtable)?;
        if !self.known.vtables.contains(&vtable.at) {
            self.vtables.insert(vtable.at, vtable.at + vtable.size);
        }
        self.add(at, Node::Open(table.bytes.len()))?;
        self.depth += 1;
        for slot in 0..table.vtable.len() as u16 - 1 {
            if table.field(slot).is_some() {
                self.field(&mut table, slot)?;
            }
        }
        self.depth -= 1;
        self.nodes.insert(at, Node::Table(table));
        Some(())
    }

    /// Returns the end of the string at an offset, with its terminator; `None` if there is none, or it is empty.
    fn string(&self, at: usize) -> Option<usize> {
        let start = at.checked_add(4)?;
        let end = start.checked_add(u32_at(self.bytes, at)? as usize)?;
        let text = self.bytes.get(start..end).filter(|text| !text.is_empty() && self.bytes.get(end) == Some(&0))?;
        let is_free = self.known.is_free(at, end + 1) && self.budget.spend(text.len() as u64);
        (is_free && !text.contains(&0) && std::str::from_utf8(text).is_ok()).then_some(end + 1)
    }

    /// Returns the vtable of the table at an offset; `None` if there is none.
    fn table(&self, at: usize) -> Option<Vtable> {
        let vtable = Vtable::of(self.bytes, at)?;
        let end = vtable.at.checked_add(vtable.size)?;
        let sizes_fit = vtable.size >= 4 && vtable.size % 2 == 0 && vtable.at % 2 == 0 && vtable.inline >= 4;
        let is_own = self.known.vtables.contains(&vtable.at) || self.known.is_free(vtable.at, end);
        let is_free = self.known.is_free(at, at.checked_add(vtable.inline)?) && at + vtable.inline <= self.bytes.len();
        if !sizes_fit || !is_own || !is_free || !self.budget.spend(vtable.size as u64) {
            return None;
        }
        let entries = self.bytes.get(vtable.at + 4..end)?.as_chunks().0.iter().map(|entry| u16::from_le_bytes(*entry));
        let fits = |entry: u16| entry == 0 || (4..vtable.inline).contains(&entry.into());
        entries.into_iter().all(fits).then_some(vtable)
    }

    /// Returns the targets of a vector of offsets to strings or tables; `None` if there is none.
    fn offsets(&self, at: usize) -> Option<Vec<usize>> {
        let count = u32_at(self.bytes, at)? as usize;
        let end = at.checked_add(count.checked_mul(4)?.checked_add(4)?)?;
        if count == 0 || end > self.bytes.len() || !self.known.is_free(at, end) || !self.budget.spend(4 * count as u64)
        {
            return None;
        }
        (0..count)
            .map(|item| {
                let position = at + 4 + 4 * item;
                let target = position.checked_add(u32_at(self.bytes, position)? as usize)?;
                let is_object = target.is_multiple_of(4) && target >= end && self.known.is_free(target, target + 4);
                (is_object && (self.string(target).is_some() || self.table(target).is_some())).then_some(target)
            })
            .collect()
    }

    /// Adds the vectors that nothing contradicts, and their references.
    fn vectors(&mut self, tables: &mut [FoundTable]) -> Option<()> {
        let numbers: HashMap<usize, usize> = tables.iter().map(|found| found.table.at).zip(0..).collect();
        for (owner, place, at) in std::mem::take(&mut self.weak) {
            let count = u32_at(self.bytes, at).unwrap_or(0) as usize;
            let end = at + 4 + count;
            let overlaps = |(start, size): (usize, usize)| start < end && start + size > at;
            let before = self.nodes.range(..at).next_back().map(|(start, node)| (*start, node.size()));
            let after = self.nodes.range(at + 1..).next().map(|(start, _)| (*start, 1));
            let vtable = self.vtables.range(..end).next_back().map(|(start, end)| (*start, end - start));
            match self.nodes.contains_key(&at) {
                true => self.is_fixed = true,
                false if [before, after, vtable].into_iter().flatten().any(overlaps) => continue,
                false => self.add(at, Node::Vector(count))?,
            }
            let table = match self.nodes.get_mut(&owner) {
                Some(Node::Table(table)) => Some(table),
                Some(Node::Offsets(_) | Node::Text(_) | Node::Vector(_) | Node::Open(_)) => None,
                None => numbers.get(&owner).map(|number| &mut tables[*number].table),
            };
            table?.references.push((place, at));
        }
        Some(())
    }

    /// Returns the end of the bytes of an object: the start of the next one.
    fn end(&self, at: usize) -> usize {
        let free = self.known.end_of_free(at, self.bytes.len());
        let node = self.nodes.range(at + 1..).next().map_or(free, |(start, _)| *start);
        let vtable = self.vtables.range(at + 1..).next().map_or(free, |(start, _)| *start);
        free.min(node).min(vtable)
    }

    /// Returns true if bytes are padding.
    fn is_padding(&self, start: usize, end: usize) -> bool {
        end.saturating_sub(start) <= MAX_PADDING
            && self.bytes.get(start..end).is_none_or(|bytes| bytes.iter().all(|byte| *byte == 0))
    }

    /// Returns true if the bytes of an object up to the next one are its content and padding.
    fn is_whole(&self, at: usize, node: &Node) -> bool {
        let end = self.end(at);
        match node {
            Node::Vector(count) => {
                let width = (end - at - 4) / (*count).max(1);
                width > 0 && self.is_padding(at + 4 + width * count, end)
            }
            Node::Table(_) | Node::Offsets(_) | Node::Text(_) | Node::Open(_) => {
                at + node.size() <= end && self.is_padding(at + node.size(), end)
            }
        }
    }

    /// Returns true if bytes that belong to no object are left, other than padding.
    fn has_remains(&self) -> bool {
        let (starts, ends): (Vec<usize>, Vec<usize>) = self.known.ranges.iter().copied().unzip();
        let gaps = ends.into_iter().zip(starts.into_iter().skip(1).chain([self.bytes.len()]));
        let first = |start: usize| {
            let node = self.nodes.range(start..).next().map_or(usize::MAX, |(at, _)| *at);
            self.vtables.range(start..).next().map_or(node, |(at, _)| node.min(*at))
        };
        // The bytes after an object count as its own.
        gaps.into_iter().any(|(start, end)| !self.is_padding(start, end.min(first(start)).max(start)))
    }

    /// Numbers the objects, the last one of the file first.
    fn finish(mut self, mut tables: Vec<FoundTable>, objects: &Objects) -> Option<UnknownParts> {
        self.vectors(&mut tables)?;
        self.is_fixed |= self.has_remains() || !self.nodes.iter().all(|(at, node)| self.is_whole(*at, node));
        let len = self.bytes.len();
        let ids: HashMap<usize, u32> = self.nodes.keys().rev().copied().zip(0..).collect();
        let id = |at: usize| ids.get(&at).copied();
        let ends: Vec<usize> = self.nodes.keys().map(|at| self.end(*at)).collect();
        let mut parts = UnknownParts::default();
        for ((at, node), end) in self.nodes.into_iter().zip(ends).rev() {
            let leaf = |bytes: Vec<u8>, references| Image {
                at,
                vtable: Vec::new(),
                ends: FieldEnds::default(),
                bytes,
                references,
            };
            // The width of the items of a vector is unknown, so that zeros at the end may be items.
            let end = if let Node::Vector(_) = node { end } else { end.min(at + node.size()) };
            let bytes = || self.bytes.get(at..end).map(<[u8]>::to_vec).unwrap_or_default();
            let image = match node {
                Node::Table(table) => table,
                Node::Offsets(items) => {
                    let positions = (0..).map(|item: u32| 4 + 4 * item);
                    leaf(bytes(), positions.zip(items).collect())
                }
                Node::Text(_) | Node::Vector(_) | Node::Open(_) => leaf(bytes(), Vec::new()),
            };
            self.is_fixed |= image.bytes.len() < 4;
            parts.objects.push(image.object(len, id)?);
        }
        for FoundTable { path, schema, slots, mut table } in tables {
            table.clear_known(schema, &slots);
            parts.tables.push(UnknownTable { path, name: schema.name, object: table.object(len, id)? });
        }
        parts.root_end = objects.list.first().map_or(0, |root| len as u32 - root.at);
        parts.is_fixed = self.is_fixed;
        Some(parts)
    }
}

#[cfg(test)]
mod tests;
