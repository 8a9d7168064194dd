//! Comparison of elements: tensors as real numbers, distances, tolerances, sums over pairs. Everything that compares the
//! elements of two tensors, or summarizes those of one, uses this module. [`number`] encodes and decodes one element.

use std::io;

use super::blob::Blob;
use super::number::{self, NumericValue};
use super::produce::{BLOCK, read_blocks};
use crate::format::ScalarType;
use crate::format::scalar_type::{Encoding, FloatFormat};

/// Default absolute tolerance of a test.
pub const DEFAULT_ATOL: f64 = 1e-6;

/// Default relative tolerance of a test.
pub const DEFAULT_RTOL: f64 = 1e-5;

/// Appends the elements of `bytes`, each as the nearest number; a bool as the number of its byte. Returns false for types
/// that are not real numbers.
///
/// ```
/// use pte_model::data::elements::reals;
/// use pte_model::format::ScalarType;
///
/// let mut numbers = Vec::new();
/// assert!(reals(ScalarType::CHAR, &[1, 255], &mut numbers) && !reals(ScalarType::BITS8, &[1], &mut numbers));
/// assert_eq!(numbers, [1f64, -1f64]);
/// ```
pub fn reals(scalar_type: ScalarType, bytes: &[u8], out: &mut Vec<f64>) -> bool {
    fn each<const N: usize>(bytes: &[u8], out: &mut Vec<f64>, decode: impl Fn([u8; N]) -> f64) -> bool {
        out.extend(bytes.as_chunks().0.iter().map(|element| decode(*element)));
        true
    }
    let Some(info) = scalar_type.info() else { return false };
    match (info.encoding, info.size) {
        (Encoding::Float(FloatFormat::Binary64), _) => each(bytes, out, f64::from_le_bytes),
        (Encoding::Float(FloatFormat::Binary32), _) => each(bytes, out, |x| f32::from_le_bytes(x).into()),
        (Encoding::Float(FloatFormat::Binary16), _) => each(bytes, out, |x| half::f16::from_le_bytes(x).to_f64()),
        (Encoding::Float(FloatFormat::Bfloat16), _) => each(bytes, out, |x| half::bf16::from_le_bytes(x).to_f64()),
        (Encoding::Float(format), _) => each::<1>(bytes, out, |x| number::decode_float(format, &x).unwrap_or(f64::NAN)),
        (Encoding::Signed, 1) => each(bytes, out, |x| i8::from_le_bytes(x).into()),
        (Encoding::Signed, 2) => each(bytes, out, |x| i16::from_le_bytes(x).into()),
        (Encoding::Signed, 4) => each(bytes, out, |x| i32::from_le_bytes(x).into()),
        (Encoding::Signed, _) => each(bytes, out, |x| i64::from_le_bytes(x) as f64),
        (Encoding::Unsigned | Encoding::Bool, 1) => each(bytes, out, |x| u8::from_le_bytes(x).into()),
        (Encoding::Unsigned | Encoding::Bool, 2) => each(bytes, out, |x| u16::from_le_bytes(x).into()),
        (Encoding::Unsigned | Encoding::Bool, 4) => each(bytes, out, |x| u32::from_le_bytes(x).into()),
        (Encoding::Unsigned | Encoding::Bool, _) => each(bytes, out, |x| u64::from_le_bytes(x) as f64),
        (Encoding::Complex(_) | Encoding::Opaque, _) => false,
    }
}

/// Returns the elements of int32 or int64; `None` for other types.
pub fn ints<T: FromIterator<i64>>(scalar_type: ScalarType, bytes: &[u8]) -> Option<T> {
    match scalar_type {
        ScalarType::LONG => Some(bytes.as_chunks().0.iter().map(|item| i64::from_le_bytes(*item)).collect()),
        ScalarType::INT => Some(bytes.as_chunks().0.iter().map(|item| i32::from_le_bytes(*item).into()).collect()),
        _ => None,
    }
}

/// Calls `take` with each element of a blob, as [`reals`] decodes it. Memory does not grow with the blob.
///
/// # Errors
/// Data that cannot be read.
pub fn each_real(blob: &Blob, scalar_type: ScalarType, mut take: impl FnMut(f64)) -> io::Result<()> {
    let mut numbers = Vec::new();
    read_blocks([blob], BLOCK, (0..blob.len).step_by(BLOCK as usize), |_, [bytes]| {
        numbers.clear();
        reals(scalar_type, bytes, &mut numbers);
        numbers.iter().for_each(|number| take(*number));
        Ok(true)
    })
}

impl NumericValue {
    /// Returns the absolute difference from another number of the same kind, of complex numbers that of the part that
    /// differs more. It is 0 for two NaNs and for equal infinities, and NaN if only one is NaN.
    ///
    /// ```
    /// use pte_model::data::number::NumericValue;
    ///
    /// let complex = |im| NumericValue::Complex(1f64, im);
    /// assert_eq!(complex(2f64).distance(complex(5f64)), 3f64);
    /// assert_eq!(NumericValue::Float(f64::NAN).distance(NumericValue::Float(f64::NAN)), 0f64);
    /// // As floating point numbers, they would be equal.
    /// assert_eq!(NumericValue::Int(1 << 60).distance(NumericValue::Int((1 << 60) + 1)), 1f64);
    /// ```
    pub fn distance(self, other: NumericValue) -> f64 {
        let difference = |left: f64, right: f64| {
            let same = left == right || left.is_nan() && right.is_nan();
            if same { 0.0 } else { (right - left).abs() }
        };
        match (self, other) {
            (NumericValue::Int(left), NumericValue::Int(right)) => left.abs_diff(right) as f64,
            (NumericValue::Complex(re, im), NumericValue::Complex(other_re, other_im)) => {
                difference(re, other_re).max(difference(im, other_im))
            }
            _ => difference(self.to_f64(), other.to_f64()),
        }
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

/// Sums over pairs of elements. Elements that are not finite on both sides do not count, except where stated.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ElementSums {
    /// Number of elements whose bytes differ, finite or not.
    pub differing: u64,
    /// Number of elements that differ and are not finite on a side.
    pub not_finite: u64,
    /// Number of elements that are finite on both sides.
    pub finite: u64,
    /// Largest absolute difference.
    pub max_abs: f64,
    /// Sum of absolute differences.
    pub sum_abs: f64,
    /// Sum of products.
    pub product: f64,
    /// Sums of squares of both sides.
    pub squares: [f64; 2],
}

/// Number of independent sums, so that the processor does not wait for each addition.
const LANES: usize = 8;

impl ElementSums {
    /// Returns the sums of two blocks of whole elements; `None` for types that are not real numbers.
    pub fn of(scalar_type: ScalarType, left: &[u8], right: &[u8]) -> Option<ElementSums> {
        let (mut x, mut y) = (Vec::new(), Vec::new());
        if !(reals(scalar_type, left, &mut x) && reals(scalar_type, right, &mut y)) {
            return None;
        }
        let of = match scalar_type.info()?.size {
            1 => ElementSums::of_sized::<1>,
            2 => ElementSums::of_sized::<2>,
            4 => ElementSums::of_sized::<4>,
            _ => ElementSums::of_sized::<8>,
        };
        Some(of(scalar_type, left, right, [&x, &y]))
    }

    fn of_sized<const N: usize>(t: ScalarType, left: &[u8], right: &[u8], numbers: [&[f64]; 2]) -> ElementSums {
        // A float cannot represent all integers of 64 bits, but their difference is exact.
        let is_wide = N == 8 && t != ScalarType::DOUBLE;
        let exact = |left, right| number::decode(t, left).zip(number::decode(t, right)).map(|(l, r)| l.distance(r));
        let mut sums = ElementSums::default();
        let elements = left.as_chunks::<N>().0.iter().zip(right.as_chunks::<N>().0);
        for ((left, right), (x, y)) in elements.zip(numbers[0].iter().zip(numbers[1])) {
            let is_different = left != right;
            sums.differing += u64::from(is_different);
            if !(x.is_finite() && y.is_finite()) {
                sums.not_finite += u64::from(is_different);
                continue;
            }
            let distance = if is_wide { exact(left, right).unwrap_or(f64::NAN) } else { (x - y).abs() };
            sums.finite += 1;
            sums.max_abs = sums.max_abs.max(distance);
            sums.sum_abs += distance;
            sums.product += x * y;
            sums.squares[0] += x * x;
            sums.squares[1] += y * y;
        }
        sums
    }

    /// Returns the sums of a block that is equal on both sides.
    pub fn of_equal(scalar_type: ScalarType, bytes: &[u8]) -> ElementSums {
        let mut numbers = Vec::new();
        reals(scalar_type, bytes, &mut numbers);
        let (mut squares, mut finite) = ([0.0; LANES], [0; LANES]);
        let (groups, rest) = numbers.as_chunks::<LANES>();
        for group in groups.iter().map(|group| &group[..]).chain(rest.chunks(1)) {
            for ((square, count), x) in squares.iter_mut().zip(&mut finite).zip(group) {
                let (x, one) = if x.is_finite() { (*x, 1) } else { (0.0, 0) };
                *square += x * x;
                *count += one;
            }
        }
        let squares = squares.iter().sum();
        let finite = finite.iter().sum();
        ElementSums { finite, product: squares, squares: [squares; 2], ..ElementSums::default() }
    }

    /// Adds the sums of other elements.
    pub fn add(&mut self, other: &ElementSums) {
        self.differing += other.differing;
        self.not_finite += other.not_finite;
        self.finite += other.finite;
        self.max_abs = self.max_abs.max(other.max_abs);
        self.sum_abs += other.sum_abs;
        self.product += other.product;
        self.squares[0] += other.squares[0];
        self.squares[1] += other.squares[1];
    }

    /// Returns the cosine similarity; `None` if a side is zero.
    pub fn cosine(&self) -> Option<f64> {
        let lengths = self.squares[0].sqrt() * self.squares[1].sqrt();
        // Rounding errors may exceed the bounds.
        (lengths > 0.0 && lengths.is_finite()).then(|| (self.product / lengths).clamp(-1.0, 1.0))
    }
}
