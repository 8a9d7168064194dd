//! Reads the values that the runtime recorded for the instructions of a program, and compares what two programs
//! computed from the same inputs: these values for aligned instructions, and the outputs. The programs are executed
//! elsewhere.

mod elements;
mod recorded;

use std::collections::HashMap;

use serde::Serialize;

pub use elements::{DifferingElement, ValueComparison};

use super::methods::align_steps;
use super::side::Side;
use super::view::MethodView;
use elements::{Content, Values};
use pte_etdump::{EtDump, MethodRun, TensorError};
use pte_model::data::Blob;
use pte_model::diagnostics::counted;
use pte_model::program::ExecutionPlan;
use pte_model::program::test_cases::{TestData, Tolerance};
use recorded::RecordedValues;

/// Values that the runtime recorded during one execution of a method.
#[derive(Debug, Clone, Copy)]
pub struct Trace<'t> {
    /// Events.
    pub dump: &'t EtDump,
    /// The debug buffer: bytes of the values.
    pub values: &'t Blob,
    /// Outputs of the method; `None` for those that cannot be compared.
    pub outputs: &'t [Option<TestData>],
}

/// Reason why two executions cannot be compared: the side, 0 or 1, and a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceError {
    /// Side of the trace, 0 or 1.
    pub side: usize,
    /// Message without the name of the side.
    pub message: String,
}

/// Differences between the values that two methods computed from the same inputs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MethodComparison {
    /// Name; empty if it has none.
    pub name: String,
    /// All compared values and outputs are equal within the tolerance.
    pub equal: bool,
    /// Number of executions of aligned instructions whose values were compared.
    pub compared: u64,
    /// Number of executions of aligned instructions without recorded values: moves, jumps, the runtime's own operators.
    pub unrecorded: u64,
    /// Number of instructions of A, and of B, without a counterpart.
    pub unaligned: [u64; 2],
    /// Executions of aligned instructions whose values differ, in the order of time of A: the first one computed
    /// another result from equal arguments, as far as they were compared.
    pub differences: Vec<InstructionComparison>,
    /// Outputs of the method.
    pub outputs: Vec<ValueComparison>,
}

/// Values of an instruction that differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct InstructionComparison {
    /// Path of the instruction in A.
    pub left: String,
    /// Path of the instruction in B.
    pub right: String,
    /// Operator, delegate or kind of both instructions.
    pub labels: [String; 2],
    /// Number of the execution of the instruction, from 0: it is more than 0 only in loops.
    pub execution: u64,
    /// Values that the instruction computed; of a delegate, all of its arguments.
    pub values: Vec<ValueComparison>,
    /// Difference that is not about values, such as another number of executions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mismatch: Option<String>,
}

/// Values that an execution of an instruction computed.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedStep {
    /// Number of the instruction among those of all chains, from 0.
    pub step: usize,
    /// Operator, delegate or kind of the instruction.
    pub label: String,
    /// Number of the execution of the instruction, from 0: it is more than 0 only in loops.
    pub execution: u64,
    /// Values of the method with their content, in the order of the arguments.
    pub values: Vec<(usize, TestData)>,
}

/// Returns what the instructions of a method computed in its last recorded execution, in the order of time. `is_wanted`
/// selects by the numbers of the instruction and of the value; a list is its members. The runtime records no values of
/// moves, jumps and its own operators.
///
/// # Errors
/// A trace of another program or method, or values that cannot be read: a message.
pub fn recorded_values(
    side: &Side,
    method: usize,
    trace: Trace<'_>,
    is_wanted: &dyn Fn(usize, usize) -> bool,
) -> Result<Vec<RecordedStep>, String> {
    let view = &MethodView::new(side, method);
    let run = runs(view, trace, 0).map_err(|error| error.message)?.pop();
    let mut seen: HashMap<usize, u64> = HashMap::new();
    let mut found = Vec::new();
    for (step, execution) in run.iter().flat_map(|run| run.steps.iter().copied().zip(&run.executions)) {
        let number = seen.entry(step).or_default();
        let values = RecordedValues::new(view, step, &execution.values);
        let values = values.results(step, trace.values, &|value| is_wanted(step, value));
        let values = values.map_err(|error| trace_error(0, &view.step_path(step), &error).message)?;
        if !values.is_empty() {
            let label = view.describe_callee(view.steps[step].instruction);
            found.push(RecordedStep { step, label, execution: *number, values });
        }
        *number += 1;
    }
    Ok(found)
}

/// Compares the executions of a method of each side.
///
/// # Errors
/// A trace of another program or method, or values that cannot be read.
pub fn compare_traces(
    sides: [&Side; 2],
    methods: [usize; 2],
    traces: [Trace<'_>; 2],
    tolerance: Tolerance,
) -> Result<MethodComparison, TraceError> {
    let views = [MethodView::new(sides[0], methods[0]), MethodView::new(sides[1], methods[1])];
    let views = [&views[0], &views[1]];
    let first = |side: usize| Ok(runs(views[side], traces[side], side)?.into_iter().next());
    let runs = [first(0)?, first(1)?];
    let pairs = align_steps(views);
    let unaligned = views.map(|view| (view.steps.len() - pairs.len()) as u64);
    let name = views[0].plan.name.clone().unwrap_or_default();
    let empty = MethodComparison {
        name,
        equal: true,
        compared: 0,
        unrecorded: 0,
        unaligned,
        differences: Vec::new(),
        outputs: Vec::new(),
    };
    let mut method = Aligned { views, runs: &runs, traces, tolerance, found: empty };
    method.compare_instructions(&pairs)?;
    method.compare_outputs()?;
    let mut found = method.found;
    found.equal = found.differences.is_empty() && found.outputs.iter().all(ValueComparison::is_equal);
    Ok(found)
}

/// Returns the executions of a method that a trace has; none if the method has no instructions.
fn runs<'t>(view: &MethodView<'_>, trace: Trace<'t>, side: usize) -> Result<Vec<MethodRun<'t>>, TraceError> {
    let failed = |message: String| TraceError { side, message };
    let is_candidate = |index: usize, _: &ExecutionPlan| index == view.number;
    let runs = trace.dump.method_runs(&view.side.program, &is_candidate).map_err(|error| failed(error.to_string()))?;
    match runs.is_empty() && !view.steps.is_empty() {
        true => Err(failed("the runner recorded no instructions: it was built without event tracing".to_owned())),
        false => Ok(runs),
    }
}

/// Two methods with their executions.
struct Aligned<'v, 's, 't> {
    views: [&'v MethodView<'s>; 2],
    runs: &'v [Option<MethodRun<'t>>; 2],
    traces: [Trace<'t>; 2],
    tolerance: Tolerance,
    found: MethodComparison,
}

impl Aligned<'_, '_, '_> {
    /// Returns the executions of each step of a side, as positions in the run.
    fn by_step(&self, side: usize) -> HashMap<usize, Vec<usize>> {
        let mut found: HashMap<usize, Vec<usize>> = HashMap::new();
        let steps = self.runs[side].iter().flat_map(|run| &run.steps);
        steps.enumerate().for_each(|(position, step)| found.entry(*step).or_default().push(position));
        found
    }

    fn compare_instructions(&mut self, pairs: &[(usize, usize)]) -> Result<(), TraceError> {
        let executed = [self.by_step(0), self.by_step(1)];
        let counterpart: HashMap<usize, usize> = pairs.iter().copied().collect();
        let mut seen: HashMap<usize, usize> = HashMap::new();
        let steps: Vec<usize> = self.runs[0].iter().flat_map(|run| run.steps.iter().copied()).collect();
        for (position, left) in steps.into_iter().enumerate() {
            let Some(right) = counterpart.get(&left).copied() else { continue };
            let number = seen.entry(left).or_default();
            let execution = *number;
            *number += 1;
            let counts = [(left, &executed[0]), (right, &executed[1])]
                .map(|(step, executed)| executed.get(&step).map_or(0, Vec::len));
            match executed[1].get(&right).and_then(|positions| positions.get(execution)) {
                Some(other) => self.compare_execution([left, right], [position, *other], execution)?,
                None if execution == counts[1] => self.other_count([left, right], counts),
                None => {}
            }
            if execution + 1 == counts[0] && counts[1] > counts[0] {
                self.other_count([left, right], counts);
            }
        }
        let mut missing: Vec<(usize, usize)> = pairs
            .iter()
            .copied()
            .filter(|(left, right)| !executed[0].contains_key(left) && executed[1].contains_key(right))
            .collect();
        missing.sort_unstable();
        for (left, right) in missing {
            let count = executed[1].get(&right).map_or(0, Vec::len);
            self.other_count([left, right], [0, count]);
        }
        Ok(())
    }

    fn difference(&self, steps: [usize; 2], execution: usize) -> InstructionComparison {
        let [left, right] = [0, 1].map(|side| self.views[side].step_path(steps[side]));
        let labels =
            [0, 1].map(|side| self.views[side].describe_callee(self.views[side].steps[steps[side]].instruction));
        InstructionComparison { left, right, labels, execution: execution as u64, values: Vec::new(), mismatch: None }
    }

    fn other_count(&mut self, steps: [usize; 2], counts: [usize; 2]) {
        let [left, right] = counts.map(|count| counted(count as u64, "execution"));
        let mut difference = self.difference(steps, counts[0].min(counts[1]));
        difference.mismatch = Some(format!("{left} -> {right}"));
        self.found.differences.push(difference);
    }

    fn compare_execution(
        &mut self,
        steps: [usize; 2],
        positions: [usize; 2],
        execution: usize,
    ) -> Result<(), TraceError> {
        let values = |side: usize| {
            let execution = self.runs[side].as_ref().and_then(|run| run.executions.get(positions[side]));
            let values = execution.map_or(&[][..], |execution| &execution.values);
            RecordedValues::new(self.views[side], steps[side], values)
        };
        let values = [values(0), values(1)];
        if values.iter().all(RecordedValues::is_empty) {
            self.found.unrecorded += 1;
            return Ok(());
        }
        self.found.compared += 1;
        let mut difference = self.difference(steps, execution);
        let lengths = [values[0].len(), values[1].len()];
        if lengths[0] != lengths[1] {
            let [left, right] = lengths.map(|count| counted(count as u64, "recorded value"));
            difference.mismatch = Some(format!("{left} -> {right}"));
        }
        for index in 0..lengths[0].min(lengths[1]) {
            let read = |side: usize| {
                let value = values[side].read(index, self.traces[side].values);
                value.map_err(|error| trace_error(side, &self.views[side].step_path(steps[side]), &error))
            };
            difference.values.push(ValueComparison::of([&read(0)?, &read(1)?], self.tolerance));
        }
        if difference.mismatch.is_some() || !difference.values.iter().all(ValueComparison::is_equal) {
            self.found.differences.push(difference);
        }
        Ok(())
    }

    fn compare_outputs(&mut self) -> Result<(), TraceError> {
        let outputs = self.traces.map(|trace| trace.outputs);
        for index in 0..outputs[0].len().max(outputs[1].len()) {
            let read = |side: usize| {
                let view = self.views[side];
                let name = format!("{}.outputs[{index}]", view.side.method_path(view.number));
                match outputs[side].get(index).map_or(Ok(Content::Missing), |value| Content::of_output(value.as_ref()))
                {
                    Ok(content) => Ok(Values { name, content }),
                    Err(error) => Err(TraceError { side, message: format!("{name}: {error}") }),
                }
            };
            self.found.outputs.push(ValueComparison::of([&read(0)?, &read(1)?], self.tolerance));
        }
        Ok(())
    }
}

fn trace_error(side: usize, path: &str, error: &TensorError) -> TraceError {
    TraceError { side, message: format!("the recorded value of {path}: {error}") }
}
