//! The errors of ExecuTorch 1.5.1: meaning, causes and remedy of each. The rules whose violation causes one are those
//! whose text about the runtime names it. The texts are in errors.table.

use std::sync::LazyLock;

use serde::Serialize;

use super::rules::{RULES, Rule};

/// An error of the runtime (`executorch::runtime::Error`).
///
/// ```
/// use pte_check::{RuleId, RuntimeError};
///
/// let missing = RuntimeError::find("0x14").unwrap();
/// assert_eq!((missing.name, missing.code), ("OperatorMissing", 0x14));
/// assert_eq!(RuntimeError::find("Error::OperatorMissing").map(|error| error.code), Some(0x14));
/// assert_eq!(RuntimeError::find("20").map(|error| error.code), Some(20));
/// assert!(missing.rules().any(|rule| rule.id == RuleId::R_1));
/// assert!(RuntimeError::find("0x99").is_none());
/// assert_eq!(RuntimeError::all()[0].name, "Ok");
/// ```
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct RuntimeError {
    /// Number.
    #[serde(rename = "error")]
    pub code: u32,
    /// Name of the enumerator.
    pub name: &'static str,
    /// Meaning, in one sentence.
    pub meaning: &'static str,
    /// Usual causes that are not properties of a file; may be empty.
    pub causes: &'static str,
    /// Remedy.
    pub remedy: &'static str,
}

impl RuntimeError {
    /// Returns the error with a number (`0x14`, or decimal: `20`) or a name (`OperatorMissing`,
    /// `Error::OperatorMissing`), in any case.
    pub fn find(text: &str) -> Option<&'static RuntimeError> {
        let lower = text.to_ascii_lowercase();
        let number = match lower.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => lower.parse().ok(),
        };
        let name = lower.strip_prefix("error::").unwrap_or(&lower);
        ERRORS.iter().find(|error| Some(error.code) == number || error.name.eq_ignore_ascii_case(name))
    }

    /// Returns all errors, by number.
    pub fn all() -> &'static [RuntimeError] {
        &ERRORS
    }

    /// Returns the rules of `check` whose violation can cause the error.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        let quoted = format!("`{}`", self.name);
        RULES.iter().filter(move |rule| rule.runtime.contains(&quoted))
    }
}

static ERRORS: LazyLock<Vec<RuntimeError>> = LazyLock::new(|| {
    let mut lines = include_str!("errors.table").lines();
    let mut errors = Vec::new();
    while let Some((code, name)) = lines.by_ref().find_map(|line| line.strip_prefix("0x")?.split_once(' ')) {
        let [meaning, causes, remedy] = [(); 3].map(|()| lines.next().unwrap_or_default());
        errors.push(RuntimeError { code: u32::from_str_radix(code, 16).expect(code), name, meaning, causes, remedy });
    }
    errors
});

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn errors_are_unique_and_sentences_are_sentences() {
        assert!(ERRORS.is_sorted_by(|left, right| left.code < right.code));
        assert_eq!(ERRORS.iter().map(|error| error.name).collect::<BTreeSet<_>>().len(), ERRORS.len());
        for error in ERRORS.iter() {
            assert!(error.meaning.ends_with('.') && error.remedy.ends_with('.'), "{}", error.name);
            assert!(error.causes.is_empty() || error.causes.ends_with('.'), "{}", error.name);
            assert_eq!(RuntimeError::find(&format!("{:#x}", error.code)).unwrap().name, error.name);
            assert_eq!(RuntimeError::find(&error.name.to_uppercase()).unwrap().code, error.code);
        }
    }

    /// The rules name only errors that exist, in backquotes.
    #[test]
    fn rules_name_errors_of_the_table() {
        let mut named = BTreeSet::new();
        for rule in RULES.iter() {
            for word in rule.runtime.split(['`', ' ', ',', ';']) {
                let is_like_an_error =
                    ["Invalid", "NotFound", "NotSupported", "NotImpl", "Internal", "Failed", "Missing"];
                // An error of Python.
                if !word.ends_with("Error")
                    && is_like_an_error.iter().any(|part| word.starts_with(part) || word.ends_with(part))
                {
                    let error = RuntimeError::find(word).unwrap_or_else(|| panic!("{}: {word} is no error", rule.id));
                    assert!(error.rules().any(|other| other.id == rule.id), "{}: {word} without backquotes", rule.id);
                    named.insert(error.name);
                }
            }
        }
        assert!(named.len() >= 8, "{named:?}");
    }
}
