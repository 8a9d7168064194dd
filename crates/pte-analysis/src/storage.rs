//! Values that share memory, and the steps that may write this memory.
//!
//! It does not compare explicit offsets: tensors at the same place in planned memory are separate here.

use std::collections::HashSet;

use super::access::{Access, Accesses};
use super::aliases::{Alias, AliasKind, Groups};
use super::operators::MethodOperators;
use pte_model::program::{ExecutionPlan, Memory};

/// The values of a method by the memory that they share: through views, aliases and moves.
#[derive(Debug)]
pub struct Storage {
    /// By value: the first value that shares its memory.
    firsts: Vec<usize>,
    /// By first value: the steps that may write the memory, in ascending order.
    writes: Vec<Vec<u32>>,
    /// By value: the first and the last step that uses it, also as an item of a list; the number of instructions for an
    /// output.
    uses: Vec<Option<(u32, u32)>>,
}

impl Storage {
    /// Groups the values of a method. `None` if it has more accesses than [`Accesses`] collects.
    pub fn new(plan: &ExecutionPlan, operators: &MethodOperators, aliases: &[Alias]) -> Option<Storage> {
        let count = plan.values().len();
        let mut groups = Groups::new(count);
        for (value, tensor) in plan.tensors() {
            if let Memory::View { base } = tensor.memory
                && (base as usize) < count
            {
                groups.join(value, base as usize);
            }
        }
        // A view of an instruction changes no content.
        let mut views = HashSet::new();
        for alias in aliases {
            groups.join(alias.result, alias.base);
            if alias.kind == AliasKind::View {
                views.insert((alias.step, alias.result));
            }
        }
        let firsts: Vec<usize> = (0..count).map(|value| groups.first(value)).collect();
        let owners: Vec<u32> = firsts.iter().map(|first| *first as u32).collect();
        let accesses = Accesses::of(plan, operators, plan.has_content(), &owners);
        if accesses.is_truncated {
            return None;
        }
        let mut storage = Storage { firsts, writes: vec![Vec::new(); count], uses: vec![None; count] };
        for access in &accesses.list {
            storage.add(access, views.contains(&(access.step, access.value as usize)));
        }
        Some(storage)
    }

    fn add(&mut self, access: &Access, is_view: bool) {
        let value = access.value as usize;
        let (first, _) = self.uses[value].unwrap_or((access.step, access.step));
        self.uses[value] = Some((first, access.step));
        let writes = &mut self.writes[self.firsts[value]];
        if access.kind.may_write() && !is_view && writes.last() != Some(&access.step) {
            writes.push(access.step);
        }
    }

    /// Returns the first value that shares the memory of a value.
    pub fn first(&self, value: usize) -> usize {
        self.firsts[value]
    }

    /// Returns true if two values share memory.
    pub fn share(&self, one: usize, other: usize) -> bool {
        self.firsts[one] == self.firsts[other]
    }

    /// Returns the steps that may write the memory of a value, in ascending order.
    pub fn writes(&self, value: usize) -> &[u32] {
        &self.writes[self.firsts[value]]
    }

    /// Returns true if a step after `first`, up to and including `last`, may write the memory of a value.
    pub fn is_written(&self, value: usize, first: u32, last: u32) -> bool {
        let writes = self.writes(value);
        writes.get(writes.partition_point(|step| *step <= first)).is_some_and(|step| *step <= last)
    }

    /// Returns the first and the last step that uses a value; `None` for an unused one. The step of an output is the
    /// number of instructions.
    pub fn uses(&self, value: usize) -> Option<(u32, u32)> {
        self.uses[value]
    }

    /// Returns the first and the last step that uses the memory of each value.
    pub fn spans(&self) -> Vec<Option<(u32, u32)>> {
        let mut spans: Vec<Option<(u32, u32)>> = vec![None; self.firsts.len()];
        for (value, uses) in self.uses.iter().enumerate() {
            let Some((first, last)) = *uses else { continue };
            let span = &mut spans[self.firsts[value]];
            let (start, end) = span.unwrap_or((first, last));
            *span = Some((start.min(first), end.max(last)));
        }
        self.firsts.iter().map(|first| spans[*first]).collect()
    }
}
