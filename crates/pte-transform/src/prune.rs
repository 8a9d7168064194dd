//! Finds the parts of methods that have no effect: instructions with unused results, and unreferenced values, operators
//! and delegates. [`prune`] removes them (`--prune`), [`unused_parts`] lists those that are worth a warning.
//!
//! An instruction has an effect unless it calls a known operator that only writes results, none of them an input, state
//! or a constant. Parts are kept if they are reachable from the inputs, the outputs and the instructions with an
//! effect. An instruction needs its arguments, a list its items, a view its base, and a value that is read the
//! instructions that may have written it. An explicit location may still have the content of another tensor when it is
//! read; the instructions that write that tensor, and its initial data, are then kept, too. Unreferenced data are
//! removed as well, except `named_data`, which delegates find by key.

mod graph;
mod placed;
mod places;
use std::collections::HashSet;

use self::graph::{MethodGraph, Step, index};
use self::placed::PlacedTensors;
use self::places::Places;
use crate::remap::{Indices, Remap, drop_blobs};
use pte_model::program::instruction::Callee;
use pte_model::program::{EValue, ExecutionPlan, Memory, Program, Tensor};

/// Parts of a method that are kept.
struct MethodUses {
    /// By value.
    values: Vec<bool>,
    /// By step: the position of an instruction, counted through all chains.
    steps: Vec<bool>,
    /// By operator.
    operators: Vec<bool>,
    /// By delegate.
    delegates: Vec<bool>,
}

impl MethodUses {
    /// Returns `true` if everything is kept.
    fn are_complete(&self) -> bool {
        [&self.values, &self.steps, &self.operators, &self.delegates].iter().all(|part| part.iter().all(|used| *used))
    }

    fn remap(&self, plan: &ExecutionPlan) -> Remap {
        Remap {
            values: Indices::retained(&self.values),
            operators: Indices::retained(&self.operators),
            delegates: Indices::retained(&self.delegates),
            ..Remap::of_instructions(plan, &self.steps)
        }
    }
}

/// An entry of the work list. Values are indices in a method.
enum Mark {
    /// A step is kept.
    Step { method: usize, step: usize },
    /// A value is kept, whatever its content.
    Value { method: usize, value: i64 },
    /// A value is kept, and a step (or the end of the method) reads its content.
    Content { method: usize, value: i64, step: usize },
    /// The steps that write a value are kept.
    Writers { method: usize, value: usize },
}

/// State of marking the parts that are kept.
struct Marker<'p> {
    graphs: &'p [MethodGraph<'p>],
    uses: Vec<MethodUses>,
    /// By method and value: its content is read.
    read: Vec<Vec<bool>>,
    /// By method and value: the steps that write it are kept.
    written: Vec<Vec<bool>>,
    /// By method and value: the steps that write this list of outs are kept.
    written_lists: Vec<Vec<bool>>,
    placed: PlacedTensors,
    /// By method: its state with initial data.
    states: Vec<PlacedTensors>,
    /// By method.
    places: Vec<Places>,
    /// By method and value: for its group, the writers of all values that share its bytes are kept.
    disturbed: Vec<Vec<bool>>,
    work: Vec<Mark>,
}

/// Instructions that are kept even if nothing uses their results.
#[derive(Clone, Copy)]
enum Roots {
    /// Those with an effect.
    Effects,
    /// All.
    Instructions,
}

/// Returns the parts of each method that are kept.
fn uses(graphs: &[MethodGraph<'_>], roots: Roots) -> Vec<MethodUses> {
    let unused = |graph: &MethodGraph<'_>| MethodUses {
        values: vec![false; graph.plan.values().len()],
        steps: vec![false; graph.steps.len()],
        operators: vec![false; graph.plan.operators.as_ref().map_or(0, Vec::len)],
        delegates: vec![false; graph.plan.delegates().len()],
    };
    let flags = |graph: &MethodGraph<'_>| vec![false; graph.plan.values().len()];
    let mut marker = Marker {
        uses: graphs.iter().map(unused).collect(),
        read: graphs.iter().map(flags).collect(),
        written: graphs.iter().map(flags).collect(),
        written_lists: graphs.iter().map(flags).collect(),
        placed: PlacedTensors::new(graphs.iter().map(|graph| graph.plan), |_| true),
        states: graphs.iter().map(|graph| PlacedTensors::new([graph.plan].into_iter(), placed::has_data)).collect(),
        places: graphs.iter().map(Places::new).collect(),
        disturbed: graphs.iter().map(flags).collect(),
        work: Vec::new(),
        graphs,
    };
    marker.begin(roots);
    while let Some(mark) = marker.work.pop() {
        match mark {
            Mark::Step { method, step } => marker.step(method, step),
            Mark::Value { method, value } => marker.value(method, value),
            Mark::Content { method, value, step } => marker.content(method, value, step),
            Mark::Writers { method, value } => marker.writers(method, value),
        }
    }
    marker.uses
}

impl Marker<'_> {
    /// Marks the parts that are kept unconditionally.
    fn begin(&mut self, roots: Roots) {
        for (method, graph) in self.graphs.iter().enumerate() {
            let end = graph.steps.len();
            let inputs = graph.plan.inputs.iter().flatten();
            self.work.extend(inputs.map(|value| Mark::Value { method, value: (*value).into() }));
            let chains = graph.plan.chains.iter().flatten();
            let mentioned = chains.flat_map(|chain| chain.inputs.iter().chain(&chain.outputs).flatten());
            let read = graph.plan.outputs.iter().flatten().chain(mentioned);
            self.work.extend(read.map(|value| Mark::Content { method, value: (*value).into(), step: end }));
            // The application finds state by its name.
            let named =
                graph.plan.tensors().filter(|(_, tensor)| tensor.memory != Memory::None && tensor.name().is_some());
            self.work.extend(named.map(|(value, _)| Mark::Content { method, value: value as i64, step: end }));
            let is_root = |step: &Step<'_>| match roots {
                Roots::Effects => step.has_effect,
                Roots::Instructions => true,
            };
            let kept = graph.steps.iter().enumerate().filter(|(_, step)| is_root(step));
            self.work.extend(kept.map(|(step, _)| Mark::Step { method, step }));
        }
    }

    fn step(&mut self, method: usize, step: usize) {
        let uses = &mut self.uses[method];
        if std::mem::replace(&mut uses.steps[step], true) {
            return;
        }
        let Step { instruction, reads, .. } = self.graphs[method].steps[step];
        let used = match instruction.callee() {
            Some(Callee::Operator(id)) => id.item_mut(&mut uses.operators),
            Some(Callee::Delegate(id)) => id.item_mut(&mut uses.delegates),
            None => None,
        };
        used.into_iter().for_each(|used| *used = true);
        let (read, written) = instruction.args().split_at(reads);
        let operands = instruction.operands().map(|(_, value, _)| value);
        let read = read.iter().copied().chain(operands);
        self.work.extend(read.map(|value| Mark::Content { method, value: value.into(), step }));
        self.work.extend(written.iter().map(|value| Mark::Value { method, value: (*value).into() }));
    }

    fn value(&mut self, method: usize, value: i64) {
        let graph = &self.graphs[method];
        let Some(number) = index(graph.plan.values(), value) else { return };
        if std::mem::replace(&mut self.uses[method].values[number], true) {
            return;
        }
        let value = &graph.plan.values()[number];
        self.work.extend(value.items().iter().map(|value| Mark::Value { method, value }));
        if let Some(Memory::View { base }) = value.as_tensor().map(|tensor| tensor.memory) {
            self.work.push(Mark::Value { method, value: base.into() });
        }
        // A tensor with bytes of initial data is a view of that state.
        if let Some(range) = placed::range(graph.plan.values(), number) {
            let states = self.states[method].take(&range).into_iter();
            self.work.extend(states.map(|(_, state)| Mark::Value { method, value: state as i64 }));
        }
        // A value that is used as an out must be a view by then.
        self.work.extend(graph.aliasing_steps(number).map(|step| Mark::Step { method, step }));
    }

    fn content(&mut self, method: usize, value: i64, step: usize) {
        let graph = &self.graphs[method];
        let Some(number) = index(graph.plan.values(), value) else { return };
        if let Some(writer) = graph.writer_before(number, step) {
            self.work.push(Mark::Value { method, value });
            self.work.push(Mark::Step { method, step: writer });
            return;
        }
        // It may read content that other tensors left in its bytes.
        if self.places[method].is_disturbed(graph, number, step) {
            for member in graph.group(number) {
                if std::mem::replace(&mut self.disturbed[method][member], true) {
                    break;
                }
                let Some(range) = placed::range(graph.plan.values(), member) else { continue };
                let overlapping = self.placed.take(&range).into_iter();
                self.work.extend(overlapping.map(|(method, value)| Mark::Writers { method, value }));
            }
        }
        if std::mem::replace(&mut self.read[method][number], true) {
            return;
        }
        self.work.push(Mark::Value { method, value });
        self.work.push(Mark::Writers { method, value: number });
        let (first, last) = graph.reads(number).unwrap_or((step, step));
        for item in graph.plan.values()[number].items().iter() {
            for step in [first.min(step), last.max(step)] {
                self.work.push(Mark::Content { method, value: item, step });
            }
        }
    }

    fn writers(&mut self, method: usize, value: usize) {
        let graph = &self.graphs[method];
        for member in graph.group(value) {
            if std::mem::replace(&mut self.written[method][member], true) {
                return;
            }
            // Initial data are written when the method is loaded.
            if placed::has_data(&graph.plan.values()[member]) {
                self.work.push(Mark::Value { method, value: member as i64 });
            }
            // A result that is overwritten in the same block is only needed by the steps between, which mark it
            // themselves.
            let lasting = graph.writing_steps(member).filter(|step| graph.overwriting_step(member, *step).is_none());
            self.work.extend(lasting.map(|step| Mark::Step { method, step }));
            for list in graph.lists_of_outs(member) {
                if !std::mem::replace(&mut self.written_lists[method][list], true) {
                    self.work.extend(graph.writing_steps(list).map(|step| Mark::Step { method, step }));
                }
            }
        }
    }
}

/// Returns, by method and by instruction counted through all chains, `true` if the instruction has an effect, or a
/// result that something with an effect needs.
pub fn needed_instructions(program: &Program) -> Vec<Vec<bool>> {
    uses(&MethodGraph::of_program(program), Roots::Effects).into_iter().map(|uses| uses.steps).collect()
}

/// A result that an instruction overwrites before anything reads it. Instructions are counted through all chains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverwrittenResult {
    /// Index of the overwritten value.
    pub value: usize,
    /// The instruction whose result it is, which has no effect.
    pub step: usize,
    /// The instruction that overwrites it.
    pub by: usize,
}

/// Parts of a method that are worth a warning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnusedParts {
    /// Unused values in ascending order: nothing refers to them, or only instructions without effect write them.
    /// Constants and state are not reported, because exporters leave some of them unused.
    pub values: Vec<usize>,
    /// Results of other values, in the order of the instructions.
    pub overwritten: Vec<OverwrittenResult>,
}

/// Returns, for each method, the parts that are worth a warning.
pub fn unused_parts(program: &Program) -> Vec<UnusedParts> {
    let of = |(graph, uses): (&MethodGraph<'_>, MethodUses)| {
        if uses.are_complete() {
            return UnusedParts::default();
        }
        let plan = graph.plan;
        let mut unused: Vec<bool> = uses.values.iter().map(|used| !used).collect();
        // An unused instruction is reported by its results, which have no reader, not by its arguments.
        let dropped = || graph.steps.iter().enumerate().filter(|(step, _)| !uses.steps[*step]);
        let mut read_results = HashSet::new();
        for (step, Step { instruction, reads, .. }) in dropped() {
            let (read, _) = instruction.args().split_at(*reads);
            for number in read.iter().filter_map(|value| index(plan.values(), (*value).into())) {
                read_results.extend(graph.writer_before(number, step).map(|writer| (number, writer)));
                if std::mem::replace(&mut unused[number], false) {
                    let items = plan.values()[number].items().iter().filter_map(|item| index(plan.values(), item));
                    items.for_each(|item| unused[item] = false);
                }
            }
        }
        let has_content = |value: &EValue| value.as_tensor().is_some_and(Tensor::has_content);
        let mut overwritten = Vec::new();
        for (step, Step { instruction, reads, .. }) in dropped() {
            let written = instruction.args()[*reads..].iter();
            let mut results: Vec<usize> = written.filter_map(|value| index(plan.values(), (*value).into())).collect();
            results.dedup();
            let result =
                |value: usize| graph.overwriting_step(value, step).map(|by| OverwrittenResult { value, step, by });
            let is_unread = |value: &usize| !unused[*value] && !read_results.contains(&(*value, step));
            overwritten.extend(results.into_iter().filter(is_unread).filter_map(result));
        }
        let values = plan.values().iter().zip(unused).enumerate();
        let values = values.filter(|(_, (value, unused))| *unused && !has_content(value)).map(|(number, _)| number);
        UnusedParts { values: values.collect(), overwritten }
    };
    let graphs = MethodGraph::of_program(program);
    graphs.iter().zip(uses(&graphs, Roots::Effects)).map(of).collect()
}

/// Parts that [`prune`] removed from a method.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrunedParts {
    /// Instructions.
    pub instructions: usize,
    /// Values.
    pub values: usize,
    /// Operators.
    pub operators: usize,
    /// Delegates.
    pub delegates: usize,
    /// Names of the values in the source.
    pub names: Vec<String>,
}

/// The numbers, without names.
impl From<&Remap> for PrunedParts {
    fn from(remap: &Remap) -> PrunedParts {
        let [instructions, values, operators, delegates] = remap.removed();
        PrunedParts { instructions, values, operators, delegates, names: Vec::new() }
    }
}

/// Removes the parts without effect and the unreferenced data, and renumbers the others. Returns one entry for each
/// method. Pruning a pruned program changes nothing.
///
/// ```
/// use pte_model::data::Origin;
/// use pte_model::program::ValueId;
/// use pte_model::reader;
/// use pte_transform::prune::prune;
///
/// let mut program = reader::program::read(&Origin::Bytes(pte_model::LINEAR_PTE.into()))?.program;
/// // The method returns its input: nothing reads the results of the three instructions.
/// let forward = &mut program.execution_plan.as_mut().unwrap()[0];
/// forward.outputs = forward.inputs.clone();
/// let pruned = prune(&mut program);
/// assert_eq!((pruned[0].instructions.removed(), pruned[0].operators.removed()), (3, 3));
/// assert_eq!(program.plans()[0].outputs, Some(vec![ValueId(0)]));
/// assert!(program.blobs.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn prune(program: &mut Program) -> Vec<Remap> {
    let pruned = sweep(program, Roots::Effects);
    if pruned.iter().any(|method| method.values.removed() + method.delegates.removed() > 0) {
        drop_blobs(program);
    }
    pruned
}

/// Removes unreferenced values, operators, delegates and data, and renumbers the others. All instructions are kept,
/// even those without effect.
pub fn drop_unreferenced(program: &mut Program) {
    sweep(program, Roots::Instructions);
    drop_blobs(program);
}

/// Removes the unused parts of methods until all parts are used.
fn sweep(program: &mut Program, roots: Roots) -> Vec<Remap> {
    let mut pruned: Vec<Remap> = program.plans().iter().map(Remap::all).collect();
    loop {
        let uses = uses(&MethodGraph::of_program(program), roots);
        if uses.iter().all(MethodUses::are_complete) {
            return pruned;
        }
        for ((plan, pruned), uses) in program.plans_mut().iter_mut().zip(&mut pruned).zip(&uses) {
            let remap = uses.remap(plan);
            remap.apply(plan);
            pruned.then(&remap);
        }
    }
}
