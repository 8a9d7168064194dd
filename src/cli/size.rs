//! `pte-emit size FILE`: where the bytes of a file are.

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use pte_emit::command::text::{ROW, clipped_to, counted, escaped};
use pte_emit::inspect::{FileSize, SizeDimension, SizeNode, SizeOptions};

use super::exit::{Exit, Failure};
use super::io::Messages;
use super::json;
use super::options::{FormatArguments, LimitArguments};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `size`.
#[derive(Debug, Args)]
pub struct SizeArguments {
    /// A .pte, .ptd, .bpte, or YAML, of which all files are measured; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Levels of the tree: any of segment, method, kind, tensor
    #[arg(short = 'd', long, value_name = "LEVEL,...", value_delimiter = ',', value_parser = dimension, default_value = "tensor")]
    dimensions: Vec<SizeDimension>,
    #[command(flatten)]
    limit: LimitArguments,
    #[command(flatten)]
    format: FormatArguments<SizeFormat>,
    #[command(flatten)]
    sources: SourceArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SizeFormat {
    /// Lines for a terminal
    Text,
    /// JSON
    Json,
    /// Comma-separated rows: the file, a column for each level, and bytes
    Csv,
}

fn dimension(text: &str) -> Result<SizeDimension, String> {
    let found = SizeDimension::ALL.into_iter().find(|dimension| dimension.name() == text);
    found.ok_or_else(|| "expected segment, method, kind or tensor".to_owned())
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, or has an unknown format; output that cannot be written.
pub fn run(arguments: &SizeArguments, messages: &Messages) -> Result<Exit, Failure> {
    let options = SizeOptions::default().dimensions(arguments.dimensions.clone());
    for (number, dimension) in options.dimensions.iter().enumerate() {
        if options.dimensions[..number].contains(dimension) {
            return Err(Failure::usage(format!("`--dimensions` has the level {} twice", dimension.name())));
        }
    }
    let format = arguments.format.format();
    let limit = if format == SizeFormat::Text { arguments.limit.rows() } else { arguments.limit.rows_of_data() };
    let sources = Sources::checked(&arguments.sources)?;
    let mut out = String::new();
    let mut is_first = true;
    for source in sources.open(&arguments.input)? {
        for (name, mut size) in source.size(&options)? {
            size.limit(limit);
            match format {
                SizeFormat::Text => write_text(&name, &size, &mut out),
                SizeFormat::Json => out += &json::text(&size),
                SizeFormat::Csv => write_csv(&size, is_first, &mut out),
            }
            is_first = false;
        }
    }
    sources.warn_unused(messages);
    stdout::write("", |to| to.write_all(out.as_bytes())).map(|()| Exit::Ok)
}

fn write_text(name: &str, size: &FileSize, out: &mut String) {
    let _ = writeln!(out, "{}: {}", escaped(name), counted(size.bytes, "byte"));
    write_rows(&size.children, size.bytes, 1, size.bytes.to_string().len(), out);
}

/// Prints the children of a node of `bytes` bytes.
fn write_rows(children: &[SizeNode], bytes: u64, level: usize, width: usize, out: &mut String) {
    let indent = 2 * level;
    for child in children {
        let percent = child.bytes as f64 * 100.0 / bytes.max(1) as f64;
        let name = clipped_to(&child.name, ROW);
        let _ = writeln!(out, "{:indent$}{percent:>5.1}% {:>width$}  {name}", "", child.bytes);
        write_rows(&child.children, child.bytes, level + 1, width, out);
    }
}

fn write_csv(size: &FileSize, with_title: bool, out: &mut String) {
    if with_title {
        let names: Vec<&str> = size.dimensions.iter().map(|dimension| dimension.name()).collect();
        let _ = writeln!(out, "file,{},bytes", names.join(","));
    }
    write_leaves(&size.children, &column(&size.file), out);
}

/// Formats a column: quotes are doubled; line breaks and other control characters are escaped. A spreadsheet would
/// evaluate a cell that begins like a formula, so it begins with an apostrophe.
fn column(text: &str) -> String {
    let prefix = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    format!("\"{prefix}{}\",", escaped(text).replace('"', "\"\""))
}

/// Prints a row for each leaf; `row` has the columns of the nodes above.
fn write_leaves(children: &[SizeNode], row: &str, out: &mut String) {
    for child in children {
        let row = format!("{row}{}", column(&child.name));
        if child.children.is_empty() {
            let _ = writeln!(out, "{row}{}", child.bytes);
        }
        write_leaves(&child.children, &row, out);
    }
}
