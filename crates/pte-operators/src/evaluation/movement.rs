//! Copies, views, transpositions, slices, expansions and divisions: elements at regular positions of one tensor.

use pte_model::data::Blob;

use super::call::{Constant, ConstantCall, nbytes};
use super::error::{Result, refuse};
use super::numbers::Kind;
use super::strided::{Strided, strides};
use crate::inference::TensorMeta;

/// Returns the sizes of a tensor.
pub(super) fn sizes(meta: &TensorMeta) -> Vec<i64> {
    meta.sizes.iter().map(|dim| dim.size).collect()
}

/// Returns the number of bytes of an element.
pub(super) fn element(meta: &TensorMeta) -> Result<u64> {
    match meta.scalar_type.info() {
        Some(info) => Ok(info.size),
        None => refuse("an element type is unknown"),
    }
}

/// Returns sizes and distances of the dimensions of a contiguous tensor.
pub(super) fn dims(meta: &TensorMeta) -> Result<Vec<(i64, i64)>> {
    let sizes = sizes(meta);
    match strides(&sizes) {
        Some(strides) => Ok(sizes.into_iter().zip(strides).collect()),
        None => refuse("a tensor is too large"),
    }
}

/// Returns a dimension of an argument as an index.
pub(super) fn dim(call: &ConstantCall<'_>, at: usize, rank: usize) -> Result<usize> {
    wrapped(call.call.exact(at)?, rank)
}

/// Returns a dimension, which counts from the end if it is negative, as an index.
pub(super) fn wrapped(dim: i64, rank: usize) -> Result<usize> {
    let rank_int = rank.max(1) as i64;
    match usize::try_from(if dim < 0 { dim.saturating_add(rank_int) } else { dim }) {
        Ok(dim) if dim < rank => Ok(dim),
        _ => refuse("a dimension is out of range"),
    }
}

/// Returns the only result of a call: elements of its first argument, which and the result are contiguous and of one
/// type.
fn strided(call: &ConstantCall<'_>, dims: Vec<(i64, i64)>, offset: i64) -> Result<Vec<Blob>> {
    let tensor = call.tensor(0)?;
    call.check_contiguous()?;
    call.check_type(tensor.meta.scalar_type)?;
    let sizes = sizes(call.out()?);
    if dims.iter().map(|(size, _)| *size).ne(sizes) {
        return refuse("a result has other sizes than those that are inferred");
    }
    Ok(vec![Strided { offset, dims }.read(call, tensor.data, element(tensor.meta)?)?])
}

/// The bytes of the first argument: another shape, or a copy in the same order of memory.
pub(crate) fn same(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let (tensor, out) = (call.tensor(0)?, call.out()?);
    call.check_type(tensor.meta.scalar_type)?;
    if tensor.meta.dim_order != out.dim_order || tensor.meta.sizes != out.sizes {
        call.check_contiguous()?;
    }
    Ok(vec![tensor.data.clone()])
}

/// The elements of the first argument in another order of memory, converted.
pub(crate) fn copied(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    if call.call.bool(1)? {
        return refuse("a copy does not block");
    }
    let (tensor, out) = (call.tensor(0)?, call.out()?);
    // Some of the kernels do not take complex numbers.
    Kind::of(tensor.meta.scalar_type)?;
    if tensor.meta.sizes != out.sizes {
        return refuse("a result has other sizes than its argument");
    }
    let ordered = in_order(call, &tensor, out)?;
    converted(call, &Constant { meta: tensor.meta, data: &ordered }, out).map(|blob| vec![blob])
}

/// A copy in a memory format, which the kernel supports for contiguous tensors.
pub(crate) fn copied_contiguous(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    call.check_contiguous()?;
    copied(call)
}

/// Returns the elements of a tensor in the order of the out.
fn in_order(call: &ConstantCall<'_>, tensor: &Constant<'_>, out: &TensorMeta) -> Result<Blob> {
    let distance = |meta: &TensorMeta| {
        let ordered: Vec<i64> = meta.dim_order.iter().map(|dim| meta.sizes[usize::from(*dim)].size).collect();
        let mut by_dim = vec![0; ordered.len()];
        let distances = strides(&ordered)?;
        meta.dim_order.iter().zip(distances).for_each(|(dim, distance)| by_dim[usize::from(*dim)] = distance);
        Some(by_dim)
    };
    let Some(from) = distance(tensor.meta) else { return refuse("a tensor is too large") };
    let dims = out.dim_order.iter().map(|dim| (out.sizes[usize::from(*dim)].size, from[usize::from(*dim)])).collect();
    Strided { offset: 0, dims }.read(call, tensor.data, element(tensor.meta)?)
}

/// Returns the elements of a tensor as those of the type of the out.
pub(super) fn converted(call: &ConstantCall<'_>, tensor: &Constant<'_>, out: &TensorMeta) -> Result<Blob> {
    if tensor.meta.scalar_type == out.scalar_type {
        return Ok(tensor.data.clone());
    }
    let (from, to) = (Kind::of(tensor.meta.scalar_type)?, Kind::of(out.scalar_type)?);
    let mut bytes = Vec::with_capacity(call.bounded(nbytes(out))?);
    for item in call.read(tensor)?.chunks_exact(from.size()) {
        to.store(to.convert(from.load(item)?)?, &mut bytes)?;
    }
    Ok(Blob::bytes(bytes))
}

/// The elements that the movement of the operator selects.
pub(crate) fn moved(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let tensor = call.tensor(0)?;
    call.check_contiguous()?;
    let view = call.movement.and_then(|movement| movement(&call.call, crate::movement::Strided::of(tensor.meta)));
    let Some(view) = view else { return refuse("the elements are not at regular positions of the argument") };
    strided(call, view.sizes.into_iter().zip(view.strides).collect(), view.offset)
}

/// Positions of a dimension from a start on.
pub(crate) fn narrowed(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let mut dims = dims(call.tensor(0)?.meta)?;
    let dim = dim(call, 1, dims.len())?;
    let (size, stride) = dims[dim];
    let start = call.call.exact(2)?;
    let start = if start < 0 { start.saturating_add(size) } else { start };
    if !(0..=size).contains(&start) {
        return refuse("a position is out of range");
    }
    range_of(call, dims.as_mut_slice(), dim, stride)?;
    strided(call, dims, start * stride)
}

/// Sets size and distance of a dimension to those of a part; the out has the size.
fn range_of(call: &ConstantCall<'_>, dims: &mut [(i64, i64)], dim: usize, stride: i64) -> Result<()> {
    match call.out()?.sizes.get(dim) {
        Some(size) => dims[dim] = (size.size, stride),
        None => return refuse("a result has too few dimensions"),
    }
    Ok(())
}

/// Dimensions reversed.
pub(crate) fn flipped(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let mut dims = dims(call.tensor(0)?.meta)?;
    let mut offset = 0i64;
    for dim in call.call.exact_ints(1)? {
        if dims.is_empty() {
            break;
        }
        let (size, stride) = &mut dims[wrapped(dim, call.tensor(0)?.meta.rank())?];
        if *stride < 0 {
            return refuse("a dimension is reversed twice");
        }
        offset += (*size - 1).max(0) * *stride;
        *stride = -*stride;
    }
    strided(call, dims, offset)
}

/// The diagonal of two dimensions, as the last one.
pub(crate) fn diagonal(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let mut dims = dims(call.tensor(0)?.meta)?;
    let shift = call.call.exact(1)?;
    let (first, second) = (dim(call, 2, dims.len())?, dim(call, 3, dims.len())?);
    if first == second {
        return refuse("a dimension is given twice");
    }
    let ((_, row), (_, column)) = (dims[first], dims[second]);
    let offset = if shift < 0 { shift.saturating_neg().saturating_mul(row) } else { shift.saturating_mul(column) };
    dims.remove(first.max(second));
    dims.remove(first.min(second));
    let count = call.out()?.sizes.last().map_or(0, |dim| dim.size);
    dims.push((count, row.saturating_add(column)));
    strided(call, dims, offset)
}

/// A tensor several times in each dimension.
pub(crate) fn repeated(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let (own, repeats) = (dims(call.tensor(0)?.meta)?, call.call.exact_ints(1)?);
    let Some(lead) = repeats.len().checked_sub(own.len()) else { return refuse("a result has too few dimensions") };
    let mut dims = Vec::with_capacity(2 * repeats.len());
    for (at, repeat) in repeats.into_iter().enumerate() {
        if repeat < 0 {
            return refuse("a number of repetitions is negative");
        }
        dims.push((repeat, 0));
        dims.extend(at.checked_sub(lead).map(|at| own[at]));
    }
    let tensor = call.tensor(0)?;
    call.check_contiguous()?;
    call.check_type(tensor.meta.scalar_type)?;
    Ok(vec![Strided { offset: 0, dims }.read(call, tensor.data, element(tensor.meta)?)?])
}

/// Channels moved into the last two dimensions.
pub(crate) fn pixels_shuffled(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    pixels(call, |[channels, height, width], factor| {
        let plane = height.checked_mul(width)?;
        let own = channels.checked_div(factor.checked_mul(factor)?)?;
        let step = factor.checked_mul(plane)?;
        Some([(own, step.checked_mul(factor)?), (height, width), (factor, step), (width, 1), (factor, plane)])
    })
}

/// Squares of the last two dimensions moved into channels.
pub(crate) fn pixels_unshuffled(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    pixels(call, |[channels, height, width], factor| {
        let (rows, columns) = (height.checked_div(factor)?, width.checked_div(factor)?);
        Some([
            (channels, height.checked_mul(width)?),
            (factor, width),
            (factor, 1),
            (rows, width.checked_mul(factor)?),
            (columns, factor),
        ])
    })
}

fn pixels(call: &ConstantCall<'_>, map: impl Fn([i64; 3], i64) -> Option<[(i64, i64); 5]>) -> Result<Vec<Blob>> {
    let tensor = call.tensor(0)?;
    call.check_contiguous()?;
    call.check_type(tensor.meta.scalar_type)?;
    let mut dims = dims(tensor.meta)?;
    let Some(lead) = dims.len().checked_sub(3) else { return refuse("a tensor has too few dimensions") };
    let last = [dims[lead].0, dims[lead + 1].0, dims[lead + 2].0];
    let factor = call.call.exact(1)?;
    let Some(moved) = map(last, factor) else { return refuse("a factor is out of range") };
    dims.truncate(lead);
    dims.extend(moved);
    Ok(vec![Strided { offset: 0, dims }.read(call, tensor.data, element(tensor.meta)?)?])
}

/// Parts of a dimension, one after another; `at` is the position of the dimension among the arguments.
fn parts(call: &ConstantCall<'_>, at: usize, keeps: bool) -> Result<Vec<Blob>> {
    let tensor = call.tensor(0)?;
    call.check_contiguous()?;
    call.check_type(tensor.meta.scalar_type)?;
    // Kernels do not take complex numbers.
    Kind::of(tensor.meta.scalar_type)?;
    let own = dims(tensor.meta)?;
    let dim = dim(call, at, own.len())?;
    let mut start = 0i64;
    let mut contents = Vec::with_capacity(call.outs().len());
    for out in call.outs() {
        let mut dims = own.clone();
        let offset = start.saturating_mul(own[dim].1);
        let size = if keeps { out.sizes.get(dim).map_or(0, |dim| dim.size) } else { 1 };
        dims[dim].0 = size;
        start = start.saturating_add(size);
        contents.push(Strided { offset, dims }.read(call, tensor.data, element(tensor.meta)?)?);
    }
    Ok(contents)
}

/// Parts of listed sizes, or of one size.
pub(crate) fn split(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    parts(call, 2, true)
}

/// Parts of size 1, without the dimension.
pub(crate) fn unbound(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    parts(call, 1, false)
}
