//! YAML with the positions of its nodes, which are read when a message first needs them: most sources are valid.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::repeat::Spans;
use super::tree::NodeId;

/// A position in YAML.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceRange {
    /// Byte range in the source.
    pub span: Range<usize>,
    /// Line in the file, counted from 1.
    pub line: usize,
    /// Column in characters, counted from 1.
    pub column: usize,
}

/// YAML or JSON. Clones share the positions of its nodes, which are read when a message first needs them.
#[derive(Debug, Clone)]
pub struct SourceText {
    text: Arc<str>,
    spans: Arc<OnceLock<Spans>>,
}

impl Default for SourceText {
    fn default() -> SourceText {
        "".into()
    }
}

impl<T: Into<Arc<str>>> From<T> for SourceText {
    fn from(text: T) -> SourceText {
        SourceText { text: text.into(), spans: Arc::default() }
    }
}

impl SourceText {
    /// Creates a text whose positions are known.
    pub fn located(text: Arc<str>, spans: Spans) -> SourceText {
        SourceText { text, spans: Arc::new(spans.into()) }
    }

    /// Returns the text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Returns the positions of its nodes.
    pub fn spans(&self) -> &Spans {
        self.spans.get_or_init(|| Spans::new(&self.text))
    }

    /// Returns the positions of nodes, in the order of `nodes`, in a file that has lines before the text.
    pub fn positions(&self, lines_before: usize, nodes: &[NodeId]) -> Vec<SourceRange> {
        let (text, spans) = (self.text(), self.spans());
        let span = |node: &NodeId| spans.get(*node).unwrap_or_default();
        let mut found: Vec<SourceRange> =
            nodes.iter().map(|node| SourceRange { span: span(node), ..SourceRange::default() }).collect();
        // In the order of the source, so that its lines are counted once.
        let mut order: Vec<usize> = (0..found.len()).collect();
        order.sort_unstable_by_key(|index| found[*index].span.start);
        let (mut at, mut line, mut column) = (0, 1 + lines_before, 1);
        for index in order {
            let start = found[index].span.start.min(text.len());
            let between = text.get(at..start).unwrap_or_default();
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
}
