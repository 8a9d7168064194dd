//! Formats arbitrary YAML with arbitrary arrangements, or reports an error; formatting verifies that comments and values
//! stay, which is an error of its own, and a second time changes nothing.
//!
//! Run by `cargo fuzz run -s none format`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pte_yaml::format::{Arrangement, Policy, format};

/// Arrangements by the depth and the first letters of the keys.
struct ByKeys;

impl Policy for ByKeys {
    type Place = u8;

    fn root(&self) -> u8 {
        0
    }

    fn value(&self, map: u8, key: &str) -> u8 {
        map.wrapping_mul(31).wrapping_add(key.bytes().next().unwrap_or(0))
    }

    fn item(&self, list: u8) -> u8 {
        list.wrapping_add(1)
    }

    fn arrangement(&self, place: u8) -> Arrangement {
        [Arrangement::Block, Arrangement::Line, Arrangement::OfEntries, Arrangement::Fitted][usize::from(place % 4)]
    }

    fn drops_quotes(&self, place: u8) -> bool {
        place.is_multiple_of(3)
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match format(text, &ByKeys) {
        Ok(once) => assert_eq!(format(&once, &ByKeys).as_deref(), Ok(&*once), "formatted again"),
        Err(error) => assert!(!error.message.starts_with("internal error"), "{}", error.message),
    }
});
