//! Payloads of the MPS backend: a header, a graph (a FlatBuffer) and constants; older ones are the graph, which
//! contains the constants.
//!
//! Described only.

use std::borrow::Cow;

use super::description::{Arguments, ConstantTally, DescribeError, Fact, Facts, Tally};
use super::flat::view::View;
use super::flat::{FlatFormat, MPS_FORMAT as FLAT};
use super::format::PayloadFormat;
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
        // The magic of the header is the identifier of the graph. A graph without a header begins with the offset of
        // its root, not with 0.
        let has_header = payload.read_at(0, payload.len().min(4) as usize)? == [0; 4];
        let (part, facts) = match has_header {
            true => header::read_short(payload, IDENTIFIER)?,
            false => ((0, payload.len()), Facts::default()),
        };
        FLAT.view(payload, part, |root| graph(root, facts))
    }
}

/// Adds the facts of a graph.
fn graph(root: View<'_>, mut facts: Facts) -> Result<Facts, DescribeError> {
    let short = |name: Cow<'_, str>, prefix| name.strip_prefix(prefix).unwrap_or(&name).to_owned();
    let datatype = |tensor: &View<'_>| short(tensor.word("datatype"), PREFIXES[1]);
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
