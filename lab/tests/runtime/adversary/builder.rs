//! A method that computes an operand on a way that random choices determine, and calls a kernel with it.

use std::collections::HashMap;

use pte_emit::AssembleOptions;
use pte_emit::Model;
use pte_emit::program::{
    Args, BackendDelegate, Chain, ContainerMetadata, DelegateId, EValue, ExecutionPlan, Instruction, Memory, Operator,
    OperatorId, Program, Tensor, TensorData, TensorShapeDynamism, ValueId,
};
use pte_generate::operand::{Content, GeneratedCall, Operand, TensorOperand};
use pte_generate::random::Random;
use pte_model::data::Blob;
use pte_model::data::number::{self, NumericValue};
use pte_model::format::ScalarType;
use pte_operators::Role;

use super::calls::Target;
use super::ways::{Way, ways};

/// What a value shall be when the kernel reads it: in the method that crashes, and in the harmless one.
#[derive(Debug, Clone)]
pub enum Goal {
    /// An Int.
    Int([i64; 2]),
    /// A floating point number.
    Double([f64; 2]),
    /// A truth value.
    Bool([bool; 2]),
    /// A list of truth values.
    Bools([Vec<bool>; 2]),
    /// A tensor with this content.
    Content(Elements),
    /// A tensor of a type and sizes, whatever its content is.
    Shape([TensorOperand; 2]),
}

/// A tensor with its elements, in the two methods.
#[derive(Debug, Clone)]
pub struct Elements {
    pub scalar_type: ScalarType,
    pub sizes: Vec<i32>,
    pub numbers: [Vec<NumericValue>; 2],
}

impl Elements {
    /// The same number of elements, of other sizes.
    pub fn reshaped(&self, sizes: &[i32]) -> Elements {
        Elements { sizes: sizes.to_vec(), ..self.clone() }
    }

    /// Other elements, computed from both lists.
    pub fn map(&self, change: impl Fn(&[NumericValue]) -> Option<Vec<NumericValue>>) -> Option<Elements> {
        let [one, other] = &self.numbers;
        Some(Elements { numbers: [change(one)?, change(other)?], ..self.clone() })
    }

    /// The number that all elements of each of the two are.
    pub fn uniform(&self) -> Option<[NumericValue; 2]> {
        let first = |numbers: &[NumericValue]| {
            let first = *numbers.first()?;
            let text = |number: &NumericValue| format!("{number:?}");
            numbers.iter().all(|number| text(number) == text(&first)).then_some(first)
        };
        Some([first(&self.numbers[0])?, first(&self.numbers[1])?])
    }

    pub fn len(&self) -> usize {
        self.numbers[0].len()
    }

    /// The same numbers in another type; `None` if it does not have them.
    pub fn of_type(&self, scalar_type: ScalarType) -> Option<Elements> {
        let fits = |number: &NumericValue| {
            let mut bytes = Vec::new();
            number::encode(scalar_type, *number, &mut bytes).ok()?;
            let back = number::decode(scalar_type, &bytes)?;
            (back.to_f64() == number.to_f64()).then_some(*number)
        };
        let converted = self.map(|numbers| numbers.iter().map(fits).collect())?;
        Some(Elements { scalar_type, ..converted })
    }

    fn bytes(&self, which: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for number in &self.numbers[which] {
            number::encode(self.scalar_type, *number, &mut bytes).unwrap();
        }
        bytes
    }
}

/// An instruction, a jump to a label, or a label.
enum Line {
    Do(Instruction),
    JumpFalse(ValueId, usize),
    Label(usize),
}

/// Alignment of planned tensors in bytes.
const ALIGNMENT: u64 = 16;

/// The method.
pub struct Builder {
    pub random: Random,
    /// 0 for the method that crashes, 1 for the harmless one.
    pub which: usize,
    /// The caller sets what is computed from.
    of_caller: bool,
    /// Names of the ways, from the kernel on.
    pub path: Vec<&'static str>,
    /// One of the ways is not evaluated.
    pub open: bool,
    program: Program,
    plan: ExecutionPlan,
    values: Vec<EValue>,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
    operators: HashMap<&'static str, OperatorId>,
    names: Vec<Operator>,
    delegates: Vec<BackendDelegate>,
    /// Instructions before the call, and after it.
    lines: [Vec<Line>; 2],
    section: usize,
    labels: usize,
    end: u64,
}

impl Builder {
    fn new(random: Random, which: usize, of_caller: bool) -> Builder {
        Builder {
            random,
            which,
            of_caller,
            path: Vec::new(),
            open: false,
            program: Program::default(),
            plan: ExecutionPlan::new("forward"),
            values: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            operators: HashMap::new(),
            names: Vec::new(),
            delegates: Vec::new(),
            lines: [Vec::new(), Vec::new()],
            section: 0,
            labels: 0,
            end: 0,
        }
    }

    pub fn push(&mut self, value: EValue) -> ValueId {
        self.values.push(value);
        ValueId::of(self.values.len() - 1)
    }

    pub fn int(&mut self, int: i64) -> ValueId {
        self.push(EValue::Int(int))
    }

    pub fn double(&mut self, double: f64) -> ValueId {
        self.push(EValue::Double(double))
    }

    pub fn bool(&mut self, value: bool) -> ValueId {
        self.push(EValue::Bool(value))
    }

    pub fn null(&mut self) -> ValueId {
        self.push(EValue::Null)
    }

    pub fn ints(&mut self, items: &[i64]) -> ValueId {
        let items = items.iter().map(|item| i64::from(self.int(*item))).collect();
        self.push(EValue::IntList(Some(items)))
    }

    /// Sizes of a tensor as a list.
    pub fn sizes(&mut self, sizes: &[i32]) -> ValueId {
        let sizes: Vec<i64> = sizes.iter().map(|size| i64::from(*size)).collect();
        self.ints(&sizes)
    }

    /// Appends a call that fills a tensor with ones.
    pub fn fill(&mut self, tensor: ValueId, sizes: &[i32]) {
        let (sizes, one) = (self.sizes(sizes), self.int(1));
        self.call_out("aten::full.out", &[sizes, one], tensor);
    }

    /// A number that all elements are; `None` if they differ.
    pub fn element(&mut self, elements: &Elements, depth: usize) -> Option<ValueId> {
        let [one, other] = elements.uniform()?;
        let goal = match (one, other) {
            (NumericValue::Int(one), NumericValue::Int(other)) => {
                Goal::Int([i64::try_from(one).ok()?, i64::try_from(other).ok()?])
            }
            (NumericValue::Bool(one), NumericValue::Bool(other)) => Goal::Bool([one, other]),
            _ => Goal::Double([one.to_f64(), other.to_f64()]),
        };
        Some(self.produce(&goal, depth))
    }

    pub fn tensors(&mut self, items: &[ValueId]) -> ValueId {
        self.push(EValue::TensorList(Some(items.to_vec())))
    }

    /// A Bool that the caller sets.
    pub fn input_bool(&mut self) -> ValueId {
        let value = self.bool(true);
        self.inputs.push(value);
        value
    }

    fn placed(&mut self, mut tensor: Tensor) -> ValueId {
        tensor.memory = Memory::At { pool: 1, offset: self.end };
        self.end += tensor.nbytes().unwrap_or_default().next_multiple_of(ALIGNMENT);
        self.push(EValue::Tensor(tensor))
    }

    /// A tensor in memory of its own.
    pub fn tensor(&mut self, scalar_type: ScalarType, sizes: &[i32]) -> ValueId {
        self.placed(Tensor::new(scalar_type, sizes))
    }

    /// A tensor whose sizes have these bounds.
    pub fn bounded(&mut self, scalar_type: ScalarType, sizes: &[i32]) -> ValueId {
        let tensor = Tensor::new(scalar_type, sizes);
        self.placed(Tensor { shape_dynamism: TensorShapeDynamism::DYNAMIC_BOUND, ..tensor })
    }

    /// A tensor inside of the memory of another one.
    pub fn tensor_in(&mut self, base: ValueId, offset: u64, scalar_type: ScalarType, sizes: &[i32]) -> ValueId {
        let start = match &self.values[base.0 as usize] {
            EValue::Tensor(Tensor { memory: Memory::At { offset, .. }, .. }) => *offset,
            other => panic!("{other:?} has no memory"),
        };
        let mut tensor = Tensor::new(scalar_type, sizes);
        tensor.memory = Memory::At { pool: 1, offset: start + offset };
        self.push(EValue::Tensor(tensor))
    }

    /// A tensor that an instruction gives memory.
    pub fn unplaced(&mut self, scalar_type: ScalarType, sizes: &[i32]) -> ValueId {
        self.push(EValue::Tensor(Tensor { memory: Memory::None, ..Tensor::new(scalar_type, sizes) }))
    }

    pub fn constant(&mut self, elements: &Elements) -> ValueId {
        let data = TensorData::Blob(self.program.add_blob(Blob::bytes(elements.bytes(self.which))));
        let tensor = Tensor::new(elements.scalar_type, &elements.sizes);
        self.push(EValue::Tensor(Tensor { memory: Memory::None, data, ..tensor }))
    }

    /// State that has the elements before the first execution.
    pub fn state(&mut self, elements: &Elements, which: usize) -> ValueId {
        let data = TensorData::Blob(self.program.add_blob(Blob::bytes(elements.bytes(which))));
        self.placed(Tensor { data, ..Tensor::new(elements.scalar_type, &elements.sizes) })
    }

    /// A tensor like an operand, with planned memory; an input, or state with data.
    pub fn like(&mut self, operand: &TensorOperand) -> ValueId {
        self.placed(operand.tensor())
    }

    pub fn input_like(&mut self, operand: &TensorOperand) -> ValueId {
        let value = self.like(operand);
        self.inputs.push(value);
        value
    }

    /// Appends a call with the whole stack of its values.
    pub fn call(&mut self, operator: &'static str, args: &[ValueId]) {
        let next = OperatorId::of(self.names.len());
        let op_index = *self.operators.entry(operator).or_insert(next);
        if op_index == next {
            self.names.push(Operator::new(operator));
        }
        self.instruct(Instruction::KernelCall { op_index, args: Some(Args::from(args)) });
    }

    /// Appends a call with one out, which is returned.
    pub fn call_out(&mut self, operator: &'static str, args: &[ValueId], out: ValueId) -> ValueId {
        self.call(operator, &[args, &[out, out]].concat());
        out
    }

    /// Appends a call that returns a number.
    pub fn number(&mut self, operator: &'static str, args: &[ValueId], initial: EValue) -> ValueId {
        let result = self.push(initial);
        self.call(operator, &[args, &[result]].concat());
        result
    }

    /// Appends a call of a delegate that copies a float32 tensor.
    pub fn delegate(&mut self, from: ValueId, to: ValueId, sizes: &[i32]) {
        let delegate_index = DelegateId::of(self.delegates.len());
        let (delegate, blob) = identity(sizes);
        let processed = self.program.add_blob(blob);
        self.delegates.push(BackendDelegate { processed, ..delegate });
        self.instruct(Instruction::DelegateCall { delegate_index, args: Some(Args::from([from, to].as_slice())) });
    }

    pub fn instruct(&mut self, instruction: Instruction) {
        self.lines[self.section].push(Line::Do(instruction));
    }

    pub fn move_to(&mut self, move_from: ValueId, move_to: ValueId) {
        self.instruct(Instruction::MoveCall { move_from, move_to });
    }

    pub fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    pub fn jump_false(&mut self, condition: ValueId, label: usize) {
        self.lines[self.section].push(Line::JumpFalse(condition, label));
    }

    /// Appends a jump that is always taken.
    pub fn jump(&mut self, label: usize) {
        let never = self.bool(false);
        self.jump_false(never, label);
    }

    pub fn land(&mut self, label: usize) {
        self.lines[self.section].push(Line::Label(label));
    }

    /// Appends instructions after the call of the kernel.
    pub fn after<R>(&mut self, append: impl FnOnce(&mut Builder) -> R) -> R {
        let section = std::mem::replace(&mut self.section, 1);
        let result = append(self);
        self.section = section;
        result
    }

    /// A value that is the goal in the file.
    pub fn literal(&mut self, goal: &Goal, which: usize) -> ValueId {
        match goal {
            Goal::Int(ints) => self.int(ints[which]),
            Goal::Double(doubles) => self.double(doubles[which]),
            Goal::Bool(values) => self.bool(values[which]),
            Goal::Bools(lists) => self.push(EValue::BoolList(Some(lists[which].clone()))),
            Goal::Content(elements) => {
                let which = std::mem::replace(&mut self.which, which);
                let value = self.constant(elements);
                self.which = which;
                value
            }
            Goal::Shape(operands) => self.input_like(&operands[which]),
        }
    }

    /// A value that is the goal when the kernel reads it, on at most `depth` ways one after the other.
    pub fn produce(&mut self, goal: &Goal, depth: usize) -> ValueId {
        if depth == 0 {
            let is_input = self.of_caller && !matches!(goal, Goal::Bools(_) | Goal::Shape(_));
            return if is_input { self.input_other(goal) } else { self.literal(goal, self.which) };
        }
        let all = ways(goal);
        for _ in 0..40 {
            let way = &all[self.random.below(all.len())];
            if let Some(value) = self.take(way, goal, depth) {
                return value;
            }
        }
        self.literal(goal, self.which)
    }

    /// A value that is the goal, on a certain way; `None` if the way cannot lead to it.
    pub fn take(&mut self, way: &Way, goal: &Goal, depth: usize) -> Option<ValueId> {
        let (path, open) = (self.path.len(), self.open);
        self.path.push(way.name);
        self.open |= way.open;
        let value = (way.make)(self, goal, depth - 1);
        if value.is_none() {
            self.path.truncate(path);
            self.open = open;
        }
        value
    }

    /// Another value of the kind of a goal, which is harmless, for a place that is written before it is read.
    pub fn other(&mut self, goal: &Goal) -> ValueId {
        match goal {
            Goal::Content(elements) => self.tensor(elements.scalar_type, &elements.sizes),
            _ => self.literal(goal, 1),
        }
    }

    /// An input of the kind of a goal.
    pub fn input_other(&mut self, goal: &Goal) -> ValueId {
        let value = self.other(goal);
        self.inputs.push(value);
        value
    }

    fn operand(&mut self, operand: &Operand, args: &[ValueId]) -> ValueId {
        let value = match operand {
            Operand::Null => EValue::Null,
            Operand::Int(int) => EValue::Int(*int),
            Operand::Bool(value) => EValue::Bool(*value),
            Operand::Double(value) => EValue::Double(*value),
            Operand::Str(text) => EValue::String(Some((*text).to_owned())),
            Operand::Tensor(tensor) => return self.operand_tensor(tensor),
            Operand::Ints(items) => return self.ints(items),
            Operand::Doubles(items) => EValue::DoubleList(Some(items.clone())),
            Operand::Bools(items) => EValue::BoolList(Some(items.clone())),
            Operand::Tensors { items, optional } => {
                let mut item = |item: &Option<TensorOperand>| {
                    item.as_ref().map_or(ValueId::NONE, |tensor| self.operand_tensor(tensor))
                };
                let items = Some(items.iter().map(&mut item).collect());
                if *optional { EValue::OptionalTensorList(items) } else { EValue::TensorList(items) }
            }
            Operand::Same(at) => return args[*at],
        };
        self.push(value)
    }

    fn operand_tensor(&mut self, operand: &TensorOperand) -> ValueId {
        match &operand.content {
            Content::Input => self.input_like(operand),
            Content::Constant(bytes) => {
                let data = TensorData::Blob(self.program.add_blob(Blob::bytes(bytes.clone())));
                self.push(EValue::Tensor(Tensor { memory: Memory::None, data, ..operand.tensor() }))
            }
            Content::Unplaced | Content::Missing => {
                self.push(EValue::Tensor(Tensor { memory: Memory::None, ..operand.tensor() }))
            }
            Content::Written | Content::Over { .. } | Content::Value(_) => self.like(operand),
        }
    }

    /// Appends the call of the kernel, with a value for the operand. Its results are outputs.
    fn kernel(&mut self, target: &Target, operand: ValueId) {
        let call: GeneratedCall = if self.which == 0 { target.call.clone() } else { target.harmless() };
        let signature = &pte_operators::find(call.operator).unwrap().signature;
        let mut args: Vec<ValueId> = Vec::new();
        for (at, arg) in call.args.iter().enumerate() {
            let value = match (arg, target.item) {
                _ if at != target.at => self.operand(arg, &args),
                (Operand::Ints(_), Some(item)) => {
                    let list = self.operand(arg, &args);
                    let EValue::IntList(Some(items)) = &mut self.values[list.0 as usize] else { unreachable!() };
                    items[item] = operand.into();
                    list
                }
                (Operand::Tensors { .. }, Some(item)) => {
                    let list = self.operand(arg, &args);
                    match &mut self.values[list.0 as usize] {
                        EValue::TensorList(Some(items)) | EValue::OptionalTensorList(Some(items)) => {
                            items[item] = operand;
                        }
                        other => panic!("{other:?} is no list"),
                    }
                    list
                }
                _ => operand,
            };
            args.push(value);
        }
        let outs = signature.outs().count().min(args.len());
        let written = args[args.len() - outs..].to_vec();
        let items = |values: &[EValue], list: ValueId| values[list.0 as usize].as_tensors().to_vec();
        match written[..] {
            [] => {}
            [only] if signature.outs().any(|out| out.kind.list) => {
                let items = items(&self.values, only);
                args.push(self.tensors(&items));
            }
            [only] => args.push(only),
            _ => args.push(self.tensors(&written)),
        }
        for (at, value) in args.iter().take(call.args.len()).enumerate() {
            let is_result = match signature.args.get(at) {
                Some(arg) => arg.role == Role::Out,
                None => signature.result.is_some(),
            };
            match items(&self.values, *value) {
                list if is_result && !list.is_empty() => self.outputs.extend(list),
                _ if is_result && !matches!(self.values[value.0 as usize], EValue::TensorList(_)) => {
                    self.outputs.push(*value);
                }
                _ => {}
            }
        }
        self.call(call.operator, &args);
    }

    fn finish(mut self) -> Program {
        let mut instructions = Vec::new();
        let mut labels = HashMap::new();
        let mut jumps = Vec::new();
        let [before, after] = self.lines;
        for line in before.into_iter().chain(after) {
            match line {
                Line::Do(instruction) => instructions.push(instruction),
                Line::Label(label) => _ = labels.insert(label, instructions.len()),
                Line::JumpFalse(cond_value_index, label) => {
                    jumps.push((instructions.len(), label));
                    instructions.push(Instruction::JumpFalseCall { cond_value_index, destination_instruction: 0 });
                }
            }
        }
        for (at, label) in jumps {
            if let Instruction::JumpFalseCall { destination_instruction, .. } = &mut instructions[at] {
                *destination_instruction = labels[&label] as i32;
            }
        }
        self.plan.container_meta_type =
            Some(ContainerMetadata::flat(self.inputs.len(), self.outputs.len(), self.inputs.is_empty()));
        self.plan.values = Some(self.values);
        self.plan.inputs = Some(self.inputs);
        self.plan.outputs = Some(self.outputs);
        self.plan.operators = Some(self.names);
        self.plan.delegates = Some(self.delegates);
        self.plan.chains = Some(vec![Chain::new(instructions)]);
        self.program.execution_plan.get_or_insert_default().push(self.plan);
        self.program
    }
}

/// A delegate that copies float32 tensors, and its payload.
fn identity(sizes: &[i32]) -> (BackendDelegate, Blob) {
    let yaml = format!(
        "methods: {{forward: {{
          delegates: {{d: {{backend: XnnpackBackend, graph: {{
            values: {{x: {{datatype: fp32, sizes: {sizes:?}}}}}, inputs: [x], outputs: [y],
            nodes: [{{clamp: {{input: x, output: y}}, output_min: -.inf, output_max: .inf}}]}}}}}},
          values: {{i: {{tensor: float32, sizes: {sizes:?}}}, j: {{tensor: float32, sizes: {sizes:?}}}}},
          inputs: [i], outputs: [j], instructions: [{{delegate: d, args: [i, j]}}]}}}}"
    );
    let assembly = Model::from_yaml("identity.yaml", &yaml, ".").assemble(&AssembleOptions::default());
    let assembly = assembly.unwrap_or_else(|error| panic!("{error}\n{yaml}"));
    let delegate = assembly.program().plans()[0].delegates.as_ref().unwrap()[0].clone();
    let blob = assembly.program().blob(delegate.processed).clone();
    (delegate, blob)
}

/// What the operand of a target shall be.
pub fn goal(target: &Target) -> Option<Goal> {
    Some(match (&target.call.args[target.at], &target.good) {
        (Operand::Int(one), Operand::Int(other)) => Goal::Int([*one, *other]),
        (Operand::Double(one), Operand::Double(other)) => Goal::Double([*one, *other]),
        (Operand::Bool(one), Operand::Bool(other)) => Goal::Bool([*one, *other]),
        (Operand::Bools(one), Operand::Bools(other)) => Goal::Bools([one.clone(), other.clone()]),
        (Operand::Ints(one), Operand::Ints(other)) => {
            let item = target.item?;
            Goal::Int([one[item], other[item]])
        }
        (Operand::Tensor(one), Operand::Tensor(other)) => return tensor_goal(one, other),
        (Operand::Tensors { items, .. }, Operand::Tensors { items: others, .. }) => {
            let item = target.item?;
            return tensor_goal(items[item].as_ref()?, others[item].as_ref()?);
        }
        _ => return None,
    })
}

fn tensor_goal(one: &TensorOperand, other: &TensorOperand) -> Option<Goal> {
    Some(match (&one.content, &other.content) {
        (Content::Constant(bytes), Content::Constant(others)) if one.meta() == other.meta() => {
            let size = usize::try_from(one.scalar_type.info()?.size).ok()?;
            let numbers = |bytes: &[u8]| {
                bytes.chunks(size).map(|bytes| number::decode(one.scalar_type, bytes)).collect::<Option<Vec<_>>>()
            };
            let numbers = [numbers(bytes)?, numbers(others)?];
            let is_plain = |number: &NumericValue| !matches!(number, NumericValue::Complex(..));
            if numbers.iter().flatten().all(is_plain) && one.dim_order.is_sorted() {
                Goal::Content(Elements { scalar_type: one.scalar_type, sizes: one.sizes.clone(), numbers })
            } else {
                return None;
            }
        }
        _ => Goal::Shape([one.clone(), other.clone()]),
    })
}

/// The harmless method with inputs in place of what is computed from.
pub fn of_caller(target: &Target, way: &Way, depth: usize, seed: u64) -> Option<Variant> {
    built(target, way, depth, seed, (1, true))
}

/// A method, and how it computes the operand.
pub struct Variant {
    pub program: Program,
    pub path: Vec<&'static str>,
    pub open: bool,
}

/// The method that crashes, and the harmless one, of a target on a way; `None` if the way does not lead to it.
pub fn variants(target: &Target, way: &Way, depth: usize, seed: u64) -> Option<[Variant; 2]> {
    let build = |which| built(target, way, depth, seed, (which, false));
    let both = [build(0)?, build(1)?];
    (both[0].path == both[1].path).then_some(both)
}

fn built(target: &Target, way: &Way, depth: usize, seed: u64, (which, of_caller): (usize, bool)) -> Option<Variant> {
    let mut builder = Builder::new(Random::new(seed), which, of_caller);
    let operand = builder.take(way, &goal(target)?, depth)?;
    builder.kernel(target, operand);
    let (path, open) = (builder.path.clone(), builder.open);
    Some(Variant { program: builder.finish(), path, open })
}
