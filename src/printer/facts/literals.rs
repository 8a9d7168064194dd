//! Finds the values without a name in YAML: literals, which are printed at their only use, and values that assembling
//! adds to calls.

use std::collections::BTreeSet;

use super::calls::Calls;
use super::uses::Uses;
use pte_analysis::operators::ResolvedOperator;
use pte_model::program::{EValue, ExecutionPlan, OperandAccess, Tensor, ValueId};

/// Returns `true` for each value without a name. The values in `numbers` have explicit indices, and therefore names.
pub fn find(plan: &ExecutionPlan, calls: &Calls<'_>, uses: &Uses, numbers: &BTreeSet<usize>) -> Vec<bool> {
    let values = plan.values();
    let mut mentions = Mentions(vec![Mention::default(); values.len()]);
    mentions.count_lists(plan);
    mentions.count_calls(plan, calls);
    let mentions = mentions.0;
    let is_alone = |index: usize| mentions[index].count == 1 && !uses.produced[index] && !numbers.contains(&index);
    let mut literals = vec![false; values.len()];
    for (index, value) in values.iter().enumerate().filter(|(index, _)| !numbers.contains(index)) {
        let Mention { count, is_argument, added } = mentions[index];
        if added == Some(count) {
            literals[index] = true;
            continue;
        }
        if !is_argument || !is_alone(index) {
            continue;
        }
        match value {
            EValue::IntList(Some(items)) => {
                // Items that only this list uses are printed in it, the others by name.
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
            | EValue::Unknown(_)
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

/// Mentions of a value in lists, calls, inputs and outputs.
#[derive(Clone, Copy, Default)]
struct Mention {
    /// Number of mentions.
    count: u32,
    /// `true` if a literal may be printed at one of them.
    is_argument: bool,
    /// Number of mentions of a value that assembling adds to a call.
    added: Option<u32>,
}

/// Mentions of the values of a method, by index.
struct Mentions(Vec<Mention>);

impl Mentions {
    /// Counts a mention. `is_argument` is true if a literal may be printed there.
    fn add(&mut self, value: ValueId, is_argument: bool) {
        if let Some(mention) = value.item_mut(&mut self.0) {
            mention.count += 1;
            mention.is_argument |= is_argument;
        }
    }

    /// Counts the items of lists, inputs and outputs.
    fn count_lists(&mut self, plan: &ExecutionPlan) {
        for value in plan.values() {
            if let EValue::IntList(Some(items)) = value {
                items.iter().for_each(|item| self.add(ValueId::of_int(*item), false));
            }
            value.as_tensors().iter().for_each(|item| self.add(*item, false));
        }
        plan.inputs.iter().flatten().for_each(|input| self.add(*input, false));
        for output in plan.outputs.iter().flatten() {
            let value = plan.value(*output);
            let is_scalar = matches!(value, Some(EValue::Int(_) | EValue::Bool(_) | EValue::Null | EValue::Double(_)));
            self.add(*output, is_scalar || matches!(value, Some(EValue::String(Some(_)))));
        }
    }

    /// Counts the arguments of all instructions.
    fn count_calls(&mut self, plan: &ExecutionPlan, calls: &Calls<'_>) {
        for (instruction, form) in plan.instructions().zip(&calls.forms) {
            form.ins.iter().for_each(|index| self.add(*index, true));
            form.outs.iter().chain(form.lists).for_each(|index| self.add(*index, false));
            form.lists.iter().filter_map(|list| list.get()).for_each(|list| self.0[list].added = Some(1));
            let operator = form.operator.and_then(|operator| calls.resolved.get(operator));
            if form.lists.len() == 1 && operator.is_some_and(ResolvedOperator::has_optional_outs) {
                for out in form.outs {
                    let tensor = plan.value(*out).and_then(EValue::as_tensor);
                    if tensor.is_some_and(|tensor| *tensor == Tensor::missing()) {
                        // It is an out, and an item of the list of outs.
                        out.item_mut(&mut self.0).into_iter().for_each(|mention| mention.added = Some(2));
                    }
                }
            }
            for (_, value, access) in instruction.operands() {
                self.add(value, access == OperandAccess::Read);
            }
        }
    }
}
