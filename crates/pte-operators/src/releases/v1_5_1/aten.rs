//! The operators of `aten`.

use crate::evaluation;
use crate::facts::{Facts, Family, Gradients, LoopPart, Samples, Selected, operator};
use crate::inference::constraints::Constraint;
use crate::inference::out_type::Conversion;
use crate::inference::{
    convolution, creation, elementwise, fft, indexing, join, matmul, normalization, pad, pooling, prim, reduction,
    resample, views,
};
use crate::kinds::ResultKinds;
use crate::movement;
use crate::target;
use crate::temporary::{self, Temporary};

/// Target of the kernels that only the optimized library has.
const OPTIMIZED: Option<&str> = Some(target::OPTIMIZED);

/// Target of the kernels that are registered with those of `executorch_prim`.
const RUNTIME: Option<&str> = Some(target::PRIM_OPS);

/// Both operands of a division are complex, of the same type and sizes, or neither is: the kernel reads both as one type, element by
/// element.
const COMPLEX_DIVISION: &[Constraint] = &[
    Constraint::ComplexSizes { argument: 1, other: 0 },
    Constraint::same_complex(1, 0),
    Constraint::same_complex(0, 1),
];

/// Factor of the sizes of two dimensions; its square is an Int.
const FACTOR: Constraint = Constraint::Int { argument: 1, min: 1, max: i32::MAX as i64 };

/// Indices that fit the tensor.
const SELECTS: Constraint = Constraint::Selects { argument: 1, tensor: 0 };

/// The index of a scatter, which has the dimensions of the tensor.
const INDEX_RANK: Constraint = Constraint::RankOf { argument: 2, other: 0 };

/// A function of floating point numbers, element by element.
const fn floating_unary(name: &'static str) -> Facts {
    operator(name, elementwise::unary_floating).conversion(Conversion::Floating).one_order(true)
}

/// A truth value of two operands.
const fn comparison(name: &'static str) -> Facts {
    operator(name, elementwise::binary_bool).conversion(Conversion::Promotion).one_order(true)
}

/// A function of the bits of two operands.
const fn bitwise(name: &'static str) -> Facts {
    operator(name, elementwise::binary).conversion(Conversion::Promotion).samples(Samples::Integral).one_order(true)
}

/// A number of two operands.
const fn arithmetic(name: &'static str) -> Facts {
    operator(name, elementwise::binary).conversion(Conversion::Promotion).samples(Samples::Numbers).one_order(true)
}

/// Sorted by name.
pub(super) static ROWS: &[Facts] = &[
    operator("aten::_adaptive_avg_pool2d.out", pooling::adaptive_avg_pool2d)
        .random(Family::AdaptivePool, Samples::Floating)
        .contiguous_only(true),
    operator("aten::_cdist_forward.out", matmul::cdist).random(Family::Cdist, Samples::Floating),
    operator("aten::_conj_physical.out", elementwise::unary).samples(Samples::Complex),
    operator("aten::_fft_c2r.out", fft::c2r)
        .constraints(&[Constraint::HalfSpectrum { argument: 0, dims: 1, size: 3 }])
        .is_thorough(true)
        .random(Family::Fft, Samples::Complex)
        .target(OPTIMIZED),
    operator("aten::_fft_r2c.out", fft::r2c).random(Family::Fft, Samples::FloatOrDouble).target(OPTIMIZED),
    operator("aten::_local_scalar_dense", prim::local_scalar_dense)
        .result_kinds(Some(ResultKinds::Element))
        .samples(Samples::Numbers)
        .target(RUNTIME),
    operator("aten::_log_softmax.out", elementwise::softmax)
        .constraints(&[
            Constraint::Bool { argument: 2, value: false },
            Constraint::NotEmptyFrom { argument: 0, dim: 1 },
        ])
        .samples(Samples::Float)
        .functions(&["log_softmax"]),
    operator("aten::_native_batch_norm_legit.no_stats_out", normalization::batch_norm_legit::<3>)
        .gradients(Gradients::First)
        .random(Family::BatchNorm, Samples::Floating)
        .short_name(Some("batch_norm")),
    operator("aten::_native_batch_norm_legit.out", normalization::batch_norm_legit::<5>)
        .gradients(Gradients::First)
        .random(Family::BatchNorm, Samples::Floating)
        .short_name(Some("batch_norm")),
    operator("aten::_native_batch_norm_legit_no_training.out", normalization::batch_norm_no_training)
        .gradients(Gradients::First)
        .random(Family::BatchNorm, Samples::Floating)
        .functions(&["batch_norm"])
        .short_name(Some("batch_norm")),
    operator("aten::_pdist_forward.out", matmul::pdist).random(Family::RankTwo, Samples::Floating),
    operator("aten::_softmax.out", elementwise::softmax)
        .constraints(&[Constraint::Bool { argument: 2, value: false }, Constraint::Lines { argument: 0, dim: 1 }])
        .samples(Samples::Floating)
        .functions(&["softmax"]),
    operator("aten::_to_copy.out", elementwise::copy_in_format::<2>)
        .evaluation(Some(evaluation::movement::copied_contiguous))
        .movement(Some(movement::copy))
        .conversion(Conversion::Real)
        .contiguous_only(true)
        .functions(&["to"]),
    operator("aten::_upsample_bilinear2d_aa.out", resample::upsample)
        .constraints(&[Constraint::not_empty_last(2)])
        .random(Family::Upsample, Samples::Floating),
    operator("aten::abs.out", elementwise::abs)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::absolute))
        .conversion(Conversion::Floating)
        .samples(Samples::Numbers)
        .maps_floats(true),
    floating_unary("aten::acos.out"),
    floating_unary("aten::acosh.out"),
    operator("aten::add.Scalar_out", elementwise::binary)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::sum_with_number))
        .conversion(Conversion::Floating)
        .samples(Samples::Numbers),
    arithmetic("aten::add.out").evaluation(Some(evaluation::arithmetic::sum)),
    operator("aten::addmm.out", matmul::addmm)
        .random(Family::Addmm, Samples::Numbers)
        .short_name(Some("linear"))
        .constant_names(&[("self", "bias"), ("mat2", "weight")]),
    operator("aten::alias_copy.out", elementwise::contiguous)
        .evaluation(Some(evaluation::movement::same))
        .movement(Some(movement::copy)),
    operator("aten::amax.out", reduction::extreme).constraints(&[Constraint::not_empty(0)]),
    operator("aten::amin.out", reduction::extreme).constraints(&[Constraint::not_empty(0)]),
    operator("aten::any.all_out", reduction::any_all)
        .conversion(Conversion::BoolOrByte)
        .constraints(&[Constraint::DefaultOrder { argument: 0 }]),
    operator("aten::any.dims_out", reduction::any_dims).conversion(Conversion::BoolOrByte),
    operator("aten::any.out", reduction::any).conversion(Conversion::BoolOrByte),
    operator("aten::arange.out", creation::arange)
        .evaluation(Some(evaluation::creation::range))
        .conversion(Conversion::Numbers)
        .range(Some([None, Some(0), None, Some(1)])),
    operator("aten::arange.start_out", creation::arange_start)
        .evaluation(Some(evaluation::creation::range_from))
        .conversion(Conversion::Numbers)
        .range(Some([Some(0), Some(1), Some(2), Some(3)]))
        .family(Family::Range),
    operator("aten::argmax.out", reduction::position)
        .constraints(&[Constraint::NotEmptyUnless { argument: 0, other: 1 }])
        .samples(Samples::Numbers),
    operator("aten::argmin.out", reduction::position)
        .constraints(&[Constraint::NotEmptyUnless { argument: 0, other: 1 }])
        .samples(Samples::Numbers),
    operator("aten::as_strided_copy.out", views::as_strided)
        .constraints(&[Constraint::Strides { argument: 2, tensor: 0, sizes: 1, offset: 3 }])
        .family(Family::AsStrided),
    floating_unary("aten::asin.out"),
    floating_unary("aten::asinh.out"),
    floating_unary("aten::atan.out"),
    operator("aten::atan2.out", elementwise::binary_floating).one_order(true).conversion(Conversion::Floating),
    floating_unary("aten::atanh.out"),
    operator("aten::avg_pool2d.out", pooling::avg_pool2d)
        .constraints(&[Constraint::divisor(2), Constraint::Window { argument: 1 }])
        .ignored(&[0, 2])
        .random(Family::Pool, Samples::Floating)
        .contiguous_only(true),
    bitwise("aten::bitwise_and.Scalar_out").evaluation(Some(evaluation::arithmetic::bits_of_both)),
    bitwise("aten::bitwise_and.Tensor_out").evaluation(Some(evaluation::arithmetic::bits_of_both)),
    bitwise("aten::bitwise_left_shift.Tensor_Scalar_out"),
    bitwise("aten::bitwise_left_shift.Tensor_out"),
    operator("aten::bitwise_not.out", elementwise::unary)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::inverted))
        .samples(Samples::Integral),
    bitwise("aten::bitwise_or.Scalar_out").evaluation(Some(evaluation::arithmetic::bits_of_either)),
    bitwise("aten::bitwise_or.Tensor_out").evaluation(Some(evaluation::arithmetic::bits_of_either)),
    bitwise("aten::bitwise_right_shift.Tensor_Scalar_out"),
    bitwise("aten::bitwise_right_shift.Tensor_out"),
    bitwise("aten::bitwise_xor.Scalar_out").evaluation(Some(evaluation::arithmetic::bits_of_one)),
    bitwise("aten::bitwise_xor.Tensor_out").evaluation(Some(evaluation::arithmetic::bits_of_one)),
    operator("aten::bmm.out", matmul::bmm)
        .constraints(&[
            Constraint::rank(0, 3),
            Constraint::same_size(1, 0, [0, 0]),
            Constraint::same_size(1, 0, [1, 2]),
        ])
        .random(Family::Bmm, Samples::Numbers)
        .functions(&["batch_matmul"])
        .constant_names(&[("mat2", "weight")]),
    operator("aten::cat.out", join::cat)
        .evaluation(Some(evaluation::indexing::joined))
        .constraints(&[Constraint::DimensionOfEmpty { argument: 1, tensors: 0 }])
        .conversion(Conversion::Promotion)
        .family(Family::Cat)
        .functions(&["concat", "concatenate"]),
    operator("aten::ceil.out", elementwise::unary).one_order(true).samples(Samples::Numbers),
    operator("aten::clamp.Tensor_out", elementwise::clamp)
        .evaluation(Some(evaluation::arithmetic::clamped))
        .conversion(Conversion::Promotion),
    operator("aten::clamp.out", elementwise::clamp)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::clamped))
        .functions(&["clip"]),
    operator("aten::clone.out", elementwise::copy_in_format::<1>)
        .one_order(true)
        .evaluation(Some(evaluation::movement::same))
        .movement(Some(movement::copy))
        .functions(&["contiguous"]),
    operator("aten::constant_pad_nd.out", pad::constant_pad_nd)
        .one_order(true)
        .evaluation(Some(evaluation::indexing::padded))
        .constraints(&[Constraint::Int { argument: 1, min: 0, max: i64::MAX }])
        .family(Family::PadAny)
        .functions(&["pad"]),
    operator("aten::convolution.out", convolution::convolution)
        .constraints(&[
            Constraint::Rank { argument: 0, min: 3, max: 4 },
            Constraint::Int { argument: 8, min: 1, max: i64::MAX },
            Constraint::Channels { argument: 2, weight: 1, transposed: 6, groups: 8 },
        ])
        .ignored(&[7])
        .random(Family::Convolution, Samples::Floating)
        .functions(&["conv", "conv1d", "conv2d", "conv3d", "conv_transpose2d"])
        .short_name(Some("conv")),
    operator("aten::convolution_backward.out", convolution::convolution_backward)
        .constraints(&[Constraint::divisor(9), Constraint::BiasSizes { argument: 3, gradient: 0, mask: 10 }])
        .ignored(&[8])
        .out_mask(Some(10))
        .random(Family::ConvolutionBackward, Samples::Floating),
    operator("aten::copy.out", elementwise::copy)
        .evaluation(Some(evaluation::indexing::replaced))
        .overwrites_self(true)
        .family(Family::Copy),
    operator("aten::copy_", elementwise::copy)
        .overwrites_self(true)
        .family(Family::Copy)
        .loop_part(Some(LoopPart::Copy)),
    floating_unary("aten::cos.out").maps_floats(true),
    floating_unary("aten::cosh.out"),
    operator("aten::cumsum.out", reduction::cumsum).conversion(Conversion::Real).family(Family::WithDimensions),
    operator("aten::detach_copy.out", elementwise::contiguous)
        .evaluation(Some(evaluation::movement::same))
        .movement(Some(movement::copy)),
    operator("aten::diagonal_copy.out", indexing::diagonal)
        .evaluation(Some(evaluation::movement::diagonal))
        .family(Family::Matrix),
    operator("aten::div.Scalar_mode_out", elementwise::div_mode)
        .one_order(true)
        .conversion(Conversion::Promotion)
        .constraints(&[Constraint::DivisorOfType { argument: 1, other: 0 }]),
    operator("aten::div.Scalar_out", elementwise::binary_floating)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::quotient)),
    operator("aten::div.out", elementwise::binary_floating)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::quotient))
        .conversion(Conversion::Quotient)
        .constraints(COMPLEX_DIVISION)
        .functions(&["divide", "true_divide"]),
    operator("aten::div.out_mode", elementwise::div_mode)
        .one_order(true)
        .conversion(Conversion::Promotion)
        .constraints(COMPLEX_DIVISION),
    operator("aten::elu.out", elementwise::unary).one_order(true).samples(Samples::Floating),
    operator("aten::embedding.out", indexing::embedding)
        .evaluation(Some(evaluation::indexing::embedded))
        .selection(Some(([1, 0], Selected::Rows)))
        .family(Family::Embedding),
    operator("aten::empty.out", creation::empty).conversion(Conversion::Any).ignored(&[1]).is_undetermined(true),
    comparison("aten::eq.Scalar_out").evaluation(Some(evaluation::arithmetic::equal)),
    comparison("aten::eq.Tensor_out").evaluation(Some(evaluation::arithmetic::equal)),
    floating_unary("aten::erf.out"),
    floating_unary("aten::exp.out").one_order(false),
    operator("aten::expand_copy.out", elementwise::expand)
        .evaluation(Some(evaluation::movement::moved))
        .movement(Some(movement::expand))
        .family(Family::Expand),
    floating_unary("aten::expm1.out"),
    operator("aten::fill.Scalar_out", elementwise::unary)
        .one_order(true)
        .evaluation(Some(evaluation::creation::filled_like)),
    operator("aten::fill.Tensor_out", elementwise::fill).family(Family::Fill),
    operator("aten::flip.out", indexing::flip).one_order(true).evaluation(Some(evaluation::movement::flipped)),
    operator("aten::floor.out", elementwise::unary).one_order(true).samples(Samples::Numbers),
    operator("aten::floor_divide.out", elementwise::floor_divide)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::floored_quotient))
        .conversion(Conversion::Promotion)
        .samples(Samples::Numbers),
    arithmetic("aten::fmod.Scalar_out"),
    arithmetic("aten::fmod.Tensor_out"),
    operator("aten::full.out", creation::full)
        .evaluation(Some(evaluation::creation::full::<1>))
        .conversion(Conversion::Real),
    operator("aten::full_like.out", elementwise::copy_in_format::<2>)
        .evaluation(Some(evaluation::creation::full_like))
        .conversion(Conversion::ToReal)
        .gradients(Gradients::None),
    operator("aten::gather.out", indexing::gather)
        .evaluation(Some(evaluation::indexing::gathered))
        .constraints(&[Constraint::OtherDimensions { argument: 2, tensor: 0, dim: 1 }])
        .family(Family::Gather),
    comparison("aten::ge.Scalar_out").evaluation(Some(evaluation::arithmetic::at_least)),
    comparison("aten::ge.Tensor_out").evaluation(Some(evaluation::arithmetic::at_least)),
    operator("aten::gelu.out", elementwise::unary)
        .constraints(&[Constraint::Text { argument: 1, texts: &["none", "tanh"] }])
        .samples(Samples::Floating),
    operator("aten::glu.out", elementwise::glu).conversion(Conversion::Floating).random(Family::Glu, Samples::Floating),
    operator("aten::grid_sampler_2d.out", resample::grid_sampler_2d)
        .constraints(&[Constraint::not_empty_last(2)])
        .random(Family::GridSampler, Samples::Floating)
        .contiguous_only(true),
    comparison("aten::gt.Scalar_out").evaluation(Some(evaluation::arithmetic::more)),
    comparison("aten::gt.Tensor_out").evaluation(Some(evaluation::arithmetic::more)).functions(&["greater"]),
    operator("aten::hardtanh.out", elementwise::unary).one_order(true).samples(Samples::Numbers).functions(&["relu6"]),
    operator("aten::index.Tensor_out", indexing::index)
        .constraints(&[Constraint::same_type(2, 0), SELECTS])
        .family(Family::Index),
    operator("aten::index_put.out", indexing::index_put).constraints(&[SELECTS]).family(Family::Index),
    operator("aten::index_put_", indexing::index_put)
        .constraints(&[Constraint::Indexed { argument: 2, indices: 1 }, SELECTS])
        .family(Family::Index),
    operator("aten::index_select.out", indexing::index_select)
        .evaluation(Some(evaluation::indexing::index_selected))
        .selection(Some(([2, 0], Selected::Along(1))))
        .family(Family::IndexSelect),
    operator("aten::isinf.out", elementwise::unary_bool)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::infinite)),
    operator("aten::isnan.out", elementwise::unary_bool)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::not_a_number)),
    comparison("aten::le.Scalar_out").evaluation(Some(evaluation::arithmetic::at_most)),
    comparison("aten::le.Tensor_out").evaluation(Some(evaluation::arithmetic::at_most)),
    operator("aten::leaky_relu.out", elementwise::unary).one_order(true).samples(Samples::Floating),
    operator("aten::lift_fresh_copy.out", elementwise::contiguous)
        .evaluation(Some(evaluation::movement::same))
        .movement(Some(movement::copy)),
    operator("aten::linear.out", matmul::linear)
        .random(Family::Linear, Samples::Floating)
        .functions(&["dense", "fully_connected"])
        .target(OPTIMIZED),
    floating_unary("aten::log.out"),
    floating_unary("aten::log10.out"),
    floating_unary("aten::log1p.out"),
    floating_unary("aten::log2.out"),
    comparison("aten::logical_and.out").evaluation(Some(evaluation::arithmetic::both)),
    operator("aten::logical_not.out", elementwise::unary_bool)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::negated))
        .conversion(Conversion::Promotion),
    comparison("aten::logical_or.out").evaluation(Some(evaluation::arithmetic::either)),
    comparison("aten::logical_xor.out").evaluation(Some(evaluation::arithmetic::exclusive)),
    operator("aten::logit.out", elementwise::unary_floating)
        .one_order(true)
        .conversion(Conversion::Floating)
        .samples(Samples::FloatOrDouble),
    comparison("aten::lt.Scalar_out").evaluation(Some(evaluation::arithmetic::less)),
    comparison("aten::lt.Tensor_out").evaluation(Some(evaluation::arithmetic::less)).functions(&["less"]),
    operator("aten::masked_fill.Scalar_out", elementwise::masked)
        .one_order(true)
        .evaluation(Some(evaluation::indexing::masked))
        .family(Family::Masked),
    operator("aten::masked_scatter.out", elementwise::masked).family(Family::Masked),
    operator("aten::masked_select.out", indexing::masked_select)
        .constraints(&[Constraint::same_type(2, 0), Constraint::rank(2, 1)])
        .family(Family::Masked)
        .data_dependent(Some((indexing::SELECTED, indexing::masked_select_bounds))),
    operator("aten::max.dim_max", reduction::extreme_with_indices),
    operator("aten::max.unary_out", reduction::extreme_all)
        .conversion(Conversion::Promotion)
        .constraints(&[Constraint::DefaultOrder { argument: 0 }]),
    operator("aten::max_pool2d_with_indices.out", pooling::max_pool2d_with_indices)
        .constraints(&[Constraint::divisor(2), Constraint::Window { argument: 1 }])
        .ignored(&[0, 2, 4])
        .random(Family::Pool, Samples::Floating)
        .functions(&["max_pool2d"])
        .short_name(Some("max_pool2d")),
    operator("aten::max_pool2d_with_indices_backward.grad_input", pooling::max_pool2d_with_indices_backward)
        .constraints(&[Constraint::divisor(3), Constraint::SameSizes { argument: 7, other: 0 }])
        .selection(Some(([7, 1], Selected::Elements)))
        .is_undetermined(true)
        .random(Family::PoolBackward, Samples::Floating),
    operator("aten::maximum.out", elementwise::binary)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::greater))
        .conversion(Conversion::Promotion),
    operator("aten::mean.dtype_out", reduction::mean_all).conversion(Conversion::Floating).samples(Samples::Floating),
    operator("aten::mean.out", reduction::mean).conversion(Conversion::Floating).samples(Samples::Floating),
    operator("aten::min.dim_min", reduction::extreme_with_indices),
    operator("aten::min.unary_out", reduction::extreme_all)
        .conversion(Conversion::Promotion)
        .constraints(&[Constraint::DefaultOrder { argument: 0 }]),
    operator("aten::minimum.out", elementwise::binary)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::smaller))
        .conversion(Conversion::Promotion),
    operator("aten::mm.out", matmul::mm)
        .random(Family::Mm, Samples::Numbers)
        .functions(&["matmul"])
        .constant_names(&[("mat2", "weight")]),
    operator("aten::mul.Scalar_out", elementwise::binary)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::product)),
    operator("aten::mul.out", elementwise::binary)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::product))
        .conversion(Conversion::Promotion)
        .functions(&["multiply"]),
    operator("aten::narrow_copy.out", views::narrow)
        .evaluation(Some(evaluation::movement::narrowed))
        .constraints(&[Constraint::FrontDimension { argument: 1, tensor: 0 }])
        .family(Family::Narrow),
    operator("aten::native_dropout.out", elementwise::native_dropout)
        .is_undetermined(true)
        .samples(Samples::Floating)
        .functions(&["dropout"]),
    operator("aten::native_group_norm.out", normalization::group_norm)
        .constraints(&[Constraint::min_rank(0, 2), Constraint::rank(1, 1), Constraint::rank(2, 1)])
        .is_thorough(true)
        .random(Family::GroupNorm, Samples::Floating)
        .functions(&["group_norm"])
        .short_name(Some("group_norm")),
    operator("aten::native_layer_norm.out", normalization::layer_norm)
        .gradients(Gradients::First)
        .random(Family::LayerNorm, Samples::Floating)
        .functions(&["layer_norm"])
        .short_name(Some("layer_norm")),
    comparison("aten::ne.Scalar_out").evaluation(Some(evaluation::arithmetic::unequal)),
    comparison("aten::ne.Tensor_out").evaluation(Some(evaluation::arithmetic::unequal)).functions(&["not_equal"]),
    operator("aten::neg.out", elementwise::unary)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::opposite))
        .samples(Samples::Numbers)
        .functions(&["negative"])
        .maps_floats(true),
    operator("aten::nonzero.out", indexing::nonzero)
        .constraints(&[Constraint::int64(1), Constraint::rank(1, 2)])
        .data_dependent(Some((indexing::NONZERO, indexing::nonzero_bounds))),
    operator("aten::ones.out", creation::of_sizes)
        .evaluation(Some(evaluation::creation::ones))
        .conversion(Conversion::Real),
    operator("aten::permute_copy.out", views::permute)
        .evaluation(Some(evaluation::movement::moved))
        .movement(Some(movement::permute))
        .family(Family::Permute)
        .functions(&["movedim"])
        .transposes(true),
    operator("aten::pixel_shuffle.out", resample::pixel_shuffle)
        .evaluation(Some(evaluation::movement::pixels_shuffled))
        // The kernel squares the factor in 32 bits.
        .constraints(&[Constraint::Int { argument: 1, min: 1, max: i16::MAX as i64 }])
        .family(Family::PixelShuffle)
        .contiguous_only(true),
    operator("aten::pixel_unshuffle.out", resample::pixel_unshuffle)
        .evaluation(Some(evaluation::movement::pixels_unshuffled))
        .constraints(&[FACTOR])
        .family(Family::PixelShuffle)
        .contiguous_only(true),
    operator("aten::pow.Scalar_out", elementwise::pow)
        .one_order(true)
        .conversion(Conversion::Promotion)
        .samples(Samples::Numbers),
    operator("aten::pow.Tensor_Scalar_out", elementwise::pow)
        .one_order(true)
        .conversion(Conversion::Promotion)
        .samples(Samples::Numbers)
        .functions(&["square"]),
    operator("aten::pow.Tensor_Tensor_out", elementwise::pow)
        .one_order(true)
        .conversion(Conversion::Promotion)
        .samples(Samples::Numbers),
    operator("aten::prod.int_out", reduction::prod).conversion(Conversion::Real),
    operator("aten::prod.out", reduction::prod_all),
    operator("aten::rand.out", creation::of_sizes).conversion(Conversion::Floating).is_undetermined(true),
    operator("aten::randn.out", creation::of_sizes).conversion(Conversion::Floating).is_undetermined(true),
    floating_unary("aten::reciprocal.out"),
    operator("aten::reflection_pad1d.out", pad::reflection_pad::<1>).family(Family::Pad(1)),
    operator("aten::reflection_pad2d.out", pad::reflection_pad::<2>).family(Family::Pad(2)).contiguous_only(true),
    operator("aten::reflection_pad3d.out", pad::reflection_pad::<3>).family(Family::Pad(3)),
    operator("aten::relu.out", elementwise::unary).one_order(true).samples(Samples::Floating).maps_floats(true),
    operator("aten::remainder.Scalar_out", elementwise::binary)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::remaining))
        .conversion(Conversion::Promotion)
        .constraints(&[Constraint::DivisorOfType { argument: 1, other: 0 }])
        .samples(Samples::Numbers),
    arithmetic("aten::remainder.Tensor_out").evaluation(Some(evaluation::arithmetic::remaining)),
    operator("aten::repeat.out", indexing::repeat)
        .evaluation(Some(evaluation::movement::repeated))
        .family(Family::Repeat),
    operator("aten::repeat_interleave.Tensor_out", indexing::repeat_interleave)
        .repetitions(Some([0, 1]))
        .random(Family::RepeatInterleave, Samples::Positions),
    operator("aten::replication_pad1d.out", pad::replication_pad::<1>)
        .constraints(&[Constraint::not_empty_last(1)])
        .ignored(&[0])
        .family(Family::Pad(1)),
    operator("aten::replication_pad2d.out", pad::replication_pad::<2>)
        .constraints(&[Constraint::not_empty_last(2)])
        .ignored(&[0])
        .family(Family::Pad(2)),
    operator("aten::replication_pad3d.out", pad::replication_pad::<3>)
        .constraints(&[Constraint::not_empty_last(3)])
        .ignored(&[0])
        .family(Family::Pad(3)),
    operator("aten::roll.out", indexing::roll).evaluation(Some(evaluation::indexing::rolled)).family(Family::Roll),
    operator("aten::round.out", elementwise::unary).one_order(true).samples(Samples::Numbers),
    floating_unary("aten::rsqrt.out"),
    operator("aten::rsub.Scalar_out", elementwise::binary)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::reverse_difference))
        .samples(Samples::Numbers),
    operator("aten::scalar_tensor.out", creation::scalar_tensor)
        .evaluation(Some(evaluation::creation::full::<0>))
        .conversion(Conversion::Real),
    operator("aten::scatter.src_out", indexing::scatter_source).constraints(&[INDEX_RANK]).family(Family::Gather),
    operator("aten::scatter.value_out", indexing::scatter)
        .constraints(&[INDEX_RANK])
        .is_thorough(true)
        .family(Family::Gather),
    operator("aten::scatter_add.out", indexing::scatter_source).constraints(&[INDEX_RANK]).family(Family::Gather),
    operator("aten::select_copy.int_out", indexing::select)
        .evaluation(Some(evaluation::movement::moved))
        .movement(Some(movement::select))
        .family(Family::Select)
        .loop_part(Some(LoopPart::Slice)),
    operator("aten::select_scatter.out", indexing::select_scatter).family(Family::Select),
    floating_unary("aten::sigmoid.out").maps_floats(true),
    operator("aten::sign.out", elementwise::unary).one_order(true),
    floating_unary("aten::sin.out").maps_floats(true),
    floating_unary("aten::sinh.out"),
    operator("aten::slice_copy.Tensor_out", indexing::slice)
        .evaluation(Some(evaluation::movement::moved))
        .movement(Some(movement::slice))
        .family(Family::Slice),
    operator("aten::slice_scatter.out", indexing::slice_scatter).family(Family::Slice),
    operator("aten::split_copy.Tensor_out", join::split)
        .evaluation(Some(evaluation::movement::split))
        .conversion(Conversion::Real)
        .functions(&["chunk"]),
    operator("aten::split_with_sizes_copy.out", join::split_with_sizes)
        .evaluation(Some(evaluation::movement::split))
        .conversion(Conversion::Real)
        .constraints(&[Constraint::OneType { argument: 3 }])
        .is_thorough(true)
        .family(Family::SplitWithSizes),
    floating_unary("aten::sqrt.out").evaluation(Some(evaluation::arithmetic::square_root)),
    operator("aten::squeeze_copy.dim_out", views::squeeze)
        .evaluation(Some(evaluation::movement::same))
        .movement(Some(movement::squeeze)),
    operator("aten::squeeze_copy.dims_out", views::squeeze_dims)
        .evaluation(Some(evaluation::movement::same))
        .movement(Some(movement::squeeze_dims))
        .is_thorough(true),
    operator("aten::stack.out", join::stack)
        .evaluation(Some(evaluation::indexing::stacked))
        .conversion(Conversion::Promotion)
        .family(Family::Cat),
    operator("aten::sub.Scalar_out", elementwise::binary)
        .one_order(true)
        .evaluation(Some(evaluation::arithmetic::difference))
        .samples(Samples::Numbers),
    arithmetic("aten::sub.out").evaluation(Some(evaluation::arithmetic::difference)).functions(&["subtract"]),
    operator("aten::sum.IntList_out", reduction::sum)
        .conversion(Conversion::Real)
        .constraints(&[Constraint::Dimension { argument: 1, tensor: 0 }]),
    operator("aten::sym_numel", prim::sym_numel).reads_sizes(true).target(RUNTIME),
    operator("aten::sym_size.int", prim::sym_size)
        .constraints(&[Constraint::FrontDimension { argument: 1, tensor: 0 }])
        .reads_sizes(true)
        .family(Family::SymSize)
        .loop_part(Some(LoopPart::Count))
        .target(RUNTIME),
    operator("aten::t_copy.out", views::t)
        .evaluation(Some(evaluation::movement::moved))
        .movement(Some(movement::t))
        .family(Family::AtMostRankTwo)
        .transposes(true),
    floating_unary("aten::tan.out"),
    floating_unary("aten::tanh.out").maps_floats(true),
    operator("aten::topk.values", reduction::topk)
        .constraints(&[Constraint::Lines { argument: 0, dim: 2 }])
        .temporary(Some(Temporary::Bytes(temporary::topk)))
        .random(Family::Topk, Samples::Numbers),
    operator("aten::transpose_copy.int_out", views::transpose)
        .evaluation(Some(evaluation::movement::moved))
        .movement(Some(movement::transpose))
        .functions(&["swapaxes"])
        .transposes(true),
    operator("aten::tril.out", indexing::tril).evaluation(Some(evaluation::indexing::lower)).family(Family::Matrix),
    operator("aten::trunc.out", elementwise::unary).one_order(true).samples(Samples::Numbers),
    operator("aten::unbind_copy.int_out", join::unbind)
        .evaluation(Some(evaluation::movement::unbound))
        .conversion(Conversion::Real)
        .constraints(&[Constraint::OneType { argument: 2 }])
        .is_thorough(true),
    operator("aten::unfold_copy.out", views::unfold)
        .evaluation(Some(evaluation::indexing::unfolded))
        .conversion(Conversion::Real)
        .constraints(&[Constraint::min_rank(0, 1)])
        .is_thorough(true)
        .family(Family::Unfold),
    operator("aten::unsqueeze_copy.out", views::unsqueeze)
        .evaluation(Some(evaluation::movement::same))
        .movement(Some(movement::unsqueeze))
        .family(Family::Unsqueeze),
    operator("aten::upsample_bilinear2d.vec_out", resample::upsample_bilinear2d_vec)
        .constraints(&[Constraint::not_empty_last(2)])
        .random(Family::Upsample, Samples::Floating),
    operator("aten::upsample_nearest2d.vec_out", resample::upsample_nearest2d_vec)
        .constraints(&[Constraint::not_empty_last(2)])
        .random(Family::Upsample, Samples::Floating)
        .functions(&["interpolate", "upsample"]),
    operator("aten::var.correction_out", reduction::var).conversion(Conversion::Floating).samples(Samples::Floating),
    operator("aten::var.out", reduction::var).conversion(Conversion::Floating).samples(Samples::Floating),
    operator("aten::var_mean.correction_out", reduction::var_mean)
        .conversion(Conversion::Floating)
        .constraints(&[Constraint::same_type(5, 4)])
        .samples(Samples::Floating),
    operator("aten::view_as_real_copy.out", views::view_as_real)
        .conversion(Conversion::Floating)
        .is_unsized(true)
        .samples(Samples::Complex),
    operator("aten::view_copy.out", views::view)
        .evaluation(Some(evaluation::movement::same))
        .movement(Some(movement::view))
        .constraints(&[Constraint::ViewSizes { argument: 1 }])
        .is_thorough(true)
        .family(Family::View)
        .functions(&["flatten", "reshape"]),
    operator("aten::where.self_out", elementwise::where_self)
        .one_order(true)
        .evaluation(Some(evaluation::indexing::chosen))
        .conversion(Conversion::WithinCategory)
        .family(Family::Masked),
    operator("aten::zeros.out", creation::of_sizes)
        .evaluation(Some(evaluation::creation::zeros))
        .conversion(Conversion::Any),
];
