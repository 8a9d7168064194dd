//! Finds values that have the memory of other values: after a call or a move, or as views.

use super::operators::MethodOperators;
use pte_model::program::{EValue, ExecutionPlan, Instruction, Memory};

/// An instruction after which a value has the memory of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alias {
    /// Position of the instruction, counted through all chains.
    pub step: u32,
    /// Value that gets the memory.
    pub result: usize,
    /// Value whose memory it gets.
    pub base: usize,
    /// Reason.
    pub kind: AliasKind,
}

/// Reason for an alias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AliasKind {
    /// A move, which replaces the value.
    Move,
    /// The result of an operator that does not write its argument.
    View,
    /// The result of an operator that returns its argument.
    Returned,
}

/// Returns the aliases that the instructions of a method create, in their order: results of calls that have the memory
/// of an argument, and targets of moves.
pub fn aliases(plan: &ExecutionPlan, operators: &MethodOperators) -> Vec<Alias> {
    let count = plan.values().len();
    let alias = |(step, instruction): (u32, &Instruction)| {
        let (base, result, kind) = match operators.called(instruction) {
            Some(operator) => {
                let args = instruction.args();
                let kind = if operator.is_view() { AliasKind::View } else { AliasKind::Returned };
                (*args.get(operator.aliased?)?, *args.last()?, kind)
            }
            None => instruction.moved().map(|(from, to)| (from, to, AliasKind::Move))?,
        };
        let (result, base) = (result.within(count)?, base.within(count)?);
        (result != base).then_some(Alias { step, result, base, kind })
    };
    (0..).zip(plan.instructions()).filter_map(alias).collect()
}

/// Returns the memory request of each value of a method; [`Memory::None`] unless it is a tensor. The result of an
/// operator that returns the memory of an argument is a view of it, unless its memory is explicit.
pub fn value_requests(plan: &ExecutionPlan, operators: &MethodOperators) -> Vec<Memory> {
    let memory_of = |value: &EValue| value.as_tensor().map_or(Memory::None, |tensor| tensor.memory);
    let mut requested: Vec<Memory> = plan.values().iter().map(memory_of).collect();
    for Alias { result, base, kind, .. } in aliases(plan, operators) {
        if kind == AliasKind::Move
            || requested[result] != (Memory::Auto { pool: None, persistent: false, shared: None })
        {
            continue;
        }
        requested[result] = match requested[base] {
            Memory::None => Memory::None,
            Memory::View { base } => Memory::View { base },
            Memory::Auto { .. } | Memory::At { .. } => Memory::View { base: base as u32 },
        };
    }
    requested
}

/// Groups of values that share memory.
#[derive(Debug)]
pub struct Groups {
    /// By value: another value of its group with a lower index, or itself.
    parents: Vec<usize>,
}

impl Groups {
    /// Creates a group for each of `count` values.
    pub fn new(count: usize) -> Groups {
        Groups { parents: (0..count).collect() }
    }

    /// Returns the first value of the group of a value.
    pub fn first(&mut self, mut value: usize) -> usize {
        while self.parents[value] != value {
            self.parents[value] = self.parents[self.parents[value]];
            value = self.parents[value];
        }
        value
    }

    /// Joins the groups of two values.
    pub fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.first(one), self.first(other));
        self.parents[one.max(other)] = one.min(other);
    }
}
