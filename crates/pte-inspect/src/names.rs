//! Names of constants and other owners of bytes that begin with what distinguishes them, for lists of sizes. It reads
//! no data.

use std::collections::{BTreeSet, HashMap};

use super::Subject;
use super::summary::payload_graphs;
use crate::annotate::leaves::named_data_owner;
use pte_model::program::element::{Element, Part};
use pte_payload::decoded::PayloadGraph;

/// Returns, by value of a payload, its name; of a constant without one, the first operation that reads it, and its
/// role, such as `conv2d_43 filter`. `None` for other values without a name, and for constants that no operation reads.
pub fn constant_names(graph: &PayloadGraph) -> Vec<Option<String>> {
    let mut names: Vec<Option<String>> = graph.values.iter().map(|value| value.name.clone()).collect();
    for (position, node) in graph.nodes.iter().enumerate() {
        for (value, role) in node.reads.iter().zip(&node.roles) {
            let has_data = graph.values.get(*value).is_some_and(|value| value.data.is_some());
            if let Some(name) = names.get_mut(*value).filter(|name| has_data && name.is_none()) {
                *name = Some(format!("{}_{position} {role}", node.name));
            }
        }
    }
    names
}

/// Returns the names of owners of bytes, by the path that [`leaves`](crate::annotate::leaves) has for them: the name of
/// a value or constant, with the path in parentheses. The paths of the program begin with `prefix`. If there are
/// several payloads, names end with the name of the delegate.
pub fn owner_names(subject: &Subject<'_>, prefix: &str) -> HashMap<String, String> {
    let program = subject.program;
    let mut names = HashMap::new();
    for (method, values) in subject.values.iter().enumerate() {
        for (value, name) in values.names.iter().enumerate() {
            let Some(name) = name else { continue };
            let path = format!("{prefix}{}", Element::Method(method, Part::Value(value)).path(program));
            let named = format!("{name} ({path})");
            names.insert(path, named);
        }
    }
    let graphs = payload_graphs(subject);
    let mut seen = BTreeSet::new();
    for (method, number, delegate) in program.delegates() {
        let Some(graph) = graphs.get(&delegate.processed).filter(|_| seen.insert(delegate.processed)) else {
            continue;
        };
        let part = match graphs.len() {
            0 | 1 => String::new(),
            _ => format!(", {}", subject.delegate_name(method, number)),
        };
        let payload = format!("{prefix}{}.payload", Element::Method(method, Part::Delegate(number)).path(program));
        for (value, (name, found)) in constant_names(graph).into_iter().zip(&graph.values).enumerate() {
            let Some(name) = name else { continue };
            let path = format!("{payload}.values[{value}]");
            for (key, what) in &found.keys {
                let owner = named_data_owner(key.as_bytes());
                names.entry(owner).or_insert_with(|| format!("{name}{what}{part} ({path})"));
            }
            let named = format!("{name}{part} ({path})");
            names.insert(path, named);
        }
    }
    names
}
