//! The operators of `quantized_decomposed`.

use crate::facts::{Channels, Quantization, Selected};
use crate::inference::constraints::Constraint;
use crate::inference::{matmul, quantized};
use crate::release::Row;

/// An embedding with quantized weights, of which `packed` are in an element. The arguments are weight, scales, zero
/// points, quant_min and quant_max; the out is at the position `out`.
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

const fn quantize(channels: Channels, tensors: bool) -> Quantization {
    Quantization { quantizes: true, channels, tensors }
}

const fn dequantize(channels: Channels, tensors: bool) -> Quantization {
    Quantization { quantizes: false, channels, tensors }
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

/// Operators with the same facts are in one row.
pub(super) static ROWS: &[Row] = rows! {
    "quantized_decomposed::add.out": quantized::add, constraints [SameSizes { argument: 5, other: 0 },
        SameSizes { argument: 14, other: 0 }, byte(3), byte(4), AtLeast { argument: 4, other: 3 }, byte(8), byte(9),
        AtLeast { argument: 9, other: 8 }, byte(12), byte(13), AtLeast { argument: 13, other: 12 }], is_thorough,
        samples Byte;
    "quantized_decomposed::choose_qparams.Tensor_out": quantized::choose_qparams, samples Float,
        constraints [Constraint::not_empty(0), int32(1), int32(2), Above { argument: 2, other: 1,
        max: i32::MAX as i64 }, OneElement { argument: 5 }, OneElement { argument: 6 }], numbers 0, is_unsized;
    "quantized_decomposed::choose_qparams_per_token_asymmetric.out": quantized::choose_qparams_per_token,
        samples Float, constraints [HAS_ROWS, Constraint::not_empty_last(1)], numbers 0, aborts;
    "quantized_decomposed::dequantize_per_channel.out": quantized::dequantize_per_channel,
        quantization dequantize(Channels::Axis(3), true), samples Float, conversion Floating, ignored [4, 5];
    "quantized_decomposed::dequantize_per_tensor.Tensor_out": quantized::dequantize_per_tensor_tensor,
        quantization dequantize(Channels::One, true), samples Float, conversion Floating;
    "quantized_decomposed::dequantize_per_tensor.out": quantized::dequantize_per_tensor,
        quantization dequantize(Channels::One, false), samples Float, conversion Floating, functions ["dequantize"];
    "quantized_decomposed::dequantize_per_token.out": quantized::dequantize_per_token,
        quantization dequantize(Channels::Rows, true), samples Float, constraints [HAS_ROWS], ignored [3, 4];
    "quantized_decomposed::embedding_2bit.dtype_out": quantized::embedding::<4>,
        constraints embedding_constraints(7, 4), selection ([5, 0], Selected::Rows), aborts, samples Float;
    "quantized_decomposed::embedding_2bit.out": quantized::embedding::<4>, constraints one_type_embedding(4),
        selection ([5, 0], Selected::Rows), aborts, samples Float, conversion Floating;
    "quantized_decomposed::embedding_4bit.dtype_out": quantized::embedding::<2>,
        constraints embedding_constraints(7, 2), selection ([5, 0], Selected::Rows), aborts, samples Float;
    "quantized_decomposed::embedding_4bit.out": quantized::embedding::<2>, constraints one_type_embedding(2),
        selection ([5, 0], Selected::Rows), aborts, samples Float, conversion Floating;
    "quantized_decomposed::embedding_byte.dtype_out": quantized::embedding::<1>,
        constraints embedding_constraints(7, 1), selection ([5, 0], Selected::Rows), aborts, samples Float, ignored [2];
    "quantized_decomposed::embedding_byte.out": quantized::embedding::<1>, constraints one_type_embedding(1),
        selection ([5, 0], Selected::Rows), aborts, samples Float, ignored [2];
    "quantized_decomposed::mixed_linear.out": matmul::mixed_linear, conversion Floating,
        constraints [Constraint::not_empty(2)], samples Float;
    "quantized_decomposed::mixed_mm.out": matmul::mm, samples Float;
    "quantized_decomposed::quantize_per_channel.out": quantized::quantize_per_channel,
        quantization quantize(Channels::Axis(3), true), samples Float;
    "quantized_decomposed::quantize_per_tensor.Tensor_out": quantized::quantize_per_tensor_tensor,
        quantization quantize(Channels::One, true), samples Float;
    "quantized_decomposed::quantize_per_tensor.out": quantized::quantize_per_tensor,
        quantization quantize(Channels::One, false), samples Float, functions ["quantize"];
    "quantized_decomposed::quantize_per_token.out": quantized::quantize_per_token,
        quantization quantize(Channels::Rows, true), samples Float, constraints [HAS_ROWS];
};
