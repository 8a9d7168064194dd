//! A payload that is decoded once, in the forms that are asked for, and its form as plain data.

use std::any::Any;
use std::sync::OnceLock;

use crate::attributes::{attributes, quantization};
use crate::check;
use crate::constants;
use crate::decode::{MAX_GRAPH, PayloadError, ReadGraph};
use crate::describe;
use crate::draft::{ConstantSource, Draft, DraftNode, DraftValue};
use crate::memory::{memory, operators};
use crate::model::{FieldContent, Graph};
use crate::schema::Datatype;
use pte_model::data::Blob;
use pte_payload::Payload;
use pte_payload::decoded::{
    CheckedArguments, CheckedPayload, ConstantData, DecodedPayload, KeyedData, PayloadFinding, PayloadGraph,
    PayloadNode, PayloadOperator, PayloadPart, PayloadRule, PayloadValue, ReadBudget,
};
use pte_payload::description::{DescribeError, Facts, MAX_METADATA};
use pte_payload::memory::{DelegateMemory, Processor};

/// A payload, and what was read of it. Payloads that cannot be read are tried again.
#[derive(Debug)]
pub struct XnnpackPayload {
    payload: Blob,
    read: OnceLock<ReadGraph>,
    is_writable: OnceLock<Result<(), String>>,
    draft: OnceLock<Result<Draft, String>>,
    plain: OnceLock<Option<PayloadGraph>>,
}

impl XnnpackPayload {
    /// Returns a payload, of which nothing is read yet.
    pub fn new(payload: Blob) -> XnnpackPayload {
        let (read, is_writable, draft, plain) = Default::default();
        XnnpackPayload { payload, read, is_writable, draft, plain }
    }

    /// Returns a payload that is one of XNNPACK.
    pub fn of(payload: &Payload) -> Option<&XnnpackPayload> {
        let decoded: &dyn Any = payload.decoded()?;
        decoded.downcast_ref()
    }

    /// Returns the bytes.
    pub fn blob(&self) -> &Blob {
        &self.payload
    }

    /// Returns the payload as far as it can be read, if its graph has at most `max` bytes.
    ///
    /// # Errors
    /// As [`ReadGraph::read`].
    pub fn read(&self, max: u64) -> Result<&ReadGraph, PayloadError> {
        match self.read.get() {
            Some(read) if read.sections.graph.1 <= max => Ok(read),
            Some(read) => Err(PayloadError::Size(read.sections.graph.1, max)),
            None => {
                let read = ReadGraph::read(&self.payload, max)?;
                Ok(self.read.get_or_init(|| read))
            }
        }
    }

    /// Returns the graph.
    ///
    /// # Errors
    /// As [`decode`](crate::decode::decode).
    pub fn graph(&self) -> Result<&Graph, String> {
        let read = self.read(MAX_GRAPH).map_err(|error| error.to_string())?;
        self.is_writable.get_or_init(|| read.writable(&self.payload)).clone()?;
        Ok(&read.graph)
    }

    /// Returns the draft.
    ///
    /// # Errors
    /// As [`Draft::read`].
    pub fn draft(&self) -> Result<&Draft, &str> {
        let draft = || Draft::of_payload(self.graph()?, &self.payload);
        self.draft.get_or_init(draft).as_ref().map_err(String::as_str)
    }
}

impl DecodedPayload for XnnpackPayload {
    fn describe(&self) -> Result<Facts, DescribeError> {
        describe::describe(self.read(MAX_METADATA).map_err(describe::error)?)
    }

    fn keys(&self) -> Option<Vec<&str>> {
        Some(constants::keys(self.graph().ok()?).collect())
    }

    fn graph(&self) -> Option<&PayloadGraph> {
        self.plain.get_or_init(|| self.draft().ok().map(plain)).as_ref()
    }

    fn operators(&self) -> Vec<PayloadOperator> {
        XnnpackPayload::graph(self).map(operators).unwrap_or_default()
    }

    fn check<'p>(&self, named: &dyn Fn(&str) -> Option<KeyedData<'p>>, budget: &mut ReadBudget) -> CheckedPayload {
        let failed = |finding| CheckedPayload { findings: vec![finding], ..CheckedPayload::default() };
        // The payloads of a file are not larger than the file in total.
        let read = match self.read(u64::MAX) {
            Ok(read) => read,
            Err(error) => {
                let found = match error {
                    PayloadError::Io(error) => format!("unreadable data: {error}"),
                    PayloadError::Identifier(_) => "a payload without an XNNPACK identifier".to_owned(),
                    error @ (PayloadError::Header(_) | PayloadError::Size(..)) => error.to_string(),
                };
                let expected = "a graph and constants inside the payload".to_owned();
                return failed(PayloadFinding {
                    rule: PayloadRule::Payload,
                    part: PayloadPart::Whole,
                    found,
                    expected,
                });
            }
        };
        match check::check(read) {
            Err(finding) => failed(finding),
            Ok(checked) => CheckedPayload {
                findings: checked.data_finding(read, named, budget).into_iter().chain(checked.remarks).collect(),
                arguments: Some(CheckedArguments { list: checked.arguments, count: read.graph.num_externs.into() }),
                unpacked: checked.unpacked,
            },
        }
    }

    fn memory(&self, processor: Processor) -> Option<Result<DelegateMemory, DescribeError>> {
        let graph = XnnpackPayload::graph(self).map_err(DescribeError::Malformed);
        Some(graph.and_then(|graph| memory(graph, processor)))
    }
}

/// Returns the graph of a draft as plain data.
fn plain(draft: &Draft) -> PayloadGraph {
    let value = |value: &DraftValue| PayloadValue {
        name: None,
        kind: value_type(value),
        element_type: Datatype::of(value.datatype).map_or("unknown", |datatype| datatype.name).into(),
        sizes: value.dims.to_vec(),
        quantization: quantization(value),
        bytes: value.nbytes(),
        data: value.constant.as_ref().map(|constant| match &constant.source {
            ConstantSource::Data(blob) => ConstantData::Inside(blob.clone()),
            ConstantSource::Key(key) => ConstantData::Named(key.clone(), constant.size),
        }),
        elements: Datatype::of(value.datatype).filter(|datatype| datatype.bits >= 8).map(|datatype| datatype.storage),
        keys: value.keys().map(|(key, what)| (key.to_owned(), what)).collect(),
    };
    let node = |node: &DraftNode| {
        let read = node.operation.operands().filter(|operand| !operand.is_output);
        let read = read
            .filter_map(|operand| Some((node.position(operand.slot)?, operand.name.trim_end_matches("_id").into())));
        let (reads, roles) = read.unzip();
        PayloadNode {
            name: node.operation.word().into(),
            reads,
            roles,
            writes: node.values(true).collect(),
            attributes: attributes(node),
            macs: draft.products(node),
        }
    };
    PayloadGraph {
        values: draft.values.iter().map(value).collect(),
        inputs: draft.inputs.clone(),
        outputs: draft.outputs.clone(),
        nodes: draft.nodes.iter().map(node).collect(),
        problems: Vec::new(),
        more_problems: 0,
    }
}

/// Returns type, sizes and quantization of a value.
fn value_type(value: &DraftValue) -> String {
    let name = Datatype::of(value.datatype).map_or("unknown", |datatype| datatype.name);
    let sizes: Vec<String> = value.dims.iter().map(u32::to_string).collect();
    let quantization = match value.quantization.as_ref().map(|quantization| &quantization.params.fields[..]) {
        Some([FieldContent::Float(scale), FieldContent::Int(zero_point)]) => {
            format!(" scale {scale} zero_point {zero_point}")
        }
        Some(_) => " quantized".to_owned(),
        None => String::new(),
    };
    format!("{name} [{}]{quantization}", sizes.join(", "))
}
