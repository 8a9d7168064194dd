//! The graph of an XNNPACK payload: whether what it says of its values and operations holds together.
//!
//! The backend looks values up by numbers that it takes for right, and XNNPACK reads as many weights as an operation's fields
//! say, whatever the filter has. Whether XNNPACK can do an operation at all is its own to say.

use std::collections::{BTreeMap, HashSet};

use crate::delegate::xnnpack::*;
use crate::format::flatbuffer::read::{Result, TableRef};
use crate::format::{Kind, Table};

/// Values of at most so many dimensions are there for XNNPACK.
const MOST_DIMS: usize = 6;

/// Flags of a value: it comes from outside, or goes there.
const INPUT: u32 = 1;
const OUTPUT: u32 = 2;

/// Flag of a matrix product: the filter has its inputs first.
const TRANSPOSED: u32 = 1;

/// Constant data that the graph asks for.
pub(super) struct Constant {
    /// Its key among the named data; `None` if it is in the payload.
    pub key: Option<String>,
    /// Where it is in the payload's constants, or in the graph.
    pub offset: u64,
    /// How many bytes it says it has.
    pub size: u64,
    /// How many bytes the graph reads of it.
    pub needed: u64,
}

/// An argument of the delegate: its number and XNNPACK's number of its element type.
pub(super) struct Extern {
    pub id: u32,
    pub datatype: i16,
}

/// A value.
struct Value {
    dims: Vec<u64>,
    constant: bool,
    flags: u32,
    /// An operation before made it.
    made: bool,
}

/// What is to be known of a graph.
#[derive(Default)]
pub(super) struct Graph {
    pub constants: Vec<Constant>,
    pub externs: Vec<Extern>,
    values: BTreeMap<u32, Value>,
    /// The numbers of [`Graph::externs`].
    outside: HashSet<u32>,
}

impl Graph {
    pub fn read(t: TableRef<'_, '_>) -> Result<Graph> {
        let mut graph = Graph { constants: constants(&t)?, ..Graph::default() };
        t.children(graph::xvalues, &VALUE, |t| graph.value(t))?;
        t.children(graph::xnodes, &NODE, |t| graph.node(t))?;
        graph.ends(&t)?;
        Ok(graph)
    }

    fn value(&mut self, t: TableRef<'_, '_>) -> Result<()> {
        let (tag, member) = t.tagged(value::xvalue_union_type, value::xvalue_union, VALUES, "kind of value")?;
        let Some(member) = member else { return t.wrong(value::xvalue_union, "the value is missing") };
        let (tensor, quantized) = match tag {
            1 => (Some(member), None),
            _ => (member.child(quantized_tensor_value::tensor_value, &TENSOR_VALUE)?, Some(member)),
        };
        let Some(tensor) = tensor else {
            return t.wrong(value::xvalue_union, "the quantized tensor is missing");
        };
        // The backend counts the sizes, and does not look at `num_dims`.
        let sizes: Vec<i32> = tensor.i32s(tensor_value::dims)?.unwrap_or_default();
        let dims: Vec<u64> = sizes.iter().map(|size| u64::from(*size as u32)).collect();
        if dims.len() > MOST_DIMS {
            return tensor.wrong(tensor_value::dims, format!("there are {} dimensions", dims.len()));
        }
        let datatype = tensor.i16(tensor_value::datatype)?;
        let bytes = count(&dims).and_then(|count| nbytes(count, datatype));
        self.constant(&tensor, tensor_value::constant_buffer_idx, bytes)?;
        if let Some(quantized) = quantized {
            self.quantization(&quantized, &dims)?;
        }
        let constant = tensor.u32(tensor_value::constant_buffer_idx)? != 0;
        let external = tensor.u32(tensor_value::external_id)?;
        let flags = tensor.u32(tensor_value::flags)?;
        if (flags != 0) != (external != NO_ID) || flags & !(INPUT | OUTPUT) != 0 || (constant && flags != 0) {
            let message = format!("the flags {flags} do not go with the number {external} outside");
            return tensor.wrong(tensor_value::flags, message);
        }
        if external != NO_ID {
            if !self.outside.insert(external) {
                return tensor
                    .wrong(tensor_value::external_id, format!("two values have the number {external} outside"));
            }
            self.externs.push(Extern { id: external, datatype });
        }
        let id = tensor.u32(tensor_value::id_out)?;
        match self.values.insert(id, Value { dims, constant, flags, made: false }) {
            Some(_) => tensor.wrong(tensor_value::id_out, format!("two values have the number {id}")),
            None => Ok(()),
        }
    }

    /// A constant that a field refers to by its number; 0 is none.
    fn constant(&mut self, t: &TableRef<'_, '_>, slot: u16, bytes: Option<u64>) -> Result<()> {
        let index = t.u32(slot)? as usize;
        if index == 0 {
            return Ok(());
        }
        match (self.constants.get_mut(index), bytes) {
            (Some(constant), Some(bytes)) => constant.needed = constant.needed.max(bytes),
            (None, _) => return t.wrong(slot, format!("there is no constant {index}")),
            (_, None) => return t.wrong(slot, "a tensor has more bytes than there are"),
        }
        Ok(())
    }

    fn quantization(&mut self, t: &TableRef<'_, '_>, dims: &[u64]) -> Result<()> {
        use quantized_tensor_value as q;
        let (tag, member) = t.tagged(q::quant_params_type, q::quant_params, QUANT_PARAMS, "kind of quantization")?;
        let Some(member) = member else { return t.wrong(q::quant_params, "the parameters are missing") };
        // Scales are floats, those of groups bfloat16.
        let (scale, dim, buffer, count, each) = match tag {
            1 => {
                use per_channel_quant::*;
                (scale, channel_dim, scale_buffer_idx, num_scales, 4)
            }
            4 => {
                use per_channel_group_quant::*;
                (scale, channel_dim, scale_buffer_idx, num_scales, 2)
            }
            _ => return Ok(()),
        };
        let channels = usize::try_from(member.i32(dim)?).ok().and_then(|dim| dims.get(dim));
        let Some(channels) = channels.copied() else {
            return member.wrong(dim, format!("the channels are no dimension of {}", dims.len()));
        };
        if member.u32(buffer)? != 0 {
            let count = u64::from(member.u32(count)?).max(channels);
            return self.constant(&member, buffer, Some(count * each));
        }
        let scales: Vec<i32> = member.i32s(scale)?.unwrap_or_default();
        if tag == 1 && (scales.len() as u64) < channels {
            return member.wrong(scale, format!("there are {} scales for {channels} channels", scales.len()));
        }
        Ok(())
    }

    /// What comes from outside and goes there is what the lists say.
    fn ends(&self, t: &TableRef<'_, '_>) -> Result<()> {
        for (slot, flag) in [(graph::input_ids, INPUT), (graph::output_ids, OUTPUT)] {
            let ids: Vec<i32> = t.i32s(slot)?.unwrap_or_default();
            let listed: HashSet<u32> = ids.iter().map(|id| *id as u32).collect();
            let flagged: HashSet<u32> =
                self.values.iter().filter(|(_, value)| value.flags & flag != 0).map(|(id, _)| *id).collect();
            if let Some(id) = listed.symmetric_difference(&flagged).min() {
                return t
                    .wrong(slot, format!("value {id} is in the list and has no such flag, or the other way round"));
            }
        }
        Ok(())
    }

    fn node(&mut self, t: TableRef<'_, '_>) -> Result<()> {
        let (tag, member) = t.tagged(node::xnode_union_type, node::xnode_union, NODES, "operation")?;
        let Some(member) = member else { return t.wrong(node::xnode_union, "the operation is missing") };
        t.child(node::output_min_max, &OUTPUT_MIN_MAX)?;
        let table: &Table = NODES[usize::from(tag) - 1];
        let inputs = inputs(tag);
        let mut outputs = Vec::new();
        for (slot, field) in (0..).zip(table.fields) {
            if !matches!(field.kind, Kind::UInt) || !field.name.ends_with("_id") {
                continue;
            }
            let number = field.name.strip_prefix("input").and_then(|name| name.strip_suffix("_id"));
            if number.and_then(|number| number.parse().ok()).is_some_and(|number: u8| number > inputs) {
                continue;
            }
            let id = member.u32(slot)?;
            let is_output = field.name.starts_with("output");
            match self.values.get(&id) {
                Some(value) if is_output && (value.constant || value.flags & INPUT != 0 || value.made) => {
                    let message = format!("value {id} is a constant, an input, or made by another operation");
                    return member.wrong(slot, message);
                }
                Some(_) if is_output => outputs.push(id),
                Some(value) if value.constant || value.flags & INPUT != 0 || value.made => {}
                Some(_) => return member.wrong(slot, format!("nothing makes value {id} before")),
                None if id == NO_ID && !is_output => {}
                None => return member.wrong(slot, format!("there is no value {id}")),
            }
        }
        self.shapes(tag, &member)?;
        for id in outputs {
            self.values.entry(id).and_modify(|value| value.made = true);
        }
        Ok(())
    }

    fn dims(&self, t: &TableRef<'_, '_>, slot: u16) -> Result<Option<&[u64]>> {
        Ok(self.values.get(&t.u32(slot)?).map(|value| &*value.dims))
    }

    /// The dimensions of a value that must be there.
    fn some_dims(&self, t: &TableRef<'_, '_>, slot: u16) -> Result<&[u64]> {
        self.dims(t, slot)?.map_or_else(|| t.wrong(slot, "there is no such value"), Ok)
    }

    /// Whether sizes of inputs, weights and results agree, for the operations where XNNPACK takes it for granted.
    fn shapes(&self, tag: u8, t: &TableRef<'_, '_>) -> Result<()> {
        let table: &Table = NODES[usize::from(tag) - 1];
        let is = |other: &Table| std::ptr::eq(table, other);
        let disagree = |slot: u16| t.wrong(slot, "its sizes do not agree with those of the other values");
        if is(&CONV) {
            return self.convolution(tag, t);
        }
        if is(&FULLY_CONNECTED) {
            use fully_connected::*;
            let (input, filter) = (self.some_dims(t, input1_id)?, self.some_dims(t, filter_id)?);
            let transposed = t.u32(flags)? & TRANSPOSED != 0;
            let (made, taken) = match *filter {
                [taken, made] if transposed => (made, taken),
                [made, taken] => (made, taken),
                _ => return t.wrong(filter_id, format!("a filter has 2 dimensions, not {}", filter.len())),
            };
            if input.last() != Some(&taken) || self.some_dims(t, output_id)?.last() != Some(&made) {
                return disagree(filter_id);
            }
            return self.bias(t, bias_id, made);
        }
        if (is(&NODE_1X1) && tag != GLOBAL_AVERAGE) || is(&SLOPED) {
            // Both have the output behind the input.
            let (from, to) = if is(&SLOPED) {
                (sloped::input_id, sloped::output_id)
            } else {
                (node_1x1::input_id, node_1x1::output_id)
            };
            let (one, other) = (self.some_dims(t, from)?, self.some_dims(t, to)?);
            // The exporter gives what it quantizes for a convolution the sizes that torch has, in torch's order.
            let fits = one == other || (tag == CONVERT && one.len() == other.len() && count(one) == count(other));
            return if fits { Ok(()) } else { disagree(to) };
        }
        if is(&NODE_2X1) {
            use node_2x1::*;
            let (one, other) = (self.some_dims(t, input1_id)?, self.some_dims(t, input2_id)?);
            let made = self.some_dims(t, output_id)?;
            let fits = if tag == BATCH_PRODUCT { is_product(one, other, made) } else { is_broadcast(one, other, made) };
            return if fits { Ok(()) } else { disagree(output_id) };
        }
        if is(&POOLING) {
            use pooling::*;
            for slot in [pooling_height, pooling_width, stride_height, stride_width] {
                if t.u32(slot)? == 0 && (tag == MAX_POOLING || slot < stride_height) {
                    return t.wrong(slot, "it is 0");
                }
            }
            let (from, to) = (self.some_dims(t, input_id)?, self.some_dims(t, output_id)?);
            let fits = from.len() == 4 && to.len() == 4 && (from[0], from[3]) == (to[0], to[3]);
            return if fits { Ok(()) } else { disagree(output_id) };
        }
        if is(&TRANSPOSE) {
            use transpose::*;
            let (from, to) = (self.some_dims(t, input_id)?, self.some_dims(t, output_id)?);
            let order: Vec<i32> = t.i32s(perm)?.unwrap_or_default();
            let moved: Option<Vec<u64>> = order.iter().map(|dim| from.get(*dim as u32 as usize).copied()).collect();
            let fits = order.len() == from.len() && moved.as_deref() == Some(to);
            return if fits { Ok(()) } else { disagree(perm) };
        }
        if is(&RESHAPE) {
            use reshape::*;
            let shape: Vec<i32> = t.i32s(new_shape)?.unwrap_or_default();
            let fits =
                shape.len() <= MOST_DIMS && count(self.some_dims(t, input_id)?) == count(self.some_dims(t, output_id)?);
            return if fits { Ok(()) } else { disagree(new_shape) };
        }
        if is(&SLICE) || is(&CONSTANT_PAD) {
            let (lists, from, to) = match is(&SLICE) {
                true => ([slice::offsets, slice::sizes], slice::input_id, slice::output_id),
                false => {
                    use constant_pad::*;
                    ([pre_paddings, post_paddings], input_id, output_id)
                }
            };
            let (from, to) = (self.some_dims(t, from)?, self.some_dims(t, to)?);
            let one: Vec<i32> = t.i32s(lists[0])?.unwrap_or_default();
            let other: Vec<i32> = t.i32s(lists[1])?.unwrap_or_default();
            let number = |list: &[i32], dim: usize| list.get(dim).map(|number| u64::from(*number as u32));
            let fits = (0..from.len()).all(|dim| match (number(&one, dim), number(&other, dim)) {
                (Some(offset), Some(size)) if is(&SLICE) => offset + size <= from[dim] && to.get(dim) == Some(&size),
                (Some(before), Some(after)) => to.get(dim) == Some(&(before + from[dim] + after)),
                _ => false,
            });
            return if fits && from.len() == to.len() { Ok(()) } else { disagree(lists[1]) };
        }
        if is(&CAT) {
            use cat::*;
            let all = [input1_id, input2_id, input3_id, input4_id, input5_id];
            let to = self.some_dims(t, output_id)?;
            let at = t.u32(axis)? as i32;
            let at = if at < 0 { at + to.len() as i32 } else { at } as usize;
            let mut sum = 0;
            for slot in &all[..usize::from(inputs(tag))] {
                let from = self.some_dims(t, *slot)?;
                let same = from.iter().zip(to).enumerate().all(|(dim, (one, other))| dim == at || one == other);
                if from.len() != to.len() || at >= to.len() || !same {
                    return disagree(*slot);
                }
                sum += from[at];
            }
            return if to.get(at) == Some(&sum) { Ok(()) } else { disagree(output_id) };
        }
        Ok(())
    }

    fn convolution(&self, tag: u8, t: &TableRef<'_, '_>) -> Result<()> {
        use conv::*;
        for slot in [
            kernel_height,
            kernel_width,
            subsampling_height,
            subsampling_width,
            dilation_height,
            dilation_width,
            group_input_channels,
            group_output_channels,
            groups,
        ] {
            if t.u32(slot)? == 0 {
                return t.wrong(slot, "it is 0");
            }
        }
        let number = |slot| t.u32(slot).map(u64::from);
        let (area, blocks) = (number(kernel_height)?.checked_mul(number(kernel_width)?), number(groups)?);
        let taken = blocks.checked_mul(number(group_input_channels)?);
        let made = blocks.checked_mul(number(group_output_channels)?);
        // Each group's outputs see the group's inputs.
        let weights = area.zip(made).and_then(|(area, made)| area.checked_mul(made));
        let weights = weights.and_then(|weights| weights.checked_mul(number(group_input_channels).ok()?));
        let (input, output) = (self.some_dims(t, input1_id)?, self.some_dims(t, output_id)?);
        let filter = self.some_dims(t, filter_id)?;
        let fits = input.len() == 4
            && output.len() == 4
            && filter.len() == 4
            && weights == count(filter)
            // Of what is quantized while it runs, the exporter has the sizes in torch's order.
            && [input[3], input[1]].map(Some).contains(&taken)
            && Some(output[3]) == made
            && input[0] == output[0];
        if !fits || (tag == DEPTHWISE && number(group_input_channels)? != 1) {
            return t.wrong(filter_id, "the sizes of filter, input and output do not agree with the operation's");
        }
        self.bias(t, bias_id, output[3])
    }

    fn bias(&self, t: &TableRef<'_, '_>, slot: u16, made: u64) -> Result<()> {
        match self.dims(t, slot)? {
            Some(dims) if count(dims) != Some(made) => t.wrong(slot, format!("a bias has {made} elements")),
            _ => Ok(()),
        }
    }
}

/// Members of `XNodeUnion` that are unlike others of the same table.
const DEPTHWISE: u8 = 13;
const MAX_POOLING: u8 = 14;
const CONVERT: u8 = 18;
const GLOBAL_AVERAGE: u8 = 19;
const BATCH_PRODUCT: u8 = 37;

fn count(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1u64, |count, size| count.checked_mul(*size))
}

/// Whether each dimension of the result, counted from the last, is that of both operands, or of one if the other has 1.
fn is_broadcast(one: &[u64], other: &[u64], made: &[u64]) -> bool {
    let at = |dims: &[u64], back: usize| dims.len().checked_sub(back + 1).map_or(1, |dim| dims[dim]);
    made.len() == one.len().max(other.len())
        && (0..made.len()).all(|back| {
            let (one, other) = (at(one, back), at(other, back));
            (one == other || one == 1 || other == 1) && at(made, back) == if one == 1 { other } else { one }
        })
}

/// Whether a matrix product has these sizes; the second matrix may lie the other way round.
fn is_product(one: &[u64], other: &[u64], made: &[u64]) -> bool {
    let ([.., rows, inner], [.., a, b], [.., height, width]) = (one, other, made) else { return false };
    rows == height && ((a == inner && b == width) || (b == inner && a == width))
}

/// How many inputs with a number an operation has.
fn inputs(tag: u8) -> u8 {
    match tag {
        32 => 2,
        33 => 3,
        34 => 4,
        38 => 5,
        _ => u8::MAX,
    }
}

/// The constants by their numbers; that with number 0 is none.
fn constants(t: &TableRef<'_, '_>) -> Result<Vec<Constant>> {
    let listed = t.children(graph::constant_data, &CONSTANT_DATA_OFFSET, |t| {
        let key = t.text(constant_data_offset::named_key)?.filter(|key| !key.is_empty());
        let (offset, size) = (t.u64(constant_data_offset::offset)?, t.u64(constant_data_offset::size)?);
        Ok(Constant { key, offset, size, needed: 0 })
    })?;
    if let Some(listed) = listed.filter(|listed| !listed.is_empty()) {
        return Ok(listed);
    }
    let inside = t.children(graph::constant_buffer, &BUFFER, |t| {
        let (_, size) = t.range(buffer::storage)?.unwrap_or_default();
        // They are in the graph, and so inside the payload.
        Ok(Constant { key: None, offset: 0, size, needed: 0 })
    })?;
    Ok(inside.unwrap_or_default())
}

/// Bytes of so many elements; `None` beyond `u64`. What is not known here has none.
fn nbytes(count: u64, datatype: i16) -> Option<u64> {
    match datatype {
        1 | 5 | 7 | 12 => count.checked_mul(4),
        2 | 14 => count.checked_mul(2),
        3 | 4 | 6 => Some(count),
        8 | 10 => Some(count / 2),
        _ => Some(0),
    }
}
