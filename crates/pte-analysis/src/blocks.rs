//! Jumps and basic blocks of a method, and forward analyses over blocks. A step is the position of an instruction,
//! counted through all chains.

use std::collections::BTreeSet;

use pte_model::program::{ExecutionPlan, Instruction};

/// A jump that an instruction may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump {
    /// Step of the instruction.
    pub step: u32,
    /// Step of the destination. The end of a chain is the start of the next one; the end of the last chain is the
    /// number of steps.
    pub to: u32,
}

impl Jump {
    /// Returns `true` for a backward jump, which forms a loop.
    pub fn is_back(&self) -> bool {
        self.to <= self.step
    }
}

/// An instruction and its position.
#[derive(Debug, Clone, Copy)]
pub struct InstructionRef<'p> {
    /// Index of the chain.
    pub chain: u32,
    /// Index of the instruction in its chain.
    pub index: u32,
    /// Instruction that is executed at this step.
    pub instruction: &'p Instruction,
}

/// Returns the first step of each chain, followed by the number of steps.
pub fn chain_starts(plan: &ExecutionPlan) -> Vec<u32> {
    let mut starts = vec![0];
    for chain in plan.chains.iter().flatten() {
        starts.push(starts[starts.len() - 1] + chain.instructions.as_ref().map_or(0, Vec::len) as u32);
    }
    starts
}

/// Returns the instructions of all chains of a method.
pub fn steps(plan: &ExecutionPlan) -> Vec<InstructionRef<'_>> {
    let mut steps = Vec::with_capacity(plan.instructions().count());
    for (chain, list) in (0..).zip(plan.chains.iter().flatten()) {
        let instructions = (0..).zip(list.instructions.iter().flatten());
        steps.extend(instructions.map(|(index, instruction)| InstructionRef { chain, index, instruction }));
    }
    steps
}

/// Returns the jumps of a method in order. A destination outside the chain counts as its end, as in the runtime.
pub fn jumps(plan: &ExecutionPlan) -> Vec<Jump> {
    let mut jumps = Vec::new();
    for (chain, bounds) in plan.chains.iter().flatten().zip(chain_starts(plan).windows(2)) {
        let (first, end) = (bounds[0], bounds[1]);
        for (step, instruction) in (first..).zip(chain.instructions.iter().flatten()) {
            let Some(destination) = instruction.destination() else { continue };
            let to = u32::try_from(destination).ok().and_then(|to| first.checked_add(to));
            jumps.push(Jump { step, to: to.filter(|to| *to <= end).unwrap_or(end) });
        }
    }
    jumps
}

/// Finds the innermost forward jump that skips each step, such as the steps of a branch. Steps must be queried in
/// ascending order.
#[derive(Debug)]
pub struct Skips<'j> {
    rest: std::slice::Iter<'j, Jump>,
    /// Forward jumps over the current step; the last one is the innermost.
    open: Vec<Jump>,
}

impl<'j> Skips<'j> {
    /// Creates the search at the first step of a method with these jumps.
    pub fn new(jumps: &'j [Jump]) -> Skips<'j> {
        Skips { rest: jumps.iter(), open: Vec::new() }
    }

    /// Returns the last jump before a step whose destination is after it; `None` if no jump skips the step.
    pub fn around(&mut self, step: u32) -> Option<Jump> {
        while let Some(jump) = self.rest.as_slice().first().filter(|jump| jump.step < step) {
            while self.open.last().is_some_and(|open| open.to <= jump.step) {
                self.open.pop();
            }
            self.open.extend((!jump.is_back()).then_some(*jump));
            self.rest.next();
        }
        while self.open.last().is_some_and(|open| open.to <= step) {
            self.open.pop();
        }
        self.open.last().copied()
    }
}

/// Returns `true` if an execution may reach the end of a method with `end` steps without any of `steps`, which are in
/// ascending order, and so are `edges`.
pub fn may_skip(edges: &[Edge], end: u32, steps: &[u32]) -> bool {
    // From the start, the step after a jump or a destination, there is one way to the next jump.
    let (mut seen, mut open) = (BTreeSet::new(), vec![0]);
    while let Some(from) = open.pop() {
        if !seen.insert(from) {
            continue;
        }
        let next_jump = edges.get(edges.partition_point(|(jump, _)| jump.step < from));
        let until = next_jump.map_or(end, |(jump, _)| jump.step);
        if steps.get(steps.partition_point(|step| *step < from)).is_some_and(|step| *step <= until) {
            continue;
        }
        match next_jump {
            None => return true,
            Some((jump, falls_through)) => {
                open.push(jump.to);
                open.extend(falls_through.then_some(jump.step + 1));
            }
        }
    }
    false
}

/// Steps from `first` up to, but not including `end`. Only the last one may be a jump.
#[derive(Debug)]
pub struct Block {
    /// First step.
    pub first: u32,
    /// Step after the last one.
    pub end: u32,
}

/// An edge between blocks: a jump, and `true` if the next step may also follow it.
pub type Edge = (Jump, bool);

/// Returns the blocks of a method with `end` steps.
pub fn blocks(edges: &[Edge], end: u32) -> Vec<Block> {
    let mut starts: Vec<u32> = edges.iter().flat_map(|(jump, _)| [jump.step + 1, jump.to]).chain([0]).collect();
    starts.sort_unstable();
    starts.dedup();
    starts.retain(|start| *start < end);
    let ends = starts.iter().skip(1).copied().chain([end]);
    starts.iter().zip(ends).map(|(first, end)| Block { first: *first, end }).collect()
}

/// Returns, for each step and for the end of the method, the number of its basic block. Control enters a block only at
/// its first step, and leaves it only after its last one.
pub fn block_numbers(plan: &ExecutionPlan) -> Vec<usize> {
    let mut starts = chain_starts(plan);
    let end = starts[starts.len() - 1];
    starts.pop();
    starts.extend(jumps(plan).into_iter().flat_map(|jump| [jump.step + 1, jump.to]));
    starts.sort_unstable();
    (0..=end).map(|step| starts.partition_point(|start| *start <= step)).collect()
}

/// Returns, by block, the states at its start; `None` for an unreachable block. The end of the method leads to its
/// start, because a method can be executed several times. `edges` are in the order of the steps. `run` applies the
/// effect of a block to states, `join` has the index of the block where states meet. `run` returns `None` if the work
/// exceeds its bound; the result as a whole is then `None`.
pub fn solve<S: Clone + PartialEq>(
    blocks: &[Block],
    edges: &[Edge],
    end: u32,
    initial: Vec<S>,
    mut run: impl FnMut(&Block, &mut [S]) -> Option<()>,
    join: impl Fn(usize, &S, &S) -> S,
) -> Option<Vec<Option<Vec<S>>>> {
    let block_at = |step: u32| match step == end {
        true => 0,
        false => blocks.partition_point(|block| block.first < step),
    };
    let mut entries: Vec<Option<Vec<S>>> = vec![None; blocks.len()];
    *entries.first_mut()? = Some(initial);
    let mut open = BTreeSet::from([0]);
    while let Some(index) = open.pop_first() {
        let Some(mut state) = entries[index].clone() else { continue };
        let block = &blocks[index];
        run(block, &mut state)?;
        let jump = edges.binary_search_by_key(&(block.end - 1), |(jump, _)| jump.step).ok().map(|at| edges[at]);
        let ahead = jump.is_none_or(|(_, falls_through)| falls_through).then_some(block.end);
        for next in ahead.into_iter().chain(jump.map(|(jump, _)| jump.to)) {
            let next = block_at(next);
            if add(&mut entries[next], &state, |one, other| join(next, one, other)) {
                open.insert(next);
            }
        }
    }
    Some(entries)
}

/// Adds states to those at the start of a block; returns `true` if that changes them.
fn add<S: Clone + PartialEq>(entry: &mut Option<Vec<S>>, state: &[S], join: impl Fn(&S, &S) -> S) -> bool {
    let Some(entry) = entry else {
        *entry = Some(state.to_vec());
        return true;
    };
    let mut changed = false;
    for (entry, state) in entry.iter_mut().zip(state) {
        let joined = join(entry, state);
        changed |= joined != *entry;
        *entry = joined;
    }
    changed
}
