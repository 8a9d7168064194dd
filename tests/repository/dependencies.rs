//! The table of dependencies in docs/library.md is that of the manifests.

use std::collections::{BTreeMap, BTreeSet};

use pretty_assertions::assert_eq;

use crate::support::{files_below, root};

/// Rows of docs/library.md are the dependencies of the library and of the crates, in alphabetical order, with the
/// crates that use them; the purposes of optional ones begin with their feature.
#[test]
fn the_table_of_dependencies_is_up_to_date() {
    let manifests = files_below(&root().join("crates"), &["toml"]);
    let mut dependencies: BTreeMap<String, (bool, BTreeSet<String>)> = BTreeMap::new();
    for manifest in manifests.into_iter().chain([root().join("Cargo.toml")]) {
        let manifest = std::fs::read_to_string(manifest).unwrap();
        let user = manifest.split("\nname = \"pte-").nth(1).and_then(|rest| rest.split('"').next()).expect("a name");
        let mut section = "";
        for line in manifest.lines() {
            match line.split_once(" = ") {
                _ if line.starts_with('[') => section = line.trim_matches(['[', ']']),
                Some((name, value))
                    if section.ends_with("dependencies")
                        && !["dev-dependencies", "workspace.dependencies"].contains(&section) =>
                {
                    let name = name.trim_end_matches(".workspace").to_owned();
                    let (is_optional, users) = dependencies.entry(name).or_insert((true, BTreeSet::new()));
                    *is_optional &= value.contains("optional = true");
                    users.insert(user.to_owned());
                }
                _ => {}
            }
        }
    }
    let expected = dependencies.into_iter().filter(|(name, _)| !name.starts_with("pte-"));
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
