//! Checks control flow: kinds of conditions, unreachable instructions, endless loops.
//!
//! A condition is constant only if it is a Bool that no instruction writes, or a constant tensor. The condition of a
//! backward jump is also constant if only comparisons of constants write it, all with the result that it had before.

use std::collections::HashMap;

use super::super::finding::{Findings, Locator};
use super::method::MethodAnalysis;
use crate::RuleId::*;
use pte_analysis::blocks::{Edge, Jump};
use pte_model::data::BlobId;
use pte_model::format::ScalarType;
use pte_model::program::{EValue, Instruction, Tensor, ValueId};
use pte_operators::inference::numbers::Number;
use pte_operators::kinds::Kinds;

/// Outcome of the condition of a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BranchOutcome {
    Always,
    Never,
    Maybe,
}

/// A jump and the outcome of its condition.
#[derive(Debug, Clone, Copy)]
struct Branch {
    step: u32,
    /// Step of the destination.
    to: u32,
    outcome: BranchOutcome,
}

/// The jumps of a method. Most methods have none, and the other fields are then empty.
pub struct ControlFlow {
    jumps: Vec<Branch>,
    /// By step: `true` if a backward jump may be the first to reach it, because an earlier jump skips it.
    reached_backwards: Vec<bool>,
}

impl ControlFlow {
    pub fn new(method: &MethodAnalysis<'_>) -> ControlFlow {
        let mut conditions = None;
        let branch = |jump: Jump| {
            let condition = method.steps[jump.step as usize].instruction.operands().next();
            let conditions = conditions.get_or_insert_with(|| Conditions::new(method));
            let outcome =
                condition.map_or(BranchOutcome::Maybe, |(_, value, _)| conditions.outcome(value, jump.is_back()));
            Branch { step: jump.step, to: jump.to, outcome }
        };
        let jumps: Vec<Branch> = method.jumps().iter().copied().map(branch).collect();
        if jumps.is_empty() {
            return ControlFlow { jumps, reached_backwards: Vec::new() };
        }
        let steps = method.steps.len();
        // Numbers of forward and backward jumps over each step, first as differences, then as sums.
        let (mut forward, mut backward) = (vec![0i64; steps + 2], vec![0i64; steps + 2]);
        for jump in &jumps {
            let (step, to) = (jump.step as usize, jump.to as usize);
            if jump.outcome == BranchOutcome::Never {
                continue;
            }
            let (counts, first, last) =
                if to > step { (&mut forward, step + 1, to) } else { (&mut backward, to, step + 1) };
            counts[first] += 1;
            counts[last] -= 1;
        }
        let mut reached_backwards = vec![false; steps + 1];
        for step in 0..=steps {
            if step > 0 {
                forward[step] += forward[step - 1];
                backward[step] += backward[step - 1];
            }
            reached_backwards[step] = forward[step] > 0 && backward[step] > 0;
        }
        ControlFlow { jumps, reached_backwards }
    }

    /// Returns `true` if a backward jump may be the first to reach a step.
    pub fn is_reached_backwards(&self, step: u32) -> bool {
        !self.jumps.is_empty() && self.reached_backwards.get(step as usize).copied().unwrap_or(true)
    }

    /// Returns the jumps that may be taken.
    pub fn edges(&self) -> Vec<Edge> {
        let taken = self.jumps.iter().filter(|branch| branch.outcome != BranchOutcome::Never);
        let edge =
            |branch: &Branch| (Jump { step: branch.step, to: branch.to }, branch.outcome != BranchOutcome::Always);
        taken.map(edge).collect()
    }

    /// Returns the loops whose backward jump may be taken, as the steps of its destination and of the jump.
    pub fn loops(&self) -> impl Iterator<Item = (u32, u32)> {
        self.jumps
            .iter()
            .filter(|jump| jump.to <= jump.step && jump.outcome != BranchOutcome::Never)
            .map(|j| (j.to, j.step))
    }
}

/// Finds the outcomes of conditions.
struct Conditions<'m, 'p> {
    method: &'m MethodAnalysis<'p>,
    /// By value: an instruction or the caller may write it.
    is_written: Vec<bool>,
    /// Outcomes computed so far, by value and `true` for a backward jump. Many jumps may have the same condition.
    outcomes: HashMap<(usize, bool), BranchOutcome>,
    /// By data and number of elements: `true` if all elements are true; `None` if the constant cannot be read.
    constants: HashMap<(BlobId, usize), Option<bool>>,
}

impl<'m, 'p> Conditions<'m, 'p> {
    fn new(method: &'m MethodAnalysis<'p>) -> Conditions<'m, 'p> {
        let mut is_written = method.is_input.clone();
        for access in method.accesses().list.iter().filter(|access| access.kind.may_write()) {
            is_written[access.value as usize] = true;
        }
        Conditions { method, is_written, outcomes: HashMap::new(), constants: HashMap::new() }
    }

    fn outcome(&mut self, condition: ValueId, is_back: bool) -> BranchOutcome {
        let Some(value) = self.method.value(condition) else { return BranchOutcome::Maybe };
        if let Some(outcome) = self.outcomes.get(&(value, is_back)) {
            return *outcome;
        }
        let state = match &self.method.values()[value] {
            EValue::Bool(state) => Some(*state),
            other => other.as_tensor().and_then(|tensor| self.all(tensor)),
        };
        let outcome = match state.filter(|state| self.is_always(value, *state, is_back)) {
            Some(true) => BranchOutcome::Never,
            Some(false) => BranchOutcome::Always,
            None => BranchOutcome::Maybe,
        };
        self.outcomes.insert((value, is_back), outcome);
        outcome
    }

    /// Returns `true` if all elements of a small constant of bool are true, which is how the runtime reads a condition;
    /// `None` if they cannot be read.
    fn all(&mut self, tensor: &Tensor) -> Option<bool> {
        let data = self.method.constant(tensor).filter(|_| tensor.scalar_type == ScalarType::BOOL)?;
        let count = usize::try_from(tensor.nbytes()?).ok()?;
        // Many values may share a constant.
        *self.constants.entry((data, count)).or_insert_with(|| {
            Some(self.method.read(self.method.program.blob(data))?.get(..count)?.iter().all(|byte| *byte != 0))
        })
    }

    /// Returns `true` if nothing writes a value, or if it is the condition of a backward jump and only comparisons with
    /// this result write it.
    fn is_always(&self, value: usize, state: bool, is_back: bool) -> bool {
        let mut writes = self.method.value_accesses(value).filter(|access| access.kind.may_write());
        writes.all(|write| is_back && self.compared(write.step) == Some(state))
    }

    /// Returns the result of a comparison of numbers that no instruction writes.
    fn compared(&self, step: u32) -> Option<bool> {
        let (known, args) = self.method.call(self.method.steps.get(step as usize)?)?;
        let [a, b, _] = *args else { return None };
        match known.facts.computation?(&[self.number(a)?, self.number(b)?])? {
            Number::Bool(result) => Some(result),
            Number::Int(_) | Number::Double(_) => None,
        }
    }

    fn number(&self, index: ValueId) -> Option<Number> {
        let value = self.method.value(index).filter(|value| !self.is_written[*value])?;
        match self.method.values()[value] {
            EValue::Double(double) => Some(Number::Double(double)),
            EValue::Int(int) => Some(Number::Int(int)),
            _ => None,
        }
    }
}

/// Checks the conditions of jumps, and the reachability of instructions.
pub fn check(method: &MethodAnalysis<'_>, flow: &ControlFlow, findings: &mut Findings, locate: &Locator<'_>) {
    for (number, step) in method.steps.iter().enumerate() {
        if let Instruction::JumpFalseCall { cond_value_index, .. } = step.instruction {
            check_condition(method, number as u32, *cond_value_index, findings, locate);
        }
    }
    check_reachability(method, flow, findings, locate);
    check_loop_conditions(method, flow, findings, locate);
}

fn check_condition(method: &MethodAnalysis<'_>, step: u32, id: ValueId, findings: &mut Findings, locate: &Locator<'_>) {
    let Some(value) = method.value(id) else { return };
    let kinds = method.kinds[value];
    let found = match &method.values()[value] {
        EValue::Tensor(tensor) if !kinds.meets(Kinds::BOOL) => match tensor.scalar_type {
            ScalarType::BOOL => return,
            other => format!("values[{id}], a tensor of {other}"),
        },
        _ if kinds.meets(Kinds::BOOL.or(Kinds::TENSOR)) => return,
        other => format!("values[{id}] of kind {}", other.kind()),
    };
    findings
        .add(I_23, || (locate(&method.field(step, "cond_value_index")), found, "a Bool, or a tensor of bool".into()));
}

/// Reports instructions that cannot be reached, and the first loop that cannot reach the end.
fn check_reachability(method: &MethodAnalysis<'_>, flow: &ControlFlow, findings: &mut Findings, locate: &Locator<'_>) {
    if flow.jumps.is_empty() {
        return;
    }
    let steps = method.steps.len();
    let mut jump_of = vec![None; steps];
    for jump in &flow.jumps {
        jump_of[jump.step as usize] = Some(*jump);
    }
    let ahead = |step: usize| jump_of[step].is_none_or(|jump| jump.outcome != BranchOutcome::Always);
    let jumps =
        |step: usize| jump_of[step].filter(|jump| jump.outcome != BranchOutcome::Never).map(|jump| jump.to as usize);

    let mut reached = vec![false; steps + 1];
    let mut open = vec![0];
    while let Some(step) = open.pop() {
        if std::mem::replace(&mut reached[step], true) || step == steps {
            continue;
        }
        open.extend(ahead(step).then_some(step + 1));
        open.extend(jumps(step));
    }
    let mut step = 0;
    while step < steps {
        if reached[step] {
            step += 1;
            continue;
        }
        let first = step;
        while step < steps && !reached[step] {
            step += 1;
        }
        findings.add(X_9, || {
            let found = match step - first {
                1 => "an unreachable instruction".into(),
                count => format!("{count} unreachable instructions, of which this is the first"),
            };
            (locate(&method.at(first as u32)), found, "reachable instructions".into())
        });
    }

    // The search goes backwards from the end, with the jumps sorted by destination.
    let mut by_target: Vec<(usize, usize)> = flow
        .jumps
        .iter()
        .filter(|j| j.outcome != BranchOutcome::Never)
        .map(|j| (j.to as usize, j.step as usize))
        .collect();
    by_target.sort_unstable();
    let mut ends = vec![false; steps + 1];
    let mut open = vec![steps];
    while let Some(step) = open.pop() {
        if std::mem::replace(&mut ends[step], true) {
            continue;
        }
        open.extend(step.checked_sub(1).filter(|before| ahead(*before)));
        let first = by_target.partition_point(|(to, _)| *to < step);
        open.extend(by_target[first..].iter().take_while(|(to, _)| *to == step).map(|(_, from)| *from));
    }
    let endless = flow.jumps.iter().find(|jump| {
        let step = jump.step as usize;
        reached[step] && !ends[step] && jump.to <= jump.step && jump.outcome != BranchOutcome::Never
    });
    if let Some(jump) = endless {
        findings.add(X_10, || {
            let found = format!("an endless loop from instruction {}", destination(method, jump));
            (locate(&method.at(jump.step)), found, "a loop that can be left".into())
        });
    }
}

/// Returns the index of the destination in its chain.
fn destination(method: &MethodAnalysis<'_>, jump: &Branch) -> u32 {
    jump.to - method.chains[method.steps[jump.step as usize].chain as usize]
}

/// Reports loops that do not write their condition and have no other exit. Once repeated, they repeat forever.
fn check_loop_conditions(
    method: &MethodAnalysis<'_>,
    flow: &ControlFlow,
    findings: &mut Findings,
    locate: &Locator<'_>,
) {
    let mut queries: Option<LoopQueries> = None;
    for jump in flow.jumps.iter().filter(|jump| jump.outcome == BranchOutcome::Maybe && jump.to <= jump.step) {
        let Instruction::JumpFalseCall { cond_value_index, .. } = method.steps[jump.step as usize].instruction else {
            continue;
        };
        let Some(value) = method.value(*cond_value_index) else { continue };
        if !matches!(method.values()[value], EValue::Bool(_)) {
            continue;
        }
        let queries = queries.get_or_insert_with(|| LoopQueries::new(method, flow));
        if queries.is_written(value as u32, jump.to, jump.step) || queries.has_exit(jump.to, jump.step) {
            continue;
        }
        findings.add(X_11, || {
            let found = format!("a loop that does not write its condition values[{cond_value_index}]");
            (locate(&method.at(jump.step)), found, "a loop that writes its condition".into())
        });
    }
}

/// Index of the writes and jumps between two steps.
struct LoopQueries {
    /// Value and step of each write of a Bool, sorted.
    writes: Vec<(u32, u32)>,
    /// Step of each jump that may be taken, ascending.
    steps: Vec<u32>,
    /// `levels[k][i]`: smallest and greatest destination of the jumps `i .. i + 2^k`.
    levels: Vec<Vec<(u32, u32)>>,
}

impl LoopQueries {
    fn new(method: &MethodAnalysis<'_>, flow: &ControlFlow) -> LoopQueries {
        let is_bool = |value: u32| matches!(method.values()[value as usize], EValue::Bool(_));
        let writes = method.accesses().list.iter().filter(|a| a.kind.may_write() && is_bool(a.value));
        let mut writes: Vec<(u32, u32)> = writes.map(|access| (access.value, access.step)).collect();
        writes.sort_unstable();
        let jumps: Vec<&Branch> = flow.jumps.iter().filter(|jump| jump.outcome != BranchOutcome::Never).collect();
        let mut levels = vec![jumps.iter().map(|jump| (jump.to, jump.to)).collect::<Vec<_>>()];
        let mut width = 1;
        while 2 * width <= jumps.len() {
            let below = &levels[levels.len() - 1];
            let wider = |i: usize| (below[i].0.min(below[i + width].0), below[i].1.max(below[i + width].1));
            levels.push((0..=jumps.len() - 2 * width).map(wider).collect());
            width *= 2;
        }
        LoopQueries { writes, steps: jumps.iter().map(|jump| jump.step).collect(), levels }
    }

    fn is_written(&self, value: u32, first: u32, last: u32) -> bool {
        let at = self.writes.partition_point(|write| *write < (value, first));
        self.writes.get(at).is_some_and(|(other, step)| *other == value && *step <= last)
    }

    /// Returns `true` if a jump before step `last` leads out of the steps `first..=last`.
    fn has_exit(&self, first: u32, last: u32) -> bool {
        let low = self.steps.partition_point(|step| *step < first);
        // `last` is the jump of the loop itself.
        let high = self.steps.partition_point(|step| *step < last);
        let Some(count) = high.checked_sub(low).filter(|count| *count > 0) else { return false };
        let level = count.ilog2() as usize;
        let (left, right) = (self.levels[level][low], self.levels[level][high - (1 << level)]);
        left.0.min(right.0) < first || left.1.max(right.1) > last
    }
}
