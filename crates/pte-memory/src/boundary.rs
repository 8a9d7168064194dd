//! Inputs and outputs of a method as buffers: which of them are in planned memory, and which the caller provides.

use std::collections::{HashMap, HashSet};

use serde::Serialize;

use super::labels::shortened;
use super::subject::Subject;
use pte_model::program::{EValue, ExecutionPlan, Memory, Tensor, TensorData, ValueId};

/// Tensors among the inputs or outputs of a method, part of [`crate::memory::MethodFootprint`].
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BoundaryBuffers {
    /// Total size in bytes of the buffers that the caller provides.
    pub bytes: u64,
    /// The size is a lower bound: that of a tensor which the caller provides is not known.
    pub at_least: bool,
    /// Tensors in the order of the method.
    pub tensors: Vec<BoundaryTensor>,
    /// Number of all inputs or outputs.
    #[serde(skip)]
    pub count: usize,
}

/// Tensor that is an input or output, part of [`BoundaryBuffers`].
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct BoundaryTensor {
    /// Index among the inputs or outputs, as `Method::set_input` takes it.
    pub index: usize,
    /// Name in the YAML. Long names are truncated.
    pub name: String,
    /// Element type and sizes: `float32 [2, 3]`. Long lists are truncated.
    #[serde(rename = "type")]
    pub shape: String,
    /// Size in bytes, which is an upper bound for a dynamic tensor; 0 if it is not known.
    pub bytes: u64,
    /// The caller provides its memory. Otherwise it is in planned memory, a constant, or in the memory of another
    /// value; the runtime copies an input there.
    #[serde(rename = "provided")]
    pub is_provided: bool,
}

impl BoundaryBuffers {
    /// Collects the tensors among the inputs.
    #[doc(hidden)]
    pub fn inputs(subject: &Subject<'_>, method: usize, plan: &ExecutionPlan) -> BoundaryBuffers {
        BoundaryBuffers::new(subject, method, plan, plan.inputs.as_deref(), |_| false)
    }

    /// Collects the tensors among the outputs. Those that are inputs or views of other values have the memory of these.
    #[doc(hidden)]
    pub fn outputs(subject: &Subject<'_>, method: usize, plan: &ExecutionPlan) -> BoundaryBuffers {
        let is_input = plan.is_input();
        let is_alias = subject.executions.get(method).map_or(&[][..], |execution| &execution.is_alias);
        let has_other = |value: usize| [&is_input[..], is_alias].iter().any(|list| list.get(value) == Some(&true));
        BoundaryBuffers::new(subject, method, plan, plan.outputs.as_deref(), has_other)
    }

    fn new(
        subject: &Subject<'_>,
        method: usize,
        plan: &ExecutionPlan,
        list: Option<&[ValueId]>,
        has_other: impl Fn(usize) -> bool,
    ) -> BoundaryBuffers {
        // Many entries of a list can be the same value with a long name or many dimensions.
        let mut described: HashMap<usize, (String, String)> = HashMap::new();
        let mut provided = HashSet::new();
        let (mut bytes, mut at_least) = (0_u64, false);
        let tensor = |(index, id): (usize, &ValueId)| {
            let value = id.within(plan.values().len())?;
            let EValue::Tensor(tensor) = &plan.values()[value] else { return None };
            let is_provided = is_without_memory(tensor) && !has_other(value);
            let size = tensor.nbytes().unwrap_or(0);
            at_least |= is_provided && tensor.nbytes().is_none();
            // A value that is listed twice has one buffer.
            if is_provided && provided.insert(value) {
                bytes = bytes.saturating_add(size);
            }
            let texts = || (shortened(subject.value_name(method, value)), shortened(super::subject::shape(tensor)));
            let (name, shape) = described.entry(value).or_insert_with(texts).clone();
            Some(BoundaryTensor { index, name, shape, bytes: size, is_provided })
        };
        let tensors = list.into_iter().flatten().enumerate().filter_map(tensor).collect();
        BoundaryBuffers { bytes, at_least, tensors, count: list.map_or(0, <[ValueId]>::len) }
    }

    /// Returns the sizes in bytes of the tensors that the caller provides, each listed one.
    ///
    /// ```
    /// assert_eq!(pte_memory::boundary::BoundaryBuffers::default().provided().count(), 0);
    /// ```
    pub fn provided(&self) -> impl Iterator<Item = u64> {
        self.tensors.iter().filter(|tensor| tensor.is_provided).map(|tensor| tensor.bytes)
    }
}

/// Returns true for a tensor to which loading assigns no memory.
fn is_without_memory(tensor: &Tensor) -> bool {
    tensor.memory == Memory::None && tensor.data == TensorData::None && !tensor.is_external()
}
