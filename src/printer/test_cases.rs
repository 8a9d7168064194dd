//! Prints the tests of a method.

use std::cell::RefCell;
use std::io;
use std::path::Path;

use super::data::DataPrinter;
use super::extracted::{ExtractedFile, ExtractedFiles};
use super::options::{LargeData, PrintOptions};
use crate::ir::document::{At, DataSource, Test, TestTensor, TestValue};
use crate::ir::write;
use pte_model::data::number::NumericValue;
use pte_model::program::Tensor;
use pte_model::program::test_cases::{MethodTests, TestData};

/// Appends the tests of a method.
///
/// # Errors
/// Data that cannot be read or written.
pub fn print(tests: &MethodTests, out: &mut String, data: &mut DataPrinter<'_>) -> io::Result<()> {
    out.push_str("    tests:\n");
    for (number, case) in tests.cases.iter().enumerate() {
        let inputs = test_values(&case.inputs, &format!("{}.input{number}", tests.method), data)?;
        let outputs = case.outputs.as_ref();
        let outputs = outputs.map(|outputs| test_values(outputs, &format!("{}.output{number}", tests.method), data));
        let inputs = Some(inputs.into());
        let outputs = outputs.transpose()?.map(Into::into);
        write::item(out, "      ", &Test { inputs, outputs, atol: None, rtol: None });
    }
    Ok(())
}

/// Printer of the outputs of tests for YAML. Those of more than 256 bytes are in files.
pub struct OutputPrinter {
    options: PrintOptions,
    extracted: RefCell<ExtractedFiles>,
}

impl OutputPrinter {
    /// Creates a printer; the files are in this folder, which is relative to that of the YAML, and none of them has one
    /// of the `other` names.
    pub fn new(folder: &Path, other: &[String]) -> OutputPrinter {
        let large_data = LargeData::Extract(folder.to_owned());
        let mut extracted = ExtractedFiles::default();
        other.iter().for_each(|name| extracted.reserve(name));
        let options = PrintOptions { large_data, ..PrintOptions::default() };
        OutputPrinter { options, extracted: RefCell::new(extracted) }
    }

    /// Prints the outputs of a test, each as one line.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn print(&self, values: &[TestData], method: &str, test: usize) -> io::Result<Vec<String>> {
        let mut data = DataPrinter::new(&self.options, u64::MAX, &self.extracted);
        let values = test_values(values, &format!("{method}.output{test}"), &mut data)?;
        let print = |value| {
            let mut out = String::new();
            write::write(value, &mut out);
            out
        };
        Ok(values.iter().map(print).collect())
    }

    /// Returns the files that this YAML refers to.
    pub fn files(&self, text: &str) -> Vec<ExtractedFile> {
        self.extracted.borrow().used_by(text)
    }
}

/// Returns the values of a test. `name` is the base of the names of extracted files.
fn test_values<'t>(
    values: &'t [TestData],
    name: &str,
    data: &mut DataPrinter<'_>,
) -> io::Result<Vec<At<TestValue<'t>>>> {
    let values = values.iter().enumerate();
    values.map(|(index, value)| Ok(test_value(value, &format!("{name}.{index}"), data)?.into())).collect()
}

fn test_value<'t>(value: &'t TestData, name: &str, data: &mut DataPrinter<'_>) -> io::Result<TestValue<'t>> {
    Ok(match value {
        TestData::Null => TestValue::Null,
        TestData::Int(n) => TestValue::Number(NumericValue::Int((*n).into())),
        TestData::Double(x) => TestValue::Number(NumericValue::Float(*x)),
        TestData::Bool(b) => TestValue::Number(NumericValue::Bool(*b)),
        TestData::String(text) => TestValue::Text(text.into()),
        TestData::Tensor { scalar_type, sizes, dim_order, data: blob } => {
            let mut tensor = Tensor::new(*scalar_type, sizes);
            tensor.dim_order = Some(dim_order.clone());
            let data = data.tensor(blob, &tensor, name)?;
            // Nested lists imply the sizes; other data need `sizes`.
            let is_nested = matches!(data.source, DataSource::Numbers(_)) && !sizes.contains(&0);
            TestValue::Tensor(TestTensor { sizes: (!is_nested).then(|| sizes.to_vec().into()), data })
        }
    })
}
