//! Files and terminals, shared by all commands: `-` for the standard streams, messages on standard error, progress bar.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::ColorChoice;

use indicatif::{ProgressBar, ProgressStyle};

use super::render;
use crate::check::DataFile;
use crate::data::Origin;
use crate::data::workers;
use crate::delegate;
use crate::diagnostics::{Code, Report, counted, escaped};
use crate::error::Error;
use crate::format::Format;
use crate::ir::template;
use crate::layout::options::parse_bytes;
use crate::operators::OperatorSet;
use crate::source::{Source, SourceContent};

/// Name that stands for standard input or output.
pub const STREAM: &str = "-";

/// Returns true if more than one of several inputs is standard input.
pub fn reads_stream_twice<P: AsRef<Path>>(inputs: &[P]) -> bool {
    inputs.iter().filter(|input| input.as_ref().as_os_str() == STREAM).count() > 1
}

/// Returns the number of rows that `--limit` allows, of which 0 stands for all.
pub fn row_limit(limit: usize) -> usize {
    if limit == 0 { usize::MAX } else { limit }
}

/// Says how many rows of several are not printed, if any; `noun` is in the singular.
pub fn rows_left(count: usize, limit: usize, noun: &str) -> Option<String> {
    let left = count.checked_sub(limit).filter(|left| *left > 0)?;
    Some(format!("and {} (`--limit 0` for all)", counted(left, noun)))
}

/// Name of standard input in messages.
const STDIN: &str = "<stdin>";

/// Opens an input; `-` is standard input.
///
/// # Errors
/// An input that cannot be read, or that is neither of a binary format nor UTF-8.
pub fn open(path: &Path) -> Result<Source<'static>, Error> {
    if path.as_os_str() != STREAM {
        return Source::open(path);
    }
    Source::from_bytes(STDIN.into(), read_stdin()?, PathBuf::new())
}

/// Opens an input of any format: one with the extension of a binary format is binary, also if its identifier is damaged.
///
/// # Errors
/// Those of [`open`] and [`open_binary`].
pub fn open_any(path: &Path) -> Result<Source<'static>, Error> {
    if is_binary_name(path) { open_binary(path) } else { open(path) }
}

/// Confines the files that a source refers to, if a folder is given.
pub fn confined<'s>(source: Source<'s>, folder: Option<&Path>) -> Source<'s> {
    match folder {
        Some(folder) => source.confined_to(folder),
        None => source,
    }
}

/// Parses a number of bytes.
///
/// # Errors
/// A message with the expected form.
pub fn size(text: &str) -> Result<u64, String> {
    parse_bytes(text).ok_or_else(|| "expected a number of bytes, such as 4096, 16K or 8G".into())
}

/// Parses the path of a folder.
///
/// # Errors
/// A message if there is no such folder.
pub fn existing_folder(text: &str) -> Result<PathBuf, String> {
    let folder = PathBuf::from(text);
    if folder.is_dir() { Ok(folder) } else { Err("expected an existing folder".into()) }
}

/// Opens a binary input; `-` is standard input. A file without a known identifier is opened, too: it may be malformed.
///
/// # Errors
/// An input that cannot be read; text, unless the extension is that of a binary format.
pub fn open_binary(path: &Path) -> Result<Source<'static>, Error> {
    let source = match path.as_os_str() == STREAM {
        true => Source::binary(STDIN, &read_stdin()?),
        false => Source::of_origin(path.display().to_string(), Origin::File(path.into())),
    };
    let SourceContent::Binary(origin) = source.content() else { return Ok(source) };
    let head = origin.head(TEXT_PROBE).map_err(|error| Error::io(source.name(), "", &error))?;
    if !is_binary_name(path) && is_text(&head) {
        let found = if is_source_name(path) { "YAML" } else { "text" };
        let message = format!("expected a .pte, .ptd or .bpte file, found {found}");
        let help = "`dump`, `annotate` and `--strip-tests` read binary files; YAML is assembled by `pte-emit FILE.yaml -o FILE.pte`";
        return Err(Error::new(Report::new(source.name(), "", vec![Code::UnexpectedInput.whole(message).help(help)])));
    }
    Ok(source)
}

/// Returns the format of a file that is the payload of a delegate, by its first bytes; `None` of standard input.
pub fn payload_format(path: &Path) -> Option<&'static str> {
    if path.as_os_str() == STREAM {
        return None;
    }
    let head = Origin::File(path.into()).head(delegate::HEAD as u64).ok()?;
    // Without the name of a backend, only the bytes count.
    delegate::recognise("", &head).map(|format| format.name())
}

/// Opens a `.ptd` of `--with`.
///
/// # Errors
/// A file that cannot be read.
pub fn data_file(path: &Path) -> Result<DataFile, Error> {
    let name = path.display().to_string();
    DataFile::open(&name, &Origin::File(path.into())).map_err(|error| Error::io(&name, "", &error))
}

/// Reads the files of `--ops`: lists of custom operators.
///
/// # Errors
/// A file that cannot be read; all malformed lines of the first file that has some.
pub fn operators(files: &[PathBuf]) -> Result<OperatorSet, Error> {
    let mut operators = OperatorSet::new();
    for path in files {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| Error::io(&name, "", &error))?;
        operators.add(&text).map_err(|errors| {
            let diagnostics = errors.iter().map(|error| Code::OperatorList.whole(error.to_string())).collect();
            Error::new(Report::new(&name, "", diagnostics))
        })?;
    }
    Ok(operators)
}

/// Number of bytes by which text is recognized.
const TEXT_PROBE: u64 = 4096;

/// Returns true for the first bytes of a text: UTF-8 without null bytes, possibly cut inside a character.
fn is_text(head: &[u8]) -> bool {
    let utf8 = match str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && head.len() as u64 == TEXT_PROBE,
    };
    utf8 && !head.is_empty() && !head.contains(&0)
}

/// Returns true for an existing file of a binary format.
pub fn is_binary_file(path: &Path) -> bool {
    path.is_file() && Origin::File(path.into()).format().is_ok_and(|format| format.is_some())
}

/// Returns true for an existing file with text.
pub fn is_text_file(path: &Path) -> bool {
    path.is_file() && Origin::File(path.into()).head(TEXT_PROBE).is_ok_and(|head| is_text(&head))
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

/// Definitions of `-D`, and the names that the inputs use.
#[derive(Debug, Default)]
pub struct Definitions {
    values: BTreeMap<String, String>,
    used: Mutex<BTreeSet<String>>,
}

impl Definitions {
    /// Collects `NAME=VALUE` pairs; the last one of a name wins.
    pub fn new(pairs: &[(String, String)]) -> Definitions {
        Definitions { values: pairs.iter().cloned().collect(), used: Mutex::default() }
    }

    /// Returns the documents of a YAML source, with definitions substituted.
    ///
    /// # Errors
    /// Undefined names.
    pub fn documents(&self, source: Source<'static>) -> Result<Vec<Source<'static>>, Error> {
        let documents = crate::documents(source, &self.values)?;
        workers::lock(&self.used).extend(documents.used);
        Ok(documents.sources)
    }

    /// Returns the names of definitions that no input uses, of those read so far.
    pub fn unused(&self) -> Vec<&str> {
        let used = workers::lock(&self.used);
        self.values.keys().filter(|name| !used.contains(*name)).map(String::as_str).collect()
    }

    /// Warns of definitions that no input uses.
    pub fn warn_unused(&self, messages: &Messages) {
        for name in self.unused() {
            messages.print(&format!("warning: unused definition `-D {name}`: no input contains ${{{name}}}\n"));
        }
    }
}

/// Parses `NAME=VALUE`.
///
/// # Errors
/// A message with the expected form.
pub fn definition(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if template::is_name(name) => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE, with a name of letters, digits and _".into()),
    }
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
fn read_stdin() -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes).map_err(|error| Error::io(STDIN, "", &error))?;
    Ok(bytes)
}

/// Messages on standard error, written at once or buffered.
pub struct Messages {
    colours: bool,
    /// Buffer; `None` writes at once.
    buffer: Option<RefCell<String>>,
}

impl Messages {
    /// Messages written at once; for colours see [`colours`].
    pub fn new(color: ColorChoice) -> Messages {
        Messages { colours: colours(color, &io::stderr()), buffer: None }
    }

    /// Messages kept in memory until [`Messages::append`].
    pub fn buffered(colours: bool) -> Messages {
        Messages { colours, buffer: Some(RefCell::default()) }
    }

    /// Prints buffered messages.
    pub fn append(&self, other: Messages) {
        self.print(&other.buffer.map(RefCell::into_inner).unwrap_or_default());
    }

    /// Returns true if messages have colours.
    pub fn colours(&self) -> bool {
        self.colours
    }

    /// Prints a string unchanged. A closed standard error is ignored.
    pub fn print(&self, text: &str) {
        if let Some(buffer) = &self.buffer {
            return buffer.borrow_mut().push_str(text);
        }
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// Progress bar for writing `bytes` bytes; hidden for small outputs, buffered messages and standard error that is no terminal.
    pub fn progress(&self, bytes: u64) -> ProgressBar {
        if bytes < PROGRESS_MIN_SIZE || self.buffer.is_some() || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let line = "{wide_bar} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
        let style = ProgressStyle::with_template(line).unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(bytes).with_style(style)
    }

    /// Progress of a search whose length is not known; hidden if standard error is no terminal.
    pub fn spinner(&self) -> ProgressBar {
        if !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}: {prefix}");
        let bar = ProgressBar::new_spinner().with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.enable_steady_tick(std::time::Duration::from_millis(100));
        bar
    }

    /// Prints messages about a source.
    pub fn report(&self, report: &Report) {
        self.print(&render::report(report, self.colours));
    }

    /// Prints an error without a position in a source.
    pub fn error(&self, message: &str) {
        self.print(&format!("error: {}\n", escaped(message)));
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

/// Returns the canonical form of a path, of its folder if the file does not exist yet.
pub fn canonical(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    path.canonicalize().unwrap_or_else(|_| folder.join(path.file_name().unwrap_or_default()))
}
