//! Writes `instructions:` or `chains:`.

use std::fmt::Write;

use super::super::facts::calls::CallForm;
use super::super::facts::views::View;
use super::super::yaml::{self, FlowMap};
use super::MethodText;
use pte_model::program::{
    Chain, FieldReference, Instruction, InstructionField, OperandAccess, OperatorId, StackFrame, ValueId,
};
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
            let _ = write!(out, "{indent}- ");
            let mut fields = FlowMap::new(out);
            if condition.is_some_and(|condition| *condition < index)
                && let Some(label) = label.take()
            {
                fields.key("label").push_str(&label);
            }
            match (self.facts.order.views[index], self.facts.plan.values()[index].as_tensor()) {
                (Some(View { base, .. }), Some(tensor)) => {
                    self.reference(ValueId::of(base), fields.key("view"));
                    if !self.facts.declares_view(index) {
                        yaml::list(fields.key("sizes"), tensor.sizes.as_deref().unwrap_or_default(), yaml::number);
                    }
                    fields.key("out").push_str(&yaml::text(name));
                }
                _ => fields.key("value").push_str(&yaml::text(name)),
            }
            fields.end();
            out.push('\n');
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
            out.push_str(indent);
            out.push_str("- ");
            let mut fields = FlowMap::new(out);
            if let Some(label) = own_label {
                fields.key("label").push_str(&label);
            }
            let form = &self.facts.calls.forms[first + position];
            match form.operator {
                Some(operator) => self.kernel(operator, form, &mut fields),
                None => self.instruction(instruction, form, label, &mut fields),
            }
            if let Some(Some(frames)) = chain.stacktrace.as_ref().and_then(|traces| traces.get(position)) {
                yaml::list(fields.key("stacktrace"), frames, frame);
            }
            fields.end();
            out.push('\n');
        }
        let mut end = label(instructions.len());
        if is_last {
            end = self.entries(first + instructions.len(), end, indent, out);
        }
        if let Some(label) = end {
            let _ = writeln!(out, "{indent}- {{label: {label}}}");
        }
    }

    /// Appends an instruction by the table of its fields. A list of arguments, and a field with the key of the
    /// instruction, are adjacent to that key; the other fields are in a map as its value.
    fn instruction(
        &self,
        instruction: &Instruction,
        form: &CallForm<'_>,
        label: impl Fn(usize) -> Option<String>,
        fields: &mut FlowMap<'_>,
    ) {
        let append = |field: InstructionField<'_>, out: &mut String| match field.reference {
            FieldReference::Operator(index) => self.operator(index, out),
            FieldReference::Delegate(index) => {
                let is_known = self.facts.plan.delegate(index).is_some();
                let _ = write!(out, "{}{index}", if is_known && !form.is_contradictory { "part" } else { "" });
            }
            FieldReference::Operand(value, OperandAccess::Read) => self.argument(value, None, out),
            FieldReference::Operand(value, OperandAccess::Write | OperandAccess::Release) => self.reference(value, out),
            FieldReference::Destination(index) => {
                let label = usize::try_from(index).ok().and_then(&label);
                out.push_str(&label.unwrap_or_else(|| index.to_string()));
            }
            FieldReference::Args(args) => {
                yaml::list(out, args.into_iter().flatten(), |arg, out| self.argument(*arg, None, out));
            }
        };
        let key = instruction.key();
        let is_beside =
            |field: &InstructionField<'_>| field.key == key || matches!(field.reference, FieldReference::Args(_));
        for field in instruction.fields().filter(is_beside) {
            append(field, fields.key(field.key));
        }
        if let Instruction::Unknown { tag } = instruction {
            yaml::number(tag, fields.key(key));
        }
        let mut others = instruction.fields().filter(|field| !is_beside(field)).peekable();
        if others.peek().is_some() {
            let mut map = FlowMap::new(fields.key(key));
            others.for_each(|field| append(field, map.key(field.key)));
            map.end();
        }
    }

    /// Appends the name of an operator.
    fn operator(&self, id: OperatorId, out: &mut String) {
        out.push_str(&yaml::operator(self.facts.calls.operator(id).unwrap_or_default()));
    }

    /// Appends a kernel call without the trailing arguments that have their defaults.
    fn kernel(&self, operator: OperatorId, form: &CallForm<'_>, fields: &mut FlowMap<'_>) {
        self.operator(operator, fields.key("kernel"));
        let known = self.facts.calls.signature(operator).map_or(&[][..], |signature| &signature.args);
        // If `out` is printed, `args` has only the other arguments, and the last ones can be omitted.
        let known: Vec<&Arg> = known.iter().filter(|arg| form.outs.is_empty() || arg.role != Role::Out).collect();
        let mut ins = form.ins;
        while let ([before @ .., last], false) = (ins, form.outs.is_empty())
            && known.get(before.len()).is_some_and(|arg| self.is_default(*last, arg))
        {
            ins = before;
        }
        let mut kinds = known.iter().map(|arg| arg.kind);
        yaml::list(fields.key("args"), ins, |arg, out| self.argument(*arg, kinds.next(), out));
        match form.outs {
            [] => {}
            [out] if self.facts.literal(*out).is_none() => self.reference(*out, fields.key("out")),
            outs => yaml::list(fields.key("out"), outs, |value, out| match self.facts.literal(*value) {
                // An out that the call does not request.
                Some(_) => out.push_str("null"),
                None => self.reference(*value, out),
            }),
        }
    }
}

/// Returns the number of stack traces; `None` if it is the number of instructions.
fn stacktraces(chain: &Chain) -> Option<usize> {
    let count = chain.instructions.as_ref().map_or(0, Vec::len);
    chain.stacktrace.as_ref().map(Vec::len).filter(|traces| *traces != count || count == 0)
}

/// Appends a frame of a stack trace.
fn frame(frame: &StackFrame, out: &mut String) {
    let mut fields = FlowMap::new(out);
    fields.text("filename", frame.filename.as_deref());
    fields.text("name", frame.name.as_deref());
    fields.text("context", frame.context.as_deref());
    fields.optional("lineno", Some(frame.lineno).filter(|line| *line != 0));
    fields.end();
}
