//! Views of a tensor, and copies of views: permutations, other shapes, parts. The copies are contiguous.

use super::operands::agree;
use super::shape::{Inferred, Result, checked_dim, dim_argument, dim_of_int, one, size_list, sizes_text};
use super::{Call, Dim, InferenceError, IntMeta, TensorMeta};
use pte_model::format::ScalarType;

/// Other sizes with the same number of elements; one size may be -1.
pub(crate) fn view(call: &Call<'_>) -> Inferred {
    let (tensor, requested) = (call.tensor(0)?, call.ints(1)?);
    let mut sizes = Vec::with_capacity(requested.len());
    let mut open = None;
    for (at, int) in requested.into_iter().enumerate() {
        match int {
            IntMeta::Exact(-1) if open.is_none() => {
                open = Some(at);
                sizes.push(Dim::fixed(1));
            }
            IntMeta::Exact(-1) => return call.invalid(1, "two sizes of -1", "at most one size of -1"),
            int => sizes.push(dim_of_int(call, 1, int)?),
        }
    }
    match open {
        Some(open) => sizes[open] = remaining(call, tensor, &sizes)?,
        None => check_count(call, tensor, &sizes)?,
    }
    one(TensorMeta::contiguous(tensor.scalar_type, sizes))
}

/// Checks that sizes have as many elements as a tensor, as far as that is certain.
fn check_count(call: &Call<'_>, tensor: &TensorMeta, sizes: &[Dim]) -> Result<()> {
    let (own, other) = (Count::new(&tensor.sizes)?, Count::new(sizes)?);
    let is_possible = match (own.bounds.is_empty(), other.bounds.is_empty()) {
        (true, true) => own.fixed == other.fixed,
        // The number of elements is at most the product with the upper bounds.
        (true, false) => own.fixed <= other.all()?,
        (false, true) => other.fixed <= own.all()?,
        (false, false) => true,
    };
    if is_possible { Ok(()) } else { wrong_count(call, tensor, sizes) }
}

fn wrong_count<T>(call: &Call<'_>, tensor: &TensorMeta, sizes: &[Dim]) -> Result<T> {
    let count = Count::new(&tensor.sizes)?.all()?;
    let expected = format!("sizes of the {count} elements of {} of `{}`", size_list(&tensor.sizes), call.name(0));
    call.invalid(1, sizes_text(sizes), expected)
}

/// Returns the size that -1 stands for; it is 1 among the sizes.
fn remaining(call: &Call<'_>, tensor: &TensorMeta, sizes: &[Dim]) -> Result<Dim> {
    let (mut own, mut other) = (Count::new(&tensor.sizes)?, Count::new(sizes)?);
    if own.bounds.is_empty() && other.bounds.is_empty() {
        return match own.fixed.checked_rem(other.fixed) {
            Some(0) => Ok(Dim::fixed(own.fixed / other.fixed)),
            Some(_) | None => wrong_count(call, tensor, sizes),
        };
    }
    // The same upper bound on both sides is that of the same dimension.
    other.bounds.retain(|bound| match own.bounds.iter().position(|own| own == bound) {
        Some(at) => {
            own.bounds.swap_remove(at);
            false
        }
        None => true,
    });
    if product(&own.bounds)? == product(&other.bounds)? {
        own.bounds.clear();
        other.bounds.clear();
    }
    let dynamic = !own.bounds.is_empty() || !other.bounds.is_empty();
    match own.all()?.checked_div(other.fixed) {
        Some(size) => Ok(Dim { size, dynamic }),
        None => Err(InferenceError::Undetermined("a size of -1 beside one of 0")),
    }
}

/// Number of elements.
struct Count {
    /// Product of the sizes that are fixed.
    fixed: i64,
    /// Upper bounds of the others.
    bounds: Vec<i64>,
}

impl Count {
    fn new(sizes: &[Dim]) -> Result<Count> {
        let bounds = sizes.iter().filter(|dim| dim.dynamic).map(|dim| dim.size).collect();
        let fixed: Vec<i64> = sizes.iter().filter(|dim| !dim.dynamic).map(|dim| dim.size).collect();
        Ok(Count { fixed: product(&fixed)?, bounds })
    }

    /// Returns the upper bound of the number of elements.
    fn all(&self) -> Result<i64> {
        match self.fixed.checked_mul(product(&self.bounds)?) {
            Some(count) => Ok(count),
            None => Err(InferenceError::Undetermined("the number of elements overflows")),
        }
    }
}

fn product(sizes: &[i64]) -> Result<i64> {
    if sizes.contains(&0) {
        return Ok(0);
    }
    let product = sizes.iter().try_fold(1_i64, |product, size| product.checked_mul(*size));
    product.ok_or(InferenceError::Undetermined("the number of elements overflows"))
}

/// The dimensions in another order.
pub(crate) fn permute(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dims = call.exact_ints(1)?;
    if dims.len() != tensor.rank() {
        return call.invalid(1, format!("{} dimensions", dims.len()), format!("{} dimensions", tensor.rank()));
    }
    let mut sizes = Vec::with_capacity(dims.len());
    for dim in distinct(call, &dims, tensor.rank())? {
        sizes.push(tensor.sizes[dim]);
    }
    one(TensorMeta::contiguous(tensor.scalar_type, sizes))
}

/// Returns the dimensions that the argument 1 lists, without duplicates.
fn distinct(call: &Call<'_>, dims: &[i64], rank: usize) -> Result<Vec<usize>> {
    let mut distinct = Vec::with_capacity(dims.len());
    for &dim in dims {
        let index = checked_dim(call, 1, dim, rank)?;
        if distinct.contains(&index) {
            return call.invalid(1, format!("dimension {dim} a second time"), "each dimension at most once");
        }
        distinct.push(index);
    }
    Ok(distinct)
}

/// Two dimensions are exchanged.
pub(crate) fn transpose(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let (a, b) = (dim_argument(call, 1, tensor.rank())?, dim_argument(call, 2, tensor.rank())?);
    let mut sizes = tensor.sizes.clone();
    if !sizes.is_empty() {
        sizes.swap(a, b);
    }
    one(TensorMeta::contiguous(tensor.scalar_type, sizes))
}

/// The transpose of a matrix; a tensor of fewer dimensions is copied.
pub(crate) fn t(call: &Call<'_>) -> Inferred {
    let tensor = super::operands::ranked(call, 0, &[0, 1, 2])?;
    let sizes = tensor.sizes.iter().rev().copied().collect();
    one(TensorMeta::contiguous(tensor.scalar_type, sizes))
}

/// A dimension of size 1 is removed.
pub(crate) fn squeeze(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dim = dim_argument(call, 1, tensor.rank())?;
    one(squeezed(tensor, &[dim]))
}

/// Listed dimensions of size 1 are removed.
pub(crate) fn squeeze_dims(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dims = distinct(call, &call.exact_ints(1)?, tensor.rank())?;
    one(squeezed(tensor, &dims))
}

fn squeezed(tensor: &TensorMeta, dims: &[usize]) -> TensorMeta {
    let sizes = tensor.sizes.iter().enumerate().filter(|(at, dim)| dim.size != 1 || !dims.contains(at));
    TensorMeta::contiguous(tensor.scalar_type, sizes.map(|(_, dim)| *dim).collect())
}

/// A dimension of size 1 is inserted.
pub(crate) fn unsqueeze(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dim = dim_argument(call, 1, tensor.rank() + 1)?;
    let mut sizes = tensor.sizes.clone();
    sizes.insert(dim, Dim::fixed(1));
    one(TensorMeta::contiguous(tensor.scalar_type, sizes))
}

/// The windows of a dimension; their size is a dimension at the end.
pub(crate) fn unfold(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dim = dim_argument(call, 1, tensor.rank())?;
    let (size, step) = (call.exact(2)?, call.exact(3)?);
    let own = tensor.sizes.get(dim).copied().unwrap_or(Dim::fixed(1));
    if size < 0 || size > own.size {
        let expected = format!("at least 0, and at most size {} of dimension {dim} of `{}`", own.size, call.name(0));
        return call.invalid(2, size.to_string(), expected);
    }
    if step < 1 {
        return call.invalid(3, step.to_string(), "a positive step");
    }
    let mut sizes = tensor.sizes.clone();
    if let Some(windows) = sizes.get_mut(dim) {
        // `size` is at most the size of the dimension.
        *windows = Dim { size: ((own.size - size) / step).saturating_add(1), ..own };
    }
    sizes.push(Dim::fixed(size));
    one(TensorMeta::contiguous(tensor.scalar_type, sizes))
}

/// Listed sizes with listed strides.
pub(crate) fn as_strided(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let sizes = call.ints(1)?.into_iter().map(|int| dim_of_int(call, 1, int)).collect::<Result<Vec<_>>>()?;
    let strides = call.ints(2)?;
    if strides.len() != sizes.len() {
        return call.invalid(2, format!("{} strides", strides.len()), format!("{} strides", sizes.len()));
    }
    let negative = |int: &IntMeta| matches!(int, IntMeta::Exact(int) if *int < 0);
    if strides.iter().any(negative) {
        return call.invalid(2, "a negative stride", "strides that are not negative");
    }
    if call.optional_int(3)?.as_ref().is_some_and(negative) {
        return call.invalid(3, "a negative offset", "an offset that is not negative");
    }
    one(TensorMeta::contiguous(tensor.scalar_type, sizes))
}

/// Complex numbers as pairs of real numbers, which are a dimension at the end.
pub(crate) fn view_as_real(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let real: ScalarType = super::promotion::real_of(tensor.scalar_type);
    if real == tensor.scalar_type {
        return call.invalid(0, super::operands::type_text(tensor), "a tensor of complex numbers");
    }
    let mut sizes = tensor.sizes.clone();
    sizes.push(Dim::fixed(2));
    one(TensorMeta::contiguous(real, sizes))
}

/// A part of a dimension, of a start and a length.
pub(crate) fn narrow(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    if tensor.sizes.is_empty() {
        return call.invalid(0, "a tensor of no dimensions", "a tensor of 1 dimension or more");
    }
    let dim = dim_argument(call, 1, tensor.rank())?;
    let (own, length) = (tensor.sizes[dim], dim_of_int(call, 3, call.int(3)?)?);
    if let IntMeta::Exact(start) = call.int(2)? {
        if start > own.size || start < own.size.saturating_neg() {
            let expected = format!("a start within size {} of dimension {dim} of `{}`", own.size, call.name(0));
            return call.invalid(2, start.to_string(), expected);
        }
        // A negative start counts from the end, which is not known of a dynamic size.
        let first = if start >= 0 { Some(start) } else { (!own.dynamic).then_some(start + own.size) };
        if let Some(room) = first.map(|first| own.size - first)
            && length.size > room
            && !length.dynamic
        {
            let expected = format!("at most {room} of size {} of dimension {dim} of `{}`", own.size, call.name(0));
            return call.invalid(3, length.size.to_string(), expected);
        }
    }
    let mut sizes = tensor.sizes.clone();
    // The length of a dynamic size is its upper bound at most.
    sizes[dim] = agree(length, Dim { dynamic: true, ..own }).unwrap_or(length);
    one(TensorMeta::contiguous(tensor.scalar_type, sizes))
}
