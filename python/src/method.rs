//! A method of a program as a live object, with its lists of inputs, outputs, values, instructions and delegates, which
//! `pte_emit._live` makes sequences of.

use std::cell::Cell;
use std::sync::MutexGuard;

use pte_emit::Blob;
use pte_emit::command::renumber_values;
use pte_emit::program::{
    Chain, ContainerMetadata, EValue, ExecutionPlan, Instruction as Call, Memory, Tensor as TensorContent, TensorData,
    ValueId,
};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyIterator, PyString};

use crate::buffer::Bytes;
use crate::builder::{plain, scalar_type};
use crate::elements::Value;
use crate::error::naming;
use crate::instructions::{Delegate, Instruction};
use crate::options::{Ints, choice};
use crate::program::{Owner, Part, Program, Since, State, gone};

/// A method of a program: a sequence of its instructions.
#[pyclass(frozen, eq, hash, module = "pte_emit")]
#[derive(PartialEq, Hash)]
pub struct Method {
    program: Owner,
    index: usize,
}

/// A list of parts of a method.
#[derive(Clone, Copy, PartialEq)]
enum Parts {
    Inputs,
    Outputs,
    Values,
    Instructions,
    Delegates,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Parts {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Parts> {
        let known = [
            ("inputs", Parts::Inputs),
            ("outputs", Parts::Outputs),
            ("values", Parts::Values),
            ("instructions", Parts::Instructions),
            ("delegates", Parts::Delegates),
        ];
        choice("parts", object.extract()?, &known)
    }
}

impl Parts {
    fn ids(self, plan: &ExecutionPlan) -> &[ValueId] {
        let list = if self == Parts::Inputs { &plan.inputs } else { &plan.outputs };
        list.as_deref().unwrap_or_default()
    }

    fn ids_mut(self, plan: &mut ExecutionPlan) -> &mut Vec<ValueId> {
        let list = if self == Parts::Inputs { &mut plan.inputs } else { &mut plan.outputs };
        list.get_or_insert_default()
    }

    fn count(self, plan: &ExecutionPlan) -> usize {
        match self {
            Parts::Inputs | Parts::Outputs => self.ids(plan).len(),
            Parts::Values => plan.values().len(),
            Parts::Instructions => plan.chains.iter().flatten().map(len).sum(),
            Parts::Delegates => plan.delegates().len(),
        }
    }
}

/// Number of instructions of a chain.
fn len(chain: &Chain) -> usize {
    chain.instructions.as_ref().map_or(0, Vec::len)
}

/// Chain, and index in it, of an instruction of a method, or of the end of the last chain.
fn position(plan: &ExecutionPlan, mut index: usize) -> (usize, usize) {
    let chains = plan.chains.as_deref().unwrap_or_default();
    for (number, chain) in chains.iter().enumerate() {
        if index < len(chain) || number + 1 == chains.len() {
            return (number, index);
        }
        index -= len(chain);
    }
    (0, index)
}

/// Adds a number to the destinations of jumps of a chain beyond an instruction.
fn move_jumps(chain: &mut Chain, beyond: usize, by: i32) {
    for instruction in chain.instructions.iter_mut().flatten() {
        if let Call::JumpFalseCall { destination_instruction: to, .. } = instruction
            && i64::from(*to) > beyond as i64
        {
            *to = to.saturating_add(by);
        }
    }
}

/// Adapts the description of the caller's containers, if there are none, to other numbers of inputs and outputs. A test
/// has the values of all inputs and outputs: those of the method are dropped.
fn change_interface(state: &mut State, method: usize, change: impl FnOnce(&mut ExecutionPlan)) -> PyResult<()> {
    let plan = state.plan_mut(method)?;
    let flat = |plan: &ExecutionPlan, getter| {
        ContainerMetadata::flat(Parts::Inputs.count(plan), Parts::Outputs.count(plan), getter)
    };
    let getter = [false, true].into_iter().find(|getter| plan.container_meta_type == Some(flat(plan, *getter)));
    change(plan);
    if let Some(getter) = getter {
        plan.container_meta_type = Some(flat(plan, getter));
    }
    let name = plan.name.clone();
    state.drop_tests(name.as_deref());
    Ok(())
}

fn id(index: usize) -> PyResult<ValueId> {
    i32::try_from(index).map(ValueId).map_err(|_| PyValueError::new_err("too many values"))
}

impl Method {
    /// Refers to a method.
    pub fn new(program: Py<Program>, index: usize) -> Method {
        Method { program: Owner(program), index }
    }

    fn read<T>(&self, read: impl FnOnce(&ExecutionPlan) -> T) -> PyResult<T> {
        self.program.get().lock().plan(self.index).map(read)
    }

    fn value(&self, py: Python<'_>, index: usize, since: Since) -> Value {
        Value { program: self.program.clone_ref(py), method: self.index, index, since }
    }

    /// Returns the index of a value of the method: of a value, or an index.
    pub fn value_id(&self, item: &Bound<'_, PyAny>) -> PyResult<ValueId> {
        let count = self.read(|plan| plan.values().len())?;
        let index = match item.cast::<Value>() {
            Ok(value) if self.is_of(&value.get().program, value.get().method) => value.get().index,
            Ok(_) => return Err(PyValueError::new_err("the value is one of another method")),
            Err(_) if item.is_instance_of::<PyBool>() => return Err(PyTypeError::new_err("expected a Value")),
            Err(_) if item.hasattr("__index__")? => item.extract().unwrap_or(usize::MAX),
            Err(_) => {
                return Err(PyTypeError::new_err(format!("expected a Value or its index, found {}", item.get_type())));
            }
        };
        let found = if item.hasattr("__index__")? { item.to_string() } else { index.to_string() };
        match index < count {
            true => id(index),
            false => Err(PyValueError::new_err(format!("no value has the index {found}: the method has {count}"))),
        }
    }

    fn is_of(&self, program: &Owner, method: usize) -> bool {
        self.program == *program && self.index == method
    }

    /// Returns the value that an object describes, with the data of a constant in the program.
    fn new_value(&self, item: &Bound<'_, PyAny>) -> PyResult<EValue> {
        if let Ok(value) = item.cast::<Value>() {
            let value = value.get();
            if self.program != value.program {
                return Err(PyValueError::new_err("the value is one of another program"));
            }
            return value.read(|value, _| value.clone());
        }
        if item.hasattr("dtype")? && item.hasattr("shape")? && !item.getattr("shape")?.is_empty()? {
            let described = item.py().import("pte_emit._arrays")?.call_method1("described", (item,))?;
            let (dtype, sizes, bytes): (String, Vec<i32>, Bound<'_, PyAny>) = described.extract()?;
            let blob = Blob::bytes(Bytes::of(&bytes)?.as_ref());
            let data = TensorData::Blob(self.program.get().lock().content.add_blob(blob));
            let tensor = TensorContent::new(scalar_type(&dtype)?, &sizes);
            return Ok(EValue::Tensor(TensorContent { data, memory: Memory::None, ..tensor }));
        }
        let item = plain(item)?;
        let value = if item.is_none() {
            EValue::Null
        } else if item.is_instance_of::<PyBool>() {
            EValue::Bool(item.extract()?)
        } else if item.is_instance_of::<PyInt>() {
            EValue::Int(naming(item.py(), "value", item.extract())?)
        } else if item.is_instance_of::<PyFloat>() {
            EValue::Double(item.extract()?)
        } else if item.is_instance_of::<PyString>() {
            EValue::String(Some(item.extract()?))
        } else {
            let ids = item
                .try_iter()
                .and_then(|items| items.map(|item| self.value_id(&item?)).collect::<PyResult<Vec<ValueId>>>());
            let ids = ids.map_err(|_| {
                let expected = "a Value, None, bool, int, float, str, an array, or a list of values of the method";
                PyTypeError::new_err(format!("expected {expected}, found {}", item.get_type()))
            })?;
            let is_int = |id: &ValueId| self.read(|plan| matches!(plan.value(*id), Some(EValue::Int(_))));
            match ids.first().map(is_int).transpose()?.unwrap_or(true) {
                true => EValue::IntList(Some(ids.into_iter().map(i64::from).collect())),
                false => EValue::TensorList(Some(ids)),
            }
        };
        Ok(value)
    }

    /// Returns the part of a list that an object describes.
    fn new_part(&self, parts: Parts, item: &Bound<'_, PyAny>) -> PyResult<Part> {
        Ok(match parts {
            Parts::Inputs | Parts::Outputs => Part::Id(self.value_id(item)?),
            Parts::Values => Part::Value(self.new_value(item)?),
            Parts::Instructions => Part::Call(match item.cast::<Instruction>() {
                Ok(call) if self.is_of(&call.get().program, call.get().method) => call.get().content()?,
                Ok(_) => return Err(PyValueError::new_err("the instruction is one of another method: use add_call")),
                Err(_) => {
                    return Err(PyTypeError::new_err(format!("expected an Instruction, found {}", item.get_type())));
                }
            }),
            Parts::Delegates => return Err(delegates_are_fixed()),
        })
    }

    /// Locks the state if a list has more than `index` parts, and `free` more.
    fn locked(&self, parts: Parts, index: usize, free: usize) -> PyResult<MutexGuard<'_, State>> {
        let state = self.program.get().lock();
        let count = parts.count(state.plan(self.index)?);
        match index < count.saturating_add(free) {
            true => Ok(state),
            false => Err(PyIndexError::new_err(format!("index {index}: the method has {count}"))),
        }
    }

    fn insert_call(&self, state: &mut State, index: usize, call: Call) -> PyResult<(usize, usize)> {
        let plan = state.plan_mut(self.index)?;
        let at = position(plan, index);
        let chains = plan.chains.get_or_insert_default();
        if chains.is_empty() {
            chains.push(Chain::new(Vec::new()));
        }
        let chain = &mut chains[at.0];
        move_jumps(chain, at.1, 1);
        chain.instructions.get_or_insert_default().insert(at.1, call);
        if let Some(traces) = chain.stacktrace.as_mut().filter(|traces| traces.len() >= at.1) {
            traces.insert(at.1, None);
        }
        Ok(at)
    }
}

/// Returns a list of parts of a method as a sequence that changes it.
fn live<'py>(method: &Bound<'py, Method>, parts: &str) -> PyResult<Bound<'py, PyAny>> {
    method.py().import("pte_emit._live")?.getattr("Elements")?.call1((method, parts))
}

fn delegates_are_fixed() -> PyErr {
    PyTypeError::new_err("delegates are neither added nor removed: build a program with MethodBuilder.call_delegate")
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

    /// The inputs, in order: values, which can be replaced, added and removed.
    #[getter]
    fn inputs<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        live(this, "inputs")
    }

    #[setter]
    fn set_inputs(this: &Bound<'_, Self>, items: &Bound<'_, PyAny>) -> PyResult<()> {
        live(this, "inputs")?.call_method1("assign", (items,)).map(drop)
    }

    /// The outputs, in order, as `inputs`.
    #[getter]
    fn outputs<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        live(this, "outputs")
    }

    #[setter]
    fn set_outputs(this: &Bound<'_, Self>, items: &Bound<'_, PyAny>) -> PyResult<()> {
        live(this, "outputs")?.call_method1("assign", (items,)).map(drop)
    }

    /// All values, by index or name. Values that are added or removed renumber those after them.
    #[getter]
    fn values<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        live(this, "values")
    }

    /// The instructions of all chains, in order. A copy of one can be inserted; `add_call` adds a new one.
    #[getter]
    fn instructions<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        live(this, "instructions")
    }

    /// The delegates.
    #[getter]
    fn delegates<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        live(this, "delegates")
    }

    /// The constants and initial states whose data are known, by name; by `value[INDEX]` without a name.
    #[getter]
    fn constants<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        this.py().import("pte_emit._live")?.getattr("Constants")?.call1((this,))
    }

    fn __len__(&self) -> PyResult<usize> {
        self._count(Parts::Instructions)
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __iter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyIterator>> {
        live(this, "instructions")?.try_iter()
    }

    fn __getitem__<'py>(this: &Bound<'py, Self>, at: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        live(this, "instructions")?.get_item(at)
    }

    /// True for an instruction of the method, and for the operator of one.
    fn __contains__(this: &Bound<'_, Self>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        live(this, "instructions")?.contains(item)
    }

    /// Number of parts of a list.
    fn _count(&self, parts: Parts) -> PyResult<usize> {
        self.read(|plan| parts.count(plan))
    }

    /// The part of a list at an index.
    fn _part(&self, py: Python<'_>, parts: Parts, index: usize) -> PyResult<Py<PyAny>> {
        let (program, method, since) = (self.program.clone_ref(py), self.index, self.program.get().lock().now());
        let ((count, at), id) = self.read(|plan| {
            let id = matches!(parts, Parts::Inputs | Parts::Outputs).then(|| parts.ids(plan).get(index).copied());
            ((parts.count(plan), position(plan, index)), id.flatten())
        })?;
        if index >= count {
            return Err(PyIndexError::new_err(format!("index {index}: the method has {count}")));
        }
        Ok(match parts {
            Parts::Inputs | Parts::Outputs => {
                // Not an IndexError, which ends a loop.
                let index = id.and_then(|id| usize::try_from(id.0).ok()).ok_or_else(|| {
                    PyValueError::new_err(format!("the file is malformed: {index} is a value of a negative index"))
                })?;
                self.value(py, index, since).into_pyobject(py)?.into_any().unbind()
            }
            Parts::Values => self.value(py, index, since).into_pyobject(py)?.into_any().unbind(),
            Parts::Instructions => Instruction { program, method, at, since }.into_pyobject(py)?.into_any().unbind(),
            Parts::Delegates => Delegate { program, method, index }.into_pyobject(py)?.into_any().unbind(),
        })
    }

    /// The index of the part of a list with this name: of a value, a delegate's backend, or an operator.
    fn _find(&self, parts: Parts, name: &str) -> PyResult<Option<usize>> {
        let state = self.program.get().lock_with_names();
        let plan = state.plan(self.index)?;
        let is_named = |index: usize| state.name(self.index, index) == Some(name);
        let operator = |call: &Call| plan.operator(call.operator()?)?.full_name();
        Ok(match parts {
            Parts::Values => (0..plan.values().len()).find(|index| is_named(*index)),
            Parts::Inputs | Parts::Outputs => {
                parts.ids(plan).iter().position(|id| usize::try_from(id.0).is_ok_and(is_named))
            }
            Parts::Instructions => plan.instructions().position(|call| operator(call).as_deref() == Some(name)),
            Parts::Delegates => plan.delegates().iter().position(|delegate| delegate.id.as_deref() == Some(name)),
        })
    }

    /// Inserts a part in a list.
    fn _insert(&self, parts: Parts, index: usize, item: &Bound<'_, PyAny>) -> PyResult<()> {
        let new = self.new_part(parts, item)?;
        let mut state = self.locked(parts, index, 1)?;
        match new {
            Part::Id(id) => {
                change_interface(&mut state, self.index, |plan| parts.ids_mut(plan).insert(index, id))?;
            }
            Part::Value(value) => {
                let plan = state.plan_mut(self.index)?;
                renumber_values(plan, |value| value.saturating_add((value >= index as i64).into()));
                plan.values.get_or_insert_default().insert(index, value);
                if let Some(names) = state.names_mut(self.index).filter(|names| index < names.len()) {
                    names.insert(index, None);
                }
            }
            Part::Call(call) => drop(self.insert_call(&mut state, index, call)?),
        }
        Ok(())
    }

    /// Replaces a part of a list.
    fn _replace(&self, parts: Parts, index: usize, item: &Bound<'_, PyAny>) -> PyResult<()> {
        let new = self.new_part(parts, item)?;
        let mut state = self.locked(parts, index, 0)?;
        match new {
            Part::Id(id) => change_interface(&mut state, self.index, |plan| parts.ids_mut(plan)[index] = id)?,
            Part::Value(value) => {
                let old = &mut state.plan_mut(self.index)?.values.get_or_insert_default()[index];
                let old = Part::Value(std::mem::replace(old, value));
                state.replaced((self.index, None, index), old);
            }
            Part::Call(call) => {
                let plan = state.plan_mut(self.index)?;
                let (chain, at) = position(plan, index);
                let old = plan.instructions_mut().nth(index).ok_or_else(|| gone("instruction"))?;
                let old = Part::Call(std::mem::replace(old, call));
                state.replaced((self.index, Some(chain), at), old);
            }
        }
        Ok(())
    }

    /// Removes a part of a list.
    fn _remove(&self, parts: Parts, index: usize) -> PyResult<()> {
        let mut state = self.locked(parts, index, 0)?;
        match parts {
            Parts::Inputs | Parts::Outputs => {
                return change_interface(&mut state, self.index, |plan| {
                    parts.ids_mut(plan).remove(index);
                });
            }
            Parts::Values => {
                let plan = state.plan_mut(self.index)?;
                let is_used = Cell::new(false);
                renumber_values(plan, |value| {
                    is_used.set(is_used.get() || value == index as i64);
                    value
                });
                if is_used.get() {
                    let message = format!(
                        "value {index} is used: change the instructions, lists, inputs and outputs with it first"
                    );
                    return Err(PyValueError::new_err(message));
                }
                plan.values.get_or_insert_default().remove(index);
                renumber_values(plan, |value| value - i64::from(value > index as i64));
                if let Some(names) = state.names_mut(self.index).filter(|names| index < names.len()) {
                    names.remove(index);
                }
            }
            Parts::Instructions => {
                let plan = state.plan_mut(self.index)?;
                let (number, index) = position(plan, index);
                let chain = plan.chains.as_mut().and_then(|chains| chains.get_mut(number));
                let chain = chain.ok_or_else(|| gone("instruction"))?;
                move_jumps(chain, index, -1);
                chain.instructions.get_or_insert_default().remove(index);
                if let Some(traces) = chain.stacktrace.as_mut().filter(|traces| index < traces.len()) {
                    traces.remove(index);
                }
            }
            Parts::Delegates => return Err(delegates_are_fixed()),
        }
        Ok(())
    }

    /// Adds a tensor without data, whose memory is planned when the program is written.
    #[pyo3(signature = (dtype, sizes, *, name=None))]
    fn add_tensor(&self, py: Python<'_>, dtype: &str, sizes: Ints, name: Option<String>) -> PyResult<Value> {
        let tensor = EValue::Tensor(TensorContent::new(scalar_type(dtype)?, &sizes.0));
        let mut state = self.program.get().lock();
        // Stated sizes are those without the tensor.
        state.plan_mut(self.index)?.memory.non_const_buffer_sizes = None;
        let values = state.plan_mut(self.index)?.values.get_or_insert_default();
        values.push(tensor);
        let index = values.len() - 1;
        if let Some(names) = state.names_mut(self.index) {
            names.resize(index, None);
            names.push(name);
        }
        Ok(self.value(py, index, state.now()))
    }

    /// Adds a kernel call before the instruction at an index, by default at the end. `args` are values of the method or
    /// their indices: all arguments of the kernel, with its outs.
    #[pyo3(signature = (operator, args, *, index=None))]
    fn add_call(
        &self,
        py: Python<'_>,
        operator: &str,
        args: Vec<Bound<'_, PyAny>>,
        index: Option<usize>,
    ) -> PyResult<Instruction> {
        let args: Vec<ValueId> = args.iter().map(|item| self.value_id(item)).collect::<PyResult<_>>()?;
        let mut state = self.locked(Parts::Instructions, index.unwrap_or(0), 1)?;
        let index = index.unwrap_or(Parts::Instructions.count(state.plan(self.index)?));
        let op_index = state.operator(self.index, operator)?;
        let call = Call::KernelCall { op_index, args: Some(args.into_iter().collect()) };
        let at = self.insert_call(&mut state, index, call)?;
        Ok(Instruction { program: self.program.clone_ref(py), method: self.index, at, since: state.now() })
    }

    /// The names of the constants, and the indices of their values.
    fn _constants<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let state = self.program.get().lock_with_names();
        let plan = state.plan(self.index)?;
        let mut found: Vec<(String, usize)> = Vec::new();
        for (index, _) in plan.tensors().filter(|(_, tensor)| state.data(tensor).is_some()) {
            let name = state.name(self.index, index).map(str::to_owned);
            found.push((name.unwrap_or_else(|| format!("value[{index}]")), index));
        }
        drop(state);
        found.sort();
        let dict = PyDict::new(py);
        found.into_iter().try_for_each(|(name, index)| dict.set_item(name, index))?;
        Ok(dict)
    }

    fn __repr__(&self) -> PyResult<String> {
        self.read(|plan| {
            let (name, values) = (plan.name.clone().unwrap_or_default(), plan.values().len());
            format!("<pte_emit.Method {name}: {values} values, {} instructions>", plan.instructions().count())
        })
    }
}
