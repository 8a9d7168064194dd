//! Summarises a program: methods with inputs, outputs, state and operators; delegates; constants; shared data.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use serde::Serialize;

use super::constant_calls::ConstantCalls;
use pte_memory::allocator::{Abi, loaded_memory};
use pte_memory::boundary::BoundaryBuffers;
use pte_memory::labels::Labels;
use pte_memory::{Subject, shape};
use pte_model::data::{Blob, BlobId, dedup};
use pte_model::format::ScalarType;
use pte_model::program::element::{Element, Part};
use pte_model::program::instruction::Callee;
use pte_model::program::releases::newest;
use pte_model::program::{EValue, ExecutionPlan, Memory, NewerSlot, Program, Tensor, TensorData, ValueId};
use pte_payload::compile_specs::Compiled;
use pte_payload::decoded::{ConstantData, PayloadGraph};
use pte_payload::description::as_map;

/// Data of equal size are read and compared up to this total size in bytes; [`Comparison::All`] has no limit.
const MAX_COMPARED: u64 = 16 << 20;

/// XNNPACK payloads are decoded up to this total size in bytes.
const MAX_PAYLOADS: u64 = 64 << 20;

/// Amount of data that is read to find duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// At most 16 MiB.
    Little,
    /// All data.
    All,
}

/// Contents of a program, part of an [`Inspection`](crate::inspection::Inspection).
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ProgramSummary {
    /// Methods with instructions, in the order of the program.
    pub methods: Vec<MethodSummary>,
    /// Methods without instructions and inputs, each with its name and the values that it returns, in the order of the
    /// program.
    #[serde(serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, Vec<String>>"))]
    pub constant_methods: Vec<(String, Vec<String>)>,
    /// Constants of tensors by element type, the largest first.
    pub constants: Vec<ConstantsSummary>,
    /// Keys of the named data with the size of their data in bytes, in the order of the program.
    #[serde(serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, u64>"))]
    pub named_data: Vec<(String, u64)>,
    /// Keys of the named data with the first operation that reads them, if its payload is decoded:
    /// `forward/delegates[0] nodes[3] convolution filter`.
    pub named_data_users: BTreeMap<String, String>,
    /// Keys that the runtime looks up in `.ptd` files, sorted.
    pub required_keys: Vec<String>,
    /// Oldest release of the runtime that supports the program; `None` if all releases do.
    pub needs: Option<NeededRelease>,
    /// Releases of the runtime that run the file: of those that were measured, the ones with which `check --runtime`
    /// finds no error; `None` if they were not compared.
    pub releases: Option<Vec<String>>,
    /// Bytes that sharing equal data saves.
    pub shared_bytes: u64,
    /// Bytes of data that are stored more than once; `None` if they were not compared.
    pub duplicated_bytes: Option<u64>,
    /// Data that are stored more than once, in the order of the program.
    pub duplicates: Vec<DuplicateData>,
    /// Fields and members of unions that only a newer schema has, each with its table, slot and bytes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub newer: Vec<String>,
}

/// Data that are stored more than once, part of [`ProgramSummary`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DuplicateData {
    /// Size of a copy in bytes.
    pub bytes: u64,
    /// First element that refers to each copy: `methods.forward.linear_weight (values[2])`.
    pub copies: Vec<String>,
}

/// Release of ExecuTorch that a program needs, part of [`ProgramSummary`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NeededRelease {
    /// Release, such as `1.0`.
    pub release: &'static str,
    /// Feature of the program that needs this release.
    pub feature: &'static str,
}

/// Constants of an element type, part of [`ProgramSummary`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ConstantsSummary {
    /// Element type.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub scalar_type: ScalarType,
    /// Number of tensors.
    pub tensors: usize,
    /// Size of their data in bytes. Shared data count once.
    pub bytes: u64,
}

/// A method, part of [`ProgramSummary`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodSummary {
    /// Name; empty if it has none.
    pub name: String,
    /// Inputs.
    pub inputs: Vec<InterfaceSummary>,
    /// Outputs.
    pub outputs: Vec<InterfaceSummary>,
    /// Tensors that keep their content from one execution to the next.
    pub state: Vec<StateSummary>,
    /// Number of values.
    pub values: usize,
    /// Number of instructions.
    pub instructions: usize,
    /// Operators with the number of their calls, the most frequent first.
    #[serde(serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, usize>"))]
    pub operators: Vec<(String, usize)>,
    /// Operators that are called between the first call of a delegate and the last one, with the number of these calls.
    #[serde(serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, usize>"))]
    pub operators_between_delegates: Vec<(String, usize)>,
    /// Delegates.
    pub delegates: Vec<DelegateSummary>,
    /// Size in bytes of the named data that the payloads of XNNPACK delegates refer to, each key once.
    pub named_data_bytes: u64,
    /// Planned memory in bytes, of all pools.
    pub planned_bytes: u64,
    /// Calls whose arguments are constants, which `optimize` folds.
    pub constant_calls: ConstantCalls,
    /// Memory that loading takes from the method allocator of a 64-bit runtime.
    pub method_allocator: AllocatorSummary,
}

/// Input or output of a [`MethodSummary`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InterfaceSummary {
    /// Name, or the index of the value.
    pub name: String,
    /// Element type and sizes, `<=` before upper bounds; or the value of a literal, and the items of a list.
    #[serde(rename = "type")]
    pub kind: String,
    /// True for a tensor in planned memory, false for one whose memory the caller provides; `None` for a constant, for
    /// a tensor with the memory of another value, and for other values.
    pub planned: Option<bool>,
    /// Scale, if all calls that read an input, or write an output, quantize or dequantize it with the same numbers;
    /// also in the payload of an XNNPACK delegate.
    pub scale: Option<f64>,
    /// Zero point, with the scale.
    pub zero_point: Option<i64>,
}

/// Value of a method, such as an argument of a [`CallSummary`](crate::calls::CallSummary).
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ValueSummary {
    /// Name, or the index of the value.
    pub name: String,
    /// Element type and sizes, `<=` before upper bounds; or the value of a literal, and the items of a list.
    #[serde(rename = "type")]
    pub kind: String,
}

/// Tensor of a [`MethodSummary`] that keeps its content from one execution to the next.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct StateSummary {
    /// Name, or the index of the value.
    pub name: String,
    /// Element type and sizes, `<=` before upper bounds.
    #[serde(rename = "type")]
    pub kind: String,
    /// Size of its initial data in bytes; `None` without them.
    pub initial_bytes: Option<u64>,
}

/// Memory that loading a [`MethodSummary`] takes from the method allocator.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct AllocatorSummary {
    /// Size in bytes.
    pub bytes: u64,
    /// The size is a lower bound: backends may take more.
    pub at_least: bool,
}

/// Delegate of a [`MethodSummary`].
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DelegateSummary {
    /// Name for `payload show`: `forward/part0`.
    pub name: String,
    /// Backend.
    pub backend: String,
    /// What it was compiled for.
    #[serde(flatten)]
    pub compiled: Compiled,
    /// Size of the payload in bytes.
    pub bytes: u64,
    /// Size in bytes of the named data that the payload refers to, each key once; 0 if it is not decoded.
    pub named_data_bytes: u64,
    /// Number of calls.
    pub calls: usize,
    /// Types of its inputs and outputs; `None` if the payload is not decoded.
    #[serde(flatten)]
    pub interface: Option<DelegateInterface>,
}

/// Types of the inputs and outputs of a [`DelegateSummary`], with their quantization.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DelegateInterface {
    /// First arguments of its calls.
    pub inputs: Vec<String>,
    /// Other arguments of its calls.
    pub outputs: Vec<String>,
}

impl ProgramSummary {
    /// Reads the contents of a program.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn new(subject: &Subject<'_>, compare: Comparison) -> io::Result<ProgramSummary> {
        let program = subject.program;
        let stored = Stored { subject, program };
        let graphs = payload_graphs(subject);
        let mut users = key_users(program, &graphs);
        let named = NamedSizes::new(program, &graphs);
        let mut methods = Vec::new();
        let mut constant_methods = Vec::new();
        for (index, plan) in program.plans().iter().enumerate() {
            let has_inputs = plan.inputs.as_ref().is_some_and(|inputs| !inputs.is_empty());
            match plan.instructions().next().is_none() && !has_inputs {
                true => constant_methods.push((name(plan), outputs(plan))),
                false => methods.push(MethodSummary::new(subject, index, plan, &graphs, &named)),
            }
        }
        let entries = || program.named_data.iter().flatten();
        let named_data = entries().map(|entry| (entry.key.clone(), program.blob(entry.data).len()));
        let users = entries().filter_map(|entry| Some((entry.key.clone(), users.remove(entry.key.as_str())?)));
        let duplicates = stored.duplicates(compare)?;
        let repeated = |data: &DuplicateData| data.bytes.saturating_mul(data.copies.len() as u64 - 1);
        Ok(ProgramSummary {
            methods,
            constant_methods,
            constants: stored.constants(),
            named_data: named_data.collect(),
            named_data_users: users.collect(),
            required_keys: required_keys(program, &graphs),
            needs: newest(program)
                .map(|(feature, _)| NeededRelease { release: feature.release, feature: feature.name }),
            releases: None,
            shared_bytes: stored.shared(),
            duplicated_bytes: duplicates.as_ref().map(|list| list.iter().map(repeated).fold(0, u64::saturating_add)),
            duplicates: duplicates.unwrap_or_default(),
            newer: newer_parts(program),
        })
    }
}

/// Describes the parts of a newer schema.
fn newer_parts(program: &Program) -> Vec<String> {
    let Some(parts) = program.newer_parts() else { return Vec::new() };
    let describe = |NewerSlot { path, table, slot, content }: NewerSlot<'_>| {
        format!("{path}: {table} slot {slot}: {}", parts.describe(content))
    };
    program.newer_slots().map(describe).collect()
}

impl MethodSummary {
    fn new(
        subject: &Subject<'_>,
        index: usize,
        plan: &ExecutionPlan,
        graphs: &Graphs<'_>,
        named: &NamedSizes<'_>,
    ) -> MethodSummary {
        let program = subject.program;
        let quantizations = subject.quantizations(index);
        let interface_of = |values: &Option<Vec<ValueId>>, buffers: BoundaryBuffers, is_input: bool| {
            let mut planned = vec![None; buffers.count];
            for tensor in &buffers.tensors {
                let id = values.as_ref().and_then(|values| values.get(tensor.index));
                let memory = id.and_then(|id| plan.value(*id)?.as_tensor()).map(|tensor| tensor.memory);
                let is_planned = memory.is_some_and(|memory| memory != Memory::None);
                planned[tensor.index] = (is_planned || tensor.is_provided).then_some(is_planned);
            }
            let summary = |(id, planned): (&ValueId, Option<bool>)| {
                let ValueSummary { name, kind } = value_summary(subject, index, *id);
                let found = quantizations.as_ref().and_then(|all| all.find(id.get()?, is_input));
                let (scale, zero_point) = (found.map(|found| found.scale), found.map(|found| found.zero_point));
                InterfaceSummary { name, kind, planned, scale, zero_point }
            };
            values.iter().flatten().zip(planned).map(summary).collect()
        };
        let memory = subject.memory.get(index);
        let state = plan.tensors().filter(|(value, _)| subject.is_state(index, *value));
        let state = state.map(|(value, tensor)| {
            let initial_bytes = match tensor.data {
                TensorData::Blob(blob) => Some(program.blob(blob).len()),
                TensorData::None | TensorData::Elsewhere(_) => None,
            };
            StateSummary { name: subject.value_name(index, value), kind: shape(tensor), initial_bytes }
        });
        let allocator =
            loaded_memory(program, plan, plan.tensors().any(|(_, tensor)| tensor.is_external()), Abi::Bits64);
        let labels = Labels::new(plan);
        let mut kernels = Vec::new();
        let mut first_and_last: Option<(usize, usize)> = None;
        for (number, instruction) in plan.instructions().enumerate() {
            match instruction.callee() {
                Some(Callee::Operator(_)) => kernels.push((number, labels.of(instruction))),
                Some(Callee::Delegate(_)) => {
                    first_and_last = Some((first_and_last.map_or(number, |(first, _)| first), number));
                }
                None => {}
            }
        }
        let is_between = |number: usize| first_and_last.is_some_and(|(first, last)| (first..last).contains(&number));
        let delegates = plan.delegates().iter().zip(pte_memory::delegates::calls(plan)).enumerate().map(
            |(number, (delegate, calls))| DelegateSummary {
                name: format!("{}/{}", name(plan), subject.delegate_name(index, number)),
                named_data_bytes: named.of(delegate.processed),
                backend: delegate.id.clone().unwrap_or_default(),
                compiled: subject.payloads.compiled(delegate),
                bytes: program.blob(delegate.processed).len(),
                calls,
                interface: graphs.get(&delegate.processed).map(|graph| interface(graph)),
            },
        );
        MethodSummary {
            name: name(plan),
            inputs: interface_of(&plan.inputs, BoundaryBuffers::inputs(subject, index, plan), true),
            outputs: interface_of(&plan.outputs, BoundaryBuffers::outputs(subject, index, plan), false),
            state: state.collect(),
            values: plan.values().len(),
            instructions: plan.instructions().count(),
            operators_between_delegates: counts(
                kernels.iter().filter(|(number, _)| is_between(*number)).map(|(_, operator)| *operator),
            ),
            operators: counts(kernels.iter().map(|(_, operator)| *operator)),
            delegates: delegates.collect(),
            named_data_bytes: named.of_method(plan),
            planned_bytes: memory.map_or(0, |memory| memory.total()),
            constant_calls: ConstantCalls::of(plan),
            method_allocator: AllocatorSummary { bytes: allocator.bytes, at_least: allocator.is_lower_bound },
        }
    }
}

fn name(plan: &ExecutionPlan) -> String {
    plan.name.clone().unwrap_or_default()
}

/// Counts equal names, the most frequent first.
fn counts<'n>(names: impl Iterator<Item = &'n str>) -> Vec<(String, usize)> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    names.for_each(|name| *counts.entry(name).or_default() += 1);
    let mut counts: Vec<(String, usize)> = counts.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// Returns the type of a tensor, or the value of a literal.
pub fn describe(value: &EValue) -> String {
    match value {
        EValue::Tensor(tensor) => shape(tensor),
        EValue::Null => "null".to_owned(),
        EValue::Int(int) => int.to_string(),
        EValue::Bool(value) => value.to_string(),
        EValue::Double(value) => format!("{value:?}"),
        EValue::String(text) => format!("{:?}", text.as_deref().unwrap_or_default()),
        EValue::IntList(_)
        | EValue::DoubleList(_)
        | EValue::BoolList(_)
        | EValue::TensorList(_)
        | EValue::OptionalTensorList(_)
        | EValue::Unknown(_) => value.kind().to_owned(),
    }
}

/// Items of a list that are described.
const MAX_ITEMS: usize = 16;

/// Describes a value of a method: its name, and its type or content.
pub fn value_summary(subject: &Subject<'_>, method: usize, value: ValueId) -> ValueSummary {
    let plan = subject.program.plans().get(method);
    let list = |items: Vec<String>, count: usize| {
        let more = if count > items.len() { format!(", ... {count} items") } else { String::new() };
        format!("[{}{more}]", items.join(", "))
    };
    let name = |value: ValueId| value.get().map_or_else(String::new, |value| subject.value_name(method, value));
    let item = |item: i64| {
        let id = i32::try_from(item).map_or(ValueId::NONE, ValueId);
        match plan.and_then(|plan| plan.value(id)) {
            Some(EValue::Tensor(_)) => name(id),
            Some(value) => describe(value),
            None => "null".to_owned(),
        }
    };
    let kind = match plan.and_then(|plan| plan.value(value)) {
        None => String::new(),
        Some(EValue::DoubleList(Some(items))) => {
            list(items.iter().take(MAX_ITEMS).map(|item| format!("{item:?}")).collect(), items.len())
        }
        Some(EValue::BoolList(Some(items))) => {
            list(items.iter().take(MAX_ITEMS).map(ToString::to_string).collect(), items.len())
        }
        Some(other) => match other.list_items() {
            Some(items) => list(items.iter().take(MAX_ITEMS).map(item).collect(), items.len()),
            None => describe(other),
        },
    };
    ValueSummary { name: name(value), kind }
}

/// Returns the values of the outputs of a method without instructions.
fn outputs(plan: &ExecutionPlan) -> Vec<String> {
    let outputs = plan.outputs.iter().flatten().filter_map(|output| plan.value(*output));
    outputs.map(describe).collect()
}

/// Graphs of the payloads of a program.
pub type Graphs<'g> = HashMap<BlobId, &'g PayloadGraph>;

/// Returns the graphs of the payloads of a program, up to a total size.
pub fn payload_graphs<'g>(subject: &'g Subject<'_>) -> Graphs<'g> {
    subject.payloads.graphs(MAX_PAYLOADS)
}

/// Returns the first operation that reads the data of each key: `forward/delegates[0] nodes[3] convolution filter`.
fn key_users<'g>(program: &Program, graphs: &Graphs<'g>) -> HashMap<&'g str, String> {
    let mut users: HashMap<&str, String> = HashMap::new();
    let mut seen = BTreeSet::new();
    for (method, number, delegate) in program.delegates() {
        let Some(graph) = graphs.get(&delegate.processed).filter(|_| seen.insert(delegate.processed)) else {
            continue;
        };
        for (position, node) in graph.nodes.iter().enumerate() {
            for (value, role) in node.reads.iter().zip(&node.roles) {
                for (key, what) in graph.values.get(*value).into_iter().flat_map(|value| &value.keys) {
                    users.entry(key).or_insert_with(|| {
                        let (method, word) = (name(&program.plans()[method]), &node.name);
                        format!("{method}/delegates[{number}] nodes[{position}] {word} {role}{what}")
                    });
                }
            }
        }
    }
    users
}

/// Sizes of the named data that payloads refer to.
struct NamedSizes<'g> {
    /// Sizes by key.
    sizes: HashMap<&'g str, u64>,
    /// Keys of each payload, each once.
    keys: HashMap<BlobId, BTreeSet<&'g str>>,
}

impl<'g> NamedSizes<'g> {
    fn new(program: &'g Program, graphs: &Graphs<'g>) -> NamedSizes<'g> {
        let entries = program.named_data.iter().flatten();
        let sizes = entries.map(|entry| (entry.key.as_str(), program.blob(entry.data).len())).collect();
        let keys = |graph: &'g PayloadGraph| {
            graph.values.iter().flat_map(|value| &value.keys).map(|(key, _)| &**key).collect()
        };
        NamedSizes { sizes, keys: graphs.iter().map(|(payload, graph)| (*payload, keys(graph))).collect() }
    }

    fn sum<'k>(&self, keys: impl Iterator<Item = &'k &'g str>) -> u64
    where
        'g: 'k,
    {
        keys.filter_map(|key| self.sizes.get(*key)).copied().fold(0, u64::saturating_add)
    }

    /// Returns the size in bytes of the named data that a payload refers to.
    fn of(&self, payload: BlobId) -> u64 {
        self.keys.get(&payload).map_or(0, |keys| self.sum(keys.iter()))
    }

    /// Returns the size in bytes of the named data that all delegates of a method refer to.
    fn of_method(&self, plan: &ExecutionPlan) -> u64 {
        let payloads: BTreeSet<BlobId> = plan.delegates().iter().map(|delegate| delegate.processed).collect();
        let keys: BTreeSet<&str> =
            payloads.iter().filter_map(|payload| self.keys.get(payload)).flatten().copied().collect();
        self.sum(keys.iter())
    }
}

/// Returns the types of the inputs and outputs of a graph.
fn interface(graph: &PayloadGraph) -> DelegateInterface {
    let describe = |value: &usize| graph.values.get(*value).map_or_else(String::new, |value| value.kind.clone());
    DelegateInterface {
        inputs: graph.inputs.iter().map(describe).collect(),
        outputs: graph.outputs.iter().map(describe).collect(),
    }
}

/// Returns the keys of tensors in a `.ptd`, and those of constants of XNNPACK graphs that the program does not have.
pub fn required_keys(program: &Program, graphs: &Graphs<'_>) -> Vec<String> {
    let tensors = program.plans().iter().flat_map(ExecutionPlan::tensors).filter(|(_, tensor)| tensor.is_external());
    let mut keys: BTreeSet<String> = tensors.filter_map(|(_, tensor)| tensor.name().map(str::to_owned)).collect();
    let own: BTreeSet<&str> = program.named_data.iter().flatten().map(|entry| entry.key.as_str()).collect();
    for value in graphs.values().flat_map(|graph| &graph.values) {
        if let Some(ConstantData::Named(key, _)) = &value.data
            && !own.contains(key.as_str())
        {
            keys.insert(key.clone());
        }
    }
    keys.into_iter().collect()
}

/// The data of a program, as its file stores them.
struct Stored<'p> {
    subject: &'p Subject<'p>,
    program: &'p Program,
}

impl<'p> Stored<'p> {
    /// Returns the references to data that are in the file of the program, not in a `.ptd`.
    fn references(&self) -> impl Iterator<Item = (Element, BlobId)> {
        let program = self.program;
        let is_external = |element: Element| match element {
            Element::Method(method, Part::Value(value)) => {
                let value = program.plans().get(method).and_then(|plan| plan.values().get(value));
                value.and_then(EValue::as_tensor).is_some_and(Tensor::is_external)
            }
            Element::ExternalData(_) => true,
            Element::Program | Element::Header | Element::NamedData(_) | Element::Method(..) => false,
        };
        program.blob_references().filter(move |(element, _)| !is_external(*element))
    }

    /// Returns the constants, which are tensors without planned memory, by element type.
    fn constants(&self) -> Vec<ConstantsSummary> {
        let mut rows: BTreeMap<ScalarType, (usize, u64)> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        let tensors = self.program.plans().iter().flat_map(ExecutionPlan::tensors);
        for (_, tensor) in tensors.filter(|(_, tensor)| !tensor.is_external()) {
            if let (TensorData::Blob(blob), Memory::None) = (&tensor.data, tensor.memory) {
                let (count, bytes) = rows.entry(tensor.scalar_type).or_default();
                *count += 1;
                if seen.insert(*blob) {
                    *bytes += self.program.blob(*blob).len();
                }
            }
        }
        let row = |(scalar_type, (tensors, bytes))| ConstantsSummary { scalar_type, tensors, bytes };
        let mut rows: Vec<ConstantsSummary> = rows.into_iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
        rows
    }

    /// Returns the number of additional bytes that the file would have if no data were shared.
    fn shared(&self) -> u64 {
        let mut seen = BTreeSet::new();
        let again = self.references().filter(|(_, blob)| !seen.insert(*blob));
        again.map(|(_, blob)| self.program.blob(blob).len()).fold(0, u64::saturating_add)
    }

    /// Returns the data that are stored more than once; `None` if the data are too large to compare.
    fn duplicates(&self, compare: Comparison) -> io::Result<Option<Vec<DuplicateData>>> {
        let program = self.program;
        let mut used: BTreeMap<BlobId, Element> = BTreeMap::new();
        self.references().for_each(|(element, blob)| _ = used.entry(blob).or_insert(element));
        let mut sizes: HashMap<u64, usize> = HashMap::new();
        for blob in used.keys() {
            *sizes.entry(program.blob(*blob).len()).or_default() += 1;
        }
        let is_candidate = |blob: &Blob| !blob.is_empty() && sizes[&blob.len()] > 1;
        used.retain(|blob, _| is_candidate(program.blob(*blob)));
        // Copies that the YAML requests are duplicates, too.
        let candidates: Vec<Blob> = used.keys().map(|blob| Blob { copy: 0, ..program.blob(*blob).clone() }).collect();
        if compare == Comparison::Little {
            // Only data that a few samples do not distinguish are compared as a whole.
            let alike = dedup::alike(&candidates)?;
            let again = alike.iter().enumerate().filter(|(index, first)| first.0 as usize != *index);
            let total = again.map(|(index, _)| candidates[index].len().saturating_mul(2)).fold(0, u64::saturating_add);
            if total > MAX_COMPARED {
                return Ok(None);
            }
        }
        let same = dedup::find(&candidates).map_err(|(_, error)| error)?;
        let mut copies: BTreeMap<BlobId, Vec<&Element>> = BTreeMap::new();
        same.iter().zip(used.values()).for_each(|(first, element)| copies.entry(*first).or_default().push(element));
        let names = self.subject.named_paths("");
        let name = |element: &&Element| {
            let path = element.path(program);
            names.get(&path).cloned().unwrap_or(path)
        };
        let data = |(first, copies): (BlobId, Vec<&Element>)| DuplicateData {
            bytes: candidates[first.0 as usize].len(),
            copies: copies.iter().map(name).collect(),
        };
        Ok(Some(copies.into_iter().filter(|(_, copies)| copies.len() > 1).map(data).collect()))
    }
}
