//! Lowers the upper bounds of the inputs of a method, or makes inputs static. The sizes of all values that depend on
//! them are inferred again, also in the payloads of XNNPACK delegates.
//!
//! Nothing else changes: numbers that the exporter derived from the old bounds stay, and an instruction that no longer
//! fits them is an error. Memory is not planned here.

mod delegates;
mod inputs;
mod payload;
mod propagate;
mod report;
mod values;

pub use report::{BoundError, BoundOptions, Bounded, BoundedDelegate, BoundedInput, InputBound, KeptResults};

use self::propagate::Propagation;
use pte_model::diagnostics::{clipped, counted, first_names};
use pte_model::program::{EValue, Program};

/// Changes the bounds of the inputs of a method. `name` returns the name of a value of a method for messages and
/// options; inputs without one have only a number. The program is unchanged if there are errors. Also returns the
/// values of the method with sizes that are exactly the old and the new bounds.
///
/// # Errors
/// All inputs and sizes that the method does not have, and all instructions and delegates that do not take the new
/// sizes.
pub fn bound(
    program: &mut Program,
    options: &BoundOptions,
    name: impl Fn(usize, usize) -> Option<String>,
) -> Result<(Bounded, [Vec<EValue>; 2]), Vec<BoundError>> {
    let method = method_of(program, options.method.as_deref()).map_err(|error| vec![error])?;
    let plan = &program.plans()[method];
    let label = |value: usize| name(method, value).unwrap_or_else(|| format!("values[{value}]"));
    let inputs = inputs::resolve(plan, options, &label)?;
    let mut propagation = Propagation::new(program, method, &label);
    for input in &inputs {
        propagation.set_input(input);
    }
    propagation.run();
    let outcome = propagation.finish()?;
    let plan = &program.plans()[method];
    let mut report = Bounded { method, delegates: outcome.delegates, kept: outcome.kept, ..Bounded::default() };
    for (before, after) in plan.values().iter().zip(&outcome.values) {
        let (Some(before), Some(after)) = (before.as_tensor(), after.as_tensor()) else { continue };
        let made_static = before.shape_dynamism != after.shape_dynamism;
        report.tensors += usize::from(before.sizes != after.sizes || made_static);
        report.made_static += usize::from(made_static);
    }
    report.inputs = inputs.into_iter().map(|input| input.report).collect();
    let payloads: Vec<_> =
        outcome.payloads.into_iter().map(|(delegate, blob)| (delegate, program.add_blob(blob))).collect();
    if let Some(plan) = program.plans_mut().get_mut(method) {
        plan.values = Some(outcome.values);
        for (delegate, blob) in payloads {
            if let Some(delegate) = plan.delegates.iter_mut().flatten().nth(delegate) {
                delegate.processed = blob;
            }
        }
    }
    Ok((report, outcome.exact))
}

/// Returns the index of a method.
pub(crate) fn method_of(program: &Program, name: Option<&str>) -> Result<usize, BoundError> {
    let plans = program.plans();
    let names = || first_names(plans.iter().map(|plan| plan.name.as_deref().unwrap_or_default()));
    if plans.is_empty() {
        return Err(BoundError::new("the file has no methods", "expected a program: a .ptd has no inputs and outputs"));
    }
    program.method_index(name).or((plans.len() == 1 && name.is_none()).then_some(0)).ok_or_else(|| match name {
        None => BoundError::new(
            format!("the program has {}", counted(plans.len(), "method")),
            format!("name one of them with `--method`: {}", names()),
        ),
        Some(name) => {
            BoundError::new(format!("unknown method `{}`", clipped(name)), format!("the program has {}", names()))
        }
    })
}
