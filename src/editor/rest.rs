//! What is known of a document with errors: the parts that have them are left out, until the rest can be assembled.

use std::ops::Range;
use std::sync::Arc;

use super::facts::{Assembled, Facts};
use super::places;
use super::tree::Syntax;
use crate::facade::source::{Source, SourceContent};
use pte_model::diagnostics::Diagnostic;

/// Size of a text in bytes up to which parts are left out, and how often that is tried.
const MAX_TEXT: usize = 1 << 20;
const ATTEMPTS: usize = 6;

/// Lists and maps whose items are left out, by shape and key.
const PARTS: &[(&str, &str)] = &[
    ("method", "instructions"),
    ("chain", "instructions"),
    ("method", "values"),
    ("method", "tests"),
    ("method", "delegates"),
    ("document", "data"),
    ("document", "named_data"),
];

/// Assembles a document without the parts that messages are about. The result has no positions of this text.
pub(super) fn assembled(syntax: &Syntax, source: &Arc<Source>, messages: &[Diagnostic]) -> Option<Assembled> {
    let mut text = syntax.text().to_string();
    if text.len() > MAX_TEXT {
        return None;
    }
    let mut messages = messages.to_vec();
    for _ in 0..ATTEMPTS {
        let before = text.clone();
        let errors = messages.iter().filter(|message| message.is_error());
        for part in errors.filter_map(|message| part(syntax, message.at.as_ref()?.start)) {
            // Bytes keep their positions.
            let blank = |byte: u8| if byte == b'\n' { '\n' } else { ' ' };
            let blank: String = text.get(part.clone())?.bytes().map(blank).collect();
            text.replace_range(part, &blank);
        }
        if text == before {
            return None;
        }
        let content = SourceContent::Text(text.as_str().into());
        let rest = Arc::new(Source { content, quoted_numbers: Vec::new(), ..(**source).clone() });
        match Facts::assembled(&rest) {
            Ok(Facts { assembled: Some(assembled), .. }) => return Some(assembled),
            Ok(facts) => messages = facts.messages,
            Err(error) => messages.clone_from(&error.report().diagnostics),
        }
    }
    None
}

/// Returns the part of a document that an offset is in: an instruction, the declaration of a value, a test; else the
/// key of a method.
fn part(syntax: &Syntax, at: usize) -> Option<Range<usize>> {
    let places = places::trail(syntax, at).places;
    let is_part = |index: &usize| {
        let parent = index.checked_sub(1).and_then(|index| places.get(index));
        parent.is_some_and(|parent| PARTS.iter().any(|(shape, key)| parent.is_value_of(shape, key)))
    };
    let of_method = |index: &usize| places[*index].holder.is_some_and(|(shape, _)| shape.name == "method");
    let index = (0..places.len()).find(is_part).or_else(|| (0..places.len()).find(of_method))?;
    let place = places.get(index)?;
    let range = syntax.range(place.node.id);
    let start = match place.key {
        Some(key) => syntax.range(key.id).start,
        None => {
            let before = syntax.text()[..range.start].trim_end();
            // An item of a list in brackets cannot be left out.
            before.strip_suffix('-').map(str::len)?
        }
    };
    Some(start..range.end.max(start))
}

#[cfg(test)]
mod tests {
    use crate::editor::fixtures::{analysis, marked};

    #[test]
    fn types_are_known_beside_an_error() {
        let text = "methods:\n  f:\n    values:\n      a: {tensor: float32, sizes: [2]}\n      c: {tensor: float3}\n    inputs: [a]\n    outputs: [b]\n    instructions:\n      - {kernel: aten::relu.out, args: [a], out: |b}\n      - {kernel: aten::relu.out, args: [nothing], out: d}\n";
        let (text, at) = marked(text);
        let found = analysis(&text);
        assert_eq!(found.diagnostics().len(), 1);
        assert!(found.hover(at).unwrap().text.contains("`float32 [2]`"));
        assert_eq!(found.hints(0..text.len()).len(), 1);
    }
}
