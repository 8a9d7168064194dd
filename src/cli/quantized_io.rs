//! `pte-emit io FILE --quantized`: inputs and outputs that are integers in place of floating point numbers.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use pte_emit::command::text::{clipped, counted};
use pte_emit::edit::{QuantizedIo, QuantizedIoOptions};

use super::edit::EditArguments;
use super::exit::{Exit, Failure};
use super::io::Messages;
use super::options;

/// Arguments of `io`.
#[derive(Debug, Args)]
pub struct IoArguments {
    /// A .pte, .bpte or YAML; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Inputs and outputs by their names in `dump`; all that can be changed by default
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Remove what quantizes inputs and dequantizes outputs, calls and conversions in XNNPACK payloads
    #[arg(long, required = true)]
    quantized: bool,
    /// Method; needed once if there are several
    #[arg(long, value_name = "METHOD")]
    method: Vec<String>,
    #[command(flatten)]
    edit: EditArguments,
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, names of others than inputs and outputs that are quantized, an output that cannot be
/// written.
pub fn run(arguments: &IoArguments, messages: &Messages) -> Result<Exit, Failure> {
    let IoArguments { input, names, quantized: _, method, edit } = arguments;
    let options = QuantizedIoOptions::default().names(names.clone()).method(options::one_method(method)?);
    let (resolved, done) = edit.open(input, messages)?.quantize_io(&options)?;
    edit.write(resolved, &edit.options()?, &[input], &summary(&done), messages)
}

/// Changes, for the summary.
fn summary(done: &QuantizedIo) -> String {
    let mut out = String::new();
    for value in &done.values {
        let (what, name) = (if value.is_input { "input" } else { "output" }, clipped(&value.name));
        let (scale, zero_point) = (value.scale, value.zero_point);
        let _ = writeln!(out, "{what} `{name}`: {}, scale {scale}, zero point {zero_point}", value.scalar_type);
    }
    if done.removed_tests > 0 {
        let _ = writeln!(out, "{} removed, of other element types", counted(done.removed_tests, "test"));
    }
    out
}
