//! Whatever text makes a file, printing the file gives a text that makes the same file.
//!
//! Files that `raw:` patches are left out: they may hold anything. Run by `cargo +nightly fuzz run round_trip`; the texts
//! under `examples` and `tests/golden` are good seeds. A short run of the same question is in `tests/dump.rs`.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use pte_emit::printer::{LargeData, PrintOptions};
use pte_emit::data::Origin;
use pte_emit::{Source, Options as AssembleOptions};

/// Data that are allowed, in bytes; and files that are made.
const MAX_SIZE: u64 = 1 << 20;

/// The file that a text makes, if it is small.
fn file(text: &str) -> Option<Vec<u8>> {
    // No such folder: what a text says must not depend on files.
    let input = Source::yaml("fuzz.yaml", text, Path::new("no/such/folder"));
    let overrides = { let mut options = AssembleOptions::default(); options.max_size = Some(MAX_SIZE); options };
    let assembly = pte_emit::assemble(&input, &overrides).ok()?;
    let file = assembly.program_file().or_else(|| Some(assembly.data_files().next()?.1))?;
    let small = file.size().is_some_and(|size| size <= MAX_SIZE) && file.overrides.is_none_or(|overrides| overrides.patches.is_empty());
    small.then(|| file.to_vec().expect("no file is read"))
}

fuzz_target!(|bytes: &[u8]| {
    let Some(made) = std::str::from_utf8(bytes).ok().and_then(file) else { return };
    let options =
        PrintOptions { explicit: false, large_data: LargeData::Inline, file: String::new() };
    let origin = Origin::Bytes(made.as_slice().into());
    let printed = pte_emit::print(&Source::of_origin("fuzz", origin.clone()), Path::new("no/such/folder"), &options).expect("what we write can be read");
    assert_eq!(printed.difference, None, "{}", printed.text);
    assert!(file(&printed.text).as_deref() == Some(&made[..]), "{}", printed.text);
});
