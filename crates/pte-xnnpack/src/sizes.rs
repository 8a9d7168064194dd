//! Sizes that XNNPACK operations write, from those that they read and their parameters. XNNPACK computes them itself,
//! and reads as many weights, and as many elements of later operations, as the parameters say; a graph whose values
//! have other sizes is malformed.
//!
//! The rules know neither graphs nor drafts: they read an operation through two functions.

use crate::draft::count;
use crate::model::{FieldContent, Sizes};
use crate::schema::{
    Family, KEEP_DIMS, MAX_RANK, Operation, QDINT8, SAME_PADDING, TRANSPOSED, cat, constant_pad, conv, fully_connected,
    node_1x1, node_2x1, reshape, resize_bilinear, slice, transpose,
};
use pte_model::diagnostics::counted;
use smallvec::smallvec;

/// Sizes and element type of the value in a slot; `None` if it is absent. The sizes of an output may be unknown.
pub type Operand = Result<Option<(Sizes, i16)>, SizeError>;

/// Slots of the outputs of an operation with their sizes.
pub type Outputs = Vec<(u16, Sizes)>;

/// Error of the sizes of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SizeError {
    /// The sizes of the value at this position are not known.
    Unknown(usize),
    /// A field that does not fit.
    Wrong(u16, String),
}

/// Most pixels that the windows over one image cover in total: the runtime allocates a pointer for each.
const MAX_COVERED: u64 = 1 << 28;

/// Largest size of a bilinear resize, exclusive: XNNPACK computes positions as float32.
const MAX_RESIZED: u64 = 1 << 24;

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

/// An operation whose sizes are computed.
struct SizedOperation<'n> {
    operation: Operation,
    field: &'n dyn Fn(u16) -> Option<&'n FieldContent>,
    value: &'n dyn Fn(u16) -> Operand,
}

/// Checks the sizes of the inputs of an operation, and returns those of its outputs. `field` returns the parameter in a
/// slot, `value` the operand.
///
/// # Errors
/// The first operand or parameter that does not fit, and those of `value`.
pub fn outputs<'n>(
    operation: Operation,
    field: &'n dyn Fn(u16) -> Option<&'n FieldContent>,
    value: &'n dyn Fn(u16) -> Operand,
) -> Result<Outputs, SizeError> {
    let sized = SizedOperation { operation, field, value };
    match operation.family() {
        Family::Binary => sized.binary(),
        Family::Unary | Family::Clamp | Family::Copy => sized.unary(),
        Family::Softmax => sized.softmax(),
        Family::Convert => sized.conversion(),
        Family::FullyConnected => sized.matrix(),
        Family::MatrixProduct => sized.batch_matrix(),
        Family::Convolution | Family::TransposedConvolution => sized.convolution(),
        Family::AveragePooling | Family::MaxPooling | Family::ArgMaxPooling => sized.pooling(),
        Family::Mean => sized.global_pooling(),
        Family::Resize => sized.resize(),
        Family::Transpose => sized.transpose(),
        Family::Reshape => sized.reshape(),
        Family::Slice => sized.slice(),
        Family::Pad => sized.pad(),
        Family::Concatenation => sized.concatenation(),
        // The table of types rejects the first one; no operation is of the others.
        Family::Attention | Family::Table | Family::Quantize => Ok(Outputs::new()),
    }
}

/// Returns the sizes of a single output.
fn single(slot: u16, sizes: impl IntoIterator<Item = u64>) -> Result<Outputs, SizeError> {
    Ok(vec![(slot, sizes.into_iter().collect())])
}

fn wrong<T>(slot: u16, message: impl Into<String>) -> Result<T, SizeError> {
    Err(SizeError::Wrong(slot, message.into()))
}

impl SizedOperation<'_> {
    fn number(&self, slot: u16) -> u64 {
        (self.field)(slot).map_or(0, |content| content.uint().into())
    }

    fn list(&self, slot: u16) -> Sizes {
        match (self.field)(slot) {
            Some(FieldContent::UInts(items)) => items.iter().map(|item| u64::from(*item)).collect(),
            Some(_) | None => Sizes::new(),
        }
    }

    /// Returns sizes and element type of an operand.
    fn required(&self, slot: u16) -> Result<(Sizes, i16), SizeError> {
        match (self.value)(slot)? {
            Some(value) => Ok(value),
            None => wrong(slot, "the value is missing"),
        }
    }

    fn dims(&self, slot: u16) -> Result<Sizes, SizeError> {
        self.required(slot).map(|(dims, _)| dims)
    }

    /// Returns the dimensions of an operand of rank 4: batch, height, width, channels.
    fn image(&self, slot: u16) -> Result<[u64; 4], SizeError> {
        let dims = self.dims(slot)?;
        match <[u64; 4]>::try_from(&*dims) {
            Ok(dims) => Ok(dims),
            Err(_) => wrong(slot, format!("{}, expected 4", counted(dims.len(), "dimension"))),
        }
    }

    /// Returns the dimensions of an operand of rank 4 that XNNPACK moves a window over: it refuses one without pixels
    /// or channels, and takes an empty batch for an image without pixels.
    fn windowed_image(&self, slot: u16) -> Result<[u64; 4], SizeError> {
        let dims = self.image(slot)?;
        match dims.contains(&0) {
            true => wrong(slot, format!("an image of sizes {dims:?}, without elements")),
            false => Ok(dims),
        }
    }

    /// Returns the slots of the inputs, or of the outputs.
    fn slots(&self, is_output: bool) -> impl Iterator<Item = u16> {
        self.operation.operands().filter(move |operand| operand.is_output == is_output).map(|operand| operand.slot)
    }

    /// Returns the slot of the first input.
    fn input(&self) -> u16 {
        self.slots(false).next().unwrap_or(0)
    }

    /// Returns the outputs, which have the same sizes.
    fn same(&self, sizes: Sizes) -> Result<Outputs, SizeError> {
        Ok(self.slots(true).map(|slot| (slot, sizes.clone())).collect())
    }

    /// Returns true if a flag is set.
    fn has_flag(&self, flag: u32) -> bool {
        self.operation.flags_slot().is_some_and(|slot| self.number(slot) & u64::from(flag) != 0)
    }

    fn unary(&self) -> Result<Outputs, SizeError> {
        self.same(self.dims(self.input())?)
    }

    fn softmax(&self) -> Result<Outputs, SizeError> {
        use node_1x1::*;
        let dims = self.dims(input_id)?;
        match dims.last() {
            None | Some(0) => {
                wrong(input_id, format!("an input of sizes {dims:?}, without elements in the last dimension"))
            }
            Some(_) => self.unary(),
        }
    }

    fn conversion(&self) -> Result<Outputs, SizeError> {
        use node_1x1::*;
        let (from, (to, datatype)) = (self.dims(input_id)?, self.required(output_id)?);
        // The exporter writes the sizes of an input that it quantizes for a convolution in torch's order.
        if datatype == QDINT8 && to.len() == 4 && *to == to_torch(&from)[..] {
            return Ok(Outputs::new());
        }
        single(output_id, from)
    }

    fn binary(&self) -> Result<Outputs, SizeError> {
        use node_2x1::*;
        let (one, other) = (self.dims(input1_id)?, self.dims(input2_id)?);
        match broadcast(&one, &other) {
            Some(expected) => single(output_id, expected),
            None => wrong(input2_id, format!("sizes {other:?} do not broadcast with {one:?}")),
        }
    }

    fn matrix(&self) -> Result<Outputs, SizeError> {
        use fully_connected::*;
        let (input, filter) = (self.dims(input1_id)?, self.dims(filter_id)?);
        let (outputs, inputs) = match *filter {
            [inputs, outputs] if self.has_flag(TRANSPOSED) => (outputs, inputs),
            [outputs, inputs] => (outputs, inputs),
            _ => {
                let found = counted(filter.len(), "dimension");
                return wrong(filter_id, format!("a filter of {found}, expected 2"));
            }
        };
        if inputs == 0 || outputs == 0 {
            return wrong(filter_id, format!("a filter of sizes {filter:?}, without weights"));
        }
        let Some((_, batch)) = input.split_last().filter(|(last, _)| **last == inputs) else {
            return wrong(filter_id, format!("a filter for {inputs} inputs, of an input of sizes {input:?}"));
        };
        self.bias(bias_id, outputs)?;
        single(output_id, [batch, &[outputs]].concat())
    }

    fn batch_matrix(&self) -> Result<Outputs, SizeError> {
        use node_2x1::*;
        let (one, other) = (self.dims(input1_id)?, self.dims(input2_id)?);
        let transposed = self.has_flag(TRANSPOSED);
        let expected = match (&one[..], &other[..]) {
            ([batch @ .., rows, inner], [other_batch @ .., a, b]) => {
                let (other_inner, columns) = if transposed { (b, a) } else { (a, b) };
                if *rows == 0 || *inner == 0 || *columns == 0 {
                    return wrong(input2_id, format!("matrices of sizes {one:?} and {other:?}, without elements"));
                }
                let common = broadcast(batch, other_batch).filter(|_| inner == other_inner);
                // XNNPACK does not repeat a matrix zero times.
                let common = common.filter(|common| !common.contains(&0) || batch == other_batch);
                common.map(|batch| [&*batch, &[*rows, *columns]].concat())
            }
            _ => None,
        };
        match expected {
            Some(expected) => single(output_id, expected),
            None => wrong(input2_id, format!("matrices of sizes {one:?} and {other:?}")),
        }
    }

    fn bias(&self, slot: u16, outputs: u64) -> Result<(), SizeError> {
        match (self.value)(slot)? {
            Some((dims, _)) if count(&dims) != Some(outputs) => {
                wrong(slot, format!("a bias of sizes {dims:?}, expected {}", counted(outputs, "element")))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn convolution(&self) -> Result<Outputs, SizeError> {
        use conv::*;
        for slot in [group_input_channels, group_output_channels, groups] {
            if self.number(slot) == 0 {
                return wrong(slot, "0, expected at least 1");
            }
        }
        let [rows, columns] = self.both_windows()?;
        let group_inputs = self.number(group_input_channels);
        let (all_groups, group_outputs) = (self.number(groups), self.number(group_output_channels));
        let inputs = all_groups.saturating_mul(group_inputs);
        let outputs = all_groups.saturating_mul(group_outputs);
        let filter = match self.operation == Operation::DepthwiseConv2d {
            true if group_inputs != 1 => {
                return wrong(group_input_channels, format!("{group_inputs}, expected 1"));
            }
            true => [1, rows.kernel, columns.kernel, outputs],
            false => [outputs, rows.kernel, columns.kernel, group_inputs],
        };
        let found = self.dims(filter_id)?;
        if found[..] != filter {
            return wrong(filter_id, format!("a value of sizes {found:?}, expected {filter:?}"));
        }
        self.bias(bias_id, outputs)?;
        let [batch, a, b, c] = self.windowed_image(input1_id)?;
        // The exporter writes the sizes of a dynamically quantized input in torch's order.
        let torch = self.required(input1_id)?.1 == QDINT8 && c != inputs;
        let [height, width, channels] = if torch { [b, c, a] } else { [a, b, c] };
        if channels != inputs {
            return wrong(input1_id, format!("{}, expected {inputs}", counted(channels, "channel")));
        }
        let (height, width) = if self.operation == Operation::ConvTranspose2d {
            let [more_rows, more_columns] = [self.number(adjustment_height), self.number(adjustment_width)];
            (
                self.widened(height, &rows, adjustment_height, more_rows)?,
                self.widened(width, &columns, adjustment_width, more_columns)?,
            )
        } else {
            let same = self.same_padding(&rows, &columns)?;
            (self.windows(height, &rows, same)?, self.windows(width, &columns, same)?)
        };
        self.covered(&rows, &columns, height, width)?;
        single(output_id, [batch, height, width, outputs])
    }

    fn pooling(&self) -> Result<Outputs, SizeError> {
        let [rows, columns] = self.both_windows()?;
        let [batch, height, width, channels] = self.windowed_image(self.input())?;
        let same = self.same_padding(&rows, &columns)?;
        let (height, width) = (self.windows(height, &rows, same)?, self.windows(width, &columns, same)?);
        self.covered(&rows, &columns, height, width)?;
        self.same(smallvec![batch, height, width, channels])
    }

    /// Reads height and width of a window.
    fn both_windows(&self) -> Result<[Window; 2], SizeError> {
        Ok([self.window("height", ["top", "bottom"])?, self.window("width", ["left", "right"])?])
    }

    /// Reads one dimension of a window. Windows without a stride do not overlap.
    fn window(&self, dimension: &str, ends: [&str; 2]) -> Result<Window, SizeError> {
        let slot = |stems: &[&str], end: &str| self.operation.slot_of(stems, end);
        let number = |slot: Option<u16>, default: u64| slot.map_or(default, |slot| self.number(slot));
        let kernel_slot = slot(&["kernel_", "pooling_"], dimension);
        let stride_slot = slot(&["subsampling_", "stride_"], dimension);
        // Average poolings have none.
        let has_dilation = self.operation.family() != Family::AveragePooling;
        let dilation_slot = slot(&["dilation_"], dimension).filter(|_| has_dilation);
        let kernel = number(kernel_slot, 1);
        let (stride, dilation) = (number(stride_slot, kernel), number(dilation_slot, 1));
        let padding = ends.map(|end| number(slot(&["padding_"], end), 0)).into_iter().sum();
        let named = [(kernel_slot, kernel), (stride_slot, stride), (dilation_slot, dilation)];
        match named.into_iter().find_map(|(slot, value)| slot.filter(|_| value == 0)) {
            Some(slot) => wrong(slot, "0, expected at least 1"),
            None => Ok(Window { slot: kernel_slot.unwrap_or(0), padding, stride, dilation, kernel }),
        }
    }

    /// Returns `true` if XNNPACK computes the padding of an operation.
    fn same_padding(&self, rows: &Window, columns: &Window) -> Result<bool, SizeError> {
        let same = self.has_flag(SAME_PADDING);
        if same && (rows.padding != 0 || columns.padding != 0) {
            let message =
                format!("flag {SAME_PADDING:#x}, by which XNNPACK computes the padding, of an operation with padding");
            return wrong(self.operation.flags_slot().unwrap_or(0), message);
        }
        Ok(same)
    }

    /// Returns the number of windows in one dimension of an input.
    fn windows(&self, size: u64, window: &Window, same: bool) -> Result<u64, SizeError> {
        if same {
            return Ok(size.div_ceil(window.stride));
        }
        let padded = size.saturating_add(window.padding);
        match padded.checked_sub(window.extent()) {
            Some(rest) => Ok(rest / window.stride + 1),
            None => {
                let found = format!("a window of {}", counted(window.extent(), "pixel"));
                wrong(window.slot, format!("{found}, larger than the padded input of {padded}"))
            }
        }
    }

    /// Returns the size that a deconvolution computes in one dimension.
    fn widened(&self, size: u64, window: &Window, slot: u16, adjustment: u64) -> Result<u64, SizeError> {
        if adjustment >= window.stride {
            return wrong(slot, format!("{adjustment}, expected less than the stride {}", window.stride));
        }
        let steps = window.stride.saturating_mul(size.saturating_sub(1));
        let all = steps.saturating_add(window.extent()).saturating_add(adjustment);
        match all.checked_sub(window.padding) {
            Some(all) if size > 0 => Ok(all),
            _ => wrong(window.slot, format!("padding {}, of {}", window.padding, counted(all, "pixel"))),
        }
    }

    /// Checks the number of pixels that all windows cover.
    fn covered(&self, rows: &Window, columns: &Window, height: u64, width: u64) -> Result<(), SizeError> {
        match count(&[rows.kernel, columns.kernel, height, width]) {
            Some(covered) if covered <= MAX_COVERED => Ok(()),
            _ => {
                let message = format!("the windows cover more than {MAX_COVERED} pixels of an image in total");
                wrong(rows.slot, message)
            }
        }
    }

    fn global_pooling(&self) -> Result<Outputs, SizeError> {
        use node_1x1::*;
        let [batch, _, _, channels] = self.image(input_id)?;
        match self.has_flag(KEEP_DIMS) {
            true => single(output_id, [batch, 1, 1, channels]),
            false => single(output_id, [batch, channels]),
        }
    }

    fn resize(&self) -> Result<Outputs, SizeError> {
        use resize_bilinear::*;
        for slot in [new_height, new_width] {
            let size = self.number(slot);
            if !(1..MAX_RESIZED).contains(&size) {
                return wrong(slot, format!("{size}, expected 1 to {}", MAX_RESIZED - 1));
            }
        }
        let [batch, height, width, channels] = self.image(input_id)?;
        if height == 0 || width == 0 || channels == 0 {
            return wrong(input_id, "an image without pixels or channels");
        }
        single(output_id, [batch, self.number(new_height), self.number(new_width), channels])
    }

    fn transpose(&self) -> Result<Outputs, SizeError> {
        use transpose::*;
        let (from, order) = (self.dims(input_id)?, self.list(perm));
        let Some(last) = from.len().checked_sub(1) else {
            return wrong(input_id, "an input without dimensions");
        };
        let moved: Option<Vec<u64>> = order.iter().map(|dim| from.get(*dim as usize).copied()).collect();
        let distinct = (0..from.len() as u64).all(|dim| order.contains(&dim));
        match moved {
            Some(moved) if distinct && moved.len() == from.len() => single(output_id, moved),
            _ => wrong(perm, format!("{order:?}, expected a permutation of 0 to {last}")),
        }
    }

    fn reshape(&self) -> Result<Outputs, SizeError> {
        use reshape::*;
        let (from, stated) = (self.dims(input_id)?, self.list(new_shape));
        let mut shape = stated.clone();
        // One size may be 0, which is the rest.
        if let Some(rest) = shape.iter().position(|size| *size == 0) {
            shape[rest] = 1;
            let known = count(&shape).unwrap_or(u64::MAX).max(1);
            shape[rest] = count(&from).unwrap_or(0) / known;
        }
        if shape.len() > MAX_RANK || count(&from) != count(&shape) {
            return wrong(new_shape, format!("{stated:?}, for an input of sizes {from:?}"));
        }
        single(output_id, shape)
    }

    fn slice(&self) -> Result<Outputs, SizeError> {
        use slice::*;
        let (from, starts, lengths) = (self.dims(input_id)?, self.list(offsets), self.list(sizes));
        if from.is_empty() {
            return wrong(input_id, "an input without dimensions");
        }
        let part = |((from, start), length): ((&u64, &u64), &u64)| {
            // XNNPACK computes the end, where 0 means the end of the input: size 0 from offset 0 is the whole
            // dimension, from another offset nothing.
            let length = if *length == 0 && *start == 0 { *from } else { *length };
            (start.saturating_add(length) <= *from).then_some(length)
        };
        let expected: Option<Vec<u64>> = from.iter().zip(&starts).zip(&lengths).map(part).collect();
        match expected {
            Some(expected) if starts.len() == from.len() && lengths.len() == from.len() => single(output_id, expected),
            _ => wrong(sizes, format!("{lengths:?} from {starts:?}, of an input of sizes {from:?}")),
        }
    }

    fn pad(&self) -> Result<Outputs, SizeError> {
        use constant_pad::*;
        let (from, before, after) = (self.dims(input_id)?, self.list(pre_paddings), self.list(post_paddings));
        if before.len() != from.len() || after.len() != from.len() {
            return wrong(pre_paddings, format!("expected {}", counted(from.len(), "item")));
        }
        let padded = from.iter().zip(before).zip(after).map(|((size, a), b)| size.saturating_add(a).saturating_add(b));
        single(output_id, padded.collect::<Vec<u64>>())
    }

    fn concatenation(&self) -> Result<Outputs, SizeError> {
        use cat::*;
        let mut expected = self.dims(input1_id)?.to_vec();
        let found = self.number(axis) as i32;
        // A negative one counts from the end.
        let at = usize::try_from(i64::from(found) + if found < 0 { expected.len() as i64 } else { 0 });
        let Some(at) = at.ok().filter(|at| *at < expected.len()) else {
            return wrong(axis, format!("{found}, of an input of {}", counted(expected.len(), "dimension")));
        };
        expected[at] = 0;
        for slot in self.slots(false) {
            let dims = self.dims(slot)?;
            let same = (0..expected.len()).all(|dim| dim == at || dims.get(dim) == Some(&expected[dim]));
            if dims.len() != expected.len() || !same {
                return wrong(slot, format!("sizes {dims:?}, expected those of the first input"));
            }
            expected[at] = expected[at].saturating_add(dims[at]);
        }
        single(output_id, expected)
    }
}

/// Returns the sizes of an image in torch's order: batch, channels, height, width.
pub(crate) fn to_torch(dims: &[u64]) -> Sizes {
    match *dims {
        [batch, height, width, channels] => smallvec![batch, channels, height, width],
        _ => dims.into(),
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
