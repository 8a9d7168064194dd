//! The values that instructions declare: names in `out:`, views and targets of moves that are not under `values`.
//!
//! Their properties are inferred by [`super::infer`].

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::ir::document::{Action, At, Declaration, Declared, Literal, MISSING_OUT, Method, ParsedTensor, Word};
use pte_analysis::inference;
use pte_model::program::EValue;
use pte_model::program::instruction::FieldRole;
use pte_yaml::tree::NodeId;

/// Returns the declarations of a method that are not under `values`, in the order of the instructions.
pub(super) fn declarations<'a>(method: &Method<'a>) -> Vec<Declaration<'a>> {
    // Declared values, with their number if they are one.
    let stated = |declaration: &'_ Declaration<'a>| match &declaration.value {
        Declared::Other(At { value, .. }) => number(value),
        Declared::Tensor(_) => None,
    };
    let mut names: HashMap<&str, Option<EValue>> =
        method.values.iter().map(|value| (&*value.name.value, stated(value))).collect();
    let mut implied: Vec<Declaration<'a>> = Vec::new();
    // Most calls declare a result.
    let actions = method.actions().count();
    implied.reserve(actions.saturating_sub(names.len()));
    names.reserve(actions.saturating_sub(names.len()));
    // Most calls are of few operators.
    let mut results: HashMap<&str, Option<EValue>> = HashMap::new();
    let mut declare = |name: At<Cow<'a, str>>, value: Declared<'a>| {
        implied.push(Declaration { name, index: None, value });
    };
    let copy = |name: &Word<'a>| At { id: name.id, value: name.value.clone() };
    for action in method.actions() {
        match action {
            Action::Kernel { name, out: Some(outs), .. } => {
                for out in outs.iter().filter(|out| out.value != MISSING_OUT) {
                    if let Entry::Vacant(entry) = names.entry(&out.value) {
                        let result = results.entry(&name.value).or_insert_with(|| result(name));
                        declare(copy(out), declared(entry.insert(result.clone()).as_ref(), out.id));
                    }
                }
            }
            Action::View { base, out, sizes } => {
                if let Entry::Vacant(entry) = names.entry(&out.value) {
                    entry.insert(None);
                    let view_of = Some(copy(base));
                    let view = ParsedTensor { view_of, sizes: sizes.clone(), ..ParsedTensor::default() };
                    declare(copy(out), Declared::Tensor(Box::new(view)));
                }
            }
            Action::Plain(..) => {
                let operands = action.operand(FieldRole::Read).zip(action.operand(FieldRole::Write));
                if let Some((At { value: Literal::Word(from), .. }, At { id, value: Literal::Word(to) })) = operands {
                    let moved = names.get(&**from).cloned().flatten();
                    if let Entry::Vacant(entry) = names.entry(to) {
                        let value = declared(entry.insert(moved).as_ref(), *id);
                        declare(At { id: *id, value: to.clone() }, value);
                    }
                }
            }
            Action::Kernel { out: None, .. } | Action::Value(_) | Action::Delegate { .. } | Action::Unknown(_) => {}
        }
    }
    implied
}

/// Returns the number that an operator replaces by its result; `None` if it writes tensors.
fn result(operator: &Word<'_>) -> Option<EValue> {
    pte_operators::find(&operator.value).and_then(|operator| operator.signature.result).and_then(inference::placeholder)
}

/// Returns a literal that is a number.
fn number(literal: &Literal<'_>) -> Option<EValue> {
    literal.scalar().filter(|_| matches!(literal, Literal::Bool(_) | Literal::Double(_) | Literal::Int(_)))
}

/// Returns the declaration of a value that instructions write: a number like this one, or a tensor to be inferred.
fn declared<'a>(value: Option<&EValue>, at: NodeId) -> Declared<'a> {
    let literal = match value {
        Some(EValue::Bool(value)) => Literal::Bool(*value),
        Some(EValue::Double(value)) => Literal::Double(*value),
        Some(EValue::Int(value)) => Literal::Int(*value),
        Some(_) | None => return Declared::Tensor(Box::default()),
    };
    Declared::Other(At { id: at, value: literal })
}
