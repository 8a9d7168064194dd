//! The YAML of a program for a report, with the line of each element. For YAML, that is the source; for a file, what
//! `dump` prints.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use crate::facade::model::Model;
use crate::printer::{LargeData, PrintOptions};
use pte_memory::Subject;
use pte_model::error::Error;
use pte_model::program::ExecutionPlan;
use pte_report::text::{DelegateLines, MAX_TEXT, MethodLines, ReportedText};
use pte_yaml::tree::{NodeId, NodeValue, SourceNode, parse_with_ranges};

/// Size in bytes up to which a file is printed: printing reads it to verify that the YAML reproduces it.
const MAX_PRINTED: u64 = 256 << 20;

/// Size of the metadata of a program in bytes up to which it is printed.
const MAX_METADATA: u64 = 4 << 20;

/// Returns the YAML of a model. `metadata` is the size of the metadata of its program.
pub(super) fn text(model: &Model, subject: &Subject<'_>, metadata: u64) -> ReportedText {
    let without = |reason: String| ReportedText { reason: Some(reason), ..ReportedText::default() };
    let text = match printed(model, metadata) {
        Ok(text) => text,
        Err(reason) => return without(reason),
    };
    if text.len() > MAX_TEXT {
        let bytes = text.len();
        return without(format!("the YAML has {bytes} bytes, a report at most {MAX_TEXT}: `pte-emit dump` prints it"));
    }
    let methods = lines(&text, subject);
    ReportedText { text: Some(text), reason: None, methods }
}

fn printed(model: &Model, metadata: u64) -> Result<String, String> {
    if let Some(text) = model.text() {
        return Ok(text.to_owned());
    }
    let size = model.origin().map_or(Ok(0), |origin| origin.len()).map_err(|error| error.to_string())?;
    if size > MAX_PRINTED || metadata > MAX_METADATA {
        let advice = "`pte-emit dump` prints it";
        return Err(format!("the file has {size} bytes, of which {metadata} are metadata: {advice}"));
    }
    // References to data are relative to the folder of the file, whose name is not part of a report.
    let path = Path::new(model.name());
    let file = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let options = PrintOptions::default().large_data(LargeData::Refer).file(file);
    let folder = path.parent().unwrap_or(Path::new(""));
    model.to_yaml(folder, &options).map(|printed| printed.text).map_err(|error: Error| error.to_string())
}

/// Lines of the nodes of a YAML document.
struct Lines {
    ranges: Vec<Range<usize>>,
    /// Offsets of the ends of the lines.
    ends: Vec<usize>,
}

impl Lines {
    fn of(&self, id: NodeId) -> usize {
        let start = self.ranges.get(id.0 as usize).map(|range| range.start);
        start.map_or(0, |start| self.ends.partition_point(|end| *end < start) + 1)
    }
}

/// Returns the lines of the elements of all methods; 0 for those that the YAML does not declare.
fn lines(text: &str, subject: &Subject<'_>) -> Vec<MethodLines> {
    let Ok((root, ranges)) = parse_with_ranges(text) else { return Vec::new() };
    let ends = text.match_indices('\n').map(|(at, _)| at).collect();
    let lines = Lines { ranges, ends };
    let declared: HashMap<&str, (usize, &SourceNode<'_>)> =
        entries(get(&root, "methods")).map(|(name, id, node)| (name, (lines.of(id), node))).collect();
    let plans = subject.program.plans().iter().enumerate();
    let of_plan = |(number, plan): (usize, &ExecutionPlan)| {
        let found = declared.get(plan.name.as_deref().unwrap_or_default());
        found.map_or_else(MethodLines::default, |(line, node)| method(*line, node, &lines, subject, number, plan))
    };
    plans.map(of_plan).collect()
}

fn method(
    line: usize,
    node: &SourceNode<'_>,
    lines: &Lines,
    subject: &Subject<'_>,
    number: usize,
    plan: &ExecutionPlan,
) -> MethodLines {
    let mut values: HashMap<&str, usize> = HashMap::new();
    for (name, id, _) in entries(get(node, "values")) {
        values.insert(name, lines.of(id));
    }
    let mut nodes = Vec::new();
    let chains = items(get(node, "chains")).filter_map(|chain| get(chain, "instructions"));
    for instruction in get(node, "instructions").into_iter().chain(chains).flat_map(|list| items(Some(list))) {
        let line = lines.of(instruction.id);
        nodes.push(line);
        // Results may be declared where they are written.
        let outs = get(instruction, "out").into_iter().flat_map(|out| match &out.value {
            NodeValue::List(outs) => outs.iter().collect(),
            _ => vec![out],
        });
        for out in outs {
            if let NodeValue::Text(name) = &out.value {
                values.entry(name).or_insert(line);
            }
        }
    }
    nodes.resize(plan.instructions().count(), 0);
    let names = subject.values.get(number).map(|values| &values.names[..]).unwrap_or_default();
    let line_of = |name: &Option<String>| name.as_deref().and_then(|name| values.get(name).copied()).unwrap_or(0);
    let mut declared: HashMap<&str, DelegateLines> = HashMap::new();
    for (name, id, node) in entries(get(node, "delegates")) {
        let operations = get(node, "graph").and_then(|graph| get(graph, "nodes"));
        let nodes = items(operations).map(|node| lines.of(node.id)).collect();
        declared.insert(name, DelegateLines { line: lines.of(id), nodes });
    }
    let delegates = (0..plan.delegates().len()).map(|index| subject.delegate_name(number, index));
    MethodLines {
        line,
        values: names.iter().map(line_of).collect(),
        nodes,
        delegates: delegates.map(|name| declared.get(&*name).cloned().unwrap_or_default()).collect(),
    }
}

/// Returns the value of a key of a map.
fn get<'n, 'a>(node: &'n SourceNode<'a>, key: &str) -> Option<&'n SourceNode<'a>> {
    let NodeValue::Map(entries) = &node.value else { return None };
    entries.iter().find(|(found, _)| found.text == key).map(|(_, value)| value)
}

/// Returns the keys of a map with their ids and values.
fn entries<'n, 'a>(node: Option<&'n SourceNode<'a>>) -> impl Iterator<Item = (&'n str, NodeId, &'n SourceNode<'a>)> {
    let entries = node.map(|node| match &node.value {
        NodeValue::Map(entries) => &entries[..],
        _ => &[],
    });
    entries.into_iter().flatten().map(|(key, value)| (&*key.text, key.id, value))
}

/// Returns the items of a list.
fn items<'n, 'a>(node: Option<&'n SourceNode<'a>>) -> impl Iterator<Item = &'n SourceNode<'a>> {
    let items = node.map(|node| match &node.value {
        NodeValue::List(items) => &items[..],
        _ => &[],
    });
    items.into_iter().flatten()
}
