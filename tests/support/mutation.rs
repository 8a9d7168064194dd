//! Random mutations of all sources in the repository.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;

use super::case::{Case, inputs};
use super::sections;

/// Tokens that trigger overflows, invalid indices and deep nesting in unchecked code.
pub const EDGE_CASES: &[&str] = &[
    "-1",
    "0",
    "1",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "4611686018427387904",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e400",
    "-1e308",
    "1e-400",
    ".nan",
    "-.inf",
    "1+2j",
    "0x7fffffffffffffff",
    "017",
    "null",
    "~",
    "true",
    "\"\"",
    "[]",
    "{}",
    "[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]",
    "[2147483647, 2147483647, 2147483647, 2147483647]",
    "[0, 2147483647, 2147483647, 2147483647, 2147483647]",
    "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]",
    "{fill: 1, size: 18446744073709551615}",
    "{iota: {start: 1e308, step: 1e308}}",
    "{random: {seed: 1, distribution: normal, mean: .nan, std: .inf}}",
    "{random: {seed: 18446744073709551615}}",
    "{file: /dev/null}",
    "{file: .}",
    "{index: 2147483647}",
    "{index: -1}",
    "{pool: 0}",
    "{pool: 0, offset: 0}",
    "{pool: 4294967295}",
    "{pool: 4294967295, offset: 18446744073709551615}",
    "page",
    "1073741824",
    "none",
    "inline",
    "auto",
    "dynamic_unbound",
    "float64",
    "complex128",
    "bits16",
    "quint4x2",
    "200",
    "é",
    "\u{feff}",
    "\u{0}",
    "\r\n",
    "\t",
    "&a",
    "*a",
    "<<:",
    "? ",
    "!!binary",
    "|",
    ">-",
    "---",
    "...",
    "%YAML 1.2",
    "# ",
];

/// All sources of the repository, with the folders that their paths are relative to.
pub static SOURCES: LazyLock<Vec<(PathBuf, String)>> = LazyLock::new(|| {
    let cases = [inputs("examples"), inputs("tests/golden/upstream/bytes"), sections::errors()];
    let source = |case: Case| {
        // Alias bombs are slow to parse, long sources slow to mutate.
        let text = fs::read_to_string(&case.input).ok().filter(|text| text.len() < 4000)?;
        (!case.name().ends_with("_bomb")).then(|| (case.input.parent().unwrap().to_owned(), text))
    };
    let mut sources: Vec<(PathBuf, String)> = cases.into_iter().flatten().filter_map(source).collect();
    sources.sort_by(|a, b| a.1.cmp(&b.1));
    assert!(sources.len() > 400, "{} sources", sources.len());
    sources
});

/// Change to a source. Positions are fractions of its length or token numbers modulo the number of tokens, so that any
/// mutation applies to any source.
#[derive(Debug, Clone)]
pub enum Mutation {
    Flip(u16, u8),
    Delete(u16, u8),
    Duplicate(u16, u8),
    Swap(u16, u16),
    Replace(u16, usize),
    Insert(u16, usize),
    Truncate(u16),
}

pub fn mutation() -> impl Strategy<Value = Mutation> {
    let token = 0..EDGE_CASES.len();
    prop_oneof![
        1 => (any::<u16>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Flip(at, byte)),
        1 => (any::<u16>(), 1..40u8).prop_map(|(at, length)| Mutation::Delete(at, length)),
        1 => (any::<u16>(), 1..80u8).prop_map(|(at, length)| Mutation::Duplicate(at, length)),
        2 => (any::<u16>(), any::<u16>()).prop_map(|(a, b)| Mutation::Swap(a, b)),
        6 => (any::<u16>(), token.clone()).prop_map(|(at, word)| Mutation::Replace(at, word)),
        1 => (any::<u16>(), token).prop_map(|(at, word)| Mutation::Insert(at, word)),
        1 => any::<u16>().prop_map(Mutation::Truncate),
    ]
}

/// Byte ranges of the words and numbers of a source.
pub fn tokens(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'+' | 0x80..);
    let mut tokens = Vec::new();
    let mut start = None;
    for (at, byte) in text.iter().copied().chain([b' ']).enumerate() {
        match (start, inside(byte)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                tokens.push(from..at);
                start = None;
            }
            _ => {}
        }
    }
    tokens
}

pub fn apply(text: &mut Vec<u8>, mutation: &Mutation) {
    let position = |fraction: u16| usize::from(fraction) * text.len() / 65536;
    let token = |number: u16| {
        let tokens = tokens(text);
        (!tokens.is_empty()).then(|| tokens[usize::from(number) % tokens.len()].clone())
    };
    match *mutation {
        Mutation::Flip(at, byte) => {
            let at = position(at);
            if let Some(found) = text.get_mut(at) {
                *found = byte;
            }
        }
        Mutation::Delete(at, length) => {
            let at = position(at);
            let end = text.len().min(at + usize::from(length));
            text.drain(at..end);
        }
        Mutation::Duplicate(at, length) => {
            let at = position(at);
            let end = text.len().min(at + usize::from(length));
            let again = text[at..end].to_vec();
            text.splice(at..at, again);
        }
        Mutation::Swap(a, b) => {
            if let (Some(a), Some(b)) = (token(a), token(b)) {
                let (first, second) = if a.start <= b.start { (a, b) } else { (b, a) };
                let (left, right) = (text[first.clone()].to_vec(), text[second.clone()].to_vec());
                if first != second {
                    text.splice(second, left);
                    text.splice(first, right);
                }
            }
        }
        Mutation::Replace(at, word) => {
            if let Some(range) = token(at) {
                text.splice(range, EDGE_CASES[word].bytes());
            }
        }
        Mutation::Insert(at, word) => {
            let at = position(at);
            text.splice(at..at, EDGE_CASES[word].bytes());
        }
        Mutation::Truncate(at) => {
            let at = position(at);
            text.truncate(at);
        }
    }
}

/// A mutated source, and the folder that its paths are relative to.
pub fn mutated(source: usize, mutations: &[Mutation]) -> (&'static Path, String) {
    let (folder, text) = &SOURCES[source % SOURCES.len()];
    let mut bytes = text.clone().into_bytes();
    for mutation in mutations {
        apply(&mut bytes, mutation);
    }
    (folder, String::from_utf8_lossy(&bytes).into_owned())
}
