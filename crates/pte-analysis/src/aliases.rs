//! Finds values that have the memory of other values: after a call or a move, or as views.

use super::operators::MethodOperators;
use pte_model::program::{ExecutionPlan, Instruction};

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
