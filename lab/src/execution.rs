//! Runs the tests of an assembly in the real runtime, and compares the outputs with the expected ones.
//!
//! The tests of a method run in order on one loaded method: mutable tensors keep their content.

use std::io;
use std::path::Path;

use pte_emit::Assembly;
use pte_emit::program::test_cases::{TestCase, TestData};
use pte_run::compare;

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

/// Compares an output with the expected one.
///
/// # Errors
/// The first difference.
pub fn compare(expected: &TestData, found: &Value, case: &TestCase) -> Result<(), String> {
    let single = TestCase { outputs: Some(vec![expected.clone()]), ..case.clone() };
    let compared = compare::outputs(&single, std::slice::from_ref(found)).map_err(|error| error.to_string())?;
    compared.difference.map_or(Ok(()), |difference| {
        let at = difference.element.map_or_else(String::new, |element| format!(" at {element:?}"));
        Err(format!("{:?}: expected {}{at}, found {}", difference.kind, difference.expected, difference.found))
    })
}
