//! [`Model::run`]: executes a method in a runner, with inputs as text, and returns the outputs and recorded values by
//! name.
//!
//! The inputs are those of a test that is written for the method: values are read, converted and checked as in the YAML
//! of tests.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::facade::model::{self, Model};
use crate::facade::numeric::{self, Executable};
use crate::facade::source::Source;
use crate::facade::tensors::NamedTensors;
use crate::facade::testing;
use indexmap::IndexMap;
use pte_diff::{RecordedStep, Side, Trace};
use pte_model::data::Blob;
use pte_model::diagnostics::text::{clipped, counted, first_names};
use pte_model::diagnostics::{Code, Diagnostic, Report};
use pte_model::error::Error;
use pte_model::program::element::Part;
use pte_model::program::test_cases::{MethodTests, TestCase, TestData, Tolerance};
use pte_model::program::{EValue, ExecutionPlan, Tensor, TensorShapeDynamism, ValueId};
use pte_run::compare::{self, OutputComparison};
use pte_run::{OutputValue, RunError, RunErrorKind, RunLimits, RunnerCommand, Session};
use pte_transform::pattern::Pattern;

pte_model::options! {
    /// Options of [`Model::run`].
    ///
    /// ```
    /// use pte_emit::run::{RunOptions, RunnerCommand};
    ///
    /// let options = RunOptions::new(RunnerCommand::new("./runner")).inputs(vec![("x".into(), "[1, 2]".into())]);
    /// assert_eq!(options.repeat, 1);
    /// ```
    #[derive(Debug, Clone)]
    pub struct RunOptions {
        /// Command of the runner.
        pub runner: RunnerCommand,
        /// Limits of the process.
        pub limits: RunLimits,
        /// Method; by default `forward`, or the only method with instructions.
        pub method: Option<String>,
        /// Inputs by name, or by their number from 0: values as in the tests of YAML, `@FILE.npy`,
        /// `@FILE.safetensors:KEY`, `random`, or a number for each element. All others are 1, or those of the program.
        /// `NAME#2` is the input of a second execution, and so on; each has those of the one before that are not given.
        pub inputs: Vec<(String, String)>,
        /// Reads files of `inputs` that the library does not read.
        pub read_input: Option<ReadInput>,
        /// Seed of random inputs in place of ones.
        pub random: Option<u64>,
        /// Executions before, each with its inputs: those of the tests before a new one.
        pub before: Vec<Vec<TestData>>,
        /// Number of executions of the loaded method, which keeps its state.
        pub repeat: u64,
        /// File for the ETDump of all executions.
        pub etdump: Option<PathBuf>,
        /// Values of instructions to record in the last execution: names, or patterns in which `*` stands for any
        /// characters, of values, or numbers of instructions from 0. The runner must be one that records.
        pub taps: Vec<String>,
    }
}

impl RunOptions {
    /// Creates options with defaults.
    pub fn new(runner: RunnerCommand) -> RunOptions {
        let (limits, method, inputs, read_input, random, before, etdump, taps) = Default::default();
        RunOptions { runner, limits, method, inputs, read_input, random, before, repeat: 1, etdump, taps }
    }

    /// Returns the paths of the files that [`RunOptions::inputs`] name.
    ///
    /// ```
    /// use pte_emit::run::{RunOptions, RunnerCommand};
    ///
    /// let inputs = vec![("x".into(), "@in.safetensors:x".into()), ("y".into(), "1".into())];
    /// let options = RunOptions::new(RunnerCommand::new("./runner")).inputs(inputs);
    /// assert!(options.input_files().eq([std::path::Path::new("in.safetensors")]));
    /// ```
    pub fn input_files(&self) -> impl Iterator<Item = &Path> {
        let paths = self.inputs.iter().filter_map(|(_, text)| text.trim().strip_prefix('@'));
        paths.map(|path| Path::new(file_of(path).0))
    }
}

/// Reads a file for an input: gets the text after `@`, and the input. `None` if the library is to read it.
pub type ReadInput = fn(&str, &Tensor) -> Result<Option<InputFile>, String>;

/// An array for an input, of [`RunOptions::read_input`].
///
/// ```
/// use pte_emit::run::{InputFile, ReadInput, RunOptions, RunnerCommand};
///
/// // Files of another program, as bytes that are no `.npy`.
/// let read: ReadInput = |_, _| Ok(Some(InputFile::Npy(vec![0; 4])));
/// let options = RunOptions::new(RunnerCommand::new("none")).inputs(vec![("x".into(), "@x.raw".into())]);
/// let options = options.read_input(read);
/// let error = pte_emit::Model::open("examples/linear.yaml")?.test_case(&options).unwrap_err();
/// assert!(error.to_string().contains("input `x`: cannot use ./x.raw: it is not a .npy file"), "{error}");
/// # Ok::<(), pte_emit::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum InputFile {
    /// An `.npy` with elements of the type of the input.
    Npy(Vec<u8>),
    /// An `.npy` with elements of float32, which are converted to those of the input.
    Float32Npy(Vec<u8>),
    /// Elements of the type of the input, in the order of memory.
    Elements(Vec<u8>),
}

/// Message about a test with the inputs of several executions.
const ONE_EXECUTION: &str = "a test has the inputs of one execution; add a test for each";

/// Lines of the log of a runner that are reported.
const LOG: usize = 3;

/// What a method computed, of [`Model::run`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunOutputs {
    /// Name of the method.
    pub method: String,
    /// Inputs of the last execution, in order.
    pub inputs: Vec<(String, TestData)>,
    /// Outputs of the last execution, in order.
    pub outputs: Vec<(String, OutputValue)>,
    /// Outputs of the executions before it with inputs of their own.
    pub earlier: Vec<Vec<(String, OutputValue)>>,
    /// Recorded values of the last execution, in the order of time.
    pub taps: Vec<TappedValue>,
    /// Time of each execution, with the round trip to the runner.
    pub times: Vec<Duration>,
}

/// A recorded value, of [`RunOptions::taps`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TappedValue {
    /// Number of the instruction that computed it among those of all chains, from 0.
    pub instruction: usize,
    /// Operator or delegate.
    pub label: String,
    /// Number of the execution of the instruction, from 0: it is more than 0 only in loops.
    pub execution: u64,
    /// Name of the value.
    pub name: String,
    /// Its content.
    pub value: OutputValue,
}

impl RunOutputs {
    /// Returns the name of the method, and a test of it with these inputs and expected outputs.
    ///
    /// # Errors
    /// An output of a kind that a test cannot have; several executions.
    pub fn to_test_case(&self) -> Result<(String, TestCase), Error> {
        if !self.earlier.is_empty() {
            return Err(Error::input(Code::UnmetRequest, &self.method, ONE_EXECUTION));
        }
        let inputs = self.inputs.iter().map(|(_, input)| input.clone()).collect();
        let expected = |(name, output): &(String, OutputValue)| {
            let message = || format!("a test cannot expect output `{}`: it is no tensor or number", clipped(name));
            output.to_test_data().ok_or_else(|| Error::input(Code::UnmetRequest, &self.method, message()))
        };
        let outputs = self.outputs.iter().map(expected).collect::<Result<_, _>>()?;
        let Tolerance { atol, rtol, .. } = Tolerance::default();
        Ok((self.method.clone(), TestCase { inputs, outputs: Some(outputs), atol, rtol }))
    }

    /// Returns the outputs of all executions by name. Those of the last one have their own; those of the first one of
    /// several are called `NAME#1`, and so on.
    fn named_outputs(&self) -> Vec<(String, &OutputValue)> {
        let earlier = (1..).zip(&self.earlier);
        let earlier = earlier
            .flat_map(|(number, outputs)| outputs.iter().map(move |(name, value)| (format!("{name}#{number}"), value)));
        self.outputs.iter().map(|(name, value)| (name.clone(), value)).chain(earlier).collect()
    }

    /// Returns the outputs that are tensors or numbers by name, and the recorded values that are no outputs, each of
    /// its last execution. Outputs of executions before the last one have names such as `y#1`.
    ///
    /// # Errors
    /// Two outputs of one name.
    pub fn tensors(&self) -> io::Result<NamedTensors> {
        let mut tensors = NamedTensors::default();
        let is_output = |name: &str| self.outputs.iter().any(|(output, _)| output == name);
        let taps: IndexMap<&String, &OutputValue> = self.taps.iter().map(|tap| (&tap.name, &tap.value)).collect();
        let taps = taps.into_iter().filter(|(name, _)| !is_output(name));
        let taps = taps.map(|(name, value)| (name.clone(), value));
        let all = self.named_outputs().into_iter().chain(taps);
        all.into_iter().try_for_each(|(name, value)| tensors.insert(&name, value))?;
        Ok(tensors)
    }

    /// Compares the outputs, and those recorded values that are expected, with the tensors of the same names, which are
    /// of `file`. Returns the names, too.
    ///
    /// # Errors
    /// There is no tensor for an output: that of its name, or at its position if there are as many and none has the
    /// name of an output. Data that cannot be read.
    pub fn compare(
        &self,
        file: &str,
        expected: &NamedTensors,
        tolerance: Tolerance,
    ) -> Result<(Vec<String>, OutputComparison), Error> {
        let taps = self.taps.iter().rev().filter(|tap| expected.has(&tap.name));
        let taps = taps.map(|tap| (tap.name.clone(), &tap.value));
        let mut all: IndexMap<String, &OutputValue> = self.named_outputs().into_iter().collect();
        // Values have other names in YAML than in its .pte: if no name is known, the order counts.
        let by_position = all.len() == expected.len() && !all.keys().any(|name| expected.has(name));
        taps.for_each(|(name, value)| _ = all.entry(name).or_insert(value));
        let position = |at: usize| by_position.then_some(at);
        let outputs = all.iter().enumerate();
        let outputs = outputs.map(|(at, (name, value))| expected.value_of((name, position(at)), value, file));
        let outputs = outputs.collect::<Result<_, _>>()?;
        let Tolerance { atol, rtol, .. } = tolerance;
        let (names, found): (_, Vec<OutputValue>) = all.into_iter().map(|(name, value)| (name, value.clone())).unzip();
        let case = TestCase { inputs: Vec::new(), outputs: Some(outputs), atol, rtol };
        let compared = compare::outputs(&case, &found).map_err(|error| Error::io(file, "", &error))?;
        Ok((names, compared))
    }
}

impl Model {
    /// Executes a method in a runner. Files are written to `folder`, which the caller creates and removes.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::program::test_cases::Tolerance;
    /// use pte_emit::run::{NamedTensors, OutputValue, RunOptions, RunOutputs, RunnerCommand, TappedValue};
    ///
    /// // A runner whose methods return 7.
    /// let script = "echo program ok; while read command rest; do case $command in
    ///     outputs) echo outputs 1; echo output 0 int 7;; *) echo $command ok; esac; done";
    /// let options = RunOptions::new(RunnerCommand::new("sh").with_arguments(["-c", script]));
    ///
    /// let model = Model::open("examples/linear.yaml")?;
    /// let folder = tempfile::tempdir()?.keep();
    /// let found: RunOutputs = model.run(&options.clone().inputs(vec![("x".into(), "[1, 2, 3, 4]".into())]), &folder)?;
    /// assert_eq!((&*found.inputs[0].0, &found.outputs[0]), ("x", &("y".to_owned(), OutputValue::Int(7))));
    /// // They are the expected ones of a test. Values of `taps` are recorded.
    /// assert_eq!(found.to_test_case()?.1.outputs.unwrap().len(), 1);
    /// let taps: &[TappedValue] = &found.taps;
    /// assert!(taps.is_empty());
    /// // Outputs can be a file, with which later ones are compared.
    /// std::fs::write(folder.join("seven.safetensors"), found.tensors()?.to_safetensors()?)?;
    /// let seven = NamedTensors::open(folder.join("seven.safetensors"))?;
    /// let (names, compared) = found.compare("seven.safetensors", &seven, Tolerance::default())?;
    /// assert_eq!((names, compared.difference), (vec!["y".to_owned()], None));
    /// let error = found.compare("none", &NamedTensors::default(), Tolerance::default()).unwrap_err();
    /// assert!(error.to_string().contains("no tensor `y`"), "{error}");
    ///
    /// let error = model.run(&options.inputs(vec![("z".into(), "1".into())]), &folder).unwrap_err();
    /// assert!(error.to_string().contains("no input `z`"), "{error}");
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A source without the method, inputs that do not suit it, a runner that fails.
    pub fn run(&self, options: &RunOptions, folder: &Path) -> Result<RunOutputs, Error> {
        let side = self.side()?;
        let program = Executable::new(self, folder, "model")?;
        let RunInputs { index, method, inputs, outputs, names, data } = self.run_inputs(&side, options)?;
        let plan = &side.program.plans()[index];
        let name = |value| names.get(&side.path(index, Part::Value(value))).cloned();
        let taps = Taps::new(&options.taps, plan, name, &self.label())?;
        let [own, values] = ["tap.etdump", "tap.values"].map(|name| folder.join(name));
        let is_tapped = !options.taps.is_empty();
        let events = options.etdump.as_deref().or(is_tapped.then_some(&own));
        let files = [("--etdump", events), ("--debug-buffer", is_tapped.then_some(&*values))];
        let runner = numeric::recording(&options.runner, files);
        let room = testing::output_bytes(plan);
        let limits = testing::with_outputs(&options.limits, room);
        let mut times = Vec::new();
        let found = execute(&runner, &program, (&method, &data), options, &limits, &mut times);
        let found = found.map_err(|error| {
            if let Some(error) = events
                .filter(|_| is_tapped)
                .and_then(|_| program.does_not_record(&method, &error, &options.runner, &limits))
            {
                return error;
            }
            let hint = testing::without_data(self, &program.data);
            let mut message = Code::UnmetRequest.whole(format!("method `{}`: {error}{hint}", clipped(&method)));
            let lines = &error.log[error.log.len().saturating_sub(LOG)..];
            let lines: Vec<String> = lines.iter().map(|line| format!("`{line}`")).collect();
            message.help = (!lines.is_empty()).then(|| format!("the log of the runner ends with {}", lines.join(", ")));
            Error::new(Report::new(&self.label(), "", vec![message]))
        })?;
        let name = |at: usize| outputs.get(at).cloned().unwrap_or_else(|| format!("output{at}"));
        let named = |found: Vec<OutputValue>| (0..found.len()).map(name).zip(found).collect();
        let mut earlier: Vec<Vec<_>> = found.into_iter().map(named).collect();
        let outputs = earlier.pop().unwrap_or_default();
        let taps = match events.filter(|_| is_tapped) {
            Some(events) => {
                let (dump, values) = program.recording((&method, Some(plan)), events, &values)?;
                let trace = Trace { dump: &dump, values: &values, outputs: &[] };
                taps.read(&side, index, trace).map_err(|message| program.failed(&method, message))?
            }
            None => Vec::new(),
        };
        let data = data.into_iter().next_back().unwrap_or_default();
        Ok(RunOutputs { method, inputs: inputs.into_iter().zip(data).collect(), outputs, earlier, taps, times })
    }
}

/// Executes a method as the options say, notes the time of each execution, and returns the outputs of those with
/// inputs of their own, in the last repetition.
fn execute(
    runner: &RunnerCommand,
    program: &Executable<'_>,
    (method, data): (&str, &[Vec<TestData>]),
    options: &RunOptions,
    limits: &RunLimits,
    times: &mut Vec<Duration>,
) -> Result<Vec<Vec<OutputValue>>, RunError> {
    let mut session = Session::start(runner, &program.program, &program.data, limits)?;
    session.load(method)?;
    let mut found = Vec::new();
    let repeated = (0..options.repeat).flat_map(|round| data.iter().map(move |inputs| (Some(round + 1), inputs)));
    let is_one = options.before.is_empty() && options.repeat == 1 && data.len() == 1;
    let executions = options.before.iter().map(|inputs| (None, inputs)).chain(repeated);
    for (number, (round, inputs)) in executions.enumerate() {
        inputs.iter().enumerate().try_for_each(|(index, input)| session.set_input(index, input))?;
        let start = Instant::now();
        session.execute().map_err(|mut error| {
            if !is_one {
                error.step = format!("{} {}", error.step, number + 1);
            }
            error
        })?;
        if round.is_some() {
            times.push(start.elapsed());
        }
        if round == Some(options.repeat) {
            found.push(session.outputs()?);
        }
    }
    session.finish()?;
    Ok(found)
}

impl Model {
    /// Executes each method in a runner of its own, and returns how the first one ended that crashed it: by a signal,
    /// without an answer, or by the time limit; or why the runner could not be asked. `None` if all end with results or
    /// errors. Inputs are as of [`Model::run`]; a method without such inputs is not executed.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::run::{RunErrorKind, RunOptions, RunnerCommand};
    ///
    /// let runner = |script: &str| RunnerCommand::new("sh").with_arguments(["-c", script]);
    /// let model = Model::open("examples/linear.yaml")?;
    /// let folder = tempfile::tempdir()?;
    /// let crash = |script: &str| model.crash(&RunOptions::new(runner(script)), folder.path());
    /// assert_eq!(crash("echo program ok; read load; kill -ABRT $$")?, Some(RunErrorKind::Signal(6, Some("SIGABRT"))));
    /// assert_eq!(crash("echo program ok; read load; echo load error 0x12 InvalidArgument")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A source without methods; files that cannot be written.
    pub fn crash(&self, options: &RunOptions, folder: &Path) -> Result<Option<RunErrorKind>, Error> {
        let side = self.side()?;
        let program = Executable::new(self, folder, "model")?;
        for plan in side.program.plans() {
            let name = plan.name.clone().unwrap_or_default();
            let options = options.clone().method(Some(name.clone()));
            let Ok(RunInputs { data, .. }) = self.run_inputs(&side, &options) else { continue };
            let limits = testing::with_outputs(&options.limits, testing::output_bytes(plan));
            let found = execute(&options.runner, &program, (&name, &data), &options, &limits, &mut Vec::new());
            let Err(error) = found else { continue };
            let is_start = error.step == pte_run::START;
            match error.kind {
                RunErrorKind::Ended(_) if is_start => {}
                RunErrorKind::Signal(..)
                | RunErrorKind::Ended(_)
                | RunErrorKind::Timeout(_)
                | RunErrorKind::NotStarted(_)
                | RunErrorKind::Io(_)
                | RunErrorKind::Stopped => return Ok(Some(error.kind)),
                _ => {}
            }
        }
        Ok(None)
    }
}

/// A method with its inputs.
struct RunInputs {
    index: usize,
    method: String,
    /// Names of the inputs and of the outputs.
    inputs: Vec<String>,
    outputs: Vec<String>,
    /// Names of values by path.
    names: HashMap<String, String>,
    /// Inputs of each execution.
    data: Vec<Vec<TestData>>,
}

impl Model {
    /// Returns a test of a method with inputs as of [`Model::run`], without expected outputs, and the name of the
    /// method.
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::run::{RunOptions, RunnerCommand};
    ///
    /// let options = RunOptions::new(RunnerCommand::new("none")).inputs(vec![("x".into(), "1,2,3,4".into())]);
    /// let (method, case) = Model::open("examples/linear.yaml")?.test_case(&options)?;
    /// assert_eq!((&*method, case.inputs.len()), ("forward", 1));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// A source without the method, inputs that do not suit it, those of several executions.
    pub fn test_case(&self, options: &RunOptions) -> Result<(String, TestCase), Error> {
        let RunInputs { method, mut data, .. } = self.run_inputs(&self.side()?, options)?;
        let Tolerance { atol, rtol, .. } = Tolerance::default();
        let inputs = data.pop().unwrap_or_default();
        if !data.is_empty() {
            return Err(Error::input(Code::UnmetRequest, &self.label(), ONE_EXECUTION));
        }
        Ok((method, TestCase { inputs, outputs: None, atol, rtol }))
    }

    fn run_inputs(&self, side: &Side, options: &RunOptions) -> Result<RunInputs, Error> {
        let failed = |message: String| Error::input(Code::UnmetRequest, &self.label(), message);
        let (index, plan) = self::method(side, options.method.as_deref()).map_err(failed)?;
        let method = plan.name.clone().unwrap_or_default();
        let names = model::value_names(side);
        let named = |what: &str, ids: &Option<Vec<ValueId>>| -> Vec<String> {
            let name = |(number, id): (usize, &ValueId)| {
                let path = id.get().map(|value| side.path(index, Part::Value(value)));
                path.and_then(|path| names.get(&path).cloned()).unwrap_or_else(|| format!("{what}{number}"))
            };
            ids.iter().flatten().enumerate().map(name).collect()
        };
        let (inputs, outputs) = (named("input", &plan.inputs), named("output", &plan.outputs));
        let data = self::inputs(plan, &inputs, options, self)?;
        data.iter().try_for_each(|inputs| numeric::check_size(inputs)).map_err(failed)?;
        Ok(RunInputs { index, method, inputs, outputs, names, data })
    }
}

/// What is to be recorded of a method.
struct Taps<'o> {
    wanted: &'o [String],
    /// By value: its name, and whether it is selected.
    names: Vec<(String, bool)>,
    /// Numbers of selected instructions.
    instructions: Vec<usize>,
}

impl<'o> Taps<'o> {
    /// Finds the values and instructions that are selected. `name` returns the name of a value.
    ///
    /// # Errors
    /// A text that selects nothing.
    fn new(
        wanted: &'o [String],
        plan: &ExecutionPlan,
        name: impl Fn(usize) -> Option<String>,
        label: &str,
    ) -> Result<Taps<'o>, Error> {
        let count = plan.instructions().count();
        let name = |value: usize| (name(value).unwrap_or_else(|| format!("values[{value}]")), false);
        let names = (0..plan.values().len()).map(name).collect();
        let mut taps = Taps { wanted, names, instructions: Vec::new() };
        for text in wanted {
            let (pattern, mut is_found) = (Pattern::new(text), false);
            for (_, is_wanted) in taps.names.iter_mut().filter(|(name, _)| pattern.matches(name)) {
                (*is_wanted, is_found) = (true, true);
            }
            match text.parse().ok().filter(|number| *number < count) {
                Some(number) => taps.instructions.push(number),
                None if is_found => {}
                None => {
                    let known = taps
                        .names
                        .iter()
                        .zip(plan.values())
                        .filter(|(_, value)| value.as_tensor().is_some_and(|tensor| !tensor.has_content()));
                    let known = known.map(|((name, _), _)| name.as_str());
                    let known = known.filter(|name| !name.starts_with("values["));
                    let message = format!(
                        "no value `{}` to record, and no instruction of this number; the method has {}, and {}; `--tap '*'` \
                         records all",
                        clipped(text),
                        first_names(known.clone()),
                        counted(count as u64, "instruction")
                    );
                    let unknown: Diagnostic = Code::UnmetRequest.whole(message);
                    return Err(Error::new(Report::new(label, "", vec![unknown.suggest(text, known)])));
                }
            }
        }
        Ok(taps)
    }

    /// Reads the selected values.
    ///
    /// # Errors
    /// A recording of another program, or that cannot be read; one without any of the values.
    fn read(&self, side: &Side, method: usize, trace: Trace<'_>) -> Result<Vec<TappedValue>, String> {
        let is_wanted = |step: usize, value: usize| self.names[value].1 || self.instructions.contains(&step);
        let mut found: Vec<TappedValue> = Vec::new();
        for RecordedStep { step, label, execution, values } in
            pte_diff::recorded_values(side, method, trace, &is_wanted)?
        {
            for (value, data) in values {
                let name = self.names[value].0.clone();
                let value = OutputValue::from_test_data(&data).map_err(|error| error.to_string())?;
                found.push(TappedValue { instruction: step, label: label.clone(), execution, name, value });
            }
        }
        for text in self.wanted {
            let (pattern, number) = (Pattern::new(text), text.parse().ok());
            if !found.iter().any(|tap| pattern.matches(&tap.name) || Some(tap.instruction) == number) {
                let plan = &side.program.plans()[method];
                let value = self.names.iter().position(|(name, _)| name == text);
                let reason = match value.map(|value| (value, &plan.values()[value])) {
                    Some((value, _)) if plan.is_input()[value] => "it is an input",
                    Some((_, EValue::Tensor(tensor))) if tensor.has_content() => "no instruction computes it",
                    _ => {
                        "this execution did not reach it, or it is a result of a move or of an operator of the runtime \
                         itself, which records none"
                    }
                };
                return Err(format!("nothing was recorded for `{}`: {reason}", clipped(text)));
            }
        }
        Ok(found)
    }
}

/// Returns a method and its number: the named one, `forward`, or the only one that computes.
fn method<'s>(side: &'s Side, name: Option<&str>) -> Result<(usize, &'s ExecutionPlan), String> {
    let plans = side.program.plans();
    let found = side.program.method_index(name).map(|index| (index, &plans[index]));
    found.ok_or_else(|| {
        let known = first_names(plans.iter().filter_map(|plan| plan.name.as_deref()));
        match name {
            Some(name) => format!("unknown method `{}`; the program has {known}", clipped(name)),
            None => format!("name a method by `--method`: the program has {known}"),
        }
    })
}

/// Returns the inputs that are given for each execution of a method, as text, by input.
fn texts<'o>(names: &[String], options: &'o RunOptions, model: &Model) -> Result<Vec<Vec<Option<&'o str>>>, Error> {
    let failed = |message: &str| Error::input(Code::UnmetRequest, &model.label(), message);
    let position = |given: &str| {
        let of_name = names.iter().position(|name| name == given);
        of_name.or_else(|| given.parse().ok().filter(|number| *number < names.len()))
    };
    let mut given: BTreeMap<u64, Vec<Option<&str>>> = BTreeMap::from([(1, vec![None; names.len()])]);
    for (name, text) in &options.inputs {
        // A name may contain `#`.
        let numbered = || {
            let (name, number) = name.rsplit_once('#')?;
            Some((position(name)?, number.parse().ok().filter(|number| *number > 0)?))
        };
        let Some((at, execution)) = position(name).map(|at| (at, 1)).or_else(numbered) else {
            let known = first_names(names.iter().map(String::as_str));
            let message = format!("no input `{}`; the method has {known}", clipped(name));
            let unknown: Diagnostic = Code::UnmetRequest.whole(message);
            let unknown = unknown.suggest(name, names.iter().map(String::as_str));
            return Err(Error::new(Report::new(&model.label(), "", vec![unknown])));
        };
        if text.contains(['\n', '\r']) {
            return Err(failed("the value of an input is one line"));
        }
        let texts = given.entry(execution).or_insert_with(|| vec![None; names.len()]);
        if texts[at].replace(text).is_some() {
            let name = clipped(&names[at]);
            let message = format!(
                "input `{name}` of execution {execution} is given twice; that of another execution is `{name}#{}`",
                execution + 1
            );
            return Err(failed(&message));
        }
    }
    let count = given.len() as u64;
    if let Some(execution) = (1..=count).find(|number| !given.contains_key(number)) {
        let name = clipped(&names[0]);
        let message = format!("no input of execution {execution}, as `{name}#{execution}=...`, but of a later one");
        return Err(failed(&message));
    }
    Ok(given.into_values().collect())
}

/// Returns the inputs of each execution of a method: given as text, random, or ones.
fn inputs(
    plan: &ExecutionPlan,
    names: &[String],
    options: &RunOptions,
    model: &Model,
) -> Result<Vec<Vec<TestData>>, Error> {
    let executions = texts(names, options, model)?;
    let failed = |number: usize, message: String| {
        let message = format!("input `{}`: {message}", clipped(&names[number]));
        Error::input(Code::UnmetRequest, &model.label(), message)
    };
    let values: Vec<&EValue> =
        plan.inputs.iter().flatten().map(|id| plan.value(*id).unwrap_or(&EValue::Null)).collect();
    if values.is_empty() {
        return Ok(vec![Vec::new()]);
    }
    let mut yaml = String::from("methods:\n  run:\n    values:\n");
    let mut owns = Vec::new();
    for (number, value) in values.iter().enumerate() {
        // The values have names of their own: those of a file are any text.
        let (declared, own) =
            declared(value).ok_or_else(|| failed(number, format!("a runner cannot set a {}", value.kind())))?;
        let _ = writeln!(yaml, "      input{number}: {declared}");
        owns.push(own);
    }
    let list: Vec<String> = (0..values.len()).map(|number| format!("input{number}")).collect();
    let list = list.join(", ");
    let _ = writeln!(yaml, "    inputs: [{list}]\n    outputs: [{list}]\n    tests:");
    let first = 1 + yaml.lines().count();
    let (mut random, mut kept, mut lines, mut files) = (Vec::new(), Vec::new(), Vec::new(), BTreeMap::new());
    for (execution, texts) in executions.into_iter().enumerate() {
        yaml += "      - inputs:\n";
        lines.push(None);
        for (number, (text, value)) in texts.into_iter().zip(&values).enumerate() {
            let source = match (text, value) {
                (None, _) if execution > 0 => {
                    kept.push((execution, number));
                    Given::Own
                }
                (Some(text), EValue::Tensor(tensor)) => {
                    self::given(text, tensor, number as u64, (options.read_input, &mut files))
                        .map_err(|message| failed(number, message))?
                }
                (Some(text), _) => Given::Yaml(text.to_owned()),
                (None, EValue::Tensor(_)) => {
                    options.random.map_or(Given::Own, |seed| Given::Random(seed.wrapping_add(number as u64)))
                }
                (None, _) => Given::Own,
            };
            let text = match source {
                Given::Yaml(text) => text,
                Given::Own => owns[number].clone(),
                Given::Random(seed) => {
                    let generated = numeric::generated([Some(*value); 2], seed);
                    let generated = generated.map_err(|message| failed(number, message))?;
                    random.push((execution, number, generated));
                    owns[number].clone()
                }
            };
            let _ = writeln!(yaml, "          - {text}");
            lines.push(Some(&*names[number]));
        }
    }
    let mut source = Source::text_of("inputs".to_owned(), yaml.into(), ".".into());
    source.files.planned = Arc::new(files);
    let resolved = Model::new(source).resolve();
    let resolved = resolved.map_err(|error| of_inputs(&error, first, &lines, &model.label()))?;
    let cases = resolved.tests.into_iter().flat_map(|MethodTests { cases, .. }| cases);
    let mut inputs: Vec<Vec<TestData>> = cases.map(|case| case.inputs).collect();
    for (execution, number, input) in random {
        inputs[execution][number] = input;
    }
    for (execution, number) in kept {
        inputs[execution][number] = inputs[execution - 1][number].clone();
    }
    Ok(inputs)
}

/// What an input is to be.
enum Given {
    /// A value in YAML.
    Yaml(String),
    /// The value of the program, or ones.
    Own,
    /// Random numbers of a seed.
    Random(u64),
}

/// Returns the errors about inputs, by the names of the inputs in the lines from `first` on.
fn of_inputs(error: &Error, first: usize, lines: &[Option<&str>], label: &str) -> Error {
    let report = error.report();
    let whole = |diagnostic: &Diagnostic| {
        let line = diagnostic.at.as_ref().map(|span| report.line_column(span.start).0);
        let name = line.and_then(|line| lines.get(line.checked_sub(first)?).copied()).flatten();
        let input = name.map_or_else(String::new, |name| format!("input `{}`: ", clipped(name)));
        // Paths are relative to the folder of the command, and an input is not declared.
        let label = match &*diagnostic.label {
            "" => String::new(),
            label if label.starts_with("paths are") => String::new(),
            label if diagnostic.code == Code::DataType && label.starts_with("declare") => {
                "; YAML converts it: NAME={data: {npy: FILE, dtype: TYPE}} with its element type".to_owned()
            }
            label => format!("; {label}"),
        };
        let mut message = diagnostic.code.whole(format!("{input}{}{label}", diagnostic.message));
        message.help.clone_from(&diagnostic.help);
        message
    };
    match error.io_kind() {
        Some(kind) => {
            let messages: Vec<String> = report.diagnostics.iter().map(|found| whole(found).message).collect();
            Error::io("", "", &io::Error::new(kind, messages.join("; ")))
        }
        None => Error::new(Report::new(label, "", report.diagnostics.iter().map(whole).collect())),
    }
}

/// Returns the declaration of an input in YAML, and its own value in a test; `None` for a kind that a runner cannot
/// Returns the declaration of a tensor in YAML: element type, sizes, and what is not the default.
pub(crate) fn tensor_declaration(tensor: &Tensor) -> String {
    let Tensor { scalar_type, sizes, dim_order, shape_dynamism, .. } = tensor;
    let order = match dim_order.as_ref().filter(|order| !order.is_contiguous()) {
        Some(order) => format!(", dim_order: {:?}", &order[..]),
        None => String::new(),
    };
    let dynamism = match *shape_dynamism {
        TensorShapeDynamism::STATIC => String::new(),
        other => format!(", dynamism: {other}"),
    };
    format!("{{tensor: {scalar_type}, sizes: {:?}{order}{dynamism}}}", sizes.as_deref().unwrap_or_default())
}

/// set.
fn declared(value: &EValue) -> Option<(String, String)> {
    let plain = |text: String| Some((text.clone(), text));
    match value {
        EValue::Null => plain("null".to_owned()),
        EValue::Int(number) => plain(number.to_string()),
        EValue::Bool(truth) => plain(truth.to_string()),
        EValue::Double(number) => {
            let mut text = String::new();
            pte_model::data::number::double(number, &mut text);
            Some((format!("{{double: {text}}}"), text))
        }
        EValue::String(Some(text)) => {
            let text = serde_json::to_string(text).ok()?;
            Some((format!("{{string: {text}}}"), text))
        }
        EValue::Tensor(tensor) => Some((tensor_declaration(tensor), filled(tensor, "1"))),
        EValue::String(None)
        | EValue::IntList(_)
        | EValue::DoubleList(_)
        | EValue::BoolList(_)
        | EValue::TensorList(_)
        | EValue::OptionalTensorList(_)
        | EValue::Unknown(_) => None,
    }
}

/// Returns an input of the largest sizes in YAML, with the same number for all elements.
fn filled(tensor: &Tensor, number: &str) -> String {
    format!("{{sizes: {:?}, data: {{fill: {number}}}}}", tensor.sizes.as_deref().unwrap_or_default())
}

/// Extensions of files after which a suffix may stand.
const SUFFIXED: [&str; 5] = ["safetensors", "npz", "png", "jpg", "jpeg"];

/// Splits the text after `@` into a path and a suffix: the key of a file of tensors, or `resize` of a picture.
///
/// ```
/// use pte_emit::command::file_of;
///
/// assert_eq!(file_of("a.npz:layer:0"), ("a.npz", Some("layer:0")));
/// assert_eq!(file_of("a:b.npy"), ("a:b.npy", None));
/// ```
pub fn file_of(path: &str) -> (&str, Option<&str>) {
    match path.match_indices(':').find(|(at, _)| has_extension(&path[..*at], &SUFFIXED)) {
        Some((at, _)) => (&path[..at], Some(&path[at + 1..])),
        None => (path, None),
    }
}

/// Tests if the name of a file has one of these extensions, in upper or lower case.
pub fn has_extension(path: &str, known: &[&str]) -> bool {
    let extension = Path::new(path).extension();
    extension.is_some_and(|found| known.iter().any(|known| found.eq_ignore_ascii_case(known)))
}

/// Returns a tensor that is given as text: a short form, or YAML.
///
/// # Errors
/// A seed that is no number; a file of several tensors, or one that [`RunOptions::read_input`] rejects. What it reads
/// is added to the files.
fn given(
    text: &str,
    tensor: &Tensor,
    number: u64,
    (read, files): (Option<ReadInput>, &mut BTreeMap<PathBuf, Blob>),
) -> Result<Given, String> {
    let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
    let text = text.trim();
    if let Some(path) = text.strip_prefix('@') {
        if let Some(file) = read.map(|read| read(path, tensor)).transpose()?.flatten() {
            let (kind, content, dtype) = match file {
                InputFile::Npy(content) => ("npy", content, ""),
                InputFile::Float32Npy(content) => ("npy", content, ", dtype: float32"),
                InputFile::Elements(content) => ("file", content, ""),
            };
            // Two inputs can have the same path, but not the same array.
            let of = |name: &str| Path::new(".").join(name);
            let is_taken = files.contains_key(&of(path));
            let name = if is_taken { format!("{path}#{}", files.len()) } else { path.to_owned() };
            files.insert(of(&name), Blob::bytes(content));
            return Ok(Given::Yaml(format!("{{{kind}: {}{dtype}}}", quoted(&name))));
        }
        return Ok(Given::Yaml(match file_of(path) {
            (file, Some(key)) if has_extension(file, &["safetensors"]) => {
                format!("{{safetensors: {}, tensor: {}}}", quoted(file), quoted(key))
            }
            (file, None) if has_extension(file, &["npy"]) => format!("{{npy: {}}}", quoted(file)),
            (file, None) if has_extension(file, &["safetensors"]) => {
                return Err(format!("`{}`: name a tensor of the file, as in @FILE.safetensors:KEY", clipped(text)));
            }
            (file, _) => format!("{{file: {}}}", quoted(file)),
        }));
    }
    if [".npy", ".safetensors"].iter().any(|extension| text.ends_with(extension)) && !text.starts_with('{') {
        return Err(format!("a file is written after `@`, as in `@{}`", clipped(text)));
    }
    match text.strip_prefix("random") {
        Some("") => Ok(Given::Random(number)),
        Some(seed) => match seed.strip_prefix(':').and_then(|seed| seed.parse().ok()) {
            Some(seed) => Ok(Given::Random(seed)),
            None => Err(format!("`{}`: expected random, or random:SEED with a number", clipped(text))),
        },
        None => Ok(Given::Yaml(match text {
            _ if text.starts_with(['[', '{']) => text.to_owned(),
            _ if text.contains(',') => format!("[{text}]"),
            _ => filled(tensor, text),
        })),
    }
}
