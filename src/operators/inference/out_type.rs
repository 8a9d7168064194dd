//! Element types of outs: some kernels convert their results, others need an out of the type of the result. Measured in the runtime by
//! tests/inference_runtime.rs.

use super::promotion::{Category, category};
use crate::format::ScalarType;

/// Element types to which kernels convert a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conversion {
    /// Between bool and uint8.
    BoolOrByte,
    /// Between floating point types.
    Floating,
    /// Between types of one category. The kernel promotes its operands as if all had dimensions.
    WithinCategory,
    /// To a category that is not lower, of real numbers.
    Promotion,
    /// Between floating point types, and to bool: the quotient of two truth values.
    Quotient,
    /// Between integers and floating point numbers.
    Numbers,
    /// Between real numbers and truth values.
    Real,
    /// To real numbers and truth values.
    ToReal,
    /// To any type: the operator has an argument for the element type that the out variant lacks, or writes zeros or nothing.
    Any,
}

/// Operators that convert; all others need an out of the type of the result.
const CONVERSIONS: &[(Conversion, &[&str])] = &[
    (Conversion::BoolOrByte, &["aten::any.all_out", "aten::any.dims_out", "aten::any.out"]),
    (
        Conversion::Floating,
        &[
            "aten::abs.out",
            "aten::acos.out",
            "aten::acosh.out",
            "aten::add.Scalar_out",
            "aten::asin.out",
            "aten::asinh.out",
            "aten::atan.out",
            "aten::atan2.out",
            "aten::atanh.out",
            "aten::cos.out",
            "aten::cosh.out",
            "aten::erf.out",
            "aten::exp.out",
            "aten::expm1.out",
            "aten::glu.out",
            "aten::log.out",
            "aten::log10.out",
            "aten::log1p.out",
            "aten::log2.out",
            "aten::logit.out",
            "aten::mean.dtype_out",
            "aten::mean.out",
            "aten::rand.out",
            "aten::randn.out",
            "aten::reciprocal.out",
            "aten::rsqrt.out",
            "aten::sigmoid.out",
            "aten::sin.out",
            "aten::sinh.out",
            "aten::sqrt.out",
            "aten::tan.out",
            "aten::tanh.out",
            "aten::var.correction_out",
            "aten::var.out",
            "aten::var_mean.correction_out",
            "aten::view_as_real_copy.out",
            "quantized_decomposed::dequantize_per_channel.out",
            "quantized_decomposed::dequantize_per_tensor.Tensor_out",
            "quantized_decomposed::dequantize_per_tensor.out",
            "quantized_decomposed::embedding_2bit.out",
            "quantized_decomposed::embedding_4bit.out",
            "quantized_decomposed::mixed_linear.out",
        ],
    ),
    (Conversion::WithinCategory, &["aten::where.self_out"]),
    (
        Conversion::Promotion,
        &[
            "aten::add.out",
            "aten::bitwise_and.Scalar_out",
            "aten::bitwise_and.Tensor_out",
            "aten::bitwise_left_shift.Tensor_Scalar_out",
            "aten::bitwise_left_shift.Tensor_out",
            "aten::bitwise_or.Scalar_out",
            "aten::bitwise_or.Tensor_out",
            "aten::bitwise_right_shift.Tensor_Scalar_out",
            "aten::bitwise_right_shift.Tensor_out",
            "aten::bitwise_xor.Scalar_out",
            "aten::bitwise_xor.Tensor_out",
            "aten::cat.out",
            "aten::clamp.Tensor_out",
            "aten::div.Scalar_mode_out",
            "aten::div.out_mode",
            "aten::eq.Scalar_out",
            "aten::eq.Tensor_out",
            "aten::floor_divide.out",
            "aten::fmod.Scalar_out",
            "aten::fmod.Tensor_out",
            "aten::ge.Scalar_out",
            "aten::ge.Tensor_out",
            "aten::gt.Scalar_out",
            "aten::gt.Tensor_out",
            "aten::le.Scalar_out",
            "aten::le.Tensor_out",
            "aten::logical_and.out",
            "aten::logical_not.out",
            "aten::logical_or.out",
            "aten::logical_xor.out",
            "aten::lt.Scalar_out",
            "aten::lt.Tensor_out",
            "aten::max.unary_out",
            "aten::maximum.out",
            "aten::min.unary_out",
            "aten::minimum.out",
            "aten::mul.out",
            "aten::ne.Scalar_out",
            "aten::ne.Tensor_out",
            "aten::pow.Scalar_out",
            "aten::pow.Tensor_Scalar_out",
            "aten::pow.Tensor_Tensor_out",
            "aten::remainder.Scalar_out",
            "aten::remainder.Tensor_out",
            "aten::stack.out",
            "aten::sub.out",
        ],
    ),
    (Conversion::Quotient, &["aten::div.out"]),
    (Conversion::Numbers, &["aten::arange.out", "aten::arange.start_out"]),
    (
        Conversion::Real,
        &[
            "aten::_to_copy.out",
            "aten::cumsum.out",
            "aten::full.out",
            "aten::ones.out",
            "aten::prod.int_out",
            "aten::scalar_tensor.out",
            "aten::split_copy.Tensor_out",
            "aten::split_with_sizes_copy.out",
            "aten::sum.IntList_out",
            "aten::unbind_copy.int_out",
            "aten::unfold_copy.out",
        ],
    ),
    (Conversion::ToReal, &["aten::full_like.out"]),
    (
        Conversion::Any,
        &[
            "aten::empty.out",
            "aten::zeros.out",
            "dim_order_ops::_empty_dim_order.out",
            "dim_order_ops::_to_dim_order_copy.out",
        ],
    ),
];

impl Conversion {
    fn includes(self, result: ScalarType, out: ScalarType) -> bool {
        let (Some(from), Some(to)) = (category(result), category(out)) else { return self == Conversion::Any };
        let real = Category::Floating;
        let is_number = |category| matches!(category, Category::Integer | Category::Floating);
        match self {
            Conversion::BoolOrByte => [result, out].iter().all(|t| [ScalarType::BOOL, ScalarType::BYTE].contains(t)),
            Conversion::Floating => from == real && to == real,
            Conversion::WithinCategory => from == to && to <= real,
            Conversion::Promotion => from <= to && to <= real,
            Conversion::Quotient => from == real && (to == real || to == Category::Bool),
            Conversion::Numbers => is_number(from) && is_number(to),
            Conversion::Real => from <= real && to <= real,
            Conversion::ToReal => to <= real,
            Conversion::Any => true,
        }
    }
}

/// Returns `false` if a call of the operator `name` whose result has one element type fails for an out of another one, or writes numbers
/// that are not the result.
pub fn accepts(name: &str, result: ScalarType, out: ScalarType) -> bool {
    let converts = |(conversion, names): &(Conversion, &[&str])| {
        names.binary_search(&name).is_ok() && conversion.includes(result, out)
    };
    result == out || CONVERSIONS.iter().any(converts)
}

/// Returns true if an out of the operator `name` may have an element type of another kind than its result: the type is then declared.
#[cfg(feature = "cli")]
pub fn converts(name: &str) -> bool {
    let kinds = [Conversion::Real, Conversion::ToReal, Conversion::Any];
    CONVERSIONS.iter().any(|(conversion, names)| kinds.contains(conversion) && names.binary_search(&name).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operators;

    #[test]
    fn operators_are_known_and_sorted() {
        for (_, names) in CONVERSIONS {
            assert!(names.is_sorted());
            assert!(names.iter().all(|name| operators::find(name).is_some()));
        }
    }
}
