//! Payloads of NativeBackend: programs (FlatBuffers) whose constants are in named data.
//!
//! Described only. Upstream's releases have no runtime for it.

use std::collections::HashSet;

use super::decoded::{Attributes, PayloadGraph, PayloadValue};
use super::description::{ConstantTally, DescribeError, Fact, Facts, IntoFact, MAX_LISTED, Tally, UNKNOWN};
use super::flat::view::View;
use super::flat::{FlatFormat, NATIVE_FORMAT as FLAT};
use super::format::PayloadFormat;
use super::graph::GraphBuilder;
use super::signature::{CallRules, TORCH_TYPES};
use pte_model::data::Blob;
use pte_model::diagnostics::clipped;
use pte_model::format::ScalarType;

/// The payloads of NativeBackend.
#[derive(Debug)]
pub struct Native;

const IDENTIFIER: &str = "NPTG";

static RULES: CallRules = CallRules { scalar_types: [TORCH_TYPES; 2], ..CallRules::UNKNOWN };

impl PayloadFormat for Native {
    fn name(&self) -> &'static str {
        "Native"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["NativeBackend"]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.get(4..8) == Some(IDENTIFIER.as_bytes())
    }

    fn flat(&self) -> Option<&'static FlatFormat> {
        Some(&FLAT)
    }

    fn rules(&self) -> &'static CallRules {
        &RULES
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        FLAT.view(payload, (0, payload.len()), |root| Ok(program(root)))
    }

    fn graph(&self, payload: &Blob) -> Result<Option<PayloadGraph>, DescribeError> {
        // A delegate has one method.
        FLAT.view(payload, (0, payload.len()), |root| {
            root.children("methods").next().map_or(Ok(None), |method| operations(method, payload))
        })
    }
}

/// Returns the graph of a method, without those in arguments.
fn operations(method: View<'_>, payload: &Blob) -> Result<Option<PayloadGraph>, DescribeError> {
    let Some(graph) = method.child("graph") else { return Ok(None) };
    let mut builder = GraphBuilder::new(payload, |name: &&str| format!("value `{}`", clipped(name)));
    for constant in method.children("constants") {
        let (Some(name), Some(key), Some(meta)) =
            (constant.text("name"), constant.text("data_key"), constant.child("meta"))
        else {
            continue;
        };
        let value = PayloadValue::tensor(datatype(&meta), TORCH_TYPES, &sizes(&meta));
        builder.declare(name, value.named(key).with_key(key, Some(bytes(&meta))));
    }
    for tensor in graph.children("tensor_values") {
        let (Some(name), Some(meta)) = (tensor.text("name"), tensor.child("meta")) else { continue };
        builder.declare(name, PayloadValue::tensor(datatype(&meta), TORCH_TYPES, &sizes(&meta)).named(name));
    }
    for node in graph.children("nodes").filter(|node| node.word("op_kind") == "CALL_FUNCTION") {
        let (mut reads, mut attributes) = (Vec::new(), Attributes::new());
        for (position, argument) in node.children("inputs").enumerate() {
            let role = argument.text("name").map_or_else(|| format!("arg {position}"), str::to_owned);
            match argument.child("arg").and_then(|argument| argument.member("value")) {
                Some(("TensorArg", tensor)) => reads.extend(tensor.text("name").map(|name| (name, role.into()))),
                Some(("TensorListArg" | "OptionalTensorListArg", list)) => {
                    let names = list.texts("names").iter().filter(|name| !name.is_empty());
                    builder.spend(names.clone().count().saturating_mul(role.len()))?;
                    reads.extend(names.map(|name| (name.as_str(), role.clone().into())));
                }
                Some(("NoneArg", _)) | None => {}
                Some((_, plain)) => attributes.push((role.into(), plain.text_of_all())),
            }
        }
        let writes = node.children("outputs").flat_map(|output| {
            let names = output.texts("names").iter().map(String::as_str);
            output.text("name").filter(|_| !output.has("names")).into_iter().chain(names)
        });
        builder.node(node.text("target").unwrap_or(UNKNOWN).to_owned(), reads, writes, attributes);
    }
    let [inputs, outputs] = ["inputs", "outputs"].map(|field| graph.texts(field).iter().map(String::as_str));
    let changed = changed(method);
    Ok(Some(builder.finish(inputs, outputs.filter(|name| !changed.contains(name)))))
}

/// Returns the outputs that are buffers and inputs which the graph changes.
fn changed(method: View<'_>) -> HashSet<&str> {
    let specs = method.children("output_specs").filter(|spec| spec.word("kind") != "USER_OUTPUT");
    specs.filter_map(|spec| spec.text("name")).collect()
}

/// Returns the facts of a program.
fn program(root: View<'_>) -> Facts {
    let mut facts = Facts::default().with("identifier", IDENTIFIER);
    facts.add("version", root.text("version").unwrap_or(UNKNOWN));
    let (mut operations, mut constants, mut buffers) = (Tally::default(), ConstantTally::default(), 0usize);
    for method in root.children("methods") {
        if let Some(graph) = method.child("graph") {
            count(graph, &mut operations);
        }
        for constant in method.children("constants") {
            let meta = constant.child("meta");
            let key = constant.text("data_key").unwrap_or_default();
            constants.named(key, meta.map_or(0, |meta| bytes(&meta)));
            let quantized = meta.and_then(|meta| meta.child("quant")?.member("scheme"));
            for slot in ["scale_data_key", "zero_point_data_key"] {
                if let Some(key) = quantized.and_then(|(_, scheme)| scheme.text(slot)) {
                    constants.named(key, 0);
                }
            }
        }
        buffers += method.children("mutable_buffers").len();
    }
    facts.add("operations", operations);
    // A delegate has one method.
    if let Some(method) = root.children("methods").next()
        && let Some(graph) = method.child("graph")
    {
        facts.add("inputs", arguments(graph, graph.texts("inputs").iter().map(String::as_str)));
        let changed = changed(method);
        let outputs = graph.texts("outputs").iter().map(String::as_str);
        // The exporter leaves them out if the last operation has several results.
        if graph.has("outputs") {
            facts.add("outputs", arguments(graph, outputs.filter(|name| !changed.contains(name))));
        }
    }
    facts.add("mutable_buffers", buffers);
    facts.add("constants", constants);
    facts
}

/// Counts the operations of a graph and of the graphs in their arguments, whose depth the reader bounds.
fn count(graph: View<'_>, operations: &mut Tally) {
    for node in graph.children("nodes") {
        if node.word("op_kind") == "CALL_FUNCTION" {
            operations.count(node.text("target").unwrap_or(UNKNOWN).to_owned());
        }
        for argument in node.children("inputs") {
            if let Some(("GraphArg", member)) = argument.child("arg").and_then(|argument| argument.member("value"))
                && let Some(graph) = member.child("graph")
            {
                count(graph, operations);
            }
        }
    }
}

fn arguments<'n>(graph: View<'_>, names: impl Iterator<Item = &'n str>) -> Fact {
    let mut found = Vec::new();
    let mut total = 0;
    for name in names {
        total += 1;
        if total > MAX_LISTED {
            continue;
        }
        let facts = Facts::default().with("name", name);
        let value = graph.children("tensor_values").find(|value| value.text("name") == Some(name));
        found.push(match value.and_then(|value| value.child("meta")) {
            Some(meta) => facts.with("datatype", datatype(&meta)).with("sizes", Fact::sizes(sizes(&meta).into_iter())),
            None => facts,
        });
    }
    Fact::list(found.into_iter().map(IntoFact::into_fact), total)
}

fn datatype(meta: &View<'_>) -> &'static str {
    let known = i8::try_from(meta.number("dtype")).ok().and_then(|number| ScalarType(number).info());
    known.map_or(UNKNOWN, |info| info.name)
}

/// Returns the sizes; -1 for one that is not fixed.
fn sizes(meta: &View<'_>) -> Vec<i64> {
    let size = |dim: View<'_>| match (dim.number("min"), dim.number("max")) {
        (min, max) if min == max => min,
        _ => -1,
    };
    meta.children("sizes").map(size).collect()
}

/// Returns the size in bytes of a constant; 0 if it is not known.
fn bytes(meta: &View<'_>) -> u64 {
    let element = i8::try_from(meta.number("dtype")).ok().and_then(|number| ScalarType(number).info());
    let element = element.map_or(0, |info| info.size);
    sizes(meta).into_iter().fold(element, |bytes, size| bytes.saturating_mul(u64::try_from(size).unwrap_or(0)))
}
