//! The memory of small graphs, whose figures the runtime was measured to take (`xnnpack_memory` in lab/tests/runtime),
//! and of malformed ones.

use super::*;
use crate::decode::decode;
use crate::draft::{Draft, DraftField, DraftNode, DraftValue};
use crate::encode;
use crate::model::{FieldContent, NodeOperation};
use crate::schema::Operation;

fn node(operation: Operation, fields: Vec<DraftField>) -> DraftNode {
    DraftNode {
        operation: NodeOperation::Known(operation),
        fields,
        extra: Vec::new(),
        debug_handle: None,
        output_min_max: None,
    }
}

fn flags() -> DraftField {
    DraftField::Parameter(FieldContent::UInt(0))
}

fn decoded(draft: &Draft) -> Graph {
    decode(&encode::encode(&draft.complete()).unwrap()).unwrap()
}

/// A chain of operations by elements on values of these sizes.
fn chain(operations: &[Operation], dims: &[u32]) -> Draft {
    let mut draft = Draft::new();
    draft.values = (0..=operations.len()).map(|_| DraftValue::new(1, dims.to_vec())).collect();
    (draft.inputs, draft.outputs) = (vec![0], vec![operations.len()]);
    let nodes = operations.iter().enumerate();
    let nodes =
        nodes.map(|(at, operation)| node(*operation, vec![DraftField::Value(at), DraftField::Value(at + 1), flags()]));
    draft.nodes = nodes.collect();
    draft
}

fn memory_of(draft: &Draft, processor: Processor) -> DelegateMemory {
    memory(&decoded(draft), processor).unwrap()
}

fn bytes(memory: &DelegateMemory, content: &str) -> u64 {
    memory.parts.iter().find(|part| part.content == content).map_or(0, |part| part.bytes)
}

#[test]
fn results_share_the_memory_of_their_inputs() {
    // The first result is in the workspace; the second has its memory.
    let found =
        memory_of(&chain(&[Operation::Abs, Operation::Negate, Operation::Square], &[100]), Processor::X86Avx512);
    assert_eq!(bytes(&found, "workspace"), 448 + 32);
    assert_eq!((bytes(&found, "packed weights"), found.accuracy), (0, Accuracy::Percent(MEASURED)));
    let transposed = memory_of(&chain(&[Operation::Abs], &[100]), Processor::X86Avx512);
    assert_eq!(bytes(&transposed, "workspace"), 0);
}

#[test]
fn results_that_nothing_reads_take_no_memory() {
    let mut draft = chain(&[Operation::Abs, Operation::Negate], &[100]);
    let with_both = memory_of(&draft, Processor::X86Avx512);
    draft.outputs = vec![1];
    let with_one = memory_of(&draft, Processor::X86Avx512);
    assert!(bytes(&with_one, "operators and values") < bytes(&with_both, "operators and values"));
}

#[test]
fn objects_are_smaller_on_32_bits() {
    let draft = chain(&[Operation::Abs], &[100]);
    let of = |processor| bytes(&memory_of(&draft, processor), "operators and values");
    assert!(of(Processor::Arm32) < of(Processor::Arm64));
    assert_eq!(memory_of(&draft, Processor::Arm32).accuracy, Accuracy::Unmeasured);
}

/// Sizes near 2^64 saturate.
#[test]
fn huge_sizes_saturate() {
    let draft = chain(&[Operation::Abs, Operation::StaticTranspose], &[u32::MAX; 6]);
    let mut draft = draft;
    draft.nodes[1] = node(Operation::Softmax, vec![DraftField::Value(1), DraftField::Value(2), flags()]);
    for processor in Processor::ALL {
        let found = memory_of(&draft, processor);
        assert!(bytes(&found, "workspace") > 1 << 60, "{found:?}");
        assert!(found.total() >= bytes(&found, "workspace"));
    }
}

#[test]
fn graphs_that_are_too_large_are_refused() {
    let mut draft = chain(&vec![Operation::Abs; MAX_PLANNED + 3], &[4]);
    // Each value is read twice, so that none shares memory.
    for at in 0..draft.nodes.len() - 1 {
        draft.nodes.push(node(
            Operation::Abs,
            vec![DraftField::Value(at + 1), DraftField::Value(draft.values.len()), flags()],
        ));
        draft.values.push(DraftValue::new(1, vec![4]));
        draft.outputs.push(draft.values.len() - 1);
    }
    let error = memory(&decoded(&draft), Processor::X86Avx512).unwrap_err();
    assert_eq!(error.to_string(), "4098 values in the workspace, expected at most 4096");
}
