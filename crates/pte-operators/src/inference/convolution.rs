//! Convolution, its transpose and its gradients.

use super::layout::{MemoryFormat, strided};
use super::operands::{agree, map_dim, mismatch};
use super::shape::{Inferred, Result, dim_of_int, element_count, one, sizes_text};
use super::{Call, Dim, ResultMeta, TensorMeta};
use pte_model::format::ScalarType;

/// `convolution`: an input of sizes [n, c, ...] and a weight of sizes [m, c / groups, ...], or [c, m / groups, ...] if
/// transposed.
pub(crate) fn convolution(call: &Call<'_>) -> Inferred {
    let (input, weight) = (call.tensor(0)?, call.tensor(1)?);
    let window = Window::new(call, 3, (0, input), (1, weight))?;
    window.check_output_padding(call, 7)?;
    let channels = window.out_channels(call, (0, input), (1, weight))?;
    if let Some(bias) = call.optional_tensor(2)?
        && (bias.rank() != 1 || agree(bias.sizes[0], channels).is_none())
    {
        return mismatch(call, 2, bias, &format!("sizes [{}]", channels.size), 1, weight);
    }
    let mut sizes = vec![input.sizes[0], if input.sizes[1] == Dim::fixed(0) { Dim::fixed(0) } else { channels }];
    sizes.extend(window.sizes(call, (0, input), weight)?);
    one(window.in_backend_format(input, weight, sizes, input.scalar_type))
}

/// `convolution_backward`: the gradients of the input, of the weight and of the bias, as far as the argument 10
/// requests them.
pub(crate) fn convolution_backward(call: &Call<'_>) -> Inferred {
    let (gradient, input, weight) = (call.tensor(0)?, call.tensor(1)?, call.tensor(2)?);
    let window = Window::new(call, 4, (1, input), (2, weight))?;
    let channels = window.out_channels(call, (1, input), (2, weight))?;
    if !window.transposed {
        let expected = [input.sizes[0], channels].into_iter().chain(window.sizes(call, (1, input), weight)?);
        let expected: Vec<Dim> = expected.collect();
        let mut pairs = gradient.sizes.iter().zip(&expected);
        if gradient.rank() != expected.len() || pairs.any(|(a, b)| agree(*a, *b).is_none()) {
            return call.invalid(0, sizes_text(&gradient.sizes), sizes_text(&expected));
        }
    }
    let mask = call.optional_bools(10)?.unwrap_or_default();
    let bias = match call.optional_ints(3)? {
        Some(sizes) => sizes.into_iter().map(|int| dim_of_int(call, 3, int)).collect::<Result<Vec<_>>>()?,
        None => vec![channels],
    };
    let like =
        |tensor: &TensorMeta| window.in_backend_format(input, weight, tensor.sizes.clone(), gradient.scalar_type);
    let gradients = [like(input), like(weight), TensorMeta::contiguous(gradient.scalar_type, bias)];
    let masked = |(at, meta)| match mask.get(at) {
        Some(false) => ResultMeta::Unwritten(TensorMeta::contiguous(ScalarType::BYTE, vec![Dim::fixed(0)])),
        Some(true) | None => ResultMeta::Tensor(meta),
    };
    Ok(gradients.into_iter().enumerate().map(masked).collect())
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
    /// Position of the argument `stride`, which the others follow.
    at: usize,
}

/// Expected of an argument with which a size overflows.
const NO_OVERFLOW: &str = "a number with which no size overflows";

/// An argument that is a tensor, and its position.
type Operand<'a> = (usize, &'a TensorMeta);

impl Window {
    /// Reads the arguments from `stride`, which is at `at`, to `groups`.
    fn new(
        call: &Call<'_>,
        at: usize,
        (input_at, input): Operand<'_>,
        (weight_at, weight): Operand<'_>,
    ) -> Result<Window> {
        if weight.rank() < 3 {
            return call.invalid(weight_at, sizes_text(&weight.sizes), "a tensor of 3 dimensions or more");
        }
        if input.rank() != weight.rank() {
            let expected = format!("{} dimensions", weight.rank());
            return mismatch(call, input_at, input, &expected, weight_at, weight);
        }
        let rank = weight.rank() - 2;
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
        Ok(Window {
            rank,
            strides: list(at, 1)?,
            paddings: list(at + 1, 0)?,
            dilations: list(at + 2, 0)?,
            output_paddings: list(at + 4, 0)?,
            transposed: call.bool(at + 3)?,
            groups,
            at,
        })
    }

    /// Checks the argument `output_padding`, which is at `at`.
    fn check_output_padding(&self, call: &Call<'_>, at: usize) -> Result<()> {
        let items = self.output_paddings.iter().zip(&self.strides).zip(&self.dilations);
        let mut too_large = items.filter(|((padding, stride), dilation)| padding >= stride && padding >= dilation);
        match too_large.next().filter(|_| self.transposed) {
            Some(((padding, stride), dilation)) => {
                let expected = format!("less than the stride {stride} or the dilation {dilation}");
                call.invalid(at, padding.to_string(), expected)
            }
            None => Ok(()),
        }
    }

    /// Returns the number of channels of the result, and checks those of the input.
    fn out_channels(
        &self,
        call: &Call<'_>,
        (input_at, input): Operand<'_>,
        (weight_at, weight): Operand<'_>,
    ) -> Result<Dim> {
        if weight.sizes[0].size % self.groups != 0 {
            let expected = format!("a first size that is a multiple of {}, the number of groups", self.groups);
            return call.invalid(weight_at, sizes_text(&weight.sizes), expected);
        }
        let of_groups = map_dim(weight.sizes[1], |size| size.checked_mul(self.groups))?;
        let (own, result) = if self.transposed { (weight.sizes[0], of_groups) } else { (of_groups, weight.sizes[0]) };
        if agree(input.sizes[1], own).is_none() {
            return mismatch(call, input_at, input, &format!("{} channels", own.size), weight_at, weight);
        }
        Ok(result)
    }

    /// Returns the spatial sizes of the result.
    fn sizes(&self, call: &Call<'_>, (input_at, input): Operand<'_>, weight: &TensorMeta) -> Result<Vec<Dim>> {
        let size = |dim: usize| self.size(call, input.sizes[dim + 2], weight.sizes[dim + 2], dim);
        let sizes = (0..self.rank).map(size).collect::<Result<Vec<_>>>()?;
        // A transposed convolution may have sizes of 0, but not only such.
        let is_valid = match self.transposed {
            true => sizes.iter().all(|dim| dim.size >= 0) && sizes.iter().any(|dim| dim.size > 0),
            false => sizes.iter().all(|dim| dim.size > 0),
        };
        if is_valid {
            return Ok(sizes);
        }
        let expected = format!("padded sizes of at least the kernel of {}", sizes_text(&weight.sizes));
        call.invalid(input_at, sizes_text(&input.sizes), expected)
    }

    /// Returns the size of a spatial dimension of the result; it is less than 1 if the kernel does not fit.
    fn size(&self, call: &Call<'_>, input: Dim, kernel: Dim, dim: usize) -> Result<Dim> {
        let (stride, padding, dilation) = (self.strides[dim], self.paddings[dim], self.dilations[dim]);
        let output_padding = self.output_paddings[dim];
        // A smaller kernel has more positions.
        let least = if kernel.dynamic && !self.transposed { kernel.size.min(1) } else { kernel.size };
        let (of_stride, of_padding, of_dilation, of_output_padding) =
            ((0, stride), (1, padding), (2, dilation), (4, output_padding));
        // An error is the argument with which a size overflows: its position relative to `stride`, and its item.
        let size = || {
            let reach = least.checked_sub(1).and_then(|steps| steps.checked_mul(dilation)).ok_or(of_dilation)?;
            let both = padding.checked_mul(2).ok_or(of_padding)?;
            if self.transposed {
                let steps = input.size.checked_sub(1).and_then(|steps| steps.checked_mul(stride)).ok_or(of_stride)?;
                let size = steps.checked_sub(both).ok_or(of_padding)?.checked_add(reach).ok_or(of_dilation)?;
                size.checked_add(output_padding).and_then(|size| size.checked_add(1)).ok_or(of_output_padding)
            } else {
                let padded = input.size.checked_add(both).ok_or(of_padding)?;
                let steps = padded.checked_sub(reach).and_then(|steps| steps.checked_sub(1)).ok_or(of_dilation)?;
                steps.div_euclid(stride).checked_add(1).ok_or(of_padding)
            }
        };
        match size() {
            Ok(size) => Ok(Dim { size, dynamic: input.dynamic || kernel.dynamic }),
            Err((behind, item)) => call.invalid(self.at + behind, item.to_string(), NO_OVERFLOW),
        }
    }

    /// Returns a tensor in the format that the kernel of the exporting CPU produces: channels-last if the input or the
    /// weight is.
    fn in_backend_format(
        &self,
        input: &TensorMeta,
        weight: &TensorMeta,
        sizes: Vec<Dim>,
        scalar_type: ScalarType,
    ) -> TensorMeta {
        if self.rank == 1 {
            return in_1d_format(weight, sizes, scalar_type);
        }
        let formats = [MemoryFormat::suggested_by(input), MemoryFormat::suggested_by(weight)];
        let format =
            match formats.contains(&MemoryFormat::ChannelsLast) && (self.rank == 2 || self.has_3d_kernel(input)) {
                true => MemoryFormat::ChannelsLast,
                false => MemoryFormat::Contiguous,
            };
        format.tensor(scalar_type, sizes)
    }

    /// Returns `true` if oneDNN computes a convolution of 3 spatial dimensions: of float16 and bfloat16, and of float32
    /// unless the input is small, in one group and in one batch. Other kernels produce contiguous results.
    fn has_3d_kernel(&self, input: &TensorMeta) -> bool {
        let has_large_padding =
            self.output_paddings.iter().zip(&self.strides).any(|(padding, stride)| padding >= stride);
        match input.scalar_type {
            _ if self.transposed && has_large_padding => false,
            ScalarType::HALF | ScalarType::BFLOAT16 => true,
            ScalarType::FLOAT => {
                let is_large = element_count(&input.sizes[..4]) > 20_480;
                self.groups > 1 || input.sizes[0].size > 1 || is_large
            }
            _ => false,
        }
    }
}

/// Returns a tensor in the format of a convolution of 1 spatial dimension, which is one of 2 dimensions, of sizes [n,
/// c, 1, w], with a contiguous input.
fn in_1d_format(weight: &TensorMeta, sizes: Vec<Dim>, scalar_type: ScalarType) -> TensorMeta {
    let raised = |sizes: &[Dim]| [sizes[0], sizes[1], Dim::fixed(1), sizes[2]];
    let own = weight.strides();
    let row = weight.sizes[2].size.saturating_mul(own[2]);
    let format = MemoryFormat::of(&raised(&weight.sizes), &[own[0], own[1], row, own[2]]);
    match (format, sizes.len()) {
        (MemoryFormat::ChannelsLast, 3) => {
            let strides = [sizes[1].size.max(1).saturating_mul(sizes[2].size.max(1)), 1, sizes[1].size.max(1)];
            strided(scalar_type, sizes, &strides)
        }
        _ => TensorMeta::contiguous(scalar_type, sizes),
    }
}
