//! Arithmetic of sizes at run time. Results that are exact or bounded bound the sizes that they are arguments of.

use super::numbers::floored;
use super::promotion::{Category, category};
use super::shape::{Inferred, dim_argument, element_count, is_dynamic, sizes_text};
use super::{Call, Dim, IntMeta, ResultMeta};
use IntMeta::{AtMost, Exact, Unknown};

/// `sym_size.int`: the size of a dimension.
pub(crate) fn sym_size(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dim = dim_argument(call, 1, tensor.rank())?;
    match tensor.sizes.get(dim) {
        Some(size) => int(of_dim(*size)),
        None => call.invalid(0, "a tensor of no dimensions", "a tensor of 1 dimension or more"),
    }
}

/// `sym_numel`: the number of elements.
pub(crate) fn sym_numel(call: &Call<'_>) -> Inferred {
    let sizes = &call.tensor(0)?.sizes;
    int(of_dim(Dim { size: element_count(sizes), dynamic: is_dynamic(sizes) }))
}

/// `_local_scalar_dense`: the first element.
pub(crate) fn local_scalar_dense(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    if element_count(&tensor.sizes) == 0 {
        return call.invalid(0, sizes_text(&tensor.sizes), "a tensor of one element or more");
    }
    match category(tensor.scalar_type) {
        Some(Category::Integer) => int(Unknown),
        Some(Category::Bool | Category::Floating | Category::Complex) | None => scalar(),
    }
}

/// A comparison, or a quotient or a number of floating point.
pub(crate) fn not_int(_: &Call<'_>) -> Inferred {
    scalar()
}

/// `add`
pub(crate) fn add(call: &Call<'_>) -> Inferred {
    binary(call, |a, b| match (a, b) {
        (Exact(a), Exact(b)) => exact(a.checked_add(b)),
        (AtMost(a), AtMost(b)) => at_most(a.checked_add(b)),
        (AtMost(a), Exact(b)) | (Exact(b), AtMost(a)) => at_most(a.checked_add(b)),
        (Unknown, _) | (_, Unknown) => Unknown,
    })
}

/// `sub`: a difference of sizes is a size, which is not negative, unless it certainly is.
pub(crate) fn sub(call: &Call<'_>) -> Inferred {
    binary(call, |a, b| match (a, b) {
        (Exact(a), Exact(b)) => exact(a.checked_sub(b)),
        (AtMost(a), Exact(b)) if a < b => Unknown,
        (AtMost(a), Exact(b)) => at_most(a.checked_sub(b)),
        (Exact(a) | AtMost(a), AtMost(_)) => at_most(Some(a)),
        (Unknown, _) | (_, Unknown) => Unknown,
    })
}

/// `mul`
pub(crate) fn mul(call: &Call<'_>) -> Inferred {
    binary(call, |a, b| match (a, b) {
        (Exact(a), Exact(b)) => exact(a.checked_mul(b)),
        (Exact(0), _) | (_, Exact(0)) => Exact(0),
        (Exact(factor), AtMost(_)) | (AtMost(_), Exact(factor)) if factor < 0 => Unknown,
        (Exact(a) | AtMost(a), AtMost(b)) | (AtMost(a), Exact(b)) => at_most(a.checked_mul(b)),
        (Unknown, _) | (_, Unknown) => Unknown,
    })
}

/// `floordiv`: a quotient, rounded down. A size that divides is positive.
pub(crate) fn floordiv(call: &Call<'_>) -> Inferred {
    binary(call, |a, b| match (a, b) {
        (Exact(a), Exact(b)) => exact(floored(a, b)),
        (AtMost(a), Exact(b)) if b > 0 => at_most(a.checked_div(b)),
        (Exact(a) | AtMost(a), AtMost(_)) => at_most(Some(a)),
        (AtMost(_), Exact(_)) | (Unknown, _) | (_, Unknown) => Unknown,
    })
}

/// `mod`: a remainder. The runtime and torch round quotients of negative numbers differently.
pub(crate) fn modulo(call: &Call<'_>) -> Inferred {
    binary(call, |a, b| match (a, b) {
        (Exact(a), Exact(b)) if a >= 0 && b > 0 => exact(a.checked_rem(b)),
        (AtMost(a), Exact(b)) | (Exact(a) | AtMost(a), AtMost(b)) if a >= 0 && b > 0 => AtMost(a.min(b - 1)),
        (Exact(_) | AtMost(_) | Unknown, _) => Unknown,
    })
}

/// `sym_max`
pub(crate) fn max(call: &Call<'_>) -> Inferred {
    binary(call, |a, b| match (a, b) {
        (Exact(a), Exact(b)) => Exact(a.max(b)),
        (AtMost(a), Exact(b)) | (Exact(b), AtMost(a)) => {
            if b >= a {
                Exact(b)
            } else {
                AtMost(a)
            }
        }
        (AtMost(a), AtMost(b)) => AtMost(a.max(b)),
        (Unknown, _) | (_, Unknown) => Unknown,
    })
}

/// `sym_min`
pub(crate) fn min(call: &Call<'_>) -> Inferred {
    binary(call, |a, b| match (a, b) {
        (Exact(a), Exact(b)) => Exact(a.min(b)),
        // A size is not negative, but a difference of sizes may be.
        (AtMost(a), Exact(b)) | (Exact(b), AtMost(a)) if b >= 0 => AtMost(a.min(b)),
        (AtMost(_), Exact(_)) | (Exact(_), AtMost(_)) => Unknown,
        (AtMost(a), AtMost(b)) => AtMost(a.min(b)),
        (Unknown, _) | (_, Unknown) => Unknown,
    })
}

/// `neg`
pub(crate) fn neg(call: &Call<'_>) -> Inferred {
    match call.scalar_int(0)? {
        Some(Exact(value)) => int(exact(value.checked_neg())),
        Some(AtMost(_) | Unknown) => int(Unknown),
        None => scalar(),
    }
}

/// `sym_int` and `trunc`: a number, rounded towards 0.
pub(crate) fn truncate(call: &Call<'_>) -> Inferred {
    rounded(call, f64::trunc)
}

/// `ceil`
pub(crate) fn ceil(call: &Call<'_>) -> Inferred {
    rounded(call, f64::ceil)
}

/// `round`: halves to even.
pub(crate) fn round(call: &Call<'_>) -> Inferred {
    rounded(call, f64::round_ties_even)
}

/// `sym_ite`: one of two numbers.
pub(crate) fn select(call: &Call<'_>) -> Inferred {
    let (Some(a), Some(b)) = (call.scalar_int(1)?, call.scalar_int(2)?) else { return scalar() };
    int(match (a, b) {
        (Exact(a), Exact(b)) if a == b => Exact(a),
        // One of two numbers is no size that is at most the greater one.
        (Exact(_), Exact(_)) => Unknown,
        (Exact(a) | AtMost(a), Exact(b) | AtMost(b)) if a.min(b) >= 0 => AtMost(a.max(b)),
        (Exact(_) | AtMost(_) | Unknown, _) => Unknown,
    })
}

/// Returns an Int, which is a function of two Ints, or a number of another kind.
fn binary(call: &Call<'_>, function: impl FnOnce(IntMeta, IntMeta) -> IntMeta) -> Inferred {
    match (call.scalar_int(0)?, call.scalar_int(1)?) {
        (Some(a), Some(b)) => int(function(a, b)),
        (None, _) | (_, None) => scalar(),
    }
}

/// Returns the Int that a number is rounded to.
fn rounded(call: &Call<'_>, round: fn(f64) -> f64) -> Inferred {
    if let Some(value) = call.scalar_int(0)? {
        return int(value);
    }
    match call.optional_double(0) {
        // Greater numbers are not exact.
        Ok(Some(value)) if value.abs() < 9_007_199_254_740_992.0 => int(Exact(round(value) as i64)),
        Ok(_) | Err(_) => int(Unknown),
    }
}

fn of_dim(dim: Dim) -> IntMeta {
    if dim.dynamic { AtMost(dim.size) } else { Exact(dim.size) }
}

fn exact(value: Option<i64>) -> IntMeta {
    value.map_or(Unknown, Exact)
}

/// Returns an upper bound; a negative one bounds no size.
fn at_most(bound: Option<i64>) -> IntMeta {
    bound.filter(|bound| *bound >= 0).map_or(Unknown, AtMost)
}

fn int(value: IntMeta) -> Inferred {
    Ok(vec![ResultMeta::Int(value)])
}

fn scalar() -> Inferred {
    Ok(vec![ResultMeta::Scalar])
}
