//! The text of a FlatBuffer -> its bytes, by a schema: one that pte-emit has, or a `.bfbs` file.
//!
//! What a field means is left to its backend.

use std::collections::HashMap;
use std::sync::Arc;

use super::data::{DataRequest, Finder, number_of};
use super::document::{Data, ParsedFlatBuffer};
use crate::ir::NodeDiagnostic;
use pte_model::data::number;
use pte_model::data::{Blob, files};
use pte_model::diagnostics::{Code, counted};
use pte_model::format::flatbuffer::{self, Scalar};
use pte_payload::flat::read::MAX_DEPTH;
use pte_payload::flat::schema::{Enumeration, Field, Schema, Type, element_type};
use pte_payload::flat::value::{self, Table, UnknownField, Value};
use pte_payload::flat::{self, FlatFormat, Header, Layout};
use pte_yaml::tree::{MapKey, NodeId, NodeValue, SourceNode};

/// Key of a table for the fields that the schema does not have.
pub const UNKNOWN: &str = "unknown";

/// Largest size in bytes of the structs of a FlatBuffer.
const MAX_STRUCTS: u64 = 64 << 20;

impl<'a> Finder<'_, 'a> {
    /// Returns the bytes of a FlatBuffer, with its header and what follows it; `None` with messages.
    pub(super) fn flatbuffer(&mut self, parsed: &ParsedFlatBuffer<'a>) -> Option<Blob> {
        let (schema, layout) = self.schema(parsed)?;
        let mut encoder = Encoder { finder: self, schema: &schema, data: &parsed.data, path: Vec::new(), structs: 0 };
        let before = encoder.finder.diagnostics.len();
        let root = encoder.table(schema.root, &parsed.root);
        let rest = match &parsed.constants {
            Some(data) => Some(self.find(data, DataRequest::Bytes)?.blob),
            None => None,
        };
        if self.diagnostics.len() > before {
            return None;
        }
        let header = if parsed.header { layout.header } else { Header::None };
        let layout = Layout { header, writer: parsed.writer.unwrap_or(layout.writer) };
        match flat::encode(&schema, &root?, layout, rest.as_ref()) {
            Ok(blob) => Some(blob),
            Err(error) => {
                self.diagnostics.push(Code::InvalidGraph.error(parsed.root.id, error.to_string()));
                None
            }
        }
    }

    /// Returns the schema of a FlatBuffer, and what its format has around it.
    fn schema(&mut self, parsed: &ParsedFlatBuffer<'a>) -> Option<(Arc<Schema>, Layout)> {
        let name = &parsed.schema;
        if let Some(format) = FlatFormat::of(&name.value) {
            return Some((format.schema(), format.layout));
        }
        if !name.value.ends_with(".bfbs") {
            let unknown = Code::UnknownName.error(name.id, format!("unknown schema `{}`", name.value));
            let unknown =
                unknown.label("expected the name of a schema, or a .bfbs file, which `flatc -b --schema` writes");
            let names = flat::formats().map(|format| format.name);
            let unknown = unknown.suggest_among(self.diagnostics.len(), &name.value, names);
            self.diagnostics.push(unknown);
            return None;
        }
        let path = self.path(&name.value);
        self.open(name.id, &path)?;
        let bytes = match files::read_up_to(&path, flat::MAX_SCHEMA) {
            Ok(bytes) => bytes,
            Err(error) => return self.unreadable(name.id, &path, &error),
        };
        match flat::bfbs::read(&bytes) {
            Ok(schema) => Some((schema.into(), flat::PLAIN)),
            Err(message) => self.malformed(name.id, &path, message),
        }
    }
}

/// Encoder of tables.
struct Encoder<'e, 'd, 'a> {
    finder: &'e mut Finder<'d, 'a>,
    schema: &'e Schema,
    /// Maps that may be data.
    data: &'e HashMap<NodeId, (Option<Data<'a>>, Vec<NodeDiagnostic>)>,
    /// Fields that are being encoded, with the position in a list.
    path: Vec<(String, Option<usize>)>,
    /// Size in bytes of the structs so far: `{}` is a large one.
    structs: u64,
}

impl<'a> Encoder<'_, '_, 'a> {
    /// Reports an error with the path in the schema.
    fn fail<T>(&mut self, at: NodeId, message: impl Into<String>, label: impl Into<String>) -> Option<T> {
        let path = value::path(&self.schema.root().name, &self.path);
        let message = format!("{path}: {}", message.into());
        self.finder.diagnostics.push(Code::InvalidGraph.error(at, message).label(label));
        None
    }

    fn table(&mut self, object: usize, node: &SourceNode<'a>) -> Option<Table> {
        let schema = self.schema;
        let object = &schema.objects[object];
        let NodeValue::Map(entries) = &node.value else {
            let found = node.value.describe();
            return self.fail(node.id, format!("expected a map of the fields of `{}`, found {found}", object.name), "");
        };
        if self.path.len() > MAX_DEPTH {
            return self.fail(node.id, format!("tables are nested deeper than {MAX_DEPTH}"), "");
        }
        let mut table = Table::default();
        let mut is_valid = true;
        for (key, value) in entries {
            if key.text == UNKNOWN && object.field(UNKNOWN).is_none() {
                match self.unknown(object.slots(), value) {
                    Some(unknown) => table.unknown = unknown,
                    None => is_valid = false,
                }
                continue;
            }
            let Some(field) = object.field(&key.text) else {
                is_valid = false;
                self.unknown_field(key, &object.name, object.fields.iter().map(|field| field.name.as_str()));
                continue;
            };
            self.path.push((field.name.clone(), None));
            match self.value(field, value) {
                Some(value) => table.fields.push((field.at, value)),
                None => is_valid = false,
            }
            self.path.pop();
        }
        table.fields.sort_by_key(|(slot, _)| *slot);
        if let Some(twice) = table.fields.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return self.fail(node.id, format!("the field of slot {} is stated twice", twice[0].0), "");
        }
        if is_valid
            && let Some(missing) = object.fields.iter().find(|field| field.is_required && table.get(field.at).is_none())
        {
            let label = format!("add `{}`", missing.name);
            return self.fail(node.id, format!("`{}` lacks the required field `{}`", object.name, missing.name), label);
        }
        is_valid.then_some(table)
    }

    fn unknown_field<'n>(&mut self, key: &MapKey<'_>, of: &str, names: impl Iterator<Item = &'n str>) {
        let error = Code::UnknownKey.error(key.id, format!("`{of}` has no field `{}`", key.text));
        let error = error.suggest_among(self.finder.diagnostics.len(), &key.text, names);
        self.finder.diagnostics.push(error);
    }

    /// Encodes the value of a field of a table.
    fn value(&mut self, field: &Field, node: &SourceNode<'a>) -> Option<Value> {
        let schema = self.schema;
        match field.ty {
            Type::Number(scalar, names) => Some(Value::Number(self.number(scalar, names, node)?)),
            Type::Text => Some(Value::Text(self.text(node)?)),
            Type::Object(object) => match schema.objects[object].layout {
                Some(_) => Some(Value::Struct(self.structure(object, node)?)),
                None => Some(Value::Table(self.table(object, node)?)),
            },
            Type::Union(index) => self.union(&schema.enums[index], node),
            Type::Numbers(scalar, names, _) => Some(Value::Numbers(self.numbers(scalar, names, node)?)),
            Type::Texts => Some(Value::Texts(self.list(node, "strings", |encoder, node| encoder.text(node))?)),
            Type::Objects(object) => Some(match schema.objects[object].layout {
                Some(_) => {
                    let items = self.list(node, "maps", |encoder, node| encoder.structure(object, node))?;
                    Value::Structs(items.concat())
                }
                None => Value::Tables(self.list(node, "maps", |encoder, node| encoder.table(object, node))?),
            }),
            Type::Array(..) => self.fail(node.id, "an array in a table", ""),
        }
    }

    fn list<T>(
        &mut self,
        node: &SourceNode<'a>,
        what: &str,
        mut encode: impl FnMut(&mut Self, &SourceNode<'a>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let NodeValue::List(items) = &node.value else {
            let found = node.value.describe();
            return self.fail(node.id, format!("expected a list of {what}, found {found}"), "expected a list");
        };
        let mut found = Vec::with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            if let Some((_, number)) = self.path.last_mut() {
                *number = Some(position);
            }
            found.extend(encode(self, item));
        }
        (found.len() == items.len()).then_some(found)
    }

    fn text(&mut self, node: &SourceNode<'a>) -> Option<String> {
        match &node.value {
            NodeValue::Text(text) => Some(text.clone().into_owned()),
            value => {
                let found = value.describe();
                self.fail(node.id, format!("expected a string, found {found}"), "put it in quotes")
            }
        }
    }

    /// Encodes a number, or a name of an enum; several names in a list are the flags of a number.
    fn number(&mut self, scalar: Scalar, names: Option<usize>, node: &SourceNode<'a>) -> Option<u64> {
        let schema = self.schema;
        if let (Some(names), NodeValue::Text(_) | NodeValue::List(_)) =
            (names.map(|index| &schema.enums[index]), &node.value)
        {
            let one = |node: &SourceNode<'a>| match &node.value {
                NodeValue::Text(text) => names.number_of(text).ok_or_else(|| (node.id, text.clone().into_owned())),
                value => Err((node.id, value.describe())),
            };
            let found = match &node.value {
                NodeValue::List(flags) => flags.iter().try_fold(0, |sum, flag| Ok(sum | one(flag)?)),
                _ => one(node),
            };
            return match found {
                Ok(number) => Some(flat::schema::masked(number as u64, scalar)),
                Err((at, name)) => {
                    let known: Vec<&str> = names.values.iter().take(8).map(|(name, _)| name.as_str()).collect();
                    let more = if names.values.len() > known.len() { ", ..." } else { "" };
                    let label = format!("expected {}{more}", known.join(", "));
                    self.fail(at, format!("the enum `{}` has no name `{name}`", names.name), label)
                }
            };
        }
        let Some(number) = number_of(&node.value) else {
            let found = node.value.describe();
            return self.fail(node.id, format!("expected a number, found {found}"), "expected a number");
        };
        let mut bytes = Vec::with_capacity(8);
        if let Err(message) = number::encode(element_type(scalar), number, &mut bytes) {
            return self.fail(node.id, message, "");
        }
        Some(flatbuffer::number(&bytes))
    }

    /// Encodes the numbers of a vector: a list, or data.
    fn numbers(&mut self, scalar: Scalar, names: Option<usize>, node: &SourceNode<'a>) -> Option<Blob> {
        let data = self.data;
        if let Some((data, errors)) = data.get(&node.id) {
            self.finder.diagnostics.extend(errors.iter().cloned());
            let bytes = self.finder.in_memory(data.as_ref()?, DataRequest::Bytes)?;
            if bytes.len() % scalar.size() != 0 {
                let found = counted(bytes.len() as u64, "byte");
                let expected = format!("expected a multiple of {}", scalar.size());
                return self.fail(
                    node.id,
                    format!("{found} for numbers of {}", counted(scalar.size() as u64, "byte")),
                    expected,
                );
            }
            return Some(Blob::bytes(bytes));
        }
        let numbers = self.list(node, "numbers", |encoder, node| encoder.number(scalar, names, node))?;
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes().into_iter().take(scalar.size()));
        Some(Blob::bytes(bytes.collect::<Vec<u8>>()))
    }

    fn structure(&mut self, object: usize, node: &SourceNode<'a>) -> Option<Vec<u8>> {
        let schema = self.schema;
        let object = &schema.objects[object];
        let NodeValue::Map(entries) = &node.value else {
            let found = node.value.describe();
            return self.fail(node.id, format!("expected a map of the fields of `{}`, found {found}", object.name), "");
        };
        let size = object.layout?.0;
        self.structs = self.structs.saturating_add(size as u64);
        if self.structs > MAX_STRUCTS {
            return self.fail(node.id, format!("the structs have more than {MAX_STRUCTS} bytes"), "");
        }
        let mut bytes = vec![0; size];
        let mut is_valid = true;
        for (key, value) in entries {
            let Some(field) = object.field(&key.text) else {
                is_valid = false;
                self.unknown_field(key, &object.name, object.fields.iter().map(|field| field.name.as_str()));
                continue;
            };
            self.path.push((field.name.clone(), None));
            let found = match field.ty {
                Type::Number(scalar, names) => {
                    self.number(scalar, names, value).map(|bits| bits.to_le_bytes()[..scalar.size()].to_vec())
                }
                Type::Object(object) => self.structure(object, value),
                Type::Array(scalar, names, count) => self.numbers(scalar, names, value).and_then(|blob| {
                    let bytes = blob.to_vec().ok().filter(|bytes| bytes.len() == count * scalar.size());
                    bytes.or_else(|| self.fail(value.id, format!("expected {}", counted(count as u64, "number")), ""))
                }),
                Type::Text | Type::Union(_) | Type::Numbers(..) | Type::Texts | Type::Objects(_) => None,
            };
            self.path.pop();
            match found {
                Some(found) => bytes[field.at.into()..][..found.len()].copy_from_slice(&found),
                None => is_valid = false,
            }
        }
        is_valid.then_some(bytes)
    }

    /// Encodes a member of a union: a map with its name.
    fn union(&mut self, union: &Enumeration, node: &SourceNode<'a>) -> Option<Value> {
        let NodeValue::Map(entries) = &node.value else {
            let found = node.value.describe();
            return self.fail(node.id, format!("expected a map with a member of `{}`, found {found}", union.name), "");
        };
        let [(key, value)] = &entries[..] else {
            return self.fail(node.id, format!("expected one member of the union `{}`", union.name), "");
        };
        let member = union.number_of(&key.text).and_then(|tag| u8::try_from(tag).ok());
        match member.and_then(|tag| Some((tag, union.member(tag)?))) {
            Some((tag, object)) => {
                self.path.push((key.text.clone().into_owned(), None));
                let table = self.table(object, value);
                self.path.pop();
                Some(Value::Union(tag, table?))
            }
            None => {
                self.unknown_field(key, &union.name, union.values.iter().map(|(name, _)| name.as_str()));
                None
            }
        }
    }

    /// Encodes the fields that the schema does not have: a map of slots to data.
    fn unknown(&mut self, known: usize, node: &SourceNode<'a>) -> Option<Vec<UnknownField>> {
        let NodeValue::Map(entries) = &node.value else {
            return self.fail(node.id, "expected a map of slots to bytes", "");
        };
        let mut found = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            let slot = key.text.parse().ok().filter(|slot: &u16| usize::from(*slot) >= known && *slot < 1 << 14);
            let Some(slot) = slot else {
                let label = format!("expected {known} or more");
                return self.fail(key.id, format!("`{}` is no slot after those of the schema", key.text), label);
            };
            let bytes = self.numbers(Scalar::U8, None, value)?.to_vec().ok()?;
            if !matches!(bytes.len(), 1 | 2 | 4 | 8) {
                return self.fail(
                    value.id,
                    format!("a number of {}", counted(bytes.len() as u64, "byte")),
                    "expected 1, 2, 4 or 8",
                );
            }
            found.push(UnknownField { slot, bytes });
        }
        found.sort_by_key(|field| field.slot);
        Some(found)
    }
}
