//! Writes `instructions:` or `chains:`.

use std::borrow::Cow;
use std::fmt::Write;

use super::super::facts::calls::CallForm;
use super::super::facts::views::View;
use super::MethodText;
use crate::ir::document::{Action, Literal, MISSING_OUT, NameOrNumber, ParsedInstruction, Word};
use crate::ir::{write, yaml};
use pte_model::program::instruction::INSTRUCTION_ROWS;
use pte_model::program::{Chain, FieldReference, Instruction, OperandAccess, OperatorId, StackFrame, ValueId};
use pte_operators::{Arg, Role};

impl MethodText<'_> {
    /// Appends the instructions of all chains.
    pub(super) fn chains(&self, out: &mut String) {
        let chains = self.facts.plan.chains.as_deref().unwrap_or_default();
        let empty = |list: &Option<Vec<ValueId>>| list.as_ref().is_none_or(Vec::is_empty);
        if let [chain] = chains
            && empty(&chain.inputs)
            && empty(&chain.outputs)
            && stacktraces(chain).is_none()
        {
            if chain.instructions.as_ref().is_some_and(|list| !list.is_empty())
                || self.facts.order.entries.iter().any(|at| !at.is_empty())
            {
                out.push_str("    instructions:\n");
                self.chain(chain, 0, true, "      ", out);
            }
            return;
        }
        out.push_str(if chains.is_empty() { "    chains: []\n" } else { "    chains:\n" });
        let numbers = |items: &Option<Vec<ValueId>>, out: &mut String| {
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

    /// Appends the entries before an instruction of the method, or after the last one. Returns the label if the
    /// instruction must have it. An entry has the label if it is numbered after the conditions of the jumps to it.
    fn entries(&self, position: usize, mut label: Option<String>, indent: &str, out: &mut String) -> Option<String> {
        let condition = self.facts.order.conditions.get(&position);
        for index in self.facts.order.entries.get(position).into_iter().flatten().copied() {
            let Some(name) = &self.facts.names[index] else { continue };
            let label = label.take_if(|_| condition.is_some_and(|condition| *condition < index));
            let name: Word<'_> = (&**name).into();
            let action = match (self.facts.order.views[index], self.facts.plan.values()[index].as_tensor()) {
                (Some(View { base, .. }), Some(tensor)) => Action::View {
                    base: self.facts.names[base].as_deref().unwrap_or_default().into(),
                    out: name,
                    sizes: (!self.facts.declares_view(index))
                        .then(|| tensor.sizes.as_deref().unwrap_or_default().to_vec().into()),
                },
                _ => Action::Value(name),
            };
            line(label, Some(action), None, indent, out);
        }
        label
    }

    /// Appends a chain. `first` is the number of instructions of the method in the chains before it.
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
            let own_label = self.entries(first + position, label(position), indent, out);
            let form = &self.facts.calls.forms[first + position];
            let action = match form.operator {
                Some(operator) => self.kernel(operator, form),
                None => self.instruction(instruction, form, label),
            };
            let stacktrace = chain.stacktrace.as_ref().and_then(|traces| traces.get(position)?.clone());
            line(own_label, Some(action), stacktrace, indent, out);
        }
        let mut end = label(instructions.len());
        if is_last {
            end = self.entries(first + instructions.len(), end, indent, out);
        }
        if end.is_some() {
            line(end, None, None, indent, out);
        }
    }

    /// Returns an instruction by the table of its fields.
    fn instruction(
        &self,
        instruction: &Instruction,
        form: &CallForm<'_>,
        label: impl Fn(usize) -> Option<String>,
    ) -> Action<'_> {
        let row = INSTRUCTION_ROWS.iter().find(|row| Some(row.kind) == instruction.kind());
        let Some(row) = row else { return Action::Unknown(instruction.tag().into()) };
        let args = || self.arguments(instruction.args(), std::iter::empty());
        let mut operands = Vec::new();
        for (field, (_, role)) in instruction.fields().zip(row.fields) {
            let operand = match field.reference {
                FieldReference::Operator(id) => {
                    return Action::Kernel { name: self.operator(id), args: args(), out: None };
                }
                FieldReference::Delegate(index) => {
                    let is_known = self.facts.plan.delegate(index).is_some() && !form.is_contradictory;
                    let delegate = match is_known {
                        true => NameOrNumber::Name(format!("part{index}").into()),
                        false => NameOrNumber::Number(index.0),
                    };
                    return Action::Delegate { delegate: delegate.into(), args: args() };
                }
                FieldReference::Operand(value, OperandAccess::Read) => self.argument(value, None),
                FieldReference::Operand(value, OperandAccess::Write | OperandAccess::Release) => self.reference(value),
                FieldReference::Destination(index) => match usize::try_from(index).ok().and_then(&label) {
                    Some(label) => Literal::Word(label.into()),
                    None => Literal::Int(index.into()),
                },
                FieldReference::Args(_) => continue,
            };
            operands.push((*role, operand.into()));
        }
        Action::Plain(row.kind, operands)
    }

    /// Returns the name of an operator.
    fn operator(&self, id: OperatorId) -> Word<'_> {
        self.facts.calls.operator(id).unwrap_or_default().into()
    }

    /// Returns a kernel call without the trailing arguments that have their defaults.
    fn kernel(&self, operator: OperatorId, form: &CallForm<'_>) -> Action<'_> {
        let known = self.facts.calls.signature(operator).map_or(&[][..], |signature| &signature.args);
        // If `out` is printed, `args` has only the other arguments, and the last ones can be omitted.
        let known: Vec<&Arg> = known.iter().filter(|arg| form.outs.is_empty() || arg.role != Role::Out).collect();
        let mut ins = form.ins;
        while let ([before @ .., last], false) = (ins, form.outs.is_empty())
            && known.get(before.len()).is_some_and(|arg| self.is_default(*last, arg))
        {
            ins = before;
        }
        let out = |value: &ValueId| match self.facts.literal(*value) {
            // An out that the call does not request.
            Some(_) => MISSING_OUT.into(),
            None => self.facts.name(*value).unwrap_or_default().into(),
        };
        Action::Kernel {
            name: self.operator(operator),
            args: self.arguments(ins, known.iter().map(|arg| arg.kind)),
            out: (!form.outs.is_empty()).then(|| form.outs.iter().map(out).collect()),
        }
    }
}

/// Appends the line of an instruction.
fn line(
    label: Option<String>,
    action: Option<Action<'_>>,
    stacktrace: Option<Vec<StackFrame>>,
    indent: &str,
    out: &mut String,
) {
    let label = label.map(|label| Cow::from(label).into());
    write::item(out, indent, &ParsedInstruction { label, stacktrace, action });
}

/// Returns the number of stack traces; `None` if it is the number of instructions.
fn stacktraces(chain: &Chain) -> Option<usize> {
    let count = chain.instructions.as_ref().map_or(0, Vec::len);
    chain.stacktrace.as_ref().map(Vec::len).filter(|traces| *traces != count || count == 0)
}
