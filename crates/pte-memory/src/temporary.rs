//! Computes the size of the temporary allocator of a method: the bytes that the lookup of kernels takes while the
//! method is loaded, and what kernels take while they run. The runtime resets it after each of them.

use std::collections::BTreeSet;

use serde::Serialize;

use super::allocator::{Abi, lookup_bytes};
use super::delegates::DelegateFootprint;
use super::labels::event;
use pte_analysis::inference::Inference;
use pte_analysis::operators::MethodOperators;
use pte_model::program::ExecutionPlan;
use pte_model::program::instruction::Callee;
use pte_payload::memory::{Held, MemorySource};

/// Size of the temporary allocator of a method, part of [`crate::memory::MethodFootprint`]. The start of its memory is
/// aligned to 16 bytes.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct TemporaryAllocator {
    /// Size in bytes: the larger one of the next two. With a smaller one, loading or executing the method fails, unless
    /// the method allocator has room for what loading takes without a temporary allocator.
    pub bytes: u64,
    /// Bytes that it must have for the lookup of kernels while the method is loaded.
    pub lookup: u64,
    /// Bytes that kernels take: the largest number of an instruction.
    pub kernels: u64,
    /// First instruction whose kernel takes [`TemporaryAllocator::kernels`]; `None` if that is 0.
    pub largest: Option<String>,
    /// The size is a lower bound, because the [`TemporaryAllocator::unknown`] may take more.
    pub at_least: bool,
    /// Operators and backends whose memory is not known.
    pub unknown: Vec<String>,
}

impl TemporaryAllocator {
    /// Computes the size for a method with these delegates. `labels` are those of its instructions.
    pub(crate) fn new(
        plan: &ExecutionPlan,
        operators: &MethodOperators,
        delegates: &[DelegateFootprint],
        labels: &[String],
        abi: Abi,
    ) -> TemporaryAllocator {
        let inference = Inference::bounded(plan, operators);
        let (mut lookup, mut kernels, mut largest) = (0, 0, None);
        let mut unknown = BTreeSet::new();
        for (index, instruction) in plan.instructions().enumerate() {
            let taken = match instruction.callee() {
                None => Some(0),
                Some(Callee::Operator(_)) => {
                    lookup = lookup_bytes(instruction.args().len(), abi).max(lookup);
                    let operator = operators.called(instruction);
                    operator.and_then(|operator| inference.temporary(plan.values(), operator, instruction.args()))
                }
                Some(Callee::Delegate(delegate)) => delegate.item(delegates).and_then(taken_by),
            };
            match taken {
                Some(taken) if taken > kernels => {
                    (kernels, largest) = (taken, Some(index));
                }
                Some(_) => {}
                None => _ = labels.get(index).map(|label| unknown.insert(label.as_str())),
            }
        }
        TemporaryAllocator {
            bytes: lookup.max(kernels),
            lookup,
            kernels,
            largest: largest.map(|index| event(labels, index + 1)),
            at_least: !unknown.is_empty(),
            unknown: unknown.into_iter().map(str::to_owned).collect(),
        }
    }
}

/// Returns the bytes that a call of a delegate takes; `None` if they are not known. XNNPACK uses the heap.
fn taken_by(delegate: &DelegateFootprint) -> Option<u64> {
    match &delegate.memory {
        Some(memory) => Some(memory.bytes(MemorySource::TemporaryAllocator, Held::ALL)),
        None => (delegate.backend == pte_xnnpack::BACKEND).then_some(0),
    }
}
