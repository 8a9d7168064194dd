//! The element types: number, name in the schema, name in torch, size (docs/format.md, "Element types").
//!
//! A file may hold any number; what the runtime accepts is [`ScalarType::info`] being `Some`. Turning numbers into
//! bytes of a type is [`crate::data::number`]'s work.

use super::table::Enum;

/// An element type by its number in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ScalarType(pub i8);

/// How the bytes of one element are to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Unsigned integer.
    Unsigned,
    /// Two's complement integer.
    Signed,
    /// 0 or 1.
    Bool,
    /// IEEE 754 binary floating point, or one of the two-byte and one-byte types named by [`Info::name`].
    Float,
    /// Two floats: real, imaginary.
    Complex,
    /// Bytes without a number behind them; given as unsigned integers.
    Opaque,
}

/// What is known of an element type.
#[derive(Debug)]
pub struct Info {
    /// Number in the file.
    pub code: i8,
    /// torch's name.
    pub name: &'static str,
    /// The schema's enumerator (the runtime's, for the numbers the schema lacks).
    pub schema: &'static str,
    /// Bytes per element.
    pub size: u64,
    /// Kind of number.
    pub encoding: Encoding,
}

macro_rules! scalar_types {
    ($( $code:literal $name:literal $schema:literal $size:literal $encoding:ident )*) => {
        static INFO: &[Info] = &[$( Info { code: $code, name: $name, schema: $schema, size: $size, encoding: Encoding::$encoding } ),*];
        /// The schema's enum, with the numbers the runtime knows beyond it.
        pub static SCALAR_TYPE: Enum = Enum { name: "ScalarType", names: &[$( ($schema, $code) ),*] };
    };
}

scalar_types! {
    0 "uint8" "BYTE" 1 Unsigned
    1 "int8" "CHAR" 1 Signed
    2 "int16" "SHORT" 2 Signed
    3 "int32" "INT" 4 Signed
    4 "int64" "LONG" 8 Signed
    5 "float16" "HALF" 2 Float
    6 "float32" "FLOAT" 4 Float
    7 "float64" "DOUBLE" 8 Float
    8 "complex32" "COMPLEXHALF" 4 Complex
    9 "complex64" "COMPLEXFLOAT" 8 Complex
    10 "complex128" "COMPLEXDOUBLE" 16 Complex
    11 "bool" "BOOL" 1 Bool
    12 "qint8" "QINT8" 1 Signed
    13 "quint8" "QUINT8" 1 Unsigned
    14 "qint32" "QINT32" 4 Signed
    15 "bfloat16" "BFLOAT16" 2 Float
    16 "quint4x2" "QUINT4X2" 1 Opaque
    17 "quint2x4" "QUINT2X4" 1 Opaque
    18 "bits1x8" "BITS1X8" 1 Opaque
    19 "bits2x4" "BITS2X4" 1 Opaque
    20 "bits4x2" "BITS4X2" 1 Opaque
    21 "bits8" "BITS8" 1 Opaque
    22 "bits16" "BITS16" 2 Opaque
    23 "float8_e5m2" "FLOAT8E5M2" 1 Float
    24 "float8_e4m3fn" "FLOAT8E4M3FN" 1 Float
    25 "float8_e5m2fnuz" "FLOAT8E5M2FNUZ" 1 Float
    26 "float8_e4m3fnuz" "FLOAT8E4M3FNUZ" 1 Float
    27 "uint16" "UINT16" 2 Unsigned
    28 "uint32" "UINT32" 4 Unsigned
    29 "uint64" "UINT64" 8 Unsigned
}

impl ScalarType {
    /// `float32`.
    pub const FLOAT: ScalarType = ScalarType(6);
    /// `int64`.
    pub const LONG: ScalarType = ScalarType(4);
    /// `bool`.
    pub const BOOL: ScalarType = ScalarType(11);

    /// What is known of this number; `None` for a number the runtime refuses (rule T-2).
    pub fn info(self) -> Option<&'static Info> {
        usize::try_from(self.0).ok().and_then(|code| INFO.get(code))
    }

    /// Understands torch's name (`float32`, also `torch.float32`, `half`, `long`, ...) and the schema's (`FLOAT`).
    pub fn parse(name: &str) -> Option<ScalarType> {
        let name = name.strip_prefix("torch.").unwrap_or(name);
        let by_name = INFO.iter().find(|i| i.name == name || i.schema == name).map(|i| ScalarType(i.code));
        by_name.or_else(|| ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, code)| ScalarType(*code)))
    }

    /// torch's names, ascending by number.
    pub fn names() -> impl Iterator<Item = &'static str> {
        INFO.iter().map(|i| i.name)
    }
}

/// torch's second names.
static ALIASES: &[(&str, i8)] = &[
    ("short", 2),
    ("int", 3),
    ("long", 4),
    ("half", 5),
    ("float", 6),
    ("double", 7),
    ("chalf", 8),
    ("cfloat", 9),
    ("cdouble", 10),
];

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
    fn the_number_is_the_position() {
        assert_eq!(INFO.len(), 30);
        for (position, info) in INFO.iter().enumerate() {
            assert_eq!(usize::try_from(info.code).unwrap(), position);
            assert_eq!(ScalarType::parse(info.name), Some(ScalarType(info.code)));
            assert_eq!(ScalarType::parse(info.schema), Some(ScalarType(info.code)));
        }
        assert_eq!(ScalarType::parse("torch.long"), Some(ScalarType::LONG));
        assert_eq!(ScalarType(30).info().map(|i| i.name), None);
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
