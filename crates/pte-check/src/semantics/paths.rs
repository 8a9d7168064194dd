//! Paths through the basic blocks of a method, and tensors that are read although a path to the read does not write
//! them (`X-28`).
//!
//! The rule only checks tensors whose first write comes before their first read, in the order of the instructions.
//! Other tensors are state or have initial data, and the initialisation rules cover them. A loop counts as executed at
//! least once, because its condition is usually true at first.

use super::super::finding::{Findings, Locator};
use super::control::ControlFlow;
use super::limits::{self, Budget};
use super::method::MethodAnalysis;
use crate::RuleId::*;
use pte_analysis::access::Access;
use pte_analysis::blocks::{self, Jump};

/// Reports the first read of each tensor that a path does not write.
pub fn check(method: &MethodAnalysis<'_>, flow: &ControlFlow, findings: &mut Findings, locate: &Locator<'_>) {
    if method.accesses().is_truncated || flow.edges().is_empty() {
        return;
    }
    // Each jump is compared with all loops.
    if method.budget(&limits::LOOPS).spend(flow.edges().len().saturating_mul(flow.loops().count())).is_none() {
        return method.report(&limits::LOOPS, findings, locate);
    }
    let mut blocks = Blocks::with_loops(flow, method.end(), method.budget(&limits::BLOCKS));
    let mut accesses: Vec<&Access> = Vec::new();
    for (value, facts) in method.facts.iter().enumerate() {
        if !facts.is_planned || facts.has_data || method.is_input[value] {
            continue;
        }
        accesses.clear();
        accesses.extend(method.value_accesses(value));
        if accesses.first().is_none_or(|first| !first.kind.may_write() || first.kind.keeps()) {
            continue;
        }
        let Some(read) = blocks.unwritten_read(&accesses) else { continue };
        findings.add(X_28, || {
            let what = if read.step == method.end() { "an output" } else { "a read of" };
            let found = format!("{what} values[{value}], which only some of the paths to it write");
            let expected = "an instruction that writes it on each path, or initial data";
            (locate(&method.element_of(read)), found, expected.to_owned())
        });
    }
    if blocks.budget.is_exceeded() {
        method.report(&limits::BLOCKS, findings, locate);
    }
}

/// The basic blocks of a method: instructions between jumps and their destinations.
pub struct Blocks {
    /// First step of each block. The last block has the outputs.
    starts: Vec<u32>,
    /// The blocks that may follow each block.
    next: Vec<Vec<usize>>,
    /// By block: number of the search that visited it last.
    visited: Vec<usize>,
    searches: usize,
    pub budget: Budget,
}

impl Blocks {
    /// Returns the blocks as they may follow each other.
    pub fn new(flow: &ControlFlow, end: u32, budget: Budget) -> Blocks {
        Blocks::of(flow, &[], end, budget)
    }

    /// Returns the blocks as they follow each other if each loop is executed at least once.
    fn with_loops(flow: &ControlFlow, end: u32, budget: Budget) -> Blocks {
        Blocks::of(flow, &flow.loops().collect::<Vec<_>>(), end, budget)
    }

    fn of(flow: &ControlFlow, loops: &[(u32, u32)], end: u32, budget: Budget) -> Blocks {
        let edges = flow.edges();
        let mut starts: Vec<u32> = blocks::blocks(&edges, end).into_iter().map(|block| block.first).collect();
        starts.push(end);
        starts.dedup();
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); starts.len()];
        for &(Jump { step, to }, falls_through) in &edges {
            // A loop is left after its last instruction.
            let is_left = |(head, back): &&(u32, u32)| (*head..=*back).contains(&step) && to > *back;
            let left = loops.iter().filter(is_left).map(|(_, back)| *back).max();
            let from = left.filter(|_| falls_through).unwrap_or(step);
            next[block_of(&starts, from)].push(block_of(&starts, to));
        }
        let mut falls_through = vec![true; starts.len()];
        for (jump, _) in edges.iter().filter(|(_, falls_through)| !falls_through) {
            falls_through[block_of(&starts, jump.step)] = false;
        }
        for block in (1..starts.len()).filter(|block| falls_through[block - 1]) {
            next[block - 1].push(block);
        }
        Blocks { visited: vec![0; starts.len()], starts, next, searches: 0, budget }
    }

    /// Returns the steps of the reads that paths from the end of `step` reach before a write. `accesses` are those of a
    /// tensor, by step; with `is_kept`, the next execution finds its content.
    pub fn reads_after(&mut self, accesses: &[&Access], step: u32, is_kept: bool) -> Option<Vec<u32>> {
        self.reads_from(accesses, (block_of(&self.starts, step), step + 1), is_kept)
    }

    /// Returns `true` if a path from the start of `step`, which is that of a block, reaches a read before a write.
    pub fn is_read_from(&mut self, accesses: &[&Access], step: u32) -> Option<bool> {
        Some(!self.reads_from(accesses, (block_of(&self.starts, step), step), false)?.is_empty())
    }

    fn reads_from(&mut self, accesses: &[&Access], start: (usize, u32), is_kept: bool) -> Option<Vec<u32>> {
        self.searches += 1;
        let (mut open, mut found) = (vec![start], Vec::new());
        let last = self.starts.len() - 1;
        while let Some((block, from)) = open.pop() {
            self.budget.spend(1)?;
            let end = self.starts.get(block + 1).copied().unwrap_or(u32::MAX);
            let first = accesses.partition_point(|access| access.step < from);
            match accesses.get(first).filter(|access| access.step < end) {
                // An instruction reads its arguments before it writes.
                Some(access) => {
                    let mut at_step = accesses[first..].iter().take_while(|other| other.step == access.step);
                    found.extend(at_step.any(|access| access.kind.keeps()).then_some(access.step));
                }
                None => {
                    let wrapped = (block == last && is_kept).then_some(0);
                    for next in self.next[block].iter().copied().chain(wrapped) {
                        if std::mem::replace(&mut self.visited[next], self.searches) != self.searches {
                            open.push((next, self.starts[next]));
                        }
                    }
                }
            }
        }
        Some(found)
    }

    /// Returns `true` if a path from a write of a tensor reaches `step`.
    pub fn is_written_before(&mut self, accesses: &[&Access], step: u32) -> Option<bool> {
        let target = block_of(&self.starts, step);
        let mut writes = accesses.iter().filter(|access| access.kind.may_write()).peekable();
        if writes.clone().any(|write| block_of(&self.starts, write.step) == target && write.step < step) {
            return Some(true);
        }
        self.searches += 1;
        let mut open: Vec<usize> = Vec::new();
        while let Some(write) = writes.next() {
            let block = block_of(&self.starts, write.step);
            // Many writes may be in a block.
            while writes.next_if(|other| self.starts.get(block + 1).is_none_or(|end| other.step < *end)).is_some() {}
            open.extend(&self.next[block]);
        }
        while let Some(block) = open.pop() {
            if std::mem::replace(&mut self.visited[block], self.searches) == self.searches {
                continue;
            }
            self.budget.spend(1)?;
            if block == target {
                return Some(true);
            }
            open.extend(&self.next[block]);
        }
        Some(false)
    }

    /// Returns the first read that a path from the start reaches before a write; `None` if there is none. `accesses`
    /// are those of a tensor, by step.
    fn unwritten_read<'a>(&mut self, accesses: &[&'a Access]) -> Option<&'a Access> {
        let step = self.reads_from(accesses, (0, 0), false)?.into_iter().min()?;
        accesses.iter().find(|access| access.step == step && access.kind.keeps()).copied()
    }
}

/// Returns the block of a step.
fn block_of(starts: &[u32], step: u32) -> usize {
    // The first block starts at 0.
    starts.partition_point(|start| *start <= step) - 1
}
