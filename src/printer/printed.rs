//! The result of printing.

use super::extracted::ExtractedFile;
use super::stats::PrintStats;
use pte_model::diagnostics::escaped;

/// A file as YAML.
#[derive(Debug)]
pub struct Printed {
    /// YAML.
    pub text: String,
    /// First difference between the original and the assembled file; `None` if the YAML reproduces the file byte for
    /// byte.
    pub difference: Option<String>,
    /// Files that the YAML refers to, by path: those of [`LargeData::Extract`](crate::LargeData::Extract).
    pub files: Vec<ExtractedFile>,
    /// Counts of values by their explicit properties; all are zero for a file without methods.
    pub stats: PrintStats,
}

impl Printed {
    /// Creates the YAML of a file. If there is a `difference`, the first line is a comment about it.
    pub(super) fn new(text: String, difference: Option<String>) -> Printed {
        let text = match &difference {
            None => text,
            Some(why) => {
                format!("# This YAML does not reproduce the file byte for byte: {}.\n{text}", escaped(why))
            }
        };
        Printed { text, difference, files: Vec::new(), stats: PrintStats::default() }
    }
}
