//! `pte-emit check FILE...`: validates binary files, or the files that YAML assembles to.
//!
//! Findings go to standard output, as lines or as one JSON document; files that cannot be read are reported on standard error.

use std::cell::LazyCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::exit::{Exit, Failure};
use super::io::{self, Definitions, Messages};
use super::source_names::{self, SourceNames};
use super::stdout;
use crate::check::{self, Finding, Findings, Profile, RuleSeverity, ValidatorOptions};
use crate::diagnostics::{self, Diagnostic, Report};
use crate::error::Error;
use crate::model::Model;
use crate::pipeline::Options as AssembleOptions;

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// .pte, .ptd, .bpte and YAML files; - is standard input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// .ptd with data that the programs refer to; may be repeated
    #[arg(long, value_name = "FILE.ptd")]
    with: Vec<PathBuf>,
    /// Validate constants and initial states, too, not only metadata
    #[arg(long)]
    data: bool,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
    /// Print each note; by default, notes that differ in their position only are one
    #[arg(long)]
    all: bool,
    /// Runtime build that the files are for
    #[arg(long, value_enum, default_value = "strict")]
    profile: ProfileName,
    /// Exit with status 1 also for warnings
    #[arg(long)]
    deny_warnings: bool,
    /// Define the value of ${NAME} in the inputs
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = io::definition)]
    definitions: Vec<(String, String)>,
    /// Folder that contains all files that YAML refers to; others are errors. For YAML from strangers
    #[arg(long, value_name = "FOLDER", value_parser = io::existing_folder)]
    confine: Option<PathBuf>,
    /// Fail if the data of YAML exceed this total size; 64 GiB by default
    #[arg(long, value_name = "BYTES", value_parser = io::size)]
    max_size: Option<u64>,
    /// List of custom operators, one per line: name, then name:kind of each argument
    #[arg(long, value_name = "FILE")]
    ops: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ProfileName {
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

impl ProfileName {
    fn profile(self) -> Profile {
        match self {
            ProfileName::Strict => Profile::Strict,
            ProfileName::Portable => Profile::Portable,
            ProfileName::Aten => Profile::Aten,
            ProfileName::Bits32 => Profile::Bits32,
            ProfileName::Legacy => Profile::Legacy,
        }
    }
}

/// Result of validating an input.
#[derive(Default)]
struct Validated {
    name: String,
    /// Number of the document in its file, from 1, if the file has several.
    document: Option<usize>,
    /// Messages of assembling YAML; empty for a binary file.
    report: Report,
    findings: Vec<Findings>,
    /// The kept findings as lines, for each of `findings`.
    lines: Vec<Vec<String>>,
}

/// Number of findings by severity.
#[derive(Default, Clone, Copy)]
struct Counts {
    errors: u64,
    warnings: u64,
    notes: u64,
}

/// Validates all files; one that cannot be read does not stop the others.
///
/// # Errors
/// Files of options that cannot be read; output that cannot be written.
pub fn run(arguments: &CheckArguments, messages: &Messages) -> Result<Exit, Failure> {
    let options = arguments.options()?;
    let definitions = Definitions::new(&arguments.definitions);
    let mut worst = Exit::Ok;
    let mut validated = Vec::new();
    let mut unread = Vec::new();
    let mut total = Counts::default();
    for input in &arguments.inputs {
        match validate(input, arguments, &options, &definitions) {
            Ok(documents) => {
                for file in documents {
                    let counts = file.counts();
                    total.add(counts);
                    worst = worst.max(if counts.errors > 0 { Exit::Input } else { Exit::Ok });
                    validated.push(file);
                }
            }
            Err(error) => {
                unread.push(json!({"file": input.display().to_string(), "error": one_line(&error)}));
                worst = worst.max(Failure::from(error).report(messages));
                total.errors += 1;
            }
        }
    }
    definitions.warn_unused(messages);
    if arguments.deny_warnings && (total.warnings > 0 || !definitions.unused().is_empty()) {
        worst = worst.max(Exit::Input);
    }
    for file in validated.iter().filter(|_| !arguments.json) {
        messages.report(&file.report);
    }
    let out = if arguments.json {
        document(&validated, &unread, total)
    } else {
        lines(&validated, unread.len(), total, arguments.all)
    };
    stdout::write("", |to| to.write_all(out.as_bytes())).map(|()| worst)
}

impl CheckArguments {
    fn options(&self) -> Result<ValidatorOptions, Error> {
        let mut options =
            ValidatorOptions { profile: self.profile.profile(), data: self.data, ..ValidatorOptions::default() };
        for path in &self.with {
            options.with.push(io::data_file(path)?);
        }
        options.operators = io::operators(&self.ops)?;
        Ok(options)
    }
}

fn validate(
    input: &Path,
    arguments: &CheckArguments,
    options: &ValidatorOptions,
    definitions: &Definitions,
) -> Result<Vec<Validated>, Error> {
    // By extension: a file with a damaged identifier is not YAML.
    let source = io::open_any(input)?;
    match source.origin() {
        Some(origin) => {
            let findings = check::file(origin, options).map_err(|error| Error::io(source.name(), "", &error))?;
            let lines = vec![findings.list().iter().map(source_names::plain).collect()];
            let name = source.name().to_owned();
            Ok(vec![Validated { name, findings: vec![findings], lines, ..Validated::default() }])
        }
        None => match definitions.documents(io::confined(source, arguments.confine.as_deref())) {
            Ok(documents) => {
                let assemble = AssembleOptions { max_size: arguments.max_size, ..AssembleOptions::default() };
                documents.into_iter().map(|source| validate_yaml(&source, &assemble, options)).collect()
            }
            Err(error) => Ok(vec![Validated {
                name: input.display().to_string(),
                report: error.report().clone(),
                ..Validated::default()
            }]),
        },
    }
}

/// Formats an error as one line.
fn one_line(error: &Error) -> String {
    let messages: Vec<&str> = error.diagnostics().iter().map(|diagnostic| diagnostic.message.as_str()).collect();
    let separator = if error.report().name.is_empty() { "" } else { ": " };
    format!("{}{separator}{}", error.report().name, messages.join("; "))
}

/// Validates the files that YAML assembles to.
fn validate_yaml(source: &Model, assemble: &AssembleOptions, options: &ValidatorOptions) -> Result<Validated, Error> {
    let (name, document) = (source.name().to_owned(), source.document());
    match source.assemble(assemble) {
        Ok(assembly) => {
            let options = ValidatorOptions { reported: assembly.reported_operators.clone(), ..options.clone() };
            let findings =
                check::assembly(&assembly, &options).map_err(|error| Error::io(&source.label(), "", &error))?;
            let names = LazyCell::new(|| SourceNames::new(&assembly));
            let lines = findings.iter().map(|file| file.list().iter().map(|finding| names.lines(finding)).collect());
            let lines = lines.collect();
            Ok(Validated { name, document, lines, report: assembly.warnings, findings })
        }
        Err(error) if error.io_kind().is_some() => Err(error),
        Err(error) => Ok(Validated { name, document, report: error.report().clone(), ..Validated::default() }),
    }
}

impl Validated {
    /// Name in front of a finding.
    fn label(&self) -> String {
        diagnostics::label(&self.name, self.document)
    }

    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for findings in &self.findings {
            counts.add(Counts {
                errors: findings.count(RuleSeverity::Malformed) + findings.count(RuleSeverity::Invalid),
                warnings: findings.count(RuleSeverity::Suspicious),
                notes: findings.count(RuleSeverity::Note),
            });
        }
        for diagnostic in &self.report.diagnostics {
            match diagnostic.severity {
                diagnostics::Severity::Error => counts.errors += 1,
                diagnostics::Severity::Warning => counts.warnings += 1,
            }
        }
        counts
    }
}

impl Counts {
    fn add(&mut self, other: Counts) {
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.notes += other.notes;
    }
}

/// Formats findings as lines, and a last line with totals. Errors come first, then warnings, then notes.
fn lines(validated: &[Validated], unread: usize, total: Counts, all: bool) -> String {
    let mut out = String::new();
    for file in validated {
        let label = file.label();
        for (findings, lines) in file.findings.iter().zip(&file.lines) {
            let mut shown: Vec<(&Finding, &String)> = findings.list().iter().zip(lines).collect();
            shown.sort_by_key(|(finding, _)| finding.rule.severity.max(RuleSeverity::Invalid));
            let groups = if all { shown.into_iter().map(|shown| vec![shown]).collect() } else { grouped(shown) };
            for group in groups {
                let Some(((_, first), others)) = group.split_first() else { continue };
                out += &format!("{label}: {first}{}", positions(others));
            }
            for (rule, count) in findings.truncated() {
                out += &format!("{label}: {}[{}]: {count} of these in total\n", rule.severity, rule.id);
            }
        }
    }
    let count = diagnostics::counted;
    out + &format!(
        "{}: {}, {}, {}\n",
        count((validated.len() + unread) as u64, "file"),
        count(total.errors, "error"),
        count(total.warnings, "warning"),
        count(total.notes, "note"),
    )
}

/// Groups notes that differ in their position only, at the first of them; other findings are groups of one.
fn grouped<'f>(shown: Vec<(&'f Finding, &'f String)>) -> Vec<Vec<(&'f Finding, &'f String)>> {
    let mut groups: Vec<Vec<(&Finding, &String)>> = Vec::new();
    let mut first: HashMap<(&str, &str, &str), usize> = HashMap::new();
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
        Some(more) => format!(" and {more} more (`--all` prints each)"),
        None => String::new(),
    };
    format!("    the same at {}{more}\n", paths.join(", "))
}

/// Formats findings as JSON.
fn document(validated: &[Validated], unread: &[Value], total: Counts) -> String {
    let files: Vec<Value> = validated.iter().map(Validated::json).collect();
    let all = json!({
        "files": files,
        "unread": unread,
        "errors": total.errors,
        "warnings": total.warnings,
        "notes": total.notes,
    });
    diagnostics::escaped_json(&format!("{all:#}\n")).into_owned()
}

impl Validated {
    fn json(&self) -> Value {
        let mut findings = Vec::new();
        let mut truncated = Vec::new();
        for list in &self.findings {
            findings.extend(list.list().iter().map(Finding::json));
            truncated.extend(list.truncated().map(|(rule, count)| json!({"rule": rule.id, "count": count})));
        }
        let messages = self.report.diagnostics.iter().map(|diagnostic: &Diagnostic| {
            let severity = match diagnostic.severity {
                diagnostics::Severity::Error => "error",
                diagnostics::Severity::Warning => "warning",
            };
            let offset = diagnostic.at.as_ref().map(|span| span.start);
            json!({"severity": severity, "message": diagnostic.message, "offset": offset})
        });
        let messages: Vec<Value> = messages.collect();
        let counts = self.counts();
        let mut file = json!({
            "file": self.name,
            "errors": counts.errors,
            "warnings": counts.warnings,
            "notes": counts.notes,
            "findings": findings,
            "truncated": truncated,
            "messages": messages,
        });
        if let Some(number) = self.document {
            file["document"] = number.into();
        }
        file
    }
}
