//! Operators that compute each element from the elements at the same position of the broadcast operands.

use super::broadcast::{broadcast, elementwise_order, expands_to};
use super::promotion::{self, ResultType, result_type};
use super::shape::{Inferred, Result, dim_argument, dim_of_int, dim_order, one, size_list, sizes_text};
use super::{Call, Dim, IntMeta, ResultMeta, TensorMeta};
use pte_model::format::ScalarType;

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
pub(crate) fn unary(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0], &[0], ResultType::Promoted)
}

/// A function of one tensor to floating point numbers.
pub(crate) fn unary_floating(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0], &[0], ResultType::Floating)
}

/// A predicate of one tensor.
pub(crate) fn unary_bool(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0], &[0], ResultType::Bool)
}

/// Absolute value: real for complex numbers.
pub(crate) fn abs(call: &Call<'_>) -> Inferred {
    let real = promotion::real_of(call.tensor(0)?.scalar_type);
    one(broadcast_tensors(call, &[0], real)?)
}

/// A function of two operands to the type to which they are promoted.
pub(crate) fn binary(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0, 1], &[0, 1], ResultType::Promoted)
}

/// A function of two operands to floating point numbers.
pub(crate) fn binary_floating(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0, 1], &[0, 1], ResultType::Floating)
}

/// A predicate of two operands.
pub(crate) fn binary_bool(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0, 1], &[0, 1], ResultType::Bool)
}

/// A power: of truth values, an integer.
pub(crate) fn pow(call: &Call<'_>) -> Inferred {
    pointwise(call, &[0, 1], &[0, 1], ResultType::Integer)
}

/// A quotient that is rounded down.
pub(crate) fn floor_divide(call: &Call<'_>) -> Inferred {
    let scalar_type = result_type(call, &[0, 1])?;
    let mut quotient = broadcast_tensors(call, &[0, 1], scalar_type)?;
    if !promotion::is_integral(scalar_type) && !call.is_scalar(1) {
        // torch selects the elements of a floating point result by the divisor, whose order in memory comes first.
        quotient.dim_order = elementwise_order(&quotient.sizes, &[call.tensor(1)?]);
    }
    one(quotient)
}

/// A division that rounds if a mode is given.
pub(crate) fn div_mode(call: &Call<'_>) -> Inferred {
    match call.optional_str(2)? {
        None => binary_floating(call),
        Some("floor") => floor_divide(call),
        Some("trunc") => binary(call),
        Some(other) => call.invalid(2, format!("rounding mode `{other}`"), "`floor`, `trunc` or None"),
    }
}

/// A function of three operands, the second and third of which may be None.
pub(crate) fn clamp(call: &Call<'_>) -> Inferred {
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
pub(crate) fn where_self(call: &Call<'_>) -> Inferred {
    check_mask(call, 0)?;
    pointwise(call, &[0, 1, 2], &[1, 2], ResultType::Promoted)
}

/// The first argument, contiguous, with the elements replaced that the mask, argument 1, selects.
pub(crate) fn masked(call: &Call<'_>) -> Inferred {
    check_mask(call, 1)?;
    let sizes = broadcast(call, &[(0, call.tensor(0)?), (1, call.tensor(1)?)])?;
    one(TensorMeta::contiguous(call.tensor(0)?.scalar_type, sizes))
}

/// A contiguous copy.
pub(crate) fn contiguous(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    one(TensorMeta::contiguous(tensor.scalar_type, tensor.sizes.clone()))
}

/// A tensor like the first argument, filled with the element of the second.
pub(crate) fn fill(call: &Call<'_>) -> Inferred {
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
pub(crate) fn copy(call: &Call<'_>) -> Inferred {
    let (target, source) = (call.tensor(0)?, call.tensor(1)?);
    if !expands_to(&source.sizes, &target.sizes) {
        let expected = format!("sizes that broadcast to {} of `{}`", size_list(&target.sizes), call.name(0));
        return call.invalid(1, sizes_text(&source.sizes), expected);
    }
    like(call)
}

/// A copy in a memory format, which is the argument at `AT`.
pub(crate) fn copy_in_format<const AT: usize>(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dim_order = match call.optional_int(AT)? {
        None => tensor.dim_order.clone(),
        Some(format) => super::creation::format_order(call, AT, format, tensor)?,
    };
    one(TensorMeta { dim_order, ..tensor.clone() })
}

/// A tensor of other sizes; a size of 1 is repeated, and -1 keeps a size.
pub(crate) fn expand(call: &Call<'_>) -> Inferred {
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
pub(crate) fn glu(call: &Call<'_>) -> Inferred {
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
pub(crate) fn native_dropout(call: &Call<'_>) -> Inferred {
    let kept = broadcast_tensors(call, &[0], call.tensor(0)?.scalar_type)?;
    let mask = kept.clone().with_type(ScalarType::BOOL);
    Ok(vec![ResultMeta::Tensor(kept), ResultMeta::Tensor(mask)])
}

/// Normalised exponentials of a dimension; float32 for half precision if the last argument is true.
pub(crate) fn softmax(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    dim_argument(call, 1, tensor.rank())?;
    let scalar_type = if call.bool(2)? { ScalarType::FLOAT } else { tensor.scalar_type };
    one(TensorMeta::contiguous(scalar_type, tensor.sizes.clone()))
}
