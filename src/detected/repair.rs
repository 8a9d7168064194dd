//! Repairs the identifier and the header of a malformed file, so that its content can be read.
//!
//! The FlatBuffer is not changed. Differences from the original file become field overrides.

use std::io;

use pte_model::data::Origin;
use pte_model::format::container::{
    ExtendedHeader, FLAT_TENSOR_HEADER, FLATBUFFER_OFFSET, FLATBUFFER_SIZE, PROGRAM_HEADER, PROGRAM_SIZE,
    SEGMENT_BASE_OFFSET,
};
use pte_model::format::{flat_tensor, program as pte};

/// Maximum size in bytes of a file that is copied and repaired.
const MAX: u64 = 64 << 20;

/// Returns a `.pte` with a repaired identifier and header; `None` if they are valid, or the file is too small or too
/// large.
///
/// # Errors
/// A file that cannot be read.
pub fn program(origin: &Origin) -> io::Result<Option<Origin>> {
    let Some(mut bytes) = copy(origin)? else { return Ok(None) };
    let len = bytes.len() as u64;
    let before = bytes.clone();
    bytes[4..8].copy_from_slice(pte::IDENTIFIER.as_bytes());
    // The file has a header if the magic consists of letters and the length is plausible.
    let length = ExtendedHeader::stated_length(&bytes).unwrap_or(0);
    let magic = &bytes[8..12];
    if magic.starts_with(b"eh") || (magic.is_ascii() && magic[0].is_ascii_alphabetic() && (1..=4096).contains(&length))
    {
        bytes[8..12].copy_from_slice(PROGRAM_HEADER.magic);
        if length < PROGRAM_HEADER.minimum {
            bytes[12..16].copy_from_slice(&PROGRAM_HEADER.length.to_le_bytes());
        }
        let field = |name| PROGRAM_HEADER.get(&bytes, name).unwrap_or(0);
        let (size, base) = (field(PROGRAM_SIZE), field(SEGMENT_BASE_OFFSET));
        let base = if base <= len { base } else { 0 };
        let size = match size {
            size if size >= 64 && size <= len && (base == 0 || size <= base) => size,
            _ if base >= 64 => base,
            _ => len,
        };
        set(&mut bytes, PROGRAM_HEADER.offset(PROGRAM_SIZE), size);
        set(&mut bytes, PROGRAM_HEADER.offset(SEGMENT_BASE_OFFSET), base);
    }
    Ok((bytes != before).then(|| Origin::Bytes(bytes.into())))
}

/// Returns a `.ptd` with a repaired identifier and header; `None` if they are valid, or the file is too small or too
/// large.
///
/// # Errors
/// A file that cannot be read.
pub fn flat_tensor(origin: &Origin) -> io::Result<Option<Origin>> {
    let Some(mut bytes) = copy(origin)? else { return Ok(None) };
    let len = bytes.len() as u64;
    let before = bytes.clone();
    bytes[4..8].copy_from_slice(flat_tensor::IDENTIFIER.as_bytes());
    bytes[8..12].copy_from_slice(FLAT_TENSOR_HEADER.magic);
    bytes[12..16].copy_from_slice(&FLAT_TENSOR_HEADER.length.to_le_bytes());
    let field = |name| FLAT_TENSOR_HEADER.get(&bytes, name).unwrap_or(0);
    let base = field(SEGMENT_BASE_OFFSET);
    let base = if (64..=len).contains(&base) { base } else { len };
    let (mut offset, mut size) = (field(FLATBUFFER_OFFSET), field(FLATBUFFER_SIZE));
    if offset.checked_add(size).is_none_or(|end| offset < 40 || size < 16 || end > base) {
        (offset, size) = (48, base - 48);
    }
    for (name, number) in [(FLATBUFFER_OFFSET, offset), (FLATBUFFER_SIZE, size), (SEGMENT_BASE_OFFSET, base)] {
        set(&mut bytes, FLAT_TENSOR_HEADER.offset(name), number);
    }
    Ok((bytes != before).then(|| Origin::Bytes(bytes.into())))
}

fn set(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// Returns the bytes of a file; `None` if it is too small to have a header, or too large to be copied.
fn copy(origin: &Origin) -> io::Result<Option<Vec<u8>>> {
    match origin.len()? {
        64..=MAX => origin.range(0, origin.len()?).map(Some),
        _ => Ok(None),
    }
}
