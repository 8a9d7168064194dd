//! A file whose frame lies, with a frame that lets it be read: identifier, header, sizes.
//!
//! What is inside is left as it is. Whoever reads a mended file says what is wrong with the real one.

use std::io;

use crate::format::{flat_tensor, program as pte};
use crate::data::Origin;
use crate::format::container::{ExtendedHeader, FLAT_TENSOR_HEADER, FLATBUFFER_OFFSET, FLATBUFFER_SIZE, PROGRAM_HEADER, PROGRAM_SIZE, SEGMENT_BASE_OFFSET};

/// Larger files are not copied to be mended.
const MAX: u64 = 64 << 20;

/// A `.pte` with a frame that can be read, if its frame is what is wrong.
///
/// # Errors
/// A file that cannot be read.
pub fn program(origin: &Origin) -> io::Result<Option<Origin>> {
    let Some(mut bytes) = copy(origin)? else { return Ok(None) };
    let len = bytes.len() as u64;
    let before = bytes.clone();
    bytes[4..8].copy_from_slice(pte::IDENTIFIER.as_bytes());
    // A root table behind the header's place, and a word that is a length: there was a header.
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

/// A `.ptd` with a frame that can be read, if its frame is what is wrong.
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

/// The bytes of a file that is long enough to have a frame, and short enough to be copied.
fn copy(origin: &Origin) -> io::Result<Option<Vec<u8>>> {
    match origin.len()? {
        64..=MAX => origin.range(0, origin.len()?).map(Some),
        _ => Ok(None),
    }
}
