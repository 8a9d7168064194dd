//! The graph of a payload of XNNPACK as plain data: values, and operations in their order. Part of [`crate::graph`].

use std::collections::HashMap;

use serde::Serialize;

use super::names::constant_names;
use super::statistics::TensorStatistics;
use super::summary::value_type;
use pte_xnnpack::draft::{ConstantSource, Draft};

/// A decoded payload.
#[derive(Debug, Clone, Serialize)]
pub struct PayloadGraph {
    /// Values of the graph.
    pub values: Vec<PayloadValue>,
    /// Values that are the first arguments of the delegate.
    pub inputs: Vec<usize>,
    /// Values that are the other arguments of the delegate.
    pub outputs: Vec<usize>,
    /// Operations in order.
    pub nodes: Vec<PayloadNode>,
}

/// A value of a payload.
#[derive(Debug, Clone, Serialize)]
pub struct PayloadValue {
    /// Name of a constant: the first operation that reads it, and its role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Element type, sizes and quantization.
    #[serde(rename = "type")]
    pub kind: String,
    /// Size of its data in bytes; `None` if it is not constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Statistics of its data, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub statistics: Option<TensorStatistics>,
}

/// An operation of a payload.
#[derive(Debug, Clone, Serialize)]
pub struct PayloadNode {
    /// Name of the operation.
    pub name: &'static str,
    /// Values that it reads.
    pub reads: Vec<usize>,
    /// Values that it writes.
    pub writes: Vec<usize>,
}

impl PayloadGraph {
    /// Builds the graph of a payload. `named` has the sizes of the named data by key.
    pub fn new(draft: &Draft, named: &HashMap<&str, u64>) -> PayloadGraph {
        let values = draft.values.iter().map(|value| {
            let bytes = value.constant.as_ref().map(|constant| match &constant.source {
                ConstantSource::Data(blob) => blob.len(),
                ConstantSource::Key(key) => named.get(&**key).copied().or(constant.size).unwrap_or(0),
            });
            PayloadValue { name: None, kind: value_type(value), bytes, statistics: None }
        });
        let names = constant_names(draft);
        let values = values.zip(names).map(|(value, name)| PayloadValue { name, ..value });
        let nodes = draft.nodes.iter().map(|node| {
            let [reads, writes] = [false, true].map(|is_output| node.values(is_output).collect());
            PayloadNode { name: node.operation.word(), reads, writes }
        });
        PayloadGraph {
            values: values.collect(),
            inputs: draft.inputs.clone(),
            outputs: draft.outputs.clone(),
            nodes: nodes.collect(),
        }
    }
}
