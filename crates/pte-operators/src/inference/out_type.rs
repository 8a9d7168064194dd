//! Element types of outs: some kernels convert their results, others need an out of the type of the result.
//! lab/tests/runtime/inference_runtime.rs of the repository measures this in the runtime.

use super::promotion::{Category, category};
use pte_model::format::ScalarType;

/// Element types to which kernels convert a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// None: an out has the type of the result.
    None,
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
    /// To any type: the operator has an argument for the element type that the out variant lacks, or writes zeros or
    /// nothing.
    Any,
}

impl Conversion {
    fn includes(self, result: ScalarType, out: ScalarType) -> bool {
        let (Some(from), Some(to)) = (category(result), category(out)) else { return self == Conversion::Any };
        let real = Category::Floating;
        let is_number = |category| matches!(category, Category::Integer | Category::Floating);
        match self {
            Conversion::None => false,
            Conversion::BoolOrByte => [result, out].iter().all(|t| [ScalarType::BOOL, ScalarType(0)].contains(t)),
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

    /// Returns `false` if a call whose result has one element type fails for an out of another one, or writes numbers
    /// that are not the result.
    pub fn accepts(self, result: ScalarType, out: ScalarType) -> bool {
        result == out || self.includes(result, out)
    }

    /// Returns true if an out may have an element type of another kind than the result: the type is then declared.
    pub fn changes_kind(self) -> bool {
        matches!(self, Conversion::Real | Conversion::ToReal | Conversion::Any)
    }
}
