//! The values that instructions declare: names in `out:`, views and targets of moves that are not under `values`.
//!
//! Their properties are inferred by [`super::infer`].

use std::collections::HashSet;

use crate::ir::document::{Action, At, Declaration, Declared, Literal, MISSING_OUT, Method, ParsedTensor, Word};
use crate::operators;
use crate::program::EValue;
use crate::transform::inference;

/// Returns the declarations of a method that are not under `values`, in the order of the instructions.
pub(super) fn declarations<'a>(method: &Method<'a>) -> Vec<Declaration<'a>> {
    let mut names: HashSet<&str> = method.values.iter().map(|value| &*value.name.value).collect();
    let mut implied: Vec<Declaration<'a>> = Vec::new();
    let mut declare = |name: &Word<'a>, value: Declared<'a>| {
        let name = At { id: name.id, value: name.value.clone() };
        implied.push(Declaration { name, index: None, value });
    };
    let instructions = method.chains.iter().flat_map(|chain| &chain.instructions);
    for action in instructions.filter_map(|instruction| instruction.action.as_ref()) {
        match action {
            Action::Kernel { name, out: Some(outs), .. } => {
                for out in outs.iter().filter(|out| out.value != MISSING_OUT && names.insert(&out.value)) {
                    declare(out, result(name, out));
                }
            }
            Action::View { base, out, sizes } if names.insert(&out.value) => {
                let view =
                    ParsedTensor { view_of: Some(base.clone()), sizes: sizes.clone(), ..ParsedTensor::default() };
                declare(out, Declared::Tensor(Box::new(view)));
            }
            Action::Move { from: At { value: Literal::Word(_), .. }, to: At { id, value: Literal::Word(to) } }
                if names.insert(to) =>
            {
                let to = At { id: *id, value: to.clone() };
                declare(&to, Declared::Tensor(Box::default()));
            }
            Action::Kernel { out: None, .. }
            | Action::View { .. }
            | Action::Value(_)
            | Action::Move { .. }
            | Action::Delegate { .. }
            | Action::JumpFalse { .. }
            | Action::Free(_) => {}
        }
    }
    implied
}

/// Returns the declaration of what an operator writes: a tensor to be inferred, or a number.
fn result<'a>(operator: &Word<'a>, out: &Word<'a>) -> Declared<'a> {
    let result = operators::find(&operator.value).and_then(|signature| signature.result);
    let literal = match result.and_then(inference::placeholder) {
        Some(EValue::Bool(value)) => Literal::Bool(value),
        Some(EValue::Double(value)) => Literal::Double(value),
        Some(EValue::Int(value)) => Literal::Int(value),
        Some(_) | None => return Declared::Tensor(Box::default()),
    };
    Declared::Other(At { id: out.id, value: literal })
}
