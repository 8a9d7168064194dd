//! State that needs no memory of its own between executions, because each one replaces it before it reads it.

use pte_analysis::operators::{MethodOperators, Usage};
use pte_model::program::{EValue, ExecutionPlan, Instruction, Memory, TensorData, ValueId};

/// Makes state tensors whose first use replaces all of their content tensors like any other. A binary file does not
/// tell the two apart: read again, the program would be planned with the latter. Methods with jumps and moves stay, and
/// so does state that has a name, is shared or is viewed.
pub fn release_state(plan: &mut ExecutionPlan, operators: &MethodOperators) {
    let is_call = |instruction: &Instruction| {
        matches!(instruction, Instruction::KernelCall { .. } | Instruction::DelegateCall { .. })
    };
    if !plan.instructions().all(is_call) {
        return;
    }
    let count = plan.values().len();
    let (mut is_seen, mut is_replaced) = (vec![false; count], vec![false; count]);
    let mut visit = |value: ValueId, replaces: bool| {
        if let Some(index) = value.get()
            && let Some(seen @ false) = is_seen.get_mut(index)
        {
            (*seen, is_replaced[index]) = (true, replaces);
        }
    };
    // What the caller has, what is viewed, and items of lists.
    plan.inputs.iter().chain(&plan.outputs).flatten().for_each(|value| visit(*value, false));
    for value in plan.values() {
        value.as_tensors().iter().for_each(|item| visit(*item, false));
        if let EValue::Tensor(tensor) = value
            && let Memory::View { base } = tensor.memory
        {
            visit(ValueId::of_int(base.into()), false);
        }
    }
    for instruction in plan.instructions() {
        let known = operators.called(instruction);
        for Usage { position, value, .. } in operators.args(instruction) {
            visit(value, known.is_some_and(|known| known.needs_no_content(position)));
        }
        instruction.operands().for_each(|(_, value, _)| visit(value, false));
    }
    for (_, tensor) in plan.tensors_mut().filter(|(value, _)| is_replaced[*value]) {
        if let Memory::Auto { persistent, shared: None, .. } = &mut tensor.memory
            && tensor.data == TensorData::None
            && tensor.extra_tensor_info.is_none()
        {
            *persistent = false;
        }
    }
}
