//! `pte-emit size FILE...`: where the bytes of files are.

use std::fmt::Write;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use pte_emit::command::bytes::bytes;
use pte_emit::command::text::{ROW, clipped_to, counted, escaped};
use pte_emit::inspect::{FileSize, SizeDimension, SizeNode, SizeOptions};
use pte_emit::{Code, Report};

use super::exit::{Exit, Failure};
use super::io::{self, Messages};
use super::json;
use super::options::{FormatArguments, LimitArguments};
use super::sources::{SourceArguments, Sources};
use super::stdout;

/// Arguments of `size`.
#[derive(Debug, Args)]
pub struct SizeArguments {
    /// .pte, .ptd and .bpte files, and YAML, of which all files are measured; - is standard input
    #[arg(value_name = "FILE", required = true)]
    inputs: Vec<PathBuf>,
    /// Levels of the tree; by default tensor, or in text patterns of their names, as in layers.*.weight, if there are
    /// far fewer
    #[arg(long = "levels", alias = "dimensions", short_alias = 'd', value_name = "LEVEL,...", value_delimiter = ',')]
    #[arg(value_parser = dimension())]
    dimensions: Vec<SizeDimension>,
    /// Exit with status 1 if a file is larger, a .ptd too: a number of bytes, such as 4M or 1.5MiB
    #[arg(long, alias = "max", value_name = "BYTES", value_parser = bytes)]
    max_bytes: Option<u64>,
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

fn dimension() -> impl TypedValueParser<Value = SizeDimension> {
    let find =
        |name: String| SizeDimension::ALL.into_iter().find(|known| known.name() == name).ok_or("expected a level");
    PossibleValuesParser::new(SizeDimension::ALL.map(SizeDimension::name)).try_map(find)
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, or has an unknown format; output that cannot be written.
pub fn run(arguments: &SizeArguments, messages: &Messages) -> Result<Exit, Failure> {
    if io::reads_stream_twice(&arguments.inputs) {
        return Err(Failure::usage("standard input can be read only once"));
    }
    let format = arguments.format.format();
    let is_grouped = arguments.dimensions.is_empty() && format == SizeFormat::Text;
    let options = SizeOptions::default().dimensions(match is_grouped {
        true => vec![SizeDimension::Pattern, SizeDimension::Tensor],
        false if arguments.dimensions.is_empty() => vec![SizeDimension::Tensor],
        false => arguments.dimensions.clone(),
    });
    for (number, dimension) in options.dimensions.iter().enumerate() {
        if options.dimensions[..number].contains(dimension) {
            return Err(Failure::usage(format!("`--levels` has the level {} twice", dimension.name())));
        }
    }
    let limit = if format == SizeFormat::Text { arguments.limit.rows() } else { arguments.limit.rows_of_data() };
    let sources = Sources::checked(&arguments.sources)?;
    let mut out = String::new();
    let mut is_first = true;
    let mut worst = Exit::Ok;
    let mut too_large = Vec::new();
    for input in &arguments.inputs {
        let measured = sources.open(input).and_then(|models| {
            for model in models {
                let source = model.is_text().then(|| model.name());
                for (name, mut size) in model.size(&options)? {
                    if let Some(max) = arguments.max_bytes.filter(|max| size.bytes > *max) {
                        let message = format!("found {}, expected at most {max}", counted(size.bytes, "byte"));
                        too_large.push(Report::new(&name, "", vec![Code::UnmetRequest.whole(message)]));
                    }
                    let is_grouped = is_grouped && group(&mut size.children, limit);
                    size.limit(limit);
                    match format {
                        SizeFormat::Text => write_text(&name, source, &size, is_grouped, &mut out),
                        SizeFormat::Json => out += &json::text(&size),
                        SizeFormat::Csv => write_csv(&size, is_first, &mut out),
                    }
                    is_first = false;
                }
            }
            Ok(())
        });
        if let Err(error) = measured {
            worst = worst.max(Failure::from(error).report(messages));
        }
    }
    sources.warn_unused(messages);
    stdout::write("", |to| to.write_all(out.as_bytes()))?;
    too_large.iter().for_each(|report| messages.report(report));
    Ok(if too_large.is_empty() { worst } else { worst.max(Exit::Input) })
}

/// Makes patterns of names, with the tensors of each, the rows of a tree, if the tensors are more than the rows that
/// are printed, and at least twice as many as the patterns; otherwise the tensors. Returns true for patterns.
fn group(patterns: &mut Vec<SizeNode>, rows: usize) -> bool {
    let tensors: usize = patterns.iter().map(|pattern| pattern.children.len()).sum();
    if tensors <= rows || 2 * patterns.len() > tensors {
        *patterns = patterns.drain(..).flat_map(|pattern| pattern.children).collect();
        patterns.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        return false;
    }
    for pattern in patterns {
        match &mut pattern.children[..] {
            [one] => pattern.name = std::mem::take(&mut one.name),
            several => pattern.name += &format!(" ({})", several.len()),
        }
        pattern.children.clear();
    }
    true
}

/// Prints a tree. `source` is the YAML that assembles to the file.
fn write_text(name: &str, source: Option<&str>, size: &FileSize, is_grouped: bool, out: &mut String) {
    let source = source.map_or_else(String::new, |source| format!(", assembled from {}", escaped(source)));
    let _ = write!(out, "{}: {}{source}", escaped(name), counted(size.bytes, "byte"));
    *out += if is_grouped { ", by pattern of names and their number (`--levels tensor` lists each)\n" } else { "\n" };
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
