//! Changes of a text that an editor offers: corrections of messages, and other ways to write the same.

use std::ops::Range;

use super::analysis::{Analysis, SourceDocument};
use super::places::{self, Place, SourceCall, Trail};
use super::results::{SourceAction, TextEdit};
use super::symbols::NameKind;
use crate::facade::model::Model;
use crate::ir::yaml;
use pte_model::diagnostics::clipped;
use pte_model::program::{EValue, TensorShapeDynamism};
use pte_operators::{OperatorDescription, Role};
use pte_yaml::tree::{NodeValue, SourceNode};

/// Size of a text in bytes up to which declarations are left out on trial.
const MAX_TRIAL: usize = 256 << 10;

impl Analysis {
    /// Returns the changes for a range: corrections of its messages; a missing `out`; a name for a literal; the
    /// declaration of inferred results, or their removal.
    pub fn actions(&self, range: Range<usize>) -> Vec<SourceAction> {
        let mut actions = Vec::new();
        for message in self.diagnostics() {
            let is_here = message.range.start <= range.end && range.start <= message.range.end;
            if let Some(new) = message.replacement.as_ref().filter(|_| is_here) {
                let text = if new.starts_with('{') { new.clone() } else { yaml::operator(new).into_owned() };
                let edits = vec![TextEdit { range: message.range.clone(), text }];
                let title = format!("replace by `{}`", clipped(new));
                actions.push(SourceAction { title, corrects: Some(message.range.clone()), edits });
            }
        }
        let Some((document, at)) = self.at(range.start) else { return actions };
        if document.syntax.error.is_some() {
            return actions;
        }
        let Trail { places, .. } = places::trail(&document.syntax, at);
        if let Some(call) = SourceCall::around(&places) {
            actions.extend(missing_out(document, &call));
            actions.extend(named_literal(document, &places, &call));
        }
        actions.extend(self.declared_results(document, at));
        actions.extend(self.inferred_results(document, at));
        actions
    }

    /// Declares what is inferred: the result at an offset, and all results of its method.
    fn declared_results(&self, document: &SourceDocument, at: usize) -> Vec<SourceAction> {
        let symbols = document.symbols();
        let name = symbols.at(at).filter(|name| name.declares && name.writes && !name.is_copy);
        let Some(name) = name else { return Vec::new() };
        let method = symbols.symbols[name.symbol].method;
        let declaration = |symbol: usize| {
            let symbol = symbols.symbols.get(symbol).filter(|symbol| symbol.kind == NameKind::Value)?;
            let assembled = document.facts().assembled.as_ref()?;
            let method = symbol.method.checked_sub(1)?;
            let EValue::Tensor(tensor) = assembled.evalue(method, assembled.value(method, &symbol.name)?)? else {
                return None;
            };
            let mut text = format!("{}: {{tensor: {}, sizes: [", yaml::text(&symbol.name), tensor.scalar_type);
            let list = |items: Vec<String>| items.join(", ") + "]";
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
            Some(text + "}")
        };
        let results = symbols.occurrences.iter().filter(|name| name.declares && name.writes);
        let results = results.filter(|name| symbols.symbols[name.symbol].method == method);
        let all: Vec<String> = results.filter_map(|name| declaration(name.symbol)).collect();
        let mut found = Vec::new();
        let one = declaration(name.symbol).map(|one| vec![one]);
        for (title, lines) in
            [("declare this result", one), ("declare all results", Some(all).filter(|all| all.len() > 1))]
        {
            let edits = lines.and_then(|lines| add_values(document, at, &lines));
            let title = title.to_owned();
            found.extend(edits.map(|edit| SourceAction { title, corrects: None, edits: vec![edit] }));
        }
        found
    }

    /// Leaves out declarations of results that are inferred: the one at an offset, or all of its method. The result is
    /// the same program.
    fn inferred_results(&self, document: &SourceDocument, at: usize) -> Vec<SourceAction> {
        if self.text.len() > MAX_TRIAL || self.documents.len() != 1 {
            return Vec::new();
        }
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
                && self.is_same_program(document, &edits)
                && found.iter().all(|action: &SourceAction| action.edits != edits)
            {
                found.push(SourceAction { title: title.to_owned(), corrects: None, edits });
            }
        }
        found
    }

    /// Returns true if changes leave the assembled program as it is.
    fn is_same_program(&self, document: &SourceDocument, edits: &[TextEdit]) -> bool {
        let mut text = self.text.to_string();
        for edit in edits.iter().rev() {
            text.replace_range(edit.range.clone(), &edit.text);
        }
        let metadata = |text: &str| {
            let source = crate::facade::source::Source {
                content: crate::facade::source::SourceContent::Text(text.into()),
                ..(*document.source).clone()
            };
            let model = Model::new(source).documents(&self.options.definitions).ok()?.models.pop()?;
            model.assembly().ok()?.program_file().map(|file| file.metadata())
        };
        let before = metadata(&self.text);
        before.is_some() && before == metadata(&text)
    }
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

/// Adds the `out` that an operator needs.
fn missing_out(document: &SourceDocument, call: &SourceCall<'_>) -> Option<SourceAction> {
    let operator = OperatorDescription::find(call.name).filter(|_| places::entry(call.instruction, "out").is_none())?;
    let outs = operator.arguments.iter().filter(|argument| argument.role == Role::Out).count();
    let ins = operator.arguments.len() - outs;
    // Without `out`, the arguments may be the whole stack.
    if call.args.len() > ins || outs == 0 && operator.returns.is_none() {
        return None;
    }
    let base = call.name.rsplit("::").next()?.split('.').next()?.trim_matches('_').to_owned();
    let names: Vec<String> = fresh_names(document, &base, outs.max(1));
    let out = match &names[..] {
        [name] => format!("out: {name}"),
        names => format!("out: [{}]", names.join(", ")),
    };
    let edit = add_entry(document, call.instruction, &out, true)?;
    Some(SourceAction { title: format!("add `{out}`"), corrects: None, edits: vec![edit] })
}

/// Gives a name to a literal argument.
fn named_literal(document: &SourceDocument, trail: &[Place<'_>], call: &SourceCall<'_>) -> Option<SourceAction> {
    let args = trail.iter().position(|place| place.is_value_of("instruction", "args"))?;
    let place = trail.get(args + 1)?;
    let literal = match &place.node.value {
        NodeValue::Text(_) | NodeValue::Null => return None,
        NodeValue::List(items)
            if items.iter().any(|item| matches!(item.value, NodeValue::Text(_) | NodeValue::Null)) =>
        {
            return None;
        }
        NodeValue::List(_)
        | NodeValue::Map(_)
        | NodeValue::Bool(_)
        | NodeValue::Int(_)
        | NodeValue::UInt(_)
        | NodeValue::Float(_) => document.syntax.text().get(document.syntax.range(place.node.id))?,
    };
    let operator = OperatorDescription::find(call.name);
    let argument = operator
        .as_ref()
        .and_then(|operator| operator.arguments.iter().filter(|argument| argument.role != Role::Out).nth(place.item?));
    let base = argument.map_or("value", |argument| &*argument.name);
    let name = fresh_names(document, base, 1).pop()?;
    let values = add_values(document, document.syntax.range(place.node.id).start, &[format!("{name}: {literal}")])?;
    let use_of = TextEdit { range: document.node_range(place.node.id), text: name.clone() };
    let title = format!("name this argument `{name}`");
    Some(SourceAction { title, corrects: None, edits: vec![values, use_of] })
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
fn add_values(document: &SourceDocument, at: usize, lines: &[String]) -> Option<TextEdit> {
    let trail = places::trail(&document.syntax, at);
    let method = trail.places.iter().find(|place| place.shape.is_some_and(|shape| shape.name == "method"))?;
    match places::entry(method.node, "values") {
        Some(values) if matches!(&values.value, NodeValue::Map(entries) if !entries.is_empty()) => {
            let is_flow = is_flow(document, values);
            let separator = if is_flow { ", " } else { "\n" };
            add_entry(document, values, &lines.join(separator), false)
        }
        Some(_) => None,
        None => add_entry(document, method.node, &format!("values: {{{}}}", lines.join(", ")), false),
    }
}

fn is_flow(document: &SourceDocument, map: &SourceNode<'_>) -> bool {
    document.syntax.text()[document.syntax.range(map.id)].starts_with('{')
}

/// Adds entries to a map, as its first or last ones: in braces, or as lines.
fn add_entry(document: &SourceDocument, map: &SourceNode<'_>, text: &str, is_last: bool) -> Option<TextEdit> {
    let NodeValue::Map(entries) = &map.value else { return None };
    let (first, last) = (entries.first()?, entries.last()?);
    let start = document.syntax.range(first.0.id).start;
    let end = document.syntax.range(last.1.id).end.max(document.syntax.range(last.0.id).end);
    let line = document.syntax.text()[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let column = document.syntax.text()[line..start].chars().count();
    let separator = if is_flow(document, map) { ", ".to_owned() } else { format!("\n{}", " ".repeat(column)) };
    let text = text.replace('\n', &separator);
    let (at, text) = if is_last { (end, separator + &text) } else { (start, text + &separator) };
    Some(TextEdit { range: document.outer(at..at), text })
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
}
