//! What all commands share about files and terminals: `-` for the standard streams, no binary to a terminal, messages on
//! standard error.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::ColorChoice;
use indicatif::{ProgressBar, ProgressStyle};

use crate::diagnostics::Report;
use crate::ir::template;
use crate::reader::{self, Origin};

/// The name that stands for standard input or output.
pub const STREAM: &str = "-";

/// An input that was read, or will be.
pub enum Document {
    /// A text.
    Text(Text),
    /// A `.pte`, `.ptd`, `.bpte` or `.safetensors`, with what to call it in messages.
    Binary(String, Origin),
}

/// Opens an input: what begins like one of the binary formats is one, the rest is text.
pub fn open(path: &Path) -> Result<Document, ReadError> {
    if path.as_os_str() == STREAM {
        let read = read_stdin();
        let bytes = read.map_err(|error| ReadError::Unreadable(format!("cannot read <stdin>: {error}")))?;
        return match reader::format(&bytes, bytes.len() as u64).is_some() {
            true => Ok(Document::Binary("<stdin>".into(), Origin::Bytes(bytes.into()))),
            false => text("<stdin>".into(), bytes, PathBuf::new()).map(Document::Text),
        };
    }
    let name = path.display().to_string();
    let origin = Origin::File(path.into());
    let head = origin.head(reader::TELLING).and_then(|head| Ok((head, origin.len()?)));
    let (head, len) = head.map_err(|error| ReadError::Unreadable(format!("cannot read {name}: {error}")))?;
    if reader::format(&head, len).is_some() {
        return Ok(Document::Binary(name, origin));
    }
    let bytes = fs::read(path).map_err(|error| ReadError::Unreadable(format!("cannot read {name}: {error}")))?;
    text(name, bytes, path.parent().unwrap_or(Path::new("")).to_owned()).map(Document::Text)
}

/// A text that was read.
pub struct Text {
    /// What to call it in messages.
    pub name: String,
    /// The text.
    pub text: String,
    /// Where the files are that it names.
    pub folder: PathBuf,
}

/// What `-D` defines, and what of it was asked for.
#[derive(Debug, Default)]
pub struct Definitions {
    values: BTreeMap<String, String>,
    used: Mutex<BTreeSet<String>>,
}

impl Definitions {
    /// Of `NAME=VALUE` pairs; the last of a name wins.
    pub fn new(pairs: &[(String, String)]) -> Definitions {
        Definitions { values: pairs.iter().cloned().collect(), used: Mutex::default() }
    }

    /// The documents of a text, with what is defined put in.
    ///
    /// # Errors
    /// Names that are not defined.
    pub fn documents(&self, text: Text) -> Result<Vec<Text>, Report> {
        let filled = template::fill(&text.text, &self.values);
        let (filled, used) = filled.map_err(|errors| Report::syntax(&text.name, &text.text, errors))?;
        self.used.lock().unwrap_or_else(PoisonError::into_inner).extend(used.into_iter().map(str::to_owned));
        let documents = template::documents(&filled);
        if let [Cow::Borrowed(whole)] = &*documents
            && whole.len() == text.text.len()
        {
            return Ok(vec![text]);
        }
        let document = |document: Cow<'_, str>| Text {
            name: text.name.clone(),
            text: document.into_owned(),
            folder: text.folder.clone(),
        };
        Ok(documents.into_iter().map(document).collect())
    }

    /// Warns of definitions that no text asked for.
    pub fn warn_unused(&self, messages: &Messages) {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        for name in self.values.keys().filter(|name| !used.contains(*name)) {
            messages.print(&format!("warning: no text has ${{{name}}}, which -D defines\n"));
        }
    }
}

/// Parses `NAME=VALUE`.
///
/// # Errors
/// What was expected.
pub fn definition(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if template::is_name(name) => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE, with a name of letters, digits and _".into()),
    }
}

/// Why there is no text.
pub enum ReadError {
    /// The file cannot be read.
    Unreadable(String),
    /// What it holds is no text.
    NoText(String),
}

fn text(name: String, bytes: Vec<u8>, folder: PathBuf) -> Result<Text, ReadError> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        ReadError::NoText(format!("{name} is no text: line {line}, byte {at}, is not UTF-8. Expected YAML or JSON"))
    })?;
    Ok(Text { name, text, folder })
}

/// So many bytes take longer to write than a person likes to wait without a sign.
const LONG: u64 = 256 << 20;

/// Whether what goes there has colours: if wanted, or if it is a terminal.
pub fn colours(color: ColorChoice, to: &impl IsTerminal) -> bool {
    match color {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => to.is_terminal() && std::env::var_os("NO_COLOR").is_none(),
    }
}

/// All of standard input.
pub fn read_stdin() -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin().lock().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Messages for the person at the terminal.
pub struct Messages {
    colours: bool,
    /// What is to be said later, if it is not to be said at once.
    kept: Option<RefCell<String>>,
}

impl Messages {
    /// Colours if wanted, or if standard error is a terminal.
    pub fn new(color: ColorChoice) -> Messages {
        Messages { colours: colours(color, &io::stderr()), kept: None }
    }

    /// Messages that wait until [`Messages::say`].
    pub fn kept(colours: bool) -> Messages {
        Messages { colours, kept: Some(RefCell::default()) }
    }

    /// Prints what others have kept.
    pub fn say(&self, kept: Messages) {
        self.print(&kept.kept.map(RefCell::into_inner).unwrap_or_default());
    }

    /// Whether messages have colours.
    pub fn colours(&self) -> bool {
        self.colours
    }

    /// Prints a text as it is. A closed standard error is no reason to fail.
    pub fn print(&self, text: &str) {
        if let Some(kept) = &self.kept {
            return kept.borrow_mut().push_str(text);
        }
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    /// A bar for writing so many bytes: on a terminal only, and only for what takes long enough to look at it.
    pub fn progress(&self, bytes: u64) -> ProgressBar {
        if bytes < LONG || self.kept.is_some() || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let line = "{wide_bar} {binary_bytes} of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left";
        let style = ProgressStyle::with_template(line).unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(bytes).with_style(style)
    }

    /// Prints an error that concerns no place in a text.
    pub fn error(&self, message: &str) {
        self.print(&format!("error: {message}\n"));
    }
}

/// Writes to standard output. Whether that may be a terminal is asked elsewhere.
pub fn write_to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let stdout = io::stdout();
    let mut out = io::BufWriter::with_capacity(1 << 18, stdout.lock());
    write(&mut out).and_then(|()| out.flush()).or_else(|error| match error.kind() {
        // Whoever reads has enough.
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
}

/// One name for all spellings of a path.
pub fn place(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    path.canonicalize().unwrap_or_else(|_| folder.join(path.file_name().unwrap_or_default()))
}
