//! Calls whose arguments are constants, such as the transposition of a weight: their results are the same in every
//! execution, and `optimize` of `pte-emit` stores them in their place.

use serde::Serialize;

use pte_analysis::operators::MethodOperators;
use pte_model::program::{EValue, ExecutionPlan, Memory, Tensor, TensorData, ValueId};

/// Calls of a method whose arguments are constants, part of [`crate::summary::MethodSummary`].
///
/// ```
/// use pte_inspect::constant_calls::ConstantCalls;
/// use pte_inspect::summary::ProgramSummary;
///
/// # let _ = |summary: &ProgramSummary| {
/// let calls: ConstantCalls = summary.methods[0].constant_calls;
/// println!("{} calls with results of {} bytes", calls.calls, calls.bytes);
/// # };
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConstantCalls {
    /// Number of calls of operators that can be evaluated without a runtime.
    pub calls: usize,
    /// Size of their results in planned memory in bytes.
    pub bytes: u64,
}

/// Longest list of tensors that is compared.
const MAX_ITEMS: usize = 64;

impl ConstantCalls {
    /// Counts the calls of a method, with those whose arguments are results of others.
    pub(crate) fn of(plan: &ExecutionPlan) -> ConstantCalls {
        let operators = MethodOperators::known(plan);
        let written = operators.written(plan);
        let is_input = plan.is_input();
        let is_constant = |(value, found): (usize, &EValue)| match found {
            EValue::Tensor(Tensor { data: TensorData::Blob(_), memory: Memory::None, .. }) => !written.contains(&value),
            EValue::Tensor(_) => false,
            _ => !is_input[value] && !written.contains(&value),
        };
        let mut constant: Vec<bool> = plan.values().iter().enumerate().map(is_constant).collect();
        let mut found = ConstantCalls::default();
        for instruction in plan.instructions() {
            let Some((reads, results)) = operators.pure_call(instruction) else { continue };
            let is_known = operators.called(instruction).is_some_and(|known| known.facts.evaluation.is_some());
            let is_constant = |value: &ValueId| value.item(&constant) == Some(&true);
            let has_constants = |value: &ValueId| {
                let items = plan.value(*value).map_or(&[][..], EValue::as_tensors);
                is_constant(value) && items.len() <= MAX_ITEMS && items.iter().all(is_constant)
            };
            let has_tensor = reads.iter().any(|value| {
                let of = |value: &ValueId| plan.value(*value).is_some_and(|value| value.as_tensor().is_some());
                of(value) || plan.value(*value).is_some_and(|list| list.as_tensors().iter().any(of))
            });
            if !is_known || !has_tensor || !reads.iter().all(has_constants) {
                continue;
            }
            let result = results.first().and_then(|result| result.within(constant.len()));
            let tensor = result.and_then(|result| Some((result, plan.values()[result].as_tensor()?)));
            let Some((result, tensor)) = tensor.filter(|(_, tensor)| tensor.memory != Memory::None) else { continue };
            constant[result] = true;
            found.calls += 1;
            found.bytes = found.bytes.saturating_add(tensor.nbytes().unwrap_or(0));
        }
        found
    }
}
