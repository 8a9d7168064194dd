//! Exit statuses, and their mapping from errors.

use crate::diagnostics;
use crate::error::Error;

/// Exit status of a command, in increasing order of severity; documented in `--help` and README.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Success.
    Ok = 0,
    /// Invalid input.
    Input = 1,
    /// Invalid command line.
    Usage = 2,
    /// I/O error: a file cannot be opened, read or written.
    Io = 3,
}

impl Exit {
    /// Returns the status for an error of the library.
    pub fn of(error: &Error) -> Exit {
        if error.io_kind().is_some() { Exit::Io } else { Exit::Input }
    }

    /// Returns the status for an error of reading or writing data.
    pub fn of_io(error: &std::io::Error) -> Exit {
        if diagnostics::is_io(error) { Exit::Io } else { Exit::Input }
    }
}
