//! Collects the accesses of the instructions of a method to values, step by step, including the items of lists, and the
//! values that have content then. [`MethodOperators::uses`] returns the accesses of a single instruction.
//!
//! A step is the position of an instruction, counted through all chains. Indices that are out of range are skipped.

use std::ops::Range;

use super::operators::{AccessKind, MethodOperators, Usage};
use pte_model::program::{EValue, ExecutionPlan, Instruction, ValueId};
use pte_operators::kinds::Kinds;

/// Number of accesses that a method may have because its calls repeat lists. Each takes 24 bytes with its index. A
/// small method may have fewer: `REPEATED_ITEMS` for each argument, value and item of a list in the file, because a
/// program may have many of them.
pub const LEAST_ITEMS: usize = 1 << 20;

/// See [`LEAST_ITEMS`].
const REPEATED_ITEMS: usize = 16;

/// Number of further accesses for each argument, value and item of a list of values in the file.
pub const ITEMS_PER_ACCESS: usize = 4;

/// An access of an instruction, or of the outputs of the method, to a value.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    /// Index of the value.
    pub value: u32,
    /// Step of the instruction; the number of instructions for an access to the outputs.
    pub step: u32,
    /// Index of the argument, operand or output.
    pub arg: u32,
    /// Effect on the value. A list of values is read ([`AccessKind::Read`]), and its items have the effect of the
    /// argument.
    pub kind: AccessKind,
    /// The value has content then, initially or from an earlier step in the order of the file.
    pub has_content: bool,
}

impl Access {
    /// Returns `true` if the access reads the value. An unknown argument is read if it has content.
    pub fn reads(&self) -> bool {
        self.kind.reads() || self.kind == AccessKind::Release || self.kind == AccessKind::Unknown && self.has_content
    }

    /// Returns `true` if the value has new content after the access. An unknown argument is written if it has no
    /// content.
    pub fn writes(&self) -> bool {
        self.kind.writes_bytes()
            || self.kind == AccessKind::Alias
            || self.kind == AccessKind::Unknown && !self.has_content
    }
}

/// The accesses of a method by step.
#[derive(Debug, Default)]
pub struct Accesses {
    /// All accesses, those of the outputs last.
    pub list: Vec<Access>,
    /// By step: index of its first access. The last item is the length of the list.
    pub by_step: Vec<u32>,
    /// By value: `true` if it is a result argument that repeats an out.
    pub repeated_outs: Vec<bool>,
    /// Number of accesses up to which items of lists are accesses.
    pub limit: usize,
    /// Accesses to items of lists are missing, because there are more than the limit.
    pub is_truncated: bool,
    /// First accesses that read a tensor without content: step, in ascending order, and value. A later step may write
    /// the tensor, or an earlier one the same memory.
    pub early_reads: Vec<(u32, usize)>,
}

impl Accesses {
    /// Collects the accesses of a method. `has_content` says, by value, what has content before the method runs;
    /// `owners`, the value whose memory it has: empty if views are separate tensors, as in a file.
    pub fn of(plan: &ExecutionPlan, operators: &MethodOperators, has_content: Vec<bool>, owners: &[u32]) -> Accesses {
        let count = plan.values().len();
        let (mut steps, mut args, mut items) = (0, 0, 0);
        let kind = |value: &EValue| {
            items += value.items().len();
            Kinds::of_tag(value.tag())
        };
        let kinds = plan.values().iter().map(kind).collect();
        plan.instructions().for_each(|instruction| (steps, args) = (steps + 1, args + instruction.args().len()));
        let outputs = plan.outputs.as_deref().unwrap_or_default();
        let of_file = items + args + count;
        let mut collector = Collector {
            plan,
            kinds,
            owners,
            has_content,
            seen: vec![false; count],
            accesses: Accesses {
                list: Vec::with_capacity(args + outputs.len()),
                by_step: Vec::with_capacity(steps + 2),
                repeated_outs: vec![false; count],
                limit: LEAST_ITEMS.min(REPEATED_ITEMS * of_file) + ITEMS_PER_ACCESS * of_file,
                is_truncated: false,
                early_reads: Vec::new(),
            },
        };
        collector.accesses.by_step.push(0);
        for (step, instruction) in (0..).zip(plan.instructions()) {
            for Usage { position, value, kind } in operators.uses(instruction) {
                collector.add(value, step, position, kind);
            }
            collector.end_step(step, Some(instruction));
        }
        for (output, value) in outputs.iter().enumerate() {
            collector.add(*value, steps as u32, output, AccessKind::Read);
        }
        collector.end_step(steps as u32, None);
        collector.accesses
    }

    /// Returns the accesses of a step, or those of the outputs if `step` is the number of instructions.
    pub fn of_step(&self, step: usize) -> &[Access] {
        &self.list[self.by_step[step] as usize..self.by_step[step + 1] as usize]
    }
}

/// Collects the accesses of a method.
struct Collector<'m> {
    plan: &'m ExecutionPlan,
    /// By value: its kind, in a list that takes less memory than the values.
    kinds: Vec<Kinds>,
    owners: &'m [u32],
    /// By value: it has content, initially or from an earlier step.
    has_content: Vec<bool>,
    /// By value: an earlier step accesses it.
    seen: Vec<bool>,
    accesses: Accesses,
}

impl Collector<'_> {
    fn add(&mut self, value: ValueId, step: u32, arg: usize, kind: AccessKind) {
        let Some((value, stated)) = value.get().and_then(|index| Some((index, self.kinds.get(index)?))) else { return };
        if kind == AccessKind::RepeatedOut {
            self.accesses.repeated_outs[value] = true;
            return;
        }
        if !stated.meets(Kinds::VALUE_LISTS) {
            self.push(value, step, arg, kind);
            return;
        }
        let items = self.plan.values()[value].list_items();
        self.push(
            value,
            step,
            arg,
            if items.is_some() && kind != AccessKind::Unknown { AccessKind::Read } else { kind },
        );
        let Some(items) = items else { return };
        // Without the limit, a small file in which many calls use long lists would need a large table.
        if self.accesses.list.len() + items.len() > self.accesses.limit {
            self.accesses.is_truncated = true;
            return;
        }
        for item in items.iter().filter_map(|item| usize::try_from(item).ok()) {
            if item < self.kinds.len() {
                self.push(item, step, arg, kind);
            }
        }
    }

    fn push(&mut self, value: usize, step: u32, arg: usize, kind: AccessKind) {
        let has_content = self.has_content[self.owner(value)];
        self.accesses.list.push(Access { value: value as u32, step, arg: arg as u32, kind, has_content });
    }

    fn owner(&self, value: usize) -> usize {
        self.owners.get(value).map_or(value, |owner| *owner as usize)
    }

    /// Ends a step, or the outputs. Determines the unknown accesses of delegates as far as the order of instructions
    /// allows: arguments before the first one without content are inputs (E-12).
    fn end_step(&mut self, step: u32, instruction: Option<&Instruction>) {
        let first = self.accesses.by_step.last().map_or(0, |first| *first as usize);
        let end = self.accesses.list.len();
        let is_delegate = matches!(instruction, Some(Instruction::DelegateCall { .. }));
        let of_step = &mut self.accesses.list[first..];
        let first_result = of_step.iter().find(|access| is_delegate && !access.has_content);
        let first_result = first_result.map_or(0, |access| access.arg);
        for access in of_step {
            if access.kind == AccessKind::Unknown && access.has_content && access.arg < first_result {
                access.kind = AccessKind::Read;
            }
            let is_first = !std::mem::replace(&mut self.seen[access.value as usize], true);
            if is_first && !access.has_content && access.kind.keeps() && instruction.is_some() {
                self.accesses.early_reads.push((step, access.value as usize));
            }
        }
        for access in first..end {
            let Access { value, kind, .. } = self.accesses.list[access];
            if kind.may_write() {
                let owner = self.owner(value as usize);
                self.has_content[owner] = true;
            }
        }
        self.accesses.by_step.push(end as u32);
    }
}

/// The accesses to each value, by step.
#[derive(Debug, Default)]
pub struct ValueIndex {
    /// Indices of accesses, sorted by value.
    indices: Vec<u32>,
    /// By value: position of the first of its indices. The last item is the number of indices.
    bounds: Vec<u32>,
}

impl ValueIndex {
    /// Sorts accesses by value, for `count` values.
    pub fn new(accesses: &[Access], count: usize) -> ValueIndex {
        // This list first has the numbers of accesses, then the position of the next access of each value, which is
        // finally the start of the next value.
        let mut bounds = vec![0u32; count + 2];
        for access in accesses {
            bounds[access.value as usize + 2] += 1;
        }
        for value in 2..bounds.len() {
            bounds[value] += bounds[value - 1];
        }
        let mut indices = vec![0; accesses.len()];
        for (index, access) in (0..).zip(accesses) {
            let position = &mut bounds[access.value as usize + 1];
            indices[*position as usize] = index;
            *position += 1;
        }
        bounds.pop();
        ValueIndex { indices, bounds }
    }

    /// Returns the indices of the accesses to a value.
    pub fn of(&self, value: usize) -> &[u32] {
        &self.indices[self.positions(value)]
    }

    /// Returns the positions of the accesses to a value in [`ValueIndex::all`].
    pub fn positions(&self, value: usize) -> Range<usize> {
        self.bounds[value] as usize..self.bounds[value + 1] as usize
    }

    /// Returns the indices of all accesses, sorted by value and step.
    pub fn all(&self) -> &[u32] {
        &self.indices
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pte_model::format::ScalarType;
    use pte_model::program::{Chain, Operator, OperatorId, Tensor};

    /// Accesses of a call of an operator with these values: argument, value, and `r`, `w` or both.
    fn accesses(name: &str, overload: &str, values: Vec<EValue>, args: &[i32]) -> String {
        let call = Instruction::KernelCall {
            op_index: OperatorId(0),
            args: Some(args.iter().map(|arg| ValueId(*arg)).collect::<Vec<_>>().into()),
        };
        let mut plan = ExecutionPlan { values: Some(values), ..ExecutionPlan::default() };
        plan.operators = Some(vec![Operator { name: Some(name.into()), overload: Some(overload.into()) }]);
        plan.chains = Some(vec![Chain { instructions: Some(vec![call]), ..Chain::default() }]);
        let count = plan.values().len();
        let owners: Vec<u32> = (0..count as u32).collect();
        let found = Accesses::of(&plan, &MethodOperators::known(&plan), vec![true; count], &owners);
        let shown = found.of_step(0).iter().map(|access| {
            let kind = [access.reads().then_some('r'), access.writes().then_some('w')];
            format!("{}:{}{}", access.arg, access.value, kind.into_iter().flatten().collect::<String>())
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    fn tensor() -> EValue {
        EValue::Tensor(Tensor::new(ScalarType::FLOAT, &[2]))
    }

    #[test]
    fn an_argument_that_is_modified_is_read_and_written() {
        let values = || vec![tensor(), tensor(), EValue::Bool(false)];
        assert_eq!(accesses("aten::relu", "out", values(), &[0, 1, 1]), "0:0r 1:1w");
        assert_eq!(accesses("aten::copy_", "", values(), &[0, 1, 2, 0]), "0:0w 1:1r 2:2r");
        let index =
            vec![tensor(), EValue::OptionalTensorList(Some(vec![ValueId(2)])), tensor(), tensor(), EValue::Bool(false)];
        assert!(accesses("aten::index_put_", "", index, &[0, 1, 3, 4, 0]).starts_with("0:0rw"));
    }

    #[test]
    fn items_of_a_list_of_outs_are_written() {
        let list = EValue::TensorList(Some(vec![ValueId(1), ValueId(2)]));
        let values = vec![tensor(), tensor(), tensor(), EValue::Int(1), EValue::Int(0), list];
        assert_eq!(
            accesses("aten::split_copy", "Tensor_out", values, &[0, 3, 4, 5, 5]),
            "0:0r 1:3r 2:4r 3:5r 3:1w 3:2w"
        );
    }
}
