//! Element types of outs: kernels may convert their results, and some operators have no argument for the element type.

use super::promotion::category;
use crate::format::ScalarType;

/// Operators whose out has the element type that the functional operator has an argument for.
const TYPED_BY_OUT: &[&str] = &[
    "aten::_to_copy.out",
    "aten::arange.out",
    "aten::arange.start_out",
    "aten::empty.out",
    "aten::full.out",
    "aten::full_like.out",
    "aten::ones.out",
    "aten::rand.out",
    "aten::randn.out",
    "aten::scalar_tensor.out",
    "aten::zeros.out",
    "dim_order_ops::_empty_dim_order.out",
    "dim_order_ops::_to_dim_order_copy.out",
];

/// Returns `false` if a call of the operator `name` whose results are of one element type cannot write them to an out of another one: it
/// would lose the imaginary part, the fraction, or all but a truth value.
pub fn accepts(name: &str, result: ScalarType, out: ScalarType) -> bool {
    if result == out || TYPED_BY_OUT.contains(&name) {
        return true;
    }
    match (category(result), category(out)) {
        (Some(result), Some(out)) => result <= out,
        (None, _) | (_, None) => false,
    }
}
