//! The graph of a payload: values, and operations in their order. Part of [`crate::graph`].

use std::collections::HashMap;

use serde::Serialize;

use crate::statistics::TensorStatistics;
use pte_inspect::names::constant_names;
use pte_payload::decoded::{self, ConstantData, PayloadNode};

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

impl PayloadGraph {
    /// Builds the graph of a payload. `named` has the sizes of the named data by key.
    pub fn new(graph: &decoded::PayloadGraph, named: &HashMap<&str, u64>) -> PayloadGraph {
        let values = graph.values.iter().zip(constant_names(graph)).map(|(value, name)| {
            let bytes = value.data.as_ref().map(|data| match data {
                ConstantData::Inside(blob) => blob.len(),
                ConstantData::Named(key, size) => named.get(&**key).copied().or(*size).unwrap_or(0),
            });
            PayloadValue { name, kind: value.kind.clone(), bytes, statistics: None }
        });
        PayloadGraph {
            values: values.collect(),
            inputs: graph.inputs.clone(),
            outputs: graph.outputs.clone(),
            nodes: graph.nodes.clone(),
        }
    }
}
