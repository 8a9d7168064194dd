//! Sizes that XNNPACK operations write, from those that they read and their parameters. XNNPACK computes them itself, and reads as many
//! weights, and as many elements of later operations, as the parameters say; a graph whose values have other sizes is malformed.
//!
//! The rules read operations through [`SizedOperands`]: those of a FlatBuffer, which are compared, and those of YAML, which are inferred.

use crate::draft::count;
use crate::schema::*;
use pte_model::diagnostics::counted;

/// Operands and parameters of one operation.
pub trait SizedOperands {
    /// Error of a malformed operation.
    type Error;

    /// Returns a parameter.
    ///
    /// # Errors
    /// A field that cannot be read.
    fn number(&self, slot: u16) -> Result<u32, Self::Error>;

    /// Returns the items of a list.
    ///
    /// # Errors
    /// A field that cannot be read.
    fn list(&self, slot: u16) -> Result<Vec<u64>, Self::Error>;

    /// Returns sizes and element type of a value; `None` if it is absent. The sizes of an output may be unknown.
    ///
    /// # Errors
    /// A field that cannot be read, a value whose sizes are unknown.
    fn value(&self, slot: u16) -> Result<Option<(&[u64], i16)>, Self::Error>;

    /// Takes the sizes of an output.
    ///
    /// # Errors
    /// An output with other sizes.
    fn output(&self, slot: u16, sizes: &[u64]) -> Result<(), Self::Error>;

    /// Returns an error at a field.
    ///
    /// # Errors
    /// Always.
    fn wrong<T>(&self, slot: u16, message: String) -> Result<T, Self::Error>;
}

/// Most pixels that the windows over one image cover in total: the runtime allocates a pointer for each.
const MAX_COVERED: u64 = 1 << 28;

/// Largest size of a bilinear resize, exclusive: XNNPACK computes positions as float32.
const MAX_RESIZED: u64 = 1 << 24;

/// Slots of one dimension of a window.
struct WindowSlots {
    padding: [u16; 2],
    kernel: u16,
    stride: Option<u16>,
    dilation: Option<u16>,
}

/// Height and width of a convolution.
const CONV_WINDOW: [WindowSlots; 2] = {
    use conv::*;
    [
        WindowSlots {
            padding: [padding_top, padding_bottom],
            kernel: kernel_height,
            stride: Some(subsampling_height),
            dilation: Some(dilation_height),
        },
        WindowSlots {
            padding: [padding_left, padding_right],
            kernel: kernel_width,
            stride: Some(subsampling_width),
            dilation: Some(dilation_width),
        },
    ]
};

/// Height and width of a pooling.
const POOLING_WINDOW: [WindowSlots; 2] = {
    use pooling::*;
    [
        WindowSlots {
            padding: [padding_top, padding_bottom],
            kernel: pooling_height,
            stride: Some(stride_height),
            dilation: Some(dilation_height),
        },
        WindowSlots {
            padding: [padding_left, padding_right],
            kernel: pooling_width,
            stride: Some(stride_width),
            dilation: Some(dilation_width),
        },
    ]
};

/// Height and width of a pooling with indices, whose windows do not overlap.
const ARG_MAX_WINDOW: [WindowSlots; 2] = {
    use arg_max_pooling::*;
    [
        WindowSlots { padding: [padding_top, padding_bottom], kernel: pooling_height, stride: None, dilation: None },
        WindowSlots { padding: [padding_left, padding_right], kernel: pooling_width, stride: None, dilation: None },
    ]
};

/// One dimension of a window; none of the fields is 0 except padding.
struct Window {
    slot: u16,
    padding: u64,
    stride: u64,
    dilation: u64,
    kernel: u64,
}

impl Window {
    /// Distance of the first from the last pixel, plus 1.
    fn extent(&self) -> u64 {
        (self.kernel - 1).saturating_mul(self.dilation) + 1
    }
}

/// An operation whose sizes are checked.
struct SizedOperation<'t, T> {
    operation: Operation,
    t: &'t T,
}

/// Checks the sizes of the inputs of an operation, and passes those of its outputs to [`SizedOperands::output`].
///
/// # Errors
/// The first operand or parameter that does not fit.
pub fn check<T: SizedOperands>(operation: Operation, t: &T) -> Result<(), T::Error> {
    let sized = SizedOperation { operation, t };
    match operation {
        Operation::Add
        | Operation::Div
        | Operation::Minimum
        | Operation::Multiply
        | Operation::Subtract
        | Operation::Maximum
        | Operation::PReLU => sized.binary(),
        Operation::Softmax => sized.softmax(),
        Operation::Sigmoid
        | Operation::Clamp
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
        | Operation::Copy
        | Operation::Cos => sized.unary(node_1x1::input_id, node_1x1::output_id),
        Operation::LeakyReLU => sized.unary(leaky_relu::input_id, leaky_relu::output_id),
        Operation::ELU => sized.unary(elu::input_id, elu::output_id),
        Operation::Convert => sized.conversion(),
        Operation::FullyConnected => sized.matrix(),
        Operation::BatchMatrixMultiply => sized.batch_matrix(),
        Operation::Conv2d | Operation::DepthwiseConv2d | Operation::ConvTranspose2d => sized.convolution(),
        Operation::AvgPooling2d | Operation::MaxPooling2d => sized.pooling(),
        Operation::ArgMaxPooling2d => sized.arg_max_pooling(),
        Operation::GlobalAvgPooling2d => sized.global_pooling(),
        Operation::StaticResizeBilinear2D => sized.resize(),
        Operation::StaticTranspose => sized.transpose(),
        Operation::StaticReshape => sized.reshape(),
        Operation::StaticSlice => sized.slice(),
        Operation::StaticConstantPad => sized.pad(),
        Operation::Concatenate2 | Operation::Concatenate3 | Operation::Concatenate4 | Operation::Concatenate5 => {
            sized.concatenation()
        }
        // The table of types rejects it.
        Operation::ScaledDotProductAttention => Ok(()),
    }
}

impl<'t, T: SizedOperands> SizedOperation<'t, T> {
    fn field(&self, slot: u16) -> Result<u64, T::Error> {
        self.t.number(slot).map(u64::from)
    }

    fn list(&self, slot: u16) -> Result<Vec<u64>, T::Error> {
        self.t.list(slot)
    }

    /// Returns sizes and element type of an operand.
    fn required(&self, slot: u16) -> Result<(&'t [u64], i16), T::Error> {
        match self.t.value(slot)? {
            Some(value) => Ok(value),
            None => self.t.wrong(slot, "the value is missing".to_owned()),
        }
    }

    fn dims(&self, slot: u16) -> Result<&'t [u64], T::Error> {
        self.required(slot).map(|(dims, _)| dims)
    }

    /// Returns the dimensions of an operand of rank 4: batch, height, width, channels.
    fn image(&self, slot: u16) -> Result<[u64; 4], T::Error> {
        let dims = self.dims(slot)?;
        match <[u64; 4]>::try_from(dims) {
            Ok(dims) => Ok(dims),
            Err(_) => self.t.wrong(slot, format!("{}, expected 4", counted(dims.len(), "dimension"))),
        }
    }

    /// Returns the dimensions of an operand of rank 4 that XNNPACK moves a window over: it refuses one without pixels or channels, and takes
    /// an empty batch for an image without pixels.
    fn windowed_image(&self, slot: u16) -> Result<[u64; 4], T::Error> {
        let dims = self.image(slot)?;
        match dims.contains(&0) {
            true => self.t.wrong(slot, format!("an image of sizes {dims:?}, without elements")),
            false => Ok(dims),
        }
    }

    /// Compares the dimensions of an operand.
    fn expect(&self, slot: u16, expected: &[u64]) -> Result<(), T::Error> {
        let found = self.dims(slot)?;
        if found == expected {
            return Ok(());
        }
        self.t.wrong(slot, format!("a value of sizes {found:?}, expected {expected:?}"))
    }

    fn unary(&self, input: u16, output: u16) -> Result<(), T::Error> {
        self.t.output(output, self.dims(input)?)
    }

    fn softmax(&self) -> Result<(), T::Error> {
        use node_1x1::*;
        let dims = self.dims(input_id)?;
        match dims.last() {
            None | Some(0) => {
                self.t.wrong(input_id, format!("an input of sizes {dims:?}, without elements in the last dimension"))
            }
            Some(_) => self.unary(input_id, output_id),
        }
    }

    fn conversion(&self) -> Result<(), T::Error> {
        use node_1x1::*;
        let (from, (to, datatype)) = (self.dims(input_id)?, self.required(output_id)?);
        // The exporter writes the sizes of an input that it quantizes for a convolution in torch's order.
        if datatype == QDINT8 && to.len() == 4 && *to == to_torch(from) {
            return Ok(());
        }
        self.t.output(output_id, from)
    }

    fn binary(&self) -> Result<(), T::Error> {
        use node_2x1::*;
        let (one, other) = (self.dims(input1_id)?, self.dims(input2_id)?);
        match broadcast(one, other) {
            Some(expected) => self.t.output(output_id, &expected),
            None => self.t.wrong(input2_id, format!("sizes {other:?} do not broadcast with {one:?}")),
        }
    }

    fn matrix(&self) -> Result<(), T::Error> {
        use fully_connected::*;
        let (input, filter) = (self.dims(input1_id)?, self.dims(filter_id)?);
        let (outputs, inputs) = match *filter {
            [inputs, outputs] if self.field(flags)? & u64::from(TRANSPOSED) != 0 => (outputs, inputs),
            [outputs, inputs] => (outputs, inputs),
            _ => {
                let found = counted(filter.len(), "dimension");
                return self.t.wrong(filter_id, format!("a filter of {found}, expected 2"));
            }
        };
        if inputs == 0 || outputs == 0 {
            return self.t.wrong(filter_id, format!("a filter of sizes {filter:?}, without weights"));
        }
        let Some((_, batch)) = input.split_last().filter(|(last, _)| **last == inputs) else {
            return self.t.wrong(filter_id, format!("a filter for {inputs} inputs, of an input of sizes {input:?}"));
        };
        self.bias(bias_id, outputs)?;
        self.t.output(output_id, &[batch, &[outputs]].concat())
    }

    fn batch_matrix(&self) -> Result<(), T::Error> {
        use node_2x1::*;
        let (one, other) = (self.dims(input1_id)?, self.dims(input2_id)?);
        let transposed = self.field(flags)? & u64::from(TRANSPOSED) != 0;
        let expected = match (one, other) {
            ([batch @ .., rows, inner], [other_batch @ .., a, b]) => {
                let (other_inner, columns) = if transposed { (b, a) } else { (a, b) };
                if *rows == 0 || *inner == 0 || *columns == 0 {
                    return self
                        .t
                        .wrong(input2_id, format!("matrices of sizes {one:?} and {other:?}, without elements"));
                }
                let common = broadcast(batch, other_batch).filter(|_| inner == other_inner);
                // XNNPACK does not repeat a matrix zero times.
                let common = common.filter(|common| !common.contains(&0) || batch == other_batch);
                common.map(|batch| [&*batch, &[*rows, *columns]].concat())
            }
            _ => None,
        };
        match expected {
            Some(expected) => self.t.output(output_id, &expected),
            None => self.t.wrong(input2_id, format!("matrices of sizes {one:?} and {other:?}")),
        }
    }

    fn bias(&self, slot: u16, outputs: u64) -> Result<(), T::Error> {
        match self.t.value(slot)? {
            Some((dims, _)) if count(dims) != Some(outputs) => {
                self.t.wrong(slot, format!("a bias of sizes {dims:?}, expected {}", counted(outputs, "element")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn convolution(&self) -> Result<(), T::Error> {
        use conv::*;
        for slot in [group_input_channels, group_output_channels, groups] {
            if self.field(slot)? == 0 {
                return self.t.wrong(slot, "0, expected at least 1".to_owned());
            }
        }
        let [rows, columns] = [self.window(&CONV_WINDOW[0])?, self.window(&CONV_WINDOW[1])?];
        let group_inputs = self.field(group_input_channels)?;
        let (all_groups, group_outputs) = (self.field(groups)?, self.field(group_output_channels)?);
        let inputs = all_groups.saturating_mul(group_inputs);
        let outputs = all_groups.saturating_mul(group_outputs);
        let filter = match self.operation == Operation::DepthwiseConv2d {
            true if group_inputs != 1 => {
                return self.t.wrong(group_input_channels, format!("{group_inputs}, expected 1"));
            }
            true => [1, rows.kernel, columns.kernel, outputs],
            false => [outputs, rows.kernel, columns.kernel, group_inputs],
        };
        self.expect(filter_id, &filter)?;
        self.bias(bias_id, outputs)?;
        let [batch, a, b, c] = self.windowed_image(input1_id)?;
        // The exporter writes the sizes of a dynamically quantized input in torch's order.
        let torch = self.required(input1_id)?.1 == QDINT8 && c != inputs;
        let [height, width, channels] = if torch { [b, c, a] } else { [a, b, c] };
        if channels != inputs {
            return self.t.wrong(input1_id, format!("{}, expected {inputs}", counted(channels, "channel")));
        }
        let (height, width) = if self.operation == Operation::ConvTranspose2d {
            let [more_rows, more_columns] = [self.field(adjustment_height)?, self.field(adjustment_width)?];
            (
                self.widened(height, &rows, adjustment_height, more_rows)?,
                self.widened(width, &columns, adjustment_width, more_columns)?,
            )
        } else {
            let same = self.same_padding(flags, &rows, &columns)?;
            (self.windows(height, &rows, same)?, self.windows(width, &columns, same)?)
        };
        self.covered(&rows, &columns, height, width)?;
        self.t.output(output_id, &[batch, height, width, outputs])
    }

    fn pooling(&self) -> Result<(), T::Error> {
        use pooling::*;
        let [rows, columns] = [self.window(&POOLING_WINDOW[0])?, self.window(&POOLING_WINDOW[1])?];
        let [batch, height, width, channels] = self.windowed_image(input_id)?;
        let same = self.same_padding(flags, &rows, &columns)?;
        let (height, width) = (self.windows(height, &rows, same)?, self.windows(width, &columns, same)?);
        self.covered(&rows, &columns, height, width)?;
        self.t.output(output_id, &[batch, height, width, channels])
    }

    fn arg_max_pooling(&self) -> Result<(), T::Error> {
        use arg_max_pooling::*;
        let [rows, columns] = [self.window(&ARG_MAX_WINDOW[0])?, self.window(&ARG_MAX_WINDOW[1])?];
        let [batch, height, width, channels] = self.windowed_image(input_id)?;
        let same = self.same_padding(flags, &rows, &columns)?;
        let (height, width) = (self.windows(height, &rows, same)?, self.windows(width, &columns, same)?);
        self.covered(&rows, &columns, height, width)?;
        self.t.output(output_value_id, &[batch, height, width, channels])?;
        self.t.output(output_index_id, &[batch, height, width, channels])
    }

    /// Reads one dimension of a window.
    fn window(&self, slots: &WindowSlots) -> Result<Window, T::Error> {
        let kernel = self.field(slots.kernel)?;
        let optional = |slot: Option<u16>, default: u64| slot.map_or(Ok(default), |slot| self.field(slot));
        let window = Window {
            slot: slots.kernel,
            padding: self.field(slots.padding[0])? + self.field(slots.padding[1])?,
            kernel,
            stride: optional(slots.stride, kernel)?,
            // Average poolings have none.
            dilation: match self.operation == Operation::AvgPooling2d {
                true => 1,
                false => optional(slots.dilation, 1)?,
            },
        };
        let named = [(Some(slots.kernel), kernel), (slots.stride, window.stride), (slots.dilation, window.dilation)];
        match named.into_iter().find_map(|(slot, value)| slot.filter(|_| value == 0)) {
            Some(slot) => self.t.wrong(slot, "0, expected at least 1".to_owned()),
            None => Ok(window),
        }
    }

    /// Returns `true` if XNNPACK computes the padding of an operation.
    fn same_padding(&self, slot: u16, rows: &Window, columns: &Window) -> Result<bool, T::Error> {
        let same = self.field(slot)? & u64::from(SAME_PADDING) != 0;
        if same && (rows.padding != 0 || columns.padding != 0) {
            let message =
                format!("flag {SAME_PADDING:#x}, by which XNNPACK computes the padding, of an operation with padding");
            return self.t.wrong(slot, message);
        }
        Ok(same)
    }

    /// Returns the number of windows in one dimension of an input.
    fn windows(&self, size: u64, window: &Window, same: bool) -> Result<u64, T::Error> {
        if same {
            return Ok(size.div_ceil(window.stride));
        }
        let padded = size.saturating_add(window.padding);
        match padded.checked_sub(window.extent()) {
            Some(rest) => Ok(rest / window.stride + 1),
            None => {
                let found = format!("a window of {}", counted(window.extent(), "pixel"));
                self.t.wrong(window.slot, format!("{found}, larger than the padded input of {padded}"))
            }
        }
    }

    /// Returns the size that a deconvolution computes in one dimension.
    fn widened(&self, size: u64, window: &Window, slot: u16, adjustment: u64) -> Result<u64, T::Error> {
        if adjustment >= window.stride {
            return self.t.wrong(slot, format!("{adjustment}, expected less than the stride {}", window.stride));
        }
        let steps = window.stride.saturating_mul(size.saturating_sub(1));
        let all = steps.saturating_add(window.extent()).saturating_add(adjustment);
        match all.checked_sub(window.padding) {
            Some(all) if size > 0 => Ok(all),
            _ => self.t.wrong(window.slot, format!("padding {}, of {}", window.padding, counted(all, "pixel"))),
        }
    }

    /// Checks the number of pixels that all windows cover.
    fn covered(&self, rows: &Window, columns: &Window, height: u64, width: u64) -> Result<(), T::Error> {
        match count(&[rows.kernel, columns.kernel, height, width]) {
            Some(covered) if covered <= MAX_COVERED => Ok(()),
            _ => {
                let message = format!("the windows cover more than {MAX_COVERED} pixels of an image in total");
                self.t.wrong(rows.slot, message)
            }
        }
    }

    fn global_pooling(&self) -> Result<(), T::Error> {
        use node_1x1::*;
        let [batch, _, _, channels] = self.image(input_id)?;
        match self.field(flags)? & u64::from(KEEP_DIMS) != 0 {
            true => self.t.output(output_id, &[batch, 1, 1, channels]),
            false => self.t.output(output_id, &[batch, channels]),
        }
    }

    fn resize(&self) -> Result<(), T::Error> {
        use resize_bilinear::*;
        for slot in [new_height, new_width] {
            let size = self.field(slot)?;
            if !(1..MAX_RESIZED).contains(&size) {
                return self.t.wrong(slot, format!("{size}, expected 1 to {}", MAX_RESIZED - 1));
            }
        }
        let [batch, height, width, channels] = self.image(input_id)?;
        if height == 0 || width == 0 || channels == 0 {
            return self.t.wrong(input_id, "an image without pixels or channels".to_owned());
        }
        self.t.output(output_id, &[batch, self.field(new_height)?, self.field(new_width)?, channels])
    }

    fn transpose(&self) -> Result<(), T::Error> {
        use transpose::*;
        let (from, order) = (self.dims(input_id)?, self.list(perm)?);
        let Some(last) = from.len().checked_sub(1) else {
            return self.t.wrong(input_id, "an input without dimensions".to_owned());
        };
        let moved: Option<Vec<u64>> = order.iter().map(|dim| from.get(*dim as usize).copied()).collect();
        let distinct = (0..from.len() as u64).all(|dim| order.contains(&dim));
        match moved {
            Some(moved) if distinct && moved.len() == from.len() => self.t.output(output_id, &moved),
            _ => self.t.wrong(perm, format!("{order:?}, expected a permutation of 0 to {last}")),
        }
    }

    fn reshape(&self) -> Result<(), T::Error> {
        use reshape::*;
        let (from, stated) = (self.dims(input_id)?, self.list(new_shape)?);
        let mut shape = stated.clone();
        // One size may be 0, which is the rest.
        if let Some(rest) = shape.iter().position(|size| *size == 0) {
            shape[rest] = 1;
            let known = count(&shape).unwrap_or(u64::MAX).max(1);
            shape[rest] = count(from).unwrap_or(0) / known;
        }
        if shape.len() > MAX_RANK || count(from) != count(&shape) {
            return self.t.wrong(new_shape, format!("{stated:?}, for an input of sizes {from:?}"));
        }
        self.t.output(output_id, &shape)
    }

    fn slice(&self) -> Result<(), T::Error> {
        use slice::*;
        let (from, starts, lengths) = (self.dims(input_id)?, self.list(offsets)?, self.list(sizes)?);
        if from.is_empty() {
            return self.t.wrong(input_id, "an input without dimensions".to_owned());
        }
        let part = |((from, start), length): ((&u64, &u64), &u64)| {
            // XNNPACK computes the end, where 0 means the end of the input: size 0 from offset 0 is the whole dimension, from another offset nothing.
            let length = if *length == 0 && *start == 0 { *from } else { *length };
            (start.saturating_add(length) <= *from).then_some(length)
        };
        let expected: Option<Vec<u64>> = from.iter().zip(&starts).zip(&lengths).map(part).collect();
        match expected {
            Some(expected) if starts.len() == from.len() && lengths.len() == from.len() => {
                self.t.output(output_id, &expected)
            }
            _ => self.t.wrong(sizes, format!("{lengths:?} from {starts:?}, of an input of sizes {from:?}")),
        }
    }

    fn pad(&self) -> Result<(), T::Error> {
        use constant_pad::*;
        let (from, before, after) = (self.dims(input_id)?, self.list(pre_paddings)?, self.list(post_paddings)?);
        if before.len() != from.len() || after.len() != from.len() {
            return self.t.wrong(pre_paddings, format!("expected {}", counted(from.len(), "item")));
        }
        let padded = from.iter().zip(before).zip(after).map(|((size, a), b)| size.saturating_add(a).saturating_add(b));
        self.t.output(output_id, &padded.collect::<Vec<u64>>())
    }

    fn concatenation(&self) -> Result<(), T::Error> {
        use cat::*;
        let mut expected = self.dims(input1_id)?.to_vec();
        let found = self.t.number(axis)? as i32;
        // A negative one counts from the end.
        let at = usize::try_from(i64::from(found) + if found < 0 { expected.len() as i64 } else { 0 });
        let Some(at) = at.ok().filter(|at| *at < expected.len()) else {
            return self.t.wrong(axis, format!("{found}, of an input of {}", counted(expected.len(), "dimension")));
        };
        expected[at] = 0;
        for operand in self.operation.operands().filter(|operand| !operand.is_output) {
            let dims = self.dims(operand.slot)?;
            let same = (0..expected.len()).all(|dim| dim == at || dims.get(dim) == Some(&expected[dim]));
            if dims.len() != expected.len() || !same {
                return self.t.wrong(operand.slot, format!("sizes {dims:?}, expected those of the first input"));
            }
            expected[at] = expected[at].saturating_add(dims[at]);
        }
        self.t.output(output_id, &expected)
    }
}

/// Returns the sizes of an image in torch's order: batch, channels, height, width.
pub(crate) fn to_torch(dims: &[u64]) -> Vec<u64> {
    match *dims {
        [batch, height, width, channels] => vec![batch, channels, height, width],
        _ => dims.to_vec(),
    }
}

/// Returns the sizes that two operands broadcast to.
fn broadcast(one: &[u64], other: &[u64]) -> Option<Vec<u64>> {
    let rank = one.len().max(other.len());
    let size = |dims: &[u64], dim: usize| (dim + dims.len()).checked_sub(rank).map_or(1, |dim| dims[dim]);
    let sizes = (0..rank).map(|dim| match (size(one, dim), size(other, dim)) {
        (one, other) if one == other || other == 1 => Some(one),
        (1, other) => Some(other),
        _ => None,
    });
    sizes.collect()
}
