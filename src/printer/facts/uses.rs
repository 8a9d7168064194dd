//! Finds the first use of each value of a method.

use super::calls::Calls;
use pte_analysis::operators::{AccessKind, Usage, outs_of_unknown};
use pte_model::program::{EValue, ExecutionPlan, OperandAccess, TensorData, ValueId};

/// First uses of the values of a method, by index.
pub struct Uses {
    /// First instruction that uses the value, counted through all chains; `None` for an unused value.
    pub first: Vec<Option<usize>>,
    /// `true` if the value is not an input, and its first use writes it.
    pub produced: Vec<bool>,
    /// `true` if the value is not an input, and its first use overwrites it as an argument.
    pub overwritten: Vec<bool>,
    /// `true` for inputs.
    pub is_input: Vec<bool>,
}

impl Uses {
    /// Finds the first uses of the values of a method.
    pub fn of(plan: &ExecutionPlan, calls: &Calls<'_>) -> Uses {
        let count = plan.values().len();
        let (first, flags) = (vec![None; count], vec![false; count]);
        let mut uses = Uses { first, produced: flags.clone(), overwritten: flags, is_input: plan.is_input() };
        // Only the first use counts, also that of the items of a list.
        let mut expanded = vec![false; count];
        let last_input = plan.inputs.iter().flatten().max().copied().unwrap_or(ValueId::NONE);
        for (number, (instruction, form)) in plan.instructions().zip(&calls.forms).enumerate() {
            let known = calls.resolved.called(instruction);
            let outs_of_unknown = form.operator.map_or(0, |_| outs_of_unknown(plan, instruction.args()));
            for Usage { position, value, kind } in calls.resolved.args(instruction) {
                let is_written = if kind == AccessKind::Unknown {
                    // A first use writes neither constants nor values that are numbered before an input, which are
                    // state.
                    let tensor = plan.value(value).and_then(EValue::as_tensor);
                    let is_free = tensor.is_some_and(|tensor| tensor.data == TensorData::None);
                    is_free && value >= last_input && position >= outs_of_unknown
                } else {
                    kind.is_result()
                };
                uses.visit(value, number, is_written, known.is_some_and(|known| known.needs_no_content(position)));
                let is_new = value.item_mut(&mut expanded).is_some_and(|is_old| !std::mem::replace(is_old, true));
                let items = plan.value(value).filter(|_| is_new).map_or(&[][..], EValue::as_tensors);
                items.iter().for_each(|item| uses.visit(*item, number, is_written, false));
            }
            for (_, value, access) in instruction.operands() {
                uses.visit(value, number, access == OperandAccess::Write, false);
            }
        }
        uses
    }

    /// Records a use of a value by instruction `number`.
    fn visit(&mut self, value: ValueId, number: usize, is_written: bool, is_overwritten: bool) {
        if let Some(index) = value.get()
            && let Some(first @ None) = self.first.get_mut(index)
        {
            *first = Some(number);
            self.produced[index] = is_written && !self.is_input[index];
            self.overwritten[index] = is_overwritten && !self.is_input[index];
        }
    }
}
