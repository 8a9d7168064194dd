//! Slot tables of `etdump_schema_flatcc.fbs` of ExecuTorch 1.5.1, and the names that the runtime gives to events.
//!
//! Unlike in the schemas of programs, some defaults are not zero: an absent `instruction_id`, `delegate_debug_id_int`
//! or `bundled_input_index` is -1.

use pte_model::format::Kind::{
    Bool, Byte, Bytes, Double, Enum as Named, Float, Int, Long, Longs, Table, Tables, Text, UInt, ULong,
};
use pte_model::format::scalar_type::SCALAR_TYPE;
use pte_model::format::table::tables;

/// The file identifier at bytes 4..8.
pub const IDENTIFIER: &str = "ED00";

tables! {
    /// Root table.
    ETDUMP = etdump ETDump { version: UInt, run_data: Tables(&RUN_DATA) }
    /// A block of events.
    RUN_DATA = run_data RunData {
        name: Text, bundled_input_index: Int, allocators: Tables(&ALLOCATOR), events: Tables(&EVENT),
    }
    /// An allocator that events refer to.
    ALLOCATOR = allocator Allocator { name: Text }
    /// An event: exactly one of the fields is present.
    EVENT = event Event {
        profile_event: Table(&PROFILE_EVENT), allocation_event: Table(&ALLOCATION_EVENT), debug_event: Table(&DEBUG_EVENT),
    }
    /// Start and end of something.
    PROFILE_EVENT = profile_event ProfileEvent {
        name: Text, chain_index: Int, instruction_id: Int, delegate_debug_id_int: Int, delegate_debug_id_str: Text,
        delegate_debug_metadata: Bytes, start_time: ULong, end_time: ULong,
    }
    /// An allocation.
    ALLOCATION_EVENT = allocation_event AllocationEvent { allocator_id: Int, allocation_size: ULong }
    /// A value.
    DEBUG_EVENT = debug_event DebugEvent {
        chain_index: ULong, instruction_id: Int, debug_entry: Table(&VALUE), delegate_debug_id_int: Int,
        delegate_debug_id_str: Text, name: Text,
    }
    /// Content of a value: the field of its type.
    VALUE = value Value {
        val: Byte, tensor: Table(&TENSOR), tensor_list: Table(&TENSOR_LIST), int_value: Table(&INT), float_value: Table(&FLOAT),
        double_value: Table(&DOUBLE), bool_value: Table(&BOOL), output: Table(&BOOL),
    }
    /// A tensor; its bytes are in the debug buffer.
    TENSOR = tensor Tensor { scalar_type: Named(&SCALAR_TYPE), sizes: Longs, strides: Longs, offset: Long }
    /// Several tensors.
    TENSOR_LIST = tensor_list TensorList { tensors: Tables(&TENSOR) }
    /// An integer.
    INT = int Int { int_val: Long }
    /// A floating point number in single precision.
    FLOAT = float Float { float_val: Float }
    /// A floating point number in double precision.
    DOUBLE = double Double { double_val: Double }
    /// A truth value.
    BOOL = bool_ Bool { bool_val: Bool }
}

/// The numbers of `ValueType`.
pub mod value_type {
    /// No value.
    pub const NULL: i8 = 0;
    /// `int_value`
    pub const INT: i8 = 1;
    /// `bool_value`
    pub const BOOL: i8 = 2;
    /// `float_value`
    pub const FLOAT: i8 = 3;
    /// `double_value`
    pub const DOUBLE: i8 = 4;
    /// `tensor`
    pub const TENSOR: i8 = 5;
    /// `tensor_list`
    pub const TENSOR_LIST: i8 = 6;
    /// A string, for which `Value` has no field.
    pub const STRING: i8 = 7;
}
