//! Output files that appear whole or not at all: written beside their targets, renamed when all are complete. A link is
//! followed, and what is no file (a pipe, a device) is written to directly, since nothing can take its place.
//!
//! Who is interrupted calls [`remove_unfinished`]; who is killed without warning leaves files called `.pte-emit-*`, and every
//! target as it was, or whole.
//!
//! What is written is not known here.

use std::fs;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempPath};

use crate::data::produce::{Producer, named};
use crate::data::workers;
use crate::data::{Blob, positioned};
use crate::emitter::Out;

/// Output files in the making. Dropped before [`Outputs::commit`], it leaves nothing behind.
#[derive(Default)]
pub struct Outputs {
    files: Vec<(Unfinished, PathBuf)>,
}

impl Outputs {
    /// No files yet.
    pub fn new() -> Outputs {
        Outputs::default()
    }

    /// Writes a file of `size` bytes beside `target`, to take its place at [`Outputs::commit`]. Room for all of it is asked
    /// for first: a full disk is told before the first byte is copied, and copying is faster. `progress` hears how many bytes
    /// were written, every now and then.
    ///
    /// # Errors
    /// What writing says, with the target named.
    pub fn write(
        &mut self,
        target: &Path,
        size: u64,
        progress: &(dyn Fn(u64) + Sync),
        write: impl FnOnce(&mut dyn Out) -> io::Result<()>,
    ) -> io::Result<()> {
        let target = &target.canonicalize().unwrap_or_else(|_| target.to_owned());
        let kind = target.metadata().map(|metadata| metadata.file_type());
        if kind.is_ok_and(|kind| !kind.is_file() && !kind.is_dir()) {
            let out = fs::OpenOptions::new().write(true).open(target).map_err(|error| named(target, error))?;
            let mut out = Stream::new(BufWriter::new(out), progress);
            return write(&mut out).and_then(|()| out.flush()).map_err(|error| named(target, error));
        }
        if target.is_dir() {
            return Err(named(target, io::Error::new(io::ErrorKind::IsADirectory, "is a directory, not a file")));
        }
        let (file, path) = Unfinished::beside(target).map_err(|error| named(target, error))?;
        let written = reserve(&file, size).and_then(|()| {
            let out = BufWriter::with_capacity(1 << 18, &file);
            let mut out = Stream { out, progress, file: Some(&file), later: Vec::new() };
            write(&mut out)?;
            out.finish()?;
            let end = (&file).stream_position()?;
            // What was reserved and is not needed.
            if end < size { file.set_len(end) } else { Ok(()) }
        });
        written.map_err(|error| named(target, error))?;
        self.files.push((path, target.to_owned()));
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
        let mut done: Vec<(PathBuf, Option<TempPath>)> = Vec::new();
        let mut files = self.files.into_iter().map(|(file, target)| (file.forget(&mut unfinished), target));
        for (file, target) in files.by_ref() {
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
                    // The files that wait are removed, too, before somebody else can take the lock to forget them.
                    files.for_each(drop);
                    return Err(named(&target, error));
                }
            }
        }
        Ok(())
    }
}

/// Something to write to, whose progress somebody hears of.
pub struct Stream<'a, W> {
    out: W,
    progress: &'a (dyn Fn(u64) + Sync),
    /// The file behind `out`, in which several threads can write at their own places; none behind a pipe or a device.
    file: Option<&'a fs::File>,
    /// Large data that are written in the end, by all threads at once: where, and what.
    later: Vec<(u64, Blob)>,
}

impl<'a, W: Write> Stream<'a, W> {
    /// What is written in one order only.
    pub fn new(out: W, progress: &'a (dyn Fn(u64) + Sync)) -> Stream<'a, W> {
        Stream { out, progress, file: None, later: Vec::new() }
    }

    /// Writes what was left for the end.
    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let Some(file) = self.file else { return Ok(()) };
        // Each of the data with the number of its first block among all.
        let mut blocks = 0;
        let mut jobs = Vec::with_capacity(self.later.len());
        for (start, blob) in &self.later {
            let block = blob.block();
            jobs.push((blocks, *start, block, blob));
            blocks += blob.len.div_ceil(block);
        }
        workers::each::<Worker<'_>>(blocks, workers::cores(), |worker, number| {
            let index = jobs.partition_point(|(first, ..)| *first <= number) - 1;
            let (first, start, block, blob) = &jobs[index];
            // Blocks come in their order, so that the same data are mostly open.
            let producer = match worker.open.take() {
                Some((open, producer)) if open == index => producer,
                _ => blob.open()?,
            };
            let at = (number - first) * block;
            worker.bytes.resize((blob.len - at).min(*block) as usize, 0);
            producer.read_at(at, &mut worker.bytes)?;
            positioned::write_all_at(file, start + at, &worker.bytes)?;
            (self.progress)(worker.bytes.len() as u64);
            worker.open = Some((index, producer));
            Ok(())
        })
    }
}

/// What a thread keeps from one block to the next.
#[derive(Default)]
struct Worker<'b> {
    bytes: Vec<u8>,
    /// The data that are open, by their number.
    open: Option<(usize, Producer<'b>)>,
}

impl<W: Write> Write for Stream<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        (self.progress)(count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write> Out for Stream<'_, W> {
    fn blob(&mut self, blob: &Blob) -> io::Result<()> {
        let Some(mut file) = self.file.filter(|_| blob.len >= LARGE) else { return blob.copy_to(self) };
        self.out.flush()?;
        let start = file.stream_position()?;
        let end = start.checked_add(blob.len).ok_or(io::ErrorKind::FileTooLarge)?;
        file.seek(SeekFrom::Start(end))?;
        self.later.push((start, blob.clone()));
        Ok(())
    }
}

/// A file that is being written. Dropped, it is removed, and forgotten.
struct Unfinished(Option<TempPath>);

impl Unfinished {
    /// A new file in the folder of `target`.
    fn beside(target: &Path) -> io::Result<(fs::File, Unfinished)> {
        // Who is interrupted meanwhile waits for the name.
        let mut unfinished = unfinished();
        let (file, path) = beside(target)?.into_parts();
        unfinished.push(path.to_path_buf());
        Ok((file, Unfinished(Some(path))))
    }

    /// The file, of which nobody who is interrupted need know.
    fn forget(mut self, unfinished: &mut Vec<PathBuf>) -> TempPath {
        let path = self.0.take().expect("it is taken once, here");
        unfinished.retain(|name| **name != *path);
        path
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            // Who is interrupted now finds the name, or no file.
            let mut unfinished = unfinished();
            unfinished.retain(|name| **name != *path);
            drop(path);
        }
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

/// So many bytes are worth asking room for, and worth a second thread.
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
