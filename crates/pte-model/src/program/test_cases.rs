//! Test cases of methods as a `.bpte` stores them: inputs and expected outputs.
//!
//! ```
//! use pte_model::data::Blob;
//! use pte_model::format::{DimOrder, ScalarType};
//! use pte_model::program::test_cases::{DEFAULT_ATOL, DEFAULT_RTOL, MethodTests, TestCase, TestData, Tolerance};
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
//! assert_eq!(case.tolerance(), Tolerance::default());
//! case.atol = 1e-3;
//! let tests = MethodTests::new("forward", vec![case]);
//! assert_eq!(tests.size(), 16);
//! ```

use crate::data::Blob;
pub use crate::data::elements::{DEFAULT_ATOL, DEFAULT_RTOL, Tolerance};
use crate::format::{DimOrder, ScalarType};

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
