//! Output files that appear whole or not at all: written beside their targets, renamed when all are complete. A link is
//! followed, and what is no file (a pipe, a device) is written to directly, since nothing can take its place.
//!
//! What is written is not known here.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

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

    /// Writes a file beside `target`, to take its place at [`Outputs::commit`].
    ///
    /// # Errors
    /// What writing says, with the target named.
    pub fn write(&mut self, target: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
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
        let file = beside(target).map_err(|error| named(target, error))?;
        let mut out = BufWriter::with_capacity(1 << 18, file);
        write(&mut out).map_err(|error| named(target, error))?;
        let file = out.into_inner().map_err(|error| named(target, error.into_error()))?;
        self.files.push((file.into_temp_path(), target.to_owned()));
        Ok(())
    }

    /// Puts all files in their places. If one cannot be, those that were put already are taken back.
    ///
    /// # Errors
    /// What renaming says, with the target named.
    pub fn commit(self) -> io::Result<()> {
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
