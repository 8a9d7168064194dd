//! Standard output: detects that it is closed, which Rust's standard library hides, and names it in errors.

use std::io::{self, Write};

use super::exit::Failure;
use super::outputs::unwritable;
use crate::data::produce::cannot;

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
    #[cfg(target_os = "linux")]
    if started::without_stdout() {
        return Err(rustix::io::Errno::BADF.into());
    }
    io::stdout().as_fd().try_clone_to_owned().map(std::fs::File::from)
}

#[cfg(not(unix))]
fn standard_output() -> io::Result<impl Write> {
    Ok(io::stdout().lock())
}

/// State of the process before Rust's runtime starts: it replaces a closed standard output by `/dev/null`.
#[cfg(target_os = "linux")]
mod started {
    use std::sync::atomic::{AtomicBool, Ordering};

    static WITHOUT_STDOUT: AtomicBool = AtomicBool::new(false);

    extern "C" fn look() {
        let closed = rustix::io::fcntl_getfd(std::io::stdout()) == Err(rustix::io::Errno::BADF);
        WITHOUT_STDOUT.store(closed, Ordering::Relaxed);
    }

    // The loader calls the functions in this section before `main`. The attribute is unsafe because any bytes could be put there; this
    // is a function of the expected type.
    #[allow(unsafe_code)]
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;

    /// Returns true if the process was started with a closed standard output.
    pub fn without_stdout() -> bool {
        WITHOUT_STDOUT.load(Ordering::Relaxed)
    }
}

/// Writes to standard output. `name` is the input, for errors about the data written. The caller rejects terminals for binary output.
///
/// # Errors
/// Errors of `write`, and of standard output, which they name; [`Failure::ClosedPipe`] if its reader has closed it, such as `head`.
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
