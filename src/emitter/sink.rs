//! Output files that appear whole or not at all: written beside their targets, renamed when all are complete. A link is
//! followed, and what is no file (a pipe, a device) is written to directly, since nothing can take its place.
//!
//! Who is interrupted calls [`remove_unfinished`]; who is killed without warning leaves files called `.pte-emit-*`, and every
//! target as it was, or whole.
//!
//! What is written is not known here.

use std::fs;
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempPath};

/// Output files in the making. Dropped before [`Outputs::commit`], it leaves nothing behind.
#[derive(Default)]
pub struct Outputs {
    files: Vec<(TempPath, PathBuf)>,
}

impl Outputs {
    /// No files yet.
    pub fn new() -> Outputs {
        Outputs::default()
    }

    /// Writes a file of `size` bytes beside `target`, to take its place at [`Outputs::commit`]. Room for all of it is asked
    /// for first: a full disk is told before the first byte is copied, and copying is faster.
    ///
    /// # Errors
    /// What writing says, with the target named.
    pub fn write(
        &mut self,
        target: &Path,
        size: u64,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let target = &target.canonicalize().unwrap_or_else(|_| target.to_owned());
        let kind = target.metadata().map(|metadata| metadata.file_type());
        if kind.is_ok_and(|kind| !kind.is_file() && !kind.is_dir()) {
            let mut out =
                BufWriter::new(fs::OpenOptions::new().write(true).open(target).map_err(|error| named(target, error))?);
            return write(&mut out).and_then(|()| out.flush()).map_err(|error| named(target, error));
        }
        if target.is_dir() {
            return Err(named(target, io::Error::new(io::ErrorKind::IsADirectory, "is a directory, not a file")));
        }
        let file = {
            let mut unfinished = unfinished();
            let file = beside(target).map_err(|error| named(target, error))?;
            unfinished.push(file.path().to_owned());
            file
        };
        reserve(file.as_file(), size).map_err(|error| named(target, error))?;
        let mut out = BufWriter::with_capacity(1 << 18, file);
        write(&mut out).map_err(|error| named(target, error))?;
        let file = out.into_inner().map_err(|error| named(target, error.into_error()))?;
        let end = file.as_file().stream_position().map_err(|error| named(target, error))?;
        if end < size {
            // What was reserved and is not needed.
            file.as_file().set_len(end).map_err(|error| named(target, error))?;
        }
        self.files.push((file.into_temp_path(), target.to_owned()));
        Ok(())
    }

    /// Where the files will be.
    pub fn targets(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(_, target)| &**target)
    }

    /// Puts all files in their places. If one cannot be, those that were put already are taken back.
    ///
    /// # Errors
    /// What renaming says, with the target named.
    pub fn commit(self) -> io::Result<()> {
        // Who is interrupted meanwhile waits for the end of this.
        let mut unfinished = unfinished();
        unfinished.retain(|name| !self.files.iter().any(|(file, _)| **file == **name));
        let mut done: Vec<(PathBuf, Option<TempPath>)> = Vec::new();
        for (file, target) in self.files {
            let placed = keep_old(&target).and_then(|old| {
                file.persist(&target).map_err(|error| error.error)?;
                Ok(old)
            });
            match placed {
                Ok(old) => done.push((target, old)),
                Err(error) => {
                    for (target, old) in done.into_iter().rev() {
                        // Nothing better than to try can be done with an error here.
                        let _ = match old {
                            Some(old) => old.persist(&target).map_err(|error| error.error),
                            None => fs::remove_file(&target),
                        };
                    }
                    return Err(named(&target, error));
                }
            }
        }
        Ok(())
    }
}

/// Names of files that are being written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the files that are being written, by any thread. No file is put in its place afterwards: the caller ends the
/// program.
pub fn remove_unfinished() -> impl Sized {
    let mut unfinished = unfinished();
    for name in unfinished.drain(..) {
        // Nothing better than to try can be done with an error here.
        let _ = fs::remove_file(name);
    }
    // As long as the caller keeps this, nobody begins or ends a file.
    unfinished
}

/// So many bytes are worth asking for.
const LARGE: u64 = 1 << 20;

/// Asks for room for a file, where the system can be asked.
fn reserve(file: &fs::File, size: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if size >= LARGE {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        return match fallocate(file, FallocateFlags::empty(), 0, size) {
            Err(full @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(full.into()),
            // Not every file system knows how.
            _ => Ok(()),
        };
    }
    let _ = (file, size, LARGE);
    Ok(())
}

/// A second name for the file at `target`, if there is one, so that it can be brought back.
fn keep_old(target: &Path) -> io::Result<Option<TempPath>> {
    if !target.exists() {
        return Ok(None);
    }
    let name = beside(target)?.into_temp_path();
    fs::remove_file(&name)?;
    // A file system without hard links loses the way back, not the output.
    Ok(fs::hard_link(target, &name).is_ok().then_some(name))
}

fn named(target: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", target.display()))
}

/// A temporary file beside `target`, with the permissions of the file there, or else those that any program's new file
/// has.
fn beside(target: &Path) -> io::Result<NamedTempFile> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pte-emit-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    if !folder.is_dir() {
        let message = format!("there is no folder {}", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, message));
    }
    let file = builder.tempfile_in(folder)?;
    if let Ok(old) = target.metadata() {
        // Who could read the old file can read the new one, and nobody else.
        file.as_file().set_permissions(old.permissions())?;
    }
    Ok(file)
}
