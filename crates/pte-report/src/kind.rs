//! Kinds of operators and of operations in payloads, by which a graph is coloured: one table, keyed by base names.

use serde::Serialize;

/// Kind of an instruction, or of an operation of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum OperationKind {
    /// Convolutions.
    Convolution,
    /// Matrix products, linear layers and attention.
    Matmul,
    /// Functions of each element, of one or several tensors.
    Elementwise,
    /// Activation functions, softmax and clamping.
    Activation,
    /// Batch, layer and group normalization.
    Normalization,
    /// Pooling.
    Pooling,
    /// Sums, extremes and other reductions over dimensions.
    Reduction,
    /// Views, permutations, slices, concatenations and padding.
    Shape,
    /// Copies, conversions of the element type or the dimension order, and moves.
    Copy,
    /// Quantization and dequantization.
    Quantize,
    /// Embeddings, gathering, scattering and other accesses by index.
    Index,
    /// Tensors from numbers.
    Creation,
    /// Jumps, and numbers that sizes and jumps depend on.
    Control,
    /// Calls of delegates.
    Delegate,
    /// None of the others.
    Other,
}

use OperationKind::*;

/// Base names by kind: without namespace, leading underscores and overload. A name that ends with `*` is a prefix; of
/// several that match, the longest one counts.
const KINDS: &[(OperationKind, &str)] = &[
    (
        Convolution,
        "convolution convolution_backward conv2d depthwise_conv2d conv_transpose2d quantized_conv* \
         quantized_depthwise_conv* quantized_transpose_conv* im2row",
    ),
    (
        Matmul,
        "addmm bmm linear linear_* mm mixed_linear mixed_mm fully_connected batch_matrix_multiply quantized_linear* \
         quantized_fully_connected* quantized_matmul* quantized_batch_matmul custom_sdpa custom_quantized_sdpa \
         sdpa_with_kv_cache scaled_dot_product_attention quantized_moe_ffn gated_delta_rule \
         channelwise_gated_delta_rule",
    ),
    (
        Elementwise,
        "abs acos acosh add asin asinh atan atan2 atanh bitwise_* ceil ceiling conj_physical cos cosh div eq erf exp \
         expm1 floor floor_divide floordiv fmod ge gt isinf isnan le log log10 log1p log2 logical_* lt masked_fill \
         maximum minimum mod mul multiply native_dropout ne neg negate pow quantized_add* quantized_div quantized_mul* \
         reciprocal reciprocal_square_root remainder round rsqrt rsub sign sin sinh sqrt square square_root sub \
         subtract tan truediv trunc where",
    ),
    (
        Activation,
        "clamp elu gelu glu hardswish hardtanh leaky_relu log_softmax logit prelu quantized_activation quantized_relu* \
         relu sigmoid softmax tanh",
    ),
    (Normalization, "native_batch_norm_* native_group_norm native_layer_norm quantized_layer_norm"),
    (
        Pooling,
        "adaptive_avg_pool2d arg_max_pooling2d avg_pool2d avg_pooling2d global_avg_pooling2d max_pool2d_* \
         max_pooling2d quantized_avg_pool2d* quantized_max_pool2d*",
    ),
    (Reduction, "amax amin any argmax argmin cumsum max mean min prod sum topk var var_mean"),
    (
        Shape,
        "alias_copy as_strided_copy cat concatenate* constant_pad_nd detach_copy diagonal_copy et_view expand_copy flip \
         narrow_copy pad permute_copy pixel_shuffle pixel_unshuffle reflection_pad* repeat repeat_interleave \
         replication_pad* roll select_copy slice_copy split_copy split_with_sizes_copy squeeze_copy stack \
         static_constant_pad static_reshape static_slice static_transpose t_copy tile_crop transpose transpose_copy \
         tril unbind_copy unfold_copy unsqueeze_copy view_as_real_copy view_copy",
    ),
    (Copy, "clone clone_dim_order copy copy_ d2h_copy h2d_copy lift_fresh_copy to_copy to_dim_order_copy"),
    (Quantize, "choose_qparams* convert dequantize_* quantize_* requantize"),
    (
        Index,
        "embedding embedding_* et_copy_index gather index index_put index_put_ index_select masked_scatter \
         masked_select nonzero scatter scatter_add select_scatter shared_embedding_* slice_scatter update_cache \
         update_cache_with_indices",
    ),
    (Creation, "arange empty empty_dim_order fill full full_like ones rand randn scalar_tensor zeros"),
    (Control, "local_scalar_dense sym_*"),
    (
        Other,
        "cdist_forward fallback fast_hadamard_transform fft_c2r fft_r2c grid_sampler_2d pdist_forward \
         static_resize_bilinear2d upsample_*",
    ),
];

impl OperationKind {
    /// Returns the kind of an operator such as `aten::add.out`, or of an operation of a payload.
    pub fn of(name: &str) -> OperationKind {
        find(name).unwrap_or(Other)
    }
}

/// Returns the kind of a name; `None` if the table has no row for it.
fn find(name: &str) -> Option<OperationKind> {
    let base = name.rsplit("::").next().unwrap_or_default();
    let base = base.split('.').next().unwrap_or_default().trim_start_matches('_');
    let rows = KINDS.iter().flat_map(|(kind, names)| names.split_whitespace().map(move |name| (*kind, name)));
    // An exact name counts as longer than any prefix.
    let length = |pattern: &str| match pattern.strip_suffix('*') {
        Some(prefix) => base.starts_with(prefix).then_some(prefix.len()),
        None => (base == pattern).then_some(usize::MAX),
    };
    rows.filter_map(|(kind, name)| Some((length(name)?, kind))).max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_of_the_tables_has_a_kind() {
        let operations = pte_xnnpack::schema::Operation::ALL.into_iter().map(|operation| operation.word());
        let missing: Vec<&str> = pte_operators::names().chain(operations).filter(|name| find(name).is_none()).collect();
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn rows_are_distinct_and_used() {
        let names: Vec<&str> = KINDS.iter().flat_map(|(_, names)| names.split_whitespace()).collect();
        let distinct: std::collections::BTreeSet<&&str> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        let operations = pte_xnnpack::schema::Operation::ALL.into_iter().map(|operation| operation.word());
        let known: Vec<&str> = pte_operators::names().chain(operations).collect();
        let base = |name: &str| {
            let base = name.rsplit("::").next().unwrap_or_default().split('.').next().unwrap_or_default();
            base.trim_start_matches('_').to_owned()
        };
        for name in names {
            let matches = |base: String| match name.strip_suffix('*') {
                Some(prefix) => base.starts_with(prefix),
                None => base == name,
            };
            assert!(known.iter().any(|known| matches(base(known))), "{name}");
        }
    }

    #[test]
    fn the_longest_row_counts() {
        assert_eq!(OperationKind::of("aten::_to_copy.out"), Copy);
        assert_eq!(OperationKind::of("aten::sym_size.int"), Control);
        assert_eq!(OperationKind::of("torchao::_linear_8bit_act_4bit_weight.out"), Matmul);
        assert_eq!(OperationKind::of("conv2d"), Convolution);
        assert_eq!(OperationKind::of("my::op.out"), Other);
        assert_eq!(OperationKind::of(""), Other);
    }
}
