//! Whatever the text, the assembler answers with files or with a report: no panic, no endless work, no memory out of
//! proportion to the text and to the data that are allowed.
//!
//! Judges no bytes. Run by `cargo +nightly fuzz run assemble`; the texts under `examples` and `tests/golden` are good seeds.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use pte_emit::OutputFile;
use pte_emit::{Source, Options as AssembleOptions};

/// Data that are allowed, in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// Larger files are not made: alignments up to 1 GiB make as much padding.
const MAX_FILE: u64 = 16 << 20;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // No such folder: what a text says must not depend on files.
    let input = Source::yaml("fuzz.yaml", text, Path::new("no/such/folder"));
    match pte_emit::assemble(&input, &{ let mut options = AssembleOptions::default(); options.max_size = Some(MAX_SIZE); options }) {
        Ok(assembly) => {
            let files = assembly.program_file().into_iter().chain(assembly.data_files().map(|(_, file)| file));
            files.filter(|file| file.size().is_some_and(|size| size <= MAX_FILE)).for_each(|file| check(&file));
        }
        Err(report) => assert!(!pte_emit::cli::render::report(report.report(), false).is_empty()),
    }
});

fn check(file: &OutputFile<'_>) {
    let bytes = file.to_vec().expect("no file is read");
    assert_eq!(Some(bytes.len() as u64), file.size());
}
