//! Operators of libraries other than the default runtime whose meta functions in ExecuTorch 1.5.1 and torchao 0.18
//! determine the result by sizes alone.

use super::broadcast::broadcast;
use super::memory::like;
use super::operands::{agree, mismatch, ranked};
use super::shape::{Inferred, Result, dim_of_int, element_count, is_dynamic, one, sizes_text};
use super::{Call, Dim, InferenceError, ResultMeta, TensorMeta};
use pte_model::format::ScalarType;

/// Number of tiles of an image, at most.
const MAX_TILES: i64 = 4;

/// A tensor like the argument 0, in its order of memory.
pub(crate) fn like_input(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    one(like(tensor, tensor.scalar_type))
}

/// A contiguous tensor of the sizes of the argument 0, of float32.
pub(crate) fn contiguous_float(call: &Call<'_>) -> Inferred {
    one(TensorMeta::contiguous(ScalarType::FLOAT, call.tensor(0)?.sizes.clone()))
}

/// A contiguous tensor of the sizes of the argument 0, of the element type that the argument 5 is.
pub(crate) fn contiguous_of_dtype(call: &Call<'_>) -> Inferred {
    one(TensorMeta::contiguous(dtype(call)?, call.tensor(0)?.sizes.clone()))
}

/// A tensor like the argument 0, of the element type that the argument 5 is.
pub(crate) fn like_of_dtype(call: &Call<'_>) -> Inferred {
    one(like(call.tensor(0)?, dtype(call)?))
}

/// A tensor like the argument 0, of float32.
pub(crate) fn like_float(call: &Call<'_>) -> Inferred {
    one(like(call.tensor(0)?, ScalarType::FLOAT))
}

/// A tensor like the argument 0, of int8.
pub(crate) fn like_int8(call: &Call<'_>) -> Inferred {
    one(like(call.tensor(0)?, ScalarType::CHAR))
}

fn dtype(call: &Call<'_>) -> Result<ScalarType> {
    match call.dtype(5)? {
        Some(scalar_type) => Ok(scalar_type),
        None => call.invalid(5, "None", "an element type"),
    }
}

/// The contiguous result of two operands, the arguments 0 and `OTHER`, that broadcast; of the type of the first.
pub(crate) fn binary<const OTHER: usize>(call: &Call<'_>) -> Inferred {
    let (first, other) = (call.tensor(0)?, call.tensor(OTHER)?);
    one(TensorMeta::contiguous(first.scalar_type, broadcast(call, &[(0, first), (OTHER, other)])?))
}

/// `cortex_m::minimum` and `maximum`: like the first operand if the second has one element, else as [`binary`].
pub(crate) fn extreme(call: &Call<'_>) -> Inferred {
    let (first, other) = (call.tensor(0)?, call.tensor(1)?);
    match element_count(&other.sizes) == 1 && !is_dynamic(&other.sizes) {
        true => like_input(call),
        false => one(TensorMeta::contiguous(first.scalar_type, broadcast(call, &[(0, first), (1, other)])?)),
    }
}

/// `cortex_m::quantized_add` and `quantized_mul`: like the operand with more elements, of the arguments 0 and `OTHER`;
/// like the second if they have equally many.
pub(crate) fn larger<const OTHER: usize>(call: &Call<'_>) -> Inferred {
    let (first, other) = (call.tensor(0)?, call.tensor(OTHER)?);
    if first.sizes != other.sizes && (is_dynamic(&first.sizes) || is_dynamic(&other.sizes)) {
        return Err(InferenceError::Undetermined("the larger operand is known at run time only"));
    }
    let larger = if element_count(&first.sizes) > element_count(&other.sizes) { first } else { other };
    one(like(larger, larger.scalar_type))
}

/// An input of sizes [..., k] and a weight of sizes [m, k].
pub(crate) fn linear(call: &Call<'_>) -> Inferred {
    let (input, weight) = (call.tensor(0)?, ranked(call, 1, &[2])?);
    let Some((_, lead)) = input.sizes.split_last() else {
        return call.invalid(0, sizes_text(&input.sizes), "a tensor of 1 dimension or more");
    };
    one(TensorMeta::contiguous(input.scalar_type, [lead, &[weight.sizes[0]]].concat()))
}

/// `cortex_m::quantized_batch_matmul`: sizes [b, n, k] and [b, m, k].
pub(crate) fn batch_matmul(call: &Call<'_>) -> Inferred {
    let (a, b) = (ranked(call, 0, &[3])?, ranked(call, 2, &[3])?);
    let Some(batch) = agree(a.sizes[0], b.sizes[0]).filter(|_| agree(a.sizes[2], b.sizes[2]).is_some()) else {
        return mismatch(call, 2, b, &format!("sizes [{}, _, {}]", a.sizes[0].size, a.sizes[2].size), 0, a);
    };
    one(TensorMeta::contiguous(ScalarType::CHAR, vec![batch, a.sizes[1], b.sizes[1]]))
}

/// Rows of `activations` of sizes [m, k] times a packed weight of `N` rows, which is an argument.
pub(crate) fn packed_linear<const N: usize>(call: &Call<'_>) -> Inferred {
    let activations = ranked(call, 0, &[2])?;
    let columns = dim_of_int(call, N, call.int(N)?)?;
    one(TensorMeta::contiguous(activations.scalar_type, vec![activations.sizes[0], columns]))
}

/// Rows of a packed table, of the length that the argument `DIM` is, at the indices of the argument `INDICES`.
pub(crate) fn packed_embedding<const DIM: usize, const INDICES: usize>(call: &Call<'_>) -> Inferred {
    let indices = ranked(call, INDICES, &[1])?;
    let length = dim_of_int(call, DIM, call.int(DIM)?)?;
    one(TensorMeta::contiguous(ScalarType::FLOAT, vec![indices.sizes[0], length]))
}

/// `update_cache`: the result is one element, which is unused.
pub(crate) fn update_cache(call: &Call<'_>) -> Inferred {
    one(TensorMeta::contiguous(call.tensor(0)?.scalar_type, vec![Dim::fixed(1)]))
}

/// `gated_delta_rule`: the sizes of the query with the last one of the value, and the state.
pub(crate) fn gated_delta_rule(call: &Call<'_>) -> Inferred {
    let (query, value, state) = (ranked(call, 0, &[4])?, ranked(call, 2, &[4])?, call.tensor(5)?);
    let sizes = [&query.sizes[..3], &value.sizes[3..]].concat();
    let result = TensorMeta::contiguous(query.scalar_type, sizes);
    Ok(vec![ResultMeta::Tensor(result), ResultMeta::Tensor(like(state, state.scalar_type))])
}

/// `quantized_moe_ffn`: rows of the length that the argument 8 is.
pub(crate) fn moe_ffn(call: &Call<'_>) -> Inferred {
    let (input, length) = (ranked(call, 0, &[2])?, dim_of_int(call, 8, call.int(8)?)?);
    one(TensorMeta::contiguous(ScalarType::FLOAT, vec![input.sizes[0], length]))
}

/// `tile_crop`: square tiles of the size that the argument 1 is, with the channels of the image.
pub(crate) fn tile_crop(call: &Call<'_>) -> Inferred {
    let (image, size) = (call.tensor(0)?, dim_of_int(call, 1, call.int(1)?)?);
    let Some(channels) = image.sizes.first() else {
        return call.invalid(0, sizes_text(&image.sizes), "a tensor of 1 dimension or more");
    };
    let tiles = Dim { size: MAX_TILES, dynamic: true };
    one(TensorMeta::contiguous(ScalarType::FLOAT, vec![tiles, *channels, size, size]))
}
