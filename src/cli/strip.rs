//! `pte-emit strip INPUT -o FILE`: a program without the parts that the runtime does not need.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use pte_emit::command::text::counted;
use pte_emit::edit::{StripKind, Stripped};

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::io::Messages;

/// Arguments of `strip`.
#[derive(Debug, Args)]
pub struct StripArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// Restrict the command to a part: traces, names, handles, tests, unused, separated by commas
    #[arg(long, value_name = "PART", value_parser = Kinds::parse)]
    only: Option<Kinds>,
    #[command(flatten)]
    edit: EditArguments,
}

/// Kinds of `--only`.
#[derive(Debug, Clone)]
struct Kinds(Vec<StripKind>);

impl Kinds {
    fn parse(text: &str) -> Result<Kinds, String> {
        let known = StripKind::WORDS.join(", ");
        let kind = |word: &str| {
            StripKind::parse(word.trim()).ok_or_else(|| format!("unknown part `{word}`; expected some of {known}"))
        };
        text.split(',').map(kind).collect::<Result<Vec<StripKind>, String>>().map(Kinds)
    }
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, an output that cannot be written.
pub fn run(arguments: &StripArguments, messages: &Messages) -> Result<Exit, Failure> {
    let StripArguments { input, only, edit } = arguments;
    let kinds = only.as_ref().map_or(&StripKind::ALL[..], |kinds| &kinds.0);
    let (resolved, stripped) = edit.open(input, messages)?.resolve()?.strip(kinds)?;
    edit.write(resolved, &edit.options()?, &[input], &done(&stripped), messages)
}

/// Changes, for the summary.
fn done(stripped: &[Stripped]) -> String {
    if stripped.iter().all(|part| part.count == 0) {
        return "nothing to remove\n".to_owned();
    }
    let mut out = String::new();
    for Stripped { kind, count, bytes, .. } in stripped.iter().filter(|part| part.count > 0) {
        let _ = writeln!(out, "{}: {} saved", counted(*count, kind.noun()), counted(*bytes, "byte"));
    }
    out
}
