//! Errors of files: which are the operating system's, and which name their file.
//!
//! An [`io::Error`] of reading data names the file, so that a message about an output does not blame that one.
//!
//! ```
//! use std::io;
//!
//! use pte_model::diagnostics::file_error::{cannot, is_io, is_named, named};
//!
//! let missing = cannot("read", "w.bin".as_ref(), io::ErrorKind::NotFound.into());
//! assert!(is_io(&missing) && is_named(&missing) && missing.to_string().starts_with("cannot read w.bin: "));
//! let wrong = named("w.npy".as_ref(), io::Error::other("no magic"));
//! assert!(!is_io(&wrong) && wrong.to_string() == "w.npy: no magic");
//! ```

use std::fmt;
use std::io;
use std::path::Path;

/// Returns true if an error is one of the operating system, false if the data are invalid; data that end too early are
/// invalid.
pub fn is_io(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, InvalidData, InvalidInput, Other, UnexpectedEof};
    !matches!(error.kind(), Other | InvalidData | InvalidInput | FileTooLarge | UnexpectedEof)
}

/// Message of an I/O error that names the file.
#[derive(Debug)]
struct NamedError(String);

impl fmt::Display for NamedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NamedError {}

/// Adds the name of the file to an error about its content.
pub fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), NamedError(format!("{}: {error}", path.display())))
}

/// Adds the operation that failed (`read`, `write`) and the name of the file to an error of the operating system.
pub fn cannot(operation: &str, path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), NamedError(format!("cannot {operation} {}: {error}", path.display())))
}

/// Returns true if the message of an error names the file: it is one of [`named`] or [`cannot`].
pub fn is_named(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NamedError>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_of_the_system_are_io() {
        assert!(is_io(&io::Error::from(io::ErrorKind::NotFound)));
        assert!(!is_io(&io::Error::other("a key is missing")));
    }
}
