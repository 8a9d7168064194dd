//! Reorders the instructions of a method if the maximum number of bytes that are alive at once becomes smaller.
//!
//! Instructions move only between jumps and the destinations of jumps, and only if each one still reads what it read
//! before: values are written and read in the same order, and calls with unknown effects stay in their order. Indices
//! of values do not change. `blocks.rs` finds the dependencies, `schedule.rs` searches for the orders.

mod blocks;
mod schedule;

use super::alive::{self, AliveMemory};
use blocks::StraightCode;
use pte_analysis::method::Method;
use pte_analysis::operators::MethodOperators;
use pte_model::program::{ExecutionPlan, Memory};

/// Steps of the search for each instruction. A step visits one instruction or one of the values that it uses.
const STEPS_PER_INSTRUCTION: u64 = 1 << 12;
/// Steps of the search in any case, and at most.
const STEPS: (u64, u64) = (1 << 20, 1 << 25);

/// Result of [`reorder`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reordering {
    /// Former position of each instruction, counted through all chains; empty if none moved.
    pub order: Vec<u32>,
    /// Maximum number of bytes of planned memory that were alive at once.
    pub before: u64,
    /// The same after the change.
    pub after: u64,
}

impl Reordering {
    /// Returns the number of instructions at another position than before.
    pub fn moved(&self) -> usize {
        (0..).zip(&self.order).filter(|(position, step)| position != *step).count()
    }
}

/// Reorders the instructions of a method. A method with explicit offsets stays as it is, and so does one without a
/// better order. Stack traces move with their instructions.
pub fn reorder(plan: &mut ExecutionPlan, operators: &MethodOperators) -> Reordering {
    let alive = AliveMemory::of(&Method::of(plan, operators));
    let count = plan.instructions().count();
    let before = alive.by_time(count as u32 + 1).into_iter().max().unwrap_or(0);
    let same = Reordering { order: Vec::new(), before, after: before };
    if alive.requested.iter().any(|memory| matches!(memory, Memory::At { .. })) {
        return same;
    }
    let Some(code) = StraightCode::find(plan, operators, &alive) else { return same };
    let mut steps = STEPS.0.saturating_add(count as u64 * STEPS_PER_INSTRUCTION).min(STEPS.1);
    let mut order: Vec<u32> = (0..count as u32).collect();
    let mut blocks: Vec<_> = code.blocks.iter().map(|block| (block, block.peak(&block.original()))).collect();
    // The blocks that need the most memory come first. Others are left alone if one of these cannot need less.
    blocks.sort_by_key(|(block, peak)| (std::cmp::Reverse(*peak), block.first));
    let mut least = 0;
    for (block, peak) in blocks {
        if peak <= least {
            break;
        }
        let better = schedule::search(block, least, &mut steps);
        let new = better.as_ref().map_or(peak, |better| block.peak(better));
        for (position, step) in better.into_iter().flatten().enumerate() {
            order[block.first as usize + position] = block.first + step;
        }
        least = least.max(new);
    }
    let unchanged = plan.chains.clone();
    apply(plan, &order);
    let after = alive::peak(plan, operators);
    // Also if nothing moved.
    if after >= before {
        plan.chains = unchanged;
        return same;
    }
    Reordering { order, before, after }
}

/// Puts the instructions in an order, which has positions counted through all chains. None moves to another chain.
fn apply(plan: &mut ExecutionPlan, order: &[u32]) {
    let mut first = 0;
    for chain in plan.chains.iter_mut().flatten() {
        let Some(instructions) = &mut chain.instructions else { continue };
        let own = &order[first..first + instructions.len()];
        let local = || own.iter().map(|step| *step as usize - first);
        let reordered = local().map(|step| instructions[step].clone()).collect();
        if let Some(traces) = &mut chain.stacktrace
            && traces.len() == instructions.len()
        {
            *traces = local().map(|step| std::mem::take(&mut traces[step])).collect();
        }
        first += instructions.len();
        *instructions = reordered;
    }
}
