//! Computes the sizes of the results of a draft's operations by the rules of [`crate::sizes`]. The assembler infers
//! them, and the printer omits inferred ones.

use crate::draft::{DraftField, DraftNode};
use crate::model::{NodeOperation, Sizes};
use crate::sizes::{self, Outputs, SizeError};

/// A value of a draft whose sizes may not be known yet.
pub trait SizedValue {
    /// Returns its sizes; `None` if they are not known.
    fn sizes(&self) -> Option<&[u64]>;

    /// Returns its element type.
    fn datatype(&self) -> i16;
}

/// Returns the sizes of the outputs of an operation of a draft; none if the operation is unknown.
///
/// # Errors
/// An operand or parameter that does not fit, or the first input whose sizes are not known.
pub fn outputs<V: SizedValue>(node: &DraftNode, values: &[V]) -> Result<Outputs, SizeError> {
    let NodeOperation::Known(operation) = node.operation else { return Ok(Outputs::new()) };
    let field = |slot: u16| match node.fields.get(usize::from(slot)) {
        Some(DraftField::Parameter(content)) => Some(content),
        Some(DraftField::Value(_) | DraftField::NoValue | DraftField::Id(_) | DraftField::NumDims) | None => None,
    };
    let is_output = |slot: u16| operation.operands().any(|operand| operand.slot == slot && operand.is_output);
    let value = |slot: u16| {
        let Some(position) = node.position(slot) else { return Ok(None) };
        let value = &values[position];
        match value.sizes() {
            Some(sizes) => Ok(Some((sizes.into(), value.datatype()))),
            None if is_output(slot) => Ok(Some((Sizes::new(), value.datatype()))),
            None => Err(SizeError::Unknown(position)),
        }
    };
    sizes::outputs(operation, &field, &value)
}
