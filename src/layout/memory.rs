//! Plans the memory of a method: pool and offset of each tensor, sizes and devices of the pools (docs/format.md, "Memory planner").
//!
//! Selects and validates what is planned; `super::lifetimes` computes lifetimes, `super::greedy` offsets.

use std::collections::BTreeMap;

use super::greedy::{self, PlanRequest};
pub use super::greedy::{DEFAULT_ALIGNMENT, MAX_POOLS};
use super::lifetimes::{Lifetimes, lifetimes};
use super::regions::BodyInput;
use super::shared::SharedState;
use super::{LayoutError, align_up};
use crate::analysis::aliases::{Alias, AliasKind, aliases};
use crate::analysis::operators::MethodOperators;
use crate::diagnostics::{Code, counted};
use crate::program::element::{Element, Part};
use crate::program::{
    Device, EValue, ExecutionPlan, Instruction, Memory, MemoryPlanner, MemoryRequest, NonConstBufferDevice, Tensor,
    TensorData, TensorShapeDynamism,
};

/// Bytes that the exporter adds to each used pool of a method that calls an XNNPACK delegate (docs/format.md, "Sizes and padding").
pub const XNNPACK_PADDING: u64 = 64;

/// Planned memory of a method.
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
    pub(crate) fn stated(plan: &ExecutionPlan) -> MemoryPlan {
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

    /// Returns true if these are the explicit offsets, sizes and devices of a method.
    pub(crate) fn is_stated_by(&self, plan: &ExecutionPlan) -> bool {
        let stated = MemoryPlan::stated(plan);
        (&self.places, &self.sizes, &self.devices) == (&stated.places, &stated.sizes, &stated.devices)
    }
}

/// Plans the memory of method number `method`; `shared` has the places of the state that it shares.
///
/// # Errors
/// All of: sizes that are unknown or exceed 64 bits, explicit offsets that overlap or exceed their pool, memory requests that the
/// exporter's planner rejects.
pub fn plan(
    method: usize,
    plan: &ExecutionPlan,
    operators: &MethodOperators,
    shared: &SharedState,
) -> Result<MemoryPlan, Vec<LayoutError>> {
    let requested = value_requests(plan, operators);
    let lifetimes = lifetimes(plan, operators, &requested);
    let mut planning = MethodPlanner::new(method, plan, &requested, &lifetimes);
    planning.place_explicit();
    planning.place_shared(shared);
    for (device, group) in planning.automatic() {
        planning.place_automatic(device, group);
    }
    planning.place_views();
    planning.finish()
}

/// Returns the first and the last time at which each value of a method is alive: 0 is before the instructions, instruction `i` is
/// at `i + 1`, and the outputs are read after the last one. `requested` has the memory request of each value, in place of that
/// of the method if its offsets are explicit.
pub fn value_lifetimes(plan: &ExecutionPlan, operators: &MethodOperators, requested: &[Memory]) -> Vec<(u32, u32)> {
    let lifetimes = lifetimes(plan, operators, requested);
    (0..plan.values().len()).map(|value| lifetimes.of(value)).collect()
}

/// Returns the memory request of each value of a method; [`Memory::None`] unless it is a tensor. The result of an operator that returns the memory of an
/// argument is a view of it, unless its memory is explicit.
pub fn value_requests(plan: &ExecutionPlan, operators: &MethodOperators) -> Vec<Memory> {
    let memory_of = |value: &EValue| value.as_tensor().map_or(Memory::None, |tensor| tensor.memory);
    let mut requested: Vec<Memory> = plan.values().iter().map(memory_of).collect();
    for Alias { result, base, kind, .. } in aliases(plan, operators) {
        if kind == AliasKind::Move
            || requested[result] != (Memory::Auto { pool: None, persistent: false, shared: None })
        {
            continue;
        }
        requested[result] = match requested[base] {
            Memory::None => Memory::None,
            Memory::View { base } => Memory::View { base },
            Memory::Auto { .. } | Memory::At { .. } => Memory::View { base: base as u32 },
        };
    }
    requested
}

struct MethodPlanner<'a> {
    method: usize,
    plan: &'a ExecutionPlan,
    /// Memory request of each value.
    requested: &'a [Memory],
    request: &'a MemoryRequest,
    lifetimes: &'a Lifetimes,
    alignment: u64,
    places: Vec<Option<(u32, u64)>>,
    /// Sizes of the pools so far; index 0 is reserved.
    sizes: Vec<u64>,
    devices: BTreeMap<u32, Device>,
    /// End of the tensors with explicit offsets in each pool.
    explicit: BTreeMap<u32, u64>,
    unshared: u64,
    errors: Vec<LayoutError>,
}

impl<'a> MethodPlanner<'a> {
    fn new(
        method: usize,
        plan: &'a ExecutionPlan,
        requested: &'a [Memory],
        lifetimes: &'a Lifetimes,
    ) -> MethodPlanner<'a> {
        let request = &plan.memory;
        MethodPlanner {
            method,
            plan,
            requested,
            request,
            lifetimes,
            alignment: request.alignment.unwrap_or(DEFAULT_ALIGNMENT),
            places: vec![None; plan.values().len()],
            sizes: vec![0],
            devices: BTreeMap::new(),
            explicit: BTreeMap::new(),
            unshared: 0,
            errors: Vec::new(),
        }
    }

    fn error(&mut self, code: Code, value: usize, message: String) {
        self.errors.push(LayoutError::new(code, Element::Method(self.method, Part::Value(value)), message));
    }

    /// Reports tensors whose total size overflows at the largest one.
    fn too_large(&mut self, values: &[usize], message: &str) {
        let nbytes = |value: &&usize| self.plan.values().get(**value)?.as_tensor()?.nbytes();
        match values.iter().rev().max_by_key(nbytes) {
            Some(largest) => {
                let size = counted(nbytes(&largest).unwrap_or(0), "byte");
                self.error(Code::LimitExceeded, *largest, format!("{message}; this tensor has {size}"));
            }
            None => self.errors.push(LayoutError::new(
                Code::LimitExceeded,
                Element::Method(self.method, Part::Whole),
                message,
            )),
        }
    }

    fn nbytes(&mut self, value: usize, tensor: &Tensor) -> u64 {
        tensor.nbytes().filter(|nbytes| i64::try_from(*nbytes).is_ok()).unwrap_or_else(|| {
            let why = match tensor.scalar_type.info() {
                None => format!("unknown element type {}", tensor.scalar_type),
                Some(_) => {
                    let sizes = tensor.sizes.as_deref().unwrap_or_default();
                    format!("the size in bytes of {} {sizes:?} is negative or exceeds 63 bits", tensor.scalar_type)
                }
            };
            self.error(Code::LimitExceeded, value, format!("cannot plan memory for the tensor: {why}"));
            0
        })
    }

    /// Adopts explicit offsets. Tensors may overlap, as a view at an offset does; `check` reports writes to live content.
    fn place_explicit(&mut self) {
        for (value, tensor) in self.plan.tensors() {
            let Memory::At { pool, offset } = self.requested[value] else { continue };
            let size = self.nbytes(value, tensor);
            let Some(end) = offset.checked_add(size) else {
                self.error(
                    Code::LimitExceeded,
                    value,
                    format!("offset {offset} plus {} exceeds 64 bits", counted(size, "byte")),
                );
                continue;
            };
            let end = align_up(end, self.alignment).unwrap_or(u64::MAX);
            self.places[value] = Some((pool, offset));
            self.unshared = self.unshared.saturating_add(size);
            self.explicit.entry(pool).and_modify(|room| *room = end.max(*room)).or_insert(end);
            self.grow(pool, end);
            self.set_device(value, pool, tensor.device());
        }
    }

    /// Adopts the places of shared state. The exporter adds no padding to its pools; a stated one is added to all pools.
    fn place_shared(&mut self, shared: &SharedState) {
        for (value, tensor) in self.plan.tensors() {
            let Some(place) = shared.place(self.requested[value]) else { continue };
            let size = self.nbytes(value, tensor);
            self.places[value] = Some(place);
            self.unshared = self.unshared.saturating_add(size);
            self.set_device(value, place.0, tensor.device());
        }
        if !self.is_getter() {
            let padding = self.request.padding.unwrap_or(0);
            shared.pools().for_each(|(pool, size)| self.grow(pool, size.saturating_add(padding)));
        }
    }

    /// Returns `true` for a method that only returns constants.
    fn is_getter(&self) -> bool {
        self.plan.inputs.as_ref().is_none_or(Vec::is_empty) && self.plan.instructions().next().is_none()
    }

    fn grow(&mut self, pool: u32, end: u64) {
        // A pool is an index into a list, whose length must stay small.
        let index = pool as usize;
        if index >= self.sizes.len() && index <= MAX_POOLS {
            self.sizes.resize(index + 1, 0);
        }
        if let Some(size) = self.sizes.get_mut(index) {
            *size = (*size).max(end);
        }
    }

    fn set_device(&mut self, value: usize, pool: u32, device: Device) {
        // Stated devices need no computed ones.
        if self.request.non_const_buffer_device.is_none() && *self.devices.entry(pool).or_insert(device) != device {
            self.error(
                Code::MemoryPlacement,
                value,
                format!("pool {pool} has tensors of another device; each pool must be on one device"),
            );
        }
    }

    /// Returns the tensors to plan by device, the CPU first (docs/format.md, "Pools and devices").
    fn automatic(&mut self) -> BTreeMap<Device, Vec<usize>> {
        let mut groups: BTreeMap<Device, Vec<usize>> = BTreeMap::new();
        for (value, tensor) in self.plan.tensors() {
            // Tensors without bounds are allocated by the runtime (docs/format.md, "Planned tensors").
            if matches!(self.requested[value], Memory::Auto { .. })
                && self.places[value].is_none()
                && tensor.shape_dynamism != TensorShapeDynamism::DYNAMIC_UNBOUND
            {
                groups.entry(tensor.device()).or_default().push(value);
            }
        }
        groups
    }

    fn place_automatic(&mut self, device: Device, values: Vec<usize>) {
        let other_device = device != Device::CPU;
        // Pools of the CPU are numbered from 1; those of each other device follow the pools before.
        let base = if other_device { self.sizes.len() as u32 } else { 1 };
        let mut requests = Vec::with_capacity(values.len());
        let mut placed = Vec::with_capacity(values.len());
        for value in values {
            let EValue::Tensor(tensor) = &self.plan.values()[value] else { continue };
            let Memory::Auto { pool, .. } = self.requested[value] else { continue };
            if other_device && pool.is_some() {
                self.error(
                    Code::MemoryPlacement,
                    value,
                    "`pool` without `offset` is supported for tensors on the CPU only".into(),
                );
            }
            let pool = pool.unwrap_or(1);
            if pool == 0 || pool as usize > MAX_POOLS {
                self.error(Code::MemoryPlacement, value, format!("invalid pool {pool}, expected 1 to {MAX_POOLS}"));
                continue;
            }
            let (start, end) = self.lifetimes.of(value);
            placed.push(value);
            requests.push(PlanRequest { size: self.nbytes(value, tensor), start, end, pool });
        }
        self.unshared = requests.iter().fold(self.unshared, |sum, request| sum.saturating_add(request.size));
        let mut reserved: Vec<u64> = if other_device { Vec::new() } else { self.reserved() };
        if !other_device && !self.lifetimes.regions().is_whole() {
            (placed, requests) = self.place_regions(placed, requests, &mut reserved);
        }
        if !other_device {
            requests.extend(self.write_backs());
        }
        let padding = self.padding(self.xnnpack_parts()[0]);
        match self.place(&requests, &reserved, padding) {
            Ok(placement) => {
                for ((&value, request), offset) in placed.iter().zip(&requests).zip(&placement.offsets) {
                    let pool = request.pool - 1 + base;
                    self.places[value] = Some((pool, *offset));
                    self.set_device(value, pool, device);
                }
                for (local, size) in placement.sizes.iter().enumerate().skip(1) {
                    self.grow(local as u32 - 1 + base, *size);
                }
            }
            Err(greedy::TooLarge) => self.too_large(&placed, "the planned memory of this method exceeds 64 bits"),
        }
    }

    /// Places the tensors of the parts of the method, each for itself and above those of the parts inside it, and returns those of the method
    /// itself, which is placed above all of them: `reserved` is raised to their size.
    fn place_regions(
        &mut self,
        placed: Vec<usize>,
        requests: Vec<PlanRequest>,
        reserved: &mut Vec<u64>,
    ) -> (Vec<usize>, Vec<PlanRequest>) {
        let regions = self.lifetimes.regions();
        let mut parts: Vec<(Vec<usize>, Vec<PlanRequest>)> = vec![Default::default(); regions.list.len()];
        for (value, request) in placed.into_iter().zip(requests) {
            let part = &mut parts[regions.owners[value].unwrap_or(0)];
            part.0.push(value);
            part.1.push(request);
        }
        let mut arenas: Vec<Vec<u64>> = vec![Vec::new(); regions.list.len()];
        let xnnpack = self.xnnpack_parts();
        // A part comes after the one around it.
        for number in (1..regions.list.len()).rev() {
            let (values, requests) = std::mem::take(&mut parts[number]);
            let mut requests: Vec<(Option<usize>, PlanRequest)> =
                values.iter().copied().map(Some).zip(requests).collect();
            self.place_inputs(number, &mut requests);
            let (values, requests): (Vec<Option<usize>>, Vec<PlanRequest>) = requests.into_iter().unzip();
            let padding = self.padding(xnnpack[number]);
            match self.place(&requests, &arenas[number], padding) {
                Ok(layout) => {
                    for ((value, request), offset) in values.iter().zip(&requests).zip(&layout.offsets) {
                        if let Some(value) = value {
                            self.places[*value] = Some((request.pool, *offset));
                            self.set_device(*value, request.pool, Device::CPU);
                        }
                    }
                    let mut sizes = std::mem::take(&mut arenas[number]);
                    raise(&mut sizes, &layout.sizes);
                    raise(&mut arenas[self.lifetimes.regions().list[number].parent], &sizes);
                }
                Err(greedy::TooLarge) => {
                    let values: Vec<usize> = values.iter().flatten().copied().collect();
                    self.too_large(&values, "the planned memory of this method exceeds 64 bits");
                }
            }
        }
        raise(reserved, &arenas[0]);
        std::mem::take(&mut parts[0])
    }

    /// Puts the inputs of a body in front of its other tensors.
    fn place_inputs(&self, number: usize, requests: &mut Vec<(Option<usize>, PlanRequest)>) {
        let regions = self.lifetimes.regions();
        let start = regions.start(number);
        let is_slice = |input: &BodyInput| matches!(input, BodyInput::Slice(_));
        let mut slices: BTreeMap<usize, Option<PlanRequest>> = BTreeMap::new();
        if regions.list[number].inputs.iter().any(is_slice) {
            let own = requests.iter().filter_map(|(value, request)| Some(((*value)?, Some(*request))));
            slices = own.collect();
        }
        let mut inputs = Vec::new();
        for input in &regions.list[number].inputs {
            match *input {
                BodyInput::Slice(slice) => {
                    if let Some(request) = slices.get_mut(&slice).and_then(Option::take) {
                        inputs.push((Some(slice), PlanRequest { start, ..request }));
                    }
                }
                BodyInput::Copy { value, end } => {
                    let size = self.plan.values()[value].as_tensor().and_then(Tensor::nbytes).unwrap_or(0);
                    inputs.push((None, PlanRequest { size, start, end, pool: 1 }));
                }
            }
        }
        requests.retain(|(value, _)| value.is_none_or(|value| slices.get(&value).is_none_or(Option::is_some)));
        requests.splice(0..0, inputs);
    }

    /// Returns for each part whether it calls an XNNPACK delegate itself.
    fn xnnpack_parts(&self) -> Vec<bool> {
        let regions = self.lifetimes.regions();
        let mut calls = vec![false; regions.list.len()];
        for (index, instruction) in self.plan.instructions().enumerate() {
            if is_xnnpack_call(self.plan, instruction) {
                calls[regions.innermost(index as u32 + 1)] = true;
            }
        }
        calls
    }

    /// Returns the padding of a part of the method; that of the exporter is added by its greedy algorithm only.
    fn padding(&self, calls_xnnpack: bool) -> u64 {
        let default = match self.request.planner {
            MemoryPlanner::Greedy | MemoryPlanner::GreedyNoOverlap if calls_xnnpack => XNNPACK_PADDING,
            MemoryPlanner::Greedy | MemoryPlanner::GreedyNoOverlap | MemoryPlanner::Naive => 0,
        };
        self.request.padding.unwrap_or(default)
    }

    fn place(
        &self,
        requests: &[PlanRequest],
        reserved: &[u64],
        padding: u64,
    ) -> Result<greedy::PoolLayout, greedy::TooLarge> {
        match self.request.planner {
            MemoryPlanner::Greedy => greedy::plan(requests, self.alignment, reserved, padding),
            MemoryPlanner::GreedyNoOverlap => greedy::plan_no_overlap(requests, self.alignment, reserved, padding),
            MemoryPlanner::Naive => greedy::plan_naive(requests, self.alignment, reserved, padding),
        }
    }

    fn place_views(&mut self) {
        for (value, tensor) in self.plan.tensors() {
            let Memory::View { base } = self.requested[value] else { continue };
            self.places[value] = self.places.get(base as usize).copied().flatten();
            let base = self.plan.values().get(base as usize).and_then(EValue::as_tensor);
            let room = base.and_then(Tensor::nbytes);
            let needed = self.nbytes(value, tensor);
            if room.is_none_or(|room| room < needed) {
                self.error(
                    Code::InvalidView,
                    value,
                    format!(
                        "a view of {} exceeds its base of {}",
                        counted(needed, "byte"),
                        counted(room.unwrap_or(0), "byte")
                    ),
                );
            }
        }
    }

    /// Returns the bytes at the start of each pool that planned tensors must not use: those that the method reserves, and those up to the
    /// end of tensors with explicit offsets.
    fn reserved(&self) -> Vec<u64> {
        let mut reserved = self.sizes.clone();
        for (pool, size) in self.request.reserved.iter().enumerate() {
            match reserved.get_mut(pool) {
                Some(room) => *room = (*room).max(*size),
                None => reserved.push(*size),
            }
        }
        reserved
    }

    /// Returns the requests of write-backs. For each buffer or input that `copy_` writes back at the end, the exporter plans one more tensor:
    /// the result of that call, live at the output only. It is no value of the program.
    fn write_backs(&mut self) -> Vec<PlanRequest> {
        let mut requests = Vec::new();
        let plan = self.plan;
        let unplanned_output = plan.outputs.iter().flatten().any(|output| {
            let tensor = plan.value(*output).and_then(EValue::as_tensor);
            tensor.is_some_and(|tensor| {
                output.item(self.requested) == Some(&Memory::None) && tensor.data == TensorData::None
            })
        });
        if unplanned_output {
            return requests;
        }
        for target in &self.lifetimes.write_backs {
            if let EValue::Tensor(tensor) = &plan.values()[*target] {
                let end = self.lifetimes.end;
                requests.push(PlanRequest { size: tensor.nbytes().unwrap_or(0), start: end, end, pool: 1 });
            }
        }
        requests
    }

    fn finish(mut self) -> Result<MemoryPlan, Vec<LayoutError>> {
        // Padding follows planned and explicit tensors.
        let padding = self.padding(self.xnnpack_parts()[0]);
        for (pool, end) in std::mem::take(&mut self.explicit) {
            self.grow(pool, end.saturating_add(padding));
        }
        let nothing_planned = self.places.iter().all(Option::is_none);
        if nothing_planned && !self.is_getter() {
            // At least [0, 0] (docs/format.md, "Pools and devices"); a constant method has [0] (E-2).
            self.grow(1, 0);
        }
        let sizes = match &self.request.non_const_buffer_sizes {
            Some(given) => {
                self.check_sizes(given);
                given.clone()
            }
            None => self.computed_sizes(),
        };
        let devices = match &self.request.non_const_buffer_device {
            Some(given) => Some(given.clone()),
            None => computed_devices(&self.devices),
        };
        if self.errors.is_empty() {
            Ok(MemoryPlan { places: self.places, sizes, devices, unshared: self.unshared })
        } else {
            Err(self.errors)
        }
    }

    fn computed_sizes(&mut self) -> Vec<i64> {
        let beyond = |place: &Option<(u32, u64)>| place.is_some_and(|(pool, _)| pool as usize > MAX_POOLS);
        if let Some(value) = self.places.iter().position(beyond) {
            let message = format!("more than {MAX_POOLS} pools require explicit `non_const_buffer_sizes`");
            self.error(Code::MemoryPlacement, value, message);
        }
        let (mut sizes, mut exceeding) = (Vec::with_capacity(self.sizes.len()), Vec::new());
        for (pool, size) in self.sizes.iter().enumerate() {
            sizes.push(i64::try_from(*size).unwrap_or_else(|_| {
                exceeding.push((pool as u32, *size));
                0
            }));
        }
        for (pool, size) in exceeding {
            let is_inside = |value: &usize| self.places[*value].is_some_and(|(other, _)| other == pool);
            let values: Vec<usize> = (0..self.places.len()).filter(is_inside).collect();
            self.too_large(&values, &format!("the size of pool {pool}, {}, exceeds 63 bits", counted(size, "byte")));
        }
        sizes
    }

    /// Validates that each tensor is inside its pool with explicit sizes (T-21, T-23).
    fn check_sizes(&mut self, given: &[i64]) {
        if let Some(size) = given.iter().find(|size| **size < 0) {
            let message = format!("negative size {size} in `non_const_buffer_sizes`");
            self.errors.push(LayoutError::new(
                Code::MemoryPlacement,
                Element::Method(self.method, Part::Whole),
                message,
            ));
        }
        let help =
            "without `non_const_buffer_sizes`, and `memory` of the values that changed, the planner computes them";
        for (value, tensor) in self.plan.tensors() {
            let Some((pool, offset)) = self.places[value] else { continue };
            let end = offset.saturating_add(tensor.nbytes().unwrap_or(0));
            match given.get(pool as usize) {
                _ if pool == 0 => self.error(Code::MemoryPlacement, value, "pool 0 is reserved".into()),
                None => self.error(
                    Code::MemoryPlacement,
                    value,
                    format!(
                        "pool {pool} is out of range: `non_const_buffer_sizes` has {}",
                        counted(given.len(), "entry")
                    ),
                ),
                Some(size) if i128::from(end) > i128::from(*size) => {
                    let message =
                        format!("the tensor ends at byte {end} of pool {pool}, which has {}", counted(*size, "byte"));
                    let at = Element::Method(self.method, Part::Value(value));
                    self.errors.push(LayoutError::new(Code::MemoryPlacement, at, message).with_help(help));
                }
                Some(_) => {}
            }
        }
    }
}

fn computed_devices(devices: &BTreeMap<u32, Device>) -> Option<Vec<NonConstBufferDevice>> {
    let list: Vec<_> = devices
        .iter()
        .filter(|(_, device)| **device != Device::CPU)
        .map(|(pool, device)| NonConstBufferDevice {
            buffer_idx: *pool as i32,
            device_type: device.device_type,
            device_index: device.index,
        })
        .collect();
    (!list.is_empty()).then_some(list)
}

/// Returns true if a method calls an XNNPACK delegate.
pub fn calls_xnnpack(plan: &ExecutionPlan) -> bool {
    plan.instructions().any(|instruction| is_xnnpack_call(plan, instruction))
}

/// Returns true if an instruction calls an XNNPACK delegate.
fn is_xnnpack_call(plan: &ExecutionPlan, instruction: &Instruction) -> bool {
    let Instruction::DelegateCall { delegate_index, .. } = instruction else { return false };
    let delegate = plan.delegate(*delegate_index);
    delegate.and_then(|delegate| delegate.id.as_ref()).is_some_and(|id| id.to_ascii_lowercase().contains("xnnpack"))
}

/// Raises sizes to those of another list, by pool.
fn raise(sizes: &mut Vec<u64>, others: &[u64]) {
    if sizes.len() < others.len() {
        sizes.resize(others.len(), 0);
    }
    for (size, other) in sizes.iter_mut().zip(others) {
        *size = (*size).max(*other);
    }
}

#[cfg(test)]
mod tests;
