//! Where each tensor of a method lies in planned memory, and how large the pools are (docs/format.md, "Memory planner").
//!
//! Finds out what is to be planned; how long it lives is `super::lifetimes`' business, the algorithm `super::greedy`'s. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::greedy::{self, Request};
use super::lifetimes::{Lifetimes, instructions, lifetimes, value_at};
use super::{LayoutError, align_up};
use crate::program::element::{Element, Part};
use crate::program::{
    EValue, ExecutionPlan, Instruction, Memory, MemoryRequest, NonConstBufferDevice, Tensor, TensorData,
};

/// The exporter's default alignment of planned tensors, in bytes.
pub const DEFAULT_ALIGNMENT: u64 = 16;

/// What the exporter adds behind each used pool of a method that calls an XNNPACK delegate (docs/format.md, "Sizes and padding").
const XNNPACK_PADDING: u64 = 64;

/// The planned memory of a method.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MemoryPlan {
    /// For each value its pool (`memory_id`) and offset, if it has planned memory.
    pub places: Vec<Option<(u32, u64)>>,
    /// `non_const_buffer_sizes`; index 0 is reserved.
    pub sizes: Vec<i64>,
    /// `non_const_buffer_device`; absent if everything is on the CPU.
    pub devices: Option<Vec<NonConstBufferDevice>>,
    /// Bytes all planned tensors would need without sharing; 0 if nothing was planned.
    pub unshared: u64,
}

impl MemoryPlan {
    /// The plan of a method that states its places, sizes and devices itself, as one read from a file does.
    pub fn stated(plan: &ExecutionPlan) -> MemoryPlan {
        let place = |value: &EValue| match value {
            EValue::Tensor(tensor) => match tensor.memory {
                Memory::At { pool, offset } => Some((pool, offset)),
                _ => None,
            },
            _ => None,
        };
        MemoryPlan {
            places: plan.values().iter().map(place).collect(),
            sizes: plan.memory.non_const_buffer_sizes.clone().unwrap_or_default(),
            devices: plan.memory.non_const_buffer_device.clone(),
            unshared: 0,
        }
    }

    /// Whether a method states these places, sizes and devices.
    pub fn is_stated_by(&self, plan: &ExecutionPlan) -> bool {
        let stated = MemoryPlan::stated(plan);
        (&self.places, &self.sizes, &self.devices) == (&stated.places, &stated.sizes, &stated.devices)
    }
}

type Device = (i8, i8);

/// Plans the memory of method number `method`.
///
/// # Errors
/// Sizes that cannot be computed or exceed what can be addressed, explicit places that overlap or do not fit, and what
/// the exporter's planner refuses, too; all that are found.
pub fn plan(method: usize, plan: &ExecutionPlan) -> Result<MemoryPlan, Vec<LayoutError>> {
    plan_as(method, plan, &wishes(plan), &plan.memory)
}

/// Plans as if the values and the method asked for this memory, rather than for that which they state.
///
/// # Errors
/// As [`plan`].
pub fn plan_as(
    method: usize,
    plan: &ExecutionPlan,
    wishes: &[Memory],
    request: &MemoryRequest,
) -> Result<MemoryPlan, Vec<LayoutError>> {
    let lifetimes = lifetimes(plan, wishes);
    let mut planning = Planning::new(method, plan, wishes, request, &lifetimes);
    planning.place_explicit();
    for (device, group) in planning.automatic() {
        planning.place_automatic(device, group);
    }
    planning.place_views();
    planning.finish()
}

/// What each value asks for; nothing if it is no tensor.
fn wishes(plan: &ExecutionPlan) -> Vec<Memory> {
    let wish = |value: &EValue| match value {
        EValue::Tensor(tensor) => tensor.memory,
        _ => Memory::None,
    };
    plan.values().iter().map(wish).collect()
}

struct Planning<'a> {
    method: usize,
    plan: &'a ExecutionPlan,
    /// What each value asks for.
    wishes: &'a [Memory],
    request: &'a MemoryRequest,
    lifetimes: &'a Lifetimes,
    alignment: u64,
    places: Vec<Option<(u32, u64)>>,
    /// Sizes of the pools so far; index 0 is reserved.
    sizes: Vec<u64>,
    devices: BTreeMap<u32, Device>,
    /// For each pool the end of what is placed by hand.
    explicit: BTreeMap<u32, u64>,
    unshared: u64,
    errors: Vec<LayoutError>,
}

impl<'a> Planning<'a> {
    fn new(
        method: usize,
        plan: &'a ExecutionPlan,
        wishes: &'a [Memory],
        request: &'a MemoryRequest,
        lifetimes: &'a Lifetimes,
    ) -> Planning<'a> {
        Planning {
            method,
            plan,
            wishes,
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

    fn error(&mut self, value: usize, message: String) {
        self.errors.push(LayoutError::new(Element::Method(self.method, Part::Value(value)), message));
    }

    fn nbytes(&mut self, value: usize, tensor: &Tensor) -> u64 {
        tensor.nbytes().unwrap_or_else(|| {
            let why = match tensor.scalar_type.info() {
                None => format!("{} is no known element type", tensor.scalar_type),
                Some(_) => "its sizes make more bytes than can be counted".into(),
            };
            self.error(value, format!("the tensor cannot be placed in memory: {why}"));
            0
        })
    }

    /// Takes over the places that the text states, and checks that no two of them overlap at a time.
    fn place_explicit(&mut self) {
        let mut taken: BTreeMap<u32, Vec<Stay>> = BTreeMap::new();
        for (value, tensor) in self.plan.tensors() {
            let Memory::At { pool, offset } = self.wishes[value] else { continue };
            let size = self.nbytes(value, tensor);
            let Some(end) = offset.checked_add(size) else {
                self.error(value, format!("offset {offset} plus {size} bytes is beyond what can be addressed"));
                continue;
            };
            let end = align_up(end, self.alignment).unwrap_or(u64::MAX);
            self.places[value] = Some((pool, offset));
            self.unshared = self.unshared.saturating_add(size);
            self.explicit.entry(pool).and_modify(|room| *room = end.max(*room)).or_insert(end);
            self.grow(pool, end);
            self.set_device(value, pool, tensor.device());
            let (start, last) = self.lifetimes.of(value);
            taken.entry(pool).or_default().push(Stay { value, start, last, offset, end: offset + size });
        }
        for (pool, stays) in taken {
            self.refuse_overlaps(pool, stays);
        }
    }

    /// Two tensors may have the same offset (one is a view of the other, or the operator works in place), but not
    /// overlap in part.
    fn refuse_overlaps(&mut self, pool: u32, mut stays: Vec<Stay>) {
        stays.sort_by_key(|stay| (stay.start, stay.value));
        let mut leaving: BTreeSet<(u32, usize)> = BTreeSet::new();
        let mut present: BTreeSet<(u64, u64, usize)> = BTreeSet::new();
        for (index, stay) in stays.iter().enumerate().filter(|(_, stay)| stay.end > stay.offset) {
            while let Some(&(last, gone)) = leaving.first().filter(|(last, _)| *last < stay.start) {
                leaving.remove(&(last, gone));
                present.remove(&(stays[gone].offset, stays[gone].end, gone));
            }
            let below = present.range(..(stay.offset, 0, 0)).next_back().filter(|(_, end, _)| *end > stay.offset);
            let above = present.range((stay.offset + 1, 0, 0)..(stay.end, 0, 0)).next();
            if let Some((offset, end, other)) = below.or(above) {
                let other = &stays[*other];
                self.errors.push(
                    LayoutError::new(
                        Element::Method(self.method, Part::Value(stay.value)),
                        format!(
                            "bytes {}..{} of pool {pool} overlap bytes {offset}..{end} of another tensor that is alive at the same time",
                            stay.offset, stay.end
                        ),
                    )
                    .with_related(Element::Method(self.method, Part::Value(other.value)), "the other tensor"),
                );
            }
            leaving.insert((stay.last, index));
            present.insert((stay.offset, stay.end, index));
        }
    }

    fn grow(&mut self, pool: u32, end: u64) {
        // A pool is an index into a list: a number far beyond what is used would make the list huge.
        let index = pool as usize;
        if index >= self.sizes.len() && index <= MAX_POOLS {
            self.sizes.resize(index + 1, 0);
        }
        if let Some(size) = self.sizes.get_mut(index) {
            *size = (*size).max(end);
        }
    }

    fn set_device(&mut self, value: usize, pool: u32, device: Device) {
        if *self.devices.entry(pool).or_insert(device) != device {
            self.error(
                value,
                format!("pool {pool} holds a tensor of another device already; give this one a pool of its own"),
            );
        }
    }

    /// The tensors to plan by device, the CPU first (docs/format.md, "Pools and devices").
    fn automatic(&mut self) -> BTreeMap<Device, Vec<usize>> {
        let mut groups: BTreeMap<Device, Vec<usize>> = BTreeMap::new();
        for (value, tensor) in self.plan.tensors() {
            // What has no bound is allocated by the runtime (docs/format.md, "Planned tensors").
            if matches!(self.wishes[value], Memory::Auto { .. }) && tensor.shape_dynamism != 2 {
                groups.entry(tensor.device()).or_default().push(value);
            }
        }
        groups
    }

    fn place_automatic(&mut self, device: Device, values: Vec<usize>) {
        let elsewhere = device != (0, 0);
        // Pools count from 1 within a device; behind the first device they continue where the list ends.
        let base = if elsewhere { self.sizes.len() as u32 } else { 1 };
        let mut requests = Vec::with_capacity(values.len());
        let mut placed = Vec::with_capacity(values.len());
        for value in values {
            let EValue::Tensor(tensor) = &self.plan.values()[value] else { continue };
            let Memory::Auto { pool, .. } = self.wishes[value] else { continue };
            if elsewhere && pool.is_some() {
                self.error(
                    value,
                    "a pool can be chosen for a tensor on the CPU only; leave `pool` out, or give the offset too"
                        .into(),
                );
            }
            let pool = pool.unwrap_or(1);
            if pool == 0 || pool as usize > MAX_POOLS {
                self.error(value, format!("there is no pool {pool}; pools count from 1 to {MAX_POOLS}"));
                continue;
            }
            let (start, end) = self.lifetimes.of(value);
            placed.push(value);
            requests.push(Request { size: self.nbytes(value, tensor), start, end, pool });
        }
        self.unshared = requests.iter().fold(self.unshared, |sum, request| sum.saturating_add(request.size));
        if !elsewhere {
            requests.extend(self.write_backs());
        }
        let reserved: Vec<u64> = if elsewhere { Vec::new() } else { self.reserved() };
        match greedy::plan(&requests, self.alignment, &reserved, self.padding()) {
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
            Err(greedy::TooLarge(request)) => {
                let value = placed.get(request).or(placed.last()).copied().unwrap_or(0);
                self.error(value, "the tensors of this method need more memory than can be addressed".into());
            }
        }
    }

    fn padding(&self) -> u64 {
        self.request.padding.unwrap_or_else(|| default_padding(self.plan))
    }

    fn place_views(&mut self) {
        for (value, tensor) in self.plan.tensors() {
            let Memory::View { base } = self.wishes[value] else { continue };
            self.places[value] = self.places.get(base as usize).copied().flatten();
            let room = match self.plan.values().get(base as usize) {
                Some(EValue::Tensor(base)) => base.nbytes(),
                _ => None,
            };
            let needed = self.nbytes(value, tensor);
            if room.is_none_or(|room| room < needed) {
                self.error(
                    value,
                    format!("a view of {needed} bytes does not fit its base, which has {}", room.unwrap_or(0)),
                );
            }
        }
    }

    /// Room at the start of each pool that planned tensors must not use: what the method reserves, and up to the end
    /// of what is placed by hand.
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

    /// The exporter plans one tensor more for each buffer or input that `copy_` writes back at the end: the result of
    /// that call, alive at the output only. No value of the program is that tensor, but its room is there.
    fn write_backs(&mut self) -> Vec<Request> {
        let mut requests = Vec::new();
        let plan = self.plan;
        let unplanned_output = plan.outputs.iter().flatten().any(|output| match value_at(plan, *output) {
            Some(EValue::Tensor(tensor)) => {
                self.wishes[*output as usize] == Memory::None && tensor.data == TensorData::None
            }
            _ => false,
        });
        if unplanned_output {
            return requests;
        }
        for target in &self.lifetimes.write_backs {
            if let EValue::Tensor(tensor) = &plan.values()[*target] {
                let end = self.lifetimes.end;
                requests.push(Request { size: tensor.nbytes().unwrap_or(0), start: end, end, pool: 1 });
            }
        }
        requests
    }

    fn finish(mut self) -> Result<MemoryPlan, Vec<LayoutError>> {
        // Padding is behind whatever is in a pool, planned or placed by hand.
        let padding = self.padding();
        for (pool, end) in std::mem::take(&mut self.explicit) {
            self.grow(pool, end.saturating_add(padding));
        }
        let nothing_planned = self.places.iter().all(Option::is_none);
        let getter = self.plan.inputs.as_ref().is_none_or(Vec::is_empty) && instructions(self.plan).next().is_none();
        if nothing_planned && !getter {
            // At least [0, 0] (docs/format.md, "Pools and devices"); a constant method has [0] (E-2).
            self.grow(1, 0);
        }
        let sizes = match &self.request.non_const_buffer_sizes {
            Some(given) => {
                self.check_given(given);
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
            let message = format!("more than {MAX_POOLS} pools are not computed; state `non_const_buffer_sizes`");
            self.error(value, message);
        }
        let mut sizes = Vec::with_capacity(self.sizes.len());
        for (pool, size) in self.sizes.iter().enumerate() {
            sizes.push(i64::try_from(*size).unwrap_or_else(|_| {
                let message = format!("pool {pool} needs {size} bytes, more than a file can state");
                self.errors.push(LayoutError::new(Element::Method(self.method, Part::Whole), message));
                0
            }));
        }
        sizes
    }

    /// Rule T-21, T-23: each tensor must lie inside the pool that the file states.
    fn check_given(&mut self, given: &[i64]) {
        if let Some(size) = given.iter().find(|size| **size < 0) {
            let message = format!("a buffer cannot have {size} bytes: see `non_const_buffer_sizes`");
            self.errors.push(LayoutError::new(Element::Method(self.method, Part::Whole), message));
        }
        for (value, tensor) in self.plan.tensors() {
            let Some((pool, offset)) = self.places[value] else { continue };
            let end = offset.saturating_add(tensor.nbytes().unwrap_or(0));
            match given.get(pool as usize) {
                _ if pool == 0 => self.error(value, "pool 0 is reserved; pools count from 1".into()),
                None => self.error(
                    value,
                    format!("there is no pool {pool}: `non_const_buffer_sizes` has {} entries", given.len()),
                ),
                Some(size) if i128::from(end) > i128::from(*size) => {
                    self.error(value, format!("the tensor ends at byte {end} of pool {pool}, which has {size} bytes"));
                }
                Some(_) => {}
            }
        }
    }
}

/// More pools a method does not have: each is an entry of a list.
pub const MAX_POOLS: usize = 4096;

/// A tensor's stay at a place.
struct Stay {
    value: usize,
    start: u32,
    last: u32,
    offset: u64,
    end: u64,
}

fn computed_devices(devices: &BTreeMap<u32, Device>) -> Option<Vec<NonConstBufferDevice>> {
    let list: Vec<_> = devices
        .iter()
        .filter(|(_, device)| **device != (0, 0))
        .map(|(pool, (device_type, device_index))| NonConstBufferDevice {
            buffer_idx: *pool as i32,
            device_type: *device_type,
            device_index: *device_index,
        })
        .collect();
    (!list.is_empty()).then_some(list)
}

fn default_padding(plan: &ExecutionPlan) -> u64 {
    let xnnpack = |index: i32| {
        let delegate = usize::try_from(index).ok().and_then(|index| plan.delegates().get(index));
        delegate.and_then(|d| d.id.as_ref()).is_some_and(|id| id.to_ascii_lowercase().contains("xnnpack"))
    };
    let called = instructions(plan)
        .any(|i| matches!(i, Instruction::DelegateCall { delegate_index, .. } if xnnpack(*delegate_index)));
    if called { XNNPACK_PADDING } else { 0 }
}

#[cfg(test)]
mod tests;
