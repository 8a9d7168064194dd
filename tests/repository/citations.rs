//! Comments cite rules and facts by id (`T-9`, `W-6`) and sections of docs/format.md by title. Every citation must have
//! a definition in the table of rules of `check` or in docs/format.md.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pte_check::rules::RULES;
use pte_emit::Code;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// Line number, path and content of all lines in Rust sources except this one.
fn lines() -> Vec<(usize, PathBuf, String)> {
    let mut folders = ["src", "crates", "tests", "lab", "benches"].map(|name| root().join(name)).to_vec();
    let mut lines = Vec::new();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && path != root().join(file!()) {
                let text = fs::read_to_string(&path).unwrap();
                lines.extend(text.lines().zip(1..).map(|(line, number)| (number, path.clone(), line.to_owned())));
            }
        }
    }
    for name in ["benches/pipeline.rs", "crates/pte-check/src/rules.rs", "tests/repository/docs.rs"] {
        assert!(lines.iter().any(|(_, path, _)| *path == root().join(name)), "the lines of {name} are missing");
    }
    lines
}

/// Fails with all lines for which `complaint` returns a message.
fn check(complaint: impl Fn(&str) -> Option<String>) {
    let mut complaints: Vec<String> = lines()
        .into_iter()
        .filter_map(|(number, path, line)| {
            let path = path.strip_prefix(root()).unwrap().display().to_string();
            Some(format!("{path}:{number}: {}\n", complaint(&line)?))
        })
        .collect();
    complaints.sort();
    assert!(complaints.is_empty(), "{} lines:\n{}", complaints.len(), complaints.concat());
}

/// `cargo fmt` wraps code only.
#[test]
fn comments_have_at_most_120_columns() {
    let is_long = |line: &str| line.trim_start().starts_with("//") && line.chars().count() > 120;
    check(|line| is_long(line).then(|| format!("a comment of {} columns", line.chars().count())));
}

/// Titles of the sections of docs/format.md that a line cites.
fn sections(line: &str) -> impl Iterator<Item = &str> {
    line.split("docs/format.md, \"").skip(1).filter_map(|rest| rest.split('"').next())
}

/// Rule ids in a line: a capital letter, a hyphen, a number; another capital letter may precede the number (`P-K3`),
/// one of `a` to `d` may follow it (`I-7b`).
fn ids(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_'));
    words.filter(|word| {
        let Some((series, number)) = word.split_once('-') else { return false };
        let number = number.strip_prefix(|c: char| c.is_ascii_uppercase()).unwrap_or(number);
        let number = number.strip_suffix(|c| matches!(c, 'a'..='d')).unwrap_or(number);
        let is_series = series.len() == 1 && series.chars().all(|c| c.is_ascii_uppercase());
        is_series && !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
    })
}

/// Ids of the rules of `check`, in crates/pte-check/rules.md, of the facts of docs/format.md, `- **W-6** ...`, and of
/// the codes of diagnostics.
fn defined() -> BTreeSet<String> {
    let format = page("format.md");
    let facts = format.lines().filter_map(|line| Some(line.strip_prefix("- **")?.split_once("**")?.0));
    let mut defined = BTreeSet::new();
    let codes = Code::ALL.iter().map(|code| code.as_str());
    for id in RULES.iter().map(|rule| rule.id.as_str()).chain(facts).chain(codes) {
        assert_eq!(ids(id).collect::<Vec<_>>(), [id], "an id");
        assert!(defined.insert(id.to_owned()), "{id} is defined twice");
    }
    defined
}

#[test]
fn ids_are_recognized() {
    let line = "(rules H-3 to H-6, `P-K3`; I-7b) UTF-8, SHA-256, [A-Z0-9]+, M-2x, x-1, T-, E-1-2, -5";
    assert_eq!(ids(line).collect::<Vec<_>>(), ["H-3", "H-6", "P-K3", "I-7b"]);
}

#[test]
fn sections_are_recognized() {
    let line = "(docs/format.md, \"Lifetimes\"), and docs/format.md, \"Named data\"";
    assert_eq!(sections(line).collect::<Vec<_>>(), ["Lifetimes", "Named data"]);
}

#[test]
fn every_id_is_defined() {
    let defined = defined();
    check(|line| {
        let unknown: Vec<_> = ids(line).filter(|id| !defined.contains(*id)).collect();
        (!unknown.is_empty()).then(|| format!("{} is neither a rule nor a fact of docs/format.md", unknown.join(", ")))
    });
    for name in ["rules.md", "format.md", "../crates/pte-check/rules.md"] {
        let text = page(name);
        for id in text.lines().flat_map(ids) {
            assert!(defined.contains(id), "docs/{name} cites {id}, which is not defined");
        }
    }
}

#[test]
fn every_cited_section_exists() {
    let format = page("format.md");
    let titles: BTreeSet<&str> =
        format.lines().filter(|line| line.starts_with("##")).map(|line| line.trim_start_matches(['#', ' '])).collect();
    check(|line| sections(line).find(|title| !titles.contains(title)).map(|title| format!("no section \"{title}\"")));
}

#[test]
fn no_document_outside_the_repository_is_cited() {
    check(|line| {
        for name in ["runtime-rules", "byte-layout", "shared/"] {
            if line.contains(name) {
                return Some(format!("{name} is not in the repository"));
            }
        }
        let (_, comment) = line.split_once("//")?;
        let mut words = comment.split(|c: char| !c.is_alphanumeric() && c != '.').peekable();
        while let Some(word) = words.next() {
            let number = words.peek().is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit()));
            if word == "paper" || (matches!(word, "section" | "sections" | "appendix") && number) {
                return Some(format!("`{word}` of a document that is not in the repository"));
            }
        }
        // A section number such as (10.4), or (10.4, step 3).
        let in_parentheses = comment.split('(').skip(1).filter_map(|rest| rest.split([')', ',']).next());
        let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        let mut numbers = in_parentheses
            .filter(|text| text.split_once('.').is_some_and(|(section, part)| is_number(section) && is_number(part)));
        numbers.next().map(|number| format!("section {number} of a document that is not in the repository"))
    });
}
