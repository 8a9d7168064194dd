//! Files that are written atomically: to temporary files in the folders of their targets, renamed when all are
//! complete. Symbolic links are followed. Pipes and devices are written to directly. It decides nothing: which files
//! may be replaced is the task of `outputs.rs`.
//!
//! The handler of SIGINT calls [`remove_unfinished`]. A killed process leaves temporary files called `.pte-emit-*`;
//! each target is then unchanged, or complete.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use tempfile::{NamedTempFile, TempPath};

use pte_emit::command::file_error::{cannot, is_io, is_named};
use pte_emit::command::workers::lock;
use pte_emit::{ByteSink, OutputSink};

/// Complete temporary files and their targets. Dropping it before [`AtomicFiles::commit`] removes them.
#[derive(Default)]
pub struct AtomicFiles {
    /// In the order in which they were written.
    pub list: Vec<OutputTarget>,
}

/// A complete temporary file and its target.
pub struct OutputTarget {
    file: Unfinished,
    /// Path after the commit.
    pub target: PathBuf,
    /// The target must not exist.
    pub is_new: bool,
}

impl AtomicFiles {
    /// Writes a temporary file of `size` bytes in the folder of `target`, which replaces it at [`AtomicFiles::commit`].
    /// The file is preallocated: a full disk is detected before the first byte is copied, and copying is faster.
    /// `progress` is called with the number of bytes written since the last call. Pipes and devices are written to at
    /// once, and are not in the list.
    ///
    /// # Errors
    /// I/O errors, with the path of the file; invalid data.
    pub fn write(
        &mut self,
        target: &Path,
        size: u64,
        progress: &(dyn Fn(u64) + Sync),
        write: impl FnOnce(&mut dyn ByteSink) -> io::Result<()>,
    ) -> io::Result<()> {
        let target = &target.canonicalize().unwrap_or_else(|_| target.to_owned());
        let kind = target.metadata().map(|metadata| metadata.file_type());
        if kind.is_ok_and(|kind| !kind.is_file() && !kind.is_dir()) {
            let out = fs::OpenOptions::new().write(true).open(target).map_err(|error| unwritable(target, error))?;
            let mut out = OutputSink::new(BufWriter::new(out), progress);
            return write(&mut out).and_then(|()| out.flush()).map_err(|error| unwritable(target, error));
        }
        if target.is_dir() {
            return Err(unwritable(target, io::Error::new(io::ErrorKind::IsADirectory, "expected a regular file")));
        }
        let (file, path) = Unfinished::create(target).map_err(|error| unwritable(target, error))?;
        let written = preallocate(&file, size).and_then(|()| {
            let mut out = OutputSink::to_file(&file, progress);
            write(&mut out)?;
            out.flush()?;
            let end = (&file).stream_position()?;
            // The preallocated size is an upper bound.
            if end < size { file.set_len(end) } else { Ok(()) }
        });
        written.map_err(|error| unwritable(target, error))?;
        self.list.push(OutputTarget { file: path, target: target.to_owned(), is_new: false });
        Ok(())
    }

    /// Renames all files to their targets. If one fails, those already renamed are rolled back.
    ///
    /// # Errors
    /// I/O errors, with the path of the target.
    pub fn commit(self) -> io::Result<()> {
        // The lock delays the handler of SIGINT until all files are renamed.
        let mut unfinished = unfinished();
        let mut done: Vec<(PathBuf, Option<TempPath>)> = Vec::new();
        let mut files = self
            .list
            .into_iter()
            .map(|OutputTarget { file, target, is_new }| (file.unregister(&mut unfinished), target, is_new));
        for (file, target, is_new) in files.by_ref() {
            let renamed = match is_new {
                true => file.persist_noclobber(&target).map(|()| None).map_err(|error| error.error),
                false => back_up(&target).and_then(|old| {
                    file.persist(&target).map_err(|error| error.error)?;
                    Ok(old)
                }),
            };
            match renamed {
                Ok(old) => done.push((target, old)),
                Err(error) => {
                    for (target, old) in done.into_iter().rev() {
                        // Best effort: the first error is the one to report.
                        let _ = match old {
                            Some(old) => old.persist(&target).map_err(|error| error.error),
                            None => fs::remove_file(&target),
                        };
                    }
                    // Drops the remaining temporary files while the lock is held.
                    files.for_each(drop);
                    return Err(unwritable(&target, error));
                }
            }
        }
        Ok(())
    }
}

impl OutputTarget {
    /// Returns `true` if the target has the content of the file.
    pub fn is_same(&self) -> bool {
        let path = self.file.0.as_deref().unwrap_or(&self.target);
        is_same(path, &self.target).unwrap_or(false)
    }
}

/// Compares the contents of two files.
fn is_same(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (fs::File::open(a)?, fs::File::open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let (mut a, mut b) = (BufReader::new(a), BufReader::new(b));
    loop {
        let (left, right) = (a.fill_buf()?, b.fill_buf()?);
        let len = left.len().min(right.len());
        if len == 0 || left[..len] != right[..len] {
            return Ok(left.len() == right.len() && len == 0);
        }
        a.consume(len);
        b.consume(len);
    }
}

/// Adds the name of an output to an error of writing it. Errors about the data that are written stay.
pub fn unwritable(target: &Path, error: io::Error) -> io::Error {
    if is_named(&error) || (error.raw_os_error().is_none() && !is_io(&error)) {
        return error;
    }
    let kind = match error.kind() {
        // Kinds that otherwise stand for invalid data.
        io::ErrorKind::FileTooLarge => io::ErrorKind::StorageFull,
        kind if is_io(&kind.into()) => kind,
        _ => io::ErrorKind::Unsupported,
    };
    cannot("write", target, io::Error::new(kind, error))
}

/// Temporary file, registered for [`remove_unfinished`]. Dropping it removes the file.
struct Unfinished(Option<TempPath>);

impl Unfinished {
    /// Creates a file in the folder of `target`.
    fn create(target: &Path) -> io::Result<(fs::File, Unfinished)> {
        // The lock delays the handler of SIGINT until the file is registered.
        let mut unfinished = unfinished();
        let (file, path) = temporary(target)?.into_parts();
        unfinished.insert(path.to_path_buf());
        Ok((file, Unfinished(Some(path))))
    }

    /// Unregisters the file and returns its path.
    fn unregister(mut self, unfinished: &mut BTreeSet<PathBuf>) -> TempPath {
        let path = self.0.take().expect("taken only here and by drop");
        unfinished.remove::<Path>(&path);
        path
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // The lock delays the handler of SIGINT until the file is removed.
            let mut unfinished = unfinished();
            unfinished.remove::<Path>(&path);
            drop(path);
        }
    }
}

/// Created folder, with the folders above it that did not exist either. Dropping it removes those that are empty.
#[derive(Default)]
pub struct NewFolder(Vec<PathBuf>);

impl NewFolder {
    /// Creates a folder, unless it exists.
    ///
    /// # Errors
    /// I/O errors of creating it; a path that exists and is not a folder.
    pub fn create(path: &Path) -> io::Result<NewFolder> {
        if path.exists() && !path.is_dir() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it exists and is not a folder"));
        }
        let missing: Vec<&Path> =
            path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && !folder.exists()).collect();
        let mut created = NewFolder::default();
        for folder in missing.into_iter().rev() {
            // The lock delays the handler of SIGINT until the folder is registered.
            let mut registered = lock(&NEW_FOLDERS);
            match fs::create_dir(folder) {
                // Another process was faster.
                Err(_) if folder.is_dir() => continue,
                done => done?,
            }
            registered.push(folder.to_owned());
            created.0.push(folder.to_owned());
        }
        Ok(created)
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        remove_empty(&mut self.0);
    }
}

/// Removes the folders that are empty, the last ones first.
fn remove_empty(folders: &mut Vec<PathBuf>) {
    while let Some(folder) = folders.pop() {
        // One with an output stays.
        let _ = fs::remove_dir(folder);
    }
}

/// Folders that this process has created.
static NEW_FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Paths of all temporary files.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    lock(&UNFINISHED)
}

/// Removes the temporary files of all threads, and the new folders without files. No file is created or renamed as long
/// as the returned lock is held; the caller ends the process.
pub fn remove_unfinished() -> impl Sized {
    let mut unfinished = unfinished();
    for name in std::mem::take(&mut *unfinished) {
        // Best effort: the process ends.
        let _ = fs::remove_file(name);
    }
    remove_empty(&mut lock(&NEW_FOLDERS));
    unfinished
}

/// Minimum size in bytes for preallocation of a file.
const LARGE: u64 = 1 << 20;

/// Allocates disk space for a file, where the system supports it.
fn preallocate(file: &fs::File, size: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if size >= LARGE {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;
        return match fallocate(file, FallocateFlags::empty(), 0, size) {
            Err(full @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(full.into()),
            // The file system does not support it.
            _ => Ok(()),
        };
    }
    let _ = (file, size, LARGE);
    Ok(())
}

/// Creates a hard link to the file at `target`, if it exists, for a rollback.
fn back_up(target: &Path) -> io::Result<Option<TempPath>> {
    if !target.exists() {
        return Ok(None);
    }
    let name = temporary(target)?.into_temp_path();
    fs::remove_file(&name)?;
    // Without hard links there is no rollback, but the commit goes on.
    Ok(fs::hard_link(target, &name).is_ok().then_some(name))
}

/// Returns the folder of an output.
fn folder_of(target: &Path) -> io::Result<&Path> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match folder.is_dir() {
        true => Ok(folder),
        false => {
            let message = format!("folder {} does not exist", folder.display());
            Err(io::Error::new(io::ErrorKind::NotFound, message))
        }
    }
}

/// Creates a temporary file in the folder of `target`, with the permissions of `target` if it exists, else those of a
/// new file.
fn temporary(target: &Path) -> io::Result<NamedTempFile> {
    let folder = folder_of(target)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pte-emit-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(folder)?;
    if let Ok(old) = target.metadata() {
        // The permissions of the old file stay.
        file.as_file().set_permissions(old.permissions())?;
    }
    Ok(file)
}
