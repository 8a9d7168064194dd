//! Changes of a text that an editor offers: corrections of messages, and other ways to write the same.

use std::ops::Range;

use super::analysis::{Analysis, SourceDocument};
use super::edits::{self, add_entries};
use super::places::{self, Place, SourceCall, Trail};
use super::results::{SourceAction, SourceMessage, TextEdit};
use super::symbols::{NameKind, Occurrence};
use crate::ir::yaml;
use pte_model::diagnostics::{Code, clipped};
use pte_model::program::{EValue, Tensor, TensorShapeDynamism};
use pte_operators::{OperatorDescription, Role};
use pte_yaml::tree::{self, NodeId, NodeValue};

/// Changes that do not correct a message.
const REFACTORING: Option<Range<usize>> = None;

impl Analysis {
    /// Returns the changes for a range: corrections of its messages; a missing `out`; a name for a literal; the
    /// declaration of inferred results, or their removal. All but corrections keep what the program computes.
    pub fn actions(&self, range: Range<usize>) -> Vec<SourceAction> {
        let is_here = |message: &&SourceMessage| message.range.start <= range.end && range.start <= message.range.end;
        let mut actions: Vec<SourceAction> =
            self.diagnostics().iter().filter(is_here).filter_map(|message| self.correction(message)).collect();
        let Some((document, at)) = self.at(range.start) else { return actions };
        if document.syntax.error.is_some() {
            return actions;
        }
        let Trail { places, .. } = places::trail(&document.syntax, at);
        if let Some(call) = SourceCall::around(&places) {
            actions.extend(self.missing_out(document, &call));
            actions.extend(self.named_literal(document, &places, &call));
        }
        actions.extend(self.declared_results(document, at));
        actions.extend(self.inferred_results(document, at));
        actions
    }

    /// Writes what a message proposes.
    fn correction(&self, message: &SourceMessage) -> Option<SourceAction> {
        let (new, range) = (message.replacement.as_ref()?, message.range.clone());
        let written = self.text.get(range.clone())?;
        let text = if new.starts_with('{') { new.clone() } else { edits::string(written, new) };
        let title = format!("replace by `{}`", clipped(new));
        let edits = vec![TextEdit { range: range.clone(), text }];
        let is_malformed =
            |analysis: &Analysis| analysis.documents.iter().any(|document| document.syntax.error.is_some());
        let is_right = self.after(&edits).is_some_and(|after| is_malformed(self) || !is_malformed(&after));
        is_right.then_some(SourceAction { title, corrects: Some(range), edits })
    }

    /// Declares what is inferred: the result at an offset, and all results of its method.
    fn declared_results(&self, document: &SourceDocument, at: usize) -> Vec<SourceAction> {
        let symbols = document.symbols();
        let name = symbols.at(at).filter(|name| name.declares && name.writes && !name.is_copy);
        let Some(name) = name else { return Vec::new() };
        let method = symbols.symbols[name.symbol].method;
        let declaration = |name: &Occurrence| {
            let symbol = symbols.symbols.get(name.symbol).filter(|symbol| symbol.kind == NameKind::Value)?;
            // The entry `view` has the only type that its result may have.
            let Trail { places, .. } = places::trail(&document.syntax, name.range.start);
            if places.iter().any(|place| places::entry(place.node, "view").is_some()) {
                return None;
            }
            let assembled = document.facts().assembled.as_ref()?;
            let method = symbol.method.checked_sub(1)?;
            let value = assembled.evalue(method, assembled.value(method, &symbol.name)?)?;
            let EValue::Tensor(tensor) = value else { return None };
            Some((symbol.name.clone(), tensor_type(tensor)))
        };
        let results = symbols.occurrences.iter().filter(|name| name.declares && name.writes && !name.is_copy);
        let results = results.filter(|name| symbols.symbols[name.symbol].method == method);
        let all: Vec<(String, String)> = results.filter_map(declaration).collect();
        let one = declaration(name).map(|one| vec![one]);
        let all = Some(all).filter(|all| all.len() > 1);
        let offered = [("declare this result", one), ("declare all results", all)].into_iter();
        let offered = offered.filter_map(|(title, entries)| {
            let edits = vec![add_values(document, at, &entries?)?];
            let is_same = self.is_same_program(&edits, false);
            is_same.then(|| SourceAction { title: title.to_owned(), corrects: REFACTORING, edits })
        });
        offered.collect()
    }

    /// Leaves out declarations of results that are inferred: the one at an offset, or all of its method. The result is
    /// the same program.
    fn inferred_results(&self, document: &SourceDocument, at: usize) -> Vec<SourceAction> {
        let symbols = document.symbols();
        let Some(name) = symbols.at(at).filter(|name| name.declares && !name.writes) else { return Vec::new() };
        let method = symbols.symbols[name.symbol].method;
        let is_result = |symbol: usize| symbols.of(symbol).any(|name| name.writes && name.step.is_some());
        let declared = |symbol: usize| {
            let name = symbols.of(symbol).find(|name| name.declares)?;
            entry_range(document, name.range.start).filter(|_| is_result(symbol))
        };
        if symbols.symbols[name.symbol].kind != NameKind::Value || !is_result(name.symbol) {
            return Vec::new();
        }
        let same: Vec<usize> = symbols.names(NameKind::Value, method).map(|(symbol, _)| symbol).collect();
        let mut found = Vec::new();
        let one: Vec<Range<usize>> = declared(name.symbol).into_iter().collect();
        let mut all: Vec<Range<usize>> = same.into_iter().filter_map(declared).collect();
        // Copies of a repetition have one declaration.
        all.dedup();
        for (title, ranges) in [
            ("leave out this declaration, which is inferred", one),
            ("leave out all declarations that are inferred", all),
        ] {
            let edits: Vec<TextEdit> =
                ranges.into_iter().map(|range| TextEdit { range, text: String::new() }).collect();
            if !edits.is_empty()
                && self.is_same_program(&edits, true)
                && found.iter().all(|action: &SourceAction| action.edits != edits)
            {
                found.push(SourceAction { title: title.to_owned(), corrects: None, edits });
            }
        }
        found
    }

    /// Adds the `out` that an operator needs.
    fn missing_out(&self, document: &SourceDocument, call: &SourceCall<'_>) -> Option<SourceAction> {
        let operator =
            OperatorDescription::find(call.name).filter(|_| places::entry(call.instruction, "out").is_none())?;
        let outs = operator.arguments.iter().filter(|argument| argument.role == Role::Out).count();
        let ins = operator.arguments.len() - outs;
        // Without `out`, the arguments may be the whole stack.
        if call.args.len() > ins || outs == 0 && operator.returns.is_none() {
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
        // Without it, this call is an error, with it, it is none.
        let errors = |analysis: &Analysis| {
            analysis
                .documents
                .iter()
                .flat_map(|document| &document.facts().messages)
                .filter(|message| message.is_error())
                .count()
        };
        let is_right = errors(&self.after(&edits)?) < errors(self);
        is_right.then(|| SourceAction { title: format!("add `out: {out}`"), corrects: REFACTORING, edits })
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
        let values = add_values(document, range(place.node.id).start, &[(name.clone(), literal)])?;
        let is_json = edits::is_json(document, call.instruction);
        let use_of = if is_json { yaml::quoted(&name) } else { name.clone() };
        let use_of = TextEdit { range: document.node_range(place.node.id), text: use_of };
        let edits = vec![values, use_of];
        let title = format!("name this argument `{name}`");
        self.is_same_program(&edits, false).then_some(SourceAction { title, corrects: REFACTORING, edits })
    }
}

/// Returns the declaration of a tensor.
fn tensor_type(tensor: &Tensor) -> String {
    let list = |items: Vec<String>| items.join(", ") + "]";
    let mut text = format!("{{tensor: {}, sizes: [", tensor.scalar_type);
    text += &list(tensor.sizes.iter().flat_map(|sizes| sizes.iter()).map(ToString::to_string).collect());
    let order: Vec<u8> = tensor.dim_order.iter().flat_map(|order| order.iter().copied()).collect();
    if order.iter().zip(0u8..).any(|(found, expected)| *found != expected) {
        text += &format!(", dim_order: [{}", list(order.iter().map(ToString::to_string).collect()));
    }
    let words = [
        (TensorShapeDynamism::DYNAMIC_BOUND, "dynamic_bound"),
        (TensorShapeDynamism::DYNAMIC_UNBOUND, "dynamic_unbound"),
    ];
    if let Some((_, word)) = words.iter().find(|(dynamism, _)| *dynamism == tensor.shape_dynamism) {
        text += &format!(", dynamism: {word}");
    }
    text + "}"
}

/// Returns the range of an entry of a map, with what separates it from the next one. The offset is in its key.
fn entry_range(document: &SourceDocument, key: usize) -> Option<Range<usize>> {
    let trail = places::trail(&document.syntax, key);
    let place = trail.places.last()?;
    let text = document.syntax.text();
    let start = document.syntax.range(place.key?.id).start;
    let end = document.syntax.range(place.node.id).end;
    let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[end..];
    let until_newline = rest.find('\n').map_or(rest.len(), |newline| newline + 1);
    let comment = rest[..until_newline].trim();
    // A line of its own, perhaps with a comment.
    if text[line..start].trim().is_empty() && (comment.is_empty() || comment.starts_with('#')) {
        return Some(document.outer(line..end + until_newline));
    }
    let after = rest.len() - rest.trim_start_matches([',', ' ']).len();
    match rest.starts_with(',') {
        true => Some(document.outer(start..end + after)),
        false => {
            let before = text[..start].trim_end_matches(' ');
            let before = before.strip_suffix(',').map_or(start, str::len);
            Some(document.outer(before..end))
        }
    }
}

/// Returns names that the document does not have.
fn fresh_names(document: &SourceDocument, base: &str, count: usize) -> Vec<String> {
    let symbols = document.symbols();
    let is_free = |name: &String| symbols.symbols.iter().all(|symbol| symbol.name != *name);
    let base = yaml::text(base);
    let base = if base.starts_with('"') { "value" } else { &*base };
    let numbered = (2..).map(|number| format!("{base}_{number}"));
    std::iter::once(base.to_owned()).chain(numbered).filter(is_free).take(count).collect()
}

/// Adds entries to the values of the method at an offset.
fn add_values(document: &SourceDocument, at: usize, entries: &[(String, String)]) -> Option<TextEdit> {
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

#[cfg(test)]
mod tests {
    use crate::editor::fixtures::{analysis, marked};

    /// The text after the action whose title begins with a text.
    fn after(text: &str, title: &str) -> String {
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

    const TEXT: &str = "methods:\n  f:\n    values:\n      a: {tensor: float32, sizes: [2, 2]}\n    inputs: [a]\n    outputs: [b]\n    instructions:\n      - {kernel: aten::permute_copy.out, args: [a, [1, 0]], out: b}\n";

    #[test]
    fn corrections_are_those_of_the_messages() {
        for (right, wrong) in [("float32", "floot|32"), ("permute_copy.out", "permut|_copy.out"), ("sizes", "siz|ez")] {
            assert_eq!(after(&TEXT.replace(right, wrong), "replace by"), TEXT, "{wrong}");
        }
    }

    #[test]
    fn results_are_declared_and_left_out() {
        let declared =
            TEXT.replace("    inputs: [a]\n", "      b: {tensor: float32, sizes: [2, 2]}\n    inputs: [a]\n");
        let moved = TEXT.replace("      a:", "      b: {tensor: float32, sizes: [2, 2]}\n      a:");
        assert_eq!(after(&TEXT.replace("out: b", "out: |b"), "declare this"), moved);
        assert_eq!(after(&declared.replace("      b:", "      |b:"), "leave out this"), TEXT);
        let flow = "methods: {f: {values: {a: {tensor: float32, sizes: [2, 2]}, |b: {tensor: float32}}, inputs: [a], outputs: [b], instructions: [{kernel: aten::relu.out, args: [a], out: b}]}}";
        assert!(after(flow, "leave out this").contains("values: {a: {tensor: float32, sizes: [2, 2]}}, inputs"));
    }

    #[test]
    fn outs_and_names_are_added() {
        let text = TEXT.replace("[b]", "[permute_copy]").replace("[1, 0]], out: b", "[1, |0]]");
        assert!(after(&text, "add `out: permute_copy`").contains("[1, 0]], out: permute_copy}"));
        let named = after(&TEXT.replace("[1, 0]]", "[|1, 0]]"), "name this");
        assert!(named.contains("      dims: [1, 0]\n      a:") && named.contains("args: [a, dims]"), "{named}");
    }

    #[test]
    fn changes_keep_the_style_of_json() {
        let json = r#"{"methods": {"f": {"values": {"a": {"tensor": "float32", "sizes": [2, 2]}}, "inputs": ["a"], "outputs": ["b"], "instructions": [{"kernel": "aten::permute_copy.out", "args": ["a", [1, 0]], "out": "b"}]}}}"#;
        for (right, wrong) in [("float32", "floot|32"), ("permute_copy.out", "permut|_copy.out")] {
            assert_eq!(after(&json.replace(right, wrong), "replace by"), json, "{wrong}");
        }
        assert_eq!(after(&json.replace(r#", "out": "b""#, "|"), "add `out: b`"), json);
        let named = json.replace("[1, 0]", r#""dims""#).replace(r#"{"a": {"#, r#"{"dims": [1, 0], "a": {"#);
        assert_eq!(after(&json.replace("[1, 0]", "[|1,\n0]"), "name this"), named);
        let declared = json.replace(r#"{"a": {"#, r#"{"b": {"tensor": "float32", "sizes": [2, 2]}, "a": {"#);
        assert_eq!(after(&json.replace(r#""out": ""#, r#""out": "|"#), "declare this"), declared);
    }

    #[test]
    fn what_would_change_the_program_is_not_offered() {
        let titles = |text: &str| {
            let (text, at) = marked(text);
            analysis(&text).actions(at..at).into_iter().map(|action| action.title).collect::<Vec<_>>()
        };
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
