//! Parts of the graphs of XNNPACK delegates that a release does not accept (`V-3`): operations, element types of their operands, and
//! properties of the payload. `tools/releases/xnnpack.py` has a graph for each part, with the same names.

use std::collections::{BTreeSet, HashMap};

use super::first::first_after;
use crate::RuleId::*;
use crate::finding::{Findings, Locator};
use pte_model::program::element::{Element, Part};
use pte_model::program::{BackendDelegate, Program};
use pte_payload::xnnpack::BACKEND;
use pte_payload::xnnpack::decode::decode;
use pte_payload::xnnpack::model::{Container, FieldContent, Graph, GraphValue, Node, NodeOperation};
use pte_payload::xnnpack::schema::{Datatype, Operation};
use pte_releases::{Answer, Release};

/// Compares the payloads of all XNNPACK delegates with what a release accepts; each part of a payload once.
pub fn check(program: &Program, release: &Release, findings: &mut Findings, locate: &Locator<'_>) {
    // Delegates with the same payload have the same findings.
    let mut seen = BTreeSet::new();
    for (method, plan) in program.plans().iter().enumerate() {
        for (index, delegate) in plan.delegates().iter().enumerate() {
            if delegate.id.as_deref() != Some(BACKEND) || !seen.insert(delegate.processed) {
                continue;
            }
            // The rules D- report a payload that cannot be decoded.
            let Ok(graph) = decode(program.blob(delegate.processed)) else { continue };
            let mut reported = BTreeSet::new();
            for (part, node) in parts(&graph, delegate) {
                let Some(answer) = release.xnnpack(&part).filter(|answer| !accepts(answer)) else { continue };
                if !reported.insert(part.clone()) {
                    continue;
                }
                findings.add(V_3, || {
                    let at = node.map_or(Part::Delegate(index), |node| Part::GraphNode(index, node));
                    let found = format!("`{part}` in a payload: ExecuTorch {} {answer}", release.version());
                    let does = |other: &Release| other.xnnpack(&part).is_some_and(accepts);
                    (locate(&Element::Method(method, at)), found, first_after(release, does))
                });
            }
        }
    }
}

fn accepts(answer: &Answer) -> bool {
    answer.is_usable() || *answer == Answer::NotTried
}

/// Returns the parts of a graph, each with its node if it is one of a node.
fn parts(graph: &Graph, delegate: &BackendDelegate) -> Vec<(String, Option<usize>)> {
    let mut parts: Vec<(String, Option<usize>)> = Vec::new();
    let mut whole = |has: bool, part: &str| {
        if has {
            parts.push((format!("payload.{part}"), None));
        }
    };
    whole(delegate.inline == Some(true), "inline");
    whole(graph.identifier == "XN00", "identifier_XN00");
    whole(graph.container == Container::Bare, "without_header");
    whole(
        graph.constants.iter().any(|constant| constant.key.as_ref().is_some_and(|key| !key.is_empty())),
        "named_constant",
    );
    let values: HashMap<u32, &GraphValue> = graph.values.iter().map(|value| (value.id, value)).collect();
    for (index, node) in graph.nodes.iter().enumerate() {
        parts.extend(of_node(node, &values).into_iter().map(|part| (part, Some(index))));
    }
    parts
}

fn of_node(node: &Node, values: &HashMap<u32, &GraphValue>) -> Vec<String> {
    let mut parts = Vec::new();
    if !node.extra.is_empty() {
        parts.push("payload.newer_field".to_owned());
    }
    let NodeOperation::Known(operation) = node.operation else {
        parts.push("payload.newer_operation".to_owned());
        return parts;
    };
    parts.push(operation.word().to_owned());
    let datatype = |name: &str| {
        let operand = operation.operands().find(|operand| operand.name == name)?;
        let Some(FieldContent::UInt(id)) = node.fields.get(usize::from(operand.slot)) else { return None };
        Some(Datatype::of(values.get(id)?.datatype)?.name)
    };
    let input = datatype("input_id").or_else(|| datatype("input1_id"));
    let types = match (operation, input, datatype("filter_id")) {
        (Operation::Convert, _, _) => datatype("output_id").map(|to| (to, "convert")),
        (_, Some(input @ ("qdint8" | "qpint8")), Some(filter)) => Some((input, filter)),
        (_, Some("qint8" | "quint8"), Some(filter)) => Some((filter, "static")),
        (_, Some(input), Some(_)) => Some((input, "fully_connected")),
        (_, Some(input), None) => Some((input, "add")),
        (_, None, _) => None,
    };
    parts.extend(types.map(|(first, second)| format!("type.{first}.{second}")));
    if node.output_min_max.is_some() && operation != Operation::Clamp {
        let of = match (datatype("filter_id"), operation) {
            (Some(_), _) => "fully_connected",
            (None, Operation::Maximum | Operation::Minimum) => "maximum",
            (None, _) => "add",
        };
        parts.push(format!("payload.bounds_of_{of}"));
    }
    parts
}
