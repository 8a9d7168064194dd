//! Payloads of the Vulkan backend, which the WebGPU backend also reads: a header, a graph (a FlatBuffer) and constants.
//! Older payloads are only the graph.
//!
//! Described only.

use super::description::{Arguments, ConstantTally, DescribeError, Fact, Facts, IntoFact, Tally};
use super::flat::view::View;
use super::flat::{FlatFormat, VULKAN_FORMAT as FLAT};
use super::format::PayloadFormat;
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
        let head = payload.read_at(0, payload.len().min(HEADER as u64) as usize)?;
        let sections = Sections::read(MAGIC, &head, payload.len()).map_err(DescribeError::Malformed)?;
        FLAT.view(payload, sections.graph, |root| graph(root, sections.facts()))
    }
}

/// Adds the facts of a graph.
fn graph(root: View<'_>, mut facts: Facts) -> Result<Facts, DescribeError> {
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
