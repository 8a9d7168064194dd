//! The operators of `aten`.

use crate::facts::{LoopPart, Selected};
use crate::inference::constraints::Constraint;
use crate::inference::promotion::Category;
use crate::inference::{
    convolution, creation, elementwise, fft, indexing, join, matmul, normalization, pad, pooling, prim, reduction,
    resample, views,
};
use crate::kinds::ResultKinds;
use crate::release::Row;
use crate::temporary;

/// Both operands of a division are complex, of the same type and sizes, or neither is: the kernel reads both as one
/// type, element by element.
const COMPLEX_DIVISION: &[Constraint] = &[
    Constraint::ComplexSizes { argument: 1, other: 0 },
    Constraint::same_complex(1, 0),
    Constraint::same_complex(0, 1),
];

/// Factor of the sizes of two dimensions; its square is an Int.
const FACTOR: Constraint = Constraint::Int { argument: 1, min: 1, max: i32::MAX as i64 };

/// Indices that fit the tensor.
const SELECTS: Constraint = Constraint::Selects { argument: 1, tensor: 0 };

/// `alpha`, which is read as an element of the type to which the operands are promoted.
const ALPHA: Constraint = Constraint::Factor { argument: 2 };

/// Bits are those of integers.
const BITS: Constraint = Constraint::Number { argument: 1, other: 0, least: Category::Integer };

/// The index of a scatter, which has the dimensions of the tensor.
const INDEX_RANK: Constraint = Constraint::RankOf { argument: 2, other: 0 };

/// Operators with the same facts are in one row.
pub(super) static ROWS: &[Row] = rows! {
    "aten::_adaptive_avg_pool2d.out": pooling::adaptive_avg_pool2d, samples Floating, contiguous_only;
    "aten::_cdist_forward.out": matmul::cdist, samples Floating;
    "aten::_conj_physical.out": elementwise::unary, samples Complex;
    "aten::_fft_c2r.out": fft::c2r, constraints [HalfSpectrum { argument: 0, dims: 1, size: 3 }], is_thorough,
        samples Complex, target OPTIMIZED;
    "aten::_fft_r2c.out": fft::r2c, samples FloatOrDouble, target OPTIMIZED;
    "aten::_local_scalar_dense": prim::local_scalar_dense, result_kinds ResultKinds::Element, samples Numbers,
        target PRIM_OPS;
    "aten::_log_softmax.out": elementwise::softmax,
        constraints [Bool { argument: 2, value: false }, NotEmptyFrom { argument: 0, dim: 1 }], samples Float,
        functions ["log_softmax"];
    "aten::_native_batch_norm_legit.no_stats_out": normalization::batch_norm_legit::<3>, gradients First,
        samples Floating, short_name "batch_norm";
    "aten::_native_batch_norm_legit.out": normalization::batch_norm_legit::<5>, gradients First, samples Floating,
        short_name "batch_norm";
    "aten::_native_batch_norm_legit_no_training.out": normalization::batch_norm_no_training, gradients First,
        samples Floating, functions ["batch_norm"], short_name "batch_norm";
    "aten::_pdist_forward.out": matmul::pdist, samples Floating;
    "aten::_softmax.out": elementwise::softmax,
        constraints [Bool { argument: 2, value: false }, Lines { argument: 0, dim: 1 }], samples Floating,
        functions ["softmax"];
    "aten::_to_copy.out": elementwise::copy_in_format::<2>, evaluation movement::copied_contiguous, movement copy,
        conversion Real, contiguous_only, functions ["to"];
    "aten::_upsample_bilinear2d_aa.out": resample::upsample, constraints [Constraint::not_empty_last(2)],
        samples Floating;
    "aten::abs.out": elementwise::abs, one_order, evaluation arithmetic::absolute, conversion Floating,
        samples Numbers, maps_floats;
    "aten::acos.out" "aten::acosh.out" "aten::asin.out" "aten::asinh.out" "aten::atan.out" "aten::atanh.out"
        "aten::cosh.out" "aten::erf.out" "aten::expm1.out" "aten::log.out" "aten::log10.out" "aten::log1p.out"
        "aten::log2.out" "aten::reciprocal.out" "aten::rsqrt.out" "aten::sinh.out" "aten::tan.out":
        elementwise::unary_floating, conversion Floating, one_order;
    "aten::add.Scalar_out": elementwise::binary, one_order, evaluation arithmetic::sum_with_number,
        constraints [ALPHA, Number { argument: 1, other: 0, least: Category::Bool }],
        conversion Floating, samples Numbers;
    "aten::add.out": elementwise::binary, conversion Promotion, constraints [ALPHA], samples Numbers, one_order,
        evaluation arithmetic::sum;
    "aten::addmm.out": matmul::addmm, products Inner(1), samples Numbers, short_name "linear",
        constant_names [("self", "bias"), ("mat2", "weight")];
    "aten::alias_copy.out" "aten::detach_copy.out" "aten::lift_fresh_copy.out": elementwise::contiguous,
        evaluation movement::same, movement copy;
    "aten::amax.out" "aten::amin.out": reduction::extreme, constraints [Constraint::not_empty(0)];
    "aten::any.all_out": reduction::any_all, conversion BoolOrByte, constraints [DefaultOrder { argument: 0 }];
    "aten::any.dims_out": reduction::any_dims, conversion BoolOrByte;
    "aten::any.out": reduction::any, conversion BoolOrByte;
    "aten::arange.out": creation::arange, evaluation creation::range, conversion Numbers,
        range [None, Some(0), None, Some(1)];
    "aten::arange.start_out": creation::arange_start, evaluation creation::range_from, conversion Numbers,
        range [Some(0), Some(1), Some(2), Some(3)];
    "aten::argmax.out" "aten::argmin.out": reduction::position,
        constraints [NotEmptyUnless { argument: 0, other: 1 }], samples Numbers;
    "aten::as_strided_copy.out": views::as_strided,
        constraints [Strides { argument: 2, tensor: 0, sizes: 1, offset: 3 }];
    "aten::atan2.out": elementwise::binary_floating, one_order, conversion Floating;
    "aten::avg_pool2d.out": pooling::avg_pool2d, constraints [Constraint::divisor(2), Window { argument: 1 }],
        ignored [0, 2], samples Floating, contiguous_only;
    "aten::bitwise_and.Scalar_out" "aten::bitwise_and.Tensor_out": elementwise::binary, conversion Promotion,
        constraints [BITS], samples Integral, one_order, evaluation arithmetic::bits_of_both;
    "aten::bitwise_left_shift.Tensor_Scalar_out" "aten::bitwise_left_shift.Tensor_out"
        "aten::bitwise_right_shift.Tensor_Scalar_out" "aten::bitwise_right_shift.Tensor_out": elementwise::binary,
        conversion Promotion, constraints [BITS], samples Integral, one_order;
    "aten::bitwise_not.out": elementwise::unary, one_order, evaluation arithmetic::inverted, samples Integral;
    "aten::bitwise_or.Scalar_out" "aten::bitwise_or.Tensor_out": elementwise::binary, conversion Promotion,
        constraints [BITS], samples Integral, one_order, evaluation arithmetic::bits_of_either;
    "aten::bitwise_xor.Scalar_out" "aten::bitwise_xor.Tensor_out": elementwise::binary, conversion Promotion,
        constraints [BITS], samples Integral, one_order, evaluation arithmetic::bits_of_one;
    "aten::bmm.out": matmul::bmm, products Inner(0), constraints [Constraint::rank(0, 3), Constraint::same_size(1, 0, [0, 0]),
        Constraint::same_size(1, 0, [1, 2])], samples Numbers, functions ["batch_matmul"],
        constant_names [("mat2", "weight")];
    "aten::cat.out": join::cat, evaluation indexing::joined,
        constraints [DimensionOfEmpty { argument: 1, tensors: 0 }], conversion Promotion,
        functions ["concat", "concatenate"];
    "aten::ceil.out" "aten::floor.out" "aten::round.out" "aten::trunc.out": elementwise::unary, one_order,
        samples Numbers;
    "aten::clamp.Tensor_out": elementwise::clamp, one_order, evaluation arithmetic::clamped, conversion Promotion;
    "aten::clamp.out": elementwise::clamp, one_order, evaluation arithmetic::clamped, functions ["clip"];
    "aten::clone.out": elementwise::copy_in_format::<1>, one_order, evaluation movement::same, movement copy,
        functions ["contiguous"];
    "aten::constant_pad_nd.out": pad::constant_pad_nd, one_order, evaluation indexing::padded,
        constraints [Int { argument: 1, min: 0, max: i64::MAX }], functions ["pad"];
    "aten::convolution.out": convolution::convolution, constraints [Rank { argument: 0, min: 3, max: 4 },
        Int { argument: 8, min: 1, max: i64::MAX }, Channels { argument: 2, weight: 1, transposed: 6, groups: 8 },
        Window { argument: 1 }],
        products Filter { input: 0, filter: 1, transposed: 6 },
        ignored [7], samples Floating, functions ["conv", "conv1d", "conv2d", "conv3d", "conv_transpose2d"],
        short_name "conv";
    "aten::convolution_backward.out": convolution::convolution_backward,
        constraints [Constraint::divisor(9), BiasSizes { argument: 3, gradient: 0, mask: 10 }], ignored [8],
        out_mask 10, samples Floating;
    "aten::copy.out": elementwise::copy, evaluation indexing::replaced, overwrites_self;
    "aten::copy_": elementwise::copy, overwrites_self, loop_part LoopPart::Copy;
    "aten::cos.out" "aten::sigmoid.out" "aten::sin.out" "aten::tanh.out": elementwise::unary_floating,
        conversion Floating, one_order, maps_floats;
    "aten::cumsum.out": reduction::cumsum, conversion Real;
    "aten::diagonal_copy.out": indexing::diagonal, evaluation movement::diagonal;
    "aten::div.Scalar_mode_out": elementwise::div_mode, one_order, conversion Promotion, quotient [0, 1],
        constraints [DivisorOfType { argument: 1, other: 0 }];
    "aten::div.Scalar_out": elementwise::binary_floating, one_order, evaluation arithmetic::quotient;
    "aten::div.out": elementwise::binary_floating, one_order, evaluation arithmetic::quotient, conversion Quotient,
        constraints COMPLEX_DIVISION, functions ["divide", "true_divide"];
    "aten::div.out_mode": elementwise::div_mode, one_order, conversion Promotion, constraints COMPLEX_DIVISION,
        quotient [0, 1];
    "aten::elu.out" "aten::leaky_relu.out": elementwise::unary, one_order, samples Floating;
    "aten::embedding.out": indexing::embedding, evaluation indexing::embedded, selection ([1, 0], Selected::Rows), checks_indices;
    "aten::empty.out": creation::empty, conversion Any, ignored [1], is_undetermined;
    "aten::eq.Scalar_out" "aten::eq.Tensor_out": elementwise::binary_bool, conversion Promotion, one_order,
        evaluation arithmetic::equal;
    "aten::exp.out": elementwise::unary_floating, conversion Floating;
    "aten::expand_copy.out": elementwise::expand, evaluation movement::moved, movement expand;
    "aten::fill.Scalar_out": elementwise::unary, one_order, evaluation creation::filled_like, overwrites_self;
    "aten::fill.Tensor_out": elementwise::fill, overwrites_self;
    "aten::flip.out": indexing::flip, one_order, evaluation movement::flipped;
    "aten::floor_divide.out": elementwise::floor_divide, one_order, evaluation arithmetic::floored_quotient,
        conversion Promotion, samples Numbers, quotient [0, 1];
    "aten::fmod.Scalar_out" "aten::fmod.Tensor_out": elementwise::binary, conversion Promotion, samples Numbers,
        one_order;
    "aten::full.out": creation::full, evaluation creation::full::<1>, conversion Real;
    "aten::full_like.out": elementwise::copy_in_format::<2>, evaluation creation::full_like, overwrites_self, conversion ToReal,
        gradients None;
    "aten::gather.out": indexing::gather, evaluation indexing::gathered, selection ([2, 0], Selected::Along(1)), checks_indices,
        constraints [OtherDimensions { argument: 2, tensor: 0, dim: 1 }];
    "aten::ge.Scalar_out" "aten::ge.Tensor_out": elementwise::binary_bool, conversion Promotion, one_order,
        evaluation arithmetic::at_least;
    "aten::gelu.out": elementwise::unary, constraints [Text { argument: 1, texts: &["none", "tanh"] }],
        samples Floating;
    "aten::glu.out": elementwise::glu, conversion Floating, samples Floating;
    "aten::grid_sampler_2d.out": resample::grid_sampler_2d, constraints [Constraint::not_empty_last(2)],
        samples Floating, contiguous_only;
    "aten::gt.Scalar_out": elementwise::binary_bool, conversion Promotion, one_order, evaluation arithmetic::more;
    "aten::gt.Tensor_out": elementwise::binary_bool, conversion Promotion, one_order, evaluation arithmetic::more,
        functions ["greater"];
    "aten::hardtanh.out": elementwise::unary, one_order, samples Numbers, functions ["relu6"];
    "aten::index.Tensor_out": indexing::index, constraints [Constraint::same_type(2, 0), SELECTS],
        selection ([1, 0], Selected::Items { from_end: true }), checks_indices;
    "aten::index_put.out": indexing::index_put, constraints [SELECTS],
        selection ([1, 0], Selected::Items { from_end: true }), checks_indices;
    "aten::index_put_": indexing::index_put, constraints [Indexed { argument: 2, indices: 1 }, SELECTS],
        selection ([1, 0], Selected::Items { from_end: false }), checks_indices;
    "aten::index_select.out": indexing::index_select, evaluation indexing::index_selected,
        selection ([2, 0], Selected::Along(1)), checks_indices;
    "aten::isinf.out": elementwise::unary_bool, one_order, evaluation arithmetic::infinite;
    "aten::isnan.out": elementwise::unary_bool, one_order, evaluation arithmetic::not_a_number;
    "aten::le.Scalar_out" "aten::le.Tensor_out": elementwise::binary_bool, conversion Promotion, one_order,
        evaluation arithmetic::at_most;
    "aten::linear.out": matmul::linear, products Inner(0), samples Floating, functions ["dense", "fully_connected"], target OPTIMIZED;
    "aten::logical_and.out": elementwise::binary_bool, conversion Promotion, one_order, evaluation arithmetic::both;
    "aten::logical_not.out": elementwise::unary_bool, one_order, evaluation arithmetic::negated,
        conversion Promotion;
    "aten::logical_or.out": elementwise::binary_bool, conversion Promotion, one_order,
        evaluation arithmetic::either;
    "aten::logical_xor.out": elementwise::binary_bool, conversion Promotion, one_order,
        evaluation arithmetic::exclusive;
    "aten::logit.out": elementwise::unary_floating, one_order, conversion Floating, samples FloatOrDouble;
    "aten::lt.Scalar_out": elementwise::binary_bool, conversion Promotion, one_order, evaluation arithmetic::less;
    "aten::lt.Tensor_out": elementwise::binary_bool, conversion Promotion, one_order, evaluation arithmetic::less,
        functions ["less"];
    "aten::masked_fill.Scalar_out": elementwise::masked, one_order, evaluation indexing::masked;
    "aten::masked_scatter.out": elementwise::masked;
    "aten::masked_select.out": indexing::masked_select,
        constraints [Constraint::same_type(2, 0), Constraint::rank(2, 1)],
        data_dependent (indexing::SELECTED, indexing::masked_select_bounds);
    "aten::max.dim_max" "aten::min.dim_min": reduction::extreme_with_indices;
    "aten::max.unary_out" "aten::min.unary_out": reduction::extreme_all, conversion Promotion,
        constraints [DefaultOrder { argument: 0 }];
    "aten::max_pool2d_with_indices.out": pooling::max_pool2d_with_indices,
        constraints [Constraint::divisor(2), Window { argument: 1 }], ignored [0, 2, 4], samples Floating,
        functions ["max_pool2d"], short_name "max_pool2d";
    "aten::max_pool2d_with_indices_backward.grad_input": pooling::max_pool2d_with_indices_backward,
        constraints [Constraint::divisor(3), SameSizes { argument: 7, other: 0 }],
        selection ([7, 1], Selected::Elements), is_undetermined, samples Floating;
    "aten::maximum.out": elementwise::binary, one_order, evaluation arithmetic::greater, conversion Promotion;
    "aten::mean.dtype_out": reduction::mean_all, conversion Floating, samples Floating;
    "aten::mean.out": reduction::mean, conversion Floating, samples Floating;
    "aten::minimum.out": elementwise::binary, one_order, evaluation arithmetic::smaller, conversion Promotion;
    "aten::mm.out": matmul::mm, products Inner(0), samples Numbers, functions ["matmul"], constant_names [("mat2", "weight")];
    "aten::mul.Scalar_out": elementwise::binary, one_order, evaluation arithmetic::product;
    "aten::mul.out": elementwise::binary, one_order, evaluation arithmetic::product, conversion Promotion,
        functions ["multiply"];
    "aten::narrow_copy.out": views::narrow, evaluation movement::narrowed,
        constraints [FrontDimension { argument: 1, tensor: 0 }];
    "aten::native_dropout.out": elementwise::native_dropout, is_undetermined, samples Floating,
        functions ["dropout"];
    "aten::native_group_norm.out": normalization::group_norm,
        constraints [Constraint::min_rank(0, 2), Constraint::rank(1, 1), Constraint::rank(2, 1)], is_thorough,
        samples Floating, functions ["group_norm"], short_name "group_norm";
    "aten::native_layer_norm.out": normalization::layer_norm, gradients First, samples Floating,
        functions ["layer_norm"], short_name "layer_norm";
    "aten::ne.Scalar_out": elementwise::binary_bool, conversion Promotion, one_order,
        evaluation arithmetic::unequal;
    "aten::ne.Tensor_out": elementwise::binary_bool, conversion Promotion, one_order,
        evaluation arithmetic::unequal, functions ["not_equal"];
    "aten::neg.out": elementwise::unary, one_order, evaluation arithmetic::opposite, samples Numbers,
        functions ["negative"], maps_floats;
    "aten::nonzero.out": indexing::nonzero, constraints [Constraint::int64(1), Constraint::rank(1, 2)],
        data_dependent (indexing::NONZERO, indexing::nonzero_bounds);
    "aten::ones.out": creation::of_sizes, evaluation creation::ones, conversion Real;
    "aten::permute_copy.out": views::permute, evaluation movement::moved, movement permute, functions ["movedim"],
        transposes;
    // The kernel squares the factor in 32 bits.
    "aten::pixel_shuffle.out": resample::pixel_shuffle, evaluation movement::pixels_shuffled,
        constraints [Int { argument: 1, min: 1, max: i16::MAX as i64 }], contiguous_only;
    "aten::pixel_unshuffle.out": resample::pixel_unshuffle, evaluation movement::pixels_unshuffled,
        constraints [FACTOR], contiguous_only;
    "aten::pow.Scalar_out" "aten::pow.Tensor_Tensor_out": elementwise::pow, one_order, conversion Promotion,
        samples Numbers;
    "aten::pow.Tensor_Scalar_out": elementwise::pow, one_order, conversion Promotion, samples Numbers,
        functions ["square"];
    "aten::prod.int_out": reduction::prod, conversion Real;
    "aten::prod.out": reduction::prod_all;
    "aten::rand.out" "aten::randn.out": creation::of_sizes, conversion Floating, is_undetermined;
    "aten::reflection_pad1d.out": pad::reflection_pad::<1>;
    "aten::reflection_pad2d.out": pad::reflection_pad::<2>, contiguous_only;
    "aten::reflection_pad3d.out": pad::reflection_pad::<3>;
    "aten::relu.out": elementwise::unary, one_order, samples Floating, maps_floats;
    "aten::remainder.Scalar_out": elementwise::binary, one_order, evaluation arithmetic::remaining,
        conversion Promotion, constraints [DivisorOfType { argument: 1, other: 0 }], samples Numbers, quotient [0, 1];
    "aten::remainder.Tensor_out": elementwise::binary, conversion Promotion, samples Numbers, one_order, quotient [0, 1],
        evaluation arithmetic::remaining;
    "aten::repeat.out": indexing::repeat, evaluation movement::repeated;
    "aten::repeat_interleave.Tensor_out": indexing::repeat_interleave, repetitions [0, 1], samples Positions;
    "aten::replication_pad1d.out": pad::replication_pad::<1>, constraints [Constraint::not_empty_last(1)],
        ignored [0];
    "aten::replication_pad2d.out": pad::replication_pad::<2>, constraints [Constraint::not_empty_last(2)],
        ignored [0];
    "aten::replication_pad3d.out": pad::replication_pad::<3>, constraints [Constraint::not_empty_last(3)],
        ignored [0];
    "aten::roll.out": indexing::roll, evaluation indexing::rolled;
    "aten::rsub.Scalar_out": elementwise::binary, one_order, constraints [ALPHA], evaluation arithmetic::reverse_difference,
        samples Numbers;
    "aten::scalar_tensor.out": creation::scalar_tensor, evaluation creation::full::<0>, conversion Real;
    "aten::scatter.src_out" "aten::scatter_add.out": indexing::scatter_source, constraints [INDEX_RANK],
        selection ([2, 0], Selected::Along(1)), checks_indices;
    "aten::scatter.value_out": indexing::scatter, constraints [INDEX_RANK], is_thorough,
        selection ([2, 0], Selected::Along(1)), checks_indices;
    "aten::select_copy.int_out": indexing::select, evaluation movement::moved, movement select,
        loop_part LoopPart::Slice;
    "aten::select_scatter.out": indexing::select_scatter;
    "aten::sign.out": elementwise::unary, one_order;
    "aten::slice_copy.Tensor_out": indexing::slice, evaluation movement::moved, movement slice;
    "aten::slice_scatter.out": indexing::slice_scatter;
    "aten::split_copy.Tensor_out": join::split, evaluation movement::split, conversion Real, functions ["chunk"];
    "aten::split_with_sizes_copy.out": join::split_with_sizes, evaluation movement::split, conversion Real,
        constraints [OneType { argument: 3 }], is_thorough;
    "aten::sqrt.out": elementwise::unary_floating, conversion Floating, one_order,
        evaluation arithmetic::square_root;
    "aten::squeeze_copy.dim_out": views::squeeze, evaluation movement::same, movement squeeze;
    "aten::squeeze_copy.dims_out": views::squeeze_dims, evaluation movement::same, movement squeeze_dims,
        is_thorough;
    "aten::stack.out": join::stack, evaluation indexing::stacked, conversion Promotion;
    "aten::sub.Scalar_out": elementwise::binary, one_order, constraints [ALPHA], evaluation arithmetic::difference, samples Numbers;
    "aten::sub.out": elementwise::binary, conversion Promotion, constraints [ALPHA], samples Numbers, one_order,
        evaluation arithmetic::difference, functions ["subtract"];
    "aten::sum.IntList_out": reduction::sum, conversion Real, constraints [Dimension { argument: 1, tensor: 0 }];
    "aten::sym_numel": prim::sym_numel, reads_sizes, target PRIM_OPS;
    "aten::sym_size.int": prim::sym_size, constraints [FrontDimension { argument: 1, tensor: 0 }], reads_sizes,
        loop_part LoopPart::Count, target PRIM_OPS;
    "aten::t_copy.out": views::t, evaluation movement::moved, movement t, transposes;
    "aten::topk.values": reduction::topk, constraints [Lines { argument: 0, dim: 2 }],
        temporary Bytes(temporary::topk), samples Numbers;
    "aten::transpose_copy.int_out": views::transpose, evaluation movement::moved, movement transpose,
        functions ["swapaxes"], transposes;
    "aten::tril.out": indexing::tril, evaluation indexing::lower;
    "aten::unbind_copy.int_out": join::unbind, evaluation movement::unbound, conversion Real,
        constraints [OneType { argument: 2 }], is_thorough;
    "aten::unfold_copy.out": views::unfold, evaluation indexing::unfolded, conversion Real,
        constraints [Constraint::min_rank(0, 1)], is_thorough;
    "aten::unsqueeze_copy.out": views::unsqueeze, evaluation movement::same, movement unsqueeze;
    "aten::upsample_bilinear2d.vec_out": resample::upsample_bilinear2d_vec,
        constraints [Constraint::not_empty_last(2)], samples Floating;
    "aten::upsample_nearest2d.vec_out": resample::upsample_nearest2d_vec,
        constraints [Constraint::not_empty_last(2)], samples Floating, functions ["interpolate", "upsample"];
    "aten::var.correction_out" "aten::var.out": reduction::var, conversion Floating, samples Floating;
    "aten::var_mean.correction_out": reduction::var_mean, conversion Floating,
        constraints [Constraint::same_type(5, 4)], samples Floating;
    "aten::view_as_real_copy.out": views::view_as_real, conversion Floating, is_unsized, samples Complex;
    "aten::view_copy.out": views::view, evaluation movement::same, movement view,
        constraints [ViewSizes { argument: 1 }], is_thorough, functions ["flatten", "reshape"];
    "aten::where.self_out": elementwise::where_self, one_order, evaluation indexing::chosen,
        conversion WithinCategory;
    "aten::zeros.out": creation::of_sizes, evaluation creation::zeros, conversion Any;
};
