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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operator_has_one_rule() {
        for rules in [A, B] {
            assert!(rules.windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
        for name in crate::operators::names() {
            assert!(rule(name).is_some(), "{name}");
        }
        assert_eq!(A.len() + B.len(), crate::operators::names().count());
    }
}
