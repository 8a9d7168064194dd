//! What the instructions of a method read and write, and which values have content then.
//!
//! Follows the order of the file: jumps are ignored.

use std::collections::HashSet;

use crate::analysis::operators::MethodOperators;
use crate::program::{EValue, ExecutionPlan, Instruction, Memory, TensorData};

/// Values that an instruction reads and writes, and the items of lists among them.
pub struct Flow {
    /// Those that have content then: what is read before it is written stays without content.
    pub reads: Vec<usize>,
    /// Those that it writes.
    pub writes: Vec<usize>,
}

/// Which values have content, before and after each instruction of a method, in the order of the file.
pub struct MethodFlow {
    /// By instruction, counted through all chains.
    pub steps: Vec<Flow>,
    /// By value: it has content before the first instruction.
    pub given: Vec<bool>,
    /// By value: it has content after the last instruction.
    pub defined: Vec<bool>,
    /// By value: the value whose memory it uses, if no instruction makes it a view.
    pub bases: Vec<usize>,
}

impl MethodFlow {
    /// Follows the instructions of a method.
    pub fn new(plan: &ExecutionPlan) -> MethodFlow {
        let values = plan.values();
        let operators = MethodOperators::known(plan);
        let mut flow = MethodFlow {
            steps: Vec::new(),
            given: values.iter().map(has_content).collect(),
            defined: Vec::new(),
            bases: bases(plan, &operators),
        };
        let index = |value: &i32| usize::try_from(*value).ok().filter(|value| *value < values.len());
        plan.inputs.iter().flatten().filter_map(index).for_each(|input| flow.given[input] = true);
        flow.defined.clone_from(&flow.given);
        for instruction in plan.instructions() {
            let (read, written) = accesses(instruction, &operators, |value| {
                index(&value).is_some_and(|value| flow.defined[flow.bases[value]])
            });
            let with_items = |list: Vec<i32>| {
                let mut seen = HashSet::new();
                let items = list.iter().flat_map(|value| plan.value(*value).map_or(&[][..], EValue::as_tensors));
                let all = list.iter().chain(items).filter_map(index).filter(|value| seen.insert(*value));
                all.collect::<Vec<usize>>()
            };
            let mut reads = with_items(read);
            reads.retain(|value| flow.defined[flow.bases[*value]]);
            let writes = with_items(written);
            writes.iter().for_each(|value| flow.defined[*value] = true);
            flow.steps.push(Flow { reads, writes });
        }
        flow
    }
}

/// Returns the values that an instruction reads, and those that it writes. Unknown operators and delegates write what
/// has no content yet.
fn accesses(
    instruction: &Instruction,
    operators: &MethodOperators,
    is_defined: impl Fn(i32) -> bool,
) -> (Vec<i32>, Vec<i32>) {
    match instruction {
        Instruction::KernelCall { op_index, .. } => {
            let args = instruction.args();
            match operators.get(*op_index) {
                Some(operator) => {
                    let (read, written) = args.split_at(operator.results(args.len()).start.min(args.len()));
                    (read.to_vec(), written.to_vec())
                }
                None => args.iter().partition(|value| is_defined(**value)),
            }
        }
        Instruction::DelegateCall { .. } => instruction.args().iter().partition(|value| is_defined(**value)),
        Instruction::MoveCall { move_from, move_to } => (vec![*move_from], vec![*move_to]),
        Instruction::JumpFalseCall { cond_value_index, .. } => (vec![*cond_value_index], Vec::new()),
        Instruction::FreeCall { value_index } => (vec![*value_index], Vec::new()),
    }
}

/// Returns, by value, the value whose memory it uses, if it is a view that no instruction makes.
fn bases(plan: &ExecutionPlan, operators: &MethodOperators) -> Vec<usize> {
    let written: HashSet<i32> =
        plan.instructions().flat_map(|instruction| accesses(instruction, operators, |_| true).1).collect();
    let base = |(index, value): (usize, &EValue)| match value.as_tensor().map(|tensor| tensor.memory) {
        Some(Memory::View { base }) if !written.contains(&(index as i32)) && (base as usize) < plan.values().len() => {
            base as usize
        }
        Some(Memory::View { .. } | Memory::None | Memory::Auto { .. } | Memory::At { .. }) | None => index,
    };
    plan.values().iter().enumerate().map(base).collect()
}

/// Returns the values that the instructions and the outputs of a method read, and the bases of views among them.
pub fn reads(plan: &ExecutionPlan) -> HashSet<i32> {
    let flow = MethodFlow::new(plan);
    let read = flow.steps.iter().flat_map(|step| &step.reads);
    let read = read.flat_map(|value| [*value, flow.bases[*value]]).map(|value| value as i32);
    read.chain(plan.outputs.iter().flatten().copied()).collect()
}

/// Returns true for a value that has content before a method runs: all but tensors without data and without a state
/// that persists.
fn has_content(value: &EValue) -> bool {
    value.as_tensor().is_none_or(|tensor| {
        tensor.data != TensorData::None || matches!(tensor.memory, Memory::Auto { persistent: true, .. })
    })
}
