//! The table of XNNPACK operations: element types of operands, flags, quantization, and packed operands. XNNPACK has
//! kernels for these types only. Not all of its operations check them, and it may read scales that a value of another
//! type does not have.
//!
//! `lab/tests/runtime/xnnpack_mutants.rs` of the repository runs every combination in the runtime. A row that the
//! runtime does not execute is an error of the table, and so is a combination without a row that it does execute.

use crate::schema::{Datatype, KEEP_DIMS, Operation, SAME_PADDING, TRANSPOSED};

/// Constraints of an operation.
pub struct OperationRow {
    pub operation: Operation,
    /// Names of the types of operands, in the order of [`Operation::operands`]: rows with `;` between them, in each the
    /// alternatives for each operand. A type with `*` is that of all operands. Absent operands are not compared. Empty
    /// if the runtime has no such operation.
    types: &'static str,
    /// Flags that the operation defines.
    pub flags: u32,
    /// Flags that exclude each other.
    pub exclusive: u32,
    /// Operands with a scale per channel whose channels XNNPACK expects in one dimension.
    pub channels: &'static [ChannelDim],
    /// Valid range of scale of the input * scale of the weights / scale of the output, if all are quantized.
    pub requantization: Option<Requantization>,
    /// Operands that XNNPACK copies when the method is loaded, if all of them are constants. It reads other constants
    /// when the call runs.
    pub packed: &'static [&'static str],
    /// The operation moves elements without quantizing them again: all operands have the same scale.
    pub moves: bool,
    /// The backend passes the bounds of the output to XNNPACK; it ignores those of other operations.
    pub clamps: bool,
    /// XNNPACK rejects bounds of the output if the lower one exceeds the upper one or one is NaN.
    pub orders_bounds: bool,
}

/// The dimension of the channels of an operand, by the flag [`TRANSPOSED`] of the operation.
pub struct ChannelDim {
    pub operand: &'static str,
    pub plain: usize,
    pub transposed: usize,
}

/// Valid range of the factor from products of quantized numbers to the quantized result.
#[derive(Clone, Copy)]
pub enum Requantization {
    /// Less than 256.
    Below256,
    /// More than 0 and at most 255 if the weights are constant. XNNPACK ignores the error, and calls an operator that
    /// does not exist.
    ConstantWithin255,
}

impl Requantization {
    /// Returns the expected range if XNNPACK does not accept a factor; `None` if it does.
    pub fn refuses(self, factor: f32, is_constant: bool) -> Option<&'static str> {
        let (refused, expected) = match self {
            Requantization::Below256 => (factor >= 256.0, "less than 256"),
            Requantization::ConstantWithin255 => {
                (is_constant && !(factor > 0.0 && factor <= 255.0), "more than 0 and at most 255")
            }
        };
        refused.then_some(expected)
    }
}

impl OperationRow {
    /// Returns true if the runtime has a kernel for operands of these types.
    pub fn takes(&self, found: &[Option<i16>]) -> bool {
        self.kernels(found).next().is_some()
    }

    /// Returns the types of the kernels for operands of these types. One that is not known has any type.
    fn kernels<'f>(&self, found: &'f [Option<i16>]) -> impl Iterator<Item = &'static str> + 'f {
        let is = |types: &str, found: &Option<i16>| {
            found.and_then(Datatype::of).is_none_or(|found| types.split('|').any(|name| name == found.name))
        };
        self.types.split("; ").filter(move |row| match row.strip_suffix('*') {
            Some(name) => found.iter().all(|found| is(name, found)),
            None => !row.is_empty() && row.split(' ').zip(found).all(|(types, found)| is(types, found)),
        })
    }

    /// Returns the type of the operand at a position for operands of these types: `preferred` if a kernel has it there,
    /// otherwise that of the first kernel; `None` without a kernel.
    pub fn result(&self, found: &[Option<i16>], position: usize, preferred: i16) -> Option<i16> {
        let names = self.kernels(found).filter_map(|row| match row.strip_suffix('*') {
            Some(name) => Some(name),
            None => row.split(' ').nth(position),
        });
        let mut types = names.flat_map(|names| names.split('|')).filter_map(Datatype::code);
        let first = types.next()?;
        Some(if first == preferred || types.any(|found| found == preferred) { preferred } else { first })
    }

    const fn excluding(self, exclusive: u32) -> OperationRow {
        OperationRow { exclusive, ..self }
    }

    /// Of an operation with a filter and a bias.
    const fn weighted(self, channels: &'static [ChannelDim]) -> OperationRow {
        let requantization = Some(Requantization::Below256);
        OperationRow { channels, packed: &["filter_id", "bias_id"], requantization, ..self.ordering() }
    }

    const fn clamping(self) -> OperationRow {
        OperationRow { clamps: true, ..self }
    }

    const fn ordering(self) -> OperationRow {
        OperationRow { clamps: true, orders_bounds: true, ..self }
    }

    const fn moving(self) -> OperationRow {
        OperationRow { moves: true, ..self }
    }
}

const fn channel(operand: &'static str, plain: usize, transposed: usize) -> ChannelDim {
    ChannelDim { operand, plain, transposed }
}

const MATRIX_CHANNELS: &[ChannelDim] = &[channel("filter_id", 0, 1)];
const CONV_CHANNELS: &[ChannelDim] = &[channel("filter_id", 0, 0), channel("bias_id", 0, 0)];
const DEPTHWISE_CHANNELS: &[ChannelDim] = &[channel("filter_id", 3, 3), channel("bias_id", 0, 0)];

/// Pixels have the positions of TensorFlow's rules.
const LEGACY: u32 = 4;
const ALIGN_CORNERS: u32 = 8;
/// Tables of pointers are allocated for each run.
const TRANSIENT: u32 = 0x20;
/// Constants of float32 are packed as float16.
const FLOAT_WEIGHTS: u32 = 8;
const FLOAT_BIASES: u32 = 0x80;
/// Filters and biases are float32 in an operation of float16.
const STATIC: u32 = FLOAT_WEIGHTS | FLOAT_BIASES;

const FLOATS: &str = "fp32*; fp16*";
const ELEMENTWISE: &str = "fp32*; fp16*; bf16*; qint8*; quint8*";
/// Input and output of functions of one operand.
const FUNCTION: &str = "fp32|bf16 fp32|bf16; fp16 fp16; qint8 qint8; quint8 quint8";
const INTEGER_FUNCTION: &str = "fp32|bf16 fp32|bf16; fp16 fp16; qint8 qint8; quint8 quint8; int32 int32";
const ARITHMETIC: &str = "fp32*; fp16*; bf16*; qint8*; quint8*; int32*";
const CLAMPED: &str = "fp32*; fp16*; bf16*; qint8*; quint8*; int32*; qint32*";
const MOVED: &str = "fp32*; fp16*; bf16*; qint8*; quint8*; int32*; qint32*";
const PIXELS: &str = "fp32*; fp16*; qint8*; quint8*";
/// Input, filter, bias, output of convolutions.
const CONVOLUTION: &str = "fp32 fp32 fp32 fp32; fp32 fp16 fp16 fp32; fp32 fp16 fp32 fp32; fp16 fp32 fp32 fp16; fp16 fp16 fp16 fp16; \
    fp16 fp16 fp32 fp16; qint8 qint8 qint32 qint8; qint8 qcint8 qcint32 qint8; quint8 quint8 qint32 quint8; \
    qdint8 qcint8 fp32 fp32; qdint8 qcint8 fp32 fp16";
const DEPTHWISE: &str = "fp32 fp32 fp32 fp32; fp32 fp16 fp16 fp32; fp32 fp16 fp32 fp32; fp16 fp32 fp32 fp16; fp16 fp16 fp16 fp16; \
    fp16 fp16 fp32 fp16; qint8 qint8 qint32 qint8; qint8 qcint8 qcint32 qint8; quint8 quint8 qint32 quint8";
const DECONVOLUTION: &str = "fp32 fp32 fp32 fp32; fp32 fp16 fp16 fp32; fp32 fp16 fp32 fp32; fp16 fp32 fp32 fp16; \
    qint8 qint8 qint32 qint8; qint8 qcint8 qcint32 qint8; quint8 quint8 qint32 quint8; \
    qdint8 qcint8 fp32 fp32";
const MATRIX: &str = "fp32 fp32 fp32 fp32; fp32 fp16 fp16 fp32; fp32 fp16 fp32 fp32; fp32 qcint8 fp32 fp32; \
    fp32 qcint4 fp32 fp32; fp16 fp32 fp32 fp16; fp16 fp16 fp16 fp16; fp16 fp16 fp32 fp16; \
    bf16 bf16 fp32 fp32; bf16 bf16 fp32 bf16; qint8 qint8 qint32 qint8; qint8 qcint8 qcint32 qint8; \
    qint8 qcint8 qint32 qint8; qint8 qcint4 qcint32 qint8; qint8 qcint4 qint32 qint8; \
    quint8 quint8 qint32 quint8; qdint8 qcint8 fp32 fp32; qdint8 qcint8 fp32 fp16; qdint8 qcint4 fp32 fp32; \
    qdint8 qcint4 fp32 fp16; qdint8 qbint4 fp32 fp32; qdint8 qbint4 fp32 fp16; qdint8 qbint4 fp32 bf16";
const BATCH_MATRIX: &str =
    "fp32 fp32 fp32; fp16 fp16 fp16; bf16 bf16 fp32; fp32 qcint8 fp32; qdint8 qcint8 fp32; qint8 qint8 qint8";
/// Input and output of conversions.
const CONVERSION: &str = "fp32|fp16|bf16|qint8|quint8|int32 fp32|fp16|bf16|qint8|quint8|int32; fp32|fp16 qdint8";

/// Constraints by operation, in the order of the tags.
pub static ROWS: &[OperationRow] = &{
    use Operation::*;
    [
        row(Add, ARITHMETIC, 0).clamping(),
        row(FullyConnected, MATRIX, TRANSPOSED | STATIC).weighted(MATRIX_CHANNELS),
        row(Softmax, FLOATS, 0),
        row(Sigmoid, FUNCTION, 0),
        row(StaticTranspose, MOVED, 0).moving(),
        row(Clamp, CLAMPED, 0).clamping(),
        row(Conv2d, CONVOLUTION, SAME_PADDING | TRANSIENT | STATIC).weighted(CONV_CHANNELS),
        row(Div, ARITHMETIC, 0).clamping(),
        row(StaticResizeBilinear2D, PIXELS, LEGACY | ALIGN_CORNERS).moving().excluding(LEGACY | ALIGN_CORNERS),
        row(StaticConstantPad, MOVED, 0).moving(),
        row(AvgPooling2d, FLOATS, SAME_PADDING | KEEP_DIMS).ordering(),
        row(Minimum, ARITHMETIC, 0),
        row(DepthwiseConv2d, DEPTHWISE, SAME_PADDING | TRANSIENT | STATIC).weighted(DEPTHWISE_CHANNELS),
        row(MaxPooling2d, PIXELS, SAME_PADDING | KEEP_DIMS).moving().ordering(),
        row(Multiply, ARITHMETIC, 0).clamping(),
        row(Subtract, ARITHMETIC, 0).clamping(),
        row(Floor, FUNCTION, 0),
        row(Convert, CONVERSION, 0),
        row(GlobalAvgPooling2d, PIXELS, KEEP_DIMS).clamping(),
        row(StaticReshape, MOVED, 0).moving(),
        row(ArgMaxPooling2d, "fp32 fp32 int32", 0),
        row(SquareRoot, FUNCTION, 0),
        row(Ceiling, FUNCTION, 0),
        row(Hardswish, FUNCTION, 0),
        row(LeakyReLU, FUNCTION, 0),
        row(Maximum, ARITHMETIC, 0),
        row(Negate, INTEGER_FUNCTION, 0),
        row(Square, INTEGER_FUNCTION, 0),
        row(ELU, FUNCTION, 0),
        row(Abs, INTEGER_FUNCTION, 0),
        row(PReLU, ELEMENTWISE, 0),
        row(Concatenate2, MOVED, 0).moving(),
        row(Concatenate3, MOVED, 0).moving(),
        row(Concatenate4, MOVED, 0).moving(),
        row(StaticSlice, MOVED, 0).moving(),
        row(ScaledDotProductAttention, "", 0),
        OperationRow {
            packed: &["input2_id"],
            requantization: Some(Requantization::ConstantWithin255),
            ..row(BatchMatrixMultiply, BATCH_MATRIX, TRANSPOSED)
        },
        row(Concatenate5, MOVED, 0).moving(),
        row(ConvTranspose2d, DECONVOLUTION, STATIC).weighted(CONV_CHANNELS),
        row(ReciprocalSquareRoot, FUNCTION, 0),
        row(Log, FUNCTION, 0),
        row(Gelu, FUNCTION, 0),
        row(Tanh, FUNCTION, 0),
        row(Exp, FUNCTION, 0),
        row(Sin, FUNCTION, 0),
        row(Copy, MOVED, 0).moving(),
        row(Cos, FUNCTION, 0),
    ]
};

const fn row(operation: Operation, types: &'static str, flags: u32) -> OperationRow {
    OperationRow {
        operation,
        types,
        flags,
        exclusive: 0,
        channels: &[],
        requantization: None,
        packed: &[],
        moves: false,
        clamps: false,
        orders_bounds: false,
    }
}

const _: () = {
    let mut at = 0;
    assert!(ROWS.len() == Operation::ALL.len());
    while at < ROWS.len() {
        assert!(ROWS[at].operation as usize == at);
        at += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    /// The flags other than 0 that the exporters of the releases 0.1 to 1.5 write.
    const EXPORTED: [(Operation, u32); 5] = [
        (Operation::FullyConnected, TRANSPOSED),
        (Operation::AvgPooling2d, KEEP_DIMS),
        (Operation::MaxPooling2d, KEEP_DIMS),
        (Operation::GlobalAvgPooling2d, KEEP_DIMS),
        (Operation::StaticResizeBilinear2D, ALIGN_CORNERS),
    ];

    #[test]
    fn flags_that_exporters_write_are_known() {
        for (operation, flags) in EXPORTED {
            assert_eq!(ROWS[operation as usize].flags & flags, flags, "{operation:?}");
        }
    }
}
