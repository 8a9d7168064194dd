//! Calls of operators and delegates with their arguments, for questions about single instructions.

use serde::Serialize;

use super::Subject;
use super::summary::{ValueSummary, value_summary};
use pte_memory::labels::Labels;
use pte_model::program::instruction::Callee;
use pte_model::program::{Instruction, StackFrame};

/// Call of an operator or a delegate.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CallSummary {
    /// Index of the chain.
    pub chain: usize,
    /// Index of the instruction in its chain.
    pub instruction: usize,
    /// Operator, or backend of the delegate.
    pub callee: String,
    /// A delegate is called.
    pub is_delegate: bool,
    /// Arguments in the order of the call: for an operator, the results follow the others.
    pub arguments: Vec<ValueSummary>,
    /// Lines of the source that it was exported from, outermost first; empty if the program does not have them.
    pub stack_trace: Vec<String>,
}

/// Returns the calls of a method for which `is_selected` returns true: it gets the indices of the chain and the
/// instruction, and the operator or backend.
pub fn calls(
    subject: &Subject<'_>,
    method: usize,
    is_selected: impl Fn(usize, usize, &str) -> bool,
) -> Vec<CallSummary> {
    let Some(plan) = subject.program.plans().get(method) else { return Vec::new() };
    let labels = Labels::new(plan);
    let mut found = Vec::new();
    for (number, chain) in plan.chains.iter().flatten().enumerate() {
        let call = |(index, instruction): (usize, &Instruction)| {
            let (callee, label) = (instruction.callee()?, labels.of(instruction));
            let trace = chain.stacktrace.as_ref().and_then(|traces| traces.get(index)?.as_deref()).unwrap_or_default();
            is_selected(number, index, label).then(|| CallSummary {
                chain: number,
                instruction: index,
                callee: label.to_owned(),
                is_delegate: matches!(callee, Callee::Delegate(_)),
                arguments: instruction.args().iter().map(|arg| value_summary(subject, method, *arg)).collect(),
                stack_trace: trace.iter().map(frame).collect(),
            })
        };
        found.extend(chain.instructions.iter().flatten().enumerate().filter_map(call));
    }
    found
}

/// Describes a line of the source in Python's form.
fn frame(frame: &StackFrame) -> String {
    let StackFrame { filename, lineno, name, context } = frame;
    let [file, name, context] = [filename, name, context].map(|text| text.as_deref().unwrap_or_default());
    format!("File \"{file}\", line {lineno}, in {name}: {}", context.trim())
}
