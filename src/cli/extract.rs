//! `pte-emit extract INPUT --method NAME -o FILE`: some methods of a program, with the parts that they need.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use pte_emit::command::text::{counted, first_names};
use pte_emit::edit::Extracted;

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::io::Messages;

/// Arguments of `extract`.
#[derive(Debug, Args)]
pub struct ExtractArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// Method; its name or a pattern, in which * stands for any characters; may be repeated
    #[arg(long, value_name = "METHOD", required = true)]
    method: Vec<String>,
    #[command(flatten)]
    edit: EditArguments,
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, an unknown method, an output that cannot be written.
pub fn run(arguments: &ExtractArguments, messages: &Messages) -> Result<Exit, Failure> {
    let ExtractArguments { input, method, edit } = arguments;
    let (resolved, extracted) = edit.open(input, messages)?.resolve()?.extract_methods(method)?;
    edit.write(resolved, &edit.options()?, &[input], &done(&extracted), messages)
}

/// Changes, for the summary.
fn done(extracted: &Extracted) -> String {
    let list = |names: &[String]| first_names(names.iter().map(String::as_str));
    let mut out = format!("kept {}: {}\n", counted(extracted.methods.len(), "method"), list(&extracted.methods));
    if !extracted.removed_methods.is_empty() {
        let methods = counted(extracted.removed_methods.len(), "method");
        let bytes = counted(extracted.removed_bytes, "byte");
        let _ = writeln!(out, "  removed {methods} with {bytes} of data: {}", list(&extracted.removed_methods));
    }
    if !extracted.removed_keys.is_empty() {
        let entries = counted(extracted.removed_keys.len(), "entry");
        let _ = writeln!(
            out,
            "  removed {entries} of data that only removed methods need: {}",
            list(&extracted.removed_keys)
        );
    }
    if !extracted.unknown_keys.is_empty() {
        let entries = counted(extracted.unknown_keys.len(), "entry");
        let keys = list(&extracted.unknown_keys);
        let _ = writeln!(
            out,
            "  kept {entries} of data with keys that no payload contains, so that their users are unknown: {keys}"
        );
    }
    out
}
