//! Broadcasting: the common sizes of operands, and the order in memory of an elementwise result.

use pte_model::format::DimOrder;
use std::cmp::Ordering;

use super::shape::{self, Result, size_list, sizes_text};
use super::{Call, Dim, TensorMeta};

/// Dimensions that torch's elementwise operators take; more are not sorted.
const MAX_RANK: usize = 64;

/// Returns the size that two dimensions broadcast to, or `None` if they cannot at run time.
///
/// A size of 1 takes the other one. Of two different upper bounds, and of a fixed size and an upper bound, the result
/// is what both can be: the fixed one, or the smaller bound.
pub(super) fn broadcast_dim(a: Dim, b: Dim) -> Option<Dim> {
    match (a, b) {
        (Dim { size: 1, dynamic: false }, other) | (other, Dim { size: 1, dynamic: false }) => Some(other),
        (Dim { size, dynamic: false }, bound @ Dim { dynamic: true, .. })
        | (bound @ Dim { dynamic: true, .. }, Dim { size, dynamic: false }) => {
            (bound.size > 0 || size == 0).then_some(Dim::fixed(size))
        }
        (Dim { dynamic: false, .. }, Dim { dynamic: false, .. }) => (a.size == b.size).then_some(a),
        (Dim { size: 1, dynamic: true }, other) | (other, Dim { size: 1, dynamic: true }) => Some(other),
        (Dim { dynamic: true, .. }, Dim { dynamic: true, .. }) => Some(Dim { size: a.size.min(b.size), dynamic: true }),
    }
}

/// Returns the sizes that two lists of sizes, aligned at the last, broadcast to, or `None` if they cannot.
pub(super) fn broadcast_sizes(a: &[Dim], b: &[Dim]) -> Option<Vec<Dim>> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let lead = long.len() - short.len();
    let mut sizes = long.to_vec();
    for (size, other) in sizes[lead..].iter_mut().zip(short) {
        *size = broadcast_dim(*size, *other)?;
    }
    Some(sizes)
}

/// Returns `true` if sizes, aligned at the last, can be expanded to others at run time.
pub(super) fn expands_to(sizes: &[Dim], target: &[Dim]) -> bool {
    let Some(lead) = target.len().checked_sub(sizes.len()) else { return false };
    let expands =
        |(size, target): (&Dim, &Dim)| size.dynamic || target.dynamic || size.size == 1 || size.size == target.size;
    sizes.iter().zip(&target[lead..]).all(expands)
}

/// Returns the sizes that tensors broadcast to, each with its position in the call.
///
/// # Errors
/// At the first argument that does not broadcast with those before it.
pub(super) fn broadcast(call: &Call<'_>, tensors: &[(usize, &TensorMeta)]) -> Result<Vec<Dim>> {
    let mut common: Vec<Dim> = Vec::new();
    for (index, (at, tensor)) in tensors.iter().enumerate() {
        common = match broadcast_sizes(&common, &tensor.sizes) {
            Some(sizes) => sizes,
            None => {
                let names: Vec<String> =
                    tensors[..index].iter().map(|(at, _)| format!("`{}`", call.name(*at))).collect();
                let expected = format!("sizes that broadcast with {} of {}", size_list(&common), names.join(" and "));
                return call.invalid(*at, sizes_text(&tensor.sizes), expected);
            }
        };
    }
    Ok(common)
}

/// Returns the dim_order of the result of an elementwise operator: contiguous or channels-last if all operands are,
/// else the order of the strides of the first operand that distinguishes two dimensions.
///
/// The order of the operands is kept if all have the same: it does not determine the strides of dimensions of size 1,
/// and torch, which knows them, keeps most of them.
pub(super) fn elementwise_order(sizes: &[Dim], operands: &[&TensorMeta]) -> DimOrder {
    if let Some((first, rest)) = operands.split_first() {
        let is_same = |tensor: &&TensorMeta| tensor.sizes == sizes && tensor.dim_order == first.dim_order;
        if first.sizes == sizes && rest.iter().all(is_same) {
            return first.dim_order.clone();
        }
    }
    let strides: Vec<Vec<i64>> = operands.iter().map(|tensor| tensor.strides()).collect();
    let views = operands.iter().zip(&strides).map(|(tensor, strides)| Operand::new(sizes, &tensor.sizes, strides));
    order_of_operands(sizes, &views.collect::<Vec<_>>())
}

/// Returns the dim_order of the result of a function of a view; the stride of a dimension that is repeated is 0.
pub(super) fn order_of_view(sizes: &[Dim], strides: &[i64]) -> DimOrder {
    order_of_operands(sizes, &[Operand::new(sizes, sizes, strides)])
}

fn order_of_operands(sizes: &[Dim], operands: &[Operand]) -> DimOrder {
    let rank = sizes.len();
    let contiguous = operands.iter().all(|operand| operand.contiguous);
    let channels_last = operands.iter().all(|operand| operand.channels_last);
    if !(2..=MAX_RANK).contains(&rank) || contiguous && !channels_last {
        return DimOrder::contiguous(rank);
    }
    if channels_last && !contiguous {
        return shape::dim_order(&result_strides(sizes, &[1, 3, 2, 0]));
    }
    // From the innermost dimension to the outermost.
    let mut inner_first: Vec<usize> = (0..rank).rev().collect();
    for last in 1..rank {
        let mut at = last;
        for before in (0..last).rev() {
            match compare(sizes, operands, inner_first[before], inner_first[at]) {
                Ordering::Greater => {
                    inner_first.swap(before, at);
                    at = before;
                }
                Ordering::Less => break,
                Ordering::Equal => {}
            }
        }
    }
    shape::dim_order(&result_strides(sizes, &inner_first))
}

/// Returns strides of a dense tensor, in elements.
fn result_strides(sizes: &[Dim], inner_first: &[usize]) -> Vec<i64> {
    let mut strides = vec![0; sizes.len()];
    let mut next: i64 = 1;
    for &dim in inner_first {
        strides[dim] = next;
        next = next.saturating_mul(sizes[dim].size.max(1));
    }
    strides
}

/// Returns the order of two dimensions in memory by the first operand that has one; a greater dimension is further
/// outside.
fn compare(sizes: &[Dim], operands: &[Operand], a: usize, b: usize) -> Ordering {
    for Operand { strides, .. } in operands {
        if strides[a] == 0 || strides[b] == 0 {
            continue;
        }
        if strides[a] != strides[b] {
            return strides[a].cmp(&strides[b]);
        }
        if sizes[a].size > sizes[b].size {
            return Ordering::Greater;
        }
    }
    Ordering::Equal
}

/// An operand, as its broadcast view.
struct Operand {
    /// Strides in elements of the dimensions of the result.
    strides: Vec<i64>,
    /// The operand, before it is broadcast, is contiguous.
    contiguous: bool,
    /// The operand, before it is broadcast, has the memory format channels-last.
    channels_last: bool,
}

impl Operand {
    /// Returns a tensor of sizes `own` and their strides as a view of `sizes`. A broadcast dimension has stride 0 and
    /// orders nothing.
    fn new(sizes: &[Dim], own: &[Dim], own_strides: &[i64]) -> Operand {
        let mut strides = vec![0; sizes.len().saturating_sub(own.len())];
        for ((stride, from), to) in own_strides.iter().zip(own).zip(sizes.iter().skip(strides.len())) {
            let is_broadcast = from.size == 1 && to.size != 1;
            strides.push(if is_broadcast { 0 } else { *stride });
        }
        strides.resize(sizes.len(), 0);
        let order: Vec<usize> = (0..own.len()).collect();
        Operand {
            strides,
            contiguous: shape::element_count(own) == 0 || is_dense(own, own_strides, &order),
            channels_last: sizes.len() == 4 && own.len() == 4 && is_dense(own, own_strides, &[0, 2, 3, 1]),
        }
    }
}

/// Returns `true` if the strides are those of the dimensions in this order; dimensions of size 1 do not matter.
fn is_dense(sizes: &[Dim], strides: &[i64], order: &[usize]) -> bool {
    let mut next: i64 = 1;
    for &dim in order.iter().rev() {
        let size = sizes[dim].size;
        if size != 1 && strides[dim] != next {
            return false;
        }
        next = next.saturating_mul(size.max(1));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::testing::meta;
    use super::*;

    const fn upto(size: i64) -> Dim {
        Dim { size, dynamic: true }
    }

    #[test]
    fn dimensions_broadcast() {
        let fixed = Dim::fixed;
        let cases = [
            (fixed(1), fixed(4), Some(fixed(4))),
            (fixed(1), fixed(0), Some(fixed(0))),
            (fixed(3), fixed(3), Some(fixed(3))),
            (fixed(3), fixed(4), None),
            (fixed(1), upto(4), Some(upto(4))),
            (fixed(3), upto(4), Some(fixed(3))),
            (fixed(4), upto(3), Some(fixed(4))),
            (fixed(4), upto(0), None),
            (upto(4), upto(3), Some(upto(3))),
            (upto(1), upto(3), Some(upto(3))),
            (upto(1), fixed(1), Some(upto(1))),
        ];
        for (a, b, expected) in cases {
            assert_eq!(broadcast_dim(a, b), expected, "{a:?} {b:?}");
            assert_eq!(broadcast_dim(b, a), expected, "{b:?} {a:?}");
        }
        let sizes = |sizes: &[i64]| sizes.iter().copied().map(Dim::fixed).collect::<Vec<_>>();
        assert_eq!(broadcast_sizes(&sizes(&[3, 1]), &sizes(&[2, 1, 4])), Some(sizes(&[2, 3, 4])));
        assert_eq!(broadcast_sizes(&sizes(&[]), &sizes(&[2])), Some(sizes(&[2])));
        assert_eq!(broadcast_sizes(&sizes(&[2]), &sizes(&[2, 3])), None);
    }

    #[test]
    fn results_have_the_order_of_the_operands() {
        let cases = [
            ("float32 2 3 4 5", "float32 2 3 4 5", "0123"),
            ("float32 2 3 4 5 @0231", "float32 2 3 4 5 @0231", "0231"),
            ("float32 2 3 4 5 @0231", "float32 2 3 4 5", "0231"),
            ("float32 2 3 4 5", "float32 2 3 4 5 @0231", "0123"),
            ("float32 5", "float32 2 3 4 5 @0231", "0231"),
            ("float32 2 1 4 5", "float32 2 3 4 5 @0231", "0231"),
            ("float32 2 3 4 @201", "float32 4", "201"),
            ("float32 2 1 4 5 @0213", "float32 2 1 4 5 @0213", "0213"),
            ("float32", "float32 2 3 @10", "10"),
        ];
        for (a, b, expected) in cases {
            let (a_meta, b_meta) = (meta(a), meta(b));
            let sizes = broadcast_sizes(&a_meta.sizes, &b_meta.sizes).unwrap();
            let order = elementwise_order(&sizes, &[&a_meta, &b_meta]);
            let order: String = order.iter().map(|dim| char::from(b'0' + dim)).collect();
            assert_eq!(order, expected, "{a}; {b}");
        }
    }
}
