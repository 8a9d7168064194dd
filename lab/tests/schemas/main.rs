//! JSON Schemas: that of the YAML accepts valid sources and rejects errors as far as a schema can; what commands print
//! with `--json` has the schemas of docs/. The default tests compile no validator.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use jsonschema::Validator;
use pretty_assertions::assert_eq;
use pte_emit::inspect::{InspectOptions, SizeDimension, SizeOptions};
use pte_emit::memory::MemoryOptions;
use pte_emit::{LargeData, Model};
use pte_emit_lab::case::inputs;
use pte_emit_lab::folder::Folder;
use pte_emit_lab::recordings::{compare, json, run_profile};
use pte_emit_lab::schema::{assert_valid, read, schema};
use pte_emit_lab::{command, files_below, malformed, properties, python, root, sections, snapshot};
use pte_yaml::tree;
use serde_json::Value;

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    jsonschema::validator_for(&serde_json::from_str(&pte_emit::json_schema()).unwrap()).expect("it is a JSON Schema")
});

/// Returns true if a source is valid by the JSON Schema; `None` if it is not YAML.
fn is_valid_by_schema(text: &str) -> Option<bool> {
    Some(VALIDATOR.is_valid(&as_json(text)?))
}

/// Returns a source as JSON; `None` if it is not YAML.
fn as_json(text: &str) -> Option<serde_json::Value> {
    Some((&tree::parse(text).ok()?).into())
}

/// Examples, malformed examples, and sources of files that ExecuTorch wrote.
#[test]
fn sources_are_valid() {
    let cases = [inputs("examples"), malformed::cases(), inputs("tests/golden/upstream/bytes")];
    for case in cases.iter().flatten() {
        let text = std::fs::read_to_string(&case.input).unwrap();
        assert_valid(&VALIDATOR, &as_json(&text).expect("YAML"), case.name());
    }
}

/// Snapshot of the rejected inputs, to detect a schema that accepts more.
#[test]
fn errors_are_found_as_far_as_a_schema_can() {
    let mut rejected = String::new();
    for case in sections::errors() {
        // Some are not UTF-8, some not YAML.
        let Ok(text) = std::fs::read_to_string(&case.input) else { continue };
        if is_valid_by_schema(&text) == Some(false) {
            rejected += &format!("{}\n", case.input.file_name().unwrap().display());
        }
    }
    snapshot::check("schema/rejected.txt", &rejected);
}

/// What `check`, `diff`, `ops` and `payload` print of all examples with `--json` has the schemas in docs/.
#[test]
fn results_of_the_examples_have_their_schemas() {
    let validate = |validator: &Validator, arguments: &[&std::ffi::OsStr]| {
        let mut process = std::process::Command::new(command());
        let output = process.args(arguments).arg("--json").output().unwrap();
        let document = serde_json::from_slice(&output.stdout).ok()?;
        assert_valid(validator, &document, &format!("{arguments:?}"));
        Some(document)
    };
    let (check, diff) = (schema("check"), schema("diff"));
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
    let firmware = schema("firmware");
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
    let kernels = schema("kernels");
    let is_valid = |path: &&std::path::PathBuf| path.parent() == Some(&root().join("examples"));
    let root_examples: Vec<&std::ffi::OsStr> = paths.iter().filter(is_valid).map(|path| path.as_os_str()).collect();
    let listed = validate(&kernels, &[&["kernels".as_ref(), "--union".as_ref()], &root_examples[..]].concat()).unwrap();
    assert!(listed["operators"].as_array().unwrap().len() > 20);
    let report = schema("report");
    let reported = root_examples.iter().filter(|path| {
        let output = std::process::Command::new(command()).arg("report").arg(path).output().unwrap();
        let page = String::from_utf8(output.stdout).unwrap();
        let Some((_, data)) = page.split_once("id=\"data\">") else { return false };
        let document = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
        assert_valid(&report, &document, &path.display().to_string());
        true
    });
    assert!(reported.count() > 20);
    let (ops, payload) = (schema("ops"), schema("payload"));
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
    let schema = read("pte-emit.schema.json");
    // A definition that is only a reference may lead to itself, and accepts everything then.
    let definitions = schema["$defs"].as_object().unwrap();
    let empty = definitions.iter().filter(|(_, definition)| definition.get("$ref").is_some() || definition.is_null());
    assert_eq!(empty.map(|(name, _)| name).collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(is_valid_by_schema("methods: {}\nraw: {truncate: 8}\n").unwrap());
    assert!(!is_valid_by_schema("methods: {}\nraw: {truncates: 8}\n").unwrap());
    assert!(is_valid_by_schema("methods: {}\nraw: {ptd: {truncate: 8}}\n").unwrap());
    assert!(!is_valid_by_schema("methods: {}\nraw: {ptd: {bpte: {}}}\n").unwrap());
    // What is repeated has the keys of what is around it.
    let repeated = |body: &str| {
        let text = format!("methods: {{f: {{instructions: [{{repeat: {{i: 2}}, do: [{body}]}}]}}}}\n");
        is_valid_by_schema(&text).unwrap()
    };
    assert!(repeated(
        "{kernel: $(i), args: [a$(i)], out: b}, {repeat: {j: [a]}, do: [{jump_false: {cond: false, to: $(j)}}]}"
    ));
    assert!(!repeated("{kernal: x}") && !repeated("{repeat: {j: [a]}, do: [{jmp: x}]}") && !repeated("3"));
    let sizes = |sizes: &str| {
        format!(
            "named_data: {{x: {{tensor: float32, sizes: [{sizes}], data: {{fill: 0}}}}}}\nlayout: {{segment_alignment: {sizes}}}\n"
        )
    };
    assert!(is_valid_by_schema(&sizes("\"${N:4}\"")).unwrap());
    assert!(!is_valid_by_schema(&sizes("\"x${N:4}\"")).unwrap());
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
        let Some(value) = as_json(text) else { return false };
        let valid = is_valid_by_schema(text) == Some(true);
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
    let output = python::run(&python::with_package(SECOND), "lab/conformance/schema.py", &arguments);
    assert_eq!(output.trim(), documents.len().to_string());
}

#[test]
fn explanations_have_their_schema() {
    let done = Folder::new(&[]).run(&["explain", "0x14", "R-1", "Y-5", "--json"]).exits(0);
    assert_valid(&schema("explain"), &json(&done), "explain");
}

#[test]
fn the_manifest_of_the_corpus_has_its_schema() {
    let folder = Folder::new(&[]);
    folder.run(&["generate", "--corpus", "corpus"]).exits(0);
    let (schema, manifest) = (schema("corpus"), folder.read("corpus/manifest.json"));
    assert_valid(&schema, &serde_json::from_slice(&manifest).unwrap(), "manifest.json");
    assert!(!schema.is_valid(&serde_json::json!({"executorch": "1.5.1", "examples": [{}]})));
}

/// The documents of all three commands have the schema of docs/inspect.schema.json.
#[test]
fn inspections_sizes_and_memory_have_their_schema() {
    let schema = read("docs/inspect.schema.json");
    let validator = |part: &str| {
        let mut schema = schema.clone();
        schema["anyOf"] = serde_json::json!([{"$ref": format!("#/$defs/{part}")}]);
        jsonschema::validator_for(&schema).unwrap()
    };
    let [inspection, work, tree, needed] = ["Inspection", "Delegation", "FileSize", "MemoryDocument"].map(validator);
    let mut checked = 0;
    let upstream = files_below(&root().join("tests/golden/upstream"), &["pte", "ptd", "bpte"]);
    for path in upstream.into_iter().chain(files_below(&root().join("examples"), &["yaml"])) {
        let name = path.display().to_string();
        let Ok(source) = Model::open(&path) else { continue };
        let Ok(documents) = source.inspect(&InspectOptions::default()) else { continue };
        for (name, document) in documents {
            assert_valid(&inspection, &serde_json::to_value(document).unwrap(), &name);
        }
        if let Ok(delegation) = source.delegation() {
            assert_valid(&work, &serde_json::to_value(delegation).unwrap(), &name);
        }
        let mut sizes = SizeOptions::default();
        sizes.dimensions =
            vec![SizeDimension::Segment, SizeDimension::Method, SizeDimension::Kind, SizeDimension::Tensor];
        for (name, document) in source.size(&sizes).into_iter().flatten() {
            assert_valid(&tree, &serde_json::to_value(document).unwrap(), &name);
        }
        if let Ok(memory) = source.memory(&MemoryOptions::default()) {
            assert_valid(&needed, &serde_json::to_value(memory).unwrap(), &name);
        }
        checked += 1;
    }
    assert!(checked > 300, "{checked} files");
    // A schema that accepts anything would not fail above.
    assert!(!inspection.is_valid(&serde_json::json!({"version": 1})));
    assert!(!work.is_valid(&serde_json::json!({"methods": [{"name": "forward"}]})));
    assert!(!tree.is_valid(&serde_json::json!({"version": 1, "dimensions": [], "bytes": -1, "children": []})));
    assert!(!needed.is_valid(&serde_json::json!({"version": 1, "abi": "64", "methods": []})));
}

/// What `profile --json` prints has the schema in docs/.
#[test]
fn profiles_have_their_schema() {
    let schema = schema("profile");
    for name in ["linear", "loop", "lists", "quantize", "xnnpack_two_delegates"] {
        for recordings in [&[name][..], &[name, name]] {
            let done = run_profile(name, recordings, &["--json"]).exits(0);
            let document: Value = serde_json::from_slice(&done.stdout).unwrap();
            assert_valid(&schema, &document, name);
        }
    }
    assert!(!schema.is_valid(&serde_json::json!({"version": 1})));
}

/// What `diff --numeric --json` prints has the schema in docs/.
#[test]
fn numeric_differences_have_their_schema() {
    let schema = schema("numeric");
    for kind in ["none", "value", "output", "shape"] {
        let document = json(&compare(kind, &["--json"]));
        assert_valid(&schema, &document, kind);
    }
    assert!(!schema.is_valid(&serde_json::json!({"version": 1})));
}
