//! Concatenation of tensors, and their division into several.

use super::layout::{MemoryFormat, strided, view_strides};
use super::operands::agree;
use super::promotion::type_of_tensors;
use super::shape::{Inferred, Result, checked_dim, dim_argument, dim_of_int, element_count, one, sizes_text};
use super::{Call, Dim, InferenceError, ResultMeta, TensorMeta};
use pte_model::format::ScalarType;

/// Maximum number of tensors that a tensor is divided into.
const MAX_PARTS: i64 = 1 << 16;

/// Tensors one after another in a dimension. Those of sizes [0] are ignored.
pub(crate) fn cat(call: &Call<'_>) -> Inferred {
    let tensors = operands(call)?;
    let is_ignored = |tensor: &TensorMeta| tensor.sizes == [Dim::fixed(0)];
    let Some(first) = tensors.iter().copied().find(|tensor| !is_ignored(tensor)) else {
        return one(TensorMeta::contiguous(common_type(call, &tensors)?, vec![Dim::fixed(0)]));
    };
    let dim = dim_of(call, 1, first.rank())?;
    if first.sizes.is_empty() {
        return call.invalid(0, "a tensor of no dimensions", "tensors of 1 dimension or more");
    }
    let mut sizes = first.sizes.clone();
    sizes[dim] = Dim::fixed(0);
    for tensor in tensors.iter().filter(|tensor| !is_ignored(tensor)) {
        sizes = appended(call, &sizes, dim, tensor)?;
    }
    let scalar_type = common_type(call, &tensors)?;
    let format = common_format(&tensors);
    one(format.tensor(scalar_type, sizes))
}

/// Tensors of the same sizes one after another in a dimension that is inserted.
pub(crate) fn stack(call: &Call<'_>) -> Inferred {
    let tensors = operands(call)?;
    let Some((first, rest)) = tensors.split_first() else {
        return call.invalid(0, "no tensors", "one tensor or more");
    };
    let dim = dim_of(call, 1, first.rank() + 1)?;
    let mut sizes = first.sizes.clone();
    for tensor in rest {
        sizes = merged(call, &sizes, tensor, None)?;
    }
    let count = i64::try_from(tensors.len()).unwrap_or(i64::MAX);
    let scalar_type = common_type(call, &tensors)?;
    let Some(divided) = sizes.get(dim).copied() else {
        sizes.push(Dim::fixed(count));
        return one(TensorMeta::contiguous(scalar_type, sizes));
    };
    // The result is a view of the concatenation in the dimension before which one is inserted.
    let mut joined = sizes.clone();
    joined[dim].size = divided.size.saturating_mul(count);
    sizes.insert(dim, Dim::fixed(count));
    let joined = common_format(&tensors).tensor(scalar_type, joined);
    let strides = view_strides(&lengths(&joined.sizes), &joined.strides(), &lengths(&sizes));
    match strides.filter(|_| element_count(&sizes) > 0) {
        Some(strides) => one(strided(scalar_type, sizes, &strides)),
        None => one(TensorMeta::contiguous(scalar_type, sizes)),
    }
}

fn lengths(sizes: &[Dim]) -> Vec<i64> {
    sizes.iter().map(|dim| dim.size).collect()
}

/// Parts of one size; the last one may be smaller.
pub(crate) fn split(call: &Call<'_>) -> Inferred {
    let (tensor, dim) = divided(call, 2)?;
    let part = call.exact(1)?;
    let size = fixed(tensor.sizes[dim])?;
    if part < 0 || part == 0 && size > 0 {
        return call.invalid(1, part.to_string(), "a positive size");
    }
    let count = match part {
        0 => 1,
        part => (size / part + i64::from(size % part > 0)).max(1),
    };
    if count > MAX_PARTS {
        return Err(InferenceError::Undetermined("the tensor is divided into too many"));
    }
    let last = size - (count - 1) * part;
    let parts = (0..count).map(|at| Dim::fixed(if at + 1 == count { last } else { part }));
    contiguous_parts(tensor, dim, parts)
}

/// Parts of listed sizes, whose sum is the size of the dimension.
pub(crate) fn split_with_sizes(call: &Call<'_>) -> Inferred {
    let (tensor, dim) = divided(call, 2)?;
    let parts = call.ints(1)?.into_iter().map(|int| dim_of_int(call, 1, int)).collect::<Result<Vec<_>>>()?;
    let sum = parts.iter().fold(Dim::fixed(0), |sum, part| plus(sum, *part));
    if agree(sum, tensor.sizes[dim]).is_none() {
        let expected =
            format!("sizes whose sum is {} of dimension {dim} of `{}`", tensor.sizes[dim].size, call.name(0));
        return call.invalid(1, sizes_text(&parts), expected);
    }
    contiguous_parts(tensor, dim, parts.into_iter())
}

/// The parts of size 1, without the dimension.
pub(crate) fn unbind(call: &Call<'_>) -> Inferred {
    let (tensor, dim) = divided(call, 1)?;
    let count = fixed(tensor.sizes[dim])?;
    if count > MAX_PARTS {
        return Err(InferenceError::Undetermined("the tensor is divided into too many"));
    }
    let mut sizes = tensor.sizes.clone();
    sizes.remove(dim);
    let part = TensorMeta::contiguous(tensor.scalar_type, sizes);
    Ok(vec![ResultMeta::Tensors((0..count).map(|_| part.clone()).collect())])
}

/// Returns the tensor and the dimension in which it is divided.
fn divided<'a>(call: &Call<'a>, dim_at: usize) -> Result<(&'a TensorMeta, usize)> {
    let tensor = call.tensor(0)?;
    if tensor.sizes.is_empty() {
        return call.invalid(0, "a tensor of no dimensions", "a tensor of 1 dimension or more");
    }
    Ok((tensor, dim_argument(call, dim_at, tensor.rank())?))
}

/// Returns the size of a dimension that is constant.
fn fixed(dim: Dim) -> Result<i64> {
    match dim.dynamic {
        true => Err(InferenceError::Undetermined("the number of tensors depends on a dynamic size")),
        false => Ok(dim.size),
    }
}

fn contiguous_parts(tensor: &TensorMeta, dim: usize, parts: impl Iterator<Item = Dim>) -> Inferred {
    let part = |size| {
        let mut sizes = tensor.sizes.clone();
        sizes[dim] = size;
        TensorMeta::contiguous(tensor.scalar_type, sizes)
    };
    Ok(vec![ResultMeta::Tensors(parts.map(part).collect())])
}

/// Returns the tensors of the first argument.
fn operands<'a>(call: &Call<'a>) -> Result<Vec<&'a TensorMeta>> {
    let tensors: Option<Vec<_>> = call.tensors(0)?.into_iter().collect();
    match tensors {
        Some(tensors) if tensors.is_empty() => call.invalid(0, "no tensors", "one tensor or more"),
        Some(tensors) => Ok(tensors),
        None => call.invalid(0, "None in a list", "a list of Tensors"),
    }
}

/// Returns the dimension of the argument `at`, of tensors of this rank.
fn dim_of(call: &Call<'_>, at: usize, rank: usize) -> Result<usize> {
    checked_dim(call, at, call.exact(at)?, rank)
}

/// Returns the sizes with those of another tensor added in a dimension.
fn appended(call: &Call<'_>, sizes: &[Dim], dim: usize, tensor: &TensorMeta) -> Result<Vec<Dim>> {
    let mut all = merged(call, sizes, tensor, Some(dim))?;
    all[dim] = plus(sizes[dim], tensor.sizes[dim]);
    Ok(all)
}

/// Returns the sizes that agree with those of another tensor, except in one dimension.
fn merged(call: &Call<'_>, sizes: &[Dim], tensor: &TensorMeta, except: Option<usize>) -> Result<Vec<Dim>> {
    let pairs = sizes.iter().zip(&tensor.sizes).enumerate();
    let merge = pairs.map(|(at, (a, b))| if Some(at) == except { Some(*a) } else { agree(*a, *b) });
    let merged: Option<Vec<Dim>> = merge.collect();
    match merged.filter(|_| sizes.len() == tensor.rank()) {
        Some(merged) => Ok(merged),
        None => {
            let but = except.map_or_else(String::new, |dim| format!(" except in dimension {dim}"));
            call.invalid(0, sizes_text(&tensor.sizes), format!("{}{but}", sizes_text(sizes)))
        }
    }
}

fn plus(a: Dim, b: Dim) -> Dim {
    Dim { size: a.size.saturating_add(b.size), dynamic: a.dynamic || b.dynamic }
}

/// Returns the element type to which all tensors are promoted.
fn common_type(call: &Call<'_>, tensors: &[&TensorMeta]) -> Result<ScalarType> {
    let Some((first, rest)) = tensors.split_first() else { return Ok(ScalarType::FLOAT) };
    let Some(other) = rest.iter().find(|tensor| tensor.scalar_type != first.scalar_type) else {
        return Ok(first.scalar_type);
    };
    match type_of_tensors(tensors) {
        Some(scalar_type) => Ok(scalar_type),
        None => {
            let expected = format!("element types that are promoted with {}", first.scalar_type);
            call.invalid(0, super::operands::type_text(other), expected)
        }
    }
}

/// Returns the format of all tensors; contiguous if they differ.
fn common_format(tensors: &[&TensorMeta]) -> MemoryFormat {
    let all = tensors.iter().all(|tensor| MemoryFormat::suggested_by(tensor) == MemoryFormat::ChannelsLast);
    let same_rank = tensors.windows(2).all(|pair| pair[0].rank() == pair[1].rank());
    if all && same_rank { MemoryFormat::ChannelsLast } else { MemoryFormat::Contiguous }
}
