//! Other sizes of the inputs of a graph: computes those of all other values by the rules of [`crate::sizes`].
//!
//! Constants and parameters stay. A parameter that no longer fits, such as a shape with the former size, is an error.

use std::collections::HashMap;
use std::fmt;

use crate::model::{Graph, Node, NodeOperation, Sizes};
use crate::schema::{EXTERNAL_INPUT, NO_ID, Operation};
use crate::sizes::{self, Outputs, SizeError, to_torch};

/// Reason why a graph does not take other sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResizeError {
    /// Number of the operation.
    pub node: usize,
    /// Its name.
    pub operation: &'static str,
    /// Reason why the sizes do not fit.
    pub message: String,
}

impl fmt::Display for ResizeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} ({}): {}", self.node, self.operation, self.message)
    }
}

/// Changes the sizes of the inputs of a graph, by the numbers of the arguments, and of all values that follow from
/// them. Returns the number of values whose sizes changed.
///
/// # Errors
/// The first operation that does not take the sizes, or whose results do not follow from rules. The graph is then
/// partly changed.
///
/// ```
/// use pte_xnnpack::draft::{Draft, DraftField, DraftNode, DraftValue};
/// use pte_xnnpack::model::{FieldContent, NodeOperation};
/// use pte_xnnpack::resize::resize;
/// use pte_xnnpack::schema::Operation;
///
/// let fields = vec![DraftField::Value(0), DraftField::Value(1), DraftField::Parameter(FieldContent::UInt(0))];
/// let operation = NodeOperation::Known(Operation::Abs);
/// let mut draft = Draft::new();
/// draft.values = vec![DraftValue::new(1, vec![8, 3]), DraftValue::new(1, vec![8, 3])];
/// (draft.inputs, draft.outputs) = (vec![0], vec![1]);
/// draft.nodes = vec![DraftNode { operation, fields, extra: Vec::new(), debug_handle: None, output_min_max: None }];
/// let mut graph = draft.complete();
/// assert_eq!(resize(&mut graph, &[(0, vec![2, 3])].into()), Ok(2));
/// assert_eq!(graph.values[1].dims[..], [2, 3]);
/// ```
pub fn resize(graph: &mut Graph, inputs: &HashMap<u32, Vec<u64>>) -> Result<usize, ResizeError> {
    let positions = graph.positions();
    let before: Vec<SizedValue> =
        graph.values.iter().map(|value| SizedValue { sizes: value.sizes(), datatype: value.datatype }).collect();
    let mut after = before.clone();
    for (value, sized) in graph.values.iter().zip(&mut after).filter(|(value, _)| value.flags & EXTERNAL_INPUT != 0) {
        if let Some(sizes) = inputs.get(&value.external_id) {
            sized.sizes = sizes.iter().copied().collect();
        }
    }
    for (number, node) in graph.nodes.iter().enumerate() {
        let step = Step { node, positions: &positions };
        let results = step.results(&before, &after);
        let results =
            results.map_err(|message| ResizeError { node: number, operation: node.operation.word(), message })?;
        for (position, sizes) in results {
            after[position].sizes = sizes;
        }
    }
    let mut changed = 0;
    for ((value, old), new) in
        graph.values.iter_mut().zip(&before).zip(&after).filter(|((_, old), new)| old.sizes != new.sizes)
    {
        debug_assert_eq!(old.sizes.len(), new.sizes.len());
        value.dims = new.sizes.iter().map(|size| u32::try_from(*size).unwrap_or(u32::MAX)).collect();
        changed += 1;
    }
    Ok(changed)
}

/// Sizes and element type of a value.
#[derive(Debug, Clone, PartialEq)]
struct SizedValue {
    sizes: Sizes,
    datatype: i16,
}

/// An operation whose results are computed.
struct Step<'g> {
    node: &'g Node,
    positions: &'g HashMap<u32, usize>,
}

impl Step<'_> {
    fn position(&self, slot: u16) -> Option<usize> {
        let id = self.node.fields.get(usize::from(slot))?.uint();
        if id == NO_ID { None } else { self.positions.get(&id).copied() }
    }

    /// Returns the new sizes of the results, if those of an operand changed.
    ///
    /// # Errors
    /// What does not fit.
    fn results(&self, before: &[SizedValue], after: &[SizedValue]) -> Result<Vec<(usize, Sizes)>, String> {
        let operands = || self.node.operation.operands();
        let is_changed = |position: usize| before[position].sizes != after[position].sizes;
        let (operation, reads_changed) = match self.node.operation {
            NodeOperation::Known(operation) => {
                let mut read = operands().filter(|operand| !operand.is_output);
                (Some(operation), read.any(|operand| self.position(operand.slot).is_some_and(is_changed)))
            }
            // Its inputs are not known.
            NodeOperation::Unknown(_) => (None, before != after),
        };
        if !reads_changed {
            return Ok(Vec::new());
        }
        let Some(operation) = operation.filter(|operation| *operation != Operation::ScaledDotProductAttention) else {
            return Err("the sizes of its results are not known".to_owned());
        };
        let former = self.compute(operation, before).map_err(|message| format!("with the former sizes: {message}"))?;
        let found = self.compute(operation, after)?;
        let mut results = Vec::new();
        for operand in operands().filter(|operand| operand.is_output) {
            let Some(position) = self.position(operand.slot) else { continue };
            let stated = &before[position].sizes;
            let sizes_in =
                |list: &Outputs| list.iter().find(|(slot, _)| *slot == operand.slot).map(|(_, sizes)| sizes.clone());
            let new = match (sizes_in(&former), sizes_in(&found)) {
                // The exporter writes the sizes of an input that it quantizes for a convolution in torch's order.
                (None, Some(new)) if operation == Operation::Convert => to_torch(&new),
                (Some(old), Some(new)) if old == *stated => new,
                // The stated bound is tighter than that of the rule.
                (Some(old), Some(new)) if old.len() == stated.len() && new.len() == stated.len() => {
                    new.iter().zip(stated).map(|(new, stated)| *new.min(stated)).collect()
                }
                (_, None) => stated.clone(),
                (old, Some(_)) => {
                    let old = old.unwrap_or_default();
                    return Err(format!("a result of sizes {stated:?}, expected {old:?} for the former sizes"));
                }
            };
            if new.len() != stated.len() || new.iter().any(|size| u32::try_from(*size).is_err()) {
                return Err(format!("a result of sizes {new:?}, expected the rank of {stated:?}"));
            }
            results.push((position, new));
        }
        Ok(results)
    }

    fn compute(&self, operation: Operation, values: &[SizedValue]) -> Result<Outputs, String> {
        let value = |slot: u16| {
            let value = self.position(slot).map(|position| &values[position]);
            Ok(value.map(|value| (value.sizes.clone(), value.datatype)))
        };
        sizes::outputs(operation, &|slot| self.node.fields.get(usize::from(slot)), &value).map_err(
            |error| match error {
                SizeError::Wrong(slot, message) => format!("`{}`: {message}", self.node.operation.field_name(slot)),
                SizeError::Unknown(position) => format!("the sizes of value {position} are not known"),
            },
        )
    }
}
