//! Removes instructions. A tensor that a remaining instruction reads and none writes any more becomes an input; a
//! number keeps its value in the file. Outputs without a writer are removed. A tensor that was read before it was
//! written stays as it is, because that may be the defect.

use std::collections::HashSet;

use super::candidate::{Candidate, Reduction, with_method};
use super::flow::MethodFlow;
use super::search::Stopped;
use pte_model::program::{Memory, ValueId};
use pte_transform::remap::Remap;

/// Removes the instructions of each method that the defect does not need.
pub fn reduce(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    for method in 0..reduction.best.program.plans().len() {
        let flow = MethodFlow::new(&reduction.best.program.plans()[method]);
        reduction.minimize(flow.steps(), |base, kept| with_instructions(base, method, &flow, kept))?;
    }
    Ok(())
}

/// Returns a candidate with only some of the instructions of a method.
fn with_instructions(base: &Candidate, method: usize, flow: &MethodFlow, kept: &[bool]) -> Candidate {
    with_method(base, method, |plan| {
        let mut defined = flow.given.clone();
        let mut inputs = Vec::new();
        for step in (0..flow.steps()).filter(|step| kept[*step]) {
            for value in flow.reads(step).map(|value| flow.base(value)) {
                if !std::mem::replace(&mut defined[value], true) {
                    inputs.push(value);
                }
            }
            flow.writes(step).for_each(|value| defined[value] = true);
        }
        for value in &inputs {
            // The base of a view may have been removed, and other values may be written to its explicit offset.
            if let Some(tensor) = plan.tensor_mut(*value)
                && matches!(tensor.memory, Memory::View { .. } | Memory::At { .. })
            {
                tensor.memory = Memory::Auto { pool: None, persistent: false, shared: None };
            }
        }
        plan.inputs.get_or_insert_default().extend(inputs.iter().copied().map(ValueId::of));
        let former: HashSet<usize> = flow.defined_outputs().collect();
        let is_defined = |value: &ValueId| {
            let index = value.within(defined.len());
            index.is_none_or(|value| defined[flow.base(value)] || !former.contains(&value))
        };
        plan.outputs.iter_mut().for_each(|outputs| outputs.retain(is_defined));
        Remap::of_instructions(plan, kept).apply(plan);
    })
}
