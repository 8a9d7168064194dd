//! Tables that a struct of the model mirrors, read from the rows of [`crate::program::tables`].

use crate::format::flat_tensor::{TENSOR_LAYOUT, tensor_layout};
use crate::format::flatbuffer::read::{Result, TableRef};
use crate::format::program::*;
use crate::format::table::implement;
use crate::format::{DimOrder, ScalarType, TableSchema};
use crate::program::tables::model_tables;
use crate::program::{
    CompileSpec, ContainerMetadata, DeviceType, ExtraTensorInfo, NonConstBufferDevice, Operator, StackFrame,
    TensorDataLocation, TensorLayout, ValueId,
};

/// A part of the model that is a table.
pub trait ReadTable: Sized {
    /// Schema of the table that is read.
    const TABLE: &'static TableSchema;

    /// Reads it.
    fn read(t: &TableRef<'_, '_>) -> Result<Self>;
}

/// A field of a table.
pub trait ReadField: Sized {
    /// Reads the field in a slot.
    fn read_field(t: &TableRef<'_, '_>, slot: u16) -> Result<Self>;
}

implement! {
    ReadField: fn read_field(t: &TableRef<'_, '_>, slot: u16) -> Result<Self>;
    bool = t.bool(slot);
    i8 = t.i8(slot);
    ScalarType = t.i8(slot).map(ScalarType);
    TensorDataLocation = t.i8(slot).map(TensorDataLocation);
    DeviceType = t.i8(slot).map(DeviceType);
    i32 = t.i32(slot);
    i64 = t.i64(slot);
    u64 = t.u64(slot);
    f64 = t.f64(slot);
    Option<String> = t.text(slot);
    Option<Vec<u8>> = t.u8s(slot);
    Option<Vec<bool>> = t.bools(slot);
    Option<Vec<ValueId>> = t.ids(slot);
    Option<Vec<i64>> = t.i64s(slot);
    Option<Vec<f64>> = t.f64s(slot);
    // An absent list is empty.
    Vec<i32> = Ok(t.i32s(slot)?.unwrap_or_default());
    DimOrder = Ok(t.bytes(slot)?.map(DimOrder::from).unwrap_or_default());
}

impl<T: ReadTable> ReadField for Option<Vec<T>> {
    fn read_field(t: &TableRef<'_, '_>, slot: u16) -> Result<Option<Vec<T>>> {
        t.children(slot, T::TABLE, |t| T::read(&t))
    }
}

impl<T: ReadTable> ReadField for Option<T> {
    fn read_field(t: &TableRef<'_, '_>, slot: u16) -> Result<Option<T>> {
        t.child(slot, T::TABLE)?.map(|t| T::read(&t)).transpose()
    }
}

macro_rules! tables {
    ($( $name:ident = $table:ident $module:ident { $( $field:ident ),* } $( (without $rest:ident) )? )*) => {$(
        impl ReadTable for $name {
            const TABLE: &'static TableSchema = &$table;

            fn read(t: &TableRef<'_, '_>) -> Result<$name> {
                Ok($name { $( $field: ReadField::read_field(t, $module::$field)?, )* $( $rest: Default::default() )? })
            }
        }
    )*};
}

model_tables!(tables);
