//! Validates arbitrary bytes: no panic, time and memory bounded by the file size. A file without errors can be read.
//!
//! Run by `cargo fuzz run -s none check`; the binary files under `tests/golden/upstream` are good seeds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pte_check::{CheckOptions, DataFile, Profile};
use pte_model::data::Origin;
use pte_model::reader;

fuzz_target!(|bytes: &[u8]| {
    let origin = Origin::Bytes(bytes.into());
    for profile in [Profile::Strict, Profile::Legacy] {
        let mut options = CheckOptions::default();
        (options.profile, options.data) = (profile, true);
        let findings = match pte_check::file(&origin, &options) {
            Ok(findings) => findings,
            // No runtime loads one.
            Err(error) => return assert!(error.to_string().contains(".safetensors"), "{error}"),
        };
        let readable = match bytes.get(4..8) {
            Some(b"ET12") => reader::program::read(&origin).is_ok(),
            Some(b"FT01") => reader::flat_tensor::read(&origin).is_ok(),
            Some(b"BP08") => reader::bundled_program::read(&origin).is_ok(),
            _ => false,
        };
        assert!(findings.has_errors() || readable);
    }
    // The file as its own data file: malformed keys and tensors on both sides.
    let mut options = CheckOptions::default();
    options.with = vec![DataFile::from_bytes("weights.ptd", bytes).expect("no file is read")];
    pte_check::file(&origin, &options).expect("no file is read");
});
