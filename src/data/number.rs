//! Numbers as a person writes them, and the bytes an element type makes of them, rounded as torch rounds.
//!
//! Knows nothing of tensors: one element at a time.

use std::fmt::Write as _;

use crate::format::ScalarType;
use crate::format::scalar_type::{Encoding, Info};

/// A number as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// Without fraction or exponent.
    Int(i128),
    /// With fraction or exponent, or infinite, or not a number.
    Float(f64),
    /// `true` or `false`.
    Bool(bool),
    /// Real and imaginary part.
    Complex(f64, f64),
}

impl Number {
    /// As a floating point number.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Int(n) => n as f64,
            Number::Float(x) | Number::Complex(x, _) => x,
            Number::Bool(b) => f64::from(u8::from(b)),
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Int(n) => write!(f, "{n}"),
            Number::Float(x) => write!(f, "{x:?}"),
            Number::Bool(b) => write!(f, "{b}"),
            Number::Complex(re, im) => write!(f, "{re:?}{im:+?}j"),
        }
    }
}

/// Appends the little-endian bytes of `number` as an element of `scalar_type`.
///
/// # Errors
/// A sentence that says what does not fit: a fraction for an integer type, an integer out of range, a number for a type
/// that has none. Floating point types round and overflow to infinity (or to what the type has instead), as torch does.
pub fn encode(scalar_type: ScalarType, number: Number, out: &mut Vec<u8>) -> Result<(), String> {
    let Some(info) = scalar_type.info() else {
        return Err(format!(
            "element type {scalar_type} is unknown, so numbers cannot be written in it; give the bytes with `hex`"
        ));
    };
    match info.encoding {
        Encoding::Bool => out.push(to_bool(number)?),
        Encoding::Unsigned | Encoding::Opaque | Encoding::Signed => {
            let n = to_integer(number, info)?;
            out.extend_from_slice(&n.to_le_bytes()[..info.size as usize]);
        }
        Encoding::Float => {
            if let Number::Complex(..) = number {
                return Err(format!("{number} is complex, {} is not", info.name));
            }
            float(info, number.to_f64(), out);
        }
        Encoding::Complex => {
            let (re, im) = match number {
                Number::Complex(re, im) => (re, im),
                other => (other.to_f64(), 0.0),
            };
            for part in [re, im] {
                match info.size {
                    4 => out.extend_from_slice(&half::f16::from_f32(part as f32).to_le_bytes()),
                    8 => out.extend_from_slice(&(part as f32).to_le_bytes()),
                    _ => out.extend_from_slice(&part.to_le_bytes()),
                }
            }
        }
    }
    Ok(())
}

fn to_bool(number: Number) -> Result<u8, String> {
    match number {
        Number::Bool(b) => Ok(u8::from(b)),
        Number::Int(n @ 0..=1) => Ok(n as u8),
        other => Err(format!("{other} is not a bool; write true or false")),
    }
}

fn to_integer(number: Number, info: &Info) -> Result<i128, String> {
    let n = match number {
        Number::Int(n) => n,
        Number::Bool(b) => i128::from(b),
        Number::Float(x) if x.fract() == 0.0 && x.abs() < 1e30 => x as i128,
        other => return Err(format!("{other} is not an integer, but the tensor is {}", info.name)),
    };
    let bits = info.size * 8;
    let (low, high) = match info.encoding {
        Encoding::Signed => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        _ => (0, (1i128 << bits) - 1),
    };
    if n < low || n > high {
        return Err(format!("{n} does not fit {}, which holds {low} to {high}", info.name));
    }
    Ok(n)
}

fn float(info: &Info, x: f64, out: &mut Vec<u8>) {
    // Everything below 64 bits goes through f32, because torch's conversions do.
    let single = x as f32;
    match info.name {
        "float64" => out.extend_from_slice(&x.to_le_bytes()),
        "float32" => out.extend_from_slice(&single.to_le_bytes()),
        "float16" => out.extend_from_slice(&half(single).to_le_bytes()),
        "bfloat16" => out.extend_from_slice(&bfloat16(single).to_le_bytes()),
        "float8_e5m2" => out.push(E5M2.encode(single)),
        "float8_e4m3fn" => out.push(E4M3FN.encode(single)),
        "float8_e5m2fnuz" => out.push(E5M2FNUZ.encode(single)),
        _ => out.push(E4M3FNUZ.encode(single)),
    }
}

/// torch keeps the sign of a half that is not a number, and nothing else of it.
fn half(x: f32) -> u16 {
    if x.is_nan() { 0x7e00 | u16::from(x.is_sign_negative()) << 15 } else { half::f16::from_f32(x).to_bits() }
}

/// Of a bfloat16 that is not a number not even the sign.
fn bfloat16(x: f32) -> u16 {
    if x.is_nan() { 0x7fc0 } else { half::bf16::from_f32(x).to_bits() }
}

/// Appends the elements of `bytes`, which are of type `from`, as elements of type `to`.
///
/// # Errors
/// The first element that `to` does not hold, as [`encode`] says it.
pub fn convert(from: ScalarType, to: ScalarType, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), (u64, String)> {
    let from_f16 = |x| half::f16::from_le_bytes(x).to_f32();
    let from_bf16 = |x| half::bf16::from_le_bytes(x).to_f32();
    // The conversions of real checkpoints, in loops of their own: ten times as fast.
    match (from.info().map(|info| info.name), to.info().map(|info| info.name)) {
        (Some("float32"), Some("float16")) => floats(bytes, out, f32::from_le_bytes, |x| half(x).to_le_bytes()),
        (Some("float32"), Some("bfloat16")) => floats(bytes, out, f32::from_le_bytes, |x| bfloat16(x).to_le_bytes()),
        (Some("float16"), Some("float32")) => floats(bytes, out, from_f16, f32::to_le_bytes),
        (Some("float16"), Some("bfloat16")) => floats(bytes, out, from_f16, |x| bfloat16(x).to_le_bytes()),
        (Some("bfloat16"), Some("float32")) => floats(bytes, out, from_bf16, f32::to_le_bytes),
        (Some("bfloat16"), Some("float16")) => floats(bytes, out, from_bf16, |x| half(x).to_le_bytes()),
        _ => {
            let size = from.info().map_or(1, |info| info.size) as usize;
            for (element, index) in bytes.chunks_exact(size).zip(0..) {
                let number = decode(from, element).ok_or_else(|| (index, format!("{from} has no numbers")))?;
                // Somebody who writes numbers is told to write true and false; a file has what it has.
                let number = match number {
                    Number::Float(x) if to == ScalarType::BOOL && (x == 0.0 || x == 1.0) => Number::Bool(x == 1.0),
                    number => number,
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
    let (places, _) = out[start..].as_chunks_mut::<M>();
    places.iter_mut().zip(elements).for_each(|(place, element)| *place = encode(decode(*element)));
}

/// An eight-bit floating point format.
struct Float8 {
    mantissa_bits: i32,
    bias: i32,
    /// Code of the largest finite number.
    max: u32,
    /// Code of what is larger.
    overflow: u8,
    /// Code of not-a-number.
    nan: u8,
    /// The format has no negative zero and no sign on `nan` and `overflow` (the `fnuz` formats).
    unsigned_specials: bool,
}

const E5M2: Float8 =
    Float8 { mantissa_bits: 2, bias: 15, max: 0x7b, overflow: 0x7c, nan: 0x7f, unsigned_specials: false };
const E4M3FN: Float8 =
    Float8 { mantissa_bits: 3, bias: 7, max: 0x7e, overflow: 0x7e, nan: 0x7f, unsigned_specials: false };
const E5M2FNUZ: Float8 =
    Float8 { mantissa_bits: 2, bias: 16, max: 0x7f, overflow: 0x80, nan: 0x80, unsigned_specials: true };
const E4M3FNUZ: Float8 =
    Float8 { mantissa_bits: 3, bias: 8, max: 0x7f, overflow: 0x80, nan: 0x80, unsigned_specials: true };

impl Float8 {
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
        // An f32 below the normal range is far below every eight-bit format's smallest number: it becomes zero.
        let exponent = (((x.to_bits() >> 23) & 0xff) as i32 - 127).max(lowest);
        let units = f64::from(x.abs()) / f64::from(exponent - self.mantissa_bits).exp2();
        // Normal numbers count from the implicit bit, so that a carry out of the mantissa raises the exponent by itself.
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

/// The number that `bytes`, one element of `scalar_type`, stands for: what [`encode`] wrote. `None` for unknown types.
pub fn decode(scalar_type: ScalarType, bytes: &[u8]) -> Option<Number> {
    let info = scalar_type.info()?;
    let mut wide = [0u8; 16];
    wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
    let unsigned = u128::from_le_bytes(wide);
    let short = [wide[0], wide[1]];
    Some(match info.encoding {
        Encoding::Bool => Number::Bool(wide[0] != 0),
        Encoding::Unsigned | Encoding::Opaque => Number::Int(unsigned as i128),
        Encoding::Signed => {
            let unused = 128 - info.size * 8;
            Number::Int(((unsigned << unused) as i128) >> unused)
        }
        Encoding::Float => Number::Float(match info.name {
            "float64" => f64::from_le_bytes(wide[..8].try_into().ok()?),
            "float32" => f64::from(f32::from_le_bytes(wide[..4].try_into().ok()?)),
            "float16" => half::f16::from_le_bytes(short).to_f64(),
            "bfloat16" => half::bf16::from_le_bytes(short).to_f64(),
            "float8_e5m2" => E5M2.decode(wide[0]),
            "float8_e4m3fn" => E4M3FN.decode(wide[0]),
            "float8_e5m2fnuz" => E5M2FNUZ.decode(wide[0]),
            _ => E4M3FNUZ.decode(wide[0]),
        }),
        Encoding::Complex => match info.size {
            4 => Number::Complex(
                half::f16::from_le_bytes(short).to_f64(),
                half::f16::from_le_bytes([wide[2], wide[3]]).to_f64(),
            ),
            8 => Number::Complex(
                f64::from(f32::from_le_bytes(wide[..4].try_into().ok()?)),
                f64::from(f32::from_le_bytes(wide[4..8].try_into().ok()?)),
            ),
            _ => Number::Complex(
                f64::from_le_bytes(wide[..8].try_into().ok()?),
                f64::from_le_bytes(wide[8..].try_into().ok()?),
            ),
        },
    })
}

impl Float8 {
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

/// The number that a text stands for: complex ones, and what JSON has no other way to write.
pub fn number_word(text: &str) -> Option<Number> {
    match text {
        "nan" | ".nan" | "NaN" => Some(Number::Float(f64::NAN)),
        "inf" | ".inf" | "Infinity" => Some(Number::Float(f64::INFINITY)),
        "-inf" | "-.inf" | "-Infinity" => Some(Number::Float(f64::NEG_INFINITY)),
        _ => nan_of(text).map(Number::Float).or_else(|| complex(text)),
    }
}

/// `nan:7ff8000000000001`: what is not a number, by the bits of a float64.
pub fn nan_of(text: &str) -> Option<f64> {
    let digits = text.strip_prefix("nan:").filter(|digits| digits.len() == 16)?;
    u64::from_str_radix(digits, 16).ok().map(f64::from_bits).filter(|x| x.is_nan())
}

/// The number that a scalar of a text is, as the parsers see it.
pub fn number_of(text: &str) -> Option<Number> {
    let bool = text.parse().ok().map(Number::Bool);
    let int = || text.parse().ok().map(Number::Int);
    // Rust reads words such as `inf` as numbers, too; the text has its own for them.
    let float = || text.parse().ok().filter(|_| text.contains(|c: char| c.is_ascii_digit())).map(Number::Float);
    bool.or_else(int).or_else(float).or_else(|| number_word(text))
}

/// `1+2j`, `-0.5j`.
fn complex(text: &str) -> Option<Number> {
    let body = text.strip_suffix('j')?;
    let split = body
        .char_indices()
        .skip(1)
        .filter(|(at, c)| matches!(c, '+' | '-') && !body[..*at].ends_with(['e', 'E']))
        .last();
    let (re, im) = match split {
        Some((at, _)) => (body[..at].parse().ok()?, &body[at..]),
        None => (0.0, body),
    };
    Some(Number::Complex(re, im.parse().ok()?))
}

/// A number that reads back as the same, as a Double.
pub fn double(x: &f64, out: &mut String) {
    match x {
        x if is_odd_nan(*x) => _ = write!(out, "\"nan:{:016x}\"", x.to_bits()),
        x if x.is_nan() => out.push_str(".nan"),
        x if x.is_infinite() => out.push_str(if *x > 0.0 { ".inf" } else { "-.inf" }),
        x => _ = write!(out, "{x:?}"),
    }
}

/// Whether a double is not a number in another way than `.nan` is.
pub fn is_odd_nan(x: f64) -> bool {
    x.is_nan() && x.to_bits() != f64::NAN.to_bits()
}

/// A number of a tensor, as short as its type allows: `single` for types whose numbers a float32 holds.
pub fn element(number: Number, single: bool) -> String {
    match number {
        Number::Float(x) if x.is_finite() => {
            let short = if single { format!("{:?}", x as f32) } else { format!("{x:?}") };
            short.strip_suffix(".0").filter(|short| *short != "-0").map_or(short.clone(), str::to_owned)
        }
        // What has a payload is written as hex by whoever sees that this does not give it back.
        Number::Float(x) if x.is_nan() => ".nan".into(),
        Number::Float(x) => {
            let mut text = String::new();
            double(&x, &mut text);
            text
        }
        Number::Complex(re, im) => format!("{re:?}{im:+?}j"),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(name: &str, number: Number) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        encode(ScalarType::parse(name).unwrap(), number, &mut out).map(|()| out)
    }

    /// `tests/golden/upstream/rounding/torch.json` holds what torch made of the same numbers.
    #[test]
    fn floats_are_rounded_as_torch_rounds_them() {
        let text = include_str!("../../tests/golden/upstream/rounding/torch.json");
        let table: std::collections::BTreeMap<String, std::collections::BTreeMap<String, String>> =
            serde_json::from_str(text).unwrap();
        assert_eq!(table.len(), 6);
        for (name, cases) in table {
            assert!(cases.len() > 100);
            for (input, expected) in cases {
                let x = f64::from_bits(u64::from_str_radix(&input, 16).unwrap());
                let mut got = bytes(&name, Number::Float(x)).unwrap();
                got.reverse();
                let expected = data_encoding::HEXLOWER.decode(expected.as_bytes()).unwrap();
                assert_eq!(got, expected, "{name} of {x:?} ({input})");
            }
        }
    }

    #[test]
    fn every_eight_bit_code_comes_back() {
        for name in ["float8_e5m2", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e4m3fnuz"] {
            for code in 0..=255u8 {
                let Some(Number::Float(x)) = decode(ScalarType::parse(name).unwrap(), &[code]) else { panic!() };
                if !x.is_nan() {
                    assert_eq!(bytes(name, Number::Float(x)).unwrap(), [code], "{name} {code:#x} = {x}");
                }
            }
        }
    }

    #[test]
    fn integers_are_checked() {
        assert_eq!(bytes("uint8", Number::Int(255)).unwrap(), [255]);
        assert_eq!(bytes("int8", Number::Int(-128)).unwrap(), [128]);
        assert!(bytes("uint8", Number::Int(256)).unwrap_err().contains("0 to 255"));
        assert!(bytes("int64", Number::Float(0.5)).unwrap_err().contains("not an integer"));
        assert_eq!(bytes("uint64", Number::Int(u64::MAX.into())).unwrap(), [255; 8]);
        assert!(bytes("bool", Number::Int(2)).is_err());
        assert_eq!(bytes("complex64", Number::Complex(1.0, -1.0)).unwrap(), [0, 0, 128, 63, 0, 0, 128, 191]);
    }

    #[test]
    fn complex_numbers_are_read() {
        assert_eq!(complex("1+2j"), Some(Number::Complex(1.0, 2.0)));
        assert_eq!(complex("-1.5e-3-2e+1j"), Some(Number::Complex(-0.0015, -20.0)));
        assert_eq!(complex("3j"), Some(Number::Complex(0.0, 3.0)));
        assert_eq!(complex("x"), None);
    }

    #[test]
    fn elements_are_short() {
        assert_eq!(element(Number::Float(f64::from(0.1f32)), true), "0.1");
        assert_eq!(element(Number::Float(-0.0), true), "-0.0");
        assert_eq!(element(Number::Float(3.0), false), "3");
        assert_eq!(element(Number::Int(7), false), "7");
    }
}
