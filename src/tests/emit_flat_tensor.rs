//! The FlatBuffer of a `.ptd`.

use super::resolve::assembled;
use pte_model::format::flat_tensor::*;
use pte_model::format::flatbuffer::{follow, view::Table};

/// The FlatBuffer of the `.ptd` of YAML.
fn emitted(yaml: &str) -> Vec<u8> {
    let assembly = assembled(yaml);
    let (_, file) = assembly.data_files().next().unwrap();
    file.emitted.flatbuffer.to_vec()
}

const TENSOR_AND_BLOB: &str = "named_data:
  w: {tensor: int64, data: [[1, 2], [3, 4]], dim_order: [1, 0]}
  b: {text: abc}\n";

#[test]
fn tensors_have_a_layout_and_blobs_have_none() {
    // docs/format.md, "Ptd files"
    let bytes = emitted(TENSOR_AND_BLOB);
    let entries = Table::root(&bytes).unwrap().tables(flat_tensor::named_data).unwrap();
    let (tensor, blob) = (entries.get(0).unwrap(), entries.get(1).unwrap());
    assert_eq!(
        (entries.len(), tensor.text(named_data::key), blob.text(named_data::key)),
        (2, Some(&b"w"[..]), Some(&b"b"[..]))
    );
    let layout = tensor.child(named_data::tensor_layout).unwrap();
    assert_eq!(layout.i8(tensor_layout::scalar_type), 4);
    assert!(layout.i32s(tensor_layout::sizes).unwrap().iter().eq([2, 2]));
    assert!(layout.u8s(tensor_layout::dim_order).unwrap().iter().eq([1, 0]));
    assert!(!blob.has(named_data::tensor_layout));
    assert_eq!(blob.u32(named_data::segment_index), 1);
}

#[test]
fn the_version_0_is_left_out_and_offsets_count_from_the_first_segment() {
    let bytes = emitted(TENSOR_AND_BLOB);
    let root = Table::root(&bytes).unwrap();
    assert!(!root.has(flat_tensor::version));
    let segments: Vec<_> =
        root.tables(flat_tensor::segments).unwrap().iter().map(|segment| (segment.u64(0), segment.u64(1))).collect();
    assert_eq!(segments, [(0, 32), (128, 3)]);
}

#[test]
fn segments_are_written_before_the_keys() {
    let bytes = emitted(TENSOR_AND_BLOB);
    let root = Table::root(&bytes).unwrap();
    let target = |slot| follow(&bytes, root.offset(slot).unwrap()).unwrap();
    assert!(target(flat_tensor::segments) > target(flat_tensor::named_data));
}

#[test]
fn the_order_is_that_of_flatc_unless_another_is_requested() {
    // Of fields of one width, flatc writes the last slot first.
    let last_first = |layout: &str| {
        let bytes = emitted(&format!("{TENSOR_AND_BLOB}layout: {{{layout}}}\n"));
        let root = Table::root(&bytes).unwrap();
        root.offset(flat_tensor::named_data) > root.offset(flat_tensor::segments)
    };
    assert!(last_first("builder: exir"));
    assert!(!last_first("ptd_builder: exir"));
}
