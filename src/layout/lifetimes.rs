//! Computes the lifetimes of the values of a method: from the first use to the last, as the exporter does (docs/format.md,
//! "Lifetimes"), extended over loops, which the exporter does not emit. Assigns no memory; see [`super::memory`].

use std::collections::{BTreeMap, BTreeSet};

use super::getitems;
use super::operators::MethodOperators;
use super::regions::Regions;
use crate::operators::Role;
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, OperandAccess, TensorData};

/// Lifetimes of the values of a method. Time 0 is before the first instruction, instruction `i` is at `i + 1`, and the outputs are read
/// at [`Lifetimes::end`].
pub(super) struct Lifetimes {
    pub spans: Vec<Option<(u32, u32)>>,
    /// The parts of the method that are planned for themselves.
    pub regions: Regions,
    pub end: u32,
    /// Buffers and inputs that are written in place, in the order of the last writes.
    pub write_backs: Vec<usize>,
}

impl Lifetimes {
    /// Lifetimes of `values` values without uses.
    pub fn new(regions: Regions, values: usize, end: u32) -> Lifetimes {
        Lifetimes { spans: vec![None; values], regions, end, write_backs: Vec::new() }
    }

    /// Returns first and last time; an unused value has (0, 0).
    pub fn of(&self, value: usize) -> (u32, u32) {
        self.spans[value].unwrap_or((0, 0))
    }

    /// Extends the lifetime of a value to a time.
    pub fn touch(&mut self, value: i32, time: u32) {
        let Ok(index) = usize::try_from(value) else { return };
        if index >= self.spans.len() {
            return;
        }
        let time = self.regions.time(index, time);
        let span = &mut self.spans[index];
        let (start, end) = span.unwrap_or((time, time));
        *span = Some((start.min(time), end.max(time)));
    }

    /// Extends the lifetime of each base to those of its views.
    pub fn touch_bases(&mut self, requested: &[Memory]) {
        for (view, memory) in requested.iter().enumerate() {
            if let (Memory::View { base }, Some((start, end))) = (*memory, self.spans[view]) {
                self.touch(base as i32, start);
                self.touch(base as i32, end);
            }
        }
    }

    /// Extends the lifetimes of the items of each list to that of the list.
    pub fn touch_items(&mut self, plan: &ExecutionPlan) {
        for (list, value) in plan.values().iter().enumerate() {
            let Some((start, end)) = self.spans[list] else { continue };
            for item in value.as_tensors() {
                self.touch(*item, start);
                self.touch(*item, end);
            }
        }
    }
}

/// Computes the lifetimes of the values of a method (docs/format.md, "Lifetimes") with these memory requests.
pub(super) fn lifetimes(plan: &ExecutionPlan, operators: &MethodOperators, requested: &[Memory]) -> Lifetimes {
    let count = plan.instructions().count() as u32;
    let mut lifetimes = Lifetimes::new(Regions::find(plan, operators, requested), plan.values().len(), count + 1);
    let inputs: BTreeSet<i32> = plan.inputs.iter().flatten().copied().collect();
    for input in &inputs {
        lifetimes.touch(*input, 0);
    }
    let mut pass = InstructionPass::new(plan.values().len());
    let state = |value: i32| usize::try_from(value).ok().and_then(|value| requested.get(value));
    let mut last_writes: BTreeMap<usize, u32> = BTreeMap::new();
    let mut time = 0;
    for chain in plan.chains.iter().flatten() {
        let first = time + 1;
        for instruction in chain.instructions.iter().flatten() {
            time += 1;
            while pass.branches.last().is_some_and(|(_, end)| *end <= time) {
                pass.branches.pop();
            }
            let operator = instruction.operator();
            for (position, arg) in instruction.args().iter().enumerate() {
                // A delegate does not write the state of a method.
                let is_state = matches!(state(*arg), Some(Memory::Auto { persistent: true, .. }));
                let role = match instruction {
                    Instruction::DelegateCall { .. } if is_state => Some(Role::In),
                    _ => operator.and_then(|operator| operators.role(operator, position)),
                };
                // Only the first use counts, also of the items of a list.
                if pass.first(*arg) == FirstUse::None {
                    let items = plan.value(*arg).map_or(&[][..], EValue::as_tensors);
                    items.iter().for_each(|item| pass.record(*item, role));
                }
                pass.record(*arg, role);
                lifetimes.touch(*arg, time);
                let returned = operator.is_some_and(|operator| operators.returns(operator));
                // State that the caller places is written back as planned state is.
                let is_unplanned = || {
                    let tensor = plan.value(*arg).and_then(EValue::as_tensor);
                    tensor.is_some_and(|tensor| tensor.data == TensorData::None && state(*arg) == Some(&Memory::None))
                };
                let is_owned = is_state || inputs.contains(arg) || is_unplanned();
                if role == Some(Role::InPlace) && returned && is_owned && pass.first(*arg) != FirstUse::Written {
                    usize::try_from(*arg).into_iter().for_each(|target| _ = last_writes.insert(target, time));
                }
            }
            for (_, value, access) in instruction.operands() {
                if access == OperandAccess::Write {
                    pass.record(value, Some(Role::Out));
                    // The target of the moves of a branch is live from the jump before the branch (E-10).
                    if let Some((jump, _)) = pass.branches.last() {
                        lifetimes.touch(value, *jump);
                    }
                }
                lifetimes.touch(value, time);
            }
            if !lifetimes.regions.is_body(time) {
                pass.jump(instruction, first, time);
            }
        }
        pass.branches.clear();
    }
    lifetimes.write_backs = write_backs(plan, &last_writes);
    let written_back: BTreeSet<usize> = lifetimes.write_backs.iter().copied().collect();
    for output in plan.outputs.iter().flatten() {
        // An input that is written back is not read at the end: the caller owns it.
        let index = usize::try_from(*output).unwrap_or(usize::MAX);
        if !(inputs.contains(output) && written_back.contains(&index)) {
            lifetimes.touch(*output, count + 1);
        }
    }
    for call in getitems::taken_apart(plan, operators) {
        call.results.into_iter().for_each(|result| lifetimes.touch(result as i32, call.instruction + 1));
    }
    lifetimes.touch_items(plan);
    // A view may be of a view that comes before it.
    let mut aliases: Vec<Alias> =
        aliases(plan, operators).into_iter().chain(moves(plan, Some(&lifetimes.regions))).collect();
    aliases.sort_by_key(|alias| alias.time);
    for Alias { result, base, .. } in aliases.into_iter().rev() {
        if let Some((start, end)) = lifetimes.spans[result] {
            lifetimes.touch(base as i32, start);
            lifetimes.touch(base as i32, end);
        }
    }
    lifetimes.touch_bases(requested);
    for (value, memory) in requested.iter().enumerate() {
        if let Memory::Auto { persistent: true, .. } = memory {
            lifetimes.spans[value] = Some((0, count + 1));
        }
    }
    lifetimes.carry_around_loops(pass);
    lifetimes
}

/// An instruction after which a value is the memory of another one.
pub(super) struct Alias {
    /// Time of the instruction.
    pub time: u32,
    /// Value of the result.
    pub result: usize,
    /// Value of the argument.
    pub base: usize,
}

/// Returns the calls of a method whose results are the memory of an argument, in order.
pub(super) fn aliases(plan: &ExecutionPlan, operators: &MethodOperators) -> Vec<Alias> {
    if !operators.have_aliases() {
        return Vec::new();
    }
    let index = |value: i32| usize::try_from(value).ok().filter(|index| *index < plan.values().len());
    let alias = |(number, instruction): (usize, &Instruction)| {
        let position = operators.aliased(instruction.operator()?)?;
        let args = instruction.args();
        let (result, base) = (index(*args.last()?)?, index(*args.get(position)?)?);
        (result != base).then_some(Alias { time: number as u32 + 1, result, base })
    };
    plan.instructions().enumerate().filter_map(alias).collect()
}

/// Returns the moves of a method, outside of its parts if they are given: the runtime makes the target the memory of the source. For the
/// branches of `torch.cond`, the exporter plans as if a move copied.
pub(super) fn moves(plan: &ExecutionPlan, regions: Option<&Regions>) -> Vec<Alias> {
    let index = |value: i32| usize::try_from(value).ok().filter(|index| plan.values().get(*index).is_some());
    let alias = |(number, instruction): (usize, &Instruction)| {
        let Instruction::MoveCall { move_from, move_to } = instruction else { return None };
        let (time, result, base) = (number as u32 + 1, index(*move_to)?, index(*move_from)?);
        let is_outside = regions.is_none_or(|regions| regions.innermost(time) == 0);
        (result != base && is_outside).then_some(Alias { time, result, base })
    };
    plan.instructions().enumerate().filter_map(alias).collect()
}

/// State of the pass over the instructions.
pub(super) struct InstructionPass {
    /// Loops: times of the head and of the backward jump.
    pub loops: Vec<(u32, u32)>,
    /// Enclosing branches: times of the jump and of its destination.
    branches: Vec<(u32, u32)>,
    /// Forward jumps: times of the jump and of its destination.
    skips: Vec<(u32, u32)>,
    /// First use of each value.
    pub first: Vec<FirstUse>,
}

/// First use of a value by an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FirstUse {
    /// Unused.
    None,
    /// Written.
    Written,
    /// Read.
    Read,
}

impl InstructionPass {
    pub fn new(values: usize) -> InstructionPass {
        InstructionPass {
            loops: Vec::new(),
            branches: Vec::new(),
            skips: Vec::new(),
            first: vec![FirstUse::None; values],
        }
    }

    /// Records the jump of an instruction, if it is one; `first` is the time of the first instruction of the chain.
    pub fn jump(&mut self, instruction: &Instruction, first: u32, time: u32) {
        let Some(destination) = instruction.destination() else { return };
        let destination = u32::try_from(destination).unwrap_or(u32::MAX).saturating_add(first);
        if destination <= time {
            self.loops.push((destination, time));
        } else {
            self.branches.push((time, destination));
            self.skips.push((time, destination));
        }
    }

    /// Records a use. The arguments of unknown operators count as written.
    pub fn record(&mut self, value: i32, role: Option<Role>) {
        if let Some(first @ FirstUse::None) = usize::try_from(value).ok().and_then(|value| self.first.get_mut(value)) {
            let written = role.is_none_or(|role| role == Role::Out);
            *first = if written { FirstUse::Written } else { FirstUse::Read };
        }
    }

    /// Returns the first use of a value.
    pub fn first(&self, value: i32) -> FirstUse {
        usize::try_from(value).ok().and_then(|value| self.first.get(value)).copied().unwrap_or(FirstUse::None)
    }
}

/// Returns the tensors written in place, in the order of the last writes.
fn write_backs(plan: &ExecutionPlan, last_writes: &BTreeMap<usize, u32>) -> Vec<usize> {
    let mut targets: Vec<(u32, usize)> = last_writes
        .iter()
        .filter(|(target, _)| matches!(plan.values().get(**target), Some(EValue::Tensor(_))))
        .map(|(target, time)| (*time, *target))
        .collect();
    targets.sort_unstable();
    targets.into_iter().map(|(_, target)| target).collect()
}

impl Lifetimes {
    /// Returns values that may keep their content from the previous iteration of a loop: a jump inside the loop skips their first write, and
    /// they may be read at or after its destination.
    fn skipped_writes(&self, skips: &[(u32, u32)], region_of: &impl Fn(u32) -> Option<(u32, u32)>) -> BTreeSet<usize> {
        let mut by_start: Vec<(u32, u32, usize)> =
            self.spans.iter().enumerate().filter_map(|(value, span)| span.map(|(s, e)| (s, e, value))).collect();
        by_start.sort_unstable();
        let mut skips = skips.iter().copied().peekable();
        let mut open: BTreeSet<(u32, u32)> = BTreeSet::new();
        let mut carried = BTreeSet::new();
        for (start, end, value) in by_start {
            while let Some((jump, destination)) = skips.next_if(|(jump, _)| *jump < start) {
                open.insert((destination, jump));
            }
            while open.first().is_some_and(|(destination, _)| *destination <= start) {
                open.pop_first();
            }
            let Some((head, _)) = region_of(start) else { continue };
            // Jumps to before the last use. If there are more than 64, one of them is assumed to be in the loop.
            let mut before_last_use = open.iter().take_while(|(destination, _)| *destination <= end);
            if before_last_use.by_ref().take(64).any(|(_, jump)| *jump >= head) || before_last_use.next().is_some() {
                carried.insert(value);
            }
        }
        carried
    }

    /// Extends lifetimes over loops: a value written before a loop and used in it is live until the last backward jump; a value that a loop
    /// reads before it writes it is live in all of the loop. The exporter has no such rule, since it emits no loops; without backward
    /// jumps nothing changes.
    pub fn carry_around_loops(&mut self, pass: InstructionPass) {
        let InstructionPass { mut loops, skips, first, .. } = pass;
        if loops.is_empty() {
            return;
        }
        loops.sort_unstable();
        // Unions of overlapping loops: the first head and the farthest backward jump.
        let mut regions: Vec<(u32, u32)> = Vec::new();
        for &(head, jump) in &loops {
            match regions.last_mut() {
                Some(region) if head <= region.1 => region.1 = region.1.max(jump),
                Some(_) | None => regions.push((head, jump)),
            }
        }
        let region_of = |time: u32| {
            let candidate = regions[..regions.partition_point(|(head, _)| *head <= time)].last();
            candidate.filter(|(_, jump)| time <= *jump).copied()
        };
        let carried = self.skipped_writes(&skips, &region_of);
        let farthest = FarthestJump::new(&loops);
        for (value, span) in self.spans.iter_mut().enumerate() {
            let Some((start, end)) = span else { continue };
            if (first[value] == FirstUse::Read || carried.contains(&value))
                && *start > 0
                && let Some((head, jump)) = region_of(*start)
            {
                (*start, *end) = ((*start).min(head), (*end).max(jump));
            }
            for iteration in 0.. {
                let Some(jump) = farthest.between(*start + 1, *end).filter(|jump| *jump > *end) else { break };
                *end = jump;
                if iteration == 64 {
                    // Long chains of overlapping loops: the end of all of them is an upper bound.
                    *end = region_of(*end).map_or(*end, |region| region.1);
                }
            }
        }
    }
}

/// Range query: the farthest backward jump to a head in an interval.
struct FarthestJump {
    heads: Vec<u32>,
    /// `levels[k][i]`: farthest jump to heads `i .. i + 2^k`.
    levels: Vec<Vec<u32>>,
}

impl FarthestJump {
    fn new(loops: &[(u32, u32)]) -> FarthestJump {
        let mut levels = vec![loops.iter().map(|(_, jump)| *jump).collect::<Vec<_>>()];
        let mut width = 1;
        while 2 * width <= loops.len() {
            let below = &levels[levels.len() - 1];
            levels.push((0..=loops.len() - 2 * width).map(|i| below[i].max(below[i + width])).collect());
            width *= 2;
        }
        FarthestJump { heads: loops.iter().map(|(head, _)| *head).collect(), levels }
    }

    fn between(&self, first: u32, last: u32) -> Option<u32> {
        let low = self.heads.partition_point(|head| *head < first);
        let high = self.heads.partition_point(|head| *head <= last);
        let count = high.checked_sub(low).filter(|count| *count > 0)?;
        let level = count.ilog2() as usize;
        Some(self.levels[level][low].max(self.levels[level][high - (1 << level)]))
    }
}

#[cfg(test)]
mod tests;
