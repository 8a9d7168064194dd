//! The JSON Schema that `pte-emit schema` prints: every example and every good golden is valid by it, it refuses the bad
//! goldens that a schema can, and the copy at the root of the repository, which the examples name, is the same.
//!
//! Not here: whether a text means something; that is the assembler's to say.

use std::path::{Path, PathBuf};

use jsonschema::Validator;
use pretty_assertions::assert_eq;
use pte_emit::ir::tree::{self, Node, Value};

#[path = "../src/golden.rs"]
mod golden;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn texts(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    assert!(!paths.is_empty(), "{folder} has texts");
    paths
}

fn json(node: &Node<'_>) -> serde_json::Value {
    match &node.value {
        Value::Null => serde_json::Value::Null,
        Value::Bool(b) => (*b).into(),
        Value::Int(n) => (*n).into(),
        Value::UInt(n) => (*n).into(),
        // JSON has no word for what is not finite; the schema, made for editors, takes any number.
        Value::Float(x) => if x.is_finite() { *x } else { 0.5 }.into(),
        Value::Text(text) => text.to_string().into(),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Map(entries) => {
            serde_json::Value::Object(entries.iter().map(|(key, value)| (key.text.to_string(), json(value))).collect())
        }
    }
}

fn validator() -> Validator {
    jsonschema::validator_for(&pte_emit::ir::json_schema::schema()).expect("the schema is one")
}

#[test]
fn good_texts_are_valid() {
    let validator = validator();
    let mut wrong = Vec::new();
    let folders = ["examples", "examples/malformed", "tests/golden/bytes"];
    for path in folders.into_iter().flat_map(texts) {
        let text = std::fs::read_to_string(&path).unwrap();
        let value = json(&tree::parse(&text).unwrap());
        for error in validator.iter_errors(&value) {
            wrong.push(format!("{}: {}: {error}", path.display(), error.instance_path()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Which bad texts the schema refuses is kept as a golden, so that a looser schema is seen.
#[test]
fn bad_texts_are_refused_as_far_as_a_schema_can() {
    let validator = validator();
    let mut refused = String::new();
    let mut count = 0;
    for path in texts("tests/golden/errors") {
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        let Ok(node) = tree::parse(&text) else { continue };
        if !validator.is_valid(&json(&node)) {
            refused += &format!("{}\n", path.file_name().unwrap().display());
            count += 1;
        }
    }
    assert!(count >= 30, "only {count} bad texts are refused");
    golden::check("schema/refused.txt", &refused);
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
    assert_eq!(std::fs::read_to_string(&path).unwrap(), printed, "`BLESS=1 cargo test` renews it");
}
