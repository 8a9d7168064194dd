//! Comparison of elements: their decoding as real numbers, distances, tolerances, sums over pairs. Everything that
//! compares the elements of two tensors, or summarizes those of one, uses this module. [`number`] encodes and decodes a
//! single element.

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

/// Work on elements of a type of real numbers, for [`decoded`]. It is compiled once for each type.
pub trait ElementWork {
    /// Result of the work.
    type Output;

    /// Does the work. `decode` returns the number nearest to an element of `N` bytes; for a bool, the number of its
    /// byte.
    fn with<const N: usize>(self, decode: impl Fn([u8; N]) -> f64) -> Self::Output;
}

/// Does work on elements of a type; `None` for types that are not real numbers.
pub fn decoded<W: ElementWork>(scalar_type: ScalarType, work: W) -> Option<W::Output> {
    let info = scalar_type.info()?;
    Some(match (info.encoding, info.size) {
        (Encoding::Float(FloatFormat::Binary64), _) => work.with(f64::from_le_bytes),
        (Encoding::Float(FloatFormat::Binary32), _) => work.with(|x| f32::from_le_bytes(x).into()),
        (Encoding::Float(FloatFormat::Binary16), _) => work.with(|x| half::f16::from_le_bytes(x).to_f64()),
        (Encoding::Float(FloatFormat::Bfloat16), _) => work.with(|x| half::bf16::from_le_bytes(x).to_f64()),
        (Encoding::Float(format), _) => work.with::<1>(|x| number::decode_float(format, &x).unwrap_or(f64::NAN)),
        (Encoding::Signed, 1) => work.with(|x| i8::from_le_bytes(x).into()),
        (Encoding::Signed, 2) => work.with(|x| i16::from_le_bytes(x).into()),
        (Encoding::Signed, 4) => work.with(|x| i32::from_le_bytes(x).into()),
        (Encoding::Signed, _) => work.with(|x| i64::from_le_bytes(x) as f64),
        (Encoding::Unsigned | Encoding::Bool, 1) => work.with(|x| u8::from_le_bytes(x).into()),
        (Encoding::Unsigned | Encoding::Bool, 2) => work.with(|x| u16::from_le_bytes(x).into()),
        (Encoding::Unsigned | Encoding::Bool, 4) => work.with(|x| u32::from_le_bytes(x).into()),
        (Encoding::Unsigned | Encoding::Bool, _) => work.with(|x| u64::from_le_bytes(x) as f64),
        (Encoding::Complex(_) | Encoding::Opaque, _) => return None,
    })
}

/// Returns the elements of int32 or int64; `None` for other types.
pub fn ints<T: FromIterator<i64>>(scalar_type: ScalarType, bytes: &[u8]) -> Option<T> {
    match scalar_type {
        ScalarType::LONG => Some(bytes.as_chunks().0.iter().map(|item| i64::from_le_bytes(*item)).collect()),
        ScalarType::INT => Some(bytes.as_chunks().0.iter().map(|item| i32::from_le_bytes(*item).into()).collect()),
        _ => None,
    }
}

/// Calls `take` with each element of a blob, as [`decoded`] does. Memory does not grow with the blob. Returns false for
/// types that are not real numbers, whose data are not read.
///
/// ```
/// use pte_model::data::{Blob, elements};
/// use pte_model::format::ScalarType;
///
/// let mut numbers = Vec::new();
/// assert!(elements::each_real(&Blob::bytes([1, 255]), ScalarType::CHAR, |number| numbers.push(number))?);
/// assert_eq!(numbers, [1f64, -1f64]);
/// assert!(!elements::each_real(&Blob::bytes([1]), ScalarType::BITS8, |_| {})?);
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Data that cannot be read.
pub fn each_real(blob: &Blob, scalar_type: ScalarType, take: impl FnMut(f64)) -> io::Result<bool> {
    struct Each<'b, F>(&'b Blob, F);
    impl<F: FnMut(f64)> ElementWork for Each<'_, F> {
        type Output = io::Result<()>;

        fn with<const N: usize>(mut self, decode: impl Fn([u8; N]) -> f64) -> io::Result<()> {
            read_blocks([self.0], BLOCK, (0..self.0.len).step_by(BLOCK as usize), |_, [bytes]| {
                bytes.as_chunks().0.iter().for_each(|element| (self.1)(decode(*element)));
                Ok(true)
            })
        }
    }
    Ok(decoded(scalar_type, Each(blob, take)).transpose()?.is_some())
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

/// Two blocks of whole elements.
struct Blocks<'b>(ScalarType, [&'b [u8]; 2]);

impl ElementWork for Blocks<'_> {
    type Output = ElementSums;

    fn with<const N: usize>(self, decode: impl Fn([u8; N]) -> f64) -> ElementSums {
        let Blocks(scalar_type, [left, right]) = self;
        // A float cannot represent all integers of 64 bits, but their difference is exact.
        let is_wide = N == 8 && scalar_type != ScalarType::DOUBLE;
        let number = |element: &[u8; N]| number::decode(scalar_type, element).unwrap_or(NumericValue::Float(f64::NAN));
        let mut sums = ElementSums::default();
        for (l, r) in left.as_chunks::<N>().0.iter().zip(right.as_chunks::<N>().0) {
            let (x, y) = (decode(*l), decode(*r));
            let is_different = l != r;
            sums.differing += u64::from(is_different);
            if !(x.is_finite() && y.is_finite()) {
                sums.not_finite += u64::from(is_different);
                continue;
            }
            let distance = if is_wide { number(l).distance(number(r)) } else { (x - y).abs() };
            sums.finite += 1;
            sums.max_abs = sums.max_abs.max(distance);
            sums.sum_abs += distance;
            sums.product += x * y;
            sums.squares[0] += x * x;
            sums.squares[1] += y * y;
        }
        sums
    }
}

/// Number of independent sums, so that the processor does not wait for each addition.
const LANES: usize = 8;

/// A block that is equal on both sides.
struct EqualBlock<'b>(&'b [u8]);

impl ElementWork for EqualBlock<'_> {
    type Output = ElementSums;

    fn with<const N: usize>(self, decode: impl Fn([u8; N]) -> f64) -> ElementSums {
        let (mut squares, mut finite) = ([0.0; LANES], [0; LANES]);
        let mut add = |lane: usize, element: &[u8; N]| {
            let x = decode(*element);
            let (x, one) = if x.is_finite() { (x, 1) } else { (0.0, 0) };
            squares[lane] += x * x;
            finite[lane] += one;
        };
        let (groups, rest) = self.0.as_chunks::<N>().0.as_chunks::<LANES>();
        groups.iter().for_each(|group| group.iter().enumerate().for_each(|(lane, element)| add(lane, element)));
        rest.iter().for_each(|element| add(0, element));
        let (product, finite) = (squares.iter().sum(), finite.iter().sum());
        ElementSums { finite, product, squares: [product; 2], ..ElementSums::default() }
    }
}

impl ElementSums {
    /// Returns the sums of two blocks of whole elements; `None` for types that are not real numbers.
    pub fn of(scalar_type: ScalarType, blocks: [&[u8]; 2]) -> Option<ElementSums> {
        decoded(scalar_type, Blocks(scalar_type, blocks))
    }

    /// Returns the sums of a block that is equal on both sides.
    pub fn of_equal(scalar_type: ScalarType, block: &[u8]) -> ElementSums {
        decoded(scalar_type, EqualBlock(block)).unwrap_or_default()
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
