//! Scale and zero point of tensors, as far as they follow from calls that quantize or dequantize them with numbers.
//! What payloads of delegates do to their arguments is given.

use std::collections::HashMap;

use super::method::Method;
use pte_model::program::instruction::Callee;
use pte_model::program::{DelegateId, EValue, Instruction};

/// Quantization of a tensor: a real number is `scale * (integer - zero_point)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TensorQuantization {
    /// Scale; a finite number.
    pub scale: f64,
    /// Zero point.
    pub zero_point: i64,
}

/// Values that calls quantize or dequantize with one scale and zero point.
#[derive(Debug)]
pub struct Quantizations {
    /// By value, and true for its reads: the parameters on which all calls agree that read it, or that write it; `None`
    /// if they do not.
    known: HashMap<(usize, bool), Option<TensorQuantization>>,
}

impl Quantizations {
    /// Finds the parameters in the calls of a method. `of_delegate` returns those by which the payload of a delegate
    /// converts an argument, which is an input if the flag is set.
    pub fn of(
        method: &Method<'_>,
        of_delegate: impl Fn(DelegateId, u32, bool) -> Option<TensorQuantization>,
    ) -> Quantizations {
        let calls: Vec<Quantizing> = method.plan.instructions().map(|call| Quantizing::of(method, call)).collect();
        let mut known = HashMap::new();
        if calls.iter().all(|call| matches!(call, Quantizing::By(None))) {
            return Quantizations { known };
        }
        let accesses = method.accesses();
        for access in &accesses.list {
            // The accesses to the outputs are behind the last step.
            let Some(call) = calls.get(access.step as usize) else { continue };
            for (is_read, _) in [(true, access.reads()), (false, access.writes())].into_iter().filter(|(_, is)| *is) {
                let parameters = match call {
                    Quantizing::By(parameters) => *parameters,
                    Quantizing::Delegate(delegate) => of_delegate(*delegate, access.arg, is_read),
                };
                let agreed = known.entry((access.value as usize, is_read)).or_insert(parameters);
                if *agreed != parameters {
                    *agreed = None;
                }
            }
        }
        // Without all accesses, nothing is known.
        if accesses.is_truncated {
            known.clear();
        }
        Quantizations { known }
    }

    /// Returns the parameters of an input, of its reads, or of an output, of its writes.
    pub fn find(&self, value: usize, is_read: bool) -> Option<TensorQuantization> {
        self.known.get(&(value, is_read)).copied().flatten()
    }
}

/// An instruction by which its tensors may be quantized.
enum Quantizing {
    /// With these parameters.
    By(Option<TensorQuantization>),
    /// By its payload, each argument by itself.
    Delegate(DelegateId),
}

impl Quantizing {
    fn of(method: &Method<'_>, instruction: &Instruction) -> Quantizing {
        match instruction.callee() {
            Some(Callee::Delegate(delegate)) => Quantizing::Delegate(delegate),
            _ => Quantizing::By(parameters(method, instruction)),
        }
    }
}

/// Returns the scale and zero point of a call that quantizes or dequantizes a whole tensor with numbers.
fn parameters(method: &Method<'_>, instruction: &Instruction) -> Option<TensorQuantization> {
    let plan = method.plan;
    let quantization = method.operators.called(instruction)?.facts.quantization?;
    if quantization.tensors || !matches!(instruction.callee(), Some(Callee::Operator(_))) {
        return None;
    }
    let [_, scale, zero_point, ..] = instruction.args() else { return None };
    match (plan.value(*scale)?, plan.value(*zero_point)?) {
        (EValue::Double(scale), EValue::Int(zero_point)) if scale.is_finite() => {
            Some(TensorQuantization { scale: *scale, zero_point: *zero_point })
        }
        _ => None,
    }
}
