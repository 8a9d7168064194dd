//! Reasons why a call is not evaluated.

use std::io;

use crate::inference::InferenceError;

pub(crate) type Result<T> = std::result::Result<T, Unevaluated>;

/// Reason why a call is not evaluated.
#[derive(Debug)]
pub enum Unevaluated {
    /// The operator has no evaluation.
    Operator,
    /// The reason in words, without a subject: `a result is NaN`.
    Reason(&'static str),
    /// The operator does not accept the arguments, or results do not follow from them.
    Inference(InferenceError),
    /// Data cannot be read.
    Io(io::Error),
}

impl From<InferenceError> for Unevaluated {
    fn from(error: InferenceError) -> Unevaluated {
        Unevaluated::Inference(error)
    }
}

impl From<io::Error> for Unevaluated {
    fn from(error: io::Error) -> Unevaluated {
        Unevaluated::Io(error)
    }
}

/// Returns an error with a reason.
pub(crate) fn refuse<T>(reason: &'static str) -> Result<T> {
    Err(Unevaluated::Reason(reason))
}
