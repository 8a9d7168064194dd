//! Rows for the tables of the schema that a struct of the model mirrors field by field, and for values whose table has
//! one field. The emitter and the reader expand them.
//!
//! A field of such a table needs its slot in [`crate::format::program`], a field in the struct, and its name here.

/// Expands `$then` with rows `Struct = TABLE module { fields }`. A field after `without` is not in the table.
#[macro_export]
#[doc(hidden)]
macro_rules! model_tables {
    ($then:ident) => {
        $then! {
            ContainerMetadata = CONTAINER_METADATA container_metadata { encoded_inp_str, encoded_out_str }
            ExtraTensorInfo = EXTRA_TENSOR_INFO extra_tensor_info {
                mutable_data_segments_idx, fully_qualified_name, location, device_type, device_index
            } (without tag)
            Operator = OPERATOR operator { name, overload }
            StackFrame = FRAME frame { filename, lineno, name, context }
            CompileSpec = COMPILE_SPEC compile_spec { key, value }
            TensorLayout = TENSOR_LAYOUT tensor_layout { scalar_type, sizes, dim_order }
            NonConstBufferDevice = NON_CONST_BUFFER_DEVICE non_const_buffer_device { buffer_idx, device_type, device_index }
        }
    };
}
pub use crate::model_tables;

/// Expands `$then` with rows `Variant = TABLE module field` of the values whose table has one field.
#[macro_export]
#[doc(hidden)]
macro_rules! value_tables {
    ($then:ident) => {
        $then! {
            Int = INT int int_val;
            Bool = BOOL bool_ bool_val;
            Double = DOUBLE double double_val;
            String = STRING string string_val;
            IntList = INT_LIST int_list items;
            DoubleList = DOUBLE_LIST double_list items;
            BoolList = BOOL_LIST bool_list items;
            TensorList = TENSOR_LIST tensor_list items;
            OptionalTensorList = OPTIONAL_TENSOR_LIST optional_tensor_list items;
        }
    };
}
pub use crate::value_tables;
