//! The graph of a method for pruning: the steps that write and read each value, and the values that share its memory.

use std::collections::HashMap;

use super::placed;
use pte_analysis::aliases::{Groups, aliases};
use pte_analysis::blocks::block_numbers;
use pte_analysis::operators::{MethodOperators, ResolvedOperator};
use pte_model::program::pools::PoolRanges;
use pte_model::program::{EValue, ExecutionPlan, Instruction, Memory, Program};

/// An instruction at its position, counted through all chains.
#[derive(Clone, Copy)]
pub struct Step<'p> {
    pub instruction: &'p Instruction,
    /// Number of leading arguments that it reads. The others are results.
    pub reads: usize,
    /// It must be kept even if nothing uses its results.
    pub has_effect: bool,
    /// It may leave some of its results unwritten, so that their former content remains.
    pub is_partial: bool,
}

/// The uses of the values of a method.
pub struct MethodGraph<'p> {
    pub plan: &'p ExecutionPlan,
    pub steps: Vec<Step<'p>>,
    /// By value: steps that have it as a result. A list of outs is a result; its items are not.
    writers: Vec<Vec<usize>>,
    /// By value: steps that make it an alias of another one.
    aliasing: HashMap<usize, Vec<usize>>,
    /// By value: lists of outs that have it as an item.
    lists: HashMap<usize, Vec<usize>>,
    /// By value: the first and the last step that reads it.
    reads: HashMap<usize, (usize, usize)>,
    /// By value: the first of the values that share its memory through views, aliases and moves.
    groups: Vec<usize>,
    /// By first value of a group: all values of the group, for groups of at least two.
    members: HashMap<usize, Vec<usize>>,
    /// By value: only steps that refer to this value read or write its content. It shares memory with no other value,
    /// has no explicit location, and is neither a list nor an item of one.
    is_single: Vec<bool>,
    /// By step, counted through all chains, and for the end of the method: the number of its basic block.
    blocks: Vec<usize>,
    /// By value: a step may make it an alias of another value while the method runs.
    is_redirected: Vec<bool>,
}

/// Returns an index of a list as `usize`; `None` if it is out of range.
pub fn index<T>(list: &[T], index: i64) -> Option<usize> {
    usize::try_from(index).ok().filter(|index| *index < list.len())
}

impl<'p> MethodGraph<'p> {
    /// Returns the graphs of all methods.
    pub fn of_program(program: &'p Program) -> Vec<MethodGraph<'p>> {
        let operators = MethodOperators::of_program(program);
        program.plans().iter().zip(&operators).map(|(plan, operators)| MethodGraph::new(plan, operators)).collect()
    }

    fn new(plan: &'p ExecutionPlan, operators: &MethodOperators) -> MethodGraph<'p> {
        let count = plan.values().len();
        let mut graph = MethodGraph {
            plan,
            steps: Vec::new(),
            writers: vec![Vec::new(); count],
            aliasing: HashMap::new(),
            lists: HashMap::new(),
            reads: HashMap::new(),
            groups: Vec::new(),
            members: HashMap::new(),
            is_single: vec![false; count],
            blocks: block_numbers(plan),
            is_redirected: vec![false; count],
        };
        for (step, instruction) in plan.instructions().enumerate() {
            graph.add(step, instruction, operators);
        }
        let mut groups = Groups::new(count);
        for (value, tensor) in plan.tensors() {
            if let Memory::View { base } = tensor.memory
                && let Some(base) = index(plan.values(), base.into())
            {
                groups.join(value, base);
            }
        }
        for alias in aliases(plan, operators) {
            let step = alias.step as usize;
            groups.join(alias.result, alias.base);
            graph.is_redirected[alias.result] = true;
            if !graph.steps[step].has_effect {
                graph.aliasing.entry(alias.result).or_default().push(step);
            }
        }
        graph.groups = (0..count).map(|value| groups.first(value)).collect();
        graph.finish_groups();
        graph.find_single();
        graph.find_effects();
        graph
    }

    fn add(&mut self, step: usize, instruction: &'p Instruction, operators: &MethodOperators) {
        let pure = operators.pure_call(instruction);
        let (read, written) = pure.unwrap_or((instruction.args(), &[]));
        let is_partial = operators.called(instruction).is_some_and(ResolvedOperator::has_optional_outs);
        let mut added = Step { instruction, reads: read.len(), has_effect: pure.is_none(), is_partial };
        for value in read.iter().filter_map(|value| index(self.plan.values(), (*value).into())) {
            self.reads.entry(value).or_insert((step, step)).1 = step;
        }
        for value in written {
            match index(self.plan.values(), (*value).into()) {
                Some(value) => {
                    if self.writers[value].last() != Some(&step) {
                        self.writers[value].push(step);
                    }
                }
                // A call of a malformed program fails, which is an effect.
                None => added.has_effect = true,
            }
        }
        self.steps.push(added);
    }

    /// Completes the groups, and the lists of outs.
    fn finish_groups(&mut self) {
        for (value, first) in self.groups.iter().copied().enumerate() {
            if first != value {
                self.members.entry(first).or_insert_with(|| vec![first]).push(value);
            }
        }
        let values = self.plan.values();
        let written = values.iter().enumerate().filter(|(list, _)| !self.writers[*list].is_empty());
        for (list, value) in written {
            for item in value.items().iter().filter_map(|item| index(values, item)) {
                self.lists.entry(item).or_default().push(list);
            }
        }
    }

    /// Finds the values that nothing shares.
    fn find_single(&mut self) {
        let values = self.plan.values();
        let is_placed =
            |value: &EValue| value.as_tensor().is_some_and(|tensor| matches!(tensor.memory, Memory::At { .. }));
        let is_single = |(value, content): (usize, &EValue)| {
            self.group(value).nth(1).is_none() && !is_placed(content) && content.items().iter().next().is_none()
        };
        self.is_single = values.iter().enumerate().map(is_single).collect();
        for item in values.iter().flat_map(|value| value.items().iter()).filter_map(|item| index(values, item)) {
            self.is_single[item] = false;
        }
    }

    /// Marks the steps that write inputs, state or constants.
    fn find_effects(&mut self) {
        let values = self.plan.values();
        let mut lasting = vec![false; values.len()];
        for input in self.plan.inputs.iter().flatten().filter_map(|input| index(values, (*input).into())) {
            lasting[self.groups[input]] = true;
        }
        for (value, tensor) in self.plan.tensors() {
            lasting[self.groups[value]] |= tensor.has_content();
        }
        // A tensor with bytes of initial data is a view of that state.
        let states = (0..values.len()).filter(|value| placed::has_data(&values[*value]));
        let states = PoolRanges::new(states.filter_map(|state| placed::range(values, state)));
        for value in (0..values.len()).filter(|_| !states.is_empty()) {
            lasting[self.groups[value]] |= placed::range(values, value).is_some_and(|range| states.overlap(&range));
        }
        for (list, value) in values.iter().enumerate() {
            let mut all = std::iter::once(list).chain(value.items().iter().filter_map(|item| index(values, item)));
            if !self.writers[list].is_empty() && all.any(|value| lasting[self.groups[value]]) {
                let writers: Vec<usize> = self.writing_steps(list).collect();
                writers.into_iter().for_each(|step| self.steps[step].has_effect = true);
            }
        }
    }

    /// Returns the steps that make a value an alias of another one.
    pub fn aliasing_steps(&self, value: usize) -> impl Iterator<Item = usize> {
        self.aliasing.get(&value).into_iter().flatten().copied()
    }

    /// Returns the steps that write a value, without those that make it an alias.
    pub fn writing_steps(&self, value: usize) -> impl Iterator<Item = usize> {
        let aliasing = self.aliasing.get(&value).map_or(&[][..], Vec::as_slice);
        // Both are in ascending order.
        self.writers[value].iter().copied().filter(|step| aliasing.binary_search(step).is_err())
    }

    /// Returns the step that wrote the content of a value that `step` reads, if it is the same on all paths: the last
    /// writer before `step` in the same basic block. `None` otherwise.
    pub fn writer_before(&self, value: usize, step: usize) -> Option<usize> {
        let writers = &self.writers[value];
        let before = writers.partition_point(|writer| *writer < step).checked_sub(1)?;
        self.overwrites(value, writers[before], step).then_some(writers[before])
    }

    /// Returns the next step that overwrites the result of `step` in a value; `None` unless both are in the same basic
    /// block.
    pub fn overwriting_step(&self, value: usize, step: usize) -> Option<usize> {
        let next = self.writers[value].partition_point(|writer| *writer <= step);
        let next = *self.writers[value].get(next)?;
        self.overwrites(value, next, step).then_some(next)
    }

    /// Returns `true` if `writer` replaces all of a value, and is in the same basic block as `other`.
    fn overwrites(&self, value: usize, writer: usize, other: usize) -> bool {
        self.is_single[value] && self.blocks[writer] == self.blocks[other] && !self.steps[writer].is_partial
    }

    /// Returns the lists of outs that a value is an item of.
    pub fn lists_of_outs(&self, value: usize) -> impl Iterator<Item = usize> {
        self.lists.get(&value).into_iter().flatten().copied()
    }

    /// Returns the first and the last step that read a value; `None` if none does.
    pub fn reads(&self, value: usize) -> Option<(usize, usize)> {
        self.reads.get(&value).copied()
    }

    /// Returns the values that share the memory of a value, including itself.
    pub fn group(&self, value: usize) -> impl Iterator<Item = usize> {
        let members = self.members.get(&self.groups[value]);
        let alone = members.is_none().then_some(value);
        members.into_iter().flatten().copied().chain(alone)
    }

    /// Returns the first of the values that share the memory of a value, which identifies its group.
    pub fn first_of_group(&self, value: usize) -> usize {
        self.groups[value]
    }

    /// Returns `true` if a step may make a value an alias of another one while the method runs.
    pub fn is_redirected(&self, value: usize) -> bool {
        self.is_redirected[value]
    }
}
