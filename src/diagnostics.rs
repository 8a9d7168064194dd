//! Messages about a text: what is wrong where, what was expected, what to do; and how they look on a terminal.
//!
//! Finding what is wrong is the stages' work.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::ir::tree::{self, NodeId};

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// There is no output.
    Error,
    /// There is output, but it may not be what was meant.
    Warning,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The place in the text; `None` if it concerns no place.
    pub at: Option<NodeId>,
    /// What is wrong.
    pub message: String,
    /// What was expected there, beside the caret; may be empty.
    pub label: String,
    /// Other places, and what they are.
    pub related: Vec<(NodeId, String)>,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place.
    pub fn error(at: NodeId, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            at: Some(at),
            message: message.into(),
            label: String::new(),
            related: Vec::new(),
            help: None,
        }
    }

    /// A warning at a place.
    pub fn warning(at: NodeId, message: impl Into<String>) -> Diagnostic {
        Diagnostic { severity: Severity::Warning, ..Diagnostic::error(at, message) }
    }

    /// Says what was expected.
    pub fn label(mut self, label: impl Into<String>) -> Diagnostic {
        self.label = label.into();
        self
    }

    /// Says what to do.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Suggests the nearest of the known names, if one is near.
    pub fn suggest<'n>(self, wrong: &str, known: impl IntoIterator<Item = &'n str>) -> Diagnostic {
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
    ) -> Diagnostic {
        if messages < 2 * SHOWN { self.suggest(wrong, known) } else { self }
    }

    /// Names another place.
    pub fn related(mut self, at: NodeId, what: impl Into<String>) -> Diagnostic {
        self.related.push((at, what.into()));
        self
    }
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

/// So many messages of a text are shown.
const SHOWN: usize = 20;

/// What went wrong with one input.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// Name of the input, for the reader.
    pub name: String,
    /// The messages, ready to be shown: each with its place resolved.
    pub entries: Vec<Entry>,
    /// The lines of the text that the entries show, with the number of the first of each group.
    text: String,
}

/// A message with its places in the text.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The message.
    pub diagnostic: Diagnostic,
    /// Bytes of the text.
    pub place: Option<Range<usize>>,
    /// Other places and what they are.
    related: Vec<(Range<usize>, String)>,
}

impl Report {
    /// Looks up the places of `diagnostics` in `text`.
    pub fn new(name: &str, text: &str, diagnostics: Vec<Diagnostic>) -> Report {
        if diagnostics.is_empty() {
            return Report { name: name.to_owned(), ..Report::default() };
        }
        let places = if diagnostics.iter().any(|d| d.at.is_some()) { tree::places(text) } else { Vec::new() };
        let place = |id: NodeId| places.get(id.0 as usize).cloned();
        let entries = diagnostics
            .into_iter()
            .map(|diagnostic| Entry {
                place: diagnostic.at.and_then(place),
                related: diagnostic.related.iter().filter_map(|(id, what)| Some((place(*id)?, what.clone()))).collect(),
                diagnostic,
            })
            .collect();
        Report { name: name.to_owned(), entries, text: text.to_owned() }
    }

    /// A report of a text that could not be read.
    pub fn syntax(name: &str, text: &str, errors: Vec<tree::SyntaxError>) -> Report {
        let entry = |error: tree::SyntaxError| {
            let diagnostic = Diagnostic { at: None, ..Diagnostic::error(NodeId(0), error.message) };
            Entry { diagnostic, place: Some(error.place), related: Vec::new() }
        };
        let entries = errors.into_iter().map(entry).collect();
        Report { name: name.to_owned(), entries, text: text.to_owned() }
    }

    /// Whether there is an error among the messages.
    pub fn has_errors(&self) -> bool {
        self.entries.iter().any(|entry| entry.diagnostic.severity == Severity::Error)
    }

    /// The messages as text, with colours if asked; the first of many.
    pub fn render(&self, colours: bool) -> String {
        let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
        let mut out = String::new();
        for entry in self.entries.iter().take(SHOWN) {
            out.push_str(&self.render_entry(entry, &renderer));
            out.push_str("\n\n");
        }
        if let Some(more) = self.entries.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            out.push_str(&format!("... and {more} more\n"));
        }
        out
    }

    fn render_entry(&self, entry: &Entry, renderer: &Renderer) -> String {
        let diagnostic = &entry.diagnostic;
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let window = entry.place.as_ref().map(|place| self.window(place));
        let mut group: Group<'_> =
            level.primary_title(&diagnostic.message).elements(None::<Snippet<'_, annotate_snippets::Annotation<'_>>>);
        // Of a line that is cut the drawing does not know the column.
        let mut cut = None;
        match entry.place.as_ref().zip(window) {
            Some((place, window)) => {
                let annotation = AnnotationKind::Primary
                    .span(window.within(place))
                    .label(diagnostic.label.as_str())
                    .highlight_source(true);
                cut = window.column.map(|column| {
                    let shown = 1 + self.text[window.bytes.start..place.start].chars().count();
                    let at = format!("{}:{}", self.name, window.line);
                    (format!("{at}:{shown}"), format!("{at}:{column}"))
                });
                let mut snippet = window.snippet(&self.name).annotation(annotation);
                let mut others = Vec::new();
                for (place, what) in &entry.related {
                    if window.bytes.start <= place.start && place.end <= window.bytes.end {
                        snippet =
                            snippet.annotation(AnnotationKind::Context.span(window.within(place)).label(what.as_str()));
                    } else {
                        others.push((self.window(place), place, what));
                    }
                }
                group = group.element(snippet);
                for (window, place, what) in others {
                    let annotation = AnnotationKind::Context.span(window.within(place)).label(what.as_str());
                    group = group.element(window.snippet(&self.name).annotation(annotation));
                }
            }
            None => group = group.element(Origin::path(self.name.as_str())),
        }
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let drawn = renderer.render(&[group]);
        match cut {
            Some((shown, true_place)) => drawn.replacen(&shown, &true_place, 1),
            None => drawn,
        }
    }

    /// The line that a place begins in, cut if it is long: rendering then costs the same whatever the text's size.
    fn window(&self, place: &Range<usize>) -> Window<'_> {
        const ABOUT: usize = 400;
        let start = self.text[..place.start].rfind('\n').map_or(0, |at| at + 1);
        let end = self.text[place.start..].find('\n').map_or(self.text.len(), |at| place.start + at);
        let end = if end > start && self.text.as_bytes()[end - 1] == b'\r' { end - 1 } else { end };
        let mut bytes = start..end;
        let mut column = None;
        if end - start > 2 * ABOUT {
            // The shown part begins somewhere: where it begins in its line, the message must say.
            column = Some(1 + self.text[start..place.start].chars().count());
            bytes.start = self.floor(place.start.saturating_sub(ABOUT).max(start));
            bytes.end = self.floor((place.start + ABOUT).min(end));
        }
        let line = 1 + self.text[..start].bytes().filter(|b| *b == b'\n').count();
        Window { source: &self.text[bytes.clone()], bytes, line, column }
    }

    fn floor(&self, mut at: usize) -> usize {
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

struct Window<'a> {
    source: &'a str,
    bytes: Range<usize>,
    line: usize,
    /// Column of the place in its line, if the line is cut.
    column: Option<usize>,
}

impl<'a> Window<'a> {
    fn snippet(&self, name: &'a str) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        Snippet::source(self.source).path(name).line_start(self.line).fold(false)
    }

    /// A place of the text as a place of the window; a place that goes on behind it ends with it.
    fn within(&self, place: &Range<usize>) -> Range<usize> {
        let start = place.start.clamp(self.bytes.start, self.bytes.end);
        let end = place.end.clamp(start, self.bytes.end);
        start - self.bytes.start..end - self.bytes.start
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
    fn a_long_line_is_cut() {
        let text = format!("a: [{}]\n", "1, ".repeat(5000));
        let diagnostic = Diagnostic::error(NodeId(2003), "here");
        let shown = Report::new("long.yaml", &text, vec![diagnostic]).render(false);
        assert!(shown.len() < 2000 && shown.contains("long.yaml:1:"), "{shown}");
    }
}
