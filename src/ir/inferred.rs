//! Keys of the YAML that assembling computes if they are left out, and where they are in a source.
//!
//! The values of some follow from nothing: whether a key may be left out is tried by assembling.

use super::shape::{
    DOCUMENT, Form, GRAPH, GRAPH_VALUE, LAYOUT, LITERAL_MAP, METHOD, Shape, TENSOR, document, graph, graph_value,
    literal_map, method, tensor,
};
use super::style::alternatives;
use pte_yaml::tree::{NodeId, NodeValue, SourceNode};

/// Maps whose keys are computed: all but these.
static COMPUTED_BUT: [(&Shape, &[&str]); 3] = [
    (&TENSOR, &[tensor::data, tensor::mutable, tensor::external, tensor::name, tensor::view_of, tensor::device]),
    (
        &GRAPH_VALUE,
        &[
            graph_value::data,
            graph_value::key,
            graph_value::scale,
            graph_value::scales,
            graph_value::zero_point,
            graph_value::channel_dim,
            graph_value::group_size,
        ],
    ),
    (&LAYOUT, &[]),
];

/// Other keys that are computed.
static COMPUTED: [(&Shape, &[&str]); 4] = [
    (&DOCUMENT, &[document::version, document::layout]),
    (&METHOD, &[method::operators, method::memory, method::container_meta, method::values]),
    (
        &GRAPH,
        &[
            graph::values,
            graph::identifier,
            graph::header,
            graph::named_keys,
            graph::version,
            graph::num_externs,
            graph::input_ids,
            graph::output_ids,
            graph::mem_buffer_sizes,
        ],
    ),
    (&LITERAL_MAP, &[literal_map::index]),
];

/// Returns the keys of a document that may be computed, outer ones first: declared values, their properties, others.
pub fn keys(root: &SourceNode<'_>) -> Vec<NodeId> {
    let mut found = Vec::new();
    visit(root, &Form::Shape(&DOCUMENT), &[], 0, &mut found);
    found.sort_by_key(|(depth, _)| *depth);
    found.into_iter().map(|(_, id)| id).collect()
}

/// Adds the keys in a node, each with its depth. `inputs` are the names of values that the method or the graph takes.
fn visit(node: &SourceNode<'_>, form: &Form, inputs: &[&str], depth: usize, out: &mut Vec<(usize, NodeId)>) {
    let entries = match &node.value {
        NodeValue::Map(entries) => entries,
        NodeValue::List(items) => {
            for form in
                alternatives(form).filter_map(|form| if let Form::List(item) = form { Some(item) } else { None })
            {
                items.iter().for_each(|item| visit(item, form, &[], depth + 1, out));
            }
            return;
        }
        NodeValue::Null
        | NodeValue::Bool(_)
        | NodeValue::Int(_)
        | NodeValue::UInt(_)
        | NodeValue::Float(_)
        | NodeValue::Text(_) => return,
    };
    if let Some(Form::Map(form)) = alternatives(form).find(|form| matches!(form, Form::Map(_))) {
        for (key, value) in entries {
            let is_declared = alternatives(form).any(|form| {
                COMPUTED_BUT.iter().any(|(shape, _)| matches!(form, Form::Shape(of) if std::ptr::eq(*of, *shape)))
            });
            if is_declared && !inputs.contains(&&*key.text) {
                out.push((depth, key.id));
            }
            visit(value, form, &[], depth + 1, out);
        }
        return;
    }
    let inputs: Vec<&str> =
        entries.iter().filter(|(key, _)| key.text == method::inputs).flat_map(|(_, value)| texts(value)).collect();
    let shapes = alternatives(form).filter_map(|form| if let Form::Shape(shape) = form { Some(*shape) } else { None });
    let knows = |shape: &&Shape| entries.iter().all(|(key, _)| shape.key(&key.text).is_some());
    let Some(shape) = shapes.into_iter().find(knows) else { return };
    let rows = |table: &[(&Shape, &'static [&'static str])]| {
        table.iter().find(|(of, _)| std::ptr::eq(*of, shape)).map(|(_, keys)| *keys)
    };
    for (key, value) in entries {
        let is_computed = rows(&COMPUTED_BUT).is_some_and(|keys| !keys.contains(&&*key.text))
            || rows(&COMPUTED).is_some_and(|keys| keys.contains(&&*key.text));
        if is_computed {
            out.push((depth, key.id));
        }
        if let Some(row) = shape.key(&key.text) {
            visit(value, &row.form, &inputs, depth + 1, out);
        }
    }
}

/// Returns the strings of a list.
fn texts<'n>(node: &'n SourceNode<'_>) -> impl Iterator<Item = &'n str> {
    let items = if let NodeValue::List(items) = &node.value { &items[..] } else { &[] };
    items.iter().filter_map(|item| if let NodeValue::Text(text) = &item.value { Some(&**text) } else { None })
}
