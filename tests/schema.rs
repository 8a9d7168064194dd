//! JSON Schema: `pte-emit schema` prints the file at the root of the repository, which the examples refer to; it rejects sources with errors
//! as far as a schema can.
//!
//! tests/examples.rs, tests/malformed.rs and tests/golden.rs test that it accepts valid sources.

use pretty_assertions::assert_eq;

mod support;

use support::case::inputs;
use support::{properties, root, snapshot};

/// Snapshot of the rejected inputs, to detect a schema that accepts more.
#[test]
fn errors_are_found_as_far_as_a_schema_can() {
    let mut rejected = String::new();
    for case in inputs("tests/golden/snapshots/errors") {
        // Some are not UTF-8, some not YAML.
        let Ok(text) = std::fs::read_to_string(&case.input) else { continue };
        if properties::is_valid_by_schema(&text) == Some(false) {
            rejected += &format!("{}\n", case.input.file_name().unwrap().display());
        }
    }
    snapshot::check("schema/rejected.txt", &rejected);
}

#[test]
fn the_printed_schema_is_the_one_at_the_root() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_pte-emit")).arg("schema").output().unwrap();
    assert!(output.status.success());
    let printed = String::from_utf8(output.stdout).unwrap();
    let path = root().join("pte-emit.schema.json");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &printed).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), printed, "`BLESS=1 cargo test` updates it");
}

#[test]
fn every_definition_describes_a_value() {
    let schema: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(root().join("pte-emit.schema.json")).unwrap()).unwrap();
    // A definition that is only a reference may lead to itself, and accepts everything then.
    let definitions = schema["$defs"].as_object().unwrap();
    let empty = definitions.iter().filter(|(_, definition)| definition.get("$ref").is_some() || definition.is_null());
    assert_eq!(empty.map(|(name, _)| name).collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(properties::is_valid_by_schema("methods: {}\nraw: {truncate: 8}\n").unwrap());
    assert!(!properties::is_valid_by_schema("methods: {}\nraw: {truncates: 8}\n").unwrap());
}
