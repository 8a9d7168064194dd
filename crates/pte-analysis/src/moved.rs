//! Finds writes to memory whose content is read later through the target of a move: a move copies no bytes, so that the
//! target has the memory of the source until the next move to it.
//!
//! It compares places in planned memory along the control flow, and knows nothing of planners. Content that is read
//! through the tensor itself is not covered.

use std::collections::HashSet;

use super::access::Access;
use super::aliases::AliasKind;
use super::blocks::{Edge, Jump};
use super::method::Method;
use super::operators::AccessKind;
use pte_model::program::pools::PoolRange;
use pte_model::program::{EValue, Instruction};

/// A write to memory that the target of a move still has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverwrittenMove {
    /// Index of the write in [`Accesses::list`](super::access::Accesses::list).
    pub access: usize,
    /// Value whose memory is overwritten.
    pub source: usize,
    /// Value that has this memory, and is read later.
    pub target: usize,
}

/// Facts about a method that the search needs.
pub struct MovedMemory<'m> {
    /// Method.
    pub method: &'m Method<'m>,
    /// The jumps that may be taken, in the order of the steps.
    pub edges: &'m [Edge],
    /// By value: its planned memory; `None` for other values.
    pub ranges: &'m [Option<PoolRange>],
    /// By value: the next execution needs its content, whatever this one reads: state, and memory of the caller.
    pub lasting: &'m [bool],
}

/// The steps at which a value has the memory of another one.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Holder {
    source: usize,
    value: usize,
    /// Step since which it has the memory.
    since: u32,
}

/// Returns the jumps of a method that may be taken, without an analysis of their conditions: only a Bool `false` that
/// no instruction writes is constant.
pub fn edges(method: &Method<'_>) -> Vec<Edge> {
    let mut is_written = vec![false; method.values().len()];
    for access in method.accesses().list.iter().filter(|access| access.kind.may_write()) {
        is_written[access.value as usize] = true;
    }
    let instructions: Vec<&Instruction> = method.plan.instructions().collect();
    let falls_through = |jump: &Jump| match instructions.get(jump.step as usize) {
        Some(Instruction::JumpFalseCall { cond_value_index, .. }) => {
            let condition = cond_value_index.within(is_written.len());
            !condition.is_some_and(|value| !is_written[value] && matches!(method.values()[value], EValue::Bool(false)))
        }
        _ => true,
    };
    method.jumps().iter().map(|jump| (*jump, falls_through(jump))).collect()
}

/// Returns `true` if a memory plan of a method overwrites content that is read later through the target of a move, or
/// if that is not known. `places` has pool and offset of each value.
pub fn overwrites_moves(method: &Method<'_>, places: &[Option<(u32, u64)>]) -> bool {
    if method.aliases().iter().all(|alias| alias.kind == AliasKind::View) {
        return false;
    }
    let range = |(place, value): (&Option<(u32, u64)>, &EValue)| {
        let (pool, start) = (*place)?;
        let end = start.checked_add(value.as_tensor()?.nbytes()?)?;
        (start < end).then_some(PoolRange { pool, start, end })
    };
    let ranges: Vec<Option<PoolRange>> = places.iter().zip(method.values()).map(range).collect();
    // No plan changes what instructions do to state.
    let lasting = &vec![false; ranges.len()];
    let memory = MovedMemory { method, edges: &edges(method), ranges: &ranges, lasting };
    let mut left = 1usize << 24;
    let mut spend = |units: usize| {
        left = left.checked_sub(units)?;
        Some(())
    };
    method.accesses().is_truncated || memory.overwritten(&mut spend).is_none_or(|found| !found.is_empty())
}

impl MovedMemory<'_> {
    /// Returns the first write to the memory of each value that a target of its moves has. `spend` takes units of work:
    /// visited steps and accesses; `None` if it refuses.
    pub fn overwritten(&self, spend: &mut dyn FnMut(usize) -> Option<()>) -> Option<Vec<OverwrittenMove>> {
        if self.method.kept().is_truncated {
            return None;
        }
        let mut found: Vec<OverwrittenMove> = Vec::new();
        for (access, Access { value, kind, .. }) in self.method.accesses().list.iter().enumerate() {
            let is_written = kind.writes_bytes() || *kind == AccessKind::Unknown;
            let lasting = self.sources(*value as usize).iter().filter(|source| is_written && self.lasting[**source]);
            found.extend(lasting.map(|source| OverwrittenMove { access, source: *source, target: *source }));
        }
        let aliases = self.method.aliases();
        let mut is_alias = vec![false; self.ranges.len()];
        aliases.iter().for_each(|alias| is_alias[alias.result] = true);
        let by_base = Lists::new(self.ranges.len(), aliases.iter().map(|alias| alias.base).zip(0..).collect());
        let mut walk = Walk::new(self);
        let mut open = self.start();
        let mut seen: HashSet<Holder> = open.iter().copied().collect();
        while let Some(holder) = open.pop() {
            self.follow(&mut walk, &holder, spend)?;
            spend(by_base.of(holder.value).len())?;
            for &index in by_base.of(holder.value) {
                let alias = &aliases[index as usize];
                let next = Holder { source: holder.source, value: alias.result, since: alias.step };
                if walk.states[alias.step as usize].is_reached && seen.insert(next) {
                    open.push(next);
                }
            }
            for &step in walk.steps.iter().filter(|step| walk.states[**step as usize].is_needed) {
                found.extend(self.write(step, &holder, &is_alias));
            }
        }
        found.sort_unstable_by_key(|found| (found.source, found.access, found.target));
        found.dedup_by_key(|found| found.source);
        Some(found)
    }

    /// Returns the values that have the memory of another one after a step, and the targets of moves that instructions
    /// write.
    fn start(&self) -> Vec<Holder> {
        let is_target = self.method.replaced();
        // A view at another offset than its base has the memory of the base.
        let place = |value: usize| self.ranges[value].map(|range| (range.pool, range.start));
        let mut is_elsewhere = is_target.to_vec();
        for view in self.method.aliases().iter().filter(|alias| alias.kind == AliasKind::View) {
            is_elsewhere[view.result] |= place(view.base) != place(view.result);
        }
        let moved = self.method.aliases().iter().filter(|alias| alias.kind != AliasKind::View);
        let moved = moved.filter(|alias| self.ranges[alias.base].is_some() && !is_elsewhere[alias.base]);
        let mut holders: Vec<Holder> =
            moved.map(|alias| Holder { source: alias.base, value: alias.result, since: alias.step }).collect();
        // What a target takes memory from has it, too; the target is written in the next execution.
        let mut is_source = vec![false; self.ranges.len()];
        self.method.kept().sources.values().flatten().for_each(|source| is_source[*source] = true);
        // A target that an instruction writes on another path has its own memory there.
        let mut is_used = vec![false; self.ranges.len()];
        let mut has_own = vec![false; self.ranges.len()];
        for Access { value, step, kind, .. } in &self.method.accesses().list {
            let value = *value as usize;
            if !std::mem::replace(&mut is_used[value], true) {
                has_own[value] = kind.may_write_bytes();
            }
            let is_written = kind.writes_bytes() || *kind == AccessKind::Unknown;
            let has_memory = is_target[value] && has_own[value] || is_source[value];
            if has_memory && is_written && self.ranges[value].is_some() {
                holders.push(Holder { source: value, value, since: *step });
            }
            // It may still have the memory of the previous execution.
            let sources = self.sources(value).iter().filter(|source| is_written && self.ranges[**source].is_some());
            holders.extend(sources.map(|source| Holder { source: *source, value, since: *step }));
        }
        holders
    }

    /// Returns the values whose memory a value may have since the previous execution.
    fn sources(&self, value: usize) -> &[usize] {
        self.method.kept().sources.get(&value).map_or(&[], Vec::as_slice)
    }

    /// Returns the steps that may follow a step; the last one is that of the outputs.
    fn next(&self, step: u32) -> impl Iterator<Item = u32> {
        let end = self.method.accesses().by_step.len() as u32 - 2;
        let edge = self.edges.binary_search_by_key(&step, |(jump, _)| jump.step).ok().map(|at| self.edges[at]);
        let ahead = edge.is_none_or(|(_, falls_through)| falls_through).then_some(step + 1);
        ahead.into_iter().chain(edge.map(|(jump, _)| jump.to)).filter(move |next| step < end && *next <= end)
    }

    /// Follows the control flow from the step at which a value gets memory to those at which it gets other memory.
    fn follow(&self, walk: &mut Walk, holder: &Holder, spend: &mut dyn FnMut(usize) -> Option<()>) -> Option<()> {
        walk.clear();
        let mut uses: Vec<u32> = Vec::new();
        let mut open: Vec<u32> = walk.after.of(holder.since as usize).to_vec();
        while let Some(step) = open.pop() {
            let state = &mut walk.states[step as usize];
            if std::mem::replace(&mut state.is_reached, true) {
                continue;
            }
            walk.steps.push(step);
            let accesses = self.method.accesses().of_step(step as usize);
            spend(1 + accesses.len())?;
            let own = || accesses.iter().filter(|access| access.value as usize == holder.value);
            if own().any(|access| access.kind != AccessKind::Alias && (access.reads() || access.kind.keeps())) {
                uses.push(step);
            }
            if own().any(|access| matches!(access.kind, AccessKind::Alias | AccessKind::Release)) {
                continue;
            }
            state.keeps = true;
            open.extend(walk.after.of(step as usize));
        }
        // Steps after which a use follows.
        let mut open = uses;
        while let Some(step) = open.pop() {
            spend(1)?;
            for &step in walk.before.of(step as usize) {
                let state = &mut walk.states[step as usize];
                if state.keeps && !std::mem::replace(&mut state.is_needed, true) {
                    open.push(step);
                }
            }
        }
        Some(())
    }

    /// Returns the write of a step to the memory of a holder.
    fn write(&self, step: u32, holder: &Holder, is_alias: &[bool]) -> Option<OverwrittenMove> {
        let source = self.ranges[holder.source]?;
        let first = self.method.accesses().by_step[step as usize] as usize;
        let accesses = self.method.accesses().of_step(step as usize);
        let writes = |access: &Access| {
            let value = access.value as usize;
            let mut taken = self.sources(value).iter();
            let is_kept = taken.any(|other| self.ranges[*other].is_some_and(|range| range.overlaps(&source)));
            let range = self.ranges[value].filter(|range| is_kept || range.overlaps(&source));
            let is_definite = access.kind.writes_bytes() || access.kind == AccessKind::Unknown && !access.has_content;
            let Some(range) = range.filter(|_| is_definite && value != holder.source && value != holder.value) else {
                return false;
            };
            // A tensor at the same offset that is written in place is a view. An alias may have other memory than its
            // place.
            is_kept || !(is_alias[value] || range.start == source.start && access.kind.is_in_place())
        };
        let index = accesses.iter().position(writes)?;
        Some(OverwrittenMove { access: first + index, source: holder.source, target: holder.value })
    }
}

/// The steps that can be reached while a value has memory of another one.
struct Walk {
    /// By step: the steps that it may follow, and those that may follow it.
    before: Lists,
    after: Lists,
    states: Vec<StepState>,
    /// The steps that were reached.
    steps: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct StepState {
    is_reached: bool,
    /// The value has the memory after this step, too.
    keeps: bool,
    /// The value is used after this step.
    is_needed: bool,
}

impl Walk {
    fn new(memory: &MovedMemory<'_>) -> Walk {
        let count = memory.method.accesses().by_step.len();
        let edges: Vec<(u32, u32)> =
            (0..count as u32).flat_map(|step| memory.next(step).map(move |next| (step, next))).collect();
        Walk {
            before: Lists::new(count, edges.iter().map(|(step, next)| (*next as usize, *step)).collect()),
            after: Lists::new(count, edges.iter().map(|(step, next)| (*step as usize, *next)).collect()),
            states: vec![StepState::default(); count],
            steps: Vec::new(),
        }
    }

    fn clear(&mut self) {
        for step in self.steps.drain(..) {
            self.states[step as usize] = StepState::default();
        }
    }
}

/// A list for each step or value.
struct Lists {
    /// Where each list begins, and the end of the last one.
    starts: Vec<usize>,
    items: Vec<u32>,
}

impl Lists {
    /// Takes the number of lists, and pairs of a list and an item of it.
    fn new(count: usize, mut pairs: Vec<(usize, u32)>) -> Lists {
        pairs.sort_unstable();
        let starts = (0..=count).map(|list| pairs.partition_point(|(of, _)| *of < list)).collect();
        Lists { starts, items: pairs.into_iter().map(|(_, item)| item).collect() }
    }

    fn of(&self, list: usize) -> &[u32] {
        &self.items[self.starts[list]..self.starts[list + 1]]
    }
}
