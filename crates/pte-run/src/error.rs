//! Failures of runs.

use std::fmt;
use std::time::Duration;

use pte_model::diagnostics::text::{clipped, counted};

/// Failure of a run: its kind, the command that failed, and the end of the standard error of the runner.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunError {
    /// Kind of the failure.
    pub kind: RunErrorKind,
    /// The step that failed: the start, or the first words of the command that was not answered as expected.
    pub step: String,
    /// Last lines of the standard error of the runner, as it wrote them.
    pub log: Vec<String>,
}

/// Kind of a [`RunError`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RunErrorKind {
    /// The process cannot be started; the message of the system.
    NotStarted(String),
    /// A signal ended the runner: its number, and its name if it is known.
    Signal(i32, Option<&'static str>),
    /// The runner ended before it answered: its exit status.
    Ended(i32),
    /// The runner did not answer within this time from its start, and was killed.
    Timeout(Duration),
    /// The runner wrote more than this number of bytes to standard output, and was killed.
    TooMuchOutput(u64),
    /// An answer that the protocol does not permit.
    Malformed {
        /// Answer of the runner.
        answer: String,
        /// Answers that the protocol permits.
        expected: String,
    },
    /// The runtime rejected the step: its error, such as `0x12 InvalidArgument`.
    Rejected(String),
    /// An input cannot be read, or the process cannot be waited for; the message of the system.
    Io(String),
    /// The caller stopped the run.
    Stopped,
}

impl RunErrorKind {
    /// Returns the name of the kind, which is stable.
    pub fn name(&self) -> &'static str {
        match self {
            RunErrorKind::NotStarted(_) => "not-started",
            RunErrorKind::Signal(..) => "signal",
            RunErrorKind::Ended(_) => "ended",
            RunErrorKind::Timeout(_) => "timeout",
            RunErrorKind::TooMuchOutput(_) => "too-much-output",
            RunErrorKind::Malformed { .. } => "malformed-answer",
            RunErrorKind::Rejected(_) => "rejected",
            RunErrorKind::Io(_) => "io",
            RunErrorKind::Stopped => "stopped",
        }
    }
}

/// Formats the failure with its step, without the log.
impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = clipped(&self.step);
        match &self.kind {
            RunErrorKind::NotStarted(error) => write!(f, "the runner cannot be started: {}", clipped(error)),
            RunErrorKind::Signal(number, name) => {
                let name = name.map_or_else(String::new, |name| format!(" ({name})"));
                write!(f, "signal {number}{name} ended the runner during {step}")
            }
            RunErrorKind::Ended(status) => {
                write!(f, "the runner ended with status {status} during {step}; expected an answer")
            }
            RunErrorKind::Timeout(limit) => {
                write!(
                    f,
                    "no answer to {step} within {} seconds of the start; the runner was killed",
                    limit.as_secs_f64()
                )
            }
            RunErrorKind::TooMuchOutput(limit) => {
                let limit = counted(*limit, "byte");
                write!(f, "the runner wrote more than {limit} during {step}, and was killed")
            }
            RunErrorKind::Malformed { answer, expected } => {
                write!(f, "malformed answer to {step}: expected {expected}, found `{}`", clipped(answer))
            }
            RunErrorKind::Rejected(error) => write!(f, "{step} fails with {}", clipped(error)),
            RunErrorKind::Io(error) => write!(f, "{step}: {}", clipped(error)),
            RunErrorKind::Stopped => write!(f, "stopped during {step}"),
        }
    }
}

impl std::error::Error for RunError {}
