//! The tests of a `.bpte` are read as they were written; malformed files are errors.

use super::resolve::{assembled, forward};
use pte_model::data::Origin;
use pte_model::format::ScalarType;
use pte_model::program::test_cases::TestData;
use pte_model::reader::bundled_program::*;
use std::io;

const PARTS: &str = "values: {x: f32[2], n: 3, e: 0.5, b: true}, inputs: [x, n, e, b], outputs: [x],
        tests: [{inputs: [[1, 2], 3, 0.5, true], outputs: [[3, 4]]}, {inputs: [[5, 6], 3, 0.5, true]}]";

/// The `.bpte` of a method `forward`, with this override.
fn file(set: &str) -> Vec<u8> {
    let assembly = assembled(&format!("{}raw: {{bpte: {{set: {{{set}}}}}}}\n", forward(PARTS)));
    assembly.bundled().unwrap().to_vec().unwrap()
}

fn found(set: &str) -> io::Result<BundledProgramContents> {
    read(&Origin::Bytes(file(set).into()))
}

#[test]
fn the_tests_round_trip() {
    let found = found("").unwrap();
    let [tests] = &*found.tests else { panic!("one method") };
    assert_eq!((found.version, &*tests.method, tests.cases.len()), (2, "forward", 2));
    let TestData::Tensor { scalar_type, sizes, dim_order, data } = &tests.cases[0].inputs[0] else { panic!() };
    assert_eq!((*scalar_type, &**sizes, &**dim_order), (ScalarType::FLOAT, &[2][..], &[0][..]));
    assert_eq!(data.to_vec().unwrap(), [1f32, 2.0].map(f32::to_le_bytes).concat());
    assert_eq!(tests.cases[0].inputs[1..], [TestData::Int(3), TestData::Double(0.5), TestData::Bool(true)]);
    // An empty list of outputs means that nothing is compared.
    assert_eq!((tests.cases[0].outputs.as_ref().map(Vec::len), &tests.cases[1].outputs), (Some(1), &None));
}

#[test]
fn the_program_inside_is_a_file_of_its_own() {
    let origin = found("").unwrap().program_origin().unwrap();
    let program = assembled(&forward(PARTS)).program_file().unwrap().to_vec().unwrap();
    assert_eq!(origin.range(0, origin.len().unwrap()).unwrap(), program);
}

/// Overrides, and the field that the error names.
const HOSTILE: [(&str, &str); 8] = [
    ("program: absent", "BundledProgram.program"),
    ("method_test_suites[0].method_name: absent", "BundledMethodTestSuite.method_name"),
    ("method_test_suites[0].test_cases[0].inputs[0].val_type: 5", "Value.val_type"),
    ("method_test_suites[0].test_cases[0].inputs[0].val: absent", "Value.val"),
    ("method_test_suites[0].test_cases[0].inputs[0].val.sizes[0]: 3", "Tensor.data"),
    ("method_test_suites[0].test_cases[0].inputs[0].val.sizes[0]: -1", "Tensor.sizes"),
    ("method_test_suites[0].test_cases[0].inputs[0].val.dim_order[0]: 1", "Tensor.dim_order"),
    ("method_test_suites[0].test_cases[0].inputs[0].val.data.@length: 7", "Tensor.data"),
];

#[test]
fn what_no_test_can_hold_is_an_error_at_the_field() {
    for (set, field) in HOSTILE {
        let (path, value) = set.split_once(": ").unwrap();
        let error = found(&format!("\"{path}\": {value}")).unwrap_err().to_string();
        assert!(error.starts_with(&format!("{field}:")), "{set}: {error}");
    }
}
