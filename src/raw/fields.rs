//! Field overrides -> encodings for the emitter, and patches of the finished file.
//!
//! Two steps, since an encoding moves the bytes that are patched: [`encodings`] looks at the FlatBuffer without overrides,
//! [`patches`] at the one that was emitted with the encodings.

use std::collections::HashMap;

use super::walker::{Content, Place, Walker};
use crate::format::flatbuffer::{ObjectKind, Scalar};
use super::{FieldOverride, OverrideValue, Patch};
use crate::emitter::encoding::{FieldEncoding, FieldEncodings};
use crate::format::path::{Path, Step};
use crate::format::Table;
use crate::format::container::{CONTAINERS, ExtendedHeader, PREAMBLE};

/// What is wrong with a set, or worth a warning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// Which set.
    pub number: usize,
    /// What.
    pub message: String,
}

/// What sets come to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Sets that cannot be.
    pub errors: Vec<Remark>,
    /// Sets that change nothing.
    pub warnings: Vec<Remark>,
}

/// An override whose path is in numbers, or a word of the file's header.
#[derive(Debug)]
pub struct Pending<'s> {
    set: &'s FieldOverride,
    path: Path,
    /// The path of what it is to be the same as.
    same: Option<Path>,
    /// The emitter has done it.
    emitted: bool,
}

/// Finds what the emitter must do, by the FlatBuffer as it is without. `tables` has the place of each table, in the order of
/// writing.
pub fn encodings<'s>(
    sets: &'s [FieldOverride],
    walker: &Walker<'_>,
    tables: &[u32],
    outcome: &mut Outcome,
) -> (FieldEncodings, Vec<Pending<'s>>) {
    let len = walker.bytes.len();
    let numbers: HashMap<usize, u32> =
        tables.iter().zip(0..).map(|(from_end, number)| (len - *from_end as usize, number)).collect();
    let (mut encodings, mut pending) = (FieldEncodings::default(), Vec::new());
    for set in sets {
        if header_word(walker.root, &set.path).is_some() {
            pending.push(Pending { set, path: set.path.clone(), same: None, emitted: false });
            continue;
        }
        let words = extended_header_words(walker.root);
        if let ([Step::Name(header), ..], false) = (&*set.path.0, words.is_empty())
            && header == "header"
        {
            let words: Vec<&str> = words.iter().map(|(word, ..)| word.as_str()).collect();
            let message = format!("`{}`: there are {}", set.path, words.join(", "));
            outcome.errors.push(Remark { number: set.number, message });
            continue;
        }
        let found = walker.find(&set.path).and_then(|(place, path)| {
            let same = match &set.value {
                OverrideValue::SameAs(other) => Some(walker.find(other).map_err(|error| format!("`{other}`: {error}"))?.1),
                _ => None,
            };
            Ok((place, path, same, wanted(&set.value, place)?))
        });
        match found {
            Err(error) => {
                outcome.errors.push(Remark { number: set.number, message: format!("`{}`: {error}", set.path) })
            }
            Ok((place, path, same, wanted)) => {
                let done = matches!(wanted, Some(FieldEncoding::Absent | FieldEncoding::Null | FieldEncoding::Empty)) && same.is_none();
                match (wanted, place.field) {
                    (Some(FieldEncoding::Absent), _) if place.at.is_none() => {
                        let message = format!("`{}` is left out already", set.path);
                        outcome.warnings.push(Remark { number: set.number, message });
                    }
                    (Some(encoding), Some((table, slot))) => match numbers.get(&table) {
                        Some(number) => encodings.add(*number, slot, encoding),
                        None => {
                            let message = format!("`{}` is in no table that is written here", set.path);
                            outcome.errors.push(Remark { number: set.number, message });
                        }
                    },
                    _ => {}
                }
                pending.push(Pending { set, path, same, emitted: done });
            }
        }
    }
    (encodings, pending)
}

/// What the emitter must do for a lie about a place, if a patch will not do.
fn wanted(lie: &OverrideValue, place: Place) -> Result<Option<FieldEncoding>, String> {
    let missing = |encoding| Ok(if place.at.is_none() { Some(encoding) } else { None });
    match (lie, place.what) {
        (OverrideValue::Absent, _) if place.field.is_some() => Ok(Some(FieldEncoding::Absent)),
        (OverrideValue::Absent, _) => Err("only a field can be absent; an item of a list of tables can be null".into()),
        (OverrideValue::Empty, Content::Offset(Some(ObjectKind::Text | ObjectKind::Scalars(_) | ObjectKind::Tables(_)))) if place.field.is_some() => {
            Ok(Some(FieldEncoding::Empty))
        }
        (OverrideValue::Empty, _) => Err("only a vector or a text can be empty".into()),
        (OverrideValue::Null | OverrideValue::SameAs(_), Content::Offset(_)) => missing(FieldEncoding::Null),
        (OverrideValue::Null, Content::Root) => Ok(None),
        (OverrideValue::Null | OverrideValue::SameAs(_), _) => Err("it is no offset".into()),
        (OverrideValue::Integer(_) | OverrideValue::Float(_) | OverrideValue::Bytes(_), Content::Scalar(_)) => missing(FieldEncoding::Present),
        (OverrideValue::Bytes(_), _) if place.at.is_some() => Ok(None),
        (OverrideValue::Bytes(_), _) => Err("it is left out, so there are no bytes; make it `empty` first".into()),
        (OverrideValue::Integer(_) | OverrideValue::Float(_), _) => {
            Err("it is no number; expected absent, null, empty, {same_as: ...} or {bytes: ...}, or a number at its `@offset` or `@length`".into())
        }
    }
}

/// The patches that make the rest true of the finished file. `header` is inserted behind byte 8 of the FlatBuffer.
pub fn patches(pending: &[Pending<'_>], walker: &Walker<'_>, header: &[u8], outcome: &mut Outcome) -> Vec<Patch> {
    let mut all = Vec::new();
    for lie in pending.iter().filter(|lie| !lie.emitted) {
        match patch(lie, walker, header) {
            Ok(patch) => {
                if before(&patch, walker.bytes, header).is_some_and(|before| before == patch.bytes) {
                    let message = format!("`{}` changes nothing: the file says so already", lie.set.path);
                    outcome.warnings.push(Remark { number: lie.set.number, message });
                }
                all.push(patch);
            }
            Err(error) => {
                outcome.errors.push(Remark { number: lie.set.number, message: format!("`{}`: {error}", lie.set.path) });
            }
        }
    }
    all
}

fn patch(lie: &Pending<'_>, walker: &Walker<'_>, header: &[u8]) -> Result<Patch, String> {
    if let Some((at, size)) = header_word(walker.root, &lie.path) {
        if at + size > 8 + header.len() && at >= 8 {
            return Err("the file's header has no such field".into());
        }
        let number = match size {
            8 => Scalar::U64,
            _ => Scalar::U32,
        };
        let bytes = match &lie.set.value {
            OverrideValue::Bytes(bytes) if bytes.len() <= size => bytes.clone(),
            OverrideValue::Bytes(bytes) => return Err(format!("{} bytes are more than the {size} it has", bytes.len())),
            OverrideValue::Null => vec![0; size],
            lie => encoded(lie, number)?,
        };
        return Ok(Patch { at: at as u64, bytes });
    }
    let (place, _) = walker.find(&lie.path)?;
    let at = place.at.ok_or("it is left out")?;
    let (at, bytes) = match (&lie.set.value, place.what) {
        (OverrideValue::Null, _) => (at, vec![0; 4]),
        (OverrideValue::SameAs(other), _) => {
            let path = lie.same.as_ref().ok_or("it has no other place")?;
            let target = walker.find(path).and_then(|(other, _)| walker.target(other));
            let target = target.map_err(|error| format!("`{other}`: {error}"))?;
            let Some(offset) = target.checked_sub(at).and_then(|offset| u32::try_from(offset).ok()) else {
                return Err(format!(
                    "what `{other}` refers to lies before it in the file, where no offset leads; try the other way round"
                ));
            };
            (at, offset.to_le_bytes().to_vec())
        }
        (OverrideValue::Bytes(bytes), Content::Scalar(number)) if bytes.len() <= number.size() => (at, bytes.clone()),
        (OverrideValue::Bytes(bytes), Content::Scalar(number)) => {
            return Err(format!("{} bytes are more than the {} it has", bytes.len(), number.size()));
        }
        (OverrideValue::Bytes(bytes), what) => {
            let target = walker.target(place)?;
            let (start, room) = match what {
                Content::Offset(Some(ObjectKind::Text)) => (target + 4, length(walker, target) + 1),
                Content::Offset(Some(ObjectKind::Scalars(number))) => (target + 4, length(walker, target) * number.size()),
                Content::Offset(Some(ObjectKind::Tables(_))) => (target + 4, length(walker, target) * 4),
                _ => (target, walker.bytes.len() - target),
            };
            if bytes.len() > room {
                return Err(format!("{} bytes are more than the {room} it has", bytes.len()));
            }
            (start, bytes.clone())
        }
        (lie, Content::Scalar(number)) => (at, encoded(lie, number)?),
        _ => return Err("it is no number".into()),
    };
    let at = if at < 8 { at } else { at + header.len() };
    Ok(Patch { at: at as u64, bytes })
}

fn length(walker: &Walker<'_>, at: usize) -> usize {
    walker
        .bytes
        .get(at..at + 4)
        .map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize)
}

/// A number in the width of its place: any that fits it with or without a sign.
fn encoded(lie: &OverrideValue, number: Scalar) -> Result<Vec<u8>, String> {
    let size = number.size();
    match (lie, number) {
        (OverrideValue::Float(x), Scalar::F64) => Ok(x.to_le_bytes().to_vec()),
        (OverrideValue::Float(_), _) => Err("it holds an integer".into()),
        (OverrideValue::Integer(n), Scalar::F64) => Ok((*n as f64).to_le_bytes().to_vec()),
        (OverrideValue::Integer(n), _) => {
            let bits = 8 * size as u32;
            if *n < -(1i128 << (bits - 1)) || *n >= 1i128 << bits {
                return Err(format!("{n} does not fit {size} bytes"));
            }
            Ok(n.to_le_bytes()[..size].to_vec())
        }
        _ => Err("expected a number".into()),
    }
}

/// What a patch overwrites, if it is in the FlatBuffer or in its header.
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

/// The words of a file's preamble and extended header by path, each with its offset and its bytes.
pub fn header_words(root: &'static Table) -> Vec<(String, usize, usize)> {
    let mut words = vec![("root".to_owned(), 0, 4), ("identifier".to_owned(), 4, 4)];
    words.extend(extended_header_words(root));
    words
}

/// The words of the extended header that a file with this root table has.
fn extended_header_words(root: &'static Table) -> Vec<(String, usize, usize)> {
    let container = CONTAINERS.into_iter().find(|container| std::ptr::eq(container.root, root));
    let Some(header) = container.and_then(|container| container.header) else { return Vec::new() };
    let mut words =
        vec![("header.magic".to_owned(), PREAMBLE, 4), ("header.length".to_owned(), ExtendedHeader::LENGTH, 4)];
    words.extend(header.fields.iter().map(|name| (format!("header.{name}"), header.offset(name), 8)));
    words
}

fn header_word(root: &'static Table, path: &Path) -> Option<(usize, usize)> {
    // Their names are no fields, so that a path is one of them or none.
    let path = path.to_string();
    header_words(root).into_iter().find(|(word, ..)| *word == path).map(|(_, at, size)| (at, size))
}
