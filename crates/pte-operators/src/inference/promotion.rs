//! Promotion of element types: torch's `result_type`.

use std::cmp::Ordering;

use super::call::ScalarCategory;
use super::shape::Result;
use super::{Call, InferenceError, TensorMeta};
use pte_model::format::ScalarType;
use pte_model::format::scalar_type::Encoding;

/// Category of an element type, or of a number; a greater one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    /// Truth values.
    Bool,
    /// Integers.
    Integer,
    /// Floating point numbers.
    Floating,
    /// Complex numbers.
    Complex,
}

impl From<ScalarCategory> for Category {
    fn from(number: ScalarCategory) -> Category {
        match number {
            ScalarCategory::Bool => Category::Bool,
            ScalarCategory::Integer => Category::Integer,
            ScalarCategory::Floating => Category::Floating,
        }
    }
}

/// Element type that a function of operands has.
#[derive(Clone, Copy)]
pub(super) enum ResultType {
    /// That to which the operands are promoted.
    Promoted,
    /// The same, with float32 for integers and truth values.
    Floating,
    /// The same, with int64 for truth values.
    Integer,
    /// bool.
    Bool,
}

/// Ordinary types in the order of promotion; two types of one row are promoted to the first of the next.
const LEVELS: &[&[ScalarType]] = &[
    &[ScalarType::BOOL],
    &[ScalarType::BYTE, ScalarType::CHAR],
    &[ScalarType::SHORT],
    &[ScalarType::INT],
    &[ScalarType::LONG],
    &[ScalarType::HALF, ScalarType::BFLOAT16],
    &[ScalarType::FLOAT],
    &[ScalarType::DOUBLE],
    &[ScalarType::COMPLEXHALF],
    &[ScalarType::COMPLEXFLOAT],
    &[ScalarType::COMPLEXDOUBLE],
];

/// Real types, and the complex types of two of them. The runtime has no complex type of bfloat16.
const COMPLEX: &[(ScalarType, ScalarType)] = &[
    (ScalarType::HALF, ScalarType::COMPLEXHALF),
    (ScalarType::FLOAT, ScalarType::COMPLEXFLOAT),
    (ScalarType::DOUBLE, ScalarType::COMPLEXDOUBLE),
    (ScalarType::BFLOAT16, ScalarType::COMPLEXFLOAT),
];

/// Returns the category of an element type; `None` for packed bits and unknown numbers.
pub(super) fn category(scalar_type: ScalarType) -> Option<Category> {
    match scalar_type.info()?.encoding {
        Encoding::Bool => Some(Category::Bool),
        Encoding::Unsigned | Encoding::Signed => Some(Category::Integer),
        Encoding::Float(_) => Some(Category::Floating),
        Encoding::Complex(_) => Some(Category::Complex),
        Encoding::Opaque => None,
    }
}

/// Returns `true` for integers and truth values.
pub(super) fn is_integral(scalar_type: ScalarType) -> bool {
    matches!(category(scalar_type), Some(Category::Bool | Category::Integer))
}

/// Returns the type of the real part of a complex type; other types are returned.
pub(super) fn real_of(scalar_type: ScalarType) -> ScalarType {
    COMPLEX.iter().find(|(_, complex)| *complex == scalar_type).map_or(scalar_type, |(real, _)| *real)
}

/// Returns the complex type of two numbers of a real type.
pub(super) fn complex_of(scalar_type: ScalarType) -> Option<ScalarType> {
    COMPLEX.iter().find(|(real, _)| *real == scalar_type).map(|(_, complex)| *complex)
}

/// Returns the type to which two types of one category are promoted; `None` if they are not.
///
/// The types that are not in [`LEVELS`] are above those that are, as torch's inference has it; its kernels promote them
/// with themselves only.
pub(crate) fn promote(a: ScalarType, b: ScalarType) -> Option<ScalarType> {
    let level = |t| LEVELS.iter().position(|types| types.contains(&t));
    match (level(a), level(b)) {
        _ if a == b => Some(a),
        (Some(level), Some(other)) => match level.cmp(&other) {
            Ordering::Less => Some(b),
            Ordering::Greater => Some(a),
            Ordering::Equal => LEVELS.get(level + 1)?.first().copied(),
        },
        (None, Some(_)) => Some(a),
        (Some(_), None) => Some(b),
        (None, None) => None,
    }
}

/// An operand: a tensor, or the category of a number.
#[derive(Clone, Copy)]
enum Operand<'a> {
    Tensor(&'a TensorMeta),
    Number(ScalarCategory),
}

impl Operand<'_> {
    fn category(&self) -> Option<Category> {
        match self {
            Operand::Tensor(tensor) => category(tensor.scalar_type),
            Operand::Number(number) => Some((*number).into()),
        }
    }

    /// Returns the type of a tensor of this category, complex if that is the category; `None` for lower categories and
    /// numbers.
    fn type_in(&self, highest: Category) -> Option<Option<ScalarType>> {
        let Operand::Tensor(TensorMeta { scalar_type, .. }) = self else { return None };
        match (category(*scalar_type)?, highest) {
            (own, highest) if own == highest => Some(Some(*scalar_type)),
            (Category::Floating, Category::Complex) => Some(complex_of(*scalar_type)),
            _ => None,
        }
    }

    fn has_dimensions(&self) -> bool {
        matches!(self, Operand::Tensor(tensor) if tensor.rank() > 0)
    }
}

/// Returns the type to which operands are promoted; `None` if they are not.
///
/// The highest category of all operands counts; of its operands the tensors with dimensions, else those without, else
/// the default type of the category.
fn promoted(operands: &[Operand<'_>]) -> Option<ScalarType> {
    let mut highest = Category::Bool;
    for operand in operands {
        highest = highest.max(operand.category()?);
    }
    for has_dimensions in [true, false] {
        let mut types = operands
            .iter()
            .filter(|operand| operand.has_dimensions() == has_dimensions)
            .filter_map(|operand| operand.type_in(highest));
        if let Some(first) = types.next() {
            return types.try_fold(first?, |common, next| promote(common, next?));
        }
    }
    Some(match highest {
        Category::Bool => ScalarType::BOOL,
        Category::Integer => ScalarType::LONG,
        Category::Floating | Category::Complex => ScalarType::FLOAT,
    })
}

/// Returns the type to which tensors are promoted; `None` if they are not.
pub(super) fn type_of_tensors(tensors: &[&TensorMeta]) -> Option<ScalarType> {
    promoted(&tensors.iter().map(|tensor| Operand::Tensor(tensor)).collect::<Vec<_>>())
}

/// Returns the type to which arguments, tensors and numbers, are promoted; those that are None do not count.
///
/// # Errors
/// At the first argument whose type is not promoted with those before it.
pub(super) fn result_type(call: &Call<'_>, arguments: &[usize]) -> Result<ScalarType> {
    let mut operands = Vec::with_capacity(arguments.len());
    let mut common: Option<ScalarType> = None;
    for &at in arguments {
        let operand = match call.is_scalar(at) {
            true => call.optional_scalar(at)?.map(Operand::Number),
            false => call.optional_tensor(at)?.map(Operand::Tensor),
        };
        let Some(operand) = operand else { continue };
        operands.push(operand);
        let found = || match operand {
            Operand::Number(_) => "a number".to_owned(),
            Operand::Tensor(tensor) => format!("element type {}", tensor.scalar_type),
        };
        common = match (promoted(&operands), common) {
            (Some(promoted), _) => Some(promoted),
            (None, Some(before)) => {
                return call.invalid(at, found(), format!("an element type that is promoted with {before}"));
            }
            (None, None) => return call.invalid(at, found(), "an element type of numbers"),
        };
    }
    common.ok_or(InferenceError::Undetermined("no operand is given"))
}

impl ResultType {
    /// Returns the type of the result for the type to which the operands are promoted.
    pub(super) fn of(self, promoted: ScalarType) -> ScalarType {
        match self {
            ResultType::Promoted => promoted,
            ResultType::Floating if is_integral(promoted) => ScalarType::FLOAT,
            ResultType::Integer if promoted == ScalarType::BOOL => ScalarType::LONG,
            ResultType::Floating | ResultType::Integer => promoted,
            ResultType::Bool => ScalarType::BOOL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::meta;
    use super::*;

    #[test]
    fn operands_are_promoted() {
        // `n` precedes a number of the type.
        let cases = [
            ("float32 2; float64 2", Some("float64")),
            ("float32 2; float64", Some("float32")),
            ("int32 2; n float32", Some("float32")),
            ("int32 2; n int64", Some("int32")),
            ("int32 2; int64", Some("int32")),
            ("bool 2; int8", Some("int8")),
            ("bool 2; n int64", Some("int64")),
            ("uint8 2; int8 2", Some("int16")),
            ("float16 2; bfloat16 2", Some("float32")),
            ("int64 2; float16", Some("float16")),
            ("float64; n float32", Some("float64")),
            ("complex64 2; float64 2", Some("complex128")),
            ("float32 2; complex128", Some("complex64")),
            ("bfloat16 2; complex32 2", Some("complex64")),
            ("uint16 2; float16 2", Some("float16")),
            ("uint16 2; int32 2", Some("uint16")),
            ("uint16 2; uint32 2", None),
            ("bits8 2", None),
        ];
        for (operands, expected) in cases {
            let metas: Vec<(bool, TensorMeta)> = operands
                .split("; ")
                .map(|text| (text.starts_with("n "), meta(text.strip_prefix("n ").unwrap_or(text))))
                .collect();
            let list: Vec<Operand<'_>> = metas
                .iter()
                .map(|(is_number, meta)| match (is_number, category(meta.scalar_type)) {
                    (false, _) => Operand::Tensor(meta),
                    (true, Some(Category::Integer)) => Operand::Number(ScalarCategory::Integer),
                    (true, _) => Operand::Number(ScalarCategory::Floating),
                })
                .collect();
            assert_eq!(promoted(&list), expected.and_then(ScalarType::parse), "{operands}");
        }
    }
}
