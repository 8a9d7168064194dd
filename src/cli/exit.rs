//! Exit statuses, and which error has which.

use crate::diagnostics;
use crate::error::Error;

/// How a command ends; the numbers are documented in the help and the README.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Done.
    Ok = 0,
    /// An input is wrong.
    Input = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Something cannot be read or written.
    Io = 3,
}

impl Exit {
    /// The status for an error of the library.
    pub fn of(error: &Error) -> Exit {
        if error.io_kind().is_some() { Exit::Io } else { Exit::Input }
    }

    /// The status for an error of reading or writing data.
    pub fn of_io(error: &std::io::Error) -> Exit {
        if diagnostics::is_io(error) { Exit::Io } else { Exit::Input }
    }
}
