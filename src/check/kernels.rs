//! What some kernels ask of their arguments beyond the kinds, where they abort the runtime instead of refusing the call:
//! division by zero, a few element types, and the types, shapes and ranges of quantization. Found by trying ExecuTorch 1.5.1.
//!
//! Only what the file states and no instruction changes is looked at; numbers that are computed, and the contents of
//! tensors, are not known before the method runs. What other kernels refuse in good order is not looked for.

use super::finding::Findings;
use super::finding::Locate;
use super::semantics::method::{Method, Numbers};
use crate::operators::kernels::{Kernel, LONERS, Quantization, UNPROMOTED};
use crate::format::ScalarType;
use crate::program::{EValue, Memory, Tensor, TensorData};

/// A constant of more bytes than this is not looked into.
const SMALL: u64 = 1 << 16;

const INT: ScalarType = ScalarType(3);
const HALF: ScalarType = ScalarType(5);
const DOUBLE: ScalarType = ScalarType(7);

/// So many uses of a value, and items of a list, are looked at, so that the work grows with the file.
const FEW: usize = 64;

/// A call of a known operator with as many arguments as it takes.
pub(super) struct Call<'m, 'p> {
    pub method: &'m Method<'p>,
    pub name: &'m str,
    pub kernel: &'m Kernel,
    pub number: u32,
    pub args: &'p [i32],
    /// Whether the method has jumps.
    pub jumps: bool,
}

/// Checks a call.
pub(super) fn check(call: &Call<'_, '_>, findings: &mut Findings, place: &Locate<'_>) {
    for position in &call.kernel.divisors {
        if call.has_zero(*position) {
            findings.add("O-7", || {
                let expected = format!("another divisor for {}", call.name);
                (place(&call.method.arg(call.number, *position)), "the Int 0".into(), expected)
            });
        }
    }
    if let Some(position) = call.kernel.dimension
        && let (Some(tensor), Some(dim)) = (call.tensor(0), call.constant(position))
        && !(0..sizes(tensor).len() as i64).contains(&dim)
    {
        findings.add("O-11", || {
            let expected = format!("one of the {} from 0 on", sizes(tensor).len());
            (place(&call.method.arg(call.number, position)), format!("the dimension {dim}"), expected)
        });
    }
    if let Some(range) = call.kernel.range {
        check_range(call, range, findings, place);
    }
    check_types(call, findings, place);
    if let Some(quantization) = call.kernel.quantization {
        self::quantization(quantization, call, findings, place);
    }
}

/// A range that is longer than its out aborts when the out is resized.
fn check_range(call: &Call<'_, '_>, range: [Option<usize>; 4], findings: &mut Findings, place: &Locate<'_>) {
    let [start, end, step, out] = range;
    let number = |position: Option<usize>, default: f64| position.map_or(Some(default), |at| call.number(at));
    let (Some(start), Some(end), Some(step)) = (number(start, 0.0), number(end, 0.0), number(step, 1.0)) else {
        return;
    };
    let Some((position, out)) = out.and_then(|out| Some((out, call.tensor(out)?))) else { return };
    let (length, room) = (((end - start) / step).ceil(), count(sizes(out)));
    if !(0.0..=room as f64).contains(&length) {
        findings.add("O-12", || {
            let found = format!("a range from {start} to {end} by {step}");
            (place(&call.method.arg(call.number, position)), found, format!("{room} elements at most, as its out has"))
        });
    }
}

fn check_types(call: &Call<'_, '_>, findings: &mut Findings, place: &Locate<'_>) {
    let mut report = |position: usize, tensor: &Tensor| {
        findings.add("O-10", || {
            let found = format!("a tensor of {}", tensor.scalar_type);
            let expected = format!("an element type that {} has code for", call.name);
            (place(&call.method.arg(call.number, position)), found, expected)
        });
    };
    for (position, types) in &call.kernel.types {
        if let Some(tensor) = call.tensor(*position).filter(|tensor| !types.contains(&tensor.scalar_type.0)) {
            report(*position, tensor);
        }
    }
    if let Some(first) = call.kernel.promoted
        && let (Some(left), Some(right)) = (call.tensor(first), call.tensor(first + 1))
        && left.scalar_type != right.scalar_type
    {
        for (position, tensor) in [(first, left), (first + 1, right)] {
            if LONERS.contains(&tensor.scalar_type.0) {
                report(position, tensor);
            }
        }
    }
    if !call.kernel.promotes {
        return;
    }
    for position in 0..call.args.len() - 1 {
        let facts = call.argument(position).map(|(value, _)| call.method.facts[value]);
        if facts.is_some_and(|facts| UNPROMOTED.contains(&facts.scalar_type))
            && let Some(tensor) = call.tensor(position)
        {
            report(position, tensor);
        }
    }
}

impl<'p> Call<'_, 'p> {
    /// The numbers of a small constant tensor of ints, if they can be had.
    fn numbers(&self, position: usize) -> Option<Numbers> {
        let tensor = self.tensor(position)?;
        let TensorData::Blob(data) = tensor.data else { return None };
        let blob = self.method.program.blob(data);
        if tensor.memory != Memory::None || blob.len > SMALL {
            return None;
        }
        // Many calls may share a constant.
        let mut known = self.method.numbers.borrow_mut();
        let read = || {
            let bytes = blob.read_at(0, blob.len as usize).ok()?;
            match tensor.scalar_type {
                ScalarType::LONG => Some(bytes.as_chunks().0.iter().map(|item| i64::from_le_bytes(*item)).collect()),
                INT => Some(bytes.as_chunks().0.iter().map(|item| i32::from_le_bytes(*item).into()).collect()),
                _ => None,
            }
        };
        known.entry((data, tensor.scalar_type.0)).or_insert_with(read).clone()
    }

    fn argument(&self, position: usize) -> Option<(usize, &'p EValue)> {
        let value = self.method.value(*self.args.get(position)?)?;
        Some((value, &self.method.values()[value]))
    }

    fn tensor(&self, position: usize) -> Option<&'p Tensor> {
        match self.argument(position)? {
            (_, EValue::Tensor(tensor)) => Some(tensor),
            _ => None,
        }
    }

    /// An Int or Double that nothing replaces.
    fn number(&self, position: usize) -> Option<f64> {
        match self.argument(position)? {
            (value, EValue::Double(number)) => self.is_kept(value).then_some(*number),
            (value, _) => self.stays(value).map(|number| number as f64),
        }
    }

    /// A number that nothing replaces.
    fn constant(&self, position: usize) -> Option<i64> {
        self.stays(self.argument(position)?.0)
    }

    /// The number that a value still has when the call is reached. With jumps only if nothing ever replaces it: what is
    /// written behind a call may be written before it.
    fn stays(&self, value: usize) -> Option<i64> {
        let EValue::Int(number) = &self.method.values()[value] else { return None };
        self.is_kept(value).then_some(*number)
    }

    fn is_kept(&self, value: usize) -> bool {
        let uses = self.method.value_accesses(value);
        let few = uses.len() <= FEW;
        let mut writes = uses.take(FEW).filter(|access| access.how.may_write());
        few && !writes.any(|write| self.jumps || write.step < self.number)
    }

    /// Whether an argument is 0, or a list with a 0.
    fn has_zero(&self, position: usize) -> bool {
        match self.argument(position) {
            Some((_, EValue::IntList(Some(items)))) if !self.method.tangled => items.iter().take(FEW).any(|item| {
                let value = i32::try_from(*item).ok().and_then(|item| self.method.value(item));
                value.and_then(|value| self.stays(value)) == Some(0)
            }),
            Some((value, _)) => self.stays(value) == Some(0),
            None => false,
        }
    }
}

/// Checks a call of an operator of quantization.
fn quantization(known: &Quantization, call: &Call<'_, '_>, findings: &mut Findings, place: &Locate<'_>) {
        let mut report = |position: usize, found: String, expected: String| {
            findings.add("O-8", || (place(&call.method.arg(call.number, position)), found, expected));
        };
        let dtype = known.range + 2;
        let out = if known.quantizes { dtype + 1 } else { dtype + 2 };
        let (Some(input), Some(result)) = (call.tensor(0), call.tensor(out)) else { return };
        let (small, real, small_at, real_at) =
            if known.quantizes { (result, input, out, 0) } else { (input, result, 0, out) };
        if !matches!(real.scalar_type, HALF | ScalarType::FLOAT | DOUBLE) {
            report(real_at, format!("a tensor of {}", real.scalar_type), "float16, float32 or float64".into());
        }
        let bounds = bounds(small.scalar_type);
        if bounds.is_none() {
            report(
                small_at,
                format!("a tensor of {}", small.scalar_type),
                "uint8, int8, int16, int32 or uint16".into(),
            );
        }
        if let Some(code) = call.constant(dtype).filter(|code| *code != i64::from(small.scalar_type.0)) {
            report(dtype, format!("the type {code}"), format!("{}, that of the quantized tensor", small.scalar_type.0));
        }
        if !known.quantizes
            && let Some(code) = call.constant(dtype + 1).filter(|code| *code != i64::from(real.scalar_type.0))
        {
            report(dtype + 1, format!("the type {code}"), format!("{}, that of the out", real.scalar_type.0));
        }
        let (least, most) = (call.constant(known.range), call.constant(known.range + 1));
        if let (true, Some((low, high))) = (known.quantizes, bounds) {
            if let Some(least) = least.filter(|least| *least < low) {
                report(known.range, format!("{least}"), format!("{low} or more, as {} has", small.scalar_type));
            }
            if let Some(most) = most.filter(|most| *most > high) {
                report(known.range + 1, format!("{most}"), format!("{high} or less, as {} has", small.scalar_type));
            }
        }
        if let (false, Some(least), Some(most)) = (known.quantizes, least, most)
            && least > most
        {
            report(known.range, format!("{least}"), format!("{most}, the largest value, or less"));
        }
        let (given, made) = (sizes(input), sizes(result));
        let fits = match result.shape_dynamism {
            0 => given == made,
            _ => given.len() == made.len() && count(given) <= count(made),
        };
        if !fits {
            report(out, format!("sizes {made:?}"), format!("{given:?}, as the input has"));
        }
        let channels = match known.axis {
            None => Some(1),
            Some(at) => match call.constant(at) {
                None => return,
                Some(axis) => match dimension(axis, given) {
                    None => {
                        report(at, format!("the dimension {axis}"), format!("one of the {}", given.len()));
                        return;
                    }
                    Some(_) if input.shape_dynamism != 0 => None,
                    Some(size) => Some(size),
                },
            },
        };
        if !known.tensors {
            return;
        }
        if let (true, Some(least), Some(most)) = (known.axis.is_some() && !known.quantizes, least, most)
            && let Some(wrong) =
                call.numbers(2).and_then(|zeros| zeros.iter().copied().find(|zero| !(least..=most).contains(zero)))
        {
            report(2, format!("the zero point {wrong}"), format!("{least} to {most}, the range of the values"));
        }
        // The one that works in channels and makes numbers takes more.
        let lenient = known.axis.is_some() && !known.quantizes;
        let scales: &[ScalarType] = if lenient { &[DOUBLE, ScalarType::FLOAT] } else { &[DOUBLE] };
        let zeros: &[ScalarType] = if lenient { &[ScalarType::LONG, INT] } else { &[ScalarType::LONG] };
        for (position, types) in [(1, scales), (2, zeros)] {
            let Some(tensor) = call.tensor(position) else { continue };
            if !types.contains(&tensor.scalar_type) {
                let names: Vec<String> = types.iter().map(ToString::to_string).collect();
                report(position, format!("a tensor of {}", tensor.scalar_type), names.join(" or "));
            }
            if channels.is_some_and(|channels| tensor.shape_dynamism == 0 && count(sizes(tensor)) != channels) {
                let expected = channels.unwrap_or_default();
                report(
                    position,
                    format!("{} elements", count(sizes(tensor))),
                    format!("{expected}, one for each channel"),
                );
            }
        }
}

/// The numbers that a type of quantized tensors has.
fn bounds(scalar_type: ScalarType) -> Option<(i64, i64)> {
    Some(match scalar_type {
        ScalarType(0) => (0, 0xff),
        ScalarType(1) => (i64::from(i8::MIN), i64::from(i8::MAX)),
        ScalarType(2) => (i64::from(i16::MIN), i64::from(i16::MAX)),
        INT => (i64::from(i32::MIN), i64::from(i32::MAX)),
        ScalarType(22) | ScalarType(27) => (0, 0xffff),
        _ => return None,
    })
}

fn sizes(tensor: &Tensor) -> &[i32] {
    tensor.sizes.as_deref().unwrap_or_default()
}

fn count(sizes: &[i32]) -> i128 {
    sizes.iter().map(|size| i128::from(*size)).fold(1, i128::saturating_mul)
}

/// The size of a dimension, counted from the end if it is negative.
fn dimension(axis: i64, sizes: &[i32]) -> Option<i128> {
    let rank = sizes.len() as i64;
    let at = if axis < 0 { axis.checked_add(rank)? } else { axis };
    sizes.get(usize::try_from(at).ok()?).map(|size| i128::from(*size))
}
