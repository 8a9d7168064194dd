//! The document itself, and its parts `named_data`, `layout` and `raw`.

use super::decoder::{Decoder, FILES, NAMED_DATA};
use super::rows::{Node, WholeNode};
use crate::ir::document::{At, Layout, OverrideSource, ParsedDocument, ParsedNamedData};
use crate::ir::shape::{self, KeySpec, document, field_override};
use crate::layout::options::{OPTIONS, OptionKind, OptionSpec, OptionValue};
use crate::overrides::OverrideValue;
use pte_model::data::number::{NumericValue, number_word};
use pte_model::diagnostics::Code;
use pte_model::program::ContainerMetadata;
use pte_yaml::tree::{NodeValue, SourceNode};

impl Decoder {
    pub(super) fn document<'a>(&mut self, node: SourceNode<'a>) -> Option<ParsedDocument<'a>> {
        if node.value == NodeValue::Null {
            let label = "expected `methods:`, or `named_data:`";
            return self.fail(Code::EmptyDocument, node.id, "the YAML is empty", label);
        }
        let id = node.id;
        let mut fields = self.fields(node, &shape::DOCUMENT)?;
        // Before the paths that may be names of files.
        if let Some(node) = fields.take(document::files) {
            for (key, node) in self.entries(node, FILES) {
                if let Some(path) = self.text(node, "the path of a file") {
                    self.files.insert(key.text.into_owned(), path.value.into_owned());
                }
            }
        }
        let known = fields.which(&[document::methods, document::named_data, document::checkpoints]);
        if known.is_empty() && !fields.has_unknown_key {
            let message = "the document has neither methods nor named data";
            self.error(Code::EmptyDocument, id, message, "expected `methods:`, or `named_data:` for a .ptd");
        }
        ParsedDocument::keys(self, &mut fields, ())
    }

    pub(super) fn named_data_map<'a>(
        &mut self,
        node: SourceNode<'a>,
        _: &KeySpec,
    ) -> Option<At<Vec<ParsedNamedData<'a>>>> {
        let (id, is_null) = (node.id, node.value == NodeValue::Null);
        Some(At { id, value: if is_null { Vec::new() } else { self.named(node, NAMED_DATA) } })
    }

    pub(super) fn field_override<'a>(&mut self, node: SourceNode<'a>) -> Option<OverrideSource<'a>> {
        let id = node.id;
        Some(OverrideSource::Value(match node.value {
            NodeValue::Null => OverrideValue::Null,
            NodeValue::Bool(b) => OverrideValue::Integer(b.into()),
            NodeValue::Int(n) => OverrideValue::Integer(n.into()),
            NodeValue::UInt(n) => OverrideValue::Integer(n.into()),
            NodeValue::Float(x) => OverrideValue::Float(x),
            NodeValue::List(items) if items.is_empty() => OverrideValue::Empty,
            NodeValue::Text(text) => match &*text {
                "absent" => OverrideValue::Absent,
                "null" => OverrideValue::Null,
                "empty" => OverrideValue::Empty,
                text => match number_word(text) {
                    Some(NumericValue::Float(x)) => OverrideValue::Float(x),
                    _ => OverrideValue::Text(text.to_owned()),
                },
            },
            value @ NodeValue::Map(_) => {
                let mut fields = self.fields(SourceNode { id, value }, &shape::FIELD_OVERRIDE)?;
                let same = fields.take(field_override::same_as).and_then(|node| match &node.value {
                    NodeValue::Text(text) => self.field_path(node.id, text, "expected a path"),
                    _ => self.wrong(&node, "a path"),
                });
                let bytes = fields.take(field_override::bytes).and_then(|node| self.data(node));
                match (same, bytes) {
                    (Some(path), None) => OverrideValue::SameAs(path),
                    (None, Some(data)) => return Some(OverrideSource::Bytes(data)),
                    _ if fields.has_unknown_key => return None,
                    _ => {
                        let message = "an override has exactly one value";
                        return self.fail(Code::ConflictingKeys, id, message, "expected `same_as` or `bytes`");
                    }
                }
            }
            _ => {
                return self.wrong(&node, "a number, absent, null, empty, a string, {same_as: PATH} or {bytes: DATA}");
            }
        }))
    }

    pub(super) fn layout(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<Layout> {
        let mut fields = self.fields(node, &shape::LAYOUT)?;
        let mut layout = Layout::default();
        for (index, option) in OPTIONS.iter().enumerate() {
            let Some(node) = fields.take(option.name) else { continue };
            layout.nodes.insert(option.name, node.id);
            if let Some(value) = self.option(option, &node) {
                layout.options.push(index, value);
            }
        }
        Some(layout)
    }

    /// A value of a layout option.
    pub(super) fn option(&mut self, option: &OptionSpec, node: &SourceNode<'_>) -> Option<OptionValue> {
        let value = match &node.value {
            NodeValue::Text(text) => option.parse(text),
            NodeValue::Int(n) => u64::try_from(*n).map_err(|_| option.expected()).and_then(|bytes| option.bytes(bytes)),
            NodeValue::UInt(n) => option.bytes(*n),
            _ => Err(option.expected()),
        };
        value
            .map_err(|expected| {
                let wrong = Code::InvalidLayoutOption
                    .error(node.id, format!("invalid `{}`: {}", option.name, node.value.describe()));
                let wrong = wrong.label(format!("expected {expected}"));
                let words = match option.kind {
                    OptionKind::Words(words) | OptionKind::WordsOrBytes(words, ..) => words,
                    OptionKind::Alignment | OptionKind::ForcedAlignment | OptionKind::Bytes(..) => &[],
                };
                let near = match &node.value {
                    NodeValue::Text(text) => wrong.suggest(text, words.iter().copied()),
                    _ => wrong,
                };
                self.diagnostics.push(near);
            })
            .ok()
    }

    pub(super) fn container_meta(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<Option<ContainerMetadata>> {
        Some(if node.value == NodeValue::Null { None } else { ContainerMetadata::whole(self, node) })
    }
}
