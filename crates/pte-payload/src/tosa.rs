//! Payloads that are TOSA graphs: FlatBuffers of the TOSA serialization library.
//!
//! Described only.

use std::collections::HashMap;

use super::decoded::{ConstantData, PayloadGraph, PayloadValue};
use super::description::{ConstantTally, DescribeError, Fact, Facts, IntoFact, MAX_LISTED, Tally, UNKNOWN};
use super::flat::view::View;
use super::flat::{FlatFormat, TOSA_FORMAT as FLAT};
use super::format::PayloadFormat;
use super::graph::GraphBuilder;
use super::signature::CallRules;
use pte_model::data::Blob;
use pte_model::diagnostics::clipped;
use pte_model::format::ScalarType;

/// The payloads of backends that take TOSA graphs.
#[derive(Debug)]
pub struct Tosa;

/// File identifier of the graph.
const IDENTIFIER: &str = "TOSA";

/// No release has a runtime for graphs.
static RULES: CallRules = CallRules { scalar_types: [SCALAR_TYPES; 2], ..CallRules::UNKNOWN };
const SCALAR_TYPES: &[(&str, &[ScalarType])] = &[
    ("BOOL", &[ScalarType::BOOL]),
    ("INT8", &[ScalarType::CHAR]),
    ("INT16", &[ScalarType::SHORT]),
    ("INT32", &[ScalarType::INT]),
    ("INT64", &[ScalarType::LONG]),
    ("FP32", &[ScalarType::FLOAT]),
    ("FP16", &[ScalarType::HALF]),
    ("BF16", &[ScalarType::BFLOAT16]),
];

impl PayloadFormat for Tosa {
    fn name(&self) -> &'static str {
        "TOSA"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["TOSABackend"]
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
        FLAT.view(payload, (0, payload.len()), describe)
    }

    fn graph(&self, payload: &Blob) -> Result<Option<PayloadGraph>, DescribeError> {
        FLAT.view(payload, (0, payload.len()), |root| Ok(Some(graph(root, payload)?)))
    }
}

/// Returns the operations of all blocks; the values of a block have names of their own. The first block is that of the
/// program.
fn graph(root: View<'_>, payload: &Blob) -> Result<PayloadGraph, DescribeError> {
    let mut builder = GraphBuilder::new(payload, |(_, name): &(usize, &str)| format!("value `{}`", clipped(name)));
    let blocks = || root.children("regions").flat_map(|region| region.children("blocks"));
    for (number, block) in blocks().enumerate() {
        for tensor in block.children("tensors") {
            let Some(name) = tensor.text("name") else { continue };
            let value = PayloadValue::tensor(&tensor.word("type"), SCALAR_TYPES, &tensor.numbers("shape")?).named(name);
            let data = tensor.bytes("data").filter(|data| !data.is_empty());
            let data = data.map(|data| ConstantData::Inside(data.clone()));
            builder.declare((number, name), PayloadValue { data, ..value });
        }
        for shape in block.children("shapes") {
            let Some(name) = shape.text("name") else { continue };
            builder.declare((number, name), PayloadValue::other("shape").named(name));
        }
        for operator in block.children("operators") {
            let op = operator.word("op");
            // Its result has the data.
            if op == "CONST" || op == "CONST_SHAPE" {
                continue;
            }
            let inputs = operator.texts("inputs").iter().enumerate();
            let reads = inputs.map(|(position, name)| ((number, name.as_str()), format!("input {position}").into()));
            let writes = operator.texts("outputs").iter().map(|name| (number, name.as_str()));
            let attributes = operator.member("attribute").map_or_else(Vec::new, |(_, view)| view.attributes(|_| true));
            builder.node(op.into_owned(), reads, writes, attributes);
        }
    }
    let first = blocks().next();
    let [inputs, outputs] = ["inputs", "outputs"].map(|field| {
        let names = first.map_or(&[][..], |block| block.texts(field));
        names.iter().map(|name| (0, name.as_str()))
    });
    Ok(builder.finish(inputs, outputs))
}

/// Counts of all blocks.
#[derive(Default)]
struct Counts {
    operations: Tally,
    tensors: Tally,
    constants: ConstantTally,
    blocks: usize,
    shapes: usize,
    /// Inputs and outputs of the first block, which is that of the program.
    arguments: Option<[Fact; 2]>,
}

/// Returns the facts of a graph.
fn describe(root: View<'_>) -> Result<Facts, DescribeError> {
    let mut facts = Facts::default().with("identifier", IDENTIFIER);
    let version = root.child("version").map_or_else(|| UNKNOWN.to_owned(), version);
    facts.add("version", &*version);
    let mut counts = Counts::default();
    for block in root.children("regions").flat_map(|region| region.children("blocks")) {
        counts.block(block)?;
    }
    facts.add("regions", root.children("regions").len());
    facts.add("basic_blocks", counts.blocks);
    facts.add("operations", counts.operations);
    facts.add("tensors", counts.tensors);
    facts.add("shapes", counts.shapes);
    if let Some([inputs, outputs]) = counts.arguments {
        facts.add("inputs", inputs);
        facts.add("outputs", outputs);
    }
    facts.add("constants", counts.constants);
    Ok(facts)
}

/// Returns the version, with `draft` if it is one.
fn version(version: View<'_>) -> String {
    let [major, minor, patch, draft] = ["_major", "_minor", "_patch", "_draft"].map(|name| version.number(name));
    format!("{major}.{minor}.{patch}{}", if draft != 0 { " draft" } else { "" })
}

impl Counts {
    fn block(&mut self, block: View<'_>) -> Result<(), DescribeError> {
        block.children("operators").for_each(|operator| self.operations.count(operator.word("op").into_owned()));
        let arguments = [block.texts("inputs"), block.texts("outputs")];
        let is_first = self.blocks == 0;
        let listed = arguments.iter().flat_map(|names| names.iter().take(MAX_LISTED)).filter(|_| is_first);
        let mut found: HashMap<&str, Option<Facts>> = listed.map(|name| (name.as_str(), None)).collect();
        for tensor in block.children("tensors") {
            let datatype = tensor.word("type");
            let name = tensor.text("name").unwrap_or_default();
            match tensor.bytes("data").map_or(0, Blob::len) {
                0 => {}
                size => self.constants.inside(size),
            }
            if let Some(facts) = found.get_mut(name) {
                let sizes = Fact::sizes(tensor.numbers("shape")?.into_iter());
                let named = Facts::default().with("name", name);
                *facts = Some(named.with("datatype", &*datatype).with("sizes", sizes));
            }
            self.tensors.count(datatype.into_owned());
        }
        self.shapes += block.children("shapes").len();
        self.blocks += 1;
        if is_first {
            let fact = |name: &String| {
                let known = found.get(name.as_str()).and_then(Option::as_ref);
                known.map_or_else(|| Facts::default().with("name", &**name), Facts::clone).into_fact()
            };
            self.arguments = Some(arguments.map(|names| Fact::list(names.iter().map(fact), names.len())));
        }
        Ok(())
    }
}
