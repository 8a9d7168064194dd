//! Error type of all stages.

use std::{fmt, io};

use crate::data::produce::is_named;
use crate::diagnostics::{Code, Diagnostic, Report, Severity, is_io};

/// Error of a stage: one or more messages about a source.
///
/// ```
/// use pte_emit::Model;
///
/// let model = Model::from_yaml("m.yaml", "methods: {forward: {outputs: [x]}}", ".");
/// let error = model.assembly().unwrap_err();
/// assert_eq!(error.io_kind(), None);
/// assert!(error.diagnostics()[0].message.contains("`x`"));
/// assert!(error.to_string().starts_with("m.yaml:1:"));
/// ```
#[derive(Clone)]
pub struct Error {
    report: Box<Report>,
}

impl Error {
    pub(crate) fn new(report: Report) -> Error {
        Error { report: Box::new(report) }
    }

    /// Creates an error about a source as a whole.
    pub(crate) fn input(code: Code, name: &str, message: impl Into<String>) -> Error {
        Error::new(Report::new(name, "", vec![code.whole(message)]))
    }

    /// Creates an error of an operation on a file, such as `cannot write`; an empty `operation` stands for `cannot
    /// read`. An error of the operating system becomes `cannot read NAME: ...`, or stays as it is if it names its file.
    /// An error about the content becomes a message about `name`.
    pub(crate) fn io(name: &str, operation: &str, error: &io::Error) -> Error {
        if !is_io(error) {
            return Error::input(Code::of_io(error), name, error.to_string());
        }
        let message = match operation {
            _ if is_named(error) || name.is_empty() => error.to_string(),
            "" => format!("cannot read {name}: {error}"),
            _ => format!("{operation} {name}: {error}"),
        };
        Error::new(Report::new("", "", vec![Diagnostic::of_io(message, error)]))
    }

    /// Returns the messages, errors and warnings, in the order of the source.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.report.diagnostics
    }

    /// Returns the kind of the I/O error if a file could not be opened, read or written; `None` if the input is
    /// invalid.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        let errors = self.report.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        errors.filter_map(|diagnostic| diagnostic.io).next()
    }

    /// Returns the messages with their source.
    pub fn report(&self) -> &Report {
        &self.report
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.report.fmt(f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `unwrap` shows the messages, not the fields.
        write!(f, "\n{self}")
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        io::Error::new(error.io_kind().unwrap_or(io::ErrorKind::InvalidData), error)
    }
}
