//! Prints payloads of delegates as graphs if that reproduces them byte for byte. Other payloads stay opaque, with a
//! comment that gives the reason.
//!
//! Payloads are decoded once, before anything is printed.

use std::collections::HashMap;
use std::fmt::Write;
use std::io;

use super::data::DataPrinter;
use super::graph_inference::{self, StatedValue};
use super::yaml::{self, FlowMap};
use pte_model::data::number::{self, NumericValue};
use pte_model::data::{Blob, BlobId};
use pte_model::format::ScalarType;
use pte_model::format::scalar_type::{Encoding, FloatFormat};
use pte_model::format::table::Union;
use pte_model::program::{Program, Tensor};
use pte_xnnpack::arguments::{self, GraphArgument};
use pte_xnnpack::draft::{
    ConstantSource, Draft, DraftConstant, DraftField, DraftNode, DraftQuantization, DraftValue, IDENTIFIER, is_operand,
    scale_size,
};
use pte_xnnpack::model::{Container, FieldContent, NodeOperation};
use pte_xnnpack::schema::{DATATYPES, Datatype, MAX_RANK, OPTIONAL_OPERAND, QuantParams, Quantization, field_key};
use pte_xnnpack::{BACKEND, parameters};

/// Graphs of the payloads of a program, or descriptions of those that stay opaque.
#[derive(Debug, Default)]
pub struct PayloadGraphs {
    payloads: HashMap<BlobId, Result<NamedGraph, String>>,
}

/// A graph with names of its values.
#[derive(Debug)]
pub struct NamedGraph {
    draft: Draft,
    names: Vec<String>,
    /// Arguments of the delegate.
    pub arguments: Vec<GraphArgument>,
}

impl PayloadGraphs {
    /// Decodes the payloads of a program in a file of `len` bytes, and describes those of other formats.
    pub fn decode(program: &Program, len: u64) -> PayloadGraphs {
        let mut payloads = HashMap::new();
        let mut left = len;
        for delegate in program.plans().iter().flat_map(|plan| plan.delegates()) {
            let (payload, backend) = (program.blob(delegate.processed), delegate.id.as_deref().unwrap_or_default());
            payloads.entry(delegate.processed).or_insert_with(|| {
                // Overlapping payloads could otherwise be decoded once per delegate.
                let rest = left.checked_sub(payload.len);
                left = rest.unwrap_or(left);
                let overlaps = "it overlaps other payloads";
                match backend {
                    BACKEND => {
                        let graph = rest.ok_or_else(|| overlaps.to_owned()).and_then(|_| NamedGraph::of(payload));
                        graph.map_err(|reason| format!("is not printed as a graph: {reason}"))
                    }
                    // A payload of an unknown format has no comment.
                    _ => Err(rest.and_then(|_| pte_xnnpack::FORMATS.summary(backend, payload)).unwrap_or_default()),
                }
            });
        }
        PayloadGraphs { payloads }
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

/// Appends a float32 with the fewest digits that reproduce it.
fn single(number: &f32, out: &mut String) {
    let wide = f64::from(*number);
    let text = number::element(NumericValue::Float(wide), Encoding::Float(FloatFormat::Binary32));
    let same = number::number_of(&text).is_some_and(|read| (read.to_f64() as f32).to_bits() == number.to_bits());
    match same {
        true => out.push_str(&text),
        false => number::double(&wide, out),
    }
}

impl NamedGraph {
    /// Decodes a payload of XNNPACK.
    ///
    /// # Errors
    /// The part that YAML cannot express, as a clause.
    pub fn of(payload: &Blob) -> Result<NamedGraph, String> {
        let draft = Draft::read(payload)?;
        match defect(&draft) {
            Some(defect) => Err(defect),
            None => {
                let arguments = arguments::of(&draft.complete());
                Ok(NamedGraph { names: names(&draft), arguments, draft })
            }
        }
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
            true => vec![StatedValue { datatype: true, sizes: true }; values.len()],
            false => graph_inference::stated(&self.draft),
        };
        let is_empty = |position: usize| states_nothing(&values[position], stated[position]);
        let listed = if explicit { values.len() } else { graph_inference::listed(&self.draft, is_empty) };
        if listed > 0 {
            let _ = writeln!(out, "{indent}values:");
        }
        for ((value, own), stated) in values.iter().zip(&self.names).zip(stated).take(listed) {
            let _ = write!(out, "{indent}  {}: ", yaml::text(own));
            print_value(value, stated, &format!("{name}_{own}"), out, data)?;
            out.push('\n');
        }
        for (key, list) in [("inputs", inputs), ("outputs", outputs)] {
            if !list.is_empty() {
                let _ = write!(out, "{indent}{key}: ");
                yaml::list(out, list, |position, out| out.push_str(&yaml::text(&self.names[*position])));
                out.push('\n');
            }
        }
        let Draft { num_externs, input_ids, output_ids, mem_buffer_sizes, .. } = &self.draft;
        let list = |ids: &Option<Vec<_>>| ids.as_ref().map(|ids| format!("{ids:?}"));
        let properties = [
            ("identifier", (*identifier != IDENTIFIER).then(|| (*identifier).to_owned())),
            ("header", (*container == Container::Bare).then(|| "false".to_owned())),
            ("named_keys", (!*has_named_keys).then(|| "false".to_owned())),
            ("version", version.as_deref().map(yaml::quoted)),
            ("copy", (copy != 0).then(|| copy.to_string())),
            ("num_externs", num_externs.map(|number| number.to_string())),
            ("input_ids", list(input_ids)),
            ("output_ids", list(output_ids)),
            ("mem_buffer_sizes", list(mem_buffer_sizes)),
        ];
        for (key, text) in properties {
            text.into_iter().for_each(|text| _ = writeln!(out, "{indent}{key}: {text}"));
        }
        if !nodes.is_empty() {
            let _ = writeln!(out, "{indent}nodes:");
        }
        for node in nodes {
            let _ = write!(out, "{indent}  - ");
            self.print_node(node, out);
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

    fn print_node(&self, node: &DraftNode, out: &mut String) {
        let table = node.operation.table();
        let mut map = FlowMap::new(out);
        let mut fields = FlowMap::new(map.key(node.operation.word()));
        // Values come first.
        let (values, parameters): (Vec<usize>, Vec<usize>) =
            (0..table.fields.len().min(node.fields.len())).partition(|slot| is_operand(&table.fields[*slot]));
        for slot in values.into_iter().chain(parameters) {
            let (field, content) = (&table.fields[slot], &node.fields[slot]);
            let is_required = is_operand(field)
                && field.name != OPTIONAL_OPERAND
                && node.operation.operands().any(|operand| usize::from(operand.slot) == slot);
            let omitted = parameters::omitted(node.operation, &node.fields, slot, |position| self.filter(position));
            if omitted.as_ref() == Some(content) && !is_required {
                continue;
            }
            let out = fields.key(field_key(table, slot));
            match content {
                DraftField::Value(position) => out.push_str(&yaml::text(&self.names[*position])),
                DraftField::Id(id) => yaml::number(id, out),
                // The number of dimensions is omitted where it follows from the operation.
                DraftField::NoValue | DraftField::NumDims => out.push_str("null"),
                DraftField::Parameter(content) => print_content(content, out),
            }
        }
        if let NodeOperation::Unknown(tag) = node.operation {
            yaml::number(tag, fields.key("tag"));
        }
        fields.end();
        if !node.extra.is_empty() {
            yaml::list(map.key("extra"), &node.extra, |field, out| {
                let mut map = FlowMap::new(out);
                yaml::number(field.slot, map.key("slot"));
                map.optional("width", field.width);
                let hex: Vec<String> = field.bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                let _ = write!(map.key("bytes"), "{{hex: \"{}\"}}", hex.join(" "));
                map.end();
            });
        }
        if let Some([min, max]) = &node.output_min_max {
            single(min, map.key("output_min"));
            single(max, map.key("output_max"));
        }
        map.optional("debug_handle", node.debug_handle);
        map.end();
    }
}

fn print_content(content: &FieldContent, out: &mut String) {
    match content {
        FieldContent::UInt(number) => yaml::number(number, out),
        FieldContent::Int(number) => yaml::number(number, out),
        FieldContent::Float(number) => single(number, out),
        FieldContent::UInts(items) => yaml::list(out, items, yaml::number),
        FieldContent::UShorts(items) => yaml::list(out, items, yaml::number),
        FieldContent::Floats(items) => yaml::list(out, items, single),
        FieldContent::Absent => out.push_str("[]"),
    }
}

/// Returns `true` if a value is printed without keys.
fn states_nothing(value: &DraftValue, stated: StatedValue) -> bool {
    let numbers = [value.num_dims, value.id, value.external_id, value.flags];
    !stated.datatype
        && !stated.sizes
        && value.quantization.is_none()
        && value.constant.is_none()
        && numbers == [None; 4]
        && value.dq_datatype == 0
}

/// Appends a value. `name` is the base of names of extracted files.
///
/// # Errors
/// Data that cannot be read.
fn print_value(
    value: &DraftValue,
    stated: StatedValue,
    name: &str,
    out: &mut String,
    data: &mut DataPrinter<'_>,
) -> io::Result<()> {
    let mut fields = FlowMap::new(out);
    let datatype = |code: i16| Datatype::of(code).unwrap_or(&DATATYPES[0]);
    let found = datatype(value.datatype);
    if stated.datatype {
        fields.key("datatype").push_str(found.name);
    }
    if stated.sizes {
        yaml::list(fields.key("sizes"), &value.dims, yaml::number);
    }
    if let Some(DraftQuantization { params, scales, num_scales }) = &value.quantization {
        for (field, content) in params.kind.table().fields.iter().zip(&params.fields) {
            match (field.name, content) {
                ("zero_point" | "channel_dim", FieldContent::Int(0)) | (_, FieldContent::UInt(_)) => {}
                (_, FieldContent::Floats(_) | FieldContent::Absent) => {}
                (name, content) => print_content(content, fields.key(name)),
            }
        }
        match scales {
            None if params.kind.has_scales() => yaml::list(fields.key("scales"), params.floats(0), single),
            None => {}
            Some(constant) => {
                let (scalar_type, name) = (params.kind.scale_type(), format!("{name}_scales"));
                let mut inner = FlowMap::new(fields.key("scales"));
                print_constant(constant, scalar_type, &[scale_count(value)], &name, &mut inner, data)?;
                inner.end();
            }
        }
        fields.optional("num_scales", num_scales.as_ref());
    }
    if let Some(constant) = &value.constant {
        // Sizes that do not fit were reported as a defect.
        let sizes = found.stored_sizes(&value.dims).unwrap_or_default();
        print_constant(constant, found.storage, &sizes, name, &mut fields, data)?;
    }
    let numbers =
        [("num_dims", value.num_dims), ("id", value.id), ("external_id", value.external_id), ("flags", value.flags)];
    for (key, number) in numbers {
        fields.optional(key, number);
    }
    if value.dq_datatype != 0 {
        fields.key("dq_datatype").push_str(datatype(value.dq_datatype).name);
    }
    fields.end();
    Ok(())
}

/// Appends the keys of a constant of these elements.
///
/// # Errors
/// Data that cannot be read.
fn print_constant(
    constant: &DraftConstant,
    scalar_type: ScalarType,
    sizes: &[i32],
    name: &str,
    fields: &mut FlowMap<'_>,
    data: &mut DataPrinter<'_>,
) -> io::Result<()> {
    match &constant.source {
        ConstantSource::Data(blob) => {
            fields.key("data").push_str(&data.tensor(blob, &Tensor::new(scalar_type, sizes), name)?);
        }
        ConstantSource::Key(key) => fields.text("key", Some(key)),
    }
    fields.optional("size", constant.size);
    Ok(())
}
