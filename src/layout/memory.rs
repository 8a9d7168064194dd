//! Where each tensor of a method lies in planned memory, and how large the pools are (runtime-rules.md, section 10).
//!
//! Finds out what is to be planned and how long it lives; the algorithm itself is `super::greedy`. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::greedy::{self, Request};
use super::{LayoutError, Locus, align_up};
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, NonConstBufferDevice, Tensor, TensorData};
use crate::schema::operators::{self, Role};

/// The exporter's default alignment of planned tensors, in bytes.
pub const DEFAULT_ALIGNMENT: u64 = 16;

/// What the exporter adds behind each used pool of a method that calls an XNNPACK delegate (10.3).
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
    /// Bytes all planned tensors would need without sharing.
    pub unshared: u64,
}

type Device = (i8, i8);

/// Plans the memory of method number `method`.
///
/// # Errors
/// Sizes that cannot be computed or exceed what can be addressed, explicit places that overlap or do not fit, and what
/// the exporter's planner refuses, too; all that are found.
pub fn plan(method: usize, plan: &ExecutionPlan) -> Result<MemoryPlan, Vec<LayoutError>> {
    let lifetimes = lifetimes(plan);
    let mut planning = Planning::new(method, plan, &lifetimes);
    planning.place_explicit();
    for (device, group) in planning.automatic() {
        planning.place_automatic(device, group);
    }
    planning.place_views();
    planning.finish()
}

struct Planning<'a> {
    method: usize,
    plan: &'a ExecutionPlan,
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
    fn new(method: usize, plan: &'a ExecutionPlan, lifetimes: &'a Lifetimes) -> Planning<'a> {
        Planning {
            method,
            plan,
            lifetimes,
            alignment: plan.memory.alignment.unwrap_or(DEFAULT_ALIGNMENT),
            places: vec![None; plan.values().len()],
            sizes: vec![0],
            devices: BTreeMap::new(),
            explicit: BTreeMap::new(),
            unshared: 0,
            errors: Vec::new(),
        }
    }

    fn error(&mut self, value: usize, message: String) {
        self.errors.push(LayoutError::new(Locus::Value(self.method, value), message));
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
            let Memory::At { pool, offset } = tensor.memory else { continue };
            let size = self.nbytes(value, tensor);
            let Some(end) = offset.checked_add(size).and_then(|end| align_up(end, self.alignment)) else {
                self.error(value, format!("offset {offset} plus {size} bytes is beyond what can be addressed"));
                continue;
            };
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
                        Locus::Value(self.method, stay.value),
                        format!(
                            "bytes {}..{} of pool {pool} overlap bytes {offset}..{end} of another tensor that is alive at the same time",
                            stay.offset, stay.end
                        ),
                    )
                    .with_related(Locus::Value(self.method, other.value), "the other tensor"),
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

    /// The tensors to plan by device, the CPU first (10.5).
    fn automatic(&mut self) -> BTreeMap<Device, Vec<usize>> {
        let mut groups: BTreeMap<Device, Vec<usize>> = BTreeMap::new();
        for (value, tensor) in self.plan.tensors() {
            // What has no bound is allocated by the runtime (10.1).
            if matches!(tensor.memory, Memory::Auto { .. }) && tensor.shape_dynamism != 2 {
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
            let Memory::Auto { pool, .. } = tensor.memory else { continue };
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
        self.plan.memory.padding.unwrap_or_else(|| default_padding(self.plan))
    }

    fn place_views(&mut self) {
        for (value, tensor) in self.plan.tensors() {
            let Memory::View { base } = tensor.memory else { continue };
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
        for (pool, size) in self.plan.memory.reserved.iter().enumerate() {
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
            Some(EValue::Tensor(tensor)) => tensor.memory == Memory::None && tensor.data == TensorData::None,
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
            // At least [0, 0] (10.5); a constant method has [0] (E-2).
            self.grow(1, 0);
        }
        let mut sizes = Vec::with_capacity(self.sizes.len());
        for (pool, size) in self.sizes.iter().enumerate() {
            sizes.push(i64::try_from(*size).unwrap_or_else(|_| {
                self.errors.push(LayoutError::new(
                    Locus::Method(self.method),
                    format!("pool {pool} needs {size} bytes, more than a file can state"),
                ));
                0
            }));
        }
        if let Some(given) = &self.plan.memory.non_const_buffer_sizes {
            self.check_given(given);
            sizes.clone_from(given);
        } else if let Some((value, (pool, _))) =
            self.places.iter().enumerate().find_map(|(v, p)| p.filter(|p| p.0 as usize > MAX_POOLS).map(|p| (v, p)))
        {
            self.error(
                value,
                format!("pool {pool} is beyond the {MAX_POOLS} that are computed; state `non_const_buffer_sizes`"),
            );
        }
        let devices = match &self.plan.memory.non_const_buffer_device {
            Some(given) => Some(given.clone()),
            None => computed_devices(&self.devices),
        };
        if self.errors.is_empty() {
            Ok(MemoryPlan { places: self.places, sizes, devices, unshared: self.unshared })
        } else {
            Err(self.errors)
        }
    }

    /// Rule T-21, T-23: each tensor must lie inside the pool that the file states.
    fn check_given(&mut self, given: &[i64]) {
        if let Some(size) = given.iter().find(|size| **size < 0) {
            let message = format!("a buffer cannot have {size} bytes: see `non_const_buffer_sizes`");
            self.errors.push(LayoutError::new(Locus::Method(self.method), message));
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

fn instructions(plan: &ExecutionPlan) -> impl Iterator<Item = &Instruction> {
    plan.chains.iter().flatten().flat_map(|chain| chain.instructions.iter().flatten())
}

fn value_at(plan: &ExecutionPlan, index: i32) -> Option<&EValue> {
    plan.values().get(usize::try_from(index).ok()?)
}

/// When each value is needed. Time 0 is before the first instruction, instruction `i` is at `i + 1`, and the outputs
/// are taken at the end.
struct Lifetimes {
    spans: Vec<Option<(u32, u32)>>,
    end: u32,
    /// Buffers and inputs that are written in place, in the order of the last writes.
    write_backs: Vec<usize>,
}

impl Lifetimes {
    /// First and last moment; a value that nothing mentions is there at the start only.
    fn of(&self, value: usize) -> (u32, u32) {
        self.spans[value].unwrap_or((0, 0))
    }

    fn touch(&mut self, value: i32, time: u32) {
        let Ok(index) = usize::try_from(value) else { return };
        let Some(span) = self.spans.get_mut(index) else { return };
        let (start, end) = span.unwrap_or((time, time));
        *span = Some((start.min(time), end.max(time)));
    }

    /// Whoever uses a view uses its base.
    fn touch_bases(&mut self, plan: &ExecutionPlan) {
        for (view, tensor) in plan.tensors() {
            if let (Memory::View { base }, Some((start, end))) = (tensor.memory, self.spans[view]) {
                self.touch(base as i32, start);
                self.touch(base as i32, end);
            }
        }
    }

    /// Whoever uses a list uses its tensors.
    fn touch_items(&mut self, plan: &ExecutionPlan) {
        for (list, value) in plan.values().iter().enumerate() {
            let (EValue::TensorList(Some(items)) | EValue::OptionalTensorList(Some(items))) = value else { continue };
            let Some((start, end)) = self.spans[list] else { continue };
            for item in items {
                self.touch(*item, start);
                self.touch(*item, end);
            }
        }
    }
}

fn lifetimes(plan: &ExecutionPlan) -> Lifetimes {
    let count = instructions(plan).count() as u32;
    let mut lifetimes = Lifetimes { spans: vec![None; plan.values().len()], end: count + 1, write_backs: Vec::new() };
    let inputs: BTreeSet<i32> = plan.inputs.iter().flatten().copied().collect();
    for input in &inputs {
        lifetimes.touch(*input, 0);
    }
    let mut walk = Walk { loops: Vec::new(), branches: Vec::new(), first: vec![Mention::None; plan.values().len()] };
    let roles = Roles::new(plan);
    let mut last_writes: BTreeMap<usize, u32> = BTreeMap::new();
    let mut time = 0;
    for chain in plan.chains.iter().flatten() {
        let first = time + 1;
        for instruction in chain.instructions.iter().flatten() {
            time += 1;
            walk.branches.retain(|(_, end)| *end > time);
            match instruction {
                Instruction::KernelCall { op_index, args } => {
                    for (position, arg) in args.iter().flatten().enumerate() {
                        let role = roles.role(*op_index, position);
                        walk.note(*arg, role);
                        lifetimes.touch(*arg, time);
                        if role == Some(Role::InPlace) && roles.returns(*op_index) && walk.first(*arg) != Mention::Made
                        {
                            usize::try_from(*arg).into_iter().for_each(|target| _ = last_writes.insert(target, time));
                        }
                    }
                }
                Instruction::DelegateCall { args, .. } => {
                    for arg in args.iter().flatten() {
                        walk.note(*arg, None);
                        lifetimes.touch(*arg, time);
                    }
                }
                Instruction::MoveCall { move_from, move_to } => {
                    lifetimes.touch(*move_from, time);
                    walk.note(*move_to, Some(Role::Out));
                    lifetimes.touch(*move_to, time);
                    // What branches merge into is there from the jump in front of them (E-10).
                    if let Some((jump, _)) = walk.branches.last() {
                        lifetimes.touch(*move_to, *jump);
                    }
                }
                Instruction::JumpFalseCall { cond_value_index, destination_instruction } => {
                    lifetimes.touch(*cond_value_index, time);
                    let destination = u32::try_from(*destination_instruction).unwrap_or(u32::MAX).saturating_add(first);
                    if destination <= time {
                        walk.loops.push((destination, time));
                    } else {
                        walk.branches.push((time, destination));
                    }
                }
                Instruction::FreeCall { value_index } => lifetimes.touch(*value_index, time),
            }
        }
        walk.branches.clear();
    }
    lifetimes.write_backs = write_backs(plan, &last_writes);
    let written_back: BTreeSet<usize> = lifetimes.write_backs.iter().copied().collect();
    for output in plan.outputs.iter().flatten() {
        // An input that is written back is taken at its write-back, not at the end: the caller has it already.
        let index = usize::try_from(*output).unwrap_or(usize::MAX);
        if !(inputs.contains(output) && written_back.contains(&index)) {
            lifetimes.touch(*output, count + 1);
        }
    }
    lifetimes.touch_items(plan);
    lifetimes.touch_bases(plan);
    for (value, tensor) in plan.tensors() {
        if let Memory::Auto { persistent: true, .. } = tensor.memory {
            lifetimes.spans[value] = Some((0, count + 1));
        }
    }
    lifetimes.carry_around_loops(walk.loops, &walk.first);
    lifetimes
}

/// What is seen on the way through the instructions.
struct Walk {
    /// Head and jump back, as times.
    loops: Vec<(u32, u32)>,
    /// Jump and destination of the branches that are open, as times.
    branches: Vec<(u32, u32)>,
    /// How each value is first mentioned.
    first: Vec<Mention>,
}

/// How a value is first mentioned by an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mention {
    /// Not at all.
    None,
    /// As a result.
    Made,
    /// Read before any instruction writes it.
    Read,
}

impl Walk {
    /// Notes a mention; what operators that nobody knows mention first is taken for a result.
    fn note(&mut self, value: i32, role: Option<Role>) {
        if let Some(first @ Mention::None) = usize::try_from(value).ok().and_then(|value| self.first.get_mut(value)) {
            let made = role.is_none_or(|role| role == Role::Out);
            *first = if made { Mention::Made } else { Mention::Read };
        }
    }

    fn first(&self, value: i32) -> Mention {
        usize::try_from(value).ok().and_then(|value| self.first.get(value)).copied().unwrap_or(Mention::None)
    }
}

/// Tensors written in place, in the order of the last writes.
fn write_backs(plan: &ExecutionPlan, last_writes: &BTreeMap<usize, u32>) -> Vec<usize> {
    let mut targets: Vec<(u32, usize)> = last_writes
        .iter()
        .filter(|(target, _)| matches!(plan.values().get(**target), Some(EValue::Tensor(_))))
        .map(|(target, time)| (*time, *target))
        .collect();
    targets.sort_unstable();
    targets.into_iter().map(|(_, target)| target).collect()
}

impl Lifetimes {
    /// What is made before a loop and used in it is needed until the loop's last jump back; what a loop reads before
    /// it writes it is carried from one round to the next. The exporter unrolls no loops into a plan, so it has no such
    /// rule, and without backward jumps this changes nothing.
    fn carry_around_loops(&mut self, mut loops: Vec<(u32, u32)>, first: &[Mention]) {
        if loops.is_empty() {
            return;
        }
        loops.sort_unstable();
        // For each loop head the farthest jump back to it or to a head before it that covers it: regions of loops.
        let mut regions: Vec<(u32, u32)> = Vec::new();
        for &(head, jump) in &loops {
            match regions.last_mut() {
                Some(region) if head <= region.1 => region.1 = region.1.max(jump),
                _ => regions.push((head, jump)),
            }
        }
        let region_of = |time: u32| {
            let candidate = regions[..regions.partition_point(|(head, _)| *head <= time)].last();
            candidate.filter(|(_, jump)| time <= *jump).copied()
        };
        let farthest = FarthestJump::new(&loops);
        for (value, span) in self.spans.iter_mut().enumerate() {
            let Some((start, end)) = span else { continue };
            if first[value] == Mention::Read
                && *start > 0
                && let Some((head, jump)) = region_of(*start)
            {
                (*start, *end) = ((*start).min(head), (*end).max(jump));
            }
            for round in 0.. {
                let Some(jump) = farthest.between(*start + 1, *end).filter(|jump| *jump > *end) else { break };
                *end = jump;
                if round == 64 {
                    // Loops that overlap like tiles: the end of them all is safe.
                    *end = region_of(*end).map_or(*end, |region| region.1);
                }
            }
        }
    }
}

/// The farthest backward jump to a head in an interval.
struct FarthestJump {
    heads: Vec<u32>,
    /// `levels[k][i]`: farthest jump to heads `i .. i + 2^k`.
    levels: Vec<Vec<u32>>,
}

impl FarthestJump {
    fn new(loops: &[(u32, u32)]) -> FarthestJump {
        let mut levels = vec![loops.iter().map(|(_, jump)| *jump).collect::<Vec<_>>()];
        let mut width = 1;
        while 2 * width <= loops.len() {
            let below = &levels[levels.len() - 1];
            levels.push((0..=loops.len() - 2 * width).map(|i| below[i].max(below[i + width])).collect());
            width *= 2;
        }
        FarthestJump { heads: loops.iter().map(|(head, _)| *head).collect(), levels }
    }

    fn between(&self, first: u32, last: u32) -> Option<u32> {
        let low = self.heads.partition_point(|head| *head < first);
        let high = self.heads.partition_point(|head| *head <= last);
        let count = high.checked_sub(low).filter(|count| *count > 0)?;
        let level = count.ilog2() as usize;
        Some(self.levels[level][low].max(self.levels[level][high - (1 << level)]))
    }
}

/// What the operators of a method do with their arguments, by their index.
struct Roles(Vec<Option<(Vec<Role>, bool)>>);

impl Roles {
    fn new(plan: &ExecutionPlan) -> Roles {
        let of = |operator: &crate::program::Operator| {
            let name = operator.name.as_deref()?;
            let signature = match operator.overload.as_deref() {
                None | Some("") => operators::find(name),
                Some(overload) => operators::find(&format!("{name}.{overload}")),
            }?;
            Some((signature.args.iter().map(|arg| arg.role).collect(), signature.result.is_some()))
        };
        Roles(plan.operators.iter().flatten().map(of).collect())
    }

    fn of(&self, op_index: i32) -> Option<&(Vec<Role>, bool)> {
        self.0.get(usize::try_from(op_index).ok()?)?.as_ref()
    }

    /// What the operator does with the argument at a position; a result behind the arguments is an out. `None` if the
    /// operator is not known.
    fn role(&self, op_index: i32, position: usize) -> Option<Role> {
        self.of(op_index).map(|(roles, _)| roles.get(position).copied().unwrap_or(Role::Out))
    }

    /// Whether the operator is one without outs that returns a result.
    fn returns(&self, op_index: i32) -> bool {
        self.of(op_index).is_some_and(|(_, result)| *result)
    }
}
