//! Arithmetic of sizes at run time. Results that are exact or bounded bound the sizes that they are arguments of.

use super::promotion::{Category, category};
use super::shape::{Inferred, dim_argument, element_count, is_dynamic, sizes_text};
use super::{Call, Dim, IntMeta, ResultMeta};
use IntMeta::{AtMost, Exact, Unknown};

/// `sym_size.int`: the size of a dimension.
pub(super) fn sym_size(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dim = dim_argument(call, 1, tensor.rank())?;
    match tensor.sizes.get(dim) {
        Some(size) => int(of_dim(*size)),
        None => call.invalid(0, "a tensor of no dimensions", "a tensor of 1 dimension or more"),
    }
}

/// `sym_numel`: the number of elements.
pub(super) fn sym_numel(call: &Call<'_>) -> Inferred {
    let sizes = &call.tensor(0)?.sizes;
    int(of_dim(Dim { size: element_count(sizes), dynamic: is_dynamic(sizes) }))
}

/// `_local_scalar_dense`: the first element.
pub(super) fn local_scalar_dense(call: &Call<'_>) -> Inferred {
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
pub(super) fn not_int(_: &Call<'_>) -> Inferred {
    scalar()
}

/// `add`
pub(super) fn add(call: &Call<'_>) -> Inferred {
    binary(call, |a, b| match (a, b) {
        (Exact(a), Exact(b)) => exact(a.checked_add(b)),
        (AtMost(a), AtMost(b)) => at_most(a.checked_add(b)),
        (AtMost(a), Exact(b)) | (Exact(b), AtMost(a)) => at_most(a.checked_add(b)),
        (Unknown, _) | (_, Unknown) => Unknown,
    })
}

/// `sub`: a difference of sizes is a size, so it is not negative.
pub(super) fn sub(call: &Call<'_>) -> Inferred {
    binary(call, |a, b| match (a, b) {
        (Exact(a), Exact(b)) => exact(a.checked_sub(b)),
        (AtMost(a), Exact(b)) => at_most(a.checked_sub(b)),
        (Exact(a) | AtMost(a), AtMost(_)) => at_most(Some(a)),
        (Unknown, _) | (_, Unknown) => Unknown,
    })
}

/// `mul`
pub(super) fn mul(call: &Call<'_>) -> Inferred {
    binary(call, |a, b| match (a, b) {
        (Exact(a), Exact(b)) => exact(a.checked_mul(b)),
        (Exact(0), _) | (_, Exact(0)) => Exact(0),
        (Exact(factor), AtMost(_)) | (AtMost(_), Exact(factor)) if factor < 0 => Unknown,
        (Exact(a) | AtMost(a), AtMost(b)) | (AtMost(a), Exact(b)) => at_most(a.checked_mul(b)),
        (Unknown, _) | (_, Unknown) => Unknown,
    })
}

/// `floordiv`: a quotient, rounded down. A size that divides is positive.
pub(super) fn floordiv(call: &Call<'_>) -> Inferred {
    binary(call, |a, b| match (a, b) {
        (Exact(a), Exact(b)) => exact(a.checked_rem(b).and_then(|rest| {
            let quotient = a.checked_div(b)?;
            Some(if rest != 0 && (rest < 0) != (b < 0) { quotient - 1 } else { quotient })
        })),
        (AtMost(a), Exact(b)) if b > 0 => at_most(a.checked_div(b)),
        (Exact(a) | AtMost(a), AtMost(_)) => at_most(Some(a)),
        (AtMost(_), Exact(_)) | (Unknown, _) | (_, Unknown) => Unknown,
    })
}

/// `mod`: a remainder. The runtime and torch round quotients of negative numbers differently.
pub(super) fn modulo(call: &Call<'_>) -> Inferred {
    binary(call, |a, b| match (a, b) {
        (Exact(a), Exact(b)) if a >= 0 && b > 0 => exact(a.checked_rem(b)),
        (AtMost(a), Exact(b)) | (Exact(a) | AtMost(a), AtMost(b)) if a >= 0 && b > 0 => AtMost(a.min(b - 1)),
        (Exact(_) | AtMost(_) | Unknown, _) => Unknown,
    })
}

/// `sym_max`
pub(super) fn max(call: &Call<'_>) -> Inferred {
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
pub(super) fn min(call: &Call<'_>) -> Inferred {
    binary(call, |a, b| match (a, b) {
        (Exact(a), Exact(b)) => Exact(a.min(b)),
        (AtMost(a), Exact(b)) | (Exact(b), AtMost(a)) => {
            if b <= 0 {
                Exact(b)
            } else {
                AtMost(a.min(b))
            }
        }
        (AtMost(a), AtMost(b)) => AtMost(a.min(b)),
        (Unknown, _) | (_, Unknown) => Unknown,
    })
}

/// `neg`
pub(super) fn neg(call: &Call<'_>) -> Inferred {
    match call.scalar_int(0)? {
        Some(Exact(value)) => int(exact(value.checked_neg())),
        Some(AtMost(_) | Unknown) => int(Unknown),
        None => scalar(),
    }
}

/// `sym_int` and `trunc`: a number, rounded towards 0.
pub(super) fn truncate(call: &Call<'_>) -> Inferred {
    rounded(call, f64::trunc)
}

/// `ceil`
pub(super) fn ceil(call: &Call<'_>) -> Inferred {
    rounded(call, f64::ceil)
}

/// `round`: halves to even.
pub(super) fn round(call: &Call<'_>) -> Inferred {
    rounded(call, f64::round_ties_even)
}

/// `sym_ite`: one of two numbers.
pub(super) fn select(call: &Call<'_>) -> Inferred {
    let (Some(a), Some(b)) = (call.scalar_int(1)?, call.scalar_int(2)?) else { return scalar() };
    int(match (a, b) {
        (Exact(a), Exact(b)) if a == b => Exact(a),
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

#[cfg(test)]
mod tests {
    use super::super::Argument;
    use super::super::IntMeta::{AtMost, Unknown};
    use super::super::testing::{i, results, t};

    #[test]
    fn sizes_are_computed() {
        let cases = [
            ("aten::sym_size.int", vec![t("float32 2 <=3"), i(-1)], "AtMost(3)"),
            ("aten::sym_size.int", vec![t("float32 2 <=3"), i(0)], "Exact(2)"),
            (
                "aten::sym_size.int",
                vec![t("float32"), i(0)],
                "argument 0: a tensor of no dimensions; expected a tensor of 1 dimension or more",
            ),
            ("aten::sym_numel", vec![t("float32 2 <=3")], "AtMost(6)"),
            ("aten::_local_scalar_dense", vec![t("int64 1")], "Unknown"),
            ("aten::_local_scalar_dense", vec![t("float32")], "a number"),
            ("aten::_local_scalar_dense", vec![t("int64 2")], "Unknown"),
            (
                "aten::_local_scalar_dense",
                vec![t("int64 2 0")],
                "argument 0: sizes [2, 0]; expected a tensor of one element or more",
            ),
            ("executorch_prim::add.Scalar", vec![i(2), Argument::Int(AtMost(3))], "AtMost(5)"),
            ("executorch_prim::add.Scalar", vec![i(i64::MAX), i(1)], "Unknown"),
            ("executorch_prim::add.Scalar", vec![i(1), Argument::Double(1.0)], "a number"),
            ("executorch_prim::sub.Scalar", vec![Argument::Int(AtMost(3)), i(1)], "AtMost(2)"),
            ("executorch_prim::sub.Scalar", vec![Argument::Int(AtMost(3)), i(4)], "Unknown"),
            ("executorch_prim::sub.Scalar", vec![i(9), Argument::Int(AtMost(4))], "AtMost(9)"),
            ("executorch_prim::mul.Scalar", vec![Argument::Int(AtMost(3)), i(4)], "AtMost(12)"),
            ("executorch_prim::mul.Scalar", vec![i(-1), Argument::Int(AtMost(3))], "Unknown"),
            ("executorch_prim::mul.Scalar", vec![i(0), Argument::Int(Unknown)], "Exact(0)"),
            ("executorch_prim::floordiv.Scalar", vec![i(-7), i(2)], "Exact(-4)"),
            ("executorch_prim::floordiv.int", vec![Argument::Int(AtMost(7)), i(2)], "AtMost(3)"),
            ("executorch_prim::floordiv.Scalar", vec![i(7), i(0)], "Unknown"),
            ("executorch_prim::floordiv.Scalar", vec![i(i64::MIN), i(-1)], "Unknown"),
            ("executorch_prim::mod.Scalar", vec![i(7), i(4)], "Exact(3)"),
            ("executorch_prim::mod.int", vec![Argument::Int(AtMost(9)), i(4)], "AtMost(3)"),
            ("executorch_prim::mod.Scalar", vec![i(-7), i(4)], "Unknown"),
            ("executorch_prim::mod.Scalar", vec![i(7), i(0)], "Unknown"),
            ("executorch_prim::sym_max.Scalar", vec![Argument::Int(AtMost(3)), i(4)], "Exact(4)"),
            ("executorch_prim::sym_max.Scalar", vec![Argument::Int(AtMost(5)), i(4)], "AtMost(5)"),
            ("executorch_prim::sym_min.Scalar", vec![Argument::Int(AtMost(5)), i(4)], "AtMost(4)"),
            ("executorch_prim::sym_min.Scalar", vec![Argument::Int(AtMost(5)), i(-4)], "Exact(-4)"),
            ("executorch_prim::neg.Scalar", vec![i(4)], "Exact(-4)"),
            ("executorch_prim::neg.Scalar", vec![i(i64::MIN)], "Unknown"),
            ("executorch_prim::ceil.Scalar", vec![Argument::Double(1.5)], "Exact(2)"),
            ("executorch_prim::round.Scalar", vec![Argument::Double(2.5)], "Exact(2)"),
            ("executorch_prim::trunc.Scalar", vec![Argument::Double(-1.5)], "Exact(-1)"),
            ("executorch_prim::sym_int.Scalar", vec![Argument::Double(f64::NAN)], "Unknown"),
            ("executorch_prim::sym_int.Scalar", vec![Argument::Unknown], "Unknown"),
            ("executorch_prim::truediv.Scalar", vec![i(4), i(2)], "a number"),
            ("executorch_prim::ge.Scalar", vec![i(4), i(2)], "a number"),
            ("executorch_prim::sym_ite.Scalar", vec![Argument::Unknown, Argument::Int(AtMost(3)), i(5)], "AtMost(5)"),
            ("executorch_prim::add.Scalar", vec![t("float32"), i(2)], "argument 0: a Tensor; expected Scalar"),
        ];
        for (name, args, expected) in cases {
            assert_eq!(results(name, &args), expected, "{name}");
        }
    }
}
