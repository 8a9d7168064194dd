//! `pte-emit fmt FILE...`: lays YAML out as `dump` prints it. The library formats; this file reads and writes.

use std::path::{Path, PathBuf};

use clap::Args;
use pte_emit::command::text::{counted, escaped};
use pte_emit::command::unified;
use pte_emit::{ComputedKeys, Formatted};

use super::exit::{Exit, Failure};
use super::io::{self, Messages, STREAM};
use super::outputs::{Outputs, Replaced};
use super::sources::ConfineArguments;
use super::stdout;

/// Arguments of `fmt`.
#[derive(Debug, Args)]
pub struct FmtArguments {
    /// YAML files, which are replaced; - is standard input, which is written to standard output
    #[arg(value_name = "FILE.yaml", required = true)]
    inputs: Vec<PathBuf>,
    /// Print what would change, and exit with status 1 if something would; write nothing
    #[arg(long)]
    check: bool,
    /// Leave out what assembling computes: properties of values, pools, options of the layout
    #[arg(long)]
    shortest: bool,
    /// Print computed values, too: element types and sizes of all tensors
    #[arg(long, conflicts_with = "shortest")]
    explicit: bool,
    #[command(flatten)]
    limits: ConfineArguments,
}

/// Runs the command. An error of one file does not stop the others.
///
/// # Errors
/// Standard input that is read twice; an output that cannot be written.
pub fn run(arguments: &FmtArguments, messages: &Messages) -> Result<Exit, Failure> {
    if io::reads_stream_twice(&arguments.inputs) {
        return Err(Failure::usage("`-` is standard input, which can be read once"));
    }
    let mut exit = Exit::Ok;
    for path in &arguments.inputs {
        let done = format(path, arguments, messages);
        exit = exit.max(match done {
            Err(Failure::ClosedPipe) => return Err(Failure::ClosedPipe),
            done => done.unwrap_or_else(|failure| failure.report(messages)),
        });
    }
    Ok(exit)
}

/// Formats a file.
///
/// # Errors
/// A file that cannot be read, that is not well-formed YAML, or that cannot be written.
fn format(path: &Path, arguments: &FmtArguments, messages: &Messages) -> Result<Exit, Failure> {
    let name = path.display().to_string();
    let model = arguments.limits.limited(io::open(path)?);
    let keys = match (arguments.shortest, arguments.explicit) {
        (true, _) => ComputedKeys::Omitted,
        (false, true) => ComputedKeys::Stated,
        (false, false) => ComputedKeys::AsWritten,
    };
    let Formatted { text: formatted, untried, .. } = model.format_yaml(keys)?;
    if untried > 0 {
        let keys = counted(untried as u64, "key");
        messages
            .warning(&format!("{name} is too large to try {keys}, which stay as they are: split it into documents"));
    }
    let is_same = model.text() == Some(&*formatted);
    if arguments.check {
        if is_same {
            return Ok(Exit::Ok);
        }
        let names = [model.name(), &format!("{} (formatted)", model.name())];
        let diff = unified(model.text().unwrap_or_default(), &formatted, names);
        // Line ends are no lines of a diff.
        let diff = if diff.is_empty() { format!("{}: line ends differ\n", escaped(model.name())) } else { diff };
        stdout::write("", |out| out.write_all(diff.as_bytes()))?;
        return Ok(Exit::Input);
    }
    if path.as_os_str() == STREAM {
        return stdout::write("", |out| out.write_all(formatted.as_bytes())).map(|()| Exit::Ok);
    }
    if !is_same {
        let mut outputs = Outputs::new(&*name, false);
        outputs.write_text(path, Replaced::Any, &formatted)?;
        outputs.commit()?;
        messages.summary(&format!("{}: formatted\n", escaped(&name)));
    }
    Ok(Exit::Ok)
}
