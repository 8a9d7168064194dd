//! Errors of the library as exceptions of `pte_emit`.

use std::io::ErrorKind;

use pte_emit::{Code, Error, Report, Severity};
use pyo3::prelude::*;
use pyo3::types::PyList;

use pte_emit::cli::exit::Failure;

/// Returns the exception for an error of the library: `pte_emit.FileError` if a file cannot be read or written, else
/// `pte_emit.Error`.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error.io_kind() {
        Some(ErrorKind::NotFound) => "MissingFileError",
        Some(_) => "FileError",
        None => "Error",
    };
    let create = || {
        let diagnostics = diagnostics(py, error.report())?;
        let class = py.import("pte_emit._errors")?.getattr(name)?;
        class.call_method1("_of", (error.to_string(), error.report().render(false), diagnostics))
    };
    create().map_or_else(|failed| failed, PyErr::from_value)
}

/// Returns the exception for a failure of a function that is shared with the command.
pub fn failed(py: Python<'_>, failure: Failure) -> PyErr {
    let error = match failure {
        Failure::Error(error) => error,
        Failure::Usage(message) => requested(&message),
        Failure::DeniedWarnings(count) => requested(&format!("{count} warnings are denied")),
        Failure::ClosedPipe => requested("the reader has closed the pipe"),
    };
    raised(py, &error)
}

/// An error about what the caller requests.
pub fn requested(message: &str) -> Error {
    Error::new(Report::new("", "", vec![Code::UnmetRequest.whole(message.to_owned())]))
}

/// Returns the messages of a report as a list of `pte_emit.Diagnostic`.
pub fn diagnostics<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyList>> {
    let class = py.import("pte_emit._errors")?.getattr("Diagnostic")?;
    let list = PyList::empty(py);
    for diagnostic in &report.diagnostics {
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let position = diagnostic.at.as_ref().map(|span| report.line_column(span.start));
        let (line, column) = position.unzip();
        let (code, name) = (diagnostic.code.as_str(), diagnostic.code.name());
        let text = (&diagnostic.message, &diagnostic.label, &diagnostic.help);
        list.append(class.call1((severity, code, name, text.0, text.1, text.2, &report.name, line, column))?)?;
    }
    Ok(list)
}
