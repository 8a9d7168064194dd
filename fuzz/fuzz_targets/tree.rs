//! Parses arbitrary YAML to a tree or an error; every node and every error has a span in the source.
//!
//! Run by `cargo +nightly fuzz run tree`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pte_emit::ir::tree::{self, Node, Value};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let places = tree::places(text);
    for place in &places {
        assert!(text.get(place.clone()).is_some(), "{place:?} is in the text");
    }
    match tree::parse(text) {
        // JSON has another parser, which accepts input (tabs, deep lists) without spans.
        Ok(_) if places.is_empty() => assert!(text.trim_start().starts_with(['{', '['])),
        Ok(node) => assert_eq!(count(&node), places.len()),
        Err(error) => assert!(text.get(error.place.clone()).is_some(), "{:?} is in the text", error.place),
    }
});

/// Number of nodes in a tree, including keys.
fn count(node: &Node<'_>) -> usize {
    let below: usize = match &node.value {
        Value::List(items) => items.iter().map(count).sum(),
        Value::Map(entries) => entries.iter().map(|(_, value)| 1 + count(value)).sum(),
        _ => 0,
    };
    1 + below
}
