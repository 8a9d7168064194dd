//! Error of the planner: a message about an element of the program.

use pte_model::diagnostics::Code;
use pte_model::program::element::Element;

/// Error about an element of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutError {
    /// Kind of the problem.
    pub code: Code,
    /// Element.
    pub at: Element,
    /// Problem, with the value found and the expectation.
    pub message: String,
    /// Related element with a label.
    pub related: Option<Box<(Element, String)>>,
    /// Advice for a program from YAML.
    pub help: Option<&'static str>,
}

impl LayoutError {
    /// Creates an error about an element.
    pub fn new(code: Code, at: Element, message: impl Into<String>) -> LayoutError {
        LayoutError { code, at, message: message.into(), related: None, help: None }
    }

    /// Adds advice for a program from YAML.
    pub fn with_help(mut self, help: &'static str) -> LayoutError {
        self.help = Some(help);
        self
    }

    /// Adds a related element with a label.
    pub fn with_related(mut self, at: Element, label: &str) -> LayoutError {
        self.related = Some(Box::new((at, label.to_owned())));
        self
    }
}
