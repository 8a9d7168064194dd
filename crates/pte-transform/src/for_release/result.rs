//! Result of rewriting a program for a release, and the summary of the changes.

use std::collections::BTreeMap;

use super::problems::Inexpressible;
use crate::remap::Remap;
use pte_model::diagnostics::counted;
use pte_releases::Version;

/// Result of rewriting a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForRelease {
    /// The changes.
    pub written: WrittenFor,
    /// By method: indices of the parts that remain. New values follow all former ones.
    pub remaps: Vec<Remap>,
    /// Some tensors have memory that they did not have before. In a method with explicit offsets, it is after that of
    /// the others.
    pub needs_memory: bool,
    /// Parts that the release cannot express, as elements of the former program. If there are any, no call of the
    /// method was replaced.
    pub problems: Vec<Inexpressible>,
}

/// Release that files were written for, and the changes for it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WrittenFor {
    /// Release whose runtime the program is written for.
    pub release: Version,
    /// Replaced calls, by the newer operator.
    pub replaced: BTreeMap<String, ReplacedCalls>,
    /// Number of payloads whose constants were named data, and are inside now.
    pub payloads: usize,
    /// Number of tensors whose names were removed.
    pub names: usize,
    /// Layout options of a binary file that changed, each as a part of a message: ``` `constants`: inline ->
    /// segment ```.
    pub layout: Vec<String>,
}

/// Replaced calls of an operator, part of [`WrittenFor`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplacedCalls {
    /// Number of calls.
    pub count: u64,
    /// Operators that are called in place of the first one.
    pub by: Vec<&'static str>,
}

impl WrittenFor {
    /// Returns `true` if the program is as before.
    pub(super) fn is_unchanged(&self) -> bool {
        self.replaced.is_empty() && self.payloads == 0 && self.names == 0
    }

    /// Returns what was changed, for messages: one part for each operator, then payloads, names and layout.
    pub fn changes(&self) -> Vec<String> {
        let calls = self.replaced.iter().map(|(operator, ReplacedCalls { count, by })| {
            format!("{} of {operator} replaced by {}", counted(*count, "call"), by.join(" and "))
        });
        let mut changes: Vec<String> = calls.collect();
        if self.payloads > 0 {
            changes.push(format!("{} with constants inside", counted(self.payloads as u64, "payload")));
        }
        if self.names > 0 {
            changes.push(format!("{} of tensors removed", counted(self.names as u64, "name")));
        }
        changes.extend(self.layout.iter().cloned());
        changes
    }
}
