//! Totals of the memory of methods.

use serde::Serialize;

/// Total of a method, or of several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct MemoryTotal {
    /// Bytes with files that are mapped, or in memory such as flash: planned memory, method allocator, temporary
    /// allocator, the inputs and outputs that the caller provides, and what delegates take from the heap.
    pub bytes: u64,
    /// Bytes with files that a loader reads into RAM.
    pub with_files: u64,
    /// Both numbers are lower bounds.
    pub at_least: bool,
    /// [`MemoryTotal::with_files`] is a lower bound.
    pub with_files_at_least: bool,
    /// Both numbers contain estimates of the memory of delegates.
    #[serde(rename = "estimated")]
    pub is_estimated: bool,
}

impl MemoryTotal {
    /// Returns the sum of two totals.
    pub(crate) fn plus(self, other: MemoryTotal) -> MemoryTotal {
        MemoryTotal {
            bytes: self.bytes.saturating_add(other.bytes),
            with_files: self.with_files.saturating_add(other.with_files),
            at_least: self.at_least || other.at_least,
            with_files_at_least: self.with_files_at_least || other.with_files_at_least,
            is_estimated: self.is_estimated || other.is_estimated,
        }
    }
}
