//! Atomic output files: written to temporary files in the folders of their targets, renamed when all are complete. Symbolic links are
//! followed. Pipes and devices are written to directly.
//!
//! The handler of SIGINT calls [`remove_unfinished`]. A killed process leaves temporary files called `.pte-emit-*`; each target is then
//! unchanged, or complete.

use std::fs;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

use tempfile::{NamedTempFile, TempPath};

use pte_emit::file_error::{cannot, is_io, is_named};
use pte_emit::workers::lock;
use pte_emit::{Blob, ByteSink, OutputSink};

use super::exit::Failure;
use super::io as files;

/// Uncommitted output files. Dropping it before [`Outputs::commit`] removes them.
#[derive(Default)]
pub struct Outputs {
    files: Vec<OutputTarget>,
    /// Name of the input whose data are written, for messages.
    input: String,
    /// Replace any file.
    force: bool,
}

/// Existing files that an output replaces without `--force`: those that the command can write again. Empty files and those with the same
/// content are always replaced.
#[derive(Debug, Clone, Copy)]
pub enum Replaced {
    /// Any, of a command that edits the file.
    Any,
    /// Binary files, by a binary output: neither text nor with the extension of a source.
    Binary,
    /// Text whose first bytes have the mark of files that the command generates.
    Generated(fn(&str) -> bool),
    /// None: people edit such files, or they have no mark.
    Nothing,
}

impl Replaced {
    /// Returns `true` if an output that replaces these may be written to `target`.
    pub fn includes(self, target: &Path) -> bool {
        if !target.metadata().is_ok_and(|file| file.is_file() && file.len() > 0) {
            return true;
        }
        match self {
            Replaced::Any => true,
            Replaced::Binary => !files::is_source_name(target) && !files::is_text_file(target),
            Replaced::Generated(is_own) => files::text_head(target).is_some_and(|head| is_own(&head)),
            Replaced::Nothing => false,
        }
    }

    /// Checks that an output may be written, for commands that work long before they write it.
    ///
    /// # Errors
    /// A file that would be lost.
    pub fn check(self, target: &Path, force: bool) -> Result<(), Failure> {
        if force || self.includes(target) { Ok(()) } else { Err(lost(target)) }
    }
}

/// Error of an output that would replace a file that nothing can write again.
fn lost(target: &Path) -> Failure {
    let target = target.display();
    Failure::Usage(format!(
        "output {target} exists and would be lost; name another, remove it first, or use `--force` of the command"
    ))
}

/// A complete temporary file and its target.
struct OutputTarget {
    file: Unfinished,
    target: PathBuf,
    /// The target must not exist.
    is_new: bool,
}

impl Outputs {
    /// No files yet. `input` is the name of what is written, for messages; with `force`, outputs replace any file.
    pub fn new(input: impl Into<String>, force: bool) -> Outputs {
        Outputs { files: Vec::new(), input: input.into(), force }
    }

    /// Writes a temporary file of `size` bytes in the folder of `target`, which replaces it at [`Outputs::commit`]. The file is preallocated:
    /// a full disk is detected before the first byte is copied, and copying is faster. `progress` is called with the number of bytes
    /// written since the last call.
    ///
    /// # Errors
    /// A file that would be lost; I/O errors, with the path of the file; invalid data.
    pub fn write(
        &mut self,
        target: &Path,
        replaced: Replaced,
        size: u64,
        progress: &(dyn Fn(u64) + Sync),
        write: impl FnOnce(&mut dyn ByteSink) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let is_kept = !self.force && !replaced.includes(target);
        let count = self.files.len();
        self.create(target, size, progress, write).map_err(|error| Failure::writing(&self.input, &error))?;
        let is_new = |file: &OutputTarget| is_kept && !file.is_same();
        if self.files.get(count).is_some_and(is_new) { Err(lost(target)) } else { Ok(()) }
    }

    /// Does the same for text that is in memory.
    ///
    /// # Errors
    /// Those of [`Outputs::write`].
    pub fn write_text(&mut self, target: &Path, replaced: Replaced, text: &str) -> Result<(), Failure> {
        self.write(target, replaced, text.len() as u64, &|_| (), |out| out.write_all(text.as_bytes()))
    }

    fn create(
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
        self.files.push(OutputTarget { file: path, target: target.to_owned(), is_new: false });
        Ok(())
    }

    /// Writes data to a target that must not exist, not even as a symbolic link; with `force`, it may.
    ///
    /// # Errors
    /// An existing target; I/O errors, with the path of the file; data that cannot be read.
    pub fn write_new(&mut self, target: &Path, data: &Blob) -> Result<(), Failure> {
        if !self.force && target.symlink_metadata().is_ok() {
            return Err(lost(target));
        }
        self.write(target, Replaced::Nothing, data.len(), &|_| (), |out| out.blob(data))?;
        let force = self.force;
        self.files.last_mut().into_iter().for_each(|file| file.is_new = !force);
        Ok(())
    }

    /// Adds the files of other outputs, which are committed with these.
    pub fn append(&mut self, mut other: Outputs) {
        self.files.append(&mut other.files);
    }

    /// Paths of the files after the commit.
    pub fn targets(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| &*file.target)
    }

    /// Renames all files to their targets. If one fails, those already renamed are rolled back.
    ///
    /// # Errors
    /// I/O errors, with the path of the target.
    pub fn commit(mut self) -> Result<(), Failure> {
        let input = std::mem::take(&mut self.input);
        self.rename().map_err(|error| Failure::writing(&input, &error))
    }

    fn rename(self) -> io::Result<()> {
        // The lock delays the handler of SIGINT until all files are renamed.
        let mut unfinished = unfinished();
        let mut done: Vec<(PathBuf, Option<TempPath>)> = Vec::new();
        let mut files = self
            .files
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
    fn is_same(&self) -> bool {
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
        unfinished.push(path.to_path_buf());
        Ok((file, Unfinished(Some(path))))
    }

    /// Unregisters the file and returns its path.
    fn unregister(mut self, unfinished: &mut Vec<PathBuf>) -> TempPath {
        let path = self.0.take().expect("taken only here and by drop");
        unfinished.retain(|name| **name != *path);
        path
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // The lock delays the handler of SIGINT until the file is removed.
            let mut unfinished = unfinished();
            unfinished.retain(|name| **name != *path);
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
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    lock(&UNFINISHED)
}

/// Removes the temporary files of all threads, and the new folders without files. No file is created or renamed as long as the returned
/// lock is held; the caller ends the process.
pub fn remove_unfinished() -> impl Sized {
    let mut unfinished = unfinished();
    for name in unfinished.drain(..) {
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

/// Returns an error if there is no folder to write an output to.
pub fn check_folder(target: &Path) -> io::Result<()> {
    folder_of(target).map(drop).map_err(|error| unwritable(target, error))
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

/// Creates a temporary file in the folder of `target`, with the permissions of `target` if it exists, else those of a new file.
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

#[cfg(all(test, unix))]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::MetadataExt;

    use pretty_assertions::assert_eq;
    use pte_emit::Model;

    use super::{Outputs, Replaced};

    #[test]
    fn a_data_file_that_shrinks_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("model.pte"), "\0old").unwrap();
        File::create(path("weights.bin")).unwrap().set_len(3 << 20).unwrap();
        let yaml = "methods: {forward: {values: {w: {tensor: float32, sizes: [786432], data: {file: weights.bin}}}, outputs: [w]}}";
        let model = Model::from_yaml("model.yaml", yaml, folder.path());
        let file = model.assembly().unwrap().program_file().unwrap();
        File::options().write(true).open(path("weights.bin")).unwrap().set_len(1 << 20).unwrap();

        let mut outputs = Outputs::new("", false);
        let size = file.size().unwrap();
        let written = outputs.write(&path("model.pte"), Replaced::Binary, size, &|_| (), |out| file.write_to(out));
        let error = format!("{:?}", written.unwrap_err());
        assert!(error.contains("weights.bin: the file became shorter while it was read"), "{error}");
        drop(outputs);
        assert_eq!(fs::read(path("model.pte")).unwrap(), b"\0old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn unused_preallocated_space_is_freed() {
        let folder = tempfile::tempdir().unwrap();
        let (mut outputs, target) = (Outputs::new("", false), folder.path().join("short"));
        outputs.write(&target, Replaced::Nothing, 4 << 20, &|_| (), |out| out.write_all(b"all")).unwrap();
        outputs.commit().unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"all");
        let blocks = fs::metadata(&target).unwrap().blocks();
        assert!(blocks * 512 <= 64 << 10, "{blocks} blocks for 3 bytes");
    }
}
