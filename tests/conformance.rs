//! One test per example, and per source of `tests/golden/upstream/bytes`, in the real ExecuTorch runtime: it is assembled, loaded and
//! executed, and its outputs are compared with the expected ones; with internal and external weights, and with every loader.
//!
//! The tests of a method run in order on one loaded method: mutable tensors keep their content. They are ignored by default, since they
//! download the runtime from a package index: `cargo test --test conformance -- --ignored`; a name before `--` selects tests.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

use libtest_mimic::Trial;
use pte_emit::data::number::{self, NumericValue};
use pte_emit::format::ScalarType;
use pte_emit::program::test_cases::{TestCase, TestData};
use pte_emit::program::{Memory, TensorData};
use pte_emit::{Assembly, Options as AssembleOptions, Source, assemble};

mod support;

use support::case::{Case, inputs};
use support::runner::{self, Mode, Value};
use support::{files, trial};

/// Variants of each test: external constants or not, options of loading.
const VARIANTS: [(bool, Mode); 5] = [
    (false, Mode { verify: "full", loader: "file" }),
    (false, Mode { verify: "full", loader: "buffer" }),
    (false, Mode { verify: "minimal", loader: "mmap" }),
    (true, Mode { verify: "full", loader: "file" }),
    (true, Mode { verify: "full", loader: "mmap" }),
];

fn main() -> ExitCode {
    let examples = inputs("examples").into_iter().map(|case| test("examples", case, true));
    let upstream = inputs("tests/golden/upstream/bytes");
    let upstream = upstream.into_iter().map(|case| test("upstream/bytes", case, false));
    let ours = [
        trial("coordinates_depend_on_the_dim_order", coordinates_depend_on_the_dim_order),
        trial("differences_are_reported", differences_are_reported),
    ];
    support::run(examples.chain(upstream).chain(releases()).chain(ours).collect())
}

static RUNNER: LazyLock<PathBuf> = LazyLock::new(runner::locate);

/// An example must compare an output; sources of golden files need not have tests.
fn test(folder: &str, case: Case, must_compare: bool) -> Trial {
    let name = format!("{folder}/{}", case.name());
    let test = trial(name, move || {
        for (external_data, mode) in VARIANTS {
            let external = if external_data { ", --external-data" } else { "" };
            let variant = format!("{} verification, {}{external}", mode.verify, mode.loader);
            match compare_outputs(&RUNNER, &case.input, external_data, mode) {
                Ok(compared) => assert!(compared > 0 || !must_compare, "{variant}: no test compares an output"),
                Err(failures) => panic!("{variant}:\n{}", failures.join("\n")),
            }
        }
    });
    test.with_ignored_flag(true)
}

/// Assembles a source, runs its tests, and returns the number of compared outputs.
///
/// # Errors
/// All failures.
fn compare_outputs(runner: &Path, path: &Path, external_data: bool, mode: Mode) -> Result<usize, Vec<String>> {
    let text = fs::read_to_string(path).map_err(|error| vec![error.to_string()])?;
    let name = path.display().to_string();
    let input = Source::yaml(&name, &text, path.parent().unwrap_or(Path::new("")));
    let overrides = {
        let mut options = AssembleOptions::default();
        options.external_data = external_data;
        options
    };
    let assembly =
        assemble(&input, &overrides).map_err(|report| vec![pte_emit::cli::render::report(report.report(), false)])?;
    if external_data && let Some(left) = constant_inside(&assembly) {
        return Err(vec![left]);
    }
    let folder = tempfile::tempdir().map_err(|error| vec![error.to_string()])?;
    let (pte, ptds) = files::write(&assembly, folder.path()).map_err(|error| vec![error.to_string()])?;
    let script = script(&assembly).map_err(|error| vec![error.to_string()])?;
    let answers = runner::run(runner, &pte, &ptds, mode, &script).map_err(|failure| vec![failure])?;
    let mut check = Check { answers: answers.into_iter(), failures: Vec::new(), compared: 0 };
    // After a missing answer, all others are missing, too.
    if let Err(missing) = check.program(&assembly) {
        check.failures.push(missing);
    }
    if check.failures.is_empty() { Ok(check.compared) } else { Err(check.failures) }
}

/// Options that rewrite a file of an old release for the runtime of today (docs/releases.md).
const REWRITE: [(&str, &str); 4] =
    [("constants", "segment"), ("header", "auto"), ("builder", "exir"), ("delegates", "segment")];

/// Programs of other releases: the runtime loads the methods of those without errors in `check`, and of all others once they are rewritten.
fn releases() -> Vec<Trial> {
    let folder = support::root().join("tests/golden/upstream/releases");
    let files = support::files_below(&folder, &["pte"]);
    assert!(!files.is_empty(), "no files of other releases");
    let test = |path: PathBuf| {
        let name = format!("upstream/releases/{}", path.strip_prefix(&folder).unwrap().display());
        trial(name, move || loads(&path)).with_ignored_flag(true)
    };
    files.into_iter().map(test).collect()
}

fn loads(path: &Path) {
    let data = path.with_file_name(format!("{}___default_external_constant.ptd", path.file_stem().unwrap().display()));
    let data: Vec<PathBuf> = data.exists().then_some(data).into_iter().collect();
    let source = Source::open(path).unwrap();
    let findings = pte_emit::check(&source, &pte_emit::CheckOptions::default()).unwrap();
    let mut options = AssembleOptions::default();
    let has_errors = findings[0].has_errors();
    if has_errors {
        REWRITE.iter().for_each(|(name, value)| options.layout.set(name, value).unwrap());
    }
    let folder = tempfile::tempdir().unwrap();
    let assembly = assemble(&source, &options).unwrap();
    let rewritten = folder.path().join("model.pte");
    fs::write(&rewritten, assembly.program_file().unwrap().to_vec().unwrap()).unwrap();
    let script = methods(&assembly)
        .fold("methods\n".to_owned(), |script, name| script + &format!("load {}\n", runner::quote(name)));
    let run = |path: &Path| match runner::run(&RUNNER, path, &data, VARIANTS[0].1, &script) {
        Ok(answers) => answers.iter().filter(|answer| *answer == "load ok").count() == methods(&assembly).count(),
        Err(failure) => {
            assert!(failure.contains("after `program error 0x23 InvalidProgram`"), "{failure}");
            false
        }
    };
    assert!(run(&rewritten), "the runtime does not load the rewritten file");
    assert_eq!(run(path), !has_errors, "whether the runtime loads the file as it is");
}

/// Message about a constant that is stored in the program in spite of `external_data`.
fn constant_inside(assembly: &Assembly) -> Option<String> {
    assembly.program().plans().iter().find_map(|plan| {
        let inside = plan.tensors().find(|(_, tensor)| {
            matches!(tensor.data, TensorData::Blob(_)) && tensor.memory == Memory::None && !tensor.is_external()
        });
        let name = plan.name.as_deref().unwrap_or_default();
        inside.map(|(value, _)| format!("value {value} of `{name}` is a constant inside the program"))
    })
}

/// Names of all methods, in the order of the program.
fn methods(assembly: &Assembly) -> impl Iterator<Item = &str> {
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

fn compare(expected: &TestData, found: &Value, case: &TestCase) -> Result<(), String> {
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
            if found_order != dim_order {
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
fn near(expected: f64, found: f64, case: &TestCase) -> bool {
    let tolerance = case.atol + case.rtol * expected.abs();
    expected == found
        || (expected.is_nan() && found.is_nan())
        || (tolerance.is_finite() && (found - expected).abs() <= tolerance)
}

/// Coordinates of the element at `position` in memory.
fn coordinates(mut position: usize, sizes: &[i32], dim_order: &[u8]) -> Vec<usize> {
    let mut at = vec![0; sizes.len()];
    for &dimension in dim_order.iter().rev() {
        let dimension = usize::from(dimension);
        let size = usize::try_from(sizes[dimension]).unwrap_or(1).max(1);
        at[dimension] = position % size;
        position /= size;
    }
    at
}

fn coordinates_depend_on_the_dim_order() {
    assert_eq!(coordinates(5, &[2, 3], &[0, 1]), [1, 2]);
    assert_eq!(coordinates(5, &[2, 3], &[1, 0]), [1, 2]);
    assert_eq!(coordinates(1, &[2, 3], &[1, 0]), [1, 0]);
    assert_eq!(coordinates(0, &[], &[]), [0; 0]);
}

fn differences_are_reported() {
    let case = TestCase { inputs: Vec::new(), outputs: None, atol: 0.5, rtol: 0.0 };
    assert!(near(1.0, 1.5, &case) && !near(1.0, 1.75, &case));
    assert!(near(f64::NAN, f64::NAN, &case) && !near(f64::NAN, 1.0, &case) && !near(1.0, f64::NAN, &case));
    assert!(near(f64::INFINITY, f64::INFINITY, &case) && !near(f64::INFINITY, 1.0, &case));
    let tensor = |words: &str| runner::read(words).unwrap();
    let expected = TestData::Tensor {
        scalar_type: ScalarType::LONG,
        sizes: vec![1],
        dim_order: vec![0],
        data: pte_emit::data::Blob::bytes(&7i64.to_le_bytes()[..]),
    };
    assert_eq!(runner::spell(&expected).unwrap(), "tensor 4 1 0 0700000000000000");
    assert_eq!(compare(&expected, &tensor("tensor 4 1 0 0700000000000000"), &case), Ok(()));
    for (words, message) in [
        ("tensor 4 1 0 0800000000000000", "expected 7 at [0], found 8"),
        ("tensor 4 1 0 null", "the tensor has no memory"),
        ("tensor 4 2 0 -", "expected sizes [1], found [2]"),
        ("tensor 6 1 0 00000000", "expected int64, found float32"),
    ] {
        assert_eq!(compare(&expected, &tensor(words), &case), Err(message.to_owned()));
    }
    assert!(compare(&expected, &Value::Other("ListInt".into()), &case).is_err());
    assert_eq!(runner::quote("a b%"), "a%20b%25");
}
