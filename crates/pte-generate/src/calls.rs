//! Valid calls: random arguments that the rule of the operator accepts, and outs of the properties that the rule
//! infers.

use super::arguments::arguments;
use super::inferred::results;
use super::operand::{Content, GeneratedCall, Operand, TensorOperand};
use super::random::Random;
use pte_model::format::{DimOrder, ScalarType};
use pte_operators::inference::{Argument, Call, ResultMeta, TensorMeta, constraints};
use pte_operators::{Base, Role, Signature};

/// Number of random arguments that are tried.
const ATTEMPTS: usize = 40;

/// Returns the operators of the runtime with their signatures.
pub fn operators() -> Vec<(&'static str, Signature)> {
    let registered = pte_operators::all().filter(|operator| operator.library.is_none());
    registered.map(|operator| (operator.name, operator.signature.clone())).collect()
}

/// Returns the operators that a runtime executes on the CPU, with the same results for the same arguments.
pub fn repeatable() -> Vec<(&'static str, Signature)> {
    let is_repeatable = |(name, _): &(&'static str, Signature)| {
        let facts = pte_operators::facts(name);
        facts.on_device.is_none() && !facts.is_undetermined
    };
    operators().into_iter().filter(is_repeatable).collect()
}

/// Returns a call that the rule of the operator accepts. `None` if no arguments were found.
pub fn valid(random: &mut Random, name: &'static str, signature: &Signature) -> Option<GeneratedCall> {
    for _ in 0..ATTEMPTS {
        let args = arguments(random, name, signature, &[]);
        if let Some(call) = executable(name, signature, args) {
            return Some(call);
        }
    }
    None
}

/// Returns the call with these arguments and with outs of the properties that the rule of the operator infers. `None`
/// if the kernel does not take the arguments, or does not write such outs.
pub fn executable(name: &'static str, signature: &Signature, args: Vec<Operand>) -> Option<GeneratedCall> {
    let results = results(name, signature, &args)?;
    let call = complete(name, signature, args, &results)?;
    let arguments: Vec<Argument<'_>> =
        call.args.iter().take(signature.args.len()).map(|arg| arg.argument(&call.args)).collect();
    constraints::check(&pte_operators::find(name)?.constraints, &Call::new(signature, &arguments)).ok()?;
    Some(call)
}

/// Returns a call with random arguments, which the rule may reject. Outs that are not inferred are like the first
/// tensor.
pub fn loose(random: &mut Random, name: &'static str, signature: &Signature) -> GeneratedCall {
    let args = arguments(random, name, signature, &[]);
    let results = results(name, signature, &args).unwrap_or_default();
    let results = if results.is_empty() { guessed(signature, &args) } else { results };
    complete(name, signature, args, &results).unwrap_or(GeneratedCall { operator: name, args: Vec::new() })
}

/// Returns results like the first tensor, for a call that the rule does not accept.
pub fn guessed(signature: &Signature, args: &[Operand]) -> Vec<ResultMeta> {
    let first = args.iter().find_map(Operand::as_tensor).map(TensorOperand::meta);
    let meta = first.unwrap_or(TensorMeta {
        scalar_type: ScalarType::FLOAT,
        sizes: Vec::new(),
        dim_order: DimOrder::default(),
    });
    let of = |list: bool| if list { ResultMeta::Tensors(vec![meta.clone()]) } else { ResultMeta::Tensor(meta.clone()) };
    match signature.result {
        Some(Base::Tensor) => vec![of(false)],
        Some(_) => vec![ResultMeta::Scalar],
        None => signature.outs().map(|out| of(out.kind.list)).collect(),
    }
}

/// Appends the outs, or the returned value, of these properties. `None` if a size exceeds the format.
pub fn complete(
    name: &'static str,
    signature: &Signature,
    mut args: Vec<Operand>,
    results: &[ResultMeta],
) -> Option<GeneratedCall> {
    let in_place = signature.args.iter().position(|arg| arg.role == Role::InPlace);
    if signature.outs().next().is_none() {
        match (signature.result, in_place, results.first()) {
            (None, ..) => {}
            (Some(Base::Tensor), Some(at), _) => args.push(Operand::Same(at)),
            (Some(Base::Tensor), None, Some(ResultMeta::Tensor(meta))) => {
                args.push(Operand::Tensor(TensorOperand::inferred(meta, Content::Unplaced)?));
            }
            (Some(Base::Bool), ..) => args.push(Operand::Bool(false)),
            (Some(Base::Float), ..) => args.push(Operand::Double(0.0)),
            (Some(_), ..) => args.push(Operand::Int(0)),
        }
        return Some(GeneratedCall { operator: name, args });
    }
    for result in results {
        let written = |meta: &TensorMeta| TensorOperand::inferred(meta, Content::Written);
        args.push(match result {
            ResultMeta::Tensor(meta) => Operand::Tensor(written(meta)?),
            ResultMeta::Unwritten(meta) => Operand::Tensor(TensorOperand::inferred(meta, Content::Missing)?),
            ResultMeta::Tensors(metas) => Operand::Tensors {
                items: metas.iter().map(|meta| Some(Some(written(meta)?))).collect::<Option<_>>()?,
                optional: false,
            },
            ResultMeta::Int(_) | ResultMeta::Scalar => Operand::Int(0),
        });
    }
    Some(GeneratedCall { operator: name, args })
}
