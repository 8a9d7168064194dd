//! Writes the graphs of the methods and payloads as JSON for Model Explorer: a collection of graphs, whose nodes have
//! their incoming edges. Stack traces become layers, payloads of delegates subgraphs. Model Explorer computes the
//! layout.

use serde::Serialize;

use super::shown;
use crate::graph::{Content, GraphFrame, GraphNode, MethodGraph, ProgramGraph, Read};
use crate::payload_graph::{PayloadGraph, PayloadOperation};

/// Collection of graphs.
#[derive(Serialize)]
struct ViewerCollection {
    label: String,
    graphs: Vec<ViewerGraph>,
}

#[derive(Serialize)]
struct ViewerGraph {
    id: String,
    nodes: Vec<ViewerNode>,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ViewerNode {
    id: String,
    label: String,
    /// Layers, separated by `/`.
    namespace: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    subgraph_ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attrs: Option<Vec<ViewerAttribute>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    incoming_edges: Option<Vec<ViewerEdge>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs_metadata: Option<Vec<ViewerMetadata>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs_metadata: Option<Vec<ViewerMetadata>>,
}

#[derive(Serialize)]
struct ViewerAttribute {
    key: String,
    value: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ViewerEdge {
    source_node_id: String,
    source_node_output_id: String,
    target_node_input_id: String,
}

/// An output or input of a node.
#[derive(Serialize)]
struct ViewerMetadata {
    id: String,
    attrs: Vec<ViewerAttribute>,
}

/// Returns the graphs of the program in the file `name` as JSON.
pub fn write(graph: &ProgramGraph, name: &str) -> String {
    // Only maps whose keys are not strings cannot be JSON, and a collection has none.
    serde_json::to_string_pretty(&collection(graph, name)).unwrap_or_default() + "\n"
}

fn collection(graph: &ProgramGraph, name: &str) -> ViewerCollection {
    let methods = graph.methods.iter().enumerate().map(|(number, method)| method_graph(number, method));
    let payloads = graph.payloads.iter().enumerate().map(|(number, payload)| payload_graph(number, payload));
    ViewerCollection { label: shown(name), graphs: methods.chain(payloads).collect() }
}

/// Returns an id that is unique in the file, even if names of methods are not.
fn method_id(number: usize, method: &MethodGraph) -> String {
    format!("{number}: {}", shown(&method.name))
}

fn payload_id(number: usize) -> String {
    format!("payload {number}")
}

fn attribute(key: &str, value: &str) -> ViewerAttribute {
    ViewerAttribute { key: shown(key), value: shown(value) }
}

fn edge(source: &str, output: usize, input: usize) -> ViewerEdge {
    ViewerEdge {
        source_node_id: source.to_owned(),
        source_node_output_id: output.to_string(),
        target_node_input_id: input.to_string(),
    }
}

/// Describes values at the outputs or inputs of a node by name and type.
fn metadata<'v>(values: impl Iterator<Item = (&'v str, &'v str)>) -> Option<Vec<ViewerMetadata>> {
    let values = values.enumerate().map(|(position, (name, kind))| {
        let name = if name.is_empty() { None } else { Some(attribute("__tensor_tag", name)) };
        let attrs = name.into_iter().chain([attribute("tensor_shape", kind)]).collect();
        ViewerMetadata { id: position.to_string(), attrs }
    });
    Some(values.collect())
}

fn method_graph(number: usize, method: &MethodGraph) -> ViewerGraph {
    let mut inputs: Vec<Option<usize>> = vec![None; method.values.len()];
    let mut nodes = Vec::new();
    for (position, value) in method.inputs.iter().enumerate() {
        let described = method.described(*value);
        nodes.push(ViewerNode {
            id: format!("input {position}"),
            label: shown(described.0),
            outputs_metadata: metadata([described].into_iter()),
            ..ViewerNode::default()
        });
        inputs[*value].get_or_insert(position);
    }
    // The edges from the nodes that produce a value, at the positions of its outputs.
    let edges = |read: &Read, input: usize| -> Vec<ViewerEdge> {
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
    for ((index, node), drawn) in method.nodes.iter().enumerate().zip(method.drawn_reads()) {
        let reads = &node.reads[..drawn];
        let incoming = reads.iter().enumerate().flat_map(|(input, read)| edges(read, input));
        nodes.push(ViewerNode {
            id: index.to_string(),
            label: shown(method.label(node)),
            namespace: namespace(method, node),
            subgraph_ids: Some(payload(method, node).map(payload_id).into_iter().collect()),
            attrs: Some(attributes(method, index, node, node.reads.len() - drawn + node.more_reads)),
            incoming_edges: Some(incoming.collect()),
            inputs_metadata: metadata(reads.iter().map(|read| method.described(read.value))),
            outputs_metadata: metadata(node.writes.iter().map(|value| method.described(*value))),
        });
    }
    for (position, read) in method.outputs.iter().enumerate() {
        let described = method.described(read.value);
        nodes.push(ViewerNode {
            id: format!("output {position}"),
            label: shown(described.0),
            incoming_edges: Some(edges(read, 0)),
            inputs_metadata: metadata([described].into_iter()),
            ..ViewerNode::default()
        });
    }
    ViewerGraph { id: method_id(number, method), nodes }
}

fn payload(method: &MethodGraph, node: &GraphNode) -> Option<usize> {
    method.delegates.get(node.delegate?)?.payload
}

/// Describes an instruction. `hidden` is the number of values that it reads without edges.
fn attributes(method: &MethodGraph, index: usize, node: &GraphNode, hidden: usize) -> Vec<ViewerAttribute> {
    let mut attributes = vec![attribute("instruction", &index.to_string())];
    for arg in node.args.iter().flatten() {
        let (name, kind) = method.described(*arg);
        let content = method.values.get(*arg).map_or(Content::None, |value| value.content);
        let content = match content {
            Content::Constant { bytes } => format!("{kind}, {bytes} bytes of data"),
            Content::External => format!("{kind}, in a .ptd"),
            Content::State => format!("{kind}, state"),
            Content::None | Content::Input | Content::Literal => kind.to_owned(),
        };
        attributes.push(attribute(name, &content));
    }
    if let Some(delegate) = node.delegate.and_then(|delegate| method.delegates.get(delegate)) {
        attributes.push(attribute("payload", &format!("{} bytes", delegate.bytes)));
    }
    if hidden > 0 {
        attributes.push(attribute("values without edges", &hidden.to_string()));
    }
    if let Some(to) = node.jump {
        let to = if to < method.nodes.len() { format!("instruction {to}") } else { "the end".to_owned() };
        attributes.push(attribute(if node.always { "jumps to" } else { "if false" }, &to));
    }
    if !node.marks.findings.is_empty() {
        attributes.push(attribute("findings of check", &node.marks.findings.len().to_string()));
    }
    if method.is_changed(node) {
        attributes.push(attribute("differs from the older file", "yes"));
    }
    attributes
}

/// Returns the calls that contain a node, outermost first, separated by `/`.
fn namespace(method: &MethodGraph, node: &GraphNode) -> String {
    let layer = |frame: &GraphFrame| {
        let file = frame.file.as_deref().unwrap_or_default();
        let file = file.rsplit('/').next().unwrap_or_default();
        let text = frame.context.as_deref().or(frame.name.as_deref()).unwrap_or_default();
        shown(&format!("{file}:{} {text}", frame.line)).replace('/', "\u{2215}")
    };
    let layers = node.trace.iter().filter_map(|frame| method.frames.get(*frame)).map(layer);
    layers.collect::<Vec<_>>().join("/")
}

fn payload_graph(number: usize, payload: &PayloadGraph) -> ViewerGraph {
    let described = |value: &usize| ("", payload.values.get(*value).map_or("", |value| &*value.kind));
    let mut sources: Vec<Option<(String, usize)>> = vec![None; payload.values.len()];
    let mut nodes = Vec::new();
    for (position, value) in payload.inputs.iter().enumerate() {
        let id = format!("input {position}");
        let outputs_metadata = metadata([described(value)].into_iter());
        nodes.push(ViewerNode { id: id.clone(), label: id.clone(), outputs_metadata, ..ViewerNode::default() });
        if let Some(source) = sources.get_mut(*value) {
            *source = Some((id, 0));
        }
    }
    let edge = |sources: &[Option<(String, usize)>], value: usize, input: usize| {
        let (source, output) = sources.get(value)?.as_ref()?;
        Some(edge(source, *output, input))
    };
    for (index, PayloadOperation { name, reads, writes, .. }) in payload.nodes.iter().enumerate() {
        let incoming = reads.iter().enumerate().filter_map(|(input, value)| edge(&sources, *value, input));
        nodes.push(ViewerNode {
            id: index.to_string(),
            label: name.to_string(),
            incoming_edges: Some(incoming.collect()),
            inputs_metadata: metadata(reads.iter().map(described)),
            outputs_metadata: metadata(writes.iter().map(described)),
            ..ViewerNode::default()
        });
        for (output, value) in writes.iter().enumerate() {
            if let Some(source) = sources.get_mut(*value) {
                *source = Some((index.to_string(), output));
            }
        }
    }
    for (position, value) in payload.outputs.iter().enumerate() {
        let id = format!("output {position}");
        let incoming_edges = Some(edge(&sources, *value, 0).into_iter().collect());
        nodes.push(ViewerNode { id: id.clone(), label: id, incoming_edges, ..ViewerNode::default() });
    }
    ViewerGraph { id: payload_id(number), nodes }
}
