//! What a program contains, in one screen: methods with inputs, outputs, state and operators; delegates; constants; what is shared.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;

use serde_json::{Value, json};

use super::allocator::{Abi, method_memory};
use super::memory::Labels;
use super::{Subject, shape};
use crate::annotate::leaves::named_data_owner;
use crate::data::{Blob, BlobId, dedup};
use crate::delegate::GraphFormat;
use crate::delegate::xnnpack::draft::{
    ConstantSource, Draft, DraftConstant, DraftField, DraftQuantization, DraftValue, Scales,
};
use crate::delegate::xnnpack::schema::Datatype;
use crate::delegate::xnnpack::{self, Xnnpack};
use crate::format::ScalarType;
use crate::program::element::{Element, Part};
use crate::program::instruction::Callee;
use crate::program::{EValue, ExecutionPlan, Memory, Program, Tensor, TensorData, ValueId};

/// Data of equal size are read and compared up to this total size in bytes; [`Comparison::All`] has no limit.
const MAX_COMPARED: u64 = 16 << 20;

/// XNNPACK payloads are decoded up to this size of all of them, in bytes.
const MAX_PAYLOADS: u64 = 64 << 20;

/// How much data are read to find equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// Up to 16 MiB.
    Little,
    /// All.
    All,
}

/// What a program contains.
#[derive(Debug)]
pub struct Contents {
    /// Methods with instructions, in the order of the program.
    pub methods: Vec<Method>,
    /// Methods without instructions and inputs: the name and its values.
    pub constant_methods: Vec<(String, Vec<String>)>,
    /// Constants of tensors by element type, the largest first.
    pub constants: Vec<Constants>,
    /// The named data.
    pub named_data: Vec<NamedData>,
    /// Keys that the runtime looks up in `.ptd` files, in order.
    pub required_keys: Vec<String>,
    /// Release that a runtime needs, and the newest feature that needs it.
    pub needs: Option<(&'static str, &'static str)>,
    /// Bytes that sharing equal data saves.
    pub shared: u64,
    /// Bytes of data that are stored more than once; `None` if they were not compared.
    pub duplicated: Option<u64>,
}

/// An entry of the named data.
#[derive(Debug)]
pub struct NamedData {
    /// Key.
    pub key: String,
    /// Size in bytes.
    pub bytes: u64,
    /// The first operation that reads it: `forward/delegates[0] nodes[3] convolution filter`, if its payload is decoded.
    pub user: Option<String>,
}

/// Constants of an element type.
#[derive(Debug)]
pub struct Constants {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Number of tensors.
    pub tensors: usize,
    /// Size of their data in bytes; shared data count once.
    pub bytes: u64,
}

/// A method.
#[derive(Debug)]
pub struct Method {
    /// Name.
    pub name: String,
    /// Name, and type or value of each input.
    pub inputs: Vec<(String, String)>,
    /// Name, and type or value of each output.
    pub outputs: Vec<(String, String)>,
    /// Name and type of each tensor that keeps its content, and size of its initial data in bytes.
    pub state: Vec<(String, String, Option<u64>)>,
    /// Number of values.
    pub values: usize,
    /// Number of instructions.
    pub instructions: usize,
    /// Operators with the number of their calls, the most frequent first.
    pub operators: Vec<(String, usize)>,
    /// Operators that are called between the first call of a delegate and the last one.
    pub between: Vec<(String, usize)>,
    /// Delegates.
    pub delegates: Vec<Delegate>,
    /// Size in bytes of the named data that the payloads of XNNPACK delegates refer to, each key once.
    pub named: u64,
    /// Planned memory in bytes, of all pools.
    pub planned: u64,
    /// What loading takes from the method allocator in bytes, and whether it is a lower bound.
    pub allocator: (u64, bool),
}

/// A delegate.
#[derive(Debug)]
pub struct Delegate {
    /// Name for `payload show`: `forward/part0`.
    pub name: String,
    /// Backend.
    pub backend: String,
    /// Size of the payload in bytes.
    pub bytes: u64,
    /// Size in bytes of the named data that the payload refers to, each key once; 0 if it is not decoded.
    pub named: u64,
    /// Number of calls.
    pub calls: usize,
    /// Types of its inputs and outputs, with their quantization; `None` if the payload is not decoded.
    pub interface: Option<(Vec<String>, Vec<String>)>,
}

impl Contents {
    /// Reads the contents of a program.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn new(subject: &Subject<'_>, compare: Comparison) -> io::Result<Contents> {
        let program = subject.program;
        let stored = Stored { program };
        let graphs = payload_graphs(program);
        let mut users = key_users(program, &graphs);
        let named = NamedSizes::new(program, &graphs);
        let mut methods = Vec::new();
        let mut constant_methods = Vec::new();
        for (index, plan) in program.plans().iter().enumerate() {
            let has_inputs = plan.inputs.as_ref().is_some_and(|inputs| !inputs.is_empty());
            match plan.instructions().next().is_none() && !has_inputs {
                true => constant_methods.push((name(plan), outputs(plan))),
                false => methods.push(Method::new(subject, index, plan, &graphs, &named)),
            }
        }
        Ok(Contents {
            methods,
            constant_methods,
            constants: stored.constants(),
            named_data: program
                .named_data
                .iter()
                .flatten()
                .map(|entry| NamedData {
                    key: entry.key.clone(),
                    bytes: program.blob(entry.data).len(),
                    user: users.remove(entry.key.as_str()),
                })
                .collect(),
            required_keys: required_keys(program, &graphs),
            needs: crate::check::needed_release(program),
            shared: stored.shared(),
            duplicated: stored.duplicated(compare)?,
        })
    }

    /// The document's part about the program.
    pub fn json(&self) -> Value {
        let constants =
            |row: &Constants| json!({"type": row.scalar_type.to_string(), "tensors": row.tensors, "bytes": row.bytes});
        json!({
            "methods": self.methods.iter().map(Method::json).collect::<Vec<_>>(),
            "constant_methods": object(self.constant_methods.iter().map(|(name, values)| (name, json!(values)))),
            "constants": self.constants.iter().map(constants).collect::<Vec<_>>(),
            "named_data": object(self.named_data.iter().map(|entry| (&entry.key, json!(entry.bytes)))),
            "named_data_users": object(
                self.named_data.iter().filter_map(|entry| Some((&entry.key, json!(entry.user.as_ref()?)))),
            ),
            "required_keys": self.required_keys,
            "needs": self.needs.map(|(release, feature)| json!({"release": release, "feature": feature})),
            "shared_bytes": self.shared,
            "duplicated_bytes": self.duplicated,
        })
    }
}

fn object<'n>(entries: impl Iterator<Item = (&'n String, Value)>) -> Value {
    entries.map(|(name, value)| (name.clone(), value)).collect::<serde_json::Map<_, _>>().into()
}

impl Method {
    fn new(
        subject: &Subject<'_>,
        index: usize,
        plan: &ExecutionPlan,
        graphs: &HashMap<BlobId, Draft>,
        named: &NamedSizes<'_>,
    ) -> Method {
        let program = subject.program;
        let described = |value: &ValueId| {
            let name = value.get().map_or_else(String::new, |value| subject.value_name(index, value));
            (name, plan.value(*value).map_or_else(String::new, describe))
        };
        let memory = subject.memory.get(index);
        let state = plan.tensors().filter(|(value, _)| subject.is_state(index, *value));
        let state = state.map(|(value, tensor)| {
            let initial = match tensor.data {
                TensorData::Blob(blob) => Some(program.blob(blob).len()),
                TensorData::None | TensorData::Elsewhere(_) => None,
            };
            (subject.value_name(index, value), shape(tensor), initial)
        });
        let allocator =
            method_memory(program, plan, plan.tensors().any(|(_, tensor)| tensor.is_external()), Abi::Bits64);
        let mut calls = vec![0; plan.delegates().len()];
        let labels = Labels::new(plan);
        let mut kernels = Vec::new();
        let mut first_and_last: Option<(usize, usize)> = None;
        for (number, instruction) in plan.instructions().enumerate() {
            match instruction.callee() {
                Some(Callee::Operator(_)) => kernels.push((number, labels.of(instruction))),
                Some(Callee::Delegate(delegate_index)) => {
                    first_and_last = Some((first_and_last.map_or(number, |(first, _)| first), number));
                    delegate_index.item_mut(&mut calls).into_iter().for_each(|calls| *calls += 1);
                }
                None => {}
            }
        }
        let is_between = |number: usize| first_and_last.is_some_and(|(first, last)| (first..last).contains(&number));
        let delegates = plan.delegates().iter().zip(calls).enumerate().map(|(number, (delegate, calls))| Delegate {
            name: format!("{}/{}", name(plan), subject.delegate_name(index, number)),
            named: named.of(delegate.processed),
            backend: delegate.id.clone().unwrap_or_default(),
            bytes: program.blob(delegate.processed).len(),
            calls,
            interface: graphs.get(&delegate.processed).map(interface),
        });
        Method {
            name: name(plan),
            inputs: plan.inputs.iter().flatten().map(described).collect(),
            outputs: plan.outputs.iter().flatten().map(described).collect(),
            state: state.collect(),
            values: plan.values().len(),
            instructions: plan.instructions().count(),
            between: counts(kernels.iter().filter(|(number, _)| is_between(*number)).map(|(_, operator)| *operator)),
            operators: counts(kernels.iter().map(|(_, operator)| *operator)),
            delegates: delegates.collect(),
            named: named.of_method(plan),
            planned: memory.map_or(0, |memory| memory.sizes.iter().filter_map(|size| u64::try_from(*size).ok()).sum()),
            allocator: (allocator.bytes, allocator.is_lower_bound),
        }
    }

    fn json(&self) -> Value {
        let values = |list: &[(String, String)]| -> Vec<Value> {
            list.iter().map(|(name, kind)| json!({"name": name, "type": kind})).collect()
        };
        let state: Vec<Value> = self
            .state
            .iter()
            .map(|(name, kind, initial)| json!({"name": name, "type": kind, "initial_bytes": initial}))
            .collect();
        json!({
            "name": self.name,
            "inputs": values(&self.inputs),
            "outputs": values(&self.outputs),
            "state": state,
            "values": self.values,
            "instructions": self.instructions,
            "operators": object(self.operators.iter().map(|(name, count)| (name, json!(count)))),
            "operators_between_delegates": object(self.between.iter().map(|(name, count)| (name, json!(count)))),
            "delegates": self.delegates.iter().map(Delegate::json).collect::<Vec<_>>(),
            "named_data_bytes": self.named,
            "planned_bytes": self.planned,
            "method_allocator": {"bytes": self.allocator.0, "at_least": self.allocator.1},
        })
    }
}

impl Delegate {
    fn json(&self) -> Value {
        let mut delegate = json!({
            "name": self.name,
            "backend": self.backend,
            "bytes": self.bytes,
            "named_data_bytes": self.named,
            "calls": self.calls,
        });
        if let Some((inputs, outputs)) = &self.interface {
            delegate["inputs"] = json!(inputs);
            delegate["outputs"] = json!(outputs);
        }
        delegate
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

/// Type of a tensor, or the value of a literal.
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
        | EValue::OptionalTensorList(_) => value.kind().to_owned(),
    }
}

/// Values of the outputs of a method without instructions.
fn outputs(plan: &ExecutionPlan) -> Vec<String> {
    let outputs = plan.outputs.iter().flatten().filter_map(|output| plan.value(*output));
    outputs.map(describe).collect()
}

/// Decodes the XNNPACK payloads of a program, each once, up to a total size.
pub fn payload_graphs(program: &Program) -> HashMap<BlobId, Draft> {
    let mut left = MAX_PAYLOADS;
    let mut seen = BTreeSet::new();
    let mut graphs = HashMap::new();
    let delegates = program.plans().iter().flat_map(|plan| plan.delegates());
    for delegate in delegates.filter(|delegate| delegate.id.as_deref() == Some(xnnpack::BACKEND)) {
        let payload = program.blob(delegate.processed);
        if seen.insert(delegate.processed)
            && let Some(rest) = left.checked_sub(payload.len())
        {
            left = rest;
            graphs.extend(Xnnpack.decode(payload).ok().map(|draft| (delegate.processed, draft)));
        }
    }
    graphs
}

/// Returns the key of a constant in the named data.
fn constant_key(constant: &DraftConstant) -> Option<&str> {
    match &constant.source {
        ConstantSource::Key(key) => Some(key),
        ConstantSource::Data(_) => None,
    }
}

/// Returns the keys that a value of a graph refers to: of its data, and of its scales.
fn keys(value: &DraftValue) -> [Option<&str>; 2] {
    let scales = match &value.quantization {
        Some(DraftQuantization::Channel { scales, .. } | DraftQuantization::Group { scales, .. }) => match scales {
            Scales::Constant(constant) => constant_key(constant),
            Scales::Listed(_) => None,
        },
        Some(DraftQuantization::Tensor { .. } | DraftQuantization::Token { .. }) | None => None,
    };
    [value.constant.as_ref().and_then(constant_key), scales]
}

/// Returns the first operation that reads the data of each key: `forward/delegates[0] nodes[3] convolution filter`.
fn key_users<'g>(program: &Program, graphs: &'g HashMap<BlobId, Draft>) -> HashMap<&'g str, String> {
    let mut users: HashMap<&str, String> = HashMap::new();
    let mut seen = BTreeSet::new();
    for plan in program.plans() {
        for (number, delegate) in plan.delegates().iter().enumerate() {
            let Some(draft) = graphs.get(&delegate.processed).filter(|_| seen.insert(delegate.processed)) else {
                continue;
            };
            for (position, node) in draft.nodes.iter().enumerate() {
                for operand in node.operation.operands() {
                    let Some(DraftField::Value(value)) = node.fields.get(usize::from(operand.slot)) else { continue };
                    let Some(value) = draft.values.get(*value) else { continue };
                    for (key, what) in keys(value).into_iter().zip(["", " scales"]) {
                        let Some(key) = key else { continue };
                        users.entry(key).or_insert_with(|| {
                            let (word, operand) = (node.operation.word(), operand.name.trim_end_matches("_id"));
                            format!("{}/delegates[{number}] nodes[{position}] {word} {operand}{what}", name(plan))
                        });
                    }
                }
            }
        }
    }
    users
}

/// Returns the owners of named data in `annotate`, with the operation that reads them.
pub fn named_data_paths(program: &Program) -> HashMap<String, String> {
    let graphs = payload_graphs(program);
    let named = |(key, user): (&str, String)| {
        let owner = named_data_owner(key.as_bytes());
        let named = format!("{user} ({})", owner.trim_start_matches("named data "));
        (owner, named)
    };
    key_users(program, &graphs).into_iter().map(named).collect()
}

/// Sizes of the named data that payloads refer to.
struct NamedSizes<'g> {
    /// Sizes by key.
    sizes: HashMap<&'g str, u64>,
    /// Keys of each payload, each once.
    keys: HashMap<BlobId, BTreeSet<&'g str>>,
}

impl<'g> NamedSizes<'g> {
    fn new(program: &'g Program, graphs: &'g HashMap<BlobId, Draft>) -> NamedSizes<'g> {
        let entries = program.named_data.iter().flatten();
        let sizes = entries.map(|entry| (entry.key.as_str(), program.blob(entry.data).len())).collect();
        let keys = |draft: &'g Draft| draft.values.iter().flat_map(keys).flatten().collect();
        NamedSizes { sizes, keys: graphs.iter().map(|(payload, draft)| (*payload, keys(draft))).collect() }
    }

    fn sum<'k>(&self, keys: impl Iterator<Item = &'k &'g str>) -> u64
    where
        'g: 'k,
    {
        keys.filter_map(|key| self.sizes.get(*key)).copied().fold(0, u64::saturating_add)
    }

    /// Size of the data of a payload.
    fn of(&self, payload: BlobId) -> u64 {
        self.keys.get(&payload).map_or(0, |keys| self.sum(keys.iter()))
    }

    /// Size of the data of all delegates of a method.
    fn of_method(&self, plan: &ExecutionPlan) -> u64 {
        let payloads: BTreeSet<BlobId> = plan.delegates().iter().map(|delegate| delegate.processed).collect();
        let keys: BTreeSet<&str> =
            payloads.iter().filter_map(|payload| self.keys.get(payload)).flatten().copied().collect();
        self.sum(keys.iter())
    }
}

/// Types of the inputs and outputs of a graph.
fn interface(draft: &Draft) -> (Vec<String>, Vec<String>) {
    let describe = |value: &usize| draft.values.get(*value).map_or_else(String::new, value_type);
    (draft.inputs.iter().map(describe).collect(), draft.outputs.iter().map(describe).collect())
}

/// Type, sizes and quantization of a value of a graph.
pub fn value_type(value: &DraftValue) -> String {
    let name = Datatype::of(value.datatype).map_or("unknown", |datatype| datatype.name);
    let sizes: Vec<String> = value.dims.iter().map(u32::to_string).collect();
    let quantization = match &value.quantization {
        Some(DraftQuantization::Tensor { scale, zero_point }) => format!(" scale {scale} zero_point {zero_point}"),
        Some(_) => " quantized".to_owned(),
        None => String::new(),
    };
    format!("{name} [{}]{quantization}", sizes.join(", "))
}

/// Keys of tensors in a `.ptd`, and of constants of XNNPACK graphs that the program does not have.
fn required_keys(program: &Program, graphs: &HashMap<BlobId, Draft>) -> Vec<String> {
    let tensors = program.plans().iter().flat_map(ExecutionPlan::tensors).filter(|(_, tensor)| tensor.is_external());
    let mut keys: BTreeSet<String> = tensors.filter_map(|(_, tensor)| tensor.name().map(str::to_owned)).collect();
    let own: BTreeSet<&str> = program.named_data.iter().flatten().map(|entry| entry.key.as_str()).collect();
    for value in graphs.values().flat_map(|draft| &draft.values) {
        if let Some(ConstantSource::Key(key)) = value.constant.as_ref().map(|constant| &constant.source)
            && !own.contains(key.as_str())
        {
            keys.insert(key.clone());
        }
    }
    keys.into_iter().collect()
}

/// The data of a program as its file stores them.
struct Stored<'p> {
    program: &'p Program,
}

impl<'p> Stored<'p> {
    /// References to data in the file of the program, not in a `.ptd`.
    fn references(&self) -> impl Iterator<Item = BlobId> {
        let program = self.program;
        let is_external = |element: Element| match element {
            Element::Method(method, Part::Value(value)) => {
                let value = program.plans().get(method).and_then(|plan| plan.values().get(value));
                value.and_then(EValue::as_tensor).is_some_and(Tensor::is_external)
            }
            Element::ExternalData(_) => true,
            Element::Program | Element::Header | Element::NamedData(_) | Element::Method(..) => false,
        };
        program.blob_references().filter(move |(element, _)| !is_external(*element)).map(|(_, blob)| blob)
    }

    /// Constants of tensors without planned memory, by element type.
    fn constants(&self) -> Vec<Constants> {
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
        let row = |(scalar_type, (tensors, bytes))| Constants { scalar_type, tensors, bytes };
        let mut rows: Vec<Constants> = rows.into_iter().map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
        rows
    }

    /// Bytes that would be stored in addition if nothing was shared.
    fn shared(&self) -> u64 {
        let mut seen = BTreeSet::new();
        let again = self.references().filter(|blob| !seen.insert(*blob));
        again.map(|blob| self.program.blob(blob).len()).fold(0, u64::saturating_add)
    }

    /// Bytes of data that are equal to others.
    fn duplicated(&self, compare: Comparison) -> io::Result<Option<u64>> {
        let program = self.program;
        let used: BTreeSet<BlobId> = self.references().collect();
        let mut sizes: HashMap<u64, usize> = HashMap::new();
        for blob in &used {
            *sizes.entry(program.blob(*blob).len()).or_default() += 1;
        }
        let blobs = used.iter().map(|blob| program.blob(*blob));
        let candidates = blobs.filter(|blob| !blob.is_empty() && sizes[&blob.len()] > 1);
        // Data that YAML stores apart are equal, too.
        let candidates: Vec<Blob> = candidates.map(|blob| Blob { copy: 0, ..blob.clone() }).collect();
        if compare == Comparison::Little {
            // Those that a few samples do not tell apart.
            let alike = dedup::alike(&candidates)?;
            let again = alike.iter().enumerate().filter(|(index, first)| first.0 as usize != *index);
            let total = again.map(|(index, _)| candidates[index].len().saturating_mul(2)).fold(0, u64::saturating_add);
            if total > MAX_COMPARED {
                return Ok(None);
            }
        }
        let same = dedup::find(&candidates).map_err(|(_, error)| error)?;
        let again = same.iter().enumerate().filter(|(index, first)| first.0 as usize != *index);
        Ok(Some(again.map(|(index, _)| candidates[index].len()).sum()))
    }
}
