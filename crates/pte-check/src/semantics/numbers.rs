//! Finds the Ints that a value may be at a call, for the constraints of kernels (`super::super::operators`), by a
//! forward analysis.
//!
//! Ints in the file are followed through moves, and calls with few possible Ints are computed. Each Int that is found
//! is possible on some path, without regard to the conditions of its jumps. Ints that depend on inputs are not known;
//! loop counters are if `super::execution` can execute the loop.

use std::cell::Cell;

use smallvec::SmallVec;

use super::super::finding::{Findings, Locator};
use super::control::ControlFlow;
use super::execution::{self, Assumption, Assumptions, Executed};
use super::limits;
use super::method::MethodAnalysis;
use pte_analysis::blocks::{self, Block, Jump};
use pte_analysis::inference::Inference;
use pte_analysis::operators::{AccessKind, ResolvedOperator};
use pte_model::program::instruction::Callee;
use pte_model::program::{EValue, ValueId};
use pte_operators::Base;
use pte_operators::inference::{InferenceError, IntMeta, ResultMeta};
use pte_operators::kinds::Kinds;

/// Maximum number of combinations of Ints with which a call is checked.
const MAX_COMBINATIONS: usize = 256;

/// Ints in a list; few without an allocation.
type FewInts = SmallVec<[i64; 4]>;

/// Ints that a value may be.
#[derive(Debug, Clone, PartialEq)]
struct Ints {
    /// Ints of the file, ascending.
    stated: FewInts,
    /// Results of calls, ascending; empty if any Int is possible, as for a loop counter.
    computed: FewInts,
    /// Other possible Ints.
    rest: Rest,
}

/// Set of other possible Ints; the variants are in ascending order of their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rest {
    None,
    /// A size that only execution determines.
    AtMost(i64),
    Any,
}

impl Ints {
    fn none() -> Ints {
        Ints { stated: SmallVec::new(), computed: SmallVec::new(), rest: Rest::None }
    }

    fn any() -> Ints {
        Ints { rest: Rest::Any, ..Ints::none() }
    }

    /// Returns the Int in the file. A value of another kind may be any Int.
    fn of(value: &EValue) -> Ints {
        let EValue::Int(int) = value else { return Ints::any() };
        Ints { stated: SmallVec::from_slice(&[*int]), ..Ints::none() }
    }

    /// Returns the result of a call.
    fn computed(result: IntMeta) -> Ints {
        match result {
            IntMeta::Exact(int) => Ints { computed: SmallVec::from_slice(&[int]), ..Ints::none() },
            IntMeta::AtMost(most) => Ints { rest: Rest::AtMost(most), ..Ints::none() },
            IntMeta::Unknown => Ints::any(),
        }
    }

    /// Returns the Ints that a value may be if it is either of the two.
    /// `is_widened` becomes true if these are more than the limit: the value is then taken for a loop counter.
    fn join(&self, other: &Ints, is_widened: &Cell<bool>) -> Ints {
        let mut joined = self.clone();
        add(&mut joined.stated, &other.stated);
        add(&mut joined.computed, &other.computed);
        let fits = joined.computed.len() <= limits::COMPUTED.of(0);
        is_widened.set(is_widened.get() || !fits);
        joined.rest = if fits { self.rest.max(other.rest) } else { Rest::Any };
        if joined.rest == Rest::Any {
            joined.computed.clear();
        }
        joined
    }

    fn possibilities(&self) -> impl Iterator<Item = IntMeta> {
        let rest = match self.rest {
            Rest::None => None,
            Rest::AtMost(most) => Some(IntMeta::AtMost(most)),
            Rest::Any => Some(IntMeta::Unknown),
        };
        self.stated.iter().chain(&self.computed).map(|int| IntMeta::Exact(*int)).chain(rest)
    }
}

/// Adds Ints to an ascending list.
fn add(ints: &mut FewInts, more: &[i64]) {
    for int in more {
        if let Err(at) = ints.binary_search(int) {
            ints.insert(at, *int);
        }
    }
}

/// The values that are followed.
struct Analysis<'m, 'p> {
    method: &'m MethodAnalysis<'p>,
    inference: Inference,
    /// Values, by slot.
    values: Vec<usize>,
    /// By value: its slot, which is its index among the followed values.
    slots: Vec<Option<u32>>,
    /// A value may be more Ints than the limit.
    is_widened: Cell<bool>,
}

/// Returns the possible Ints of values that instructions write, at the calls that read them. Calls for which they are
/// not known are missing.
pub fn assumptions(
    method: &MethodAnalysis<'_>,
    flow: &ControlFlow,
    findings: &mut Findings,
    locate: &Locator<'_>,
) -> Assumptions {
    let Some(mut analysis) = Analysis::new(method) else { return Assumptions::new() };
    let Executed { assumptions: mut found, is_complete, is_exceeded: is_long } =
        execution::execute(method, &mut analysis.inference);
    if is_complete {
        return found;
    }
    let blocks = blocks::blocks(&flow.edges(), method.end());
    let (mut is_exceeded, mut reads_any) = (false, false);
    let entries = analysis.solve(&blocks, flow);
    for (block, entry) in blocks.iter().zip(entries.iter().flatten()) {
        let Some(mut state) = entry.clone() else { continue };
        for step in block.first..block.end {
            if let Some((known, _)) = method.call(&method.steps[step as usize]) {
                reads_any |= is_kernel(known) && analysis.reads_any(step, &state);
                let combinations = analysis.combinations(step, &state);
                is_exceeded |= combinations.is_none();
                let is_known = |(_, int): &(usize, IntMeta)| *int != IntMeta::Unknown;
                for assumption in combinations.into_iter().flatten().filter(|ints| ints.iter().any(is_known)) {
                    let of_step = found.entry(step).or_default();
                    if !of_step.contains(&assumption) {
                        of_step.push(assumption);
                    }
                }
            }
            analysis.run(step, &mut state);
        }
    }
    if entries.is_none() || is_exceeded {
        method.report(&limits::INTS, findings, locate);
    }
    // Loops whose conditions depend on inputs have counters that do, too.
    let has_loop = method.jumps().iter().any(Jump::is_back);
    if reads_any && analysis.is_widened.get() && (is_long || !has_loop) {
        method.report(if is_long { &limits::STEPS } else { &limits::COMPUTED }, findings, locate);
    }
    found
}

/// Returns `true` for an operator that reads Ints as more than numbers to compute with.
fn is_kernel(known: &ResolvedOperator) -> bool {
    known.signature.result.is_none_or(|result| result == Base::Tensor)
}

impl<'m, 'p> Analysis<'m, 'p> {
    /// Finds the values to follow; `None` if there are none, which is the case for most methods.
    fn new(method: &'m MethodAnalysis<'p>) -> Option<Analysis<'m, 'p>> {
        let mut slots = vec![None; method.values().len()];
        let mut values = Vec::new();
        for access in &method.accesses().list {
            let value = access.value as usize;
            let is_followed =
                access.kind.may_write() && method.kinds[value].meets(Kinds::INT) && !method.is_input[value];
            if is_followed && slots[value].is_none() {
                slots[value] = Some(values.len() as u32);
                values.push(value);
            }
        }
        if values.is_empty() || method.accesses().is_truncated {
            return None;
        }
        let inference = Inference::new(method.plan, &method.operators);
        Some(Analysis { method, inference, values, slots, is_widened: Cell::new(false) })
    }

    fn solve(&mut self, blocks: &[Block], flow: &ControlFlow) -> Option<Vec<Option<Vec<Ints>>>> {
        let method = self.method;
        let mut work = method.budget(&limits::INTS);
        let initial = self.values.iter().map(|value| Ints::of(&method.values()[*value])).collect();
        let run = |block: &Block, state: &mut [Ints]| {
            let accesses: usize = (block.first..block.end).map(|step| method.step_accesses(step).len() + 1).sum();
            let known: usize = state.iter().map(|ints| ints.stated.len() + ints.computed.len()).sum();
            work.spend(known + state.len() + accesses)?;
            (block.first..block.end).for_each(|step| self.run(step, state));
            Some(())
        };
        let is_widened = Cell::new(false);
        let join = |one: &Ints, other: &Ints| one.join(other, &is_widened);
        let solved = blocks::solve(blocks, &flow.edges(), method.end(), initial, run, join);
        self.is_widened.set(self.is_widened.get() || is_widened.get());
        solved
    }

    /// Returns `true` if an instruction reads a followed value that may be any Int.
    fn reads_any(&self, step: u32, state: &[Ints]) -> bool {
        let reads = self.method.step_accesses(step).iter().filter(|access| access.kind == AccessKind::Read);
        let mut slots = reads.filter_map(|access| self.slots[access.value as usize]);
        slots.any(|slot| state[slot as usize].rest == Rest::Any)
    }

    /// Returns the Ints that a value may be.
    fn ints(&self, value: usize, state: &[Ints]) -> Ints {
        match self.slots[value] {
            Some(slot) => state[slot as usize].clone(),
            None if self.method.is_input[value] => Ints::any(),
            None => Ints::of(&self.method.values()[value]),
        }
    }

    fn set(&self, value: usize, ints: Ints, state: &mut [Ints]) {
        if let Some(slot) = self.slots[value] {
            state[slot as usize] = ints;
        }
    }

    /// Returns the combinations of possible Ints of the followed values that an instruction reads; `None` if there are
    /// too many.
    fn combinations(&self, step: u32, state: &[Ints]) -> Option<Vec<Assumption>> {
        let mut combinations = vec![Assumption::new()];
        let mut seen = SmallVec::<[usize; 8]>::new();
        for access in self.method.step_accesses(step).iter().filter(|access| access.kind == AccessKind::Read) {
            let value = access.value as usize;
            let Some(slot) = self.slots[value].filter(|_| !seen.contains(&value)) else { continue };
            let ints: SmallVec<[IntMeta; 8]> = state[slot as usize].possibilities().collect();
            if combinations.len() * ints.len() > MAX_COMBINATIONS {
                return None;
            }
            seen.push(value);
            let extended = |assumption: &Assumption| {
                let assumption = assumption.clone();
                ints.iter().map(move |int| [&*assumption, &[(value, *int)]].concat()).collect::<Vec<_>>()
            };
            combinations = combinations.iter().flat_map(extended).collect();
        }
        Some(combinations)
    }

    /// Applies the effect of a step to the states.
    fn run(&mut self, step: u32, state: &mut [Ints]) {
        let method = self.method;
        let instruction = &method.steps[step as usize];
        match instruction.instruction.callee() {
            Some(Callee::Operator(_)) => match method.call(instruction) {
                Some((known, args)) if known.signature.result.is_some_and(|result| result != Base::Tensor) => {
                    let to = args.get(known.signature.args.len()).and_then(|value| method.value(*value));
                    if let Some(to) = to.filter(|to| self.slots[*to].is_some()) {
                        let ints = self.result(known, args, self.combinations(step, state));
                        self.set(to, ints, state);
                    }
                }
                // Outs are tensors.
                Some(_) => {}
                None => self.forget(step, state),
            },
            Some(Callee::Delegate(_)) => self.forget(step, state),
            None => {
                let moved = instruction.instruction.moved();
                if let Some((from, to)) = moved.and_then(|(from, to)| method.value(from).zip(method.value(to))) {
                    self.set(to, self.ints(from, state), state);
                }
            }
        }
    }

    /// Returns the results of a call.
    fn result(&mut self, known: &ResolvedOperator, args: &[ValueId], combinations: Option<Vec<Assumption>>) -> Ints {
        let Some(combinations) = combinations else {
            self.is_widened.set(true);
            return Ints::any();
        };
        let mut found = Ints::none();
        for assumption in combinations {
            let values = self.method.values();
            let result = match self.inference.assuming(&assumption, |known_ints| known_ints.call(values, known, args)) {
                Ok(results) => match results[..] {
                    [ResultMeta::Int(int)] => int,
                    _ => IntMeta::Unknown,
                },
                // The kernel does not return.
                Err(InferenceError::Unsupported(_)) => continue,
                Err(InferenceError::Invalid(_) | InferenceError::Undetermined(_) | InferenceError::UnknownOperator) => {
                    IntMeta::Unknown
                }
            };
            found = found.join(&Ints::computed(result), &self.is_widened);
        }
        found
    }

    fn forget(&self, step: u32, state: &mut [Ints]) {
        for access in self.method.step_accesses(step) {
            self.set(access.value as usize, Ints::any(), state);
        }
    }
}
