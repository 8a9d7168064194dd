//! Removes instructions. A tensor that a kept instruction reads and no instruction writes any more becomes an input; a number keeps the value
//! that the file states. Outputs without a writer are removed.

use std::collections::HashSet;

use super::{Candidate, Reduction, Stopped, parts};
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, TensorData};
use crate::transform::inference;
use crate::transform::prune;

/// Values that an instruction reads and writes, and the items of lists among them.
struct Flow {
    reads: Vec<usize>,
    writes: Vec<usize>,
}

/// Which values have content, before and after each instruction of a method.
struct MethodFlow {
    steps: Vec<Flow>,
    /// By value: it has content before the first instruction.
    given: Vec<bool>,
    /// By value: the value whose memory it uses, if no instruction makes it a view.
    bases: Vec<usize>,
}

/// Removes the instructions of each method that the defect does not need.
pub fn reduce(reduction: &mut Reduction<'_>) -> Result<(), Stopped> {
    for method in 0..reduction.best.program.plans().len() {
        let flow = MethodFlow::new(&reduction.best.program.plans()[method]);
        reduction.minimize(flow.steps.len(), |base, kept| with_instructions(base, method, &flow, kept))?;
    }
    Ok(())
}

impl MethodFlow {
    fn new(plan: &ExecutionPlan) -> MethodFlow {
        let values = plan.values();
        let operators = inference::operators(plan);
        let index = |value: &i32| usize::try_from(*value).ok().filter(|value| *value < values.len());
        let mut given: Vec<bool> = values.iter().map(has_content).collect();
        plan.inputs.iter().flatten().filter_map(index).for_each(|input| given[input] = true);
        let mut defined = given.clone();
        let mut steps = Vec::new();
        let mut written = vec![false; values.len()];
        for instruction in plan.instructions() {
            let args = instruction.args();
            let mut flow = Flow { reads: Vec::new(), writes: Vec::new() };
            let operator = instruction.operator().and_then(|operator| inference::find(&operators, operator));
            let results = operator.map(|operator| operator.results(args.len()));
            for (position, value) in args.iter().enumerate() {
                let Some(value) = index(value) else { continue };
                let is_written = match &results {
                    Some(results) => position >= results.start,
                    // Of an unknown operator or a delegate: what has no content yet is written.
                    None => !defined[value],
                };
                if is_written { &mut flow.writes } else { &mut flow.reads }.push(value);
            }
            match instruction {
                Instruction::MoveCall { move_from, move_to } => {
                    flow.reads.extend(index(move_from));
                    flow.writes.extend(index(move_to));
                }
                Instruction::JumpFalseCall { cond_value_index, .. } => flow.reads.extend(index(cond_value_index)),
                Instruction::FreeCall { value_index } => flow.reads.extend(index(value_index)),
                Instruction::KernelCall { .. } | Instruction::DelegateCall { .. } => {}
            }
            for list in [&mut flow.reads, &mut flow.writes] {
                let items = list.iter().flat_map(|value| values[*value].as_tensors()).filter_map(index);
                let items: Vec<usize> = items.collect();
                list.extend(items);
                let mut seen = HashSet::new();
                list.retain(|value| seen.insert(*value));
            }
            for value in &flow.writes {
                defined[*value] = true;
                written[*value] = true;
            }
            steps.push(flow);
        }
        let base = |value: usize| match values[value].as_tensor().map(|tensor| tensor.memory) {
            Some(Memory::View { base }) if !written[value] => index(&(base as i32)).unwrap_or(value),
            _ => value,
        };
        MethodFlow { steps, given, bases: (0..values.len()).map(base).collect() }
    }
}

/// Returns the values that the instructions and the outputs of a method read, and the bases of views among them.
pub fn reads(plan: &ExecutionPlan) -> HashSet<i32> {
    let flow = MethodFlow::new(plan);
    let read = flow.steps.iter().flat_map(|step| &step.reads);
    let read = read.flat_map(|value| [*value, flow.bases[*value]]).map(|value| value as i32);
    read.chain(plan.outputs.iter().flatten().copied()).collect()
}

/// Returns true for a value that has content before a method runs: all but tensors without data and without a state that persists.
fn has_content(value: &EValue) -> bool {
    value.as_tensor().is_none_or(|tensor| {
        tensor.data != TensorData::None || matches!(tensor.memory, Memory::Auto { persistent: true, .. })
    })
}

/// Returns a candidate with only some of the instructions of a method.
fn with_instructions(base: &Candidate, method: usize, flow: &MethodFlow, kept: &[bool]) -> Candidate {
    parts::with_method(base, method, |plan| {
        let mut defined = flow.given.clone();
        let mut inputs = Vec::new();
        for step in flow.steps.iter().zip(kept).filter_map(|(step, kept)| kept.then_some(step)) {
            for value in step.reads.iter().map(|value| flow.bases[*value]) {
                if !std::mem::replace(&mut defined[value], true) {
                    inputs.push(value);
                }
            }
            step.writes.iter().for_each(|value| defined[*value] = true);
        }
        for value in &inputs {
            // The memory of a view is that of a value that may not be there any more, and other values may be written to an explicit offset.
            if let Some(EValue::Tensor(tensor)) = plan.values.as_mut().and_then(|values| values.get_mut(*value))
                && matches!(tensor.memory, Memory::View { .. } | Memory::At { .. })
            {
                tensor.memory = Memory::Auto { pool: None, persistent: false };
            }
        }
        plan.inputs.get_or_insert_default().extend(inputs.iter().map(|value| *value as i32));
        let is_defined = |value: &i32| {
            let index = usize::try_from(*value).ok().filter(|value| *value < defined.len());
            index.is_none_or(|value| defined[flow.bases[value]])
        };
        plan.outputs.iter_mut().for_each(|outputs| outputs.retain(is_defined));
        prune::keep_instructions(plan, kept);
    })
}
