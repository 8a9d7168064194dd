//! Changes which values a method returns. Memory is not planned here: a value that becomes an output lives longer, so
//! that the method must have no stated offsets.

use pte_model::diagnostics::{Code, Diagnostic, clipped, first_names};
use pte_model::program::test_cases::MethodTests;
use pte_model::program::{ContainerMetadata, EValue, ExecutionPlan, MemoryPlanner, Program, ValueId};
use serde::Serialize;

use crate::bound::method_of;
use crate::error::EditError;
use crate::optimize::minimize::kept_plan;
use pte_analysis::blocks::{Skips, may_skip};
use pte_analysis::method::Method;
use pte_analysis::moved::edges;

pte_model::options! {
    /// Options of [`change`]: values by their names in `dump`.
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct OutputOptions {
        /// Method; by default `forward`, or the only one that computes.
        pub method: Option<String>,
        /// Values that become the last outputs, in this order.
        pub add: Vec<String>,
        /// Outputs that the method no longer returns.
        pub remove: Vec<String>,
    }
}

/// Changes that [`change`] made.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ChangedOutputs {
    /// Name of the method.
    pub method: String,
    /// Names of its outputs.
    pub outputs: Vec<String>,
    /// Number of tests whose expected outputs were removed, because they do not have the new outputs.
    pub changed_tests: usize,
}

/// Adds and removes outputs of a method. `name` returns the name of a value.
///
/// # Errors
/// All names that the method does not have, values that nothing computes or that the runtime cannot return; a new
/// output of a method with stated offsets. Nothing is changed.
pub fn change(
    program: &mut Program,
    tests: &mut [MethodTests],
    options: &OutputOptions,
    name: impl Fn(usize, usize) -> Option<String>,
) -> Result<ChangedOutputs, EditError> {
    let method = method_of(program, options.method.as_deref())?;
    let plan = &program.plans()[method];
    let names: Vec<String> = (0..plan.values().len()).map(|value| name(method, value).unwrap_or_default()).collect();
    let mut outputs: Vec<ValueId> = plan.outputs.clone().unwrap_or_default();
    let is_kept = |id: &ValueId| id.within(names.len()).is_none_or(|value| !options.remove.contains(&names[value]));
    let kept: Vec<bool> = outputs.iter().map(is_kept).collect();
    let (mut errors, mut overwrites): (Vec<Diagnostic>, bool) = (Vec::new(), false);
    for removed in &options.remove {
        let known = outputs.iter().filter_map(|id| names.get(id.get()?)).map(String::as_str);
        if !known.clone().any(|name| name == removed) {
            errors.push(unknown("output", removed, known));
        }
    }
    outputs.retain(is_kept);
    let (analysis, has_content, is_input) = (Method::new(plan), plan.has_content(), plan.is_input());
    for added in &options.add {
        let Some(value) = names.iter().position(|name| name == added) else {
            let may_return = |value: &usize| unreturnable(&analysis, &has_content, *value).is_none();
            let known = (0..names.len()).filter(may_return).map(|value| names[value].as_str());
            errors.push(unknown("value", added, known.filter(|name| !name.is_empty())));
            continue;
        };
        match unreturnable(&analysis, &has_content, value).or_else(|| skipped(&analysis, &has_content, value)) {
            Some(reason) => {
                errors.push(Code::UnmetRequest.whole(format!("`{}` cannot be an output: {reason}", clipped(added))));
            }
            None if outputs.iter().any(|id| id.get() == Some(value)) => {
                errors.push(Code::UnmetRequest.whole(format!("`{}` is an output", clipped(added))));
            }
            None => {
                let is_written = analysis.value_accesses(value).any(|access| access.kind.is_in_place());
                overwrites |= is_input[value] && is_written;
                outputs.push(ValueId::of(value));
            }
        }
    }
    if let Some(reason) = kept_plan(plan).filter(|_| !options.add.is_empty()) {
        let message = format!("a new output lives until the end of the method, but the memory plan stays: {reason}");
        let help = "`pte-emit dump --replan` prints the program without offsets, where that is possible";
        errors.push(Code::UnmetRequest.whole(message).help(help));
    }
    if !errors.is_empty() {
        return Err(errors.into());
    }
    let method_name = plan.name.clone().unwrap_or_default();
    let mut changed_tests = 0;
    for case in tests.iter_mut().filter(|tests| tests.method == method_name).flat_map(|tests| &mut tests.cases) {
        let Some(expected) = &mut case.outputs else { continue };
        if options.add.is_empty() && expected.len() == kept.len() {
            let mut flags = kept.iter();
            expected.retain(|_| flags.next() == Some(&true));
        } else {
            (case.outputs, changed_tests) = (None, changed_tests + 1);
        }
    }
    let named = outputs.iter().filter_map(|id| names.get(id.get()?).cloned()).collect();
    let plan = &mut program.plans_mut()[method];
    if overwrites {
        // The planners of the exporter end the lifetime of an input at its last write, although it is returned.
        plan.memory.planner = MemoryPlanner::Minimal;
    }
    if let Some(meta) = &mut plan.container_meta_type {
        meta.encoded_out_str = ContainerMetadata::flat(0, outputs.len(), false).encoded_out_str;
    }
    plan.outputs = Some(outputs);
    Ok(ChangedOutputs { method: method_name, outputs: named, changed_tests })
}

fn unknown<'n>(what: &str, name: &str, known: impl Iterator<Item = &'n str> + Clone) -> Diagnostic {
    let message = format!("no {what} `{}`; the method has {}", clipped(name), first_names(known.clone()));
    Code::UnmetRequest.whole(message).suggest(name, known)
}

/// Returns the reason why a tensor without initial content has none at the end of some executions; `None` if an
/// instruction writes it on every path.
fn skipped(method: &Method<'_>, has_content: &[bool], value: usize) -> Option<String> {
    if has_content[value] || method.values()[value].as_tensor().is_none() {
        return None;
    }
    let end = method.plan.instructions().count() as u32;
    // A view has content if its base has.
    let writes = method.value_accesses(value).filter(|access| access.kind.may_write() && access.step < end);
    let steps: Vec<u32> = writes.map(|access| access.step).collect();
    if !may_skip(&edges(method), end, &steps) {
        return None;
    }
    let mut skips = Skips::new(method.jumps());
    let skip = steps.iter().find_map(|step| Some((*step, skips.around(*step)?.step)));
    Some(match skip {
        Some((step, jump)) => format!(
            "it is computed only in some executions: instruction {step} may be skipped by the jump {jump}, and then the \
             output has undefined content"
        ),
        None => "it is computed only in some executions: a jump may skip the instructions that write it".to_owned(),
    })
}

/// Returns the reason why a method can never return a value; `None` if it can.
fn unreturnable(method: &Method<'_>, has_content: &[bool], value: usize) -> Option<String> {
    let plan: &ExecutionPlan = method.plan;
    match &plan.values()[value] {
        EValue::Tensor(_) => {
            let is_written = method.value_accesses(value).any(|access| access.kind.may_write());
            let is_set = is_written || has_content[value];
            (!is_set)
                .then(|| "nothing computes it; values inside of the payload of a delegate are not values".to_owned())
        }
        EValue::Int(_) | EValue::Double(_) | EValue::Bool(_) => None,
        other @ (EValue::Null
        | EValue::String(_)
        | EValue::IntList(_)
        | EValue::DoubleList(_)
        | EValue::BoolList(_)
        | EValue::TensorList(_)
        | EValue::OptionalTensorList(_)
        | EValue::Unknown(_)) => Some(format!("it is a {}, expected a tensor or a number", other.kind())),
    }
}
