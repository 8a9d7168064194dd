//! The table of the attributes of a tensor, which are numeric fields of its table.
//!
//! Emitter, reader, printer and decoder iterate over the rows. A new attribute needs its slot in `format::program`, a
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
    /// Returns the attribute of a tensor.
    pub get: fn(&Tensor) -> i32,
    /// Sets the attribute to a value of its type.
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

/// Declares the attributes from rows `"key" field: Kind, "documentation"`; the field has the name of its slot.
macro_rules! attributes {
    ($( $key:literal $field:ident: $kind:ident $(($type:ident))?, $doc:literal; )*) => {
        /// The attributes, in the order in which they are printed.
        pub static TENSOR_ATTRIBUTES: &[TensorAttribute] = &[$( TensorAttribute {
            key: $key,
            slot: tensor::$field,
            kind: attributes!(@kind $kind $($type)?),
            doc: $doc,
            get: |tensor| attributes!(@get $kind tensor.$field),
            set: |tensor, value| tensor.$field = attributes!(@value $kind value $($type)?),
        } ),*];
    };
    (@get Byte $field:expr) => { $field.0.into() };
    (@get $kind:ident $field:expr) => { $field.into() };
    (@value Bool $value:ident) => { $value != 0 };
    (@value Int $value:ident) => { $value };
    (@value Byte $value:ident $type:ident) => { $type($value as i8) };
    (@kind Byte $type:ident) => { AttributeKind::Byte($type::WORDS) };
    (@kind $kind:ident) => { AttributeKind::$kind };
}

attributes! {
    "dynamism" shape_dynamism: Byte(TensorShapeDynamism), "Whether the sizes may change.";
    "storage_offset" storage_offset: Int, "In elements; the runtime takes 0 only.";
    "requires_grad" requires_grad: Bool, "As torch had it.";
    "layout" layout: Byte(StorageLayout), "strided or sparse.";
}
