//! Graphs of payloads that are described only: values, which the format has by number or by name, and operations.
//!
//! A value that an operation refers to and the payload does not declare has no type, and is reported as a problem of
//! the graph. Nothing else is checked.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::Hash;

use super::decoded::{
    Attributes, ConstantData, PayloadFinding, PayloadGraph, PayloadNode, PayloadPart, PayloadRule, PayloadValue,
};
use super::description::DescribeError;
use pte_model::data::Blob;
use pte_model::diagnostics::{clipped, counted};
use pte_model::format::ScalarType;

/// Element types of the words of a format, as [`CallRules`](super::signature::CallRules) has them.
pub type Words = [(&'static str, &'static [ScalarType])];

/// Number of problems that are kept; the others are counted.
const MAX_PROBLEMS: usize = 1 << 10;

fn bytes(count: u64) -> String {
    counted(count, "byte")
}

/// Builds a [`PayloadGraph`]. `K` identifies a value in the payload.
#[derive(Debug)]
pub struct GraphBuilder<K> {
    graph: PayloadGraph,
    positions: HashMap<K, usize>,
    /// Returns a value for messages, such as `value 3`.
    name: fn(&K) -> String,
    /// Number of values and characters that operations may still refer to.
    left: u64,
}

/// Values and characters that operations may refer to, for each byte of the payload: lists and texts may be shared.
const REFERENCES_PER_BYTE: u64 = 4;

impl<K: Hash + Eq> GraphBuilder<K> {
    /// Creates an empty graph of a payload. `name` returns a value for messages, such as `value 3`.
    pub fn new(payload: &Blob, name: fn(&K) -> String) -> GraphBuilder<K> {
        let left = payload.len().saturating_mul(REFERENCES_PER_BYTE).saturating_add(1 << 12);
        GraphBuilder { graph: PayloadGraph::default(), positions: HashMap::new(), name, left }
    }

    /// Counts values of a list, or characters of a text, to which others may refer, too.
    ///
    /// # Errors
    /// There are more than the payload warrants.
    pub fn spend(&mut self, count: usize) -> Result<(), DescribeError> {
        let left = self.left.checked_sub(count as u64);
        self.left = left.ok_or_else(|| {
            DescribeError::malformed("operations that share lists or texts more often than a payload of its size does")
        })?;
        Ok(())
    }

    /// Adds a reference that leads to nothing: what was found, and what was expected.
    pub fn problem(&mut self, part: PayloadPart, found: String, expected: &str) {
        if self.graph.problems.len() >= MAX_PROBLEMS {
            self.graph.more_problems += 1;
        } else {
            let expected = expected.to_owned();
            self.graph.problems.push(PayloadFinding { rule: PayloadRule::References, part, found, expected });
        }
    }

    /// Adds a value; the first one with a key counts.
    pub fn declare(&mut self, key: K, value: PayloadValue) {
        self.positions.entry(key).or_insert_with(|| {
            self.graph.values.push(value);
            self.graph.values.len() - 1
        });
    }

    /// Returns the position of a value to which `part` of the payload refers as `what`.
    fn position(&mut self, key: K, part: PayloadPart, what: impl FnOnce() -> String) -> usize {
        if let Some(position) = self.positions.get(&key) {
            return *position;
        }
        let found = format!("{}, {}, which the graph does not have", (self.name)(&key), what());
        self.problem(part, found, "a value of the graph");
        self.graph.values.push(PayloadValue::other(""));
        self.positions.insert(key, self.graph.values.len() - 1);
        self.graph.values.len() - 1
    }

    /// Returns the next value to declare with its data: from `offset` on in a part of the payload, which has an offset
    /// and a size.
    pub fn with_part(
        &mut self,
        value: PayloadValue,
        payload: &Blob,
        part: Option<(u64, u64)>,
        (offset, size): (u64, u64),
    ) -> PayloadValue {
        let (start, len) = part.unwrap_or((0, 0));
        let is_inside = offset.checked_add(size).is_some_and(|end| end <= len);
        if !is_inside {
            let at = PayloadPart::Value(self.graph.values.len());
            let found = format!("a constant of {} at {offset} of {} of data", bytes(size), bytes(len));
            self.problem(at, found, "a constant inside the data of the payload");
        }
        let blob = payload.part(start.saturating_add(offset), size).ok().flatten().filter(|_| is_inside);
        PayloadValue { data: blob.map(ConstantData::Inside), ..value }
    }

    /// Adds an operation that reads values, each in a role, and writes others.
    pub fn node(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        reads: impl IntoIterator<Item = (K, Cow<'static, str>)>,
        writes: impl IntoIterator<Item = K>,
        attributes: Attributes,
    ) {
        let (name, part) = (name.into(), PayloadPart::Node(self.graph.nodes.len()));
        let reads = reads
            .into_iter()
            .map(|(key, role)| (self.position(key, part, || format!("{role} of `{}`", clipped(&name))), role));
        let (reads, roles) = reads.unzip();
        let what = || format!("a result of `{}`", clipped(&name));
        let writes = writes.into_iter().map(|key| self.position(key, part, what)).collect();
        self.graph.nodes.push(PayloadNode { name, reads, roles, writes, attributes, macs: None });
    }

    /// Returns the graph with the values that are arguments of the delegate.
    pub fn finish(mut self, inputs: impl IntoIterator<Item = K>, outputs: impl IntoIterator<Item = K>) -> PayloadGraph {
        let mut positions = |keys: &mut dyn Iterator<Item = K>, what: &str| {
            keys.map(|key| self.position(key, PayloadPart::Whole, || what.to_owned())).collect()
        };
        let inputs = positions(&mut inputs.into_iter(), "an input");
        let outputs = positions(&mut outputs.into_iter(), "an output");
        PayloadGraph { inputs, outputs, ..self.graph }
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
        let mut builder = GraphBuilder::new(&Blob::bytes([]), |key: &&str| format!("value `{key}`"));
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
        let problems: Vec<&str> = graph.problems.iter().map(|problem| &*problem.found).collect();
        assert_eq!(problems, ["value `y`, a result of `add`, which the graph does not have"]);
    }
}
