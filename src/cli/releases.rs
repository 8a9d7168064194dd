//! The releases of ExecuTorch in options: those that `check --runtime` compares files with, and the lines of `--runtime
//! all`; the one of `--for-runtime`.

use std::path::{Path, PathBuf};

use clap::Args;
use pte_emit::command::text::clipped_to;
use pte_emit::{
    Error,
    check::{Finding, RuleSeverity},
    release::{Release, Version},
};

use super::exit::Failure;
use super::findings::{Counts, FileFindings};

/// Releases of `--runtime`.
pub struct Runtimes {
    /// The releases; `None` alone without the option.
    pub releases: Vec<Option<Release>>,
    /// The option is `all`: each release has a line of its own.
    pub is_all: bool,
}

impl Runtimes {
    /// Reads the value of the option: a version, `all`, or a folder of tables.
    ///
    /// # Errors
    /// An unknown version; a folder that cannot be read, or whose tables are malformed.
    pub fn parse(value: Option<&Path>) -> Result<Runtimes, Failure> {
        let find = |path| find(path, "--runtime", "`all`, or a folder of tables");
        let is_all = value.is_some_and(|path| path.as_os_str() == "all");
        let releases = match is_all {
            true => Release::known().map(Some).collect(),
            false => vec![value.map(find).transpose()?],
        };
        Ok(Runtimes { releases, is_all })
    }
}

/// Returns the release of an option: a version, or a folder of tables. `others` are further values, for messages.
///
/// # Errors
/// An unknown version; a folder that cannot be read, or whose tables are malformed.
fn find(path: &Path, option: &str, others: &str) -> Result<Release, Failure> {
    let text = path.to_str().unwrap_or_default();
    if path.is_dir() && text.parse::<Version>().is_err() {
        return Release::open(path).map_err(|error| Error::io(&path.display().to_string(), "", &error).into());
    }
    let unknown = |error| Failure::Usage(format!("{option}: {error}, {others}"));
    Release::find(text).map_err(unknown)
}

/// Release that programs are written for.
#[derive(Debug, Default, Args)]
pub struct ForRuntimeArguments {
    /// Write for a release of ExecuTorch: its header, fields and layout, and older operators in place of newer ones; a
    /// version such as 0.7, or a folder of tables
    #[arg(help_heading = "Layout", long, value_name = "RELEASE")]
    for_runtime: Option<PathBuf>,
}

impl ForRuntimeArguments {
    /// Reads the release.
    ///
    /// # Errors
    /// An unknown version; a folder that cannot be read, or whose tables are malformed.
    pub fn release(&self) -> Result<Option<Release>, Failure> {
        let find = |path: &PathBuf| find(path, "--for-runtime", "or a folder of tables");
        self.for_runtime.as_ref().map(find).transpose()
    }
}

/// Maximum number of characters of the value found, and of the value expected, in a line.
const FOUND: usize = 200;

/// Formats what `--runtime all` prints about a file and a release, or `--target all` about a file and a target: a line.
pub fn line(file: &FileFindings) -> String {
    let label = file.label();
    let release = file.target.as_deref().or(file.runtime.as_deref()).unwrap_or_default();
    let Counts { errors, warnings, .. } = file.counts();
    let is_error = |finding: &&Finding| finding.rule.severity <= RuleSeverity::Invalid;
    // What the release or the target itself lacks comes first.
    let findings = || file.findings.iter().flat_map(|findings| &findings.list).filter(is_error);
    let is_of_release = |finding: &&Finding| finding.rule.id.as_str().starts_with(['R', 'V']);
    let first = findings().find(is_of_release).or_else(|| findings().next());
    match (first, errors, warnings) {
        (Some(first), _, _) => {
            let found = clipped_to(&first.found, FOUND);
            let expected = format!(", expected {}", clipped_to(&first.expected, FOUND));
            let expected = if is_of_release(&first) { expected } else { String::new() };
            let more = if errors > 1 { format!(", and {} more", errors - 1) } else { String::new() };
            format!("{label}: {release}: no: [{}] {found}{expected}{more}\n", first.rule.id)
        }
        (None, 0, 0) => format!("{label}: {release}: yes\n"),
        (None, 0, _) => {
            format!("{label}: {release}: yes, with {}\n", pte_emit::command::text::counted(warnings, "warning"))
        }
        // Messages of the assembler, which are printed.
        (None, _, _) => format!("{label}: {release}: no\n"),
    }
}

/// Formats, for several files, how many of them each release or target runs: a line for each.
pub fn summary<'f>(files: impl Iterator<Item = &'f FileFindings>) -> String {
    let mut counts: Vec<(String, usize, usize)> = Vec::new();
    for file in files {
        let release = match (&file.target, &file.runtime) {
            (Some(target), _) => target.clone(),
            (None, release) => format!("ExecuTorch {}", release.as_deref().unwrap_or_default()),
        };
        let at = counts.iter().position(|(known, _, _)| *known == release).unwrap_or_else(|| {
            counts.push((release, 0, 0));
            counts.len() - 1
        });
        counts[at].1 += usize::from(file.counts().errors == 0);
        counts[at].2 += 1;
    }
    counts.retain(|(_, _, files)| *files > 1);
    counts.iter().map(|(release, runs, files)| format!("{release} runs {runs} of {files} files\n")).collect()
}
