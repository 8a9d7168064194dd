//! Checks kinds and memory of values at each instruction, along the control flow (`X-23`, `X-24`, `X-26`, and `X-7` for
//! views of constants).
//!
//! This is a forward analysis over basic blocks. The state of a value is the set of facts that hold on some path to the
//! instruction. Where paths meet, it is their union. The end of the method leads to its start, because a method can be
//! executed several times. Only values whose state changes are followed. `super::initialisation` covers the contents of
//! tensors.

use std::collections::BTreeSet;

use super::super::finding::{Findings, Locator};
use super::control::ControlFlow;
use super::limits;
use super::method::MethodAnalysis;
use crate::RuleId::{self, *};
use pte_analysis::access::Access;
use pte_analysis::blocks::{self, Block};
use pte_analysis::operators::{AccessKind, ResolvedOperator};
use pte_model::diagnostics::clipped;
use pte_model::format::ScalarType;
use pte_model::program::instruction::Callee;
use pte_model::program::{EValue, Instruction, ValueId};
use pte_operators::Base;
use pte_operators::kinds::{Kinds, ResultKinds};

/// Maximum number of items of lists that moves compare. It keeps the work linear in the size of the file.
const MAX_ITEMS: usize = 64;

/// Kinds and memory that a value may have. Without kinds, nothing is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State(u32);

impl State {
    const UNKNOWN: State = State(0);
    /// A tensor without memory.
    const NO_MEMORY: State = State(1 << 16);
    /// A tensor in the memory of a constant.
    const CONSTANT: State = State(1 << 17);

    fn of(kinds: Kinds) -> State {
        State(u32::from(kinds.0))
    }

    fn kinds(self) -> Kinds {
        Kinds(self.0 as u16)
    }

    fn has(self, other: State) -> bool {
        self.0 & other.0 != 0
    }

    fn or(self, other: State) -> State {
        State(self.0 | other.0)
    }

    fn and(self, other: State) -> State {
        State(self.0 & other.0)
    }
}

/// The values that are followed, and their states at the start of the method.
struct Analysis<'m, 'p> {
    method: &'m MethodAnalysis<'p>,
    /// By value: its slot, which is its index among the followed values.
    slots: Vec<Option<u32>>,
    /// Followed values, by slot.
    values: Vec<u32>,
    /// State at the start of the method.
    initial: Vec<State>,
}

/// Checks the kinds and the memory of values where instructions use them.
pub fn check(method: &MethodAnalysis<'_>, flow: &ControlFlow, findings: &mut Findings, locate: &Locator<'_>) {
    let Some(analysis) = Analysis::new(method) else { return };
    let blocks = blocks::blocks(&flow.edges(), method.end());
    let Some(entries) = analysis.solve(&blocks, flow) else {
        return method.report(&limits::STATES, findings, locate);
    };
    let mut reporter = Reporter { reported: BTreeSet::new(), findings, locate };
    for (block, entry) in blocks.iter().zip(entries) {
        let Some(mut state) = entry else { continue };
        for step in block.first..block.end {
            analysis.check_step(step, &state, &mut reporter);
            analysis.run(step, &mut state);
        }
    }
}

impl<'m, 'p> Analysis<'m, 'p> {
    /// Finds the values to follow; `None` if there are none, which is the case for most methods.
    fn new(method: &'m MethodAnalysis<'p>) -> Option<Analysis<'m, 'p>> {
        let mut is_output = vec![false; method.values().len()];
        for output in method.step_accesses(method.end()) {
            is_output[output.value as usize] = true;
        }
        let mut is_replaced = vec![false; method.values().len()];
        for access in &method.accesses().list {
            is_replaced[access.value as usize] |= access.kind == AccessKind::Alias;
        }
        let mut analysis = Analysis { method, slots: Vec::new(), values: Vec::new(), initial: Vec::new() };
        for (value, facts) in method.facts.iter().enumerate() {
            let kinds = method.stated[value];
            // Memory of a tensor of unbounded size is not in the file.
            let has_memory = facts.has_data || facts.is_planned || facts.is_named || facts.is_unbound;
            let from_caller = method.is_input[value] || is_output[value];
            let memory = match () {
                () if !facts.has_bytes => State::UNKNOWN,
                () if facts.has_data && !facts.is_planned => State::CONSTANT,
                // A tensor that never gets memory is X-3.
                () if is_replaced[value] && !has_memory && !from_caller => State::NO_MEMORY,
                () => State::UNKNOWN,
            };
            analysis.initial.push(State::of(kinds).or(memory));
            let is_followed = is_replaced[value] || method.kinds[value] != kinds;
            analysis.slots.push(is_followed.then_some(analysis.values.len() as u32));
            analysis.values.extend(is_followed.then_some(value as u32));
        }
        (!analysis.values.is_empty()).then_some(analysis)
    }

    /// Returns, by block, the states at its start; `None` for an unreachable block. The result as a whole is `None` if
    /// the work exceeds its bound.
    fn solve(&self, blocks: &[Block], flow: &ControlFlow) -> Option<Vec<Option<Vec<State>>>> {
        let mut work = self.method.budget(&limits::STATES);
        let initial = self.values.iter().map(|value| self.initial[*value as usize]).collect();
        let run = |block: &Block, state: &mut [State]| {
            let accesses: usize = (block.first..block.end).map(|step| self.method.step_accesses(step).len() + 1).sum();
            work.spend(3 * state.len() + accesses)?;
            (block.first..block.end).for_each(|step| self.run(step, state));
            Some(())
        };
        blocks::solve(blocks, &flow.edges(), self.method.end(), initial, run, |_, one, other| one.or(*other))
    }

    fn state(&self, value: usize, states: &[State]) -> State {
        self.slots[value].map_or(self.initial[value], |slot| states[slot as usize])
    }

    fn set(&self, value: usize, state: State, states: &mut [State]) {
        if let Some(slot) = self.slots[value] {
            states[slot as usize] = state;
        }
    }

    /// Applies the effect of a step to the states.
    fn run(&self, step: u32, states: &mut [State]) {
        let instruction = &self.method.steps[step as usize];
        match instruction.instruction.callee() {
            Some(Callee::Operator(_)) => match self.method.call(instruction) {
                Some((known, args)) => self.run_kernel(known, args, states),
                None => {
                    for access in self.method.step_accesses(step) {
                        self.set(access.value as usize, State::UNKNOWN, states);
                    }
                }
            },
            // Only memory of tensors of unbounded size is freed (I-26).
            Some(Callee::Delegate(_)) => {}
            None => {
                let value = |index| self.method.value(index);
                let moved = instruction.instruction.moved();
                if let Some((from, to)) = moved.and_then(|(from, to)| value(from).zip(value(to))) {
                    self.set(to, self.state(from, states), states);
                }
            }
        }
    }

    /// Applies the result of a kernel without outs, which replaces its last argument.
    fn run_kernel(&self, known: &ResolvedOperator, args: &[ValueId], states: &mut [State]) {
        let signature = &known.signature;
        let Some(result) = signature.result.filter(|_| args.len() == signature.args.len() + 1) else { return };
        let Some(value) = args.last().and_then(|value| self.method.value(*value)) else { return };
        let arg = |position: usize| {
            let value = args.get(position).and_then(|value| self.method.value(*value));
            value.map_or(State::UNKNOWN, |value| self.state(value, states))
        };
        let new = match result {
            // A tensor without memory cannot be viewed.
            Base::Tensor if known.facts.aliased.is_some() => State::of(Kinds::TENSOR).or(arg(0).and(State::CONSTANT)),
            Base::Tensor => arg(0),
            Base::Int => State::of(Kinds::INT),
            Base::Float => State::of(Kinds::DOUBLE),
            Base::Bool => State::of(Kinds::BOOL),
            Base::Scalar | Base::Str | Base::Dtype | Base::MemoryFormat => State::of(match known.facts.result_kinds {
                Some(ResultKinds::Always(kinds)) => kinds,
                Some(ResultKinds::Promoted) => arg(0).kinds().promoted(arg(1).kinds()),
                Some(ResultKinds::OneOf(positions)) => {
                    positions.iter().fold(Kinds::NONE, |kinds, position| kinds.or(arg(*position).kinds()))
                }
                Some(ResultKinds::Element) => self.element_kinds(args),
                None => Kinds::NONE,
            }),
        };
        self.set(value, new, states);
    }

    /// Returns the kind of the element of a tensor, the first argument.
    fn element_kinds(&self, args: &[ValueId]) -> Kinds {
        let value = args.first().and_then(|value| self.method.value(*value));
        let Some(EValue::Tensor(tensor)) = value.map(|value| &self.method.values()[value]) else { return Kinds::NONE };
        match tensor.scalar_type {
            ScalarType::BYTE | ScalarType::CHAR | ScalarType::SHORT | ScalarType::INT | ScalarType::LONG => Kinds::INT,
            ScalarType::BOOL => Kinds::BOOL,
            ScalarType::HALF | ScalarType::FLOAT | ScalarType::DOUBLE | ScalarType::BFLOAT16 => Kinds::DOUBLE,
            _ => Kinds::NONE,
        }
    }

    fn check_step(&self, step: u32, states: &[State], reporter: &mut Reporter<'_>) {
        let instruction = &self.method.steps[step as usize];
        let call = self.method.call(instruction);
        let call = call.filter(|(known, args)| args.len() == known.arguments());
        match instruction.instruction {
            Instruction::KernelCall { .. } => {
                let Some((known, args)) = call else { return };
                for access in self.method.step_accesses(step) {
                    self.check_kernel_access(known, args, access, states, reporter);
                }
            }
            Instruction::DelegateCall { .. } | Instruction::JumpFalseCall { .. } => {
                let is_call = matches!(instruction.instruction, Instruction::DelegateCall { .. });
                // The last argument of a delegate is a result.
                let result = self.method.step_accesses(step).iter().map(|access| access.arg).max();
                for access in self.method.step_accesses(step) {
                    self.check_memory(access, states, reporter);
                    if is_call && result == Some(access.arg) {
                        self.check_constant(access, states, reporter);
                    }
                }
            }
            Instruction::MoveCall { move_from, move_to } => {
                let value = |index: &ValueId| self.method.value(*index).map(|value| &self.method.values()[value]);
                let (Some(from), Some(to)) = (value(move_from), value(move_to)) else { return };
                if !may_replace(from, to) {
                    reporter.findings.add(X_26, || {
                        let found = format!("a move of {} over {}", described(from), described(to));
                        let expected = "a value of the same element type, sizes or items".to_owned();
                        ((reporter.locate)(&self.method.at(step)), found, expected)
                    });
                }
            }
            Instruction::FreeCall { .. } | Instruction::Unknown { .. } => {}
        }
    }

    fn check_kernel_access(
        &self,
        known: &ResolvedOperator,
        args: &[ValueId],
        access: &Access,
        states: &[State],
        reporter: &mut Reporter<'_>,
    ) {
        let value = access.value as usize;
        let state = self.state(value, states);
        let Some(arg) = known.signature.args.get(access.arg as usize) else {
            // The kernel of a view reads the tensor that the result replaces; other results are not read.
            if known.facts.aliased.is_some() && state.kinds().without(Kinds::TENSOR) != Kinds::NONE {
                self.report_kind(known, access, state, Kinds::TENSOR, reporter);
            }
            return;
        };
        let is_item = args.get(access.arg as usize).is_none_or(|arg| self.method.value(*arg) != Some(value));
        let accepted = match is_item {
            true => arg.kind.item_kinds(),
            false => known.accepted(access.arg as usize),
        };
        // A value that never has an accepted kind is a finding of O-2 or O-3.
        if state.kinds().without(accepted) != Kinds::NONE && self.method.kinds[value].meets(accepted) {
            self.report_kind(known, access, state, accepted, reporter);
        } else if !known.facts.reads_sizes {
            self.check_memory(access, states, reporter);
            if access.kind.writes_bytes() {
                self.check_constant(access, states, reporter);
            }
        }
    }

    /// Reports a write to a value that has the memory of a constant by a move or a view.
    fn check_constant(&self, access: &Access, states: &[State], reporter: &mut Reporter<'_>) {
        let value = access.value as usize;
        if self.state(value, states).has(State::CONSTANT) && !self.initial[value].has(State::CONSTANT) {
            reporter.add(X_7, self.method, access, || {
                let found = format!("a write to values[{value}], which has the memory of a constant");
                (found, "a tensor in planned memory".to_owned())
            });
        }
    }

    fn report_kind(
        &self,
        known: &ResolvedOperator,
        access: &Access,
        state: State,
        accepted: Kinds,
        reporter: &mut Reporter<'_>,
    ) {
        reporter.add(X_23, self.method, access, || {
            let wrong = state.kinds().without(accepted);
            let found = format!("values[{}], which is of kind {} here", access.value, wrong.names());
            (found, format!("{} for {}", accepted.names(), known.name))
        });
    }

    fn check_memory(&self, access: &Access, states: &[State], reporter: &mut Reporter<'_>) {
        if self.state(access.value as usize, states).has(State::NO_MEMORY) {
            reporter.add(X_24, self.method, access, || {
                let found = format!("values[{}], which has no memory here", access.value);
                (found, "an earlier view or move on each path that gives it memory".to_owned())
            });
        }
    }
}

/// Returns `true` if a value may replace another one whose properties are used to check kernels.
fn may_replace(from: &EValue, to: &EValue) -> bool {
    match (from, to) {
        (EValue::Tensor(from), EValue::Tensor(to)) => {
            from.sizes.as_deref().is_none_or(|sizes| sizes.len() <= MAX_ITEMS)
                && from.scalar_type == to.scalar_type
                && from.sizes == to.sizes
                && from.dim_order == to.dim_order
        }
        // Numbers are followed (`super::values`).
        (
            EValue::Null | EValue::Int(_) | EValue::Bool(_) | EValue::Double(_),
            EValue::Null | EValue::Int(_) | EValue::Bool(_) | EValue::Double(_),
        ) => true,
        (EValue::String(from), EValue::String(to)) => {
            from.as_deref().is_none_or(|text| text.len() <= MAX_ITEMS) && from == to
        }
        (from, to) if from.tag() == to.tag() => length(from) <= MAX_ITEMS && from == to,
        // Another kind is X-23.
        _ => true,
    }
}

/// Returns the number of items of a list.
fn length(value: &EValue) -> usize {
    match value {
        EValue::DoubleList(items) => items.as_ref().map_or(0, Vec::len),
        EValue::BoolList(items) => items.as_ref().map_or(0, Vec::len),
        list => list.items().len(),
    }
}

fn described(value: &EValue) -> String {
    match value {
        EValue::Tensor(tensor) => {
            let (sizes, order) = (tensor.sizes.as_deref(), tensor.dim_order.as_deref());
            let (sizes, order) = (sizes.unwrap_or_default(), order.unwrap_or_default());
            clipped(&format!("a tensor of {} {sizes:?} with dim_order {order:?}", tensor.scalar_type))
        }
        _ => format!("another {}", value.kind()),
    }
}

/// Reports the first violation of each rule by each value.
struct Reporter<'f> {
    reported: BTreeSet<(RuleId, u32)>,
    findings: &'f mut Findings,
    locate: &'f Locator<'f>,
}

impl Reporter<'_> {
    fn add(
        &mut self,
        rule: RuleId,
        method: &MethodAnalysis<'_>,
        access: &Access,
        texts: impl FnOnce() -> (String, String),
    ) {
        if self.reported.insert((rule, access.value)) {
            self.findings.add(rule, || {
                let (found, expected) = texts();
                ((self.locate)(&method.element_of(access)), found, expected)
            });
        }
    }
}
