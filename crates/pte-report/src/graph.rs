//! Computes the graph of each method as plain data: a node for each instruction with its arguments and its work, edges
//! by value, the operations in payloads, weights, and the findings of `check` and differences about each element.
//! Layout and drawing are left to the page.

use std::collections::HashMap;

use serde::Serialize;

pub use crate::flow::Read;

use crate::callee::{Callee, Callees, names_of_numbers};
use crate::flow::{Flow, Left, Step, ValueFacts};
use crate::literal::{self, ItemsLeft};
use crate::modules::{GraphModule, Modules};
use crate::payload_graph::PayloadGraph;
use crate::statistics::{DataKey, StatisticsCache, TensorStatistics};
use crate::targets::{Marks, Target, Targets};
use crate::weights::{GraphWeight, weights};
use crate::work::GraphWork;
use pte_inspect::delegation::{self, CallWork};
use pte_inspect::summary::{Graphs, describe, payload_graphs};
use pte_memory::Subject;
use pte_memory::labels::Labels;
use pte_model::data::BlobId;
use pte_model::program::{EValue, ExecutionPlan, Instruction, Memory, Program, StackFrame, TensorData, ValueId};
use pte_payload::compile_specs::Compiled;
use pte_payload::decoded::ConstantData;

/// Version of the serialised form.
const VERSION: u32 = 4;

/// Maximum number of values of an instruction with edges in files for other viewers, and of edges of a method: a list
/// of many items can be read by many instructions.
const MAX_DRAWN: [usize; 2] = [64, 1 << 16];

/// The graphs of a program.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramGraph {
    /// Version of the serialised form: it grows when a key changes.
    pub version: u32,
    /// Methods in the order of the program.
    pub methods: Vec<MethodGraph>,
    /// Decoded payloads, each once.
    pub payloads: Vec<PayloadGraph>,
    /// Operators, backends and kinds of instructions that methods call, each once.
    pub callees: Vec<Callee>,
    /// Constants, each stored one once, the largest first.
    pub weights: Vec<GraphWeight>,
}

/// The graph of a method.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MethodGraph {
    /// Name; empty if it has none.
    pub name: String,
    /// Values that the caller sets.
    pub inputs: Vec<usize>,
    /// Values that the caller reads at the end.
    pub outputs: Vec<Read>,
    /// All values.
    pub values: Vec<GraphValue>,
    /// Distinct labels of instructions, to which the nodes refer.
    pub labels: Vec<String>,
    /// By label: index in [`ProgramGraph::callees`].
    pub callees: Vec<usize>,
    /// Instructions of all chains in their order.
    pub nodes: Vec<GraphNode>,
    /// Delegates.
    pub delegates: Vec<GraphDelegate>,
    /// Distinct lines of the stack traces.
    pub frames: Vec<GraphFrame>,
    /// Modules that the stack traces name.
    pub modules: Vec<GraphModule>,
    /// Findings about the method that belong to no node, value or delegate.
    pub findings: Vec<usize>,
    /// Differences about the method that belong to no node, value or delegate.
    pub differences: Vec<usize>,
}

/// A value of a method.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GraphValue {
    /// Name in the YAML, or its index.
    pub name: String,
    /// Element type and sizes of a tensor, value of a literal, kind of a list.
    #[serde(rename = "type")]
    pub kind: String,
    /// Content of a number, string or list: `[1, 1]`, `none`; names of the members of a list of tensors. Lists of more
    /// than 64 items are truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Source of its content before the first instruction.
    #[serde(flatten)]
    #[cfg_attr(feature = "schema", schemars(with = "ContentKeys"))]
    pub content: Content,
    /// For a view, the value whose memory and content it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<usize>,
    /// Statistics of constant data, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics: Option<TensorStatistics>,
    /// Items of a list of tensors, without those that are None.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<usize>,
    /// Findings and differences about it.
    #[serde(flatten)]
    pub marks: Marks,
}

impl GraphValue {
    /// Returns the properties of a value that the flow depends on, by its index.
    fn facts(&self, index: usize) -> ValueFacts {
        ValueFacts {
            owner: self.base.unwrap_or(index),
            has_content: self.content != Content::None,
            is_literal: self.content == Content::Literal,
            is_list: !self.items.is_empty(),
        }
    }
}

/// Source of the content of a value before the first instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "content", rename_all = "lowercase")]
pub enum Content {
    /// The caller sets it.
    Input,
    /// Constant data.
    Constant {
        /// Size in bytes.
        bytes: u64,
    },
    /// Data of a `.ptd`.
    External,
    /// State that is kept from one execution to the next.
    State,
    /// A number, string, list or None in the program.
    Literal,
    /// A tensor without initial content.
    #[serde(untagged)]
    None,
}

/// Keys of a value that [`Content`] is serialised as.
#[cfg(feature = "schema")]
#[derive(Serialize, schemars::JsonSchema)]
struct ContentKeys {
    /// Source of its content before the first instruction: `input`, `constant`, `external` (data of a `.ptd`), `state`
    /// or `literal`; absent for a tensor without initial content.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'static str>,
    /// Size of the data of a constant in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
}

/// Node of an instruction.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GraphNode {
    /// Index in [`MethodGraph::labels`].
    pub label: usize,
    /// Delegate that it calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delegate: Option<usize>,
    /// Values of its arguments, in the order of [`Callee::args`]; `None` for an index out of range.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Option<usize>>,
    /// Names of numbers by their position in the arguments: element types and memory formats.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<(usize, String)>,
    /// Values that it writes, each once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<usize>,
    /// Values that it reads, with the instructions that may have written each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Read>,
    /// Number of further values that it writes: lists of a program can have many items in many calls.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_writes: usize,
    /// Number of further values that it reads.
    #[serde(skip_serializing_if = "is_zero")]
    pub more_reads: usize,
    /// Instruction that is executed instead of the next one if a condition is false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jump: Option<usize>,
    /// The condition of the jump is a constant: it is always taken.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub always: bool,
    /// Stack trace as indices of [`MethodGraph::frames`], from the outermost call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trace: Vec<usize>,
    /// Module that it was exported from, as an index of [`MethodGraph::modules`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<usize>,
    /// Work of a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<GraphWork>,
    /// Findings and differences about it.
    #[serde(flatten)]
    pub marks: Marks,
}

/// A delegate of a method.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GraphDelegate {
    /// Name in the YAML.
    pub name: String,
    /// Backend.
    pub backend: String,
    /// Size of the payload in bytes.
    pub bytes: u64,
    /// What it was compiled for.
    #[serde(flatten)]
    pub compiled: Compiled,
    /// Index in [`ProgramGraph::payloads`], if the payload is decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<usize>,
    /// Findings and differences about it.
    #[serde(flatten)]
    pub marks: Marks,
}

/// A line of a stack trace.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GraphFrame {
    /// Source file.
    pub file: Option<String>,
    /// Line number in the file.
    pub line: i32,
    /// Name of the function.
    pub name: Option<String>,
    /// Source of the line.
    pub context: Option<String>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl ProgramGraph {
    /// Builds the graphs of a program. `findings` has the paths of the findings of `check` about its file,
    /// `differences` the paths of the differences from another program.
    pub fn new(subject: &Subject<'_>, findings: &[&str], differences: &[&str]) -> ProgramGraph {
        ProgramGraph::with_statistics(subject, findings, differences, None)
    }

    /// Builds the graphs like [`ProgramGraph::new`], with the statistics of constant data.
    pub fn with_statistics(
        subject: &Subject<'_>,
        findings: &[&str],
        differences: &[&str],
        statistics: Option<&mut StatisticsCache>,
    ) -> ProgramGraph {
        let program = subject.program;
        let graphs = payload_graphs(subject);
        let named = program.named_data.iter().flatten();
        let named = named.map(|entry| (entry.key.as_str(), program.blob(entry.data).len())).collect();
        let mut payloads = Vec::new();
        let mut numbers: HashMap<BlobId, usize> = HashMap::new();
        for delegate in program.plans().iter().flat_map(ExecutionPlan::delegates) {
            if let Some(graph) = graphs.get(&delegate.processed) {
                numbers.entry(delegate.processed).or_insert_with(|| {
                    payloads.push(PayloadGraph::new(graph, &named));
                    payloads.len() - 1
                });
            }
        }
        let targets = Targets::new(program, findings, differences);
        let methods = program.plans().iter().enumerate();
        let (mut left, mut items, mut callees) = (Left::default(), ItemsLeft::default(), Callees::default());
        let methods = methods.map(|(method, plan)| {
            let context = MethodContext { subject, method, plan, payloads: &numbers, decoded: &payloads };
            MethodGraph::new(&context, &targets, &mut left, &mut items, callees.of(plan))
        });
        let methods: Vec<MethodGraph> = methods.collect();
        let weights = weights(subject, &graphs, &numbers, &payloads, &|method, value| methods[method].described(value));
        let callees = callees.into_list();
        let mut graph = ProgramGraph { version: VERSION, methods, payloads, callees, weights };
        if let Some(statistics) = statistics {
            graph.add_statistics(program, &graphs, &numbers, statistics);
        }
        graph
    }

    /// Reads the constant data of the methods and payloads.
    fn add_statistics(
        &mut self,
        program: &Program,
        decoded: &Graphs<'_>,
        numbers: &HashMap<BlobId, usize>,
        statistics: &mut StatisticsCache,
    ) {
        for (method, plan) in self.methods.iter_mut().zip(program.plans()) {
            for (number, tensor) in plan.tensors() {
                let (&TensorData::Blob(id), Some(value)) = (&tensor.data, method.values.get_mut(number)) else {
                    continue;
                };
                if let Content::Constant { .. } = value.content {
                    value.statistics = statistics.of(DataKey::Blob(id.0), program.blob(id), tensor.scalar_type);
                }
            }
        }
        let named: HashMap<&str, BlobId> =
            program.named_data.iter().flatten().map(|entry| (entry.key.as_str(), entry.data)).collect();
        let mut payloads: Vec<(&BlobId, &usize)> = numbers.iter().collect();
        // The limit is reached at the same place on every machine.
        payloads.sort_unstable_by_key(|(_, number)| **number);
        for (payload, number) in payloads {
            let (Some(decoded), Some(graph)) = (decoded.get(payload), self.payloads.get_mut(*number)) else { continue };
            for (number, (found, value)) in decoded.values.iter().zip(&mut graph.values).enumerate() {
                let (Some(data), Some(elements)) = (&found.data, found.elements) else { continue };
                let data = match data {
                    ConstantData::Inside(blob) => Some((DataKey::Payload(payload.0, number), blob)),
                    ConstantData::Named(key, _) => named.get(&**key).map(|id| (DataKey::Blob(id.0), program.blob(*id))),
                };
                value.statistics = data.and_then(|(key, blob)| statistics.of(key, blob, elements));
            }
        }
    }
}

/// A method, and the payloads of the program.
struct MethodContext<'s> {
    subject: &'s Subject<'s>,
    method: usize,
    plan: &'s ExecutionPlan,
    /// Index of each payload.
    payloads: &'s HashMap<BlobId, usize>,
    /// The payloads.
    decoded: &'s [PayloadGraph],
}

impl MethodContext<'_> {
    /// Returns the work of each instruction.
    fn work(&self) -> Vec<Option<GraphWork>> {
        let Some(method) = self.subject.methods.get(self.method) else { return Vec::new() };
        let calls = delegation::kernel_calls(self.plan, &method.operators);
        let work = |(instruction, call): (&Instruction, Option<CallWork>)| {
            let of_payload = || {
                let delegate = self.plan.delegates().get(delegate(self.plan, instruction)?)?;
                self.decoded.get(*self.payloads.get(&delegate.processed)?).map(PayloadGraph::work)
            };
            call.map(GraphWork::from).or_else(of_payload)
        };
        self.plan.instructions().zip(calls).map(work).collect()
    }
}

impl MethodGraph {
    fn new(
        context: &MethodContext<'_>,
        targets: &Targets,
        left: &mut Left,
        items: &mut ItemsLeft,
        callees: Vec<usize>,
    ) -> MethodGraph {
        let MethodContext { subject, method, plan, payloads, .. } = *context;
        let program = subject.program;
        let index = |value: &ValueId| value.within(plan.values().len());
        let list = |values: &Option<Vec<ValueId>>| values.iter().flatten().filter_map(index).collect::<Vec<usize>>();
        let inputs = list(&plan.inputs);
        let values = values(subject, method, plan, &inputs, targets, items);
        let mut frames = Frames::default();
        let mut modules = Modules::default();
        let traces: Vec<(Vec<usize>, Option<usize>)> =
            traces(plan).map(|trace| (frames.take(trace), modules.of(trace))).collect();
        let mut work = context.work().into_iter();
        let labels = Labels::new(plan);
        let facts = values.iter().enumerate().map(|(number, value)| value.facts(number)).collect();
        let mut flow = Flow::new(&subject.methods[method], facts);
        let mut steps = flow.steps(left).into_iter();
        let mut nodes: Vec<GraphNode> = Vec::new();
        for chain in plan.chains.iter().flatten() {
            let first = nodes.len();
            for instruction in chain.instructions.iter().flatten() {
                let number = nodes.len();
                let Step { reads, writes, more_reads, more_writes } = steps.next().unwrap_or_default();
                let jump = instruction.destination().and_then(|to| usize::try_from(to).ok());
                nodes.push(GraphNode {
                    label: labels.index(instruction),
                    delegate: delegate(plan, instruction),
                    args: instruction.args().iter().map(index).collect(),
                    texts: names_of_numbers(plan, instruction),
                    writes,
                    more_writes,
                    more_reads,
                    reads,
                    jump: jump.and_then(|to| first.checked_add(to)),
                    always: condition(instruction).is_some_and(|value| plan.value(value) == Some(&EValue::Bool(false))),
                    trace: traces.get(number).map(|(trace, _)| trace.clone()).unwrap_or_default(),
                    module: traces.get(number).and_then(|(_, module)| *module),
                    work: work.next().flatten(),
                    marks: targets.of(Target::Instruction(method, number)),
                });
            }
        }
        let conditions = plan.instructions().map(|instruction| condition(instruction).as_ref().and_then(index));
        for (node, condition) in nodes.iter_mut().zip(conditions) {
            node.always &= condition.is_some_and(|value| !flow.is_written(value));
        }
        let delegates = plan.delegates().iter().enumerate().map(|(number, delegate)| GraphDelegate {
            name: subject.delegate_name(method, number),
            backend: delegate.id.clone().unwrap_or_default(),
            bytes: program.blob(delegate.processed).len(),
            compiled: subject.payloads.compiled(delegate),
            payload: payloads.get(&delegate.processed).copied(),
            marks: targets.of(Target::Delegate(method, number)),
        });
        let Marks { findings, differences } = targets.of(Target::Method(method));
        MethodGraph {
            name: plan.name.clone().unwrap_or_default(),
            outputs: list(&plan.outputs).into_iter().map(|output| flow.read(output)).collect(),
            delegates: delegates.collect(),
            frames: frames.list,
            modules: modules.into_list(),
            callees,
            findings,
            differences,
            inputs,
            values,
            labels: labels.texts(),
            nodes,
        }
    }

    /// Returns, by node, the number of its first reads that have edges in files for other viewers.
    pub fn drawn_reads(&self) -> Vec<usize> {
        let [of_node, mut left] = MAX_DRAWN;
        let mut drawn = |node: &GraphNode| {
            let edges = |read: &&Read| {
                let rest = left.checked_sub(read.writers.len().max(1));
                left = rest.unwrap_or(0);
                rest.is_some()
            };
            node.reads.iter().take(of_node).take_while(edges).count()
        };
        self.nodes.iter().map(&mut drawn).collect()
    }

    /// Returns the label of an instruction.
    pub fn label(&self, node: &GraphNode) -> &str {
        self.labels.get(node.label).map_or("", String::as_str)
    }

    /// Returns name and type of a value.
    pub fn described(&self, value: usize) -> (&str, &str) {
        self.values.get(value).map_or(("", ""), |value| (&value.name, &value.kind))
    }

    /// Returns true if a difference is about an instruction, its delegate, or a value that it uses.
    pub fn is_changed(&self, node: &GraphNode) -> bool {
        let delegate = node.delegate.and_then(|delegate| self.delegates.get(delegate));
        let values = node.args.iter().flatten().chain(&node.writes).filter_map(|value| self.values.get(*value));
        let marks = [Some(&node.marks), delegate.map(|delegate| &delegate.marks)];
        marks.into_iter().flatten().chain(values.map(|value| &value.marks)).any(|marks| !marks.differences.is_empty())
    }

    /// Returns the value whose memory a value has: the base of a view, and the value itself otherwise.
    pub fn owner(&self, value: usize) -> usize {
        self.values.get(value).and_then(|value| value.base).unwrap_or(value)
    }
}

fn values(
    subject: &Subject<'_>,
    method: usize,
    plan: &ExecutionPlan,
    inputs: &[usize],
    targets: &Targets,
    items: &mut ItemsLeft,
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
            text: literal::text(subject, method, plan, value, items),
            content: content(program, value, subject.is_state(method, number)),
            statistics: None,
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

/// Maximum number of steps from a view through other views to its base.
const MAX_VIEWS: usize = 8;

/// Returns the base of a view, after at most [`MAX_VIEWS`] steps; `None` for other values.
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
        TensorData::Blob(blob) => Content::Constant { bytes: program.blob(blob).len() },
        TensorData::None | TensorData::Elsewhere(_) => Content::None,
    }
}

/// Returns the condition of a jump.
fn condition(instruction: &Instruction) -> Option<ValueId> {
    match instruction {
        Instruction::JumpFalseCall { cond_value_index, .. } => Some(*cond_value_index),
        Instruction::KernelCall { .. }
        | Instruction::DelegateCall { .. }
        | Instruction::MoveCall { .. }
        | Instruction::FreeCall { .. }
        | Instruction::Unknown { .. } => None,
    }
}

/// Returns the delegate that an instruction calls.
fn delegate(plan: &ExecutionPlan, instruction: &Instruction) -> Option<usize> {
    let Instruction::DelegateCall { delegate_index, .. } = instruction else { return None };
    delegate_index.within(plan.delegates().len())
}

/// Returns the stack trace of each instruction of all chains; an empty one for an instruction without.
fn traces(plan: &ExecutionPlan) -> impl Iterator<Item = &[StackFrame]> {
    plan.chains.iter().flatten().flat_map(|chain| {
        let traces = chain.stacktrace.as_deref().unwrap_or_default();
        let count = chain.instructions.as_ref().map_or(0, Vec::len);
        (0..count).map(|number| traces.get(number).and_then(Option::as_deref).unwrap_or_default())
    })
}

/// Collects distinct frames of stack traces.
#[derive(Default)]
struct Frames<'p> {
    list: Vec<GraphFrame>,
    numbers: HashMap<&'p StackFrame, usize>,
}

impl<'p> Frames<'p> {
    fn take(&mut self, trace: &'p [StackFrame]) -> Vec<usize> {
        let number = |frame: &'p StackFrame| {
            *self.numbers.entry(frame).or_insert_with(|| {
                let StackFrame { filename, lineno, name, context, .. } = frame.clone();
                self.list.push(GraphFrame { file: filename, line: lineno, name, context });
                self.list.len() - 1
            })
        };
        trace.iter().map(number).collect()
    }
}
