//! The constants of a program, each stored one once, with all values that have it.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use crate::payload_graph::PayloadGraph;
use pte_inspect::summary::Graphs;
use pte_memory::Subject;
use pte_model::data::BlobId;
use pte_model::program::TensorData;
use pte_payload::decoded::ConstantData;

/// A stored constant.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GraphWeight {
    /// Name of the first value that has it, or key of named data.
    pub name: String,
    /// Element type and sizes of that value.
    #[serde(rename = "type")]
    pub kind: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Values that have it: index of the method, and of the value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(usize, usize)>,
    /// Values of payloads that have it: index of the payload, and of the value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub payload_values: Vec<(usize, usize)>,
    /// Key of named data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Identity of stored data: a blob, or a value of a payload.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Stored {
    Blob(u32),
    Payload(usize, usize),
    Missing(String),
}

/// Returns the constants of the methods and payloads of a program, the largest first. `describe` returns name and type
/// of a value of a method.
pub fn weights<'d>(
    subject: &Subject<'_>,
    graphs: &Graphs<'_>,
    numbers: &HashMap<BlobId, usize>,
    payloads: &[PayloadGraph],
    describe: &dyn Fn(usize, usize) -> (&'d str, &'d str),
) -> Vec<GraphWeight> {
    let program = subject.program;
    let mut found: BTreeMap<Stored, GraphWeight> = BTreeMap::new();
    for (number, plan) in program.plans().iter().enumerate() {
        for (value, tensor) in plan.tensors() {
            let TensorData::Blob(id) = tensor.data else { continue };
            let weight = found.entry(Stored::Blob(id.0)).or_insert_with(|| {
                let (name, kind) = describe(number, value);
                let bytes = program.blob(id).len();
                GraphWeight { name: name.to_owned(), kind: kind.to_owned(), bytes, ..GraphWeight::default() }
            });
            weight.values.push((number, value));
        }
    }
    let named: HashMap<&str, BlobId> =
        program.named_data.iter().flatten().map(|entry| (entry.key.as_str(), entry.data)).collect();
    let mut decoded: Vec<(usize, BlobId)> = numbers.iter().map(|(blob, number)| (*number, *blob)).collect();
    decoded.sort_unstable();
    for (number, blob) in decoded {
        let (Some(graph), Some(payload)) = (graphs.get(&blob), payloads.get(number)) else { continue };
        for (index, (value, shown)) in graph.values.iter().zip(&payload.values).enumerate() {
            let (stored, key) = match &value.data {
                None => continue,
                Some(ConstantData::Inside(_)) => (Stored::Payload(number, index), None),
                Some(ConstantData::Named(key, _)) => match named.get(&**key) {
                    Some(id) => (Stored::Blob(id.0), Some(key)),
                    None => (Stored::Missing(key.clone()), Some(key)),
                },
            };
            let weight = found.entry(stored).or_insert_with(|| GraphWeight {
                name: shown.name.clone().or_else(|| key.cloned()).unwrap_or_default(),
                kind: shown.kind.clone(),
                bytes: shown.bytes.unwrap_or(0),
                ..GraphWeight::default()
            });
            weight.payload_values.push((number, index));
            weight.key = weight.key.take().or_else(|| key.cloned());
        }
    }
    let mut weights: Vec<GraphWeight> = found.into_values().collect();
    weights.sort_by_key(|weight| std::cmp::Reverse(weight.bytes));
    weights
}
