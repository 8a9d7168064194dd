//! Copies between orders of memory and between devices.

use super::broadcast::order_of_view;
use super::layout::reordered;
use super::shape::{Inferred, Result, dim_of_int, one};
use super::{Call, TensorMeta};
use pte_model::format::{DimOrder, ScalarType};

/// A copy of the same order of memory.
pub(crate) fn copy(call: &Call<'_>) -> Inferred {
    one(call.tensor(0)?.clone())
}

/// Returns an uninitialised tensor like another one: of the same order of memory, which is contiguous if the sizes
/// allow that.
pub(super) fn like(tensor: &TensorMeta, scalar_type: ScalarType) -> TensorMeta {
    let sizes = tensor.sizes.clone();
    let dim_order = order_of_view(&sizes, &tensor.strides());
    TensorMeta { scalar_type, sizes, dim_order }
}

/// A copy in the order of memory of the argument 2, or in the same one.
pub(crate) fn copy_in_order(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    match order(call, 2, tensor.rank())? {
        Some(order) => one(reordered(tensor.scalar_type, tensor.sizes.clone(), order)),
        None => one(tensor.clone()),
    }
}

/// A tensor of listed sizes in the order of memory of the argument 1, or contiguous.
pub(crate) fn empty_in_order(call: &Call<'_>) -> Inferred {
    let sizes = call.ints(0)?.into_iter().map(|int| dim_of_int(call, 0, int)).collect::<Result<Vec<_>>>()?;
    let order = order(call, 1, sizes.len())?.unwrap_or_else(|| DimOrder::contiguous(sizes.len()));
    one(reordered(ScalarType::FLOAT, sizes, order))
}

/// Returns the order of memory that an argument is: contiguous, or channels-last of 4 dimensions; the others have no
/// memory format.
fn order(call: &Call<'_>, at: usize, rank: usize) -> Result<Option<DimOrder>> {
    if call.optional_ints(at)?.is_none() {
        return Ok(None);
    }
    let order = call.exact_ints(at)?;
    let is = |expected: &DimOrder| order.iter().copied().eq(expected.iter().map(|dim| i64::from(*dim)));
    let contiguous = DimOrder::contiguous(rank);
    let channels_last = Some(DimOrder::channels_last(rank)).filter(|_| rank == 4);
    if is(&contiguous) {
        return Ok(Some(contiguous));
    }
    if channels_last.as_ref().is_some_and(is) {
        return Ok(channels_last);
    }
    let alternative = channels_last.map_or(String::new(), |order| format!(" or {order:?}"));
    call.invalid(at, format!("{order:?}"), format!("{contiguous:?}{alternative}"))
}

/// `et_copy_index`: a tensor is written into the first dimension of another one; there is no result.
pub(crate) fn copy_index(call: &Call<'_>) -> Inferred {
    let (to, from): (&TensorMeta, &TensorMeta) = (call.tensor(0)?, call.tensor(1)?);
    let rows = to.sizes.get(1..).unwrap_or_default();
    let agree = |(a, b)| super::operands::agree(a, b).is_some();
    if to.sizes.is_empty()
        || rows.len() != from.rank()
        || !rows.iter().copied().zip(from.sizes.iter().copied()).all(agree)
    {
        return super::operands::mismatch(call, 1, from, "the sizes after the first", 0, to);
    }
    Ok(Vec::new())
}
