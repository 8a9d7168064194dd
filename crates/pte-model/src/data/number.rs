//! Numbers in YAML, and their encoding as elements of a type, with torch's rounding.

use std::fmt::Write as _;

use crate::format::ScalarType;
use crate::format::scalar_type::{Encoding, FloatFormat, ScalarTypeInfo};

/// A number as written in YAML.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NumericValue {
    /// A number without fraction and exponent.
    Int(i128),
    /// A number with fraction or exponent, an infinity, or NaN.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// Real and imaginary part.
    Complex(f64, f64),
}

impl NumericValue {
    /// Converts to a float: 0 or 1 for a bool, the real part of a complex number.
    pub fn to_f64(self) -> f64 {
        match self {
            NumericValue::Int(n) => n as f64,
            NumericValue::Float(x) | NumericValue::Complex(x, _) => x,
            NumericValue::Bool(b) => f64::from(u8::from(b)),
        }
    }
}

impl std::fmt::Display for NumericValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NumericValue::Int(n) => write!(f, "{n}"),
            NumericValue::Float(x) => write!(f, "{x:?}"),
            NumericValue::Bool(b) => write!(f, "{b}"),
            // A NaN has no sign.
            NumericValue::Complex(re, im) if im.is_nan() => write!(f, "{re:?}+{im:?}j"),
            NumericValue::Complex(re, im) => write!(f, "{re:?}{im:+?}j"),
        }
    }
}

/// Appends the little-endian bytes of `number` as an element of `scalar_type`. Floating point types round to nearest
/// and overflow to infinity, or to the substitute of the type, as in torch.
///
/// # Errors
/// A fraction is given for an integer type, an integer is out of range, or the type is unknown. The error is a message.
pub fn encode(scalar_type: ScalarType, number: NumericValue, out: &mut Vec<u8>) -> Result<(), String> {
    let Some(info) = scalar_type.info() else {
        return Err(format!(
            "numbers of the unknown element type {scalar_type} cannot be encoded; write the bytes with `hex`"
        ));
    };
    match info.encoding {
        Encoding::Bool => out.push(to_bool(number)?),
        Encoding::Unsigned | Encoding::Opaque | Encoding::Signed => {
            let n = to_integer(number, info)?;
            out.extend_from_slice(&n.to_le_bytes()[..info.size as usize]);
        }
        Encoding::Float(format) => {
            if let NumericValue::Complex(..) = number {
                return Err(format!("{number} is complex, {} is not", info.name));
            }
            encode_float(format, number.to_f64(), out);
        }
        Encoding::Complex(format) => {
            let (re, im) = match number {
                NumericValue::Complex(re, im) => (re, im),
                NumericValue::Int(_) | NumericValue::Float(_) | NumericValue::Bool(_) => (number.to_f64(), 0.0),
            };
            encode_float(format, re, out);
            encode_float(format, im, out);
        }
    }
    Ok(())
}

fn to_bool(number: NumericValue) -> Result<u8, String> {
    match number {
        NumericValue::Bool(b) => Ok(u8::from(b)),
        NumericValue::Int(n @ 0..=1) => Ok(n as u8),
        NumericValue::Int(_) | NumericValue::Float(_) | NumericValue::Complex(..) => {
            Err(format!("{number} is not a bool; expected true or false"))
        }
    }
}

fn to_integer(number: NumericValue, info: &ScalarTypeInfo) -> Result<i128, String> {
    let n = match number {
        NumericValue::Int(n) => n,
        NumericValue::Bool(b) => i128::from(b),
        NumericValue::Float(x) if x.fract() == 0.0 && x.abs() < 1e30 => x as i128,
        NumericValue::Float(_) | NumericValue::Complex(..) => {
            return Err(format!("{number} is not an integer, but the tensor is {}", info.name));
        }
    };
    let bits = info.size * 8;
    let (low, high) = if info.encoding == Encoding::Signed {
        (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
    } else {
        (0, (1i128 << bits) - 1)
    };
    if n < low || n > high {
        return Err(format!("{n} is out of range for {}, which holds {low} to {high}", info.name));
    }
    Ok(n)
}

fn encode_float(format: FloatFormat, x: f64, out: &mut Vec<u8>) {
    // torch converts every format of less than 64 bits from f32.
    let single = x as f32;
    match format {
        FloatFormat::Binary64 => out.extend_from_slice(&x.to_le_bytes()),
        FloatFormat::Binary32 => out.extend_from_slice(&single.to_le_bytes()),
        FloatFormat::Binary16 => out.extend_from_slice(&half(single).to_le_bytes()),
        FloatFormat::Bfloat16 => out.extend_from_slice(&bfloat16(single).to_le_bytes()),
        FloatFormat::Float8E5m2 => out.push(E5M2.encode(single)),
        FloatFormat::Float8E4m3fn => out.push(E4M3FN.encode(single)),
        FloatFormat::Float8E5m2fnuz => out.push(E5M2FNUZ.encode(single)),
        FloatFormat::Float8E4m3fnuz => out.push(E4M3FNUZ.encode(single)),
    }
}

/// Decodes the float that `bytes` begins with; `None` if there are fewer bytes.
pub(super) fn decode_float(format: FloatFormat, bytes: &[u8]) -> Option<f64> {
    Some(match format {
        FloatFormat::Binary64 => f64::from_le_bytes(*bytes.first_chunk()?),
        FloatFormat::Binary32 => f32::from_le_bytes(*bytes.first_chunk()?).into(),
        FloatFormat::Binary16 => half::f16::from_le_bytes(*bytes.first_chunk()?).to_f64(),
        FloatFormat::Bfloat16 => half::bf16::from_le_bytes(*bytes.first_chunk()?).to_f64(),
        FloatFormat::Float8E5m2 => E5M2.decode(*bytes.first()?),
        FloatFormat::Float8E4m3fn => E4M3FN.decode(*bytes.first()?),
        FloatFormat::Float8E5m2fnuz => E5M2FNUZ.decode(*bytes.first()?),
        FloatFormat::Float8E4m3fnuz => E4M3FNUZ.decode(*bytes.first()?),
    })
}

/// Rounds to half precision. torch keeps the sign of a NaN, but not its payload.
fn half(x: f32) -> u16 {
    if x.is_nan() { 0x7e00 | u16::from(x.is_sign_negative()) << 15 } else { half::f16::from_f32(x).to_bits() }
}

/// Rounds to bfloat16. torch keeps neither the sign nor the payload of a NaN.
fn bfloat16(x: f32) -> u16 {
    if x.is_nan() { 0x7fc0 } else { half::bf16::from_f32(x).to_bits() }
}

/// Appends the elements of `bytes`, of type `from`, converted to type `to`.
///
/// # Errors
/// Index of the first element that does not fit `to`, and the message of [`encode`].
pub fn convert(from: ScalarType, to: ScalarType, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), (u64, String)> {
    let from_f16 = |x| half::f16::from_le_bytes(x).to_f32();
    let from_bf16 = |x| half::bf16::from_le_bytes(x).to_f32();
    // Specialized loops for the conversions of common checkpoints: ten times as fast.
    let format = |scalar_type: ScalarType| match scalar_type.info()?.encoding {
        Encoding::Float(format) => Some(format),
        Encoding::Unsigned | Encoding::Signed | Encoding::Bool | Encoding::Complex(_) | Encoding::Opaque => None,
    };
    use FloatFormat::{Bfloat16, Binary16, Binary32};
    match (format(from), format(to)) {
        (Some(Binary32), Some(Binary16)) => floats(bytes, out, f32::from_le_bytes, |x| half(x).to_le_bytes()),
        (Some(Binary32), Some(Bfloat16)) => floats(bytes, out, f32::from_le_bytes, |x| bfloat16(x).to_le_bytes()),
        (Some(Binary16), Some(Binary32)) => floats(bytes, out, from_f16, f32::to_le_bytes),
        (Some(Binary16), Some(Bfloat16)) => floats(bytes, out, from_f16, |x| bfloat16(x).to_le_bytes()),
        (Some(Bfloat16), Some(Binary32)) => floats(bytes, out, from_bf16, f32::to_le_bytes),
        (Some(Bfloat16), Some(Binary16)) => floats(bytes, out, from_bf16, |x| half(x).to_le_bytes()),
        _ => {
            let size = from.element_size() as usize;
            for (element, index) in bytes.chunks_exact(size).zip(0..) {
                let number =
                    decode(from, element).ok_or_else(|| (index, format!("{from} is an unknown element type")))?;
                // A bool in YAML must be `true` or `false`, but elements of a file may be 0.0 and 1.0.
                let number = match number {
                    NumericValue::Float(x) if to == ScalarType::BOOL && (x == 0.0 || x == 1.0) => {
                        NumericValue::Bool(x == 1.0)
                    }
                    NumericValue::Int(_)
                    | NumericValue::Float(_)
                    | NumericValue::Bool(_)
                    | NumericValue::Complex(..) => number,
                };
                encode(to, number, out).map_err(|error| (index, error))?;
            }
        }
    }
    Ok(())
}

fn floats<const N: usize, const M: usize>(
    bytes: &[u8],
    out: &mut Vec<u8>,
    decode: impl Fn([u8; N]) -> f32,
    encode: impl Fn(f32) -> [u8; M],
) {
    let (elements, _) = bytes.as_chunks::<N>();
    let start = out.len();
    out.resize(start + elements.len() * M, 0);
    let (converted, _) = out[start..].as_chunks_mut::<M>();
    converted.iter_mut().zip(elements).for_each(|(out, element)| *out = encode(decode(*element)));
}

/// Parameters of an eight-bit floating point format.
struct Float8Codec {
    mantissa_bits: i32,
    bias: i32,
    /// Code of the largest finite number.
    max: u32,
    /// Code of larger numbers.
    overflow: u8,
    /// Code of NaN.
    nan: u8,
    /// `true` if the format has no negative zero, and no sign on `nan` and `overflow` (the `fnuz` formats).
    unsigned_specials: bool,
}

const E5M2: Float8Codec =
    Float8Codec { mantissa_bits: 2, bias: 15, max: 0x7b, overflow: 0x7c, nan: 0x7f, unsigned_specials: false };
const E4M3FN: Float8Codec =
    Float8Codec { mantissa_bits: 3, bias: 7, max: 0x7e, overflow: 0x7e, nan: 0x7f, unsigned_specials: false };
const E5M2FNUZ: Float8Codec =
    Float8Codec { mantissa_bits: 2, bias: 16, max: 0x7f, overflow: 0x80, nan: 0x80, unsigned_specials: true };
const E4M3FNUZ: Float8Codec =
    Float8Codec { mantissa_bits: 3, bias: 8, max: 0x7f, overflow: 0x80, nan: 0x80, unsigned_specials: true };

impl Float8Codec {
    /// Rounds to nearest, ties to even.
    fn encode(&self, x: f32) -> u8 {
        let sign = u8::from(x.is_sign_negative()) << 7;
        let special_sign = if self.unsigned_specials { 0 } else { sign };
        if x.is_nan() {
            return self.nan | special_sign;
        }
        if x.is_infinite() {
            return self.overflow | special_sign;
        }
        let lowest = 1 - self.bias;
        // An f32 below the normal range is below the smallest number of every eight-bit format, and becomes zero.
        let exponent = (((x.to_bits() >> 23) & 0xff) as i32 - 127).max(lowest);
        let units = f64::from(x.abs()) / f64::from(exponent - self.mantissa_bits).exp2();
        // Normal numbers include the implicit bit, so a carry out of the mantissa increments the exponent.
        let code =
            ((exponent - lowest) as u32).wrapping_shl(self.mantissa_bits as u32) + units.round_ties_even() as u32;
        if code > self.max {
            return self.overflow | special_sign;
        }
        if code == 0 && self.unsigned_specials {
            return 0;
        }
        code as u8 | sign
    }
}

/// Decodes `bytes`, one element of `scalar_type`, the inverse of [`encode`]. `None` for unknown types.
pub fn decode(scalar_type: ScalarType, bytes: &[u8]) -> Option<NumericValue> {
    let info = scalar_type.info()?;
    let mut wide = [0u8; 16];
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let unsigned = u128::from_le_bytes(wide);
    Some(match info.encoding {
        Encoding::Bool => NumericValue::Bool(wide[0] != 0),
        Encoding::Unsigned | Encoding::Opaque => NumericValue::Int(unsigned as i128),
        Encoding::Signed => {
            let unused = 128 - info.size * 8;
            NumericValue::Int(((unsigned << unused) as i128) >> unused)
        }
        Encoding::Float(format) => NumericValue::Float(decode_float(format, &wide)?),
        Encoding::Complex(format) => {
            NumericValue::Complex(decode_float(format, &wide)?, decode_float(format, &wide[format.size() as usize..])?)
        }
    })
}

impl Float8Codec {
    fn decode(&self, code: u8) -> f64 {
        let magnitude = u32::from(code & 0x7f);
        if code == self.nan || code == self.nan | 0x80 && !self.unsigned_specials {
            return f64::NAN;
        }
        let sign = if code & 0x80 == 0 { 1.0 } else { -1.0 };
        if magnitude > self.max {
            return if magnitude == u32::from(self.overflow) { sign * f64::INFINITY } else { f64::NAN };
        }
        let (exponent, mantissa) = (magnitude >> self.mantissa_bits, magnitude & ((1 << self.mantissa_bits) - 1));
        let units = if exponent == 0 { mantissa } else { mantissa + (1 << self.mantissa_bits) };
        let exponent = exponent.max(1) as i32 - self.bias - self.mantissa_bits;
        sign * f64::from(units) * f64::from(exponent).exp2()
    }
}

/// Parses a number that JSON cannot express: NaN, infinities, complex numbers.
pub fn number_word(text: &str) -> Option<NumericValue> {
    match text {
        "nan" | ".nan" | "NaN" => Some(NumericValue::Float(f64::NAN)),
        "inf" | ".inf" | "Infinity" => Some(NumericValue::Float(f64::INFINITY)),
        "-inf" | "-.inf" | "-Infinity" => Some(NumericValue::Float(f64::NEG_INFINITY)),
        _ => nan_of(text).map(NumericValue::Float).or_else(|| complex(text)),
    }
}

/// Parses a NaN with a payload, as the bits of a float64: `nan:7ff8000000000001`.
pub fn nan_of(text: &str) -> Option<f64> {
    let digits = text.strip_prefix("nan:").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok().map(f64::from_bits).filter(|x| x.is_nan())
}

/// Parses a scalar of the YAML as a number.
pub fn number_of(text: &str) -> Option<NumericValue> {
    let bool = text.parse().ok().map(NumericValue::Bool);
    let int = || text.parse().ok().map(NumericValue::Int);
    // Rust parses words such as `inf` as floats, too; `number_word` parses those of the YAML.
    let float = || text.parse().ok().filter(|_| text.contains(|c: char| c.is_ascii_digit())).map(NumericValue::Float);
    bool.or_else(int).or_else(float).or_else(|| number_word(text))
}

/// Parses `1+2j` and `-0.5j`. `None` for digits beyond the range of float64, which do not mean an infinity.
fn complex(text: &str) -> Option<NumericValue> {
    let (re, im) = complex_parts(text)?;
    let is_beyond = [re, im].into_iter().any(is_beyond_float64);
    Some(NumericValue::Complex(re.parse().ok()?, im.parse().ok()?)).filter(|_| !is_beyond)
}

/// Real and imaginary part of `1+2j`; the real part of `2j` is `0`.
fn complex_parts(text: &str) -> Option<(&str, &str)> {
    let body = text.strip_suffix('j')?;
    let split = body
        .char_indices()
        .skip(1)
        .filter(|(at, c)| matches!(c, '+' | '-') && !body[..*at].ends_with(['e', 'E']))
        .last();
    Some(split.map_or(("0", body), |(at, _)| body.split_at(at)))
}

/// Returns true for a decimal number that rounds to an infinity, or a complex number with such a part.
pub fn is_beyond_float64(text: &str) -> bool {
    let has_digits = |text: &str| text.contains(|c: char| c.is_ascii_digit());
    let is_infinite = |text: &str| has_digits(text) && text.parse().is_ok_and(f64::is_infinite);
    is_infinite(text) || complex_parts(text).is_some_and(|(re, im)| is_infinite(re) || is_infinite(im))
}

/// Appends a float64 in YAML, with its exact value.
pub fn double(x: &f64, out: &mut String) {
    match x {
        x if has_nan_payload(*x) => _ = write!(out, "\"nan:{:016x}\"", x.to_bits()),
        x if x.is_nan() => out.push_str(".nan"),
        x if x.is_infinite() => out.push_str(if *x > 0.0 { ".inf" } else { "-.inf" }),
        x => _ = write!(out, "{x:?}"),
    }
}

/// Returns `true` for a NaN whose bits differ from those of `.nan`.
pub fn has_nan_payload(x: f64) -> bool {
    x.is_nan() && x.to_bits() != f64::NAN.to_bits()
}

/// Returns an element of a tensor in YAML, with the fewest digits that reproduce it in its encoding.
pub fn element(number: NumericValue, encoding: Encoding) -> String {
    match number {
        NumericValue::Float(x) if x.is_finite() => {
            let is_double = encoding == Encoding::Float(FloatFormat::Binary64);
            let short = if is_double { format!("{x:?}") } else { format!("{:?}", x as f32) };
            short.strip_suffix(".0").filter(|short| *short != "-0").map_or(short.clone(), str::to_owned)
        }
        // This does not reproduce a NaN payload; the printer then writes the data as hex.
        NumericValue::Float(x) if x.is_nan() => ".nan".into(),
        NumericValue::Float(x) => {
            let mut text = String::new();
            double(&x, &mut text);
            text
        }
        NumericValue::Complex(re, im) => format!("{re:?}{im:+?}j"),
        NumericValue::Int(_) | NumericValue::Bool(_) => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(name: &str, number: NumericValue) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        encode(ScalarType::parse(name).unwrap(), number, &mut out).map(|()| out)
    }

    /// `tests/rounding/torch.json` contains torch's results.
    #[test]
    fn floats_are_rounded_as_in_torch() {
        let text = include_str!("../../tests/rounding/torch.json");
        let table: std::collections::BTreeMap<String, std::collections::BTreeMap<String, String>> =
            serde_json::from_str(text).unwrap();
        assert_eq!(table.len(), 6);
        for (name, cases) in table {
            assert_eq!(cases.len(), 262, "{name}");
            for (input, expected) in cases {
                let x = f64::from_bits(u64::from_str_radix(&input, 16).unwrap());
                let mut got = bytes(&name, NumericValue::Float(x)).unwrap();
                got.reverse();
                let expected = data_encoding::HEXLOWER.decode(expected.as_bytes()).unwrap();
                assert_eq!(got, expected, "{name} of {x:?} ({input})");
            }
        }
    }

    #[test]
    fn every_eight_bit_code_round_trips() {
        for name in ["float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz"] {
            for code in 0..=255u8 {
                let Some(NumericValue::Float(x)) = decode(ScalarType::parse(name).unwrap(), &[code]) else { panic!() };
                if !x.is_nan() {
                    assert_eq!(bytes(name, NumericValue::Float(x)).unwrap(), [code], "{name} {code:#x} = {x}");
                }
            }
        }
    }

    #[test]
    fn integers_are_checked() {
        assert_eq!(bytes("uint8", NumericValue::Int(255)).unwrap(), [255]);
        assert_eq!(bytes("int8", NumericValue::Int(-128)).unwrap(), [128]);
        assert!(bytes("uint8", NumericValue::Int(256)).unwrap_err().contains("0 to 255"));
        assert!(bytes("int64", NumericValue::Float(0.5)).unwrap_err().contains("not an integer"));
        assert_eq!(bytes("uint64", NumericValue::Int(u64::MAX.into())).unwrap(), [255; 8]);
        assert!(bytes("bool", NumericValue::Int(2)).is_err());
        assert_eq!(bytes("complex64", NumericValue::Complex(1.0, -1.0)).unwrap(), [0, 0, 128, 63, 0, 0, 128, 191]);
    }

    #[test]
    fn complex_numbers_are_read() {
        assert_eq!(complex("1+2j"), Some(NumericValue::Complex(1.0, 2.0)));
        assert_eq!(complex("-1.5e-3-2e+1j"), Some(NumericValue::Complex(-0.0015, -20.0)));
        assert_eq!(complex("3j"), Some(NumericValue::Complex(0.0, 3.0)));
        assert_eq!(complex("inf-1j"), Some(NumericValue::Complex(f64::INFINITY, -1.0)));
        for text in ["x", "1e400j", "1-1e400j", "-1e400+1j"] {
            assert_eq!(complex(text), None, "{text}");
            assert_eq!(is_beyond_float64(text), text != "x", "{text}");
        }
        assert!(["1e400", "-1e309"].into_iter().all(is_beyond_float64));
        assert!(!["inf", "inf+1j", "1e308j", "e400", "1e400x"].into_iter().any(is_beyond_float64));
    }

    #[test]
    fn elements_are_short() {
        const SINGLE: Encoding = Encoding::Float(FloatFormat::Binary32);
        assert_eq!(element(NumericValue::Float(f64::from(0.1f32)), SINGLE), "0.1");
        assert_eq!(element(NumericValue::Float(-0.0), SINGLE), "-0.0");
        assert_eq!(element(NumericValue::Float(3.0), Encoding::Float(FloatFormat::Binary64)), "3");
        assert_eq!(element(NumericValue::Int(7), Encoding::Signed), "7");
    }
}
