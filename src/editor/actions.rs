//! Changes of a text that an editor offers: corrections of messages, and other ways to write the same.

use std::collections::HashSet;
use std::ops::Range;

use super::analysis::{Analysis, SourceDocument};
use super::edits::{self, Kept, add_entries};
use super::insertion;
use super::places::{self, Place, SourceCall, Trail};
use super::results::{SourceAction, SourceMessage, TextEdit};
use crate::ir::yaml;
use pte_model::diagnostics::{Code, clipped};
use pte_operators::{OperatorDescription, Role};
use pte_yaml::tree::{self, NodeId, NodeValue};

/// Corrections that are offered together.
const MAX_CORRECTIONS: usize = 20;

impl Analysis {
    /// Returns the changes for a range: corrections of its messages; a missing `out`; a name for a literal; the
    /// declaration of inferred results, or their removal. All but corrections keep what the program computes.
    pub fn actions(&self, range: Range<usize>) -> Vec<SourceAction> {
        let is_here = |message: &&SourceMessage| message.range.start <= range.end && range.start <= message.range.end;
        // Each is tried.
        let here = self.diagnostics().iter().filter(is_here).filter(|message| message.replacement.is_some());
        let mut actions: Vec<SourceAction> =
            here.take(MAX_CORRECTIONS).filter_map(|message| self.correction(message)).collect();
        let Some((document, at)) = self.at(range.start) else { return actions };
        if document.syntax.error.is_some() || self.text.len() > edits::MAX_TRIAL {
            return actions;
        }
        let Trail { places, .. } = places::trail(&document.syntax, at);
        if let Some(call) = SourceCall::around(&places) {
            actions.extend(self.missing_out(document, &call));
            actions.extend(self.named_literal(document, &places, &call));
        }
        actions.extend(self.declarations(document, at));
        actions
    }

    /// Writes what a message proposes.
    fn correction(&self, message: &SourceMessage) -> Option<SourceAction> {
        let (new, range) = (message.replacement.as_ref()?, message.range.clone());
        // A suggestion has the name of one copy.
        let written = self.text.get(range.clone()).filter(|written| !written.contains("$("))?;
        // In place of a string, a map or `null`.
        let is_value = new.starts_with('{') || new == "null";
        let is_json = self.at(range.start).is_some_and(|(document, at)| {
            let Trail { places, .. } = places::trail(&document.syntax, at);
            places.iter().any(|place| insertion::is_json(&document.syntax, place.node))
        });
        let text = if is_value { edits::value(new, is_json)? } else { edits::string(written, new) };
        let title = format!("replace by `{}`", clipped(new));
        let edits = vec![TextEdit { range: range.clone(), text }];
        let is_malformed =
            |analysis: &Analysis| analysis.documents.iter().any(|document| document.syntax.error.is_some());
        let is_right = self.after(&edits).is_some_and(|after| is_malformed(self) || !is_malformed(&after));
        is_right.then_some(SourceAction { title, corrects: Some(range), edits })
    }

    /// Adds the `out` that an operator needs.
    fn missing_out(&self, document: &SourceDocument, call: &SourceCall<'_>) -> Option<SourceAction> {
        let signature = &pte_operators::find(call.name).filter(|_| call.lacks_out())?.signature;
        let (ins, outs) = (signature.ins().count(), signature.outs().count());
        // Without `out`, the arguments may be the whole stack.
        if call.args.len() > ins {
            return None;
        }
        let base = call.name.rsplit("::").next()?.split('.').next()?.trim_matches('_').to_owned();
        let names: Vec<String> = fresh_names(document, &base, outs.max(1));
        // A name that is used, and that nothing has.
        let unknown = document.facts().messages.iter().filter(|message| message.code == Code::UnknownValue);
        let mut unknown = unknown.filter_map(|message| {
            match tree::parse(document.syntax.text().get(message.at.clone()?)?).ok()?.value {
                NodeValue::Text(name) => Some(yaml::text(&name).into_owned()),
                _ => None,
            }
        });
        let out = match &names[..] {
            [name] => unknown.next().unwrap_or_else(|| name.clone()),
            names => format!("[{}]", names.join(", ")),
        };
        let edits = vec![add_entries(document, call.instruction, &[("out".to_owned(), out.clone())], true)?];
        let errors = |analysis: &Analysis| {
            analysis
                .documents
                .iter()
                .flat_map(|document| &document.facts().messages)
                .filter(|message| message.is_error())
                .count()
        };
        let is_right = errors(&self.tried(&edits)?) <= errors(self);
        is_right.then(|| SourceAction { title: format!("add `out: {out}`"), corrects: None, edits })
    }

    /// Gives a name to a literal argument.
    fn named_literal(
        &self,
        document: &SourceDocument,
        trail: &[Place<'_>],
        call: &SourceCall<'_>,
    ) -> Option<SourceAction> {
        let args = trail.iter().position(|place| place.is_value_of("instruction", "args"))?;
        let place = trail.get(args + 1)?;
        match &place.node.value {
            NodeValue::Text(_) | NodeValue::Null => return None,
            NodeValue::List(items) if items.iter().any(|item| matches!(item.value, NodeValue::Text(_))) => return None,
            NodeValue::List(_)
            | NodeValue::Map(_)
            | NodeValue::Bool(_)
            | NodeValue::Int(_)
            | NodeValue::UInt(_)
            | NodeValue::Float(_) => {}
        }
        let operator = OperatorDescription::find(call.name);
        let argument = operator.as_ref().and_then(|operator| {
            operator.arguments.iter().filter(|argument| argument.role != Role::Out).nth(place.item?)
        });
        let base = argument.map_or("value", |argument| &*argument.name);
        let name = fresh_names(document, base, 1).pop()?;
        let (text, range) = (document.syntax.text(), |id: NodeId| document.syntax.range(id));
        let literal = edits::flow(place.node, &|id| text[range(id)].to_owned(), false);
        let values = edits::add_values(document, range(place.node.id).start, &[(name.clone(), literal)])?;
        let is_json = insertion::is_json(&document.syntax, call.instruction);
        let use_of = if is_json { yaml::quoted(&name) } else { name.clone() };
        let use_of = TextEdit { range: document.node_range(place.node.id), text: use_of };
        let edits = vec![values, use_of];
        let title = format!("name this argument `{name}`");
        self.is_same_program(&edits, Kept::Meaning).then_some(SourceAction { title, corrects: None, edits })
    }
}

/// Returns names that the document does not have.
fn fresh_names(document: &SourceDocument, base: &str, count: usize) -> Vec<String> {
    let symbols = document.symbols();
    let known: HashSet<&str> = symbols.symbols.iter().map(|symbol| &*symbol.name).collect();
    let is_free = |name: &String| !known.contains(&**name);
    let base = yaml::text(base);
    let base = if base.starts_with('"') { "value" } else { &*base };
    let numbered = (2..).map(|number| format!("{base}_{number}"));
    std::iter::once(base.to_owned()).chain(numbered).filter(is_free).take(count).collect()
}

#[cfg(test)]
pub(super) mod fixtures {
    use crate::editor::fixtures::{analysis, marked};

    /// Returns the titles of the actions at the mark of a text.
    pub fn titles(text: &str) -> Vec<String> {
        let (text, at) = marked(text);
        analysis(&text).actions(at..at).into_iter().map(|action| action.title).collect()
    }

    /// The text after the action whose title begins with a text.
    pub fn after(text: &str, title: &str) -> String {
        let (mut text, at) = marked(text);
        let actions = analysis(&text).actions(at..at);
        let action = actions.iter().find(|action| action.title.starts_with(title));
        let mut edits = action.unwrap_or_else(|| panic!("{actions:?}")).edits.clone();
        edits.sort_by_key(|edit| edit.range.start);
        for edit in edits.into_iter().rev() {
            text.replace_range(edit.range, &edit.text);
        }
        assert_eq!(
            analysis(&text).diagnostics().iter().filter(|message| message.replacement.is_some()).count(),
            0,
            "{text}"
        );
        text
    }
}

#[cfg(test)]
mod tests {
    use super::fixtures::{after, titles};

    const TEXT: &str = "methods:\n  f:\n    values:\n      a: {tensor: float32, sizes: [2, 2]}\n    inputs: [a]\n    outputs: [b]\n    instructions:\n      - {kernel: aten::permute_copy.out, args: [a, [1, 0]], out: b}\n";

    #[test]
    fn corrections_are_those_of_the_messages() {
        for (right, wrong) in [("float32", "floot|32"), ("permute_copy.out", "permut|_copy.out"), ("sizes", "siz|ez")] {
            assert_eq!(after(&TEXT.replace(right, wrong), "replace by"), TEXT, "{wrong}");
        }
    }

    #[test]
    fn outs_and_names_are_added() {
        let text = TEXT.replace("[b]", "[permute_copy]").replace("[1, 0]], out: b", "[1, |0]]");
        assert!(after(&text, "add `out: permute_copy`").contains("[1, 0]], out: permute_copy}"));
        let named = after(&TEXT.replace("[1, 0]]", "[|1, 0]]"), "name this");
        assert!(named.contains("      dims: [1, 0]\n    inputs:") && named.contains("args: [a, dims]"), "{named}");
    }

    #[test]
    fn changes_keep_the_style_of_json() {
        let json = r#"{"methods": {"f": {"values": {"a": {"tensor": "float32", "sizes": [2, 2]}}, "inputs": ["a"], "outputs": ["b"], "instructions": [{"kernel": "aten::permute_copy.out", "args": ["a", [1, 0]], "out": "b"}]}}}"#;
        for (right, wrong) in [("float32", "floot|32"), ("permute_copy.out", "permut|_copy.out")] {
            assert_eq!(after(&json.replace(right, wrong), "replace by"), json, "{wrong}");
        }
        assert_eq!(after(&json.replace(r#", "out": "b""#, "|"), "add `out: b`"), json);
        let named = json.replace("[1, 0]", r#""dims""#).replace(r#"2]}}"#, r#"2]}, "dims": [1, 0]}"#);
        assert_eq!(after(&json.replace("[1, 0]", "[|1,\n0]"), "name this"), named);
        let declared = json.replace(r#"2]}}"#, r#"2]}, "b": {"tensor": "float32", "sizes": [2, 2]}}"#);
        assert_eq!(after(&json.replace(r#""out": ""#, r#""out": "|"#), "declare this"), declared);
    }

    #[test]
    fn what_would_change_the_program_is_not_offered() {
        let call = "      - {kernel: aten::permute_copy.out, args: [a, [1, 0]], out: b}\n";
        let copy = TEXT.replace(call, "      - {kernel: aten::copy_, args: [a, a|]}\n").replace("[b]", "[a]");
        assert_eq!(titles(&copy), [""; 0]);
        let sum = "      - {kernel: aten::sum.IntList_out, args: [a, [|], false, null], out: b}\n";
        assert_eq!(titles(&TEXT.replace(call, sum)), [""; 0]);
        let view = format!(
            "{call}      - {{view: b, sizes: [4], out: |c}}\n      - {{kernel: aten::relu.out, args: [c], out: d}}\n"
        );
        let view = TEXT.replace(call, &view).replace("[b]", "[d]");
        assert_eq!(titles(&view), ["declare all results"]);
    }
}
