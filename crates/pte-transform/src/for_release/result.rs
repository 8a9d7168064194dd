//! Result of rewriting a program for a release.

use super::problems::Inexpressible;
use crate::remap::Remap;

/// A call that was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedCall {
    /// Index of the method.
    pub method: usize,
    /// Position of the instruction before all changes, counted through all chains.
    pub step: usize,
    /// The newer operator.
    pub operator: String,
    /// The operators that are called in its place, in order.
    pub by: Vec<&'static str>,
}

/// Result of rewriting a program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForRelease {
    /// Replaced calls, in order.
    pub replaced: Vec<ReplacedCall>,
    /// Number of payloads whose constants are inside, no longer named data.
    pub payloads: usize,
    /// Number of tensors whose names were removed.
    pub names: usize,
    /// By method: indices of the parts that remain. New values follow all former ones.
    pub remaps: Vec<Remap>,
    /// Some tensors have memory that they did not have before. In a method with explicit offsets, it is after that of
    /// the others.
    pub needs_memory: bool,
    /// Parts that the release cannot express, as elements of the former program. If there are any, no call of the
    /// method was replaced.
    pub problems: Vec<Inexpressible>,
}

impl ForRelease {
    /// Returns `true` if the program is as before.
    pub fn is_unchanged(&self) -> bool {
        self.replaced.is_empty() && self.payloads == 0 && self.names == 0
    }
}
