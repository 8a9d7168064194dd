//! Arguments of a delegate: which tensors the values of its graph take. The backend compares nothing.

use super::model::Graph;
use super::schema::{Datatype, EXTERNAL_INPUT, EXTERNAL_OUTPUT, NO_ID};
use crate::format::ScalarType;
use crate::program::Tensor;

/// A value of a graph that is an argument.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphArgument {
    /// Number of the argument.
    pub number: u32,
    /// The graph reads it; it writes others.
    pub is_input: bool,
    /// Element type: an index of [`super::schema::DATATYPES`].
    pub datatype: i16,
    /// Sizes in the order of memory.
    pub dims: Vec<u64>,
}

/// `shape_dynamism` of a tensor that is never resized.
const STATIC: i8 = 0;

/// Returns the arguments of a graph.
pub fn of(graph: &Graph) -> Vec<GraphArgument> {
    let is_argument = |flags: u32| flags & (EXTERNAL_INPUT | EXTERNAL_OUTPUT) != 0;
    let values = graph.values.iter().filter(|value| value.external_id != NO_ID && is_argument(value.flags));
    let argument = values.map(|value| GraphArgument {
        number: value.external_id,
        is_input: value.flags & EXTERNAL_INPUT != 0,
        datatype: value.datatype,
        dims: value.dims.iter().map(|size| u64::from(*size)).collect(),
    });
    argument.collect()
}

/// Returns `true` if an input has other sizes in other calls, and so have the outputs. `tensor` returns the tensor of an argument.
pub fn has_dynamic_input<'t>(arguments: &[GraphArgument], tensor: impl Fn(u32) -> Option<&'t Tensor>) -> bool {
    let inputs = arguments.iter().filter(|argument| argument.is_input);
    inputs.filter_map(|argument| tensor(argument.number)).any(|tensor| tensor.shape_dynamism != STATIC)
}

impl GraphArgument {
    /// Element types of tensors that the value takes.
    pub fn tensor_types(&self) -> &'static [ScalarType] {
        Datatype::of(self.datatype).map_or(&[], |datatype| datatype.tensors)
    }

    /// Returns `true` if the value takes the sizes of a tensor; `has_dynamic_input` is that of the call.
    pub fn takes_sizes_of(&self, tensor: &Tensor, has_dynamic_input: bool) -> bool {
        match self.is_input {
            true => has_sizes(tensor, self),
            false => has_dynamic_input || resizes(tensor, self),
        }
    }
}

/// Returns `true` if an output can be resized to the sizes of a value of the graph: in the order of memory, and within the bound of the elements
/// of a dynamic tensor. The exporter writes sizes `[1]` of a scalar.
fn resizes(tensor: &Tensor, external: &GraphArgument) -> bool {
    let sizes = tensor.sizes.as_deref().unwrap_or_default();
    let elements = |sizes: &mut dyn Iterator<Item = u64>| sizes.fold(1, u64::saturating_mul);
    let bound = elements(&mut sizes.iter().map(|size| u64::try_from(*size).unwrap_or(0)));
    if sizes.is_empty() && external.dims == [1] {
        return true;
    }
    match tensor.shape_dynamism == STATIC {
        true => in_memory(tensor).eq(external.dims.iter().map(|size| Some(*size))),
        false => sizes.len() == external.dims.len() && elements(&mut external.dims.iter().copied()) <= bound,
    }
}

/// Returns the sizes of a tensor in the order of memory; `None` for a dimension that it does not have.
fn in_memory(tensor: &Tensor) -> impl Iterator<Item = Option<u64>> {
    let sizes = tensor.sizes.as_deref().unwrap_or_default();
    let order = tensor.dim_order.as_deref().unwrap_or_default();
    order.iter().map(|dim| sizes.get(usize::from(*dim)).and_then(|size| u64::try_from(*size).ok()))
}

/// Returns `true` if a tensor has the sizes of a value of the graph, in the order of memory. The exporter writes the sizes of an input that
/// is quantized for a convolution in torch's order, and sizes `[1]` of a scalar.
fn has_sizes(tensor: &Tensor, external: &GraphArgument) -> bool {
    let sizes = tensor.sizes.as_deref().unwrap_or_default();
    let size = |dim: usize| sizes.get(dim).and_then(|size| u64::try_from(*size).ok());
    if sizes.is_empty() && external.dims == [1] {
        return true;
    }
    sizes.len() == external.dims.len()
        && (in_memory(tensor).eq(external.dims.iter().map(|size| Some(*size)))
            || (0..sizes.len()).map(size).eq(external.dims.iter().map(|size| Some(*size))))
}
