//! Reads arbitrary ETDumps, and the values that they refer to: no panic, memory bounded by their size.
//!
//! Run by `cargo fuzz run -s none etdump`; `crates/pte-etdump/tests/recorded/*.etdump` are good seeds.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pte_etdump::{EtDump, TracedValue};
use pte_model::data::Blob;

fuzz_target!(|bytes: &[u8]| {
    let Ok(dump) = EtDump::read(bytes) else { return };
    let values = Blob::bytes([0; 256]);
    for run in &dump.runs {
        let executions = run.executions();
        for value in executions.iter().flat_map(|execution| execution.values.iter().copied()).chain(run.outputs()) {
            if let TracedValue::Tensor(tensor) = value
                && let Ok(data) = tensor.data(&values, 256)
            {
                assert!(data.len() as u64 == tensor.size());
            }
        }
    }
});
