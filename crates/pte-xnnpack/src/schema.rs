//! Schema of the graph in the payload of an XNNPACK delegate. Identifier `XN00` or `XN01`; the two differ in the
//! meaning of constant indices, not in their slots.
//!
//! Nothing is read or written here.

use pte_model::format::Kind::{
    self, AlignedBytes, Float, Floats, Int, Short, Table, Tables, Text, UInt, UInts, ULong, UShorts, UnionTag,
};
use pte_model::format::table::{Union, tables};
use pte_model::format::words::words;
use pte_model::format::{ScalarType, TableSchema};

/// Bytes 4..8 of a payload with a [header](pte_payload::header).
pub const MAGIC: &[u8; 4] = b"XH00";

/// The file identifiers at bytes 4..8 of the graph.
pub const IDENTIFIERS: [&str; 2] = ["XN00", "XN01"];

/// Id that means no value.
pub const NO_ID: u32 = u32::MAX;

tables! {
    /// Root table.
    GRAPH = graph XNNGraph {
        version: Text, xnodes: Tables(&NODE), xvalues: Tables(&VALUE), num_externs: UInt, input_ids: UInts, output_ids: UInts,
        constant_buffer: Tables(&BUFFER), mem_buffer_sizes: UInts, constant_data: Tables(&CONSTANT_DATA_OFFSET),
    }
    /// Bytes of a constant inside the graph.
    BUFFER = buffer Buffer { storage: AlignedBytes(16) }
    /// Location of a constant after the graph or in named data.
    CONSTANT_DATA_OFFSET = constant_data_offset ConstantDataOffset { offset: ULong, size: ULong, named_key: Text }
    /// A value.
    VALUE = value XValue { xvalue_union_type: UnionTag, xvalue_union: Kind::Union(VALUES) }
    /// A tensor.
    TENSOR_VALUE = tensor_value XNNTensorValue {
        datatype: Short, num_dims: UInt, dims: UInts, constant_buffer_idx: UInt, external_id: UInt, flags: UInt, id_out: UInt,
        dq_datatype: Short,
    }
    /// A quantized tensor.
    QUANTIZED_TENSOR_VALUE = quantized_tensor_value XNNQuantizedTensorValue {
        tensor_value: Table(&TENSOR_VALUE), quant_params_type: UnionTag, quant_params: Kind::Union(QUANT_PARAMS),
    }
    /// Quantization with a scale per channel.
    PER_CHANNEL_QUANT = per_channel_quant PerChannelQuant {
        scale: Floats, channel_dim: Int, scale_buffer_idx: UInt, num_scales: UInt,
    }
    /// Quantization with one scale.
    PER_TENSOR_QUANT = per_tensor_quant PerTensorQuant { scale: Float, zero_point: Int }
    /// Quantization with scales that are computed at run time.
    PER_TOKEN_DYNAMIC_QUANT = per_token_dynamic_quant PerTokenDynamicQuant { num_nonbatch_dims: Int }
    /// Quantization with a scale per group of a channel.
    PER_CHANNEL_GROUP_QUANT = per_channel_group_quant PerChannelGroupQuant {
        scale: Floats, channel_dim: Int, group_size: Int, scale_bf16: UShorts, scale_buffer_idx: UInt, num_scales: UInt,
    }
    /// An operation.
    NODE = node XNode {
        xnode_union_type: UnionTag, xnode_union: Kind::Union(NODES), debug_handle: UInt, output_min_max: Table(&OUTPUT_MIN_MAX),
    }
    /// Bounds that an output is clamped to.
    OUTPUT_MIN_MAX = output_min_max OutputMinMax { output_min: Float, output_max: Float }
    /// An operation with two inputs.
    NODE_2X1 = node_2x1 XNNNode2x1 { input1_id: UInt, input2_id: UInt, output_id: UInt, flags: UInt }
    /// An operation with one input.
    NODE_1X1 = node_1x1 XNNNode1x1 { input_id: UInt, output_id: UInt, flags: UInt }
    /// A concatenation of two to five inputs, as the tag of the union says.
    CAT = cat XNNCat {
        axis: UInt, input1_id: UInt, input2_id: UInt, input3_id: UInt, input4_id: UInt, output_id: UInt, flags: UInt,
        input5_id: UInt,
    }
    /// A matrix product.
    FULLY_CONNECTED = fully_connected XNNFullyConnected {
        input1_id: UInt, filter_id: UInt, bias_id: UInt, output_id: UInt, flags: UInt,
    }
    /// A convolution.
    CONV = conv XNNNodeConv {
        padding_top: UInt, padding_right: UInt, padding_bottom: UInt, padding_left: UInt, kernel_height: UInt,
        kernel_width: UInt, subsampling_height: UInt, subsampling_width: UInt, dilation_height: UInt, dilation_width: UInt,
        group_input_channels: UInt, group_output_channels: UInt, groups: UInt, adjustment_height: UInt,
        adjustment_width: UInt, input1_id: UInt, filter_id: UInt, bias_id: UInt, output_id: UInt, flags: UInt,
    }
    /// A pooling.
    POOLING = pooling XNNPooling2D {
        padding_top: UInt, padding_right: UInt, padding_bottom: UInt, padding_left: UInt, pooling_height: UInt,
        pooling_width: UInt, stride_height: UInt, stride_width: UInt, dilation_height: UInt, dilation_width: UInt,
        input_id: UInt, output_id: UInt, flags: UInt,
    }
    /// A maximum pooling with indices.
    ARG_MAX_POOLING = arg_max_pooling XNNArgMaxPooling2d {
        padding_top: UInt, padding_right: UInt, padding_bottom: UInt, padding_left: UInt, pooling_height: UInt,
        pooling_width: UInt, input_id: UInt, output_value_id: UInt, output_index_id: UInt, flags: UInt,
    }
    /// A permutation of dimensions.
    TRANSPOSE = transpose XNNStaticTranspose {
        num_dims: UInt, perm: UInts, input_id: UInt, output_id: UInt, flags: UInt,
    }
    /// A change of shape.
    RESHAPE = reshape XNNStaticReshape {
        num_dims: UInt, new_shape: UInts, input_id: UInt, output_id: UInt, flags: UInt,
    }
    /// A slice.
    SLICE = slice XNNStaticSlice {
        num_dims: UInt, offsets: UInts, sizes: UInts, input_id: UInt, output_id: UInt, flags: UInt,
    }
    /// A bilinear resize.
    RESIZE_BILINEAR = resize_bilinear XNNStaticResizeBilinear2D {
        new_height: UInt, new_width: UInt, input_id: UInt, output_id: UInt, flags: UInt,
    }
    /// A padding with a constant.
    CONSTANT_PAD = constant_pad XNNStaticConstantPad {
        pre_paddings: UInts, post_paddings: UInts, padding_value: Float, input_id: UInt, output_id: UInt, flags: UInt,
    }
    /// ELU.
    ELU = elu XNNELU { alpha: Float, input_id: UInt, output_id: UInt, flags: UInt }
    /// Leaky ReLU.
    LEAKY_RELU = leaky_relu XNNLeakyReLU { negative_slope: Float, input_id: UInt, output_id: UInt, flags: UInt }
    /// Scaled dot-product attention.
    ATTENTION = attention XNNScaledDotProductAttention {
        query_id: UInt, key_id: UInt, value_id: UInt, scale_id: UInt, mask_id: UInt, output_id: UInt, flags: UInt,
    }
}

/// Members of the union `XValueUnion`, from tag 1.
pub static VALUES: &[&TableSchema] = &[&TENSOR_VALUE, &QUANTIZED_TENSOR_VALUE];

/// Flag of a value that is an input of the graph.
pub const EXTERNAL_INPUT: u32 = 1;
/// Flag of a value that is an output of the graph.
pub const EXTERNAL_OUTPUT: u32 = 2;

// Flags of operations.
/// Filter with sizes `[inputs, outputs]`, second matrix with sizes `[columns, inner]`.
pub const TRANSPOSED: u32 = 1;
/// Padding computed by TensorFlow's rule.
pub const SAME_PADDING: u32 = 4;
/// Reduced dimensions have size 1, instead of being removed.
pub const KEEP_DIMS: u32 = 0x40;

/// Highest rank of a value in XNNPACK.
pub const MAX_RANK: usize = 6;

/// A member of the union `XNNQuantParams`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
// The names are those of the schema, without the suffix.
#[allow(missing_docs, clippy::enum_variant_names)]
pub enum QuantParams {
    PerChannel,
    PerTensor,
    PerTokenDynamic,
    PerChannelGroup,
}

impl Union for QuantParams {
    const MEMBERS: &'static [&'static TableSchema] =
        &[&PER_CHANNEL_QUANT, &PER_TENSOR_QUANT, &PER_TOKEN_DYNAMIC_QUANT, &PER_CHANNEL_GROUP_QUANT];

    fn of_tag(tag: u8) -> Option<QuantParams> {
        use QuantParams::*;
        [PerChannel, PerTensor, PerTokenDynamic, PerChannelGroup].get(usize::from(tag).checked_sub(1)?).copied()
    }

    fn tag(self) -> u8 {
        self as u8 + 1
    }
}

impl QuantParams {
    /// Returns the role of the parameters for element types.
    pub fn quantization(self) -> Quantization {
        match self {
            QuantParams::PerChannel => Quantization::Channel,
            QuantParams::PerTensor => Quantization::Tensor,
            QuantParams::PerTokenDynamic => Quantization::Token,
            QuantParams::PerChannelGroup => Quantization::Group,
        }
    }

    /// Returns true if there are several scales, whose number follows from the sizes, in a list or in a constant.
    pub fn has_scales(self) -> bool {
        matches!(self, QuantParams::PerChannel | QuantParams::PerChannelGroup)
    }

    /// Returns the element type of scales in a constant.
    pub fn scale_type(self) -> ScalarType {
        match self {
            QuantParams::PerChannelGroup => ScalarType::BFLOAT16,
            QuantParams::PerChannel | QuantParams::PerTensor | QuantParams::PerTokenDynamic => ScalarType::FLOAT,
        }
    }
}

/// Members of the union `XNNQuantParams`, from tag 1.
pub static QUANT_PARAMS: &[&TableSchema] = QuantParams::MEMBERS;

/// What operations compute: the rules of their sizes, and of their memory, are those of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Family {
    /// Function of an element.
    Unary,
    /// Function of two elements, after broadcasting.
    Binary,
    Clamp,
    Copy,
    Convert,
    Softmax,
    Reshape,
    FullyConnected,
    Convolution,
    TransposedConvolution,
    MatrixProduct,
    AveragePooling,
    MaxPooling,
    ArgMaxPooling,
    Mean,
    Resize,
    Transpose,
    Pad,
    Slice,
    Concatenation,
    Attention,
    /// A table of 256 results, which XNNPACK makes of unary operations.
    Table,
    /// Conversion that quantizes at run time.
    Quantize,
}

/// Declares the members of the union `XNodeUnion`, from tag 1.
macro_rules! operations {
    ($( $name:ident $word:literal: $table:ident $family:ident, )*) => {
        words! {
            /// An operation: a member of the union `XNodeUnion`, without the prefix `XNN`.
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            // The names are those of the schema.
            #[allow(missing_docs, clippy::upper_case_acronyms)]
            pub enum Operation { $( $name $word ),* } fn word;
        }

        impl Operation {
            /// Returns what the operation computes.
            pub const fn family(self) -> Family {
                match self {
                    $( Operation::$name => Family::$family ),*
                }
            }
        }

        impl Union for Operation {
            const MEMBERS: &'static [&'static TableSchema] = &[$( &$table ),*];

            fn of_tag(tag: u8) -> Option<Operation> {
                Operation::ALL.get(usize::from(tag).checked_sub(1)?).copied()
            }

            fn tag(self) -> u8 {
                self as u8 + 1
            }
        }
    };
}

operations! {
    Add "add": NODE_2X1 Binary,
    FullyConnected "fully_connected": FULLY_CONNECTED FullyConnected,
    Softmax "softmax": NODE_1X1 Softmax,
    Sigmoid "sigmoid": NODE_1X1 Unary,
    StaticTranspose "static_transpose": TRANSPOSE Transpose,
    Clamp "clamp": NODE_1X1 Clamp,
    Conv2d "conv2d": CONV Convolution,
    Div "div": NODE_2X1 Binary,
    StaticResizeBilinear2D "static_resize_bilinear2d": RESIZE_BILINEAR Resize,
    StaticConstantPad "static_constant_pad": CONSTANT_PAD Pad,
    AvgPooling2d "avg_pooling2d": POOLING AveragePooling,
    Minimum "minimum": NODE_2X1 Binary,
    DepthwiseConv2d "depthwise_conv2d": CONV Convolution,
    MaxPooling2d "max_pooling2d": POOLING MaxPooling,
    Multiply "multiply": NODE_2X1 Binary,
    Subtract "subtract": NODE_2X1 Binary,
    Floor "floor": NODE_1X1 Unary,
    Convert "convert": NODE_1X1 Convert,
    GlobalAvgPooling2d "global_avg_pooling2d": NODE_1X1 Mean,
    StaticReshape "static_reshape": RESHAPE Reshape,
    ArgMaxPooling2d "arg_max_pooling2d": ARG_MAX_POOLING ArgMaxPooling,
    SquareRoot "square_root": NODE_1X1 Unary,
    Ceiling "ceiling": NODE_1X1 Unary,
    Hardswish "hardswish": NODE_1X1 Unary,
    LeakyReLU "leaky_relu": LEAKY_RELU Unary,
    Maximum "maximum": NODE_2X1 Binary,
    Negate "negate": NODE_1X1 Unary,
    Square "square": NODE_1X1 Unary,
    ELU "elu": ELU Unary,
    Abs "abs": NODE_1X1 Unary,
    PReLU "prelu": NODE_2X1 Binary,
    Concatenate2 "concatenate2": CAT Concatenation,
    Concatenate3 "concatenate3": CAT Concatenation,
    Concatenate4 "concatenate4": CAT Concatenation,
    StaticSlice "static_slice": SLICE Slice,
    ScaledDotProductAttention "scaled_dot_product_attention": ATTENTION Attention,
    BatchMatrixMultiply "batch_matrix_multiply": NODE_2X1 MatrixProduct,
    Concatenate5 "concatenate5": CAT Concatenation,
    ConvTranspose2d "conv_transpose2d": CONV TransposedConvolution,
    ReciprocalSquareRoot "reciprocal_square_root": NODE_1X1 Unary,
    Log "log": NODE_1X1 Unary,
    Gelu "gelu": NODE_1X1 Unary,
    Tanh "tanh": NODE_1X1 Unary,
    Exp "exp": NODE_1X1 Unary,
    Sin "sin": NODE_1X1 Unary,
    Copy "copy": NODE_1X1 Copy,
    Cos "cos": NODE_1X1 Unary,
}

/// Members of the union `XNodeUnion`, from tag 1.
pub static NODES: &[&TableSchema] = Operation::MEMBERS;

/// Number of inputs of the concatenations.
const CONCATENATED: &[(Operation, u8)] = &[
    (Operation::Concatenate2, 2),
    (Operation::Concatenate3, 3),
    (Operation::Concatenate4, 4),
    (Operation::Concatenate5, 5),
];

/// A field of an operation with the id of a value.
#[derive(Debug, Clone, Copy)]
pub struct Operand {
    /// Slot of the field in the table of the operation.
    pub slot: u16,
    /// Name of the field in the schema.
    pub name: &'static str,
    /// The operation writes the value.
    pub is_output: bool,
}

impl Operation {
    /// Returns the slot of the flags; `None` if the operation has none.
    pub fn flags_slot(self) -> Option<u16> {
        self.slot_of(&["flags"], "")
    }

    /// Returns the slot of the field whose name is one of `stems` and `end`.
    pub fn slot_of(self, stems: &[&str], end: &str) -> Option<u16> {
        let mut fields = (0..).zip(self.table().fields);
        let found = fields.find(|(_, field)| field.name.strip_suffix(end).is_some_and(|stem| stems.contains(&stem)));
        found.map(|(slot, _)| slot)
    }

    /// Operands in the order of the schema, except that a fifth input of a concatenation follows the output.
    pub fn operands(self) -> impl Iterator<Item = Operand> {
        // Concatenations share a table; each uses the first of its inputs.
        let used = CONCATENATED.iter().find(|(operation, _)| *operation == self);
        let inputs = used.map_or(u8::MAX, |(_, inputs)| *inputs);
        (0..).zip(self.table().fields).filter_map(move |(slot, field)| {
            let stem = field.name.strip_suffix("_id").filter(|_| matches!(field.kind, UInt))?;
            let position: Option<u8> = stem.strip_prefix("input").and_then(|position| position.parse().ok());
            let is_output = stem.starts_with("output");
            position.is_none_or(|position| position <= inputs).then_some(Operand { slot, name: field.name, is_output })
        })
    }
}

/// Field of a value that an operation may not have: its bias.
pub const OPTIONAL_OPERAND: &str = "bias_id";

/// Parameters of the quantization of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantization {
    /// None: the value is an `XNNTensorValue`.
    None,
    /// `PerTensorQuant`.
    Tensor,
    /// `PerChannelQuant`.
    Channel,
    /// `PerTokenDynamicQuant`.
    Token,
    /// `PerChannelGroupQuant`.
    Group,
}

/// An element type of values.
#[derive(Debug)]
pub struct Datatype {
    /// Name in the schema, without the prefix `xnn_datatype_`.
    pub name: &'static str,
    /// Size of an element in bits.
    pub bits: u64,
    /// Parameters that values of the type have. `None` for types that graphs do not contain: XNNPACK chooses them
    /// itself.
    pub quantization: Option<Quantization>,
    /// Element type of the data of a constant; of bytes of two elements if they have 4 bits.
    pub storage: ScalarType,
    /// Codes of the types of tensors that are arguments of this type; empty if no argument has it.
    pub tensors: &'static [ScalarType],
}

impl Datatype {
    /// Returns the element type with a number of the schema; `None` if there is none.
    pub fn of(code: i16) -> Option<&'static Datatype> {
        DATATYPES.get(usize::try_from(code).ok()?)
    }

    /// Returns the number of the element type with a name; `None` if there is none.
    pub fn code(name: &str) -> Option<i16> {
        DATATYPES.iter().position(|datatype| datatype.name == name).map(|code| code as i16)
    }

    /// Returns the sizes of a constant as it is stored: of bytes, if two elements are in each.
    ///
    /// # Errors
    /// The first size that exceeds `i32`.
    pub fn stored_sizes(&self, dims: &[u32]) -> Result<Vec<i32>, u32> {
        let last = dims.len().saturating_sub(1);
        let stored = |(position, size): (usize, &u32)| {
            let size = if self.bits == 4 && position == last { size.div_ceil(2) } else { *size };
            i32::try_from(size).map_err(|_| size)
        };
        dims.iter().enumerate().map(stored).collect()
    }
}

/// Declares the enum `XNNDatatype`, by its numbers from 0.
macro_rules! datatypes {
    ($( $(#[$doc:meta])* $code:ident $name:literal $bits:literal $storage:ident $quantization:expr, [$($tensor:ident)*]; )*) => {
        // The names are those of the schema; no operation takes some of them.
        #[allow(clippy::upper_case_acronyms, dead_code)]
        enum DatatypeCode { $( $code ),* }

        $(
            $(#[$doc])*
            #[allow(dead_code)]
            pub const $code: i16 = DatatypeCode::$code as i16;
        )*

        /// Element types, by number.
        pub static DATATYPES: &[Datatype] = &[$(
            Datatype {
                name: $name,
                bits: $bits,
                quantization: $quantization,
                storage: ScalarType::$storage,
                tensors: &[$( ScalarType::$tensor ),*],
            }
        ),*];
    };
}

// Indices that an operation computes as int32 are widened in place if the tensor is Long.
datatypes! {
    /// No type.
    INVALID "invalid" 0 BYTE None, [];
    /// float32.
    FP32 "fp32" 32 FLOAT Some(Quantization::None), [FLOAT];
    /// float16.
    FP16 "fp16" 16 HALF Some(Quantization::None), [HALF];
    /// int8 with one scale.
    QINT8 "qint8" 8 CHAR Some(Quantization::Tensor), [CHAR];
    /// uint8 with one scale.
    QUINT8 "quint8" 8 BYTE Some(Quantization::Tensor), [BYTE];
    /// int32 with one scale: a bias.
    QINT32 "qint32" 32 INT Some(Quantization::Tensor), [INT];
    /// int8 with a scale per channel: weights.
    QCINT8 "qcint8" 8 CHAR Some(Quantization::Channel), [];
    /// int32 with a scale per channel: a bias.
    QCINT32 "qcint32" 32 INT Some(Quantization::Channel), [];
    /// 4 bits with a scale per channel: weights.
    QCINT4 "qcint4" 4 BYTE Some(Quantization::Channel), [];
    /// int8 with scales computed at run time.
    QDINT8 "qdint8" 8 CHAR Some(Quantization::Token), [];
    /// 4 bits with a scale per group of a channel: weights.
    QBINT4 "qbint4" 4 BYTE Some(Quantization::Group), [];
    /// int8, packed.
    QPINT8 "qpint8" 8 CHAR None, [];
    /// int32.
    INT32 "int32" 32 INT Some(Quantization::None), [INT LONG];
    /// float32, packed.
    PFP32 "pfp32" 32 FLOAT None, [];
    /// bfloat16.
    BF16 "bf16" 16 BFLOAT16 Some(Quantization::None), [BFLOAT16];
}

/// Returns the name of a field of an operation in YAML: its name in the schema without `_id`, and without the number of
/// an input that is the only one with a number.
pub const fn field_key(table: &TableSchema, slot: usize) -> &'static str {
    let name = table.fields[slot].name;
    let bytes = name.as_bytes();
    let len = bytes.len();
    if len < 4 || bytes[len - 3] != b'_' || bytes[len - 2] != b'i' || bytes[len - 1] != b'd' {
        return name;
    }
    let mut second = 0;
    while second < table.fields.len() && !is_same(table.fields[second].name, "input2_id") {
        second += 1;
    }
    match is_same(name, "input1_id") && second == table.fields.len() {
        true => "input",
        false => name.split_at(len - 3).0,
    }
}

/// Compares strings at compile time.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    one.len() == other.len() && at == one.len()
}
