//! The graphs of the methods and payloads as the JSON that Model Explorer opens: a collection of graphs, whose nodes have their incoming
//! edges. Stack traces are its layers, payloads of delegates its subgraphs. Nothing is placed here.

use serde_json::{Value, json};

use super::shown;
use crate::inspect::graph::{Content, GraphNode, MethodGraph, PayloadGraph, ProgramGraph, Read};
use crate::program::StackFrame;

/// Returns the collection of the program in the file `name`.
pub fn collection(graph: &ProgramGraph, name: &str) -> Value {
    let methods = graph.methods.iter().enumerate().map(|(number, method)| method_graph(number, method));
    let payloads = graph.payloads.iter().enumerate().map(|(number, payload)| payload_graph(number, payload));
    json!({"label": shown(name), "graphs": methods.chain(payloads).collect::<Vec<_>>()})
}

/// Ids are unique in the file, also if names of methods are not.
fn method_id(number: usize, method: &MethodGraph) -> String {
    format!("{number}: {}", shown(&method.name))
}

fn payload_id(number: usize) -> String {
    format!("payload {number}")
}

fn attribute(key: &str, value: &str) -> Value {
    json!({"key": shown(key), "value": shown(value)})
}

fn edge(source: &str, output: usize, input: usize) -> Value {
    json!({"sourceNodeId": source, "sourceNodeOutputId": output.to_string(), "targetNodeInputId": input.to_string()})
}

/// Metadata of an output or input of a node: name and type.
fn metadata(position: usize, (name, kind): (&str, &str)) -> Value {
    let name = if name.is_empty() { None } else { Some(attribute("__tensor_tag", name)) };
    let attributes: Vec<Value> = name.into_iter().chain([attribute("tensor_shape", kind)]).collect();
    json!({"id": position.to_string(), "attrs": attributes})
}

fn method_graph(number: usize, method: &MethodGraph) -> Value {
    let mut inputs: Vec<Option<usize>> = vec![None; method.values.len()];
    let mut nodes = Vec::new();
    for (position, value) in method.inputs.iter().enumerate() {
        let id = format!("input {position}");
        nodes.push(json!({
            "id": id,
            "label": shown(method.described(*value).0),
            "namespace": "",
            "outputsMetadata": [metadata(0, method.described(*value))],
        }));
        inputs[*value].get_or_insert(position);
    }
    // The edges from the nodes that have a value, at the positions of the outputs there.
    let edges = |read: &Read, input: usize| -> Vec<Value> {
        let owner = method.owner(read.value);
        let from = inputs[owner].filter(|_| read.writers.is_empty());
        let from = from.map(|position| edge(&format!("input {position}"), 0, input));
        let written = read.writers.iter().filter_map(|writer| {
            let writes = &method.nodes.get(*writer)?.writes;
            let output = writes.iter().position(|value| method.owner(*value) == owner).unwrap_or(0);
            Some(edge(&writer.to_string(), output, input))
        });
        from.into_iter().chain(written).collect()
    };
    for (index, node) in method.nodes.iter().enumerate() {
        let incoming = node.reads.iter().enumerate().flat_map(|(input, read)| edges(read, input));
        let incoming: Vec<Value> = incoming.collect();
        let reads = node.reads.iter().enumerate().map(|(input, read)| metadata(input, method.described(read.value)));
        let writes = node.writes.iter().enumerate().map(|(output, value)| metadata(output, method.described(*value)));
        nodes.push(json!({
            "id": index.to_string(),
            "label": shown(method.label(node)),
            "namespace": namespace(method, node),
            "subgraphIds": payload(method, node).map(payload_id).into_iter().collect::<Vec<_>>(),
            "attrs": attributes(method, index, node),
            "incomingEdges": incoming,
            "inputsMetadata": reads.collect::<Vec<_>>(),
            "outputsMetadata": writes.collect::<Vec<_>>(),
        }));
    }
    for (position, read) in method.outputs.iter().enumerate() {
        let described = method.described(read.value);
        nodes.push(json!({
            "id": format!("output {position}"),
            "label": shown(described.0),
            "namespace": "",
            "incomingEdges": edges(read, 0),
            "inputsMetadata": [metadata(0, described)],
        }));
    }
    json!({"id": method_id(number, method), "nodes": nodes})
}

fn payload(method: &MethodGraph, node: &GraphNode) -> Option<usize> {
    method.delegates.get(node.delegate?)?.payload
}

fn attributes(method: &MethodGraph, index: usize, node: &GraphNode) -> Vec<Value> {
    let mut attributes = vec![attribute("instruction", &index.to_string())];
    for arg in &node.args {
        let (name, kind) = method.described(*arg);
        let content = method.values.get(*arg).map_or(Content::None, |value| value.content);
        let content = match content {
            Content::Constant(bytes) => format!("{kind}, {bytes} bytes of data"),
            Content::External => format!("{kind}, in a .ptd"),
            Content::State => format!("{kind}, state"),
            Content::None | Content::Input | Content::Literal => kind.to_owned(),
        };
        attributes.push(attribute(name, &content));
    }
    if let Some(delegate) = node.delegate.and_then(|delegate| method.delegates.get(delegate)) {
        attributes.push(attribute("payload", &format!("{} bytes", delegate.bytes)));
    }
    if let Some(to) = node.jump {
        let to = if to < method.nodes.len() { format!("instruction {to}") } else { "the end".to_owned() };
        attributes.push(attribute("if false", &to));
    }
    if !node.marks.findings.is_empty() {
        attributes.push(attribute("findings of check", &node.marks.findings.len().to_string()));
    }
    if method.is_changed(node) {
        attributes.push(attribute("differs from the older file", "yes"));
    }
    attributes
}

/// The calls that a node is in, from the outermost; `/` separates the layers.
fn namespace(method: &MethodGraph, node: &GraphNode) -> String {
    let layer = |frame: &StackFrame| {
        let file = frame.filename.as_deref().unwrap_or_default();
        let file = file.rsplit('/').next().unwrap_or_default();
        let text = frame.context.as_deref().or(frame.name.as_deref()).unwrap_or_default();
        shown(&format!("{file}:{} {text}", frame.lineno)).replace('/', "\u{2215}")
    };
    let layers = node.trace.iter().filter_map(|frame| method.frames.get(*frame)).map(layer);
    layers.collect::<Vec<_>>().join("/")
}

fn payload_graph(number: usize, payload: &PayloadGraph) -> Value {
    let kind = |value: usize| payload.values.get(value).map_or("", |(kind, _)| kind);
    let mut sources: Vec<Option<(String, usize)>> = vec![None; payload.values.len()];
    let mut nodes = Vec::new();
    for (position, value) in payload.inputs.iter().enumerate() {
        let id = format!("input {position}");
        nodes.push(json!({
            "id": id, "label": id, "namespace": "", "outputsMetadata": [metadata(0, ("", kind(*value)))],
        }));
        if let Some(source) = sources.get_mut(*value) {
            *source = Some((id, 0));
        }
    }
    for (index, (name, reads, writes)) in payload.nodes.iter().enumerate() {
        let incoming = reads.iter().enumerate().filter_map(|(input, value)| {
            let (source, output) = sources.get(*value)?.as_ref()?;
            Some(edge(source, *output, input))
        });
        let incoming: Vec<Value> = incoming.collect();
        let described = |values: &[usize]| -> Vec<Value> {
            values.iter().enumerate().map(|(position, value)| metadata(position, ("", kind(*value)))).collect()
        };
        nodes.push(json!({
            "id": index.to_string(),
            "label": name,
            "namespace": "",
            "incomingEdges": incoming,
            "inputsMetadata": described(reads),
            "outputsMetadata": described(writes),
        }));
        for (output, value) in writes.iter().enumerate() {
            if let Some(source) = sources.get_mut(*value) {
                *source = Some((index.to_string(), output));
            }
        }
    }
    for (position, value) in payload.outputs.iter().enumerate() {
        let incoming = sources.get(*value).and_then(Option::as_ref).map(|(source, output)| edge(source, *output, 0));
        let id = format!("output {position}");
        nodes.push(json!({
            "id": id, "label": id, "namespace": "", "incomingEdges": incoming.into_iter().collect::<Vec<_>>(),
        }));
    }
    json!({"id": payload_id(number), "nodes": nodes})
}
