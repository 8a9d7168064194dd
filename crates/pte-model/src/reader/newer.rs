//! Refuses files whose parts of a newer schema a rewritten file would lose: those of a `.ptd`, and those of the tests
//! in a `.bpte`.

use std::io;

use crate::data::Origin;
use crate::diagnostics::first_names;
use crate::format::container::{self, Container, ExtendedHeader, PREAMBLE};
use crate::format::flatbuffer::unknown;

/// Verifies that a `.ptd` has no parts of a newer schema.
///
/// # Errors
/// The tables that have them; a file that cannot be read.
pub fn refuse_flat_tensor(origin: &Origin) -> io::Result<()> {
    refuse(origin, super::flat_tensor::frame(origin)?.metadata, &container::FLAT_TENSOR)
}

/// Verifies that the tests of a `.bpte` have no parts of a newer schema. Its program may have them.
///
/// # Errors
/// As [`refuse_flat_tensor`].
pub fn refuse_bundle(origin: &Origin) -> io::Result<()> {
    refuse(origin, origin.len()?, &container::BUNDLED_PROGRAM)
}

fn refuse(origin: &Origin, size: u64, container: &Container) -> io::Result<()> {
    let bytes = origin.head(size)?;
    let has_header = container.header.is_some_and(|header| header.is_in(&bytes));
    let length = if has_header { ExtendedHeader::stated_length(&bytes).unwrap_or(0) } else { 0 };
    let head = PREAMBLE.saturating_add(length as usize).min(bytes.len());
    let Some(parts) = unknown::find(&bytes, container.root, head) else { return Ok(()) };
    if parts.is_empty() {
        return Ok(());
    }
    let mut names: Vec<&str> = parts.tables.iter().map(|table| table.name).collect();
    names.sort_unstable();
    names.dedup();
    let names = first_names(names.into_iter());
    Err(io::Error::other(format!("the file has parts of a newer schema, which would be lost: in {names}")))
}
