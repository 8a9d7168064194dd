//! JSON Schema: `pte-emit schema` prints the file at the root of the repository, which the examples refer to; it
//! rejects sources with errors as far as a schema can.
//!
//! tests/cases/examples.rs, tests/cases/malformed.rs and tests/cases/golden.rs test that it accepts valid sources.

use std::collections::BTreeMap;
use std::path::Path;

use pretty_assertions::assert_eq;
use pte_emit::LargeData;

use crate::support::{files_below, properties, python, root, sections, snapshot};

/// Snapshot of the rejected inputs, to detect a schema that accepts more.
#[test]
fn errors_are_found_as_far_as_a_schema_can() {
    let mut rejected = String::new();
    for case in sections::errors() {
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
    crate::support::snapshot::update(&path, &printed, "BLESS=1 cargo test --test suite schema::");
}

/// What `check`, `diff`, `ops` and `payload` print of all examples with `--json` has the schemas in docs/;
/// tests/suite/inspect.rs has the others.
#[test]
fn results_of_the_examples_have_their_schemas() {
    let validator = |name: &str| {
        let schema = std::fs::read_to_string(root().join(format!("docs/{name}.schema.json"))).unwrap();
        jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap()
    };
    let validate = |validator: &jsonschema::Validator, arguments: &[&std::ffi::OsStr]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pte-emit"));
        let output = command.args(arguments).arg("--json").output().unwrap();
        let document = serde_json::from_slice(&output.stdout).ok()?;
        let errors = validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path()));
        assert_eq!(errors.collect::<Vec<_>>(), Vec::<String>::new(), "{arguments:?}");
        Some(document)
    };
    let (check, diff) = (validator("check"), validator("diff"));
    let paths = files_below(&root().join("examples"), &["yaml"]);
    let all: Vec<&std::ffi::OsStr> = paths.iter().map(|path| path.as_os_str()).collect();
    let checked = validate(&check, &[&["check".as_ref()], &all[..]].concat()).unwrap();
    assert!(checked["files"].as_array().unwrap().len() > 300);
    let compared = all.windows(2).step_by(3).filter(|pair| {
        let arguments = ["diff".as_ref(), pair[0], pair[1], "--budget".as_ref(), "size=+1%".as_ref()];
        validate(&diff, &arguments).is_some()
    });
    let compared = compared.count();
    assert!(compared > 50, "{compared} pairs");
    let firmware = validator("firmware");
    let app = tempfile::tempdir().unwrap();
    let add = root().join("examples/add.yaml");
    let arguments = [
        "firmware".as_ref(),
        add.as_os_str(),
        "--for".as_ref(),
        "cmake".as_ref(),
        "-o".as_ref(),
        app.path().as_os_str(),
    ];
    assert!(!validate(&firmware, &arguments).unwrap()["pools"].as_array().unwrap().is_empty());
    let kernels = validator("kernels");
    let is_valid = |path: &&std::path::PathBuf| path.parent() == Some(&root().join("examples"));
    let root_examples: Vec<&std::ffi::OsStr> = paths.iter().filter(is_valid).map(|path| path.as_os_str()).collect();
    let listed = validate(&kernels, &[&["kernels".as_ref(), "--union".as_ref()], &root_examples[..]].concat()).unwrap();
    assert!(listed["operators"].as_array().unwrap().len() > 20);
    let (ops, payload) = (validator("ops"), validator("payload"));
    let listed = validate(&ops, &["ops".as_ref()]).unwrap();
    assert!(listed.as_array().unwrap().len() > 300);
    let payloads = all.iter().map(|path| {
        let listed = validate(&payload, &["payload".as_ref(), "list".as_ref(), *path]);
        validate(&payload, &["payload".as_ref(), "show".as_ref(), *path]);
        listed.and_then(|listed| Some(listed.as_array()?.len())).unwrap_or(0)
    });
    assert!(payloads.sum::<usize>() > 20);
    assert!(
        !ops.is_valid(&serde_json::json!([{"name": 1}])) && !payload.is_valid(&serde_json::json!([{"payload": 1}]))
    );
    assert!(!check.is_valid(&serde_json::json!({"files": [{}]})) && !diff.is_valid(&serde_json::json!({"version": 1})));
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
    assert!(properties::is_valid_by_schema("methods: {}\nraw: {ptd: {truncate: 8}}\n").unwrap());
    assert!(!properties::is_valid_by_schema("methods: {}\nraw: {ptd: {bpte: {}}}\n").unwrap());
    let sizes = |sizes: &str| {
        format!(
            "named_data: {{x: {{tensor: float32, sizes: [{sizes}], data: {{fill: 0}}}}}}\nlayout: {{segment_alignment: {sizes}}}\n"
        )
    };
    assert!(properties::is_valid_by_schema(&sizes("\"${N:4}\"")).unwrap());
    assert!(!properties::is_valid_by_schema(&sizes("\"x${N:4}\"")).unwrap());
}

/// Version of the second validator.
const SECOND: &str = "jsonschema==4.26.0";

/// Every example and golden, and what `dump` prints for every file of ExecuTorch: two validators agree, and accept what
/// is valid.
#[test]
#[ignore = "installs the Python package jsonschema"]
fn two_validators_agree() {
    let mut documents = Vec::new();
    let mut add = |name: &Path, text: &str| {
        let Some(value) = properties::as_json(text) else { return false };
        let valid = properties::is_valid_by_schema(text) == Some(true);
        let name = name.strip_prefix(root()).unwrap().display().to_string();
        documents.push(serde_json::json!({"name": name, "value": value, "valid": valid}).to_string() + "\n");
        valid
    };
    for folder in ["examples", "tests/golden"] {
        for path in files_below(&root().join(folder), &["yaml", "json"]) {
            if let Ok(text) = std::fs::read_to_string(&path) {
                // Each document of a file, with the defaults of its variables.
                let source = pte_emit::Model::from_yaml("schema", text, "");
                let Ok(found) = source.documents(&BTreeMap::new()) else { continue };
                found.models.iter().for_each(|source| _ = add(&path, source.text().unwrap()));
            }
        }
    }
    let binaries = files_below(&root().join("tests/golden/upstream"), &["pte", "ptd", "bpte"]);
    for path in &binaries {
        for (explicit, large) in [(false, LargeData::Refer), (true, LargeData::Inline)] {
            // Some files of other releases are truncated or of an unknown format.
            let Ok(printed) = properties::print(path, explicit, large) else { continue };
            assert!(add(path, &printed.text), "{}:\n{}", path.display(), printed.text);
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let lines = folder.path().join("documents");
    std::fs::write(&lines, documents.concat()).unwrap();
    let schema = root().join("pte-emit.schema.json");
    let arguments = [schema.to_str().unwrap(), lines.to_str().unwrap()];
    let output = python::run(&python::with_package(SECOND), "schema.py", &arguments);
    assert_eq!(output.trim(), documents.len().to_string());
}
