//! Tensors that are made of numbers.

use pte_model::data::Blob;

use super::call::{ConstantCall, nbytes};
use super::error::{Result, refuse};
use super::numbers::{Kind, Number};
use super::strided::repeated;

/// Returns the only result, filled with a number.
fn filled(call: &ConstantCall<'_>, number: Number) -> Result<Vec<Blob>> {
    let out = call.out()?;
    let Some(bytes) = nbytes(out) else { return refuse("a result is too large") };
    Ok(vec![repeated(&Kind::of(out.scalar_type)?.filled(number)?, bytes)?])
}

/// Zeros of any type.
pub(crate) fn zeros(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    let Some(bytes) = nbytes(call.out()?) else { return refuse("a result is too large") };
    Ok(vec![repeated(&[0], bytes)?])
}

/// Ones.
pub(crate) fn ones(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    filled(call, Number::Int(1))
}

/// The number that the argument at `AT` is.
pub(crate) fn full<const AT: usize>(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    filled(call, call.number(AT)?)
}

/// The number that the argument 1 is, in a tensor like the first argument, which is contiguous.
pub(crate) fn full_like(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    call.check_contiguous()?;
    filled(call, call.number(1)?)
}

/// The number that the argument 1 is, in a tensor like the first argument.
pub(crate) fn filled_like(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    call.check_elementwise()?;
    call.check_type(call.tensor(0)?.meta.scalar_type)?;
    filled(call, call.number(1)?)
}

/// Numbers from 0 to an end.
pub(crate) fn range(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    double(call, 0)?;
    progression(call, 0.0, 1.0)
}

/// Numbers from a start to an end by a step.
pub(crate) fn range_from(call: &ConstantCall<'_>) -> Result<Vec<Blob>> {
    double(call, 1)?;
    progression(call, double(call, 0)?, double(call, 2)?)
}

/// Returns a number, which is not a truth value: kernels reject it.
fn double(call: &ConstantCall<'_>, at: usize) -> Result<f64> {
    match call.number(at)? {
        Number::Int(int) => Ok(int as f64),
        Number::Double(value) => Ok(value),
        Number::Bool(_) | Number::Single(_) => refuse("a number of a range is a truth value"),
    }
}

/// Kernels compute a range in double precision.
fn progression(call: &ConstantCall<'_>, start: f64, step: f64) -> Result<Vec<Blob>> {
    let out = call.out()?;
    let kind = Kind::of(out.scalar_type)?;
    let mut bytes = Vec::with_capacity(call.bounded(nbytes(out))?);
    let [count] = out.sizes[..] else { return refuse("a range has one dimension") };
    for index in 0..count.size {
        let index = index as f64;
        let number = start + index * step;
        if number.to_bits() != index.mul_add(step, start).to_bits() {
            return refuse("a processor may fuse a product and a sum, which rounds differently");
        }
        bytes.extend(kind.filled(Number::Double(number))?);
    }
    Ok(vec![Blob::bytes(bytes)])
}
