//! Computes `requires_grad` of the values of a method like assembling does if the method has the key.

use super::order::Order;
use super::uses::Uses;
use super::views::View;
use pte_analysis::inference;
use pte_analysis::operators::MethodOperators;
use pte_model::program::{EValue, ExecutionPlan, Instruction, Memory, TensorData, ValueId};

/// `requires_grad` of a method.
pub struct Gradients {
    /// `true` if the method has the key, because that is shorter than a key for each tensor.
    pub is_stated: bool,
    /// `requires_grad` of each value as assembling computes it.
    pub computed: Vec<bool>,
}

impl Gradients {
    /// Returns the gradients of a method without `requires_grad`, which has `count` values.
    pub fn none(count: usize) -> Gradients {
        Gradients { is_stated: false, computed: vec![false; count] }
    }

    /// Computes the gradients of a method.
    pub fn of(plan: &ExecutionPlan, operators: &MethodOperators, uses: &Uses, order: &Order) -> Gradients {
        let count = plan.values().len();
        let stated = plan.tensors().filter(|(_, tensor)| tensor.requires_grad).count();
        if stated == 0 {
            return Gradients::none(count);
        }
        let mut pass = GradientPass { plan, current: vec![false; count], differs: vec![None; count] };
        for (index, tensor) in plan.tensors() {
            let is_constant = matches!(tensor.data, TensorData::Blob(_)) && tensor.memory == Memory::None;
            if !uses.produced[index] && order.views[index].is_none() {
                pass.set(index, is_constant);
            }
        }
        for (instruction, entries) in plan.instructions().map(Some).chain([None]).zip(&order.entries) {
            for index in entries {
                if let Some(View { base, .. }) = order.views[*index] {
                    pass.set(*index, pass.current[base]);
                }
            }
            let Some(instruction) = instruction else { break };
            for (index, computed) in pass.results(instruction, operators) {
                pass.set(index, computed);
            }
            // Other values that the instruction writes.
            let operands = instruction.operands().map(|(_, value, _)| value);
            for value in instruction.args().iter().copied().chain(operands) {
                let items = plan.value(value).map_or(&[][..], EValue::as_tensors);
                for index in items.iter().copied().chain([value]).filter_map(|index| index.get()) {
                    if pass.differs.get(index) == Some(&None) && uses.produced[index] {
                        pass.set(index, false);
                    }
                }
            }
        }
        let computed: Vec<bool> =
            (0..count).map(|index| pass.differs[index].is_some_and(|differs| pass.stated(index) != differs)).collect();
        let exceptions = plan.tensors().filter(|(index, tensor)| tensor.requires_grad != computed[*index]).count();
        match exceptions + 1 < stated {
            true => Gradients { is_stated: true, computed },
            false => Gradients::none(count),
        }
    }
}

/// State of the values at an instruction.
struct GradientPass<'p> {
    plan: &'p ExecutionPlan,
    /// `requires_grad` of each value as instructions read it: that of the file, once the value was written.
    current: Vec<bool>,
    /// `true` if a computed `requires_grad` differs from that of the file; `None` if nothing computes it, which means
    /// false.
    differs: Vec<Option<bool>>,
}

impl GradientPass<'_> {
    /// Returns the values whose gradients an instruction determines.
    fn results(&self, instruction: &Instruction, operators: &MethodOperators) -> Vec<(usize, bool)> {
        if let Some(operator) = operators.called(instruction) {
            let requires = |value: usize| self.current[value];
            return inference::gradients(self.plan.values(), operator, instruction.args(), requires);
        }
        // A tensor that is moved from one branch or the other requires gradients if one of them does.
        let index = |value: ValueId| value.within(self.current.len());
        let moved = instruction.moved().and_then(|(from, to)| Some((index(from)?, index(to)?)));
        moved.filter(|(from, _)| self.current[*from]).map(|(_, to)| (to, true)).into_iter().collect()
    }

    fn stated(&self, index: usize) -> bool {
        self.plan.values()[index].as_tensor().is_some_and(|tensor| tensor.requires_grad)
    }

    fn set(&mut self, index: usize, computed: bool) {
        let is_differentiable =
            self.plan.values()[index].as_tensor().is_some_and(|tensor| tensor.scalar_type.is_differentiable());
        let differs = (computed && is_differentiable) != self.stated(index);
        self.differs[index] = Some(differs || self.differs[index] == Some(true));
        self.current[index] = self.stated(index);
    }
}
