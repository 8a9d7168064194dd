//! `pte_emit.Program`: a program as an object that can be read, changed and written. Its parts are in `elements`.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pte_emit::program::test_cases::MethodTests;
use pte_emit::program::{ExecutionPlan, Program as Content};
use pte_emit::{AssembleOptions, MethodBuilder as Builder, Resolved, plan::LayoutConfig};
use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyTuple};

use crate::assembly::{Assembly, save};
use crate::builder::MethodBuilder;
use crate::elements::Method;
use crate::error::requested;
use crate::model::Model;
use crate::options::options;
use crate::run::attempt;

/// A program that can be changed: its methods, with their values, instructions, tensors and delegates.
///
/// `Model.program` reads one, `Program.build` and the functions that edit programs create one.
#[pyclass(frozen, module = "pte_emit")]
pub struct Program(Mutex<State>);

/// What a program consists of. Blobs are shared by copies.
#[derive(Clone)]
pub struct State {
    /// The program.
    pub content: Content,
    /// Names of values by method and index; may be shorter.
    pub names: Vec<Vec<Option<String>>>,
    tests: Vec<MethodTests>,
    name: Option<String>,
    layout: LayoutConfig,
}

impl State {
    /// Returns a method.
    ///
    /// # Errors
    /// `IndexError` without one: a program has at most as many methods as when it was read.
    pub fn plan(&self, method: usize) -> PyResult<&ExecutionPlan> {
        self.content.plans().get(method).ok_or_else(|| gone("method"))
    }

    /// Returns a method for a change.
    ///
    /// # Errors
    /// As [`State::plan`].
    pub fn plan_mut(&mut self, method: usize) -> PyResult<&mut ExecutionPlan> {
        let plans = self.content.execution_plan.iter_mut().flatten();
        plans.into_iter().nth(method).ok_or_else(|| gone("method"))
    }

    fn assembly(self, options: &AssembleOptions) -> Result<pte_emit::Assembly, pte_emit::Error> {
        let mut resolved = Resolved::from(self.content);
        (resolved.tests, resolved.name, resolved.layout) = (self.tests, self.name, self.layout);
        resolved.to_files(options)
    }
}

/// Items of an attribute as a tuple: a list would be a copy, whose changes are lost.
pub struct Items<T>(pub Vec<T>);

impl<'py, T: IntoPyObject<'py>> IntoPyObject<'py> for Items<T> {
    type Target = PyTuple;
    type Output = Bound<'py, PyTuple>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0)
    }
}

/// Returns a dictionary of an attribute as a mapping that cannot be changed, for the same reason.
pub fn read_only<'py>(dict: Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
    dict.py().import("types")?.getattr("MappingProxyType")?.call1((dict,))
}

/// The error that the program has no such part.
pub fn gone(part: &str) -> PyErr {
    pyo3::exceptions::PyIndexError::new_err(format!("the program has no such {part}"))
}

impl Program {
    /// Creates a program.
    pub fn new(state: State) -> Program {
        Program(Mutex::new(state))
    }

    /// Creates a program without the global lock.
    ///
    /// # Errors
    /// Those of `state`.
    pub fn create(
        py: Python<'_>,
        state: impl FnOnce() -> Result<State, pte_emit::Error> + Send + 'static,
    ) -> PyResult<Program> {
        attempt(py, move |_| state()).map(Program::new)
    }

    /// The state of a resolved source.
    pub fn state(resolved: Resolved) -> State {
        let Resolved { program: content, tests, name, layout, .. } = resolved;
        State { content, names: Vec::new(), tests, name, layout }
    }

    /// Reads a source for a change that plans memory again.
    ///
    /// # Errors
    /// It cannot be read; YAML with `raw:`, which the changed program would lose.
    pub fn resolve(model: &pte_emit::Model) -> Result<Resolved, pte_emit::Error> {
        if model.is_text() {
            // An edit that removes nothing rejects `raw:`.
            model.resolve()?.strip(&[])?;
        }
        model.resolve_for_changes()
    }

    /// Reads the program of a source.
    ///
    /// # Errors
    /// Those of [`Program::resolve`].
    pub fn of_model(model: &pte_emit::Model) -> Result<State, pte_emit::Error> {
        if !model.is_text() {
            return Ok(Program::state(model.resolve()?));
        }
        let mut state = Program::state(Program::resolve(model)?);
        let assembly = model.assembly()?;
        let name = |method: usize, value: usize| assembly.value_name(method, value).map(str::to_owned);
        let names = |(method, plan): (usize, &ExecutionPlan)| {
            (0..plan.values().len()).map(|value| name(method, value)).collect::<Vec<_>>()
        };
        state.names = state.content.plans().iter().enumerate().map(names).collect();
        Ok(state)
    }

    /// Locks the state for a short time, in which no Python code runs.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn assembly(&self, py: Python<'_>, layout: Option<&Bound<'_, PyDict>>) -> PyResult<pte_emit::Assembly> {
        let (options, state) = (options(layout)?, self.lock().clone());
        attempt(py, move |_| state.assembly(&options))
    }
}

#[pymethods]
impl Program {
    /// Builds a program of methods. A builder can be used once.
    #[staticmethod]
    #[pyo3(signature = (*methods))]
    fn build(py: Python<'_>, methods: &Bound<'_, PyTuple>) -> PyResult<Program> {
        let builders: Vec<PyRef<'_, MethodBuilder>> = methods
            .iter()
            .map(|method| {
                method.extract::<PyRef<'_, MethodBuilder>>().map_err(|_| {
                    PyTypeError::new_err(format!("expected pte_emit.MethodBuilder, found {}", method.get_type()))
                })
            })
            .collect::<PyResult<_>>()?;
        let methods: Vec<Builder> = builders.iter().map(|builder| builder.take()).collect::<PyResult<_>>()?;
        Program::create(py, move || Ok(Program::state(Resolved::from_methods(methods)?)))
    }

    /// The methods.
    #[getter]
    fn methods(this: PyRef<'_, Self>) -> Items<Method> {
        let count = this.lock().content.plans().len();
        let program: Py<Program> = this.into();
        let py_clone = |index| Python::attach(|py| Method::new(program.clone_ref(py), index));
        Items((0..count).map(py_clone).collect())
    }

    fn __len__(&self) -> usize {
        self.lock().content.plans().len()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.lock().content.plans().iter().any(|plan| plan.name.as_deref() == Some(name))
    }

    /// The names of the methods, in order, as those of a dictionary.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let names = self.lock().content.plans().iter().map(|plan| plan.name.clone().unwrap_or_default()).collect();
        Items::<String>(names).into_pyobject(py)?.try_iter()
    }

    /// Returns the method with this name.
    fn __getitem__(this: PyRef<'_, Self>, name: &str) -> PyResult<Method> {
        let index = this.lock().content.plans().iter().position(|plan| plan.name.as_deref() == Some(name));
        let index = index.ok_or_else(|| PyKeyError::new_err(name.to_owned()))?;
        Ok(Method::new(this.into(), index))
    }

    /// Number of tests, which a `.bpte` has.
    #[getter]
    fn test_count(&self) -> usize {
        self.lock().tests.iter().map(|tests| tests.cases.len()).sum()
    }

    /// Plans the program, and returns its files. The options are those of `Model.assemble`.
    #[pyo3(signature = (**layout))]
    fn assemble(&self, py: Python<'_>, layout: Option<&Bound<'_, PyDict>>) -> PyResult<Assembly> {
        self.assembly(py, layout).map(Assembly::own)
    }

    /// Returns the bytes of the `.pte`.
    #[pyo3(signature = (**layout))]
    fn to_bytes<'py>(&self, py: Python<'py>, layout: Option<&Bound<'py, PyDict>>) -> PyResult<Bound<'py, PyBytes>> {
        let (options, state) = (options(layout)?, self.lock().clone());
        let bytes = attempt(py, move |_| program_bytes(state, &options))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Writes the program in the format of the extension of `path` (.pte, .bpte), and its `.ptd` files beside it.
    /// Returns the paths.
    #[pyo3(signature = (path, **layout))]
    fn write(&self, py: Python<'_>, path: PathBuf, layout: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<PathBuf>> {
        save(py, Arc::new(self.assembly(py, layout)?), path)
    }

    /// Returns the program as a model, which answers questions. Later changes of the program do not change the model.
    fn model(&self, py: Python<'_>) -> PyResult<Model> {
        let state = self.lock().clone();
        let name = state.name.clone().unwrap_or_else(|| "<program>".to_owned());
        let bytes = attempt(py, move |_| program_bytes(state, &AssembleOptions::default()))?;
        Ok(Model(pte_emit::Model::from_binary(name, bytes)))
    }

    fn __repr__(&self) -> String {
        let state = self.lock();
        let names = state.content.plans().iter().map(|plan| plan.name.as_deref().unwrap_or("(no name)"));
        format!("<pte_emit.Program: {}>", pte_emit::command::text::first_names(names))
    }
}

/// Assembles a program into the bytes of a `.pte`.
fn program_bytes(state: State, options: &AssembleOptions) -> Result<Vec<u8>, pte_emit::Error> {
    let assembly = state.assembly(options)?;
    let file = assembly.program_file().ok_or_else(|| requested("the program has no methods: write a .ptd"))?;
    file.to_vec().map_err(|error| pte_emit::Error::io("", "", &error))
}
