//! Lifetimes for a planner that does not follow the exporter (docs/format.md, "Minimal planner"): those of the method
//! as it is executed, without the parts and the tensors that the exporter plans in addition.

use super::Lifetimes;
use super::regions::Regions;
use crate::aliases::AliasKind;
use crate::lifetimes::{Execution, Spans};
use crate::method::Method;
use crate::operators::AccessKind;
use pte_model::program::{Memory, Tensor, TensorData};

/// Computes the lifetimes of the values of a method with these memory requests. A tensor that only moves set becomes a
/// view in `requested`: its own memory is never used.
pub fn lifetimes(method: &Method<'_>, requested: &mut [Memory]) -> Lifetimes {
    for (target, source) in moved(method, requested) {
        requested[target] = Memory::View { base: source as u32 };
    }
    let end = method.plan.instructions().count() as u32 + 1;
    let Execution { times, .. } = method.execution(requested);
    let mut spans = Spans { clock: Regions::none(method.plan), list: times };
    for (value, memory) in requested.iter().enumerate() {
        // Also state that this method overwrites: others may read it.
        if let Memory::Auto { persistent: true, .. } = memory {
            spans.list[value] = Some((0, end));
        }
    }
    spans.touch_bases(requested);
    Lifetimes { spans, end, write_backs: Vec::new() }
}

/// Returns the tensors to be planned that nothing but moves sets, each with the planned source of its first move that
/// has room for it.
fn moved(method: &Method<'_>, requested: &[Memory]) -> Vec<(usize, usize)> {
    let plan = method.plan;
    let count = plan.values().len();
    // By value: it is an input, or something other than a move may write it.
    let mut is_set = plan.is_input();
    // By value: its items are set, too. Many calls can have the same long list.
    let mut has_set_items = vec![false; count];
    for instruction in plan.instructions() {
        for usage in method.operators.uses(instruction) {
            let is_move = instruction.args().is_empty() && usage.kind == AccessKind::Alias;
            let is_written = usage.kind.may_write() && usage.kind != AccessKind::Release && !is_move;
            let Some(is_done) = usage.value.item_mut(&mut has_set_items).filter(|is_done| is_written && !**is_done)
            else {
                continue;
            };
            *is_done = true;
            for item in plan.value(usage.value).map_or(&[][..], |value| value.as_tensors()).iter().chain([&usage.value])
            {
                item.item_mut(&mut is_set).into_iter().for_each(|set| *set = true);
            }
        }
    }
    let is_automatic = |value: usize| {
        let plain = Memory::Auto { pool: None, persistent: false, shared: None };
        let tensor = plan.values()[value].as_tensor();
        requested[value] == plain && tensor.is_some_and(|tensor| tensor.data == TensorData::None)
    };
    let tensor = |value: usize| plan.values()[value].as_tensor();
    let has_room = |target: usize, source: usize| {
        let (Some(target), Some(source)) = (tensor(target), tensor(source)) else { return false };
        source.nbytes() >= target.nbytes() && target.device() == source.device()
    };
    let mut is_view: Vec<bool> = requested.iter().map(|memory| matches!(memory, Memory::View { .. })).collect();
    let mut is_base = vec![false; count];
    for memory in requested {
        if let Memory::View { base } = memory {
            is_base.get_mut(*base as usize).into_iter().for_each(|is_base| *is_base = true);
        }
    }
    let mut found = Vec::new();
    for alias in method.aliases().iter().filter(|alias| alias.kind == AliasKind::Move) {
        let (target, source) = (alias.result, base_of(requested, alias.base));
        let is_candidate = !is_set[target] && is_automatic(target) && !is_view[target] && !is_base[target];
        if is_candidate
            && target != source
            && is_planned(source, requested, &is_view, tensor(source))
            && has_room(target, source)
        {
            is_view[target] = true;
            is_base[source] = true;
            found.push((target, source));
        }
    }
    found
}

/// Returns the value that a view is based on, or the value itself.
fn base_of(requested: &[Memory], value: usize) -> usize {
    match requested[value] {
        Memory::View { base } if (base as usize) < requested.len() => base as usize,
        Memory::None | Memory::Auto { .. } | Memory::View { .. } | Memory::At { .. } => value,
    }
}

/// Returns `true` for a tensor with memory of its own in a pool.
fn is_planned(value: usize, requested: &[Memory], is_view: &[bool], tensor: Option<&Tensor>) -> bool {
    let is_tensor = tensor.is_some_and(|tensor| tensor.nbytes().is_some());
    let has_place = matches!(requested[value], Memory::Auto { .. } | Memory::At { .. });
    is_tensor && has_place && !is_view[value]
}
