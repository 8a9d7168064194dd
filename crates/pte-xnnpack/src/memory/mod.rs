//! Memory that a delegate takes in XNNPACK, computed from its payload: `tiles` and `structures` are tables, `lower` and
//! `rewrite` have the graph that XNNPACK executes, whose operators are those of a recording, `operators` what each of
//! them takes, `planner` the workspace. No data of constants are read.
//!
//! It follows ExecuTorch 1.5.1 with its defaults: all delegates of a process share one workspace, and packed weights
//! are not shared.

mod lower;
mod operators;
mod planner;
mod rewrite;
mod structures;
mod tiles;

use std::collections::HashSet;

use super::model::Graph;
use super::schema::{EXTERNAL_INPUT, EXTERNAL_OUTPUT, Family, OPTIONAL_OPERAND, QDINT8};
use lower::{Lowered, LoweredValue, Storage};
use operators::{EXTRA_BYTES, NodeMemory, Operators, ROW_PARAMETERS, alignment, rounded};
use planner::Usage;
use pte_model::diagnostics::counted;
use pte_payload::decoded::PayloadOperator;
use pte_payload::description::DescribeError;
use pte_payload::memory::{Accuracy, DelegateMemory, DelegatePart, Held, MemorySource, Processor};

/// Largest number of values in a workspace: planning takes the square of it. A language model of 32 layers has some
/// 1,500.
const MAX_PLANNED: usize = 1 << 12;

/// Number of additional rows for which XNNPACK keeps scales.
const EXTRA_ROWS: u64 = 15;

/// Bytes of the name of an operation, which the backend keeps for the trace.
const NAME: u64 = 28;

/// Difference from the runtime in per cent that a test allows: see `xnnpack_memory` in lab/tests/runtime.
const MEASURED: u8 = 5;

/// Returns the memory of a delegate.
///
/// # Errors
/// A payload that is malformed, has an operation that ExecuTorch 1.5.1 does not have, or has too many values.
pub fn memory(graph: &Graph, processor: Processor) -> Result<DelegateMemory, DescribeError> {
    let lowered = Lowered::of(graph).map_err(DescribeError::malformed)?;
    let operators = Operators::new(&lowered, processor);
    let nodes: Vec<NodeMemory> = lowered.nodes.iter().map(|node| operators.of(node)).collect();
    let total = |part: fn(&NodeMemory) -> u64| nodes.iter().map(part).fold(0, u64::saturating_add);
    let usages = usages(&lowered, &nodes, processor);
    if usages.len() > MAX_PLANNED {
        let found = counted(usages.len(), "value");
        return Err(DescribeError::malformed(format!("{found} in the workspace, expected at most {MAX_PLANNED}")));
    }
    let workspace = match planner::workspace(&usages) {
        0 => 0,
        // Sparse microkernels read after its end.
        bytes => bytes.saturating_add(2 * EXTRA_BYTES),
    };
    let pointer = processor.pointer();
    let in_place = in_place(graph);
    let objects = total(|node| node.objects).saturating_add(fixed_objects(graph, &lowered, in_place.len(), processor));
    let part = |content, bytes, alignment, held| DelegatePart::new(content, bytes, alignment, MemorySource::Heap, held);
    let mut workspace = part("workspace", workspace, alignment(processor), Held::FirstExecution);
    workspace.shared = true;
    let constants = in_place.iter().copied().fold(0, u64::saturating_add);
    let parts = [
        part("packed weights", total(|node| node.packed), alignment(processor), Held::Load),
        part("operators and values", objects, pointer, Held::Load),
        workspace,
        part("pointers to pixels", total(|node| node.buffers), pointer, Held::FirstExecution),
        DelegatePart::new("constants in place", constants, 1, MemorySource::Loader, Held::Load),
    ];
    let accuracy = match processor {
        // How many rows are quantized at once depends on the number of threads, and on the cache.
        Processor::X86Avx512 | Processor::X86Avx2 | Processor::Arm64
            if lowered.nodes.iter().any(|node| node.quantizes) =>
        {
            Accuracy::AtMost
        }
        Processor::X86Avx512 | Processor::X86Avx2 | Processor::Arm64 => Accuracy::Percent(MEASURED),
        _ => Accuracy::Unmeasured,
    };
    let mut memory = DelegateMemory::new(parts, accuracy);
    let named = graph.constants.iter().filter(|constant| constant.key.is_some());
    memory.named_data = named.map(|constant| constant.size).fold(0, u64::saturating_add);
    Ok(memory)
}

/// Returns the operators that XNNPACK builds of a graph, in the order in which they run; none if ExecuTorch 1.5.1 does
/// not have an operation of it.
pub fn operators(graph: &Graph) -> Vec<PayloadOperator> {
    let nodes = Lowered::of(graph).map(|lowered| lowered.nodes).unwrap_or_default();
    let operators = nodes.into_iter().map(|mut node| {
        let mut seen = HashSet::new();
        node.nodes.retain(|position| seen.insert(*position));
        PayloadOperator { name: node.event(), nodes: node.nodes.to_vec() }
    });
    operators.collect()
}

/// Objects of the graph itself, of its values, and of the arguments of the delegate.
fn fixed_objects(graph: &Graph, lowered: &Lowered<'_>, in_place: usize, processor: Processor) -> u64 {
    let structures = structures::of(processor);
    let is_argument = |flags: u32| flags & (EXTERNAL_INPUT | EXTERNAL_OUTPUT) != 0;
    let arguments = graph.values.iter().filter(|value| is_argument(value.flags)).count();
    let values = lowered.values.len() - arguments + (graph.num_externs as usize).max(arguments);
    let of = |count: usize, bytes: u64| (count as u64).saturating_mul(bytes);
    [
        structures.runtime,
        of(values, structures.value),
        of(lowered.nodes.len(), structures.node + NAME),
        of(lowered.merged, structures.node),
        // The list of owners grows by doubling.
        of(in_place.checked_next_power_of_two().filter(|_| in_place > 0).unwrap_or(0), structures.owner),
        of(arguments, structures.argument),
    ]
    .into_iter()
    .fold(0, u64::saturating_add)
}

/// Sizes in bytes of the constants in named data that operations read in place: the runtime does not free them.
fn in_place(graph: &Graph) -> Vec<u64> {
    let mut is_packed = HashSet::new();
    for node in &graph.nodes {
        let packed = node.operands().filter(|(operand, _)| matches!(operand.name, "filter_id" | OPTIONAL_OPERAND));
        is_packed.extend(packed.map(|(_, id)| id));
    }
    let constants = graph.values.iter().filter(|value| value.constant != 0 && !is_packed.contains(&value.id));
    let constants = constants.filter_map(|value| graph.constants.get(value.constant as usize));
    constants.filter(|constant| constant.key.is_some()).map(|constant| constant.size).collect()
}

/// Returns the sizes and times of everything in the workspace.
fn usages(lowered: &Lowered<'_>, nodes: &[NodeMemory], processor: Processor) -> Vec<Usage> {
    let round = |bytes: u64| rounded(rounded(bytes, EXTRA_BYTES), alignment(processor));
    let mut usages = vec![Usage { bytes: 0, nodes: (usize::MAX, 0) }; lowered.values.len()];
    let mut consumers = vec![0usize; lowered.values.len()];
    let mut first_consumer = vec![usize::MAX; lowered.values.len()];
    for (number, node) in lowered.nodes.iter().enumerate() {
        for value in node.inputs.iter().chain(&node.outputs) {
            let (first, last) = usages[*value].nodes;
            usages[*value].nodes = (first.min(number), last.max(number));
        }
        for (position, value) in node.inputs.iter().enumerate() {
            if !node.inputs[..position].contains(value) {
                consumers[*value] += 1;
                first_consumer[*value] = number.min(first_consumer[*value]);
            }
        }
    }
    for (usage, value) in usages.iter_mut().zip(&lowered.values) {
        if value.storage == Storage::Workspace && usage.nodes.0 != usize::MAX {
            usage.bytes = round(value.bytes()).saturating_add(scales(value, round));
        }
    }
    share(lowered, &mut usages, &consumers, &first_consumer);
    let running = nodes.iter().enumerate();
    usages.extend(running.map(|(number, node)| Usage { bytes: round(node.workspace), nodes: (number, number) }));
    usages.retain(|usage| usage.bytes > 0);
    usages
}

/// Memory for the scales and sums of a value that is quantized at run time.
fn scales(value: &LoweredValue, round: impl Fn(u64) -> u64) -> u64 {
    if value.datatype != QDINT8 {
        return 0;
    }
    let rows = value.dims.len().saturating_sub(value.scaled_dims);
    let rows = value.dims[..rows].iter().fold(1u64, |rows, size| rows.saturating_mul(*size));
    let parameters = rows.saturating_add(EXTRA_ROWS).saturating_mul(ROW_PARAMETERS);
    round(parameters).saturating_add(round(EXTRA_ROWS * 4))
}

/// Lets the results of operations by elements have the memory of an input that nothing else reads.
fn share(lowered: &Lowered<'_>, usages: &mut [Usage], consumers: &[usize], first_consumer: &[usize]) {
    let mut owner: Vec<usize> = (0..usages.len()).collect();
    let is_single = |value: usize| consumers[value] == 1 && lowered.values[value].storage == Storage::Workspace;
    for node in &lowered.nodes {
        let is_by_element = matches!(
            node.kind,
            Family::Unary
                | Family::Clamp
                | Family::Table
                | Family::Binary
                | Family::Copy
                | Family::Softmax
                | Family::Reshape
        );
        let output = node.outputs[0];
        if !is_by_element || !is_single(output) {
            continue;
        }
        let bytes = lowered.values[output].bytes();
        let input = node.inputs.iter().find(|input| is_single(**input) && lowered.values[**input].bytes() == bytes);
        if let Some(input) = input {
            owner[output] = owner[*input];
            usages[output].bytes = 0;
            usages[owner[output]].nodes.1 = first_consumer[output];
        }
    }
}

#[cfg(test)]
mod tests;
