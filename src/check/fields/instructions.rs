//! The instructions of a method: indices that lead somewhere, kinds that fit (`I-`).
//!
//! What kernels want of their arguments, and what instructions do one after the other, is asked elsewhere.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::super::path::Reporter;
use crate::format::flatbuffer::verify::Report;
use crate::format::path::Trail;
use super::inside;
use super::values::{self, tag};
use crate::format::program::{
    chain, delegate_call, evalue, execution_plan, free_call, instruction, jump_false_call, kernel_call, move_call,
    operator, tensor,
};
use crate::format::flatbuffer::view::{Table, Tables, Vector};

/// Longest name of an operator, with its overload.
const MAX_NAME: usize = 99;

/// Room for the text that the runtime makes of the tensors of a call.
const MAX_KEY: usize = 658;

/// With fewer arguments that text cannot be too long.
const FEW: usize = 16;

/// What is wrong with an operator if it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flaw {
    None,
    NoName,
    NoOverload,
    Long(usize),
}

/// What the instructions of a method refer to.
struct Around<'a> {
    values: Tables<'a>,
    operators: Option<Tables<'a>>,
    flaws: Vec<Flaw>,
    delegates: usize,
    /// By value: a list of integers that holds truth values. Empty if there is none.
    odd: Vec<bool>,
    plan: Table<'a>,
    /// The inputs and outputs, once somebody asks.
    ends: OnceCell<HashSet<i32>>,
}

/// Looks at all chains. Gives for each delegate whether something calls it.
pub fn check(
    plan: Table<'_>,
    values: Tables<'_>,
    odd_lists: &[usize],
    path: &Trail<'_>,
    report: &mut Reporter<'_, '_>,
) -> Vec<bool> {
    let delegates = plan.tables(execution_plan::delegates).map_or(0, |list| list.len());
    let mut called = vec![false; delegates];
    let list = path.field("chains");
    let Some(chains) = plan.tables(execution_plan::chains).filter(|chains| chains.len() > 0) else {
        let at = plan.near(execution_plan::chains);
        report.add("M-21", &list, at, format_args!("no chains"), format_args!("one at least"));
        return called;
    };
    let mut odd = Vec::new();
    if !odd_lists.is_empty() {
        odd = vec![false; values.len()];
        odd_lists.iter().for_each(|index| odd[*index] = true);
    }
    let operators = plan.tables(execution_plan::operators);
    let flaws = operators.iter().flat_map(|operators| operators.iter()).map(flaw).collect();
    let around = Around { values, operators, flaws, delegates, odd, plan, ends: OnceCell::new() };
    for (index, chain) in chains.iter().enumerate() {
        let path = list.item(index);
        let Some(instructions) = chain.tables(chain::instructions) else {
            report.add("M-22", &path, chain.at, format_args!("no instructions"), format_args!("a list, be it empty"));
            continue;
        };
        let list = path.field("instructions");
        for (index, instruction) in instructions.iter().enumerate() {
            around.check(instruction, instructions.len(), &mut called, &list.item(index), report);
        }
    }
    called
}

fn flaw(op: Table<'_>) -> Flaw {
    let (name, overload) = (op.text(operator::name), op.text(operator::overload));
    let Some(name) = name else { return Flaw::NoName };
    let Some(overload) = overload else { return Flaw::NoOverload };
    match name.len() + if overload.is_empty() { 0 } else { 1 + overload.len() } {
        length if length > MAX_NAME => Flaw::Long(length),
        _ => Flaw::None,
    }
}

impl Around<'_> {
    fn check(&self, t: Table<'_>, count: usize, called: &mut [bool], path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
        let kind = t.u8(instruction::instr_args_type);
        let at = t.near(instruction::instr_args_type);
        if !(1..=5).contains(&kind) && t.has(instruction::instr_args) {
            return report.add("I-2", path, at, format_args!("an instruction of kind {kind}"), format_args!("1 to 5"));
        }
        let Some(a) = t.child(instruction::instr_args) else {
            let found = format_args!("an instruction of kind {kind} that is missing");
            return report.add("I-1", path, at, found, format_args!("an instruction"));
        };
        match kind {
            1 => self.kernel(a, path, report),
            2 => {
                if self.args("I-10", a, delegate_call::args, path, report).is_some() {
                    let index = a.i32(delegate_call::delegate_index);
                    match usize::try_from(index).ok().and_then(|index| called.get_mut(index)) {
                        Some(called) => *called = true,
                        None => {
                            let at = a.near(delegate_call::delegate_index);
                            let expected = format_args!("one of {} delegates", self.delegates);
                            let path = path.field("delegate_index");
                            report.add("I-22", &path, at, format_args!("delegate {index}"), expected);
                        }
                    }
                }
            }
            3 => self.move_call(a, path, report),
            4 => self.jump(a, count, path, report),
            _ => self.free(a, path, report),
        }
    }

    /// A value that an instruction names: its kind, if there is one.
    fn value(
        &self,
        rule: &str,
        a: Table<'_>,
        slot: u16,
        name: &'static str,
        path: &Trail<'_>,
        report: &mut Reporter<'_, '_>,
    ) -> Option<(usize, u8)> {
        let index = a.i32(slot);
        if inside(index.into(), self.values.len()) {
            return Some((index as usize, values::kind(&self.values, index as usize)));
        }
        let expected = format_args!("one of {} values", self.values.len());
        report.add(rule, &path.field(name), a.near(slot), format_args!("value {index}"), expected);
        None
    }

    fn args<'a>(
        &self,
        rule: &str,
        a: Table<'a>,
        slot: u16,
        path: &Trail<'_>,
        report: &mut Reporter<'_, '_>,
    ) -> Option<Vector<'a, 4>> {
        let path = path.field("args");
        let Some(args) = a.i32s(slot) else {
            report.add(rule, &path, a.at, format_args!("no args"), format_args!("a list of indices of values"));
            return None;
        };
        for (position, index) in args.iter().enumerate() {
            if !inside(index.into(), self.values.len()) {
                let expected = format_args!("one of {} values", self.values.len());
                report.add(rule, &path.item(position), args.place(position), format_args!("value {index}"), expected);
            }
        }
        Some(args)
    }

    fn kernel(&self, a: Table<'_>, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
        let args = self.args("I-3", a, kernel_call::args, path, report);
        let index = a.i32(kernel_call::op_index);
        let (at, op) = (a.near(kernel_call::op_index), path.field("op_index"));
        let flaw = usize::try_from(index).ok().and_then(|index| self.flaws.get(index)).copied();
        match flaw {
            Some(Flaw::None) => {}
            None if self.operators.is_none() => {
                report.add(
                    "M-25",
                    &op,
                    at,
                    format_args!("operator {index}, and no operators"),
                    format_args!("a list of operators"),
                );
            }
            None => {
                let expected = format_args!("one of {} operators", self.flaws.len());
                report.add("I-4", &op, at, format_args!("operator {index}"), expected);
            }
            Some(Flaw::NoName) => {
                report.add("I-5", &op, at, format_args!("operator {index}, which has no name"), format_args!("a name"));
            }
            Some(Flaw::NoOverload) => {
                let found = format_args!("operator {index}, which has no overload");
                report.add("I-5", &op, at, found, format_args!("an overload, be it empty"));
            }
            Some(Flaw::Long(length)) => {
                let found = format_args!("operator {index}, whose name has {length} bytes");
                report.add("I-6", &op, at, found, format_args!("{MAX_NAME} at most"));
            }
        }
        let Some(args) = args else { return };
        if args.len() > FEW {
            let length = self.key_length(args);
            if length > MAX_KEY {
                let found = format_args!("tensors whose kernel key has {length} bytes");
                report.add("I-7b", &path.field("args"), args.at, found, format_args!("{MAX_KEY} at most"));
            }
        }
        if !self.odd.is_empty() {
            for (position, index) in args.iter().enumerate() {
                if usize::try_from(index).is_ok_and(|index| self.odd.get(index) == Some(&true)) {
                    let found = format_args!("value {index}, an IntList that holds Bools");
                    let path = path.field("args");
                    report.add("M-8", &path.item(position), args.place(position), found, format_args!("Ints alone"));
                }
            }
        }
    }

    /// Length of the text by which the runtime looks for a kernel made for these types and orders.
    fn key_length(&self, args: Vector<'_, 4>) -> usize {
        let digits = |number: u8| if number > 99 { 3 } else { 1 + usize::from(number > 9) };
        let mut length = 3;
        let mut tensors = 0usize;
        for index in args.iter() {
            let Some(t) = self.tensor(index as usize) else { continue };
            tensors += 1;
            length += digits(t.u8(tensor::scalar_type)) + 1;
            let order = t.u8s(tensor::dim_order);
            // A tensor of more dimensions than the runtime takes was reported.
            let dims: usize = order.iter().flat_map(|order| order.iter().take(16)).map(|dim| digits(dim) + 1).sum();
            length += dims.saturating_sub(1);
        }
        length + tensors.saturating_sub(1)
    }

    fn tensor(&self, index: usize) -> Option<Table<'_>> {
        let value = self.values.get(index)?;
        if value.u8(evalue::val_type) == tag::TENSOR { value.child(evalue::val) } else { None }
    }

    fn move_call(&self, a: Table<'_>, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
        let from = self.value("I-12", a, move_call::move_from, "move_from", path, report);
        let to = self.value("I-12", a, move_call::move_to, "move_to", path, report);
        if let (Some((from, from_kind)), Some((to, to_kind))) = (from, to)
            && from_kind != to_kind
        {
            let found =
                format_args!("value {from}, {}, over value {to}, {}", values::name(from_kind), values::name(to_kind));
            report.add("I-25", path, a.at, found, format_args!("values of one kind"));
        }
    }

    fn jump(&self, a: Table<'_>, count: usize, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
        // Of what kind the condition is by then, only the instructions before tell: see `super::super::semantics`.
        self.value("I-11", a, jump_false_call::cond_value_index, "cond_value_index", path, report);
        let target = a.i32(jump_false_call::destination_instruction);
        if !inside(target.into(), count + 1) {
            let at = a.near(jump_false_call::destination_instruction);
            let path = path.field("destination_instruction");
            report.add("I-24", &path, at, format_args!("instruction {target}"), format_args!("0 to {count}, the end"));
        }
    }

    fn free(&self, a: Table<'_>, path: &Trail<'_>, report: &mut Reporter<'_, '_>) {
        let Some((index, kind)) = self.value("I-13", a, free_call::value_index, "value_index", path, report) else {
            return;
        };
        let dynamism = self.tensor(index).map(|t| t.i8(tensor::shape_dynamism));
        let ends = || {
            let lists = [execution_plan::inputs, execution_plan::outputs].map(|slot| self.plan.i32s(slot));
            lists.iter().flatten().flat_map(|list| list.iter()).collect()
        };
        let is_end = |index: usize| self.ends.get_or_init(ends).contains(&(index as i32));
        let found = match dynamism {
            Some(2) if !is_end(index) => return,
            Some(2) => format!("value {index}, which goes in or out"),
            Some(_) => format!("value {index}, a tensor whose size is known"),
            None => format!("value {index}, {}", values::name(kind)),
        };
        let expected = format_args!("a tensor of unbounded size inside the method");
        report.add(
            "I-26",
            &path.field("value_index"),
            a.near(free_call::value_index),
            format_args!("{found}"),
            expected,
        );
    }
}
