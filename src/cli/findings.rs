//! Values of `--format` of commands that report findings, and what is printed in each form but text, which is printed
//! by `check` and `render`.

use clap::ValueEnum;
use pte_emit::command::findings::{github, json, sarif};

pub use pte_emit::command::findings::{Counts, FileFindings, Level};

use super::json;

/// Values of `--format` of commands that report findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FindingsFormat {
    /// Lines for a terminal
    Text,
    /// JSON
    Json,
    /// Annotations of GitHub Actions: a workflow command in each line
    Github,
    /// SARIF 2.1.0, for code scanning
    Sarif,
}

/// Returns everything that is reported in a form other than text, as workflow commands only up to a level.
pub fn document(files: &[FileFindings], format: FindingsFormat, least: Level) -> String {
    match format {
        FindingsFormat::Text => String::new(),
        FindingsFormat::Json => json::text(&json(files)),
        FindingsFormat::Github => github(files, least),
        FindingsFormat::Sarif => json::text(&sarif(files)),
    }
}
