//! Tensors in the compact form of unit tests: `float32 2 <=3 5 5 @0231` is a tensor with an upper bound and a
//! dim_order.

use super::{Dim, TensorMeta};
use pte_model::format::ScalarType;

/// Parses a tensor.
pub(super) fn meta(text: &str) -> TensorMeta {
    let (text, order) = text.split_once(" @").map_or((text, None), |(text, order)| (text, Some(order)));
    let mut words = text.split(' ');
    let scalar_type = ScalarType::parse(words.next().unwrap()).unwrap();
    let sizes = words.map(|word| match word.strip_prefix("<=") {
        Some(bound) => Dim { size: bound.parse().unwrap(), dynamic: true },
        None => Dim::fixed(word.parse().unwrap()),
    });
    let contiguous = TensorMeta::contiguous(scalar_type, sizes.collect());
    match order {
        None => contiguous,
        Some(order) => TensorMeta { dim_order: order.bytes().map(|digit| digit - b'0').collect(), ..contiguous },
    }
}
