//! Source -> Program: `pte_yaml` parses YAML or JSON, [`decode`] builds a [`document::ParsedDocument`], [`resolve`] a
//! program.
//!
//! Layout and emission of files are in [`crate::layout`] and [`crate::emitter`].

mod checkpoint;
pub mod data;
pub mod decode;
pub mod document;
pub mod files;
mod grammar;
pub mod json_schema;
pub mod nodes;
pub mod resolve;
pub mod shape;
mod synonyms;
pub mod write;
pub mod yaml;

use pte_yaml::tree::{self, NodeId};

/// A diagnostic about a node of the source.
pub type NodeDiagnostic = pte_model::diagnostics::Diagnostic<NodeId>;

/// Diagnostics with the byte spans of their nodes.
pub fn located(text: &str, diagnostics: Vec<NodeDiagnostic>) -> Vec<pte_model::diagnostics::Diagnostic> {
    let any = diagnostics.iter().any(|diagnostic| diagnostic.at.is_some());
    let spans = if any { tree::spans(text) } else { Vec::new() };
    let span = |id: NodeId| spans.get(id.0 as usize).cloned();
    diagnostics.into_iter().map(|diagnostic| diagnostic.map(span)).collect()
}
