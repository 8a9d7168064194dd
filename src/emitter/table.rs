//! Tables from their fields: each field is stated once, by the name of its slot, with its content. The order is that of
//! the slots, in which children are written.
//!
//! The tables of a file are in the module of its format.

use super::flatbuffer::{FieldValue, Offset, Writer};
use pte_model::format::flat_tensor::{TENSOR_LAYOUT, tensor_layout};
use pte_model::format::program::*;
use pte_model::format::table::implement;
use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::tables::model_tables;
use pte_model::program::{
    CompileSpec, ContainerMetadata, ExtraTensorInfo, Ints, NonConstBufferDevice, Operator, Sizes, StackFrame,
    TensorLayout, ValueId,
};

/// A part of the model that is a table.
pub trait EmitTable {
    /// Writes the table, its children first.
    fn table(&self, w: &mut Writer<'_>) -> Offset;
}

/// Content of a field.
pub trait EmitField {
    /// Writes the object that the field refers to; returns the content of the field in the table.
    fn emit(&self, w: &mut Writer<'_>) -> FieldValue;
}

/// Expands to the slots of a table of `module`: `{ slot: content, ... }`.
macro_rules! slots {
    ($w:expr, $module:ident { $( $field:ident: $content:expr ),* $(,)? }) => {
        [$( ($module::$field, $crate::emitter::table::EmitField::emit(&$content, &mut $w)) ),*]
    };
}
pub(super) use slots;

/// Writes a table: `TABLE module { slot: content, ... }`.
macro_rules! table {
    ($w:expr, $table:ident $module:ident { $($fields:tt)* }) => {{
        let slots = $crate::emitter::table::slots!($w, $module { $($fields)* });
        $w.table(&$table, &slots)
    }};
}
pub(super) use table;

/// Implements [`EmitTable`] for structs with the fields of a table: rows as in [`pte_model::program::tables`].
macro_rules! tables {
    ($( $name:ident = $table:ident $module:ident { $( $field:ident ),* } $( (without $rest:ident) )? )*) => {$(
        impl EmitTable for $name {
            fn table(&self, w: &mut Writer<'_>) -> Offset {
                table!(*w, $table $module { $( $field: self.$field ),* })
            }
        }

        impl EmitField for $name {
            fn emit(&self, w: &mut Writer<'_>) -> FieldValue {
                self.table(w).emit(w)
            }
        }
    )*};
}
pub(super) use tables;

model_tables!(tables);

implement! {
    EmitField: fn emit(&self, w: &mut Writer<'_>) -> FieldValue;
    FieldValue = *self;
    Offset = FieldValue::Child(Some(*self));
    bool = FieldValue::Byte((*self).into());
    u8 = FieldValue::Byte(*self);
    i8 = FieldValue::Byte(*self as u8);
    ScalarType = self.0.emit(w);
    TensorDataLocation = self.0.emit(w);
    DataLocation = self.0.emit(w);
    DeviceType = self.0.emit(w);
    i32 = FieldValue::Int(*self);
    u32 = FieldValue::UInt(*self);
    i64 = FieldValue::Long(*self);
    u64 = FieldValue::ULong(*self);
    f64 = FieldValue::Double(*self);
    String = w.string(self);
    Vec<Offset> = w.vector(self);
    Vec<u8> = w.vector(self);
    Vec<bool> = w.vector(self);
    Vec<i32> = w.vector(self);
    Vec<i64> = w.vector(self);
    Vec<u64> = w.vector(self);
    Vec<f64> = w.vector(self);
    Sizes = w.vector(self);
    DimOrder = w.vector(self);
    [ValueId] = w.vector(&self.iter().map(|id| id.0).collect::<Ints<6>>());
    Vec<ValueId> = self[..].emit(w);
}

impl<T: EmitField + ?Sized> EmitField for &T {
    fn emit(&self, w: &mut Writer<'_>) -> FieldValue {
        (**self).emit(w)
    }
}

impl<T: EmitField> EmitField for Box<T> {
    fn emit(&self, w: &mut Writer<'_>) -> FieldValue {
        (**self).emit(w)
    }
}

/// `None` leaves the field out.
impl<T: EmitField> EmitField for Option<T> {
    fn emit(&self, w: &mut Writer<'_>) -> FieldValue {
        self.as_ref().map_or(FieldValue::Child(None), |content| content.emit(w))
    }
}

impl<T: EmitTable> EmitField for Vec<T> {
    fn emit(&self, w: &mut Writer<'_>) -> FieldValue {
        self.iter().map(|item| item.table(w)).collect::<Vec<Offset>>().emit(w)
    }
}
