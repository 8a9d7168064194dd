//! Calls and results in the compact form of unit tests: `float32 2 <=3 5 5 @0231` is a tensor with an upper bound and a
//! dim_order.

use std::borrow::Cow;

use super::{Argument, Call, Dim, InferenceError, IntMeta, ResultMeta, TensorMeta, rule};
use crate::format::ScalarType;
use crate::operators::find;

/// Parses a tensor.
pub(super) fn meta(text: &str) -> TensorMeta {
    let (text, order) = text.split_once(" @").map_or((text, None), |(text, order)| (text, Some(order)));
    let mut words = text.split(' ');
    let scalar_type = ScalarType::parse(words.next().unwrap()).unwrap();
    let sizes = words.map(|word| match word.strip_prefix("<=") {
        Some(bound) => Dim { size: bound.parse().unwrap(), dynamic: true },
        None => Dim::fixed(word.parse().unwrap()),
    });
    let contiguous = TensorMeta::contiguous(scalar_type, sizes.collect());
    match order {
        None => contiguous,
        Some(order) => TensorMeta { dim_order: order.bytes().map(|digit| digit - b'0').collect(), ..contiguous },
    }
}

/// Returns a tensor argument.
pub(super) fn t(text: &str) -> Argument<'static> {
    Argument::Tensor(Cow::Owned(meta(text)))
}

/// Returns an Int argument.
pub(super) fn i(value: i64) -> Argument<'static> {
    Argument::Int(IntMeta::Exact(value))
}

/// Returns a list of Ints.
pub(super) fn list(values: &[i64]) -> Argument<'static> {
    Argument::Ints(values.iter().copied().map(IntMeta::Exact).collect())
}

/// Returns a list of tensors; an empty text is None.
pub(super) fn tensors(texts: &[&str]) -> Argument<'static> {
    let items = texts.iter().map(|text| (!text.is_empty()).then(|| Cow::Owned(meta(text))));
    Argument::Tensors(items.collect())
}

fn text(meta: &TensorMeta) -> String {
    let mut text = meta.scalar_type.to_string();
    for dim in &meta.sizes {
        text += if dim.dynamic { " <=" } else { " " };
        text += &dim.size.to_string();
    }
    if meta.dim_order.iter().zip(0..).any(|(dim, at)| *dim != at) {
        text += " @";
        text.extend(meta.dim_order.iter().map(|dim| char::from(b'0' + dim)));
    }
    text
}

/// Returns the results of a call separated by `; `, or the error.
pub(super) fn results(name: &str, args: &[Argument<'_>]) -> String {
    let result = |result: &ResultMeta| match result {
        ResultMeta::Tensor(tensor) => text(tensor),
        ResultMeta::Unwritten(tensor) => format!("unwritten {}", text(tensor)),
        ResultMeta::Tensors(tensors) => tensors.iter().map(text).collect::<Vec<_>>().join(", "),
        ResultMeta::Int(int) => format!("{int:?}"),
        ResultMeta::Scalar => "a number".to_owned(),
    };
    match infer(name, args) {
        Ok(results) => results.iter().map(result).collect::<Vec<_>>().join("; "),
        Err(InferenceError::UnknownOperator) => "unknown operator".to_owned(),
        Err(InferenceError::Undetermined(reason)) => format!("undetermined: {reason}"),
        Err(InferenceError::Invalid(error) | InferenceError::Unsupported(error)) => {
            format!("argument {}: {}; expected {}", error.argument, error.found, error.expected)
        }
    }
}

/// Infers the results of a call of the operator `name` with arguments in the order of the schema up to the first out; those after the
/// last given one have their defaults. Callers of many calls keep the signature and the rule of an operator instead.
///
/// # Errors
/// See [`InferenceError`].
pub(super) fn infer(name: &str, args: &[Argument<'_>]) -> Result<Vec<ResultMeta>, InferenceError> {
    match (find(name), rule(name)) {
        (Some(signature), Some(rule)) => rule(&Call::new(&signature, args)),
        (None, _) | (_, None) => Err(InferenceError::UnknownOperator),
    }
}
