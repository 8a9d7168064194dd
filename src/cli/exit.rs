//! Exit statuses, and the only mapping of errors to them.

use pte_emit::Error;
use pte_emit::command::text::counted;

use super::io::Messages;

/// Exit status of a command, in increasing order of severity; documented in `--help` and docs/commands.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Success.
    Ok = 0,
    /// Invalid input; differences.
    Input = 1,
    /// Invalid command line; inputs that cannot be compared.
    Usage = 2,
    /// I/O error: a file cannot be opened, read or written.
    Io = 3,
    /// Interrupted: 128 + SIGINT, as in shells.
    Interrupted = 130,
}

/// Reason of a failed command, which determines its exit status.
#[derive(Debug)]
pub enum Failure {
    /// Invalid command line.
    Usage(String),
    /// Invalid input, or an I/O error.
    Error(Error),
    /// Number of warnings, which `--deny-warnings` makes errors.
    DeniedWarnings(u64),
    /// The reader of standard output has closed it: the output is incomplete, but the reader knows.
    ClosedPipe,
}

impl Failure {
    /// Invalid command line.
    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::Usage(message.into())
    }

    /// Error of reading the file `name`, or about its content.
    pub fn reading(name: &str, error: &std::io::Error) -> Failure {
        Failure::Error(Error::io(name, "", error))
    }

    /// Error of writing, or about the data written, which belong to the input `name`. Errors of writing name the
    /// output.
    pub fn writing(name: &str, error: &std::io::Error) -> Failure {
        Failure::Error(Error::io(name, "cannot write", error))
    }

    /// Returns the exit status.
    pub fn exit(&self) -> Exit {
        match self {
            Failure::Usage(_) => Exit::Usage,
            Failure::ClosedPipe => Exit::Io,
            Failure::Error(error) if error.io_kind().is_some() => Exit::Io,
            Failure::Error(_) | Failure::DeniedWarnings(_) => Exit::Input,
        }
    }

    /// Prints the message, if there is one, and returns the exit status.
    pub fn report(&self, messages: &Messages) -> Exit {
        match self {
            Failure::Usage(message) => messages.error(message),
            Failure::Error(error) => messages.report(error.report()),
            Failure::DeniedWarnings(count) => {
                let count = counted(*count, "warning");
                messages.error(&format!("{count}, denied by `--deny-warnings`: no output is written"));
            }
            Failure::ClosedPipe => {}
        }
        self.exit()
    }

    /// Does the same as [`Failure::report`] for a command whose status 1 is a result, as that of `diff` and `cmp`: any
    /// failure is 2.
    pub fn report_trouble(&self, messages: &Messages) -> Exit {
        self.report(messages);
        Exit::Usage
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Error(error)
    }
}
