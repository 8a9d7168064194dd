//! Decodes arbitrary payloads of delegates: no panic, memory bounded by their size; what is decoded is reproduced byte for byte.
//!
//! Run by `cargo +nightly fuzz run delegate`; `examples/data/linear.xnnpack` is a good seed.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pte_emit::data::Blob;
use pte_emit::delegate::xnnpack::{encode, read};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(draft) = read(&Blob::bytes(bytes)) {
        let encoded = encode::encode(&draft.complete()).expect("it was encoded to be compared");
        assert!(encoded.to_vec().expect("no file is read") == bytes);
    }
});
