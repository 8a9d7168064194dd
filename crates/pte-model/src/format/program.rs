//! Slot tables of `program.fbs`, the schema of `.pte` files (identifier `ET12`). The model is [`crate::program`].

use super::Kind::{
    AlignedBytes, Bool, Bools, Byte, Bytes, Double, Doubles, Enum as Named, Int, Ints, Long, Longs, Table as Child,
    Tables, Text, UInt, ULong, ULongs, Union, UnionTag,
};
use super::scalar_type::SCALAR_TYPE;
use super::table::{numbers, tables, unions};

/// The file identifier at bytes 4..8 (rule H-13).
pub const IDENTIFIER: &str = "ET12";

numbers! {
    /// Kind of changes that the sizes of a tensor allow.
    pub struct TensorShapeDynamism {
        /// No changes: the sizes are those in the file.
        STATIC = 0 "static",
        /// The sizes in the file are upper bounds.
        DYNAMIC_BOUND = 1 "dynamic_bound",
        /// Any changes: the runtime allocates the memory.
        DYNAMIC_UNBOUND = 2 "dynamic_unbound",
    }
    /// Layout of a tensor in torch (E-15).
    ///
    /// ```
    /// use pte_model::program::{StorageLayout, Tensor, TensorShapeDynamism};
    ///
    /// let tensor = Tensor::default();
    /// assert_eq!((tensor.layout, tensor.shape_dynamism), (StorageLayout::STRIDED, TensorShapeDynamism::STATIC));
    /// assert_eq!(TensorShapeDynamism::DYNAMIC_BOUND.to_string(), "dynamic_bound");
    /// assert_eq!(StorageLayout(9).to_string(), "9"); // a file may contain any number
    /// ```
    pub struct StorageLayout {
        /// Each element has a position, given by strides.
        STRIDED = 0 "strided",
        /// Coordinates and elements.
        SPARSE = 1 "sparse",
    }
    /// Location of a tensor's data.
    pub struct TensorDataLocation {
        /// A segment of the `.pte`.
        SEGMENT = 0 "segment",
        /// A `.ptd`.
        EXTERNAL = 1 "external",
    }
    /// Location of a delegate's data.
    pub struct DataLocation {
        /// The FlatBuffer.
        INLINE = 0 "inline",
        /// A segment.
        SEGMENT = 1 "segment",
    }
    /// Type of a device.
    pub struct DeviceType {
        /// The processor.
        CPU = 0 "cpu",
        /// A graphics processor of NVIDIA.
        CUDA = 1 "cuda",
    }
}

impl TensorShapeDynamism {
    /// Returns the kind that the exporter writes: dynamic tensors are bounded.
    #[doc(hidden)]
    pub const fn of(is_dynamic: bool) -> TensorShapeDynamism {
        if is_dynamic { TensorShapeDynamism::DYNAMIC_BOUND } else { TensorShapeDynamism::STATIC }
    }
}

tables! {
    /// Root table.
    PROGRAM = program Program {
        version: UInt, execution_plan: Tables(&EXECUTION_PLAN), constant_buffer: Tables(&BUFFER),
        backend_delegate_data: Tables(&BACKEND_DELEGATE_INLINE_DATA), segments: Tables(&DATA_SEGMENT),
        constant_segment: Child(&SUBSEGMENT_OFFSETS), mutable_data_segments: Tables(&SUBSEGMENT_OFFSETS),
        named_data: Tables(&NAMED_DATA),
    }
    /// One method.
    EXECUTION_PLAN = execution_plan ExecutionPlan {
        name: Text, container_meta_type: Child(&CONTAINER_METADATA), values: Tables(&EVALUE), inputs: Ints, outputs: Ints,
        chains: Tables(&CHAIN), operators: Tables(&OPERATOR), delegates: Tables(&BACKEND_DELEGATE),
        non_const_buffer_sizes: Longs, non_const_buffer_device: Tables(&NON_CONST_BUFFER_DEVICE),
    }
    /// Pytree specifications of the method's arguments and results.
    CONTAINER_METADATA = container_metadata ContainerMetadata { encoded_inp_str: Text, encoded_out_str: Text }
    /// One value of a method.
    EVALUE = evalue EValue { val_type: UnionTag, val: Union(KERNEL_TYPES) }
    /// Offset of a tensor in a planned buffer.
    ALLOCATION_DETAILS = allocation_details AllocationDetails { memory_id: UInt, memory_offset_low: UInt, memory_offset_high: UInt }
    /// Optional properties of a tensor.
    EXTRA_TENSOR_INFO = extra_tensor_info ExtraTensorInfo {
        mutable_data_segments_idx: ULong, fully_qualified_name: Text, location: Named(&TensorDataLocation::SCHEMA),
        device_type: Named(&DeviceType::SCHEMA), device_index: Byte,
    }
    /// Name of a kernel.
    OPERATOR = operator Operator { name: Text, overload: Text }
    /// A list of instructions.
    CHAIN = chain Chain { inputs: Ints, outputs: Ints, instructions: Tables(&INSTRUCTION), stacktrace: Tables(&FRAME_LIST) }
    /// One instruction.
    INSTRUCTION = instruction Instruction { instr_args_type: UnionTag, instr_args: Union(INSTRUCTION_ARGUMENTS) }
    /// Stack trace of an instruction, innermost frame last.
    FRAME_LIST = frame_list FrameList { items: Tables(&FRAME) }
    /// One line of a stack trace.
    FRAME = frame Frame { filename: Text, lineno: Int, name: Text, context: Text }
    /// A part of the graph that a backend runs.
    BACKEND_DELEGATE = backend_delegate BackendDelegate {
        id: Text, processed: Child(&BACKEND_DELEGATE_DATA_REFERENCE), compile_specs: Tables(&COMPILE_SPEC),
    }
    /// Location of a delegate's payload.
    BACKEND_DELEGATE_DATA_REFERENCE = backend_delegate_data_reference BackendDelegateDataReference {
        location: Named(&DataLocation::SCHEMA), index: UInt,
    }
    /// An option for a backend.
    COMPILE_SPEC = compile_spec CompileSpec { key: Text, value: Bytes }
    /// A delegate's payload inside the FlatBuffer.
    BACKEND_DELEGATE_INLINE_DATA = backend_delegate_inline_data BackendDelegateInlineData { data: AlignedBytes(16) }
    /// A constant inside the FlatBuffer.
    BUFFER = buffer Buffer { storage: AlignedBytes(16) }
    /// Bytes after the FlatBuffer.
    DATA_SEGMENT = data_segment DataSegment { offset: ULong, size: ULong }
    /// Offsets of the data in one segment.
    SUBSEGMENT_OFFSETS = subsegment_offsets SubsegmentOffsets { segment_index: UInt, offsets: ULongs }
    /// A blob with a key.
    NAMED_DATA = named_data NamedData { key: Text, segment_index: UInt }
    /// Device of one planned buffer.
    NON_CONST_BUFFER_DEVICE = non_const_buffer_device NonConstBufferDevice {
        buffer_idx: Int, device_type: Named(&DeviceType::SCHEMA), device_index: Byte,
    }
}

unions! {
    /// Members of the union `KernelTypes`.
    KernelType KERNEL_TYPES {
        /// The value None.
        Null: NULL = null {}
        /// An integer.
        Int: INT = int { int_val: Long }
        /// A truth value.
        Bool: BOOL = bool_ { bool_val: Bool }
        /// A floating point number.
        Double: DOUBLE = double { double_val: Double }
        /// A tensor.
        Tensor: TENSOR = tensor {
            scalar_type: Named(&SCALAR_TYPE), storage_offset: Int, sizes: Ints, dim_order: Bytes, requires_grad: Bool,
            data_buffer_idx: UInt, allocation_info: Child(&ALLOCATION_DETAILS), layout: Byte,
            shape_dynamism: Named(&TensorShapeDynamism::SCHEMA), extra_tensor_info: Child(&EXTRA_TENSOR_INFO),
        }
        /// A string.
        String: STRING = string { string_val: Text }
        /// A list of integers, each the *index* of an Int value (rule M-7).
        IntList: INT_LIST = int_list { items: Longs }
        /// A list of floating point numbers.
        DoubleList: DOUBLE_LIST = double_list { items: Doubles }
        /// A list of truth values.
        BoolList: BOOL_LIST = bool_list { items: Bools }
        /// A list of tensors, by index.
        TensorList: TENSOR_LIST = tensor_list { items: Ints }
        /// A list of tensors or None (-1), by index.
        OptionalTensorList: OPTIONAL_TENSOR_LIST = optional_tensor_list { items: Ints }
    }
    /// Members of the union `InstructionArguments`.
    InstructionType INSTRUCTION_ARGUMENTS {
        /// Runs a kernel.
        KernelCall: KERNEL_CALL = kernel_call { op_index: Int, args: Ints }
        /// Runs a delegate.
        DelegateCall: DELEGATE_CALL = delegate_call { delegate_index: Int, args: Ints }
        /// Moves a value to another one: a number is copied, a tensor gets the memory of the source.
        MoveCall: MOVE_CALL = move_call { move_from: Int, move_to: Int }
        /// Jumps if the condition is false.
        JumpFalseCall: JUMP_FALSE_CALL = jump_false_call { cond_value_index: Int, destination_instruction: Int }
        /// Frees a tensor's memory.
        FreeCall: FREE_CALL = free_call { value_index: Int }
    }
}
