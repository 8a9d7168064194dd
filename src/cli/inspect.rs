//! `pte-emit inspect FILE...`: what files contain, on one screen each.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use pte_emit::command::text::{ROW, clipped, clipped_to, counted, escaped, first_names};
use pte_emit::release::EXECUTORCH;
use pte_emit::{
    Code, Error,
    check::Work,
    inspect::{
        ConstantsSummary, DelegateInterface, DelegateSummary, Delegation, DuplicateData, FileFacts, InspectOptions,
        Inspection, InterfaceSummary, MethodSummary, ProgramSummary, Workload,
    },
    release::Release,
};

use super::exit::{Exit, Failure};
use super::io::{self, Messages};
use super::json;
use super::options::{FormatArguments, LimitArguments, TextOrJson};
use super::paint::{HEADING, LABEL, Paint};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// .pte, .ptd, .bpte and YAML files; - is standard input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// Read all data, not only metadata: compare them to find those that are stored twice, beyond 16 MiB, too
    #[arg(long, alias = "all-data")]
    read_data: bool,
    /// Print the work by operator instead, in delegates and in kernels: calls, multiply-accumulate operations (MACs),
    /// and bytes of the tensors that are read and written
    #[arg(long, conflicts_with = "read_data")]
    delegation: bool,
    #[command(flatten)]
    limit: LimitArguments,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
    #[command(flatten)]
    sources: SourceArguments,
}

/// Column of the texts after the labels.
const COLUMN: usize = 22;

/// Runs the command. An input that cannot be read, or is malformed, does not stop the others.
///
/// # Errors
/// Output that cannot be written.
pub fn run(arguments: &InspectArguments, messages: &Messages) -> Result<Exit, Failure> {
    if io::reads_stream_twice(&arguments.inputs) {
        return Err(Failure::usage("standard input can be read only once"));
    }
    let options = InspectOptions::default().data(arguments.read_data).check(arguments.sources.validator()?);
    let sources = Sources::new(&arguments.sources);
    let mut out = String::new();
    let mut worst = Exit::Ok;
    for input in &arguments.inputs {
        let found = inspect(input, arguments, &options, &sources, messages.paint(), &mut out);
        for error in found.unwrap_or_else(|error| vec![error]) {
            worst = worst.max(Failure::from(error).report(messages));
        }
    }
    sources.warn_unused(messages);
    stdout::write("", |to| to.write_all(out.as_bytes())).map(|()| worst)
}

/// Adds the output for an input. Returns an error for each file that is malformed.
fn inspect(
    input: &Path,
    arguments: &InspectArguments,
    options: &InspectOptions,
    sources: &Sources<'_>,
    paint: Paint,
    out: &mut String,
) -> Result<Vec<Error>, Error> {
    let mut malformed = Vec::new();
    // All documents of a file have the work of one program.
    let options = options.clone().check(options.check.clone().work(Work::default()));
    for source in sources.open(input)? {
        if arguments.delegation {
            let found = source.delegation()?;
            match arguments.format.is_json() {
                true => *out += &json::text(&found),
                false => write_delegation(&source.label(), &found, arguments.limit.rows(), paint, out),
            }
            continue;
        }
        for (name, inspection) in source.inspect(&options)? {
            match arguments.format.is_json() {
                true => *out += &json::text(&inspection),
                false => {
                    let is_text = source.is_text();
                    let title = if is_text { &source.label() } else { &name };
                    Screen { out, limit: arguments.limit.rows(), paint }.file(title, is_text, &inspection);
                }
            }
            if let Some(first) = inspection.errors.first() {
                let more = match inspection.errors.len() {
                    1 => String::new(),
                    count => format!(", and {} more", counted(count - 1, "error")),
                };
                malformed.push(Error::input(Code::InvalidFile, &name, format!("{first}{more}")));
            }
        }
    }
    Ok(malformed)
}

/// Writes the tables of `--delegation`.
fn write_delegation(label: &str, found: &Delegation, limit: usize, paint: Paint, out: &mut String) {
    for method in &found.methods {
        let title = format!("{}: method {}", escaped(label), clipped(&method.name));
        let _ = writeln!(out, "{}", paint.text(HEADING, &title));
        let total = method.delegated.macs.saturating_add(method.kernels.macs);
        let share = |work: &Workload| match total {
            0 => "-".to_owned(),
            _ => format!("{:.1}%", work.macs as f64 * 100.0 / total as f64),
        };
        let row = |what: &str, work: &Workload| {
            let intensity = match work.bytes() {
                0 => "-".to_owned(),
                bytes => format!("{:.2}", work.macs as f64 / bytes as f64),
            };
            let macs = if work.unknown > 0 { format!("{}+?", work.macs) } else { work.macs.to_string() };
            let figures = [work.calls.to_string(), macs, share(work), work.read.to_string(), work.written.to_string()];
            figures.into_iter().chain([intensity, what.to_owned()]).collect::<Vec<String>>()
        };
        let heading = ["calls", "MACs", "share", "bytes read", "bytes written", "MACs/byte", "operator"];
        let mut lines: Vec<Vec<String>> = vec![heading.map(str::to_owned).to_vec()];
        lines.push(row("in delegates", &method.delegated));
        lines.push(row("in kernels", &method.kernels));
        lines.extend(method.operators.iter().take(limit).map(|operator| {
            let what = match &operator.backend {
                Some(backend) => format!("{}: {}", clipped(backend), clipped_to(&operator.operator, ROW)),
                None => clipped_to(&operator.operator, ROW).to_string(),
            };
            row(&what, &operator.work)
        }));
        let widths: Vec<usize> = (0..heading.len() - 1)
            .map(|column| lines.iter().map(|line| line[column].len()).max().unwrap_or(0))
            .collect();
        for line in &lines {
            let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
            let cells: Vec<String> = cells.collect();
            let _ = writeln!(out, "  {}  {}", cells.join("  "), line[heading.len() - 1]);
        }
        io::write_more("  ", method.operators.len(), limit, "operator", out);
    }
}

/// Text with labels in a column of their own.
struct Screen<'o> {
    out: &'o mut String,
    limit: usize,
    paint: Paint,
}

impl Screen<'_> {
    fn line(&mut self, indent: usize, label: &str, text: &str) {
        let label = format!("{label:width$}", width = COLUMN - indent);
        let _ = writeln!(self.out, "{:indent$}{}{}", "", self.paint.text(LABEL, &label), clipped_to(text, ROW));
    }

    /// Prints a label and a list, one item for each line.
    fn list(&mut self, indent: usize, label: &str, items: &[String]) {
        for (number, item) in items.iter().take(self.limit).enumerate() {
            self.line(indent, if number == 0 { label } else { "" }, item);
        }
        if let Some(more) = items.len().checked_sub(self.limit).filter(|more| *more > 0) {
            self.line(indent, "", &format!("and {more} more (`--limit 0` for all)"));
        }
    }

    /// Prints a file, or one that YAML assembles to.
    fn file(&mut self, name: &str, is_assembled: bool, inspection: &Inspection) {
        let facts = &inspection.facts;
        let verb = if is_assembled { "assembles to a " } else { "" };
        let _ = writeln!(
            self.out,
            "{}: {verb}{}, {}",
            self.paint.text(HEADING, &escaped(name)),
            match facts.format {
                "ptd" if is_assembled => "file of weights (.ptd)",
                "ptd" => "weights (.ptd)",
                "bpte" => "program with tests (.bpte)",
                _ => "program (.pte)",
            },
            counted(facts.bytes, "byte")
        );
        self.list(2, "errors", &inspection.errors);
        if let Some(contents) = &inspection.contents {
            self.methods(contents);
            self.data(contents);
        }
        let keys = inspection.keys.iter().flatten().map(|entry| {
            let layout = entry.scalar_type.zip(entry.sizes.as_ref());
            let layout = layout.map(|(scalar_type, sizes)| format!("{scalar_type} {sizes:?}, "));
            format!("{}: {}{}", entry.key, layout.unwrap_or_default(), counted(entry.bytes, "byte"))
        });
        self.list(2, "keys", &keys.collect::<Vec<_>>());
        for tests in inspection.tests.iter().flatten() {
            self.line(2, "tests", &format!("{}: {}", tests.method, counted(tests.cases, "case")));
        }
        self.facts(facts);
        if let Some(contents) = &inspection.contents {
            self.keys(contents);
        }
    }

    fn facts(&mut self, facts: &FileFacts) {
        if let Some(kind) = facts.serializer {
            self.line(2, "serializer", kind.description());
        }
        if let Some(header) = &facts.header {
            let fields: Vec<String> = header.fields.iter().map(|(name, value)| format!("{name} {value}")).collect();
            self.line(2, "header", &format!("{}, {} bytes: {}", header.magic, header.length, fields.join(", ")));
        }
        let segments: Vec<String> = facts
            .segments
            .iter()
            .enumerate()
            .map(|(index, segment)| {
                let roles = if segment.content.is_empty() { "unused".to_owned() } else { segment.content.join(", ") };
                format!("{index}: {}, {roles}", counted(segment.bytes, "byte"))
            })
            .collect();
        self.list(2, "segments", &segments);
    }

    fn data(&mut self, contents: &ProgramSummary) {
        let constants = |row: &ConstantsSummary| {
            format!("{}: {} in {}", row.scalar_type, counted(row.bytes, "byte"), counted(row.tensors, "tensor"))
        };
        self.list(2, "constants", &contents.constants.iter().map(constants).collect::<Vec<_>>());
        if contents.shared_bytes > 0 {
            self.line(2, "shared data", &format!("{} saved", counted(contents.shared_bytes, "byte")));
        }
        let copies = |data: &DuplicateData| {
            let copies = first_names(data.copies.iter().map(String::as_str));
            format!("{}: {copies}", counted(data.bytes, "byte"))
        };
        match contents.duplicated_bytes {
            Some(_) => self.list(2, "stored twice", &contents.duplicates.iter().map(copies).collect::<Vec<_>>()),
            None => self.line(2, "stored twice", "not known: `--read-data` compares all data"),
        }
    }

    /// Prints keys, which may be hashes.
    fn keys(&mut self, contents: &ProgramSummary) {
        let mut named: Vec<&(String, u64)> = contents.named_data.iter().collect();
        named.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        let named = named.into_iter().map(|(key, bytes)| match contents.named_data_users.get(key) {
            Some(user) => format!("{user}: {}, `{}`", counted(*bytes, "byte"), clipped(key)),
            None => format!("`{}`: {}", clipped(key), counted(*bytes, "byte")),
        });
        self.list(2, "named data", &named.collect::<Vec<_>>());
        self.list(2, "needs keys", &contents.required_keys);
    }

    fn methods(&mut self, contents: &ProgramSummary) {
        self.list(2, "newer schema", &contents.newer);
        if let Some(needs) = &contents.needs {
            self.line(2, "newest feature", &format!("of ExecuTorch {}: {}", needs.release, needs.feature));
        }
        if let Some(releases) = &contents.releases {
            self.line(2, "releases", &running(releases));
        }
        for method in contents.methods.iter().take(self.limit) {
            self.method(method);
        }
        if let Some(left) = io::rows_left(contents.methods.len(), self.limit, "more method") {
            let _ = writeln!(self.out, "  {left}");
        }
        let constants: Vec<String> =
            contents.constant_methods.iter().map(|(name, values)| format!("{name} = {}", values.join(", "))).collect();
        self.list(2, "constant methods", &constants);
    }

    fn method(&mut self, method: &MethodSummary) {
        let _ = writeln!(
            self.out,
            "  {}: {}, {}",
            self.paint.text(HEADING, &format!("method {}", clipped(&method.name))),
            counted(method.values, "value"),
            counted(method.instructions, "instruction")
        );
        let values = |list: &[InterfaceSummary]| list.iter().map(interface).collect::<Vec<_>>();
        self.list(4, "inputs", &values(&method.inputs));
        self.list(4, "outputs", &values(&method.outputs));
        let state: Vec<String> = method
            .state
            .iter()
            .map(|state| {
                let initial = state.initial_bytes.map_or("", |_| ", with initial data");
                format!("{}: {}{initial}", state.name, state.kind)
            })
            .collect();
        self.list(4, "state", &state);
        let bytes = method.method_allocator.bytes;
        let at_least = if method.method_allocator.at_least { "at least " } else { "" };
        let planned = counted(method.planned_bytes, "byte");
        self.line(
            4,
            "memory",
            &format!("{planned} planned, {at_least}{bytes} in the method allocator (64-bit, ExecuTorch {EXECUTORCH})"),
        );
        let constant = method.constant_calls;
        if constant.calls > 0 {
            let (calls, bytes) = (counted(constant.calls, "call"), counted(constant.bytes, "byte"));
            self.line(
                4,
                "constant calls",
                &format!("{calls} on constants, with results of {bytes} in planned memory; `optimize` can fold them"),
            );
        }
        let calls = |rows: &[(String, usize)]| -> Vec<String> {
            rows.iter().map(|(operator, count)| format!("{count:>5}  {operator}")).collect()
        };
        self.list(4, "operators", &calls(&method.operators));
        self.list(4, "between delegates", &calls(&method.operators_between_delegates));
        let mut backends: BTreeMap<&str, (usize, u64, usize, bool)> = BTreeMap::new();
        for delegate in &method.delegates {
            let (count, bytes, calls, has_keys) = backends.entry(&delegate.backend).or_default();
            (*count, *bytes, *calls) = (*count + 1, bytes.saturating_add(delegate.bytes), *calls + delegate.calls);
            *has_keys |= delegate.named_data_bytes > 0;
        }
        let backends = backends.into_iter().map(|(backend, (count, bytes, calls, has_keys))| {
            let (count, bytes) = (counted(count, "delegate"), counted(bytes, "byte"));
            let named = match has_keys {
                true => format!(" and {} of named data", counted(method.named_data_bytes, "byte")),
                false => String::new(),
            };
            format!("{backend}: {count}, {bytes} of payload{named}, {}", counted(calls, "call"))
        });
        self.list(4, "backends", &backends.collect::<Vec<_>>());
        self.list(4, "delegates", &method.delegates.iter().map(delegate).collect::<Vec<_>>());
    }
}

/// Formats an input or output.
fn interface(value: &InterfaceSummary) -> String {
    let mut out = format!("{}: {}", value.name, value.kind);
    if let (Some(scale), Some(zero_point)) = (value.scale, value.zero_point) {
        let _ = write!(out, ", scale {scale:?}, zero point {zero_point}");
    }
    out + value.planned.map_or("", |is_planned| if is_planned { ", planned" } else { ", not planned" })
}

/// Formats a delegate: payload, and what its inputs and outputs are.
fn delegate(delegate: &DelegateSummary) -> String {
    let DelegateSummary { name, backend, bytes, interface, compiled, .. } = delegate;
    let target = match &compiled.compiled_for[..] {
        [] => String::new(),
        parts => format!(", for {}", escaped(&parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))),
    };
    match interface {
        Some(DelegateInterface { inputs, outputs, .. }) => {
            format!("{name}: {}{target}, {} -> {}", counted(*bytes, "byte"), inputs.join(", "), outputs.join(", "))
        }
        None => format!("{name}: {}, {backend}{target}", counted(*bytes, "byte")),
    }
}

/// Formats the releases that run a file: as ranges of those that are known.
fn running(releases: &[String]) -> String {
    let known: Vec<String> = Release::known().map(|release| release.version().to_string()).collect();
    let ranges: Vec<String> = known
        .chunk_by(|a, b| releases.contains(a) == releases.contains(b))
        .filter(|range| range.first().is_some_and(|first| releases.contains(first)))
        .map(|range| match range {
            [only] => only.clone(),
            [first, .., last] => format!("{first} to {last}"),
            [] => String::new(),
        })
        .collect();
    match ranges.is_empty() {
        true => format!("none of {} to {} runs it: `check --runtime all` says why", known[0], known[known.len() - 1]),
        false => format!("ExecuTorch {} run it", ranges.join(", ")),
    }
}
