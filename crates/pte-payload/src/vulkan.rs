//! Payloads of the Vulkan backend, which the WebGPU backend also reads: a header, a graph (a FlatBuffer) and constants.
//! Older payloads are only the graph.
//!
//! Described only.

use super::decoded::{Attributes, PayloadGraph, PayloadPart, PayloadValue};
use super::description::{Arguments, ConstantTally, DescribeError, Fact, Facts, IntoFact, Tally};
use super::flat::view::View;
use super::flat::{FlatFormat, VULKAN_FORMAT as FLAT};
use super::format::PayloadFormat;
use super::graph::GraphBuilder;
use super::header::{HEADER, Sections};
use super::signature::{CallRules, CountRule, SizesRule};
use pte_model::data::Blob;
use pte_model::format::ScalarType;

/// The payloads of the Vulkan backend.
#[derive(Debug)]
pub struct Vulkan;

/// Bytes 4..8 of a payload with a header.
const MAGIC: &[u8; 4] = b"VH00";

/// File identifier of the graph.
const IDENTIFIER: &str = "VK00";

/// The runtime converts between these types of a tensor and those of the graph, in both directions.
static RULES: CallRules =
    CallRules { count: CountRule::Exact, sizes: SizesRule::Rank, scalar_types: [SCALAR_TYPES; 2] };
const SCALAR_TYPES: &[(&str, &[ScalarType])] = &[
    ("BOOL", &[ScalarType::BOOL]),
    ("UINT8", &[ScalarType::BYTE]),
    ("INT8", &[ScalarType::CHAR]),
    ("INT32", &[ScalarType::INT, ScalarType::LONG]),
    ("FLOAT16", &[ScalarType::HALF]),
    ("FLOAT32", &[ScalarType::FLOAT, ScalarType::DOUBLE, ScalarType::HALF]),
    ("FLOAT64", &[ScalarType::DOUBLE]),
    ("INT64", &[ScalarType::LONG]),
];

impl PayloadFormat for Vulkan {
    fn name(&self) -> &'static str {
        "Vulkan"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["VulkanBackend"]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.get(4..8).is_some_and(|magic| magic == MAGIC || magic == IDENTIFIER.as_bytes())
    }

    fn rules(&self) -> &'static CallRules {
        &RULES
    }

    fn flat(&self) -> Option<&'static FlatFormat> {
        Some(&FLAT)
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let sections = sections(payload)?;
        FLAT.view(payload, sections.graph, |root| describe(root, sections.facts()))
    }

    fn graph(&self, payload: &Blob) -> Result<Option<PayloadGraph>, DescribeError> {
        let sections = sections(payload)?;
        FLAT.view(payload, sections.graph, |root| Ok(Some(graph(root, payload, sections.constants)?)))
    }
}

fn sections(payload: &Blob) -> Result<Sections, DescribeError> {
    let head = payload.read_at(0, payload.len().min(HEADER as u64) as usize)?;
    Sections::read(MAGIC, &head, payload.len()).map_err(DescribeError::Malformed)
}

/// Returns the graph. The last argument of an operation is its result, or a list of its results.
fn graph(root: View<'_>, payload: &Blob, data: Option<(u64, u64)>) -> Result<PayloadGraph, DescribeError> {
    let mut builder = GraphBuilder::new(payload, |number: &i64| format!("value {number}"));
    let values: Vec<_> = root.children("values").collect();
    let constants: Vec<_> = root.children("constants").collect();
    for (number, value) in (0..).zip(&values) {
        let Some(("VkTensor", tensor)) = value.member("value") else {
            builder.declare(number, PayloadValue::other(&value.tag("value")));
            continue;
        };
        let sizes = tensor.numbers("dims")?;
        let mut found = PayloadValue::tensor(&tensor.word("datatype"), SCALAR_TYPES, &sizes);
        // Negative numbers are none.
        let constant = usize::try_from(tensor.number("constant_id")).ok();
        if let Some(Some(constant)) = constant.map(|index| constants.get(index)) {
            let size = constant.number("length") as u64;
            found = match constant.text("named_key").filter(|key| !key.is_empty()) {
                Some(key) => {
                    builder.spend(key.len())?;
                    found.with_key(key, Some(size))
                }
                None => builder.with_part(found, payload, data, (constant.number("offset") as u64, size)),
            };
        } else if let Some(index) = constant {
            let found = format!("constant {index} of {}", constants.len());
            builder.problem(PayloadPart::Value(number as usize), found, "a constant of the graph");
        }
        builder.declare(number, found);
    }
    let member = |number: i64| usize::try_from(number).ok().and_then(|index| values.get(index)?.member("value"));
    for call in root.children("chain") {
        let args = call.numbers("args")?;
        let (last, args) = args.split_last().map_or((None, &[][..]), |(last, args)| (Some(*last), args));
        let (mut reads, mut attributes) = (Vec::new(), Attributes::new());
        for (position, number) in args.iter().enumerate() {
            let role = || format!("arg {position}").into();
            match member(*number) {
                Some(("Null", _)) => {}
                Some(("ValueList", list)) => {
                    let items = list.numbers("items")?;
                    builder.spend(items.len())?;
                    reads.extend(items.into_iter().map(|item| (item, role())));
                }
                Some(("VkTensor" | "SymInt", _)) | None => reads.push((*number, role())),
                Some((_, plain)) => {
                    let text = plain.text_of_all();
                    builder.spend(text.len())?;
                    attributes.push((role(), text));
                }
            }
        }
        let writes = match last.and_then(member) {
            Some(("ValueList", list)) => {
                let items = list.numbers("items")?;
                builder.spend(items.len())?;
                items
            }
            Some(_) | None => last.into_iter().collect(),
        };
        builder.node(call.text("name").unwrap_or_default().to_owned(), reads, writes, attributes);
    }
    Ok(builder.finish(root.numbers("input_ids")?, root.numbers("output_ids")?))
}

/// Adds the facts of a graph.
fn describe(root: View<'_>, mut facts: Facts) -> Result<Facts, DescribeError> {
    facts.add("identifier", IDENTIFIER);
    facts.add("version", root.text("version").unwrap_or_default());
    let mut operations = Tally::default();
    root.children("chain").for_each(|call| operations.count(call.text("name").unwrap_or_default().to_owned()));
    facts.add("operations", operations);
    let mut inputs = Arguments::of(root.numbers("input_ids")?);
    let mut outputs = Arguments::of(root.numbers("output_ids")?);
    let mut values = Tally::default();
    for (number, value) in (0..).zip(root.children("values")) {
        let kind = value.tag("value");
        for arguments in [&mut inputs, &mut outputs] {
            arguments.take(number, || match value.member("value") {
                Some(("VkTensor", tensor)) => self::tensor(tensor),
                Some(_) | None => Ok((&*kind).into_fact()),
            })?;
        }
        values.count(kind.into_owned());
    }
    facts.add("values", values);
    facts.add("inputs", inputs);
    facts.add("outputs", outputs);
    let mut constants = ConstantTally::default();
    for constant in root.children("constants") {
        let size = constant.number("length") as u64;
        match constant.text("named_key").filter(|key| !key.is_empty()) {
            Some(key) => constants.named(key, size),
            None => constants.inside(size),
        }
    }
    facts.add("constants", constants);
    facts.add("shaders", root.children("shaders").len());
    facts.add("storage_override", &*root.word("storage_type_override"));
    facts.add("memory_layout_override", &*root.word("memory_layout_override"));
    Ok(facts)
}

fn tensor(tensor: View<'_>) -> Result<Fact, DescribeError> {
    let datatype = tensor.word("datatype");
    let facts = Facts::default().with("datatype", &*datatype);
    let facts = facts.with("sizes", Fact::sizes(tensor.numbers("dims")?.into_iter()));
    // Tensors of the call have this type, unless it is unset.
    let staging = tensor.word("staging_datatype");
    Ok(match staging == datatype || staging == "UNSET" {
        true => facts.into_fact(),
        false => facts.with("staging_datatype", &*staging).into_fact(),
    })
}
