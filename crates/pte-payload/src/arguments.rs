//! Arguments of a delegate: the tensors that the values of its graph accept, which a backend may not check.

use pte_model::format::ScalarType;
use pte_model::program::{Tensor, TensorShapeDynamism};

/// A value of a graph that is an argument.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphArgument {
    /// Number of the argument, from 0.
    pub number: u32,
    /// True if the graph reads the argument, false if it writes it.
    pub is_input: bool,
    /// Element types of the tensors that the value takes.
    pub tensor_types: &'static [ScalarType],
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

/// Property of a tensor that an argument does not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentMismatch {
    /// Its element type.
    Type,
    /// Its sizes.
    Sizes,
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
    /// Returns the property of a tensor that the value does not take; `has_dynamic_input` is that of the call.
    pub fn mismatch(&self, tensor: &Tensor, has_dynamic_input: bool) -> Option<ArgumentMismatch> {
        match self.tensor_types.contains(&tensor.scalar_type) {
            false => Some(ArgumentMismatch::Type),
            true => (!self.takes_sizes_of(tensor, has_dynamic_input)).then_some(ArgumentMismatch::Sizes),
        }
    }

    /// Returns `true` if the value takes the sizes of a tensor; `has_dynamic_input` is that of the call. An input is in
    /// torch's order only if it is quantized for a convolution. An output can be resized to the sizes of the value
    /// within the elements of a dynamic tensor.
    fn takes_sizes_of(&self, tensor: &Tensor, has_dynamic_input: bool) -> bool {
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
