//! Executes arbitrary programs that `check` accepts in the real runtime, in a process that stays: none crashes it or
//! does not end. Crashes that depend on the caller (docs/check.md) are counted: those with some contents of inputs
//! only, and those of named state without memory.
//!
//! Most inputs are changes of an accepted program by its meaning, those of `program_mutants`. Only accepted files enter
//! the corpus. Run by `cargo fuzz run -s none execute`; the `.pte` files under `tests/golden/upstream` and of
//! `pte-emit generate` are good seeds.

#![no_main]

use std::sync::{LazyLock, Mutex};

use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target, fuzzer_mutate};
use pte_emit_lab::driver::{Driver, Server, crashed};
use pte_emit_lab::program_mutants::{Base, has_state_of_caller};
use pte_emit_lab::structured::{OPTIONS, ProgramFile, Subject as _, also_crashes, errors};
use pte_generate::random::Random;

/// One in this many mutations is of bytes.
const OF_BYTES: usize = 8;

/// Accepted files between two lines of progress.
const PROGRESS: usize = 1_000;

/// The driver and what it ran.
struct Runs {
    server: Server,
    checked: usize,
    accepted: usize,
    executed: usize,
    dependent: usize,
}

static RUNS: LazyLock<Mutex<Runs>> = LazyLock::new(|| {
    Mutex::new(Runs { server: Server::start(&OPTIONS), checked: 0, accepted: 0, executed: 0, dependent: 0 })
});

fn accepted(bytes: &[u8]) -> bool {
    bytes.get(4..8) == Some(b"ET12") && errors(bytes, &[]).is_empty()
}

fn parsed(bytes: &[u8]) -> Base {
    Base::of(ProgramFile { name: String::new(), bytes: bytes.to_vec(), data: Vec::new() })
}

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let mut runs = RUNS.lock().expect("no target panicked");
    runs.checked += 1;
    if !accepted(bytes) {
        return Corpus::Reject;
    }
    let answer = runs.server.run(bytes);
    if crashed(&answer) {
        let always = also_crashes(&Driver::locate(), bytes, &[], &["zeros", "ones", "hundreds"]);
        let known = !always || has_state_of_caller(&mut parsed(bytes).program);
        // libFuzzer writes the file, and names it in the next lines.
        assert!(known, "check accepts a file of {} bytes that crashes the runtime: {answer}", bytes.len());
        runs.dependent += 1;
    }
    runs.accepted += 1;
    runs.executed += usize::from(answer.starts_with("ok"));
    if runs.accepted.is_multiple_of(PROGRESS) {
        let Runs { checked, accepted, executed, dependent, .. } = &*runs;
        eprintln!("{checked} checked, {accepted} accepted, {executed} executed, {dependent} crash by the caller");
    }
    Corpus::Keep
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut random = Random::new(u64::from(seed));
    let bytes = &data[..size];
    // Trees are read from valid files only.
    if random.below(OF_BYTES) > 0 && accepted(bytes) {
        let mutant = parsed(bytes).mutant(&mut random);
        if let Some((bytes, _)) = mutant.filter(|(bytes, _)| bytes.len() <= max_size) {
            data[..bytes.len()].copy_from_slice(&bytes);
            return bytes.len();
        }
    }
    fuzzer_mutate(data, size, max_size)
});
