//! The tests of a method as text.

use std::fmt::Write;
use std::io;

use super::data::DataPrinter;
use super::yaml;
use crate::ir::tests::{MethodTests, TestData};
use crate::program::Tensor;

/// Appends the tests of a method.
///
/// # Errors
/// Data that cannot be read or written.
pub fn print(tests: &MethodTests, out: &mut String, data: &mut DataPrinter<'_>) -> io::Result<()> {
    out.push_str("    tests:\n");
    for (number, case) in tests.cases.iter().enumerate() {
        let mut values = |values: &[TestData], what: &str| -> io::Result<String> {
            let items: io::Result<Vec<String>> = values
                .iter()
                .enumerate()
                .map(|(index, value)| one(value, &format!("{}.{what}{number}.{index}", tests.method), data))
                .collect();
            Ok(yaml::list(items?))
        };
        let inputs = values(&case.inputs, "input")?;
        let outputs = match &case.outputs {
            Some(outputs) => format!(", outputs: {}", values(outputs, "output")?),
            None => String::new(),
        };
        let _ = writeln!(out, "      - {{inputs: {inputs}{outputs}}}");
    }
    Ok(())
}

fn one(value: &TestData, name: &str, data: &mut DataPrinter<'_>) -> io::Result<String> {
    Ok(match value {
        TestData::Null => "null".into(),
        TestData::Int(n) => n.to_string(),
        TestData::Double(x) => yaml::double(*x),
        TestData::Bool(b) => b.to_string(),
        TestData::String(text) => yaml::text(text),
        TestData::Tensor { scalar_type, sizes, dim_order, data: blob } => {
            let mut tensor = Tensor::new(*scalar_type, sizes.clone());
            tensor.dim_order = Some(dim_order.clone());
            let printed = data.tensor(blob, &tensor, name)?;
            // Nested numbers say their sizes; of other data they must be said.
            let nested = printed.starts_with('[') && !sizes.contains(&0);
            if nested || (sizes.is_empty() && !printed.starts_with('{')) {
                printed
            } else {
                format!("{{sizes: {}, data: {printed}}}", yaml::list(sizes.iter().map(i32::to_string)))
            }
        }
    })
}
