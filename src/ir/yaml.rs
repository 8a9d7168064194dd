//! Writes names, numbers, lists and maps in YAML flow style, on one line. The quotes of strings are `pte_yaml`'s.

use std::borrow::Cow;
use std::fmt::{Display, Write};

pub use pte_yaml::quotes::{quoted, text};

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
    fn names_of_operators_need_no_quotes() {
        assert_eq!(operator("aten::add.out"), "aten::add.out");
        assert_eq!(operator("aten::copy_"), "aten::copy_");
    }
}
