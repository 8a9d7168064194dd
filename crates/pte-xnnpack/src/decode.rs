//! Decodes the bytes of a payload to a [`Graph`]. The bytes are untrusted: work and memory are proportional to the size
//! of the payload.
//!
//! Only payloads that [`crate::encode`] can write again are accepted. Whether XNNPACK accepts the graph is not checked.

use std::{fmt, io, thread};

use crate::model::{
    Constant, Container, ExtraContent, FieldContent, Fields, Graph, GraphValue, Node, NodeOperation, QuantParamsValue,
};
use crate::schema::*;
use pte_model::data::{Blob, workers};
use pte_model::diagnostics::counted;
use pte_model::format::flatbuffer::read::{Buffer, ExtraField, ReadError, TableRef};
use pte_model::format::flatbuffer::{ObjectKind, Scalar, SlotContent};
use pte_model::format::table::Union;
use pte_model::format::{Kind, TableSchema};
use pte_payload::header::{ALIGNMENT, HEADER, Sections};

/// Maximum size in bytes of a graph that is decoded. A graph without a header contains its constants.
const MAX_GRAPH: u64 = 1 << 30;

/// Maximum number of values, of operations, and of constants. Their tables may share bytes in the file, but each takes
/// memory.
const MAX_ITEMS: usize = 1 << 18;

/// Reason why a payload is not decoded, with its position in the bytes of the payload if it has one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError(pub String);

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<io::Error> for DecodeError {
    fn from(error: io::Error) -> DecodeError {
        DecodeError(format!("the payload cannot be read: {error}"))
    }
}

type Result<T> = std::result::Result<T, DecodeError>;
type Read<T> = std::result::Result<T, Box<ReadError>>;

fn fail<T>(message: impl Into<String>) -> Result<T> {
    Err(DecodeError(message.into()))
}

/// Decodes a payload.
///
/// # Errors
/// A payload that is malformed, cannot be read, or has content that [`crate::encode::encode`] does not write.
pub fn decode(payload: &Blob) -> Result<Graph> {
    let head = payload.read_at(0, payload.len().min(HEADER as u64) as usize)?;
    let sections = Sections::read(MAGIC, &head, payload.len()).map_err(DecodeError)?;
    let (start, size) = sections.graph;
    if size > MAX_GRAPH {
        return fail(format!("a graph of {}, expected at most {MAX_GRAPH}", counted(size, "byte")));
    }
    let bytes = payload.contents(start, size as usize)?;
    let identifier = IDENTIFIERS.into_iter().find(|identifier| bytes.get(4..8) == Some(identifier.as_bytes()));
    let Some(identifier) = identifier else { return fail("no XNNPACK identifier (XN00, XN01)") };
    let at = |mut error: Box<ReadError>| {
        error.offset = error.offset.saturating_add(start);
        DecodeError(error.to_string())
    };
    let container = if sections.constants.is_some() { Container::Header } else { Container::Bare };
    let mut graph = read(&bytes, container, identifier).map_err(at)?;
    match sections.constants {
        Some((data, len)) => after_graph(&mut graph, payload, data, len)?,
        None => {
            let buffer = Buffer::new(&bytes);
            let root = buffer.root(identifier, &GRAPH).map_err(at)?;
            graph.constants = inside(&root, payload).map_err(at)??;
        }
    }
    Ok(graph)
}

/// Size in bytes from which a graph is read by two threads.
const LARGE: usize = 1 << 20;

/// Reads the graph, but not the data of constants after it.
fn read(bytes: &[u8], container: Container, identifier: &'static str) -> Read<Graph> {
    let buffer = Buffer::new(bytes);
    let root = buffer.root(identifier, &GRAPH)?;
    let values = || -> Read<_> {
        let buffer = Buffer::new(bytes);
        let values = read_values(&buffer.root(identifier, &GRAPH)?)?;
        Ok((values, buffer.spent()))
    };
    thread::scope(|scope| {
        let values = (bytes.len() >= LARGE).then(|| scope.spawn(values));
        let mut graph = read_others(&root, container, identifier)?;
        graph.values = match values {
            Some(values) => {
                let (values, spent) = workers::join(values)?;
                buffer.settle(spent)?;
                values
            }
            None => read_values(&root)?,
        };
        Ok(graph)
    })
}

fn read_values(root: &TableRef<'_, '_>) -> Read<Vec<GraphValue>> {
    Ok(items(root, graph::xvalues, &VALUE, |t| read_value(&t))?.unwrap_or_default())
}

/// Reads the graph without its values.
fn read_others(t: &TableRef<'_, '_>, container: Container, identifier: &'static str) -> Read<Graph> {
    let header = container == Container::Header;
    known(t)?;
    let constants = items(t, graph::constant_data, &CONSTANT_DATA_OFFSET, |t| {
        known(&t)?;
        Ok(Constant {
            key: t.text(constant_data_offset::named_key)?,
            offset: t.u64(constant_data_offset::offset)?,
            size: t.u64(constant_data_offset::size)?,
            data: Blob::bytes([]),
        })
    })?;
    if header && constants.as_ref().is_none_or(Vec::is_empty) {
        return t.wrong(graph::constant_data, "no constants, expected at least the one that stands for none");
    }
    let constants = constants.unwrap_or_default();
    // The exporter's serializer writes the nodes in their order from the end, so that the content of each node ends
    // where that of the previous one begins.
    let mut end = t.target(graph::version)?.unwrap_or(t.at());
    let nodes = items(t, graph::xnodes, &NODE, |t| {
        let node = read_node(&t, end)?;
        end = t.at();
        Ok(node)
    })?;
    Ok(Graph {
        container,
        identifier,
        version: t.text(graph::version)?.unwrap_or_default(),
        nodes: nodes.unwrap_or_default(),
        values: Vec::new(),
        num_externs: t.u32(graph::num_externs)?,
        input_ids: t.u32s(graph::input_ids)?.unwrap_or_default(),
        output_ids: t.u32s(graph::output_ids)?.unwrap_or_default(),
        constants,
        constants_len: 0,
        mem_buffer_sizes: t.u32s(graph::mem_buffer_sizes)?,
    })
}

/// Reads the items of a vector of tables.
fn items<'b, 'a, T>(
    t: &TableRef<'b, 'a>,
    slot: u16,
    schema: &'static TableSchema,
    read: impl FnMut(TableRef<'b, 'a>) -> Read<T>,
) -> Read<Option<Vec<T>>> {
    match t.tables(slot, schema)? {
        Some(tables) if tables.len > MAX_ITEMS => {
            t.wrong(slot, format!("{}, expected at most {MAX_ITEMS}", counted(tables.len, "item")))
        }
        Some(_) | None => t.children(slot, schema, read),
    }
}

/// Checks that a table has only fields of the schema: the others would be lost.
fn known(t: &TableRef<'_, '_>) -> Read<()> {
    match t.beyond_schema()? {
        Some(slot) => t.wrong(slot, format!("field {slot} is not in the schema of ExecuTorch 1.5.1")),
        None => Ok(()),
    }
}

fn read_value(t: &TableRef<'_, '_>) -> Read<GraphValue> {
    known(t)?;
    let (tag, member) = t.tagged(value::xvalue_union_type, value::xvalue_union, VALUES, "kind of value")?;
    let Some(member) = member else { return t.wrong(value::xvalue_union, "xvalue_union is missing") };
    let (tensor, quantization) = match tag {
        1 => (Some(member), None),
        _ => {
            use quantized_tensor_value::*;
            let (kind, params) = member.member::<QuantParams>(quant_params_type, quant_params, "quantization")?;
            let Some(params) = params else { return member.wrong(quant_params, "quant_params are missing") };
            known(&member)?;
            known(&params)?;
            let fields = contents(&params, kind.table())?;
            (member.child(tensor_value, &TENSOR_VALUE)?, Some(Box::new(QuantParamsValue { kind, fields })))
        }
    };
    let Some(tensor) = tensor else { return t.wrong(value::xvalue_union, "tensor_value is missing") };
    known(&tensor)?;
    let datatype = tensor.i16(tensor_value::datatype)?;
    if Datatype::of(datatype).is_none() {
        return tensor.wrong(tensor_value::datatype, format!("unknown datatype {datatype}"));
    }
    Ok(GraphValue {
        datatype,
        num_dims: tensor.u32(tensor_value::num_dims)?,
        dims: tensor.u32s(tensor_value::dims)?.unwrap_or_default(),
        constant: tensor.u32(tensor_value::constant_buffer_idx)?,
        external_id: tensor.u32(tensor_value::external_id)?,
        flags: tensor.u32(tensor_value::flags)?,
        id: tensor.u32(tensor_value::id_out)?,
        dq_datatype: tensor.i16(tensor_value::dq_datatype)?,
        quantization,
    })
}

/// Reads a node whose content is before offset `end` of the buffer.
fn read_node(t: &TableRef<'_, '_>, end: usize) -> Read<Node> {
    known(t)?;
    let Some(operation) = NodeOperation::of_tag(t.u8(node::xnode_union_type)?) else {
        return t.wrong(node::xnode_union_type, "no operation");
    };
    let Some(member) = t.child(node::xnode_union, operation.table())? else {
        return t.wrong(node::xnode_union, "xnode_union is missing");
    };
    let bounds = t.child(node::output_min_max, &OUTPUT_MIN_MAX)?;
    let output_min_max = match bounds {
        Some(t) => {
            known(&t)?;
            Some([t.f32(output_min_max::output_min)?, t.f32(output_min_max::output_max)?])
        }
        None => None,
    };
    let fields = contents(&member, operation.table())?;
    let extra = extra(&member, operation.table(), end)?;
    Ok(Node { operation, fields, extra, debug_handle: t.u32(node::debug_handle)?, output_min_max })
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

/// Takes the constants that follow the graph, `len` bytes from `data` on. They must follow each other, with zeros between them, so that
/// no byte is taken twice and none is lost.
fn after_graph(graph: &mut Graph, payload: &Blob, data: u64, len: u64) -> Result<()> {
    let mut order: Vec<usize> =
        (0..graph.constants.len()).filter(|index| graph.constants[*index].is_inside()).collect();
    order.sort_by_key(|index| graph.constants[*index].offset);
    let mut end = 0;
    for index in order {
        let Constant { offset, size, .. } = graph.constants[index];
        let Some(next) = offset.checked_add(size).filter(|next| *next <= len) else {
            let found = format!("constant {index} of {} at offset {offset}", counted(size, "byte"));
            return fail(format!("{found}, outside of {} of constants", counted(len, "byte")));
        };
        if offset < end {
            return fail(format!("constant {index} at offset {offset} overlaps another, which ends at {end}"));
        }
        padding(payload, data + end, offset - end)?;
        let part = payload.part(data + offset, size)?;
        graph.constants[index].data = part.unwrap_or_else(|| Blob::bytes([]));
        end = next;
    }
    padding(payload, data + end, len - end)?;
    // The bytes between header, graph and constants.
    let (start, size) = Sections::arranged(0, 0).map_or((0, 0), |sections| sections.graph);
    padding(payload, HEADER as u64, (start + size).saturating_sub(HEADER as u64))?;
    graph.constants_len = len;
    Ok(())
}

/// Checks that `len` bytes from `offset` on are zeros between constants.
fn padding(payload: &Blob, offset: u64, len: u64) -> Result<()> {
    if len >= ALIGNMENT {
        return fail(format!("{} between constants at byte {offset:#x} that no constant has", counted(len, "byte")));
    }
    match payload.read_at(offset, len as usize)?.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => fail(format!("padding at byte {offset:#x} that is not zero")),
    }
}

/// Reads the constants that the graph contains.
fn inside(t: &TableRef<'_, '_>, payload: &Blob) -> Read<Result<Vec<Constant>>> {
    let found = items(t, graph::constant_buffer, &BUFFER, |t| {
        known(&t)?;
        Ok(t.range(buffer::storage)?.unwrap_or_default())
    })?;
    let constants = found.unwrap_or_default().into_iter().map(|(offset, size)| {
        let data = payload.part(offset, size)?.unwrap_or_else(|| Blob::bytes([]));
        Ok(Constant { key: None, offset: 0, size, data })
    });
    Ok(constants.collect())
}
