//! A value of a method, and its tensor, as live objects: each refers to its program by index, reads it, and changes it
//! in place. Those of `method` and `instructions` do, too.

use pte_emit::Blob;
use pte_emit::program::{
    EValue, ExecutionPlan, Memory, Tensor as TensorContent, TensorData, TensorShapeDynamism, ValueId,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};

use crate::buffer::Bytes;
use crate::builder::plain;
use crate::error::naming;
use crate::program::{Items, Owner, Part, Since, State, gone};
use crate::run::attempt;

/// A value of a method: a tensor, a number, a truth value, a string, or a list.
#[pyclass(frozen, eq, hash, module = "pte_emit")]
#[derive(PartialEq, Hash)]
pub struct Value {
    /// Program.
    pub program: Owner,
    /// Index of the method.
    pub method: usize,
    /// Index in the method.
    #[pyo3(get)]
    pub index: usize,
    /// When it was made.
    pub since: Since,
}

/// The tensor of a value.
#[pyclass(frozen, eq, hash, module = "pte_emit")]
#[derive(PartialEq, Hash)]
pub struct Tensor {
    program: Owner,
    method: usize,
    /// Index of its value.
    #[pyo3(get)]
    index: usize,
    since: Since,
}

/// Returns a value, or that which was replaced at its place after an object of it was made.
fn value_of(state: &State, method: usize, index: usize, since: Since) -> PyResult<&EValue> {
    match state.before((method, None, index), since) {
        Some(Part::Value(replaced)) => Ok(replaced),
        _ => state.plan(method)?.values().get(index).ok_or_else(|| gone("value")),
    }
}

impl Value {
    /// Runs `read` for what it consists of.
    pub fn read<T>(&self, read: impl FnOnce(&EValue, &ExecutionPlan) -> T) -> PyResult<T> {
        let state = self.program.get().lock();
        let plan = state.plan(self.method)?;
        Ok(read(value_of(&state, self.method, self.index, self.since)?, plan))
    }

    fn ids(list: &Option<Vec<ValueId>>) -> Vec<i32> {
        list.iter().flatten().map(|id| id.0).collect()
    }
}

#[pymethods]
impl Value {
    /// Kind, as in the schema of ExecuTorch: `Tensor`, `Int`, `Double`, `Bool`, `String`, `Null`, or a list such as
    /// `IntList`.
    #[getter]
    fn kind(&self) -> PyResult<&'static str> {
        self.read(|value, _| value.kind())
    }

    /// Fully qualified name of a tensor, or else the name in YAML: of the source, or as `to_yaml` prints it. None
    /// without one.
    #[getter]
    fn name(&self) -> PyResult<Option<String>> {
        let state = self.program.get().lock_with_names();
        state.plan(self.method)?.values().get(self.index).ok_or_else(|| gone("value"))?;
        Ok(state.name(self.method, self.index).map(str::to_owned))
    }

    /// The tensor; None if the value is not a tensor.
    #[getter]
    fn tensor(&self, py: Python<'_>) -> PyResult<Option<Tensor>> {
        let is_tensor = self.read(|value, _| value.as_tensor().is_some())?;
        let (program, method) = (self.program.clone_ref(py), self.method);
        Ok(is_tensor.then_some(Tensor { program, method, index: self.index, since: self.since }))
    }

    /// The number, truth value, string or tuple of a list; None for null and tensors. Items of lists of ints and of
    /// tensors are indices of values. Numbers, truth values and strings can be replaced by others of the same kind.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = self.read(|value, _| value.clone())?;
        let any = match &value {
            EValue::Null | EValue::Tensor(_) | EValue::Unknown(_) => py.None().into_bound(py),
            EValue::Int(number) => number.into_pyobject(py)?.into_any(),
            EValue::Bool(flag) => PyBool::new(py, *flag).to_owned().into_any(),
            EValue::Double(number) => PyFloat::new(py, *number).into_any(),
            EValue::String(text) => text.as_deref().into_pyobject(py)?.into_any(),
            EValue::IntList(items) => Items(items.clone().unwrap_or_default()).into_pyobject(py)?.into_any(),
            EValue::DoubleList(items) => Items(items.clone().unwrap_or_default()).into_pyobject(py)?.into_any(),
            EValue::BoolList(items) => Items(items.clone().unwrap_or_default()).into_pyobject(py)?.into_any(),
            EValue::TensorList(items) | EValue::OptionalTensorList(items) => {
                Items(Value::ids(items)).into_pyobject(py)?.into_any()
            }
        };
        Ok(any)
    }

    #[setter]
    fn set_value(&self, new: &Bound<'_, PyAny>) -> PyResult<()> {
        let (kind, new) = (self.kind()?, plain(new)?);
        let wrong =
            || PyTypeError::new_err(format!("value {} is of kind {kind}, found {}", self.index, new.get_type()));
        let is_bool = new.is_instance_of::<PyBool>();
        let value = match kind {
            "Int" if new.is_instance_of::<PyInt>() && !is_bool => {
                EValue::Int(naming(new.py(), "value", new.extract())?)
            }
            "Bool" if is_bool => EValue::Bool(new.extract()?),
            "Double" if (new.is_instance_of::<PyFloat>() || new.is_instance_of::<PyInt>()) && !is_bool => {
                EValue::Double(new.extract()?)
            }
            "String" if new.is_instance_of::<PyString>() => EValue::String(Some(new.extract()?)),
            _ => return Err(wrong()),
        };
        let mut state = self.program.get().lock();
        state.check_kept((self.method, None, self.index), self.since)?;
        let values = state.plan_mut(self.method)?.values.iter_mut().flatten();
        *values.into_iter().nth(self.index).ok_or_else(|| gone("value"))? = value;
        Ok(())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name = self.name()?.map_or_else(String::new, |name| format!(" {name}"));
        let text = match self.read(|value, _| value.as_tensor().map(shape))? {
            Some(shape) => shape,
            None => format!("{} {}", self.kind()?, self.value(py)?.repr()?),
        };
        Ok(format!("<pte_emit.Value {}{name}: {text}>", self.index))
    }
}

/// Element type and sizes in words.
fn shape(tensor: &TensorContent) -> String {
    format!("{} {:?}", tensor.scalar_type, tensor.sizes.as_deref().unwrap_or_default())
}

impl Tensor {
    fn read<T>(&self, read: impl FnOnce(&TensorContent, &State) -> T) -> PyResult<T> {
        let state = self.program.get().lock();
        let value = value_of(&state, self.method, self.index, self.since)?.as_tensor();
        value.map(|tensor| read(tensor, &state)).ok_or_else(|| gone("tensor"))
    }
}

#[pymethods]
impl Tensor {
    /// Element type, as in YAML: `float32`.
    #[getter]
    fn dtype(&self) -> PyResult<String> {
        self.read(|tensor, _| tensor.scalar_type.to_string())
    }

    /// Sizes; of a dynamic tensor the largest.
    #[getter]
    fn sizes(&self) -> PyResult<Items<i32>> {
        self.read(|tensor, _| Items(tensor.sizes.as_deref().unwrap_or_default().to_vec()))
    }

    /// The sizes, by the name that arrays have for them.
    #[getter]
    fn shape(&self) -> PyResult<Items<i32>> {
        self.sizes()
    }

    /// Dimensions from the outermost to the innermost in memory.
    #[getter]
    fn dim_order(&self) -> PyResult<Items<u32>> {
        let dims = |tensor: &TensorContent| {
            tensor.dim_order.iter().flat_map(|order| order.iter()).map(|dim| u32::from(*dim)).collect()
        };
        self.read(|tensor, _| Items(dims(tensor)))
    }

    /// Size in bytes; None if the sizes overflow, or the element type is unknown.
    #[getter]
    fn nbytes(&self) -> PyResult<Option<u64>> {
        self.read(|tensor, _| tensor.nbytes())
    }

    /// True if the sizes are upper bounds.
    #[getter]
    fn is_dynamic(&self) -> PyResult<bool> {
        self.read(|tensor, _| tensor.shape_dynamism != TensorShapeDynamism::STATIC)
    }

    /// True if its data are known: of a constant, the initial elements of a state, or in a `.ptd` that was given.
    #[getter]
    fn has_data(&self) -> PyResult<bool> {
        self.read(|tensor, state| state.data(tensor).is_some())
    }

    /// True if its data are in a `.ptd`.
    #[getter]
    fn is_external(&self) -> PyResult<bool> {
        self.read(|tensor, _| tensor.is_external())
    }

    /// Pool and offset in planned memory, if they are stated; None if they are planned when the program is written, or
    /// for constants.
    #[getter]
    fn memory(&self) -> PyResult<Option<(u32, u64)>> {
        self.read(|tensor, _| match tensor.memory {
            Memory::At { pool, offset } => Some((pool, offset)),
            Memory::None | Memory::Auto { .. } | Memory::View { .. } => None,
        })
    }

    /// The fully qualified name, which is its key in a `.ptd`.
    #[getter]
    fn name(&self) -> PyResult<Option<String>> {
        self.read(|tensor, _| tensor.name().map(str::to_owned))
    }

    /// The bytes of the data; None without data.
    #[getter]
    fn data_bytes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Some(blob) = self.read(|tensor, state| state.data(tensor).cloned())? else { return Ok(None) };
        let bytes = attempt(py, move |_| blob.to_vec().map_err(|error| pte_emit::Error::io("", "", &error)))?;
        Ok(Some(PyBytes::new(py, &bytes)))
    }

    /// The data as an array of numpy, read-only; None without data. Assigning an array of the same element type and
    /// sizes replaces them.
    #[getter]
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Some(bytes) = self.data_bytes(py)? else { return Ok(py.None().into_bound(py)) };
        let arrays = py.import("pte_emit._arrays")?;
        arrays.call_method1("of_bytes", (bytes, self.dtype()?, self.sizes()?, self.dim_order()?))
    }

    #[setter]
    fn set_data(&self, py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<()> {
        if !self.read(|tensor, _| matches!(tensor.data, TensorData::Blob(_)))? {
            let reason = match self.read(|tensor, _| tensor.is_external())? {
                true => {
                    "they are in a .ptd: assemble the model with with_files= and internal_data=True, and change that"
                }
                false => "it is no constant",
            };
            let message = format!("value {} has no data that can be replaced: {reason}", self.index);
            return Err(PyValueError::new_err(message));
        }
        let arrays = py.import("pte_emit._arrays")?;
        let (dtype, sizes, order) = (self.dtype()?, self.sizes()?, self.dim_order()?);
        let bytes = Bytes::of(&arrays.call_method1("to_bytes", (array, dtype, sizes, order))?)?;
        // A copy: the array may change before the program is written.
        let blob = Blob::bytes(bytes.as_ref());
        if self.nbytes()? != Some(blob.len()) {
            return Err(PyValueError::new_err(format!("value {}: the data have {} bytes", self.index, blob.len())));
        }
        let mut state = self.program.get().lock();
        state.check_kept((self.method, None, self.index), self.since)?;
        let id = state.content.add_blob(blob);
        let tensor = state.plan_mut(self.method)?.tensor_mut(self.index).ok_or_else(|| gone("tensor"))?;
        tensor.data = TensorData::Blob(id);
        Ok(())
    }

    fn __repr__(&self) -> PyResult<String> {
        let name = self.name()?.map_or_else(String::new, |name| format!(" {name}"));
        self.read(|tensor, _| format!("<pte_emit.Tensor {}{name}: {}>", self.index, shape(tensor)))
    }
}
