//! Pooling of two spatial dimensions.

use super::layout::MemoryFormat;
use super::operands::{agree, map_dim, mismatch, ranked, type_text};
use super::shape::{Inferred, Result, one, sizes_text};
use super::{Call, Dim, IntMeta, ResultMeta, TensorMeta};
use pte_model::format::ScalarType;

/// `avg_pool2d`
pub(crate) fn avg_pool2d(call: &Call<'_>) -> Inferred {
    let input = ranked(call, 0, &[3, 4])?;
    if let Some(info) =
        input.scalar_type.info().filter(|info| matches!(info.name, "uint8" | "uint16" | "uint32" | "uint64"))
    {
        return call.invalid(0, format!("a tensor of {}", info.name), "a tensor of signed or floating point numbers");
    }
    if call.optional_int(6)? == Some(IntMeta::Exact(0)) {
        return call.invalid(6, "0", "a divisor other than 0");
    }
    let sizes = pooled(call, input, 0, [1, 2, 3], None, call.bool(4)?)?;
    one(MemoryFormat::suggested_by(input).tensor(input.scalar_type, sizes))
}

/// `max_pool2d_with_indices`: the maximums, and their indices of int64.
pub(crate) fn max_pool2d_with_indices(call: &Call<'_>) -> Inferred {
    let input = ranked(call, 0, &[3, 4])?;
    let sizes = pooled(call, input, 0, [1, 2, 3], Some(4), call.bool(5)?)?;
    let format = MemoryFormat::suggested_by(input);
    let indices = format.tensor(ScalarType::LONG, sizes.clone());
    Ok(vec![ResultMeta::Tensor(format.tensor(input.scalar_type, sizes)), ResultMeta::Tensor(indices)])
}

/// `max_pool2d_with_indices_backward`: the gradient of the input.
pub(crate) fn max_pool2d_with_indices_backward(call: &Call<'_>) -> Inferred {
    let (gradient, input) = (call.tensor(0)?, ranked(call, 1, &[3, 4])?);
    if gradient.scalar_type != input.scalar_type {
        return call.invalid(0, type_text(gradient), type_text(input));
    }
    let sizes = pooled(call, input, 1, [2, 3, 4], Some(5), call.bool(6)?)?;
    for (at, tensor) in [(0, gradient), (7, call.tensor(7)?)] {
        let same_rank = tensor.rank() == sizes.len();
        // The batch is not compared.
        let differs = |(a, b): (&Dim, &Dim)| agree(*a, *b).is_none();
        if !same_rank || tensor.sizes.iter().zip(&sizes).rev().take(3).any(differs) {
            let expected = sizes_text(&sizes);
            return mismatch(call, at, tensor, &expected, 1, input);
        }
    }
    one(MemoryFormat::suggested_by(input).tensor(input.scalar_type, input.sizes.clone()))
}

/// `_adaptive_avg_pool2d`: the last two sizes are arguments.
pub(crate) fn adaptive_avg_pool2d(call: &Call<'_>) -> Inferred {
    let input = ranked(call, 0, &[3, 4])?;
    let sizes = with_last_sizes(call, input, 1)?;
    one(MemoryFormat::suggested_by(input).tensor(input.scalar_type, sizes))
}

/// Returns the sizes of a tensor of 2 dimensions or more with the last two from the argument `at`.
pub(super) fn with_last_sizes(call: &Call<'_>, input: &TensorMeta, at: usize) -> Result<Vec<Dim>> {
    let last = call.ints(at)?;
    if last.len() != 2 {
        return call.invalid(at, format!("{} sizes", last.len()), "2 sizes");
    }
    let mut sizes = input.sizes[..input.rank().saturating_sub(2)].to_vec();
    for int in last {
        sizes.push(super::shape::dim_of_int(call, at, int)?);
    }
    Ok(sizes)
}

/// Returns the sizes that a kernel leaves; `window` has the positions of its sizes, strides and paddings.
fn pooled(
    call: &Call<'_>,
    input: &TensorMeta,
    input_at: usize,
    [kernel_at, stride_at, padding_at]: [usize; 3],
    dilation_at: Option<usize>,
    ceil: bool,
) -> Result<Vec<Dim>> {
    let lead = input.rank() - 2;
    if input.sizes[lead - 1..].contains(&Dim::fixed(0)) {
        return call.invalid(input_at, sizes_text(&input.sizes), "sizes other than 0 except that of the batch");
    }
    let kernel = pair(call, kernel_at, 1)?;
    let stride = match call.exact_ints(stride_at)?.is_empty() {
        true => kernel,
        false => pair(call, stride_at, 1)?,
    };
    let padding = pair(call, padding_at, 0)?;
    let dilation = match dilation_at {
        Some(at) => pair(call, at, 1)?,
        None => [1, 1],
    };
    let mut sizes = input.sizes[..lead].to_vec();
    for at in 0..2 {
        if padding[at] > kernel[at] / 2 {
            let expected = format!("at most half of the kernel size {}", kernel[at]);
            return call.invalid(padding_at, format!("a padding of {}", padding[at]), expected);
        }
        let dim = input.sizes[lead + at];
        let size = map_dim(dim, |size| pooled_size(size, kernel[at], stride[at], padding[at], dilation[at], ceil))?;
        if size.size < 1 {
            let expected = format!("a padded size of at least a kernel of {}", kernel[at]);
            return call.invalid(input_at, sizes_text(&input.sizes), expected);
        }
        sizes.push(size);
    }
    Ok(sizes)
}

/// Returns the number of positions of a kernel; `None` if it overflows.
fn pooled_size(size: i64, kernel: i64, stride: i64, padding: i64, dilation: i64, ceil: bool) -> Option<i64> {
    let padded = size.checked_add(padding.checked_mul(2)?)?;
    let room = padded.checked_sub(dilation.checked_mul(kernel.checked_sub(1)?)?)?.checked_sub(1)?;
    let room = if ceil { room.checked_add(stride.checked_sub(1)?)? } else { room };
    let count = room.div_euclid(stride).checked_add(1)?;
    // The last window begins within the input or the padding before it.
    let is_outside = ceil && count.checked_sub(1)?.checked_mul(stride)? >= size.checked_add(padding)?;
    Some(if is_outside { count - 1 } else { count })
}

/// Returns one or two integers as two.
fn pair(call: &Call<'_>, at: usize, least: i64) -> Result<[i64; 2]> {
    let list = call.exact_ints(at)?;
    if list.iter().any(|item| *item < least) {
        return call.invalid(at, format!("{list:?}"), format!("integers of at least {least}"));
    }
    match list[..] {
        [both] => Ok([both, both]),
        [height, width] => Ok([height, width]),
        _ => call.invalid(at, format!("{list:?}"), "1 or 2 integers"),
    }
}
