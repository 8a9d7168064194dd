//! Patterns for names of values, keys and files: `*` stands for any characters, all others for themselves. A
//! [`NameMap`] renames with them. Matching takes time linear in the length of pattern and name.

use std::fmt;
use std::str::FromStr;

/// Pattern for a name, such as `encoder.*`. `*` matches any number of any characters, also none; there is no way to
/// match only a `*`.
///
/// ```
/// use pte_transform::pattern::Pattern;
///
/// let pattern: Pattern = "encoder.*.weight".parse().unwrap();
/// assert!(pattern.matches("encoder.layers.0.weight"));
/// assert_eq!(pattern.captures("encoder.layers.0.weight"), Some(vec!["layers.0"]));
/// assert!(!pattern.matches("decoder.0.weight"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pattern {
    text: String,
}

/// Stands for any characters.
const ANY: char = '*';

impl Pattern {
    /// Returns the pattern of a text. Every text is a pattern.
    pub fn new(text: impl Into<String>) -> Pattern {
        Pattern { text: text.into() }
    }

    /// Returns the text.
    #[doc(hidden)]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns true if the whole name matches.
    pub fn matches(&self, name: &str) -> bool {
        self.captures(name).is_some()
    }

    /// Returns what each `*` stands for in a name; `None` if it does not match. Each takes as few characters as
    /// possible, from the left, and the last one the rest.
    pub fn captures<'n>(&self, name: &'n str) -> Option<Vec<&'n str>> {
        let mut parts = self.text.split(ANY);
        let rest = name.strip_prefix(parts.next().unwrap_or_default())?;
        let Some(last) = parts.next_back() else { return rest.is_empty().then(Vec::new) };
        // The last part is at the end of the name. What the others match is before it.
        let mut rest = rest.strip_suffix(last)?;
        let mut captures = Vec::new();
        for part in parts {
            let at = rest.find(part)?;
            captures.push(&rest[..at]);
            rest = &rest[at + part.len()..];
        }
        captures.push(rest);
        Some(captures)
    }

    /// Returns the number of wildcards.
    #[doc(hidden)]
    pub fn wildcards(&self) -> usize {
        self.text.matches(ANY).count()
    }

    /// Returns the text with its wildcards replaced, in order. Those without a capture stay.
    #[doc(hidden)]
    pub fn filled(&self, captures: &[&str]) -> String {
        let mut filled = String::with_capacity(self.text.len());
        let mut captures = captures.iter();
        for (number, part) in self.text.split(ANY).enumerate() {
            if number > 0 {
                filled.push_str(captures.next().copied().unwrap_or("*"));
            }
            filled.push_str(part);
        }
        filled
    }
}

impl FromStr for Pattern {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Pattern, &'static str> {
        if text.is_empty() { Err("expected a pattern, such as `encoder.*`") } else { Ok(Pattern::new(text)) }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A rule `PATTERN=NAME` of a [`NameMap`]. The `*` of the name stand for what those of the pattern match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRule {
    /// Names that the rule applies to.
    pub from: Pattern,
    /// The other names, with at most as many `*` as `from`.
    pub to: Pattern,
}

impl FromStr for NameRule {
    type Err = String;

    fn from_str(text: &str) -> Result<NameRule, String> {
        let expected = "expected NAME=OTHER, such as `encoder.*=enc_*`";
        let (from, to) = text.split_once('=').ok_or(expected)?;
        if from.is_empty() || to.is_empty() {
            return Err(expected.to_owned());
        }
        let (from, to) = (Pattern::new(from), Pattern::new(to));
        if to.wildcards() > from.wildcards() {
            return Err(format!("`{to}` has more `*` than `{from}`, which do not stand for anything"));
        }
        Ok(NameRule { from, to })
    }
}

impl fmt::Display for NameRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.from, self.to)
    }
}

impl NameRule {
    /// Returns the other name; `None` if the rule does not apply.
    pub fn apply(&self, name: &str) -> Option<String> {
        self.from.captures(name).map(|captures| self.to.filled(&captures))
    }
}

/// Rules that rename. The first rule that matches a name applies; a name without one stays.
///
/// ```
/// use pte_transform::pattern::NameMap;
///
/// let map: NameMap = ["encoder.*=enc_*", "head=classifier"].iter().map(|rule| rule.parse().unwrap()).collect();
/// assert_eq!(map.apply("encoder.0.weight"), "enc_0.weight");
/// assert_eq!(map.apply("decoder"), "decoder");
/// assert_eq!(map.unused(["head", "decoder"]), [0]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NameMap {
    /// The rules, in order.
    pub rules: Vec<NameRule>,
}

impl FromIterator<NameRule> for NameMap {
    fn from_iter<I: IntoIterator<Item = NameRule>>(rules: I) -> NameMap {
        NameMap { rules: rules.into_iter().collect() }
    }
}

impl NameMap {
    /// Returns the other name of a name.
    pub fn apply(&self, name: &str) -> String {
        self.rules.iter().find_map(|rule| rule.apply(name)).unwrap_or_else(|| name.to_owned())
    }

    /// Returns the indices of the rules that apply to none of these names.
    pub fn unused<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Vec<usize> {
        let mut used = vec![false; self.rules.len()];
        for name in names {
            let rule = self.rules.iter().position(|rule| rule.from.matches(name));
            rule.into_iter().for_each(|rule| used[rule] = true);
        }
        (0..used.len()).filter(|rule| !used[*rule]).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_match() {
        for (pattern, name, captures) in [
            ("", "", &[][..]),
            ("a", "a", &[]),
            ("*", "", &[""]),
            ("*", "a*b", &["a*b"]),
            ("a*", "a", &[""]),
            ("*a", "aa", &["a"]),
            ("a*a", "aa", &[""]),
            ("a.*.b", "a.b.b", &["b"]),
            ("*.*", "a.b.c", &["a", "b.c"]),
            ("*b*b", "abbb", &["a", "b"]),
            ("**", "xy", &["", "xy"]),
            ("é*", "éü", &["ü"]),
        ] {
            assert_eq!(Pattern::new(pattern).captures(name).as_deref(), Some(captures), "{pattern} {name}");
        }
    }

    #[test]
    fn names_that_do_not_match() {
        for (pattern, name) in [("", "a"), ("a", "ab"), ("a*a", "a"), ("ab*ba", "aba"), ("*b*", "a"), ("a*c", "ab")] {
            assert!(!Pattern::new(pattern).matches(name), "{pattern} {name}");
        }
    }

    #[test]
    fn rules() {
        let rule: NameRule = "layers.*.*=l*_*".parse().unwrap();
        assert_eq!(rule.apply("layers.0.attn.weight").as_deref(), Some("l0_attn.weight"));
        assert_eq!("a.*=b".parse::<NameRule>().unwrap().apply("a.x").as_deref(), Some("b"));
        assert!("a=b*".parse::<NameRule>().unwrap_err().contains("more `*`"));
        for text in ["", "a", "=b", "a="] {
            assert!(text.parse::<NameRule>().unwrap_err().contains("expected NAME=OTHER"), "{text}");
        }
        assert!("".parse::<Pattern>().is_err());
    }

    #[test]
    fn many_wildcards_take_linear_time() {
        let start = Instant::now();
        let name = "a".repeat(1 << 20);
        assert!(!Pattern::new("a*".repeat(1 << 12) + "b").matches(&name));
        assert!(!Pattern::new("a*".repeat(1 << 12) + "b*").matches(&name));
        assert!(Pattern::new("*a".repeat(1 << 12)).matches(&name));
        assert!(start.elapsed() < Duration::from_secs(5));
    }

    /// Backtracks, as the definition of a pattern reads.
    fn by_definition(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some((&ANY, rest)), None) => by_definition(rest, name),
            (Some((&ANY, rest)), Some((_, after))) => by_definition(rest, name) || by_definition(pattern, after),
            (Some((one, rest)), Some((other, after))) => one == other && by_definition(rest, after),
            (None, Some(_)) | (Some(_), None) => false,
        }
    }

    proptest! {
        #[test]
        fn matches_as_defined(pattern in "[ab*]{0,8}", name in "[ab]{0,10}") {
            let chars = |text: &str| text.chars().collect::<Vec<char>>();
            let compiled = Pattern::new(&*pattern);
            prop_assert_eq!(compiled.matches(&name), by_definition(&chars(&pattern), &chars(&name)));
            if let Some(captures) = compiled.captures(&name) {
                prop_assert_eq!(compiled.filled(&captures), name);
            }
        }
    }
}
