//! Instructions and delegates of a method as live objects, like the parts in `elements`.

use pte_emit::Blob;
use pte_emit::program::{ExecutionPlan, Instruction as Content, Operator, ValueId};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffer::Bytes;
use crate::error::raised;
use crate::method::Method;
use crate::program::{Items, Owner, Part, Place, Since, gone};

/// An instruction of a method.
#[pyclass(frozen, eq, hash, module = "pte_emit")]
#[derive(PartialEq, Hash)]
pub struct Instruction {
    /// Program.
    pub program: Owner,
    /// Index of the method.
    pub method: usize,
    /// Indices of the chain, and in it.
    pub at: (usize, usize),
    /// When it was made.
    pub since: Since,
}

/// A delegate of a method: a part that a backend executes.
#[pyclass(frozen, eq, hash, module = "pte_emit")]
#[derive(PartialEq, Hash)]
pub struct Delegate {
    /// Program.
    pub program: Owner,
    /// Index of the method.
    pub method: usize,
    /// Index in the method.
    pub index: usize,
}

impl Instruction {
    /// Returns a copy of what it consists of.
    pub fn content(&self) -> PyResult<Content> {
        self.read(|instruction, _| Ok(instruction.clone()))
    }

    fn read<T>(&self, read: impl FnOnce(&Content, &ExecutionPlan) -> PyResult<T>) -> PyResult<T> {
        let state = self.program.get().lock();
        let plan = state.plan(self.method)?;
        if let Some(Part::Call(replaced)) = state.before(self.place(), self.since) {
            return read(replaced, plan);
        }
        let chain = plan.chains.as_ref().and_then(|chains| chains.get(self.at.0));
        let instruction = chain.and_then(|chain| chain.instructions.as_ref()?.get(self.at.1));
        read(instruction.ok_or_else(|| gone("instruction"))?, plan)
    }

    fn place(&self) -> Place {
        (self.method, Some(self.at.0), self.at.1)
    }

    fn change(&self, change: impl FnOnce(&mut Content)) -> PyResult<()> {
        let mut state = self.program.get().lock();
        state.check_kept(self.place(), self.since)?;
        let chain = state.plan_mut(self.method)?.chains.as_mut().and_then(|chains| chains.get_mut(self.at.0));
        let instruction = chain.and_then(|chain| chain.instructions.as_mut()?.get_mut(self.at.1));
        instruction.map(change).ok_or_else(|| gone("instruction"))
    }
}

#[pymethods]
impl Instruction {
    /// Kind, as in YAML: `kernel`, `delegate`, `move`, `jump_false`, `free`; `unknown` if a later schema has it.
    #[getter]
    fn kind(&self) -> PyResult<&'static str> {
        self.read(|instruction, _| {
            Ok(match instruction {
                Content::KernelCall { .. } => "kernel",
                Content::DelegateCall { .. } => "delegate",
                Content::MoveCall { .. } => "move",
                Content::JumpFalseCall { .. } => "jump_false",
                Content::FreeCall { .. } => "free",
                Content::Unknown { .. } => "unknown",
            })
        })
    }

    /// Operator that a kernel call calls, with its overload: `aten::relu.out`; None for other instructions. Assigning
    /// another one keeps the arguments.
    #[getter]
    fn operator(&self) -> PyResult<Option<String>> {
        self.read(|instruction, plan| {
            Ok(instruction.operator().and_then(|id| plan.operator(id)).and_then(Operator::full_name))
        })
    }

    #[setter]
    fn set_operator(&self, name: &str) -> PyResult<()> {
        if self.kind()? != "kernel" {
            return Err(PyTypeError::new_err("only a kernel call has an operator"));
        }
        let id = self.program.get().lock().operator(self.method, name)?;
        self.change(|instruction| {
            if let Content::KernelCall { op_index, .. } = instruction {
                *op_index = id;
            }
        })
    }

    /// Arguments of a kernel or delegate call, as indices of values; empty for other instructions. They can be
    /// replaced by other indices or values.
    #[getter]
    fn args(&self) -> PyResult<Items<i32>> {
        self.read(|instruction, _| Ok(Items(instruction.args().iter().map(|id| id.0).collect())))
    }

    #[setter]
    fn set_args(&self, py: Python<'_>, args: Vec<Bound<'_, PyAny>>) -> PyResult<()> {
        let method = Method::new(self.program.0.clone_ref(py), self.method);
        let args: Vec<ValueId> = args.iter().map(|item| method.value_id(item)).collect::<PyResult<_>>()?;
        if !matches!(self.kind()?, "kernel" | "delegate") {
            return Err(PyTypeError::new_err("only a call of a kernel or delegate has arguments"));
        }
        self.change(|instruction| {
            if let Content::KernelCall { args: old, .. } | Content::DelegateCall { args: old, .. } = instruction {
                *old = Some(args.into_iter().collect());
            }
        })
    }

    /// Values that a move copies from and to; None for other instructions.
    #[getter]
    fn moved(&self) -> PyResult<Option<(i32, i32)>> {
        self.read(|instruction, _| Ok(instruction.moved().map(|(from, to)| (from.0, to.0))))
    }

    /// Index in its chain of the instruction that a jump continues with; None for other instructions.
    #[getter]
    fn destination(&self) -> PyResult<Option<i32>> {
        self.read(|instruction, _| Ok(instruction.destination()))
    }

    fn __repr__(&self) -> PyResult<String> {
        let what = self.operator()?.map_or_else(|| self.kind().map(str::to_owned), Ok)?;
        Ok(format!("<pte_emit.Instruction {what} {:?}>", self.args()?.0))
    }
}

#[pymethods]
impl Delegate {
    /// Name of the backend.
    #[getter]
    fn backend(&self) -> PyResult<String> {
        let state = self.program.get().lock();
        let delegate = state.plan(self.method)?.delegates().get(self.index).ok_or_else(|| gone("delegate"))?;
        Ok(delegate.id.clone().unwrap_or_default())
    }

    /// The payload, which can be replaced.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let blob = {
            let state = self.program.get().lock();
            let delegate = state.plan(self.method)?.delegates().get(self.index).ok_or_else(|| gone("delegate"))?;
            state.content.blob(delegate.processed).clone()
        };
        let bytes = blob.to_vec().map_err(|error| raised(py, &pte_emit::Error::io("", "", &error)))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[setter]
    fn set_payload(&self, payload: &Bound<'_, PyAny>) -> PyResult<()> {
        let blob = Blob::bytes(Bytes::of(payload)?.as_ref());
        let mut state = self.program.get().lock();
        let id = state.content.add_blob(blob);
        let delegates = state.plan_mut(self.method)?.delegates.iter_mut().flatten();
        delegates.into_iter().nth(self.index).ok_or_else(|| gone("delegate"))?.processed = id;
        Ok(())
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<pte_emit.Delegate {}>", self.backend()?))
    }
}
