//! Compares the outputs of a test with the expected ones.
//!
//! Two numbers are equal if they differ by at most `atol + rtol * |expected|`; two NaNs are equal, and so are equal
//! infinities. Integers, booleans, strings, element types and sizes are equal only exactly, orders of dimensions if
//! they put the elements in the same order in memory: a runner may not know more than the strides.

use std::io;

use pte_model::data::number::{self, NumericValue};
use pte_model::format::ScalarType;
use pte_model::program::test_cases::{TestCase, TestData};
use serde::Serialize;

use crate::value::OutputValue;

/// Result of comparing the outputs of a test.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OutputComparison {
    /// Number of expected outputs.
    pub outputs: usize,
    /// Largest absolute difference of two numbers, of all outputs of equal types and sizes; `None` without numbers, or
    /// if one is infinite.
    pub max_error: Option<f64>,
    /// First difference; `None` if all outputs are as expected.
    pub difference: Option<OutputDifference>,
}

/// A difference between an output and the expected one, part of [`OutputComparison`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OutputDifference {
    /// Kind of the difference.
    pub kind: OutputDifferenceKind,
    /// Index of the output; `None` if their number differs.
    pub output: Option<usize>,
    /// Index of the element, by dimension; `None` if it is not one that differs.
    pub element: Option<Vec<u64>>,
    /// Expected value.
    pub expected: String,
    /// Value found.
    pub found: String,
    /// Absolute difference of the two numbers; `None` of others, and if it is not finite.
    pub error: Option<f64>,
    /// Largest difference that is permitted here: `atol + rtol * |expected|`; `None` where nothing is.
    pub tolerance: Option<f64>,
    /// Number of elements of the output that differ; `None` if it is not an element that differs.
    pub differing: Option<u64>,
    /// Number of elements of the output.
    pub elements: Option<u64>,
}

/// Kind of an [`OutputDifference`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OutputDifferenceKind {
    /// The number of outputs.
    Count,
    /// The kind of a value, or a value that is not a tensor.
    Value,
    /// The element type of a tensor.
    ElementType,
    /// The sizes of a tensor.
    Sizes,
    /// The order of dimensions of a tensor.
    DimOrder,
    /// A tensor without memory.
    NoMemory,
    /// An element of a tensor: the first one in memory.
    Element,
}

impl OutputDifference {
    fn new(kind: OutputDifferenceKind, expected: impl ToString, found: impl ToString) -> OutputDifference {
        let (expected, found) = (expected.to_string(), found.to_string());
        let (output, element, error, tolerance, differing, elements) = (None, None, None, None, None, None);
        OutputDifference { kind, output, element, expected, found, error, tolerance, differing, elements }
    }

    /// Adds the difference of two numbers, and the tolerance.
    fn of_numbers(mut self, expected: NumericValue, found: NumericValue, case: &TestCase) -> OutputDifference {
        self.error = Some(expected.distance(found)).filter(|error| error.is_finite());
        if let NumericValue::Float(number) | NumericValue::Complex(number, _) = expected {
            self.tolerance = Some(case.tolerance().of(number)).filter(|tolerance| tolerance.is_finite());
        }
        self
    }
}

/// Compares the outputs of a test, and returns the first [`OutputDifference`]. Without expected outputs, nothing is
/// compared.
///
/// ```
/// use pte_run::compare::{OutputComparison, OutputDifferenceKind};
/// use pte_run::{OutputValue, compare};
/// use pte_run::pte_model::program::test_cases::{TestCase, TestData};
///
/// let case = TestCase::new(vec![], Some(vec![TestData::Double(1f64)]));
/// let OutputComparison { difference, .. } = compare::outputs(&case, &[OutputValue::Double(1f64 + 1e-9)])?;
/// assert_eq!(difference, None);
///
/// let OutputComparison { difference, max_error, .. } = compare::outputs(&case, &[OutputValue::Double(2f64)])?;
/// let found = difference.unwrap();
/// assert_eq!((found.kind, found.output, max_error), (OutputDifferenceKind::Value, Some(0), Some(1f64)));
/// assert_eq!((&*found.expected, &*found.found), ("1.0", "2.0"));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// An expected output that cannot be read.
pub fn outputs(case: &TestCase, found: &[OutputValue]) -> io::Result<OutputComparison> {
    let expected = case.outputs.as_deref().unwrap_or_default();
    let mut comparison = OutputComparison { outputs: expected.len(), ..OutputComparison::default() };
    let mut largest = None;
    for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
        let difference = value(expected, found, case, &mut largest)?;
        if let Some(difference) = difference.filter(|_| comparison.difference.is_none()) {
            comparison.difference = Some(OutputDifference { output: Some(index), ..difference });
        }
    }
    if case.outputs.is_some() && expected.len() != found.len() {
        let kind = OutputDifferenceKind::Count;
        comparison.difference = Some(OutputDifference::new(kind, expected.len(), found.len()));
    }
    comparison.max_error = largest.filter(|error: &f64| error.is_finite());
    Ok(comparison)
}

/// Compares a value.
fn value(
    expected: &TestData,
    found: &OutputValue,
    case: &TestCase,
    largest: &mut Option<f64>,
) -> io::Result<Option<OutputDifference>> {
    let same = match (expected, found) {
        (TestData::Null, OutputValue::Null) => true,
        (TestData::Int(expected), OutputValue::Int(found)) => expected == found,
        (TestData::Bool(expected), OutputValue::Bool(found)) => expected == found,
        (TestData::String(expected), OutputValue::String(found)) => expected.as_bytes() == found,
        (TestData::Double(expected), OutputValue::Double(found)) => {
            is_same(NumericValue::Float(*expected), NumericValue::Float(*found), case, largest)
        }
        (
            TestData::Tensor { scalar_type, sizes, dim_order, data },
            OutputValue::Tensor { scalar_type: found_type, sizes: found_sizes, dim_order: found_order, bytes },
        ) => {
            let shape = || {
                if found_type != scalar_type {
                    let kind = OutputDifferenceKind::ElementType;
                    return Some(OutputDifference::new(kind, scalar_type, found_type));
                }
                if found_sizes != sizes {
                    let (expected, found) = (format!("{sizes:?}"), format!("{found_sizes:?}"));
                    return Some(OutputDifference::new(OutputDifferenceKind::Sizes, expected, found));
                }
                if !is_same_order(sizes, dim_order, found_order) {
                    let (expected, found) = (format!("{:?}", &**dim_order), format!("{found_order:?}"));
                    return Some(OutputDifference::new(OutputDifferenceKind::DimOrder, expected, found));
                }
                None
            };
            if let Some(difference) = shape() {
                return Ok(Some(difference));
            }
            let Some(bytes) = bytes else {
                let kind = OutputDifferenceKind::NoMemory;
                return Ok(Some(OutputDifference::new(kind, "a tensor with memory", "one without")));
            };
            let tensors =
                Tensors { scalar_type: *scalar_type, sizes, dim_order, expected: &data.to_vec()?, found: bytes };
            return Ok(tensors.compare(case, largest));
        }
        _ => false,
    };
    if same {
        return Ok(None);
    }
    let kind = OutputDifferenceKind::Value;
    let differing = OutputDifference::new(kind, expected_text(expected), found_text(found));
    Ok(Some(match (expected, found) {
        (TestData::Double(expected), OutputValue::Double(found)) => {
            differing.of_numbers(NumericValue::Float(*expected), NumericValue::Float(*found), case)
        }
        _ => differing,
    }))
}

/// Returns true if two numbers are equal within the tolerance of a test, and increases the largest difference so far.
fn is_same(expected: NumericValue, found: NumericValue, case: &TestCase, largest: &mut Option<f64>) -> bool {
    let error = expected.distance(found);
    // `max` ignores NaN.
    *largest = Some(largest.map_or(error, |largest| largest.max(error)));
    case.tolerance().accepts_element(expected, found)
}

/// Returns true if two orders of dimensions are the same in memory: dimensions of size 1 may be anywhere.
fn is_same_order(sizes: &[i32], left: &[u8], right: &[u8]) -> bool {
    let counts = |dimension: &&u8| sizes.get(usize::from(**dimension)).is_none_or(|size| *size != 1);
    sizes.contains(&0) || left.iter().filter(counts).eq(right.iter().filter(counts))
}

fn expected_text(value: &TestData) -> String {
    match value {
        TestData::Null => "null".to_owned(),
        TestData::Int(n) => n.to_string(),
        TestData::Double(x) => format!("{x:?}"),
        TestData::Bool(b) => b.to_string(),
        TestData::String(text) => format!("{text:?}"),
        TestData::Tensor { scalar_type, sizes, .. } => format!("a tensor {scalar_type} {sizes:?}"),
    }
}

fn found_text(value: &OutputValue) -> String {
    match value {
        OutputValue::Null => "null".to_owned(),
        OutputValue::Int(n) => n.to_string(),
        OutputValue::Double(x) => format!("{x:?}"),
        OutputValue::Bool(b) => b.to_string(),
        OutputValue::String(bytes) => format!("{:?}", String::from_utf8_lossy(bytes)),
        OutputValue::Tensor { scalar_type, sizes, .. } => format!("a tensor {scalar_type} {sizes:?}"),
        OutputValue::Other(tag) => format!("a value of the kind {tag}"),
    }
}

/// Two tensors of equal types, sizes and orders, both in the order of memory.
struct Tensors<'t> {
    scalar_type: ScalarType,
    sizes: &'t [i32],
    dim_order: &'t [u8],
    expected: &'t [u8],
    found: &'t [u8],
}

impl Tensors<'_> {
    fn compare(&self, case: &TestCase, largest: &mut Option<f64>) -> Option<OutputDifference> {
        let size = self.scalar_type.element_size() as usize;
        if self.expected.len() != self.found.len() {
            let (expected, found) = (self.expected.len(), self.found.len());
            let (expected, found) = (format!("{expected} bytes"), format!("{found} bytes"));
            return Some(OutputDifference::new(OutputDifferenceKind::Sizes, expected, found));
        }
        let (mut first, mut differing) = (None, 0);
        for (position, (expected, found)) in self.expected.chunks(size).zip(self.found.chunks(size)).enumerate() {
            let is_same = match self.numbers(expected, found) {
                // Several bytes are true.
                Some((l, r)) => {
                    is_same(l, r, case, largest) && (!matches!(l, NumericValue::Bool(_)) || expected == found)
                }
                None => expected == found,
            };
            if !is_same {
                differing += 1;
                first.get_or_insert((position, expected, found));
            }
        }
        let (position, expected, found) = first?;
        let mut difference = match self.numbers(expected, found) {
            Some((l, r)) => OutputDifference::new(OutputDifferenceKind::Element, l, r).of_numbers(l, r, case),
            None => {
                let (expected, found) = (format!("the bytes {expected:02x?}"), format!("{found:02x?}"));
                OutputDifference::new(OutputDifferenceKind::Element, expected, found)
            }
        };
        difference.element = Some(coordinates(position as u64, self.sizes, self.dim_order));
        difference.differing = Some(differing);
        difference.elements = Some((self.expected.len() / size) as u64);
        Some(difference)
    }

    fn numbers(&self, expected: &[u8], found: &[u8]) -> Option<(NumericValue, NumericValue)> {
        number::decode(self.scalar_type, expected).zip(number::decode(self.scalar_type, found))
    }
}

/// Index by dimension of the element at a position in memory.
///
/// ```
/// assert_eq!(pte_run::compare::coordinates(4, &[2, 3], &[0, 1]), [1, 1]);
/// assert_eq!(pte_run::compare::coordinates(4, &[2, 3], &[1, 0]), [0, 2]);
/// ```
pub fn coordinates(mut position: u64, sizes: &[i32], dim_order: &[u8]) -> Vec<u64> {
    let mut at = vec![0; sizes.len()];
    for &dimension in dim_order.iter().rev() {
        let Some((size, at)) = sizes.get(usize::from(dimension)).zip(at.get_mut(usize::from(dimension))) else {
            continue;
        };
        let size = u64::try_from(*size).unwrap_or(1).max(1);
        (*at, position) = (position % size, position / size);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(expected: &str, found: &str) -> OutputComparison {
        let expected = OutputValue::parse(expected).and_then(|value| value.to_test_data()).unwrap();
        let case = TestCase::new(Vec::new(), Some(vec![expected]));
        outputs(&case, &[OutputValue::parse(found).unwrap()]).unwrap()
    }

    #[test]
    fn orders_of_one_memory_are_equal() {
        let bytes = "0000803f000000400000404000008040";
        let tensor = |sizes: &str, order: &str| format!("tensor 6 {sizes} {order} {bytes}");
        for (sizes, left, right, is_same) in [
            ("1,1,2,2", "0,1,2,3", "0,2,3,1", true),
            ("2,2", "0,1", "1,0", false),
            ("1,2,2,1", "0,1,2,3", "0,2,3,1", false),
        ] {
            let found = compared(&tensor(sizes, left), &tensor(sizes, right));
            assert_eq!(found.difference.is_none(), is_same, "{sizes} {left} {right}: {found:?}");
        }
        assert_eq!(compared("tensor 6 0,2 0,1 -", "tensor 6 0,2 1,0 -").difference, None);
    }

    #[test]
    fn integers_and_unknown_types_are_equal_only_exactly() {
        let found =
            compared("tensor 4 2 0 0100000000000000ffffffffffffff7f", "tensor 4 2 0 0100000000000000feffffffffffff7f");
        let difference = found.difference.unwrap();
        assert_eq!((difference.element, difference.error), (Some(vec![1]), Some(1.0)));
        assert_eq!(&*difference.expected, "9223372036854775807");
        let found = compared("tensor 99 2 0 0102", "tensor 99 2 0 0103").difference.unwrap();
        assert_eq!((&*found.expected, &*found.found), ("the bytes [02]", "[03]"));
    }
}
