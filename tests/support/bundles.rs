//! Properties of `.bpte` files.

use std::path::Path;

use pte_emit::program::test_cases::{MethodTests, TestData};
use pte_model::data::Origin;
use pte_model::data::{Blob, BlobSource};
use pte_model::reader;
use pte_model::reader::bundled_program::{BundledProgramContents, read};

use super::sources;

/// Reads a `.bpte` in memory.
pub fn read_bytes(bytes: &[u8]) -> std::io::Result<BundledProgramContents> {
    read(&Origin::Bytes(bytes.into()))
}

/// Normalizes tests to the form that is read: sorted, data as bytes, no negative zeros (a scalar that equals its
/// default is absent), no empty list of outputs.
fn normalized(tests: &[MethodTests]) -> Vec<MethodTests> {
    let value = |value: &TestData| match value {
        TestData::Double(x) => TestData::Double(x + 0.0),
        TestData::Tensor { scalar_type, sizes, dim_order, data } => TestData::Tensor {
            scalar_type: *scalar_type,
            sizes: sizes.clone(),
            dim_order: dim_order.clone(),
            data: Blob::bytes(data.to_vec().unwrap()),
        },
        other => other.clone(),
    };
    let values = |values: &[TestData]| values.iter().map(value).collect::<Vec<TestData>>();
    let mut tests = tests.to_vec();
    for case in tests.iter_mut().flat_map(|suite| &mut suite.cases) {
        case.inputs = values(&case.inputs);
        case.outputs = case.outputs.as_deref().map(values).filter(|outputs| !outputs.is_empty());
    }
    tests.sort_by(|a, b| a.method.cmp(&b.method));
    tests
}

/// Formats tests for comparison: a NaN is not equal to itself.
pub fn formatted(tests: &[MethodTests]) -> String {
    format!("{:#?}", normalized(tests))
}

/// Asserts that a `.bpte` has the program and the tests of a source, read from memory and from disk.
pub fn matches_its_source(path: &Path, source: &Path) {
    let assembly = sources::assembled(source);
    let program = assembly.program_file().unwrap().to_vec().unwrap();
    let in_memory = read_bytes(&std::fs::read(path).unwrap()).unwrap();
    let on_disk = read(&Origin::File(path.into())).unwrap();
    for found in [in_memory, on_disk] {
        assert_eq!(found.version, 2);
        assert!(found.program.to_vec().unwrap() == program, "another program");
        pretty_assertions::assert_eq!(formatted(&found.tests), formatted(&assembly.tests));
        let read = reader::program::read(&found.program_origin().unwrap()).unwrap().program;
        assert_eq!(read.plans().len(), assembly.program().plans().len());
    }
}

/// Asserts the alignment of the program and of tensor data in the schema of `.bpte`. Returns the number of tensors with
/// data.
pub fn is_aligned(path: &Path) -> usize {
    let found = read(&Origin::File(path.into())).unwrap();
    let offset = |blob: &Blob| match &blob.source {
        BlobSource::File { offset, .. } => *offset,
        _ => panic!("expected data in the file"),
    };
    assert_eq!(offset(&found.program) % 32, 0);
    let cases = found.tests.iter().flat_map(|suite| &suite.cases);
    let values = cases.flat_map(|case| case.inputs.iter().chain(case.outputs.iter().flatten()));
    let data = values.filter_map(|value| match value {
        // flatc writes an empty vector without its alignment.
        TestData::Tensor { data, .. } if !data.is_empty() => Some(offset(data)),
        _ => None,
    });
    data.inspect(|offset| assert!(offset.is_multiple_of(16), "tensor data at {offset}")).count()
}

/// Asserts that reading a `.bpte` with one mutated byte, or truncated, does not panic.
pub fn survives_damage(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0xff;
        let _ = read_bytes(&damaged);
        let lost = bytes.len() - at;
        // The last bytes may be padding.
        let is_read = read_bytes(&bytes[..at]).is_ok();
        assert!(!is_read || lost < 4, "it is read without its last {lost} bytes");
    }
}
