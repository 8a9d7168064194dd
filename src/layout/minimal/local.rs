//! Search for a better order in which to place tensors: tensors at the top of the pool, or those that are alive
//! together with them, are placed earlier.

use super::part::{Budget, Fit, Part, UNPLACED};

/// Changes without success after which the search continues from the best order with several changes at once.
const PATIENCE: u32 = 200;
/// Maximum number of such changes.
const JUMPS: u64 = 8;

/// Generator of numbers with a fixed seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// An order and the offsets that follow from it.
#[derive(Clone)]
struct Solution {
    order: Vec<u32>,
    offsets: Vec<u64>,
    height: u64,
}

/// Returns offsets that are at least as good as `offsets`. Placing the tensors in `order` should lead to them.
pub fn search(part: &Part<'_>, order: Vec<u32>, offsets: Vec<u64>, goal: u64, budget: &mut Budget) -> Vec<u64> {
    let height = part.height(&offsets);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut replaced = vec![UNPLACED; order.len()];
    if !part.place(&order, Fit::First, u64::MAX, &mut replaced, budget) {
        return offsets;
    }
    let mut best = Solution { height, offsets, order: order.clone() };
    let mut current = Solution { height: part.height(&replaced), offsets: replaced, order };
    if current.height < best.height {
        best = current.clone();
    }
    let mut failures = 0;
    let mut candidate = current.clone();
    while best.height > goal {
        let jumps = if failures < PATIENCE { 1 } else { 2 + random.below(JUMPS as usize) };
        if jumps > 1 {
            current.clone_from(&best);
            failures = 0;
        }
        let first = change(part, &current, &mut candidate.order, jumps, &mut random);
        // Tensors that are placed before the first change stay.
        candidate.offsets.clone_from(&current.offsets);
        candidate.order[first..].iter().for_each(|item| candidate.offsets[*item as usize] = UNPLACED);
        let limit = if jumps > 1 { best.height.saturating_add(best.height / 8) } else { current.height };
        let limit = limit.saturating_add(1);
        // The copies are steps, too.
        if !budget.spend(candidate.order.len() as u64 / 4 + 1) {
            break;
        }
        if !part.place(&candidate.order[first..], Fit::First, limit, &mut candidate.offsets, budget) {
            failures += 1;
            continue;
        }
        candidate.height = part.height(&candidate.offsets);
        failures = if candidate.height < current.height { 0 } else { failures + 1 };
        std::mem::swap(&mut current, &mut candidate);
        if current.height < best.height {
            best.clone_from(&current);
        }
    }
    best.offsets
}

/// Sets `order` to that of a solution with some tensors moved to earlier positions; returns the first of these.
fn change(part: &Part<'_>, solution: &Solution, order: &mut Vec<u32>, jumps: usize, random: &mut Random) -> usize {
    order.clone_from(&solution.order);
    let is_top = |item: &u32| {
        let item = *item as usize;
        solution.offsets[item].saturating_add(part.items[item].size) == solution.height
    };
    let top: Vec<u32> = order.iter().copied().filter(is_top).collect();
    let mut first = order.len();
    for jump in 0..jumps {
        let mut item = match jump {
            0 if !top.is_empty() => top[random.below(top.len())],
            _ => order[random.below(order.len())],
        };
        let conflicts = part.conflicts_of(item as usize);
        if !conflicts.is_empty() && random.below(3) == 0 {
            item = conflicts[random.below(conflicts.len())];
        }
        let from = order.iter().position(|other| *other == item).unwrap_or(0);
        let to = random.below(from);
        order[to..=from].rotate_right(1);
        first = first.min(to);
    }
    first
}
