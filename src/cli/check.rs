//! `pte-emit check FILE...`: validates binary files, or the files that YAML assembles to.
//!
//! Findings go to standard output, as text or in another form of `--format`; files that cannot be read are reported on
//! standard error.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pte_emit::command::text::{clipped, counted, escaped};
use pte_emit::command::validation::{Validated, validate_source};
use pte_emit::{
    Error,
    check::{CheckOptions, Finding, Profile, Rule, RuleId, RuleSeverity, Target, TruncatedRule, Work},
};

use super::exit::{Exit, Failure};
use super::findings::{self, Counts, FileFindings, FindingsFormat, Level};
use super::io::{self, Messages};
use super::options::FormatArguments;
use super::paint::Paint;
use super::releases::{self, Runtimes};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// .pte, .ptd, .bpte and YAML files; - is standard input
    #[arg(value_name = "FILE", required_unless_present_any = ["list_targets", "print_target"])]
    inputs: Vec<PathBuf>,
    /// Compare programs with a target: a YAML file with what a build links and its memory, a name of --list-targets, or
    /// `all` of these; may be repeated
    #[arg(long, value_name = "TARGET")]
    target: Vec<PathBuf>,
    /// Print the names of the targets that need no file, and what they are
    #[arg(long, exclusive = true)]
    list_targets: bool,
    /// Print a target of --list-targets, to begin a file with
    #[arg(long, exclusive = true, value_name = "NAME")]
    print_target: Option<String>,
    /// Compare files with a release of ExecuTorch: a version from 0.4.0 on, such as 1.0.1, `all`, or a folder with the
    /// measured tables of another build
    #[arg(long, value_name = "RELEASE")]
    runtime: Option<PathBuf>,
    /// Read all data, not only metadata: validate constants and initial states, too
    #[arg(long, alias = "all-data")]
    read_data: bool,
    /// Print each note, up to 10,000 of a rule; by default, notes that differ in their position only are one
    #[arg(long, alias = "all")]
    all_notes: bool,
    /// Runtime build that the files are for
    #[arg(long, alias = "profile", value_enum, default_value = "strict")]
    build: BuildName,
    /// Warnings are errors: exit with status 1
    #[arg(long)]
    deny_warnings: bool,
    #[command(flatten)]
    findings: FormatArguments<FindingsFormat>,
    #[command(flatten)]
    sources: SourceArguments,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum BuildName {
    /// Any build on a 64-bit machine
    Strict,
    /// Portable kernels on a 64-bit machine
    Portable,
    /// ExecuTorch built in ATen mode
    Aten,
    /// Portable kernels on a 32-bit machine
    #[value(name = "32-bit")]
    Bits32,
    /// Files of old releases: no extended header or a short one, constants inside the FlatBuffer
    Legacy,
}

impl BuildName {
    fn profile(self) -> Profile {
        match self {
            BuildName::Strict => Profile::Strict,
            BuildName::Portable => Profile::Portable,
            BuildName::Aten => Profile::Aten,
            BuildName::Bits32 => Profile::Bits32,
            BuildName::Legacy => Profile::Legacy,
        }
    }
}

/// Validates all files; one that cannot be read does not stop the others.
///
/// # Errors
/// Files of options that cannot be read; output that cannot be written.
pub fn run(arguments: &CheckArguments, messages: &Messages) -> Result<Exit, Failure> {
    if arguments.list_targets {
        let out = ready_targets();
        return stdout::write("", |to| to.write_all(out.as_bytes())).map(|()| Exit::Ok);
    }
    if let Some(name) = &arguments.print_target {
        let text = Target::ready_text(name).ok_or_else(|| unknown_target(name, ""))?;
        return stdout::write("", |to| to.write_all(text.as_bytes())).map(|()| Exit::Ok);
    }
    if io::reads_stream_twice(&arguments.inputs) {
        return Err(Failure::usage("standard input can be read only once"));
    }
    let runtimes = Runtimes::parse(arguments.runtime.as_deref())?;
    let targets = open_targets(&arguments.target, &arguments.sources)?;
    // A line for each release or target, of which a file has to suit one if they are all.
    let is_listed = runtimes.is_all || targets.len() > 1;
    let is_any = runtimes.is_all || arguments.target.iter().any(|target| target.as_os_str() == ALL_TARGETS);
    if runtimes.is_all && targets.len() > 1 {
        return Err(Failure::usage("`--runtime all` is given with several targets: compare with all of one kind"));
    }
    let messages = &messages.of_findings(false, arguments.deny_warnings);
    targets.iter().for_each(|target| messages.report(target.warnings()));
    let mut options = arguments.sources.validator()?;
    (options.profile, options.data) = (arguments.build.profile(), arguments.read_data);
    if arguments.all_notes {
        options.kept = Some(ALL);
    }
    let sources = Sources::new(&arguments.sources);
    let mut worst = Exit::Ok;
    let mut validated = Vec::new();
    for input in &arguments.inputs {
        match validate(input, &options, &runtimes, &targets, &sources) {
            Ok(files) => validated.extend(files),
            Err(error) => {
                let file = FileFindings::of_unreadable(input.display().to_string(), &error);
                validated.push(Validated { file, is_read: false, ..Validated::default() });
                worst = worst.max(Failure::from(error).report(messages));
            }
        }
    }
    let mut total = Counts::default();
    validated.iter().for_each(|validated| total.add(validated.file.counts()));
    sources.warn_unused(messages);
    let has_warnings = targets.iter().any(|target| !target.warnings().diagnostics.is_empty());
    let is_denied = arguments.deny_warnings && (total.warnings > 0 || has_warnings || !sources.unused().is_empty());
    if has_errors(&validated, is_any) || is_denied {
        worst = worst.max(Exit::Input);
    }
    let least = messages.least();
    let out = match arguments.findings.format() {
        FindingsFormat::Text => {
            // The messages of the assembler are the same for each release and target.
            let first = runtimes.releases.first().and_then(|release| Some(release.as_ref()?.version().to_string()));
            let first_target = targets.first().map(Target::name);
            let is_first = |validated: &&Validated| {
                let FileFindings { runtime, target, .. } = &validated.file;
                validated.is_read
                    && (runtime.is_none() || *runtime == first)
                    && (target.is_none() || target.as_deref() == first_target)
            };
            validated.iter().filter(is_first).for_each(|validated| messages.report(&validated.file.report));
            if is_listed {
                let files = || validated.iter().filter(|validated| validated.is_read).map(|validated| &validated.file);
                let is_printed = |file: &&FileFindings| messages.warns() || file.counts().errors > 0;
                let help = if messages.warns() { help(&validated) } else { String::new() };
                files().filter(is_printed).map(releases::line).chain([releases::summary(files()), help]).collect()
            } else {
                text(&validated, total, arguments.all_notes, least, messages.paint())
            }
        }
        format => {
            let files: Vec<FileFindings> = validated.into_iter().map(|validated| validated.file).collect();
            findings::document(&files, format, least)
        }
    };
    stdout::write("", |to| to.write_all(out.as_bytes())).map(|()| worst)
}

/// Returns `true` if a file has errors; with `is_any` release or target, if it has some with each.
fn has_errors(validated: &[Validated], is_any: bool) -> bool {
    let mut read = validated.iter().filter(|validated| validated.is_read);
    let is_wrong = |validated: &Validated| validated.file.counts().errors > 0;
    if !is_any {
        return read.any(is_wrong);
    }
    // The results of a file are adjacent.
    let files: Vec<&Validated> = read.collect();
    let is_same = |a: &&Validated, b: &&Validated| (&a.file.name, a.file.document) == (&b.file.name, b.file.document);
    files.chunk_by(is_same).any(|releases| releases.iter().all(|validated| is_wrong(validated)))
}

/// Number of findings of a rule that `--all-notes` prints: a malformed file can have one for every few bytes.
const ALL: usize = 10_000;

/// Validates a file, or each document of YAML, one after the other: for each release, without repeating what does not
/// depend on it.
fn validate(
    input: &Path,
    options: &CheckOptions,
    runtimes: &Runtimes,
    targets: &[Target],
    sources: &Sources<'_>,
) -> Result<Vec<Validated>, Error> {
    // By extension: a file with a damaged identifier is not YAML.
    let source = io::open_any(input)?;
    let documents = if source.is_text() {
        match sources.documents(source) {
            Ok(documents) => documents,
            Err(error) => {
                let file = FileFindings::of_report(error.report().clone());
                return Ok(vec![Validated { file, is_read: true, ..Validated::default() }]);
            }
        }
    } else {
        vec![source]
    };
    // All documents of a file have the work of one program.
    let options = options.clone().work(Work::default());
    let mut validated = Vec::new();
    for source in documents {
        for (found, target) in validate_source(&source, &options, &runtimes.releases, targets)? {
            validated.extend(found.into_iter().zip(&runtimes.releases).map(|(mut found, release)| {
                found.file.runtime = release.as_ref().map(|release| release.version().to_string());
                found.file.target = target.filter(|_| targets.len() > 1).map(|target| target.name().to_owned());
                found
            }));
        }
    }
    Ok(validated)
}

/// Value of `--target` for all ready targets.
const ALL_TARGETS: &str = "all";

/// Opens the targets of `--target`.
///
/// # Errors
/// Those of [`open_target`].
fn open_targets(paths: &[PathBuf], sources: &SourceArguments) -> Result<Vec<Target>, Failure> {
    let mut targets = Vec::new();
    for path in paths {
        match path.as_os_str() == ALL_TARGETS {
            true => targets.extend(Target::ready_names().filter_map(Target::ready)),
            false => targets.push(open_target(path, sources.confined_to())?),
        }
    }
    Ok(targets)
}

/// Opens a target of `--target`: a file, or a ready one.
///
/// # Errors
/// A file that cannot be read; malformed keys and values; an unknown name.
pub fn open_target(path: &Path, confined_to: Option<&Path>) -> Result<Target, Failure> {
    let name = path.to_str().unwrap_or_default();
    if let Some(target) = Target::ready(name).filter(|_| !path.exists()) {
        return Ok(target);
    }
    // A word without the extension of a source is the name of a ready target.
    if !path.exists() && !io::is_source_name(path) && path.components().count() == 1 {
        return Err(unknown_target(name, "a file, `all`, or "));
    }
    Ok(Target::open(path, confined_to)?)
}

/// Returns the error for an unknown name of a target. `others` are the other values that are expected.
fn unknown_target(name: &str, others: &str) -> Failure {
    let known: Vec<&str> = Target::ready_names().collect();
    let message = format!("unknown target `{}`: expected {others}one of {}", clipped(name), known.join(", "));
    Failure::Usage(message)
}

/// Lists the ready targets.
fn ready_targets() -> String {
    let width = Target::ready_names().map(str::len).max().unwrap_or(0);
    let targets = Target::ready_names().filter_map(Target::ready);
    targets.map(|target| format!("{:width$}  {}\n", target.name(), target.description())).collect()
}

/// Formats findings as lines, and a last line with totals, unless only errors are printed. Errors come first, then
/// warnings, then notes.
fn text(validated: &[Validated], total: Counts, all: bool, least: Level, paint: Paint) -> String {
    let mut out = String::new();
    for Validated { file, lines, .. } in validated {
        let label = file.label();
        let is_shown = |rule: &Rule| Level::of_rule(rule.severity) <= least;
        for (findings, lines) in file.findings.iter().zip(lines) {
            let shown = findings.list.iter().zip(lines);
            let mut shown: Vec<(&Finding, &String)> = shown.filter(|(finding, _)| is_shown(finding.rule)).collect();
            shown.sort_by_key(|(finding, _)| finding.rule.severity.max(RuleSeverity::Invalid));
            let groups = if all { shown.into_iter().map(|shown| vec![shown]).collect() } else { grouped(shown) };
            for group in groups {
                let Some(((finding, first), others)) = group.split_first() else { continue };
                let first = paint.finding(Level::of_rule(finding.rule.severity), first);
                out += &format!("{label}: {first}{}", positions(others));
            }
            for TruncatedRule { rule, count, .. } in findings.truncated().filter(|truncated| is_shown(truncated.rule)) {
                out += &format!("{label}: {}[{}]: {count} of these in total\n", rule.severity, rule.id);
            }
        }
    }
    if least < Level::Note {
        return out;
    }
    out += &help(validated);
    out + &format!(
        "{}: {}, {}, {}\n",
        counted(validated.len() as u64, "file"),
        counted(total.errors, "error"),
        counted(total.warnings, "warning"),
        counted(total.notes, "note"),
    )
}

/// Rules in the line that points at `explain`.
const EXPLAINED: usize = 5;

/// Returns the line that points at `explain`, for the rules of errors and warnings; nothing without any.
fn help(validated: &[Validated]) -> String {
    let mut rules: Vec<&Rule> = Vec::new();
    for finding in validated.iter().flat_map(|file| &file.file.findings).flat_map(|file| &file.list) {
        let rule = finding.rule;
        if rule.severity < RuleSeverity::Note && rules.iter().all(|known| known.id != rule.id) {
            rules.push(rule);
        }
    }
    rules.sort_by_key(|rule| rule.severity);
    let ids: Vec<&str> = rules.iter().take(EXPLAINED).map(|rule| rule.id.as_str()).collect();
    let mut out = String::new();
    for file in validated.iter().map(|validated| &validated.file) {
        if let Some(diagnosis) = file.diagnosis() {
            let _ = writeln!(out, "help: {}: {diagnosis}", escaped(&file.name));
        }
    }
    if !ids.is_empty() {
        let _ = writeln!(out, "help: pte-emit explain {}", ids.join(" "));
    }
    out
}

/// Groups notes that differ in their position only, at the first of them; other findings are groups of one.
fn grouped<'f>(shown: Vec<(&'f Finding, &'f String)>) -> Vec<Vec<(&'f Finding, &'f String)>> {
    let mut groups: Vec<Vec<(&Finding, &String)>> = Vec::new();
    let mut first: HashMap<(RuleId, &str, &str), usize> = HashMap::new();
    for (finding, lines) in shown {
        let next = groups.len();
        let group = match finding.rule.severity {
            RuleSeverity::Note => *first.entry((finding.rule.id, &finding.found, &finding.expected)).or_insert(next),
            RuleSeverity::Malformed | RuleSeverity::Invalid | RuleSeverity::Suspicious => next,
        };
        match groups.get_mut(group) {
            Some(group) => group.push((finding, lines)),
            None => groups.push(vec![(finding, lines)]),
        }
    }
    groups
}

/// Number of further positions of a group of notes that are printed.
const POSITIONS: usize = 2;

/// Formats the positions of further notes of a group as a line; nothing if there are none.
fn positions(others: &[(&Finding, &String)]) -> String {
    if others.is_empty() {
        return String::new();
    }
    let path = |(finding, _): &(&Finding, &String)| {
        finding.source.as_ref().map_or(&*finding.location.path, |source| &*source.path).to_owned()
    };
    let paths: Vec<String> = others.iter().take(POSITIONS).map(path).collect();
    let more = match others.len().checked_sub(POSITIONS).filter(|more| *more > 0) {
        Some(more) => format!(" and {more} more (`--all-notes` prints each)"),
        None => String::new(),
    };
    format!("    the same at {}{more}\n", paths.join(", "))
}
