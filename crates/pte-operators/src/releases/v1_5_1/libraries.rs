//! Operators of libraries other than the default runtime, as far as their results are inferred.

use crate::inference::{elementwise, libraries, views};
use crate::release::Row;
use crate::target;

/// Libraries whose sources do not use the temporary allocator.
pub(super) static WITHOUT_TEMPORARY: &[&str] = &[target::CORTEX_M, target::CUSTOM, "custom_ops_aot_lib"];

/// Operators with the same facts are in one row.
pub(super) static ROWS: &[Row] = rows! {
    // Of attention, the scratch memory has a part for each thread, and is on the heap if the temporary allocator has no
    // room.
    "cadence::dequantize_per_tensor.out" "cadence::dequantize_per_tensor_asym16s.out"
        "cadence::dequantize_per_tensor_asym16u.out" "cadence::dequantize_per_tensor_asym32s.out"
        "cadence::dequantize_per_tensor_asym8s.out" "cadence::dequantize_per_tensor_asym8u.out":
        libraries::contiguous_float;
    "cadence::quantize_per_tensor.out" "cadence::quantize_per_tensor_asym16s.out"
        "cadence::quantize_per_tensor_asym16u.out" "cadence::quantize_per_tensor_asym32s.out"
        "cadence::quantize_per_tensor_asym8s.out" "cadence::quantize_per_tensor_asym8u.out" "cadence::requantize.out"
        "cadence::requantize.per_tensor_out": libraries::contiguous_of_dtype;
    "cadence::quantized_add.per_tensor_out" "cadence::quantized_add_asym8sxasym8s_asym8s.per_tensor_out"
        "cadence::quantized_add_asym8uxasym8u_asym8u.per_tensor_out" "cadence::quantized_mul.per_tensor_out":
        libraries::binary::<3>;
    "cadence::quantized_fully_connected.out" "cadence::quantized_fully_connected.per_tensor_out"
        "cadence::quantized_fully_connected_asym8sxasym8s_asym8s.per_tensor_out"
        "cadence::quantized_fully_connected_asym8uxasym8u_asym8u.per_tensor_out" "cadence::quantized_linear.out"
        "cadence::quantized_linear.per_tensor_out" "cadence::quantized_linear_asym8sxasym8s_asym8s.per_tensor_out"
        "cadence::quantized_linear_asym8uxasym8u_asym8u.per_tensor_out" "cortex_m::quantized_linear.out":
        libraries::linear;
    "cadence::quantized_layer_norm.out" "cadence::quantized_layer_norm.per_tensor_out" "cadence::quantized_relu.out"
        "cadence::quantized_relu.per_tensor_out" "cadence::quantized_relu_asym8s_asym8s.per_tensor_out"
        "cadence::quantized_relu_asym8u_asym8u.per_tensor_out" "cadence::quantized_relu_per_tensor.out":
        elementwise::contiguous;
    "cortex_m::dequantize_per_tensor.out": libraries::like_float;
    "cortex_m::maximum.out" "cortex_m::minimum.out": libraries::extreme;
    "cortex_m::quantize_per_tensor.out": libraries::like_of_dtype;
    "cortex_m::quantized_activation.out" "cortex_m::quantized_div.out" "llama::fallback.out"
        "llama::fast_hadamard_transform.out": libraries::like_input;
    "cortex_m::quantized_add.out": libraries::larger::<4>;
    "cortex_m::quantized_batch_matmul.out": libraries::batch_matmul;
    "cortex_m::quantized_mul.out": libraries::larger::<2>;
    "cortex_m::softmax.out": libraries::like_int8;
    "cortex_m::transpose.out": views::permute;
    "llama::channelwise_gated_delta_rule.out" "llama::gated_delta_rule.out": libraries::gated_delta_rule,
        temporary Unknown;
    "llama::custom_quantized_sdpa.out": libraries::contiguous_float, temporary Unknown;
    "llama::custom_sdpa.out": elementwise::contiguous, temporary Unknown,
        functions ["attention", "scaled_dot_product_attention"];
    "llama::quantized_moe_ffn.out": libraries::moe_ffn;
    "llama::sdpa_with_kv_cache.out": libraries::like_input, temporary Unknown;
    "llama::update_cache.out" "llama::update_cache_with_indices.out": libraries::update_cache;
    "preprocess::tile_crop.out": libraries::tile_crop;
    "torchao::_embedding_1bit.out" "torchao::_embedding_2bit.out" "torchao::_embedding_3bit.out"
        "torchao::_embedding_4bit.out" "torchao::_embedding_5bit.out" "torchao::_embedding_6bit.out"
        "torchao::_embedding_7bit.out" "torchao::_embedding_8bit.out": libraries::packed_embedding::<2, 5>;
    "torchao::_linear_8bit_act_1bit_weight.out" "torchao::_linear_8bit_act_2bit_weight.out"
        "torchao::_linear_8bit_act_3bit_weight.out" "torchao::_linear_8bit_act_4bit_weight.out"
        "torchao::_linear_8bit_act_5bit_weight.out" "torchao::_linear_8bit_act_6bit_weight.out"
        "torchao::_linear_8bit_act_7bit_weight.out" "torchao::_linear_8bit_act_8bit_weight.out":
        libraries::packed_linear::<3>;
    "torchao::_linear_groupwise_1bit_weight_with_lut.out" "torchao::_linear_groupwise_2bit_weight_with_lut.out"
        "torchao::_linear_groupwise_3bit_weight_with_lut.out" "torchao::_linear_groupwise_4bit_weight_with_lut.out":
        libraries::packed_linear::<4>;
    "torchao::_shared_embedding_1bit.out" "torchao::_shared_embedding_2bit.out"
        "torchao::_shared_embedding_3bit.out" "torchao::_shared_embedding_4bit.out"
        "torchao::_shared_embedding_5bit.out" "torchao::_shared_embedding_6bit.out"
        "torchao::_shared_embedding_7bit.out" "torchao::_shared_embedding_8bit.out":
        libraries::packed_embedding::<3, 4>;
};
