//! Computes the lifetimes of the values of a method from the first use to the last, like the exporter
//! (docs/format.md, "Lifetimes"). They are extended over loops, which the exporter does not emit. The planner of
//! `pte-emit` assigns the memory.

pub mod executed;
pub mod getitems;
pub mod regions;

use std::collections::{BTreeMap, BTreeSet};

pub use crate::aliases::value_requests;
use crate::aliases::{Alias, AliasKind};
use crate::blocks::Skips;
use crate::lifetimes::{FirstUse, Spans};
use crate::method::Method;
use crate::operators::{AccessKind, MethodOperators, Usage};
use pte_model::program::{EValue, ExecutionPlan, Instruction, Memory, TensorData, ValueId};
use regions::Regions;

/// Lifetimes of the values of a method. Time 0 is before the first instruction, instruction `i` is at `i + 1`, and the
/// outputs are read at [`Lifetimes::end`].
pub struct Lifetimes {
    /// By value, in the times of the part of the method to which it belongs.
    pub spans: Spans<Regions>,
    /// Time at which the outputs are read.
    pub end: u32,
    /// Buffers and inputs that are written in place, in the order of the last writes.
    pub write_backs: Vec<usize>,
}

impl Lifetimes {
    /// Returns first and last time of a value; (0, 0) if it is unused.
    pub fn of(&self, value: usize) -> (u32, u32) {
        self.spans.of(value)
    }

    /// Returns the parts of the method that are planned separately.
    pub fn regions(&self) -> &Regions {
        &self.spans.clock
    }
}

/// Computes the lifetimes of the values of a method (docs/format.md, "Lifetimes") with [`Method::requests`].
pub fn lifetimes(method: &Method<'_>) -> Lifetimes {
    let (plan, operators, requested) = (method.plan, &method.operators, method.requests());
    let count = plan.instructions().count() as u32;
    let mut spans = Spans::new(Regions::find(method), plan.values().len());
    let inputs: BTreeSet<ValueId> = plan.inputs.iter().flatten().copied().collect();
    inputs.iter().for_each(|input| spans.touch(*input, 0));
    let jumps: Vec<_> = method.jumps().iter().copied().filter(|jump| !spans.clock.is_body(jump.step + 1)).collect();
    let mut pass = InstructionPass::new(plan, requested, &inputs);
    let mut branches = Skips::new(&jumps);
    for (step, instruction) in (0..).zip(plan.instructions()) {
        let time = step + 1;
        for usage in operators.uses(instruction) {
            pass.record(operators, instruction, usage, time);
            spans.touch(usage.value, time);
        }
        // The target of the moves of a branch is live from the jump before the branch (E-10).
        if let (Instruction::MoveCall { move_to, .. }, Some(jump)) = (instruction, branches.around(step)) {
            spans.touch(*move_to, jump.step + 1);
        }
    }
    let InstructionPass { first, last_writes, .. } = pass;
    let write_backs = write_backs(plan, &last_writes);
    let written_back: BTreeSet<usize> = write_backs.iter().copied().collect();
    for output in plan.outputs.iter().flatten() {
        // An input that is written back is not read at the end: the caller owns it.
        let is_written_back = output.get().is_some_and(|index| written_back.contains(&index));
        if !(inputs.contains(output) && is_written_back) {
            spans.touch(*output, count + 1);
        }
    }
    for call in getitems::taken_apart(plan, operators) {
        call.results.into_iter().for_each(|result| spans.touch(ValueId::of(result), call.instruction + 1));
    }
    spans.touch_items(plan);
    // The base of a view may be an earlier view.
    for alias in method.aliases().iter().rev() {
        if !is_planned_as_copy(&spans.clock, alias, requested) {
            spans.touch_base(alias.result, alias.base);
        }
    }
    spans.touch_bases(requested);
    for (value, memory) in requested.iter().enumerate() {
        if let Memory::Auto { persistent: true, .. } = memory {
            spans.list[value] = Some((0, count + 1));
        }
    }
    spans.carry_around_loops(&jumps, &first);
    spans.carry_over_executions(method.kept());
    Lifetimes { spans, end: count + 1, write_backs }
}

/// Returns `true` for a move of a result of a branch of `torch.cond`: the exporter plans as if it copied, so that later
/// parts may overwrite the result (docs/format.md, "Submodules"). It exports no branch whose result has memory of the
/// method around it.
fn is_planned_as_copy(regions: &Regions, alias: &Alias, requested: &[Memory]) -> bool {
    let base = match requested[alias.base] {
        Memory::View { base } if (base as usize) < requested.len() => base as usize,
        Memory::None | Memory::Auto { .. } | Memory::View { .. } | Memory::At { .. } => alias.base,
    };
    let part = regions.innermost(alias.step + 1);
    let is_inside = regions.owners[base].is_none_or(|owner| regions.is_inside(owner, part));
    alias.kind == AliasKind::Move && part != 0 && is_inside
}

/// State of the pass over the instructions.
struct InstructionPass<'p> {
    plan: &'p ExecutionPlan,
    requested: &'p [Memory],
    inputs: &'p BTreeSet<ValueId>,
    /// First use of each value.
    first: Vec<FirstUse>,
    /// Times of the last writes to state and inputs in place.
    last_writes: BTreeMap<usize, u32>,
}

impl<'p> InstructionPass<'p> {
    fn new(plan: &'p ExecutionPlan, requested: &'p [Memory], inputs: &'p BTreeSet<ValueId>) -> InstructionPass<'p> {
        let first = vec![FirstUse::None; plan.values().len()];
        InstructionPass { plan, requested, inputs, first, last_writes: BTreeMap::new() }
    }

    /// Records a use of a value, and the first one of its items.
    fn record(&mut self, operators: &MethodOperators, instruction: &Instruction, usage: Usage, time: u32) {
        let Some(index) = usage.value.within(self.first.len()) else { return };
        let is_state = matches!(self.requested[index], Memory::Auto { persistent: true, .. });
        let is_delegate = matches!(instruction, Instruction::DelegateCall { .. });
        // A delegate does not write the state of a method.
        let is_unknown = usage.kind == AccessKind::Unknown && !(is_state && is_delegate);
        let is_operand = instruction.args().is_empty();
        let is_written = usage.kind.is_result() || is_unknown;
        if self.first[index] == FirstUse::None && !is_operand {
            for item in self.plan.values()[index].as_tensors() {
                item.item_mut(&mut self.first).into_iter().for_each(|first| first.record(is_written));
            }
        }
        if is_written || !is_operand {
            self.first[index].record(is_written);
        }
        let returned = operators.called(instruction).is_some_and(|known| known.signature.result.is_some());
        if usage.kind.is_in_place() && returned && self.first[index] != FirstUse::Written {
            // State that the caller places is written back like planned state.
            let tensor = self.plan.values()[index].as_tensor();
            let is_unplanned =
                tensor.is_some_and(|tensor| tensor.data == TensorData::None) && self.requested[index] == Memory::None;
            if is_state || self.inputs.contains(&usage.value) || is_unplanned {
                self.last_writes.insert(index, time);
            }
        }
    }
}

/// Returns the tensors written in place, in the order of the last writes.
fn write_backs(plan: &ExecutionPlan, last_writes: &BTreeMap<usize, u32>) -> Vec<usize> {
    let mut targets: Vec<(u32, usize)> = last_writes
        .iter()
        .filter(|(target, _)| matches!(plan.values().get(**target), Some(EValue::Tensor(_))))
        .map(|(target, time)| (*time, *target))
        .collect();
    targets.sort_unstable();
    targets.into_iter().map(|(_, target)| target).collect()
}

/// Names and memory of the values of a method in its YAML.
#[derive(Debug, Clone, Default)]
pub struct MethodValues {
    /// Name of each value; `None` for a literal that is printed at its use.
    pub names: Vec<Option<String>>,
    /// Memory of each value as a request to the planner: state is persistent, and views name their base.
    pub memory: Vec<Memory>,
}
