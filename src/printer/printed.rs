//! The result of printing.

use super::extracted::ExtractedFile;
use super::stats::PrintStats;
use crate::diagnostics::escaped;

/// A file as YAML.
#[derive(Debug)]
pub struct Printed {
    /// YAML.
    pub text: String,
    /// First difference between the original and the assembled file; `None` if the YAML reproduces the file byte for byte.
    pub difference: Option<String>,
    /// Files that the YAML refers to, by path: those of [`LargeData::Extract`].
    pub files: Vec<ExtractedFile>,
    /// What the YAML states of the values; zeros for a file without methods.
    pub stats: PrintStats,
}

impl Printed {
    /// YAML that reproduces the file.
    pub(super) fn exact(text: String) -> Printed {
        Printed { text, difference: None, files: Vec::new(), stats: PrintStats::default() }
    }

    /// YAML of a file that differs from the assembled one as `difference` says, which the first line then states.
    pub(super) fn compared(text: String, difference: Option<String>) -> Printed {
        let text = match &difference {
            None => text,
            Some(why) => {
                format!("# This YAML does not reproduce the file byte for byte: {}.\n{text}", escaped(why))
            }
        };
        Printed { difference, ..Printed::exact(text) }
    }
}
