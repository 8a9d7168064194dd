//! Prints the tests of a method.

use std::cell::RefCell;
use std::fmt::Write;
use std::io;
use std::path::Path;

use super::data::DataPrinter;
use super::extracted::{ExtractedFile, ExtractedFiles};
use super::options::{LargeData, PrintOptions};
use super::yaml::{self, FlowMap};
use pte_model::data::number;
use pte_model::program::Tensor;
use pte_model::program::test_cases::{MethodTests, TestData};

/// Appends the tests of a method.
///
/// # Errors
/// Data that cannot be read or written.
pub fn print(tests: &MethodTests, out: &mut String, data: &mut DataPrinter<'_>) -> io::Result<()> {
    out.push_str("    tests:\n");
    for (number, case) in tests.cases.iter().enumerate() {
        out.push_str("      - ");
        let mut fields = FlowMap::new(out);
        let mut values = |values: &[TestData], key: &str| -> io::Result<()> {
            let kind = key.trim_end_matches('s');
            let items = values.iter().enumerate();
            let items = items
                .map(|(index, value)| test_value(value, &format!("{}.{kind}{number}.{index}", tests.method), data));
            let items: Vec<String> = items.collect::<io::Result<_>>()?;
            yaml::list(fields.key(key), items, |item, out| out.push_str(&item));
            Ok(())
        };
        values(&case.inputs, "inputs")?;
        if let Some(outputs) = &case.outputs {
            values(outputs, "outputs")?;
        }
        fields.end();
        out.push('\n');
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
        let items = values.iter().enumerate();
        items.map(|(index, value)| test_value(value, &format!("{method}.output{test}.{index}"), &mut data)).collect()
    }

    /// Returns the files that this YAML refers to.
    pub fn files(&self, text: &str) -> Vec<ExtractedFile> {
        self.extracted.borrow().used_by(text)
    }
}

fn test_value(value: &TestData, name: &str, data: &mut DataPrinter<'_>) -> io::Result<String> {
    Ok(match value {
        TestData::Null => "null".into(),
        TestData::Int(n) => n.to_string(),
        TestData::Double(x) => {
            let mut out = String::new();
            number::double(x, &mut out);
            out
        }
        TestData::Bool(b) => b.to_string(),
        TestData::String(text) => yaml::text(text).into_owned(),
        TestData::Tensor { scalar_type, sizes, dim_order, data: blob } => {
            let mut tensor = Tensor::new(*scalar_type, sizes);
            tensor.dim_order = Some(dim_order.clone());
            let printed = data.tensor(blob, &tensor, name)?;
            // Nested lists imply the sizes; other data need `sizes`.
            let nested = printed.starts_with('[') && !sizes.contains(&0);
            if nested || (sizes.is_empty() && !printed.starts_with('{')) {
                printed
            } else {
                let mut out = String::from("{sizes: ");
                yaml::list(&mut out, sizes, yaml::number);
                let _ = write!(out, ", data: {printed}}}");
                out
            }
        }
    })
}
