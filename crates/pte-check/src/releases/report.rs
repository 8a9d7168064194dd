//! Destination of the results of comparisons with a release: findings of `check`, or a list.

use crate::RuleId;
use crate::finding::{Findings, Locator};
use pte_model::program::element::Element;
use pte_releases::Release;

/// Receives a violated rule, the element that violates it, and a description: the value found, and the value expected.
pub type Report<'r> = dyn FnMut(RuleId, Element, &dyn Fn() -> (String, String)) + 'r;

/// Adds the reports to findings.
pub fn reported<'f>(
    findings: &'f mut Findings,
    locate: &'f Locator<'_>,
) -> impl FnMut(RuleId, Element, &dyn Fn() -> (String, String)) + 'f {
    |rule, at, describe| {
        findings.add(rule, || {
            let (found, expected) = describe();
            (locate(&at), found, expected)
        });
    }
}

/// Returns the expected value of a finding: the first later release that would accept the program.
pub fn expected(first: Option<Release>) -> String {
    match first {
        Some(first) => format!("ExecuTorch {}, the first release that does, or later", first.version()),
        None => "a release that does: no later one is known".to_owned(),
    }
}
