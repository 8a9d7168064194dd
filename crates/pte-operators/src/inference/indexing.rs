//! Operators that select, replace, repeat or move elements by position.

use super::broadcast::{broadcast, broadcast_sizes, expands_to, order_of_view};
use super::operands::agree;
use super::shape::{Inferred, Result, dim_argument, dim_list_argument, dim_of_int, element_count, is_dynamic, one};
use super::shape::{size_list, sizes_text};
use super::{Call, Dim, InferenceError, IntMeta, TensorMeta};
use pte_model::format::ScalarType;

/// Elements at positions in tensors, one for each dimension or None.
pub(crate) fn index(call: &Call<'_>) -> Inferred {
    one(selected(call)?)
}

/// A tensor with other elements at positions, one tensor of positions for each dimension or None.
pub(crate) fn index_put(call: &Call<'_>) -> Inferred {
    let values = call.tensor(2)?;
    match selected(call) {
        Ok(replaced) if !expands_to(&values.sizes, &replaced.sizes) => {
            let expected = format!("sizes that broadcast to {}", size_list(&replaced.sizes));
            call.invalid(2, sizes_text(&values.sizes), expected)
        }
        // Only execution determines the number of elements that a mask selects, but not the sizes of the result.
        Ok(_) | Err(InferenceError::Undetermined(_)) => replace(call),
        Err(error) => Err(error),
    }
}

/// Returns the tensor of the elements at positions.
fn selected(call: &Call<'_>) -> Result<TensorMeta> {
    let tensor = call.tensor(0)?;
    let indices = indices(call, tensor)?;
    let mut common: Vec<Dim> = Vec::new();
    let mut indexed: Vec<usize> = Vec::new();
    for (dim, index) in indices.iter().enumerate() {
        let Some(index) = index else { continue };
        common = match broadcast_sizes(&common, &index.sizes) {
            Some(sizes) => sizes,
            None => {
                let expected = format!("sizes that broadcast with {} of the items before it", size_list(&common));
                return call.invalid(1, format!("item {dim} of {}", sizes_text(&index.sizes)), expected);
            }
        };
        indexed.push(dim);
    }
    // The dimensions of the indices replace the indexed ones: at the position of the first one if they are adjacent,
    // otherwise at the beginning.
    let adjacent = indexed.windows(2).all(|pair| pair[1] == pair[0] + 1);
    let place = if adjacent { indexed.first().copied().unwrap_or(0) } else { 0 };
    let strides = tensor.strides();
    let rest = (0..tensor.rank()).filter(|dim| !indexed.contains(dim));
    let (mut sizes, mut view): (Vec<Dim>, Vec<i64>) = rest.map(|dim| (tensor.sizes[dim], strides[dim])).unzip();
    if common.is_empty() {
        // torch takes the strides of the first dimensions for indices without dimensions.
        let moved = if adjacent { Vec::new() } else { indexed.clone() };
        let front = moved.iter().copied().chain((0..tensor.rank()).filter(|dim| !moved.contains(dim)));
        view = front.take(sizes.len()).map(|dim| strides[dim]).collect();
    }
    view.splice(place..place, common.iter().map(|_| 0));
    sizes.splice(place..place, common);
    let dim_order = order_of_view(&sizes, &view);
    Ok(TensorMeta { scalar_type: tensor.scalar_type, sizes, dim_order })
}

/// Returns the indices of argument 1, as many as dimensions of the tensor or fewer.
///
/// # Errors More indices than dimensions, other types than of positions; masks, whose number of elements only execution
/// determines.
fn indices<'a>(call: &Call<'a>, tensor: &TensorMeta) -> Result<Vec<Option<&'a TensorMeta>>> {
    let indices = call.tensors(1)?;
    // A mask is for as many dimensions as it has.
    let is_mask = |index: &TensorMeta| matches!(index.scalar_type, ScalarType::BYTE | ScalarType::BOOL);
    let dims = |index: &Option<&TensorMeta>| index.filter(|index| is_mask(index)).map_or(1, TensorMeta::rank);
    let needed: usize = indices.iter().map(dims).sum();
    if needed > tensor.rank() {
        let expected =
            format!("at most {} items for {} of `{}`", tensor.rank(), sizes_text(&tensor.sizes), call.name(0));
        return call.invalid(1, format!("{needed} items"), expected);
    }
    for (dim, index) in indices.iter().enumerate() {
        match index.map(|index| index.scalar_type) {
            None | Some(ScalarType::INT | ScalarType::LONG) => {}
            Some(ScalarType::BYTE | ScalarType::BOOL) => {
                return Err(InferenceError::Undetermined(
                    "the elements that a mask selects are known at run time only",
                ));
            }
            Some(other) => {
                return call.invalid(1, format!("item {dim} of element type {other}"), "int32, int64 or bool");
            }
        }
    }
    Ok(indices)
}

/// A tensor with other elements at some positions.
pub(super) fn replace(call: &Call<'_>) -> Inferred {
    one(call.tensor(0)?.clone())
}

/// A contiguous tensor with other elements at some positions.
pub(crate) fn scatter(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dim = dim_argument(call, 1, tensor.rank())?;
    let index = positions(call, tensor)?;
    check_within(call, index, 0, tensor, Some(dim))?;
    one(TensorMeta::contiguous(tensor.scalar_type, tensor.sizes.clone()))
}

/// A contiguous tensor with the elements of another, argument 3, at some positions.
pub(crate) fn scatter_source(call: &Call<'_>) -> Inferred {
    let (tensor, source) = (call.tensor(0)?, call.tensor(3)?);
    if tensor.scalar_type != source.scalar_type {
        let expected = format!("element type {} of `{}`", tensor.scalar_type, call.name(0));
        return call.invalid(3, format!("element type {}", source.scalar_type), expected);
    }
    check_within(call, positions(call, tensor)?, 3, source, None)?;
    scatter(call)
}

/// Elements at the positions of a dimension that a tensor of the same rank has.
pub(crate) fn gather(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dim = dim_argument(call, 1, tensor.rank())?;
    let index = positions(call, tensor)?;
    check_within(call, index, 0, tensor, Some(dim))?;
    one(TensorMeta::contiguous(tensor.scalar_type, index.sizes.clone()))
}

/// Checks that the sizes of the positions at argument 2 are at most those of the argument `at`, except in the
/// dimension `free`.
fn check_within(
    call: &Call<'_>,
    index: &TensorMeta,
    at: usize,
    tensor: &TensorMeta,
    free: Option<usize>,
) -> Result<()> {
    let is_larger =
        |(dim, (index, size)): (usize, (&Dim, &Dim))| free != Some(dim) && !index.dynamic && index.size > size.size;
    if element_count(&index.sizes) == 0 || !index.sizes.iter().zip(&tensor.sizes).enumerate().any(is_larger) {
        return Ok(());
    }
    let expected = format!("sizes of at most {} of `{}`", size_list(&tensor.sizes), call.name(at));
    call.invalid(2, sizes_text(&index.sizes), expected)
}

/// Returns the positions at argument 2, which have the rank of the tensor unless there are none; rank 0 is rank 1.
fn positions<'a>(call: &Call<'a>, tensor: &TensorMeta) -> Result<&'a TensorMeta> {
    let index = call.tensor(2)?;
    if !matches!(index.scalar_type, ScalarType::INT | ScalarType::LONG) {
        return call.invalid(2, format!("element type {}", index.scalar_type), "element type int32 or int64");
    }
    if index.rank().max(1) != tensor.rank().max(1) && element_count(&index.sizes) != 0 {
        let expected = format!("as many sizes as {} of `{}`", size_list(&tensor.sizes), call.name(0));
        return call.invalid(2, sizes_text(&index.sizes), expected);
    }
    Ok(index)
}

/// The parts of a dimension at the positions that a list has.
pub(crate) fn index_select(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dim = dim_argument(call, 1, tensor.rank())?;
    let index = call.tensor(2)?;
    if index.rank() > 1 {
        return call.invalid(2, sizes_text(&index.sizes), "one dimension at most");
    }
    let mut sizes = tensor.sizes.clone();
    if let Some(size) = sizes.get_mut(dim) {
        *size = Dim { size: element_count(&index.sizes), dynamic: is_dynamic(&index.sizes) };
    }
    one(TensorMeta::contiguous(tensor.scalar_type, sizes))
}

/// Rows of a table.
pub(crate) fn embedding(call: &Call<'_>) -> Inferred {
    let (table, index) = (call.tensor(0)?, call.tensor(1)?);
    let [_, width] = table.sizes[..] else {
        return call.invalid(0, sizes_text(&table.sizes), "two dimensions");
    };
    if !matches!(index.scalar_type, ScalarType::INT | ScalarType::LONG) {
        return call.invalid(1, format!("element type {}", index.scalar_type), "element type int32 or int64");
    }
    let mut sizes = index.sizes.clone();
    sizes.push(width);
    one(TensorMeta::contiguous(table.scalar_type, sizes))
}

/// Returns a tensor without a dimension; the others keep their order in memory.
fn without_dim(tensor: &TensorMeta, dim: usize) -> TensorMeta {
    let mut sizes = tensor.sizes.clone();
    if dim < sizes.len() {
        sizes.remove(dim);
    }
    TensorMeta::contiguous(tensor.scalar_type, sizes)
}

/// Returns the dimension at argument `at` of a tensor that has one.
fn dim_of_dimensioned(call: &Call<'_>, at: usize, tensor: &TensorMeta) -> Result<usize> {
    if tensor.rank() == 0 {
        return call.invalid(0, "rank 0", "at least one dimension");
    }
    dim_argument(call, at, tensor.rank())
}

/// Checks the position at argument `at` in a dimension.
fn check_position(call: &Call<'_>, at: usize, size: Dim) -> Result<()> {
    match call.int(at)? {
        IntMeta::Exact(position) if position >= size.size || position < size.size.saturating_neg() => {
            call.invalid(at, format!("position {position}"), format!("a position in a dimension of size {}", size.size))
        }
        IntMeta::Exact(_) | IntMeta::AtMost(_) | IntMeta::Unknown => Ok(()),
    }
}

/// The part of a dimension at a position.
pub(crate) fn select(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dim = dim_of_dimensioned(call, 1, tensor)?;
    check_position(call, 2, tensor.sizes[dim])?;
    one(without_dim(tensor, dim))
}

/// A tensor with another part of a dimension at a position.
pub(crate) fn select_scatter(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dim = dim_of_dimensioned(call, 2, tensor)?;
    check_position(call, 3, tensor.sizes[dim])?;
    let (source, replaced) = (call.tensor(1)?, without_dim(tensor, dim).sizes);
    let mut pairs = source.sizes.iter().zip(&replaced);
    if source.rank() != replaced.len() || pairs.any(|(a, b)| agree(*a, *b).is_none()) {
        return call.invalid(1, sizes_text(&source.sizes), sizes_text(&replaced));
    }
    replace(call)
}

/// Checks that the tensor at argument 1 broadcasts to the sizes of the part that it replaces.
fn check_source(call: &Call<'_>, replaced: &[Dim]) -> Result<()> {
    let source = call.tensor(1)?;
    if expands_to(&source.sizes, replaced) {
        return Ok(());
    }
    call.invalid(1, sizes_text(&source.sizes), format!("sizes that broadcast to {}", size_list(replaced)))
}

/// Positions of a dimension from a start to an end by a step; `first` is the position of the argument `dim`.
fn sliced(call: &Call<'_>, first: usize) -> Result<TensorMeta> {
    let tensor = call.tensor(0)?;
    let dim = dim_of_dimensioned(call, first, tensor)?;
    let step = match call.int(first + 3)? {
        IntMeta::Exact(step) if step <= 0 => return call.invalid(first + 3, step.to_string(), "a step of at least 1"),
        IntMeta::Exact(step) => step,
        IntMeta::AtMost(_) | IntMeta::Unknown => 1,
    };
    let bounds = [call.optional_int(first + 1)?, call.optional_int(first + 2)?];
    let size = slice_size(tensor.sizes[dim], bounds, step);
    let mut sizes = tensor.sizes.clone();
    sizes[dim] = size;
    Ok(TensorMeta::contiguous(tensor.scalar_type, sizes))
}

/// Returns the number of positions of a dimension from a start to an end by a step.
fn slice_size(own: Dim, [start, end]: [Option<IntMeta>; 2], step: i64) -> Dim {
    let bound = own.size.max(0);
    let clamped = |position: i64| {
        let position = if position < 0 { position.saturating_add(bound) } else { position };
        position.clamp(0, bound)
    };
    let mut dynamic = own.dynamic;
    let (mut from, mut to) = (0, bound);
    match start {
        None => {}
        // The start moves with the end of a dynamic dimension.
        Some(IntMeta::Exact(start)) => from = clamped(start),
        Some(IntMeta::AtMost(_) | IntMeta::Unknown) => dynamic = true,
    }
    match end {
        None => {}
        Some(IntMeta::Exact(end)) => to = clamped(end),
        Some(IntMeta::AtMost(most)) => (to, dynamic) = (clamped(most.max(0)), true),
        Some(IntMeta::Unknown) => dynamic = true,
    }
    if let (true, Some(IntMeta::Exact(start @ ..0)), Some(IntMeta::Exact(end @ 0..))) = (own.dynamic, start, end) {
        // A smaller dimension has more positions between the start, from its end, and the end, from its begin.
        (from, to) = (0, end.min(start.saturating_neg()).min(bound));
    }
    let length = to.saturating_sub(from).max(0);
    let size = length / step + i64::from(length % step != 0);
    Dim { size, dynamic }
}

/// Positions of a dimension from a start to an end by a step.
pub(crate) fn slice(call: &Call<'_>) -> Inferred {
    one(sliced(call, 1)?)
}

/// A tensor with other elements from a start to an end by a step.
pub(crate) fn slice_scatter(call: &Call<'_>) -> Inferred {
    let part = sliced(call, 2)?;
    check_source(call, &part.sizes)?;
    replace(call)
}

/// A tensor several times in each dimension.
pub(crate) fn repeat(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let repeats = call.ints(1)?;
    let Some(lead) = repeats.len().checked_sub(tensor.rank()) else {
        let expected = format!("at least as many numbers as {} of `{}`", size_list(&tensor.sizes), call.name(0));
        return call.invalid(1, format!("{} numbers", repeats.len()), expected);
    };
    let mut sizes = Vec::with_capacity(repeats.len());
    for (at, repeat) in repeats.into_iter().enumerate() {
        let own = at.checked_sub(lead).map_or(Dim::fixed(1), |at| tensor.sizes[at]);
        let count = dim_of_int(call, 1, repeat)?;
        sizes.push(Dim { size: own.size.saturating_mul(count.size), dynamic: own.dynamic || count.dynamic });
    }
    one(TensorMeta::contiguous(tensor.scalar_type, sizes))
}

/// Positions, each as often as a tensor states; their number is known if it is given.
pub(crate) fn repeat_interleave(call: &Call<'_>) -> Inferred {
    let repeats = call.tensor(0)?;
    match call.optional_int(1)? {
        None => Err(InferenceError::Undetermined("the sum of the repetitions is known at run time only")),
        Some(size) => one(TensorMeta::contiguous(repeats.scalar_type, vec![dim_of_int(call, 1, size)?])),
    }
}

/// Elements in the reverse order of some dimensions.
pub(crate) fn flip(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dims = dim_list_argument(call, 1, tensor.rank())?.unwrap_or_default();
    match dims.iter().enumerate().find(|(at, dim)| dims[..*at].contains(dim)) {
        Some((_, dim)) => call.invalid(1, format!("dimension {dim} twice"), "different dimensions"),
        None => one(tensor.clone()),
    }
}

/// Elements moved along some dimensions, or along the flat tensor.
pub(crate) fn roll(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let dims = dim_list_argument(call, 2, tensor.rank())?.unwrap_or_default();
    let shifts = call.ints(1)?.len();
    if shifts != dims.len().max(1) {
        return call.invalid(1, format!("{shifts} shifts"), format!("{} shifts", dims.len().max(1)));
    }
    one(TensorMeta::contiguous(tensor.scalar_type, tensor.sizes.clone()))
}

/// The lower triangles of matrices.
pub(crate) fn tril(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    if tensor.rank() < 2 {
        return call.invalid(0, sizes_text(&tensor.sizes), "at least two dimensions");
    }
    one(TensorMeta::contiguous(tensor.scalar_type, tensor.sizes.clone()))
}

/// The diagonals of matrices of two dimensions, as the last dimension.
pub(crate) fn diagonal(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let rank = tensor.rank();
    let (first, second) = (dim_argument(call, 2, rank)?, dim_argument(call, 3, rank)?);
    if first == second || rank < 2 {
        return call.invalid(3, format!("dimension {second}"), "another dimension than the one before");
    }
    let offset = call.exact(1)?;
    let (rows, columns) = (tensor.sizes[first], tensor.sizes[second]);
    let size = if offset >= 0 {
        rows.size.min(columns.size.saturating_sub(offset))
    } else {
        rows.size.saturating_add(offset).min(columns.size)
    };
    let mut sizes: Vec<Dim> = Vec::with_capacity(rank - 1);
    let kept = tensor.sizes.iter().enumerate().filter(|(dim, _)| *dim != first && *dim != second);
    sizes.extend(kept.map(|(_, size)| *size));
    sizes.push(Dim { size: size.max(0), dynamic: rows.dynamic || columns.dynamic });
    one(TensorMeta::contiguous(tensor.scalar_type, sizes))
}

/// Reason why the results of `masked_select` are not inferred.
pub(crate) const SELECTED: &str = "the number of elements that a mask selects is known at run time only";

/// Reason why the results of `nonzero` are not inferred.
pub(crate) const NONZERO: &str = "the number of elements that are not 0 is known at run time only";

/// The elements that a mask selects.
pub(crate) fn masked_select(call: &Call<'_>) -> Inferred {
    broadcast(call, &[(0, call.tensor(0)?), (1, call.tensor(1)?)])?;
    Err(InferenceError::Undetermined(SELECTED))
}

/// The positions of elements that are not 0.
pub(crate) fn nonzero(_call: &Call<'_>) -> Inferred {
    Err(InferenceError::Undetermined(NONZERO))
}

/// The largest result of [`masked_select`].
pub(crate) fn masked_select_bounds(call: &Call<'_>) -> Inferred {
    let (tensor, mask) = (call.tensor(0)?, call.tensor(1)?);
    let size = element_count(&tensor.sizes).max(element_count(&mask.sizes));
    one(TensorMeta::contiguous(tensor.scalar_type, vec![Dim { size, dynamic: true }]))
}

/// The largest result of [`nonzero`].
pub(crate) fn nonzero_bounds(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let count = Dim { size: element_count(&tensor.sizes), dynamic: true };
    one(TensorMeta::contiguous(ScalarType::LONG, vec![count, Dim::fixed(tensor.rank() as i64)]))
}
