//! Payloads of delegates: constants, quantization and operations of graphs.

use super::decoder::{Decoder, MapFields};
use super::rows::{Decode, Node};
use crate::ir::document::*;
use crate::ir::shape::{self, delegate, graph_scales, graph_value, unknown_operation};
use pte_model::diagnostics::Code;
use pte_model::format::Kind;
use pte_xnnpack::draft::is_operand;
use pte_xnnpack::model::NodeOperation;
use pte_xnnpack::schema::{Operation, field_key};
use pte_yaml::tree::{NodeValue, SourceNode};

impl Decoder {
    /// The payload of a delegate: one of `data` and `graph`.
    pub(super) fn payload<'a>(&mut self, fields: &mut MapFields<'a>) -> Option<ParsedPayload<'a>> {
        match self.alternative(fields, "a delegate has exactly one payload", || "`data` or `graph`".to_owned())? {
            delegate::graph => fields.value(self, delegate::graph, Decode::decode).map(ParsedPayload::Graph),
            _ => fields.value(self, delegate::data, Decode::decode).map(ParsedPayload::Data),
        }
    }

    /// A constant, by the keys for data, key and size.
    pub(super) fn graph_constant<'a>(
        &mut self,
        fields: &mut MapFields<'a>,
        names: [&str; 3],
    ) -> Option<ParsedConstant<'a>> {
        let [data, key, size] = names;
        let (data, key) = (fields.take(data), fields.take(key));
        let size = fields.int(self, size, "a size");
        let source = match (data, key) {
            (Some(data), None) => ParsedConstantSource::Data(self.data(data)?),
            (None, Some(key)) => ParsedConstantSource::Key(self.text(key, "a key")?),
            (Some(_), Some(key)) => {
                let message = "a constant has either `data` or `key`";
                return self.fail(Code::ConflictingKeys, key.id, message, "remove one of the two");
            }
            (None, None) => {
                let message = || "`size` without a constant".to_owned();
                self.refuse(size.map(|size| size.id), message, "expected `data` or `key` beside it");
                return None;
            }
        };
        Some(ParsedConstant { source, size: size.map(|size| size.value) })
    }

    /// The quantization of a value: of the first of the keys that begin one.
    pub(super) fn graph_quantization<'a>(&mut self, fields: &mut MapFields<'a>) -> Option<At<ParsedQuantization<'a>>> {
        const KINDS: [&str; 3] = [graph_value::scale, graph_value::scales, graph_value::num_nonbatch_dims];
        // Keys that belong to others.
        const OWNED: [(&str, &str); 5] = [
            (graph_value::zero_point, graph_value::scale),
            (graph_value::channel_dim, graph_value::scales),
            (graph_value::group_size, graph_value::scales),
            (graph_value::num_scales, graph_value::scales),
            (graph_value::scale_bf16, graph_value::group_size),
        ];
        let kinds = fields.which(&KINDS);
        if let [first, second, ..] = kinds[..] {
            let at = fields.take(second).map_or(fields.id, |node| node.id);
            let message = format!("a value has one quantization, found `{first}` and `{second}`");
            return self.fail(Code::ConflictingKeys, at, message, "remove one of the two");
        }
        for (name, owner) in OWNED {
            if fields.which(&[owner]).is_empty()
                && let Some(node) = fields.take(name)
            {
                let message = format!("`{name}` without `{owner}`");
                self.error(Code::MissingKey, node.id, message, format!("expected `{owner}` beside it"));
            }
        }
        let kind = *kinds.first()?;
        let node = fields.take(kind)?;
        let id = node.id;
        let value = match kind {
            graph_value::scale => {
                let zero_point = fields.int(self, graph_value::zero_point, "an integer");
                ParsedQuantization::Tensor(self.single(&node)?, zero_point.map_or(0, |zero_point| zero_point.value))
            }
            graph_value::num_nonbatch_dims => ParsedQuantization::Token(self.int(&node, "a number of dimensions")?),
            _ => {
                let scale_bf16 = fields.take(graph_value::scale_bf16);
                ParsedQuantization::Channels {
                    channel_dim: fields.int(self, graph_value::channel_dim, "an integer"),
                    group_size: fields.int(self, graph_value::group_size, "an integer"),
                    scales: self.graph_scales(node)?,
                    num_scales: fields.int(self, graph_value::num_scales, "a number").map(|number| number.value),
                    scale_bf16: scale_bf16.map(|node| self.ints(node, "an integer of two bytes")),
                }
            }
        };
        Some(At { id, value })
    }

    pub(super) fn graph_scales<'a>(&mut self, node: SourceNode<'a>) -> Option<ParsedScales<'a>> {
        if let NodeValue::List(items) = &node.value {
            return Some(ParsedScales::Listed(items.iter().filter_map(|item| self.single(item)).collect()));
        }
        let id = node.id;
        let mut fields = self.fields(node, &shape::GRAPH_SCALES)?;
        let names = [graph_scales::data, graph_scales::key, graph_scales::size];
        if fields.which(fields.shape.one_of).is_empty() && !fields.has_unknown_key {
            self.error(Code::MissingKey, id, "scales without content", "expected a list, `data` or `key`");
        }
        self.graph_constant(&mut fields, names).map(ParsedScales::Constant)
    }

    pub(super) fn graph_node<'a>(&mut self, node: SourceNode<'a>) -> Option<ParsedNode<'a>> {
        let id = node.id;
        let mut fields = self.fields(node, &shape::GRAPH_NODE)?;
        let name = self.alternative(&fields, "a node has exactly one operation", || "one operation".to_owned())?;
        let inner = fields.take(name)?;
        let known = Operation::ALL.iter().copied().find(|operation| operation.word() == name);
        let shape = known.map_or(&shape::UNKNOWN_OPERATION, shape::shape_of);
        let mut operands = self.fields(inner, shape)?;
        let operation = match known {
            Some(operation) => NodeOperation::Known(operation),
            None => {
                let At { id, value: tag } = operands.int(self, unknown_operation::tag, "a number below 256")?;
                let message = match NodeOperation::of_tag(tag) {
                    NodeOperation::Known(known) => Err(format!("operation {tag} is `{}`", known.word())),
                    NodeOperation::Unknown(0) => Err("operation 0 means none".to_owned()),
                    operation @ NodeOperation::Unknown(_) => Ok(operation),
                };
                message.map_err(|message| self.error(Code::OutOfRange, id, message, "expected 48 or more")).ok()?
            }
        };
        let mut found = Vec::new();
        for (slot, field) in operation.table().fields.iter().enumerate() {
            let Some(node) = operands.take(field_key(operation.table(), slot)) else { continue };
            let at = node.id;
            let value = match (field.kind, &node.value) {
                (Kind::Float, _) => self.single(&node).map(ParsedField::Float),
                (Kind::UInts, _) => Some(ParsedField::UInts(self.ints(node, "a non-negative integer"))),
                _ if !is_operand(field) => self.int(&node, "a non-negative integer").map(ParsedField::UInt),
                (_, NodeValue::Null) => Some(ParsedField::NoValue),
                (_, NodeValue::UInt(_) | NodeValue::Int(_)) if !self.strings.contains_key(&at) => {
                    self.int(&node, "the id of a value").map(ParsedField::UInt)
                }
                _ => self.text(node, "the name of a value").map(|word| ParsedField::Value(word.value)),
            };
            found.extend(value.map(|value| (slot, At { id: at, value })));
        }
        ParsedNode::keys(self, &mut fields, (Some(id), Some(operation), Some(found)))
    }
}
