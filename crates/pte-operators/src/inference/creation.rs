//! Operators that create tensors. The schema of an out variant lacks the element type, which the out has; inference
//! returns torch's default.

use super::call::ScalarCategory;
use super::shape::{Inferred, Result, dim_of_int, dim_order, one};
use super::{Call, Dim, InferenceError, IntMeta, TensorMeta};
use pte_model::format::{DimOrder, ScalarType};

/// Returns the sizes that the argument `at` lists.
fn sizes(call: &Call<'_>, at: usize) -> Result<Vec<Dim>> {
    call.ints(at)?.into_iter().map(|int| dim_of_int(call, at, int)).collect()
}

/// Returns the dim_order of a tensor in the memory format that the argument `at` is.
///
/// # Errors
/// A format of another rank, and numbers that are not a memory format.
pub(super) fn format_order(call: &Call<'_>, at: usize, format: IntMeta, tensor: &TensorMeta) -> Result<DimOrder> {
    let IntMeta::Exact(format) = format else {
        return Err(InferenceError::Undetermined("a memory format is known at run time only"));
    };
    let rank = tensor.rank();
    // Strides of dimensions of size 1 may be equal to others, which changes the order.
    let channels_last = TensorMeta { dim_order: DimOrder::channels_last(rank), ..tensor.clone() };
    match (format, rank) {
        (0, _) => Ok(DimOrder::contiguous(rank)),
        (1, _) => Ok(tensor.dim_order.clone()),
        (2, 4) | (3, 5) => Ok(dim_order(&channels_last.strides())),
        (2 | 3, _) => call.invalid(at, format!("memory format {format}"), format!("a memory format of rank {rank}")),
        (_, _) => call.invalid(at, format!("memory format {format}"), "0, 1, 2 or 3"),
    }
}

/// A tensor of the listed sizes in the default type.
pub(crate) fn of_sizes(call: &Call<'_>) -> Inferred {
    one(TensorMeta::contiguous(ScalarType::FLOAT, sizes(call, 0)?))
}

/// A tensor of the listed sizes, filled with a number.
pub(crate) fn full(call: &Call<'_>) -> Inferred {
    let scalar_type = type_of(call.scalar(1)?);
    one(TensorMeta::contiguous(scalar_type, sizes(call, 0)?))
}

/// An uninitialised tensor in a memory format.
pub(crate) fn empty(call: &Call<'_>) -> Inferred {
    let tensor = TensorMeta::contiguous(ScalarType::FLOAT, sizes(call, 0)?);
    match call.optional_int(1)? {
        None => one(tensor),
        Some(format) => one(TensorMeta { dim_order: format_order(call, 1, format, &tensor)?, ..tensor }),
    }
}

/// A number as a tensor of rank 0.
pub(crate) fn scalar_tensor(_call: &Call<'_>) -> Inferred {
    one(TensorMeta::contiguous(ScalarType::FLOAT, Vec::new()))
}

/// Returns the element type of a tensor that is filled with a number.
fn type_of(category: ScalarCategory) -> ScalarType {
    match category {
        ScalarCategory::Bool => ScalarType::BOOL,
        ScalarCategory::Integer => ScalarType::LONG,
        ScalarCategory::Floating => ScalarType::FLOAT,
    }
}

/// Numbers from 0 to an end.
pub(crate) fn arange(call: &Call<'_>) -> Inferred {
    progression(call, None, 0, None)
}

/// Numbers from a start to an end by a step.
pub(crate) fn arange_start(call: &Call<'_>) -> Inferred {
    progression(call, Some(0), 1, Some(2))
}

fn progression(call: &Call<'_>, start: Option<usize>, end: usize, step: Option<usize>) -> Inferred {
    let arguments = || [start, Some(end), step].into_iter().flatten();
    let mut scalar_type = ScalarType::LONG;
    for at in arguments() {
        if call.scalar(at)? == ScalarCategory::Floating {
            scalar_type = ScalarType::FLOAT;
        }
    }
    let value = |at: Option<usize>, default: f64| -> Result<f64> {
        match at {
            None => Ok(default),
            Some(at) => call.optional_double(at).map(|value| value.unwrap_or(default)),
        }
    };
    let bounded_end = if scalar_type == ScalarType::LONG { call.int(end)? } else { IntMeta::Unknown };
    // Dynamic position numbers are counted up to a size.
    let (last, dynamic) = match bounded_end {
        IntMeta::AtMost(most) => (most as f64, true),
        IntMeta::Exact(_) | IntMeta::Unknown => (value(Some(end), 0.0)?, false),
    };
    let (first, step_value) = (value(start, 0.0)?, value(step, 1.0)?);
    let at_step = step.unwrap_or(end);
    if step_value == 0.0 || !step_value.is_finite() {
        return call.invalid(at_step, format!("a step of {step_value}"), "a finite step that is not 0");
    }
    if dynamic && step_value < 0.0 {
        return Err(InferenceError::Undetermined("the end of a descending sequence is known at run time only"));
    }
    let count = (last - first) / step_value;
    if count.is_nan() || count < 0.0 && !dynamic {
        let direction = if step_value > 0.0 { "at least" } else { "at most" };
        return call.invalid(end, format!("an end of {last}"), format!("{direction} {first}"));
    }
    // Conversion saturates.
    let size = (count.ceil() as i64).max(0);
    one(TensorMeta::contiguous(scalar_type, vec![Dim { size, dynamic }]))
}
