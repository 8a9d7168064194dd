//! Destination of the files of an assembly: their format, paths, and contents in temporary files. Shared by the
//! commands that write programs and weights.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use indicatif::ProgressBar;
use pte_emit::{Assembly, OutputSink};

use super::exit::Failure;
use super::formats::{self, FORMATS, OutputContent, OutputFormat, OutputName};
use super::io::{self, STREAM};
use super::outputs::{Outputs, Replaced};
use super::stdout;

/// Requested outputs of a command, and the files that they must not replace.
#[derive(Debug, Default)]
pub struct Destination<'a> {
    /// Value of the option `-o`.
    pub output: Option<&'a Path>,
    /// Value of the option `--to`.
    pub to: Option<&'static OutputFormat>,
    /// File for the constants without a tag; an empty path is that of the program with the extension `.ptd`.
    pub external_data: Option<&'a Path>,
    /// Files that the command reads.
    pub inputs: Vec<&'a Path>,
}

/// Files of an assembly, with their names by role.
pub type Files<'a> = [(OutputName<'a>, OutputContent<'a>)];

impl Destination<'_> {
    /// Path of the option `-o`; `None` is standard output.
    pub fn path(&self) -> Option<&Path> {
        self.output.filter(|output| output.as_os_str() != STREAM)
    }

    /// Path of the main output of an input called `name`; `None` is standard output.
    pub fn target(&self, name: &OsStr, format: &OutputFormat) -> Option<PathBuf> {
        let output = self.path()?;
        if !output.is_dir() {
            return Some(output.to_owned());
        }
        let mut name = name.to_owned();
        name.push(".");
        name.push(format.extension);
        Some(output.join(name))
    }

    /// Requested format: of the option, else of the extension of the output. `None` without an extension, for standard
    /// output and for folders.
    ///
    /// # Errors
    /// An unknown extension.
    pub fn format(&self) -> Result<Option<&'static OutputFormat>, Failure> {
        let Some(output) = self.path().filter(|output| self.to.is_none() && !output.is_dir()) else {
            return Ok(self.to);
        };
        formats::of_output(
            output,
            FORMATS.iter().map(|format| (format.extension, format)),
            "; use `--to FORMAT` to write a file of another name",
        )
    }

    /// Returns the requested format, or the default one.
    ///
    /// # Errors
    /// The format cannot store the assembly.
    pub fn format_of(&self, assembly: &Assembly) -> Result<&'static OutputFormat, Failure> {
        let has_methods = assembly.program_file().is_some();
        let format = self.format()?.unwrap_or_else(|| OutputFormat::default_of(has_methods));
        let found = format.extension;
        if format.has_methods != has_methods {
            let known = OutputFormat::list(|format| format.has_methods == has_methods);
            return Err(Failure::Usage(match has_methods {
                true => format!(
                    "the input has methods, which a .{found} cannot store: expected {known} as output; use `--external-data` for a .ptd"
                ),
                false => format!("the input has no methods, which a .{found} needs: expected {known} as output"),
            }));
        }
        if format.is_single_file && assembly.data_files().count() > 1 {
            let message = format!("data with tags are written to several files, but a .{found} is one file");
            return Err(Failure::Usage(message));
        }
        Ok(format)
    }

    /// Returns the paths of the files of an assembly. `main` is the path of the main one; `None` is standard output.
    ///
    /// # Errors
    /// An output would replace a file that is read, or another output.
    pub fn targets(
        &self,
        files: &Files<'_>,
        assembly: &Assembly,
        main: Option<&Path>,
    ) -> Result<Vec<Option<PathBuf>>, Failure> {
        let path = |name: &OutputName<'_>| match name {
            OutputName::Main => Ok(main.map(Path::to_owned)),
            OutputName::Data => Ok(Some(self.data_file(main)?)),
            OutputName::Tagged(tag) => Ok(Some(sibling(main, &with_ptd(tag)))),
            OutputName::Shard(tag) => Ok(Some(sibling(Some(&self.data_file(main)?), &with_ptd(tag)))),
        };
        let targets = files.iter().map(|(name, _)| path(name)).collect::<Result<Vec<_>, Failure>>()?;
        let mut sources = Vec::new();
        assembly.data_sources(&mut |path| sources.push(path));
        self.check_targets(targets.iter().filter_map(Option::as_deref), sources.into_iter())?;
        Ok(targets)
    }

    /// Path of the `.ptd` for constants without a tag: of the option, else the output's with the extension `.ptd`.
    fn data_file(&self, target: Option<&Path>) -> Result<PathBuf, Failure> {
        match (self.external_data, target) {
            (Some(file), _) if !file.as_os_str().is_empty() => Ok(file.to_owned()),
            (_, Some(target)) => Ok(target.with_extension("ptd")),
            (_, None) => Err(Failure::usage(
                "only one file can be written to standard output; add `-o FILE`, or `--external-data FILE.ptd`",
            )),
        }
    }

    /// Checks that no output would replace an input, a file that the inputs refer to (`sources`), another output, or a
    /// source.
    ///
    /// # Errors
    /// The first output that would.
    pub fn check_targets<'t>(
        &self,
        targets: impl Iterator<Item = &'t Path>,
        sources: impl Iterator<Item = &'t Path>,
    ) -> Result<(), Failure> {
        let inputs = self.inputs.iter().filter(|input| input.as_os_str() != STREAM);
        let mut inputs: HashSet<PathBuf> = inputs.filter_map(|path| path.canonicalize().ok()).collect();
        inputs.extend(sources.filter_map(|path| path.canonicalize().ok()));
        let mut taken = HashSet::new();
        for target in targets {
            let (path, shown) = (io::canonical(target), target.display());
            if inputs.contains(&path) {
                let message = format!("output {shown} is also an input and would be overwritten; name another");
                return Err(Failure::Usage(message));
            }
            if !taken.insert(path) {
                return Err(Failure::Usage(format!("two outputs have the same path {shown}; rename one")));
            }
        }
        Ok(())
    }
}

fn with_ptd(tag: &str) -> String {
    if tag.ends_with(".ptd") { tag.to_owned() } else { format!("{tag}.ptd") }
}

fn sibling(target: Option<&Path>, name: &str) -> PathBuf {
    target.and_then(Path::parent).unwrap_or(Path::new("")).join(name)
}

/// Writes all files of an input to temporary files, and standard output directly.
///
/// # Errors
/// A file that cannot be written, or data that cannot be read.
pub fn write(
    input: &str,
    files: &[(Option<PathBuf>, OutputContent<'_>)],
    force: bool,
    bar: &ProgressBar,
) -> Result<Outputs, Failure> {
    let mut outputs = Outputs::new(input, force);
    // Standard output last: it cannot be undone.
    let (named, streamed): (Vec<_>, Vec<_>) = files.iter().partition(|(target, _)| target.is_some());
    for (target, content) in named.into_iter().chain(streamed) {
        let progress = |bytes| bar.inc(bytes);
        match target {
            Some(target) => {
                outputs.write(target, Replaced::Binary, content.allocated, &progress, |out| content.write(out))?;
            }
            None => stdout::write(input, |out| content.write(&mut OutputSink::new(out, &progress)))?,
        }
    }
    Ok(outputs)
}
