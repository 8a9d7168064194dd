//! [`Resolved::bound`]: other bounds of the inputs of a method.

use serde::Serialize;

use crate::layout;
use crate::pipeline::{AssembleOptions, Resolved};
use pte_analysis::method::Method;
use pte_check::{CheckOptions, Finding, RuleSeverity};
use pte_model::diagnostics::{Code, Diagnostic, Report};
use pte_model::error::Error;
use pte_model::program::test_cases::TestData;
use pte_model::program::{EValue, ExecutionPlan, MemoryPlan, MemoryPlanner, Program, TensorShapeDynamism};
use pte_transform::bound::{self, BoundError, BoundOptions, Bounded};

/// Result of [`Resolved::bound`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BoundReport {
    /// Name of the method.
    pub method: String,
    /// Changes of the program.
    pub bounded: Bounded,
    /// Number of tests that were removed, because their inputs exceed the new bounds or are not of the static sizes.
    pub removed_tests: usize,
    /// Reason why the memory plan of the method stays, so that it needs as much memory as before; `None` if it is
    /// planned again.
    pub kept: Option<String>,
}

impl Resolved {
    /// Lowers the upper bounds of the inputs of a method, or makes inputs static. The sizes of all values that depend
    /// on them are inferred again, also in payloads of XNNPACK; [`Resolved::plan`] plans memory for them if it is not
    /// stated: of a binary file, begin with [`Model::resolve_for_changes`](crate::Model::resolve_for_changes). Tests
    /// whose inputs do not fit are removed.
    ///
    /// Outputs stay the same for inputs within the new bounds. Results whose sizes cannot be inferred keep their
    /// bounds.
    ///
    /// ```
    /// use pte_emit::edit::{BoundOptions, BoundReport, Bounded, BoundedDelegate, BoundedInput};
    /// use pte_emit::Model;
    /// use pte_emit::edit::{InputBound, KeptResults};
    ///
    /// let mut resolved = Model::open("examples/dynamic_batch.yaml")?.resolve_for_changes()?;
    /// let mut options = BoundOptions::default();
    /// let bound: InputBound = "x=2x2x2".parse().unwrap();
    /// options.inputs.push(bound);
    /// let BoundReport { bounded, removed_tests, .. } = resolved.bound(&options)?;
    /// assert_eq!(removed_tests, 2);
    /// let Bounded { inputs, tensors, delegates, kept, .. } = bounded;
    /// let input: &BoundedInput = &inputs[0];
    /// assert_eq!((&input.before[..], &input.after[..], tensors), (&[4, 2, 2][..], &[2, 2, 2][..], 4));
    /// assert_eq!((delegates, kept), (Vec::<BoundedDelegate>::new(), Vec::<KeptResults>::new()));
    /// # Ok::<(), pte_emit::Error>(())
    /// ```
    ///
    /// # Errors
    /// All inputs and sizes that the method does not have, and all instructions and delegates that do not take the new
    /// sizes. The program is then unchanged.
    pub fn bound(&mut self, options: &BoundOptions) -> Result<BoundReport, Error> {
        if self.program.plans().iter().any(ExecutionPlan::has_unknown_instruction) {
            let message = "the program has an instruction of a newer schema, which may depend on the sizes";
            return Err(Error::input(Code::UnmetRequest, &self.source.name, message));
        }
        let before = layout::plan_memory(&self.program).unwrap_or_default();
        let former = self.program.clone();
        let (program, origins) = (&mut self.program, &self.origins);
        let name = |method, value| origins.name(method, value).map(str::to_owned);
        let failed = |errors: Vec<BoundError>| {
            let diagnostics = errors.into_iter().map(Diagnostic::from).collect();
            Error::new(Report::new(&self.source.name, "", diagnostics))
        };
        let (bounded, exact) = bound::bound(program, options, name).map_err(failed)?;
        let refused = refused(program, bounded.method, exact).and_then(|errors| match errors.is_empty() {
            true => Ok(()),
            false => Err(failed(errors)),
        });
        if let Err(error) = refused {
            self.program = former;
            return Err(error);
        }
        if let Some(before) = before.get(bounded.method) {
            self.limit_memory(bounded.method, before);
        }
        let plan = &self.program.plans()[bounded.method];
        let method = plan.name.clone().unwrap_or_default();
        let mut removed_tests = 0;
        for tests in self.tests.iter_mut().filter(|tests| tests.method == method) {
            let before = tests.cases.len();
            tests.cases.retain(|case| fits(plan, &case.inputs));
            removed_tests += before - tests.cases.len();
        }
        self.tests.retain(|tests| !tests.cases.is_empty());
        let changed = self.program.plans().iter().find(|plan| plan.name.as_deref() == Some(&*method));
        let kept = changed.and_then(pte_transform::optimize::minimize::kept_plan);
        Ok(BoundReport { method, bounded, removed_tests, kept })
    }

    /// Chooses the minimal planner for a method if its own one needs more memory than `before`, and if that does not
    /// help, the former offsets, which fit smaller tensors.
    fn limit_memory(&mut self, method: usize, before: &MemoryPlan) {
        let is_larger = |program: &Program| {
            let planned = layout::plan_memory(program).unwrap_or_default();
            planned.get(method).is_none_or(|after| after.total() > before.total())
        };
        for limit in [None, Some(MemoryPlanner::Minimal)] {
            if let (Some(planner), Some(plan)) = (limit, self.program.plans_mut().get_mut(method)) {
                plan.memory.planner = planner;
            }
            if !is_larger(&self.program) {
                return;
            }
        }
        if let Some(plan) = self.program.plans_mut().get_mut(method) {
            before.clone().state_in(plan);
        }
    }
}

/// Returns the errors of `check` about calls with sizes that are exactly the new bounds, other than those with the old
/// ones: the kernels reject them.
fn refused(program: &Program, method: usize, [old, new]: [Vec<EValue>; 2]) -> Result<Vec<BoundError>, Error> {
    let findings = rejected_calls(program, method, new)?;
    if findings.is_empty() {
        return Ok(Vec::new());
    }
    let known = rejected_calls(program, method, old)?;
    let is_new = |finding: &&Finding| {
        known.iter().all(|known| (known.rule.id, &known.location.path) != (finding.rule.id, &finding.location.path))
    };
    let error = |Finding { rule, location, found, expected, .. }: &Finding| {
        let message =
            format!("[{}] {} with inputs of these sizes: {found}, expected {expected}", rule.id, location.path);
        BoundError { message, help: Some(format!("the runtime: {}", rule.runtime)) }
    };
    Ok(findings.iter().filter(is_new).map(error).collect())
}

/// Returns the errors of `check` about the calls of a program whose method has these values.
fn rejected_calls(program: &Program, method: usize, exact: Vec<EValue>) -> Result<Vec<Finding>, Error> {
    let mut program = program.clone();
    if let Some(plan) = program.plans_mut().get_mut(method) {
        let values = {
            // A value that several instructions write, as in branches, can have other sizes than each.
            let analysis = Method::new(plan);
            let is_written_once = |value: &usize| {
                analysis.value_accesses(*value).filter(|access| access.kind.may_write()).nth(1).is_none()
            };
            let pairs = exact.into_iter().zip(plan.values()).enumerate();
            pairs.map(|(value, (exact, own))| if is_written_once(&value) { exact } else { own.clone() }).collect()
        };
        plan.values = Some(values);
    }
    let findings = Resolved::from(program).to_files(&AssembleOptions::default())?.check(&CheckOptions::default())?;
    let is_of_call = |finding: &Finding| {
        finding.rule.id.as_str().starts_with("O-") && finding.rule.severity <= RuleSeverity::Invalid
    };
    Ok(findings.into_iter().flat_map(|findings| findings.list).filter(is_of_call).collect())
}

/// Returns `true` if inputs are within the bounds of a method.
fn fits(plan: &ExecutionPlan, inputs: &[TestData]) -> bool {
    plan.inputs.iter().flatten().zip(inputs).all(|(input, data)| match (plan.value(*input), data) {
        (Some(EValue::Tensor(tensor)), TestData::Tensor { sizes, .. }) => {
            let bounds = tensor.sizes.as_deref().unwrap_or_default();
            match tensor.shape_dynamism {
                TensorShapeDynamism::STATIC => bounds == sizes,
                TensorShapeDynamism::DYNAMIC_BOUND => {
                    bounds.len() == sizes.len() && sizes.iter().zip(bounds).all(|(size, bound)| size <= bound)
                }
                _ => true,
            }
        }
        _ => true,
    })
}
