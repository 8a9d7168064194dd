//! Checks a `.ptd`: its keys, and the layouts and sizes of their data (`N-`).

use std::collections::HashMap;

use super::super::header::CheckedHeader;
use super::super::path::{FirstByName, LIST, Node, Reporter, slot};
use super::{check_dim_order, listed};
use crate::RuleId::*;
use pte_model::data::{Blob, BlobId};
use pte_model::diagnostics::Counted;
use pte_model::format::ScalarType;
use pte_model::format::container::{FLAT_TENSOR_HEADER, SEGMENT_BASE_OFFSET};
use pte_model::format::flat_tensor::{flat_tensor, named_data, tensor_layout};
use pte_model::format::flatbuffer::view::Table;
use pte_model::format::program::data_segment;
use pte_model::program::{ExecutionPlan, Program, TensorData, TensorDataLocation, nbytes};
use pte_model::reader::program::Ranges;

/// The data of a key.
pub struct ExternalEntry {
    /// Index of the file in [`ExternalKeys::files`].
    pub file: usize,
    /// Size of the segment in bytes.
    pub size: u64,
    /// Bytes of the segment; `None` if it is not inside the file.
    pub data: Option<Blob>,
    /// Element type, sizes and dim order; `None` for a blob.
    pub layout: Option<(ScalarType, Vec<i32>, Vec<u8>)>,
}

/// The keys of all `.ptd` files that are loaded with a program.
#[derive(Default)]
pub struct ExternalKeys {
    /// Names of the files.
    pub files: Vec<String>,
    /// Data by key.
    pub entries: HashMap<Vec<u8>, ExternalEntry>,
}

impl ExternalKeys {
    /// Sets the data of external tensors. A tensor whose size in bytes differs from that of its key is skipped.
    pub fn set_data(&self, program: &mut Program) {
        if self.entries.is_empty() {
            return;
        }
        let Program { execution_plan, blobs, .. } = program;
        for (_, tensor) in execution_plan.iter_mut().flatten().flat_map(ExecutionPlan::tensors_mut) {
            let Some(extra) =
                tensor.extra_tensor_info.as_ref().filter(|extra| extra.location == TensorDataLocation::EXTERNAL)
            else {
                continue;
            };
            let entry = extra.fully_qualified_name.as_ref().and_then(|key| self.entries.get(key.as_bytes()));
            let Some(data) = entry.and_then(|entry| entry.data.clone()) else { continue };
            if let (Ok(id), true) = (u32::try_from(blobs.len()), tensor.nbytes() == Some(data.len)) {
                tensor.data = TensorData::Blob(BlobId(id));
                blobs.push(data);
            }
        }
    }
}

/// Checks the metadata of a `.ptd`.
pub fn check(bytes: &[u8], header: &CheckedHeader, report: &mut Reporter<'_, '_>) {
    let Some(root) = Node::root(bytes) else { return };
    report.equals(G_6, root, slot!(flat_tensor::version), Table::u32, 0);
    let (list, keys) = (slot!(flat_tensor::segments), slot!(flat_tensor::named_data));
    report.present(H_27, root, &[list, keys], LIST);
    let (Some(segments), Some(named)) = (root.tables(list.0), root.tables(keys.0)) else { return };
    super::segments::check(root, list, header, report);
    if named.len() == 0 {
        report.field(N_30, root, keys, "no keys", "at least one");
    }
    let mut names = FirstByName::new();
    root.each(keys, |position, entry| {
        report.unique([N_11, N_2], entry, slot!(named_data::key), &mut names, ("entry", position));
        let index = slot!(named_data::segment_index);
        let index = report.index(N_12, entry, index, Table::u32, ("segment", segments.len()));
        let size = index.and_then(|index| segments.get(index)).map(|segment| segment.u64(data_segment::size));
        if let Some(layout) = entry.child(named_data::tensor_layout) {
            check_layout(Node::new(layout, &entry.path.field("tensor_layout")), size, report);
        }
    });
}

fn check_layout(t: Node<'_, '_>, size: Option<u64>, report: &mut Reporter<'_, '_>) {
    let scalar_type = ScalarType(t.i8(tensor_layout::scalar_type));
    if scalar_type.info().is_none() {
        let expected = format_args!("0 to {}", ScalarType::COUNT - 1);
        report.field(N_16, t, slot!(tensor_layout::scalar_type), scalar_type, expected);
    }
    let (Some(sizes), Some(order)) = (t.i32s(tensor_layout::sizes), t.u8s(tensor_layout::dim_order)) else {
        return report.add(N_18, t.path, t.at, "a layout without sizes or dim_order", "both (empty for rank 0)");
    };
    check_dim_order(N_18, t, sizes.len(), order, report);
    let numbers: Vec<i32> = sizes.iter().collect();
    let bytes = nbytes(scalar_type, &numbers).filter(|bytes| i64::try_from(*bytes).is_ok());
    match bytes {
        None if scalar_type.info().is_some() => {
            let found = format_args!("sizes {} of type {scalar_type}", listed(sizes.iter()));
            report.add(N_17, &t.path.field("sizes"), sizes.at, found, "sizes of at least 0, and less than 2^63 bytes");
        }
        Some(bytes) if size.is_some_and(|size| size < bytes) => {
            let found = format_args!("a segment of {}", Counted(size.unwrap_or(0), "byte"));
            report.add(N_19, t.path, t.at, found, format_args!("at least {bytes}, the size of the layout"));
        }
        _ => {}
    }
}

/// Adds the keys of a `.ptd`. Returns the keys that an earlier file also has, each with the index of that file.
pub fn add_keys(bytes: &[u8], name: &str, data: &Ranges<'_>, external: &mut ExternalKeys) -> Vec<(Vec<u8>, usize)> {
    let file = external.files.len();
    external.files.push(name.to_owned());
    let mut duplicates = Vec::new();
    let Some(root) = Table::root(bytes) else { return duplicates };
    let base = FLAT_TENSOR_HEADER.get(bytes, SEGMENT_BASE_OFFSET).unwrap_or(0);
    let segments = root.tables(flat_tensor::segments);
    let named = root.tables(flat_tensor::named_data);
    for entry in named.iter().flat_map(|named| named.iter()) {
        let Some(key) = entry.text(named_data::key) else { continue };
        let segment = segments.and_then(|segments| segments.get(entry.u32(named_data::segment_index) as usize));
        let layout = entry.child(named_data::tensor_layout).map(|t| {
            let sizes = t.i32s(tensor_layout::sizes).map_or(Vec::new(), |sizes| sizes.iter().collect());
            let order = t.u8s(tensor_layout::dim_order).map_or(Vec::new(), |order| order.iter().collect());
            (ScalarType(t.i8(tensor_layout::scalar_type)), sizes, order)
        });
        let size = segment.map_or(0, |segment| segment.u64(data_segment::size));
        match external.entries.get(key) {
            Some(other) if other.file != file => duplicates.push((key.to_owned(), other.file)),
            Some(_) => {}
            None => {
                let offset = segment.and_then(|segment| base.checked_add(segment.u64(data_segment::offset)));
                let data = offset.and_then(|offset| data(offset, size));
                external.entries.insert(key.to_owned(), ExternalEntry { file, size, data, layout });
            }
        }
    }
    duplicates
}
