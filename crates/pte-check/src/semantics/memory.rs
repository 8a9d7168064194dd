//! Reports writes to planned memory that a live tensor occupies (`X-4` to `X-6`, `X-20`).
//!
//! Memory planning shares memory between tensors with disjoint lifetimes, views and in-place results. A write is
//! therefore reported only if another tensor with content is read later, on a path that does not write it before.
//! Tensors at the same offset may be views of each other.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

use super::super::finding::{Findings, Locator};
use super::control::ControlFlow;
use super::limits::{self, Budget};
use super::method::MethodAnalysis;
use super::paths::Blocks;
use crate::RuleId::{self, *};
use crate::RuleSeverity;
use pte_analysis::access::Access;
use pte_analysis::aliases::AliasKind;
use pte_analysis::moved::{MovedMemory, OverwrittenMove};
use pte_analysis::operators::AccessKind;
use pte_model::program::element::Part;
use pte_model::program::pools::PoolRange;

/// Names of arguments whose elements are indices.
const INDEX_ARGUMENTS: &[&str] = &["index", "indices"];

/// A time span in which the content of a tensor is live. The start of the method is at time 0, step `i` at `i + 1`; the
/// last two times are the read of the outputs and the start of the next execution. In a method with jumps, the span has
/// all writes and reads of the tensor, and [`OverlapSweep::reads`] follows the paths.
#[derive(Clone, Copy)]
struct LiveRange {
    value: u32,
    /// Time of the write.
    from: u32,
    /// Time of the last read.
    to: u32,
    /// The tensor has content at the start of the method.
    is_initial: bool,
    /// The next execution reads the content.
    is_kept: bool,
}

/// Reports writes to memory with live content, and results of one call that overlap.
pub fn check(method: &MethodAnalysis<'_>, flow: &ControlFlow, findings: &mut Findings, locate: &Locator<'_>) {
    check_results(method, findings, locate);
    check_inputs(method, findings, locate);
    if method.accesses().is_truncated {
        return;
    }
    let reported = check_moves(method, flow, findings, locate);
    let mut budget = method.budget(&limits::OVERLAPS);
    let Some(views) = views(method, &mut budget) else {
        return method.report(&limits::OVERLAPS, findings, locate);
    };
    let has_jumps = !flow.edges().is_empty();
    let blocks = has_jumps.then(|| RefCell::new(Blocks::new(flow, method.end(), method.budget(&limits::BLOCKS))));
    let loops: Vec<(u32, u32)> = flow.loops().collect();
    let Some(mut live_ranges) = live_ranges(method, &views, blocks.as_ref().map(|blocks| (blocks, &loops[..]))) else {
        return method.report(&limits::LOOPS, findings, locate);
    };
    live_ranges.sort_unstable_by_key(|live| live.from);
    let mut bases = vec![None; method.values().len()];
    for alias in method.aliases() {
        bases[alias.result] = (alias.kind == AliasKind::View).then_some(alias.base as u32);
    }
    let live_ranges = &live_ranges;
    let mut sweep = OverlapSweep {
        method,
        blocks: blocks.as_ref(),
        views: &views,
        reported,
        bases,
        live_ranges,
        live: LiveRanges::new(method, live_ranges),
        ends: BinaryHeap::new(),
        index_sources: OnceCell::new(),
        budget,
    };
    sweep.run(findings, locate);
    if sweep.budget.is_exceeded() {
        method.report(&limits::OVERLAPS, findings, locate);
    }
    if blocks.is_some_and(|blocks| blocks.borrow().budget.is_exceeded()) {
        method.report(&limits::BLOCKS, findings, locate);
    }
}

/// Returns, by value, `true` for memory whose content lasts from one execution to the next: state, and memory of the
/// caller.
fn lasting(method: &MethodAnalysis<'_>) -> Vec<bool> {
    let reads_first = |value: usize| method.value_accesses(value).next().is_some_and(|access| access.kind.keeps());
    let is_modified = |value: usize| method.value_accesses(value).any(|access| access.kind.writes_bytes());
    let lasting = |value: usize| match method.ranges[value] {
        Some(_) => method.facts[value].has_data || reads_first(value) && is_modified(value) && !method.is_input[value],
        None => method.is_input[value] && method.values()[value].as_tensor().is_some(),
    };
    (0..method.ranges.len()).map(lasting).collect()
}

/// Reports writes to memory that the target of a move has, and that is read later.
fn check_moves(
    method: &MethodAnalysis<'_>,
    flow: &ControlFlow,
    findings: &mut Findings,
    locate: &Locator<'_>,
) -> HashSet<(u32, u32)> {
    let mut reported = HashSet::new();
    if method.aliases().iter().all(|alias| alias.kind == AliasKind::View) {
        return reported;
    }
    let lasting: &[bool] = &lasting(method);
    let ranges = &method.ranges;
    let memory = MovedMemory { method, edges: &flow.edges(), ranges, lasting };
    let mut budget = method.budget(&limits::STATES);
    let Some(overwritten) = memory.overwritten(&mut |units| budget.spend(units)) else {
        method.report(&limits::STATES, findings, locate);
        return reported;
    };
    for OverwrittenMove { access, source, target } in overwritten {
        let access = &method.accesses().list[access];
        reported.insert((access.step, access.value));
        if lasting[source] && target == source {
            findings.add(X_4, || {
                let kind = if method.is_input[source] { "the memory of the input" } else { "the state" };
                let found = format!(
                    "a write to values[{}], which a move of an earlier execution left {kind} values[{source}]",
                    access.value
                );
                let expected = "a target of moves that no instruction writes: copy it";
                (locate(&method.element_of(access)), found, expected.into())
            });
            continue;
        }
        let (Some(range), Some(other)) = (ranges[access.value as usize], ranges[source]) else { continue };
        findings.add(X_4, || {
            let reader = match target == source {
                true => String::new(),
                false => format!(", which values[{target}] has by a move,"),
            };
            let found = format!(
                "a write to values[{}] at {}..{} of pool {}, while values[{source}] at {}..{}{reader} is live",
                access.value, range.start, range.end, range.pool, other.start, other.end
            );
            let expected = "memory without live content; `memory: {planner: minimal}` of the method gives it such";
            (locate(&method.element_of(access)), found, expected.into())
        });
    }
    reported
}

/// Reports inputs that overlap another one: the caller copies each into its memory before the method runs.
fn check_inputs(method: &MethodAnalysis<'_>, findings: &mut Findings, locate: &Locator<'_>) {
    let inputs = method.plan.inputs.iter().flatten();
    let placed = inputs.filter_map(|value| {
        let value = method.value(*value)?;
        Some((method.ranges[value].filter(|range| range.start < range.end)?, value))
    });
    let mut placed: Vec<(PoolRange, usize)> = placed.collect();
    placed.sort_unstable();
    let mut last: Option<(PoolRange, usize)> = None;
    for (range, value) in placed {
        if let Some((other, before)) = last.filter(|(other, before)| other.overlaps(&range) && *before != value)
            && [value, before].iter().any(|value| method.next_read(*value, 0).is_some())
        {
            findings.add(X_4, || {
                let found = format!(
                    "input values[{value}] at {}..{} of pool {}, which has memory of input values[{before}] at {}..{}",
                    range.start, range.end, range.pool, other.start, other.end
                );
                (locate(&method.element(Part::Value(value))), found, "memory of its own for each input".into())
            });
        }
        if last.is_none_or(|(other, _)| other.pool != range.pool || other.end < range.end) {
            last = Some((range, value));
        }
    }
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

/// A tensor that no instruction writes, which may be a view of those of its element type at its offset that contain it.
#[derive(Default)]
struct View<'m> {
    /// Its reads, and the writes of the others, by step.
    accesses: Vec<&'m Access>,
    /// An input is among the others.
    is_input: bool,
    /// State is among the others.
    is_state: bool,
}

/// Returns the views by value; `None` if there are too many writes to their memory.
fn views<'m>(method: &'m MethodAnalysis<'_>, budget: &mut Budget) -> Option<HashMap<u32, View<'m>>> {
    let placed = method.ranges.iter().enumerate();
    let placed = placed.filter_map(|(value, range)| Some((value, (*range)?)));
    let has_content = |value: usize| {
        let is_written = || method.value_accesses(value).any(|access| access.kind.may_write());
        method.is_input[value] || method.facts[value].has_data || is_written()
    };
    let (bases, others): (Vec<_>, Vec<_>) = placed.partition(|(value, _)| has_content(*value));
    let mut views: BTreeMap<(u32, u64), Vec<(usize, u64)>> = BTreeMap::new();
    for (value, range) in others.into_iter().filter(|(value, _)| method.value_accesses(*value).len() > 0) {
        views.entry((range.pool, range.start)).or_default().push((value, range.end));
    }
    let mut found: HashMap<u32, View<'m>> = HashMap::new();
    for (value, range) in bases {
        let views = views.get(&(range.pool, range.start)).into_iter().flatten();
        let scalar_type = |value: usize| method.values()[value].as_tensor().map(|tensor| tensor.scalar_type);
        let may_view = |(view, end): &&(usize, u64)| *end <= range.end && scalar_type(*view) == scalar_type(value);
        for (view, _) in views.filter(may_view) {
            let accesses = method.value_accesses(value);
            budget.spend(1 + accesses.len())?;
            let view = found.entry(*view as u32).or_default();
            view.accesses.extend(accesses.filter(|access| access.kind.writes_bytes()));
            view.is_input |= method.is_input[value];
            view.is_state |= method.facts[value].has_data;
        }
    }
    for (value, view) in &mut found {
        view.accesses.extend(method.value_accesses(*value as usize));
        // An instruction reads its arguments before it writes.
        view.accesses.sort_by_key(|access| (access.step, access.value != *value));
        view.is_state |= !view.is_input && view.accesses.first().is_some_and(|first| first.value == *value);
    }
    Some(found)
}

/// Returns the reads and writes of the content of a value, by step.
fn accesses_of<'v, 'm>(
    method: &'m MethodAnalysis<'_>,
    views: &'v HashMap<u32, View<'m>>,
    value: usize,
) -> Cow<'v, [&'m Access]> {
    match views.get(&(value as u32)) {
        Some(view) => Cow::Borrowed(&view.accesses),
        None => Cow::Owned(method.value_accesses(value).collect()),
    }
}

/// Returns `true` for a tensor that no instruction writes, if it is no part of an input, or of another tensor that is
/// written before the first read: state of the caller. `None` if there are too many tensors.
fn is_unset(method: &MethodAnalysis<'_>, value: usize, budget: &mut Budget) -> Option<bool> {
    let (Some(range), Some(first), None) =
        (method.ranges[value], method.value_accesses(value).next(), method.first_write(value))
    else {
        return Some(false);
    };
    budget.spend(method.ranges.len())?;
    let contains = |place: &PoolRange| place.pool == range.pool && place.start <= range.start && range.end <= place.end;
    Some(!method.ranges.iter().enumerate().any(|(other, place)| {
        let is_written = || method.first_write(other).is_some_and(|step| step < first.step);
        place.as_ref().is_some_and(contains) && (method.is_input[other] || is_written())
    }))
}

/// Blocks, and the first and last steps of loops.
type Jumps<'a> = (&'a RefCell<Blocks>, &'a [(u32, u32)]);

/// Returns the live ranges of the planned tensors; `None` if there are too many loops. `jumps` has the blocks and the
/// loops of a method with jumps.
fn live_ranges<'m>(
    method: &'m MethodAnalysis<'_>,
    views: &HashMap<u32, View<'m>>,
    jumps: Option<Jumps<'_>>,
) -> Option<Vec<LiveRange>> {
    let mut budget = method.budget(&limits::LOOPS);
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
        let view = views.get(&(value as u32));
        let has_data = method.facts[value].has_data;
        let reads_first = method.value_accesses(value).next().is_some_and(|access| access.kind.keeps());
        let is_kept = match view {
            Some(view) => view.is_state,
            None if method.is_input[value] => false,
            None if reads_first => has_data || is_modified || is_unset(method, value, &mut budget)?,
            None => jumps.is_some() && has_data,
        };
        let is_initial = is_kept || method.is_input[value] || view.is_some_and(|view| view.is_input);
        let new = |from, to| LiveRange { value: value as u32, from, to, is_initial, is_kept: false };
        if let Some((blocks, loops)) = jumps {
            let accesses = accesses_of(method, views, value);
            let first = accesses.iter().find(|access| access.kind.may_write()).map(|write| write.step + 1);
            let last = accesses.iter().rev().find(|access| access.kind.keeps()).map(|read| read.step + 1);
            if let (Some(mut from), Some(mut to)) = (first.filter(|_| !is_initial).or(is_initial.then_some(0)), last) {
                // What the next iteration of a loop reads lives through all of it.
                let mut is_longer = true;
                while std::mem::take(&mut is_longer) {
                    for &(head, back) in loops {
                        budget.spend(1)?;
                        let (first, last) = (from.min(to), from.max(to));
                        let is_outside = last <= head || back + 1 < first || first <= head && back < last;
                        if is_outside || blocks.borrow_mut().is_read_from(&accesses, head) == Some(false) {
                            continue;
                        }
                        (from, to, is_longer) = (first.min(head), last.max(back + 1), true);
                    }
                }
                let to = if is_kept { end } else { to };
                live_ranges.extend((from < to).then(|| LiveRange { is_kept, ..new(from, to) }));
            }
            continue;
        }
        let mut open = is_initial.then(|| new(0, 0));
        let mut follow = |access: &Access| {
            let time = access.step + 1;
            if access.kind.keeps() && access.value as usize == value {
                if let Some(open) = &mut open {
                    open.to = time;
                }
            } else if access.kind.may_write() {
                live_ranges.extend(open.filter(|live| live.to > live.from));
                open = Some(new(time, time));
            }
        };
        match view {
            Some(view) => view.accesses.iter().for_each(|access| follow(access)),
            None => method.value_accesses(value).for_each(follow),
        }
        if let (true, Some(last)) = (is_kept, &open) {
            live_ranges.push(LiveRange { to: end, is_kept, from: last.from.max(last.to), ..*last });
        }
        live_ranges.extend(open.filter(|live| live.to > live.from));
    }
    Some(live_ranges)
}

/// Finds the live ranges that overlap a range of memory, in logarithmic time for each.
struct LiveRanges {
    /// Pool, start and index of all live ranges, sorted.
    starts: Vec<(u32, u64, usize)>,
    /// By index of a live range: its position in `starts`.
    positions: Vec<usize>,
    /// A binary tree: node `i` has the children `2 * i` and `2 * i + 1`, and the second half are the leaves, one for
    /// each of `starts`. A leaf is the end of the range if it is live, otherwise 0; a node is the maximum of its
    /// children.
    ends: Vec<u64>,
}

impl LiveRanges {
    fn new(method: &MethodAnalysis<'_>, live_ranges: &[LiveRange]) -> LiveRanges {
        let start = |(index, live): (usize, &LiveRange)| {
            let range = method.ranges[live.value as usize]?;
            Some((range.pool, range.start, index))
        };
        let mut starts: Vec<(u32, u64, usize)> = live_ranges.iter().enumerate().filter_map(start).collect();
        starts.sort_unstable();
        let mut positions = vec![usize::MAX; live_ranges.len()];
        starts.iter().enumerate().for_each(|(position, (.., index))| positions[*index] = position);
        LiveRanges { ends: vec![0; 2 * starts.len().next_power_of_two()], starts, positions }
    }

    /// Sets the end of a live range; 0 removes it.
    fn set(&mut self, index: usize, end: u64) {
        let mut node = self.ends.len() / 2 + self.positions[index];
        self.ends[node] = end;
        while node > 1 {
            node /= 2;
            self.ends[node] = self.ends[2 * node].max(self.ends[2 * node + 1]);
        }
    }

    /// Calls `take` with the index of each live range that overlaps `range`, in the order of their starts, until it
    /// returns `false`.
    fn overlapping(&self, range: PoolRange, take: &mut dyn FnMut(usize) -> bool) {
        let position = |start: u64| self.starts.partition_point(|found| *found < (range.pool, start, 0));
        let (mut first, end) = (position(0), position(range.end));
        while let Some(found) = self.first_beyond(first, end, range.start) {
            if !take(self.starts[found].2) {
                return;
            }
            first = found + 1;
        }
    }

    /// Returns the first of the positions `first..end` whose live range ends after `offset`.
    fn first_beyond(&self, first: usize, end: usize, offset: u64) -> Option<usize> {
        let leaves = self.ends.len() / 2;
        let mut node = leaves + first;
        if first >= end {
            return None;
        }
        // Up, until a subtree at or after `first` has such an end; then down to its first leaf.
        while self.ends[node] <= offset {
            while node % 2 == 1 {
                node /= 2;
            }
            if node == 0 {
                return None;
            }
            node += 1;
        }
        while node < leaves {
            node *= 2;
            node += usize::from(self.ends[node] <= offset);
        }
        Some(node - leaves).filter(|found| *found < end)
    }
}

struct OverlapSweep<'m, 'p> {
    method: &'m MethodAnalysis<'p>,
    /// Blocks of a method with jumps.
    blocks: Option<&'m RefCell<Blocks>>,
    views: &'m HashMap<u32, View<'m>>,
    /// Steps and values of the writes to memory of moves that are reported.
    reported: HashSet<(u32, u32)>,
    /// By value: the value of which it is a view.
    bases: Vec<Option<u32>>,
    /// All live ranges, sorted by the time at which they begin.
    live_ranges: &'m [LiveRange],
    /// Live ranges at the current time.
    live: LiveRanges,
    /// Times at which live ranges end, each with its index.
    ends: BinaryHeap<Reverse<(u32, usize)>>,
    /// By value: its elements are used as indices, directly or after calls that compute integers from them.
    index_sources: OnceCell<Vec<bool>>,
    budget: Budget,
}

impl OverlapSweep<'_, '_> {
    fn run(&mut self, findings: &mut Findings, locate: &Locator<'_>) {
        let mut next = self.live_ranges.iter().enumerate().peekable();
        for step in 0..self.method.end() {
            let time = step + 1;
            while let Some((index, live)) = next.next_if(|(_, live)| live.from < time) {
                let Some(range) = self.range(live) else { continue };
                self.live.set(index, range.end);
                self.ends.push(Reverse((live.to, index)));
            }
            while let Some(&Reverse((to, index))) = self.ends.peek()
                && to < time
            {
                self.live.set(index, 0);
                self.ends.pop();
            }
            for access in self.method.step_accesses(step) {
                let definite = access.kind.writes_bytes();
                let Some(range) = self.range_of(access).filter(|_| definite) else { continue };
                self.check_write(access, range, time, findings, locate);
                if self.reported.contains(&(access.step, access.value)) {
                    continue;
                }
                for source in self.method.kept().sources.get(&(access.value as usize)).into_iter().flatten() {
                    if let Some(range) = self.method.ranges[*source] {
                        self.check_write(access, range, time, findings, locate);
                    }
                }
            }
        }
    }

    fn range(&self, live: &LiveRange) -> Option<PoolRange> {
        self.method.ranges[live.value as usize]
    }

    fn range_of(&self, access: &Access) -> Option<PoolRange> {
        self.method.ranges[access.value as usize]
    }

    fn check_write(
        &mut self,
        access: &Access,
        range: PoolRange,
        time: u32,
        findings: &mut Findings,
        locate: &Locator<'_>,
    ) {
        let (mut overlaps, mut worst, most) = (0, None, self.budget.left());
        self.live.overlapping(range, &mut |index| {
            overlaps += 1;
            let live = &self.live_ranges[index];
            let found = self.overwritten(access, range, live, time).map(|rule| (rule, live));
            // The first one, unless a later one is an error.
            let is_worse = |(rule, _): &(RuleId, _)| {
                worst.is_none_or(|(worst, _): (RuleId, &LiveRange)| rule.rule().severity < worst.rule().severity)
            };
            worst = found.filter(is_worse).or(worst);
            overlaps <= most && worst.is_none_or(|(rule, _)| rule.rule().severity > RuleSeverity::Invalid)
        });
        let (Some(()), Some((rule, live))) = (self.budget.spend(overlaps), worst) else { return };
        let Some(other) = self.range(live) else { return };
        findings.add(rule, || {
            let since = match self.range_of(access) == Some(range) {
                true => "",
                false => ", which a move of the previous execution left it",
            };
            let found = format!(
                "a write to values[{}] at {}..{} of pool {}{since}, while values[{}] at {}..{} is live",
                access.value, range.start, range.end, range.pool, live.value, other.start, other.end
            );
            (locate(&self.method.element_of(access)), found, "memory without live content".into())
        });
    }

    /// Returns the rule that a write to `range` violates for live content there; `None` if it may be written.
    fn overwritten(&self, access: &Access, range: PoolRange, live: &LiveRange, time: u32) -> Option<RuleId> {
        let other = self.range(live).filter(|_| live.value != access.value)?;
        let same_start = other.start == range.start;
        let is_own = self.range_of(access) == Some(range);
        let may_share = is_own && (access.kind.is_in_place() || self.share_base(access.value, live));
        // What is written at the offset of a view is what it reads.
        let is_viewed = is_own && same_start && range.end >= other.end && self.views.contains_key(&live.value);
        let (is_read_here, later) = self.reads(live, time);
        let is_last = is_read_here && later.is_empty();
        let is_unread = !is_read_here && later.is_empty();
        if same_start && (may_share || is_last) || is_viewed || is_unread {
            return None;
        }
        // X-25 covers memory that one call reads and writes, if its operator is known.
        let call = || self.method.call(&self.method.steps[access.step as usize]);
        if is_last && call().is_some_and(|(known, _)| known.has_known_sharing()) {
            return None;
        }
        let has_other_type = || {
            self.method.facts[access.value as usize].scalar_type != self.method.facts[live.value as usize].scalar_type
        };
        // A view is not larger than its base, and has its element type.
        let may_view = is_own && same_start && range.end <= other.end;
        // A view of an overwritten result or input is no reason to return it. State is returned as it is then.
        let is_state = live.is_initial && !self.method.is_input[live.value as usize];
        let is_output = !is_state && live.to == self.method.end() + 1;
        let is_index = || match is_read_here {
            true => self.is_index(live.value, time - 1),
            false => later.iter().any(|read| self.is_index(live.value, *read)),
        };
        Some(match () {
            () if (!may_view || has_other_type()) && is_index() => X_20,
            () if may_view && !is_output => X_5,
            () => X_4,
        })
    }

    /// Returns whether the instruction at `time` reads live content, and the steps of the reads after it: without
    /// jumps, the next one.
    fn reads(&self, live: &LiveRange, time: u32) -> (bool, Vec<u32>) {
        let (step, value) = (time - 1, live.value as usize);
        let here = self.method.step_accesses(step).iter();
        let here = here.clone().any(|access| access.value == live.value && access.kind.keeps());
        let Some(blocks) = self.blocks else {
            let later = match live.is_kept {
                true => self.method.next_read(value, 0),
                false => self.method.next_read(value, time).filter(|_| live.to > time),
            };
            return (here && !live.is_kept, later.into_iter().collect());
        };
        let accesses = &accesses_of(self.method, self.views, value);
        let mut blocks = blocks.borrow_mut();
        if !live.is_initial && blocks.is_written_before(accesses, step) != Some(true) {
            return (false, Vec::new());
        }
        (here, blocks.reads_after(accesses, step, live.is_kept).unwrap_or_default())
    }

    /// Returns `true` if the instruction at a step uses a value as indices, or computes integers of it that are used as
    /// indices.
    fn is_index(&self, value: u32, read: u32) -> bool {
        let index_sources = self.index_sources.get_or_init(|| index_sources(self.method));
        index_sources[value as usize]
            && self.method.step_accesses(read).iter().any(|access| match access.kind {
                AccessKind::Read if access.value == value => is_index_argument(self.method, access),
                _ => access.kind.may_write() && index_sources[access.value as usize],
            })
    }

    /// Returns `true` if one tensor is a view of the other, or both are views of a third.
    fn share_base(&self, value: u32, live: &LiveRange) -> bool {
        let base = |value: u32| self.bases[value as usize].unwrap_or(value);
        base(value) == base(live.value)
    }
}

/// Returns `true` if a kernel uses the elements of an argument as indices.
fn is_index_argument(method: &MethodAnalysis<'_>, access: &Access) -> bool {
    let Some((known, _)) = method.steps.get(access.step as usize).and_then(|step| method.call(step)) else {
        return false;
    };
    let arg = known.signature.args.get(access.arg as usize);
    arg.is_some_and(|arg| INDEX_ARGUMENTS.contains(&&*arg.name))
}

/// Returns, by value, `true` if its elements are used as indices, directly or after calls that compute integers from
/// them.
fn index_sources(method: &MethodAnalysis<'_>) -> Vec<bool> {
    let mut found = vec![false; method.values().len()];
    let is_integer = |value: u32| method.facts[value as usize].scalar_type.integers().is_some();
    let mut open: Vec<u32> = Vec::new();
    let mut add = |value: u32, open: &mut Vec<u32>| {
        if is_integer(value) && !std::mem::replace(&mut found[value as usize], true) {
            open.push(value);
        }
    };
    for access in method.accesses().list.iter().filter(|access| access.kind == AccessKind::Read) {
        if is_integer(access.value) && is_index_argument(method, access) {
            add(access.value, &mut open);
        }
    }
    while let Some(value) = open.pop() {
        for write in method.value_accesses(value as usize).filter(|access| access.kind.may_write()) {
            let reads = method.step_accesses(write.step).iter().filter(|access| access.kind.keeps());
            reads.for_each(|access| add(access.value, &mut open));
        }
    }
    found
}
