//! Texts that go wrong in likely and unlikely ways: all texts of the repository, changed at random.
//!
//! What is asked of them is the tests' business.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;

/// Words that are likely to meet an unchecked sum, index or depth.
pub const ODD: &[&str] = &[
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

/// All texts of the repository, with the folders that their data are in.
pub static TEXTS: LazyLock<Vec<(PathBuf, String)>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Vec::new();
    for folder in ["examples", "tests/golden/upstream/bytes", "tests/golden/snapshots/errors"] {
        let entries = fs::read_dir(root.join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
        for path in entries.map(|entry| entry.unwrap().path()) {
            // The bombs are slow to defuse, and long lines to mutate: they would take the others' time.
            let bomb = path.file_stem().is_some_and(|name| name.to_string_lossy().ends_with("_bomb"));
            if path.extension().is_some_and(|extension| extension == "yaml" || extension == "json")
                && !bomb
                && let Ok(text) = fs::read_to_string(&path)
                && text.len() < 4000
            {
                texts.push((root.join(folder), text));
            }
        }
    }
    texts.sort();
    assert!(texts.len() >= 412, "{} sources to mutate", texts.len());
    texts
});

/// A change to a text; places are fractions of its length or numbers modulo its tokens, so that any fits any text.
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
    let odd = 0..ODD.len();
    prop_oneof![
        1 => (any::<u16>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Flip(at, byte)),
        1 => (any::<u16>(), 1..40u8).prop_map(|(at, length)| Mutation::Delete(at, length)),
        1 => (any::<u16>(), 1..80u8).prop_map(|(at, length)| Mutation::Duplicate(at, length)),
        2 => (any::<u16>(), any::<u16>()).prop_map(|(a, b)| Mutation::Swap(a, b)),
        6 => (any::<u16>(), odd.clone()).prop_map(|(at, word)| Mutation::Replace(at, word)),
        1 => (any::<u16>(), odd).prop_map(|(at, word)| Mutation::Insert(at, word)),
        1 => any::<u16>().prop_map(Mutation::Truncate),
    ]
}

/// Byte ranges of the words and numbers of a text: what a person would exchange.
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
    let place = |fraction: u16| usize::from(fraction) * text.len() / 65536;
    let token = |number: u16| {
        let tokens = tokens(text);
        (!tokens.is_empty()).then(|| tokens[usize::from(number) % tokens.len()].clone())
    };
    match *mutation {
        Mutation::Flip(at, byte) => {
            let at = place(at);
            if let Some(found) = text.get_mut(at) {
                *found = byte;
            }
        }
        Mutation::Delete(at, length) => {
            let at = place(at);
            let end = text.len().min(at + usize::from(length));
            text.drain(at..end);
        }
        Mutation::Duplicate(at, length) => {
            let at = place(at);
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
                text.splice(range, ODD[word].bytes());
            }
        }
        Mutation::Insert(at, word) => {
            let at = place(at);
            text.splice(at..at, ODD[word].bytes());
        }
        Mutation::Truncate(at) => {
            let at = place(at);
            text.truncate(at);
        }
    }
}

/// One of the texts, with changes, and the folder that its data are in.
pub fn mutated(text: usize, mutations: &[Mutation]) -> (&'static Path, String) {
    let (folder, text) = &TEXTS[text % TEXTS.len()];
    let mut bytes = text.clone().into_bytes();
    for mutation in mutations {
        apply(&mut bytes, mutation);
    }
    (folder, String::from_utf8_lossy(&bytes).into_owned())
}
