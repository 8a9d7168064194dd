//! The memory that one operation of XNNPACK takes: objects, packed weights, buffers of pointers, and memory while it
//! runs. The rules are those of the commit in ExecuTorch 1.5.1; all sums saturate.

use super::lower::{Lowered, LoweredNode, LoweredValue, Storage};
use super::structures::{self, Structures};
use super::tiles::{self, Product, Tile, column};
use crate::schema::{
    BF16, FP16, FP32, Family, Operation, QCINT8, QDINT8, QINT8, QUINT8, SAME_PADDING, arg_max_pooling, conv, pooling,
};
use pte_payload::memory::Processor;

/// Memory of an operation in bytes.
#[derive(Clone, Copy, Default)]
pub struct NodeMemory {
    /// Objects, and zeros that stand for pixels outside of an image.
    pub objects: u64,
    /// Packed weights.
    pub packed: u64,
    /// Pointers to pixels, and tables for them, which the first execution creates.
    pub buffers: u64,
    /// Memory in the workspace while it runs.
    pub workspace: u64,
}

/// Bytes that XNNPACK may read after the end of a buffer.
pub const EXTRA_BYTES: u64 = 16;

/// Number of elements of a table of 8-bit results.
const TABLE: u64 = 256;

/// Size in bytes of the scale and the zero point of a row that is quantized at run time.
pub const ROW_PARAMETERS: u64 = 8;

/// Returns the alignment of memory for data in bytes.
pub fn alignment(processor: Processor) -> u64 {
    [64, 64, 16, 16][column(processor)]
}

/// Rounds up to a multiple; saturates to the largest one.
pub fn rounded(bytes: u64, multiple: u64) -> u64 {
    bytes.checked_next_multiple_of(multiple).unwrap_or(u64::MAX - u64::MAX % multiple)
}

/// Multiplies; saturates.
fn product(factors: &[u64]) -> u64 {
    factors.iter().fold(1u64, |product, factor| product.saturating_mul(*factor))
}

/// Adds; saturates.
fn sum(terms: &[u64]) -> u64 {
    terms.iter().fold(0u64, |sum, term| sum.saturating_add(*term))
}

/// Computes the memory of operations for a processor.
pub struct Operators<'l> {
    lowered: &'l Lowered<'l>,
    processor: Processor,
    structures: Structures,
}

/// A matrix product or convolution.
#[derive(Clone, Copy)]
struct Weights {
    product: Product,
    tile: Tile,
    /// Number of elements of the kernel.
    elements: u64,
    groups: u64,
    /// Channels of a group.
    inputs: u64,
    outputs: u64,
    /// Size of a group of weights of a channel that share a scale; 0 for none.
    scale_group: u64,
    /// Scales and sums for each output channel in bytes, besides its bias.
    extra: u64,
}

impl Weights {
    /// Size of a weight in bits.
    fn bits(&self) -> u64 {
        match self.product {
            Product::F32 | Product::F32Narrow | Product::F32Convolution => 32,
            Product::F16 => 16,
            Product::DynamicInt8 | Product::DynamicInt8Convolution | Product::Int8 | Product::UInt8 => 8,
            Product::DynamicInt4 => 4,
        }
    }

    /// Size of a bias in bytes.
    fn bias(&self) -> u64 {
        if self.product == Product::F16 { 2 } else { 4 }
    }

    /// Input channels of a group, padded.
    fn depth(&self) -> u64 {
        rounded(self.inputs, self.tile.depth * self.tile.planes)
    }

    /// Size of the packed weights in bytes, without alignment, for a bias at this many places of each output channel.
    fn packed(&self, biases: u64) -> u64 {
        let weights = product(&[self.elements, self.depth(), self.bits()]) / 8;
        let scales = match self.scale_group {
            0 => 0,
            group => (self.inputs / group).saturating_mul(2),
        };
        let each = sum(&[weights, product(&[self.bias() + self.extra, biases]), scales]);
        product(&[each, rounded(self.outputs, self.tile.columns), self.groups])
    }
}

impl<'l> Operators<'l> {
    /// Prepares the computation.
    pub fn new(lowered: &'l Lowered<'l>, processor: Processor) -> Operators<'l> {
        Operators { lowered, processor, structures: structures::of(processor) }
    }

    fn value(&self, position: usize) -> &'l LoweredValue {
        &self.lowered.values[position]
    }

    fn aligned(&self, bytes: u64) -> u64 {
        rounded(bytes, alignment(self.processor))
    }

    /// Returns the memory of an operation.
    pub fn of(&self, node: &LoweredNode<'_>) -> NodeMemory {
        let s = &self.structures;
        let (input, output) = (self.value(node.inputs[0]), self.value(node.outputs[0]));
        let objects = |bytes: u64| NodeMemory { objects: bytes, ..NodeMemory::default() };
        match node.kind {
            Family::Unary => objects(s.operator + 2 * s.compute + self.table(node)),
            // The table is a value, too.
            Family::Table => objects(s.operator + 2 * s.compute + 2 * TABLE + s.value),
            Family::Clamp | Family::Copy | Family::Reshape | Family::Convert | Family::Quantize | Family::Attention => {
                objects(s.operator + 2 * s.compute)
            }
            Family::Binary => objects(s.operator + s.compute + s.parameters),
            Family::Softmax => {
                let table = if input.datatype == QUINT8 { 4 * TABLE } else { 0 };
                objects(s.operator + s.compute + table)
            }
            Family::Transpose | Family::Slice => objects(s.operator + s.compute),
            Family::Pad => objects(s.operator + s.compute + s.pad),
            Family::Concatenation => objects(product(&[node.inputs.len() as u64, s.operator + 2 * s.compute])),
            Family::FullyConnected => self.fully_connected(node),
            Family::MatrixProduct => self.matrix_product(node),
            Family::Convolution => self.convolution(node),
            Family::TransposedConvolution => self.transposed_convolution(node),
            Family::AveragePooling => self.average_pooling(node),
            Family::MaxPooling => self.max_pooling(node),
            Family::ArgMaxPooling => self.arg_max_pooling(node),
            Family::Mean => {
                let channels = input.dims.last().copied().unwrap_or(1);
                let results = match input.datatype {
                    FP32 => 0,
                    _ => output.count().saturating_mul(4).saturating_add(EXTRA_BYTES),
                };
                NodeMemory {
                    objects: s.operator + s.compute + s.reduce + s.parameters,
                    buffers: channels.saturating_mul(input.bits() / 8).saturating_add(EXTRA_BYTES),
                    workspace: results,
                    ..NodeMemory::default()
                }
            }
            Family::Resize => {
                // Four pointers and two weights for each pixel.
                let weights = if input.bits() == 32 { 8 } else { 4 };
                let [_, height, width, _] = image(output);
                NodeMemory {
                    objects: s.operator + 2 * s.compute + s.convolution,
                    buffers: product(&[height, width, 4 * self.processor.pointer() + weights]),
                    ..NodeMemory::default()
                }
            }
        }
    }

    /// Table of an operation on 8 bits that has no microkernel.
    fn table(&self, node: &LoweredNode<'_>) -> u64 {
        use crate::model::NodeOperation::Known;
        let has_kernel = node.source.is_some_and(|source| {
            matches!(source.operation, Known(Operation::LeakyReLU | Operation::Convert | Operation::Copy))
        });
        let is_byte = self.value(node.inputs[0]).bits() == 8 && self.value(node.outputs[0]).bits() == 8;
        if is_byte && !has_kernel { TABLE } else { 0 }
    }

    /// Returns the kind of product of an input and weights, for matrices.
    fn product(&self, node: &LoweredNode<'_>, weights: &LoweredValue) -> Product {
        let input = self.value(node.inputs[0]);
        match (node.quantizes || input.datatype == QDINT8, input.datatype) {
            (true, _) if weights.bits() == 4 => Product::DynamicInt4,
            (true, _) => Product::DynamicInt8,
            (false, QINT8) => Product::Int8,
            (false, QUINT8) => Product::UInt8,
            (false, FP16 | BF16) => Product::F16,
            (false, _) => Product::F32,
        }
    }

    fn fully_connected(&self, node: &LoweredNode<'_>) -> NodeMemory {
        let s = &self.structures;
        let Some(filter) = node.inputs.get(1).map(|filter| self.value(*filter)) else { return NodeMemory::default() };
        let (mut outputs, mut inputs) = (first(&filter.dims), last(&filter.dims));
        if node.is_transposed() {
            std::mem::swap(&mut outputs, &mut inputs);
        }
        let weights = self.matrix(self.product(node, filter), inputs, outputs, filter.group);
        let matrix = s.operator + s.gemm_kernels + s.gemm;
        let left = self.left(node, weights, self.value(node.inputs[0]).count() / inputs.max(1));
        match filter.storage {
            Storage::Constant => NodeMemory {
                objects: matrix + 2 * s.compute + s.convolution,
                packed: self.aligned(weights.packed(1)),
                workspace: left,
                ..NodeMemory::default()
            },
            Storage::Workspace | Storage::Argument => NodeMemory {
                objects: matrix + 3 * s.compute + s.parameters,
                workspace: weights.packed(1),
                ..NodeMemory::default()
            },
        }
    }

    /// Describes the weights of a matrix product.
    fn matrix(&self, product: Product, inputs: u64, outputs: u64, scale_group: u64) -> Weights {
        let (mut product, mut tile) = (product, tiles::of(product, self.processor));
        let narrow = tiles::of(Product::F32Narrow, self.processor);
        if product == Product::F32 && tiles::is_narrow(tile, narrow, outputs) {
            (product, tile) = (Product::F32Narrow, narrow);
        }
        let extra = match product {
            Product::DynamicInt8 | Product::DynamicInt8Convolution => 8,
            Product::DynamicInt4 if scale_group == 0 => 8,
            Product::DynamicInt4 | Product::Int8 => 4,
            Product::F32 | Product::F32Narrow | Product::F32Convolution | Product::F16 | Product::UInt8 => 0,
        };
        Weights { product, tile, elements: 1, groups: 1, inputs, outputs, scale_group, extra }
    }

    /// Memory for the first matrix of a product that quantizes it: all rows, which is what few threads and large
    /// matrices need.
    fn left(&self, node: &LoweredNode<'_>, weights: Weights, rows: u64) -> u64 {
        if !node.quantizes {
            return 0;
        }
        let largest = weights.tile.rows.last().copied().unwrap_or(1);
        let rows = if rows == 1 { 1 } else { rounded(rows, largest) };
        let depth = rounded(weights.inputs, weights.tile.depth);
        rows.saturating_mul(rounded(depth.saturating_add(ROW_PARAMETERS), 4))
    }

    fn matrix_product(&self, node: &LoweredNode<'_>) -> NodeMemory {
        let s = &self.structures;
        let Some(second) = node.inputs.get(1).map(|second| self.value(*second)) else { return NodeMemory::default() };
        let (first_matrix, output) = (self.value(node.inputs[0]), self.value(node.outputs[0]));
        let (inner, columns) = (last(&first_matrix.dims), last(&output.dims));
        let batch = second.count() / inner.saturating_mul(columns).max(1);
        let kind = self.product(node, second);
        let mut weights = self.matrix(kind, inner, columns, 0);
        // There is no narrow form of it.
        (weights.product, weights.tile) = (kind, tiles::of(kind, self.processor));
        let packed = weights.packed(1).saturating_mul(batch);
        let objects = s.operator + 3 * s.compute + s.gemm_kernels + s.gemm;
        let rows = first_matrix.dims.iter().rev().nth(1).copied().unwrap_or(1);
        let batches = first_matrix.count() / inner.saturating_mul(rows).max(1);
        let left = self.left(node, weights, rows).saturating_mul(batches);
        match second.storage {
            Storage::Constant => {
                NodeMemory { objects, packed: self.aligned(packed), workspace: left, ..NodeMemory::default() }
            }
            Storage::Workspace | Storage::Argument => {
                let parameters = if node.quantizes { s.parameters } else { 0 };
                let workspace = if left == 0 { packed } else { self.aligned(packed).saturating_add(left) };
                NodeMemory { objects: objects + parameters, workspace, ..NodeMemory::default() }
            }
        }
    }

    /// Describes the weights of a convolution.
    fn kernel(&self, node: &LoweredNode<'_>) -> (Weights, [u64; 2], bool) {
        let filter = node.inputs.get(1).map(|filter| self.value(*filter));
        let per_channel = filter.is_some_and(|filter| filter.datatype == QCINT8);
        let (product, extra) = match self.value(node.inputs[0]).datatype {
            QDINT8 => (Product::DynamicInt8Convolution, 8),
            QINT8 => (Product::Int8, 4),
            QUINT8 => (Product::UInt8, 0),
            FP16 | BF16 => (Product::F16, 0),
            _ => (Product::F32Convolution, 0),
        };
        let size = [node.number(conv::kernel_height).max(1), node.number(conv::kernel_width).max(1)];
        let outputs = node.number(conv::group_output_channels).max(1);
        let (mut product, mut tile) = (product, tiles::of(product, self.processor));
        if product == Product::F32Convolution && tile.columns > outputs {
            (product, tile) = (Product::F32Narrow, tiles::of(Product::F32Narrow, self.processor));
        }
        let weights = Weights {
            product,
            tile,
            elements: size[0].saturating_mul(size[1]),
            groups: node.number(conv::groups).max(1),
            inputs: node.number(conv::group_input_channels).max(1),
            outputs,
            scale_group: 0,
            extra,
        };
        (weights, size, per_channel)
    }

    fn convolution(&self, node: &LoweredNode<'_>) -> NodeMemory {
        use conv::*;
        let s = &self.structures;
        let (weights, [tall, wide], per_channel) = self.kernel(node);
        let pads = [padding_top, padding_right, padding_bottom, padding_left].map(|slot| node.number(slot));
        let has_padding = node.is_padded || pads.iter().any(|pad| *pad > 0);
        let is_same = node.number(flags) & u64::from(SAME_PADDING) != 0 && weights.elements != 1;
        let objects = s.operator + 3 * s.compute + s.convolution + s.igemm_kernels;
        let element = self.value(node.inputs[0]).bits() / 8;
        let is_depthwise = (weights.inputs, weights.outputs) == (1, 1);
        let strides = [node.number(subsampling_height), node.number(subsampling_width)];
        let zeros = |channels: u64| match has_padding || is_same {
            true => channels.saturating_mul(element).saturating_add(EXTRA_BYTES),
            false => 0,
        };
        let [batch, height, width, _] = image(self.value(node.outputs[0]));
        let tile = tiles::depthwise(weights.product, per_channel, weights.elements, self.processor);
        if is_depthwise && let Some(tile) = tile {
            let channels = rounded(weights.groups, tile.channels);
            let each = tile.elements * weights.bits() / 8 + weights.bias() + weights.extra;
            let stride = if node.number(dilation_width) <= 1 { strides[1].min(wide) } else { wide };
            let pointers = window_pointers(weights.elements, tall, stride, [height, width]);
            let pointers = pointers.saturating_add(tile.elements - weights.elements);
            return NodeMemory {
                objects: sum(&[objects, s.depthwise, zeros(channels)]),
                packed: self.aligned(each.saturating_mul(channels)),
                buffers: self.aligned(pointers.saturating_mul(self.processor.pointer())),
                ..NodeMemory::default()
            };
        }
        let pixels = height.saturating_mul(width);
        let rows = tiles::rows(weights.tile, pixels);
        let pointers = weights.elements.saturating_mul(rounded(pixels, rows));
        let zeros = zeros(weights.depth());
        // One for each image that is quantized at run time.
        let more_zeros = match weights.product == Product::DynamicInt8Convolution && zeros > 0 {
            true => batch.saturating_mul(zeros + self.processor.pointer()),
            false => 0,
        };
        NodeMemory {
            objects: sum(&[objects, s.igemm, zeros]),
            packed: self.aligned(weights.packed(1)),
            buffers: sum(&[pointers.saturating_mul(self.processor.pointer()), more_zeros]),
            ..NodeMemory::default()
        }
    }

    fn transposed_convolution(&self, node: &LoweredNode<'_>) -> NodeMemory {
        use conv::*;
        let s = &self.structures;
        let (weights, size, _) = self.kernel(node);
        let strides = [node.number(subsampling_height).max(1), node.number(subsampling_width).max(1)];
        let dilated = node.number(dilation_height).max(node.number(dilation_width)) > 1;
        let fits = strides[0] <= size[0] && strides[1] <= size[1];
        let is_split = strides != [1, 1] && !dilated && fits;
        let parts = strides[0].saturating_mul(strides[1]);
        let [batch, height, width, _] = image(self.value(node.outputs[0]));
        let (objects, packed, pointers) = if is_split {
            // XNNPACK selects the rows by the number of images.
            let columns = rounded(width.div_ceil(strides[1]), tiles::rows(weights.tile, batch));
            let pointers = product(&[weights.elements, height, strides[1], columns]);
            (s.subconvolution.saturating_mul(parts), weights.packed(parts), pointers)
        } else {
            let pixels = height.saturating_mul(width);
            let rows = tiles::rows(weights.tile, pixels);
            (s.igemm, weights.packed(1), weights.elements.saturating_mul(rounded(pixels, rows)))
        };
        let element = self.value(node.inputs[0]).bits() / 8;
        let zeros = weights.depth().saturating_mul(element).saturating_add(EXTRA_BYTES);
        NodeMemory {
            objects: sum(&[objects, s.operator + 3 * s.compute + s.convolution + s.igemm_kernels, zeros]),
            packed: self.aligned(packed),
            buffers: pointers.saturating_mul(self.processor.pointer()),
            ..NodeMemory::default()
        }
    }

    fn average_pooling(&self, node: &LoweredNode<'_>) -> NodeMemory {
        use pooling::*;
        let s = &self.structures;
        let [_, height, width, channels] = image(self.value(node.outputs[0]));
        let element = self.value(node.inputs[0]).bits() / 8;
        let kernel = [node.number(pooling_height), node.number(pooling_width)];
        let stride = node.number(stride_height).max(1);
        let elements = kernel[0].saturating_mul(kernel[1]);
        let step = node.number(stride_width).min(kernel[1]);
        // Rows in the middle of an image have the same pointers.
        let outside = [padding_top, padding_bottom].map(|slot| node.number(slot).div_ceil(stride));
        let rows = sum(&[outside[0], outside[1], 1]);
        let pointers =
            window_pointers(elements, kernel[0], step, [rows, width]).saturating_add(elements.saturating_sub(1));
        let has_padding =
            [padding_top, padding_right, padding_bottom, padding_left].iter().any(|slot| node.number(*slot) > 0);
        let is_same = node.number(flags) & u64::from(SAME_PADDING) != 0;
        let weights = if has_padding || is_same { product(&[height, width, element]) } else { 0 };
        NodeMemory {
            objects: s.operator + s.compute + s.convolution,
            buffers: sum(&[
                pointers.saturating_mul(self.processor.pointer()),
                weights,
                channels.saturating_mul(element),
                EXTRA_BYTES,
            ]),
            ..NodeMemory::default()
        }
    }

    fn max_pooling(&self, node: &LoweredNode<'_>) -> NodeMemory {
        use pooling::*;
        let s = &self.structures;
        let [_, height, width, _] = image(self.value(node.outputs[0]));
        let kernel = [node.number(pooling_height), node.number(pooling_width)];
        let elements = kernel[0].saturating_mul(kernel[1]);
        let step = if node.number(dilation_width) > 1 { kernel[1] } else { node.number(stride_width).min(kernel[1]) };
        let pointers =
            window_pointers(elements, kernel[0], step, [height, width]).saturating_add(elements.saturating_sub(1));
        NodeMemory {
            objects: s.operator + s.compute + s.convolution,
            buffers: pointers.saturating_mul(self.processor.pointer()),
            ..NodeMemory::default()
        }
    }

    fn arg_max_pooling(&self, node: &LoweredNode<'_>) -> NodeMemory {
        use arg_max_pooling::*;
        let s = &self.structures;
        let [_, height, width, _] = image(self.value(node.outputs[0]));
        let kernel = [node.number(pooling_height), node.number(pooling_width)];
        let pointers = window_pointers(kernel[0].saturating_mul(kernel[1]), kernel[0], kernel[1], [height, width]);
        NodeMemory {
            objects: s.operator + s.compute + s.convolution,
            buffers: pointers.saturating_mul(self.processor.pointer()),
            ..NodeMemory::default()
        }
    }
}

/// Returns the number of pointers to pixels for windows of `elements` pixels: those of neighbouring windows in a row
/// share columns.
fn window_pointers(elements: u64, kernel_height: u64, step: u64, [height, width]: [u64; 2]) -> u64 {
    let row = sum(&[elements, product(&[width.saturating_sub(1), step, kernel_height])]);
    row.saturating_mul(height)
}

/// Returns the sizes of an image: batch, height, width, channels; 1 for those that are missing.
fn image(value: &LoweredValue) -> [u64; 4] {
    let mut sizes = [1; 4];
    for (size, dim) in sizes.iter_mut().zip(&value.dims) {
        *size = *dim;
    }
    sizes
}

fn first(dims: &[u64]) -> u64 {
    dims.first().copied().unwrap_or(1)
}

fn last(dims: &[u64]) -> u64 {
    dims.last().copied().unwrap_or(1)
}
