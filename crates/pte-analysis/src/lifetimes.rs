//! Lifetimes of values, from the first instruction that uses a value to the last one. [`Execution`] has those of a
//! method as its instructions are executed. [`Spans`] extends lifetimes over lists, views and loops, also for a planner
//! with rules of its own.
//!
//! Time 0 is before the first instruction, instruction `i` is at `i + 1`, and the outputs are read after the last one.

use std::collections::{BTreeMap, BTreeSet};

use super::aliases::{Alias, AliasKind, Groups};
use super::blocks::Jump;
use super::operators::{AccessKind, MethodOperators, Usage};
use pte_model::program::{ExecutionPlan, Memory, Tensor, TensorData, ValueId};
use pte_operators::facts::LoopPart;

/// Maps the time of a use of a value to the time that counts for its lifetime.
pub trait Clock {
    /// Returns the time that counts.
    fn time(&self, value: usize, time: u32) -> u32;
}

impl Clock for () {
    fn time(&self, _: usize, time: u32) -> u32 {
        time
    }
}

/// Lifetimes by value.
#[derive(Debug)]
pub struct Spans<C> {
    /// Conversion of times.
    pub clock: C,
    /// First and last time of each value; `None` for an unused one.
    pub list: Vec<Option<(u32, u32)>>,
}

impl<C: Clock> Spans<C> {
    /// Returns lifetimes of `values` values without uses.
    pub fn new(clock: C, values: usize) -> Spans<C> {
        Spans { clock, list: vec![None; values] }
    }

    /// Returns first and last time of a value; (0, 0) if it is unused.
    pub fn of(&self, value: usize) -> (u32, u32) {
        self.list[value].unwrap_or((0, 0))
    }

    /// Extends the lifetime of a value to a time.
    pub fn touch(&mut self, value: ValueId, time: u32) {
        self.touch_all(value, [time]);
    }

    fn touch_all(&mut self, value: ValueId, times: impl IntoIterator<Item = u32>) {
        if let Some(index) = value.get() {
            self.touch_index(index, times);
        }
    }

    /// Ignores an index out of range.
    fn touch_index(&mut self, index: usize, times: impl IntoIterator<Item = u32>) {
        if index >= self.list.len() {
            return;
        }
        for time in times {
            let time = self.clock.time(index, time);
            let (start, end) = self.list[index].unwrap_or((time, time));
            self.list[index] = Some((start.min(time), end.max(time)));
        }
    }

    /// Extends the lifetime of a base to that of its view.
    pub fn touch_base(&mut self, view: usize, base: usize) {
        if let Some((start, end)) = self.list[view] {
            self.touch_index(base, [start, end]);
        }
    }

    /// Extends the lifetime of each base to those of its views.
    pub fn touch_bases(&mut self, requested: &[Memory]) {
        for (view, memory) in requested.iter().enumerate() {
            if let Memory::View { base } = *memory {
                self.touch_base(view, base as usize);
            }
        }
    }

    /// Extends the lifetimes of values that keep each other's memory until the next execution, to those of all of them.
    pub fn carry_over_executions(&mut self, kept: &KeptMoves) {
        for group in &kept.groups {
            let spans = || group.iter().filter_map(|value| self.list[*value]);
            let times = [spans().map(|(start, _)| start).min(), spans().map(|(_, end)| end).max()];
            group.iter().for_each(|value| self.touch_index(*value, times.into_iter().flatten()));
        }
    }

    /// Extends the lifetimes of the items of each list to that of the list.
    pub fn touch_items(&mut self, plan: &ExecutionPlan) {
        for (list, value) in plan.values().iter().enumerate() {
            let Some((start, end)) = self.list[list] else { continue };
            value.as_tensors().iter().for_each(|item| self.touch_all(*item, [start, end]));
        }
    }

    /// Returns the values that may keep their content from the previous iteration of a loop: a jump inside the loop
    /// skips their first write, and they may be read at or after its destination.
    fn skipped_writes(&self, skips: &[(u32, u32)], region_of: &impl Fn(u32) -> Option<(u32, u32)>) -> BTreeSet<usize> {
        let mut by_start: Vec<(u32, u32, usize)> =
            self.list.iter().enumerate().filter_map(|(value, span)| span.map(|(s, e)| (s, e, value))).collect();
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
            // Jumps whose destination is not after the last use. If there are more than 64, one of them is assumed to
            // be in the loop.
            let mut before_last_use = open.iter().take_while(|(destination, _)| *destination <= end);
            if before_last_use.by_ref().take(64).any(|(_, jump)| *jump >= head) || before_last_use.next().is_some() {
                carried.insert(value);
            }
        }
        carried
    }

    /// Extends lifetimes over loops. A value that is written before a loop and used in it is live until the last
    /// backward jump. A value that a loop reads before it writes it is live in the whole loop. The exporter has no such
    /// rule because it emits no loops; without backward jumps, nothing changes. `first` has the first use of each
    /// value.
    pub fn carry_around_loops(&mut self, jumps: &[Jump], first: &[FirstUse]) {
        let times = |jump: &Jump| (jump.step + 1, jump.to + 1);
        let mut loops: Vec<(u32, u32)> =
            jumps.iter().filter(|jump| jump.is_back()).map(times).map(|(jump, head)| (head, jump)).collect();
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
        let skips: Vec<(u32, u32)> = jumps.iter().filter(|jump| !jump.is_back()).map(times).collect();
        let carried = self.skipped_writes(&skips, &region_of);
        let farthest = FarthestJump::new(&loops);
        for (value, span) in self.list.iter_mut().enumerate() {
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

/// First use of a value by an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstUse {
    /// Unused.
    None,
    /// Written.
    Written,
    /// Read.
    Read,
}

impl FirstUse {
    /// Records a use.
    pub fn record(&mut self, is_written: bool) {
        if *self == FirstUse::None {
            *self = if is_written { FirstUse::Written } else { FirstUse::Read };
        }
    }
}

/// Index for range queries of the farthest backward jump to a head in an interval.
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

/// The memory of the values of a method while it is executed.
#[derive(Debug)]
pub struct Execution {
    /// First and last time at which each value is alive; `None` for a value that nothing uses.
    pub times: Vec<Option<(u32, u32)>>,
    /// True for values that have the memory of others: views, and values that only moves set.
    pub is_alias: Vec<bool>,
    /// True for tensors in planned memory that have content from the file, or from the previous execution.
    pub is_state: Vec<bool>,
}

impl Execution {
    /// The result of [`Method::execution`](super::method::Method::execution).
    pub(super) fn new(
        plan: &ExecutionPlan,
        operators: &MethodOperators,
        jumps: &[Jump],
        aliases: &[Alias],
        requested: &[Memory],
    ) -> Execution {
        let count = plan.values().len();
        let uses = Uses::new(plan, operators, requested);
        let end = plan.instructions().count() as u32 + 1;
        let mut spans = Spans::new((), count);
        let is_input = plan.is_input();
        plan.inputs.iter().flatten().for_each(|input| spans.touch(*input, 0));
        for (time, instruction) in (1..).zip(plan.instructions()) {
            operators.uses(instruction).for_each(|usage| spans.touch(usage.value, time));
        }
        plan.outputs.iter().flatten().for_each(|output| spans.touch(*output, end));
        spans.touch_items(plan);
        let is_loop = jumps.iter().any(Jump::is_back);
        // In reverse order, because the base of a view may be a view.
        for alias in aliases.iter().rev() {
            if let Some((start, last)) = spans.list[alias.result] {
                // In a loop, uses at earlier steps may follow the instruction.
                let time = alias.step + 1;
                spans.touch(ValueId::of(alias.base), if is_loop { start } else { time });
                spans.touch(ValueId::of(alias.base), if is_loop { last } else { last.max(time) });
            }
        }
        // A tensor that a kernel writes first has content of its own, even if the exporter planned it over another
        // tensor.
        let own = |(value, memory): (usize, &Memory)| match uses.first[value] == FirstUse::Written {
            true if !uses.is_unknown[value] && !uses.is_set[value] => Memory::None,
            true | false => *memory,
        };
        let requested: Vec<Memory> = requested.iter().take(count).enumerate().map(own).collect();
        let requested = requested.as_slice();
        spans.touch_bases(requested);
        let is_view = |value: usize| matches!(requested.get(value), Some(Memory::View { .. }));
        let is_kept = |value: usize, tensor: &Tensor| match uses.first[value] {
            FirstUse::Read => uses.is_written[value] || is_stated(requested, value, tensor),
            FirstUse::None => is_stated(requested, value, tensor),
            FirstUse::Written => uses.is_unknown[value] && is_stated(requested, value, tensor),
        };
        let mut is_state = vec![false; count];
        let mut is_alias = vec![false; count];
        for (value, tensor) in plan.tensors().filter(|(_, tensor)| tensor.memory != Memory::None) {
            let has_content = is_input[value] || tensor.data != TensorData::None;
            is_alias[value] = is_view(value) || !has_content && uses.is_set[value] && !uses.is_written[value];
            is_state[value] = !is_input[value] && !is_alias[value] && is_kept(value, tensor);
        }
        for value in (0..count).filter(|value| is_state[*value]) {
            spans.list[value] = Some((0, end));
        }
        // Content that the first use does not overwrite is from earlier iterations.
        let first: Vec<FirstUse> = uses
            .first
            .iter()
            .zip(&uses.is_partial)
            .map(|(first, is_partial)| match is_partial {
                true => FirstUse::Read,
                false => *first,
            })
            .collect();
        spans.carry_around_loops(jumps, &first);
        spans.carry_over_executions(&KeptMoves::with(plan, aliases, requested, &uses));
        Execution { times: spans.list, is_alias, is_state }
    }
}

/// Values that have the memory of another one from a move on, also in the next execution, which then uses it before it
/// moves to them again: an instruction or the caller writes them, too, or they are read first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeptMoves {
    /// Such values together with all values whose memory they may have, in ascending order.
    pub groups: Vec<Vec<usize>>,
    /// Each such value, with the values whose memory moves may have given it: at most 64.
    pub sources: BTreeMap<usize, Vec<usize>>,
    /// A value has more sources than that.
    pub is_truncated: bool,
}

/// Maximum number of sources of a value.
const MAX_SOURCES: usize = 64;

impl KeptMoves {
    /// Finds these values in a method with these aliases and memory requests.
    pub(super) fn new(
        plan: &ExecutionPlan,
        operators: &MethodOperators,
        aliases: &[Alias],
        requested: &[Memory],
    ) -> KeptMoves {
        KeptMoves::with(plan, aliases, requested, &Uses::new(plan, operators, requested))
    }

    fn with(plan: &ExecutionPlan, aliases: &[Alias], requested: &[Memory], uses: &Uses) -> KeptMoves {
        let (count, is_input) = (plan.values().len(), plan.is_input());
        let is_kept = |value: usize| {
            let is_used = uses.has_writes[value] || uses.first[value] == FirstUse::Read || is_input[value];
            is_used && plan.values()[value].as_tensor().is_some()
        };
        let moved = aliases.iter().filter(|alias| alias.kind != AliasKind::View && is_kept(alias.result));
        let kept: BTreeSet<usize> = moved.map(|alias| alias.result).collect();
        if kept.is_empty() {
            return KeptMoves::default();
        }
        let mut groups = Groups::new(count);
        aliases.iter().for_each(|alias| groups.join(alias.result, alias.base));
        for (view, memory) in requested.iter().enumerate().take(count) {
            if let Memory::View { base } = *memory
                && (base as usize) < count
            {
                groups.join(view, base as usize);
            }
        }
        let mut members: BTreeMap<usize, Vec<usize>> =
            kept.iter().map(|value| (groups.first(*value), vec![])).collect();
        for value in 0..count {
            members.entry(groups.first(value)).and_modify(|members| members.push(value));
        }
        // By value: those whose memory an instruction gives it.
        let mut bases: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        aliases.iter().for_each(|alias| bases.entry(alias.result).or_default().push(alias.base));
        let (mut sources, mut is_truncated) = (BTreeMap::new(), false);
        for value in kept {
            let (mut found, mut open) = (BTreeSet::new(), vec![value]);
            while let Some(next) = open.pop().filter(|_| found.len() <= MAX_SOURCES) {
                let bases = bases.get(&next).into_iter().flatten().copied();
                open.extend(bases.filter(|base| *base != value && found.insert(*base)));
            }
            is_truncated |= found.len() > MAX_SOURCES;
            sources.insert(value, found.into_iter().take(MAX_SOURCES).collect());
        }
        KeptMoves { groups: members.into_values().collect(), sources, is_truncated }
    }
}

/// Returns true for a tensor that is state according to its memory request or to the file: [`Tensor::has_content`] with
/// the request instead of the memory of the tensor, which has an offset in a file.
fn is_stated(requested: &[Memory], value: usize, tensor: &Tensor) -> bool {
    tensor.data != TensorData::None || matches!(requested.get(value), Some(Memory::Auto { persistent: true, .. }))
}

/// Uses of the values of a method by its instructions.
struct Uses {
    /// By value: its first use.
    first: Vec<FirstUse>,
    /// By value: its first use writes a part of it and reads nothing.
    is_partial: Vec<bool>,
    /// By value: an instruction makes it an alias of another one.
    is_set: Vec<bool>,
    /// By value: an instruction may write its content.
    is_written: Vec<bool>,
    /// By value: an instruction may write its content, or that of the value whose memory it has.
    has_writes: Vec<bool>,
    /// By value: its first use is an argument of a delegate or of an unknown operator.
    is_unknown: Vec<bool>,
}

impl Uses {
    /// `requested` has the memory request of each value: what is read through a view is read of its base.
    fn new(plan: &ExecutionPlan, operators: &MethodOperators, requested: &[Memory]) -> Uses {
        let count = plan.values().len();
        let flags = vec![false; count];
        let mut uses = Uses {
            first: vec![FirstUse::None; count],
            is_partial: flags.clone(),
            is_set: flags.clone(),
            is_written: flags.clone(),
            has_writes: flags.clone(),
            is_unknown: flags,
        };
        // By value: the kinds of its uses, as bits.
        let mut kinds = vec![0u32; count];
        for instruction in plan.instructions() {
            let known = operators.called(instruction);
            for Usage { position, value, kind } in operators.uses(instruction) {
                let Some(index) = value.within(count) else { continue };
                let is_read = kind.reads() && !known.is_some_and(|known| known.needs_no_content(position));
                let stores = known.is_some_and(|known| known.facts.loop_part == Some(LoopPart::Store));
                if uses.first[index] == FirstUse::None {
                    uses.is_partial[index] = stores && kind.is_in_place();
                }
                // The first use of each kind counts, also for the items of a list.
                let bit = 1 << kind as u32;
                if kinds[index] & bit == 0 {
                    kinds[index] |= bit;
                    let items = plan.values()[index].as_tensors().iter();
                    items.for_each(|item| uses.record(*item, kind, is_read));
                }
                uses.record(value, kind, is_read);
                if let (FirstUse::Read, Some(Memory::View { base })) = (uses.first[index], requested.get(index))
                    && let Some(first) = uses.first.get_mut(*base as usize).filter(|_| is_read)
                {
                    first.record(false);
                }
            }
        }
        plan.outputs.iter().flatten().for_each(|output| uses.record(*output, AccessKind::Read, true));
        uses
    }

    fn record(&mut self, value: ValueId, kind: AccessKind, is_read: bool) {
        let Some(index) = value.within(self.first.len()) else { return };
        let is_first = self.first[index] == FirstUse::None;
        match kind {
            AccessKind::RepeatedOut | AccessKind::Release => return,
            AccessKind::Read => {}
            AccessKind::Alias => self.is_set[index] = true,
            AccessKind::Write | AccessKind::Modify | AccessKind::Overwrite => {
                self.is_written[index] |= !self.is_set[index];
                self.has_writes[index] = true;
            }
            // A view is an input of a delegate, because its results have memory of their own.
            AccessKind::Unknown => {
                self.is_unknown[index] |= is_first;
                self.is_written[index] |= is_first;
                self.has_writes[index] |= is_first;
            }
        }
        self.first[index].record(!is_read);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{aliases::aliases, blocks::jumps};
    use super::*;
    use pte_model::data::BlobId;
    use pte_model::format::ScalarType;
    use pte_model::program::{Chain, EValue, Instruction, Operator, OperatorId};

    const PLANNED: Memory = Memory::Auto { pool: None, persistent: false, shared: None };
    const STATE: Memory = Memory::Auto { pool: None, persistent: true, shared: None };

    /// A method and the names of its values.
    struct Method {
        plan: ExecutionPlan,
        names: Vec<String>,
    }

    impl Method {
        /// A method with these instructions: `aten::sin.out x y y`, `move x y` or `jump c 4`. Tensors are values of
        /// planned memory, `1` and `false` are literals.
        fn new(inputs: &str, instructions: &[&str], output: &str) -> Method {
            let mut method = Method { plan: ExecutionPlan::default(), names: Vec::new() };
            method.plan.inputs = Some(method.values(inputs));
            let instructions = instructions.iter().map(|instruction| method.instruction(instruction)).collect();
            method.plan.chains = Some(vec![Chain { instructions: Some(instructions), ..Chain::default() }]);
            method.plan.outputs = Some(method.values(output));
            method
        }

        fn instruction(&mut self, instruction: &str) -> Instruction {
            match instruction.split_once(' ').unwrap() {
                ("move", operands) => {
                    let operands = self.values(operands);
                    Instruction::MoveCall { move_from: operands[0], move_to: operands[1] }
                }
                ("jump", operands) => {
                    let (condition, destination) = operands.split_once(' ').unwrap();
                    let cond_value_index = self.value(condition);
                    Instruction::JumpFalseCall {
                        cond_value_index,
                        destination_instruction: destination.parse().unwrap(),
                    }
                }
                (kernel, args) => {
                    let (name, overload) = kernel.rsplit_once('.').unwrap_or((kernel, ""));
                    let operators = self.plan.operators.get_or_insert_default();
                    operators.push(Operator { name: Some(name.into()), overload: Some(overload.into()) });
                    let op_index = OperatorId::of(operators.len() - 1);
                    Instruction::KernelCall { op_index, args: Some(self.values(args).into()) }
                }
            }
        }

        fn values(&mut self, names: &str) -> Vec<ValueId> {
            names.split(' ').map(|name| self.value(name)).collect()
        }

        fn value(&mut self, name: &str) -> ValueId {
            if let Some(value) = self.names.iter().position(|known| known == name) {
                return ValueId::of(value);
            }
            let tensor = Tensor { memory: PLANNED, ..Tensor::new(ScalarType::FLOAT, &[2]) };
            let value = name.parse().map(EValue::Bool).or_else(|_| name.parse().map(EValue::Int));
            self.plan.values.get_or_insert_default().push(value.unwrap_or(EValue::Tensor(tensor)));
            self.names.push(name.to_owned());
            ValueId::of(self.names.len() - 1)
        }

        fn tensor(&mut self, name: &str) -> &mut Tensor {
            let value = self.value(name).get().unwrap();
            match &mut self.plan.values.as_mut().unwrap()[value] {
                EValue::Tensor(tensor) => tensor,
                other => panic!("{other:?}"),
            }
        }

        /// Lifetimes of some values: `-` of an unused one; `=` before an alias, `*` before state.
        fn lifetimes(&mut self, names: &str) -> String {
            let shown = self.values(names);
            let memory = |value: &EValue| value.as_tensor().map_or(Memory::None, |tensor| tensor.memory);
            let requested: Vec<Memory> = self.plan.values().iter().map(memory).collect();
            let operators = MethodOperators::known(&self.plan);
            let aliases = aliases(&self.plan, &operators);
            let execution = Execution::new(&self.plan, &operators, &jumps(&self.plan), &aliases, &requested);
            let shown = shown.into_iter().map(|value| {
                let value = value.get().unwrap();
                let sign = match (execution.is_alias[value], execution.is_state[value]) {
                    (true, _) => "=",
                    (false, true) => "*",
                    (false, false) => "",
                };
                let times = execution.times[value].map_or("-".to_owned(), |(first, last)| format!("{first}..{last}"));
                format!("{sign}{} {times}", self.names[value])
            });
            shown.collect::<Vec<_>>().join(", ")
        }
    }

    #[test]
    fn bases_out_of_range_are_ignored() {
        let mut spans = Spans::new((), 2);
        spans.touch(ValueId(0), 3);
        for base in [2, 1 << 31, u32::MAX] {
            spans.touch_bases(&[Memory::View { base }, Memory::None]);
        }
        assert_eq!((spans.of(0), spans.of(1)), ((3, 3), (0, 0)));
    }

    #[test]
    fn instructions_of_branches_count() {
        let instructions =
            ["jump c 4", "aten::sin.out x s s", "move s y", "jump false 6", "aten::cos.out x t t", "move t y"];
        let lifetimes = Method::new("c x", &instructions, "y").lifetimes("c x s t y");
        assert_eq!(lifetimes, "c 0..1, x 0..5, s 2..7, t 5..7, =y 3..7");
    }

    #[test]
    fn content_that_flows_back_lives_in_the_whole_loop() {
        let instructions = [
            "aten::sin.out x k k",
            "aten::copy_ s x false s",
            "aten::add.out k s 1 t t",
            "aten::cos.out t u u",
            "aten::copy_ s u false s",
            "jump c 2",
            "aten::exp.out s y y",
        ];
        let lifetimes = Method::new("c x", &instructions, "y").lifetimes("k s t u");
        assert_eq!(lifetimes, "k 1..6, s 2..7, t 3..4, u 4..5");
    }

    #[test]
    fn what_iterations_store_lives_in_the_whole_loop() {
        let instructions =
            ["aten::sin.out x s s", "executorch_prim::et_copy_index.tensor y s i", "jump c 0", "aten::cos.out y z z"];
        assert_eq!(Method::new("c x i", &instructions, "z").lifetimes("s y"), "s 1..2, y 1..4");
    }

    #[test]
    fn only_content_from_before_is_state() {
        let instructions = [
            "aten::copy_ o x false o",
            "aten::add.out s i 1 t t",
            "aten::copy_ s t false s",
            "aten::add.out t o 1 y y",
        ];
        let mut method = Method::new("x", &instructions, "y");
        ["s", "o", "i"].into_iter().for_each(|state| method.tensor(state).memory = STATE);
        method.tensor("i").data = TensorData::Blob(BlobId(0));
        assert_eq!(method.lifetimes("s o i n"), "*s 0..5, o 1..4, *i 0..5, n -");
    }

    #[test]
    fn memory_that_moves_leave_until_the_next_execution_is_kept() {
        // `n` is written in one branch, and moved to in the other: it may have the memory of `b` when it is written.
        let branches = ["jump c 4", "aten::exp.out x a a", "aten::abs.out x n n", "jump false 6"];
        let moved = |last: &'static str| [&branches[..], &["aten::exp.out x b b", last]].concat();
        let lifetimes = |last| Method::new("c x", &moved(last), "n").lifetimes("a b n");
        assert_eq!(lifetimes("move b n"), "a 2..2, b 3..7, n 3..7");
        assert_eq!(lifetimes("aten::abs.out b n n"), "a 2..2, b 5..6, n 3..7");
        // The caller writes inputs.
        let input = ["aten::exp.out x b b", "aten::cos.out x c c", "move b x"];
        assert_eq!(Method::new("x", &input, "c").lifetimes("b c x"), "b 0..3, c 2..4, x 0..3");
    }

    #[test]
    fn views_live_in_their_base() {
        let instructions = [
            "aten::sin.out x a a",
            "executorch_prim::et_view.default a 1 v",
            "aten::cos.out x b b",
            "aten::exp.out v c c",
            "aten::add.out b w 1 y y",
        ];
        let mut method = Method::new("x", &instructions, "y");
        let base = method.value("a").get().unwrap() as u32;
        ["v", "w"].into_iter().for_each(|view| method.tensor(view).memory = Memory::View { base });
        assert_eq!(method.lifetimes("a v w b"), "a 1..5, =v 2..4, =w 5..5, b 3..5");
    }

    #[test]
    fn the_farthest_jump_is_found_among_the_heads_of_an_interval() {
        let jumps = FarthestJump::new(&[(1, 9), (3, 4), (5, 8), (5, 12), (7, 7)]);
        let found =
            [(0, 0), (1, 1), (2, 4), (2, 5), (1, 9), (6, 9), (8, 9)].map(|(first, last)| jumps.between(first, last));
        assert_eq!(found, [None, Some(9), Some(4), Some(12), Some(12), Some(7), None]);
    }
}
