//! Messages about a source: severity, byte span, what was found, what was expected, what to do.
//!
//! How they look on a terminal is the command line's business; [`std::fmt::Display`] gives one line a message.

use std::fmt;
use std::io;
use std::ops::Range;

/// How severe a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Severity {
    /// There is no output.
    Error,
    /// There is output, but it may not be what was intended.
    Warning,
}

/// Bytes of the source.
pub type Span = Range<usize>;

/// A message about a source. `P` is a position in the source: a byte span, or what a stage can turn into one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic<P = Span> {
    /// How severe it is.
    pub severity: Severity,
    /// Position in the source; `None` if it concerns no single position.
    pub at: Option<P>,
    /// The problem, with the value found.
    pub message: String,
    /// The value expected at the position; may be empty.
    pub label: String,
    /// Other positions, and their roles.
    pub related: Vec<(P, String)>,
    /// What to do.
    pub help: Option<String>,
    /// The kind of the I/O error that is the cause; `None` if the source is wrong.
    pub io: Option<io::ErrorKind>,
}

impl<P> Diagnostic<P> {
    /// An error about the source as a whole.
    pub fn whole(message: impl Into<String>) -> Diagnostic<P> {
        Diagnostic {
            severity: Severity::Error,
            at: None,
            message: message.into(),
            label: String::new(),
            related: Vec::new(),
            help: None,
            io: None,
        }
    }

    /// An error at a position.
    pub fn error(at: P, message: impl Into<String>) -> Diagnostic<P> {
        Diagnostic { at: Some(at), ..Diagnostic::whole(message) }
    }

    /// A warning at a position.
    pub fn warning(at: P, message: impl Into<String>) -> Diagnostic<P> {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(at, message) }
    }

    /// An error of reading data; one whose kind says that the data are wrong, not that they cannot be read, is a plain error.
    pub fn of_io(message: impl Into<String>, error: &io::Error) -> Diagnostic<P> {
        Diagnostic { io: is_io(error).then_some(error.kind()), ..Diagnostic::whole(message) }
    }

    /// Adds what was expected.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic<P> {
        self.label = label.into();
        self
    }

    /// Adds what to do.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic<P> {
        self.help = Some(help.into());
        self
    }

    /// Suggests the nearest of the known names, if one is near.
    pub fn suggest<'n>(self, wrong: &str, known: impl IntoIterator<Item = &'n str>) -> Diagnostic<P> {
        match nearest(wrong, known) {
            Some(name) => self.help(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// As [`Diagnostic::suggest`], unless there are many messages already: looking through long lists of names for each
    /// of them would take for ever.
    pub fn suggest_among<'n>(
        self,
        messages: usize,
        wrong: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> Diagnostic<P> {
        if messages < 2 * SHOWN { self.suggest(wrong, known) } else { self }
    }

    /// Adds another position.
    pub fn related(mut self, at: P, role: impl Into<String>) -> Diagnostic<P> {
        self.related.push((at, role.into()));
        self
    }

    /// The same message with its positions mapped; positions without a counterpart are dropped.
    pub fn map<Q>(self, position: impl Fn(P) -> Option<Q>) -> Diagnostic<Q> {
        let Diagnostic { severity, at, message, label, related, help, io } = self;
        let related = related.into_iter().filter_map(|(at, role)| Some((position(at)?, role))).collect();
        Diagnostic { severity, at: at.and_then(position), message, label, related, help, io }
    }
}

/// Whether an error comes from the system, and not from what was read: a file that ends too early is wrong.
pub fn is_io(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, InvalidData, InvalidInput, Other, UnexpectedEof};
    !matches!(error.kind(), Other | InvalidData | InvalidInput | FileTooLarge | UnexpectedEof)
}

/// `3 arguments`, `1 argument`.
pub fn counted(count: impl Into<u64>, what: &str) -> String {
    let count = count.into();
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A text of the user's for a message: long ones are cut.
pub fn clipped(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// The name nearest to `wrong`, if it is near enough to be a slip.
pub fn nearest<'n>(wrong: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let length = wrong.chars().count();
    let allowed = (length / 3).max(1).min(length.saturating_sub(1));
    known
        .into_iter()
        // Only names of about the same length can be near: this keeps long lists of names cheap.
        .filter(|name| name.len().abs_diff(wrong.len()) <= allowed)
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, name)| name)
}

/// Number of messages about one source that are shown.
pub const SHOWN: usize = 20;

/// Messages about one source.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Name of the source.
    pub name: String,
    /// The messages.
    pub diagnostics: Vec<Diagnostic>,
    /// The source, if a message has a position in it.
    pub text: String,
}

impl Report {
    /// Messages about `text`.
    pub fn new(name: &str, text: &str, diagnostics: Vec<Diagnostic>) -> Report {
        let shown = diagnostics.iter().any(|diagnostic| diagnostic.at.is_some());
        Report { name: name.to_owned(), diagnostics, text: if shown { text.to_owned() } else { String::new() } }
    }

    /// Whether there is an error among the messages.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Line and column of a byte, both from 1; columns count characters.
    pub fn line_column(&self, at: usize) -> (usize, usize) {
        let at = at.min(self.text.len());
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = 1 + self.text[..start].bytes().filter(|byte| *byte == b'\n').count();
        (line, 1 + self.text[start..at].chars().count())
    }
}

impl fmt::Display for Report {
    /// One line a message: `model.yaml:9:48: error: unknown value`.
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
            write!(f, "{severity}: {}", diagnostic.message)?;
            if !diagnostic.label.is_empty() {
                write!(f, ": {}", diagnostic.label)?;
            }
            if let Some(help) = &diagnostic.help {
                write!(f, " (help: {help})")?;
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
            Diagnostic::error(10..11, "unknown `x`").label("expected a number").help("did you mean `1`?"),
            Diagnostic::whole("nothing fits"),
        ];
        let report = Report::new("m.yaml", text, diagnostics);
        let expected = "m.yaml:2:5: error: unknown `x`: expected a number (help: did you mean `1`?)\nm.yaml: error: nothing fits";
        assert_eq!(report.to_string(), expected);
    }

    #[test]
    fn only_errors_of_the_system_are_io() {
        assert!(is_io(&io::Error::from(io::ErrorKind::NotFound)));
        assert!(!is_io(&io::Error::other("a key is missing")));
    }
}
