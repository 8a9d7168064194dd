//! Arithmetic of numbers that are known, as the operators of the runtime itself compute it. `super::prim` has the
//! rules for numbers that are not.

/// A number or truth value that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// An Int.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A floating point number.
    Double(f64),
}

/// Result of an operator, from its arguments; `None` if the kernel does not take them, or if the result is not defined.
pub type Computation = fn(&[Number]) -> Option<Number>;

use Number::{Bool, Double, Int};

impl Number {
    /// Returns a number as a floating point number; `None` for a truth value.
    fn double(self) -> Option<f64> {
        match self {
            Int(int) => Some(int as f64),
            Double(double) => Some(double),
            Bool(_) => None,
        }
    }
}

/// Applies one of two functions to two numbers: that of Ints if both are.
fn binary(
    args: &[Number],
    ints: impl Fn(i64, i64) -> Option<Number>,
    doubles: impl Fn(f64, f64) -> Number,
) -> Option<Number> {
    match *args {
        [Int(a), Int(b)] => ints(a, b),
        [a, b] => Some(doubles(a.double()?, b.double()?)),
        _ => None,
    }
}

/// Functions of two numbers: name, result of Ints and of floating point numbers.
macro_rules! binary {
    ($($name:ident: $ints:expr, $doubles:expr;)*) => {$(
        #[doc = concat!("`", stringify!($name), "`")]
        pub(crate) fn $name(args: &[Number]) -> Option<Number> {
            binary(args, $ints, $doubles)
        }
    )*};
}

binary! {
    add: |a, b| a.checked_add(b).map(Int), |a, b| Double(a + b);
    sub: |a, b| a.checked_sub(b).map(Int), |a, b| Double(a - b);
    mul: |a, b| a.checked_mul(b).map(Int), |a, b| Double(a * b);
    floordiv: |a, b| floored(a, b).map(Int), |a, b| Double((a / b).floor());
    truediv: |a, b| Some(Double(a as f64 / b as f64)), |a, b| Double(a / b);
    eq: |a, b| Some(Bool(a == b)), |a, b| Bool(a == b);
    ge: |a, b| Some(Bool(a >= b)), |a, b| Bool(a >= b);
    gt: |a, b| Some(Bool(a > b)), |a, b| Bool(a > b);
    le: |a, b| Some(Bool(a <= b)), |a, b| Bool(a <= b);
    lt: |a, b| Some(Bool(a < b)), |a, b| Bool(a < b);
}

/// Returns a quotient, rounded down; `None` for a division by zero, and if it overflows.
pub(crate) fn floored(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    let is_below = a % b != 0 && (a < 0) != (b < 0);
    Some(if is_below { quotient - 1 } else { quotient })
}

/// `mod`: a remainder with the sign of the dividend.
pub(crate) fn modulo(args: &[Number]) -> Option<Number> {
    let [Int(a), Int(b)] = *args else { return None };
    a.checked_rem(b).map(Int)
}

/// `sym_max`
pub(crate) fn max(args: &[Number]) -> Option<Number> {
    let [Int(a), Int(b)] = *args else { return None };
    Some(Int(a.max(b)))
}

/// `sym_min`
pub(crate) fn min(args: &[Number]) -> Option<Number> {
    let [Int(a), Int(b)] = *args else { return None };
    Some(Int(a.min(b)))
}

/// `neg`
pub(crate) fn neg(args: &[Number]) -> Option<Number> {
    match *args {
        [Int(int)] => int.checked_neg().map(Int),
        [Double(double)] => Some(Double(-double)),
        _ => None,
    }
}

/// `sym_not`
pub(crate) fn not(args: &[Number]) -> Option<Number> {
    let [Bool(value)] = *args else { return None };
    Some(Bool(!value))
}

/// `sym_ite`: the second or the third number.
pub(crate) fn select(args: &[Number]) -> Option<Number> {
    let [Bool(condition), a, b] = *args else { return None };
    Some(if condition { a } else { b })
}

/// `sym_float`
pub(crate) fn float(args: &[Number]) -> Option<Number> {
    let [number] = *args else { return None };
    number.double().map(Double)
}

/// `sym_int` and `trunc`
pub(crate) fn truncate(args: &[Number]) -> Option<Number> {
    rounded(args, f64::trunc)
}

/// `ceil`
pub(crate) fn ceil(args: &[Number]) -> Option<Number> {
    rounded(args, f64::ceil)
}

/// `round`: halves to even.
pub(crate) fn round(args: &[Number]) -> Option<Number> {
    rounded(args, f64::round_ties_even)
}

/// Returns the Int that a number is rounded to. The conversion of one beyond the Ints is undefined.
fn rounded(args: &[Number], round: fn(f64) -> f64) -> Option<Number> {
    match *args {
        [Int(int)] => Some(Int(int)),
        [Double(double)] => {
            let rounded = round(double);
            (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0)
                .contains(&rounded)
                .then_some(Int(rounded as i64))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ints_and_doubles_are_computed_as_by_the_runtime() {
        assert_eq!(floordiv(&[Int(-7), Int(2)]), Some(Int(-4)));
        assert_eq!(floordiv(&[Int(7), Int(-2)]), Some(Int(-4)));
        assert_eq!(floordiv(&[Int(i64::MIN), Int(-1)]), None);
        assert_eq!(floordiv(&[Int(1), Int(0)]), None);
        assert_eq!(floordiv(&[Double(-7.0), Int(2)]), Some(Double(-4.0)));
        assert_eq!(modulo(&[Int(-7), Int(2)]), Some(Int(-1)));
        assert_eq!(add(&[Int(i64::MAX), Int(1)]), None);
        assert_eq!(add(&[Int(1), Double(0.5)]), Some(Double(1.5)));
        assert_eq!(add(&[Bool(true), Int(1)]), None);
        assert_eq!(eq(&[Int(1 << 53), Int((1 << 53) + 1)]), Some(Bool(false)));
        assert_eq!(ge(&[Int(1), Double(0.5)]), Some(Bool(true)));
        assert_eq!(truediv(&[Int(1), Int(2)]), Some(Double(0.5)));
        assert_eq!(select(&[Bool(false), Int(1), Double(2.0)]), Some(Double(2.0)));
        assert_eq!(round(&[Double(2.5)]), Some(Int(2)));
        assert_eq!(truncate(&[Double(1e30)]), None);
    }
}
