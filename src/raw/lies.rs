//! Sets -> what the emitter is to force, and patches of the finished file.
//!
//! Two steps, since what is forced moves the bytes that are patched: [`force`] looks at the FlatBuffer as it should be, [`patches`]
//! at the one that was written with what is forced.

use std::collections::HashMap;

use super::path::{Path, Step};
use super::place::{Number, Place, Target, Walker, What};
use super::{Lie, Patch, Set};
use crate::schema::{Table, flat_tensor, program};

/// What the emitter does to fields against its habit: by the number of the table in the order of writing, and by slot.
#[derive(Debug, Default)]
pub struct Forced(HashMap<u32, Vec<(u16, Force)>>);

/// What is done to a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Force {
    /// It is left out.
    Absent,
    /// It is written, though it is zero.
    Present,
    /// Its offset is zero.
    Null,
    /// It leads to an empty vector or text.
    Empty,
}

impl Forced {
    /// What is forced in a table.
    pub fn table(&self, number: u32) -> &[(u16, Force)] {
        self.0.get(&number).map_or(&[], Vec::as_slice)
    }

    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

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

/// A set whose path is in numbers, or a word of the file's frame.
#[derive(Debug)]
pub struct Pending<'s> {
    set: &'s Set,
    path: Path,
    /// The path of what it is to be the same as.
    same: Option<Path>,
    /// It is done when the emitter has done it.
    forced: bool,
}

/// Finds what the emitter must do, by the FlatBuffer as it is without. `tables` has the place of each table, in the order of
/// writing.
pub fn force<'s>(
    sets: &'s [Set],
    walker: &Walker<'_>,
    tables: &[u32],
    outcome: &mut Outcome,
) -> (Forced, Vec<Pending<'s>>) {
    let len = walker.bytes.len();
    let numbers: HashMap<usize, u32> =
        tables.iter().zip(0..).map(|(from_end, number)| (len - *from_end as usize, number)).collect();
    let (mut forced, mut pending) = (Forced::default(), Vec::new());
    for set in sets {
        if frame_word(walker.root, &set.path).is_some() {
            pending.push(Pending { set, path: set.path.clone(), same: None, forced: false });
            continue;
        }
        let words = header_words(walker.root);
        if let ([Step::Name(header), ..], false) = (&*set.path.0, words.is_empty())
            && header == "header"
        {
            let words: Vec<&str> = words.iter().map(|(word, ..)| *word).collect();
            let message = format!("`{}`: there are {}", set.path, words.join(", "));
            outcome.errors.push(Remark { number: set.number, message });
            continue;
        }
        let found = walker.find(&set.path).and_then(|(place, path)| {
            let same = match &set.lie {
                Lie::SameAs(other) => Some(walker.find(other).map_err(|error| format!("`{other}`: {error}"))?.1),
                _ => None,
            };
            Ok((place, path, same, wanted(&set.lie, place)?))
        });
        match found {
            Err(error) => {
                outcome.errors.push(Remark { number: set.number, message: format!("`{}`: {error}", set.path) })
            }
            Ok((place, path, same, wanted)) => {
                let done = matches!(wanted, Some(Force::Absent | Force::Null | Force::Empty)) && same.is_none();
                match (wanted, place.field) {
                    (Some(Force::Absent), _) if place.at.is_none() => {
                        let message = format!("`{}` is left out already", set.path);
                        outcome.warnings.push(Remark { number: set.number, message });
                    }
                    (Some(force), Some((table, slot))) => match numbers.get(&table) {
                        Some(number) => forced.0.entry(*number).or_default().push((slot, force)),
                        None => {
                            let message = format!("`{}` is in no table that is written here", set.path);
                            outcome.errors.push(Remark { number: set.number, message });
                        }
                    },
                    _ => {}
                }
                pending.push(Pending { set, path, same, forced: done });
            }
        }
    }
    (forced, pending)
}

/// What the emitter must do for a lie about a place, if a patch will not do.
fn wanted(lie: &Lie, place: Place) -> Result<Option<Force>, String> {
    let missing = |force| Ok(if place.at.is_none() { Some(force) } else { None });
    match (lie, place.what) {
        (Lie::Absent, _) if place.field.is_some() => Ok(Some(Force::Absent)),
        (Lie::Absent, _) => Err("only a field can be absent; an item of a list of tables can be null".into()),
        (Lie::Empty, What::Offset(Target::Text | Target::Numbers(_) | Target::Tables(_))) if place.field.is_some() => {
            Ok(Some(Force::Empty))
        }
        (Lie::Empty, _) => Err("only a vector or a text can be empty".into()),
        (Lie::Null | Lie::SameAs(_), What::Offset(_)) => missing(Force::Null),
        (Lie::Null, What::Root) => Ok(None),
        (Lie::Null | Lie::SameAs(_), _) => Err("it is no offset".into()),
        (Lie::Integer(_) | Lie::Float(_) | Lie::Bytes(_), What::Number(_)) => missing(Force::Present),
        (Lie::Bytes(_), _) if place.at.is_some() => Ok(None),
        (Lie::Bytes(_), _) => Err("it is left out, so there are no bytes; make it `empty` first".into()),
        (Lie::Integer(_) | Lie::Float(_), _) => {
            Err("it is no number; expected absent, null, empty, {same_as: ...} or {bytes: ...}, or a number at its `@offset` or `@length`".into())
        }
    }
}

/// The patches that make the rest true of the finished file. `header` is inserted behind byte 8 of the FlatBuffer.
pub fn patches(pending: &[Pending<'_>], walker: &Walker<'_>, header: &[u8], outcome: &mut Outcome) -> Vec<Patch> {
    let mut all = Vec::new();
    for lie in pending.iter().filter(|lie| !lie.forced) {
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
    if let Some((at, size)) = frame_word(walker.root, &lie.path) {
        if at + size > 8 + header.len() && at >= 8 {
            return Err("the file's header has no such field".into());
        }
        let number = match size {
            8 => Number::Long,
            _ => Number::Int,
        };
        let bytes = match &lie.set.lie {
            Lie::Bytes(bytes) if bytes.len() <= size => bytes.clone(),
            Lie::Bytes(bytes) => return Err(format!("{} bytes are more than the {size} it has", bytes.len())),
            Lie::Null => vec![0; size],
            lie => encoded(lie, number)?,
        };
        return Ok(Patch { at: at as u64, bytes });
    }
    let (place, _) = walker.find(&lie.path)?;
    let at = place.at.ok_or("it is left out")?;
    let (at, bytes) = match (&lie.set.lie, place.what) {
        (Lie::Null, _) => (at, vec![0; 4]),
        (Lie::SameAs(other), _) => {
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
        (Lie::Bytes(bytes), What::Number(number)) if bytes.len() <= number.size() => (at, bytes.clone()),
        (Lie::Bytes(bytes), What::Number(number)) => {
            return Err(format!("{} bytes are more than the {} it has", bytes.len(), number.size()));
        }
        (Lie::Bytes(bytes), what) => {
            let target = walker.target(place)?;
            let (start, room) = match what {
                What::Offset(Target::Text) => (target + 4, length(walker, target) + 1),
                What::Offset(Target::Numbers(number)) => (target + 4, length(walker, target) * number.size()),
                What::Offset(Target::Tables(_)) => (target + 4, length(walker, target) * 4),
                _ => (target, walker.bytes.len() - target),
            };
            if bytes.len() > room {
                return Err(format!("{} bytes are more than the {room} it has", bytes.len()));
            }
            (start, bytes.clone())
        }
        (lie, What::Number(number)) => (at, encoded(lie, number)?),
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
fn encoded(lie: &Lie, number: Number) -> Result<Vec<u8>, String> {
    let size = number.size();
    match (lie, number) {
        (Lie::Float(x), Number::Double) => Ok(x.to_le_bytes().to_vec()),
        (Lie::Float(_), _) => Err("it holds an integer".into()),
        (Lie::Integer(n), Number::Double) => Ok((*n as f64).to_le_bytes().to_vec()),
        (Lie::Integer(n), _) => {
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

/// Words of a file's frame: where each is, and how many bytes it has (runtime-rules.md, sections 1.1 and 1.3).
const FRAME: &[(&str, usize, usize)] = &[("root", 0, 4), ("identifier", 4, 4)];
const PROGRAM_HEADER: &[(&str, usize, usize)] = &[
    ("header.magic", 8, 4),
    ("header.length", 12, 4),
    ("header.program_size", 16, 8),
    ("header.segment_base_offset", 24, 8),
    ("header.segment_data_size", 32, 8),
];
const FLAT_TENSOR_HEADER: &[(&str, usize, usize)] = &[
    ("header.magic", 8, 4),
    ("header.length", 12, 4),
    ("header.flatbuffer_offset", 16, 8),
    ("header.flatbuffer_size", 24, 8),
    ("header.segment_base_offset", 32, 8),
    ("header.segment_data_size", 40, 8),
];

/// The words of the header that a file with this root table has.
fn header_words(root: &'static Table) -> &'static [(&'static str, usize, usize)] {
    if std::ptr::eq(root, &program::PROGRAM) {
        PROGRAM_HEADER
    } else if std::ptr::eq(root, &flat_tensor::FLAT_TENSOR) {
        FLAT_TENSOR_HEADER
    } else {
        &[]
    }
}

/// The words of a file's frame, by path: where each is, and how many bytes it has.
pub fn frame_words(root: &'static Table) -> impl Iterator<Item = (&'static str, usize, usize)> {
    FRAME.iter().chain(header_words(root)).copied()
}

fn frame_word(root: &'static Table, path: &Path) -> Option<(usize, usize)> {
    // Their names are no fields, so that a path is one of them or none.
    let path = path.to_string();
    frame_words(root).find(|(word, ..)| *word == path).map(|(_, at, size)| (at, size))
}
