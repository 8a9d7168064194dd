//! Operators that only move elements: their results as strided views of an argument. They compute no values; rules of
//! inference compute the sizes of the copies.

use super::inference::{Call, IntMeta, ResultMeta, TensorMeta};
use super::inference::{Rule, wrap_dim};

/// Elements in the memory of a tensor: the element at index `i` is at `offset + i[0] * strides[0] + i[1] * strides[1] +
/// ...`, in units of elements. The sizes of dynamic dimensions are their upper bounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strided {
    /// Size of each dimension.
    pub sizes: Vec<i64>,
    /// Distance in elements of two elements whose index differs by 1 in this dimension.
    pub strides: Vec<i64>,
    /// Position of the first element.
    pub offset: i64,
}

/// Returns the result of a call as elements of the memory of its first tensor, whose elements there are given; `None`
/// if it is no strided view, or if it depends on sizes that are known at run time only.
pub type Movement = fn(&Call<'_>, Strided) -> Option<Strided>;

impl Strided {
    /// Returns the elements of a tensor in its own memory.
    pub fn of(meta: &TensorMeta) -> Strided {
        Strided { sizes: meta.sizes.iter().map(|dim| dim.size).collect(), strides: meta.strides(), offset: 0 }
    }

    /// Returns true if all elements of a tensor of this memory are at the same positions as in `meta`. The strides of
    /// dimensions of size 1 do not matter.
    pub fn is_whole(&self, meta: &TensorMeta) -> bool {
        let own = Strided::of(meta);
        let dims = || self.sizes.iter().zip(&self.strides).zip(&own.strides);
        self.offset == 0 && self.sizes == own.sizes && dims().all(|((size, stride), own)| *size == 1 || stride == own)
    }

    /// Returns the elements with other sizes, in the same logical order; `None` if they have no strides then.
    fn reshaped(self, sizes: &[i64]) -> Option<Strided> {
        if self.sizes == sizes {
            return Some(self);
        }
        // Runs of dimensions that are like one dimension, as size and stride, from the innermost outwards.
        let mut runs: Vec<(i64, i64)> = Vec::new();
        for (size, stride) in self.sizes.iter().zip(&self.strides).rev().filter(|(size, _)| **size != 1) {
            match runs.last_mut() {
                Some((count, inner)) if count.checked_mul(*inner)? == *stride => *count = count.checked_mul(*size)?,
                Some(_) | None => runs.push((*size, *stride)),
            }
        }
        let mut strides = vec![0; sizes.len()];
        let mut runs = runs.into_iter();
        let (mut left, mut stride) = (1, 1);
        for (at, &size) in sizes.iter().enumerate().rev().filter(|(_, size)| **size != 1) {
            if left == 1 {
                (left, stride) = runs.next()?;
            }
            if size == 0 || left % size != 0 {
                return None;
            }
            strides[at] = stride;
            (left, stride) = (left / size, stride.checked_mul(size)?);
        }
        (left == 1 && runs.next().is_none()).then(|| Strided { sizes: sizes.to_vec(), strides, offset: self.offset })
    }
}

/// Returns the first tensor of a call.
fn tensor<'a>(call: &Call<'a>) -> Option<&'a TensorMeta> {
    call.tensor(0).ok()
}

/// Returns the first tensor of a call if all of its sizes are known.
fn fixed<'a>(call: &Call<'a>) -> Option<&'a TensorMeta> {
    tensor(call).filter(|tensor| !tensor.is_dynamic())
}

/// Returns the dimension that an argument is.
fn dim(call: &Call<'_>, at: usize, rank: usize) -> Option<usize> {
    wrap_dim(call.exact(at).ok()?, rank)
}

/// All elements, in a tensor of the same type and sizes.
pub(crate) fn copy(call: &Call<'_>, from: Strided) -> Option<Strided> {
    tensor(call)?;
    Some(from)
}

/// The dimensions in another order.
pub(crate) fn permute(call: &Call<'_>, from: Strided) -> Option<Strided> {
    let rank = tensor(call)?.rank();
    let dims: Vec<usize> =
        call.exact_ints(1).ok()?.into_iter().map(|dim| wrap_dim(dim, rank)).collect::<Option<_>>()?;
    let mut found = vec![false; rank];
    let is_new = |dim: &usize| found.get_mut(*dim).is_some_and(|found| !std::mem::replace(found, true));
    if dims.len() != rank || !dims.iter().all(is_new) {
        return None;
    }
    Some(Strided {
        sizes: dims.iter().map(|dim| from.sizes[*dim]).collect(),
        strides: dims.iter().map(|dim| from.strides[*dim]).collect(),
        offset: from.offset,
    })
}

/// Two dimensions are exchanged.
pub(crate) fn transpose(call: &Call<'_>, mut from: Strided) -> Option<Strided> {
    let rank = tensor(call)?.rank();
    let (a, b) = (dim(call, 1, rank)?, dim(call, 2, rank)?);
    if rank > 0 {
        from.sizes.swap(a, b);
        from.strides.swap(a, b);
    }
    Some(from)
}

/// The transpose of a matrix.
pub(crate) fn t(call: &Call<'_>, mut from: Strided) -> Option<Strided> {
    if tensor(call)?.rank() > 2 {
        return None;
    }
    from.sizes.reverse();
    from.strides.reverse();
    Some(from)
}

/// Other sizes, which a rule infers.
fn with_sizes_of(rule: Rule, call: &Call<'_>, from: Strided) -> Option<Strided> {
    let meta = fixed(call)?;
    let results = rule(call).ok()?;
    let [ResultMeta::Tensor(result)] = results.as_slice() else { return None };
    // Of another order of dimensions, kernels copy the bytes.
    if result.is_dynamic() || meta.dim_order != pte_model::format::DimOrder::contiguous(meta.rank()) {
        return None;
    }
    let sizes: Vec<i64> = result.sizes.iter().map(|dim| dim.size).collect();
    from.reshaped(&sizes)
}

/// Other sizes with the same number of elements.
pub(crate) fn view(call: &Call<'_>, from: Strided) -> Option<Strided> {
    with_sizes_of(super::inference::views::view, call, from)
}

/// A dimension of size 1 is removed.
pub(crate) fn squeeze(call: &Call<'_>, from: Strided) -> Option<Strided> {
    with_sizes_of(super::inference::views::squeeze, call, from)
}

/// Listed dimensions of size 1 are removed.
pub(crate) fn squeeze_dims(call: &Call<'_>, from: Strided) -> Option<Strided> {
    with_sizes_of(super::inference::views::squeeze_dims, call, from)
}

/// A dimension of size 1 is inserted.
pub(crate) fn unsqueeze(call: &Call<'_>, from: Strided) -> Option<Strided> {
    with_sizes_of(super::inference::views::unsqueeze, call, from)
}

/// Dimensions of size 1 are repeated, and dimensions are added before the first one.
pub(crate) fn expand(call: &Call<'_>, from: Strided) -> Option<Strided> {
    let meta = fixed(call)?;
    let requested = call.exact_ints(1).ok()?;
    let added = requested.len().checked_sub(meta.rank())?;
    let (mut sizes, mut strides) = (Vec::with_capacity(requested.len()), Vec::with_capacity(requested.len()));
    for (at, size) in requested.into_iter().enumerate() {
        let own = at.checked_sub(added).map(|dim| (from.sizes[dim], from.strides[dim]));
        let (size, stride) = match (size, own) {
            (-1, Some(own)) => own,
            (size, Some((own, stride))) if size == own => (size, stride),
            (size, Some((1, _)) | None) if size >= 0 => (size, 0),
            (_, Some(_) | None) => return None,
        };
        sizes.push(size);
        strides.push(stride);
    }
    Some(Strided { sizes, strides, offset: from.offset })
}

/// Every `step`-th index of a dimension, of a start and an end.
pub(crate) fn slice(call: &Call<'_>, mut from: Strided) -> Option<Strided> {
    let rank = fixed(call)?.rank();
    let dim = dim(call, 1, rank)?;
    let size = *from.sizes.get(dim)?;
    let bound = |at: usize, default: i64| match call.optional_int(at).ok()? {
        None => Some(default),
        Some(IntMeta::Exact(bound)) => Some(if bound < 0 { bound.saturating_add(size) } else { bound }.clamp(0, size)),
        Some(IntMeta::AtMost(_) | IntMeta::Unknown) => None,
    };
    let (start, end, step) = (bound(2, 0)?, bound(3, size)?, call.exact(4).ok()?);
    if step < 1 {
        return None;
    }
    let length = end.saturating_sub(start).max(0);
    from.sizes[dim] = length / step + i64::from(length % step > 0);
    from.offset = from.offset.checked_add(from.strides[dim].checked_mul(start)?)?;
    from.strides[dim] = from.strides[dim].checked_mul(step)?;
    Some(from)
}

/// An index of a dimension, which is removed.
pub(crate) fn select(call: &Call<'_>, mut from: Strided) -> Option<Strided> {
    let rank = fixed(call)?.rank();
    let dim = dim(call, 1, rank)?;
    let (size, index) = (*from.sizes.get(dim)?, call.exact(2).ok()?);
    let index = if index < 0 { index.checked_add(size)? } else { index };
    if index < 0 || index >= size {
        return None;
    }
    from.offset = from.offset.checked_add(from.strides[dim].checked_mul(index)?)?;
    from.sizes.remove(dim);
    from.strides.remove(dim);
    Some(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strided(sizes: &[i64], strides: &[i64]) -> Strided {
        Strided { sizes: sizes.to_vec(), strides: strides.to_vec(), offset: 0 }
    }

    #[test]
    fn other_sizes_have_strides_if_the_runs_of_dimensions_fit() {
        assert_eq!(strided(&[2, 3, 4], &[12, 4, 1]).reshaped(&[6, 4]), Some(strided(&[6, 4], &[4, 1])));
        assert_eq!(strided(&[2, 12], &[12, 1]).reshaped(&[2, 3, 1, 4]), Some(strided(&[2, 3, 1, 4], &[12, 4, 0, 1])));
        // A transposed matrix has no strides as one dimension, but as three.
        assert_eq!(strided(&[4, 6], &[1, 4]).reshaped(&[24]), None);
        assert_eq!(strided(&[4, 6], &[1, 4]).reshaped(&[4, 2, 3]), Some(strided(&[4, 2, 3], &[1, 12, 4])));
        assert_eq!(strided(&[2, 3], &[3, 1]).reshaped(&[5]), None);
        assert_eq!(strided(&[0, 3], &[3, 1]).reshaped(&[3, 0]), None);
    }
}
