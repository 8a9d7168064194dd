//! Links between the pages of the repository: each file exists, each anchor is a heading of its page, as GitHub names
//! it; docs/SUMMARY.md, the contents of the book, has every page of docs/ once. `.ci/book` checks the links of the book
//! that is built.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::docs::pages;
use crate::support::{files_below, root};

/// The lines of a page outside of code blocks, with their numbers.
fn prose(page: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    page.lines().zip(1..).filter_map(move |(line, number)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        // Four spaces are code, too, except in lists: there are no links in such code.
        (!is_code && !is_fence).then_some((number, line))
    })
}

/// The line without what is between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("``")
}

/// Targets of the links and pictures of a page, with the numbers of their lines.
fn links(page: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (number, line) in prose(page) {
        let line = without_code(line);
        let targets = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        links.extend(targets.map(|(target, _)| (number, target.to_owned())));
    }
    links
}

/// Names of the headings of a page: in lower case, with `-` for spaces and without punctuation, and a number after a
/// name that repeats.
fn anchors(page: &str) -> BTreeSet<String> {
    let mut repeated: BTreeMap<String, u32> = BTreeMap::new();
    let headings = prose(page).filter_map(|(_, line)| {
        let text = line.trim_start_matches('#');
        (text.len() < line.len()).then(|| text.strip_prefix(' ')).flatten()
    });
    let mut anchors = BTreeSet::new();
    for heading in headings {
        let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let name: String = kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect();
        let count = repeated.entry(name.clone()).or_default();
        anchors.insert(if *count == 0 { name } else { format!("{name}-{count}") });
        *count += 1;
    }
    anchors
}

/// Returns what is wrong with a link of a page.
fn problem(page: &Path, link: &str) -> Option<String> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let target = if file.is_empty() { page.to_owned() } else { page.parent().unwrap().join(file) };
    let Ok(target) = target.canonicalize() else {
        return Some(format!("no file `{file}`"));
    };
    let anchor = anchor?;
    if target.extension().is_none_or(|extension| extension != "md") {
        return Some(format!("`{file}` has no headings, but the link has the anchor `{anchor}`"));
    }
    let known = anchors(&std::fs::read_to_string(&target).unwrap());
    (!known.contains(anchor)).then(|| {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        format!("no heading `{anchor}` in {}; it has {}", target.display(), known.join(", "))
    })
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut all = pages();
    all.push(root().join("CHANGELOG.md"));
    for folder in ["crates", "tests", "python", "examples", "tools", "fuzz", "benches"] {
        all.extend(files_below(&root().join(folder), &["md"]));
    }
    let mut problems = Vec::new();
    let mut count = 0;
    for page in &all {
        for (number, link) in links(&std::fs::read_to_string(page).unwrap()) {
            count += 1;
            let found = problem(page, &link);
            problems.extend(found.map(|problem| format!("{}:{number}: ({link}): {problem}\n", page.display())));
        }
    }
    assert!(problems.is_empty(), "{} links\n{}", problems.len(), problems.concat());
    assert!(count > 100, "{count} links");
}

#[test]
fn the_contents_have_every_page_once() {
    let folder = root().join("docs");
    let contents = std::fs::read_to_string(folder.join("SUMMARY.md")).unwrap();
    let mut listed: Vec<PathBuf> = links(&contents).iter().map(|(_, link)| folder.join(link)).collect();
    let mut pages: Vec<PathBuf> = files_below(&folder, &["md"]);
    pages.retain(|page| *page != folder.join("SUMMARY.md"));
    listed.sort();
    pages.sort();
    pretty_assertions::assert_eq!(listed, pages, "docs/SUMMARY.md (left), the pages of docs/ (right)");
}

/// docs/architecture.md says where things are: every path in it exists, and it stays a page that is read.
#[test]
fn the_architecture_names_paths_that_exist() {
    let page = std::fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    assert!(page.len() <= 12 * 1024, "{} bytes: move the rest to the first lines of modules", page.len());
    let is_path = |code: &&str| ["crates/", "lab/", "src/", "tests/"].iter().any(|folder| code.starts_with(folder));
    let paths = page.split('`').skip(1).step_by(2).filter(is_path).filter(|path| !path.contains("NAME"));
    let (found, missing): (Vec<&str>, Vec<&str>) = paths.partition(|path| root().join(path).exists());
    assert!(missing.is_empty(), "docs/architecture.md names {}, which do not exist", missing.join(", "));
    assert!(found.len() > 50, "{} paths", found.len());
}

#[test]
fn links_and_headings_are_found() {
    let page =
        "# A `b-c`: d_e\n[x](y.md#z) and `[no](link)` ![p](q.png)\n```text\n[no](link)\n# no\n```\n## A\n## A\n#no\n";
    assert_eq!(links(page), [(2, "y.md#z".to_owned()), (2, "q.png".to_owned())]);
    assert_eq!(anchors(page).into_iter().collect::<Vec<_>>(), ["a", "a-1", "a-b-c-d_e"]);
    let readme = root().join("README.md");
    for (link, is_wrong) in [
        ("docs/format.md", false),
        ("docs/check.md#limits", false),
        ("#install", false),
        ("docs/no-such-page.md", true),
        ("docs/check.md#no-such-heading", true),
        ("#no-such-heading", true),
        ("Cargo.toml#package", true),
    ] {
        assert_eq!(problem(&readme, link).is_some(), is_wrong, "{link}");
    }
}
