//! A method as the checks see it: its steps, and the accesses to its values by step and by value. Nothing is reported here.
//!
//! A step is the position of an instruction, counted through all chains. Indices out of range are left out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::access::{Access, AccessKind, Accesses, InstructionRef, Properties, TensorFacts, index_by_value, steps};
use super::operator::{KnownOperator, known_operators};
use crate::data::{BlobId, workers};
use crate::operators::kinds::Kinds;
use crate::operators::{Base, OperatorSet};
use crate::program::element::{Element, Part};
use crate::program::pools::PoolRange;
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, Program, Tensor, TensorData};

/// Largest constant that is read, in bytes.
const MAX_CONSTANT: u64 = 1 << 16;

/// Number of instructions from which a method is examined and checked by two threads.
pub const LARGE: usize = 1 << 12;

/// Bound on the accesses that are searched for the next read of a value.
const MAX_SEARCHED: usize = 64;

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
    /// First accesses that read a tensor without content: see [`Accesses::early_reads`].
    pub early_reads: Vec<(u32, usize)>,
    /// By value: its kind in the file, as a set of one kind. Most checks read this and `facts`, which are smaller than the values.
    pub stated: Vec<Kinds>,
    /// By value: the kinds that it may have while the method runs.
    pub kinds: Vec<Kinds>,
    /// By value: the planned memory of a tensor that is not empty.
    pub ranges: Vec<Option<PoolRange>>,
    /// By value.
    pub facts: Vec<TensorFacts>,
    pub is_input: Vec<bool>,
    /// By value: it has content before the method runs; values other than tensors do.
    pub has_content: Vec<bool>,
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
        let is_input = plan.is_input();
        let has_content = |value: usize| {
            properties.stated[value] != Kinds::TENSOR || is_input[value] || properties.facts[value].has_data
        };
        let has_content: Vec<bool> = (0..values.len()).map(has_content).collect();
        let operators = known_operators(plan, set);
        let (steps, chains) = steps(plan, count);
        let Accesses { list, by_step, repeated_outs, is_truncated, early_reads } =
            Accesses::collect(plan, &steps, &operators, &properties, &has_content);
        let Properties { stated, ranges, facts, .. } = properties;
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
            early_reads,
            kinds: stated.clone(),
            stated,
            ranges,
            facts,
            is_input,
            has_content,
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
    pub fn value(&self, index: impl TryInto<usize>) -> Option<usize> {
        index.try_into().ok().filter(|index| *index < self.values().len())
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
        known.facts.aliased.is_some().then(|| self.value(*args.first()?)).flatten()
    }
}
