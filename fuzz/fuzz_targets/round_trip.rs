//! Assembles arbitrary YAML, prints the file, and assembles the printed YAML to the same file.
//!
//! Files with patches of `raw:` are skipped. Run by `cargo fuzz run -s none round_trip`; the sources under `examples`
//! and `tests/golden` are good seeds. `tests/suite/dump.rs` has a short run of the same property.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use pte_emit::{AssembleOptions, Model, PrintOptions};

/// Maximum size of data and files in bytes.
const MAX_SIZE: u64 = 1 << 20;

/// Assembled file of a source, if it is small.
fn file(text: &str) -> Option<Vec<u8>> {
    // A missing folder: results must not depend on files.
    let input = Model::from_yaml("fuzz.yaml", text, Path::new("no/such/folder"));
    let overrides = {
        let mut options = AssembleOptions::default();
        options.max_size = Some(MAX_SIZE);
        options
    };
    let assembly = input.assemble(&overrides).ok()?;
    let file = assembly.program_file().or_else(|| Some(assembly.data_files().next()?.1))?;
    let small = file.size().is_some_and(|size| size <= MAX_SIZE);
    small.then(|| file.to_vec().expect("no file is read"))
}

fuzz_target!(|bytes: &[u8]| {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains("patch"));
    let Some(assembled) = text.and_then(file) else { return };
    let options = PrintOptions::default();
    let printed = Model::from_binary("fuzz", &assembled)
        .to_yaml(Path::new("no/such/folder"), &options)
        .expect("an assembled file is readable");
    assert_eq!(printed.difference, None, "{}", printed.text);
    assert!(file(&printed.text).as_deref() == Some(&assembled[..]), "{}", printed.text);
});
