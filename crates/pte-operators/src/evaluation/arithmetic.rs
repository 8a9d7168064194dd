//! Arithmetic, comparisons and logic of elements: integers, and the operations of IEEE 754 that are exact or rounded
//! once.

use pte_model::data::Blob;
use pte_model::format::ScalarType;

use super::call::{ConstantCall, nbytes};
use super::elements::broadcast;
use super::error::{Result, refuse};
use super::numbers::{Kind, NAN, Number, wrap};
use crate::inference::promotion::promote;

/// A function of two numbers of one kind; the kind is that in which kernels compute.
type Binary = fn(Kind, Number, Number) -> Result<Number>;

/// A function of a number.
type Unary = fn(Kind, Number) -> Result<Number>;

const OVERFLOW: &str = "an integer overflows";
const KIND: &str = "the operator does not compute numbers of this type";
const KERNELS: &str = "the kernels of two libraries round differently";

/// An operand: elements of a tensor, or a number.
enum Operand {
    Elements(Kind, Vec<u8>),
    Number(Number),
}

impl Operand {
    /// Returns the operand at a position, broadcast to the out.
    fn of(call: &ConstantCall<'_>, at: usize) -> Result<Operand> {
        if call.call.is_scalar(at) {
            return call.number(at).map(Operand::Number);
        }
        let tensor = call.tensor(at)?;
        Ok(Operand::Elements(Kind::of(tensor.meta.scalar_type)?, broadcast(call, &tensor, call.out()?)?))
    }

    /// Returns an element as a number of a kind.
    fn get(&self, index: usize, kind: Kind) -> Result<Number> {
        match self {
            Operand::Number(number) => kind.convert(*number),
            Operand::Elements(own, bytes) => {
                let size = own.size();
                let number = own.load(&bytes[index * size..(index + 1) * size])?;
                if own.computed() == kind { Ok(number) } else { kind.convert(number) }
            }
        }
    }
}

/// Returns the element type to which kernels promote two operands.
fn common(call: &ConstantCall<'_>, a: usize, b: usize) -> Result<ScalarType> {
    let first = call.tensor(a)?.meta.scalar_type;
    if call.call.is_scalar(b) { with_number(first, call.number(b)?) } else { with_tensor(call, first, b) }
}

fn with_tensor(call: &ConstantCall<'_>, first: ScalarType, b: usize) -> Result<ScalarType> {
    match promote(first, call.tensor(b)?.meta.scalar_type) {
        Some(common) => Ok(common),
        None => refuse("element types are not promoted"),
    }
}

/// Returns the element type to which kernels promote a tensor and a number.
fn with_number(scalar_type: ScalarType, number: Number) -> Result<ScalarType> {
    let kind = Kind::of(scalar_type)?;
    Ok(match number {
        Number::Bool(_) => scalar_type,
        Number::Int(_) if kind == Kind::Bool => ScalarType::LONG,
        Number::Int(_) => scalar_type,
        Number::Single(_) | Number::Double(_) if kind.is_float() => scalar_type,
        Number::Single(_) | Number::Double(_) => ScalarType::FLOAT,
    })
}

/// Returns the result of a function of each pair of elements of two operands, computed in a kind.
fn pairs(call: &ConstantCall<'_>, a: usize, b: usize, kind: Kind, function: Binary) -> Result<Vec<Blob>> {
    call.check_elementwise()?;
    let (first, second) = (Operand::of(call, a)?, Operand::of(call, b)?);
    stored(call, |index| function(kind, first.get(index, kind)?, second.get(index, kind)?))
}

/// Returns the only result, whose elements `element` computes.
fn stored(call: &ConstantCall<'_>, element: impl Fn(usize) -> Result<Number>) -> Result<Vec<Blob>> {
    let out = call.out()?;
    let kind = Kind::of(out.scalar_type)?;
    let size = call.bounded(nbytes(out))?;
    let mut bytes = Vec::with_capacity(size);
    for index in 0..size / kind.size() {
        kind.store(kind.convert(element(index)?)?, &mut bytes)?;
    }
    Ok(vec![Blob::bytes(bytes)])
}

/// Returns an integer of a kind; for 32 bits and more only if it does not overflow, which C++ leaves undefined.
fn integer(bits: u32, signed: bool, result: Option<i64>) -> Result<Number> {
    match result {
        Some(result) if bits < 32 => Ok(Number::Int(wrap(result, bits, signed))),
        Some(result) if wrap(result, bits, signed) == result => Ok(Number::Int(result)),
        _ => refuse(OVERFLOW),
    }
}

fn add(kind: Kind, a: Number, b: Number) -> Result<Number> {
    match (kind, a, b) {
        (Kind::Int(bits, signed), Number::Int(a), Number::Int(b)) => integer(bits, signed, a.checked_add(b)),
        (_, Number::Bool(a), Number::Bool(b)) => Ok(Number::Bool(a | b)),
        (_, Number::Single(a), Number::Single(b)) => Ok(Number::Single(a + b)),
        (_, Number::Double(a), Number::Double(b)) => Ok(Number::Double(a + b)),
        _ => refuse(KIND),
    }
}

fn subtract(kind: Kind, a: Number, b: Number) -> Result<Number> {
    match (kind, a, b) {
        (Kind::Int(bits, signed), Number::Int(a), Number::Int(b)) => integer(bits, signed, a.checked_sub(b)),
        (_, Number::Single(a), Number::Single(b)) => Ok(Number::Single(a - b)),
        (_, Number::Double(a), Number::Double(b)) => Ok(Number::Double(a - b)),
        _ => refuse(KIND),
    }
}

fn multiply(kind: Kind, a: Number, b: Number) -> Result<Number> {
    match (kind, a, b) {
        (Kind::Int(bits, signed), Number::Int(a), Number::Int(b)) => integer(bits, signed, a.checked_mul(b)),
        (_, Number::Bool(a), Number::Bool(b)) => Ok(Number::Bool(a & b)),
        (_, Number::Single(a), Number::Single(b)) => Ok(Number::Single(a * b)),
        (_, Number::Double(a), Number::Double(b)) => Ok(Number::Double(a * b)),
        _ => refuse(KIND),
    }
}

/// Optimized kernels multiply by the reciprocal of a single divisor, portable ones divide: both must round to the same
/// number.
fn divide(kind: Kind, a: Number, b: Number) -> Result<Number> {
    match (kind, a, b) {
        (_, Number::Single(a), Number::Single(b)) => Ok(Number::Single(a / b)),
        (_, Number::Double(a), Number::Double(b)) => Ok(Number::Double(a / b)),
        _ => refuse(KIND),
    }
}

fn divide_by_one(kind: Kind, a: Number, b: Number) -> Result<Number> {
    let same = match (a, b) {
        (Number::Single(a), Number::Single(b)) => (a / b).to_bits() == (a * (1.0 / b)).to_bits(),
        (Number::Double(a), Number::Double(b)) => (a / b).to_bits() == (a * (1.0 / b)).to_bits(),
        _ => false,
    };
    if same { divide(kind, a, b) } else { refuse(KERNELS) }
}

fn floor_divide(kind: Kind, a: Number, b: Number) -> Result<Number> {
    let (Kind::Int(bits, signed), Number::Int(a), Number::Int(b)) = (kind, a, b) else { return refuse(KIND) };
    let Some(quotient) = a.checked_div(b) else { return refuse("an integer is divided by zero, or overflows") };
    let rounded = if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient };
    if wrap(quotient, bits, signed) == quotient { Ok(Number::Int(rounded)) } else { refuse(OVERFLOW) }
}

/// Kernels return the remainder of C++, which has the sign of the dividend.
fn remainder(kind: Kind, a: Number, b: Number) -> Result<Number> {
    // The quotient must not overflow.
    floor_divide(kind, a, b)?;
    match (a, b) {
        (Number::Int(a), Number::Int(b)) => Ok(Number::Int(a % b)),
        _ => refuse(KIND),
    }
}

/// Returns the greater of two numbers; kernels differ in the sign of zeros.
fn maximum(kind: Kind, a: Number, b: Number) -> Result<Number> {
    extreme(kind, a, b, true)
}

fn minimum(kind: Kind, a: Number, b: Number) -> Result<Number> {
    extreme(kind, a, b, false)
}

fn extreme(_: Kind, a: Number, b: Number, greatest: bool) -> Result<Number> {
    let is_less = match (a, b) {
        (Number::Int(a), Number::Int(b)) => a < b,
        (Number::Bool(a), Number::Bool(b)) => !a & b,
        (Number::Single(a), Number::Single(b)) if a.is_nan() || b.is_nan() => return refuse(NAN),
        (Number::Double(a), Number::Double(b)) if a.is_nan() || b.is_nan() => return refuse(NAN),
        (Number::Single(x), Number::Single(y)) if x == y && x.to_bits() != y.to_bits() => return refuse(KERNELS),
        (Number::Double(x), Number::Double(y)) if x == y && x.to_bits() != y.to_bits() => return refuse(KERNELS),
        (Number::Single(a), Number::Single(b)) => a < b,
        (Number::Double(a), Number::Double(b)) => a < b,
        _ => return refuse(KIND),
    };
    Ok(if is_less == greatest { b } else { a })
}

/// Checks that the factor of the second operand, an argument, is 1: kernels of some processors fuse other products with
/// the sum, and some apply the factor to the first operand.
fn check_factor(call: &ConstantCall<'_>, at: usize, kind: Kind) -> Result<()> {
    match call.number(at)? {
        Number::Int(1) => Ok(()),
        Number::Double(1.0) if kind.is_float() => Ok(()),
        _ => refuse("the factor of an operand is not 1"),
    }
}

/// Returns the result of arithmetic with the arguments 0 and 1.
fn arithmetic(call: &ConstantCall<'_>, function: Binary) -> Result<Vec<Blob>> {
    let kind = Kind::of(common(call, 0, 1)?)?.computed();
    pairs(call, 0, 1, kind, function)
}

/// Evaluates `add`: the elementwise sum.
pub(crate) fn sum(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    check_factor(call, 2, Kind::of(common(call, 0, 1)?)?)?;
    arithmetic(call, add)
}

/// A sum with a number, whose kernel does not promote the tensor.
pub(crate) fn sum_with_number(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let own = call.tensor(0)?.meta.scalar_type;
    call.check_type(own)?;
    if common(call, 0, 1)? == own { sum(call) } else { refuse(KIND) }
}

/// Evaluates `sub`: the elementwise difference.
pub(crate) fn difference(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    check_factor(call, 2, Kind::of(common(call, 0, 1)?)?)?;
    arithmetic(call, subtract)
}

/// A difference of the second argument and the first.
pub(crate) fn reverse_difference(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    check_factor(call, 2, Kind::of(common(call, 0, 1)?)?)?;
    arithmetic(call, |kind, a, b| subtract(kind, b, a))
}

/// Evaluates `mul`: the elementwise product.
pub(crate) fn product(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    arithmetic(call, multiply)
}

/// A quotient of floating point numbers.
pub(crate) fn quotient(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    if !Kind::of(call.out()?.scalar_type)?.is_float() {
        return refuse("a quotient is not a floating point number");
    }
    let promoted = common(call, 0, 1)?;
    let common = if Kind::of(promoted)?.is_float() { promoted } else { ScalarType::FLOAT };
    // Kernels promote a floating point tensor and integers to the type of the former.
    let one = call.call.is_scalar(1) || call.tensor(1)?.data.len() == element_size(call, 1)?;
    pairs(call, 0, 1, Kind::of(common)?.computed(), if one { divide_by_one } else { divide })
}

fn element_size(call: &ConstantCall<'_>, at: usize) -> Result<u64> {
    super::movement::element(call.tensor(at)?.meta)
}

/// A quotient of integers, rounded down.
pub(crate) fn floored_quotient(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    arithmetic(call, floor_divide)
}

/// A remainder of integers.
pub(crate) fn remaining(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    arithmetic(call, remainder)
}

/// The greater of two numbers.
pub(crate) fn greater(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    arithmetic(call, maximum)
}

/// The smaller of two numbers.
pub(crate) fn smaller(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    arithmetic(call, minimum)
}

/// Numbers limited by two others, each of which may be None.
pub(crate) fn clamped(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    call.check_elementwise()?;
    let mut scalar_type = call.tensor(0)?.meta.scalar_type;
    let bounds: Vec<(usize, Binary)> = [(1, maximum as Binary), (2, minimum as Binary)]
        .into_iter()
        .filter(|(at, _)| !call.call.is_none(*at))
        .collect();
    for &(at, _) in &bounds {
        scalar_type = match call.call.is_scalar(at) {
            true => with_number(scalar_type, call.number(at)?)?,
            false => with_tensor(call, scalar_type, at)?,
        };
    }
    let kind = Kind::of(scalar_type)?.computed();
    let own = Operand::of(call, 0)?;
    let bounds = bounds.into_iter().map(|(at, function)| {
        if call.call.is_scalar(at) {
            // Kernels fail for a bound that the type does not have.
            Kind::of(scalar_type)?.filled(call.number(at)?)?;
        }
        Ok((Operand::of(call, at)?, function))
    });
    let bounds: Vec<(Operand, Binary)> = bounds.collect::<Result<_>>()?;
    stored(call, |index| {
        bounds
            .iter()
            .try_fold(own.get(index, kind)?, |value, (bound, function)| function(kind, value, bound.get(index, kind)?))
    })
}

/// Returns the truth value of a comparison of the arguments 0 and 1.
fn compared(call: &ConstantCall<'_>, function: fn(Option<std::cmp::Ordering>) -> bool) -> Result<Vec<Blob>> {
    call.check_elementwise()?;
    let mut common = common(call, 0, 1)?;
    let differ = !call.call.is_scalar(1) && call.tensor(0)?.meta.scalar_type != call.tensor(1)?.meta.scalar_type;
    if differ && Kind::of(common)?.is_float() {
        // Kernels compare different types in single precision.
        common = ScalarType::FLOAT;
    }
    let kind = Kind::of(common)?.computed();
    let (first, second) = (Operand::of(call, 0)?, Operand::of(call, 1)?);
    stored(call, |index| {
        let order = match (first.get(index, kind)?, second.get(index, kind)?) {
            (Number::Bool(a), Number::Bool(b)) => Some(a.cmp(&b)),
            (Number::Int(a), Number::Int(b)) => Some(a.cmp(&b)),
            (Number::Single(a), Number::Single(b)) => a.partial_cmp(&b),
            (Number::Double(a), Number::Double(b)) => a.partial_cmp(&b),
            _ => return refuse(KIND),
        };
        Ok(Number::Bool(function(order)))
    })
}

/// `==`
pub(crate) fn equal(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    compared(call, |order| order.is_some_and(std::cmp::Ordering::is_eq))
}

/// `!=`
pub(crate) fn unequal(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    compared(call, |order| !order.is_some_and(std::cmp::Ordering::is_eq))
}

/// `<`
pub(crate) fn less(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    compared(call, |order| order.is_some_and(std::cmp::Ordering::is_lt))
}

/// `<=`
pub(crate) fn at_most(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    compared(call, |order| order.is_some_and(std::cmp::Ordering::is_le))
}

/// `>`
pub(crate) fn more(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    compared(call, |order| order.is_some_and(std::cmp::Ordering::is_gt))
}

/// `>=`
pub(crate) fn at_least(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    compared(call, |order| order.is_some_and(std::cmp::Ordering::is_ge))
}

/// Returns the result of a function of truth values.
fn logical(call: &ConstantCall<'_>, function: Binary) -> Result<Vec<Blob>> {
    pairs(call, 0, 1, Kind::Bool, function)
}

/// Both.
pub(crate) fn both(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    logical(call, |_, a, b| Ok(Number::Bool(a.is_true() & b.is_true())))
}

/// One or both.
pub(crate) fn either(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    logical(call, |_, a, b| Ok(Number::Bool(a.is_true() | b.is_true())))
}

/// One of both.
pub(crate) fn exclusive(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    logical(call, |_, a, b| Ok(Number::Bool(a.is_true() ^ b.is_true())))
}

/// Returns the result of a function of bits.
fn bits(call: &ConstantCall<'_>, function: fn(i64, i64) -> i64) -> Result<Vec<Blob>> {
    call.check_elementwise()?;
    let kind = Kind::of(common(call, 0, 1)?)?;
    let (first, second) = (Operand::of(call, 0)?, Operand::of(call, 1)?);
    stored(call, |index| match (first.get(index, kind)?, second.get(index, kind)?) {
        (Number::Int(a), Number::Int(b)) => Ok(Number::Int(function(a, b))),
        (Number::Bool(a), Number::Bool(b)) => Ok(Number::Bool(function(a.into(), b.into()) != 0)),
        _ => refuse(KIND),
    })
}

/// Bits of both.
pub(crate) fn bits_of_both(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    bits(call, |a, b| a & b)
}

/// Bits of one or both.
pub(crate) fn bits_of_either(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    bits(call, |a, b| a | b)
}

/// Bits of one of both.
pub(crate) fn bits_of_one(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    bits(call, |a, b| a ^ b)
}

/// Returns the result of a function of each element, computed in the kind of its type, or in single precision.
fn unary(call: &ConstantCall<'_>, floating: bool, function: Unary) -> Result<Vec<Blob>> {
    call.check_elementwise()?;
    let own = Kind::of(call.tensor(0)?.meta.scalar_type)?;
    let kind = if floating && !own.is_float() { Kind::Single } else { own.computed() };
    let operand = Operand::of(call, 0)?;
    stored(call, |index| function(kind, operand.get(index, kind)?))
}

/// The opposite number.
pub(crate) fn opposite(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    call.check_type(call.tensor(0)?.meta.scalar_type)?;
    unary(call, false, |kind, number| match (kind, number) {
        (Kind::Int(bits, signed), Number::Int(int)) => integer(bits, signed, int.checked_neg()),
        (_, Number::Single(value)) => Ok(Number::Single(-value)),
        (_, Number::Double(value)) => Ok(Number::Double(-value)),
        _ => refuse(KIND),
    })
}

/// The absolute value.
pub(crate) fn absolute(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    call.check_type(call.tensor(0)?.meta.scalar_type)?;
    unary(call, false, |kind, number| match (kind, number) {
        (Kind::Int(bits, signed), Number::Int(int)) => integer(bits, signed, int.checked_abs()),
        // Kernels keep the sign of zero.
        (_, Number::Single(value)) => Ok(Number::Single(if value < 0.0 { -value } else { value })),
        (_, Number::Double(value)) => Ok(Number::Double(if value < 0.0 { -value } else { value })),
        _ => refuse(KIND),
    })
}

/// The square root.
pub(crate) fn square_root(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    unary(call, true, |_, number| match number {
        Number::Single(value) => Ok(Number::Single(value.sqrt())),
        Number::Double(value) => Ok(Number::Double(value.sqrt())),
        Number::Bool(_) | Number::Int(_) => refuse(KIND),
    })
}

/// The opposite truth value.
pub(crate) fn negated(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    call.check_elementwise()?;
    let operand = Operand::of(call, 0)?;
    stored(call, |index| Ok(Number::Bool(!operand.get(index, Kind::Bool)?.is_true())))
}

/// The opposite bits.
pub(crate) fn inverted(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    call.check_type(call.tensor(0)?.meta.scalar_type)?;
    unary(call, false, |kind, number| match (kind, number) {
        (Kind::Int(bits, signed), Number::Int(int)) => Ok(Number::Int(wrap(!int, bits, signed))),
        (_, Number::Bool(value)) => Ok(Number::Bool(!value)),
        _ => refuse(KIND),
    })
}

/// Evaluates `isnan`, element by element.
pub(crate) fn not_a_number(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    classified(call, f64::is_nan)
}

/// Evaluates `isinf`, element by element.
pub(crate) fn infinite(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    classified(call, f64::is_infinite)
}

fn classified(call: &ConstantCall<'_>, function: fn(f64) -> bool) -> Result<Vec<Blob>> {
    call.check_elementwise()?;
    let own = Kind::of(call.tensor(0)?.meta.scalar_type)?;
    let operand = Operand::of(call, 0)?;
    stored(call, |index| {
        Ok(Number::Bool(match operand.get(index, own.computed())? {
            Number::Bool(_) | Number::Int(_) => false,
            Number::Single(value) => function(value.into()),
            Number::Double(value) => function(value),
        }))
    })
}
