//! Slot tables of `bundled_program_schema.fbs`, the schema of `.bpte` files (identifier `BP08`).

use super::Kind::{AlignedBytes, Bool, Bytes, Double, Enum as Named, Ints, Long, Tables, Text, UInt, Union, UnionTag};
use super::scalar_type::SCALAR_TYPE;
use super::table::{tables, unions};

/// The file identifier at bytes 4..8 (rule H-30).
pub const IDENTIFIER: &str = "BP08";

tables! {
    /// Root table: a complete `.pte` and its tests.
    BUNDLED_PROGRAM = bundled_program BundledProgram {
        version: UInt, method_test_suites: Tables(&BUNDLED_METHOD_TEST_SUITE), program: AlignedBytes(32),
    }
    /// The tests of one method.
    BUNDLED_METHOD_TEST_SUITE = bundled_method_test_suite BundledMethodTestSuite {
        method_name: Text, test_cases: Tables(&BUNDLED_METHOD_TEST_CASE),
    }
    /// One test.
    BUNDLED_METHOD_TEST_CASE = bundled_method_test_case BundledMethodTestCase {
        inputs: Tables(&VALUE), expected_outputs: Tables(&VALUE),
    }
    /// An input or an output of a test.
    VALUE = value Value { val_type: UnionTag, val: Union(VALUE_UNION) }
}

unions! {
    /// Members of the union `ValueUnion`.
    ValueType VALUE_UNION {
        /// A tensor with its bytes.
        Tensor: TENSOR = tensor { scalar_type: Named(&SCALAR_TYPE), sizes: Ints, data: AlignedBytes(16), dim_order: Bytes }
        /// An integer.
        Int: INT = int { int_val: Long }
        /// A truth value.
        Bool: BOOL = bool_ { bool_val: Bool }
        /// A floating point number.
        Double: DOUBLE = double { double_val: Double }
    }
}
