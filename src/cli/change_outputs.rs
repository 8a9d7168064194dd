//! `pte-emit outputs add|remove FILE NAME...`: which values a method returns.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use pte_emit::command::text::{clipped, counted, first_names};
use pte_emit::edit::{ChangedOutputs, OutputOptions};

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::io::Messages;
use super::options;

/// Arguments of `outputs`.
#[derive(Debug, Args)]
pub struct ChangeOutputsArguments {
    #[command(subcommand)]
    command: OutputsCommand,
}

#[derive(Debug, Subcommand)]
enum OutputsCommand {
    /// Return more values of a method, such as intermediate results; memory is planned again
    Add(NamedArguments),
    /// Return fewer values
    Remove(NamedArguments),
}

#[derive(Debug, Args)]
struct NamedArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Values by their names in `dump`
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Method; by default forward, or the only one that computes
    #[arg(long, value_name = "METHOD")]
    method: Vec<String>,
    #[command(flatten)]
    edit: EditArguments,
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, names that the method does not have, an output that cannot be written.
pub fn run(arguments: &ChangeOutputsArguments, messages: &Messages) -> Result<Exit, Failure> {
    let (named, options) = match &arguments.command {
        OutputsCommand::Add(named) => (named, OutputOptions::default().add(named.names.clone())),
        OutputsCommand::Remove(named) => (named, OutputOptions::default().remove(named.names.clone())),
    };
    let NamedArguments { input, method, edit, .. } = named;
    let options = options.method(options::one_method(method)?);
    let (resolved, changed) = edit.open(input, messages)?.change_outputs(&options)?;
    edit.write(resolved, &edit.options()?, &[input], &done(&changed), messages)
}

/// Changes, for the summary.
fn done(changed: &ChangedOutputs) -> String {
    let names = first_names(changed.outputs.iter().map(String::as_str));
    let outputs = counted(changed.outputs.len(), "output");
    let mut out = format!("{outputs} of `{}`: {names}\n", clipped(&changed.method));
    if changed.changed_tests > 0 {
        let tests = counted(changed.changed_tests, "test");
        out += &format!("  {tests} without expected outputs now: `pte-emit test --bless` writes them into YAML\n");
    }
    out
}
