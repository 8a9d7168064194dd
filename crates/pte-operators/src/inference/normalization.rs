//! Normalisations: a tensor like the input, and the statistics that it was normalised by.

use super::layout::MemoryFormat;
use super::shape::{Inferred, Result, dim_of_int, element_count, is_dynamic, size_list, sizes_text};
use super::{Call, Dim, ResultMeta, TensorMeta};
use pte_model::format::{DimOrder, ScalarType};

/// Normalisation over the last dimensions; argument 1 lists their sizes.
pub(crate) fn layer_norm(call: &Call<'_>) -> Inferred {
    let input = call.tensor(0)?;
    let ints = call.ints(1)?;
    let shape = ints.into_iter().map(|int| dim_of_int(call, 1, int)).collect::<Result<Vec<Dim>>>()?;
    let lead = input.rank().checked_sub(shape.len()).filter(|lead| agree(&input.sizes[*lead..], &shape));
    let Some(lead) = lead.filter(|_| !shape.is_empty()) else {
        let expected = format!("the last sizes of {} of `{}`", size_list(&input.sizes), call.name(0));
        return call.invalid(1, sizes_text(&shape), expected);
    };
    for at in [2, 3] {
        let Some(factors) = call.optional_tensor(at)? else { continue };
        if factors.rank() != shape.len() || !agree(&factors.sizes, &shape) {
            return call.invalid(at, sizes_text(&factors.sizes), sizes_text(&shape));
        }
    }
    let statistics: Vec<Dim> =
        input.sizes.iter().enumerate().map(|(dim, size)| if dim < lead { *size } else { Dim::fixed(1) }).collect();
    Ok(with_statistics(contiguous(input), input.scalar_type, statistics))
}

/// Normalisation over groups of channels: the arguments 3, 4 and 6 are the numbers of batches, channels and groups.
pub(crate) fn group_norm(call: &Call<'_>) -> Inferred {
    let input = call.tensor(0)?;
    let batches = dim_of_int(call, 3, call.int(3)?)?;
    let groups = dim_of_int(call, 6, call.int(6)?)?;
    let channels = dim_of_int(call, 4, call.int(4)?)?;
    let area = dim_of_int(call, 5, call.int(5)?)?;
    let product = [batches, channels, area];
    if !is_dynamic(&product) && !is_dynamic(&input.sizes) && element_count(&product) != element_count(&input.sizes) {
        let expected = format!("{} elements", element_count(&product));
        return call.invalid(0, sizes_text(&input.sizes), expected);
    }
    if groups.size == 0 || !channels.dynamic && !groups.dynamic && channels.size % groups.size != 0 {
        return call.invalid(6, groups.size.to_string(), format!("a divisor of {} channels", channels.size));
    }
    for at in [1, 2] {
        let Some(factors) = call.optional_tensor(at)? else { continue };
        if !agree(&factors.sizes, &[channels]) {
            return call.invalid(at, sizes_text(&factors.sizes), sizes_text(&[channels]));
        }
    }
    let normalized = MemoryFormat::suggested_by(input).tensor(input.scalar_type, input.sizes.clone());
    Ok(with_statistics(normalized, input.scalar_type, vec![batches, groups]))
}

/// Normalisation over the batches of each channel, with the statistics of this batch if `training`. The arguments after
/// the input, up to `factors`, have an element for each channel.
fn batch_norm(call: &Call<'_>, training: bool, factors: usize) -> Inferred {
    let input = call.tensor(0)?;
    let Some(channels) = input.sizes.get(1) else {
        return call.invalid(0, sizes_text(&input.sizes), "at least two dimensions");
    };
    for at in 1..=factors {
        let Some(factors) = call.optional_tensor(at)? else { continue };
        if factors.rank() != 1 || !agree(&factors.sizes, &[*channels]) {
            return call.invalid(at, sizes_text(&factors.sizes), sizes_text(&[*channels]));
        }
    }
    let statistics = vec![if training { *channels } else { Dim::fixed(0) }];
    Ok(with_statistics(input.clone(), input.scalar_type, statistics))
}

/// Batch normalisation whose argument `TRAINING` chooses the statistics.
pub(crate) fn batch_norm_legit<const TRAINING: usize>(call: &Call<'_>) -> Inferred {
    batch_norm(call, call.bool(TRAINING)?, TRAINING - 1)
}

/// Batch normalisation with given statistics.
pub(crate) fn batch_norm_no_training(call: &Call<'_>) -> Inferred {
    batch_norm(call, false, 4)
}

/// Returns `true` if sizes can be the same at run time.
fn agree(a: &[Dim], b: &[Dim]) -> bool {
    a.iter().zip(b).all(|(a, b)| a.dynamic || b.dynamic || a.size == b.size)
}

/// Returns a contiguous tensor of the same type and sizes.
fn contiguous(tensor: &TensorMeta) -> TensorMeta {
    TensorMeta { dim_order: DimOrder::contiguous(tensor.rank()), ..tensor.clone() }
}

fn with_statistics(normalized: TensorMeta, scalar_type: ScalarType, sizes: Vec<Dim>) -> Vec<ResultMeta> {
    let statistics = TensorMeta::contiguous(scalar_type, sizes);
    vec![ResultMeta::Tensor(normalized), ResultMeta::Tensor(statistics.clone()), ResultMeta::Tensor(statistics)]
}
