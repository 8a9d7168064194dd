//! Infers the results of calls again after the sizes of tensors have changed, and gives the tensors that they are
//! written to their sizes.
//!
//! The callers decide which sizes change first, and how to handle a call that does not accept them.

use super::inference::{self, Inference, Knowledge};
use super::operators::{MethodOperators, ResolvedOperator};
use pte_model::program::{EValue, ExecutionPlan, Instruction, Sizes, TensorData, ValueId};
use pte_operators::inference::{InferenceError, ResultMeta, TensorMeta};

/// The values of a method while their sizes change.
#[derive(Debug)]
pub struct Resizing {
    values: Vec<EValue>,
    inference: Inference,
}

impl Resizing {
    /// Begins with other values of a method, of the same number and kinds.
    pub fn new(plan: &ExecutionPlan, operators: &MethodOperators, values: Vec<EValue>) -> Resizing {
        debug_assert_eq!(plan.values().len(), values.len());
        Resizing { values, inference: Inference::bounded(plan, operators) }
    }

    /// The values with their sizes so far.
    pub fn values(&self) -> &[EValue] {
        &self.values
    }

    /// The values with their sizes so far, to change those that no call writes.
    pub fn values_mut(&mut self) -> &mut [EValue] {
        &mut self.values
    }

    /// The values with their sizes.
    pub fn into_values(self) -> Vec<EValue> {
        self.values
    }

    /// Returns the knowledge about a value in addition to its declaration.
    pub fn known(&self, value: usize) -> &Knowledge {
        self.inference.known(value)
    }

    /// Sets the knowledge about a value.
    pub fn record(&mut self, value: usize, knowledge: Knowledge) {
        self.inference.record(value, knowledge);
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

    /// Returns the tensors among the results of a call, with their values.
    pub fn tensors<'r>(
        &self,
        operator: &ResolvedOperator,
        args: &[ValueId],
        results: &'r [ResultMeta],
    ) -> Vec<(usize, &'r TensorMeta)> {
        inference::tensors(&self.values, operator, args, results)
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

    /// Gives the results of a call the sizes that follow from its arguments. Those that cannot be inferred stay.
    ///
    /// # Errors
    /// See [`InferenceError`].
    pub fn call(&mut self, operator: &ResolvedOperator, args: &[ValueId]) -> Result<(), InferenceError> {
        let results = self.infer(operator, args)?;
        for (value, meta) in inference::tensors(&self.values, operator, args, &results) {
            self.set(value, meta);
        }
        self.record_results(operator, args, &results);
        Ok(())
    }
}

/// Replaces the sizes of results by those that follow from the arguments, where they can be inferred.
pub fn infer(plan: &mut ExecutionPlan) {
    let operators = MethodOperators::known(plan);
    let values = plan.values.clone().unwrap_or_default();
    let mut resizing = Resizing::new(plan, &operators, values);
    for instruction in plan.chains.iter().flatten().flat_map(|chain| chain.instructions.iter().flatten()) {
        let Instruction::KernelCall { op_index, .. } = instruction else { continue };
        if let Some(operator) = operators.get(*op_index) {
            // Sizes that cannot be inferred stay.
            let _ = resizing.call(operator, instruction.args());
        }
    }
    plan.values = Some(resizing.into_values());
}
