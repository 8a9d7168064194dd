//! Convolution, its transpose and its gradients.

use super::layout::{MemoryFormat, strided};
use super::operands::{agree, mismatch};
use super::promotion::{Category, category};
use super::shape::{Inferred, Result, one, sizes_text};
use super::{Call, Dim, InferenceError, IntMeta, ResultMeta, TensorMeta};
use crate::format::ScalarType;

/// float64, of which no kernel takes channels-last.
const DOUBLE: ScalarType = ScalarType(7);

/// `convolution`: an input of sizes [n, c, ...] and a weight of sizes [m, c / groups, ...], or [c, m / groups, ...] if transposed.
pub(super) fn convolution(call: &Call<'_>) -> Inferred {
    let (input, weight) = (call.tensor(0)?, call.tensor(1)?);
    let window = Window::new(call, 3, input, weight, 0, 1)?;
    let mut sizes = vec![input.sizes[0], window.out_channels(call, input, weight, 0, 1)?];
    if let Some(bias) = call.optional_tensor(2)?
        && (bias.rank() != 1 || agree(bias.sizes[0], sizes[1]).is_none())
    {
        return mismatch(call, 2, bias, &format!("sizes [{}]", sizes[1].size), 1, weight);
    }
    for dim in 0..window.rank {
        let size = window.size(input.sizes[dim + 2], weight.sizes[dim + 2], dim)?;
        if size.size < 1 && input.sizes[dim + 2].size > 0 {
            let kernel = weight.sizes[dim + 2].size;
            return call.invalid(
                0,
                sizes_text(&input.sizes),
                format!("a padded size of at least a kernel of {kernel}"),
            );
        }
        sizes.push(Dim { size: size.size.max(0), ..size });
    }
    if input.sizes[1] == Dim::fixed(0) {
        sizes[1] = Dim::fixed(0);
    }
    one(in_backend_format(input, weight, window.groups, sizes, input.scalar_type))
}

/// `convolution_backward`: the gradients of the input, of the weight and of the bias.
pub(super) fn convolution_backward(call: &Call<'_>) -> Inferred {
    let (gradient, input, weight) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let window = Window::new(call, 4, input, weight, 1, 2)?;
    window.out_channels(call, input, weight, 1, 2)?;
    let format = |sizes: &[Dim]| in_backend_format(input, weight, window.groups, sizes.to_vec(), gradient.scalar_type);
    let bias = match call.optional_ints(3)? {
        Some(sizes) => sizes.into_iter().map(dim).collect::<Result<Vec<_>>>()?,
        None if window.transposed => vec![map_channels(weight.sizes[1], window.groups)?],
        None => vec![weight.sizes[0]],
    };
    Ok(vec![
        ResultMeta::Tensor(format(&input.sizes)),
        ResultMeta::Tensor(format(&weight.sizes)),
        ResultMeta::Tensor(TensorMeta::contiguous(gradient.scalar_type, bias)),
    ])
}

/// Strides, paddings and dilations of a convolution, one for each spatial dimension.
struct Window {
    /// Number of spatial dimensions.
    rank: usize,
    strides: Vec<i64>,
    paddings: Vec<i64>,
    dilations: Vec<i64>,
    output_paddings: Vec<i64>,
    transposed: bool,
    groups: i64,
}

impl Window {
    /// Reads the arguments from `stride`, which is at `at`, to `groups`.
    fn new(
        call: &Call<'_>,
        at: usize,
        input: &TensorMeta,
        weight: &TensorMeta,
        input_at: usize,
        weight_at: usize,
    ) -> Result<Window> {
        if weight.rank() < 3 {
            return call.invalid(weight_at, sizes_text(&weight.sizes), "a tensor of 3 dimensions or more");
        }
        if input.rank() != weight.rank() {
            let expected = format!("{} dimensions", weight.rank());
            return mismatch(call, input_at, input, &expected, weight_at, weight);
        }
        let rank = weight.rank() - 2;
        let transposed = call.bool(at + 3)?;
        let list = |at: usize, least: i64| -> Result<Vec<i64>> {
            let list = call.exact_ints(at)?;
            if list.iter().any(|item| *item < least) {
                return call.invalid(at, format!("{list:?}"), format!("integers of at least {least}"));
            }
            match list[..] {
                [one] => Ok(vec![one; rank]),
                _ if list.len() == rank => Ok(list),
                _ => call.invalid(at, format!("{list:?}"), format!("1 or {rank} integers")),
            }
        };
        let groups = call.exact(at + 5)?;
        if groups < 1 {
            return call.invalid(at + 5, groups.to_string(), "a positive number of groups");
        }
        let window = Window {
            rank,
            strides: list(at, 1)?,
            paddings: list(at + 1, 0)?,
            dilations: list(at + 2, 1)?,
            output_paddings: list(at + 4, 0)?,
            transposed,
            groups,
        };
        let too_large = |dim: &usize| {
            window.output_paddings[*dim] >= window.strides[*dim]
                && window.output_paddings[*dim] >= window.dilations[*dim]
        };
        match (0..rank).find(too_large) {
            Some(dim) if transposed => call.invalid(
                at + 4,
                window.output_paddings[dim].to_string(),
                format!("less than the stride {} or the dilation {}", window.strides[dim], window.dilations[dim]),
            ),
            Some(_) | None => Ok(window),
        }
    }

    /// Returns the number of channels of the result, and checks those of the input.
    fn out_channels(
        &self,
        call: &Call<'_>,
        input: &TensorMeta,
        weight: &TensorMeta,
        input_at: usize,
        weight_at: usize,
    ) -> Result<Dim> {
        let (own, result) = if self.transposed {
            (weight.sizes[0], map_channels(weight.sizes[1], self.groups)?)
        } else {
            (map_channels(weight.sizes[1], self.groups)?, weight.sizes[0])
        };
        if agree(input.sizes[1], own).is_none() {
            return mismatch(call, input_at, input, &format!("{} channels", own.size), weight_at, weight);
        }
        Ok(result)
    }

    /// Returns the size of a spatial dimension of the result; it is less than 1 if the kernel does not fit.
    fn size(&self, input: Dim, kernel: Dim, dim: usize) -> Result<Dim> {
        let (stride, padding, dilation) = (self.strides[dim], self.paddings[dim], self.dilations[dim]);
        let size = || {
            let reach = kernel.size.checked_sub(1)?.checked_mul(dilation)?;
            let padding = padding.checked_mul(2)?;
            if self.transposed {
                let steps = input.size.checked_sub(1)?.checked_mul(stride)?;
                let size = steps.checked_sub(padding)?.checked_add(reach)?;
                size.checked_add(self.output_paddings[dim])?.checked_add(1)
            } else {
                let steps = input.size.checked_add(padding)?.checked_sub(reach)?.checked_sub(1)?;
                steps.div_euclid(stride).checked_add(1)
            }
        };
        match size() {
            Some(size) => Ok(Dim { size, dynamic: input.dynamic || kernel.dynamic }),
            None => Err(InferenceError::Undetermined("a size overflows")),
        }
    }
}

/// Returns the number of channels of all groups.
fn map_channels(channels: Dim, groups: i64) -> Result<Dim> {
    super::operands::map_dim(channels, |size| size.checked_mul(groups))
}

fn dim(int: IntMeta) -> Result<Dim> {
    match int {
        IntMeta::Exact(size) => Ok(Dim::fixed(size.max(0))),
        IntMeta::AtMost(size) => Ok(Dim { size: size.max(0), dynamic: true }),
        IntMeta::Unknown => Err(InferenceError::Undetermined("a size is known at run time only")),
    }
}

/// Returns a tensor in the format that the kernel of the exporting CPU produces: channels-last if the input or the weight is.
fn in_backend_format(
    input: &TensorMeta,
    weight: &TensorMeta,
    groups: i64,
    sizes: Vec<Dim>,
    scalar_type: ScalarType,
) -> TensorMeta {
    if weight.rank() == 3 {
        return in_1d_format(weight, sizes, scalar_type, input.scalar_type);
    }
    let formats = [MemoryFormat::suggested_by(input), MemoryFormat::suggested_by(weight)];
    let has_kernel = input.rank() == 4 || has_3d_kernel(input, groups);
    if formats.contains(&MemoryFormat::ChannelsLast) && input.scalar_type != DOUBLE && has_kernel {
        return MemoryFormat::ChannelsLast.tensor(scalar_type, sizes);
    }
    TensorMeta::contiguous(scalar_type, sizes)
}

/// Returns `true` if oneDNN computes a convolution of 3 spatial dimensions: of floating point numbers, and not of float32 in one group
/// and one batch of a small input. Other kernels produce contiguous results.
fn has_3d_kernel(input: &TensorMeta, groups: i64) -> bool {
    let is_floating = category(input.scalar_type) == Some(Category::Floating);
    is_floating && (input.scalar_type != ScalarType::FLOAT || groups > 1 || input.sizes[0].size > 1)
}

/// Returns a tensor in the format of a convolution of 1 spatial dimension, which is one of 2 dimensions, of sizes [n, c, 1, w], with a
/// contiguous input.
fn in_1d_format(weight: &TensorMeta, sizes: Vec<Dim>, scalar_type: ScalarType, input_type: ScalarType) -> TensorMeta {
    let raised = |sizes: &[Dim]| [sizes[0], sizes[1], Dim::fixed(1), sizes[2]];
    let own = weight.strides();
    let row = weight.sizes[2].size.saturating_mul(own[2]);
    let format = MemoryFormat::of(&raised(&weight.sizes), &[own[0], own[1], row, own[2]]);
    match (format, sizes.len()) {
        (MemoryFormat::ChannelsLast, 3) if input_type != DOUBLE => {
            let strides = [sizes[1].size.max(1).saturating_mul(sizes[2].size.max(1)), 1, sizes[1].size.max(1)];
            strided(scalar_type, sizes, &strides)
        }
        _ => TensorMeta::contiguous(scalar_type, sizes),
    }
}
