//! Emits the metadata of a file with its field overrides, and converts the remaining overrides to patches.

use std::io;

use super::FileOverrides;
use super::fields::{self, OverrideReport};
use super::walker::{ValueNames, Walker, root_of};
use crate::emitter::Metadata;
use crate::emitter::encoding::FieldEncodings;
use crate::emitter::flatbuffer::FlatBuffer;
use crate::layout::file::Placement;

/// Emits a file with overrides. `emit` writes its FlatBuffer, `place` computes the container of a FlatBuffer of a given
/// size in bytes, `values` returns the names of values. Returns the metadata, and the overrides to apply while the file
/// is written: patches, truncation and appended bytes. Errors and warnings about single overrides are added to
/// `report`.
///
/// # Errors
/// Errors of `emit` and `place`.
pub fn emit(
    overrides: &FileOverrides,
    values: &ValueNames<'_>,
    report: &mut OverrideReport,
    emit: impl Fn(Option<&FieldEncodings>) -> io::Result<FlatBuffer>,
    place: impl Fn(u64) -> io::Result<Placement>,
) -> io::Result<(Metadata, FileOverrides)> {
    let default = emit(Some(&FieldEncodings::default()))?;
    let root = root_of(&default[4..8]).expect("the emitter wrote one of the identifiers");
    let walker = Walker { bytes: &default, root, values };
    let (encodings, pending) = fields::encodings(&overrides.fields, &walker, &default.tables, report);
    let flatbuffer = if encodings.is_empty() { default } else { emit(Some(&encodings))? };
    let placement = place(flatbuffer.len() as u64)?;
    let walker = Walker { bytes: &flatbuffer, root, values };
    let mut patches = fields::patches(&pending, &walker, &placement.header, report);
    patches.extend_from_slice(&overrides.patches);
    Ok((Metadata { flatbuffer, placement }, FileOverrides { patches, ..overrides.clone() }))
}
