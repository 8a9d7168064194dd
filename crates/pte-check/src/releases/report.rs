//! Where the comparisons with a release report to: findings of `check`, or a list.

use crate::RuleId;
use crate::finding::{Findings, Locator};
use pte_model::program::element::Element;

/// Receiver of a rule that is violated, the part that does, and a description: what was found, and what was expected.
pub type Report<'r> = dyn FnMut(RuleId, Element, &dyn Fn() -> (String, String)) + 'r;

/// Adds what is reported to findings.
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
