//! Parts of a text: outline, ranges to fold and to select, files, and the methods with the questions about them.

use std::ops::Range;
use std::path::PathBuf;

use super::analysis::{Analysis, SourceDocument};
use super::facts::Assembled;
use super::hover::kind_name;
use super::places::{self, Place, SourceCall, Trail};
use super::results::{FileLink, LensKind, MethodLens, OutlineItem, OutlineKind};
use super::symbols::NameKind;
use pte_model::diagnostics::counted;
use pte_yaml::repeat;
use pte_yaml::tree::{MapKey, NodeValue, SourceNode};

/// Maps whose entries are in the outline, by shape and key, with the kind of their names.
const NAMED: &[(&str, &str, NameKind)] = &[
    ("document", "methods", NameKind::Method),
    ("document", "data", NameKind::Data),
    ("document", "files", NameKind::File),
    ("document", "named_data", NameKind::NamedData),
    ("method", "values", NameKind::Value),
    ("method", "delegates", NameKind::Delegate),
    ("graph", "values", NameKind::GraphValue),
];

/// Instructions of a list that the outline shows: an editor asks for it when it opens a text.
const MAX_INSTRUCTIONS: usize = 20_000;

/// Shapes whose keys are parts of the outline.
const SECTIONS: &[&str] = &["document", "method", "delegate", "graph", "chain"];

impl Analysis {
    /// Returns the outline: sections, methods, values, delegates, instructions.
    pub fn symbols(&self) -> Vec<OutlineItem> {
        self.outline(SourceDocument::assembled)
    }

    /// Does the same without assembling the text: details are as it declares them.
    pub fn names(&self) -> Vec<OutlineItem> {
        self.outline(|_| None)
    }

    fn outline(&self, known: fn(&SourceDocument) -> Option<&Assembled>) -> Vec<OutlineItem> {
        let mut items = Vec::new();
        for document in &self.documents {
            let root = places::trail(&document.syntax, 0).places;
            let outline = Outline { document, known: known(document) };
            items.extend(root.first().map(|root| outline.children(&[*root])).unwrap_or_default());
        }
        items
    }
}

/// Outline of a document.
struct Outline<'d> {
    document: &'d SourceDocument,
    known: Option<&'d Assembled>,
}

impl Outline<'_> {
    /// Recurses to the depth of the outline.
    fn children(&self, trail: &[Place<'_>]) -> Vec<OutlineItem> {
        let document = self.document;
        let Some(place) = trail.last() else { return Vec::new() };
        let kind = places::holder(trail).and_then(|(shape, spec)| {
            NAMED.iter().find(|(of, key, _)| *of == shape.name && *key == spec.name).map(|(.., kind)| *kind)
        });
        let is_section = place.shape.is_some_and(|shape| SECTIONS.contains(&shape.name));
        match &place.node.value {
            NodeValue::Map(entries) if kind.is_some() || is_section => {
                let item = |(key, node): &(MapKey<'_>, SourceNode<'_>)| {
                    let mut below = [trail, &[place.child(0, (Some(key), node))]].concat();
                    if let Some((counter, body)) = repeat::parts(node) {
                        let body = node.children().find(|(_, child)| child.id == body.id);
                        below.extend(body.and_then(|body| Some(below.last()?.child(0, body))));
                        return repetition(document, node, counter, self.children(&below));
                    }
                    let of_value = || self.value_detail(key, node);
                    let detail = if kind == Some(NameKind::Value) { of_value() } else { String::new() };
                    let selection = document.node_range(key.id);
                    let end = document.node_range(node.id).end.max(selection.end);
                    OutlineItem {
                        name: key.text.to_string(),
                        detail: kind
                            .filter(|kind| *kind != NameKind::Value)
                            .map_or(detail, |kind| kind_name(kind).to_owned()),
                        kind: kind.map_or(OutlineKind::Section, OutlineKind::Name),
                        range: selection.start..end,
                        selection,
                        children: self.children(&below),
                    }
                };
                entries.iter().map(item).collect()
            }
            NodeValue::List(items) if is_instructions(place) => instructions(document, items),
            NodeValue::List(items) if place.is_value_of("method", "chains") => {
                let chain = |(index, node): (usize, &SourceNode<'_>)| {
                    let range = document.node_range(node.id);
                    let list = places::entry(node, "instructions").map(|list| &list.value);
                    let children = match list {
                        Some(NodeValue::List(items)) => instructions(document, items),
                        _ => Vec::new(),
                    };
                    OutlineItem {
                        name: format!("chain {index}"),
                        detail: String::new(),
                        kind: OutlineKind::Section,
                        selection: range.start..range.start,
                        range,
                        children,
                    }
                };
                items.iter().enumerate().map(chain).collect()
            }
            NodeValue::Map(_)
            | NodeValue::List(_)
            | NodeValue::Null
            | NodeValue::Bool(_)
            | NodeValue::Int(_)
            | NodeValue::UInt(_)
            | NodeValue::Float(_)
            | NodeValue::Text(_) => Vec::new(),
        }
    }

    /// Describes a value of a method: its declared type.
    fn value_detail(&self, key: &MapKey<'_>, node: &SourceNode<'_>) -> String {
        let document = self.document;
        let described = self.known.and_then(|known| {
            let at = document.syntax.range(key.id).start;
            let symbol = &document.symbols().symbols[document.symbols().at(at)?.symbol];
            known.describe(symbol.method.wrapping_sub(1), &symbol.name)
        });
        let dtype = places::entry(node, "tensor").map(|dtype| document.syntax.range(dtype.id));
        let dtype = || dtype.and_then(|range| document.syntax.text().get(range)).unwrap_or_default().to_owned();
        described.unwrap_or_else(dtype)
    }
}

impl Analysis {
    /// Returns the ranges of lists and maps with several lines, and of comments, as offsets.
    pub fn folding(&self) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for document in &self.documents {
            let text = document.syntax.text();
            places::walk(&document.syntax, &mut |trail| {
                let Some(place) = trail.last() else { return false };
                let start = place.key.map_or(place.node.id, |key| key.id);
                let range = document.syntax.range(start).start..document.syntax.range(place.node.id).end;
                let is_long = text.get(range.clone()).is_some_and(|text| text.contains('\n'));
                if is_long && trail.len() > 1 {
                    found.push(document.outer(range));
                }
                is_long
            });
        }
        found.sort_by_key(|range| (range.start, range.end));
        found.dedup();
        found
    }

    /// Returns the ranges around an offset, each in the next one.
    pub fn selection(&self, at: usize) -> Vec<Range<usize>> {
        let Some((document, at)) = self.at(at) else { return Vec::new() };
        let Trail { places, is_key } = places::trail(&document.syntax, at);
        let mut found = Vec::new();
        for (index, place) in places.iter().enumerate().rev() {
            let node = document.node_range(place.node.id);
            let key = place.key.map(|key| document.node_range(key.id));
            let is_last = index + 1 == places.len();
            match key {
                Some(key) if is_last && is_key => found.extend([key.clone(), key.start..node.end.max(key.end)]),
                Some(key) => found.extend([node.clone(), key.start..node.end.max(key.end)]),
                None => found.push(node),
            }
        }
        found.dedup();
        // Each range has to contain the one before.
        let mut widest: Option<Range<usize>> = None;
        for range in &mut found {
            if let Some(before) = &widest {
                *range = range.start.min(before.start)..range.end.max(before.end);
            }
            widest = Some(range.clone());
        }
        found.dedup();
        found
    }

    /// Returns the files that the text refers to.
    pub fn links(&self) -> Vec<FileLink> {
        const KEYS: &[&str] = &["file", "npy", "safetensors", "ptd", "pte"];
        let mut found = Vec::new();
        for document in &self.documents {
            places::walk(&document.syntax, &mut |trail| {
                let Some(place) = trail.last() else { return false };
                let is_file = place.holder.is_some_and(|(shape, spec)| {
                    matches!(shape.name, "data_map" | "checkpoint") && KEYS.contains(&spec.name)
                }) || trail.len() == 3 && trail[1].is_value_of("document", "files");
                if let (true, NodeValue::Text(name)) = (is_file, &place.node.value) {
                    let path = file_path(document, name);
                    found.push(FileLink { range: document.node_range(place.node.id), path });
                }
                !place.is_named("numbers") || !matches!(place.node.value, NodeValue::List(_))
            });
        }
        found
    }

    /// Returns the questions about each method: run it, run its tests, its memory, a report.
    pub fn lenses(&self) -> Vec<MethodLens> {
        let mut found = Vec::new();
        for document in &self.documents {
            let Some(NodeValue::Map(methods)) =
                places::entry(document.syntax.root(), "methods").map(|node| &node.value)
            else {
                continue;
            };
            for (key, node) in methods {
                let part = document.node_range(node.id);
                let (tests, part_of_tests) = match places::entry(node, "tests") {
                    Some(SourceNode { id, value: NodeValue::List(tests) }) => (tests.len(), document.node_range(*id)),
                    _ => (0, part.clone()),
                };
                let run = [(LensKind::Run, "run".to_owned())];
                // The command writes into the tests that a pattern selects: of other methods, too, or only one.
                let is_pattern = key.text.contains(['*', '/']);
                let test = [
                    (LensKind::Test, format!("run {}", counted(tests as u64, "test"))),
                    (LensKind::Bless, "write outputs into tests".to_owned()),
                ];
                let rest = [(LensKind::Memory, "memory".to_owned()), (LensKind::Report, "report".to_owned())];
                let is_single = self.documents.len() == 1 && !is_pattern;
                let test = test.into_iter().filter(|(kind, _)| tests > 0 && (is_single || *kind != LensKind::Bless));
                let all = run.into_iter().chain(test).chain(rest);
                let range = document.node_range(key.id);
                let method = key.text.to_string();
                found.extend(all.map(|(kind, title)| MethodLens {
                    range: range.clone(),
                    part: match kind {
                        LensKind::Test | LensKind::Bless => part_of_tests.clone(),
                        LensKind::Run | LensKind::Memory | LensKind::Report => part.clone(),
                    },
                    method: method.clone(),
                    kind,
                    title,
                }));
            }
        }
        found
    }
}

/// Returns the path of a file: of a name under `files`, or relative to the folder of the text.
pub(super) fn file_path(document: &SourceDocument, name: &str) -> PathBuf {
    let files = places::entry(document.syntax.root(), "files");
    let path = match files.and_then(|files| places::entry(files, name)).map(|node| &node.value) {
        Some(NodeValue::Text(path)) => path,
        _ => name,
    };
    document.source.files.folder.join(path)
}

fn is_instructions(place: &Place<'_>) -> bool {
    place.is_value_of("method", "instructions") || place.is_value_of("chain", "instructions")
}

fn instructions(document: &SourceDocument, items: &[SourceNode<'_>]) -> Vec<OutlineItem> {
    let item = |node: &SourceNode<'_>| match repeat::parts(node) {
        Some((counter, body)) => {
            let items = if let NodeValue::List(items) = &body.value { &items[..] } else { &[] };
            repetition(document, node, counter, instructions(document, items))
        }
        None => instruction(document, node),
    };
    let mut found: Vec<OutlineItem> = items.iter().take(MAX_INSTRUCTIONS).map(item).collect();
    if let Some(next) = items.get(MAX_INSTRUCTIONS) {
        let more = (items.len() - MAX_INSTRUCTIONS) as u64;
        let (name, range) = (format!("{} more", counted(more, "instruction")), document.node_range(next.id));
        let (selection, kind) = (range.start..range.start, OutlineKind::Section);
        found.push(OutlineItem { name, detail: String::new(), kind, range, selection, children: Vec::new() });
    }
    found
}

/// Returns the item of a repetition, with what is repeated.
fn repetition(
    document: &SourceDocument,
    node: &SourceNode<'_>,
    counter: &SourceNode<'_>,
    children: Vec<OutlineItem>,
) -> OutlineItem {
    let range = document.node_range(node.id);
    let detail = document.syntax.text().get(document.syntax.range(counter.id)).unwrap_or_default();
    OutlineItem {
        name: repeat::REPEAT.to_owned(),
        detail: detail.lines().next().unwrap_or_default().to_owned(),
        kind: OutlineKind::Section,
        selection: range.start..range.start,
        range,
        children,
    }
}

fn instruction(document: &SourceDocument, node: &SourceNode<'_>) -> OutlineItem {
    let source = |name: &str| {
        let range = places::entry(node, name).map(|node| document.syntax.range(node.id))?;
        document.syntax.text().get(range).map(|text| text.lines().next().unwrap_or_default().to_owned())
    };
    let range = document.node_range(node.id);
    let call = SourceCall::of(node).map(|call| document.node_range(call.operator.id));
    let other = || match &node.value {
        NodeValue::Map(entries) => entries.first().map(|(key, _)| key.text.to_string()),
        _ => None,
    };
    OutlineItem {
        name: source("kernel").or_else(|| source("delegate")).or_else(other).unwrap_or_else(|| "-".to_owned()),
        detail: source("out").unwrap_or_default(),
        kind: OutlineKind::Instruction,
        selection: call.unwrap_or(range.start..range.start),
        range,
        children: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use crate::editor::fixtures::{analysis, marked};
    use crate::editor::results::OutlineItem;

    fn lines(items: &[OutlineItem], indent: usize) -> String {
        let line = |item: &OutlineItem| {
            let below = lines(&item.children, indent + 2);
            format!("{:indent$}{} {}\n{below}", "", item.name, item.detail)
        };
        items.iter().map(line).collect()
    }

    const TEXT: &str = "methods:\n  f:\n    values:\n      a: {tensor: float32, sizes: [2]}\n    inputs: [a]\n    outputs: [b]\n    instructions:\n      - {kernel: aten::relu.out, args: [a], out: b}\n    tests:\n      - {inputs: [1]}\n";

    #[test]
    fn the_outline_has_methods_values_and_instructions() {
        let expected = "methods \n  f method\n    values \n      a float32 [2]\n    inputs \n    outputs \n    instructions \n      aten::relu.out b\n    tests \n";
        assert_eq!(lines(&analysis(TEXT).symbols(), 0), expected);
    }

    #[test]
    fn a_repetition_contains_what_is_repeated() {
        let text = "methods:\n  f:\n    values:\n      all: {repeat: {i: 2}, do: {x$(i): {tensor: float32, sizes: [2]}}}\n    inputs: [x0, x1]\n    outputs: [y1]\n    instructions:\n      - {repeat: {i: 2}, do: [{kernel: aten::relu.out, args: [x$(i)], out: y$(i)}]}\n";
        let expected = "methods \n  f method\n    values \n      repeat {i: 2}\n        x$(i) float32 [2]\n    inputs \n    outputs \n    instructions \n      repeat {i: 2}\n        aten::relu.out y$(i)\n";
        assert_eq!(lines(&analysis(text).symbols(), 0), expected);
    }

    #[test]
    fn selections_grow_and_long_parts_fold() {
        let (text, at) = marked(&TEXT.replace("args: [a]", "args: [|a]"));
        let found = analysis(&text);
        let selected: Vec<&str> = found.selection(at).into_iter().map(|range| &text[range]).take(4).collect();
        assert_eq!(selected[..3], ["a", "[a]", "args: [a]"]);
        let first: Vec<&str> = found.folding().into_iter().map(|range| text[range].lines().next().unwrap()).collect();
        assert_eq!(first, ["methods:", "f:", "values:", "instructions:", "tests:"]);
        let lenses: Vec<String> = found.lenses().into_iter().map(|lens| lens.title).collect();
        assert_eq!(lenses, ["run", "run 1 test", "write outputs into tests", "memory", "report"]);
    }

    #[test]
    fn files_are_links() {
        let text = "files: {w: data/w.bin}\nnamed_data:\n  a: {file: w}\n  b: {npy: x.npy}\n";
        let found: Vec<String> =
            analysis(text).links().into_iter().map(|link| link.path.display().to_string()).collect();
        assert_eq!(found, ["examples/data/w.bin", "examples/data/w.bin", "examples/x.npy"]);
    }
}
