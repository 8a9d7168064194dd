//! The memory that a program needs: its planned memory over time, and what loading takes from the method allocator. Plans
//! nothing; [`crate::layout`] does.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Subject;
use super::allocator::{Abi, MethodMemory, method_memory};
use super::sweep::{Use, used_bytes};
use crate::format::program::InstructionType;
use crate::format::table::Union;
use crate::layout::MemoryPlan;
use crate::layout::memory::{DEFAULT_ALIGNMENT, XNNPACK_PADDING, calls_xnnpack};
use crate::program::instruction::Callee;
use crate::program::{Device, ExecutionPlan, Instruction};

/// Version of the JSON.
const VERSION: u32 = 3;

/// Memory of a program, by method.
#[derive(Debug)]
pub struct MethodMemories {
    /// In the order of the program.
    pub methods: Vec<MethodReport>,
    /// Binary interface that the sizes of the method allocator are for.
    pub abi: Abi,
}

/// Memory of a method.
#[derive(Debug)]
pub struct MethodReport {
    /// Name; empty if it has none.
    pub name: String,
    /// Operator of each instruction, or what else it does; of long names, the begin.
    pub instructions: Vec<String>,
    /// Pools from 1, without those that are empty.
    pub pools: Vec<Pool>,
    /// What loading takes from the method allocator.
    pub allocator: MethodMemory,
    /// Backends whose part of the method allocator is not known.
    pub unknown_backends: Vec<String>,
}

/// A pool of planned memory (an item of `non_const_buffer_sizes`).
#[derive(Debug)]
pub struct Pool {
    /// `memory_id`, from 1.
    pub number: usize,
    /// Device, such as `cpu`.
    pub device: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Total size in bytes of its tensors: what the pool would need without sharing.
    pub unshared: u64,
    /// Bytes of tensors that are alive: the times at which they change, from 0 on, and the bytes from then on. Time 0 is before the
    /// instructions, each of which is a time, and the last one is when the outputs are read.
    pub timeline: Vec<(u32, u64)>,
    /// First time at which most bytes are alive.
    pub peak: usize,
    /// Most bytes that are alive at once: no plan needs less.
    pub lower_bound: u64,
    /// Bytes behind the last tensor, which no tensor has: from the alignment of the end, and added.
    pub padding: u64,
    /// True if the exporter added [`XNNPACK_PADDING`] of them for XNNPACK.
    pub is_for_xnnpack: bool,
    /// Tensors that have memory of their own, by offset.
    pub tensors: Vec<PlannedTensor>,
}

/// A tensor in planned memory that is no view of another.
#[derive(Debug, Clone)]
pub struct PlannedTensor {
    /// Index of the value.
    pub value: usize,
    /// Name in the YAML.
    pub name: String,
    /// Element type and sizes: `float32 [2, 3]`.
    pub shape: String,
    /// Offset in the pool in bytes.
    pub offset: u64,
    /// Size in bytes; of a dynamic tensor, the upper bound.
    pub bytes: u64,
    /// First and last time at which it is alive; `None` if nothing uses it.
    pub times: Option<(u32, u32)>,
}

impl MethodMemories {
    /// Computes the memory of all methods. `external` is true if the program is loaded with `.ptd` files.
    pub fn new(subject: &Subject<'_>, external: bool, abi: Abi) -> MethodMemories {
        let plans = subject.program.plans();
        let is_external = |plan: &ExecutionPlan| plan.tensors().any(|(_, tensor)| tensor.is_external());
        let external = external || plans.iter().any(is_external);
        let methods = plans.iter().enumerate();
        let methods = methods.map(|(method, plan)| MethodReport::new(subject, method, plan, external, abi));
        MethodMemories { methods: methods.collect(), abi }
    }

    /// The document of `memory --json`.
    pub fn json(&self) -> Value {
        let abi = match self.abi {
            Abi::Bits64 => "64",
            Abi::Arm32 => "arm32",
        };
        let methods: Vec<Value> = self.methods.iter().map(MethodReport::json).collect();
        json!({"version": VERSION, "abi": abi, "methods": methods})
    }
}

impl MethodReport {
    fn new(subject: &Subject<'_>, method: usize, plan: &ExecutionPlan, external: bool, abi: Abi) -> MethodReport {
        let delegates = plan.delegates().iter().filter_map(|delegate| delegate.id.clone());
        let mut unknown_backends: Vec<String> =
            delegates.filter(|id| id != crate::delegate::xnnpack::BACKEND).collect();
        unknown_backends.sort_unstable();
        unknown_backends.dedup();
        let labels = Labels::new(plan);
        MethodReport {
            name: plan.name.clone().unwrap_or_default(),
            instructions: plan.instructions().map(|instruction| labels.of(instruction).to_owned()).collect(),
            pools: pools(subject, method, plan),
            allocator: method_memory(subject.program, plan, external, abi),
            unknown_backends,
        }
    }

    /// Size of all pools in bytes.
    pub fn planned(&self) -> u64 {
        self.pools.iter().map(|pool| pool.bytes).fold(0, u64::saturating_add)
    }

    /// What happens at a time of the timeline.
    pub fn event(&self, time: usize) -> String {
        match time.checked_sub(1).map(|index| (index, self.instructions.get(index))) {
            None => "the inputs are set".to_owned(),
            Some((index, Some(label))) => format!("instruction {index}, {label}"),
            Some((_, None)) => "the outputs are read".to_owned(),
        }
    }

    fn json(&self) -> Value {
        let MethodMemory { bytes, without_temporary, is_lower_bound } = self.allocator;
        let pools: Vec<Value> = self.pools.iter().map(|pool| pool.json(self)).collect();
        json!({
            "name": self.name,
            "planned": self.planned(),
            "pools": pools,
            "instructions": self.instructions,
            "method_allocator": {
                "bytes": bytes,
                "without_temporary_allocator": without_temporary,
                "at_least": is_lower_bound,
                "unknown_backends": self.unknown_backends,
            },
        })
    }
}

impl Pool {
    fn json(&self, method: &MethodReport) -> Value {
        json!({
            "pool": self.number,
            "device": self.device,
            "bytes": self.bytes,
            "unshared": self.unshared,
            "padding": self.padding,
            "padding_for_xnnpack": self.is_for_xnnpack,
            "lower_bound": self.lower_bound,
            "peak": {"time": self.peak, "event": method.event(self.peak)},
            "timeline": self.timeline,
            "tensors": self.tensors.iter().map(PlannedTensor::json).collect::<Vec<_>>(),
        })
    }
}

impl PlannedTensor {
    fn json(&self) -> Value {
        json!({
            "value": self.value,
            "name": self.name,
            "type": self.shape,
            "offset": self.offset,
            "bytes": self.bytes,
            "alive": self.times,
        })
    }
}

/// Most characters of a label: many instructions may have one long name.
const MAX_LABEL: usize = 200;

/// What instructions of a method do: the operator, the backend, or their kind. Each text once.
#[derive(Debug)]
pub struct Labels {
    texts: Vec<String>,
    operators: usize,
    delegates: usize,
}

impl Labels {
    /// Texts after those of the operators and delegates: one for each instruction, if it calls none of them.
    const OTHERS: [&'static str; InstructionType::MEMBERS.len()] =
        ["an unknown operator", "an unknown delegate", "move", "jump", "free"];

    /// The labels of a method.
    pub fn new(plan: &ExecutionPlan) -> Labels {
        let operators = plan.operators.as_deref().unwrap_or_default();
        let named = operators.iter().map(|operator| operator.full_name());
        let named = named.map(|name| name.unwrap_or_else(|| Labels::OTHERS[0].to_owned()));
        let backends = plan.delegates().iter().map(|delegate| delegate.id.clone());
        let backends = backends.map(|id| id.unwrap_or_else(|| Labels::OTHERS[1].to_owned()));
        let shortened = |mut text: String| {
            if let Some((at, _)) = text.char_indices().nth(MAX_LABEL) {
                text.truncate(at);
                text += "...";
            }
            text
        };
        let others = Labels::OTHERS.iter().map(|text| (*text).to_owned());
        Labels {
            texts: named.chain(backends).map(shortened).chain(others).collect(),
            operators: operators.len(),
            delegates: plan.delegates().len(),
        }
    }

    /// Index of the text of an instruction.
    pub fn index(&self, instruction: &Instruction) -> usize {
        let others = self.operators + self.delegates;
        let known = match instruction.callee() {
            Some(Callee::Operator(id)) => id.within(self.operators),
            Some(Callee::Delegate(id)) => id.within(self.delegates).map(|index| self.operators + index),
            None => None,
        };
        known.unwrap_or(others + usize::from(instruction.kind().tag()) - 1)
    }

    /// Text with an index.
    pub fn text(&self, index: usize) -> &str {
        self.texts.get(index).map_or("", String::as_str)
    }

    /// Text of an instruction.
    pub fn of(&self, instruction: &Instruction) -> &str {
        self.text(self.index(instruction))
    }

    /// All texts.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }
}

fn pools(subject: &Subject<'_>, method: usize, plan: &ExecutionPlan) -> Vec<Pool> {
    let empty = MemoryPlan::default();
    let memory = subject.memory.get(method).unwrap_or(&empty);
    let Some(execution) = subject.executions.get(method) else { return Vec::new() };
    let end = plan.instructions().count() as u32 + 1;
    let mut tensors: BTreeMap<usize, Vec<PlannedTensor>> = BTreeMap::new();
    let mut ends: BTreeMap<usize, u64> = BTreeMap::new();
    for (value, tensor) in plan.tensors() {
        let Some(Some((pool, offset))) = memory.places.get(value) else { continue };
        let bytes = tensor.nbytes().unwrap_or(0);
        let end = ends.entry(*pool as usize).or_default();
        *end = offset.saturating_add(bytes).max(*end);
        if execution.is_alias[value] {
            continue;
        }
        tensors.entry(*pool as usize).or_default().push(PlannedTensor {
            value,
            name: subject.value_name(method, value),
            shape: super::shape(tensor),
            offset: *offset,
            bytes,
            times: execution.times[value],
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
        if bytes == 0 && tensors.is_empty() {
            return None;
        }
        tensors.sort_by_key(|tensor| (tensor.offset, tensor.value));
        let end_of_tensors = ends.get(&number).copied().unwrap_or(0);
        let aligned = end_of_tensors.checked_next_multiple_of(DEFAULT_ALIGNMENT).unwrap_or(u64::MAX);
        let used = |tensor: &PlannedTensor| {
            let bytes = tensor.offset..tensor.offset.saturating_add(tensor.bytes);
            Some(Use { bytes, times: tensor.times? })
        };
        let timeline = used_bytes(&tensors.iter().filter_map(used).collect::<Vec<_>>(), end);
        let most = timeline.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
        let peak = timeline.iter().find(|(_, bytes)| *bytes == most).map_or(0, |(time, _)| *time as usize);
        Some(Pool {
            number,
            device: device(number),
            bytes,
            unshared: tensors.iter().map(|tensor| tensor.bytes).fold(0, u64::saturating_add),
            peak,
            lower_bound: most,
            timeline,
            padding: bytes.saturating_sub(end_of_tensors),
            is_for_xnnpack: calls_xnnpack && bytes.checked_sub(aligned) == Some(XNNPACK_PADDING),
            tensors,
        })
    };
    memory.sizes.iter().enumerate().skip(1).filter_map(pool).collect()
}
