//! The order of steps on all paths through a method with jumps.

use std::cell::RefCell;

use pte_analysis::blocks::{Block, Jump, blocks, jumps};
use pte_model::program::ExecutionPlan;

/// Number of basic blocks up to which paths between them are followed; the work is the square of it.
const MAX_BLOCKS: usize = 1 << 12;

/// The basic blocks of a method.
pub struct Order {
    jumps: Vec<Jump>,
    blocks: Vec<Block>,
    end: u32,
    /// The last block that was asked for, and by block, whether a path from the start reaches it without that one.
    reached: RefCell<(usize, Vec<bool>)>,
}

impl Order {
    pub fn new(plan: &ExecutionPlan) -> Order {
        let jumps = jumps(plan);
        let end = plan.instructions().count() as u32;
        let edges: Vec<(Jump, bool)> = jumps.iter().map(|jump| (*jump, true)).collect();
        let blocks = if jumps.is_empty() { Vec::new() } else { blocks(&edges, end) };
        Order { jumps, blocks, end, reached: RefCell::new((usize::MAX, Vec::new())) }
    }

    /// Returns `true` if a step is executed after another one on all paths that reach it. `later` is not the end of the
    /// method.
    pub fn is_after(&self, first: u32, later: u32) -> bool {
        if self.jumps.is_empty() {
            return first < later;
        }
        let (from, to) = (self.block(first), self.block(later));
        if from == to {
            return first < later;
        }
        if self.blocks.len() > MAX_BLOCKS {
            return false;
        }
        let mut reached = self.reached.borrow_mut();
        if reached.0 != from {
            *reached = (from, self.reached_without(from));
        }
        !reached.1.get(to).copied().unwrap_or(true)
    }

    /// Returns the index of the block of a step.
    fn block(&self, step: u32) -> usize {
        self.blocks.partition_point(|block| block.end <= step)
    }

    /// Returns, by block, `true` if a path from the first one reaches it without another one.
    fn reached_without(&self, without: usize) -> Vec<bool> {
        let mut reached = vec![false; self.blocks.len()];
        let mut open = vec![0];
        while let Some(at) = open.pop() {
            if at == without || at >= reached.len() || std::mem::replace(&mut reached[at], true) {
                continue;
            }
            open.push(at + 1);
            let last = self.blocks[at].end - 1;
            if let Ok(jump) = self.jumps.binary_search_by_key(&last, |jump| jump.step) {
                let to = self.jumps[jump].to;
                if to < self.end {
                    open.push(self.block(to));
                }
            }
        }
        reached
    }
}
