//! The rule of each operator.

use super::Rule;
use super::entries_a::A;
use super::entries_b::B;

/// Returns the rule of an operator.
pub fn rule(name: &str) -> Option<Rule> {
    let find = |rules: &[(&str, Rule)]| {
        let at = rules.binary_search_by(|(other, _)| (*other).cmp(name)).ok()?;
        Some(rules[at].1)
    };
    find(A).or_else(|| find(B))
}
