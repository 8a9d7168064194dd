//! Destination of the results of comparisons with a release: findings of `check`, or a list.

use crate::RuleId;
use crate::finding::{Findings, Locator};
use pte_model::program::element::Element;

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
