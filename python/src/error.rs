//! Errors of the library as exceptions of `pte_emit`.

use std::io::ErrorKind;

use pte_emit::{Code, Error, Report, Severity};
use pyo3::prelude::*;
use pyo3::types::PyList;

use pte_emit::cli::exit::Failure;

/// Arguments of the package that are called otherwise than the options of the command. Others have `_` in place of `-`.
const ARGUMENTS: &[(&str, &str)] = &[
    ("data refer", "inline=False"),
    ("method", "methods="),
    ("ops", "operators="),
    ("prefix", "renames="),
    ("rename", "renames="),
    ("with", "with_files="),
];

/// Options without a value.
const FLAGS: &[&str] = &["change-types", "external-data", "internal-data", "partial", "prune", "share-state"];

/// Replaces options of the command in a message, such as `--internal-data` between backticks, by arguments.
pub fn with_arguments(text: &str) -> String {
    let argument = |option: &str| {
        let option = option.trim();
        let (name, value) = option.split_once(' ').unwrap_or((option, ""));
        if let Some((_, argument)) = ARGUMENTS.iter().find(|(known, _)| [option, name].contains(known)) {
            return (*argument).to_owned();
        }
        format!("{}={}", name.replace('-', "_"), if FLAGS.contains(&name) { "True" } else { value })
    };
    let part = |(number, part): (usize, &str)| match part.strip_prefix("--") {
        // A field of the library's options.
        None if number % 2 == 1 && part == "with" => "with_files=".to_owned(),
        // Options that the runner has.
        Some(options) if number % 2 == 1 && !options.starts_with("etdump") => {
            options.split(" --").map(argument).collect::<Vec<_>>().join(", ")
        }
        Some(_) | None => part.to_owned(),
    };
    text.split('`').enumerate().map(part).collect::<Vec<_>>().join("`")
}

/// Returns the exception for an error of the library: `pte_emit.FileError` if a file cannot be read or written, else
/// `pte_emit.Error`.
pub fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error.io_kind() {
        Some(ErrorKind::NotFound) => "MissingFileError",
        Some(_) => "FileError",
        None => "Error",
    };
    let mut report = error.report().clone();
    for message in &mut report.diagnostics {
        message.message = with_arguments(&message.message);
        message.help = message.help.as_deref().map(with_arguments);
    }
    let create = || {
        let diagnostics = diagnostics(py, &report)?;
        let class = py.import("pte_emit._errors")?.getattr(name)?;
        let rendered = report.render(false);
        class.call_method1("_of", (Error::new(report.clone()).to_string(), rendered, diagnostics))
    };
    create().map_or_else(|failed| failed, PyErr::from_value)
}

/// Adds the name of an argument to an exception, as the arguments of functions have it.
///
/// # Errors
/// Those of `result`.
pub fn naming<T>(py: Python<'_>, name: &str, result: PyResult<T>) -> PyResult<T> {
    // Without the note the exception still says what is wrong.
    result.inspect_err(|error| drop(error.value(py).call_method1("add_note", (format!("while processing '{name}'"),))))
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
