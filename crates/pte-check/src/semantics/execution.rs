//! Executes the instructions on numbers of a method, as long as each follows from the file, also over several
//! executions of the method. This finds the Ints at calls in loops, and those that an execution leaves for the next
//! one.
//!
//! It ends at the first condition that depends on inputs or tensors, when the numbers are those of an earlier start,
//! and at a limit.

use std::collections::{BTreeMap, HashSet};

use super::limits;
use super::method::MethodAnalysis;
use pte_analysis::inference::Inference;
use pte_analysis::operators::{AccessKind, ResolvedOperator};
use pte_model::program::instruction::Callee;
use pte_model::program::{EValue, Instruction, ValueId};
use pte_operators::inference::{IntMeta, ResultMeta};
use pte_operators::kinds::Kinds;

/// Values, and the Ints that they are.
pub type Assumption = Vec<(usize, IntMeta)>;

/// By step: the possible combinations of Ints that the instruction reads.
pub type Assumptions = BTreeMap<u32, Vec<Assumption>>;

/// A number that an instruction writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Number {
    /// Exact, or at most a size that an input has.
    Int(IntMeta),
    Bool(bool),
    Unknown,
}

impl Number {
    fn of(value: &EValue) -> Number {
        match value {
            EValue::Int(int) => Number::Int(IntMeta::Exact(*int)),
            EValue::Bool(state) => Number::Bool(*state),
            _ => Number::Unknown,
        }
    }

    /// Returns the number as kernels compare it; `None` for one that is not exact.
    fn compared(self) -> Option<f64> {
        match self {
            Number::Int(IntMeta::Exact(int)) => i32::try_from(int).ok().map(f64::from),
            Number::Int(_) | Number::Bool(_) | Number::Unknown => None,
        }
    }
}

/// The Ints of executed calls.
#[derive(Default)]
pub struct Executed {
    /// By step: the Ints that the instruction reads, each combination once.
    pub assumptions: Assumptions,
    /// No further execution has other numbers.
    pub is_complete: bool,
    /// The execution ended at [`limits::STEPS`].
    pub is_exceeded: bool,
}

struct Execution<'m, 'p, 'i> {
    method: &'m MethodAnalysis<'p>,
    inference: &'i mut Inference,
    /// By value: its index in `numbers`; `None` if no instruction writes it.
    slots: Vec<Option<u32>>,
    numbers: Vec<Number>,
    /// By step of a jump: its destination.
    jumps: BTreeMap<u32, u32>,
    seen: HashSet<(u32, Assumption)>,
    executed: Executed,
}

/// Executes the numbers of a method.
pub fn execute(method: &MethodAnalysis<'_>, inference: &mut Inference) -> Executed {
    let mut slots = vec![None; method.values().len()];
    let mut numbers = Vec::new();
    for access in method.accesses().list.iter().filter(|access| access.kind.may_write()) {
        let value = access.value as usize;
        if slots[value].is_none() && method.kinds[value].meets(Kinds::SCALAR) {
            slots[value] = Some(numbers.len() as u32);
            let is_input = method.is_input[value];
            numbers.push(if is_input { Number::Unknown } else { Number::of(&method.values()[value]) });
        }
    }
    let jumps = method.jumps().iter().map(|jump| (jump.step, jump.to)).collect();
    let (seen, executed) = (HashSet::new(), Executed::default());
    let mut execution = Execution { method, inference, slots, numbers, jumps, seen, executed };
    execution.executed.is_complete = execution.run().is_some();
    execution.executed
}

impl Execution<'_, '_, '_> {
    /// Executes the method until its numbers repeat; `None` if that does not follow from the file, or takes too long.
    fn run(&mut self) -> Option<()> {
        let mut left = self.method.budget(&limits::STEPS);
        let mut starts = HashSet::new();
        while starts.insert(self.numbers.clone()) {
            let mut step = 0;
            while step < self.method.end() {
                if left.spend(1).is_none() {
                    self.executed.is_exceeded = true;
                    return None;
                }
                step = self.step(step)?;
            }
        }
        Some(())
    }

    /// Executes an instruction; returns the next step, or `None` if it is not known.
    fn step(&mut self, step: u32) -> Option<u32> {
        let method = self.method;
        let instruction = &method.steps[step as usize];
        if let Instruction::JumpFalseCall { cond_value_index, .. } = instruction.instruction {
            return match self.number(*cond_value_index)? {
                Number::Bool(true) => Some(step + 1),
                Number::Bool(false) => self.jumps.get(&step).copied(),
                Number::Int(_) | Number::Unknown => None,
            };
        }
        match instruction.instruction.callee() {
            Some(Callee::Operator(_)) => match method.call(instruction) {
                Some((known, args)) => self.call(step, known, args),
                None => self.forget(step),
            },
            Some(Callee::Delegate(_)) => self.forget(step),
            None => {
                if let Some((from, to)) = instruction.instruction.moved() {
                    let number = self.number(from).unwrap_or(Number::Unknown);
                    self.set(to, number);
                }
            }
        }
        Some(step + 1)
    }

    fn call(&mut self, step: u32, known: &ResolvedOperator, args: &[ValueId]) {
        let mut ints = Assumption::new();
        for access in self.method.step_accesses(step).iter().filter(|access| access.kind == AccessKind::Read) {
            let value = access.value as usize;
            let Some(slot) = self.slots[value].filter(|_| ints.iter().all(|(other, _)| *other != value)) else {
                continue;
            };
            ints.push(match self.numbers[slot as usize] {
                Number::Int(int) => (value, int),
                Number::Bool(_) | Number::Unknown => (value, IntMeta::Unknown),
            });
        }
        let result = args.get(known.signature.args.len()).copied().filter(|_| known.signature.result.is_some());
        if let Some(result) = result {
            let number = self.result(known, args, &ints);
            self.set(result, number);
        }
        let is_known = ints.iter().any(|(_, int)| *int != IntMeta::Unknown);
        if is_known && self.seen.insert((step, ints.clone())) {
            self.executed.assumptions.entry(step).or_default().push(ints);
        }
    }

    /// Returns the result of a call.
    fn result(&mut self, known: &ResolvedOperator, args: &[ValueId], ints: &Assumption) -> Number {
        if let Some(compare) = known.facts.comparison {
            let compared = |at: usize| self.number(*args.get(at)?)?.compared();
            return match (compared(0), compared(1)) {
                (Some(a), Some(b)) => Number::Bool(compare(a, b)),
                (None, _) | (_, None) => Number::Unknown,
            };
        }
        let values = self.method.values();
        let results = self.inference.assuming(ints, |inference| inference.call(values, known, args));
        match results.as_deref() {
            Ok([ResultMeta::Int(int)]) => Number::Int(*int),
            _ => Number::Unknown,
        }
    }

    /// Returns the number of a value; `None` if there is no such value.
    fn number(&self, id: ValueId) -> Option<Number> {
        let value = self.method.value(id)?;
        Some(match self.slots[value] {
            Some(slot) => self.numbers[slot as usize],
            None if self.method.is_input[value] => Number::Unknown,
            None => Number::of(&self.method.values()[value]),
        })
    }

    fn set(&mut self, id: ValueId, number: Number) {
        if let Some(slot) = self.method.value(id).and_then(|value| self.slots[value]) {
            self.numbers[slot as usize] = number;
        }
    }

    fn forget(&mut self, step: u32) {
        for access in self.method.step_accesses(step) {
            if let Some(slot) = self.slots[access.value as usize] {
                self.numbers[slot as usize] = Number::Unknown;
            }
        }
    }
}
