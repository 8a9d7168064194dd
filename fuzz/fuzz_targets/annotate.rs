//! Annotates arbitrary bytes: no panic, time and memory bounded by the file size, each byte has one owner.
//!
//! Run by `cargo fuzz run -s none annotate`; the binary files under `tests/golden/upstream` and `fuzz/seeds/check` are
//! good seeds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pte_inspect::annotate::{AnnotateOptions, annotate};
use pte_model::data::Origin;
use pte_model::format::Format;

fuzz_target!(|bytes: &[u8]| {
    let origin = Origin::Bytes(bytes.into());
    for format in [Format::Program, Format::FlatTensor, Format::BundledProgram] {
        for json in [false, true] {
            let mut out = Vec::new();
            let mut options = AnnotateOptions::default();
            options.json = json;
            annotate(&origin, format, &options, &mut out).expect("no file is read");
            let text = String::from_utf8(out).expect("it is UTF-8");
            if json {
                // Regions are contiguous from the first to the last byte.
                let mut at = 0;
                for line in text.lines().filter_map(|line| line.strip_prefix("{\"offset\":")) {
                    let (offset, rest) = line.split_once(",\"size\":").expect("a region has a size");
                    assert_eq!(offset.parse(), Ok(at), "{text}");
                    at += rest.split(',').next().and_then(|size| size.parse::<u64>().ok()).expect("a size");
                }
                assert_eq!(at, bytes.len() as u64, "{text}");
            }
        }
    }
});
