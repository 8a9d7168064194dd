//! Messages as rustc shows them: the line with a caret, what was expected, what to do.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use crate::diagnostics::{Diagnostic, Report, SHOWN, Severity};

/// The messages of a report, at most [`SHOWN`], with colours if requested.
pub fn report(report: &Report, colours: bool) -> String {
    let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
    let drawing = Drawing { report };
    let mut out = String::new();
    for diagnostic in report.diagnostics.iter().take(SHOWN) {
        out.push_str(&drawing.message(diagnostic, &renderer));
        out.push_str("\n\n");
    }
    if let Some(more) = report.diagnostics.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        out.push_str(&format!("... and {more} more\n"));
    }
    out
}

struct Drawing<'r> {
    report: &'r Report,
}

impl Drawing<'_> {
    fn message(&self, diagnostic: &Diagnostic, renderer: &Renderer) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let window = diagnostic.at.as_ref().map(|place| self.window(place));
        // A message about no position names its source itself.
        let title = match diagnostic.at {
            None if !self.report.name.is_empty() => format!("{}: {}", self.report.name, diagnostic.message),
            _ => diagnostic.message.clone(),
        };
        let mut group: Group<'_> =
            level.primary_title(&title).elements(None::<Snippet<'_, annotate_snippets::Annotation<'_>>>);
        // Of a line that is cut the drawing does not know the column.
        let mut cut = None;
        if let Some((place, window)) = diagnostic.at.as_ref().zip(window) {
            let annotation = AnnotationKind::Primary
                .span(window.within(place))
                .label(diagnostic.label.as_str())
                .highlight_source(true);
            cut = window.column.map(|column| {
                let shown = 1 + self.report.text[window.bytes.start..place.start].chars().count();
                let at = format!("{}:{}", self.report.name, window.line);
                (format!("{at}:{shown}"), format!("{at}:{column}"))
            });
            let mut snippet = window.snippet(&self.report.name).annotation(annotation);
            let mut others = Vec::new();
            for (place, what) in &diagnostic.related {
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
                group = group.element(window.snippet(&self.report.name).annotation(annotation));
            }
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
        let start = self.report.text[..place.start].rfind('\n').map_or(0, |at| at + 1);
        let end = self.report.text[place.start..].find('\n').map_or(self.report.text.len(), |at| place.start + at);
        let end = if end > start && self.report.text.as_bytes()[end - 1] == b'\r' { end - 1 } else { end };
        let mut bytes = start..end;
        let mut column = None;
        if end - start > 2 * ABOUT {
            // The shown part begins somewhere: where it begins in its line, the message must say.
            column = Some(1 + self.report.text[start..place.start].chars().count());
            bytes.start = self.floor(place.start.saturating_sub(ABOUT).max(start));
            bytes.end = self.floor((place.start + ABOUT).min(end));
        }
        let line = 1 + self.report.text[..start].bytes().filter(|b| *b == b'\n').count();
        Window { source: &self.report.text[bytes.clone()], bytes, line, column }
    }

    fn floor(&self, mut at: usize) -> usize {
        while !self.report.text.is_char_boundary(at) {
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
    fn a_long_line_is_cut() {
        let text = format!("a: [{}]\n", "1, ".repeat(5000));
        let shown = report(&Report::new("long.yaml", &text, vec![Diagnostic::error(6004..6005, "here")]), false);
        assert!(shown.len() < 2000 && shown.contains("long.yaml:1:6005"), "{shown}");
    }
}
