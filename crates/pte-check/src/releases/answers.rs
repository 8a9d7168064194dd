//! Answers of a release to a file that violates rules of `check` (`V-6`): its answers to the malformed examples of
//! these rules.

use std::collections::BTreeSet;

use super::report::expected;
use crate::RuleId::{self, *};
use crate::finding::{Findings, Location};
use crate::rules::RuleSeverity;
use pte_releases::{ExampleAnswer, Release};

/// Adds a finding for each rule that the file violates, and whose violation the release does not survive.
pub fn malformed(release: &Release, findings: &mut Findings) {
    let defects = findings.list.iter().filter(|finding| finding.rule.severity < RuleSeverity::Note);
    let violated: BTreeSet<RuleId> = defects.map(|finding| finding.rule.id).collect();
    for rule in violated {
        let is_fatal = |example: &&ExampleAnswer| example.answer.is_fatal();
        let Some(fatal) = release.answers(rule.as_str()).iter().find(is_fatal) else { continue };
        findings.add(V_6, || {
            let ExampleAnswer { example, answer } = fatal;
            let found = format!(
                "a violation of {rule}, which {release} may not survive: with the example `{example}`, it {answer}"
            );
            let survives = |other: &Release| {
                let answers = other.answers(rule.as_str());
                !answers.is_empty() && !answers.iter().any(|example| example.answer.is_fatal())
            };
            (Location::default(), found, expected(release.first_later(survives)))
        });
    }
}
