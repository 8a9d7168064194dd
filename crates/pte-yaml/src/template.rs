//! Text processing before YAML is parsed: expands `${NAME}`, and splits a file into its documents.
//!
//! The content of a document is not parsed here.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use super::tree::{self, NodeId, NodeValue, SourceNode, SyntaxError};
use pte_model::diagnostics::Code;

/// A source with its variables expanded.
#[derive(Debug)]
pub struct Expansion<'t> {
    /// The expanded source.
    pub text: Cow<'t, str>,
    /// Names of the variables that it uses.
    pub used: BTreeSet<&'t str>,
    /// Byte ranges in `text` of quoted numbers that consisted of a single variable, with the quotes, in ascending
    /// order.
    pub quoted_numbers: Vec<Range<usize>>,
    /// Byte ranges of the variables in the source, and of their values in `text`, in ascending order.
    pub replaced: Vec<(Range<usize>, Range<usize>)>,
}

/// Maximum length in bytes of a name and its default.
const WINDOW: usize = 4096;

/// Number of errors after which the rest is not expanded.
const MAX_ERRORS: usize = 1000;

/// Maximum length in bytes of an expanded source.
const MAX_FILLED: usize = 256 << 20;

/// Replaces `${NAME}` and `${NAME:default}`. In quotes, `"\x24{"` is not changed.
///
/// # Errors
/// Names without a definition and a default, each with its byte range.
pub fn fill<'t>(text: &'t str, definitions: &BTreeMap<String, String>) -> Result<Expansion<'t>, Vec<SyntaxError>> {
    let mut used = BTreeSet::new();
    let (mut out, mut errors, mut quoted_numbers) = (String::new(), Vec::new(), Vec::new());
    let mut replaced = Vec::new();
    let mut rest = 0;
    while let Some(found) = text[rest..].find("${").filter(|_| out.len() <= MAX_FILLED && errors.len() < MAX_ERRORS) {
        let start = rest + found;
        out.push_str(&text[rest..start]);
        let (end, variable) = variable(text, start);
        rest = end;
        let (name, default) = match variable {
            Ok(found) => found,
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        used.insert(name);
        match definitions.get(name).map(String::as_str).or(default) {
            Some(value) => {
                let before = out.as_bytes().last().filter(|quote| matches!(quote, b'"' | b'\''));
                if before.is_some() && before == text.as_bytes().get(rest) && is_number(value) {
                    quoted_numbers.push(out.len() - 1..out.len() + value.len() + 1);
                }
                out.push_str(value);
                replaced.push((start..rest, out.len() - value.len()..out.len()));
            }
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
        return Ok(Expansion { text: Cow::Borrowed(text), used, quoted_numbers, replaced });
    }
    out.push_str(&text[rest..]);
    Ok(Expansion { text: Cow::Owned(out), used, quoted_numbers, replaced })
}

/// A variable: its name and its default.
type Variable<'t> = (&'t str, Option<&'t str>);

/// Reads the variable that begins at `start`. Returns the position after it, too.
fn variable(text: &str, start: usize) -> (usize, Result<Variable<'_>, SyntaxError>) {
    let inside = &text[start + 2..];
    let mut window = inside.len().min(WINDOW);
    while !inside.is_char_boundary(window) {
        window -= 1;
    }
    let line = inside[..window].lines().next().unwrap_or_default();
    let Some(end) = line.find('}') else {
        let message = "`${` has no `}` on its line; for the characters themselves write \"\\x24{\"";
        return (start + 2, Err(error(start..start + 2, message)));
    };
    let (name, default) = match line[..end].split_once(':') {
        Some((name, default)) => (name, Some(default)),
        None => (&line[..end], None),
    };
    let end = start + 2 + end + 1;
    if !is_name(name) {
        let message = format!("`{name}` is not a name; expected letters, digits and _");
        return (end, Err(error(start..end, &message)));
    }
    (end, Ok((name, default)))
}

/// Returns the byte ranges of all variables, in ascending order.
///
/// # Errors
/// The first malformed one.
pub fn variables(text: &str) -> Result<Vec<Range<usize>>, SyntaxError> {
    let (mut ranges, mut rest) = (Vec::new(), 0);
    while let Some(found) = text[rest..].find("${") {
        let start = rest + found;
        let (end, variable) = variable(text, start);
        variable?;
        ranges.push(start..end);
        rest = end;
    }
    Ok(ranges)
}

/// Returns true for a string that is a number without quotes.
fn is_number(value: &str) -> bool {
    number(value).is_some()
}

/// Returns the number that a string is without quotes.
pub(crate) fn number(value: &str) -> Option<NodeValue<'static>> {
    // The other characters of YAML could make it more than a scalar, and most words are no numbers.
    if !value.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
        || !value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte))
    {
        return None;
    }
    match tree::parse(value).ok()?.value {
        NodeValue::Int(n) => Some(NodeValue::Int(n)),
        NodeValue::UInt(n) => Some(NodeValue::UInt(n)),
        NodeValue::Float(x) => Some(NodeValue::Float(x)),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Text(_) | NodeValue::List(_) | NodeValue::Map(_) => None,
    }
}

/// Replaces the strings at these byte ranges ([`Expansion::quoted_numbers`]) by numbers, unless they are keys or parts
/// of other strings. Returns the strings, for positions where a string is expected. `span` returns the byte range of a
/// node.
pub fn unquote(
    root: &mut SourceNode<'_>,
    ranges: &[Range<usize>],
    span: impl Fn(NodeId) -> Option<Range<usize>>,
) -> HashMap<NodeId, String> {
    let mut strings = HashMap::new();
    if ranges.is_empty() {
        return strings;
    }
    let mut nodes = vec![root];
    while let Some(node) = nodes.pop() {
        let span = span(node.id);
        let range = span.as_ref().and_then(|span| ranges.binary_search_by_key(&span.start, |range| range.start).ok());
        let is_quoted = range.is_some_and(|range| span.as_ref() == Some(&ranges[range]));
        if let NodeValue::Text(string) = &node.value
            && let Some(value) = number(string).filter(|_| is_quoted)
        {
            strings.insert(node.id, string.clone().into_owned());
            node.value = value;
        }
        nodes.extend(node.children_mut().map(|(_, child)| child));
    }
    strings
}

/// Returns true for a valid name of a variable: `${NAME}` in YAML, which [`fill`] replaces.
///
/// ```
/// use pte_yaml::template::is_name;
///
/// assert!(is_name("batch_1") && !is_name("1"));
/// ```
pub fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn error(span: Range<usize>, message: &str) -> SyntaxError {
    SyntaxError { code: Code::Variable, span, message: message.to_owned() }
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
    // There may be only comments, or a document, before the first line of dashes. The end of a document is none itself.
    let is_end = |line: &str| line.split([' ', '\t']).next() == Some("...");
    let is_comment = |line: &str| line.trim().is_empty() || line.trim_start().starts_with(['#', '%']) || is_end(line);
    match starts.first_mut() {
        // The comments belong to the first document.
        Some(first) if text[..first.1].lines().all(is_comment) => *first = (0, 0),
        _ => starts.insert(0, (0, 0)),
    }
    let ends = starts[1..].iter().map(|(_, start)| *start).chain([text.len()]);
    starts.iter().zip(ends).map(|((lines, start), end)| (*lines, &text[*start..end])).collect()
}

/// Returns a text with some ranges replaced; `None` if they overlap, or are none of the text.
///
/// ```
/// let edits = vec![(2..3, "x".to_owned()), (0..1, String::new())];
/// assert_eq!(pte_yaml::template::replaced("abc", edits).as_deref(), Some("bx"));
/// assert_eq!(pte_yaml::template::replaced("abc", vec![(0..2, String::new()), (1..3, String::new())]), None);
/// ```
pub fn replaced(text: &str, mut edits: Vec<(Range<usize>, String)>) -> Option<String> {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for (range, new) in edits {
        out += text.get(from..range.start)?;
        out += &new;
        from = range.end;
    }
    out += text.get(from..)?;
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, Vec<String>> {
        let definitions = [("A", "1"), ("EMPTY", ""), ("NESTED", "${A}")];
        let definitions = definitions.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let filled = fill(text, &definitions).map(|expansion| expansion.text.into_owned());
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
    fn numbers_in_quotes_are_found() {
        let definitions = [("A", "1"), ("B", "a"), ("C", "1, 2"), ("D", "017")];
        let definitions = definitions.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let text = r#"["${A}", '${A}', "x${A}", "${A}${A}", "${B}", "${C}", "${D}", "${E:-0.5e3}", "${A}']"#;
        let Expansion { text, quoted_numbers, .. } = fill(text, &definitions).unwrap();
        let found: Vec<&str> = quoted_numbers.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["\"1\"", "'1'", "\"-0.5e3\""]);
    }

    /// The quotes of other strings, comments and keys stay.
    #[test]
    fn only_whole_values_become_numbers() {
        let text = "a: \"${A}\" # \"${A}\"\nb: |\n  \"${A}\"\n\"${A}\": 'it ''${A}'' is'\nc: [ '${A}' ,'${A:2}']\nd: x \"${A}\"\n";
        let definitions = [("A".to_owned(), "7".to_owned())].into();
        let Expansion { text, quoted_numbers, .. } = fill(text, &definitions).unwrap();
        let mut root = tree::parse(&text).unwrap();
        let spans = tree::spans(&text);
        let strings = unquote(&mut root, &quoted_numbers, |id| spans.get(id.0 as usize).cloned());
        assert_eq!(strings.len(), 3);
        let plain = "a: 7\nb: |\n  \"7\"\n\"7\": 'it ''7'' is'\nc: [7, 7]\nd: x \"7\"\n";
        assert_eq!(root, tree::parse(plain).unwrap());
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
        assert_eq!(documents("...\n---  # d\nb: 2\n"), [(0, "...\n---  # d\nb: 2\n")]);
        assert_eq!(documents("---a: 1\n ---\n"), [(0, "---a: 1\n ---\n")]);
    }
}
