//! Checks the consistency of the graph of an XNNPACK payload: ids of values, constants, and sizes.
//!
//! The backend does not check the ids of values, and XNNPACK derives the number of weights that it reads from the
//! fields of an operation, whatever the size of the filter. Operations that XNNPACK itself rejects are not checked.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use super::types::{ChannelDim, OperandTypes, ROWS};
use super::values::{EncodedOperation, GraphValue, GraphValues, ValueScales};
use crate::RuleId::{self, *};
use pte_model::diagnostics::counted;
use pte_model::format::flatbuffer::read::{ReadError, Result, TableRef};
use pte_model::format::table::Union;
use pte_model::program::element::Part;
use pte_xnnpack::arguments::{GraphArgument, Readers};
use pte_xnnpack::draft::{count, nbytes};
use pte_xnnpack::schema::*;
use pte_xnnpack::sizes;

/// Maximum size in bytes of a value that is not a constant.
const MAX_VALUE: u64 = 1 << 32;

/// Maximum number of arguments.
const MAX_EXTERNS: u64 = 4096;

/// Number that divides the size of groups of quantized weights.
const GROUP: u64 = 32;

/// Constant data of the graph.
pub(super) struct GraphConstant {
    /// Key in the named data, which the runtime looks up even if it is empty; `None` if it is in the payload.
    pub key: Option<String>,
    /// Offset in the constants of the payload; in the graph, if they are there.
    pub offset: u64,
    /// Declared size in bytes.
    pub size: u64,
    /// Size in bytes that the graph reads.
    pub needed: u64,
    /// Position of the value that reads this many bytes; `None` if no value reads the constant.
    pub user: Option<usize>,
}

/// Scales of a value in a constant.
pub(super) struct ConstantScales {
    /// Index of the constant.
    pub constant: usize,
    /// Position of the value.
    pub value: usize,
    pub count: u64,
    /// Size of a scale in bytes: 4 for float32, 2 for bfloat16.
    pub width: u64,
}

/// A part of a graph that a finding is about.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum GraphPart {
    /// The graph as a whole.
    #[default]
    Whole,
    /// A value, by its position.
    Value(usize),
    /// An operation, by its position.
    Node(usize),
}

impl GraphPart {
    /// Returns the part of the method with the graph in the payload of a delegate.
    pub fn of_delegate(self, delegate: usize) -> Part {
        match self {
            GraphPart::Whole => Part::Delegate(delegate),
            GraphPart::Value(value) => Part::GraphValue(delegate, value),
            GraphPart::Node(node) => Part::GraphNode(delegate, node),
        }
    }
}

/// A graph, with the parts that are checked.
#[derive(Default)]
pub(super) struct Graph {
    pub constants: Vec<GraphConstant>,
    pub arguments: Vec<GraphArgument>,
    /// Number of arguments that XNNPACK allocates.
    pub num_arguments: u64,
    /// Remarks about the graph that are not errors.
    pub remarks: Vec<GraphRemark>,
    /// Constants in the payload that operations read when they run.
    pub unpacked: Vec<UnpackedConstant>,
    /// Scales that are constants.
    pub scales: Vec<ConstantScales>,
    values: GraphValues,
    /// Ids of [`Graph::arguments`].
    argument_ids: Vec<u32>,
    readers: Readers,
    /// Number of arguments that the values need.
    num_externs: u64,
    /// Numbers of [`Graph::arguments`].
    external_ids: HashSet<u32>,
    /// An operation has several results.
    has_several_results: bool,
    /// Rule that the current part may violate, if it is not D-12.
    rule: Option<RuleId>,
    /// The current part of the graph.
    part: GraphPart,
}

/// A remark about a part that the runtime accepts, but that is probably a mistake.
pub(super) struct GraphRemark {
    pub rule: RuleId,
    pub part: GraphPart,
    pub found: String,
    pub expected: &'static str,
}

/// A constant of the payload that XNNPACK does not copy when the method is loaded.
pub(super) struct UnpackedConstant {
    /// Position of the value.
    pub value: usize,
    /// The first operation that reads it.
    pub operation: Operation,
}

/// Malformed part of a graph.
pub(super) struct GraphDefect {
    pub rule: RuleId,
    pub part: GraphPart,
    pub error: Box<ReadError>,
}

impl Graph {
    /// Reads a graph. `inside` is `true` if its constants are in the graph because the payload has no header.
    ///
    /// # Errors
    /// The first malformed part.
    pub fn read(t: TableRef<'_, '_>, inside: bool) -> std::result::Result<Graph, GraphDefect> {
        let mut graph = Graph::default();
        match graph.read_parts(t, inside) {
            Ok(()) => Ok(graph),
            Err(error) => Err(GraphDefect { rule: graph.rule.unwrap_or(D_12), part: graph.part, error }),
        }
    }

    fn read_parts(&mut self, t: TableRef<'_, '_>, inside: bool) -> Result<()> {
        self.constants = constants(&t, inside)?;
        let mut position = 0;
        t.children(graph::xvalues, &VALUE, |t| {
            self.part = GraphPart::Value(position);
            self.read_value(t, position)?;
            position += 1;
            // If the next one is not a table, it is not read.
            self.part = GraphPart::Value(position);
            Ok(())
        })?;
        self.part = GraphPart::Whole;
        position = 0;
        t.children(graph::xnodes, &NODE, |t| {
            self.part = GraphPart::Node(position);
            self.node(t)?;
            position += 1;
            self.part = GraphPart::Node(position);
            Ok(())
        })?;
        self.part = GraphPart::Whole;
        for (argument, id) in self.arguments.iter_mut().zip(&self.argument_ids) {
            argument.is_torch = self.readers.take_torch(*id);
        }
        self.check_results(&t)?;
        self.check_number_of_arguments(&t)?;
        self.check_inputs_and_outputs(&t)
    }

    fn read_value(&mut self, t: TableRef<'_, '_>, position: usize) -> Result<()> {
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
        let sizes: Vec<u32> = tensor.u32s(tensor_value::dims)?.unwrap_or_default();
        let dims: Vec<u64> = sizes.into_iter().map(u64::from).collect();
        if dims.len() > MAX_RANK {
            return tensor.wrong(tensor_value::dims, format!("{} dimensions, expected at most {MAX_RANK}", dims.len()));
        }
        let code = tensor.i16(tensor_value::datatype)?;
        let Some(datatype) = Datatype::of(code).filter(|datatype| datatype.quantization.is_some()) else {
            return tensor.wrong(tensor_value::datatype, format!("unknown datatype {code}"));
        };
        let bytes = nbytes(&dims, datatype.bits);
        self.constant(&tensor, tensor_value::constant_buffer_idx, bytes)?;
        let constant = tensor.u32(tensor_value::constant_buffer_idx)? != 0;
        let external = tensor.u32(tensor_value::external_id)?;
        if external != NO_ID {
            self.num_externs = self.num_externs.max(u64::from(external) + 1);
        }
        let flags = tensor.u32(tensor_value::flags)?;
        // With a number and without flags, XNNPACK treats the value as an argument, which is never set.
        if (flags != 0) != (external != NO_ID)
            || flags & !(EXTERNAL_INPUT | EXTERNAL_OUTPUT) != 0
            || (constant && flags != 0)
        {
            let message = format!("flags {flags} contradict external_id {external}");
            return tensor.wrong(tensor_value::flags, message);
        }
        if external != NO_ID {
            if !self.external_ids.insert(external) {
                return tensor.wrong(tensor_value::external_id, format!("duplicate external_id {external}"));
            }
            if datatype.tensors.is_empty() {
                return tensor.wrong(tensor_value::datatype, format!("an argument of {}", datatype.name));
            }
            let is_input = flags & EXTERNAL_INPUT != 0;
            let dims = dims.clone();
            // All operations are read later.
            let argument = GraphArgument { number: external, is_input, datatype: code, dims, is_torch: false };
            self.arguments.push(argument);
            self.argument_ids.push(tensor.u32(tensor_value::id_out)?);
        }
        if flags == EXTERNAL_INPUT | EXTERNAL_OUTPUT {
            return tensor.wrong(tensor_value::flags, "an input that is an output, too: no operation writes it");
        }
        let id = tensor.u32(tensor_value::id_out)?;
        if id == NO_ID {
            return tensor.wrong(tensor_value::id_out, format!("id {id}, which means no value"));
        }
        if self.values.by_id.contains_key(&id) {
            return tensor.wrong(tensor_value::id_out, format!("duplicate id {id}"));
        }
        self.rule = Some(D_15);
        let scales = self.quantization(&tensor, quantized.as_ref(), datatype, &dims)?;
        self.rule = Some(D_17);
        if !constant && bytes.is_none_or(|bytes| bytes > MAX_VALUE) {
            return tensor.wrong(tensor_value::dims, format!("a value of more than {MAX_VALUE} bytes"));
        }
        self.rule = None;
        let index = tensor.u32(tensor_value::constant_buffer_idx)? as usize;
        let in_payload = constant && self.constants.get(index).is_some_and(|constant| constant.key.is_none());
        let value = GraphValue { position, dims, datatype: code, constant, in_payload, scales, flags, written: false };
        self.values.by_id.insert(id, value);
        Ok(())
    }

    /// Checks that operations write the outputs of the graph, and that each result of an operation with several results
    /// is used by a later operation or is an output. XNNPACK removes operations that no output depends on, and reserves
    /// no memory for unused results.
    fn check_results(&mut self, t: &TableRef<'_, '_>) -> Result<()> {
        let is_output = |value: &&GraphValue| value.flags & EXTERNAL_OUTPUT != 0;
        let outputs = self.values.by_id.iter().filter(|(_, value)| is_output(value));
        let mut live: HashSet<u32> = outputs.map(|(id, _)| *id).collect();
        let unwritten = self.values.by_id.iter().find(|(_, value)| is_output(value) && !value.written);
        if let Some((id, value)) = unwritten {
            self.part = GraphPart::Value(value.position);
            return t.wrong(graph::xnodes, format!("no operation writes value {id}, which is an output of the graph"));
        }
        if !self.has_several_results {
            return Ok(());
        }
        let nodes = t.children(graph::xnodes, &NODE, |t| {
            let (operation, member) = t.member::<Operation>(node::xnode_union_type, node::xnode_union, "operation")?;
            let member = member.as_ref();
            let ids = operation.operands().filter_map(|operand| Some((operand, member?.u32(operand.slot))));
            let ids: Vec<(Operand, u32)> = ids.map(|(operand, id)| Ok((operand, id?))).collect::<Result<_>>()?;
            Ok(ids)
        })?;
        let mut unused = None;
        for (position, ids) in nodes.as_deref().unwrap_or_default().iter().enumerate().rev() {
            let results = || ids.iter().filter(|(operand, _)| operand.is_output);
            let dropped = results().find(|(_, id)| !live.contains(id)).filter(|_| results().count() > 1);
            unused = dropped.map(|(_, id)| (position, *id)).or(unused);
            if results().any(|(_, id)| live.contains(id)) {
                live.extend(ids.iter().filter(|(operand, _)| !operand.is_output).map(|(_, id)| *id));
            }
        }
        if let Some((position, id)) = unused {
            self.part = GraphPart::Node(position);
            let message = format!("value {id} leads to no output of the graph, expected a use of each result");
            return t.wrong(graph::xnodes, message);
        }
        Ok(())
    }

    /// Adds a remark about the current part.
    fn remark(&mut self, rule: RuleId, found: String, expected: &'static str) {
        self.remarks.push(GraphRemark { rule, part: self.part, found, expected });
    }

    /// Records a use of `bytes` bytes of the constant whose index is in a field; index 0 means none.
    fn constant(&mut self, t: &TableRef<'_, '_>, slot: u16, bytes: Option<u64>) -> Result<()> {
        let index = t.u32(slot)? as usize;
        if index == 0 {
            return Ok(());
        }
        match (self.constants.get_mut(index), bytes) {
            (Some(constant), Some(bytes)) => {
                if let GraphPart::Value(position) = self.part
                    && (constant.user.is_none() || bytes > constant.needed)
                {
                    constant.user = Some(position);
                }
                constant.needed = constant.needed.max(bytes);
            }
            (None, _) => return t.wrong(slot, format!("unknown constant {index}")),
            (_, None) => return t.wrong(slot, "the size of the tensor overflows"),
        }
        Ok(())
    }

    /// Checks the quantization of a value.
    fn quantization(
        &mut self,
        tensor: &TableRef<'_, '_>,
        quantized: Option<&TableRef<'_, '_>>,
        datatype: &Datatype,
        dims: &[u64],
    ) -> Result<ValueScales> {
        use quantized_tensor_value as q;
        // Before release 0.4, an input that is quantized at run time had the resulting type in a separate field.
        let dynamic = tensor.i16(tensor_value::dq_datatype)?;
        if !matches!(dynamic, INVALID | QINT8) || (dynamic == QINT8 && quantized.is_some()) {
            return tensor.wrong(tensor_value::dq_datatype, format!("{dynamic}, expected 0"));
        }
        let Some(t) = quantized else {
            return match datatype.quantization {
                Some(Quantization::None) => Ok(ValueScales::None),
                _ => tensor.wrong(tensor_value::datatype, format!("{} without quantization", datatype.name)),
            };
        };
        let (tag, member) = t.tagged(q::quant_params_type, q::quant_params, QUANT_PARAMS, "kind of quantization")?;
        let Some(member) = member else { return t.wrong(q::quant_params, "quant_params are missing") };
        let kind = [Quantization::Channel, Quantization::Tensor, Quantization::Token, Quantization::Group];
        let kind = kind[usize::from(tag) - 1];
        if datatype.quantization != Some(kind) {
            return t.wrong(q::quant_params_type, format!("{kind:?} for a value of {}", datatype.name));
        }
        match kind {
            Quantization::None => Ok(ValueScales::None),
            Quantization::Tensor => {
                use per_tensor_quant::*;
                let (found, zero) = (member.f32(scale)?, member.i32(zero_point)?);
                check_scale(&member, scale, found, found)?;
                let zeros = zero_points(tensor.i16(tensor_value::datatype)?);
                match zeros.contains(&zero) {
                    true => Ok(ValueScales::One(found, zero)),
                    false => {
                        let expected = format!("{} to {}", zeros.start(), zeros.end());
                        member.wrong(zero_point, format!("{zero} of {}, expected {expected}", datatype.name))
                    }
                }
            }
            Quantization::Token => {
                use per_token_dynamic_quant::*;
                let trailing = member.i32(num_nonbatch_dims)?;
                let fits = usize::try_from(trailing).is_ok_and(|trailing| (1..=dims.len()).contains(&trailing));
                let expected = dims.len();
                if fits {
                    Ok(ValueScales::None)
                } else {
                    member.wrong(num_nonbatch_dims, format!("{trailing}, expected 1 to {expected}"))
                }
            }
            Quantization::Channel => {
                use per_channel_quant::*;
                let channels = usize::try_from(member.i32(channel_dim)?).ok();
                let Some((dim, count)) = channels.and_then(|dim| Some((dim, *dims.get(dim)?))) else {
                    let message = format!("channel_dim of a tensor of rank {} is out of range", dims.len());
                    return member.wrong(channel_dim, message);
                };
                let largest = self.scales(&member, [scale, scale_buffer_idx, num_scales], count, 4)?;
                Ok(ValueScales::Channels { dim, count, largest })
            }
            Quantization::Group => {
                let &[outputs, inputs] = dims else {
                    let found = counted(dims.len(), "dimension");
                    return tensor.wrong(tensor_value::dims, format!("{found} with groups"));
                };
                self.groups(&member, outputs, inputs)
            }
        }
    }

    /// Checks the scales of groups of inputs for weights with these numbers of channels.
    fn groups(&mut self, member: &TableRef<'_, '_>, outputs: u64, inputs: u64) -> Result<ValueScales> {
        use per_channel_group_quant::*;
        let size = u64::try_from(member.i32(group_size)?).unwrap_or(0);
        if size == 0 || !size.is_multiple_of(GROUP) || !inputs.is_multiple_of(size) {
            let expected = format!("expected a multiple of {GROUP} that divides {}", counted(inputs, "input"));
            return member.wrong(group_size, format!("{size}, {expected}"));
        }
        if member.i32(channel_dim)? != 0 {
            return member.wrong(channel_dim, "expected 0");
        }
        let count = outputs.saturating_mul(inputs / size);
        let largest = self.scales(member, [scale, scale_buffer_idx, num_scales], count, 2)?;
        Ok(ValueScales::Channels { dim: 0, count, largest })
    }

    /// Checks the number of scales, which are in the graph as float32, or a constant with elements of `width` bytes.
    /// Returns the largest scale in the graph; `None` if they are a constant.
    fn scales(&mut self, t: &TableRef<'_, '_>, slots: [u16; 3], expected: u64, width: u64) -> Result<Option<f32>> {
        let [scale, buffer, count] = slots;
        let inside = t.u32(buffer)? == 0;
        let listed: Vec<f32> = t.f32s(scale)?.unwrap_or_default();
        let found = if inside { listed.len() as u64 } else { u64::from(t.u32(count)?) };
        if found != expected {
            let slot = if inside { scale } else { count };
            return t.wrong(slot, format!("{}, expected {expected}", counted(found, "scale")));
        }
        if !inside {
            self.constant(t, buffer, expected.checked_mul(width))?;
            if let GraphPart::Value(value) = self.part {
                let constant = t.u32(buffer)? as usize;
                self.scales.push(ConstantScales { constant, value, count: expected, width });
            }
            return Ok(None);
        }
        // Scales of groups are converted to bfloat16.
        let used = |scale: f32| if width == 2 { rounded_to_bf16(scale) } else { scale };
        listed.iter().try_for_each(|found| check_scale(t, scale, *found, used(*found)))?;
        Ok(listed.into_iter().reduce(f32::max))
    }

    /// Checks the number of arguments that XNNPACK allocates.
    fn check_number_of_arguments(&mut self, t: &TableRef<'_, '_>) -> Result<()> {
        let used = self.num_externs;
        let found = t.u32(graph::num_externs)?;
        self.num_arguments = found.into();
        match (used..=MAX_EXTERNS).contains(&u64::from(found)) {
            true => Ok(()),
            false => t.wrong(graph::num_externs, format!("{found}, expected {used} to {MAX_EXTERNS}")),
        }
    }

    /// Checks that the lists of inputs and outputs agree with the flags of the values.
    fn check_inputs_and_outputs(&mut self, t: &TableRef<'_, '_>) -> Result<()> {
        for (slot, flag) in [(graph::input_ids, EXTERNAL_INPUT), (graph::output_ids, EXTERNAL_OUTPUT)] {
            let listed: HashSet<u32> = t.u32s(slot)?.unwrap_or_default();
            let flagged: HashSet<u32> =
                self.values.by_id.iter().filter(|(_, value)| value.flags & flag != 0).map(|(id, _)| *id).collect();
            if let Some(id) = listed.symmetric_difference(&flagged).min() {
                let value = self.values.by_id.get(id);
                self.part = value.map_or(GraphPart::Whole, |value| GraphPart::Value(value.position));
                let name = GRAPH.fields[usize::from(slot)].name;
                self.remark(D_20, format!("{name} and the flags disagree about value {id}"), "the same values");
            }
        }
        Ok(())
    }

    fn node(&mut self, t: TableRef<'_, '_>) -> Result<()> {
        let (operation, member) = t.member::<Operation>(node::xnode_union_type, node::xnode_union, "operation")?;
        let Some(member) = member else { return t.wrong(node::xnode_union, "xnode_union is missing") };
        if let Some(bounds) = t.child(node::output_min_max, &OUTPUT_MIN_MAX)? {
            let (min, max) = (bounds.f32(output_min_max::output_min)?, bounds.f32(output_min_max::output_max)?);
            let row = &ROWS[operation as usize];
            if row.orders_bounds && (min > max || min.is_nan() || max.is_nan()) {
                let message = format!("{min} of `{}` with output_max {max}, expected at most that", operation.word());
                return bounds.wrong(output_min_max::output_min, message);
            }
            if !row.clamps && (min, max) != (f32::NEG_INFINITY, f32::INFINITY) {
                let found = format!("bounds {min} to {max} of `{}`, which ignores them", operation.word());
                self.remark(D_19, found, "a clamp of its output");
            }
        }
        for Operand { slot, is_output, .. } in operation.operands() {
            let id = member.u32(slot)?;
            match self.values.by_id.get(&id) {
                Some(value) if is_output && (value.constant || value.flags & EXTERNAL_INPUT != 0 || value.written) => {
                    let message = format!("output {id} is a constant, an input, or the output of an earlier operation");
                    return member.wrong(slot, message);
                }
                Some(_) if is_output => {}
                Some(value) if value.constant || value.flags & EXTERNAL_INPUT != 0 || value.written => {}
                Some(_) => return member.wrong(slot, format!("value {id} is used before it is written")),
                None if id == NO_ID && slot_is_optional(operation, slot) => {}
                None => return member.wrong(slot, format!("unknown value {id}")),
            }
        }
        self.rule = Some(D_16);
        self.check_types(operation, &member)?;
        self.rule = Some(D_15);
        self.check_scales(operation, &member)?;
        self.rule = Some(D_17);
        sizes::check(operation, &EncodedOperation { values: &self.values, t: &member })?;
        self.rule = None;
        let operands = operation.operands().map(|operand| Ok((operand, member.u32(operand.slot)?)));
        let operands: Vec<(Operand, u32)> = operands.collect::<Result<_>>()?;
        let is_dynamic = |id: u32| self.values.by_id.get(&id).is_some_and(|value| value.datatype == QDINT8);
        self.readers.add(operation, operands.into_iter(), is_dynamic);
        self.has_several_results |= operation.operands().filter(|operand| operand.is_output).count() > 1;
        self.record_unpacked(operation, &member)?;
        for operand in operation.operands().filter(|operand| operand.is_output) {
            let id = member.u32(operand.slot)?;
            match self.values.by_id.get_mut(&id) {
                Some(value) if !value.written => value.written = true,
                _ => return member.wrong(operand.slot, format!("value {id} is written twice")),
            }
        }
        Ok(())
    }

    /// Records constants in the payload that the operation reads when it runs.
    fn record_unpacked(&mut self, operation: Operation, t: &TableRef<'_, '_>) -> Result<()> {
        let names = ROWS[operation as usize].packed;
        let (mut is_packed, mut read) = (true, Vec::new());
        for operand in operation.operands().filter(|operand| !operand.is_output) {
            let id = t.u32(operand.slot)?;
            let Some(value) = self.values.by_id.get(&id) else { continue };
            is_packed &= value.constant || !names.contains(&operand.name);
            if value.in_payload {
                read.push((operand.name, id));
            }
        }
        for (name, id) in read {
            let Some(value) = self.values.by_id.get_mut(&id) else { continue };
            if value.in_payload && !(is_packed && names.contains(&name)) {
                // Each value is reported once.
                value.in_payload = false;
                self.unpacked.push(UnpackedConstant { value: value.position, operation });
            }
        }
        Ok(())
    }

    /// Checks the quantization of the operands of an operation.
    fn check_scales(&self, operation: Operation, t: &TableRef<'_, '_>) -> Result<()> {
        let row = &ROWS[operation as usize];
        self.check_channels(operation, t)?;
        self.check_requantization(operation, t)?;
        let mut first: Option<(f32, i32)> = None;
        for operand in operation.operands() {
            let Some(value) = self.values.get(t, operand.slot)? else { continue };
            if !matches!(value.datatype, QINT8 | QUINT8) {
                continue;
            }
            let ValueScales::One(scale, zero) = value.scales else { continue };
            if row.packed.contains(&operand.name) && value.datatype == QINT8 && zero != 0 {
                return t.wrong(operand.slot, format!("weights with zero_point {zero}, expected 0"));
            }
            let expected = *first.get_or_insert((scale, zero));
            if row.moves && expected != (scale, zero) {
                let message = format!(
                    "scale {scale} and zero_point {zero}, expected {} and {} of the other operands",
                    expected.0, expected.1
                );
                return t.wrong(operand.slot, message);
            }
        }
        Ok(())
    }

    /// Checks the dimensions of the channels of an operation, and the number of scales if XNNPACK reads another number
    /// than a value has channels.
    fn check_channels(&self, operation: Operation, t: &TableRef<'_, '_>) -> Result<()> {
        let transposed = flags_of(operation, t)?.is_some_and(|(_, flags)| flags & TRANSPOSED != 0);
        for operand in operation.operands() {
            let Some(value) = self.values.get(t, operand.slot)? else { continue };
            let ValueScales::Channels { dim, count: found, .. } = value.scales else { continue };
            let expected = ROWS[operation as usize].channels.iter().find(|channels| channels.operand == operand.name);
            if let Some(ChannelDim { plain, transposed: other, .. }) = expected {
                let expected = if transposed { *other } else { *plain };
                if dim != expected {
                    let message =
                        format!("scales with channel_dim {dim}, expected {expected}: that of the output channels");
                    return t.wrong(operand.slot, message);
                }
            }
            if operation == Operation::BatchMatrixMultiply
                && let [batch @ .., rows, columns] = &*value.dims
            {
                let columns = if transposed { rows } else { columns };
                let needed = count(batch).and_then(|batch| batch.checked_mul(*columns));
                if needed.is_none_or(|needed| found < needed) {
                    let needed = needed.map_or("more than can be counted".to_owned(), |needed| needed.to_string());
                    let found = counted(found, "scale");
                    let message = format!("{found}, expected {needed}: one for each column of each matrix");
                    return t.wrong(operand.slot, message);
                }
            }
        }
        Ok(())
    }

    /// Checks the factor from products of quantized numbers to the quantized result. Scales in constants are not read.
    fn check_requantization(&self, operation: Operation, t: &TableRef<'_, '_>) -> Result<()> {
        let Some(range) = ROWS[operation as usize].requantization else { return Ok(()) };
        let (mut factor, mut constant, mut last) = (None::<f32>, true, None);
        for operand in operation.operands().filter(|operand| operand.name != OPTIONAL_OPERAND) {
            let Some(value) = self.values.get(t, operand.slot)? else { return Ok(()) };
            let scale = match value.scales {
                ValueScales::One(scale, _) | ValueScales::Channels { largest: Some(scale), .. } => scale,
                ValueScales::Channels { largest: None, .. } | ValueScales::None => return Ok(()),
            };
            // XNNPACK computes in this order with float32.
            factor = Some(match factor {
                None => scale,
                Some(factor) if operand.is_output => factor / scale,
                Some(factor) => {
                    constant = value.constant;
                    factor * scale
                }
            });
            last = Some(operand.slot);
        }
        match (factor, last) {
            (Some(factor), Some(slot)) => match range.refuses(factor, constant) {
                Some(expected) => {
                    let scales = "scale of the input * scale of the weights / scale of the output";
                    t.wrong(slot, format!("{scales} is {factor:e}, expected {expected}"))
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Checks the types of the operands and the flags of an operation.
    fn check_types(&self, operation: Operation, t: &TableRef<'_, '_>) -> Result<()> {
        let row = &ROWS[operation as usize];
        let mut found = Vec::new();
        for operand in operation.operands() {
            let value = self.values.get(t, operand.slot)?;
            found.push((operand, value.map(|value| value.datatype)));
        }
        let fits =
            |types: &[i16]| types.iter().zip(&found).all(|(row, (_, found))| found.is_none_or(|found| found == *row));
        let supported = match &row.types {
            OperandTypes::Same(types) => types.iter().any(|one| fits(&[*one; 8])),
            OperandTypes::Rows(rows) => rows.iter().any(|row| fits(row)),
            OperandTypes::Unsupported => false,
        };
        let Some((first, _)) = found.first() else { return Ok(()) };
        if !supported {
            let found = found
                .iter()
                .filter_map(|(operand, found)| Some(format!("{} {}", operand.name, Datatype::of((*found)?)?.name)));
            let found: Vec<String> = found.collect();
            return t.wrong(first.slot, format!("{operation:?} of {}", found.join(", ")));
        }
        match flags_of(operation, t)? {
            Some((slot, flags)) if flags & !row.flags != 0 => {
                t.wrong(slot, format!("flags {flags:#x}, expected at most {:#x}", row.flags))
            }
            Some((slot, flags)) if (flags & row.exclusive).count_ones() > 1 => {
                t.wrong(slot, format!("flags {flags:#x}, expected at most one of {:#x}", row.exclusive))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns the flags of an operation with their slot.
fn flags_of(operation: Operation, t: &TableRef<'_, '_>) -> Result<Option<(u16, u32)>> {
    let slot = (0..).zip(operation.table().fields).find(|(_, field)| field.name == "flags");
    slot.map(|(slot, _)| Ok((slot, t.u32(slot)?))).transpose()
}

/// Checks a scale of a graph by the number that XNNPACK uses.
fn check_scale(t: &TableRef<'_, '_>, slot: u16, found: f32, used: f32) -> Result<()> {
    match is_scale(used) {
        true => Ok(()),
        false => t.wrong(slot, format!("scale {found:e}, expected {SCALE}")),
    }
}

/// Numbers that XNNPACK accepts as scales.
pub(super) const SCALE: &str = "a positive, finite, normal number";

/// Returns `true` if XNNPACK accepts a scale.
pub(super) fn is_scale(used: f32) -> bool {
    used.is_normal() && used > 0.0
}

/// Returns a number as the backend converts it to bfloat16.
fn rounded_to_bf16(number: f32) -> f32 {
    f32::from_bits((number * 1.003_891).to_bits() & 0xffff_0000)
}

/// Returns the zero points that XNNPACK accepts for an element type with one scale.
fn zero_points(datatype: i16) -> RangeInclusive<i32> {
    match datatype {
        QINT8 => -128..=127,
        QUINT8 => 0..=255,
        _ => 0..=0,
    }
}

/// Returns the constants by index; index 0 means none.
fn constants(t: &TableRef<'_, '_>, inside: bool) -> Result<Vec<GraphConstant>> {
    if !inside {
        let listed = t.children(graph::constant_data, &CONSTANT_DATA_OFFSET, |t| {
            let key = t.text(constant_data_offset::named_key)?;
            let (offset, size) = (t.u64(constant_data_offset::offset)?, t.u64(constant_data_offset::size)?);
            Ok(GraphConstant { key, offset, size, needed: 0, user: None })
        })?;
        return Ok(listed.unwrap_or_default());
    }
    let inside = t.children(graph::constant_buffer, &BUFFER, |t| {
        // `range` fails unless they are inside the graph.
        let (offset, size) = t.range(buffer::storage)?.unwrap_or_default();
        Ok(GraphConstant { key: None, offset, size, needed: 0, user: None })
    })?;
    Ok(inside.unwrap_or_default())
}

/// Returns `true` if an operand may be absent, as a bias may.
fn slot_is_optional(operation: Operation, slot: u16) -> bool {
    operation.table().fields[usize::from(slot)].name == OPTIONAL_OPERAND
}
