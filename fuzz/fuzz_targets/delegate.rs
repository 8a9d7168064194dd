//! Describes and decodes arbitrary payloads of delegates: no panic, memory bounded by their size; what is decoded is
//! reproduced byte for byte.
//!
//! Run by `cargo fuzz run -s none delegate`; `examples/data/linear.xnnpack` and `tests/data/payloads/*.bin` are good
//! seeds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pte_model::data::Blob;
use pte_xnnpack::FORMATS;
use pte_xnnpack::draft::Draft;

fuzz_target!(|bytes: &[u8]| {
    let payload = Blob::bytes(bytes);
    // Also as formats that payloads of other magics have by their backend.
    for format in FORMATS.iter() {
        let description = FORMATS.describe(format.backends()[0], &payload).expect("no file is read");
        assert!(description.summary().len() < 1 << 10);
    }
    if let Ok(draft) = Draft::read(&payload) {
        let encoded = draft.encode().expect("it was encoded to be compared");
        assert!(encoded.to_vec().expect("no file is read") == bytes);
    }
});
