//! `pte-emit INPUT -o FILE`: assembles YAML, and rewrites binary files.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{IsTerminal, stdout};
use std::path::{Path, PathBuf};

use clap::{Args, FromArgMatches, ValueEnum};
use indicatif::ProgressBar;

use super::exit::Exit;
use super::io::{self, Definitions, Messages, STREAM};
use super::outputs::{Outputs, Stream};
use super::summary;
use crate::assembly::{Assembly, BundledFile, OutputFile};
use crate::check::{self, DataFile, RuleSeverity};
use crate::data::{Origin, workers};
use crate::emitter::ByteSink;
use crate::emitter::safetensors::Safetensors;
use crate::error::Error;
use crate::layout::Shards;
use crate::layout::options::{OPTIONS, OptionOverrides, OptionValue, parse_bytes};
use crate::pipeline::Options;
use crate::reader::bundled_program;
use crate::source::{Source, SourceContent};

/// Arguments of the main command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// YAML or JSON to assemble, or .pte, .ptd, .bpte and .safetensors files to rewrite; - is standard input
    #[arg(value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Output file, or a folder for several inputs; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Output format; by default from the extension of the output
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Store all constants in a .ptd; by default named like the output
    #[arg(long, value_name = "FILE.ptd", num_args = 0..=1, default_missing_value = "", value_parser = data_file)]
    external_data: Option<PathBuf>,
    /// Split the .ptd into files with at most this many bytes of data: model-00001-of-00003.ptd and so on
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_shard_size: Option<u64>,
    /// Write the program of a .bpte unchanged, without its tests
    #[arg(long, conflicts_with_all = ["external_data", "with"])]
    strip_tests: bool,
    /// .ptd with data that the program refers to; may be repeated
    #[arg(long, value_name = "FILE.ptd")]
    with: Vec<PathBuf>,
    /// Store the data of the --with files in the program
    #[arg(long, conflicts_with = "external_data")]
    internal_data: bool,
    /// Print errors only
    #[arg(short, long)]
    quiet: bool,
    /// Define the value of ${NAME} in the inputs
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = io::definition)]
    definitions: Vec<(String, String)>,
    /// Fail if the data exceed this total size; 64 GiB by default
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_size: Option<u64>,
    #[command(flatten)]
    layout: LayoutArguments,
}

/// Options of `layout:`, which override those of the source: one argument for each row of [`OPTIONS`].
#[derive(Debug, Default)]
struct LayoutArguments(OptionOverrides);

impl Args for LayoutArguments {
    fn augment_args(command: clap::Command) -> clap::Command {
        OPTIONS.iter().fold(command.next_help_heading("Layout"), |command, option| {
            let parse = |text: &str| option.parse(text).map_err(|expected| format!("expected {expected}"));
            let default = option.default;
            command.arg(
                clap::Arg::new(option.name)
                    .long(option.name.replace('_', "-"))
                    .value_name("VALUE")
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
        for (index, option) in OPTIONS.iter().enumerate() {
            if let Some(value) = matches.get_one::<OptionValue>(option.name) {
                self.0.push(index, *value);
            }
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Program
    Pte,
    /// Weights
    Ptd,
    /// Bundled program: a program and its tests
    Bpte,
    /// Weights in the format of Hugging Face
    Safetensors,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Format::Pte => "pte",
            Format::Ptd => "ptd",
            Format::Bpte => "bpte",
            Format::Safetensors => "safetensors",
        }
    }
}

/// Failed command: exit status and message; an empty message is printed already.
struct Failure(Exit, String);

/// Assembles all inputs in parallel; one that fails does not stop the others. Messages are in the order of the inputs.
pub fn run(mut arguments: Arguments, messages: &Messages) -> Exit {
    if let Err(Failure(exit, message)) = arguments.check() {
        messages.error(&message);
        return exit;
    }
    let definitions = Definitions::new(&arguments.definitions);
    let mut taken = HashSet::new();
    let exit = if let [input] = &*arguments.inputs {
        let done = |written| finish(written, &mut taken, messages);
        assemble_input(input, &arguments, &definitions, messages).map(done).fold(Exit::Ok, Exit::max)
    } else {
        let (cores, colours) = (workers::cores(), messages.colours());
        let jobs = workers::map(arguments.inputs.iter().collect(), cores, |input| {
            let messages = Messages::buffered(colours);
            let written: Vec<_> = assemble_input(input, &arguments, &definitions, &messages).collect();
            (written, messages)
        });
        // In the order of the inputs: messages and outputs must not depend on which thread finishes first.
        jobs.into_iter().fold(Exit::Ok, |worst, (written, buffered)| {
            messages.append(buffered);
            written.into_iter().fold(worst, |worst, written| worst.max(finish(written, &mut taken, messages)))
        })
    };
    if !arguments.quiet {
        definitions.warn_unused(messages);
    }
    exit
}

/// Assembles each document of an input; a binary file is one.
fn assemble_input<'a>(
    input: &'a Path,
    arguments: &'a Arguments,
    definitions: &Definitions,
    messages: &'a Messages,
) -> Box<dyn Iterator<Item = Result<Written, Failure>> + 'a> {
    let source = match io::open(input) {
        Ok(source) if source.is_text() => source,
        Ok(binary) => {
            return Box::new(std::iter::once_with(move || {
                assemble_document(input, stem(input), binary, arguments, messages)
            }));
        }
        Err(error) => return Box::new(std::iter::once(Err(failure(&error, messages)))),
    };
    let documents = match definitions.documents(source) {
        Ok(documents) => documents,
        Err(error) => return Box::new(std::iter::once(Err(failure(&error, messages)))),
    };
    let count = documents.len();
    if count > 1 && !arguments.output.as_ref().is_some_and(|output| output.is_dir()) {
        let message =
            format!("{} has {count} documents, which need an output folder; add `-o FOLDER`", input.display());
        return Box::new(std::iter::once(Err(Failure(Exit::Usage, message))));
    }
    Box::new(documents.into_iter().zip(1..).map(move |(source, number)| {
        let mut name = stem(input).to_owned();
        if count > 1 {
            name.push(format!("-{number}"));
        }
        assemble_document(input, &name, source, arguments, messages)
    }))
}

/// Prints an error of the library.
fn failure(error: &Error, messages: &Messages) -> Failure {
    messages.report(error.report());
    Failure(Exit::of(error), String::new())
}

/// Outputs that are written, but not committed.
struct Written {
    outputs: Outputs,
    /// Printed after the commit.
    summary: String,
}

/// Commits the outputs of an input, unless another input has written the same paths (`taken`).
fn finish(written: Result<Written, Failure>, taken: &mut HashSet<PathBuf>, messages: &Messages) -> Exit {
    let done = written.and_then(|Written { outputs, summary }| {
        let paths: Vec<PathBuf> = outputs.targets().map(io::canonical).collect();
        if let Some(path) = paths.iter().find(|path| taken.contains(*path)) {
            let message = format!("several inputs have the output {}; assemble them one by one", path.display());
            return Err(Failure(Exit::Usage, message));
        }
        taken.extend(paths);
        outputs.commit().map_err(|error| Failure(Exit::Io, error.to_string()))?;
        messages.print(&summary);
        Ok(())
    });
    match done {
        Ok(()) => Exit::Ok,
        Err(Failure(exit, message)) => {
            if !message.is_empty() {
                messages.error(&message);
            }
            exit
        }
    }
}

impl Arguments {
    /// Treats the value of `--external-data model.yaml` as an input, and the option as one without a value.
    fn reclaim_input(&mut self) -> Result<(), Failure> {
        let Some(file) = &mut self.external_data else { return Ok(()) };
        let extension = file.extension().unwrap_or_default();
        if file.as_os_str().is_empty() || extension == "ptd" {
            return Ok(());
        }
        let is_input =
            ["yaml", "yml", "json", "pte", "bpte"].iter().any(|name| extension == *name) || file.as_os_str() == STREAM;
        if !is_input {
            let message = format!("`--external-data {}`: expected a .ptd file, or no value", file.display());
            return Err(Failure(Exit::Usage, message));
        }
        self.inputs.push(std::mem::take(file));
        Ok(())
    }

    fn check(&mut self) -> Result<(), Failure> {
        self.reclaim_input()?;
        let usage = |message: &str| Err(Failure(Exit::Usage, message.to_owned()));
        if self.inputs.is_empty() {
            return usage("no input; see `pte-emit --help`");
        }
        if self.inputs.iter().filter(|input| input.as_os_str() == STREAM).count() > 1 {
            return usage("standard input can be read only once");
        }
        match &self.output {
            Some(output) if self.inputs.len() > 1 && !output.is_dir() => {
                let folder = output.display();
                return usage(&format!(
                    "several inputs need an output folder, but {folder} is not a folder; create it first"
                ));
            }
            None if self.inputs.len() > 1 => return usage("several inputs need an output folder; add `-o FOLDER`"),
            None if stdout().is_terminal() => return usage("cannot write a binary file to a terminal; add `-o FILE`"),
            Some(output) if output.as_os_str() == STREAM && stdout().is_terminal() => {
                return usage("cannot write a binary file to a terminal; redirect standard output, or use `-o FILE`");
            }
            _ => {}
        }
        for (position, input) in self.inputs.iter().enumerate() {
            if let Some(other) = self.inputs[..position].iter().find(|other| stem(other) == stem(input)) {
                let (other, name) = (other.display(), stem(input).display());
                let input = input.display();
                return usage(&format!(
                    "{other} and {input} have the same output {name}.pte; assemble them one by one"
                ));
            }
        }
        Ok(())
    }

    /// Path of the main output of an input called `name`; `None` is standard output.
    fn target(&self, name: &OsStr, format: Format) -> Option<PathBuf> {
        let output = self.output.as_deref().filter(|output| output.as_os_str() != STREAM)?;
        if !output.is_dir() {
            return Some(output.to_owned());
        }
        let mut name = name.to_owned();
        name.push(".");
        name.push(format.extension());
        Some(output.join(name))
    }

    /// Options of splitting the `.ptd`; the names of the shards begin with its name.
    fn shards(&self, name: &OsStr) -> Option<Shards> {
        let max_bytes = self.max_shard_size?;
        let target = self.target(name, Format::Pte);
        let file = self.external_data.as_deref().filter(|file| !file.as_os_str().is_empty()).or(target.as_deref());
        let name = file.map_or(name, stem).to_string_lossy().into_owned();
        Some(Shards { max_bytes, name })
    }

    /// Requested format: of the option, else of the extension of the output.
    fn format(&self) -> Option<Format> {
        self.format.or_else(|| match self.output.as_ref()?.extension()?.to_str()? {
            "pte" => Some(Format::Pte),
            "ptd" => Some(Format::Ptd),
            "bpte" => Some(Format::Bpte),
            "safetensors" => Some(Format::Safetensors),
            _ => None,
        })
    }
}

/// File name of an input without its extension.
fn stem(input: &Path) -> &OsStr {
    if input.as_os_str() == STREAM { "stdin".as_ref() } else { input.file_stem().unwrap_or_default() }
}

/// Assembles a document. `name` is the default name of its outputs.
fn assemble_document(
    input: &Path,
    name: &OsStr,
    source: Source<'_>,
    arguments: &Arguments,
    messages: &Messages,
) -> Result<Written, Failure> {
    if arguments.strip_tests {
        return strip_tests(input, &source, arguments);
    }
    let options = Options {
        layout: arguments.layout.0.clone(),
        external_data: arguments.external_data.is_some(),
        internal_data: arguments.internal_data,
        with: arguments.with.clone(),
        max_size: arguments.max_size,
        shards: arguments.shards(name),
    };
    let assembly = crate::assemble(&source, &options).map_err(|error| failure(&error, messages))?;
    let name = assembly.name.as_ref().map_or(name, OsStr::new);
    if arguments.external_data.is_some() && assembly.plan.external.is_empty() && !arguments.quiet {
        messages.print("warning: `--external-data` writes no .ptd: the program has no constants of its own\n");
    }
    let files = files(&assembly, input, name, arguments)?;
    let replacement = match arguments.format() {
        Some(Format::Bpte) => {
            Some(Replacement::Bundled(Box::new(assembly.bundled().map_err(|error| failure(&error, messages))?)))
        }
        Some(Format::Safetensors) => {
            Some(Replacement::Tensors(assembly.safetensors().map_err(|error| failure(&error, messages))?))
        }
        _ => None,
    };
    if !arguments.quiet {
        messages.report(&assembly.warnings);
        let bundle = match &replacement {
            Some(Replacement::Bundled(bundle)) => Some(&**bundle),
            _ => None,
        };
        let findings = findings(input, &assembly, bundle, arguments);
        messages.print(&findings.map_err(|error| Failure(Exit::Io, error.to_string()))?);
    }
    let bytes = files.iter().filter_map(|(_, file)| file.size()).fold(0, u64::saturating_add);
    let bar = if arguments.quiet { ProgressBar::hidden() } else { messages.progress(bytes) };
    let outputs = write(&files, replacement.as_ref(), &bar);
    bar.finish_and_clear();
    // Data that cannot be converted are invalid input; all other errors are I/O errors.
    let exit = |error: &std::io::Error| match error.kind() {
        std::io::ErrorKind::InvalidData => Exit::Input,
        _ => Exit::Io,
    };
    let outputs = outputs.map_err(|error| Failure(exit(&error), error.to_string()))?;
    let named = files.iter().map(|(target, file)| (target.as_deref(), file));
    let summary = if arguments.quiet { String::new() } else { summary::of(&assembly, named) };
    Ok(Written { outputs, summary })
}

/// Validates the outputs and returns the findings as warnings. They are not errors: sources may describe malformed files on purpose, to
/// test a loader.
fn findings(
    input: &Path,
    assembly: &Assembly,
    bundle: Option<&BundledFile>,
    arguments: &Arguments,
) -> std::io::Result<String> {
    let open = |path: &PathBuf| DataFile::open(path.display().to_string(), &Origin::File(path.as_path().into()));
    let with = arguments.with.iter().map(open).collect::<std::io::Result<_>>()?;
    let options = check::ValidatorOptions { with, ..check::ValidatorOptions::default() };
    let mut out = String::new();
    let findings = match bundle {
        Some(bundle) => vec![check::bundled_program(&bundle.to_vec()?, &options)],
        None => check::assembly(assembly, &options)?,
    };
    for findings in findings {
        let shown = findings.list().iter().filter(|finding| finding.rule.severity < RuleSeverity::Note);
        for finding in shown {
            out += &format!("warning: {}: {finding}\n", input.display());
            out += &format!("    the runtime: {}\n", finding.rule.runtime);
        }
    }
    Ok(out)
}

/// Writes the program of a bundled program, unchanged.
fn strip_tests(input: &Path, source: &Source<'_>, arguments: &Arguments) -> Result<Written, Failure> {
    let SourceContent::Binary(origin) = source.content() else {
        return Err(Failure(Exit::Usage, format!("`--strip-tests` expects a .bpte, but {} is YAML", input.display())));
    };
    let bundled = bundled_program::read(origin)
        .map_err(|error| Failure(Exit::of_io(&error), format!("{}: {error}", source.name())))?;
    let failed = |error: std::io::Error| Failure(Exit::Io, error.to_string());
    let mut outputs = Outputs::new();
    match arguments.target(stem(input), Format::Pte) {
        None => io::write_to_stdout(|out| bundled.program.copy_to(out)).map_err(failed)?,
        Some(target) if io::canonical(&target) == io::canonical(input) => return Err(overwrites_input(&target)),
        Some(target) => {
            outputs.write(&target, bundled.program.len, &|_| (), |out| out.blob(&bundled.program)).map_err(failed)?;
        }
    }
    Ok(Written { outputs, summary: String::new() })
}

/// Files of an assembly and their paths; `None` is standard output.
fn files<'a>(
    assembly: &'a Assembly,
    input: &Path,
    name: &OsStr,
    arguments: &Arguments,
) -> Result<Vec<(Option<PathBuf>, OutputFile<'a>)>, Failure> {
    let program = assembly.program_file();
    let assembled = if program.is_some() { Format::Pte } else { Format::Ptd };
    let format = arguments.format().unwrap_or(assembled);
    let usage = |message: &str| Failure(Exit::Usage, message.to_owned());
    match (format, assembled) {
        (Format::Ptd, Format::Pte) => {
            return Err(usage("the input has methods: expected a .pte as output; use `--external-data` for a .ptd"));
        }
        (Format::Pte | Format::Bpte, Format::Ptd) => {
            return Err(usage("the input has no methods: expected a .ptd as output"));
        }
        (Format::Safetensors, Format::Pte) => {
            return Err(usage("a program cannot be written as .safetensors; expected an input without methods"));
        }
        (Format::Safetensors, _) if assembly.data_files().count() > 1 => {
            return Err(usage("data with tags are written to several files, but a .safetensors is one file"));
        }
        _ => {}
    }
    let target = arguments.target(name, format);
    let mut files: Vec<(Option<PathBuf>, OutputFile<'a>)> =
        program.map(|file| (target.clone(), file)).into_iter().collect();
    for ((tag, file), plan) in assembly.data_files().zip(&assembly.plan.external) {
        let path = match tag {
            Some(tag) if assembled == Format::Pte && plan.is_shard => {
                Some(sibling(Some(&default_data_file(arguments, target.as_deref())?), &with_ptd(tag)))
            }
            Some(tag) => Some(sibling(target.as_deref(), &with_ptd(tag))),
            None if assembled == Format::Ptd => target.clone(),
            None => Some(default_data_file(arguments, target.as_deref())?),
        };
        files.push((path, file));
    }
    if files.iter().filter(|(target, _)| target.is_none()).count() > 1 {
        return Err(usage("only one file can be written to standard output; add `-o FILE`"));
    }
    let sources = assembly.program.blobs.iter().filter_map(|blob| blob.file());
    let sources: HashSet<PathBuf> = sources.chain([input]).filter_map(|path| path.canonicalize().ok()).collect();
    let mut taken = HashSet::new();
    for target in files.iter().filter_map(|(target, _)| target.as_deref()) {
        let path = io::canonical(target);
        if sources.contains(&path) {
            return Err(overwrites_input(target));
        }
        if !taken.insert(path) {
            return Err(usage(&format!("two outputs have the same path {}; rename one", target.display())));
        }
    }
    Ok(files)
}

fn overwrites_input(target: &Path) -> Failure {
    Failure(Exit::Usage, format!("output {} is also an input and would be overwritten; name another", target.display()))
}

fn with_ptd(tag: &str) -> String {
    if tag.ends_with(".ptd") { tag.to_owned() } else { format!("{tag}.ptd") }
}

fn sibling(target: Option<&Path>, name: &str) -> PathBuf {
    target.and_then(Path::parent).unwrap_or(Path::new("")).join(name)
}

/// Path of the `.ptd` for constants without a tag: of the option, else the output's with the extension `.ptd`.
fn default_data_file(arguments: &Arguments, target: Option<&Path>) -> Result<PathBuf, Failure> {
    match (&arguments.external_data, target) {
        (Some(file), _) if !file.as_os_str().is_empty() => Ok(file.clone()),
        (_, Some(target)) => Ok(target.with_extension("ptd")),
        (_, None) => {
            let message =
                "only one file can be written to standard output; add `-o FILE`, or `--external-data FILE.ptd`";
            Err(Failure(Exit::Usage, message.into()))
        }
    }
}

/// Output in place of the first file.
enum Replacement {
    /// Bundled program: the program and its tests.
    Bundled(Box<BundledFile>),
    /// Weights as `.safetensors`.
    Tensors(Safetensors),
}

impl Replacement {
    fn size(&self) -> u64 {
        match self {
            Replacement::Bundled(bundle) => bundle.file().size().unwrap_or(u64::MAX),
            Replacement::Tensors(tensors) => tensors.size(),
        }
    }

    fn write(&self, out: &mut dyn ByteSink) -> std::io::Result<()> {
        match self {
            Replacement::Bundled(bundle) => bundle.file().write_out(out),
            Replacement::Tensors(tensors) => tensors.write_out(out),
        }
    }
}

/// Writes all files to temporary files, and standard output directly.
fn write(
    files: &[(Option<PathBuf>, OutputFile<'_>)],
    replacement: Option<&Replacement>,
    bar: &ProgressBar,
) -> std::io::Result<Outputs> {
    let mut outputs = Outputs::new();
    // Standard output last: it cannot be undone.
    let (named, streamed): (Vec<_>, Vec<_>) = files.iter().enumerate().partition(|(_, (target, _))| target.is_some());
    for (position, (target, file)) in named.into_iter().chain(streamed) {
        let replacement = replacement.filter(|_| position == 0);
        let size = replacement.map_or(file.size().unwrap_or(0), Replacement::size);
        let content = |out: &mut dyn ByteSink| match replacement {
            Some(replacement) => replacement.write(out),
            None => file.write_out(out),
        };
        let progress = |bytes| bar.inc(bytes);
        match target {
            Some(target) => outputs.write(target, size, &progress, content)?,
            None => io::write_to_stdout(|out| content(&mut Stream::new(out, &progress)))?,
        }
    }
    Ok(outputs)
}

/// Parses a path; an empty one stands for the option without a value, which clap's own parser rejects.
fn data_file(text: &str) -> Result<PathBuf, String> {
    Ok(text.into())
}

fn size(text: &str) -> Result<u64, String> {
    parse_bytes(text).ok_or_else(|| "expected a number of bytes, such as 4096, 16K or 8G".into())
}
