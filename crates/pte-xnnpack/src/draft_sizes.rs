//! Computes the sizes of the results of a draft's operations by the rules of [`crate::sizes`]. The assembler infers
//! them, and the printer omits inferred ones.

use crate::draft::{DraftField, DraftNode};
use crate::model::{NodeOperation, Sizes};
use crate::sizes::{self, Outputs, SizeError};

/// Returns the sizes of the outputs of an operation of a draft; none if the operation is unknown. `value` returns the
/// sizes, if they are known yet, and the element type of the value at a position.
///
/// # Errors
/// An operand or parameter that does not fit, or the first input whose sizes are not known.
pub fn outputs(node: &DraftNode, value: impl Fn(usize) -> (Option<Sizes>, i16)) -> Result<Outputs, SizeError> {
    let NodeOperation::Known(operation) = node.operation else { return Ok(Outputs::new()) };
    let field = |slot: u16| match node.fields.get(usize::from(slot)) {
        Some(DraftField::Parameter(content)) => Some(content),
        Some(DraftField::Value(_) | DraftField::NoValue | DraftField::Id(_) | DraftField::NumDims) | None => None,
    };
    let is_output = |slot: u16| operation.operands().any(|operand| operand.slot == slot && operand.is_output);
    let value = |slot: u16| {
        let Some(position) = node.position(slot) else { return Ok(None) };
        match value(position) {
            (Some(sizes), datatype) => Ok(Some((sizes, datatype))),
            (None, datatype) if is_output(slot) => Ok(Some((Sizes::new(), datatype))),
            (None, _) => Err(SizeError::Unknown(position)),
        }
    };
    sizes::outputs(operation, &field, &value)
}
