//! The arguments of a graph.

use std::collections::HashSet;

use crate::model::{Graph, NodeOperation};
use crate::schema::{Datatype, EXTERNAL_INPUT, EXTERNAL_OUTPUT, NO_ID, Operation, QDINT8};
pub use pte_payload::arguments::*;

/// Returns the arguments of a graph.
pub fn of(graph: &Graph) -> Vec<GraphArgument> {
    let torch = torch_values(graph);
    let is_argument = |flags: u32| flags & (EXTERNAL_INPUT | EXTERNAL_OUTPUT) != 0;
    let values = graph.values.iter().filter(|value| value.external_id != NO_ID && is_argument(value.flags));
    let argument = values.map(|value| GraphArgument {
        number: value.external_id,
        is_input: value.flags & EXTERNAL_INPUT != 0,
        tensor_types: Datatype::of(value.datatype).map_or(&[], |datatype| datatype.tensors),
        dims: value.sizes().to_vec(),
        is_torch: torch.contains(&value.id),
    });
    argument.collect()
}

/// Returns the ids of the values whose sizes may be in torch's order: those that are quantized at run time for
/// convolutions only.
fn torch_values(graph: &Graph) -> HashSet<u32> {
    let dynamic = graph.values.iter().filter(|value| value.datatype == QDINT8).map(|value| value.id);
    let dynamic: HashSet<u32> = dynamic.collect();
    // Values with those that they are quantized to, and values whose sizes operations read in the order of memory.
    let (mut quantized, mut in_memory) = (Vec::new(), HashSet::new());
    for node in graph.nodes.iter().filter(|_| !dynamic.is_empty()) {
        let written = node.operands().find(|(operand, _)| operand.is_output).map(|(_, id)| id);
        for (_, id) in node.operands().filter(|(operand, _)| !operand.is_output) {
            match (node.operation, written) {
                (NodeOperation::Known(Operation::Convert), Some(written)) if dynamic.contains(&written) => {
                    quantized.push((id, written));
                }
                (NodeOperation::Known(Operation::Conv2d | Operation::ConvTranspose2d), _) if dynamic.contains(&id) => {}
                _ => _ = in_memory.insert(id),
            }
        }
    }
    let in_memory_after = quantized.iter().filter(|(_, written)| in_memory.contains(written)).map(|(id, _)| *id);
    let others: HashSet<u32> = in_memory_after.chain(in_memory.iter().copied()).collect();
    quantized.into_iter().map(|(id, _)| id).filter(|id| !others.contains(id)).collect()
}
