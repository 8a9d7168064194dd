//! Prints descriptions of payloads as YAML, with their graphs.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt::Write;
use std::io;

use super::data::DataPrinter;
use super::extracted::ExtractedFiles;
pub use super::flatbuffer::FlatText;
use super::graph::NamedGraph;
use super::options::PrintOptions;
use crate::ir::yaml::{self, FlowMap};
use pte_model::diagnostics::escaped;
use pte_payload::description::Fact;
use pte_xnnpack::payload::XnnpackPayload;

/// Largest number of characters of a line with a list or a map.
const WIDTH: usize = 110;

/// Appends facts as a block of lines that begin with `indent`.
pub fn facts(facts: &[(Cow<'static, str>, Fact)], indent: &str, out: &mut String) {
    for (name, fact) in facts {
        let fact = &fact.abridged();
        let mut line = String::new();
        flow(fact, &mut line);
        let name = yaml::text(name);
        let fits = indent.len() + name.len() + 2 + line.len() <= WIDTH;
        match fact {
            Fact::Map(inner) if !fits => {
                let _ = writeln!(out, "{indent}{name}:");
                self::facts(inner, &format!("{indent}  "), out);
            }
            Fact::List(items) if !fits => {
                let _ = writeln!(out, "{indent}{name}:");
                for item in items {
                    let _ = write!(out, "{indent}  - ");
                    flow(item, out);
                    out.push('\n');
                }
            }
            Fact::Map(_) | Fact::List(_) | Fact::Text(_) | Fact::Number(_) | Fact::Bytes(_) => {
                let _ = writeln!(out, "{indent}{name}: {line}");
            }
        }
    }
}

/// Appends a fact on one line.
fn flow(fact: &Fact, out: &mut String) {
    match fact {
        Fact::Text(text) => out.push_str(&yaml::text(text)),
        Fact::Number(number) => yaml::number(number, out),
        Fact::Bytes(bytes) => yaml::number(bytes, out),
        Fact::List(items) => yaml::list(out, items, flow),
        Fact::Map(facts) => {
            let mut map = FlowMap::new(out);
            for (name, fact) in facts {
                flow(fact, map.key(&yaml::text(name)));
            }
            map.end();
        }
    }
}

/// Appends the graph of a payload of XNNPACK as lines that begin with `indent`, or a comment with the reason why it has
/// none. `name` is the base of names of extracted files.
///
/// # Errors
/// Data that cannot be read.
pub fn graph(
    payload: &XnnpackPayload,
    name: &str,
    options: &PrintOptions,
    indent: &str,
    out: &mut String,
) -> io::Result<()> {
    match NamedGraph::of(payload) {
        Ok(graph) => {
            let extracted = RefCell::new(ExtractedFiles::default());
            let _ = write!(out, "{indent}graph:");
            graph.print(
                true,
                &format!("{indent}  "),
                name,
                0,
                out,
                &mut DataPrinter::new(options, payload.blob().len(), &extracted),
            )
        }
        Err(reason) => {
            let _ = writeln!(out, "{indent}# Not printed as a graph: {}.", escaped(&reason));
            Ok(())
        }
    }
}

/// Appends a payload that is a FlatBuffer, as lines that begin with `indent`: the key of a delegate with its data, or a
/// comment with the reason why it is not printed.
///
/// # Errors
/// Data that cannot be read.
pub fn flatbuffer(
    text: Result<FlatText, String>,
    len: u64,
    name: &str,
    options: &PrintOptions,
    indent: &str,
    out: &mut String,
) -> io::Result<()> {
    match text {
        Ok(text) => {
            let extracted = RefCell::new(ExtractedFiles::default());
            let _ = writeln!(out, "{indent}data:\n{indent}  flatbuffer:");
            text.print(&format!("{indent}    "), name, out, &mut DataPrinter::new(options, len, &extracted))
        }
        Err(reason) => {
            let _ = writeln!(out, "{indent}# Not printed as text: {}.", escaped(&reason));
            Ok(())
        }
    }
}

/// Returns the names of the values of a graph, as [`graph`] prints them; none if it is not printed.
pub fn value_names(payload: &XnnpackPayload) -> Vec<String> {
    NamedGraph::of(payload).map_or_else(|_| Vec::new(), NamedGraph::into_names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_lines_and_long_ones_are_blocks() {
        let long = Fact::List(vec![Fact::Text("a b".repeat(20)); 2]);
        let list = [
            ("n", Fact::Number(-1)),
            ("map", Fact::Map(vec![("a.b".into(), Fact::Bytes(2)), ("x/y".into(), Fact::List(vec![]))])),
            ("long", long.clone()),
            ("inner", Fact::Map(vec![("long".into(), long)])),
        ];
        let mut out = String::new();
        facts(&list.map(|(name, fact)| (name.into(), fact)), "  ", &mut out);
        let text = format!("\"{}\"", "a b".repeat(20));
        let expected = format!(
            "  n: -1\n  map: {{a.b: 2, \"x/y\": []}}\n  long:\n    - {text}\n    - {text}\n  inner:\n    long:\n      - {text}\n      - {text}\n"
        );
        assert_eq!(out, expected);
    }
}
