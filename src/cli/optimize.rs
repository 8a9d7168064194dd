//! `pte-emit optimize IN -o OUT`: the same program with less planned memory and fewer instructions.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use pte_emit::text::{counted, escaped};
use pte_emit::{Optimization, OptimizeOptions, OptimizePass, OptimizedMethod};

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::io::Messages;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct OptimizeArguments {
    /// .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// Restrict the command to a part: passes that run, separated by commas
    #[arg(long, value_name = "PART", value_parser = passes)]
    only: Option<Passes>,
    /// Print what was done to each instruction
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    edit: EditArguments,
}

/// Passes that run.
#[derive(Debug, Clone)]
struct Passes(Vec<OptimizePass>);

/// Parses passes, separated by commas.
fn passes(text: &str) -> Result<Passes, String> {
    let pass = |word: &str| {
        let found = OptimizePass::ALL.into_iter().find(|pass| pass.word() == word);
        let known = OptimizePass::ALL.map(OptimizePass::word).join(", ");
        found.ok_or_else(|| format!("unknown pass `{word}`, expected {known}"))
    };
    text.split(',').map(|word| pass(word.trim())).collect::<Result<_, _>>().map(Passes)
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read or planned; an output that cannot be written.
pub fn run(arguments: &OptimizeArguments, messages: &Messages) -> Result<Exit, Failure> {
    let OptimizeArguments { input, only, explain, edit } = arguments;
    let mut resolved = edit.open(input, messages)?.resolve_for_changes()?;
    let mut options = OptimizeOptions::default();
    if let Some(Passes(passes)) = only {
        options.passes.clone_from(passes);
    }
    let done = resolved.optimize(&options)?;
    edit.write(resolved, &edit.options(), &[input], &text(&done, *explain), messages)
}

/// Returns the report of an optimization: a line for each method, with `explain` one for each change.
fn text(done: &Optimization, explain: bool) -> String {
    let mut out = String::new();
    for method in &done.methods {
        let OptimizedMethod { name, instructions: [before, after], planned, kept, changes, .. } = method;
        let name = escaped(if name.is_empty() { "(no name)" } else { name });
        let [planned_before, planned_after] = *planned;
        let _ = write!(out, "{name}: planned memory {planned_before} -> {}", counted(planned_after, "byte"));
        if planned_before > planned_after {
            let percent = (planned_before - planned_after) as f64 * 100.0 / planned_before as f64;
            let _ = write!(out, " (-{percent:.1} %)");
        }
        let _ = writeln!(out, ", {before} -> {}", counted(*after as u64, "instruction"));
        if let Some(reason) = kept {
            let _ = writeln!(out, "  the memory plan stays: {reason}");
        }
        for change in changes.iter().filter(|_| explain) {
            let operator = escaped(&change.operator);
            let _ = writeln!(out, "  instruction {} ({operator}): {}", change.instruction, change.change);
        }
    }
    out
}
