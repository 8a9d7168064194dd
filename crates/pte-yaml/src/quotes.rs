//! Quotes of strings in YAML: which strings need them, and escapes.

use std::borrow::Cow;
use std::fmt::Write;

use pte_model::diagnostics::is_unsafe;

/// Returns a string without quotes if that is safe in every context, and otherwise in double quotes, as in JSON.
pub fn text(text: &str) -> Cow<'_, str> {
    let word = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.')
        && text.as_bytes().first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    // Words with another meaning in YAML 1.1 or 1.2.
    const RESERVED: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    let reserved = RESERVED.iter().any(|reserved| text.eq_ignore_ascii_case(reserved));
    // `y` and `n` are common names. They are booleans only in YAML 1.1, which the parser does not implement.
    if word && (!reserved || text == "y" || text == "n") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(quoted(text))
}

/// Returns a string in double quotes, with escapes for nonprintable characters and line breaks of YAML.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            // `${` would be parsed as a reference to a definition.
            '$' if characters.peek() == Some(&'{') => out.push_str("\\u0024"),
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' if !is_unsafe(c) => out.push(c),
            '\u{10000}'.. if !is_unsafe(c) => out.push(c),
            '\u{10000}'.. => _ = write!(out, "\\U{:08x}", u32::from(c)),
            c => _ = write!(out, "\\u{:04x}", u32::from(c)),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_safe_words_are_unquoted() {
        assert_eq!(text("l.weight"), "l.weight");
        assert_eq!(text("yes"), "\"yes\"");
        assert_eq!(text("0.weight"), "\"0.weight\"");
        assert_eq!(text("a b"), "\"a b\"");
        assert_eq!(text(""), "\"\"");
        assert_eq!(text("a\u{7f}\u{1}\n\u{feff}\u{2028}é\u{1f600}"), "\"a\\u007f\\u0001\\n\\ufeff\\u2028é\u{1f600}\"");
    }
}
