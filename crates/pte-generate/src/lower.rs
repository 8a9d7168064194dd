//! Converts calls to a program: the values of the arguments, their memory, and the instructions. Only the memory of
//! inputs and outputs is random.

use std::collections::HashMap;

use super::operand::{Content, GeneratedCall, Operand, TensorOperand};
use super::random::Random;
use pte_model::data::Blob;
use pte_model::program::{
    Args, Chain, ContainerMetadata, EValue, ExecutionPlan, Instruction, Memory, Operator, OperatorId, Program,
    TensorData, ValueId,
};
use pte_operators::Role;
use pte_transform::remap::{Indices, Remap};

/// Offsets of tensors with explicit memory are multiples of this.
const ALIGNMENT: u64 = 16;

/// Memory of inputs and of outs that are outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundaryMemory {
    /// Planned.
    Planned,
    /// Of the caller.
    Caller,
}

/// Returns a program of one method with one call, whose results are its outputs.
pub fn program(call: &GeneratedCall, boundary: BoundaryMemory) -> Program {
    let mut program = Program::default();
    let mut method = MethodWriter::new(boundary);
    let args = method.call(&mut program, call);
    method.output_results(call, &args);
    method.finish(&mut program, "forward");
    program
}

impl BoundaryMemory {
    /// Returns one of the two at random.
    pub fn random(random: &mut Random) -> BoundaryMemory {
        if random.chance(50) { BoundaryMemory::Caller } else { BoundaryMemory::Planned }
    }
}

/// A method that grows call by call.
#[derive(Debug)]
pub struct MethodWriter {
    values: Vec<EValue>,
    inputs: Vec<ValueId>,
    outputs: Vec<ValueId>,
    operators: Vec<Operator>,
    indices: HashMap<&'static str, OperatorId>,
    instructions: Vec<Instruction>,
    /// Values with the memory of another value, from an offset on.
    over: Vec<(usize, ValueId, u64)>,
    boundary: BoundaryMemory,
    /// Ranges of the values of calls: from the first, and from the first out.
    calls: Vec<(usize, usize, usize)>,
}

impl MethodWriter {
    /// Returns a method without values.
    pub fn new(boundary: BoundaryMemory) -> MethodWriter {
        MethodWriter {
            values: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            operators: Vec::new(),
            indices: HashMap::new(),
            instructions: Vec::new(),
            over: Vec::new(),
            boundary,
            calls: Vec::new(),
        }
    }

    /// The values so far.
    pub fn values(&self) -> &[EValue] {
        &self.values
    }

    /// Appends a value, and returns its index.
    pub fn push(&mut self, value: EValue) -> ValueId {
        self.values.push(value);
        ValueId::of(self.values.len() - 1)
    }

    /// Appends an input, and returns its index.
    pub fn input(&mut self, value: EValue) -> ValueId {
        let value = self.push(value);
        self.inputs.push(value);
        value
    }

    /// Adds an output.
    pub fn output(&mut self, value: ValueId) {
        self.outputs.push(value);
    }

    /// Appends an instruction.
    pub fn instruct(&mut self, instruction: Instruction) {
        self.instructions.push(instruction);
    }

    /// Number of instructions so far: the position of the next one.
    pub fn instruction_count(&self) -> usize {
        self.instructions.len()
    }

    /// Appends a call with the whole stack of its values.
    pub fn call_values(&mut self, operator: &'static str, values: &[ValueId]) {
        let op_index = self.operator(operator);
        self.instruct(Instruction::KernelCall { op_index, args: Some(Args::from(values)) });
    }

    /// Appends a jump that is taken if a condition is false, and returns its position. [`MethodWriter::land`] sets the
    /// destination.
    pub fn jump(&mut self, condition: ValueId) -> usize {
        self.instruct(Instruction::JumpFalseCall { cond_value_index: condition, destination_instruction: 0 });
        self.instruction_count() - 1
    }

    /// Makes the next instruction the destination of a jump.
    pub fn land(&mut self, jump: usize) {
        self.land_at(jump, self.instruction_count());
    }

    /// Makes an instruction the destination of a jump.
    pub fn land_at(&mut self, jump: usize, target: usize) {
        if let Some(Instruction::JumpFalseCall { destination_instruction, .. }) = self.instructions.get_mut(jump) {
            *destination_instruction = i32::try_from(target).unwrap_or(i32::MAX);
        }
    }

    /// Appends a call. Returns the values that are its arguments.
    pub fn call(&mut self, program: &mut Program, call: &GeneratedCall) -> Vec<ValueId> {
        let mut args: Vec<ValueId> = Vec::with_capacity(call.args.len() + 1);
        let signature = pte_operators::find(call.operator).map(|operator| &operator.signature);
        let ins = signature.filter(|s| s.outs().next().is_some()).map(|signature| signature.ins().count());
        let first = self.values.len();
        let mut first_out = None;
        for (at, operand) in call.args.iter().enumerate() {
            if ins == Some(at) {
                first_out = Some(self.values.len());
            }
            let value = match operand {
                Operand::Same(at) => args.get(*at).copied().unwrap_or_default(),
                operand => self.operand(program, operand, &args),
            };
            args.push(value);
        }
        let end = self.values.len();
        self.calls.push((first, first_out.unwrap_or(end), end));
        if let Some(signature) = signature {
            let outs = signature.outs().count().min(args.len());
            let list = signature.outs().any(|out| out.kind.list);
            let written = args[args.len() - outs..].to_vec();
            match written[..] {
                [] => {}
                [only] if list => {
                    let items = only.item(&self.values).map(|value| value.as_tensors().to_vec());
                    let list = self.push(EValue::TensorList(Some(items.unwrap_or_default())));
                    args.push(list);
                }
                [only] => args.push(only),
                _ => {
                    let list = self.push(EValue::TensorList(Some(written)));
                    args.push(list);
                }
            }
        }
        self.call_values(call.operator, &args);
        args
    }

    /// Returns the index of an operator in the method.
    fn operator(&mut self, name: &'static str) -> OperatorId {
        let next = OperatorId::of(self.indices.len());
        let index = *self.indices.entry(name).or_insert(next);
        if index == next {
            self.operators.push(Operator::new(name));
        }
        index
    }

    /// Appends the value of an argument after those in `args`.
    fn operand(&mut self, program: &mut Program, operand: &Operand, args: &[ValueId]) -> ValueId {
        let value = match operand {
            Operand::Null | Operand::Same(_) => EValue::Null,
            Operand::Int(int) => EValue::Int(*int),
            Operand::Bool(value) => EValue::Bool(*value),
            Operand::Double(value) => EValue::Double(*value),
            Operand::Str(text) => EValue::String(Some((*text).to_owned())),
            Operand::Tensor(tensor) => return self.tensor(program, tensor, args),
            Operand::Ints(items) => {
                let items = items.iter().map(|item| i64::from(self.push(EValue::Int(*item)))).collect();
                EValue::IntList(Some(items))
            }
            Operand::Doubles(items) => EValue::DoubleList(Some(items.clone())),
            Operand::Bools(items) => EValue::BoolList(Some(items.clone())),
            Operand::Tensors { items, optional } => {
                let mut index = |item: &Option<TensorOperand>| match item {
                    Some(tensor) => self.tensor(program, tensor, args),
                    None => ValueId::NONE,
                };
                let items = Some(items.iter().map(&mut index).collect());
                if *optional { EValue::OptionalTensorList(items) } else { EValue::TensorList(items) }
            }
        };
        self.push(value)
    }

    fn tensor(&mut self, program: &mut Program, operand: &TensorOperand, args: &[ValueId]) -> ValueId {
        let mut tensor = operand.tensor();
        let of_caller = self.boundary == BoundaryMemory::Caller;
        match &operand.content {
            Content::Value(index) => return *index,
            Content::Input | Content::Written if of_caller => tensor.memory = Memory::None,
            Content::Input | Content::Written => {}
            Content::Over { .. } => {}
            Content::Unplaced | Content::Missing => tensor.memory = Memory::None,
            Content::Constant(bytes) => {
                tensor.memory = Memory::None;
                tensor.data = TensorData::Blob(program.add_blob(Blob::bytes(bytes.clone())));
            }
        }
        let value = self.push(EValue::Tensor(tensor));
        match &operand.content {
            Content::Input => self.inputs.push(value),
            Content::Over { argument, offset } => {
                self.over.push((self.values.len() - 1, args.get(*argument).copied().unwrap_or_default(), *offset));
            }
            Content::Constant(_) | Content::Written | Content::Unplaced | Content::Missing | Content::Value(_) => {}
        }
        value
    }

    /// Adds the results of a call to the outputs of the method: the outs or the returned value, otherwise arguments
    /// that are written in place. `args` are its values.
    pub fn output_results(&mut self, call: &GeneratedCall, args: &[ValueId]) {
        let Some(pte_operators::Operator { signature, .. }) = pte_operators::find(call.operator) else { return };
        let is_result = |at: usize| match signature.args.get(at) {
            Some(arg) => arg.role == Role::Out || arg.role == Role::InPlace && signature.result.is_none(),
            None => signature.result.is_some(),
        };
        for at in (0..call.args.len()).filter(|at| is_result(*at)) {
            let Some(value) = args.get(at).and_then(|value| value.item(&self.values)) else {
                continue;
            };
            match value {
                EValue::TensorList(Some(items)) => {
                    let items = items.clone();
                    self.outputs.extend(items);
                }
                _ => self.outputs.push(args[at]),
            }
        }
    }

    /// Adds the method to a program.
    pub fn finish(mut self, program: &mut Program, name: &str) {
        if !self.over.is_empty() {
            self.place();
        }
        let order = self.order();
        let mut plan = ExecutionPlan {
            container_meta_type: Some(ContainerMetadata::flat(self.inputs.len(), self.outputs.len(), false)),
            values: Some(self.values),
            inputs: Some(self.inputs),
            outputs: Some(self.outputs),
            chains: Some(vec![Chain::new(self.instructions)]),
            operators: Some(self.operators),
            ..ExecutionPlan::new(name)
        };
        let count = order.len();
        let mut remap = Remap::all(&plan);
        remap.values = Indices::ordered(order, count);
        remap.apply(&mut plan);
        program.execution_plan.get_or_insert_default().push(plan);
    }

    /// Returns the values in the order of the exporter: constants, inputs, then for each call its outs before its
    /// literals.
    fn order(&self) -> Vec<usize> {
        let mut keys: Vec<(u8, usize, bool)> = self.values.iter().enumerate().map(|(at, _)| (2, at, true)).collect();
        for (first, first_out, end) in &self.calls {
            for (at, key) in keys.iter_mut().enumerate().take(*end).skip(*first) {
                let is_out = at >= *first_out && self.values[at].as_tensor().is_some();
                *key = (2, *first, !is_out);
            }
        }
        for (at, value) in self.values.iter().enumerate() {
            if value.as_tensor().is_some_and(|tensor| tensor.data != TensorData::None) {
                keys[at] = (0, at, true);
            }
        }
        for (place, input) in self.inputs.iter().enumerate() {
            input.item_mut(&mut keys).into_iter().for_each(|key| *key = (1, place, true));
        }
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        order.sort_by_key(|at| keys[*at]);
        order
    }

    /// Gives each tensor without data explicit memory. They are placed one after the other, except those that overlap
    /// others.
    fn place(&mut self) {
        let mut next = 0u64;
        let mut offsets = vec![None; self.values.len()];
        let over = std::mem::take(&mut self.over);
        for (index, value) in self.values.iter_mut().enumerate() {
            let EValue::Tensor(tensor) = value else { continue };
            if tensor.data != TensorData::None {
                continue;
            }
            let shared = over.iter().find(|(value, ..)| *value == index);
            let base = shared.and_then(|(_, base, offset)| {
                let base: u64 = (*base.item(&offsets)?)?;
                base.checked_add(*offset)
            });
            let len = tensor.nbytes().unwrap_or_default();
            let offset = base.unwrap_or(next);
            offsets[index] = Some(offset);
            tensor.memory = Memory::At { pool: 1, offset };
            let end = offset.saturating_add(len);
            next = next.max(end.checked_next_multiple_of(ALIGNMENT).unwrap_or(end));
        }
    }
}
