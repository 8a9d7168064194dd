//! Operators that compute each element from the elements at the same position of the broadcast operands.

use super::broadcast::{broadcast, elementwise_order, expands_to};
use super::promotion::{self, ResultType, result_type};
use super::shape::{Inferred, Result, dim_argument, dim_of_int, dim_order, one, size_list, sizes_text};
use super::{Call, Dim, IntMeta, ResultMeta, TensorMeta};
use crate::format::ScalarType;

/// Returns the broadcast result of the tensors among the arguments at `operands`; its type is that to which the
/// arguments at `typed` are promoted.
fn pointwise(call: &Call<'_>, operands: &[usize], typed: &[usize], result: ResultType) -> Inferred {
    let promoted = result_type(call, typed)?;
    one(broadcast_tensors(call, operands, result.of(promoted))?)
}

/// Returns a tensor of the common sizes of the tensors among the arguments.
fn broadcast_tensors(call: &Call<'_>, arguments: &[usize], scalar_type: ScalarType) -> Result<TensorMeta> {
    let mut tensors = Vec::with_capacity(arguments.len());
    for &at in arguments.iter().filter(|at| !call.is_scalar(**at)) {
        tensors.extend(call.optional_tensor(at)?.map(|tensor| (at, tensor)));
    }
    let sizes = broadcast(call, &tensors)?;
    let metas: Vec<&TensorMeta> = tensors.iter().map(|(_, tensor)| *tensor).collect();
    let dim_order = elementwise_order(&sizes, &metas);
    Ok(TensorMeta { scalar_type, sizes, dim_order })
}

/// A function of one tensor that keeps its type.
pub(super) fn unary(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0], &[0], ResultType::Promoted)
}

/// A function of one tensor to floating point numbers.
pub(super) fn unary_floating(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0], &[0], ResultType::Floating)
}

/// A predicate of one tensor.
pub(super) fn unary_bool(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0], &[0], ResultType::Bool)
}

/// Absolute value: real for complex numbers.
pub(super) fn abs(call: &Call<'_>) -> Inferred {
    let real = promotion::real_of(call.tensor(0)?.scalar_type);
    one(broadcast_tensors(call, &[0], real)?)
}

/// A function of two operands to the type to which they are promoted.
pub(super) fn binary(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0, 1], &[0, 1], ResultType::Promoted)
}

/// A function of two operands to floating point numbers.
pub(super) fn binary_floating(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0, 1], &[0, 1], ResultType::Floating)
}

/// A predicate of two operands.
pub(super) fn binary_bool(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0, 1], &[0, 1], ResultType::Bool)
}

/// A power: of truth values, an integer.
pub(super) fn pow(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0, 1], &[0, 1], ResultType::Integer)
}

/// A quotient that is rounded down.
pub(super) fn floor_divide(call: &Call<'_>) -> Inferred {
    let scalar_type = result_type(call, &[0, 1])?;
    let mut quotient = broadcast_tensors(call, &[0, 1], scalar_type)?;
    if !promotion::is_integral(scalar_type) && !call.is_scalar(1) {
        // torch selects the elements of a floating point result by the divisor, whose order in memory comes first.
        quotient.dim_order = elementwise_order(&quotient.sizes, &[call.tensor(1)?]);
    }
    one(quotient)
}

/// A division that rounds if a mode is given.
pub(super) fn div_mode(call: &Call<'_>) -> Inferred {
    match call.optional_str(2)? {
        None => binary_floating(call),
        Some("floor") => floor_divide(call),
        Some("trunc") => binary(call),
        Some(other) => call.invalid(2, format!("rounding mode `{other}`"), "`floor`, `trunc` or None"),
    }
}

/// A function of three operands, the second and third of which may be None.
pub(super) fn clamp(call: &Call<'_>) -> Inferred {
    if call.is_none(1) && call.is_none(2) {
        return call.invalid(1, "None", "a bound, here or as the next argument");
    }
    pointwise(call, &[0, 1, 2], &[0, 1, 2], ResultType::Promoted)
}

/// Checks that an argument is a tensor of truth values. torch takes uint8 with a warning.
fn check_mask(call: &Call<'_>, at: usize) -> Result<()> {
    match call.tensor(at)?.scalar_type {
        ScalarType::BOOL | ScalarType::BYTE => Ok(()),
        other => call.invalid(at, format!("element type {other}"), "element type bool"),
    }
}

/// The second or third argument by a condition.
pub(super) fn where_self(call: &Call<'_>) -> Inferred {
    check_mask(call, 0)?;
    pointwise(call, &[0, 1, 2], &[1, 2], ResultType::Promoted)
}

/// The first argument, contiguous, with the elements replaced that the mask, argument 1, selects.
pub(super) fn masked(call: &Call<'_>) -> Inferred {
    check_mask(call, 1)?;
    let sizes = broadcast(call, &[(0, call.tensor(0)?), (1, call.tensor(1)?)])?;
    one(TensorMeta::contiguous(call.tensor(0)?.scalar_type, sizes))
}

/// A contiguous copy.
pub(super) fn contiguous(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    one(TensorMeta::contiguous(tensor.scalar_type, tensor.sizes.clone()))
}

/// A tensor like the first argument, filled with the element of the second.
pub(super) fn fill(call: &Call<'_>) -> Inferred {
    let value = call.tensor(1)?;
    if value.rank() > 0 {
        return call.invalid(1, sizes_text(&value.sizes), "no dimensions");
    }
    like(call)
}

/// A tensor like the first argument.
pub(super) fn like(call: &Call<'_>) -> Inferred {
    one(call.tensor(0)?.clone())
}

/// The first argument, over which the second is copied.
pub(super) fn copy(call: &Call<'_>) -> Inferred {
    let (target, source) = (call.tensor(0)?, call.tensor(1)?);
    if !expands_to(&source.sizes, &target.sizes) {
        let expected = format!("sizes that broadcast to {} of `{}`", size_list(&target.sizes), call.name(0));
        return call.invalid(1, sizes_text(&source.sizes), expected);
    }
    like(call)
}

/// A copy in a memory format, which is the argument at `AT`.
pub(super) fn copy_in_format<const AT: usize>(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dim_order = match call.optional_int(AT)? {
        None => tensor.dim_order.clone(),
        Some(format) => super::creation::format_order(call, AT, format, tensor)?,
    };
    one(TensorMeta { dim_order, ..tensor.clone() })
}

/// A tensor of other sizes; a size of 1 is repeated, and -1 keeps a size.
pub(super) fn expand(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let ints = call.ints(1)?;
    let Some(lead) = ints.len().checked_sub(tensor.rank()) else {
        let expected = format!("at least as many sizes as {} of `{}`", size_list(&tensor.sizes), call.name(0));
        return call.invalid(1, format!("{} sizes", ints.len()), expected);
    };
    let mut sizes = Vec::with_capacity(ints.len());
    for (at, int) in ints.into_iter().enumerate() {
        let own = at.checked_sub(lead).map(|at| tensor.sizes[at]);
        let size = match (own, int) {
            (Some(own), IntMeta::Exact(-1)) => own,
            (Some(own), int) => {
                let size = dim_of_int(call, 1, int)?;
                if !own.dynamic && !size.dynamic && own.size != 1 && own.size != size.size {
                    let expected = format!("sizes to which {} of `{}` expands", size_list(&tensor.sizes), call.name(0));
                    return call.invalid(1, format!("size {} of dimension {at}", size.size), expected);
                }
                // A size that is not 1 stays, so it bounds the result.
                if own.dynamic || own.size == 1 { size } else { own }
            }
            (None, int) => dim_of_int(call, 1, int)?,
        };
        sizes.push(size);
    }
    one(TensorMeta::contiguous(tensor.scalar_type, sizes))
}

/// A product of one half of a dimension and a function of the other.
pub(super) fn glu(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    if tensor.rank() == 0 {
        return call.invalid(0, "rank 0", "at least one dimension");
    }
    let dim = dim_argument(call, 1, tensor.rank())?;
    let Dim { size, dynamic } = tensor.sizes[dim];
    if size % 2 != 0 && !dynamic {
        return call.invalid(0, sizes_text(&tensor.sizes), format!("an even size of dimension {dim}"));
    }
    let mut sizes = tensor.sizes.clone();
    sizes[dim] = Dim { size: size / 2, dynamic };
    let halved = TensorMeta { sizes, ..tensor.clone() };
    // A size that becomes 1 may have its place by another dimension.
    one(TensorMeta { dim_order: dim_order(&halved.strides()), ..halved })
}

/// The elements that are kept, and the mask of them.
pub(super) fn native_dropout(call: &Call<'_>) -> Inferred {
    let kept = broadcast_tensors(call, &[0], call.tensor(0)?.scalar_type)?;
    let mask = kept.clone().with_type(ScalarType::BOOL);
    Ok(vec![ResultMeta::Tensor(kept), ResultMeta::Tensor(mask)])
}

/// Normalised exponentials of a dimension; float32 for half precision if the last argument is true.
pub(super) fn softmax(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    dim_argument(call, 1, tensor.rank())?;
    let scalar_type = if call.bool(2)? { ScalarType::FLOAT } else { tensor.scalar_type };
    one(TensorMeta::contiguous(scalar_type, tensor.sizes.clone()))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{i, list, results, t};
    use super::super::{Argument, IntMeta};

    #[test]
    fn elementwise_operators() {
        let none = || Argument::Null;
        let cases = [
            ("aten::abs.out", vec![t("complex64 2")], "float32 2"),
            ("aten::relu.out", vec![t("int8 2 <=3")], "int8 2 <=3"),
            ("aten::cos.out", vec![t("int64 2 3 @10")], "float32 2 3 @10"),
            ("aten::sigmoid.out", vec![t("float16 2")], "float16 2"),
            ("aten::isnan.out", vec![t("float32 2")], "bool 2"),
            ("aten::detach_copy.out", vec![t("float32 2 3 @10")], "float32 2 3"),
            ("aten::add.out", vec![t("float32 2 1"), t("int64 <=3")], "float32 2 <=3"),
            ("aten::add.out", vec![t("float32 4"), t("float32 <=9")], "float32 4"),
            (
                "aten::add.out",
                vec![t("float32 2 3"), t("float32 4 5")],
                "argument 1: sizes [4, 5]; expected sizes that broadcast with [2, 3] of `self`",
            ),
            ("aten::add.Scalar_out", vec![t("int32 2"), Argument::Double(0.5)], "float32 2"),
            ("aten::add.Scalar_out", vec![t("int32 2"), i(1)], "int32 2"),
            ("aten::add.out", vec![t("float32 2"), Argument::Unknown], "undetermined: an argument is unknown"),
            ("aten::add.out", vec![t("float32 2"), i(1)], "argument 1: an int; expected Tensor"),
            ("aten::eq.Tensor_out", vec![t("float32 2"), t("int64 2")], "bool 2"),
            ("aten::div.out", vec![t("int32 2"), t("int32 2")], "float32 2"),
            ("aten::div.out_mode", vec![t("int32 2"), t("int32 2"), Argument::Str("floor")], "int32 2"),
            ("aten::div.out_mode", vec![t("int32 2"), t("int32 2"), none()], "float32 2"),
            (
                "aten::div.out_mode",
                vec![t("int32 2"), t("int32 2"), Argument::Str("up")],
                "argument 2: rounding mode `up`; expected `floor`, `trunc` or None",
            ),
            ("aten::pow.Scalar_out", vec![Argument::Bool(true), t("bool 2")], "int64 2"),
            ("aten::clamp.out", vec![t("int32 2"), none(), Argument::Double(1.0)], "float32 2"),
            ("aten::clamp.Tensor_out", vec![t("int32 2"), t("int32 3 1"), none()], "int32 3 2"),
            ("aten::clamp.out", vec![t("int32 2")], "argument 1: None; expected a bound, here or as the next argument"),
            ("aten::where.self_out", vec![t("bool 3 1"), t("float32 2"), t("float64")], "float32 3 2"),
            (
                "aten::where.self_out",
                vec![t("float32 2"), t("float32 2"), t("float32 2")],
                "argument 0: element type float32; expected element type bool",
            ),
            ("aten::masked_fill.Scalar_out", vec![t("int32 2 3 @10"), t("bool 3"), i(1)], "int32 2 3"),
            (
                "aten::fill.Tensor_out",
                vec![t("int32 2"), t("float32 1")],
                "argument 1: sizes [1]; expected no dimensions",
            ),
            ("aten::copy.out", vec![t("int32 2 3"), t("float32 3")], "int32 2 3"),
            (
                "aten::copy_",
                vec![t("int32 3"), t("float32 2 3")],
                "argument 1: sizes [2, 3]; expected sizes that broadcast to [3] of `self`",
            ),
            ("aten::clone.out", vec![t("float32 1 2 3 4 @0231"), i(0)], "float32 1 2 3 4"),
            ("aten::clone.out", vec![t("float32 1 2 3 4 @0231")], "float32 1 2 3 4 @0231"),
            ("aten::_to_copy.out", vec![t("float32 1 2 3 4"), Argument::Bool(false), i(2)], "float32 1 2 3 4 @0231"),
            (
                "aten::clone.out",
                vec![t("float32 2"), i(2)],
                "argument 1: memory format 2; expected a memory format of rank 1",
            ),
            ("aten::expand_copy.out", vec![t("float32 1 3"), list(&[4, 2, -1])], "float32 4 2 3"),
            (
                "aten::expand_copy.out",
                vec![t("float32 2 3"), list(&[4, 3])],
                "argument 1: size 4 of dimension 0; expected sizes to which [2, 3] of `self` expands",
            ),
            ("aten::glu.out", vec![t("float32 4 <=6")], "float32 4 <=3"),
            ("aten::glu.out", vec![t("float32 4 5")], "argument 0: sizes [4, 5]; expected an even size of dimension 1"),
            ("aten::native_dropout.out", vec![t("float16 2"), Argument::Double(0.5), none()], "float16 2; bool 2"),
            ("aten::_softmax.out", vec![t("float16 2 3 @10"), i(1), Argument::Bool(true)], "float32 2 3"),
            (
                "aten::_softmax.out",
                vec![t("float32 2"), i(1)],
                "argument 1: dimension 1; expected a dimension from -1 to 0",
            ),
        ];
        for (name, args, expected) in cases {
            assert_eq!(results(name, &args), expected, "{name} {args:?}");
        }
    }

    #[test]
    fn a_dynamic_size_is_expanded_to() {
        let sizes = Argument::Ints(vec![IntMeta::AtMost(7), IntMeta::Exact(-1)]);
        assert_eq!(results("aten::expand_copy.out", &[t("float32 1 <=3"), sizes]), "float32 <=7 <=3");
    }
}
