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

use super::document::ParsedDocument;
use super::{Messages, NodeDiagnostic};
use decoder::Decoder;
use pte_yaml::tree::{NodeId, SourceNode};

/// Builds a document from a tree, as far as possible, and returns the errors of the rest. `strings` has the strings of
/// numbers that are in quotes ([`pte_yaml::template::unquote`]).
pub fn decode(node: SourceNode<'_>, strings: HashMap<NodeId, String>) -> (ParsedDocument<'_>, Vec<NodeDiagnostic>) {
    let mut decoder = Decoder { diagnostics: Messages::default(), strings, files: HashMap::new() };
    let document = decoder.document(node).unwrap_or_default();
    decoder.diagnostics.sort();
    (document, decoder.diagnostics.into_list())
}
