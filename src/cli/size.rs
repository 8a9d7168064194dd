//! `pte-emit size FILE`: where the bytes of a file are.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;

use super::exit::{Exit, Failure};
use super::io::{self, Definitions};
use super::stdout;
use crate::diagnostics::{ROW, clipped_to, counted, escaped, escaped_json};
use crate::inspect::size::{Dimension, SizeNode, SizeTree};
use crate::inspection::SizeOptions;

/// Rows of each level of the text.
const ROWS: usize = 20;

/// Arguments of `size`.
#[derive(Debug, Args)]
pub struct SizeArguments {
    /// A .pte, .ptd, .bpte, or YAML, of which all files are measured; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Levels of the tree: any of segment, method, kind, tensor
    #[arg(short = 'd', long, value_name = "LEVEL,...", value_delimiter = ',', value_parser = dimension, default_value = "segment,kind")]
    dimensions: Vec<Dimension>,
    /// Number of rows of each level; the others are one row; 0 for all [default: 20; all with --csv and --json]
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// Print one JSON document for each file (docs/inspect.md)
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated rows: the file, a column for each level, and bytes
    #[arg(long)]
    csv: bool,
    /// Define the value of ${NAME} in the input
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE", value_parser = io::definition)]
    definitions: Vec<(String, String)>,
}

fn dimension(text: &str) -> Result<Dimension, String> {
    let found = Dimension::NAMES.iter().find(|(name, _)| *name == text);
    found.map(|(_, dimension)| *dimension).ok_or_else(|| "expected segment, method, kind or tensor".to_owned())
}

/// Runs the command.
///
/// # Errors
/// An input that cannot be read, or has an unknown format; output that cannot be written.
pub fn run(arguments: &SizeArguments) -> Result<Exit, Failure> {
    let options = SizeOptions { dimensions: arguments.dimensions.clone() };
    for (number, dimension) in options.dimensions.iter().enumerate() {
        if options.dimensions[..number].contains(dimension) {
            let name = Dimension::NAMES.iter().find(|(_, other)| other == dimension).map_or("", |(name, _)| name);
            return Err(Failure::usage(format!("`--dimensions` has the level {name} twice")));
        }
    }
    let definitions = Definitions::new(&arguments.definitions);
    let mut out = String::new();
    let mut is_first = true;
    for source in definitions.documents(io::open_any(&arguments.input)?)? {
        for (name, mut size) in source.size(&options)? {
            let default = if arguments.json || arguments.csv { 0 } else { ROWS };
            match arguments.limit.unwrap_or(default) {
                0 => {}
                limit => size.limit(limit),
            }
            if arguments.json {
                out += &escaped_json(&size.json());
            } else if arguments.csv {
                write_csv(size.data(), is_first, &mut out);
            } else {
                write_text(&name, size.data(), &mut out);
            }
            is_first = false;
        }
    }
    stdout::write("", |to| to.write_all(out.as_bytes())).map(|()| Exit::Ok)
}

fn write_text(name: &str, size: &SizeTree, out: &mut String) {
    let _ = writeln!(out, "{}: {}", escaped(name), counted(size.root.bytes, "byte"));
    let width = size.root.bytes.to_string().len();
    write_rows(&size.root, 1, width, out);
}

fn write_rows(node: &SizeNode, level: usize, width: usize, out: &mut String) {
    let indent = 2 * level;
    for child in &node.children {
        let percent = child.bytes as f64 * 100.0 / node.bytes.max(1) as f64;
        let name = clipped_to(&child.name, ROW);
        let _ = writeln!(out, "{:indent$}{percent:>5.1}% {:>width$}  {name}", "", child.bytes);
        write_rows(child, level + 1, width, out);
    }
}

fn write_csv(size: &SizeTree, with_title: bool, out: &mut String) {
    if with_title {
        let _ = writeln!(out, "file,{},bytes", size.dimension_names().collect::<Vec<_>>().join(","));
    }
    write_leaves(&size.root, &column(&size.file), out);
}

/// Formats a column: quotes are doubled; line breaks and other control characters are escaped.
fn column(text: &str) -> String {
    format!("\"{}\",", escaped(text).replace('"', "\"\""))
}

/// Prints a row for each node without children; `row` has the columns of those above.
fn write_leaves(node: &SizeNode, row: &str, out: &mut String) {
    // An empty file has no rows.
    if node.children.is_empty() && !node.name.is_empty() {
        let _ = writeln!(out, "{row}{}", node.bytes);
    }
    for child in &node.children {
        write_leaves(child, &format!("{row}{}", column(&child.name)), out);
    }
}
