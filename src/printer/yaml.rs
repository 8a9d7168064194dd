//! How single things are written in YAML: names, texts, numbers. Everything is written on one line, in flow style.

use std::borrow::Cow;
use std::fmt::{Display, Write};


/// A text as a plain word if that is safe anywhere, else in double quotes, which JSON and YAML share.
pub fn text(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.')
        && text.as_bytes().first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
    // What a parser takes for something else, in YAML 1.1 or 1.2.
    const TAKEN: &[&str] = &["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf"];
    let taken = TAKEN.iter().any(|taken| text.eq_ignore_ascii_case(taken));
    // The one-letter ones are names that people like; only old parsers mistake them, and ours is told not to.
    if plain && (!taken || text == "y" || text == "n") {
        return Cow::Borrowed(text);
    }
    Cow::Owned(quoted(text))
}

/// A text in double quotes, with escapes for all that YAML does not print or takes for a line's end.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            // `${` would be taken for a name that somebody defines.
            '$' if characters.peek() == Some(&'{') => out.push_str("\\u0024"),
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}'
                if c != '\u{feff}' =>
            {
                out.push(c);
            }
            '\u{10000}'.. => out.push(c),
            c => _ = write!(out, "\\u{:04x}", u32::from(c)),
        }
    }
    out.push('"');
    out
}

/// An operator's name, whose colons are safe.
pub fn operator(name: &str) -> Cow<'_, str> {
    match name.split("::").all(|part| self::text(part) == part) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(quoted(name)),
    }
}

/// An integer, or a bool.
pub fn number(n: impl Display, out: &mut String) {
    let _ = write!(out, "{n}");
}

/// Items in brackets, each written by `one`.
pub fn list<T>(out: &mut String, items: impl IntoIterator<Item = T>, mut one: impl FnMut(T, &mut String)) {
    out.push('[');
    for (position, item) in items.into_iter().enumerate() {
        if position > 0 {
            out.push_str(", ");
        }
        one(item, out);
    }
    out.push(']');
}

/// A map in braces, in the making.
pub struct Fields<'o> {
    out: &'o mut String,
    empty: bool,
}

impl<'o> Fields<'o> {
    /// Begins a map.
    pub fn new(out: &'o mut String) -> Fields<'o> {
        out.push('{');
        Fields { out, empty: true }
    }

    /// Begins a field; its value is to be written to what is returned.
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
    fn only_safe_words_are_plain() {
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
