//! Moves the constants of a program to a `.ptd` (`--external-data`).
//!
//! Only marks them; the layout places their bytes.

use std::collections::HashMap;

use pte_model::data::BlobId;
use pte_model::program::{EValue, ExtraTensorInfo, Memory, Program, Tensor, TensorData, TensorDataLocation};

/// Marks every constant whose data are in the program as external. Its key is its fully qualified name, or else
/// `name(method, value)`, or else [`generated_key`]. If several methods use such a name for different data, it is
/// prefixed with the method's name and a dot. `same` is the result of [`pte_model::data::dedup::find`].
pub fn externalize(program: &mut Program, same: &[BlobId], name: impl Fn(usize, usize) -> Option<String>) {
    let mut first: HashMap<String, Tensor> = HashMap::new();
    let mut ambiguous: HashMap<String, bool> = HashMap::new();
    for (method, plan) in program.plans().iter().enumerate() {
        for (index, tensor) in plan.tensors().filter(|(_, tensor)| is_inside(tensor)) {
            let generated = || generated_key(plan.name.as_deref(), index);
            let name = tensor.name().map(str::to_owned).or_else(|| name(method, index)).unwrap_or_else(generated);
            let clash = first.get(&name).is_some_and(|other| !is_same(tensor, other, same));
            *ambiguous.entry(name.clone()).or_default() |= clash;
            first.entry(name).or_insert_with(|| tensor.clone());
        }
    }
    for (method, plan) in program.execution_plan.iter_mut().flatten().enumerate() {
        let method_name = plan.name.clone().unwrap_or_default();
        for (index, value) in plan.values.iter_mut().flatten().enumerate() {
            let EValue::Tensor(tensor) = value else { continue };
            if !is_inside(tensor) {
                continue;
            }
            let extra = tensor.extra_tensor_info.get_or_insert_with(|| Box::new(ExtraTensorInfo::default()));
            extra.location = TensorDataLocation::EXTERNAL;
            extra.fully_qualified_name.get_or_insert_with(|| {
                let name = name(method, index).unwrap_or_else(|| generated_key(Some(&method_name), index));
                if ambiguous[&name] { format!("{method_name}.{name}") } else { name }
            });
        }
    }
}

/// Returns the key of an unnamed constant: the method's name and the index of the value.
pub fn generated_key(method: Option<&str>, value: usize) -> String {
    format!("{}.{value}", method.unwrap_or_default())
}

/// Returns `true` for a constant whose data are in the program.
fn is_inside(tensor: &Tensor) -> bool {
    matches!(tensor.data, TensorData::Blob(_)) && tensor.memory == Memory::None && !tensor.is_external()
}

/// Returns `true` if two tensors can share a key.
fn is_same(a: &Tensor, b: &Tensor, same: &[BlobId]) -> bool {
    let blob = |tensor: &Tensor| match tensor.data {
        TensorData::Blob(blob) => Some(same[blob.0 as usize]),
        TensorData::None | TensorData::Elsewhere(_) => None,
    };
    (a.scalar_type, &a.sizes, &a.dim_order, blob(a)) == (b.scalar_type, &b.sizes, &b.dim_order, blob(b))
}
