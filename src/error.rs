//! The error of all stages.

use std::{fmt, io};

use crate::diagnostics::{Diagnostic, Report, Severity};

/// Why there is no output: one or several messages about a source.
///
/// ```
/// use pte_emit::{Options, Source, assemble};
///
/// let source = Source::yaml("m.yaml", "methods: {forward: {outputs: [x]}}", ".");
/// let error = assemble(&source, &Options::default()).unwrap_err();
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

    /// An error about a source as a whole.
    pub(crate) fn input(name: &str, message: impl Into<String>) -> Error {
        Error::new(Report::new(name, "", vec![Diagnostic::whole(message)]))
    }

    /// A failed operation on a file.
    pub(crate) fn io(name: &str, what: &str, error: &io::Error) -> Error {
        let message = if what.is_empty() { error.to_string() } else { format!("{what}: {error}") };
        Error::new(Report::new(name, "", vec![Diagnostic::of_io(message, error)]))
    }

    /// The messages, errors and warnings, in the order of the source.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.report.diagnostics
    }

    /// The kind of the I/O error, if the cause is one: a file that cannot be opened, read or written. `None` if the input is
    /// wrong.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        let errors = self.report.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error);
        errors.filter_map(|diagnostic| diagnostic.io).next()
    }

    /// The messages with the source that they are about.
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
        // What `unwrap` shows.
        write!(f, "\n{self}")
    }
}

impl std::error::Error for Error {}

impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        io::Error::new(error.io_kind().unwrap_or(io::ErrorKind::InvalidData), error)
    }
}
