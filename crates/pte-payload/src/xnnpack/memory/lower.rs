//! The graph that XNNPACK executes: the operations of a payload after those rewrites of ExecuTorch and XNNPACK that change its memory. What
//! an operation needs is computed in [`super::operators`]; nothing here is a size in memory except that of a value.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::xnnpack::model::{FieldContent, Graph, GraphValue, Node, NodeOperation};
use crate::xnnpack::schema::*;

/// Location of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    /// In the workspace.
    Workspace,
    /// An argument of the delegate.
    Argument,
    /// A constant.
    Constant,
}

/// A value.
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
    has_fixed_sizes: bool,
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

/// Kind of an operation of XNNPACK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Unary,
    Clamp,
    /// A table of 256 results.
    Table,
    Binary,
    Copy,
    Softmax,
    Reshape,
    /// Conversion that quantizes at run time.
    Quantize,
    FullyConnected,
    Convolution,
    TransposedConvolution,
    MatrixProduct,
    AveragePooling,
    MaxPooling,
    ArgMaxPooling,
    Mean,
    Resize,
    Transpose,
    Pad,
    Slice,
    Concatenation,
}

/// An operation.
#[derive(Debug)]
pub struct LoweredNode<'g> {
    /// Kind.
    pub kind: Kind,
    /// Operation of the payload with the parameters; `None` if a rewrite added it.
    pub source: Option<&'g Node>,
    /// Values that it reads.
    pub inputs: SmallVec<[usize; 4]>,
    /// Values that it writes.
    pub outputs: SmallVec<[usize; 2]>,
    /// A padding before it became part of it.
    pub is_padded: bool,
    /// It quantizes its first input itself.
    pub quantizes: bool,
    is_removed: bool,
}

impl LoweredNode<'_> {
    /// Returns `true` if the weights of a matrix product have the sizes `[inputs, outputs]`.
    pub fn is_transposed(&self) -> bool {
        self.is(Operation::FullyConnected) && self.number(fully_connected::flags) & u64::from(TRANSPOSED) != 0
    }

    fn is(&self, operation: Operation) -> bool {
        self.source.is_some_and(|node| node.operation == NodeOperation::Known(operation))
    }

    /// Returns a parameter; 0 if there is none.
    pub fn number(&self, slot: u16) -> u64 {
        self.source.and_then(|node| node.fields.get(usize::from(slot))).map_or(0, |field| field.uint().into())
    }
}

/// The graph.
#[derive(Debug)]
pub struct Lowered<'g> {
    /// Values, also those that rewrites removed: the runtime keeps their descriptions.
    pub values: Vec<LoweredValue>,
    /// Operations in their order.
    pub nodes: Vec<LoweredNode<'g>>,
}

/// Number of operations that XNNPACK replaces by one table.
const MAX_TABLE: usize = 10;

/// Number of passes over the operations; XNNPACK stops when nothing changes.
const MAX_PASSES: usize = 8;

impl<'g> Lowered<'g> {
    /// Returns the graph of a payload.
    ///
    /// # Errors
    /// An operation that XNNPACK in ExecuTorch 1.5.1 does not have, or one without an operand.
    pub fn of(graph: &'g Graph) -> Result<Lowered<'g>, String> {
        let mut ids = HashMap::with_capacity(graph.values.len());
        for (position, value) in graph.values.iter().enumerate() {
            ids.entry(value.id).or_insert(position);
        }
        let values = graph.values.iter().map(|value| lowered_value(graph, value)).collect();
        let mut lowered = Lowered { values, nodes: Vec::with_capacity(graph.nodes.len()) };
        for (number, node) in graph.nodes.iter().enumerate() {
            let wrong = |problem: &str| format!("operation {number} ({}): {problem}", node.operation.word());
            let NodeOperation::Known(operation) = node.operation else { return Err(wrong("it is not known")) };
            lowered.add(operation, node, &ids).map_err(|problem| wrong(&problem))?;
        }
        lowered.rewrite();
        Ok(lowered)
    }

    fn add(&mut self, operation: Operation, node: &'g Node, ids: &HashMap<u32, usize>) -> Result<(), String> {
        let (mut inputs, mut outputs) = (SmallVec::new(), SmallVec::new());
        for operand in operation.operands() {
            let id = node.fields.get(usize::from(operand.slot)).map_or(NO_ID, FieldContent::uint);
            if id == NO_ID && operand.name == OPTIONAL_OPERAND {
                continue;
            }
            let Some(value) = ids.get(&id) else { return Err(format!("`{}` has no value", operand.name)) };
            if operand.is_output { outputs.push(*value) } else { inputs.push(*value) }
        }
        let Some(output) = outputs.first().copied().filter(|_| !inputs.is_empty()) else {
            return Err("it has no operands".to_owned());
        };
        let Some(mut kind) = kind(operation, &self.values[output]) else {
            return Err("it is not supported".to_owned());
        };
        if operation == Operation::Conv2d && is_pointwise(node) {
            kind = Kind::FullyConnected;
        }
        let lowered = LoweredNode {
            kind,
            source: Some(node),
            inputs,
            outputs,
            is_padded: false,
            quantizes: false,
            is_removed: false,
        };
        self.nodes.push(lowered);
        if matches!(kind, Kind::Binary | Kind::Mean) && node.output_min_max.is_some_and(is_bound) {
            self.clamp(output);
        }
        Ok(())
    }

    /// Adds an operation for the bounds of an output that the last operation does not apply itself.
    fn clamp(&mut self, output: usize) {
        let between = LoweredValue { storage: Storage::Workspace, is_output: false, ..self.values[output].clone() };
        let position = self.values.len();
        self.values.push(between);
        if let Some(last) = self.nodes.last_mut() {
            last.outputs[0] = position;
        }
        self.nodes.push(LoweredNode {
            kind: Kind::Clamp,
            source: None,
            inputs: [position].into_iter().collect(),
            outputs: [output].into_iter().collect(),
            is_padded: false,
            quantizes: false,
            is_removed: false,
        });
    }

    fn rewrite(&mut self) {
        self.remove_unused();
        self.merge_paddings_and_copies();
        self.compact();
        self.replace_by_tables();
        self.compact();
        for _ in 0..MAX_PASSES {
            let before = self.nodes.len();
            self.simplify();
            self.remove_unused();
            if self.nodes.len() == before {
                break;
            }
        }
        self.quantize_in_place();
        self.remove_unused();
    }

    /// Removes operations that were replaced.
    fn compact(&mut self) {
        self.nodes.retain(|node| !node.is_removed);
    }

    /// Removes operations whose results nothing reads.
    fn remove_unused(&mut self) {
        let mut is_read: Vec<bool> = self.values.iter().map(|value| value.is_output).collect();
        for node in self.nodes.iter_mut().rev().filter(|node| !node.is_removed) {
            match node.outputs.len() > 1 || node.outputs.iter().any(|value| is_read[*value]) {
                true => node.inputs.iter().for_each(|value| is_read[*value] = true),
                false => node.is_removed = true,
            }
        }
        self.compact();
    }

    /// Merges a padding into the convolution after it, and copies into their neighbours.
    fn merge_paddings_and_copies(&mut self) {
        let uses = Uses::of(self);
        for value in 0..uses.count.len() {
            let (Some(producer), Some(consumer)) = (uses.producer[value], uses.only_consumer(value)) else { continue };
            if self.values[value].is_output || self.nodes[producer].is_removed || self.nodes[consumer].is_removed {
                continue;
            }
            let kinds = (self.nodes[producer].kind, self.nodes[consumer].kind);
            match kinds {
                (Kind::Pad, Kind::Convolution) if self.is_spatial_padding(producer) => {
                    self.nodes[consumer].is_padded = true;
                    self.skip(producer, consumer, value);
                }
                (_, Kind::Copy) => {
                    let output = self.nodes[consumer].outputs[0];
                    for written in self.nodes[producer].outputs.iter_mut().filter(|written| **written == value) {
                        *written = output;
                    }
                    self.nodes[consumer].is_removed = true;
                }
                (Kind::Copy, _) => self.skip(producer, consumer, value),
                _ => {}
            }
        }
    }

    /// Lets an operation read what the producer of its input reads, and removes the producer.
    fn skip(&mut self, producer: usize, consumer: usize, value: usize) {
        let input = self.nodes[producer].inputs[0];
        for read in self.nodes[consumer].inputs.iter_mut().filter(|read| **read == value) {
            *read = input;
        }
        self.nodes[producer].is_removed = true;
    }

    /// Returns `true` for a padding of zeros of height and width.
    fn is_spatial_padding(&self, node: usize) -> bool {
        use constant_pad::{padding_value, post_paddings, pre_paddings};
        let Some(source) = self.nodes[node].source else { return false };
        let outer = |slot: u16| match source.fields.get(usize::from(slot)) {
            Some(FieldContent::UInts(list)) => list.len() == 4 && list[0] == 0 && list[3] == 0,
            Some(_) | None => false,
        };
        let is_zero =
            matches!(source.fields.get(usize::from(padding_value)), Some(FieldContent::Float(value)) if *value == 0.0);
        let output = &self.values[self.nodes[node].outputs[0]];
        outer(pre_paddings) && outer(post_paddings) && is_zero && output.datatype == FP32
    }

    /// Returns the only input of an operation by elements that is not a constant of one element.
    fn unary_input(&self, node: usize) -> Option<usize> {
        let node = &self.nodes[node];
        match (node.kind, &node.inputs[..]) {
            (Kind::Unary | Kind::Clamp, [input, ..]) => Some(*input),
            (Kind::Binary, [one, other]) => {
                let is_scalar =
                    |value: usize| self.values[value].storage == Storage::Constant && self.values[value].count() == 1;
                match (is_scalar(*one), is_scalar(*other)) {
                    (true, false) => Some(*other),
                    (false, true) => Some(*one),
                    (true, true) | (false, false) => None,
                }
            }
            _ => None,
        }
    }

    /// Replaces chains of operations from 8 bits to 8 bits by a table.
    fn replace_by_tables(&mut self) {
        let uses = Uses::of(self);
        for first in 0..self.nodes.len() {
            let Some(input) = self.unary_input(first).filter(|_| !self.nodes[first].is_removed) else { continue };
            if self.values[input].bits() != 8 {
                continue;
            }
            let mut chain: SmallVec<[usize; MAX_TABLE]> = SmallVec::new();
            let mut next = Some(first);
            while let Some(node) = next.filter(|_| chain.len() < MAX_TABLE) {
                chain.push(node);
                let output = self.nodes[node].outputs[0];
                let only = uses.only_consumer(output).filter(|_| !self.values[output].is_output);
                next = only.filter(|next| self.unary_input(*next) == Some(output));
            }
            while chain.len() > 1
                && chain.last().is_some_and(|last| self.values[self.nodes[*last].outputs[0]].bits() != 8)
            {
                chain.pop();
            }
            if let [before @ .., last] = &chain[..]
                && !before.is_empty()
            {
                before.iter().for_each(|node| self.nodes[*node].is_removed = true);
                let last = &mut self.nodes[*last];
                last.kind = Kind::Table;
                last.inputs = [input].into_iter().collect();
            }
        }
    }

    /// Merges bounds into the operations that apply them, consecutive changes of shape, and transpositions of second matrices; removes
    /// changes of shape that change nothing.
    fn simplify(&mut self) {
        let mut uses = Uses::of(self);
        for node in 0..self.nodes.len() {
            if self.nodes[node].is_removed {
                continue;
            }
            let (input, output) = (self.nodes[node].inputs[0], self.nodes[node].outputs[0]);
            let producer = uses.producer[input].filter(|producer| !self.nodes[*producer].is_removed);
            let alone = producer.filter(|_| uses.count[input] == 1 && !self.values[input].is_output);
            match self.nodes[node].kind {
                Kind::Clamp => {
                    if let Some(producer) = alone.filter(|producer| self.has_bounds(*producer)) {
                        self.nodes[producer].outputs[0] = output;
                        self.nodes[node].is_removed = true;
                        uses.producer[output] = Some(producer);
                    }
                }
                Kind::Reshape => {
                    self.values[output].has_fixed_sizes = true;
                    if let Some(producer) = alone.filter(|producer| self.nodes[*producer].kind == Kind::Reshape) {
                        self.skip(producer, node, input);
                    }
                    self.remove_reshape(node, &mut uses);
                }
                Kind::FullyConnected | Kind::MatrixProduct => self.merge_transposition(node, &uses),
                Kind::Unary | Kind::Binary => {
                    let fixed = self.nodes[node].inputs.iter().all(|input| self.values[*input].has_fixed_sizes);
                    self.values[output].has_fixed_sizes |= fixed;
                }
                _ => {}
            }
        }
    }

    fn has_bounds(&self, node: usize) -> bool {
        matches!(
            self.nodes[node].kind,
            Kind::Clamp
                | Kind::AveragePooling
                | Kind::MaxPooling
                | Kind::Convolution
                | Kind::TransposedConvolution
                | Kind::FullyConnected
        )
    }

    /// Removes a change of shape to the same sizes.
    fn remove_reshape(&mut self, node: usize, uses: &mut Uses) {
        let (input, output) = (self.nodes[node].inputs[0], self.nodes[node].outputs[0]);
        let (from, to) = (&self.values[input], &self.values[output]);
        let is_same = from.storage == Storage::Constant || from.dims == to.dims;
        if !from.has_fixed_sizes || uses.count[input] > 1 || to.is_output || !is_same {
            return;
        }
        for other in &mut self.nodes[node + 1..] {
            for read in other.inputs.iter_mut().filter(|read| **read == output) {
                *read = input;
            }
        }
        if self.values[input].storage == Storage::Constant {
            self.values[input].dims = self.values[output].dims.clone();
        }
        uses.count[input] = uses.count[output];
        self.nodes[node].is_removed = true;
    }

    /// Removes the transposition of the last two dimensions of a second matrix.
    fn merge_transposition(&mut self, node: usize, uses: &Uses) {
        let Some(weights) = self.nodes[node].inputs.get(1).copied() else { return };
        let Some(producer) = uses.producer[weights].filter(|_| uses.count[weights] == 1) else { return };
        if self.nodes[producer].kind != Kind::Transpose || self.nodes[producer].is_removed {
            return;
        }
        let Some(source) = self.nodes[producer].source else { return };
        let Some(FieldContent::UInts(perm)) = source.fields.get(usize::from(transpose::perm)) else { return };
        let rank = perm.len();
        let is_last = rank >= 2
            && (perm[rank - 2], perm[rank - 1]) == (rank as u32 - 1, rank as u32 - 2)
            && perm[..rank - 2].iter().zip(0u32..).all(|(axis, position)| *axis == position);
        if is_last {
            self.nodes[node].inputs[1] = self.nodes[producer].inputs[0];
            self.nodes[producer].is_removed = true;
        }
    }

    /// Lets matrix products quantize their inputs themselves.
    fn quantize_in_place(&mut self) {
        let uses = Uses::of(self);
        for node in 0..self.nodes.len() {
            let input = self.nodes[node].inputs[0];
            let is_product = matches!(self.nodes[node].kind, Kind::FullyConnected | Kind::MatrixProduct);
            let Some(producer) = uses.producer[input].filter(|_| is_product) else { continue };
            if self.nodes[producer].kind == Kind::Quantize {
                self.nodes[node].inputs[0] = self.nodes[producer].inputs[0];
                self.nodes[node].quantizes = true;
            }
        }
    }
}

/// Producer and consumers of each value.
struct Uses {
    producer: Vec<Option<usize>>,
    consumer: Vec<Option<usize>>,
    /// Number of operations that read it.
    count: Vec<usize>,
}

impl Uses {
    fn of(lowered: &Lowered<'_>) -> Uses {
        let len = lowered.values.len();
        let mut uses = Uses { producer: vec![None; len], consumer: vec![None; len], count: vec![0; len] };
        for (number, node) in lowered.nodes.iter().enumerate().filter(|(_, node)| !node.is_removed) {
            for (position, value) in node.inputs.iter().enumerate() {
                if !node.inputs[..position].contains(value) {
                    uses.count[*value] += 1;
                    uses.consumer[*value].get_or_insert(number);
                }
            }
            node.outputs.iter().for_each(|value| uses.producer[*value] = Some(number));
        }
        uses
    }

    fn only_consumer(&self, value: usize) -> Option<usize> {
        self.consumer[value].filter(|_| self.count[value] == 1)
    }
}

/// Returns `true` for a convolution that XNNPACK replaces by a matrix product.
fn is_pointwise(node: &Node) -> bool {
    use conv::*;
    let number = |slot: u16| node.fields.get(usize::from(slot)).map_or(0, FieldContent::uint);
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
        dims: value.dims.iter().map(|size| u64::from(*size)).collect(),
        datatype: value.datatype,
        storage,
        is_output,
        scaled_dims: scaled.unwrap_or(1) as usize,
        group: parameter(QuantParams::PerChannelGroup, per_channel_group_quant::group_size).unwrap_or(0),
        has_fixed_sizes: is_constant,
    }
}

/// Returns the kind of an operation; `None` if the runtime does not have it.
fn kind(operation: Operation, output: &LoweredValue) -> Option<Kind> {
    Some(match operation {
        Operation::Add
        | Operation::Div
        | Operation::Minimum
        | Operation::Multiply
        | Operation::Subtract
        | Operation::Maximum
        | Operation::PReLU => Kind::Binary,
        Operation::Sigmoid
        | Operation::Floor
        | Operation::SquareRoot
        | Operation::Ceiling
        | Operation::Hardswish
        | Operation::Negate
        | Operation::Square
        | Operation::Abs
        | Operation::ReciprocalSquareRoot
        | Operation::Log
        | Operation::Gelu
        | Operation::Tanh
        | Operation::Exp
        | Operation::Sin
        | Operation::Cos
        | Operation::LeakyReLU
        | Operation::ELU => Kind::Unary,
        Operation::Convert if output.datatype == QDINT8 => Kind::Quantize,
        Operation::Convert => Kind::Unary,
        Operation::Clamp => Kind::Clamp,
        Operation::Copy => Kind::Copy,
        Operation::Softmax => Kind::Softmax,
        Operation::StaticReshape => Kind::Reshape,
        Operation::FullyConnected => Kind::FullyConnected,
        Operation::BatchMatrixMultiply => Kind::MatrixProduct,
        Operation::Conv2d | Operation::DepthwiseConv2d => Kind::Convolution,
        Operation::ConvTranspose2d => Kind::TransposedConvolution,
        Operation::AvgPooling2d => Kind::AveragePooling,
        Operation::MaxPooling2d => Kind::MaxPooling,
        Operation::ArgMaxPooling2d => Kind::ArgMaxPooling,
        Operation::GlobalAvgPooling2d => Kind::Mean,
        Operation::StaticResizeBilinear2D => Kind::Resize,
        Operation::StaticTranspose => Kind::Transpose,
        Operation::StaticConstantPad => Kind::Pad,
        Operation::StaticSlice => Kind::Slice,
        Operation::Concatenate2 | Operation::Concatenate3 | Operation::Concatenate4 | Operation::Concatenate5 => {
            Kind::Concatenation
        }
        Operation::ScaledDotProductAttention => return None,
    })
}
