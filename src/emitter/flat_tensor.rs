//! Makes the FlatBuffer of a `.ptd` (`flat_tensor.fbs`).

use std::io;

use super::encoding::FieldEncodings;
use super::flatbuffer::{FlatBuffer, Slot, Writer};
use super::program::segments;
use crate::format::flat_tensor as schema;
use crate::format::flat_tensor::*;
use crate::format::serializer::Serializer;
use crate::layout::{ExternalFile, Strings};

/// The FlatBuffer of a `.ptd`, without its header, with `encodings` of its fields.
///
/// # Errors
/// More than fits a FlatBuffer (2 GiB).
pub fn emit(file: &ExternalFile, serializer: Serializer, encodings: Option<&FieldEncodings>) -> io::Result<FlatBuffer> {
    let mut w = Writer::new(serializer, Strings::Separate, encodings);
    let segments = segments(&mut w, &file.segments);
    let mut entries = Vec::with_capacity(file.named_data.len());
    for entry in &file.named_data {
        let key = w.string(&entry.key);
        let layout = entry.tensor_layout.as_ref().map(|layout| {
            let sizes = w.vector(Some(&layout.sizes));
            let dim_order = w.vector(Some(&layout.dim_order));
            let slots = [
                (tensor_layout::scalar_type, Slot::Byte(layout.scalar_type.0 as u8)),
                (tensor_layout::sizes, sizes),
                (tensor_layout::dim_order, dim_order),
            ];
            w.table(&TENSOR_LAYOUT, &slots)
        });
        let slots = [
            (named_data::key, key),
            (named_data::segment_index, Slot::UInt(entry.segment_index)),
            (named_data::tensor_layout, Slot::Child(layout)),
        ];
        entries.push(w.table(&NAMED_DATA, &slots));
    }
    let entries = w.tables(Some(&entries));
    let slots = [(flat_tensor::segments, segments), (flat_tensor::named_data, entries)];
    let root = w.table(&FLAT_TENSOR, &slots);
    w.finish(root, schema::IDENTIFIER, "the metadata of the .ptd")
}
