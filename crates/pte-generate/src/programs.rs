//! Valid programs: chains of valid calls, in which results are arguments of later calls, with branches, loops and
//! several methods at times.
//!
//! Those of [`control_flow`] also have what exporters do not write: conditions that differ from execution to execution,
//! values that an instruction writes in one branch and a move sets in the other, state that is used through views, and
//! constants that are outputs.

use super::arguments::{arguments, depend};
use super::calls::executable;
use super::inferred::results;
use super::lower::{BoundaryMemory, MethodWriter};
use super::operand::{Content, GeneratedCall, Operand, TensorOperand};
use super::random::Random;
use pte_model::data::Blob;
use pte_model::format::ScalarType;
use pte_model::program::{
    EValue, Instruction, Memory, MemoryPlanner, Program, Tensor, TensorData, TensorShapeDynamism, ValueId,
};
use pte_operators::{Role, Signature};

/// Attempts for each instruction.
const ATTEMPTS: usize = 30;

/// Instructions of a branch or a loop.
const CONTROL: usize = 6;

/// Share of branches and loops in percent, in valid programs and in those of [`control_flow`].
const SHARES: [usize; 2] = [6, 40];

/// Inputs of a method that are conditions.
const CONDITIONS: usize = 3;

/// Depth of branches in branches.
const DEPTH: usize = 3;

/// An operator and its signature.
pub type KnownOperator = (&'static str, Signature);

/// Returns a valid program. Methods have about as many instructions as `instructions`, none if no operator takes random
/// arguments.
pub fn program(random: &mut Random, operators: &[KnownOperator], instructions: usize) -> Program {
    generated(random, operators, instructions, false)
}

/// As [`program`], with many branches and loops, and with what exporters do not write.
pub fn control_flow(random: &mut Random, operators: &[KnownOperator], instructions: usize) -> Program {
    generated(random, operators, instructions, true)
}

fn generated(random: &mut Random, operators: &[KnownOperator], instructions: usize, is_irregular: bool) -> Program {
    let mut program = Program::default();
    let methods = if random.chance(15) { 2 + random.below(2) } else { 1 };
    for number in 0..methods {
        let name = if number == 0 { "forward".to_owned() } else { format!("method_{number}") };
        Generator::new(random, operators, &mut program, is_irregular).method(&name, instructions);
    }
    program
}

/// A tensor that exists.
struct Existing {
    tensor: TensorOperand,
    /// A call wrote it, so it is not an input.
    is_result: bool,
    is_used: bool,
    /// Its memory is that of another tensor, which may be a constant or an input: a view, or the tensor that is viewed.
    is_shared: bool,
}

/// A method that is being generated.
struct Generator<'a> {
    random: &'a mut Random,
    operators: &'a [KnownOperator],
    program: &'a mut Program,
    method: MethodWriter,
    tensors: Vec<Existing>,
    /// Numbers that calls return.
    numbers: Vec<ValueId>,
    /// It has what exporters do not write.
    is_irregular: bool,
    /// Inputs that are conditions.
    conditions: Vec<ValueId>,
    /// Constants that are outputs.
    returned: Vec<ValueId>,
    /// A move of a branch sets a tensor.
    has_moves: bool,
}

impl<'a> Generator<'a> {
    fn new(
        random: &'a mut Random,
        operators: &'a [KnownOperator],
        program: &'a mut Program,
        is_irregular: bool,
    ) -> Generator<'a> {
        Generator {
            random,
            operators,
            program,
            method: MethodWriter::new(BoundaryMemory::Planned),
            tensors: Vec::new(),
            numbers: Vec::new(),
            is_irregular,
            conditions: Vec::new(),
            returned: Vec::new(),
            has_moves: false,
        }
    }

    fn method(mut self, name: &str, instructions: usize) {
        for _ in 0..instructions.saturating_mul(ATTEMPTS) {
            let left = instructions.saturating_sub(self.method.instruction_count());
            if left == 0 || self.operators.is_empty() {
                break;
            }
            if left >= CONTROL && self.operators.len() > 1 && self.random.chance(SHARES[usize::from(self.is_irregular)])
            {
                self.control();
                continue;
            }
            let at = self.random.below(self.operators.len());
            let (name, signature) = &self.operators[at];
            self.call(name, signature);
        }
        let outputs: Vec<ValueId> = self.outputs();
        outputs.into_iter().for_each(|value| self.method.output(value));
        self.method.finish(self.program, name);
        // The default planner may overwrite the results of branches.
        if let Some(plan) = self.program.execution_plan.iter_mut().flatten().last().filter(|_| self.has_moves) {
            plan.memory.planner = MemoryPlanner::Minimal;
        }
    }

    /// Returns the results that no call reads, and some of the others.
    fn outputs(&mut self) -> Vec<ValueId> {
        let mut outputs = Vec::new();
        for existing in &self.tensors {
            if let Content::Value(value) = existing.tensor.content
                && existing.is_result
                && (!existing.is_used || self.random.chance(10))
            {
                outputs.push(value);
            }
        }
        outputs.extend(&self.numbers);
        outputs.extend(&self.returned);
        outputs
    }

    /// Appends a call, if its random arguments are valid.
    fn call(&mut self, name: &'static str, signature: &Signature) {
        let shapes: Vec<Vec<i32>> = self.tensors.iter().rev().take(8).map(|item| item.tensor.sizes.clone()).collect();
        let mut args = arguments(self.random, name, signature, &shapes);
        for at in 0..args.len() {
            let role = signature.args.get(at).map_or(Role::In, |arg| arg.role);
            // Kernels that abort for infinite or constant contents read inputs, whose contents are the caller's.
            let is_safe = pte_operators::facts(name).numbers.is_none();
            if role == Role::InPlace || role == Role::In && is_safe && self.random.chance(75) {
                self.reuse(name, signature, &mut args, at);
            }
        }
        let ins = args.len();
        let Some(call) = executable(name, signature, args) else { return };
        self.append(&call, signature, ins);
    }

    /// Replaces an argument by a tensor that exists, if the rule of the operator accepts that. Arguments that depend on
    /// each other are replaced by tensors of the same properties only.
    fn reuse(&mut self, name: &str, signature: &Signature, args: &mut [Operand], at: usize) {
        let Operand::Tensor(tensor) = &args[at] else { return };
        if tensor.content != Content::Input {
            return;
        }
        let is_in_place = |at: usize| signature.args.get(at).is_some_and(|arg| arg.role == Role::InPlace);
        let is_written = is_in_place(at);
        // A tensor that the call writes in place must not be another argument.
        let others = args.iter().enumerate().filter(|(other, _)| *other != at && (is_written || is_in_place(*other)));
        let taken: Vec<Content> = others.flat_map(|(_, operand)| operand.contents()).collect();
        let meta = tensor.meta();
        let depends = depend(name);
        let fits = |item: &&Existing| {
            (item.is_result && !item.is_shared || !is_written)
                && !taken.contains(&item.tensor.content)
                && item.tensor.scalar_type == meta.scalar_type
                && (!depends || item.tensor.meta() == meta)
        };
        let candidates: Vec<TensorOperand> =
            self.tensors.iter().rev().filter(fits).take(6).map(|item| item.tensor.clone()).collect();
        if candidates.is_empty() {
            return;
        }
        let chosen = candidates[self.random.below(candidates.len())].clone();
        let before = std::mem::replace(&mut args[at], Operand::Tensor(chosen));
        if results(name, signature, args).is_none() {
            args[at] = before;
        }
    }

    /// Appends a call, and records its tensors and numbers.
    fn append(&mut self, call: &GeneratedCall, signature: &Signature, ins: usize) {
        let values = self.method.call(self.program, call);
        for (at, (operand, value)) in call.args.iter().zip(&values).enumerate() {
            match operand {
                Operand::Tensor(tensor) => self.record(tensor, *value, at >= ins),
                Operand::Tensors { items, .. } => {
                    let list = value.item(self.method.values());
                    let indices = list.map_or(Vec::new(), |list| list.as_tensors().to_vec());
                    for (item, index) in items.iter().zip(indices) {
                        if let Some(tensor) = item {
                            self.record(tensor, index, at >= ins);
                        }
                    }
                }
                Operand::Int(_) | Operand::Bool(_) | Operand::Double(_) if at >= ins => self.numbers.push(*value),
                Operand::Null
                | Operand::Int(_)
                | Operand::Bool(_)
                | Operand::Double(_)
                | Operand::Str(_)
                | Operand::Ints(_)
                | Operand::Doubles(_)
                | Operand::Bools(_)
                | Operand::Same(_) => {}
            }
        }
        // A view shares the memory of its argument.
        if call.args[ins..].iter().any(|operand| operand.contents().contains(&Content::Unplaced)) {
            let is_viewed =
                |item: &&mut Existing| matches!(item.tensor.content, Content::Value(value) if values.contains(&value));
            self.tensors.iter_mut().filter(is_viewed).for_each(|item| item.is_shared = true);
        }
        // An argument that is written in place is a result.
        for (at, _) in signature.args.iter().enumerate().filter(|(_, arg)| arg.role == Role::InPlace) {
            let written = values.get(at).copied();
            for item in &mut self.tensors {
                if matches!(item.tensor.content, Content::Value(value) if Some(value) == written) {
                    item.is_used = false;
                }
            }
        }
    }

    /// Records a tensor of a call for the calls after it.
    fn record(&mut self, tensor: &TensorOperand, value: ValueId, is_result: bool) {
        match tensor.content {
            Content::Value(known) => {
                let same = |item: &&mut Existing| item.tensor.content == Content::Value(known);
                self.tensors.iter_mut().filter(same).for_each(|item| item.is_used = true);
            }
            Content::Input | Content::Written | Content::Unplaced => {
                let tensor = TensorOperand { content: Content::Value(value), ..tensor.clone() };
                self.tensors.push(Existing { tensor, is_result, is_used: false, is_shared: false });
            }
            Content::Constant(_) | Content::Over { .. } | Content::Missing => {}
        }
    }

    /// Returns a tensor of floating point numbers with dimensions whose sizes do not change.
    fn static_float(&mut self) -> Option<TensorOperand> {
        let fits = |item: &&Existing| {
            let tensor = &item.tensor;
            tensor.scalar_type == ScalarType::FLOAT
                && tensor.dynamism == TensorShapeDynamism::STATIC
                && !tensor.sizes.is_empty()
        };
        let candidates: Vec<&Existing> = self.tensors.iter().rev().filter(fits).take(4).collect();
        match candidates.len() {
            0 => None,
            count => Some(candidates[self.random.below(count)].tensor.clone()),
        }
    }

    /// Appends a branch or a loop.
    fn control(&mut self) {
        let Some(tensor) = self.static_float() else { return };
        let Content::Value(x) = tensor.content else { return };
        match self.random.below(if self.is_irregular { 7 } else { 4 }) {
            0 => self.branch(&tensor),
            1 | 4 => {
                let merged = self.moved_branch(&tensor, 1);
                merged.into_iter().for_each(|merged| self.add_result(&tensor, merged));
            }
            5 => self.state(&tensor),
            6 => self.constant(&tensor),
            _ => self.repeat(&tensor),
        }
        for item in &mut self.tensors {
            item.is_used |= item.tensor.content == Content::Value(x);
        }
    }

    /// Appends a call of an operator that maps floating point numbers: a part of branches and loops.
    fn unary(&mut self, from: ValueId, to: ValueId) {
        let maps: Vec<&str> = pte_operators::names().filter(|name| pte_operators::facts(name).maps_floats).collect();
        let operator = self.random.pick(&maps);
        self.method.call_values(operator, &[from, to, to]);
    }

    /// Records a result like a tensor for the calls after it.
    fn add_result(&mut self, like: &TensorOperand, value: ValueId) {
        let tensor = TensorOperand { content: Content::Value(value), ..like.clone() };
        self.tensors.push(Existing { tensor, is_result: true, is_used: false, is_shared: false });
    }

    /// Returns a tensor like another one that an instruction writes.
    fn written(&mut self, like: &TensorOperand) -> ValueId {
        self.method.push(EValue::Tensor(TensorOperand { content: Content::Written, ..like.clone() }.tensor()))
    }

    /// Returns a tensor like another one, with numbers as data.
    fn filled(&mut self, like: &TensorOperand) -> Option<Tensor> {
        let tensor = like.tensor();
        let count = tensor.nbytes()? / 4;
        let bytes = (0..count).flat_map(|at| (0.25 + (at % 5) as f32 / 4.0).to_le_bytes()).collect::<Vec<u8>>();
        let data = TensorData::Blob(self.program.add_blob(Blob::bytes(bytes)));
        Some(Tensor { data, ..tensor })
    }

    /// State with initial data, of which some instructions use a view only: they read it, and then may write it.
    fn state(&mut self, x: &TensorOperand) {
        let (Content::Value(from), Some(state)) = (&x.content, self.filled(x)) else { return };
        let memory = Memory::Auto { pool: None, persistent: true, shared: None };
        let base = self.method.push(EValue::Tensor(Tensor { memory, ..state.clone() }));
        let memory = Memory::View { base: base.get().unwrap_or_default() as u32 };
        let view = self.method.push(EValue::Tensor(Tensor { memory, data: TensorData::None, ..state }));
        let (read, written) = (self.random.pick(&[base, view, view]), self.random.pick(&[base, view, view]));
        let to = self.written(x);
        self.unary(read, to);
        if self.random.chance(70) {
            self.unary(*from, written);
        }
        self.add_result(x, to);
    }

    /// A constant that is an output, and may be an argument.
    fn constant(&mut self, x: &TensorOperand) {
        let Some(constant) = self.filled(x) else { return };
        let constant = self.method.push(EValue::Tensor(Tensor { memory: Memory::None, ..constant }));
        self.returned.push(constant);
        if self.random.chance(70) {
            let to = self.written(x);
            self.unary(constant, to);
            self.add_result(x, to);
        }
    }

    /// `x.size(0) > n`, or an input.
    fn condition(&mut self, x: ValueId) -> ValueId {
        if self.is_irregular && self.random.chance(60) {
            if self.conditions.len() < CONDITIONS && self.random.chance(50) || self.conditions.is_empty() {
                let input = TensorOperand::new(ScalarType::BOOL, &[], Content::Input).tensor();
                let input = self.method.input(EValue::Tensor(input));
                self.conditions.push(input);
            }
            return self.random.pick(&self.conditions);
        }
        let (zero, size) = (self.method.push(EValue::Int(0)), self.method.push(EValue::Int(0)));
        self.method.call_values("aten::sym_size.int", &[x, zero, size]);
        let limit = self.random.between(0, 4);
        let limit = self.method.push(EValue::Int(limit));
        let condition = self.method.push(EValue::Bool(false));
        self.method.call_values("executorch_prim::gt.Scalar", &[size, limit, condition]);
        condition
    }

    /// `y = f(x) if x.size(0) > n else g(x)`, as the exporter writes it: each branch has tensors of its own, and a move
    /// sets the result. In irregular programs, there may be two results, and an instruction may write them instead of a
    /// move. Returns the results.
    fn moved_branch(&mut self, x: &TensorOperand, depth: usize) -> Vec<ValueId> {
        let count = 1 + usize::from(self.is_irregular && self.random.chance(40));
        let merged: Vec<ValueId> = (0..count).map(|_| self.written(x)).collect();
        let Content::Value(from) = x.content else { return merged };
        self.has_moves = true;
        let condition = self.condition(from);
        let otherwise = self.method.jump(condition);
        self.merge(x, depth, &merged);
        let never = self.method.push(EValue::Bool(false));
        let end = self.method.jump(never);
        self.method.land(otherwise);
        self.merge(x, depth, &merged);
        self.method.land(end);
        merged
    }

    /// The calls of a branch, and what sets its results.
    fn merge(&mut self, x: &TensorOperand, depth: usize, merged: &[ValueId]) {
        let results: Vec<ValueId> = merged.iter().map(|_| self.body(x, depth)).collect();
        for (from, to) in results.into_iter().zip(merged) {
            match self.is_irregular && self.random.chance(30) {
                true => self.unary(from, *to),
                false => self.method.instruct(Instruction::MoveCall { move_from: from, move_to: *to }),
            }
        }
    }

    /// A few calls of a branch, on `x` or on other tensors like it, and branches in it. Returns the result.
    fn body(&mut self, x: &TensorOperand, depth: usize) -> ValueId {
        let is_like = |item: &&Existing| item.tensor.meta() == x.meta() && item.tensor.dynamism == x.dynamism;
        let like = self.tensors.iter().rev().filter(is_like).take(4);
        let mut values: Vec<ValueId> = like
            .filter_map(|item| match item.tensor.content {
                Content::Value(value) => Some(value),
                _ => None,
            })
            .collect();
        let Content::Value(first) = x.content else { return self.method.push(EValue::Tensor(x.tensor())) };
        values.push(first);
        let (calls, own) = (1 + self.random.below(3), values.len());
        for _ in 0..calls {
            let from = values[self.random.below(values.len())];
            if depth < DEPTH && self.random.chance(20) {
                let x = TensorOperand { content: Content::Value(from), ..x.clone() };
                let merged = self.moved_branch(&x, depth + 1);
                values.push(merged[0]);
                continue;
            }
            let to = self.written(x);
            self.unary(from, to);
            values.push(to);
        }
        values[own + self.random.below(calls)]
    }

    /// `y = f(x) if x.size(0) > n else g(x)`, written by both branches. Values are in the order in which the assembler
    /// numbers them, as in all methods, so that the YAML states no indices.
    fn branch(&mut self, x: &TensorOperand) {
        let Content::Value(from) = x.content else { return };
        let condition = self.condition(from);
        let to = self.written(x);
        let otherwise = self.method.jump(condition);
        self.unary(from, to);
        let never = self.method.push(EValue::Bool(false));
        let end = self.method.jump(never);
        self.method.land(otherwise);
        self.unary(from, to);
        self.method.land(end);
        self.add_result(x, to);
    }

    /// `y = f(x)`, and `y = g(y)` a few times.
    fn repeat(&mut self, x: &TensorOperand) {
        let Content::Value(from) = x.content else { return };
        let to = self.written(x);
        self.unary(from, to);
        let (zero, counter) = (self.method.push(EValue::Int(0)), self.method.push(EValue::Int(0)));
        let limit = self.random.between(1, 3);
        let limit = self.method.push(EValue::Int(limit));
        let condition = self.method.push(EValue::Bool(false));
        self.method.instruct(Instruction::MoveCall { move_from: zero, move_to: counter });
        let again = self.method.instruction_count();
        self.method.call_values("executorch_prim::lt.Scalar", &[counter, limit, condition]);
        let end = self.method.jump(condition);
        self.unary(to, to);
        let one = self.method.push(EValue::Int(1));
        self.method.call_values("executorch_prim::add.Scalar", &[counter, one, counter]);
        let never = self.method.push(EValue::Bool(false));
        let back = self.method.jump(never);
        self.method.land_at(back, again);
        self.method.land(end);
        self.add_result(x, to);
    }
}
