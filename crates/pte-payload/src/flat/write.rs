//! Writes a [`Table`] as a FlatBuffer, in the order of one of the known writers.

use std::collections::HashMap;

use flatbuffers::{FlatBufferBuilder, WIPOffset};

use super::schema::{Object, Schema, Type};
use super::value::{FlatError, Table, Value};
use pte_model::format::container::MAX_FLATBUFFER;
use pte_model::format::flatbuffer::number;
use pte_model::format::flatbuffer::write::{self, FieldValue, Offset};
use pte_model::format::serializer::EmptyVector;
use pte_model::format::words::words;

words! {
    /// Writers of FlatBuffers, which arrange the same content differently.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum FlatWriter {
        /// flatc, from JSON.
        Flatc "flatc",
        /// The builder of Python, with strings that are shared.
        Python "python",
        /// The same before release 25.12.19 of its package `flatbuffers`: tables of different sizes share vtables.
        PythonSharedVtables "python-shared-vtables",
        /// Functions that flatc generates for C++, with arguments evaluated from the last one on.
        Cpp "cpp",
    } Display;
}

/// Writes a table that has the types of the schema's root.
///
/// # Errors
/// More than a FlatBuffer holds, data that cannot be read.
pub fn write(schema: &Schema, root: &Table, writer: FlatWriter) -> Result<Vec<u8>, FlatError> {
    let fail = |message: String| FlatError { path: schema.root().name.clone(), at: None, message };
    if size(root) > MAX_FLATBUFFER {
        return Err(fail(format!("the content exceeds the {MAX_FLATBUFFER} bytes of a FlatBuffer")));
    }
    let builder = FlatBufferBuilder::with_capacity(1 << 10);
    let mut writer = Writer { schema, writer, builder, vtables: HashMap::new() };
    let root = writer.table(root, schema.root, false).map_err(|error| fail(error.to_string()))?;
    let identifier = schema.identifier.as_ref().map(|identifier| str::from_utf8(identifier));
    let identifier = identifier.transpose().map_err(|_| fail("an identifier that is not ASCII".to_owned()))?;
    writer.builder.finish(root, identifier);
    Ok(writer.builder.finished_data().to_vec())
}

/// Returns an upper bound of the size in bytes: tables with their vtables, vectors with their lengths.
fn size(table: &Table) -> u64 {
    let of_value = |value: &Value| match value {
        Value::Number(_) => 0,
        Value::Text(text) => text.len() as u64,
        Value::Table(table) | Value::Union(_, table) => size(table),
        Value::Struct(bytes) | Value::Structs(bytes) => 256 + bytes.len() as u64,
        Value::Numbers(blob) => 256 + blob.len(),
        Value::Texts(texts) => texts.iter().map(|text| 16 + text.len() as u64).sum(),
        Value::Tables(tables) => tables.iter().map(|table| 4 + size(table)).sum(),
    };
    let last = table.fields.last().map_or(0, |(slot, _)| *slot).max(table.unknown.last().map_or(0, |field| field.slot));
    let fields = table.fields.iter().map(|(_, value)| 32 + of_value(value));
    let unknown = table.unknown.iter().map(|field| 32 + field.bytes.len() as u64);
    fields.chain(unknown).fold(16 + 2 * u64::from(last), u64::saturating_add)
}

struct Writer<'a> {
    schema: &'a Schema,
    writer: FlatWriter,
    builder: FlatBufferBuilder<'static>,
    /// Offsets of vtables from the end, by their entries, for tables that the crate does not write.
    vtables: HashMap<Vec<u16>, u32>,
}

/// Content of a slot: a number or an offset, or a struct with its alignment.
enum Slot<'v> {
    Field(FieldValue),
    Struct(&'v [u8], usize),
}

impl Slot<'_> {
    /// Size by which flatc orders the fields; that of a struct is the size of an offset.
    fn order(&self) -> u8 {
        match self {
            Slot::Field(value) => value.size(),
            Slot::Struct(..) => 4,
        }
    }
}

impl Writer<'_> {
    /// Writes a table after what it refers to. `is_member` is true for the member of a union.
    fn table(&mut self, table: &Table, object: usize, is_member: bool) -> std::io::Result<Offset> {
        let schema = self.schema;
        let object = &schema.objects[object];
        let mut values: Vec<&(u16, Value)> = table.fields.iter().collect();
        sort(&object.order, &mut values, |(slot, _)| *slot);
        if is_member && self.writer == FlatWriter::Cpp {
            values.reverse();
        }
        // Functions for C++ take vectors of strings that exist.
        let texts = values.iter().filter(|_| self.writer == FlatWriter::Cpp).filter_map(|(slot, value)| match value {
            Value::Texts(texts) => Some((*slot, texts)),
            _ => None,
        });
        let texts: Vec<(u16, &Vec<String>)> = texts.collect();
        let mut strings: Vec<(u16, Vec<Offset>)> = Vec::new();
        let mut slots: Vec<(u16, Slot<'_>)> = Vec::new();
        for (slot, value) in values {
            let Some(ty) = object.at(*slot).map(|field| field.ty) else { continue };
            if let (Type::Union(_), Value::Union(tag, _)) = (ty, value) {
                slots.push((slot - 1, Slot::Field(FieldValue::Byte(*tag))));
            }
            if texts.iter().any(|(of, _)| of == slot) {
                if strings.is_empty() {
                    strings = texts.iter().map(|(slot, texts)| (*slot, self.strings(texts))).collect();
                }
                let items = strings.iter().find(|(of, _)| of == slot).map_or(&[][..], |(_, items)| items);
                let vector = write::vector(&mut self.builder, EmptyVector::Aligned, items);
                slots.push((*slot, Slot::Field(FieldValue::Child(Some(vector)))));
                continue;
            }
            slots.push((*slot, self.field(ty, value)?));
        }
        for field in &table.unknown {
            let value = FieldValue::of_bits(number(&field.bytes), field.bytes.len());
            slots.push((field.slot, Slot::Field(value)));
        }
        slots.sort_by_key(|(slot, _)| *slot);
        if self.writer == FlatWriter::PythonSharedVtables {
            return Ok(self.table_of_any_size(object, slots));
        }
        let start = self.builder.start_table();
        self.slots(object, slots);
        Ok(WIPOffset::new(self.builder.end_table(start).value()))
    }

    /// Writes a table without the crate, which compares the sizes of the tables that share a vtable.
    fn table_of_any_size(&mut self, object: &Object, mut slots: Vec<(u16, Slot<'_>)>) -> Offset {
        sort(&object.added, &mut slots, |(slot, _)| *slot);
        let used = |builder: &FlatBufferBuilder<'_>| builder.unfinished_data().len() as u32;
        let start = used(&self.builder);
        // Offset from the end, by slot; 0 if the field is absent.
        let mut ends: Vec<u32> = Vec::new();
        for (slot, value) in slots {
            ends.resize(ends.len().max(usize::from(slot) + 1), 0);
            ends[usize::from(slot)] = match value {
                Slot::Field(value) => value.push(&mut self.builder),
                Slot::Struct(bytes, alignment) => write::inline(&mut self.builder, bytes, alignment),
            };
        }
        let table = (used(&self.builder) + 4).next_multiple_of(4);
        // A schema has no tables of 64 KiB.
        let entries: Vec<u16> = ends.iter().map(|end| if *end == 0 { 0 } else { (table - end) as u16 }).collect();
        let known = self.vtables.get(&entries).copied();
        let place = known.unwrap_or(table + 4 + 2 * entries.len() as u32);
        self.builder.push(place.wrapping_sub(table) as i32);
        if known.is_none() {
            entries.iter().rev().for_each(|entry| _ = self.builder.push(*entry));
            self.builder.push((table - start) as u16);
            self.builder.push(4 + 2 * entries.len() as u16);
            self.vtables.insert(entries, place);
        }
        WIPOffset::new(table)
    }

    /// Writes the slots of a table.
    fn slots(&mut self, object: &Object, mut slots: Vec<(u16, Slot<'_>)>) {
        match self.writer {
            FlatWriter::Python | FlatWriter::PythonSharedVtables => {
                sort(&object.added, &mut slots, |(slot, _)| *slot);
                slots.iter().for_each(|(slot, value)| self.push(*slot, value));
            }
            FlatWriter::Flatc | FlatWriter::Cpp => {
                for size in [8, 4, 2, 1] {
                    let of_size = slots.iter().rev().filter(|(_, value)| value.order() == size);
                    of_size.for_each(|(slot, value)| self.push(*slot, value));
                }
            }
        }
    }

    fn push(&mut self, slot: u16, value: &Slot<'_>) {
        match value {
            Slot::Field(value) => value.push_slot(slot, &mut self.builder),
            Slot::Struct(bytes, alignment) => write::structure(&mut self.builder, slot, bytes, *alignment),
        }
    }

    /// Writes what a field refers to.
    fn field<'v>(&mut self, ty: Type, value: &'v Value) -> std::io::Result<Slot<'v>> {
        let empty = self.empty();
        let child = match value {
            Value::Number(bits) => {
                let (size, _) = self.schema.inline(ty);
                return Ok(Slot::Field(FieldValue::of_bits(*bits, size)));
            }
            Value::Struct(bytes) => return Ok(Slot::Struct(bytes, self.schema.inline(ty).1)),
            Value::Text(text) => self.string(text),
            Value::Table(table) => match ty {
                Type::Object(object) => self.table(table, object, false)?,
                _ => return Err(std::io::Error::other("a table in a field of another type")),
            },
            Value::Union(tag, table) => {
                let member = if let Type::Union(index) = ty { self.schema.enums[index].member(*tag) } else { None };
                let member = member.ok_or_else(|| std::io::Error::other(format!("no member has the tag {tag}")))?;
                self.table(table, member, true)?
            }
            Value::Numbers(blob) => {
                let (size, alignment) = match ty {
                    Type::Numbers(scalar, ..) if self.writer == FlatWriter::Cpp => (scalar.size(), scalar.size()),
                    Type::Numbers(scalar, _, alignment) => (scalar.size(), alignment.max(scalar.size())),
                    _ => (1, 1),
                };
                self.vector(&blob.to_vec()?, size, alignment)
            }
            Value::Structs(bytes) => {
                let layout = if let Type::Objects(object) = ty { self.schema.objects[object].layout } else { None };
                let (size, alignment) = layout.unwrap_or((1, 1));
                self.vector(bytes, size, alignment)
            }
            Value::Texts(texts) => {
                let strings = self.strings(texts);
                write::vector(&mut self.builder, empty, &strings)
            }
            Value::Tables(tables) => {
                let Type::Objects(object) = ty else { return Err(std::io::Error::other("tables in another type")) };
                let tables: std::io::Result<Vec<Offset>> =
                    tables.iter().map(|table| self.table(table, object, false)).collect();
                write::vector(&mut self.builder, empty, &tables?)
            }
        };
        Ok(Slot::Field(FieldValue::Child(Some(child))))
    }

    fn vector(&mut self, bytes: &[u8], size: usize, alignment: usize) -> Offset {
        match bytes.is_empty() && self.empty() == EmptyVector::LengthOnly {
            true => write::bare_length(&mut self.builder),
            false => write::items(&mut self.builder, bytes, bytes.len() / size.max(1), alignment),
        }
    }

    fn string(&mut self, text: &str) -> Offset {
        let string = match self.writer {
            FlatWriter::Python | FlatWriter::PythonSharedVtables => self.builder.create_shared_string(text),
            FlatWriter::Flatc | FlatWriter::Cpp => self.builder.create_string(text),
        };
        WIPOffset::new(string.value())
    }

    fn strings(&mut self, texts: &[String]) -> Vec<Offset> {
        texts.iter().map(|text| self.string(text)).collect()
    }

    /// Returns how the writer writes empty vectors.
    fn empty(&self) -> EmptyVector {
        match self.writer {
            FlatWriter::Flatc => EmptyVector::LengthOnly,
            FlatWriter::Python | FlatWriter::PythonSharedVtables | FlatWriter::Cpp => EmptyVector::Aligned,
        }
    }
}

/// Sorts by the position of a slot in a list; those that it does not have follow in their order.
fn sort<T>(order: &[u16], items: &mut [T], slot: impl Fn(&T) -> u16) {
    items.sort_by_key(|item| order.iter().position(|slot_of| *slot_of == slot(item)).unwrap_or(order.len()));
}
