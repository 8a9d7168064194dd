//! `pte-emit TEXT -o FILE`: assembles texts.

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
use crate::assembly::{Assembly, EmittedFile, OutputFile};
use crate::check::{self, DataFile, Severity};
use crate::data::{Origin, workers};
use crate::emitter::Out;
use crate::emitter::safetensors::Safetensors;
use crate::error::Error;
use crate::layout::Shards;
use crate::layout::options::{OPTIONS, OptionOverrides, OptionValue, parse_bytes};
use crate::pipeline::Options;
use crate::reader::bundled_program;
use crate::source::{Content, Source};

/// Arguments of the main command.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Texts to assemble, YAML or JSON, or .pte, .ptd, .bpte and .safetensors files to write anew; - is standard input
    #[arg(value_name = "TEXT")]
    inputs: Vec<PathBuf>,
    /// Where to write; - is standard output; for several texts a folder
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What to write, if the name of the output does not say it
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Put all constants into a .ptd: this one, or the one beside the output
    #[arg(long, value_name = "FILE.ptd", num_args = 0..=1, default_missing_value = "", value_parser = data_file)]
    external_data: Option<PathBuf>,
    /// Split the .ptd into several of at most so many bytes of data: model-00001-of-00003.ptd and so on
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_shard_size: Option<u64>,
    /// Of a .bpte write the program in it as it is
    #[arg(long, conflicts_with_all = ["external_data", "with"])]
    strip_tests: bool,
    /// A .ptd with data that the program refers to
    #[arg(long, value_name = "FILE.ptd")]
    with: Vec<PathBuf>,
    /// Put the data of the --with files into the program
    #[arg(long, conflicts_with = "external_data")]
    internal_data: bool,
    /// Say nothing but errors
    #[arg(short, long)]
    quiet: bool,
    /// What ${NAME} in the texts stands for
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = io::definition)]
    definitions: Vec<(String, String)>,
    /// Refuse data that are larger in all
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_size: Option<u64>,
    #[command(flatten)]
    layout: LayoutArguments,
}

/// The options of `layout:`, which replace those of the source: one argument for each row of the table.
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
    /// A program.
    Pte,
    /// Weights alone.
    Ptd,
    /// A program and its tests.
    Bpte,
    /// Weights alone, for others.
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

/// Why a command stops: how to exit, and what to say.
struct Failure(Exit, String);

/// Assembles all texts, several at a time; one that fails does not stop the others. Messages come in the texts' order.
pub fn run(mut arguments: Arguments, messages: &Messages) -> Exit {
    if let Err(Failure(exit, message)) = arguments.check() {
        messages.error(&message);
        return exit;
    }
    let definitions = Definitions::new(&arguments.definitions);
    let mut taken = HashSet::new();
    let exit = if let [input] = &*arguments.inputs {
        let done = |written| finish(written, &mut taken, messages);
        every(input, &arguments, &definitions, messages).map(done).fold(Exit::Ok, Exit::max)
    } else {
        let (cores, colours) = (workers::cores(), messages.colours());
        let jobs = workers::map(arguments.inputs.iter().collect(), cores, |input| {
            let messages = Messages::kept(colours);
            let written: Vec<_> = every(input, &arguments, &definitions, &messages).collect();
            (written, messages)
        });
        // In the texts' order, so that what is said and what is in the folder does not depend on who was done first.
        jobs.into_iter().fold(Exit::Ok, |worst, (written, kept)| {
            messages.say(kept);
            written.into_iter().fold(worst, |worst, written| worst.max(finish(written, &mut taken, messages)))
        })
    };
    if !arguments.quiet {
        definitions.warn_unused(messages);
    }
    exit
}

/// Assembles each document of an input; a binary file is one.
fn every<'a>(
    input: &'a Path,
    arguments: &'a Arguments,
    definitions: &Definitions,
    messages: &'a Messages,
) -> Box<dyn Iterator<Item = Result<Written, Failure>> + 'a> {
    let source = match io::open(input) {
        Ok(source) if source.is_text() => source,
        Ok(binary) => {
            return Box::new(std::iter::once_with(move || one(input, stem(input), binary, arguments, messages)));
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
            format!("{} has {count} documents, which need a folder to go to; add `-o FOLDER`", input.display());
        return Box::new(std::iter::once(Err(Failure(Exit::Usage, message))));
    }
    Box::new(documents.into_iter().zip(1..).map(move |(source, number)| {
        let mut name = stem(input).to_owned();
        if count > 1 {
            name.push(format!("-{number}"));
        }
        one(input, &name, source, arguments, messages)
    }))
}

/// Prints an error of the library.
fn failure(error: &Error, messages: &Messages) -> Failure {
    messages.report(error.report());
    Failure(Exit::of(error), String::new())
}

/// Outputs that are written, but not yet in their places.
struct Written {
    outputs: Outputs,
    /// What to say when they are.
    summary: String,
}

/// Puts the outputs of a text in their places, unless another text's are there (`taken`), and says how it went.
fn finish(written: Result<Written, Failure>, taken: &mut HashSet<PathBuf>, messages: &Messages) -> Exit {
    let done = written.and_then(|Written { outputs, summary }| {
        let places: Vec<PathBuf> = outputs.targets().map(io::place).collect();
        if let Some(place) = places.iter().find(|place| taken.contains(*place)) {
            let message = format!("{} was made of another text already; assemble them one by one", place.display());
            return Err(Failure(Exit::Usage, message));
        }
        taken.extend(places);
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
    /// `--external-data model.yaml` means the option without a file, and a text.
    fn take_back_input(&mut self) -> Result<(), Failure> {
        let Some(file) = &mut self.external_data else { return Ok(()) };
        let extension = file.extension().unwrap_or_default();
        if file.as_os_str().is_empty() || extension == "ptd" {
            return Ok(());
        }
        let text =
            ["yaml", "yml", "json", "pte", "bpte"].iter().any(|text| extension == *text) || file.as_os_str() == STREAM;
        if !text {
            let message = format!("{} is no .ptd: `--external-data` takes the name of one, or nothing", file.display());
            return Err(Failure(Exit::Usage, message));
        }
        self.inputs.push(std::mem::take(file));
        Ok(())
    }

    fn check(&mut self) -> Result<(), Failure> {
        self.take_back_input()?;
        let usage = |message: &str| Err(Failure(Exit::Usage, message.to_owned()));
        if self.inputs.is_empty() {
            return usage("no text is given; `pte-emit --help` shows how");
        }
        if self.inputs.iter().filter(|input| input.as_os_str() == STREAM).count() > 1 {
            return usage("standard input can be read once only");
        }
        match &self.output {
            Some(output) if self.inputs.len() > 1 && !output.is_dir() => {
                let folder = output.display();
                return usage(&format!(
                    "several texts need a folder to go to, and {folder} is none; make it, or give one text"
                ));
            }
            None if self.inputs.len() > 1 => return usage("several texts need a folder to go to; add `-o FOLDER`"),
            None if stdout().is_terminal() => return usage("a binary file is not for a terminal; add `-o FILE`"),
            Some(output) if output.as_os_str() == STREAM && stdout().is_terminal() => {
                return usage("a binary file is not for a terminal; write it to a file, or to a pipe");
            }
            _ => {}
        }
        for (position, input) in self.inputs.iter().enumerate() {
            if let Some(other) = self.inputs[..position].iter().find(|other| stem(other) == stem(input)) {
                let (other, name) = (other.display(), stem(input).display());
                let input = input.display();
                return usage(&format!("{other} and {input} would both become {name}.pte; assemble them one by one"));
            }
        }
        Ok(())
    }

    /// Where the main output of a text called `name` goes; `None` is standard output.
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

    /// How the `.ptd` is split: its parts are called as it would be.
    fn shards(&self, name: &OsStr) -> Option<Shards> {
        let max_bytes = self.max_shard_size?;
        let target = self.target(name, Format::Pte);
        let file = self.external_data.as_deref().filter(|file| !file.as_os_str().is_empty()).or(target.as_deref());
        let name = file.map_or(name, stem).to_string_lossy().into_owned();
        Some(Shards { max_bytes, name })
    }

    /// What is asked for: by the option, else by the name of the output.
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

/// Name of a text without its extension.
fn stem(input: &Path) -> &OsStr {
    if input.as_os_str() == STREAM { "stdin".as_ref() } else { input.file_stem().unwrap_or_default() }
}

/// Assembles a document, whose outputs are called `name` where nothing else says how.
fn one(
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
        messages.print("warning: there are no constants inside the program, so --external-data makes no .ptd\n");
    }
    let files = files(&assembly, input, name, arguments)?;
    let failed = |error: std::io::Error| Failure(Exit::of_io(&error), format!("{}: {error}", input.display()));
    let instead = match arguments.format() {
        Some(Format::Bpte) => Some(Instead::Bundled(Box::new(assembly.bundled().map_err(failed)?))),
        Some(Format::Safetensors) => Some(Instead::Tensors(assembly.safetensors().map_err(failed)?)),
        _ => None,
    };
    if !arguments.quiet {
        messages.report(&assembly.warnings);
        let bundle = match &instead {
            Some(Instead::Bundled(made)) => Some(&**made),
            _ => None,
        };
        let judged = judge(input, &assembly, bundle, arguments);
        messages.print(&judged.map_err(|error| Failure(Exit::Io, error.to_string()))?);
    }
    let bytes = files.iter().filter_map(|(_, file)| file.size()).fold(0, u64::saturating_add);
    let bar = if arguments.quiet { ProgressBar::hidden() } else { messages.progress(bytes) };
    let outputs = write(&files, instead.as_ref(), &bar);
    bar.finish_and_clear();
    // Data that cannot be converted are wrong; everything else is about the output.
    let exit = |error: &std::io::Error| match error.kind() {
        std::io::ErrorKind::InvalidData => Exit::Input,
        _ => Exit::Io,
    };
    let outputs = outputs.map_err(|error| Failure(exit(&error), error.to_string()))?;
    let named = files.iter().map(|(target, file)| (target.as_deref(), file));
    let summary = if arguments.quiet { String::new() } else { summary::of(&assembly, named) };
    Ok(Written { outputs, summary })
}

/// What the checker has against what is about to be written. A text may well ask for a file that the runtime refuses, as
/// who tests a runtime does, so nothing of it is an error here.
fn judge(
    input: &Path,
    assembly: &Assembly,
    bundle: Option<&EmittedFile>,
    arguments: &Arguments,
) -> std::io::Result<String> {
    let open = |path: &PathBuf| DataFile::open(path.display().to_string(), &Origin::File(path.as_path().into()));
    let with = arguments.with.iter().map(open).collect::<std::io::Result<_>>()?;
    let options = check::Options { with, ..check::Options::default() };
    let mut out = String::new();
    let findings = match bundle {
        Some(bundle) => vec![check::bundled_program(&bundle.file(&[], &[]).to_vec()?, &options)],
        None => check::assembly(assembly, &options)?,
    };
    for findings in findings {
        let loud = findings.list().iter().filter(|finding| finding.rule.severity < Severity::Note);
        for finding in loud {
            out += &format!("warning: {}: {finding}\n", input.display());
            out += &format!("    the runtime: {}\n", finding.rule.runtime);
        }
    }
    Ok(out)
}

/// Writes the program of a bundled program, untouched.
fn strip_tests(input: &Path, source: &Source<'_>, arguments: &Arguments) -> Result<Written, Failure> {
    let Content::Binary(origin) = source.content() else {
        return Err(Failure(Exit::Usage, format!("{} is a text: only a .bpte has tests to strip", input.display())));
    };
    let found = bundled_program::read(origin)
        .map_err(|error| Failure(Exit::of_io(&error), format!("{}: {error}", source.name())))?;
    let failed = |error: std::io::Error| Failure(Exit::Io, error.to_string());
    let mut outputs = Outputs::new();
    match arguments.target(stem(input), Format::Pte) {
        None => io::write_to_stdout(|out| found.program.copy_to(out)).map_err(failed)?,
        Some(target) if io::place(&target) == io::place(input) => return Err(would_be_lost(&target)),
        Some(target) => {
            outputs.write(&target, found.program.len, &|_| (), |out| out.blob(&found.program)).map_err(failed)?;
        }
    }
    Ok(Written { outputs, summary: String::new() })
}

/// The files of an assembly with their targets; `None` is standard output.
fn files<'a>(
    assembly: &'a Assembly,
    input: &Path,
    name: &OsStr,
    arguments: &Arguments,
) -> Result<Vec<(Option<PathBuf>, OutputFile<'a>)>, Failure> {
    let program = assembly.program_file();
    let found = if program.is_some() { Format::Pte } else { Format::Ptd };
    let format = arguments.format().unwrap_or(found);
    let usage = |message: &str| Failure(Exit::Usage, message.to_owned());
    match (format, found) {
        (Format::Ptd, Format::Pte) => {
            return Err(usage("the text has methods, so it makes a .pte; name one, and a .ptd with `--external-data`"));
        }
        (Format::Pte | Format::Bpte, Format::Ptd) => {
            return Err(usage("the text has no methods, so it makes a .ptd; name one"));
        }
        (Format::Safetensors, Format::Pte) => {
            return Err(usage("a program is no .safetensors; weights alone can become one"));
        }
        (Format::Safetensors, _) if assembly.data_files().count() > 1 => {
            return Err(usage("weights with tags are several files; a .safetensors is one"));
        }
        _ => {}
    }
    let target = arguments.target(name, format);
    let mut files: Vec<(Option<PathBuf>, OutputFile<'a>)> =
        program.map(|file| (target.clone(), file)).into_iter().collect();
    for ((tag, file), plan) in assembly.data_files().zip(&assembly.plan.external) {
        let path = match tag {
            Some(tag) if found == Format::Pte && plan.is_shard => {
                Some(sibling(Some(&default_data_file(arguments, target.as_deref())?), &with_ptd(tag)))
            }
            Some(tag) => Some(sibling(target.as_deref(), &with_ptd(tag))),
            None if found == Format::Ptd => target.clone(),
            None => Some(default_data_file(arguments, target.as_deref())?),
        };
        files.push((path, file));
    }
    if files.iter().filter(|(target, _)| target.is_none()).count() > 1 {
        return Err(usage("two files cannot both go to standard output; name an output"));
    }
    let sources = assembly.program.blobs.iter().filter_map(|blob| blob.file());
    let sources: HashSet<PathBuf> = sources.chain([input]).filter_map(|path| path.canonicalize().ok()).collect();
    let mut taken = HashSet::new();
    for target in files.iter().filter_map(|(target, _)| target.as_deref()) {
        let place = io::place(target);
        if sources.contains(&place) {
            return Err(would_be_lost(target));
        }
        if !taken.insert(place) {
            return Err(usage(&format!("two outputs are called {}; give one another name", target.display())));
        }
    }
    Ok(files)
}

fn would_be_lost(target: &Path) -> Failure {
    Failure(Exit::Usage, format!("{} is read for this output and would be lost; name another", target.display()))
}

fn with_ptd(tag: &str) -> String {
    if tag.ends_with(".ptd") { tag.to_owned() } else { format!("{tag}.ptd") }
}

fn sibling(target: Option<&Path>, name: &str) -> PathBuf {
    target.and_then(Path::parent).unwrap_or(Path::new("")).join(name)
}

/// The `.ptd` for constants without a tag: as named, else beside the program with its name.
fn default_data_file(arguments: &Arguments, target: Option<&Path>) -> Result<PathBuf, Failure> {
    match (&arguments.external_data, target) {
        (Some(file), _) if !file.as_os_str().is_empty() => Ok(file.clone()),
        (_, Some(target)) => Ok(target.with_extension("ptd")),
        (_, None) => {
            let message = "the .ptd cannot go to standard output, too; name it with `--external-data FILE.ptd`, or name the output";
            Err(Failure(Exit::Usage, message.into()))
        }
    }
}

/// What takes the place of the first file.
enum Instead {
    /// The bundle of the program and its tests.
    Bundled(Box<EmittedFile>),
    /// The weights in another format.
    Tensors(Safetensors),
}

impl Instead {
    fn size(&self) -> u64 {
        match self {
            Instead::Bundled(made) => made.file(&[], &[]).size().unwrap_or(u64::MAX),
            Instead::Tensors(tensors) => tensors.size(),
        }
    }

    fn write(&self, out: &mut dyn Out) -> std::io::Result<()> {
        match self {
            Instead::Bundled(made) => made.file(&[], &[]).write_out(out),
            Instead::Tensors(tensors) => tensors.write_out(out),
        }
    }
}

/// Writes all files, or none; standard output at once.
fn write(
    files: &[(Option<PathBuf>, OutputFile<'_>)],
    instead: Option<&Instead>,
    bar: &ProgressBar,
) -> std::io::Result<Outputs> {
    let mut outputs = Outputs::new();
    // Standard output last: what is written there cannot be taken back.
    let (named, streamed): (Vec<_>, Vec<_>) = files.iter().enumerate().partition(|(_, (target, _))| target.is_some());
    for (position, (target, file)) in named.into_iter().chain(streamed) {
        let instead = instead.filter(|_| position == 0);
        let size = instead.map_or(file.size().unwrap_or(0), Instead::size);
        let content = |out: &mut dyn Out| match instead {
            Some(instead) => instead.write(out),
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

/// A path; the empty one stands for the option without a value, which clap's own parser of paths would refuse.
fn data_file(text: &str) -> Result<PathBuf, String> {
    Ok(text.into())
}

fn size(text: &str) -> Result<u64, String> {
    parse_bytes(text).ok_or_else(|| "expected a number of bytes, such as 4096, 16K or 8G".into())
}
