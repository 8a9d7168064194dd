//! `pte_emit.MethodBuilder`: builds a method call by call, as the builder of the library.

use std::sync::{Mutex, PoisonError};

use pte_emit::operators::{OperatorArg, OperatorArgRole, OperatorDescription};
use pte_emit::{Argument, MethodBuilder as Builder, ScalarType, Value as Id};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString, PyTuple};

use crate::buffer::Bytes;
use crate::error::naming;
use crate::options::Ints;

/// Builds a method: inputs, constants, calls, outputs. `Program.build` makes a program of methods.
#[pyclass(frozen, module = "pte_emit")]
pub struct MethodBuilder(Mutex<Builder>);

/// A value of the method that a `MethodBuilder` builds.
#[pyclass(frozen, eq, module = "pte_emit")]
#[derive(Clone, Copy, PartialEq)]
pub struct BuilderValue(Id);

/// An element type as an argument of a call: `DType("float32")`.
#[pyclass(frozen, eq, module = "pte_emit")]
#[derive(Clone, Copy, PartialEq)]
pub struct DType(ScalarType);

#[pymethods]
impl DType {
    #[new]
    fn new(name: &str) -> PyResult<DType> {
        scalar_type(name).map(DType)
    }

    /// Name, as in YAML.
    #[getter]
    fn name(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("pte_emit.DType(\"{}\")", self.0)
    }
}

/// Returns the element type with this name.
///
/// # Errors
/// `ValueError` with all names.
pub fn scalar_type(name: &str) -> PyResult<ScalarType> {
    ScalarType::parse(name).ok_or_else(|| {
        let names: Vec<&str> = ScalarType::names().collect();
        PyValueError::new_err(format!("unknown element type {name:?}: expected one of {}", names.join(", ")))
    })
}

impl MethodBuilder {
    /// Returns a copy of the builder of the library.
    pub fn content(&self) -> Builder {
        self.with(|builder| builder.clone())
    }

    fn with<T>(&self, change: impl FnOnce(&mut Builder) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Adds a tensor with elements: an array, which has its element type and sizes.
    fn with_data(
        &self,
        array: &Bound<'_, PyAny>,
        name: Option<String>,
        add: impl FnOnce(&mut Builder, ScalarType, &[i32], &[u8]) -> Id,
    ) -> PyResult<BuilderValue> {
        let arrays = array.py().import("pte_emit._arrays")?;
        let described = arrays.call_method1("described", (array,))?;
        let (dtype, sizes, bytes): (String, Vec<i32>, Bound<'_, PyAny>) = described.extract()?;
        let (scalar_type, bytes) = (scalar_type(&dtype)?, Bytes::of(&bytes)?);
        Ok(self.with(|builder| {
            let value = add(builder, scalar_type, &sizes, bytes.as_ref());
            if let Some(name) = name {
                builder.name(value, name);
            }
            BuilderValue(value)
        }))
    }
}

/// Returns a number or an array of numpy as a number or a list of Python, other objects as they are.
///
/// # Errors
/// `TypeError` for a masked array, which has no elements where it is masked.
pub fn plain<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    if object.hasattr("mask")? && object.hasattr("filled")? {
        object.py().import("pte_emit._arrays")?.call_method1("whole", (object,))?;
    }
    match object.hasattr("dtype")? && object.hasattr("tolist")? {
        true => object.call_method0("tolist"),
        false => Ok(object.clone()),
    }
}

/// Returns an argument of a call.
fn argument(object: &Bound<'_, PyAny>) -> PyResult<Argument> {
    let object = plain(object)?;
    if object.is_none() {
        return Ok(Argument::NONE);
    }
    if let Ok(value) = object.cast::<BuilderValue>() {
        return Ok(value.get().0.into());
    }
    if let Ok(dtype) = object.cast::<DType>() {
        return Ok(dtype.get().0.into());
    }
    if let Ok(flag) = object.cast::<PyBool>() {
        return Ok(flag.is_true().into());
    }
    if object.is_instance_of::<PyInt>() {
        return Ok(object.extract::<i64>()?.into());
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok(object.extract::<f64>()?.into());
    }
    if object.is_instance_of::<PyString>() {
        return Ok(object.extract::<String>()?.as_str().into());
    }
    let is_list = !object.is_instance_of::<PyBytes>() && !object.is_instance_of::<PyDict>();
    match object.try_iter() {
        Ok(items) if is_list => list(&items.map(|item| plain(&item?)).collect::<PyResult<Vec<_>>>()?),
        Ok(_) | Err(_) => Err(unsuitable(&object)),
    }
}

fn unsuitable(object: &Bound<'_, PyAny>) -> PyErr {
    let expected = "None, bool, int, float, str, DType, BuilderValue, or a list of numbers or values";
    PyTypeError::new_err(format!("{} is no argument of a call: expected {expected}", object.get_type()))
}

/// Returns a list as an argument: of the kind of its first item that is not None; an empty one is a list of ints.
fn list(items: &[Bound<'_, PyAny>]) -> PyResult<Argument> {
    let Some(first) = items.iter().find(|item| !item.is_none()).or(items.first()) else {
        return Ok(Argument::from(&[] as &[i64]));
    };
    let has_none = items.iter().any(|item| item.is_none());
    if has_none || first.cast::<BuilderValue>().is_ok() {
        let value = |item: &Bound<'_, PyAny>| match item.is_none() {
            true => Ok(None),
            false => Ok(Some(item.cast::<BuilderValue>().map_err(|_| unsuitable(item))?.get().0)),
        };
        let values: Vec<Option<Id>> = items.iter().map(value).collect::<PyResult<_>>()?;
        return Ok(match values.iter().copied().collect::<Option<Vec<Id>>>() {
            Some(all) => Argument::from(&all[..]),
            None => Argument::list(&values),
        });
    }
    if first.is_instance_of::<PyBool>() {
        let flags = items.iter().map(|item| item.extract()).collect::<PyResult<Vec<bool>>>()?;
        return Ok(Argument::from(&flags[..]));
    }
    if items.iter().any(|item| item.is_instance_of::<PyFloat>()) {
        let numbers = items.iter().map(|item| item.extract()).collect::<PyResult<Vec<f64>>>()?;
        return Ok(Argument::from(&numbers[..]));
    }
    if first.is_instance_of::<PyInt>() {
        let numbers = items.iter().map(|item| item.extract()).collect::<PyResult<Vec<i64>>>()?;
        return Ok(Argument::from(&numbers[..]));
    }
    Err(unsuitable(first))
}

fn arguments<'py>(
    operator: &str,
    positional: &Bound<'py, PyAny>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Vec<Argument>> {
    let known = OperatorDescription::find(operator);
    let named = |(number, object): (usize, PyResult<Bound<'py, PyAny>>)| {
        let known = known.as_ref().and_then(|known| known.arguments.get(number));
        let name = known.map_or_else(|| number.to_string(), |arg| arg.name.to_string());
        naming(positional.py(), &name, argument(&object?)).map(Some)
    };
    let mut given = positional.try_iter()?.enumerate().map(named).collect::<PyResult<Vec<_>>>()?;
    let Some(known) = known else {
        return match keywords.filter(|keywords| !keywords.is_empty()) {
            Some(_) => Err(PyTypeError::new_err(format!("{}: arguments have no names", unknown(operator)))),
            None => Ok(given.into_iter().flatten().collect()),
        };
    };
    let ins: Vec<_> = known.arguments.iter().filter(|arg| arg.role != OperatorArgRole::Out).collect();
    let names = || ins.iter().map(|arg| &*arg.name).collect::<Vec<_>>().join(", ");
    if given.len() > ins.len() {
        let message = format!("{operator}: {} arguments, expected at most {}: {}", given.len(), ins.len(), names());
        return Err(PyTypeError::new_err(message));
    }
    for (name, object) in keywords.into_iter().flatten() {
        let name: String = name.extract()?;
        let Some(at) = ins.iter().position(|arg| arg.name == name) else {
            return Err(PyTypeError::new_err(format!("{operator} has no argument `{name}`: expected {}", names())));
        };
        given.resize(given.len().max(at + 1), None);
        if given[at].replace(naming(object.py(), &name, argument(&object))?).is_some() {
            return Err(PyTypeError::new_err(format!("{operator}: argument `{name}` is given twice")));
        }
    }
    // Trailing arguments with a default are completed by the library.
    given.resize(ins.iter().rposition(|arg| arg.default.is_none()).map_or(0, |at| at + 1).max(given.len()), None);
    let complete = |(given, arg): (Option<Argument>, &&OperatorArg)| match (given, &arg.default) {
        (Some(given), _) => Ok(given),
        (None, Some(default)) => {
            let default = positional.py().import("json")?.call_method1("loads", (&**default,))?;
            argument(&default)
        }
        (None, None) => {
            let message = format!("{operator}: argument `{}` is missing, of type {}", arg.name, arg.kind);
            Err(PyTypeError::new_err(message))
        }
    };
    given.into_iter().zip(&ins).map(complete).collect()
}

/// The message about an unknown operator.
fn unknown(operator: &str) -> String {
    let near = OperatorDescription::similar_names(operator);
    let help = if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) };
    format!("unknown operator `{operator}`{help}")
}

/// Compares the number of results of a call with that of its operator.
fn check_results(operator: &str, found: usize, advice: &str) -> PyResult<()> {
    let known = OperatorDescription::find(operator);
    let args = known.iter().flat_map(|known| known.arguments);
    let outs: Vec<&str> = args.filter(|arg| arg.role == OperatorArgRole::Out).map(|arg| &*arg.name).collect();
    if outs.is_empty() || outs.len() == found {
        return Ok(());
    }
    let message = format!("{operator} has {} results ({}), found {found}{advice}", outs.len(), outs.join(", "));
    Err(PyValueError::new_err(message))
}

fn ids(values: &[PyRef<'_, BuilderValue>]) -> Vec<Id> {
    values.iter().map(|value| value.0).collect()
}

#[pymethods]
impl MethodBuilder {
    #[new]
    fn new(name: String) -> MethodBuilder {
        MethodBuilder(Mutex::new(Builder::new(name)))
    }

    /// Adds a tensor that the caller provides. With `dynamic`, its sizes are upper bounds.
    #[pyo3(signature = (dtype, sizes, *, dynamic=false))]
    fn input(&self, dtype: &str, sizes: Ints, dynamic: bool) -> PyResult<BuilderValue> {
        let dtype = scalar_type(dtype)?;
        Ok(self.with(|builder| {
            let value = builder.input(dtype, &sizes.0);
            if dynamic {
                builder.dynamic(value);
            }
            BuilderValue(value)
        }))
    }

    /// Adds a constant with the elements of an array. `name` is its key in a `.ptd`.
    #[pyo3(signature = (array, *, name=None))]
    fn constant(&self, array: &Bound<'_, PyAny>, name: Option<String>) -> PyResult<BuilderValue> {
        self.with_data(array, name, |builder, dtype, sizes, bytes| builder.constant_bytes(dtype, sizes, bytes))
    }

    /// Adds a tensor that keeps its elements from one execution to the next; the array has those of the first one.
    #[pyo3(signature = (array, *, name=None))]
    fn state(&self, array: &Bound<'_, PyAny>, name: Option<String>) -> PyResult<BuilderValue> {
        self.with_data(array, name, |builder, dtype, sizes, bytes| builder.state_bytes(dtype, sizes, bytes))
    }

    /// Adds a tensor for a result, which `call_into` or a delegate writes.
    fn tensor(&self, dtype: &str, sizes: Ints) -> PyResult<BuilderValue> {
        let dtype = scalar_type(dtype)?;
        Ok(self.with(|builder| BuilderValue(builder.tensor(dtype, &sizes.0))))
    }

    /// Adds a value for a result, which `call_into` writes; its element type and sizes are inferred.
    fn inferred(&self) -> BuilderValue {
        self.with(|builder| BuilderValue(builder.inferred()))
    }

    /// Adds a kernel call with one result. The schema of the operator gives the out argument, the names of arguments
    /// and their defaults.
    ///
    /// Arguments are values, None, numbers, strings, DType, and lists; numbers and arrays of numpy are numbers and
    /// lists. Keywords are arguments by the names of the schema. The element type and sizes of the result are inferred,
    /// unless `dtype`, as a string, and `sizes` state them.
    #[pyo3(signature = (operator, *args, dtype=None, sizes=None, **keywords))]
    fn call<'py>(
        &self,
        operator: &str,
        args: &Bound<'py, PyTuple>,
        dtype: Option<&Bound<'py, PyAny>>,
        sizes: Option<Ints>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<BuilderValue> {
        let py = args.py();
        let keywords = keywords.cloned().unwrap_or_else(|| PyDict::new(py));
        // A DType is the argument `dtype` of the operator.
        let dtype = match dtype {
            Some(dtype) if dtype.is_instance_of::<DType>() => keywords.set_item("dtype", dtype).map(|()| None)?,
            Some(dtype) => Some(scalar_type(dtype.extract()?)?),
            None => None,
        };
        if dtype.is_none() && OperatorDescription::find(operator).is_none() {
            return Err(PyValueError::new_err(format!(
                "{}; the result of a custom operator needs dtype= and sizes=",
                unknown(operator)
            )));
        }
        check_results(operator, 1, ": call_into takes them")?;
        let arguments = arguments(operator, args, Some(&keywords))?;
        match (dtype, sizes) {
            (None, None) => Ok(self.with(|builder| BuilderValue(builder.call_inferred(operator, &arguments)))),
            (Some(dtype), Some(sizes)) => {
                Ok(self.with(|builder| BuilderValue(builder.call(operator, &arguments, dtype, &sizes.0))))
            }
            (Some(_), None) | (None, Some(_)) => Err(PyTypeError::new_err("state both dtype= and sizes=, or none")),
        }
    }

    /// Adds a kernel call that writes these results.
    #[pyo3(signature = (operator, args, results, **keywords))]
    fn call_into<'py>(
        &self,
        operator: &str,
        args: &Bound<'py, PyAny>,
        results: Vec<PyRef<'py, BuilderValue>>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<()> {
        check_results(operator, results.len(), "")?;
        let (arguments, results) = (arguments(operator, args, keywords)?, ids(&results));
        self.with(|builder| builder.call_into(operator, &arguments, &results));
        Ok(())
    }

    /// Adds a call of a delegate with this payload. The last of `args` are its results.
    fn call_delegate(
        &self,
        backend: &str,
        payload: &Bound<'_, PyAny>,
        args: Vec<PyRef<'_, BuilderValue>>,
    ) -> PyResult<()> {
        let (payload, args) = (Bytes::of(payload)?.as_ref().to_vec(), ids(&args));
        self.with(|builder| builder.call_delegate(backend, payload, &args));
        Ok(())
    }

    /// Adds an output.
    fn output(&self, value: PyRef<'_, BuilderValue>) {
        self.with(|builder| builder.output(value.0));
    }
}
