//! Element types and quantization that an operation determines, of its results and of its bias. The assembler infers
//! them, and the printer omits inferred ones. Sizes are in [`crate::draft_sizes`].

use crate::draft::{DraftNode, DraftQuantization, DraftValue};
use crate::model::{FieldContent, NodeOperation};
use crate::operations::{OperationRow, ROWS};
use crate::schema::{
    Datatype, FP32, Family, OPTIONAL_OPERAND, Operation, QCINT32, QDINT8, QINT8, QINT32, QuantParams, Quantization,
    per_tensor_quant,
};

/// Returns the scale that exporters give a bias: XNNPACK adds its integers to the products.
pub fn bias_scale(input: f32, filter: f32) -> f32 {
    input * filter
}

/// Returns the operation of a node with its constraints; `None` if it is unknown.
fn known(node: &DraftNode) -> Option<(Operation, &'static OperationRow)> {
    match node.operation {
        NodeOperation::Known(operation) => Some((operation, &ROWS[operation as usize])),
        NodeOperation::Unknown(_) => None,
    }
}

/// Returns the value in the operand with this name in the schema.
fn operand(node: &DraftNode, name: &str) -> Option<usize> {
    node.position(node.operation.operands().find(|operand| operand.name == name)?.slot)
}

/// Returns the element type of the output in a slot; `None` if the operation does not determine it. `own` is the
/// quantization that is stated for the output, `datatype` returns the type of the value at a position, if it is known.
///
/// It is that of the first input if XNNPACK has such a kernel, otherwise that of its first kernel for these inputs. A
/// conversion writes the type that goes with the quantization, or float32 of integers.
pub fn datatype(
    node: &DraftNode,
    slot: u16,
    own: Option<&DraftQuantization>,
    datatype: impl Fn(usize) -> Option<i16>,
) -> Option<i16> {
    let (operation, row) = known(node)?;
    let first = datatype(node.values(false).next()?)?;
    if operation == Operation::Convert {
        let is_quantized = Datatype::of(first)?.quantization != Some(Quantization::None);
        return match own.map(DraftQuantization::kind) {
            Some(QuantParams::PerTensor) => Some(QINT8),
            Some(QuantParams::PerTokenDynamic) => Some(QDINT8),
            Some(QuantParams::PerChannel | QuantParams::PerChannelGroup) => None,
            None => is_quantized.then_some(FP32),
        };
    }
    let inputs = operation.operands().map(|operand| {
        let position = node.position(operand.slot).filter(|_| !operand.is_output);
        position.map_or(Some(None), |position| datatype(position).map(Some))
    });
    let inputs: Vec<Option<i16>> = inputs.collect::<Option<_>>()?;
    let output = operation.operands().position(|operand| operand.slot == slot)?;
    Some(row.result(&inputs, output, first).unwrap_or(first))
}

/// Returns the quantization of the results of an operation that moves elements: that of the first input, if it has one
/// scale. `quantization` returns that of the value at a position, if it is known.
pub fn moved<'d>(
    node: &DraftNode,
    quantization: impl Fn(usize) -> Option<&'d DraftQuantization>,
) -> Option<&'d DraftQuantization> {
    let (_, row) = known(node)?;
    let first = quantization(node.values(false).next().filter(|_| row.moves)?)?;
    (first.kind() == QuantParams::PerTensor).then_some(first)
}

/// Returns the position of the first input of an operation, and its quantization if that is computed at run time: a
/// scale for each image of a convolution, otherwise for each row.
pub fn dynamic<'d>(node: &DraftNode, value: impl Fn(usize) -> &'d DraftValue) -> Option<(usize, DraftQuantization)> {
    let (operation, _) = known(node)?;
    let position = node.values(false).next().filter(|first| value(*first).datatype == QDINT8)?;
    let dims = match operation.family() {
        Family::Convolution | Family::TransposedConvolution => 3,
        _ => 1,
    };
    Some((position, DraftQuantization::new(QuantParams::PerTokenDynamic, [FieldContent::Int(dims)])))
}

/// Returns the position of the bias of an operation.
pub fn bias_position(node: &DraftNode) -> Option<usize> {
    operand(node, OPTIONAL_OPERAND)
}

/// Returns the position of the constant that is the bias of an operation, and the quantization that follows from an
/// input with one scale and a filter whose scales are listed; `None` if it does not fit the type and sizes of the bias.
/// `open` returns the value at a position if its quantization is asked for, `quantization` the one that is known.
pub fn bias<'d>(
    node: &DraftNode,
    open: impl Fn(usize) -> Option<&'d DraftValue>,
    quantization: impl Fn(usize) -> Option<&'d DraftQuantization>,
) -> Option<(usize, DraftQuantization)> {
    use FieldContent::{Float, Floats, Int, UInt};
    let position = bias_position(node)?;
    let bias = open(position).filter(|bias| bias.constant.is_some())?;
    let input = quantization(node.values(false).next()?).filter(|input| input.kind() == QuantParams::PerTensor)?;
    let filter = quantization(operand(node, "filter_id")?).filter(|filter| filter.scales.is_none())?;
    let scale = *input.params.floats(per_tensor_quant::scale).first()?;
    // The scales are in the first slot of both tables.
    let scales = filter.params.floats(per_tensor_quant::scale).iter().map(|filter| bias_scale(scale, *filter));
    let found = match filter.kind() {
        kind @ QuantParams::PerTensor if bias.datatype == QINT32 => {
            DraftQuantization::new(kind, scales.map(Float).chain([Int(0)]))
        }
        kind @ QuantParams::PerChannel
            if bias.datatype == QCINT32 && bias.dims[..] == [u32::try_from(scales.len()).ok()?] =>
        {
            DraftQuantization::new(kind, [Floats(scales.collect()), Int(0), UInt(0), UInt(0)])
        }
        QuantParams::PerTensor
        | QuantParams::PerChannel
        | QuantParams::PerChannelGroup
        | QuantParams::PerTokenDynamic => return None,
    };
    Some((position, found))
}
