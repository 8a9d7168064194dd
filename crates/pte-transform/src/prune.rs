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
use pte_model::data::BlobId;
use pte_model::program::instruction::{Callee, FieldMut};
use pte_model::program::{EValue, ExecutionPlan, Memory, Program, Tensor, TensorData, ValueId};

/// Parts of a method that are kept.
#[derive(Debug)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// Numbers of parts that were removed from a method: part of a [`PrunedMethod`]. `pte-emit` adds the names of the
/// source.
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

/// Remaining parts of a method, and the numbers of removed ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PrunedMethod {
    /// Former indices of the remaining values.
    pub values: Vec<usize>,
    /// Former positions of the remaining instructions, counted through all chains.
    pub steps: Vec<usize>,
    /// Former indices of the remaining delegates.
    pub delegates: Vec<usize>,
    /// Numbers of removed parts, without names, which the source has.
    pub removed: PrunedParts,
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
/// assert_eq!((pruned[0].removed.instructions, pruned[0].removed.operators), (3, 3));
/// assert_eq!(program.plans()[0].outputs, Some(vec![ValueId(0)]));
/// assert!(program.blobs.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn prune(program: &mut Program) -> Vec<PrunedMethod> {
    let pruned = sweep_unused(program, Roots::Effects);
    if pruned.iter().any(|method| method.removed.values + method.removed.delegates > 0) {
        drop_blobs(program);
    }
    pruned
}

/// Removes unreferenced values, operators, delegates and data, and renumbers the others. All instructions are kept,
/// even those without effect.
pub fn drop_unreferenced(program: &mut Program) {
    sweep_unused(program, Roots::Instructions);
    drop_blobs(program);
}

/// Removes the instructions whose flag in `kept`, counted through all chains, is false. A jump to a removed instruction
/// then leads to the next remaining one.
pub fn keep_instructions(plan: &mut ExecutionPlan, kept: &[bool]) {
    let uses = MethodUses { steps: kept.to_vec(), ..all_used(plan) };
    sweep(plan, &uses, &mut PrunedMethod::default());
}

/// Returns the uses of a method all of whose parts are kept.
fn all_used(plan: &ExecutionPlan) -> MethodUses {
    MethodUses {
        values: vec![true; plan.values().len()],
        steps: vec![true; plan.instructions().count()],
        operators: vec![true; plan.operators.as_ref().map_or(0, Vec::len)],
        delegates: vec![true; plan.delegates().len()],
    }
}

/// Removes the values whose flag in `kept` is false, and renumbers the others. Nothing may refer to removed ones.
pub(crate) fn keep_values(plan: &mut ExecutionPlan, kept: &[bool]) {
    let uses = MethodUses { values: kept.to_vec(), ..all_used(plan) };
    sweep(plan, &uses, &mut PrunedMethod::default());
}

/// Removes the delegates whose flag in `kept` is false, and renumbers the others. No instruction may call removed ones.
pub(crate) fn keep_delegates(plan: &mut ExecutionPlan, kept: &[bool]) {
    let uses = MethodUses { delegates: kept.to_vec(), ..all_used(plan) };
    sweep(plan, &uses, &mut PrunedMethod::default());
}

/// Removes the unused parts of methods until all parts are used. Returns one entry for each method.
fn sweep_unused(program: &mut Program, roots: Roots) -> Vec<PrunedMethod> {
    let start = |plan: &ExecutionPlan| PrunedMethod {
        values: (0..plan.values().len()).collect(),
        steps: (0..plan.instructions().count()).collect(),
        delegates: (0..plan.delegates().len()).collect(),
        ..PrunedMethod::default()
    };
    let mut pruned: Vec<PrunedMethod> = program.plans().iter().map(start).collect();
    loop {
        let uses = uses(&MethodGraph::of_program(program), roots);
        if uses.iter().all(MethodUses::are_complete) {
            break;
        }
        let plans = program.execution_plan.iter_mut().flatten().zip(&mut pruned);
        for ((plan, pruned), uses) in plans.zip(&uses) {
            sweep(plan, uses, pruned);
        }
    }
    pruned
}

/// Removes the parts of a method that are not used.
fn sweep(plan: &mut ExecutionPlan, uses: &MethodUses, pruned: &mut PrunedMethod) {
    let removed = |used: &[bool]| used.iter().filter(|used| !**used).count();
    pruned.removed.values += removed(&uses.values);
    pruned.removed.instructions += removed(&uses.steps);
    pruned.removed.operators += removed(&uses.operators);
    pruned.removed.delegates += removed(&uses.delegates);
    retain(&mut pruned.values, &uses.values);
    retain(&mut pruned.steps, &uses.steps);
    retain(&mut pruned.delegates, &uses.delegates);
    let (operators, delegates) = (Renumbering::new(&uses.operators), Renumbering::new(&uses.delegates));
    let mut steps = uses.steps.as_slice();
    for chain in plan.chains.iter_mut().flatten() {
        let Some(instructions) = &mut chain.instructions else { continue };
        let (used, rest) = steps.split_at(instructions.len());
        steps = rest;
        let positions = Renumbering::new(used);
        retain(instructions, used);
        if let Some(traces) = &mut chain.stacktrace {
            retain(traces, used);
        }
        for instruction in instructions {
            instruction.for_each_field(|field| match field {
                FieldMut::Operator(id) => operators.apply(&mut id.0),
                FieldMut::Delegate(id) => delegates.apply(&mut id.0),
                FieldMut::Destination(index) => positions.apply(index),
                // Values are renumbered below.
                FieldMut::Operand(_) | FieldMut::Args(_) => {}
            });
        }
    }
    plan.operators.iter_mut().for_each(|list| retain(list, &uses.operators));
    plan.delegates.iter_mut().for_each(|list| retain(list, &uses.delegates));
    plan.values.iter_mut().for_each(|list| retain(list, &uses.values));
    let values = Renumbering::new(&uses.values);
    renumber_values(plan, |value| values.of(value));
}

/// Removes the items that are not used. Items beyond the end of `used` are kept.
fn retain<T>(items: &mut Vec<T>, used: &[bool]) {
    let mut used = used.iter();
    items.retain(|_| used.next().is_none_or(|used| *used));
}

/// New indices of the elements of a list.
struct Renumbering {
    /// By former index, and for the end of the list: number of used elements before it.
    before: Vec<i64>,
}

impl Renumbering {
    fn new(used: &[bool]) -> Renumbering {
        let mut before = Vec::with_capacity(used.len() + 1);
        let mut count = 0;
        before.push(0);
        before.extend(used.iter().map(|used| {
            count += i64::from(*used);
            count
        }));
        Renumbering { before }
    }

    /// Returns the new index of an element, or of the next remaining one. An index beyond the end of the list keeps its
    /// distance from the end, and a negative one its value, so both stay invalid.
    fn of(&self, index: i64) -> i64 {
        let end = self.before.len() as i64 - 1;
        match usize::try_from(index).ok().map(|index| self.before.get(index)) {
            Some(Some(before)) => *before,
            Some(None) => index - end + self.before.last().unwrap_or(&0),
            None => index,
        }
    }

    fn apply(&self, index: &mut i32) {
        *index = self.of((*index).into()) as i32;
    }
}

/// Replaces the indices of values in a method by those that `map` returns: in inputs, outputs, arguments, operands,
/// items of lists and bases of views.
pub fn renumber_values(plan: &mut ExecutionPlan, map: impl Fn(i64) -> i64) {
    let apply = |value: &mut ValueId| value.0 = map((*value).into()) as i32;
    for list in [&mut plan.inputs, &mut plan.outputs] {
        list.iter_mut().flatten().for_each(apply);
    }
    for chain in plan.chains.iter_mut().flatten() {
        for list in [&mut chain.inputs, &mut chain.outputs] {
            list.iter_mut().flatten().for_each(apply);
        }
        for instruction in chain.instructions.iter_mut().flatten() {
            instruction.for_each_field(|field| match field {
                FieldMut::Args(args) => args.iter_mut().flat_map(|args| args.iter_mut()).for_each(apply),
                FieldMut::Operand(value) => apply(value),
                FieldMut::Operator(_) | FieldMut::Delegate(_) | FieldMut::Destination(_) => {}
            });
        }
    }
    for value in plan.values.iter_mut().flatten() {
        match value {
            EValue::Tensor(tensor) => {
                if let Memory::View { base } = &mut tensor.memory {
                    *base = map((*base).into()) as u32;
                }
            }
            EValue::IntList(items) => items.iter_mut().flatten().for_each(|item| *item = map(*item)),
            EValue::TensorList(items) | EValue::OptionalTensorList(items) => {
                items.iter_mut().flatten().for_each(apply);
            }
            EValue::Null
            | EValue::Int(_)
            | EValue::Bool(_)
            | EValue::Double(_)
            | EValue::String(_)
            | EValue::DoubleList(_)
            | EValue::BoolList(_)
            | EValue::Unknown(_) => {}
        }
    }
}

/// Removes the blobs that nothing refers to.
pub(crate) fn drop_blobs(program: &mut Program) {
    let mut used = vec![false; program.blobs.len()];
    for (_, blob) in program.blob_references() {
        if let Some(used) = used.get_mut(blob.0 as usize) {
            *used = true;
        }
    }
    retain(&mut program.blobs, &used);
    let blobs = Renumbering::new(&used);
    let apply = |blob: &mut BlobId| blob.0 = blobs.of(blob.0.into()) as u32;
    for plan in program.execution_plan.iter_mut().flatten() {
        for value in plan.values.iter_mut().flatten() {
            if let EValue::Tensor(tensor) = value
                && let TensorData::Blob(blob) = &mut tensor.data
            {
                apply(blob);
            }
        }
        plan.delegates.iter_mut().flatten().for_each(|delegate| apply(&mut delegate.processed));
    }
    program.named_data.iter_mut().flatten().for_each(|named| apply(&mut named.data));
    program.external_data.iter_mut().for_each(|external| apply(&mut external.data));
}
