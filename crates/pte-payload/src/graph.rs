//! Graphs of payloads that are described only: values, which the format has by number or by name, and operations.
//!
//! A value that an operation refers to and the payload does not declare has no type. Nothing is checked.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;

use super::decoded::{Attributes, ConstantData, PayloadGraph, PayloadNode, PayloadValue};
use pte_model::data::Blob;
use pte_model::format::ScalarType;

/// Element types of the words of a format, as [`CallRules`](super::signature::CallRules) has them.
pub type Words = [(&'static str, &'static [ScalarType])];

/// Builds a [`PayloadGraph`]. `K` identifies a value in the payload.
#[derive(Debug)]
pub struct GraphBuilder<K> {
    graph: PayloadGraph,
    positions: HashMap<K, usize>,
}

impl<K: Hash + Eq> GraphBuilder<K> {
    /// Creates an empty graph.
    pub fn new() -> GraphBuilder<K> {
        GraphBuilder { graph: PayloadGraph::default(), positions: HashMap::new() }
    }

    /// Adds a value; the first one with a key counts.
    pub fn declare(&mut self, key: K, value: PayloadValue) {
        self.positions.entry(key).or_insert_with(|| {
            self.graph.values.push(value);
            self.graph.values.len() - 1
        });
    }

    /// Returns the position of a value.
    fn position(&mut self, key: K) -> usize {
        *self.positions.entry(key).or_insert_with(|| {
            self.graph.values.push(PayloadValue::other(""));
            self.graph.values.len() - 1
        })
    }

    /// Adds an operation that reads values, each in a role, and writes others.
    pub fn node(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        reads: impl IntoIterator<Item = (K, Cow<'static, str>)>,
        writes: impl IntoIterator<Item = K>,
        attributes: Attributes,
    ) {
        let (reads, roles) = reads.into_iter().map(|(key, role)| (self.position(key), role)).unzip();
        let writes = writes.into_iter().map(|key| self.position(key)).collect();
        self.graph.nodes.push(PayloadNode { name: name.into(), reads, roles, writes, attributes, macs: None });
    }

    /// Returns the graph with the values that are arguments of the delegate.
    pub fn finish(mut self, inputs: impl IntoIterator<Item = K>, outputs: impl IntoIterator<Item = K>) -> PayloadGraph {
        self.graph.inputs = inputs.into_iter().map(|key| self.position(key)).collect();
        self.graph.outputs = outputs.into_iter().map(|key| self.position(key)).collect();
        self.graph
    }
}

impl PayloadValue {
    /// A tensor whose element type has a word of `words`. Negative sizes are not known.
    pub(crate) fn tensor(word: &str, words: &Words, sizes: &[i64]) -> PayloadValue {
        let elements = words.iter().find(|(known, _)| *known == word).and_then(|(_, types)| types.first().copied());
        let size = |size: &i64| if *size < 0 { "?".to_owned() } else { size.to_string() };
        let shown: Vec<String> = sizes.iter().map(size).collect();
        let known: Option<Vec<u64>> = sizes.iter().map(|size| u64::try_from(*size).ok()).collect();
        let element = elements.and_then(ScalarType::info).map_or(0, |info| info.size);
        let bytes = known.map_or(0, |sizes| sizes.into_iter().fold(element, u64::saturating_mul));
        PayloadValue {
            name: None,
            kind: format!("{word} [{}]", shown.join(", ")),
            element_type: word.to_owned().into(),
            sizes: sizes.iter().map(|size| u32::try_from(*size).unwrap_or(0)).collect(),
            quantization: Vec::new(),
            bytes,
            data: None,
            elements,
            keys: Vec::new(),
        }
    }

    /// A value that is no tensor.
    pub(crate) fn other(kind: &str) -> PayloadValue {
        PayloadValue { kind: kind.to_owned(), ..PayloadValue::tensor(kind, &[], &[]) }
    }

    /// The value with a name.
    pub(crate) fn named(self, name: &str) -> PayloadValue {
        PayloadValue { name: Some(name.to_owned()), ..self }
    }

    /// The value with data in a part of the payload that has an offset and a size: from `offset` on, as far as they are
    /// inside.
    pub(crate) fn with_part(
        mut self,
        payload: &Blob,
        part: Option<(u64, u64)>,
        offset: u64,
        size: u64,
    ) -> PayloadValue {
        let is_inside = |(_, len): &(u64, u64)| offset.checked_add(size).is_some_and(|end| end <= *len);
        let blob = part.filter(is_inside).and_then(|(at, _)| payload.part(at + offset, size).ok()?);
        self.data = blob.map(ConstantData::Inside);
        self
    }

    /// The value with data in named data.
    pub(crate) fn with_key(mut self, key: &str, size: Option<u64>) -> PayloadValue {
        self.keys.push((key.to_owned(), ""));
        self.data = Some(ConstantData::Named(key.to_owned(), size));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_keys() {
        let mut builder = GraphBuilder::new();
        let words: &Words = &[("FP32", &[ScalarType::FLOAT])];
        builder.declare("x", PayloadValue::tensor("FP32", words, &[2, -1]));
        builder.declare("x", PayloadValue::other("Int"));
        builder.declare("w", PayloadValue::tensor("FP32", words, &[2, 3]).named("weight").with_key("k", Some(24)));
        builder.node("add", [("x", "a".into()), ("w", "b".into())], ["y"], Vec::new());
        let graph = builder.finish(["x"], ["y"]);
        let kinds: Vec<&str> = graph.values.iter().map(|value| &*value.kind).collect();
        assert_eq!(kinds, ["FP32 [2, ?]", "FP32 [2, 3]", ""]);
        assert_eq!([graph.values[0].bytes, graph.values[1].bytes, graph.values[2].bytes], [0, 24, 0]);
        assert_eq!((&graph.nodes[0].reads[..], &graph.nodes[0].writes[..]), (&[0, 1][..], &[2][..]));
        assert_eq!((graph.inputs, graph.outputs), (vec![0], vec![2]));
    }
}
