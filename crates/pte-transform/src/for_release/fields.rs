//! Fields and delegates as the exporter of a release writes them, without an effect on the results of a program.

use std::collections::HashMap;

use super::target::Target;
use crate::remap::{Indices, Remap};
use pte_model::data::BlobId;
use pte_model::program::{BackendDelegate, Device, ExecutionPlan, ExtraTensorInfo, Program, TensorDataLocation};

/// Lets the calls of a method share delegates with equal payloads, as an exporter does. `same` has for each blob the
/// first one with its bytes.
pub fn share_delegates(program: &mut Program, same: &[BlobId], target: &Target<'_>) -> Vec<Remap> {
    let plans = program.plans_mut().iter_mut();
    plans.map(|plan| if target.exporter.shares_delegates { share(plan, same) } else { Remap::all(plan) }).collect()
}

fn share(plan: &mut ExecutionPlan, same: &[BlobId]) -> Remap {
    let first = |blob: BlobId| same.get(blob.0 as usize).copied().unwrap_or(blob);
    let delegates = plan.delegates();
    let mut alike: HashMap<BlobId, Vec<usize>> = HashMap::new();
    let mut firsts = Vec::with_capacity(delegates.len());
    for (index, delegate) in delegates.iter().enumerate() {
        let BackendDelegate { id, processed, inline, compile_specs } = delegate;
        let others = alike.entry(first(*processed)).or_default();
        let is_equal = |other: &&usize| {
            let other = &delegates[**other];
            (&other.id, other.inline, &other.compile_specs) == (id, *inline, compile_specs)
        };
        let equal = others.iter().find(is_equal).copied();
        if equal.is_none() {
            others.push(index);
        }
        firsts.push(equal.unwrap_or(index));
    }
    let kept: Vec<bool> = firsts.iter().enumerate().map(|(index, first)| index == *first).collect();
    let mut remap = Remap { delegates: Indices::retained(&kept), ..Remap::all(plan) };
    firsts.iter().enumerate().for_each(|(index, first)| remap.delegates.replace(index, *first));
    remap.apply(plan);
    remap
}

/// Removes names of tensors that the exporter does not write, and a list of devices that are all the CPU. Returns the
/// number of names.
pub fn rewrite(plan: &mut ExecutionPlan, target: &Target<'_>) -> usize {
    let devices = &mut plan.memory.non_const_buffer_device;
    if devices.as_ref().is_some_and(|list| list.iter().all(|entry| entry.device() == Device::CPU)) {
        *devices = None;
    }
    if target.exporter.has_names {
        return 0;
    }
    let mut removed = 0;
    for (_, tensor) in plan.tensors_mut() {
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
