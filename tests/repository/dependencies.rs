//! The table of dependencies in docs/library.md is that of the manifests.

use std::collections::{BTreeMap, BTreeSet};

use pretty_assertions::assert_eq;

use crate::support::root;

/// A dependency of a package of the workspace, as in its manifest.
pub struct Dependency {
    pub name: String,
    pub is_optional: bool,
    pub is_dev: bool,
}

/// Dependencies of all packages of the workspace, each with the package that has it.
pub fn dependencies() -> Vec<(String, Dependency)> {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    let output =
        cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(root()).output();
    let metadata: serde_json::Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let of_package = packages.flat_map(|package| {
        let list = package["dependencies"].as_array().unwrap().iter();
        list.map(|found| {
            let (name, is_optional) = (text(&found["name"]), found["optional"] == true);
            (text(&package["name"]), Dependency { name, is_optional, is_dev: found["kind"] == "dev" })
        })
    });
    of_package.collect()
}

/// Rows of docs/library.md are the dependencies of the library and of the crates, in alphabetical order, with the
/// crates that use them; the purposes of optional ones begin with their feature.
#[test]
fn the_table_of_dependencies_is_up_to_date() {
    let mut all: BTreeMap<String, (bool, BTreeSet<String>)> = BTreeMap::new();
    let of_libraries =
        |(user, dependency): &(String, Dependency)| !dependency.is_dev && user != "pte-emit-test-support";
    for (user, Dependency { name, is_optional, .. }) in dependencies().into_iter().filter(of_libraries) {
        let (always_optional, users) = all.entry(name).or_insert((true, BTreeSet::new()));
        *always_optional &= is_optional;
        users.insert(user.trim_start_matches("pte-").to_owned());
    }
    let expected = all.into_iter().filter(|(name, _)| !name.starts_with("pte-"));
    let expected: Vec<_> = expected
        .map(|(name, (is_optional, users))| (name, is_optional, users.into_iter().collect::<Vec<_>>().join(", ")))
        .collect();
    let page = std::fs::read_to_string(root().join("docs/library.md")).unwrap();
    let (_, table) =
        page.split_once("\n| crate | purpose | used by |\n|---|---|---|\n").expect("docs/library.md has the table");
    let rows = table.lines().map_while(|line| line.strip_prefix("| ")?.split_once(" | "));
    let found: Vec<_> = rows
        .map(|(name, rest)| {
            let (purpose, users) = rest.split_once(" | ").expect("a third column");
            (name.to_owned(), purpose.starts_with('`'), users.trim_end_matches(" |").to_owned())
        })
        .collect();
    assert_eq!(found, expected);
}

/// Features of the packages that `cargo tree` lists, by name and version.
fn features(arguments: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let mut command = std::process::Command::new(env!("CARGO"));
    command.args(["tree", "--locked", "--offline", "--prefix", "none", "--format", "{p}\t{f}"]).args(arguments);
    let output = command.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    // A procedural macro is compiled for the compiler, apart from what tests use.
    let lines = text.lines().filter(|line| !line.contains("(proc-macro)")).filter_map(|line| line.split_once('\t'));
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (package, features) in lines {
        let name = package.split(" (").next().unwrap().to_owned();
        let features = features.trim_end_matches(" (*)").split(',').filter(|feature| !feature.is_empty());
        found.entry(name).or_default().extend(features.map(str::to_owned));
    }
    found
}

/// `cargo test` after `cargo run` compiles no package again: dev-dependencies switch on no features of those of the
/// command.
#[test]
fn dev_dependencies_switch_on_no_features() {
    let run = features(&["-p", "pte-emit", "-e", "normal"]);
    let test = features(&["--workspace", "-e", "normal,dev"]);
    let compiled_for_macros = ["proc-macro2", "quote", "unicode-ident", "syn"];
    let is_compared = |name: &str| !compiled_for_macros.iter().any(|one| name.starts_with(&format!("{one} ")));
    let other: Vec<_> = run
        .iter()
        .filter(|(name, features)| is_compared(name) && test.get(*name).is_some_and(|of_tests| of_tests != *features))
        .map(|(name, features)| format!("{name}: {features:?}, with tests {:?}", test[name]))
        .collect();
    assert!(run.len() > 50, "{run:?}");
    assert_eq!(other, Vec::<String>::new(), "state these features for the normal build");
}
