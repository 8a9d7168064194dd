//! Schema of the graph in the payload of an XNNPACK delegate. Identifier `XN00` or `XN01`; the two differ in the meaning of constant
//! indices, not in their slots.
//!
//! Floats are declared as `UInt`: their values are not used.

use crate::format::Kind::{AlignedBytes, Int, Ints, Short, Table, Tables, Text, UInt, ULong, Union, UnionTag};
use crate::format::table::tables;

/// The file identifiers at bytes 4..8 of the graph.
pub const IDENTIFIERS: [&str; 2] = ["XN00", "XN01"];

/// Id that means no value.
pub const NO_ID: u32 = u32::MAX;

tables! {
    /// Root table.
    GRAPH = graph XNNGraph {
        version: Text, xnodes: Tables(&NODE), xvalues: Tables(&VALUE), num_externs: UInt, input_ids: Ints, output_ids: Ints,
        constant_buffer: Tables(&BUFFER), mem_buffer_sizes: Ints, constant_data: Tables(&CONSTANT_DATA_OFFSET),
    }
    /// Bytes of a constant inside the graph.
    BUFFER = buffer Buffer { storage: AlignedBytes(16) }
    /// Location of a constant after the graph or in named data.
    CONSTANT_DATA_OFFSET = constant_data_offset ConstantDataOffset { offset: ULong, size: ULong, named_key: Text }
    /// A value.
    VALUE = value XValue { xvalue_union_type: UnionTag, xvalue_union: Union(VALUES) }
    /// A tensor.
    TENSOR_VALUE = tensor_value XNNTensorValue {
        datatype: Short, num_dims: UInt, dims: Ints, constant_buffer_idx: UInt, external_id: UInt, flags: UInt, id_out: UInt,
        dq_datatype: Short,
    }
    /// A quantized tensor.
    QUANTIZED_TENSOR_VALUE = quantized_tensor_value XNNQuantizedTensorValue {
        tensor_value: Table(&TENSOR_VALUE), quant_params_type: UnionTag, quant_params: Union(QUANT_PARAMS),
    }
    /// Quantization with a scale per channel.
    PER_CHANNEL_QUANT = per_channel_quant PerChannelQuant {
        scale: Ints, channel_dim: Int, scale_buffer_idx: UInt, num_scales: UInt,
    }
    /// Quantization with one scale.
    PER_TENSOR_QUANT = per_tensor_quant PerTensorQuant { scale: UInt, zero_point: Int }
    /// Quantization with scales that are computed at run time.
    PER_TOKEN_DYNAMIC_QUANT = per_token_dynamic_quant PerTokenDynamicQuant { num_nonbatch_dims: Int }
    /// Quantization with a scale per group of a channel.
    PER_CHANNEL_GROUP_QUANT = per_channel_group_quant PerChannelGroupQuant {
        scale: Ints, channel_dim: Int, group_size: Int, scale_bf16: Ints, scale_buffer_idx: UInt, num_scales: UInt,
    }
    /// An operation.
    NODE = node XNode {
        xnode_union_type: UnionTag, xnode_union: Union(NODES), debug_handle: UInt, output_min_max: Table(&OUTPUT_MIN_MAX),
    }
    /// Bounds that an output is clamped to.
    OUTPUT_MIN_MAX = output_min_max OutputMinMax { output_min: UInt, output_max: UInt }
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
        num_dims: UInt, perm: Ints, input_id: UInt, output_id: UInt, flags: UInt,
    }
    /// A change of shape.
    RESHAPE = reshape XNNStaticReshape {
        num_dims: UInt, new_shape: Ints, input_id: UInt, output_id: UInt, flags: UInt,
    }
    /// A slice.
    SLICE = slice XNNStaticSlice {
        num_dims: UInt, offsets: Ints, sizes: Ints, input_id: UInt, output_id: UInt, flags: UInt,
    }
    /// A bilinear resize.
    RESIZE_BILINEAR = resize_bilinear XNNStaticResizeBilinear2D {
        new_height: UInt, new_width: UInt, input_id: UInt, output_id: UInt, flags: UInt,
    }
    /// A padding with a constant.
    CONSTANT_PAD = constant_pad XNNStaticConstantPad {
        pre_paddings: Ints, post_paddings: Ints, padding_value: UInt, input_id: UInt, output_id: UInt, flags: UInt,
    }
    /// ELU or leaky ReLU.
    SLOPED = sloped XNNELU { alpha: UInt, input_id: UInt, output_id: UInt, flags: UInt }
    /// Scaled dot-product attention.
    ATTENTION = attention XNNScaledDotProductAttention {
        query_id: UInt, key_id: UInt, value_id: UInt, scale_id: UInt, mask_id: UInt, output_id: UInt, flags: UInt,
    }
}

/// Members of the union `XValueUnion`, from tag 1.
pub static VALUES: &[&crate::format::TableSchema] = &[&TENSOR_VALUE, &QUANTIZED_TENSOR_VALUE];

/// Members of the union `XNNQuantParams`, from tag 1.
pub static QUANT_PARAMS: &[&crate::format::TableSchema] =
    &[&PER_CHANNEL_QUANT, &PER_TENSOR_QUANT, &PER_TOKEN_DYNAMIC_QUANT, &PER_CHANNEL_GROUP_QUANT];

/// Members of the union `XNodeUnion`, from tag 1.
pub static NODES: &[&crate::format::TableSchema] = &[
    &NODE_2X1,        // Add
    &FULLY_CONNECTED, // FullyConnected
    &NODE_1X1,        // Softmax
    &NODE_1X1,        // Sigmoid
    &TRANSPOSE,       // StaticTranspose
    &NODE_1X1,        // Clamp
    &CONV,            // Conv2d
    &NODE_2X1,        // Div
    &RESIZE_BILINEAR, // StaticResizeBilinear2D
    &CONSTANT_PAD,    // StaticConstantPad
    &POOLING,         // AvgPooling2d
    &NODE_2X1,        // Minimum
    &CONV,            // DepthwiseConv2d
    &POOLING,         // MaxPooling2d
    &NODE_2X1,        // Multiply
    &NODE_2X1,        // Subtract
    &NODE_1X1,        // Floor
    &NODE_1X1,        // Convert
    &NODE_1X1,        // GlobalAvgPooling2d
    &RESHAPE,         // StaticReshape
    &ARG_MAX_POOLING, // ArgMaxPooling2d
    &NODE_1X1,        // SquareRoot
    &NODE_1X1,        // Ceiling
    &NODE_1X1,        // Hardswish
    &SLOPED,          // LeakyReLU
    &NODE_2X1,        // Maximum
    &NODE_1X1,        // Negate
    &NODE_1X1,        // Square
    &SLOPED,          // ELU
    &NODE_1X1,        // Abs
    &NODE_2X1,        // PReLU
    &CAT,             // Concatenate2
    &CAT,             // Concatenate3
    &CAT,             // Concatenate4
    &SLICE,           // StaticSlice
    &ATTENTION,       // ScaledDotProductAttention
    &NODE_2X1,        // BatchMatrixMultiply
    &CAT,             // Concatenate5
    &CONV,            // ConvTranspose2d
    &NODE_1X1,        // ReciprocalSquareRoot
    &NODE_1X1,        // Log
    &NODE_1X1,        // Gelu
    &NODE_1X1,        // Tanh
    &NODE_1X1,        // Exp
    &NODE_1X1,        // Sin
    &NODE_1X1,        // Copy
    &NODE_1X1,        // Cos
];
