//! Files and terminals, shared by all commands: `-` for the standard streams, messages on standard error, progress bar.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use clap::ColorChoice;

use indicatif::{BinaryBytes, HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use pte_emit::command::text::{counted, escaped};
use pte_emit::command::workers::lock;
use pte_emit::command::{bytes, is_text, other_format};
use pte_emit::{Code, Error, Format, Model, Report};

use super::findings::{FileFindings, Level};
use super::paint::Paint;

/// Name that stands for standard input or output.
pub const STREAM: &str = "-";

/// Returns true if more than one of several inputs is standard input.
pub fn reads_stream_twice<P: AsRef<Path>>(inputs: &[P]) -> bool {
    inputs.iter().filter(|input| input.as_ref().as_os_str() == STREAM).count() > 1
}

/// Returns a sentence about rows that are not printed, if there are any; `noun` is in the singular.
pub fn rows_left(count: usize, limit: usize, noun: &str) -> Option<String> {
    let left = count.checked_sub(limit).filter(|left| *left > 0)?;
    Some(format!("and {} (`--limit 0` for all)", counted(left, noun)))
}

/// Says how many items are not printed.
pub fn write_more(indent: &str, count: usize, limit: usize, noun: &str, out: &mut String) {
    if let Some(left) = rows_left(count, limit, &format!("more {noun}")) {
        *out += &format!("{indent}{left}\n");
    }
}

/// Name of standard input in messages.
const STDIN: &str = "<stdin>";

/// Opens an input; `-` is standard input.
///
/// # Errors
/// An input that cannot be read, or that is neither of a binary format nor UTF-8.
pub fn open(path: &Path) -> Result<Model, Error> {
    if path.as_os_str() != STREAM {
        return Model::open(path);
    }
    Model::from_bytes(STDIN, read_stdin()?, "")
}

/// Opens an input of any format: one with the extension of a binary format is binary, also if its identifier is
/// damaged.
///
/// # Errors
/// Those of [`open`] and [`open_binary`].
pub fn open_any(path: &Path) -> Result<Model, Error> {
    if is_binary_name(path) { open_binary(path) } else { open(path) }
}

/// Parses a number of bytes.
///
/// # Errors
/// A message with the expected form.
pub fn size(text: &str) -> Result<u64, String> {
    bytes::bytes(text)
}

/// Opens a binary input; `-` is standard input. A file without a known identifier is opened, too: it may be malformed.
///
/// # Errors
/// An input that cannot be read; text, unless the extension is that of a binary format.
pub fn open_binary(path: &Path) -> Result<Model, Error> {
    let source = match path.as_os_str() == STREAM {
        true => Model::from_binary(STDIN, read_stdin()?),
        false => Model::open_binary(path),
    };
    let head = source.head(TEXT_PROBE)?;
    if !is_binary_name(path) && is_text(&head, head.len() as u64 == TEXT_PROBE) {
        let text = "`dump`, `annotate` and `--strip-tests` read binary files; YAML is assembled by `pte-emit FILE.yaml -o FILE.pte`";
        let other = other_format(&head);
        let (found, help) = match &other {
            Some(other) => (&*other.found, other.help),
            None if is_source_name(path) => ("YAML", text),
            None => ("text", text),
        };
        let message = format!("expected a .pte, .ptd or .bpte file, found {found}");
        return Err(Error::new(Report::new(source.name(), "", vec![Code::UnexpectedInput.whole(message).help(help)])));
    }
    Ok(source)
}

/// Returns the format of a file that is the payload of a delegate, by its first bytes; `None` of standard input.
pub fn payload_format(path: &Path) -> Option<&'static str> {
    if path.as_os_str() == STREAM {
        return None;
    }
    Model::open_binary(path).payload_format().ok()?
}

/// Number of bytes by which text is recognized.
const TEXT_PROBE: u64 = 4096;

/// Returns true for an existing file with text.
pub fn is_text_file(path: &Path) -> bool {
    text_head(path).is_some()
}

/// Returns the first bytes of an existing file with text.
pub fn text_head(path: &Path) -> Option<String> {
    let head = path.is_file().then(|| Model::open_binary(path).head(TEXT_PROBE).ok())??;
    is_text(&head, head.len() as u64 == TEXT_PROBE).then(|| String::from_utf8_lossy(&head).into_owned())
}

/// Returns the name of an input without its extension.
pub fn stem(input: &Path) -> &OsStr {
    if input.as_os_str() == STREAM { "stdin".as_ref() } else { input.file_stem().unwrap_or_default() }
}

/// Returns the extension of a file, also of one whose name is only an extension, such as `.yaml`.
pub fn extension(path: &Path) -> Option<&OsStr> {
    path.extension().or_else(|| path.file_name()?.to_str()?.strip_prefix('.').map(OsStr::new))
}

/// Returns true for the extension of a FlatBuffer format: such a file with a damaged identifier is not YAML.
pub fn is_binary_name(path: &Path) -> bool {
    extension(path).and_then(OsStr::to_str).and_then(Format::of_extension).is_some()
}

/// Returns true for an extension of sources: YAML or JSON.
pub fn is_source_name(path: &Path) -> bool {
    let extension = extension(path).unwrap_or_default();
    ["yaml", "yml", "json"].iter().any(|name| extension.eq_ignore_ascii_case(name))
}

/// Minimum output size in bytes for a progress bar.
const PROGRESS_MIN_SIZE: u64 = 256 << 20;

/// Returns true if output to `to` has colours: as requested, or by default if it is a terminal and `NO_COLOR` is unset.
pub fn colours(color: ColorChoice, to: &impl IsTerminal) -> bool {
    match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => to.is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    }
}

/// Reads all of standard input.
///
/// # Errors
/// Standard input cannot be read.
pub fn read_stdin() -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| Error::io(STDIN, "", &error))?;
    Ok(bytes)
}

/// Returns the content of a lock, also of a poisoned one.
fn inner<T>(lock: Mutex<T>) -> T {
    lock.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Messages on standard error: written at once, buffered, or collected for a document.
pub struct Messages {
    colours: bool,
    /// Styles of standard output.
    paint: Paint,
    /// Least level that is printed; progress and summaries are like notes.
    least: Level,
    /// Buffer; `None` writes at once.
    buffer: Option<Mutex<String>>,
    /// Collected messages, which are not printed as text; `None` prints them.
    collected: Option<Mutex<Vec<FileFindings>>>,
}

impl Messages {
    /// Messages written at once; for colours see [`colours`].
    pub fn new(color: ColorChoice, quiet: bool) -> Messages {
        let least = if quiet { Level::Error } else { Level::Note };
        let paint = Paint { is_coloured: colours(color, &io::stdout()) };
        Messages { colours: colours(color, &io::stderr()), paint, least, buffer: None, collected: None }
    }

    /// Messages of a command that reports findings: collected until [`Messages::into_collected`], or printed as text.
    /// Warnings that are denied are the reason of an error, so that they are never left out.
    pub fn of_findings(&self, is_collecting: bool, denies_warnings: bool) -> Messages {
        let least = if denies_warnings { self.least.max(Level::Warning) } else { self.least };
        Messages { least, collected: is_collecting.then(Mutex::default), buffer: None, ..*self }
    }

    /// Messages kept in memory until [`Messages::append`].
    pub fn buffered(&self) -> Messages {
        let collected = self.collected.as_ref().map(|_| Mutex::default());
        Messages { buffer: Some(Mutex::default()), collected, ..*self }
    }

    /// Appends buffered or collected messages.
    pub fn append(&self, other: Messages) {
        self.print(&other.buffer.map(inner).unwrap_or_default());
        self.collect(other.collected.map(inner).unwrap_or_default());
    }

    /// Returns the collected messages.
    pub fn into_collected(self) -> Vec<FileFindings> {
        self.collected.map(inner).unwrap_or_default()
    }

    /// Returns true if messages are collected.
    pub fn is_collecting(&self) -> bool {
        self.collected.is_some()
    }

    /// Collects messages about files.
    pub fn collect(&self, files: impl IntoIterator<Item = FileFindings>) {
        if let Some(collected) = &self.collected {
            lock(collected).extend(files);
        }
    }

    /// Returns the styles of standard output.
    pub fn paint(&self) -> Paint {
        self.paint
    }

    /// Returns true if warnings are printed or collected.
    pub fn warns(&self) -> bool {
        self.least >= Level::Warning
    }

    /// Returns the least level that is printed.
    pub fn least(&self) -> Level {
        self.least
    }

    /// Returns true if progress and summaries are printed.
    fn is_verbose(&self) -> bool {
        self.least == Level::Note && !self.is_collecting()
    }

    /// Prints a string unchanged. A closed standard error is ignored.
    pub fn print(&self, text: &str) {
        if let Some(buffer) = &self.buffer {
            return lock(buffer).push_str(text);
        }
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Progress bar for writing `bytes` bytes; hidden for small outputs, buffered messages and standard error that is
    /// not a terminal.
    pub fn progress(&self, bytes: u64) -> ProgressBar {
        if bytes < PROGRESS_MIN_SIZE || self.buffer.is_some() || !self.is_verbose() || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let line = "{wide_bar} {binary_bytes} of {binary_total_bytes}{rate}";
        let style = ProgressStyle::with_template(line).unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(bytes).with_style(style.with_key(
            "rate",
            move |state: &ProgressState, out: &mut dyn std::fmt::Write| {
                let _ = out.write_str(&rate(state.elapsed(), state.pos(), state.len().unwrap_or(bytes)));
            },
        ))
    }

    /// Progress of a search whose length is not known; hidden if standard error is not a terminal.
    pub fn spinner(&self) -> ProgressBar {
        if !self.is_verbose() || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}: {prefix}");
        let bar = ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(std::time::Duration::from_millis(100));
        bar
    }

    /// Prints or collects messages about a source. Its warnings are printed with its errors, which they may explain.
    pub fn report(&self, report: &Report) {
        if self.is_collecting() {
            self.collect([FileFindings::of_report(report.clone())]);
        } else if self.warns() || report.has_errors() {
            self.print(&report.render(self.colours));
        }
    }

    /// Prints or collects an error without a position in a source.
    pub fn error(&self, message: &str) {
        self.message(Level::Error, message);
    }

    /// Prints or collects a warning without a position in a source, unless warnings are left out.
    pub fn warning(&self, message: &str) {
        if self.warns() {
            self.message(Level::Warning, message);
        }
    }

    /// Prints what has been done, unless only errors are printed, or messages are collected.
    pub fn summary(&self, text: &str) {
        if self.is_verbose() {
            self.print(text);
        }
    }

    fn message(&self, level: Level, message: &str) {
        match self.is_collecting() {
            true => self.collect([FileFindings::of_message(level, message)]),
            false => self.print(&format!("{}: {}\n", level.name(), escaped(message))),
        }
    }
}

/// Returns an error if an output is one of the inputs of a command, or a file with data that they refer to.
///
/// # Errors
/// A message that names the output.
pub fn check_output<'i>(output: &Path, mut inputs: impl Iterator<Item = &'i Path>) -> Result<(), String> {
    let path = canonical(output);
    let is_output = |input: &Path| input.as_os_str() != STREAM && canonical(input) == path;
    match inputs.any(is_output) {
        true => Err(format!("output {} is also an input and would be overwritten; name another", output.display())),
        false => Ok(()),
    }
}

/// Returns the path of `to` relative to the folder `from`; both are canonical. `None` without a common root, as on two
/// drives.
pub fn relative(from: &Path, to: &Path) -> Option<PathBuf> {
    let common = from.components().zip(to.components()).take_while(|(from, to)| from == to).count();
    let up = from.components().skip(common).map(|_| Component::ParentDir);
    (common > 0).then(|| up.chain(to.components().skip(common)).collect())
}

/// Returns a path with `/` between its parts; `None` if it is not UTF-8.
pub fn with_slashes(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.components().map(|part| part.as_os_str().to_str()).collect();
    Some(parts?.join("/"))
}

/// Returns the canonical form of a path, of its folder if the file does not exist yet.
pub fn canonical(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    path.canonicalize().unwrap_or_else(|_| folder.join(path.file_name().unwrap_or_default()))
}

/// Returns the rate of `done` of `all` bytes and the time that is left: nothing in the first second, or the first
/// MiB or percent, in which they are not yet known.
fn rate(elapsed: Duration, done: u64, all: u64) -> String {
    let seconds = elapsed.as_secs_f64();
    if seconds < 1.0 || done == 0 || done < (all / 100).min(1 << 20) {
        return String::new();
    }
    let per_second = done as f64 / seconds;
    let left = Duration::from_secs((all.saturating_sub(done) as f64 / per_second).ceil() as u64);
    format!(", {}/s, {} left", BinaryBytes(per_second as u64), HumanDuration(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_begin_when_they_are_known() {
        let rate = |milliseconds, done| rate(Duration::from_millis(milliseconds), done, 1000 << 20);
        assert_eq!([rate(0, 195), rate(900, 500 << 20), rate(5000, 195), rate(5000, 0)], [""; 4]);
        assert_eq!(rate(5000, 500 << 20), ", 100.00 MiB/s, 5 seconds left");
    }
}
