//! Changes of a text that keep its style: a string in the quotes that are there, an entry in the lines or braces of its
//! map. A change is tried before it is offered: what the text is afterwards says whether the change is right.

use super::analysis::{Analysis, SourceDocument};
use super::places;
use super::results::TextEdit;
use crate::facade::model::DiffOptions;
use crate::ir::yaml;
use pte_diff::DiffArea;
use pte_yaml::repeat;
use pte_yaml::tree::{self, NodeId, NodeValue, SourceNode};

/// Size of a text in bytes up to which changes are tried by assembling it.
const MAX_TRIAL: usize = 256 << 10;

impl Analysis {
    /// Returns the analysis of the text after changes.
    pub(super) fn after(&self, edits: &[TextEdit]) -> Option<Analysis> {
        let source = &self.documents.first()?.source;
        let mut edits: Vec<&TextEdit> = edits.iter().collect();
        edits.sort_by_key(|edit| edit.range.start);
        let mut text = self.text.to_string();
        for edit in edits.into_iter().rev() {
            text.get(edit.range.clone())?;
            text.replace_range(edit.range.clone(), &edit.text);
        }
        let after = Analysis::of_files(source.name.clone(), &text, &source.files, &self.options);
        (after.errors.len() <= self.errors.len() && after.documents.len() == self.documents.len()).then_some(after)
    }

    /// Does the same for a change whose result is assembled; `None` if that would take long.
    pub(super) fn tried(&self, edits: &[TextEdit]) -> Option<Analysis> {
        if self.text.len() > MAX_TRIAL { None } else { self.after(edits) }
    }

    /// Returns true if changes leave the computation of all documents as it is, and, if `places` is true, each byte of
    /// the programs.
    pub(super) fn is_same_program(&self, edits: &[TextEdit], places: bool) -> bool {
        let is_same = |before: &SourceDocument, after: &SourceDocument| {
            let models = [before, after].map(|document| document.facts().assembled.as_ref().map(|known| &known.model));
            let [Some(before), Some(after)] = models else { return false };
            let metadata = [before, after].map(|model| Some(model.assembly().ok()?.program_file()?.metadata()));
            let meaning = DiffOptions { only: Some(DiffArea::Meaning), ..DiffOptions::default() };
            metadata[0] == metadata[1] || !places && before.diff(after, &meaning).is_ok_and(|found| found.is_empty())
        };
        self.tried(edits)
            .is_some_and(|after| self.documents.iter().zip(&after.documents).all(|(old, new)| is_same(old, new)))
    }
}

/// Returns the text of a string in the style of the one that it replaces: in its quotes, or without. References to
/// counters of repetitions need no quotes.
pub(super) fn string(written: &str, new: &str) -> String {
    let is_plain = || yaml::operator(&repeat::pieces(new).0.join("x")).starts_with(|c| c != '"');
    let content = written.trim_end();
    match written.chars().next() {
        Some('"') => yaml::quoted(new),
        Some('\'') if yaml::quoted(new).len() == new.len() + 2 => format!("'{}'", new.replace('\'', "''")),
        // The lines of a block scalar, without its `|`.
        _ if content.len() < written.len() => new.to_owned() + &written[content.len()..],
        _ if is_plain() => new.to_owned(),
        _ => yaml::quoted(new),
    }
}

/// Returns a node in braces and brackets, on one line; in JSON, with quotes around strings and keys.
pub(super) fn flow(node: &SourceNode<'_>, source: &impl Fn(NodeId) -> String, is_json: bool) -> String {
    let text = |text: &str| if is_json { yaml::quoted(text) } else { yaml::operator(text).into_owned() };
    match &node.value {
        NodeValue::List(items) => {
            let items: Vec<String> = items.iter().map(|item| flow(item, source, is_json)).collect();
            format!("[{}]", items.join(", "))
        }
        NodeValue::Map(entries) => {
            let entry = |(key, node): &(tree::MapKey<'_>, SourceNode<'_>)| {
                format!("{}: {}", text(&key.text), flow(node, source, is_json))
            };
            let entries: Vec<String> = entries.iter().map(entry).collect();
            format!("{{{}}}", entries.join(", "))
        }
        NodeValue::Text(string) => text(string),
        NodeValue::Null => "null".to_owned(),
        NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::UInt(_) | NodeValue::Float(_) => source(node.id),
    }
}

/// Returns a value of YAML's flow style as it is, or as JSON.
pub(super) fn value(text: &str, is_json: bool) -> Option<String> {
    if !is_json {
        return Some(text.to_owned());
    }
    let (node, ranges) = tree::parse_with_ranges(text).ok()?;
    let source = |id: NodeId| ranges.get(id.0 as usize).map_or("", |range| &text[range.clone()]).to_owned();
    Some(flow(&node, &source, true))
}

/// Adds entries to a map, as its first or last ones: in its braces, or as lines. Each is a key, and a value in YAML's
/// flow style.
pub(super) fn add_entries(
    document: &SourceDocument,
    map: &SourceNode<'_>,
    new: &[(String, String)],
    is_last: bool,
) -> Option<TextEdit> {
    let NodeValue::Map(entries) = &map.value else { return None };
    let (text, range) = (document.syntax.text(), document.syntax.range(map.id));
    let written = &text[range.clone()];
    let is_json = is_json(document, map);
    let entry = |(key, text): &(String, String)| {
        let key = if is_json { yaml::quoted(key) } else { yaml::text(key).into_owned() };
        Some(format!("{key}: {}", value(text, is_json)?))
    };
    let new: Vec<String> = new.iter().map(entry).collect::<Option<_>>()?;
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
        return (written == "{}")
            .then(|| TextEdit { range: document.outer(range), text: format!("{{{}}}", new.join(", ")) });
    };
    let start = document.syntax.range(first.0.id).start;
    let end = document.syntax.range(last.1.id).end.max(document.syntax.range(last.0.id).end);
    let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let column = text[line..start].chars().count();
    let separator = if written.starts_with('{') { ", ".to_owned() } else { format!("\n{}", " ".repeat(column)) };
    let new = new.join(&separator);
    let (at, text) = if is_last { (end, separator + &new) } else { (start, new + &separator) };
    Some(TextEdit { range: document.outer(at..at), text })
}

/// Returns true for a map in braces whose keys are in quotes.
pub(super) fn is_json(document: &SourceDocument, map: &SourceNode<'_>) -> bool {
    let text = &document.syntax.text()[document.syntax.range(map.id)];
    text.strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with('"'))
}

/// Adds entries to the values of the method at an offset.
pub(super) fn add_values(document: &SourceDocument, at: usize, entries: &[(String, String)]) -> Option<TextEdit> {
    let trail = places::trail(&document.syntax, at);
    let method = trail.places.iter().find(|place| place.shape.is_some_and(|shape| shape.name == "method"))?;
    match places::entry(method.node, "values") {
        Some(values) => add_entries(document, values, entries, false),
        None => {
            let entries = entries.iter().map(|(name, value)| format!("{}: {value}", yaml::text(name)));
            let values = format!("{{{}}}", entries.collect::<Vec<_>>().join(", "));
            add_entries(document, method.node, &[("values".to_owned(), values)], false)
        }
    }
}
