//! The graph of an XNNPACK payload with the sizes of its arguments.

use std::collections::{BTreeMap, HashMap};

use super::report::BoundedDelegate;
use pte_model::data::Blob;
use pte_model::program::Tensor;
use pte_xnnpack::arguments::{self, DimsOrder, GraphArgument};
use pte_xnnpack::encode::encode;
use pte_xnnpack::model::Graph;
use pte_xnnpack::{BACKEND, resize::resize};

/// Payloads that were changed.
#[derive(Default)]
pub(super) struct ChangedPayloads {
    /// By delegate: the sizes of the inputs of its first call, and the new payload.
    pub changed: BTreeMap<usize, Changed>,
}

/// A payload with other sizes.
pub(super) struct Changed {
    /// Sizes of the inputs, by argument.
    pub inputs: BTreeMap<u32, Vec<u64>>,
    report: BoundedDelegate,
    payload: Blob,
    /// The outputs, with their new sizes in the graph.
    pub outputs: Vec<(GraphArgument, Vec<u64>)>,
}

impl ChangedPayloads {
    /// Returns the new payloads.
    pub fn finish(self) -> (BTreeMap<usize, Blob>, Vec<BoundedDelegate>) {
        let (mut payloads, mut reports) = (BTreeMap::new(), Vec::new());
        for (delegate, changed) in self.changed {
            payloads.insert(delegate, changed.payload);
            if changed.report.values > 0 {
                reports.push(changed.report);
            }
        }
        (payloads, reports)
    }
}

/// Changes the sizes of a graph.
///
/// # Errors
/// Description of the operation that does not take the sizes.
pub(super) fn change(
    graph: &mut Graph,
    payload: &Blob,
    externals: &[GraphArgument],
    inputs: BTreeMap<u32, Vec<u64>>,
    delegate: usize,
) -> Result<Changed, String> {
    let by_number: HashMap<u32, Vec<u64>> = inputs.iter().map(|(number, dims)| (*number, dims.clone())).collect();
    let values = resize(graph, &by_number).map_err(|error| error.to_string())?;
    let payload = match values {
        0 => payload.clone(),
        _ => Blob { copy: payload.copy, ..encode(graph).map_err(|error| error.to_string())? },
    };
    let after = arguments::of(graph).into_iter().map(|external| external.dims);
    let outputs = externals.iter().cloned().zip(after).filter(|(external, _)| !external.is_input).collect();
    Ok(Changed { inputs, report: BoundedDelegate { delegate, backend: BACKEND.to_owned(), values }, payload, outputs })
}

/// Returns the sizes of an input in the graph for the new sizes of its tensor.
///
/// # Errors
/// The graph has other sizes than the tensor.
pub(super) fn new_dims(external: &GraphArgument, old: &Tensor, new: &Tensor) -> Result<Vec<u64>, String> {
    let sizes: Vec<u64> = new.sizes.iter().flatten().map(|size| u64::try_from(*size).unwrap_or(0)).collect();
    match external.order_of(old) {
        _ if old.sizes == new.sizes => Ok(external.dims.clone()),
        Some(DimsOrder::Scalar) => Ok(external.dims.clone()),
        Some(DimsOrder::Torch) => Ok(sizes),
        Some(DimsOrder::Memory) => {
            let order = new.dim_order.as_deref().unwrap_or_default();
            Ok(order.iter().filter_map(|dim| sizes.get(usize::from(*dim)).copied()).collect())
        }
        None => Err(unlike(external, old)),
    }
}

/// Returns the sizes of an output for its new ones in the graph.
///
/// # Errors
/// The graph has other sizes than the tensor.
pub(super) fn new_sizes(external: &GraphArgument, tensor: &Tensor, dims: &[u64]) -> Result<Vec<i64>, String> {
    let dims = dims.iter().map(|size| i64::try_from(*size).unwrap_or(i64::MAX));
    match external.order_of(tensor) {
        Some(DimsOrder::Scalar) => Ok(Vec::new()),
        Some(DimsOrder::Torch) => Ok(dims.collect()),
        Some(DimsOrder::Memory) => {
            let mut sizes = vec![0; dims.len()];
            for (dim, size) in tensor.dim_order.as_deref().unwrap_or_default().iter().zip(dims) {
                if let Some(place) = sizes.get_mut(usize::from(*dim)) {
                    *place = size;
                }
            }
            Ok(sizes)
        }
        None => Err(unlike(external, tensor)),
    }
}

fn unlike(external: &GraphArgument, tensor: &Tensor) -> String {
    let sizes = tensor.sizes.as_deref().unwrap_or_default();
    format!(
        "argument {} has sizes {:?} in the payload, expected {sizes:?}, those of its tensor",
        external.number, external.dims
    )
}
