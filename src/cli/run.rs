//! `pte-emit run FILE`: executes a method in the runtime, and prints its outputs.
//!
//! `test` executes tests, `diff --numeric` compares two programs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use pte_emit::command::TensorStatistics;
use pte_emit::command::text::{clipped, counted, escaped};
use pte_emit::diff::NumericOptions;
use pte_emit::profile::Recording;
use pte_emit::program::test_cases::{TestData, Tolerance};
use pte_emit::run::{OutputValue, ReadInput, RunOptions, RunOutputs, TappedValue};
use pte_emit::{Code, Error, Model};
use serde::Serialize;
use serde_json::Value;

use super::arrays::{self, ArrayFormat};
use super::destination::Destination;
use super::diff::numeric::{self, tolerance};
use super::exit::{Exit, Failure};
use super::interrupt;
use super::io::{self, Messages, STREAM};
use super::json;
use super::options::{ForceArguments, FormatArguments, LimitArguments, TextOrJson};
use super::outputs::{Outputs, Replaced};
use super::paint::{HEADING, Paint};
use super::profile;
use super::runner::{self, ETDUMP, RunnerArguments};
use super::sources::{SourceArguments, Sources};
use super::stdout;
use super::test;

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// With --compare: the program to compare with
    #[arg(value_name = "OTHER", requires = "compare")]
    other: Option<PathBuf>,
    #[command(flatten)]
    inputs: InputArguments,
    /// Method; by default forward, or the only one that computes; may be repeated
    #[arg(long, value_name = "METHOD")]
    method: Vec<String>,
    /// Execute FILE and OTHER with the same inputs, and compare what instructions compute, as `diff --numeric`; exit
    /// with status 1 if outputs or other values differ
    #[arg(long, requires = "other", conflicts_with_all = [
        "repeat", "all", "tap", "save_outputs", "expected", "times", "save_etdump",
    ])]
    compare: bool,
    /// Execute the loaded method several times, with the same inputs, and print the time of each; state is kept
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    repeat: Option<u64>,
    /// Print all elements, not only the first ones
    #[arg(long)]
    all: bool,
    /// Record and print a value that an instruction computes: its name in `dump`, a pattern in which * stands for any
    /// characters, or the number of the instruction from 0; may be repeated. The program is unchanged
    #[arg(long, value_name = "NAME|NUMBER")]
    tap: Vec<String>,
    /// Write the outputs that are tensors or numbers as a .safetensors or .npz, by name, and the values of --tap; or a
    /// single output as an .npy
    #[arg(long, value_name = "FILE")]
    save_outputs: Option<PathBuf>,
    /// Compare the outputs with the tensors of a .safetensors, .npz, .npy or .ptd that have their names; exit with
    /// status 1 if they differ
    #[arg(long, alias = "expect", value_name = "FILE")]
    expected: Option<PathBuf>,
    /// Absolute difference of floating point numbers that count as equal [default: 1e-6]
    #[arg(long, value_name = "NUMBER", value_parser = tolerance)]
    atol: Option<f64>,
    /// Difference relative to the expected number, which is added to --atol [default: 1e-5]
    #[arg(long, value_name = "NUMBER", value_parser = tolerance)]
    rtol: Option<f64>,
    /// Print the time by instruction, operator and delegate, in tables of --limit rows
    #[arg(long)]
    times: bool,
    /// Write the ETDump of the executions, for `profile`
    #[arg(long, value_name = "FILE")]
    save_etdump: Option<PathBuf>,
    #[command(flatten)]
    replace: ForceArguments,
    #[command(flatten)]
    limit: LimitArguments,
    #[command(flatten)]
    runner: RunnerArguments,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
    #[command(flatten)]
    sources: SourceArguments,
}

/// Arguments of the inputs of a method.
#[derive(Debug, Args)]
pub struct InputArguments {
    /// Input by its name in `dump`, or its number from 0: numbers (1,2,3, or nested as in YAML), @FILE.npy,
    /// @FILE.npz:NAME, @FILE.safetensors:KEY, @PICTURE.png, @- for standard input, random, random:SEED, or one number
    /// for all elements; may be repeated. Others are ones. NAME#2 is the input of a second execution, and so on
    #[arg(short = 'i', long = "input", value_name = "NAME=VALUE", value_parser = assignment)]
    values: Vec<(String, String)>,
    /// Random numbers of a seed for the inputs that are not given, in place of ones
    #[arg(long, value_name = "SEED", num_args = 0..=1, default_missing_value = "0")]
    random: Option<u64>,
}

impl InputArguments {
    /// Sets the inputs of the executions of each of `methods` methods, for a command that reads `files`, too.
    ///
    /// # Errors
    /// Standard input would be read several times.
    pub fn set(&self, options: RunOptions, files: &[&Path], methods: usize) -> Result<RunOptions, Failure> {
        let is_stream = |text: &str| text.trim().strip_prefix('@') == Some(STREAM);
        let streams = self.values.iter().filter(|(_, text)| is_stream(text)).count() * methods.max(1);
        if streams > 0 && streams + files.iter().filter(|file| file.as_os_str() == STREAM).count() > 1 {
            return Err(Failure::usage("standard input can be read only once"));
        }
        let read: ReadInput = arrays::read_input;
        Ok(options.inputs(self.values.clone()).random(self.random).read_input(read))
    }
}

/// Elements of an output that are printed.
const SHOWN: usize = 24;

/// Parses `NAME=VALUE`.
fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !value.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE, such as x=1,2,3 or x=@x.npy".into()),
    }
}

impl RunArguments {
    fn tolerance(&self) -> Tolerance {
        let mut allowed = Tolerance::default();
        allowed.atol = self.atol.unwrap_or(allowed.atol);
        allowed.rtol = self.rtol.unwrap_or(allowed.rtol);
        allowed
    }
}

/// Runs the command.
///
/// # Errors
/// No runner, inputs that do not suit the method, a run that fails, files that cannot be written.
pub fn run(arguments: &RunArguments, messages: &Messages) -> Result<Exit, Failure> {
    let sources = Sources::checked(&arguments.sources)?;
    let model = sources.open_one(&arguments.input, |found| format!("expected one document, found {found}"))?;
    let other = arguments
        .other
        .as_ref()
        .map(|path| sources.open_one(path, |found| format!("expected one document, found {found}")));
    sources.warn_unused(messages);
    let options = RunOptions::new(arguments.runner.command()?).limits(arguments.runner.limits());
    let files = [Some(&arguments.input), arguments.other.as_ref(), arguments.expected.as_ref()];
    let files: Vec<&Path> = files.into_iter().flatten().map(PathBuf::as_path).collect();
    let options = arguments.inputs.set(options, &files, arguments.method.len())?;
    if let Some(other) = other {
        return compare(arguments, &options, [&model, &other?]);
    }
    if arguments.times && arguments.format.is_json() {
        return Err(Failure::usage("`run --json` has no times by instruction; `profile --run --json` prints them"));
    }
    if arguments.expected.is_none() && (arguments.atol.is_some() || arguments.rtol.is_some()) {
        return Err(Failure::usage("`--atol` and `--rtol` are for `--expected` and `--compare`"));
    }
    if let Some(path) = arguments.save_outputs.as_ref().filter(|path| ArrayFormat::of(path).is_none()) {
        let found = escaped(&path.display().to_string()).into_owned();
        return Err(Failure::Usage(format!(
            "outputs are written as a .safetensors, .npz or .npy, found `{found}`; `--json` prints them"
        )));
    }
    let files = [&arguments.save_outputs, &arguments.expected, &arguments.save_etdump];
    if arguments.method.len() > 1 && files.into_iter().any(Option::is_some) {
        return Err(Failure::usage("a file has the values of one method, found several times `--method`"));
    }
    let options = options.taps(arguments.tap.clone()).repeat(arguments.repeat.unwrap_or(1));
    let read = [Some(&arguments.input), arguments.expected.as_ref()].into_iter().flatten();
    let read = read.map(PathBuf::as_path);
    let destination = Destination { inputs: read.collect(), ..Destination::default() };
    let targets = [&arguments.save_outputs, &arguments.save_etdump].into_iter().flatten().map(PathBuf::as_path);
    destination.check_targets(targets.clone(), options.input_files())?;
    for target in targets {
        arguments.sources.check_output(target, std::iter::empty(), [&model].into_iter())?;
    }
    if arguments.method.len() > 1 && arguments.format.is_json() {
        return Err(Failure::usage("JSON is one document, of one method; found several times `--method`"));
    }
    interrupt::defer();
    let (mut exit, mut out) = (Exit::Ok, String::new());
    let named = arguments.method.iter().cloned().map(Some);
    for method in named.chain(arguments.method.is_empty().then_some(None)) {
        let found = run_method(arguments, &model, &options.clone().method(method), messages, &mut out);
        if interrupt::is_requested() {
            return Ok(Exit::Interrupted);
        }
        // What was computed is printed, also if it cannot be written.
        stdout::write("", |to| to.write_all(out.as_bytes()))?;
        out.clear();
        exit = exit.max(found?);
    }
    Ok(exit)
}

/// Executes methods of two programs, and prints how their values differ.
fn compare(arguments: &RunArguments, run: &RunOptions, models: [&Model; 2]) -> Result<Exit, Failure> {
    let mut options = NumericOptions::new(run.runner.clone()).limits(run.limits.clone());
    options.tolerance = arguments.tolerance();
    let named = arguments.method.iter().cloned().map(Some);
    for method in named.chain(arguments.method.is_empty().then_some(None)) {
        let (name, case) = models[0].test_case(&run.clone().method(method))?;
        options.methods.push(name.clone());
        options.inputs.insert(name, case.inputs);
    }
    numeric::compare(models, &options, arguments.format.is_json(), usize::MAX)
}

/// Executes a method, writes and compares its outputs, and prints them to `out`.
fn run_method(
    arguments: &RunArguments,
    model: &Model,
    options: &RunOptions,
    messages: &Messages,
    out: &mut String,
) -> Result<Exit, Failure> {
    let folder = runner::folder()?;
    let etdump = (arguments.times || arguments.save_etdump.is_some()).then(|| folder.path().join("etdump"));
    let found = model.run(&options.clone().etdump(etdump.clone()), folder.path())?;
    *out += &match arguments.format.is_json() {
        true => json::text(&RunDocument::new(&found, arguments.repeat.is_some())),
        false => text(&found, arguments, messages.paint()),
    };
    let etdump = etdump.as_deref().map(runner::etdump).transpose()?;
    if let Some(bytes) = etdump.as_ref().filter(|_| arguments.times) {
        *out += &profile::tables(model, &Recording::from_bytes(ETDUMP, bytes)?, &found.method, arguments.limit.rows())?;
    }
    let expected = arguments.expected.as_deref();
    let exit =
        expected.map_or(Ok(Exit::Ok), |file| compare_with_file(&found, file, arguments.tolerance(), messages))?;
    let mut outputs = Outputs::new("", arguments.replace.force);
    for (_, input) in &found.inputs {
        if let TestData::Tensor { data, .. } = input {
            let mut files = Vec::new();
            data.each_file(&mut |path| files.push(path));
            for target in [&arguments.save_outputs, &arguments.save_etdump].into_iter().flatten() {
                io::check_output(target, files.iter().copied()).map_err(Failure::Usage)?;
            }
        }
    }
    if let Some((path, format)) = arguments.save_outputs.as_ref().and_then(|path| Some((path, ArrayFormat::of(path)?)))
    {
        let written = found.tensors().and_then(|tensors| format.write(&tensors));
        let written = written.map_err(|error| Failure::writing(&path.display().to_string(), &error))?;
        write(&mut outputs, path, &written)?;
    }
    if let Some((path, bytes)) = arguments.save_etdump.as_deref().zip(etdump.as_ref()) {
        write(&mut outputs, path, bytes)?;
    }
    outputs.commit()?;
    Ok(exit)
}

/// Compares the outputs with those in a file, and says how they differ.
fn compare_with_file(
    found: &RunOutputs,
    file: &Path,
    tolerance: Tolerance,
    messages: &Messages,
) -> Result<Exit, Failure> {
    let name = file.display().to_string();
    let (names, compared) = found.compare(&name, &arrays::open(file)?, tolerance)?;
    let largest = compared.max_error.map_or_else(String::new, |error| format!("; largest difference {error:.3e}"));
    let Some(difference) = &compared.difference else {
        let Tolerance { atol, rtol, .. } = tolerance;
        let outputs = counted(compared.outputs as u64, "output");
        messages.summary(&format!("{name}: {outputs} as expected within {atol:e} + {rtol:e} relative{largest}\n"));
        return Ok(Exit::Ok);
    };
    let output = difference.output.and_then(|output| names.get(output)).map_or(String::new(), |name| clipped(name));
    let message = format!("`{output}`: {}{largest}", test::difference_text(difference));
    messages.report(Error::input(Code::UnmetRequest, &name, message).report());
    Ok(Exit::Input)
}

fn write(outputs: &mut Outputs, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    outputs.write(path, Replaced::Binary, bytes.len() as u64, &|_| (), |out| out.write_all(bytes))
}

/// Formats the outputs: name, kind, statistics, and the first elements.
fn text(found: &RunOutputs, arguments: &RunArguments, paint: Paint) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", paint.text(HEADING, &format!("method {}", clipped(&found.method))));
    if arguments.repeat.is_some() {
        let mut times: Vec<f64> = found.times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
        let first = times.first().copied().unwrap_or_default();
        times.sort_by(f64::total_cmp);
        let middle =
            [times.len().saturating_sub(1) / 2, times.len() / 2].map(|at| times.get(at).copied().unwrap_or_default());
        let median = (middle[0] + middle[1]) / 2.0;
        let least = times.first().copied().unwrap_or_default();
        let count = counted(times.len() as u64, "execution");
        let _ = writeln!(out, "  {count}: first {first:.3} ms, least {least:.3} ms, median {median:.3} ms");
    }
    let limit = if arguments.all { usize::MAX } else { SHOWN };
    for tap in &found.taps {
        let execution = if tap.execution == 0 { String::new() } else { format!(" (execution {})", tap.execution) };
        let label = format!("[{}] {}{execution} -> {}", tap.instruction, clipped(&tap.label), clipped(&tap.name));
        write_value(&label, &tap.value, limit, &mut out);
    }
    for (number, outputs) in found.earlier.iter().chain([&found.outputs]).enumerate() {
        if !found.earlier.is_empty() {
            let _ = writeln!(out, "  execution {}", number + 1);
        }
        outputs.iter().for_each(|(name, value)| write_value(&clipped(name), value, limit, &mut out));
    }
    out
}

/// Writes kind, statistics, and the first elements of a value.
fn write_value(label: &str, value: &OutputValue, limit: usize, out: &mut String) {
    match value.to_test_data() {
        Some(TestData::Tensor { scalar_type, sizes, data, .. }) => {
            let statistics = TensorStatistics::read(&data, scalar_type).ok().flatten();
            let statistics = statistics.map_or_else(String::new, |found| statistics_text(&found));
            let _ = writeln!(out, "  {label}: {scalar_type} {sizes:?}{statistics}");
            let Some(elements) = value.elements(limit) else { return };
            let is_whole = elements.len() as u64 == sizes.iter().map(|size| *size as u64).product::<u64>();
            let _ = writeln!(out, "    [{}{}]", elements.join(", "), if is_whole { "" } else { ", ..." });
        }
        Some(data) => _ = writeln!(out, "  {label}: {}", scalar(&data)),
        None => _ = writeln!(out, "  {label}: a value that the runner cannot print"),
    }
}

fn statistics_text(found: &TensorStatistics) -> String {
    let mut text = String::new();
    if let (Some(minimum), Some(maximum), Some(mean)) = (found.minimum, found.maximum, found.mean) {
        let [minimum, maximum, mean] = [minimum, maximum, mean].map(six_digits);
        let _ = write!(text, ", {minimum} to {maximum}, mean {mean}");
    }
    if found.not_finite > 0 {
        let _ = write!(text, ", {} not finite", found.not_finite);
    }
    text
}

/// Formats a number with six significant digits.
fn six_digits(number: f64) -> String {
    let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
    match rounded == 0.0 || (1e-4..1e16).contains(&rounded.abs()) {
        true => rounded.to_string(),
        false => format!("{rounded:e}"),
    }
}

fn scalar(data: &TestData) -> String {
    match data {
        TestData::Null => "null".to_owned(),
        TestData::Int(number) => number.to_string(),
        TestData::Double(number) => format!("{number:?}"),
        TestData::Bool(truth) => truth.to_string(),
        TestData::String(text) => format!("\"{}\"", escaped(text)),
        TestData::Tensor { .. } => String::new(),
    }
}

/// Outputs as a document.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunDocument {
    /// Name of the method.
    method: String,
    /// Outputs of the last execution, in order.
    outputs: Vec<OutputDocument>,
    /// Outputs of the executions before it that have inputs of their own (`NAME#2`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    earlier: Vec<Vec<OutputDocument>>,
    /// Values of `--tap`, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    taps: Vec<TapDocument>,
    /// Seconds of each execution, with `--repeat`.
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<Vec<f64>>,
}

/// A recorded value.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct TapDocument {
    /// Number of the instruction that computed it among those of all chains, from 0.
    instruction: usize,
    /// Operator or delegate.
    label: String,
    /// Number of the execution of the instruction, from 0.
    execution: u64,
    #[serde(flatten)]
    value: OutputDocument,
}

/// An output or a recorded value.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct OutputDocument {
    /// Name.
    name: String,
    /// Element type of a tensor.
    #[serde(skip_serializing_if = "Option::is_none")]
    tensor: Option<String>,
    /// Size of each dimension of a tensor.
    #[serde(skip_serializing_if = "Option::is_none")]
    sizes: Option<Vec<i32>>,
    /// Dimensions of a tensor from the outermost in memory to the innermost, if they are not in the order of the sizes.
    #[serde(skip_serializing_if = "Option::is_none")]
    dim_order: Option<Vec<u8>>,
    /// Elements in the order of memory, or the value alone. Numbers that JSON does not have are strings: `.nan`.
    data: Vec<Value>,
}

/// Returns a number in YAML as JSON.
fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}

impl RunDocument {
    fn new(found: &RunOutputs, with_times: bool) -> RunDocument {
        let output = |(name, value): (&String, &OutputValue)| {
            let (mut tensor, mut shape, mut order, mut data) = (None, None, None, Vec::new());
            match value.to_test_data() {
                Some(TestData::Tensor { scalar_type, sizes, dim_order, .. }) => {
                    order = (!dim_order.is_sorted()).then(|| dim_order.to_vec());
                    (tensor, shape) = (Some(scalar_type.to_string()), Some(sizes));
                    data = value.elements(usize::MAX).unwrap_or_default().iter().map(|text| json_of(text)).collect();
                }
                Some(TestData::String(text)) => data.push(text.into()),
                Some(found) => data.push(json_of(&scalar(&found))),
                None => {}
            }
            OutputDocument { name: name.clone(), tensor, sizes: shape, dim_order: order, data }
        };
        let times = with_times.then(|| found.times.iter().map(std::time::Duration::as_secs_f64).collect());
        let outputs =
            |found: &[(String, OutputValue)]| found.iter().map(|(name, value)| output((name, value))).collect();
        let earlier = found.earlier.iter().map(|found| outputs(found)).collect();
        let tap = |tap: &TappedValue| {
            let TappedValue { instruction, label, execution, name, value, .. } = tap;
            let value = output((name, value));
            TapDocument { instruction: *instruction, label: label.clone(), execution: *execution, value }
        };
        let (method, outputs) = (found.method.clone(), outputs(&found.outputs));
        RunDocument { method, outputs, earlier, taps: found.taps.iter().map(tap).collect(), times }
    }
}
