//! Finds views: tensors without an instruction that writes them, in the memory of a tensor that has content then, or with the data of a
//! constant. The exporter emits no instruction for such a view, but numbers it where its node stands in the graph.

use std::collections::HashMap;

use crate::data::BlobId;
use crate::program::{EValue, ExecutionPlan, Memory, Tensor, TensorData};

/// A view: its base, and its position among the instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    /// Value whose memory or data it shares.
    pub base: usize,
    /// Number of instructions of the method before it.
    pub position: usize,
}

/// What the instructions of a method do with its values.
pub struct Uses {
    /// Instruction that uses each value first; `None` for an unused value.
    pub first: Vec<Option<usize>>,
    /// Smallest value that each instruction or one behind it numbers.
    pub least: Vec<usize>,
    /// `true` for values that their first use writes.
    pub produced: Vec<bool>,
    /// `true` for inputs.
    pub is_input: Vec<bool>,
}

/// Returns the view of each value, `None` for values that are no views.
pub fn find(plan: &ExecutionPlan, uses: &Uses) -> Vec<Option<View>> {
    let count = plan.values().len();
    let mut views = vec![None; count];
    let is_candidate = |index: usize| !uses.produced[index] && !uses.is_input[index];
    // Earlier tensors at each place in planned memory, and the first constant with some data.
    let mut placed: HashMap<(u32, u64), Vec<usize>> = HashMap::new();
    let mut constants: HashMap<BlobId, usize> = HashMap::new();
    // Values that are numbered before all instructions end with the last input.
    let last_input = (0..count).rev().find(|index| uses.is_input[*index]);
    for (index, tensor) in plan.tensors() {
        match (tensor.memory, &tensor.data) {
            (Memory::At { pool, offset }, TensorData::None) => {
                let others = placed.entry((pool, offset)).or_default();
                if is_candidate(index)
                    && let Some(base) = base_in_memory(plan, others, index, tensor, uses)
                {
                    views[index] = Some(View { base, position: position(uses, base, index) });
                    continue;
                }
                others.push(index);
            }
            (Memory::At { pool, offset }, TensorData::Blob(_) | TensorData::Elsewhere(_)) => {
                placed.entry((pool, offset)).or_default().push(index);
            }
            (Memory::None, TensorData::Blob(blob)) if is_candidate(index) => {
                let base = *constants.entry(*blob).or_insert(index);
                let is_same = plan.values()[base].as_tensor().and_then(Tensor::nbytes) == tensor.nbytes();
                if base != index && is_same && last_input.is_some_and(|last| last < index) {
                    views[index] = Some(View { base, position: position(uses, base, index) });
                }
            }
            (Memory::None | Memory::Auto { .. } | Memory::View { .. }, _) => {}
        }
    }
    // A constant behind the inputs is a view only if all that are numbered before the instructions are in front of it.
    let upfront = (0..count).rev().find(|index| {
        !uses.produced[*index] && views[*index].is_none() && matches!(plan.values()[*index], EValue::Tensor(_))
    });
    for (index, view) in views.iter_mut().enumerate() {
        let is_constant = plan.values()[index].as_tensor().is_some_and(|tensor| tensor.memory == Memory::None);
        if is_constant && upfront.is_some_and(|upfront| upfront > index) {
            *view = None;
        }
    }
    views
}

/// Returns the tensor at the same place that has content when a value is used first.
fn base_in_memory(plan: &ExecutionPlan, others: &[usize], index: usize, tensor: &Tensor, uses: &Uses) -> Option<usize> {
    let first = uses.first[index].unwrap_or(usize::MAX);
    let written = |other: usize| match uses.produced[other] {
        true => uses.first[other].map(|write| write + 1),
        false => Some(0),
    };
    let same_size = |other: &usize| plan.values()[*other].as_tensor().and_then(Tensor::nbytes) == tensor.nbytes();
    let candidates = others.iter().copied().filter(same_size);
    candidates.filter_map(|other| Some((written(other).filter(|at| *at <= first)?, other))).max().map(|(_, base)| base)
}

/// Returns the number of instructions in front of a view: those that number a value before it.
fn position(uses: &Uses, base: usize, index: usize) -> usize {
    let after = numbered_before(uses, index);
    let written = if uses.produced[base] { uses.first[base].map_or(0, |write| write + 1) } else { 0 };
    let limit = uses.first[index].unwrap_or(uses.least.len());
    after.max(written).min(limit)
}

/// Returns the number of instructions up to the last one that numbers a value before `index`.
pub fn numbered_before(uses: &Uses, index: usize) -> usize {
    uses.least.partition_point(|least| *least < index)
}
