//! Checks the consistency of a graph: ids of values, element types, quantization, sizes, constants. `pte-check` reports
//! the findings.
//!
//! The backend does not check the ids of values, and XNNPACK derives the number of weights that it reads from the
//! fields of an operation, whatever the size of the filter. Operations that XNNPACK itself rejects are not checked.

mod data;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;

use crate::arguments::{self, GraphArgument};
use crate::decode::ReadGraph;
use crate::draft::{count, nbytes};
use crate::inferred;
use crate::model::{FieldContent, Graph, GraphValue, Node, NodeOperation, QuantParamsValue};
use crate::operations::{ChannelDim, OperationRow, ROWS};
use crate::schema::{
    Datatype, EXTERNAL_INPUT, EXTERNAL_OUTPUT, Family, GRAPH, INVALID, MAX_RANK, NO_ID, NODE, OPTIONAL_OPERAND,
    OUTPUT_MIN_MAX, Operation, QINT8, QUANTIZED_TENSOR_VALUE, QUINT8, Quantization, TENSOR_VALUE, TRANSPOSED, graph,
    node, output_min_max, per_channel_group_quant, per_channel_quant, per_tensor_quant, per_token_dynamic_quant,
    quantized_tensor_value, tensor_value,
};
use crate::sizes::{self, SizeError};
use pte_model::diagnostics::counted;
use pte_model::format::TableSchema;
use pte_model::format::flatbuffer::read::ReadError;
use pte_model::format::table::Union;
use pte_payload::decoded::{PayloadFinding, PayloadPart, PayloadRule, UnpackedConstant};

/// Maximum size in bytes of a value that is not a constant.
const MAX_VALUE: u64 = 1 << 32;

/// Maximum number of arguments.
const MAX_EXTERNS: u64 = 4096;

/// Number that divides the size of groups of quantized weights.
const GROUP: u64 = 32;

/// Largest relative difference of the scale of a bias from the product of two scales: that of rounding.
const MAX_DIFFERENCE: f32 = 1e-3;

type Result<T> = std::result::Result<T, Box<ReadError>>;

/// Use of a constant.
#[derive(Debug, Default)]
struct ConstantUse {
    /// Size in bytes that the graph reads.
    needed: u64,
    /// Position of the value that reads this many bytes; `None` if no value reads the constant.
    user: Option<usize>,
}

/// Scales of a value in a constant.
#[derive(Debug)]
struct ConstantScales {
    /// Index of the constant.
    constant: usize,
    /// Position of the value.
    value: usize,
    count: u64,
    /// Size of a scale in bytes: 4 for float32, 2 for bfloat16.
    width: u64,
}

/// A graph that violates no rule, as far as it can be checked without the named data.
#[derive(Debug)]
pub struct CheckedGraph {
    /// Values that are arguments.
    pub arguments: Vec<GraphArgument>,
    /// Remarks about parts that the runtime accepts, but that are probably mistakes.
    pub remarks: Vec<PayloadFinding>,
    /// Constants in the payload that operations read when they run.
    pub unpacked: Vec<UnpackedConstant>,
    /// By constant.
    uses: Vec<ConstantUse>,
    /// Scales that are constants.
    scales: Vec<ConstantScales>,
}

/// Checks a graph.
///
/// # Errors
/// The first violation.
pub fn check(read: &ReadGraph) -> std::result::Result<CheckedGraph, PayloadFinding> {
    let graph = &read.graph;
    let uses = graph.constants.iter().map(|_| ConstantUse::default()).collect();
    let remarks = Vec::new();
    let checked =
        CheckedGraph { arguments: arguments::of(graph), remarks, unpacked: Vec::new(), uses, scales: Vec::new() };
    let mut checker = Checker {
        read,
        graph,
        checked,
        values: BTreeMap::new(),
        num_externs: 0,
        external_ids: HashSet::new(),
        rule: PayloadRule::Graph,
        part: PayloadPart::Whole,
    };
    match checker.parts() {
        Ok(()) => Ok(checker.checked),
        Err(error) => {
            let (rule, part) = (checker.rule, checker.part);
            Err(PayloadFinding {
                rule,
                part,
                found: format!("a malformed graph: {error}"),
                expected: "a valid graph".into(),
            })
        }
    }
}

/// Scales of a value.
enum ValueScales {
    /// The graph has no scales.
    None,
    /// Scale and zero point.
    One(f32, i32),
    /// A scale for each channel, or group of a channel.
    Channels {
        /// Dimension of the channels.
        dim: usize,
        count: u64,
        /// The largest scale; `None` if they are in a constant.
        largest: Option<f32>,
    },
}

/// A value of the graph while it is checked.
struct CheckedValue<'g> {
    /// Position in the list of values.
    position: usize,
    value: &'g GraphValue,
    /// The constant is in the payload, and no operation that reads it there at run time was reported.
    in_payload: bool,
    scales: ValueScales,
    /// `true` if an earlier operation writes it.
    written: bool,
}

impl CheckedValue<'_> {
    fn is_output(&self) -> bool {
        self.value.flags & EXTERNAL_OUTPUT != 0
    }

    /// Returns true if an operation may read it.
    fn has_content(&self) -> bool {
        self.value.constant != 0 || self.value.flags & EXTERNAL_INPUT != 0 || self.written
    }
}

/// A table of the FlatBuffer, for errors: offset and schema.
#[derive(Clone, Copy)]
struct Table(u32, &'static TableSchema);

impl Table {
    fn wrong<T>(self, slot: u16, message: impl Into<String>) -> Result<T> {
        let field = format!("{}.{}", self.1.name, self.1.fields.get(usize::from(slot)).map_or("?", |field| field.name));
        Err(Box::new(ReadError { offset: self.0.into(), field, message: message.into() }))
    }
}

/// An operation of the schema.
#[derive(Clone, Copy)]
struct CheckedNode<'g> {
    operation: Operation,
    node: &'g Node,
    row: &'static OperationRow,
    table: Table,
}

struct Checker<'g> {
    read: &'g ReadGraph,
    graph: &'g Graph,
    checked: CheckedGraph,
    /// By id.
    values: BTreeMap<u32, CheckedValue<'g>>,
    /// Number of arguments that the values need.
    num_externs: u64,
    /// Numbers of the arguments.
    external_ids: HashSet<u32>,
    /// Rule that the current part may violate.
    rule: PayloadRule,
    /// The current part of the graph.
    part: PayloadPart,
}

impl<'g> Checker<'g> {
    fn parts(&mut self) -> Result<()> {
        let read = self.read;
        if let Some((_, error)) = &read.whole.malformed {
            return Err(error.clone());
        }
        for (position, value) in self.graph.values.iter().enumerate() {
            self.part = PayloadPart::Value(position);
            self.value(position, value)?;
        }
        if let Some((_, error)) = &read.values.malformed {
            self.part = after(self.graph.values.len(), PayloadPart::Value);
            return Err(error.clone());
        }
        for (position, node) in self.graph.nodes.iter().enumerate() {
            self.part = PayloadPart::Node(position);
            self.node(position, node)?;
        }
        if let Some((_, error)) = &read.nodes.malformed {
            self.part = after(self.graph.nodes.len(), PayloadPart::Node);
            return Err(error.clone());
        }
        self.part = PayloadPart::Whole;
        self.results()?;
        self.copies()?;
        self.number_of_arguments()?;
        self.inputs_and_outputs();
        Ok(())
    }

    fn value(&mut self, position: usize, value: &'g GraphValue) -> Result<()> {
        let tables = &self.read.value_tables[position];
        let tensor = Table(tables.tensor, &TENSOR_VALUE);
        if let Some((_, error)) = self.read.values.malformed.as_ref().filter(|(at, _)| *at == position) {
            self.rule = if tables.quantized == 0 { PayloadRule::Graph } else { PayloadRule::Quantization };
            return Err(error.clone());
        }
        // The backend uses the length of `dims`, not `num_dims`.
        let dims = value.sizes();
        if dims.len() > MAX_RANK {
            return tensor.wrong(tensor_value::dims, format!("{} dimensions, expected at most {MAX_RANK}", dims.len()));
        }
        let code = value.datatype;
        let Some(datatype) = Datatype::of(code).filter(|datatype| datatype.quantization.is_some()) else {
            return tensor.wrong(tensor_value::datatype, format!("unknown datatype {code}"));
        };
        let bytes = nbytes(&dims, datatype.bits);
        self.constant(tensor, tensor_value::constant_buffer_idx, value.constant, bytes)?;
        let constant = value.constant != 0;
        let (external, flags, id) = (value.external_id, value.flags, value.id);
        if external != NO_ID {
            self.num_externs = self.num_externs.max(u64::from(external) + 1);
        }
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
        }
        if flags == EXTERNAL_INPUT | EXTERNAL_OUTPUT {
            return tensor.wrong(tensor_value::flags, "an input that is an output, too: no operation writes it");
        }
        if id == NO_ID {
            return tensor.wrong(tensor_value::id_out, format!("id {id}, which means no value"));
        }
        if self.values.contains_key(&id) {
            return tensor.wrong(tensor_value::id_out, format!("duplicate id {id}"));
        }
        self.rule = PayloadRule::Quantization;
        let scales = self.quantization(position, value, datatype, &dims)?;
        self.rule = PayloadRule::Sizes;
        if !constant && bytes.is_none_or(|bytes| bytes > MAX_VALUE) {
            return tensor.wrong(tensor_value::dims, format!("a value of more than {MAX_VALUE} bytes"));
        }
        self.rule = PayloadRule::Graph;
        let source = self.graph.constants.get(value.constant as usize);
        let in_payload = constant && source.is_some_and(|constant| constant.key.is_none());
        self.values.insert(id, CheckedValue { position, value, in_payload, scales, written: false });
        Ok(())
    }

    /// Checks that operations write the outputs of the graph, and that each result of an operation with several results
    /// is used by a later operation or is an output. XNNPACK removes operations that no output depends on, and reserves
    /// no memory for unused results.
    fn results(&mut self) -> Result<()> {
        let root = Table(self.read.root, &GRAPH);
        let outputs = || self.values.iter().filter(|(_, value)| value.is_output());
        if let Some((id, value)) = outputs().find(|(_, value)| !value.written) {
            self.part = PayloadPart::Value(value.position);
            let message = format!("no operation writes value {id}, which is an output of the graph");
            return root.wrong(graph::xnodes, message);
        }
        let mut live: HashSet<u32> = outputs().map(|(id, _)| *id).collect();
        let mut unused = None;
        for (position, node) in self.graph.nodes.iter().enumerate().rev() {
            let results = || node.operands().filter(|(operand, _)| operand.is_output).map(|(_, id)| id);
            let dropped = results().find(|id| !live.contains(id)).filter(|_| results().count() > 1);
            unused = dropped.map(|id| (position, id)).or(unused);
            if results().any(|id| live.contains(&id)) {
                live.extend(node.operands().filter(|(operand, _)| !operand.is_output).map(|(_, id)| id));
            }
        }
        let Some((position, id)) = unused else { return Ok(()) };
        self.part = PayloadPart::Node(position);
        let message = format!("value {id} leads to no output of the graph, expected a use of each result");
        root.wrong(graph::xnodes, message)
    }

    /// Checks the uses of copies of inputs. XNNPACK removes such a copy if one operation uses it, but replaces only the
    /// first of its uses there: another one reads a value without memory.
    fn copies(&mut self) -> Result<()> {
        let has = |id: u32, flag: u32| self.values.get(&id).is_some_and(|value| value.value.flags & flag != 0);
        let is_copy =
            |node: &&Node| matches!(node.operation, NodeOperation::Known(known) if known.family() == Family::Copy);
        let mut reads: HashMap<u32, Vec<usize>> = HashMap::new();
        for (position, node) in self.graph.nodes.iter().enumerate() {
            for (_, id) in node.operands().filter(|(operand, _)| !operand.is_output) {
                reads.entry(id).or_default().push(position);
            }
        }
        let mut replaced: HashSet<u32> = HashSet::new();
        for node in self.graph.nodes.iter().filter(is_copy) {
            let operand = |is_output| node.operands().find(|(operand, _)| operand.is_output == is_output);
            let (Some((_, from)), Some((_, to))) = (operand(false), operand(true)) else { continue };
            let is_input = replaced.contains(&from) || has(from, EXTERNAL_INPUT);
            let uses = reads.get(&to).map_or(&[][..], Vec::as_slice);
            let (true, false, Some(first)) = (is_input, has(to, EXTERNAL_OUTPUT), uses.first()) else { continue };
            if uses.len() > 1 && uses.iter().all(|user| user == first) {
                self.part = PayloadPart::Node(*first);
                let message = format!("value {to}, a copy of an input, is used more than once by this operation only");
                return Table(self.read.root, &GRAPH).wrong(graph::xnodes, message);
            }
            if uses.len() == 1 {
                replaced.insert(to);
            }
        }
        Ok(())
    }

    /// Adds a remark about the current part.
    fn remark(&mut self, rule: PayloadRule, found: String, expected: &str) {
        self.checked.remarks.push(PayloadFinding { rule, part: self.part, found, expected: expected.to_owned() });
    }

    /// Records a use of `bytes` bytes of the constant with the index in a field; index 0 means none.
    fn constant(&mut self, t: Table, slot: u16, index: u32, bytes: Option<u64>) -> Result<()> {
        if index == 0 {
            return Ok(());
        }
        match (self.checked.uses.get_mut(index as usize), bytes) {
            (Some(constant), Some(bytes)) => {
                if let PayloadPart::Value(position) = self.part
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
        position: usize,
        value: &GraphValue,
        datatype: &Datatype,
        dims: &[u64],
    ) -> Result<ValueScales> {
        let tables = &self.read.value_tables[position];
        let tensor = Table(tables.tensor, &TENSOR_VALUE);
        // Before release 0.4, an input that is quantized at run time had the resulting type in a separate field.
        let dynamic = value.dq_datatype;
        let quantized = value.quantization.as_deref();
        if !matches!(dynamic, INVALID | QINT8) || (dynamic == QINT8 && quantized.is_some()) {
            return tensor.wrong(tensor_value::dq_datatype, format!("{dynamic}, expected 0"));
        }
        let Some(params) = quantized else {
            return match datatype.quantization {
                Some(Quantization::None) => Ok(ValueScales::None),
                _ => tensor.wrong(tensor_value::datatype, format!("{} without quantization", datatype.name)),
            };
        };
        let kind = params.kind.quantization();
        if datatype.quantization != Some(kind) {
            let quantized = Table(tables.quantized, &QUANTIZED_TENSOR_VALUE);
            let message = format!("{kind:?} for a value of {}", datatype.name);
            return quantized.wrong(quantized_tensor_value::quant_params_type, message);
        }
        let member = Table(tables.params, params.kind.table());
        match kind {
            Quantization::None => Ok(ValueScales::None),
            Quantization::Tensor => {
                use per_tensor_quant::*;
                let found = params.floats(scale).first().copied().unwrap_or(0.0);
                let zero = params.int(zero_point);
                check_scale(member, scale, found, found)?;
                let zeros = zero_points(value.datatype);
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
                let trailing = params.int(num_nonbatch_dims);
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
                let channels = usize::try_from(params.int(channel_dim)).ok();
                let Some((dim, count)) = channels.and_then(|dim| Some((dim, *dims.get(dim)?))) else {
                    let message = format!("channel_dim of a tensor of rank {} is out of range", dims.len());
                    return member.wrong(channel_dim, message);
                };
                let largest = self.scales(member, params, [scale, scale_buffer_idx, num_scales], count, 4)?;
                Ok(ValueScales::Channels { dim, count, largest })
            }
            Quantization::Group => {
                let &[outputs, inputs] = dims else {
                    let found = counted(dims.len(), "dimension");
                    return tensor.wrong(tensor_value::dims, format!("{found} with groups"));
                };
                self.groups(member, params, outputs, inputs)
            }
        }
    }

    /// Checks the groups of a weight, whose rows have `inputs` elements.
    fn groups(&mut self, member: Table, params: &QuantParamsValue, outputs: u64, inputs: u64) -> Result<ValueScales> {
        use per_channel_group_quant::*;
        let size = u64::try_from(params.int(group_size)).unwrap_or(0);
        if size == 0 || !size.is_multiple_of(GROUP) || !inputs.is_multiple_of(size) {
            let expected = format!("expected a multiple of {GROUP} that divides {}", counted(inputs, "input"));
            return member.wrong(group_size, format!("{size}, {expected}"));
        }
        if params.int(channel_dim) != 0 {
            return member.wrong(channel_dim, "expected 0");
        }
        let count = outputs.saturating_mul(inputs / size);
        let largest = self.scales(member, params, [scale, scale_buffer_idx, num_scales], count, 2)?;
        Ok(ValueScales::Channels { dim: 0, count, largest })
    }

    /// Checks the number of scales, which are in the graph as float32, or a constant with elements of `width` bytes.
    /// Returns the largest scale in the graph; `None` if they are a constant.
    fn scales(
        &mut self,
        t: Table,
        params: &QuantParamsValue,
        slots: [u16; 3],
        expected: u64,
        width: u64,
    ) -> Result<Option<f32>> {
        let [scale, buffer, count] = slots;
        let uint = |slot: u16| params.fields.get(usize::from(slot)).map_or(0, FieldContent::uint);
        let (constant, listed) = (uint(buffer), params.floats(scale));
        let inside = constant == 0;
        let found = if inside { listed.len() as u64 } else { u64::from(uint(count)) };
        if found != expected {
            let slot = if inside { scale } else { count };
            return t.wrong(slot, format!("{}, expected {expected}", counted(found, "scale")));
        }
        if !inside {
            self.constant(t, buffer, constant, expected.checked_mul(width))?;
            if let PayloadPart::Value(value) = self.part {
                let constant = constant as usize;
                self.checked.scales.push(ConstantScales { constant, value, count: expected, width });
            }
            return Ok(None);
        }
        // Scales of groups are converted to bfloat16.
        let used = |scale: f32| if width == 2 { rounded_to_bf16(scale) } else { scale };
        listed.iter().try_for_each(|found| check_scale(t, scale, *found, used(*found)))?;
        Ok(listed.iter().copied().reduce(f32::max))
    }

    /// Checks the number of arguments that XNNPACK allocates.
    fn number_of_arguments(&self) -> Result<()> {
        let (used, found) = (self.num_externs, self.graph.num_externs);
        match (used..=MAX_EXTERNS).contains(&u64::from(found)) {
            true => Ok(()),
            false => {
                let root = Table(self.read.root, &GRAPH);
                root.wrong(graph::num_externs, format!("{found}, expected {used} to {MAX_EXTERNS}"))
            }
        }
    }

    /// Checks that the lists of inputs and outputs agree with the flags of the values.
    fn inputs_and_outputs(&mut self) {
        let lists = [(graph::input_ids, &self.graph.input_ids), (graph::output_ids, &self.graph.output_ids)];
        for ((slot, listed), flag) in lists.into_iter().zip([EXTERNAL_INPUT, EXTERNAL_OUTPUT]) {
            let listed: HashSet<u32> = listed.iter().copied().collect();
            let flagged = self.values.iter().filter(|(_, value)| value.value.flags & flag != 0);
            let flagged: HashSet<u32> = flagged.map(|(id, _)| *id).collect();
            if let Some(id) = listed.symmetric_difference(&flagged).min() {
                let value = self.values.get(id);
                self.part = value.map_or(PayloadPart::Whole, |value| PayloadPart::Value(value.position));
                let name = GRAPH.fields[usize::from(slot)].name;
                let found = format!("{name} and the flags disagree about value {id}");
                self.remark(PayloadRule::Lists, found, "the same values");
            }
        }
    }

    fn node(&mut self, position: usize, node: &'g Node) -> Result<()> {
        let tables = &self.read.node_tables[position];
        let malformed = self.read.nodes.malformed.as_ref().filter(|(at, _)| *at == position);
        let operation = match node.operation {
            NodeOperation::Known(operation) => operation,
            NodeOperation::Unknown(tag) => {
                return Table(tables.node, &NODE)
                    .wrong(node::xnode_union_type, format!("unknown operation type {tag}"));
            }
        };
        if let Some((_, error)) = malformed {
            // A list of sizes.
            let is_list =
                tables.member != 0 && node.fields.is_empty() && error.field.starts_with(operation.table().name);
            self.rule = if is_list { PayloadRule::Sizes } else { PayloadRule::Graph };
            return Err(error.clone());
        }
        let (row, table) = (&ROWS[operation as usize], Table(tables.member, operation.table()));
        let checked = CheckedNode { operation, node, row, table };
        if let Some([min, max]) = node.output_min_max {
            if row.orders_bounds && (min > max || min.is_nan() || max.is_nan()) {
                let message = format!("{min} of `{}` with output_max {max}, expected at most that", operation.word());
                return Table(tables.bounds, &OUTPUT_MIN_MAX).wrong(output_min_max::output_min, message);
            }
            if !row.clamps && (min, max) != (f32::NEG_INFINITY, f32::INFINITY) {
                let found = format!("bounds {min} to {max} of `{}`, which ignores them", operation.word());
                self.remark(PayloadRule::Bounds, found, "a clamp of its output");
            }
        }
        for (operand, id) in node.operands() {
            match self.values.get(&id) {
                Some(value) if operand.is_output && value.has_content() => {
                    let message = format!("output {id} is a constant, an input, or the output of an earlier operation");
                    return table.wrong(operand.slot, message);
                }
                Some(value) if operand.is_output || value.has_content() => {}
                Some(_) => return table.wrong(operand.slot, format!("value {id} is used before it is written")),
                None if id == NO_ID && operand.name == OPTIONAL_OPERAND => {}
                None => return table.wrong(operand.slot, format!("unknown value {id}")),
            }
        }
        self.rule = PayloadRule::Types;
        self.types(checked)?;
        self.rule = PayloadRule::Quantization;
        self.operand_scales(checked)?;
        self.bias_scale(checked);
        self.rule = PayloadRule::Sizes;
        self.sizes(checked)?;
        self.rule = PayloadRule::Graph;
        self.record_unpacked(checked);
        for (operand, id) in node.operands().filter(|(operand, _)| operand.is_output) {
            match self.values.get_mut(&id) {
                Some(value) if !value.written => value.written = true,
                _ => return table.wrong(operand.slot, format!("value {id} is written twice")),
            }
        }
        Ok(())
    }

    /// Checks the sizes of the operands of an operation.
    fn sizes(&self, CheckedNode { operation, node, table, .. }: CheckedNode<'_>) -> Result<()> {
        let found = |slot: u16| self.values.get(&node.uint(slot)).map(|value| value.value);
        let value = |slot: u16| Ok(found(slot).map(|value| (value.sizes(), value.datatype)));
        let outputs = sizes::outputs(operation, &|slot| node.fields.get(usize::from(slot)), &value);
        let outputs = outputs.or_else(|error| match error {
            SizeError::Wrong(slot, message) => table.wrong(slot, message),
            SizeError::Unknown(_) => Ok(Vec::new()),
        })?;
        for (slot, expected) in outputs {
            match found(slot).map(GraphValue::sizes) {
                Some(sizes) if sizes == expected => {}
                Some(sizes) => return table.wrong(slot, format!("a value of sizes {sizes:?}, expected {expected:?}")),
                None => return table.wrong(slot, "the value is missing"),
            }
        }
        Ok(())
    }

    /// Records constants in the payload that the operation reads when it runs.
    fn record_unpacked(&mut self, CheckedNode { operation, node, row, .. }: CheckedNode<'_>) {
        let inputs = || node.operands().filter(|(operand, _)| !operand.is_output);
        let is_packed = |name: &str| row.packed.contains(&name);
        let is_constant = |id: u32| self.values.get(&id).is_none_or(|value| value.value.constant != 0);
        let packs = inputs().all(|(operand, id)| is_constant(id) || !is_packed(operand.name));
        for (operand, id) in inputs() {
            let value = self.values.get_mut(&id).filter(|value| value.in_payload);
            if let Some(value) = value.filter(|_| !(packs && is_packed(operand.name))) {
                // Each value is reported once.
                value.in_payload = false;
                self.checked.unpacked.push(UnpackedConstant { value: value.position, operation: operation.word() });
            }
        }
    }

    /// Checks the quantization of the operands of an operation.
    fn operand_scales(&self, checked: CheckedNode<'_>) -> Result<()> {
        self.channels(checked)?;
        self.requantization(checked)?;
        let CheckedNode { node, row, table, .. } = checked;
        let mut first: Option<(f32, i32)> = None;
        for (operand, id) in node.operands() {
            let Some(value) = self.values.get(&id) else { continue };
            let datatype = value.value.datatype;
            if !matches!(datatype, QINT8 | QUINT8) {
                continue;
            }
            let ValueScales::One(scale, zero) = value.scales else { continue };
            if row.packed.contains(&operand.name) && datatype == QINT8 && zero != 0 {
                return table.wrong(operand.slot, format!("weights with zero_point {zero}, expected 0"));
            }
            let expected = *first.get_or_insert((scale, zero));
            if row.moves && expected != (scale, zero) {
                let found = format!("scale {scale} and zero_point {zero}");
                let message = format!("{found}, expected {} and {} of the other operands", expected.0, expected.1);
                return table.wrong(operand.slot, message);
            }
        }
        Ok(())
    }

    /// Checks the dimensions of the channels of an operation, and the number of scales if XNNPACK reads another number
    /// than a value has channels.
    fn channels(&self, CheckedNode { operation, node, row, table }: CheckedNode<'_>) -> Result<()> {
        let transposed = operation.flags_slot().is_some_and(|slot| node.uint(slot) & TRANSPOSED != 0);
        for (operand, id) in node.operands() {
            let Some(value) = self.values.get(&id) else { continue };
            let ValueScales::Channels { dim, count: found, .. } = value.scales else { continue };
            let expected = row.channels.iter().find(|channels| channels.operand == operand.name);
            if let Some(ChannelDim { plain, transposed: other, .. }) = expected {
                let expected = if transposed { *other } else { *plain };
                if dim != expected {
                    let message =
                        format!("scales with channel_dim {dim}, expected {expected}: that of the output channels");
                    return table.wrong(operand.slot, message);
                }
            }
            if operation == Operation::BatchMatrixMultiply
                && let [batch @ .., rows, columns] = &value.value.sizes()[..]
            {
                let columns = if transposed { rows } else { columns };
                let needed = count(batch).and_then(|batch| batch.checked_mul(*columns));
                if needed.is_none_or(|needed| found < needed) {
                    let needed = needed.map_or("more than can be counted".to_owned(), |needed| needed.to_string());
                    let found = counted(found, "scale");
                    let message = format!("{found}, expected {needed}: one for each column of each matrix");
                    return table.wrong(operand.slot, message);
                }
            }
        }
        Ok(())
    }

    /// Checks the factor from products of quantized numbers to the quantized result. Scales in constants are not read.
    fn requantization(&self, CheckedNode { node, row, table, .. }: CheckedNode<'_>) -> Result<()> {
        let Some(range) = row.requantization else { return Ok(()) };
        let (mut factor, mut constant, mut last) = (None::<f32>, true, None);
        for (operand, id) in node.operands().filter(|(operand, _)| operand.name != OPTIONAL_OPERAND) {
            let Some(value) = self.values.get(&id) else { return Ok(()) };
            let scale = match value.scales {
                ValueScales::One(scale, _) | ValueScales::Channels { largest: Some(scale), .. } => scale,
                ValueScales::Channels { largest: None, .. } | ValueScales::None => return Ok(()),
            };
            // XNNPACK computes in this order with float32.
            factor = Some(match factor {
                None => scale,
                Some(factor) if operand.is_output => factor / scale,
                Some(factor) => {
                    constant = value.value.constant != 0;
                    factor * scale
                }
            });
            last = Some(operand.slot);
        }
        let Some((factor, slot)) = factor.zip(last) else { return Ok(()) };
        match range.refuses(factor, constant) {
            Some(expected) => {
                let scales = "scale of the input * scale of the weights / scale of the output";
                table.wrong(slot, format!("{scales} is {factor:e}, expected {expected}"))
            }
            None => Ok(()),
        }
    }

    /// Compares the scale of a bias with those of the input and the filter. Scales in constants are not read.
    fn bias_scale(&mut self, CheckedNode { operation, node, row, .. }: CheckedNode<'_>) {
        let scales = node.operands().filter(|(operand, _)| !operand.is_output).map(|(operand, id)| {
            let scale = match self.values.get(&id)?.scales {
                ValueScales::One(scale, _) | ValueScales::Channels { largest: Some(scale), .. } => scale,
                ValueScales::Channels { largest: None, .. } | ValueScales::None => return None,
            };
            Some((operand.name, scale))
        });
        let Some(scales) = scales.collect::<Option<Vec<_>>>().filter(|_| row.requantization.is_some()) else { return };
        let [(_, input), (_, filter), (OPTIONAL_OPERAND, bias)] = scales[..] else { return };
        let scale = inferred::bias_scale(input, filter);
        if (scale - bias).abs() > scale * MAX_DIFFERENCE {
            let found = format!("a bias of scale {bias:e} of `{}`", operation.word());
            let expected = format!("{scale:e}, the scale of the input times that of the filter");
            self.remark(PayloadRule::BiasScale, found, &expected);
        }
    }

    /// Checks the types of the operands and the flags of an operation.
    fn types(&self, CheckedNode { operation, node, row, table }: CheckedNode<'_>) -> Result<()> {
        let datatype = |id: u32| self.values.get(&id).map(|value| value.value.datatype);
        let found: Vec<_> = node.operands().map(|(operand, id)| (operand, datatype(id))).collect();
        let supported = row.takes(&found.iter().map(|(_, datatype)| *datatype).collect::<Vec<_>>());
        let Some((first, _)) = found.first() else { return Ok(()) };
        if !supported {
            let found = found
                .iter()
                .filter_map(|(operand, found)| Some(format!("{} {}", operand.name, Datatype::of((*found)?)?.name)));
            let found: Vec<String> = found.collect();
            return table.wrong(first.slot, format!("{operation:?} of {}", found.join(", ")));
        }
        match operation.flags_slot().map(|slot| (slot, node.uint(slot))) {
            Some((slot, flags)) if flags & !row.flags != 0 => {
                table.wrong(slot, format!("flags {flags:#x}, expected at most {:#x}", row.flags))
            }
            Some((slot, flags)) if (flags & row.exclusive).count_ones() > 1 => {
                table.wrong(slot, format!("flags {flags:#x}, expected at most one of {:#x}", row.exclusive))
            }
            Some(_) | None => Ok(()),
        }
    }
}

/// Returns the part after `count` items of a list; the whole graph after none, because the list itself may be
/// malformed.
fn after(count: usize, part: fn(usize) -> PayloadPart) -> PayloadPart {
    if count == 0 { PayloadPart::Whole } else { part(count) }
}

/// Checks a scale of a graph by the number that XNNPACK uses.
fn check_scale(t: Table, slot: u16, found: f32, used: f32) -> Result<()> {
    match is_scale(used) {
        true => Ok(()),
        false => t.wrong(slot, format!("scale {found:e}, expected {SCALE}")),
    }
}

/// Numbers that XNNPACK accepts as scales.
const SCALE: &str = "a positive, finite, normal number";

/// Returns `true` if XNNPACK accepts a scale.
fn is_scale(used: f32) -> bool {
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
