//! The inputs that get new bounds: their names and numbers, and the sizes that they can have.

use std::collections::HashSet;

use super::report::{BoundError, BoundOptions, BoundedInput, InputBound};
use super::values::{is_dynamic, sizes_of};
use pte_model::diagnostics::{clipped, counted};
use pte_model::program::{EValue, ExecutionPlan};

/// An input with its new sizes.
pub(super) struct ResolvedInput {
    /// Index of the value.
    pub value: usize,
    /// New bounds of an input.
    pub report: BoundedInput,
}

/// Number of inputs that a message lists.
const MAX_LISTED: usize = 16;

/// Finds the inputs that options name, and all others if they become static.
///
/// # Errors
/// All inputs that the method does not have, and all sizes that they cannot have.
pub(super) fn resolve(
    plan: &ExecutionPlan,
    options: &BoundOptions,
    label: &dyn Fn(usize) -> String,
) -> Result<Vec<ResolvedInput>, Vec<BoundError>> {
    let inputs: Vec<usize> =
        plan.inputs.iter().flatten().filter_map(|input| input.within(plan.values().len())).collect();
    let mut resolved: Vec<ResolvedInput> = Vec::new();
    let mut errors = Vec::new();
    let mut seen = HashSet::new();
    for bound in &options.inputs {
        let named = inputs.iter().copied().find(|value| label(*value) == bound.input);
        let found = named.or_else(|| inputs.get(bound.input.parse::<usize>().ok()?).copied());
        let Some(value) = found else {
            let message = format!("method `{}` has no input `{}`", method_name(plan), clipped(&bound.input));
            errors.push(BoundError::new(message, list(plan, &inputs, label)));
            continue;
        };
        if !seen.insert(value) {
            errors.push(BoundError::new(format!("two bounds of the input `{}`", clipped(&label(value))), "state one"));
            continue;
        }
        match check(&plan.values()[value], bound, options.all_static, label(value)) {
            Ok(report) => resolved.push(ResolvedInput { value, report }),
            Err(error) => errors.push(error),
        }
    }
    if options.all_static {
        for value in inputs.iter().copied().filter(|value| is_dynamic(&plan.values()[*value])) {
            if seen.insert(value) {
                let sizes = sizes_of(&plan.values()[value]).to_vec();
                let report =
                    BoundedInput { name: label(value), before: sizes.clone(), after: sizes, made_static: true };
                resolved.push(ResolvedInput { value, report });
            }
        }
    }
    if errors.is_empty() { Ok(resolved) } else { Err(errors) }
}

fn method_name(plan: &ExecutionPlan) -> String {
    clipped(plan.name.as_deref().unwrap_or_default())
}

/// Lists the inputs of a method.
fn list(plan: &ExecutionPlan, inputs: &[usize], label: &dyn Fn(usize) -> String) -> String {
    let described = inputs.iter().take(MAX_LISTED).enumerate().map(|(number, value)| {
        let (name, found) = (label(*value), &plan.values()[*value]);
        format!("{number} `{}` {}", clipped(&name), described(found))
    });
    let described: Vec<String> = described.collect();
    let more = inputs.len().saturating_sub(MAX_LISTED);
    match (&described[..], more) {
        ([], _) => "the method has no inputs".to_owned(),
        (list, 0) => format!("its inputs are {}", list.join(", ")),
        (list, more) => format!("its inputs are {} and {more} more", list.join(", ")),
    }
}

/// Describes an input: `float32 up to [4, 2]`.
fn described(value: &EValue) -> String {
    match value.as_tensor() {
        Some(tensor) if is_dynamic(value) => format!("{} up to {:?}", tensor.scalar_type, sizes_of(value)),
        Some(tensor) => format!("{} {:?} (static)", tensor.scalar_type, sizes_of(value)),
        None => format!("({})", value.kind()),
    }
}

/// Returns the new sizes of an input.
fn check(value: &EValue, bound: &InputBound, all_static: bool, name: String) -> Result<BoundedInput, BoundError> {
    let shown = clipped(&name);
    let Some(tensor) = value.as_tensor() else {
        let message = format!("the input `{shown}` is not a tensor, but {}", value.kind());
        return Err(BoundError::new(message, "only tensors have bounds"));
    };
    let (before, dynamic) = (sizes_of(value), is_dynamic(value));
    if tensor.sizes.is_none() || bound.sizes.len() != before.len() {
        let message = format!("{} for the input `{shown}`", counted(bound.sizes.len(), "size"));
        let help = format!("it has {}: {}", counted(before.len(), "dimension"), described(value));
        return Err(BoundError::new(message, help));
    }
    let after: Vec<i32> = bound.sizes.iter().zip(before).map(|(size, before)| size.unwrap_or(*before)).collect();
    let wrong: Vec<String> = (after.iter().zip(before).enumerate())
        .filter_map(|(dim, (after, before))| match () {
            () if after == before => None,
            () if !dynamic => Some(format!("size {after} of dimension {dim}, which is always {before}")),
            () if after > before => Some(format!("size {after} of dimension {dim}, above the bound {before}")),
            () if *after == 0 => Some(format!("size 0 of dimension {dim}")),
            () => None,
        })
        .collect();
    if !wrong.is_empty() {
        let message = format!("the input `{shown}` cannot have {}", wrong.join(", and "));
        let help = match dynamic {
            true => format!("a bound is at least 1 and at most that of the program: {before:?}"),
            false => format!("the input is static: {before:?}"),
        };
        return Err(BoundError::new(message, help));
    }
    let made_static = dynamic && (bound.is_static || all_static);
    Ok(BoundedInput { before: before.to_vec(), after, made_static, name })
}
