//! Padding.

use super::layout::MemoryFormat;
use super::shape::{Inferred, Result, one, sizes_text};
use super::{Call, Dim, InferenceError, IntMeta, TensorMeta};
use pte_model::format::ScalarType;

/// Padding before and after a dimension.
#[derive(Clone, Copy)]
struct Padding {
    /// Number of elements; the upper bound if it is dynamic.
    size: i64,
    dynamic: bool,
}

/// `constant_pad_nd`: two integers for each padded dimension, from the last dimension.
pub(crate) fn constant_pad_nd(call: &Call<'_>) -> Inferred {
    let input = call.tensor(0)?;
    let paddings = paddings(call)?;
    let pairs = paddings.as_chunks::<2>();
    if !pairs.1.is_empty() || pairs.0.len() > input.rank() {
        let expected = format!("an even number of integers, at most {}", 2 * input.rank());
        return call.invalid(1, format!("{} integers", paddings.len()), expected);
    }
    let sizes = padded(call, input, pairs.0, 0)?;
    if paddings.iter().all(|padding| padding.size < 0) {
        // The result is a copy of a part of the input.
        return one(TensorMeta { scalar_type: input.scalar_type, sizes, dim_order: input.dim_order.clone() });
    }
    one(MemoryFormat::suggested_by(input).tensor(input.scalar_type, sizes))
}

/// `reflection_pad1d` and the like: of `N` dimensions, which padding must not reach around.
pub(crate) fn reflection_pad<const N: usize>(call: &Call<'_>) -> Inferred {
    let (input, paddings) = spatial::<N>(call)?;
    for (dim, pair) in input.sizes.iter().rev().zip(paddings.as_chunks::<2>().0) {
        if let Some(padding) = pair.iter().find(|padding| padding.size >= dim.size && !padding.dynamic) {
            let found = format!("a padding of {}", padding.size);
            return call.invalid(
                1,
                found,
                format!("less than each of {} of `{}`", sizes_text(&input.sizes), call.name(0)),
            );
        }
    }
    finish::<N>(call, input, &paddings)
}

/// `replication_pad1d` and the like: of `N` dimensions.
pub(crate) fn replication_pad<const N: usize>(call: &Call<'_>) -> Inferred {
    let (input, paddings) = spatial::<N>(call)?;
    if input.scalar_type == ScalarType::BOOL {
        return call.invalid(0, "a tensor of bool", "a tensor of numbers");
    }
    finish::<N>(call, input, &paddings)
}

/// Returns the input, of `N` dimensions after that of the channels, and the paddings.
fn spatial<'a, const N: usize>(call: &Call<'a>) -> Result<(&'a TensorMeta, Vec<Padding>)> {
    let input = super::operands::ranked(call, 0, &[N + 1, N + 2])?;
    let paddings = paddings(call)?;
    if paddings.len() != 2 * N {
        return call.invalid(1, format!("{} integers", paddings.len()), format!("{} integers", 2 * N));
    }
    // The batch may be empty.
    if input.sizes[input.rank() - (N + 1)..].contains(&Dim::fixed(0)) {
        return call.invalid(0, sizes_text(&input.sizes), "sizes other than 0 except that of the batch");
    }
    Ok((input, paddings))
}

fn finish<const N: usize>(call: &Call<'_>, input: &TensorMeta, paddings: &[Padding]) -> Inferred {
    let sizes = padded(call, input, paddings.as_chunks::<2>().0, 1)?;
    let format = if N == 2 { MemoryFormat::suggested_by(input) } else { MemoryFormat::Contiguous };
    one(format.tensor(input.scalar_type, sizes))
}

/// Returns the sizes with paddings of the last dimensions, each of at least `least`.
fn padded(call: &Call<'_>, input: &TensorMeta, pairs: &[[Padding; 2]], least: i64) -> Result<Vec<Dim>> {
    let mut sizes = input.sizes.clone();
    for (dim, [before, after]) in sizes.iter_mut().rev().zip(pairs) {
        let size = dim.size.checked_add(before.size).and_then(|size| size.checked_add(after.size));
        let dynamic = dim.dynamic || before.dynamic || after.dynamic;
        let size = match size {
            Some(size) if size >= least => size,
            None if dynamic => return Err(InferenceError::Undetermined("a size overflows")),
            // The runtime keeps 64 bits of a sum that overflows, which may be a size again.
            Some(_) | None => {
                let expected = format!("paddings that leave a size of at least {least}");
                return call.invalid(1, format!("paddings {} and {}", before.size, after.size), expected);
            }
        };
        *dim = Dim { size, dynamic };
    }
    Ok(sizes)
}

fn paddings(call: &Call<'_>) -> Result<Vec<Padding>> {
    let paddings = call.ints(1)?.into_iter().map(|int| match int {
        IntMeta::Exact(size) => Ok(Padding { size, dynamic: false }),
        IntMeta::AtMost(size) => Ok(Padding { size, dynamic: true }),
        IntMeta::Unknown => Err(InferenceError::Undetermined("a padding is known at run time only")),
    });
    paddings.collect()
}
