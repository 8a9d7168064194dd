//! Candidates and the best one so far, which all passes share.

use std::collections::HashMap;

use super::search::{self, Stopped};
use pte_model::data::{Blob, BlobSource};
use pte_model::program::test_cases::{MethodTests, TestData};
use pte_model::program::{ContainerMetadata, EValue, ExecutionPlan, Program, Tensor, ValueId};
use pte_transform::prune;

/// A program with its tests.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Candidate {
    /// Proposed program.
    pub program: Program,
    /// Tests of its methods.
    pub tests: Vec<MethodTests>,
}

impl Candidate {
    /// Program with the tests of its methods.
    pub fn new(program: Program, tests: Vec<MethodTests>) -> Candidate {
        Candidate { program, tests }
    }
}

/// Returns true if a candidate has the defect; an error if no more candidates can be tested.
pub type CandidateTest<'t> = dyn FnMut(&Candidate) -> Result<bool, Stopped> + 't;

/// State of a reduction.
pub struct Reduction<'t> {
    pub best: Candidate,
    pub test: &'t mut CandidateTest<'t>,
}

impl Reduction<'_> {
    /// Removes unreferenced parts from a candidate and tests it; if it has the defect, it becomes the best one. Returns
    /// true if it has the defect, without a test if it equals the best one.
    pub fn offer(&mut self, mut candidate: Candidate) -> Result<bool, Stopped> {
        prune::drop_unreferenced(&mut candidate.program);
        if candidate == self.best {
            return Ok(true);
        }
        let accepted = (self.test)(&candidate)?;
        if accepted {
            self.best = candidate;
        }
        Ok(accepted)
    }

    /// Removes as many of `count` elements of the best candidate as possible. `build` returns a candidate with the
    /// elements whose flags are true.
    pub fn minimize(&mut self, count: usize, build: impl Fn(&Candidate, &[bool]) -> Candidate) -> Result<(), Stopped> {
        let base = self.best.clone();
        search::minimize(count, &mut |kept| self.offer(build(&base, kept)))?;
        Ok(())
    }
}

/// Returns a candidate in which a method is changed, with its tests and the description of its inputs and outputs
/// adapted.
pub fn with_method(base: &Candidate, method: usize, change: impl FnOnce(&mut ExecutionPlan)) -> Candidate {
    let mut candidate = base.clone();
    let Candidate { program, tests } = &mut candidate;
    let Some(plan) = program.plans_mut().get_mut(method) else { return candidate };
    let before = &base.program.plans()[method];
    change(plan);
    let count = |plan: &ExecutionPlan| [&plan.inputs, &plan.outputs].map(|list| list.as_ref().map_or(0, Vec::len));
    if plan.container_meta_type.is_some() && count(plan) != count(before) {
        describe_containers(plan);
    }
    for tests in tests.iter_mut().filter(|tests| Some(tests.method.as_str()) == plan.name.as_deref()) {
        fit_tests(tests, before, plan);
    }
    candidate
}

/// Adapts tests to a changed method. Removed inputs are removed, new ones are zeros; expected outputs are kept only if
/// the outputs are the same values.
pub fn fit_tests(tests: &mut MethodTests, before: &ExecutionPlan, after: &ExecutionPlan) {
    let inputs = |plan: &ExecutionPlan| plan.inputs.clone().unwrap_or_default();
    let positions: HashMap<ValueId, usize> = inputs(before).into_iter().zip(0..).collect();
    for case in &mut tests.cases {
        let former = std::mem::take(&mut case.inputs);
        let input = |value: &ValueId| {
            let given = positions.get(value).and_then(|position| former.get(*position));
            match (after.value(*value)?, given) {
                (EValue::Tensor(tensor), given) => Some(test_tensor(tensor, before.value(*value), given)),
                (_, Some(given)) => Some(given.clone()),
                (EValue::Int(number), None) => Some(TestData::Int(*number)),
                (EValue::Bool(value), None) => Some(TestData::Bool(*value)),
                (EValue::Double(number), None) => Some(TestData::Double(*number)),
                (EValue::String(text), None) => Some(TestData::String(text.clone().unwrap_or_default())),
                (
                    EValue::Null
                    | EValue::IntList(_)
                    | EValue::DoubleList(_)
                    | EValue::BoolList(_)
                    | EValue::TensorList(_)
                    | EValue::OptionalTensorList(_)
                    | EValue::Unknown(_),
                    None,
                ) => Some(TestData::Null),
            }
        };
        case.inputs = inputs(after).iter().filter_map(input).collect();
        let is_same = |(one, other): (&ValueId, &ValueId)| one == other && before.value(*one) == after.value(*other);
        let outputs = |plan: &ExecutionPlan| plan.outputs.clone().unwrap_or_default();
        let (old, new) = (outputs(before), outputs(after));
        if old.len() != new.len() || !old.iter().zip(&new).all(is_same) {
            case.outputs = None;
        }
    }
}

/// Returns the data of a tensor in a test: `given`, or zeros if its sizes have changed.
fn test_tensor(tensor: &Tensor, before: Option<&EValue>, given: Option<&TestData>) -> TestData {
    let sizes = |tensor: &Tensor| tensor.sizes.as_deref().unwrap_or_default().to_vec();
    let is_same = before.and_then(EValue::as_tensor).is_some_and(|before| sizes(before) == sizes(tensor));
    match given {
        Some(given) if is_same => given.clone(),
        Some(_) | None => TestData::Tensor {
            scalar_type: tensor.scalar_type,
            sizes: sizes(tensor),
            dim_order: tensor.dim_order.clone().unwrap_or_default(),
            data: zeros_of(tensor.nbytes().unwrap_or(0), 0),
        },
    }
}

/// Returns a blob of zeros.
pub fn zeros_of(len: u64, copy: u32) -> Blob {
    Blob { copy, ..Blob::new(len, BlobSource::Repeat([0].into())) }
}

/// Describes inputs and outputs as positional ones.
pub fn describe_containers(plan: &mut ExecutionPlan) {
    let count = |list: &Option<Vec<ValueId>>| list.as_ref().map_or(0, Vec::len);
    let is_getter = count(&plan.inputs) == 0 && plan.instructions().next().is_none();
    plan.container_meta_type = Some(ContainerMetadata::flat(count(&plan.inputs), count(&plan.outputs), is_getter));
}
