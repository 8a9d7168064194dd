//! The rule of each operator.

use super::Rule;
use super::entries_a::A;

/// Returns the rule of an operator.
pub fn rule(name: &str) -> Option<Rule> {
    A.binary_search_by(|(other, _)| (*other).cmp(name)).ok().map(|at| A[at].1)
}
