//! Makes tensors smaller. Equal sizes of different tensors are usually the same quantity and become smaller together;
//! the sizes of results follow from the rules of their operators.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::candidate::{Candidate, Reduction, fit_tests, zeros_of};
use super::search::Stopped;
use pte_analysis::operators::MethodOperators;
use pte_analysis::resizing::infer;
use pte_model::data::{Blob, BlobId, BlobSource};
use pte_model::program::{EValue, ExecutionPlan, Program, Tensor, TensorData, ValueId};

/// Numbers that a change of sizes replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Replaced {
    /// Sizes of tensors, and numbers in lists, which may be the sizes of a result.
    WithLists,
    /// Sizes of tensors.
    Sizes,
}

/// Reduces sizes: first all of them, then equal ones together, then each size of the tensors that no instruction
/// writes.
pub fn reduce(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    for replaced in [Replaced::WithLists, Replaced::Sizes] {
        if reduction.offer(with_sizes(&reduction.best, replaced, |_| 1))? {
            return Ok(());
        }
    }
    let sizes = |program: &Program| -> BTreeSet<i32> {
        let tensors = program.plans().iter().flat_map(ExecutionPlan::tensors);
        tensors
            .flat_map(|(_, tensor)| tensor.sizes.as_deref().unwrap_or_default())
            .copied()
            .filter(|size| *size > 1)
            .collect()
    };
    for size in sizes(&reduction.best.program).into_iter().rev() {
        // Try 1, then 2, then halve the size as often as possible.
        let mut found = size;
        for smaller in [1, 2] {
            if smaller < found && shrink(reduction, found, smaller)? {
                found = smaller;
            }
        }
        while found > 4 && shrink(reduction, found, found / 2)? {
            found /= 2;
        }
    }
    for method in 0..reduction.best.program.plans().len() {
        let dimensions = source_dimensions(&reduction.best.program.plans()[method]);
        reduction.minimize(dimensions.len(), |base, kept| {
            let dropped: HashSet<(usize, usize)> =
                dimensions.iter().zip(kept).filter(|(_, kept)| !**kept).map(|(dimension, _)| *dimension).collect();
            let mut candidate = base.clone();
            let Some(plan) = candidate.program.plans_mut().get_mut(method) else { return candidate };
            for (value, dimension) in dropped {
                let sizes = plan.tensor_mut(value).and_then(|tensor| tensor.sizes.as_mut());
                let size = sizes.and_then(|sizes| sizes.get_mut(dimension));
                size.into_iter().for_each(|size| *size = 1);
            }
            infer(plan);
            finish(base, candidate)
        })?;
    }
    Ok(())
}

/// Replaces a size by a smaller one. Returns true if the candidate has the defect.
fn shrink(reduction: &mut Reduction<'_>, size: i32, smaller: i32) -> Result<bool, Stopped> {
    let map = |found: i64| if found == i64::from(size) { i64::from(smaller) } else { found };
    let mut last = None;
    for replaced in [Replaced::WithLists, Replaced::Sizes] {
        let candidate = with_sizes(&reduction.best, replaced, map);
        if last.as_ref() == Some(&candidate) {
            continue;
        }
        if reduction.offer(candidate.clone())? {
            return Ok(true);
        }
        last = Some(candidate);
    }
    Ok(false)
}

/// Returns the sizes greater than 1 of tensors that no instruction writes, as value and dimension.
fn source_dimensions(plan: &ExecutionPlan) -> Vec<(usize, usize)> {
    let operators = MethodOperators::known(plan);
    let calls = plan.instructions().flat_map(|instruction| operators.args(instruction));
    let results = calls.filter(|usage| usage.kind.is_result()).map(|usage| usage.value);
    let with_items =
        |result: ValueId| plan.value(result).map_or(&[][..], EValue::as_tensors).iter().copied().chain([result]);
    let written: HashSet<ValueId> = results.flat_map(with_items).collect();
    let sources =
        plan.tensors().filter(|(value, tensor)| !written.contains(&ValueId::of(*value)) && is_shrinkable(tensor));
    let dimensions = |(value, tensor): (usize, &Tensor)| {
        let sizes = tensor.sizes.as_deref().unwrap_or_default().iter().enumerate();
        let dimensions = sizes.filter(|(_, size)| **size > 1).map(|(dimension, _)| (value, dimension));
        dimensions.collect::<Vec<_>>()
    };
    sources.flat_map(dimensions).collect()
}

/// Returns true for a tensor whose data are not in a `.ptd`, which has its former sizes.
fn is_shrinkable(tensor: &Tensor) -> bool {
    !matches!(tensor.data, TensorData::Elsewhere(_))
}

/// Returns a candidate with other sizes.
fn with_sizes(base: &Candidate, replaced: Replaced, map: impl Fn(i64) -> i64) -> Candidate {
    let mut candidate = base.clone();
    let smaller = |size: i64| if size > 1 { map(size) } else { size };
    for plan in candidate.program.plans_mut() {
        let items: HashSet<i64> = plan.values().iter().flat_map(EValue::as_ints).copied().collect();
        for (index, value) in plan.values.iter_mut().flatten().enumerate() {
            if let EValue::Tensor(tensor) = value
                && is_shrinkable(tensor)
            {
                for size in tensor.sizes.iter_mut().flat_map(|sizes| sizes.iter_mut()) {
                    *size = i32::try_from(smaller((*size).into())).unwrap_or(*size);
                }
            }
            if let EValue::Int(number) = value
                && replaced == Replaced::WithLists
                && items.contains(&(index as i64))
            {
                *number = smaller(*number);
            }
        }
        infer(plan);
    }
    finish(base, candidate)
}

/// Fits the data of constants and the tests to changed sizes.
fn finish(base: &Candidate, mut candidate: Candidate) -> Candidate {
    let Candidate { program, tests } = &mut candidate;
    let Program { execution_plan, blobs, .. } = program;
    // Constants with the same data keep sharing them.
    let mut cuts: HashMap<(BlobId, u64), BlobId> = HashMap::new();
    for (plan, before) in execution_plan.iter_mut().flatten().zip(base.program.plans()) {
        for (value, tensor) in plan.tensors_mut() {
            let Some(former) = before.values().get(value).and_then(EValue::as_tensor) else { continue };
            if let TensorData::Blob(id) = tensor.data
                && tensor.sizes != former.sizes
                && let (Some(len), Some(blob)) = (tensor.nbytes(), blobs.get(id.0 as usize))
            {
                let fitted = cut(blob, len);
                let fitted = *cuts.entry((id, len)).or_insert_with(|| {
                    blobs.push(fitted);
                    BlobId((blobs.len() - 1) as u32)
                });
                tensor.data = TensorData::Blob(fitted);
            }
        }
        for tests in tests.iter_mut().filter(|tests| Some(tests.method.as_str()) == plan.name.as_deref()) {
            fit_tests(tests, before, plan);
        }
    }
    candidate
}

/// Returns the first bytes of a blob; zeros if the data are missing, or are not computed by position.
fn cut(blob: &Blob, len: u64) -> Blob {
    let is_prefix = match &blob.source {
        BlobSource::Bytes(bytes) => {
            let bytes = usize::try_from(len).ok().and_then(|len| bytes.get(..len));
            return bytes
                .map_or_else(|| zeros_of(len, blob.copy), |bytes| Blob { copy: blob.copy, ..Blob::bytes(bytes) });
        }
        BlobSource::File { .. } | BlobSource::Iota { .. } | BlobSource::Random { .. } => len <= blob.len(),
        BlobSource::Repeat(_) => true,
        BlobSource::Converted { .. } | BlobSource::Reordered { .. } | BlobSource::Joined(_) => false,
    };
    if is_prefix { Blob { len, ..blob.clone() } } else { zeros_of(len, blob.copy) }
}
