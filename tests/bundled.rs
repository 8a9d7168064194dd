//! The texts of `tests/golden/bundled` must become, bit for bit, the bundled programs (`.bpte`) that ExecuTorch 1.5.1's
//! devtools wrote for them, and these must come back as the same program and tests; broken ones end in an error.
//!
//! The programs of addmul, channels_last, multi and scalars are exports, which devtools checked against the tests; the
//! others are our own, given to devtools as files. Whether the tests are right is not asked, nor what the runtime says.

use proptest::prelude::*;
use pte_emit::data::Blob;
use pte_emit::data::Origin;
use pte_emit::emitter::bundled_program::emit;
use pte_emit::format::ScalarType;
use pte_emit::format::serializer::Serializer;
use pte_emit::program::test_cases::{MethodTests, TestCase, TestData};
use pte_emit::program::{contiguous, nbytes};
use pte_emit::reader;
use pte_emit::reader::bundled_program::{Found, read};
use pte_emit::{Assembly, Options as AssembleOptions, Source};

// Assembling is not all that is done here, so some of it is not used.
#[allow(dead_code)]
#[path = "support/golden.rs"]
mod golden;

use golden::Goldens;

/// Every text; each has two references. Listed by hand, so that neither a text nor a reference can get lost; a test
/// compares the list with the folder.
const GOLDEN: &[&str] = &["addmul", "channels_last", "dtypes", "empty", "multi", "names", "scalars", "shapes"];

/// The two references, and who writes so: devtools since ExecuTorch 1.4, and through JSON and flatc before.
const REFERENCES: [(&str, Serializer); 2] = [("model.bpte", Serializer::Exir), ("flatc.bpte", Serializer::Flatc)];

/// What devtools make of tests that are channels-last.
const MADE_CONTIGUOUS: &str = "channels_last/devtools.bpte";

fn goldens() -> Goldens {
    Goldens::of("bundled")
}

fn assemble(name: &str) -> Assembly {
    let goldens = goldens();
    let input = Source::yaml(name, &goldens.text(name), &goldens.0);
    pte_emit::assemble(&input, &AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn program_of(assembly: &Assembly) -> Vec<u8> {
    assembly.program_file().unwrap().to_vec().unwrap()
}

/// All references by name.
fn references() -> impl Iterator<Item = String> {
    let of_text = |name: &&str| REFERENCES.map(|(file, _)| format!("{name}/{file}"));
    GOLDEN.iter().flat_map(of_text).chain([MADE_CONTIGUOUS.to_owned()])
}

fn bytes_of(reference: &str) -> Vec<u8> {
    std::fs::read(goldens().0.join(reference)).unwrap()
}

fn read_bytes(bytes: &[u8]) -> std::io::Result<Found> {
    read(&Origin::Bytes(bytes.into()))
}

/// Tests as they come back: sorted, data as bytes, zeros without a sign (a scalar that equals its default is left out),
/// nothing to compare if there is nothing.
fn as_read(tests: &[MethodTests]) -> Vec<MethodTests> {
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
    let case = |case: &TestCase| TestCase {
        inputs: values(&case.inputs),
        outputs: case.outputs.as_deref().map(values).filter(|outputs| !outputs.is_empty()),
        ..*case
    };
    let suite = |suite: &MethodTests| MethodTests {
        method: suite.method.clone(),
        cases: suite.cases.iter().map(case).collect(),
    };
    let mut tests: Vec<MethodTests> = tests.iter().map(suite).collect();
    tests.sort_by(|a, b| a.method.cmp(&b.method));
    tests
}

/// Tests as text: what is not a number does not equal itself.
fn text_of(tests: &[MethodTests]) -> String {
    format!("{:#?}", as_read(tests))
}

#[test]
fn texts_become_the_files_that_devtools_wrote() {
    let mut complaints = String::new();
    for name in GOLDEN {
        let assembly = assemble(name);
        for (file, order) in REFERENCES {
            let found = emit(&program_of(&assembly), &assembly.tests, order, None).unwrap();
            complaints.extend(goldens().difference(name, &found, &format!("{name}/{file}")));
        }
    }
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn no_text_and_no_reference_is_left_out() {
    let texts = GOLDEN.iter().map(|name| format!("{name}.yaml"));
    goldens().assert_holds(texts.chain(references()));
}

#[test]
fn texts_give_no_warnings() {
    let warnings: String = GOLDEN.iter().map(|name| goldens().warnings(name)).collect();
    assert_eq!(warnings, "");
}

#[test]
fn program_and_tests_come_back() {
    for name in GOLDEN {
        let assembly = assemble(name);
        for (file, _) in REFERENCES {
            let in_memory = read_bytes(&bytes_of(&format!("{name}/{file}"))).unwrap();
            let on_disk = read(&Origin::File(goldens().0.join(name).join(file).into())).unwrap();
            for found in [in_memory, on_disk] {
                assert_eq!(found.version, 2, "{name}/{file}");
                assert!(found.program.to_vec().unwrap() == program_of(&assembly), "{name}/{file}");
                let (found_tests, tests) = (text_of(&found.tests), text_of(&assembly.tests));
                pretty_assertions::assert_eq!(found_tests, tests, "{name}/{file}");
                let program = reader::program::read(&found.program_origin().unwrap()).unwrap().program;
                assert_eq!(program.plans().len(), assembly.program.plans().len(), "{name}/{file}");
            }
        }
    }
}

#[test]
fn devtools_make_tests_contiguous() {
    let found = read_bytes(&bytes_of(MADE_CONTIGUOUS)).unwrap();
    let TestData::Tensor { sizes, dim_order, data, .. } = &found.tests[0].cases[0].inputs[0] else { panic!() };
    let bytes: Vec<u8> = (-12..12i16).flat_map(|n| f32::from(n).to_le_bytes()).collect();
    assert_eq!((sizes.as_slice(), dim_order.as_slice()), (&[1, 2, 3, 4][..], &[0, 1, 2, 3][..]));
    assert_eq!(data.to_vec().unwrap(), bytes);
}

#[test]
fn program_and_data_are_where_the_schema_wants_them() {
    for path in references().map(|name| goldens().0.join(name)) {
        let found = read(&Origin::File(path.into())).unwrap();
        let offset = |blob: &Blob| match blob.source {
            pte_emit::data::Source::File { offset, .. } => offset,
            _ => panic!("data stay where they are"),
        };
        assert_eq!(offset(&found.program) % 32, 0);
        let cases = found.tests.iter().flat_map(|suite| &suite.cases);
        for value in cases.flat_map(|case| case.inputs.iter().chain(case.outputs.iter().flatten())) {
            if let TestData::Tensor { data, .. } = value {
                // flatc writes an empty vector without its alignment.
                assert!(data.len == 0 || offset(data).is_multiple_of(16));
            }
        }
    }
}

#[test]
fn broken_files_are_answered() {
    for bytes in references().map(|name| bytes_of(&name)) {
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 0xff;
            let _ = read_bytes(&broken);
            let _ = read_bytes(&bytes[..at]);
        }
    }
}

#[test]
fn what_is_wrong_is_said() {
    let good = bytes_of("addmul/model.bpte");
    let said = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        let message = read_bytes(&bytes).unwrap_err().to_string();
        message.rsplit_once(" (at byte").map_or(message.clone(), |(message, _)| message.to_owned())
    };
    // The first test's input, which is written first and so lies last: dim order, data and sizes, each behind its length.
    let first = 1.5409961f32.to_le_bytes();
    let data = good.windows(4).rposition(|window| window == first).unwrap();
    let (order, length, sizes) = (data - 12, data - 4, data + 28);
    let root = u32::from_le_bytes(good[..4].try_into().unwrap()) as usize;
    let vtable = root - u32::from_le_bytes(good[root..root + 4].try_into().unwrap()) as usize;
    let messages = [
        said(&|bytes| bytes[4] = b'E'),
        said(&|bytes| bytes[vtable + 8..vtable + 10].fill(0)),
        said(&|bytes| bytes[length] = 8),
        said(&|bytes| bytes[length] = 17),
        said(&|bytes| bytes[length + 3] = 1),
        said(&|bytes| bytes[sizes] = 3),
        said(&|bytes| bytes[sizes + 3] = 0xff),
        said(&|bytes| bytes[order + 4] = 1),
        said(&|bytes| bytes[order + 5] = 2),
        said(&|bytes| bytes[order] = 1),
    ];
    let expected = [
        "the file identifier is \"EP08\", not \"BP08\"",
        "BundledProgram.program: the program is missing",
        "Tensor.data: there are 8 bytes, the sizes say 16",
        "Tensor.data: there are 17 bytes, the sizes say 16",
        "Tensor.data: 16777232 items do not fit the file",
        "Tensor.data: there are 16 bytes, the sizes say 24",
        "Tensor.sizes: no tensor of element type float32 has such sizes",
        "Tensor.dim_order: the 2 dimensions cannot be in such an order",
        "Tensor.dim_order: the 2 dimensions cannot be in such an order",
        "Tensor.dim_order: the 2 dimensions cannot be in such an order",
    ];
    pretty_assertions::assert_eq!(messages, expected);
}

fn values() -> impl Strategy<Value = Vec<TestData>> {
    let tensor = (0..30i8, prop::collection::vec(0..4i32, 0..4), any::<bool>(), any::<u8>()).prop_map(
        |(code, sizes, reversed, byte)| {
            let scalar_type = ScalarType(code);
            let mut dim_order = contiguous(sizes.len()).into_owned();
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
        TestCase { inputs, outputs, atol: 1e-6, rtol: 1e-5 }
    });
    let cases = prop::collection::vec(case, 0..4);
    prop::collection::btree_map("[A-Za-zé\u{4e00}]{0,5}", cases, 0..4)
        .prop_map(|suites| suites.into_iter().rev().map(|(method, cases)| MethodTests { method, cases }).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    #[test]
    fn random_tests_come_back(tests in method_tests(), program in prop::collection::vec(any::<u8>(), 0..99), flatc in any::<bool>()) {
        let order = if flatc { Serializer::Flatc } else { Serializer::Exir };
        let bytes = emit(&program, &tests, order, None).unwrap();
        let found = read_bytes(&bytes).unwrap();
        prop_assert_eq!(found.program.to_vec().unwrap(), program);
        prop_assert_eq!(text_of(&found.tests), text_of(&tests));
    }
}
