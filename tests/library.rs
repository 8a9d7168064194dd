//! Behaviour of the library that differs from that of the command.

use std::path::Path;

use pte_emit::{Assembly, Options as AssembleOptions, Source, assemble};

// Its main function is run by nobody here.
#[allow(dead_code)]
#[path = "../examples/library.rs"]
mod example;

/// `assemble` takes one document; the command splits a file with `documents`.
#[test]
fn a_second_document_is_an_error() {
    let text = "methods: {}\n---\nmethods: {}\n";
    let input = Source::yaml("two.yaml", text, Path::new(""));
    let message = assemble(&input, &AssembleOptions::default()).unwrap_err().to_string();
    let expected = "two.yaml:3:1: error: the file has several documents; expected one";
    assert!(message.starts_with(expected), "{message}");
}

/// examples/library.rs builds without YAML what this YAML says, and gives the same bytes.
#[test]
fn a_program_built_in_rust_is_that_of_its_yaml() {
    let yaml = "
methods:
  forward:
    values:
      weight: {tensor: float32, data: [[1, 0, 2, 0], [0, 1, 0, 3], [1, 1, 1, 1]]}
      bias: {tensor: float32, data: [0.1, 0.2, 0.3]}
      x: {tensor: float32, sizes: [1, 4]}
      wt: {tensor: float32, sizes: [4, 3]}
      mm: {tensor: float32, sizes: [1, 3]}
      y: {tensor: float32, sizes: [1, 3]}
    inputs: [x]
    outputs: [y]
    instructions:
      - {kernel: aten::permute_copy.out, args: [weight, [1, 0]], out: wt}
      - {kernel: aten::addmm.out, args: [bias, x, wt], out: mm}
      - {kernel: aten::relu.out, args: [mm], out: y}
";
    let from_yaml = assemble(&Source::yaml("linear.yaml", yaml, ""), &AssembleOptions::default()).unwrap();
    let built = example::linear().unwrap().to_files(&AssembleOptions::default()).unwrap();
    let bytes = |assembly: &Assembly| assembly.program_file().unwrap().to_vec().unwrap();
    assert!(bytes(&from_yaml) == bytes(&built));
}
