//! For any source, the library returns files or errors, in bounded time and memory, without a panic. The sources are
//! random mutations of those in the repository. Results are not compared here.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io;
use std::panic;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence};
use pte_emit::{AssembleOptions, Model};
use pte_inspect::annotate::{AnnotateOptions, annotate};
use pte_model::data::Origin;
use pte_model::format::Format;

use crate::support::mutation::{EDGE_CASES, Mutation, SOURCES, mutated, mutation, tokens};

/// Maximum time for a source, for a debug build under load.
const MAX_TIME: Duration = Duration::from_secs(2);

/// Maximum size of a single allocation in bytes.
const MAX_ALLOCATION: usize = 256 << 20;

/// Maximum size in bytes of files that are written; larger ones are only laid out.
const WRITTEN: u64 = 1 << 20;

/// Maximum size in bytes of files that are annotated.
const EXPLAINED: usize = 1 << 14;

/// Fraction of the edge cases that each token is replaced by, as a divisor.
const STRIDE: usize = 8;

/// System allocator that records the largest allocation of a thread: untouched memory is free on this machine, but
/// aborts on others.
struct RecordingAllocator;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

fn record(size: usize) {
    LARGEST.with(|largest| largest.set(largest.get().max(size)));
}

#[global_allocator]
static ALLOCATOR: RecordingAllocator = RecordingAllocator;

#[allow(unsafe_code)]
// SAFETY: forwards all arguments to `System`; recording a number does not allocate.
unsafe impl GlobalAlloc for RecordingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        record(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        record(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        record(size);
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

/// Assembles a source and writes its files.
///
/// # Errors
/// A panic, too much time or memory.
fn run(text: &str, folder: &Path) -> Result<(), String> {
    let input = Model::from_yaml("mutated.yaml", text, folder);
    let start = Instant::now();
    LARGEST.set(0);
    let outcome = panic::catch_unwind(|| {
        for external_data in [false, true] {
            let overrides = { AssembleOptions::default().external_data(external_data) };
            match input.assemble(&overrides) {
                Err(report) => {
                    assert!(!report.diagnostics().is_empty(), "an error without messages");
                    report.report().render(false);
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
        Err(_) => Err("panic".into()),
        Ok(()) if start.elapsed() > MAX_TIME => Err(format!("{:?}", start.elapsed())),
        Ok(()) if LARGEST.get() > MAX_ALLOCATION => Err(format!("an allocation of {} bytes", LARGEST.get())),
        Ok(()) => Ok(()),
    }
}

/// Annotates a file.
fn explain(bytes: Vec<u8>) {
    let origin = Origin::Bytes(bytes.into());
    let format = if origin.head(8).unwrap().ends_with(b"FT01") { Format::FlatTensor } else { Format::Program };
    annotate(&origin, format, &AnnotateOptions::default(), &mut io::sink()).expect("no file is read");
}

/// Runs a mutated source. A few mutations reach deep into the validation; many only break the syntax.
fn check(source: usize, mutations: &[Mutation]) -> Result<(), TestCaseError> {
    let (folder, mutated) = mutated(source, mutations);
    run(&mutated, folder)
        .map_err(|problem| TestCaseError::fail(format!("{problem} with the source\n{mutated}\n(end of the source)")))
}

fn config() -> Config {
    // Overridden by PROPTEST_CASES.
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2500);
    let persistence = FileFailurePersistence::Direct("tests/data/proptest-regressions/never_panics.txt");
    Config { cases, failure_persistence: Some(Box::new(persistence)), ..Config::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn mutated_sources_do_not_panic(source in any::<usize>(), mutations in prop::collection::vec(mutation(), 1..4)) {
        check(source, &mutations)?;
    }
}

#[test]
fn all_sources_do_not_panic() {
    for (folder, text) in &*SOURCES {
        run(text, folder).unwrap_or_else(|problem| panic!("{problem} with the source\n{text}"));
    }
}

/// Replaces every token of a source that uses most keys by some of the edge cases.
#[test]
fn every_token_can_be_an_edge_case() {
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
    run(text, Path::new(".")).unwrap();
    let mut failures = Vec::new();
    for (number, range) in tokens(text.as_bytes()).into_iter().enumerate() {
        for word in EDGE_CASES.iter().skip(number % STRIDE).step_by(STRIDE) {
            let mut mutated = text.to_owned();
            mutated.replace_range(range.clone(), word);
            if let Err(problem) = run(&mutated, Path::new(".")) {
                failures.push(format!("{problem}: `{word}` for `{}` at byte {}", &text[range.clone()], range.start));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
