//! Defaults of the parameters of operations that YAML may leave out. The assembler completes them, and the printer
//! omits them.
//!
//! A stride, a dilation and a number of groups are 1, and the kernel and the channels of a convolution follow from its
//! filter. Other parameters are 0.

use crate::draft::{DraftField, default_field};
use crate::model::{FieldContent, NodeOperation};
use crate::schema::{Operation, conv, pooling};

/// Returns the content of a field of an operation that is left out; `None` if it follows from a filter whose sizes are
/// not known. The other fields are those that are given, or left out before. `filter` returns the sizes of the value at
/// a position, if they are known.
pub fn omitted(
    operation: NodeOperation,
    fields: &[DraftField],
    slot: usize,
    filter: impl FnOnce(usize) -> Option<[u64; 4]>,
) -> Option<DraftField> {
    let field = &operation.table().fields[slot];
    let number = |number: u64| DraftField::Parameter(FieldContent::UInt(u32::try_from(number).unwrap_or(0)));
    let is_one = |slots: &[u16]| slots.iter().any(|one| usize::from(*one) == slot);
    match operation {
        NodeOperation::Known(Operation::MaxPooling2d) => {
            use pooling::{dilation_height, dilation_width, stride_height, stride_width};
            if is_one(&[stride_height, stride_width, dilation_height, dilation_width]) {
                return Some(number(1));
            }
        }
        // It has no dilation: exporters write 0.
        NodeOperation::Known(Operation::AvgPooling2d) if is_one(&[pooling::stride_height, pooling::stride_width]) => {
            return Some(number(1));
        }
        NodeOperation::Known(known @ (Operation::Conv2d | Operation::DepthwiseConv2d | Operation::ConvTranspose2d)) => {
            use conv::*;
            if is_one(&[subsampling_height, subsampling_width, dilation_height, dilation_width, groups]) {
                return Some(number(1));
            }
            if is_one(&[kernel_height, kernel_width, group_input_channels, group_output_channels]) {
                let DraftField::Value(position) = fields[usize::from(filter_id)] else { return None };
                let all_groups = match &fields[usize::from(groups)] {
                    DraftField::Parameter(content) => content.uint(),
                    _ => 0,
                };
                return follows(known, slot as u16, filter(position)?, all_groups).map(number);
            }
        }
        NodeOperation::Known(_) | NodeOperation::Unknown(_) => {}
    }
    Some(default_field(field))
}

/// Returns the parameters that follow from the sizes of a filter: `[outputs, height, width, inputs of a group]`, or
/// `[1, height, width, outputs]` of a depthwise convolution.
fn follows(operation: Operation, slot: u16, filter: [u64; 4], groups: u32) -> Option<u64> {
    let [first, height, width, last] = filter;
    let (inputs, outputs) = if operation == Operation::DepthwiseConv2d { (1, last) } else { (last, first) };
    match slot {
        conv::kernel_height => Some(height),
        conv::kernel_width => Some(width),
        conv::group_input_channels => Some(inputs),
        _ => outputs.checked_div(u64::from(groups)).filter(|group| group * u64::from(groups) == outputs),
    }
}
