//! Writes a [`Table`] as a FlatBuffer, in the order of one of the known writers.

use flatbuffers::{FlatBufferBuilder, WIPOffset};

use super::schema::{Schema, Type};
use super::value::{FlatError, Table, Value};
use pte_model::format::container::MAX_FLATBUFFER;
use pte_model::format::flatbuffer::write::{self, FieldValue, Offset};
use pte_model::format::serializer::{EmptyVector, Serializer, SerializerFacts, SlotOrder};

/// Writes a table that has the types of the schema's root.
///
/// # Errors
/// More than a FlatBuffer holds, data that cannot be read.
pub fn write(schema: &Schema, root: &Table, serializer: Serializer) -> Result<Vec<u8>, FlatError> {
    let fail = |message: String| FlatError { path: schema.root().name.clone(), at: None, message };
    if size(root) > MAX_FLATBUFFER {
        return Err(fail(format!("the content exceeds the {MAX_FLATBUFFER} bytes of a FlatBuffer")));
    }
    let builder = FlatBufferBuilder::with_capacity(1 << 10);
    let mut writer = Writer { schema, facts: serializer.facts(), builder };
    let root = writer.table(root, schema.root).map_err(|error| fail(error.to_string()))?;
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
    facts: &'static SerializerFacts,
    builder: FlatBufferBuilder<'static>,
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
    fn table(&mut self, table: &Table, object: usize) -> std::io::Result<Offset> {
        let mut slots: Vec<(u16, Slot<'_>)> = Vec::new();
        for (slot, value) in &table.fields {
            let field = self.schema.objects[object].fields.iter().find(|field| field.at == *slot);
            let Some(ty) = field.map(|field| field.ty) else { continue };
            if let (Type::Union(_), Value::Union(tag, _)) = (ty, value) {
                slots.push((slot - 1, Slot::Field(FieldValue::Byte(*tag))));
            }
            slots.push((*slot, self.field(ty, value)?));
        }
        for field in &table.unknown {
            let bits = field.bytes.iter().rev().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
            slots.push((field.slot, Slot::Field(FieldValue::of_bits(bits, field.bytes.len()))));
        }
        let start = self.builder.start_table();
        match self.facts.slots {
            SlotOrder::Ascending => slots.iter().for_each(|(slot, value)| self.push(*slot, value)),
            SlotOrder::BySize => {
                for size in [8, 4, 2, 1] {
                    let of_size = slots.iter().rev().filter(|(_, value)| value.order() == size);
                    of_size.for_each(|(slot, value)| self.push(*slot, value));
                }
            }
        }
        Ok(WIPOffset::new(self.builder.end_table(start).value()))
    }

    fn push(&mut self, slot: u16, value: &Slot<'_>) {
        match value {
            Slot::Field(value) => value.push_slot(slot, &mut self.builder),
            Slot::Struct(bytes, alignment) => write::structure(&mut self.builder, slot, bytes, *alignment),
        }
    }

    /// Writes what a field refers to.
    fn field<'v>(&mut self, ty: Type, value: &'v Value) -> std::io::Result<Slot<'v>> {
        let child = match value {
            Value::Number(bits) => {
                let (size, _) = self.schema.inline(ty);
                return Ok(Slot::Field(FieldValue::of_bits(*bits, size)));
            }
            Value::Struct(bytes) => return Ok(Slot::Struct(bytes, self.schema.inline(ty).1)),
            Value::Text(text) => WIPOffset::new(self.builder.create_string(text).value()),
            Value::Table(table) => match ty {
                Type::Object(object) => self.table(table, object)?,
                _ => return Err(std::io::Error::other("a table in a field of another type")),
            },
            Value::Union(tag, table) => {
                let member = if let Type::Union(index) = ty { self.schema.enums[index].member(*tag) } else { None };
                let member = member.ok_or_else(|| std::io::Error::other(format!("no member has the tag {tag}")))?;
                self.table(table, member)?
            }
            Value::Numbers(blob) => {
                let (size, alignment) = match ty {
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
                let strings: Vec<Offset> =
                    texts.iter().map(|text| WIPOffset::new(self.builder.create_string(text).value())).collect();
                write::vector(&mut self.builder, self.facts.empty_vector, &strings)
            }
            Value::Tables(tables) => {
                let Type::Objects(object) = ty else { return Err(std::io::Error::other("tables in another type")) };
                let tables: std::io::Result<Vec<Offset>> =
                    tables.iter().map(|table| self.table(table, object)).collect();
                write::vector(&mut self.builder, self.facts.empty_vector, &tables?)
            }
        };
        Ok(Slot::Field(FieldValue::Child(Some(child))))
    }

    fn vector(&mut self, bytes: &[u8], size: usize, alignment: usize) -> Offset {
        match bytes.is_empty() && self.facts.empty_vector == EmptyVector::LengthOnly {
            true => write::bare_length(&mut self.builder),
            false => write::items(&mut self.builder, bytes, bytes.len() / size.max(1), alignment),
        }
    }
}
