//! Changes bytes of fields in a well-formed FlatBuffer; fields are named by paths.

use pte_model::format::{Kind, TableSchema};

/// File to change.
pub struct Patch {
    /// Bytes of the file.
    pub bytes: Vec<u8>,
    root: &'static TableSchema,
}

/// Field of a table.
struct Field {
    /// Offset of its vtable entry.
    entry: usize,
    /// Offset of the field; of the table if it is absent.
    at: usize,
    kind: Kind,
}

impl Patch {
    /// Starts with the bytes of a file.
    pub fn new(bytes: Vec<u8>, root: &'static TableSchema) -> Patch {
        Patch { bytes, root }
    }

    fn u32(&self, at: usize) -> usize {
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap()) as usize
    }

    fn follow(&self, at: usize) -> usize {
        at + self.u32(at)
    }

    fn vtable(&self, table: usize) -> usize {
        (table as i64 - i64::from(self.u32(table) as u32 as i32)) as usize
    }

    fn field(&self, table: usize, schema: &'static TableSchema, name: &str) -> Field {
        let slot = schema.fields.iter().position(|field| field.name == name);
        let slot = slot.unwrap_or_else(|| panic!("{} has no {name}", schema.name));
        let entry = self.vtable(table) + 4 + 2 * slot;
        let offset = usize::from(u16::from_le_bytes([self.bytes[entry], self.bytes[entry + 1]]));
        Field { entry, at: table + offset, kind: schema.fields[slot].kind }
    }

    /// Finds a field or an item by its path, such as `execution_plan[0].values[3].val.sizes[1]`. Returns its offset and
    /// its field.
    fn find(&self, path: &str) -> (usize, Field) {
        let (mut table, mut schema) = (self.follow(0), self.root);
        let mut steps = path.split('.').peekable();
        while let Some(step) = steps.next() {
            let (name, index) = match step.split_once('[') {
                Some((name, index)) => (name, Some(index.trim_end_matches(']').parse::<usize>().unwrap())),
                None => (step, None),
            };
            let field = self.field(table, schema, name);
            let at = match index {
                Some(index) => {
                    let width = match field.kind {
                        Kind::Longs | Kind::ULongs | Kind::Doubles => 8,
                        Kind::Ints | Kind::UInts | Kind::Floats | Kind::Tables(_) => 4,
                        _ => 1,
                    };
                    self.follow(field.at) + 4 + width * index
                }
                None => field.at,
            };
            if steps.peek().is_none() {
                return (at, field);
            }
            (schema, table) = match field.kind {
                Kind::Table(child) | Kind::Tables(child) => (child, self.follow(at)),
                Kind::Union(members) => {
                    let tag = self.field(table, schema, &format!("{name}_type"));
                    (members[usize::from(self.bytes[tag.at]) - 1], self.follow(at))
                }
                _ => panic!("{step} of {path} is not a table"),
            };
        }
        panic!("an empty path")
    }

    /// Offset of a field or an item.
    pub fn at(&self, path: &str) -> usize {
        self.find(path).0
    }

    /// Offset of the vtable entry of a field.
    pub fn entry(&self, path: &str) -> usize {
        self.find(path).1.entry
    }

    /// Offset of the table, vector or string that a field or an item refers to.
    pub fn target(&self, path: &str) -> usize {
        self.follow(self.at(path))
    }

    /// Offset of the vtable of the table that a field or an item refers to; of the root table for an empty path.
    pub fn vtable_of(&self, path: &str) -> usize {
        self.vtable(if path.is_empty() { self.follow(0) } else { self.target(path) })
    }

    /// Writes bytes.
    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Writes bytes to a field or an item.
    pub fn set(&mut self, path: &str, bytes: &[u8]) {
        let (at, field) = self.find(path);
        let offset = u16::from_le_bytes([self.bytes[field.entry], self.bytes[field.entry + 1]]);
        assert_ne!(offset, 0, "{path} is absent");
        self.write(at, bytes);
    }

    /// Writes a number of four bytes to a field or an item.
    pub fn set32(&mut self, path: &str, number: i32) {
        self.set(path, &number.to_le_bytes());
    }

    /// Writes a number of eight bytes to a field or an item.
    pub fn set64(&mut self, path: &str, number: u64) {
        self.set(path, &number.to_le_bytes());
    }

    /// Removes a field from all tables that share its vtable.
    pub fn drop(&mut self, path: &str) {
        let entry = self.entry(path);
        self.write(entry, &[0, 0]);
    }
}
