//! Makes a `.bpte` (`bundled_program_schema.fbs`): a whole `.pte` and the tests of its methods, in one FlatBuffer.
//!
//! The program is bytes to it, and the tests are not compared with it. Tolerances have no place in the format: whoever
//! runs the tests brings their own (rule B-11).

use std::io;

use super::encoding::FieldEncodings;
use super::flatbuffer::{FlatBuffer, Offset, Slot, Writer};
use crate::format::bundled_program as schema;
use crate::format::bundled_program::*;
use crate::format::serializer::Serializer;
use crate::format::table::Union;
use crate::layout::Strings;
use crate::program;
use crate::program::test_cases::{MethodTests, TestCase, TestData};

/// The schema version, which says nothing of the program's own.
pub const VERSION: u32 = 2;

/// What the schema forces the program to (H-11 asks for 16).
const PROGRAM_ALIGNMENT: u64 = 32;

/// What the schema forces the bytes of a tensor to.
const DATA_ALIGNMENT: u64 = 16;

/// The `.bpte` of a program, which is the whole file, and its tests, with `encodings` of its fields; methods without tests are
/// not in it.
///
/// # Errors
/// A test that cannot be bundled (`InvalidInput`); more than fits a FlatBuffer (2 GiB); data that
/// cannot be read.
pub fn emit(
    program_bytes: &[u8],
    tests: &[MethodTests],
    serializer: Serializer,
    encodings: Option<&FieldEncodings>,
) -> io::Result<FlatBuffer> {
    check(tests)?;
    // Upstream sorts Python strings, which is by code points; so is this.
    let mut suites: Vec<&MethodTests> = tests.iter().collect();
    suites.sort_by(|a, b| a.method.cmp(&b.method));
    let mut w = Writer::new(serializer, Strings::Separate, encodings);
    let suites = suites.into_iter().map(|suite| self::suite(&mut w, suite)).collect::<io::Result<Vec<Offset>>>()?;
    let suites = w.tables(Some(&suites));
    let program = w.aligned_bytes(program_bytes, PROGRAM_ALIGNMENT);
    let slots = [
        (bundled_program::version, Slot::UInt(VERSION)),
        (bundled_program::method_test_suites, suites),
        (bundled_program::program, program),
    ];
    let root = w.table(&BUNDLED_PROGRAM, &slots);
    w.finish(root, schema::IDENTIFIER, "the .bpte")
}

fn suite(w: &mut Writer<'_>, suite: &MethodTests) -> io::Result<Offset> {
    let name = w.string(&suite.method);
    let cases = suite.cases.iter().map(|case| self::case(w, case)).collect::<io::Result<Vec<Offset>>>()?;
    let cases = w.tables(Some(&cases));
    let slots = [(bundled_method_test_suite::method_name, name), (bundled_method_test_suite::test_cases, cases)];
    Ok(w.table(&BUNDLED_METHOD_TEST_SUITE, &slots))
}

fn case(w: &mut Writer<'_>, case: &TestCase) -> io::Result<Offset> {
    let inputs = values(w, &case.inputs)?;
    // Upstream has no word for "not compared" but an empty list, and the runtime follows an absent one (B-3, B-10).
    let outputs = values(w, case.outputs.as_deref().unwrap_or_default())?;
    let slots = [(bundled_method_test_case::inputs, inputs), (bundled_method_test_case::expected_outputs, outputs)];
    Ok(w.table(&BUNDLED_METHOD_TEST_CASE, &slots))
}

fn values(w: &mut Writer<'_>, values: &[TestData]) -> io::Result<Slot> {
    let values = values.iter().map(|value| self::value(w, value)).collect::<io::Result<Vec<Offset>>>()?;
    Ok(w.tables(Some(&values)))
}

fn value(w: &mut Writer<'_>, value: &TestData) -> io::Result<Offset> {
    let (kind, member) = match value {
        TestData::Tensor { scalar_type, sizes, dim_order, data } => {
            let sizes = w.vector(Some(sizes));
            let data = w.aligned_blob(data, DATA_ALIGNMENT)?;
            let dim_order = w.vector(Some(dim_order));
            let slots = [
                (tensor::scalar_type, Slot::Byte(scalar_type.0 as u8)),
                (tensor::sizes, sizes),
                (tensor::data, data),
                (tensor::dim_order, dim_order),
            ];
            (ValueType::Tensor, w.table(&TENSOR, &slots))
        }
        TestData::Int(n) => (ValueType::Int, w.table(&INT, &[(int::int_val, Slot::Long(*n))])),
        TestData::Bool(b) => (ValueType::Bool, w.table(&BOOL, &[(bool_::bool_val, Slot::Byte((*b).into()))])),
        TestData::Double(x) => (ValueType::Double, w.table(&DOUBLE, &[(double::double_val, Slot::Double(*x))])),
        TestData::Null | TestData::String(_) => unreachable!("refused by `check`"),
    };
    Ok(w.table(&VALUE, &[(value::val_type, Slot::Byte(kind.tag())), (value::val, Slot::Child(Some(member)))]))
}

/// Refuses what has no place in the format (B-7, B-10), and data that the runtime would read beyond the end (B-9).
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
            let message =
                || format!("the data have {} bytes; {scalar_type} of sizes {sizes:?} has another number", data.len);
            return if expected == Some(data.len) { Ok(()) } else { Err(message()) };
        }
        TestData::Int(_) | TestData::Bool(_) | TestData::Double(_) if is_input => return Ok(()),
        TestData::Null => "null",
        TestData::Int(_) => "an Int",
        TestData::Double(_) => "a Double",
        TestData::Bool(_) => "a Bool",
        TestData::String(_) => "a String",
    };
    let what =
        if is_input { "inputs that are an Int, a Bool, a Double or a tensor" } else { "outputs that are tensors" };
    Err(format!("this is {kind}; a .bpte holds only {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Blob;
    use crate::format::ScalarType;
    use crate::program::contiguous;

    fn tensor(sizes: &[i32], len: u64) -> TestData {
        let data = Blob::new(len, crate::data::BlobSource::Repeat([1].into()));
        let dim_order = contiguous(sizes.len()).into_owned();
        TestData::Tensor { scalar_type: ScalarType::FLOAT, sizes: sizes.to_vec(), dim_order, data }
    }

    fn tests(inputs: Vec<TestData>, outputs: Option<Vec<TestData>>) -> Vec<MethodTests> {
        let first = TestCase { inputs: Vec::new(), outputs: None, atol: 0.0, rtol: 0.0 };
        let second = TestCase { inputs, outputs, ..first.clone() };
        vec![MethodTests { method: "forward".into(), cases: vec![first, second] }]
    }

    fn refused(inputs: Vec<TestData>, outputs: Option<Vec<TestData>>) -> String {
        let error = emit(b"", &tests(inputs, outputs), Serializer::Exir, None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        error.to_string()
    }

    #[test]
    fn what_cannot_be_bundled_is_named() {
        let messages = [
            refused(vec![TestData::Int(1), TestData::String("a".into())], None),
            refused(vec![TestData::Null], None),
            refused(vec![], Some(vec![tensor(&[2], 8), TestData::Int(1)])),
            refused(vec![], Some(vec![TestData::Bool(true)])),
            refused(vec![], Some(vec![TestData::Double(1.5)])),
            refused(vec![tensor(&[2, 3], 8)], None),
            refused(vec![tensor(&[-1], 4)], None),
        ];
        let expected = "\
`forward`: tests[1].inputs[1]: this is a String; a .bpte holds only inputs that are an Int, a Bool, a Double or a tensor
`forward`: tests[1].inputs[0]: this is null; a .bpte holds only inputs that are an Int, a Bool, a Double or a tensor
`forward`: tests[1].outputs[1]: this is an Int; a .bpte holds only outputs that are tensors
`forward`: tests[1].outputs[0]: this is a Bool; a .bpte holds only outputs that are tensors
`forward`: tests[1].outputs[0]: this is a Double; a .bpte holds only outputs that are tensors
`forward`: tests[1].inputs[0]: the data have 8 bytes; float32 of sizes [2, 3] has another number
`forward`: tests[1].inputs[0]: the data have 4 bytes; float32 of sizes [-1] has another number";
        assert_eq!(messages.join("\n"), expected);
    }

    #[test]
    fn data_that_do_not_fit_are_not_read() {
        let error = emit(b"", &tests(vec![tensor(&[1 << 30], 1 << 32)], None), Serializer::Exir, None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }
}
