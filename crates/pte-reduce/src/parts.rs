//! Removes parts of programs other than instructions: methods, tests, inputs, outputs, items of lists, data and
//! optional properties.

use std::collections::BTreeSet;

use super::candidate::{Candidate, Reduction, describe_containers, with_method, zeros_of};
use super::flow;
use super::search::Stopped;
use pte_analysis::operators::MethodOperators;
use pte_analysis::resizing::infer;
use pte_model::data::{Blob, BlobId};
use pte_model::program::{
    Chain, Device, EValue, ExecutionPlan, Memory, MemoryRequest, Program, Tensor, TensorData, TensorShapeDynamism,
};
use pte_transform::prune;
use pte_transform::remap::retain;

/// Optional properties that are removed everywhere at once.
const ATTRIBUTES: &[fn(&mut Program)] = &[
    |program| chains(program, |chain| chain.stacktrace = None),
    |program| {
        chains(program, |chain| {
            for list in [&mut chain.inputs, &mut chain.outputs] {
                list.iter_mut().for_each(Vec::clear);
            }
        });
    },
    // Explicit offsets and sizes of memory.
    |program| {
        program.plans_mut().iter_mut().for_each(|plan| plan.memory = MemoryRequest::default());
        tensors(program, |tensor| {
            if let Memory::At { .. } = tensor.memory {
                tensor.memory = Memory::Auto { pool: None, persistent: false, shared: None };
            }
        });
    },
    |program| program.plans_mut().iter_mut().for_each(describe_containers),
    |program| tensors(program, |tensor| tensor.requires_grad = false),
    // Names of tensors, by which external data are found.
    |program| {
        tensors(program, |tensor| {
            if tensor.device() == Device::CPU && !tensor.is_external() {
                tensor.extra_tensor_info = None;
            }
        });
    },
    |program| tensors(program, |tensor| tensor.shape_dynamism = TensorShapeDynamism::STATIC),
];

fn chains(program: &mut Program, change: impl Fn(&mut Chain)) {
    program.plans_mut().iter_mut().flat_map(|plan| plan.chains.iter_mut().flatten()).for_each(change);
}

fn tensors(program: &mut Program, change: impl Fn(&mut Tensor)) {
    program.plans_mut().iter_mut().flat_map(ExecutionPlan::tensors_mut).for_each(|(_, tensor)| change(tensor));
}

/// Removes optional properties.
pub fn attributes(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    reduction.minimize(ATTRIBUTES.len(), |base, kept| {
        let mut candidate = base.clone();
        let dropped = ATTRIBUTES.iter().zip(kept).filter(|(_, kept)| !**kept);
        dropped.for_each(|(drop, _)| drop(&mut candidate.program));
        candidate
    })
}

/// Removes methods, and their tests.
pub fn methods(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    reduction.minimize(reduction.best.program.plans().len(), |base, kept| {
        let mut candidate = base.clone();
        candidate.program.execution_plan.iter_mut().for_each(|plans| retain(plans, kept));
        let Candidate { program, tests } = &mut candidate;
        tests.retain(|tests| program.plans().iter().any(|plan| plan.name.as_deref() == Some(&tests.method)));
        candidate
    })
}

/// Removes tests of methods.
pub fn tests(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    let count = reduction.best.tests.iter().map(|tests| tests.cases.len()).sum();
    reduction.minimize(count, |base, kept| {
        let mut candidate = base.clone();
        let mut kept = kept.iter();
        for tests in &mut candidate.tests {
            tests.cases.retain(|_| kept.next().is_none_or(|kept| *kept));
        }
        candidate.tests.retain(|tests| !tests.cases.is_empty());
        candidate
    })
}

/// Removes instructions without effect.
pub fn unused(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    let mut candidate = reduction.best.clone();
    prune::prune(&mut candidate.program);
    reduction.offer(candidate).map(|_| ())
}

/// Removes outputs.
pub fn outputs(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    for method in 0..reduction.best.program.plans().len() {
        let count = reduction.best.program.plans()[method].outputs.as_ref().map_or(0, Vec::len);
        reduction.minimize(count, |base, kept| {
            with_method(base, method, |plan| plan.outputs.iter_mut().for_each(|outputs| retain(outputs, kept)))
        })?;
    }
    Ok(())
}

/// Removes inputs that nothing reads. Without the others, instructions would read tensors without content.
pub fn inputs(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    for method in 0..reduction.best.program.plans().len() {
        let plan = &reduction.best.program.plans()[method];
        let read = flow::reads(plan);
        let inputs = plan.inputs.iter().flatten().zip(0..);
        let unread: Vec<usize> =
            inputs.filter(|(input, _)| !read.contains(input)).map(|(_, position)| position).collect();
        reduction.minimize(unread.len(), |base, kept| {
            with_method(base, method, |plan| {
                let mut all = vec![true; plan.inputs.as_ref().map_or(0, Vec::len)];
                unread.iter().zip(kept).for_each(|(position, kept)| all[*position] = *kept);
                plan.inputs.iter_mut().for_each(|inputs| retain(inputs, &all));
            })
        })?;
    }
    Ok(())
}

/// Returns, by value, `true` for the lists of results of calls, which have as many items as the operator has results.
fn result_lists(plan: &ExecutionPlan) -> Vec<bool> {
    let mut lists = vec![false; plan.values().len()];
    let operators = MethodOperators::known(plan);
    let results = plan.instructions().flat_map(|instruction| operators.args(instruction));
    for usage in results.filter(|usage| usage.kind.is_result()) {
        usage.value.item_mut(&mut lists).into_iter().for_each(|is_list| *is_list = true);
    }
    lists
}

/// Removes items of lists of tensors, but not of lists of results; the sizes of results follow.
pub fn lists(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    for method in 0..reduction.best.program.plans().len() {
        let plan = &reduction.best.program.plans()[method];
        let is_result = result_lists(plan);
        let lists = plan.values().iter().zip(&is_result).filter(|(_, is_result)| !**is_result);
        let items = lists.map(|(value, _)| value.as_tensors().len()).sum();
        reduction.minimize(items, |base, kept| {
            with_method(base, method, |plan| {
                let mut kept = kept.iter();
                let lists = plan.values.iter_mut().flatten().zip(&is_result).filter(|(_, is_result)| !**is_result);
                for (value, _) in lists {
                    if let EValue::TensorList(Some(items)) | EValue::OptionalTensorList(Some(items)) = value {
                        items.retain(|_| kept.next().is_none_or(|kept| *kept));
                    }
                }
                infer(plan);
            })
        })?;
    }
    Ok(())
}

/// Removes entries of `named_data`.
pub fn named_data(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    let count = reduction.best.program.named_data.as_ref().map_or(0, Vec::len);
    reduction.minimize(count, |base, kept| {
        let mut candidate = base.clone();
        candidate.program.named_data.iter_mut().for_each(|named| retain(named, kept));
        candidate
    })
}

/// Moves external constants into the program, as zeros if their data are not known. The program then needs no `.ptd`.
pub fn external_constants(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    let count = |plan: &ExecutionPlan| plan.tensors().filter(|(_, tensor)| tensor.is_external()).count();
    reduction.minimize(reduction.best.program.plans().iter().map(count).sum(), |base, kept| {
        let mut candidate = base.clone();
        let mut kept = kept.iter();
        let Program { execution_plan, blobs, .. } = &mut candidate.program;
        for (_, tensor) in execution_plan.iter_mut().flatten().flat_map(ExecutionPlan::tensors_mut) {
            if !tensor.is_external() || kept.next().is_none_or(|kept| *kept) {
                continue;
            }
            if let TensorData::Elsewhere(_) = tensor.data {
                tensor.data = TensorData::Blob(BlobId(blobs.len() as u32));
                blobs.push(zeros_of(tensor.nbytes().unwrap_or(0), 0));
            }
            tensor.extra_tensor_info = None;
        }
        candidate
    })
}

/// Removes entries of `.ptd` files that no tensor refers to.
pub fn external_data(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    reduction.minimize(reduction.best.program.external_data.len(), |base, kept| {
        let mut candidate = base.clone();
        retain(&mut candidate.program.external_data, kept);
        candidate
    })
}

/// Removes options of delegates.
pub fn compile_specs(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    let delegates = |program: &Program| program.plans().iter().map(|plan| plan.delegates().len()).sum();
    reduction.minimize(delegates(&reduction.best.program), |base, kept| {
        let mut candidate = base.clone();
        let plans = candidate.program.plans_mut().iter_mut();
        let delegates = plans.flat_map(|plan| plan.delegates.iter_mut().flatten());
        for (delegate, _) in delegates.zip(kept).filter(|(_, kept)| !**kept) {
            delegate.compile_specs.iter_mut().for_each(Vec::clear);
        }
        candidate
    })
}

/// Removes the bytes of payloads and named data, whose length does not follow from a tensor.
pub fn payloads(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    let program = &reduction.best.program;
    let of_tensors: BTreeSet<BlobId> =
        program.plans().iter().flat_map(ExecutionPlan::tensors).filter_map(blob_of).collect();
    let of_layouts = program.external_data.iter().filter(|data| data.tensor_layout.is_some()).map(|data| data.data);
    let fixed: BTreeSet<BlobId> = of_tensors.into_iter().chain(of_layouts).collect();
    replace(reduction, |id, blob| (!fixed.contains(&id) && !blob.is_empty()).then(|| Blob::bytes([])))
}

/// Replaces data by zeros.
pub fn zeros(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    replace(reduction, |_, blob| {
        let zeros = zeros_of(blob.len(), blob.copy);
        (!blob.is_empty() && *blob != zeros).then_some(zeros)
    })
}

fn blob_of((_, tensor): (usize, &Tensor)) -> Option<BlobId> {
    match tensor.data {
        TensorData::Blob(blob) => Some(blob),
        TensorData::None | TensorData::Elsewhere(_) => None,
    }
}

/// Replaces as many blobs as possible by those that `by` returns.
fn replace(reduction: &mut Reduction<'_>, by: impl Fn(BlobId, &Blob) -> Option<Blob>) -> Result<(), Stopped> {
    let blobs = reduction.best.program.blobs.iter().enumerate();
    let other = |(id, blob): (usize, &Blob)| Some((id, by(BlobId(id as u32), blob)?));
    let others: Vec<(usize, Blob)> = blobs.filter_map(other).collect();
    reduction.minimize(others.len(), |base, kept| {
        let mut candidate = base.clone();
        for ((id, blob), _) in others.iter().zip(kept).filter(|(_, kept)| !**kept) {
            candidate.program.blobs[*id] = blob.clone();
        }
        candidate
    })
}
