//! Errors of the compiler, tracked files, and reports of tests: code that this file writes is compiled with `rustc`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use pte_emit_macros::{assert_program_eq, include_pte};

const YAML: &str =
    "methods:\n  forward:\n    values:\n      w: {tensor: uint8, sizes: [2], data: {file: w.bin}}\n    outputs: [w]\n";

/// Path of the macros for `rustc`: the newest library beside this program.
fn macros() -> PathBuf {
    let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
    let is_library = |path: &PathBuf| {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        name.contains("pte_emit_macros-") && name.ends_with(std::env::consts::DLL_SUFFIX)
    };
    let files = folder.read_dir().unwrap().map(|file| file.unwrap().path()).filter(is_library);
    files.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).expect("the library of the macros")
}

/// Compiles code in a folder; returns the messages, none for success.
fn compile(folder: &Path, code: &str) -> String {
    std::fs::create_dir_all(folder.join("src")).unwrap();
    std::fs::write(folder.join("src/lib.rs"), code).unwrap();
    let output = Command::new("rustc")
        .args(["--edition", "2024", "--crate-type", "lib", "--emit", "dep-info,metadata", "src/lib.rs", "--extern"])
        .arg(format!("pte_emit_macros={}", macros().display()))
        .current_dir(folder)
        .output()
        .unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.success(), messages.is_empty(), "{messages}");
    messages
}

#[test]
fn errors_of_the_yaml_are_errors_of_the_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let code = "pub static PROGRAM: &[u8] = pte_emit_macros::include_pte!(\"models/model.yaml\");\n";
    let missing = compile(folder.path(), code);
    assert!(missing.contains("cannot read") && missing.contains("src/models/model.yaml"), "{missing}");
    std::fs::create_dir(folder.path().join("src/models")).unwrap();
    let write =
        |name: &str, content: &str| std::fs::write(folder.path().join("src/models").join(name), content).unwrap();
    write("model.yaml", &YAML.replace("uint8", "uint80"));
    write("w.bin", "ab");
    let error = compile(folder.path(), code);
    for part in ["unknown element type `uint80`", "model.yaml:4:19", "src/lib.rs:1:59"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    // Correct YAML, whose files are tracked.
    write("model.yaml", YAML);
    assert_eq!(compile(folder.path(), code), "");
    let tracked = std::fs::read_to_string(folder.path().join("lib.d")).unwrap();
    assert!(tracked.contains("models/model.yaml") && tracked.contains("models/w.bin"), "{tracked}");
    for (arguments, expected) in
        [("", "expected the path of a file in quotes"), ("7", "with `/`, found `7`"), ("\"a\\\\b\"", "with `/`, found")]
    {
        let error =
            compile(folder.path(), &format!("pub static P: &[u8] = pte_emit_macros::include_pte!({arguments});\n"));
        assert!(error.contains(expected), "{expected}: {error}");
    }
    let error = compile(folder.path(), "pub fn f() { pte_emit_macros::assert_program_eq!(\"a.yaml\") }\n");
    assert!(error.contains("expected `assert_program_eq!(bytes, \"golden.yaml\")`"), "{error}");
}

/// The message of the example with another operator, and of a golden YAML that does not exist.
#[test]
fn a_difference_is_a_panic() {
    let text = |test: fn()| {
        let panic = std::panic::catch_unwind(test).unwrap_err();
        panic.downcast_ref::<String>().cloned().unwrap_or_default()
    };
    // The run blesses what differs, which these do on purpose.
    let bless = std::env::var("BLESS").unwrap_or_default();
    if ["1", "true", "yes"].contains(&&*bless) {
        return;
    }
    if bless != "no" {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        let status = command.args(["--exact", "a_difference_is_a_panic"]).env("BLESS", "no").status();
        assert!(status.unwrap().success(), "BLESS=no blesses");
    }
    let report = text(|| assert_program_eq!(include_pte!("../../examples/add.yaml"), "../../examples/dtypes.yaml",));
    let at = |part: &str| report.find(part).unwrap_or_else(|| panic!("{part}: {report}"));
    assert!(at("meaning: ") < at("\n--- ") && at("\n@@ ") < at("BLESS=1 in the environment"), "{report}");
    let missing = text(|| assert_program_eq!(include_pte!("../../examples/add.yaml"), "no.yaml"));
    assert!(missing.contains("no.yaml: error: the golden YAML does not exist; `--bless`, or BLESS=1"), "{missing}");
    assert_program_eq!(include_pte!(r"../../examples/add.yaml"), r#"../../examples/golden/add.yaml"#);
}
