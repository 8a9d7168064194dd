//! Assembles arbitrary YAML to files or an error: no panic, time and memory bounded by the size of the source and of
//! the data.
//!
//! Run by `cargo fuzz run -s none assemble`; the sources under `examples` and `tests/golden` are good seeds.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use pte_emit::OutputFile;
use pte_emit::{AssembleOptions, Model};

/// Maximum size of data in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// Maximum size of files in bytes: alignments up to 1 GiB add as much padding.
const MAX_FILE: u64 = 16 << 20;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // A missing folder: results must not depend on files.
    let input = Model::from_yaml("fuzz.yaml", text, Path::new("no/such/folder"));
    match input.assemble(&{
        let mut options = AssembleOptions::default();
        options.max_size = Some(MAX_SIZE);
        options
    }) {
        Ok(assembly) => {
            let files = assembly.program_file().into_iter().chain(assembly.data_files().map(|(_, file)| file));
            files.filter(|file| file.size().is_some_and(|size| size <= MAX_FILE)).for_each(|file| check(&file));
        }
        Err(report) => assert!(!report.report().render(false).is_empty()),
    }
});

fn check(file: &OutputFile<'_>) {
    let bytes = file.to_vec().expect("no file is read");
    assert_eq!(Some(bytes.len() as u64), file.size());
}
