//! What all commands share about files and terminals: `-` for the standard streams, no binary to a terminal, messages on
//! standard error.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use clap::ColorChoice;

use indicatif::{ProgressBar, ProgressStyle};

use super::render;
use crate::diagnostics::Report;
use crate::error::Error;
use crate::ir::template;
use crate::source::Source;

/// The name that stands for standard input or output.
pub const STREAM: &str = "-";

/// Opens an input; `-` is standard input.
///
/// # Errors
/// An input that cannot be read, or that is neither of a binary format nor UTF-8.
pub fn open(path: &Path) -> Result<Source<'static>, Error> {
    if path.as_os_str() != STREAM {
        return Source::open(path);
    }
    let bytes = read_stdin().map_err(|error| Error::io("<stdin>", "cannot read standard input", &error))?;
    Source::from_bytes("<stdin>".into(), bytes, PathBuf::new())
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

    /// The documents of a YAML source, with definitions substituted.
    ///
    /// # Errors
    /// Undefined names.
    pub fn documents(&self, source: Source<'static>) -> Result<Vec<Source<'static>>, Error> {
        let documents = crate::documents(source, &self.values)?;
        self.used.lock().unwrap_or_else(PoisonError::into_inner).extend(documents.used);
        Ok(documents.sources)
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

    /// Prints messages about a source.
    pub fn report(&self, report: &Report) {
        self.print(&render::report(report, self.colours));
    }

    /// Prints an error that concerns no position in a source.
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
