//! Text -> Program: [`tree`] reads YAML or JSON, [`decode`] makes a [`document::Document`] of it, [`resolve`] a program.

mod checkpoint;
pub mod data;
pub mod decode;
pub mod document;
pub mod json_schema;
pub mod resolve;
pub mod shape;
pub mod template;
pub mod tree;

use tree::NodeId;

/// A message about a node of the source.
pub type Diagnostic = crate::diagnostics::Diagnostic<NodeId>;

/// Messages with the byte spans of their nodes.
pub fn located(text: &str, diagnostics: Vec<Diagnostic>) -> Vec<crate::diagnostics::Diagnostic> {
    let any = diagnostics.iter().any(|diagnostic| diagnostic.at.is_some());
    let spans = if any { tree::places(text) } else { Vec::new() };
    let span = |id: NodeId| spans.get(id.0 as usize).cloned();
    diagnostics.into_iter().map(|diagnostic| diagnostic.map(span)).collect()
}
