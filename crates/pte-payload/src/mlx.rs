//! Payloads of the MLX backend: a header, a graph (a FlatBuffer) and data. Constants are in named data.
//!
//! Described only.

use super::description::{DescribeError, Fact, Facts, IntoFact, MAX_LISTED, Tally, UNKNOWN};
use super::flat::view::View;
use super::flat::{FlatFormat, MLX_FORMAT as FLAT};
use super::format::PayloadFormat;
use super::header;
use super::signature::{CallRules, CountRule, SizesRule, TORCH_TYPES};
use pte_model::data::Blob;
use pte_model::format::ScalarType;

/// The payloads of the MLX backend.
#[derive(Debug)]
pub struct Mlx;

/// Bytes 4..8 of a payload. The FlatBuffer has no identifier.
const MAGIC: &str = "MLX0";

/// The runtime resizes tensors, and converts outputs to the type of the tensor.
static RULES: CallRules =
    CallRules { count: CountRule::Exact, sizes: SizesRule::Any, scalar_types: [TORCH_TYPES, &[]] };

/// Counts of the root table that are facts.
const COUNTS: &[(&str, &str)] = &[
    ("constant_tensors", "num_constant_tensors"),
    ("input_tensors", "num_input_tensors"),
    ("output_tensors", "num_output_tensors"),
    ("mutable_buffers", "num_mutable_buffer_tensors"),
    ("temporary_tensors", "num_temp_tensors"),
    ("values", "num_values"),
];

/// Name of the slot type of tensors.
const TENSOR: &str = "TensorSlot";

impl PayloadFormat for Mlx {
    fn name(&self) -> &'static str {
        "MLX"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["MLXBackend"]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.get(4..8) == Some(MAGIC.as_bytes())
    }

    fn rules(&self) -> &'static CallRules {
        &RULES
    }

    fn flat(&self) -> Option<&'static FlatFormat> {
        Some(&FLAT)
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let (part, facts) = header::read_short(payload, MAGIC)?;
        FLAT.view(payload, part, |root| graph(root, facts))
    }

    /// The names of constants; other slots with names are arguments and buffers.
    fn keys(&self, payload: &Blob) -> Result<Option<Vec<String>>, DescribeError> {
        let (part, _) = header::read_short(payload, MAGIC)?;
        FLAT.view(payload, part, |root| {
            let is_constant = |named: &View<'_>| {
                let slot = named.child("slot");
                slot.is_some_and(|slot| {
                    slot.word("slot_type") == TENSOR && slot.number("idx") < root.number("num_constant_tensors")
                })
            };
            let named = root.children("named_slots").filter(is_constant);
            Ok(Some(named.map(|named| named.text("name").unwrap_or_default().to_owned()).collect()))
        })
    }
}

/// Adds the facts of a graph.
fn graph(root: View<'_>, mut facts: Facts) -> Result<Facts, DescribeError> {
    facts.add("version", root.text("version").unwrap_or_default());
    for (name, field) in COUNTS {
        facts.add(name, Fact::Number(root.number(field)));
    }
    let mut operations = Tally::default();
    let chains = root.children("instruction_chains");
    for instruction in chains.clone().flat_map(|chain| chain.children("instructions")) {
        operations.count(instruction.tag("op").trim_end_matches("Node").to_owned());
    }
    facts.add("chains", chains.len());
    facts.add("main_chain", Fact::Number(root.number("main_chain_idx")));
    // None is -1.
    if root.number("init_chain_idx") >= 0 {
        facts.add("init_chain", Fact::Number(root.number("init_chain_idx")));
    }
    facts.add("operations", operations);
    for (name, field) in [("inputs", "input_map"), ("outputs", "output_map")] {
        let slots = root.children(field);
        let argument = |slot: View<'_>| {
            let index = usize::try_from(slot.number("idx")).unwrap_or(usize::MAX);
            match &*slot.word("slot_type") {
                TENSOR => root.children("tensor_meta").nth(index).map_or_else(|| UNKNOWN.into_fact(), tensor),
                kind => kind.trim_end_matches("Slot").into_fact(),
            }
        };
        facts.add(name, Fact::list(slots.clone().take(MAX_LISTED).map(argument), slots.len()));
    }
    let slots = root.children("named_slots");
    let names = slots.clone().map(|named| named.text("name").unwrap_or_default().into_fact());
    let keys = Fact::list(names, slots.len());
    facts.add("named_slots", Facts::default().with("count", slots.len()).with("keys", keys));
    Ok(facts)
}

fn tensor(meta: View<'_>) -> Fact {
    let sizes: Vec<i64> = meta.children("shape").map(|dim| dim.number("value")).collect();
    let datatype = ScalarType(meta.number("scalar_type") as i8).info().map_or(UNKNOWN, |info| info.name);
    Fact::tensor(datatype, sizes.into_iter())
}
