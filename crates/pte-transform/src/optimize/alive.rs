//! Planned memory that is alive at the same time, without a plan.

use pte_analysis::method::Method;
use pte_analysis::operators::MethodOperators;
use pte_analysis::planning::executed;
use pte_model::program::memory_plan::DEFAULT_ALIGNMENT;
use pte_model::program::{ExecutionPlan, Memory};

/// The planned memory of a method, by the value that has memory of its own.
pub struct AliveMemory {
    /// By value: its memory request. A view has the index of a value that is not a view.
    pub requested: Vec<Memory>,
    /// By value: first and last time at which its memory is used, also through views. Time 0 is before the first
    /// instruction, and instruction `i` is at `i + 1`.
    pub spans: Vec<(u32, u32)>,
    /// By value: bytes of its own planned memory, rounded up to the default alignment; 0 for views and for values
    /// without planned memory.
    pub sizes: Vec<u64>,
}

impl AliveMemory {
    /// Computes the lifetimes of a method.
    pub fn of(method: &Method<'_>) -> AliveMemory {
        let mut requested = method.requests().to_vec();
        let lifetimes = executed::lifetimes(method, &mut requested);
        let size = |(value, memory): (usize, &Memory)| match memory {
            Memory::Auto { .. } | Memory::At { .. } => {
                let bytes = method.values()[value].as_tensor().and_then(|tensor| tensor.nbytes()).unwrap_or(0);
                bytes.checked_next_multiple_of(DEFAULT_ALIGNMENT).unwrap_or(u64::MAX)
            }
            Memory::None | Memory::View { .. } => 0,
        };
        let sizes = requested.iter().enumerate().map(size).collect();
        let spans = (0..requested.len()).map(|value| lifetimes.of(value)).collect();
        AliveMemory { requested, spans, sizes }
    }

    /// Returns the value that has the memory of a value.
    pub fn base(&self, value: usize) -> usize {
        match self.requested[value] {
            Memory::View { base } if (base as usize) < self.requested.len() => base as usize,
            Memory::None | Memory::Auto { .. } | Memory::View { .. } | Memory::At { .. } => value,
        }
    }

    /// Returns the number of bytes that are alive at each time from 0 to `end`.
    pub fn by_time(&self, end: u32) -> Vec<u64> {
        let mut changes = vec![0i128; end as usize + 2];
        for ((first, last), size) in self.spans.iter().zip(&self.sizes) {
            changes[(*first).min(end) as usize] += i128::from(*size);
            changes[(*last).min(end) as usize + 1] -= i128::from(*size);
        }
        let mut alive = 0;
        let sums = changes.into_iter().take(end as usize + 1).map(|change| {
            alive += change;
            u64::try_from(alive).unwrap_or(u64::MAX)
        });
        sums.collect()
    }
}

/// Returns the maximum number of bytes of planned memory that are alive at once in a method, with sizes rounded up to
/// the exporter's alignment, in all pools together: no plan of one pool can need less.
pub fn peak(plan: &ExecutionPlan, operators: &MethodOperators) -> u64 {
    let end = plan.instructions().count() as u32 + 1;
    AliveMemory::of(&Method::of(plan, operators)).by_time(end).into_iter().max().unwrap_or(0)
}
