//! Operators that combine the elements of dimensions.

use super::promotion::{is_integral, real_of};
use super::shape::{Inferred, Result, checked_dim, dim_argument, dim_list_argument, one, sizes_text};
use super::{Call, Dim, IntMeta, ResultMeta, TensorMeta};
use pte_model::format::ScalarType;

/// Returns sizes without the dimensions that are combined, or with 1 for them.
fn reduced(sizes: &[Dim], dims: &[usize], keep: bool) -> Vec<Dim> {
    let mut result = Vec::with_capacity(sizes.len());
    for (dim, size) in sizes.iter().enumerate() {
        match (dims.contains(&dim), keep) {
            (false, _) => result.push(*size),
            (true, true) => result.push(Dim::fixed(1)),
            (true, false) => {}
        }
    }
    result
}

/// Returns the dimensions that the argument `at` lists; all for None and for an empty list.
fn dims(call: &Call<'_>, at: usize, tensor: &TensorMeta) -> Result<Vec<usize>> {
    let dims = dim_list_argument(call, at, tensor.rank())?.unwrap_or_default();
    for (index, dim) in dims.iter().enumerate() {
        if dims[..index].contains(dim) {
            return call.invalid(at, format!("dimension {dim} twice"), "different dimensions");
        }
    }
    Ok(if dims.is_empty() { (0..tensor.rank()).collect() } else { dims })
}

/// Checks that the dimensions in which the operator selects elements have some.
fn check_not_empty(call: &Call<'_>, dims: &[usize]) -> Result<()> {
    let tensor = call.tensor(0)?;
    match dims.iter().find(|dim| tensor.sizes.get(**dim) == Some(&Dim::fixed(0))) {
        Some(dim) => call.invalid(0, sizes_text(&tensor.sizes), format!("elements in dimension {dim}")),
        None => Ok(()),
    }
}

/// Returns a reduction of the listed dimensions at argument `at`, with `keepdim` at argument `keep`.
fn over_list(call: &Call<'_>, at: usize, keep: usize, scalar_type: ScalarType) -> Result<TensorMeta> {
    let tensor = call.tensor(0)?;
    let sizes = reduced(&tensor.sizes, &dims(call, at, tensor)?, call.bool(keep)?);
    Ok(TensorMeta::contiguous(scalar_type, sizes))
}

/// Returns a reduction of one dimension, argument 1, with `keepdim` as argument 2.
fn over_dim(call: &Call<'_>, scalar_type: ScalarType) -> Result<TensorMeta> {
    let tensor = call.tensor(0)?;
    let dim = dim_argument(call, 1, tensor.rank())?;
    Ok(TensorMeta::contiguous(scalar_type, reduced(&tensor.sizes, &[dim], call.bool(2)?)))
}

/// Returns the type of a sum or product: int64 for integers, unless the argument `at` states another.
fn sum_type(call: &Call<'_>, at: usize) -> Result<ScalarType> {
    let own = call.tensor(0)?.scalar_type;
    Ok(call.dtype(at)?.unwrap_or(if is_integral(own) { ScalarType::LONG } else { own }))
}

/// Returns the type of a mean: that of the tensor, unless the argument `at` states another.
///
/// # Errors
/// A mean of integers in their type.
fn mean_type(call: &Call<'_>, at: usize) -> Result<ScalarType> {
    let (at, scalar_type) = match call.dtype(at)? {
        Some(stated) => (at, stated),
        None => (0, call.tensor(0)?.scalar_type),
    };
    if is_integral(scalar_type) {
        return call.invalid(at, format!("element type {scalar_type}"), "a floating point or complex type");
    }
    Ok(scalar_type)
}

/// Returns the type of a predicate of dimensions.
fn any_type(call: &Call<'_>) -> Result<ScalarType> {
    let own = call.tensor(0)?.scalar_type;
    // torch kept uint8 from the time before bool.
    Ok(if own == ScalarType::BYTE { own } else { ScalarType::BOOL })
}

/// A sum of the listed dimensions.
pub(crate) fn sum(call: &Call<'_>) -> Inferred {
    one(over_list(call, 1, 2, sum_type(call, 3)?)?)
}

/// A mean of the listed dimensions.
pub(crate) fn mean(call: &Call<'_>) -> Inferred {
    one(over_list(call, 1, 2, mean_type(call, 3)?)?)
}

/// A mean of all elements.
pub(crate) fn mean_all(call: &Call<'_>) -> Inferred {
    one(TensorMeta::contiguous(mean_type(call, 1)?, Vec::new()))
}

/// The greatest or least elements of the listed dimensions.
pub(crate) fn extreme(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    check_not_empty(call, &dims(call, 1, tensor)?)?;
    one(over_list(call, 1, 2, tensor.scalar_type)?)
}

/// The greatest or least element.
pub(crate) fn extreme_all(call: &Call<'_>) -> Inferred {
    one(TensorMeta::contiguous(call.tensor(0)?.scalar_type, Vec::new()))
}

/// The greatest or least elements of a dimension, and their positions.
pub(crate) fn extreme_with_indices(call: &Call<'_>) -> Inferred {
    let values = over_dim(call, call.tensor(0)?.scalar_type)?;
    let indices = values.clone().with_type(ScalarType::LONG);
    Ok(vec![ResultMeta::Tensor(values), ResultMeta::Tensor(indices)])
}

/// The position of the greatest or least element, of a dimension or of all elements.
pub(crate) fn position(call: &Call<'_>) -> Inferred {
    if call.is_none(1) {
        let tensor = call.tensor(0)?;
        let dims: Vec<usize> = (0..tensor.rank()).collect();
        check_not_empty(call, &dims)?;
        return one(TensorMeta::contiguous(ScalarType::LONG, reduced(&tensor.sizes, &dims, call.bool(2)?)));
    }
    one(over_dim(call, ScalarType::LONG)?)
}

/// A product of a dimension.
pub(crate) fn prod(call: &Call<'_>) -> Inferred {
    one(over_dim(call, sum_type(call, 3)?)?)
}

/// A product of all elements.
pub(crate) fn prod_all(call: &Call<'_>) -> Inferred {
    one(TensorMeta::contiguous(sum_type(call, 1)?, Vec::new()))
}

/// Truth of an element of a dimension.
pub(crate) fn any(call: &Call<'_>) -> Inferred {
    one(over_dim(call, any_type(call)?)?)
}

/// Truth of an element of the listed dimensions.
pub(crate) fn any_dims(call: &Call<'_>) -> Inferred {
    // Unlike for a sum, an empty list is not a dimension.
    if dim_list_argument(call, 1, call.tensor(0)?.rank())?.is_some_and(|dims| dims.is_empty()) {
        return one(call.tensor(0)?.clone().with_type(any_type(call)?));
    }
    one(over_list(call, 1, 2, any_type(call)?)?)
}

/// Truth of an element.
pub(crate) fn any_all(call: &Call<'_>) -> Inferred {
    one(TensorMeta::contiguous(any_type(call)?, Vec::new()))
}

/// A variance of the listed dimensions, with `keepdim` as argument 3.
pub(crate) fn var(call: &Call<'_>) -> Inferred {
    one(over_list(call, 1, 3, real_of(call.tensor(0)?.scalar_type))?)
}

/// A variance and a mean.
pub(crate) fn var_mean(call: &Call<'_>) -> Inferred {
    let own = call.tensor(0)?.scalar_type;
    let mean = over_list(call, 1, 3, own)?;
    Ok(vec![ResultMeta::Tensor(mean.clone().with_type(real_of(own))), ResultMeta::Tensor(mean)])
}

/// Running sums of a dimension.
pub(crate) fn cumsum(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    dim_argument(call, 1, tensor.rank())?;
    one(TensorMeta::contiguous(sum_type(call, 2)?, tensor.sizes.clone()))
}

/// The greatest or least elements of a dimension in order, and their positions.
pub(crate) fn topk(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let rank = tensor.rank();
    let dim = checked_dim(call, 2, call.exact(2)?, rank)?;
    let own = tensor.sizes.get(dim).copied().unwrap_or(Dim::fixed(1));
    let count = match call.int(1)? {
        IntMeta::Exact(count) if count < 0 || count > own.size => {
            return call.invalid(1, count.to_string(), format!("a count of at most {}", own.size));
        }
        IntMeta::Exact(count) => Dim::fixed(count),
        IntMeta::AtMost(count) => Dim { size: count.min(own.size).max(0), dynamic: true },
        IntMeta::Unknown => Dim { size: own.size, dynamic: true },
    };
    let mut sizes = tensor.sizes.clone();
    if let Some(size) = sizes.get_mut(dim) {
        *size = count;
    }
    let values = TensorMeta::contiguous(tensor.scalar_type, sizes);
    let indices = values.clone().with_type(ScalarType::LONG);
    Ok(vec![ResultMeta::Tensor(values), ResultMeta::Tensor(indices)])
}
