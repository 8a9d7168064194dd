//! Finds copies that change nothing: calls that only move elements, to the positions that they have already. Chains of
//! such calls, as a transposition of a transposed tensor, count as one.

use super::rewrite::{Context, Rewrite};
use pte_analysis::inference::{Inference, stated};
use pte_analysis::operators::ResolvedOperator;
use pte_model::program::{EValue, ValueId};
use pte_operators::inference::ResultMeta;
use pte_operators::movement::Strided;

/// Content of a value: elements in the memory of another one.
#[derive(Debug, Clone)]
struct Elements {
    /// Value with the memory.
    source: usize,
    /// First step that read the source.
    since: u32,
    /// Step that wrote the value.
    written: u32,
    /// Positions of the elements in the memory of the source.
    at: Strided,
}

/// Returns the copies of a method that can be removed.
pub fn find(context: &Context<'_>) -> Rewrite {
    let values = context.method.plan.values();
    let mut inference = context.inference();
    let mut rewrite = Rewrite::default();
    let mut elements: Vec<Option<Elements>> = vec![None; values.len()];
    let mut is_removed = vec![false; values.len()];
    for (step, instruction) in (0..).zip(context.method.plan.instructions()) {
        let Some(operator) = context.method.operators.called(instruction) else { continue };
        let args = instruction.args();
        let Ok(results) = inference.call(values, operator, args) else { continue };
        if let Some((source, result)) = moved(operator, args, &results, values) {
            // The memory that the elements come from, and the argument itself, in case that memory is written again.
            let known = elements[source].clone();
            let known = known.filter(|known| context.storage.writes(source) == [known.written]);
            let own = own(&inference, values, source, step).filter(|_| !is_removed[source]);
            let moves = |from: Elements| {
                let at = inference.moved(values, operator, args, from.at)?;
                Some(Elements { at, written: step, ..from })
            };
            let found: Vec<Elements> = [known, own].into_iter().flatten().filter_map(moves).collect();
            let supply = found.iter().find_map(|from| {
                let is_same = is_same(context, from, result);
                is_same.then(|| context.supply(from.source, from.since, result, step)).flatten()
            });
            elements[result] = found.into_iter().next();
            if let Some(supply) = supply {
                rewrite.removed.insert(step, vec![(result, supply)]);
                is_removed[result] = true;
            }
        }
        inference.record_results(values, operator, args, &results);
    }
    rewrite
}

/// Returns the elements of a tensor in its own memory.
fn own(inference: &Inference, values: &[EValue], source: usize, step: u32) -> Option<Elements> {
    let meta = inference.tensor(values, ValueId::of(source))?;
    Some(Elements { source, since: step, written: step, at: Strided::of(&meta) })
}

/// Returns the tensor whose elements a call moves, and the result of the same type.
fn moved(
    operator: &ResolvedOperator,
    args: &[ValueId],
    results: &[ResultMeta],
    values: &[EValue],
) -> Option<(usize, usize)> {
    operator.facts.movement?;
    // The result of an operator that returns a view has no memory of its own.
    let [ResultMeta::Tensor(_)] = results else { return None };
    let result = args.get(operator.results(args.len()))?.first()?.within(values.len())?;
    let source = args.first()?.within(values.len())?;
    let type_of = |value: usize| values[value].as_tensor().map(|tensor| tensor.scalar_type);
    let is_same = type_of(source).is_some() && type_of(source) == type_of(result);
    (source != result && is_same && !operator.is_view()).then_some((source, result))
}

/// Returns true if the elements of a result have the positions of the result in the memory of the source.
fn is_same(context: &Context<'_>, from: &Elements, result: usize) -> bool {
    let (Some(source), Some(result)) = (context.tensor(from.source), context.tensor(result)) else { return false };
    let is_whole = || stated(result).is_some_and(|meta| from.at.is_whole(&meta));
    source.scalar_type == result.scalar_type && source.nbytes() == result.nbytes() && is_whole()
}
