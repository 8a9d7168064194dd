//! Runs the tests of a source in a runner: assembles it, starts a process for each test, and compares the outputs with
//! the expected ones.
//!
//! [`crate::facade::bless`] writes outputs that were found into the YAML.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::assembly::Assembly;
use crate::facade::inspection::Inspected;
use crate::facade::model::Model;
use crate::ir::resolve::InvalidTest;
use pte_model::diagnostics::Code;
use pte_model::error::Error;
use pte_model::format::Format;
use pte_model::program::test_cases::{MethodTests, TestCase};
use pte_model::program::{ExecutionPlan, Program};
use pte_run::compare::{self, OutputComparison};
use pte_run::{OutputValue, RunError, RunErrorKind, RunLimits, RunnerCommand, Session};
use pte_transform::pattern::Pattern;
use serde::Serialize;

pte_model::options! {
    /// Options of [`Model::run_tests`].
    ///
    /// ```
    /// use pte_emit::run::{RunnerCommand, TestOptions};
    ///
    /// let options = TestOptions::new(RunnerCommand::parse("./runner")?);
    /// assert_eq!(options.limits.time.as_secs(), 60);
    /// # Ok::<(), String>(())
    /// ```
    #[derive(Debug, Clone)]
    pub struct TestOptions {
        /// Command of the runner.
        pub runner: RunnerCommand,
        /// Limits of the process of a test. That of the output is for what exceeds the sizes of the outputs in the
        /// program.
        pub limits: RunLimits,
        /// Tests to run: names as in the report, such as `forward/0`, or names of methods; patterns, in which `*`
        /// stands for any characters. All if it is empty.
        pub tests: Vec<String>,
    }
}

impl TestOptions {
    /// Creates options with defaults.
    pub fn new(runner: RunnerCommand) -> TestOptions {
        TestOptions { runner, limits: RunLimits::default(), tests: Vec::new() }
    }
}

/// Results of the tests of a source, of [`Model::run_tests`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TestReport {
    /// Name of the source.
    pub file: String,
    /// Number of the document in its file, from 1, if the file has several.
    pub document: Option<usize>,
    /// Results, by method and in the order of the tests.
    pub tests: Vec<TestOutcome>,
}

impl TestReport {
    /// Returns true if all tests passed.
    pub fn is_success(&self) -> bool {
        self.tests.iter().all(|test| test.result == TestResult::Passed)
    }
}

/// Result of a test, part of [`TestReport`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TestOutcome {
    /// Name of the method.
    pub method: String,
    /// Index of the test among those of the method.
    pub index: usize,
    /// Result.
    pub result: TestResult,
    /// Comparison of the outputs; `None` if there are none, or none are expected.
    pub comparison: Option<OutputComparison>,
    /// Reason why the test has no outputs.
    pub error: Option<TestError>,
    /// Outputs that were found; `None` if there are none.
    #[serde(skip)]
    pub outputs: Option<Vec<OutputValue>>,
    /// The test; `None` if it is invalid.
    #[serde(skip)]
    pub(crate) case: Option<TestCase>,
}

impl TestOutcome {
    /// Returns the name of the test: that of the method, and the index.
    pub fn name(&self) -> String {
        name(&self.method, self.index)
    }
}

/// Result of a test in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum TestResult {
    /// All outputs are as expected.
    Passed,
    /// An output differs.
    Failed,
    /// The test has no expected outputs.
    NoOutputs,
    /// The test does not suit its method, the runtime rejects a step, or the runner fails.
    Error,
}

/// Returns the word, as in JSON.
impl fmt::Display for TestResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// Reason why a test has no outputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TestError {
    /// Kind: `invalid-test`, or that of a [`RunErrorKind`](crate::run::RunErrorKind).
    pub kind: &'static str,
    /// Message.
    pub message: String,
    /// Last lines of the standard error of the runner.
    pub log: Vec<String>,
}

impl From<RunError> for TestError {
    fn from(error: RunError) -> TestError {
        TestError { kind: error.kind.name(), message: error.to_string(), log: error.log }
    }
}

impl Model {
    /// Runs the tests of YAML or of a `.bpte` in a runner, each in a process of its own, which it starts in order. The
    /// files of the program are written to `folder`. The result has a [`TestOutcome`](crate::run::TestOutcome) for
    /// each, with a [`TestError`](crate::run::TestError) if it cannot be run.
    ///
    /// The tests of a method with state, or with delegates, which may keep some, run after those before them on the
    /// same loaded method, as a runtime would; one that failed before is left out.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::run::{RunnerCommand, TestOptions, TestResult};
    ///
    /// let yaml = "methods: {seven: {outputs: [7], tests: [{outputs: [7]}, {}, {inputs: [1], outputs: [7]}]}}";
    /// let model = Model::from_yaml("seven.yaml", yaml, ".");
    /// // A runner whose methods return 7.
    /// let script = "echo program ok; while read command rest; do case $command in
    ///     outputs) echo outputs 1; echo output 0 int 7;; *) echo $command ok; esac; done";
    /// let options = TestOptions::new(RunnerCommand::new("sh").with_arguments(["-c", script]));
    ///
    /// let folder = std::env::temp_dir();
    /// let report = model.run_tests(&folder, &options)?;
    /// let results: Vec<TestResult> = report.tests.iter().map(|test| test.result).collect();
    /// assert_eq!(results, [TestResult::Passed, TestResult::NoOutputs, TestResult::Error]);
    /// assert!(!report.is_success() && report.tests[2].name() == "seven/2");
    /// let error = report.tests[2].error.as_ref().unwrap();
    /// assert_eq!(error.kind, "invalid-test");
    /// assert_eq!(&*error.message, "1:70: the test has 1 inputs, the method 0: expected 0");
    ///
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// The source is invalid, except for its tests, or is another file; a pattern matches no test; files cannot be
    /// written. What tests and runners do is in the report.
    pub fn run_tests(&self, folder: &Path, options: &TestOptions) -> Result<TestReport, Error> {
        let prepared = Prepared::new(self, folder)?;
        let mut tests = prepared.run(options)?;
        let mut failed = tests
            .iter_mut()
            .filter_map(|test| test.error.as_mut())
            .filter(|error| error.kind != Code::InvalidTest.name());
        if let Some(first) = failed.next() {
            let hint = without_data(self, &prepared.data);
            std::iter::once(first).chain(failed).for_each(|error| error.message += &hint);
        }
        let input = |message: String| Error::input(Code::UnmetRequest, self.name(), message);
        if tests.is_empty() && prepared.names().next().is_none() {
            return Err(input("there are no tests; docs/yaml-reference.md describes the key `tests`".to_owned()));
        }
        if let Some(unknown) = options.tests.iter().find(|pattern| {
            let pattern = Pattern::new(*pattern);
            !prepared.names().any(|name| selects(&pattern, &name))
        }) {
            let known = pte_model::diagnostics::text::first_names(
                prepared.names().map(|test| name(test.0, test.1)).collect::<Vec<_>>().iter().map(String::as_str),
            );
            let unknown = pte_model::diagnostics::clipped(unknown);
            return Err(input(format!("no test or method matches `{unknown}`; there are {known}")));
        }
        Ok(TestReport { file: self.name().to_owned(), document: self.document(), tests })
    }
}

/// Returns what a program needs from `.ptd` files, to be added to an error, if there are none.
pub(crate) fn without_data(model: &Model, data: &[PathBuf]) -> String {
    let keys = match data {
        [] => Inspected::of(model).map(|inspected| inspected.required_keys()).unwrap_or_default(),
        _ => Vec::new(),
    };
    match keys.is_empty() {
        true => String::new(),
        false => {
            let keys = pte_model::diagnostics::text::first_names(keys.iter().map(String::as_str));
            format!("; the program needs data of .ptd files, which `--with` names: {keys}")
        }
    }
}

fn name(method: &str, index: usize) -> String {
    format!("{method}/{index}")
}

/// Returns true if a pattern matches a test, or its method.
fn selects(pattern: &Pattern, &(method, index): &(&str, usize)) -> bool {
    pattern.matches(method) || pattern.matches(&name(method, index))
}

/// Files of a program, and its tests.
struct Prepared {
    program: PathBuf,
    data: Vec<PathBuf>,
    /// All methods with tests.
    methods: Vec<PreparedMethod>,
}

/// A method with tests.
struct PreparedMethod {
    name: String,
    /// Valid tests by their index, or their problems.
    tests: Vec<Result<TestCase, TestError>>,
    keeps_state: bool,
    /// Largest size of the outputs as text.
    output_bytes: u64,
}

impl Prepared {
    fn new(model: &Model, folder: &Path) -> Result<Prepared, Error> {
        let program = folder.join("model.pte");
        let unwritable = |error: io::Error| Error::io(&program.display().to_string(), "cannot write", &error);
        if model.is_text() {
            let (assembly, invalid) = assemble(model)?;
            let written = write_files(&assembly, &program).ok_or_else(|| {
                Error::input(
                    Code::UnexpectedInput,
                    model.name(),
                    "expected a source with methods, whose tests can be run",
                )
            })?;
            let data = [model.source().data_files.clone(), written.map_err(unwritable)?].concat();
            let methods = methods(assembly.program(), assembly.tests.clone(), invalid, model, &program);
            return Ok(Prepared { program, data, methods });
        }
        if model.format()? != Some(Format::BundledProgram) {
            let message = "expected YAML or a .bpte, found a file without tests";
            return Err(Error::input(Code::UnexpectedInput, model.name(), message));
        }
        let bundled = model.bundled_program()?;
        write(&program, |out| bundled.copy_to(out)).map_err(unwritable)?;
        let resolved = model.resolve()?;
        let methods = methods(&resolved.program, resolved.tests, Vec::new(), model, &program);
        Ok(Prepared { program, data: model.source().data_files.clone(), methods })
    }

    /// Names of all tests.
    fn names(&self) -> impl Iterator<Item = (&str, usize)> {
        self.methods.iter().flat_map(|method| (0..method.tests.len()).map(|index| (&*method.name, index)))
    }

    /// Runs the tests that the options select.
    fn run(&self, options: &TestOptions) -> Result<Vec<TestOutcome>, Error> {
        let mut outcomes: Vec<TestOutcome> = Vec::new();
        let mut process = None;
        let patterns: Vec<Pattern> = options.tests.iter().map(Pattern::new).collect();
        for method in &self.methods {
            let selected = |index: usize| {
                patterns.is_empty() || patterns.iter().any(|pattern| selects(pattern, &(&method.name, index)))
            };
            // Tests that the next one runs after.
            let mut before: Vec<&TestCase> = Vec::new();
            for (index, test) in method.tests.iter().enumerate() {
                if options.limits.stop.is_set() {
                    return Ok(outcomes);
                }
                let has_run = if selected(index) {
                    let outcome = self.outcome((method, index), &before, options, &mut process)?;
                    outcomes.push(outcome);
                    outcomes.last().is_some_and(|outcome| outcome.error.is_none())
                } else {
                    // As if all were selected: what later tests find depends on those that run.
                    let is_last = !(index + 1..method.tests.len()).any(selected);
                    let case = test.as_ref().ok().filter(|_| method.keeps_state && !is_last);
                    case.is_some_and(|case| self.execute(method, case, &before, options, &mut process).is_ok())
                };
                if let Some(case) = test.as_ref().ok().filter(|_| method.keeps_state && has_run) {
                    before.push(case);
                }
            }
        }
        if let Some(Err(error)) = process.map(|process: TestProcess| process.session.finish())
            && let Some(outcome) = outcomes.last_mut().filter(|outcome| outcome.error.is_none())
        {
            (outcome.result, outcome.error) = (TestResult::Error, Some(error.into()));
        }
        Ok(outcomes)
    }

    fn outcome(
        &self,
        (method, index): (&PreparedMethod, usize),
        before: &[&TestCase],
        options: &TestOptions,
        process: &mut Option<TestProcess>,
    ) -> Result<TestOutcome, Error> {
        let mut outcome = TestOutcome {
            method: method.name.clone(),
            index,
            result: TestResult::Error,
            comparison: None,
            error: None,
            outputs: None,
            case: method.tests[index].as_ref().ok().cloned(),
        };
        let case = match &method.tests[index] {
            Ok(case) => case,
            Err(error) => {
                outcome.error = Some(error.clone());
                return Ok(outcome);
            }
        };
        match self.execute(method, case, before, options, process) {
            Err(error) => outcome.error = Some(error.into()),
            Ok(found) => {
                if case.outputs.is_some() {
                    let comparison = compare::outputs(case, &found).map_err(|error| Error::io("", "", &error))?;
                    let differs = comparison.difference.is_some();
                    outcome.result = if differs { TestResult::Failed } else { TestResult::Passed };
                    outcome.comparison = Some(comparison);
                } else {
                    outcome.result = TestResult::NoOutputs;
                }
                outcome.outputs = Some(found);
            }
        }
        Ok(outcome)
    }

    /// Runs a test after others: in the process of the tests before it, if it answers, or else in a new one.
    fn execute(
        &self,
        method: &PreparedMethod,
        case: &TestCase,
        before: &[&TestCase],
        options: &TestOptions,
        process: &mut Option<TestProcess>,
    ) -> Result<Vec<OutputValue>, RunError> {
        if let Some(mut kept) = process.take() {
            kept.session.renew();
            match kept.run(method, case, before) {
                Ok(outputs) => {
                    *process = Some(kept);
                    return Ok(outputs);
                }
                // A test before it may be the reason.
                Err(error)
                    if matches!(
                        error.kind,
                        RunErrorKind::Signal(..) | RunErrorKind::Ended(_) | RunErrorKind::TooMuchOutput(_)
                    ) => {}
                Err(error) => return Err(error),
            }
        }
        // One process answers all tests, some of them again.
        let bytes = |method: &PreparedMethod| method.output_bytes.saturating_mul(2 * method.tests.len() as u64 + 1);
        let bytes = self.methods.iter().map(bytes).fold(0, u64::saturating_add);
        let limits = with_outputs(&options.limits, bytes);
        let session = Session::start(&options.runner, &self.program, &self.data, &limits)?;
        let mut started = TestProcess { session, method: None };
        let outputs = started.run(method, case, before)?;
        *process = Some(started);
        Ok(outputs)
    }
}

/// A process that runs tests one after the other.
struct TestProcess {
    session: Session,
    /// The loaded method with its state: its name, and the number of tests that it has run.
    method: Option<(String, usize)>,
}

impl TestProcess {
    /// Runs a test after others, which it has run before or runs again.
    fn run(
        &mut self,
        method: &PreparedMethod,
        case: &TestCase,
        before: &[&TestCase],
    ) -> Result<Vec<OutputValue>, RunError> {
        let loaded = self.method.take();
        // A method that is loaded again has its initial state.
        let continues = loaded.is_some_and(|(name, count)| name == method.name && count == before.len());
        if before.is_empty() || !continues {
            self.session.load(&method.name)?;
            before.iter().try_for_each(|case| self.session.run(&case.inputs).map(|_| ()))?;
        }
        let outputs = self.session.run(&case.inputs)?;
        self.method = Some((method.name.clone(), before.len() + 1));
        Ok(outputs)
    }
}

/// Most bytes of the answers of a process, whatever sizes a file states: they are in memory.
const MOST_OUTPUT: u64 = 1 << 30;

/// Returns the limits of a process that answers with so many bytes of outputs.
pub(crate) fn with_outputs(limits: &RunLimits, bytes: u64) -> RunLimits {
    let mut limits = limits.clone();
    limits.output = limits.output.saturating_add(bytes).min(MOST_OUTPUT);
    limits
}

/// Writes the program of an assembly for a runner, and its `.ptd` files next to it, and returns their paths; `None` for
/// an assembly without program.
pub(crate) fn write_files(assembly: &Assembly, program: &Path) -> Option<io::Result<Vec<PathBuf>>> {
    let file = assembly.program_file()?;
    let data = || {
        write(program, |out| file.write(out))?;
        let mut paths = Vec::new();
        for (number, (_, file)) in assembly.data_files().enumerate() {
            // Not named by tag, which may be an invalid file name.
            let path = program.with_extension(format!("{number}.ptd"));
            write(&path, |out| file.write(out))?;
            paths.push(path);
        }
        Ok(paths)
    };
    Some(data())
}

/// Assembles YAML; tests with errors are returned apart.
pub(crate) fn assemble(model: &Model) -> Result<(Assembly, Vec<InvalidTest>), Error> {
    let (resolved, invalid) = model.parse()?.resolve_with_invalid_tests()?;
    Ok((resolved.to_files(model.options())?, invalid))
}

fn write(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(path)?);
    write(&mut out)?;
    out.flush()
}

/// Returns the methods with tests, in the order of the program.
fn methods(
    program: &Program,
    tests: Vec<MethodTests>,
    invalid: Vec<InvalidTest>,
    model: &Model,
    file: &Path,
) -> Vec<PreparedMethod> {
    let state = states(file);
    let mut methods = Vec::new();
    for MethodTests { method: name, cases } in tests {
        let mut wrong = invalid.iter().filter(|test| test.method == name).peekable();
        let mut tests = Vec::new();
        let mut cases = cases.into_iter();
        loop {
            if let Some(test) = wrong.next_if(|test| test.index == tests.len()) {
                tests.push(Err(invalid_error(test, model)));
            } else if let Some(case) = cases.next() {
                tests.push(Ok(case));
            } else {
                break;
            }
        }
        let plan = program.plans().iter().find(|plan| plan.name.as_deref().unwrap_or_default() == name);
        let output_bytes = plan.map_or(0, output_bytes);
        let keeps_state = state.as_ref().is_none_or(|methods| methods.contains(&name));
        methods.push(PreparedMethod { name, tests, keeps_state, output_bytes });
    }
    methods
}

/// Returns the largest size of the outputs of a method as text, in bytes: a byte of a tensor is two of an answer.
pub(crate) fn output_bytes(plan: &ExecutionPlan) -> u64 {
    let outputs = plan.outputs.iter().flatten().filter_map(|output| plan.value(*output)?.as_tensor()?.nbytes());
    outputs.fold(0, |sum: u64, bytes| sum.saturating_add(bytes.saturating_mul(2)))
}

/// Returns the names of the methods that keep state or have delegates; `None` if that is not known.
fn states(file: &Path) -> Option<Vec<String>> {
    let inspected = Inspected::of(&Model::open_binary(file)).ok()?;
    let subject = inspected.view();
    let methods = inspected.program.plans().iter().enumerate();
    let stateful = methods.filter(|(method, plan)| subject.has_state(*method) || !plan.delegates().is_empty());
    Some(stateful.map(|(_, plan)| plan.name.clone().unwrap_or_default()).collect())
}

/// Problem with a test of YAML, with its position.
fn invalid_error(test: &InvalidTest, model: &Model) -> TestError {
    let report = model.source().report_nodes(test.diagnostics.clone());
    let messages = report.diagnostics.iter().map(|diagnostic| {
        let position = diagnostic.at.as_ref().map_or_else(String::new, |span| {
            let (line, column) = report.line_column(span.start);
            format!("{line}:{column}: ")
        });
        let separator = if diagnostic.label.is_empty() { "" } else { ": " };
        format!("{position}{}{separator}{}", diagnostic.message, diagnostic.label)
    });
    TestError { kind: Code::InvalidTest.name(), message: messages.collect::<Vec<_>>().join("; "), log: Vec::new() }
}
