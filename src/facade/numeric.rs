//! [`Model::compare_runs`]: executes two programs on the same inputs, and compares their values.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::assembly::Assembly;
use crate::facade::model::Model;
use crate::facade::profile::{self, Selection};
use crate::facade::source::SourceContent;
use crate::facade::testing;
use pte_diff::{MethodComparison, Side, Trace, TraceError};
use pte_etdump::EtDump;
use pte_model::data::random::Distribution;
use pte_model::data::{Blob, BlobSource, Origin};
use pte_model::diagnostics::Code;
use pte_model::diagnostics::text::{ROW, clipped, clipped_to, counted};
use pte_model::error::Error;
use pte_model::format::Format;
use pte_model::format::scalar_type::Encoding;
use pte_model::program::test_cases::{TestData, Tolerance};
use pte_model::program::{EValue, ExecutionPlan, Tensor, TensorShapeDynamism, nbytes};
use pte_run::{RunError, RunLimits, RunnerCommand, Session};

/// Version of the serialised form.
const VERSION: u32 = 1;

/// Largest size of the generated inputs of a method in bytes: they are sent to the runner as text.
const MAX_INPUTS: u64 = 1 << 28;

pte_model::options! {
    /// Options of [`Model::compare_runs`].
    ///
    /// ```
    /// use pte_emit::diff::NumericOptions;
    /// use pte_emit::run::RunnerCommand;
    ///
    /// let mut options = NumericOptions::new(RunnerCommand::new("./runner"));
    /// options.tolerance.atol = 1e-3;
    /// assert!(!options.generate_inputs);
    /// ```
    #[derive(Debug, Clone)]
    pub struct NumericOptions {
        /// Runner that can record: it accepts `--etdump FILE --debug-buffer FILE`.
        pub runner: RunnerCommand,
        /// Limits of each execution.
        pub limits: RunLimits,
        /// Seed of generated inputs.
        pub seed: u64,
        /// Generate the inputs, even if a program has tests. By default, the inputs are those of the first test of the
        /// method, if there is one.
        pub generate_inputs: bool,
        /// By method: inputs in place of those of its test, or of generated ones.
        pub inputs: BTreeMap<String, Vec<TestData>>,
        /// Methods to execute: names or patterns, in which `*` stands for any characters; all if it is empty.
        pub methods: Vec<String>,
        /// Differences of floating point numbers that count as equal.
        pub tolerance: Tolerance,
    }
}

impl NumericOptions {
    /// Returns the default options with a runner.
    pub fn new(runner: RunnerCommand) -> NumericOptions {
        let (limits, seed, generate_inputs, inputs, methods, tolerance) = Default::default();
        NumericOptions { runner, limits, seed, generate_inputs, inputs, methods, tolerance }
    }
}

/// Differences between what two programs computed from the same inputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NumericComparison {
    /// Version of the serialised form: it grows when a key changes.
    pub version: u32,
    /// All compared values are equal within the tolerance, and both programs have the same methods.
    pub equal: bool,
    /// Absolute tolerance.
    pub atol: f64,
    /// Relative tolerance.
    pub rtol: f64,
    /// Methods of both programs, in the order of A.
    pub methods: Vec<MethodNumerics>,
    /// Names of methods that only A has, and that only B has.
    pub unmatched: [Vec<String>; 2],
}

/// A method of a [`NumericComparison`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodNumerics {
    /// Seed of the inputs; `None` for those of a test, and for given ones.
    pub seed: Option<u64>,
    /// Values that differ.
    #[serde(flatten)]
    pub comparison: MethodComparison,
}

impl Model {
    /// Executes the methods of this program and of another one on the same inputs, and compares the values that the
    /// runner recorded for aligned instructions, and the outputs. Files are written to `folder`, which the caller
    /// creates and removes.
    ///
    /// The result consists of [`NumericComparison`], [`MethodNumerics`],
    /// [`MethodComparison`](crate::diff::MethodComparison),
    /// [`InstructionComparison`](crate::diff::InstructionComparison), [`ValueComparison`](crate::diff::ValueComparison)
    /// and [`DifferingElement`](crate::diff::DifferingElement).
    ///
    /// ```
    /// use pte_emit::run::RunnerCommand;
    /// use pte_emit::diff::{InstructionComparison, MethodComparison, MethodNumerics};
    /// use pte_emit::Model;
    /// use pte_emit::diff::{NumericComparison, NumericOptions};
    /// use pte_emit::diff::{DifferingElement, ValueComparison};
    ///
    /// // A runner that answers as for examples/linear.yaml, and has a recording of it.
    /// let script = "echo program ok; while read command rest; do case $command in
    ///     load|input|execute) echo $command ok;;
    ///     outputs) echo outputs 1; echo output 0 tensor 6 1,3 0,1 60f1b63e00000000346c0a3e;; esac; done
    ///     cp crates/pte-etdump/tests/recorded/linear.etdump $2; cp crates/pte-etdump/tests/recorded/linear.values $4";
    /// let options = NumericOptions::new(RunnerCommand::new("sh").with_arguments(["-c", script, "sh"]));
    ///
    /// let linear = Model::open("examples/linear.yaml")?;
    /// let folder = tempfile::tempdir()?;
    /// let found: NumericComparison = linear.compare_runs(&linear, &options, folder.path())?;
    /// let forward: &MethodNumerics = &found.methods[0];
    /// let values: &MethodComparison = &forward.comparison;
    /// assert!(found.equal && values.compared == 3);
    /// let first: Option<&InstructionComparison> = values.differences.first();
    /// assert_eq!(first, None);
    /// let y: &ValueComparison = &values.outputs[0];
    /// let element: Option<&DifferingElement> = y.first.as_ref();
    /// assert!(y.is_equal() && element.is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A program that cannot be read, methods that take other inputs, a runner that fails or does not record.
    pub fn compare_runs(
        &self,
        newer: &Model,
        options: &NumericOptions,
        folder: &Path,
    ) -> Result<NumericComparison, Error> {
        let sides = [self.side()?, newer.side()?];
        let programs = [Executable::new(self, folder, "a")?, Executable::new(newer, folder, "b")?];
        let selection = Selection::new(&options.methods);
        let names = [&sides[0], &sides[1]].map(|side| method_names(side, &selection));
        if names.iter().all(Vec::is_empty) {
            let label = format!("{} and {}", self.label(), newer.label());
            let what = if options.methods.is_empty() { "a method" } else { "a method with the selected name" };
            return Err(Error::input(
                Code::UnexpectedInput,
                &label,
                format!("expected {what} in one of both programs"),
            ));
        }
        let only = |side: usize| {
            let others = &names[1 - side];
            names[side]
                .iter()
                .filter(|name| !others.contains(name))
                .map(|name| (*name).to_owned())
                .collect::<Vec<String>>()
        };
        let unmatched = [only(0), only(1)];
        let mut methods = Vec::new();
        for name in names[0].iter().filter(|name| names[1].contains(name)) {
            let pair = MethodPair { name, sides: &sides, programs: &programs, options };
            methods.push(pair.compare(methods.len())?);
        }
        let Tolerance { atol, rtol } = options.tolerance;
        let equal = methods.iter().all(|method| method.comparison.equal) && unmatched.iter().all(Vec::is_empty);
        Ok(NumericComparison { version: VERSION, equal, atol, rtol, methods, unmatched })
    }
}

impl Model {
    /// Compares the runs of this program and of an assembly of it that was changed, as [`Model::compare_runs`].
    ///
    /// ```
    /// use pte_emit::Model;
    /// use pte_emit::diff::NumericOptions;
    /// use pte_emit::run::RunnerCommand;
    ///
    /// let script = "echo program ok; while read command rest; do case $command in
    ///     load|input|execute) echo $command ok;;
    ///     outputs) echo outputs 1; echo output 0 tensor 6 1,3 0,1 60f1b63e00000000346c0a3e;; esac; done
    ///     cp crates/pte-etdump/tests/recorded/linear.etdump $2; cp crates/pte-etdump/tests/recorded/linear.values $4";
    /// let options = NumericOptions::new(RunnerCommand::new("sh").with_arguments(["-c", script, "sh"]));
    ///
    /// let linear = Model::open("examples/linear.yaml")?;
    /// let folder = tempfile::tempdir()?;
    /// assert!(linear.compare_assembly(linear.assembly()?, &options, folder.path())?.equal);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Model::compare_runs`]; an assembly without a program.
    pub fn compare_assembly(
        &self,
        changed: &Assembly,
        options: &NumericOptions,
        folder: &Path,
    ) -> Result<NumericComparison, Error> {
        let path = folder.join("changed.pte");
        let expected = || Error::input(Code::UnexpectedInput, &self.label(), "expected a program");
        let unwritable =
            |error: std::io::Error| Error::io(&self.label(), "cannot write the program for the runner", &error);
        let data = testing::write_files(changed, &path).ok_or_else(expected)?.map_err(unwritable)?;
        let changed = Model::open_binary(&path).with_data_files(data.iter().chain(self.data_files()));
        self.compare_runs(&changed, options, folder)
    }
}

/// Returns the names of the selected methods of a side, each once.
fn method_names<'s>(side: &'s Side, selection: &Selection) -> Vec<&'s str> {
    let mut found: Vec<&str> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for name in side.program.plans().iter().filter_map(|plan| plan.name.as_deref()) {
        if selection.has(name) && seen.insert(name) {
            found.push(name);
        }
    }
    found
}

/// The files of a program.
pub(crate) struct Executable<'m> {
    model: &'m Model,
    pub(crate) program: PathBuf,
    pub(crate) data: Vec<PathBuf>,
    /// Path of files that are written for it, without extension.
    stem: PathBuf,
}

impl<'m> Executable<'m> {
    /// Writes the files of a model to a folder, unless they are files.
    pub(crate) fn new(model: &'m Model, folder: &Path, stem: &str) -> Result<Executable<'m>, Error> {
        let stem = folder.join(stem);
        let mut executable = Executable { model, program: stem.with_extension("pte"), data: Vec::new(), stem };
        match &model.source().content {
            SourceContent::Text(_) => {
                let data = testing::write_files(model.assembly()?, &executable.program);
                executable.data = data
                    .ok_or_else(|| executable.expected_program())?
                    .map_err(|error| executable.unwritable(&error))?;
            }
            SourceContent::Binary(origin) => match (model.format()?, origin) {
                (Some(Format::BundledProgram), _) => {
                    let program = model.bundled_program()?;
                    executable.write(&executable.program, |file| program.copy_to(file))?;
                }
                (Some(Format::FlatTensor | Format::Safetensors), _) => return Err(executable.expected_program()),
                (Some(Format::Program) | None, Origin::File(path)) => executable.program = path.to_path_buf(),
                (Some(Format::Program) | None, origin) => {
                    let size = origin.len().map_err(|error| model.source().unreadable(&error))?;
                    let blob = origin.blob(0, size, size).unwrap_or_else(|| Blob::bytes([]));
                    executable.write(&executable.program, |file| blob.copy_to(file))?;
                }
            },
        }
        // A name that begins with `-` is not an option of the runner.
        let absolute =
            |path: &Path| std::path::absolute(path).map_err(|error| Error::io(&path.display().to_string(), "", &error));
        executable.data.extend(model.source().data_files.iter().cloned());
        executable.program = absolute(&executable.program)?;
        executable.data = executable.data.iter().map(|path| absolute(path)).collect::<Result<_, _>>()?;
        Ok(executable)
    }

    fn expected_program(&self) -> Error {
        Error::input(
            Code::UnexpectedInput,
            self.model.name(),
            "expected a program: a .pte or .bpte file, or YAML with methods",
        )
    }

    fn write(&self, path: &Path, write: impl FnOnce(&mut File) -> std::io::Result<()>) -> Result<(), Error> {
        let written = File::create(path).and_then(|mut file| write(&mut file));
        written.map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &std::io::Error) -> Error {
        Error::io(self.model.name(), "cannot write the program for the runner", error)
    }

    /// Returns an error about an execution.
    pub(crate) fn failed(&self, method: &str, message: impl std::fmt::Display) -> Error {
        Error::input(Code::UnmetRequest, &self.model.label(), format!("method `{}`: {message}", clipped(method)))
    }

    /// Executes a method, and returns the recording of the runner.
    fn run(
        &self,
        (method, plan): (&str, Option<&ExecutionPlan>),
        inputs: &[TestData],
        options: &NumericOptions,
        number: usize,
    ) -> Result<Recorded, Error> {
        let [events, values] = ["etdump", "values"].map(|kind| self.stem.with_extension(format!("{number}.{kind}")));
        let runner = recording(&options.runner, [("--etdump", Some(&*events)), ("--debug-buffer", Some(&*values))]);
        let limits = testing::with_outputs(&options.limits, plan.map_or(0, testing::output_bytes));
        let run = || {
            let mut session = Session::start(&runner, &self.program, &self.data, &limits)?;
            session.load(method)?;
            let outputs = session.run(inputs)?;
            session.finish()?;
            Ok(outputs)
        };
        let outputs = run().map_err(|error: RunError| {
            let other = || self.failed(method, explained(&error) + &testing::without_data(self.model, &self.data));
            self.does_not_record(method, &error, &options.runner, &limits).unwrap_or_else(other)
        })?;
        let (dump, values) = self.recording((method, plan), &events, &values)?;
        let outputs = outputs.iter().map(pte_run::OutputValue::to_test_data).collect();
        Ok(Recorded { dump, values, outputs })
    }

    /// Returns the error about a runner that loads the program only without the options for recording: one that knows
    /// no options takes the first one for the program.
    pub(crate) fn does_not_record(
        &self,
        method: &str,
        error: &RunError,
        runner: &RunnerCommand,
        limits: &RunLimits,
    ) -> Option<Error> {
        let loads = error.step == pte_run::START && Session::start(runner, &self.program, &self.data, limits).is_ok();
        let message =
            || format!("{DOES_NOT_RECORD}: without these options it loads the program, with them {error}; {HINT}");
        loads.then(|| self.failed(method, message()))
    }

    /// Reads the events and the values that the runner recorded.
    pub(crate) fn recording(
        &self,
        (method, plan): (&str, Option<&ExecutionPlan>),
        events: &Path,
        values: &Path,
    ) -> Result<(EtDump, Blob), Error> {
        if !events.is_file() || !values.is_file() {
            return Err(self.failed(method, format!("{DOES_NOT_RECORD}: it ignores these options; {HINT}")));
        }
        let unreadable = |error: std::io::Error| self.failed(method, format!("the files of the runner: {error}"));
        let dump = EtDump::read(&profile::read(events).map_err(unreadable)?);
        let dump = dump.map_err(|error| {
            let reason = if has_unrecordable(plan) { UNRECORDABLE } else { "" };
            self.failed(method, format!("the runner wrote no valid ETDump: {error}{reason}"))
        })?;
        let origin = Origin::File(values.into());
        let size = origin.len().map_err(unreadable)?;
        Ok((dump, origin.blob(0, size, size).unwrap_or_else(|| Blob::bytes([]))))
    }
}

/// Returns the command of a runner that records to files, for each option that has one.
pub(crate) fn recording(runner: &RunnerCommand, files: [(&str, Option<&Path>); 2]) -> RunnerCommand {
    let files = files.into_iter().filter_map(|(option, path)| Some([option.into(), path?.as_os_str().to_owned()]));
    runner.clone().with_arguments(files.flatten())
}

/// Begins the error about a runner without the optional part of the protocol.
const DOES_NOT_RECORD: &str = "the runner does not record values (`--etdump FILE --debug-buffer FILE`)";

/// Says what records.
const HINT: &str =
    "use one that records, such as `python3 -m pte_emit.runner`, or add the recording that docs/runners.md describes";

/// Says why an ETDump may be malformed.
const UNRECORDABLE: &str = "; ExecuTorch's recorder breaks it for values of types that ETDump does not have, such as float16: docs/runners.md \
                            has a runner that records them";

/// Returns true if a method has tensors of an element type that ETDump has no encoding for.
fn has_unrecordable(plan: Option<&ExecutionPlan>) -> bool {
    plan.is_some_and(|plan| plan.tensors().any(|(_, tensor)| !pte_etdump::is_recordable(tensor.scalar_type)))
}

/// Formats a failure of the runner with the end of its log.
fn explained(error: &RunError) -> String {
    let log = error.log.last().map(|line| format!("; its log ends with `{}`", clipped_to(line, ROW)));
    format!("{error}{}", log.unwrap_or_default())
}

/// Values that the runner recorded during an execution.
struct Recorded {
    dump: EtDump,
    values: Blob,
    outputs: Vec<Option<TestData>>,
}

/// A method of both programs.
struct MethodPair<'p, 'm> {
    name: &'p str,
    sides: &'p [Side; 2],
    programs: &'p [Executable<'m>; 2],
    options: &'p NumericOptions,
}

impl MethodPair<'_, '_> {
    fn compare(&self, number: usize) -> Result<MethodNumerics, Error> {
        let (inputs, seed) = self.inputs()?;
        let run =
            |side: usize| self.programs[side].run((self.name, self.method(side).1), &inputs, self.options, number);
        let recorded = [run(0)?, run(1)?];
        let traces = recorded.each_ref().map(|recorded| Trace {
            dump: &recorded.dump,
            values: &recorded.values,
            outputs: &recorded.outputs,
        });
        let methods = [0, 1].map(|side| self.method(side).0);
        let found = pte_diff::compare_traces([&self.sides[0], &self.sides[1]], methods, traces, self.options.tolerance);
        let comparison =
            found.map_err(|TraceError { side, message, .. }| self.programs[side].failed(self.name, message))?;
        Ok(MethodNumerics { seed, comparison })
    }

    /// Returns the method of a side, and its index. Both sides have it.
    fn method(&self, side: usize) -> (usize, Option<&ExecutionPlan>) {
        let program = &self.sides[side].program;
        program.method_index(Some(self.name)).map_or((0, None), |index| (index, program.plans().get(index)))
    }

    /// Returns the inputs: those of a test, or generated ones and their seed.
    fn inputs(&self) -> Result<(Vec<TestData>, Option<u64>), Error> {
        if let Some(inputs) = self.options.inputs.get(self.name) {
            return Ok((inputs.clone(), None));
        }
        let tests = self.sides.iter().flat_map(|side| side.tests.iter().flatten());
        let test = tests.filter(|tests| tests.method == self.name).find_map(|tests| tests.cases.first());
        if let Some(test) = test.filter(|_| !self.options.generate_inputs) {
            return Ok((test.inputs.clone(), None));
        }
        let seed = self.options.seed;
        let plans = [self.method(0).1, self.method(1).1];
        let lists = plans.map(|plan| plan.and_then(|plan| plan.inputs.as_deref()).unwrap_or_default());
        let other = |message: String| self.programs[1].failed(self.name, message);
        if lists[0].len() != lists[1].len() {
            let [left, right] = lists.map(|list| counted(list.len() as u64, "input"));
            return Err(other(format!("{right}, but {left} in {}", self.programs[0].model.label())));
        }
        let mut inputs = Vec::new();
        for (index, (left, right)) in lists[0].iter().zip(lists[1]).enumerate() {
            let values = [(plans[0], left), (plans[1], right)].map(|(plan, id)| plan.and_then(|plan| plan.value(*id)));
            let input = generated(values, seed.wrapping_add(index as u64));
            inputs.push(input.map_err(|message| other(format!("input {index}: {message}")))?);
        }
        check_size(&inputs).map_err(|message| other(format!("{message}; a test can have smaller ones")))?;
        Ok((inputs, Some(seed)))
    }
}

/// Checks the size of inputs: a file of a few bytes may have any.
pub(crate) fn check_size(inputs: &[TestData]) -> Result<(), String> {
    let bytes = inputs.iter().map(|input| if let TestData::Tensor { data, .. } = input { data.len() } else { 0 });
    let size = bytes.fold(0, u64::saturating_add);
    match size > MAX_INPUTS {
        true => Err(format!("inputs of {size} bytes, expected at most {MAX_INPUTS}")),
        false => Ok(()),
    }
}

/// Generates an input that both methods take, which may be the same one.
pub(crate) fn generated(values: [Option<&EValue>; 2], seed: u64) -> Result<TestData, String> {
    match values {
        [Some(EValue::Tensor(left)), Some(EValue::Tensor(right))] => tensor([left, right], seed),
        [Some(left), Some(right)] if left == right => match left {
            EValue::Null => Ok(TestData::Null),
            // The runtime rejects other numbers than those of the program.
            EValue::Int(number) => Ok(TestData::Int(*number)),
            EValue::Bool(truth) => Ok(TestData::Bool(*truth)),
            EValue::Double(number) => Ok(TestData::Double(*number)),
            EValue::String(Some(text)) => Ok(TestData::String(text.clone())),
            EValue::Tensor(_)
            | EValue::String(None)
            | EValue::IntList(_)
            | EValue::DoubleList(_)
            | EValue::BoolList(_)
            | EValue::TensorList(_)
            | EValue::OptionalTensorList(_)
            | EValue::Unknown(_) => Err(format!("a runner cannot set an input of kind {}", left.kind())),
        },
        [left, right] => {
            let [left, right] = [left, right].map(|value| value.map_or("absent", EValue::kind));
            Err(format!("both programs must take the same: {left} in A, {right} in B"))
        }
    }
}

fn tensor(tensors: [&Tensor; 2], seed: u64) -> Result<TestData, String> {
    let [left, right] = tensors;
    let kind = |tensor: &Tensor| format!("{} {:?}", tensor.scalar_type, tensor.sizes.as_deref().unwrap_or_default());
    let differ = || format!("both programs must take the same: {} in A, {} in B", kind(left), kind(right));
    if left.scalar_type != right.scalar_type || left.dim_order != right.dim_order {
        return Err(differ());
    }
    let sizes = tensors.map(|tensor| tensor.sizes.as_deref().unwrap_or_default());
    if sizes[0].len() != sizes[1].len() {
        return Err(differ());
    }
    // A dynamic size is an upper bound.
    let is_dynamic = |tensor: &Tensor| tensor.shape_dynamism != TensorShapeDynamism::STATIC;
    let size = |(left_size, right_size): (&i32, &i32)| match left_size.cmp(right_size) {
        std::cmp::Ordering::Less if !is_dynamic(right) => Err(differ()),
        std::cmp::Ordering::Greater if !is_dynamic(left) => Err(differ()),
        _ => Ok(*left_size.min(right_size)),
    };
    let sizes: Vec<i32> = sizes[0].iter().zip(sizes[1]).map(size).collect::<Result<_, _>>()?;
    let scalar_type = left.scalar_type;
    let info = scalar_type.info().ok_or_else(|| format!("unknown element type {}", scalar_type.0))?;
    let bytes = nbytes(scalar_type, &sizes).ok_or_else(|| format!("a tensor of sizes {sizes:?}"))?;
    let distribution = match info.encoding {
        Encoding::Float(_) | Encoding::Complex(_) => Distribution::Normal { mean: 0.0, std: 1.0 },
        // Integers may be indices: 0 and 1 are in the range of almost all.
        Encoding::Unsigned | Encoding::Signed | Encoding::Bool | Encoding::Opaque => {
            Distribution::Integers { low: 0, high: 2 }
        }
    };
    let dim_order = left.dim_order.clone().unwrap_or_default();
    Ok(TestData::Tensor {
        scalar_type,
        sizes,
        dim_order,
        data: Blob::new(bytes, BlobSource::Random { scalar_type, seed, distribution }),
    })
}
