//! `pte-emit rename INPUT --method OLD=NEW -o FILE`: other names for the methods of a program.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use pte_emit::command::text::clipped;
use pte_emit::edit::MethodRename;

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::io::Messages;

/// Arguments of `rename`.
#[derive(Debug, Args)]
pub struct RenameArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// Method; OLD=NEW, its present and its new name; may be repeated
    #[arg(long, value_name = "METHOD", required = true, value_parser = MethodRename::parse)]
    method: Vec<MethodRename>,
    #[command(flatten)]
    edit: EditArguments,
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, an unknown method or a name that is taken, an output that cannot be written.
pub fn run(arguments: &RenameArguments, messages: &Messages) -> Result<Exit, Failure> {
    let RenameArguments { input, method, edit } = arguments;
    let (resolved, renamed) = edit.open(input, messages)?.resolve()?.rename_methods(method)?;
    let mut done = String::new();
    for MethodRename { from, to } in &renamed {
        let _ = writeln!(done, "renamed `{}` to `{}`", clipped(from), clipped(to));
    }
    edit.write(resolved, &edit.options()?, &[input], &done, messages)
}
