//! Writes names, strings, numbers, lists and maps in YAML flow style, on one line.

use std::borrow::Cow;
use std::fmt::{Display, Write};

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

/// Returns the name of an operator; its `::` needs no quotes.
pub fn operator(name: &str) -> Cow<'_, str> {
    match name.split("::").all(|part| self::text(part) == part) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(quoted(name)),
    }
}

/// Returns the path of a file. The digest of its content, in its place, needs no quotes.
pub fn path(path: &str) -> Cow<'_, str> {
    match path.strip_prefix("sha256-") {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => Cow::Borrowed(path),
        Some(_) | None => self::text(path),
    }
}

/// Appends an integer or a bool.
pub fn number(n: impl Display, out: &mut String) {
    let _ = write!(out, "{n}");
}

/// Returns bytes as a map with their hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    format!("{{hex: \"{}\"}}", data_encoding::HEXLOWER.encode(bytes))
}

/// Appends items in brackets, each written by `write`.
pub fn list<T>(out: &mut String, items: impl IntoIterator<Item = T>, mut write: impl FnMut(T, &mut String)) {
    out.push('[');
    for (position, item) in items.into_iter().enumerate() {
        if position > 0 {
            out.push_str(", ");
        }
        write(item, out);
    }
    out.push(']');
}

/// Writer of a map in braces.
pub struct FlowMap<'o> {
    out: &'o mut String,
    empty: bool,
}

impl<'o> FlowMap<'o> {
    /// Begins a map.
    pub fn new(out: &'o mut String) -> FlowMap<'o> {
        out.push('{');
        FlowMap { out, empty: true }
    }

    /// Begins a field; the caller appends its value to the returned string.
    pub fn key(&mut self, key: &str) -> &mut String {
        if !std::mem::replace(&mut self.empty, false) {
            self.out.push_str(", ");
        }
        self.out.push_str(key);
        self.out.push_str(": ");
        self.out
    }

    /// Ends the map.
    pub fn end(self) {
        self.out.push('}');
    }
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
        assert_eq!(operator("aten::add.out"), "aten::add.out");
        assert_eq!(operator("aten::copy_"), "aten::copy_");
    }
}
