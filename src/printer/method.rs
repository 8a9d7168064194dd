//! Prints a method: names for its values, literals at their use, one line for each value and instruction.
//!
//! Computed properties (indices, memory offsets) are printed only if [`Hints`] requests them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;

use super::data::DataPrinter;
use super::graph::PayloadGraphs;
use super::stacktrace;
use super::views::{self, Uses, View};
use super::yaml::{self, FlowMap};
use crate::data::{BlobId, number};
use crate::delegate::xnnpack::arguments;
use crate::diagnostics::escaped;
use crate::format::ScalarType;
use crate::operators::inference::{InferenceError, TensorMeta};
use crate::operators::{self, Arg, ArgKind, Base, Role, Signature};
use crate::program::attributes::{AttributeKind, TENSOR_ATTRIBUTES};
use crate::program::{
    BackendDelegate, BranchStep, Chain, ContainerMetadata, EValue, ExecutionPlan, ExtraTensorInfo, FieldReference,
    Instruction, InstructionField, Memory, MemoryPlanner, OperandAccess, Program, StackFrame, Tensor, TensorData,
    contiguous, device_name, merged,
};
use crate::transform::inference::{self, Inference};

/// Properties of a method that the YAML states because assembling would compute different ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hints {
    /// Indices of these values.
    pub numbers: BTreeSet<usize>,
    /// Algorithm of the memory planner, without which it computes other offsets.
    pub planner: MemoryPlanner,
    /// Alignment of the planned tensors, if it is not the default.
    pub alignment: Option<u64>,
    /// What an instruction overwrites before anything reads it is no state: other tensors may take its memory.
    pub scratch: bool,
    /// Position of the method when the state that methods share is placed.
    pub shared_order: Option<u32>,
    /// Memory offsets of tensors and sizes of pools.
    pub memory: bool,
    /// Table of operators.
    pub operators: bool,
    /// `data_buffer_idx` of data that are in a `.ptd`.
    pub external: bool,
    /// Every property; values are declared with and referred to by their index.
    pub everything: bool,
    /// Why every property is stated, if that was not requested.
    pub reason: Option<String>,
}

/// Places of tensors in pools other than 1 of programs with several methods, which may share state there.
#[derive(Debug, Default)]
pub struct SharedPlaces(BTreeMap<(u32, u64), usize>);

impl SharedPlaces {
    /// Collects the places of a program.
    pub fn of(program: &Program) -> SharedPlaces {
        let mut places = BTreeMap::new();
        if program.plans().len() > 1 {
            let tensors = program.plans().iter().flat_map(ExecutionPlan::tensors);
            places = tensors.filter_map(|(_, tensor)| Some((SharedPlaces::place(tensor)?, 0))).collect();
        }
        places.values_mut().enumerate().for_each(|(rank, number)| *number = rank);
        SharedPlaces(places)
    }

    fn place(tensor: &Tensor) -> Option<(u32, u64)> {
        let Memory::At { pool: pool @ 2.., offset } = tensor.memory else { return None };
        (tensor.device() == (0, 0)).then_some((pool, offset))
    }

    /// Returns the name of a tensor that has none in the file: the same in all methods that have state at its place.
    fn name(&self, tensor: &Tensor) -> Option<String> {
        Some(match self.0.get(&SharedPlaces::place(tensor)?)? {
            0 => "state".to_owned(),
            number => format!("state_{number}"),
        })
    }
}

/// What printed YAML states of the values of all methods, for values whose properties it could leave to assembling.
///
/// ```
/// use pte_emit::{Model, PrintOptions, PrintStats};
///
/// let file = std::fs::read("tests/golden/upstream/bytes/linear/model.pte")?;
/// let printed = Model::from_binary("linear.pte", &file).to_yaml(".".as_ref(), &PrintOptions::default())?;
/// let PrintStats { results, inferred, indices, places, .. } = printed.stats;
/// assert_eq!((results, inferred, indices, places), (3, 3, 0, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrintStats {
    /// Values of the program.
    pub values: usize,
    /// Literals, which are printed at their use.
    pub literals: usize,
    /// Tensors that instructions write.
    pub results: usize,
    /// Results whose element type, sizes, order of dimensions and dynamism are left to inference.
    pub inferred: usize,
    /// Views among the instructions.
    pub views: usize,
    /// Values whose position among the instructions is stated.
    pub positions: usize,
    /// Values whose index is stated.
    pub indices: usize,
    /// Tensors whose place in planned memory is stated.
    pub places: usize,
    /// Tensors whose `requires_grad` is stated.
    pub gradients: usize,
    /// Calls that inference contradicts, whose arguments are printed as the whole stack.
    pub stacks: usize,
}

impl std::ops::AddAssign for PrintStats {
    fn add_assign(&mut self, other: PrintStats) {
        self.values += other.values;
        self.literals += other.literals;
        self.results += other.results;
        self.inferred += other.inferred;
        self.views += other.views;
        self.positions += other.positions;
        self.indices += other.indices;
        self.places += other.places;
        self.gradients += other.gradients;
        self.stacks += other.stacks;
    }
}

/// What the YAML of a method would say of its values.
#[derive(Debug, Clone, Default)]
pub struct MethodValues {
    /// Name of each value; `None` for a literal that is printed at its use.
    pub names: Vec<Option<String>>,
    /// Memory of each value as a request to the planner: what keeps its content is persistent, and views name their base.
    pub memory: Vec<Memory>,
}

/// Printer of a method.
pub struct MethodPrinter<'p> {
    plan: &'p ExecutionPlan,
    /// The instructions of all chains.
    sequence: Vec<&'p Instruction>,
    program: &'p Program,
    payloads: &'p PayloadGraphs,
    hints: Hints,
    /// `true` if payloads of delegates are inline by default.
    delegates_inline: bool,
    names: Vec<Option<Cow<'p, str>>>,
    inlined: Vec<bool>,
    uses: Uses,
    views: Vec<Option<View>>,
    /// The last value that is numbered in front of the instructions.
    upfront: Option<usize>,
    /// Views and numbered values in front of each instruction, and behind the last one.
    positions: Vec<Vec<usize>>,
    /// The first literal condition of the jumps to each instruction: it is numbered there.
    conditions: HashMap<usize, usize>,
    /// Properties of results that assembling infers.
    inferred: Vec<Option<TensorMeta>>,
    /// Arguments of calls whose results or arguments contradict the inference: these calls are printed as they stand.
    contradictory: HashSet<&'p [i32]>,
    /// Arguments of delegate calls that the graphs do not take: these delegates are called by number.
    mismatched: HashSet<&'p [i32]>,
    /// `requires_grad` of each value as assembling computes it.
    requires_grad: Vec<bool>,
    /// The method states `requires_grad: true`.
    with_gradients: bool,
    /// Constants that have their data as a whole, if others have the first bytes only.
    bases: HashMap<BlobId, usize>,
    signatures: Vec<Option<Signature>>,
    operators: Vec<String>,
}

impl<'p> MethodPrinter<'p> {
    /// Analyzes a method: literals, produced values, names.
    pub fn new(
        program: &'p Program,
        payloads: &'p PayloadGraphs,
        plan: &'p ExecutionPlan,
        hints: Hints,
        delegates_inline: bool,
        shared: &SharedPlaces,
    ) -> MethodPrinter<'p> {
        let count = plan.values().len();
        let operators: Vec<String> =
            plan.operators.iter().flatten().map(|operator| operator.full_name().unwrap_or_default()).collect();
        let signatures = operators.iter().map(|name| operators::find(name)).collect();
        let mut printer = MethodPrinter {
            plan,
            sequence: plan.instructions().collect(),
            program,
            hints,
            payloads,
            delegates_inline,
            names: vec![None; count],
            inlined: vec![false; count],
            uses: Uses {
                first: vec![None; count],
                least: Vec::new(),
                produced: vec![false; count],
                overwritten: vec![false; count],
                is_input: plan.is_input(),
            },
            views: vec![None; count],
            upfront: None,
            positions: Vec::new(),
            conditions: HashMap::new(),
            inferred: vec![None; count],
            contradictory: HashSet::new(),
            mismatched: HashSet::new(),
            requires_grad: vec![false; count],
            with_gradients: false,
            bases: bases(program, plan),
            signatures,
            operators,
        };
        printer.find_produced();
        if !printer.hints.everything {
            printer.infer();
            printer.find_literals();
            printer.find_owned();
            printer.views = views::find(plan, &printer.uses, printer.hints.scratch);
            printer.find_positions();
            printer.find_gradients();
        }
        printer.find_names(shared);
        printer
    }

    /// Returns the names of the values and their memory as YAML states it.
    pub(super) fn values(&self) -> MethodValues {
        let memory = |(index, value): (usize, &EValue)| match (self.views[index], value.as_tensor().map(|t| t.memory)) {
            (Some(View { base, .. }), _) => Memory::View { base: base as u32 },
            (None, Some(Memory::At { pool, .. })) => {
                let persistent = !self.uses.is_input[index] && !self.uses.produced[index];
                Memory::Auto { pool: Some(pool), persistent, shared: None }
            }
            (None, Some(other)) => other,
            (None, None) => Memory::None,
        };
        MethodValues {
            names: self.names.iter().map(|name| name.as_deref().map(str::to_owned)).collect(),
            memory: self.plan.values().iter().enumerate().map(memory).collect(),
        }
    }

    fn instructions(&self) -> impl Iterator<Item = &'p Instruction> + use<'p> {
        let plan = self.plan;
        plan.instructions()
    }

    fn value(&self, index: i32) -> Option<&'p EValue> {
        self.plan.values().get(usize::try_from(index).ok()?)
    }

    /// Returns the name of a value; `None` for a literal that is printed at its use.
    pub(super) fn name(&self, index: i32) -> Option<&str> {
        self.names.get(usize::try_from(index).ok()?)?.as_deref()
    }

    /// Returns `true` if an instruction produces the value.
    pub(super) fn is_produced(&self, index: i32) -> bool {
        usize::try_from(index).is_ok_and(|index| self.uses.produced.get(index) == Some(&true))
    }

    /// Returns the schema of the operator with this index, if it is known.
    pub(super) fn signature(&self, op_index: i32) -> Option<&Signature> {
        self.signatures.get(usize::try_from(op_index).ok()?)?.as_ref()
    }

    /// Name of the operator with this index.
    fn operator(&self, op_index: i32) -> Option<&str> {
        self.operators.get(usize::try_from(op_index).ok()?).map(String::as_str)
    }

    /// Splits the arguments of a kernel call into inputs and outs.
    pub(super) fn call<'c>(&'c self, op_index: i32, args: &'c [i32]) -> CallForm<'c> {
        let signature = self.signature(op_index);
        let whole = CallForm { ins: args, outs: &[], lists: &[] };
        if self.hints.everything || self.contradictory.contains(args) {
            return whole;
        }
        let Some(signature) = signature else {
            // An overload that ends in `out` is assumed to be an out variant, whose out is passed twice.
            let name = self.operator(op_index);
            let out_variant = name.is_some_and(|name| name.rsplit_once('.').is_some_and(|(_, o)| o.ends_with("out")));
            return match args {
                [ins @ .., out, again] if out_variant && out == again => {
                    CallForm { ins, outs: &args[ins.len()..=ins.len()], lists: &[] }
                }
                _ => whole,
            };
        };
        let (ins, outs) = (signature.ins().count(), signature.outs().count());
        if signature.outs().any(|out| out.kind.list) {
            let tensors = |list: i32| match self.value(list) {
                Some(EValue::TensorList(Some(items))) => Some(&items[..]),
                _ => None,
            };
            return match args[ins.min(args.len())..] {
                [list, again] if list != again && tensors(list).is_some() && tensors(list) == tensors(again) => {
                    CallForm { ins: &args[..ins], outs: tensors(list).unwrap_or_default(), lists: &args[ins..] }
                }
                _ => whole,
            };
        }
        match outs {
            0 if signature.result.is_some() && args.len() == ins + 1 => {
                CallForm { ins: &args[..ins], outs: &args[ins..], lists: &[] }
            }
            1 if args.len() == ins + 2 && args[ins] == args[ins + 1] => {
                CallForm { ins: &args[..ins], outs: &args[ins..=ins], lists: &[] }
            }
            2.. if args.len() == ins + outs + 1 => {
                let (outs, list) = args[ins..].split_at(outs);
                let is_list = matches!(self.value(list[0]), Some(EValue::TensorList(Some(items))) if items == outs);
                if is_list { CallForm { ins: &args[..ins], outs, lists: list } } else { whole }
            }
            _ => whole,
        }
    }

    /// Finds the values that an instruction produces: the first instruction that uses them writes them.
    fn find_produced(&mut self) {
        let mut produced = std::mem::take(&mut self.uses.produced);
        let mut overwritten = std::mem::take(&mut self.uses.overwritten);
        let mut first = std::mem::take(&mut self.uses.first);
        let mut seen = self.uses.is_input.clone();
        let mut visit = |index: i32, number: usize, written: bool, replaced: bool| {
            let entry = usize::try_from(index).ok().and_then(|index| Some((seen.get_mut(index)?, index)));
            if let Some((seen, index)) = entry {
                first[index].get_or_insert(number);
                if !std::mem::replace(seen, true) {
                    produced[index] = written;
                    overwritten[index] = replaced;
                }
            }
        };
        let last_input = self.plan.inputs.iter().flatten().max().copied().unwrap_or(-1);
        for (number, instruction) in self.instructions().enumerate() {
            let operator = instruction.operator().and_then(|operator| self.signature(operator));
            let known = operator.map(|signature| &signature.args);
            let name = instruction.operator().and_then(|operator| self.operator(operator));
            let overwrites = name.is_some_and(operators::overwrites_first_argument);
            // Position of the first argument that a call without a schema may write.
            let outs = match instruction {
                Instruction::KernelCall { args, .. } => self.outs_of_unknown(args.as_deref().unwrap_or_default()),
                Instruction::DelegateCall { .. }
                | Instruction::MoveCall { .. }
                | Instruction::JumpFalseCall { .. }
                | Instruction::FreeCall { .. } => 0,
            };
            for (position, arg) in instruction.args().iter().enumerate() {
                let role = known.map(|known| known.get(position).map_or(Role::Out, |arg| arg.role));
                let written = match role {
                    Some(role) => role == Role::Out,
                    None => {
                        // It does not write constants, nor what is numbered before an input: state.
                        let tensor = self.value(*arg).and_then(EValue::as_tensor);
                        let is_free = tensor.is_some_and(|tensor| tensor.data == TensorData::None);
                        is_free && *arg >= last_input && position >= outs
                    }
                };
                visit(*arg, number, written, overwrites && position == 0);
                let items = self.value(*arg).map_or(&[][..], EValue::as_tensors);
                items.iter().for_each(|item| visit(*item, number, written, false));
            }
            for (_, value, access) in instruction.operands() {
                visit(value, number, access == OperandAccess::Write, false);
            }
        }
        (self.uses.produced, self.uses.overwritten, self.uses.first) = (produced, overwritten, first);
    }

    /// Returns the position of the first argument that a call of an unknown operator may write: the out of an out variant, which is passed
    /// twice, or its outs, which a list passes again, or any.
    fn outs_of_unknown(&self, args: &[i32]) -> usize {
        let [before @ .., last] = args else { return 0 };
        match self.value(*last) {
            Some(EValue::TensorList(Some(items))) if !items.is_empty() && before.ends_with(items) => {
                before.len() - items.len()
            }
            _ if before.last() == Some(last) => before.len() - 1,
            _ => 0,
        }
    }

    /// Infers the properties of the results, as assembling does.
    fn infer(&mut self) {
        let operators = inference::operators(self.plan);
        let mut inference = Inference::new(self.plan, |index| inference::find(&operators, index));
        let values = self.plan.values();
        for instruction in self.instructions() {
            match instruction {
                Instruction::KernelCall { op_index, args } => {
                    let args = args.as_deref().unwrap_or_default();
                    let Some(operator) = inference::find(&operators, *op_index) else { continue };
                    match inference.call(values, operator, args) {
                        Ok(results) => {
                            let metas = inference::tensors(values, operator, args, &results);
                            let contradicts = |(value, meta): &(usize, &TensorMeta)| {
                                let tensor = values[*value].as_tensor();
                                tensor.is_some_and(|tensor| inference::mismatch(tensor, meta, &operator.name).is_some())
                            };
                            if metas.iter().any(contradicts) {
                                self.contradictory.insert(args);
                            } else {
                                for (value, meta) in metas {
                                    self.inferred[value].get_or_insert_with(|| meta.clone());
                                }
                            }
                            inference.record_results(values, operator, args, &results);
                        }
                        Err(InferenceError::Invalid(_) | InferenceError::Unsupported(_)) => {
                            _ = self.contradictory.insert(args)
                        }
                        Err(InferenceError::Undetermined(_) | InferenceError::UnknownOperator) => {}
                    }
                }
                Instruction::MoveCall { move_from, move_to } => {
                    let meta = inference.tensor(values, *move_from).map(Cow::into_owned);
                    let to = usize::try_from(*move_to).ok().and_then(|to| self.inferred.get_mut(to));
                    if let (Some(meta), Some(to)) = (meta, to) {
                        to.get_or_insert(meta);
                    }
                }
                Instruction::DelegateCall { delegate_index, args } => {
                    if self.has_other_tensors(*delegate_index, args.as_deref().unwrap_or_default()) {
                        self.mismatched.extend(args.as_deref());
                    }
                }
                Instruction::JumpFalseCall { .. } | Instruction::FreeCall { .. } => {}
            }
        }
    }

    /// Returns `true` if the assembler refuses the arguments of a delegate that is called by its name.
    fn has_other_tensors(&self, index: i32, args: &[i32]) -> bool {
        let delegate = usize::try_from(index).ok().and_then(|index| self.plan.delegates().get(index));
        let Some(Some(Ok(graph))) = delegate.map(|delegate| self.payloads.of(delegate.processed)) else { return false };
        let tensor = |number: u32| {
            let value = args.get(number as usize).and_then(|arg| usize::try_from(*arg).ok())?;
            self.plan.values().get(value)?.as_tensor()
        };
        if graph.arguments.len() > args.len() {
            return false;
        }
        let is_dynamic = arguments::has_dynamic_input(&graph.arguments, tensor);
        graph.arguments.iter().any(|argument| {
            tensor(argument.number).is_some_and(|tensor| {
                !argument.tensor_types().contains(&tensor.scalar_type) || !argument.takes_sizes_of(tensor, is_dynamic)
            })
        })
    }

    /// Computes `requires_grad` as assembling does if the method states it, and whether that is shorter.
    fn find_gradients(&mut self) {
        let values = self.plan.values();
        let stated = |index: usize| values[index].as_tensor().is_some_and(|tensor| tensor.requires_grad);
        if !self.plan.tensors().any(|(_, tensor)| tensor.requires_grad) {
            return;
        }
        let operators = inference::operators(self.plan);
        // What holds at each instruction: what is computed, or else stated.
        let mut current = vec![false; values.len()];
        // Whether something computed differs from it; `None` for what nothing computes, which is false.
        let mut differs: Vec<Option<bool>> = vec![None; values.len()];
        let set = |current: &mut [bool], differs: &mut [Option<bool>], index: usize, computed: bool| {
            let is_differentiable = values[index].as_tensor().is_some_and(|t| t.scalar_type.is_differentiable());
            let other = (computed && is_differentiable) != stated(index);
            differs[index] = Some(other || differs[index] == Some(true));
            current[index] = stated(index);
        };
        for (index, tensor) in self.plan.tensors() {
            let is_constant = matches!(tensor.data, TensorData::Blob(_)) && tensor.memory == Memory::None;
            if !self.uses.produced[index] && self.views[index].is_none() {
                set(&mut current, &mut differs, index, is_constant);
            }
        }
        let instructions = self.instructions().map(Some).chain([None]);
        for (number, instruction) in instructions.enumerate() {
            for index in self.positions.get(number).into_iter().flatten() {
                if let Some(View { base, .. }) = self.views[*index] {
                    let computed = current[base];
                    set(&mut current, &mut differs, *index, computed);
                }
            }
            let Some(instruction) = instruction else { break };
            let computed = match instruction {
                Instruction::KernelCall { op_index, args } => match inference::find(&operators, *op_index) {
                    Some(operator) => {
                        let args = args.as_deref().unwrap_or_default();
                        inference::gradients(values, operator, args, |value| current[value])
                    }
                    None => Vec::new(),
                },
                // A tensor that is moved from one branch or the other requires gradients if one of them does.
                Instruction::MoveCall { move_from, move_to } => {
                    let index = |value: i32| usize::try_from(value).ok().filter(|index| *index < values.len());
                    match (index(*move_from), index(*move_to)) {
                        (Some(from), Some(to)) if current[from] => vec![(to, true)],
                        _ => Vec::new(),
                    }
                }
                Instruction::DelegateCall { .. } | Instruction::JumpFalseCall { .. } | Instruction::FreeCall { .. } => {
                    Vec::new()
                }
            };
            for (index, computed) in computed {
                set(&mut current, &mut differs, index, computed);
            }
            // What is written without being computed.
            let operands = instruction.operands().map(|(_, value, _)| value);
            for value in instruction.args().iter().copied().chain(operands) {
                let items = self.value(value).map_or(&[][..], EValue::as_tensors);
                for index in items.iter().copied().chain([value]).filter_map(|index| usize::try_from(index).ok()) {
                    if differs.get(index) == Some(&None) && self.uses.produced[index] {
                        set(&mut current, &mut differs, index, false);
                    }
                }
            }
        }
        let computed: Vec<bool> =
            (0..values.len()).map(|index| differs[index].is_some_and(|differs| stated(index) != differs)).collect();
        let tensors = || self.plan.tensors().map(|(index, _)| index);
        let exceptions = tensors().filter(|index| stated(*index) != computed[*index]).count();
        self.with_gradients = exceptions + 1 < tensors().filter(|index| stated(*index)).count();
        if self.with_gradients {
            self.requires_grad = computed;
        }
    }

    /// Finds the positions of views, and of values that are numbered among the instructions.
    fn find_positions(&mut self) {
        self.positions = vec![Vec::new(); self.sequence.len() + 1];
        self.upfront =
            (0..self.views.len()).rev().find(|index| self.is_unproduced(*index) && !self.hints.numbers.contains(index));
        for index in 0..self.views.len() {
            let position = match self.views[index] {
                Some(view) => Some(view.position),
                None => self.numbered_at(index),
            };
            if let Some(at) = position.and_then(|position| self.positions.get_mut(position)) {
                at.push(index);
            }
        }
    }

    /// Returns `true` for a declared value that no instruction produces: it is numbered in front of the instructions, unless an entry
    /// among them numbers it.
    fn is_unproduced(&self, index: usize) -> bool {
        !self.uses.produced[index] && !self.inlined[index] && self.views[index].is_none()
    }

    /// Returns `true` if an entry among the instructions can number a value later than assembling does without it. Inputs are numbered in
    /// front of all instructions in any case.
    pub(super) fn is_movable(&self, index: usize) -> bool {
        self.is_unproduced(index) && !self.uses.is_input[index]
    }

    /// Returns the position of an entry that numbers a value whose index the YAML must state; `None` if there is none.
    fn numbered_at(&self, index: usize) -> Option<usize> {
        if !self.hints.numbers.contains(&index) || self.views[index].is_some() || self.inlined[index] {
            return None;
        }
        let position = views::numbered_before(&self.uses, index);
        let after_all = self.upfront.is_none_or(|upfront| upfront < index);
        let in_time = self.uses.first[index].is_none_or(|first| position <= first);
        (after_all && in_time).then_some(position)
    }

    /// Returns `true` if the YAML states the index of a value.
    fn is_numbered(&self, index: usize) -> bool {
        self.hints.numbers.contains(&index) && self.numbered_at(index).is_none()
    }

    /// Finds the smallest values that the instructions number: those that they produce, and literals.
    fn find_owned(&mut self) {
        let mut least = vec![usize::MAX; 2 * self.sequence.len() + 1];
        // The instruction that numbers each value: the first one that uses it, or the jump in front of the branches that move to it.
        let mut numbered = self.uses.first.clone();
        let mut begin = 0;
        for chain in self.plan.chains.iter().flatten() {
            let instructions = chain.instructions.as_deref().unwrap_or_default();
            let steps = instructions.iter().map(|instruction| match instruction {
                Instruction::JumpFalseCall { destination_instruction: to, .. } => {
                    usize::try_from(*to).map_or(BranchStep::Other, BranchStep::Jump)
                }
                Instruction::MoveCall { move_to, .. } => {
                    usize::try_from(*move_to).map_or(BranchStep::Other, BranchStep::Move)
                }
                Instruction::KernelCall { .. } | Instruction::DelegateCall { .. } | Instruction::FreeCall { .. } => {
                    BranchStep::Other
                }
            });
            for (position, instruction) in instructions.iter().enumerate() {
                if let Instruction::JumpFalseCall { cond_value_index, destination_instruction } = instruction
                    && let (Ok(condition), Ok(to)) =
                        (usize::try_from(*cond_value_index), usize::try_from(*destination_instruction))
                    && self.inlined.get(condition) == Some(&true)
                    && (position + 1..=instructions.len()).contains(&to)
                {
                    numbered[condition] = None;
                    least[2 * (begin + to)] = least[2 * (begin + to)].min(condition);
                    let first = self.conditions.entry(begin + to).or_insert(condition);
                    *first = condition.min(*first);
                }
            }
            for (jump, target) in merged(steps) {
                if let Some(Some(numbered)) = numbered.get_mut(target) {
                    *numbered = (*numbered).min(begin + jump);
                }
            }
            begin += instructions.len();
        }
        for (index, numbered) in numbered.into_iter().enumerate() {
            let is_numbered = self.uses.produced[index] || self.inlined[index];
            if let Some(numbered) = numbered.filter(|_| is_numbered && !self.hints.numbers.contains(&index)) {
                least[2 * numbered + 1] = least[2 * numbered + 1].min(index);
            }
        }
        // Items of a list of integers are used by the list only.
        for (number, instruction) in self.instructions().enumerate() {
            for arg in instruction.args() {
                let Some(EValue::IntList(Some(items))) = self.value(*arg) else { continue };
                let items = items.iter().filter_map(|item| usize::try_from(*item).ok());
                let literals = items.filter(|item| self.inlined.get(*item) == Some(&true));
                least[2 * number + 1] = literals.fold(least[2 * number + 1], usize::min);
            }
        }
        for number in (1..least.len()).rev() {
            least[number - 1] = least[number - 1].min(least[number]);
        }
        self.uses.least = least;
    }

    /// Finds the literals with a single use, as an argument, which are printed there.
    fn find_literals(&mut self) {
        if self.hints.everything {
            return;
        }
        let count = self.plan.values().len();
        let mut uses = vec![0u32; count];
        let mut as_argument = vec![false; count];
        let mut count_use = |index: i64| {
            if let Some(uses) = usize::try_from(index).ok().and_then(|index| uses.get_mut(index)) {
                *uses += 1;
            }
        };
        for value in self.plan.values() {
            match value {
                EValue::IntList(Some(items)) => items.iter().for_each(|item| count_use(*item)),
                EValue::TensorList(Some(items)) | EValue::OptionalTensorList(Some(items)) => {
                    items.iter().for_each(|item| count_use((*item).into()));
                }
                EValue::Null
                | EValue::Int(_)
                | EValue::Bool(_)
                | EValue::Double(_)
                | EValue::Tensor(_)
                | EValue::String(_)
                | EValue::IntList(None)
                | EValue::DoubleList(_)
                | EValue::BoolList(_)
                | EValue::TensorList(None)
                | EValue::OptionalTensorList(None) => {}
            }
        }
        let both = self.plan.inputs.iter().chain(&self.plan.outputs).flatten();
        both.for_each(|index| count_use((*index).into()));
        let mut missing = vec![false; count];
        let mut implied = vec![false; count];
        for output in self.plan.outputs.iter().flatten() {
            let is_number = matches!(
                self.value(*output),
                Some(EValue::Int(_) | EValue::Bool(_) | EValue::Null | EValue::Double(_) | EValue::String(Some(_)))
            );
            if let (true, Ok(output)) = (is_number, usize::try_from(*output)) {
                as_argument[output] = true;
            }
        }
        let mut mark = |index: &i32| {
            if let Some(marked) = usize::try_from(*index).ok().and_then(|index| as_argument.get_mut(index)) {
                *marked = true;
            }
        };
        for instruction in self.instructions() {
            if let Instruction::KernelCall { op_index, args } = instruction {
                let call = self.call(*op_index, args.as_deref().unwrap_or_default());
                let used = call.ins.iter().chain(call.outs).chain(call.lists);
                used.for_each(|index| count_use((*index).into()));
                call.ins.iter().for_each(&mut mark);
                call.lists.iter().for_each(|list| implied[*list as usize] = true);
                let may_lack = self.operator(*op_index).is_some_and(operators::has_optional_outs);
                for out in call.outs.iter().filter(|_| may_lack && call.lists.len() == 1) {
                    let tensor = self.value(*out).and_then(EValue::as_tensor);
                    if tensor.is_some_and(|tensor| *tensor == Tensor::missing()) {
                        missing[*out as usize] = true;
                    }
                }
                continue;
            }
            for arg in instruction.args() {
                count_use((*arg).into());
                mark(arg);
            }
            for (_, value, access) in instruction.operands() {
                count_use(value.into());
                if access == OperandAccess::Read {
                    mark(&value);
                }
            }
        }
        for (index, value) in self.plan.values().iter().enumerate() {
            if missing[index] && uses[index] == 2 && !self.hints.numbers.contains(&index) {
                self.inlined[index] = true;
                continue;
            }
            if implied[index] && uses[index] == 1 && !self.hints.numbers.contains(&index) {
                self.inlined[index] = true;
                continue;
            }
            let is_pinned = self.hints.numbers.contains(&index);
            let alone = uses[index] == 1 && as_argument[index] && !self.uses.produced[index] && !is_pinned;
            if !alone {
                continue;
            }
            match value {
                EValue::IntList(Some(items)) => {
                    // Items with this single use are printed here, the others by name.
                    let items = items.iter().map(|item| usize::try_from(*item).ok());
                    let is_int = |item: &usize| matches!(self.plan.values().get(*item), Some(EValue::Int(_)));
                    let items: Option<Vec<usize>> = items.map(|item| item.filter(is_int)).collect();
                    if let Some(items) = items {
                        let is_own = |item: &usize| {
                            uses[*item] == 1 && !self.uses.produced[*item] && !self.hints.numbers.contains(item)
                        };
                        let own: Vec<usize> = items.into_iter().filter(is_own).collect();
                        own.into_iter().for_each(|item| self.inlined[item] = true);
                        self.inlined[index] = true;
                    }
                }
                EValue::Null
                | EValue::Int(_)
                | EValue::Bool(_)
                | EValue::Double(_)
                | EValue::String(Some(_))
                | EValue::DoubleList(Some(_))
                | EValue::BoolList(Some(_))
                | EValue::TensorList(Some(_))
                | EValue::OptionalTensorList(Some(_)) => self.inlined[index] = true,
                EValue::Tensor(_)
                | EValue::String(None)
                | EValue::IntList(None)
                | EValue::DoubleList(None)
                | EValue::BoolList(None)
                | EValue::TensorList(None)
                | EValue::OptionalTensorList(None) => {}
            }
        }
    }

    /// Names the values: by the fully qualified name, by the instruction that produces them and the submodule in its stack trace, or by the use
    /// of a constant; with a number if the name is taken.
    fn find_names(&mut self, shared: &SharedPlaces) {
        let mut suggested: Vec<Option<Cow<'p, str>>> = vec![None; self.plan.values().len()];
        let mut suggest = |index: i32, name: &Cow<'p, str>| {
            if let Some(slot) = usize::try_from(index).ok().and_then(|index| suggested.get_mut(index)) {
                slot.get_or_insert_with(|| name.clone());
            }
        };
        for (index, tensor) in self.plan.tensors() {
            if let Some(name) = tensor.name() {
                suggest(index as i32, &Cow::Borrowed(name));
            }
        }
        self.plan.inputs.iter().flatten().for_each(|input| suggest(*input, &Cow::Borrowed("x")));
        for (index, tensor) in self.plan.tensors() {
            // Methods share it by its name.
            if let Some(name) = shared.name(tensor).filter(|_| !self.uses.produced[index]) {
                suggest(index as i32, &Cow::Owned(name));
            }
        }
        for (index, view) in self.views.iter().enumerate() {
            if view.is_some() {
                suggest(index as i32, &Cow::Borrowed("view"));
            }
        }
        for (instruction, frames) in traced(self.plan) {
            let name = instruction.operator().map_or("part", |operator| self.short_name(operator));
            let name = match frames.and_then(stacktrace::submodule) {
                Some(submodule) => Cow::Owned(format!("{submodule}_{name}")),
                None => Cow::Borrowed(name),
            };
            for arg in instruction.args().iter().filter(|arg| self.is_produced(**arg)) {
                let items = self.value(*arg).map_or(&[][..], EValue::as_tensors);
                items.iter().filter(|item| self.is_produced(**item)).for_each(|item| suggest(*item, &name));
                suggest(*arg, &name);
            }
            let written = instruction.operands().filter(|(_, _, access)| *access == OperandAccess::Write);
            written.for_each(|(_, value, _)| suggest(value, &Cow::Borrowed("merged")));
        }
        let is_used_constant = |index: &usize| {
            let tensor = self.plan.values()[*index].as_tensor();
            let is_constant = tensor.is_some_and(|t| t.memory == Memory::None && t.data != TensorData::None);
            is_constant && suggested[*index].is_none() && self.uses.first[*index].is_some()
        };
        let (constants, others): (Vec<usize>, Vec<usize>) =
            (0..suggested.len()).filter(|index| !self.inlined[*index]).partition(is_used_constant);
        let others: Vec<(usize, Cow<'p, str>)> = others
            .into_iter()
            .map(|index| {
                let name = suggested[index].take();
                (index, name.unwrap_or_else(|| Cow::Borrowed(fallback(&self.plan.values()[index]))))
            })
            .collect();
        let mut counts = HashMap::new();
        self.assign_names(others, &mut counts);
        // Constants are named after the results that they are used for.
        let constants = constants.into_iter().map(|index| (index, Cow::Owned(self.name_by_use(index)))).collect();
        self.assign_names(constants, &mut counts);
    }

    /// Assigns suggested names. `counts` has the number of values with each suggested name. A numbered name must not be a suggested one; two
    /// numbered names differ in the part before or after the last `_`.
    fn assign_names(&mut self, suggested: Vec<(usize, Cow<'p, str>)>, counts: &mut HashMap<Cow<'p, str>, u32>) {
        let mut taken: HashSet<Cow<'p, str>> = self.names.iter().flatten().cloned().collect();
        for (_, name) in &suggested {
            counts.entry(name.clone()).or_insert(u32::from(taken.contains(name)));
        }
        for (index, name) in suggested {
            let mut count = counts[&name];
            let mut unique = name.clone();
            if count > 0 {
                loop {
                    unique = Cow::Owned(format!("{name}_{count}"));
                    if !counts.contains_key(&unique) && !taken.contains(&unique) {
                        break;
                    }
                    count += 1;
                }
            }
            counts.insert(name, count + 1);
            taken.insert(unique.clone());
            self.names[index] = Some(unique);
        }
    }

    /// Returns the name of a constant after its first use: that of the result and of the argument, such as `convolution_2_bias`. A weight that
    /// is transposed first is named after the product.
    fn name_by_use(&self, index: usize) -> String {
        let name = |(result, argument): (i32, &str)| Some(format!("{}_{argument}", self.name(result)?));
        let found = self.uses.first[index].and_then(|first| self.use_at(first, index)).and_then(|(operator, used)| {
            let is_transposed = ["permute_copy", "t_copy", "transpose_copy"].contains(&operator);
            let result = usize::try_from(used.0).ok().filter(|_| is_transposed);
            name(result.and_then(|result| self.use_after(result)).unwrap_or(used))
        });
        found.unwrap_or_else(|| "constant".to_owned())
    }

    /// Returns the first use of a result soon after it is written: the result there, and the name of the argument.
    fn use_after(&self, value: usize) -> Option<(i32, &str)> {
        let written = (*self.uses.first.get(value)?)?;
        let near = written + 1..self.sequence.len().min(written + 1 + NEAR);
        near.into_iter().find_map(|number| self.use_at(number, value)).map(|(_, used)| used)
    }

    /// Returns the use of a value by a kernel call: the operator, its first result, and the name of the argument.
    fn use_at(&self, number: usize, value: usize) -> Option<(&str, (i32, &str))> {
        let Instruction::KernelCall { op_index, args } = self.sequence.get(number)? else { return None };
        let (value, operator) = (value as i32, self.short_name(*op_index));
        let call = self.call(*op_index, args.as_deref().unwrap_or_default());
        let reads =
            |arg: &i32| *arg == value || self.value(*arg).is_some_and(|list| list.as_tensors().contains(&value));
        let position = call.ins.iter().position(reads)?;
        let argument = self.signature(*op_index).and_then(|signature| signature.args.get(position));
        let argument = argument.map_or("constant", |argument| argument_name(operator, &argument.name));
        Some((operator, (*call.outs.first()?, argument)))
    }

    /// Name of a value that an operator produces.
    fn short_name(&self, op_index: i32) -> &'p str {
        let operator = usize::try_from(op_index).ok().and_then(|index| self.plan.operators.as_ref()?.get(index));
        let Some(operator) = operator else { return "value" };
        let name = operator.name.as_deref().unwrap_or_default();
        let name = name.split_once("::").map_or(name, |(_, name)| name);
        let name = name.split('.').next().unwrap_or(name).trim_matches('_');
        SHORT_NAMES.iter().find(|(long, _)| *long == name).map_or(name, |(_, short)| short)
    }

    /// Appends the method without its name.
    ///
    /// # Errors
    /// Data that cannot be read or written.
    pub fn print(&self, out: &mut String, data: &mut DataPrinter<'_>) -> std::io::Result<()> {
        if let Some(reason) = &self.hints.reason {
            let _ = writeln!(out, "    # Every property is stated: {}.", escaped(reason));
        }
        let heading = match self.hints.numbers.iter().any(|index| self.is_numbered(*index)) {
            true => "    # `index` states the numbers that the order of the instructions does not give.\n    values:\n",
            false => "    values:\n",
        };
        let mut has_heading = false;
        for (index, value) in self.plan.values().iter().enumerate() {
            let Some(name) = &self.names[index] else { continue };
            let is_scalar = match value {
                EValue::Double(x) => !number::has_nan_payload(*x),
                EValue::Int(_) | EValue::Bool(_) | EValue::Null => true,
                EValue::Tensor(_)
                | EValue::String(_)
                | EValue::IntList(_)
                | EValue::DoubleList(_)
                | EValue::BoolList(_)
                | EValue::TensorList(_)
                | EValue::OptionalTensorList(_) => false,
            };
            let numbered = self.hints.everything || self.is_numbered(index);
            if !numbered && self.is_implied(index, value) {
                continue;
            }
            let mut text = String::new();
            if is_scalar && !numbered {
                self.literal(index, None, &mut text);
            } else {
                let mut fields = FlowMap::new(&mut text);
                match value {
                    EValue::Tensor(tensor) => self.tensor(index, name, tensor, &mut fields, data)?,
                    value => self.declared(value, &mut fields),
                }
                if numbered {
                    let _ = write!(fields.key("index"), "{index}");
                }
                fields.end();
            }
            // An instruction declares it.
            if text == "{}" {
                continue;
            }
            if !std::mem::replace(&mut has_heading, true) {
                out.push_str(heading);
            }
            let _ = writeln!(out, "      {}: {text}", yaml::text(name));
        }
        self.delegates(out, data)?;
        let inputs = self.plan.inputs.as_deref().unwrap_or_default();
        if !inputs.is_empty() {
            out.push_str("    inputs: ");
            self.references(inputs, out);
            out.push('\n');
        }
        out.push_str("    outputs: ");
        let outputs = self.plan.outputs.as_deref().unwrap_or_default();
        yaml::list(out, outputs, |output, out| self.argument(*output, None, out));
        out.push('\n');
        if self.with_gradients {
            out.push_str("    requires_grad: true\n");
        }
        self.container_meta(out);
        self.memory(out);
        if self.hints.operators || self.hints.everything {
            out.push_str("    operators: ");
            yaml::list(out, &self.operators, |name, out| out.push_str(&yaml::operator(name)));
            out.push('\n');
        }
        self.chains(out);
        Ok(())
    }

    /// Counts what the YAML states of the values.
    pub fn stats(&self) -> PrintStats {
        let count = |is: &dyn Fn(usize) -> bool| (0..self.names.len()).filter(|index| is(*index)).count();
        let tensor = |index: usize| self.plan.values()[index].as_tensor();
        let is_result = |index: usize| tensor(index).is_some() && self.uses.produced[index] && !self.inlined[index];
        let states_all = self.hints.everything;
        PrintStats {
            values: self.names.len(),
            literals: count(&|index| self.inlined[index]),
            results: count(&is_result),
            inferred: count(&|index| is_result(index) && !states_all && self.is_inferred(index)),
            views: count(&|index| self.views[index].is_some()),
            positions: count(&|index| self.views[index].is_none() && self.numbered_at(index).is_some()),
            indices: count(&|index| states_all || self.is_numbered(index)),
            places: count(&|index| tensor(index).is_some_and(|tensor| self.states_place(tensor))),
            gradients: count(&|index| {
                tensor(index).is_some_and(|tensor| tensor.requires_grad != self.requires_grad[index])
            }),
            stacks: self.instructions().filter(|call| self.contradictory.contains(call.args())).count(),
        }
    }

    /// Returns `true` if the place of a tensor in planned memory is stated.
    fn states_place(&self, tensor: &Tensor) -> bool {
        matches!(tensor.memory, Memory::At { .. }) && (self.hints.memory || self.hints.everything)
    }

    /// Returns `true` if the element type, the sizes, the dim_order and the dynamism of a result are inferred.
    fn is_inferred(&self, index: usize) -> bool {
        let tensor = self.plan.values()[index].as_tensor();
        let inferred = self.inferred[index].as_ref();
        tensor.zip(inferred).is_some_and(|(tensor, meta)| inference::difference(tensor, meta).is_none())
    }

    fn delegates(&self, out: &mut String, data: &mut DataPrinter<'_>) -> std::io::Result<()> {
        if !self.plan.delegates().is_empty() {
            out.push_str("    delegates:\n");
        }
        for (number, delegate) in self.plan.delegates().iter().enumerate() {
            let blob = self.program.blob(delegate.processed);
            let name = format!("part{number}");
            let backend = yaml::text(delegate.id.as_deref().unwrap_or_default());
            let graph = self.payloads.of(delegate.processed);
            if let Some(Ok(graph)) = graph {
                let _ = write!(out, "      {name}:\n        backend: {backend}\n        graph:");
                graph.print(self.hints.everything, "          ", &name, blob.copy, out, data)?;
                self.delegate_options(delegate, "        ", "\n", out);
                continue;
            }
            if let Some(Err(reason)) = graph {
                let _ = writeln!(out, "      # The payload of {name} {}.", escaped(reason));
            }
            let _ = write!(out, "      {name}: {{backend: {backend}, data: {}", data.bytes(blob, &name)?);
            self.delegate_options(delegate, ", ", "", out);
            out.push_str("}\n");
        }
        Ok(())
    }

    /// Appends options and location of a delegate, each between these texts.
    fn delegate_options(&self, delegate: &BackendDelegate, before: &str, after: &str, out: &mut String) {
        let specs = delegate.compile_specs.as_deref().unwrap_or_default();
        if !specs.is_empty() {
            let _ = write!(out, "{before}compile_specs: ");
            yaml::list(out, specs, |spec, out| {
                let key = yaml::text(spec.key.as_deref().unwrap_or_default());
                let value = data_encoding::HEXLOWER.encode(spec.value.as_deref().unwrap_or_default());
                let _ = write!(out, "{{key: {key}, value: {{hex: \"{value}\"}}}}");
            });
            out.push_str(after);
        }
        if delegate.inline == Some(true) && !self.delegates_inline {
            let _ = write!(out, "{before}inline: true{after}");
        }
    }

    fn container_meta(&self, out: &mut String) {
        let count = |list: &Option<Vec<i32>>| list.as_ref().map_or(0, Vec::len);
        let getter = count(&self.plan.inputs) == 0 && self.instructions().next().is_none();
        let computed = ContainerMetadata::flat(count(&self.plan.inputs), count(&self.plan.outputs), getter);
        match &self.plan.container_meta_type {
            Some(meta) if *meta == computed => {}
            None => out.push_str("    container_meta: null\n"),
            Some(meta) => {
                let quoted = |text: &Option<String>| {
                    // Single quotes suit JSON; nonprintable characters and variables need double quotes.
                    text.as_ref().map_or("null".into(), |text| {
                        match text.chars().all(|c| (' '..='~').contains(&c)) && !text.contains("${") {
                            true => format!("'{}'", text.replace('\'', "''")),
                            false => yaml::quoted(text),
                        }
                    })
                };
                let (inputs, outputs) = (quoted(&meta.encoded_inp_str), quoted(&meta.encoded_out_str));
                let _ = writeln!(out, "    container_meta:\n      inputs: {inputs}\n      outputs: {outputs}");
            }
        }
    }

    fn memory(&self, out: &mut String) {
        if !self.hints.memory && !self.hints.everything {
            let Hints { planner, alignment, shared_order, .. } = self.hints;
            if shared_order.is_some() {
                out.push_str("    # The state that methods share was not placed in the order of the methods.\n");
            }
            if planner != MemoryPlanner::default() || alignment.is_some() || shared_order.is_some() {
                out.push_str("    memory: ");
                let mut fields = FlowMap::new(out);
                if planner != MemoryPlanner::default() {
                    fields.key("planner").push_str(planner.word());
                }
                alignment.into_iter().for_each(|alignment| yaml::number(alignment, fields.key("alignment")));
                shared_order.into_iter().for_each(|order| yaml::number(order, fields.key("shared_order")));
                fields.end();
                out.push('\n');
            }
            return;
        }
        if !self.hints.everything {
            out.push_str("    # The memory planner computes other places, so all of them are stated.\n");
        }
        out.push_str("    memory: ");
        let mut fields = FlowMap::new(out);
        let sizes = self.plan.memory.non_const_buffer_sizes.as_deref().unwrap_or_default();
        yaml::list(fields.key("non_const_buffer_sizes"), sizes, yaml::number);
        if let Some(devices) = &self.plan.memory.non_const_buffer_device {
            yaml::list(fields.key("non_const_buffer_device"), devices, |d, out| {
                let device = device(d.device_type, d.device_index);
                let _ = write!(out, "{{buffer_idx: {}, device: {device}}}", d.buffer_idx);
            });
        }
        fields.end();
        out.push('\n');
    }

    fn chains(&self, out: &mut String) {
        let chains = self.plan.chains.as_deref().unwrap_or_default();
        let empty = |list: &Option<Vec<i32>>| list.as_ref().is_none_or(Vec::is_empty);
        if let [chain] = chains
            && empty(&chain.inputs)
            && empty(&chain.outputs)
            && stacktraces(chain).is_none()
        {
            if chain.instructions.as_ref().is_some_and(|list| !list.is_empty())
                || self.positions.iter().any(|at| !at.is_empty())
            {
                out.push_str("    instructions:\n");
                self.chain(chain, 0, true, "      ", out);
            }
            return;
        }
        out.push_str(if chains.is_empty() { "    chains: []\n" } else { "    chains:\n" });
        let numbers = |items: &Option<Vec<i32>>, out: &mut String| {
            yaml::list(out, items.iter().flatten(), |item, out| _ = write!(out, "{{index: {item}}}"));
        };
        let mut number = 0;
        for (index, chain) in chains.iter().enumerate() {
            out.push_str("      - inputs: ");
            numbers(&chain.inputs, out);
            out.push_str("\n        outputs: ");
            numbers(&chain.outputs, out);
            if let Some(count) = stacktraces(chain) {
                let _ = write!(out, "\n        stacktraces: {count}");
            }
            let none = chain.instructions.as_ref().is_none_or(Vec::is_empty);
            let _ = writeln!(out, "\n        instructions:{}", if none { " []" } else { "" });
            self.chain(chain, number, index + 1 == chains.len(), "          ", out);
            number += chain.instructions.as_ref().map_or(0, Vec::len);
        }
    }

    /// Appends the views in front of an instruction of the method, or behind the last one. Returns the label that is left for the
    /// instruction: what is numbered after the conditions of the jumps to it follows the label.
    fn views_before(
        &self,
        position: usize,
        mut label: Option<String>,
        indent: &str,
        out: &mut String,
    ) -> Option<String> {
        let condition = self.conditions.get(&position);
        for index in self.positions.get(position).into_iter().flatten().copied() {
            let Some(name) = &self.names[index] else { continue };
            let _ = write!(out, "{indent}- ");
            let mut fields = FlowMap::new(out);
            if condition.is_some_and(|condition| *condition < index)
                && let Some(label) = label.take()
            {
                fields.key("label").push_str(&label);
            }
            match (self.views[index], self.plan.values()[index].as_tensor()) {
                (Some(View { base, .. }), Some(tensor)) => {
                    self.reference(base as i32, fields.key("view"));
                    if !self.declares_view(index) {
                        yaml::list(fields.key("sizes"), tensor.sizes.as_deref().unwrap_or_default(), yaml::number);
                    }
                    fields.key("out").push_str(&yaml::text(name));
                }
                _ => fields.key("value").push_str(&yaml::text(name)),
            }
            fields.end();
            out.push('\n');
        }
        label
    }

    /// Appends a chain whose first instruction is number `first` of the method.
    fn chain(&self, chain: &Chain, first: usize, is_last: bool, indent: &str, out: &mut String) {
        let instructions = chain.instructions.as_deref().unwrap_or_default();
        let mut targets: Vec<i32> = instructions
            .iter()
            .filter_map(Instruction::destination)
            .filter(|target| usize::try_from(*target).is_ok_and(|target| target <= instructions.len()))
            .collect();
        targets.sort_unstable();
        targets.dedup();
        let label = |position: usize| targets.binary_search(&(position as i32)).ok().map(|number| format!("L{number}"));
        for (position, instruction) in instructions.iter().enumerate() {
            let own_label = self.views_before(first + position, label(position), indent, out);
            out.push_str(indent);
            out.push_str("- ");
            let mut fields = FlowMap::new(out);
            if let Some(label) = own_label {
                fields.key("label").push_str(&label);
            }
            match instruction {
                Instruction::KernelCall { op_index, args } => {
                    self.kernel(*op_index, args.as_deref().unwrap_or_default(), &mut fields);
                }
                other => self.instruction(other, label, &mut fields),
            }
            if let Some(Some(frames)) = chain.stacktrace.as_ref().and_then(|traces| traces.get(position)) {
                yaml::list(fields.key("stacktrace"), frames, frame);
            }
            fields.end();
            out.push('\n');
        }
        let mut end = label(instructions.len());
        if is_last {
            end = self.views_before(first + instructions.len(), end, indent, out);
        }
        if let Some(label) = end {
            let _ = writeln!(out, "{indent}- {{label: {label}}}");
        }
    }

    /// Appends an instruction by the table of its fields: a list of arguments, or a field with the key of the instruction, beside that
    /// key; the other fields in a map behind it.
    fn instruction(
        &self,
        instruction: &Instruction,
        label: impl Fn(usize) -> Option<String>,
        fields: &mut FlowMap<'_>,
    ) {
        let append = |field: InstructionField<'_>, out: &mut String| match field.reference {
            FieldReference::Operator(index) => out.push_str(&yaml::operator(self.operator(index).unwrap_or_default())),
            FieldReference::Delegate(index) => {
                let known = usize::try_from(index).is_ok_and(|index| index < self.plan.delegates().len());
                let is_checked = known && !self.mismatched.contains(instruction.args());
                let _ = write!(out, "{}{index}", if is_checked { "part" } else { "" });
            }
            FieldReference::Operand(value, OperandAccess::Read) => self.argument(value, None, out),
            FieldReference::Operand(value, OperandAccess::Write | OperandAccess::Release) => self.reference(value, out),
            FieldReference::Destination(index) => {
                let label = usize::try_from(index).ok().and_then(&label);
                out.push_str(&label.unwrap_or_else(|| index.to_string()));
            }
            FieldReference::Args(args) => {
                yaml::list(out, args.into_iter().flatten(), |arg, out| self.argument(*arg, None, out));
            }
        };
        let key = instruction.key();
        let is_beside =
            |field: &InstructionField<'_>| field.key == key || matches!(field.reference, FieldReference::Args(_));
        for field in instruction.fields().filter(is_beside) {
            append(field, fields.key(field.key));
        }
        let mut others = instruction.fields().filter(|field| !is_beside(field)).peekable();
        if others.peek().is_some() {
            let mut map = FlowMap::new(fields.key(key));
            others.for_each(|field| append(field, map.key(field.key)));
            map.end();
        }
    }

    fn kernel(&self, op_index: i32, args: &[i32], fields: &mut FlowMap<'_>) {
        fields.key("kernel").push_str(&yaml::operator(self.operator(op_index).unwrap_or_default()));
        let call = self.call(op_index, args);
        let known = self.signature(op_index).map_or(&[][..], |signature| &signature.args);
        // If `out` is printed, `args` has the other arguments only, and the last ones may be left out.
        let known: Vec<&Arg> = known.iter().filter(|arg| call.outs.is_empty() || arg.role != Role::Out).collect();
        let mut ins = call.ins;
        while let ([before @ .., last], false) = (ins, call.outs.is_empty())
            && known.get(before.len()).is_some_and(|arg| self.is_default(*last, arg))
        {
            ins = before;
        }
        let mut kinds = known.iter().map(|arg| arg.kind);
        yaml::list(fields.key("args"), ins, |arg, out| self.argument(*arg, kinds.next(), out));
        match call.outs {
            [] => {}
            [out] if self.inlined.get(*out as usize) != Some(&true) => self.reference(*out, fields.key("out")),
            outs => yaml::list(fields.key("out"), outs, |out_value, out| match self.inlined.get(*out_value as usize) {
                // An out that the call does not ask for.
                Some(true) => out.push_str("null"),
                Some(false) | None => self.reference(*out_value, out),
            }),
        }
    }

    /// Returns true for a literal that is the default of its argument.
    fn is_default(&self, index: i32, arg: &Arg) -> bool {
        let literal = |index: i64| {
            let index = usize::try_from(index).ok().filter(|index| self.inlined.get(*index) == Some(&true))?;
            self.plan.values().get(index)
        };
        let is = |value: Option<&EValue>, default: &serde_json::Value| match (value, default) {
            (Some(EValue::Null), serde_json::Value::Null) => true,
            (Some(EValue::Bool(value)), serde_json::Value::Bool(default)) => value == default,
            (Some(EValue::Int(int)), default) if arg.kind.base != Base::Float => default.as_i64() == Some(*int),
            (Some(EValue::Double(double)), serde_json::Value::Number(default)) => {
                let is_double = arg.kind.base == Base::Float || default.as_i64().is_none();
                is_double && default.as_f64().is_some_and(|default| default.to_bits() == double.to_bits())
            }
            (Some(EValue::String(Some(text))), serde_json::Value::String(default)) => text == default,
            _ => false,
        };
        let Some(default) = &arg.default else { return false };
        let Ok(default) = serde_json::from_str::<serde_json::Value>(default) else { return false };
        match (literal(index.into()), &default) {
            (Some(EValue::IntList(Some(items))), serde_json::Value::Array(defaults)) => {
                items.len() == defaults.len()
                    && items.iter().zip(defaults).all(|(item, default)| is(literal(*item), default))
            }
            (value, default) => is(value, default),
        }
    }

    /// Appends a reference to a value.
    fn reference(&self, index: i32, out: &mut String) {
        match self.name(index) {
            Some(name) if !self.hints.everything => out.push_str(&yaml::text(name)),
            _ => _ = write!(out, "{{index: {index}}}"),
        }
    }

    fn references(&self, items: &[i32], out: &mut String) {
        yaml::list(out, items, |item, out| self.reference(*item, out));
    }

    /// Appends a reference or a literal.
    fn argument(&self, index: i32, kind: Option<ArgKind>, out: &mut String) {
        match usize::try_from(index).ok().filter(|index| self.inlined.get(*index) == Some(&true)) {
            Some(literal) => self.literal(literal, kind, out),
            None => self.reference(index, out),
        }
    }

    /// Appends a literal, as short as the argument's kind allows.
    fn literal(&self, index: usize, kind: Option<ArgKind>, out: &mut String) {
        let base = kind.filter(|kind| !kind.list).map(|kind| kind.base);
        let list_of = |base: Base| kind.is_some_and(|kind| kind.list && kind.base == base);
        match &self.plan.values()[index] {
            EValue::Null => out.push_str("null"),
            EValue::Int(n) => {
                let dtype = i8::try_from(*n).ok().map(ScalarType).filter(|_| base == Some(Base::Dtype));
                match dtype.filter(|dtype| dtype.info().is_some()) {
                    Some(dtype) => _ = write!(out, "{dtype}"),
                    None => yaml::number(n, out),
                }
            }
            EValue::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            EValue::Double(x) => number::double(x, out),
            EValue::String(Some(text))
                if base == Some(Base::Str) && yaml::text(text) == *text && !self.is_name(text) =>
            {
                out.push_str(text);
            }
            EValue::IntList(Some(items)) if list_of(Base::Int) || (kind.is_none() && !items.is_empty()) => {
                self.ints(items, out);
            }
            EValue::TensorList(Some(items)) if kind.is_none_or(|kind| !kind.optional_items) => {
                self.tensors(items, false, out);
            }
            EValue::OptionalTensorList(Some(items))
                if kind.is_some_and(|kind| kind.optional_items) || items.contains(&-1) =>
            {
                self.tensors(items, true, out);
            }
            EValue::DoubleList(Some(items)) if list_of(Base::Float) => yaml::list(out, items, number::double),
            EValue::BoolList(Some(items)) if list_of(Base::Bool) => yaml::list(out, items, yaml::number),
            value @ (EValue::Tensor(_)
            | EValue::String(_)
            | EValue::IntList(_)
            | EValue::DoubleList(_)
            | EValue::BoolList(_)
            | EValue::TensorList(_)
            | EValue::OptionalTensorList(_)) => {
                let mut fields = FlowMap::new(out);
                self.declared(value, &mut fields);
                fields.end();
            }
        }
    }

    /// Appends the items of a list of integers, which are values.
    fn ints(&self, items: &[i64], out: &mut String) {
        yaml::list(out, items, |item, out| self.argument(i32::try_from(*item).unwrap_or(-1), None, out));
    }

    /// Appends a list of tensors; with `optional`, -1 is None (M-10).
    fn tensors(&self, items: &[i32], optional: bool, out: &mut String) {
        yaml::list(out, items, |item, out| match item {
            -1 if optional => out.push_str("null"),
            item => self.reference(*item, out),
        });
    }

    fn is_name(&self, text: &str) -> bool {
        self.names.iter().flatten().any(|name| name == text)
    }

    /// Appends a value with its kind as the key.
    fn declared(&self, value: &EValue, fields: &mut FlowMap<'_>) {
        match value {
            EValue::Null => fields.key("\"null\"").push_str("null"),
            EValue::Int(n) => yaml::number(n, fields.key("int")),
            EValue::Bool(b) => yaml::number(b, fields.key("bool")),
            EValue::Double(x) => number::double(x, fields.key("double")),
            EValue::String(text) => {
                fields.key("string").push_str(&yaml::text(text.as_deref().unwrap_or_default()));
            }
            EValue::IntList(list) => self.ints(list.as_deref().unwrap_or_default(), fields.key("int_list")),
            EValue::DoubleList(list) => yaml::list(fields.key("double_list"), list.iter().flatten(), number::double),
            EValue::BoolList(list) => yaml::list(fields.key("bool_list"), list.iter().flatten(), yaml::number),
            EValue::TensorList(list) => {
                self.tensors(list.as_deref().unwrap_or_default(), false, fields.key("tensor_list"));
            }
            EValue::OptionalTensorList(list) => {
                self.tensors(list.as_deref().unwrap_or_default(), true, fields.key("optional_tensor_list"));
            }
            EValue::Tensor(_) => {}
        }
    }

    fn tensor(
        &self,
        index: usize,
        name: &str,
        tensor: &Tensor,
        fields: &mut FlowMap<'_>,
        data: &mut DataPrinter<'_>,
    ) -> std::io::Result<()> {
        let sizes = tensor.sizes.as_deref().unwrap_or_default();
        let order = tensor.dim_order.as_deref().unwrap_or_default();
        let inferred = self.inferred[index].as_ref().filter(|_| self.uses.produced[index]);
        let view = self.views[index].filter(|_| self.declares_view(index));
        if self.views[index].is_some() && view.is_none() {
            return Ok(());
        }
        if inferred.is_none_or(|meta| meta.scalar_type != tensor.scalar_type) {
            let _ = write!(fields.key("tensor"), "{}", tensor.scalar_type);
        }
        let has_sizes = |meta: &&TensorMeta| {
            let dims = meta.sizes.iter().map(|dim| dim.size);
            tensor.sizes.is_some() && dims.eq(sizes.iter().map(|size| i64::from(*size)))
        };
        let meta = inferred.filter(has_sizes);
        if meta.is_none() {
            yaml::list(fields.key("sizes"), sizes, yaml::number);
        }
        let computed_order = meta.map_or_else(|| contiguous(sizes.len()), |meta| meta.dim_order.clone().into());
        if *order != *computed_order {
            yaml::list(fields.key("dim_order"), order, yaml::number);
        }
        let is_dynamic = meta.is_some_and(|meta| meta.sizes.iter().any(|dim| dim.dynamic));
        for attribute in TENSOR_ATTRIBUTES {
            let value = (attribute.get)(tensor);
            let default = match attribute.key {
                "dynamism" => i32::from(is_dynamic),
                "requires_grad" => i32::from(self.requires_grad[index]),
                _ => 0,
            };
            if value == default {
                continue;
            }
            let out = fields.key(attribute.key);
            match attribute.kind {
                AttributeKind::Bool => yaml::number(value != 0, out),
                AttributeKind::Int => yaml::number(value, out),
                AttributeKind::Byte(words) => match usize::try_from(value).ok().and_then(|number| words.get(number)) {
                    Some(word) => out.push_str(word),
                    None => yaml::number(value, out),
                },
            }
        }
        if let Some(View { base, .. }) = view {
            if let Some(base) = self.name(base as i32) {
                fields.key("view_of").push_str(&yaml::text(base));
            }
            self.extra_info(tensor, name, fields);
            return Ok(());
        }
        let planned = tensor.memory != Memory::None;
        let has_data = matches!(tensor.data, TensorData::Blob(_));
        let is_scratch = self.hints.scratch && self.uses.overwritten[index];
        let is_state = !self.uses.is_input[index] && !self.uses.produced[index] && !is_scratch;
        // State that the caller places is neither planned nor written before it is read.
        let is_unplanned_state = tensor.data == TensorData::None && self.uses.first[index].is_some() && !planned;
        if is_state && is_unplanned_state || planned && (has_data || is_state) {
            fields.key("mutable").push_str("true");
        }
        match tensor.memory {
            Memory::At { pool, offset } if self.states_place(tensor) => {
                let _ = write!(fields.key("memory"), "{{pool: {pool}, offset: {offset}}}");
            }
            // Pools of other devices follow those of the CPU, and are computed.
            Memory::At { pool, .. } if pool != 1 && tensor.device() == (0, 0) => {
                _ = write!(fields.key("memory"), "{{pool: {pool}}}")
            }
            Memory::None if !has_data && tensor.data == TensorData::None && tensor.shape_dynamism != 2 => {
                fields.key("memory").push_str("none");
            }
            Memory::None | Memory::Auto { .. } | Memory::At { .. } | Memory::View { .. } => {}
        }
        self.extra_info(tensor, name, fields);
        if let TensorData::Elsewhere(Some(number)) = tensor.data
            && (self.hints.external || self.hints.everything)
        {
            yaml::number(number, fields.key("data_buffer_idx"));
        }
        if let TensorData::Blob(blob) = tensor.data {
            let base = self.bases.get(&blob).filter(|_| tensor.nbytes() != Some(self.program.blob(blob).len));
            if let Some(name) = base.and_then(|base| self.names[*base].as_deref()) {
                fields.key("view_of").push_str(&yaml::text(name));
                return Ok(());
            }
            let printed = data.tensor(self.program.blob(blob), tensor, name)?;
            fields.key("data").push_str(&printed);
        }
        Ok(())
    }

    /// Appends the optional properties of a tensor.
    fn extra_info(&self, tensor: &Tensor, name: &str, fields: &mut FlowMap<'_>) {
        if let Some(extra) = &tensor.extra_tensor_info {
            if extra.location == 1 {
                fields.key("external").push_str("true");
            }
            if let Some(stated) =
                extra.fully_qualified_name.as_ref().filter(|stated| extra.location != 1 || *stated != name)
            {
                fields.key("name").push_str(&yaml::text(stated));
            }
            if **extra == ExtraTensorInfo::default() {
                fields.key("extra_tensor_info").push_str("true");
            }
            if (extra.device_type, extra.device_index) != (0, 0) {
                fields.key("device").push_str(&device(extra.device_type, extra.device_index));
            }
        }
    }

    /// Returns `true` if instructions declare the value as it is: a view, or a number that an operator returns.
    fn is_implied(&self, index: usize, value: &EValue) -> bool {
        let written = || {
            let instruction = self.sequence.get(self.uses.first[index]?)?;
            let Instruction::KernelCall { op_index, args } = instruction else { return None };
            let call = self.call(*op_index, args.as_deref().unwrap_or_default());
            call.outs.contains(&(index as i32)).then(|| self.signature(*op_index)?.result).flatten()
        };
        match value {
            EValue::Tensor(_) => self.views[index].is_some() && !self.declares_view(index),
            EValue::Int(_) | EValue::Bool(_) | EValue::Double(_) if self.uses.produced[index] => {
                written().and_then(inference::placeholder).as_ref() == Some(value)
            }
            EValue::Int(_)
            | EValue::Bool(_)
            | EValue::Double(_)
            | EValue::Null
            | EValue::String(_)
            | EValue::IntList(_)
            | EValue::DoubleList(_)
            | EValue::BoolList(_)
            | EValue::TensorList(_)
            | EValue::OptionalTensorList(_) => false,
        }
    }

    /// Returns `true` if a view is declared with other properties than its sizes.
    fn declares_view(&self, index: usize) -> bool {
        let (Some(View { base, .. }), Some(tensor)) = (self.views[index], self.plan.values()[index].as_tensor()) else {
            return false;
        };
        let base = self.plan.values()[base].as_tensor();
        let rank = tensor.sizes.as_deref().map_or(0, <[i32]>::len);
        base.is_none_or(|base| base.scalar_type != tensor.scalar_type)
            || tensor.dim_order.as_deref() != Some(&*contiguous(rank))
            || tensor.extra_tensor_info.is_some()
            || tensor.requires_grad != self.requires_grad[index]
            || tensor.shape_dynamism != 0
    }
}

/// Returns the number of stack traces, if it is not that of the instructions.
fn stacktraces(chain: &Chain) -> Option<usize> {
    let count = chain.instructions.as_ref().map_or(0, Vec::len);
    chain.stacktrace.as_ref().map(Vec::len).filter(|traces| *traces != count || count == 0)
}

/// Returns the constants that have their data as a whole, by the data; empty if all constants do.
fn bases(program: &Program, plan: &ExecutionPlan) -> HashMap<BlobId, usize> {
    let (mut bases, mut has_views) = (HashMap::new(), false);
    for (index, tensor) in plan.tensors() {
        if let (TensorData::Blob(blob), Memory::None) = (&tensor.data, &tensor.memory) {
            match tensor.nbytes() == Some(program.blob(*blob).len) {
                true => _ = bases.entry(*blob).or_insert(index),
                false => has_views = true,
            }
        }
    }
    if has_views { bases } else { HashMap::new() }
}

/// Arguments of a kernel call: inputs and outs, or all of them as inputs.
pub(super) struct CallForm<'c> {
    pub(super) ins: &'c [i32],
    pub(super) outs: &'c [i32],
    /// Values of the lists of several outs, which are not printed.
    pub(super) lists: &'c [i32],
}

/// Operators whose results have shorter names: those of torch's layers.
const SHORT_NAMES: &[(&str, &str)] = &[
    ("addmm", "linear"),
    ("clone_dim_order", "clone"),
    ("convolution", "conv"),
    ("max_pool2d_with_indices", "max_pool2d"),
    ("native_batch_norm_legit", "batch_norm"),
    ("native_batch_norm_legit_no_training", "batch_norm"),
    ("native_group_norm", "group_norm"),
    ("native_layer_norm", "layer_norm"),
    ("to_dim_order_copy", "to_copy"),
];

/// Maximum number of instructions between the transposition of a weight and its use.
const NEAR: usize = 8;

/// Returns the name of an argument as the name of a constant: what a layer calls it.
fn argument_name<'a>(operator: &str, argument: &'a str) -> &'a str {
    match (operator, argument) {
        ("linear", "self") => "bias",
        ("linear" | "mm" | "bmm", "mat2") => "weight",
        (_, "self") => "input",
        (_, argument) => argument,
    }
}

fn fallback(value: &EValue) -> &'static str {
    match value {
        EValue::Tensor(tensor) if matches!(tensor.data, TensorData::Blob(_)) && tensor.memory == Memory::None => {
            "constant"
        }
        EValue::Tensor(tensor) if tensor.memory != Memory::None => "state",
        EValue::Tensor(_) => "tensor",
        EValue::Null => "none",
        EValue::Int(_) => "int",
        EValue::Bool(_) => "flag",
        EValue::Double(_) => "double",
        EValue::String(_) => "text",
        EValue::IntList(_)
        | EValue::DoubleList(_)
        | EValue::BoolList(_)
        | EValue::TensorList(_)
        | EValue::OptionalTensorList(_) => "list",
    }
}

/// Returns the instructions of all chains with their stack traces.
fn traced(plan: &ExecutionPlan) -> impl Iterator<Item = (&Instruction, Option<&[StackFrame]>)> {
    plan.chains.iter().flatten().flat_map(|chain| {
        let traces = chain.stacktrace.as_deref().unwrap_or_default();
        let frames = |number: usize| traces.get(number)?.as_deref();
        let instructions = chain.instructions.iter().flatten().enumerate();
        instructions.map(move |(number, instruction)| (instruction, frames(number)))
    })
}

fn device(device_type: i8, device_index: i8) -> String {
    let name = device_name(device_type, device_index);
    if device_index == 0 { name } else { format!("\"{name}\"") }
}

fn frame(frame: &StackFrame, out: &mut String) {
    let mut fields = FlowMap::new(out);
    let mut text = |key: &str, value: &Option<String>| {
        if let Some(value) = value {
            fields.key(key).push_str(&yaml::text(value));
        }
    };
    text("filename", &frame.filename);
    text("name", &frame.name);
    text("context", &frame.context);
    if frame.lineno != 0 {
        yaml::number(frame.lineno, fields.key("lineno"));
    }
    fields.end();
}
