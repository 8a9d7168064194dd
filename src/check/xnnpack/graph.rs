//! Consistency of the graph of an XNNPACK payload: ids of values, constants, and sizes.
//!
//! The backend does not check the ids of values, and XNNPACK reads as many weights as the fields of an operation say, whatever the
//! size of the filter. Operations that XNNPACK itself rejects are not checked.

use std::collections::{BTreeMap, HashSet};

use crate::delegate::xnnpack::*;
use crate::diagnostics::counted;
use crate::format::flatbuffer::read::{Result, TableRef};
use crate::format::{Kind, TableSchema};

/// Highest rank of a value in XNNPACK.
const MAX_RANK: usize = 6;

/// Flags of a value: external input, external output.
const INPUT: u32 = 1;
const OUTPUT: u32 = 2;

/// Flag of a matrix product: the filter has sizes `[inputs, outputs]`.
const TRANSPOSED: u32 = 1;

/// Constant data of the graph.
pub(super) struct GraphConstant {
    /// Key in the named data; `None` if it is in the payload.
    pub key: Option<String>,
    /// Offset in the constants of the payload.
    pub offset: u64,
    /// Declared size in bytes.
    pub size: u64,
    /// Size in bytes that the graph reads.
    pub needed: u64,
}

/// An argument of the delegate: its index, and XNNPACK's code of its element type.
pub(super) struct ExternalValue {
    pub id: u32,
    pub datatype: i16,
}

/// A value of the graph.
struct GraphValue {
    dims: Vec<u64>,
    constant: bool,
    flags: u32,
    /// `true` if an earlier operation writes it.
    written: bool,
}

/// A graph, as far as it is checked.
#[derive(Default)]
pub(super) struct Graph {
    pub constants: Vec<GraphConstant>,
    pub external_values: Vec<ExternalValue>,
    values: BTreeMap<u32, GraphValue>,
    /// Ids of [`Graph::external_values`].
    external_ids: HashSet<u32>,
}

impl Graph {
    pub fn read(t: TableRef<'_, '_>) -> Result<Graph> {
        let mut graph = Graph { constants: constants(&t)?, ..Graph::default() };
        t.children(graph::xvalues, &VALUE, |t| graph.value(t))?;
        t.children(graph::xnodes, &NODE, |t| graph.node(t))?;
        graph.check_inputs_and_outputs(&t)?;
        Ok(graph)
    }

    fn value(&mut self, t: TableRef<'_, '_>) -> Result<()> {
        let (tag, member) = t.tagged(value::xvalue_union_type, value::xvalue_union, VALUES, "kind of value")?;
        let Some(member) = member else { return t.wrong(value::xvalue_union, "xvalue_union is missing") };
        let (tensor, quantized) = match tag {
            1 => (Some(member), None),
            _ => (member.child(quantized_tensor_value::tensor_value, &TENSOR_VALUE)?, Some(member)),
        };
        let Some(tensor) = tensor else {
            return t.wrong(value::xvalue_union, "tensor_value is missing");
        };
        // The backend uses the length of `dims`, not `num_dims`.
        let sizes: Vec<i32> = tensor.i32s(tensor_value::dims)?.unwrap_or_default();
        let dims: Vec<u64> = sizes.iter().map(|size| u64::from(*size as u32)).collect();
        if dims.len() > MAX_RANK {
            return tensor.wrong(tensor_value::dims, format!("{} dimensions, expected at most {MAX_RANK}", dims.len()));
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
            let message = format!("flags {flags} contradict external_id {external}");
            return tensor.wrong(tensor_value::flags, message);
        }
        if external != NO_ID {
            if !self.external_ids.insert(external) {
                return tensor.wrong(tensor_value::external_id, format!("duplicate external_id {external}"));
            }
            self.external_values.push(ExternalValue { id: external, datatype });
        }
        let id = tensor.u32(tensor_value::id_out)?;
        match self.values.insert(id, GraphValue { dims, constant, flags, written: false }) {
            Some(_) => tensor.wrong(tensor_value::id_out, format!("duplicate id {id}")),
            None => Ok(()),
        }
    }

    /// Records a use of a constant of `bytes` bytes, by the index in a field; 0 is none.
    fn constant(&mut self, t: &TableRef<'_, '_>, slot: u16, bytes: Option<u64>) -> Result<()> {
        let index = t.u32(slot)? as usize;
        if index == 0 {
            return Ok(());
        }
        match (self.constants.get_mut(index), bytes) {
            (Some(constant), Some(bytes)) => constant.needed = constant.needed.max(bytes),
            (None, _) => return t.wrong(slot, format!("unknown constant {index}")),
            (_, None) => return t.wrong(slot, "the size of the tensor overflows"),
        }
        Ok(())
    }

    fn quantization(&mut self, t: &TableRef<'_, '_>, dims: &[u64]) -> Result<()> {
        use quantized_tensor_value as q;
        let (tag, member) = t.tagged(q::quant_params_type, q::quant_params, QUANT_PARAMS, "kind of quantization")?;
        let Some(member) = member else { return t.wrong(q::quant_params, "quant_params are missing") };
        // Scales are float32; those of groups are bfloat16.
        let (scale, dim, buffer, count, scale_size) = match tag {
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
            return member.wrong(dim, format!("channel_dim of a tensor of rank {} is out of range", dims.len()));
        };
        if member.u32(buffer)? != 0 {
            let count = u64::from(member.u32(count)?).max(channels);
            return self.constant(&member, buffer, Some(count * scale_size));
        }
        let scales: Vec<i32> = member.i32s(scale)?.unwrap_or_default();
        if tag == 1 && (scales.len() as u64) < channels {
            return member.wrong(scale, format!("{} scales for {channels} channels", scales.len()));
        }
        Ok(())
    }

    /// Checks that the lists of inputs and outputs agree with the flags of the values.
    fn check_inputs_and_outputs(&self, t: &TableRef<'_, '_>) -> Result<()> {
        for (slot, flag) in [(graph::input_ids, INPUT), (graph::output_ids, OUTPUT)] {
            let ids: Vec<i32> = t.i32s(slot)?.unwrap_or_default();
            let listed: HashSet<u32> = ids.iter().map(|id| *id as u32).collect();
            let flagged: HashSet<u32> =
                self.values.iter().filter(|(_, value)| value.flags & flag != 0).map(|(id, _)| *id).collect();
            if let Some(id) = listed.symmetric_difference(&flagged).min() {
                return t.wrong(slot, format!("the list and the flags disagree about value {id}"));
            }
        }
        Ok(())
    }

    fn node(&mut self, t: TableRef<'_, '_>) -> Result<()> {
        let (tag, member) = t.tagged(node::xnode_union_type, node::xnode_union, NODES, "operation")?;
        let Some(member) = member else { return t.wrong(node::xnode_union, "xnode_union is missing") };
        t.child(node::output_min_max, &OUTPUT_MIN_MAX)?;
        let table: &TableSchema = NODES[usize::from(tag) - 1];
        let inputs = numbered_inputs(tag);
        let mut outputs = Vec::new();
        for (slot, field) in (0..).zip(table.fields) {
            if !matches!(field.kind, Kind::UInt) || !field.name.ends_with("_id") {
                continue;
            }
            let position = field.name.strip_prefix("input").and_then(|name| name.strip_suffix("_id"));
            if position.and_then(|position| position.parse().ok()).is_some_and(|position: u8| position > inputs) {
                continue;
            }
            let id = member.u32(slot)?;
            let is_output = field.name.starts_with("output");
            match self.values.get(&id) {
                Some(value) if is_output && (value.constant || value.flags & INPUT != 0 || value.written) => {
                    let message = format!("output {id} is a constant, an input, or the output of an earlier operation");
                    return member.wrong(slot, message);
                }
                Some(_) if is_output => outputs.push(id),
                Some(value) if value.constant || value.flags & INPUT != 0 || value.written => {}
                Some(_) => return member.wrong(slot, format!("value {id} is used before it is written")),
                None if id == NO_ID && !is_output => {}
                None => return member.wrong(slot, format!("unknown value {id}")),
            }
        }
        self.check_shapes(tag, &member)?;
        for id in outputs {
            self.values.entry(id).and_modify(|value| value.written = true);
        }
        Ok(())
    }

    /// Returns the dimensions of the value whose id is in a field, if there is such a value.
    fn dims(&self, t: &TableRef<'_, '_>, slot: u16) -> Result<Option<&[u64]>> {
        Ok(self.values.get(&t.u32(slot)?).map(|value| &*value.dims))
    }

    /// Returns the dimensions of the value whose id is in a field.
    ///
    /// # Errors
    /// If there is no such value.
    fn required_dims(&self, t: &TableRef<'_, '_>, slot: u16) -> Result<&[u64]> {
        self.dims(t, slot)?.map_or_else(|| t.wrong(slot, "the value is missing"), Ok)
    }

    /// Checks the sizes of inputs, weights and outputs, for the operations for which XNNPACK does not.
    fn check_shapes(&self, tag: u8, t: &TableRef<'_, '_>) -> Result<()> {
        let table: &TableSchema = NODES[usize::from(tag) - 1];
        let is = |other: &TableSchema| std::ptr::eq(table, other);
        let disagree = |slot: u16| t.wrong(slot, "its sizes disagree with those of the other values");
        if is(&CONV) {
            return self.check_convolution(tag, t);
        }
        if is(&FULLY_CONNECTED) {
            use fully_connected::*;
            let (input, filter) = (self.required_dims(t, input1_id)?, self.required_dims(t, filter_id)?);
            let transposed = t.u32(flags)? & TRANSPOSED != 0;
            let (outputs, inputs) = match *filter {
                [inputs, outputs] if transposed => (outputs, inputs),
                [outputs, inputs] => (outputs, inputs),
                _ => {
                    return t
                        .wrong(filter_id, format!("a filter of {}, expected 2", counted(filter.len(), "dimension")));
                }
            };
            if input.last() != Some(&inputs) || self.required_dims(t, output_id)?.last() != Some(&outputs) {
                return disagree(filter_id);
            }
            return self.check_bias(t, bias_id, outputs);
        }
        if (is(&NODE_1X1) && tag != GLOBAL_AVERAGE) || is(&SLOPED) {
            let (from, to) = if is(&SLOPED) {
                (sloped::input_id, sloped::output_id)
            } else {
                (node_1x1::input_id, node_1x1::output_id)
            };
            let (one, other) = (self.required_dims(t, from)?, self.required_dims(t, to)?);
            // The exporter writes the sizes of an input that it quantizes for a convolution in torch's order.
            let fits = one == other || (tag == CONVERT && one.len() == other.len() && count(one) == count(other));
            return if fits { Ok(()) } else { disagree(to) };
        }
        if is(&NODE_2X1) {
            use node_2x1::*;
            let (one, other) = (self.required_dims(t, input1_id)?, self.required_dims(t, input2_id)?);
            let output = self.required_dims(t, output_id)?;
            let fits = match tag {
                BATCH_PRODUCT => is_product(one, other, output),
                _ => is_broadcast(one, other, output),
            };
            return if fits { Ok(()) } else { disagree(output_id) };
        }
        if is(&POOLING) {
            use pooling::*;
            for slot in [pooling_height, pooling_width, stride_height, stride_width] {
                if t.u32(slot)? == 0 && (tag == MAX_POOLING || slot < stride_height) {
                    return t.wrong(slot, "0, expected at least 1");
                }
            }
            let (from, to) = (self.required_dims(t, input_id)?, self.required_dims(t, output_id)?);
            let fits = from.len() == 4 && to.len() == 4 && (from[0], from[3]) == (to[0], to[3]);
            return if fits { Ok(()) } else { disagree(output_id) };
        }
        if is(&TRANSPOSE) {
            use transpose::*;
            let (from, to) = (self.required_dims(t, input_id)?, self.required_dims(t, output_id)?);
            let order: Vec<i32> = t.i32s(perm)?.unwrap_or_default();
            let moved: Option<Vec<u64>> = order.iter().map(|dim| from.get(*dim as u32 as usize).copied()).collect();
            let fits = order.len() == from.len() && moved.as_deref() == Some(to);
            return if fits { Ok(()) } else { disagree(perm) };
        }
        if is(&RESHAPE) {
            use reshape::*;
            let shape: Vec<i32> = t.i32s(new_shape)?.unwrap_or_default();
            let fits = shape.len() <= MAX_RANK
                && count(self.required_dims(t, input_id)?) == count(self.required_dims(t, output_id)?);
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
            let (from, to) = (self.required_dims(t, from)?, self.required_dims(t, to)?);
            let one: Vec<i32> = t.i32s(lists[0])?.unwrap_or_default();
            let other: Vec<i32> = t.i32s(lists[1])?.unwrap_or_default();
            let item = |list: &[i32], dim: usize| list.get(dim).map(|item| u64::from(*item as u32));
            let fits = (0..from.len()).all(|dim| match (item(&one, dim), item(&other, dim)) {
                (Some(offset), Some(size)) if is(&SLICE) => offset + size <= from[dim] && to.get(dim) == Some(&size),
                (Some(before), Some(after)) => to.get(dim) == Some(&(before + from[dim] + after)),
                (None, _) | (_, None) => false,
            });
            return if fits && from.len() == to.len() { Ok(()) } else { disagree(lists[1]) };
        }
        if is(&CAT) {
            use cat::*;
            let all = [input1_id, input2_id, input3_id, input4_id, input5_id];
            let to = self.required_dims(t, output_id)?;
            let at = t.u32(axis)? as i32;
            let at = if at < 0 { at + to.len() as i32 } else { at } as usize;
            let mut sum = 0;
            for slot in &all[..usize::from(numbered_inputs(tag))] {
                let from = self.required_dims(t, *slot)?;
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

    fn check_convolution(&self, tag: u8, t: &TableRef<'_, '_>) -> Result<()> {
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
                return t.wrong(slot, "0, expected at least 1");
            }
        }
        let field = |slot| t.u32(slot).map(u64::from);
        let (area, group_count) = (field(kernel_height)?.checked_mul(field(kernel_width)?), field(groups)?);
        let inputs = group_count.checked_mul(field(group_input_channels)?);
        let outputs = group_count.checked_mul(field(group_output_channels)?);
        // Each output of a group depends on all inputs of the group.
        let weights = area.zip(outputs).and_then(|(area, outputs)| area.checked_mul(outputs));
        let weights = weights.and_then(|weights| weights.checked_mul(field(group_input_channels).ok()?));
        let (input, output) = (self.required_dims(t, input1_id)?, self.required_dims(t, output_id)?);
        let filter = self.required_dims(t, filter_id)?;
        let fits = input.len() == 4
            && output.len() == 4
            && filter.len() == 4
            && weights == count(filter)
            // The exporter writes the sizes of a dynamically quantized input in torch's order.
            && [input[3], input[1]].map(Some).contains(&inputs)
            && Some(output[3]) == outputs
            && input[0] == output[0];
        if !fits || (tag == DEPTHWISE && field(group_input_channels)? != 1) {
            return t.wrong(filter_id, "the sizes of filter, input and output disagree with the operation");
        }
        self.check_bias(t, bias_id, output[3])
    }

    fn check_bias(&self, t: &TableRef<'_, '_>, slot: u16, outputs: u64) -> Result<()> {
        match self.dims(t, slot)? {
            Some(dims) if count(dims) != Some(outputs) => {
                t.wrong(slot, format!("expected a bias of {}", counted(outputs, "element")))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Tags of `XNodeUnion` that are checked differently from others with the same table.
const DEPTHWISE: u8 = 13;
const MAX_POOLING: u8 = 14;
const CONVERT: u8 = 18;
const GLOBAL_AVERAGE: u8 = 19;
const BATCH_PRODUCT: u8 = 37;

/// Returns the number of elements; `None` beyond `u64`.
fn count(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1u64, |count, size| count.checked_mul(*size))
}

/// Returns `true` if two operands broadcast to the sizes of the output.
fn is_broadcast(one: &[u64], other: &[u64], output: &[u64]) -> bool {
    let at = |dims: &[u64], back: usize| dims.len().checked_sub(back + 1).map_or(1, |dim| dims[dim]);
    output.len() == one.len().max(other.len())
        && (0..output.len()).all(|back| {
            let (one, other) = (at(one, back), at(other, back));
            (one == other || one == 1 || other == 1) && at(output, back) == if one == 1 { other } else { one }
        })
}

/// Returns `true` if a matrix product has these sizes; the second matrix may be transposed.
fn is_product(one: &[u64], other: &[u64], output: &[u64]) -> bool {
    let ([.., rows, inner], [.., a, b], [.., height, width]) = (one, other, output) else { return false };
    rows == height && ((a == inner && b == width) || (b == inner && a == width))
}

/// Returns the number of fields `input1_id`, `input2_id`, ... that an operation uses.
fn numbered_inputs(tag: u8) -> u8 {
    match tag {
        32 => 2,
        33 => 3,
        34 => 4,
        38 => 5,
        _ => u8::MAX,
    }
}

/// Returns the constants by index; index 0 means none.
fn constants(t: &TableRef<'_, '_>) -> Result<Vec<GraphConstant>> {
    let listed = t.children(graph::constant_data, &CONSTANT_DATA_OFFSET, |t| {
        let key = t.text(constant_data_offset::named_key)?.filter(|key| !key.is_empty());
        let (offset, size) = (t.u64(constant_data_offset::offset)?, t.u64(constant_data_offset::size)?);
        Ok(GraphConstant { key, offset, size, needed: 0 })
    })?;
    if let Some(listed) = listed.filter(|listed| !listed.is_empty()) {
        return Ok(listed);
    }
    let inside = t.children(graph::constant_buffer, &BUFFER, |t| {
        let (_, size) = t.range(buffer::storage)?.unwrap_or_default();
        // `range` fails unless they are inside the graph.
        Ok(GraphConstant { key: None, offset: 0, size, needed: 0 })
    })?;
    Ok(inside.unwrap_or_default())
}

/// Returns the size of `count` elements in bytes; `None` beyond `u64`, 0 for an unknown type.
fn nbytes(count: u64, datatype: i16) -> Option<u64> {
    match datatype {
        1 | 5 | 7 | 12 => count.checked_mul(4),
        2 | 14 => count.checked_mul(2),
        3 | 4 | 6 => Some(count),
        8 | 10 => Some(count / 2),
        _ => Some(0),
    }
}
