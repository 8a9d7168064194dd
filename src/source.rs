//! Input of the library: YAML, JSON, or a binary file, with its name and the folder that its paths are relative to.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::data::{Blob, Origin};
use crate::diagnostics::{self, Code, Diagnostic, Report};
use crate::error::Error;
use crate::format::Format;
use crate::ir::files::FileAccess;
use crate::ir::tree::NodeId;
use crate::ir::{self, NodeDiagnostic};
use crate::program::positions::SourceRange;

/// Input of the library: YAML, JSON, or a binary file.
///
/// ```
/// use pte_emit::Source;
///
/// let source = Source::yaml("add.yaml", "methods: {}", "models");
/// assert!(source.is_text());
/// assert_eq!((source.name(), source.text()), ("add.yaml", Some("methods: {}")));
///
/// let opened = Source::open("examples/add.yaml".as_ref())?;
/// assert_eq!(opened.folder().to_str(), Some("examples"));
///
/// let program = Source::binary("add.pte", b"\x30\0\0\0ET12");
/// assert_eq!(program.text(), None);
///
/// let unknown = Source::from_bytes("-".to_owned(), b"methods: {}".to_vec(), ".".into())?;
/// assert!(unknown.is_text());
/// # Ok::<(), pte_emit::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Source<'a> {
    name: Cow<'a, str>,
    files: FileAccess,
    content: SourceContent<'a>,
    /// Lines of the file before the text, which is a later document of the file.
    lines_before: usize,
    /// Number of the document in its file, from 1, if the file has several.
    document: Option<usize>,
    /// Byte ranges of numbers in quotes that were variables.
    quoted_numbers: Vec<Range<usize>>,
}

/// The text of a source, for messages about it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SourceText<'s> {
    pub(crate) name: &'s str,
    text: &'s str,
    lines_before: usize,
    document: Option<usize>,
}

impl SourceText<'_> {
    /// Name of the source in a message about it as a whole.
    pub(crate) fn label(self) -> String {
        diagnostics::label(self.name, self.document)
    }

    /// Creates an error of these messages.
    pub(crate) fn error(self, diagnostics: Vec<Diagnostic>) -> Error {
        Error::new(self.report(diagnostics))
    }

    /// Creates a report of these messages.
    pub(crate) fn report(self, diagnostics: Vec<Diagnostic>) -> Report {
        Report::new(self.name, self.text, diagnostics).after(self.lines_before, self.document)
    }

    /// Returns the positions of nodes, in the order of `nodes`.
    pub(crate) fn positions(self, nodes: &[NodeId]) -> Vec<SourceRange> {
        let spans = ir::tree::spans(self.text);
        let span = |node: &NodeId| spans.get(node.0 as usize).cloned().unwrap_or_default();
        let mut found: Vec<SourceRange> =
            nodes.iter().map(|node| SourceRange { span: span(node), ..SourceRange::default() }).collect();
        // In the order of the source, so that its lines are counted once.
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_unstable_by_key(|index| found[*index].span.start);
        let (mut at, mut line, mut column) = (0, 1 + self.lines_before, 1);
        for index in order {
            let start = found[index].span.start.min(self.text.len());
            let between = self.text.get(at..start).unwrap_or_default();
            match between.rfind('\n') {
                Some(newline) => {
                    line += between.bytes().filter(|byte| *byte == b'\n').count();
                    column = 1 + between[newline + 1..].chars().count();
                }
                None => column += between.chars().count(),
            }
            at = start;
            (found[index].line, found[index].column) = (line, column);
        }
        found
    }

    /// Creates a report of messages about nodes.
    pub(crate) fn report_nodes(self, diagnostics: Vec<NodeDiagnostic>) -> Report {
        self.report(ir::located(self.text, diagnostics))
    }
}

#[derive(Debug, Clone)]
pub(crate) enum SourceContent<'a> {
    Text(Cow<'a, str>),
    Binary(Origin),
}

/// Number of bytes that are searched for null bytes, which no text has.
const TEXT_PROBE: u64 = 4096;

/// Size in bytes from which that is done before a file is read.
const LARGE_TEXT: u64 = 1 << 20;

impl<'a> Source<'a> {
    /// Source of YAML or JSON. `name` is used in messages; paths in the YAML are relative to `folder`.
    pub fn yaml(
        name: impl Into<Cow<'a, str>>,
        text: impl Into<Cow<'a, str>>,
        folder: impl Into<PathBuf>,
    ) -> Source<'a> {
        let (name, files, content) = (name.into(), FileAccess::of_folder(folder), SourceContent::Text(text.into()));
        Source { name, files, content, lines_before: 0, document: None, quoted_numbers: Vec::new() }
    }

    /// Source of a `.pte`, `.ptd`, `.bpte` or `.safetensors` in memory. `name` is used in messages.
    pub fn binary(name: impl Into<Cow<'a, str>>, bytes: &[u8]) -> Source<'a> {
        Source::of_origin(name, Origin::Bytes(bytes.into()))
    }

    /// Source of a binary file, which is read lazily.
    #[cfg(feature = "internals")]
    #[doc(hidden)]
    pub fn from_origin(name: impl Into<Cow<'a, str>>, origin: Origin) -> Source<'a> {
        Source::of_origin(name, origin)
    }

    pub(crate) fn of_origin(name: impl Into<Cow<'a, str>>, origin: Origin) -> Source<'a> {
        let (name, files, content) = (name.into(), FileAccess::default(), SourceContent::Binary(origin));
        Source { name, files, content, lines_before: 0, document: None, quoted_numbers: Vec::new() }
    }

    /// Opens a file. Binary formats are recognized by their first bytes, and read lazily; all other files are read as YAML, with paths
    /// relative to the folder of the file.
    ///
    /// # Errors
    /// A file that cannot be read; one that is neither of a known format nor UTF-8.
    pub fn open(path: &Path) -> Result<Source<'static>, Error> {
        let name = path.display().to_string();
        let unreadable = |error: io::Error| Error::io(&name, "", &error);
        let origin = Origin::File(path.into());
        let is_binary = origin.format().map_err(unreadable)?.is_some();
        // A `.safetensors` with a broken header has an error about the header.
        if is_binary || origin.format_by_name() == Some(Format::Safetensors) {
            return Ok(Source::of_origin(name, origin));
        }
        // A text has no null bytes; the message about one in a small file has a position.
        if origin.len().map_err(unreadable)? > LARGE_TEXT {
            let head = origin.head(TEXT_PROBE).map_err(unreadable)?;
            if let Some(at) = head.iter().position(|byte| *byte == 0) {
                let message = format!("byte {at} is zero; expected YAML, JSON or a file of a known binary format");
                return Err(Error::input(Code::UnexpectedInput, &name, message));
            }
        }
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Source::from_bytes(name.clone(), fs::read(path).map_err(unreadable)?, folder)
    }

    /// Source of bytes of unknown format: a binary format is recognized by its first bytes, everything else is YAML.
    ///
    /// # Errors
    /// Bytes that are neither of a known format nor UTF-8.
    pub fn from_bytes(name: String, bytes: Vec<u8>, folder: PathBuf) -> Result<Source<'static>, Error> {
        if Format::identify(&bytes, bytes.len() as u64).is_some() {
            return Ok(Source::of_origin(name, Origin::Bytes(bytes.into())));
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
        Ok(Source::yaml(name, text, folder))
    }

    /// Returns the name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the folder that paths in the source are relative to.
    pub fn folder(&self) -> &Path {
        &self.files.folder
    }

    /// Confines the files that the YAML refers to: one that is not in `folder`, symbolic links resolved, is an error. For YAML from a
    /// stranger, whose `file: /etc/passwd` would otherwise embed that file. The folder must not be changed while its files are read.
    ///
    /// ```
    /// use pte_emit::{Options, Source, assemble};
    ///
    /// let yaml = "named_data: {x: {file: Cargo.toml}}";
    /// let source = Source::yaml("x.yaml", yaml, ".").confined_to("examples");
    /// let error = assemble(&source, &Options::default()).unwrap_err();
    /// assert!(error.to_string().contains("not in the folder examples"));
    /// ```
    #[must_use]
    pub fn confined_to(mut self, folder: impl Into<PathBuf>) -> Source<'a> {
        self.files.confined_to = Some(folder.into());
        self
    }

    /// Returns a source that may refer to files that do not exist yet.
    pub(crate) fn with_planned_files(mut self, planned: Arc<BTreeMap<PathBuf, Blob>>) -> Source<'a> {
        self.files.planned = planned;
        self
    }

    pub(crate) fn files(&self) -> &FileAccess {
        &self.files
    }

    /// Returns true for YAML or JSON, false for a binary file.
    pub fn is_text(&self) -> bool {
        matches!(self.content, SourceContent::Text(_))
    }

    /// Returns the YAML or JSON; `None` for a binary file.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            SourceContent::Text(text) => Some(text),
            SourceContent::Binary(_) => None,
        }
    }

    /// Returns a source with the same name and folder: a document behind `lines_before` lines of the file, with its number if the file
    /// has several, and the ranges of [`Source::quoted_numbers`].
    pub(crate) fn document(
        &self,
        text: String,
        lines_before: usize,
        document: Option<usize>,
        quoted_numbers: Vec<Range<usize>>,
    ) -> Source<'a> {
        let (name, files) = (self.name.clone(), self.files.clone());
        Source { name, files, content: SourceContent::Text(text.into()), lines_before, document, quoted_numbers }
    }

    /// Returns the byte ranges of numbers in quotes that were variables.
    pub(crate) fn quoted_numbers(&self) -> &[Range<usize>] {
        &self.quoted_numbers
    }

    /// Returns the number of the document in its file, from 1, if the file has several.
    pub(crate) fn document_number(&self) -> Option<usize> {
        self.document
    }

    /// Returns the name in a message about the source as a whole: with the number of the document, if the file has several.
    pub(crate) fn label(&self) -> String {
        self.about().label()
    }

    /// Returns the text for messages; it is empty for a binary file.
    pub(crate) fn about(&self) -> SourceText<'_> {
        let (text, lines_before) = (self.text().unwrap_or_default(), self.lines_before);
        SourceText { name: &self.name, text, lines_before, document: self.document }
    }

    pub(crate) fn content(&self) -> &SourceContent<'a> {
        &self.content
    }
}
