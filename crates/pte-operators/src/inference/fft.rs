//! Fourier transforms. The strides of results are those of the library (MKL) with which torch is built for x86: the
//! transformed dimensions are innermost.

use super::layout::strided;
use super::operands::{float_tensor, map_dim, type_text};
use super::promotion::{complex_of, real_of};
use super::shape::{Inferred, Result, checked_dim, one};
use super::{Call, Dim, TensorMeta};

/// `_fft_r2c`: real numbers to complex ones, of which half are stored in the last transformed dimension if `onesided`.
pub(crate) fn r2c(call: &Call<'_>) -> Inferred {
    let tensor = float_tensor(call, 0)?;
    // Pairs of bfloat16 have no element type.
    let complex = complex_of(tensor.scalar_type).filter(|complex| real_of(*complex) == tensor.scalar_type);
    let Some(complex) = complex else {
        return call.invalid(0, type_text(tensor), "a tensor of float16, float32 or float64");
    };
    let dims = transformed(call, tensor)?;
    let mut sizes = tensor.sizes.clone();
    if let (true, Some(last)) = (call.bool(3)?, dims.last()) {
        sizes[*last] = map_dim(sizes[*last], |size| Some(size / 2 + 1))?;
    }
    let own = tensor.strides();
    let strides = transform(&own, &sizes, &sorted(&own, &dims, dims.len() - 1));
    one(strided(complex, sizes, &strides))
}

/// `_fft_c2r`: complex numbers to real ones; the size of the last transformed dimension is an argument.
pub(crate) fn c2r(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let real = real_of(tensor.scalar_type);
    if real == tensor.scalar_type {
        return call.invalid(0, type_text(tensor), "a tensor of complex numbers");
    }
    let dims = transformed(call, tensor)?;
    let mut strides = tensor.strides();
    let Some((last, others)) = dims.split_last() else { return call.invalid(1, "no dimensions", "a dimension") };
    if !others.is_empty() {
        strides = transform(&strides, &tensor.sizes, &sorted(&strides, others, others.len()));
    }
    let mut sizes = tensor.sizes.clone();
    sizes[*last] = super::shape::dim_of_int(call, 3, call.int(3)?)?;
    let strides = transform(&strides, &sizes, &[*last]);
    one(strided(real, sizes, &strides))
}

/// Returns the dimensions of the argument 1, one at least.
fn transformed(call: &Call<'_>, tensor: &TensorMeta) -> Result<Vec<usize>> {
    let dims = call.exact_ints(1)?;
    if dims.is_empty() || tensor.sizes.is_empty() {
        return call.invalid(1, format!("{} dimensions", dims.len()), "a dimension or more of the tensor");
    }
    dims.into_iter().map(|dim| checked_dim(call, 1, dim, tensor.rank())).collect()
}

/// Returns dimensions with the first `count` of them sorted by descending stride.
fn sorted(strides: &[i64], dims: &[usize], count: usize) -> Vec<usize> {
    let mut dims = dims.to_vec();
    dims[..count].sort_by_key(|dim| std::cmp::Reverse(strides[*dim]));
    dims
}

/// Returns the strides of a transform of the dimensions `dims`: these are innermost, the others keep their order.
fn transform(strides: &[i64], sizes: &[Dim], dims: &[usize]) -> Vec<i64> {
    let mut outer_first: Vec<usize> = (0..sizes.len()).filter(|dim| !dims.contains(dim)).collect();
    if sizes.iter().any(|dim| dim.size == 0) {
        // Nothing is computed, and the result is contiguous.
        outer_first = (0..sizes.len()).collect();
    } else {
        outer_first.sort_by_key(|dim| std::cmp::Reverse(strides[*dim]));
        outer_first.extend(dims);
    }
    let mut result = vec![0; sizes.len()];
    let mut next: i64 = 1;
    for dim in outer_first.into_iter().rev() {
        result[dim] = next;
        next = next.saturating_mul(sizes[dim].size.max(1));
    }
    result
}
