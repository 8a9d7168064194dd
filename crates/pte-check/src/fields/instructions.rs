//! Checks the instructions of a method: indices, and the kinds of the values that they refer to (`I-`).
//!
//! Arguments of kernels are checked in `check::operators`, control flow in `check::semantics`.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::super::path::{LIST, Node, Reporter, Slot, add, slot};
use super::is_index;
use super::values;
use crate::RuleId::{self, *};
use pte_model::diagnostics::Counted;
use pte_model::format::flatbuffer::view::{Table, Tables, Vector};
use pte_model::format::program::{
    InstructionType, KernelType, chain, delegate_call, evalue, execution_plan, free_call, instruction, jump_false_call,
    kernel_call, move_call, operator, tensor,
};
use pte_model::format::table::Union;
use pte_model::program::TensorShapeDynamism;

/// Maximum length in bytes of the name of an operator with its overload, which is a limit of the runtime.
const MAX_NAME: usize = 99;

/// Maximum length in bytes of a kernel key, which is a limit of the runtime.
const MAX_KEY: usize = 658;

/// Number of arguments up to which a kernel key cannot be too long.
const MAX_ARGS_OF_SHORT_KEY: usize = 16;

/// A defect of an operator, which is reported if the operator is called.
#[derive(Clone, Copy)]
enum OperatorDefect {
    NoName,
    NoOverload,
    /// Length of name and overload in bytes, above [`MAX_NAME`].
    TooLong(usize),
}

/// The lists of a method that instructions refer to.
struct InstructionContext<'a> {
    values: Tables<'a>,
    operators: Option<Tables<'a>>,
    /// By operator.
    defects: Vec<Option<OperatorDefect>>,
    /// Number of delegates.
    delegates: usize,
    /// By value: `true` for an IntList that contains Bools. Empty if there is none.
    bool_lists: Vec<bool>,
    plan: Table<'a>,
    /// Inputs and outputs, computed on first use.
    inputs_and_outputs: OnceCell<HashSet<i32>>,
}

/// Checks all chains; `bool_lists` are the indices of IntLists that contain Bools. Returns a flag per delegate: `true`
/// if it is called.
pub fn check(plan: Node<'_, '_>, values: Tables<'_>, bool_lists: &[usize], report: &mut Reporter<'_, '_>) -> Vec<bool> {
    let delegates = plan.tables(execution_plan::delegates).map_or(0, |list| list.len());
    let mut called = vec![false; delegates];
    let list = slot!(execution_plan::chains);
    if plan.tables(list.0).is_none_or(|chains| chains.len() == 0) {
        report.field(M_21, plan, list, "no chains", "at least one");
        return called;
    }
    let mut is_bool_list = Vec::new();
    if !bool_lists.is_empty() {
        is_bool_list = vec![false; values.len()];
        bool_lists.iter().for_each(|index| is_bool_list[*index] = true);
    }
    let operators = plan.tables(execution_plan::operators);
    let defects = operators.iter().flat_map(|operators| operators.iter()).map(defect).collect();
    let context = InstructionContext {
        values,
        operators,
        defects,
        delegates,
        bool_lists: is_bool_list,
        plan: *plan,
        inputs_and_outputs: OnceCell::new(),
    };
    plan.each(list, |_, chain| {
        let list = slot!(chain::instructions);
        let Some(instructions) = chain.tables(list.0) else {
            return report.add(M_22, chain.path, chain.at, "no instructions", LIST);
        };
        chain.each(list, |_, instruction| context.check(instruction, instructions.len(), &mut called, report));
    });
    called
}

fn defect(op: Table<'_>) -> Option<OperatorDefect> {
    let (name, overload) = (op.text(operator::name), op.text(operator::overload));
    let Some(name) = name else { return Some(OperatorDefect::NoName) };
    let Some(overload) = overload else { return Some(OperatorDefect::NoOverload) };
    let length = name.len() + if overload.is_empty() { 0 } else { 1 + overload.len() };
    (length > MAX_NAME).then_some(OperatorDefect::TooLong(length))
}

impl InstructionContext<'_> {
    fn check(&self, t: Node<'_, '_>, count: usize, called: &mut [bool], report: &mut Reporter<'_, '_>) {
        let tag = t.u8(instruction::instr_args_type);
        let (path, at) = (t.path, t.near(instruction::instr_args_type));
        let (kind, table) = (InstructionType::of_tag(tag), t.child(instruction::instr_args));
        let (kind, a) = match (kind, table) {
            (Some(kind), Some(a)) => (kind, a),
            (None, _) if t.has(instruction::instr_args) => {
                let members = InstructionType::MEMBERS.len();
                return add!(report, I_2, path, at, "instr_args_type {tag}", "1 to {members}");
            }
            (_, None) | (None, _) => {
                return add!(report, I_1, path, at, "instr_args_type {tag} without instr_args", "an instruction");
            }
        };
        let a = Node::new(a, path);
        match kind {
            InstructionType::KernelCall => self.kernel(a, report),
            InstructionType::DelegateCall => {
                if self.args(I_10, a, slot!(delegate_call::args), report).is_some() {
                    let index = slot!(delegate_call::delegate_index);
                    let index = report.index(I_22, a, index, Table::i32, ("delegate", self.delegates));
                    index.into_iter().for_each(|index| called[index] = true);
                }
            }
            InstructionType::MoveCall => self.move_call(a, report),
            InstructionType::JumpFalseCall => self.jump(a, count, report),
            InstructionType::FreeCall => self.free(a, report),
        }
    }

    /// Checks a field that is the index of a value. Returns the index and the kind of the value; `None` if it is out of
    /// range.
    fn value(
        &self,
        rule: RuleId,
        a: Node<'_, '_>,
        slot: Slot,
        report: &mut Reporter<'_, '_>,
    ) -> Option<(usize, Option<KernelType>)> {
        let index = report.index(rule, a, slot, Table::i32, ("value", self.values.len()))?;
        Some((index, values::kind(&self.values, index)))
    }

    fn args<'a>(
        &self,
        rule: RuleId,
        a: Node<'a, '_>,
        slot: Slot,
        report: &mut Reporter<'_, '_>,
    ) -> Option<Vector<'a, 4>> {
        let args = report.required(rule, a, slot, Table::i32s, "a list of indices of values")?;
        let path = a.path.field(slot.1);
        for (position, index) in args.iter().enumerate() {
            if !is_index(index.into(), self.values.len()) {
                let (path, at) = (path.item(position), args.offset(position));
                report.out_of_range(rule, &path, at, "value", index, self.values.len());
            }
        }
        Some(args)
    }

    fn kernel(&self, a: Node<'_, '_>, report: &mut Reporter<'_, '_>) {
        let args_slot = slot!(kernel_call::args);
        let args = self.args(I_3, a, args_slot, report);
        let slot = slot!(kernel_call::op_index);
        let index = a.i32(slot.0);
        let defect = usize::try_from(index).ok().and_then(|index| self.defects.get(index)).copied();
        match defect {
            Some(None) => {}
            None if self.operators.is_none() => {
                let found = format_args!("operator {index} without operators");
                report.field(M_25, a, slot, found, "a list of operators");
            }
            None => _ = report.index(I_4, a, slot, Table::i32, ("operator", self.defects.len())),
            Some(Some(OperatorDefect::NoName)) => {
                report.field(I_5, a, slot, format_args!("operator {index} without name"), "a name");
            }
            Some(Some(OperatorDefect::NoOverload)) => {
                let found = format_args!("operator {index} without overload");
                report.field(I_5, a, slot, found, "an overload (may be empty)");
            }
            Some(Some(OperatorDefect::TooLong(length))) => {
                let found = format_args!("operator {index} with a name of {}", Counted(length, "byte"));
                report.field(I_6, a, slot, found, format_args!("at most {MAX_NAME}"));
            }
        }
        let Some(args) = args else { return };
        if args.len() > MAX_ARGS_OF_SHORT_KEY {
            let length = self.key_length(args);
            if length > MAX_KEY {
                let found = format_args!("tensors with a kernel key of {}", Counted(length, "byte"));
                let path = a.path.field(args_slot.1);
                report.add(I_7b, &path, args.at, found, format_args!("at most {MAX_KEY}"));
            }
        }
        if !self.bool_lists.is_empty() {
            let path = a.path.field(args_slot.1);
            for (position, index) in args.iter().enumerate() {
                if usize::try_from(index).is_ok_and(|index| self.bool_lists.get(index) == Some(&true)) {
                    let found = format_args!("values[{index}], an IntList that contains Bools");
                    report.add(M_8, &path.item(position), args.offset(position), found, "an IntList of Ints");
                }
            }
        }
    }

    /// Returns the length in bytes of the kernel key, the string of element types and dim orders by which the runtime
    /// finds kernels.
    fn key_length(&self, args: Vector<'_, 4>) -> usize {
        let digits = |byte: u8| if byte > 99 { 3 } else { 1 + usize::from(byte > 9) };
        let mut length = 3;
        let mut tensors = 0usize;
        for index in args.iter() {
            let Some(t) = self.tensor(index as usize) else { continue };
            tensors += 1;
            length += digits(t.u8(tensor::scalar_type)) + 1;
            let order = t.u8s(tensor::dim_order);
            // Tensors of more than 16 dimensions were reported by T-6.
            let dims: usize = order.iter().flat_map(|order| order.iter().take(16)).map(|dim| digits(dim) + 1).sum();
            length += dims.saturating_sub(1);
        }
        length + tensors.saturating_sub(1)
    }

    fn tensor(&self, index: usize) -> Option<Table<'_>> {
        let value = self.values.get(index)?;
        if value.u8(evalue::val_type) == KernelType::Tensor.tag() { value.child(evalue::val) } else { None }
    }

    fn move_call(&self, a: Node<'_, '_>, report: &mut Reporter<'_, '_>) {
        let from = self.value(I_12, a, slot!(move_call::move_from), report);
        let to = self.value(I_12, a, slot!(move_call::move_to), report);
        if let (Some((from, from_kind)), Some((to, to_kind))) = (from, to)
            && from_kind != to_kind
        {
            let (from_kind, to_kind) = (values::name(from_kind), values::name(to_kind));
            let found =
                format_args!("a move from values[{from}] of kind {from_kind} to values[{to}] of kind {to_kind}");
            report.add(I_25, a.path, a.at, found, "values of the same kind");
        }
    }

    fn jump(&self, a: Node<'_, '_>, count: usize, report: &mut Reporter<'_, '_>) {
        // The kind of the condition depends on earlier instructions: `check::semantics` checks I-23.
        self.value(I_11, a, slot!(jump_false_call::cond_value_index), report);
        let slot = slot!(jump_false_call::destination_instruction);
        let destination = a.i32(slot.0);
        if !is_index(destination.into(), count + 1) {
            let expected = format_args!("0 to {count}, the end of the chain");
            report.field(I_24, a, slot, format_args!("instruction {destination}"), expected);
        }
    }

    fn free(&self, a: Node<'_, '_>, report: &mut Reporter<'_, '_>) {
        let slot = slot!(free_call::value_index);
        let Some((index, kind)) = self.value(I_13, a, slot, report) else { return };
        let dynamism = self.tensor(index).map(|t| TensorShapeDynamism(t.i8(tensor::shape_dynamism)));
        let inputs_and_outputs = || {
            let lists = [execution_plan::inputs, execution_plan::outputs].map(|slot| self.plan.i32s(slot));
            lists.iter().flatten().flat_map(|list| list.iter()).collect()
        };
        let is_outside =
            |index: usize| self.inputs_and_outputs.get_or_init(inputs_and_outputs).contains(&(index as i32));
        let found = match dynamism {
            Some(TensorShapeDynamism::DYNAMIC_UNBOUND) if !is_outside(index) => return,
            Some(TensorShapeDynamism::DYNAMIC_UNBOUND) => format!("values[{index}], an input or output"),
            Some(_) => format!("values[{index}], a tensor of bounded size"),
            None => format!("values[{index}] of kind {}", values::name(kind)),
        };
        report.field(I_26, a, slot, found, "an unbounded tensor that is neither input nor output");
    }
}
