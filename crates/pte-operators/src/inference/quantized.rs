//! Quantization. The rules are those of torch.ao and of the exporter's own operators.

use super::broadcast::{broadcast, elementwise_order};
use super::operands::{float_tensor, ranked, type_text};
use super::promotion::is_integral;
use super::shape::{Inferred, Result, element_count, is_dynamic, one, sizes_text};
use super::{Call, Dim, IntMeta, ResultMeta, TensorMeta};
use pte_model::format::ScalarType;

/// Integer types of quantized values, and their ranges.
const RANGES: &[(ScalarType, i64, i64)] = &[
    (ScalarType::BYTE, 0, 255),
    (ScalarType::CHAR, -128, 127),
    (ScalarType::SHORT, -32_768, 32_767),
    (ScalarType::INT, -2_147_483_648, 2_147_483_647),
    (ScalarType::FLOAT8E5M2, -57_344, 57_344),
    (ScalarType::FLOAT8E4M3FN, -448, 448),
    (ScalarType::UINT16, 0, 65_535),
];

/// `quantize_per_tensor`: the element type is the argument 5.
pub(crate) fn quantize_per_tensor(call: &Call<'_>) -> Inferred {
    of_type(narrow_input(call)?, call.dtype(5)?)
}

/// `quantize_per_tensor.Tensor`: the same with a scale and a zero point that are tensors.
pub(crate) fn quantize_per_tensor_tensor(call: &Call<'_>) -> Inferred {
    one_element(call, 1)?;
    one_element(call, 2)?;
    quantize_per_tensor(call)
}

/// `dequantize_per_tensor`: the element type is the argument 6, or float32.
pub(crate) fn dequantize_per_tensor(call: &Call<'_>) -> Inferred {
    of_type(call.tensor(0)?, Some(call.dtype(6)?.unwrap_or(ScalarType::FLOAT)))
}

/// `dequantize_per_tensor.Tensor`: the same with a scale and a zero point that are tensors.
pub(crate) fn dequantize_per_tensor_tensor(call: &Call<'_>) -> Inferred {
    one_element(call, 1)?;
    one_element(call, 2)?;
    input_of_type(call, 5)?;
    range_of(call, 5)?;
    dequantize_per_tensor(call)
}

/// `quantize_per_channel`: the axis is the argument 3, the element type the argument 6.
pub(crate) fn quantize_per_channel(call: &Call<'_>) -> Inferred {
    let input = narrow_input(call)?;
    axis(call, input)?;
    check_range(call, 4, 6)?;
    of_type(input, call.dtype(6)?)
}

/// `dequantize_per_channel`: the element type is the argument 7, or float32.
pub(crate) fn dequantize_per_channel(call: &Call<'_>) -> Inferred {
    let input = input_of_type(call, 6)?;
    axis(call, input)?;
    check_range(call, 4, 6)?;
    of_type(input, Some(call.dtype(7)?.unwrap_or(ScalarType::FLOAT)))
}

/// `quantize_per_token`: the element type is the argument 5.
pub(crate) fn quantize_per_token(call: &Call<'_>) -> Inferred {
    check_range(call, 3, 5)?;
    of_type(call.tensor(0)?, call.dtype(5)?)
}

/// `dequantize_per_token`: the element type is the argument 6.
pub(crate) fn dequantize_per_token(call: &Call<'_>) -> Inferred {
    check_range(call, 3, 5)?;
    of_type(call.tensor(0)?, call.dtype(6)?)
}

/// `choose_qparams`: one scale of float64 and one zero point of int64.
pub(crate) fn choose_qparams(call: &Call<'_>) -> Inferred {
    let input = float_tensor(call, 0)?;
    if input.scalar_type == ScalarType::DOUBLE {
        return call.invalid(0, type_text(input), "a tensor of float32, float16 or bfloat16");
    }
    if let (IntMeta::Exact(least), IntMeta::Exact(greatest)) = (call.int(1)?, call.int(2)?)
        && least >= greatest
    {
        return call.invalid(2, greatest.to_string(), format!("more than {least} of `{}`", call.name(1)));
    }
    parameters(&[Dim::fixed(1)])
}

/// `choose_qparams_per_token_asymmetric`: a scale and a zero point for each row.
pub(crate) fn choose_qparams_per_token(call: &Call<'_>) -> Inferred {
    let (_, lead) = call.tensor(0)?.sizes.split_last().unwrap_or((&Dim::fixed(1), &[]));
    parameters(&[lead, &[Dim::fixed(1)]].concat())
}

/// `embedding_byte`, and `embedding_4bit` and `embedding_2bit`, of which `PER_BYTE` values are packed in a byte. The
/// element type is the argument 6; without it, that of the scales, and float32 if values are packed.
pub(crate) fn embedding<const PER_BYTE: i64>(call: &Call<'_>) -> Inferred {
    let (weight, scales, indices) = (ranked(call, 0, &[2])?, call.tensor(1)?, call.tensor(5)?);
    if PER_BYTE == 1 {
        check_embedding(call, weight, scales)?;
    }
    if !matches!(indices.scalar_type, ScalarType::LONG | ScalarType::INT) {
        return call.invalid(5, type_text(indices), "a tensor of int64 or int32");
    }
    let default = if PER_BYTE == 1 { scales.scalar_type } else { ScalarType::FLOAT };
    let mut sizes = indices.sizes.clone();
    sizes.push(super::operands::map_dim(weight.sizes[1], |size| size.checked_mul(PER_BYTE))?);
    one(TensorMeta::contiguous(call.dtype(6)?.unwrap_or(default), sizes))
}

fn check_embedding(call: &Call<'_>, weight: &TensorMeta, scales: &TensorMeta) -> Result<()> {
    if !matches!(weight.scalar_type, ScalarType::BYTE | ScalarType::CHAR) {
        return call.invalid(0, type_text(weight), "a tensor of int8 or uint8");
    }
    if float_tensor(call, 1)?.scalar_type == ScalarType::DOUBLE {
        return call.invalid(1, type_text(scales), "a tensor of float32, float16 or bfloat16");
    }
    for (at, tensor) in [(1, Some(scales)), (2, call.optional_tensor(2)?)] {
        let Some(tensor) = tensor else { continue };
        if tensor.scalar_type != scales.scalar_type {
            return call.invalid(at, type_text(tensor), type_text(scales));
        }
        let rows = ranked(call, at, &[1, 2])?.sizes[0];
        if super::operands::agree(rows, weight.sizes[0]).is_none() {
            let expected = format!("{} rows", weight.sizes[0].size);
            return super::operands::mismatch(call, at, tensor, &expected, 0, weight);
        }
    }
    Ok(())
}

/// `add`: the sum of two quantized tensors, quantized to the type of the first.
pub(crate) fn add(call: &Call<'_>) -> Inferred {
    let (a, b) = (call.tensor(0)?, call.tensor(5)?);
    for (at, tensor) in [(0, a), (5, b)] {
        if !is_integral(tensor.scalar_type) {
            return call.invalid(at, type_text(tensor), "a tensor of integers");
        }
    }
    let sizes = broadcast(call, &[(0, a), (5, b)])?;
    let dim_order = elementwise_order(&sizes, &[a, b]);
    one(TensorMeta { scalar_type: a.scalar_type, sizes, dim_order })
}

/// Returns a tensor like another one of the element type that an argument is.
fn of_type(tensor: &TensorMeta, scalar_type: Option<ScalarType>) -> Inferred {
    one(super::memory::like(tensor, scalar_type.unwrap_or(ScalarType::FLOAT)))
}

/// Returns the tensor that is quantized: of float32 or a smaller type.
fn narrow_input<'a>(call: &Call<'a>) -> Result<&'a TensorMeta> {
    let input = call.tensor(0)?;
    match input.scalar_type {
        ScalarType::FLOAT | ScalarType::HALF | ScalarType::BFLOAT16 => Ok(input),
        _ => call.invalid(0, type_text(input), "a tensor of float32, float16 or bfloat16"),
    }
}

/// Returns the quantized tensor, which has the element type that the argument `at` is.
fn input_of_type<'a>(call: &Call<'a>, at: usize) -> Result<&'a TensorMeta> {
    let input = call.tensor(0)?;
    match call.dtype(at)?.and_then(ScalarType::info) {
        Some(info) if info.code != input.scalar_type.0 => {
            call.invalid(0, type_text(input), format!("a tensor of {}, which is `{}`", info.name, call.name(at)))
        }
        Some(_) | None => Ok(input),
    }
}

fn one_element(call: &Call<'_>, at: usize) -> Result<()> {
    let tensor = call.tensor(at)?;
    let count = element_count(&tensor.sizes);
    if count == 0 || count > 1 && !is_dynamic(&tensor.sizes) {
        return call.invalid(at, sizes_text(&tensor.sizes), "a tensor of one element");
    }
    Ok(())
}

/// Checks the argument 3, a dimension; a negative one counts from the end.
fn axis(call: &Call<'_>, input: &TensorMeta) -> Result<()> {
    let rank = i64::try_from(input.rank()).unwrap_or(i64::MAX);
    match call.int(3)? {
        IntMeta::Exact(axis) if axis >= rank => {
            call.invalid(3, format!("dimension {axis}"), format!("a dimension less than {rank}"))
        }
        IntMeta::Exact(_) | IntMeta::AtMost(_) | IntMeta::Unknown => Ok(()),
    }
}

/// Returns the range of the values of the element type that the argument `at` is.
fn range_of(call: &Call<'_>, at: usize) -> Result<Option<(i64, i64)>> {
    let Some(scalar_type) = call.dtype(at)? else { return Ok(None) };
    match RANGES.iter().find(|(quantized, _, _)| *quantized == scalar_type) {
        Some((_, least, greatest)) => Ok(Some((*least, *greatest))),
        None => {
            let found = scalar_type.info().map_or("an unknown type", |info| info.name);
            call.invalid(at, found, "an element type of quantized values")
        }
    }
}

/// Checks that the range at `at` and the argument after it is within that of the element type.
fn check_range(call: &Call<'_>, at: usize, dtype_at: usize) -> Result<()> {
    let Some((least, greatest)) = range_of(call, dtype_at)? else { return Ok(()) };
    for (at, is_outside, bound) in [(at, i64::lt as fn(&i64, &i64) -> bool, least), (at + 1, i64::gt, greatest)] {
        if let IntMeta::Exact(value) = call.int(at)?
            && is_outside(&value, &bound)
        {
            let expected = format!("a value from {least} to {greatest} of `{}`", call.name(dtype_at));
            return call.invalid(at, value.to_string(), expected);
        }
    }
    Ok(())
}

/// Returns scales and zero points.
fn parameters(sizes: &[Dim]) -> Inferred {
    let of = |scalar_type| ResultMeta::Tensor(TensorMeta::contiguous(scalar_type, sizes.to_vec()));
    Ok(vec![of(ScalarType::DOUBLE), of(ScalarType::LONG)])
}
