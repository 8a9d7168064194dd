//! `pte-emit annotate FILE`: explains every byte of a `.pte`, `.ptd` or `.bpte`.

use std::ops::Range;
use std::path::PathBuf;

use clap::{Args, ColorChoice, ValueEnum};

use super::exit::Exit;
use super::io::{self, Messages, STREAM};
use crate::annotate::{AnnotateOptions, AnnotatePart};
use crate::data::Origin;
use crate::source::Source;

/// Arguments of `annotate`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A .pte, .ptd or .bpte; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Print only blocks that overlap these bytes; either end may be omitted; 0x for hexadecimal
    #[arg(long, value_name = "START..END", value_parser = range)]
    range: Option<Range<u64>>,
    /// Print only this part of the file
    #[arg(long, value_enum, value_name = "PART")]
    only: Option<PartName>,
    /// Print one JSON array of regions
    #[arg(long)]
    json: bool,
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
pub fn run(arguments: &Arguments, color: ColorChoice, messages: &Messages) -> Exit {
    let stream = arguments.input.as_os_str() == STREAM;
    let source = match (stream, stream.then(io::read_stdin)) {
        (true, Some(Ok(bytes))) => Source::binary("<stdin>", &bytes),
        (true, Some(Err(error))) => {
            messages.error(&format!("cannot read standard input: {error}"));
            return Exit::Io;
        }
        _ => Source::of_origin(arguments.input.display().to_string(), Origin::File(arguments.input.as_path().into())),
    };
    let only = arguments.only.map(|only| match only {
        PartName::Headers => AnnotatePart::Headers,
        PartName::Program => AnnotatePart::Program,
        PartName::Segments => AnnotatePart::Segments,
    });
    let colours = io::colours(color, &std::io::stdout());
    let options = AnnotateOptions { range: arguments.range.clone(), only, json: arguments.json, colours };
    let mut failed = None;
    let written = io::write_to_stdout(|out| {
        failed = crate::annotate(&source, &options, out).err();
        Ok(())
    });
    match (failed, written) {
        (None, Ok(())) => Exit::Ok,
        (Some(error), _) if error.io_kind() == Some(std::io::ErrorKind::BrokenPipe) => Exit::Ok,
        (Some(error), _) => {
            messages.report(error.report());
            Exit::of(&error)
        }
        (None, Err(error)) => {
            messages.error(&error.to_string());
            Exit::Io
        }
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
