//! Whatever the text, the library answers: with files or with messages, soon, and without a panic. Random mutations of
//! all texts that the repository has stand for "whatever".
//!
//! Whether the answers are right is not asked here.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io;
use std::panic;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};
use pte_emit::annotate::{Options, annotate};
use pte_emit::data::Origin;
use pte_emit::format::Format;
use pte_emit::{Options as AssembleOptions, Source, assemble};

mod support;

use support::texts::{Mutation, ODD, TEXTS, mutated, mutation, tokens};

/// Longer than any answer takes, in a debug build on a busy machine; far shorter than a hang.
const SOON: Duration = Duration::from_secs(2);

/// More than any of these short texts has a use for, in one piece.
const WILD: usize = 256 << 20;

/// Files up to this size are made, too; the layout of larger ones is enough.
const WRITTEN: u64 = 1 << 20;

/// Files up to this size are explained, too.
const EXPLAINED: usize = 1 << 14;

/// Each place of the exhaustive test gets one of so many odd words.
const STRIDE: usize = 8;

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

/// Assembles a text as the command does, and gives what went wrong beyond what a message can say.
fn answer(text: &str, folder: &Path) -> Result<(), String> {
    let input = Source::yaml("mutated.yaml", text, folder);
    let start = Instant::now();
    LARGEST.set(0);
    let outcome = panic::catch_unwind(|| {
        for external_data in [false, true] {
            let overrides = {
                let mut options = AssembleOptions::default();
                options.external_data = external_data;
                options
            };
            match assemble(&input, &overrides) {
                Err(report) => {
                    assert!(!report.diagnostics().is_empty(), "a report without an error");
                    pte_emit::cli::render::report(report.report(), false);
                    return;
                }
                Ok(assembly) => {
                    assembly.warnings.to_string();
                    let data_files = assembly.data_files().map(|(_, file)| file);
                    for file in assembly.program_file().into_iter().chain(data_files) {
                        if file.size().unwrap_or(u64::MAX) <= WRITTEN {
                            let bytes = file.to_vec().expect("the file can be written");
                            assert_eq!(Some(bytes.len() as u64), file.size());
                            if bytes.len() <= EXPLAINED {
                                explain(bytes);
                            }
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

/// Says of every byte of a file what it is.
fn explain(bytes: Vec<u8>) {
    let origin = Origin::Bytes(bytes.into());
    let format = if origin.head(8).unwrap().ends_with(b"FT01") { Format::FlatTensor } else { Format::Program };
    annotate(&origin, format, &Options::default(), &mut io::sink()).expect("no file is read");
}

/// A few mutations a text are enough to get past one check to the next; many only break the syntax.
fn check(text: usize, mutations: &[Mutation]) -> Result<(), TestCaseError> {
    let (folder, mutated) = mutated(text, mutations);
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
