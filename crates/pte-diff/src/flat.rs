//! Compares payloads that are FlatBuffers of a known schema: their content by paths, not their arrangement.

use std::hash::{DefaultHasher, Hash, Hasher};

use super::align::{align, with_gaps};
use super::difference::{DiffArea, DiffTopic, Differences, DifferingPart};
use pte_model::data::Blob;
use pte_model::data::number;
use pte_model::diagnostics::{clipped, counted};
use pte_model::format::flatbuffer::{self, Scalar};
use pte_payload::flat::schema::{Field, Schema, Type, element_type};
use pte_payload::flat::value::{Table, Value};

/// Compares the root tables of two payloads, whose paths are given. Returns `false` if they are equal.
pub fn compare(schema: &Schema, tables: [&Table; 2], paths: [&str; 2], found: &mut Differences) -> bool {
    let differs = hash_table(tables[0]) != hash_table(tables[1]);
    if differs {
        Comparison { schema }.tables(schema.root, tables, paths.map(str::to_owned), found);
    }
    differs
}

fn hex(bytes: &[u8]) -> String {
    clipped(&format!("hex {}", data_encoding::HEXLOWER.encode(&bytes[..bytes.len().min(32)])))
}

struct Comparison<'s> {
    schema: &'s Schema,
}

impl Comparison<'_> {
    fn tables(&self, object: usize, tables: [&Table; 2], paths: [String; 2], found: &mut Differences) {
        for field in &self.schema.objects[object].fields {
            let values = tables.map(|table| table.get(field.at));
            let paths = paths.each_ref().map(|path| format!("{path}.{}", field.name));
            match values {
                [None, None] => {}
                [Some(l), Some(r)] => self.values(field.ty, [l, r], paths, found),
                values => {
                    let text =
                        values.map(|value| value.map_or("absent".to_owned(), |value| self.text(field.ty, value)));
                    self.differing(paths, text.map(Some), found);
                }
            }
        }
        if tables[0].unknown != tables[1].unknown {
            let text = tables.map(|table| Some(counted(table.unknown.len() as u64, "unknown field")));
            self.differing(paths.map(|path| format!("{path}.unknown")), text, found);
        }
    }

    fn differing(&self, paths: [String; 2], text: [Option<String>; 2], found: &mut Differences) {
        found.differing(DiffArea::Meaning, DiffTopic::Delegate, paths, text);
    }

    fn values(&self, ty: Type, values: [&Value; 2], paths: [String; 2], found: &mut Differences) {
        match (ty, values) {
            (Type::Object(object), [Value::Table(l), Value::Table(r)]) => self.tables(object, [l, r], paths, found),
            (Type::Union(index), [Value::Union(l, left), Value::Union(r, right)]) if l == r => {
                if let Some(member) = self.schema.enums[index].member(*l) {
                    self.tables(member, [left, right], paths, found);
                }
            }
            (Type::Objects(object), [Value::Tables(l), Value::Tables(r)]) => self.lists(object, [l, r], &paths, found),
            (Type::Object(object), [Value::Struct(l), Value::Struct(r)]) if l != r => {
                let text = [l, r].map(|bytes| self.structure(object, bytes));
                // What no field shows, such as padding, is in the bytes.
                let text = if text[0] == text[1] { [l, r].map(|bytes| hex(bytes)) } else { text };
                self.differing(paths, text.map(Some), found);
            }
            (_, values) => {
                if hash(values[0]) != hash(values[1]) {
                    self.differing(paths, values.map(|value| Some(self.text(ty, value))), found);
                }
            }
        }
    }

    /// Compares lists of tables: by position if they have the same length, otherwise by equal items.
    fn lists(&self, object: usize, lists: [&[Table]; 2], paths: &[String; 2], found: &mut Differences) {
        let item = |side: usize, position: usize| format!("{}[{position}]", paths[side]);
        if lists[0].len() == lists[1].len() {
            for position in 0..lists[0].len() {
                let tables = lists.map(|list| &list[position]);
                if hash_table(tables[0]) != hash_table(tables[1]) {
                    self.tables(object, tables, [item(0, position), item(1, position)], found);
                }
            }
            return;
        }
        let hashes = lists.map(|list| list.iter().map(hash_table).collect::<Vec<u64>>());
        let pairs = align(&hashes[0], &hashes[1]);
        for pair in with_gaps(pairs, lists.map(<[Table]>::len)) {
            let part = |side: usize, position: usize| {
                DifferingPart::new(item(side, position), self.summary(object, &lists[side][position]))
            };
            found.both(DiffArea::Meaning, DiffTopic::Delegate, pair, part);
        }
    }

    /// Returns the first strings and numbers of a table on a line.
    fn summary(&self, object: usize, table: &Table) -> String {
        let object = &self.schema.objects[object];
        let fields = table.fields.iter().take(4).filter_map(|(slot, value)| {
            let field = object.at(*slot)?;
            Some(format!("{}: {}", field.name, self.text(field.ty, value)))
        });
        clipped(&format!("{} {}", object.name, fields.collect::<Vec<_>>().join(", ")))
    }

    fn text(&self, ty: Type, value: &Value) -> String {
        match (ty, value) {
            (Type::Number(scalar, names), Value::Number(bits)) => self.number(*bits, scalar, names),
            (_, Value::Text(text)) => clipped(text),
            (Type::Union(index), Value::Union(tag, _)) => {
                self.schema.enums[index].name_of((*tag).into()).map_or_else(|| format!("tag {tag}"), str::to_owned)
            }
            (Type::Numbers(scalar, names, _), Value::Numbers(blob)) => self.numbers(blob, scalar, names),
            (_, Value::Texts(texts)) => clipped(&format!("{texts:?}")),
            (_, Value::Tables(tables)) => counted(tables.len() as u64, "table"),
            (Type::Object(object), Value::Struct(bytes)) => self.structure(object, bytes),
            (_, Value::Struct(bytes) | Value::Structs(bytes)) => hex(bytes),
            (_, Value::Table(_)) => "present".to_owned(),
            (_, Value::Number(bits)) => bits.to_string(),
            (_, Value::Union(tag, _)) => format!("tag {tag}"),
            (_, Value::Numbers(blob)) => counted(blob.len(), "byte"),
        }
    }

    /// Returns the numbers of a struct with their names.
    fn structure(&self, object: usize, bytes: &[u8]) -> String {
        let field = |field: &Field| {
            let at = usize::from(field.at);
            let bytes = bytes.get(at..at + self.schema.inline(field.ty).0)?;
            let text = match field.ty {
                Type::Number(scalar, names) => self.number(flatbuffer::number(bytes), scalar, names),
                Type::Object(inner) => self.structure(inner, bytes),
                Type::Array(..) | Type::Text | Type::Union(_) | Type::Numbers(..) | Type::Texts | Type::Objects(_) => {
                    hex(bytes)
                }
            };
            Some(format!("{}: {text}", field.name))
        };
        let fields: Vec<String> = self.schema.objects[object].fields.iter().filter_map(field).collect();
        clipped(&format!("{{{}}}", fields.join(", ")))
    }

    fn number(&self, bits: u64, scalar: Scalar, names: Option<usize>) -> String {
        let (scalar_type, bytes) = (element_type(scalar), &bits.to_le_bytes()[..scalar.size()]);
        let text = || Some(number::element(number::decode(scalar_type, bytes)?, scalar_type.info()?.encoding));
        let name = self.schema.name_of(bits, scalar, names);
        name.map(str::to_owned).or_else(text).unwrap_or_else(|| bits.to_string())
    }

    /// Returns up to 16 numbers, and a hash if there are more.
    fn numbers(&self, blob: &Blob, scalar: Scalar, names: Option<usize>) -> String {
        let count = blob.len() / scalar.size() as u64;
        let Ok(bytes) = blob.read_at(0, blob.len().min(16 * scalar.size() as u64) as usize) else {
            return counted(count, "number");
        };
        let items: Vec<String> =
            bytes.chunks(scalar.size()).map(|item| self.number(flatbuffer::number(item), scalar, names)).collect();
        match count > 16 {
            true => format!("[{}, ...], hash {:016x}", items.join(", "), hash_blob(blob)),
            false => format!("[{}]", items.join(", ")),
        }
    }
}

fn hash_table(table: &Table) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (slot, value) in &table.fields {
        (slot, hash(value)).hash(&mut hasher);
    }
    table.unknown.iter().for_each(|field| (field.slot, &field.bytes).hash(&mut hasher));
    hasher.finish()
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    match value {
        Value::Number(bits) => bits.hash(&mut hasher),
        Value::Text(text) => text.hash(&mut hasher),
        Value::Table(table) => hash_table(table).hash(&mut hasher),
        Value::Struct(bytes) | Value::Structs(bytes) => bytes.hash(&mut hasher),
        Value::Union(tag, table) => (tag, hash_table(table)).hash(&mut hasher),
        Value::Numbers(blob) => hash_blob(blob).hash(&mut hasher),
        Value::Texts(texts) => texts.hash(&mut hasher),
        Value::Tables(tables) => tables.iter().for_each(|table| hash_table(table).hash(&mut hasher)),
    }
    hasher.finish()
}

fn hash_blob(blob: &Blob) -> u64 {
    let mut hasher = DefaultHasher::new();
    match blob.digest() {
        Ok(digest) => digest.hash(&mut hasher),
        Err(_) => blob.len().hash(&mut hasher),
    }
    hasher.finish()
}
