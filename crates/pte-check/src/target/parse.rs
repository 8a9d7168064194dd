//! Reads a target from YAML: its keys, their kinds, and the files with operators that it names.

use std::collections::{BTreeSet, HashMap};
use std::io;

use pte_memory::abi::Abi;
use pte_memory::runner::{RUNNERS, Runner};
use pte_model::diagnostics::text::nearest;
use pte_model::diagnostics::{Code, Diagnostic, Report, clipped, is_io};
use pte_model::error::Error;
use pte_payload::compile_specs::SYSTEMS;
use pte_releases::Release;
use pte_yaml::bytes::parse_bytes;
use pte_yaml::tree::{self, MapKey, NodeId, NodeValue, SourceNode};

use super::linked::{LinkedKernel, LinkedOperators, libraries};
use super::model::{Pools, Target};

/// Largest file of a target, or of its operators, in bytes.
pub(super) const MAX_FILE: u64 = 64 << 20;

/// Keys of a target, and how each is read.
const KEYS: &[(&str, Read)] = &[
    ("description", |decoder, node| decoder.description(node)),
    ("executorch", |decoder, node| decoder.release(node)),
    ("operators", |decoder, node| decoder.operators(node)),
    ("backends", |decoder, node| decoder.backends(node)),
    ("chips", |decoder, node| decoder.target.chips = decoder.names(node, "the name of a chip, such as Ethos-U55-128")),
    ("systems", |decoder, node| decoder.systems(node)),
    ("abi", |decoder, node| decoder.abi(node)),
    ("runner", |decoder, node| decoder.runner(node)),
    ("pools", |decoder, node| decoder.pools(node)),
    ("method_allocator", |decoder, node| decoder.target.method_allocator = decoder.bytes(node)),
    ("temp_allocator", |decoder, node| decoder.target.temporary_allocator = decoder.bytes(node)),
    ("ram", |decoder, node| decoder.target.ram = decoder.bytes(node)),
    ("alignment", |decoder, node| decoder.alignment(node)),
    ("largest_file", |decoder, node| decoder.target.largest_file = decoder.bytes(node)),
];

type Read = fn(&mut Decoder<'_>, &SourceNode<'_>);

/// Keys of an item of `operators`.
const OPERATOR_KEYS: [&str; 3] = ["library", "file", "dtype_selective"];

/// Messages that are kept.
pub(super) const MAX_MESSAGES: usize = 100;

/// A file with operators, which is read once.
struct OperatorFile {
    path: String,
    node: NodeId,
    /// False if one of the items with the file is without `dtype_selective`: it has the kernels for all types.
    are_types_selected: bool,
}

struct Decoder<'r> {
    target: Target,
    read: &'r dyn Fn(&str) -> io::Result<String>,
    files: Vec<OperatorFile>,
    /// Indices of `files` by path.
    paths: HashMap<String, usize>,
    diagnostics: Vec<Diagnostic<NodeId>>,
    warnings: Vec<Diagnostic<NodeId>>,
    /// Number of unknown names for which a suggestion was searched.
    searched: usize,
}

/// Parses a target. `read` returns the content of a file that it names.
pub fn target(name: &str, text: &str, read: &dyn Fn(&str) -> io::Result<String>) -> Result<Target, Error> {
    let report = |diagnostics| Error::new(Report::new(name, text, diagnostics));
    let root = tree::parse(text).map_err(|error| report(vec![error.diagnostic()]))?;
    let mut decoder = Decoder {
        target: Target { name: name.to_owned(), ..Target::default() },
        read,
        files: Vec::new(),
        paths: HashMap::new(),
        diagnostics: Vec::new(),
        warnings: Vec::new(),
        searched: 0,
    };
    match &root.value {
        NodeValue::Map(entries) => decoder.entries(entries),
        NodeValue::Null => decoder.error(Code::EmptyDocument, root.id, "the target states nothing", "expected a map"),
        other => decoder.error(Code::WrongKind, root.id, &other.describe(), "expected a map with the keys of a target"),
    }
    if decoder.diagnostics.is_empty() && decoder.warnings.is_empty() {
        return Ok(decoder.target);
    }
    let spans = tree::spans(text);
    let located = |messages: Vec<Diagnostic<NodeId>>| {
        messages.into_iter().map(|message| message.map(|id| spans.get(id.0 as usize).cloned())).collect()
    };
    if decoder.diagnostics.is_empty() {
        decoder.target.warnings = Report::new(name, text, located(decoder.warnings));
        return Ok(decoder.target);
    }
    Err(report(located(decoder.diagnostics)))
}

impl Decoder<'_> {
    fn push(&mut self, diagnostic: Diagnostic<NodeId>) {
        if self.diagnostics.len() < MAX_MESSAGES {
            self.diagnostics.push(diagnostic);
        }
    }

    fn error(&mut self, code: Code, at: NodeId, message: &str, expected: &str) {
        self.push(code.error(at, message).label(expected));
    }

    fn wrong_kind(&mut self, node: &SourceNode<'_>, expected: &str) {
        self.error(Code::WrongKind, node.id, &format!("expected {expected}, found {}", node.value.describe()), "");
    }

    fn unknown_key(&mut self, key: &MapKey<'_>, known: &[&str]) {
        let message = format!("unknown key `{}`", clipped(&key.text));
        let error = Code::UnknownKey.error(key.id, message).label(format!("expected one of {}", known.join(", ")));
        self.push(error.suggest_among(self.diagnostics.len(), &key.text, known.iter().copied()));
    }

    /// Reports a key that was defined before.
    fn duplicate(&mut self, first: Option<NodeId>, key: &MapKey<'_>) {
        if let Some(first) = first {
            let error = Code::DuplicateKey.error(key.id, format!("duplicate key `{}`", clipped(&key.text)));
            self.push(error.label("duplicate").related(first, "first defined here"));
        }
    }

    fn entries(&mut self, entries: &[(MapKey<'_>, SourceNode<'_>)]) {
        let mut first: HashMap<&str, NodeId> = HashMap::new();
        for (key, node) in entries {
            let Some((known, read)) = KEYS.iter().find(|(known, _)| *known == key.text) else {
                self.unknown_key(key, &KEYS.iter().map(|(known, _)| *known).collect::<Vec<_>>());
                continue;
            };
            self.duplicate(first.insert(known, key.id), key);
            read(self, node);
        }
        if let (Some(_), Some(Pools::InMethodAllocator), Some(at)) =
            (self.target.runner, &self.target.pools, first.get("pools"))
        {
            let message = "`runner` and `pools: method_allocator` both say what is taken from the method allocator";
            self.error(Code::ConflictingKeys, *at, message, "expected one of them");
        }
    }

    fn text<'n>(&mut self, node: &'n SourceNode<'_>, expected: &str) -> Option<&'n str> {
        match &node.value {
            NodeValue::Text(text) => Some(text),
            _ => {
                self.wrong_kind(node, expected);
                None
            }
        }
    }

    /// Returns a number of bytes: an integer, or digits with a unit.
    fn bytes(&mut self, node: &SourceNode<'_>) -> Option<u64> {
        let found = match &node.value {
            NodeValue::Int(bytes) => u64::try_from(*bytes).ok(),
            NodeValue::UInt(bytes) => Some(*bytes),
            NodeValue::Text(text) => parse_bytes(text),
            _ => None,
        };
        if found.is_none() {
            self.wrong_kind(node, "a number of bytes, such as 4096 or 64K");
        }
        found
    }

    /// Returns the items of a list, or the only one.
    fn items<'n, 'a>(node: &'n SourceNode<'a>) -> &'n [SourceNode<'a>] {
        match &node.value {
            NodeValue::List(items) => items,
            _ => std::slice::from_ref(node),
        }
    }

    fn description(&mut self, node: &SourceNode<'_>) {
        if let Some(text) = self.text(node, "a string") {
            text.clone_into(&mut self.target.description);
        }
    }

    fn release(&mut self, node: &SourceNode<'_>) {
        let text = match &node.value {
            NodeValue::Text(text) => text,
            // 0.10 and 0.1 are the same number.
            NodeValue::Float(_) | NodeValue::Int(_) | NodeValue::UInt(_) => {
                let message = "a release without quotes is read as a number, in which 1.10 is 1.1";
                return self.error(Code::WrongKind, node.id, message, "expected quotes, such as \"1.5\"");
            }
            _ => return self.wrong_kind(node, "a release of ExecuTorch, such as \"1.5.1\""),
        };
        match Release::find(text) {
            Ok(release) => self.target.release = Some(release),
            Err(error) => self.error(Code::UnknownName, node.id, &error.to_string(), ""),
        }
    }

    /// Warns about a name that no release has, if it resembles one that a release has: the first of `similar` that is
    /// not of others.
    fn misspelt(&mut self, at: NodeId, kind: &str, name: &str, similar: impl Fn() -> Vec<&'static str>) {
        if self.searched >= MAX_MESSAGES {
            return;
        }
        self.searched += 1;
        // The names of others may be like those of ExecuTorch in a namespace of their own.
        let is_of_others = |known: &&str| match (name.split_once("::"), known.split_once("::")) {
            (Some((own, rest)), Some((of_known, known))) if own != of_known => {
                rest != known || nearest(own, [of_known]).is_none()
            }
            _ => false,
        };
        let Some(near) = similar().into_iter().find(|known| !is_of_others(known)) else { return };
        let message = format!("no release of ExecuTorch has the {kind} `{}`", clipped(name));
        self.warnings.push(Code::UnknownName.warning(at, message).help(format!("did you mean `{near}`?")));
    }

    fn backends(&mut self, node: &SourceNode<'_>) {
        let mut names = BTreeSet::new();
        for item in Decoder::items(node) {
            let Some(name) = self.text(item, "the name of a backend") else { continue };
            let known = pte_xnnpack::FORMATS.backends();
            if !known.contains(&name) {
                // Names end alike, or without the end.
                let word = |name: &str| name.strip_suffix("Backend").unwrap_or(name).to_ascii_lowercase();
                let similar = || {
                    let words: Vec<String> = known.iter().map(|known| word(known)).collect();
                    let near = nearest(&word(name), words.iter().map(String::as_str));
                    known.iter().copied().filter(|known| Some(&*word(known)) == near).collect()
                };
                self.misspelt(item.id, "backend", name, similar);
            }
            names.insert(name.to_owned());
        }
        self.target.backends = Some(names);
    }

    fn names(&mut self, node: &SourceNode<'_>, expected: &str) -> Vec<String> {
        let items = Decoder::items(node).iter();
        items.filter_map(|item| self.text(item, expected).map(str::to_owned)).collect()
    }

    fn systems(&mut self, node: &SourceNode<'_>) {
        let known = SYSTEMS.join(", ");
        for item in Decoder::items(node) {
            let Some(name) = self.text(item, "a system with its version, such as iOS 17") else { continue };
            match name.parse() {
                Ok(system) => self.target.systems.push(system),
                Err(()) => {
                    let message = format!("unknown system `{}`", clipped(name));
                    let expected = format!("expected one of {known}, and its version");
                    self.error(Code::UnknownWord, item.id, &message, &expected);
                }
            }
        }
    }

    fn abi(&mut self, node: &SourceNode<'_>) {
        let word = match &node.value {
            NodeValue::Int(64) => "64",
            NodeValue::Text(text) => text,
            _ => "",
        };
        self.target.abi = match word {
            "64" => Abi::Bits64,
            "arm32" => Abi::Arm32,
            _ => {
                let message = format!("unknown ABI: {}", node.value.describe());
                return self.error(Code::UnknownWord, node.id, &message, "expected 64 or arm32");
            }
        };
    }

    fn runner(&mut self, node: &SourceNode<'_>) {
        let Some(name) = self.text(node, "the name of a runner") else { return };
        self.target.runner = Runner::find(name);
        if self.target.runner.is_none() {
            let known = RUNNERS.iter().map(|runner| runner.name);
            let error = Code::UnknownName.error(node.id, format!("unknown runner `{}`", clipped(name)));
            let error = error.label(format!("expected one of {}", known.clone().collect::<Vec<_>>().join(", ")));
            self.push(error.suggest_among(self.diagnostics.len(), name, known));
        }
    }

    fn pools(&mut self, node: &SourceNode<'_>) {
        self.target.pools = match &node.value {
            NodeValue::List(items) => {
                Some(Pools::Sizes(items.iter().map(|item| self.bytes(item).unwrap_or(0)).collect()))
            }
            NodeValue::Text(word) if word == "method_allocator" => Some(Pools::InMethodAllocator),
            NodeValue::Map(entries) => match &entries[..] {
                [(key, size)] if key.text == "total" => self.bytes(size).map(Pools::Total),
                _ => {
                    self.wrong_kind(node, "the key `total`");
                    None
                }
            },
            _ => {
                self.wrong_kind(node, "a list of sizes in bytes, `{total: SIZE}` or `method_allocator`");
                None
            }
        };
    }

    fn alignment(&mut self, node: &SourceNode<'_>) {
        let Some(bytes) = self.bytes(node) else { return };
        if !bytes.is_power_of_two() {
            return self.error(
                Code::OutOfRange,
                node.id,
                &format!("invalid alignment {bytes}"),
                "expected a power of two",
            );
        }
        self.target.alignment = Some(bytes);
    }

    fn operators(&mut self, node: &SourceNode<'_>) {
        let mut linked = LinkedOperators::default();
        for item in Decoder::items(node) {
            match &item.value {
                NodeValue::Text(name) => {
                    if pte_operators::find(name).is_none() {
                        self.misspelt(item.id, "operator", name, || pte_operators::similar_names(name));
                    }
                    linked.add(name.clone().into_owned(), LinkedKernel::default());
                }
                NodeValue::Map(entries) => self.operator_source(item, entries, &mut linked),
                _ => self.wrong_kind(item, "the name of an operator, `{library: NAME}` or `{file: PATH}`"),
            }
        }
        self.paths.clear();
        self.files(&mut linked);
        self.target.operators = Some(linked);
    }

    /// Reads the files, until they exceed their limit.
    fn files(&mut self, linked: &mut LinkedOperators) {
        let mut total = 0;
        for OperatorFile { path, node, are_types_selected } in std::mem::take(&mut self.files) {
            let text = match (self.read)(&path) {
                Ok(text) => text,
                Err(error) => {
                    let message = format!("cannot read {}: {error}", clipped(&path));
                    let mut diagnostic = Code::of_io(&error).error(node, message);
                    diagnostic.io = is_io(&error).then_some(error.kind());
                    self.push(diagnostic);
                    continue;
                }
            };
            total += text.len() as u64;
            if total > MAX_FILE {
                let message = format!("the files with operators have more than {MAX_FILE} bytes together");
                return self.error(Code::LimitExceeded, node, &message, "this one and the next are not read");
            }
            if let Err(message) = linked.add_file(&text, are_types_selected) {
                let message = format!("cannot use {}: {message}", clipped(&path));
                self.error(Code::InvalidFile, node, &message, "");
            }
        }
    }

    /// Reads `{library: NAME}` or `{file: PATH, dtype_selective: true}`.
    fn operator_source(
        &mut self,
        item: &SourceNode<'_>,
        entries: &[(MapKey<'_>, SourceNode<'_>)],
        linked: &mut LinkedOperators,
    ) {
        let (mut library, mut file, mut are_types_selected) = (None, None, false);
        let mut first: HashMap<&str, NodeId> = HashMap::new();
        for (key, node) in entries {
            self.duplicate(first.insert(&key.text, key.id), key);
            match &*key.text {
                "library" => library = Some(node),
                "file" => file = Some(node),
                "dtype_selective" => match node.value {
                    NodeValue::Bool(value) => are_types_selected = value,
                    _ => self.wrong_kind(node, "true or false"),
                },
                _ => self.unknown_key(key, &OPERATOR_KEYS),
            }
        }
        match (library, file) {
            (Some(node), None) if !are_types_selected => self.library(node, linked),
            (None, Some(node)) => {
                let Some(path) = self.text(node, "the path of a file") else { return };
                match self.paths.get(path) {
                    Some(index) => self.files[*index].are_types_selected &= are_types_selected,
                    None => {
                        self.paths.insert(path.to_owned(), self.files.len());
                        self.files.push(OperatorFile { path: path.to_owned(), node: node.id, are_types_selected });
                    }
                }
            }
            _ => self.error(
                Code::ConflictingKeys,
                item.id,
                "expected either `library` or `file`, and `dtype_selective` only beside `file`",
                "",
            ),
        }
    }

    fn library(&mut self, node: &SourceNode<'_>, linked: &mut LinkedOperators) {
        let Some(name) = self.text(node, "the name of a library") else { return };
        // Of more messages, none is kept.
        if linked.add_library(name) || self.diagnostics.len() >= MAX_MESSAGES {
            return;
        }
        let known = libraries();
        let names: Vec<&str> = known.iter().copied().collect();
        let error = Code::UnknownName.error(node.id, format!("unknown library `{}`", clipped(name)));
        let error = error.label(format!("expected one of {}", names.join(", ")));
        self.push(error.suggest_among(self.diagnostics.len(), name, known.iter().copied()));
    }
}
