//! Calls of operators and delegates with their arguments, for questions about single instructions.

use serde::Serialize;

use super::Subject;
use super::summary::{ValueSummary, value_summary};
use pte_memory::labels::Labels;
use pte_model::program::StackFrame;
use pte_model::program::instruction::Callee;

/// Call of an operator or a delegate.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CallSummary {
    /// Method; empty if it has no name.
    pub method: String,
    /// Index of the chain.
    pub chain: usize,
    /// Index of the instruction in its chain.
    pub instruction: usize,
    /// Operator, or backend of the delegate.
    pub callee: String,
    /// Arguments in the order of the call: for an operator, the results follow the others.
    pub arguments: Vec<ValueSummary>,
    /// Lines of the source that it was exported from, outermost first; empty if the program does not have them.
    pub stack_trace: Vec<String>,
}

/// Indices of the method, the chain and the instruction of a call; true for a delegate; the operator or backend.
pub type CallPosition<'c> = (usize, usize, usize, bool, &'c str);

/// Returns the calls for which `is_selected` returns true.
pub fn select_calls(subject: &Subject<'_>, is_selected: impl Fn(CallPosition<'_>) -> bool) -> Vec<CallSummary> {
    let mut calls = Vec::new();
    for (method, plan) in subject.program.plans().iter().enumerate() {
        let labels = Labels::new(plan);
        for (number, chain) in plan.chains.iter().flatten().enumerate() {
            for (index, instruction) in chain.instructions.iter().flatten().enumerate() {
                let callee = labels.of(instruction);
                let Some(called) = instruction.callee() else { continue };
                let is_delegate = matches!(called, Callee::Delegate(_));
                if !is_selected((method, number, index, is_delegate, callee)) {
                    continue;
                }
                let trace = chain.stacktrace.as_ref().and_then(|traces| traces.get(index)?.as_deref());
                calls.push(CallSummary {
                    method: plan.name.clone().unwrap_or_default(),
                    chain: number,
                    instruction: index,
                    callee: callee.to_owned(),
                    arguments: instruction.args().iter().map(|arg| value_summary(subject, method, *arg)).collect(),
                    stack_trace: trace.unwrap_or_default().iter().map(frame).collect(),
                });
            }
        }
    }
    calls
}

/// Describes a line of the source in Python's form.
fn frame(frame: &StackFrame) -> String {
    let StackFrame { filename, lineno, name, context } = frame;
    let [file, name, context] = [filename, name, context].map(|text| text.as_deref().unwrap_or_default());
    format!("File \"{file}\", line {lineno}, in {name}: {}", context.trim())
}
