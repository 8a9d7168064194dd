//! Patterns of names: `*` stands for any characters, also for none; all other characters stand for themselves.

/// Returns `true` if a pattern matches a whole name.
///
/// ```
/// use pte_transform::pattern::matches;
///
/// assert!(matches("encoder.*", "encoder.0.weight") && matches("*.bias", "a.bias") && matches("x", "x"));
/// assert!(!matches("encoder.*", "my.encoder.0") && !matches("x", "xy"));
/// ```
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    // The first occurrence of each part leaves the most for those that follow.
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("**", "x", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("", "", true),
            ("", "a", false),
            ("*.w", "é.w", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
