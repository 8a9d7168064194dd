//! Error of the edits: a request that does not suit the program, or data that cannot be read.

use std::io;

use pte_model::diagnostics::{Code, Diagnostic};

/// Error of an edit: messages, or data that cannot be read.
#[derive(Debug)]
pub enum EditError {
    /// The request does not suit the program.
    Request(Vec<Diagnostic>),
    /// Data cannot be read.
    Io(io::Error),
}

impl From<io::Error> for EditError {
    fn from(error: io::Error) -> EditError {
        EditError::Io(error)
    }
}

impl From<Vec<Diagnostic>> for EditError {
    fn from(messages: Vec<Diagnostic>) -> EditError {
        EditError::Request(messages)
    }
}

impl EditError {
    /// Returns an error with one message.
    pub fn request(message: impl Into<String>) -> EditError {
        EditError::Request(vec![Code::UnmetRequest.whole(message)])
    }
}
