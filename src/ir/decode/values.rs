//! Declared values, literals, and the values of tests.

use std::borrow::Cow;

use super::decoder::{Decoder, MapFields, word};
use super::rows::{Node, WholeNode};
use crate::ir::document::*;
use crate::ir::shape::{self, KeySpec, literal_map, tensor};
use pte_model::data::number::nan_of;
use pte_model::diagnostics::Code;
use pte_model::format::words::MEMORY_FORMATS;
use pte_model::program::attributes::{AttributeKind, TENSOR_ATTRIBUTES};
use pte_yaml::tree::{MapKey, NodeValue, SourceNode};

impl Decoder {
    pub(super) fn declarations<'a>(&mut self, node: SourceNode<'a>, _: &KeySpec) -> Option<Vec<Declaration<'a>>> {
        // The resolver reports duplicate names when it builds its index of names.
        let entries = match node.value {
            NodeValue::Map(entries) => entries,
            _ => self.entries(node, "a map of names to values"),
        };
        Some(entries.into_iter().filter_map(|(key, node)| self.declaration(word(key), node)).collect())
    }

    pub(super) fn declaration<'a>(&mut self, name: Word<'a>, node: SourceNode<'a>) -> Option<Declaration<'a>> {
        let NodeValue::Map(entries) = &node.value else {
            let value = Declared::Other(self.literal(node)?);
            return Some(Declaration { name, index: None, value });
        };
        let is_kind = |key: &MapKey<'_>| shape::LITERAL_MAP.one_of.contains(&&*key.text);
        let is_tensor = |key: &MapKey<'_>| shape::TENSOR.key(&key.text).is_some();
        let kinds: Vec<&MapKey<'_>> = entries.iter().map(|(key, _)| key).filter(|key| is_kind(key)).collect();
        let is_only_tensor = |key: &MapKey<'_>| is_tensor(key) && shape::LITERAL_MAP.key(&key.text).is_none();
        if let [key] = kinds[..]
            && key.text == literal_map::dtype
            && entries.iter().any(|(key, _)| is_only_tensor(key))
        {
            let unknown = Code::UnknownKey.error(key.id, "unknown key `dtype` in a tensor");
            let help = "did you mean `tensor`? A `dtype` is a number of its own: the argument of an operator";
            self.diagnostics.push(unknown.label("expected `tensor`, with the element type").help(help));
            return None;
        }
        let is_literal = !kinds.is_empty();
        // A map without a kind is a tensor that an instruction writes.
        if !is_literal && (entries.is_empty() || entries.iter().any(|(key, _)| is_tensor(key))) {
            return self.tensor(name, node);
        }
        // A typo of `tensor` is more likely than one of the other kinds.
        if let Some((key, _)) =
            entries.iter().find(|(key, _)| pte_model::diagnostics::nearest(&key.text, ["tensor"]).is_some())
        {
            let unknown = Code::UnknownKey.error(key.id, format!("unknown key `{}` in a value", key.text));
            let unknown = unknown.label("expected `tensor`, or another kind of value");
            self.diagnostics.push(unknown.did_you_mean("tensor"));
            return None;
        }
        let mut fields = self.fields(node, &shape::LITERAL_MAP)?;
        let index = fields.int(self, literal_map::index, "the index of a value");
        let value = Declared::Other(self.literal_map(fields)?);
        Some(Declaration { name, index, value })
    }

    pub(super) fn tensor<'a>(&mut self, name: Word<'a>, node: SourceNode<'a>) -> Option<Declaration<'a>> {
        let mut fields = self.fields(node, &shape::TENSOR)?;
        let index = fields.int(self, tensor::index, "the index of a value");
        let others = fields.which(&[tensor::data, tensor::mutable, tensor::memory, tensor::external]);
        let mut attributes = Vec::new();
        for (index, attribute) in TENSOR_ATTRIBUTES.iter().enumerate() {
            let Some(node) = fields.take(attribute.key) else { continue };
            let value = match attribute.kind {
                AttributeKind::Bool => self.bool(node).map(i32::from),
                AttributeKind::Int => self.int(&node, "a number of elements"),
                AttributeKind::Byte(words) => self.word_or_number(&node, words).map(i32::from),
            };
            attributes.extend(value.map(|value| (index, value)));
        }
        let tensor = ParsedTensor::keys(self, &mut fields, (Some(attributes),))?;
        for other in others.into_iter().filter(|_| tensor.view_of.is_some()) {
            let at = tensor.view_of.as_ref().map_or(fields.id, |view_of| view_of.id);
            let message = format!("a view has the memory and data of its base and cannot have `{other}`");
            self.error(Code::ConflictingKeys, at, message, format!("remove `{other}`, or `view_of`"));
        }
        Some(Declaration { name, index, value: Declared::Tensor(Box::new(tensor)) })
    }

    pub(super) fn memory_placement(&mut self, node: SourceNode<'_>) -> Option<MemoryPlacement> {
        if matches!(node.value, NodeValue::Text(_)) {
            return self
                .one_of(&node, shape::MEMORY_PLACEMENT_WORDS)
                .map(|position| if position == 0 { MemoryPlacement::Auto } else { MemoryPlacement::None });
        }
        ParsedPlacement::whole(self, node).map(MemoryPlacement::In)
    }

    /// `external: true` or a tag; `false` is equal to an absent key.
    pub(super) fn external<'a>(&mut self, node: SourceNode<'a>, _: &KeySpec) -> Option<At<Option<Cow<'a, str>>>> {
        let node = self.quoted(node);
        match node.value {
            NodeValue::Bool(false) => None,
            NodeValue::Bool(true) => Some(At { id: node.id, value: None }),
            NodeValue::Text(tag)
                if !tag.is_empty() && !tag.contains(['/', '\\', '\0']) && tag != "." && tag != ".." =>
            {
                Some(At { id: node.id, value: Some(tag) })
            }
            NodeValue::Text(_) => {
                let message = "a tag is the file name of a .ptd, without a folder";
                self.fail(Code::InvalidString, node.id, message, "expected a name such as `lora`")
            }
            _ => self.wrong(&node, "true, or a tag"),
        }
    }

    /// The tag of `external:`; `None` for the default one.
    pub(super) fn tag<'a>(&mut self, node: SourceNode<'a>, key: &KeySpec) -> Option<Cow<'a, str>> {
        self.external(node, key)?.value
    }

    pub(super) fn literals<'a>(&mut self, node: SourceNode<'a>) -> Vec<At<Literal<'a>>> {
        let is_map = matches!(node.value, NodeValue::Map(_));
        let items = self.items(node, "a list", Decoder::literal);
        if let Some(wrong) = self.diagnostics.last_mut().filter(|_| is_map) {
            wrong.help = Some("values are in their order here, without names: `[x, y]`".to_owned());
        }
        items
    }

    pub(super) fn literal<'a>(&mut self, node: SourceNode<'a>) -> Option<At<Literal<'a>>> {
        let id = node.id;
        let value = match node.value {
            NodeValue::Null => Literal::Null,
            NodeValue::Bool(b) => Literal::Bool(b),
            NodeValue::Int(n) => Literal::Int(n),
            NodeValue::UInt(n) => {
                let message = format!("{n} is out of range for an Int");
                return self.fail(Code::OutOfRange, id, message, "expected a signed 64-bit integer");
            }
            NodeValue::Float(x) => Literal::Double(x),
            NodeValue::Text(text) => match nan_of(&text) {
                Some(nan) => Literal::Double(nan),
                None => Literal::Word(text),
            },
            NodeValue::List(items) => Literal::List(items.into_iter().filter_map(|item| self.literal(item)).collect()),
            NodeValue::Map(entries) => {
                let mut fields = self.fields(SourceNode { id, value: NodeValue::Map(entries) }, &shape::LITERAL_MAP)?;
                let index = fields.at(literal_map::index);
                if index.is_some() && fields.entries.len() == 1 {
                    let index = fields.int(self, literal_map::index, "the index of a value")?;
                    return Some(At { id, value: Literal::Index(index.value) });
                }
                let message = || "a literal cannot have an `index` here".to_owned();
                self.refuse(index, message, "only values under `values` may have an `index`");
                return self.literal_map(fields);
            }
        };
        Some(At { id, value })
    }

    pub(super) fn literal_map<'a>(&mut self, mut fields: MapFields<'a>) -> Option<At<Literal<'a>>> {
        let id = fields.id;
        let all = || format!("one of {}, {}", tensor::scalar_type, fields.shape.one_of.join(", "));
        let kind = self.alternative(&fields, "a value has exactly one kind", all)?;
        let node = fields.take(kind)?;
        let value = match kind {
            literal_map::int => Literal::Int(self.int(&node, "an integer")?),
            literal_map::double if matches!(node.value, NodeValue::Bool(_)) => return self.wrong(&node, "a number"),
            literal_map::double => Literal::Double(self.float(&node)?),
            literal_map::bool => Literal::Bool(self.bool(node)?),
            literal_map::string => Literal::String(self.text(node, "a string")?.value),
            literal_map::null => {
                if node.value != NodeValue::Null {
                    self.expected(&node, "null");
                }
                Literal::Null
            }
            literal_map::dtype => Literal::Dtype(self.dtype(&node)?),
            literal_map::memory_format => Literal::MemoryFormat(self.one_of(&node, MEMORY_FORMATS)? as i64),
            literal_map::int_list => Literal::Typed(ListKind::Int, self.literals(node)),
            literal_map::double_list => Literal::Typed(ListKind::Double, self.literals(node)),
            literal_map::bool_list => Literal::Typed(ListKind::Bool, self.literals(node)),
            literal_map::tensor_list => Literal::Typed(ListKind::Tensor, self.literals(node)),
            literal_map::optional_tensor_list => Literal::Typed(ListKind::OptionalTensor, self.literals(node)),
            literal_map::unknown => Literal::Unknown(self.union_member(&node)?),
            other => unreachable!("`{other}` is not an alternative of the grammar"),
        };
        Some(At { id, value })
    }

    pub(super) fn test_value<'a>(&mut self, node: SourceNode<'a>) -> Option<TestValue<'a>> {
        Some(match &node.value {
            NodeValue::Null => TestValue::Null,
            NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::UInt(_) | NodeValue::Float(_) => {
                TestValue::Number(self.number(&node)?)
            }
            NodeValue::Text(text) => TestValue::Text(text.clone()),
            NodeValue::Map(entries) if entries.iter().any(|(key, _)| key.text == "data") => {
                TestValue::Tensor(TestTensor::whole(self, node)?)
            }
            _ => TestValue::Tensor(TestTensor { sizes: None, data: self.data(node)? }),
        })
    }
}
