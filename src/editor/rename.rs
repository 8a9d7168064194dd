//! Where names are declared and used, and other names for them.

use std::ops::Range;

use super::analysis::{Analysis, SourceDocument};
use super::places;
use super::results::{Reference, TextEdit};
use super::symbols::{NameKind, Occurrence};
use crate::ir::yaml;
use pte_model::diagnostics::clipped;
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

    /// Returns all places that declare or use the name at an offset, in the order of the text.
    pub fn references(&self, at: usize) -> Vec<Reference> {
        let Some((document, name)) = self.name_at(at) else { return Vec::new() };
        let reference = |occurrence: &Occurrence| Reference {
            range: document.outer(occurrence.range.clone()),
            declares: occurrence.declares,
            writes: occurrence.writes,
        };
        document.symbols().of(name.symbol).map(reference).collect()
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
        let symbol = &symbols.symbols[name.symbol];
        if new.is_empty() || new.contains(['\n', '\0']) {
            return Err("a name cannot be empty".to_owned());
        }
        if symbols.find(symbol.kind, symbol.scope, new).is_some_and(|other| other != name.symbol) {
            return Err(format!("the name `{}` is used already", clipped(new)));
        }
        // A string that is no name yet would become one.
        if symbol.kind == NameKind::Value && has_string(document, symbol.method, new) {
            return Err(format!("the string `{}` in this method would become this value", clipped(new)));
        }
        let text = yaml::text(new).into_owned();
        let edit =
            |occurrence: &Occurrence| TextEdit { range: document.outer(occurrence.range.clone()), text: text.clone() };
        Ok(symbols.of(name.symbol).map(edit).collect())
    }
}

/// Returns true if a path under `raw` has a name as one of its steps.
fn raw_names(document: &SourceDocument, name: &str) -> bool {
    let Some(raw) = places::entry(document.syntax.root(), "raw") else { return false };
    let range = document.syntax.range(raw.id);
    document.syntax.text().get(range).is_some_and(|text| text.contains(name))
}

/// Returns true if an argument of an instruction of a method is a string that is no name.
fn has_string(document: &SourceDocument, method: usize, string: &str) -> bool {
    let (mut found, mut number) = (false, 0);
    places::walk(&document.syntax, &mut |trail| {
        let Some(place) = trail.last() else { return false };
        if trail.len() == 3 && trail[1].is_value_of("document", "methods") {
            number += 1;
            return number == method;
        }
        if let NodeValue::Text(text) = &place.node.value {
            found |= text == string && super::symbols::kind_at(trail) == Some(NameKind::Value);
        }
        !found
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
}
