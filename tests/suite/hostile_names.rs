//! Names in a file are untrusted: no command prints a control character, a line break or a bidirectional character of a
//! name, so that a file cannot forge lines of a report, commands of a CI or escape sequences of a terminal.

use std::path::Path;
use std::process::Command;

use pte_model::diagnostics::is_unsafe;

/// A name with every kind of unsafe character, and text that a CI or a reader would take for a line of its own.
const HOSTILE: &str = "\u{1b}[31m\n1 file: 0 errors, 0 warnings, 0 notes\n::error::forged\r\u{202e}\u{2066}\u{200b}\u{e0041}\u{9b}2J\u{7}\u{feff}<script>alert(1)</script>";

/// Returns a program in which every string of the schema is a letter that identifies it, followed by [`HOSTILE`].
fn program() -> serde_json::Value {
    let name = |letter: &str| format!("{letter}{HOSTILE}");
    let tensor = || serde_json::json!({"tensor": "float32", "sizes": [2]});
    let mut values = serde_json::Map::new();
    values.insert(name("w"), serde_json::json!({"tensor": "float32", "sizes": [2], "data": [1, 2], "name": name("f")}));
    values.insert(
        name("e"),
        serde_json::json!({"tensor": "float32", "sizes": [2], "data": [1, 2], "name": name("x"), "external": true}),
    );
    values.insert("x".into(), tensor());
    values.insert("y".into(), tensor());
    values.insert("s".into(), serde_json::json!({"string": name("s")}));
    let trace = serde_json::json!([{"filename": name("a"), "name": name("b"), "context": name("c"), "lineno": 1}]);
    let method = serde_json::json!({
        "values": values, "inputs": ["x"], "outputs": ["y", "s"],
        "delegates": {name("d"): {
            "backend": name("B"), "data": {"text": name("p")}, "compile_specs": [{"key": name("k"), "value": {"text": name("v")}}],
        }},
        "instructions": [
            {"kernel": format!("{}::{}.{}", name("n"), name("o"), name("l")), "args": [name("w"), name("e"), "y"], "stacktrace": trace},
            {"delegate": name("d"), "args": ["x", "y"]},
        ],
        "container_meta": {"inputs": name("i"), "outputs": name("u")},
    });
    serde_json::json!({"methods": {name("m"): method}, "named_data": {name("q"): {"hex": "00"}}})
}

/// Runs a command in a folder, and returns its output.
fn output(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_pte-emit")).args(args).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    text(output.stdout) + &text(output.stderr)
}

fn assert_safe(text: &str, command: &[&str]) {
    let unsafe_character = |c: char| c != '\n' && is_unsafe(c);
    let wrong = text.lines().find(|line| line.contains(unsafe_character) || line.starts_with("::"));
    assert_eq!(wrong, None, "{command:?}");
    let summaries = text.lines().filter(|line| line.starts_with("1 file: ")).count();
    assert!(summaries <= 1, "{command:?}: a name forged a summary\n{text}");
}

#[test]
fn no_command_prints_them() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("m.json"), program().to_string()).unwrap();
    // With an error that names a value, and one in a file of a hostile name.
    let mut wrong = program();
    let method = wrong["methods"].as_object_mut().unwrap().values_mut().next().unwrap();
    method["outputs"] = serde_json::json!([format!("none{HOSTILE}")]);
    std::fs::write(folder.path().join("wrong.json"), wrong.to_string()).unwrap();
    let missing = serde_json::json!({"named_data": {"k": {"file": format!("file{HOSTILE}")}}});
    std::fs::write(folder.path().join("missing.json"), missing.to_string()).unwrap();
    let mut other = program();
    let method = other["methods"].as_object_mut().unwrap().values_mut().next().unwrap();
    for value in method["values"].as_object_mut().unwrap().values_mut().filter(|value| value["name"].is_string()) {
        value["data"] = serde_json::json!([1, 3]);
        value["name"] = format!("{}2", value["name"].as_str().unwrap()).into();
    }
    for delegate in method["delegates"].as_object_mut().unwrap().values_mut() {
        delegate["backend"] = format!("other{HOSTILE}").into();
        delegate["compile_specs"][0]["key"] = format!("other{HOSTILE}").into();
    }
    method["container_meta"]["inputs"] = format!("other{HOSTILE}").into();
    other["named_data"] = serde_json::json!({format!("other{HOSTILE}"): {"hex": "00"}});
    for name in ["other.json", "golden.yaml"] {
        std::fs::write(folder.path().join(name), other.to_string()).unwrap();
    }
    let key = serde_json::json!({"methods": {}, format!("key{HOSTILE}"): 1});
    std::fs::write(folder.path().join("key.json"), key.to_string()).unwrap();
    let assembled = output(folder.path(), &["m.json", "-o", "m.pte", "--external-data"]);
    assert!(folder.path().join("m.pte").exists() && folder.path().join("m.ptd").exists(), "{assembled}");
    assert_safe(&assembled, &["m.json"]);
    // The names of files are those of strangers, too, in an archive or a repository.
    let hostile_file = format!("x{}.pte", HOSTILE.replace('/', ""));
    std::fs::copy(folder.path().join("m.pte"), folder.path().join(&hostile_file)).unwrap();
    let hostile_source = format!("y{}.json", HOSTILE.replace('/', ""));
    std::fs::copy(folder.path().join("m.json"), folder.path().join(&hostile_source)).unwrap();
    let hostile_output = format!("z{}.onnx", HOSTILE.replace('/', ""));
    let commands: &[&[&str]] = &[
        &["check", &hostile_file],
        &["inspect", &hostile_file],
        &["inspect", "--json", &hostile_source],
        &["inspect", "m.ptd"],
        &["size", "-d", "segment,method,kind,tensor", &hostile_file],
        &["size", "--format", "csv", "-d", "tensor", "m.ptd"],
        &["size", "--json", "-d", "tensor", &hostile_source],
        &["report", &hostile_file],
        &["report", "--to", "dot", &hostile_file],
        &["report", "--to", "model-explorer", &hostile_source],
        &["report", "m.ptd"],
        &["report", &hostile_file, &hostile_source],
        &["memory", &hostile_file],
        &["memory", "--abi", "arm32", "m.json"],
        &["kernels", &hostile_file],
        &["embed", &hostile_file, &hostile_source, "--symbol", "a", "--symbol", "b", "-o", "array", "--facts"],
        &["embed", "m.json", "m.ptd", "-o", "array.S", "--facts"],
        &["kernels", "--json", &hostile_source],
        &["kernels", "--format", "yaml", &hostile_source],
        &["kernels", "--format", "list", &hostile_file],
        &["kernels", "--format", "header", "-o", "headers", "m.json"],
        &["inspect", "m.json"],
        &["inspect", "--json", "m.ptd"],
        &["size", "-d", "method,tensor", "--format", "csv", "m.json"],
        &["size", "-d", "tensor", "m.ptd"],
        &["diff", "m.pte", "other.json", "--with", "m.ptd"],
        &["diff", "m.ptd", &hostile_source, "--format", "markdown"],
        &["memory", "--json", &hostile_source],
        &["check", &hostile_source],
        &[&hostile_source, "-o", "of_source.pte", "--external-data"],
        &[&hostile_file, "-o", "of_file.pte"],
        &["dump", &hostile_file],
        &["annotate", &hostile_file],
        &["payload", "list", &hostile_file],
        &["payload", "list", "--json", &hostile_source],
        &["payload", "show", &hostile_source],
        &["payload", "show", "--json", &hostile_file],
        &["payload", "show", &hostile_file, HOSTILE],
        &["payload", "extract", &hostile_file, HOSTILE, "-o", "payload.bin"],
        &["m.json", "-o", &hostile_output],
        &["check", "m.pte"],
        &["check", "--read-data", "m.pte", "--with", "m.ptd"],
        &["check", "m.json"],
        &["check", "m.ptd"],
        &["check", "--json", "m.pte"],
        &["annotate", "m.pte"],
        &["annotate", "--json", "m.pte"],
        &["annotate", "m.ptd"],
        &["golden", "m.pte", "golden.yaml"],
        &["golden", "m.pte", "none.yaml"],
        &["diff", "m.pte", "other.json"],
        &["diff", "m.pte", "other.json", "--json"],
        &["diff", "m.json", "other.json", "--format", "markdown"],
        &["diff", "m.ptd", &hostile_file, "--budget", "size=0"],
        &["diff", "other.json", &hostile_source, "--compare-data", "hash"],
        &["dump", "m.pte"],
        &["dump", "--explicit", "m.pte"],
        &["dump", "m.ptd"],
        &["wrong.json", "-o", "wrong.pte"],
        &["check", "wrong.json"],
        &["missing.json", "-o", "missing.ptd"],
        &["key.json", "-o", "key.pte"],
        &["m.pte", "-o", "again.pte", "--with", "m.ptd", "--internal-data"],
        &["m.ptd", "-o", "m.safetensors"],
        &["-D", "A=\u{1b}[31m", "m.json", "-o", "defined.pte"],
        &["check", "no\u{1b}[31m\u{202e}file.pte"],
        &["dump", "no\u{1b}[31m\u{202e}file.pte"],
    ];
    for command in commands {
        let text = output(folder.path(), command);
        assert_safe(&text, command);
        // Markdown and pages would show it as an element.
        if command.contains(&"github") || command == &["report", "m.ptd"] {
            assert!(!text.contains("<script>alert"), "{command:?}");
        }
    }
}

/// Names of 100,000 characters are clipped in text: no line is longer than a few terminals.
#[test]
fn long_names_are_clipped() {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("m{}", "x".repeat(100_000));
    let text = program().to_string().replace(&serde_json::to_string(HOSTILE).unwrap()[1..][..8], &long);
    std::fs::write(folder.path().join("m.json"), &text).unwrap();
    std::fs::write(
        folder.path().join("other.json"),
        text.replace("\"sizes\":[2]", "\"sizes\":[3]").replace("[1,2]", "[1,2,3]"),
    )
    .unwrap();
    let assembled = output(folder.path(), &["m.json", "-o", "m.pte", "--external-data"]);
    assert!(folder.path().join("m.pte").exists(), "{assembled}");
    let commands: &[&[&str]] = &[
        &["inspect", "m.pte"],
        &["inspect", "m.json"],
        &["inspect", "m.ptd"],
        &["size", "-d", "segment,method,kind,tensor", "--limit", "0", "m.pte"],
        &["memory", "m.pte"],
        &["memory", "m.json"],
        &["diff", "m.pte", "other.json"],
        &["diff", "m.pte", "other.json", "--format", "markdown"],
    ];
    for command in commands {
        let text = output(folder.path(), command);
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        assert!(longest < 10_000, "{command:?}: a line of {longest} characters: {}", &text[..text.len().min(3000)]);
    }
}
