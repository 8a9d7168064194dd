//! Text processing before YAML is parsed: expands `${NAME}`, and splits a file into its documents.
//!
//! The content of a document is not parsed here.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::tree::SyntaxError;

/// A source with its variables expanded, and the names of the variables that it uses.
pub type Expansion<'t> = (Cow<'t, str>, BTreeSet<&'t str>);

/// Maximum length in bytes of a name and its default.
const WINDOW: usize = 4096;

/// Maximum length in bytes of an expanded source.
const MAX_FILLED: usize = 256 << 20;

/// Replaces `${NAME}` and `${NAME:default}`. In quotes, `"\x24{"` stays what it is.
///
/// # Errors
/// Names that are not defined and have no default, each with its byte range.
pub fn fill<'t>(text: &'t str, definitions: &BTreeMap<String, String>) -> Result<Expansion<'t>, Vec<SyntaxError>> {
    let mut used = BTreeSet::new();
    let (mut out, mut errors) = (String::new(), Vec::new());
    let mut rest = 0;
    while let Some(found) = text[rest..].find("${").filter(|_| out.len() <= MAX_FILLED) {
        let start = rest + found;
        out.push_str(&text[rest..start]);
        let inside = &text[start + 2..];
        let mut window = inside.len().min(WINDOW);
        while !inside.is_char_boundary(window) {
            window -= 1;
        }
        let line = inside[..window].lines().next().unwrap_or_default();
        let Some(end) = line.find('}') else {
            errors.push(error(
                start..start + 2,
                "`${` has no `}` on its line; for the characters themselves write \"\\x24{\"",
            ));
            rest = start + 2;
            continue;
        };
        let (name, default) = match line[..end].split_once(':') {
            Some((name, default)) => (name, Some(default)),
            None => (&line[..end], None),
        };
        rest = start + 2 + end + 1;
        if !is_name(name) {
            errors.push(error(start..rest, &format!("`{name}` is not a name; expected letters, digits and _")));
            continue;
        }
        used.insert(name);
        match definitions.get(name).map(String::as_str).or(default) {
            Some(value) => out.push_str(value),
            None => errors.push(error(
                start..rest,
                &format!(
                    "undefined variable `{name}`; define it with -D {name}=VALUE, or write a default: ${{{name}:0}}"
                ),
            )),
        }
    }
    if errors.is_empty() && out.len() > MAX_FILLED {
        errors.push(error(0..0, "the expanded source exceeds 256 MiB"));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if rest == 0 {
        return Ok((Cow::Borrowed(text), used));
    }
    out.push_str(&text[rest..]);
    Ok((Cow::Owned(out), used))
}

/// Returns true for a valid name of a variable.
pub fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn error(span: Range<usize>, message: &str) -> SyntaxError {
    SyntaxError { span, message: message.to_owned() }
}

/// Splits a source at lines that begin with `---`. Returns each document with the number of lines before it.
pub fn documents(text: &str) -> Vec<(usize, &str)> {
    let mut starts = Vec::new();
    let mut position = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let marker = line.strip_prefix("---");
        if marker.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n'])) {
            starts.push((number, position));
        }
        position += line.len();
    }
    // Before the first line of dashes there may be comments only, or a document.
    let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with(['#', '%']);
    match starts.first_mut() {
        // The comments belong to the first document.
        Some(first) if text[..first.1].lines().all(is_comment) => *first = (0, 0),
        _ => starts.insert(0, (0, 0)),
    }
    let ends = starts[1..].iter().map(|(_, start)| *start).chain([text.len()]);
    starts.iter().zip(ends).map(|((lines, start), end)| (*lines, &text[*start..end])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, Vec<String>> {
        let definitions = [("A", "1"), ("EMPTY", ""), ("NESTED", "${A}")];
        let definitions = definitions.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let filled = fill(text, &definitions).map(|(text, _)| text.into_owned());
        filled.map_err(|errors| errors.iter().map(|error| text[error.span.clone()].to_owned()).collect())
    }

    #[test]
    fn names_become_what_they_are_defined_to_be() {
        for (text, expected) in [
            ("a: 1", "a: 1"),
            ("a: ${A}", "a: 1"),
            ("${A}${A}", "11"),
            ("[${EMPTY}]", "[]"),
            ("[${B:7}, ${A:7}, ${B:}]", "[7, 1, ]"),
            ("${B:a:b}", "a:b"),
            // Expansion is not recursive.
            ("${NESTED}", "${A}"),
            ("\"\\x24{A}\" $A {A}", "\"\\x24{A}\" $A {A}"),
        ] {
            assert_eq!(filled(text).as_deref(), Ok(expected), "{text}");
        }
        assert_eq!(filled("${B} ${A} ${C}").unwrap_err(), ["${B}", "${C}"]);
        assert_eq!(filled("${").unwrap_err(), ["${"]);
        assert_eq!(filled("${A\n}").unwrap_err(), ["${"]);
        assert_eq!(filled("${1}${}").unwrap_err(), ["${1}", "${}"]);
    }

    #[test]
    fn documents_keep_their_lines() {
        assert_eq!(documents("a: 1\n"), [(0, "a: 1\n")]);
        assert_eq!(documents(""), [(0, "")]);
        assert_eq!(documents("---\na: 1\n"), [(0, "---\na: 1\n")]);
        assert_eq!(documents("# c\n---\na: 1\n"), [(0, "# c\n---\na: 1\n")]);
        let three = [(0, "# c\n---\na: 1\n"), (3, "---\nb: 2\n"), (5, "--- # d\nc: 3")];
        assert_eq!(documents("# c\n---\na: 1\n---\nb: 2\n--- # d\nc: 3"), three);
        assert_eq!(documents("a: 1\n---\nb: 2\n"), [(0, "a: 1\n"), (1, "---\nb: 2\n")]);
        assert_eq!(documents("---a: 1\n ---\n"), [(0, "---a: 1\n ---\n")]);
    }
}
