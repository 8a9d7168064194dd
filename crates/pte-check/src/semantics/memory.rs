//! Reports writes to planned memory that a live tensor occupies (`X-4` to `X-6`, `X-20`).
//!
//! Memory planning shares memory between tensors with disjoint lifetimes, views and in-place results. A write is
//! therefore reported only if another tensor with content of its own is read later, without a jump in between that is
//! always taken. Tensors at the same offset may be views of each other.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use super::super::finding::{Findings, Locator};
use super::control::ControlFlow;
use super::method::MethodAnalysis;
use super::sharing;
use crate::RuleId::*;
use pte_analysis::access::Access;
use pte_analysis::aliases::AliasKind;
use pte_analysis::operators::AccessKind;
use pte_model::program::pools::PoolRange;

/// Maximum number of live tensors that are compared with a write: this many that begin before it, and this many that
/// begin in it.
const MAX_COMPARED: usize = 8;
/// Names of arguments whose elements are indices.
const INDEX_ARGUMENTS: &[&str] = &["index", "indices"];
/// Number of loops above which reads in the next iteration of a loop are not considered.
const MAX_LOOPS: usize = 64;

/// A time span in which the content of a tensor is live. The start of the method is at time 0, step `i` at `i + 1`; the
/// last two times are the read of the outputs and the start of the next execution.
#[derive(Debug, Clone, Copy)]
struct LiveRange {
    value: u32,
    /// Time of the write.
    from: u32,
    /// Time of the last read.
    to: u32,
    /// For content that the next execution or the next iteration of a loop reads: the steps at which that begins and at
    /// which it reads.
    next_iteration: Option<(u32, u32)>,
}

/// Reports writes to memory with live content, and results of one call that overlap.
pub fn check(method: &MethodAnalysis<'_>, flow: &ControlFlow, findings: &mut Findings, locate: &Locator<'_>) {
    check_results(method, findings, locate);
    if method.accesses.is_truncated {
        return;
    }
    let mut live_ranges = live_ranges(method, flow);
    live_ranges.sort_unstable_by_key(|live| live.from);
    let mut bases = vec![None; method.values().len()];
    for alias in &method.aliases {
        bases[alias.result] = (alias.kind == AliasKind::View).then_some(alias.base as u32);
    }
    let live_ranges = &live_ranges;
    OverlapSweep { method, flow, bases, live_ranges, live: BTreeSet::new(), ends: BinaryHeap::new() }
        .run(findings, locate);
}

/// Reports two results of one call that overlap.
fn check_results(method: &MethodAnalysis<'_>, findings: &mut Findings, locate: &Locator<'_>) {
    let mut written: Vec<(PoolRange, &Access)> = Vec::new();
    for step in 0..method.end() {
        let accesses = method.step_accesses(step).iter().filter(|access| access.kind == AccessKind::Write);
        if accesses.clone().count() < 2 {
            continue;
        }
        written.clear();
        written.extend(accesses.filter_map(|access| Some((method.ranges[access.value as usize]?, access))));
        written.sort_unstable_by_key(|(range, _)| *range);
        for pair in written.windows(2) {
            let [(first, one), (second, other)] = pair else { continue };
            if first.overlaps(second) {
                findings.add(X_6, || {
                    let found = match one.value == other.value {
                        true => format!("duplicate result values[{}]", one.value),
                        false => format!("overlapping results values[{}] and values[{}]", one.value, other.value),
                    };
                    (
                        locate(&method.element_of(if one.arg < other.arg { other } else { one })),
                        found,
                        "disjoint results".into(),
                    )
                });
                break;
            }
        }
    }
}

/// Returns the live ranges of the planned tensors.
fn live_ranges(method: &MethodAnalysis<'_>, flow: &ControlFlow) -> Vec<LiveRange> {
    let loops: Vec<(u32, u32)> = flow.loops().take(MAX_LOOPS + 1).collect();
    let loops = if loops.len() > MAX_LOOPS { Vec::new() } else { loops };
    let end = method.end() + 2;
    let mut live_ranges = Vec::new();
    for (value, range) in method.ranges.iter().enumerate() {
        let Some(range) = *range else { continue };
        let (mut is_elsewhere, mut is_modified) = (false, false);
        for access in method.value_accesses(value) {
            is_modified |= access.kind.is_in_place();
            // A move, or a view of a tensor at another offset, replaces the planned memory by unknown memory.
            is_elsewhere |= access.kind == AccessKind::Alias && {
                let viewed = method.alias(access.step).filter(|alias| alias.kind == AliasKind::View);
                let base = viewed.and_then(|alias| method.ranges[alias.base]);
                base.is_none_or(|base| (base.pool, base.start) != (range.pool, range.start))
            };
        }
        if is_elsewhere {
            continue;
        }
        let state = !method.is_input[value]
            && (method.facts[value].has_data || is_modified)
            && method.value_accesses(value).next().is_some_and(|access| access.kind.keeps());
        let new = |from, to| LiveRange { value: value as u32, from, to, next_iteration: None };
        let mut open = (method.is_input[value] || state).then(|| new(0, 0));
        let (mut first_read, mut extended) = (None, 0);
        for access in method.value_accesses(value) {
            let time = access.step + 1;
            if access.kind.keeps() {
                first_read = first_read.or(Some(access.step));
                if let Some(open) = &mut open {
                    extend_over_loops(method, &loops, &mut extended, &mut live_ranges, open, time);
                    open.to = time;
                }
            } else if access.kind.may_write() {
                live_ranges.extend(open.filter(|live| live.to > live.from));
                open = Some(new(time, time));
            }
        }
        if let (true, Some(last)) = (state, &mut open) {
            live_ranges.push(LiveRange {
                to: end,
                next_iteration: first_read.map(|read| (0, read)),
                from: last.from.max(last.to),
                ..*last
            });
        }
        live_ranges.extend(open.filter(|live| live.to > live.from));
    }
    live_ranges
}

/// Adds the live ranges of content that is written before a loop and read in it, because the next iteration reads it,
/// too. `extended` has a bit for each loop that was added.
fn extend_over_loops(
    method: &MethodAnalysis<'_>,
    loops: &[(u32, u32)],
    extended: &mut u64,
    live_ranges: &mut Vec<LiveRange>,
    open: &LiveRange,
    time: u32,
) {
    for (index, &(head, jump)) in loops.iter().enumerate() {
        let bit = 1 << (index % 64);
        if *extended & bit != 0 || head < open.from || !(head..=jump).contains(&(time - 1)) {
            continue;
        }
        *extended |= bit;
        if !method.rewrites(open.value as usize, head, jump) {
            live_ranges.push(LiveRange { from: time, to: jump + 1, next_iteration: Some((head, time - 1)), ..*open });
        }
    }
}

struct OverlapSweep<'m, 'p> {
    method: &'m MethodAnalysis<'p>,
    flow: &'m ControlFlow,
    /// By value: the value of which it is a view.
    bases: Vec<Option<u32>>,
    /// All live ranges, sorted by the time at which they begin.
    live_ranges: &'m [LiveRange],
    /// Live ranges at the current time: pool, start and index.
    live: BTreeSet<(u32, u64, usize)>,
    /// Ends of the live ranges, each with its index.
    ends: BinaryHeap<Reverse<(u32, usize)>>,
}

impl OverlapSweep<'_, '_> {
    fn run(&mut self, findings: &mut Findings, locate: &Locator<'_>) {
        let mut next = self.live_ranges.iter().enumerate().peekable();
        for step in 0..self.method.end() {
            let time = step + 1;
            while let Some((index, live)) = next.next_if(|(_, live)| live.from < time) {
                let Some(range) = self.range(live) else { continue };
                self.live.insert((range.pool, range.start, index));
                self.ends.push(Reverse((live.to, index)));
            }
            while let Some(&Reverse((to, index))) = self.ends.peek()
                && to < time
            {
                if let Some(range) = self.range(&self.live_ranges[index]) {
                    self.live.remove(&(range.pool, range.start, index));
                }
                self.ends.pop();
            }
            for access in self.method.step_accesses(step) {
                let definite = access.kind.writes_bytes();
                let Some(range) = self.method.ranges[access.value as usize].filter(|_| definite) else { continue };
                self.check_write(access, range, time, findings, locate);
            }
        }
    }

    fn range(&self, live: &LiveRange) -> Option<PoolRange> {
        self.method.ranges[live.value as usize]
    }

    fn check_write(&self, access: &Access, range: PoolRange, time: u32, findings: &mut Findings, locate: &Locator<'_>) {
        let before = self.live.range(..(range.pool, range.start, 0)).rev().take(MAX_COMPARED);
        let inside = self.live.range((range.pool, range.start, 0)..(range.pool, range.end, 0)).take(MAX_COMPARED);
        let overwritten = before.chain(inside).find_map(|(.., index)| {
            let live = &self.live_ranges[*index];
            let other = self.range(live).filter(|other| live.value != access.value && other.overlaps(&range))?;
            (!self.is_covered(access, live, time) && self.is_read(live, time)).then_some((other, live))
        });
        let Some((other, live)) = overwritten else { return };
        let same_start = other.start == range.start;
        if same_start && (access.kind.is_in_place() || self.share_base(access.value, live) || live.to == time) {
            return;
        }
        // A view is not larger than its base.
        let rule = match () {
            () if same_start && range.end <= other.end => X_5,
            () if self.is_index(live, time) => X_20,
            () => X_4,
        };
        findings.add(rule, || {
            let found = format!(
                "a write to values[{}] at {}..{} of pool {}, while values[{}] at {}..{} is live",
                access.value, range.start, range.end, range.pool, live.value, other.start, other.end
            );
            (locate(&self.method.element_of(access)), found, "memory without live content".into())
        });
    }

    /// Returns `true` if the call itself reads the content and its operator is known: X-25 covers memory that one call
    /// reads and writes.
    fn is_covered(&self, access: &Access, live: &LiveRange, time: u32) -> bool {
        let call = || self.method.call(&self.method.steps[access.step as usize]);
        live.to == time && call().is_some_and(|(known, _)| sharing::is_covered(known))
    }

    /// Returns `true` if live content is read after `time`, without a jump in between that is always taken.
    fn is_read(&self, live: &LiveRange, time: u32) -> bool {
        if !self.flow.falls_through(live.from.saturating_sub(1), time - 1) {
            return false;
        }
        if let Some((begin, read)) = live.next_iteration {
            return self.flow.falls_through(time - 1, live.to.saturating_sub(1).min(self.method.end()))
                && self.flow.falls_through(begin, read);
        }
        let read = self.method.next_read(live.value as usize, time - 1);
        read.is_some_and(|read| self.flow.falls_through(time - 1, read))
    }

    /// Returns `true` if the next read of live content uses it as indices.
    fn is_index(&self, live: &LiveRange, time: u32) -> bool {
        let Some(read) = self.method.next_read(live.value as usize, time - 1) else { return false };
        let Some((known, _)) = self.method.steps.get(read as usize).and_then(|step| self.method.call(step)) else {
            return false;
        };
        let mut reads = self.method.step_accesses(read).iter().filter(|access| access.value == live.value);
        reads.any(|access| {
            let arg = known.signature.args.get(access.arg as usize);
            arg.is_some_and(|arg| INDEX_ARGUMENTS.contains(&&*arg.name))
        })
    }

    /// Returns `true` if one tensor is a view of the other, or both are views of a third.
    fn share_base(&self, value: u32, live: &LiveRange) -> bool {
        let base = |value: u32| self.bases[value as usize].unwrap_or(value);
        base(value) == base(live.value)
    }
}
