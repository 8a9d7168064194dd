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

/// Arguments of `size`.
#[derive(Debug, Args)]
pub struct SizeArguments {
    /// A .pte, .ptd, .bpte, or YAML, of which all files are measured; - is standard input
    #[arg(value_name = "FILE")]
    input: PathBuf,
    /// Levels of the tree: any of segment, method, kind, tensor
    #[arg(short = 'd', long, value_name = "LEVEL,...", value_delimiter = ',', value_parser = dimension, default_value = "segment,kind")]
    dimensions: Vec<Dimension>,
    /// Number of rows of each level; the others are one row; 0 for all
    #[arg(long, value_name = "COUNT", default_value_t = 20)]
    limit: usize,
    /// Print one JSON document for each file (docs/inspect.md)
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print comma-separated rows: a column for each level, and bytes
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
        for (name, size) in crate::size(&source, &options)? {
            if arguments.json {
                out += &escaped_json(&size.json());
            } else if arguments.csv {
                write_csv(size.data(), is_first, &mut out);
            } else {
                write_text(&name, size.data(), arguments.limit, &mut out);
            }
            is_first = false;
        }
    }
    stdout::write("", |to| to.write_all(out.as_bytes())).map(|()| Exit::Ok)
}

fn write_text(name: &str, size: &SizeTree, limit: usize, out: &mut String) {
    let _ = writeln!(out, "{}: {}", escaped(name), counted(size.root.bytes, "byte"));
    let width = size.root.bytes.to_string().len();
    write_rows(&size.root, 1, limit, width, out);
}

fn write_rows(node: &SizeNode, level: usize, limit: usize, width: usize, out: &mut String) {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let indent = 2 * level;
    let row = |bytes: u64, name: &str, out: &mut String| {
        let percent = bytes as f64 * 100.0 / node.bytes.max(1) as f64;
        let _ = writeln!(out, "{:indent$}{percent:>5.1}% {bytes:>width$}  {name}", "");
    };
    for child in node.children.iter().take(limit) {
        row(child.bytes, &clipped_to(&child.name, ROW), out);
        write_rows(child, level + 1, limit, width, out);
    }
    if let Some(rest) = node.children.get(limit..).filter(|rest| !rest.is_empty()) {
        let bytes = rest.iter().map(|child| child.bytes).sum();
        row(bytes, &format!("({} more)", rest.len()), out);
    }
}

fn write_csv(size: &SizeTree, with_title: bool, out: &mut String) {
    if with_title {
        let _ = writeln!(out, "{},bytes", size.dimension_names().collect::<Vec<_>>().join(","));
    }
    write_leaves(&size.root, "", out);
}

/// Prints a row for each node without children; `row` has the columns of those above.
fn write_leaves(node: &SizeNode, row: &str, out: &mut String) {
    // An empty file has no rows.
    if node.children.is_empty() && !row.is_empty() {
        let _ = writeln!(out, "{row}{}", node.bytes);
    }
    for child in &node.children {
        // Quotes are doubled; line breaks and other control characters are escaped.
        write_leaves(child, &format!("{row}\"{}\",", escaped(&child.name).replace('"', "\"\"")), out);
    }
}
