//! Prints FlatBuffers of known schemas as YAML, if that reproduces them byte for byte.

use std::io;

use super::data::DataPrinter;
use crate::ir::data::node_of;
use crate::ir::document::{At, DataSource, ParsedFlatBuffer};
use crate::ir::flatbuffer::UNKNOWN;
use crate::ir::{write, yaml};
use pte_model::data::Blob;
use pte_model::diagnostics::is_unsafe;
use pte_model::format::flatbuffer::{self, Scalar};
use pte_payload::flat::schema::{Schema, Type, element_type};
use pte_payload::flat::value::{Table, Value};
use pte_payload::flat::{self, Content, FlatFormat, Header, Layout};
use pte_yaml::format::WIDTH;
use pte_yaml::tree::{MapKey, NodeId, NodeValue, SourceNode};

/// Levels of the text of a FlatBuffer, which are inside of those of a delegate: YAML has 64.
const MAX_LEVELS: usize = 52;

/// A payload that is a FlatBuffer of a schema, which YAML reproduces.
#[derive(Debug)]
pub struct FlatText {
    /// Name of the schema in the YAML.
    schema: String,
    /// Layout of the format's own writer.
    expected: Layout,
    content: Content,
    root: SourceNode<'static>,
}

impl FlatText {
    /// Reads a payload of a known format; `None` if it is malformed, or cannot be read. An error is the reason why it
    /// is not printed as text, as a clause.
    pub fn of(format: &'static FlatFormat, payload: &Blob) -> Option<Result<FlatText, String>> {
        let content = format.read(payload).ok()?;
        Some(FlatText::by_schema(format.name, &format.schema(), format.layout, content, payload))
    }

    /// The content of a payload, read by a schema that has the name in the YAML.
    ///
    /// # Errors
    /// As [`FlatText::of`].
    pub fn by_schema(
        name: &str,
        schema: &Schema,
        expected: Layout,
        content: Content,
        payload: &Blob,
    ) -> Result<FlatText, String> {
        let content = flat::exact(schema, content, payload)?;
        let root = Nodes { schema }.table(&content.root, schema.root);
        let root = root.ok_or("it has numbers that YAML cannot express")?;
        if root.measure().1 > MAX_LEVELS {
            return Err(format!("its text has more than {MAX_LEVELS} levels"));
        }
        Ok(FlatText { schema: name.to_owned(), expected, content, root })
    }

    /// Appends the keys of the FlatBuffer as lines that begin with `indent`. `name` is the base of the name of a file
    /// with the constants.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn print(&self, indent: &str, name: &str, out: &mut String, data: &mut DataPrinter<'_>) -> io::Result<()> {
        let FlatText { schema, expected, content, root } = self;
        out.push_str(&format!("{indent}schema: {}\n", yaml::path(schema)));
        if content.layout.header == Header::None && expected.header != Header::None {
            out.push_str(&format!("{indent}header: false\n"));
        }
        if content.layout.writer != expected.writer {
            out.push_str(&format!("{indent}writer: {}\n", content.layout.writer));
        }
        out.push_str(&format!("{indent}root:"));
        block(root, &format!("{indent}  "), indent.len() + 5, out);
        if let Some(rest) = &content.rest {
            out.push_str(&format!("{indent}constants: "));
            write::write(&data.bytes(rest, name)?, out);
            out.push('\n');
        }
        Ok(())
    }

    /// Returns the FlatBuffer as a value on one line; `None` if it has more after it.
    pub fn parsed(self) -> Option<ParsedFlatBuffer<'static>> {
        let layout = self.content.layout;
        self.content.rest.is_none().then(|| ParsedFlatBuffer {
            schema: At { id: NodeId::default(), value: self.schema.into() },
            root: self.root,
            data: Default::default(),
            constants: None,
            header: layout.header == self.expected.header,
            writer: Some(layout.writer).filter(|writer| *writer != self.expected.writer),
        })
    }
}

/// Returns the value of a compile spec: options that are a FlatBuffer of a known schema, text, or bytes.
pub fn compile_spec(value: &[u8]) -> DataSource<'static> {
    if let Some(format) = flat::options(value)
        && let Some(Ok(text)) = FlatText::of(format, &Blob::bytes(value))
        && let Some(parsed) = text.parsed()
    {
        return DataSource::FlatBuffer(Box::new(parsed));
    }
    match str::from_utf8(value) {
        Ok(text) if !text.is_empty() && !text.chars().any(is_unsafe) => DataSource::Text(text.to_owned().into()),
        Ok(_) | Err(_) => DataSource::Bytes(value.into()),
    }
}

/// Appends a value after its key: on the line, or as a block of lines that begin with `indent`.
fn block(node: &SourceNode<'_>, indent: &str, column: usize, out: &mut String) {
    let mut line = String::new();
    write::node(node, &mut line);
    let is_leaf = match &node.value {
        NodeValue::Map(entries) => entries.is_empty(),
        NodeValue::List(items) => {
            !items.iter().any(|item| matches!(item.value, NodeValue::Map(_) | NodeValue::List(_)))
        }
        _ => true,
    };
    if is_leaf || column + 1 + line.len() <= WIDTH {
        out.push(' ');
        out.push_str(&line);
        out.push('\n');
        return;
    }
    out.push('\n');
    let inner = format!("{indent}  ");
    match &node.value {
        NodeValue::Map(entries) => {
            for (key, value) in entries {
                let key = yaml::text(&key.text);
                out.push_str(&format!("{indent}{key}:"));
                block(value, &inner, indent.len() + key.len() + 1, out);
            }
        }
        NodeValue::List(items) => {
            for item in items {
                item_block(item, indent, out);
            }
        }
        _ => {}
    }
}

/// Appends an item of a list: on its line, or a map whose first key is on it.
fn item_block(item: &SourceNode<'_>, indent: &str, out: &mut String) {
    let mut line = String::new();
    write::node(item, &mut line);
    let entries = match &item.value {
        NodeValue::Map(entries) if indent.len() + 2 + line.len() > WIDTH => entries,
        _ => {
            out.push_str(&format!("{indent}- {line}\n"));
            return;
        }
    };
    for (position, (key, value)) in entries.iter().enumerate() {
        let key = yaml::text(&key.text);
        out.push_str(&format!("{indent}{}{key}:", if position == 0 { "- " } else { "  " }));
        block(value, &format!("{indent}    "), indent.len() + key.len() + 3, out);
    }
}

/// Conversion of a tree to nodes of YAML.
struct Nodes<'s> {
    schema: &'s Schema,
}

fn node(value: NodeValue<'static>) -> SourceNode<'static> {
    SourceNode { id: NodeId::default(), value }
}

fn map(entries: Vec<(String, SourceNode<'static>)>) -> SourceNode<'static> {
    let key = |text: String| MapKey { id: NodeId::default(), text: text.into() };
    node(NodeValue::Map(entries.into_iter().map(|(name, value)| (key(name), value)).collect()))
}

fn hex(bytes: &[u8]) -> SourceNode<'static> {
    map(vec![("hex".to_owned(), node(NodeValue::Text(data_encoding::HEXLOWER.encode(bytes).into())))])
}

impl Nodes<'_> {
    /// Returns a table as a map; `None` if a part of it cannot be expressed.
    fn table(&self, table: &Table, object: usize) -> Option<SourceNode<'static>> {
        let object = &self.schema.objects[object];
        let mut entries = Vec::with_capacity(table.fields.len());
        for (slot, value) in &table.fields {
            let field = object.at(*slot)?;
            entries.push((field.name.clone(), self.value(value, field.ty)?));
        }
        if !table.unknown.is_empty() {
            // A field of the schema may have the name.
            let is_free = object.field(UNKNOWN).is_none();
            let unknown = table.unknown.iter().map(|field| (field.slot.to_string(), hex(&field.bytes))).collect();
            entries.push((Some(UNKNOWN.to_owned()).filter(|_| is_free)?, map(unknown)));
        }
        Some(map(entries))
    }

    fn value(&self, value: &Value, ty: Type) -> Option<SourceNode<'static>> {
        Some(match (value, ty) {
            (Value::Number(bits), Type::Number(scalar, names)) => self.number(*bits, scalar, names)?,
            (Value::Text(text), _) => node(NodeValue::Text(text.clone().into())),
            (Value::Table(table), Type::Object(object)) => self.table(table, object)?,
            (Value::Struct(bytes), Type::Object(object)) => self.structure(bytes, object)?,
            (Value::Union(tag, table), Type::Union(index)) => {
                let union = &self.schema.enums[index];
                let name = union.name_of((*tag).into())?.to_owned();
                map(vec![(name, self.table(table, union.member(*tag)?)?)])
            }
            (Value::Numbers(blob), Type::Numbers(scalar, names, _)) => {
                self.numbers(&blob.to_vec().ok()?, scalar, names)?
            }
            (Value::Texts(texts), _) => {
                node(NodeValue::List(texts.iter().map(|text| node(NodeValue::Text(text.clone().into()))).collect()))
            }
            (Value::Tables(tables), Type::Objects(object)) => {
                let items: Option<Vec<_>> = tables.iter().map(|table| self.table(table, object)).collect();
                node(NodeValue::List(items?))
            }
            (Value::Structs(bytes), Type::Objects(object)) => {
                let (size, _) = self.schema.objects[object].layout?;
                let items: Option<Vec<_>> = bytes.chunks(size).map(|bytes| self.structure(bytes, object)).collect();
                node(NodeValue::List(items?))
            }
            _ => return None,
        })
    }

    fn structure(&self, bytes: &[u8], object: usize) -> Option<SourceNode<'static>> {
        let mut entries = Vec::new();
        for field in &self.schema.objects[object].fields {
            let (size, _) = self.schema.inline(field.ty);
            let bytes = bytes.get(field.at.into()..)?.get(..size)?;
            let value = match field.ty {
                Type::Number(scalar, names) => self.number(flatbuffer::number(bytes), scalar, names)?,
                Type::Object(object) => self.structure(bytes, object)?,
                Type::Array(scalar, names, _) => self.numbers(bytes, scalar, names)?,
                Type::Text | Type::Union(_) | Type::Numbers(..) | Type::Texts | Type::Objects(_) => return None,
            };
            entries.push((field.name.clone(), value));
        }
        Some(map(entries))
    }

    /// Returns the numbers of a vector: bytes as digits, others as a list.
    fn numbers(&self, bytes: &[u8], scalar: Scalar, names: Option<usize>) -> Option<SourceNode<'static>> {
        if scalar == Scalar::U8 && names.is_none() && !bytes.is_empty() {
            return Some(hex(bytes));
        }
        let items: Option<Vec<_>> =
            bytes.chunks(scalar.size()).map(|item| self.number(flatbuffer::number(item), scalar, names)).collect();
        Some(node(NodeValue::List(items?)))
    }

    /// Returns the name of a number, or the number with the fewest digits that reproduces its bits.
    fn number(&self, bits: u64, scalar: Scalar, names: Option<usize>) -> Option<SourceNode<'static>> {
        if let Some(name) = self.schema.name_of(bits, scalar, names) {
            return Some(node(NodeValue::Text(name.to_owned().into())));
        }
        Some(node(node_of(super::data::number(element_type(scalar), &bits.to_le_bytes()[..scalar.size()])?)))
    }
}
