//! What numbers and contents of tensors may be when kernels read them: those that a kernel trusts.
//!
//! Each is *known*; or *from the caller*, if there is a path from an input, from state that only the caller fills, or
//! from code that is not known; or *open*: fixed by the file, but not evaluated, which is an error where a kernel
//! trusts it.
//!
//! The method is executed first, along each path that conditions of the caller leave open, as long as it takes few
//! steps. What then is not complete is found by a forward analysis, in which a value may be several things, without
//! regard to conditions. Memory is followed with the values: a write to overlapping memory, or through another name of
//! it, changes a content, too.

mod machine;
mod samples;
mod sizes;

use std::collections::BTreeSet;

use super::super::contents::Contents;
use super::super::finding::{Findings, Locator};
use super::control::ControlFlow;
use super::limits;
use super::method::MethodAnalysis;
use super::possible::{Possible, Why};
pub use machine::Values;
use machine::{Machine, leaves};
use pte_analysis::blocks::{self, Block, Edge};
use sizes::Resized;

/// Number of analyses of a method, each with the sizes that follow from the numbers of the one before.
const MAX_ANALYSES: usize = 4;

/// Returns what instructions read, as far as kernels may trust it.
pub fn values(
    method: &MethodAnalysis<'_>,
    flow: &ControlFlow,
    findings: &mut Findings,
    locate: &Locator<'_>,
) -> Values {
    let edges = flow.edges();
    let mut resized = Resized::new(method);
    let mut contents = Contents::default();
    for analysis in 1.. {
        // The sizes that all numbers determine are followed at last.
        if analysis == MAX_ANALYSES {
            resized.add_all(method);
        }
        let mut found = findings.empty();
        let analysis = analysed(method, &edges, &resized, std::mem::take(&mut contents), &mut found, locate);
        let Some(mut machine) = analysis else {
            findings.append(found);
            return Values::default();
        };
        // Sizes that numbers determine are known after the numbers, and other numbers after these.
        let count = resized.tensors.len();
        resized.tensors.extend(std::mem::take(&mut machine.resized));
        if resized.tensors.len() == count {
            findings.append(found);
            if edges.is_empty() {
                let shared = machine.shared();
                samples::find(method, &mut machine.found, &shared);
            }
            return machine.found;
        }
        // What is evaluated is not evaluated again.
        contents = machine.found.contents.take();
    }
    Values::default()
}

/// Analyses what instructions read, with the sizes of some tensors; `None` if there is nothing to follow.
fn analysed<'m, 'p>(
    method: &'m MethodAnalysis<'p>,
    edges: &'m [Edge],
    resized: &Resized,
    contents: Contents,
    findings: &mut Findings,
    locate: &Locator<'_>,
) -> Option<Machine<'m, 'p>> {
    let followed = (&resized.tensors, &resized.by_numbers);
    let mut machine = Machine::new(method, edges, followed, contents, findings, locate)?;
    let initial: Vec<Possible> = machine.values.iter().map(|value| machine.initial(*value)).collect();
    if machine.execute(&initial, findings, locate) {
        return Some(machine);
    }
    let blocks = blocks::blocks(edges, method.end());
    let mut work = method.budget(&limits::INTS);
    let mut is_exceeded = false;
    let caller_loops = std::mem::take(&mut machine.caller_loops);
    let why = if machine.exceeded.is_some() { Why::Steps } else { Why::Several };
    let run = |block: &Block, state: &mut [Possible]| {
        let accesses: usize = (block.first..block.end).map(|step| method.step_accesses(step).len() + 1).sum();
        let known: usize = state.iter().map(|possible| possible.known.len()).sum();
        work.spend(known + state.len() + accesses)?;
        (block.first..block.end).for_each(|step| machine.run(step, state));
        Some(())
    };
    let join = |block: usize, one: &Possible, other: &Possible| {
        one.join(other, |is_content| widened(blocks[block].first, is_content, edges, &caller_loops, why))
    };
    let entries = blocks::solve(&blocks, edges, method.end(), initial, run, join);
    for (block, entry) in blocks.iter().zip(entries.iter().flatten()) {
        let Some(mut state) = entry.clone() else { continue };
        for step in block.first..block.end {
            is_exceeded |= machine.record(step, &state).is_none();
            machine.run(step, &mut state);
        }
    }
    if machine.exceeded.is_some() {
        machine.report_loops(&caller_loops, findings, locate);
    }
    if entries.is_none() || is_exceeded {
        method.report(&limits::INTS, findings, locate);
    }
    Some(machine)
}

/// Returns what a value is that may be more things than the limit at the start of a block. A counter of a loop whose
/// condition is the caller's is the caller's, too, and so is state after many executions.
fn widened(first: u32, is_content: bool, edges: &[Edge], caller_loops: &BTreeSet<u32>, why: Why) -> Possible {
    let mut loops = edges.iter().filter(|(jump, _)| jump.to == first && jump.is_back()).peekable();
    let has_loop = loops.peek().is_some();
    // The condition is that of the jump back, or of one out of the loop.
    let is_callers = |(jump, _): &Edge| {
        edges.iter().any(|exit| caller_loops.contains(&exit.0.step) && leaves(exit, &(jump.to..=jump.step)))
    };
    if loops.any(is_callers) || (first == 0 && is_content) {
        return Possible::caller();
    }
    Possible::open(first, if has_loop { why } else { Why::Several })
}
