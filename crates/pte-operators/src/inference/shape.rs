//! Sizes, dimensions and orders of memory that rules of all families compute with.

use super::{Call, Dim, InferenceError, IntMeta, ResultMeta, TensorMeta};
use pte_model::format::{DimOrder, ScalarType};

/// Result of a rule.
pub(super) type Inferred = std::result::Result<Vec<ResultMeta>, InferenceError>;
/// A part of a rule.
pub(super) type Result<T> = std::result::Result<T, InferenceError>;

impl TensorMeta {
    /// Returns the meta of a contiguous tensor.
    pub fn contiguous(scalar_type: ScalarType, sizes: Vec<Dim>) -> TensorMeta {
        let dim_order = DimOrder::contiguous(sizes.len());
        TensorMeta { scalar_type, sizes, dim_order }
    }

    /// Returns the meta with another element type.
    pub fn with_type(self, scalar_type: ScalarType) -> TensorMeta {
        TensorMeta { scalar_type, ..self }
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// Returns `true` if the size of a dimension is dynamic.
    pub fn is_dynamic(&self) -> bool {
        is_dynamic(&self.sizes)
    }

    /// Returns the sizes as a list: `[2, 3]`.
    pub fn size_list(&self) -> String {
        size_list(&self.sizes)
    }

    /// Returns the strides in elements that sizes and dim_order determine; a dimension of size 0 counts as 1, as in
    /// torch.
    ///
    /// The strides have this dim_order again: a dimension of size 1 before a smaller one that is further outside has
    /// the stride of the next one that is further inside (sizes [1, 1, 4, 5] of dim_order [0, 2, 1, 3] are
    /// channels-last, of strides [20, 1, 5, 1]).
    pub fn strides(&self) -> Vec<i64> {
        let mut strides = vec![0; self.rank()];
        let (mut next, mut inner): (i64, i64) = (1, 1);
        for (at, &dim) in self.dim_order.iter().enumerate().rev() {
            let Some(size) = self.sizes.get(usize::from(dim)).map(|dim| dim.size) else { continue };
            let outer = at.checked_sub(1).and_then(|at| self.dim_order.get(at));
            let is_before_outer = size == 1 && outer.is_some_and(|outer| *outer > dim);
            let stride = if is_before_outer { inner } else { next };
            strides[usize::from(dim)] = stride;
            inner = stride;
            next = next.saturating_mul(size.max(1));
        }
        strides
    }
}

/// Returns a single tensor as the results of a call.
pub(super) fn one(tensor: TensorMeta) -> Inferred {
    Ok(vec![ResultMeta::Tensor(tensor)])
}

/// Returns the dim_order of strides: the dimensions sorted by descending stride; those of equal strides keep their
/// order, as the exporter has it.
pub(super) fn dim_order(strides: &[i64]) -> DimOrder {
    let mut order = DimOrder::contiguous(strides.len());
    order.sort_by_key(|dim| std::cmp::Reverse(strides.get(usize::from(*dim))));
    order
}

/// Returns the number of elements, at most `i64::MAX`.
pub(super) fn element_count(sizes: &[Dim]) -> i64 {
    if sizes.iter().any(|dim| dim.size == 0) {
        return 0;
    }
    sizes.iter().fold(1, |count: i64, dim| count.saturating_mul(dim.size))
}

/// Returns `true` if the size of a dimension is dynamic.
pub(super) fn is_dynamic(sizes: &[Dim]) -> bool {
    sizes.iter().any(|dim| dim.dynamic)
}

/// Returns sizes in words: `sizes [2, 3]`.
pub(super) fn sizes_text(sizes: &[Dim]) -> String {
    format!("sizes {}", size_list(sizes))
}

/// Returns sizes as a list: `[2, 3]`.
pub(super) fn size_list(sizes: &[Dim]) -> String {
    let sizes: Vec<i64> = sizes.iter().map(|dim| dim.size).collect();
    format!("{sizes:?}")
}

/// Returns a dimension that counts from the end if it is negative, as an index; a tensor of rank 0 has a dimension 0.
/// `None` if it is out of range.
pub(crate) fn wrap_dim(dim: i64, rank: usize) -> Option<usize> {
    let count = i64::try_from(rank.max(1)).ok()?;
    let dim = if dim < 0 { dim.checked_add(count)? } else { dim };
    usize::try_from(dim).ok().filter(|_| dim < count)
}

/// Returns the dimension that the argument `at` is; see [`wrap_dim`].
pub(super) fn dim_argument(call: &Call<'_>, at: usize, rank: usize) -> Result<usize> {
    checked_dim(call, at, call.exact(at)?, rank)
}

/// Returns the dimensions that the argument `at` lists, or `None` for None.
pub(super) fn dim_list_argument(call: &Call<'_>, at: usize, rank: usize) -> Result<Option<Vec<usize>>> {
    match call.optional_ints(at)? {
        None => Ok(None),
        Some(_) => {
            let dims = call.exact_ints(at)?.into_iter().map(|dim| checked_dim(call, at, dim, rank));
            dims.collect::<Result<_>>().map(Some)
        }
    }
}

/// Returns the dimension `dim` of the argument `at`.
pub(super) fn checked_dim(call: &Call<'_>, at: usize, dim: i64, rank: usize) -> Result<usize> {
    match wrap_dim(dim, rank) {
        Some(dim) => Ok(dim),
        None => {
            let last = rank.max(1) - 1;
            call.invalid(at, format!("dimension {dim}"), format!("a dimension from -{} to {last}", last + 1))
        }
    }
}

/// Returns the size that an integer is: dynamic if only execution determines it.
pub(super) fn dim_of_int(call: &Call<'_>, at: usize, int: IntMeta) -> Result<Dim> {
    match int {
        IntMeta::Exact(size) if size < 0 => call.invalid(at, size.to_string(), "a size that is not negative"),
        IntMeta::Exact(size) => Ok(Dim::fixed(size)),
        IntMeta::AtMost(size) => Ok(Dim { size: size.max(0), dynamic: true }),
        IntMeta::Unknown => Err(InferenceError::Undetermined("a size is known at run time only")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_and_dim_order_are_inverse() {
        let sizes: Vec<Dim> = [2, 3, 4, 5].map(Dim::fixed).to_vec();
        for (order, strides) in
            [(DimOrder::contiguous(4), [60, 20, 5, 1]), (DimOrder::channels_last(4), [60, 1, 15, 3])]
        {
            let meta = TensorMeta { scalar_type: ScalarType::FLOAT, sizes: sizes.clone(), dim_order: order };
            assert_eq!(meta.strides(), strides);
            assert_eq!(dim_order(&strides), meta.dim_order);
        }
        assert_eq!(dim_order(&[3, 1, 3, 3]), DimOrder::channels_last(4));
        let one_channel = TensorMeta {
            scalar_type: ScalarType::FLOAT,
            sizes: [1, 1, 4, 5].map(Dim::fixed).to_vec(),
            dim_order: DimOrder::from(&[0, 2, 1, 3]),
        };
        assert_eq!(
            (one_channel.strides(), dim_order(&one_channel.strides())),
            (vec![20, 1, 5, 1], one_channel.dim_order)
        );
        let huge = TensorMeta::contiguous(ScalarType::FLOAT, vec![Dim::fixed(i64::MAX); 3]);
        assert_eq!(huge.strides(), [i64::MAX, i64::MAX, 1]);
        let invalid = TensorMeta { dim_order: DimOrder::from(&[9, 0]), ..huge };
        assert_eq!(invalid.strides(), [1, 0, 0]);
    }

    #[test]
    fn dimensions_count_from_the_end() {
        let cases = [(0, 0, Some(0)), (-1, 0, Some(0)), (1, 0, None), (-3, 3, Some(0)), (3, 3, None), (-4, 3, None)];
        for (dim, rank, expected) in cases {
            assert_eq!(wrap_dim(dim, rank), expected, "{dim} of {rank}");
        }
        assert_eq!(wrap_dim(i64::MIN, 3), None);
    }
}
