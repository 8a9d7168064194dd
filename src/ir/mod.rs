//! Source -> Program: `pte_yaml` parses YAML or JSON, [`decode`] builds a [`document::ParsedDocument`], [`resolve`] a
//! program.
//!
//! Layout and emission of files are in [`crate::layout`] and [`crate::emitter`].

mod checkpoint;
pub mod data;
pub mod decode;
pub mod document;
pub mod files;
pub mod flatbuffer;
mod grammar;
pub mod inferred;
pub mod json_schema;
pub mod nodes;
pub mod resolve;
pub mod shape;
pub mod style;
mod synonyms;
pub mod write;
pub mod yaml;

use std::collections::{HashMap, HashSet};
use std::ops::Deref;

use pte_model::diagnostics::{Code, Severity, counted};
use pte_yaml::repeat::Spans;
use pte_yaml::tree::NodeId;

/// A diagnostic about a node of the source.
pub type NodeDiagnostic = pte_model::diagnostics::Diagnostic<NodeId>;

/// Number of errors, and of warnings, of a source that are kept: text shows 20 of them.
const KEPT: usize = 1000;

/// Diagnostics of a source. A short source can have very many, so that further ones are only counted.
#[derive(Debug, Default)]
pub struct Messages {
    list: Vec<NodeDiagnostic>,
    /// Numbers of all errors and of all warnings.
    counts: [usize; 2],
    /// The last one, if it is not kept.
    last: Option<NodeDiagnostic>,
}

impl Deref for Messages {
    type Target = [NodeDiagnostic];

    fn deref(&self) -> &[NodeDiagnostic] {
        &self.list
    }
}

impl Messages {
    /// Returns the number of all that were added, also of those that are not kept.
    pub fn len(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: NodeDiagnostic) {
        self.push_mut(diagnostic);
    }

    /// Adds a diagnostic, and returns it, so that the caller can add help.
    pub fn push_mut(&mut self, diagnostic: NodeDiagnostic) -> &mut NodeDiagnostic {
        let count = &mut self.counts[usize::from(!diagnostic.is_error())];
        *count += 1;
        self.last = None;
        match *count <= KEPT {
            true => self.list.push_mut(diagnostic),
            false => self.last.insert(diagnostic),
        }
    }

    /// Makes a kept warning about a node an error, and returns it; `None` if there is no message with this code.
    pub fn make_error(&mut self, code: Code, at: NodeId) -> Option<&mut NodeDiagnostic> {
        let found = self.list.iter_mut().find(|known| known.code == code && known.at == Some(at))?;
        if !found.is_error() {
            found.severity = Severity::Error;
            self.counts = [self.counts[0] + 1, self.counts[1] - 1];
        }
        Some(found)
    }

    /// Returns the number of errors, also of those that are not kept.
    pub fn errors(&self) -> usize {
        self.counts[0]
    }

    /// Returns the last one that was added.
    pub fn last_mut(&mut self) -> Option<&mut NodeDiagnostic> {
        self.last.as_mut().or(self.list.last_mut())
    }

    /// Returns the present state, for [`Messages::split_off`].
    pub fn mark(&self) -> (usize, [usize; 2]) {
        (self.list.len(), self.counts)
    }

    /// Removes those that were added after a mark, and returns the kept ones.
    pub fn split_off(&mut self, (len, counts): (usize, [usize; 2])) -> Vec<NodeDiagnostic> {
        self.counts = counts;
        self.list.split_off(len)
    }

    /// Adds those of a part of the source.
    pub fn append(&mut self, other: Messages) {
        let before = self.counts;
        other.list.into_iter().for_each(|diagnostic| self.push(diagnostic));
        self.counts = std::array::from_fn(|index| before[index] + other.counts[index]);
    }

    /// Sorts the kept ones by their place in the source, independent of the stage that reported them.
    pub fn sort(&mut self) {
        self.list.sort_by_key(|diagnostic| diagnostic.at);
    }

    /// Returns the kept ones, and how many others there are.
    pub fn into_list(self) -> Vec<NodeDiagnostic> {
        let Messages { mut list, counts: [errors, warnings], .. } = self;
        for (count, severity, noun) in [(errors, Severity::Error, "error"), (warnings, Severity::Warning, "warning")] {
            if let Some(more) = count.checked_sub(KEPT).filter(|more| *more > 0) {
                let message = format!("{} not listed here", counted(more as u64, &format!("more {noun}")));
                list.push(NodeDiagnostic { severity, ..Code::LimitExceeded.whole(message) });
            }
        }
        list
    }
}

impl Extend<NodeDiagnostic> for Messages {
    fn extend<I: IntoIterator<Item = NodeDiagnostic>>(&mut self, diagnostics: I) {
        diagnostics.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }
}

/// Diagnostics with the byte spans of their nodes. Of the copies of a repetition, those of the first one with a message
/// are reported, with its counters and the number of the others. `spans` is called if there is a node.
pub fn located<'s>(
    spans: impl FnOnce() -> Option<&'s Spans>,
    mut diagnostics: Vec<NodeDiagnostic>,
) -> Vec<pte_model::diagnostics::Diagnostic> {
    let any = diagnostics.iter().any(|diagnostic| diagnostic.at.is_some());
    let spans = any.then(spans).flatten();
    let span = |id: NodeId| spans.and_then(|spans| spans.get(id));
    let turn = |diagnostic: &NodeDiagnostic| spans?.turn(diagnostic.at?);
    let place = |diagnostic: &NodeDiagnostic| (diagnostic.at.and_then(span).map(|span| span.start), diagnostic.code);
    let mut copies = HashMap::new();
    for diagnostic in &diagnostics {
        if let Some(turn) = turn(diagnostic) {
            copies.entry(place(diagnostic)).or_insert_with(|| (turn, HashSet::new())).1.insert(turn);
        }
    }
    diagnostics.retain_mut(|diagnostic| {
        let Some(turn) = turn(diagnostic) else { return true };
        let Some((first, all)) = copies.get(&place(diagnostic)) else { return true };
        let others = match all.len() as u64 - 1 {
            0 => String::new(),
            others => format!(", and {}", counted(others, "other copy")),
        };
        diagnostic.message = format!("{} ({first}{others})", diagnostic.message);
        turn == *first
    });
    diagnostics.into_iter().map(|diagnostic| diagnostic.map(span)).collect()
}
