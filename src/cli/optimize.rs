//! `pte-emit optimize IN -o OUT`: the same program with less planned memory and fewer instructions.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use pte_emit::command::text::{counted, escaped};
use pte_emit::diff::NumericOptions;
use pte_emit::{
    Assembly, Code, Error, Model, Report,
    edit::{InstructionChange, Optimization, OptimizeOptions, OptimizePass, OptimizedMethod},
};

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::interrupt;
use super::io::{self, Messages};
use super::runner::{self, RunnerArguments};

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct OptimizeArguments {
    /// .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// Restrict the command to a part: folding (calls on constants become constants), identity (copies and what has no
    /// effect are removed), memory (order, sharing and plan); separated by commas
    #[arg(long, value_name = "PART", value_parser = passes)]
    only: Option<Passes>,
    /// Number of bytes by which folding may make the file larger
    #[arg(long, value_name = "BYTES", value_parser = io::size, default_value = "0")]
    max_growth: u64,
    /// Print what was done to each instruction
    #[arg(long)]
    explain: bool,
    /// Execute the program before and after with the same inputs, those of a test or random ones, and write nothing if
    /// any output or other value differs
    #[arg(long)]
    verify: bool,
    #[command(flatten)]
    runner: RunnerArguments,
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
        let known = OptimizePass::WORDS.join(", ");
        found.ok_or_else(|| format!("unknown pass `{word}`, expected {known}"))
    };
    text.split(',').map(|word| pass(word.trim())).collect::<Result<_, _>>().map(Passes)
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read or planned; an output that cannot be written.
pub fn run(arguments: &OptimizeArguments, messages: &Messages) -> Result<Exit, Failure> {
    let OptimizeArguments { input, only, max_growth, explain, verify, runner, edit } = arguments;
    let model = edit.open(input, messages)?;
    let mut resolved = model.resolve_for_changes()?;
    let mut options = OptimizeOptions::default().max_growth(*max_growth);
    if let Some(Passes(passes)) = only {
        options.passes.clone_from(passes);
    }
    let done = resolved.optimize(&options)?;
    let assembly = resolved.to_files(&edit.options()?)?;
    let size = |assembly: &Assembly| assembly.program_file().and_then(|file| file.size());
    let sizes = size(model.assembly()?).zip(size(&assembly));
    let mut done = text(&done, sizes, *explain);
    if *verify {
        done += &verified(&model, &assembly, runner)?;
        if interrupt::is_requested() {
            return Ok(Exit::Interrupted);
        }
    }
    edit.write_assembly(&assembly, &[input], &done, messages)
}

/// Compares the runs of a program before and after, and returns a line about it.
///
/// # Errors
/// No runner, a run that fails, values that differ.
fn verified(model: &Model, assembly: &Assembly, runner: &RunnerArguments) -> Result<String, Failure> {
    let mut options = NumericOptions::new(runner.command()?).limits(runner.limits());
    (options.tolerance.atol, options.tolerance.rtol) = (0.0, 0.0);
    let folder = runner::folder()?;
    interrupt::defer();
    let found = model.compare_assembly(assembly, &options, folder.path())?;
    let Some(wrong) = found.methods.iter().find(|method| !method.comparison.equal) else {
        let compared = found.methods.iter().map(|method| method.comparison.compared).sum::<u64>();
        let methods = counted(found.methods.len() as u64, "method");
        return Ok(format!(
            "verified: outputs and {} of {methods} are equal\n",
            counted(compared, "recorded execution")
        ));
    };
    let name = escaped(&wrong.comparison.name);
    let message = format!("method `{name}` computes other values after the optimization; nothing is written");
    let help = "write it without `--verify`, then `pte-emit diff --numeric` shows the first instruction that differs";
    let report = Report::new(&model.label(), "", vec![Code::UnmetRequest.whole(message).help(help)]);
    Err(Error::new(report).into())
}

/// Returns the report of an optimization: lines for each method, with `explain` one for each change. `sizes` are those
/// of the program's file in bytes, before and after.
fn text(done: &Optimization, sizes: Option<(u64, u64)>, explain: bool) -> String {
    let mut out = String::new();
    for method in &done.methods {
        let OptimizedMethod { name, instructions: [before, after], planned: [from, to], changes, .. } = method;
        let name = escaped(if name.is_empty() { "(no name)" } else { name });
        let _ = write!(out, "{name}: planned memory {from} -> {}", counted(*to, "byte"));
        if from > to {
            let _ = write!(out, " (-{:.1} %)", (from - to) as f64 * 100.0 / *from as f64);
        }
        if let Some(alive) = method.alive.filter(|_| *to > 0) {
            let _ = write!(out, ", {alive} alive at once");
        }
        let _ = writeln!(out, ", {before} -> {}", counted(*after as u64, "instruction"));
        let parts = summary(method);
        if !parts.is_empty() {
            let _ = writeln!(out, "  {}", parts.join(", "));
        }
        let too_large = changes.iter().filter(|change| change.change == InstructionChange::TooLarge).count();
        if too_large > 0 {
            let calls = counted(too_large as u64, "call");
            let _ = write!(out, "  not folded, because the file would grow: {calls} on constants");
            if let Some(growth) = done.needed_growth {
                let _ = write!(out, "; `--max-growth {growth}` folds all");
            }
            match method.planned_with_growth {
                Some(least) if least < *to => out += &format!(", for a planned memory of {}\n", counted(least, "byte")),
                _ => out.push('\n'),
            }
        }
        match method.overwrites {
            [true, false] => {
                out += "  the former memory plan overwrites results of branches that are read later (X-4): the outputs of the input can be \
                        wrong, those of the result are right\n";
            }
            [_, true] => {
                out +=
                    "  the memory plan overwrites results of branches that are read later (X-4): outputs can be wrong\n"
            }
            [false, false] => {}
        }
        if let Some(reason) = &method.kept {
            let _ = writeln!(out, "  the memory plan stays: {reason}");
        }
        for change in changes.iter().filter(|_| explain) {
            let operator = escaped(&change.operator);
            let _ = writeln!(out, "  instruction {} ({operator}): {}", change.instruction, change.message);
        }
    }
    match sizes {
        Some((before, after)) if before != after => {
            let _ = writeln!(out, "program: {before} -> {}", counted(after, "byte"));
        }
        _ if !done.is_changed => out += "no changes\n",
        Some(_) | None => {}
    }
    out
}

/// Returns the numbers of changes to a method, by kind.
fn summary(method: &OptimizedMethod) -> Vec<String> {
    let mut counts: Vec<(&str, u64)> = Vec::new();
    for noun in method.changes.iter().filter_map(|change| change.change.noun()) {
        match counts.iter_mut().find(|(known, _)| *known == noun) {
            Some((_, count)) => *count += 1,
            None => counts.push((noun, 1)),
        }
    }
    counts.sort_unstable();
    let mut parts: Vec<String> = counts.into_iter().map(|(noun, count)| counted(count, noun)).collect();
    if method.reused > 0 {
        parts.push(format!("{} in the memory of an argument", counted(method.reused as u64, "result")));
    }
    if method.moved > 0 {
        parts.push(format!("{} at another position", counted(method.moved as u64, "instruction")));
    }
    parts
}
