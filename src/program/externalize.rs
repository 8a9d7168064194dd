//! Sends the constants of a program to a `.ptd`: the meaning of `--external-data`.
//!
//! Only marks them; which bytes go where is the layout's business.

use super::{EValue, ExtraTensorInfo, Memory, Program, TensorData};

/// Marks every constant that is inside the program as external, with its fully qualified name, or else `name(method,
/// value)`, as its key.
pub fn externalize(program: &mut Program, name: impl Fn(usize, usize) -> String) {
    for (method, plan) in program.execution_plan.iter_mut().flatten().enumerate() {
        for (index, value) in plan.values.iter_mut().flatten().enumerate() {
            let EValue::Tensor(tensor) = value else { continue };
            let constant = matches!(tensor.data, TensorData::Blob(_)) && tensor.memory == Memory::None;
            if !constant || tensor.is_external() {
                continue;
            }
            let extra = tensor.extra_tensor_info.get_or_insert_with(|| Box::new(ExtraTensorInfo::default()));
            extra.location = 1;
            extra.fully_qualified_name.get_or_insert_with(|| name(method, index));
        }
    }
}
