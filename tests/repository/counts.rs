//! Counts in prose: a page does not state how many sources, rules or operators the repository has, because no test
//! would hold the number. Tables that tests write may state it, and pages of measurements state numbers of the measured
//! things.

use super::docs::pages;
use crate::support::root;

/// Pages of measurements.
const EXCEPT: [&str; 3] = ["mutants.md", "optimize.md", "performance.md"];

/// Things that a repository gets more of.
const NOUNS: &str = "codes commands examples files goldens messages models mutants operators payloads programs releases rules sources tests";

/// Numbers from ten on, in words.
const NUMBERS: &str =
    "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty";

/// Returns true for a number of at least two digits.
fn is_count(word: &str) -> bool {
    let word = word.trim_start_matches('(');
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    digits >= 2 && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b',')
        || NUMBERS.split(' ').any(|n| n == word)
}

/// Returns the counts outside of code blocks and of what tests write, with at most one word between the number and the
/// noun.
fn counts(page: &str) -> Vec<String> {
    let before_table = |part: &str| part.split_once("<!-- ").map_or(part.len(), |(before, _)| before.len());
    let page: String = page.split("<!-- end -->").map(|part| &part[..before_table(part)]).collect();
    let prose: String = page.split("```").step_by(2).collect();
    let words: Vec<&str> = prose.split_whitespace().collect();
    let is_noun = |word: &&str| NOUNS.split(' ').any(|noun| noun == word.trim_end_matches(['.', ',', ';', ':', ')']));
    let found = words.windows(3).filter(|words| is_count(words[0]) && words[1..].iter().any(is_noun));
    found.map(|words| words.join(" ")).collect()
}

#[test]
fn prose_has_no_counts() {
    let text = "It has 250 malformed sources.\n<!-- rules -->\n20 rules\n<!-- end -->\n```text\n20 files\n```\nOf twelve releases, two files of 1.5.1 models (1,024 programs) fail.";
    assert_eq!(counts(text), ["250 malformed sources.", "twelve releases, two", "(1,024 programs) fail."]);
    for page in pages().into_iter().chain([root().join("CHANGELOG.md")]) {
        if !EXCEPT.iter().any(|name| page.ends_with(name)) {
            let found = counts(&std::fs::read_to_string(&page).unwrap());
            assert!(found.is_empty(), "{}: {found:?}: write it without the number", page.display());
        }
    }
}
