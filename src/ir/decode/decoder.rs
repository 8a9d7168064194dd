//! The decoder: its errors, the entries of maps, and the items of lists.

use std::collections::HashMap;

use crate::ir::document::{At, Word};
use crate::ir::shape::{KeySpec, Shape};
use crate::ir::synonyms;
use crate::ir::{Messages, NodeDiagnostic};
use pte_model::diagnostics::{Code, clipped};
use pte_yaml::tree::{MapKey, NodeId, NodeValue, SourceNode};

/// An integer type with its bounds, for messages.
pub(super) trait Ranged: TryFrom<i128> {
    const RANGE: (i128, i128);
}

macro_rules! ranged {
    ($($type:ty)*) => {$(
        impl Ranged for $type {
            const RANGE: (i128, i128) = (<$type>::MIN as i128, <$type>::MAX as i128);
        }
    )*};
}
ranged! { i8 u8 u16 i32 u32 i64 u64 }

/// Expectation of messages about `files` and `named_data`.
pub(super) const FILES: &str = "a map of names to paths";
pub(super) const NAMED_DATA: &str = "a map of keys to data";

/// Help for duplicate keys in maps that the merging of dumps produces.
pub(super) const MERGED: &[(&str, &str)] = &[
    (FILES, "to merge two dumps, rename the file of one, here and in each `{file: NAME}`"),
    (NAMED_DATA, "data with the same key and bytes, as two dumps may have, are stated once: remove one of the entries"),
];

pub(super) struct Decoder {
    pub(super) diagnostics: Messages,
    /// Strings of numbers that are in quotes.
    pub(super) strings: HashMap<NodeId, String>,
    /// Paths by their names under `files`.
    pub(super) files: HashMap<String, String>,
}

/// The entries of a map whose keys are known.
pub(super) struct MapFields<'a> {
    pub(super) id: NodeId,
    pub(super) shape: &'static Shape,
    pub(super) entries: Vec<(MapKey<'a>, Option<(&'static KeySpec, SourceNode<'a>)>)>,
    /// One of the keys is unknown, and may be a typo of a key that seems to be missing.
    pub(super) has_unknown_key: bool,
}

impl<'a> MapFields<'a> {
    /// Takes the value of a key.
    pub(super) fn take(&mut self, name: &str) -> Option<SourceNode<'a>> {
        self.take_with_key(name).map(|(_, node)| node)
    }

    pub(super) fn take_with_key(&mut self, name: &str) -> Option<(&'static KeySpec, SourceNode<'a>)> {
        debug_assert!(self.shape.key(name).is_some(), "{} has no key {name}", self.shape.name);
        self.entries.iter_mut().find(|(key, _)| key.text == name)?.1.take()
    }

    /// Decodes the value of a key; `None` if it is absent or invalid.
    pub(super) fn value<T>(
        &mut self,
        decoder: &mut Decoder,
        name: &str,
        decode: impl FnOnce(&mut Decoder, SourceNode<'a>, &'static KeySpec) -> Option<T>,
    ) -> Option<T> {
        let (key, node) = self.take_with_key(name)?;
        decode(decoder, node, key)
    }

    /// Decodes the integer of a key.
    pub(super) fn int<T: Ranged>(&mut self, decoder: &mut Decoder, name: &str, what: &str) -> Option<At<T>> {
        let node = self.take(name)?;
        Some(At { id: node.id, value: decoder.int(&node, what)? })
    }

    /// The node of the value of a key that was not taken.
    pub(super) fn at(&self, name: &str) -> Option<NodeId> {
        let (_, found) = self.entries.iter().find(|(key, _)| key.text == name)?;
        found.as_ref().map(|(_, node)| node.id)
    }

    /// Those of `names` that are present.
    pub(super) fn which(&self, names: &[&'static str]) -> Vec<&'static str> {
        names.iter().copied().filter(|name| self.entries.iter().any(|(key, _)| key.text == *name)).collect()
    }
}

impl Decoder {
    pub(super) fn error(&mut self, code: Code, at: NodeId, message: impl Into<String>, label: impl Into<String>) {
        self.diagnostics.push(code.error(at, message).label(label));
    }

    /// Reports an error of a value, which is not decoded.
    pub(super) fn fail<T>(
        &mut self,
        code: Code,
        at: NodeId,
        message: impl Into<String>,
        label: impl Into<String>,
    ) -> Option<T> {
        self.error(code, at, message, label);
        None
    }

    /// Reports keys that do not belong together, where the map has the key of one of them.
    pub(super) fn refuse(&mut self, at: Option<NodeId>, message: impl FnOnce() -> String, label: &str) {
        if let Some(at) = at {
            self.error(Code::ConflictingKeys, at, message(), label);
        }
    }

    /// Reports a key that occurs twice.
    pub(super) fn duplicate(&mut self, key: &MapKey<'_>, first: NodeId, help: Option<&str>) {
        let mut duplicate = Code::DuplicateKey.error(key.id, format!("duplicate key `{}`", key.text));
        duplicate.help = help.map(str::to_owned);
        self.diagnostics.push(duplicate.label("duplicate").related(first, "first defined here"));
    }

    /// Reports a value of another kind, which is not decoded.
    pub(super) fn wrong<T>(&mut self, node: &SourceNode<'_>, what: &str) -> Option<T> {
        self.expected(node, what);
        None
    }

    /// Reports a value of another kind. Returns the message, to which the caller may add help.
    pub(super) fn expected(&mut self, node: &SourceNode<'_>, what: &str) -> &mut NodeDiagnostic {
        let wrong = Code::WrongKind.error(node.id, format!("expected {what}, found {}", node.value.describe()));
        self.diagnostics.push_mut(wrong.label(format!("expected {what}")))
    }

    /// The entries of a map; reports duplicate keys.
    pub(super) fn entries<'a>(&mut self, node: SourceNode<'a>, what: &str) -> Vec<(MapKey<'a>, SourceNode<'a>)> {
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

    /// The entries of a map of a shape.
    pub(super) fn fields<'a>(&mut self, node: SourceNode<'a>, shape: &'static Shape) -> Option<MapFields<'a>> {
        let id = node.id;
        let NodeValue::Map(entries) = node.value else {
            let known: Vec<&str> = shape.keys.iter().map(|key| key.name).take(4).collect();
            let more = if shape.keys.len() > 4 { ", ..." } else { "" };
            self.expected(&node, &format!("a map ({}{more})", known.join(", ")));
            return None;
        };
        let mut misplaced = None;
        let spec = |(key, node): (MapKey<'a>, SourceNode<'a>)| {
            let spec = shape.key(&key.text);
            if let (None, NodeValue::Map(entries)) = (spec, &node.value) {
                misplaced = misplaced.or_else(|| shape.map_of(entries.iter().map(|(key, _)| &*key.text)));
            }
            (key, spec.map(|spec| (spec, node)))
        };
        let entries: Vec<_> = entries.into_iter().map(spec).collect();
        let mut has_unknown_key = false;
        for (position, (key, spec)) in entries.iter().enumerate() {
            if spec.is_none() {
                has_unknown_key = true;
                let known = shape.keys.iter().map(|key| key.name);
                let list = listed(&known.clone().collect::<Vec<_>>());
                let unknown = Code::UnknownKey
                    .error(key.id, format!("unknown key `{}` in {}", clipped(&key.text), called(shape)));
                let unknown = unknown.label(format!("expected one of {list}"));
                let below = || misplaced.map(|holder| format!("write it below `{holder}:`"));
                self.diagnostics.push(match shape.holder(&key.text) {
                    Some(holder) => unknown.help(holder),
                    None => match synonyms::meant(&key.text, known) {
                        Some(meant) => unknown.did_you_mean(meant),
                        None => below().into_iter().fold(unknown, NodeDiagnostic::help),
                    },
                });
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
    pub(super) fn alternative(
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

    pub(super) fn list<'a>(&mut self, node: SourceNode<'a>, what: &str) -> Vec<SourceNode<'a>> {
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
    pub(super) fn items<'a, T>(
        &mut self,
        node: SourceNode<'a>,
        what: &str,
        mut decode: impl FnMut(&mut Decoder, SourceNode<'a>) -> Option<T>,
    ) -> Vec<T> {
        self.list(node, what).into_iter().filter_map(|item| decode(self, item)).collect()
    }
}

/// Number of names that a message lists; of more, the first ones.
const LISTED: usize = 24;

fn listed(names: &[&str]) -> String {
    match names.len().checked_sub(LISTED) {
        Some(more) if more > 0 => format!("{} and {more} more", names[..LISTED].join(", ")),
        _ => names.join(", "),
    }
}

pub(super) fn word(key: MapKey<'_>) -> Word<'_> {
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
