//! Infers the results of a method like assembling does, and finds the calls that contradict the rules.

use std::borrow::Cow;

use super::super::graph::PayloadGraphs;
use super::calls::{CallForm, Calls};
use pte_analysis::inference::{self, Inference};
use pte_model::program::instruction::Callee;
use pte_model::program::{DelegateId, ExecutionPlan, ValueId};
use pte_operators::inference::{InferenceError, TensorMeta};
use pte_payload::arguments::{self, GraphArgument};

/// Returns the properties that assembling infers for each value that an instruction declares; `None` for other values.
/// Changes the forms of calls that assembling would reject.
pub fn infer<'p>(plan: &'p ExecutionPlan, payloads: &PayloadGraphs, calls: &mut Calls<'p>) -> Vec<Option<TensorMeta>> {
    let values = plan.values();
    let operators = &calls.resolved;
    let mut inference = Inference::bounded(plan, operators);
    let mut inferred = vec![None; values.len()];
    for (instruction, form) in plan.instructions().zip(&mut calls.forms) {
        let args = instruction.args();
        match instruction.callee() {
            Some(Callee::Operator(index)) => {
                let Some(operator) = operators.get(index) else { continue };
                match inference.call(values, operator, args) {
                    Ok(results) => {
                        let metas = inference::tensors(values, operator, args, &results);
                        let contradicts = |(value, meta): &(usize, &TensorMeta)| {
                            let tensor = values[*value].as_tensor();
                            tensor.is_some_and(|tensor| inference::mismatch(tensor, meta, operator).is_some())
                        };
                        if metas.iter().any(contradicts) {
                            *form = CallForm::contradictory(instruction);
                        }
                        // The call does not declare what is under `args`.
                        for (value, meta) in metas.into_iter().filter(|_| !form.outs.is_empty()) {
                            inferred[value].get_or_insert_with(|| meta.clone());
                        }
                        inference.record_results(values, operator, args, &results);
                    }
                    Err(InferenceError::Invalid(_) | InferenceError::Unsupported(_)) => {
                        *form = CallForm::contradictory(instruction);
                    }
                    Err(InferenceError::Undetermined(_) | InferenceError::UnknownOperator) => {}
                }
            }
            Some(Callee::Delegate(index)) => {
                if has_other_tensors(plan, payloads, index, args) {
                    *form = CallForm::contradictory(instruction);
                }
            }
            None => {
                let Some((from, to)) = instruction.moved() else { continue };
                let meta = inference.tensor(values, from).map(Cow::into_owned);
                let to = to.item_mut(&mut inferred);
                if let (Some(meta), Some(to)) = (meta, to) {
                    to.get_or_insert(meta);
                }
            }
        }
    }
    inferred
}

/// Returns `true` if assembling rejects the arguments of a delegate that is called by its name.
fn has_other_tensors(plan: &ExecutionPlan, payloads: &PayloadGraphs, id: DelegateId, args: &[ValueId]) -> bool {
    let Some(Some(Ok(graph))) = plan.delegate(id).map(|delegate| payloads.of(delegate.processed)) else { return false };
    let tensor = |number: u32| plan.value(*args.get(number as usize)?)?.as_tensor();
    let is_dynamic = arguments::has_dynamic_input(&graph.arguments, tensor);
    let is_other = |argument: &GraphArgument| {
        tensor(argument.number).is_some_and(|tensor| argument.mismatch(tensor, is_dynamic).is_some())
    };
    graph.arguments.len() <= args.len() && graph.arguments.iter().any(is_other)
}
