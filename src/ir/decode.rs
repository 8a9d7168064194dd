//! SourceNode -> ParsedDocument: keys and kinds of nodes are checked, and all errors are reported.
//!
//! Names are not looked up here, and no file is opened; see [`super::resolve`].

use std::borrow::Cow;
use std::collections::HashMap;

use super::data::number_of;
use super::document::*;
use super::grammar::grammar;
use super::shape::{
    self, Form, KeySpec, Shape, buffer_device, chain, checkpoint, compile_spec, container_meta, data_map, delegate,
    document, extra_field, field_override, frame, graph, graph_node, graph_scales, graph_value, instruction, iota,
    literal_map, memory, memory_placement, method, named_data, patch, random, raw, tensor, test, test_tensor, unknown,
    unknown_object, unknown_operation, unknown_table,
};
use super::synonyms;
use crate::ir::NodeDiagnostic;
use crate::layout::options::{OPTIONS, OptionKind, OptionSpec, OptionValue};
use crate::overrides::OverrideValue;
use pte_model::data::number::{NumericValue, nan_of, number_word};
use pte_model::data::random::Distribution;
use pte_model::diagnostics::{Code, clipped};
use pte_model::format::path::FieldPath;
use pte_model::format::table::implement;
use pte_model::format::words::MEMORY_FORMATS;
use pte_model::format::{DimOrder, Kind, ScalarType};
use pte_model::program::attributes::{AttributeKind, TENSOR_ATTRIBUTES};
use pte_model::program::instruction::{FieldRole, INSTRUCTION_ROWS, InstructionRow};
use pte_model::program::{ContainerMetadata, Device, DeviceType, MemoryPlanner, StackFrame};
use pte_releases::Release;
use pte_xnnpack::draft::is_operand;
use pte_xnnpack::model::NodeOperation;
use pte_xnnpack::schema::{Operation, field_key};
use pte_yaml::bytes::parse_bytes;
use pte_yaml::tree::{MapKey, NodeId, NodeValue, SourceNode};

/// Builds a document from a tree, as far as possible, and returns the errors of the rest. `strings` has the strings of
/// numbers that are in quotes ([`pte_yaml::template::unquote`]).
pub fn decode(node: SourceNode<'_>, strings: HashMap<NodeId, String>) -> (ParsedDocument<'_>, Vec<NodeDiagnostic>) {
    let mut decoder = Decoder { diagnostics: Vec::new(), strings, files: HashMap::new() };
    let document = decoder.document(node).unwrap_or_default();
    decoder.diagnostics.sort_by_key(|diagnostic| diagnostic.at);
    (document, decoder.diagnostics)
}

/// An integer type with its bounds, for messages.
trait Ranged: TryFrom<i128> {
    const RANGE: (i128, i128);
}

macro_rules! ranged {
    ($($type:ty)*) => {$(
        impl Ranged for $type {
            const RANGE: (i128, i128) = (<$type>::MIN as i128, <$type>::MAX as i128);
        }

        impl<'a> Decode<'a> for $type {
            fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<$type> {
                decoder.int(&node, key.what)
            }

            fn list(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Vec<$type> {
                decoder.ints(node, key.what)
            }
        }
    )*};
}
ranged! { i8 u8 u16 i32 u32 i64 u64 }

/// Expectation of messages about `files` and `named_data`.
const FILES: &str = "a map of names to paths";
const NAMED_DATA: &str = "a map of keys to data";

/// Help for duplicate keys in maps that the merging of dumps produces.
const MERGED: &[(&str, &str)] = &[
    (FILES, "to merge two dumps, rename the file of one, here and in each `{file: NAME}`"),
    (NAMED_DATA, "data with the same key and bytes, as two dumps may have, are stated once: remove one of the entries"),
];

struct Decoder {
    diagnostics: Vec<NodeDiagnostic>,
    /// Strings of numbers that are in quotes.
    strings: HashMap<NodeId, String>,
    /// Paths by their names under `files`.
    files: HashMap<String, String>,
}

/// The entries of a map whose keys are known.
struct MapFields<'a> {
    id: NodeId,
    shape: &'static Shape,
    entries: Vec<(MapKey<'a>, Option<(&'static KeySpec, SourceNode<'a>)>)>,
    /// One of the keys is unknown, and may be a typo of a key that seems to be missing.
    has_unknown_key: bool,
}

impl<'a> MapFields<'a> {
    /// Takes the value of a key.
    fn take(&mut self, name: &str) -> Option<SourceNode<'a>> {
        self.take_with_key(name).map(|(_, node)| node)
    }

    fn take_with_key(&mut self, name: &str) -> Option<(&'static KeySpec, SourceNode<'a>)> {
        debug_assert!(self.shape.key(name).is_some(), "{} has no key {name}", self.shape.name);
        self.entries.iter_mut().find(|(key, _)| key.text == name)?.1.take()
    }

    /// Decodes the value of a key; `None` if it is absent or invalid.
    fn value<T>(
        &mut self,
        decoder: &mut Decoder,
        name: &str,
        decode: impl FnOnce(&mut Decoder, SourceNode<'a>, &'static KeySpec) -> Option<T>,
    ) -> Option<T> {
        let (key, node) = self.take_with_key(name)?;
        decode(decoder, node, key)
    }

    /// Decodes the integer of a key.
    fn int<T: Ranged>(&mut self, decoder: &mut Decoder, name: &str, what: &str) -> Option<At<T>> {
        let node = self.take(name)?;
        Some(At { id: node.id, value: decoder.int(&node, what)? })
    }

    /// The node of the value of a key that was not taken.
    fn at(&self, name: &str) -> Option<NodeId> {
        let (_, found) = self.entries.iter().find(|(key, _)| key.text == name)?;
        found.as_ref().map(|(_, node)| node.id)
    }

    /// Those of `names` that are present.
    fn which(&self, names: &[&'static str]) -> Vec<&'static str> {
        names.iter().copied().filter(|name| self.entries.iter().any(|(key, _)| key.text == *name)).collect()
    }
}

impl Decoder {
    fn error(&mut self, code: Code, at: NodeId, message: impl Into<String>, label: impl Into<String>) {
        self.diagnostics.push(code.error(at, message).label(label));
    }

    /// Reports an error of a value, which is not decoded.
    fn fail<T>(&mut self, code: Code, at: NodeId, message: impl Into<String>, label: impl Into<String>) -> Option<T> {
        self.error(code, at, message, label);
        None
    }

    /// Reports keys that do not belong together, where the map has the key of one of them.
    fn refuse(&mut self, at: Option<NodeId>, message: impl FnOnce() -> String, label: &str) {
        if let Some(at) = at {
            self.error(Code::ConflictingKeys, at, message(), label);
        }
    }

    /// Reports a key that occurs twice.
    fn duplicate(&mut self, key: &MapKey<'_>, first: NodeId, help: Option<&str>) {
        let mut duplicate = Code::DuplicateKey.error(key.id, format!("duplicate key `{}`", key.text));
        duplicate.help = help.map(str::to_owned);
        self.diagnostics.push(duplicate.label("duplicate").related(first, "first defined here"));
    }

    /// Reports a value of another kind, which is not decoded.
    fn wrong<T>(&mut self, node: &SourceNode<'_>, what: &str) -> Option<T> {
        self.expected(node, what);
        None
    }

    /// Reports a value of another kind. Returns the message, to which the caller may add help.
    fn expected(&mut self, node: &SourceNode<'_>, what: &str) -> &mut NodeDiagnostic {
        let wrong = Code::WrongKind.error(node.id, format!("expected {what}, found {}", node.value.describe()));
        self.diagnostics.push_mut(wrong.label(format!("expected {what}")))
    }

    fn wrong_number<T>(&mut self, node: &SourceNode<'_>, what: &str) -> Option<T> {
        let quoted = matches!(&node.value, NodeValue::Text(text) if text.parse::<f64>().is_ok());
        let wrong = self.expected(node, what);
        wrong.help = quoted.then(|| "remove the quotes: a quoted value is a string".to_owned());
        None
    }

    /// The entries of a map; reports duplicate keys.
    fn entries<'a>(&mut self, node: SourceNode<'a>, what: &str) -> Vec<(MapKey<'a>, SourceNode<'a>)> {
        let NodeValue::Map(entries) = node.value else {
            self.expected(&node, what);
            return Vec::new();
        };
        let mut first: HashMap<&str, NodeId> = HashMap::with_capacity(entries.len());
        for (key, _) in &entries {
            if let Some(first) = first.insert(&key.text, key.id) {
                self.duplicate(key, first, MERGED.iter().find(|(of, _)| *of == what).map(|(_, help)| *help));
            }
        }
        entries
    }

    /// The entries of a map with arbitrary keys.
    fn named<'a, T: Named<'a>>(&mut self, node: SourceNode<'a>, what: &str) -> Vec<T> {
        let entries = self.entries(node, what);
        entries.into_iter().filter_map(|(key, node)| T::named(self, word(key), node)).collect()
    }

    fn map<'a, T: Named<'a>>(&mut self, node: SourceNode<'a>, key: &KeySpec) -> Option<Vec<T>> {
        Some(self.named(node, key.what))
    }

    /// The entries of a map of a shape.
    fn fields<'a>(&mut self, node: SourceNode<'a>, shape: &'static Shape) -> Option<MapFields<'a>> {
        let id = node.id;
        let NodeValue::Map(entries) = node.value else {
            let known: Vec<&str> = shape.keys.iter().map(|key| key.name).take(4).collect();
            let more = if shape.keys.len() > 4 { ", ..." } else { "" };
            self.expected(&node, &format!("a map ({}{more})", known.join(", ")));
            return None;
        };
        let spec = |(key, node): (MapKey<'a>, _)| {
            let spec = shape.key(&key.text).map(|spec| (spec, node));
            (key, spec)
        };
        let entries: Vec<_> = entries.into_iter().map(spec).collect();
        let mut has_unknown_key = false;
        for (position, (key, spec)) in entries.iter().enumerate() {
            if spec.is_none() {
                has_unknown_key = true;
                let known = shape.keys.iter().map(|key| key.name);
                let list = known.clone().collect::<Vec<_>>().join(", ");
                let unknown = Code::UnknownKey
                    .error(key.id, format!("unknown key `{}` in {}", clipped(&key.text), called(shape)));
                let mut unknown = unknown.label(format!("expected one of {list}"));
                unknown.help = synonyms::meant(&key.text, known).map(|known| format!("did you mean `{known}`?"));
                self.diagnostics.push(unknown);
            } else if let Some((first, _)) = entries[..position].iter().find(|(other, _)| other.text == key.text) {
                self.duplicate(key, first.id, None);
            }
        }
        for required in shape.required.iter().filter(|_| !has_unknown_key) {
            if !entries.iter().any(|(key, _)| key.text == *required) {
                let missing = format!("{} needs the key `{required}`", called(shape));
                self.error(Code::MissingKey, id, missing, format!("`{required}` is missing"));
            }
        }
        Some(MapFields { id, shape, entries, has_unknown_key })
    }

    /// The only alternative of a map that is present; reports several and none, unless a key is unknown.
    fn alternative(
        &mut self,
        fields: &MapFields<'_>,
        rule: &str,
        expected: impl FnOnce() -> String,
    ) -> Option<&'static str> {
        let found = fields.which(fields.shape.one_of);
        if let [only] = found[..] {
            return Some(only);
        }
        if !fields.has_unknown_key {
            let (code, found) = match found.is_empty() {
                true => (Code::MissingKey, "none".to_owned()),
                false => (Code::ConflictingKeys, found.join(" and ")),
            };
            return self.fail(code, fields.id, format!("{rule}, found {found}"), format!("expected {}", expected()));
        }
        None
    }

    fn list<'a>(&mut self, node: SourceNode<'a>, what: &str) -> Vec<SourceNode<'a>> {
        match node.value {
            NodeValue::List(items) => items,
            ref other => {
                let is_null = matches!(other, NodeValue::Null);
                let wrong = self.expected(&node, what);
                wrong.help = is_null.then(|| "write `[]` for an empty list".to_owned());
                Vec::new()
            }
        }
    }

    /// The decoded items of a list.
    fn items<'a, T>(
        &mut self,
        node: SourceNode<'a>,
        what: &str,
        mut decode: impl FnMut(&mut Decoder, SourceNode<'a>) -> Option<T>,
    ) -> Vec<T> {
        self.list(node, what).into_iter().filter_map(|item| decode(self, item)).collect()
    }

    /// The string of a number that is in quotes; other nodes are unchanged.
    fn quoted<'a>(&mut self, node: SourceNode<'a>) -> SourceNode<'a> {
        match self.strings.remove(&node.id) {
            Some(string) => SourceNode { value: NodeValue::Text(Cow::Owned(string)), ..node },
            None => node,
        }
    }

    fn text<'a>(&mut self, node: SourceNode<'a>, what: &str) -> Option<Word<'a>> {
        let node = self.quoted(node);
        match node.value {
            NodeValue::Text(value) => Some(At { id: node.id, value }),
            _ => self.wrong(&node, what),
        }
    }

    /// The path of a file, or the name under `files` that stands for it.
    fn path<'a>(&mut self, node: SourceNode<'a>, what: &str) -> Option<Word<'a>> {
        let word = self.text(node, what)?;
        Some(match self.files.get(&*word.value) {
            Some(path) => At { id: word.id, value: Cow::Owned(path.clone()) },
            None => word,
        })
    }

    fn bool(&mut self, node: SourceNode<'_>) -> Option<bool> {
        match node.value {
            NodeValue::Bool(b) => Some(b),
            _ => self.wrong(&node, "true or false"),
        }
    }

    /// An integer of a type.
    fn int<T: Ranged>(&mut self, node: &SourceNode<'_>, what: &str) -> Option<T> {
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

    fn ints<T: Ranged>(&mut self, node: SourceNode<'_>, what: &str) -> Vec<T> {
        let items = match node.value {
            NodeValue::List(items) => items,
            _ => self.list(node, &format!("a list, each {what}")),
        };
        items.iter().filter_map(|item| self.int(item, what)).collect()
    }

    fn number(&mut self, node: &SourceNode<'_>) -> Option<NumericValue> {
        number_of(&node.value).or_else(|| self.wrong_number(node, "a number"))
    }

    fn float(&mut self, node: &SourceNode<'_>) -> Option<f64> {
        self.number(node).map(NumericValue::to_f64)
    }

    /// The position of a word in a list of words.
    fn one_of(&mut self, node: &SourceNode<'_>, words: &[&str]) -> Option<usize> {
        let found = match &node.value {
            NodeValue::Text(text) => words.iter().position(|word| word == text),
            _ => None,
        };
        if found.is_none() {
            let what = format!("one of {}", words.join(", "));
            let code = if let NodeValue::Text(_) = &node.value { Code::UnknownWord } else { Code::WrongKind };
            let message = format!("expected {what}, found {}", node.value.describe());
            let mut wrong = code.error(node.id, message).label(what);
            if let NodeValue::Text(text) = &node.value {
                wrong.help =
                    synonyms::meant(text, words.iter().copied()).map(|known| format!("did you mean `{known}`?"));
            }
            self.diagnostics.push(wrong);
        }
        found
    }

    /// The position of a value among the words that the grammar allows for its key.
    fn position(&mut self, node: SourceNode<'_>, key: &KeySpec) -> Option<usize> {
        self.one_of(&node, key.form.words())
    }

    /// The number of an element type of a graph.
    fn datatype(&mut self, node: SourceNode<'_>, key: &KeySpec) -> Option<i16> {
        self.position(node, key).map(|position| position as i16)
    }

    /// A byte count: an integer, or one with K, M, G or T.
    fn size(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<u64> {
        self.bytes(&node)
    }

    fn bytes(&mut self, node: &SourceNode<'_>) -> Option<u64> {
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
    fn multiple(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<u64> {
        self.alignment(&node, |bytes| bytes > 0, "1 to 1G")
    }

    /// An alignment up to 1G.
    fn alignment(&mut self, node: &SourceNode<'_>, is_valid: fn(u64) -> bool, what: &str) -> Option<u64> {
        if matches!(&node.value, NodeValue::Text(text) if text == "page") {
            return Some(4096);
        }
        let bytes = self.bytes(node)?;
        Some(bytes).filter(|bytes| is_valid(*bytes) && *bytes <= 1 << 30).or_else(|| {
            let label = format!("expected {what}, such as 128, 4K or page");
            self.fail(Code::OutOfRange, node.id, format!("invalid alignment {bytes}"), label)
        })
    }

    fn dtype(&mut self, node: &SourceNode<'_>) -> Option<ScalarType> {
        match &node.value {
            NodeValue::Text(text) => {
                let found = ScalarType::parse(text);
                if found.is_none() {
                    let unknown = Code::UnknownWord.error(node.id, format!("unknown element type `{text}`"));
                    self.diagnostics.push(
                        unknown.label("expected a torch dtype, such as float32").suggest(text, ScalarType::names()),
                    );
                }
                found
            }
            _ => self.int(node, "an element type, such as float32").map(ScalarType),
        }
    }

    fn device(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<Device> {
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

    fn document<'a>(&mut self, node: SourceNode<'a>) -> Option<ParsedDocument<'a>> {
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

    /// A file name without a folder.
    fn name<'a>(&mut self, node: SourceNode<'a>, _: &KeySpec) -> Option<Word<'a>> {
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

    fn release(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<At<&'static Release>> {
        let word = self.text(node, "a release in quotes, such as \"0.7\"")?;
        match Release::find(&word.value) {
            Ok(value) => Some(At { id: word.id, value }),
            Err(error) => self.fail(Code::UnknownWord, word.id, error.to_string(), "unknown release"),
        }
    }

    fn named_data_map<'a>(&mut self, node: SourceNode<'a>, _: &KeySpec) -> Option<At<Vec<ParsedNamedData<'a>>>> {
        let (id, is_null) = (node.id, node.value == NodeValue::Null);
        Some(At { id, value: if is_null { Vec::new() } else { self.named(node, NAMED_DATA) } })
    }

    fn field_override<'a>(&mut self, node: SourceNode<'a>) -> Option<OverrideSource<'a>> {
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

    fn field_path(&mut self, at: NodeId, text: &str, label: &str) -> Option<FieldPath> {
        FieldPath::parse(text).map_err(|message| self.error(Code::InvalidString, at, message, label)).ok()
    }

    fn layout(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<Layout> {
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
    fn option(&mut self, option: &OptionSpec, node: &SourceNode<'_>) -> Option<OptionValue> {
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

    fn declarations<'a>(&mut self, node: SourceNode<'a>, _: &KeySpec) -> Option<Vec<Declaration<'a>>> {
        // The resolver reports duplicate names when it builds its index of names.
        let entries = match node.value {
            NodeValue::Map(entries) => entries,
            _ => self.entries(node, "a map of names to values"),
        };
        Some(entries.into_iter().filter_map(|(key, node)| self.declaration(word(key), node)).collect())
    }

    /// The instructions of a method: in one chain, or in several.
    fn chains<'a>(&mut self, fields: &mut MapFields<'a>) -> Vec<ParsedChain<'a>> {
        match (fields.take(method::instructions), fields.take(method::chains)) {
            (Some(_), Some(chains)) => {
                let message = || "a method has either `instructions` or `chains`".to_owned();
                self.refuse(Some(chains.id), message, "remove one of the two");
                Vec::new()
            }
            (None, Some(chains)) => self.items(chains, "a list of chains", ParsedChain::whole),
            (instructions, None) => {
                let items = |node| self.items(node, "a list of instructions", Decoder::instruction);
                let instructions = instructions.map_or_else(Vec::new, items);
                vec![ParsedChain { instructions, ..ParsedChain::default() }]
            }
        }
    }

    fn container_meta(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<Option<ContainerMetadata>> {
        Some(if node.value == NodeValue::Null { None } else { ContainerMetadata::whole(self, node) })
    }

    fn string_or_null(&mut self, node: SourceNode<'_>, key: &KeySpec) -> Option<String> {
        if node.value == NodeValue::Null {
            return None;
        }
        self.text(node, key.what).map(|word| word.value.into_owned())
    }

    /// The alignment of planned memory.
    fn memory_alignment(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<u64> {
        let alignment = self.alignment(&node, u64::is_power_of_two, "a power of two up to 1G")?;
        Some(alignment).filter(|alignment| *alignment >= 16).or_else(|| {
            let message = format!("{alignment} is too small for planned memory");
            self.fail(Code::OutOfRange, node.id, message, "expected 16 or more")
        })
    }

    fn sizes(&mut self, node: SourceNode<'_>, key: &KeySpec) -> Option<Vec<u64>> {
        Some(self.items(node, key.what, |decoder, item| decoder.size(item, key)))
    }

    fn unplanned(&mut self, node: SourceNode<'_>, key: &KeySpec) -> Option<bool> {
        self.position(node, key).map(|position| position == 1)
    }

    fn declaration<'a>(&mut self, name: Word<'a>, node: SourceNode<'a>) -> Option<Declaration<'a>> {
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
            self.diagnostics
                .push(unknown.label("expected `tensor`, or another kind of value").help("did you mean `tensor`?"));
            return None;
        }
        let mut fields = self.fields(node, &shape::LITERAL_MAP)?;
        let index = fields.int(self, literal_map::index, "the index of a value");
        let value = Declared::Other(self.literal_map(fields)?);
        Some(Declaration { name, index, value })
    }

    fn tensor<'a>(&mut self, name: Word<'a>, node: SourceNode<'a>) -> Option<Declaration<'a>> {
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

    fn word_or_number(&mut self, node: &SourceNode<'_>, words: &[&str]) -> Option<i8> {
        match node.value {
            NodeValue::Int(_) => self.int(node, "a number of one byte"),
            _ => self.one_of(node, words).map(|position| position as i8),
        }
    }

    fn memory_placement(&mut self, node: SourceNode<'_>) -> Option<MemoryPlacement> {
        if matches!(node.value, NodeValue::Text(_)) {
            return self
                .one_of(&node, shape::MEMORY_PLACEMENT_WORDS)
                .map(|position| if position == 0 { MemoryPlacement::Auto } else { MemoryPlacement::None });
        }
        ParsedPlacement::whole(self, node).map(MemoryPlacement::In)
    }

    /// `external: true` or a tag; `false` is equal to an absent key.
    fn external<'a>(&mut self, node: SourceNode<'a>, _: &KeySpec) -> Option<At<Option<Cow<'a, str>>>> {
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
    fn tag<'a>(&mut self, node: SourceNode<'a>, key: &KeySpec) -> Option<Cow<'a, str>> {
        self.external(node, key)?.value
    }

    fn literals<'a>(&mut self, node: SourceNode<'a>) -> Vec<At<Literal<'a>>> {
        self.items(node, "a list", Decoder::literal)
    }

    fn literal<'a>(&mut self, node: SourceNode<'a>) -> Option<At<Literal<'a>>> {
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

    fn literal_map<'a>(&mut self, mut fields: MapFields<'a>) -> Option<At<Literal<'a>>> {
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

    /// Decodes the number of a member of a union.
    fn union_member(&mut self, node: &SourceNode<'_>) -> Option<u8> {
        match self.int(node, "the number of a member, from 1")? {
            0 => self.fail(Code::OutOfRange, node.id, "0 is no member of a union", "expected 1 or more"),
            tag => Some(tag),
        }
    }

    fn instruction<'a>(&mut self, node: SourceNode<'a>) -> Option<ParsedInstruction<'a>> {
        let id = node.id;
        let mut fields = self.fields(node, &shape::INSTRUCTION)?;
        let label = fields.take(instruction::label).and_then(|node| self.text(node, "a name"));
        let beside = [instruction::args, instruction::stacktrace, instruction::out, instruction::sizes]
            .map(|what| (what, fields.at(what)));
        let stacktrace = fields.take(instruction::stacktrace);
        let stacktrace = stacktrace.map(|node| self.items(node, "a list of frames", StackFrame::whole));
        let is_label =
            label.is_some() && beside.iter().all(|(what, at)| *what == instruction::stacktrace || at.is_none());
        let key = match fields.which(fields.shape.one_of)[..] {
            [] if is_label => return Some(ParsedInstruction { label, stacktrace, action: None }),
            [key] => key,
            _ => {
                let all = || format!("one of {}", fields.shape.one_of.join(", "));
                self.alternative(&fields, "an instruction has exactly one kind", all)?
            }
        };
        let row = INSTRUCTION_ROWS.iter().find(|row| row.key == key);
        let has = |role| row.is_some_and(|row| row.fields.iter().any(|(_, other)| *other == role));
        for (what, at) in beside {
            let (message, label) = match (what, key) {
                (instruction::args | instruction::stacktrace, instruction::view | instruction::value) => {
                    (format!("`{what}` belong to an instruction, and `{key}` is none"), "remove it")
                }
                (_, instruction::value) => (format!("`{what}` does not belong to `value`"), "remove it"),
                (_, instruction::view) | (instruction::stacktrace, _) => continue,
                (instruction::sizes, _) => (format!("`sizes` belongs to a view, not to `{key}`"), "remove it"),
                (instruction::out, _) if !has(FieldRole::Operator) => {
                    (format!("`out` belongs to a kernel, not to `{key}`"), "remove it")
                }
                (instruction::args, _) if !has(FieldRole::Args) => {
                    (format!("`args` belong to a kernel or a delegate, not to `{key}`"), "remove them")
                }
                _ => continue,
            };
            self.refuse(at, || message, label);
        }
        let node = fields.take(key)?;
        let action = match (row, key) {
            (Some(row), _) => self.action(row, node, &mut fields)?,
            (None, instruction::value) => Action::Value(self.text(node, "the name of a value")?),
            (None, instruction::view) => {
                let base = self.text(node, "the name of a tensor");
                let Some(out) = fields.take(instruction::out) else {
                    return self.fail(Code::MissingKey, id, "a view needs a name", "expected `out`");
                };
                let out = self.text(out, "a name")?;
                let sizes = fields.take(instruction::sizes);
                let sizes = sizes.map(|node| At { id: node.id, value: self.ints(node, "a size") });
                Action::View { base: base?, out, sizes }
            }
            (None, _) => Action::Unknown(At { id: node.id, value: self.union_member(&node)? }),
        };
        Some(ParsedInstruction { label, stacktrace, action: Some(action) })
    }

    fn action<'a>(
        &mut self,
        row: &'static InstructionRow,
        node: SourceNode<'a>,
        fields: &mut MapFields<'a>,
    ) -> Option<Action<'a>> {
        let mut args =
            |decoder: &mut Decoder| fields.take(instruction::args).map_or_else(Vec::new, |node| decoder.literals(node));
        Some(match row.fields[0].1 {
            FieldRole::Operator => {
                let name = self.text(node, "an operator, such as aten::add.out");
                if let Some(name) = name.as_ref().filter(|name| name.value.is_empty()) {
                    let message = "an operator needs a name";
                    self.error(Code::InvalidString, name.id, message, "expected one such as aten::add.out");
                }
                let args = args(self);
                let out = fields.take(instruction::out).map(|node| match node.value {
                    NodeValue::Text(value) => vec![At { id: node.id, value }],
                    _ => self.outs(node),
                });
                Action::Kernel { name: name?, args, out }
            }
            FieldRole::Delegate => {
                let delegate = self.name_or_number(node, "the name of a delegate")?;
                Action::Delegate { delegate, args: args(self) }
            }
            FieldRole::Read
            | FieldRole::Condition
            | FieldRole::Write
            | FieldRole::Release
            | FieldRole::Destination
            | FieldRole::Args => Action::Plain(row.kind, self.operands(row, node)?),
        })
    }

    /// Decodes the operands of an instruction that is not a call: its value if its only field has its key, otherwise
    /// the values of a map.
    fn operands<'a>(&mut self, row: &InstructionRow, node: SourceNode<'a>) -> Option<Vec<Operand<'a>>> {
        let nodes = match (row.fields, shape::INSTRUCTION.key(row.key)?.form) {
            (_, Form::Shape(shape)) => {
                let mut fields = self.fields(node, shape)?;
                row.fields.iter().map(|(key, role)| (*role, fields.take(key))).collect()
            }
            ([(_, role)], _) => vec![(*role, Some(node))],
            (several, _) => unreachable!("{} fields of `{}` and no map", several.len(), row.key),
        };
        let mut operand = |(role, node): (FieldRole, Option<SourceNode<'a>>)| {
            let node = node?;
            let value = match role {
                FieldRole::Destination => self.name_or_number(node, "a label").map(|At { id, value }| match value {
                    NameOrNumber::Name(name) => At { id, value: Literal::Word(name) },
                    NameOrNumber::Number(number) => At { id, value: Literal::Int(number.into()) },
                }),
                FieldRole::Operator
                | FieldRole::Delegate
                | FieldRole::Args
                | FieldRole::Read
                | FieldRole::Condition
                | FieldRole::Write
                | FieldRole::Release => self.literal(node),
            };
            Some((role, value?))
        };
        // All are decoded, so that all errors are reported.
        let operands: Vec<_> = nodes.into_iter().map(&mut operand).collect();
        operands.into_iter().collect()
    }

    /// Decodes a list of outs, in which null is an out that the call does not request.
    fn outs<'a>(&mut self, node: SourceNode<'a>) -> Vec<Word<'a>> {
        self.items(node, "a name, or a list of names", |decoder, item| match item.value {
            NodeValue::Null => Some(At { id: item.id, value: Cow::Borrowed(MISSING_OUT) }),
            _ => decoder.text(item, "a name, or null"),
        })
    }

    fn name_or_number<'a>(&mut self, node: SourceNode<'a>, what: &str) -> Option<At<NameOrNumber<'a>>> {
        let id = node.id;
        let value = match node.value {
            NodeValue::Text(text) => NameOrNumber::Name(text),
            _ => NameOrNumber::Number(self.int(&node, what)?),
        };
        Some(At { id, value })
    }

    /// The payload of a delegate: one of `data` and `graph`.
    fn payload<'a>(&mut self, fields: &mut MapFields<'a>) -> Option<ParsedPayload<'a>> {
        match self.alternative(fields, "a delegate has exactly one payload", || "`data` or `graph`".to_owned())? {
            delegate::graph => fields.value(self, delegate::graph, Decode::decode).map(ParsedPayload::Graph),
            _ => fields.value(self, delegate::data, Decode::decode).map(ParsedPayload::Data),
        }
    }

    /// A constant, by the keys for data, key and size.
    fn graph_constant<'a>(&mut self, fields: &mut MapFields<'a>, names: [&str; 3]) -> Option<ParsedConstant<'a>> {
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
    fn graph_quantization<'a>(&mut self, fields: &mut MapFields<'a>) -> Option<At<ParsedQuantization<'a>>> {
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

    fn graph_scales<'a>(&mut self, node: SourceNode<'a>) -> Option<ParsedScales<'a>> {
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

    /// A number as float32.
    fn single(&mut self, node: &SourceNode<'_>) -> Option<f32> {
        let number = self.float(node)?;
        if number.is_finite() && !(number as f32).is_finite() {
            let message = format!("{number:e} is out of range for float32");
            return self.fail(Code::OutOfRange, node.id, message, "expected a smaller number");
        }
        Some(number as f32)
    }

    fn graph_node<'a>(&mut self, node: SourceNode<'a>) -> Option<ParsedNode<'a>> {
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

    fn patterns<'a>(&mut self, node: SourceNode<'a>, _: &KeySpec) -> Option<Vec<Word<'a>>> {
        Some(match node.value {
            NodeValue::List(items) => items.into_iter().filter_map(|node| self.text(node, "a pattern")).collect(),
            _ => self.text(node, "a pattern, or a list of them").into_iter().collect(),
        })
    }

    fn data<'a>(&mut self, node: SourceNode<'a>) -> Option<Data<'a>> {
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

    fn data_map<'a>(&mut self, node: SourceNode<'a>) -> Option<Data<'a>> {
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

    fn source<'a>(&mut self, kind: &str, value: SourceNode<'a>, fields: &mut MapFields<'a>) -> Option<DataSource<'a>> {
        Some(match kind {
            data_map::hex => DataSource::Bytes(self.hex(value)?.into()),
            data_map::base64 => DataSource::Bytes(self.base64(value)?.into()),
            data_map::text => DataSource::Bytes(self.text(value, "a string")?.value.into_owned().into_bytes().into()),
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
            other => unreachable!("`{other}` is not an alternative of the grammar"),
        })
    }

    fn random<'a>(&mut self, node: SourceNode<'a>) -> Option<DataSource<'a>> {
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
            let (mean, std) = (float(random::mean, 0.0), float(random::std, 1.0));
            RandomKind::Fixed(Distribution::Normal { mean, std })
        } else {
            RandomKind::Uniform(number(random::low), number(random::high))
        };
        Some(DataSource::Random(seed?, kind))
    }

    fn hex(&mut self, node: SourceNode<'_>) -> Option<Vec<u8>> {
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

    fn base64(&mut self, node: SourceNode<'_>) -> Option<Vec<u8>> {
        let word = self.text(node, "base64")?;
        let is_digit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
        let digits = self.digits(&word, "base64", is_digit, ' ', "expected A to Z, a to z, 0 to 9, + and /")?;
        let expected = "expected groups of four, the last one padded with =";
        let bytes = data_encoding::BASE64.decode(digits.as_bytes()).ok();
        bytes.or_else(|| self.part_of_byte(&word, &digits, "base64", expected))
    }

    /// The digits of a word, without white space and separators.
    fn digits(
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

    fn part_of_byte<T>(&mut self, word: &Word<'_>, digits: &str, kind: &str, expected: &str) -> Option<T> {
        let message = format!("{} {kind} digits are not a whole number of bytes", digits.len());
        self.fail(Code::InvalidString, word.id, message, expected)
    }

    fn tolerance(&mut self, node: SourceNode<'_>, _: &KeySpec) -> Option<f64> {
        let number = self.float(&node)?;
        if number < 0.0 || number.is_nan() {
            self.error(Code::OutOfRange, node.id, format!("invalid tolerance {number}"), "expected 0 or more");
        }
        Some(number)
    }

    fn test_value<'a>(&mut self, node: SourceNode<'a>) -> Option<TestValue<'a>> {
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

/// A type that the value of a key decodes to.
trait Decode<'a>: Sized {
    /// Decodes the value of a key; reports an invalid one.
    fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<Self>;

    /// Decodes an item of the list that is the value of a key.
    fn item(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<Self> {
        Self::decode(decoder, node, key)
    }

    /// Decodes the list that is the value of a key. Returns an empty list for a value that is not a list.
    fn list(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Vec<Self> {
        let items = decoder.list(node, key.what);
        items.into_iter().filter_map(|item| Self::item(decoder, item, key)).collect()
    }
}

implement! {
    Decode<'a>: fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<Self>;
    bool = decoder.bool(node);
    String = decoder.text(node, key.what).map(|word| word.value.into_owned());
    ScalarType = decoder.dtype(&node);
    DimOrder = Vec::<u8>::decode(decoder, node, key).map(|order| DimOrder::from(&order[..]));
    Literal<'a> = decoder.literal(node).map(|literal| literal.value);
    TestValue<'a> = decoder.test_value(node);
    MemoryPlacement = decoder.memory_placement(node);
    MemoryPlanner = decoder.position(node, key).map(|position| MemoryPlanner::ALL[position]);
    NumericValue = decoder.number(&node);
    f32 = decoder.single(&node);
    Data<'a> = decoder.data(node);
    ParsedInstruction<'a> = decoder.instruction(node);
    ParsedNode<'a> = decoder.graph_node(node);
    ParsedGraph<'a> = {
        let mut fields = decoder.fields(node, &shape::GRAPH)?;
        let id = fields.id;
        ParsedGraph::keys(decoder, &mut fields, (Some(id),))
    };
    ParsedExtraField<'a> = {
        let mut fields = decoder.fields(node, &shape::EXTRA_FIELD)?;
        let id = fields.id;
        ParsedExtraField::keys(decoder, &mut fields, (Some(id),))
    };
    ParsedOverrides<'a> = {
        let mut fields = decoder.fields(node, &shape::RAW)?;
        let raw = ParsedOverrides::keys(decoder, &mut fields, ())?;
        for inner in [&raw.ptd, &raw.bpte].into_iter().flatten() {
            if inner.ptd.is_some() || inner.bpte.is_some() {
                decoder.error(Code::ConflictingKeys, fields.id, "`ptd` and `bpte` must not be nested", "move them to the outer `raw`");
            }
        }
        Some(raw)
    };
}

impl<'a, T: Decode<'a>> Decode<'a> for Vec<T> {
    fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<Vec<T>> {
        Some(T::list(decoder, node, key))
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Box<T> {
    fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<Box<T>> {
        T::decode(decoder, node, key).map(Box::new)
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for At<T> {
    fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<At<T>> {
        Some(At { id: node.id, value: T::decode(decoder, node, key)? })
    }

    fn item(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<At<T>> {
        Some(At { id: node.id, value: T::item(decoder, node, key)? })
    }
}

impl<'a> Decode<'a> for Cow<'a, str> {
    fn decode(decoder: &mut Decoder, node: SourceNode<'a>, key: &'static KeySpec) -> Option<Cow<'a, str>> {
        decoder.text(node, key.what).map(|word| word.value)
    }

    fn item(decoder: &mut Decoder, node: SourceNode<'a>, _: &'static KeySpec) -> Option<Cow<'a, str>> {
        decoder.text(node, "a name").map(|word| word.value)
    }
}

/// A map of a shape: a struct whose fields are its keys.
trait Node<'a>: Sized {
    /// Fields that are not keys. If one of them is `None`, the node is not decoded.
    type Rest;

    /// Decodes all keys. Returns `None` if one that is required is absent or invalid.
    fn keys(decoder: &mut Decoder, fields: &mut MapFields<'a>, rest: Self::Rest) -> Option<Self>;
}

/// A map of a shape that is decoded by its rows alone.
trait WholeNode<'a>: Node<'a, Rest = ()> {
    const SHAPE: &'static Shape;

    fn whole(decoder: &mut Decoder, node: SourceNode<'a>) -> Option<Self> {
        let mut fields = decoder.fields(node, Self::SHAPE)?;
        Self::keys(decoder, &mut fields, ())
    }
}

/// An entry of a map with arbitrary keys.
trait Named<'a>: Sized {
    fn named(decoder: &mut Decoder, name: Word<'a>, node: SourceNode<'a>) -> Option<Self>;
}

implement! {
    Named<'a>: fn named(decoder: &mut Decoder, name: Word<'a>, node: SourceNode<'a>) -> Option<Self>;
    (Word<'a>, Word<'a>) = decoder.text(node, "a replacement").map(|to| (name, to));
    (Word<'a>, u32) = decoder.int(&node, "a non-negative integer").map(|number| (name, number));
    (Word<'a>, Data<'a>) = decoder.data(node).map(|data| (name, data));
    (At<FieldPath>, OverrideSource<'a>) = {
        let label = "expected a path such as methods.forward.values[0].sizes";
        let path = At { id: name.id, value: decoder.field_path(name.id, &name.value, label)? };
        Some((path, decoder.field_override(node)?))
    };
    Method<'a> = {
        let mut fields = decoder.fields(node, &shape::METHOD)?;
        let chains = decoder.chains(&mut fields);
        Method::keys(decoder, &mut fields, (Some(name), Some(chains)))
    };
    Delegate<'a> = {
        let mut fields = decoder.fields(node, &shape::DELEGATE)?;
        let payload = decoder.payload(&mut fields);
        Delegate::keys(decoder, &mut fields, (Some(name), payload))
    };
    ParsedGraphValue<'a> = {
        let mut fields = decoder.fields(node, &shape::GRAPH_VALUE)?;
        let keys = [graph_value::data, graph_value::key, graph_value::size];
        let constant = decoder.graph_constant(&mut fields, keys);
        let quantization = decoder.graph_quantization(&mut fields);
        ParsedGraphValue::keys(decoder, &mut fields, (Some(name), Some(constant), Some(quantization)))
    };
    ParsedNamedData<'a> = {
        let key = name;
        let described =
            matches!(&node.value, NodeValue::Map(entries) if entries.iter().any(|(key, _)| key.text == "data"));
        if !described {
            let data = decoder.data(node)?;
            let (align, external, scalar_type, sizes, dim_order) = (data.align, None, None, None, None);
            return Some(ParsedNamedData { key, data, align, external, scalar_type, sizes, dim_order });
        }
        let mut fields = decoder.fields(node, &shape::NAMED_DATA)?;
        let mut entry = ParsedNamedData::keys(decoder, &mut fields, (Some(key),))?;
        let sizes = entry.sizes.as_ref().map(|sizes| sizes.id);
        if entry.scalar_type.is_none()
            && let Some(id) = sizes.or(entry.dim_order.as_ref().map(|order| order.id))
        {
            decoder.error(
                Code::MissingKey,
                id,
                "`sizes` or `dim_order` without an element type",
                "give the element type with `tensor`",
            );
        }
        if entry.align.is_some() && entry.data.align.is_some() {
            decoder.error(Code::DuplicateKey, entry.data.id, "duplicate `align`", "remove one of the two");
        }
        entry.align = entry.align.or(entry.data.align);
        Some(entry)
    };
}

/// A field of a [`Node`]: the value of a key that may be absent or invalid.
trait Field: Sized {
    /// Type of the value.
    type Value;

    /// Returns the field; `None` if it has no default.
    fn of(value: Option<Self::Value>) -> Option<Self>;
}

impl<T> Field for Option<T> {
    type Value = T;

    fn of(value: Option<T>) -> Option<Option<T>> {
        Some(value)
    }
}

/// Declares types of fields, with their generic parameters in braces, and the field of a key that is absent or invalid.
macro_rules! fields {
    ($( |$value:ident| $field:expr => $( { $($param:tt),* } $type:ty; )* )*) => {$($(
        impl<$($param),*> Field for $type {
            type Value = Self;

            fn of($value: Option<Self>) -> Option<Self> {
                $field
            }
        }
    )*)*};
}

fields! {
    // Keys that are required.
    |value| value => {T} At<T>; {'a} Cow<'a, str>; {'a} Data<'a>; {} Device; {} u16; {} i32; {} u32;
    |value| Some(value.unwrap_or_default()) =>
        {T} Vec<T>; {'a} ParsedOverrides<'a>; {} bool; {} Layout; {} MemoryPlanner; {} MethodMemory;
}

macro_rules! decoders {
    ($( $table:ident = $module:ident $doc:literal required $required:tt one of $one_of:tt $(or $or:tt)? => $struct:tt $rows:tt )*) => {
        $( decoders!(@struct $table $module $struct $rows); )*
    };
    (@struct $table:ident $module:ident [] $rows:tt) => {};
    (@struct $table:ident $module:ident [node $attribute:tt $attributes:tt $name:ident $(<$life:lifetime>)?] $rows:tt) => {
        decoders!(@whole $table $module ($name $(<$life>)?) $rows);
    };
    (@struct $table:ident $module:ident [model $name:ident] $rows:tt) => {
        decoders!(@whole $table $module ($name) $rows);
    };
    (@struct $table:ident $module:ident [node $attribute:tt $attributes:tt $name:ident $(<$life:lifetime>)? { $( $extra:ident: $extra_type:ty ),* }] $rows:tt) => {
        decoders!(@node $module ($name $(<$life>)?) { $($extra: $extra_type),* } $rows);
    };
    (@whole $table:ident $module:ident ($($type:tt)*) $rows:tt) => {
        decoders!(@node $module ($($type)*) {} $rows);

        impl<'a> WholeNode<'a> for $($type)* {
            const SHAPE: &'static Shape = &shape::$table;
        }

        impl<'a> Decode<'a> for $($type)* {
            fn decode(decoder: &mut Decoder, node: SourceNode<'a>, _: &'static KeySpec) -> Option<Self> {
                Self::whole(decoder, node)
            }
        }
    };
    (@node $module:ident ($name:ident $(<$life:lifetime>)?) { $( $extra:ident: $extra_type:ty ),* } {
        $( $field:ident $(($key:literal))? : $form:expr $(=> $type:ty $(as $decoder:ident)? $(= $default:literal)? $(: $what:literal)?)?, $key_doc:literal; )*
    }) => {
        impl<'a> Node<'a> for $name $(<$life>)? {
            type Rest = ($( Option<$extra_type>, )*);

            fn keys(decoder: &mut Decoder, fields: &mut MapFields<'a>, ($( $extra, )*): Self::Rest) -> Option<Self> {
                $($(
                    let $field = fields.value(decoder, $module::$field, decoders!(@decoder $($decoder)?));
                    let $field = <$type as Field>::of($field)$(.or(Some($default)))?;
                )?)*
                Some($name { $( $extra: $extra?, )* $($( $field: { let found: Option<$type> = $field; found? }, )?)* })
            }
        }
    };
    (@decoder) => { Decode::decode };
    (@decoder $decoder:ident) => { Decoder::$decoder };
}

grammar!(decoders);

fn word(key: MapKey<'_>) -> Word<'_> {
    At { id: key.id, value: key.text }
}

/// Name of a map of a shape, for messages.
fn called(shape: &Shape) -> String {
    match shape.name {
        "document" => "the document".into(),
        "literal_map" => "a value".into(),
        "data_map" => "data".into(),
        "memory" | "jump_false" | "random" | "iota" | "move" | "layout" | "container_meta" => {
            format!("`{}`", shape.name)
        }
        name => article(name),
    }
}

fn article(name: &str) -> String {
    let name = name.replace('_', " ");
    match name.as_bytes().first() {
        Some(b'a' | b'e' | b'i' | b'o' | b'u') => format!("an {name}"),
        _ => format!("a {name}"),
    }
}
