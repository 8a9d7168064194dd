//! Computes the memory that a program needs: planned memory over time, allocators, buffers of the caller, files in RAM,
//! and the totals. `pte-emit` plans memory.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::allocator::{self, Abi, LoadedMemory, RuntimeKind, loaded_memory};
use super::boundary::BoundaryBuffers;
use super::delegates::{DelegateFootprint, DelegateHeap, HeapShare, KnownMemory, footprints, heap};
use super::labels::{Labels, event};
use super::loading::{LoadedMethod, LoadedProgram};
use super::subject::Subject;
use super::sweep::{Use, used_bytes};
use super::temporary::TemporaryAllocator;
use super::totals::MemoryTotal;
use pte_model::program::memory_plan::{DEFAULT_ALIGNMENT, MemoryPlan, XNNPACK_PADDING, calls_xnnpack};
use pte_model::program::{Device, ExecutionPlan, Program};
use pte_payload::memory::Processor;

/// Version of the serialised form.
pub(crate) const VERSION: u32 = 4;

/// Memory that a program needs, as a list of [`MethodFootprint`]: the result of [`ProgramMemory::new`].
///
/// ```
/// use pte_memory::Subject;
/// use pte_memory::allocator::RuntimeKind;
/// use pte_memory::loading::LoadedProgram;
/// use pte_memory::memory::ProgramMemory;
/// use pte_model::data::Origin;
/// use pte_model::program::MemoryPlan;
/// use pte_model::reader;
///
/// let file = Origin::Bytes(pte_model::LINEAR_PTE.into());
/// let contents = reader::program::read(&file)?;
/// let loaded = LoadedProgram::new(&contents, file.len()?);
/// let program = contents.program;
/// let plans: Vec<MemoryPlan> = program.plans().iter().map(MemoryPlan::stated).collect();
/// let subject = Subject::new(&program, &plans, Vec::new(), Vec::new());
/// let memory = ProgramMemory::new(&subject, loaded, RuntimeKind::default());
/// let forward = &memory.methods[0];
/// assert_eq!((forward.planned, forward.temporary_allocator.bytes), (80, 280));
/// assert_eq!(memory.total.bytes, 80 + 280 + forward.method_allocator.bytes);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProgramMemory {
    /// Version of the serialised form: it grows when a key changes.
    #[cfg_attr(feature = "schema", schemars(extend("const" = VERSION)))]
    pub version: u32,
    /// Binary interface that the sizes of the method allocator are for.
    pub abi: Abi,
    /// Processor that the memory of delegates is for.
    pub processor: Processor,
    /// Bytes of the files that are in RAM as long as the program, if a loader reads them there.
    pub loaded: LoadedProgram,
    /// Total of all methods at once.
    pub total: MemoryTotal,
    /// Largest total of a method; [`MemoryTotal::with_files`] includes the program.
    pub largest_method: MemoryTotal,
    /// Methods in the order of the program.
    pub methods: Vec<MethodFootprint>,
}

/// Memory of a method, part of [`ProgramMemory`].
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodFootprint {
    /// Name; empty if it has none.
    pub name: String,
    /// Size of all pools in bytes.
    pub planned: u64,
    /// Pools that are not empty, in the order of their numbers.
    pub pools: Vec<MemoryPool>,
    /// Number of pools, with those that are empty.
    #[serde(skip)]
    pub pool_count: usize,
    /// Label of each instruction: the operator, the backend, or the kind of the instruction. Long names are truncated.
    pub instructions: Vec<String>,
    /// Memory that loading the method takes from the method allocator.
    pub method_allocator: MethodAllocator,
    /// Memory that loading and executing the method take from the temporary allocator.
    pub temporary_allocator: TemporaryAllocator,
    /// Tensors among the inputs.
    pub inputs: BoundaryBuffers,
    /// Tensors among the outputs.
    pub outputs: BoundaryBuffers,
    /// Memory that its delegates take, in the order of the program.
    pub delegates: Vec<DelegateFootprint>,
    /// Bytes that its delegates take from the heap, of those that are counted.
    pub delegate_bytes: u64,
    /// Bytes of the files that are in RAM as long as the method, if a loader reads them there.
    pub loaded: LoadedMethod,
    /// Total, without [`ProgramMemory::loaded`].
    pub total: MemoryTotal,
    /// Backends whose own memory the total does not contain, or not all of it.
    pub not_counted: Vec<String>,
}

/// Memory that loading a method takes from the method allocator of the runtime, part of [`MethodFootprint`]. The start
/// of its memory is aligned to 16 bytes.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodAllocator {
    /// Bytes with a temporary allocator that has room for the metadata of the arguments of each call.
    pub bytes: u64,
    /// Bytes without a temporary allocator.
    pub without_temporary_allocator: u64,
    /// Both numbers are lower bounds, because [`MethodAllocator::unknown_backends`] may take more.
    pub at_least: bool,
    /// Backends whose allocations are not known.
    pub unknown_backends: Vec<String>,
}

/// Pool of planned memory (an item of `non_const_buffer_sizes`), part of [`MethodFootprint`].
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MemoryPool {
    /// `memory_id`, from 1.
    #[cfg_attr(feature = "schema", schemars(range(min = 1)))]
    pub pool: usize,
    /// Device, such as `cpu`.
    pub device: String,
    /// Size in bytes; 0 if the program states a negative size.
    pub bytes: u64,
    /// The sizes are lower bounds: that of the pool is negative, or that of a tensor in it is not known.
    pub at_least: bool,
    /// Alignment in bytes of its start, which the offsets of the exporter presuppose.
    pub alignment: u64,
    /// Total size in bytes of its tensors, which is the size that the pool would have without sharing.
    pub unshared: u64,
    /// Bytes after the end of the last tensor: for alignment, and those that the exporter adds.
    pub padding: u64,
    /// The exporter added 64 bytes of the padding for XNNPACK.
    pub padding_for_xnnpack: bool,
    /// Maximum number of bytes that are alive at once. No plan can need less.
    pub lower_bound: u64,
    /// First time at which [`MemoryPool::lower_bound`] bytes are alive.
    pub peak: MemoryPeak,
    /// Times at which the number of live bytes changes, from 0 on, each with the number of bytes from then on. Time 0
    /// is before the first instruction, and instruction `n`, counted from 0 through all chains, is at time `n + 1`. At
    /// the last time, the outputs are read.
    pub timeline: Vec<(u32, u64)>,
    /// Tensors that are not views, sorted by offset.
    pub tensors: Vec<PlannedTensor>,
}

impl MemoryPool {
    /// Bytes that the exporter adds to a pool of a method that calls XNNPACK, see [`MemoryPool::padding_for_xnnpack`].
    ///
    /// ```
    /// use pte_memory::memory::MemoryPool;
    ///
    /// assert_eq!(MemoryPool::XNNPACK_PADDING, 64);
    /// ```
    pub const XNNPACK_PADDING: u64 = XNNPACK_PADDING;
}

/// Time at which the most bytes of a [`MemoryPool`] are alive.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MemoryPeak {
    /// Time, counted as in [`MemoryPool::timeline`].
    pub time: usize,
    /// Description of this time: an instruction with its operator, or the access to the inputs or outputs.
    pub event: String,
}

/// Tensor in planned memory that is not a view of another one, part of a [`MemoryPool`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct PlannedTensor {
    /// Index of the value.
    pub value: usize,
    /// Name in the YAML.
    pub name: String,
    /// Element type and sizes: `float32 [2, 3]`.
    #[serde(rename = "type")]
    pub shape: String,
    /// Offset in the pool in bytes.
    pub offset: u64,
    /// Size in bytes, which is an upper bound for a dynamic tensor; 0 if it is not known.
    pub bytes: u64,
    /// First and last time at which it is alive; `None` if nothing uses it.
    pub alive: Option<(u32, u32)>,
}

/// Returns true if a tensor of the program is in a `.ptd` file.
pub fn needs_data_files(program: &Program) -> bool {
    program.plans().iter().any(|plan| plan.tensors().any(|(_, tensor)| tensor.is_external()))
}

impl MethodFootprint {
    /// Returns the sizes in bytes of the pools by their numbers, from 1, with those that are empty.
    ///
    /// ```
    /// use pte_memory::memory::{MemoryPool, MethodFootprint};
    ///
    /// let (mut method, mut second) = (MethodFootprint::default(), MemoryPool::default());
    /// (second.pool, second.bytes) = (2, 48);
    /// method.pools.push(second);
    /// assert_eq!(method.pool_sizes(), [0, 48]);
    /// ```
    pub fn pool_sizes(&self) -> Vec<u64> {
        let mut sizes = vec![0; self.pools.iter().map(|pool| pool.pool).max().unwrap_or(0)];
        for pool in &self.pools {
            pool.pool
                .checked_sub(1)
                .and_then(|index| sizes.get_mut(index))
                .into_iter()
                .for_each(|size| *size = pool.bytes);
        }
        sizes
    }

    /// Computes all but the total.
    pub(crate) fn new<'p>(
        subject: &Subject<'p>,
        method: usize,
        plan: &'p ExecutionPlan,
        runtime: RuntimeKind,
        known: &mut KnownMemory<'p>,
    ) -> MethodFootprint {
        let RuntimeKind { external, abi, processor } = runtime;
        let delegates = footprints(subject, method, plan, processor, known);
        let DelegateHeap { bytes: delegate_bytes, not_counted } = DelegateHeap::of(&delegates);
        let is_unknown = |backend: &&String| !allocator::is_known(backend);
        let unknown_backends: BTreeSet<&String> =
            delegates.iter().map(|delegate| &delegate.backend).filter(is_unknown).collect();
        let labels = Labels::new(plan);
        let instructions: Vec<String> =
            plan.instructions().map(|instruction| labels.of(instruction).to_owned()).collect();
        let pools = pools(subject, method, plan, &instructions);
        let LoadedMemory { bytes, without_temporary, is_lower_bound } =
            loaded_memory(subject.program, plan, external, abi);
        let operators = &subject.methods[method].operators;
        let temporary_allocator = TemporaryAllocator::new(plan, operators, &delegates, &instructions, abi);
        MethodFootprint {
            name: plan.name.clone().unwrap_or_default(),
            planned: pools.iter().map(|pool| pool.bytes).fold(0, u64::saturating_add),
            pools,
            pool_count: subject.memory.get(method).map_or(0, |memory| memory.sizes.len().saturating_sub(1)),
            instructions,
            method_allocator: MethodAllocator {
                bytes,
                without_temporary_allocator: without_temporary,
                at_least: is_lower_bound,
                unknown_backends: unknown_backends.into_iter().cloned().collect(),
            },
            temporary_allocator,
            inputs: BoundaryBuffers::inputs(subject, method, plan),
            outputs: BoundaryBuffers::outputs(subject, method, plan),
            loaded: LoadedMethod::new(subject.program, plan, &delegates),
            total: MemoryTotal::default(),
            not_counted,
            delegate_bytes,
            delegates,
        }
    }

    /// Returns the parts of [`MethodFootprint::delegate_bytes`].
    pub fn heap_shares(&self) -> Vec<HeapShare<'_>> {
        heap(&self.delegates)
    }
}

fn pools(subject: &Subject<'_>, method: usize, plan: &ExecutionPlan, instructions: &[String]) -> Vec<MemoryPool> {
    let empty = MemoryPlan::default();
    let memory = subject.memory.get(method).unwrap_or(&empty);
    let Some(execution) = subject.executions.get(method) else { return Vec::new() };
    let end = plan.instructions().count() as u32 + 1;
    let mut tensors: BTreeMap<usize, Vec<PlannedTensor>> = BTreeMap::new();
    let mut ends: BTreeMap<usize, u64> = BTreeMap::new();
    let mut have_unknown: BTreeSet<usize> = BTreeSet::new();
    for (value, tensor) in plan.tensors() {
        let Some(Some((pool, offset))) = memory.places.get(value) else { continue };
        if tensor.nbytes().is_none() {
            have_unknown.insert(*pool as usize);
        }
        let bytes = tensor.nbytes().unwrap_or(0);
        let end = ends.entry(*pool as usize).or_default();
        *end = offset.saturating_add(bytes).max(*end);
        if execution.is_alias[value] {
            continue;
        }
        tensors.entry(*pool as usize).or_default().push(PlannedTensor {
            value,
            name: subject.value_name(method, value),
            shape: super::subject::shape(tensor),
            offset: *offset,
            bytes,
            alive: execution.times[value],
        });
    }
    let calls_xnnpack = calls_xnnpack(plan);
    let device = |number: usize| {
        let devices = memory.devices.as_deref().unwrap_or_default();
        let device =
            devices.iter().find(|device| usize::try_from(device.buffer_idx).is_ok_and(|index| index == number));
        device.map_or(Device::CPU, |device| device.device()).to_string()
    };
    let pool = |(number, size): (usize, &i64)| {
        let mut tensors = tensors.remove(&number).unwrap_or_default();
        let bytes = u64::try_from(*size).unwrap_or(0);
        if *size == 0 && tensors.is_empty() {
            return None;
        }
        tensors.sort_by_key(|tensor| (tensor.offset, tensor.value));
        let end_of_tensors = ends.get(&number).copied().unwrap_or(0);
        let aligned = end_of_tensors.checked_next_multiple_of(DEFAULT_ALIGNMENT).unwrap_or(u64::MAX);
        let used = |tensor: &PlannedTensor| {
            let bytes = tensor.offset..tensor.offset.saturating_add(tensor.bytes);
            Some(Use { bytes, times: tensor.alive? })
        };
        let timeline = used_bytes(&tensors.iter().filter_map(used).collect::<Vec<_>>(), end);
        let most = timeline.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
        let peak = timeline.iter().find(|(_, bytes)| *bytes == most).map_or(0, |(time, _)| *time as usize);
        Some(MemoryPool {
            pool: number,
            device: device(number),
            bytes,
            at_least: *size < 0 || have_unknown.contains(&number),
            alignment: DEFAULT_ALIGNMENT,
            unshared: tensors.iter().map(|tensor| tensor.bytes).fold(0, u64::saturating_add),
            peak: MemoryPeak { time: peak, event: event(instructions, peak) },
            lower_bound: most,
            timeline,
            padding: bytes.saturating_sub(end_of_tensors),
            padding_for_xnnpack: calls_xnnpack && bytes.checked_sub(aligned) == Some(XNNPACK_PADDING),
            tensors,
        })
    };
    memory.sizes.iter().enumerate().skip(1).filter_map(pool).collect()
}
