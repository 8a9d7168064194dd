//! Instructions without jumps between them: their dependencies, and the memory that each one uses.

use std::collections::HashMap;

use super::super::alive::AliveMemory;
use pte_analysis::aliases::{Groups, aliases};
use pte_analysis::blocks::block_numbers;
use pte_analysis::operators::{MethodOperators, Usage};
use pte_model::program::{EValue, ExecutionPlan, Instruction};

/// Maximum number of uses of values, with the items of lists, for each argument of an instruction, and in any case. A
/// method with more stays as it is, so that the work is proportional to the file.
const MOST_USES: (usize, usize) = (8, 1 << 16);

/// The blocks of a method with more than one instruction that may move.
pub struct StraightCode {
    /// In the order of the method.
    pub blocks: Vec<Block>,
}

/// Consecutive instructions that are executed one after the other.
pub struct Block {
    /// Step of the first one, counted through all chains.
    pub first: u32,
    /// By instruction: the instructions that must precede it, without duplicates.
    pub before: Vec<Vec<u32>>,
    /// By instruction: the instructions that must follow it.
    pub after: Vec<Vec<u32>>,
    /// By instruction: the memory that it uses, without duplicates.
    pub uses: Vec<Vec<u32>>,
    /// The memory that is not alive in the whole block.
    pub memory: Vec<BlockMemory>,
    /// Bytes that are alive in the whole block.
    pub always: u64,
}

/// Memory that a block uses.
pub struct BlockMemory {
    /// Bytes.
    pub size: u64,
    /// It is alive before the block.
    pub is_alive_before: bool,
    /// It is alive after the block.
    pub is_alive_after: bool,
    /// Number of instructions that use it.
    pub uses: u32,
}

impl StraightCode {
    /// Finds the blocks of a method; `None` if instructions use too many values.
    pub fn find(plan: &ExecutionPlan, operators: &MethodOperators, alive: &AliveMemory) -> Option<StraightCode> {
        let uses = MethodUses::find(plan, operators, alive)?;
        let numbers = block_numbers(plan);
        let instructions: Vec<&Instruction> = plan.instructions().collect();
        // Chains whose stack traces do not correspond to the instructions stay as they are.
        let mut is_fixed = Vec::with_capacity(instructions.len());
        for chain in plan.chains.iter().flatten() {
            let count = chain.instructions.as_ref().map_or(0, Vec::len);
            let has_other_traces =
                chain.stacktrace.as_ref().is_some_and(|traces| traces.len() != count && !traces.is_empty());
            is_fixed.extend(std::iter::repeat_n(has_other_traces, count));
        }
        let by_time = alive.by_time(instructions.len() as u32 + 1);
        let mut blocks = Vec::new();
        let mut first = 0;
        while first < instructions.len() {
            let is_inside = |step: usize| {
                numbers[step] == numbers[first] && instructions[step].destination().is_none() && !is_fixed[step]
            };
            let end = (first..instructions.len()).find(|step| !is_inside(*step)).unwrap_or(instructions.len());
            if end > first + 1 {
                blocks.push(uses.block(first, end, alive, &by_time));
            }
            first = end.max(first + 1);
        }
        Some(StraightCode { blocks })
    }
}

/// Values that the instructions of a method use.
struct MethodUses {
    /// By instruction: groups of values with common memory, and `true` if it may write them. The number of values
    /// stands for everything outside the method.
    resources: Vec<Vec<(usize, bool)>>,
    /// By group: the values with planned memory of their own.
    members: HashMap<usize, Vec<usize>>,
    /// The times at which memory begins, and those at which it ends to be alive, each with the value that has it.
    begins: Vec<(u32, usize)>,
    ends: Vec<(u32, usize)>,
}

impl MethodUses {
    /// Returns `None` if the instructions use too many values.
    fn find(plan: &ExecutionPlan, operators: &MethodOperators, alive: &AliveMemory) -> Option<MethodUses> {
        let count = plan.values().len();
        let mut groups = groups(plan, operators, alive);
        let args: usize = plan.instructions().map(|instruction| instruction.args().len()).sum();
        let mut left = MOST_USES.1.max(args.saturating_mul(MOST_USES.0));
        let mut resources = Vec::with_capacity(plan.instructions().count());
        for instruction in plan.instructions() {
            let mut uses: HashMap<usize, bool> = HashMap::new();
            // Delegates and unknown operators may have state of their own, and so do generators of random numbers.
            let known = operators.called(instruction);
            if instruction.callee().is_some() && known.is_none_or(|known| known.facts.is_undetermined) {
                uses.insert(count, true);
            }
            for Usage { value, kind, .. } in operators.uses(instruction) {
                let items = plan.value(value).map_or(&[][..], EValue::as_tensors);
                left = left.checked_sub(1 + items.len())?;
                for value in items.iter().chain([&value]).filter_map(|value| value.within(count)) {
                    *uses.entry(groups.first(value)).or_default() |= kind.may_write();
                }
            }
            let mut uses: Vec<(usize, bool)> = uses.into_iter().collect();
            uses.sort_unstable();
            resources.push(uses);
        }
        let own: Vec<usize> = (0..count).filter(|value| alive.sizes[*value] > 0).collect();
        let mut members: HashMap<usize, Vec<usize>> = HashMap::new();
        own.iter().for_each(|value| members.entry(groups.first(*value)).or_default().push(*value));
        let mut begins: Vec<(u32, usize)> = own.iter().map(|value| (alive.spans[*value].0, *value)).collect();
        let mut ends: Vec<(u32, usize)> = own.iter().map(|value| (alive.spans[*value].1, *value)).collect();
        begins.sort_unstable();
        ends.sort_unstable();
        Some(MethodUses { resources, members, begins, ends })
    }

    /// Returns the block from `first` up to, but not including, `end`. `by_time` has the bytes that are alive.
    fn block(&self, first: usize, end: usize, alive: &AliveMemory, by_time: &[u64]) -> Block {
        let (begin, last) = (first as u32 + 1, end as u32);
        let mut memory: Vec<BlockMemory> = Vec::new();
        let mut numbers: HashMap<usize, u32> = HashMap::new();
        let mut changing = 0u64;
        for value in self.changing(begin, last) {
            let (start, until) = alive.spans[value];
            if start <= begin && until >= begin {
                changing = changing.saturating_add(alive.sizes[value]);
            }
            numbers.insert(value, memory.len() as u32);
            let (is_alive_before, is_alive_after) = (start < begin, until > last);
            memory.push(BlockMemory { size: alive.sizes[value], is_alive_before, is_alive_after, uses: 0 });
        }
        let resources = &self.resources[first..end];
        let mut uses: Vec<Vec<u32>> = Vec::with_capacity(resources.len());
        for resources in resources {
            let members = resources.iter().filter_map(|(group, _)| self.members.get(group)).flatten();
            let own: Vec<u32> = members.filter_map(|value| numbers.get(value)).copied().collect();
            own.iter().for_each(|number| memory[*number as usize].uses += 1);
            uses.push(own);
        }
        let mut always = by_time[begin as usize].saturating_sub(changing);
        for memory in memory.iter_mut().filter(|memory| memory.uses == 0) {
            always = always.saturating_add(std::mem::take(&mut memory.size));
        }
        let (before, after) = dependencies(resources);
        Block { first: first as u32, before, after, uses, memory, always }
    }

    /// Returns the values whose memory begins or ends to be alive from `first` to `last`, both inclusive.
    fn changing(&self, first: u32, last: u32) -> Vec<usize> {
        let within = |list: &'_ [(u32, usize)]| {
            let begin = list.partition_point(|(time, _)| *time < first);
            let end = list.partition_point(|(time, _)| *time <= last);
            list[begin..end].iter().map(|(_, value)| *value).collect::<Vec<usize>>()
        };
        let mut values = within(&self.begins);
        values.extend(within(&self.ends));
        values.sort_unstable();
        values.dedup();
        values
    }
}

/// Groups the values that share memory at some time.
fn groups(plan: &ExecutionPlan, operators: &MethodOperators, alive: &AliveMemory) -> Groups {
    let mut groups = Groups::new(plan.values().len());
    (0..plan.values().len()).for_each(|value| groups.join(value, alive.base(value)));
    // A move copies a number.
    let is_number = |value: usize| match plan.values()[value] {
        EValue::Null | EValue::Int(_) | EValue::Bool(_) | EValue::Double(_) => true,
        EValue::Tensor(_)
        | EValue::String(_)
        | EValue::IntList(_)
        | EValue::DoubleList(_)
        | EValue::BoolList(_)
        | EValue::TensorList(_)
        | EValue::OptionalTensorList(_)
        | EValue::Unknown(_) => false,
    };
    for alias in aliases(plan, operators) {
        if !is_number(alias.base) && !is_number(alias.result) {
            groups.join(alias.base, alias.result);
        }
    }
    groups
}

impl Block {
    /// Returns the number of instructions.
    pub fn len(&self) -> usize {
        self.uses.len()
    }

    /// Returns the order of the file.
    pub fn original(&self) -> Vec<u32> {
        (0..self.len() as u32).collect()
    }

    /// Returns the block as it is executed backwards: memory begins to be alive at its last use.
    pub fn reversed(&self) -> Block {
        let turned = |memory: &BlockMemory| BlockMemory {
            is_alive_before: memory.is_alive_after,
            is_alive_after: memory.is_alive_before,
            ..*memory
        };
        Block {
            first: self.first,
            before: self.after.clone(),
            after: self.before.clone(),
            uses: self.uses.clone(),
            memory: self.memory.iter().map(turned).collect(),
            always: self.always,
        }
    }

    /// Returns the maximum number of bytes that are alive at once with the instructions in an order.
    pub fn peak(&self, order: &[u32]) -> u64 {
        let mut state = BlockState::new(self);
        order.iter().map(|step| state.execute(self, *step)).max().unwrap_or(0)
    }
}

/// The memory that is alive after some instructions of a block.
pub struct BlockState {
    /// Bytes.
    pub alive: u64,
    is_alive: Vec<bool>,
    uses_left: Vec<u32>,
}

impl BlockState {
    /// Returns the state at the beginning of a block.
    pub fn new(block: &Block) -> BlockState {
        let before = block.memory.iter().filter(|memory| memory.is_alive_before);
        BlockState {
            alive: before.map(|memory| memory.size).fold(block.always, u64::saturating_add),
            is_alive: block.memory.iter().map(|memory| memory.is_alive_before).collect(),
            uses_left: block.memory.iter().map(|memory| memory.uses).collect(),
        }
    }

    /// Returns the bytes that an instruction needs in addition, and those that nothing needs after it.
    pub fn change(&self, block: &Block, step: u32) -> (u64, u64) {
        let (mut added, mut released) = (0u64, 0u64);
        for number in block.uses[step as usize].iter().map(|number| *number as usize) {
            let memory = &block.memory[number];
            if !self.is_alive[number] {
                added = added.saturating_add(memory.size);
            }
            if self.uses_left[number] == 1 && !memory.is_alive_after {
                released = released.saturating_add(memory.size);
            }
        }
        (added, released)
    }

    /// Executes an instruction; returns the bytes that are alive during it.
    pub fn execute(&mut self, block: &Block, step: u32) -> u64 {
        let (added, released) = self.change(block, step);
        for number in block.uses[step as usize].iter().map(|number| *number as usize) {
            self.is_alive[number] = true;
            self.uses_left[number] = self.uses_left[number].saturating_sub(1);
        }
        let during = self.alive.saturating_add(added);
        self.alive = during.saturating_sub(released);
        during
    }
}

/// Returns the instructions that must precede and follow each one.
fn dependencies(uses: &[Vec<(usize, bool)>]) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
    // By resource: its last write, and the reads since.
    let mut writes: HashMap<usize, u32> = HashMap::new();
    let mut reads: HashMap<usize, Vec<u32>> = HashMap::new();
    let mut before: Vec<Vec<u32>> = vec![Vec::new(); uses.len()];
    for (step, uses) in (0..).zip(uses) {
        let own = &mut before[step as usize];
        for (resource, is_written) in uses {
            own.extend(writes.get(resource));
            if *is_written {
                own.extend(reads.remove(resource).into_iter().flatten());
                writes.insert(*resource, step);
            } else {
                reads.entry(*resource).or_default().push(step);
            }
        }
        own.sort_unstable();
        own.dedup();
    }
    let mut after: Vec<Vec<u32>> = vec![Vec::new(); uses.len()];
    for (step, before) in (0..).zip(&before) {
        before.iter().for_each(|other| after[*other as usize].push(step));
    }
    (before, after)
}
