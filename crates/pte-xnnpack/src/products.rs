//! Products that the operations of a graph add up: their multiply-accumulate operations (MACs).

use crate::draft::{Draft, DraftNode, count};
use crate::model::{NodeOperation, wide};
use crate::schema::{Family, conv, fully_connected, node_2x1};

impl Draft {
    /// Returns the number of products of an operation, for the sizes in the graph; 0 for operations that add none up,
    /// `None` for one that is not known or has no sizes.
    ///
    /// A transposed convolution adds the products of each element of its input, any other operation those of each
    /// element of its output.
    pub fn products(&self, node: &DraftNode) -> Option<u64> {
        let NodeOperation::Known(operation) = node.operation else { return None };
        let dims = |slot: u16| Some(wide(&self.values.get(node.position(slot)?)?.dims));
        // Of the filter, the outputs are the first dimension, or the last one of a depthwise convolution.
        let (elements, inner) = match operation.family() {
            Family::FullyConnected => {
                // A filter may be transposed: its size is that of the products for all channels.
                let (output, filter) = (dims(fully_connected::output_id)?, dims(fully_connected::filter_id)?);
                let channels = (*output.last()?).max(1);
                (output, count(&filter)? / channels)
            }
            Family::MatrixProduct => (dims(node_2x1::output_id)?, *dims(node_2x1::input1_id)?.last()?),
            Family::Convolution => {
                let (output, filter) = (dims(conv::output_id)?, dims(conv::filter_id)?);
                let channels = (*output.last()?).max(1);
                (output, count(&filter)? / channels)
            }
            Family::TransposedConvolution => {
                let (input, filter) = (dims(conv::input1_id)?, dims(conv::filter_id)?);
                let channels = (*input.last()?).max(1);
                (input, count(&filter)? / channels)
            }
            Family::Unary
            | Family::Binary
            | Family::Clamp
            | Family::Copy
            | Family::Convert
            | Family::Softmax
            | Family::Reshape
            | Family::AveragePooling
            | Family::MaxPooling
            | Family::ArgMaxPooling
            | Family::Mean
            | Family::Resize
            | Family::Transpose
            | Family::Pad
            | Family::Slice
            | Family::Concatenation
            | Family::Table
            | Family::Quantize => return Some(0),
            Family::Attention => return None,
        };
        count(&elements)?.checked_mul(inner)
    }
}
