//! Changes of the declarations of values that an editor offers: inferred ones, literals, unused ones, data.

use super::analysis::{Analysis, SourceDocument};
use super::edits::{self, Kept, removed_entries};
use super::insertion;
use super::offsets::whole_lines;
use super::places::{self, Trail};
use super::results::{ArrayFile, SourceAction, TextEdit};
use super::symbols::{NameKind, Occurrence, Symbol};
use crate::facade::running::tensor_declaration;
use crate::facade::tensors::npy_file;
use crate::ir::yaml;
use pte_model::diagnostics::clipped;
use pte_model::program::{EValue, TensorData, TensorLayout};
use pte_yaml::tree::{NodeId, NodeValue};

impl Analysis {
    /// Returns the changes of declarations at an offset.
    pub(super) fn declarations(&self, document: &SourceDocument, at: usize) -> Vec<SourceAction> {
        if self.text.len() > edits::MAX_TRIAL {
            return Vec::new();
        }
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
        // Sizes may follow from variables.
        let Some(name) = name.filter(|_| document.expansion.is_empty()) else { return Vec::new() };
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
            Some((symbol.name.clone(), tensor_declaration(tensor)))
        };
        let results = symbols.occurrences.iter().filter(|name| name.declares && name.writes && !name.is_copy);
        let results = results.filter(|name| symbols.symbols[name.symbol].method == method);
        let all: Vec<(String, String)> = results.filter_map(declaration).collect();
        let one = declaration(name).map(|one| vec![one]);
        let all = Some(all).filter(|all| all.len() > 1);
        let offered = [("declare this result", one), ("declare all results", all)].into_iter();
        let offered = offered.filter_map(|(title, entries)| {
            let edits = vec![edits::add_values(document, at, &entries?)?];
            let is_same = self.is_same_program(&edits, Kept::Meaning);
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
            is_result(symbol).then_some(name.range.start)
        };
        if symbols.symbols[name.symbol].kind != NameKind::Value || !is_result(name.symbol) {
            return Vec::new();
        }
        let same: Vec<usize> = symbols.names(NameKind::Value, method).map(|(symbol, _)| symbol).collect();
        let mut found = Vec::new();
        let one: Vec<usize> = declared(name.symbol).into_iter().collect();
        let mut all: Vec<usize> = same.into_iter().filter_map(declared).collect();
        // Copies of a repetition have one declaration.
        all.dedup();
        for (title, keys) in [
            ("leave out this declaration, which is inferred", one),
            ("leave out all declarations that are inferred", all),
        ] {
            let edits = removed_entries(document, &keys).unwrap_or_default();
            if !edits.is_empty()
                && self.is_same_program(&edits, Kept::Bytes)
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
        let mut edits = removed_entries(document, &[key])?;
        for name in symbols.of(symbol).filter(|name| !name.declares) {
            let is_json = text[name.range.clone()].starts_with('"');
            let literal = edits::flow(place.node, &|id| text[range(id)].to_owned(), is_json);
            edits.push(TextEdit { range: document.outer(name.range.clone()), text: literal });
        }
        edits.dedup();
        let title = format!("inline `{}`", clipped(&symbols.symbols[symbol].name));
        let is_same = edits.len() > 1 && self.is_same_program(&edits, Kept::Meaning);
        is_same.then_some(SourceAction { title, corrects: None, edits })
    }

    /// Leaves out the declarations of unused values: the one at an offset, or all of the document.
    fn without_unused(&self, document: &SourceDocument, at: usize) -> Vec<SourceAction> {
        let unused = self.unused_values(document);
        let Some(one) = document.symbols().at(at).map(|name| name.symbol).filter(|one| unused.contains(one)) else {
            return Vec::new();
        };
        let found = [("remove this unused value", vec![one]), ("remove all unused values", unused)].into_iter();
        let found = found.filter_map(|(title, unused)| {
            let edits = removed(document, &unused)?;
            let after = self.tried(&edits)?;
            let names = |analysis: &Analysis| -> usize {
                analysis.documents.iter().map(|document| document.symbols().symbols.len()).sum()
            };
            let is_right = self.is_same(&after, Kept::Used) && names(&after) + unused.len() == names(self);
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
        // The numbers are in the order of memory, which is that of the file.
        let layout = TensorLayout::of(tensor);
        let content =
            npy_file(&layout, known.program()?.blob(id)).ok()?.filter(|_| layout.dim_order.is_contiguous())?;
        let is_safe = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let stem: String = name.chars().take(100).map(|c| if is_safe(c) { c } else { '_' }).collect();
        let folder = &document.source.files.folder;
        let names = std::iter::once(format!("{stem}.npy")).chain((2..100).map(|number| format!("{stem}_{number}.npy")));
        let file =
            names.into_iter().find(|name| !name.starts_with('.') && folder.join(name).symlink_metadata().is_err())?;
        document.source.files.check(folder).ok()?;
        let is_json = insertion::is_json(&document.syntax, declaration.node);
        let text = edits::value(&format!("{{npy: {}}}", yaml::text(&file)), is_json)?;
        let edits = vec![TextEdit { range: document.node_range(data.node.id), text }];
        let path = folder.join(file);
        self.is_same_with(&edits, &path, &content).then_some(ArrayFile { path, content, edits })
    }

    /// Returns the declared values of a document that are unused.
    fn unused_values(&self, document: &SourceDocument) -> Vec<usize> {
        let unused = self.diagnostics().iter().filter(|message| message.unnecessary);
        let inner = unused.map(|message| document.inner(message.range.start));
        let names = inner.filter_map(|at| document.symbols().at(at).filter(|name| name.declares && !name.is_copy));
        names.map(|name| name.symbol).collect()
    }
}

/// Removes values that nothing reads: their declarations, and the instructions that write only one of them, each on
/// lines of its own.
fn removed(document: &SourceDocument, unused: &[usize]) -> Option<Vec<TextEdit>> {
    let (text, symbols) = (document.syntax.text(), document.symbols());
    let all = unused.iter().flat_map(|symbol| symbols.of(*symbol));
    let (writes, rest): (Vec<&Occurrence>, Vec<&Occurrence>) = all.partition(|name| name.writes);
    let keys: Vec<usize> = rest.iter().map(|name| name.declares.then_some(name.range.start)).collect::<Option<_>>()?;
    let mut edits = removed_entries(document, &keys)?;
    for name in writes {
        let Trail { places, .. } = places::trail(&document.syntax, name.range.start);
        let index = places.iter().position(|place| place.shape.is_some_and(|shape| shape.name == "instruction"))?;
        let is_only = places.get(index + 1)?.is_value_of("instruction", "out") && places.len() == index + 2;
        let range = document.syntax.range(places[index].node.id);
        let lines = whole_lines(text, &range);
        let is_line = text[lines.start..range.start].trim() == "-" && text[range.end..lines.end].trim().is_empty();
        let edit = TextEdit { range: document.outer(lines), text: String::new() };
        edits.push((is_only && is_line).then_some(edit)?);
    }
    Some(edits)
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
        assert_eq!(after(&TEXT.replace("out: b", "out: |b"), "declare this"), declared);
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

    #[test]
    fn a_change_that_would_be_wrong_is_not_offered() {
        let values = "methods:\n  f:\n    values:\n      |u: 7\n      w: {tensor: float32, data: [1, 2]}\n      a: {tensor: float32, sizes: [2]}\n    inputs: [a]\n    outputs: [b, c]\n    instructions:\n";
        let calls = "      - {kernel: aten::add.out, args: [a, {index: 1}], out: b}\n      - {kernel: aten::add.out, args: [a, w], out: c}\n";
        assert!(!titles(&format!("{values}{calls}")).iter().any(|title| title.starts_with("remove")));
        let variable = "methods: {f: {values: {|k: ${K:3}, w: 5}, outputs: [k, w]}}";
        assert_eq!(titles(variable), [""; 0]);
        let moved = |text: &str| {
            let (text, at) = marked(text);
            analysis(&text).data_file(at)
        };
        for text in [
            "methods: {all: {repeat: {i: 2}, do: {f$(i): {values: {a: {tensor: float32, data: [1, |$(i)]}}, outputs: [a]}}}}",
            "methods: {f: {values: {a: {tensor: float32, data: &d [1, |2]}, b: {tensor: int8, data: *d}}, outputs: [a, b]}}",
            "files: {a.npy: other.npy}\nmethods: {f: {values: {a: {tensor: float32, data: [|1, 2]}}, outputs: [a]}}",
            "methods: {f: {values: {a: {tensor: float32, data: [1, ${N:2}, |3]}}, outputs: [a]}}",
        ] {
            assert_eq!(moved(text), None, "{text}");
        }
    }

    #[test]
    fn entries_in_braces_are_removed_with_one_comma() {
        let text = |values: &str| format!("methods: {{f: {{values: {{{values}}}, inputs: [a], outputs: [a]}}}}");
        let a = "a: {tensor: float32, sizes: [2]}";
        for (values, one, all) in [
            (format!("{a}, |u: 3, v: 4  "), format!("{a}, v: 4  "), format!("{a}  ")),
            (format!("|u: 3, v: 4, {a}"), format!("v: 4, {a}"), a.to_owned()),
            (format!("u: 3, {a}, |v: 4"), format!("u: 3, {a}"), a.to_owned()),
            (format!("\n  |u: 3\n  , v: 4\n  , {a}\n"), format!("\n  v: 4\n  , {a}\n"), format!("\n  {a}\n")),
        ] {
            assert_eq!(after(&text(&values), "remove this"), text(&one), "{values}");
            assert_eq!(after(&text(&values), "remove all"), text(&all), "{values}");
        }
    }

    #[test]
    fn an_unused_result_is_removed_with_its_instruction() {
        let call = "      - {kernel: aten::relu.out, args: [a], out: q}\n";
        let declared = "      |q: {tensor: float32, sizes: [2, 2]}\n    inputs";
        let text = TEXT.replace("    inputs", declared) + call;
        assert_eq!(after(&text, "remove this"), TEXT);
    }
}
