//! Verifies that a FlatBuffer begins with a root table before all of it is read. Large files of other formats are
//! therefore not read.

use std::io;

use crate::data::Origin;
use crate::format::container::Container;
use crate::format::flatbuffer::read::{Buffer, ReadError};

/// Size in bytes up to which a FlatBuffer is read without this verification.
const SMALL: u64 = 1 << 20;

/// Verifies the identifier and the root table of a file of a format. Its FlatBuffer has `size` bytes and begins with
/// `head`.
///
/// # Errors
/// The file cannot be read, has another identifier, or its root is not a table ([`ReadError`], wrapped).
pub fn verify(origin: &Origin, head: &[u8], size: u64, container: &Container) -> io::Result<()> {
    if size <= SMALL {
        return Ok(());
    }
    if head.get(4..8) != Some(container.identifier.as_bytes()) {
        Buffer::new(head).root(container.identifier, container.root).map_err(io::Error::from)?;
    }
    table(origin, head, size, container)
}

/// Returns true unless the root of a large FlatBuffer is not a table, whatever its identifier is.
///
/// # Errors
/// A file that cannot be read.
pub fn has_table(origin: &Origin, head: &[u8], size: u64, container: &Container) -> io::Result<bool> {
    if size <= SMALL {
        return Ok(true);
    }
    match table(origin, head, size, container) {
        Ok(()) => Ok(true),
        Err(error) if crate::diagnostics::is_io(&error) => Err(error),
        Err(_) => Ok(false),
    }
}

fn table(origin: &Origin, head: &[u8], size: u64, container: &Container) -> io::Result<()> {
    let wrong =
        |offset: u64, message: String| Err(io::Error::other(ReadError { offset, field: String::new(), message }));
    let name = container.root.name;
    let offset = head.first_chunk().map_or(0, |offset| u64::from(u32::from_le_bytes(*offset)));
    if offset == 0 || offset.saturating_add(4) > size {
        return wrong(0, format!("the offset {offset} points outside the file"));
    }
    let back = origin.range(offset, 4)?.first_chunk().map_or(0, |back| i64::from(i32::from_le_bytes(*back)));
    let vtable = offset as i64 - back;
    let Some(at) = u64::try_from(vtable).ok().filter(|at| at % 2 == 0 && at.saturating_add(4) <= size) else {
        return wrong(offset, format!("{name}: invalid vtable offset {vtable}"));
    };
    let length = origin.range(at, 2)?.first_chunk().map_or(0, |length| u16::from_le_bytes(*length));
    match length >= 4 && length % 2 == 0 && at + u64::from(length) <= size {
        true => Ok(()),
        false => wrong(at, format!("{name}: invalid vtable size {length}")),
    }
}
