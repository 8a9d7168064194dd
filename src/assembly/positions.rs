//! Adds positions in the YAML to findings about delegates, graphs in their payloads and their calls, with the names of
//! delegates and values in the YAML.
//!
//! Findings about other elements have no positions.

use std::collections::HashMap;

use super::Assembly;
use pte_check::{Finding, Findings, SourcePosition};
use pte_model::diagnostics::clipped;
use pte_model::format::path::name_step;
use pte_model::program::element::{Element, Part};
use pte_model::program::positions::{CallPosition, DelegatePosition, SourceRange};

/// Prefix of the paths of a program inside a `.bpte`.
const INNER: &str = "program.";

/// Part of the path of an argument that follows the instruction.
const ARGS: &str = ".args[";

/// Adds positions to the findings about the program of an assembly.
pub fn locate(assembly: &Assembly, findings: &mut Findings) {
    let is_relevant = |finding: &&mut Finding| {
        let path = &finding.location.path;
        path.contains(".delegates[") || path.contains(".instructions[")
    };
    let mut relevant = findings.list.iter_mut().filter(is_relevant).peekable();
    if assembly.delegates.is_empty() || relevant.peek().is_none() {
        return;
    }
    let path =
        |part: Part, delegate: &DelegatePosition| Element::Method(delegate.method, part).path(assembly.program());
    let by_path: HashMap<String, &DelegatePosition> = assembly
        .delegates
        .iter()
        .map(|delegate| (path(Part::Delegate(delegate.delegate), delegate), delegate))
        .collect();
    let calls = assembly.delegates.iter().flat_map(|delegate| {
        let path = |call: &CallPosition| path(Part::Instruction(call.chain, call.step), delegate);
        delegate.calls.iter().map(move |call| (path(call), &call.at))
    });
    let calls: HashMap<String, &SourceRange> = calls.collect();
    for finding in relevant {
        let own = finding.location.path.strip_prefix(INNER).unwrap_or(&finding.location.path);
        if let Some(SourceRange { span, line, column }) = calls.get(own.split(ARGS).next().unwrap_or(own)) {
            let path = own.to_owned();
            finding.source = Some(SourcePosition::new(path, span.clone(), *line, *column));
            continue;
        }
        // Names of methods may contain any text.
        let of_delegate = |(end, _): (usize, &str)| Some((by_path.get(&own[..=end])?, &own[end + 1..]));
        let Some((delegate, rest)) = own.match_indices(']').find_map(of_delegate) else { continue };
        let method = path(Part::Whole, delegate);
        let Some(delegate_name) = name_step(&delegate.name) else { continue };
        let base = format!("{method}.delegates.{delegate_name}");
        let found = rest.strip_prefix(".graph.").and_then(|part| {
            let (part, at) = position(delegate, part)?;
            Some((format!("{base}.graph.{part}"), at))
        });
        let has_names = found.is_some() || rest.is_empty();
        // What is written in another way, as a FlatBuffer or as bytes, has no positions.
        let (path, SourceRange { span, line, column }) = found.unwrap_or_else(|| (base + rest, &delegate.at));
        finding.source = Some(SourcePosition::new(path, span.clone(), *line, *column));
        if has_names {
            finding.found = with_names(&finding.found, delegate);
        }
    }
}

/// Returns the path with names, and the position, of a part of a graph such as `values[2]` or `nodes[3]`.
fn position<'d>(delegate: &'d DelegatePosition, part: &str) -> Option<(String, &'d SourceRange)> {
    let (list, index) = part.strip_suffix(']')?.split_once('[')?;
    let index: usize = index.parse().ok()?;
    if list == "nodes" {
        return Some((part.to_owned(), delegate.nodes.get(index)?));
    }
    let value = delegate.values.get(index)?;
    let path = name_step(&value.name).map_or_else(|| part.to_owned(), |name| format!("{list}.{name}"));
    Some((path, &value.at))
}

/// Text before the id of a value of a graph in a finding.
const VALUE: &str = "value ";

/// Adds the names of the values of a graph to their ids in a message.
fn with_names(text: &str, delegate: &DelegatePosition) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(VALUE) {
        let (before, after) = rest.split_at(at + VALUE.len());
        out.push_str(before);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        out.push_str(&after[..digits]);
        let id = after[..digits].parse().ok();
        if let Some(value) = id.and_then(|id: u32| delegate.values.iter().find(|value| value.id == id)) {
            out += &format!(" (`{}`)", clipped(&value.name));
        }
        rest = &after[digits..];
    }
    out + rest
}
