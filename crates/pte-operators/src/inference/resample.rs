//! Resampling of images: upsampling, sampling at a grid, and pixel shuffling.

use super::layout::MemoryFormat;
use super::operands::{agree, mismatch, ranked};
use super::pooling::with_last_sizes;
use super::promotion::result_type;
use super::shape::{Inferred, Result, one, sizes_text};
use super::{Call, Dim, TensorMeta};

/// `_upsample_bilinear2d_aa`: the last two sizes are arguments.
pub(crate) fn upsample(call: &Call<'_>) -> Inferred {
    let input = ranked(call, 0, &[4])?;
    let sizes = with_last_sizes(call, input, 1)?;
    check_not_empty(call, input, &sizes)?;
    one(MemoryFormat::suggested_by(input).tensor(input.scalar_type, sizes))
}

/// Checks that no spatial size is 0.
fn check_not_empty(call: &Call<'_>, input: &TensorMeta, sizes: &[Dim]) -> Result<()> {
    if input.sizes[2..].contains(&Dim::fixed(0)) {
        return call.invalid(0, sizes_text(&input.sizes), "spatial sizes other than 0");
    }
    match sizes[2..].contains(&Dim::fixed(0)) {
        true => call.invalid(1, sizes_text(sizes), "sizes other than 0"),
        false => Ok(()),
    }
}

/// `upsample_nearest2d.vec`: the last two sizes are arguments, or products of sizes and arguments.
pub(crate) fn upsample_nearest2d_vec(call: &Call<'_>) -> Inferred {
    let (input, sizes) = upsampled(call, 2)?;
    check_not_empty(call, input, &sizes)?;
    one(in_format_of(input, sizes))
}

/// `upsample_bilinear2d.vec`
pub(crate) fn upsample_bilinear2d_vec(call: &Call<'_>) -> Inferred {
    let (input, sizes) = upsampled(call, 3)?;
    if sizes[2..].contains(&Dim::fixed(0)) {
        return call.invalid(1, sizes_text(&sizes), "sizes other than 0");
    }
    one(in_format_of(input, sizes))
}

/// Returns a tensor in the format that the input suggests; one that is contiguous in both formats is not reordered.
fn in_format_of(input: &TensorMeta, sizes: Vec<Dim>) -> TensorMeta {
    let is_one = |dim: &Dim| dim.size == 1;
    if sizes[1..2].iter().all(is_one) || sizes[2..].iter().all(is_one) {
        return TensorMeta::contiguous(input.scalar_type, sizes);
    }
    MemoryFormat::suggested_by(input).tensor(input.scalar_type, sizes)
}

/// Returns the input and the sizes of the result.
fn upsampled<'a>(call: &Call<'a>, factors_at: usize) -> Result<(&'a TensorMeta, Vec<Dim>)> {
    let input = ranked(call, 0, &[4])?;
    let sizes = match (call.optional_ints(1)?, call.optional_doubles(factors_at)?) {
        (Some(_), None) => with_last_sizes(call, input, 1)?,
        (None, Some([height, width])) => {
            let scaled = |dim: Dim, factor: f64| {
                let product = dim.size as f64 * factor;
                // Sizes beyond 2^53 are not exact.
                match (0.0..9_007_199_254_740_992.0).contains(&product) {
                    true => Ok(Dim { size: product as i64, ..dim }),
                    false => {
                        let expected = format!("a factor whose product with {} is a size", dim.size);
                        call.invalid(factors_at, factor.to_string(), expected)
                    }
                }
            };
            vec![input.sizes[0], input.sizes[1], scaled(input.sizes[2], *height)?, scaled(input.sizes[3], *width)?]
        }
        (None, Some(factors)) => {
            return call.invalid(factors_at, format!("{} factors", factors.len()), "2 factors");
        }
        (None, None) => return call.invalid(1, "None", "sizes, or scale_factors"),
        (Some(_), Some(_)) => return call.invalid(factors_at, "factors beside sizes", "None"),
    };
    Ok((input, sizes))
}

/// `grid_sampler_2d`: an input of sizes [n, c, h, w] and a grid of sizes [n, h', w', 2].
pub(crate) fn grid_sampler_2d(call: &Call<'_>) -> Inferred {
    let (input, grid) = (ranked(call, 0, &[4])?, ranked(call, 1, &[4])?);
    let (Some(batch), Some(_)) = (agree(input.sizes[0], grid.sizes[0]), agree(grid.sizes[3], Dim::fixed(2))) else {
        return mismatch(call, 1, grid, &format!("sizes [{}, _, _, 2]", input.sizes[0].size), 0, input);
    };
    let sizes = vec![batch, input.sizes[1], grid.sizes[1], grid.sizes[2]];
    one(TensorMeta::contiguous(result_type(call, &[0, 1])?, sizes))
}

/// `pixel_shuffle`: sizes [..., c f f, h, w] become [..., c, h f, w f].
pub(crate) fn pixel_shuffle(call: &Call<'_>) -> Inferred {
    shuffle(call, |[channels, height, width], factor, square| {
        let is_multiple = channels.dynamic || channels.size % square == 0;
        let grown = |dim: Dim| dim.size.checked_mul(factor).map(|size| Dim { size, ..dim });
        let channels = Dim { size: channels.size / square, ..channels };
        is_multiple.then(|| Some([channels, grown(height)?, grown(width)?]))
    })
}

/// `pixel_unshuffle`: sizes [..., c, h f, w f] become [..., c f f, h, w].
pub(crate) fn pixel_unshuffle(call: &Call<'_>) -> Inferred {
    shuffle(call, |[channels, height, width], factor, square| {
        let is_multiple = [height, width].iter().all(|dim| dim.dynamic || dim.size % factor == 0);
        let shrunk = |dim: Dim| Dim { size: dim.size / factor, ..dim };
        let channels = channels.size.checked_mul(square).map(|size| Dim { size, ..channels });
        is_multiple.then(|| Some([channels?, shrunk(height), shrunk(width)]))
    })
}

/// Replaces the last three sizes; the function returns `None` if they are not multiples, `Some(None)` if a size
/// overflows.
fn shuffle(call: &Call<'_>, last_sizes: impl FnOnce([Dim; 3], i64, i64) -> Option<Option<[Dim; 3]>>) -> Inferred {
    let (input, factor) = (call.tensor(0)?, call.exact(1)?);
    let Some((lead, last)) = input.sizes.split_last_chunk::<3>() else {
        return call.invalid(0, sizes_text(&input.sizes), "a tensor of 3 dimensions or more");
    };
    if factor < 1 {
        return call.invalid(1, factor.to_string(), "a positive factor");
    }
    let overflow = || call.invalid(1, factor.to_string(), "a factor with which no size overflows");
    let Some(square) = factor.checked_mul(factor) else { return overflow() };
    let last = match last_sizes(*last, factor, square) {
        Some(Some(last)) => last,
        Some(None) => return overflow(),
        None => {
            return call.invalid(0, sizes_text(&input.sizes), format!("sizes that the factor {factor} divides"));
        }
    };
    let sizes = [lead, &last].concat();
    one(MemoryFormat::suggested_by(input).tensor(input.scalar_type, sizes))
}
