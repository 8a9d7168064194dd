//! Messages in the manner of rustc: source line, caret, expectation, help.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, Title};

use super::{Diagnostic, Report, SHOWN, Severity, escaped};

impl Report {
    /// Renders the first 20 messages for a terminal: source line, caret, expectation, help; with colours if requested.
    /// Needs the feature `render`.
    ///
    /// ```
    /// use pte_model::diagnostics::{Code, Report};
    ///
    /// let yaml = "methods: {forward: {outputs: [x]}}";
    /// let unknown = Code::UnknownName.error(30..31, "unknown value `x` in method `forward`");
    /// let report = Report::new("model.yaml", yaml, vec![unknown]);
    /// assert!(report.render(false).contains("--> model.yaml:1:31"));
    /// ```
    pub fn render(&self, colours: bool) -> String {
        let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
        let view = SourceView { report: self };
        let mut out = String::new();
        for diagnostic in self.diagnostics.iter().take(SHOWN) {
            out.push_str(&view.message(diagnostic, &renderer));
            out.push_str("\n\n");
        }
        if let Some(more) = self.diagnostics.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            out.push_str(&format!("... and {more} more\n"));
        }
        out
    }
}

/// Source of the messages.
struct SourceView<'r> {
    report: &'r Report,
}

impl SourceView<'_> {
    fn message(&self, diagnostic: &Diagnostic, renderer: &Renderer) -> String {
        let level = match diagnostic.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let window = diagnostic.at.as_ref().map(|span| self.window(span));
        // A message about no position names its source itself.
        let title = match diagnostic.at {
            None if !self.report.name.is_empty() => {
                format!("{}: {}", self.report.name, self.report.message(diagnostic))
            }
            _ => self.report.message(diagnostic).into_owned(),
        };
        let mut group: Group<'_> =
            title_of(level, &title, diagnostic).elements(None::<Snippet<'_, annotate_snippets::Annotation<'_>>>);
        // In a truncated line the renderer counts columns from the window, not from the start of the line.
        let mut cut = None;
        if let Some((span, window)) = diagnostic.at.as_ref().zip(window) {
            let annotation = AnnotationKind::Primary
                .span(window.within(span))
                .label(escaped(&diagnostic.label))
                .highlight_source(true);
            cut = window.column.map(|column| {
                let shown = 1 + self.report.text[window.bytes.start..span.start].chars().count();
                let at = format!("{}:{}", self.report.name, window.line);
                (format!("{at}:{shown}"), format!("{at}:{column}"))
            });
            let mut snippet = window.snippet(&self.report.name).annotation(annotation);
            let mut others = Vec::new();
            for (span, label) in &diagnostic.related {
                if window.bytes.start <= span.start && span.end <= window.bytes.end {
                    snippet =
                        snippet.annotation(AnnotationKind::Context.span(window.within(span)).label(escaped(label)));
                } else {
                    others.push((self.window(span), span, label));
                }
            }
            group = group.element(snippet);
            for (window, span, label) in others {
                let annotation = AnnotationKind::Context.span(window.within(span)).label(escaped(label));
                group = group.element(window.snippet(&self.report.name).annotation(annotation));
            }
        }
        if let Some(help) = &diagnostic.help {
            group = group.element(Level::HELP.message(escaped(help)));
        }
        let rendered = renderer.render(&[group]);
        match cut {
            Some((shown, actual)) => rendered.replacen(&shown, &actual, 1),
            None => rendered,
        }
    }

    /// Line that a span begins in, truncated around it: the cost of rendering does not depend on the size of the
    /// source.
    fn window(&self, span: &Range<usize>) -> Window<'_> {
        const CONTEXT: usize = 400;
        let start = self.report.text[..span.start].rfind('\n').map_or(0, |at| at + 1);
        let end = self.report.text[span.start..].find('\n').map_or(self.report.text.len(), |at| span.start + at);
        let end = if end > start && self.report.text.as_bytes()[end - 1] == b'\r' { end - 1 } else { end };
        let mut bytes = start..end;
        let mut column = None;
        if end - start > 2 * CONTEXT {
            column = Some(1 + self.report.text[start..span.start].chars().count());
            bytes.start = self.floor(span.start.saturating_sub(CONTEXT).max(start));
            bytes.end = self.floor((span.start + CONTEXT).min(end));
        }
        let (line, _) = self.report.line_column(start);
        Window { source: &self.report.text[bytes.clone()], bytes, line, column }
    }

    fn floor(&self, mut at: usize) -> usize {
        while !self.report.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

/// Returns the title of a message: with its code if it points at a source, where the code says more than the text.
fn title_of<'t>(level: Level<'t>, title: &'t str, diagnostic: &Diagnostic) -> Title<'t> {
    let title = level.primary_title(escaped(title));
    if diagnostic.at.is_some() && diagnostic.io.is_none() { title.id(diagnostic.code.as_str()) } else { title }
}

/// Part of a source line around a span.
struct Window<'a> {
    source: &'a str,
    bytes: Range<usize>,
    line: usize,
    /// Column of the span in its line, from 1, if the line is truncated.
    column: Option<usize>,
}

impl<'a> Window<'a> {
    fn snippet(&self, name: &'a str) -> Snippet<'a, annotate_snippets::Annotation<'a>> {
        Snippet::source(self.source).path(name).line_start(self.line).fold(false)
    }

    /// Converts a span of the source to one of the window, clamped to its end.
    fn within(&self, span: &Range<usize>) -> Range<usize> {
        let start = span.start.clamp(self.bytes.start, self.bytes.end);
        let end = span.end.clamp(start, self.bytes.end);
        start - self.bytes.start..end - self.bytes.start
    }
}

#[cfg(test)]
mod tests {
    use super::super::Code;
    use super::*;

    #[test]
    fn a_long_line_is_truncated() {
        let text = format!("a: [{}]\n", "1, ".repeat(5000));
        let shown = Report::new("long.yaml", &text, vec![Code::Syntax.error(6004..6005, "here")]).render(false);
        assert!(shown.len() < 2000 && shown.contains("long.yaml:1:6005"), "{shown}");
    }
}
