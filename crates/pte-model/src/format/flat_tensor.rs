//! Slot tables of `flat_tensor.fbs`, the schema of `.ptd` files (identifier `FT01`).

use super::Kind::{Bytes, Enum as Named, Ints, Table as Child, Tables, Text, UInt};
use super::program::DATA_SEGMENT;
use super::scalar_type::SCALAR_TYPE;
use super::table::tables;

/// The file identifier at bytes 4..8 (rule H-25).
pub const IDENTIFIER: &str = "FT01";

/// Slot of `segments` in the schema of ExecuTorch 0.5 and 0.6, whose root table has an alignment and a list of tensors
/// before it. Later schemas have no such slot.
pub const SEGMENTS_OF_0_6: u16 = 3;

tables! {
    /// Root table. Its segments have the same table as a program's.
    FLAT_TENSOR = flat_tensor FlatTensor { version: UInt, segments: Tables(&DATA_SEGMENT), named_data: Tables(&NAMED_DATA) }
    /// A blob or a tensor with a key.
    NAMED_DATA = named_data NamedData { key: Text, segment_index: UInt, tensor_layout: Child(&TENSOR_LAYOUT) }
    /// Element type, sizes and order of dimensions of a tensor.
    TENSOR_LAYOUT = tensor_layout TensorLayout { scalar_type: Named(&SCALAR_TYPE), sizes: Ints, dim_order: Bytes }
}
