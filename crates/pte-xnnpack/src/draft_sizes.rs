//! Computes the sizes of the results of a draft's operations by the rules of [`crate::sizes`]. The assembler infers
//! them, and the printer omits inferred ones.

use std::cell::RefCell;

use crate::draft::{DraftField, DraftNode};
use crate::model::FieldContent;
use crate::sizes::SizedOperands;

/// A value of a draft whose sizes may not be known yet.
pub trait SizedValue {
    /// Returns its sizes; `None` if they are not known.
    fn sizes(&self) -> Option<&[u64]>;

    /// Returns its element type.
    fn datatype(&self) -> i16;
}

/// Returns the position of the value in a field.
pub fn position(node: &DraftNode, slot: u16) -> Option<usize> {
    match node.fields.get(usize::from(slot)) {
        Some(DraftField::Value(position)) => Some(*position),
        Some(DraftField::NoValue | DraftField::Id(_) | DraftField::Parameter(_) | DraftField::NumDims) | None => None,
    }
}

/// Error of the sizes of an operation.
#[derive(Debug)]
pub enum SizeError {
    /// The sizes of the value at this position are not known.
    Unknown(usize),
    /// A field that does not fit.
    Wrong(u16, String),
}

/// An operation of a draft: the sizes of its outputs are collected.
#[derive(Debug)]
pub struct DraftOperands<'r, V> {
    /// Operation whose results are inferred.
    pub node: &'r DraftNode,
    /// The values of the graph.
    pub values: &'r [V],
    /// Slot and sizes of each output.
    pub found: &'r RefCell<Vec<(u16, Vec<u64>)>>,
}

impl<V> DraftOperands<'_, V> {
    fn is_output(&self, slot: u16) -> bool {
        self.node.operation.operands().any(|operand| operand.slot == slot && operand.is_output)
    }
}

impl<V: SizedValue> SizedOperands for DraftOperands<'_, V> {
    type Error = SizeError;

    fn number(&self, slot: u16) -> Result<u32, SizeError> {
        match self.node.fields.get(usize::from(slot)) {
            Some(DraftField::Parameter(content)) => Ok(content.uint()),
            Some(DraftField::Value(_) | DraftField::NoValue | DraftField::Id(_) | DraftField::NumDims) | None => Ok(0),
        }
    }

    fn list(&self, slot: u16) -> Result<Vec<u64>, SizeError> {
        match self.node.fields.get(usize::from(slot)) {
            Some(DraftField::Parameter(FieldContent::UInts(items))) => {
                Ok(items.iter().map(|item| u64::from(*item)).collect())
            }
            Some(_) | None => Ok(Vec::new()),
        }
    }

    fn value(&self, slot: u16) -> Result<Option<(&[u64], i16)>, SizeError> {
        let Some(DraftField::Value(position)) = self.node.fields.get(usize::from(slot)) else { return Ok(None) };
        let value = &self.values[*position];
        match value.sizes() {
            Some(sizes) => Ok(Some((sizes, value.datatype()))),
            None if self.is_output(slot) => Ok(Some((&[], value.datatype()))),
            None => Err(SizeError::Unknown(*position)),
        }
    }

    fn output(&self, slot: u16, sizes: &[u64]) -> Result<(), SizeError> {
        self.found.borrow_mut().push((slot, sizes.to_vec()));
        Ok(())
    }

    fn wrong<T>(&self, slot: u16, message: String) -> Result<T, SizeError> {
        Err(SizeError::Wrong(slot, message))
    }
}
