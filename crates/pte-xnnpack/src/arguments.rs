//! Arguments of a delegate: the tensors that the values of its graph accept, which the backend does not check.

use std::collections::HashSet;

use crate::model::{Graph, NodeOperation};
use crate::schema::{Datatype, EXTERNAL_INPUT, EXTERNAL_OUTPUT, NO_ID, Operation, QDINT8};
use pte_model::format::ScalarType;
use pte_model::program::{Tensor, TensorShapeDynamism};

/// A value of a graph that is an argument.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphArgument {
    /// Number of the argument, from 0.
    pub number: u32,
    /// True if the graph reads the argument, false if it writes it.
    pub is_input: bool,
    /// Element type: an index of [`crate::schema::DATATYPES`].
    pub datatype: i16,
    /// Sizes in the order of memory, or in torch's.
    pub dims: Vec<u64>,
    /// The sizes may be in torch's order: the graph quantizes the value for convolutions only, which compute sizes from
    /// those of the tensor.
    pub is_torch: bool,
}

/// Order of the sizes of an argument in the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DimsOrder {
    /// That of memory.
    Memory,
    /// That of torch.
    Torch,
    /// The exporter writes sizes `[1]` of a scalar.
    Scalar,
}

/// Returns the arguments of a graph.
pub fn of(graph: &Graph) -> Vec<GraphArgument> {
    let torch = torch_values(graph);
    let is_argument = |flags: u32| flags & (EXTERNAL_INPUT | EXTERNAL_OUTPUT) != 0;
    let values = graph.values.iter().filter(|value| value.external_id != NO_ID && is_argument(value.flags));
    let argument = values.map(|value| GraphArgument {
        number: value.external_id,
        is_input: value.flags & EXTERNAL_INPUT != 0,
        datatype: value.datatype,
        dims: value.sizes().to_vec(),
        is_torch: torch.contains(&value.id),
    });
    argument.collect()
}

/// Returns the ids of the values whose sizes may be in torch's order: those that are quantized at run time for
/// convolutions only.
fn torch_values(graph: &Graph) -> HashSet<u32> {
    let dynamic = graph.values.iter().filter(|value| value.datatype == QDINT8).map(|value| value.id);
    let dynamic: HashSet<u32> = dynamic.collect();
    // Values with those that they are quantized to, and values whose sizes operations read in the order of memory.
    let (mut quantized, mut in_memory) = (Vec::new(), HashSet::new());
    for node in graph.nodes.iter().filter(|_| !dynamic.is_empty()) {
        let written = node.operands().find(|(operand, _)| operand.is_output).map(|(_, id)| id);
        for (_, id) in node.operands().filter(|(operand, _)| !operand.is_output) {
            match (node.operation, written) {
                (NodeOperation::Known(Operation::Convert), Some(written)) if dynamic.contains(&written) => {
                    quantized.push((id, written));
                }
                (NodeOperation::Known(Operation::Conv2d | Operation::ConvTranspose2d), _) if dynamic.contains(&id) => {}
                _ => _ = in_memory.insert(id),
            }
        }
    }
    let in_memory_after = quantized.iter().filter(|(_, written)| in_memory.contains(written)).map(|(id, _)| *id);
    let others: HashSet<u32> = in_memory_after.chain(in_memory.iter().copied()).collect();
    quantized.into_iter().map(|(id, _)| id).filter(|id| !others.contains(id)).collect()
}

/// Returns `true` if an input, and therefore the outputs, can have other sizes in other calls. `tensor` returns the
/// tensor of an argument.
pub fn has_dynamic_input<'t>(arguments: &[GraphArgument], tensor: impl Fn(u32) -> Option<&'t Tensor>) -> bool {
    let inputs = arguments.iter().filter(|argument| argument.is_input);
    inputs
        .filter_map(|argument| tensor(argument.number))
        .any(|tensor| tensor.shape_dynamism != TensorShapeDynamism::STATIC)
}

/// Returns the sizes of a tensor for a message, with the order of its dimensions if that is not the default.
pub fn sizes_of(tensor: &Tensor) -> String {
    let sizes = tensor.sizes.as_deref().unwrap_or_default();
    match is_reordered(tensor) {
        true => format!("{sizes:?} with dim_order {:?}", tensor.dim_order.as_deref().unwrap_or_default()),
        false => format!("{sizes:?}"),
    }
}

/// Returns `true` if the order of a tensor's dimensions in memory is not the default.
pub fn is_reordered(tensor: &Tensor) -> bool {
    tensor.dim_order.as_deref().is_some_and(|order| !order.is_sorted())
}

impl GraphArgument {
    /// Element types of tensors that the value takes.
    pub fn tensor_types(&self) -> &'static [ScalarType] {
        Datatype::of(self.datatype).map_or(&[], |datatype| datatype.tensors)
    }

    /// Returns `true` if the value takes the sizes of a tensor; `has_dynamic_input` is that of the call. An input is in
    /// torch's order only if it is quantized for a convolution. An output can be resized to the sizes of the value
    /// within the elements of a dynamic tensor.
    pub fn takes_sizes_of(&self, tensor: &Tensor, has_dynamic_input: bool) -> bool {
        let sizes = tensor.sizes.as_deref().unwrap_or_default();
        let is_bound = tensor.shape_dynamism != TensorShapeDynamism::STATIC;
        match self.order_of(tensor) {
            Some(DimsOrder::Scalar) => true,
            _ if !self.is_input && has_dynamic_input => true,
            _ if !self.is_input && is_bound => {
                let bound = sizes.iter().map(|size| u64::try_from(*size).unwrap_or(0)).fold(1, u64::saturating_mul);
                let elements = self.dims.iter().copied().fold(1, u64::saturating_mul);
                sizes.len() == self.dims.len() && elements <= bound
            }
            Some(DimsOrder::Memory) => !self.is_input || sizes.len() == self.dims.len(),
            Some(DimsOrder::Torch) => self.is_input && self.is_torch,
            None => false,
        }
    }

    /// Returns the order in which the value has the sizes of a tensor; `None` if they are others.
    pub fn order_of(&self, tensor: &Tensor) -> Option<DimsOrder> {
        let sizes = tensor.sizes.as_deref().unwrap_or_default();
        let size = |dim: usize| sizes.get(dim).and_then(|size| u64::try_from(*size).ok());
        let memory = tensor.dim_order.as_deref().unwrap_or_default();
        match () {
            () if sizes.is_empty() && self.dims == [1] => Some(DimsOrder::Scalar),
            () if memory.iter().map(|dim| size((*dim).into())).eq(self.dims.iter().map(|size| Some(*size))) => {
                Some(DimsOrder::Memory)
            }
            () if (0..sizes.len()).map(size).eq(self.dims.iter().map(|size| Some(*size))) => Some(DimsOrder::Torch),
            () => None,
        }
    }
}
