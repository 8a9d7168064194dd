//! Memory formats of torch, contiguous and channels-last, for results that follow one of them.

use super::shape::dim_order;
use super::{Dim, TensorMeta};
use pte_model::format::{DimOrder, ScalarType};

/// A memory format of torch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MemoryFormat {
    /// Dimensions in memory in the order of the sizes.
    Contiguous,
    /// Dimension 1 is the innermost; of 4 or 5 dimensions.
    ChannelsLast,
}

impl MemoryFormat {
    /// Returns the format that operators derive from the strides of a tensor. Strides that fit both are contiguous.
    pub(super) fn suggested_by(tensor: &TensorMeta) -> MemoryFormat {
        MemoryFormat::of(&tensor.sizes, &tensor.strides())
    }

    /// Returns the format that operators derive from strides.
    pub(super) fn of(sizes: &[Dim], strides: &[i64]) -> MemoryFormat {
        let inner_first: &[usize] = match sizes.len() {
            4 => &[1, 3, 2, 0],
            5 => &[1, 4, 3, 2, 0],
            _ => return MemoryFormat::Contiguous,
        };
        let mut least = 0;
        for &dim in inner_first {
            let (size, stride) = (sizes[dim].size, strides[dim]);
            if size == 0 || stride < least || dim == 0 && least == strides[1] {
                return MemoryFormat::Contiguous;
            }
            least = stride.saturating_mul(size);
        }
        MemoryFormat::ChannelsLast
    }

    /// Returns a tensor in this format; one that is neither of 4 nor of 5 dimensions is contiguous.
    pub(super) fn tensor(self, scalar_type: ScalarType, sizes: Vec<Dim>) -> TensorMeta {
        match (self, sizes.len()) {
            (MemoryFormat::ChannelsLast, rank @ (4 | 5)) => {
                reordered(scalar_type, sizes, DimOrder::channels_last(rank))
            }
            (MemoryFormat::Contiguous | MemoryFormat::ChannelsLast, _) => TensorMeta::contiguous(scalar_type, sizes),
        }
    }
}

/// Returns a tensor whose dimensions are in this order in memory; dimensions that the strides do not distinguish keep
/// their order.
pub(super) fn reordered(scalar_type: ScalarType, sizes: Vec<Dim>, outer_first: DimOrder) -> TensorMeta {
    let mut strides = vec![0; sizes.len()];
    let mut next: i64 = 1;
    for &dim in outer_first.iter().rev() {
        let Some(stride) = strides.get_mut(usize::from(dim)) else { continue };
        *stride = next;
        next = next.saturating_mul(sizes[usize::from(dim)].size.max(1));
    }
    strided(scalar_type, sizes, &strides)
}

/// Returns the strides of a view of other sizes with the same number of elements, as torch has them; `None` if there is
/// none.
///
/// Dimensions of the tensor that are adjacent in memory are divided and combined as one.
pub(super) fn view_strides(sizes: &[i64], strides: &[i64], view: &[i64]) -> Option<Vec<i64>> {
    let mut result = vec![1; view.len()];
    let mut open = view.len();
    let mut base = *strides.last()?;
    let (mut count, mut viewed): (i64, i64) = (1, 1);
    for dim in (0..sizes.len()).rev() {
        count = count.checked_mul(sizes[dim])?;
        if let Some(outer) = dim.checked_sub(1)
            && (sizes[outer] == 1 || strides[outer] == count.checked_mul(base)?)
        {
            continue;
        }
        while open > 0 && (viewed < count || view[open - 1] == 1) {
            open -= 1;
            result[open] = viewed.checked_mul(base)?;
            viewed = viewed.checked_mul(view[open])?;
        }
        if viewed != count {
            return None;
        }
        if let Some(outer) = dim.checked_sub(1) {
            (base, count, viewed) = (strides[outer], 1, 1);
        }
    }
    Some(result)
}

/// Returns a tensor whose dimensions have the order of these strides.
pub(super) fn strided(scalar_type: ScalarType, sizes: Vec<Dim>, strides: &[i64]) -> TensorMeta {
    // Products that overflow order nothing.
    let order = if strides.contains(&i64::MAX) { DimOrder::contiguous(strides.len()) } else { dim_order(strides) };
    TensorMeta { scalar_type, sizes, dim_order: order }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(sizes: &[i64], dim_order: &[u8]) -> TensorMeta {
        let sizes = sizes.iter().copied().map(Dim::fixed).collect();
        TensorMeta { scalar_type: ScalarType::FLOAT, sizes, dim_order: dim_order.into() }
    }

    #[test]
    fn views_divide_dimensions() {
        type Case<'a> = (&'a [i64], &'a [i64], &'a [i64], Option<&'a [i64]>);
        let cases: [Case<'_>; 4] = [
            (&[2, 6], &[6, 1], &[2, 2, 3], Some(&[6, 3, 1])),
            (&[1, 3, 8, 5], &[120, 1, 15, 3], &[1, 3, 2, 4, 5], Some(&[3, 1, 60, 15, 3])),
            (&[2, 3], &[1, 2], &[6], None),
            (&[1, 1, 18, 6], &[108, 1, 6, 1], &[1, 1, 3, 6, 6], Some(&[108, 108, 36, 6, 1])),
        ];
        for (sizes, strides, view, expected) in cases {
            assert_eq!(view_strides(sizes, strides, view).as_deref(), expected, "{sizes:?}");
        }
    }

    #[test]
    fn formats_follow_the_strides() {
        let cases: [(&[i64], &[u8], MemoryFormat); 7] = [
            (&[2, 3, 4, 5], &[0, 1, 2, 3], MemoryFormat::Contiguous),
            (&[2, 3, 4, 5], &[0, 2, 3, 1], MemoryFormat::ChannelsLast),
            (&[1, 1, 4, 5], &[0, 2, 1, 3], MemoryFormat::ChannelsLast),
            (&[2, 3, 1, 1], &[0, 1, 2, 3], MemoryFormat::Contiguous),
            (&[2, 3, 4, 5], &[2, 0, 3, 1], MemoryFormat::Contiguous),
            (&[2, 3, 4, 5, 6], &[0, 2, 3, 4, 1], MemoryFormat::ChannelsLast),
            (&[2, 3, 4], &[0, 2, 1], MemoryFormat::Contiguous),
        ];
        for (sizes, order, expected) in cases {
            let tensor = tensor(sizes, order);
            assert_eq!(MemoryFormat::suggested_by(&tensor), expected, "{sizes:?} {order:?}");
            if expected == MemoryFormat::ChannelsLast {
                assert_eq!(expected.tensor(ScalarType::FLOAT, tensor.sizes.clone()), tensor);
            }
        }
    }
}
