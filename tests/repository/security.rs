//! docs/security.md: the table is that of the first lines of `examples/malformed/security/` (`BLESS=1 cargo test --test
//! repository security::` writes it), and a finding or commit is either in the table or in the list of those that a
//! file does not reach.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::case::Case;
use crate::support::malformed::{self, CONDITIONS, FirstLine, NO_RULE, Security};
use crate::support::{root, snapshot};

/// Findings of the report of the audit, and advisories; the numbers of the report end at 42, a commit names another
/// one.
const FINDINGS: std::ops::RangeInclusive<u32> = 1..=42;
const MORE: [&str; 8] = [
    "TOB-EXECUTORCH-44",
    "CVE-2025-30402",
    "CVE-2025-30404",
    "CVE-2025-30405",
    "CVE-2025-54949",
    "CVE-2025-54950",
    "CVE-2025-54951",
    "CVE-2025-54952",
];

/// Sorted by advisory and number of the finding; changes without either at the end, by their names.
fn order(security: &Security, name: &str) -> (u8, u32, String) {
    let first = &security.ids[0];
    let number = first.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0);
    let kind = ["CVE", "TOB", "hardening"].iter().position(|kind| first.starts_with(kind)).unwrap();
    (kind as u8, number, name.to_owned())
}

fn answer((release, condition, answer): &(String, Option<String>, String)) -> String {
    let condition = condition.as_ref().map(|condition| format!(" ({condition})")).unwrap_or_default();
    format!("{release}{condition}: {answer}")
}

/// Answers of 1.5.1 with and without verification.
fn ours(first: &FirstLine) -> String {
    match &first.answers {
        None => String::new(),
        Some([verified, unverified]) if verified == unverified => verified.clone(),
        Some([verified, unverified]) => format!("{verified}; unverified: {unverified}"),
    }
}

fn row(name: &str, first: &FirstLine, security: &Security) -> String {
    let Security { ids, fixes, safe_since, affected, harm } = security;
    let rule = match first.rule.as_str() {
        NO_RULE => "-".to_owned(),
        rule => format!("[{rule}](rules.md)"),
    };
    let or = |text: String, empty: &str| if text.is_empty() { empty.to_owned() } else { text };
    format!(
        "| {} | {} | [{name}](../examples/malformed/security/{name}.yaml): {} {harm} | {} | {} | {} | {rule} |\n",
        ids.join(", "),
        or(fixes.join(", "), "none"),
        sentence(&first.defect),
        safe_since.as_deref().unwrap_or("none"),
        affected.iter().map(answer).collect::<Vec<_>>().join("; "),
        or(ours(first), "-"),
    )
}

/// `value 99 is freed` -> `Value 99 is freed.`
fn sentence(defect: &str) -> String {
    let mut letters = defect.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

#[test]
fn the_table_of_security_examples_is_up_to_date() {
    let mut rows = BTreeMap::new();
    for (case, first, security) in malformed::security() {
        rows.insert(order(&security, case.name()), row(case.name(), &first, &security));
    }
    let mut table =
        "| finding | fixed by | what a file can do | safe since | an affected release | 1.5.1 | rule |\n".to_owned();
    table += "|---|---|---|---|---|---|---|\n";
    rows.values().for_each(|row| table += row);
    let conditions: String = CONDITIONS.iter().map(|(name, meaning)| format!("| {name} | {meaning} |\n")).collect();
    let path = root().join("docs/security.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let text = replaced(&text, "security", &format!("\n{table}\n"));
    let text = replaced(&text, "conditions", &format!("\n| condition | meaning |\n|---|---|\n{conditions}\n"));
    snapshot::update(&path, &text, "BLESS=1 cargo test --test repository security::");
}

fn replaced(text: &str, marker: &str, content: &str) -> String {
    let open = format!("<!-- {marker} -->\n");
    let (before, after) = text.split_once(&open).unwrap_or_else(|| panic!("docs/security.md has the marker {marker}"));
    let (_, after) = after.split_once("<!-- end -->").expect("the marker ends");
    format!("{before}{open}{content}<!-- end -->{after}")
}

#[test]
fn every_finding_has_an_example_or_a_reason() {
    let text = std::fs::read_to_string(root().join("docs/security.md")).unwrap();
    let (_, list) = text.split_once("## What a file does not reach").expect("docs/security.md has the list");
    let words = list.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-'));
    let listed: BTreeSet<&str> = words.filter(|word| word.starts_with("TOB-") || word.starts_with("CVE-")).collect();
    let examples = malformed::security();
    let shown: BTreeSet<&str> =
        examples.iter().flat_map(|(_, _, security)| &security.ids).map(String::as_str).collect();
    let findings = FINDINGS.map(|number| format!("TOB-EXECUTORCH-{number}"));
    for finding in findings.chain(MORE.map(str::to_owned)) {
        let places = [shown.contains(finding.as_str()), listed.contains(finding.as_str())];
        assert!(places[0] || places[1], "{finding} has neither an example nor a reason");
    }
}

/// Answers of old releases are measured when an example is added: `lab/releases/measure.py --example NAME`.
#[test]
fn each_release_has_an_answer_to_each_example_that_runs() {
    let read = |path: &std::path::Path| std::fs::read_to_string(path).unwrap();
    let runs = |case: &Case| FirstLine::read(case.name(), &read(&case.input)).answers.is_some();
    let cases = malformed::cases();
    let examples: BTreeSet<&str> = cases.iter().filter(|case| runs(case)).map(Case::name).collect();
    let folder = root().join("crates/pte-releases/releases");
    for release in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let text = read(&release.join("answers.table"));
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let measured: BTreeSet<&str> = lines.map(|line| line.split(' ').nth(1).unwrap()).collect();
        assert_eq!(measured, examples, "{}", release.display());
    }
}
