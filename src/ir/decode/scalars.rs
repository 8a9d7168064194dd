//! Words, numbers, sizes in bytes, element types and devices.

use std::borrow::Cow;

use super::decoder::{Decoder, Ranged};
use crate::ir::data::{VARIABLE_SIZE, number_of};
use crate::ir::document::{At, NameOrNumber, Word};
use crate::ir::shape::KeySpec;
use crate::ir::synonyms;
use pte_model::data::number::NumericValue;
use pte_model::diagnostics::Code;
use pte_model::format::ScalarType;
use pte_model::format::path::FieldPath;
use pte_model::program::{Device, DeviceType};
use pte_releases::Release;
use pte_yaml::bytes::parse_bytes;
use pte_yaml::tree::{NodeId, NodeValue, SourceNode};

impl Decoder {
    /// The string of a number that is in quotes; other nodes are unchanged.
    pub(super) fn quoted<'a>(&mut self, node: SourceNode<'a>) -> SourceNode<'a> {
        match self.strings.remove(&node.id) {
            Some(string) => SourceNode { value: NodeValue::Text(Cow::Owned(string)), ..node },
            None => node,
        }
    }

    pub(super) fn text<'a>(&mut self, node: SourceNode<'a>, what: &str) -> Option<Word<'a>> {
        let node = self.quoted(node);
        match node.value {
            NodeValue::Text(value) => Some(At { id: node.id, value }),
            _ => self.wrong(&node, what),
        }
    }

    /// The path of a file, or the name under `files` that stands for it.
    pub(super) fn path<'a>(&mut self, node: SourceNode<'a>, what: &str) -> Option<Word<'a>> {
        let word = self.text(node, what)?;
        Some(match self.files.get(&*word.value) {
            Some(path) => At { id: word.id, value: Cow::Owned(path.clone()) },
            None => word,
        })
    }

    /// A file name without a folder.
    pub(super) fn name<'a>(&mut self, node: SourceNode<'a>, _: &KeySpec) -> Option<Word<'a>> {
        let node = self.quoted(node);
        match node.value {
            NodeValue::Text(name)
                if !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', '\0']) =>
            {
                Some(At { id: node.id, value: name })
            }
            _ => self.wrong(&node, "a file name without a folder"),
        }
    }

    pub(super) fn bool(&mut self, node: SourceNode<'_>) -> Option<bool> {
        match node.value {
            NodeValue::Bool(b) => Some(b),
            _ => self.wrong(&node, "true or false"),
        }
    }

    /// An integer of a type.
    pub(super) fn int<T: Ranged>(&mut self, node: &SourceNode<'_>, what: &str) -> Option<T> {
        let n = match node.value {
            NodeValue::Int(n) => i128::from(n),
            NodeValue::UInt(n) => i128::from(n),
            _ => return self.wrong_number(node, what),
        };
        T::try_from(n).ok().or_else(|| {
            let (low, high) = T::RANGE;
            let message = format!("{n} is out of range for {what}");
            self.fail(Code::OutOfRange, node.id, message, format!("expected {low} to {high}"))
        })
    }

    pub(super) fn ints<T: Ranged>(&mut self, node: SourceNode<'_>, what: &str) -> Vec<T> {
        let items = match node.value {
            NodeValue::List(items) => items,
            _ => {
                let help = match node.value {
                    NodeValue::Int(n) => Some(format!("write `[{n}]`")),
                    NodeValue::Text(_) => Some("a list is written in brackets, such as `[1, 4]`".to_owned()),
                    _ => None,
                };
                let items = self.list(node, &format!("a list, each {what}"));
                if let (Some(help), Some(wrong)) = (help, self.diagnostics.last_mut()) {
                    wrong.help = Some(help);
                }
                items
            }
        };
        items.iter().filter_map(|item| self.int(item, what)).collect()
    }

    pub(super) fn number(&mut self, node: &SourceNode<'_>) -> Option<NumericValue> {
        number_of(&node.value).or_else(|| self.wrong_number(node, "a number"))
    }

    pub(super) fn wrong_number<T>(&mut self, node: &SourceNode<'_>, what: &str) -> Option<T> {
        let quoted = matches!(&node.value, NodeValue::Text(text) if text.parse::<f64>().is_ok());
        let whole = match &node.value {
            NodeValue::Float(number) if number.fract() == 0.0 && number.abs() < 9e15 => {
                Some(format!("write `{number:.0}`"))
            }
            NodeValue::Text(_) if what == "a size" => Some(VARIABLE_SIZE.to_owned()),
            _ => None,
        };
        let wrong = self.expected(node, what);
        wrong.help = quoted.then(|| "remove the quotes: a quoted value is a string".to_owned()).or(whole);
        None
    }

    pub(super) fn float(&mut self, node: &SourceNode<'_>) -> Option<f64> {
        self.number(node).map(NumericValue::to_f64)
    }

    /// A number as float32.
    pub(super) fn single(&mut self, node: &SourceNode<'_>) -> Option<f32> {
        let number = self.float(node)?;
        if number.is_finite() && !(number as f32).is_finite() {
            let message = format!("{number:e} is out of range for float32");
            return self.fail(Code::OutOfRange, node.id, message, "expected a smaller number");
        }
        Some(number as f32)
    }

    /// The position of a word in a list of words.
    pub(super) fn one_of(&mut self, node: &SourceNode<'_>, words: &[&str]) -> Option<usize> {
        let found = match &node.value {
            NodeValue::Text(text) => words.iter().position(|word| word == text),
            _ => None,
        };
        if found.is_none() {
            let what = format!("one of {}", words.join(", "));
            let code = if let NodeValue::Text(_) = &node.value { Code::UnknownWord } else { Code::WrongKind };
            let message = format!("expected {what}, found {}", node.value.describe());
            let wrong = code.error(node.id, message).label(what);
            self.diagnostics.push(match &node.value {
                NodeValue::Text(text) => synonyms::suggest(wrong, text, words.iter().copied()),
                _ => wrong,
            });
        }
        found
    }

    /// The position of a value among the words that the grammar allows for its key.
    pub(super) fn position(&mut self, node: SourceNode<'_>, key: &KeySpec) -> Option<usize> {
        self.one_of(&node, key.form.words())
    }

    /// The number of an element type of a graph.
    pub(super) fn datatype(&mut self, node: SourceNode<'_>, key: &KeySpec) -> Option<i16> {
        self.position(node, key).map(|position| position as i16)
    }

    pub(super) fn word_or_number(&mut self, node: &SourceNode<'_>, words: &[&str]) -> Option<i8> {
        match node.value {
            NodeValue::Int(_) => self.int(node, "a number of one byte"),
            _ => self.one_of(node, words).map(|position| position as i8),
        }
    }

    /// A byte count: an integer, or one with K, M, G or T.
    pub(super) fn size(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<u64> {
        self.bytes(&node)
    }

    pub(super) fn sizes(&mut self, node: SourceNode<'_>, key: &KeySpec) -> Option<Vec<u64>> {
        Some(self.items(node, key.what, |decoder, item| decoder.size(item, key)))
    }

    pub(super) fn bytes(&mut self, node: &SourceNode<'_>) -> Option<u64> {
        const WHAT: &str = "a number of bytes, such as 4096 or 4K";
        match &node.value {
            NodeValue::Text(text) => {
                let size = parse_bytes(text).filter(|_| text.ends_with(['K', 'M', 'G', 'T']));
                size.or_else(|| self.wrong(node, WHAT))
            }
            _ => self.int(node, WHAT),
        }
    }

    /// An alignment of segments, which may be any number of bytes (W-6).
    pub(super) fn multiple(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<u64> {
        self.alignment(&node, |bytes| bytes > 0, "1 to 1G")
    }

    /// An alignment up to 1G.
    pub(super) fn alignment(&mut self, node: &SourceNode<'_>, is_valid: fn(u64) -> bool, what: &str) -> Option<u64> {
        if matches!(&node.value, NodeValue::Text(text) if text == "page") {
            return Some(4096);
        }
        let bytes = self.bytes(node)?;
        Some(bytes).filter(|bytes| is_valid(*bytes) && *bytes <= 1 << 30).or_else(|| {
            let label = format!("expected {what}, such as 128, 4K or page");
            self.fail(Code::OutOfRange, node.id, format!("invalid alignment {bytes}"), label)
        })
    }

    /// The alignment of planned memory.
    pub(super) fn memory_alignment(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<u64> {
        let alignment = self.alignment(&node, u64::is_power_of_two, "a power of two up to 1G")?;
        Some(alignment).filter(|alignment| *alignment >= 16).or_else(|| {
            let message = format!("{alignment} is too small for planned memory");
            self.fail(Code::OutOfRange, node.id, message, "expected 16 or more")
        })
    }

    pub(super) fn dtype(&mut self, node: &SourceNode<'_>) -> Option<ScalarType> {
        match &node.value {
            NodeValue::Text(text) => {
                let found = ScalarType::parse(text);
                if found.is_none() {
                    let unknown = Code::UnknownWord.error(node.id, format!("unknown element type `{text}`"));
                    let unknown = unknown.label("expected a torch dtype, such as float32");
                    let names: Vec<&str> = ScalarType::names().collect();
                    self.diagnostics.push(synonyms::suggest(unknown, text, names.into_iter()));
                }
                found
            }
            _ => self.int(node, "an element type, such as float32").map(ScalarType),
        }
    }

    pub(super) fn device(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<Device> {
        let word = self.text(node, "a device, such as cpu or cuda:1")?;
        let (kind, index) = word.value.split_once(':').unwrap_or((&word.value, "0"));
        let kind_number = DeviceType::SCHEMA.number_of(kind).or_else(|| kind.parse().ok());
        match (kind_number, index.parse()) {
            (Some(kind), Ok(index)) => Some(Device { device_type: DeviceType(kind), index }),
            _ => {
                let message = format!("unknown device `{}`", word.value);
                self.fail(Code::UnknownWord, word.id, message, "expected cpu, cuda, or cuda with an index: cuda:1")
            }
        }
    }

    pub(super) fn tolerance(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<f64> {
        let number = self.float(&node)?;
        if number < 0.0 || number.is_nan() {
            self.error(Code::OutOfRange, node.id, format!("invalid tolerance {number}"), "expected 0 or more");
        }
        Some(number)
    }

    pub(super) fn patterns<'a>(&mut self, node: SourceNode<'a>, _: &KeySpec) -> Option<Vec<Word<'a>>> {
        Some(match node.value {
            NodeValue::List(items) => items.into_iter().filter_map(|node| self.text(node, "a pattern")).collect(),
            _ => self.text(node, "a pattern, or a list of them").into_iter().collect(),
        })
    }

    pub(super) fn release(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<At<Release>> {
        let word = self.text(node, "a release in quotes, such as \"0.7\"")?;
        match Release::find(&word.value) {
            Ok(value) => Some(At { id: word.id, value }),
            Err(error) => self.fail(Code::UnknownWord, word.id, error.to_string(), "unknown release"),
        }
    }

    /// Decodes the number of a member of a union.
    pub(super) fn union_member(&mut self, node: &SourceNode<'_>) -> Option<u8> {
        match self.int(node, "the number of a member, from 1")? {
            0 => self.fail(Code::OutOfRange, node.id, "0 is no member of a union", "expected 1 or more"),
            tag => Some(tag),
        }
    }

    pub(super) fn name_or_number<'a>(&mut self, node: SourceNode<'a>, what: &str) -> Option<At<NameOrNumber<'a>>> {
        let id = node.id;
        let value = match node.value {
            NodeValue::Text(text) => NameOrNumber::Name(text),
            _ => NameOrNumber::Number(self.int(&node, what)?),
        };
        Some(At { id, value })
    }

    pub(super) fn field_path(&mut self, at: NodeId, text: &str, label: &str) -> Option<FieldPath> {
        FieldPath::parse(text).map_err(|message| self.error(Code::InvalidString, at, message, label)).ok()
    }

    pub(super) fn unplanned(&mut self, node: SourceNode<'_>, key: &KeySpec) -> Option<bool> {
        self.position(node, key).map(|position| position == 1)
    }

    pub(super) fn string_or_null(&mut self, node: SourceNode<'_>, key: &KeySpec) -> Option<String> {
        if node.value == NodeValue::Null {
            return None;
        }
        self.text(node, key.what).map(|word| word.value.into_owned())
    }
}
