//! The Ints that a value may be at a call, if only moves and calls of known Ints write it: a forward analysis, for the constraints of
//! kernels (`super::super::operators`). Ints that depend on inputs are not known. Nothing is reported here.

use std::collections::BTreeMap;

use smallvec::SmallVec;

use super::control::ControlFlow;
use super::forward::{self, Block};
use super::method::{AccessKind, KnownOperator, MethodAnalysis};
use crate::operators::Base;
use crate::operators::inference::{InferenceError, IntMeta, ResultMeta};
use crate::operators::kinds::Kinds;
use crate::program::{EValue, Instruction};
use crate::transform::inference::Inference;

/// Greatest number of Ints that a value may be; beyond, all are possible. A loop counter is one with more.
const MAX_INTS: usize = 4;

/// Greatest number of combinations of Ints with which a call is checked.
const MAX_COMBINATIONS: usize = 8;

/// Operations on Ints that a method may take in addition to those in proportion to its accesses.
const MAX_WORK: usize = 1 << 20;
/// As [`MAX_WORK`]: operations for each access.
const WORK_PER_ACCESS: usize = 64;

/// Ints that a value may be, ascending; `None` for all.
type Ints = Option<SmallVec<[i64; MAX_INTS]>>;

/// Values, and the Ints that they are.
pub type Assumption = Vec<(usize, i64)>;

/// By step: what the values that the instruction reads may be.
pub type Assumptions = BTreeMap<u32, Vec<Assumption>>;

/// The values that are followed.
struct Analysis<'m, 'p> {
    method: &'m MethodAnalysis<'p>,
    inference: Inference,
    /// By slot.
    values: Vec<usize>,
    /// By value: its index among the followed ones.
    slots: Vec<Option<u32>>,
}

/// Returns what Ints that instructions write may be at the calls that read them; nothing if it is not known.
pub fn assumptions(method: &MethodAnalysis<'_>, flow: &ControlFlow) -> Assumptions {
    let mut found = Assumptions::new();
    let Some(mut analysis) = Analysis::new(method) else { return found };
    let blocks = forward::blocks(flow, method.end());
    let Some(entries) = analysis.solve(&blocks, flow) else { return found };
    for (block, entry) in blocks.iter().zip(entries) {
        let Some(mut state) = entry else { continue };
        for step in block.first..block.end {
            if method.call(&method.steps[step as usize]).is_some() {
                let combinations = analysis.combinations(step, &state);
                if combinations.iter().any(|assumption| !assumption.is_empty()) {
                    found.insert(step, combinations);
                }
            }
            analysis.run(step, &mut state);
        }
    }
    found
}

impl<'m, 'p> Analysis<'m, 'p> {
    /// Finds the values to follow; `None` if there are none, as in most methods.
    fn new(method: &'m MethodAnalysis<'p>) -> Option<Analysis<'m, 'p>> {
        let mut slots = vec![None; method.values().len()];
        let mut values = Vec::new();
        for access in &method.accesses {
            let value = access.value as usize;
            let is_followed =
                access.kind.may_write() && method.kinds[value].meets(Kinds::INT) && !method.is_input[value];
            if is_followed && slots[value].is_none() {
                slots[value] = Some(values.len() as u32);
                values.push(value);
            }
        }
        if values.is_empty() || method.is_truncated {
            return None;
        }
        let operator = |index| find(method, index).map(|known| &known.operator);
        let inference = Inference::new(method.plan, operator);
        Some(Analysis { method, inference, values, slots })
    }

    fn solve(&mut self, blocks: &[Block], flow: &ControlFlow) -> Option<Vec<Option<Vec<Ints>>>> {
        let method = self.method;
        let mut work = MAX_WORK.saturating_add(method.accesses.len().saturating_mul(WORK_PER_ACCESS));
        let initial = self.values.iter().map(|value| stated(&method.values()[*value])).collect();
        let run = |block: &Block, state: &mut [Ints]| {
            let accesses: usize = (block.first..block.end).map(|step| method.step_accesses(step).len() + 1).sum();
            work = work.checked_sub(MAX_INTS * state.len() + MAX_COMBINATIONS * accesses)?;
            (block.first..block.end).for_each(|step| self.run(step, state));
            Some(())
        };
        forward::solve(blocks, flow, method.end(), initial, run, join)
    }

    /// Returns what a value may be.
    fn ints(&self, value: usize, state: &[Ints]) -> Ints {
        match self.slots[value] {
            Some(slot) => state[slot as usize].clone(),
            None if self.method.is_input[value] => None,
            None => stated(&self.method.values()[value]),
        }
    }

    fn set(&self, value: usize, ints: Ints, state: &mut [Ints]) {
        if let Some(slot) = self.slots[value] {
            state[slot as usize] = ints;
        }
    }

    /// Returns the combinations of what the followed values that an instruction reads may be. Those that may be any Int are left out; so
    /// are all, if there are too many combinations.
    fn combinations(&self, step: u32, state: &[Ints]) -> Vec<Assumption> {
        let mut combinations = vec![Assumption::new()];
        let mut seen = SmallVec::<[usize; 8]>::new();
        for access in self.method.step_accesses(step).iter().filter(|access| access.kind == AccessKind::Read) {
            let value = access.value as usize;
            let Some(ints) = self.slots[value].and_then(|slot| state[slot as usize].as_ref()) else { continue };
            if seen.contains(&value) {
                continue;
            }
            if seen.len() == MAX_COMBINATIONS || combinations.len() * ints.len() > MAX_COMBINATIONS {
                return Vec::new();
            }
            seen.push(value);
            let extended = |assumption: &Assumption| {
                let assumption = assumption.clone();
                ints.iter().map(move |int| [&*assumption, &[(value, *int)]].concat()).collect::<Vec<_>>()
            };
            combinations = combinations.iter().flat_map(extended).collect();
        }
        combinations
    }

    /// Applies the effect of a step to the states.
    fn run(&mut self, step: u32, state: &mut [Ints]) {
        let method = self.method;
        let instruction = &method.steps[step as usize];
        match instruction.instruction {
            Instruction::MoveCall { move_from, move_to } => {
                if let (Some(from), Some(to)) = (method.value(*move_from), method.value(*move_to)) {
                    self.set(to, self.ints(from, state), state);
                }
            }
            Instruction::KernelCall { .. } => match method.call(instruction) {
                Some((known, args)) if known.operator.signature.result.is_some_and(|result| result != Base::Tensor) => {
                    let to = args.get(known.operator.signature.args.len()).and_then(|value| method.value(*value));
                    if let Some(to) = to.filter(|to| self.slots[*to].is_some()) {
                        let ints = self.result(known, args, self.combinations(step, state));
                        self.set(to, ints, state);
                    }
                }
                // Outs are tensors.
                Some(_) => {}
                None => self.forget(step, state),
            },
            Instruction::DelegateCall { .. } => self.forget(step, state),
            Instruction::JumpFalseCall { .. } | Instruction::FreeCall { .. } => {}
        }
    }

    /// Returns the results of a call.
    fn result(&mut self, known: &KnownOperator, args: &[i32], combinations: Vec<Assumption>) -> Ints {
        let mut found = if combinations.is_empty() { None } else { Some(SmallVec::new()) };
        for assumption in combinations {
            let values = self.method.values();
            match self.inference.assuming(&assumption, |inference| inference.call(values, &known.operator, args)) {
                Ok(results) => match results[..] {
                    [ResultMeta::Int(IntMeta::Exact(int))] => {
                        found = join(&found, &Some(SmallVec::from_slice(&[int])));
                    }
                    _ => return None,
                },
                // The kernel does not return.
                Err(InferenceError::Unsupported(_)) => {}
                Err(InferenceError::Invalid(_) | InferenceError::Undetermined(_) | InferenceError::UnknownOperator) => {
                    return None;
                }
            }
        }
        found
    }

    fn forget(&self, step: u32, state: &mut [Ints]) {
        for access in self.method.step_accesses(step) {
            self.set(access.value as usize, None, state);
        }
    }
}

fn find<'m>(method: &'m MethodAnalysis<'_>, index: i32) -> Option<&'m KnownOperator> {
    method.operators.get(usize::try_from(index).ok()?)?.as_deref()
}

/// Returns the Int that the file states; a value of another kind may be any.
fn stated(value: &EValue) -> Ints {
    match value {
        EValue::Int(int) => Some(SmallVec::from_slice(&[*int])),
        EValue::Null
        | EValue::Bool(_)
        | EValue::Double(_)
        | EValue::Tensor(_)
        | EValue::String(_)
        | EValue::IntList(_)
        | EValue::DoubleList(_)
        | EValue::BoolList(_)
        | EValue::TensorList(_)
        | EValue::OptionalTensorList(_) => None,
    }
}

/// Returns what a value may be that is one of both.
fn join(one: &Ints, other: &Ints) -> Ints {
    let mut joined = one.clone()?;
    for int in other.as_ref()? {
        if let Err(at) = joined.binary_search(int) {
            if joined.len() == MAX_INTS {
                return None;
            }
            joined.insert(at, *int);
        }
    }
    Some(joined)
}
