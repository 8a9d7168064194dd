//! The error of the planner: an element of the program, and what is wrong with it.

use crate::program::element::Element;

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LayoutError {
    /// Where.
    pub at: Element,
    /// What, and what was expected.
    pub message: String,
    /// What else is concerned, and what it is.
    pub related: Option<Box<(Element, String)>>,
}

impl LayoutError {
    /// An error at a place.
    pub fn new(at: Element, message: impl Into<String>) -> LayoutError {
        LayoutError { at, message: message.into(), related: None }
    }

    /// Names a second place.
    pub fn with_related(mut self, at: Element, what: &str) -> LayoutError {
        self.related = Some(Box::new((at, what.to_owned())));
        self
    }
}
