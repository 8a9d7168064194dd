//! Elements of broadcast tensors, one after another.

use super::call::{Constant, ConstantCall, nbytes};
use super::error::{Result, refuse};
use super::movement::dims;
use super::strided::Strided;
use crate::inference::TensorMeta;

/// Returns the bytes of a tensor that is broadcast to an out, in the order of the out.
pub(super) fn broadcast(call: &ConstantCall<'_>, tensor: &Constant<'_>, out: &TensorMeta) -> Result<Vec<u8>> {
    if tensor.meta.sizes == out.sizes {
        return call.read(tensor);
    }
    let own = dims(tensor.meta)?;
    let Some(lead) = out.rank().checked_sub(own.len()) else { return refuse("a result has too few dimensions") };
    let mut view = Vec::with_capacity(out.rank());
    for (at, dim) in out.sizes.iter().enumerate() {
        view.push(match at.checked_sub(lead).map(|at| own[at]) {
            Some((size, stride)) if size == dim.size => (size, stride),
            Some((1, _)) | None => (dim.size, 0),
            Some(_) => return refuse("sizes do not broadcast"),
        });
    }
    let element = tensor.meta.scalar_type.element_size() as usize;
    let count = nbytes(&out.clone().with_type(tensor.meta.scalar_type));
    let mut bytes = Vec::with_capacity(call.bounded(count)?);
    if view.iter().all(|(size, _)| *size > 0) {
        Strided { offset: 0, dims: view }.copy(&call.read(tensor)?, element, &mut bytes);
    }
    Ok(bytes)
}
