//! Code that the editing commands share: their input and output, the validation of the result, and its summary.
//!
//! An output that `check` rejects is not written.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use clap::Args;
use pte_emit::{
    AssembleOptions, Assembly, Code, Error, Model, Report, Resolved, SourceNames, check::CheckOptions,
    command::validation::of_edit,
};

use super::destination::{self, Destination};
use super::exit::{Exit, Failure};
use super::formats::{OutputContent, OutputFormat};
use super::io::{self, Messages, STREAM};
use super::options::ForceArguments;
use super::releases::ForRuntimeArguments;
use super::sources::{SourceArguments, Sources};
use super::{stdout, summary};

/// Arguments of the outputs of commands that edit programs.
#[derive(Debug, Args)]
pub struct EditArguments {
    /// Output: a file, whose extension selects the format, or a folder; - is standard output
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Print what would be done, and write nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    replace: ForceArguments,
    #[command(flatten)]
    for_runtime: ForRuntimeArguments,
    #[command(flatten)]
    pub sources: SourceArguments,
}

impl EditArguments {
    /// Opens an input of one document. YAML is assembled.
    ///
    /// # Errors
    /// An input that cannot be read, or has several documents.
    pub fn open(&self, input: &Path, messages: &Messages) -> Result<Model, Failure> {
        let mut models = self.open_all(&[input.to_owned()], messages)?;
        Ok(models.remove(0))
    }

    /// Opens several inputs of one document each.
    ///
    /// # Errors
    /// Those of [`EditArguments::open`].
    pub fn open_all(&self, inputs: &[PathBuf], messages: &Messages) -> Result<Vec<Model>, Failure> {
        if self.output.as_deref().is_none_or(|output| output.as_os_str() == STREAM) && !self.dry_run {
            stdout::check_terminal("a binary file")?;
        }
        let sources = Sources::checked(&self.sources)?;
        let open = |input: &PathBuf| {
            let name = input.display();
            sources.open_one(input, |found| format!("{name} has {found} documents, expected one"))
        };
        let models = inputs.iter().map(open).collect::<Result<Vec<Model>, Error>>()?;
        sources.warn_unused(messages);
        Ok(models)
    }

    /// Checks that the output is a file of a format; a dry run needs none.
    ///
    /// # Errors
    /// No output, or another extension: `reason` says why.
    pub fn check_extension(&self, extension: &str, reason: &str) -> Result<(), Failure> {
        let is_of = |output: &PathBuf| output.extension().is_some_and(|found| found == extension);
        match self.output.as_ref().map_or(self.dry_run, is_of) {
            true => Ok(()),
            false => Err(Failure::Usage(format!("{reason}: expected `-o FILE.{extension}`"))),
        }
    }

    /// Options of planning: the limit of the size, and the release that is written for. Data of `--with` are only read
    /// by the commands that need them.
    ///
    /// # Errors
    /// An unknown release.
    pub fn options(&self) -> Result<AssembleOptions, Failure> {
        let mut options = self.sources.options();
        options.for_runtime = self.for_runtime.release()?;
        Ok(options)
    }

    /// Plans, validates and writes an edited program. `inputs` are the files that were read, of which the first one
    /// names the output in a folder; `done` is the report of the edit, which the summary begins with.
    ///
    /// # Errors
    /// The program cannot be planned, is rejected by `check`, or cannot be written.
    pub fn write(
        &self,
        resolved: Resolved,
        options: &AssembleOptions,
        inputs: &[&Path],
        done: &str,
        messages: &Messages,
    ) -> Result<Exit, Failure> {
        self.write_assembly(&resolved.to_files(options)?, inputs, done, messages)
    }

    /// Does the same for an assembly.
    ///
    /// # Errors
    /// Those of [`EditArguments::write`].
    pub fn write_assembly(
        &self,
        assembly: &Assembly,
        inputs: &[&Path],
        done: &str,
        messages: &Messages,
    ) -> Result<Exit, Failure> {
        self.write_files(assembly, &[], inputs, done, messages)
    }

    /// Does the same for a program and for its `.ptd` files, each with the path that it was read from. A single one is
    /// named like the output, several have their names in its folder.
    ///
    /// # Errors
    /// Those of [`EditArguments::write`]; the output is standard output, which has room for one file.
    pub fn write_files(
        &self,
        assembly: &Assembly,
        others: &[(PathBuf, Assembly)],
        inputs: &[&Path],
        done: &str,
        messages: &Messages,
    ) -> Result<Exit, Failure> {
        let input = inputs.first().copied().unwrap_or(Path::new(STREAM));
        let label = input.display().to_string();
        let mut read: Vec<&Path> = inputs.to_vec();
        read.extend(self.sources.with.iter().map(PathBuf::as_path));
        let destination = Destination { output: self.output.as_deref(), inputs: read, ..Destination::default() };
        let format = destination.format_of(assembly)?;
        let files = (format.files)(assembly)?;
        if files.is_empty() {
            let message = format!("nothing to write: a .{} needs a tensor or a blob", format.extension);
            return Err(Error::input(Code::UnmetRequest, &label, message).into());
        }
        let main = destination.target(io::stem(input), format);
        let mut targets = if self.dry_run && main.is_none() {
            vec![None; files.len()]
        } else {
            destination.targets(&files, assembly, main.as_deref())?
        };
        let mut options = self.sources.validator()?;
        options.reported.clone_from(assembly.unknown_operators());
        validate(assembly, format, &files, &options, &label, messages)?;
        let mut contents: Vec<OutputContent<'_>> = files.into_iter().map(|(_, content)| content).collect();
        for (path, other) in others {
            let data = OutputFormat::default_of(false);
            let files = (data.files)(other)?;
            validate(other, data, &files, &CheckOptions::default(), &path.display().to_string(), messages)?;
            targets.push(self.target_beside(main.as_deref(), path, others.len(), &destination, other)?);
            contents.extend(files.into_iter().map(|(_, content)| content).take(1));
        }
        let mut seen = HashSet::new();
        if let Some(twice) = targets.iter().flatten().find(|target| !seen.insert(io::canonical(target))) {
            let message = format!("two outputs have the same path {}; rename one of the inputs", twice.display());
            return Err(Failure::Usage(message));
        }
        let files: Vec<_> = targets.into_iter().zip(contents).collect();
        let written =
            summary::of(assembly, files.iter().map(|(target, content)| (target.as_deref(), content)), inputs.len() > 1);
        if self.dry_run {
            messages.summary(&format!("{done}nothing is written (`--dry-run`)\n"));
            return Ok(Exit::Ok);
        }
        let bar = messages.progress(files.iter().map(|(_, content)| content.size).fold(0, u64::saturating_add));
        let outputs = destination::write(&label, &files, self.replace.force, &bar);
        bar.finish_and_clear();
        outputs?.commit()?;
        messages.summary(&format!("{done}{written}"));
        Ok(Exit::Ok)
    }

    /// Path of the new version of a `.ptd` of a program whose output is `main`; `None` in a dry run without an output.
    fn target_beside(
        &self,
        main: Option<&Path>,
        path: &Path,
        count: usize,
        destination: &Destination<'_>,
        assembly: &Assembly,
    ) -> Result<Option<PathBuf>, Failure> {
        let Some(main) = main else {
            let message = "only one file can be written to standard output; add `-o FILE` for the program and its .ptd";
            return if self.dry_run { Ok(None) } else { Err(Failure::usage(message)) };
        };
        let target = match count {
            1 => main.with_extension("ptd"),
            _ => main.with_file_name(path.file_name().unwrap_or_default()),
        };
        let mut sources = Vec::new();
        assembly.data_sources(&mut |path| sources.push(path));
        let targets = [main, &target];
        destination.check_targets(targets.into_iter(), sources.into_iter())?;
        Ok(Some(target))
    }
}

/// Validates the files of an edited program before they are written. Of a method that exceeds a limit of `check`,
/// nothing wrong is known: that is a warning.
///
/// # Errors
/// All other errors that `check` would report.
fn validate(
    assembly: &Assembly,
    format: &OutputFormat,
    files: &destination::Files<'_>,
    options: &CheckOptions,
    label: &str,
    messages: &Messages,
) -> Result<(), Failure> {
    let findings = (format.validate)(assembly, files, options)?;
    let names = SourceNames::new(assembly);
    let (limits, errors) = of_edit(&findings);
    for finding in limits {
        messages.warning(&format!("{label}: {finding}"));
    }
    // The first line is the finding, the others are about the rule.
    let message = |text: String| {
        let mut lines = text.lines();
        let message = Code::UnmetRequest.whole(lines.next().unwrap_or_default().to_owned());
        let about: Vec<&str> = lines.map(str::trim).collect();
        if about.is_empty() { message } else { message.help(about.join("; ")) }
    };
    let errors: Vec<_> = errors.into_iter().map(|finding| message(names.lines(finding).to_string())).collect();
    if errors.is_empty() {
        return Ok(());
    }
    let help = "`pte-emit check` shows whether the input has the same errors";
    let mut report = Report::new(label, "", errors);
    report.diagnostics.push(Code::UnmetRequest.whole("the result has errors: it is not written".to_owned()).help(help));
    Err(Error::new(report).into())
}
