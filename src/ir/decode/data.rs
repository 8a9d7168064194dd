//! Sources of bytes.

use super::decoder::{Decoder, MapFields};
use super::rows::{Node, WholeNode};
use std::collections::HashMap;

use crate::ir::NodeDiagnostic;
use crate::ir::document::{Data, DataSource, ParsedFlatBuffer, ParsedIota, RandomKind, Word};
use crate::ir::shape::{self, data_map, flatbuffer, random};
use pte_model::data::number::{NumericValue, number_word};
use pte_model::diagnostics::Code;
use pte_payload::flat::FlatWriter;
use pte_yaml::tree::{NodeId, NodeValue, SourceNode};

impl Decoder {
    pub(super) fn data<'a>(&mut self, node: SourceNode<'a>) -> Option<Data<'a>> {
        let id = node.id;
        let source = match node.value {
            // The only number of a rank-0 tensor.
            NodeValue::Text(ref word) if number_word(word).is_some() => DataSource::Numbers(vec![node]),
            NodeValue::Int(_) | NodeValue::UInt(_) | NodeValue::Float(_) | NodeValue::Bool(_) => {
                DataSource::Numbers(vec![node])
            }
            NodeValue::Text(name) => DataSource::Name(name),
            NodeValue::List(items) => DataSource::Numbers(items),
            NodeValue::Map(_) => return self.data_map(node),
            NodeValue::Null => return self.wrong(&node, "data: numbers, or a map such as {hex: ...}"),
        };
        Some(Data::new(id, source))
    }

    pub(super) fn data_map<'a>(&mut self, node: SourceNode<'a>) -> Option<Data<'a>> {
        let id = node.id;
        let mut fields = self.fields(node, &shape::DATA)?;
        let data = Data::keys(self, &mut fields, (Some(id), Some(DataSource::Bytes([].into()))))?;
        let all = || format!("one of {}", fields.shape.one_of.join(", "));
        let kind = self.alternative(&fields, "data have exactly one source", all)?;
        let value = fields.take(kind)?;
        let source = self.source(kind, value, &mut fields);
        let owned = [
            ("safetensors", data_map::tensor),
            ("ptd or pte", data_map::key),
            ("file", data_map::offset),
            ("file or fill", data_map::size),
        ];
        for (owner, name) in owned {
            self.refuse(fields.at(name), || format!("`{name}` belongs to {owner}, not to {kind}"), "remove it");
        }
        Some(Data { source: source?, ..data })
    }

    pub(super) fn source<'a>(
        &mut self,
        kind: &str,
        value: SourceNode<'a>,
        fields: &mut MapFields<'a>,
    ) -> Option<DataSource<'a>> {
        Some(match kind {
            data_map::hex => DataSource::Bytes(self.hex(value)?.into()),
            data_map::base64 => DataSource::Bytes(self.base64(value)?.into()),
            data_map::text => DataSource::Text(self.text(value, "a string")?.value),
            data_map::numbers => DataSource::Numbers(self.list(value, "a list of numbers")),
            data_map::fill => {
                let count = fields.value(self, data_map::size, Decoder::size);
                DataSource::Fill(self.number(&value)?, count)
            }
            data_map::iota => {
                let ParsedIota { start, step } = ParsedIota::whole(self, value)?;
                DataSource::Iota(start.unwrap_or(NumericValue::Int(0)), step.unwrap_or(NumericValue::Int(1)))
            }
            data_map::random => self.random(value)?,
            data_map::file => {
                let offset = fields.value(self, data_map::offset, Decoder::size);
                let size = fields.value(self, data_map::size, Decoder::size);
                DataSource::File { path: self.path(value, "the path of a file")?, offset, size }
            }
            data_map::npy => DataSource::Npy(self.path(value, "the path of a .npy file")?),
            data_map::safetensors | data_map::ptd | data_map::pte => {
                let (name, what) = match kind {
                    data_map::safetensors => (data_map::tensor, "the name of a tensor"),
                    _ => (data_map::key, "a key"),
                };
                let inner = fields.take(name).and_then(|node| self.text(node, what)).or_else(|| {
                    let message = format!("missing `{name}` of the data in the file");
                    self.fail(Code::MissingKey, value.id, message, format!("add `{name}:` with {what}"))
                });
                let (path, inner) = (self.path(value, "the path of a file")?, inner?);
                match kind {
                    data_map::safetensors => DataSource::Safetensors(path, inner),
                    data_map::ptd => DataSource::Ptd(path, inner),
                    _ => DataSource::Pte(path, inner),
                }
            }
            data_map::flatbuffer => DataSource::FlatBuffer(Box::new(self.flatbuffer(value)?)),
            other => unreachable!("`{other}` is not an alternative of the grammar"),
        })
    }

    fn flatbuffer<'a>(&mut self, node: SourceNode<'a>) -> Option<ParsedFlatBuffer<'a>> {
        let mut fields = self.fields(node, &shape::FLATBUFFER)?;
        let schema = fields.take(flatbuffer::schema).and_then(|node| self.path(node, "the name of a schema"));
        let constants = fields.take(flatbuffer::constants).and_then(|node| self.data(node));
        let header = fields.take(flatbuffer::header).and_then(|node| self.bool(node)).unwrap_or(true);
        let writer = fields.value(self, flatbuffer::writer, Decoder::position);
        let writer = writer.map(|position| FlatWriter::ALL[position]);
        let root = fields.take(flatbuffer::root)?;
        let mut data = HashMap::new();
        self.possible_data(&root, &mut data);
        Some(ParsedFlatBuffer { schema: schema?, root, data, constants, header, writer })
    }

    /// Decodes the maps of a tree that have a key of data. Their errors count only where the schema has a vector.
    fn possible_data<'a>(
        &mut self,
        node: &SourceNode<'a>,
        found: &mut HashMap<NodeId, (Option<Data<'a>>, Vec<NodeDiagnostic>)>,
    ) {
        if node.children().any(|(key, _)| key.is_some_and(|key| shape::DATA.one_of.contains(&&*key.text))) {
            let mark = self.diagnostics.mark();
            let data = self.data_map(node.clone());
            found.insert(node.id, (data, self.diagnostics.split_off(mark)));
        }
        node.children().for_each(|(_, child)| self.possible_data(child, found));
    }

    pub(super) fn random<'a>(&mut self, node: SourceNode<'a>) -> Option<DataSource<'a>> {
        let mut fields = self.fields(node, &shape::RANDOM)?;
        let seed = fields.int(self, random::seed, "a seed").map(|seed| seed.value);
        let normal = fields.value(self, random::distribution, Decoder::position) == Some(1);
        let (wrong, owner) = match normal {
            true => ([random::low, random::high], "uniform"),
            false => ([random::mean, random::std], "normal"),
        };
        for name in wrong {
            self.refuse(fields.at(name), || format!("`{name}` belongs to the distribution {owner}"), "remove it");
        }
        let mut number = |name| fields.take(name).and_then(|node| self.number(&node));
        let kind = if normal {
            let mut float = |name, default| number(name).map_or(default, NumericValue::to_f64);
            RandomKind::Normal(float(random::mean, 0.0), float(random::std, 1.0))
        } else {
            RandomKind::Uniform(number(random::low), number(random::high))
        };
        Some(DataSource::Random(seed?, kind))
    }

    pub(super) fn hex(&mut self, node: SourceNode<'_>) -> Option<Vec<u8>> {
        // The YAML parser reads digits alone as a number, whose spelling is lost.
        if matches!(node.value, NodeValue::Int(_) | NodeValue::UInt(_) | NodeValue::Float(_)) {
            let message = "hexadecimal digits parsed as a number";
            return self.fail(Code::WrongKind, node.id, message, "put them in quotes");
        }
        let word = self.text(node, "hexadecimal digits")?;
        let prefixed = word.value.contains("0x");
        let expected = if prefixed { "write the digits without 0x" } else { "expected 0 to 9 and a to f" };
        let digits = self.digits(&word, "hexadecimal", |c| c.is_ascii_hexdigit(), '_', expected)?;
        let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(digits.as_bytes()).ok();
        bytes.or_else(|| self.part_of_byte(&word, &digits, "hexadecimal", "expected two digits for each byte"))
    }

    pub(super) fn base64(&mut self, node: SourceNode<'_>) -> Option<Vec<u8>> {
        let word = self.text(node, "base64")?;
        let is_digit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
        let digits = self.digits(&word, "base64", is_digit, ' ', "expected A to Z, a to z, 0 to 9, + and /")?;
        let expected = "expected groups of four, the last one padded with =";
        let bytes = data_encoding::BASE64.decode(digits.as_bytes()).ok();
        bytes.or_else(|| self.part_of_byte(&word, &digits, "base64", expected))
    }

    /// The digits of a word, without white space and separators.
    pub(super) fn digits(
        &mut self,
        word: &Word<'_>,
        kind: &str,
        is_digit: fn(char) -> bool,
        separator: char,
        expected: &str,
    ) -> Option<String> {
        let mut rest = word.value.chars().filter(|c| !c.is_ascii_whitespace() && *c != separator);
        if let Some(wrong) = rest.clone().find(|c| !is_digit(*c)) {
            return self.fail(Code::InvalidString, word.id, format!("`{wrong}` is not a {kind} digit"), expected);
        }
        Some(rest.by_ref().collect())
    }

    pub(super) fn part_of_byte<T>(&mut self, word: &Word<'_>, digits: &str, kind: &str, expected: &str) -> Option<T> {
        let message = format!("{} {kind} digits are not a whole number of bytes", digits.len());
        self.fail(Code::InvalidString, word.id, message, expected)
    }
}
