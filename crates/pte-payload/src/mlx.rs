//! Payloads of the MLX backend: a header, a graph (a FlatBuffer) and data. Constants are in named data.
//!
//! Described only.

use std::collections::HashMap;

use super::decoded::{PayloadGraph, PayloadPart, PayloadValue};
use super::description::{DescribeError, Fact, Facts, IntoFact, MAX_LISTED, Tally, UNKNOWN};
use super::flat::view::View;
use super::flat::{FlatFormat, MLX_FORMAT as FLAT};
use super::format::PayloadFormat;
use super::graph::GraphBuilder;
use super::header;
use super::signature::{CallRules, CountRule, SizesRule, TORCH_TYPES};
use pte_model::data::Blob;
use pte_model::diagnostics::counted;
use pte_model::format::ScalarType;

/// The payloads of the MLX backend.
#[derive(Debug)]
pub struct Mlx;

/// Bytes 4..8 of a payload. The FlatBuffer has no identifier.
const MAGIC: &str = "MLX0";

/// The runtime resizes tensors, and converts outputs to the type of the tensor.
static RULES: CallRules =
    CallRules { count: CountRule::Exact, sizes: SizesRule::Any, scalar_types: [TORCH_TYPES, &[]] };

/// Counts of the root table that are facts: of tensors by their kind, and of integers.
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

    fn graph(&self, payload: &Blob) -> Result<Option<PayloadGraph>, DescribeError> {
        let (part, _) = header::read_short(payload, MAGIC)?;
        FLAT.view(payload, part, |root| Ok(Some(operations(root, payload))))
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
    let (datatype, sizes) = kind(meta);
    Fact::tensor(datatype, sizes.into_iter())
}

/// Returns element type and sizes of a tensor.
fn kind(meta: View<'_>) -> (&'static str, Vec<i64>) {
    let sizes = meta.children("shape").map(|dim| dim.number("value")).collect();
    (ScalarType(meta.number("scalar_type") as i8).info().map_or(UNKNOWN, |info| info.name), sizes)
}

/// A value: kind of its slot, and its number.
type Slot = (&'static str, u32);

/// Returns the slot of a reference to a tensor or a number: a struct with an index.
fn slot(of: &str, bytes: &[u8]) -> Option<Slot> {
    let kind = [("Tid", TENSOR), ("Vid", "IntValueSlot")].into_iter().find(|(name, _)| of.ends_with(name))?.1;
    Some((kind, u32::from_le_bytes(*bytes.first_chunk()?)))
}

/// Returns the graph of all chains. Fields of an operation that begin with `out` are results.
fn operations(root: View<'_>, payload: &Blob) -> PayloadGraph {
    let mut builder = GraphBuilder::new(payload, |(kind, number): &Slot| format!("{kind} {number}"));
    let of_variant = |slot: View<'_>| {
        let index = u32::try_from(slot.number("idx")).unwrap_or(u32::MAX);
        (if slot.word("slot_type") == TENSOR { TENSOR } else { "IntValueSlot" }, index)
    };
    let named = root.children("named_slots");
    let names: HashMap<Slot, &str> =
        named.filter_map(|named| Some((of_variant(named.child("slot")?), named.text("name")?))).collect();
    for (number, meta) in (0..).zip(root.children("tensor_meta")) {
        let (datatype, sizes) = kind(meta);
        let value = PayloadValue::tensor(datatype, TORCH_TYPES, &sizes);
        let value = match names.get(&(TENSOR, number)) {
            Some(key) if i64::from(number) < root.number("num_constant_tensors") => {
                value.named(key).with_key(key, None)
            }
            Some(name) => value.named(name),
            None => value,
        };
        builder.declare((TENSOR, number), value);
    }
    let (integers, counts) = COUNTS.split_last().expect("counts");
    let tensors = counts.iter().fold(0i64, |sum, (_, field)| sum.saturating_add(root.number(field)));
    let integers = root.number(integers.1);
    let chains: Vec<View<'_>> = root.children("instruction_chains").collect();
    for (name, none) in [("main_chain_idx", 0), ("init_chain_idx", -1)] {
        let chain = root.number(name);
        if chain != none && usize::try_from(chain).ok().is_none_or(|chain| chain >= chains.len()) {
            let found = format!("{name} {chain} of {}", counted(chains.len(), "chain"));
            builder.problem(PayloadPart::Whole, found, "a chain of the graph");
        }
    }
    let is_init = |position: &usize| i64::try_from(*position) == Ok(root.number("init_chain_idx"));
    // The initial chain is executed before the others.
    let order = (0..chains.len()).filter(is_init).chain((0..chains.len()).filter(|position| !is_init(position)));
    for instruction in order.flat_map(|position| chains[position].children("instructions")) {
        let Some((name, operation)) = instruction.member("op") else {
            builder.node(instruction.tag("op").into_owned(), [], [], Vec::new());
            continue;
        };
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for (field, _) in operation.fields() {
            // A number or a slot is a table with both.
            let inner = operation.child(field).filter(|inner| inner.has("tid") || inner.number("is_vid") != 0);
            let of_inner = |name| inner.map(|inner| inner.structs(name));
            let parts = [Some(operation.structs(field)), of_inner("tid"), of_inner("vid")];
            let slots =
                parts.into_iter().flatten().flat_map(|(of, items)| items.filter_map(move |item| slot(of, item)));
            match field.starts_with("out") {
                true => writes.extend(slots),
                false => reads.extend(slots.map(|slot| (slot, field.to_owned().into()))),
            }
        }
        // Of temporary tensors and of integers, only the numbers are stated.
        let is_counted = |(kind, number): &Slot| i64::from(*number) < if *kind == TENSOR { tensors } else { integers };
        let slots = reads.iter().map(|(slot, _)| *slot).chain(writes.iter().copied());
        slots.filter(is_counted).for_each(|slot| builder.declare(slot, PayloadValue::other("")));
        let attributes = operation.attributes(|_| true);
        builder.node(name.trim_end_matches("Node").to_owned(), reads, writes, attributes);
    }
    let [inputs, outputs] = ["input_map", "output_map"].map(|field| root.children(field).map(of_variant));
    builder.finish(inputs, outputs)
}
