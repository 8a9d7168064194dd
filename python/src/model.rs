//! `pte_emit.Model`: an opened source and the questions about it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pte_emit::cli::check;
use pte_emit::cli::exit::Failure;
use pte_emit::cli::findings::{self, FileFindings, FindingsFormat, Level};
use pte_emit::cli::runner;
use pte_emit::program::test_cases::TestData;
use pte_emit::run::{OutputValue, RUNNER_RELEASE, RunOptions, RunnerCommand, TestOptions, TestReport};
use pte_emit::{
    Blob, ComputedKeys, ExtractedFile, Format, Golden, LargeData, PayloadForm, PrintOptions, Reproduction,
    check::{CheckOptions, Profile},
    deploy::{FirmwareOptions, FirmwarePlatform, Section, Symbol},
    diff::{DiffArea, DiffData, DiffOptions, NumericOptions, PayloadSchema},
    inspect::{AnnotateOptions, AnnotatePart, InspectOptions, ReportFormat, ReportOptions, SizeDimension, SizeOptions},
    memory::{Abi, MemoryOptions, Processor},
    payload::PayloadSummary,
    profile::Recording,
    weights::{compare_manifests, parse_manifest},
};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyList, PyTuple};
use serde::Serialize;

use crate::assembly::Assembly;
use crate::buffer::Bytes;
use crate::error::{diagnostics, failed, raised, requested, with_arguments};
use crate::options::{self, OneOrMore, Source, choice, options, release, seconds, word};
use crate::program::Program;
use crate::run::{attempt, run};

/// An opened source: YAML, JSON, a `.pte`, `.ptd`, `.bpte` or `.safetensors`. `pte_emit.open` creates it.
#[pyclass(frozen, module = "pte_emit")]
pub struct Model(pub pte_emit::Model);

/// Opens a source.
///
/// `source` is a path, or bytes: of a file of a binary format, or YAML. Relative paths in YAML are resolved from its
/// folder, or from `folder`; `confine` is the folder outside of which YAML must not read files. `name` is used in
/// messages. `define` has the values of `${NAME}`; `document` is the number of the document, from 1, if the YAML has
/// several. `with_files` are `.ptd` files that the program is loaded with.
///
/// What has the extension of a binary format, as a path or as `name`, is not read as YAML.
#[pyfunction]
#[pyo3(signature = (source, *, name=None, folder=None, define=None, document=None, confine=None, with_files=OneOrMore::default()))]
#[allow(clippy::too_many_arguments)] // They are keywords.
pub fn open(
    py: Python<'_>,
    source: &Bound<'_, PyAny>,
    name: Option<String>,
    folder: Option<PathBuf>,
    define: Option<BTreeMap<String, String>>,
    document: Option<usize>,
    confine: Option<PathBuf>,
    with_files: OneOrMore<PathBuf>,
) -> PyResult<Model> {
    let is_binary =
        |name: &Path| name.extension().and_then(|text| text.to_str()).and_then(Format::of_extension).is_some();
    let opened = match source.extract::<PathBuf>() {
        Ok(path) => {
            if folder.is_some() || name.is_some() {
                return Err(PyTypeError::new_err("name= and folder= are for bytes: a path has its own"));
            }
            attempt(py, move |_| match pte_emit::Model::open(&path)? {
                text if text.is_text() && is_binary(&path) => Ok(pte_emit::Model::open_binary(path)),
                model => Ok(model),
            })?
        }
        Err(_) => {
            let bytes = Bytes::of(source)?.as_ref().to_vec();
            let name = name.unwrap_or_else(|| "<bytes>".to_owned());
            let folder = folder.unwrap_or_else(|| PathBuf::from("."));
            attempt(py, move |_| match pte_emit::Model::from_bytes(&*name, bytes, folder)? {
                text if text.is_text() && is_binary(name.as_ref()) => {
                    let bytes = text.text().unwrap_or_default().as_bytes();
                    Ok(pte_emit::Model::from_binary(name, bytes))
                }
                model => Ok(model),
            })?
        }
    };
    let model = prepared(py, opened, define.unwrap_or_default(), document, confine)?;
    Ok(Model(model.with_data_files(with_files.0)))
}

/// Confines the files of a source, fills its variables, and selects its document.
///
/// # Errors
/// A variable without a definition; several documents, or no document of the number.
pub fn prepared(
    py: Python<'_>,
    model: pte_emit::Model,
    define: BTreeMap<String, String>,
    document: Option<usize>,
    confine: Option<PathBuf>,
) -> PyResult<pte_emit::Model> {
    let model = match confine {
        Some(folder) => model.confined_to(folder),
        None => model,
    };
    if !model.is_text() {
        return Ok(model);
    }
    let documents = attempt(py, move |_| model.documents(&define))?;
    let count = documents.models.len();
    let index = match document {
        None if count == 1 => 0,
        None => {
            return Err(PyValueError::new_err(format!(
                "the YAML has {count} documents: pass document=1 to document={count}"
            )));
        }
        Some(number) if (1..=count).contains(&number) => number - 1,
        Some(number) => return Err(PyIndexError::new_err(format!("document={number}: the YAML has {count}"))),
    };
    documents.models.into_iter().nth(index).ok_or_else(|| PyIndexError::new_err("no such document"))
}

/// A recorded value: number of the instruction, its operator, number of the execution, name, content.
type Tapped<'py> = (usize, String, u64, String, Bound<'py, PyAny>);

/// What [`Model::run`] returns: method, outputs by name, seconds of each execution, recorded values.
type Executed<'py> = (String, Bound<'py, PyDict>, Vec<f64>, Vec<Tapped<'py>>);

/// What a pickled model consists of: bytes, name, folder, whether it is text, `.ptd` files.
type Restored<'py> = (Bound<'py, PyBytes>, String, PathBuf, bool, Vec<PathBuf>);

/// Creates a model of what it was pickled as.
#[pyfunction]
pub fn restored(bytes: &[u8], name: String, folder: PathBuf, is_text: bool, with_files: Vec<PathBuf>) -> Model {
    let model = match is_text {
        true => pte_emit::Model::from_yaml(name, String::from_utf8_lossy(bytes), folder),
        false => pte_emit::Model::from_binary(name, bytes),
    };
    Model(model.with_data_files(with_files))
}

/// Creates an object of a class of `pte_emit.results` from the JSON of a result.
pub fn typed<'py>(py: Python<'py>, class: &str, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("pte_emit._typed")?.call_method1("typed", (class, json))
}

/// JSON of a result. It has no maps whose keys are not strings, so it has one.
pub fn json(result: &impl Serialize) -> String {
    serde_json::to_string(result).unwrap_or_default()
}

const PROFILES: &[(&str, Profile)] = &[
    ("strict", Profile::Strict),
    ("portable", Profile::Portable),
    ("aten", Profile::Aten),
    ("32bit", Profile::Bits32),
    ("legacy", Profile::Legacy),
];

const PARTS: &[(&str, AnnotatePart)] =
    &[("headers", AnnotatePart::Headers), ("program", AnnotatePart::Program), ("segments", AnnotatePart::Segments)];

/// Returns the options of memory.
///
/// # Errors
/// `ValueError` for an unknown name.
pub fn memory_options(abi: &str, processor: Option<&str>) -> PyResult<MemoryOptions> {
    let abi = choice("abi", abi, &[("64", Abi::Bits64), ("arm32", Abi::Arm32)])?;
    let processor = processor.map(|name| word!("processor", name, Processor)).transpose()?;
    Ok(MemoryOptions::default().abi(abi).processor(processor))
}

const DATA: &[(&str, DiffData)] =
    &[("none", DiffData::None), ("hash", DiffData::Hash), ("statistics", DiffData::Statistics)];

const FORMATS: &[(&str, ReportFormat)] =
    &[("html", ReportFormat::Html), ("dot", ReportFormat::Dot), ("model-explorer", ReportFormat::ModelExplorer)];

/// Returns the options of a comparison.
fn diff_options(data: &str, only: Option<&str>, schema: Option<PathBuf>) -> PyResult<DiffOptions> {
    let only = only.map(|name| choice("only", name, &areas())).transpose()?;
    let read = |path: PathBuf| {
        Ok::<_, PyErr>(PayloadSchema { bytes: std::fs::read(&path)?, name: path.display().to_string() })
    };
    let schema = schema.map(read).transpose()?;
    Ok(DiffOptions::default().data(choice("data", data, DATA)?).only(only).schema(schema))
}

fn areas() -> Vec<(&'static str, DiffArea)> {
    DiffArea::ALL.map(|area| (area.name(), area)).to_vec()
}

fn dimensions() -> Vec<(&'static str, SizeDimension)> {
    SizeDimension::ALL.map(|dimension| (dimension.name(), dimension)).to_vec()
}

impl Model {
    /// Asks a question, and returns its answer as an object of a class of `pte_emit.results`.
    fn ask<'py>(
        &self,
        py: Python<'py>,
        class: &str,
        question: impl FnOnce(&pte_emit::Model) -> Result<String, pte_emit::Error> + Send + 'static,
    ) -> PyResult<Bound<'py, PyAny>> {
        let model = self.0.clone();
        typed(py, class, &attempt(py, move |_| question(&model))?)
    }
}

/// An ETDump: a path or bytes.
enum Etdump {
    Path(PathBuf),
    Bytes(Vec<u8>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Etdump {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Etdump> {
        match object.extract() {
            Ok(path) => Ok(Etdump::Path(path)),
            Err(_) => Ok(Etdump::Bytes(Bytes::of(&object)?.as_ref().to_vec())),
        }
    }
}

impl Etdump {
    fn read(&self) -> Result<Recording, pte_emit::Error> {
        match self {
            Etdump::Path(path) => Recording::open(path),
            Etdump::Bytes(bytes) => Recording::from_bytes("<bytes>", bytes),
        }
    }
}

/// Parses an argument.
///
/// # Errors
/// `ValueError` with what is wrong.
pub fn parsed<T, E: std::fmt::Display>(
    text: Option<&str>,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> PyResult<Option<T>> {
    text.map(parse).transpose().map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Returns the model with more `.ptd` files.
pub fn with(model: &pte_emit::Model, files: &[PathBuf]) -> pte_emit::Model {
    let all: Vec<PathBuf> = model.data_files().iter().cloned().chain(files.iter().cloned()).collect();
    model.clone().with_data_files(all)
}

/// Returns an output: an array, a number, a string, or None.
fn output(py: Python<'_>, value: OutputValue) -> PyResult<Bound<'_, PyAny>> {
    Ok(match value {
        OutputValue::Int(number) => number.into_pyobject(py)?.into_any(),
        OutputValue::Double(number) => number.into_pyobject(py)?.into_any(),
        OutputValue::Bool(flag) => PyBool::new(py, flag).to_owned().into_any(),
        OutputValue::String(bytes) => String::from_utf8_lossy(&bytes).into_pyobject(py)?.into_any(),
        OutputValue::Tensor { scalar_type, sizes, dim_order, bytes: Some(bytes) } => {
            let order: Vec<u32> = dim_order.into_iter().map(u32::from).collect();
            let described = (PyBytes::new(py, &bytes), scalar_type.to_string(), sizes, order);
            py.import("pte_emit._arrays")?.call_method1("of_bytes", described)?
        }
        OutputValue::Null | OutputValue::Tensor { bytes: None, .. } | OutputValue::Other(_) => py.None().into_bound(py),
    })
}

/// Returns the path of the runner of a release that `pte-emit runner install` has built, by default of the newest one.
#[pyfunction]
#[pyo3(signature = (release=None))]
pub fn installed_runner(release: Option<&str>) -> Option<PathBuf> {
    Some(runner::runners()?.find(release.unwrap_or(RUNNER_RELEASE))?.path)
}

fn test_options(runner: Vec<OsString>, select: OneOrMore<String>, timeout: f64) -> PyResult<TestOptions> {
    let mut options = TestOptions::new(options::runner(runner)?);
    (options.limits.time, options.tests) = (seconds(timeout)?, select.0);
    Ok(options)
}

/// Runs the tests of a model, and returns what `result` makes of their report.
fn tested<T: Send + 'static>(
    py: Python<'_>,
    model: pte_emit::Model,
    folder: PathBuf,
    mut options: TestOptions,
    result: impl FnOnce(&pte_emit::Model, TestReport) -> Result<T, pte_emit::Error> + Send + 'static,
) -> PyResult<T> {
    attempt(py, move |abandoned| {
        options.limits.stop = abandoned.flag();
        let report = model.run_tests(&folder, &options)?;
        result(&model, report)
    })
}

/// The answer for one of the files of a source.
fn nth<T: Serialize>(answers: Vec<(String, T)>, file: usize) -> Result<String, pte_emit::Error> {
    let count = answers.len();
    let answer = answers.into_iter().nth(file);
    let missing = || {
        requested(&format!("file={file}: the source has {}", pte_emit::command::text::counted(count as u64, "file")))
    };
    answer.map(|(_, answer)| json(&answer)).ok_or_else(missing)
}

#[pymethods]
impl Model {
    /// Name in messages: the path, or the name that was given.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// True for YAML or JSON, false for a file of a binary format.
    #[getter]
    fn is_text(&self) -> bool {
        self.0.is_text()
    }

    /// The YAML or JSON; None for a file of a binary format.
    #[getter]
    fn text(&self) -> Option<&str> {
        self.0.text()
    }

    /// Format by the first bytes: `pte`, `ptd`, `bpte`, `safetensors`; None for YAML and unknown formats.
    #[getter]
    fn format(&self, py: Python<'_>) -> PyResult<Option<&'static str>> {
        let format = self.0.format().map_err(|error| raised(py, &error))?;
        Ok(format.map(pte_emit::Format::extension))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let format = self.format(py).ok().flatten().unwrap_or(if self.0.is_text() { "YAML" } else { "unknown format" });
        Ok(format!("<pte_emit.Model {}: {format}>", self.0.label()))
    }

    /// Validates the files: of a program, all rules of docs/check.md. Defects are findings, not exceptions.
    ///
    /// `profile` is the build of the runtime; `with_files` are `.ptd` files that the program is loaded with; `data`
    /// also validates the elements of constants; `runtime` is a release of ExecuTorch such as `"1.0.1"`, whose answers
    /// to the program are predicted; `target` is a YAML file with what a build links and its memory, or the name of a
    /// ready one; `operators` are custom operators, such as `"my::scale.out self:T factor:f out:T!"`; `limit` is the
    /// number of findings of a rule that are kept.
    #[pyo3(signature = (*, profile="strict", with_files=OneOrMore::default(), data=false, runtime=None, target=None, operators=OneOrMore::default(), limit=20))]
    #[allow(clippy::too_many_arguments)] // They are keywords.
    fn check<'py>(
        &self,
        py: Python<'py>,
        profile: &str,
        with_files: OneOrMore<PathBuf>,
        data: bool,
        runtime: Option<&str>,
        target: Option<PathBuf>,
        operators: OneOrMore<String>,
        limit: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut options = CheckOptions::default().profile(choice("profile", profile, PROFILES)?).data(data).kept(limit);
        let invalid = |error: &dyn std::fmt::Display| PyValueError::new_err(format!("operators: {error}"));
        for line in operators.0 {
            options.operators.add(&line).map_err(|errors| invalid(&errors[0]))?;
        }
        let release = runtime.map(release).transpose()?;
        let model = with(&self.0, &with_files.0);
        let found = run(py, move |_| -> Result<String, Failure> {
            let targets =
                target.map(|path| check::open_target(&path, None)).transpose()?.into_iter().collect::<Vec<_>>();
            if model.is_text() {
                model.assembly()?;
            }
            let validated = pte_emit::command::validation::validate_source(
                &model,
                &options,
                std::slice::from_ref(&release),
                &targets,
            )?;
            let validated = validated.into_iter().flat_map(|(validated, _)| validated);
            let mut files: Vec<FileFindings> = validated.map(|validated| validated.file).collect();
            let version = release.map(|release| release.version().to_string());
            for file in &mut files {
                file.runtime.clone_from(&version);
                let list = file.findings.iter_mut().flat_map(|findings| &mut findings.list);
                list.for_each(|finding| finding.expected = with_arguments(&finding.expected));
            }
            Ok(findings::document(&files, FindingsFormat::Json, Level::Note))
        })?;
        typed(py, "Findings", &found.map_err(|failure| failed(py, failure))?)
    }

    /// Says what a file contains: inputs, outputs, operators, delegates, constants, memory. `data` also looks for data
    /// that are stored twice. YAML with external data assembles to several files: `file` is the index of one.
    #[pyo3(signature = (*, data=false, file=0))]
    fn inspect<'py>(&self, py: Python<'py>, data: bool, file: usize) -> PyResult<Bound<'py, PyAny>> {
        let options = InspectOptions::default().data(data);
        self.ask(py, "Inspection", move |model| nth(model.inspect(&options)?, file))
    }

    /// Says how much of the work is in delegates, by operator: calls, multiply-accumulate operations, and bytes that are
    /// read and written.
    fn delegation<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.ask(py, "Delegation", |model| Ok(json(&model.delegation()?)))
    }

    /// Says how much memory the methods need, and when.
    ///
    /// `abi` is `"64"` or `"arm32"`; `processor` executes delegates: `"x86-avx512"`, `"x86-avx2"`, `"arm64"` or
    /// `"arm32"`; `external` says that the program is loaded with `.ptd` files, which `with_files`
    /// states.
    #[pyo3(signature = (*, abi="64", processor=None, external=false, with_files=OneOrMore::default()))]
    fn memory<'py>(
        &self,
        py: Python<'py>,
        abi: &str,
        processor: Option<&str>,
        external: bool,
        with_files: OneOrMore<PathBuf>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = memory_options(abi, processor)?.external(external);
        self.ask(py, "ProgramMemory", move |model| Ok(json(&with(model, &with_files.0).memory(&options)?)))
    }

    /// Says where the bytes of a file are, as a tree with a level for each dimension: `segment`, `method`, `kind`,
    /// `tensor`.
    #[pyo3(signature = (*, dimensions=None, file=0))]
    fn size<'py>(
        &self,
        py: Python<'py>,
        dimensions: Option<OneOrMore<String>>,
        file: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut options = SizeOptions::default();
        if let Some(names) = dimensions {
            let known = self::dimensions();
            let parse = |name: &String| choice("dimensions", name, &known);
            options.dimensions = names.0.iter().map(parse).collect::<PyResult<_>>()?;
        }
        self.ask(py, "FileSize", move |model| nth(model.size(&options)?, file))
    }

    /// Compares with a newer source. Elements are aligned by names and structure.
    ///
    /// `data` is the extent to which data are compared: `"none"`, `"hash"`, `"statistics"`; `only` is an area:
    /// `"meaning"`, `"layout"`, `"data"`. Payloads of unknown formats are compared by `schema`, the path of a `.bfbs`.
    #[pyo3(signature = (newer, *, data="statistics", only=None, schema=None))]
    fn diff<'py>(
        &self,
        py: Python<'py>,
        newer: Source,
        data: &str,
        only: Option<&str>,
        schema: Option<PathBuf>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = diff_options(data, only, schema)?;
        self.ask(py, "Differences", move |model| Ok(json(&model.diff(&newer.0, &options)?)))
    }

    /// Compares this file, which a test produced, with the golden YAML at `path`, as `diff` does, and returns a report
    /// if they differ: by meaning, then as a diff of the YAML. `bless` writes the YAML in place of that; comments stay.
    #[pyo3(signature = (path, *, bless=false, data="statistics", only=None, schema=None))]
    fn golden(
        &self,
        py: Python<'_>,
        path: PathBuf,
        bless: bool,
        data: &str,
        only: Option<&str>,
        schema: Option<PathBuf>,
    ) -> PyResult<Option<String>> {
        let (model, options) = (self.0.clone(), diff_options(data, only, schema)?);
        attempt(py, move |abandoned| {
            let golden = Golden::open(path)?;
            if !bless {
                return golden.check(&model, &options, false);
            }
            let new = golden.blessed(&model, &options)?.filter(|_| !abandoned.is_set());
            new.map_or(Ok(()), |new| golden.write(&new)).map(|()| None)
        })
    }

    /// Writes a page for a browser: graphs, memory plan, sizes, tables, findings; of `before` and this source if it is
    /// stated.
    ///
    /// `format` is `"html"`, `"dot"` or `"model-explorer"`; `data_statistics` adds those of constants; `etdump` adds
    /// the times of an ETDump, of `methods`.
    #[pyo3(signature = (*, before=None, format="html", data_statistics=false, etdump=None, methods=OneOrMore::default()))]
    fn report<'py>(
        &self,
        py: Python<'py>,
        before: Option<Source>,
        format: &str,
        data_statistics: bool,
        etdump: Option<Etdump>,
        methods: OneOrMore<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut options =
            ReportOptions::default().format(choice("format", format, FORMATS)?).data_statistics(data_statistics);
        let (model, before) = (self.0.clone(), before.map(|before| before.0));
        let text = attempt(py, move |_| {
            options.profile = etdump.map(|dump| model.profile(&dump.read()?, &methods.0)).transpose()?;
            model.report(before.as_ref(), &options)
        })?;
        py.import("pte_emit._typed")?.call_method1("Report", (text, format))
    }

    /// Prints a file as YAML that reproduces it byte for byte; YAML as it is.
    ///
    /// `explicit` states what is inferred; `replan` omits offsets in planned memory, so that assembling plans it again;
    /// `payload` is the form of payloads: `"graph"`, if that reproduces them, or `"opaque"`. Large data of a file are
    /// references to it, unless `inline`.
    #[pyo3(signature = (*, explicit=false, inline=false, replan=false, payload="graph"))]
    fn to_yaml(&self, py: Python<'_>, explicit: bool, inline: bool, replan: bool, payload: &str) -> PyResult<String> {
        let forms = [("graph", PayloadForm::Graph), ("opaque", PayloadForm::Opaque)];
        let mut options = PrintOptions::default().explicit(explicit).payload(choice("payload", payload, &forms)?);
        if let Some(text) = self.0.text() {
            return Ok(text.to_owned());
        }
        if replan {
            options.reproduction = Reproduction::AllButOffsets;
        }
        let path = Path::new(self.0.name());
        if !inline && path.is_file() {
            (options.large_data, options.file) = (LargeData::Refer, self.0.name().to_owned());
        }
        let model = self.0.clone();
        Ok(attempt(py, move |_| model.to_yaml(Path::new(""), &options))?.text)
    }

    /// Returns YAML in the layout of the command `fmt`, with its comments; `computed="omitted"` leaves out keys that
    /// assembling computes, `"stated"` writes types and sizes of all tensors.
    #[pyo3(signature = (*, computed="as-written"))]
    fn formatted(&self, py: Python<'_>, computed: &str) -> PyResult<String> {
        let words = [
            ("as-written", ComputedKeys::AsWritten),
            ("omitted", ComputedKeys::Omitted),
            ("stated", ComputedKeys::Stated),
        ];
        let keys = choice("computed", computed, &words)?;
        let model = self.0.clone();
        attempt(py, move |_| model.formatted(keys))
    }

    /// Explains every byte of a file, as text: of all, of a `range` of bytes, of a `part`: `"headers"`, `"program"` or
    /// `"segments"`.
    #[pyo3(signature = (*, range=None, part=None))]
    fn annotate(&self, py: Python<'_>, range: Option<(u64, u64)>, part: Option<&str>) -> PyResult<String> {
        let part = part.map(|part| choice("part", part, PARTS)).transpose()?;
        let options = AnnotateOptions::default().range(range.map(|(start, end)| start..end)).only(part);
        let model = self.0.clone();
        let text = attempt(py, move |_| {
            let mut out = Vec::new();
            model.annotate(&options, &mut out).map(|()| out)
        })?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Lists the kernels and backends that a build of the runtime needs.
    fn kernels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.ask(py, "KernelList", |model| Ok(json(&model.kernels()?)))
    }

    /// Lists the weights: names, types, sizes, hashes, where they are stored and who uses them.
    #[pyo3(signature = (*, with_files=OneOrMore::default()))]
    fn weights<'py>(&self, py: Python<'py>, with_files: OneOrMore<PathBuf>) -> PyResult<Bound<'py, PyAny>> {
        self.ask(py, "WeightList", move |model| Ok(json(&with(model, &with_files.0).weights()?)))
    }

    /// Returns a hash of each tensor and payload, whatever file it is in.
    #[pyo3(signature = (*, with_files=OneOrMore::default()))]
    fn manifest<'py>(&self, py: Python<'py>, with_files: OneOrMore<PathBuf>) -> PyResult<Bound<'py, PyAny>> {
        self.ask(py, "Manifest", move |model| Ok(json(&with(model, &with_files.0).manifest()?)))
    }

    /// Compares with the JSON of a manifest, which `pte_emit.verify` reads.
    #[pyo3(signature = (manifest, name, *, with_files=OneOrMore::default()))]
    fn _verify<'py>(
        &self,
        py: Python<'py>,
        manifest: String,
        name: String,
        with_files: OneOrMore<PathBuf>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.ask(py, "Verification", move |model| {
            let expected = parse_manifest(&name, &manifest)?;
            let differences = compare_manifests(&expected, &with(model, &with_files.0).manifest()?);
            let (file, entries) = (model.name(), expected.entries.len());
            Ok(json(&serde_json::json!({"file": file, "entries": entries, "differences": differences})))
        })
    }

    /// Returns the metadata by key: values of constant methods, and named data whose keys begin with `metadata.`; of
    /// `keys`, which can be patterns such as `get_*`, or all.
    #[pyo3(signature = (keys=OneOrMore::default()))]
    fn metadata<'py>(&self, py: Python<'py>, keys: OneOrMore<String>) -> PyResult<Bound<'py, PyAny>> {
        let model = self.0.clone();
        let entries = attempt(py, move |_| {
            let resolved = model.resolve()?;
            let entries = if keys.0.is_empty() { resolved.metadata()? } else { resolved.find_metadata(&keys.0)? };
            Ok(json(&entries.iter().map(|entry| (&entry.key, &entry.value)).collect::<Vec<_>>()))
        })?;
        py.import("builtins")?.getattr("dict")?.call1((py.import("json")?.call_method1("loads", (entries,))?,))
    }

    /// Returns the times that an ETDump of the runtime has, by instruction, operator and delegate. Those of a second
    /// one of the same program, `newer`, are compared with them. `methods` are names or patterns.
    #[pyo3(signature = (etdump, newer=None, *, methods=OneOrMore::default()))]
    fn profile<'py>(
        &self,
        py: Python<'py>,
        etdump: Etdump,
        newer: Option<Etdump>,
        methods: OneOrMore<String>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.ask(py, "TimeProfile", move |model| {
            let mut found = model.profile(&etdump.read()?, &methods.0)?;
            if let Some(newer) = newer {
                found.compare(&model.profile(&newer.read()?, &methods.0)?);
            }
            Ok(json(&found))
        })
    }

    /// Generates the files of a firmware project for a platform, such as `"zephyr"`: sizes of memory pools, operators,
    /// the place of the program. Returns a `Firmware`, and the texts of the files by path.
    ///
    /// `methods` are those that the firmware loads; `symbol` and `section` are those of the array; `path` is the path
    /// of the program's file from the folder of the files; `external` says that the program is loaded with `.ptd` files.
    #[pyo3(signature = (platform, *, methods=OneOrMore::default(), symbol=None, section=None, external=false, path=None))]
    #[allow(clippy::too_many_arguments)] // They are keywords.
    fn firmware<'py>(
        &self,
        py: Python<'py>,
        platform: &str,
        methods: OneOrMore<String>,
        symbol: Option<&str>,
        section: Option<&str>,
        external: bool,
        path: Option<String>,
    ) -> PyResult<(Bound<'py, PyAny>, BTreeMap<String, String>)> {
        let mut options = FirmwareOptions::new(word!("platform", platform, FirmwarePlatform)?);
        (options.methods, options.external, options.path) = (methods.0, external, path);
        (options.symbol, options.section) = (parsed(symbol, Symbol::new)?, parsed(section, Section::new)?);
        let model = self.0.clone();
        let firmware = attempt(py, move |_| model.firmware(&options))?;
        let files = firmware.files.iter().map(|file| (file.path.to_string(), file.text.clone())).collect();
        Ok((typed(py, "Firmware", &json(&firmware))?, files))
    }

    /// Runs this program and a newer one on the same inputs in a runner that records values, and compares these.
    /// `pte_emit.compare_runs` has a default for the runner and the folder.
    #[pyo3(signature = (newer, runner, folder, *, methods=OneOrMore::default(), seed=0, generate_inputs=false, inputs=None, random=None, atol=None, rtol=None, timeout=60.0))]
    #[allow(clippy::too_many_arguments)] // They are keywords.
    fn compare_runs<'py>(
        &self,
        py: Python<'py>,
        newer: Source,
        runner: Vec<OsString>,
        folder: PathBuf,
        methods: OneOrMore<String>,
        seed: u64,
        generate_inputs: bool,
        inputs: Option<BTreeMap<String, String>>,
        random: Option<u64>,
        atol: Option<f64>,
        rtol: Option<f64>,
        timeout: f64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut options = NumericOptions::new(options::runner(runner)?);
        options.limits.time = seconds(timeout)?;
        (options.methods, options.seed, options.generate_inputs) = (methods.0, seed, generate_inputs);
        options.tolerance.atol = atol.unwrap_or(options.tolerance.atol);
        options.tolerance.rtol = rtol.unwrap_or(options.tolerance.rtol);
        let given = inputs.is_some() || random.is_some();
        let run = RunOptions::new(options.runner.clone()).random(random);
        let run = run.inputs(inputs.unwrap_or_default().into_iter().collect());
        let model = self.0.clone();
        let found = attempt(py, move |abandoned| {
            options.limits.stop = abandoned.flag();
            let named = if given { std::mem::take(&mut options.methods) } else { Vec::new() };
            let default = (given && named.is_empty()).then_some(None);
            for method in named.into_iter().map(Some).chain(default) {
                let (name, case) = model.test_case(&run.clone().method(method))?;
                options.methods.push(name.clone());
                options.inputs.insert(name, case.inputs);
            }
            model.compare_runs(&newer.0, &options, &folder)
        })?;
        typed(py, "NumericComparison", &json(&found))
    }

    /// Executes a method in a runner, and returns its name, its outputs by name, the seconds of each execution, and the
    /// values of `tap` with instruction, operator, execution and name.
    ///
    /// `pte_emit.run` has a default for the runner and the folder, and takes other values than text as `inputs`.
    #[pyo3(signature = (runner, folder, *, inputs=BTreeMap::new(), method=None, random=None, repeat=1, tap=OneOrMore::default(), etdump=None, timeout=60.0, with_files=OneOrMore::default()))]
    #[allow(clippy::too_many_arguments)] // They are keywords.
    fn run<'py>(
        &self,
        py: Python<'py>,
        runner: Vec<OsString>,
        folder: PathBuf,
        inputs: BTreeMap<String, String>,
        method: Option<String>,
        random: Option<u64>,
        repeat: u64,
        tap: OneOrMore<String>,
        etdump: Option<PathBuf>,
        timeout: f64,
        with_files: OneOrMore<PathBuf>,
    ) -> PyResult<Executed<'py>> {
        let mut options = RunOptions::new(options::runner(runner)?).method(method).inputs(inputs.into_iter().collect());
        options = options.random(random).repeat(repeat).taps(tap.0).etdump(etdump);
        options.limits.time = seconds(timeout)?;
        let model = with(&self.0, &with_files.0);
        let found = attempt(py, move |abandoned| {
            options.limits.stop = abandoned.flag();
            model.run(&options, &folder)
        })?;
        let outputs = PyDict::new(py);
        for (name, value) in found.outputs {
            outputs.set_item(name, output(py, value)?)?;
        }
        let mut taps = Vec::new();
        for tap in found.taps {
            taps.push((tap.instruction, tap.label, tap.execution, tap.name, output(py, tap.value)?));
        }
        Ok((found.method, outputs, found.times.iter().map(Duration::as_secs_f64).collect(), taps))
    }

    /// Returns the program with one more test, whose expected outputs are those of a runner, if there is one.
    ///
    /// `pte_emit.add_test` has a default for the runner and the folder, and takes other values than text as `inputs`.
    #[pyo3(signature = (runner, folder, *, inputs=BTreeMap::new(), method=None, random=None, timeout=60.0, with_files=OneOrMore::default()))]
    #[allow(clippy::too_many_arguments)] // They are keywords.
    fn add_test(
        &self,
        py: Python<'_>,
        runner: Option<Vec<OsString>>,
        folder: PathBuf,
        inputs: BTreeMap<String, String>,
        method: Option<String>,
        random: Option<u64>,
        timeout: f64,
        with_files: OneOrMore<PathBuf>,
    ) -> PyResult<Program> {
        let is_run = runner.is_some();
        let runner = runner.map_or_else(|| Ok(RunnerCommand::new("")), options::runner)?;
        let mut options = RunOptions::new(runner).method(method).inputs(inputs.into_iter().collect()).random(random);
        options.limits.time = seconds(timeout)?;
        let model = with(&self.0, &with_files.0);
        let state = attempt(py, move |abandoned| {
            options.limits.stop = abandoned.flag();
            let (method, mut case) = match is_run {
                true => model.run(&options, &folder)?.to_test_case()?,
                false => model.test_case(&options)?,
            };
            // The files of arrays are removed.
            for input in &mut case.inputs {
                if let TestData::Tensor { data, .. } = input {
                    let bytes = data.to_vec().map_err(|error| pte_emit::Error::io("inputs", "", &error))?;
                    *data = Blob::bytes(bytes);
                }
            }
            Program::state(model.resolve()?.add_test(&method, case))
        })?;
        Ok(Program::new(state))
    }

    /// Runs the tests of YAML or of a `.bpte` in a runner, whose command is a list of words. The files of the program
    /// are written to `folder`.
    ///
    /// `pte_emit.run_tests` has a default for both. `select` are names of tests or methods, `timeout` is in seconds for
    /// each test.
    #[pyo3(signature = (runner, folder, *, select=OneOrMore::default(), timeout=60.0, with_files=OneOrMore::default()))]
    fn run_tests<'py>(
        &self,
        py: Python<'py>,
        runner: Vec<OsString>,
        folder: PathBuf,
        select: OneOrMore<String>,
        timeout: f64,
        with_files: OneOrMore<PathBuf>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = test_options(runner, select, timeout)?;
        let report = tested(py, with(&self.0, &with_files.0), folder, options, |_, report| Ok(json(&report)))?;
        typed(py, "TestReport", &report)
    }

    /// Runs the tests of YAML as `run_tests`, and returns the YAML with the outputs that were found as the expected
    /// ones, and the contents of files with large outputs in `outputs`, by path. `pte_emit.with_outputs` has defaults.
    #[pyo3(signature = (runner, folder, outputs, *, timeout=60.0, with_files=OneOrMore::default()))]
    fn with_outputs<'py>(
        &self,
        py: Python<'py>,
        runner: Vec<OsString>,
        folder: PathBuf,
        outputs: PathBuf,
        timeout: f64,
        with_files: OneOrMore<PathBuf>,
    ) -> PyResult<(String, BTreeMap<PathBuf, Bound<'py, PyBytes>>)> {
        let options = test_options(runner, OneOrMore::default(), timeout)?;
        let (text, files) = tested(py, with(&self.0, &with_files.0), folder, options, move |model, report| {
            let blessed = model.with_outputs(&report, &outputs)?;
            let read = |file: ExtractedFile| Ok((file.path, file.data.to_vec()?));
            let files = blessed.files.into_iter().map(read).collect::<std::io::Result<Vec<_>>>();
            Ok((blessed.text, files.map_err(|error| pte_emit::Error::io(model.name(), "", &error))?))
        })?;
        Ok((text, files.into_iter().map(|(path, bytes)| (path, PyBytes::new(py, &bytes))).collect()))
    }

    /// Lists the payloads of delegates, with a description of each.
    fn payloads<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let model = self.0.clone();
        let list = attempt(py, move |_| {
            let payloads = model.payloads()?;
            payloads.iter().map(|payload| payload.summary(true)).collect::<Result<Vec<PayloadSummary>, _>>()
        })?;
        let items = list.iter().map(|payload| typed(py, "PayloadSummary", &json(payload)));
        PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)
    }

    /// Returns the bytes of a payload: `"METHOD/DELEGATE"`, as `payloads` names it, or with the index of the delegate.
    fn payload<'py>(&self, py: Python<'py>, name: String) -> PyResult<Bound<'py, PyBytes>> {
        let model = self.0.clone();
        let bytes = attempt(py, move |_| {
            let payloads = model.payloads()?;
            let found = payloads
                .iter()
                .find(|payload| payload.path == name || format!("{}/{}", payload.method, payload.index) == name);
            let found = found.ok_or_else(|| {
                let names = pte_emit::command::text::first_names(payloads.iter().map(|payload| &*payload.path));
                let known = if payloads.is_empty() { "no payloads" } else { &names };
                requested(&format!("unknown payload `{name}`: the source has {known}"))
            })?;
            found.data.to_vec().map_err(|error| pte_emit::Error::io(model.name(), "", &error))
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Assembles YAML, or lays out a file again, with these options: those of the layout by name, and `external_data`,
    /// `internal_data`, `max_size`, `prune`, `with_files`.
    #[pyo3(signature = (**layout))]
    fn assemble(&self, py: Python<'_>, layout: Option<&Bound<'_, PyDict>>) -> PyResult<Assembly> {
        let options = options(layout)?;
        let model = self.0.clone().with_options(options);
        let assembled = model.clone();
        attempt(py, move |_| assembled.assembly().map(drop))?;
        Ok(Assembly::of_model(model))
    }

    /// Returns the program as an object that can be changed. Tensors in `with_files` have data, too.
    #[pyo3(signature = (*, with_files=OneOrMore::default()))]
    fn program(&self, py: Python<'_>, with_files: OneOrMore<PathBuf>) -> PyResult<Program> {
        let model = with(&self.0, &with_files.0);
        Program::create(py, move || Program::of_model(&model))
    }

    fn __copy__(&self) -> Model {
        Model(self.0.clone())
    }

    #[pyo3(signature = (_memo, /))]
    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Model {
        self.__copy__()
    }

    /// Pickles the bytes of the source, whose files it does not contain.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Restored<'py>)> {
        let model = self.0.clone();
        let bytes = attempt(py, move |_| model.head(model.content_size()?))?;
        let (name, folder) = (self.0.name().to_owned(), self.0.folder().to_owned());
        let parts = (PyBytes::new(py, &bytes), name, folder, self.0.is_text(), self.0.data_files().to_vec());
        Ok((py.import("pte_emit._pte_emit")?.getattr("restored")?, parts))
    }

    /// Warnings about YAML: a tuple of `pte_emit.Diagnostic`; empty for files.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        if !self.0.is_text() {
            return Ok(PyTuple::empty(py));
        }
        let model = self.0.clone();
        let report = attempt(py, move |_| model.assembly().map(|assembly| assembly.warnings.clone()))?;
        Ok(diagnostics(py, &report)?.to_tuple())
    }
}
