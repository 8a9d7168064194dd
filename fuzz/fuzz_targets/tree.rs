//! Parses arbitrary YAML to a tree or an error; every node and every error has a span in the source.
//!
//! Run by `cargo fuzz run -s none tree`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use pte_yaml::tree::{self, NodeValue, SourceNode};

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let spans = tree::spans(text);
    for span in &spans {
        assert!(text.get(span.clone()).is_some(), "{span:?} is in the source");
    }
    match tree::parse(text) {
        // JSON has another parser, which accepts input (tabs, deep lists) without spans.
        Ok(_) if spans.is_empty() => assert!(text.trim_start().starts_with(['{', '['])),
        Ok(node) => assert_eq!(count(&node), spans.len()),
        Err(error) => assert!(text.get(error.span.clone()).is_some(), "{:?} is in the source", error.span),
    }
});

/// Number of nodes in a tree, including keys.
fn count(node: &SourceNode<'_>) -> usize {
    let below: usize = match &node.value {
        NodeValue::List(items) => items.iter().map(count).sum(),
        NodeValue::Map(entries) => entries.iter().map(|(_, value)| 1 + count(value)).sum(),
        _ => 0,
    };
    1 + below
}
