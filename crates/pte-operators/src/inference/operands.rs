//! Checks of operands that families share, and arithmetic of sizes.

use super::promotion::{Category, category};
use super::shape::{Result, sizes_text};
use super::{Call, Dim, InferenceError, TensorMeta};

/// Returns the size that two dimensions can have in common at run time: of a fixed size and an upper bound the fixed
/// one, of two upper bounds the smaller one. `None` if there is none.
pub(super) fn agree(a: Dim, b: Dim) -> Option<Dim> {
    match (a.dynamic, b.dynamic) {
        (false, false) => (a.size == b.size).then_some(a),
        (false, true) => (a.size <= b.size).then_some(a),
        (true, false) => (b.size <= a.size).then_some(b),
        (true, true) => Some(Dim { size: a.size.min(b.size), dynamic: true }),
    }
}

/// Returns the tensor that the argument `at` is.
///
/// # Errors
/// A number of dimensions that is not in the list.
pub(super) fn ranked<'a>(call: &Call<'a>, at: usize, ranks: &[usize]) -> Result<&'a TensorMeta> {
    let tensor = call.tensor(at)?;
    if ranks.contains(&tensor.rank()) {
        return Ok(tensor);
    }
    let ranks: Vec<String> = ranks.iter().map(usize::to_string).collect();
    call.invalid(at, sizes_text(&tensor.sizes), format!("a tensor of {} dimensions", ranks.join(" or ")))
}

/// Returns the tensor that the argument `at` is.
///
/// # Errors
/// An element type that is not a floating point number.
pub(super) fn float_tensor<'a>(call: &Call<'a>, at: usize) -> Result<&'a TensorMeta> {
    let tensor = call.tensor(at)?;
    match category(tensor.scalar_type) {
        Some(Category::Floating) => Ok(tensor),
        _ => call.invalid(at, type_text(tensor), "a tensor of floating point numbers"),
    }
}

/// Returns an error about a tensor whose sizes do not match those of another argument.
pub(super) fn mismatch<T>(
    call: &Call<'_>,
    at: usize,
    found: &TensorMeta,
    expected: &str,
    other: usize,
    other_tensor: &TensorMeta,
) -> Result<T> {
    let reason = format!("{expected} for {} of `{}`", sizes_text(&other_tensor.sizes), call.name(other));
    call.invalid(at, sizes_text(&found.sizes), reason)
}

/// Returns an element type in words: `a tensor of int8`.
pub(super) fn type_text(tensor: &TensorMeta) -> String {
    format!("a tensor of {}", tensor.scalar_type.info().map_or("an unknown type", |info| info.name))
}

/// Returns a dimension whose size is a function of another one that does not decrease; `None` if it overflows.
pub(super) fn map_dim(dim: Dim, size: impl FnOnce(i64) -> Option<i64>) -> Result<Dim> {
    match size(dim.size) {
        Some(size) => Ok(Dim { size, ..dim }),
        None => Err(InferenceError::Undetermined("a size overflows")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_agree_unless_they_differ_for_certain() {
        let (fixed, upto) = (Dim::fixed, |size| Dim { size, dynamic: true });
        let cases = [
            (fixed(3), fixed(3), Some(fixed(3))),
            (fixed(1), fixed(3), None),
            (fixed(3), upto(4), Some(fixed(3))),
            (fixed(5), upto(4), None),
            (upto(3), upto(4), Some(upto(3))),
        ];
        for (a, b, expected) in cases {
            assert_eq!(agree(a, b), expected, "{a:?} {b:?}");
            assert_eq!(agree(b, a), expected, "{b:?} {a:?}");
        }
    }
}
