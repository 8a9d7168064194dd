//! `pte-emit annotate FILE`: explains every byte of a `.pte`, `.ptd` or `.bpte`.

use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use pte_emit::inspect::{AnnotateOptions, AnnotatePart};

use super::exit::{Exit, Failure};
use super::io::{self, Messages};
use super::options::{ForceArguments, FormatArguments, TextOrJson};
use super::outputs::{Outputs, Replaced, Writer};
use super::stdout;

/// Arguments of `annotate`.
#[derive(Debug, Args)]
pub struct AnnotateArguments {
    /// A .pte, .ptd or .bpte; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Print only blocks that overlap these bytes: START..END, where either end may be omitted, or one offset; 0x for
    /// hexadecimal
    #[arg(long, value_name = "BYTES", value_parser = range)]
    range: Option<Range<u64>>,
    /// Print only this part of the file
    #[arg(long, value_enum, value_name = "PART")]
    part: Option<PartName>,
    /// Output: a file; - is standard output, and the default
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    replace: ForceArguments,
    #[command(flatten)]
    format: FormatArguments<TextOrJson>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PartName {
    /// Root offset, file identifier and extended header
    Headers,
    /// The FlatBuffer
    Program,
    /// The data after the FlatBuffer
    Segments,
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, or is of an unknown format; output that cannot be written.
pub fn run(arguments: &AnnotateArguments, messages: &Messages) -> Result<Exit, Failure> {
    let source = io::open_binary(&arguments.input)?;
    let only = arguments.part.map(|only| match only {
        PartName::Headers => AnnotatePart::Headers,
        PartName::Program => AnnotatePart::Program,
        PartName::Segments => AnnotatePart::Segments,
    });
    let output = arguments.output.as_deref().filter(|path| path.as_os_str() != io::STREAM);
    let options = AnnotateOptions::default()
        .range(arguments.range.clone())
        .only(only)
        .json(arguments.format.is_json())
        .colours(output.is_none() && messages.paint().is_coloured);
    let mut failed = None;
    let annotate = |out: &mut dyn std::io::Write| {
        source.annotate(&options, out).map_err(|error| {
            let kind = error.io_kind().unwrap_or(std::io::ErrorKind::InvalidData);
            failed = Some(error);
            kind.into()
        })
    };
    let written = match output {
        Some(path) => write(path, &arguments.input, arguments.replace.force, annotate),
        None => stdout::write(source.name(), annotate),
    };
    match (failed, written) {
        (_, Ok(())) => Ok(Exit::Ok),
        (Some(error), Err(Failure::Error(_))) => Err(error.into()),
        (_, Err(failure)) => Err(failure),
    }
}

/// Writes a file that is not the input.
fn write(
    path: &Path,
    input: &Path,
    force: bool,
    annotate: impl FnOnce(&mut dyn std::io::Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    io::check_output(path, std::iter::once(input)).map_err(Failure::Usage)?;
    let mut outputs = Outputs::new("", force);
    outputs.write(path, Replaced::Nothing, 0, &|_| (), |out| annotate(&mut Writer(out)))?;
    outputs.commit()
}

/// Parses `0x40..128`, `..64`, `64..` or `64`, which is one byte.
fn range(text: &str) -> Result<Range<u64>, String> {
    let number = |text: &str, absent: u64| match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).map_err(|error| format!("{text}: {error}")),
        None if text.is_empty() => Ok(absent),
        None => text.parse().map_err(|error| format!("{text}: {error}")),
    };
    let (start, end) = match text.split_once("..") {
        Some((start, end)) => (number(start, 0)?, number(end, u64::MAX)?),
        None if text.is_empty() => return Err("expected START..END, or one offset".into()),
        None => number(text, 0).map(|at| (at, at.saturating_add(1)))?,
    };
    if start < end { Ok(start..end) } else { Err("expected START less than END".into()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn ranges_are_decimal_or_hexadecimal_and_may_be_open() {
        assert_eq!(super::range("0x40..128"), Ok(64..128));
        assert_eq!(super::range("..64"), Ok(0..64));
        assert_eq!(super::range("64.."), Ok(64..u64::MAX));
        assert_eq!(super::range("0x40"), Ok(64..65));
        for wrong in ["", "4..4", "9..3", "x..", "..0xg", "-1..2"] {
            assert!(super::range(wrong).is_err(), "{wrong}");
        }
    }
}
