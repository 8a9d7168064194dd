//! Payloads of the MPS backend: a header, a graph (a FlatBuffer) and constants; older ones are the graph, which
//! contains the constants.
//!
//! Described only.

use std::borrow::Cow;

use super::decoded::{ConstantData, PayloadGraph, PayloadValue};
use super::description::{Arguments, ConstantTally, DescribeError, Fact, Facts, Tally};
use super::flat::view::View;
use super::flat::{FlatFormat, MPS_FORMAT as FLAT};
use super::format::PayloadFormat;
use super::graph::GraphBuilder;
use super::header;
use super::signature::{CallRules, CountRule, SizesRule, TORCH_TYPES};
use pte_model::data::Blob;

/// The payloads of the MPS backend.
#[derive(Debug)]
pub struct Mps;

/// File identifier of the graph.
const IDENTIFIER: &str = "MP00";

/// The runtime takes as many tensors as the graph has, those of lists one by one, and rejects others.
static RULES: CallRules =
    CallRules { count: CountRule::Exact, sizes: SizesRule::Unknown, scalar_types: [TORCH_TYPES; 2] };

/// Prefixes of the names of operations and of data types.
const PREFIXES: [&str; 2] = ["MPS", "mps_data_type_"];

impl PayloadFormat for Mps {
    fn name(&self) -> &'static str {
        "MPS"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["MPSBackend"]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.get(4..8) == Some(IDENTIFIER.as_bytes())
    }

    fn rules(&self) -> &'static CallRules {
        &RULES
    }

    fn flat(&self) -> Option<&'static FlatFormat> {
        Some(&FLAT)
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let (part, facts) = part(payload)?;
        FLAT.view(payload, part, |root| describe(root, facts))
    }

    fn graph(&self, payload: &Blob) -> Result<Option<PayloadGraph>, DescribeError> {
        let (part, _) = part(payload)?;
        FLAT.view(payload, part, |root| Ok(Some(graph(root, payload, part)?)))
    }
}

/// Returns offset and size of the graph, and the facts of the header.
fn part(payload: &Blob) -> Result<((u64, u64), Facts), DescribeError> {
    // The magic of the header is the identifier of the graph. A graph without a header begins with the offset of
    // its root, not with 0.
    let has_header = payload.read_at(0, payload.len().min(4) as usize)? == [0; 4];
    match has_header {
        true => header::read_short(payload, IDENTIFIER),
        false => Ok(((0, payload.len()), Facts::default())),
    }
}

/// Returns a name without one of [`PREFIXES`].
fn short(name: Cow<'_, str>, prefix: &str) -> String {
    name.strip_prefix(prefix).unwrap_or(&name).to_owned()
}

fn datatype(tensor: &View<'_>) -> String {
    short(tensor.word("datatype"), PREFIXES[1])
}

/// An operation with the table of those with two inputs, of which it has one.
const UNARY: &str = "ReLU";

/// Returns the graph. Fields of an operation that end with `_id` or `_ids` are values; those that begin with `output`
/// are results.
fn graph(root: View<'_>, payload: &Blob, (at, size): (u64, u64)) -> Result<PayloadGraph, DescribeError> {
    let mut builder = GraphBuilder::new(payload, |number: &i64| format!("value {number}"));
    let data = at.checked_add(size).and_then(|end| Some((end, payload.len().checked_sub(end)?)));
    for (number, tensor) in (0..).zip(root.children("mps_values")) {
        let value = PayloadValue::tensor(&datatype(&tensor), TORCH_TYPES, &tensor.numbers("dims")?);
        let size = tensor.number("constant_buffer_size") as u64;
        let inside = tensor.child("constant_buffer").and_then(|buffer| buffer.bytes("storage"));
        let value = match (size, inside.filter(|inside| !inside.is_empty())) {
            (0, _) => value,
            (_, Some(inside)) => PayloadValue { data: Some(ConstantData::Inside(inside.clone())), ..value },
            (size, None) => builder.with_part(value, payload, data, (tensor.number("segment_offset") as u64, size)),
        };
        builder.declare(number, value);
    }
    let is_operand = |name: &str| name.ends_with("_id") || name.ends_with("_ids");
    for node in root.children("mps_nodes") {
        let name = short(node.tag("mpsnode_union"), PREFIXES[0]);
        let Some((_, operation)) = node.member("mpsnode_union") else {
            builder.node(name, [], [], Vec::new());
            continue;
        };
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        // The value 0 is the default, which is absent.
        for field in operation.names().filter(|field| is_operand(field) && (name != UNARY || *field != "input2_id")) {
            let one = [operation.number(field)].into_iter().filter(|_| !operation.is_vector(field));
            let values = one.chain(operation.numbers(field)?).filter(|value| *value >= 0);
            match field.starts_with("output") {
                true => writes.extend(values),
                false => reads.extend(values.map(|value| (value, field.trim_end_matches("_id").to_owned().into()))),
            }
        }
        let mut attributes = operation.attributes(|name| !is_operand(name));
        attributes.extend(node.child("min_max").into_iter().flat_map(|bounds| bounds.attributes(|_| true)));
        builder.node(name, reads, writes, attributes);
    }
    Ok(builder.finish(root.numbers("input_ids")?, root.numbers("output_ids")?))
}

/// Adds the facts of a graph.
fn describe(root: View<'_>, mut facts: Facts) -> Result<Facts, DescribeError> {
    facts.add("identifier", IDENTIFIER);
    facts.add("version", root.text("version").unwrap_or_default());
    facts.add("graph_type", &*root.word("graph_type"));
    let mut operations = Tally::default();
    root.children("mps_nodes").for_each(|node| operations.count(short(node.tag("mpsnode_union"), PREFIXES[0])));
    facts.add("operations", operations);
    let (mut inputs, mut outputs) =
        (Arguments::of(root.numbers("input_ids")?), Arguments::of(root.numbers("output_ids")?));
    let (mut values, mut constants) = (Tally::default(), ConstantTally::default());
    for (number, tensor) in (0..).zip(root.children("mps_values")) {
        values.count(datatype(&tensor));
        for arguments in [&mut inputs, &mut outputs] {
            arguments.take(number, || {
                Ok::<_, DescribeError>(Fact::tensor(&datatype(&tensor), tensor.numbers("dims")?.into_iter()))
            })?;
        }
        match tensor.number("constant_buffer_size") as u64 {
            0 => {}
            size => constants.inside(size),
        }
    }
    facts.add("values", values);
    facts.add("inputs", inputs);
    facts.add("outputs", outputs);
    facts.add("constants", constants);
    Ok(facts)
}
