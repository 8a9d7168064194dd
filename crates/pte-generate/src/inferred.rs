//! What the rules of operators infer of calls that kernels execute.

use super::operand::Operand;
use pte_model::format::DimOrder;
use pte_model::program::TensorShapeDynamism;
use pte_operators::Signature;
use pte_operators::inference::{Argument, Call, InferenceError, ResultMeta, TensorMeta, constraints};

/// Largest result in elements.
const MAX_ELEMENTS: i64 = 1 << 16;

/// Returns what the rule of an operator infers of the results of a call that kernels execute.
pub fn results(name: &str, signature: &Signature, args: &[Operand]) -> Option<Vec<ResultMeta>> {
    let results = inferred(name, signature, args).filter(|results| has_one_order(name, args, results))?;
    // The largest sizes of dynamic tensors must fit, too.
    let mut largest = args.to_vec();
    largest.iter_mut().flat_map(Operand::tensors_mut).for_each(|tensor| tensor.dynamism = TensorShapeDynamism::STATIC);
    inferred(name, signature, &largest).map(|_| results)
}

/// Returns what the rule of an operator infers of the results of a call.
pub fn inferred(name: &str, signature: &Signature, args: &[Operand]) -> Option<Vec<ResultMeta>> {
    let arguments: Vec<Argument<'_>> =
        args.iter().take(signature.ins().count()).map(|arg| arg.argument(args)).collect();
    let call = Call::new(signature, &arguments);
    constraints::check(&pte_operators::find(name)?.constraints, &call).ok()?;
    let facts = pte_operators::facts(name);
    let results = match facts.rule?(&call) {
        Ok(results) => results,
        Err(InferenceError::Undetermined(_)) => facts.data_dependent?.1(&call).ok()?,
        Err(InferenceError::Invalid(_) | InferenceError::Unsupported(_) | InferenceError::UnknownOperator) => {
            return None;
        }
    };
    let is_small = |meta: &TensorMeta| {
        meta.sizes.iter().try_fold(1i64, |count, dim| count.checked_mul(dim.size)).is_some_and(|n| n <= MAX_ELEMENTS)
    };
    let small = results.iter().all(|result| match result {
        ResultMeta::Tensor(meta) | ResultMeta::Unwritten(meta) => is_small(meta),
        ResultMeta::Tensors(metas) => metas.len() <= 64 && metas.iter().all(is_small),
        ResultMeta::Int(_) | ResultMeta::Scalar => true,
    });
    small.then_some(results)
}

/// Returns false if the tensors of a call are neither all contiguous nor all channels-last: most kernels reject that. A
/// copy to another order must have that of its argument.
fn has_one_order(name: &str, args: &[Operand], results: &[ResultMeta]) -> bool {
    let tensors = args.iter().flat_map(Operand::tensors);
    let mut orders: Vec<DimOrder> = tensors.map(|tensor| tensor.dim_order.clone()).collect();
    let own: Vec<DimOrder> = results
        .iter()
        .flat_map(|result| match result {
            ResultMeta::Tensor(meta) | ResultMeta::Unwritten(meta) => vec![meta.dim_order.clone()],
            ResultMeta::Tensors(metas) => metas.iter().map(|meta| meta.dim_order.clone()).collect(),
            ResultMeta::Int(_) | ResultMeta::Scalar => Vec::new(),
        })
        .collect();
    let facts = pte_operators::facts(name);
    if orders.is_empty() {
        return true;
    }
    if facts.copies_dim_order {
        let requested = args.iter().find_map(|arg| match arg {
            Operand::Ints(items) => Some(items.iter().map(|dim| *dim as u8).collect()),
            _ => None,
        });
        let expected: Option<DimOrder> = requested.or_else(|| orders.first().cloned());
        return expected.is_none_or(|expected| own.iter().all(|order| *order == expected));
    }
    orders.extend(own);
    orders.iter().all(|order| order.is_sorted())
        || !facts.contiguous_only && orders.iter().all(|order| *order == DimOrder::channels_last(4))
}
