//! `pte-emit reduce FILE --test 'COMMAND {}' -o OUTPUT`: runs a command with smaller and smaller candidates.
//!
//! The candidates are chosen in [`pte_emit::generate::reduce_file`]. This file writes them, validates them, runs the
//! command, and writes the result.

mod command;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self as std_io, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValue;
use indicatif::ProgressBar;
use pte_emit::command::text::{counted, escaped};
use pte_emit::program::{ExecutionPlan, Program};
use pte_emit::{
    AssembleOptions, Assembly, Code, Error, Format, LargeData, Model, OutputSink, PrintOptions, Reproduction, Resolved,
    check::{CheckOptions, Findings},
    generate::{Candidate, FileContent, FileTests, Reduced, Stopped, TestRuns, reduce_file},
    plan::LayoutConfig,
    run::{RunErrorKind, RunOptions},
};
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use self::command::Outcome;
use super::destination::Files;
use super::exit::{Exit, Failure};
use super::formats::{self, FORMATS, OutputContent, OutputFormat, OutputName, YAML};
use super::interrupt;
use super::io::{self, Messages, STREAM};
use super::options::ForceArguments;
use super::outputs::{Outputs, Replaced};
use super::runner::{self, RunnerArguments};
use super::sources::{SourceArguments, Sources};

/// Arguments of `reduce`.
#[derive(Debug, Args)]
#[command(mut_arg("timeout", |arg| {
    arg.help("Time limit of a run; a run that exceeds it has the exit status timeout")
}))]
pub struct ReduceArguments {
    /// .pte, .ptd, .bpte or YAML to reduce
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Shell command to run with each candidate, whose path replaces {}. Its output is discarded
    #[arg(long, value_name = "COMMAND", required_unless_present = "crashes")]
    test: Option<String>,
    /// In place of --test: execute all methods in the runtime, with inputs of ones. The status is that of a shell: 128
    /// + N if signal N ends it, timeout, or 0
    #[arg(long, conflicts_with = "test")]
    crashes: bool,
    #[command(flatten)]
    runner: RunnerArguments,
    /// Output: a file, whose extension selects the format: .yaml, .pte, .ptd or .bpte
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    #[command(flatten)]
    replace: ForceArguments,
    /// Exit status to look for, by default that of the command with FILE, unless it is 0: a number (128 + N for signal
    /// N), or timeout
    #[arg(long, value_name = "STATUS", value_parser = Outcome::parse)]
    expect: Option<Outcome>,
    /// Format of the candidates; by default that of FILE, and for YAML that of the file that it assembles to
    #[arg(long, value_name = "FORMAT")]
    candidate: Option<CandidateFormat>,
    /// Stop after this many runs of the command, that with FILE included
    #[arg(long, value_name = "N")]
    max_runs: Option<u64>,
    #[command(flatten)]
    sources: SourceArguments,
}

/// Format of the candidates.
#[derive(Debug, Clone, Copy)]
enum CandidateFormat {
    Yaml,
    Binary(&'static OutputFormat),
}

impl clap::ValueEnum for CandidateFormat {
    fn value_variants<'a>() -> &'a [CandidateFormat] {
        static VARIANTS: std::sync::LazyLock<Vec<CandidateFormat>> = std::sync::LazyLock::new(|| {
            let binary = FORMATS.iter().filter(|format| is_candidate(format));
            std::iter::once(CandidateFormat::Yaml).chain(binary.map(CandidateFormat::Binary)).collect()
        });
        &VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.extension()))
    }
}

impl CandidateFormat {
    fn extension(self) -> &'static str {
        match self {
            CandidateFormat::Yaml => "yaml",
            CandidateFormat::Binary(format) => format.extension,
        }
    }

    /// Returns the format of a file by its extension.
    fn of(path: &Path) -> Result<CandidateFormat, Failure> {
        let yaml = YAML.into_iter().map(|(extension, ())| (extension, CandidateFormat::Yaml));
        let binary = FORMATS.iter().filter(|format| is_candidate(format));
        let known = yaml.chain(binary.map(|format| (format.extension, CandidateFormat::Binary(format))));
        formats::of_output(path, known, "")?.ok_or_else(|| {
            Failure::Usage(format!("output {} has no extension, which selects the format", path.display()))
        })
    }

    /// Files that an output of this format replaces.
    fn replaced(self) -> Replaced {
        match self {
            CandidateFormat::Yaml => Replaced::Nothing,
            CandidateFormat::Binary(_) => Replaced::Binary,
        }
    }

    /// Returns the format of the binary files that YAML stands for.
    fn binary(self, has_methods: bool) -> &'static OutputFormat {
        match self {
            CandidateFormat::Yaml => OutputFormat::default_of(has_methods),
            CandidateFormat::Binary(format) => format,
        }
    }
}

/// Returns true for the formats of the runtime, which candidates can have.
fn is_candidate(format: &OutputFormat) -> bool {
    format.extension != Format::Safetensors.extension()
}

/// Runs the command.
///
/// # Errors
/// Contradictory arguments; a file that cannot be read, invalid YAML; a command that cannot be run, or does not exit as
/// requested.
pub fn run(arguments: &ReduceArguments, messages: &Messages) -> Result<Exit, Failure> {
    let output = arguments.check()?;
    interrupt::defer();
    let input = Input::open(arguments, messages)?;
    if let CandidateFormat::Binary(format) = output
        && format.has_methods != input.has_methods
    {
        let found = if input.has_methods { "has methods" } else { "has no methods" };
        let message = format!("{} {found}: it cannot be reduced to a .{}", arguments.input.display(), format.extension);
        return Err(Failure::Usage(message));
    }
    let mut session = Session::new(arguments, &input, messages)?;
    let reduced = session.begin()?.map(|()| session.reduce());
    session.bar.finish_and_clear();
    let Some(reduced) = reduced else { return Ok(Exit::Interrupted) };
    let Reduced { best, is_complete, .. } = reduced?;
    let size = session.write(&best, output)?;
    messages.summary(&session.summary(&best, size, is_complete));
    match session.failure {
        Some(failure) => Err(failure),
        None if interrupt::is_requested() => Ok(Exit::Interrupted),
        None => Ok(Exit::Ok),
    }
}

impl ReduceArguments {
    /// Returns the format of the output.
    fn check(&self) -> Result<CandidateFormat, Failure> {
        if self.test.as_ref().is_some_and(|test| !test.contains(command::PLACEHOLDER)) {
            return Err(Failure::usage(
                "the command of `--test` has no `{}`, which stands for the path of a candidate",
            ));
        }
        if self.input.as_os_str() == STREAM || self.output.as_os_str() == STREAM {
            return Err(Failure::usage("`reduce` needs the names of an input and of an output; found `-`"));
        }
        let (output, input) = (&self.output, io::canonical(&self.input));
        let with = self.sources.with.iter().map(|path| io::canonical(path));
        if std::iter::once(input).chain(with).any(|path| path == io::canonical(output)) {
            let message =
                format!("output {} is also an input and would be overwritten; name another", output.display());
            return Err(Failure::Usage(message));
        }
        let format = CandidateFormat::of(output)?;
        format.replaced().check(output, self.replace.force)?;
        Ok(format)
    }
}

/// The file to reduce.
struct Input {
    source: Model,
    /// Files of YAML, and of a binary file that is converted to the format of the candidates; `None` for other binary
    /// files.
    assembly: Option<Assembly>,
    has_methods: bool,
    /// Format of the candidates.
    format: CandidateFormat,
}

impl Input {
    fn open(arguments: &ReduceArguments, messages: &Messages) -> Result<Input, Failure> {
        let path = &arguments.input;
        // By extension: a file with a damaged identifier is not YAML.
        let source = io::open_any(path)?;
        if source.is_text() {
            return Input::yaml(arguments, source, messages);
        }
        let by_name = || io::extension(path).and_then(OsStr::to_str).and_then(Format::of_extension);
        let format = source.format()?.or_else(by_name).unwrap_or(Format::Program);
        let binary = OutputFormat::of_extension(format.extension()).filter(|format| is_candidate(format));
        let Some(binary) = binary else {
            let message = "expected a .pte, .ptd, .bpte or YAML, found a .safetensors";
            return Err(Error::input(Code::UnexpectedInput, source.name(), message).into());
        };
        let format = arguments.candidate.unwrap_or(CandidateFormat::Binary(binary));
        let is_converted = matches!(format, CandidateFormat::Binary(format) if format.extension != binary.extension);
        let input = Input { source, assembly: None, has_methods: binary.has_methods, format }.checked()?;
        let assembly = is_converted.then(|| input.source.assemble(&AssembleOptions::default())).transpose()?;
        Ok(Input { assembly, ..input })
    }

    fn yaml(arguments: &ReduceArguments, source: Model, messages: &Messages) -> Result<Input, Failure> {
        let sources = Sources::checked(&arguments.sources)?;
        let mut documents = sources.documents(source)?;
        sources.warn_unused(messages);
        let (Some(source), true) = (documents.pop(), documents.is_empty()) else {
            let message = format!("{} has several documents; `reduce` takes one", arguments.input.display());
            return Err(Failure::Usage(message));
        };
        let assembly = source.assemble(&arguments.sources.options())?;
        let has_methods = assembly.program_file().is_some();
        let format = CandidateFormat::Binary(OutputFormat::default_of(has_methods));
        let format = arguments.candidate.unwrap_or(format);
        Input { source, assembly: Some(assembly), has_methods, format }.checked()
    }

    /// Returns the input if its candidates can have the requested format.
    fn checked(self) -> Result<Input, Failure> {
        let format = self.format.binary(self.has_methods);
        if format.has_methods == self.has_methods {
            return Ok(self);
        }
        let found = if self.has_methods { "has methods" } else { "has no methods" };
        Err(Failure::Usage(format!("`--candidate {}`: {} {found}", format.extension, self.source.name())))
    }

    fn error(&self, error: &std_io::Error) -> Failure {
        Failure::reading(self.source.name(), error)
    }
}

/// Content of the smallest file.
type Smallest = FileContent<LayoutConfig>;

/// Largest file in bytes that is reduced byte by byte.
const MAX_BYTES: u64 = 256 << 20;

/// Runs of the command.
struct Session<'a> {
    arguments: &'a ReduceArguments,
    input: &'a Input,
    /// Folder of the candidates; removed with its content when dropped.
    folder: TempDir,
    /// Name of the candidates without extension.
    stem: OsString,
    format: CandidateFormat,
    validator: CheckOptions,
    /// Candidates with errors are not tried.
    must_be_valid: bool,
    expected: Outcome,
    runs: TestRuns,
    /// Files of the last candidate.
    written: Vec<PathBuf>,
    /// Error that stopped the reduction.
    failure: Option<Failure>,
    bar: ProgressBar,
    /// Options of the runs of `--crashes`.
    crashes: Option<RunOptions>,
}

impl<'a> Session<'a> {
    fn new(arguments: &'a ReduceArguments, input: &'a Input, messages: &Messages) -> Result<Session<'a>, Failure> {
        let folder = tempfile::Builder::new().prefix("pte-emit-reduce-").tempdir();
        let folder = folder.map_err(|error| Failure::writing("the folder of candidates", &error))?;
        Ok(Session {
            arguments,
            input,
            folder,
            stem: arguments.input.file_stem().unwrap_or_default().to_owned(),
            format: input.format,
            validator: arguments.sources.validator()?,
            must_be_valid: false,
            expected: Outcome::Timeout,
            runs: TestRuns::new(1, arguments.max_runs),
            written: Vec::new(),
            failure: None,
            bar: messages.spinner(),
            crashes: match arguments.crashes {
                true => Some(RunOptions::new(arguments.runner.command()?).limits(arguments.runner.limits())),
                false => None,
            },
        })
    }

    /// Runs the command with the input, and determines the exit status to look for. `None` if interrupted.
    fn begin(&mut self) -> Result<Option<()>, Failure> {
        let input = self.input;
        let has_tests = || input.source.resolve_for_changes().is_ok_and(|resolved| !resolved.tests.is_empty());
        let binary = bundle(input.format, input.format.binary(input.has_methods), has_tests);
        // The command gets a copy of the input, because it may change or remove the file.
        let findings = match (&input.assembly, self.format) {
            (Some(assembly), _) => {
                let files = (binary.files)(assembly)?;
                self.write_candidate(&files).map_err(|error| input.error(&error))?;
                (binary.validate)(assembly, &files, &self.validator)?
            }
            (None, format) => {
                let written = match format {
                    CandidateFormat::Yaml => {
                        let options = print_options(LargeData::Refer, &self.arguments.input);
                        let printed = input.source.to_yaml(self.folder.path(), &options)?;
                        fs::write(self.candidate_path(), printed.text)
                    }
                    CandidateFormat::Binary(_) => self.copy_input(),
                };
                written.map_err(|error| input.error(&error))?;
                input.source.check(&self.validator)?.into_iter().map(|(_, findings)| findings).collect()
            }
        };
        self.must_be_valid = !findings.iter().any(Findings::has_errors);
        let Some(outcome) = self.run(1)? else { return Ok(None) };
        self.expected = outcome;
        let name = input.source.name();
        match self.arguments.expect {
            Some(expected) if expected != outcome => {
                let message = format!("{} {outcome}; expected one that {expected}", self.subject());
                Err(Error::input(Code::UnmetRequest, name, message).into())
            }
            None if outcome == Outcome::Status(0) => {
                let subject = self.subject();
                Err(Failure::Usage(match self.arguments.crashes {
                    true => format!("{name}: no method crashes {subject} with inputs of ones"),
                    false => format!(
                        "{name}: {subject} {outcome}, as if nothing is wrong; add `--expect 0` to look for this status"
                    ),
                }))
            }
            None if outcome.is_not_run() => {
                let message = format!("{name}: the command of `--test` cannot be started: the shell {outcome}");
                Err(Failure::Usage(message))
            }
            Some(_) | None => Ok(Some(())),
        }
    }

    /// What is run, in messages.
    fn subject(&self) -> &'static str {
        if self.arguments.crashes { "the runner" } else { "the command of `--test`" }
    }

    /// Reduces the input.
    fn reduce(&mut self) -> Result<Reduced<Smallest>, Failure> {
        let (mut program, mut layouts) = (None, vec![LayoutConfig::default()]);
        if let Ok(resolved) = self.input.source.resolve_for_changes() {
            program = Some(Candidate::new(resolved.program, resolved.tests));
            layouts.push(resolved.layout);
            layouts.dedup();
        }
        reduce_file(program, layouts, self)
    }

    /// Stops after an interrupt.
    fn check_stop(&self) -> Result<(), Stopped> {
        if interrupt::is_requested() { Err(Stopped) } else { Ok(()) }
    }

    /// Tests a candidate that is written. `describe` has its size for the progress.
    fn test(&mut self, written: std_io::Result<[u8; 32]>, describe: impl Fn() -> String) -> Result<bool, Stopped> {
        let digest = written.map_err(|error| self.fail(Failure::writing("", &error)))?;
        let mut runs = std::mem::take(&mut self.runs);
        let accepted = runs.test(digest, |number| match self.run(number) {
            Ok(outcome) => outcome.map(|outcome| outcome == self.expected).ok_or(Stopped),
            Err(failure) => Err(self.fail(failure)),
        });
        self.runs = runs;
        if accepted == Ok(true) {
            self.bar.set_prefix(describe());
        }
        accepted
    }

    /// Runs the command with what is written. `None` if interrupted.
    fn run(&self, number: u64) -> Result<Option<Outcome>, Failure> {
        self.bar.set_message(format!("run {number}"));
        if let Some(options) = &self.crashes {
            return self.crash(options);
        }
        let test = self.arguments.test.as_deref().unwrap_or_default();
        let outcome = command::run(test, &self.candidate_path(), self.arguments.runner.limits().time);
        outcome.map_err(|error| Failure::reading("sh", &error))
    }

    /// Executes what is written. `None` if interrupted.
    fn crash(&self, options: &RunOptions) -> Result<Option<Outcome>, Failure> {
        let is_data = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "ptd");
        let data = self.written.iter().filter(is_data).chain(&self.arguments.sources.with);
        let folder = runner::folder()?;
        let found = io::open_any(&self.candidate_path())?.with_data_files(data).crash(options, folder.path());
        if interrupt::is_requested() {
            return Ok(None);
        }
        // A candidate that is invalid does not crash.
        Ok(Some(match found.unwrap_or(None) {
            Some(RunErrorKind::NotStarted(message) | RunErrorKind::Io(message)) => {
                return Err(Failure::Usage(format!("the runner cannot be started: {}", escaped(&message))));
            }
            Some(RunErrorKind::Signal(number, _)) => Outcome::Status(128 + number),
            Some(RunErrorKind::Ended(status)) => Outcome::Status(status),
            Some(RunErrorKind::Timeout(_)) => Outcome::Timeout,
            Some(_) | None => Outcome::Status(0),
        }))
    }

    /// Records the error that stops the reduction.
    fn fail(&mut self, failure: Failure) -> Stopped {
        self.failure = Some(failure);
        Stopped
    }

    /// Returns the path of the main file of a candidate.
    fn candidate_path(&self) -> PathBuf {
        self.folder.path().join(&self.stem).with_added_extension(self.format.extension())
    }

    /// Copies the input.
    fn copy_input(&mut self) -> std_io::Result<()> {
        let path = self.candidate_path();
        let mut source = fs::File::open(&self.arguments.input)?;
        std_io::copy(&mut source, &mut fs::File::create_new(&path)?)?;
        self.written.push(path);
        Ok(())
    }

    /// Removes the files of the last candidate that the command has not removed.
    fn remove_written(&mut self) -> std_io::Result<()> {
        self.written.drain(..).try_for_each(|path| match fs::remove_file(path) {
            Err(error) if error.kind() == std_io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        })
    }

    /// Writes a candidate in its format; returns the digest of its files.
    fn write_candidate(&mut self, files: &Files<'_>) -> std_io::Result<[u8; 32]> {
        match self.format {
            CandidateFormat::Yaml => {
                let text = yaml(files, self.folder.path(), Reproduction::File)?;
                fs::write(self.candidate_path(), &text)?;
                Ok(Sha256::digest(text).into())
            }
            CandidateFormat::Binary(_) => self.write_files(files),
        }
    }

    /// Writes files; returns their digest.
    fn write_files(&mut self, files: &Files<'_>) -> std_io::Result<[u8; 32]> {
        self.remove_written()?;
        let mut digest = Sha256::new();
        let main = self.candidate_path();
        for (name, content) in files {
            let path = sibling(&main, name)?;
            digest.update(path.as_os_str().as_encoded_bytes());
            self.written.push(path.clone());
            let mut out = Digested { out: BufWriter::new(fs::File::create(&path)?), digest };
            content.write(&mut OutputSink::new(&mut out, &|_| ()))?;
            out.flush()?;
            digest = out.digest;
        }
        Ok(digest.finalize().into())
    }

    /// Writes the result; returns its size in bytes.
    fn write(&self, smallest: &Smallest, format: CandidateFormat) -> Result<u64, Failure> {
        let output = &self.arguments.output;
        let failed = |error: std_io::Error| Failure::writing(&output.display().to_string(), &error);
        let mut outputs = Outputs::new(output.display().to_string(), self.arguments.replace.force);
        let (mut size, folder) = (0, output.parent().unwrap_or(Path::new("")));
        match smallest {
            FileContent::Program(candidate, layout) => {
                let assembly = rebuild(candidate, layout)?;
                let binary = format.binary(candidate.program.execution_plan.is_some());
                let binary = bundle(format, binary, || !candidate.tests.is_empty());
                let files = (binary.files)(&assembly)?;
                for (position, (name, content)) in files.iter().enumerate() {
                    let path = sibling(output, name).map_err(failed)?;
                    if let (CandidateFormat::Yaml, 0) = (format, position) {
                        let text = yaml(&files, folder, Reproduction::File).map_err(failed)?;
                        size += text.len() as u64;
                        outputs.write_text(&path, format.replaced(), &text)?;
                    } else {
                        size += content.size;
                        outputs.write(&path, Replaced::Binary, content.size, &|_| (), |out| content.write(out))?;
                    }
                }
            }
            FileContent::Bytes(bytes) => {
                let text = match format {
                    CandidateFormat::Yaml => Some(yaml_of_bytes(bytes, self.format, folder)),
                    CandidateFormat::Binary(_) => None,
                };
                let bytes = text.as_ref().map_or(&bytes[..], String::as_bytes);
                size = bytes.len() as u64;
                outputs.write(output, format.replaced(), size, &|_| (), |out| out.write_all(bytes))?;
            }
        }
        outputs.commit()?;
        Ok(size)
    }

    /// Returns the message at the end: the original size, the final size, and the number of runs.
    fn summary(&self, smallest: &Smallest, size: u64, is_complete: bool) -> String {
        let input = self.input;
        let program = input.assembly.as_ref().map_or_else(|| input.source.program(), |assembly| Ok(assembly.program()));
        let before = match program {
            Ok(program) => Totals::of(program).to_string(),
            Err(_) => {
                let size = fs::metadata(&self.arguments.input).map_or(0, |file| file.len());
                counted(size, "byte")
            }
        };
        let after = match smallest {
            FileContent::Program(candidate, _) => Totals::of(&candidate.program).describe(size),
            FileContent::Bytes(bytes) => counted(bytes.len() as u64, "byte"),
        };
        let mut out = format!("{}: {before}\n", input.source.name());
        out += &format!("{}: {after}\n", self.arguments.output.display());
        out += &format!("  {} of a command that {}", counted(self.runs.count(), "run"), self.expected);
        if !is_complete {
            out += "; stopped early: reduce the output again to continue";
        }
        out + "\n"
    }
}

impl FileTests for Session<'_> {
    type Layout = LayoutConfig;
    type Error = Failure;

    fn test_program(&mut self, candidate: &Candidate, layout: &LayoutConfig) -> Result<bool, Stopped> {
        self.check_stop()?;
        let Ok(assembly) = rebuild(candidate, layout) else { return Ok(false) };
        let binary = self.format.binary(candidate.program.execution_plan.is_some());
        let binary = bundle(self.format, binary, || !candidate.tests.is_empty());
        let files = (binary.files)(&assembly);
        // A .ptd without data is not a file.
        let Some(files) = files.ok().filter(|files| !files.is_empty()) else { return Ok(false) };
        if self.must_be_valid {
            let findings = (binary.validate)(&assembly, &files, &self.validator);
            if findings.is_ok_and(|findings| findings.iter().any(Findings::has_errors)) {
                return Ok(false);
            }
        }
        let written = self.write_candidate(&files);
        let size = || files.iter().map(|(_, content)| content.size).fold(0, u64::saturating_add);
        self.test(written, || Totals::of(&candidate.program).describe(size()))
    }

    fn test_bytes(&mut self, bytes: &[u8]) -> Result<bool, Stopped> {
        self.check_stop()?;
        if self.must_be_valid {
            let findings = Model::from_binary("candidate", bytes).check(&self.validator);
            if findings.map_or(true, |findings| findings.iter().any(|(_, found)| found.has_errors())) {
                return Ok(false);
            }
        }
        let mut files = vec![(OutputName::Main, OutputContent::new(bytes.len() as u64, |out| out.write_all(bytes)))];
        if let Some(assembly) = &self.input.assembly
            && let Ok(others) = (self.format.binary(self.input.has_methods).files)(assembly)
        {
            files.extend(others.into_iter().skip(1));
        }
        let written = self.write_files(&files);
        self.test(written, || counted(bytes.len() as u64, "byte"))
    }

    /// The YAML of such a program is shorter.
    fn planned_again(&self, candidate: &Candidate, layout: &LayoutConfig) -> Option<(Candidate, LayoutConfig)> {
        let assembly = rebuild(candidate, layout).ok()?;
        let binary = bundle(CandidateFormat::Yaml, OutputFormat::default_of(true), || !candidate.tests.is_empty());
        let files = (binary.files)(&assembly).ok().filter(|files| files.len() == 1)?;
        let text = yaml(&files, self.folder.path(), Reproduction::Program).ok()?;
        let resolved = Model::from_yaml("reduced.yaml", text, self.folder.path()).resolve().ok()?;
        Some((Candidate::new(resolved.program, resolved.tests), resolved.layout))
    }

    fn bytes(&self) -> Result<Vec<u8>, Failure> {
        let input = self.input;
        let check = |size: u64| {
            let message = format!(
                "the exit status depends on more than the program, and a file of {} is too large to be reduced byte \
                 by byte (at most {MAX_BYTES})",
                counted(size, "byte")
            );
            let error = || Error::input(Code::UnmetRequest, input.source.name(), message);
            if size > MAX_BYTES { Err(error()) } else { Ok(()) }
        };
        let mut bytes = Vec::new();
        match &input.assembly {
            Some(assembly) => {
                let files = (input.format.binary(input.has_methods).files)(assembly)?;
                if let Some((_, content)) = files.first() {
                    check(content.size)?;
                    content.write(&mut bytes).map_err(|error| input.error(&error))?;
                }
            }
            None => {
                let size = input.source.content_size()?;
                check(size)?;
                bytes = input.source.head(size)?;
            }
        }
        if let CandidateFormat::Yaml = self.format {
            let message = "the exit status depends on more than the program, and YAML is not reduced as text; \
                           omit `--candidate yaml`";
            return Err(Error::input(Code::UnmetRequest, input.source.name(), message).into());
        }
        Ok(bytes)
    }
}

/// Numbers of parts of a program.
struct Totals {
    methods: usize,
    instructions: usize,
    values: usize,
    data: usize,
}

impl Totals {
    fn of(program: &Program) -> Totals {
        let plans = program.plans();
        Totals {
            methods: plans.len(),
            instructions: plans.iter().map(|plan| plan.instructions().count()).sum(),
            values: plans.iter().map(|plan: &ExecutionPlan| plan.values().len()).sum(),
            data: program.named_data.as_ref().map_or(0, Vec::len) + program.external_data.len(),
        }
    }

    fn describe(&self, size: u64) -> String {
        format!("{self}, {}", counted(size, "byte"))
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = |number: usize, noun| counted(number as u64, noun);
        write!(f, "{}, {}", count(self.methods, "method"), count(self.instructions, "instruction"))?;
        write!(f, ", {}", count(self.values, "value"))?;
        if self.data > 0 {
            write!(f, ", {} of named data", count(self.data, "entry"))?;
        }
        Ok(())
    }
}

/// Writer that computes the digest of the bytes.
struct Digested<W> {
    out: W,
    digest: Sha256,
}

impl<W: Write> Write for Digested<W> {
    fn write(&mut self, bytes: &[u8]) -> std_io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.digest.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> std_io::Result<()> {
        self.out.flush()
    }
}

/// Returns the format of the binary files that are written as `format`: YAML has the tests of a `.bpte`.
fn bundle(
    format: CandidateFormat,
    binary: &'static OutputFormat,
    has_tests: impl FnOnce() -> bool,
) -> &'static OutputFormat {
    let bundled = OutputFormat::of_extension(Format::BundledProgram.extension());
    bundled.filter(|_| matches!(format, CandidateFormat::Yaml) && has_tests()).unwrap_or(binary)
}

/// Returns the path of a file next to the main one.
fn sibling(main: &Path, name: &OutputName<'_>) -> std_io::Result<PathBuf> {
    match name {
        OutputName::Main => Ok(main.to_owned()),
        OutputName::Data => Ok(main.with_extension("ptd")),
        OutputName::Tagged(tag) | OutputName::Shard(tag) => {
            if Path::new(tag).file_name() != Some(tag.as_ref()) {
                return Err(std_io::Error::other(format!("tag `{tag}` is not the name of a file")));
            }
            Ok(main.with_file_name(if tag.ends_with(".ptd") { (*tag).to_owned() } else { format!("{tag}.ptd") }))
        }
    }
}

/// Plans and emits a candidate with these layout options, without a source.
fn rebuild(candidate: &Candidate, layout: &LayoutConfig) -> Result<Assembly, Error> {
    let Candidate { program, tests, .. } = candidate.clone();
    let mut resolved = Resolved::from(program);
    (resolved.tests, resolved.layout) = (tests, layout.clone());
    resolved.to_files(&AssembleOptions::default())
}

fn print_options(large_data: LargeData, file: &Path) -> PrintOptions {
    PrintOptions::default().large_data(large_data).file(file.display().to_string())
}

/// Prints the main one of these files as YAML.
fn yaml(files: &Files<'_>, folder: &Path, reproduction: Reproduction) -> std_io::Result<String> {
    let mut bytes = Vec::new();
    if let Some((_, content)) = files.first() {
        content.write(&mut bytes)?;
    }
    let mut options = print_options(LargeData::Inline, Path::new(""));
    options.reproduction = reproduction;
    let printed = Model::from_binary("reduced", &bytes).to_yaml(folder, &options);
    printed.map(|printed| printed.text).map_err(std_io::Error::other)
}

/// Prints a malformed file as YAML that is assembled to it.
fn yaml_of_bytes(bytes: &[u8], format: CandidateFormat, folder: &Path) -> String {
    let options = print_options(LargeData::Inline, Path::new(""));
    match Model::from_binary("reduced", bytes).to_yaml(folder, &options) {
        Ok(printed) if printed.difference.is_none() => printed.text,
        Ok(_) | Err(_) => {
            let empty = if format.binary(true).has_methods { "methods: {}" } else { "named_data: {}" };
            let bytes = data_encoding::HEXLOWER.encode(bytes);
            format!("{empty}\nraw:\n  truncate: 0\n  append: {{hex: \"{bytes}\"}}\n")
        }
    }
}
