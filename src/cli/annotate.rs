//! `pte-emit annotate FILE`: explains every byte of a `.pte`, `.ptd` or `.bpte`.

use std::ops::Range;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pte_emit::inspect::{AnnotateOptions, AnnotatePart};

use super::exit::{Exit, Failure};
use super::io::{self, Messages};
use super::options::{FormatArguments, TextOrJson};
use super::stdout;

/// Arguments of `annotate`.
#[derive(Debug, Args)]
pub struct AnnotateArguments {
    /// A .pte, .ptd or .bpte; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Print only blocks that overlap these bytes; either end may be omitted; 0x for hexadecimal
    #[arg(long, value_name = "START..END", value_parser = range)]
    range: Option<Range<u64>>,
    /// Print only this part of the file
    #[arg(long, value_enum, value_name = "PART")]
    part: Option<PartName>,
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
    let options = AnnotateOptions::default()
        .range(arguments.range.clone())
        .only(only)
        .json(arguments.format.is_json())
        .colours(messages.paint().is_coloured);
    let mut failed = None;
    let written = stdout::write(source.name(), |out| {
        source.annotate(&options, out).map_err(|error| {
            let kind = error.io_kind().unwrap_or(std::io::ErrorKind::InvalidData);
            failed = Some(error);
            kind.into()
        })
    });
    match (failed, written) {
        (_, Ok(())) => Ok(Exit::Ok),
        (Some(error), Err(Failure::Error(_))) => Err(error.into()),
        (_, Err(failure)) => Err(failure),
    }
}

/// Parses `0x40..128`, `..64` or `64..`.
fn range(text: &str) -> Result<Range<u64>, String> {
    let (start, end) = text.split_once("..").ok_or("expected START..END")?;
    let number = |text: &str, absent: u64| match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).map_err(|error| format!("{text}: {error}")),
        None if text.is_empty() => Ok(absent),
        None => text.parse().map_err(|error| format!("{text}: {error}")),
    };
    let range = number(start, 0)?..number(end, u64::MAX)?;
    if range.is_empty() { Err("expected START less than END".into()) } else { Ok(range) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn ranges_are_decimal_or_hexadecimal_and_may_be_open() {
        assert_eq!(super::range("0x40..128"), Ok(64..128));
        assert_eq!(super::range("..64"), Ok(0..64));
        assert_eq!(super::range("64.."), Ok(64..u64::MAX));
        for wrong in ["64", "4..4", "9..3", "x..", "..0xg", "-1..2"] {
            assert!(super::range(wrong).is_err(), "{wrong}");
        }
    }
}
