//! The examples that are part of the command are those of the repository (`BLESS=1 cargo test --test repository corpus::` writes the list).

use crate::support::malformed;
use crate::support::{root, snapshot};

#[test]
fn the_command_has_all_malformed_examples() {
    let path = root().join("src/cli/corpus/examples.rs");
    let text = std::fs::read_to_string(&path).unwrap();
    let (code, _) = text.split_once("\nexamples! {\n").unwrap();
    let mut names: Vec<String> = malformed::cases().iter().map(|case| malformed::relative(&case.input)).collect();
    // In alphabetical order, with those of `security/` in a block.
    names.sort();
    let list: String = names.iter().map(|name| format!("    {name:?}\n")).collect();
    let expected = format!("{code}\nexamples! {{\n{list}}}\n");
    snapshot::update(&path, &expected, "BLESS=1 cargo test --test repository corpus::");
}
