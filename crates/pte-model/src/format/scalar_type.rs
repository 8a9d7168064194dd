//! The element types: number, name in torch, name in the schema, size, encoding (docs/format.md, "Element types").
//!
//! A file may contain any number; the runtime accepts those with [`ScalarType::info`]. [`crate::data::number`] converts
//! numbers to and from the bytes of a type.

use super::table::Enum;

/// An element type, by its number in the file. The constants have the names of the schema. The default of a field is
/// [`ScalarType::BYTE`].
///
/// ```
/// use pte_model::format::ScalarType;
///
/// let half = ScalarType::parse("torch.float16").unwrap();
/// assert_eq!((half, half.to_string()), (ScalarType::HALF, "float16".to_owned()));
/// assert_eq!(half.info().unwrap().size, 2);
/// assert_eq!(ScalarType::names().next(), Some("uint8"));
/// assert_eq!(ScalarType::all().next(), Some(ScalarType::BYTE));
/// assert_eq!([ScalarType::BYTE, ScalarType::LONG].map(|t| t.0), [0, 4]);
/// assert!(ScalarType(100).info().is_none()); // a file may contain it, the runtime rejects it
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScalarType(pub i8);

/// Binary format of a floating point number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FloatFormat {
    /// IEEE 754 double precision.
    Binary64,
    /// IEEE 754 single precision.
    Binary32,
    /// IEEE 754 half precision.
    Binary16,
    /// The upper 16 bits of [`FloatFormat::Binary32`].
    Bfloat16,
    /// 5 exponent bits, 2 mantissa bits, with infinities.
    Float8E5m2,
    /// 4 exponent bits, 3 mantissa bits, without infinities.
    Float8E4m3fn,
    /// 5 exponent bits, 2 mantissa bits, without infinities and negative zero.
    Float8E5m2fnuz,
    /// 4 exponent bits, 3 mantissa bits, without infinities and negative zero.
    Float8E4m3fnuz,
}

impl FloatFormat {
    /// Size in bytes.
    pub const fn size(self) -> u64 {
        match self {
            FloatFormat::Binary64 => 8,
            FloatFormat::Binary32 => 4,
            FloatFormat::Binary16 | FloatFormat::Bfloat16 => 2,
            FloatFormat::Float8E5m2
            | FloatFormat::Float8E4m3fn
            | FloatFormat::Float8E5m2fnuz
            | FloatFormat::Float8E4m3fnuz => 1,
        }
    }
}

/// Encoding of one element as bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Unsigned integer.
    Unsigned,
    /// Two's complement integer.
    Signed,
    /// 0 or 1.
    Bool,
    /// Floating point number.
    Float(FloatFormat),
    /// Two floating point numbers: real and imaginary part.
    Complex(FloatFormat),
    /// Packed bits without a numeric meaning, written as unsigned integers.
    Opaque,
}

/// Properties of an element type: the result of [`ScalarType::info`].
///
/// ```
/// use pte_model::format::{ScalarType, ScalarTypeInfo};
///
/// let info: &ScalarTypeInfo = ScalarType::FLOAT.info().unwrap();
/// assert_eq!((info.code, info.name, info.schema, info.size), (6, "float32", "FLOAT", 4));
/// ```
#[derive(Debug)]
pub struct ScalarTypeInfo {
    /// Number in the file.
    pub code: i8,
    /// Name in torch.
    pub name: &'static str,
    /// Enumerator in the schema, or in the runtime for numbers that the schema lacks.
    pub schema: &'static str,
    /// Enumerator of `ScalarType` in C++. A script of ExecuTorch 1.5.1 writes `UInt64` as `Uint64`, which does not
    /// compile.
    #[doc(hidden)]
    pub enumerator: &'static str,
    /// Bytes per element.
    pub size: u64,
    /// Encoding of an element.
    #[doc(hidden)]
    pub encoding: Encoding,
}

use Encoding::{Bool, Complex, Float, Opaque, Signed, Unsigned};
use FloatFormat::{Bfloat16, Binary16, Binary32, Binary64, Float8E4m3fn, Float8E4m3fnuz, Float8E5m2, Float8E5m2fnuz};

macro_rules! scalar_types {
    ($( $code:literal $name:literal $schema:ident $enumerator:ident $size:literal $encoding:expr, )*) => {
const INFO: &[ScalarTypeInfo] = &[$( ScalarTypeInfo { code: $code, name: $name, schema: stringify!($schema), enumerator: stringify!($enumerator), size: $size, encoding: $encoding } ),*];
        /// The schema's enum, extended by the numbers of the runtime.
        pub static SCALAR_TYPE: Enum = Enum { name: "ScalarType", names: &[$( (stringify!($schema), $code) ),*] };

        impl ScalarType {
            $( #[doc = concat!("`", $name, "`.")] pub const $schema: ScalarType = ScalarType($code); )*
        }
    };
}

scalar_types! {
    0 "uint8" BYTE Byte 1 Unsigned,
    1 "int8" CHAR Char 1 Signed,
    2 "int16" SHORT Short 2 Signed,
    3 "int32" INT Int 4 Signed,
    4 "int64" LONG Long 8 Signed,
    5 "float16" HALF Half 2 Float(Binary16),
    6 "float32" FLOAT Float 4 Float(Binary32),
    7 "float64" DOUBLE Double 8 Float(Binary64),
    8 "complex32" COMPLEXHALF ComplexHalf 4 Complex(Binary16),
    9 "complex64" COMPLEXFLOAT ComplexFloat 8 Complex(Binary32),
    10 "complex128" COMPLEXDOUBLE ComplexDouble 16 Complex(Binary64),
    11 "bool" BOOL Bool 1 Bool,
    12 "qint8" QINT8 QInt8 1 Signed,
    13 "quint8" QUINT8 QUInt8 1 Unsigned,
    14 "qint32" QINT32 QInt32 4 Signed,
    15 "bfloat16" BFLOAT16 BFloat16 2 Float(Bfloat16),
    16 "quint4x2" QUINT4X2 QUInt4x2 1 Opaque,
    17 "quint2x4" QUINT2X4 QUInt2x4 1 Opaque,
    18 "bits1x8" BITS1X8 Bits1x8 1 Opaque,
    19 "bits2x4" BITS2X4 Bits2x4 1 Opaque,
    20 "bits4x2" BITS4X2 Bits4x2 1 Opaque,
    21 "bits8" BITS8 Bits8 1 Opaque,
    22 "bits16" BITS16 Bits16 2 Opaque,
    23 "float8_e5m2" FLOAT8E5M2 Float8_e5m2 1 Float(Float8E5m2),
    24 "float8_e4m3fn" FLOAT8E4M3FN Float8_e4m3fn 1 Float(Float8E4m3fn),
    25 "float8_e5m2fnuz" FLOAT8E5M2FNUZ Float8_e5m2fnuz 1 Float(Float8E5m2fnuz),
    26 "float8_e4m3fnuz" FLOAT8E4M3FNUZ Float8_e4m3fnuz 1 Float(Float8E4m3fnuz),
    27 "uint16" UINT16 UInt16 2 Unsigned,
    28 "uint32" UINT32 UInt32 4 Unsigned,
    29 "uint64" UINT64 UInt64 8 Unsigned,
}

// The size of a row must match its encoding.
const _: () = {
    let mut row = 0;
    while row < INFO.len() {
        let info = &INFO[row];
        // The number of a type is its position.
        assert!(info.code as usize == row);
        let matches = match info.encoding {
            Float(format) => info.size == format.size(),
            Complex(format) => info.size == 2 * format.size(),
            Bool => info.size == 1,
            Unsigned | Signed | Opaque => info.size <= 8,
        };
        assert!(matches);
        row += 1;
    }
};

impl ScalarType {
    /// Number of types that the runtime knows; their numbers begin with 0.
    #[doc(hidden)]
    pub const COUNT: usize = INFO.len();

    /// Returns the properties of the type; `None` for a number that the runtime rejects (rule T-2).
    pub fn info(self) -> Option<&'static ScalarTypeInfo> {
        usize::try_from(self.0).ok().and_then(|code| INFO.get(code))
    }

    /// Returns the number of bytes of an element; 1 for a type that the runtime rejects.
    #[doc(hidden)]
    pub fn element_size(self) -> u64 {
        self.info().map_or(1, |info| info.size)
    }

    /// Returns true for types of floating point and complex numbers, whose tensors may require gradients.
    #[doc(hidden)]
    pub fn is_differentiable(self) -> bool {
        self.info().is_some_and(|info| matches!(info.encoding, Encoding::Float(_) | Encoding::Complex(_)))
    }

    /// Returns the minimum and maximum of a signed integer type of at most 64 bits or an unsigned one of at most 16
    /// bits; `None` for other types.
    #[doc(hidden)]
    pub fn integers(self) -> Option<(i64, i64)> {
        Some(match self {
            ScalarType::BYTE => (0, 0xff),
            ScalarType::CHAR => (i64::from(i8::MIN), i64::from(i8::MAX)),
            ScalarType::SHORT => (i64::from(i16::MIN), i64::from(i16::MAX)),
            ScalarType::INT => (i64::from(i32::MIN), i64::from(i32::MAX)),
            ScalarType::LONG => (i64::MIN, i64::MAX),
            ScalarType::BITS16 | ScalarType::UINT16 => (0, 0xffff),
            _ => return None,
        })
    }

    /// Parses a name of torch (`float32`, `torch.float32`, `half`, `long`, ...) or of the schema (`FLOAT`); `None` for
    /// an unknown name.
    pub fn parse(name: &str) -> Option<ScalarType> {
        let name = name.strip_prefix("torch.").unwrap_or(name);
        let by_name = INFO.iter().find(|i| i.name == name || i.schema == name).map(|i| ScalarType(i.code));
        by_name.or_else(|| ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, scalar_type)| *scalar_type))
    }

    /// Returns all names that [`ScalarType::parse`] accepts, without the prefix `torch.`.
    #[doc(hidden)]
    pub fn spellings() -> impl Iterator<Item = &'static str> {
        let aliases = ALIASES.iter().map(|(alias, _)| *alias);
        INFO.iter().map(|i| i.name).chain(INFO.iter().map(|i| i.schema)).chain(aliases)
    }

    /// Returns the names in torch, in ascending order of their numbers.
    pub fn names() -> impl Iterator<Item = &'static str> {
        INFO.iter().map(|i| i.name)
    }

    /// Returns the types that the runtime knows, in ascending order of their numbers.
    pub fn all() -> impl Iterator<Item = ScalarType> {
        INFO.iter().map(|i| ScalarType(i.code))
    }
}

/// Aliases in torch.
static ALIASES: &[(&str, ScalarType)] = &[
    ("short", ScalarType::SHORT),
    ("int", ScalarType::INT),
    ("long", ScalarType::LONG),
    ("half", ScalarType::HALF),
    ("float", ScalarType::FLOAT),
    ("double", ScalarType::DOUBLE),
    ("chalf", ScalarType::COMPLEXHALF),
    ("cfloat", ScalarType::COMPLEXFLOAT),
    ("cdouble", ScalarType::COMPLEXDOUBLE),
];

/// Serialises the name, or the number of a type without a name.
impl serde::Serialize for ScalarType {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl std::fmt::Display for ScalarType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.info() {
            Some(info) => f.write_str(info.name),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed() {
        for info in INFO {
            assert_eq!(ScalarType::parse(info.name), Some(ScalarType(info.code)));
            assert_eq!(ScalarType::parse(info.schema), Some(ScalarType(info.code)));
        }
        assert_eq!(ScalarType::parse("torch.long"), Some(ScalarType::LONG));
        assert_eq!(ScalarType(ScalarType::COUNT as i8).info().map(|i| i.name), None);
        assert_eq!(ScalarType(-1).info().map(|i| i.name), None);
    }

    #[test]
    fn an_element_has_the_bytes_of_its_type() {
        // docs/format.md, "Element types".
        let size = |name: &str| ScalarType::parse(name).unwrap().info().unwrap().size;
        let names = ["bool", "qint8", "float8_e5m2", "quint4x2", "bfloat16", "bits16", "complex32", "qint32", "uint64"];
        assert_eq!(names.map(size), [1, 1, 1, 1, 2, 2, 4, 4, 8]);
        assert_eq!(["complex64", "complex128", "float64"].map(size), [8, 16, 8]);
    }
}
