//! `pte_emit.Program`: a program as an object that can be read, changed and written. Its parts are in `elements`.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pte_emit::program::test_cases::MethodTests;
use pte_emit::program::{
    EValue, ExecutionPlan, Instruction, Operator, OperatorId, Program as Content, Tensor, TensorData, ValueId,
};
use pte_emit::{AssembleOptions, Blob, MethodBuilder as Builder, Resolved, plan::LayoutConfig};
use pyo3::exceptions::{PyIndexError, PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyTuple};

use crate::assembly::{Assembly, save};
use crate::builder::MethodBuilder;
use crate::error::requested;
use crate::method::Method;
use crate::model::Model;
use crate::options::options;
use crate::run::attempt;

/// A program that can be changed: its methods, with their values, instructions, tensors and delegates.
///
/// `Model.program` reads one, `Program.build` and the functions that edit programs create one.
#[pyclass(frozen, module = "pte_emit")]
pub struct Program(Mutex<State>);

/// A program that its parts refer to. It is equal to itself only.
pub struct Owner(pub Py<Program>);

impl Owner {
    /// Returns the program.
    pub fn get(&self) -> &Program {
        self.0.get()
    }

    /// Returns another reference to the program.
    pub fn clone_ref(&self, py: Python<'_>) -> Owner {
        Owner(self.0.clone_ref(py))
    }
}

impl PartialEq for Owner {
    fn eq(&self, other: &Owner) -> bool {
        self.0.is(&other.0)
    }
}

impl Hash for Owner {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ptr().hash(state);
    }
}

/// What a program consists of. Blobs are shared by copies.
#[derive(Clone)]
pub struct State {
    /// The program.
    pub content: Content,
    names: Names,
    /// `.ptd` files that the program is loaded with.
    data_files: Vec<PathBuf>,
    /// Their data by key.
    given: Arc<HashMap<String, Blob>>,
    tests: Vec<MethodTests>,
    name: Option<String>,
    layout: LayoutConfig,
    /// Values and instructions that were replaced, in this order.
    replaced: Vec<(Place, Part)>,
}

/// A part of a list of a method.
#[derive(Clone)]
pub enum Part {
    /// An input or output.
    Id(ValueId),
    /// A value.
    Value(EValue),
    /// An instruction.
    Call(Instruction),
}

/// Method, chain of an instruction, and index.
pub type Place = (usize, Option<usize>, usize);

/// Number of replacements in a program before an object was made, which refers to what was at its place then. It does
/// not distinguish objects.
#[derive(Clone, Copy)]
pub struct Since(usize);

impl PartialEq for Since {
    fn eq(&self, _: &Since) -> bool {
        true
    }
}

impl Hash for Since {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

type ValueNames = Vec<Vec<Option<String>>>;

/// Names of values by method and index; may be shorter.
#[derive(Clone)]
enum Names {
    Stated(ValueNames),
    /// Those that the file is printed with, which are found when a name is needed.
    Printed(pte_emit::Model, Option<ValueNames>),
}

impl State {
    /// Finds the names.
    fn load_names(&mut self) -> &mut ValueNames {
        match &mut self.names {
            Names::Stated(names) => names,
            Names::Printed(model, names) => names.get_or_insert_with(|| model.value_names().unwrap_or_default()),
        }
    }

    /// Returns the names of the values of a method.
    pub fn names_mut(&mut self, method: usize) -> Option<&mut Vec<Option<String>>> {
        self.load_names().get_mut(method)
    }

    /// Returns the fully qualified name of a tensor, or the name in YAML, if the names are loaded.
    pub fn name(&self, method: usize, value: usize) -> Option<&str> {
        let tensor = self.content.plans().get(method)?.values().get(value)?.as_tensor();
        let known = || match &self.names {
            Names::Stated(names) | Names::Printed(_, Some(names)) => names.get(method)?.get(value)?.as_deref(),
            Names::Printed(_, None) => None,
        };
        tensor.and_then(Tensor::name).or_else(known)
    }

    /// Returns the time for an object that is made now.
    pub fn now(&self) -> Since {
        Since(self.replaced.len())
    }

    /// Records a part that another one replaces now.
    pub fn replaced(&mut self, place: Place, part: Part) {
        self.replaced.push((place, part));
    }

    /// Returns the part that was replaced at a place after a time.
    pub fn before(&self, place: Place, since: Since) -> Option<&Part> {
        self.replaced.iter().skip(since.0).find(|(other, _)| *other == place).map(|(_, part)| part)
    }

    /// Fails if the part of an object was replaced: it is read, but not changed.
    ///
    /// # Errors
    /// `ValueError`.
    pub fn check_kept(&self, place: Place, since: Since) -> PyResult<()> {
        match self.before(place, since) {
            Some(_) => {
                Err(PyValueError::new_err("the object was replaced by another one: read it from its list again"))
            }
            None => Ok(()),
        }
    }

    /// Returns the data of a tensor: in the program, or in a `.ptd` that was given.
    pub fn data(&self, tensor: &Tensor) -> Option<&Blob> {
        match tensor.data {
            TensorData::Blob(blob) => self.content.blobs.get(blob.0 as usize),
            TensorData::None | TensorData::Elsewhere(_) => self.given.get(tensor.name()?),
        }
    }

    /// Returns the index of an operator of a method, which is added if it is new.
    ///
    /// # Errors
    /// There are too many.
    pub fn operator(&mut self, method: usize, name: &str) -> PyResult<OperatorId> {
        let operators = self.plan_mut(method)?.operators.get_or_insert_default();
        let known = operators.iter().position(|operator| operator.full_name().as_deref() == Some(name));
        let index = known.unwrap_or(operators.len());
        if known.is_none() {
            operators.push(Operator::new(name));
        }
        i32::try_from(index).map(OperatorId).map_err(|_| PyValueError::new_err("too many operators"))
    }

    /// Drops the tests of a method.
    pub fn drop_tests(&mut self, method: Option<&str>) {
        self.tests.retain(|tests| Some(&*tests.method) != method);
    }

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
        let mut resolved = Resolved::from(self.content).with_data_files(self.data_files);
        if let Names::Stated(names) = self.names {
            resolved = resolved.with_value_names(names);
        }
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
    ///
    /// # Errors
    /// A `.ptd` file of it cannot be read.
    pub fn state(resolved: Resolved) -> Result<State, pte_emit::Error> {
        let names = |(method, plan): (usize, &ExecutionPlan)| {
            (0..plan.values().len()).map(|value| resolved.value_name(method, value).map(str::to_owned)).collect()
        };
        let names = Names::Stated(resolved.program.plans().iter().enumerate().map(names).collect());
        let (data_files, mut given) = (resolved.data_files().to_vec(), HashMap::new());
        for path in &data_files {
            let entries = pte_emit::Model::open(path)?.resolve()?.program;
            for entry in &entries.external_data {
                given.entry(entry.key.clone()).or_insert_with(|| entries.blob(entry.data).clone());
            }
        }
        let (given, Resolved { program: content, tests, name, layout, .. }) = (Arc::new(given), resolved);
        Ok(State { content, names, data_files, given, tests, name, layout, replaced: Vec::new() })
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
        if model.is_text() {
            return Program::state(Program::resolve(model)?);
        }
        let mut state = Program::state(model.resolve()?)?;
        state.names = Names::Printed(model.clone(), None);
        Ok(state)
    }

    /// Locks the state for a short time, in which no Python code runs.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the state with the names of values.
    pub fn lock_with_names(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.load_names();
        state
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.lock().content.plans().iter().position(|plan| plan.name.as_deref() == Some(name))
    }

    fn assembly(&self, py: Python<'_>, layout: Option<&Bound<'_, PyDict>>) -> PyResult<pte_emit::Assembly> {
        let (options, state) = (options(layout)?, self.lock().clone());
        attempt(py, move |_| state.assembly(&options))
    }
}

#[pymethods]
impl Program {
    /// Builds a program of methods. Builders stay as they are: after an error, or for another program, they are used
    /// again.
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
        let methods: Vec<Builder> = builders.iter().map(|builder| builder.content()).collect();
        Program::create(py, move || Program::state(Resolved::from_methods(methods)?))
    }

    /// The methods.
    #[getter]
    fn methods(this: &Bound<'_, Self>) -> Items<Method> {
        Items((0..this.get().__len__()).map(|index| Method::new(this.clone().unbind(), index)).collect())
    }

    fn __len__(&self) -> usize {
        self.lock().content.plans().len()
    }

    /// True for the name of a method, and for a method of the program.
    fn __contains__(this: &Bound<'_, Self>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        match item.extract::<String>() {
            Ok(name) => Ok(this.get().position(&name).is_some()),
            Err(_) => Program::methods(this).into_pyobject(this.py())?.contains(item),
        }
    }

    /// The names of the methods, in order, as those of a dictionary.
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let names = self.lock().content.plans().iter().map(|plan| plan.name.clone().unwrap_or_default()).collect();
        Items::<String>(names).into_pyobject(py)?.try_iter()
    }

    /// Returns the method with this name, or at this index.
    fn __getitem__(this: &Bound<'_, Self>, name: &Bound<'_, PyAny>) -> PyResult<Method> {
        let count = this.get().__len__();
        let index = match (name.extract::<String>(), name.extract::<isize>()) {
            (Ok(name), _) => this.get().position(&name).ok_or_else(|| PyKeyError::new_err(name)),
            (_, Ok(index)) => usize::try_from(if index < 0 { index.saturating_add_unsigned(count) } else { index })
                .ok()
                .filter(|index| *index < count)
                .ok_or_else(|| PyIndexError::new_err(format!("index {index}: the program has {count} methods"))),
            (Err(_), Err(_)) => {
                Err(PyTypeError::new_err(format!("expected a name or an index, found {}", name.get_type())))
            }
        };
        Ok(Method::new(this.clone().unbind(), index?))
    }

    /// Returns a copy, whose changes are its own.
    fn __copy__(&self) -> Program {
        Program::new(self.lock().clone())
    }

    /// Returns a copy, as `copy.copy` does.
    #[pyo3(signature = (_memo, /))]
    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Program {
        self.__copy__()
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
    pub fn model(&self, py: Python<'_>) -> PyResult<Model> {
        let state = self.lock().clone();
        let name = state.name.clone().unwrap_or_else(|| "<program>".to_owned());
        let data_files = state.data_files.clone();
        let bytes = attempt(py, move |_| program_bytes(state, &AssembleOptions::default()))?;
        Ok(Model(pte_emit::Model::from_binary(name, bytes).with_data_files(data_files)))
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
