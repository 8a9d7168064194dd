//! The operators of `quantized_decomposed`.

use crate::facts::{Channels, Facts, Family, Quantization, Samples, Selected, operator};
use crate::inference::constraints::Constraint;
use crate::inference::out_type::Conversion;
use crate::inference::{Rule, matmul, quantized};

/// An embedding with quantized weights, of which `packed` are in an element. The arguments are weight, scales, zero points, quant_min and
/// quant_max; the out is at the position `out`.
const fn embedding_constraints(out: usize, packed: i64) -> [Constraint; 7] {
    [
        Constraint::rank(0, 2),
        Constraint::Rank { argument: 1, min: 1, max: 2 },
        Constraint::same_size(1, 0, [0, 0]),
        Constraint::Groups { argument: 1, other: 0, packed },
        Constraint::SameSizes { argument: 2, other: 1 },
        Constraint::AtLeast { argument: 4, other: 3 },
        Constraint::same_type(2, out),
    ]
}

/// An embedding whose kernel reads scales, zero points and out as one type.
const fn one_type_embedding(packed: i64) -> [Constraint; 8] {
    let [weight, scales, rows, groups, zero_points, range, types] = embedding_constraints(6, packed);
    [weight, scales, rows, groups, zero_points, range, types, Constraint::same_type(1, 6)]
}

/// An embedding with `packed` quantized weights in an element.
const fn embedding(name: &'static str, rule: Rule, packed: i64, constraints: &'static [Constraint]) -> Facts {
    let row = operator(name, rule).constraints(constraints).selection(Some(([5, 0], Selected::Rows))).aborts(true);
    row.random(Family::QuantizedEmbedding(packed), Samples::Float)
}

/// An operator that quantizes or dequantizes, or chooses the parameters for it.
const fn quantizing(name: &'static str, rule: Rule) -> Facts {
    operator(name, rule).random(Family::Quantized, Samples::Float)
}

const fn quantize(name: &'static str, rule: Rule, channels: Channels, tensors: bool) -> Facts {
    quantizing(name, rule).quantization(Some(Quantization { quantizes: true, channels, tensors }))
}

const fn dequantize(name: &'static str, rule: Rule, channels: Channels, tensors: bool) -> Facts {
    quantizing(name, rule).quantization(Some(Quantization { quantizes: false, channels, tensors }))
}

/// A tensor with rows.
const HAS_ROWS: Constraint = Constraint::min_rank(0, 1);

/// Both ends of a quantized range of `quantized_decomposed::add`, whatever the element type is.
const fn byte(argument: usize) -> Constraint {
    Constraint::Int { argument, min: 0, max: 255 }
}

/// An Int of 32 bits.
const fn int32(argument: usize) -> Constraint {
    Constraint::Int { argument, min: i32::MIN as i64, max: i32::MAX as i64 }
}

/// Sorted by name.
pub(super) static ROWS: &[Facts] = &[
    operator("quantized_decomposed::add.out", quantized::add)
        .constraints(&[
            Constraint::SameSizes { argument: 5, other: 0 },
            Constraint::SameSizes { argument: 14, other: 0 },
            byte(3),
            byte(4),
            Constraint::AtLeast { argument: 4, other: 3 },
            byte(8),
            byte(9),
            Constraint::AtLeast { argument: 9, other: 8 },
            byte(12),
            byte(13),
            Constraint::AtLeast { argument: 13, other: 12 },
        ])
        .is_thorough(true)
        .random(Family::QuantizedAdd, Samples::Byte),
    quantizing("quantized_decomposed::choose_qparams.Tensor_out", quantized::choose_qparams)
        .constraints(&[
            Constraint::not_empty(0),
            int32(1),
            int32(2),
            Constraint::Above { argument: 2, other: 1, max: i32::MAX as i64 },
            Constraint::OneElement { argument: 5 },
            Constraint::OneElement { argument: 6 },
        ])
        .numbers(Some(0))
        .is_unsized(true),
    quantizing("quantized_decomposed::choose_qparams_per_token_asymmetric.out", quantized::choose_qparams_per_token)
        .constraints(&[HAS_ROWS, Constraint::not_empty_last(1)])
        .numbers(Some(0))
        .aborts(true),
    dequantize(
        "quantized_decomposed::dequantize_per_channel.out",
        quantized::dequantize_per_channel,
        Channels::Axis(3),
        true,
    )
    .conversion(Conversion::Floating)
    .ignored(&[4, 5]),
    dequantize(
        "quantized_decomposed::dequantize_per_tensor.Tensor_out",
        quantized::dequantize_per_tensor_tensor,
        Channels::One,
        true,
    )
    .conversion(Conversion::Floating),
    dequantize(
        "quantized_decomposed::dequantize_per_tensor.out",
        quantized::dequantize_per_tensor,
        Channels::One,
        false,
    )
    .conversion(Conversion::Floating)
    .functions(&["dequantize"]),
    dequantize("quantized_decomposed::dequantize_per_token.out", quantized::dequantize_per_token, Channels::Rows, true)
        .constraints(&[HAS_ROWS])
        .ignored(&[3, 4]),
    embedding(
        "quantized_decomposed::embedding_2bit.dtype_out",
        quantized::embedding::<4>,
        4,
        &embedding_constraints(7, 4),
    ),
    embedding("quantized_decomposed::embedding_2bit.out", quantized::embedding::<4>, 4, &one_type_embedding(4))
        .conversion(Conversion::Floating),
    embedding(
        "quantized_decomposed::embedding_4bit.dtype_out",
        quantized::embedding::<2>,
        2,
        &embedding_constraints(7, 2),
    ),
    embedding("quantized_decomposed::embedding_4bit.out", quantized::embedding::<2>, 2, &one_type_embedding(2))
        .conversion(Conversion::Floating),
    embedding(
        "quantized_decomposed::embedding_byte.dtype_out",
        quantized::embedding::<1>,
        1,
        &embedding_constraints(7, 1),
    )
    .ignored(&[2]),
    embedding("quantized_decomposed::embedding_byte.out", quantized::embedding::<1>, 1, &one_type_embedding(1))
        .ignored(&[2]),
    operator("quantized_decomposed::mixed_linear.out", matmul::mixed_linear)
        .conversion(Conversion::Floating)
        .constraints(&[Constraint::not_empty(2)])
        .random(Family::MixedLinear, Samples::Float),
    operator("quantized_decomposed::mixed_mm.out", matmul::mm).random(Family::MixedMm, Samples::Float),
    quantize(
        "quantized_decomposed::quantize_per_channel.out",
        quantized::quantize_per_channel,
        Channels::Axis(3),
        true,
    ),
    quantize(
        "quantized_decomposed::quantize_per_tensor.Tensor_out",
        quantized::quantize_per_tensor_tensor,
        Channels::One,
        true,
    ),
    quantize("quantized_decomposed::quantize_per_tensor.out", quantized::quantize_per_tensor, Channels::One, false)
        .functions(&["quantize"]),
    quantize("quantized_decomposed::quantize_per_token.out", quantized::quantize_per_token, Channels::Rows, true)
        .constraints(&[HAS_ROWS]),
];
