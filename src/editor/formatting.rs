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
        if self.documents.is_empty() {
            return Err("the text is not analysed".to_owned());
        }
        let (text, name) = (self.text(), self.documents.first().map_or("", |document| &document.source.name));
        let model = Model::from_yaml(name, text, ".");
        let formatted = model.formatted(ComputedKeys::AsWritten).map_err(|error| error.to_string())?;
        let formatted = with_ends_of(text, formatted);
        let mut start: usize =
            text.chars().zip(formatted.chars()).take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
        if start == text.len() && start == formatted.len() {
            return Ok(Vec::new());
        }
        start -= usize::from(text[..start].ends_with('\r'));
        let ends = text[start..].chars().rev().zip(formatted[start..].chars().rev());
        let mut same: usize = ends.take_while(|(a, b)| a == b).map(|(c, _)| c.len_utf8()).sum();
        // The two characters of a line end stay together.
        let (old, new) = (&text[..text.len() - same], &formatted[..formatted.len() - same]);
        same -= usize::from(text[old.len()..].starts_with('\n') && (old.ends_with('\r') || new.ends_with('\r')));
        let new = formatted[start..formatted.len() - same].to_owned();
        Ok(vec![TextEdit { range: start..text.len() - same, text: new }])
    }
}

/// Returns a text, whose lines end with line feeds, with the line ends that most lines of another one have.
fn with_ends_of(text: &str, formatted: String) -> String {
    let (pairs, all) = (text.matches("\r\n").count(), text.matches('\n').count());
    if 2 * pairs > all { formatted.replace('\n', "\r\n") } else { formatted }
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

    #[test]
    fn an_empty_value_stays_empty() {
        assert_eq!(formatted("methods: ~\n"), "methods: null\n");
        assert_eq!(formatted("name: a~b\nmethods:\n    f:\n"), "name: a~b\nmethods:\n  f:\n");
    }

    #[test]
    fn line_ends_are_those_of_most_lines() {
        let crlf = "name: a\r\nmethods:   {}\r\n";
        for (text, expected) in [
            (crlf, "name: a\r\nmethods: {}\r\n"),
            ("name: a\r\nmethods: {}\r\n", "name: a\r\nmethods: {}\r\n"),
            ("name: a\r\nruntime: \"1.0\"\r\nmethods: {}\n", "name: a\r\nruntime: \"1.0\"\r\nmethods: {}\r\n"),
            ("name: a\r\nruntime: \"1.0\"\nmethods: {}\n", "name: a\nruntime: \"1.0\"\nmethods: {}\n"),
            ("{\"methods\":\r\n{}}\r\n", "{\r\n  \"methods\": {}\r\n}\r\n"),
            ("name: a\r\nmethods: {}\r\n\r\n", "name: a\r\nmethods: {}\r\n"),
        ] {
            assert_eq!(formatted(text), expected, "{text:?}");
        }
        // No edit begins or ends inside of a line end.
        for text in [crlf, "name: a\r\nmethods: {}\r\n\r\n", "name: a\r\nx: 1\r\nmethods: {}\n"] {
            for edit in analysis(text).formatting().unwrap() {
                let divides = |at: usize| text[..at].ends_with('\r') && text[at..].starts_with('\n');
                assert!(!divides(edit.range.start) && !divides(edit.range.end), "{text:?}: {edit:?}");
            }
        }
    }

    fn formatted(text: &str) -> String {
        let mut formatted = text.to_owned();
        let edits = analysis(text).formatting().unwrap();
        edits.into_iter().rev().for_each(|edit| formatted.replace_range(edit.range, &edit.text));
        formatted
    }
}
