//! The graph of a payload: values, and operations in their order with their parameters and work. Part of
//! [`crate::graph`].

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Serialize;

use crate::kind::OperationKind;
use crate::statistics::TensorStatistics;
use crate::work::GraphWork;
use pte_inspect::names::constant_names;
use pte_payload::decoded::{self, Attributes, ConstantData};

/// A decoded payload.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PayloadGraph {
    /// Values of the graph.
    pub values: Vec<PayloadValue>,
    /// Values that are the first arguments of the delegate.
    pub inputs: Vec<usize>,
    /// Values that are the other arguments of the delegate.
    pub outputs: Vec<usize>,
    /// Operations in order.
    pub nodes: Vec<PayloadOperation>,
    /// Bytes of the inputs and of the outputs.
    #[serde(skip)]
    outer: [u64; 2],
}

/// A value of a payload.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PayloadValue {
    /// Name in the payload; of a constant without one, the first operation that reads it, and its role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Element type, sizes and quantization.
    #[serde(rename = "type")]
    pub kind: String,
    /// Name of the element type.
    pub dtype: Cow<'static, str>,
    /// Size of each dimension.
    pub sizes: Vec<u32>,
    /// Parameters of the quantization: name and text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quantization: Attributes,
    /// Size of its data in bytes; `None` if it is not constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Statistics of its data, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics: Option<TensorStatistics>,
}

/// An operation of a payload.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PayloadOperation {
    /// Name.
    pub name: Cow<'static, str>,
    /// Kind.
    pub kind: OperationKind,
    /// Values that it reads.
    pub reads: Vec<usize>,
    /// Roles of the values that it reads, such as `filter`.
    pub roles: Vec<Cow<'static, str>>,
    /// Values that it writes.
    pub writes: Vec<usize>,
    /// Parameters: name, such as `stride`, and text, such as `2 2`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attributes: Attributes,
    /// Work.
    pub work: GraphWork,
}

impl PayloadGraph {
    /// Builds the graph of a payload. `named` has the sizes of the named data by key.
    pub fn new(graph: &decoded::PayloadGraph, named: &HashMap<&str, u64>) -> PayloadGraph {
        let values = graph.values.iter().zip(constant_names(graph)).map(|(value, name)| {
            let bytes = value.data.as_ref().map(|data| match data {
                ConstantData::Inside(blob) => blob.len(),
                ConstantData::Named(key, size) => named.get(&**key).copied().or(*size).unwrap_or(0),
            });
            PayloadValue {
                name,
                kind: value.kind.clone(),
                dtype: value.element_type.clone(),
                sizes: value.sizes.clone(),
                quantization: value.quantization.clone(),
                bytes,
                statistics: None,
            }
        });
        PayloadGraph {
            values: values.collect(),
            outer: [sum(graph, &graph.inputs), sum(graph, &graph.outputs)],
            inputs: graph.inputs.clone(),
            outputs: graph.outputs.clone(),
            nodes: graph.nodes.iter().map(|node| operation(graph, node)).collect(),
        }
    }

    /// Returns the work of a call of a delegate with this payload: of all operations, but only the bytes that enter and
    /// leave it.
    pub fn work(&self) -> GraphWork {
        let mut macs = self.nodes.iter().map(|node| node.work.macs);
        GraphWork {
            macs: macs.try_fold(0u64, |sum, macs| Some(sum.saturating_add(macs?))),
            constant: self.values.iter().filter_map(|value| value.bytes).fold(0, u64::saturating_add),
            planned: self.outer[0],
            written: self.outer[1],
        }
    }
}

/// Returns an operation with its work.
fn operation(graph: &decoded::PayloadGraph, node: &decoded::PayloadNode) -> PayloadOperation {
    let mut work = GraphWork { macs: node.macs, ..GraphWork::default() };
    for value in node.reads.iter().filter_map(|value| graph.values.get(*value)) {
        let to = if value.data.is_some() { &mut work.constant } else { &mut work.planned };
        *to = to.saturating_add(value.bytes);
    }
    work.written = sum(graph, &node.writes);
    PayloadOperation {
        name: node.name.clone(),
        kind: OperationKind::of(&node.name),
        reads: node.reads.clone(),
        roles: node.roles.clone(),
        writes: node.writes.clone(),
        attributes: node.attributes.clone(),
        work,
    }
}

/// Returns the size of values in bytes.
fn sum(graph: &decoded::PayloadGraph, values: &[usize]) -> u64 {
    values.iter().filter_map(|value| graph.values.get(*value)).fold(0, |sum, value| sum.saturating_add(value.bytes))
}
