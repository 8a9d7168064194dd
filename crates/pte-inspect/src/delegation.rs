//! The work of a program by operator: which calls run in delegates and which in kernels of the runtime, with their
//! multiply-accumulate operations (MACs), and the bytes that they read and write.
//!
//! It counts for the sizes in the file, which are upper bounds if they are dynamic. Each tensor that a call reads or
//! writes counts once per call: caches, and copies inside of kernels, are not considered. Instructions in loops and
//! branches count once.

use std::collections::BTreeMap;

use serde::Serialize;

use pte_analysis::operators::MethodOperators;
use pte_model::program::{EValue, ExecutionPlan, Instruction, Program, ValueId};
use pte_operators::facts::Products;
use pte_xnnpack::draft::{Draft, DraftNode};
use pte_xnnpack::payloads::Payloads;

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

fn method(plan: &ExecutionPlan, payloads: &Payloads) -> MethodWork {
    let operators = MethodOperators::known(plan);
    let mut found: BTreeMap<(Option<String>, String), Workload> = BTreeMap::new();
    let mut drafts: BTreeMap<usize, Vec<(String, Workload)>> = BTreeMap::new();
    for instruction in plan.instructions() {
        match instruction {
            Instruction::KernelCall { op_index, .. } => {
                let operator = plan.operators.as_deref().and_then(|operators| op_index.item(operators));
                let name = operator.and_then(|operator| operator.full_name()).unwrap_or_default();
                let mut work = Workload { calls: 1, ..Workload::default() };
                let mut seen = Vec::new();
                for usage in operators.uses(instruction) {
                    // Outs are arguments twice.
                    if seen.contains(&usage.value) {
                        continue;
                    }
                    seen.push(usage.value);
                    let bytes = plan.value(usage.value).and_then(EValue::as_tensor).and_then(|tensor| tensor.nbytes());
                    let to = if usage.kind.may_write() { &mut work.written } else { &mut work.read };
                    *to = to.saturating_add(bytes.unwrap_or(0));
                }
                let known = operators.called(instruction);
                let results = |known: &pte_analysis::operators::ResolvedOperator| {
                    products(known.facts.products, plan, instruction.args(), known.outs.first().copied())
                };
                match known.map_or(Some(0), results) {
                    Some(macs) => work.macs = macs,
                    None => work.unknown = 1,
                }
                found.entry((None, name)).or_default().add(work);
            }
            Instruction::DelegateCall { delegate_index, .. } => {
                let delegates = plan.delegates.as_deref().unwrap_or_default();
                let Some((index, delegate)) =
                    delegate_index.within(delegates.len()).map(|index| (index, &delegates[index]))
                else {
                    continue;
                };
                let backend = delegate.id.clone().unwrap_or_default();
                let rows = drafts.entry(index).or_insert_with(|| {
                    let draft = payloads.xnnpack(delegate).and_then(|payload| payload.draft().ok());
                    draft.map_or_else(
                        || vec![("(payload)".to_owned(), Workload { calls: 1, unknown: 1, ..Workload::default() })],
                        |draft| draft.nodes.iter().map(|node| operation(draft, node)).collect(),
                    )
                });
                for (name, work) in rows.iter() {
                    found.entry((Some(backend.clone()), name.clone())).or_default().add(*work);
                }
            }
            Instruction::MoveCall { .. }
            | Instruction::JumpFalseCall { .. }
            | Instruction::FreeCall { .. }
            | Instruction::Unknown { .. } => {}
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

/// Returns the figures of an operation of a graph.
fn operation(draft: &Draft, node: &DraftNode) -> (String, Workload) {
    let bytes = |is_output: bool| {
        let values = node.values(is_output).filter_map(|value| draft.values.get(value));
        values.fold(0, |sum: u64, value| sum.saturating_add(value.nbytes()))
    };
    let macs = draft.products(node);
    let (read, written) = (bytes(false), bytes(true));
    let work = Workload { calls: 1, macs: macs.unwrap_or(0), unknown: u64::from(macs.is_none()), read, written };
    (node.operation.word().to_owned(), work)
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
