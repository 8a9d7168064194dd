//! The payloads of XNNPACK delegates: the backend follows what is in them without a look (`D-11` and behind).
//!
//! A payload is a header, a graph (a FlatBuffer) and constants; constants may also be named data of the program or of a
//! `.ptd`. Only header and graph are read. What the graph computes is not judged: XNNPACK itself refuses what it cannot do.
//! Data that cannot be read are not judged, either.

use std::collections::HashMap;

use super::fields::flat_tensor::External;
use super::finding::Findings;
use super::locus::{Locate, Locus, Part};
use crate::program::{Blob, EValue, ExecutionPlan, Instruction, Program};
use crate::reader::flatbuffer::{Buffer, Result, TableRef};
use crate::schema::ScalarType;
use crate::schema::xnnpack::*;
use crate::schema::{Kind, Table};

/// What the backend is called.
const BACKEND: &str = "XnnpackBackend";

/// A graph without a header has its constants inside; one that is larger than this is not read.
const MOST: u64 = 64 << 20;

/// Values of at most so many dimensions are there for XNNPACK.
const MOST_DIMS: usize = 6;

/// Checks the payloads of all XNNPACK delegates. `external` are the `.ptd` files that are given with the program.
pub(super) fn check(program: &Program, external: &External, findings: &mut Findings, place: &Locate<'_>) {
    let keys = Keys::new(program, external);
    for (method, plan) in program.plans().iter().enumerate() {
        for (index, delegate) in plan.delegates().iter().enumerate() {
            if delegate.id.as_deref() != Some(BACKEND) {
                continue;
            }
            let at = Locus::Method(method, Part::Delegate(index));
            let payload = match Payload::read(program.blob(delegate.processed)) {
                Ok(Some(payload)) => payload,
                Ok(None) => {
                    continue;
                }
                Err(found) => {
                    findings.add("D-11", || (place(&at), found, "a graph and its constants, all inside".into()));
                    continue;
                }
            };
            let graph = match payload.graph() {
                Ok(graph) => graph,
                Err(error) => {
                    let found = format!("a graph in which {error}");
                    findings.add("D-12", || (place(&at), found, "one that can be followed".into()));
                    continue;
                }
            };
            for constant in &graph.constants {
                if let Some(found) = keys.missing(constant, &payload) {
                    let expected = format!("{} bytes", constant.needed);
                    findings.add("D-13", || (place(&at), found, expected));
                    break;
                }
            }
            calls(plan, method, index, &graph, findings, place);
        }
    }
}

/// The bytes of a payload that are read.
struct Payload {
    graph: Vec<u8>,
    identifier: &'static str,
    /// Bytes of the constants behind the graph.
    constants: u64,
}

impl Payload {
    /// `None` if the bytes cannot be had.
    fn read(blob: &Blob) -> std::result::Result<Option<Payload>, String> {
        let Ok(head) = blob.read_at(0, blob.len.min(30) as usize) else { return Ok(None) };
        let word = |at: usize| {
            head.get(at..at + 4).map(|word| u64::from(u32::from_le_bytes(word.try_into().unwrap_or_default())))
        };
        let header = head.get(4..8) == Some(b"XH00");
        if head.len() < 30 {
            return Err(format!("a payload of {} bytes, which is no room for its header", head.len()));
        }
        let (Some(start), Some(size), Some(data), Some(low), Some(high)) =
            (word(10), word(14), word(18), word(22), word(26))
        else {
            return Ok(None);
        };
        let (start, size, constants) = if header { (start, size, low | high << 32) } else { (0, blob.len, 0) };
        if start + size > blob.len || (header && data.checked_add(constants).is_none_or(|end| end > blob.len)) {
            let parts = format!("the graph at {start}..{} and {constants} bytes of constants at {data}", start + size);
            return Err(format!("a payload of {} bytes, with {parts}", blob.len));
        }
        if size > MOST {
            return Ok(None);
        }
        let Ok(graph) = blob.read_at(start, size as usize) else { return Ok(None) };
        let identifier = IDENTIFIERS.into_iter().find(|identifier| graph.get(4..8) == Some(identifier.as_bytes()));
        let identifier = identifier.ok_or_else(|| "a payload that is no XNNPACK graph".to_owned())?;
        Ok(Some(Payload { graph, identifier, constants }))
    }

    fn graph(&self) -> Result<Graph> {
        let buffer = Buffer::new(&self.graph);
        Graph::read(buffer.root(self.identifier, &GRAPH)?)
    }
}

/// Constant data that the graph asks for.
struct Constant {
    /// Its key among the named data; `None` if it is in the payload.
    key: Option<String>,
    /// Where it is in the payload's constants, or in the graph.
    offset: u64,
    /// How many bytes it says it has.
    size: u64,
    /// How many bytes the graph reads of it.
    needed: u64,
}

/// An argument of the delegate: its number and XNNPACK's number of its element type.
struct Extern {
    id: u32,
    datatype: i16,
}

/// What is to be known of a graph.
#[derive(Default)]
struct Graph {
    constants: Vec<Constant>,
    externs: Vec<Extern>,
    /// For each value that there is how many dimensions it has.
    dims: HashMap<u32, usize>,
}

impl Graph {
    fn read(t: TableRef<'_, '_>) -> Result<Graph> {
        let mut graph = Graph { constants: constants(&t)?, ..Graph::default() };
        t.children(graph::xvalues, &VALUE, |t| graph.value(t))?;
        t.children(graph::xnodes, &NODE, |t| graph.node(t))?;
        for slot in [graph::input_ids, graph::output_ids] {
            let ids: Vec<i32> = t.i32s(slot)?.unwrap_or_default();
            if let Some(id) = ids.into_iter().find(|id| !graph.dims.contains_key(&(*id as u32))) {
                return t.wrong(slot, format!("there is no value {}", id as u32));
            }
        }
        Ok(graph)
    }

    fn value(&mut self, t: TableRef<'_, '_>) -> Result<()> {
        let (tag, member) = t.member(value::xvalue_union_type, value::xvalue_union, VALUES, "kind of value")?;
        let Some(member) = member else { return t.wrong(value::xvalue_union, "the value is missing") };
        let (tensor, quantized) = match tag {
            1 => (Some(member), None),
            _ => (member.child(quantized_tensor_value::tensor_value, &TENSOR_VALUE)?, Some(member)),
        };
        let Some(tensor) = tensor else {
            return t.wrong(value::xvalue_union, "the quantized tensor is missing");
        };
        let dims: Vec<i32> = tensor.i32s(tensor_value::dims)?.unwrap_or_default();
        let rank = tensor.u32(tensor_value::num_dims)? as usize;
        if dims.len() < rank || rank > MOST_DIMS {
            let message = format!("there are {rank} dimensions, and sizes of {}", dims.len());
            return tensor.wrong(tensor_value::dims, message);
        }
        let datatype = tensor.i16(tensor_value::datatype)?;
        let count = dims[..rank].iter().try_fold(1u64, |count, size| count.checked_mul(u64::from(*size as u32)));
        let bytes = count.and_then(|count| nbytes(count, datatype));
        self.constant(&tensor, tensor_value::constant_buffer_idx, bytes)?;
        if let Some(quantized) = quantized {
            self.quantization(&quantized, &dims[..rank])?;
        }
        let id = tensor.u32(tensor_value::external_id)?;
        if id != NO_ID {
            self.externs.push(Extern { id, datatype });
        }
        self.dims.insert(tensor.u32(tensor_value::id_out)?, rank);
        Ok(())
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

    fn quantization(&mut self, t: &TableRef<'_, '_>, dims: &[i32]) -> Result<()> {
        use quantized_tensor_value as q;
        let (tag, member) = t.member(q::quant_params_type, q::quant_params, QUANT_PARAMS, "kind of quantization")?;
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
        let Some(channels) = channels.map(|size| u64::from(*size as u32)) else {
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

    fn node(&mut self, t: TableRef<'_, '_>) -> Result<()> {
        let (tag, member) = t.member(node::xnode_union_type, node::xnode_union, NODES, "operation")?;
        let Some(member) = member else { return t.wrong(node::xnode_union, "the operation is missing") };
        t.child(node::output_min_max, &OUTPUT_MIN_MAX)?;
        let table: &Table = NODES[usize::from(tag) - 1];
        let inputs = inputs(tag);
        let (mut rank, mut named) = (0, None);
        for (slot, field) in (0..).zip(table.fields) {
            match field.kind {
                Kind::UInt if field.name == "num_dims" => named = Some(member.u32(slot)? as usize),
                Kind::UInt if field.name.ends_with("_id") => {
                    let unused = field.name.strip_prefix("input").and_then(|name| name.strip_suffix("_id"));
                    if unused.and_then(|number| number.parse().ok()).is_some_and(|number: u8| number > inputs) {
                        continue;
                    }
                    let id = member.u32(slot)?;
                    match self.dims.get(&id) {
                        Some(dims) if field.name == "input_id" => rank = *dims,
                        Some(_) => {}
                        None if id == NO_ID => {}
                        None => return member.wrong(slot, format!("there is no value {id}")),
                    }
                }
                _ => {}
            }
        }
        for (slot, _) in (0..).zip(table.fields).filter(|(_, field)| matches!(field.kind, Kind::Ints)) {
            let list: Vec<i32> = member.i32s(slot)?.unwrap_or_default();
            let wanted = named.unwrap_or(rank);
            if list.len() < wanted {
                return member.wrong(slot, format!("there are {} numbers for {wanted} dimensions", list.len()));
            }
        }
        Ok(())
    }
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

/// Data that graphs may ask for by name.
struct Keys<'p> {
    /// Those of the program, with their sizes.
    named: HashMap<&'p str, u64>,
    external: &'p External,
}

impl<'p> Keys<'p> {
    fn new(program: &'p Program, external: &'p External) -> Keys<'p> {
        let named = program.named_data.iter().flatten();
        let named = named.map(|data| (data.key.as_str(), program.blob(data.data).len)).collect();
        Keys { named, external }
    }

    /// Why a constant is not there, if so.
    fn missing(&self, constant: &Constant, payload: &Payload) -> Option<String> {
        let Some(key) = &constant.key else {
            let inside = payload.constants;
            let beyond = constant.offset.checked_add(constant.size).is_none_or(|end| end > inside) && inside > 0;
            return match beyond {
                true if constant.size > 0 && constant.offset != u64::MAX => Some(format!(
                    "a constant of {} bytes at {} of {inside} bytes of constants",
                    constant.size, constant.offset
                )),
                _ => (constant.needed > constant.size).then(|| format!("a constant of {} bytes", constant.size)),
            };
        };
        let outside = || self.external.entries.get(key.as_bytes()).map(|entry| entry.size);
        match self.named.get(key.as_str()).copied().or_else(outside) {
            Some(size) => (size < constant.needed).then(|| format!("the data `{key}` of {size} bytes")),
            None => Some(format!(
                "a graph that asks for the data `{key}`, which are neither in the program nor in a .ptd given with it"
            )),
        }
    }
}

/// The calls of a delegate: the backend takes argument `n` for the graph's value `n` without a look.
fn calls(
    plan: &ExecutionPlan,
    method: usize,
    index: usize,
    graph: &Graph,
    findings: &mut Findings,
    place: &Locate<'_>,
) {
    for (chain, list) in plan.chains.iter().flatten().enumerate() {
        for (step, instruction) in list.instructions.iter().flatten().enumerate() {
            let Instruction::DelegateCall { delegate_index, args } = instruction else { continue };
            if usize::try_from(*delegate_index) != Ok(index) {
                continue;
            }
            let args = args.as_deref().unwrap_or_default();
            for Extern { id, datatype } in &graph.externs {
                let mut report = |part: Part, found: String, expected: String| {
                    findings.add("D-14", || (place(&Locus::Method(method, part)), found, expected));
                };
                let Some(arg) = args.get(*id as usize) else {
                    let expected = format!("an argument {id}, as the graph asks");
                    report(Part::Instruction(chain, step), format!("only {} of the arguments", args.len()), expected);
                    break;
                };
                let value = usize::try_from(*arg).ok().and_then(|value| plan.values().get(value));
                let wanted = match datatype {
                    1 => Some(ScalarType::FLOAT),
                    2 => Some(ScalarType(5)),
                    _ => None,
                };
                let found = match value {
                    Some(EValue::Tensor(tensor)) if wanted.is_none_or(|wanted| wanted == tensor.scalar_type) => {
                        continue;
                    }
                    Some(EValue::Tensor(tensor)) => format!("a tensor of {}", tensor.scalar_type),
                    Some(other) => format!("the {} values[{arg}]", other.kind()),
                    None => continue,
                };
                let expected = wanted.map_or("a tensor".to_owned(), |wanted| format!("a tensor of {wanted}"));
                report(Part::Arg(chain, step, *id as usize), found, expected);
            }
        }
    }
}
