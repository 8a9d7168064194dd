//! Where names are declared and used, and other names for them.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::analysis::{Analysis, SourceDocument};
use super::places;
use super::results::{Reference, TextEdit};
use super::symbols::{NameKind, Occurrence, WrittenNames};
use crate::ir::yaml;
use pte_model::diagnostics::clipped;
use pte_yaml::repeat;
use pte_yaml::tree::NodeValue;

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
        for occurrence in symbols.of(name.symbol) {
            let is_plain =
                document.syntax.text().get(occurrence.range.clone()).is_some_and(|text| !text.starts_with('*'));
            let range = document.part.start + occurrence.range.start..document.part.start + occurrence.range.end;
            let outer = document.expansion.original(range.clone());
            let is_expanded = outer.len() != range.len()
                || self.text.get(outer) != document.syntax.text().get(occurrence.range.clone());
            if !is_plain || is_expanded {
                return Err(format!("`{name_text}` comes from an alias or a variable"));
            }
        }
        let symbol = &symbols.symbols[name.symbol];
        if matches!(symbol.kind, NameKind::Method | NameKind::Delegate | NameKind::GraphValue)
            && raw_names(document, &symbol.name)
        {
            return Err(format!("a path under `raw` has the name `{name_text}`"));
        }
        Ok(document.outer(name.range.clone()))
    }

    /// Returns the changes that give another name to the one at an offset.
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
        let new_names = match name.is_copy {
            true => copied(document, &mut places, name, new)?,
            false => BTreeMap::from([(name.symbol, new.to_owned())]),
        };
        for (index, new) in &new_names {
            let symbol = &symbols.symbols[*index];
            let other = symbols.find(symbol.kind, symbol.scope, new);
            if other.is_some_and(|other| !new_names.contains_key(&other)) {
                return Err(format!("the name `{}` is used already", clipped(new)));
            }
        }
        // A string that is no name yet would become one.
        let symbol = &symbols.symbols[name.symbol];
        let new_strings: HashSet<&str> = new_names.values().map(String::as_str).collect();
        if symbol.kind == NameKind::Value
            && let Some(string) = used_string(document, symbol.method, &new_strings)
        {
            return Err(format!("the string `{}` in this method would become this value", clipped(&string)));
        }
        let mut edits = Vec::new();
        for (symbol, new_name) in &new_names {
            for occurrence in symbols.of(*symbol) {
                let text = match (occurrence.is_copy, name.is_copy) {
                    (false, _) if new_name.contains("$(") => {
                        return Err(format!("`{}` has a counter, and is no name in a repetition", clipped(new)));
                    }
                    (false, _) => new_name.clone(),
                    (true, true) => with_references(new, places.written(occurrence)),
                    (true, false) => {
                        let written = clipped(places.written(occurrence));
                        return Err(format!("`{written}` in a repetition becomes this name: rename it there"));
                    }
                };
                edits.push((document.outer(occurrence.range.clone()), text));
            }
        }
        edits.sort_by_key(|(range, _)| range.start);
        // Copies have one place.
        edits.dedup();
        // A counter needs no quotes.
        let is_plain = |text: &str| yaml::text(&repeat::pieces(text).0.join("x")).starts_with(|c| c != '"');
        let edit = |(range, text): (Range<usize>, String)| match is_plain(&text) {
            true => TextEdit { range, text },
            false => TextEdit { range, text: yaml::text(&text).into_owned() },
        };
        Ok(edits.into_iter().map(edit).collect())
    }
}

/// Returns a name whose references to counters are those of another one.
fn with_references(name: &str, references: &str) -> String {
    let ((around, _), (_, references)) = (repeat::pieces(name), repeat::pieces(references));
    let references = references.into_iter().chain(std::iter::repeat(""));
    around.into_iter().zip(references).flat_map(|(text, reference)| [text, reference]).collect()
}

/// Returns the names that become others if a name in a repetition does: its copies, and those that share a place with
/// them, as the first one of `y$(i)` and `y$(i+1)`.
fn copied(
    document: &SourceDocument,
    places: &mut WrittenNames<'_>,
    name: &Occurrence,
    new: &str,
) -> Result<BTreeMap<usize, String>, String> {
    let symbols = document.symbols();
    let copies = document.syntax.source().spans().copies();
    let old = places.written(name).to_owned();
    let (around, references) = repeat::pieces(&old);
    if repeat::pieces(new).1 != references {
        return Err(format!("expected a name with the counters of `{}`: {}", clipped(&old), references.join(", ")));
    }
    let (mut found, mut visited) = (BTreeMap::new(), HashSet::new());
    let mut next = symbols.symbols_at(name.range.start);
    while let Some(symbol) = next.pop() {
        for occurrence in symbols.of(symbol).filter(|occurrence| occurrence.is_copy) {
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
            if visited.insert(occurrence.range.start) {
                let others = symbols.symbols_at(occurrence.range.start);
                next.extend(others.into_iter().filter(|symbol| !found.contains_key(symbol)));
            }
        }
    }
    Ok(found)
}

/// Returns true if a path under `raw` has a name as one of its steps.
fn raw_names(document: &SourceDocument, name: &str) -> bool {
    let Some(raw) = places::entry(document.syntax.root(), "raw") else { return false };
    let range = document.syntax.range(raw.id);
    document.syntax.text().get(range).is_some_and(|text| text.contains(name))
}

/// Returns the first of these strings that an argument of an instruction of a method is, although it is no name.
fn used_string(document: &SourceDocument, method: usize, strings: &HashSet<&str>) -> Option<String> {
    let (mut found, mut number) = (None, 0);
    places::walk_copies(&document.syntax, &mut |trail| {
        let Some(place) = trail.last() else { return false };
        if trail.len() == 3 && trail[1].is_value_of("document", "methods") {
            number += 1;
            return number == method;
        }
        if let NodeValue::Text(text) = &place.node.value
            && strings.contains(&**text)
            && super::symbols::kind_at(trail) == Some(NameKind::Value)
            && document.symbols().find(NameKind::Value, method, text).is_none()
        {
            found = Some(text.to_string());
        }
        found.is_none()
    });
    found
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
            ("out: |u", "v$(i)", "`v$(i)` has a counter"),
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
