//! Finds the values that YAML does not name: literals, which are printed at their only use, and what assembling adds to calls.

use std::collections::BTreeSet;

use super::calls::Calls;
use super::uses::Uses;
use crate::operators;
use crate::program::{EValue, ExecutionPlan, OperandAccess, Tensor};

/// Returns `true` for each value without a name. `numbers` are the values whose index is stated: they have one.
pub fn find(plan: &ExecutionPlan, calls: &Calls<'_>, uses: &Uses, numbers: &BTreeSet<usize>) -> Vec<bool> {
    let values = plan.values();
    let mut mentions = Mentions::new(values.len());
    mentions.count_lists(plan);
    mentions.count_calls(plan, calls);
    let is_alone = |index: usize| mentions.counts[index] == 1 && !uses.produced[index] && !numbers.contains(&index);
    let mut literals = vec![false; values.len()];
    for (index, value) in values.iter().enumerate().filter(|(index, _)| !numbers.contains(index)) {
        if mentions.added[index] == Some(mentions.counts[index]) {
            literals[index] = true;
            continue;
        }
        if !(mentions.as_argument[index] && is_alone(index)) {
            continue;
        }
        match value {
            EValue::IntList(Some(items)) => {
                // Items with this single use are printed here, the others by name.
                let is_int = |item: &usize| matches!(values.get(*item), Some(EValue::Int(_)));
                let items = items.iter().map(|item| usize::try_from(*item).ok().filter(is_int));
                if let Some(items) = items.collect::<Option<Vec<usize>>>() {
                    items.into_iter().filter(|item| is_alone(*item)).for_each(|item| literals[item] = true);
                    literals[index] = true;
                }
            }
            EValue::Null
            | EValue::Int(_)
            | EValue::Bool(_)
            | EValue::Double(_)
            | EValue::String(Some(_))
            | EValue::DoubleList(Some(_))
            | EValue::BoolList(Some(_))
            | EValue::TensorList(Some(_))
            | EValue::OptionalTensorList(Some(_)) => literals[index] = true,
            EValue::Tensor(_)
            | EValue::String(None)
            | EValue::IntList(None)
            | EValue::DoubleList(None)
            | EValue::BoolList(None)
            | EValue::TensorList(None)
            | EValue::OptionalTensorList(None) => {}
        }
    }
    literals
}

/// Mentions of the values of a method, by index.
struct Mentions {
    /// Number of mentions in lists, calls, inputs and outputs.
    counts: Vec<u32>,
    /// `true` if a literal may be printed at a mention.
    as_argument: Vec<bool>,
    /// Number of mentions of a value that assembling adds to a call.
    added: Vec<Option<u32>>,
}

impl Mentions {
    fn new(count: usize) -> Mentions {
        Mentions { counts: vec![0; count], as_argument: vec![false; count], added: vec![None; count] }
    }

    fn count(&mut self, index: impl TryInto<usize>) {
        if let Some(count) = index.try_into().ok().and_then(|index| self.counts.get_mut(index)) {
            *count += 1;
        }
    }

    fn mark_argument(&mut self, index: i32) {
        if let Some(marked) = usize::try_from(index).ok().and_then(|index| self.as_argument.get_mut(index)) {
            *marked = true;
        }
    }

    /// Counts the items of lists, inputs and outputs.
    fn count_lists(&mut self, plan: &ExecutionPlan) {
        for value in plan.values() {
            if let EValue::IntList(Some(items)) = value {
                items.iter().for_each(|item| self.count(*item));
            }
            value.as_tensors().iter().for_each(|item| self.count(*item));
        }
        plan.inputs.iter().chain(&plan.outputs).flatten().for_each(|index| self.count(*index));
        for output in plan.outputs.iter().flatten() {
            if let Some(EValue::Int(_) | EValue::Bool(_) | EValue::Null | EValue::Double(_) | EValue::String(Some(_))) =
                plan.value(*output)
            {
                self.mark_argument(*output);
            }
        }
    }

    /// Counts the arguments of all instructions.
    fn count_calls(&mut self, plan: &ExecutionPlan, calls: &Calls<'_>) {
        for (instruction, form) in plan.instructions().zip(&calls.forms) {
            form.ins.iter().chain(form.outs).chain(form.lists).for_each(|index| self.count(*index));
            form.ins.iter().for_each(|index| self.mark_argument(*index));
            form.lists.iter().for_each(|list| self.added[*list as usize] = Some(1));
            let operator = form.operator.and_then(|operator| calls.operator(operator));
            if form.lists.len() == 1 && operator.is_some_and(operators::has_optional_outs) {
                for out in form.outs {
                    let tensor = plan.value(*out).and_then(EValue::as_tensor);
                    if tensor.is_some_and(|tensor| *tensor == Tensor::missing()) {
                        // As an out, and in the list of the outs.
                        self.added[*out as usize] = Some(2);
                    }
                }
            }
            for (_, value, access) in instruction.operands() {
                self.count(value);
                if access == OperandAccess::Read {
                    self.mark_argument(value);
                }
            }
        }
    }
}
