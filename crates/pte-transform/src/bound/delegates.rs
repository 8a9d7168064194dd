//! Delegates with new bounds: the graph of an XNNPACK payload gets the sizes of its arguments. Payloads of other backends cannot be changed.

use std::collections::{BTreeMap, HashMap};

use super::propagate::Propagation;
use super::{BoundedDelegate, is_dynamic, sizes_of};
use pte_model::data::Blob;
use pte_model::diagnostics::clipped;
use pte_model::program::{BackendDelegate, DelegateId, Tensor, ValueId};
use pte_payload::xnnpack::arguments::{self, GraphArgument};
use pte_payload::xnnpack::decode::decode;
use pte_payload::xnnpack::encode::encode;
use pte_payload::xnnpack::model::Graph;
use pte_payload::xnnpack::{BACKEND, resize::resize};

/// Payloads that were changed.
#[derive(Default)]
pub(super) struct Payloads {
    /// By delegate: the sizes of the inputs of its first call, and the new payload.
    changed: BTreeMap<usize, Changed>,
}

struct Changed {
    inputs: BTreeMap<u32, Vec<u64>>,
    report: BoundedDelegate,
    payload: Blob,
    /// Sizes of the outputs in the graph, old and new.
    outputs: Vec<(GraphArgument, Vec<u64>)>,
}

impl Payloads {
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

impl Propagation<'_> {
    pub(super) fn delegate_call(&mut self, at: &dyn Fn() -> String, id: DelegateId, args: &[ValueId]) {
        let count = self.plan.values().len();
        let values: Vec<Option<usize>> = args.iter().map(|arg| arg.within(count)).collect();
        let is_unknown = values.iter().flatten().any(|value| self.is_unknown(*value));
        let read = self.expand(args);
        if read.is_some_and(|read| !read.into_iter().any(|value| self.is_changed(value))) {
            if is_unknown {
                self.mark_outputs(args);
            }
            return;
        }
        let found = id.get().zip(self.plan.delegate(id));
        let Some((delegate, BackendDelegate { id: backend, processed, .. })) = found else { return };
        let backend = backend.as_deref().unwrap_or_default();
        let what = format!("delegate {delegate} of {}", clipped(backend));
        if backend != BACKEND {
            let message =
                "the payload is compiled for the sizes of its arguments, and only those of XNNPACK can be changed";
            self.fail(at, &what, message, args);
            return self.mark_outputs(args);
        }
        let payload = self.program.blob(*processed);
        if let Err(message) = self.xnnpack_call(delegate, payload, &values, is_unknown) {
            self.fail(at, &what, &message, args);
            self.mark_outputs(args);
        }
    }

    /// Marks that the exact sizes of outputs are not known: of the arguments that did not change.
    fn mark_outputs(&mut self, args: &[ValueId]) {
        for arg in args {
            if arg.within(self.plan.values().len()).is_some_and(|value| !self.is_changed(value)) {
                self.mark(&[*arg], 0, true);
            }
        }
    }

    /// Changes the payload of a call, and the sizes of its outputs.
    ///
    /// # Errors
    /// Description of what does not fit.
    fn xnnpack_call(
        &mut self,
        delegate: usize,
        payload: &Blob,
        values: &[Option<usize>],
        is_unknown: bool,
    ) -> Result<(), String> {
        let mut graph = decode(payload).map_err(|error| format!("the payload is not read: {error}"))?;
        let externals = arguments::of(&graph);
        let mut inputs = BTreeMap::new();
        let mut is_static = true;
        for external in externals.iter().filter(|external| external.is_input) {
            let value = values.get(external.number as usize).copied().flatten();
            let (Some(old), Some(new)) = (self.tensor(value, false), self.tensor(value, true)) else { continue };
            is_static &= !value.is_some_and(|value| is_dynamic(&self.new.values()[value]));
            inputs.insert(external.number, new_dims(external, old, new)?);
        }
        if let Some(other) = self.payloads.changed.get(&delegate).filter(|other| other.inputs != inputs) {
            return Err(format!("another call has inputs of sizes {:?}, this one {inputs:?}", other.inputs));
        }
        if !self.payloads.changed.contains_key(&delegate) {
            let changed = change(&mut graph, payload, &externals, inputs, delegate)?;
            self.payloads.changed.insert(delegate, changed);
        }
        let outputs = self.payloads.changed[&delegate].outputs.clone();
        for (external, dims) in outputs {
            let value = values.get(external.number as usize).copied().flatten();
            let (Some(value), Some(tensor)) = (value, self.tensor(value, false)) else { continue };
            if dims == external.dims && !(is_static && is_dynamic(&self.plan.values()[value])) {
                continue;
            }
            let sizes = new_sizes(&external, tensor, &dims)?;
            if !is_dynamic(&self.plan.values()[value]) {
                if !sizes.iter().copied().eq(sizes_of(&self.plan.values()[value]).iter().map(|size| i64::from(*size))) {
                    let name = clipped(&(self.label)(value));
                    return Err(format!("the output `{name}` would have sizes {sizes:?}, but is static"));
                }
                continue;
            }
            self.set_result(value, &sizes, is_static);
            self.mark(&[ValueId::of(value)], 0, is_unknown);
        }
        Ok(())
    }

    /// Returns the tensor of an argument with its old or new sizes.
    fn tensor(&self, value: Option<usize>, is_new: bool) -> Option<&Tensor> {
        let values = if is_new { self.new.values() } else { self.plan.values() };
        values.get(value?)?.as_tensor()
    }
}

/// Changes the sizes of a graph.
///
/// # Errors
/// Description of the operation that does not take the sizes.
fn change(
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

/// Order of the sizes of a value of a graph.
enum DimsOrder {
    /// That of memory.
    Memory,
    /// That of torch.
    Torch,
    /// The exporter writes sizes `[1]` of a scalar.
    Scalar,
}

/// Returns the order of the sizes of an argument in the graph; `None` if they are not those of the tensor.
fn order_of(external: &GraphArgument, tensor: &Tensor) -> Option<DimsOrder> {
    let sizes = tensor.sizes.as_deref()?;
    let is = |order: &mut dyn Iterator<Item = usize>| {
        order
            .map(|dim| sizes.get(dim).and_then(|size| u64::try_from(*size).ok()))
            .eq(external.dims.iter().map(|size| Some(*size)))
    };
    let memory = tensor.dim_order.as_deref().unwrap_or_default();
    match () {
        () if sizes.is_empty() && external.dims == [1] => Some(DimsOrder::Scalar),
        () if is(&mut memory.iter().map(|dim| usize::from(*dim))) => Some(DimsOrder::Memory),
        () if is(&mut (0..sizes.len())) => Some(DimsOrder::Torch),
        () => None,
    }
}

/// Returns the sizes of an input in the graph for the new sizes of its tensor.
///
/// # Errors
/// The graph has other sizes than the tensor.
fn new_dims(external: &GraphArgument, old: &Tensor, new: &Tensor) -> Result<Vec<u64>, String> {
    let sizes: Vec<u64> = new.sizes.iter().flatten().map(|size| u64::try_from(*size).unwrap_or(0)).collect();
    match order_of(external, old) {
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
fn new_sizes(external: &GraphArgument, tensor: &Tensor, dims: &[u64]) -> Result<Vec<i64>, String> {
    let dims = dims.iter().map(|size| i64::try_from(*size).unwrap_or(i64::MAX));
    match order_of(external, tensor) {
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
