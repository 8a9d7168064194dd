//! Elements as numbers, and their conversions: those of C++, where they are defined and the same on all processors.

use pte_model::data::number::{self, NumericValue};
use pte_model::format::ScalarType;

use super::error::{Result, refuse};

/// A number. Half precision is computed in single precision, as kernels do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    Bool(bool),
    /// An integer of any size.
    Int(i64),
    Single(f32),
    Double(f64),
}

/// Types of numbers with which kernels compute, and element types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    /// Bits, and whether it has a sign.
    Int(u32, bool),
    /// float16 or bfloat16.
    Half(ScalarType),
    Single,
    Double,
}

pub(super) const NAN: &str = "a result is NaN, whose bits depend on the processor";
const RANGE: &str = "a floating point number exceeds the integers of the result";

impl Kind {
    /// Returns the kind of an element type.
    pub(super) fn of(scalar_type: ScalarType) -> Result<Kind> {
        Ok(match scalar_type {
            ScalarType::BOOL => Kind::Bool,
            ScalarType::BYTE => Kind::Int(8, false),
            ScalarType::CHAR => Kind::Int(8, true),
            ScalarType::SHORT => Kind::Int(16, true),
            ScalarType::INT => Kind::Int(32, true),
            ScalarType::LONG => Kind::Int(64, true),
            ScalarType::HALF | ScalarType::BFLOAT16 => Kind::Half(scalar_type),
            ScalarType::FLOAT => Kind::Single,
            ScalarType::DOUBLE => Kind::Double,
            _ => return refuse("an element type is not one of numbers that are computed"),
        })
    }

    /// Returns the kind in which kernels compute elements of this one.
    pub(super) fn computed(self) -> Kind {
        if let Kind::Half(_) = self { Kind::Single } else { self }
    }

    /// Returns the number of bytes of an element.
    pub(super) fn size(self) -> usize {
        match self {
            Kind::Bool => 1,
            Kind::Int(bits, _) => bits as usize / 8,
            Kind::Half(_) => 2,
            Kind::Single => 4,
            Kind::Double => 8,
        }
    }

    /// Returns `true` for floating point numbers.
    pub(super) fn is_float(self) -> bool {
        matches!(self, Kind::Half(_) | Kind::Single | Kind::Double)
    }

    /// Returns the number that is an element. `bytes` has its size.
    pub(super) fn load(self, bytes: &[u8]) -> Result<Number> {
        let mut word = [0; 8];
        word[..bytes.len().min(8)].copy_from_slice(&bytes[..bytes.len().min(8)]);
        let word = u64::from_le_bytes(word);
        Ok(match self {
            Kind::Bool if word > 1 => return refuse("a bool is neither 0 nor 1"),
            Kind::Bool => Number::Bool(word == 1),
            Kind::Int(bits, signed) => Number::Int(wrap(word as i64, bits, signed)),
            Kind::Single => Number::Single(f32::from_bits(word as u32)),
            Kind::Double => Number::Double(f64::from_bits(word)),
            Kind::Half(scalar_type) => match number::decode(scalar_type, bytes) {
                Some(number) => Number::Single(number.to_f64() as f32),
                None => return refuse("an element cannot be read"),
            },
        })
    }

    /// Appends a number of the kind in which this one is computed as an element.
    pub(super) fn store(self, number: Number, out: &mut Vec<u8>) -> Result<()> {
        match (self, number) {
            (Kind::Bool, Number::Bool(value)) => out.push(value.into()),
            (Kind::Int(bits, _), Number::Int(int)) => out.extend_from_slice(&int.to_le_bytes()[..bits as usize / 8]),
            (Kind::Single | Kind::Half(_), Number::Single(value)) if value.is_nan() => return refuse(NAN),
            (Kind::Double, Number::Double(value)) if value.is_nan() => return refuse(NAN),
            (Kind::Single, Number::Single(value)) => out.extend_from_slice(&value.to_le_bytes()),
            (Kind::Double, Number::Double(value)) => out.extend_from_slice(&value.to_le_bytes()),
            (Kind::Half(scalar_type), Number::Single(value)) => {
                if number::encode(scalar_type, NumericValue::Float(value.into()), out).is_err() {
                    return refuse("an element cannot be written");
                }
            }
            _ => return refuse("a number has another type than the result"),
        }
        Ok(())
    }

    /// Converts a number like a cast of C++ does, to the kind in which this one is computed.
    pub(super) fn convert(self, number: Number) -> Result<Number> {
        Ok(match self.computed() {
            Kind::Bool => Number::Bool(number.is_true()),
            Kind::Int(bits, signed) => Number::Int(match number {
                Number::Bool(value) => value.into(),
                Number::Int(int) => wrap(int, bits, signed),
                Number::Single(value) => truncated(value.into(), bits, signed)?,
                Number::Double(value) => truncated(value, bits, signed)?,
            }),
            Kind::Single | Kind::Half(_) => Number::Single(match number {
                Number::Bool(value) => f32::from(u8::from(value)),
                Number::Int(int) => int as f32,
                Number::Single(value) => value,
                Number::Double(value) if value.is_nan() => return refuse(NAN),
                Number::Double(value) => value as f32,
            }),
            Kind::Double => Number::Double(match number {
                Number::Bool(value) => f64::from(u8::from(value)),
                Number::Int(int) => int as f64,
                Number::Single(value) if value.is_nan() => return refuse(NAN),
                Number::Single(value) => value.into(),
                Number::Double(value) => value,
            }),
        })
    }

    /// Converts a number that an argument is to an element, like [`Kind::convert`]; a finite number that the type does
    /// not have is refused, because kernels fail for it.
    pub(super) fn filled(self, number: Number) -> Result<Vec<u8>> {
        let converted = match (self, number) {
            (Kind::Int(bits, signed), Number::Int(int)) if wrap(int, bits, signed) != int => {
                return refuse("a number exceeds the element type");
            }
            _ => self.convert(number)?,
        };
        let mut bytes = Vec::new();
        self.store(converted, &mut bytes)?;
        let is_finite = match number {
            Number::Double(value) => value.is_finite(),
            Number::Single(value) => value.is_finite(),
            Number::Bool(_) | Number::Int(_) => true,
        };
        let overflows = match self.load(&bytes)? {
            Number::Single(value) => is_finite && value.is_infinite(),
            Number::Double(_) | Number::Bool(_) | Number::Int(_) => false,
        };
        if overflows { refuse("a number exceeds the element type") } else { Ok(bytes) }
    }
}

impl Number {
    /// Returns `true` unless it is 0.
    pub(super) fn is_true(self) -> bool {
        match self {
            Number::Bool(value) => value,
            Number::Int(int) => int != 0,
            Number::Single(value) => value != 0.0,
            Number::Double(value) => value != 0.0,
        }
    }
}

/// Returns the low bits of an integer as a number.
pub(super) fn wrap(int: i64, bits: u32, signed: bool) -> i64 {
    let shift = 64 - bits;
    if signed { (int << shift) >> shift } else { (((int as u64) << shift) >> shift) as i64 }
}

/// Returns the integer part of a number.
fn truncated(value: f64, bits: u32, signed: bool) -> Result<i64> {
    let value = value.trunc();
    let exponent = if signed { bits - 1 } else { bits };
    let limit = 2f64.powi(exponent as i32);
    let low = if signed { -limit } else { 0.0 };
    // NaN is in no range.
    if value >= low && value < limit { Ok(value as i64) } else { refuse(RANGE) }
}
