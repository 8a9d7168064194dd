//! Reads the bytes of a payload to a [`Graph`]. The bytes are untrusted: work and memory are proportional to the size
//! of the payload.
//!
//! [`ReadGraph`] is a payload as far as it can be read, to describe and check it. [`decode`] accepts only payloads that
//! [`crate::encode`] can write again. Whether XNNPACK accepts the graph is not decided here.

use std::{fmt, io, thread};

use crate::model::{
    Constant, Container, ExtraContent, FieldContent, Fields, Graph, GraphValue, Node, NodeOperation, QuantParamsValue,
    no_data,
};
use crate::schema::{
    BUFFER, CONSTANT_DATA_OFFSET, Datatype, GRAPH, IDENTIFIERS, MAGIC, NODE, OUTPUT_MIN_MAX, QuantParams, TENSOR_VALUE,
    VALUE, VALUES, buffer, constant_data_offset, graph, node, output_min_max, tensor_value, value,
};
use pte_model::data::{Blob, workers};
use pte_model::diagnostics::counted;
use pte_model::format::flatbuffer::read::{Buffer, ExtraField, ReadError, TableRef};
use pte_model::format::flatbuffer::{ObjectKind, Scalar, SlotContent};
use pte_model::format::table::Union;
use pte_model::format::{Kind, TableSchema};
use pte_payload::header::{ALIGNMENT, HEADER, Sections};

/// Maximum size in bytes of a graph that is decoded. A graph without a header contains its constants.
pub const MAX_GRAPH: u64 = 1 << 30;

/// Maximum number of values, of operations, and of constants. Their tables may share bytes in the file, but each takes
/// memory.
const MAX_ITEMS: usize = 1 << 18;

/// Reason why a payload is not read at all.
#[derive(Debug)]
pub enum PayloadError {
    /// It cannot be read.
    Io(io::Error),
    /// It is too short for its header, its graph or its constants.
    Header(String),
    /// Size of a graph that is too large, and the limit.
    Size(u64, u64),
    /// It has no graph of XNNPACK.
    Identifier(String),
}

impl fmt::Display for PayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PayloadError::Io(error) => write!(f, "the payload cannot be read: {error}"),
            PayloadError::Header(problem) => f.write_str(problem),
            PayloadError::Size(size, max) => write!(f, "a graph of {}, expected at most {max}", counted(*size, "byte")),
            PayloadError::Identifier(_) => f.write_str("no XNNPACK identifier (XN00, XN01)"),
        }
    }
}

impl From<io::Error> for PayloadError {
    fn from(error: io::Error) -> PayloadError {
        PayloadError::Io(error)
    }
}

type Result<T> = std::result::Result<T, String>;
type Read<T> = std::result::Result<T, Box<ReadError>>;

/// Problems of the graph as a whole, of its values, or of its operations.
#[derive(Debug, Default)]
pub struct Problems {
    /// The first malformed part: index of the value or operation, and error.
    pub malformed: Option<(usize, Box<ReadError>)>,
    /// Items are missing from the first malformed one on.
    pub is_cut: bool,
    /// The first part that [`crate::encode`] does not write again.
    unlike: Option<Box<ReadError>>,
}

impl Problems {
    fn malformed(&mut self, index: usize, error: Box<ReadError>) {
        self.unlike.get_or_insert_with(|| error.clone());
        self.malformed.get_or_insert((index, error));
    }

    /// Returns what was read. What is malformed is the default.
    fn take<T: Default>(&mut self, found: Read<T>) -> T {
        found.unwrap_or_else(|error| {
            self.malformed(0, error);
            T::default()
        })
    }

    /// Returns what was read. The runtime does not read it: an error only prevents that the payload is written again.
    fn take_unread<T: Default>(&mut self, found: Read<T>) -> T {
        found.unwrap_or_else(|error| {
            self.unlike.get_or_insert(error);
            T::default()
        })
    }

    /// Checks that a table has only fields of the schema: the others would be lost.
    fn known(&mut self, t: &TableRef<'_, '_>) {
        let found = t.beyond_schema().and_then(|slot| match slot {
            Some(slot) => t.wrong(slot, format!("field {slot} is not in the schema of ExecuTorch 1.5.1")),
            None => Ok(()),
        });
        self.take_unread(found);
    }

    /// Reads the items of a vector of tables, also those after a malformed one.
    fn items<'b, 'a, T>(
        &mut self,
        t: &TableRef<'b, 'a>,
        slot: u16,
        schema: &'static TableSchema,
        mut read: impl FnMut(&mut Problems, usize, TableRef<'b, 'a>) -> T,
    ) -> Vec<T> {
        let mut items = Vec::new();
        let found = t.tables(slot, schema).and_then(|tables| match tables {
            Some(tables) if tables.len > MAX_ITEMS => {
                t.wrong(slot, format!("{}, expected at most {MAX_ITEMS}", counted(tables.len, "item")))
            }
            Some(tables) => {
                items.reserve(tables.len.min(1 << 16));
                t.children(slot, schema, |t| {
                    items.push(read(self, items.len(), t));
                    Ok(())
                })
            }
            None => Ok(None),
        });
        if let Err(error) = found {
            self.malformed(items.len(), error);
            self.is_cut = true;
        }
        items
    }
}

/// Offsets in the graph of the tables of a value; 0 for those that were not read.
#[derive(Debug, Default, Clone, Copy)]
pub struct ValueTables {
    /// The member of the union is absent, or not in the schema.
    pub is_unknown: bool,
    /// `XNNTensorValue`
    pub tensor: u32,
    /// `XNNQuantizedTensorValue`, whose tensor was read.
    pub quantized: u32,
    /// Member of `XNNQuantParams`.
    pub params: u32,
}

/// Offsets in the graph of the tables of an operation; 0 for those that were not read.
#[derive(Debug, Default, Clone, Copy)]
pub struct NodeTables {
    /// `XNode`
    pub node: u32,
    /// Member of `XNodeUnion`.
    pub member: u32,
    /// `OutputMinMax`
    pub bounds: u32,
}

/// A payload as far as it can be read: parts that are malformed are missing, and fields that the schema does not have.
#[derive(Debug)]
pub struct ReadGraph {
    /// The graph.
    pub graph: Graph,
    /// Problems of the graph as a whole and of its constants.
    pub whole: Problems,
    /// Problems of values.
    pub values: Problems,
    /// Problems of operations.
    pub nodes: Problems,
    /// Offset of the root table in the graph.
    pub root: u32,
    /// By value.
    pub value_tables: Vec<ValueTables>,
    /// By operation.
    pub node_tables: Vec<NodeTables>,
    /// Parts of the payload.
    pub sections: Sections,
    /// Error of the version, which the runtime does not read.
    pub version: Option<Box<ReadError>>,
}

/// Size in bytes from which a graph is read by two threads.
const LARGE: usize = 1 << 20;

impl ReadGraph {
    /// Reads a payload whose graph has at most `max` bytes.
    ///
    /// # Errors
    /// The payload has no graph, or cannot be read.
    pub fn read(payload: &Blob, max: u64) -> std::result::Result<ReadGraph, PayloadError> {
        let head = payload.read_at(0, payload.len().min(HEADER as u64) as usize)?;
        let sections = Sections::read(MAGIC, &head, payload.len()).map_err(PayloadError::Header)?;
        let (start, size) = sections.graph;
        if size > max {
            return Err(PayloadError::Size(size, max));
        }
        let bytes = payload.contents(start, size as usize)?;
        let found = IDENTIFIERS.into_iter().find(|identifier| bytes.get(4..8) == Some(identifier.as_bytes()));
        let buffer = Buffer::new(&bytes);
        let identifier = found.unwrap_or(IDENTIFIERS[0]);
        let container = if sections.constants.is_some() { Container::Header } else { Container::Bare };
        let mut read = ReadGraph {
            graph: Graph { container, identifier, ..Graph::default() },
            whole: Problems::default(),
            values: Problems::default(),
            nodes: Problems::default(),
            root: 0,
            value_tables: Vec::new(),
            node_tables: Vec::new(),
            sections,
            version: None,
        };
        match buffer.root(identifier, &GRAPH) {
            Ok(root) => read.parts(&bytes, &buffer, &root, payload)?,
            Err(error) if found.is_none() => return Err(PayloadError::Identifier(read.text(&error))),
            Err(error) => read.whole.malformed(0, error),
        }
        Ok(read)
    }

    /// Describes an error, with its offset in the payload.
    pub fn text(&self, error: &ReadError) -> String {
        let offset = error.offset.saturating_add(self.sections.graph.0);
        ReadError { offset, ..error.clone() }.to_string()
    }

    /// Checks that [`crate::encode`] writes everything that the payload has.
    ///
    /// # Errors
    /// As [`decode`].
    pub fn writable(&self, payload: &Blob) -> Result<()> {
        if let Some(error) =
            [&self.whole, &self.nodes, &self.values].into_iter().find_map(|found| found.unlike.as_ref())
        {
            return Err(self.text(error));
        }
        match self.sections.constants {
            Some((data, len)) => check_constants(&self.graph, payload, data, len),
            None => Ok(()),
        }
    }

    fn parts(&mut self, bytes: &[u8], buffer: &Buffer<'_>, root: &TableRef<'_, '_>, payload: &Blob) -> io::Result<()> {
        let identifier = self.graph.identifier;
        let values = || -> Read<_> {
            let buffer = Buffer::new(bytes);
            let values = read_values(&buffer.root(identifier, &GRAPH)?);
            Ok((values, buffer.spent()))
        };
        let (values, problems) = thread::scope(|scope| {
            let values = (bytes.len() >= LARGE && workers::HAS_THREADS).then(|| scope.spawn(values));
            self.others(root, payload)?;
            let values = match values {
                Some(values) => workers::join(values).and_then(|(values, spent)| {
                    buffer.settle(spent)?;
                    Ok(values)
                }),
                None => Ok(read_values(root)),
            };
            io::Result::Ok(values.unwrap_or_else(|error| {
                let mut problems = Problems { is_cut: true, ..Problems::default() };
                problems.malformed(0, error);
                (Vec::new(), problems)
            }))
        })?;
        (self.graph.values, self.value_tables) = values.into_iter().unzip();
        self.values = problems;
        Ok(())
    }

    /// Reads the graph without its values.
    fn others(&mut self, t: &TableRef<'_, '_>, payload: &Blob) -> io::Result<()> {
        let whole = &mut self.whole;
        self.root = t.at() as u32;
        whole.known(t);
        self.graph.constants = match self.sections.constants {
            Some((start, len)) => {
                self.graph.constants_len = len;
                let constants = whole.items(t, graph::constant_data, &CONSTANT_DATA_OFFSET, |whole, _, t| {
                    whole.known(&t);
                    let constant = || -> Read<Constant> {
                        let key = t.text(constant_data_offset::named_key)?;
                        let (offset, size) = (t.u64(constant_data_offset::offset)?, t.u64(constant_data_offset::size)?);
                        Ok(Constant { key, offset, size, ..Constant::default() })
                    };
                    whole.take(constant())
                });
                if constants.is_empty() {
                    let none = "no constants, expected at least constant 0, which is a placeholder";
                    whole.take_unread(t.wrong(graph::constant_data, none))
                }
                let data = |constant: &Constant| match start.checked_add(constant.offset) {
                    Some(at) if constant.is_inside() => payload.part(at, constant.size),
                    Some(_) | None => Ok(None),
                };
                constants
                    .into_iter()
                    .map(|constant| Ok(Constant { data: data(&constant)?.unwrap_or_else(no_data), ..constant }))
                    .collect::<io::Result<_>>()
            }
            None => {
                let ranges = whole.items(t, graph::constant_buffer, &BUFFER, |whole, _, t| {
                    whole.known(&t);
                    // It fails unless they are inside the graph.
                    whole.take(t.range(buffer::storage)).unwrap_or_default()
                });
                let constants = ranges.into_iter().map(|(offset, size)| {
                    let data = payload.part(offset, size)?.unwrap_or_else(no_data);
                    Ok(Constant { key: None, offset: 0, size, data })
                });
                constants.collect::<io::Result<_>>()
            }
        }?;
        // The exporter's serializer writes the nodes in their order from the end, so that the content of each node ends
        // where that of the previous one begins.
        let mut end = t.target(graph::version).ok().flatten().unwrap_or(t.at());
        let nodes = self.nodes.items(t, graph::xnodes, &NODE, |nodes, index, t| {
            let node = read_node(nodes, index, &t, end);
            end = t.at();
            node
        });
        (self.graph.nodes, self.node_tables) = nodes.into_iter().unzip();
        let version = t.text(graph::version);
        self.version = version.as_ref().err().cloned();
        self.graph.version = whole.take_unread(version).unwrap_or_default();
        self.graph.num_externs = whole.take(t.u32(graph::num_externs));
        self.graph.input_ids = whole.take(t.u32s(graph::input_ids)).unwrap_or_default();
        self.graph.output_ids = whole.take(t.u32s(graph::output_ids)).unwrap_or_default();
        self.graph.mem_buffer_sizes = whole.take_unread(t.u32s(graph::mem_buffer_sizes));
        Ok(())
    }
}

/// Decodes a payload.
///
/// # Errors
/// A payload that is malformed, cannot be read, or has content that [`crate::encode::encode`] does not write: the
/// reason, with its position in the bytes of the payload if it has one.
pub fn decode(payload: &Blob) -> Result<Graph> {
    let read = ReadGraph::read(payload, MAX_GRAPH).map_err(|error| error.to_string())?;
    read.writable(payload)?;
    Ok(read.graph)
}

fn read_values(root: &TableRef<'_, '_>) -> (Vec<(GraphValue, ValueTables)>, Problems) {
    let mut problems = Problems::default();
    let values = problems.items(root, graph::xvalues, &VALUE, |problems, index, t| {
        let (mut value, mut tables) = (GraphValue::default(), ValueTables::default());
        if let Err(error) = read_value(problems, &t, &mut value, &mut tables) {
            problems.malformed(index, error);
        }
        (value, tables)
    });
    (values, problems)
}

/// Reads a value as far as it is not malformed.
fn read_value(
    problems: &mut Problems,
    t: &TableRef<'_, '_>,
    value: &mut GraphValue,
    tables: &mut ValueTables,
) -> Read<()> {
    use crate::schema::quantized_tensor_value as quantized;
    problems.known(t);
    tables.is_unknown = !(1..=VALUES.len()).contains(&t.u8(value::xvalue_union_type)?.into());
    let (tag, member) = t.tagged(value::xvalue_union_type, value::xvalue_union, VALUES, "kind of value")?;
    tables.is_unknown = member.is_none();
    let Some(member) = member else { return t.wrong(value::xvalue_union, "xvalue_union is missing") };
    let tensor = match tag {
        1 => Some(member),
        _ => member.child(quantized::tensor_value, &TENSOR_VALUE)?,
    };
    tables.is_unknown = tensor.is_none();
    let Some(tensor) = tensor else { return t.wrong(value::xvalue_union, "tensor_value is missing") };
    problems.known(&tensor);
    tables.tensor = tensor.at() as u32;
    value.datatype = tensor.i16(tensor_value::datatype)?;
    if Datatype::of(value.datatype).is_none() {
        let unknown = tensor.wrong(tensor_value::datatype, format!("unknown datatype {}", value.datatype));
        problems.take_unread(unknown)
    }
    value.id = tensor.u32(tensor_value::id_out)?;
    value.dims = tensor.u32s(tensor_value::dims)?.unwrap_or_default();
    value.num_dims = problems.take_unread(tensor.u32(tensor_value::num_dims));
    value.constant = tensor.u32(tensor_value::constant_buffer_idx)?;
    value.external_id = tensor.u32(tensor_value::external_id)?;
    value.flags = tensor.u32(tensor_value::flags)?;
    value.dq_datatype = tensor.i16(tensor_value::dq_datatype)?;
    if tag == 1 {
        return Ok(());
    }
    tables.quantized = member.at() as u32;
    problems.known(&member);
    let (kind, params) =
        member.member::<QuantParams>(quantized::quant_params_type, quantized::quant_params, "kind of quantization")?;
    let Some(params) = params else { return member.wrong(quantized::quant_params, "quant_params are missing") };
    problems.known(&params);
    tables.params = params.at() as u32;
    value.quantization = Some(Box::new(QuantParamsValue { kind, fields: contents(&params, kind.table())? }));
    Ok(())
}

/// Reads an operation whose content is before offset `end` of the buffer, as far as it is not malformed.
fn read_node(problems: &mut Problems, index: usize, t: &TableRef<'_, '_>, end: usize) -> (Node, NodeTables) {
    let mut node = Node {
        operation: NodeOperation::Unknown(0),
        fields: Fields::new(),
        extra: Vec::new(),
        debug_handle: 0,
        output_min_max: None,
    };
    let mut tables = NodeTables { node: t.at() as u32, ..NodeTables::default() };
    problems.known(t);
    let mut fill = || -> Read<()> {
        let tag = t.u8(node::xnode_union_type)?;
        node.operation = NodeOperation::of_tag(tag);
        if tag == 0 {
            problems.take_unread(t.wrong(node::xnode_union_type, "no operation"))
        }
        let table = node.operation.table();
        let Some(member) = t.child(node::xnode_union, table)? else {
            return t.wrong(node::xnode_union, "xnode_union is missing");
        };
        tables.member = member.at() as u32;
        if let Some(bounds) = t.child(node::output_min_max, &OUTPUT_MIN_MAX)? {
            problems.known(&bounds);
            tables.bounds = bounds.at() as u32;
            node.output_min_max =
                Some([bounds.f32(output_min_max::output_min)?, bounds.f32(output_min_max::output_max)?]);
        }
        node.fields = contents(&member, table)?;
        node.extra = problems.take_unread(extra(&member, table, end));
        node.debug_handle = problems.take_unread(t.u32(node::debug_handle));
        Ok(())
    };
    if let Err(error) = fill() {
        problems.malformed(index, error);
    }
    (node, tables)
}

/// Reads the fields of the table of an operation that are not in the schema. A field of four bytes is a vector if it is
/// an offset to bytes between the table and `end` that form one. If that is not certain, the encoded graph differs from
/// the payload, or the field is rejected.
fn extra(t: &TableRef<'_, '_>, schema: &'static TableSchema, end: usize) -> Read<Vec<ExtraContent>> {
    let (behind, found) = t.extra()?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    // Starts of the vectors of the table, ascending.
    let mut targets = Vec::new();
    for (slot, field) in (0..).zip(schema.fields) {
        if matches!(field.kind, Kind::UInts | Kind::UShorts | Kind::Floats) {
            targets.extend(t.target(slot)?);
        }
    }
    let is_inside = |target: &usize| (behind..end).contains(target);
    let target_of = |field: &ExtraField<'_>| {
        let offset = field.bytes.try_into().map(u32::from_le_bytes).ok()?;
        field.at.checked_add(offset as usize).filter(|target| target % 4 == 0).filter(is_inside)
    };
    targets.extend(found.iter().filter_map(target_of));
    targets.sort_unstable();
    let mut extra = Vec::with_capacity(found.len());
    for field in &found {
        let mut content = ExtraContent { slot: field.slot, width: None, bytes: field.bytes.to_vec() };
        if let Some(target) = target_of(field) {
            if targets.iter().filter(|other| **other == target).count() > 1 {
                return t.wrong(field.slot, format!("field {}: a number, or an offset", field.slot));
            }
            let next = targets[targets.partition_point(|other| *other <= target)..].first().copied().unwrap_or(end);
            if let Some((width, items)) = t.vector_between(target, next) {
                content = ExtraContent { slot: field.slot, width: Some(width), bytes: items.to_vec() };
            }
        }
        extra.push(content);
    }
    Ok(extra)
}

/// Reads the fields of a table of numbers and vectors.
fn contents(t: &TableRef<'_, '_>, schema: &'static TableSchema) -> Read<Fields> {
    let mut contents = Fields::with_capacity(schema.fields.len());
    for (slot, field) in (0..).zip(schema.fields) {
        contents.push(match SlotContent::of(field.kind) {
            SlotContent::Scalar(Scalar::U32) => FieldContent::UInt(t.u32(slot)?),
            SlotContent::Scalar(Scalar::I32) => FieldContent::Int(t.i32(slot)?),
            SlotContent::Scalar(Scalar::F32) => FieldContent::Float(t.f32(slot)?),
            SlotContent::Object(ObjectKind::Scalars(Scalar::U32)) => {
                t.u32s(slot)?.map_or(FieldContent::Absent, FieldContent::UInts)
            }
            SlotContent::Object(ObjectKind::Scalars(Scalar::U16)) => {
                t.u16s(slot)?.map_or(FieldContent::Absent, FieldContent::UShorts)
            }
            SlotContent::Object(ObjectKind::Scalars(Scalar::F32)) => {
                t.f32s(slot)?.map_or(FieldContent::Absent, FieldContent::Floats)
            }
            // No operation and no quantization has other fields.
            SlotContent::Scalar(_) | SlotContent::Object(_) | SlotContent::Union(_) => {
                return t.wrong(slot, "unknown kind of field");
            }
        });
    }
    Ok(contents)
}

/// Checks the constants that follow the graph, `len` bytes from `data` on. They must follow each other, with zeros
/// between them, so that no byte is taken twice and none is lost.
fn check_constants(graph: &Graph, payload: &Blob, data: u64, len: u64) -> Result<()> {
    let mut order: Vec<usize> =
        (0..graph.constants.len()).filter(|index| graph.constants[*index].is_inside()).collect();
    order.sort_by_key(|index| graph.constants[*index].offset);
    let mut end = 0;
    for index in order {
        let Constant { offset, size, .. } = graph.constants[index];
        let Some(next) = offset.checked_add(size).filter(|next| *next <= len) else {
            let found = format!("constant {index} of {} at offset {offset}", counted(size, "byte"));
            return Err(format!("{found}, outside of {} of constants", counted(len, "byte")));
        };
        if offset < end {
            return Err(format!("constant {index} at offset {offset} overlaps another, which ends at {end}"));
        }
        padding(payload, data + end, offset - end)?;
        end = next;
    }
    padding(payload, data + end, len - end)?;
    // The bytes between header, graph and constants.
    let (start, size) = Sections::arranged(0, 0).map_or((0, 0), |sections| sections.graph);
    padding(payload, HEADER as u64, (start + size).saturating_sub(HEADER as u64))
}

/// Checks that `len` bytes from `offset` on are zeros between constants.
fn padding(payload: &Blob, offset: u64, len: u64) -> Result<()> {
    if len >= ALIGNMENT {
        return Err(format!("{} between constants at byte {offset:#x} that no constant has", counted(len, "byte")));
    }
    let found = payload.read_at(offset, len as usize).map_err(|error| PayloadError::Io(error).to_string())?;
    match found.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err(format!("padding at byte {offset:#x} that is not zero")),
    }
}
