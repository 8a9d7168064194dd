//! Prints payloads of delegates as graphs if that reproduces them byte for byte. Other payloads stay opaque, with a
//! comment that gives the reason.
//!
//! Payloads are decoded once, before anything is printed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::io;

use super::data::{DataPrinter, readable};
use super::flatbuffer::FlatText;
use super::graph_inference::{self, StatedValue};
use super::shared_constants::{PrintedConstant, SharedConstants};
use crate::ir::document::{
    DataSource, ParsedConstant, ParsedConstantSource, ParsedExtraField, ParsedField, ParsedGraphValue, ParsedNode,
    ParsedQuantization, ParsedScales,
};
use crate::ir::shape::graph;
use crate::ir::write;
use pte_model::data::BlobId;
use pte_model::format::ScalarType;
use pte_model::program::{Program, Tensor};
use pte_xnnpack::arguments::{self, GraphArgument};
use pte_xnnpack::draft::{
    ConstantSource, Draft, DraftConstant, DraftField, DraftNode, DraftQuantization, DraftValue, IDENTIFIER, is_operand,
    scale_size,
};
use pte_xnnpack::model::{Container, FieldContent, NodeOperation};
use pte_xnnpack::payload::XnnpackPayload;
use pte_xnnpack::payloads::Payloads;
use pte_xnnpack::schema::{DATATYPES, Datatype, MAX_RANK, OPTIONAL_OPERAND, QuantParams, Quantization, field_key};
use pte_xnnpack::{BACKEND, parameters};
use pte_yaml::tree::NodeId;

/// Graphs of the payloads of a program, or descriptions of those that stay opaque.
#[derive(Default)]
pub struct PayloadGraphs {
    payloads: HashMap<BlobId, Result<NamedGraph, String>>,
    /// Payloads that are printed as FlatBuffers of a schema.
    flat: HashMap<BlobId, FlatText>,
    /// Constants of several graphs.
    shared: SharedConstants,
}

/// A graph with names of its values.
pub struct NamedGraph {
    draft: Draft,
    names: Vec<String>,
    /// Arguments of the delegate.
    pub arguments: Vec<GraphArgument>,
}

impl PayloadGraphs {
    /// Decodes the payloads of a program in a file of `len` bytes, and describes those of other formats.
    pub fn decode(program: &Program, len: u64) -> PayloadGraphs {
        let decoded = Payloads::of(program, len);
        let (mut payloads, mut flat) = (HashMap::new(), HashMap::new());
        for (.., delegate) in program.delegates() {
            let (Some(payload), backend) = (decoded.get(delegate), delegate.id.as_deref().unwrap_or_default()) else {
                continue;
            };
            payloads.entry(delegate.processed).or_insert_with(|| match (backend, decoded.xnnpack(delegate)) {
                (BACKEND, xnnpack) => {
                    let graph = xnnpack.ok_or_else(|| "it overlaps other payloads".to_owned()).and_then(NamedGraph::of);
                    graph.map_err(|reason| format!("is not printed as a graph: {reason}"))
                }
                // A payload of an unknown format has no comment.
                _ if payload.overlaps => Err(String::new()),
                _ => {
                    let mut summary = payload.summary().unwrap_or_default();
                    match payload.flat().and_then(|format| FlatText::of(format, &payload.blob)) {
                        Some(Ok(text)) => _ = flat.insert(delegate.processed, text),
                        Some(Err(reason)) => summary += &format!("; it is not printed as text: {reason}"),
                        // The summary says what is malformed.
                        None => {}
                    }
                    Err(summary)
                }
            });
        }
        // A payload of many delegates counts twice.
        let mut seen: HashMap<BlobId, u32> = HashMap::new();
        let graphs = program.delegates().filter_map(|(.., delegate)| {
            let count = seen.entry(delegate.processed).and_modify(|count| *count += 1).or_insert(1);
            payloads.get(&delegate.processed).filter(|_| *count <= 2)?.as_ref().ok()
        });
        let shared = SharedConstants::of(graphs.flat_map(NamedGraph::constants), readable(len));
        PayloadGraphs { payloads, flat, shared }
    }

    /// Returns the constants that are printed once.
    pub fn shared(&self) -> &SharedConstants {
        &self.shared
    }

    /// Returns element types and sizes of the constants of graphs that are named data, by key. If several values have
    /// the same key, the first one counts.
    pub fn named_data(&self, program: &Program) -> HashMap<&str, Tensor> {
        let mut found = HashMap::new();
        let delegates = program.plans().iter().flat_map(|plan| plan.delegates());
        let graphs = delegates.filter_map(|delegate| self.payloads.get(&delegate.processed)?.as_ref().ok());
        for value in graphs.flat_map(|graph| &graph.draft.values) {
            if let Some(ConstantSource::Key(key)) = value.constant.as_ref().map(|constant| &constant.source)
                && let Some(datatype) = Datatype::of(value.datatype)
                && let Ok(sizes) = datatype.stored_sizes(&value.dims)
            {
                found.entry(key.as_str()).or_insert_with(|| Tensor::new(datatype.storage, &sizes));
            }
            if let Some(params) = &value.quantization
                && let Some(DraftConstant { source: ConstantSource::Key(key), .. }) = &params.scales
            {
                let scales = || Tensor::new(params.kind().scale_type(), &[scale_count(value)]);
                found.entry(key.as_str()).or_insert_with(scales);
            }
        }
        found
    }

    /// Returns the text of a payload that is printed as a FlatBuffer.
    pub fn flat(&self, payload: BlobId) -> Option<&FlatText> {
        self.flat.get(&payload)
    }

    /// Returns the graph of a payload, or the reason why it stays opaque, as a clause; `None` if nothing is known about
    /// it.
    pub fn of(&self, payload: BlobId) -> Option<Result<&NamedGraph, &str>> {
        Some(self.payloads.get(&payload)?.as_ref().map_err(String::as_str)).filter(|found| !matches!(found, Err("")))
    }
}

/// Returns a description of the first part of a graph that YAML cannot express; `None` if there is none.
fn defect(draft: &Draft) -> Option<String> {
    let values = draft.values.iter().enumerate();
    let in_value = |(position, value)| Some(format!("value {position} {}", defect_of_value(value)?));
    values.map(in_value).find_map(|defect| defect).or_else(|| {
        let mut nodes = draft.nodes.iter().enumerate();
        nodes.find_map(|(position, node)| Some(format!("node {position} {}", defect_of_node(node)?)))
    })
}

fn defect_of_node(node: &DraftNode) -> Option<String> {
    let has_nan = |field: &DraftField| matches!(field, DraftField::Parameter(FieldContent::Float(number)) if is_other_nan(number));
    if node.fields.contains(&DraftField::Parameter(FieldContent::Absent)) {
        return Some("lacks a list".to_owned());
    }
    let bounds = node.output_min_max.iter().flatten();
    (node.fields.iter().any(has_nan) || bounds.into_iter().any(is_other_nan)).then(|| OTHER_NAN.to_owned())
}

/// Description of a part that has a NaN other than `.nan`.
const OTHER_NAN: &str = "has a NaN with other bits than `.nan`";

/// Returns `true` for a NaN that YAML cannot express.
fn is_other_nan(number: &f32) -> bool {
    number.is_nan() && number.to_bits() != f32::NAN.to_bits()
}

fn defect_of_value(value: &DraftValue) -> Option<String> {
    let Some(datatype) = Datatype::of(value.datatype) else { return Some("has no known type".into()) };
    if value.dims.len() > MAX_RANK {
        return Some(format!("has {} dimensions", value.dims.len()));
    }
    let kind = value.quantization.as_ref().map(DraftQuantization::kind);
    if datatype.quantization.is_some_and(|expected| expected != quantization_of(kind)) {
        return Some(format!("of type {} has another quantization", datatype.name));
    }
    if let Some(DraftConstant { source: ConstantSource::Data(data), .. }) = &value.constant
        && (data.len() != value.nbytes() || value.dims.iter().any(|size| i32::try_from(*size).is_err()))
    {
        return Some(format!("has {} bytes of data, its sizes need {}", data.len(), value.nbytes()));
    }
    let quantization = value.quantization.as_ref()?;
    let listed = quantization.params.floats(0);
    if listed.iter().any(is_other_nan) {
        return Some(OTHER_NAN.to_owned());
    }
    let (count, width) = (value.scales(), scale_size(quantization.kind()));
    let fits = match quantization.scales.as_ref().map(|constant| &constant.source) {
        _ if !quantization.kind().has_scales() => true,
        None => listed.len() as u64 == count,
        Some(ConstantSource::Data(data)) => data.len() == count.saturating_mul(width),
        Some(ConstantSource::Key(_)) => true,
    };
    (!fits).then(|| format!("needs {count} scales, it has another number"))
}

fn quantization_of(kind: Option<QuantParams>) -> Quantization {
    kind.map_or(Quantization::None, QuantParams::quantization)
}

/// Returns the number of scales in a constant.
fn scale_count(value: &DraftValue) -> i32 {
    i32::try_from(value.scales()).unwrap_or(i32::MAX)
}

/// Names the values by their role: inputs `x`, outputs `y`, constants after the field of the first node that reads
/// them, and other values `v`. If several values have a name, their positions are appended.
fn names(draft: &Draft) -> Vec<String> {
    let mut stems: Vec<Option<&str>> = vec![None; draft.values.len()];
    for node in &draft.nodes {
        let table = node.operation.table();
        for (slot, field) in node.fields.iter().enumerate() {
            if let DraftField::Value(position) = field
                && draft.values[*position].constant.is_some()
            {
                stems[*position].get_or_insert(match field_key(table, slot) {
                    key @ ("filter" | "bias") => key,
                    _ => "constant",
                });
            }
        }
    }
    let mut alone: Vec<bool> = vec![false; draft.values.len()];
    for (list, stem) in [(&draft.outputs, "y"), (&draft.inputs, "x")] {
        for position in list {
            stems[*position] = Some(stem);
            alone[*position] = list.len() == 1;
        }
    }
    let named = stems.iter().zip(alone).enumerate();
    named
        .map(|(position, (stem, alone))| match stem {
            Some(stem) if alone => (*stem).to_owned(),
            stem => format!("{}{position}", stem.unwrap_or("v")),
        })
        .collect()
}

impl NamedGraph {
    /// Decodes a payload of XNNPACK.
    ///
    /// # Errors
    /// The part that YAML cannot express, as a clause.
    pub fn of(payload: &XnnpackPayload) -> Result<NamedGraph, String> {
        let draft = payload.draft()?;
        match defect(draft) {
            Some(defect) => Err(defect),
            None => {
                let arguments = arguments::of(&draft.complete());
                Ok(NamedGraph { names: names(draft), arguments, draft: draft.clone() })
            }
        }
    }

    /// Returns the constants inside of the payload: data and scales.
    fn constants(&self) -> impl Iterator<Item = PrintedConstant<'_>> {
        self.draft.values.iter().zip(&self.names).flat_map(|(value, name)| {
            let [data, scales] = value.constants().map(|constant| match &constant?.source {
                ConstantSource::Data(blob) => Some(blob),
                ConstantSource::Key(_) => None,
            });
            let datatype = Datatype::of(value.datatype);
            let data = data.zip(datatype).and_then(|(blob, datatype)| {
                let sizes = datatype.stored_sizes(&value.dims).ok()?;
                Some(PrintedConstant { name: name.clone(), blob, scalar_type: datatype.storage, sizes })
            });
            let scales = scales.zip(value.quantization.as_ref()).map(|(blob, quantization)| {
                let (scalar_type, sizes) = (quantization.kind().scale_type(), vec![scale_count(value)]);
                PrintedConstant { name: format!("{name}_scales"), blob, scalar_type, sizes }
            });
            [data, scales].into_iter().flatten()
        })
    }

    /// Returns the names of the values.
    pub fn into_names(self) -> Vec<String> {
        self.names
    }

    /// Appends the graph after `graph:`, as a block of lines that begin with `indent`, or an empty map. `name` is the
    /// base of the names of extracted files. `copy` is the number of a payload that is stored separately, or 0 for a
    /// shared one. With `explicit`, types and sizes that assembling infers are printed, too.
    ///
    /// # Errors
    /// Data that cannot be read.
    pub fn print(
        &self,
        explicit: bool,
        indent: &str,
        name: &str,
        copy: u32,
        out: &mut String,
        data: &mut DataPrinter<'_>,
    ) -> io::Result<()> {
        out.push('\n');
        let start = out.len();
        let Draft { identifier, container, has_named_keys, version, values, inputs, outputs, nodes, .. } = &self.draft;
        let stated = match explicit {
            true => vec![StatedValue::ALL; values.len()],
            false => graph_inference::stated(&self.draft),
        };
        let is_empty = |position: usize| states_nothing(&values[position], stated[position]);
        let listed = if explicit { values.len() } else { graph_inference::listed(&self.draft, is_empty) };
        if listed > 0 {
            let _ = writeln!(out, "{indent}values:");
        }
        for ((value, own), stated) in values.iter().zip(&self.names).zip(stated).take(listed) {
            let value = parsed_value(own, value, stated, &format!("{name}_{own}"), data)?;
            write::entry(out, &format!("{indent}  "), &value);
        }
        let named = |list: &[usize]| list.iter().map(|position| &*self.names[*position]).collect::<Vec<_>>();
        let Draft { num_externs, input_ids, output_ids, mem_buffer_sizes, .. } = &self.draft;
        write::line(out, indent, graph::inputs, &named(inputs));
        write::line(out, indent, graph::outputs, &named(outputs));
        write::line(out, indent, graph::identifier, &Some(*identifier).filter(|identifier| *identifier != IDENTIFIER));
        write::line(out, indent, graph::header, &(*container == Container::Bare).then_some(false));
        write::line(out, indent, graph::named_keys, &(!has_named_keys).then_some(false));
        write::line(out, indent, graph::version, version);
        write::line(out, indent, graph::copy, &Some(copy).filter(|copy| *copy != 0));
        write::line(out, indent, graph::num_externs, num_externs);
        write::line(out, indent, graph::input_ids, input_ids);
        write::line(out, indent, graph::output_ids, output_ids);
        write::line(out, indent, graph::mem_buffer_sizes, mem_buffer_sizes);
        if !nodes.is_empty() {
            let _ = writeln!(out, "{indent}nodes:");
        }
        for node in nodes {
            let _ = write!(out, "{indent}  - ");
            write::write(&self.node(node), out);
            out.push_str(match (node.operation, &node.extra[..]) {
                (NodeOperation::Known(_), []) => "",
                (NodeOperation::Known(_), _) => "  # extra: fields that the schema of ExecuTorch 1.5.1 does not have",
                (NodeOperation::Unknown(_), _) => {
                    "  # the schema of ExecuTorch 1.5.1 has no such operation; ids in the bytes are not renumbered"
                }
            });
            out.push('\n');
        }
        if out.len() == start {
            out.truncate(start - 1);
            out.push_str(" {}\n");
        }
        Ok(())
    }

    /// Returns the sizes of a filter that are known when its YAML is assembled: those of a constant.
    fn filter(&self, position: usize) -> Option<[u64; 4]> {
        let filter = self.draft.values.get(position).filter(|filter| filter.constant.is_some())?;
        Some(<[u32; 4]>::try_from(&*filter.dims).ok()?.map(u64::from))
    }

    /// Returns a node without the fields that are omitted.
    fn node(&self, node: &DraftNode) -> ParsedNode<'_> {
        let table = node.operation.table();
        let is_printed = |slot: &usize| {
            let (field, content) = (&table.fields[*slot], &node.fields[*slot]);
            let is_required = is_operand(field)
                && field.name != OPTIONAL_OPERAND
                && node.operation.operands().any(|operand| usize::from(operand.slot) == *slot);
            let omitted = parameters::omitted(node.operation, &node.fields, *slot, |position| self.filter(position));
            is_required || omitted.as_ref() != Some(content)
        };
        let slots = (0..table.fields.len().min(node.fields.len())).filter(is_printed);
        // Values come first.
        let (values, parameters): (Vec<usize>, Vec<usize>) = slots.partition(|slot| is_operand(&table.fields[*slot]));
        let field = |slot: usize| {
            let field = match &node.fields[slot] {
                DraftField::Value(position) => ParsedField::Value(self.names[*position].as_str().into()),
                DraftField::Id(id) => ParsedField::UInt(*id),
                // The number of dimensions is omitted where it follows from the operation.
                DraftField::NoValue | DraftField::NumDims => ParsedField::NoValue,
                DraftField::Parameter(content) => parsed_field(content),
            };
            (slot, field.into())
        };
        let extra = node.extra.iter().map(|field| ParsedExtraField {
            id: NodeId::default(),
            slot: field.slot,
            bytes: DataSource::Bytes(field.bytes.clone().into()).into(),
            width: field.width,
        });
        ParsedNode {
            id: NodeId::default(),
            operation: node.operation,
            fields: values.into_iter().chain(parameters).map(field).collect(),
            extra: extra.collect(),
            output_min: node.output_min_max.map(|[min, _]| min),
            output_max: node.output_min_max.map(|[_, max]| max),
            debug_handle: node.debug_handle,
        }
    }
}

/// Returns the content of a field that is no value. Operations have neither other integers nor lists of other numbers.
fn parsed_field(content: &FieldContent) -> ParsedField<'static> {
    match content {
        FieldContent::UInt(number) => ParsedField::UInt(*number),
        FieldContent::Float(number) => ParsedField::Float(*number),
        FieldContent::UInts(items) => ParsedField::UInts(items.to_vec()),
        FieldContent::Int(number) => ParsedField::UInt(number.cast_unsigned()),
        FieldContent::UShorts(items) => ParsedField::UInts(items.iter().map(|item| (*item).into()).collect()),
        FieldContent::Floats(_) | FieldContent::Absent => ParsedField::UInts(Vec::new()),
    }
}

/// Returns `true` if a value is printed without keys.
fn states_nothing(value: &DraftValue, stated: StatedValue) -> bool {
    let numbers = [value.num_dims, value.id, value.external_id, value.flags];
    !stated.datatype
        && !stated.sizes
        && (value.quantization.is_none() || !stated.quantization)
        && value.constant.is_none()
        && numbers == [None; 4]
        && value.dq_datatype == 0
}

/// Returns a value. `file` is the base of names of extracted files.
///
/// # Errors
/// Data that cannot be read.
fn parsed_value<'g>(
    name: &'g str,
    value: &DraftValue,
    stated: StatedValue,
    file: &str,
    data: &mut DataPrinter<'_>,
) -> io::Result<ParsedGraphValue<'g>> {
    let datatype = Datatype::of(value.datatype).unwrap_or(&DATATYPES[0]);
    let found = value.quantization.as_ref().filter(|_| stated.quantization);
    let quantization = found.map(|found| quantization(value, found, file, data)).transpose()?;
    // Sizes that do not fit were reported as a defect.
    let sizes = datatype.stored_sizes(&value.dims).unwrap_or_default();
    let constant = value.constant.as_ref().map(|found| constant(found, datatype.storage, &sizes, file, data));
    Ok(ParsedGraphValue {
        name: name.into(),
        constant: constant.transpose()?,
        quantization: quantization.map(Into::into),
        datatype: stated.datatype.then_some(value.datatype),
        sizes: stated.sizes.then(|| value.dims.to_vec().into()),
        num_dims: value.num_dims,
        value_id: value.id,
        external_id: value.external_id,
        flags: value.flags,
        dq_datatype: Some(value.dq_datatype).filter(|datatype| *datatype != 0),
    })
}

/// Returns the quantization of a value.
///
/// # Errors
/// Data that cannot be read.
fn quantization(
    value: &DraftValue,
    found: &DraftQuantization,
    file: &str,
    data: &mut DataPrinter<'_>,
) -> io::Result<ParsedQuantization<'static>> {
    let DraftQuantization { params, scales, num_scales } = found;
    let int = |slot: usize| match params.fields.get(slot) {
        Some(FieldContent::Int(number)) => *number,
        _ => 0,
    };
    Ok(match params.kind {
        QuantParams::PerTensor => {
            let scale = if let Some(FieldContent::Float(scale)) = params.fields.first() { *scale } else { 0.0 };
            ParsedQuantization::Tensor(scale, int(1))
        }
        QuantParams::PerTokenDynamic => ParsedQuantization::Token(int(0)),
        QuantParams::PerChannel | QuantParams::PerChannelGroup => ParsedQuantization::Channels {
            channel_dim: Some(int(1)).filter(|dim| *dim != 0).map(Into::into),
            group_size: (params.kind == QuantParams::PerChannelGroup).then(|| int(2).into()),
            scales: match scales {
                None => ParsedScales::Listed(params.floats(0).to_vec()),
                Some(scales) => {
                    let (sizes, file) = ([scale_count(value)], format!("{file}_scales"));
                    ParsedScales::Constant(constant(scales, params.kind.scale_type(), &sizes, &file, data)?)
                }
            },
            num_scales: *num_scales,
            scale_bf16: params.fields.iter().find_map(|field| match field {
                FieldContent::UShorts(scales) => Some(scales.to_vec()),
                _ => None,
            }),
        },
    })
}

/// Returns a constant of these elements.
///
/// # Errors
/// Data that cannot be read.
fn constant(
    constant: &DraftConstant,
    scalar_type: ScalarType,
    sizes: &[i32],
    file: &str,
    data: &mut DataPrinter<'_>,
) -> io::Result<ParsedConstant<'static>> {
    let source = match &constant.source {
        ConstantSource::Data(blob) => {
            ParsedConstantSource::Data(data.constant(blob, &Tensor::new(scalar_type, sizes), file)?)
        }
        ConstantSource::Key(key) => ParsedConstantSource::Key(Cow::Owned::<str>(key.clone()).into()),
    };
    Ok(ParsedConstant { source, size: constant.size })
}
