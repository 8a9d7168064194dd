//! Functions beside models: `explain`, `ops`, `kernels`, `generate`, `reduce`, `json_schema`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pte_emit::cli::{corpus, explain as explanations, ops as listed};
use pte_emit::generate::{
    Candidate, FileContent, FileTests, ProgramGenerator, Reduced, Stopped, TestRuns, reduce_file,
};
use pte_emit::{
    AssembleOptions, Assembly, Blob, Resolved, check::CheckOptions, inspect::ExplainOptions, plan::LayoutConfig,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{failed, requested};
use crate::model::{Model, json, memory_options, typed, with};
use crate::options::{OneOrMore, Source, choice};
use crate::program::Program;
use crate::run::{Abandoned, attempt, run};

/// Explains errors of ExecuTorch by number or name, lines of its log, rules of `check`, and codes of the assembler; all
/// errors without a text. With `model`, they are searched for what they are about in it: `methods` are the ones that
/// failed; `abi` and `processor` are those of `Model.memory`.
#[pyfunction]
#[pyo3(signature = (texts=OneOrMore::default(), *, model=None, methods=OneOrMore::default(), abi="64", processor=None, with_files=OneOrMore::default()))]
pub fn explain<'py>(
    py: Python<'py>,
    texts: OneOrMore<String>,
    model: Option<Source>,
    methods: OneOrMore<String>,
    abi: &str,
    processor: Option<&str>,
    with_files: OneOrMore<PathBuf>,
) -> PyResult<Bound<'py, PyAny>> {
    if texts.0.iter().any(|text| text == "-") {
        return Err(PyValueError::new_err("\"-\" is no text: pass what was read"));
    }
    let options = ExplainOptions::default().methods(methods.0).memory(memory_options(abi, processor)?);
    let models: Vec<_> = model.iter().map(|model| with(&model.0, &with_files.0)).collect();
    let found = run(py, move |_| explanations::explanations(&texts.0, &models, &options).map(|found| json(&found)))?;
    typed(py, "Explanation", &found.map_err(|failure| failed(py, failure))?)
}

/// Returns the known operators and operations of XNNPACK graphs: the one with this name, else those whose names contain
/// it, or all.
#[pyfunction]
#[pyo3(signature = (name=None))]
pub fn ops<'py>(py: Python<'py>, name: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let found = listed::listed(name.filter(|name| !name.is_empty())).map_err(|failure| failed(py, failure))?;
    typed(py, "Listed", &json(&found))
}

/// Returns the kernels and backends that a build needs for several programs, as a form that builds read: `"list"`, of
/// `EXECUTORCH_SELECT_OPS_LIST`, `"yaml"`, of `EXECUTORCH_SELECT_OPS_YAML`, or `"headers"` by name; by default as a
/// `KernelList`.
#[pyfunction]
#[pyo3(signature = (models, *, form=None))]
pub fn kernels<'py>(py: Python<'py>, models: OneOrMore<Source>, form: Option<&str>) -> PyResult<Bound<'py, PyAny>> {
    let form = form.map(|form| choice("form", form, &[("list", 0), ("yaml", 1), ("headers", 2)])).transpose()?;
    let models: Vec<_> = models.0.into_iter().map(|model| model.0).collect();
    let list = attempt(py, move |_| pte_emit::Model::kernels_of(&models))?;
    let unstated = |error: pte_emit::deploy::KernelError| {
        crate::error::raised(py, &requested(&format!("{}: {error}", list.programs.join(", "))))
    };
    match form {
        None => typed(py, "KernelList", &json(&list)),
        Some(0) => Ok(list.line().map_err(unstated)?.into_pyobject(py)?.into_any()),
        Some(1) => Ok(list.selected_operators().into_pyobject(py)?.into_any()),
        Some(_) => {
            let headers: BTreeMap<_, _> = list.headers().map_err(unstated)?.into_iter().collect();
            Ok(headers.into_pyobject(py)?.into_any())
        }
    }
}

/// Returns random programs, the same for the same seed and version; each has one method with a number of
/// `instructions`, which call operators whose names contain `operators`. Those of `wild` have one call each, most of which violate what
/// the kernel requires.
#[pyfunction]
#[pyo3(signature = (seed=0, *, count=1, operators=None, instructions=8, wild=false))]
pub fn generate(
    py: Python<'_>,
    seed: u64,
    count: u64,
    operators: Option<String>,
    instructions: usize,
    wild: bool,
) -> PyResult<Vec<Program>> {
    let mut generator = if wild { ProgramGenerator::wild(seed) } else { ProgramGenerator::valid(seed, instructions) };
    if operators.as_ref().is_some_and(|part| !generator.retain(|name| name.contains(&**part))) {
        return Err(PyValueError::new_err(format!("operators={operators:?}: no generated operator contains it")));
    }
    let state = move |number| Program::state(Resolved::from(generator.program(number)));
    let states = attempt(py, move |_| (0..count).map(state).collect::<Result<Vec<_>, _>>())?;
    Ok(states.into_iter().map(Program::new).collect())
}

/// Writes files with one defect each, for fuzzers and tests of loaders: `pte/`, `ptd/` and `bpte/` in a folder, and
/// `manifest.json`. `force` replaces other files.
#[pyfunction]
#[pyo3(signature = (folder, *, force=false))]
pub fn generate_corpus(py: Python<'_>, folder: PathBuf, force: bool) -> PyResult<()> {
    run(py, move |_| corpus::run(&folder, force).map(drop))?.map_err(|failure| failed(py, failure))
}

/// Returns the JSON Schema of the YAML.
#[pyfunction]
pub fn json_schema() -> String {
    pte_emit::json_schema()
}

/// Tests of candidates by a function of Python.
struct Tests<'a> {
    model: &'a pte_emit::Model,
    test: &'a Py<PyAny>,
    abandoned: &'a Abandoned,
    must_be_valid: bool,
    runs: TestRuns,
    raised: Option<PyErr>,
}

fn rebuilt(candidate: &Candidate, layout: &LayoutConfig) -> Result<Assembly, pte_emit::Error> {
    let mut resolved = Resolved::from(candidate.program.clone());
    (resolved.tests, resolved.layout) = (candidate.tests.clone(), layout.clone());
    resolved.to_files(&AssembleOptions::default())
}

/// The bytes of the program of an assembly, or else of its first `.ptd`.
fn main_file(assembly: &Assembly) -> Result<Vec<u8>, pte_emit::Error> {
    let file = assembly.program_file().or_else(|| assembly.data_files().next().map(|(_, file)| file));
    let bytes = file.map(|file| file.to_vec()).transpose().map_err(|error| pte_emit::Error::io("", "", &error))?;
    bytes.ok_or_else(|| requested("expected a source with methods or data"))
}

fn is_valid(bytes: &[u8]) -> bool {
    let found = pte_emit::Model::from_binary("candidate", bytes).check(&CheckOptions::default());
    found.is_ok_and(|found| !found.iter().any(|(_, findings)| findings.has_errors()))
}

impl Tests<'_> {
    fn has_defect(&mut self, bytes: &[u8]) -> Result<bool, Stopped> {
        let digest = Blob::bytes(bytes).digest().map_err(|_| Stopped)?;
        let (test, raised) = (self.test, &mut self.raised);
        self.runs.test(digest, |_| {
            Python::attach(|py| test.call1(py, (PyBytes::new(py, bytes),))?.is_truthy(py)).map_err(|error| {
                *raised = Some(error);
                Stopped
            })
        })
    }
}

impl FileTests for Tests<'_> {
    type Layout = LayoutConfig;
    type Error = pte_emit::Error;

    fn test_program(&mut self, candidate: &Candidate, layout: &LayoutConfig) -> Result<bool, Stopped> {
        match rebuilt(candidate, layout).and_then(|assembly| main_file(&assembly)) {
            Ok(bytes) => self.test_bytes(&bytes),
            Err(_) => Ok(false),
        }
    }

    fn test_bytes(&mut self, bytes: &[u8]) -> Result<bool, Stopped> {
        if self.abandoned.is_set() {
            return Err(Stopped);
        }
        if self.must_be_valid && !is_valid(bytes) { Ok(false) } else { self.has_defect(bytes) }
    }

    fn planned_again(&self, candidate: &Candidate, layout: &LayoutConfig) -> Option<(Candidate, LayoutConfig)> {
        let bytes = main_file(&rebuilt(candidate, layout).ok()?).ok()?;
        let resolved = pte_emit::Model::from_binary("candidate", bytes).resolve_for_changes().ok()?;
        Some((Candidate::new(resolved.program, candidate.tests.clone()), resolved.layout))
    }

    fn bytes(&self) -> Result<Vec<u8>, pte_emit::Error> {
        match self.model.is_text() {
            true => main_file(self.model.assembly()?),
            false => self.model.head(self.model.content_size()?),
        }
    }
}

/// Returns a small model for which `test` still returns true, as it does for the bytes of `model`; and whether nothing
/// smaller was found, as opposed to `max_runs` calls of it. If the model is valid, so are the candidates.
///
/// `test` is called with the bytes of a `.pte`, or of the `.ptd` of a source without methods.
#[pyfunction]
#[pyo3(signature = (model, test, *, max_runs=None))]
pub fn reduce(py: Python<'_>, model: Source, test: Py<PyAny>, max_runs: Option<u64>) -> PyResult<(Model, bool)> {
    let model = model.0;
    let done = attempt(py, move |abandoned| {
        let runs = TestRuns::new(0, max_runs);
        let mut tests = Tests { model: &model, test: &test, abandoned, must_be_valid: false, runs, raised: None };
        let original = tests.bytes()?;
        tests.must_be_valid = is_valid(&original);
        let is_first = tests.has_defect(&original);
        if let Some(raised) = tests.raised.take() {
            return Ok(Err(raised));
        }
        if is_first != Ok(true) {
            return Err(requested("test is not true for the bytes of the model"));
        }
        let (mut program, mut layouts) = (None, vec![LayoutConfig::default()]);
        if let Ok(resolved) = model.resolve_for_changes() {
            program = Some(Candidate::new(resolved.program, resolved.tests));
            layouts.push(resolved.layout);
            layouts.dedup();
        }
        let Reduced { best, is_complete, .. } = reduce_file(program, layouts, &mut tests)?;
        if let Some(raised) = tests.raised.take() {
            return Ok(Err(raised));
        }
        let bytes = match best {
            FileContent::Program(candidate, layout) => main_file(&rebuilt(&candidate, &layout)?)?,
            FileContent::Bytes(bytes) => bytes,
        };
        Ok(Ok((bytes, is_complete)))
    })?;
    let (bytes, is_complete) = done?;
    Ok((Model(pte_emit::Model::from_binary("<reduced>", bytes)), is_complete))
}
