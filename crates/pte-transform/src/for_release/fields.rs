//! Fields that the exporter of a release does not write, and that have no effect.

use super::target::Target;
use pte_model::program::{Device, EValue, ExecutionPlan, ExtraTensorInfo, TensorDataLocation};

/// Removes names of tensors that the exporter does not write, and a list of devices that are all the CPU. Returns the number of names.
pub fn rewrite(plan: &mut ExecutionPlan, target: &Target<'_>) -> usize {
    let devices = &mut plan.memory.non_const_buffer_device;
    if devices.as_ref().is_some_and(|list| list.iter().all(|entry| entry.device() == Device::CPU)) {
        *devices = None;
    }
    if target.exporter.has_names {
        return 0;
    }
    let mut removed = 0;
    for value in plan.values.iter_mut().flatten() {
        let EValue::Tensor(tensor) = value else { continue };
        let has_only_name = |extra: &ExtraTensorInfo| {
            extra.location == TensorDataLocation::SEGMENT && extra.device() == Device::CPU && extra.tag.is_none()
        };
        if tensor.extra_tensor_info.as_deref().is_some_and(has_only_name) {
            tensor.extra_tensor_info = None;
            removed += 1;
        }
    }
    removed
}
