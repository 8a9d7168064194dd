//! The attributes of a tensor: numeric fields of its table, one row each.
//!
//! Emitter, reader, printer and decoder go through the rows, so that an attribute is added by its slot in `format::program`, its
//! field in [`Tensor`] with a default, and a row here.

use super::{StorageLayout, Tensor, TensorShapeDynamism};
use crate::format::program::tensor;

/// An attribute of a tensor.
pub struct TensorAttribute {
    /// Key in the YAML.
    pub key: &'static str,
    /// Slot in the table `Tensor`.
    pub slot: u16,
    /// Type of the number.
    pub kind: AttributeKind,
    /// Documentation, one sentence.
    pub doc: &'static str,
    /// Reads it.
    pub get: fn(&Tensor) -> i32,
    /// Writes a value of its type.
    pub set: fn(&mut Tensor, i32),
}

/// Type of an attribute.
#[derive(Debug, Clone, Copy)]
pub enum AttributeKind {
    /// `bool`, as 0 or 1.
    Bool,
    /// `i32`.
    Int,
    /// `i8`, whose first values have these names in the YAML.
    Byte(&'static [&'static str]),
}

/// The attributes, in the order in which they are printed.
pub static TENSOR_ATTRIBUTES: &[TensorAttribute] = &[
    TensorAttribute {
        key: "dynamism",
        slot: tensor::shape_dynamism,
        kind: AttributeKind::Byte(TensorShapeDynamism::WORDS),
        doc: "Whether the sizes may change.",
        get: |tensor| tensor.shape_dynamism.0.into(),
        set: |tensor, value| tensor.shape_dynamism.0 = value as i8,
    },
    TensorAttribute {
        key: "storage_offset",
        slot: tensor::storage_offset,
        kind: AttributeKind::Int,
        doc: "In elements; the runtime takes 0 only.",
        get: |tensor| tensor.storage_offset,
        set: |tensor, value| tensor.storage_offset = value,
    },
    TensorAttribute {
        key: "requires_grad",
        slot: tensor::requires_grad,
        kind: AttributeKind::Bool,
        doc: "As torch had it.",
        get: |tensor| tensor.requires_grad.into(),
        set: |tensor, value| tensor.requires_grad = value != 0,
    },
    TensorAttribute {
        key: "layout",
        slot: tensor::layout,
        kind: AttributeKind::Byte(StorageLayout::WORDS),
        doc: "strided or sparse.",
        get: |tensor| tensor.layout.0.into(),
        set: |tensor, value| tensor.layout.0 = value as i8,
    },
];
