//! Bundled programs (`.bpte`) written by ExecuTorch's devtools, malformed ones with their errors, and random tests that
//! are written and read again.
//!
//! tests/cases/golden.rs compares the files that devtools wrote with their sources.

use proptest::prelude::*;
use pte_emit::check::{CheckOptions, RuleId};
use pte_emit::program::test_cases::{MethodTests, TestCase, TestData};
use pte_emit::program::{DimOrder, ExecutionPlan, Program, nbytes};
use pte_emit::{AssembleOptions, Model, Resolved};
use pte_model::data::Blob;
use pte_model::format::ScalarType;
use pte_model::format::serializer::Serializer;

use crate::support::bundles::{formatted, read_bytes};
use crate::support::root;

fn bytes_of(reference: &str) -> Vec<u8> {
    std::fs::read(root().join("tests/golden/upstream/bundled").join(reference)).unwrap()
}

#[test]
fn devtools_make_tests_contiguous() {
    let found = read_bytes(&bytes_of("channels_last/devtools.bpte")).unwrap();
    let TestData::Tensor { sizes, dim_order, data, .. } = &found.tests[0].cases[0].inputs[0] else { panic!() };
    let bytes: Vec<u8> = (-12..12i16).flat_map(|n| f32::from(n).to_le_bytes()).collect();
    assert_eq!((sizes.as_slice(), &**dim_order), (&[1, 2, 3, 4][..], &[0, 1, 2, 3][..]));
    assert_eq!(data.to_vec().unwrap(), bytes);
}

/// The runtime refuses a Double beyond its tolerance, and each finite one in place of an infinity.
#[test]
fn a_double_is_compared_with_the_one_of_the_program_as_in_the_runtime() {
    let is_accepted = |own: &str, found: &str| {
        let method = format!("{{values: {{f: {own}}}, inputs: [f], outputs: [], tests: [{{inputs: [{found}]}}]}}");
        let model = Model::from_yaml("double.yaml", format!("methods: {{forward: {method}}}"), ".");
        let assembly = model.assembly().unwrap();
        let bytes = assembly.bundled().unwrap().to_vec().unwrap();
        let findings = assembly.check_bundled(&bytes, &CheckOptions::default());
        !findings.list.iter().any(|finding| finding.rule.id == RuleId::B_8)
    };
    let accepted = [("1.5", "1.5001"), ("-.inf", "-.inf"), (".nan", ".nan"), ("1.0e+10", "1.00001e+10")];
    assert!(accepted.iter().all(|(own, found)| is_accepted(own, found)));
    let refused = [("1.5", "1.5002"), (".inf", "1.5"), ("1.5", ".inf"), (".inf", "-.inf"), ("1.5", ".nan")];
    refused.iter().for_each(|(own, found)| assert!(!is_accepted(own, found), "{found} for {own}"));
}

#[test]
fn errors_name_the_field_and_the_value() {
    let good = bytes_of("addmul/model.bpte");
    let error = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        let message = read_bytes(&bytes).unwrap_err().to_string();
        message.rsplit_once(" (at byte").map_or(message.clone(), |(message, _)| message.to_owned())
    };
    // The input of the first test is written first, so it is stored last: dim_order, data and sizes, each after its
    // length.
    let first = 1.5409961f32.to_le_bytes();
    let data = good.windows(4).rposition(|window| window == first).unwrap();
    let (order, length, sizes) = (data - 12, data - 4, data + 28);
    let root = u32::from_le_bytes(good[..4].try_into().unwrap()) as usize;
    let vtable = root - u32::from_le_bytes(good[root..root + 4].try_into().unwrap()) as usize;
    let messages = [
        error(&|bytes| bytes[4] = b'E'),
        error(&|bytes| bytes[vtable + 8..vtable + 10].fill(0)),
        error(&|bytes| bytes[length] = 8),
        error(&|bytes| bytes[length] = 17),
        error(&|bytes| bytes[length + 3] = 1),
        error(&|bytes| bytes[sizes] = 3),
        error(&|bytes| bytes[sizes + 3] = 0xff),
        error(&|bytes| bytes[order + 4] = 1),
        error(&|bytes| bytes[order + 5] = 2),
        error(&|bytes| bytes[order] = 1),
    ];
    let expected = [
        "expected the file identifier \"BP08\", found \"EP08\"",
        "BundledProgram.program: missing program",
        "Tensor.data: found 8 bytes, expected 16",
        "Tensor.data: found 17 bytes, expected 16",
        "Tensor.data: a vector of 16777232 items exceeds the file",
        "Tensor.data: found 16 bytes, expected 24",
        "Tensor.sizes: invalid sizes for a tensor of element type float32",
        "Tensor.dim_order: not a permutation of 2 dimensions",
        "Tensor.dim_order: not a permutation of 2 dimensions",
        "Tensor.dim_order: not a permutation of 2 dimensions",
    ];
    pretty_assertions::assert_eq!(messages, expected);
}

fn values() -> impl Strategy<Value = Vec<TestData>> {
    let tensor = (0..30i8, prop::collection::vec(0..4i32, 0..4), any::<bool>(), any::<u8>()).prop_map(
        |(code, sizes, reversed, byte)| {
            let scalar_type = ScalarType(code);
            let mut dim_order = DimOrder::contiguous(sizes.len());
            if reversed {
                dim_order.reverse();
            }
            let len = nbytes(scalar_type, &sizes).unwrap() as usize;
            TestData::Tensor { scalar_type, sizes, dim_order, data: Blob::bytes(vec![byte; len]) }
        },
    );
    let value = prop_oneof![
        any::<i64>().prop_map(TestData::Int),
        any::<bool>().prop_map(TestData::Bool),
        any::<f64>().prop_map(TestData::Double),
        tensor,
    ];
    prop::collection::vec(value, 0..5)
}

fn method_tests() -> impl Strategy<Value = Vec<MethodTests>> {
    let case = (values(), prop::option::of(values())).prop_map(|(inputs, mut outputs)| {
        if let Some(outputs) = &mut outputs {
            outputs.retain(|output| matches!(output, TestData::Tensor { .. }));
        }
        TestCase::new(inputs, outputs)
    });
    let cases = prop::collection::vec(case, 0..4);
    prop::collection::btree_map("[A-Za-zé\u{4e00}]{0,5}", cases, 0..4)
        .prop_map(|suites| suites.into_iter().rev().map(|(method, cases)| MethodTests::new(method, cases)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn random_tests_round_trip(tests in method_tests(), name in "[a-z]{0,40}", flatc in any::<bool>()) {
        // Names of several lengths, for programs of several sizes.
        let mut resolved = Resolved::from(Program::new(vec![ExecutionPlan::new(name)]));
        resolved.tests = tests.clone();
        resolved.layout.bpte_builder = Some(if flatc { Serializer::Flatc } else { Serializer::Exir });
        let assembly = resolved.to_files(&AssembleOptions::default()).unwrap();
        let found = read_bytes(&assembly.bundled().unwrap().to_vec().unwrap()).unwrap();
        prop_assert_eq!(found.program.to_vec().unwrap(), assembly.program_file().unwrap().to_vec().unwrap());
        prop_assert_eq!(formatted(&found.tests), formatted(&tests));
    }
}

#[test]
fn json_states_an_infinite_input_as_a_string() {
    let source = |infinity: &str| {
        format!(
            r#"{{"methods": {{"forward": {{"values": {{"d": {{"double": 1.5}}, "x": {{"tensor": "float32", "sizes": [1]}}}},
            "inputs": ["d", "x"], "outputs": ["x"], "tests": [{{"inputs": [{infinity}, [0]]}}]}}}}}}"#
        )
    };
    let bundle = |text: &str| {
        let assembly =
            pte_emit::Model::from_yaml("m.json", text, ".").assemble(&pte_emit::AssembleOptions::default()).unwrap();
        assembly.tests.clone()
    };
    assert_eq!(format!("{:?}", bundle(&source("\"-inf\""))), format!("{:?}", bundle(&source("-.inf"))));
    let error =
        pte_emit::Model::from_yaml("m.json", source("\"much\""), ".").assemble(&pte_emit::AssembleOptions::default());
    assert!(error.unwrap_err().to_string().contains("`d` is a Double, the test gives the string `much`"));
}
