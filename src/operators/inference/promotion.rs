//! Promotion of element types: torch's `result_type`.

use super::call::ScalarCategory;
use super::shape::Result;
use super::{Call, InferenceError, TensorMeta};
use crate::format::ScalarType;
use crate::format::scalar_type::Encoding;
use crate::operators::kernels::{PROMOTED_TO_SELF, UNPROMOTED};

/// Category of an element type; a greater one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Category {
    Bool,
    Integer,
    Floating,
    Complex,
}

/// Element type that a function of operands has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResultType {
    /// That to which the operands are promoted.
    Promoted,
    /// The same, with float32 for integers and truth values.
    Floating,
    /// bool.
    Bool,
}

/// Ordinary types that are not complex, in the order of promotion; two types of one row are promoted to the first of the next.
const LEVELS: &[&[ScalarType]] = &[
    &[ScalarType::BOOL],
    &[ScalarType(0), ScalarType(1)],
    &[ScalarType(2)],
    &[ScalarType(3)],
    &[ScalarType::LONG],
    &[HALF, BFLOAT16],
    &[ScalarType::FLOAT],
    &[DOUBLE],
];

const HALF: ScalarType = ScalarType(5);
const BFLOAT16: ScalarType = ScalarType(15);
const DOUBLE: ScalarType = ScalarType(7);

/// Real types, and the complex types of two of them.
const COMPLEX: &[(ScalarType, ScalarType)] =
    &[(HALF, ScalarType(8)), (ScalarType::FLOAT, ScalarType(9)), (DOUBLE, ScalarType(10))];

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

/// Returns the type to which two types are promoted; `None` if torch does not promote them.
pub(super) fn promote(a: ScalarType, b: ScalarType) -> Option<ScalarType> {
    if a == b {
        return Some(a);
    }
    let (low, high) = if category(a)? <= category(b)? { (a, b) } else { (b, a) };
    let is_ordinary = |t: ScalarType| !UNPROMOTED.contains(&t.0) && !PROMOTED_TO_SELF.contains(&t.0);
    if !is_ordinary(high) {
        return None;
    }
    match (category(low)?, category(high)?) {
        // The wide unsigned types are promoted to floating point only.
        (Category::Integer, Category::Floating) if !UNPROMOTED.contains(&low.0) => Some(high),
        _ if !is_ordinary(low) => None,
        (Category::Floating | Category::Complex, Category::Complex) => {
            complex_of(promote(real_of(low), real_of(high))?)
        }
        (Category::Bool | Category::Integer, Category::Floating | Category::Complex) => Some(high),
        _ => {
            let level = |t| LEVELS.iter().position(|types| types.contains(&t));
            let (a_level, b_level) = (level(a)?, level(b)?);
            match a_level.cmp(&b_level) {
                std::cmp::Ordering::Less => Some(b),
                std::cmp::Ordering::Greater => Some(a),
                std::cmp::Ordering::Equal => LEVELS.get(a_level + 1)?.first().copied(),
            }
        }
    }
}

/// The types of operands, by the precedence that torch gives them.
#[derive(Debug, Default)]
struct Operands {
    /// Promoted type of the tensors with dimensions.
    dimensioned: Option<ScalarType>,
    /// Promoted type of the tensors without dimensions.
    zero_dimensional: Option<ScalarType>,
    /// Promoted type of the numbers.
    numbers: Option<ScalarType>,
}

impl Operands {
    fn tensor(&mut self, tensor: &TensorMeta) -> Option<()> {
        let of = if tensor.rank() == 0 { &mut self.zero_dimensional } else { &mut self.dimensioned };
        Operands::add(of, tensor.scalar_type)
    }

    fn number(&mut self, category: ScalarCategory) -> Option<()> {
        let scalar_type = match category {
            ScalarCategory::Bool => ScalarType::BOOL,
            ScalarCategory::Integer => ScalarType::LONG,
            ScalarCategory::Floating => ScalarType::FLOAT,
        };
        Operands::add(&mut self.numbers, scalar_type)
    }

    fn add(of: &mut Option<ScalarType>, scalar_type: ScalarType) -> Option<()> {
        *of = Some(match *of {
            None => scalar_type,
            Some(before) => promote(before, scalar_type)?,
        });
        Some(())
    }

    /// Returns the type of all operands; `None` if they are not promoted.
    fn combined(&self) -> Option<ScalarType> {
        let lower = combine(self.zero_dimensional, self.numbers)?;
        combine(self.dimensioned, lower)?
    }
}

/// Combines the types of operands of a higher and of a lower precedence: the lower one matters if its category is greater. The inner
/// `None` stands for no operands, the outer one for types that are not promoted.
fn combine(higher: Option<ScalarType>, lower: Option<ScalarType>) -> Option<Option<ScalarType>> {
    let (Some(high), Some(low)) = (higher, lower) else { return Some(higher.or(lower)) };
    let combined = match (category(high), category(low)) {
        (Some(Category::Complex), _) => Some(high),
        (Some(Category::Floating), Some(Category::Complex)) => complex_of(high),
        (Some(Category::Floating), _) => Some(high),
        (Some(Category::Bool), _) | (_, Some(Category::Floating | Category::Complex)) => promote(high, low),
        (Some(Category::Integer) | None, _) => Some(high),
    };
    combined.map(Some)
}

/// Returns the type to which arguments, tensors and numbers, are promoted; those that are None do not count.
///
/// # Errors
/// At the first argument whose type is not promoted with those before it.
pub(super) fn result_type(call: &Call<'_>, arguments: &[usize]) -> Result<ScalarType> {
    let mut operands = Operands::default();
    let mut common: Option<ScalarType> = None;
    for &at in arguments {
        let (added, found) = if call.is_scalar(at) {
            let Some(number) = call.optional_scalar(at)? else { continue };
            (operands.number(number), "a number".to_owned())
        } else {
            let Some(tensor) = call.optional_tensor(at)? else { continue };
            (operands.tensor(tensor), format!("element type {}", tensor.scalar_type))
        };
        common = match (added.and_then(|()| operands.combined()), common) {
            (Some(combined), _) => Some(combined),
            (None, Some(before)) => {
                return call.invalid(at, found, format!("an element type that is promoted with {before}"));
            }
            (None, None) => return call.invalid(at, found, "an element type that is promoted"),
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
            ResultType::Floating => promoted,
            ResultType::Bool => ScalarType::BOOL,
        }
    }
}
