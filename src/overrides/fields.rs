//! Converts field overrides to encodings for the emitter and to patches of the finished file.
//!
//! It takes two steps, because encodings move the bytes to patch: [`encodings`] uses the FlatBuffer without overrides,
//! [`patches`] the one that was emitted with the encodings.

use std::collections::HashMap;

use super::walker::{FieldContent, FieldLocation, Walker};
use super::{FieldOverride, OverrideValue, Patch};
use crate::emitter::encoding::{FieldEncoding, FieldEncodings};
use pte_model::diagnostics::{clipped, counted};
use pte_model::format::TableSchema;
use pte_model::format::container::{CONTAINERS, ExtendedHeader, PREAMBLE};
use pte_model::format::flatbuffer::{ObjectKind, Scalar};
use pte_model::format::path::{FieldPath, PathStep};

/// An error or a warning about an override.
pub struct OverrideMessage {
    /// Index of the override in the source.
    pub number: usize,
    /// Message, with the path of the field.
    pub message: String,
}

/// Errors and warnings about the overrides of a file.
#[derive(Default)]
pub struct OverrideReport {
    /// Overrides that cannot be applied.
    pub errors: Vec<OverrideMessage>,
    /// Overrides that change nothing.
    pub warnings: Vec<OverrideMessage>,
}

/// An override with a resolved path: fields and indices, or a word of the file's header.
pub struct PendingOverride<'s> {
    field: &'s FieldOverride,
    path: FieldPath,
    /// Resolved path of the target of `same_as`.
    same_as: Option<FieldPath>,
    /// The encoding applies the override completely.
    emitted: bool,
}

/// Computes the encodings for the emitter, and resolves the paths of all overrides. `walker` has the FlatBuffer without
/// overrides; `tables` the offset of each table from the end, in the order of writing.
pub fn encodings<'s>(
    overrides: &'s [FieldOverride],
    walker: &Walker<'_>,
    tables: &[u32],
    report: &mut OverrideReport,
) -> (FieldEncodings, Vec<PendingOverride<'s>>) {
    let len = walker.bytes.len();
    let numbers: HashMap<usize, u32> =
        tables.iter().zip(0..).map(|(from_end, number)| (len - *from_end as usize, number)).collect();
    let (mut encodings, mut pending) = (FieldEncodings::default(), Vec::new());
    for field in overrides {
        if header_word(walker.root, &field.path).is_some() {
            pending.push(PendingOverride { field, path: field.path.clone(), same_as: None, emitted: false });
            continue;
        }
        let words = extended_header_words(walker.root);
        if let ([PathStep::Name(header), ..], false) = (&*field.path.0, words.is_empty())
            && header == "header"
        {
            let words: Vec<&str> = words.iter().map(|(word, ..)| word.as_str()).collect();
            let message = format!("`{}`: unknown header field; expected {}", field.path, words.join(", "));
            report.errors.push(OverrideMessage { number: field.number, message });
            continue;
        }
        let found = walker.find(&field.path).and_then(|(location, path)| {
            let mut same_as = None;
            if let OverrideValue::SameAs(other) = &field.value {
                same_as = Some(walker.find(other).map_err(|error| format!("`{other}`: {error}"))?.1);
            }
            Ok((location, path, same_as, encoding(&field.value, location)?))
        });
        match found {
            Err(error) => report
                .errors
                .push(OverrideMessage { number: field.number, message: format!("`{}`: {error}", field.path) }),
            Ok((location, path, same_as, encoding)) => {
                let emitted = same_as.is_none()
                    && matches!(encoding, Some(FieldEncoding::Absent | FieldEncoding::Null | FieldEncoding::Empty));
                match (encoding, location.field) {
                    (Some(FieldEncoding::Absent), _) if location.at.is_none() => {
                        let message = format!("`{}` is already absent", field.path);
                        report.warnings.push(OverrideMessage { number: field.number, message });
                    }
                    (Some(encoding), Some((table, slot))) => match numbers.get(&table) {
                        Some(number) => encodings.add(*number, slot, encoding),
                        None => {
                            let message = format!("`{}` is not in a table that the emitter writes", field.path);
                            report.errors.push(OverrideMessage { number: field.number, message });
                        }
                    },
                    _ => {}
                }
                pending.push(PendingOverride { field, path, same_as, emitted });
            }
        }
    }
    (encodings, pending)
}

/// Returns the encoding that an override needs; `None` if a patch is enough.
fn encoding(value: &OverrideValue, location: FieldLocation) -> Result<Option<FieldEncoding>, String> {
    let if_absent = |encoding| Ok(if location.at.is_none() { Some(encoding) } else { None });
    match (value, location.content) {
        (OverrideValue::Absent, _) if location.field.is_some() => Ok(Some(FieldEncoding::Absent)),
        (OverrideValue::Absent, _) => Err("only a field can be `absent`; an item of a vector of tables can be `null`".into()),
        (OverrideValue::Empty, FieldContent::Offset(Some(ObjectKind::Text | ObjectKind::Scalars(_) | ObjectKind::Tables(_)))) if location.field.is_some() => {
            Ok(Some(FieldEncoding::Empty))
        }
        (OverrideValue::Empty, _) => Err("only a vector or a string can be `empty`".into()),
        (OverrideValue::Null | OverrideValue::SameAs(_), FieldContent::Offset(_)) => if_absent(FieldEncoding::Null),
        (OverrideValue::Null | OverrideValue::SameAs(_), _) => Err("the field is not an offset".into()),
        (OverrideValue::Integer(_) | OverrideValue::Float(_) | OverrideValue::Bytes(_), FieldContent::Scalar(_)) => if_absent(FieldEncoding::Present),
        (OverrideValue::Text(text), FieldContent::Scalar(number)) => Err(not_a_text(text, number)),
        (OverrideValue::Text(_), FieldContent::Offset(Some(ObjectKind::Tables(_) | ObjectKind::Table(_) | ObjectKind::Vtable(_)) | None)) => {
            Err("the field is not a string; expected absent, null, empty, {same_as: ...} or {bytes: ...}".into())
        }
        (OverrideValue::Bytes(_) | OverrideValue::Text(_), _) if location.at.is_some() => Ok(None),
        (OverrideValue::Bytes(_) | OverrideValue::Text(_), _) => Err("the field is absent, so it has no bytes; set it to `empty` first".into()),
        (OverrideValue::Integer(_) | OverrideValue::Float(_), _) => {
            Err("the field is not a number; expected absent, null, empty, {same_as: ...} or {bytes: ...}, or a number at its `@offset` or `@length`".into())
        }
    }
}

/// Returns patches of the finished file for the overrides that no encoding applies. `header` is inserted after byte 8
/// of the FlatBuffer in `walker`.
pub fn patches(
    pending: &[PendingOverride<'_>],
    walker: &Walker<'_>,
    header: &[u8],
    report: &mut OverrideReport,
) -> Vec<Patch> {
    let mut all = Vec::new();
    for pending in pending.iter().filter(|pending| !pending.emitted) {
        match patch(pending, walker, header) {
            Ok(patch) => {
                if before(&patch, walker.bytes, header).is_some_and(|before| before == patch.bytes) {
                    let message = format!("`{}` changes nothing: the field already has this value", pending.field.path);
                    report.warnings.push(OverrideMessage { number: pending.field.number, message });
                }
                all.push(patch);
            }
            Err(error) => {
                report.errors.push(OverrideMessage {
                    number: pending.field.number,
                    message: format!("`{}`: {error}", pending.field.path),
                });
            }
        }
    }
    all
}

fn patch(pending: &PendingOverride<'_>, walker: &Walker<'_>, header: &[u8]) -> Result<Patch, String> {
    if let Some((at, size)) = header_word(walker.root, &pending.path) {
        if at + size > 8 + header.len() && at >= 8 {
            return Err("the header of the file does not have this field".into());
        }
        let number = match size {
            8 => Scalar::U64,
            _ => Scalar::U32,
        };
        let bytes = match &pending.field.value {
            OverrideValue::Text(text) if is_text_word(&pending.path) => text_of_length(text, size)?,
            OverrideValue::Text(text) => return Err(not_a_text(text, number)),
            OverrideValue::Bytes(bytes) if bytes.len() <= size => bytes.clone(),
            OverrideValue::Bytes(bytes) => {
                return Err(format!("{} bytes exceed the {size} bytes of the field", bytes.len()));
            }
            OverrideValue::Null => vec![0; size],
            value => encoded(value, number)?,
        };
        return Ok(Patch { at: at as u64, bytes });
    }
    let (location, _) = walker.find(&pending.path)?;
    let at = location.at.ok_or("the field is absent")?;
    let length = |vector| walker.u32(vector).unwrap_or(0) as usize;
    let (at, bytes) = match (&pending.field.value, location.content) {
        (OverrideValue::Null, _) => (at, vec![0; 4]),
        (OverrideValue::SameAs(other), _) => {
            let path = pending.same_as.as_ref().ok_or("the target of `same_as` was not resolved")?;
            let target = walker.find(path).and_then(|(other, _)| walker.target(other));
            let target = target.map_err(|error| format!("`{other}`: {error}"))?;
            let Some(offset) = target.checked_sub(at).and_then(|offset| u32::try_from(offset).ok()) else {
                return Err(format!(
                    "the target of `{other}` is before this field, and offsets are unsigned; override `{other}` with this path instead"
                ));
            };
            (at, offset.to_le_bytes().to_vec())
        }
        (OverrideValue::Bytes(bytes), FieldContent::Scalar(number)) if bytes.len() <= number.size() => {
            (at, bytes.clone())
        }
        (OverrideValue::Bytes(bytes), FieldContent::Scalar(number)) => {
            return Err(format!("{} bytes exceed the {} bytes of the field", bytes.len(), number.size()));
        }
        (OverrideValue::Text(text), FieldContent::Offset(Some(ObjectKind::Text | ObjectKind::Scalars(Scalar::U8)))) => {
            let target = walker.target(location)?;
            (target + 4, text_of_length(text, length(target))?)
        }
        (OverrideValue::Text(_), _) => return Err("the field is not a string".into()),
        (OverrideValue::Bytes(bytes), content) => {
            let target = walker.target(location)?;
            let (start, room) = match content {
                FieldContent::Offset(Some(ObjectKind::Text)) => (target + 4, length(target) + 1),
                FieldContent::Offset(Some(ObjectKind::Scalars(number))) => (target + 4, length(target) * number.size()),
                FieldContent::Offset(Some(ObjectKind::Tables(_))) => (target + 4, length(target) * 4),
                FieldContent::Offset(Some(ObjectKind::Table(_) | ObjectKind::Vtable(_)) | None)
                | FieldContent::Scalar(_) => (target, walker.bytes.len() - target),
            };
            if bytes.len() > room {
                return Err(format!("{} bytes exceed the {room} bytes of the field", bytes.len()));
            }
            (start, bytes.clone())
        }
        (value, FieldContent::Scalar(number)) => (at, encoded(value, number)?),
        (
            OverrideValue::Integer(_) | OverrideValue::Float(_) | OverrideValue::Absent | OverrideValue::Empty,
            FieldContent::Offset(_),
        ) => return Err("the field is not a number".into()),
    };
    let at = if at < 8 { at } else { at + header.len() };
    Ok(Patch { at: at as u64, bytes })
}

/// An override of a field of a FlatBuffer that is not encoded again.
pub struct PayloadField<'o> {
    /// Path from the root table.
    pub path: &'o FieldPath,
    /// Path of the target of `same_as`.
    pub same_as: Option<FieldPath>,
    /// New content.
    pub value: &'o OverrideValue,
}

impl PayloadField<'_> {
    /// Returns the patch of the FlatBuffer.
    ///
    /// # Errors
    /// The path is unknown, the content does not have the kind of the field, or the field is absent.
    pub fn patch(self, walker: &Walker<'_>) -> Result<Patch, String> {
        let field = FieldOverride { number: 0, path: self.path.clone(), value: self.value.clone() };
        if header_word(walker.root, &field.path).is_some() {
            let pending = PendingOverride { field: &field, path: field.path.clone(), same_as: None, emitted: false };
            return patch(&pending, walker, &[]);
        }
        let (location, path) = walker.find(&field.path)?;
        if location.at.is_none() {
            return Err("the field is absent, since it has its default; a payload is not encoded again".into());
        }
        match encoding(&field.value, location)? {
            None => {}
            Some(_) => return Err("expected content of the same size: a payload is not encoded again".into()),
        }
        let same_as = match self.same_as {
            Some(other) => Some(walker.find(&other).map_err(|error| format!("`{other}`: {error}"))?.1),
            None => None,
        };
        patch(&PendingOverride { field: &field, path, same_as, emitted: false }, walker, &[])
    }
}

/// Returns a message about a string for a field that is a number.
fn not_a_text(text: &str, number: Scalar) -> String {
    let kind = if matches!(number, Scalar::F32 | Scalar::F64) { "a number" } else { "an integer" };
    let size = counted(number.size() as u64, "byte");
    format!("the field is {kind} of {size}, found the text `{}`", clipped(text))
}

/// Returns the bytes of a text that overwrites `len` bytes.
pub(super) fn text_of_length(text: &str, len: usize) -> Result<Vec<u8>, String> {
    if text.len() == len {
        return Ok(text.as_bytes().to_vec());
    }
    Err(format!(
        "the text `{}` has {}, the field {len}: a text is overwritten in place, so expected {len}; use {{bytes: ...}} for the first bytes only, and for a shorter text add a zero byte and override `@length`",
        clipped(text),
        counted(text.len() as u64, "byte"),
    ))
}

/// Encodes a number in the width of a field: any value that fits, signed or unsigned.
pub(super) fn encoded(value: &OverrideValue, number: Scalar) -> Result<Vec<u8>, String> {
    let size = number.size();
    match (value, number) {
        (OverrideValue::Float(x), Scalar::F32) => Ok((*x as f32).to_le_bytes().to_vec()),
        (OverrideValue::Float(x), Scalar::F64) => Ok(x.to_le_bytes().to_vec()),
        (OverrideValue::Float(_), _) => Err("the field is an integer".into()),
        (OverrideValue::Integer(n), Scalar::F32) => Ok((*n as f32).to_le_bytes().to_vec()),
        (OverrideValue::Integer(n), Scalar::F64) => Ok((*n as f64).to_le_bytes().to_vec()),
        (OverrideValue::Integer(n), _) => {
            let bits = 8 * size as u32;
            if *n < -(1i128 << (bits - 1)) || *n >= 1i128 << bits {
                return Err(format!("{n} does not fit in {}", counted(size as u64, "byte")));
            }
            Ok(n.to_le_bytes()[..size].to_vec())
        }
        (
            OverrideValue::Absent
            | OverrideValue::Null
            | OverrideValue::Empty
            | OverrideValue::SameAs(_)
            | OverrideValue::Text(_)
            | OverrideValue::Bytes(_),
            _,
        ) => Err("expected a number".into()),
    }
}

/// Returns the bytes that a patch overwrites; `None` if it is not inside the FlatBuffer or its header.
fn before(patch: &Patch, bytes: &[u8], header: &[u8]) -> Option<Vec<u8>> {
    let at = patch.at as usize;
    let byte = |at: usize| match at {
        0..4 => {
            let root = bytes.first_chunk::<4>().map(|root| u32::from_le_bytes(*root))?;
            Some(root.wrapping_add(header.len() as u32).to_le_bytes()[at])
        }
        4..8 => bytes.get(at).copied(),
        _ => header.get(at - 8).or_else(|| bytes.get(at.checked_sub(header.len())?)).copied(),
    };
    (at..at.checked_add(patch.bytes.len())?).map(byte).collect()
}

/// Returns the words of a file's preamble and extended header: path, offset and size in bytes.
pub fn header_words(root: &'static TableSchema) -> Vec<(String, usize, usize)> {
    let mut words = vec![("root".to_owned(), 0, 4), ("identifier".to_owned(), 4, 4)];
    words.extend(extended_header_words(root));
    words
}

/// Returns the words of the extended header of a file with this root table.
fn extended_header_words(root: &'static TableSchema) -> Vec<(String, usize, usize)> {
    let container = CONTAINERS.into_iter().find(|container| std::ptr::eq(container.root, root));
    let Some(header) = container.and_then(|container| container.header) else { return Vec::new() };
    let mut words =
        vec![("header.magic".to_owned(), PREAMBLE, 4), ("header.length".to_owned(), ExtendedHeader::LENGTH, 4)];
    words.extend(header.fields.iter().map(|name| (format!("header.{name}"), header.offset(name), 8)));
    words
}

/// Returns true for the words of the header that are text.
pub fn is_text_word(path: &FieldPath) -> bool {
    matches!(path.to_string().as_str(), "identifier" | "header.magic")
}

fn header_word(root: &'static TableSchema, path: &FieldPath) -> Option<(usize, usize)> {
    // No field of a root table has one of these names.
    let path = path.to_string();
    header_words(root).into_iter().find(|(word, ..)| *word == path).map(|(_, at, size)| (at, size))
}
