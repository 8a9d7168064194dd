//! Chains, instructions and their operands.

use std::borrow::Cow;

use super::decoder::{Decoder, MapFields};
use super::rows::WholeNode;
use crate::ir::document::*;
use crate::ir::shape::{self, Form, instruction, method};
use pte_model::diagnostics::Code;
use pte_model::program::StackFrame;
use pte_model::program::instruction::{FieldRole, INSTRUCTION_ROWS, InstructionRow};
use pte_yaml::tree::{NodeValue, SourceNode};

impl Decoder {
    /// The instructions of a method: in one chain, or in several.
    pub(super) fn chains<'a>(&mut self, fields: &mut MapFields<'a>) -> Vec<ParsedChain<'a>> {
        match (fields.take(method::instructions), fields.take(method::chains)) {
            (Some(_), Some(chains)) => {
                let message = || "a method has either `instructions` or `chains`".to_owned();
                self.refuse(Some(chains.id), message, "remove one of the two");
                Vec::new()
            }
            (None, Some(chains)) => self.items(chains, "a list of chains", ParsedChain::whole),
            (instructions, None) => {
                let items = |node| self.items(node, "a list of instructions", Decoder::instruction);
                let instructions = instructions.map_or_else(Vec::new, items);
                vec![ParsedChain { instructions, ..ParsedChain::default() }]
            }
        }
    }

    pub(super) fn instruction<'a>(&mut self, node: SourceNode<'a>) -> Option<ParsedInstruction<'a>> {
        let id = node.id;
        let mut fields = self.fields(node, &shape::INSTRUCTION)?;
        let label = fields.take(instruction::label).and_then(|node| self.text(node, "a name"));
        let beside = [instruction::args, instruction::stacktrace, instruction::out, instruction::sizes]
            .map(|what| (what, fields.at(what)));
        let stacktrace = fields.take(instruction::stacktrace);
        let stacktrace = stacktrace.map(|node| self.items(node, "a list of frames", StackFrame::whole));
        let is_label =
            label.is_some() && beside.iter().all(|(what, at)| *what == instruction::stacktrace || at.is_none());
        let key = match fields.which(fields.shape.one_of)[..] {
            [] if is_label => return Some(ParsedInstruction { label, stacktrace, action: None }),
            [key] => key,
            _ => {
                let all = || format!("one of {}", fields.shape.one_of.join(", "));
                self.alternative(&fields, "an instruction has exactly one kind", all)?
            }
        };
        let row = INSTRUCTION_ROWS.iter().find(|row| row.key == key);
        let has = |role| row.is_some_and(|row| row.fields.iter().any(|(_, other)| *other == role));
        for (what, at) in beside {
            let (message, label) = match (what, key) {
                (instruction::args | instruction::stacktrace, instruction::view | instruction::value) => {
                    (format!("`{what}` belong to an instruction, and `{key}` is none"), "remove it")
                }
                (_, instruction::value) => (format!("`{what}` does not belong to `value`"), "remove it"),
                (_, instruction::view) | (instruction::stacktrace, _) => continue,
                (instruction::sizes, _) => (format!("`sizes` belongs to a view, not to `{key}`"), "remove it"),
                (instruction::out, _) if !has(FieldRole::Operator) => {
                    let label = if has(FieldRole::Args) { "list it at the end of `args`" } else { "remove it" };
                    (format!("`out` belongs to a kernel, not to `{key}`"), label)
                }
                (instruction::args, _) if !has(FieldRole::Args) => {
                    (format!("`args` belong to a kernel or a delegate, not to `{key}`"), "remove them")
                }
                _ => continue,
            };
            self.refuse(at, || message, label);
        }
        let node = fields.take(key)?;
        let action = match (row, key) {
            (Some(row), _) => self.action(row, node, &mut fields)?,
            (None, instruction::value) => Action::Value(self.text(node, "the name of a value")?),
            (None, instruction::view) => {
                let base = self.text(node, "the name of a tensor");
                let Some(out) = fields.take(instruction::out) else {
                    return self.fail(Code::MissingKey, id, "a view needs a name", "expected `out`");
                };
                let out = self.text(out, "a name")?;
                let sizes = fields.take(instruction::sizes);
                let sizes = sizes.map(|node| At { id: node.id, value: self.ints(node, "a size") });
                Action::View { base: base?, out, sizes }
            }
            (None, _) => Action::Unknown(At { id: node.id, value: self.union_member(&node)? }),
        };
        Some(ParsedInstruction { label, stacktrace, action: Some(action) })
    }

    pub(super) fn action<'a>(
        &mut self,
        row: &'static InstructionRow,
        node: SourceNode<'a>,
        fields: &mut MapFields<'a>,
    ) -> Option<Action<'a>> {
        let mut args =
            |decoder: &mut Decoder| fields.take(instruction::args).map_or_else(Vec::new, |node| decoder.literals(node));
        Some(match row.fields[0].1 {
            FieldRole::Operator => {
                let name = self.text(node, "an operator, such as aten::add.out");
                if let Some(name) = name.as_ref().filter(|name| name.value.is_empty()) {
                    let message = "an operator needs a name";
                    self.error(Code::InvalidString, name.id, message, "expected one such as aten::add.out");
                }
                let args = args(self);
                let out = fields.take(instruction::out).map(|node| match node.value {
                    NodeValue::Text(value) => vec![At { id: node.id, value }],
                    _ => self.outs(node),
                });
                Action::Kernel { name: name?, args, out }
            }
            FieldRole::Delegate => {
                let delegate = self.name_or_number(node, "the name of a delegate")?;
                Action::Delegate { delegate, args: args(self) }
            }
            FieldRole::Read
            | FieldRole::Condition
            | FieldRole::Write
            | FieldRole::Release
            | FieldRole::Destination
            | FieldRole::Args => Action::Plain(row.kind, self.operands(row, node)?),
        })
    }

    /// Decodes the operands of an instruction that is not a call: its value if its only field has its key, otherwise
    /// the values of a map.
    pub(super) fn operands<'a>(&mut self, row: &InstructionRow, node: SourceNode<'a>) -> Option<Vec<Operand<'a>>> {
        let nodes = match (row.fields, shape::INSTRUCTION.key(row.key)?.form) {
            (_, Form::Shape(shape)) => {
                let mut fields = self.fields(node, shape)?;
                row.fields.iter().map(|(key, role)| (*role, fields.take(key))).collect()
            }
            ([(_, role)], _) => vec![(*role, Some(node))],
            (several, _) => unreachable!("{} fields of `{}` and no map", several.len(), row.key),
        };
        let mut operand = |(role, node): (FieldRole, Option<SourceNode<'a>>)| {
            let node = node?;
            let value = match role {
                FieldRole::Destination => self.name_or_number(node, "a label").map(|At { id, value }| match value {
                    NameOrNumber::Name(name) => At { id, value: Literal::Word(name) },
                    NameOrNumber::Number(number) => At { id, value: Literal::Int(number.into()) },
                }),
                FieldRole::Operator
                | FieldRole::Delegate
                | FieldRole::Args
                | FieldRole::Read
                | FieldRole::Condition
                | FieldRole::Write
                | FieldRole::Release => self.literal(node),
            };
            Some((role, value?))
        };
        // All are decoded, so that all errors are reported.
        let operands: Vec<_> = nodes.into_iter().map(&mut operand).collect();
        operands.into_iter().collect()
    }

    /// Decodes a list of outs, in which null is an out that the call does not request.
    pub(super) fn outs<'a>(&mut self, node: SourceNode<'a>) -> Vec<Word<'a>> {
        self.items(node, "a name, or a list of names", |decoder, item| match item.value {
            NodeValue::Null => Some(At { id: item.id, value: Cow::Borrowed(MISSING_OUT) }),
            _ => decoder.text(item, "a name, or null"),
        })
    }
}
