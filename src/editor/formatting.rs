//! The layout of `pte-emit fmt` as a change of the text.

use super::analysis::Analysis;
use super::results::TextEdit;
use crate::facade::formatting::ComputedKeys;
use crate::facade::model::Model;

impl Analysis {
    /// Returns the change that lays out the text as `pte-emit fmt` does, from the first character that differs to the
    /// last one; none if it is laid out.
    ///
    /// # Errors
    /// The text is not YAML.
    pub fn formatting(&self) -> Result<Vec<TextEdit>, String> {
        let (text, name) = (self.text(), self.documents.first().map_or("", |document| &document.source.name));
        let model = Model::from_yaml(name, text, ".");
        let formatted = model.formatted(ComputedKeys::AsWritten).map_err(|error| error.to_string())?;
        // A text that is being written lacks values: `null` in their places would be in the way.
        let nulls = |text: &str| text.matches("null").count() + text.matches('~').count();
        if nulls(&formatted) > nulls(text) {
            return Ok(Vec::new());
        }
        let start: usize =
            text.chars().zip(formatted.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
        if start == text.len() && start == formatted.len() {
            return Ok(Vec::new());
        }
        let ends = text[start..].chars().rev().zip(formatted[start..].chars().rev());
        let same: usize = ends.take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
        let new = formatted[start..formatted.len() - same].to_owned();
        Ok(vec![TextEdit { range: start..text.len() - same, text: new }])
    }
}

#[cfg(test)]
mod tests {
    use crate::editor::fixtures::analysis;

    #[test]
    fn the_layout_is_one_change() {
        let text = "# \u{e9}\nmethods:   {f: {outputs: [1]}} # \u{e9}\n";
        let edits = analysis(text).formatting().unwrap();
        let [edit] = &edits[..] else { panic!("{edits:?}") };
        let mut formatted = text.to_owned();
        formatted.replace_range(edit.range.clone(), &edit.text);
        assert_eq!(formatted, "# \u{e9}\nmethods:  # \u{e9}\n  f:\n    outputs: [1]\n");
        assert!(edit.range.start >= 12, "{edits:?}");
        assert_eq!(analysis(&formatted).formatting(), Ok(Vec::new()));
        assert!(analysis("a: [b").formatting().is_err());
        assert_eq!(analysis("methods:\n").formatting(), Ok(Vec::new()));
    }
}
