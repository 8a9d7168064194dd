//! The YAML of a program with the line of each element.

use serde::Serialize;

/// Maximum size of the YAML in bytes.
pub const MAX_TEXT: usize = 1 << 20;

/// YAML of a program. Lines are numbered from 1; 0 stands for an element that the YAML does not declare, such as a
/// literal that is an argument.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportedText {
    /// The YAML; `None` if it has more than 1 MiB, or the program cannot be printed.
    pub text: Option<String>,
    /// Reason why there is no YAML.
    pub reason: Option<String>,
    /// Lines by method, in the order of the graphs.
    pub methods: Vec<MethodLines>,
}

/// Lines of a method.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MethodLines {
    /// Line of its name.
    pub line: usize,
    /// Lines of the values, or of the instructions whose results they are.
    pub values: Vec<usize>,
    /// Lines of the instructions of all chains.
    pub nodes: Vec<usize>,
    /// Lines of the delegates.
    pub delegates: Vec<DelegateLines>,
}

/// Lines of a delegate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelegateLines {
    /// Line of its name.
    pub line: usize,
    /// Lines of the operations of its payload; empty if it is not printed as a graph.
    pub nodes: Vec<usize>,
}
