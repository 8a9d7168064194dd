//! Properties of values and names of instructions, for the modules of bounds.

use pte_model::program::{EValue, ExecutionPlan, TensorShapeDynamism};

/// Returns `true` for a tensor whose sizes may be smaller at run time.
pub(super) fn is_dynamic(value: &EValue) -> bool {
    value.as_tensor().is_some_and(|tensor| tensor.shape_dynamism != TensorShapeDynamism::STATIC)
}

/// Returns the sizes of a tensor; none of another value.
pub(super) fn sizes_of(value: &EValue) -> &[i32] {
    value.as_tensor().and_then(|tensor| tensor.sizes.as_deref()).unwrap_or_default()
}

/// Returns the name of an instruction for messages, with its chain if there are several.
pub(super) fn instruction_name(plan: &ExecutionPlan, chain: usize, number: usize) -> String {
    match plan.chains.as_ref().is_some_and(|chains| chains.len() > 1) {
        true => format!("instruction {number} of chain {chain}"),
        false => format!("instruction {number}"),
    }
}
