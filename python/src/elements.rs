//! The parts of a program as live objects: a method, a value, its tensor. Each refers to its program by index, reads
//! it, and changes it in place. Those of `instructions` do, too.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use pte_emit::Blob;
use pte_emit::program::{
    EValue, ExecutionPlan, Memory, Tensor as TensorContent, TensorData, TensorShapeDynamism, ValueId,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString};

use crate::buffer::Bytes;
use crate::instructions::{Delegate, Instruction};
use crate::program::{Items, Program, State, gone, read_only};
use crate::run::attempt;

/// A method of a program.
#[pyclass(frozen, module = "pte_emit")]
pub struct Method {
    program: Py<Program>,
    index: usize,
}

/// A value of a method: a tensor, a number, a truth value, a string, or a list.
#[pyclass(frozen, module = "pte_emit")]
pub struct Value {
    program: Py<Program>,
    method: usize,
    /// Index in the method.
    #[pyo3(get)]
    index: usize,
}

/// The tensor of a value.
#[pyclass(frozen, module = "pte_emit")]
pub struct Tensor {
    program: Py<Program>,
    method: usize,
    index: usize,
}

impl Method {
    /// The program and the position in it: objects with the same are equal.
    fn identity(&self) -> (usize, usize) {
        (self.program.as_ptr() as usize, self.index)
    }

    /// Refers to a method.
    pub fn new(program: Py<Program>, index: usize) -> Method {
        Method { program, index }
    }

    fn read<T>(&self, read: impl FnOnce(&ExecutionPlan) -> T) -> PyResult<T> {
        self.program.get().lock().plan(self.index).map(read)
    }

    fn value(&self, py: Python<'_>, index: usize) -> Value {
        Value { program: self.program.clone_ref(py), method: self.index, index }
    }

    fn listed(&self, py: Python<'_>, list: &Option<Vec<ValueId>>) -> Items<Value> {
        let indices = list.iter().flatten().filter_map(|id| usize::try_from(id.0).ok());
        Items(indices.map(|index| self.value(py, index)).collect())
    }
}

#[pymethods]
impl Method {
    /// Name.
    #[getter]
    fn name(&self) -> PyResult<String> {
        self.read(|plan| plan.name.clone().unwrap_or_default())
    }

    #[setter]
    fn set_name(&self, name: String) -> PyResult<()> {
        let mut state = self.program.get().lock();
        let is_taken =
            |(index, plan): (usize, &ExecutionPlan)| index != self.index && plan.name.as_deref() == Some(&*name);
        if state.content.plans().iter().enumerate().any(is_taken) {
            return Err(PyValueError::new_err(format!("the program already has a method {name:?}")));
        }
        state.plan_mut(self.index)?.name = Some(name);
        Ok(())
    }

    /// The inputs, in order.
    #[getter]
    fn inputs(&self, py: Python<'_>) -> PyResult<Items<Value>> {
        let list = self.read(|plan| plan.inputs.clone())?;
        Ok(self.listed(py, &list))
    }

    /// The outputs, in order.
    #[getter]
    fn outputs(&self, py: Python<'_>) -> PyResult<Items<Value>> {
        let list = self.read(|plan| plan.outputs.clone())?;
        Ok(self.listed(py, &list))
    }

    /// All values, by index.
    #[getter]
    fn values(&self, py: Python<'_>) -> PyResult<Items<Value>> {
        let count = self.read(|plan| plan.values().len())?;
        Ok(Items((0..count).map(|index| self.value(py, index)).collect()))
    }

    /// The constants and initial states that the file has the data of, by name; by `value[INDEX]` without a name.
    #[getter]
    fn constants<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let state = self.program.get().lock();
        let plan = state.plan(self.index)?;
        let has_data = |tensor: &TensorContent| matches!(tensor.data, TensorData::Blob(_));
        let tensors = plan.tensors().filter(|(_, tensor)| has_data(tensor));
        let named = |(index, tensor): (usize, &TensorContent)| {
            let name = name_of(&state, self.index, index, tensor).unwrap_or_else(|| format!("value[{index}]"));
            (name, Tensor { program: self.program.clone_ref(py), method: self.index, index })
        };
        let named: BTreeMap<String, Tensor> = tensors.map(named).collect();
        drop(state);
        read_only(named.into_pyobject(py)?)
    }

    /// The instructions of all chains, in order.
    #[getter]
    fn instructions(&self, py: Python<'_>) -> PyResult<Items<Instruction>> {
        let counts: Vec<usize> = self.read(|plan| {
            let chains = plan.chains.iter().flatten();
            chains.map(|chain| chain.instructions.as_ref().map_or(0, Vec::len)).collect()
        })?;
        let places = counts.iter().enumerate().flat_map(|(chain, count)| (0..*count).map(move |index| (chain, index)));
        let instruction = |at| Instruction { program: self.program.clone_ref(py), method: self.index, at };
        Ok(Items(places.map(instruction).collect()))
    }

    /// The delegates.
    #[getter]
    fn delegates(&self, py: Python<'_>) -> PyResult<Items<Delegate>> {
        let count = self.read(|plan| plan.delegates().len())?;
        let delegate = |index| Delegate { program: self.program.clone_ref(py), method: self.index, index };
        Ok(Items((0..count).map(delegate).collect()))
    }

    fn __eq__(&self, other: PyRef<'_, Self>) -> bool {
        self.identity() == other.identity()
    }

    fn __hash__(&self) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(self.identity())
    }

    fn __repr__(&self) -> PyResult<String> {
        self.read(|plan| {
            let (name, values) = (plan.name.clone().unwrap_or_default(), plan.values().len());
            format!("<pte_emit.Method {name}: {values} values, {} instructions>", plan.instructions().count())
        })
    }
}

/// Name of a tensor: that of the YAML, else its fully qualified name.
fn name_of(state: &State, method: usize, value: usize, tensor: &TensorContent) -> Option<String> {
    let stated = state.names.get(method).and_then(|names| names.get(value)).cloned().flatten();
    tensor.name().map(str::to_owned).or(stated)
}

impl Value {
    /// The program and the position in it: objects with the same are equal.
    fn identity(&self) -> (usize, usize, usize) {
        (self.program.as_ptr() as usize, self.method, self.index)
    }

    fn read<T>(&self, read: impl FnOnce(&EValue, &ExecutionPlan) -> T) -> PyResult<T> {
        let state = self.program.get().lock();
        let plan = state.plan(self.method)?;
        plan.values().get(self.index).map(|value| read(value, plan)).ok_or_else(|| gone("value"))
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

    /// Name in the YAML, or the fully qualified name of a tensor; None without one.
    #[getter]
    fn name(&self) -> PyResult<Option<String>> {
        let state = self.program.get().lock();
        let value = state.plan(self.method)?.values().get(self.index).ok_or_else(|| gone("value"))?;
        if let Some(tensor) = value.as_tensor() {
            return Ok(name_of(&state, self.method, self.index, tensor));
        }
        Ok(state.names.get(self.method).and_then(|names| names.get(self.index)).cloned().flatten())
    }

    /// The tensor; None if the value is not a tensor.
    #[getter]
    fn tensor(&self, py: Python<'_>) -> PyResult<Option<Tensor>> {
        let is_tensor = self.read(|value, _| value.as_tensor().is_some())?;
        Ok(is_tensor.then(|| Tensor { program: self.program.clone_ref(py), method: self.method, index: self.index }))
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
        let kind = self.kind()?;
        let wrong =
            || PyTypeError::new_err(format!("value {} is of kind {kind}, found {}", self.index, new.get_type()));
        let is_bool = new.is_instance_of::<PyBool>();
        let value = match kind {
            "Int" if new.is_instance_of::<PyInt>() && !is_bool => EValue::Int(new.extract()?),
            "Bool" if is_bool => EValue::Bool(new.extract()?),
            "Double" if (new.is_instance_of::<PyFloat>() || new.is_instance_of::<PyInt>()) && !is_bool => {
                EValue::Double(new.extract()?)
            }
            "String" if new.is_instance_of::<PyString>() => EValue::String(Some(new.extract()?)),
            _ => return Err(wrong()),
        };
        let mut state = self.program.get().lock();
        let values = state.plan_mut(self.method)?.values.iter_mut().flatten();
        *values.into_iter().nth(self.index).ok_or_else(|| gone("value"))? = value;
        Ok(())
    }

    fn __eq__(&self, other: PyRef<'_, Self>) -> bool {
        self.identity() == other.identity()
    }

    fn __hash__(&self) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(self.identity())
    }

    fn __repr__(&self) -> PyResult<String> {
        let name = self.name()?.map_or_else(String::new, |name| format!(" {name}"));
        let text = self.read(|value, _| match value {
            EValue::Tensor(tensor) => shape(tensor),
            EValue::Int(number) => number.to_string(),
            EValue::Double(number) => format!("{number:?}"),
            EValue::Bool(flag) => flag.to_string(),
            EValue::Null
            | EValue::Unknown(_)
            | EValue::String(_)
            | EValue::IntList(_)
            | EValue::DoubleList(_)
            | EValue::BoolList(_)
            | EValue::TensorList(_)
            | EValue::OptionalTensorList(_) => value.kind().to_owned(),
        })?;
        Ok(format!("<pte_emit.Value {}{name}: {text}>", self.index))
    }
}

/// Element type and sizes in words.
fn shape(tensor: &TensorContent) -> String {
    format!("{} {:?}", tensor.scalar_type, tensor.sizes.as_deref().unwrap_or_default())
}

impl Tensor {
    /// The program and the position in it: objects with the same are equal.
    fn identity(&self) -> (usize, usize, usize) {
        (self.program.as_ptr() as usize, self.method, self.index)
    }

    fn read<T>(&self, read: impl FnOnce(&TensorContent) -> T) -> PyResult<T> {
        let state = self.program.get().lock();
        let value = state.plan(self.method)?.values().get(self.index).and_then(EValue::as_tensor);
        value.map(read).ok_or_else(|| gone("tensor"))
    }

    fn blob(&self) -> PyResult<Option<Blob>> {
        let state = self.program.get().lock();
        let tensor = state.plan(self.method)?.values().get(self.index).and_then(EValue::as_tensor);
        match tensor.ok_or_else(|| gone("tensor"))?.data {
            TensorData::Blob(blob) => Ok(state.content.blobs.get(blob.0 as usize).cloned()),
            TensorData::None | TensorData::Elsewhere(_) => Ok(None),
        }
    }
}

#[pymethods]
impl Tensor {
    /// Index of its value.
    #[getter]
    fn index(&self) -> usize {
        self.index
    }

    /// Element type, as in YAML: `float32`.
    #[getter]
    fn dtype(&self) -> PyResult<String> {
        self.read(|tensor| tensor.scalar_type.to_string())
    }

    /// Sizes; of a dynamic tensor the largest.
    #[getter]
    fn sizes(&self) -> PyResult<Items<i32>> {
        self.read(|tensor| Items(tensor.sizes.as_deref().unwrap_or_default().to_vec()))
    }

    /// Dimensions from the outermost to the innermost in memory.
    #[getter]
    fn dim_order(&self) -> PyResult<Items<u32>> {
        let dims = |tensor: &TensorContent| {
            tensor.dim_order.iter().flat_map(|order| order.iter()).map(|dim| u32::from(*dim)).collect()
        };
        self.read(|tensor| Items(dims(tensor)))
    }

    /// Size in bytes; None if the sizes overflow, or the element type is unknown.
    #[getter]
    fn nbytes(&self) -> PyResult<Option<u64>> {
        self.read(TensorContent::nbytes)
    }

    /// True if the sizes are upper bounds.
    #[getter]
    fn is_dynamic(&self) -> PyResult<bool> {
        self.read(|tensor| tensor.shape_dynamism != TensorShapeDynamism::STATIC)
    }

    /// True if the program has its data: a constant, or the initial elements of a state.
    #[getter]
    fn has_data(&self) -> PyResult<bool> {
        self.read(|tensor| matches!(tensor.data, TensorData::Blob(_)))
    }

    /// True if its data are in a `.ptd`.
    #[getter]
    fn is_external(&self) -> PyResult<bool> {
        self.read(TensorContent::is_external)
    }

    /// Pool and offset in planned memory, if they are stated; None if they are planned when the program is written, or
    /// for constants.
    #[getter]
    fn memory(&self) -> PyResult<Option<(u32, u64)>> {
        self.read(|tensor| match tensor.memory {
            Memory::At { pool, offset } => Some((pool, offset)),
            Memory::None | Memory::Auto { .. } | Memory::View { .. } => None,
        })
    }

    /// The fully qualified name, which is its key in a `.ptd`.
    #[getter]
    fn name(&self) -> PyResult<Option<String>> {
        self.read(|tensor| tensor.name().map(str::to_owned))
    }

    /// The bytes of the data; None without data.
    #[getter]
    fn data_bytes<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let Some(blob) = self.blob()? else { return Ok(None) };
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
        if !self.has_data()? {
            let message = format!("value {} has no data that can be replaced: it is no constant", self.index);
            return Err(PyValueError::new_err(message));
        }
        let arrays = py.import("pte_emit._arrays")?;
        let (dtype, sizes, order) = (self.dtype()?, self.sizes()?, self.dim_order()?);
        let bytes = Bytes::of(&arrays.call_method1("to_bytes", (array, dtype, sizes, order))?)?;
        // A copy: the array may change before the program is written.
        let blob = Blob::bytes(bytes.as_ref());
        if self.read(TensorContent::nbytes)? != Some(blob.len()) {
            return Err(PyValueError::new_err(format!("value {}: the data have {} bytes", self.index, blob.len())));
        }
        let mut state = self.program.get().lock();
        let id = state.content.add_blob(blob);
        let values = state.plan_mut(self.method)?.values.iter_mut().flatten();
        match values.into_iter().nth(self.index) {
            Some(EValue::Tensor(tensor)) => tensor.data = TensorData::Blob(id),
            _ => return Err(gone("tensor")),
        }
        Ok(())
    }

    fn __eq__(&self, other: PyRef<'_, Self>) -> bool {
        self.identity() == other.identity()
    }

    fn __hash__(&self) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(self.identity())
    }

    fn __repr__(&self) -> PyResult<String> {
        let name = self.name()?.map_or_else(String::new, |name| format!(" {name}"));
        self.read(|tensor| format!("<pte_emit.Tensor {}{name}: {}>", self.index, shape(tensor)))
    }
}
