//! What a release states in several files: versions, the address of the repository, the promises of SECURITY.md and
//! where they are held.

use std::collections::BTreeSet;
use std::path::Path;

use pretty_assertions::assert_eq;

use crate::support::{files_below, root};

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the value of the first line `key = "value"`, or `"key": "value"`.
fn value(text: &str, key: &str) -> String {
    let starts = [format!("{key} = \""), format!("\"{key}\": \"")];
    let line = text.lines().find_map(|line| starts.iter().find_map(|start| line.trim().strip_prefix(start.as_str())));
    line.and_then(|rest| rest.split('"').next()).unwrap_or_else(|| panic!("no {key}")).to_owned()
}

#[test]
fn all_manifests_have_the_version_and_the_address_of_the_workspace() {
    let workspace = read("Cargo.toml");
    let (version, address) = (value(&workspace, "version"), value(&workspace, "repository"));
    let dependencies = workspace.lines().filter(|line| line.starts_with("pte-") && line.contains("path = \"crates/"));
    for line in dependencies {
        assert!(line.ends_with(&format!("version = \"{version}\" }}")), "{line}");
    }
    for manifest in ["python/Cargo.toml", "macros/Cargo.toml", "bindings/Cargo.toml", "bindings/npm/package.json"] {
        assert_eq!(value(&read(manifest), "version"), version, "{manifest}");
    }
    assert!(read("macros/Cargo.toml").contains(&format!("path = \"..\", version = \"{version}\"")));
    let extension = read("editors/vscode/package.json");
    assert_eq!(value(&extension, "version"), version);
    assert!(extension.contains(&format!("\"url\": \"{address}\"")), "editors/vscode/package.json");
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let manifest = entry.unwrap().path().join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).unwrap();
        for key in ["version", "repository", "license"] {
            assert!(text.contains(&format!("\n{key}.workspace = true\n")), "{}: {key}", manifest.display());
        }
    }
    let install = read("docs/install.md");
    assert!(
        install.contains(&format!("rev: v{version}")) && install.contains(&format!("@v{version}")),
        "docs/install.md"
    );
    assert!(read("CHANGELOG.md").contains(&format!("\n## {version}")), "CHANGELOG.md");
}

/// Paths in backticks begin with a folder of the repository.
#[test]
fn the_files_that_hold_a_promise_exist() {
    let text = read("SECURITY.md");
    let is_path =
        |word: &&str| ["tests/", "lab/", "src/", "crates/", "fuzz/"].iter().any(|folder| word.starts_with(folder));
    let paths: Vec<&str> = text.split('`').skip(1).step_by(2).filter(is_path).collect();
    assert!(paths.len() > 5, "{paths:?}");
    let missing: Vec<&&str> = paths.iter().filter(|path| !root().join(path).exists()).collect();
    assert!(missing.is_empty(), "SECURITY.md names {missing:?}");
}

/// Sources outside of tests that start a process; SECURITY.md lists them.
const STARTS_A_PROCESS: [&str; 6] = [
    "crates/pte-run/src/install.rs",
    "crates/pte-run/src/process.rs",
    "src/cli/lsp/commands.rs",
    "src/cli/reduce/command.rs",
    "src/cli/runner.rs",
    "src/cli/view.rs",
];

#[test]
fn no_other_source_starts_a_process() {
    let security = read("SECURITY.md");
    let mut found = BTreeSet::new();
    let folders = ["src".into()]
        .into_iter()
        .chain(std::fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path().join("src")));
    for path in folders.flat_map(|folder: std::path::PathBuf| files_below(&root().join(folder), &["rs"])) {
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let mut calls = code.match_indices("Command::new(").map(|(at, _)| &code[..at]);
        // Not `RunnerCommand`, nor the one of clap.
        if code.contains("std::process::") && calls.any(|before| !before.ends_with(|c: char| c.is_alphanumeric())) {
            found.insert(path.strip_prefix(root()).unwrap_or(Path::new("")).display().to_string());
        }
    }
    assert_eq!(found.into_iter().collect::<Vec<_>>(), STARTS_A_PROCESS);
    let unlisted: Vec<&&str> = STARTS_A_PROCESS.iter().filter(|path| !security.contains(**path)).collect();
    assert!(unlisted.is_empty(), "SECURITY.md lacks {unlisted:?}");
}
