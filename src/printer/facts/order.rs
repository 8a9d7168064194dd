//! Finds the entries among the instructions that number values: views, and values with other indices than the order of
//! the instructions gives.

use std::collections::{BTreeSet, HashMap};

use super::super::hints::Hints;
use super::uses::Uses;
use super::views::{self, View};
use pte_model::data::BlobId;
use pte_model::program::{BranchStep, EValue, ExecutionPlan, Instruction, Memory, Program, TensorData, merged};

/// Views of a method, and the positions at which its values are numbered.
#[derive(Default)]
pub struct Order {
    /// View of each value; `None` for values that are not views.
    pub views: Vec<Option<View>>,
    /// Constants that have all bytes of their data, by the data; empty unless other constants have only the first
    /// bytes.
    pub bases: HashMap<BlobId, usize>,
    /// Views and numbered values before each instruction of the method, and after the last one.
    pub entries: Vec<Vec<usize>>,
    /// By instruction, the smallest literal that is the condition of a jump to it, and is therefore numbered there.
    pub conditions: HashMap<usize, usize>,
    /// Values whose index the YAML has under `values`.
    pub indices: BTreeSet<usize>,
}

impl Order {
    /// Returns the order of a method without views and entries.
    pub fn stated(program: &Program, plan: &ExecutionPlan) -> Order {
        Order { views: vec![None; plan.values().len()], bases: bases(program, plan), ..Order::default() }
    }

    /// Finds the views and entries of a method.
    pub fn of(program: &Program, plan: &ExecutionPlan, uses: &Uses, literals: &[bool], hints: &Hints) -> Order {
        let numbers = &hints.numbers;
        let mut order = Order::stated(program, plan);
        let conditions = conditions(plan, literals);
        for (to, condition) in &conditions {
            let first = order.conditions.entry(*to).or_insert(*condition);
            *first = (*first).min(*condition);
        }
        let least = least(plan, uses, literals, numbers, &conditions);
        order.views = views::find(plan, uses, &least, hints.memory.scratch);
        order.entries = vec![Vec::new(); least.len().div_ceil(2)];
        // A value is numbered before the instructions if it is declared, nothing produces it, and no entry numbers it.
        let is_upfront = |index: &usize| {
            !uses.produced[*index] && !literals[*index] && order.views[*index].is_none() && !numbers.contains(index)
        };
        let upfront = (0..literals.len()).rev().find(is_upfront);
        order.indices = numbers.clone();
        for (index, is_literal) in literals.iter().enumerate() {
            if let Some(view) = order.views[index] {
                order.entries[view.position].push(index);
            } else if numbers.contains(&index) && !is_literal && !uses.is_input[index] {
                // Inputs are numbered before all instructions; only an index changes that.
                let position = views::numbered_before(&least, index);
                let is_in_time = uses.first[index].is_none_or(|first| position <= first);
                if is_in_time && upfront.is_none_or(|upfront| upfront < index) {
                    order.entries[position].push(index);
                    order.indices.remove(&index);
                }
            }
        }
        order
    }
}

/// Returns the literal conditions of the forward jumps of a method, each with the target of the jump, counted through
/// all chains.
fn conditions(plan: &ExecutionPlan, literals: &[bool]) -> Vec<(usize, usize)> {
    let (mut conditions, mut begin) = (Vec::new(), 0);
    for chain in plan.chains.iter().flatten() {
        let instructions = chain.instructions.as_deref().unwrap_or_default();
        for (position, instruction) in instructions.iter().enumerate() {
            if let Instruction::JumpFalseCall { cond_value_index, destination_instruction } = instruction
                && let (Some(condition), Ok(to)) = (cond_value_index.get(), usize::try_from(*destination_instruction))
                && literals.get(condition) == Some(&true)
                && (position + 1..=instructions.len()).contains(&to)
            {
                conditions.push((begin + to, condition));
            }
        }
        begin += instructions.len();
    }
    conditions
}

/// Returns the values that branches move their results to, each with the jump before the branches, which numbers it.
/// Jumps are counted through all chains.
fn moved(plan: &ExecutionPlan) -> Vec<(usize, usize)> {
    let (mut moved, mut begin) = (Vec::new(), 0);
    for chain in plan.chains.iter().flatten() {
        let instructions = chain.instructions.as_deref().unwrap_or_default();
        let steps = instructions.iter().map(|instruction| {
            let destination = instruction.destination().and_then(|to| usize::try_from(to).ok());
            let jump = destination.map(BranchStep::Jump);
            let target = || instruction.moved().and_then(|(_, to)| to.get()).map(BranchStep::Move);
            jump.or_else(target).unwrap_or(BranchStep::Other)
        });
        moved.extend(merged(steps).into_iter().map(|(jump, target)| (begin + jump, target)));
        begin += instructions.len();
    }
    moved
}

/// Returns, by step, the smallest value that this step or a later one numbers. Step 2n numbers the literal conditions
/// of the jumps to instruction n, step 2n + 1 the results and literals of the instruction; the last step is the end of
/// the method.
fn least(
    plan: &ExecutionPlan,
    uses: &Uses,
    literals: &[bool],
    numbers: &BTreeSet<usize>,
    conditions: &[(usize, usize)],
) -> Vec<usize> {
    let mut least = vec![usize::MAX; 2 * plan.instructions().count() + 1];
    let mut number_at = |step: usize, value: usize| least[step] = least[step].min(value);
    // By value, the instruction that numbers it: the first one that uses it, or the jump before the branches that move
    // to it.
    let mut numbered = uses.first.clone();
    for (to, condition) in conditions {
        numbered[*condition] = None;
        number_at(2 * to, *condition);
    }
    for (jump, target) in moved(plan) {
        if let Some(Some(numbered)) = numbered.get_mut(target) {
            *numbered = jump.min(*numbered);
        }
    }
    for (index, numbered) in numbered.into_iter().enumerate() {
        let is_numbered = (uses.produced[index] || literals[index]) && !numbers.contains(&index);
        if let Some(numbered) = numbered.filter(|_| is_numbered) {
            number_at(2 * numbered + 1, index);
        }
    }
    // Items of a list of integers are used by the list only, and it has one use.
    for (number, instruction) in plan.instructions().enumerate() {
        for arg in instruction.args().iter().filter(|arg| arg.item(literals) == Some(&true)) {
            let items = plan.value(*arg).map_or(&[][..], EValue::as_ints).iter();
            let items = items.filter_map(|item| usize::try_from(*item).ok());
            let own = items.filter(|item| literals.get(*item) == Some(&true));
            own.for_each(|item| number_at(2 * number + 1, item));
        }
    }
    for step in (1..least.len()).rev() {
        least[step - 1] = least[step - 1].min(least[step]);
    }
    least
}

/// Returns the constants that have all bytes of their data, by the data; empty if all constants do.
fn bases(program: &Program, plan: &ExecutionPlan) -> HashMap<BlobId, usize> {
    let (mut bases, mut has_views) = (HashMap::new(), false);
    for (index, tensor) in plan.tensors() {
        if let (TensorData::Blob(blob), Memory::None) = (&tensor.data, &tensor.memory) {
            match tensor.nbytes() == Some(program.blob(*blob).len) {
                true => _ = bases.entry(*blob).or_insert(index),
                false => has_views = true,
            }
        }
    }
    if has_views { bases } else { HashMap::new() }
}
