//! Finds the tensors that share bytes at explicit locations of planned memory. Other tensors need no such search: the
//! planner gives them separate memory while they are used.

use std::collections::BTreeMap;

use pte_model::program::pools::PoolRange;
use pte_model::program::{EValue, ExecutionPlan, Memory, TensorData};

/// Returns the explicit location of a tensor or of its base; `None` if it has none.
pub fn range(values: &[EValue], value: usize) -> Option<PoolRange> {
    let tensor = values.get(value)?.as_tensor()?;
    let location = |memory: Memory| match memory {
        Memory::At { pool, offset } => Some((pool, offset)),
        Memory::None | Memory::Auto { .. } | Memory::View { .. } => None,
    };
    let base = match tensor.memory {
        Memory::View { base } => values.get(usize::try_from(base).ok()?)?.as_tensor()?.memory,
        memory @ (Memory::None | Memory::Auto { .. } | Memory::At { .. }) => memory,
    };
    let (pool, start) = location(base)?;
    Some(PoolRange { pool, start, end: start.saturating_add(tensor.nbytes().unwrap_or(u64::MAX)) })
}

/// Returns `true` for a tensor with data.
pub fn has_data(value: &EValue) -> bool {
    value.as_tensor().is_some_and(|tensor| tensor.data != TensorData::None)
}

/// The tensors of all methods at explicit locations. Methods may share their pools.
pub struct PlacedTensors {
    pools: BTreeMap<u32, Pool>,
}

/// Tensors of a pool, sorted by the start of their bytes.
#[derive(Default)]
struct Pool {
    /// Offset, method and value of each tensor.
    tensors: Vec<(u64, usize, usize)>,
    /// Ends of the tensors as the leaves of a tree of maxima, 0 for a taken tensor. Node `n` has the children `2n` and
    /// `2n + 1`.
    ends: Vec<u64>,
}

impl PlacedTensors {
    /// Returns the tensors for which `is_such` holds.
    pub fn new<'p>(plans: impl Iterator<Item = &'p ExecutionPlan>, is_such: fn(&EValue) -> bool) -> PlacedTensors {
        let mut ranges: BTreeMap<u32, Vec<(u64, usize, usize, u64)>> = BTreeMap::new();
        for (method, plan) in plans.enumerate() {
            let values = plan.values();
            let such = (0..values.len()).filter(|value| is_such(&values[*value]));
            let placed = such.filter_map(|value| Some((value, range(values, value)?)));
            for (value, PoolRange { pool, start, end }) in placed {
                ranges.entry(pool).or_default().push((start, method, value, end));
            }
        }
        let pool = |mut tensors: Vec<(u64, usize, usize, u64)>| {
            tensors.sort_unstable();
            let leaves = tensors.len().next_power_of_two();
            let mut ends = vec![0; 2 * leaves];
            tensors.iter().enumerate().for_each(|(leaf, (.., end))| ends[leaves + leaf] = *end);
            (1..leaves).rev().for_each(|node| ends[node] = ends[2 * node].max(ends[2 * node + 1]));
            Pool {
                tensors: tensors.into_iter().map(|(start, method, value, _)| (start, method, value)).collect(),
                ends,
            }
        };
        PlacedTensors { pools: ranges.into_iter().map(|(number, tensors)| (number, pool(tensors))).collect() }
    }

    /// Returns method and value of the tensors with bytes in a range, and takes them: later calls do not return them
    /// again.
    pub fn take(&mut self, range: &PoolRange) -> Vec<(usize, usize)> {
        let Some(pool) = self.pools.get_mut(&range.pool) else { return Vec::new() };
        let mut taken = Vec::new();
        let before = pool.tensors.partition_point(|(start, ..)| *start < range.end);
        let leaves = pool.ends.len() / 2;
        pool.take(1, 0, leaves, before, range.start, &mut taken);
        taken
    }
}

impl Pool {
    /// Takes the tensors below a node whose first leaf is `first` that are before the leaf `before` and end after
    /// `start`.
    fn take(
        &mut self,
        node: usize,
        first: usize,
        leaves: usize,
        before: usize,
        start: u64,
        taken: &mut Vec<(usize, usize)>,
    ) {
        if first >= before || self.ends[node] <= start {
            return;
        }
        if leaves == 1 {
            let (_, method, value) = self.tensors[first];
            taken.push((method, value));
            self.ends[node] = 0;
            return;
        }
        let half = leaves / 2;
        self.take(2 * node, first, half, before, start, taken);
        self.take(2 * node + 1, first + half, half, before, start, taken);
        self.ends[node] = self.ends[2 * node].max(self.ends[2 * node + 1]);
    }
}
