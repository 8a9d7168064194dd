//! The graph that XNNPACK executes: the operations of a payload as ExecuTorch defines them. [`super::rewrite`] changes
//! them as XNNPACK does. What an operation needs is computed in [`super::operators`]; nothing here is a size in memory
//! except that of a value.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::model::{FieldContent, Graph, GraphValue, Node, NodeOperation};
use crate::schema::{
    Datatype, EXTERNAL_INPUT, EXTERNAL_OUTPUT, Family, NO_ID, OPTIONAL_OPERAND, Operation, QDINT8, QuantParams,
    TRANSPOSED, conv, fully_connected, per_channel_group_quant, per_token_dynamic_quant,
};

/// Location of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// In the workspace.
    Workspace,
    /// An argument of the delegate.
    Argument,
    /// A constant of the payload.
    Constant,
}

/// A value of XNNPACK's subgraph.
#[derive(Debug, Clone)]
pub struct LoweredValue {
    /// Sizes.
    pub dims: Vec<u64>,
    /// Element type: an index of [`DATATYPES`].
    pub datatype: i16,
    /// Location.
    pub storage: Storage,
    /// It is an output of the delegate.
    pub is_output: bool,
    /// Number of dimensions that share a scale, if it is quantized at run time.
    pub scaled_dims: usize,
    /// Size of a group of weights that share a scale; 0 if there are no groups.
    pub group: u64,
    /// Its sizes do not depend on the arguments.
    pub has_fixed_sizes: bool,
}

impl LoweredValue {
    /// Returns the size of an element in bits.
    pub fn bits(&self) -> u64 {
        Datatype::of(self.datatype).map_or(32, |datatype| datatype.bits)
    }

    /// Returns the number of elements; it saturates.
    pub fn count(&self) -> u64 {
        self.dims.iter().fold(1u64, |count, size| count.saturating_mul(*size))
    }

    /// Returns the size of its data in bytes; it saturates.
    pub fn bytes(&self) -> u64 {
        self.count().saturating_mul(self.bits()).div_ceil(8)
    }
}

/// An operation.
pub struct LoweredNode<'g> {
    /// Family.
    pub kind: Family,
    /// Operation of the payload with the parameters; `None` if a rewrite added it.
    pub source: Option<&'g Node>,
    /// Operations of the payload that it executes, by their positions: first its own.
    pub nodes: SmallVec<[usize; 2]>,
    /// Values that it reads.
    pub inputs: SmallVec<[usize; 4]>,
    /// Values that it writes.
    pub outputs: SmallVec<[usize; 2]>,
    /// A padding before it became part of it.
    pub is_padded: bool,
    /// It quantizes its first input itself.
    pub quantizes: bool,
    /// A rewrite removed it.
    pub is_removed: bool,
}

impl<'g> LoweredNode<'g> {
    fn new(
        kind: Family,
        source: Option<&'g Node>,
        nodes: SmallVec<[usize; 2]>,
        inputs: SmallVec<[usize; 4]>,
        outputs: SmallVec<[usize; 2]>,
    ) -> LoweredNode<'g> {
        LoweredNode { kind, source, nodes, inputs, outputs, is_padded: false, quantizes: false, is_removed: false }
    }

    /// Returns `true` if the weights of a matrix product have the sizes `[inputs, outputs]`.
    pub fn is_transposed(&self) -> bool {
        self.is(Operation::FullyConnected) && self.number(fully_connected::flags) & u64::from(TRANSPOSED) != 0
    }

    /// Returns `true` for bounds that are not infinite, also for those that a rewrite added.
    pub fn has_bounds(&self) -> bool {
        self.source.is_none_or(|node| node.output_min_max.is_some_and(is_bound)) || self.is_minimum_or_maximum()
    }

    /// Returns `true` for the smaller or the larger of two values.
    pub fn is_minimum_or_maximum(&self) -> bool {
        self.is(Operation::Minimum) || self.is(Operation::Maximum)
    }

    /// Returns the name that XNNPACK's profiler gives to the operator; each has one event.
    pub fn event(&self) -> &'static str {
        match self.kind {
            Family::Unary | Family::Binary => match self.source.map(|node| node.operation) {
                Some(NodeOperation::Known(operation)) => {
                    let renamed = RENAMED.iter().find(|(known, _)| *known == operation);
                    renamed.map_or(operation.word(), |(_, name)| name)
                }
                Some(NodeOperation::Unknown(_)) | None => "",
            },
            Family::Clamp => "Clamp",
            Family::Copy | Family::Concatenation => "Copy",
            Family::Convert | Family::Quantize => "Convert",
            Family::Softmax => "Softmax",
            Family::Reshape => "Static Reshape",
            Family::FullyConnected => "Fully Connected",
            Family::Convolution => "Convolution",
            Family::TransposedConvolution => "Deconvolution",
            Family::MatrixProduct => "Batch Matrix Multiply",
            Family::AveragePooling => "Average Pooling",
            Family::MaxPooling => "Max Pooling",
            Family::ArgMaxPooling => "ArgMax Pooling",
            Family::Mean => "Mean",
            Family::Resize => "Resize Bilinear",
            Family::Transpose => "Transpose",
            Family::Pad => "Constant Pad",
            Family::Slice => "Slice",
            Family::Table => "Invalid Unary Op",
            Family::Attention => "",
        }
    }

    fn is(&self, operation: Operation) -> bool {
        self.source.is_some_and(|node| node.operation == NodeOperation::Known(operation))
    }

    /// Returns a parameter; 0 if there is none.
    pub fn number(&self, slot: u16) -> u64 {
        self.source.map_or(0, |node| node.uint(slot).into())
    }
}

/// Operations by elements to which the profiler gives other names than the schema.
const RENAMED: [(Operation, &str); 3] =
    [(Operation::Div, "Divide"), (Operation::Sin, "Sine"), (Operation::Cos, "Cosine")];

/// XNNPACK's subgraph, which the backend creates from a payload.
pub struct Lowered<'g> {
    /// Values, also those that rewrites removed: the runtime keeps their descriptions.
    pub values: Vec<LoweredValue>,
    /// Operations in their order.
    pub nodes: Vec<LoweredNode<'g>>,
    /// Number of operations that were merged into others, and whose descriptions the runtime keeps.
    pub merged: usize,
}

impl<'g> Lowered<'g> {
    /// Returns the graph of a payload.
    ///
    /// # Errors
    /// An operation that XNNPACK in ExecuTorch 1.5.1 does not have, or one without an operand.
    pub fn of(graph: &'g Graph) -> Result<Lowered<'g>, String> {
        let ids = graph.positions();
        let values = graph.values.iter().map(|value| lowered_value(graph, value)).collect();
        let mut lowered = Lowered { values, nodes: Vec::with_capacity(graph.nodes.len()), merged: 0 };
        for (number, node) in graph.nodes.iter().enumerate() {
            let wrong = |problem: &str| format!("operation {number} ({}): {problem}", node.operation.word());
            let NodeOperation::Known(operation) = node.operation else { return Err(wrong("it is not known")) };
            lowered.add(operation, node, number, &ids).map_err(|problem| wrong(&problem))?;
        }
        lowered.rewrite();
        Ok(lowered)
    }

    fn add(
        &mut self,
        operation: Operation,
        node: &'g Node,
        number: usize,
        ids: &HashMap<u32, usize>,
    ) -> Result<(), String> {
        let (mut inputs, mut outputs) = (SmallVec::<[usize; 4]>::new(), SmallVec::<[usize; 2]>::new());
        for (operand, id) in node.operands() {
            if id == NO_ID && operand.name == OPTIONAL_OPERAND {
                continue;
            }
            let Some(value) = ids.get(&id) else { return Err(format!("`{}` has no value", operand.name)) };
            if operand.is_output { outputs.push(*value) } else { inputs.push(*value) }
        }
        let Some(output) = outputs.first().copied().filter(|_| !inputs.is_empty()) else {
            return Err("it has no operands".to_owned());
        };
        let kind = match operation.family() {
            Family::Attention => return Err("it is not supported".to_owned()),
            Family::Convert if self.values[output].datatype == QDINT8 => Family::Quantize,
            Family::Convert => Family::Unary,
            Family::Convolution if operation == Operation::Conv2d && is_pointwise(node) => Family::FullyConnected,
            family => family,
        };
        let lowered = LoweredNode::new(kind, Some(node), [number].into_iter().collect(), inputs, outputs);
        self.nodes.push(lowered);
        let has_bounds = matches!(
            operation,
            Operation::Add | Operation::Subtract | Operation::Multiply | Operation::Div | Operation::GlobalAvgPooling2d
        );
        if has_bounds && node.output_min_max.is_some_and(is_bound) {
            self.clamp(number, output);
        }
        Ok(())
    }

    /// Adds an operation for the bounds of an output that the last operation, of this number, does not apply itself.
    fn clamp(&mut self, number: usize, output: usize) {
        let between = LoweredValue { storage: Storage::Workspace, is_output: false, ..self.values[output].clone() };
        let position = self.values.len();
        self.values.push(between);
        if let Some(last) = self.nodes.last_mut() {
            last.outputs[0] = position;
        }
        let (inputs, outputs) = ([position].into_iter().collect(), [output].into_iter().collect());
        self.nodes.push(LoweredNode::new(Family::Clamp, None, [number].into_iter().collect(), inputs, outputs));
    }
}

/// Returns `true` for a convolution that XNNPACK replaces by a matrix product.
fn is_pointwise(node: &Node) -> bool {
    use conv::*;
    let number = |slot: u16| node.uint(slot);
    let are = |slots: &[u16], expected: u32| slots.iter().all(|slot| number(*slot) == expected);
    let has_channels = number(group_input_channels).saturating_add(number(group_output_channels)) > 2;
    has_channels
        && are(&[groups, kernel_height, kernel_width, subsampling_height, subsampling_width], 1)
        && are(&[padding_top, padding_right, padding_bottom, padding_left], 0)
}

/// Returns `true` for a bound that is not infinite.
fn is_bound(bounds: [f32; 2]) -> bool {
    bounds != [f32::NEG_INFINITY, f32::INFINITY]
}

fn lowered_value(graph: &Graph, value: &GraphValue) -> LoweredValue {
    let parameter = |kind: QuantParams, slot: u16| {
        let quantization = value.quantization.as_ref().filter(|quantization| quantization.kind == kind)?;
        match quantization.fields.get(usize::from(slot)) {
            Some(FieldContent::Int(number)) => u64::try_from(*number).ok(),
            Some(_) | None => None,
        }
    };
    let is_constant = value.constant != 0 && graph.constants.get(value.constant as usize).is_some();
    let is_output = value.flags & EXTERNAL_OUTPUT != 0;
    let storage = match (is_constant, value.flags & (EXTERNAL_INPUT | EXTERNAL_OUTPUT)) {
        (true, _) => Storage::Constant,
        (false, 0) => Storage::Workspace,
        (false, _) => Storage::Argument,
    };
    let scaled = parameter(QuantParams::PerTokenDynamic, per_token_dynamic_quant::num_nonbatch_dims);
    LoweredValue {
        dims: value.sizes().to_vec(),
        datatype: value.datatype,
        storage,
        is_output,
        scaled_dims: scaled.unwrap_or(1) as usize,
        group: parameter(QuantParams::PerChannelGroup, per_channel_group_quant::group_size).unwrap_or(0),
        has_fixed_sizes: is_constant,
    }
}
