//! Writes the graphs of the methods in the language of Graphviz, with a cluster for each method. Graphviz computes the
//! layout.

use std::fmt::Write;

use super::shown;
use crate::graph::{Content, MethodGraph, ProgramGraph, Read};

/// Returns the graphs of the program in the file `name`.
pub fn write(graph: &ProgramGraph, name: &str) -> String {
    let mut out = format!(
        "digraph {} {{\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"monospace\", fontsize=10];\n  \
         edge [fontname=\"monospace\", fontsize=8];\n",
        quoted(name)
    );
    for (number, method) in graph.methods.iter().enumerate() {
        write_method(number, method, &mut out);
    }
    out + "}\n"
}

fn write_method(number: usize, method: &MethodGraph, out: &mut String) {
    let _ = writeln!(out, "  subgraph cluster_{number} {{\n    label={};", quoted(&method.name));
    let interface = |out: &mut String, id: &str, list: &mut dyn Iterator<Item = usize>| {
        for (position, value) in list.enumerate() {
            let (name, kind) = method.described(value);
            let label = lines(&[name, kind]);
            let _ = writeln!(out, "    m{number}_{id}{position} [label={label}, shape=ellipse];");
        }
    };
    interface(out, "in", &mut method.inputs.iter().copied());
    let drawn = method.drawn_reads();
    for (index, node) in method.nodes.iter().enumerate() {
        let constants: Vec<u64> = node.reads.iter().filter_map(|read| constant(method, read.value)).collect();
        let bytes = constants.iter().copied().fold(0, u64::saturating_add);
        let constants = match constants.len() {
            0 => String::new(),
            count => format!("constants: {count}, {bytes} bytes"),
        };
        let delegate = if node.delegate.is_some() { ", fillcolor=lightblue" } else { "" };
        let found = match (node.marks.findings.is_empty(), method.is_changed(node)) {
            (false, _) => ", color=red",
            (true, true) => ", color=darkorange",
            (true, false) => "",
        };
        let width = if method.is_changed(node) { ", penwidth=3" } else { "" };
        let hidden = match node.reads.len() - drawn[index] + node.more_reads {
            0 => String::new(),
            count => format!("values without edges: {count}"),
        };
        let label = lines(&[&format!("{index}: {}", method.label(node)), &constants, &hidden]);
        let _ = writeln!(out, "    m{number}_n{index} [label={label}{delegate}{found}{width}];");
    }
    interface(out, "out", &mut method.outputs.iter().map(|read| read.value));
    // Node that a jump to the end of the method leads to.
    let end = if method.outputs.is_empty() { "end" } else { "out0" };
    if method.outputs.is_empty() && method.nodes.iter().any(|node| node.jump.is_some_and(|to| to >= method.nodes.len()))
    {
        let _ = writeln!(out, "    m{number}_end [label=end, shape=ellipse];");
    }
    let mut positions: Vec<Option<usize>> = vec![None; method.values.len()];
    for (position, input) in method.inputs.iter().enumerate() {
        positions[*input].get_or_insert(position);
    }
    let sources = |read: &Read| -> Vec<String> {
        let input = positions[method.owner(read.value)].filter(|_| read.writers.is_empty());
        let input = input.map(|position| format!("m{number}_in{position}"));
        input.into_iter().chain(read.writers.iter().map(|writer| format!("m{number}_n{writer}"))).collect()
    };
    let edge = |out: &mut String, read: &Read, to: String| {
        for from in sources(read) {
            let (name, kind) = method.described(read.value);
            let _ = writeln!(out, "    {from} -> {to} [label={}, tooltip={}];", quoted(kind), quoted(name));
        }
    };
    for (index, node) in method.nodes.iter().enumerate() {
        for read in &node.reads[..drawn[index]] {
            edge(out, read, format!("m{number}_n{index}"));
        }
        if let Some(to) = node.jump {
            let to = if to < method.nodes.len() { format!("n{to}") } else { end.to_owned() };
            let label = if node.always { "" } else { ", label=\"if false\"" };
            let _ = writeln!(out, "    m{number}_n{index} -> m{number}_{to} [style=dashed{label}];");
        }
    }
    for (position, read) in method.outputs.iter().enumerate() {
        edge(out, read, format!("m{number}_out{position}"));
    }
    out.push_str("  }\n");
}

/// Returns the size of the data of a value in bytes; `None` if it is not constant.
fn constant(method: &MethodGraph, value: usize) -> Option<u64> {
    match method.values.get(value)?.content {
        Content::Constant { bytes } => Some(bytes),
        Content::None | Content::Input | Content::External | Content::State | Content::Literal => None,
    }
}

/// Formats texts as the lines of a label, without those that are empty.
fn lines(texts: &[&str]) -> String {
    let texts = texts.iter().filter(|text| !text.is_empty()).map(|text| inside(text));
    format!("\"{}\"", texts.collect::<Vec<_>>().join("\\n"))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", inside(text))
}

/// Escapes a text for the inside of a string. Graphviz interprets backslashes, and HTML entities in labels.
fn inside(text: &str) -> String {
    shown(text).replace('\\', "\\\\").replace('"', "\\\"").replace('&', "&amp;")
}

#[cfg(test)]
mod tests {
    #[test]
    fn strings_are_escaped() {
        assert_eq!(super::quoted("a\"b\\N&lt;\n"), "\"a\\\"b\\\\N&amp;lt;\\\\n\"");
        assert_eq!(super::lines(&["a", "", "b\\"]), "\"a\\nb\\\\\"");
    }
}
