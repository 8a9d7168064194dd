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
        "conv1d conv2d conv3d conv_transpose2d convolution convolution_backward convtranspose* depthwise_conv2d \
         depthwiseconv2d im2row quantized_conv* quantized_depthwise_conv* quantized_transpose_conv* \
         transpose_conv2d",
    ),
    (
        Matmul,
        "addmm batch_matrix_multiply bmm channelwise_gated_delta_rule custom_quantized_sdpa custom_sdpa \
         fully_connected gated_delta_rule gathermm gatherqmm linear linear_* matmul mixed_linear \
         mixed_mm mm quantized_batch_matmul quantized_fully_connected* quantized_linear* quantized_matmul* \
         quantized_moe_ffn quantizedmatmul scaled_dot_product_attention sdpa sdpa_with_kv_cache updateandattend",
    ),
    (
        Elementwise,
        "abs acos acosh add asin asinh atan atan2 atanh bitwise_* ceil ceiling conj_physical cos cosh div eq erf \
         exp expm1 floor floor_divide floordiv fmod ge gt isinf isnan le log log10 log1p log2 logical_* lt \
         masked_fill maximum minimum mod mul multiply native_dropout ne neg negate pow quantized_add* \
         quantized_div quantized_mul* reciprocal reciprocal_square_root remainder round rsqrt rsub sign sin sinh \
         sqrt square square_root sub subtract tan truediv trunc where",
    ),
    (
        Activation,
        "clamp elu gelu glu hardswish hardtanh leaky_relu log_softmax logit prelu quantized_activation \
         quantized_relu* relu sigmoid softmax tanh",
    ),
    (
        Normalization,
        "batchnorm layernorm native_batch_norm_* native_group_norm native_layer_norm quantized_layer_norm \
         rmsnorm",
    ),
    (
        Pooling,
        "adaptive_avg_pool2d arg_max_pooling2d avg_pool2d avg_pooling2d avgpool* global_avg_pooling2d max_pool2d \
         max_pool2d_* max_pooling2d maxpool* quantized_avg_pool2d* quantized_max_pool2d*",
    ),
    (Reduction, "all amax amin any argmax argmin cumsum max mean min prod reduce_* sum topk var var_mean"),
    (
        Shape,
        "alias_copy as_strided_copy broadcastto cat concat concatenate* constant_pad_nd constantpadnd detach_copy \
         diagonal_copy et_view expand expand_copy expanddims flip narrow_copy pad permute permute_* \
         pixel_shuffle pixel_unshuffle reflection_pad* repeat repeat_interleave replication_pad* reshape roll \
         select select_copy slice slice_* split_copy split_with_sizes_copy squeeze squeeze_* stack \
         static_constant_pad static_reshape static_slice static_transpose t_copy tile tile_crop transpose \
         transpose_copy tril unbind_copy unfold_copy unsqueeze unsqueeze_* view view_*",
    ),
    (
        Copy,
        "astype cast clone clone_dim_order contiguous copy d2h_copy h2d_copy idcopy identity lift_fresh_copy \
         to_copy to_dim_order_copy",
    ),
    (Quantize, "choose_qparams* convert dequantize dequantize_* dequantizeper* quantize_* requantize rescale"),
    (
        Index,
        "embedding embedding_* et_copy_index gather index index_put index_select indexcopy indexput \
         indexselect indextensor masked_scatter masked_select nonzero scatter scatter_add select_scatter \
         shared_embedding_* slice_scatter sliceupdate take takealongaxis update_cache update_cache_with_indices",
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
    // A namespace may be a part, and payloads of TOSA, MLX and MPS have other letters: `aten.add.Tensor`, `CONV2D`.
    let parts = || base.split('.').map(|part| part.trim_matches('_'));
    parts().find_map(find_base).or_else(|| parts().find_map(|part| find_base(&part.to_ascii_lowercase())))
}

fn find_base(base: &str) -> Option<OperationKind> {
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
    use pte_payload::flat::FlatFormat;

    #[test]
    fn every_operator_of_the_tables_has_a_kind() {
        let operations = pte_xnnpack::schema::Operation::ALL.into_iter().map(|operation| operation.word());
        let missing: Vec<&str> = pte_operators::names().chain(operations).filter(|name| find(name).is_none()).collect();
        assert_eq!(missing, [""; 0]);
    }

    #[test]
    fn rows_are_distinct_and_used() {
        let base = |name: &str| {
            let base = name.rsplit("::").next().unwrap_or_default().split('.').next().unwrap_or_default();
            base.trim_matches('_').to_owned()
        };
        let names: Vec<&str> = KINDS.iter().flat_map(|(_, names)| names.split_whitespace()).collect();
        let distinct: std::collections::BTreeSet<&&str> = names.iter().collect();
        assert_eq!(distinct.len(), names.len());
        let operations = pte_xnnpack::schema::Operation::ALL.into_iter().map(|operation| operation.word());
        let mut known: Vec<String> = pte_operators::names().chain(operations).map(base).collect();
        for (format, union) in [("tosa", "Op"), ("mlx", "OpNode"), ("mps", "MPSNodeUnion")] {
            let schema = FlatFormat::of(format).unwrap().schema();
            let operations = schema.enums.iter().find(|operations| operations.name == union).unwrap();
            let short = |name: &str| name.trim_start_matches("MPS").trim_end_matches("Node").to_ascii_lowercase();
            known.extend(operations.values.iter().map(|(name, _)| short(name)));
        }
        let is_used = |name: &&str| match name.strip_suffix('*') {
            Some(prefix) => known.iter().any(|known| known.starts_with(prefix)),
            None => known.iter().any(|known| known == name),
        };
        let unused: Vec<&str> = names.into_iter().filter(|name| !is_used(name)).collect();
        assert_eq!(unused, [""; 0]);
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
