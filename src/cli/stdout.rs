//! Standard output: a closed pipe is a failure, and errors name it. One that is closed before the start is `/dev/null`
//! to a Rust program.

use std::io::{self, IsTerminal, Write};

use pte_emit::command::file_error::cannot;

use super::exit::Failure;
use super::outputs::unwritable;

/// Name of standard output in messages.
const STDOUT: &str = "<stdout>";

/// Standard output, which errors name.
struct StandardOutput<W>(W);

impl<W: Write> Write for StandardOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| unwritable(STDOUT.as_ref(), error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(|error| unwritable(STDOUT.as_ref(), error))
    }
}

/// Opens standard output without [`std::io::Stdout`], which ignores errors of a descriptor that cannot be written.
#[cfg(unix)]
fn standard_output() -> io::Result<impl Write> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from)
}

#[cfg(not(unix))]
fn standard_output() -> io::Result<impl Write> {
    Ok(io::stdout().lock())
}

/// Returns the number of columns of the terminal that standard output is; `None` if it is none.
pub fn columns() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0.into())
}

/// Checks that standard output is no terminal, for what is not printed to one: binary files and pages.
///
/// # Errors
/// A terminal.
pub fn check_terminal(what: &str) -> Result<(), Failure> {
    match io::stdout().is_terminal() {
        true => Err(Failure::usage(format!(
            "cannot write {what} to a terminal; add `-o FILE`, or redirect standard output"
        ))),
        false => Ok(()),
    }
}

/// Writes to standard output. `name` is the input, for errors about the data written. The caller rejects terminals,
/// with [`check_terminal`].
///
/// # Errors
/// Errors of `write`, and of standard output, which they name; [`Failure::ClosedPipe`] if its reader has closed it,
/// such as `head`.
pub fn write(name: &str, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let written = standard_output().map_err(|error| cannot("write", STDOUT.as_ref(), error)).and_then(|out| {
        let mut out = io::BufWriter::with_capacity(1 << 18, StandardOutput(out));
        write(&mut out).and_then(|()| out.flush())
    });
    written.map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::writing(name, &error),
    })
}
