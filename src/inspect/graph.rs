//! The graph of each method: a node for each instruction, edges by value, the operations in payloads of XNNPACK, findings of `check` and
//! differences at their instructions and values. Plain data with a JSON form; nothing is placed or drawn.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::Subject;
use super::memory::Labels;
use super::summary::{describe, payload_graphs, value_type};
use super::targets::{Marks, Target, Targets};
use crate::analysis::access::{AccessContext, Accesses, ValueKinds};
use crate::analysis::blocks::{self, Jump, Skips};
use crate::analysis::operators::MethodOperators;
use crate::data::BlobId;
use crate::delegate::xnnpack::draft::{ConstantSource, Draft, DraftField};
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, Program, StackFrame, TensorData, ValueId};

/// Version of the JSON.
const VERSION: u32 = 2;

/// Writers of one value, from which edges lead to its readers: many instructions may read what many wrote.
const WRITERS: usize = 8;

/// The graphs of a program.
#[derive(Debug)]
pub struct ProgramGraph {
    /// Methods in the order of the program.
    pub methods: Vec<MethodGraph>,
    /// Payloads that are decoded, each once.
    pub payloads: Vec<PayloadGraph>,
}

/// The graph of a method.
#[derive(Debug)]
pub struct MethodGraph {
    /// Name; empty if it has none.
    pub name: String,
    /// Values that the caller sets.
    pub inputs: Vec<usize>,
    /// Values that the caller reads at the end.
    pub outputs: Vec<Read>,
    /// All values.
    pub values: Vec<GraphValue>,
    /// What instructions do; the nodes refer to it.
    pub labels: Labels,
    /// Instructions, chain after chain.
    pub nodes: Vec<GraphNode>,
    /// Delegates.
    pub delegates: Vec<GraphDelegate>,
    /// Distinct lines of the stack traces.
    pub frames: Vec<StackFrame>,
    /// Findings and differences about the method that belong to no node, value or delegate.
    pub marks: Marks,
}

/// A value of a method.
#[derive(Debug)]
pub struct GraphValue {
    /// Name in the YAML, or its index.
    pub name: String,
    /// Element type and sizes of a tensor, value of a literal, kind of a list.
    pub kind: String,
    /// Where its content is from, if no instruction writes it.
    pub content: Content,
    /// The value whose memory it is a view of; it has the content of that one.
    pub base: Option<usize>,
    /// Items of a list of tensors, without those that are None.
    pub items: Vec<usize>,
    /// Findings and differences about it.
    pub marks: Marks,
}

/// Where the content of a value is from before the first instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// A tensor without initial content.
    None,
    /// The caller.
    Input,
    /// Constant data of a size in bytes.
    Constant(u64),
    /// Data of a `.ptd`.
    External,
    /// State that is kept from one execution to the next.
    State,
    /// A number, string, list or None in the program.
    Literal,
}

/// An instruction.
#[derive(Debug)]
pub struct GraphNode {
    /// Index in [`MethodGraph::labels`].
    pub label: usize,
    /// Delegate that it calls.
    pub delegate: Option<usize>,
    /// Values of its arguments in order.
    pub args: Vec<usize>,
    /// Values that it writes, each once.
    pub writes: Vec<usize>,
    /// Values that it reads, with the instruction that wrote each before.
    pub reads: Vec<Read>,
    /// Instruction that follows instead of the next one if a condition is false.
    pub jump: Option<usize>,
    /// Stack trace as indices of [`MethodGraph::frames`], from the outermost call.
    pub trace: Vec<usize>,
    /// Findings and differences about it.
    pub marks: Marks,
}

/// A value that an instruction reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Read {
    /// Value.
    pub value: usize,
    /// The last instruction before that writes the value, or what it is a view of, and those whose content a jump leads around later
    /// ones, as in branches. Empty if it has its content from elsewhere.
    pub writers: Vec<usize>,
}

/// A delegate of a method.
#[derive(Debug)]
pub struct GraphDelegate {
    /// Backend.
    pub backend: String,
    /// Size of the payload in bytes.
    pub bytes: u64,
    /// Index in [`ProgramGraph::payloads`], if the payload is decoded.
    pub payload: Option<usize>,
    /// Findings and differences about it.
    pub marks: Marks,
}

/// A decoded payload.
#[derive(Debug)]
pub struct PayloadGraph {
    /// Type of each value, and size of its data in bytes if it is constant.
    pub values: Vec<(String, Option<u64>)>,
    /// Values that are the first arguments of the delegate.
    pub inputs: Vec<usize>,
    /// Values that are its other arguments.
    pub outputs: Vec<usize>,
    /// Operations in order: name, values that it reads, values that it writes.
    pub nodes: Vec<(&'static str, Vec<usize>, Vec<usize>)>,
}

impl ProgramGraph {
    /// Builds the graphs of a program. `findings` are the paths of those of `check` about its file, `differences` of those from another
    /// program.
    pub fn new(subject: &Subject<'_>, findings: &[&str], differences: &[&str]) -> ProgramGraph {
        let program = subject.program;
        let drafts = payload_graphs(program);
        let mut payloads = Vec::new();
        let mut numbers: HashMap<BlobId, usize> = HashMap::new();
        for delegate in program.plans().iter().flat_map(ExecutionPlan::delegates) {
            if let Some(draft) = drafts.get(&delegate.processed) {
                numbers.entry(delegate.processed).or_insert_with(|| {
                    payloads.push(PayloadGraph::new(draft));
                    payloads.len() - 1
                });
            }
        }
        let targets = Targets::new(program, findings, differences);
        let methods = program.plans().iter().enumerate();
        let methods = methods.map(|(method, plan)| MethodGraph::new(subject, method, plan, &numbers, &targets));
        ProgramGraph { methods: methods.collect(), payloads }
    }

    /// The document of the graphs.
    pub fn json(&self) -> Value {
        json!({
            "version": VERSION,
            "methods": self.methods.iter().map(MethodGraph::json).collect::<Vec<_>>(),
            "payloads": self.payloads.iter().map(PayloadGraph::json).collect::<Vec<_>>(),
        })
    }
}

impl MethodGraph {
    fn new(
        subject: &Subject<'_>,
        method: usize,
        plan: &ExecutionPlan,
        payloads: &HashMap<BlobId, usize>,
        targets: &Targets,
    ) -> MethodGraph {
        let program = subject.program;
        let index = |value: &ValueId| value.within(plan.values().len());
        let list = |values: &Option<Vec<ValueId>>| values.iter().flatten().filter_map(index).collect::<Vec<usize>>();
        let inputs = list(&plan.inputs);
        let values = values(subject, method, plan, &inputs, targets);
        let mut frames = Frames::default();
        let traces: Vec<Vec<usize>> = traces(plan).map(|trace| frames.take(trace)).collect();
        let labels = Labels::new(plan);
        let jumps = blocks::jumps(plan);
        let mut flow = Flow::new(plan, &values, &jumps);
        let mut nodes: Vec<GraphNode> = Vec::new();
        for chain in plan.chains.iter().flatten() {
            let first = nodes.len();
            for instruction in chain.instructions.iter().flatten() {
                let number = nodes.len();
                let (reads, writes) = flow.step(number, &values);
                let jump = instruction.destination().and_then(|to| usize::try_from(to).ok());
                nodes.push(GraphNode {
                    label: labels.index(instruction),
                    delegate: delegate(plan, instruction),
                    args: instruction.args().iter().filter_map(index).collect(),
                    writes,
                    reads,
                    jump: jump.and_then(|to| first.checked_add(to)),
                    trace: traces.get(number).cloned().unwrap_or_default(),
                    marks: targets.of(Target::Instruction(method, number)),
                });
            }
        }
        let delegates = plan.delegates().iter().enumerate().map(|(number, delegate)| GraphDelegate {
            backend: delegate.id.clone().unwrap_or_default(),
            bytes: program.blob(delegate.processed).len(),
            payload: payloads.get(&delegate.processed).copied(),
            marks: targets.of(Target::Delegate(method, number)),
        });
        MethodGraph {
            name: plan.name.clone().unwrap_or_default(),
            outputs: list(&plan.outputs).into_iter().map(|output| flow.read(output, &values)).collect(),
            delegates: delegates.collect(),
            frames: frames.list,
            marks: targets.of(Target::Method(method)),
            inputs,
            values,
            labels,
            nodes,
        }
    }

    /// What an instruction does.
    pub fn label(&self, node: &GraphNode) -> &str {
        self.labels.text(node.label)
    }

    /// Name and type of a value.
    pub fn described(&self, value: usize) -> (&str, &str) {
        self.values.get(value).map_or(("", ""), |value| (&value.name, &value.kind))
    }

    /// True if a difference is about an instruction, its delegate, or a value that it uses.
    pub fn is_changed(&self, node: &GraphNode) -> bool {
        let delegate = node.delegate.and_then(|delegate| self.delegates.get(delegate));
        let values = node.args.iter().chain(&node.writes).filter_map(|value| self.values.get(*value));
        let marks = [Some(&node.marks), delegate.map(|delegate| &delegate.marks)];
        marks.into_iter().flatten().chain(values.map(|value| &value.marks)).any(|marks| !marks.differences.is_empty())
    }

    /// The value that has the memory of a value: itself, unless it is a view.
    pub fn owner(&self, value: usize) -> usize {
        self.values.get(value).and_then(|value| value.base).unwrap_or(value)
    }

    fn json(&self) -> Value {
        let frame = |frame: &StackFrame| json!({"file": frame.filename, "line": frame.lineno, "name": frame.name, "context": frame.context});
        json!({
            "name": self.name,
            "inputs": self.inputs,
            "outputs": self.outputs.iter().map(Read::json).collect::<Vec<_>>(),
            "values": self.values.iter().map(GraphValue::json).collect::<Vec<_>>(),
            "labels": self.labels.texts(),
            "nodes": self.nodes.iter().map(GraphNode::json).collect::<Vec<_>>(),
            "delegates": self.delegates.iter().map(GraphDelegate::json).collect::<Vec<_>>(),
            "frames": self.frames.iter().map(frame).collect::<Vec<_>>(),
            "findings": self.marks.findings,
            "differences": self.marks.differences,
        })
    }
}

/// An object without the entries that are empty lists or null.
fn compact<const N: usize>(entries: [(&str, Value); N]) -> Value {
    let is_kept = |value: &Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
    let kept = entries.into_iter().filter(|(_, value)| is_kept(value));
    kept.map(|(key, value)| (key.to_owned(), value)).collect::<serde_json::Map<_, _>>().into()
}

impl GraphValue {
    fn json(&self) -> Value {
        let (content, bytes) = match self.content {
            Content::None => (None, None),
            Content::Input => (Some("input"), None),
            Content::Constant(bytes) => (Some("constant"), Some(bytes)),
            Content::External => (Some("external"), None),
            Content::State => (Some("state"), None),
            Content::Literal => (Some("literal"), None),
        };
        compact([
            ("name", json!(self.name)),
            ("type", json!(self.kind)),
            ("content", json!(content)),
            ("bytes", json!(bytes)),
            ("base", json!(self.base)),
            ("items", json!(self.items)),
            ("findings", json!(self.marks.findings)),
            ("differences", json!(self.marks.differences)),
        ])
    }
}

impl Read {
    fn json(&self) -> Value {
        match self.writers.is_empty() {
            true => json!([self.value, null]),
            false => [&[self.value], &self.writers[..]].concat().into(),
        }
    }
}

impl GraphNode {
    fn json(&self) -> Value {
        let reads: Vec<Value> = self.reads.iter().map(Read::json).collect();
        compact([
            ("label", json!(self.label)),
            ("delegate", json!(self.delegate)),
            ("args", json!(self.args)),
            ("writes", json!(self.writes)),
            ("reads", reads.into()),
            ("jump", json!(self.jump)),
            ("trace", json!(self.trace)),
            ("findings", json!(self.marks.findings)),
            ("differences", json!(self.marks.differences)),
        ])
    }
}

impl GraphDelegate {
    fn json(&self) -> Value {
        compact([
            ("backend", json!(self.backend)),
            ("bytes", json!(self.bytes)),
            ("payload", json!(self.payload)),
            ("findings", json!(self.marks.findings)),
            ("differences", json!(self.marks.differences)),
        ])
    }
}

impl PayloadGraph {
    fn new(draft: &Draft) -> PayloadGraph {
        let values = draft.values.iter().map(|value| {
            let bytes = value.constant.as_ref().map(|constant| match &constant.source {
                ConstantSource::Data(blob) => blob.len(),
                ConstantSource::Key(_) => constant.size.unwrap_or(0),
            });
            (value_type(value), bytes)
        });
        let nodes = draft.nodes.iter().map(|node| {
            let (mut reads, mut writes) = (Vec::new(), Vec::new());
            for operand in node.operation.operands() {
                if let Some(DraftField::Value(value)) = node.fields.get(usize::from(operand.slot)) {
                    if operand.is_output { &mut writes } else { &mut reads }.push(*value);
                }
            }
            (node.operation.word(), reads, writes)
        });
        PayloadGraph {
            values: values.collect(),
            inputs: draft.inputs.clone(),
            outputs: draft.outputs.clone(),
            nodes: nodes.collect(),
        }
    }

    fn json(&self) -> Value {
        let value = |(kind, bytes): &(String, Option<u64>)| compact([("type", json!(kind)), ("bytes", json!(bytes))]);
        let node = |(name, reads, writes): &(&str, Vec<usize>, Vec<usize>)| json!({"name": name, "reads": reads, "writes": writes});
        json!({
            "values": self.values.iter().map(value).collect::<Vec<_>>(),
            "inputs": self.inputs,
            "outputs": self.outputs,
            "nodes": self.nodes.iter().map(node).collect::<Vec<_>>(),
        })
    }
}

fn values(
    subject: &Subject<'_>,
    method: usize,
    plan: &ExecutionPlan,
    inputs: &[usize],
    targets: &Targets,
) -> Vec<GraphValue> {
    let program = subject.program;
    let requested = subject.values.get(method).map_or(&[][..], |values| &values.memory);
    let count = plan.values().len();
    let mut values: Vec<GraphValue> = plan
        .values()
        .iter()
        .enumerate()
        .map(|(number, value)| GraphValue {
            name: subject.value_name(method, number),
            kind: describe(value),
            content: content(program, value, subject.is_state(method, number)),
            base: base(requested, number).filter(|_| !subject.has_own_memory(method, number)),
            items: value.as_tensors().iter().filter_map(|item| item.within(count)).collect(),
            marks: targets.of(Target::Value(method, number)),
        })
        .collect();
    for input in inputs {
        values[*input].content = Content::Input;
    }
    values
}

/// Steps from a view to the value that is no view.
const MAX_VIEWS: usize = 8;

/// Returns the value whose memory a view is.
fn base(requested: &[Memory], value: usize) -> Option<usize> {
    let step = |value: &usize| match requested.get(*value) {
        Some(Memory::View { base }) => usize::try_from(*base).ok().filter(|base| *base < requested.len()),
        Some(Memory::None | Memory::Auto { .. } | Memory::At { .. }) | None => None,
    };
    std::iter::successors(Some(value), step).skip(1).take(MAX_VIEWS).last()
}

fn content(program: &Program, value: &EValue, is_state: bool) -> Content {
    let Some(tensor) = value.as_tensor() else { return Content::Literal };
    match tensor.data {
        _ if is_state => Content::State,
        _ if tensor.is_external() => Content::External,
        TensorData::Blob(blob) => Content::Constant(program.blob(blob).len()),
        TensorData::None | TensorData::Elsewhere(_) => Content::None,
    }
}

/// Returns the delegate that an instruction calls.
fn delegate(plan: &ExecutionPlan, instruction: &Instruction) -> Option<usize> {
    let Instruction::DelegateCall { delegate_index, .. } = instruction else { return None };
    delegate_index.within(plan.delegates().len())
}

/// The stack trace of each instruction, chain after chain; empty without one.
fn traces(plan: &ExecutionPlan) -> impl Iterator<Item = &[StackFrame]> {
    plan.chains.iter().flatten().flat_map(|chain| {
        let traces = chain.stacktrace.as_deref().unwrap_or_default();
        let count = chain.instructions.as_ref().map_or(0, Vec::len);
        (0..count).map(|number| traces.get(number).and_then(Option::as_deref).unwrap_or_default())
    })
}

/// Distinct frames.
#[derive(Default)]
struct Frames<'p> {
    list: Vec<StackFrame>,
    numbers: HashMap<&'p StackFrame, usize>,
}

impl<'p> Frames<'p> {
    fn take(&mut self, trace: &'p [StackFrame]) -> Vec<usize> {
        let number = |frame: &'p StackFrame| {
            *self.numbers.entry(frame).or_insert_with(|| {
                self.list.push(frame.clone());
                self.list.len() - 1
            })
        };
        trace.iter().map(number).collect()
    }
}

/// The value that has the memory of a value.
fn owner(value: usize, values: &[GraphValue]) -> usize {
    values[value].base.unwrap_or(value)
}

/// The writers whose content values have, step by step.
struct Flow<'j> {
    accesses: Accesses,
    /// The instructions whose content each value may have.
    writers: Vec<Vec<usize>>,
    skips: Skips<'j>,
}

impl<'j> Flow<'j> {
    fn new(plan: &ExecutionPlan, values: &[GraphValue], jumps: &'j [Jump]) -> Flow<'j> {
        let owners: Vec<u32> = (0..values.len()).map(|value| owner(value, values) as u32).collect();
        let accesses = Accesses::collect(AccessContext {
            plan,
            operators: &MethodOperators::known(plan),
            kinds: &ValueKinds::of(plan.values()),
            has_content: values.iter().map(|value| value.content != Content::None).collect(),
            owners: &owners,
        });
        Flow { accesses, writers: vec![Vec::new(); values.len()], skips: Skips::new(jumps) }
    }

    fn read(&self, value: usize, values: &[GraphValue]) -> Read {
        Read { value, writers: self.writers[owner(value, values)].clone() }
    }

    /// Returns what the next instruction reads and writes.
    fn step(&mut self, number: usize, values: &[GraphValue]) -> (Vec<Read>, Vec<usize>) {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for access in self.accesses.of_step(number) {
            let value = access.value as usize;
            let read = self.read(value, values);
            // Lists and literals are read by their items, or have their values in the node.
            let is_literal = values[value].content == Content::Literal && read.writers.is_empty();
            if access.reads() && !is_literal {
                reads.push(read);
            }
            if access.writes() && values[value].items.is_empty() {
                writes.push(value);
            }
        }
        reads.sort_unstable_by_key(|read| read.value);
        reads.dedup();
        writes.sort_unstable();
        writes.dedup();
        let around = self.skips.around(number as u32);
        for value in writes.iter().map(|value| owner(*value, values)) {
            let writers = &mut self.writers[value];
            writers.retain(|writer| *writer != number && around.is_some_and(|jump| *writer < jump.step as usize));
            if writers.len() == WRITERS {
                writers.remove(0);
            }
            writers.push(number);
        }
        (reads, writes)
    }
}
