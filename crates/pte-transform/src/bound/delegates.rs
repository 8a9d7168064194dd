//! Calls of delegates with new bounds. Only the payloads of XNNPACK can be changed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::payload::{change, new_dims, new_sizes};
use super::propagate::Propagation;
use super::values::{is_dynamic, sizes_of};
use pte_model::diagnostics::clipped;
use pte_model::program::{BackendDelegate, DelegateId, Tensor, ValueId};
use pte_xnnpack::BACKEND;
use pte_xnnpack::arguments;

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
        let Some((index, delegate)) = found else { return };
        let backend = delegate.id.as_deref().unwrap_or_default();
        let what = format!("delegate {index} of {}", clipped(backend));
        if backend != BACKEND {
            let message =
                "the payload is compiled for the sizes of its arguments, and only those of XNNPACK can be changed";
            self.fail(at, &what, message, args);
            return self.mark_outputs(args);
        }
        if let Err(message) = self.xnnpack_call(index, delegate, &values, is_unknown) {
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
    /// Description of the mismatch.
    fn xnnpack_call(
        &mut self,
        index: usize,
        delegate: &BackendDelegate,
        values: &[Option<usize>],
        is_unknown: bool,
    ) -> Result<(), String> {
        let payload = self.decoded.xnnpack(delegate).ok_or("the payload overlaps others")?;
        let graph = payload.graph().map_err(|error| format!("the payload is not read: {error}"))?;
        let externals = arguments::of(graph);
        let mut inputs = BTreeMap::new();
        let mut is_static = true;
        for external in externals.iter().filter(|external| external.is_input) {
            let value = values.get(external.number as usize).copied().flatten();
            let (Some(old), Some(new)) = (self.tensor(value, false), self.tensor(value, true)) else { continue };
            is_static &= !value.is_some_and(|value| is_dynamic(&self.new.values[value]));
            inputs.insert(external.number, new_dims(external, old, new)?);
        }
        if let Some(other) = self.payloads.changed.get(&index).filter(|other| other.inputs != inputs) {
            return Err(format!("another call has inputs of sizes {:?}, this one {inputs:?}", other.inputs));
        }
        let changed = match self.payloads.changed.entry(index) {
            Entry::Occupied(changed) => changed.into_mut(),
            Entry::Vacant(place) => {
                place.insert(change(&mut graph.clone(), payload.blob(), &externals, inputs, index)?)
            }
        };
        let outputs = changed.outputs.clone();
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
        let values = if is_new { &self.new.values } else { self.plan.values() };
        values.get(value?)?.as_tensor()
    }
}
