//! Follows the instructions of a method in the order of the file: the values that each reads and writes, and those that
//! have content then.

use std::collections::HashSet;

use pte_analysis::access::{Access, Accesses};
use pte_analysis::operators::MethodOperators;
use pte_model::program::{EValue, ExecutionPlan, Memory, ValueId};

/// Values that have content before and after each instruction of a method.
pub struct MethodFlow {
    accesses: Accesses,
    /// By value: it has content before the first instruction.
    pub given: Vec<bool>,
    /// By value: the value whose memory it uses, if no instruction makes it a view.
    pub bases: Vec<u32>,
}

impl MethodFlow {
    /// Follows the instructions of a method.
    pub fn new(plan: &ExecutionPlan) -> MethodFlow {
        let operators = MethodOperators::known(plan);
        let bases = bases(plan, &operators);
        let given = plan.has_content();
        // Unlike in `Method::accesses`, a view that no instruction makes has the content of its base.
        let accesses = Accesses::of(plan, &operators, given.clone(), &bases);
        MethodFlow { accesses, given, bases }
    }

    /// Returns the number of instructions of all chains.
    pub fn steps(&self) -> usize {
        self.accesses.by_step.len() - 2
    }

    /// Returns the values that an instruction reads and that have content before it.
    pub fn reads(&self, step: usize) -> impl Iterator<Item = usize> {
        let reads = self.accesses.of_step(step).iter().filter(|access| access.reads() && access.has_content);
        reads.map(|access| access.value as usize)
    }

    /// Returns the values that an instruction writes.
    pub fn writes(&self, step: usize) -> impl Iterator<Item = usize> {
        let writes = self.accesses.of_step(step).iter().filter(|access| access.writes());
        writes.map(|access| access.value as usize)
    }

    /// Returns the value whose memory a value uses.
    pub fn base(&self, value: usize) -> usize {
        self.bases[value] as usize
    }

    /// Returns the outputs, and the items of those that are lists, that have content after the last instruction.
    pub fn defined_outputs(&self) -> impl Iterator<Item = usize> {
        let defined = |access: &&Access| access.has_content;
        self.accesses.of_step(self.steps()).iter().filter(defined).map(|access| access.value as usize)
    }
}

/// Returns, by value, the value whose memory it uses, if it is a view that no instruction makes.
fn bases(plan: &ExecutionPlan, operators: &MethodOperators) -> Vec<u32> {
    let written = operators.written(plan);
    let base = |(index, value): (usize, &EValue)| match value.as_tensor().map(|tensor| tensor.memory) {
        Some(Memory::View { base }) if !written.contains(&index) && (base as usize) < plan.values().len() => base,
        Some(Memory::View { .. } | Memory::None | Memory::Auto { .. } | Memory::At { .. }) | None => index as u32,
    };
    plan.values().iter().enumerate().map(base).collect()
}

/// Returns the values that the instructions and the outputs of a method read, and the bases of views among them.
pub fn reads(plan: &ExecutionPlan) -> HashSet<ValueId> {
    let flow = MethodFlow::new(plan);
    let read = (0..flow.steps()).flat_map(|step| flow.reads(step));
    let read = read.flat_map(|value| [value, flow.base(value)]).map(ValueId::of);
    read.chain(plan.outputs.iter().flatten().copied()).collect()
}
