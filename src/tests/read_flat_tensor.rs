//! The keys of a `.ptd` are read as they were written; malformed files are errors.

use super::resolve::assembled;
use pte_model::data::Origin;
use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::TensorLayout;
use pte_model::reader::flat_tensor::*;
use std::io;

const YAML: &str = "named_data:
  w: {tensor: int64, data: [[1, 2], [3, 4]], dim_order: [1, 0]}
  b: {text: abc}
  c: {text: abc}\n";

/// The `.ptd` of YAML.
fn file(yaml: &str) -> Vec<u8> {
    let assembly = assembled(yaml);
    let (_, file) = assembly.data_files().next().unwrap();
    file.to_vec().unwrap()
}

fn entries(bytes: &[u8]) -> io::Result<Vec<FlatTensorEntry>> {
    read(&Origin::Bytes(bytes.into()))
}

#[test]
fn keys_have_their_layout_and_their_bytes() {
    let entries = entries(&file(YAML)).unwrap();
    let layout = TensorLayout { scalar_type: ScalarType::LONG, sizes: vec![2, 2], dim_order: DimOrder::from(&[1, 0]) };
    let found: Vec<_> = entries.iter().map(|entry| (&*entry.key, entry.tensor_layout.as_ref())).collect();
    assert_eq!(found, [("w", Some(&layout)), ("b", None), ("c", None)]);
    let words: Vec<u8> = [1u64, 3, 2, 4].into_iter().flat_map(u64::to_le_bytes).collect();
    assert_eq!(entries[0].data.to_vec().unwrap(), words);
    assert_eq!(entries[1].data.to_vec().unwrap(), b"abc");
}

#[test]
fn the_layout_of_a_file_is_found() {
    let bytes = file(YAML);
    let found = frame(&Origin::Bytes(bytes.as_slice().into())).unwrap();
    assert_eq!((found.segments, found.entry_segments), (vec![(0, 32), (128, 3)], vec![0, 1, 1]));
    // docs/format.md, "Ptd files": 48 bytes of header, then the first segment at a multiple of 128.
    assert_eq!((found.base, bytes.len() as u64), (found.metadata.next_multiple_of(128), found.base + 131));
}

#[test]
fn a_file_needs_its_header() {
    for at in [4, 8] {
        let mut bytes = file(YAML);
        bytes[at] ^= 1;
        assert!(entries(&bytes).is_err(), "{at}");
    }
    assert!(entries(&file(YAML)[..40]).is_err());
}

#[test]
fn metadata_and_data_must_be_inside_the_file() {
    let bytes = file(YAML);
    assert!(entries(&bytes[..bytes.len() - 1]).is_err());
    for size in [bytes.len() as u64, u64::MAX] {
        let mut long = bytes.clone();
        long[24..32].copy_from_slice(&size.to_le_bytes());
        assert!(entries(&long).is_err(), "{size}");
    }
}

/// Overrides, and the field that the error names.
const HOSTILE: [(&str, &str); 4] = [
    ("named_data[0].segment_index: 2", "NamedData.segment_index"),
    ("named_data[0].key: absent", "NamedData.key"),
    ("segments[1].size: 4", "NamedData.segment_index"),
    ("segments[1].offset: 18446744073709551615", "NamedData.segment_index"),
];

#[test]
fn what_is_not_in_the_file_is_an_error_at_the_field() {
    for (set, field) in HOSTILE {
        let (path, value) = set.split_once(": ").unwrap();
        let error = entries(&file(&format!("{YAML}raw: {{set: {{\"{path}\": {value}}}}}\n"))).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{field}:")), "{set}: {error}");
    }
}
