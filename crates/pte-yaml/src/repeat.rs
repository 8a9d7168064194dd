//! Repetition in a tree: `{repeat: {i: 12}, do: [...]}` in a list becomes the items of `do` twelve times, and as the
//! value of a key, whose name has no meaning, the entries of a map. `$(i)`, `$(i+1)` in its strings and keys are
//! replaced.
//!
//! A counter is no `${NAME}`, which is replaced before there is a tree: with a counter, the source is YAML as it is.
//! Copies have ids of their own, after those of the source, and the byte ranges of what they are copies of.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use super::template;
use super::tree::{self, MapKey, NodeId, NodeValue, SourceNode, SyntaxError};
use pte_model::diagnostics::{Code, clipped};

/// Key of the counter.
pub const REPEAT: &str = "repeat";
/// Key of what is repeated.
pub const DO: &str = "do";

/// Greatest size in bytes of the strings of all copies, with [`NODE`] for each node and each turn.
const MAX_COPIED: usize = 32 << 20;
const NODE: usize = 64;

/// The copies in a tree.
#[derive(Debug, Default)]
pub struct Copies {
    /// Strings that are numbers after their counters were replaced, for positions where a string is expected.
    pub strings: HashMap<NodeId, String>,
    /// Number of nodes of the source.
    first: u32,
    /// Ids of the originals, in the order of the copies.
    originals: Vec<NodeId>,
    /// Values of the counters, each with the first copy that they are for.
    turns: Vec<(usize, Turn)>,
}

/// Values of the counters of some copies.
#[derive(Debug, Default)]
struct Turn {
    counters: Vec<(String, String)>,
    /// For messages: `i = 7`.
    text: String,
}

/// Byte ranges of the nodes of an expanded tree.
#[derive(Debug, Default)]
pub struct Spans {
    spans: Vec<Range<usize>>,
    copies: Copies,
}

impl Spans {
    /// Reads the ranges of a source.
    pub fn new(text: &str) -> Spans {
        let copies = tree::parse(text).ok().and_then(|mut root| expand(&mut root, text).ok());
        Spans { spans: tree::spans(text), copies: copies.unwrap_or_default() }
    }

    /// Combines the ranges of a source by id, those of [`tree::spans`], and the copies in its tree.
    pub fn of(spans: Vec<Range<usize>>, copies: Copies) -> Spans {
        Spans { spans, copies }
    }

    /// Returns the copies.
    pub fn copies(&self) -> &Copies {
        &self.copies
    }

    /// Returns the range of a node; of a copy, that of its original.
    pub fn get(&self, id: NodeId) -> Option<Range<usize>> {
        self.spans.get(self.copies.original(id).0 as usize).cloned()
    }

    /// Returns the outermost node of the source that begins at an offset.
    pub fn first_at(&self, start: usize) -> Option<NodeId> {
        let found = self.spans.partition_point(|span| span.start < start);
        self.spans.get(found).filter(|span| span.start == start)?;
        u32::try_from(found).ok().map(NodeId)
    }

    /// Returns the counters of a copy: `i = 7`.
    pub fn turn(&self, id: NodeId) -> Option<&str> {
        self.copies.turn(id)
    }
}

impl Copies {
    /// Returns true for a tree without repetitions.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Returns the index of a copy.
    fn index(&self, id: NodeId) -> Option<usize> {
        (!self.originals.is_empty()).then(|| id.0.checked_sub(self.first)).flatten().map(|index| index as usize)
    }

    /// Returns the node of the source that a node is a copy of; itself, if it is none.
    pub fn original(&self, id: NodeId) -> NodeId {
        self.index(id).and_then(|index| self.originals.get(index)).copied().unwrap_or(id)
    }

    fn turn_of(&self, id: NodeId) -> Option<&Turn> {
        let index = self.index(id)?;
        let after = self.turns.partition_point(|(first, _)| *first <= index);
        Some(&self.turns.get(after.checked_sub(1)?)?.1).filter(|turn| !turn.counters.is_empty())
    }

    /// Returns the counters of a copy: `i = 7`.
    pub fn turn(&self, id: NodeId) -> Option<&str> {
        self.turn_of(id).map(|turn| &*turn.text)
    }

    /// Returns a string with the counters of a copy replaced: what the node would be with this string.
    pub fn replaced(&self, id: NodeId, text: &str) -> Option<String> {
        let counters = self.turn_of(id)?.counters.clone();
        let mut copier = Copier { copies: Copies::default(), counters, left: MAX_COPIED };
        copier.replaced(id, text).ok().flatten()
    }
}

/// Splits a string into its references to counters, and the parts around them, one more.
///
/// ```
/// assert_eq!(pte_yaml::repeat::pieces("w$(i+1)_$(j)"), (vec!["w", "_", ""], vec!["$(i+1)", "$(j)"]));
/// ```
pub fn pieces(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut around, mut references, mut start, mut from) = (Vec::new(), Vec::new(), 0, 0);
    while let Some(at) = text[from..].find("$(").map(|at| from + at) {
        let end = text[at..].find(')').map(|end| at + end);
        match end.filter(|end| reference(&text[at + 2..*end]).is_some()) {
            Some(end) => {
                around.push(&text[start..at]);
                references.push(&text[at..=end]);
                (start, from) = (end + 1, end + 1);
            }
            None => from = at + 2,
        }
    }
    around.push(&text[start..]);
    (around, references)
}

/// Replaces each repetition of a tree by its copies. `text` is the source of the tree.
///
/// ```
/// use pte_yaml::{repeat, tree};
///
/// let text = "[{repeat: {i: 2}, do: [a$(i), $(i+1)]}]";
/// let mut root = tree::parse(text).unwrap();
/// repeat::expand(&mut root, text).unwrap();
/// assert!(matches!(root.value, tree::NodeValue::List(items) if items.len() == 4));
/// ```
///
/// # Errors
/// A malformed repetition, an unknown counter, or more copies than the limit.
pub fn expand<'a>(root: &mut SourceNode<'a>, text: &str) -> Result<Copies, SyntaxError> {
    if !text.contains(REPEAT) {
        return Ok(Copies::default());
    }
    let first = u32::try_from(root.measure().0).unwrap_or(u32::MAX);
    let copies = Copies { first, ..Copies::default() };
    let mut copier = Copier { copies, counters: Vec::new(), left: MAX_COPIED };
    let expanded = copier.copy(root);
    *root = expanded.map_err(|Refused { at, code, message }| {
        let span = tree::spans(text).get(at.0 as usize).cloned().unwrap_or_default();
        let Turn { text: turn, .. } = copier.turn();
        SyntaxError { code, span, message: if turn.is_empty() { message } else { format!("{message} ({turn})") } }
    })?;
    Ok(copier.copies)
}

/// Returns the counter of a repetition and what is repeated, if the node is one.
pub fn parts<'n, 'a>(node: &'n SourceNode<'a>) -> Option<(&'n SourceNode<'a>, &'n SourceNode<'a>)> {
    let NodeValue::Map(entries) = &node.value else { return None };
    match &entries[..] {
        [(first, counter), (second, body)] if first.text == REPEAT && second.text == DO => Some((counter, body)),
        [(first, body), (second, counter)] if first.text == DO && second.text == REPEAT => Some((counter, body)),
        _ => None,
    }
}

/// An error at a node of the source.
struct Refused {
    at: NodeId,
    code: Code,
    message: String,
}

fn refused<T>(at: NodeId, code: Code, message: impl Into<String>) -> Result<T, Refused> {
    Err(Refused { at, code, message: message.into() })
}

struct Copier {
    copies: Copies,
    /// Counters of the repetitions around, each with its value.
    counters: Vec<(String, String)>,
    /// Bytes left of [`MAX_COPIED`].
    left: usize,
}

impl Copier {
    /// Copies a node, with an id of its own in a repetition.
    fn copy<'a>(&mut self, node: &SourceNode<'a>) -> Result<SourceNode<'a>, Refused> {
        let id = self.id(node.id)?;
        let value = match &node.value {
            NodeValue::List(items) => {
                let mut out = Vec::with_capacity(items.len());
                self.items(items, &mut out)?;
                NodeValue::List(out)
            }
            NodeValue::Map(entries) => {
                let mut out = Vec::with_capacity(entries.len());
                self.entries(entries, &mut out)?;
                NodeValue::Map(out)
            }
            NodeValue::Text(text) => match self.replaced(node.id, text)? {
                Some(string) => match template::number(&string) {
                    Some(number) => {
                        self.copies.strings.insert(id, string);
                        number
                    }
                    None => NodeValue::Text(string.into()),
                },
                None => NodeValue::Text(self.string(node.id, text)?),
            },
            other @ (NodeValue::Null
            | NodeValue::Bool(_)
            | NodeValue::Int(_)
            | NodeValue::UInt(_)
            | NodeValue::Float(_)) => other.clone(),
        };
        Ok(SourceNode { id, value })
    }

    fn items<'a>(&mut self, items: &[SourceNode<'a>], out: &mut Vec<SourceNode<'a>>) -> Result<(), Refused> {
        for item in items {
            let Some((counter, body)) = parts(item) else {
                out.push(self.copy(item)?);
                continue;
            };
            let NodeValue::List(repeated) = &body.value else {
                return refused(body.id, Code::WrongKind, format!("expected a list, found {}", body.value.describe()));
            };
            self.each(counter, &mut |copier| copier.items(repeated, out))?;
        }
        Ok(())
    }

    fn entries<'a>(
        &mut self,
        entries: &[(MapKey<'a>, SourceNode<'a>)],
        out: &mut Vec<(MapKey<'a>, SourceNode<'a>)>,
    ) -> Result<(), Refused> {
        for (key, value) in entries {
            let Some((counter, body)) = parts(value) else {
                let id = self.id(key.id)?;
                let text = match self.replaced(key.id, &key.text)? {
                    Some(string) => string.into(),
                    None => self.string(key.id, &key.text)?,
                };
                out.push((MapKey { id, text }, self.copy(value)?));
                continue;
            };
            let NodeValue::Map(repeated) = &body.value else {
                return refused(body.id, Code::WrongKind, format!("expected a map, found {}", body.value.describe()));
            };
            self.each(counter, &mut |copier| copier.entries(repeated, out))?;
        }
        Ok(())
    }

    /// Calls `turn` for each value of a counter.
    fn each(
        &mut self,
        node: &SourceNode<'_>,
        turn: &mut dyn FnMut(&mut Copier) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        const EXPECTED: &str =
            "expected a counter: {i: 12}, which counts from 0, or {i: [a, b]}, of strings and integers";
        let malformed = |at| refused(at, Code::WrongKind, EXPECTED);
        let NodeValue::Map(entries) = &node.value else { return malformed(node.id) };
        let [(name, values)] = &entries[..] else { return malformed(node.id) };
        if !template::is_name(&name.text) {
            return malformed(name.id);
        }
        let mut run = |copier: &mut Copier, value: String| {
            copier.spend(values.id, NODE + name.text.len() + value.len())?;
            copier.counters.push((name.text.to_string(), value));
            copier.mark(values.id)?;
            turn(copier)?;
            copier.counters.pop();
            copier.mark(values.id)
        };
        let count = match &values.value {
            NodeValue::List(items) => {
                return items.iter().try_for_each(|item| match &item.value {
                    NodeValue::Text(text) => run(self, text.to_string()),
                    NodeValue::Int(number) => run(self, number.to_string()),
                    _ => malformed(item.id),
                });
            }
            NodeValue::Int(count) => u64::try_from(*count).ok(),
            // A variable in quotes.
            NodeValue::Text(text) => text.parse().ok(),
            _ => None,
        };
        let Some(count) = count else { return malformed(values.id) };
        (0..count).try_for_each(|value| run(self, value.to_string()))
    }

    /// Returns the id of a copy.
    fn id(&mut self, original: NodeId) -> Result<NodeId, Refused> {
        if self.counters.is_empty() {
            return Ok(original);
        }
        self.spend(original, NODE)?;
        let index = u32::try_from(self.copies.originals.len()).unwrap_or(u32::MAX);
        self.copies.originals.push(original);
        Ok(NodeId(self.copies.first.saturating_add(index)))
    }

    fn string<'a>(&mut self, at: NodeId, text: &Cow<'a, str>) -> Result<Cow<'a, str>, Refused> {
        if let (Cow::Owned(_), false) = (text, self.counters.is_empty()) {
            self.spend(at, text.len())?;
        }
        Ok(text.clone())
    }

    fn spend(&mut self, at: NodeId, bytes: usize) -> Result<(), Refused> {
        match self.left.checked_sub(bytes) {
            Some(left) => self.left = left,
            None => {
                return refused(
                    at,
                    Code::LimitExceeded,
                    "the repetitions exceed 32 MiB, with 64 bytes for each node and each counter",
                );
            }
        }
        Ok(())
    }

    /// Notes the counters of the next copies of a repetition.
    fn mark(&mut self, at: NodeId) -> Result<(), Refused> {
        // They are kept twice, the second time as text.
        let bytes = self.counters.iter().map(|(name, value)| 64 + 2 * (name.len() + value.len())).sum();
        self.spend(at, bytes)?;
        let (next, turn) = (self.copies.originals.len(), self.turn());
        match self.copies.turns.last_mut().filter(|(first, _)| *first == next) {
            Some(last) => last.1 = turn,
            None => self.copies.turns.push((next, turn)),
        }
        Ok(())
    }

    fn turn(&self) -> Turn {
        let values = self.counters.iter().map(|(name, value)| format!("{} = {}", clipped(name), clipped(value)));
        Turn { counters: self.counters.clone(), text: values.collect::<Vec<_>>().join(", ") }
    }

    /// Replaces the counters of a string; `None` if it has none.
    fn replaced(&mut self, at: NodeId, text: &str) -> Result<Option<String>, Refused> {
        let (mut out, mut rest, mut found) = (String::new(), text, false);
        while let Some(start) = rest.find("$(").filter(|_| !self.counters.is_empty()) {
            let (before, after) = rest.split_at(start);
            let inside = after.find(')').map(|end| &after[2..end]);
            let Some((name, offset)) = inside.and_then(reference) else {
                // Other strings with a dollar stay as they are.
                self.spend(at, start + 2)?;
                out.push_str(&rest[..start + 2]);
                rest = &rest[start + 2..];
                continue;
            };
            found = true;
            let Some((_, value)) = self.counters.iter().rev().find(|(counter, _)| counter == name) else {
                let known = self.counters.iter().map(|(name, _)| format!("`$({})`", clipped(name))).collect::<Vec<_>>();
                let message = format!("unknown counter `{}`; expected {}", clipped(name), known.join(" or "));
                return refused(at, Code::Variable, message);
            };
            let sum = |value: &str| value.parse::<i64>().ok()?.checked_add(offset?);
            let value = match (offset, sum(value)) {
                (None, _) => value.clone(),
                (Some(_), Some(sum)) => sum.to_string(),
                (Some(_), None) => {
                    let message =
                        format!("the counter `{}` is no integer to add to: {}", clipped(name), clipped(value));
                    return refused(at, Code::Variable, message);
                }
            };
            self.spend(at, before.len() + value.len())?;
            out.push_str(before);
            out.push_str(&value);
            rest = &after[after.find(')').map_or(after.len(), |end| end + 1)..];
        }
        self.spend(at, if found { rest.len() } else { 0 })?;
        out.push_str(if found { rest } else { "" });
        Ok(found.then_some(out))
    }
}

/// Splits what is in the brackets of `$(i)` or `$(i+1)`.
fn reference(inside: &str) -> Option<(&str, Option<i64>)> {
    let end = inside.find(['+', '-']).unwrap_or(inside.len());
    let (name, offset) = inside.split_at(end);
    let is_valid = offset.get(1..).is_none_or(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
    let offset = if offset.is_empty() { None } else { Some(offset.parse().ok()?) };
    (is_valid && template::is_name(name)).then_some((name, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, (String, String)> {
        let mut root = tree::parse(text).unwrap();
        match expand(&mut root, text) {
            Ok(_) => {
                root.renumber(&mut || NodeId(0));
                Ok(format!("{root:?}"))
            }
            Err(error) => Err((text[error.span].to_owned(), error.message)),
        }
    }

    #[test]
    fn a_repetition_is_the_text_written_out() {
        for (text, written) in [
            ("[a, {repeat: {i: 2}, do: [b$(i), {c: [$(i+1)]}]}, d]", "[a, b0, {c: [1]}, b1, {c: [2]}, d]"),
            ("{x: {repeat: {i: 2}, do: {w$(i): 1$(i), v$(i): w$(i-1)}}}", "{w0: 10, v0: w-1, w1: 11, v1: w0}"),
            ("[{repeat: {i: [q, 7]}, do: [$(i), w_$(i)_$(i)]}]", "[q, w_q_q, 7, w_7_7]"),
            ("[{repeat: {i: 2}, do: [{repeat: {j: 2}, do: [$(i)x$(j)]}, -$(i+3)]}]", "[0x0, 0x1, -3, 1x0, 1x1, -4]"),
            ("[{do: [a], repeat: {i: 0}}, {repeat: {i: \"1\"}, do: [b]}]", "[b]"),
            // Neither the outside of repetitions, nor other dollars, nor maps with other keys.
            (
                "[$(i), {repeat: 1}, {repeat: {i: 1}, do: [$(, $(1), $(i + 1)]}]",
                "[$(i), {repeat: 1}, $(, $(1), $(i + 1)]",
            ),
        ] {
            assert_eq!(expanded(text), expanded(written), "{text}");
        }
    }

    #[test]
    fn malformed_repetitions_are_reported() {
        for (text, at, message) in [
            ("[{repeat: 3, do: [a]}]", "3", "expected a counter"),
            ("[{repeat: {i: -1}, do: [a]}]", "-1", "expected a counter"),
            ("[{repeat: {i: 1, j: 2}, do: [a]}]", "{", "expected a counter"),
            ("[{repeat: {i: 2}, do: {a: 1}}]", "{", "expected a list, found a map"),
            ("{x: {repeat: {i: 2}, do: [a]}}", "[", "expected a map, found a list of 1"),
            ("[{repeat: {i: 2}, do: [$(k)]}]", "$(k)", "unknown counter `k`; expected `$(i)` (i = 0)"),
            ("[{repeat: {i: [a]}, do: [$(i+1)]}]", "$(i+1)", "the counter `i` is no integer to add to: a (i = a)"),
            ("[{repeat: {i: [9223372036854775807]}, do: [$(i+1)]}]", "$(i+1)", "the counter `i` is no integer"),
            ("[{repeat: {i: 1000000000}, do: []}]", "1000000000", "the repetitions exceed 32 MiB"),
            (
                "[{repeat: {i: 100000}, do: [{repeat: {j: 100000}, do: [{repeat: {k: 100000}, do: [a]}]}]}]",
                "100000",
                "the repetitions exceed 32 MiB",
            ),
        ] {
            let (found, reported) = expanded(text).unwrap_err();
            assert!(found.starts_with(at) && reported.starts_with(message), "{text}: {found}: {reported}");
        }
        let long = format!("[{{repeat: {{i: [{}]}}, do: [\"{}\"]}}]", "a".repeat(9999), "$(i)".repeat(9999));
        assert!(expanded(&long).unwrap_err().1.starts_with("the repetitions exceed"));
    }

    #[test]
    fn copies_have_the_range_of_the_original() {
        let text = "[{repeat: {i: 2}, do: [b$(i), {repeat: {j: 2}, do: [$(j)]}, c]}, d]";
        let mut root = tree::parse(text).unwrap();
        expand(&mut root, text).unwrap();
        let spans = Spans::new(text);
        let NodeValue::List(items) = root.value else { panic!() };
        let found: Vec<_> =
            items.iter().map(|item| (&text[spans.get(item.id).unwrap()], spans.turn(item.id))).collect();
        assert_eq!(
            found[..4],
            [
                ("b$(i)", Some("i = 0")),
                ("$(j)", Some("i = 0, j = 0")),
                ("$(j)", Some("i = 0, j = 1")),
                ("c", Some("i = 0")),
            ]
        );
        assert_eq!(found[8], ("d", None));
    }
}
