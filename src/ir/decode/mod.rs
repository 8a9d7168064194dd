//! SourceNode -> ParsedDocument: keys and kinds of nodes are checked, and all errors are reported.
//!
//! Names are not looked up here, and no file is opened; see [`super::resolve`].

mod data;
mod decoder;
mod document;
mod graph;
mod instructions;
mod rows;
mod scalars;
mod values;

use std::collections::HashMap;

use super::NodeDiagnostic;
use super::document::ParsedDocument;
use decoder::Decoder;
use pte_yaml::tree::{NodeId, SourceNode};

/// Builds a document from a tree, as far as possible, and returns the errors of the rest. `strings` has the strings of
/// numbers that are in quotes ([`pte_yaml::template::unquote`]).
pub fn decode(node: SourceNode<'_>, strings: HashMap<NodeId, String>) -> (ParsedDocument<'_>, Vec<NodeDiagnostic>) {
    let mut decoder = Decoder { diagnostics: Vec::new(), strings, files: HashMap::new() };
    let document = decoder.document(node).unwrap_or_default();
    decoder.diagnostics.sort_by_key(|diagnostic| diagnostic.at);
    (document, decoder.diagnostics)
}
