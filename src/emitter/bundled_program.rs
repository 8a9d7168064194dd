//! Emits a `.bpte` (`bundled_program_schema.fbs`): a `.pte` and the tests of its methods, in one FlatBuffer.
//!
//! The program is not parsed, and the tests are not validated against it. The format has no tolerances (rule B-11).

use std::io;

use super::encoding::FieldEncodings;
use super::flatbuffer::{FlatBuffer, Offset, Writer};
use super::table::table;
use crate::layout::Strings;
use pte_model::diagnostics::counted;
use pte_model::format::bundled_program as schema;
use pte_model::format::bundled_program::*;
use pte_model::format::serializer::{BUNDLED_PROGRAM_VERSION, Serializer};
use pte_model::format::table::Union;
use pte_model::program;
use pte_model::program::test_cases::{MethodTests, TestCase, TestData};

/// `force_align` of the program in the schema (H-11 requires 16).
const PROGRAM_ALIGNMENT: u64 = 32;

/// `force_align` of the data of a tensor in the schema.
const DATA_ALIGNMENT: u64 = 16;

/// Emits the `.bpte` of a `.pte` and its tests, with `encodings` of its fields. Methods without tests are omitted.
///
/// # Errors
/// A test cannot be bundled (`InvalidInput`), the FlatBuffer exceeds 2 GiB, or data cannot be read.
pub fn emit(
    program_bytes: &[u8],
    tests: &[MethodTests],
    serializer: Serializer,
    encodings: Option<&FieldEncodings>,
) -> io::Result<FlatBuffer> {
    check(tests)?;
    // Upstream sorts Python strings by code points, and this order is the same.
    let mut suites: Vec<&MethodTests> = tests.iter().collect();
    suites.sort_by(|a, b| a.method.cmp(&b.method));
    let mut w = Writer::new(serializer, Strings::Separate, encodings);
    let root = table!(w, BUNDLED_PROGRAM bundled_program {
        version: BUNDLED_PROGRAM_VERSION,
        method_test_suites: suites.into_iter().map(|suite| self::suite(&mut w, suite)).collect::<io::Result<Vec<Offset>>>()?,
        program: w.aligned_bytes(program_bytes, PROGRAM_ALIGNMENT),
    });
    w.finish(root, schema::IDENTIFIER, "the .bpte")
}

fn suite(w: &mut Writer<'_>, suite: &MethodTests) -> io::Result<Offset> {
    Ok(table!(*w, BUNDLED_METHOD_TEST_SUITE bundled_method_test_suite {
        method_name: suite.method,
        test_cases: suite.cases.iter().map(|case| self::case(w, case)).collect::<io::Result<Vec<Offset>>>()?,
    }))
}

fn case(w: &mut Writer<'_>, case: &TestCase) -> io::Result<Offset> {
    Ok(table!(*w, BUNDLED_METHOD_TEST_CASE bundled_method_test_case {
        inputs: values(w, &case.inputs)?,
        // An empty list means "not compared"; the runtime dereferences an absent list (B-3, B-10).
        expected_outputs: values(w, case.outputs.as_deref().unwrap_or_default())?,
    }))
}

fn values(w: &mut Writer<'_>, values: &[TestData]) -> io::Result<Vec<Offset>> {
    values.iter().map(|value| self::value(w, value)).collect()
}

fn value(w: &mut Writer<'_>, value: &TestData) -> io::Result<Offset> {
    let (kind, member) = match value {
        TestData::Tensor { scalar_type, sizes, dim_order, data } => {
            let table = table!(*w, TENSOR tensor {
                scalar_type: scalar_type,
                sizes: sizes,
                data: w.aligned_blob(data, DATA_ALIGNMENT)?,
                dim_order: dim_order,
            });
            (ValueType::Tensor, table)
        }
        TestData::Int(n) => (ValueType::Int, table!(*w, INT int { int_val: n })),
        TestData::Bool(b) => (ValueType::Bool, table!(*w, BOOL bool_ { bool_val: b })),
        TestData::Double(x) => (ValueType::Double, table!(*w, DOUBLE double { double_val: x })),
        TestData::Null | TestData::String(_) => unreachable!("rejected by `check`"),
    };
    Ok(table!(*w, VALUE value { val_type: kind.tag(), val: member }))
}

/// Rejects values that the format does not have (B-7, B-10), and data that the runtime would read beyond the end (B-9).
fn check(tests: &[MethodTests]) -> io::Result<()> {
    for suite in tests {
        for (number, case) in suite.cases.iter().enumerate() {
            let outputs = case.outputs.as_deref().unwrap_or_default();
            for (list, values) in [("inputs", case.inputs.as_slice()), ("outputs", outputs)] {
                for (position, value) in values.iter().enumerate() {
                    if let Err(message) = check_value(value, list == "inputs") {
                        let message = format!("`{}`: tests[{number}].{list}[{position}]: {message}", suite.method);
                        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
                    }
                }
            }
        }
    }
    Ok(())
}

fn check_value(value: &TestData, is_input: bool) -> Result<(), String> {
    let kind = match value {
        TestData::Tensor { scalar_type, sizes, data, .. } => {
            let expected = program::nbytes(*scalar_type, sizes);
            let message = || {
                format!(
                    "the data have {}, which does not match {scalar_type} of sizes {sizes:?}",
                    counted(data.len, "byte")
                )
            };
            return if expected == Some(data.len) { Ok(()) } else { Err(message()) };
        }
        TestData::Int(_) | TestData::Bool(_) | TestData::Double(_) if is_input => return Ok(()),
        TestData::Null => "null",
        TestData::Int(_) => "an Int",
        TestData::Double(_) => "a Double",
        TestData::Bool(_) => "a Bool",
        TestData::String(_) => "a String",
    };
    let expected =
        if is_input { "inputs that are an Int, a Bool, a Double or a tensor" } else { "outputs that are tensors" };
    Err(format!("found {kind}; a .bpte supports only {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pte_model::data::Blob;
    use pte_model::format::ScalarType;
    use pte_model::program::DimOrder;

    fn tensor(sizes: &[i32], len: u64) -> TestData {
        let data = Blob::new(len, pte_model::data::BlobSource::Repeat([1].into()));
        let dim_order = DimOrder::contiguous(sizes.len());
        TestData::Tensor { scalar_type: ScalarType::FLOAT, sizes: sizes.to_vec(), dim_order, data }
    }

    fn tests(inputs: Vec<TestData>, outputs: Option<Vec<TestData>>) -> Vec<MethodTests> {
        let first = TestCase { inputs: Vec::new(), outputs: None, atol: 0.0, rtol: 0.0 };
        let second = TestCase { inputs, outputs, ..first.clone() };
        vec![MethodTests { method: "forward".into(), cases: vec![first, second] }]
    }

    fn rejected(inputs: Vec<TestData>, outputs: Option<Vec<TestData>>) -> String {
        let error = emit(b"", &tests(inputs, outputs), Serializer::Exir, None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        error.to_string()
    }

    #[test]
    fn what_cannot_be_bundled_is_named() {
        let messages = [
            rejected(vec![TestData::Int(1), TestData::String("a".into())], None),
            rejected(vec![TestData::Null], None),
            rejected(vec![], Some(vec![tensor(&[2], 8), TestData::Int(1)])),
            rejected(vec![], Some(vec![TestData::Bool(true)])),
            rejected(vec![], Some(vec![TestData::Double(1.5)])),
            rejected(vec![tensor(&[2, 3], 8)], None),
            rejected(vec![tensor(&[-1], 4)], None),
        ];
        let expected = "\
`forward`: tests[1].inputs[1]: found a String; a .bpte supports only inputs that are an Int, a Bool, a Double or a tensor
`forward`: tests[1].inputs[0]: found null; a .bpte supports only inputs that are an Int, a Bool, a Double or a tensor
`forward`: tests[1].outputs[1]: found an Int; a .bpte supports only outputs that are tensors
`forward`: tests[1].outputs[0]: found a Bool; a .bpte supports only outputs that are tensors
`forward`: tests[1].outputs[0]: found a Double; a .bpte supports only outputs that are tensors
`forward`: tests[1].inputs[0]: the data have 8 bytes, which does not match float32 of sizes [2, 3]
`forward`: tests[1].inputs[0]: the data have 4 bytes, which does not match float32 of sizes [-1]";
        assert_eq!(messages.join("\n"), expected);
    }

    #[test]
    fn data_that_do_not_fit_are_not_read() {
        let error = emit(b"", &tests(vec![tensor(&[1 << 30], 1 << 32)], None), Serializer::Exir, None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
