//! How long each value of a method lives: from its first mention to its last, as the exporter sees it (docs/format.md, "Lifetimes"), and around
//! loops, which the exporter has none of.
//!
//! Where values lie is [`super::memory`]'s business.

use std::collections::{BTreeMap, BTreeSet};

use crate::operators::{self, Role};
use crate::program::operand::OperandAccess;
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, Operator};

/// When each value is needed. Time 0 is before the first instruction, instruction `i` is at `i + 1`, and the outputs
/// are taken at the end.
pub(super) struct Lifetimes {
    spans: Vec<Option<(u32, u32)>>,
    pub end: u32,
    /// Buffers and inputs that are written in place, in the order of the last writes.
    pub write_backs: Vec<usize>,
}

impl Lifetimes {
    /// First and last moment; a value that nothing mentions is there at the start only.
    pub fn of(&self, value: usize) -> (u32, u32) {
        self.spans[value].unwrap_or((0, 0))
    }

    fn touch(&mut self, value: i32, time: u32) {
        let Ok(index) = usize::try_from(value) else { return };
        let Some(span) = self.spans.get_mut(index) else { return };
        let (start, end) = span.unwrap_or((time, time));
        *span = Some((start.min(time), end.max(time)));
    }

    /// Whoever uses a view uses its base.
    fn touch_bases(&mut self, wishes: &[Memory]) {
        for (view, wish) in wishes.iter().enumerate() {
            if let (Memory::View { base }, Some((start, end))) = (*wish, self.spans[view]) {
                self.touch(base as i32, start);
                self.touch(base as i32, end);
            }
        }
    }

    /// Whoever uses a list uses its tensors.
    fn touch_items(&mut self, plan: &ExecutionPlan) {
        for (list, value) in plan.values().iter().enumerate() {
            let (EValue::TensorList(Some(items)) | EValue::OptionalTensorList(Some(items))) = value else { continue };
            let Some((start, end)) = self.spans[list] else { continue };
            for item in items {
                self.touch(*item, start);
                self.touch(*item, end);
            }
        }
    }
}

/// The lifetimes of a method's values (docs/format.md, "Lifetimes"), which ask for this memory.
pub(super) fn lifetimes(plan: &ExecutionPlan, wishes: &[Memory]) -> Lifetimes {
    let count = instructions(plan).count() as u32;
    let mut lifetimes = Lifetimes { spans: vec![None; plan.values().len()], end: count + 1, write_backs: Vec::new() };
    let inputs: BTreeSet<i32> = plan.inputs.iter().flatten().copied().collect();
    for input in &inputs {
        lifetimes.touch(*input, 0);
    }
    let mut walk = Walk {
        loops: Vec::new(),
        branches: Vec::new(),
        skips: Vec::new(),
        first: vec![Mention::None; plan.values().len()],
    };
    let roles = Roles::new(plan);
    let mut last_writes: BTreeMap<usize, u32> = BTreeMap::new();
    let mut time = 0;
    for chain in plan.chains.iter().flatten() {
        let first = time + 1;
        for instruction in chain.instructions.iter().flatten() {
            time += 1;
            while walk.branches.last().is_some_and(|(_, end)| *end <= time) {
                walk.branches.pop();
            }
            let operator = instruction.operator();
            for (position, arg) in instruction.args().iter().enumerate() {
                let role = operator.and_then(|operator| roles.role(operator, position));
                walk.note(*arg, role);
                lifetimes.touch(*arg, time);
                let returned = operator.is_some_and(|operator| roles.returns(operator));
                if role == Some(Role::InPlace) && returned && walk.first(*arg) != Mention::Made {
                    usize::try_from(*arg).into_iter().for_each(|target| _ = last_writes.insert(target, time));
                }
            }
            for operand in instruction.operands() {
                if operand.access == OperandAccess::Write {
                    walk.note(operand.value, Some(Role::Out));
                    // What branches merge into is there from the jump in front of them (E-10).
                    if let Some((jump, _)) = walk.branches.last() {
                        lifetimes.touch(operand.value, *jump);
                    }
                }
                lifetimes.touch(operand.value, time);
            }
            if let Some(destination) = instruction.destination() {
                let destination = u32::try_from(destination).unwrap_or(u32::MAX).saturating_add(first);
                if destination <= time {
                    walk.loops.push((destination, time));
                } else {
                    walk.branches.push((time, destination));
                    walk.skips.push((time, destination));
                }
            }
        }
        walk.branches.clear();
    }
    lifetimes.write_backs = write_backs(plan, &last_writes);
    let written_back: BTreeSet<usize> = lifetimes.write_backs.iter().copied().collect();
    for output in plan.outputs.iter().flatten() {
        // An input that is written back is taken at its write-back, not at the end: the caller has it already.
        let index = usize::try_from(*output).unwrap_or(usize::MAX);
        if !(inputs.contains(output) && written_back.contains(&index)) {
            lifetimes.touch(*output, count + 1);
        }
    }
    lifetimes.touch_items(plan);
    lifetimes.touch_bases(wishes);
    for (value, wish) in wishes.iter().enumerate() {
        if let Memory::Auto { persistent: true, .. } = wish {
            lifetimes.spans[value] = Some((0, count + 1));
        }
    }
    lifetimes.carry_around_loops(walk);
    lifetimes
}

/// What is seen on the way through the instructions.
struct Walk {
    /// Head and jump back, as times.
    loops: Vec<(u32, u32)>,
    /// Jump and destination of the branches that are open, as times.
    branches: Vec<(u32, u32)>,
    /// Jump and destination of all forward jumps, as times.
    skips: Vec<(u32, u32)>,
    /// How each value is first mentioned.
    first: Vec<Mention>,
}

/// How a value is first mentioned by an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mention {
    /// Not at all.
    None,
    /// As a result.
    Made,
    /// Read before any instruction writes it.
    Read,
}

impl Walk {
    /// Notes a mention; what operators that nobody knows mention first is taken for a result.
    fn note(&mut self, value: i32, role: Option<Role>) {
        if let Some(first @ Mention::None) = usize::try_from(value).ok().and_then(|value| self.first.get_mut(value)) {
            let made = role.is_none_or(|role| role == Role::Out);
            *first = if made { Mention::Made } else { Mention::Read };
        }
    }

    fn first(&self, value: i32) -> Mention {
        usize::try_from(value).ok().and_then(|value| self.first.get(value)).copied().unwrap_or(Mention::None)
    }
}

/// Tensors written in place, in the order of the last writes.
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
    /// Values that a round of a loop may leave as the round before made them: a jump inside the loop leads over where they
    /// are first written, to where they may be read.
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
            // Jumps that land before the last use. If there are very many, one of them is taken to be in the loop.
            let mut landing = open.iter().take_while(|(destination, _)| *destination <= end);
            if landing.by_ref().take(64).any(|(_, jump)| *jump >= head) || landing.next().is_some() {
                carried.insert(value);
            }
        }
        carried
    }

    /// What is made before a loop and used in it is needed until the loop's last jump back; what a loop reads before
    /// it writes it is carried from one round to the next. The exporter unrolls no loops into a plan, so it has no such
    /// rule, and without backward jumps this changes nothing.
    fn carry_around_loops(&mut self, walk: Walk) {
        let Walk { mut loops, skips, first, .. } = walk;
        if loops.is_empty() {
            return;
        }
        loops.sort_unstable();
        // For each loop head the farthest jump back to it or to a head before it that covers it: regions of loops.
        let mut regions: Vec<(u32, u32)> = Vec::new();
        for &(head, jump) in &loops {
            match regions.last_mut() {
                Some(region) if head <= region.1 => region.1 = region.1.max(jump),
                _ => regions.push((head, jump)),
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
            if (first[value] == Mention::Read || carried.contains(&value))
                && *start > 0
                && let Some((head, jump)) = region_of(*start)
            {
                (*start, *end) = ((*start).min(head), (*end).max(jump));
            }
            for round in 0.. {
                let Some(jump) = farthest.between(*start + 1, *end).filter(|jump| *jump > *end) else { break };
                *end = jump;
                if round == 64 {
                    // Loops that overlap like tiles: the end of them all is safe.
                    *end = region_of(*end).map_or(*end, |region| region.1);
                }
            }
        }
    }
}

/// The farthest backward jump to a head in an interval.
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

/// What the operators of a method do with their arguments, by their index.
struct Roles(Vec<Option<(Vec<Role>, bool)>>);

impl Roles {
    fn new(plan: &ExecutionPlan) -> Roles {
        let of = |operator: &Operator| {
            let name = operator.name.as_deref()?;
            let signature = match operator.overload.as_deref() {
                None | Some("") => operators::find(name),
                Some(overload) => operators::find(&format!("{name}.{overload}")),
            }?;
            Some((signature.args.iter().map(|arg| arg.role).collect(), signature.result.is_some()))
        };
        Roles(plan.operators.iter().flatten().map(of).collect())
    }

    fn of(&self, op_index: i32) -> Option<&(Vec<Role>, bool)> {
        self.0.get(usize::try_from(op_index).ok()?)?.as_ref()
    }

    /// What the operator does with the argument at a position; a result behind the arguments is an out. `None` if the
    /// operator is not known.
    fn role(&self, op_index: i32, position: usize) -> Option<Role> {
        self.of(op_index).map(|(roles, _)| roles.get(position).copied().unwrap_or(Role::Out))
    }

    /// Whether the operator is one without outs that returns a result.
    fn returns(&self, op_index: i32) -> bool {
        self.of(op_index).is_some_and(|(_, result)| *result)
    }
}

/// All instructions of a method, chain after chain.
pub(super) fn instructions(plan: &ExecutionPlan) -> impl Iterator<Item = &Instruction> {
    plan.chains.iter().flatten().flat_map(|chain| chain.instructions.iter().flatten())
}

/// The value of an index, if there is one.
pub(super) fn value_at(plan: &ExecutionPlan, index: i32) -> Option<&EValue> {
    plan.values().get(usize::try_from(index).ok()?)
}

#[cfg(test)]
mod tests;
