//! Messages about a source: severity, byte span, value found, value expected, help.
//!
//! [`std::fmt::Display`] formats one line per message; `Report::render` draws them with the source line.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::Range;
use std::sync::OnceLock;

use serde::Serialize;

mod code;
pub mod file_error;
#[cfg(feature = "render")]
mod render;
pub mod text;

pub use code::{Code, UnknownCode};
pub use file_error::is_io;
pub use text::{Counted, json_escape};
pub use text::{clipped, counted, escaped, first_names, is_unsafe, label, nearest};

/// Severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The stage has failed; there is no output.
    Error,
    /// There is output, but probably not the intended one.
    Warning,
}

/// Byte range of the source.
pub type Span = Range<usize>;

/// Message of a [`Report`].
///
/// ```
/// use pte_model::diagnostics::{Code, Diagnostic, Report, Severity};
///
/// let unused: Diagnostic = Code::Unused.warning(0..1, "`x` is unused").label("declared here").help("remove it");
/// assert!(!unused.is_error());
/// assert_eq!((unused.severity, unused.help.as_deref()), (Severity::Warning, Some("remove it")));
/// let empty: Diagnostic = Code::EmptyDocument.whole("no methods");
/// let report = Report::new("m.yaml", "x", vec![unused, empty]);
/// assert!(report.to_string().ends_with("m.yaml: error: no methods"));
/// ```
///
/// `P` is the type of positions: byte spans, or node ids of a stage that are mapped to spans later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic<P = Span> {
    /// Severity.
    pub severity: Severity,
    /// Kind of the problem.
    pub code: Code,
    /// Position in the source; `None` for a message about the source as a whole.
    pub at: Option<P>,
    /// Problem, with the value found.
    pub message: String,
    /// Expectation at the position; may be empty.
    pub label: String,
    /// Related positions with labels.
    pub related: Vec<(P, String)>,
    /// Suggested fix.
    pub help: Option<String>,
    /// Range of [`Diagnostic::replacement`] in the help.
    #[doc(hidden)]
    pub replaced_by: Option<(u32, u32)>,
    /// Kind of the I/O error that is the cause; `None` if the source is invalid.
    pub io: Option<io::ErrorKind>,
}

impl<P> Diagnostic<P> {
    /// Returns `true` for an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Creates an error of reading data. Its `io` is set if the data cannot be read, not if they are invalid.
    #[doc(hidden)]
    pub fn of_io(message: impl Into<String>, error: &io::Error) -> Diagnostic<P> {
        Diagnostic { io: is_io(error).then_some(error.kind()), ..Code::of_io(error).whole(message) }
    }

    /// Adds the expectation.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic<P> {
        self.label = label.into();
        self
    }

    /// Adds a suggested fix.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic<P> {
        (self.help, self.replaced_by) = (Some(help.into()), None);
        self
    }

    /// Suggests the nearest of the known names, if the edit distance is small.
    pub fn suggest<'n>(self, unknown: &str, known: impl IntoIterator<Item = &'n str>) -> Diagnostic<P> {
        match nearest(unknown, known) {
            Some(name) => self.did_you_mean(name),
            None => self,
        }
    }

    /// Suggests a name in place of the one at the position.
    #[doc(hidden)]
    pub fn did_you_mean(mut self, name: &str) -> Diagnostic<P> {
        self.set_replacement("did you mean `", name, "`?");
        self
    }

    /// Sets a help that consists of a text in place of that at the position, and what is before and after it.
    #[doc(hidden)]
    pub fn set_replacement(&mut self, before: &str, text: &str, after: &str) {
        let range = u32::try_from(before.len()).ok().zip(u32::try_from(before.len() + text.len()).ok());
        (self.help, self.replaced_by) = (Some(format!("{before}{text}{after}")), range);
    }

    /// Returns the text that the help suggests in place of that at the position; `None` if it suggests none.
    ///
    /// ```
    /// use pte_model::diagnostics::{Code, Diagnostic};
    ///
    /// let unknown: Diagnostic = Code::UnknownKey.error(0..5, "unknown key `input`").suggest("input", ["inputs"]);
    /// assert_eq!(unknown.replacement(), Some("inputs"));
    /// assert_eq!(unknown.help("see the documentation").replacement(), None);
    /// ```
    pub fn replacement(&self) -> Option<&str> {
        let (start, end) = self.replaced_by?;
        self.help.as_deref()?.get(start as usize..end as usize)
    }

    /// Applies [`Diagnostic::suggest`] to the first `2 * SHOWN` of `messages` only, because the search is slow for long
    /// lists of names.
    #[doc(hidden)]
    pub fn suggest_among<'n>(
        self,
        messages: usize,
        unknown: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Diagnostic<P> {
        if messages < 2 * SHOWN { self.suggest(unknown, known) } else { self }
    }

    /// Adds a related position.
    pub fn related(mut self, at: P, label: impl Into<String>) -> Diagnostic<P> {
        self.related.push((at, label.into()));
        self
    }

    /// Maps the positions of a message. Drops positions without a counterpart.
    #[doc(hidden)]
    pub fn map<Q>(self, position: impl Fn(P) -> Option<Q>) -> Diagnostic<Q> {
        let Diagnostic { severity, code, at, message, label, related, help, replaced_by, io } = self;
        let related = related.into_iter().filter_map(|(at, label)| Some((position(at)?, label))).collect();
        Diagnostic { severity, code, at: at.and_then(position), message, label, related, help, replaced_by, io }
    }
}

impl Code {
    /// Creates an error about the source as a whole.
    pub fn whole<P>(self, message: impl Into<String>) -> Diagnostic<P> {
        Diagnostic {
            severity: Severity::Error,
            code: self,
            at: None,
            message: message.into(),
            label: String::new(),
            related: Vec::new(),
            help: None,
            replaced_by: None,
            io: None,
        }
    }

    /// Creates an error at a position.
    pub fn error<P>(self, at: P, message: impl Into<String>) -> Diagnostic<P> {
        Diagnostic { at: Some(at), ..self.whole(message) }
    }

    /// Creates a warning at a position.
    pub fn warning<P>(self, at: P, message: impl Into<String>) -> Diagnostic<P> {
        Diagnostic { severity: Severity::Warning, ..self.error(at, message) }
    }

    /// Returns the code of an error of reading or writing.
    #[doc(hidden)]
    pub fn of_io(error: &io::Error) -> Code {
        match error.kind() {
            _ if is_io(error) => Code::Io,
            io::ErrorKind::FileTooLarge => Code::LimitExceeded,
            _ => Code::InvalidFile,
        }
    }
}

/// Maximum number of messages that are shown for a source.
pub const SHOWN: usize = 20;

/// Messages about one source.
///
/// ```
/// use pte_model::diagnostics::{Code, Report, Severity};
///
/// let yaml = "methods:\n  forward: {input: [x]}\n";
/// let unknown = Code::UnknownKey.error(21..26, "unknown key `input`").related(11..18, "in this method");
/// let unknown = unknown.suggest("input", ["inputs", "outputs", "values"]);
/// let report = Report::new("model.yaml", yaml, vec![unknown]);
/// assert!(report.has_errors());
/// assert_eq!(report.document(), None);
/// assert!(report.to_string().starts_with("model.yaml:2:13: error: unknown key `input`"));
///
/// let diagnostic = &report.diagnostics[0];
/// assert_eq!((diagnostic.severity, diagnostic.code), (Severity::Error, Code::UnknownKey));
/// assert_eq!(report.line_column(diagnostic.at.as_ref().unwrap().start), (2, 13));
/// assert_eq!(diagnostic.help.as_deref(), Some("did you mean `inputs`?"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Name of the source.
    pub name: String,
    /// Messages.
    pub diagnostics: Vec<Diagnostic>,
    /// Content of the source; empty if no message has a position in it.
    pub text: String,
    /// Number of lines of the file before `text`.
    lines_before: usize,
    /// Number of the document in its file, counted from 1; `None` if the file has only one.
    document: Option<usize>,
    /// Line and column of the first byte of each block of [`Report::text`], on first use.
    positions: OnceLock<Vec<(usize, usize)>>,
}

/// Number of bytes in a block of [`Report::text`].
const BLOCK: usize = 1 << 12;

/// Returns the line and column after bytes. Columns count characters.
fn advance((mut line, mut column): (usize, usize), bytes: &[u8]) -> (usize, usize) {
    for byte in bytes {
        match byte {
            b'\n' => (line, column) = (line + 1, 1),
            // The bytes of a character after its first one.
            0x80..=0xbf => {}
            _ => column += 1,
        }
    }
    (line, column)
}

impl Report {
    /// Creates a report of messages about `text`.
    pub fn new(name: &str, text: &str, diagnostics: Vec<Diagnostic>) -> Report {
        let has_position = diagnostics.iter().any(|diagnostic| diagnostic.at.is_some());
        Report {
            name: escaped(name).into_owned(),
            diagnostics,
            text: if has_position { text.to_owned() } else { String::new() },
            lines_before: 0,
            document: None,
            positions: OnceLock::new(),
        }
    }

    /// Sets the number of lines of the file before the text, and the number of the document.
    #[doc(hidden)]
    pub fn after(self, lines: usize, document: Option<usize>) -> Report {
        Report { lines_before: lines, document, positions: OnceLock::new(), ..self }
    }

    /// Returns the number of the document in its file, counted from 1; `None` if the file has only one.
    pub fn document(&self) -> Option<usize> {
        self.document
    }

    /// Returns the name before messages about the source as a whole, with the number of the document if the file has
    /// several.
    pub fn label(&self) -> String {
        label(&self.name, self.document)
    }

    /// Returns a message, after the number of the document if the file has several.
    pub(crate) fn message<'d>(&self, diagnostic: &'d Diagnostic) -> Cow<'d, str> {
        match self.document {
            Some(number) => Cow::Owned(format!("document {number}: {}", diagnostic.message)),
            None => Cow::Borrowed(&diagnostic.message),
        }
    }

    /// Returns true if a message is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Returns line and column in the file of a byte offset of [`Report::text`]. Both are counted from 1; columns count
    /// characters.
    pub fn line_column(&self, at: usize) -> (usize, usize) {
        let bytes = self.text.as_bytes();
        let at = at.min(bytes.len());
        // A file of one line may have many messages.
        let positions = self.positions.get_or_init(|| {
            let starts = bytes.chunks(BLOCK).scan((1 + self.lines_before, 1), |next, block| {
                let start = *next;
                *next = advance(start, block);
                Some(start)
            });
            starts.collect()
        });
        let block = (at / BLOCK).min(positions.len().saturating_sub(1));
        let start = positions.get(block).copied().unwrap_or((1 + self.lines_before, 1));
        advance(start, &bytes[block * BLOCK..at])
    }
}

impl fmt::Display for Report {
    /// Formats one line per message: `model.yaml:9:48: error: unknown value`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, diagnostic) in self.diagnostics.iter().take(SHOWN).enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            if !self.name.is_empty() {
                write!(f, "{}:", self.name)?;
            }
            if let Some(at) = &diagnostic.at {
                let (line, column) = self.line_column(at.start);
                write!(f, "{line}:{column}:")?;
            }
            if !self.name.is_empty() {
                f.write_str(" ")?;
            }
            let severity = match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            };
            write!(f, "{severity}: {}", escaped(&self.message(diagnostic)))?;
            if !diagnostic.label.is_empty() {
                write!(f, ": {}", escaped(&diagnostic.label))?;
            }
            if let Some(help) = &diagnostic.help {
                write!(f, " (help: {})", escaped(help))?;
            }
        }
        match self.diagnostics.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n... and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_in_long_lines_count_characters() {
        let text = format!("{}\n{}\u{e4}{}", "a".repeat(BLOCK - 1), "\u{20ac}".repeat(BLOCK), "b".repeat(10));
        let report = Report::new("m.yaml", &text, vec![Code::UnknownKey.error(0..1, "unknown")]);
        let slow = |at: usize| {
            let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
            (1 + text[..start].matches('\n').count(), 1 + text[start..at].chars().count())
        };
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            assert_eq!(report.line_column(at), slow(at), "{at}");
        }
        assert_eq!(Report::default().line_column(5), (1, 1));
    }

    #[test]
    fn a_message_is_one_line_with_line_and_column() {
        let text = "a: 1\nbé: x\n";
        let diagnostics = vec![
            Code::UnknownWord.error(10..11, "unknown `x`").label("expected a number").help("did you mean `1`?"),
            Code::EmptyDocument.whole("nothing fits"),
        ];
        let report = Report::new("m.yaml", text, diagnostics);
        let expected =
            "m.yaml:2:5: error: unknown `x`: expected a number (help: did you mean `1`?)\nm.yaml: error: nothing fits";
        assert_eq!(report.to_string(), expected);
    }
}
