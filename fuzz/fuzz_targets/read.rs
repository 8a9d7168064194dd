//! Prints and reassembles arbitrary bytes: no panic, time and memory bounded by the file size. YAML without a reported
//! difference reproduces the file byte for byte.
//!
//! Run by `cargo fuzz run -s none read`; the binary files under `tests/golden/upstream` are good seeds.

#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use pte_emit::{AssembleOptions, Assembly, Model, PrintOptions};

/// Maximum size of files in bytes: alignments up to 1 GiB add as much padding.
const MAX_FILE: u64 = 16 << 20;

fuzz_target!(|bytes: &[u8]| {
    let folder = Path::new("no/such/folder");
    let options = PrintOptions::default();
    if let Ok(printed) = Model::from_binary("dump", bytes).to_yaml(folder, &options)
        && printed.difference.is_none()
    {
        let input = Model::from_yaml("fuzz.yaml", &printed.text, folder);
        let assembly = input.assemble(&AssembleOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        assert!(written(&assembly, bytes.get(4..8)).as_deref() == Some(bytes), "{}", printed.text);
    }
    if let Ok(assembly) = Model::from_binary("fuzz.pte", bytes).assemble(&AssembleOptions::default()) {
        written(&assembly, None);
    }
});

/// File of an assembly with this identifier; `None` if it is large.
fn written(assembly: &Assembly, kind: Option<&[u8]>) -> Option<Vec<u8>> {
    let small = |file: &pte_emit::OutputFile<'_>| file.size().is_some_and(|size| size <= MAX_FILE);
    match kind {
        Some(b"BP08") => Some(assembly.bundled().expect("no file is read").to_vec().expect("no file is read")),
        Some(b"FT01") => {
            let (_, file) = assembly.data_files().next()?;
            small(&file).then(|| file.to_vec().expect("no file is read"))
        }
        _ => {
            let file = assembly.program_file()?;
            small(&file).then(|| file.to_vec().expect("no file is read"))
        }
    }
}
