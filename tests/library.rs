//! The library where it answers otherwise than the command, which does more before and after.

use std::path::Path;

use pte_emit::{Options as AssembleOptions, Source, assemble};

/// The command splits a file into its documents; the library takes one.
#[test]
fn a_second_document_is_an_error() {
    let text = "methods: {}\n---\nmethods: {}\n";
    let input = Source::yaml("two.yaml", text, Path::new(""));
    let message = assemble(&input, &AssembleOptions::default()).unwrap_err().to_string();
    let expected = "two.yaml:3:1: error: the text holds several documents; only one is read";
    assert!(message.starts_with(expected), "{message}");
}
