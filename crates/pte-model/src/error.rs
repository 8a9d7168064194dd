//! Error type of all stages.

use std::{fmt, io};

use crate::diagnostics::file_error::is_named;
use crate::diagnostics::{Code, Diagnostic, Report, Severity, is_io};

/// Error of a stage: one or more messages about a source. [`Error::report`] has them; with the feature `render`,
/// `error.report().render(colours)` draws them with the source lines.
///
/// ```
/// use pte_model::data::Origin;
/// use pte_model::error::Error;
/// use pte_model::reader;
///
/// let truncated = Origin::Bytes(pte_model::LINEAR_PTE[..100].into());
/// let error = reader::program::read(&truncated).unwrap_err();
/// let error = Error::io("truncated.pte", "", &error);
/// assert_eq!(error.io_kind(), None); // the file is malformed, but could be read
/// assert_eq!(error.diagnostics().len(), 1);
/// assert!(error.to_string().starts_with("truncated.pte: error: "));
/// ```
///
/// One of a tool that uses the library:
///
/// ```
/// use pte_model::diagnostics::{Code, Report};
/// use pte_model::error::Error;
///
/// let wrong = Code::UnexpectedInput.error(9..11, "found {}").help("add a method");
/// let error = Error::new(Report::new("m.yaml", "methods: {}", vec![wrong]));
/// assert_eq!(error.to_string(), "m.yaml:1:10: error: found {} (help: add a method)");
/// assert_eq!(error.report().label(), "m.yaml");
/// let missing = std::io::ErrorKind::NotFound.into();
/// assert!(Error::io("m.pte", "cannot write", &missing).to_string().starts_with("error: cannot write m.pte: "));
/// assert_eq!(Error::input(Code::UnmetRequest, "m.pte", "no tests").to_string(), "m.pte: error: no tests");
/// ```
#[derive(Clone)]
pub struct Error {
    report: Box<Report>,
}

impl Error {
    /// Error with all messages of a report.
    pub fn new(report: Report) -> Error {
        Error { report: Box::new(report) }
    }

    /// Creates an error about a source as a whole.
    pub fn input(code: Code, name: &str, message: impl Into<String>) -> Error {
        Error::new(Report::new(name, "", vec![code.whole(message)]))
    }

    /// Creates an error of an operation on a file, such as `cannot write`; an empty `operation` stands for `cannot
    /// read`. An error of the operating system becomes `cannot read NAME: ...`, or stays as it is if it names its file.
    /// An error about the content becomes a message about `name`.
    pub fn io(name: &str, operation: &str, error: &io::Error) -> Error {
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
