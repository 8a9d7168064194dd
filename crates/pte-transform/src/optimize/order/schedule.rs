//! Orders of the instructions of a block in which fewer bytes are alive at once: list scheduling from either end, and
//! subtrees by the memory that they need, then list scheduling with random preferences.

use super::blocks::{Block, BlockState};
use std::cmp::Reverse;

/// Attempts of list scheduling for a block, and in addition for each instruction.
const ATTEMPTS: (usize, usize) = (32, 4);

/// Generator of numbers with a fixed seed (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Returns an order with which fewer bytes are alive at once than in the order of the file, if one is found. The search
/// ends when not more than `least` are, or when `steps` are used up.
pub fn search(block: &Block, least: u64, steps: &mut u64) -> Option<Vec<u32>> {
    let original = block.original();
    let before = block.peak(&original);
    let mut best: (u64, Vec<u32>) = (before, original);
    let goal = least.max(lower_bound(block));
    let reversed = block.reversed();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let offer = |order: Option<Vec<u32>>, best: &mut (u64, Vec<u32>)| {
        let Some(order) = order else { return };
        let peak = block.peak(&order);
        if peak < best.0 {
            *best = (peak, order);
        }
    };
    offer(by_subtree(block, steps), &mut best);
    let attempts = ATTEMPTS.0.saturating_add(block.len().saturating_mul(ATTEMPTS.1));
    for attempt in 0..attempts {
        if best.0 <= goal || *steps == 0 {
            break;
        }
        // The first attempts have no random preferences.
        let noise = if attempt < 4 { None } else { Some(&mut random) };
        let limit = best.0 - 1;
        let target = if attempt.is_multiple_of(4) || attempt % 4 == 1 { limit } else { goal };
        let order = match attempt % 2 {
            0 => list(block, target, limit, noise, steps),
            _ => list(&reversed, target, limit, noise, steps).map(|mut order| {
                order.reverse();
                order
            }),
        };
        offer(order, &mut best);
    }
    (best.0 < before).then_some(best.1)
}

/// Returns the number of bytes that some instruction needs in any order.
fn lower_bound(block: &Block) -> u64 {
    let needed = |uses: &Vec<u32>| {
        let sizes = uses.iter().map(|number| block.memory[*number as usize].size);
        sizes.fold(block.always, u64::saturating_add)
    };
    block.uses.iter().map(needed).max().unwrap_or(0)
}

/// Takes the instruction next that adds the fewest bytes after it, of those that keep within `target` if there are any.
/// With `noise`, some are preferred at random. `None` if more than `limit` bytes are alive, or `steps` are used up.
fn list(block: &Block, target: u64, limit: u64, noise: Option<&mut Random>, steps: &mut u64) -> Option<Vec<u32>> {
    let mut noise = noise;
    let mut state = BlockState::new(block);
    let mut missing: Vec<usize> = block.before.iter().map(Vec::len).collect();
    let mut ready: Vec<u32> = (0..).zip(&missing).filter(|(_, missing)| **missing == 0).map(|(step, _)| step).collect();
    let mut order = Vec::with_capacity(block.len());
    // With random preferences, the size of a change counts less.
    let shift = noise.as_mut().map_or(0, |random| random.next() % 8);
    while !ready.is_empty() {
        let mut best = None;
        for (position, step) in ready.iter().enumerate() {
            let cost = 1 + block.uses[*step as usize].len() as u64;
            *steps = steps.checked_sub(cost).unwrap_or_default();
            if *steps == 0 {
                return None;
            }
            let (added, released) = state.change(block, *step);
            let during = state.alive.saturating_add(added);
            let exceeds = during > target;
            let growth = i128::from(added) - i128::from(released);
            let penalty =
                noise.as_mut().map_or(0, |random| if random.next() % 8 < shift { random.next() % 4 } else { 0 });
            let need = if exceeds { during } else { 0 };
            let key = (penalty, need, growth, *step);
            if best.is_none_or(|(least, _)| key < least) {
                best = Some((key, position));
            }
        }
        let (_, position) = best?;
        let step = ready.swap_remove(position);
        if state.execute(block, step) > limit {
            return None;
        }
        order.push(step);
        for next in &block.after[step as usize] {
            missing[*next as usize] -= 1;
            if missing[*next as usize] == 0 {
                ready.push(*next);
            }
        }
    }
    Some(order)
}

/// Takes the instructions that others depend on one after the other, those first that need the most memory in addition
/// to their results, as Sethi and Ullman do for trees.
fn by_subtree(block: &Block, steps: &mut u64) -> Option<Vec<u32>> {
    let mut state = BlockState::new(block);
    let mut results = Vec::with_capacity(block.len());
    for step in 0..block.len() as u32 {
        results.push(state.change(block, step).0);
        state.execute(block, step);
    }
    let mut needs: Vec<u64> = Vec::with_capacity(block.len());
    let mut before = Vec::with_capacity(block.len());
    for (step, own) in block.before.iter().enumerate() {
        *steps = steps.checked_sub(1 + own.len() as u64)?;
        let mut own = own.clone();
        own.sort_by_key(|other| (Reverse(needs[*other as usize].saturating_sub(results[*other as usize])), *other));
        let (mut kept, mut need) = (0u64, 0);
        for other in &own {
            need = kept.saturating_add(needs[*other as usize]).max(need);
            kept = kept.saturating_add(results[*other as usize]);
        }
        needs.push(need.max(kept.saturating_add(results[step])));
        before.push(own);
    }
    let mut order = Vec::with_capacity(block.len());
    let mut is_taken = vec![false; block.len()];
    let sinks = (0..block.len() as u32).filter(|step| block.after[*step as usize].is_empty());
    // Instructions whose dependencies are taken before them, with the number of those.
    let mut open: Vec<(u32, usize)> = Vec::new();
    for sink in sinks {
        open.push((sink, 0));
        while let Some((step, next)) = open.last_mut() {
            match before[*step as usize].get(*next) {
                Some(other) => {
                    *next += 1;
                    if !is_taken[*other as usize] {
                        open.push((*other, 0));
                    }
                }
                None => {
                    if !std::mem::replace(&mut is_taken[*step as usize], true) {
                        order.push(*step);
                    }
                    open.pop();
                }
            }
        }
    }
    Some(order)
}
