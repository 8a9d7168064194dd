//! Finds the operators of a method, and the form in which YAML states each of its calls.

use std::slice;

use pte_analysis::operators::{MethodOperators, is_out_variant};
use pte_model::program::{EValue, ExecutionPlan, Instruction, OperatorId, ValueId};
use pte_operators::Signature;

/// Operators and instructions of a method.
pub struct Calls<'p> {
    /// Full names of the operators, empty for absent ones.
    pub operators: Vec<String>,
    /// Records of the operators.
    pub resolved: MethodOperators,
    /// Forms of the instructions of all chains, in their order.
    pub forms: Vec<CallForm<'p>>,
}

/// Form in which YAML states the arguments of an instruction.
#[derive(Clone, Copy, Default)]
pub struct CallForm<'p> {
    /// Index of the operator of a kernel call.
    pub operator: Option<OperatorId>,
    /// Values under `args`, in the order of the stack.
    pub ins: &'p [ValueId],
    /// Values under `out`, which the instruction declares; empty if `args` has the whole stack.
    pub outs: &'p [ValueId],
    /// Values that assembling adds to the stack after the outs: the list of several outs.
    pub lists: &'p [ValueId],
    /// `true` if assembling rejects the arguments in the usual form. A kernel call then has the whole stack under
    /// `args`, and a delegate is called by its index instead of its name.
    pub is_contradictory: bool,
}

impl<'p> CallForm<'p> {
    /// Returns the form that states all arguments under `args`.
    fn stack(instruction: &'p Instruction) -> CallForm<'p> {
        CallForm { operator: instruction.operator(), ins: instruction.args(), ..CallForm::default() }
    }

    /// Returns the form for arguments that assembling rejects in the usual form.
    pub fn contradictory(instruction: &'p Instruction) -> CallForm<'p> {
        CallForm { is_contradictory: true, ..CallForm::stack(instruction) }
    }

    /// Returns the form with outs that assembles to the same arguments; `None` if the stack does not end like one that
    /// `out:` produces.
    fn with_outs(self, plan: &'p ExecutionPlan, operator: &str, signature: Option<&Signature>) -> Option<CallForm<'p>> {
        let Some(signature) = signature else {
            let [ins @ .., out, again] = self.ins else { return None };
            return (is_out_variant(operator) && out == again).then_some(CallForm {
                ins,
                outs: slice::from_ref(out),
                ..self
            });
        };
        let tensors = |list: ValueId| match plan.value(list) {
            Some(EValue::TensorList(Some(items))) => Some(&items[..]),
            _ => None,
        };
        let (ins, rest) = self.ins.split_at_checked(signature.ins().count())?;
        let has_list = signature.outs().any(|out| out.kind.list);
        let (outs, lists) = match (signature.outs().count(), rest) {
            (_, [list, again]) if has_list && list != again && tensors(*list) == tensors(*again) => {
                (tensors(*list)?, rest)
            }
            _ if has_list => return None,
            (0, [_]) if signature.result.is_some() => (rest, &[][..]),
            (1, [out, again]) if out == again => (slice::from_ref(out), &[][..]),
            (count @ 2.., [outs @ .., list]) if outs.len() == count && tensors(*list) == Some(outs) => {
                (outs, slice::from_ref(list))
            }
            _ => return None,
        };
        Some(CallForm { ins, outs, lists, ..self })
    }
}

impl<'p> Calls<'p> {
    /// Finds the operators of a method and the forms of its calls. The forms are the shortest ones, or have all
    /// arguments with `everything`.
    pub fn new(plan: &'p ExecutionPlan, everything: bool) -> Calls<'p> {
        let operators = plan.operators.iter().flatten();
        let operators: Vec<String> = operators.map(|operator| operator.full_name().unwrap_or_default()).collect();
        let mut calls = Calls { operators, resolved: MethodOperators::known(plan), forms: Vec::new() };
        let form = |instruction| {
            let stack = CallForm::stack(instruction);
            let operator = stack.operator.filter(|_| !everything);
            let with_outs = operator.and_then(|index| {
                stack.with_outs(plan, calls.operator(index).unwrap_or_default(), calls.signature(index))
            });
            with_outs.unwrap_or(stack)
        };
        calls.forms = plan.instructions().map(form).collect();
        calls
    }

    /// Returns the full name of the operator with an index.
    pub fn operator(&self, id: OperatorId) -> Option<&str> {
        id.item(&self.operators).map(String::as_str)
    }

    /// Returns the schema of the operator with an index, if it is known.
    pub fn signature(&self, id: OperatorId) -> Option<&Signature> {
        Some(&self.resolved.get(id)?.signature)
    }
}
