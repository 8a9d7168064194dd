//! Reads a `.bpte`: tests, and the range of the program, which `super::program` reads.
//!
//! Tests that the model cannot represent are an error. So are tensors whose data do not match their sizes, which the
//! runtime would read beyond their end (rule B-9). Tests are not validated against the program.

use std::io;

use crate::data::Origin;
use crate::data::{Blob, BlobSource};
use crate::diagnostics::counted;
use crate::format::bundled_program as schema;
use crate::format::bundled_program::*;
use crate::format::container::{self, HEAD, MAX_FLATBUFFER};
use crate::format::flatbuffer::read::{Buffer, Result, TableRef};
use crate::format::{DimOrder, ScalarType};
use crate::program::nbytes;
use crate::program::test_cases::{MethodTests, TestCase, TestData};

/// Content of a `.bpte`: program and tests.
#[derive(Debug, Clone, PartialEq)]
pub struct BundledProgramContents {
    /// Schema version, ignored by the runtime; emitted files have 2.
    pub version: u32,
    /// The `.pte`: a range of the file.
    pub program: Blob,
    /// The tests, in the order of the file.
    pub tests: Vec<MethodTests>,
}

impl BundledProgramContents {
    /// Returns the `.pte` as a file.
    ///
    /// # Errors
    /// The file cannot be read, or has become too short.
    pub fn program_origin(&self) -> io::Result<Origin> {
        Ok(match &self.program.source {
            BlobSource::Bytes(bytes) => Origin::Bytes(bytes[..].into()),
            BlobSource::File { path, offset } => {
                Origin::Part { path: path.clone(), offset: *offset, len: self.program.len }
            }
            _ => Origin::Bytes(self.program.to_vec()?.into()),
        })
    }
}

/// Reads a `.bpte`.
///
/// # Errors
/// The file cannot be read, or is not a `.bpte` ([`ReadError`](crate::format::flatbuffer::read::ReadError), wrapped).
pub fn read(origin: &Origin) -> io::Result<BundledProgramContents> {
    let length = origin.len()?;
    // No header states the length of the FlatBuffer; offsets cannot exceed this.
    let length = length.min(MAX_FLATBUFFER);
    super::root::verify(origin, &origin.head(HEAD)?, length, &container::BUNDLED_PROGRAM)?;
    let bytes = origin.head(length)?;
    let buffer = Buffer::new(&bytes);
    let root = buffer.root(schema::IDENTIFIER, &BUNDLED_PROGRAM)?;
    BundledProgramReader { origin, length: bytes.len() as u64 }.bundled_program(root).map_err(io::Error::from)
}

struct BundledProgramReader<'o> {
    origin: &'o Origin,
    length: u64,
}

impl BundledProgramReader<'_> {
    fn bundled_program(&self, t: TableRef<'_, '_>) -> Result<BundledProgramContents> {
        let version = t.u32(bundled_program::version)?;
        // An absent list counts as empty here; the runtime dereferences it (B-3).
        let suites =
            t.children(bundled_program::method_test_suites, &BUNDLED_METHOD_TEST_SUITE, |t| self.method_tests(t))?;
        let Some(program) = self.blob(&t, bundled_program::program)? else {
            return t.wrong(bundled_program::program, "missing program");
        };
        Ok(BundledProgramContents { version, program, tests: suites.unwrap_or_default() })
    }

    fn method_tests(&self, t: TableRef<'_, '_>) -> Result<MethodTests> {
        let Some(method) = t.text(bundled_method_test_suite::method_name)? else {
            return t.wrong(bundled_method_test_suite::method_name, "missing method name");
        };
        let cases =
            t.children(bundled_method_test_suite::test_cases, &BUNDLED_METHOD_TEST_CASE, |t| self.test_case(t))?;
        Ok(MethodTests::new(method, cases.unwrap_or_default()))
    }

    fn test_case(&self, t: TableRef<'_, '_>) -> Result<TestCase> {
        let inputs = t.children(bundled_method_test_case::inputs, &VALUE, |t| self.value(t))?.unwrap_or_default();
        let outputs = t.children(bundled_method_test_case::expected_outputs, &VALUE, |t| self.value(t))?;
        // An empty list of outputs means that they are not compared (B-10).
        let outputs = outputs.filter(|outputs| !outputs.is_empty());
        // The format has no tolerances: the defaults of the YAML.
        Ok(TestCase::new(inputs, outputs))
    }

    fn value(&self, t: TableRef<'_, '_>) -> Result<TestData> {
        let (kind, table) = t.member(value::val_type, value::val, "kind of value")?;
        let Some(v) = table else {
            return t.wrong(value::val, "missing value");
        };
        Ok(match kind {
            ValueType::Tensor => self.tensor(v)?,
            ValueType::Int => TestData::Int(v.i64(int::int_val)?),
            ValueType::Bool => TestData::Bool(v.bool(bool_::bool_val)?),
            ValueType::Double => TestData::Double(v.f64(double::double_val)?),
        })
    }

    fn tensor(&self, t: TableRef<'_, '_>) -> Result<TestData> {
        let scalar_type = ScalarType(t.i8(tensor::scalar_type)?);
        let sizes: Vec<i32> = t.i32s(tensor::sizes)?.unwrap_or_default();
        let dim_order = t.bytes(tensor::dim_order)?.map(DimOrder::from).unwrap_or_default();
        if !dim_order.is_permutation(sizes.len()) {
            return t.wrong(tensor::dim_order, format!("not a permutation of {}", counted(sizes.len(), "dimension")));
        }
        let Some(expected) = nbytes(scalar_type, &sizes) else {
            return t.wrong(tensor::sizes, format!("invalid sizes for a tensor of element type {scalar_type}"));
        };
        let data = self.blob(&t, tensor::data)?.unwrap_or_else(|| Blob::bytes([]));
        if data.len != expected {
            return t.wrong(tensor::data, format!("found {}, expected {expected}", counted(data.len, "byte")));
        }
        Ok(TestData::Tensor { scalar_type, sizes, dim_order, data })
    }

    fn blob(&self, t: &TableRef<'_, '_>, slot: u16) -> Result<Option<Blob>> {
        let Some((offset, len)) = t.range(slot)? else { return Ok(None) };
        match self.origin.blob(offset, len, self.length) {
            Some(blob) => Ok(Some(blob)),
            None => t.wrong(slot, "the bytes exceed the file"),
        }
    }
}
