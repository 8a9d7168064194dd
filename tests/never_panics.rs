//! Whatever the text, the library answers: with files or with messages, soon, and without a panic. Random mutations of
//! all texts that the repository has stand for "whatever".
//!
//! Whether the answers are right is not asked here.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fs;
use std::panic;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};
use pte_emit::{Input, Overrides, assemble};

/// Longer than any answer takes, in a debug build on a busy machine; far shorter than a hang.
const SOON: Duration = Duration::from_secs(2);

/// More than any of these short texts has a use for, in one piece.
const WILD: usize = 256 << 20;

/// Files up to this size are made, too; the layout of larger ones is enough.
const WRITTEN: u64 = 1 << 20;

/// Each place of the exhaustive test gets one of so many odd words.
const STRIDE: usize = 8;

/// Words that are likely to meet an unchecked sum, index or depth.
const ODD: &[&str] = &[
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

/// The system's allocator, which notes the largest piece that a thread asks for: memory that is asked for but not touched
/// costs nothing here and ends the program elsewhere.
struct Noting;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn note(size: usize) {
    LARGEST.with(|largest| largest.set(largest.get().max(size)));
}

#[global_allocator]
static ALLOCATOR: Noting = Noting;

#[allow(unsafe_code)]
// SAFETY: all that is done beside passing the arguments on is to set a number.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

/// All texts of the repository, with the folders that their data are in.
static TEXTS: LazyLock<Vec<(PathBuf, String)>> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut texts = Vec::new();
    for folder in ["examples", "tests/golden/bytes", "tests/golden/errors"] {
        let Ok(entries) = fs::read_dir(root.join(folder)) else { continue };
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
    assert!(!texts.is_empty(), "there are no texts to mutate");
    texts
});

/// A change to a text; places are fractions of its length or numbers modulo its tokens, so that any fits any text.
#[derive(Debug, Clone)]
enum Mutation {
    Flip(u16, u8),
    Delete(u16, u8),
    Duplicate(u16, u8),
    Swap(u16, u16),
    Replace(u16, usize),
    Insert(u16, usize),
    Truncate(u16),
}

fn mutation() -> impl Strategy<Value = Mutation> {
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
fn tokens(text: &[u8]) -> Vec<std::ops::Range<usize>> {
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

fn apply(text: &mut Vec<u8>, mutation: &Mutation) {
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

/// Assembles a text as the command does, and gives what went wrong beyond what a message can say.
fn answer(text: &str, folder: &Path) -> Result<(), String> {
    let input = Input { name: "mutated.yaml", text, folder };
    let start = Instant::now();
    LARGEST.set(0);
    let outcome = panic::catch_unwind(|| {
        for external_data in [false, true] {
            let overrides = Overrides { external_data, ..Overrides::default() };
            match assemble(&input, &overrides) {
                Err(report) => {
                    assert!(report.has_errors(), "a report without an error");
                    report.render(false);
                    return;
                }
                Ok(assembly) => {
                    assembly.warnings.render(false);
                    let data_files = assembly.data_files().map(|(_, file)| file);
                    for file in assembly.program_file().into_iter().chain(data_files) {
                        if file.placement.file_size <= WRITTEN {
                            let bytes = file.to_vec().expect("the file can be written");
                            assert_eq!(bytes.len() as u64, file.placement.file_size);
                        }
                    }
                }
            }
        }
    });
    match outcome {
        Err(_) => Err("a panic".into()),
        Ok(()) if start.elapsed() > SOON => Err(format!("{:?}", start.elapsed())),
        Ok(()) if LARGEST.get() > WILD => Err(format!("a piece of {} bytes of memory", LARGEST.get())),
        Ok(()) => Ok(()),
    }
}

/// A few mutations a text are enough to get past one check to the next; many only break the syntax.
fn check(text: usize, mutations: &[Mutation]) -> Result<(), TestCaseError> {
    let (folder, text) = &TEXTS[text % TEXTS.len()];
    let mut bytes = text.clone().into_bytes();
    for mutation in mutations {
        apply(&mut bytes, mutation);
    }
    let mutated = String::from_utf8_lossy(&bytes);
    answer(&mutated, folder)
        .map_err(|problem| TestCaseError::fail(format!("{problem} with the text\n{mutated}\n(end of the text)")))
}

fn config() -> Config {
    // PROPTEST_CASES asks for more.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2500);
    let persistence = FileFailurePersistence::Direct("proptest-regressions/never_panics.txt");
    Config { cases, failure_persistence: Some(Box::new(persistence)), ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn mutated_texts_are_answered(text in any::<usize>(), mutations in prop::collection::vec(mutation(), 1..4)) {
        check(text, &mutations)?;
    }
}

#[test]
fn the_texts_themselves_are_answered() {
    for (folder, text) in &*TEXTS {
        answer(text, folder).unwrap_or_else(|problem| panic!("{problem} with the text\n{text}"));
    }
}

/// Every place of a text that uses most keys, with odd words of which each place gets some.
#[test]
fn every_token_of_a_text_can_be_odd() {
    let text = "
version: 0
data: {payload: {hex: \"0011\"}}
methods:
  forward:
    values:
      x: {tensor: float32, sizes: [2, 2], dim_order: [1, 0], dynamism: dynamic_bound, memory: {pool: 1, offset: 16}}
      w: {tensor: int8, sizes: [2], data: {iota: {start: 1, step: 2}}, external: tag, name: layer.w}
      s: {tensor: float32, sizes: [2, 2], data: {random: {seed: 3, low: 0, high: 2}}, mutable: true}
      k: {int_list: [1, 2]}
      y: {tensor: float32, sizes: [2, 2], memory: {pool: 2}, index: 4}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::add.out, args: [x, s, 1], out: y}
      - {delegate: part, args: [x, y]}
      - {jump_false: {cond: true, to: end}}
      - {move: {from: x, to: y}, label: end}
    delegates:
      part: {backend: B, data: payload, compile_specs: [{key: k, value: v}]}
    memory: {alignment: 32, padding: 64, reserved: [16, 4K]}
    tests:
      - {inputs: [[[1, 2], [3, 4]]], atol: 0.5}
named_data:
  blob: {fill: 7, size: 33, align: 64}
layout: {segment_alignment: 256, base_alignment: 4K}
";
    answer(text, Path::new(".")).unwrap();
    let mut wrong = Vec::new();
    for (number, range) in tokens(text.as_bytes()).into_iter().enumerate() {
        for word in ODD.iter().skip(number % STRIDE).step_by(STRIDE) {
            let mut mutated = text.to_owned();
            mutated.replace_range(range.clone(), word);
            if let Err(problem) = answer(&mutated, Path::new(".")) {
                wrong.push(format!("{problem}: `{word}` for `{}` at byte {}", &text[range.clone()], range.start));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
