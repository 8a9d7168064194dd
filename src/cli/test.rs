//! `pte-emit test FILE...`: runs the tests of sources in a runner, and prints a table; `--bless` writes the outputs
//! into the sources.
//!
//! The library runs the tests and edits the text. This file finds the runner, and reads and writes files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use pte_emit::command::text::{counted, escaped, label};
use pte_emit::run::{
    Blessed, OutputDifference, OutputDifferenceKind, TestOptions, TestOutcome, TestReport, TestResult,
};
use pte_emit::{Code, Error, Model};
use serde::Serialize;

use super::exit::{Exit, Failure};
use super::interrupt;
use super::io::{self, Messages, STREAM};
use super::json;
use super::options::{FormatArguments, TextOrJson};
use super::outputs::{Outputs, Replaced};
use super::runner::{self, RunnerArguments};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `test`.
#[derive(Debug, Args)]
pub struct TestArguments {
    /// YAML files and .bpte files with tests; - is standard input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    runner: RunnerArguments,
    /// Run only this test, METHOD/INDEX, or the tests of this method: a name or a pattern, in which * stands for any
    /// characters; may be repeated
    #[arg(long, value_name = "TEST")]
    select: Vec<String>,
    /// Write what was found as what is expected: the outputs into the YAML, where they differ or are missing
    #[arg(long)]
    bless: bool,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
    #[command(flatten)]
    sources: SourceArguments,
}

/// Runs the command.
///
/// # Errors
/// No runner; what concerns none of several files.
pub fn run(arguments: &TestArguments, messages: &Messages) -> Result<Exit, Failure> {
    if io::reads_stream_twice(&arguments.inputs) {
        return Err(Failure::usage("standard input can be only one of the inputs"));
    }
    if arguments.bless && arguments.inputs.iter().any(|input| input.as_os_str() == STREAM) {
        return Err(Failure::usage("`--bless` writes into the input; expected the name of a file, found `-`"));
    }
    let options =
        TestOptions::new(arguments.runner.command()?).limits(arguments.runner.limits()).tests(arguments.select.clone());
    let sources = Sources::checked(&arguments.sources)?;
    interrupt::defer();
    let (mut done, mut exit) = (Vec::new(), Exit::Ok);
    for input in &arguments.inputs {
        match TestedFile::run(input, &sources, &options) {
            Ok(file) => done.push(file),
            Err(failure) => exit = exit.max(failure.report(messages)),
        }
        if interrupt::is_requested() {
            return Ok(Exit::Interrupted);
        }
    }
    sources.warn_unused(messages);
    let reports: Vec<&TestReport> = done.iter().flat_map(|file| &file.reports).collect();
    let document = TestDocument::new(&reports);
    let text = if arguments.format.is_json() { json::text(&document) } else { document.text() };
    stdout::write("", |out| out.write_all(text.as_bytes()))?;
    if arguments.bless {
        let has_failed = exit != Exit::Ok;
        return bless(&done, has_failed, messages).map(|()| exit);
    }
    let is_success = reports.iter().all(|report| report.is_success());
    Ok(if is_success { exit } else { exit.max(Exit::Input) })
}

/// A file whose tests were run.
struct TestedFile {
    path: PathBuf,
    /// Its documents.
    models: Vec<Model>,
    /// Their reports.
    reports: Vec<TestReport>,
}

impl TestedFile {
    fn run(path: &Path, sources: &Sources<'_>, options: &TestOptions) -> Result<TestedFile, Failure> {
        let models = sources.open(path)?;
        let run = |model: &Model| {
            let folder = runner::folder()?;
            model.run_tests(folder.path(), options).map_err(Failure::from)
        };
        let reports = models.iter().map(run).collect::<Result<_, _>>()?;
        Ok(TestedFile { path: path.to_owned(), models, reports })
    }

    /// Refuses a file whose text is not what ran.
    fn is_unchanged(&self) -> Result<(), Failure> {
        let texts: String = self.models.iter().filter_map(Model::text).collect();
        let name = self.path.display().to_string();
        if self.models.iter().all(Model::is_text)
            && std::fs::read(&self.path).map_err(|error| Failure::reading(&name, &error))? != texts.as_bytes()
        {
            let message = "the file has variables (`${NAME}`), on whose values the outputs depend, or has changed; write the outputs by hand";
            return Err(Error::input(Code::UnmetRequest, &name, message).into());
        }
        Ok(())
    }

    /// Returns the file with the outputs of its tests.
    fn blessed(&self) -> Result<(String, Vec<Blessed>), Failure> {
        self.is_unchanged()?;
        // `model.yaml` and `model.yml` have folders of their own.
        let is_yaml = self.path.extension().is_some_and(|extension| extension == "yaml");
        let stem = if is_yaml { self.path.file_stem() } else { self.path.file_name() };
        let blessed = self.models.iter().zip(&self.reports).map(|(model, report)| {
            let number = report.document.map_or_else(String::new, |number| format!(".{number}"));
            let mut folder = stem.unwrap_or_default().to_owned();
            folder.push(format!("{number}.outputs"));
            model.with_outputs(report, Path::new(&folder))
        });
        let blessed: Vec<Blessed> = blessed.collect::<Result<_, _>>()?;
        Ok((blessed.iter().map(|blessed| &*blessed.text).collect(), blessed))
    }
}

/// Writes the outputs of all files, or none.
fn bless(files: &[TestedFile], has_failed: bool, messages: &Messages) -> Result<(), Failure> {
    let unfinished = files.iter().flat_map(|file| &file.reports).flat_map(|report| &report.tests);
    let unfinished = unfinished.filter(|test| test.outputs.is_none()).count();
    if has_failed || unfinished > 0 {
        let why = if unfinished > 0 {
            format!("{} without outputs", counted(unfinished as u64, "test"))
        } else {
            "errors".to_owned()
        };
        let message = format!("{why}: nothing is written; `--select` runs the others");
        return Err(Error::input(Code::UnmetRequest, "--bless", message).into());
    }
    // Dropped last: one without files is removed.
    let mut folders = Vec::new();
    let (mut outputs, mut done) = (Outputs::default(), String::new());
    for file in files {
        let (text, blessed) = file.blessed()?;
        let tests: usize = blessed.iter().map(|blessed| blessed.tests).sum();
        let name = file.path.display().to_string();
        if tests == 0 {
            let _ = writeln!(done, "{}: unchanged", escaped(&name));
            continue;
        }
        for blessed in &blessed {
            folders.extend(outputs.write_extracted(&file.path, &blessed.files, |_| Replaced::Any)?);
        }
        outputs.write_text(&file.path, Replaced::Any, &text)?;
        let _ = writeln!(done, "{}: wrote the outputs of {}", escaped(&name), counted(tests as u64, "test"));
    }
    // Another process may have written one meanwhile.
    files.iter().try_for_each(TestedFile::is_unchanged)?;
    outputs.commit()?;
    messages.summary(&done);
    Ok(())
}

/// Results of all files.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TestDocument<'r> {
    /// Results by file and document.
    files: &'r [&'r TestReport],
    /// Number of tests by result.
    total: TestTotals,
}

/// Number of tests by result.
#[derive(Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct TestTotals {
    passed: usize,
    failed: usize,
    no_outputs: usize,
    error: usize,
}

impl<'r> TestDocument<'r> {
    fn new(files: &'r [&'r TestReport]) -> TestDocument<'r> {
        let mut total = TestTotals::default();
        for test in files.iter().flat_map(|report| &report.tests) {
            match test.result {
                TestResult::Passed => total.passed += 1,
                TestResult::Failed => total.failed += 1,
                TestResult::NoOutputs => total.no_outputs += 1,
                _ => total.error += 1,
            }
        }
        TestDocument { files, total }
    }

    /// Formats a table for each file: method, test, result, largest error; below a test, what differs.
    fn text(&self) -> String {
        let mut out = String::new();
        for report in self.files {
            let _ = writeln!(out, "{}", label(&report.file, report.document));
            let methods: Vec<String> = report.tests.iter().map(|test| escaped(&test.method).into_owned()).collect();
            let width =
                methods.iter().map(|method| method.chars().count()).max().unwrap_or_default().max("method".len());
            let _ = writeln!(out, "  {:width$}  test  result      largest error", "method");
            for (test, method) in report.tests.iter().zip(&methods) {
                let error = test.comparison.as_ref().and_then(|comparison| comparison.max_error);
                let error = error.map_or_else(|| "-".to_owned(), number);
                let _ = writeln!(out, "  {method:width$}  {:<4}  {:<10}  {error}", test.index, test.result.to_string());
                explain(test, &mut out);
            }
        }
        let TestTotals { passed, failed, no_outputs, error } = self.total;
        let counts =
            [(passed, "passed"), (failed, "failed"), (no_outputs, "without expected outputs"), (error, "not run")];
        let counts: Vec<String> =
            counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        // Without a file that ran, all is said.
        if !counts.is_empty() {
            let _ = writeln!(
                out,
                "{}: {}",
                counted((passed + failed + no_outputs + error) as u64, "test"),
                counts.join(", ")
            );
        }
        out
    }
}

/// Appends the problem with a test.
fn explain(test: &TestOutcome, out: &mut String) {
    let mut line = |text: &str| _ = writeln!(out, "    {}", escaped(text));
    if let Some(difference) = test.comparison.as_ref().and_then(|comparison| comparison.difference.as_ref()) {
        line(&difference_text(difference));
    }
    if test.result == TestResult::NoOutputs {
        line("there are no expected outputs; `--bless` writes those that were found");
    }
    if let Some(error) = &test.error {
        line(&error.message);
        error.log.iter().for_each(|text| line(&format!("| {text}")));
    }
}

pub fn difference_text(difference: &OutputDifference) -> String {
    let OutputDifference { kind, output, element, expected, found, error, tolerance, differing, elements, .. } =
        difference;
    let output = output.map_or_else(String::new, |output| format!("output {output}"));
    let at = element.as_ref().map_or_else(String::new, |element| format!(" at {element:?}"));
    let what = match kind {
        OutputDifferenceKind::Count => "number of outputs",
        OutputDifferenceKind::ElementType => ", element type",
        OutputDifferenceKind::Sizes => ", sizes",
        OutputDifferenceKind::DimOrder => ", order of dimensions",
        _ => "",
    };
    let mut text = format!("{output}{at}{what}: expected {expected}, found {found}");
    let details = [("error", error), ("tolerance", tolerance)];
    let details: Vec<String> =
        details.iter().filter_map(|(name, value)| Some(format!("{name} {}", number((**value)?)))).collect();
    if !details.is_empty() {
        let _ = write!(text, " ({})", details.join(", "));
    }
    if let (Some(differing), Some(elements)) = (differing, elements) {
        let _ = write!(text, "; {differing} of {} differ", counted(*elements, "element"));
    }
    text
}

/// Formats an error or a tolerance.
fn number(number: f64) -> String {
    if number == 0.0 { "0".to_owned() } else { format!("{number:.3e}") }
}
