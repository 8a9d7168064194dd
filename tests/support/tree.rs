//! FlatBuffers as trees that tests change and write again, for any schema of the crate.
//!
//! Trees are read from valid files only; nothing here validates.

use std::fmt;

use pte_model::format::{Kind, TableSchema};

/// A table.
#[derive(Clone)]
pub struct Tree {
    pub schema: &'static TableSchema,
    /// By slot.
    pub fields: Vec<Item>,
}

/// A field of a table.
#[derive(Debug, Clone)]
pub enum Item {
    Absent,
    /// A number or a tag, as its bits.
    Bits(u64),
    /// A vector of numbers of four bytes.
    Ints(Vec<u32>),
    /// A vector of numbers of eight bytes, as their bits.
    Longs(Vec<u64>),
    Bytes(Vec<u8>),
    Text(Vec<u8>),
    Table(Tree),
    Tables(Vec<Tree>),
}

/// Size of a number in bytes.
fn width(kind: Kind) -> usize {
    match kind {
        Kind::UnionTag | Kind::Bool | Kind::Byte | Kind::Enum(_) => 1,
        Kind::Short => 2,
        Kind::ULong | Kind::Long | Kind::Double => 8,
        _ => 4,
    }
}

/// The schema's name and the fields that are there, in one line.
impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.schema.fields.iter().zip(&self.fields);
        let fields = fields.filter(|(_, item)| !matches!(item, Item::Absent));
        write!(f, "{}", self.schema.name)?;
        f.debug_map().entries(fields.map(|(field, item)| (field.name, item))).finish()
    }
}

impl Tree {
    /// A table without fields.
    pub fn new(schema: &'static TableSchema) -> Tree {
        Tree { schema, fields: vec![Item::Absent; schema.fields.len()] }
    }

    /// Slot of a field.
    pub fn slot(&self, name: &str) -> usize {
        let slot = self.schema.fields.iter().position(|field| field.name == name);
        slot.unwrap_or_else(|| panic!("no field {name} in {}", self.schema.name))
    }

    pub fn set(mut self, name: &str, item: impl Into<Item>) -> Tree {
        let slot = self.slot(name);
        self.fields[slot] = item.into();
        self
    }

    /// Returns a field.
    pub fn get(&self, name: &str) -> &Item {
        &self.fields[self.slot(name)]
    }

    /// Returns a field to change it.
    pub fn get_mut(&mut self, name: &str) -> &mut Item {
        let slot = self.slot(name);
        &mut self.fields[slot]
    }

    /// Returns a number or a tag; 0 if it is absent.
    pub fn bits(&self, name: &str) -> u64 {
        match self.get(name) {
            Item::Bits(bits) => *bits,
            _ => 0,
        }
    }

    /// Sets a union.
    pub fn set_union(self, name: &str, tag: u8, table: Tree) -> Tree {
        self.set(&format!("{name}_type"), u64::from(tag)).set(name, Item::Table(table))
    }

    /// Reads a FlatBuffer.
    pub fn read(bytes: &[u8], root: &'static TableSchema) -> Tree {
        read_table(bytes, follow(bytes, 0), root)
    }

    /// Writes a FlatBuffer, with this many bytes of zeros after its identifier.
    pub fn write(&self, identifier: &str, header: usize) -> Vec<u8> {
        let mut bytes = vec![0; 8 + header];
        bytes[4..8].copy_from_slice(identifier.as_bytes());
        let root = write_table(&mut bytes, self);
        bytes[..4].copy_from_slice(&(root as u32).to_le_bytes());
        bytes
    }

    /// The items of a vector of tables; none if it is absent.
    pub fn tables(&mut self, name: &str) -> &mut Vec<Tree> {
        let slot = self.slot(name);
        if !matches!(self.fields[slot], Item::Tables(_)) {
            self.fields[slot] = Item::Tables(Vec::new());
        }
        match &mut self.fields[slot] {
            Item::Tables(tables) => tables,
            _ => unreachable!(),
        }
    }
}

impl From<u64> for Item {
    fn from(bits: u64) -> Item {
        Item::Bits(bits)
    }
}

impl From<f32> for Item {
    fn from(number: f32) -> Item {
        Item::Bits(u64::from(number.to_bits()))
    }
}

impl From<&[u64]> for Item {
    fn from(items: &[u64]) -> Item {
        Item::Ints(items.iter().map(|item| *item as u32).collect())
    }
}

/// Returns a number of `width` bytes.
pub fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    let mut word = [0; 8];
    word[..width].copy_from_slice(&bytes[at..at + width]);
    u64::from_le_bytes(word)
}

fn follow(bytes: &[u8], at: usize) -> usize {
    at + number(bytes, at, 4) as usize
}

fn read_table(bytes: &[u8], at: usize, schema: &'static TableSchema) -> Tree {
    let vtable = (at as i64 - i64::from(number(bytes, at, 4) as i32)) as usize;
    let size = number(bytes, vtable, 2) as usize;
    let mut tree = Tree::new(schema);
    let mut tag = 0;
    for (slot, field) in schema.fields.iter().enumerate() {
        let entry = 4 + 2 * slot;
        let offset = if entry < size { number(bytes, vtable + entry, 2) as usize } else { 0 };
        if offset == 0 {
            continue;
        }
        let at = at + offset;
        let vector = |width: usize| {
            let from = follow(bytes, at);
            let count = number(bytes, from, 4) as usize;
            (from + 4, count, bytes[from + 4..from + 4 + count * width].to_vec())
        };
        tree.fields[slot] = match field.kind {
            Kind::UnionTag => {
                tag = number(bytes, at, 1) as usize;
                Item::Bits(tag as u64)
            }
            Kind::Union(members) if tag == 0 || tag > members.len() => Item::Absent,
            Kind::Union(members) => Item::Table(read_table(bytes, follow(bytes, at), members[tag - 1])),
            Kind::Table(schema) => Item::Table(read_table(bytes, follow(bytes, at), schema)),
            Kind::Tables(schema) => {
                let (from, count, _) = vector(4);
                let item = |index: usize| read_table(bytes, follow(bytes, from + 4 * index), schema);
                Item::Tables((0..count).map(item).collect())
            }
            Kind::Ints | Kind::UInts | Kind::Floats => {
                let items = vector(4).2.chunks(4).map(|word| number(word, 0, 4) as u32).collect();
                Item::Ints(items)
            }
            Kind::Longs | Kind::ULongs | Kind::Doubles => {
                Item::Longs(vector(8).2.chunks(8).map(|word| number(word, 0, 8)).collect())
            }
            Kind::Bytes | Kind::AlignedBytes(_) | Kind::Bools => Item::Bytes(vector(1).2),
            Kind::Text => Item::Text(vector(1).2),
            kind => Item::Bits(number(bytes, at, width(kind))),
        };
    }
    tree
}

/// Pads with zeros.
pub fn align(bytes: &mut Vec<u8>, alignment: usize) {
    bytes.resize(bytes.len().next_multiple_of(alignment), 0);
}

fn put(bytes: &mut [u8], at: usize, target: usize) {
    bytes[at..at + 4].copy_from_slice(&((target - at) as u32).to_le_bytes());
}

/// Writes the vtable, the table, and then what it refers to; returns the offset of the table.
fn write_table(bytes: &mut Vec<u8>, tree: &Tree) -> usize {
    align(bytes, 2);
    let mut offsets = Vec::new();
    let mut end = 4;
    for (item, field) in tree.fields.iter().zip(tree.schema.fields) {
        if matches!(item, Item::Absent) {
            offsets.push(0);
            continue;
        }
        let width = width(field.kind);
        let at = usize::next_multiple_of(end, width);
        offsets.push(at);
        end = at + width;
    }
    let vtable = bytes.len();
    bytes.extend((4 + 2 * offsets.len() as u16).to_le_bytes());
    bytes.extend((end as u16).to_le_bytes());
    offsets.iter().for_each(|offset| bytes.extend((*offset as u16).to_le_bytes()));
    align(bytes, 8);
    let table = bytes.len();
    bytes.resize(table + end, 0);
    bytes[table..table + 4].copy_from_slice(&((table - vtable) as u32).to_le_bytes());
    for ((item, field), offset) in tree.fields.iter().zip(tree.schema.fields).zip(offsets) {
        let at = table + offset;
        let vector = |bytes: &mut Vec<u8>, count: usize, alignment: usize, data: &[u8]| {
            bytes.resize((bytes.len() + 4).next_multiple_of(alignment) - 4, 0);
            let from = bytes.len();
            put(bytes, at, from);
            bytes.extend((count as u32).to_le_bytes());
            bytes.extend(data);
            from + 4
        };
        match item {
            Item::Absent => {}
            Item::Bits(bits) => {
                let width = width(field.kind);
                bytes[at..at + width].copy_from_slice(&bits.to_le_bytes()[..width]);
            }
            Item::Ints(items) => {
                let data: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
                vector(bytes, items.len(), 4, &data);
            }
            Item::Longs(items) => {
                let data: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
                vector(bytes, items.len(), 8, &data);
            }
            Item::Bytes(items) => {
                vector(bytes, items.len(), 16, items);
            }
            Item::Text(items) => {
                vector(bytes, items.len(), 4, items);
                bytes.push(0);
            }
            Item::Table(child) => {
                let child = write_table(bytes, child);
                put(bytes, at, child);
            }
            Item::Tables(children) => {
                let from = vector(bytes, children.len(), 4, &vec![0; 4 * children.len()]);
                for (index, child) in children.iter().enumerate() {
                    let child = write_table(bytes, child);
                    put(bytes, from + 4 * index, child);
                }
            }
        }
    }
    table
}
