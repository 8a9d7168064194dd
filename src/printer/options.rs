//! Options of printing.

use std::path::Path;

use super::data::LargeData;
use crate::assembly::Assembly;

/// Options of printing.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PrintOptions {
    /// State everything, including computed values.
    pub explicit: bool,
    /// Treatment of large data.
    pub large_data: LargeData,
    /// Name of the file in references to ranges of it.
    pub file: String,
}

/// Assembles printed YAML with paths relative to a folder; `None` if it has errors. Passed in because the printer must not depend on the
/// parser.
pub type Assembler<'a> = dyn Fn(&str, &Path) -> Option<Assembly> + Sync + 'a;

/// Context of printing.
#[derive(Clone, Copy)]
pub struct Printer<'p> {
    /// Folder of the YAML, to which its paths are relative.
    pub folder: &'p Path,
    /// Options.
    pub options: &'p PrintOptions,
    /// Assembles YAML.
    pub assemble: &'p Assembler<'p>,
}
