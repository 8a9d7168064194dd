//! Answers of a runtime to a file.

use std::fmt;

/// Answer of a runtime to a file; later variants are more severe.
///
/// ```
/// use pte_releases::Answer;
///
/// let answer = Answer::parse("load InvalidProgram").unwrap();
/// assert_eq!(answer, Answer::Rejects { step: "load".to_owned(), error: "InvalidProgram".to_owned() });
/// assert_eq!(answer.to_string(), "rejects it (load: InvalidProgram)");
/// assert!(!answer.is_fatal() && !answer.is_usable() && answer.is_refusal());
///
/// // Of answers that vary, the most severe one.
/// assert_eq!(Answer::parse("accepts or crashes"), Some(Answer::Crashes));
/// assert!(Answer::Crashes.is_fatal() && Answer::Runs.is_usable());
/// assert_eq!(Answer::parse("perhaps"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// The release has no functions for such files.
    Unable,
    /// The file runs, and its content is used.
    Runs,
    /// The file runs as if it did not contain it.
    Ignores,
    /// A step ends with an error of the runtime.
    Rejects {
        /// The step: `program`, `methods`, `load` or `execute`.
        step: String,
        /// Name of the error, such as `InvalidProgram`.
        error: String,
    },
    /// A step does not end.
    Hangs,
    /// The process ends by a signal.
    Crashes,
}

/// Steps of a runtime that can end with an error.
const STEPS: [&str; 4] = ["program", "methods", "load", "execute"];

impl Answer {
    /// Parses the form of the tables: `reads` or `accepts`, `ignores`, `unable`, `hangs`, `crashes`, or a step and its
    /// error. Several are joined by ` or `: the result is the most severe one. `None` for anything else.
    pub fn parse(text: &str) -> Option<Answer> {
        let answers: Option<Vec<Answer>> = text.split(" or ").map(Answer::parse_one).collect();
        answers?.into_iter().max()
    }

    fn parse_one(text: &str) -> Option<Answer> {
        match text.split_whitespace().collect::<Vec<_>>()[..] {
            ["reads" | "accepts"] => Some(Answer::Runs),
            ["ignores"] => Some(Answer::Ignores),
            ["unable"] => Some(Answer::Unable),
            ["hangs"] => Some(Answer::Hangs),
            ["crashes"] => Some(Answer::Crashes),
            [step, error] if STEPS.contains(&step) => {
                Some(Answer::Rejects { step: step.to_owned(), error: error.to_owned() })
            }
            _ => None,
        }
    }

    /// Returns `true` if the application does not survive the file.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Answer::Crashes | Answer::Hangs)
    }

    /// Returns `true` if the release was asked, and the file cannot be used.
    pub fn is_refusal(&self) -> bool {
        !self.is_usable() && *self != Answer::Unable
    }

    /// Returns `true` if the file can be used.
    pub fn is_usable(&self) -> bool {
        matches!(self, Answer::Runs | Answer::Ignores)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Unable => f.write_str("has no functions for it"),
            Answer::Runs => f.write_str("runs it"),
            Answer::Ignores => f.write_str("ignores it"),
            Answer::Rejects { step, error } => write!(f, "rejects it ({step}: {error})"),
            Answer::Hangs => f.write_str("hangs"),
            Answer::Crashes => f.write_str("crashes"),
        }
    }
}
