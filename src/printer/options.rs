//! What printing needs beside the file.

use std::path::Path;

use super::data::LargeData;
use crate::assembly::Assembly;

/// Options of printing.
#[derive(Debug, Clone)]
pub struct PrintOptions {
    /// Everything is stated, nothing left to be computed.
    pub explicit: bool,
    /// What becomes of large data.
    pub large_data: LargeData,
    /// How the text calls the file, if it refers to it.
    pub file: String,
}

/// Assembles YAML that was printed, with paths relative to the folder; `None` if there are errors. The printer may not use the rooms
/// that do this.
pub type Assembler<'a> = dyn Fn(&str, &Path) -> Option<Assembly> + Sync + 'a;

/// What printing needs beside the file: the folder of the YAML, the options, and a way to assemble what was printed.
#[derive(Clone, Copy)]
pub struct Printer<'p> {
    /// Folder that the YAML is for: what it refers to is relative to that.
    pub folder: &'p Path,
    /// Options.
    pub options: &'p PrintOptions,
    /// Assembles YAML.
    pub assemble: &'p Assembler<'p>,
}
