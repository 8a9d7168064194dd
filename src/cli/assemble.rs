//! `pte-emit assemble INPUT -o FILE`, or without the name of the command: assembles YAML, and rewrites binary files.

use std::cell::LazyCell;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use clap::{ArgAction, Args, FromArgMatches};
use indicatif::ProgressBar;
use pte_emit::command::text::{counted, first_names, nearest};
use pte_emit::program::{Memory, TensorData};
use pte_emit::{
    AssembleOptions, Assembly, Code, DEFAULT_MAX_SIZE, Error, Model, SourceNames,
    check::{CheckOptions, RuleSeverity, Work},
    command::workers,
    edit::Pattern,
    plan::{LAYOUT_OPTIONS, LayoutOptionValue, LayoutOptions, Shards},
    release::Release,
    weights::ExternalRule,
};

use super::depfile::Dependencies;
use super::destination::{self, Destination};
use super::exit::{Exit, Failure};
use super::findings::{self, FileFindings, FindingsFormat};
use super::formats::{OutputContent, OutputFormat};
use super::io::{self, Messages, STREAM};
use super::options::{ForceArguments, FormatArguments};
use super::outputs::{NewFolder, Outputs};
use super::releases::ForRuntimeArguments;
use super::sources::{SourceArguments, Sources};
use super::{stdout, summary};

/// Arguments of the main command.
#[derive(Debug, Args)]
pub struct AssembleArguments {
    /// YAML or JSON to assemble, or .pte, .ptd, .bpte and .safetensors files to rewrite; - is standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Output: a file, whose extension selects the format, or a folder for several inputs (FOLDER/ is created); - is
    /// standard output
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Format of the output; by default that of its extension, without one .pte, or .ptd for an input without methods
    #[arg(long, value_name = "FORMAT", value_parser = OutputFormat::parser())]
    to: Option<&'static OutputFormat>,
    /// Store constants and data of delegates in a .ptd, by default named like the output; with =PATTERN those with such
    /// names, as in 'enc.ptd=encoder.*'. May be repeated
    #[arg(
        long, value_name = "FILE.ptd[=PATTERN]", num_args = 0..=1, default_missing_value = "", action = ArgAction::Append,
        value_parser = ExternalArgument::parse
    )]
    external_data: Vec<ExternalArgument>,
    /// Split the .ptd into files with at most this many bytes of data: model-00001-of-00003.ptd and so on
    #[arg(long, value_name = "BYTES", value_parser = io::size)]
    max_shard_size: Option<u64>,
    /// Write the program of a .bpte unchanged, without its tests
    #[arg(long, conflicts_with_all = ["external_data", "with", "for_runtime"])]
    strip_tests: bool,
    /// Store the data of the --with files in the program; with a pattern those of such keys, as in 'encoder.*'. May be
    /// repeated
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "", action = ArgAction::Append)]
    internal_data: Vec<String>,
    /// Remove what has no effect: instructions whose results nothing uses, values, operators and delegates
    #[arg(long, conflicts_with = "strip_tests")]
    prune: bool,
    /// Warnings are errors: exit with status 1, and write no output
    #[arg(long)]
    deny_warnings: bool,
    /// Write the files that are read as a rule of Make
    #[arg(long, value_name = "FILE")]
    depfile: Option<PathBuf>,
    #[command(flatten)]
    replace: ForceArguments,
    // Of the messages on standard error.
    #[command(flatten)]
    messages: FormatArguments<FindingsFormat>,
    #[command(flatten)]
    sources: SourceArguments,
    #[command(flatten)]
    for_runtime: ForRuntimeArguments,
    #[command(flatten)]
    layout: LayoutArguments,
}

/// Words that are commands of other tools, and the command of this one.
const OTHER_COMMANDS: &[(&str, &str)] = &[
    ("build", "assemble"),
    ("compare", "diff"),
    ("compile", "assemble"),
    ("convert", "assemble"),
    ("decompile", "dump"),
    ("disassemble", "dump"),
    ("emit", "assemble"),
    ("explain", "annotate"),
    ("graph", "report"),
    ("html", "report"),
    ("info", "inspect"),
    ("lint", "check"),
    ("list", "inspect"),
    ("make", "assemble"),
    ("minimize", "reduce"),
    ("operators", "ops"),
    ("print", "dump"),
    ("show", "inspect"),
    ("summary", "inspect"),
    ("validate", "check"),
];

/// Options of `layout:`, which override those of the source: one argument for each row of [`LAYOUT_OPTIONS`].
#[derive(Debug, Default)]
struct LayoutArguments(LayoutOptions);

impl Args for LayoutArguments {
    fn augment_args(command: clap::Command) -> clap::Command {
        LAYOUT_OPTIONS.iter().fold(command, |command, option| {
            let parse = |text: &str| option.parse(text).map_err(|expected| format!("expected {expected}"));
            let default = option.default;
            command.arg(
                clap::Arg::new(option.name)
                    .long(option.name.replace('_', "-"))
                    .value_name("VALUE")
                    .help_heading("Layout")
                    .value_parser(parse)
                    .help(format!("{}: {} [default: {default}]", option.doc, option.expected())),
            )
        })
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        LayoutArguments::augment_args(command)
    }
}

impl FromArgMatches for LayoutArguments {
    fn from_arg_matches(matches: &clap::ArgMatches) -> Result<LayoutArguments, clap::Error> {
        let mut arguments = LayoutArguments::default();
        arguments.update_from_arg_matches(matches)?;
        Ok(arguments)
    }

    fn update_from_arg_matches(&mut self, matches: &clap::ArgMatches) -> Result<(), clap::Error> {
        for option in LAYOUT_OPTIONS {
            if let Some(value) = matches.get_one::<LayoutOptionValue>(option.name) {
                option.set(&mut self.0, *value);
            }
        }
        Ok(())
    }
}

/// State that all inputs share.
struct Command<'a> {
    arguments: &'a AssembleArguments,
    sources: Sources<'a>,
    /// Files of `--with` and operators of `--ops`, for warnings.
    validator: CheckOptions,
    /// Release of `--for-runtime`.
    runtime: Option<Release>,
    /// Size in bytes of the data of the inputs so far.
    size: AtomicU64,
}

/// Runs the command, and prints the messages in the requested form.
pub fn run(mut arguments: AssembleArguments, messages: &Messages) -> Exit {
    let format = arguments.messages.format();
    let own = messages.of_findings(format != FindingsFormat::Text, arguments.deny_warnings);
    let exit = assemble(&mut arguments, &own).unwrap_or_else(|failure| failure.report(&own));
    messages.print(&findings::document(&own.into_collected(), format, messages.least()));
    exit
}

/// Assembles all inputs in parallel; one that fails does not stop the others. Messages are in the order of the inputs.
///
/// # Errors
/// Contradictory arguments. Errors of an input are reported here.
fn assemble(arguments: &mut AssembleArguments, messages: &Messages) -> Result<Exit, Failure> {
    // Dropped at the end: the folder stays if a file is in it.
    let _folder = arguments.output_folder()?;
    arguments.check()?;
    let validator = arguments.sources.validator()?;
    let runtime = arguments.for_runtime.release()?;
    let sources = Sources::new(&arguments.sources);
    let read = Dependencies::new(&arguments.inputs, &arguments.sources);
    let command = Command { arguments, sources, validator, runtime, size: AtomicU64::new(0) };
    let outputs = Outputs::new("", command.arguments.replace.force);
    let mut done = Done { read, outputs, ..Done::default() };
    let exit = if let [input] = &*command.arguments.inputs {
        command.finish(command.assemble(input, messages), &mut done, messages)
    } else {
        let jobs = workers::map(command.arguments.inputs.iter().collect(), workers::cores(), |input| {
            let messages = messages.buffered();
            (command.assemble(input, &messages), messages)
        });
        // In the order of the inputs: messages and outputs must not depend on which thread finishes first.
        jobs.into_iter().fold(Exit::Ok, |worst, (written, buffered)| {
            messages.append(buffered);
            worst.max(command.finish(written, &mut done, messages))
        })
    };
    command.sources.warn_unused(messages);
    if let Some(depfile) = &command.arguments.depfile {
        // An input that failed leaves no rule, but the outputs of the others.
        if exit == Exit::Ok {
            done.read.write(depfile, done.written.iter().map(PathBuf::as_path), &mut done.outputs)?;
        }
        done.outputs.commit()?;
        messages.summary(&done.summary);
    }
    Ok(exit)
}

/// Inputs whose outputs are complete.
#[derive(Default)]
struct Done {
    /// Files that were read.
    read: Dependencies,
    /// Outputs as messages and build systems name them.
    written: Vec<PathBuf>,
    /// Canonical paths of the outputs.
    taken: HashSet<PathBuf>,
    /// With `--depfile`, the outputs: it is checked against all of them and committed with them.
    outputs: Outputs,
    /// Printed after their commit.
    summary: String,
}

/// Outputs that are written, but not committed.
struct Written {
    outputs: Outputs,
    /// Paths of the outputs as the command line has them.
    targets: Vec<PathBuf>,
    /// Files that were read.
    read: Dependencies,
    /// Printed after the commit.
    summary: String,
}

impl Command<'_> {
    /// Assembles each document of an input; a binary file is one.
    fn assemble(&self, input: &Path, messages: &Messages) -> Vec<Result<Written, Failure>> {
        let Command { arguments, sources, .. } = self;
        if arguments.strip_tests {
            return vec![self.strip_tests(input)];
        }
        let source = match io::open(input) {
            Ok(source) if source.is_text() => source,
            Ok(binary) => return vec![self.assemble_document(io::stem(input), binary, &Work::default(), messages)],
            Err(error) => return vec![Err(error.into())],
        };
        let documents = match sources.documents(source) {
            Ok(documents) => documents,
            Err(error) => return vec![Err(error.into())],
        };
        let count = documents.len();
        if count > 1 && !arguments.output.as_ref().is_some_and(|output| output.is_dir()) {
            let advice = match arguments.destination().path() {
                Some(output) => format!("{0} is not a folder; write `-o {0}/` to create it", output.display()),
                None => "add `-o FOLDER/`".to_owned(),
            };
            let documents = counted(count, "document");
            let message = format!("{} has {documents}, which need an output folder; {advice}", input.display());
            return vec![Err(Failure::Usage(message))];
        }
        // All documents of a file have the work of one program.
        let work = Work::default();
        let document = |(source, number)| {
            let mut name = io::stem(input).to_owned();
            if count > 1 {
                name.push(format!("-{number}"));
            }
            self.assemble_document(&name, source, &work, messages)
        };
        documents.into_iter().zip(1..).map(document).collect()
    }

    /// Commits the outputs of the documents of an input: all of them, or none if one failed or another input has
    /// written the same paths. All inputs have been read.
    fn finish(&self, written: Vec<Result<Written, Failure>>, done: &mut Done, messages: &Messages) -> Exit {
        let (mut outputs, mut summary, mut worst) = (Outputs::default(), String::new(), Exit::Ok);
        let mut targets = Vec::new();
        for written in written {
            match written {
                Ok(written) => {
                    outputs.append(written.outputs);
                    summary += &written.summary;
                    targets.extend(written.targets);
                    done.read.extend(written.read);
                }
                Err(failure) => worst = worst.max(failure.report(messages)),
            }
        }
        if worst != Exit::Ok {
            return worst;
        }
        let commit = || {
            self.arguments.deny(self.sources.unused().len() as u64)?;
            let mut own = HashSet::new();
            for target in outputs.targets() {
                let (path, shown) = (io::canonical(target), target.display());
                if done.taken.contains(&path) {
                    let message = format!("several inputs have the output {shown}; assemble them one by one");
                    return Err(Failure::Usage(message));
                }
                if own.contains(&path) {
                    let message = format!("two documents have the output {shown}; give each its own `name`");
                    return Err(Failure::Usage(message));
                }
                own.insert(path);
            }
            done.taken.extend(own);
            done.written.append(&mut targets);
            if self.arguments.depfile.is_some() {
                done.outputs.append(outputs);
                done.summary += &std::mem::take(&mut summary);
                return Ok(());
            }
            outputs.commit()
        };
        match commit() {
            Ok(()) => {
                messages.summary(&summary);
                Exit::Ok
            }
            Err(failure) => failure.report(messages),
        }
    }
}

impl AssembleArguments {
    /// Returns an error if the first input is a word that is not a file, and one of `commands`, misspelt, was probably
    /// meant.
    pub fn reject_unknown_command<'c>(&self, commands: impl Iterator<Item = &'c str>) -> Result<(), Failure> {
        let Some(word) = self.inputs.first().and_then(|input| input.to_str()) else { return Ok(()) };
        let is_word = word.starts_with(|c: char| c.is_ascii_alphabetic())
            && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if !is_word || Path::new(word).exists() {
            return Ok(());
        }
        let other = OTHER_COMMANDS.iter().find(|(other, _)| *other == word).map(|(_, command)| *command);
        // Any two letters are near to `io`.
        let help = match other.or_else(|| nearest(word, commands).filter(|_| word.len() > 2)) {
            Some(command) => format!("did you mean the command `{command}`?"),
            None if self.inputs.len() > 1 => "`pte-emit --help` lists the commands".to_owned(),
            None => return Ok(()),
        };
        Err(Failure::Usage(format!("no such file `{word}`; {help}")))
    }

    /// Treats the value of `--external-data model.yaml` as an input, and the option as one without a value; also for
    /// `--internal-data`.
    fn reclaim_inputs(&mut self) -> Result<(), Failure> {
        let is_input = |file: &Path| io::is_source_name(file) || io::is_binary_name(file) || file.as_os_str() == STREAM;
        for argument in &mut self.external_data {
            let ExternalArgument::Rest(file) = argument else { continue };
            if file.as_os_str().is_empty() || file.extension().is_some_and(|extension| extension == "ptd") {
                continue;
            }
            if !is_input(file) {
                let message = format!("`--external-data {}`: expected a .ptd file, or no value", file.display());
                return Err(Failure::Usage(message));
            }
            self.inputs.push(std::mem::take(file));
        }
        for pattern in self.internal_data.iter_mut().filter(|pattern| is_input(Path::new(pattern))) {
            self.inputs.push(std::mem::take(pattern).into());
        }
        Ok(())
    }

    /// Returns an error for placements that contradict each other.
    fn check_placements(&self) -> Result<(), Failure> {
        let rest = self.external_data.iter().filter(|argument| matches!(argument, ExternalArgument::Rest(_)));
        if rest.count() > 1 {
            let message = "`--external-data` without a pattern is given twice: all data would be in both files; add `=PATTERN` to one";
            return Err(Failure::usage(message));
        }
        if self.internal_data.iter().any(String::is_empty) && !self.external_data.is_empty() {
            let message = "`--internal-data` without a pattern stores all data in the program, `--external-data` stores some in a .ptd; \
                           omit one";
            return Err(Failure::usage(message));
        }
        Ok(())
    }

    /// The file of `--external-data` without a pattern; an empty path if it is named like the output.
    fn data_file(&self) -> Option<&Path> {
        self.external_data.iter().find_map(|argument| match argument {
            ExternalArgument::Rest(file) => Some(&**file),
            ExternalArgument::Rule(_) => None,
        })
    }

    /// Creates the folder `-o FOLDER/`; other outputs name a file, or a folder that exists.
    fn output_folder(&self) -> Result<NewFolder, Failure> {
        let destination = self.destination();
        let Some(folder) = destination.path().filter(|path| is_folder_name(path)) else {
            return Ok(NewFolder::default());
        };
        let name = folder.display().to_string();
        NewFolder::create(folder).map_err(|error| Error::io(&name, "cannot create folder", &error).into())
    }

    fn check(&mut self) -> Result<(), Failure> {
        self.reclaim_inputs()?;
        self.check_placements()?;
        let usage = |message: &str| Err(Failure::usage(message));
        if self.inputs.is_empty() {
            return usage("no input; see `pte-emit --help`");
        }
        if io::reads_stream_twice(&self.inputs) {
            return usage("standard input can be read only once");
        }
        match &self.output {
            Some(output) if self.inputs.len() > 1 && !output.is_dir() => {
                let folder = output.display();
                return usage(&format!(
                    "several inputs need an output folder, but {folder} is not a folder; create it, or write `-o {folder}/`"
                ));
            }
            None if self.inputs.len() > 1 => return usage("several inputs need an output folder; add `-o FOLDER`"),
            Some(output) if output.as_os_str() == STREAM => stdout::check_terminal("a binary file")?,
            None => stdout::check_terminal("a binary file")?,
            Some(_) => {}
        }
        if let (Some(_), None) = (&self.depfile, self.destination().path()) {
            return usage("`--depfile` names the outputs, which standard output has not; add `-o FILE`");
        }
        if let Some(depfile) = &self.depfile {
            let inputs = self.inputs.iter().chain(self.sources.files());
            io::check_output(depfile, inputs.map(PathBuf::as_path)).map_err(Failure::Usage)?;
        }
        self.destination().format()?;
        for (position, input) in self.inputs.iter().enumerate() {
            if let Some(other) = self.inputs[..position].iter().find(|other| io::stem(other) == io::stem(input)) {
                let (other, name) = (other.display(), io::stem(input).display());
                let input = input.display();
                return usage(&format!(
                    "{other} and {input} have the same output {name}.pte; assemble them one by one"
                ));
            }
        }
        Ok(())
    }

    /// Returns an error if there are warnings, and they are denied.
    fn deny(&self, warnings: u64) -> Result<(), Failure> {
        if self.deny_warnings && warnings > 0 { Err(Failure::DeniedWarnings(warnings)) } else { Ok(()) }
    }

    /// Does the same before an output is written, which matters for standard output. Of several inputs, which are
    /// written to a folder, the others may not have been read yet: their unused definitions are known in [`finish`].
    fn deny_before_writing(&self, warnings: u64, sources: &Sources<'_>) -> Result<(), Failure> {
        let unused = if self.inputs.len() == 1 { sources.unused().len() as u64 } else { 0 };
        self.deny(warnings + unused)
    }

    /// Outputs of the command.
    fn destination(&self) -> Destination<'_> {
        let inputs = self.inputs.iter().chain(&self.sources.with).map(PathBuf::as_path).collect();
        Destination { output: self.output.as_deref(), to: self.to, external_data: self.data_file(), inputs }
    }

    /// Options of assembling an input called `name`.
    fn options(&self, name: &OsStr) -> AssembleOptions {
        let internal = self.internal_data.iter().filter(|text| !text.is_empty());
        self.sources
            .options()
            .layout(self.layout.0.clone())
            .external_data(self.data_file().is_some())
            .external(self.external_data.iter().filter_map(ExternalArgument::rule).cloned().collect())
            .internal_data(self.internal_data.iter().any(String::is_empty))
            .internal(internal.map(Pattern::new).collect())
            .with(self.sources.with.clone())
            .shards(self.shards(name))
            .prune(self.prune)
    }

    /// Options of splitting the `.ptd`; the names of the shards begin with its name.
    fn shards(&self, name: &OsStr) -> Option<Shards> {
        let max_bytes = self.max_shard_size?;
        let target = self.destination().target(name, OutputFormat::default_of(true));
        let file = self.data_file().filter(|file| !file.as_os_str().is_empty()).or(target.as_deref());
        let name = file.map_or(name, io::stem).to_string_lossy().into_owned();
        Some(Shards::new(max_bytes, name))
    }
}

/// Returns true for a path that ends with a separator.
fn is_folder_name(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().last().is_some_and(|last| std::path::is_separator(char::from(*last)))
}

impl Command<'_> {
    /// Assembles a document. `name` is the default name of its outputs; its validation takes from `work`.
    fn assemble_document(
        &self,
        name: &OsStr,
        source: Model,
        work: &Work,
        messages: &Messages,
    ) -> Result<Written, Failure> {
        let Command { arguments, sources, .. } = self;
        let mut options = arguments.options(name);
        options.for_runtime.clone_from(&self.runtime);
        let assembly = source.assemble(&options)?;
        self.check_size(&source, &assembly)?;
        let name = assembly.name.as_ref().map_or(name, OsStr::new);
        let mut warnings = 0;
        if arguments.data_file().is_some() {
            warnings += report_unmoved(&assembly, messages);
        }
        let destination = arguments.destination();
        let format = destination.format_of(&assembly)?;
        let label = source.label();
        let files = (format.files)(&assembly)?;
        if files.is_empty() {
            let message =
                format!("nothing to write: a .{} needs a tensor or a blob, the input has none", format.extension);
            return Err(Error::input(Code::UnmetRequest, source.name(), message).into());
        }
        let main = destination.target(name, format);
        let targets = destination.targets(&files, &assembly, main.as_deref())?;
        if messages.warns() {
            let mut options = self.validator.clone().work(work.clone());
            if arguments.internal_data.iter().any(String::is_empty) {
                // Their data are in the program now.
                options.with.clear();
            }
            options.reported.clone_from(assembly.unknown_operators());
            options.runtime.clone_from(&self.runtime);
            let findings = (format.validate)(&assembly, &files, &options)?;
            let file = FileFindings::of_source(&source, assembly.warnings.clone(), findings);
            warnings += report_warnings(FileFindings { is_output: true, ..file }, &assembly, messages);
        }
        arguments.deny_before_writing(warnings, sources)?;
        let files: Vec<_> = targets.into_iter().zip(files.into_iter().map(|(_, content)| content)).collect();
        let bytes = files.iter().map(|(_, content)| content.size).fold(0, u64::saturating_add);
        let bar = messages.progress(bytes);
        let outputs = destination::write(&label, &files, arguments.replace.force, &bar);
        bar.finish_and_clear();
        let outputs = outputs?;
        let named = files.iter().map(|(target, content)| (target.as_deref(), content));
        let mut read = Dependencies::default();
        read.add_assembly(&assembly);
        let summary = summary::of(&assembly, named, true);
        let targets = files.iter().filter_map(|(target, _)| target.clone()).collect();
        Ok(Written { outputs, targets, read, summary })
    }

    /// Returns an error if the data of the inputs so far exceed the limit.
    fn check_size(&self, source: &Model, assembly: &Assembly) -> Result<(), Failure> {
        let limit = self.arguments.sources.options().max_size.unwrap_or(DEFAULT_MAX_SIZE);
        let size = assembly.data_size();
        if self.size.fetch_add(size, Ordering::Relaxed).saturating_add(size) > limit {
            let message =
                format!("the data of all inputs exceed the limit of {limit} bytes, which `--max-size` raises");
            return Err(Error::input(Code::LimitExceeded, &source.label(), message).into());
        }
        Ok(())
    }

    /// Writes the program of a bundled program, unchanged.
    fn strip_tests(&self, input: &Path) -> Result<Written, Failure> {
        let Command { arguments, sources, .. } = self;
        let (program, destination) = (OutputFormat::default_of(true), arguments.destination());
        if let Some(other) = destination.format()?.filter(|format| format.extension != program.extension) {
            let message = format!("`--strip-tests` writes a .{}, found .{}", program.extension, other.extension);
            return Err(Failure::Usage(message));
        }
        let source = io::open_binary(input)?;
        let program_file = source.bundled_program()?;
        let target = destination.target(io::stem(input), program);
        destination.check_targets(target.as_deref().into_iter(), std::iter::empty())?;
        arguments.deny_before_writing(0, sources)?;
        let content = OutputContent::new(program_file.len(), |out| out.blob(&program_file));
        let targets = target.iter().cloned().collect();
        let outputs =
            destination::write(source.name(), &[(target, content)], arguments.replace.force, &ProgressBar::hidden())?;
        Ok(Written { outputs, targets, read: Dependencies::default(), summary: String::new() })
    }
}

/// Warns if `--external-data` moves nothing, or leaves named data in the program; returns the number of warnings.
fn report_unmoved(assembly: &Assembly, messages: &Messages) -> u64 {
    let named = assembly.program().named_data.iter().flatten().map(|entry| entry.key.as_str());
    let stay = named.clone().next().is_some().then(|| first_names(named));
    // Those that stay have a warning of their own.
    let mut tensors = assembly.program().plans().iter().flat_map(|plan| plan.tensors());
    let has_constants = tensors.any(|(_, tensor)| tensor.data != TensorData::None && tensor.memory == Memory::None);
    let warning = match (assembly.plan().external.is_empty() && !has_constants, stay) {
        (true, None) => "`--external-data` writes no .ptd: the program has no constants of its own".to_owned(),
        (true, Some(keys)) => format!(
            "`--external-data` writes no .ptd: the program has no constants of its own, and no delegate refers to {keys} of `named_data`"
        ),
        (false, Some(keys)) => format!("`--external-data`: {keys} of `named_data` stay in the program"),
        (false, None) => return 0,
    };
    if messages.warns() {
        messages.warning(&warning);
    }
    u64::from(messages.warns())
}

/// Reports the warnings of assembling, and findings as warnings; returns their number. Findings are not errors: sources
/// may describe malformed files on purpose, to test a loader.
fn report_warnings(file: FileFindings, assembly: &Assembly, messages: &Messages) -> u64 {
    let warnings = file.counts().warnings;
    if messages.is_collecting() {
        messages.collect([file]);
        return warnings;
    }
    messages.report(&file.report);
    let names = LazyCell::new(|| SourceNames::new(assembly));
    let findings = file.findings.iter().flat_map(|findings| &findings.list);
    for finding in findings.filter(|finding| finding.rule.severity < RuleSeverity::Note) {
        messages.print(&format!("warning: {}: {}", file.label(), names.lines(finding)));
    }
    warnings
}

/// A value of `--external-data`.
#[derive(Debug, Clone)]
enum ExternalArgument {
    /// The file for all data; an empty path stands for the option without a value.
    Rest(PathBuf),
    /// A file for data with some names.
    Rule(ExternalRule),
}

impl ExternalArgument {
    fn parse(text: &str) -> Result<ExternalArgument, String> {
        match text.contains(".ptd=") {
            true => text.parse().map(ExternalArgument::Rule),
            false => Ok(ExternalArgument::Rest(text.into())),
        }
    }

    fn rule(&self) -> Option<&ExternalRule> {
        match self {
            ExternalArgument::Rest(_) => None,
            ExternalArgument::Rule(rule) => Some(rule),
        }
    }
}
