//! A file whose frame lies, with a frame that lets it be read: identifier, header, sizes.
//!
//! What is inside is left as it is. Whoever reads a mended file says what is wrong with the real one.

use std::io;

use super::{Origin, program};
use crate::schema::{flat_tensor, program as pte};

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
    let length = u32::from_le_bytes([bytes[12], bytes[13], bytes[14], bytes[15]]);
    let magic = &bytes[8..12];
    if magic.starts_with(b"eh") || (magic.is_ascii() && magic[0].is_ascii_alphabetic() && (1..=4096).contains(&length))
    {
        bytes[8..12].copy_from_slice(b"eh00");
        if length < 24 {
            bytes[12..16].copy_from_slice(&32u32.to_le_bytes());
        }
        let field = |at| program::header_field(&bytes, at).unwrap_or(0);
        let (size, base) = (field(16), field(24));
        let base = if base <= len { base } else { 0 };
        let size = match size {
            size if size >= 64 && size <= len && (base == 0 || size <= base) => size,
            _ if base >= 64 => base,
            _ => len,
        };
        bytes[16..24].copy_from_slice(&size.to_le_bytes());
        bytes[24..32].copy_from_slice(&base.to_le_bytes());
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
    bytes[8..12].copy_from_slice(b"FH01");
    bytes[12..16].copy_from_slice(&40u32.to_le_bytes());
    let field = |at| program::header_field(&bytes, at).unwrap_or(0);
    let base = field(32);
    let base = if (64..=len).contains(&base) { base } else { len };
    let (mut offset, mut size) = (field(16), field(24));
    if offset.checked_add(size).is_none_or(|end| offset < 40 || size < 16 || end > base) {
        (offset, size) = (48, base - 48);
    }
    for (at, number) in [(16, offset), (24, size), (32, base)] {
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    Ok((bytes != before).then(|| Origin::Bytes(bytes.into())))
}

/// The bytes of a file that is long enough to have a frame, and short enough to be copied.
fn copy(origin: &Origin) -> io::Result<Option<Vec<u8>>> {
    match origin.len()? {
        64..=MAX => origin.range(0, origin.len()?).map(Some),
        _ => Ok(None),
    }
}
