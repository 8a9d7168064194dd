//! Places the state that methods share. It has the same pool and offset in each method
//! (docs/format.md, "Shared state").
//!
//! A pool that contains anything else is left to `super::memory`, which plans each method separately.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::greedy::MAX_POOLS;
use super::{LayoutError, align_up};
use pte_analysis::method::Method;
use pte_model::diagnostics::Code;
use pte_model::program::element::{Element, Part};
use pte_model::program::memory_plan::DEFAULT_ALIGNMENT;
use pte_model::program::{Device, ExecutionPlan, Memory, Program, Tensor, TensorShapeDynamism};

/// Places of shared state.
#[derive(Default)]
pub struct SharedState {
    /// Offset in bytes, by pool and number of the state.
    offsets: HashMap<(u32, u32), u64>,
    /// Size in bytes of each pool that has only shared state. Every method has this size.
    sizes: BTreeMap<u32, u64>,
}

/// A tensor that a method shares with others.
struct SharedTensor {
    method: usize,
    value: usize,
    state: u32,
    size: u64,
}

impl SharedState {
    /// Places the shared state of all methods.
    ///
    /// # Errors
    /// The size of state exceeds 64 bits.
    pub fn plan(program: &Program, analysed: &[Method<'_>]) -> Result<SharedState, LayoutError> {
        let mut shared = SharedState::default();
        let mut pools: BTreeMap<u32, Vec<SharedTensor>> = BTreeMap::new();
        let mut mixed = BTreeSet::from([0, 1]);
        let mut methods: Vec<(usize, &ExecutionPlan)> = program.plans().iter().enumerate().collect();
        methods.sort_by_key(|(method, plan)| plan.memory.shared_order.map_or(*method, |order| order as usize));
        for (method, plan) in methods {
            mixed.extend(
                (2..).zip(plan.memory.reserved.iter().skip(2)).filter(|(_, size)| **size > 0).map(|(pool, _)| pool),
            );
            for (value, tensor) in plan.tensors() {
                match tensor.memory {
                    Memory::Auto { pool: Some(pool), shared: Some(state), .. } if is_placed(tensor) => {
                        let size = tensor.nbytes().unwrap_or(0);
                        pools.entry(pool).or_default().push(SharedTensor { method, value, state, size });
                    }
                    Memory::Auto { pool: Some(pool), .. } | Memory::At { pool, .. } => _ = mixed.insert(pool),
                    Memory::None | Memory::Auto { pool: None, .. } | Memory::View { .. } => {}
                }
            }
        }
        pools.retain(|pool, _| !mixed.contains(pool) && *pool as usize <= MAX_POOLS);
        if pools.is_empty() {
            return Ok(shared);
        }
        let alignment = program.plans().iter().map(|plan| plan.memory.alignment.unwrap_or(DEFAULT_ALIGNMENT)).max();
        let written: Vec<HashSet<usize>> =
            analysed.iter().map(|method| method.operators.written(method.plan)).collect();
        for (pool, tensors) in pools {
            let mut sizes: HashMap<u32, u64> = HashMap::new();
            for tensor in &tensors {
                let size = sizes.entry(tensor.state).or_default();
                *size = tensor.size.max(*size);
            }
            // The exporter only considers state that the method writes. Other state follows.
            let (first, others): (Vec<_>, Vec<_>) =
                tensors.iter().partition(|tensor| written[tensor.method].contains(&tensor.value));
            let mut end = 0u64;
            for tensor in first.into_iter().chain(others) {
                let std::collections::hash_map::Entry::Vacant(offset) = shared.offsets.entry((pool, tensor.state))
                else {
                    continue;
                };
                offset.insert(end);
                let next = end.checked_add(sizes[&tensor.state]);
                let Some(next) = next.and_then(|next| align_up(next, alignment.unwrap_or(DEFAULT_ALIGNMENT))) else {
                    let at = Element::Method(tensor.method, Part::Value(tensor.value));
                    return Err(LayoutError::new(
                        Code::LimitExceeded,
                        at,
                        "the state that methods share exceeds 64 bits",
                    ));
                };
                end = next;
            }
            shared.sizes.insert(pool, end);
        }
        Ok(shared)
    }

    /// Returns the pool and the offset of a tensor; `None` if it is not shared.
    pub fn place(&self, requested: Memory) -> Option<(u32, u64)> {
        let Memory::Auto { pool: Some(pool), shared: Some(state), .. } = requested else { return None };
        Some((pool, *self.offsets.get(&(pool, state))?))
    }

    /// Returns the pools that have only shared state, and their sizes in bytes.
    pub fn pools(&self) -> impl Iterator<Item = (u32, u64)> {
        self.sizes.iter().map(|(pool, size)| (*pool, *size))
    }
}

/// Returns `true` for a tensor that is placed together with those of other methods: its sizes are bounded, and it is on
/// the CPU.
fn is_placed(tensor: &Tensor) -> bool {
    tensor.shape_dynamism != TensorShapeDynamism::DYNAMIC_UNBOUND && tensor.device() == Device::CPU
}
