//! Messages about a source: severity, byte span, value found, value expected, help.
//!
//! [`std::fmt::Display`] formats one line per message; src/cli/render.rs draws them with the source line.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::ops::Range;

use serde::Serialize;

mod code;

pub use code::{Code, UnknownCode};

/// Severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Severity {
    /// The stage has failed; there is no output.
    Error,
    /// There is output, but probably not the intended one.
    Warning,
}

/// Byte range of the source.
pub type Span = Range<usize>;

/// Message of a [`Report`]. `P` is the type of positions: byte spans, or node ids of a stage that are mapped to spans later.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
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
    /// Kind of the I/O error that is the cause; `None` if the source is invalid.
    pub io: Option<io::ErrorKind>,
}

impl<P> Diagnostic<P> {
    /// Returns `true` for an error.
    pub(crate) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Creates an error of reading data. Its `io` is set if the data cannot be read, not if they are invalid.
    pub(crate) fn of_io(message: impl Into<String>, error: &io::Error) -> Diagnostic<P> {
        Diagnostic { io: is_io(error).then_some(error.kind()), ..Code::of_io(error).whole(message) }
    }

    /// Adds the expectation.
    pub(crate) fn label(mut self, label: impl Into<String>) -> Diagnostic<P> {
        self.label = label.into();
        self
    }

    /// Adds a suggested fix.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Diagnostic<P> {
        self.help = Some(help.into());
        self
    }

    /// Suggests the nearest of the known names, if the edit distance is small.
    pub(crate) fn suggest<'n>(self, unknown: &str, known: impl IntoIterator<Item = &'n str>) -> Diagnostic<P> {
        match nearest(unknown, known) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Applies [`Diagnostic::suggest`] to the first `2 * SHOWN` of `messages` only, because the search is slow for long
    /// lists of names.
    pub(crate) fn suggest_among<'n>(
        self,
        messages: usize,
        unknown: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Diagnostic<P> {
        if messages < 2 * SHOWN { self.suggest(unknown, known) } else { self }
    }

    /// Adds a related position.
    pub(crate) fn related(mut self, at: P, label: impl Into<String>) -> Diagnostic<P> {
        self.related.push((at, label.into()));
        self
    }

    /// Maps the positions of a message. Drops positions without a counterpart.
    pub(crate) fn map<Q>(self, position: impl Fn(P) -> Option<Q>) -> Diagnostic<Q> {
        let Diagnostic { severity, code, at, message, label, related, help, io } = self;
        let related = related.into_iter().filter_map(|(at, label)| Some((position(at)?, label))).collect();
        Diagnostic { severity, code, at: at.and_then(position), message, label, related, help, io }
    }
}

impl Code {
    /// Creates an error about the source as a whole.
    pub(crate) fn whole<P>(self, message: impl Into<String>) -> Diagnostic<P> {
        Diagnostic {
            severity: Severity::Error,
            code: self,
            at: None,
            message: message.into(),
            label: String::new(),
            related: Vec::new(),
            help: None,
            io: None,
        }
    }

    /// Creates an error at a position.
    pub(crate) fn error<P>(self, at: P, message: impl Into<String>) -> Diagnostic<P> {
        Diagnostic { at: Some(at), ..self.whole(message) }
    }

    /// Creates a warning at a position.
    pub(crate) fn warning<P>(self, at: P, message: impl Into<String>) -> Diagnostic<P> {
        Diagnostic { severity: Severity::Warning, ..self.error(at, message) }
    }

    /// Returns the code of an error of reading or writing.
    pub(crate) fn of_io(error: &io::Error) -> Code {
        match error.kind() {
            _ if is_io(error) => Code::Io,
            io::ErrorKind::FileTooLarge => Code::LimitExceeded,
            _ => Code::InvalidFile,
        }
    }
}

/// Returns true for an error of the operating system, false for invalid data. Data that end too early are invalid.
pub fn is_io(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, InvalidData, InvalidInput, Other, UnexpectedEof};
    !matches!(error.kind(), Other | InvalidData | InvalidInput | FileTooLarge | UnexpectedEof)
}

/// A count with a noun, formatted when it is displayed: `3 arguments`, `1 argument`, `0 entries`.
#[derive(Debug, Clone, Copy)]
pub struct Counted<'n, N>(pub N, pub &'n str);

impl<N: fmt::Display + PartialEq + From<u8>> fmt::Display for Counted<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Counted(count, noun) = self;
        match noun.strip_suffix('y') {
            _ if *count == 1.into() => write!(f, "{count} {noun}"),
            Some(stem) => write!(f, "{count} {stem}ies"),
            None => write!(f, "{count} {noun}s"),
        }
    }
}

/// Formats a count with a noun like [`Counted`].
pub fn counted(count: impl fmt::Display + PartialEq + From<u8>, noun: &str) -> String {
    Counted(count, noun).to_string()
}

/// Returns the name of a file that precedes a message about it as a whole, with the number of the document, counted
/// from 1, if the file has several.
pub(crate) fn label(name: &str, document: Option<usize>) -> String {
    let name = escaped(name);
    document.map_or_else(|| name.to_string(), |number| format!("{name}: document {number}"))
}

/// Returns true for a character that could forge or hide text of a terminal or a log: control characters, line breaks, and those of the
/// general category Cf (format), which have no width or change the direction of text.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0001}' | '\u{e0020}'..='\u{e007f}')
}

/// Formats the JSON escape sequence of a character, which has its UTF-16 code units.
pub fn json_escape(c: char) -> String {
    c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// Escapes [unsafe](is_unsafe) characters, as in a Rust string. Everything from an input that is printed as text passes through this.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_unsafe(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Escapes [unsafe](is_unsafe) characters except line feeds in a JSON text, in which they only occur inside of strings.
#[cfg(feature = "cli")]
pub fn escaped_json(json: &str) -> Cow<'_, str> {
    let replaced = |c: char| c != '\n' && is_unsafe(c);
    if !json.contains(replaced) {
        return Cow::Borrowed(json);
    }
    let escape = |c: char| if replaced(c) { json_escape(c) } else { c.to_string() };
    Cow::Owned(json.chars().map(escape).collect())
}

/// Truncates a string of the source to 60 characters and escapes it, for a message.
pub fn clipped(text: &str) -> String {
    clipped_to(text, 60)
}

/// Maximum number of characters of a row of text that a command prints. Names in it can have any length.
#[cfg(feature = "cli")]
pub const ROW: usize = 1000;

/// Truncates a string to this number of characters and escapes it.
pub fn clipped_to(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((at, _)) => format!("{}...", escaped(&text[..at])),
        None => escaped(text).into_owned(),
    }
}

/// Maximum number of names in a list of [`first_names`].
const MAX_NAMES: usize = 5;

/// Returns the first few names for a message, and the number of the others: `` `a`, `b`, ... and 2 more``.
pub fn first_names<'n>(mut names: impl Iterator<Item = &'n str>) -> String {
    let shown: Vec<String> = names.by_ref().take(MAX_NAMES).map(|name| format!("`{}`", clipped(name))).collect();
    match names.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Returns the known name nearest to `unknown`, if it is likely a typo: an edit distance of up to a third of the length.
pub fn nearest<'n>(unknown: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let length = unknown.chars().count();
    let allowed = (length / 3).max(1).min(length.saturating_sub(1));
    known
        .into_iter()
        // Names of very different length are not near. Skipping them keeps long lists of names cheap.
        .filter(|name| name.len().abs_diff(unknown.len()) <= allowed)
        .map(|name| (strsim::damerau_levenshtein(unknown, name), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// Maximum number of messages that are shown for a source.
pub const SHOWN: usize = 20;

/// Messages about one source.
///
/// ```
/// use pte_emit::{Code, Model, Severity};
///
/// let source = Model::from_yaml("model.yaml", "methods:\n  forward: {input: [x]}\n", ".");
/// let error = source.parse().unwrap_err();
/// let report = error.report();
/// assert!(report.has_errors());
/// assert_eq!(report.document(), None);
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
}

impl Report {
    /// Creates a report of messages about `text`.
    pub(crate) fn new(name: &str, text: &str, diagnostics: Vec<Diagnostic>) -> Report {
        let has_position = diagnostics.iter().any(|diagnostic| diagnostic.at.is_some());
        Report {
            name: escaped(name).into_owned(),
            diagnostics,
            text: if has_position { text.to_owned() } else { String::new() },
            lines_before: 0,
            document: None,
        }
    }

    /// Sets the number of lines of the file before the text, and the number of the document.
    pub(crate) fn after(self, lines: usize, document: Option<usize>) -> Report {
        Report { lines_before: lines, document, ..self }
    }

    /// Returns the number of the document in its file, counted from 1; `None` if the file has only one.
    pub fn document(&self) -> Option<usize> {
        self.document
    }

    /// Returns the name that precedes messages about the source as a whole.
    pub(crate) fn label(&self) -> String {
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
        let at = at.min(self.text.len());
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = 1 + self.lines_before + self.text[..start].bytes().filter(|byte| *byte == b'\n').count();
        (line, 1 + self.text[start..at].chars().count())
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
    fn the_nearest_name_is_found() {
        assert_eq!(nearest("sizs", ["sizes", "data", "size_of_it"]), Some("sizes"));
        assert_eq!(nearest("bais", ["bias", "gain"]), Some("bias"));
        assert_eq!(nearest("weight", ["x", "y"]), None);
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

    #[test]
    fn one_is_singular() {
        let all = [(0u64, "byte"), (1, "byte"), (2, "entry"), (1, "entry")].map(|(count, noun)| counted(count, noun));
        assert_eq!(all, ["0 bytes", "1 byte", "2 entries", "1 entry"]);
    }

    #[test]
    fn only_errors_of_the_system_are_io() {
        assert!(is_io(&io::Error::from(io::ErrorKind::NotFound)));
        assert!(!is_io(&io::Error::other("a key is missing")));
    }
}
