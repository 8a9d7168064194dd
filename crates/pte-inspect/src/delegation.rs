//! The work of a program by operator: which calls run in delegates and which in kernels of the runtime, with their
//! multiply-accumulate operations (MACs), and the bytes that they read and write.
//!
//! It counts for the sizes in the file, which are upper bounds if they are dynamic. Each tensor that a call reads or
//! writes counts once per call: caches, and copies inside of kernels, are not considered. Instructions in loops and
//! branches count once.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;

use pte_analysis::operators::{AccessKind, MethodOperators, Usage};
use pte_model::program::{
    EValue, ExecutionPlan, Instruction, Memory, Operator, OperatorId, Program, TensorData, ValueId,
};
use pte_operators::facts::Products;
use pte_xnnpack::draft::{Draft, DraftNode};
use pte_xnnpack::payloads::Payloads;

/// Maximum number of items of lists that the calls of a method read.
const MAX_ITEMS: usize = 1 << 20;

/// Workload of the methods of a program.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Delegation {
    /// The methods, in order.
    pub methods: Vec<MethodWork>,
}

/// Workload of a method.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodWork {
    /// Name.
    pub name: String,
    /// Operations in delegates.
    pub delegated: Workload,
    /// Calls of kernels.
    pub kernels: Workload,
    /// By operator, those with most MACs first, then by bytes.
    pub operators: Vec<OperatorWork>,
}

/// Workload of an operator.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OperatorWork {
    /// Backend of the delegates; `None` for calls of kernels.
    pub backend: Option<String>,
    /// Operator, or operation of a payload. `(payload)` for payloads that are not decoded.
    pub operator: String,
    /// Workload of all its calls.
    #[serde(flatten)]
    pub work: Workload,
}

/// Figures of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Workload {
    /// Number of calls.
    pub calls: u64,
    /// Multiply-accumulate operations; those of operators whose number is not known are missing.
    pub macs: u64,
    /// Calls whose MACs are not known.
    pub unknown: u64,
    /// Bytes of the tensors that are read.
    pub read: u64,
    /// Bytes of the tensors that are written.
    pub written: u64,
}

impl Workload {
    fn times(self, count: u64) -> Workload {
        let Workload { calls, macs, unknown, read, written } = self;
        let [calls, macs, unknown, read, written] =
            [calls, macs, unknown, read, written].map(|figure| figure.saturating_mul(count));
        Workload { calls, macs, unknown, read, written }
    }

    fn add(&mut self, other: Workload) {
        let Workload { calls, macs, unknown, read, written } = other;
        self.calls = self.calls.saturating_add(calls);
        self.macs = self.macs.saturating_add(macs);
        self.unknown = self.unknown.saturating_add(unknown);
        self.read = self.read.saturating_add(read);
        self.written = self.written.saturating_add(written);
    }

    /// Returns the bytes that are read and written.
    pub fn bytes(&self) -> u64 {
        self.read.saturating_add(self.written)
    }
}

impl Delegation {
    /// Counts the work of a program. Payloads are decoded up to a limit in total.
    #[doc(hidden)]
    pub fn of(program: &Program) -> Delegation {
        let payloads = Payloads::of_program(program);
        Delegation { methods: program.plans().iter().map(|plan| method(plan, &payloads)).collect() }
    }
}

/// Work of one call, for a graph.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[doc(hidden)]
pub struct CallWork {
    /// Multiply-accumulate operations; `None` if their number is not known.
    pub macs: Option<u64>,
    /// Bytes of the constants that are read.
    pub constant: u64,
    /// Bytes of the other tensors that are read.
    pub read: u64,
    /// Bytes of the tensors that are written.
    pub written: u64,
}

/// Counts the work of the calls of kernels of a method, by instruction; `None` for other instructions.
#[doc(hidden)]
pub fn kernel_calls(plan: &ExecutionPlan, operators: &MethodOperators) -> Vec<Option<CallWork>> {
    let mut items = MAX_ITEMS;
    let mut work = |instruction: &Instruction| {
        let Instruction::KernelCall { .. } = instruction else { return None };
        let (work, constant) = call(plan, operators, instruction, &mut items);
        let macs = (work.unknown == 0).then_some(work.macs);
        Some(CallWork { macs, constant, read: work.read.saturating_sub(constant), written: work.written })
    };
    plan.instructions().map(&mut work).collect()
}

fn method(plan: &ExecutionPlan, payloads: &Payloads) -> MethodWork {
    let operators = MethodOperators::known(plan);
    let mut kernels: BTreeMap<OperatorId, Workload> = BTreeMap::new();
    let mut calls: BTreeMap<usize, u64> = BTreeMap::new();
    let mut items = MAX_ITEMS;
    for instruction in plan.instructions() {
        match instruction {
            Instruction::KernelCall { op_index, .. } => {
                kernels.entry(*op_index).or_default().add(call(plan, &operators, instruction, &mut items).0);
            }
            Instruction::DelegateCall { delegate_index, .. } => {
                let delegate = delegate_index.within(plan.delegates().len());
                delegate.into_iter().for_each(|delegate| *calls.entry(delegate).or_default() += 1);
            }
            Instruction::MoveCall { .. }
            | Instruction::JumpFalseCall { .. }
            | Instruction::FreeCall { .. }
            | Instruction::Unknown { .. } => {}
        }
    }
    let mut found: BTreeMap<(Option<String>, String), Workload> = BTreeMap::new();
    for (operator, work) in kernels {
        let operator = plan.operators.as_deref().and_then(|operators| operator.item(operators));
        let name = operator.and_then(Operator::full_name).unwrap_or_default();
        found.entry((None, name)).or_default().add(work);
    }
    for (delegate, count) in calls {
        let delegate = &plan.delegates()[delegate];
        let backend = delegate.id.clone().unwrap_or_default();
        let mut add = |name: &str, work: Workload| {
            found.entry((Some(backend.clone()), name.to_owned())).or_default().add(work.times(count));
        };
        match payloads.xnnpack(delegate).and_then(|payload| payload.draft().ok()) {
            Some(draft) => draft.nodes.iter().for_each(|node| add(node.operation.word(), operation(draft, node))),
            None => add("(payload)", Workload { calls: 1, unknown: 1, ..Workload::default() }),
        }
    }
    let mut work = MethodWork { name: plan.name.clone().unwrap_or_default(), ..MethodWork::default() };
    for ((backend, operator), counted) in found {
        let total = if backend.is_some() { &mut work.delegated } else { &mut work.kernels };
        total.add(counted);
        work.operators.push(OperatorWork { backend, operator, work: counted });
    }
    work.operators.sort_by_key(|row| std::cmp::Reverse((row.work.macs, row.work.bytes(), row.work.calls)));
    work
}

/// Returns the figures of a call of a kernel, and the bytes of the constants that it reads. `items` are the items of
/// lists that may still be read.
fn call(
    plan: &ExecutionPlan,
    operators: &MethodOperators,
    instruction: &Instruction,
    items: &mut usize,
) -> (Workload, u64) {
    let mut work = Workload { calls: 1, ..Workload::default() };
    let mut constant = 0u64;
    // Outs are arguments twice, alone or in a list.
    let mut seen = HashSet::new();
    let is_once = |usage: &Usage| usage.kind != AccessKind::RepeatedOut;
    for usage in operators.uses(instruction).filter(is_once) {
        let Some(value) = plan.value(usage.value).filter(|_| seen.insert(usage.value)) else { continue };
        let to = if usage.kind.may_write() { &mut work.written } else { &mut work.read };
        let mut add = |value: &EValue| {
            let Some(tensor) = value.as_tensor() else { return };
            let bytes = tensor.nbytes().unwrap_or(0);
            *to = to.saturating_add(bytes);
            if !usage.kind.may_write() && tensor.memory == Memory::None && tensor.data != TensorData::None {
                constant = constant.saturating_add(bytes);
            }
        };
        add(value);
        let list = value.as_tensors();
        let count = list.len().min(*items);
        *items -= count;
        list[..count].iter().filter_map(|item| plan.value(*item)).for_each(&mut add);
    }
    let known = operators.called(instruction).filter(|known| known.library.is_none() && known.rule.is_some());
    let macs =
        known.and_then(|known| products(known.facts.products, plan, instruction.args(), known.outs.first().copied()));
    (work.macs, work.unknown) = (macs.unwrap_or(0), u64::from(macs.is_none()));
    (work, constant)
}

/// Returns the figures of an operation of a graph.
fn operation(draft: &Draft, node: &DraftNode) -> Workload {
    let bytes = |is_output: bool| {
        let values = node.values(is_output).filter_map(|value| draft.values.get(value));
        values.fold(0, |sum: u64, value| sum.saturating_add(value.nbytes()))
    };
    let macs = draft.products(node);
    let (read, written) = (bytes(false), bytes(true));
    Workload { calls: 1, macs: macs.unwrap_or(0), unknown: u64::from(macs.is_none()), read, written }
}

/// Returns the number of products of a call; `None` if its sizes are not known.
fn products(kind: Option<Products>, plan: &ExecutionPlan, args: &[ValueId], out: Option<usize>) -> Option<u64> {
    let Some(kind) = kind else { return Some(0) };
    let value = |at: usize| plan.value(*args.get(at)?);
    let sizes = |at: usize| value(at)?.as_tensor()?.sizes.as_deref();
    let count =
        |sizes: &[i32]| sizes.iter().try_fold(1u64, |count, size| count.checked_mul(u64::try_from(*size).ok()?));
    match kind {
        Products::Inner(at) => count(sizes(out?)?)?.checked_mul(u64::try_from(*sizes(at)?.last()?).ok()?),
        Products::Filter { input, filter, transposed } => {
            let filter = sizes(filter)?;
            let of = match value(transposed)? {
                EValue::Bool(true) => sizes(input)?,
                _ => sizes(out?)?,
            };
            count(of)?.checked_mul(count(filter.get(1..)?)?)
        }
    }
}
