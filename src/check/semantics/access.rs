//! Accesses of instructions to values, step by step, and the properties of values that determine them. Nothing is reported here.

use std::sync::Arc;

use super::operator::KnownOperator;
use crate::format::ScalarType;
use crate::operators::kinds::Kinds;
use crate::operators::{Base, Role};
use crate::program::pools::PoolRange;
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, OperandAccess, TensorData, TensorShapeDynamism};

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
    /// Element type.
    pub scalar_type: ScalarType,
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
        scalar_type: tensor.scalar_type,
        has_data: tensor.data != TensorData::None,
        is_planned: tensor.memory != Memory::None,
        is_named: tensor.name().is_some(),
        is_unbound: tensor.shape_dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND,
    }
}

/// Returns the `count` instructions of a method, and the first step of each chain.
pub fn steps(plan: &ExecutionPlan, count: usize) -> (Vec<InstructionRef<'_>>, Vec<u32>) {
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
pub struct Properties {
    /// Its kind in the file, as a set of one kind.
    pub stated: Vec<Kinds>,
    /// The planned memory of a tensor that is not empty.
    pub ranges: Vec<Option<PoolRange>>,
    pub facts: Vec<TensorFacts>,
    /// Number of items of all lists of values.
    items: usize,
}

impl Properties {
    pub fn of(values: &[EValue]) -> Properties {
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
            properties.items += value.items().len();
        }
        properties
    }

    /// Adds those of the values that follow.
    pub fn append(&mut self, other: Properties) {
        self.stated.extend(other.stated);
        self.ranges.extend(other.ranges);
        self.facts.extend(other.facts);
        self.items += other.items;
    }
}

/// The accesses of a method by step.
pub struct Accesses {
    /// All accesses, those of the outputs last.
    pub list: Vec<Access>,
    /// By step: index of its first access; then the end of the list.
    pub by_step: Vec<u32>,
    /// By value: `true` if it is a result argument that repeats an out.
    pub repeated_outs: Vec<bool>,
    /// Lists are used so often that accesses to their items are missing.
    pub is_truncated: bool,
    /// Steps, ascending, and values: first accesses that read a tensor without content. A later step may write it, or one that writes the
    /// same memory comes before.
    pub early_reads: Vec<(u32, usize)>,
}

impl Accesses {
    /// Collects the accesses of a method. `properties` are those of its values; `has_content` is true for those that have content before it runs.
    pub fn collect(
        plan: &ExecutionPlan,
        steps: &[InstructionRef<'_>],
        operators: &[Option<Arc<KnownOperator>>],
        properties: &Properties,
        has_content: &[bool],
    ) -> Accesses {
        let args: usize = steps.iter().map(|step| step.instruction.args().len()).sum();
        let outputs = plan.outputs.as_deref().unwrap_or_default();
        let count = properties.stated.len();
        let mut collector = Collector {
            plan,
            stated: &properties.stated,
            limit: 4 * (properties.items + args + count) + 1024,
            has_content: has_content.to_vec(),
            seen: vec![false; count],
            accesses: Accesses {
                list: Vec::with_capacity(args + outputs.len()),
                by_step: Vec::with_capacity(steps.len() + 2),
                repeated_outs: vec![false; count],
                is_truncated: false,
                early_reads: Vec::new(),
            },
        };
        collector.accesses.by_step.push(0);
        for (number, step) in (0..).zip(steps) {
            let args = step.instruction.args();
            let known = step.instruction.operator().and_then(|operator| usize::try_from(operator).ok());
            let known = known.and_then(|operator| operators.get(operator)?.as_deref());
            for (arg, value) in args.iter().enumerate() {
                let kind = known.map_or(AccessKind::Unknown, |known| access_kind(known, args, arg));
                collector.add(*value, number, arg, kind);
            }
            for (arg, (_, value, access)) in step.instruction.operands().enumerate() {
                let kind = match access {
                    OperandAccess::Read => AccessKind::Read,
                    OperandAccess::Write => AccessKind::Alias,
                    OperandAccess::Release => AccessKind::Unknown,
                };
                collector.add(value, number, arg, kind);
            }
            collector.end_step(number, Some(step.instruction));
        }
        let end = steps.len() as u32;
        for (output, value) in outputs.iter().enumerate() {
            collector.add(*value, end, output, AccessKind::Read);
        }
        collector.end_step(end, None);
        collector.accesses
    }
}

/// Returns the effect of a call of an operator on an argument.
fn access_kind(known: &KnownOperator, args: &[i32], arg: usize) -> AccessKind {
    let signature = &known.operator.signature;
    match signature.args.get(arg).map(|arg| arg.role) {
        Some(Role::In) => AccessKind::Read,
        Some(Role::Out) => AccessKind::Write,
        Some(Role::InPlace) => AccessKind::Modify,
        None if !known.outs.is_empty() => AccessKind::RepeatedOut,
        // The result repeats an argument that is written in place.
        None if args.get(..signature.args.len()).is_some_and(|ins| {
            ins.iter().zip(&signature.args).any(|(value, arg)| arg.role == Role::InPlace && args.last() == Some(value))
        }) =>
        {
            AccessKind::RepeatedOut
        }
        None if signature.result == Some(Base::Tensor) => AccessKind::Alias,
        None => AccessKind::Write,
    }
}

/// Collects the accesses of a method.
struct Collector<'m> {
    plan: &'m ExecutionPlan,
    /// By value: its kind in the file.
    stated: &'m [Kinds],
    /// Bound on the number of accesses: a small file must not lead to a large table, where many calls use lists with many items.
    limit: usize,
    /// By value: it has content, initially or from an earlier step.
    has_content: Vec<bool>,
    /// By value: an earlier step accesses it.
    seen: Vec<bool>,
    accesses: Accesses,
}

impl Collector<'_> {
    fn add(&mut self, value: i32, step: u32, arg: usize, kind: AccessKind) {
        let Some((value, stated)) =
            usize::try_from(value).ok().and_then(|index| Some((index, self.stated.get(index)?)))
        else {
            return;
        };
        let accesses = &mut self.accesses;
        if kind == AccessKind::RepeatedOut {
            accesses.repeated_outs[value] = true;
            return;
        }
        let access = |value: usize, kind| Access { value: value as u32, step, arg: arg as u32, kind };
        if !stated.meets(Kinds::VALUE_LISTS) {
            accesses.list.push(access(value, kind));
            return;
        }
        let items = self.plan.values()[value].list_items();
        let read = if items.is_some() && kind != AccessKind::Unknown { AccessKind::Read } else { kind };
        accesses.list.push(access(value, read));
        let Some(items) = items else { return };
        if accesses.list.len() + items.len() > self.limit {
            accesses.is_truncated = true;
            return;
        }
        for item in items.iter().filter_map(|item| usize::try_from(item).ok()) {
            if item < self.stated.len() {
                accesses.list.push(access(item, kind));
            }
        }
    }

    /// Ends a step, or the outputs. Determines the unknown accesses of delegates as far as the order of instructions allows: arguments before the
    /// first one without content are inputs (E-12).
    fn end_step(&mut self, step: u32, instruction: Option<&Instruction>) {
        let Accesses { list, by_step, early_reads, .. } = &mut self.accesses;
        let first = by_step.last().map_or(0, |first| *first as usize);
        let of_step = &mut list[first..];
        let is_delegate = matches!(instruction, Some(Instruction::DelegateCall { .. }));
        let first_result = of_step.iter().find(|access| !self.has_content[access.value as usize]);
        let first_result = first_result.map_or(0, |access| access.arg);
        for access in of_step.iter_mut() {
            let value = access.value as usize;
            if access.kind == AccessKind::Unknown && !self.has_content[value] {
                access.kind = AccessKind::UnknownResult;
            } else if access.kind == AccessKind::Unknown && is_delegate && access.arg < first_result {
                access.kind = AccessKind::Read;
            }
            let is_first = !std::mem::replace(&mut self.seen[value], true);
            if is_first && !self.has_content[value] && access.kind.reads() && instruction.is_some() {
                early_reads.push((step, value));
            }
        }
        for access in of_step.iter().filter(|access| access.kind.may_write()) {
            self.has_content[access.value as usize] = true;
        }
        by_step.push(list.len() as u32);
    }
}

/// Returns the indices of accesses, sorted by value, and the first of them for each of `count` values; then their number.
pub fn index_by_value(accesses: &[Access], count: usize) -> (Vec<u32>, Vec<u32>) {
    // First the numbers of accesses; then the place of the next access, which is the start of the next value in the end.
    let mut bounds = vec![0u32; count + 2];
    for access in accesses {
        bounds[access.value as usize + 2] += 1;
    }
    for value in 2..bounds.len() {
        bounds[value] += bounds[value - 1];
    }
    let mut by_value = vec![0; accesses.len()];
    for (index, access) in (0..).zip(accesses) {
        let place = &mut bounds[access.value as usize + 1];
        by_value[*place as usize] = index;
        *place += 1;
    }
    bounds.pop();
    (by_value, bounds)
}
