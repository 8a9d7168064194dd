//! Plans the memory of a method: pool and offset of each tensor, sizes and devices of the pools
//! (docs/format.md, "Memory planner").
//!
//! It selects and validates the tensors to plan; `pte_analysis::planning` computes lifetimes, `super::greedy` and
//! `super::minimal` offsets.

use std::collections::BTreeMap;

pub use super::greedy::MAX_POOLS;
use super::greedy::{self, PlanRequest};
use super::shared::SharedState;
use super::{LayoutError, align_up, minimal};
use pte_analysis::aliases::AliasKind;
use pte_analysis::method::Method;
use pte_analysis::operators::MethodOperators;
use pte_analysis::planning::regions::BodyInput;
use pte_analysis::planning::{Lifetimes, executed, lifetimes};
use pte_model::diagnostics::{Code, counted};
use pte_model::program::element::{Element, Part};
use pte_model::program::memory_plan::{DEFAULT_ALIGNMENT, MemoryPlan, XNNPACK_PADDING, is_xnnpack_call};
use pte_model::program::pools::{PoolRange, PoolRanges};
use pte_model::program::{
    Device, EValue, ExecutionPlan, Memory, MemoryPlanner, MemoryRequest, NonConstBufferDevice, Tensor, TensorData,
    TensorShapeDynamism,
};

/// Plans the memory of the method with an index; `shared` has the places of the state that it shares.
///
/// # Errors
/// All sizes that are unknown or exceed 64 bits, explicit offsets that overlap or exceed their pool, and memory
/// requests that the exporter's planner rejects.
pub fn plan(index: usize, method: &Method<'_>, shared: &SharedState) -> Result<MemoryPlan, Vec<LayoutError>> {
    let mut requested = method.requests().to_vec();
    let lifetimes = match method.plan.memory.planner {
        MemoryPlanner::Minimal => executed::lifetimes(method, &mut requested),
        MemoryPlanner::Greedy | MemoryPlanner::GreedyNoOverlap | MemoryPlanner::Naive => lifetimes(method),
    };
    let mut planning = MethodPlanner::new(index, method.plan, &requested, &lifetimes);
    let mut views = unwritten(method.plan, &method.operators);
    let made = method.aliases().iter().filter(|alias| alias.kind == AliasKind::View);
    made.for_each(|alias| views[alias.result] = true);
    planning.place_explicit(&views);
    planning.place_shared(shared);
    for (device, group) in planning.automatic() {
        planning.place_automatic(device, group);
    }
    planning.place_views();
    planning.finish()
}

/// Returns, by value, `true` for a tensor at an explicit offset that neither an instruction nor the caller writes, and
/// that has no data, if others have bytes there: it is a view of them. A file has no other sign of a view.
fn unwritten(plan: &ExecutionPlan, operators: &MethodOperators) -> Vec<bool> {
    let values = plan.values();
    let mut unwritten = vec![false; values.len()];
    let placed = plan
        .tensors()
        .filter(|(value, tensor)| tensor.data == TensorData::None && PoolRange::of(&values[*value]).is_some());
    placed.for_each(|(value, _)| unwritten[value] = true);
    if !unwritten.contains(&true) {
        return unwritten;
    }
    let inputs = plan.inputs.iter().flatten().filter_map(|input| input.get());
    for value in operators.maybe_written(plan).into_iter().chain(inputs) {
        unwritten.get_mut(value).into_iter().for_each(|flag| *flag = false);
    }
    let bases = values.iter().zip(&unwritten).filter(|(_, unwritten)| !**unwritten);
    let bases = PoolRanges::new(bases.filter_map(|(value, _)| PoolRange::of(value)));
    for (value, unwritten) in values.iter().zip(&mut unwritten).filter(|(_, unwritten)| **unwritten) {
        *unwritten = PoolRange::of(value).is_some_and(|range| bases.overlap(&range));
    }
    unwritten
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

    /// Reports an overflow of the total size of these values, at the largest one.
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

    /// Adopts explicit offsets. Tensors may overlap, for example as views; `check` reports writes to live content
    ///
    fn place_explicit(&mut self, views: &[bool]) {
        for (value, tensor) in self.plan.tensors() {
            let Memory::At { pool, offset } = self.requested[value] else { continue };
            // The size of an element type of a newer schema is unknown; the sizes of the pools are explicit then, too.
            let size = if tensor.scalar_type.info().is_some() { self.nbytes(value, tensor) } else { 0 };
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
            // A view has the bytes of its base, also if its offset is explicit, as in a file.
            if !views[value] {
                self.unshared = self.unshared.saturating_add(size);
            }
            self.explicit.entry(pool).and_modify(|room| *room = end.max(*room)).or_insert(end);
            self.grow(pool, end);
            self.set_device(value, pool, tensor.device());
        }
    }

    /// Adopts the places of shared state. The exporter adds no padding to its pools; explicit padding is added to all
    /// pools.
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
        // Explicit devices replace the computed ones.
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
        // Pools of the CPU are numbered from 1. The pools of each other device follow the previous ones.
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
        let has_parts = self.request.planner != MemoryPlanner::Naive && !self.lifetimes.regions().is_whole();
        if !other_device && has_parts {
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

    /// Places the tensors of the parts of the method. Each part is placed separately, above the parts inside it.
    /// Returns the requests of the method itself, which is placed above all of them: `reserved` is raised to their
    /// size.
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

    /// Inserts the inputs of a body before its other tensors.
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

    /// Returns, by part, `true` if the part itself calls an XNNPACK delegate.
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

    /// Returns the padding of a part of the method in bytes. The exporter adds its default padding only in the greedy
    /// algorithm.
    fn padding(&self, calls_xnnpack: bool) -> u64 {
        let default = match self.request.planner {
            MemoryPlanner::Greedy | MemoryPlanner::GreedyNoOverlap | MemoryPlanner::Minimal if calls_xnnpack => {
                XNNPACK_PADDING
            }
            MemoryPlanner::Greedy | MemoryPlanner::GreedyNoOverlap | MemoryPlanner::Minimal | MemoryPlanner::Naive => 0,
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
            MemoryPlanner::Minimal => minimal::plan(requests, self.alignment, reserved, padding),
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

    /// Returns, by pool, the number of bytes at its start that planned tensors must not use: those that the method
    /// reserves, and those up to the end of tensors with explicit offsets.
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

    /// Returns the requests of write-backs. For each buffer or input that `copy_` writes back at the end, the exporter
    /// plans one more tensor: the result of that call, which is only live at the outputs. It is not a value of the
    /// program.
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
        .map(|(pool, device)| NonConstBufferDevice::new(*pool as i32, *device))
        .collect();
    (!list.is_empty()).then_some(list)
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
