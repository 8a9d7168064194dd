//! Text of messages: counts, names of unknown length from an input, the nearest of several names.
//!
//! Messages and tables show content of an input only through [`escaped`] or [`clipped`], so that it cannot forge
//! output.
//!
//! ```
//! use pte_model::diagnostics::text::{
//!     ROW, clipped, clipped_to, counted, escaped, escaped_json, first_names, is_unsafe, label, nearest,
//! };
//!
//! assert_eq!((counted(1, "byte"), counted(2, "entry")), ("1 byte".to_owned(), "2 entries".to_owned()));
//! assert_eq!((&*escaped("a\u{1b}[2K"), &*escaped_json("\"\u{7f}\"")), ("a\\u{1b}[2K", "\"\\u007f\""));
//! assert!(is_unsafe('\u{202e}') && !is_unsafe('e'));
//! assert_eq!((clipped_to("weights", 3), clipped(&"x".repeat(ROW)).len()), ("wei...".to_owned(), 63));
//! assert_eq!(first_names(["a", "b", "c", "d", "e", "f"].into_iter()), "`a`, `b`, `c`, `d`, `e` and 1 more");
//! assert_eq!(nearest("sizs", ["sizes", "data"]), Some("sizes"));
//! assert_eq!(label("m.yaml", Some(2)), "m.yaml: document 2");
//! ```

use std::borrow::Cow;
use std::fmt;

/// A count with a noun, formatted when it is displayed: `3 arguments`, `1 argument`, `0 entries`.
#[derive(Debug, Clone, Copy)]
#[doc(hidden)]
pub struct Counted<'n, N>(pub N, pub &'n str);

impl<N: fmt::Display + PartialEq + From<u8>> fmt::Display for Counted<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counted(count, noun) = self;
        match noun.strip_suffix('y') {
            _ if *count == 1.into() => write!(f, "{count} {noun}"),
            Some(stem) => write!(f, "{count} {stem}ies"),
            None => write!(f, "{count} {noun}s"),
        }
    }
}

/// Formats a count with a noun in the singular: `3 arguments`, `1 argument`, `0 entries`.
pub fn counted(count: impl fmt::Display + PartialEq + From<u8>, noun: &str) -> String {
    Counted(count, noun).to_string()
}

/// Returns the name of a file before a message about it as a whole: with the number of a document, from 1, if the file
/// has several.
pub fn label(name: &str, document: Option<usize>) -> String {
    let name = escaped(name);
    document.map_or_else(|| name.to_string(), |number| format!("{name}: document {number}"))
}

/// Returns true for a character that could forge or hide text of a terminal or a log: control characters, line breaks,
/// and those of the general category Cf (format), which have no width or change the direction of text.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

/// Formats the escape sequence of a character in JSON: of its UTF-16 code units.
#[doc(hidden)]
pub fn json_escape(c: char) -> String {
    c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// Escapes control characters and those that have no width or change the direction of text, as in a Rust string.
/// Everything from an input that is printed as text passes through this.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_unsafe(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Escapes the characters of [`escaped`] except line feeds in a JSON text, in which they only occur inside of strings.
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    let replaced = |c: char| c != '\n' && is_unsafe(c);
    if !json.contains(replaced) {
        return Cow::Borrowed(json);
    }
    let escape = |c: char| if replaced(c) { json_escape(c) } else { c.to_string() };
    Cow::Owned(json.chars().map(escape).collect())
}

/// Truncates a string of the source to 60 characters and escapes it, for a message.
pub fn clipped(text: &str) -> String {
    clipped_to(text, 60)
}

/// Characters of a row of text that a command prints: names in it may be of any length.
pub const ROW: usize = 1000;

/// Truncates a string to some characters and escapes it.
pub fn clipped_to(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((at, _)) => format!("{}...", escaped(&text[..at])),
        None => escaped(text).into_owned(),
    }
}

/// Maximum number of names in a list of [`first_names`].
const MAX_NAMES: usize = 5;

/// Returns the first few names for a message, and the number of the others: `` `a`, `b`, ... and 2 more``.
pub fn first_names<'n>(mut names: impl Iterator<Item = &'n str>) -> String {
    let shown: Vec<String> = names.by_ref().take(MAX_NAMES).map(|name| format!("`{}`", clipped(name))).collect();
    match names.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Returns the path of a value with its name.
///
/// ```
/// use pte_model::diagnostics::text::named_path;
///
/// assert_eq!(named_path("methods.forward.values[2]", "bias"), "methods.forward.bias (values[2])");
/// ```
pub fn named_path(path: &str, name: &str) -> String {
    let (method, value) = path.rsplit_once('.').map_or(("", path), |(method, value)| (method, value));
    let dot = if method.is_empty() { "" } else { "." };
    format!("{method}{dot}{name} ({value})")
}

/// Returns the known name nearest to `unknown`, if it is likely a typo: an edit distance of up to a third of the
/// length.
pub fn nearest<'n>(unknown: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let length = unknown.chars().count();
    let allowed = (length / 3).max(1).min(length.saturating_sub(1));
    known
        .into_iter()
        // Names of another length are not near: skipping them keeps long lists of names cheap.
        .filter(|name| name.len().abs_diff(unknown.len()) <= allowed)
        .map(|name| (strsim::damerau_levenshtein(unknown, name), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found() {
        assert_eq!(nearest("sizs", ["sizes", "data", "size_of_it"]), Some("sizes"));
        assert_eq!(nearest("bais", ["bias", "gain"]), Some("bias"));
        assert_eq!(nearest("weight", ["x", "y"]), None);
    }

    #[test]
    fn one_is_singular() {
        let all = [(0u64, "byte"), (1, "byte"), (2, "entry"), (1, "entry")].map(|(count, noun)| counted(count, noun));
        assert_eq!(all, ["0 bytes", "1 byte", "2 entries", "1 entry"]);
    }
}
