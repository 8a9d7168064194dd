//! Reads an untrusted FlatBuffer as a [`Table`] by a schema.
//!
//! Every access is checked. Tables that share bytes many times exhaust a [`Budget`] proportional to the size of the
//! FlatBuffer, so that the tree is not larger than the file warrants.

use super::schema::{Field, Object, Schema, Type, extended};
use super::value::{self, FlatError, Table, UnknownField, Value};
use super::view::element;
use crate::description::UNKNOWN;
use pte_model::data::Blob;
use pte_model::diagnostics::clipped;
use pte_model::format::flatbuffer::{Budget, FieldEnds, Vtable, array, follow, number, u32_at};

/// Largest depth of tables in tables, as that of FlatBuffers' own verifier.
pub const MAX_DEPTH: usize = 64;

/// Largest size in bytes of all spans.
const MAX_SPANS: u64 = 64 << 20;

/// Items of a vector that a span has.
const SHOWN: usize = 8;

/// Returns name and content of a field.
fn text(schema: &Schema, field: &Field, bytes: &[u8]) -> String {
    let name = &field.name;
    match field.ty {
        Type::Number(scalar, names) => {
            let value = element(scalar, number(bytes));
            let word = names.and_then(|names| schema.enums[names].name_of(extended(number(bytes), scalar)));
            word.map_or_else(|| format!("{name}: {value}"), |word| format!("{name}: {word} ({value})"))
        }
        Type::Object(object) if schema.objects[object].layout.is_some() => {
            format!("{name}: {}", schema.objects[object].name)
        }
        Type::Text
        | Type::Object(_)
        | Type::Union(_)
        | Type::Numbers(..)
        | Type::Texts
        | Type::Objects(_)
        | Type::Array(..) => format!("{name}: offset {}", number(bytes)),
    }
}

/// Cost of a table or a string: about its size in memory.
const COST: u64 = 64;

/// Reads the FlatBuffer that a payload has from `offset` on; `bytes` are its content.
///
/// # Errors
/// What is malformed, with its path and its offset in `bytes`.
pub fn read(schema: &Schema, bytes: &[u8], payload: &Blob, offset: u64) -> Result<Table, FlatError> {
    read_by(schema, bytes, payload, offset, false)
}

/// As [`read`], of a FlatBuffer by a newer schema, too: of members of unions that the schema does not have, only their
/// tags are read, and their tables are empty. What is read cannot be written.
///
/// # Errors
/// As [`read`].
pub fn read_known(schema: &Schema, bytes: &[u8], payload: &Blob, offset: u64) -> Result<Table, FlatError> {
    read_by(schema, bytes, payload, offset, true)
}

/// Bytes of a FlatBuffer, and what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// Offset in the FlatBuffer, and size in bytes.
    pub at: (usize, usize),
    /// Path of the table that they belong to; empty for the root table.
    pub owner: String,
    /// What they are.
    pub text: String,
}

/// Returns what the bytes of a FlatBuffer are, ascending by offset: fields, vtables, strings and vectors. Bytes that no
/// span has are padding, or belong to parts that the schema does not have.
///
/// # Errors
/// As [`read`].
pub fn spans(schema: &Schema, bytes: &[u8]) -> Result<Vec<Span>, FlatError> {
    let payload = Blob::bytes([]);
    let left = (32 * bytes.len() as u64 + 65536).min(MAX_SPANS);
    let spans = Some(Spans { list: Vec::new(), left: Some(left) });
    let mut reader = Reader { spans, ..Reader::new(schema, bytes, &payload, 0, true) };
    reader.root()?;
    let Some(Spans { list: mut spans, left: Some(_) }) = reader.spans else {
        return Reader::new(schema, bytes, &payload, 0, true).fail(0, "it has too many fields to describe each");
    };
    // Vtables, strings and vectors may be shared.
    spans.sort_by_key(|span| span.at);
    spans.dedup_by_key(|span| span.at);
    Ok(spans)
}

fn read_by(
    schema: &Schema,
    bytes: &[u8],
    payload: &Blob,
    offset: u64,
    skips_members: bool,
) -> Result<Table, FlatError> {
    Reader::new(schema, bytes, payload, offset, skips_members).root()
}

struct Reader<'a> {
    schema: &'a Schema,
    bytes: &'a [u8],
    payload: &'a Blob,
    /// Offset of the FlatBuffer in the payload.
    offset: u64,
    /// Members of unions that the schema does not have are no errors.
    skips_members: bool,
    budget: Budget,
    /// Fields that are being read, with the position in a vector.
    path: Vec<(&'a str, Option<usize>)>,
    /// What was read, if it is asked for.
    spans: Option<Spans>,
}

/// Spans, up to a total size.
struct Spans {
    list: Vec<Span>,
    /// Size in bytes that they may still have; `None` if it is exceeded.
    left: Option<u64>,
}

impl<'a> Reader<'a> {
    fn new(schema: &'a Schema, bytes: &'a [u8], payload: &'a Blob, offset: u64, skips_members: bool) -> Reader<'a> {
        let budget = Budget::of(bytes.len());
        Reader { schema, bytes, payload, offset, skips_members, budget, path: Vec::new(), spans: None }
    }

    fn root(&mut self) -> Result<Table, FlatError> {
        let (schema, bytes) = (self.schema, self.bytes);
        if let Some(identifier) = schema.identifier
            && array(bytes, 4) != Some(identifier)
        {
            let found = bytes.get(4..8).unwrap_or_default().escape_ascii();
            return self
                .fail(4, format!("expected the file identifier \"{}\", found \"{found}\"", identifier.escape_ascii()));
        }
        let Some(root) = follow(bytes, 0) else {
            return self.fail(0, format!("no root table in {} bytes", bytes.len()));
        };
        self.span(0, 4, || format!("root table -> {root:#x}"));
        self.span(4, if schema.identifier.is_some() { 4 } else { 0 }, || "file identifier".to_owned());
        self.table(root, schema.root, 0)
    }

    /// Records what bytes of the table at the path are.
    fn span(&mut self, at: usize, len: usize, text: impl FnOnce() -> String) {
        let Some(spans) = self.spans.as_mut().filter(|_| len > 0) else { return };
        let owner = value::path("", &self.path).trim_start_matches('.').to_owned();
        spans.left = spans.left.and_then(|left| left.checked_sub(COST + owner.len() as u64));
        if spans.left.is_some() {
            spans.list.push(Span { at: (at, len), owner, text: text() });
        }
    }

    /// Records what bytes are to which the field at the path refers.
    fn target_span(&mut self, at: usize, len: usize, text: impl FnOnce() -> String) {
        if self.spans.is_none() {
            return;
        }
        let Some(field) = self.path.pop() else { return };
        let name = value::path("", &[field]);
        self.span(at, len, || format!("{}: {}", name.trim_start_matches('.'), text()));
        self.path.push(field);
    }

    /// Records what the bytes of a field are.
    fn field_span(&mut self, field: &Field, (at, size): (usize, usize), tag: Option<usize>) {
        if self.spans.is_none() {
            return;
        }
        let Some(last) = self.path.pop() else { return };
        self.span(at, size, || self::text(self.schema, field, &self.bytes[at..at + size]));
        if let (Type::Union(index), Some((tag, number))) =
            (field.ty, tag.and_then(|at| Some((at, self.bytes.get(at)?))))
        {
            let name = self.schema.enums[index].name_of((*number).into());
            self.span(tag, 1, || format!("{}_type: {}", field.name, name.unwrap_or(UNKNOWN)));
        }
        self.path.push(last);
    }

    #[cold]
    fn fail<T>(&self, at: usize, message: impl Into<String>) -> Result<T, FlatError> {
        let path = value::path(&self.schema.root().name, &self.path);
        Err(FlatError { path, at: Some(at), message: message.into() })
    }

    fn spend(&self, at: usize, cost: u64) -> Result<(), FlatError> {
        match self.budget.spend(cost) {
            true => Ok(()),
            false => self.fail(at, "the tables share too many bytes"),
        }
    }

    fn table(&mut self, at: usize, object: usize, depth: usize) -> Result<Table, FlatError> {
        let object = &self.schema.objects[object];
        // All fields of the schema are looked for.
        self.spend(at, COST + object.fields.len() as u64 / 4)?;
        if depth == MAX_DEPTH {
            return self.fail(at, format!("tables are nested deeper than {MAX_DEPTH}"));
        }
        let vtable = Vtable::of(self.bytes, at).filter(|vtable| {
            let is_inside = vtable.at.checked_add(vtable.size).is_some_and(|end| end <= self.bytes.len());
            is_inside && vtable.size >= 4 && vtable.size.is_multiple_of(2) && vtable.inline >= 4
        });
        let Some(vtable) = vtable.filter(|vtable| at + vtable.inline <= self.bytes.len()) else {
            return self.fail(at, format!("expected a table `{}`, found no vtable", object.name));
        };
        self.span(vtable.at, vtable.size, || format!("vtable of {}", object.name));
        self.span(at, 4, || format!("{} -> vtable {:#x}", object.name, vtable.at));
        let mut table = Table::default();
        for field in &object.fields {
            self.path.push((&field.name, None));
            let offset = vtable.offset(self.bytes, field.at.into());
            if let Some(value) = self.present(field, &vtable, at, offset, depth)? {
                table.fields.push((field.at, value));
            } else if field.is_required {
                return self.fail(at, "a required field is missing");
            }
            self.path.pop();
        }
        table.unknown = self.unknown(at, &vtable, object)?;
        Ok(table)
    }

    /// Reads a field at an offset in its table; `None` if it is absent.
    fn present(
        &mut self,
        field: &'a Field,
        vtable: &Vtable,
        table: usize,
        offset: Option<usize>,
        depth: usize,
    ) -> Result<Option<Value>, FlatError> {
        let Some(offset) = offset else { return Ok(None) };
        let at = table + offset;
        let (size, _) = self.schema.inline(field.ty);
        if offset < 4 || offset + size > vtable.inline {
            return self.fail(at, format!("the field is at {offset}, outside of a table of {} bytes", vtable.inline));
        }
        let tag = usize::from(field.at).checked_sub(1).and_then(|slot| vtable.offset(self.bytes, slot));
        self.field_span(field, (at, size), tag.map(|offset| table + offset));
        Ok(Some(match field.ty {
            Type::Number(..) => Value::Number(number(&self.bytes[at..at + size])),
            Type::Object(object) if self.schema.objects[object].layout.is_some() => {
                Value::Struct(self.bytes[at..at + size].to_vec())
            }
            Type::Object(object) => Value::Table(self.table(self.target(at)?, object, depth + 1)?),
            Type::Text => Value::Text(self.text(self.target(at)?)?),
            Type::Union(index) => {
                let union = &self.schema.enums[index];
                let tag_at = vtable.offset(self.bytes, usize::from(field.at) - 1).map(|offset| table + offset);
                let tag = tag_at.and_then(|at| self.bytes.get(at)).copied().unwrap_or(0);
                let Some(member) = union.member(tag) else {
                    if self.skips_members {
                        return Ok(Some(Value::Union(tag, Table::default())));
                    }
                    let message =
                        format!("a member with the tag {tag}, expected a table of the union `{}`", union.name);
                    return self.fail(at, message);
                };
                Value::Union(tag, self.table(self.target(at)?, member, depth + 1)?)
            }
            Type::Numbers(scalar, ..) => {
                let (items, count) = self.vector(self.target(at)?, scalar.size())?;
                let size = (count * scalar.size()) as u64;
                self.target_span(items - 4, 4 + count * scalar.size(), || {
                    let shown = self.bytes[items..].chunks_exact(scalar.size()).take(count.min(SHOWN));
                    let mut shown: Vec<String> = shown.map(|item| element(scalar, number(item))).collect();
                    shown.extend((count > SHOWN).then(|| "..".to_owned()));
                    format!("{count} numbers: {}", shown.join(", "))
                });
                match self.payload.part(self.offset + items as u64, size) {
                    Ok(Some(blob)) => Value::Numbers(blob),
                    Ok(None) | Err(_) => Value::Numbers(Blob::bytes(&self.bytes[items..items + size as usize])),
                }
            }
            Type::Texts => {
                let read = |reader: &mut Self, at| reader.text(reader.target(at)?);
                Value::Texts(self.items(at, read)?)
            }
            Type::Objects(object) => match self.schema.objects[object].layout {
                Some((size, _)) => {
                    let (items, count) = self.vector(self.target(at)?, size)?;
                    self.target_span(items - 4, 4 + count * size, || format!("{count} structs"));
                    Value::Structs(self.bytes[items..items + count * size].to_vec())
                }
                None => {
                    let read = |reader: &mut Self, at| reader.table(reader.target(at)?, object, depth + 1);
                    Value::Tables(self.items(at, read)?)
                }
            },
            Type::Array(..) => return self.fail(at, "an array in a table"),
        }))
    }

    fn target(&self, at: usize) -> Result<usize, FlatError> {
        match follow(self.bytes, at) {
            Some(target) => Ok(target),
            None => self.fail(at, "the offset points outside of the FlatBuffer"),
        }
    }

    /// Returns the offset of the first item of a vector, and the number of items.
    fn vector(&self, at: usize, item: usize) -> Result<(usize, usize), FlatError> {
        let count = u32_at(self.bytes, at).unwrap_or(0) as usize;
        let end = count.checked_mul(item).and_then(|size| size.checked_add(at + 4));
        if end.is_none_or(|end| end > self.bytes.len()) {
            return self.fail(at, format!("a vector of {count} items exceeds the FlatBuffer"));
        }
        self.spend(at, (count * item) as u64)?;
        Ok((at + 4, count))
    }

    fn items<T>(
        &mut self,
        at: usize,
        mut read: impl FnMut(&mut Self, usize) -> Result<T, FlatError>,
    ) -> Result<Vec<T>, FlatError> {
        let (items, count) = self.vector(self.target(at)?, 4)?;
        self.target_span(items - 4, 4 + 4 * count, || format!("{count} offsets"));
        let mut found = Vec::new();
        for position in 0..count {
            if let Some((_, number)) = self.path.last_mut() {
                *number = Some(position);
            }
            found.push(read(self, items + 4 * position)?);
        }
        Ok(found)
    }

    fn text(&mut self, at: usize) -> Result<String, FlatError> {
        let (start, size) = self.vector(at, 1)?;
        self.spend(at, COST)?;
        match std::str::from_utf8(&self.bytes[start..start + size]) {
            Ok(text) if self.bytes.get(start + size) == Some(&0) => {
                let text = text.to_owned();
                self.target_span(at, size + 5, || format!("\"{}\"", clipped(&text)));
                Ok(text)
            }
            Ok(_) => self.fail(at, "the string has no terminator"),
            Err(error) => self.fail(at, format!("the string is not UTF-8 at byte {}", error.valid_up_to())),
        }
    }

    /// Reads the fields beyond the schema. Whether one is a number or an offset is not known: what cannot be one is a
    /// number, and the writer of the tree is compared with the bytes.
    fn unknown(&self, at: usize, vtable: &Vtable, object: &Object) -> Result<Vec<UnknownField>, FlatError> {
        let known = object.slots();
        let slots = (vtable.size - 4) / 2;
        if slots <= known {
            return Ok(Vec::new());
        }
        self.spend(at, 8 * slots as u64)?;
        let offsets = (0..slots).map(|slot| vtable.offset(self.bytes, slot).unwrap_or(0) as u16);
        let ends = FieldEnds::of(offsets.clone(), vtable.inline as u16);
        let mut found = Vec::new();
        for (slot, offset) in (0u16..).zip(offsets).skip(known).filter(|(_, offset)| *offset > 0) {
            let end = ends.after(offset).map(|end| at + usize::from(end));
            let Some(bytes) = end.and_then(|end| self.bytes.get(at + usize::from(offset)..end)) else {
                return self.fail(at, format!("field {slot}, which the schema does not have, is outside of its table"));
            };
            let size = [8, 4, 2, 1].into_iter().find(|size| *size <= bytes.len()).unwrap_or(0);
            found.push(UnknownField { slot, bytes: bytes[..size].to_vec() });
        }
        Ok(found)
    }
}
