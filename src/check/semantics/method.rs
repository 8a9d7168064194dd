//! Accesses of a method to its values, by step and by value. The semantic rules use them; nothing is reported here.
//!
//! A step is the position of an instruction, counted through all chains. Indices out of range are left out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::data::{BlobId, workers};
use crate::operators::inference::{constraints, rule};
use crate::operators::kernels::KernelConstraints;
use crate::operators::kinds::{self, Kinds, ResultKinds, narrower};
use crate::operators::{Base, OperatorSet, Role};
use crate::program::OperandAccess;
use crate::program::element::{Element, Part};
use crate::program::pools::PoolRange;
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, Program, Tensor, TensorData};
use crate::transform::inference::InferredOperator;

/// Largest constant that is read, in bytes.
const MAX_CONSTANT: u64 = 1 << 16;

/// Number of instructions from which a method is examined by two threads.
const LARGE: usize = 1 << 12;

/// Bound on the accesses that are searched for the next read of a value.
const MAX_SEARCHED: usize = 64;

/// Effect of an instruction on a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads it.
    Read,
    /// Writes all of it.
    Write,
    /// Reads it, and writes some of it.
    Modify,
    /// Replaces it by an alias: a move or a view.
    Alias,
    /// None: the result argument of an out variant, which repeats its out.
    RepeatedOut,
    /// Unknown: an argument of a delegate or of an unknown operator.
    Unknown,
    /// As `Unknown`, of a value without content: so the access writes it, or makes it a view.
    UnknownResult,
}

impl AccessKind {
    /// Returns `true` if the access may change the content.
    pub fn may_write(self) -> bool {
        self != AccessKind::Read
    }

    /// Returns `true` if the access certainly reads the content.
    pub fn reads(self) -> bool {
        matches!(self, AccessKind::Read | AccessKind::Modify)
    }
}

/// An access of an instruction, or of the outputs of the method, to a value.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    pub value: u32,
    /// [`MethodAnalysis::end`] for the outputs.
    pub step: u32,
    /// Index of the argument or output.
    pub arg: u32,
    pub kind: AccessKind,
}

/// An instruction and its position.
#[derive(Debug, Clone, Copy)]
pub struct InstructionRef<'p> {
    pub chain: u32,
    pub index: u32,
    pub instruction: &'p Instruction,
}

/// Properties of a tensor; the default for other values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TensorFacts {
    /// Its size in bytes is known and not 0.
    pub has_bytes: bool,
    /// Code of the element type.
    pub scalar_type: i8,
    /// The file has data for it.
    pub has_data: bool,
    /// It is in planned memory.
    pub is_planned: bool,
    /// It has a name, by which the caller can access it.
    pub is_named: bool,
    /// Its size is unbounded: the runtime allocates it.
    pub is_unbound: bool,
}

fn facts(value: &EValue) -> TensorFacts {
    let EValue::Tensor(tensor) = value else { return TensorFacts::default() };
    TensorFacts {
        has_bytes: tensor.nbytes().is_some_and(|bytes| bytes > 0),
        scalar_type: tensor.scalar_type.0,
        has_data: tensor.data != TensorData::None,
        is_planned: tensor.memory != Memory::None,
        is_named: tensor.name().is_some(),
        is_unbound: tensor.shape_dynamism == 2,
    }
}

/// A known operator of a method.
#[derive(Debug)]
pub struct KnownOperator {
    /// Its rule of inference is absent if its signature is that of a custom operator.
    pub operator: InferredOperator,
    /// Library that registers it; `None` for the default runtime and for custom operators.
    pub library: Option<&'static str>,
    /// Positions of the outs.
    pub outs: Vec<usize>,
    /// Kinds that it accepts, if they are fewer than those of the signature.
    pub narrower: Option<&'static [Kinds]>,
    /// Further constraints of its kernel.
    pub kernel: KernelConstraints,
    /// Its result is a view of its first argument.
    pub is_view: bool,
    /// It reads the sizes of its tensors and not their content.
    pub reads_sizes: bool,
    /// Kinds of its result, if the signature does not state one.
    pub result_kinds: Option<ResultKinds>,
}

/// The elements of a constant.
pub type ConstantInts = Arc<[i64]>;

/// A method and the accesses to its values.
pub struct MethodAnalysis<'p> {
    pub program: &'p Program,
    pub index: usize,
    pub plan: &'p ExecutionPlan,
    /// All instructions, chain after chain.
    pub steps: Vec<InstructionRef<'p>>,
    /// First step of each chain, then [`MethodAnalysis::end`].
    pub chains: Vec<u32>,
    /// By index in the plan: the operator, if it is known.
    pub operators: Vec<Option<Arc<KnownOperator>>>,
    /// All accesses by step, those of the outputs last.
    pub accesses: Vec<Access>,
    /// By step: index of its first access.
    by_step: Vec<u32>,
    /// Indices of accesses, sorted by value.
    by_value: Vec<u32>,
    /// By value: index of its first entry in `by_value`.
    value_bounds: Vec<u32>,
    /// By value: `true` if it is a result argument that repeats an out.
    repeated_outs: Vec<bool>,
    /// By value: its kind in the file, as a set of one kind. Most checks read this and `facts`, which are smaller than the values.
    pub stated: Vec<Kinds>,
    /// By value: the kinds that it may have while the method runs.
    pub kinds: Vec<Kinds>,
    /// By value: the planned memory of a tensor that is not empty.
    pub ranges: Vec<Option<PoolRange>>,
    /// By value.
    pub facts: Vec<TensorFacts>,
    pub is_input: Vec<bool>,
    /// Lists are used so often that accesses to their items are missing.
    pub is_truncated: bool,
    /// Constants that were read, by data and element type.
    pub constant_ints: Mutex<HashMap<(BlobId, i8), Option<ConstantInts>>>,
    /// Constants of float32 that were read, and whether they have an element that is NaN.
    pub constants_with_nan: Mutex<HashMap<BlobId, bool>>,
}

impl<'p> MethodAnalysis<'p> {
    /// Returns the data of a constant that is small enough to be read; `None` for other tensors.
    pub fn small_constant(&self, tensor: &Tensor) -> Option<BlobId> {
        let TensorData::Blob(data) = tensor.data else { return None };
        (tensor.memory == Memory::None && self.program.blob(data).len <= MAX_CONSTANT).then_some(data)
    }

    /// Returns the bytes of a constant that [`MethodAnalysis::small_constant`] returned, if they can be read.
    pub fn read_constant(&self, data: BlobId) -> Option<Vec<u8>> {
        let blob = self.program.blob(data);
        blob.read_at(0, usize::try_from(blob.len).ok()?).ok()
    }

    /// Collects the accesses of a method. `None` if it has more than 2^32 instructions or values.
    pub fn new(program: &'p Program, index: usize, set: &OperatorSet) -> Option<MethodAnalysis<'p>> {
        let plan = program.plans().get(index)?;
        let values = plan.values();
        let count = plan.instructions().count();
        if u32::try_from(count.max(values.len())).is_err() {
            return None;
        }
        let is_large = count >= LARGE;
        let (first, second) = values.split_at(if is_large { values.len() / 2 } else { values.len() });
        let (rest, mut properties) = workers::both(is_large, || Properties::of(second), || Properties::of(first));
        properties.append(rest);
        let Properties { stated, ranges, facts, items } = properties;
        let operators = known_operators(plan, set);
        let (steps, chains) = steps(plan, count);
        let Accesses { list, by_step, repeated_outs, is_truncated, .. } =
            Accesses::collect(plan, &steps, &operators, &stated, items);
        let mut is_input = vec![false; values.len()];
        for input in plan.inputs.iter().flatten() {
            if let Some(flag) = usize::try_from(*input).ok().and_then(|input| is_input.get_mut(input)) {
                *flag = true;
            }
        }
        let mut method = MethodAnalysis {
            program,
            index,
            plan,
            steps,
            chains,
            operators,
            accesses: Vec::new(),
            by_step,
            by_value: Vec::new(),
            value_bounds: Vec::new(),
            repeated_outs,
            kinds: stated.clone(),
            stated,
            ranges,
            facts,
            is_input,
            is_truncated,
            constant_ints: Mutex::default(),
            constants_with_nan: Mutex::default(),
        };
        let index = || index_by_value(&list, values.len());
        let ((by_value, value_bounds), ()) = workers::both(is_large, index, || method.propagate_kinds());
        Some(MethodAnalysis { accesses: list, by_value, value_bounds, ..method })
    }

    /// Returns the step after the last instruction, at which the caller reads the outputs.
    pub fn end(&self) -> u32 {
        self.steps.len() as u32
    }

    pub fn values(&self) -> &'p [EValue] {
        self.plan.values()
    }

    /// Returns the accesses of a step or of [`MethodAnalysis::end`].
    pub fn step_accesses(&self, step: u32) -> &[Access] {
        &self.accesses[self.by_step[step as usize] as usize..self.by_step[step as usize + 1] as usize]
    }

    pub fn step_accesses_mut(&mut self, step: u32) -> &mut [Access] {
        &mut self.accesses[self.by_step[step as usize] as usize..self.by_step[step as usize + 1] as usize]
    }

    /// Returns the accesses to a value by step.
    pub fn value_accesses(&self, value: usize) -> impl DoubleEndedIterator<Item = &Access> + ExactSizeIterator {
        self.access_indices(value).iter().map(|access| &self.accesses[*access as usize])
    }

    /// Returns `true` if a value is a result argument that repeats an out.
    pub fn is_repeated_out(&self, value: usize) -> bool {
        self.repeated_outs[value]
    }

    /// Returns the first step that reads a value, from `step` on.
    pub fn next_read(&self, value: usize, step: u32) -> Option<u32> {
        self.accesses_from(value, step).take(MAX_SEARCHED).find(|access| access.kind.reads()).map(|access| access.step)
    }

    /// Returns `true` if a step from `first` to `last` overwrites a value.
    pub fn rewrites(&self, value: usize, first: u32, last: u32) -> bool {
        let mut accesses = self.accesses_from(value, first).take_while(|access| access.step <= last);
        accesses.any(|access| access.kind.may_write() && access.kind != AccessKind::Modify)
    }

    fn accesses_from(&self, value: usize, step: u32) -> impl Iterator<Item = &Access> {
        let indices = self.access_indices(value);
        let first = indices.partition_point(|access| self.accesses[*access as usize].step < step);
        indices[first..].iter().map(|access| &self.accesses[*access as usize])
    }

    fn access_indices(&self, value: usize) -> &[u32] {
        &self.by_value[self.value_bounds[value] as usize..self.value_bounds[value + 1] as usize]
    }

    /// Returns the operator and the arguments of a kernel call, if the operator is known.
    pub fn call(&self, step: &InstructionRef<'p>) -> Option<(&Arc<KnownOperator>, &'p [i32])> {
        let Instruction::KernelCall { op_index, args } = step.instruction else { return None };
        let known = self.operators.get(usize::try_from(*op_index).ok()?)?.as_ref()?;
        Some((known, args.as_deref()?))
    }

    /// Returns the element of a step.
    pub fn at(&self, step: u32) -> Element {
        self.element(match self.steps.get(step as usize) {
            Some(step) => Part::Instruction(step.chain as usize, step.index as usize),
            None => Part::Whole,
        })
    }

    /// Returns the element of a field of a step.
    pub fn field(&self, step: u32, name: &'static str) -> Element {
        self.element(match self.steps.get(step as usize) {
            Some(step) => Part::Field(step.chain as usize, step.index as usize, name),
            None => Part::Whole,
        })
    }

    /// Returns the element of an argument of a step, or of an output.
    pub fn arg(&self, step: u32, arg: usize) -> Element {
        self.element(match self.steps.get(step as usize) {
            Some(step) => Part::Arg(step.chain as usize, step.index as usize, arg),
            None => Part::Output(arg),
        })
    }

    /// Returns the element of an access.
    pub fn element_of(&self, access: &Access) -> Element {
        let instruction = self.steps.get(access.step as usize).map(|step| step.instruction);
        match instruction.and_then(|instruction| instruction.operands().nth(access.arg as usize)) {
            Some((field, ..)) => self.field(access.step, field),
            None => self.arg(access.step, access.arg as usize),
        }
    }

    pub fn element(&self, part: Part) -> Element {
        Element::Method(self.index, part)
    }

    /// Returns the index of a value, if it is in range.
    pub fn value(&self, index: i32) -> Option<usize> {
        usize::try_from(index).ok().filter(|index| *index < self.values().len())
    }

    /// Adds the kinds that values get from results and moves.
    fn propagate_kinds(&mut self) {
        let mut moves: Vec<(usize, usize)> = Vec::new();
        for number in 0..self.steps.len() {
            let step = self.steps[number];
            if let Instruction::MoveCall { move_from, move_to } = step.instruction {
                moves.extend(self.value(*move_from).zip(self.value(*move_to)));
            }
            if step.instruction.operator().is_some() {
                self.add_result_kinds(&step, step.instruction.args());
            }
        }
        let adds_kinds = |kinds: &[Kinds], (from, to): (usize, usize)| kinds[from].0 & !kinds[to].0 != 0;
        let mut changed: Vec<usize> =
            moves.iter().filter(|pair| adds_kinds(&self.kinds, **pair)).map(|(from, _)| *from).collect();
        if !changed.is_empty() {
            moves.sort_unstable();
        }
        while let Some(from) = changed.pop() {
            let first = moves.partition_point(|(other, _)| *other < from);
            for &(_, to) in moves[first..].iter().take_while(|(other, _)| *other == from) {
                if adds_kinds(&self.kinds, (from, to)) {
                    self.kinds[to] = self.kinds[to].or(self.kinds[from]);
                    changed.push(to);
                }
            }
        }
    }

    fn add_result_kinds(&mut self, step: &InstructionRef<'p>, args: &[i32]) {
        let Some((known, _)) = self.call(step) else {
            for arg in args {
                let kinds = usize::try_from(*arg).ok().and_then(|slot| self.kinds.get_mut(slot));
                if let Some(kinds) = kinds.filter(|kinds| kinds.meets(Kinds::SCALAR)) {
                    *kinds = kinds.or(Kinds::SCALAR);
                }
            }
            return;
        };
        let kinds = match known.operator.signature.result {
            None => return,
            Some(Base::Tensor) => Kinds::TENSOR,
            Some(Base::Int) => Kinds::INT,
            Some(Base::Float) => Kinds::DOUBLE,
            Some(Base::Bool) => Kinds::BOOL,
            Some(Base::Scalar | Base::Str | Base::Dtype | Base::MemoryFormat) => Kinds::SCALAR,
        };
        if let Some(slot) = args.get(known.operator.signature.args.len()).and_then(|slot| self.value(*slot)) {
            self.kinds[slot] = self.kinds[slot].or(kinds);
        }
    }

    /// Returns the tensor whose memory a step gives another value, by a move, a view, or as the result of an operator in place.
    pub fn alias_source(&self, step: u32) -> Option<usize> {
        let step = self.steps.get(step as usize)?;
        if let Instruction::MoveCall { move_from, .. } = step.instruction {
            return self.value(*move_from);
        }
        let (_, args) = self.call(step)?;
        self.value(*args.first()?)
    }

    /// Returns the value of which the result of a step is a view.
    pub fn viewed(&self, step: u32) -> Option<usize> {
        let (known, args) = self.call(self.steps.get(step as usize)?)?;
        known.is_view.then(|| self.value(*args.first()?)).flatten()
    }
}

/// Returns the `count` instructions of a method, and the first step of each chain.
fn steps(plan: &ExecutionPlan, count: usize) -> (Vec<InstructionRef<'_>>, Vec<u32>) {
    let (mut steps, mut chains) = (Vec::with_capacity(count), vec![0]);
    for (chain, list) in plan.chains.iter().flatten().enumerate() {
        let list = list.instructions.iter().flatten().enumerate();
        let step = |(index, instruction)| InstructionRef { chain: chain as u32, index: index as u32, instruction };
        steps.extend(list.map(step));
        chains.push(steps.len() as u32);
    }
    (steps, chains)
}

/// What the checks need of each value, in lists that are smaller than the values.
#[derive(Default)]
struct Properties {
    stated: Vec<Kinds>,
    ranges: Vec<Option<PoolRange>>,
    facts: Vec<TensorFacts>,
    /// Number of items of all lists of values.
    items: usize,
}

impl Properties {
    fn of(values: &[EValue]) -> Properties {
        let mut properties = Properties {
            stated: Vec::with_capacity(values.len()),
            ranges: Vec::with_capacity(values.len()),
            facts: Vec::with_capacity(values.len()),
            items: 0,
        };
        for value in values {
            properties.stated.push(Kinds::of_tag(value.tag()));
            properties.ranges.push(PoolRange::of(value));
            properties.facts.push(facts(value));
            properties.items += list(value).map_or(0, |items| items.len());
        }
        properties
    }

    /// Adds those of the values that follow.
    fn append(&mut self, other: Properties) {
        self.stated.extend(other.stated);
        self.ranges.extend(other.ranges);
        self.facts.extend(other.facts);
        self.items += other.items;
    }
}

/// The accesses of a method by step.
struct Accesses<'m, 'p> {
    plan: &'p ExecutionPlan,
    /// By value: its kind in the file.
    stated: &'m [Kinds],
    /// Bound on the length of `list`: a small file must not lead to a large table, where many calls use lists with many items.
    limit: usize,
    list: Vec<Access>,
    by_step: Vec<u32>,
    repeated_outs: Vec<bool>,
    is_truncated: bool,
}

impl<'m, 'p> Accesses<'m, 'p> {
    /// Collects the accesses; `items` is the number of items of all lists.
    fn collect(
        plan: &'p ExecutionPlan,
        steps: &[InstructionRef<'p>],
        operators: &[Option<Arc<KnownOperator>>],
        stated: &'m [Kinds],
        items: usize,
    ) -> Accesses<'m, 'p> {
        let args: usize = steps.iter().map(|step| step.instruction.args().len()).sum();
        let outputs = plan.outputs.as_deref().unwrap_or_default();
        let mut accesses = Accesses {
            plan,
            stated,
            limit: 4 * (items + args + stated.len()) + 1024,
            list: Vec::with_capacity(args + outputs.len()),
            by_step: Vec::with_capacity(steps.len() + 2),
            repeated_outs: vec![false; stated.len()],
            is_truncated: false,
        };
        accesses.by_step.push(0);
        for (number, step) in (0..).zip(steps) {
            let args = step.instruction.args();
            let known = step.instruction.operator().and_then(|operator| usize::try_from(operator).ok());
            let known = known.and_then(|operator| operators.get(operator)?.as_deref());
            for (arg, value) in args.iter().enumerate() {
                let kind = known.map_or(AccessKind::Unknown, |known| known.access_kind(args, arg));
                accesses.add(*value, number, arg, kind);
            }
            for (arg, (_, value, access)) in step.instruction.operands().enumerate() {
                let kind = match access {
                    OperandAccess::Read => AccessKind::Read,
                    OperandAccess::Write => AccessKind::Alias,
                    OperandAccess::Release => AccessKind::Unknown,
                };
                accesses.add(value, number, arg, kind);
            }
            accesses.by_step.push(accesses.list.len() as u32);
        }
        for (output, value) in outputs.iter().enumerate() {
            accesses.add(*value, steps.len() as u32, output, AccessKind::Read);
        }
        accesses.by_step.push(accesses.list.len() as u32);
        accesses
    }

    fn add(&mut self, value: i32, step: u32, arg: usize, kind: AccessKind) {
        let Some((value, stated)) =
            usize::try_from(value).ok().and_then(|index| Some((index, self.stated.get(index)?)))
        else {
            return;
        };
        if kind == AccessKind::RepeatedOut {
            self.repeated_outs[value] = true;
            return;
        }
        let access = |value: usize, kind| Access { value: value as u32, step, arg: arg as u32, kind };
        if !stated.meets(Kinds::VALUE_LISTS) {
            self.list.push(access(value, kind));
            return;
        }
        let items = list(&self.plan.values()[value]);
        let read = if items.is_some() && kind != AccessKind::Unknown { AccessKind::Read } else { kind };
        self.list.push(access(value, read));
        let Some(items) = items else { return };
        if self.list.len() + items.len() > self.limit {
            self.is_truncated = true;
            return;
        }
        for item in items.iter().filter_map(|item| usize::try_from(item).ok()) {
            if item < self.stated.len() {
                self.list.push(access(item, kind));
            }
        }
    }
}

/// Returns the indices of accesses, sorted by value, and the first of them for each of `count` values.
fn index_by_value(accesses: &[Access], count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut bounds = vec![0u32; count + 1];
    for access in accesses {
        bounds[access.value as usize + 1] += 1;
    }
    for value in 1..bounds.len() {
        bounds[value] += bounds[value - 1];
    }
    let mut next = bounds.clone();
    let mut by_value = vec![0; accesses.len()];
    for (index, access) in (0..).zip(accesses) {
        let slot = &mut next[access.value as usize];
        by_value[*slot as usize] = index;
        *slot += 1;
    }
    (by_value, bounds)
}

/// The items of a list of values.
pub enum ListItems<'p> {
    Ints(&'p [i64]),
    Tensors(&'p [i32]),
}

impl ListItems<'_> {
    pub fn len(&self) -> usize {
        match self {
            ListItems::Ints(items) => items.len(),
            ListItems::Tensors(items) => items.len(),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = i32> {
        let (ints, tensors) = match self {
            ListItems::Ints(items) => (*items, &[][..]),
            ListItems::Tensors(items) => (&[][..], *items),
        };
        ints.iter().map(|item| i32::try_from(*item).unwrap_or(-1)).chain(tensors.iter().copied())
    }
}

/// Returns the items of a value that is a list of values.
pub fn list(value: &EValue) -> Option<ListItems<'_>> {
    match value {
        EValue::IntList(Some(items)) => Some(ListItems::Ints(items)),
        EValue::TensorList(Some(items)) | EValue::OptionalTensorList(Some(items)) => Some(ListItems::Tensors(items)),
        EValue::IntList(None)
        | EValue::TensorList(None)
        | EValue::OptionalTensorList(None)
        | EValue::Null
        | EValue::Int(_)
        | EValue::Bool(_)
        | EValue::Double(_)
        | EValue::Tensor(_)
        | EValue::String(_)
        | EValue::DoubleList(_)
        | EValue::BoolList(_) => None,
    }
}

impl KnownOperator {
    fn find(name: &str, set: &OperatorSet) -> Option<KnownOperator> {
        let signature = set.find(name)?;
        let (rule, library, constraints) = match set.is_added(name) {
            true => (None, None, Vec::new()),
            false => (rule(name), set.library(name), constraints::constraints(name, &signature)),
        };
        let outs = signature.args.iter().enumerate().filter(|(_, arg)| arg.role == Role::Out);
        let outs = outs.map(|(position, _)| position).collect();
        Some(KnownOperator {
            outs,
            narrower: narrower(name),
            kernel: KernelConstraints::new(name),
            is_view: crate::operators::aliased(name).is_some(),
            reads_sizes: crate::operators::reads_sizes(name),
            result_kinds: kinds::results(name),
            operator: InferredOperator { name: name.to_owned(), signature, rule, constraints },
            library,
        })
    }

    /// Returns the effect of a call on an argument.
    fn access_kind(&self, args: &[i32], arg: usize) -> AccessKind {
        let signature = &self.operator.signature;
        match signature.args.get(arg).map(|arg| arg.role) {
            Some(Role::In) => AccessKind::Read,
            Some(Role::Out) => AccessKind::Write,
            Some(Role::InPlace) => AccessKind::Modify,
            None if !self.outs.is_empty() => AccessKind::RepeatedOut,
            // The result repeats an argument that is written in place.
            None if args.get(..signature.args.len()).is_some_and(|ins| {
                ins.iter()
                    .zip(&signature.args)
                    .any(|(value, arg)| arg.role == Role::InPlace && args.last() == Some(value))
            }) =>
            {
                AccessKind::RepeatedOut
            }
            None if signature.result == Some(Base::Tensor) => AccessKind::Alias,
            None => AccessKind::Write,
        }
    }

    /// Returns the number of arguments of a call, with the result.
    pub fn arguments(&self) -> usize {
        let signature = &self.operator.signature;
        signature.args.len() + usize::from(!self.outs.is_empty() || signature.result.is_some())
    }

    /// Returns the kinds that it accepts for an argument of the signature; the runtime aborts at others.
    pub fn accepted(&self, position: usize) -> Kinds {
        match self.narrower {
            Some(kinds) => kinds[position.min(kinds.len() - 1)],
            None => self.operator.signature.args[position].kind.kinds(),
        }
    }
}

fn known_operators(plan: &ExecutionPlan, set: &OperatorSet) -> Vec<Option<Arc<KnownOperator>>> {
    let mut found: HashMap<String, Option<Arc<KnownOperator>>> = HashMap::new();
    let list = plan.operators.iter().flatten();
    list.map(|operator| {
        let name = operator.full_name()?;
        if let Some(known) = found.get(&name) {
            return known.clone();
        }
        let known = KnownOperator::find(&name, set).map(Arc::new);
        found.insert(name, known.clone());
        known
    })
    .collect()
}
