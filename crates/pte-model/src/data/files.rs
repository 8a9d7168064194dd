//! Files that are read: those of the file system.
//!
//! With the feature `host-files`, and in WebAssembly, which has no file system, a host can replace them by files of its
//! own for the time of a call: `with_files`. The bindings for C and JavaScript do.

#[cfg(any(target_family = "wasm", feature = "host-files"))]
mod host;

use std::io;
use std::path::Path;

#[cfg(any(target_family = "wasm", feature = "host-files"))]
pub use host::{File, HostFile, HostFiles, Metadata, metadata, read_exact_at, read_up_to, with_files};
#[cfg(not(any(target_family = "wasm", feature = "host-files")))]
pub use {
    super::positioned::read_exact_at,
    std::fs::{File, Metadata, metadata},
};

/// True if files are those of a host, which are known to the thread of the call only.
pub const IS_HOSTED: bool = cfg!(any(target_family = "wasm", feature = "host-files"));

/// Reads a file, up to a number of bytes: a device may have no end.
///
/// # Errors
/// The file cannot be read.
#[cfg(not(any(target_family = "wasm", feature = "host-files")))]
pub fn read_up_to(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    use io::Read;
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file.
///
/// # Errors
/// The file cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    match IS_HOSTED {
        true => read_up_to(path, u64::MAX),
        false => std::fs::read(path),
    }
}

/// Returns the names of the files of a folder, at most a number of them, in ascending order; folders have `/` at their
/// end. A folder that cannot be read has none.
pub fn names_in(folder: &Path, most: usize) -> Vec<String> {
    #[cfg(any(target_family = "wasm", feature = "host-files"))]
    if let Some(names) = host::names_in(folder) {
        return names.into_iter().take(most).collect();
    }
    let name = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        Some(name + if entry.file_type().ok()?.is_dir() { "/" } else { "" })
    };
    let mut names: Vec<String> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().take(most).filter_map(name).collect();
    names.sort_unstable();
    names
}
