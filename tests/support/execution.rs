//! Runs the tests of an assembly in the real runtime, and compares the outputs with the expected ones.
//!
//! The tests of a method run in order on one loaded method: mutable tensors keep their content.

use std::io;
use std::path::Path;

use pte_emit::Assembly;
use pte_emit::program::test_cases::{TestCase, TestData};
use pte_model::data::number::{self, NumericValue};
use pte_model::format::ScalarType;

use super::files;
use super::runner::{self, Mode, Value};

/// Runs the tests of all methods, and returns the number of compared outputs.
///
/// # Errors
/// All failures.
pub fn run_tests(runner: &Path, assembly: &Assembly, mode: Mode) -> Result<usize, Vec<String>> {
    let folder = tempfile::tempdir().map_err(|error| vec![error.to_string()])?;
    let (pte, ptds) = files::write(assembly, folder.path()).map_err(|error| vec![error.to_string()])?;
    let script = script(assembly).map_err(|error| vec![error.to_string()])?;
    let answers = runner::run(runner, &pte, &ptds, mode, &script).map_err(|failure| vec![failure])?;
    let mut check = Check { answers: answers.into_iter(), failures: Vec::new(), compared: 0 };
    // After a missing answer, all others are missing, too.
    if let Err(missing) = check.program(assembly) {
        check.failures.push(missing);
    }
    if check.failures.is_empty() { Ok(check.compared) } else { Err(check.failures) }
}

/// Names of all methods, in the order of the program.
pub fn methods(assembly: &Assembly) -> impl Iterator<Item = &str> {
    assembly.program().plans().iter().map(|plan| plan.name.as_deref().unwrap_or_default())
}

fn cases<'a>(assembly: &'a Assembly, method: &str) -> &'a [TestCase] {
    assembly.tests.iter().find(|tests| tests.method == method).map_or(&[], |tests| &tests.cases)
}

/// Script that loads every method and runs its tests. [`Check::program`] reads the answers in the same order.
fn script(assembly: &Assembly) -> io::Result<String> {
    let mut lines = vec!["methods".to_owned()];
    for method in methods(assembly) {
        lines.push(format!("load {}", runner::quote(method)));
        for case in cases(assembly, method) {
            for (number, input) in case.inputs.iter().enumerate() {
                lines.push(format!("input {number} {}", runner::spell(input)?));
            }
            lines.push("execute".into());
            lines.push("outputs".into());
        }
    }
    lines.push(String::new());
    Ok(lines.join("\n"))
}

/// Compares the answers of the runner with the expected ones.
struct Check {
    answers: std::vec::IntoIter<String>,
    failures: Vec<String>,
    compared: usize,
}

impl Check {
    fn answer(&mut self) -> Result<String, String> {
        self.answers.next().ok_or_else(|| "missing answer of the runner".to_owned())
    }

    /// Compares the next answer; adds a failure and returns false if it differs.
    fn expect(&mut self, expected: &str, context: &str) -> Result<bool, String> {
        let answer = self.answer()?;
        if answer != expected {
            self.failures.push(format!("{context}: expected `{expected}`, found `{answer}`"));
        }
        Ok(answer == expected)
    }

    fn program(&mut self, assembly: &Assembly) -> Result<(), String> {
        if !self.expect("program ok", "the program")? {
            return Ok(());
        }
        let names: Vec<String> = methods(assembly).map(runner::quote).collect();
        self.expect(&format!("methods {}", names.join(" ")), "the program")?;
        for method in methods(assembly) {
            let loaded = self.expect("load ok", &format!("method `{method}`"))?;
            for (number, case) in cases(assembly, method).iter().enumerate() {
                let what = format!("method `{method}`, test {number}");
                let before = self.failures.len();
                self.case(case, &what)?;
                if !loaded {
                    // Failures of the tests follow from the failed load.
                    self.failures.truncate(before);
                }
            }
        }
        Ok(())
    }

    fn case(&mut self, case: &TestCase, what: &str) -> Result<(), String> {
        for number in 0..case.inputs.len() {
            self.expect("input ok", &format!("{what}, input {number}"))?;
        }
        let executed = self.expect("execute ok", what)?;
        let answer = self.answer()?;
        let count = answer.strip_prefix("outputs ").and_then(|count| count.parse::<usize>().ok());
        let Some(count) = count else {
            self.failures.push(format!("{what}: expected outputs, found `{answer}`"));
            return Ok(());
        };
        let outputs = case.outputs.as_ref();
        if let Some(outputs) = outputs.filter(|outputs| outputs.len() != count) {
            self.failures.push(format!("{what}: expected {} outputs, found {count}", outputs.len()));
        }
        for number in 0..count {
            let answer = self.answer()?;
            let Some(value) = answer.strip_prefix(&format!("output {number} ")).and_then(runner::read) else {
                self.failures.push(format!("{what}: `{answer}` is not an output"));
                continue;
            };
            // Outputs of a failed execution are not compared.
            let Some(expected) = outputs.and_then(|outputs| outputs.get(number)).filter(|_| executed) else { continue };
            self.compared += 1;
            if let Err(failure) = compare(expected, &value, case) {
                self.failures.push(format!("{what}, output {number}: {failure}"));
            }
        }
        Ok(())
    }
}

pub fn compare(expected: &TestData, found: &Value, case: &TestCase) -> Result<(), String> {
    let same = match (expected, found) {
        (TestData::Null, Value::Null) => true,
        (TestData::Int(expected), Value::Int(found)) => expected == found,
        (TestData::Bool(expected), Value::Bool(found)) => expected == found,
        (TestData::String(expected), Value::String(found)) => expected.as_bytes() == found,
        (TestData::Double(expected), Value::Double(found)) => near(*expected, *found, case),
        (
            TestData::Tensor { scalar_type, sizes, dim_order, data },
            Value::Tensor { scalar_type: found_type, sizes: found_sizes, dim_order: found_order, bytes },
        ) => {
            if found_type != scalar_type {
                return Err(format!("expected {scalar_type}, found {found_type}"));
            }
            if found_sizes != sizes {
                return Err(format!("expected sizes {sizes:?}, found {found_sizes:?}"));
            }
            if **found_order != **dim_order {
                return Err(format!("expected dim_order {dim_order:?}, found {found_order:?}"));
            }
            let data = data.to_vec().map_err(|error| error.to_string())?;
            let bytes = bytes.as_ref().ok_or("the tensor has no memory")?;
            return compare_elements(*scalar_type, sizes, dim_order, &data, bytes, case);
        }
        _ => false,
    };
    if same { Ok(()) } else { Err(format!("expected {expected:?}, found {found:?}")) }
}

/// Compares the elements of two tensors, both in memory order.
fn compare_elements(
    scalar_type: ScalarType,
    sizes: &[i32],
    dim_order: &[u8],
    expected: &[u8],
    found: &[u8],
    case: &TestCase,
) -> Result<(), String> {
    if expected.len() != found.len() {
        return Err(format!("expected {} bytes, found {}", expected.len(), found.len()));
    }
    let size = scalar_type.info().map_or(1, |info| info.size as usize);
    for (position, (expected, found)) in expected.chunks(size).zip(found.chunks(size)).enumerate() {
        let numbers = (number::decode(scalar_type, expected), number::decode(scalar_type, found));
        let same = match numbers {
            (Some(NumericValue::Float(expected)), Some(NumericValue::Float(found))) => near(expected, found, case),
            (Some(NumericValue::Complex(re, im)), Some(NumericValue::Complex(found_re, found_im))) => {
                near(re, found_re, case) && near(im, found_im, case)
            }
            _ => expected == found,
        };
        if !same {
            let at = coordinates(position, sizes, dim_order);
            return Err(match numbers {
                (Some(expected), Some(found)) => format!("expected {expected} at {at:?}, found {found}"),
                _ => format!("expected the bytes {expected:02x?} at {at:?}, found {found:02x?}"),
            });
        }
    }
    Ok(())
}

/// Returns true if two numbers are within the tolerance; equal infinities and two NaNs are.
pub fn near(expected: f64, found: f64, case: &TestCase) -> bool {
    let tolerance = case.atol + case.rtol * expected.abs();
    expected == found
        || (expected.is_nan() && found.is_nan())
        || (tolerance.is_finite() && (found - expected).abs() <= tolerance)
}

/// Coordinates of the element at `position` in memory.
pub fn coordinates(mut position: usize, sizes: &[i32], dim_order: &[u8]) -> Vec<usize> {
    let mut at = vec![0; sizes.len()];
    for &dimension in dim_order.iter().rev() {
        let dimension = usize::from(dimension);
        let size = usize::try_from(sizes[dimension]).unwrap_or(1).max(1);
        at[dimension] = position % size;
        position /= size;
    }
    at
}
