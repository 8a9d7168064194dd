//! Values and instructions of a method as a graph: which steps write a value, and which values share memory.
//!
//! What a step reads and writes is [`MethodOperators::pure_call`]. The steps are listed by value here, not by
//! [`crate::analysis::access`], since a list of values is one value for them: with the items of all lists, the work would not be
//! linear, and accesses beyond a bound are left out there, while a step that is not listed here would be removed.

use std::collections::HashMap;

use crate::analysis::aliases::{Groups, aliases};
use crate::analysis::blocks::block_numbers;
use crate::analysis::operators::{MethodOperators, ResolvedOperator};
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, Program, TensorData};

/// An instruction at its position, counted through all chains.
#[derive(Debug, Clone, Copy)]
pub struct Step<'p> {
    pub instruction: &'p Instruction,
    /// Number of arguments, from the first on, that it reads; the others are results.
    pub reads: usize,
    /// It must stay even if nothing uses its results.
    pub has_effect: bool,
    /// It may leave its results as they were.
    pub is_partial: bool,
}

/// The uses of the values of a method.
#[derive(Debug)]
pub struct MethodGraph<'p> {
    pub plan: &'p ExecutionPlan,
    pub steps: Vec<Step<'p>>,
    /// By value: steps of which it is a result; a list of outs is one, its items are not.
    writers: Vec<Vec<usize>>,
    /// Steps that make a value an alias of another one, by value.
    aliasing: HashMap<usize, Vec<usize>>,
    /// Lists of outs by item.
    lists: HashMap<usize, Vec<usize>>,
    /// By value: the first and the last step that reads it.
    reads: HashMap<usize, (usize, usize)>,
    /// By value: the first of the values that share its memory through views, aliases and moves.
    groups: Vec<usize>,
    /// The values of each group of several, by the first one.
    members: HashMap<usize, Vec<usize>>,
    /// By value: nothing else has its content, it is neither a list nor an item of one, and it has no explicit location, so that the steps that
    /// refer to it are those that read and write it.
    is_single: Vec<bool>,
    /// By step, and for the end: the run of steps without a jump out of it or into it, counted through all chains.
    blocks: Vec<usize>,
    /// By value: it may come to have the memory of another one while the method runs.
    is_redirected: Vec<bool>,
}

/// Returns the index of an element of a list, if it has one.
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
                // The call of a malformed program: it fails.
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

    /// Determines which values nothing shares.
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
            let persistent = matches!(tensor.memory, Memory::Auto { persistent: true, .. });
            lasting[self.groups[value]] |= persistent || tensor.data != TensorData::None;
        }
        for (list, value) in values.iter().enumerate() {
            let mut all = std::iter::once(list).chain(value.items().iter().filter_map(|item| index(values, item)));
            if !self.writers[list].is_empty() && all.any(|value| lasting[self.groups[value]]) {
                let writers: Vec<usize> = self.writing_steps(list).collect();
                writers.into_iter().for_each(|step| self.steps[step].has_effect = true);
            }
        }
    }

    /// Steps that make a value an alias of another one.
    pub fn aliasing_steps(&self, value: usize) -> impl Iterator<Item = usize> {
        self.aliasing.get(&value).into_iter().flatten().copied()
    }

    /// Steps that write a value, but for those that make it an alias.
    pub fn writing_steps(&self, value: usize) -> impl Iterator<Item = usize> {
        let aliasing = self.aliasing.get(&value).map_or(&[][..], Vec::as_slice);
        // Both are in ascending order.
        self.writers[value].iter().copied().filter(|step| aliasing.binary_search(step).is_err())
    }

    /// Returns the step whose result a step finds in a value, if that is the same on all paths: the last one before it that writes the
    /// value, without a jump between them.
    pub fn writer_before(&self, value: usize, step: usize) -> Option<usize> {
        let writers = &self.writers[value];
        let before = writers.partition_point(|writer| *writer < step).checked_sub(1)?;
        self.overwrites(value, writers[before], step).then_some(writers[before])
    }

    /// Returns the step that overwrites what a step writes to a value, without a jump between them.
    pub fn overwriting_step(&self, value: usize, step: usize) -> Option<usize> {
        let next = self.writers[value].partition_point(|writer| *writer <= step);
        let next = *self.writers[value].get(next)?;
        self.overwrites(value, next, step).then_some(next)
    }

    /// Returns `true` if a step that writes a value replaces all of it, and there is no jump between this step and another one.
    fn overwrites(&self, value: usize, writer: usize, other: usize) -> bool {
        self.is_single[value] && self.blocks[writer] == self.blocks[other] && !self.steps[writer].is_partial
    }

    /// Lists of outs that a value is an item of.
    pub fn lists_of_outs(&self, value: usize) -> impl Iterator<Item = usize> {
        self.lists.get(&value).into_iter().flatten().copied()
    }

    /// The first and the last step that reads a value, if there is one.
    pub fn reads(&self, value: usize) -> Option<(usize, usize)> {
        self.reads.get(&value).copied()
    }

    /// The values that share the memory of a value, and itself.
    pub fn group(&self, value: usize) -> impl Iterator<Item = usize> {
        let members = self.members.get(&self.groups[value]);
        let alone = members.is_none().then_some(value);
        members.into_iter().flatten().copied().chain(alone)
    }

    /// The first of the values that share the memory of a value.
    pub fn first_of_group(&self, value: usize) -> usize {
        self.groups[value]
    }

    /// Returns `true` if a value may come to have the memory of another one while the method runs.
    pub fn is_redirected(&self, value: usize) -> bool {
        self.is_redirected[value]
    }
}
