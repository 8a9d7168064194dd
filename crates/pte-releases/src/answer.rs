//! What a runtime answered to a file.

use std::fmt;

/// What a runtime does with a file: the last step that it reached, and how it ended.
///
/// ```
/// use pte_releases::Answer;
///
/// let answer = Answer::parse("load 0x23").unwrap();
/// assert_eq!(answer, Answer::Rejects { step: "load".to_owned(), error: 0x23 });
/// assert_eq!(answer.to_string(), "rejects it (load: 0x23)");
/// assert!(Answer::parse("signal 11 execute").unwrap().is_fatal());
/// assert_eq!(Answer::parse("maybe"), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// The file runs, and what it contains is used.
    Runs,
    /// The file runs as if it did not contain it.
    Ignores,
    /// A step ends with an error of the runtime.
    Rejects {
        /// The step: `program`, `load`, `input` or `execute`.
        step: String,
        /// Number of the error.
        error: u32,
    },
    /// The process ends by a signal.
    Crashes {
        /// The step.
        step: String,
        /// Number of the signal.
        signal: u32,
    },
    /// A step does not end.
    Hangs {
        /// The step.
        step: String,
    },
    /// The file cannot be tried with the release.
    NotTried,
}

impl Answer {
    /// Parses the form of the tables; `None` for anything else.
    pub fn parse(text: &str) -> Option<Answer> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let step = |step: &str| step.to_owned();
        match words[..] {
            ["runs"] => Some(Answer::Runs),
            ["ignores"] => Some(Answer::Ignores),
            ["not-tried"] => Some(Answer::NotTried),
            ["timeout", at] => Some(Answer::Hangs { step: step(at) }),
            ["signal", signal, at] => Some(Answer::Crashes { step: step(at), signal: signal.parse().ok()? }),
            [at, error] => {
                let error = u32::from_str_radix(error.strip_prefix("0x")?, 16).ok()?;
                Some(Answer::Rejects { step: step(at), error })
            }
            _ => None,
        }
    }

    /// Returns `true` if the application does not survive the file.
    pub fn is_fatal(&self) -> bool {
        matches!(self, Answer::Crashes { .. } | Answer::Hangs { .. })
    }

    /// Returns `true` if the file can be used.
    pub fn is_usable(&self) -> bool {
        matches!(self, Answer::Runs | Answer::Ignores)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Runs => f.write_str("runs it"),
            Answer::Ignores => f.write_str("ignores it"),
            Answer::Rejects { step, error } => write!(f, "rejects it ({step}: 0x{error:02X})"),
            Answer::Crashes { step, signal } => write!(f, "crashes ({step}: signal {signal})"),
            Answer::Hangs { step } => write!(f, "hangs ({step})"),
            Answer::NotTried => f.write_str("was not tried with it"),
        }
    }
}
