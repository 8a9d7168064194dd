//! Emits the FlatBuffer of a `.ptd` (`flat_tensor.fbs`), without header and segments.

use std::io;

use super::encoding::FieldEncodings;
use super::flatbuffer::{FieldValue, FlatBuffer, Offset, Writer};
use super::table::{EmitField, EmitTable, table, tables};
use crate::layout::{ExternalFile, ExternalNamedData, Strings};
use pte_model::format::flat_tensor as schema;
use pte_model::format::flat_tensor::*;
use pte_model::format::serializer::Serializer;

/// Emits the FlatBuffer of a `.ptd`, without its header, with `encodings` of its fields.
///
/// # Errors
/// A FlatBuffer larger than 2 GiB.
pub fn emit(file: &ExternalFile, serializer: Serializer, encodings: Option<&FieldEncodings>) -> io::Result<FlatBuffer> {
    let mut w = Writer::new(serializer, Strings::Separate, encodings);
    let root = table!(w, FLAT_TENSOR flat_tensor { segments: file.segments, named_data: file.named_data });
    w.finish(root, schema::IDENTIFIER, "the metadata of the .ptd")
}

tables! {
    ExternalNamedData = NAMED_DATA named_data { key, segment_index, tensor_layout }
}
