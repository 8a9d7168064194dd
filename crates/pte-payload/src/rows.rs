//! Headers of numbers as tables: a row for each number or part of the payload, with its place, size and meaning.

use super::description::{DescribeError, Fact, Facts};
use pte_model::data::Blob;
use pte_model::diagnostics::counted;
use pte_model::format::flatbuffer;

/// A number of a header: offset and size in bytes. It is little-endian.
pub type Place = (usize, usize);

/// A row of a header.
#[derive(Debug)]
pub enum Row {
    /// An integer without a sign.
    Number(&'static str, Place),
    /// Size in bytes of something that is not in the payload, such as memory.
    Bytes(&'static str, Place),
    /// A part of the payload: where its offset and its size are.
    Part(&'static str, Place, Place),
    /// A part at a fixed offset: where its size is.
    PartAt(&'static str, u64, Place),
}

/// Returns the number at a place; `None` outside of the bytes.
pub fn number(bytes: &[u8], (at, size): Place) -> Option<u64> {
    bytes.get(at..at.checked_add(size)?).map(flatbuffer::number)
}

/// Reads the first `size` bytes of a payload.
///
/// # Errors
/// A payload that is shorter, or cannot be read.
pub fn head(payload: &Blob, size: usize) -> Result<Vec<u8>, DescribeError> {
    if payload.len() < size as u64 {
        let found = counted(payload.len(), "byte");
        return Err(DescribeError::malformed(format!("a payload of {found}, expected a header of {size}")));
    }
    Ok(payload.read_at(0, size)?)
}

/// Returns the facts of a header at `start` in the payload, in the order of the rows. Offsets in it are those in the
/// payload.
///
/// # Errors
/// A header that is too short; a part outside of the payload.
pub fn facts(rows: &'static [Row], head: &[u8], start: u64, payload: &Blob) -> Result<Facts, DescribeError> {
    let mut facts = Facts::default();
    for row in rows {
        let read = |place: &Place| {
            let message =
                || format!("{} of a header, expected a number at {:#x}", counted(head.len(), "byte"), place.0);
            number(head, *place).ok_or_else(|| DescribeError::malformed(message()))
        };
        match row {
            Row::Number(name, place) => {
                facts.add(name, Fact::Number(i64::try_from(read(place)?).unwrap_or(i64::MAX)));
            }
            Row::Bytes(name, place) => facts.add(name, Fact::Bytes(read(place)?)),
            Row::Part(name, offset, size) => {
                add_part(&mut facts, name, (read(offset)?, read(size)?), start, size, payload)?
            }
            Row::PartAt(name, offset, size) => {
                add_part(&mut facts, name, (*offset, read(size)?), start, size, payload)?;
            }
        }
    }
    Ok(facts)
}

fn add_part(
    facts: &mut Facts,
    name: &'static str,
    (offset, size): (u64, u64),
    start: u64,
    place: &Place,
    payload: &Blob,
) -> Result<(), DescribeError> {
    if offset.checked_add(size).is_none_or(|end| end > payload.len()) {
        let (found, len) = (counted(size, "byte"), counted(payload.len(), "byte"));
        let place = start.saturating_add(place.0 as u64);
        let message = format!("{name} of {found} at byte {offset:#x} (size at byte {place:#x}), expected it in {len}");
        return Err(DescribeError::malformed(message));
    }
    facts.add_part(name, offset, size);
    Ok(())
}

/// Returns offset and size of a part among facts.
pub fn part(facts: &Facts, name: &str) -> Option<(u64, u64)> {
    match facts.get(name)? {
        Fact::Map(part) => match part.as_slice() {
            [(_, Fact::Bytes(offset)), (_, Fact::Bytes(size))] => Some((*offset, *size)),
            _ => None,
        },
        Fact::Text(_) | Fact::Number(_) | Fact::Bytes(_) | Fact::List(_) => None,
    }
}
