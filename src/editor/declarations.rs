//! Changes of the declarations of values that an editor offers: inferred ones, literals, unused ones, data.

use std::ops::Range;

use super::analysis::{Analysis, SourceDocument};
use super::edits;
use super::places::{self, Trail};
use super::results::{ArrayFile, SourceAction, TextEdit};
use super::symbols::{NameKind, Occurrence, Symbol};
use crate::ir::yaml;
use pte_model::diagnostics::{Code, clipped};
use pte_model::format::npy;
use pte_model::program::{EValue, Tensor, TensorData, TensorShapeDynamism};
use pte_yaml::tree::{NodeId, NodeValue};

impl Analysis {
    /// Returns the changes of declarations at an offset.
    pub(super) fn declarations(&self, document: &SourceDocument, at: usize) -> Vec<SourceAction> {
        let mut found = self.declared_results(document, at);
        found.extend(self.inferred_results(document, at));
        found.extend(self.inlined(document, at));
        found.extend(self.without_unused(document, at));
        found
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
            let edits = vec![edits::add_values(document, at, &entries?)?];
            let is_same = self.is_same_program(&edits, false);
            is_same.then(|| SourceAction { title: title.to_owned(), corrects: None, edits })
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

    /// Writes the literal that a name stands for in the places of the name at an offset.
    fn inlined(&self, document: &SourceDocument, at: usize) -> Option<SourceAction> {
        let symbols = document.symbols();
        let symbol = symbols.at(at).filter(|name| !name.is_copy)?.symbol;
        let (text, range) = (document.syntax.text(), |id: NodeId| document.syntax.range(id));
        let key = symbols.of(symbol).find(|name| name.declares && !name.writes)?.range.start;
        let place = *places::trail(&document.syntax, key).places.last()?;
        let is_tensor = ["tensor", "view_of"].iter().any(|key| places::entry(place.node, key).is_some());
        if symbols.symbols[symbol].kind != NameKind::Value
            || is_tensor
            || matches!(place.node.value, NodeValue::Text(_))
        {
            return None;
        }
        let mut edits = vec![TextEdit { range: entry_range(document, key)?, text: String::new() }];
        for name in symbols.of(symbol).filter(|name| !name.declares) {
            let is_json = text[name.range.clone()].starts_with('"');
            let literal = edits::flow(place.node, &|id| text[range(id)].to_owned(), is_json);
            edits.push(TextEdit { range: document.outer(name.range.clone()), text: literal });
        }
        edits.dedup();
        let title = format!("inline `{}`", clipped(&symbols.symbols[symbol].name));
        let is_same = edits.len() > 1 && self.is_same_program(&edits, false);
        is_same.then_some(SourceAction { title, corrects: None, edits })
    }

    /// Leaves out the declarations of unused values: the one at an offset, or all of the document.
    fn without_unused(&self, document: &SourceDocument, at: usize) -> Vec<SourceAction> {
        let (unused, symbols) = (unused_values(document), document.symbols());
        let Some(one) = symbols.at(at).map(|name| name.range.start).filter(|key| unused.contains(key)) else {
            return Vec::new();
        };
        let found = [("remove this unused value", vec![one]), ("remove all unused values", unused)].into_iter();
        let found = found.filter_map(|(title, keys)| {
            let edits: Vec<TextEdit> = keys
                .into_iter()
                .filter_map(|key| Some(TextEdit { range: entry_range(document, key)?, text: String::new() }))
                .collect();
            let after = self.tried(&edits)?;
            let is_valid = |document: &SourceDocument| document.facts().assembled.is_some();
            let count = |analysis: &Analysis| analysis.documents.iter().flat_map(unused_values).count();
            let is_right = after.documents.iter().all(is_valid) && count(&after) + edits.len() <= count(self);
            is_right.then(|| SourceAction { title: title.to_owned(), corrects: None, edits })
        });
        let mut found: Vec<SourceAction> = found.collect();
        found.dedup_by(|all, one| all.edits == one.edits);
        found
    }

    /// Returns a file with the numbers of a tensor that are at an offset, and the changes by which the tensor has its
    /// data from there; `None` if there are no numbers, the text has errors, or NumPy has no such elements.
    pub fn data_file(&self, at: usize) -> Option<ArrayFile> {
        let (document, at) = self.at(at)?;
        let Trail { places, .. } = places::trail(&document.syntax, at);
        let index = places.iter().position(|place| place.is_value_of("tensor", "data"))?;
        let (declaration, data) = (places[..index].last()?, places[index]);
        if !matches!(data.node.value, NodeValue::List(_)) {
            return None;
        }
        let symbols = document.symbols();
        let name = symbols.at(document.syntax.range(declaration.key?.id).start).filter(|name| !name.is_copy)?;
        let Symbol { name, method, .. } = &symbols.symbols[name.symbol];
        let (known, method) = (document.facts().assembled.as_ref()?, method.checked_sub(1)?);
        let EValue::Tensor(tensor) = known.evalue(method, known.value(method, name)?)? else { return None };
        let TensorData::Blob(id) = tensor.data else { return None };
        let sizes = tensor.sizes.as_deref().unwrap_or_default();
        // The numbers are in the order of memory, which is that of the file.
        let is_contiguous = tensor.dim_order.iter().flat_map(|order| order.iter()).zip(0u8..).all(|(a, b)| *a == b);
        let mut content = npy::header(tensor.scalar_type, sizes).filter(|_| is_contiguous)?;
        content.extend(known.program()?.blob(id).to_vec().ok()?);
        let is_safe = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let stem: String = name.chars().take(100).map(|c| if is_safe(c) { c } else { '_' }).collect();
        let folder = &document.source.files.folder;
        let names = std::iter::once(format!("{stem}.npy")).chain((2..100).map(|number| format!("{stem}_{number}.npy")));
        let file = names.into_iter().find(|name| !name.starts_with('.') && !folder.join(name).exists())?;
        document.source.files.check(folder).ok()?;
        let is_json = edits::is_json(document, declaration.node);
        let text = edits::value(&format!("{{npy: {}}}", yaml::text(&file)), is_json)?;
        let edits = vec![TextEdit { range: document.node_range(data.node.id), text }];
        Some(ArrayFile { path: folder.join(file), content, edits })
    }
}

/// Returns the offsets of the unused values of a document that are declared.
fn unused_values(document: &SourceDocument) -> Vec<usize> {
    let messages = document.facts().messages.iter().filter(|message| message.code == Code::Unused);
    let found = messages.filter_map(|message| document.symbols().at(message.at.as_ref()?.start));
    found.filter(|name| name.declares && !name.writes).map(|name| name.range.start).collect()
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

#[cfg(test)]
mod tests {
    use crate::editor::actions::fixtures::{after, titles};
    use crate::editor::fixtures::{analysis, marked};

    const TEXT: &str = "methods:\n  f:\n    values:\n      a: {tensor: float32, sizes: [2, 2]}\n    inputs: [a]\n    outputs: [b]\n    instructions:\n      - {kernel: aten::permute_copy.out, args: [a, [1, 0]], out: b}\n";

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
    fn literals_are_inlined() {
        let named = TEXT.replace("      a:", "      dims: [1, 0]\n      a:").replace("[1, 0]], out", "dims], out");
        assert_eq!(after(&named.replace("dims], out", "|dims], out"), "inline `dims`"), TEXT);
        assert_eq!(after(&named.replace("dims: [", "di|ms: ["), "inline `dims`"), TEXT);
        assert!(!titles(&TEXT.replace("args: [a", "args: [|a")).iter().any(|title| title.starts_with("inline")));
    }

    #[test]
    fn unused_values_are_removed() {
        let one = TEXT.replace("      a:", "      u: 3\n      a:");
        assert_eq!(after(&one.replace("u: 3", "|u: 3"), "remove this unused value"), TEXT);
        let two = one.replace("      a:", "      v: {tensor: float32, sizes: [2]}\n      a:");
        assert_eq!(after(&two.replace("u: 3", "|u: 3"), "remove all unused values"), TEXT);
        assert_eq!(after(&two.replace("v: {", "|v: {"), "remove this unused value"), one);
    }

    #[test]
    fn data_are_written_to_a_file() {
        let text = TEXT.replace("      a:", "      w: {tensor: int16, sizes: [2], data: [1, |2]}\n      a:");
        let (text, at) = marked(&text);
        let found = analysis(&text);
        let file = found.data_file(at).unwrap();
        assert_eq!(file.path, std::path::Path::new("examples/w.npy"));
        assert!(file.content.starts_with(b"\x93NUMPY") && file.content.ends_with(&[1, 0, 2, 0]));
        assert_eq!((&text[file.edits[0].range.clone()], &*file.edits[0].text), ("[1, 2]", "{npy: w.npy}"));
        assert!(found.data_file(at - 20).is_none());
        let order = text.replace("sizes: [2], data: [1, 2]", "sizes: [2, 1], dim_order: [1, 0], data: [[1], [2]]");
        assert!(analysis(&order).data_file(order.find("[[1]").unwrap() + 2).is_none());
    }
}
