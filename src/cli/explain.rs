//! `pte-emit explain TEXT...`: what an error of the runtime, a message of its log, a rule of `check` or a code of the
//! assembler means, and what to do; with `--model`, what it is about in a program.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use pte_emit::command::explanation::{self, Explained, Explanation};
use pte_emit::command::text::{ROW, clipped, clipped_to, counted};
use pte_emit::{
    Model,
    check::{LogMessage, Phase, Profile, Rule, RuntimeError},
    inspect::{CallSummary, Circumstances, ExplainOptions, ValueSummary},
    memory::Abi,
};

use super::exit::{Exit, Failure};
use super::io::{self, Messages, STREAM, write_more};
use super::json;
use super::memory::write_allocators;
use super::options::{FormatArguments, LimitArguments, RuntimeArguments, TextOrJson};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// Errors of ExecuTorch by number or name, such as 0x14, 20 or OperatorMissing, lines of its log, rules of check,
    /// such as X-4, and codes of the assembler, such as Y-5; - is a log on standard input; without any, the errors of
    /// ExecuTorch are listed
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,
    /// Program that the errors are of: a .pte, .bpte or YAML. It is searched for what they are about, such as the
    /// instruction that failed, an operator, or the memory that it needs
    #[arg(long, value_name = "FILE", requires = "texts")]
    model: Option<PathBuf>,
    /// Method: the one that failed, a name or a pattern with *; may be repeated; all by default
    #[arg(long, value_name = "METHOD", requires = "model")]
    method: Vec<String>,
    #[command(flatten)]
    runtime: RuntimeArguments,
    #[command(flatten)]
    limit: LimitArguments,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
    #[command(flatten)]
    sources: SourceArguments,
}

/// Prints the explanations.
///
/// # Errors
/// A text without anything known; a model that cannot be read; output that cannot be written.
pub fn run(arguments: &ExplainArguments, messages: &Messages) -> Result<Exit, Failure> {
    let memory = arguments.runtime.options();
    let options = ExplainOptions::default().methods(arguments.method.clone()).memory(memory.clone());
    let mut models = Vec::new();
    if let Some(path) = &arguments.model {
        let sources = Sources::checked(&arguments.sources)?;
        models = sources.open(path)?;
        sources.warn_unused(messages);
    }
    let explained = explanations(&arguments.texts, &models, &options)?;
    if arguments.texts.is_empty() && !arguments.format.is_json() {
        let list: String = RuntimeError::all().iter().map(row).collect();
        return stdout::write("", |out| out.write_all(list.as_bytes())).map(|()| Exit::Ok);
    }
    let printed = match arguments.format.is_json() {
        true => json::text(&explained),
        false => {
            let rows = arguments.limit.rows();
            let text = |item: &Explanation| {
                let mut out = explained_text(&item.explained);
                item.programs.iter().for_each(|program| write_program(program, memory.abi, rows, &mut out));
                out
            };
            explained.iter().map(text).collect::<Vec<String>>().join("\n")
        }
    };
    stdout::write("", |out| out.write_all(printed.as_bytes())).map(|()| Exit::Ok)
}

/// Explains what the texts name, and what it is about in programs; without texts, all errors of the runtime.
///
/// # Errors
/// A text without anything known; a model that cannot be read.
pub fn explanations(texts: &[String], models: &[Model], options: &ExplainOptions) -> Result<Vec<Explanation>, Failure> {
    let log = texts.iter().any(|text| text == STREAM).then(io::read_stdin).transpose()?;
    let log = log.as_deref().map(String::from_utf8_lossy);
    let found = explanation::named(texts, log.as_deref()).map_err(Failure::usage)?;
    Ok(Explanation::of(&found, models, options)?)
}

/// Line of the list of errors.
fn row(error: &RuntimeError) -> String {
    format!("{:#04x}  {:31}  {}\n", error.code, error.name, error.meaning)
}

/// Formats a subject.
fn explained_text(explained: &Explained) -> String {
    match explained {
        Explained::Error { error, rules } => error_text(error, rules),
        Explained::Message { message, kind, error } => {
            let LogMessage { meaning, remedy, .. } = kind;
            let error = RuntimeError::all().iter().find(|known| Some(known.code) == *error);
            let error = error.map_or_else(String::new, |error| format!("  error: {}", error_title(error)));
            format!("{}\n  meaning: {meaning}\n  what to do: {remedy}\n{error}", clipped_to(message, ROW))
        }
        Explained::Rule { rule, errors, .. } => rule_text(rule, errors),
        Explained::Code { code, name, meaning } => format!(
            "{code} {name}: {meaning}\n  a message of the assembler; it points at the source, and says what was found and expected\n"
        ),
    }
}

/// Longest line of a list of rules, in characters.
const WIDTH: usize = 100;

/// Line with the name, the number and the meaning of an error.
fn error_title(error: &RuntimeError) -> String {
    format!("{} {:#04x} ({}): {}\n", error.name, error.code, error.code, error.meaning)
}

fn error_text(error: &RuntimeError, rules: &[&str]) -> String {
    let mut out = error_title(error);
    let phase = match error.phase {
        Some(Phase::Load) => " while the program or a method is loaded",
        Some(Phase::Execute) => " while a method is executed",
        None => "",
    };
    for (place, causes) in [("", &error.causes), (" in a build, a backend or a device", &error.other_causes)] {
        if !causes.is_empty() {
            let _ = writeln!(out, "  causes{place}{phase}:\n    {}", causes.join("\n    "));
        }
    }
    let _ = writeln!(out, "  what to do: {}", error.remedy);
    if !rules.is_empty() {
        out += "  rules of `check` whose violation causes it:\n";
        let mut line = String::new();
        for rule in rules {
            if line.len() + rule.len() > WIDTH {
                let _ = writeln!(out, "    {}", line.trim_end());
                line.clear();
            }
            line += rule;
            line.push(' ');
        }
        let _ = writeln!(out, "    {}", line.trim_end());
    }
    out
}

fn rule_text(rule: &Rule, errors: &[u32]) -> String {
    let mut out = format!("{} ({}): {}\n", rule.id, rule.severity, rule.title);
    let _ = writeln!(out, "  reason: {}", rule.why);
    let _ = writeln!(out, "  the runtime: {}", rule.runtime);
    let _ = writeln!(out, "  example: {}", rule.example);
    let profiles = [Profile::Strict, Profile::Portable, Profile::Aten, Profile::Bits32, Profile::Legacy];
    let applies: Vec<String> =
        profiles.into_iter().filter(|profile| rule.applies(*profile)).map(|profile| profile.to_string()).collect();
    if applies.len() < profiles.len() {
        let _ = writeln!(out, "  profiles of `check`: {}", applies.join(", "));
    }
    for error in RuntimeError::all().iter().filter(|error| errors.contains(&error.code)) {
        let _ = writeln!(out, "  {} {:#04x}: {}", error.name, error.code, error.remedy);
    }
    out
}

/// Writes what an error or a message is about in a program.
fn write_program(about: &Circumstances, abi: Abi, rows: usize, out: &mut String) {
    let start = out.len();
    if let Some(part) = &about.mismatch {
        let _ = writeln!(out, "    it has no {part}: the message is of another program");
    }
    if !about.keys.is_empty() {
        let _ = writeln!(out, "    keys that it needs: {}", clipped_to(&about.keys.join(", "), ROW));
    }
    for operator in about.operators.iter().take(rows) {
        let library = operator.library.unwrap_or("unknown: ExecuTorch has no such operator");
        let calls = counted(operator.instructions, "call");
        let _ = writeln!(out, "    operator {}: {calls}, library {library}", clipped(&operator.name));
    }
    write_more("    ", about.operators.len(), rows, "operator", out);
    for method in about.methods.iter().take(rows) {
        let title = out.len();
        if let Some(inputs) = &method.inputs {
            write_values("input", inputs, rows, out);
        }
        for call in method.calls.iter().take(rows) {
            let CallSummary { chain, instruction, callee, arguments, stack_trace, .. } = call;
            let _ = writeln!(out, "      instruction {chain}:{instruction}: {}", clipped(callee));
            write_values("  arg", arguments, rows, out);
            let skipped = stack_trace.len().saturating_sub(rows);
            stack_trace[skipped..].iter().for_each(|line| _ = writeln!(out, "        {}", clipped_to(line, ROW)));
        }
        write_more("      ", method.calls.len(), rows, "call", out);
        for delegate in method.delegates.iter().take(rows) {
            let [name, backend] = [&delegate.name, &delegate.backend].map(|text| clipped(text));
            let _ = writeln!(out, "      delegate {name}: backend {backend}, {}", counted(delegate.calls, "call"));
        }
        write_more("      ", method.delegates.len(), rows, "delegate", out);
        for (index, bytes) in method.pools.iter().flatten().enumerate() {
            let _ = writeln!(out, "      pool {}: {}", index + 1, counted(*bytes, "byte"));
        }
        if let (Some(memory), Some(temporary)) = (&method.method_allocator, &method.temporary_allocator) {
            let mut text = String::new();
            write_allocators(memory, temporary, abi, &mut text);
            text.lines().for_each(|line| _ = writeln!(out, "    {line}"));
        }
        let end = match (out.len() > title, &method.inputs) {
            (true, _) => ":",
            (false, Some(_)) => ": no inputs",
            (false, None) => "",
        };
        out.insert_str(title, &format!("    method {}{end}\n", clipped(&method.name)));
    }
    write_more("    ", about.methods.len(), rows, "method", out);
    if out.len() > start {
        out.insert_str(start, &format!("  in {}:\n", clipped_to(&about.program, ROW)));
    }
}

/// Writes inputs or arguments. Values without a name are literals.
fn write_values(what: &str, values: &[ValueSummary], rows: usize, out: &mut String) {
    for (index, ValueSummary { name, kind, .. }) in values.iter().enumerate().take(rows) {
        let name = if name.starts_with("values[") { String::new() } else { format!("{}: ", clipped(name)) };
        let _ = writeln!(out, "      {what} {index}: {name}{}", clipped_to(kind, ROW));
    }
    write_more("        ", values.len(), rows, "value", out);
}
