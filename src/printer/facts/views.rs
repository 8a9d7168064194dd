//! Finds views: tensors that no instruction writes, and that have the memory of a tensor with content or the data of a
//! constant. The exporter emits no instruction for such a view, but numbers it at the position of its node in the
//! graph.

use std::collections::{BTreeSet, HashMap};

use super::uses::Uses;
use pte_model::data::BlobId;
use pte_model::program::{EValue, ExecutionPlan, Memory, Tensor, TensorData};

/// A view, and the tensor whose memory it has.
#[derive(Clone, Copy)]
pub struct View {
    /// Index of the value whose memory or data the view shares.
    pub base: usize,
    /// Number of instructions of the method before the entry that numbers the view.
    pub position: usize,
}

/// Returns the view of each value; `None` for values that are not views. `least` has, by step, the smallest value that
/// this step or a later one numbers, with two steps for each instruction. With `scratch`, a value that its first use
/// overwrites is not a view.
pub fn find(plan: &ExecutionPlan, uses: &Uses, least: &[usize], scratch: bool) -> Vec<Option<View>> {
    let count = plan.values().len();
    let mut views = vec![None; count];
    let is_candidate =
        |index: usize| !(uses.produced[index] || uses.is_input[index] || scratch && uses.overwritten[index]);
    // The earlier tensors at each place in planned memory, and the first constant with each data.
    let mut placed: HashMap<Place, BTreeSet<Content>> = HashMap::new();
    let mut constants: HashMap<BlobId, usize> = HashMap::new();
    // The last input is the last value that is numbered before all instructions.
    let last_input = (0..count).rev().find(|index| uses.is_input[*index]);
    for (index, tensor) in plan.tensors() {
        match (tensor.memory, &tensor.data) {
            (Memory::At { pool, offset }, TensorData::None) => {
                let others = placed.entry((pool, offset, tensor.nbytes())).or_default();
                if is_candidate(index)
                    && let Some(base) = base_in_memory(others, index, uses)
                {
                    views[index] = Some(View { base, position: position(uses, least, base, index) });
                    continue;
                }
                others.extend(content(index, uses));
            }
            (Memory::At { pool, offset }, TensorData::Blob(_) | TensorData::Elsewhere(_)) => {
                placed.entry((pool, offset, tensor.nbytes())).or_default().extend(content(index, uses));
            }
            (Memory::None, TensorData::Blob(blob)) if is_candidate(index) => {
                let base = *constants.entry(*blob).or_insert(index);
                let is_same = plan.values()[base].as_tensor().and_then(Tensor::nbytes) == tensor.nbytes();
                if base != index && is_same && last_input.is_some_and(|last| last < index) {
                    views[index] = Some(View { base, position: position(uses, least, base, index) });
                }
            }
            (Memory::None | Memory::Auto { .. } | Memory::View { .. }, _) => {}
        }
    }
    // A constant after the inputs is a view only if it follows all values that are numbered before the instructions.
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

/// Pool, offset, and size in bytes if it is known.
type Place = (u32, u64, Option<u64>);

/// A tensor with content: the number of instructions after which it has content, and its index.
type Content = (usize, usize);

/// Returns the number of instructions after which a tensor has content, with its index; `None` for an unused result.
fn content(index: usize, uses: &Uses) -> Option<Content> {
    match uses.produced[index] {
        true => Some((uses.first[index]? + 1, index)),
        false => Some((0, index)),
    }
}

/// Returns the base of a value: of the tensors in `others` that have content before the first use of the value, the one
/// that got it last.
fn base_in_memory(others: &BTreeSet<Content>, index: usize, uses: &Uses) -> Option<usize> {
    let first = uses.first[index].unwrap_or(usize::MAX);
    others.range(..=(first, usize::MAX)).next_back().map(|(_, base)| *base)
}

/// Returns the position of a view: after the instruction that writes the base, and after those that number a smaller
/// value.
fn position(uses: &Uses, least: &[usize], base: usize, index: usize) -> usize {
    let after = numbered_before(least, index);
    let written = if uses.produced[base] { uses.first[base].map_or(0, |write| write + 1) } else { 0 };
    let limit = uses.first[index].unwrap_or(least.len() / 2);
    after.max(written).min(limit)
}

/// Returns the number of instructions up to the last step that numbers a value less than `index`. `least` is that of
/// [`find`].
pub fn numbered_before(least: &[usize], index: usize) -> usize {
    least.partition_point(|least| *least < index) / 2
}
