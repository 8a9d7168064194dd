//! `pte-emit bound FILE --input x=1x64 -o OUTPUT`: lower bounds of dynamic inputs.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use pte_emit::command::text::{clipped, counted};
use pte_emit::{
    Assembly,
    edit::{BoundOptions, BoundReport, InputBound},
};

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::io::Messages;
use super::options;

/// Arguments of `bound`.
#[derive(Debug, Args)]
pub struct BoundArguments {
    /// A .pte, .bpte or YAML
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Input by its name in `dump`, or its number from 0: its new bounds, such as x=1x64; x=1x64! makes it static, _
    /// keeps a size
    #[arg(short = 'i', long = "input", value_name = "NAME=VALUE")]
    inputs: Vec<InputBound>,
    /// Make all inputs static
    #[arg(long = "static")]
    all_static: bool,
    /// Method; by default forward, or the only one that computes
    #[arg(long, value_name = "METHOD")]
    method: Vec<String>,
    #[command(flatten)]
    edit: EditArguments,
}

/// Number of calls that the summary names.
const MAX_KEPT: usize = 4;

/// Runs the command.
///
/// # Errors
/// An input that cannot be read; bounds that the program does not take; an output that is invalid or cannot be written.
pub fn run(arguments: &BoundArguments, messages: &Messages) -> Result<Exit, Failure> {
    if arguments.inputs.is_empty() && !arguments.all_static {
        return Err(Failure::usage("no bounds: add `--input NAME=SIZES` or `--static`"));
    }
    let model = arguments.edit.open(&arguments.input, messages)?;
    let mut options = BoundOptions::default();
    options.method = options::one_method(&arguments.method)?;
    options.inputs.clone_from(&arguments.inputs);
    options.all_static = arguments.all_static;
    let mut resolved = model.resolve_for_changes()?;
    let report = resolved.bound(&options)?;
    let before = planned(model.assembly()?);
    let assembly = resolved.to_files(&arguments.edit.options()?)?;
    let done = summary(&report, &assembly, &before);
    arguments.edit.write_assembly(&assembly, &[&arguments.input], &done, messages)
}

/// Returns the planned memory of each method in bytes.
fn planned(assembly: &Assembly) -> Vec<u64> {
    assembly.plan().memory.iter().map(|memory| memory.total()).collect()
}

/// Describes the changes.
fn summary(report: &BoundReport, assembly: &Assembly, before: &[u64]) -> String {
    let mut out = String::new();
    for input in &report.bounded.inputs {
        let (name, made) = (clipped(&input.name), if input.made_static { ", now static" } else { "" });
        let _ = writeln!(out, "`{name}`: {:?} from {:?}{made}", input.after, input.before);
    }
    let _ = write!(out, "{} changed", counted(report.bounded.tensors, "tensor"));
    if report.bounded.made_static > 0 {
        let _ = write!(out, ", {} of them now static", report.bounded.made_static);
    }
    out.push('\n');
    for delegate in &report.bounded.delegates {
        let values = counted(delegate.values, "value");
        let _ = writeln!(
            out,
            "delegate {} of {}: {values} of its graph changed",
            delegate.delegate,
            clipped(&delegate.backend)
        );
    }
    for kept in report.bounded.kept.iter().take(MAX_KEPT) {
        let _ = writeln!(
            out,
            "{} (`{}`) keeps the bounds of its results: {}",
            kept.instruction, kept.operator, kept.reason
        );
    }
    if let Some(more) = report.bounded.kept.len().checked_sub(MAX_KEPT).filter(|more| *more > 0) {
        let _ = writeln!(out, "{} more keep the bounds of their results", counted(more, "instruction"));
    }
    if report.removed_tests > 0 {
        let _ = writeln!(out, "{} removed, whose inputs do not fit", counted(report.removed_tests, "test"));
    }
    if let Some(reason) = &report.kept {
        let _ = writeln!(out, "the memory plan stays: {reason}; use `bound` before `optimize`");
    }
    let plans = assembly.program().plans();
    for ((plan, before), after) in plans.iter().zip(before).zip(planned(assembly)) {
        let name = clipped(plan.name.as_deref().unwrap_or("(no name)"));
        let _ = writeln!(out, "planned memory of `{name}`: {} from {before}", counted(after, "byte"));
    }
    out
}
