//! Summary of the changes for a release.

use std::collections::BTreeMap;

use super::result::ForRelease;
use pte_model::diagnostics::counted;
use pte_releases::{Release, Version};

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

impl ForRelease {
    /// Summarizes the changes to a program for a release.
    pub fn written_for(&self, release: &Release) -> WrittenFor {
        let mut replaced: BTreeMap<String, ReplacedCalls> = BTreeMap::new();
        for call in &self.replaced {
            let entry = || ReplacedCalls { count: 0, by: call.by.clone() };
            replaced.entry(call.operator.clone()).or_insert_with(entry).count += 1;
        }
        WrittenFor {
            release: release.version(),
            replaced,
            payloads: self.payloads,
            names: self.names,
            layout: Vec::new(),
        }
    }
}

impl WrittenFor {
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
