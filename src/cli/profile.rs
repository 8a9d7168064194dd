//! `pte-emit profile FILE ETDUMP [ETDUMP2]`: the times that the runtime recorded, by instruction, operator and
//! delegate.

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pte_emit::command::text::{ROW, clipped, clipped_to, counted, escaped, first_names};
use pte_emit::profile::{DelegateTime, InstructionTime, MeasuredTime, MethodProfile, OperationTime, Recording};
use pte_emit::run::RunOptions;
use pte_emit::{Error, Model};

use super::exit::{Exit, Failure};
use super::interrupt;
use super::io::Messages;
use super::io::write_more;
use super::json;
use super::options::{self, FormatArguments, LimitArguments, TextOrJson};
use super::run::InputArguments;
use super::runner::{self, ETDUMP, RunnerArguments};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `profile`.
#[derive(Debug, Args)]
pub struct ProfileArguments {
    /// The program that was executed: a .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// What the runtime recorded; --run records it
    #[arg(value_name = "ETDUMP", required_unless_present = "run")]
    recording: Option<PathBuf>,
    /// A second recording of FILE to compare with
    #[arg(value_name = "ETDUMP2")]
    second: Option<PathBuf>,
    /// Execute the method this many times in the runtime, with inputs as of `run`, in place of ETDUMP
    #[arg(long, value_name = "COUNT", num_args = 0..=1, require_equals = true, default_missing_value = "10", conflicts_with = "recording",
        value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    run: Option<u64>,
    #[command(flatten)]
    inputs: InputArguments,
    #[command(flatten)]
    runner: RunnerArguments,
    /// Print only these times, in text; may be repeated
    #[arg(long, value_enum, value_name = "WHAT")]
    by: Vec<ByName>,
    /// Method; its name or a pattern, in which * stands for any characters; may be repeated. Needed if several have the
    /// recorded instructions
    #[arg(long, value_name = "METHOD")]
    method: Vec<String>,
    #[command(flatten)]
    limit: LimitArguments,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
    #[command(flatten)]
    sources: SourceArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ByName {
    /// Instructions of the program
    Instruction,
    /// Operators, with all instructions that call them
    Operator,
    /// Delegates, with the operations inside of them
    Delegate,
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read; a recording of another program; output that cannot be written.
pub fn run(arguments: &ProfileArguments, messages: &Messages) -> Result<Exit, Failure> {
    let sources = Sources::checked(&arguments.sources)?;
    let model = sources.open_one(&arguments.input, |found| format!("expected one document, found {found}"))?;
    sources.warn_unused(messages);
    let profile = |recording: &Recording, methods: &[String]| model.profile(recording, methods);
    let mut found = match (arguments.run, &arguments.recording) {
        (Some(count), _) => {
            let folder = runner::folder()?;
            let etdump = folder.path().join("etdump");
            let options = RunOptions::new(arguments.runner.command()?).limits(arguments.runner.limits());
            let options = arguments.inputs.set(options, &[&arguments.input], 1)?;
            let options = options.repeat(count).etdump(Some(etdump.clone()));
            let options = options.method(options::one_method(&arguments.method)?);
            interrupt::defer();
            let done = model.run(&options, folder.path())?;
            if interrupt::is_requested() {
                return Ok(Exit::Interrupted);
            }
            profile(&Recording::from_bytes(ETDUMP, &runner::etdump(&etdump)?)?, &[done.method])?
        }
        (None, Some(recording)) => profile(&Recording::open(recording)?, &arguments.method)?,
        (None, None) => return Err(Failure::usage("expected an ETDump, or `--run`")),
    };
    if let Some(second) = &arguments.second {
        found.compare(&profile(&Recording::open(second)?, &arguments.method)?);
    }
    let out = match arguments.format.is_json() {
        true => json::text(&found),
        false => {
            let mut out = String::new();
            let ProfileArguments { by, limit, .. } = arguments;
            found.methods.iter().for_each(|method| write_method(&model.label(), method, by, limit.rows(), &mut out));
            out
        }
    };
    stdout::write("", |to| to.write_all(out.as_bytes()))?;
    Ok(Exit::Ok)
}

/// Returns the tables of a recording of one method.
///
/// # Errors
/// A recording of another program.
pub fn tables(model: &Model, recording: &Recording, method: &str, limit: usize) -> Result<String, Error> {
    let found = model.profile(recording, &[method.to_owned()])?;
    let mut out = String::new();
    found.methods.iter().for_each(|method| write_method(&model.label(), method, &[], limit, &mut out));
    Ok(out)
}

fn write_method(name: &str, method: &MethodProfile, only: &[ByName], limit: usize, out: &mut String) {
    let is_shown = |by| only.is_empty() || only.contains(&by);
    let executions = counted(method.executions.count, "execution");
    let _ = writeln!(out, "{}: method {}: {executions}", escaped(name), clipped(&method.name));
    let whole = [("execution", &method.executions), ("outside of instructions", &method.overhead)];
    table(&whole.map(|(what, time)| (what.to_owned(), time)), 2, "execution", usize::MAX, out);
    if is_shown(ByName::Instruction) {
        let mut rows: Vec<&InstructionTime> = method.instructions.iter().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(largest(&row.time)));
        let rows: Vec<_> = rows.into_iter().map(|row| (instruction(row), &row.time)).collect();
        table(&rows, 2, "instruction", limit, out);
    }
    if is_shown(ByName::Operator) {
        let text =
            |calls: usize, name: &str| format!("{}, {}", clipped_to(name, ROW), counted(calls as u64, "instruction"));
        let rows: Vec<_> =
            method.operators.iter().map(|row| (text(row.instructions, &row.operator), &row.time)).collect();
        table(&rows, 2, "operator", limit, out);
    }
    if is_shown(ByName::Delegate) {
        for delegate in method.delegates.iter().take(limit) {
            write_delegate(delegate, limit, out);
        }
        write_more("  ", method.delegates.len(), limit, "delegate", out);
    }
}

/// Returns the longer one of the times of both recordings.
fn largest(time: &MeasuredTime) -> u64 {
    time.total.max(time.compared.map_or(0, |second| second.total))
}

fn instruction(row: &InstructionTime) -> String {
    let mut text = format!("[{}] {}", row.index, clipped_to(&row.label, ROW));
    if let Some(delegate) = &row.delegate {
        let _ = write!(text, " {}", clipped(delegate));
    }
    if !row.results.is_empty() {
        let names = row.results.iter().map(String::as_str).chain(std::iter::repeat_n("", row.more_results));
        let _ = write!(text, " -> {}", first_names(names));
    }
    text
}

fn write_delegate(delegate: &DelegateTime, limit: usize, out: &mut String) {
    let DelegateTime { name, backend, .. } = delegate;
    let text =
        format!("{} ({}), {}", clipped(name), clipped(backend), counted(delegate.instructions as u64, "instruction"));
    table(&[(text, &delegate.time)], 2, "delegate", 1, out);
    let text = |row: &OperationTime| {
        let nodes = row.nodes.iter().map(|node| format!("[{}] {}", node.index, node.name));
        let nodes: Vec<String> = nodes.collect();
        let of = if nodes.is_empty() { "" } else { " of " };
        clipped_to(&row.operation, ROW) + of + &nodes.join(", ")
    };
    let rows: Vec<_> = delegate.operations.iter().map(|row| (text(row), &row.time)).collect();
    table(&rows, 4, "operation", limit, out);
}

/// Ticks in a microsecond.
const MICROSECOND: f64 = 1000.0;

/// Writes rows of times, each with a text, under a line with the names of the columns; nothing without rows.
fn table(rows: &[(String, &MeasuredTime)], indent: usize, what: &str, limit: usize, out: &mut String) {
    if rows.is_empty() {
        return;
    }
    let is_compared = rows.iter().any(|(_, time)| time.compared.is_some());
    let columns: &[&str] = match is_compared {
        true => &["share", "first", "second", "change", "ratio"],
        false => &["share", "count", "total", "mean", "min", "max"],
    };
    let mut lines: Vec<Vec<String>> = vec![columns.iter().map(|name| (*name).to_owned()).collect()];
    lines.extend(rows.iter().take(limit).map(|(_, time)| if is_compared { compared(time) } else { measured(time) }));
    let widths: Vec<usize> = (0..columns.len())
        .map(|column| lines.iter().map(|line| line.get(column).map_or(0, String::len)).max().unwrap_or(0))
        .collect();
    let texts = std::iter::once(format!(
        "{what} (microseconds{})",
        if is_compared { " per execution of the method" } else { "" }
    ))
    .chain(rows.iter().map(|(text, _)| text.clone()));
    for (line, text) in lines.iter().zip(texts) {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        let _ = writeln!(out, "{:indent$}{}  {text}", "", cells.join("  "));
    }
    write_more(&format!("{:indent$}", ""), rows.len(), limit, what, out);
}

fn micros(ticks: f64) -> String {
    format!("{:.1}", ticks / MICROSECOND)
}

fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

fn measured(time: &MeasuredTime) -> Vec<String> {
    let [total, min, max] = [time.total, time.min, time.max].map(|ticks| micros(ticks as f64));
    vec![percent(time.share), time.count.to_string(), total, micros(time.mean), min, max]
}

fn compared(time: &MeasuredTime) -> Vec<String> {
    let second = time.compared.unwrap_or_default();
    let ratio = second.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
    let change = format!("{:+.1}", second.delta / MICROSECOND);
    vec![percent(time.share), micros(second.first), micros(second.second), change, ratio]
}
