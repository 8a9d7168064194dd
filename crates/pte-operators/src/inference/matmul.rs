//! Products of matrices, and distances between rows of matrices.

use super::broadcast::broadcast_sizes;
use super::operands::{agree, float_tensor, mismatch, ranked};
use super::promotion::result_type;
use super::shape::{Inferred, Result, one, size_list, sizes_text};
use super::{Call, Dim, IntMeta, TensorMeta};

/// `mm` and `mixed_mm`: sizes [n, k] and [k, m].
pub(crate) fn mm(call: &Call<'_>) -> Inferred {
    let sizes = product(call, 0, 1)?;
    one(TensorMeta::contiguous(call.tensor(0)?.scalar_type, sizes))
}

/// `addmm`: a tensor that expands to [n, m], and sizes [n, k] and [k, m].
pub(crate) fn addmm(call: &Call<'_>) -> Inferred {
    let sizes = product(call, 1, 2)?;
    let added = call.tensor(0)?;
    if !expands(&added.sizes, &sizes) {
        return call.invalid(0, sizes_text(&added.sizes), format!("sizes that expand to {}", size_list(&sizes)));
    }
    one(TensorMeta::contiguous(result_type(call, &[0, 1, 2])?, sizes))
}

/// `bmm`: sizes [b, n, k] and [b, k, m].
pub(crate) fn bmm(call: &Call<'_>) -> Inferred {
    let (a, b) = (ranked(call, 0, &[3])?, ranked(call, 1, &[3])?);
    if a.scalar_type != b.scalar_type {
        let (found, expected) = (type_name(b), type_name(a));
        return call.invalid(
            1,
            format!("a tensor of {found}"),
            format!("a tensor of {expected}, as `{}`", call.name(0)),
        );
    }
    let Some(batch) = agree(a.sizes[0], b.sizes[0]).filter(|_| agree(a.sizes[2], b.sizes[1]).is_some()) else {
        return mismatch(call, 1, b, &format!("sizes [{}, {}, _]", a.sizes[0].size, a.sizes[2].size), 0, a);
    };
    one(TensorMeta::contiguous(b.scalar_type, vec![batch, a.sizes[1], b.sizes[2]]))
}

/// `linear`: an input of sizes [..., k], a weight of sizes [m, k] or [k], and a bias that broadcasts with [m].
pub(crate) fn linear(call: &Call<'_>) -> Inferred {
    let (input, weight) = (call.tensor(0)?, ranked(call, 1, &[1, 2])?);
    let Some((features, lead)) = input.sizes.split_last() else {
        return call.invalid(0, "a tensor of no dimensions", "a tensor of 1 dimension or more");
    };
    let mut sizes = lead.to_vec();
    let (out, inner) = weight.sizes.split_at(weight.rank() - 1);
    if agree(*features, inner[0]).is_none() {
        return mismatch(call, 1, weight, &format!("a last size of {}", features.size), 0, input);
    }
    sizes.extend(out);
    if let Some(bias) = call.optional_tensor(2)? {
        sizes = match broadcast_sizes(&sizes, &bias.sizes) {
            Some(sizes) => sizes,
            None => {
                let expected = format!("sizes that broadcast with {}", size_list(&sizes));
                return call.invalid(2, sizes_text(&bias.sizes), expected);
            }
        };
    }
    let operands: &[usize] = if call.is_none(2) { &[0] } else { &[0, 1, 2] };
    one(TensorMeta::contiguous(result_type(call, operands)?, sizes))
}

/// `mixed_linear`: sizes [n, k] and [m, k]; an optional element type.
pub(crate) fn mixed_linear(call: &Call<'_>) -> Inferred {
    let (input, weight) = (ranked(call, 0, &[2])?, ranked(call, 1, &[2])?);
    if agree(input.sizes[1], weight.sizes[1]).is_none() {
        return mismatch(call, 1, weight, &format!("sizes [_, {}]", input.sizes[1].size), 0, input);
    }
    let scalar_type = call.dtype(4)?.unwrap_or(input.scalar_type);
    one(TensorMeta::contiguous(scalar_type, vec![input.sizes[0], weight.sizes[0]]))
}

/// `_cdist_forward`: sizes [..., n, k] and [..., m, k], whose leading sizes broadcast.
pub(crate) fn cdist(call: &Call<'_>) -> Inferred {
    let (a, b) = (float_tensor(call, 0)?, float_tensor(call, 1)?);
    for (at, tensor) in [(0, a), (1, b)] {
        if tensor.rank() < 2 {
            return call.invalid(at, sizes_text(&tensor.sizes), "a tensor of 2 dimensions or more");
        }
    }
    let ((lead, [n, k]), (other_lead, [m, other_k])) = (split_matrix(a), split_matrix(b));
    if agree(k, other_k).is_none() {
        return mismatch(call, 1, b, &format!("a last size of {}", k.size), 0, a);
    }
    if let Some(p) = call.optional_double(2)?.filter(|p| *p < 0.0) {
        return call.invalid(2, p.to_string(), "a number that is not negative");
    }
    if let Some(IntMeta::Exact(mode)) = call.optional_int(3)?.filter(|mode| !matches!(mode, IntMeta::Exact(0..=2))) {
        return call.invalid(3, mode.to_string(), "None, 0, 1 or 2");
    }
    let Some(mut sizes) = broadcast_sizes(lead, other_lead) else {
        let expected = format!("leading sizes that broadcast with {}", size_list(lead));
        return mismatch(call, 1, b, &expected, 0, a);
    };
    sizes.extend([n, m]);
    one(TensorMeta::contiguous(a.scalar_type, sizes))
}

/// `_pdist_forward`: n rows have n (n - 1) / 2 distances.
pub(crate) fn pdist(call: &Call<'_>) -> Inferred {
    let tensor = call.tensor(0)?;
    let Some(rows) = tensor.sizes.first() else {
        return call.invalid(0, "a tensor of no dimensions", "a tensor of 2 dimensions");
    };
    let pairs = rows.size.checked_mul(rows.size.saturating_sub(1)).map_or(i64::MAX, |pairs| pairs / 2);
    one(TensorMeta::contiguous(tensor.scalar_type, vec![Dim { size: pairs.max(0), ..*rows }]))
}

/// Returns the sizes of a product of two matrices.
fn product(call: &Call<'_>, first: usize, second: usize) -> Result<Vec<Dim>> {
    let (a, b) = (ranked(call, first, &[2])?, ranked(call, second, &[2])?);
    match agree(a.sizes[1], b.sizes[0]) {
        Some(_) => Ok(vec![a.sizes[0], b.sizes[1]]),
        None => mismatch(call, second, b, &format!("sizes [{}, _]", a.sizes[1].size), first, a),
    }
}

/// Returns the leading sizes and the last two of a tensor of 2 dimensions or more.
fn split_matrix(tensor: &TensorMeta) -> (&[Dim], [Dim; 2]) {
    match tensor.sizes.split_last_chunk() {
        Some((lead, last)) => (lead, *last),
        None => (&[], [Dim::fixed(0); 2]),
    }
}

/// Returns `true` if sizes may expand to others.
fn expands(from: &[Dim], to: &[Dim]) -> bool {
    from.len() <= to.len()
        && from.iter().rev().zip(to.iter().rev()).all(|(from, to)| from.size == 1 || agree(*from, *to).is_some())
}

fn type_name(tensor: &TensorMeta) -> &'static str {
    tensor.scalar_type.info().map_or("an unknown type", |info| info.name)
}
