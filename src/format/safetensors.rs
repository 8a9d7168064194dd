//! Element types of the `.safetensors` format.

use safetensors::Dtype;

/// Element types that exist in both formats.
pub const TYPES: &[(Dtype, &str)] = &[
    (Dtype::BOOL, "bool"),
    (Dtype::U8, "uint8"),
    (Dtype::I8, "int8"),
    (Dtype::I16, "int16"),
    (Dtype::U16, "uint16"),
    (Dtype::F16, "float16"),
    (Dtype::BF16, "bfloat16"),
    (Dtype::I32, "int32"),
    (Dtype::U32, "uint32"),
    (Dtype::F32, "float32"),
    (Dtype::F64, "float64"),
    (Dtype::I64, "int64"),
    (Dtype::U64, "uint64"),
    (Dtype::C64, "complex64"),
    (Dtype::F8_E5M2, "float8_e5m2"),
    (Dtype::F8_E4M3, "float8_e4m3fn"),
];
