//! Input of the library: YAML, JSON or a binary file, its name, and the folder that its paths are relative to.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::ir::files::FileAccess;
use crate::ir::{self, NodeDiagnostic};
use pte_model::data::{Origin, files};
use pte_model::diagnostics::{self, Code, Diagnostic, Report};
use pte_model::error::Error;
use pte_model::format::Format;
use pte_model::format::foreign::{self, Diagnosis};
use pte_yaml::repeat::Spans;
use pte_yaml::source::SourceText;

/// Input of the library, opened or in memory. Clones of a [`crate::Model`] share it.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// Name in messages.
    pub name: String,
    /// Files that the YAML may refer to.
    pub files: FileAccess,
    /// `.ptd` files that the program is loaded with, beside those that YAML assembles to.
    pub data_files: Vec<PathBuf>,
    /// YAML, or a binary file.
    pub content: SourceContent,
    /// Number of lines of the file before this document.
    pub lines_before: usize,
    /// Number of the document in its file, counted from 1, if the file has several.
    pub document: Option<usize>,
    /// Byte ranges of quoted numbers that replaced variables.
    pub quoted_numbers: Vec<Range<usize>>,
    /// An editor has the text: each unused value has a message, and equal data are not searched for, which would read
    /// all of them.
    pub is_edited: bool,
}

/// Content of a source.
#[derive(Debug, Clone)]
pub enum SourceContent {
    /// YAML or JSON.
    Text(SourceText),
    /// A file of a binary format.
    Binary(Origin),
}

impl Default for SourceContent {
    fn default() -> SourceContent {
        SourceContent::Text("".into())
    }
}

/// Returns what a binary file is, as `recognise` does from its first bytes and its size.
pub(crate) fn diagnosis(origin: &Origin, recognise: fn(&[u8], u64) -> Option<Diagnosis>) -> Option<Diagnosis> {
    recognise(&origin.head(foreign::PROBE).ok()?, origin.len().ok()?)
}

/// What [`Source::open`] reads.
const READABLE: &str = "YAML, JSON or a file of ExecuTorch";

/// Creates the error of a file of another program.
pub(crate) fn is_other(name: &str, expected: &str, Diagnosis { found, help, .. }: Diagnosis) -> Error {
    let message = format!("expected {expected}, found {found}");
    Error::new(Report::new(name, "", vec![Code::UnexpectedInput.whole(message).help(help)]))
}

/// Number of bytes at the start of a file that are searched for null bytes, which YAML does not have.
const TEXT_PROBE: u64 = 4096;

/// Size in bytes above which a file is searched for null bytes before it is read.
const LARGE_TEXT: u64 = 1 << 20;

impl Source {
    /// Creates a source of YAML or JSON, with paths relative to `folder`.
    pub fn text_of(name: String, text: Arc<str>, folder: PathBuf) -> Source {
        let (files, content) = (FileAccess::of_folder(folder), SourceContent::Text(text.into()));
        Source { name, files, content, ..Source::default() }
    }

    /// Creates a source of a binary file, which is read lazily.
    pub fn binary(name: String, origin: Origin) -> Source {
        Source { name, content: SourceContent::Binary(origin), ..Source::default() }
    }

    /// Opens a file; see [`crate::Model::open`].
    ///
    /// # Errors
    /// The file cannot be read, or it is neither of a known format nor UTF-8.
    pub fn open(path: &Path) -> Result<Source, Error> {
        let name = path.display().to_string();
        let unreadable = |error: io::Error| Error::io(&name, "", &error);
        let origin = Origin::File(path.into());
        if origin.recognized_format().map_err(unreadable)?.is_some() {
            return Ok(Source::binary(name, origin));
        }
        // YAML has no null bytes. In a small file, the parser reports them with their position.
        if origin.len().map_err(unreadable)? > LARGE_TEXT {
            let head = origin.head(TEXT_PROBE).map_err(unreadable)?;
            if let Some(other) = foreign::other_format(&head) {
                return Err(is_other(&name, READABLE, other));
            }
            if let Some(at) = head.iter().position(|byte| *byte == 0) {
                let message = format!("byte {at} is zero; expected YAML, JSON or a file of a known binary format");
                return Err(Error::input(Code::UnexpectedInput, &name, message));
            }
        }
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Source::of_bytes(name.clone(), files::read(path).map_err(unreadable)?, folder)
    }

    /// Creates a source of bytes of unknown format. Binary formats are recognised by their first bytes; everything else
    /// is YAML.
    ///
    /// # Errors
    /// The bytes are neither of a known format nor UTF-8.
    pub fn of_bytes(name: String, bytes: Vec<u8>, folder: PathBuf) -> Result<Source, Error> {
        if Format::identify(&bytes, bytes.len() as u64).is_some() {
            return Ok(Source::binary(name, Origin::Bytes(bytes.into())));
        }
        if let Some(other) = foreign::other_format(&bytes) {
            return Err(is_other(&name, READABLE, other));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let line = 1 + error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
            Error::input(
                Code::UnexpectedInput,
                &name,
                format!("line {line}, byte {at}, is not UTF-8; expected YAML, JSON or a binary file"),
            )
        })?;
        Ok(Source::text_of(name, text.into(), folder))
    }

    /// Returns the YAML or JSON; it is empty for a binary file.
    pub fn text(&self) -> &str {
        match &self.content {
            SourceContent::Text(text) => text.text(),
            SourceContent::Binary(_) => "",
        }
    }

    /// Returns the positions of the nodes of the YAML or JSON; a binary file has none.
    pub fn spans(&self) -> Option<&Spans> {
        match &self.content {
            SourceContent::Text(text) => Some(text.spans()),
            SourceContent::Binary(_) => None,
        }
    }

    /// Returns the name for messages about the source as a whole. It includes the number of the document if the file
    /// has several.
    pub fn label(&self) -> String {
        diagnostics::label(&self.name, self.document)
    }

    /// Creates the error that the source cannot be read. If it is a file of something else, or a damaged one, the error
    /// says so.
    pub fn unreadable(&self, error: &io::Error) -> Error {
        let mut report = Error::io(&self.label(), "", error).report().clone();
        if let SourceContent::Binary(origin) = &self.content
            && let Some(diagnosis) = diagnosis(origin, Diagnosis::of)
        {
            report.diagnostics.iter_mut().for_each(|message| message.help = Some(diagnosis.to_string()));
        }
        Error::new(report)
    }

    /// Creates an error of these messages.
    pub fn error(&self, diagnostics: Vec<Diagnostic>) -> Error {
        Error::new(self.report(diagnostics))
    }

    /// Creates a report of these messages.
    fn report(&self, diagnostics: Vec<Diagnostic>) -> Report {
        Report::new(&self.name, self.text(), diagnostics).after(self.lines_before, self.document)
    }

    /// Creates a report of messages about nodes.
    pub fn report_nodes(&self, diagnostics: Vec<NodeDiagnostic>) -> Report {
        self.report(ir::located(|| self.spans(), diagnostics))
    }
}
