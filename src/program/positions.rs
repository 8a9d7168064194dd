//! Positions of delegates, and of the graphs in their payloads, in the YAML that a program was assembled from.
//!
//! The positions of other elements are not kept: findings about them have the names of their values.

use std::ops::Range;

/// A position in YAML.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceRange {
    /// Byte range in the source.
    pub span: Range<usize>,
    /// Line in the file, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// A delegate of a method.
#[derive(Debug, Clone)]
pub struct DelegatePosition {
    /// Index of the method.
    pub method: usize,
    /// Index of the delegate in the method.
    pub delegate: usize,
    /// Name in the YAML.
    pub name: String,
    /// Position of the name.
    pub at: SourceRange,
    /// Values of the graph, in its order.
    pub values: Vec<GraphValuePosition>,
    /// Operations of the graph, in its order.
    pub nodes: Vec<SourceRange>,
}

/// A value of a graph.
#[derive(Debug, Clone)]
pub struct GraphValuePosition {
    /// Id of the value in the graph.
    pub id: u32,
    /// Name in the YAML.
    pub name: String,
    /// Position of the name: in `values`, or in the operation that writes it.
    pub at: SourceRange,
}
