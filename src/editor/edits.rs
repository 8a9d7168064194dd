//! Changes of a text that keep its style: a string in the quotes that are there, an entry in the lines or braces of its
//! map. A change is tried before it is offered: what the text is afterwards says whether the change is right.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::analysis::{Analysis, SourceDocument};
use super::insertion;
use super::offsets::{line_start, whole_lines};
use super::places::{self, Trail};
use super::results::TextEdit;
use crate::facade::model::{DiffOptions, Model};
use crate::ir::files::FileAccess;
use crate::ir::yaml::{self, FlowMap};
use crate::pipeline::AssembleOptions;
use pte_diff::DiffArea;
use pte_model::data::Blob;
use pte_yaml::repeat;
use pte_yaml::template;
use pte_yaml::tree::{self, NodeId, NodeValue, SourceNode};

/// Size of a text in bytes up to which changes are tried by assembling it.
pub(super) const MAX_TRIAL: usize = 256 << 10;

/// What a change leaves as it is.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kept {
    /// Each byte of the metadata of the programs.
    Bytes,
    /// What they compute.
    Meaning,
    /// The programs and the bytes of their data.
    Data,
    /// Each byte of the metadata without unused parts.
    Used,
}

impl Analysis {
    /// Returns the analysis of the text after changes; `None` if they overlap each other or a variable.
    pub(super) fn after(&self, edits: &[TextEdit]) -> Option<Analysis> {
        self.with_files(edits, &self.documents.first()?.source.files)
    }

    /// Does the same for a text that may refer to other files.
    fn with_files(&self, edits: &[TextEdit], files: &FileAccess) -> Option<Analysis> {
        let first = self.documents.first()?;
        let is_variable = |edit: &TextEdit| !edit.range.is_empty() && first.expansion.has_edit(&edit.range);
        if edits.iter().any(is_variable) {
            return None;
        }
        let edits = edits.iter().map(|edit| (edit.range.clone(), edit.text.clone())).collect();
        let text = template::replaced(&self.text, edits)?;
        let after = Analysis::of_files(first.source.name.clone(), &text, files, &self.options);
        (after.errors.len() <= self.errors.len() && after.documents.len() == self.documents.len()).then_some(after)
    }

    /// Does the same as [`Analysis::after`] for a change whose result is assembled; `None` if that would take long, or
    /// the result is malformed.
    pub(super) fn tried(&self, edits: &[TextEdit]) -> Option<Analysis> {
        self.tried_with(edits, &self.documents.first()?.source.files)
    }

    fn tried_with(&self, edits: &[TextEdit], files: &FileAccess) -> Option<Analysis> {
        let after = if self.text.len() > MAX_TRIAL { None } else { self.with_files(edits, files) }?;
        let mut pairs = self.documents.iter().zip(&after.documents);
        pairs.all(|(old, new)| old.syntax.error.is_some() || new.syntax.error.is_none()).then_some(after)
    }

    /// Returns true if changes leave the programs of all documents as they are.
    pub(super) fn is_same_program(&self, edits: &[TextEdit], kept: Kept) -> bool {
        self.tried(edits).is_some_and(|after| self.is_same(&after, kept))
    }

    /// Returns true if changes leave all of the programs as it is, with a new file.
    pub(super) fn is_same_with(&self, edits: &[TextEdit], path: &Path, content: &[u8]) -> bool {
        let Some(first) = self.documents.first() else { return false };
        let planned = Arc::new(BTreeMap::from([(path.to_owned(), Blob::bytes(content.to_vec()))]));
        let files = FileAccess { planned, ..first.source.files.clone() };
        self.tried_with(edits, &files).is_some_and(|after| self.is_same(&after, Kept::Data))
    }

    /// Returns true if all documents are valid, and their programs are as those after changes.
    pub(super) fn is_same(&self, after: &Analysis, kept: Kept) -> bool {
        let is_same = |before: &SourceDocument, after: &SourceDocument| {
            let models = [before, after].map(|document| document.facts().assembled.as_ref().map(|known| &known.model));
            let [Some(before), Some(after)] = models else { return false };
            let metadata = |model: &Model| Some(model.assembly().ok()?.program_file()?.metadata().to_vec());
            let pruned = |model: &Model| {
                let options = AssembleOptions { prune: true, ..AssembleOptions::default() };
                Some(model.assemble(&options).ok()?.program_file()?.metadata().to_vec())
            };
            let has_no_difference = |only| {
                let options = DiffOptions { only, ..DiffOptions::default() };
                before.diff(after, &options).is_ok_and(|found| found.is_empty())
            };
            match kept {
                Kept::Bytes => metadata(before) == metadata(after),
                Kept::Meaning => metadata(before) == metadata(after) || has_no_difference(Some(DiffArea::Meaning)),
                Kept::Data => has_no_difference(None),
                Kept::Used => pruned(before).is_some_and(|before| pruned(after) == Some(before)),
            }
        };
        self.documents.iter().zip(&after.documents).all(|(old, new)| is_same(old, new))
    }
}

/// Returns the changes that remove entries of maps, by the offsets of their keys; `None` if other text is on a line.
pub(super) fn removed_entries(document: &SourceDocument, keys: &[usize]) -> Option<Vec<TextEdit>> {
    let (text, range) = (document.syntax.text(), |id: NodeId| document.syntax.range(id));
    let removed: HashSet<usize> = keys.iter().copied().collect();
    let mut maps = BTreeMap::new();
    for key in keys {
        let Trail { places, .. } = places::trail(&document.syntax, *key);
        let [.., map, _] = &places[..] else { return None };
        maps.insert(map.node.id, map.node);
    }
    let mut edits = Vec::new();
    for map in maps.values() {
        let NodeValue::Map(entries) = &map.value else { return None };
        let is_flow = insertion::is_flow(&document.syntax, map);
        let of_entry = |(key, node): &(tree::MapKey<'_>, SourceNode<'_>)| {
            range(key.id).start..range(key.id).end.max(range(node.id).end)
        };
        let ranges: Vec<Range<usize>> = entries.iter().map(of_entry).collect();
        // The entries after this one are removed, too.
        let kept = ranges.iter().rposition(|entry| !removed.contains(&entry.start)).map_or(0, |last| last + 1);
        for (index, entry) in ranges.iter().enumerate().filter(|(_, entry)| removed.contains(&entry.start)) {
            edits.push(match (is_flow, index.checked_sub(1)) {
                // With the comma behind it; of the last ones, with that before.
                (true, _) if index < kept => entry.start..ranges.get(index + 1)?.start,
                (true, Some(before)) => ranges[before].end..entry.end,
                (true, None) => entry.clone(),
                (false, _) => {
                    let lines = whole_lines(text, entry);
                    let comment = text[entry.end..lines.end].trim();
                    let is_alone = text[lines.start..entry.start].trim().is_empty();
                    (is_alone && (comment.is_empty() || comment.starts_with('#'))).then_some(lines)?
                }
            });
        }
    }
    let edit = |range| TextEdit { range: document.outer(range), text: String::new() };
    let mut edits: Vec<TextEdit> = edits.into_iter().map(edit).collect();
    edits.sort_by_key(|edit| edit.range.start);
    edits.dedup();
    Some(edits)
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
pub(super) fn flow(node: &SourceNode<'_>, source: &dyn Fn(NodeId) -> String, is_json: bool) -> String {
    let mut out = String::new();
    write_flow(node, source, is_json, &mut out);
    out
}

fn write_flow(node: &SourceNode<'_>, source: &dyn Fn(NodeId) -> String, is_json: bool, out: &mut String) {
    let text = |text: &str| if is_json { yaml::quoted(text) } else { yaml::operator(text).into_owned() };
    match &node.value {
        NodeValue::List(items) => yaml::list(out, items, |item, out| write_flow(item, source, is_json, out)),
        NodeValue::Map(entries) => {
            let mut map = FlowMap::new(out);
            entries.iter().for_each(|(key, node)| write_flow(node, source, is_json, map.key(&text(&key.text))));
            map.end();
        }
        NodeValue::Text(string) => out.push_str(&text(string)),
        NodeValue::Null => out.push_str("null"),
        NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::UInt(_) | NodeValue::Float(_) => {
            out.push_str(&source(node.id));
        }
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
    let is_json = insertion::is_json(&document.syntax, map);
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
    let line = line_start(text, start);
    let column = text[line..start].chars().count();
    let is_flow = insertion::is_flow(&document.syntax, map);
    let newline = if text[..line].ends_with("\r\n") { "\r\n" } else { "\n" };
    let separator = if is_flow { ", ".to_owned() } else { format!("{newline}{}", " ".repeat(column)) };
    let new = new.join(&separator);
    // A comment stays on its line.
    let rest = &text[end..];
    let line_end = rest.find(['\r', '\n']).unwrap_or(rest.len());
    let is_comment = !is_flow && rest[..line_end].trim_start().starts_with('#');
    let end = if is_comment { end + line_end } else { end };
    let (at, text) = if is_last { (end, separator + &new) } else { (start, new + &separator) };
    Some(TextEdit { range: document.outer(at..at), text })
}

/// Adds entries to the values of the method at an offset.
pub(super) fn add_values(document: &SourceDocument, at: usize, entries: &[(String, String)]) -> Option<TextEdit> {
    let trail = places::trail(&document.syntax, at);
    let method = trail.places.iter().find(|place| place.shape.is_some_and(|shape| shape.name == "method"))?;
    match places::entry(method.node, "values") {
        Some(values) => add_entries(document, values, entries, true),
        None => {
            let entries = entries.iter().map(|(name, value)| format!("{}: {value}", yaml::text(name)));
            let values = format!("{{{}}}", entries.collect::<Vec<_>>().join(", "));
            add_entries(document, method.node, &[("values".to_owned(), values)], false)
        }
    }
}
