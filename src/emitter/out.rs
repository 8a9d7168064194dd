//! Destination of the bytes of a file: a writer that may copy blobs directly from their sources. It does not open
//! files.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};

use pte_model::data::produce::Producer;
use pte_model::data::{Blob, positioned, workers};

/// Sequential destination of bytes and blobs.
///
/// ```
/// use std::io::{self, Write};
///
/// use pte_emit::{Blob, ByteSink, Model, OutputFile};
///
/// /// Counts the bytes of weights without reading them.
/// struct Weights(u64);
///
/// impl Write for Weights {
///     fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
///         Ok(bytes.len())
///     }
///     fn flush(&mut self) -> io::Result<()> {
///         Ok(())
///     }
/// }
///
/// impl ByteSink for Weights {
///     fn blob(&mut self, blob: &Blob) -> io::Result<()> {
///         self.0 += blob.len();
///         Ok(())
///     }
/// }
///
/// let linear = Model::open("examples/linear.yaml")?;
/// let file: OutputFile<'_> = linear.assembly()?.program_file().unwrap();
/// let mut weights = Weights(0);
/// file.write_to(&mut weights)?;
/// assert_eq!(weights.0, 60);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait ByteSink: Write {
    /// Writes the bytes of a blob.
    ///
    /// # Errors
    /// As [`Blob::copy_to`].
    fn blob(&mut self, blob: &Blob) -> io::Result<()>;

    /// Writes zeros, which may become a hole of a file.
    ///
    /// ```
    /// use pte_emit::ByteSink;
    ///
    /// let mut bytes = vec![1];
    /// ByteSink::zeros(&mut bytes, 2)?;
    /// assert_eq!(bytes, [1, 0, 0]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Write::write_all`].
    fn zeros(&mut self, count: u64) -> io::Result<()> {
        fill(self, count, 0)
    }
}

/// Writes equal bytes.
///
/// # Errors
/// As [`Write::write_all`].
pub(crate) fn fill(out: &mut (impl Write + ?Sized), count: u64, byte: u8) -> io::Result<()> {
    let bytes = [byte; 4096];
    let mut left = count;
    while left > 0 {
        let now = left.min(bytes.len() as u64);
        out.write_all(&bytes[..now as usize])?;
        left -= now;
    }
    Ok(())
}

impl ByteSink for Vec<u8> {
    fn blob(&mut self, blob: &Blob) -> io::Result<()> {
        blob.copy_to(self)
    }
}

/// Adapts a writer.
pub struct WriterSink<'w>(pub &'w mut dyn Write);

impl Write for WriterSink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl ByteSink for WriterSink<'_> {
    fn blob(&mut self, blob: &Blob) -> io::Result<()> {
        blob.copy_to(self.0)
    }
}

/// Minimum size in bytes of a blob that is written with several threads.
const LARGE: u64 = 1 << 20;

/// Destination of a file that reports progress, and writes large blobs to a regular file with all threads. Call
/// [`Write::flush`] after the last byte: it writes what is left, and returns the errors of that.
///
/// ```
/// use std::io::Write;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use pte_emit::{Model, OutputSink};
///
/// let (mut bytes, written) = (Vec::new(), AtomicU64::new(0));
/// let progress = |count| drop(written.fetch_add(count, Ordering::Relaxed));
/// let model = Model::open("examples/add.yaml")?;
/// model.assembly()?.program_file().unwrap().write_to(&mut OutputSink::new(&mut bytes, &progress))?;
/// assert_eq!(written.into_inner(), bytes.len() as u64);
///
/// let file = tempfile::tempfile()?;
/// let mut sink = OutputSink::to_file(&file, &|_| ());
/// Model::open("examples/add.yaml")?.assembly()?.program_file().unwrap().write_to(&mut sink)?;
/// sink.flush()?;
/// assert_eq!(file.metadata()?.len(), bytes.len() as u64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OutputSink<'a, W> {
    out: W,
    progress: &'a (dyn Fn(u64) + Sync),
    /// File of `out`, for positioned writes of several threads; `None` for a pipe or a device.
    file: Option<&'a File>,
    /// Large blobs with their offsets in the file, which [`OutputSink::flush`] writes with all threads.
    deferred: Vec<(u64, Blob)>,
}

impl<'a, W: Write> OutputSink<'a, W> {
    /// Sequential writer. `progress` is called with the number of bytes written since the last call.
    pub fn new(out: W, progress: &'a (dyn Fn(u64) + Sync)) -> OutputSink<'a, W> {
        OutputSink { out, progress, file: None, deferred: Vec::new() }
    }
}

impl<'a> OutputSink<'a, BufWriter<&'a File>> {
    /// Writer of a regular file from its current position on. What the file has after the last byte stays. `progress`
    /// as in [`OutputSink::new`].
    pub fn to_file(file: &'a File, progress: &'a (dyn Fn(u64) + Sync)) -> Self {
        OutputSink { out: BufWriter::with_capacity(1 << 18, file), progress, file: Some(file), deferred: Vec::new() }
    }
}

/// State of a thread between blocks.
#[derive(Default)]
struct Worker<'b> {
    bytes: Vec<u8>,
    /// Number of the open blob, and its reader.
    open: Option<(usize, Producer<'b>)>,
}

impl<W: Write> Write for OutputSink<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        (self.progress)(count as u64);
        Ok(count)
    }

    /// Writes buffered bytes, and then large blobs with all threads.
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()?;
        let Some(file) = self.file else { return Ok(()) };
        // Each blob with the number of its first block.
        let (mut jobs, mut blocks) = (Vec::new(), 0);
        let deferred = std::mem::take(&mut self.deferred);
        for (start, blob) in &deferred {
            let block = blob.block();
            jobs.push((blocks, *start, block, blob));
            blocks += blob.len.div_ceil(block);
        }
        workers::each::<Worker<'_>>(blocks, workers::cores(), |worker, number| {
            let index = jobs.partition_point(|(first, ..)| *first <= number) - 1;
            let (first, start, block, blob) = &jobs[index];
            // Blocks are consecutive, so the blob is usually open already.
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

impl<W: Write> ByteSink for OutputSink<'_, W> {
    fn blob(&mut self, blob: &Blob) -> io::Result<()> {
        let Some(mut file) = self.file.filter(|_| blob.len >= LARGE) else { return blob.copy_to(self) };
        self.out.flush()?;
        let start = file.stream_position()?;
        let end = start.checked_add(blob.len).ok_or(io::ErrorKind::FileTooLarge)?;
        file.seek(SeekFrom::Start(end))?;
        self.deferred.push((start, blob.clone()));
        Ok(())
    }

    /// Leaves a hole in a regular file, unless it has content there.
    fn zeros(&mut self, count: u64) -> io::Result<()> {
        let Some(mut file) = self.file.filter(|_| count >= LARGE) else { return fill(self, count, 0) };
        self.out.flush()?;
        let start = file.stream_position()?;
        if file.metadata()?.len() > start {
            return fill(self, count, 0);
        }
        let end = start.checked_add(count).ok_or(io::ErrorKind::FileTooLarge)?;
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        (self.progress)(count);
        Ok(())
    }
}
