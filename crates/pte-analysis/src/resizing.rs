//! Infers the results of calls again after the sizes of tensors have changed, and gives the tensors that they are
//! written to their sizes.
//!
//! The callers decide which sizes change first, and how to handle a call that does not accept them.

use super::inference::{self, Inference};
use super::operators::{MethodOperators, ResolvedOperator};
use pte_model::program::{EValue, ExecutionPlan, Sizes, TensorData, ValueId};
use pte_operators::inference::{InferenceError, ResultMeta, TensorMeta};

/// The values of a method while their sizes change.
#[derive(Debug)]
pub struct Resizing {
    /// The values with their sizes so far.
    pub values: Vec<EValue>,
    /// What is known about the values in addition to their declarations.
    pub inference: Inference,
}

impl Resizing {
    /// Begins with other values of a method, of the same number and kinds.
    pub fn new(plan: &ExecutionPlan, operators: &MethodOperators, values: Vec<EValue>) -> Resizing {
        debug_assert_eq!(plan.values().len(), values.len());
        Resizing { values, inference: Inference::bounded(plan, operators) }
    }

    /// Returns the properties of a tensor; `None` if the value is not a tensor, or they are unknown.
    pub fn tensor(&self, value: ValueId) -> Option<TensorMeta> {
        self.inference.tensor(&self.values, value).map(std::borrow::Cow::into_owned)
    }

    /// Infers the results of a call.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub fn infer(&self, operator: &ResolvedOperator, args: &[ValueId]) -> Result<Vec<ResultMeta>, InferenceError> {
        self.inference.call(&self.values, operator, args)
    }

    /// Gives a tensor without data other sizes, and their order in memory.
    pub fn set(&mut self, value: usize, meta: &TensorMeta) {
        let sizes: Option<Sizes> = meta.sizes.iter().map(|dim| i32::try_from(dim.size).ok()).collect();
        if let (Some(EValue::Tensor(tensor)), Some(sizes)) = (self.values.get_mut(value), sizes)
            && tensor.data == TensorData::None
            && tensor.sizes.as_ref().is_some_and(|former| *former != sizes)
        {
            tensor.sizes = Some(sizes);
            tensor.dim_order = Some(meta.dim_order.clone());
        }
    }

    /// Records the results of a call for the following ones.
    pub fn record_results(&mut self, operator: &ResolvedOperator, args: &[ValueId], results: &[ResultMeta]) {
        self.inference.record_results(&self.values, operator, args, results);
    }

    /// Gives the results of a call these sizes, and records them for the following calls.
    pub fn apply(&mut self, operator: &ResolvedOperator, args: &[ValueId], results: &[ResultMeta]) {
        for (value, meta) in inference::tensors(&self.values, operator, args, results) {
            self.set(value, meta);
        }
        self.record_results(operator, args, results);
    }
}

/// Replaces the sizes of results by those that follow from the arguments, where they can be inferred.
pub fn infer(plan: &mut ExecutionPlan) {
    let operators = MethodOperators::known(plan);
    let values = plan.values.clone().unwrap_or_default();
    let mut resizing = Resizing::new(plan, &operators, values);
    for instruction in plan.instructions() {
        // Sizes that cannot be inferred stay.
        if let Some(operator) = operators.called(instruction)
            && let Ok(results) = resizing.infer(operator, instruction.args())
        {
            resizing.apply(operator, instruction.args(), &results);
        }
    }
    plan.values = Some(resizing.values);
}
