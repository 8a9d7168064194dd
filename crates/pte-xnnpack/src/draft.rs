//! A graph without the properties that follow from rules: ids, numbers of arguments, flags, indices, offsets and sizes
//! of constants. The rules are those of the exporter. [`Draft::complete`] applies them, and [`Draft::of`] finds the
//! draft of a graph, with its deviations from them.
//!
//! | part | rule |
//! |---|---|
//! | id of a value | its position |
//! | external id | inputs, then outputs, are the arguments of the delegate in this order |
//! | flags of a value | input, output |
//! | ids of inputs and outputs | in the order of the values |
//! | constants | for each value its data, then its scales; index 0 means that there are none |
//! | size of a constant | that of the value, of its scales |
//! | offset of a constant | the end of the one before, aligned |
//! | numbers of dimensions and scales | those of the lists; of scales in a constant those that the sizes need |

use std::io;

use crate::decode::decode;
use crate::encode::encode;
use crate::model::{
    Constant, Container, Dims, ExtraContent, FieldContent, Graph, GraphValue, Node, NodeOperation, QuantParamsValue,
    wide,
};
use crate::schema::{
    Datatype, EXTERNAL_INPUT, EXTERNAL_OUTPUT, IDENTIFIERS, NO_ID, QuantParams, per_channel_group_quant,
    per_channel_quant,
};
use pte_model::data::Blob;
use pte_model::diagnostics::counted;
use pte_model::format::Kind;
use pte_model::format::table::Field;
use pte_payload::header::ALIGNMENT;

/// Version that all exporters write.
pub const VERSION: &str = "0";

/// Identifier of the current schema.
pub const IDENTIFIER: &str = IDENTIFIERS[1];

/// `debug_handle` of a node that the exporter added.
pub const DEBUG_HANDLE: u32 = 65535;

/// A graph without the properties that follow from rules. A deviation from a rule is an `Option`, which is `None` if
/// the rule holds.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// File identifier: one of [`IDENTIFIERS`].
    pub identifier: &'static str,
    /// Location of the constants.
    pub container: Container,
    /// The first constant, which means that a value has no data, has an empty key.
    pub has_named_keys: bool,
    /// Version of the schema, if it is not [`VERSION`].
    pub version: Option<String>,
    /// Values.
    pub values: Vec<DraftValue>,
    /// Values that are inputs, in the order of arguments.
    pub inputs: Vec<usize>,
    /// Values that are outputs, in the order of arguments.
    pub outputs: Vec<usize>,
    /// Operations.
    pub nodes: Vec<DraftNode>,
    /// As [`Graph::num_externs`].
    pub num_externs: Option<u32>,
    /// As [`Graph::input_ids`].
    pub input_ids: Option<Vec<u32>>,
    /// As [`Graph::output_ids`].
    pub output_ids: Option<Vec<u32>>,
    /// As [`Graph::mem_buffer_sizes`].
    pub mem_buffer_sizes: Option<Vec<u32>>,
}

/// A value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DraftValue {
    /// Element type: an index of [`DATATYPES`](crate::schema::DATATYPES).
    pub datatype: i16,
    /// Size of each dimension.
    pub dims: Dims,
    /// Content of a constant.
    pub constant: Option<DraftConstant>,
    /// Quantization.
    pub quantization: Option<DraftQuantization>,
    /// As [`GraphValue::num_dims`].
    pub num_dims: Option<u32>,
    /// As [`GraphValue::id`].
    pub id: Option<u32>,
    /// As [`GraphValue::external_id`].
    pub external_id: Option<u32>,
    /// As [`GraphValue::flags`].
    pub flags: Option<u32>,
    /// As [`GraphValue::dq_datatype`].
    pub dq_datatype: i16,
}

/// Data or scales of a value.
#[derive(Debug, Clone, PartialEq)]
pub struct DraftConstant {
    /// Data or key.
    pub source: ConstantSource,
    /// As [`Constant::size`]; the rule takes it from the sizes for named data, and is the size of data in the payload.
    pub size: Option<u64>,
}

/// Source of a constant.
#[derive(Debug, Clone, PartialEq)]
pub enum ConstantSource {
    /// In the payload.
    Data(Blob),
    /// Key in the named data of the program.
    Key(String),
}

/// Quantization of a value.
#[derive(Debug, Clone, PartialEq)]
pub struct DraftQuantization {
    /// Parameters. The index of a constant and the number of scales are 0.
    pub params: QuantParamsValue,
    /// Constant with the scales; `None` if they are listed.
    pub scales: Option<DraftConstant>,
    /// Number of scales that the graph states; the rule takes it from the sizes for a constant.
    pub num_scales: Option<u32>,
}

/// An operation of a draft.
#[derive(Debug, Clone, PartialEq)]
pub struct DraftNode {
    /// Operation.
    pub operation: NodeOperation,
    /// By slot of the table of the operation.
    pub fields: Vec<DraftField>,
    /// As [`Node::extra`].
    pub extra: Vec<ExtraContent>,
    /// As [`Node::debug_handle`], if it is not [`DEBUG_HANDLE`].
    pub debug_handle: Option<u32>,
    /// Bounds of the output.
    pub output_min_max: Option<[f32; 2]>,
}

impl DraftNode {
    /// Returns the position of the value in a field.
    pub fn position(&self, slot: u16) -> Option<usize> {
        match self.fields.get(usize::from(slot)) {
            Some(DraftField::Value(position)) => Some(*position),
            Some(DraftField::NoValue | DraftField::Id(_) | DraftField::Parameter(_) | DraftField::NumDims) | None => {
                None
            }
        }
    }

    /// Returns the positions of the values that the operation reads, or of those that it writes.
    pub fn values(&self, is_output: bool) -> impl Iterator<Item = usize> {
        let operands = self.operation.operands().filter(move |operand| operand.is_output == is_output);
        operands.filter_map(|operand| self.position(operand.slot))
    }
}

/// A field of an operation.
#[derive(Debug, Clone, PartialEq)]
pub enum DraftField {
    /// A value, by its position.
    Value(usize),
    /// No value.
    NoValue,
    /// An id that no value has.
    Id(u32),
    /// A parameter, such as a stride.
    Parameter(FieldContent),
    /// The number of dimensions of the first list among the fields.
    NumDims,
}

/// Returns `true` if a field of an operation has the id of a value.
pub fn is_operand(field: &Field) -> bool {
    matches!(field.kind, Kind::UInt) && field.name.ends_with("_id")
}

/// Returns `true` if a field of an operation has the length of a list.
fn is_num_dims(field: &Field) -> bool {
    field.name == "num_dims"
}

/// Returns the content of a field that is omitted.
pub fn default_field(field: &Field) -> DraftField {
    match field.kind {
        _ if is_operand(field) => DraftField::NoValue,
        _ if is_num_dims(field) => DraftField::NumDims,
        Kind::Float => DraftField::Parameter(FieldContent::Float(0.0)),
        Kind::UInts => DraftField::Parameter(FieldContent::UInts([].into())),
        kind => DraftField::Parameter(content_of(kind)),
    }
}

/// Returns the content of a number that is left out; no operation has other kinds of fields.
fn content_of(kind: Kind) -> FieldContent {
    debug_assert!(matches!(kind, Kind::UInt), "{kind:?}");
    FieldContent::UInt(0)
}

impl DraftField {
    fn of(field: &Field, content: &FieldContent, position: impl Fn(u32) -> Option<usize>, dims: u32) -> DraftField {
        let number = content.uint();
        match () {
            () if is_operand(field) && number == NO_ID => DraftField::NoValue,
            () if is_operand(field) => position(number).map_or(DraftField::Id(number), DraftField::Value),
            () if is_num_dims(field) && number == dims => DraftField::NumDims,
            () => DraftField::Parameter(content.clone()),
        }
    }
}

/// Returns the length of the first list.
fn list_len<'c>(fields: impl IntoIterator<Item = &'c FieldContent>) -> u32 {
    let lists = fields.into_iter().find_map(|field| {
        let FieldContent::UInts(items) = field else { return None };
        Some(items.len() as u32)
    });
    lists.unwrap_or(0)
}

/// Returns the number of elements; `None` beyond `u64`.
pub fn count(dims: &[u64]) -> Option<u64> {
    dims.iter().try_fold(1u64, |count, size| count.checked_mul(*size))
}

/// Returns the size of a value in bytes; `None` beyond `u64`. Rows of 4-bit elements end at a byte.
pub fn nbytes(dims: &[u64], bits: u64) -> Option<u64> {
    let Some((last, rows)) = dims.split_last() else { return Some(bits.div_ceil(8)) };
    count(rows)?.checked_mul(last.checked_mul(bits)?.div_ceil(8))
}

impl DraftValue {
    /// Creates a value without content.
    pub fn new(datatype: i16, dims: impl Into<Dims>) -> DraftValue {
        DraftValue { datatype, dims: dims.into(), ..DraftValue::default() }
    }

    /// Returns the constants with its data and its scales.
    pub fn constants(&self) -> [Option<&DraftConstant>; 2] {
        let scales = self.quantization.as_ref().and_then(|quantization| quantization.scales.as_ref());
        [self.constant.as_ref(), scales]
    }

    /// Returns the keys of its data and of its scales in the named data, each with what a name of the value needs for
    /// it.
    pub fn keys(&self) -> impl Iterator<Item = (&str, &'static str)> {
        self.constants().into_iter().zip(["", " scales"]).filter_map(|(constant, what)| match &constant?.source {
            ConstantSource::Key(key) => Some((&**key, what)),
            ConstantSource::Data(_) => None,
        })
    }

    /// Number of bytes of the value; 0 if it overflows.
    pub fn nbytes(&self) -> u64 {
        let bits = Datatype::of(self.datatype).map_or(0, |found| found.bits);
        nbytes(&wide(&self.dims), bits).unwrap_or(0)
    }

    /// Number of scales that the sizes need; 0 without channels.
    pub fn scales(&self) -> u64 {
        let size =
            |dim: i32| usize::try_from(dim).ok().and_then(|dim| self.dims.get(dim)).map_or(0, |size| u64::from(*size));
        let Some(DraftQuantization { params, .. }) = &self.quantization else { return 0 };
        match params.kind {
            QuantParams::PerChannel => size(params.int(per_channel_quant::channel_dim)),
            QuantParams::PerChannelGroup => {
                let group = u64::try_from(params.int(per_channel_group_quant::group_size)).unwrap_or(0).max(1);
                size(0).saturating_mul(size(1) / group)
            }
            QuantParams::PerTensor | QuantParams::PerTokenDynamic => 0,
        }
    }
}

/// Returns the size of a scale in a constant, in bytes.
pub fn scale_size(kind: QuantParams) -> u64 {
    kind.scale_type().element_size()
}

/// The constants of a graph while it is completed.
struct Constants {
    container: Container,
    list: Vec<Constant>,
    end: u64,
}

impl Constants {
    /// Adds a constant; `size` is that of named data. Returns its index.
    fn add(&mut self, constant: &DraftConstant, size: u64) -> u32 {
        let mut added = match &constant.source {
            ConstantSource::Key(key) => {
                Constant { key: Some(key.clone()), offset: u64::MAX, size, data: Blob::bytes([]) }
            }
            ConstantSource::Data(data) => {
                let offset = if self.container == Container::Header { self.end } else { 0 };
                self.end = aligned(self.end.saturating_add(data.len()));
                Constant { key: None, offset, size: data.len(), data: data.clone() }
            }
        };
        added.size = constant.size.unwrap_or(added.size);
        self.list.push(added);
        (self.list.len() - 1) as u32
    }
}

fn aligned(offset: u64) -> u64 {
    offset.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX)
}

impl Draft {
    /// Creates a draft of the current form without values and nodes.
    pub fn new() -> Draft {
        Draft {
            identifier: IDENTIFIER,
            container: Container::Header,
            has_named_keys: true,
            version: None,
            values: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            nodes: Vec::new(),
            num_externs: None,
            input_ids: None,
            output_ids: None,
            mem_buffer_sizes: None,
        }
    }

    /// Returns the draft of a payload that [`Draft::encode`] encodes to the same bytes.
    ///
    /// # Errors
    /// Description of what a draft does not express.
    pub fn read(payload: &Blob) -> Result<Draft, String> {
        Draft::of_payload(&decode(payload)?, payload)
    }

    /// As [`Draft::read`], of the graph that is decoded from the payload.
    ///
    /// # Errors
    /// Description of what a draft does not express.
    pub fn of_payload(graph: &Graph, payload: &Blob) -> Result<Draft, String> {
        let draft = Draft::of(graph)?;
        let encoded = encode(graph).map_err(|error| error.to_string())?;
        // Constants after the graph are taken as they are, and so is what is between them: only zeros.
        let head = encoded.len().saturating_sub(graph.constants_len);
        let is_same = encoded.len() == payload.len() && payload.len() >= head && {
            let bytes = |blob| Blob::contents(blob, 0, head as usize).map_err(|error| error.to_string());
            bytes(&encoded)? == bytes(payload)?
        };
        match is_same {
            true => Ok(draft),
            false => Err("the exporter's serializer writes this graph in another way".to_owned()),
        }
    }

    /// Returns the payload of the draft.
    ///
    /// # Errors
    /// A payload cannot contain the graph, or data cannot be read.
    pub fn encode(&self) -> io::Result<Blob> {
        encode(&self.complete())
    }

    /// Applies the rules. Positions of values that do not exist count as no value.
    pub fn complete(&self) -> Graph {
        let key = (self.has_named_keys && self.container == Container::Header).then(String::new);
        let none = Constant { key, offset: 0, size: 0, data: Blob::bytes([]) };
        let mut constants = Constants { container: self.container, list: vec![none], end: 0 };
        let (flags, external) = self.arguments();
        let mut values = Vec::with_capacity(self.values.len());
        for (position, value) in self.values.iter().enumerate() {
            let constant = value.constant.as_ref().map_or(0, |constant| constants.add(constant, value.nbytes()));
            values.push(GraphValue {
                datatype: value.datatype,
                num_dims: value.num_dims.unwrap_or(value.dims.len() as u32),
                dims: value.dims.clone(),
                constant,
                external_id: external[position],
                flags: value.flags.unwrap_or(flags[position]),
                id: self.id(position),
                dq_datatype: value.dq_datatype,
                quantization: value
                    .quantization
                    .as_ref()
                    .map(|params| Box::new(params.complete(value, &mut constants))),
            });
        }
        let listed = |positions: &[usize]| {
            let mut positions: Vec<usize> = positions.iter().copied().filter(|at| *at < self.values.len()).collect();
            positions.sort_unstable();
            positions.into_iter().map(|position| self.id(position)).collect::<Vec<u32>>()
        };
        let largest = external.iter().copied().filter(|id| *id != NO_ID).max();
        let sizes = constants.list.iter().map(|constant| constant.size as u32);
        Graph {
            container: self.container,
            identifier: self.identifier,
            version: self.version.clone().unwrap_or_else(|| VERSION.to_owned()),
            nodes: self.nodes.iter().map(|node| self.node(node)).collect(),
            values,
            num_externs: self.num_externs.unwrap_or_else(|| largest.map_or(0, |id| id + 1)),
            input_ids: self.input_ids.clone().unwrap_or_else(|| listed(&self.inputs)),
            output_ids: self.output_ids.clone().unwrap_or_else(|| listed(&self.outputs)),
            mem_buffer_sizes: self.mem_buffer_sizes.clone().or_else(|| match self.container {
                Container::Header => None,
                Container::Bare => Some(sizes.collect()),
            }),
            constants: constants.list,
            constants_len: if self.container == Container::Header { constants.end } else { 0 },
        }
    }

    /// Returns the flags and the external id of each value.
    fn arguments(&self) -> (Vec<u32>, Vec<u32>) {
        let mut flags = vec![0; self.values.len()];
        let mut external = vec![NO_ID; self.values.len()];
        for (position, value) in self.values.iter().enumerate() {
            external[position] = value.external_id.unwrap_or(NO_ID);
        }
        let mut next = 0;
        let both = [(&self.inputs, EXTERNAL_INPUT), (&self.outputs, EXTERNAL_OUTPUT)];
        for (list, flag) in both {
            for position in list.iter().copied().filter(|position| *position < self.values.len()) {
                if flags[position] == 0 {
                    let id = self.values[position].external_id.unwrap_or(next);
                    external[position] = id;
                    next = id.saturating_add(1);
                }
                flags[position] |= flag;
            }
        }
        (flags, external)
    }

    fn id(&self, position: usize) -> u32 {
        self.values.get(position).map_or(NO_ID, |value| value.id.unwrap_or(position as u32))
    }

    fn node(&self, node: &DraftNode) -> Node {
        let lists = node.fields.iter().filter_map(|field| match field {
            DraftField::Parameter(content) => Some(content),
            DraftField::Value(_) | DraftField::NoValue | DraftField::Id(_) | DraftField::NumDims => None,
        });
        let dims = list_len(lists);
        let fields = node.fields.iter().map(|field| match field {
            DraftField::Value(position) => FieldContent::UInt(self.id(*position)),
            DraftField::NoValue => FieldContent::UInt(NO_ID),
            DraftField::Id(id) => FieldContent::UInt(*id),
            DraftField::Parameter(content) => content.clone(),
            DraftField::NumDims => FieldContent::UInt(dims),
        });
        Node {
            operation: node.operation,
            fields: fields.collect(),
            extra: node.extra.clone(),
            debug_handle: node.debug_handle.unwrap_or(DEBUG_HANDLE),
            output_min_max: node.output_min_max,
        }
    }

    /// Returns the draft of a graph.
    ///
    /// # Errors
    /// A draft cannot express a part of the graph: constants that no value uses, or that are used in another order. The
    /// error describes it.
    pub fn of(graph: &Graph) -> Result<Draft, String> {
        let mut next = 1;
        let mut values = Vec::with_capacity(graph.values.len());
        for (position, value) in graph.values.iter().enumerate() {
            values.push(DraftValue::of(graph, value, &mut next).map_err(|error| format!("value {position}: {error}"))?);
        }
        match graph.constants.len().checked_sub(next) {
            Some(0) => {}
            Some(unused) => return Err(format!("{} that no value uses", counted(unused, "constant"))),
            None => return Err("no placeholder as constant 0".to_owned()),
        }
        let arguments = |flag: u32| {
            let with = (0..graph.values.len()).filter(|position| graph.values[*position].flags & flag != 0);
            let mut with: Vec<usize> = with.collect();
            with.sort_by_key(|position| graph.values[*position].external_id);
            with
        };
        let positions = graph.positions();
        let nodes = graph.nodes.iter().map(|node| {
            let dims = list_len(&node.fields);
            let fields = node
                .operation
                .table()
                .fields
                .iter()
                .zip(&node.fields)
                .map(|(field, content)| DraftField::of(field, content, |id| positions.get(&id).copied(), dims));
            DraftNode {
                operation: node.operation,
                fields: fields.collect(),
                extra: node.extra.clone(),
                debug_handle: (node.debug_handle != DEBUG_HANDLE).then_some(node.debug_handle),
                output_min_max: node.output_min_max,
            }
        });
        let mut draft = Draft {
            identifier: graph.identifier,
            container: graph.container,
            has_named_keys: graph.container == Container::Bare
                || graph.constants.first().is_some_and(|none| none.key.is_some()),
            version: (graph.version != VERSION).then(|| graph.version.clone()),
            values,
            inputs: arguments(EXTERNAL_INPUT),
            outputs: arguments(EXTERNAL_OUTPUT),
            nodes: nodes.collect(),
            ..Draft::new()
        };
        draft.deviate(graph)?;
        Ok(draft)
    }

    /// Sets the deviations from the rules.
    fn deviate(&mut self, graph: &Graph) -> Result<(), String> {
        let differs = |own: u32, rule: u32| (own != rule).then_some(own);
        let (mut next, mut numbered) = (0, vec![false; self.values.len()]);
        for position in self.inputs.iter().chain(&self.outputs) {
            // A value that is both input and output has one number.
            if !std::mem::replace(&mut numbered[*position], true) {
                let id = graph.values[*position].external_id;
                self.values[*position].external_id = differs(id, next);
                next = id.saturating_add(1);
            }
        }
        let plain = self.complete();
        // Most graphs follow all rules.
        if plain == *graph {
            return Ok(());
        }
        for (value, (own, rule)) in self.values.iter_mut().zip(graph.values.iter().zip(&plain.values)) {
            value.id = differs(own.id, rule.id);
            value.num_dims = differs(own.num_dims, rule.num_dims);
            value.flags = differs(own.flags, rule.flags);
            if own.external_id != rule.external_id {
                value.external_id = Some(own.external_id);
            }
            let size = |index: u32| {
                let own = graph.constants.get(index as usize)?.size;
                (plain.constants.get(index as usize)?.size != own).then_some(own)
            };
            if let Some(constant) = &mut value.constant {
                constant.size = size(own.constant);
            }
            if let Some(params) = &mut value.quantization
                && let (Some(own), Some(rule)) = (&own.quantization, &rule.quantization)
            {
                params.deviate(own, rule, size);
            }
        }
        let plain = self.complete();
        self.num_externs = differs(graph.num_externs, plain.num_externs);
        self.input_ids = (graph.input_ids != plain.input_ids).then(|| graph.input_ids.clone());
        self.output_ids = (graph.output_ids != plain.output_ids).then(|| graph.output_ids.clone());
        if graph.mem_buffer_sizes != plain.mem_buffer_sizes {
            self.mem_buffer_sizes.clone_from(&graph.mem_buffer_sizes);
        }
        let complete = self.complete();
        let deviation = match () {
            () if complete == *graph => return Ok(()),
            () if complete.constants != graph.constants || complete.constants_len != graph.constants_len => {
                "constants with unusual offsets"
            }
            () if complete.values != graph.values => "values with unusual fields",
            () if complete.nodes != graph.nodes => "nodes with unusual fields",
            () => "unusual fields of the graph",
        };
        Err(deviation.to_owned())
    }
}

impl Default for Draft {
    fn default() -> Draft {
        Draft::new()
    }
}

/// Takes the constant with an index, which must be the next one.
fn take(graph: &Graph, index: u32, next: &mut usize) -> Result<Option<DraftConstant>, String> {
    if index == 0 {
        return Ok(None);
    }
    if index as usize != *next {
        return Err(format!("constant {index}, expected {next}"));
    }
    let Some(constant) = graph.constants.get(*next) else { return Err(format!("unknown constant {index}")) };
    *next += 1;
    let source = match &constant.key {
        None => ConstantSource::Data(constant.data.clone()),
        Some(key) => ConstantSource::Key(key.clone()),
    };
    Ok(Some(DraftConstant { source, size: None }))
}

impl DraftValue {
    fn of(graph: &Graph, value: &GraphValue, next: &mut usize) -> Result<DraftValue, String> {
        let constant = take(graph, value.constant, next)?;
        let quantization = match &value.quantization {
            Some(params) => Some(DraftQuantization::of(graph, params, next)?),
            None => None,
        };
        Ok(DraftValue {
            constant,
            quantization,
            dq_datatype: value.dq_datatype,
            ..DraftValue::new(value.datatype, value.dims.clone())
        })
    }
}

impl DraftQuantization {
    /// Creates a quantization whose scales are listed.
    pub fn new(kind: QuantParams, fields: impl IntoIterator<Item = FieldContent>) -> DraftQuantization {
        let params = QuantParamsValue { kind, fields: fields.into_iter().collect() };
        DraftQuantization { params, scales: None, num_scales: None }
    }

    /// Member of the union.
    pub fn kind(&self) -> QuantParams {
        self.params.kind
    }

    fn complete(&self, value: &DraftValue, constants: &mut Constants) -> QuantParamsValue {
        let mut params = self.params.clone();
        let count = value.scales();
        let size = count.saturating_mul(scale_size(self.kind()));
        let index = self.scales.as_ref().map_or(0, |constant| constants.add(constant, size));
        let number = self.num_scales.unwrap_or(if index == 0 { 0 } else { count as u32 });
        if let Some(fields) = params.constant_fields() {
            *fields = [index, number].map(FieldContent::UInt);
        }
        params
    }

    fn of(graph: &Graph, params: &QuantParamsValue, next: &mut usize) -> Result<DraftQuantization, String> {
        let mut found = DraftQuantization { params: params.clone(), scales: None, num_scales: None };
        let Some(fields) = found.params.constant_fields() else { return Ok(found) };
        let index = fields[0].uint();
        *fields = [0, 0].map(FieldContent::UInt);
        if !matches!(params.fields[..], [FieldContent::Floats(_), ..]) {
            return Err(format!("{:?} without a list of scales", params.kind));
        }
        found.scales = take(graph, index, next)?;
        if found.scales.is_some() {
            found.params.fields[0] = FieldContent::Floats([].into());
        }
        Ok(found)
    }

    /// States a number of scales, and a size of their constant, that deviate from the rules.
    fn deviate(&mut self, own: &QuantParamsValue, rule: &QuantParamsValue, size: impl Fn(u32) -> Option<u64>) {
        let [.., FieldContent::UInt(index), FieldContent::UInt(number)] = &own.fields[..] else { return };
        self.num_scales = (own.fields.last() != rule.fields.last()).then_some(*number);
        if let Some(constant) = &mut self.scales {
            constant.size = size(*index);
        }
    }
}
