//! What a method does with its values, step by step: the table that the rules about meaning look things up in.
//!
//! Judges nothing itself. Whatever is out of range is left out, so that no rule can stumble over it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::data::BlobId;
use crate::operators::kernels::Kernel;
use crate::operators::kinds::{Kinds, narrower};
use crate::operators::{Base, OperatorSet, Role, Signature};
use crate::program::element::{Element, Part};
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, Operator, Program, TensorData};

/// Operators whose result is their first argument seen with other sizes: they write no bytes.
const VIEWS: &[&str] = &["executorch_prim::et_view.default"];

/// So many uses of a value are looked through for the next read of it.
const FEW: usize = 64;

/// The kind of a value, as a set of one.
pub fn kinds_of(value: &EValue) -> Kinds {
    Kinds::of_tag(value.tag())
}

/// What an instruction does with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// Reads it.
    Read,
    /// Writes all of it.
    Write,
    /// Reads it, and writes some of it.
    Modify,
    /// Makes it another name of something: moves a value there, or a view.
    Alias,
    /// Lists it only: what an operator returns is its out again.
    Mention,
    /// Nobody knows: an argument of a delegate or of an unknown operator.
    Unknown,
    /// Nobody knows, but nothing gave the value content before: so it is a result, or a view.
    Fresh,
}

impl How {
    /// Whether the value may have other content afterwards.
    pub fn may_write(self) -> bool {
        self != How::Read
    }

    /// Whether the content that was there is looked at, for certain.
    pub fn reads(self) -> bool {
        matches!(self, How::Read | How::Modify)
    }
}

/// An instruction's, or the outputs', use of a value.
#[derive(Debug, Clone, Copy)]
pub struct Access {
    pub value: u32,
    /// The step; [`Method::end`] for the outputs.
    pub step: u32,
    /// Which argument, or which output.
    pub arg: u32,
    pub how: How,
}

/// An instruction.
#[derive(Debug, Clone, Copy)]
pub struct Step<'p> {
    pub chain: u32,
    pub index: u32,
    pub what: &'p Instruction,
}

/// Bytes of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span {
    pub pool: u32,
    pub start: u64,
    pub end: u64,
}

impl Span {
    pub fn overlaps(&self, other: &Span) -> bool {
        self.pool == other.pool && self.start < other.end && other.start < self.end
    }
}

/// What matters of a tensor, gathered so that the rules need not look up every tensor again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Facts {
    /// It is a tensor with a known number of bytes, and that is not 0.
    pub has_bytes: bool,
    /// Code of its element type; 0 for other values.
    pub scalar_type: i8,
    /// Data of the file are in it before the method runs.
    pub has_data: bool,
    /// It is in planned memory.
    pub is_planned: bool,
    /// The caller can get at it by its name.
    pub is_named: bool,
    /// The runtime allocates it.
    pub is_unbound: bool,
}

fn facts(value: &EValue) -> Facts {
    let EValue::Tensor(tensor) = value else { return Facts::default() };
    Facts {
        has_bytes: tensor.nbytes().is_some_and(|bytes| bytes > 0),
        scalar_type: tensor.scalar_type.0,
        has_data: tensor.data != TensorData::None,
        is_planned: tensor.memory != Memory::None,
        is_named: tensor.extra_tensor_info.as_ref().is_some_and(|extra| extra.fully_qualified_name.is_some()),
        is_unbound: tensor.shape_dynamism == 2,
    }
}

/// An operator of a method that is known.
#[derive(Debug)]
pub struct Known {
    /// `aten::add.out`
    pub name: String,
    pub signature: Signature,
    /// Positions of the outs.
    pub outs: Vec<usize>,
    /// What it takes, if that is less than its signature says.
    pub narrower: Option<&'static [Kinds]>,
    /// What else its kernel asks for.
    pub kernel: Kernel,
    /// Whether its result is another view of its first argument.
    pub is_view: bool,
}

/// The numbers of a constant.
pub type Numbers = Rc<[i64]>;

/// A method, looked through.
pub struct Method<'p> {
    pub program: &'p Program,
    pub index: usize,
    pub plan: &'p ExecutionPlan,
    /// All instructions, chain after chain.
    pub steps: Vec<Step<'p>>,
    /// The first step of each chain, and the end.
    pub chains: Vec<u32>,
    /// By index what is known of the operators.
    pub operators: Vec<Option<Rc<Known>>>,
    /// All accesses, step by step, the outputs' last.
    pub accesses: Vec<Access>,
    by_step: Vec<u32>,
    /// The accesses of each value, as indices.
    by_value: Vec<u32>,
    mentioned: Vec<bool>,
    value_bounds: Vec<u32>,
    /// What each value may be while the method runs.
    pub kinds: Vec<Kinds>,
    /// The bytes of each tensor that has some in planned memory.
    pub spans: Vec<Option<Span>>,
    /// For each value what matters of it if it is a tensor.
    pub facts: Vec<Facts>,
    pub is_input: Vec<bool>,
    /// Lists are used so often that not every use of their items is in the table.
    pub tangled: bool,
    /// Numbers of constants that were read, by their data and element type.
    pub numbers: RefCell<HashMap<(BlobId, i8), Option<Numbers>>>,
}

impl<'p> Method<'p> {
    /// Looks through a method. `None` if it has more instructions or values than a file can.
    pub fn new(program: &'p Program, index: usize, set: &OperatorSet) -> Option<Method<'p>> {
        let plan = program.plans().get(index)?;
        let (mut steps, mut chains) = (Vec::new(), vec![0]);
        for (chain, list) in plan.chains.iter().flatten().enumerate() {
            let list = list.instructions.iter().flatten().enumerate();
            steps.extend(list.map(|(index, what)| Step { chain: chain as u32, index: index as u32, what }));
            chains.push(steps.len() as u32);
        }
        let values = plan.values();
        if u32::try_from(steps.len().max(values.len())).is_err() {
            return None;
        }
        let mut is_input = vec![false; values.len()];
        for input in plan.inputs.iter().flatten() {
            if let Some(flag) = usize::try_from(*input).ok().and_then(|input| is_input.get_mut(input)) {
                *flag = true;
            }
        }
        let mut method = Method {
            program,
            index,
            plan,
            steps,
            chains,
            operators: operators(plan, set),
            accesses: Vec::new(),
            by_step: vec![0],
            by_value: Vec::new(),
            mentioned: vec![false; values.len()],
            value_bounds: Vec::new(),
            kinds: Vec::with_capacity(values.len()),
            spans: Vec::with_capacity(values.len()),
            facts: Vec::with_capacity(values.len()),
            is_input,
            tangled: false,
            numbers: RefCell::default(),
        };
        for value in values {
            method.kinds.push(kinds_of(value));
            method.spans.push(span(value));
            method.facts.push(facts(value));
        }
        method.look();
        method.spread_kinds();
        Some(method)
    }

    /// The moment at which the outputs are taken.
    pub fn end(&self) -> u32 {
        self.steps.len() as u32
    }

    pub fn values(&self) -> &'p [EValue] {
        self.plan.values()
    }

    /// What a step, or [`Method::end`], uses.
    pub fn step_accesses(&self, step: u32) -> &[Access] {
        &self.accesses[self.by_step[step as usize] as usize..self.by_step[step as usize + 1] as usize]
    }

    pub fn step_accesses_mut(&mut self, step: u32) -> &mut [Access] {
        &mut self.accesses[self.by_step[step as usize] as usize..self.by_step[step as usize + 1] as usize]
    }

    /// All uses of a value, by time.
    pub fn value_accesses(&self, value: usize) -> impl DoubleEndedIterator<Item = &Access> + ExactSizeIterator {
        self.uses(value).iter().map(|access| &self.accesses[*access as usize])
    }

    /// Whether a value is a call's result that is its out again.
    pub fn is_mentioned(&self, value: usize) -> bool {
        self.mentioned[value]
    }

    /// The first step from `step` on that reads a value.
    pub fn next_read(&self, value: usize, step: u32) -> Option<u32> {
        self.uses_from(value, step).take(FEW).find(|access| access.how.reads()).map(|access| access.step)
    }

    /// Whether a step from `first` to `last` gives a value other content than it had.
    pub fn rewrites(&self, value: usize, first: u32, last: u32) -> bool {
        let mut uses = self.uses_from(value, first).take_while(|access| access.step <= last);
        uses.any(|access| access.how.may_write() && access.how != How::Modify)
    }

    fn uses_from(&self, value: usize, step: u32) -> impl Iterator<Item = &Access> {
        let uses = self.uses(value);
        let first = uses.partition_point(|access| self.accesses[*access as usize].step < step);
        uses[first..].iter().map(|access| &self.accesses[*access as usize])
    }

    fn uses(&self, value: usize) -> &[u32] {
        &self.by_value[self.value_bounds[value] as usize..self.value_bounds[value + 1] as usize]
    }

    /// What is known of the operator that a step calls, with its arguments.
    pub fn call(&self, step: &Step<'p>) -> Option<(&Rc<Known>, &'p [i32])> {
        let Instruction::KernelCall { op_index, args } = step.what else { return None };
        let known = self.operators.get(usize::try_from(*op_index).ok()?)?.as_ref()?;
        Some((known, args.as_deref()?))
    }

    /// Where a step is.
    pub fn at(&self, step: u32) -> Element {
        self.element(match self.steps.get(step as usize) {
            Some(step) => Part::Instruction(step.chain as usize, step.index as usize),
            None => Part::Whole,
        })
    }

    /// Where a field of a step is.
    pub fn field(&self, step: u32, name: &'static str) -> Element {
        self.element(match self.steps.get(step as usize) {
            Some(step) => Part::Field(step.chain as usize, step.index as usize, name),
            None => Part::Whole,
        })
    }

    /// Where an argument of a step is.
    pub fn arg(&self, step: u32, arg: usize) -> Element {
        self.element(match self.steps.get(step as usize) {
            Some(step) => Part::Arg(step.chain as usize, step.index as usize, arg),
            None => Part::Output(arg),
        })
    }

    /// Where an access is.
    pub fn place_of(&self, access: &Access) -> Element {
        match self.steps.get(access.step as usize).map(|step| step.what) {
            Some(Instruction::MoveCall { .. }) => {
                self.field(access.step, if access.arg == 0 { "move_from" } else { "move_to" })
            }
            Some(Instruction::JumpFalseCall { .. }) => self.field(access.step, "cond_value_index"),
            Some(Instruction::FreeCall { .. }) => self.field(access.step, "value_index"),
            _ => self.arg(access.step, access.arg as usize),
        }
    }

    pub fn element(&self, part: Part) -> Element {
        Element::Method(self.index, part)
    }

    /// The index of a value, if there is such a value.
    pub fn value(&self, index: i32) -> Option<usize> {
        usize::try_from(index).ok().filter(|index| *index < self.values().len())
    }

    fn look(&mut self) {
        let items: usize = self.values().iter().map(|value| list(value).map_or(0, |items| items.len())).sum();
        let args: usize = self.steps.iter().map(|step| arguments(step.what).len()).sum();
        // Beyond this the items of lists are not followed any more: a small file must not make a large table.
        let limit = 4 * (items + args + self.values().len()) + 1024;
        self.accesses.reserve(args + self.plan.outputs.as_ref().map_or(0, Vec::len));
        self.by_step.reserve(self.steps.len() + 1);
        let steps = std::mem::take(&mut self.steps);
        for (number, step) in steps.iter().enumerate() {
            let step_number = number as u32;
            match step.what {
                Instruction::KernelCall { op_index, args } => {
                    let known = usize::try_from(*op_index).ok().and_then(|op| self.operators.get(op)?.clone());
                    for (arg, value) in args.iter().flatten().enumerate() {
                        let how = match &known {
                            Some(known) => self.role(known, args.as_deref().unwrap_or_default(), arg),
                            None => How::Unknown,
                        };
                        self.note(*value, step_number, arg, how, limit);
                    }
                }
                Instruction::DelegateCall { args, .. } => {
                    for (arg, value) in args.iter().flatten().enumerate() {
                        self.note(*value, step_number, arg, How::Unknown, limit);
                    }
                }
                Instruction::MoveCall { move_from, move_to } => {
                    self.note(*move_from, step_number, 0, How::Read, limit);
                    self.note(*move_to, step_number, 1, How::Alias, limit);
                }
                Instruction::JumpFalseCall { cond_value_index, .. } => {
                    self.note(*cond_value_index, step_number, 0, How::Read, limit);
                }
                Instruction::FreeCall { value_index } => self.note(*value_index, step_number, 0, How::Unknown, limit),
            }
            self.by_step.push(self.accesses.len() as u32);
        }
        self.steps = steps;
        let end = self.end();
        for (output, value) in self.plan.outputs.iter().flatten().enumerate() {
            self.note(*value, end, output, How::Read, limit);
        }
        self.by_step.push(self.accesses.len() as u32);
    }

    /// What a known operator does with an argument. The result of an out variant is its outs again, and nobody reads it.
    fn role(&self, known: &Known, args: &[i32], arg: usize) -> How {
        let signature = &known.signature;
        match signature.args.get(arg).map(|arg| arg.role) {
            Some(Role::In) => How::Read,
            Some(Role::Out) => How::Write,
            Some(Role::InPlace) => How::Modify,
            None if !known.outs.is_empty() => How::Mention,
            // A result that is one of the arguments that are written in place.
            None if args.get(..signature.args.len()).is_some_and(|ins| {
                ins.iter()
                    .zip(&signature.args)
                    .any(|(value, arg)| arg.role == Role::InPlace && args.last() == Some(value))
            }) =>
            {
                How::Mention
            }
            None if signature.result == Some(Base::Tensor) => How::Alias,
            None => How::Write,
        }
    }

    fn note(&mut self, value: i32, step: u32, arg: usize, how: How, limit: usize) {
        let Some(value) = self.value(value) else { return };
        if how == How::Mention {
            self.mentioned[value] = true;
            return;
        }
        let access = |value: usize, how| Access { value: value as u32, step, arg: arg as u32, how };
        let Some(items) = list(&self.values()[value]) else {
            self.accesses.push(access(value, how));
            return;
        };
        self.accesses.push(access(value, if how == How::Unknown { how } else { How::Read }));
        if self.accesses.len() + items.len() > limit {
            self.tangled = true;
            return;
        }
        for item in items.iter() {
            if let Some(item) = self.value(item) {
                self.accesses.push(access(item, how));
            }
        }
    }

    /// Sorts the accesses by value, too, now that it is known what each does.
    pub fn sort(&mut self) {
        let mut bounds = vec![0u32; self.values().len() + 1];
        for access in &self.accesses {
            bounds[access.value as usize + 1] += 1;
        }
        for value in 1..bounds.len() {
            bounds[value] += bounds[value - 1];
        }
        let mut next = bounds.clone();
        self.by_value = vec![0; self.accesses.len()];
        for (index, access) in (0..).zip(&self.accesses) {
            let slot = &mut next[access.value as usize];
            self.by_value[*slot as usize] = index;
            *slot += 1;
        }
        self.value_bounds = bounds;
    }

    /// Results replace a value whatever it was, and moves carry kinds along.
    fn spread_kinds(&mut self) {
        let mut moves: Vec<(usize, usize)> = Vec::new();
        for number in 0..self.steps.len() {
            let step = self.steps[number];
            match step.what {
                Instruction::MoveCall { move_from, move_to } => {
                    moves.extend(self.value(*move_from).zip(self.value(*move_to)));
                }
                Instruction::KernelCall { args, .. } => self.result_kinds(&step, args.as_deref().unwrap_or_default()),
                _ => {}
            }
        }
        let carries = |kinds: &[Kinds], (from, to): (usize, usize)| kinds[from].0 & !kinds[to].0 != 0;
        let mut changed: Vec<usize> =
            moves.iter().filter(|pair| carries(&self.kinds, **pair)).map(|(from, _)| *from).collect();
        if !changed.is_empty() {
            moves.sort_unstable();
        }
        while let Some(from) = changed.pop() {
            let first = moves.partition_point(|(other, _)| *other < from);
            for &(_, to) in moves[first..].iter().take_while(|(other, _)| *other == from) {
                if carries(&self.kinds, (from, to)) {
                    self.kinds[to] = self.kinds[to].or(self.kinds[from]);
                    changed.push(to);
                }
            }
        }
    }

    fn result_kinds(&mut self, step: &Step<'p>, args: &[i32]) {
        let Some((known, _)) = self.call(step) else {
            for arg in args {
                let kinds = usize::try_from(*arg).ok().and_then(|slot| self.kinds.get_mut(slot));
                if let Some(kinds) = kinds.filter(|kinds| kinds.meets(Kinds::SCALAR)) {
                    *kinds = kinds.or(Kinds::SCALAR);
                }
            }
            return;
        };
        let kinds = match known.signature.result {
            None => return,
            Some(Base::Tensor) => Kinds::TENSOR,
            Some(Base::Int) => Kinds::INT,
            Some(Base::Float) => Kinds::DOUBLE,
            Some(Base::Bool) => Kinds::BOOL,
            Some(_) => Kinds::SCALAR,
        };
        if let Some(slot) = args.get(known.signature.args.len()).and_then(|slot| self.value(*slot)) {
            self.kinds[slot] = self.kinds[slot].or(kinds);
        }
    }

    /// The value of which the result of a step is a view.
    pub fn viewed(&self, step: u32) -> Option<usize> {
        let (known, args) = self.call(self.steps.get(step as usize)?)?;
        known.is_view.then(|| self.value(*args.first()?)).flatten()
    }
}

/// The items of a list of values.
pub enum Items<'p> {
    Ints(&'p [i64]),
    Tensors(&'p [i32]),
}

impl Items<'_> {
    pub fn len(&self) -> usize {
        match self {
            Items::Ints(items) => items.len(),
            Items::Tensors(items) => items.len(),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = i32> {
        let (ints, tensors) = match self {
            Items::Ints(items) => (*items, &[][..]),
            Items::Tensors(items) => (&[][..], *items),
        };
        ints.iter().map(|item| i32::try_from(*item).unwrap_or(-1)).chain(tensors.iter().copied())
    }
}

/// The items of a value that is a list of values.
pub fn list(value: &EValue) -> Option<Items<'_>> {
    match value {
        EValue::IntList(Some(items)) => Some(Items::Ints(items)),
        EValue::TensorList(Some(items)) | EValue::OptionalTensorList(Some(items)) => Some(Items::Tensors(items)),
        _ => None,
    }
}

/// The arguments of a call; none of other instructions.
pub fn arguments(instruction: &Instruction) -> &[i32] {
    match instruction {
        Instruction::KernelCall { args, .. } | Instruction::DelegateCall { args, .. } => {
            args.as_deref().unwrap_or_default()
        }
        _ => &[],
    }
}

impl Known {
    fn new(name: &str, signature: Signature) -> Known {
        let outs = signature.args.iter().enumerate().filter(|(_, arg)| arg.role == Role::Out);
        let outs = outs.map(|(position, _)| position).collect();
        Known {
            name: name.to_owned(),
            outs,
            narrower: narrower(name),
            kernel: Kernel::new(name),
            is_view: VIEWS.contains(&name),
            signature,
        }
    }
}

fn operators(plan: &ExecutionPlan, set: &OperatorSet) -> Vec<Option<Rc<Known>>> {
    let mut found: HashMap<String, Option<Rc<Known>>> = HashMap::new();
    let list = plan.operators.iter().flatten();
    list.map(|operator| {
        let name = full_name(operator)?;
        if let Some(known) = found.get(&name) {
            return known.clone();
        }
        let known = set.find(&name).map(|signature| Rc::new(Known::new(&name, signature)));
        found.insert(name, known.clone());
        known
    })
    .collect()
}

/// `aten::add.out`
pub fn full_name(operator: &Operator) -> Option<String> {
    let name = operator.name.as_deref()?;
    Some(match operator.overload.as_deref() {
        None | Some("") => name.to_owned(),
        Some(overload) => format!("{name}.{overload}"),
    })
}

fn span(value: &EValue) -> Option<Span> {
    let EValue::Tensor(tensor) = value else { return None };
    let Memory::At { pool, offset } = tensor.memory else { return None };
    let end = offset.checked_add(tensor.nbytes()?)?;
    (end > offset).then_some(Span { pool, start: offset, end })
}
