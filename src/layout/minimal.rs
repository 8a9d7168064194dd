//! Memory planner for the smallest pools (docs/format.md, "Minimal planner"). It searches for offsets with which a pool
//! has no more bytes than are alive at once at some time, which no plan can have less than.
//!
//! Like [`super::greedy`], it computes offsets from sizes and lifetimes; [`super::memory`] selects the tensors. The
//! greedy algorithm is the first of its attempts, so that the result is never larger. Its work is limited in steps, not
//! in time, so that the result is the same on every machine.

mod exact;
mod local;
mod part;

use std::collections::BTreeMap;

use super::align_up;
use super::greedy::{self, PlanRequest, PoolLayout, TooLarge};
use part::{Budget, Fit, Item, Part, UNPLACED};

/// Steps of the search in any case. A step visits one of the tensors that are alive together with another one.
const LEAST_STEPS: u64 = 1 << 20;
/// Steps of the search for each tensor.
const STEPS_PER_TENSOR: u64 = 1 << 13;
/// Maximum number of steps of the search: less than a second.
const MOST_STEPS: u64 = 1 << 25;

/// Assigns offsets to all requests, like [`greedy::plan`], with pools as small as the search finds. `alignment` is at
/// least 1. A pool begins with `reserved` bytes, rounded up to the alignment.
///
/// # Errors
/// [`TooLarge`] if the sizes exceed `u64`.
pub fn plan(requests: &[PlanRequest], alignment: u64, reserved: &[u64], padding: u64) -> Result<PoolLayout, TooLarge> {
    let start = greedy::plan(requests, alignment, &[], 0)?;
    let mut layout = PoolLayout { offsets: vec![0; requests.len()], sizes: vec![0; start.sizes.len()] };
    let mut pools: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, request) in requests.iter().enumerate() {
        pools.entry(request.pool).or_default().push(index);
    }
    for (pool, indices) in pools {
        let mut items = Vec::with_capacity(indices.len());
        for index in &indices {
            let PlanRequest { size, start, end, .. } = requests[*index];
            let size = align_up(size, alignment).ok_or(TooLarge)? / alignment;
            items.push(Item { size, start, end });
        }
        let greedy = indices.iter().map(|index| start.offsets[*index] / alignment).collect();
        let units = place(items, greedy);
        let base = align_up(reserved.get(pool as usize).copied().unwrap_or(0), alignment).ok_or(TooLarge)?;
        let mut end = base;
        for (index, unit) in indices.iter().zip(units) {
            let offset = unit.checked_mul(alignment).and_then(|offset| offset.checked_add(base)).ok_or(TooLarge)?;
            let size = align_up(requests[*index].size, alignment).ok_or(TooLarge)?;
            end = offset.checked_add(size).ok_or(TooLarge)?.max(end);
            layout.offsets[*index] = offset;
        }
        layout.sizes[pool as usize] = end.checked_add(padding).ok_or(TooLarge)?;
    }
    Ok(layout)
}

/// Returns the offsets of the tensors of a pool; `greedy` are those to begin with.
fn place(items: Vec<Item>, greedy: Vec<u64>) -> Vec<u64> {
    let mut offsets = greedy;
    offsets.iter_mut().zip(&items).filter(|(_, item)| item.size == 0).for_each(|(offset, _)| *offset = 0);
    let count = items.len() as u64;
    let steps = LEAST_STEPS.saturating_add(count.saturating_mul(STEPS_PER_TENSOR)).min(MOST_STEPS);
    let mut budget = Budget::new(steps);
    let mut parts = split(&items);
    let height = |part: &[usize], offsets: &[u64]| {
        part.iter().map(|index| offsets[*index].saturating_add(items[*index].size)).max().unwrap_or(0)
    };
    // No plan has a smaller pool than that of its largest part.
    let mut goal = parts.iter().map(|part| part.bound).max().unwrap_or(0);
    // The parts that need the most memory come first: the others may then use as much.
    parts.sort_by_key(|part| std::cmp::Reverse(height(&part.members, &offsets)));
    for split in parts {
        let members = split.members;
        if height(&members, &offsets) > goal {
            let own: Vec<Item> = members.iter().map(|index| items[*index]).collect();
            let before = members.iter().map(|index| offsets[*index]).collect();
            let part = Part::new(&own, &mut budget);
            let after = solve(&part, before, goal, &mut budget);
            members.iter().zip(after).for_each(|(index, offset)| offsets[*index] = offset);
        }
        goal = goal.max(height(&members, &offsets));
    }
    offsets
}

/// Returns better offsets than these for the tensors of a part, until none ends above `goal` or the steps are used up.
fn solve(part: &Part<'_>, mut best: Vec<u64>, goal: u64, budget: &mut Budget) -> Vec<u64> {
    let mut height = part.height(&best);
    let mut best_order = part.by_offset(&best);
    for order in part.orders() {
        if part.is_dense() {
            let offsets = part.stack(&order);
            if part.height(&offsets) < height {
                (height, best) = (part.height(&offsets), offsets);
            }
            continue;
        }
        for fit in [Fit::First, Fit::Best] {
            let mut offsets = vec![UNPLACED; part.items.len()];
            if height > goal && part.place(&order, fit, height, &mut offsets, budget) {
                (height, best) = (part.height(&offsets), offsets);
                best_order.clone_from(&order);
            }
        }
    }
    if part.is_dense() || height <= goal {
        return best;
    }
    let mut own = budget.share(4);
    let (found, is_optimal) = exact::search(part, goal, height, &mut own);
    budget.restore(own);
    if let Some(offsets) = found {
        best_order = part.by_offset(&offsets);
        (height, best) = (part.height(&offsets), offsets);
    }
    if is_optimal || height <= goal {
        return best;
    }
    let mut own = budget.share(2);
    let found = local::search(part, best_order, best, goal, &mut own);
    budget.restore(own);
    found
}

/// Tensors that no other tensor is alive together with.
struct Split {
    /// Indices of the tensors.
    members: Vec<usize>,
    /// Maximum size that is alive at once.
    bound: u64,
}

/// Divides the tensors of a pool at the times at which none is alive.
fn split(items: &[Item]) -> Vec<Split> {
    // Tensors without bytes fit anywhere.
    let mut order: Vec<usize> = (0..items.len()).filter(|index| items[*index].size > 0).collect();
    order.sort_unstable_by_key(|index| (items[*index].start, *index));
    let mut parts: Vec<Split> = Vec::new();
    let mut last = None;
    for index in order {
        let Item { start, end, .. } = items[index];
        match parts.last_mut() {
            Some(part) if last.is_some_and(|last| start <= last) => part.members.push(index),
            Some(_) | None => parts.push(Split { members: vec![index], bound: 0 }),
        }
        last = last.max(Some(end));
    }
    for part in &mut parts {
        part.bound = lower_bound(part.members.iter().map(|index| items[*index]));
    }
    parts
}

/// Returns the maximum size that is alive at once.
fn lower_bound(items: impl Iterator<Item = Item>) -> u64 {
    // At each time, starts are added before ends are removed.
    let mut changes: Vec<(u32, bool, u64)> = Vec::new();
    for Item { size, start, end } in items {
        changes.extend([(start, false, size), (end, true, size)]);
    }
    changes.sort_unstable();
    let (mut alive, mut most) = (0u64, 0);
    for (_, is_end, size) in changes {
        alive = if is_end { alive.saturating_sub(size) } else { alive.saturating_add(size) };
        most = most.max(alive);
    }
    most
}

#[cfg(test)]
mod tests;
