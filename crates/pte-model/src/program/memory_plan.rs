//! Planned memory of a method, and the properties of the exporter's plans that can be seen in a file.
//!
//! Nothing is planned here: the planner is part of `pte-emit`.

use super::{EValue, ExecutionPlan, Instruction, Memory, MemoryRequest, NonConstBufferDevice};

/// Default alignment of planned tensors in bytes, as in the exporter.
pub const DEFAULT_ALIGNMENT: u64 = 16;

/// Bytes that the exporter adds to each used pool of a method that calls an XNNPACK delegate
/// (docs/format.md, "Sizes and padding").
pub const XNNPACK_PADDING: u64 = 64;

/// Planned memory of a method.
///
/// ```
/// use pte_model::data::Origin;
/// use pte_model::program::MemoryPlan;
/// use pte_model::reader;
///
/// let program = reader::program::read(&Origin::Bytes(pte_model::LINEAR_PTE.into()))?.program;
/// let memory = MemoryPlan::stated(&program.plans()[0]);
/// assert_eq!(memory.sizes, [0, 80]); // pool 0 is reserved
/// assert_eq!(memory.places[2], Some((1, 64))); // value 2 is at offset 64 of pool 1
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryPlan {
    /// Pool (`memory_id`) and offset of each value; `None` without planned memory.
    pub places: Vec<Option<(u32, u64)>>,
    /// `non_const_buffer_sizes`; index 0 is reserved.
    pub sizes: Vec<i64>,
    /// `non_const_buffer_device`; absent if everything is on the CPU.
    pub devices: Option<Vec<NonConstBufferDevice>>,
    /// Total size in bytes of the planned tensors without sharing; 0 if nothing was planned.
    pub unshared: u64,
}

impl MemoryPlan {
    /// Returns the plan of a method with explicit offsets, sizes and devices, as read from a file.
    pub fn stated(plan: &ExecutionPlan) -> MemoryPlan {
        let place = |value: &EValue| match value.as_tensor()?.memory {
            Memory::At { pool, offset } => Some((pool, offset)),
            Memory::None | Memory::Auto { .. } | Memory::View { .. } => None,
        };
        MemoryPlan {
            places: plan.values().iter().map(place).collect(),
            sizes: plan.memory.non_const_buffer_sizes.clone().unwrap_or_default(),
            devices: plan.memory.non_const_buffer_device.clone(),
            unshared: 0,
        }
    }

    /// Returns the size of all pools in bytes, at most `u64::MAX`. Negative sizes, which only malformed files have,
    /// count as 0.
    ///
    /// ```
    /// use pte_model::program::MemoryPlan;
    ///
    /// assert_eq!(MemoryPlan { sizes: vec![0, 80, -1, 16], ..MemoryPlan::default() }.total(), 96);
    /// ```
    pub fn total(&self) -> u64 {
        self.sizes.iter().filter_map(|size| u64::try_from(*size).ok()).fold(0, u64::saturating_add)
    }

    /// Returns true if a method states the location of all its planned tensors, and the sizes of its pools: nothing is
    /// left to a planner.
    #[doc(hidden)]
    pub fn is_whole(&self, plan: &ExecutionPlan) -> bool {
        plan.memory.non_const_buffer_sizes.is_some()
            && plan.tensors().all(|(value, tensor)| (tensor.memory == Memory::None) == self.places[value].is_none())
    }

    /// States this plan in its method: the location of each tensor, sizes and devices of the pools.
    #[doc(hidden)]
    pub fn state_in(self, plan: &mut ExecutionPlan) {
        for (value, tensor) in plan.tensors_mut() {
            if let Some(Some((pool, offset))) = self.places.get(value) {
                tensor.memory = Memory::At { pool: *pool, offset: *offset };
            }
        }
        plan.memory = MemoryRequest {
            non_const_buffer_sizes: Some(self.sizes),
            non_const_buffer_device: self.devices,
            ..MemoryRequest::default()
        };
    }

    /// Returns true if these are the explicit offsets, sizes and devices of a method.
    #[doc(hidden)]
    pub fn is_stated_by(&self, plan: &ExecutionPlan) -> bool {
        let stated = MemoryPlan::stated(plan);
        (&self.places, &self.sizes, &self.devices) == (&stated.places, &stated.sizes, &stated.devices)
    }
}

/// Returns true if a method calls an XNNPACK delegate.
pub fn calls_xnnpack(plan: &ExecutionPlan) -> bool {
    plan.instructions().any(|instruction| is_xnnpack_call(plan, instruction))
}

/// Returns true if an instruction calls an XNNPACK delegate.
pub fn is_xnnpack_call(plan: &ExecutionPlan, instruction: &Instruction) -> bool {
    let Instruction::DelegateCall { delegate_index, .. } = instruction else { return false };
    let delegate = plan.delegate(*delegate_index);
    delegate.and_then(|delegate| delegate.id.as_ref()).is_some_and(|id| id.to_ascii_lowercase().contains("xnnpack"))
}
