//! Findings of `check` and messages of the assembler in one form: JSON, annotations of GitHub Actions, SARIF 2.1.0.
//! docs/check.md describes them.

use std::ops::Range;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::facade::model::Model;
use pte_check::{Finding, Findings, Rule, RuleSeverity, TruncatedRule};
use pte_model::diagnostics::text::{self, escaped};
use pte_model::diagnostics::{Diagnostic, Report, Severity};
use pte_model::error::Error;
use pte_model::format::foreign::Diagnosis;

/// Level of a finding or message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// A violated rule of severity error.
    Error,
    /// Probably a mistake.
    Warning,
    /// Information.
    Note,
}

impl Level {
    /// Returns the level of the findings of a rule.
    pub fn of_rule(severity: RuleSeverity) -> Level {
        match severity {
            RuleSeverity::Malformed | RuleSeverity::Invalid => Level::Error,
            RuleSeverity::Suspicious => Level::Warning,
            RuleSeverity::Note => Level::Note,
        }
    }

    fn of_message(severity: Severity) -> Level {
        match severity {
            Severity::Error => Level::Error,
            Severity::Warning => Level::Warning,
        }
    }

    /// Name in text, JSON and SARIF.
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "note",
        }
    }

    /// Name of the workflow command.
    fn command(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Note => "notice",
        }
    }
}

/// Everything that is reported about a file, or about a document of YAML.
#[derive(Default)]
pub struct FileFindings {
    /// Name of the file; empty for messages about the command line.
    pub name: String,
    /// Number of the document in its file, from 1, if the file has several.
    pub document: Option<usize>,
    /// Release of ExecuTorch that the file was compared with (`--runtime`).
    pub runtime: Option<String>,
    /// Target that the file was compared with, if there are several (`--target`).
    pub target: Option<String>,
    /// The file is YAML: offsets of findings are in the files that it assembles to.
    pub is_yaml: bool,
    /// Messages of assembling YAML; empty for a binary file.
    pub report: Report,
    /// Findings in the files.
    pub findings: Vec<Findings>,
    /// The findings are about files that the assembler writes: it reports errors as warnings, and no notes.
    pub is_output: bool,
    /// Other messages.
    pub messages: Vec<(Level, String)>,
}

/// Number of findings and messages by level.
#[derive(Default, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    /// Number of errors.
    pub errors: u64,
    /// Number of warnings.
    pub warnings: u64,
    /// Number of notes.
    pub notes: u64,
}

impl Counts {
    /// Adds other numbers.
    pub fn add(&mut self, other: Counts) {
        self.errors += other.errors;
        self.warnings += other.warnings;
        self.notes += other.notes;
    }

    fn add_level(&mut self, level: Level, count: u64) {
        *match level {
            Level::Error => &mut self.errors,
            Level::Warning => &mut self.warnings,
            Level::Note => &mut self.notes,
        } += count;
    }
}

/// Position in a source, from 1; columns count characters.
struct Position {
    line: usize,
    column: usize,
    /// Line and column of the end, if it is known.
    end: Option<(usize, usize)>,
}

/// A finding or a message, as all forms print it.
struct Entry<'f> {
    level: Level,
    /// Id of the rule, or code of the message; `None` for a message without a code.
    code: Option<&'f str>,
    rule: Option<&'static Rule>,
    /// Path of the element; may be empty.
    path: &'f str,
    message: String,
    position: Option<Position>,
    /// Offset in the bytes of a binary file.
    offset: Option<u64>,
    /// Suggestion of the assembler.
    help: Option<&'f str>,
    /// Position of a message in bytes.
    span: Option<Range<usize>>,
    finding: Option<&'f Finding>,
}

/// Everything that is reported, in JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingsDocument<'f> {
    files: Vec<FileDocument<'f>>,
    #[serde(flatten)]
    total: Counts,
}

/// Findings about a file, or about a document of YAML.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FileDocument<'f> {
    /// Name of the file; empty for messages about the command line.
    file: &'f str,
    /// Number of the document in its file, from 1, if the file has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<usize>,
    /// Release of ExecuTorch that the file was compared with (`--runtime`).
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<&'f str>,
    /// Target that the file was compared with, if there are several (`--target`).
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'f str>,
    #[serde(flatten)]
    counts: Counts,
    /// Messages, and of each rule the first 20 findings.
    findings: Vec<EntryDocument<'f>>,
    /// Rules with more findings.
    truncated: Vec<TruncatedRule>,
    /// What a malformed file is that is something else, or how it was damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnosis: Option<&'f Diagnosis>,
}

#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
enum EntryDocument<'f> {
    /// Finding of a rule.
    Finding {
        level: Level,
        message: String,
        #[serde(flatten)]
        finding: &'f Finding,
    },
    /// Message without a rule.
    Message {
        level: Level,
        /// Code of the message.
        rule: Option<&'f str>,
        message: String,
        /// Suggestion of the assembler.
        #[serde(skip_serializing_if = "Option::is_none")]
        help: Option<&'f str>,
        /// Position in the YAML.
        #[serde(skip_serializing_if = "Option::is_none")]
        source: Option<MessagePosition>,
    },
}

/// Position of a message in a source.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct MessagePosition {
    /// Byte range.
    #[serde(flatten)]
    span: Range<usize>,
    /// Line in the file, from 1.
    line: usize,
    /// Column in characters, from 1.
    column: usize,
}

impl FileFindings {
    /// Messages about a source.
    pub fn of_report(report: Report) -> FileFindings {
        let (name, document) = (report.name.clone(), report.document());
        FileFindings { name, document, report, is_yaml: true, ..FileFindings::default() }
    }

    /// Messages and findings about a source, for YAML in all files that it assembles to.
    pub fn of_source(source: &Model, report: Report, findings: impl IntoIterator<Item = Findings>) -> FileFindings {
        let findings = findings.into_iter().collect();
        let (name, document) = (source.name().to_owned(), source.document());
        FileFindings { name, document, is_yaml: source.is_text(), report, findings, ..FileFindings::default() }
    }

    /// Returns what a malformed file is that is something else, or how it was damaged.
    pub fn diagnosis(&self) -> Option<&Diagnosis> {
        self.findings.iter().find_map(|findings| findings.diagnosis.as_ref())
    }

    /// The errors of a file that cannot be read.
    pub fn of_unreadable(name: String, error: &Error) -> FileFindings {
        let about = if error.report().name == name { "" } else { &error.report().name };
        let separator = if about.is_empty() { "" } else { ": " };
        let message =
            |diagnostic: &Diagnostic| diagnostic.code.whole(format!("{about}{separator}{}", diagnostic.message));
        let report = Report::new(&name, "", error.diagnostics().iter().map(message).collect());
        FileFindings { report, name, ..FileFindings::default() }
    }

    /// A message without a file.
    pub fn of_message(level: Level, message: &str) -> FileFindings {
        FileFindings { messages: vec![(level, message.to_owned())], ..FileFindings::default() }
    }

    /// Returns the name in a message about the whole file.
    pub fn label(&self) -> String {
        text::label(&self.name, self.document)
    }

    fn level(&self, rule: &Rule) -> Option<Level> {
        match Level::of_rule(rule.severity) {
            Level::Note if self.is_output => None,
            level if self.is_output => Some(level.max(Level::Warning)),
            level => Some(level),
        }
    }

    /// Counts the findings, including those that are not listed, and the messages.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for findings in &self.findings {
            counts.add(Counts {
                errors: findings.count(RuleSeverity::Malformed) + findings.count(RuleSeverity::Invalid),
                warnings: findings.count(RuleSeverity::Suspicious),
                notes: findings.count(RuleSeverity::Note),
            });
        }
        if self.is_output {
            counts = Counts { errors: 0, warnings: counts.errors + counts.warnings, notes: 0 };
        }
        self.report.diagnostics.iter().for_each(|message| counts.add_level(Level::of_message(message.severity), 1));
        self.messages.iter().for_each(|(level, _)| counts.add_level(*level, 1));
        counts
    }

    /// Returns the messages, and then the findings.
    fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        let messages = self.messages.iter().map(|(level, message)| Entry::of_text(*level, message.clone()));
        let diagnostics = self.report.diagnostics.iter().map(|message| Entry::of_diagnostic(&self.report, message));
        let findings = self.findings.iter().flat_map(|findings| &findings.list);
        let findings = findings.filter_map(|finding| Some(Entry::of_finding(self.level(finding.rule)?, finding)));
        messages.chain(diagnostics).chain(findings)
    }

    /// Returns the rules with more findings than are listed.
    fn truncated(&self) -> impl Iterator<Item = TruncatedRule> {
        let truncated = self.findings.iter().flat_map(Findings::truncated);
        truncated.filter(|truncated| self.level(truncated.rule).is_some())
    }

    /// Returns the entries, and a note for each rule with more findings than are listed.
    fn entries_and_totals(&self) -> impl Iterator<Item = Entry<'_>> {
        let total = |TruncatedRule { rule, count, .. }| Entry {
            code: Some(rule.id.as_str()),
            rule: Some(rule),
            ..Entry::of_text(Level::Note, format!("{count} of these in total"))
        };
        self.entries().chain(self.truncated().map(total))
    }

    fn document(&self) -> FileDocument<'_> {
        FileDocument {
            file: &self.name,
            document: self.document,
            runtime: self.runtime.as_deref(),
            target: self.target.as_deref(),
            counts: self.counts(),
            findings: self.entries().map(Entry::document).collect(),
            truncated: self.truncated().collect(),
            diagnosis: self.diagnosis(),
        }
    }
}

impl<'f> Entry<'f> {
    fn of_text(level: Level, message: String) -> Entry<'f> {
        let (code, rule, path, position, offset, help, span, finding) = (None, None, "", None, None, None, None, None);
        Entry { level, code, rule, path, message, position, offset, help, span, finding }
    }

    fn of_diagnostic(report: &Report, diagnostic: &'f Diagnostic) -> Entry<'f> {
        let Diagnostic { severity, at, message, label, help, .. } = diagnostic;
        let position = at.as_ref().map(|span| {
            let (line, column) = report.line_column(span.start);
            Position { line, column, end: Some(report.line_column(span.end)) }
        });
        let separator = if label.is_empty() { "" } else { ": " };
        let message = format!("{message}{separator}{label}");
        let text = Entry::of_text(Level::of_message(*severity), message);
        Entry { code: Some(diagnostic.code.as_str()), position, span: at.clone(), help: help.as_deref(), ..text }
    }

    fn of_finding(level: Level, finding: &'f Finding) -> Entry<'f> {
        let source = finding.source.as_ref();
        Entry {
            code: Some(finding.rule.id.as_str()),
            rule: Some(finding.rule),
            path: source.map_or(&finding.location.path, |source| &source.path),
            position: source.map(|source| Position { line: source.line, column: source.column, end: None }),
            offset: finding.location.offset,
            finding: Some(finding),
            ..Entry::of_text(level, format!("{}, expected {}", finding.found, finding.expected))
        }
    }

    /// Returns the message with the path before it, and the help after it.
    fn text(&self) -> String {
        let separator = if self.path.is_empty() { "" } else { ": " };
        let help = self.help.map_or(String::new(), |help| format!(" (help: {help})"));
        format!("{}{separator}{}{help}", self.path, self.message)
    }

    fn document(self) -> EntryDocument<'f> {
        let Entry { level, code: rule, message, help, .. } = self;
        if let Some(finding) = self.finding {
            return EntryDocument::Finding { level, message, finding };
        }
        let source = self.position.zip(self.span);
        let source = source.map(|(Position { line, column, .. }, span)| MessagePosition { span, line, column });
        EntryDocument::Message { level, rule, message, help, source }
    }

    /// Returns a workflow command: `::error file=model.yaml,line=3,col=5,title=T-21::message`.
    fn github(&self, file: &FileFindings) -> String {
        let mut properties = Vec::new();
        if !file.name.is_empty() {
            properties.push(("file", file.name.clone()));
        }
        if let Some(Position { line, column, end }) = &self.position {
            properties.extend([("line", line.to_string()), ("col", column.to_string())]);
            if let Some((line, column)) = end {
                properties.extend([("endLine", line.to_string()), ("endColumn", column.to_string())]);
            }
        }
        properties.extend(self.code.map(|code| ("title", code.to_owned())));
        let property = |(name, value): &(&str, String)| {
            format!("{name}={}", workflow_text(value).replace(':', "%3A").replace(',', "%2C"))
        };
        let properties: Vec<String> = properties.iter().map(property).collect();
        let separator = if properties.is_empty() { "" } else { " " };
        let (command, message) = (self.level.command(), workflow_text(&self.text()));
        format!("::{command}{separator}{}::{message}\n", properties.join(","))
    }

    /// Returns a `result` object. `rule` is the index of its rule.
    fn sarif(&self, file: &FileFindings, rule: Option<usize>) -> Value {
        let mut result = json!({"level": self.level.name(), "message": {"text": self.text()}});
        if let Some(code) = self.code {
            result["ruleId"] = code.into();
        }
        if let Some(index) = rule {
            result["ruleIndex"] = index.into();
        }
        let mut location = Map::new();
        if !file.name.is_empty() {
            let mut physical = json!({"artifactLocation": {"uri": uri(&file.name)}});
            if let Some(Position { line, column, end }) = &self.position {
                physical["region"] = json!({"startLine": line, "startColumn": column});
                if let Some((line, column)) = end {
                    physical["region"]["endLine"] = (*line).into();
                    physical["region"]["endColumn"] = (*column).into();
                }
            } else if let Some(offset) = self.offset.filter(|_| !file.is_yaml) {
                physical["region"] = json!({"byteOffset": offset});
            }
            location.insert("physicalLocation".into(), physical);
        }
        if !self.path.is_empty() {
            location.insert("logicalLocations".into(), json!([{"fullyQualifiedName": self.path}]));
        }
        if !location.is_empty() {
            result["locations"] = json!([location]);
        }
        result
    }
}

/// Returns all findings as JSON.
pub fn json(files: &[FileFindings]) -> FindingsDocument<'_> {
    let mut total = Counts::default();
    files.iter().for_each(|file| total.add(file.counts()));
    FindingsDocument { files: files.iter().map(FileFindings::document).collect(), total }
}

/// Returns all findings as workflow commands of GitHub Actions, up to a level.
pub fn github(files: &[FileFindings], least: Level) -> String {
    let commands = files.iter().flat_map(|file| {
        let entries = file.entries_and_totals().filter(|entry| entry.level <= least);
        entries.map(|entry| entry.github(file))
    });
    commands.collect()
}

/// Returns all findings as a SARIF log. Regions of binary files are byte offsets; those of YAML are lines and columns.
pub fn sarif(files: &[FileFindings]) -> Value {
    let mut rules: Vec<&'static Rule> = Vec::new();
    let mut results = Vec::new();
    for file in files {
        for entry in file.entries_and_totals() {
            let index = entry.rule.map(|rule| {
                rules.iter().position(|known| known.id == rule.id).unwrap_or_else(|| {
                    rules.push(rule);
                    rules.len() - 1
                })
            });
            results.push(entry.sarif(file, index));
        }
    }
    let rule = |rule: &&Rule| {
        json!({
            "id": rule.id,
            "shortDescription": {"text": rule.title},
            "fullDescription": {"text": rule.why},
            "help": {"text": format!("The runtime: {}", rule.runtime)},
            "defaultConfiguration": {"level": Level::of_rule(rule.severity).name()},
        })
    };
    let rules: Value = rules.iter().map(rule).collect();
    let driver = json!({"name": "pte-emit", "version": env!("CARGO_PKG_VERSION"), "rules": rules});
    json!({
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    })
}

/// Escapes the data of a workflow command.
fn workflow_text(text: &str) -> String {
    escaped(text).replace('%', "%25")
}

/// Returns the path of a file as a URI reference.
fn uri(path: &str) -> String {
    let mut out = if path.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(byte)),
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}
