//! Test cases of methods as a `.bpte` stores them: inputs and expected outputs.
//!
//! ```
//! use pte_model::data::Blob;
//! use pte_model::format::{DimOrder, ScalarType};
//! use pte_model::program::test_cases::{DEFAULT_ATOL, DEFAULT_RTOL, MethodTests, TestCase, TestData};
//!
//! // A method that returns its input and the number 7.
//! let x = TestData::Tensor {
//!     scalar_type: ScalarType::FLOAT,
//!     sizes: vec![2],
//!     dim_order: DimOrder::contiguous(1),
//!     data: Blob::bytes([1f32, 2.0].map(f32::to_le_bytes).concat()),
//! };
//! let mut case = TestCase::new(vec![x.clone()], Some(vec![x, TestData::Int(7)]));
//! assert_eq!((case.atol, case.rtol), (DEFAULT_ATOL, DEFAULT_RTOL));
//! case.atol = 1e-3;
//! let tests = MethodTests::new("forward", vec![case]);
//! assert_eq!(tests.size(), 16);
//! ```

use crate::data::Blob;
use crate::data::number::NumericValue;
use crate::format::{DimOrder, ScalarType};

/// Default absolute tolerance of a test.
pub const DEFAULT_ATOL: f64 = 1e-6;

/// Default relative tolerance of a test.
pub const DEFAULT_RTOL: f64 = 1e-5;

/// Tests of a method.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodTests {
    /// Name of the tested method.
    pub method: String,
    /// Its tests.
    pub cases: Vec<TestCase>,
}

impl MethodTests {
    /// Returns the tests of a method.
    pub fn new(method: impl Into<String>, cases: Vec<TestCase>) -> MethodTests {
        MethodTests { method: method.into(), cases }
    }

    /// Returns the total size of the tensors in bytes.
    pub fn size(&self) -> u64 {
        let values = self.cases.iter().flat_map(|case| case.inputs.iter().chain(case.outputs.iter().flatten()));
        values.fold(0, |sum: u64, value| match value {
            TestData::Tensor { data, .. } => sum.saturating_add(data.len),
            TestData::Null | TestData::Int(_) | TestData::Double(_) | TestData::Bool(_) | TestData::String(_) => sum,
        })
    }
}

/// Inputs of an execution, and the outputs that are expected.
#[derive(Debug, Clone, PartialEq)]
pub struct TestCase {
    /// Inputs of the method.
    pub inputs: Vec<TestData>,
    /// Expected outputs; `None` if outputs are not compared.
    pub outputs: Option<Vec<TestData>>,
    /// Absolute tolerance.
    pub atol: f64,
    /// Relative tolerance.
    pub rtol: f64,
}

impl TestCase {
    /// Returns a test with the default allowed differences.
    pub fn new(inputs: Vec<TestData>, outputs: Option<Vec<TestData>>) -> TestCase {
        let Tolerance { atol, rtol } = Tolerance::default();
        TestCase { inputs, outputs, atol, rtol }
    }

    /// Returns the allowed differences.
    pub fn tolerance(&self) -> Tolerance {
        Tolerance { atol: self.atol, rtol: self.rtol }
    }
}

/// Largest difference of two floating point numbers that count as equal: `atol + rtol * |expected|`.
///
/// ```
/// use pte_model::program::test_cases::{TestCase, Tolerance};
///
/// let tolerance = Tolerance { atol: 0.5, rtol: 0.25 };
/// assert_eq!(tolerance.of(-6f64), 2f64);
/// let expected = 6f64;
/// assert!(tolerance.accepts(expected, 8f64) && !tolerance.accepts(expected, 9f64));
/// assert!(tolerance.accepts(f64::NAN, f64::NAN) && !tolerance.accepts(expected, f64::NAN));
/// assert!(tolerance.accepts(f64::INFINITY, f64::INFINITY) && !tolerance.accepts(f64::INFINITY, expected));
/// assert_eq!(TestCase::new(vec![], None).tolerance(), Tolerance::default());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Absolute part.
    pub atol: f64,
    /// Relative part.
    pub rtol: f64,
}

impl Default for Tolerance {
    fn default() -> Tolerance {
        Tolerance { atol: DEFAULT_ATOL, rtol: DEFAULT_RTOL }
    }
}

impl Tolerance {
    /// Returns the largest difference from an expected number.
    pub fn of(&self, expected: f64) -> f64 {
        self.atol + self.rtol * expected.abs()
    }

    /// Returns true if a number is equal to the expected one within the tolerance. Two NaNs are equal, and so are equal
    /// infinities.
    pub fn accepts(&self, expected: f64, found: f64) -> bool {
        let tolerance = self.of(expected);
        expected == found
            || (expected.is_nan() && found.is_nan())
            || (tolerance.is_finite() && (found - expected).abs() <= tolerance)
    }

    /// Returns true if an element is equal to the expected one of the same type: within the tolerance if it is of
    /// floating point, exactly if not.
    ///
    /// ```
    /// use pte_model::data::number::NumericValue;
    /// use pte_model::program::test_cases::Tolerance;
    ///
    /// let tolerance = Tolerance { atol: 1f64, rtol: 0f64 };
    /// let complex = |im| NumericValue::Complex(0f64, im);
    /// assert!(tolerance.accepts_element(complex(1f64), complex(2f64)));
    /// assert!(!tolerance.accepts_element(complex(1f64), complex(3f64)));
    /// assert!(!tolerance.accepts_element(NumericValue::Int(1), NumericValue::Int(2)));
    /// ```
    pub fn accepts_element(&self, expected: NumericValue, found: NumericValue) -> bool {
        match (expected, found) {
            (NumericValue::Float(expected), NumericValue::Float(found)) => self.accepts(expected, found),
            (NumericValue::Complex(re, im), NumericValue::Complex(found_re, found_im)) => {
                self.accepts(re, found_re) && self.accepts(im, found_im)
            }
            _ => expected == found,
        }
    }
}

/// A value of a test. The enum is exhaustive on purpose, like [`EValue`](super::EValue).
#[derive(Debug, Clone, PartialEq)]
pub enum TestData {
    /// None.
    Null,
    /// An Int.
    Int(i64),
    /// A floating point number.
    Double(f64),
    /// A truth value.
    Bool(bool),
    /// A string, which a `.bpte` cannot store.
    String(String),
    /// A tensor, with its bytes.
    Tensor {
        /// Element type.
        scalar_type: ScalarType,
        /// Sizes.
        sizes: Vec<i32>,
        /// Dimensions from the outermost in memory to the innermost.
        dim_order: DimOrder,
        /// Bytes, in the order of memory.
        data: Blob,
    },
}
