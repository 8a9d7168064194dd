//! Builds the stack of a kernel call: as given, or completed by the operator's schema (E-8).
//!
//! The operator table itself is [`pte_operators`].

use std::borrow::Cow;

use super::method::MethodResolver;
use crate::ir::document::{At, Literal, MISSING_OUT, Word};
use pte_analysis::operators::{ResolvedOperator, is_out_variant};
use pte_model::diagnostics::{Code, counted};
use pte_model::program::{EValue, Tensor, ValueId};
use pte_operators::{ArgKind, Base, Signature};
use pte_yaml::tree::NodeId;

impl<'d, 'a> MethodResolver<'d, 'a, '_> {
    /// The stack as given; indices of written values are assigned first, as with `out`.
    pub(super) fn given_stack(
        &mut self,
        name: &'d Word<'a>,
        args: &'d [At<Literal<'a>>],
        signature: Option<&Signature>,
    ) -> Vec<ValueId> {
        let written = self.written_on_stack(name, args);
        let kinds: Vec<ArgKind> = signature.map_or(Vec::new(), |s| s.args.iter().map(|arg| arg.kind).collect());
        if signature.is_some_and(|signature| signature.outs().next().is_none()) {
            // The index of a result, unlike that of an out, comes after those of the literals.
            written.iter().for_each(|declaration| self.declared[self.bases[*declaration]].written = true);
            return self.arguments_with_written(args, &kinds, Vec::new());
        }
        self.arguments_with_written(args, &kinds, written)
    }

    pub(super) fn arguments_with_written(
        &mut self,
        args: &[At<Literal<'a>>],
        kinds: &[ArgKind],
        written: Vec<usize>,
    ) -> Vec<ValueId> {
        for declaration in written {
            let base = self.base_of(declaration);
            self.declared[base].written = true;
            self.number(declaration);
        }
        let mut stack = Vec::with_capacity(args.len());
        for (position, arg) in args.iter().enumerate() {
            stack.push(self.argument(arg, kinds.get(position).copied(), ""));
        }
        stack
    }

    /// The stack of a call with `out`, completed by the operator's schema (E-8).
    pub(super) fn stack(
        &mut self,
        name: &'d Word<'a>,
        args: &'d [At<Literal<'a>>],
        outs: &'d [Word<'a>],
        operator: &ResolvedOperator,
    ) -> Vec<ValueId> {
        let signature = &*operator.signature;
        if !operator.has_optional_outs() {
            self.reject_missing(name, outs);
        }
        let list_out = signature.outs().any(|out| out.kind.list);
        let out_count = signature.outs().count();
        let takes = if list_out || out_count == 0 { None } else { Some(out_count) };
        if let Some(takes) = takes.filter(|takes| *takes != outs.len()) {
            self.wrong_outs = true;
            let names = signature.outs().map(|out| &*out.name).collect::<Vec<_>>().join(", ");
            let at = outs.first().map_or(name.id, |out| out.id);
            let message = format!("{} writes {takes}: {names}; `out` names {}", name.value, outs.len());
            self.error(Code::ArgumentCount, at, message, format!("expected {}", counted(takes as u64, "name")));
        }
        let count = usize::from(signature.result.is_some());
        if out_count == 0 && outs.len() != count {
            let at = outs.get(1).map_or(name.id, |out| out.id);
            let (returns, found) = (counted(count as u64, "value"), outs.len());
            let message = format!("{} returns {returns}, `out` names {found}", name.value);
            self.error(Code::ArgumentCount, at, message, format!("expected {count}"));
        }
        let out_first = out_count > 0;
        self.check_outs(outs, if out_first { Some(Base::Tensor) } else { signature.result });
        let mut out_numbers: Vec<ValueId> = Vec::new();
        if out_first {
            let number = |this: &mut Self, out: &Word<'a>| match &*out.value {
                MISSING_OUT => ValueId::NONE,
                _ => this.number_written(out),
            };
            out_numbers = outs.iter().map(|out| number(self, out)).collect();
        }
        let mut stack = self.arguments(name, args, signature);
        outs.iter().for_each(|out| self.mark_written(&out.value));
        let at = name.id;
        // The exporter passes an empty tensor for an out that is None, numbered as a literal (E-7).
        for (number, out) in out_numbers.iter_mut().zip(outs).filter(|(_, out)| out.value == MISSING_OUT) {
            *number = self.push(EValue::Tensor(Tensor::missing()), out.id);
        }
        if list_out {
            // The list of outs is a value, and so is the list of results.
            for _ in 0..2 {
                stack.push(self.push(EValue::TensorList(Some(out_numbers.clone())), at));
            }
        } else if out_first {
            stack.extend(&out_numbers);
            stack.extend(self.result(&out_numbers, at));
        } else {
            stack.extend(outs.iter().map(|out| self.write(out)).collect::<Vec<_>>());
        }
        stack
    }

    /// The stack of an operator that is not in the table: an overload that ends in `out` is treated as an out variant.
    pub(super) fn stack_by_name(
        &mut self,
        name: &'d Word<'a>,
        args: &'d [At<Literal<'a>>],
        outs: &'d [Word<'a>],
    ) -> Vec<ValueId> {
        self.reject_missing(name, outs);
        let write = |this: &mut Self| -> Vec<ValueId> { outs.iter().map(|out| this.write(out)).collect() };
        // The index of an out comes before those of the arguments, that of a result after them.
        let before = is_out_variant(&name.value).then(|| write(self));
        let mut stack: Vec<ValueId> = args.iter().map(|arg| self.argument(arg, None, "")).collect();
        match before {
            Some(outs) => {
                stack.extend(&outs);
                stack.extend(self.result(&outs, name.id));
            }
            None => stack.extend(write(self)),
        }
        stack
    }

    /// Reports outs that are `null` although the kernel writes them.
    fn reject_missing(&mut self, name: &Word<'a>, outs: &[Word<'a>]) {
        for out in outs.iter().filter(|out| out.value == MISSING_OUT) {
            let error = Code::ArgumentCount.error(out.id, format!("{} writes all of its outs", name.value));
            let help = "an out that nothing uses needs a name, but no declaration";
            self.diagnostics.push(error.label("expected a name").help(help));
        }
    }

    /// The result of an out variant: its only out, or one list of several outs.
    pub(super) fn result(&mut self, outs: &[ValueId], at: NodeId) -> Option<ValueId> {
        match outs {
            [] => None,
            [out] => Some(*out),
            several => Some(self.push(EValue::TensorList(Some(several.to_vec())), at)),
        }
    }

    /// The arguments before the outs, with defaults for trailing arguments that are omitted.
    pub(super) fn arguments(
        &mut self,
        name: &Word<'a>,
        args: &'d [At<Literal<'a>>],
        signature: &Signature,
    ) -> Vec<ValueId> {
        let takes = signature.ins().count();
        if let Some(extra) = args.get(takes) {
            let takes = counted(takes as u64, "argument");
            let message = format!("{} takes {takes}, found {}", name.value, args.len());
            let help = "with `out`, the outs are not listed among the arguments";
            self.diagnostics.push(Code::ArgumentCount.error(extra.id, message).label("one too many").help(help));
        }
        let mut stack = Vec::with_capacity(signature.args.len() + 1);
        for (position, arg) in signature.ins().enumerate() {
            match (args.get(position), &arg.default) {
                (Some(given), _) => {
                    let reported = self.diagnostics.len();
                    stack.push(self.argument(given, Some(arg.kind), &arg.name));
                    let is_number = matches!(given.value, Literal::Int(_) | Literal::Double(_) | Literal::Bool(_));
                    if arg.kind.base == Base::Tensor && is_number && self.diagnostics.len() > reported {
                        self.suggest_scalar_overload(&name.value);
                    }
                }
                (None, Some(default)) => stack.push(self.default(default, arg.kind, name.id)),
                (None, None) => {
                    let message = format!("{} needs the argument `{}`, a {}", name.value, arg.name, arg.kind);
                    let label = format!("{} of {} given", args.len(), counted(takes as u64, "argument"));
                    self.error(Code::ArgumentCount, name.id, message, label);
                    break;
                }
            }
        }
        stack
    }

    /// Adds to the last message, about a number in place of a tensor, that another overload takes a number.
    fn suggest_scalar_overload(&mut self, name: &str) {
        let overload = name.rsplit_once('.').map(|(base, _)| format!("{base}.Scalar_out"));
        if let Some(overload) = overload.filter(|overload| pte_operators::find(overload).is_some())
            && let Some(mismatch) = self.diagnostics.last_mut()
        {
            mismatch.help.get_or_insert_with(|| format!("{overload} takes a number"));
        }
    }

    /// The default of an argument, JSON in the operator table.
    pub(super) fn default(&mut self, json: &str, kind: ArgKind, at: NodeId) -> ValueId {
        let literal = default_literal(&serde_json::from_str(json).unwrap_or(serde_json::Value::Null), at);
        self.argument(&literal, Some(kind), "")
    }
}

/// A default of the operator table as a literal.
pub(super) fn default_literal<'a>(json: &serde_json::Value, at: NodeId) -> At<Literal<'a>> {
    let value = match json {
        serde_json::Value::Null => Literal::Null,
        serde_json::Value::Bool(b) => Literal::Bool(*b),
        serde_json::Value::Number(n) => match n.as_i64() {
            Some(n) => Literal::Int(n),
            None => Literal::Double(n.as_f64().unwrap_or(0.0)),
        },
        serde_json::Value::String(text) => Literal::String(Cow::Owned(text.clone())),
        serde_json::Value::Array(items) => Literal::List(items.iter().map(|item| default_literal(item, at)).collect()),
        serde_json::Value::Object(_) => Literal::Null,
    };
    At { id: at, value }
}
