//! Where names are declared and used, and other names for them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use super::analysis::{Analysis, SourceDocument};
use super::edits::{self, Kept};
use super::results::{MessageLevel, Reference, TextEdit};
use super::symbols::{NameKind, Occurrence, Symbol, WrittenNames};
use pte_model::diagnostics::clipped;
use pte_yaml::repeat;
use pte_yaml::tree::{NodeId, NodeValue, SourceNode};

impl Analysis {
    fn name_at(&self, at: usize) -> Option<(&SourceDocument, &Occurrence)> {
        let (document, at) = self.at(at)?;
        Some((document, document.symbols().at(at)?))
    }

    /// Returns where the name at an offset is declared.
    pub fn definition(&self, at: usize) -> Option<Range<usize>> {
        let (document, name) = self.name_at(at)?;
        let mut all = document.symbols().of(name.symbol);
        all.find(|occurrence| occurrence.declares).map(|occurrence| document.outer(occurrence.range.clone()))
    }

    /// Returns all places that declare or use the name at an offset, in the order of the text; of a name in a
    /// repetition, those of all copies.
    pub fn references(&self, at: usize) -> Vec<Reference> {
        let Some((document, name)) = self.name_at(at) else { return Vec::new() };
        let reference = |occurrence: &Occurrence| Reference {
            range: document.outer(occurrence.range.clone()),
            declares: occurrence.declares,
            writes: occurrence.writes,
        };
        let symbols = document.symbols();
        let names = symbols.symbols_at(name.range.start);
        let mut found: Vec<Reference> = names.iter().flat_map(|symbol| symbols.of(*symbol)).map(reference).collect();
        // Copies have one place, which declares or writes a name if one of them does.
        found.sort_by_key(|found| found.range.start);
        found.dedup_by(|next, first| {
            let is_same = next.range == first.range;
            first.declares |= is_same && next.declares;
            first.writes |= is_same && next.writes;
            is_same
        });
        found
    }

    /// Returns the range of the name at an offset, if it can be renamed.
    ///
    /// # Errors
    /// A message that says why not.
    pub fn renameable(&self, at: usize) -> Result<Range<usize>, String> {
        let (document, name) = self.name_at(at).ok_or("no name of the source is here")?;
        let symbols = document.symbols();
        let name_text = clipped(&symbols.symbols[name.symbol].name);
        if document.syntax.error.is_some() {
            return Err("the text is not valid YAML: correct it first".to_owned());
        }
        if !symbols.of(name.symbol).all(|occurrence| self.is_written(document, occurrence)) {
            return Err(format!("`{name_text}` comes from an alias or a variable"));
        }
        Ok(document.outer(name.range.clone()))
    }

    /// Returns true for a name that the text has as it is.
    fn is_written(&self, document: &SourceDocument, occurrence: &Occurrence) -> bool {
        let written = document.syntax.text().get(occurrence.range.clone());
        let outer = document.outer(occurrence.range.clone());
        written.is_some_and(|written| !written.starts_with('*')) && self.text.get(outer) == written
    }

    /// Returns the changes that give another name to the one at an offset. In the text after them, the names are the
    /// same ones, and everything else is as it was.
    ///
    /// # Errors
    /// A message that says why it cannot be renamed: the new name is empty or used, or the name comes from an alias or
    /// a variable.
    pub fn rename(&self, at: usize, new: &str) -> Result<Vec<TextEdit>, String> {
        self.renameable(at)?;
        let (document, name) = self.name_at(at).ok_or("no name of the source is here")?;
        let symbols = document.symbols();
        if new.is_empty() || new.contains(['\n', '\0']) {
            return Err("a name cannot be empty, or have several lines".to_owned());
        }
        let mut places = WrittenNames::new(&document.syntax);
        let new_names = new_names(document, &mut places, name, new)?;
        let (mut edits, mut renamed) = (Vec::new(), HashMap::new());
        for (symbol, new_name) in &new_names {
            let Symbol { kind, scope, .. } = &symbols.symbols[*symbol];
            let other = symbols.find(*kind, *scope, new_name);
            if other.is_some_and(|other| !new_names.contains_key(&other)) {
                return Err(format!("the name `{}` is used already", clipped(new_name)));
            }
            for occurrence in symbols.of(*symbol) {
                let text = match (occurrence.is_copy, name.is_copy) {
                    (false, _) => new_name.clone(),
                    (true, true) => with_references(new, places.written(occurrence)),
                    (true, false) => {
                        let written = clipped(places.written(occurrence));
                        return Err(format!("`{written}` in a repetition becomes this name: rename it there"));
                    }
                };
                let written = document.syntax.text().get(occurrence.range.clone()).unwrap_or_default();
                if !self.is_written(document, occurrence) {
                    return Err(format!(
                        "a name that shares its place with `{}` comes from a variable",
                        clipped(written)
                    ));
                }
                let text = edits::string(written, &text);
                edits.push(TextEdit { range: document.outer(occurrence.range.clone()), text });
                renamed.insert(occurrence.node, &**new_name);
            }
        }
        edits.sort_by_key(|edit| edit.range.start);
        // Copies have one place.
        edits.dedup();
        let after = self.after(&edits).ok_or_else(|| format!("`{}` cannot be written here", clipped(new)))?;
        let index = self.documents.iter().position(|other| std::ptr::eq(other, document)).unwrap_or_default();
        let difference = after.documents.get(index).and_then(|after| different(document, after, &renamed));
        match difference.or_else(|| self.changed_file(document, &edits, symbols.symbols[name.symbol].kind)) {
            None => Ok(edits),
            Some(message) => Err(message),
        }
    }

    /// Says what a rename would change in the files: names of methods and of named data are in them, others are not.
    fn changed_file(&self, document: &SourceDocument, edits: &[TextEdit], kind: NameKind) -> Option<String> {
        if self.text.len() > edits::MAX_TRIAL {
            let part = ["raw:", "external:"].into_iter().find(|part| self.text.contains(part))?;
            return Some(format!("the text is too large to try this, and may have the name in `{part}`"));
        }
        document.facts().assembled.as_ref()?;
        let after = self.tried(edits)?;
        let errors = |analysis: &Analysis| {
            let errors = analysis.diagnostics().iter().filter(|message| message.level == MessageLevel::Error);
            errors.map(|message| message.message.lines().next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        let (known, found) = (errors(self), errors(&after));
        let is_invalid = after.documents.iter().any(|document| document.facts().assembled.is_none());
        if found.len() > known.len() || is_invalid {
            let new = found.into_iter().find(|message| !known.contains(message)).unwrap_or_default();
            return Some(format!("the text would have an error: {new}"));
        }
        let is_in_file = match kind {
            NameKind::Method | NameKind::NamedData => false,
            NameKind::Value
            | NameKind::Label
            | NameKind::Delegate
            | NameKind::Data
            | NameKind::File
            | NameKind::GraphValue => !self.is_same(&after, Kept::Bytes),
        };
        is_in_file.then(|| "the file has this name, as a key of external data: state it with `name` first".to_owned())
    }
}

/// Returns a name whose references to counters are those of another one.
fn with_references(name: &str, references: &str) -> String {
    let ((around, _), (_, references)) = (repeat::pieces(name), repeat::pieces(references));
    let references = references.into_iter().chain(std::iter::repeat(""));
    around.into_iter().zip(references).flat_map(|(text, reference)| [text, reference]).collect()
}

/// Returns the symbols that become others if a name does, with their new names: those that share a place with it, as
/// in a part with an anchor, and of a name in a repetition its copies, as the first one of `y$(i)` and `y$(i+1)`.
fn new_names(
    document: &SourceDocument,
    places: &mut WrittenNames<'_>,
    name: &Occurrence,
    new: &str,
) -> Result<BTreeMap<usize, String>, String> {
    let symbols = document.symbols();
    let copies = document.syntax.source().spans().copies();
    let old = places.written(name).to_owned();
    let (around, references) = repeat::pieces(&old);
    if name.is_copy && repeat::pieces(new).1 != references {
        return Err(format!("expected a name with the counters of `{}`: {}", clipped(&old), references.join(", ")));
    }
    let (mut found, mut visited) = (BTreeMap::new(), HashSet::new());
    let mut next = symbols.symbols_at(name.range.start);
    while let Some(symbol) = next.pop() {
        if !name.is_copy {
            found.insert(symbol, new.to_owned());
        }
        for occurrence in symbols.of(symbol).filter(|occurrence| name.is_copy || !occurrence.is_copy) {
            if occurrence.is_copy {
                let written = places.written(occurrence);
                if repeat::pieces(written).0 != around {
                    let (written, old) = (clipped(written), clipped(&old));
                    return Err(format!("`{written}` and `{old}` become the same name: rename both by hand"));
                }
                if let Some(name) = copies.replaced(occurrence.node, &with_references(new, written))
                    && found.insert(symbol, name.clone()).is_some_and(|other| other != name)
                {
                    return Err(format!("the copies of `{}` have no single new name", clipped(&old)));
                }
            }
            if visited.insert(occurrence.range.start) {
                let others = symbols.symbols_at(occurrence.range.start);
                next.extend(others.into_iter().filter(|symbol| !found.contains_key(symbol)));
            }
        }
    }
    Ok(found)
}

/// Compares a document with one whose names at these nodes are others, and says what the first difference beside them
/// is.
fn different(before: &SourceDocument, after: &SourceDocument, renamed: &HashMap<NodeId, &str>) -> Option<String> {
    let line = |node: NodeId| {
        let above = before.syntax.text().get(..before.syntax.range(node).start).unwrap_or_default();
        1 + before.source.lines_before + above.matches('\n').count()
    };
    let trees = [before, after].map(|document| document.syntax.expanded().unwrap_or(document.syntax.root()));
    if let Some(node) = different_node(trees[0], trees[1], renamed) {
        let is_alias = before.syntax.text()[before.syntax.range(node)].starts_with('*');
        return Some(match is_alias {
            true => format!("the alias in line {} repeats this name: rename it by hand", line(node)),
            false => format!("line {} would be read as something else than this name", line(node)),
        });
    }
    let [before, after] = [before, after].map(|document| document.symbols());
    let key = |found: &Occurrence| (found.node, found.symbol, found.declares, found.writes);
    let is_new = |(old, new): &(Option<&Occurrence>, &Occurrence)| old.map(key) != Some(key(new));
    let old = before.occurrences.iter().map(Some).chain(std::iter::repeat(None));
    let (old, new) = old.zip(&after.occurrences).find(is_new)?;
    let name = clipped(&after.symbols[new.symbol].name);
    Some(match old.filter(|old| old.node == new.node) {
        Some(_) => format!("`{name}` in line {} would refer to something else", line(new.node)),
        None => format!("the string `{name}` in line {} would become this name", line(new.node)),
    })
}

/// Returns the first node that is another one than before, beside names at these nodes. Recurses at most to the depth
/// that the parser allows.
fn different_node(before: &SourceNode<'_>, after: &SourceNode<'_>, renamed: &HashMap<NodeId, &str>) -> Option<NodeId> {
    let is_name = |id: NodeId, before: &str, after: &str| renamed.get(&id).copied().unwrap_or(before) == after;
    let is_same = match (&before.value, &after.value) {
        (NodeValue::Text(old), NodeValue::Text(new)) => is_name(before.id, old, new),
        (NodeValue::List(old), NodeValue::List(new)) if old.len() == new.len() => {
            return old.iter().zip(new).find_map(|(old, new)| different_node(old, new, renamed));
        }
        (NodeValue::Map(old), NodeValue::Map(new)) if old.len() == new.len() => {
            return old.iter().zip(new).find_map(|((key, old), (new_key, new))| {
                let is_key = is_name(key.id, &key.text, &new_key.text);
                if is_key { different_node(old, new, renamed) } else { Some(key.id) }
            });
        }
        (NodeValue::Float(old), NodeValue::Float(new)) => old.to_bits() == new.to_bits(),
        (old, new) => old == new,
    };
    (!is_same).then_some(before.id)
}

#[cfg(test)]
mod tests {
    use crate::editor::fixtures::{analysis, marked};

    const TEXT: &str = "methods:\n  f:\n    values:\n      a: {tensor: float32, sizes: [2]}\n    inputs: [a]\n    outputs: [b]\n    instructions:\n      - {kernel: aten::relu.out, args: [a], out: b}\n  g:\n    values: {a: 1}\n    outputs: [a]\n";

    fn renamed(text: &str, new: &str) -> Result<String, String> {
        let (mut text, at) = marked(text);
        for edit in analysis(&text).rename(at, new)?.into_iter().rev() {
            text.replace_range(edit.range, &edit.text);
        }
        Ok(text)
    }

    #[test]
    fn names_of_one_method_are_renamed() {
        let at = TEXT.replace("inputs: [a]", "inputs: [|a]");
        let expected =
            TEXT.replace("a: {t", "x: {t").replace("inputs: [a]", "inputs: [x]").replace("args: [a]", "args: [x]");
        assert_eq!(renamed(&at, "x"), Ok(expected));
        assert_eq!(renamed(&at, "x y").unwrap().matches("\"x y\"").count(), 3);
        let result = TEXT.replace("out: b", "out: |b");
        assert_eq!(
            renamed(&result, "c").unwrap(),
            TEXT.replace("out: b", "out: c").replace("outputs: [b]", "outputs: [c]")
        );
        assert_eq!(renamed(&TEXT.replace("  g:", "  |g:"), "h").unwrap(), TEXT.replace("  g:", "  h:"));
    }

    #[test]
    fn a_used_name_is_refused() {
        let at = TEXT.replace("inputs: [a]", "inputs: [|a]");
        assert!(renamed(&at, "b").unwrap_err().contains("used already"));
        assert!(renamed(&at, "").is_err());
        assert!(renamed(&format!("{at}  h: [\n"), "x").unwrap_err().contains("not valid"));
        let variable = TEXT.replace("inputs: [a]", "inputs: [${A:a}]").replace("args: [a]", "args: [|a]");
        assert!(renamed(&variable, "x").unwrap_err().contains("variable"));
        let string = at
            .replace("outputs: [b]\n", "outputs: [b, {string: q}]\n")
            .replace("args: [a], out: b", "args: [a, floor], out: b");
        assert!(renamed(&string, "floor").unwrap_err().contains("string"));
    }

    #[test]
    fn definitions_are_found() {
        let (text, at) = marked(&TEXT.replace("outputs: [b]", "outputs: [|b]"));
        let found = analysis(&text);
        assert_eq!(found.definition(at), Some(text.rfind("out: b").unwrap() + 5..text.rfind("out: b").unwrap() + 6));
        assert_eq!(found.references(at).iter().map(|found| found.writes).collect::<Vec<_>>(), [false, true]);
        assert_eq!(found.definition(0), None);
    }

    #[test]
    fn a_name_keeps_the_style_of_its_place() {
        let json = r#"{"methods": {"f": {"values": {"a": {"tensor": "float32", "sizes": [2]}}, "inputs": ["|a"], "outputs": ["b"], "instructions": [{"kernel": "aten::relu.out", "args": ["a"], "out": "b"}]}}}"#;
        let (text, _) = marked(json);
        for (new, written) in [("g", r#""g""#), ("it's", r#""it's""#), ("\"", r#""\"""#), ("${A}", r#""\u0024{A}""#)] {
            assert_eq!(renamed(json, new), Ok(text.replace(r#""a""#, written)), "{new}");
        }
        let single = json.replace('"', "'");
        assert!(renamed(&single, "it's").unwrap().contains("['it''s']"));
        let lines = TEXT.replace("inputs: [a]", "inputs:\n      - >-\n        |a");
        let expected =
            marked(&lines).0.replace("a: {t", "x: {t").replace("   a\n", "   x\n").replace("args: [a]", "args: [x]");
        assert_eq!(renamed(&lines, "x"), Ok(expected));
    }

    #[test]
    fn a_part_with_an_alias_is_not_renamed() {
        let shared = "methods:\n  f:\n    values: &v\n      a: {tensor: float32, sizes: [2]}\n    inputs: [|a]\n    outputs: [a]\n  g:\n    values: *v\n    outputs: [a]\n";
        assert!(renamed(shared, "b").unwrap_err().contains("the alias in line 8 repeats this name"));
        let repeated = "methods: {all: {repeat: {i: 2}, do: {f$(i): {values: {a: {tensor: float32, sizes: [2]}}, inputs: [|a], outputs: [a]}}}}";
        assert_eq!(
            renamed(repeated, "b").unwrap(),
            marked(&repeated.replace("a:", "b:").replace("a]", "b]")).0.replace("allb", "alla")
        );
        let files = "files: {|w: w.bin}\nnamed_data:\n  x: {file: w}\n  y: {file: w2}\n";
        assert!(renamed(files, "w2").unwrap_err().contains("the string `w2` in line 4"));
        let raw = "methods: {f: {values: {|a: {tensor: float32, sizes: [2]}}, inputs: [a], outputs: [a]}}\nraw: {set: {methods.f.values.a.sizes: absent}}\n";
        let error = renamed(raw, "x").unwrap_err();
        assert!(error.contains("unknown EValue `a`"), "{error}");
        assert!(renamed(&TEXT.replace("  f:", "  |f:"), "h").is_ok());
        let external = "methods: {f: {values: {|w: {tensor: float32, external: true, data: [1, 2]}}, outputs: [w]}}";
        assert!(renamed(external, "v").unwrap_err().contains("the file has this name"));
    }

    const REPEATED: &str = "methods:\n  f:\n    values:\n      y0: {tensor: float32, sizes: [2]}\n    inputs: [y0]\n    outputs: [y3, y1]\n    instructions:\n      - repeat: {i: 3}\n        do:\n          - {kernel: aten::relu.out, args: [y$(i)], out: t$(i)}\n          - {kernel: aten::add.out, args: [t$(i), y0, 1], out: y$(i+1)}\n      - {kernel: aten::relu.out, args: [y2], out: u}\n";

    /// A text with a mark at the first occurrence of a part.
    fn at(part: &str) -> String {
        let (before, after) = part.split_once('|').unwrap();
        REPEATED.replacen(&format!("{before}{after}"), part, 1)
    }

    #[test]
    fn a_name_in_a_repetition_is_renamed_with_its_copies() {
        let expected = REPEATED.replace("y$(", "z_$(").replace("y0", "z_0").replace("y1", "z_1");
        let expected = expected.replace("y2", "z_2").replace("y3", "z_3");
        assert_eq!(renamed(&at("out: |y$(i+1)"), "z_$(i+1)").unwrap(), expected);
        assert_eq!(renamed(&at("args: [|y$(i)"), "z_$(i)").unwrap(), expected);
        assert!(analysis(&expected).diagnostics().iter().all(|message| message.code == "Y-40"), "{expected}");
        assert_eq!(renamed(&at("out: |t$(i)"), "$(i)w").unwrap(), REPEATED.replace("t$(i)", "$(i)w"));
        assert_eq!(renamed(&at("out: |u"), "v").unwrap(), REPEATED.replace("out: u", "out: v"));
        for (part, new, message) in [
            ("out: |y$(i+1)", "z", "expected a name with the counters of `y$(i+1)`: $(i+1)"),
            ("out: |y$(i+1)", "z$(i)", "expected a name with the counters"),
            ("out: |t$(i)", "y$(i)", "the name `y0` is used already"),
            ("outputs: [|y3", "z", "`y$(i+1)` in a repetition becomes this name"),
        ] {
            let error = renamed(&at(part), new).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn copies_are_found() {
        let (text, offset) = marked(&at("outputs: [|y3"));
        let found = analysis(&text);
        let declared = text.find("y$(i+1)").unwrap();
        assert_eq!(found.definition(offset), Some(declared..declared + 7));
        let texts = |at: usize| {
            let found = analysis(REPEATED).references(at).into_iter();
            found.map(|found| REPEATED[found.range].to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(texts(offset), "y3 y$(i+1)");
        assert_eq!(texts(declared), "y3 y1 y$(i) y$(i+1) y2");
        // Instructions have the numbers of the program.
        let hover = found.hover(declared).unwrap().text;
        let expected = "**y$(i+1)** — value, for each copy of the repetition: `y1`, `y2`, `y3`\n\nof `y1`:";
        assert!(hover.starts_with(expected) && hover.contains("written by instruction `1`"), "{hover}");
        let hover = found.hover(text.rfind("y2").unwrap()).unwrap().text;
        assert!(
            hover.contains("written by instruction `3`") && hover.contains("read by instruction `4`, `6`"),
            "{hover}"
        );
        let hints: Vec<String> = found.hints(0..text.len()).into_iter().map(|hint| hint.label).collect();
        assert_eq!(hints, [": float32 [2]", "alpha: ", ": float32 [2]", ": float32 [2]"]);
    }
}
