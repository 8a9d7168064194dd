//! Forward analyses of the instructions of a method, over basic blocks. The end of the method leads to its start, since a method is executed
//! several times. What the states are, and what instructions do to them, is up to the analyses.

use std::collections::BTreeSet;

use super::control::ControlFlow;

/// Steps from `first` to before `end`; only the last may be a jump.
#[derive(Debug)]
pub struct Block {
    pub first: u32,
    pub end: u32,
}

/// Returns the blocks of a method with `end` steps.
pub fn blocks(flow: &ControlFlow, end: u32) -> Vec<Block> {
    let mut starts: Vec<u32> = flow.edges().flat_map(|(step, to, _)| [step + 1, to]).chain([0]).collect();
    starts.sort_unstable();
    starts.dedup();
    starts.retain(|start| *start < end);
    let ends = starts.iter().skip(1).copied().chain([end]);
    starts.iter().zip(ends).map(|(first, end)| Block { first: *first, end }).collect()
}

/// Returns for each block the states at its start, `None` if it is unreachable. `run` applies the effect of a block to states; the
/// result is `None` instead of all if it returns `None`, since that takes too much work.
pub fn solve<S: Clone + PartialEq>(
    blocks: &[Block],
    flow: &ControlFlow,
    end: u32,
    initial: Vec<S>,
    mut run: impl FnMut(&Block, &mut [S]) -> Option<()>,
    join: impl Fn(&S, &S) -> S,
) -> Option<Vec<Option<Vec<S>>>> {
    let edges: Vec<(u32, u32, bool)> = flow.edges().collect();
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
        let jump = edges.binary_search_by_key(&(block.end - 1), |(step, ..)| *step).ok().map(|at| edges[at]);
        let ahead = jump.is_none_or(|(.., falls_through)| falls_through).then_some(block.end);
        for next in ahead.into_iter().chain(jump.map(|(_, to, _)| to)) {
            let next = block_at(next);
            if add(&mut entries[next], &state, &join) {
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
