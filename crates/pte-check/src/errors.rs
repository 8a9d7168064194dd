//! The errors of ExecuTorch 1.5.1: meaning, causes and remedy of each. The rules whose violation causes one are those
//! whose text about the runtime names it. The texts are in errors.table; lab/tests/runtime/errors.rs compares the
//! causes with the real runtime.

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
/// for name in ["Error::OperatorMissing", "20"] {
///     assert_eq!(RuntimeError::find(name).map(|error| error.code), Some(0x14));
/// }
/// assert_eq!(missing.causes[0], "no linked library registers a kernel for the operator");
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
    /// Phase that the causes are of; `None` for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Causes that are not properties of a valid file, each produced in the real runtime by a test.
    pub causes: Vec<&'static str>,
    /// Causes that only a build, a backend or a device can produce, which are not tested.
    pub other_causes: Vec<&'static str>,
    /// Remedy.
    pub remedy: &'static str,
    /// Parts of a program that it can be about: names of values of messages, such as `operator`.
    #[serde(skip)]
    pub topics: Vec<&'static str>,
}

/// Part of the work of an application with a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// The program or a method is loaded.
    Load,
    /// Inputs are set, and a method is executed.
    Execute,
}

impl RuntimeError {
    /// Returns the error with the causes that it has in a phase, if they differ and there are some.
    pub(crate) fn in_phase(&self, phase: Phase) -> Option<&'static RuntimeError> {
        IN_PHASES.iter().find(|error| (error.code, error.phase) == (self.code, Some(phase)))
    }

    /// Returns the error with a number (`0x14`, or decimal: `20`) or a name (`OperatorMissing`,
    /// `Error::OperatorMissing`), in any case. [`recognize`](crate::recognize) finds errors in a text.
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

    /// Returns the rules of `check` whose violation can cause the error, in its phase as far as they name one.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        let quoted = format!("`{}`", self.name);
        let is_of_phase = |rule: &Rule| {
            let loads = rule.runtime.contains("load");
            let executes = ["runs", "executed", "input is set"].iter().any(|words| rule.runtime.contains(words));
            match self.phase {
                None => true,
                Some(Phase::Load) => loads || !executes,
                Some(Phase::Execute) => executes || !loads,
            }
        };
        RULES.iter().filter(move |rule| rule.runtime.contains(&quoted) && is_of_phase(rule))
    }
}

static ERRORS: LazyLock<Vec<RuntimeError>> = LazyLock::new(|| errors(None));

/// Errors whose causes depend on the phase.
static IN_PHASES: LazyLock<Vec<RuntimeError>> = LazyLock::new(|| {
    let of_phase = |phase| errors(Some(phase)).into_iter().zip(ERRORS.iter());
    let differs = |(of, all): (RuntimeError, &RuntimeError)| {
        let [of_phase, of_all] = [&of, all].map(|error| error.causes.len() + error.other_causes.len());
        (0 < of_phase && of_phase < of_all).then_some(of)
    };
    [Phase::Load, Phase::Execute].into_iter().flat_map(of_phase).filter_map(differs).collect()
});

/// Reads the table, with the causes of a phase, or all.
fn errors(phase: Option<Phase>) -> Vec<RuntimeError> {
    let error = |lines: Vec<&'static str>| {
        let [first, meaning, rest @ ..] = &lines[..] else { return None };
        let (code, name) = first.strip_prefix("0x")?.split_once(' ')?;
        let (name, topics) = name.split_once(' ').unwrap_or((name, ""));
        let other = phase.map(|phase| if phase == Phase::Load { "X" } else { "L" });
        let marked = |mark| {
            let causes = rest.iter().filter_map(|line| line.strip_prefix(mark)?.split_once(' '));
            causes.filter(|(of, _)| Some(*of) != other).map(|(_, cause)| cause).collect()
        };
        Some(RuntimeError {
            code: u32::from_str_radix(code, 16).expect(code),
            name,
            meaning,
            phase,
            causes: marked('-'),
            other_causes: marked('~'),
            remedy: rest.last()?,
            topics: topics.split_whitespace().collect(),
        })
    };
    blocks(include_str!("errors.table")).filter_map(error).collect()
}

/// Returns the blocks of lines of a table, between empty lines.
pub(crate) fn blocks(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    let mut lines = table.lines();
    std::iter::from_fn(move || {
        let block: Vec<_> =
            lines.by_ref().skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).collect();
        (!block.is_empty()).then_some(block)
    })
}

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
            let mut causes = error.causes.iter().chain(&error.other_causes);
            assert!(causes.all(|cause| !cause.ends_with('.') && cause.is_ascii()), "{}", error.name);
            assert!(error.code == 0 || !(error.causes.is_empty() && error.other_causes.is_empty()), "{}", error.name);
            assert!(!error.remedy.starts_with(['-', '~']), "{}", error.name);
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
