//! Texts that can be inserted at an offset: keys of the map there, operators, names, words, files.
//!
//! The text is parsed with a word at the offset, so that there is a node to complete. Types are those of the text
//! itself.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::analysis::{Analysis, SourceDocument};
use super::calls;
use super::hover;
use super::insertion::{self, Slot};
use super::outline::file_path;
use super::places::{self, Place, SourceCall, Trail};
use super::results::{CompletionItem, CompletionKind};
use super::symbols::{self, NameKind, Symbol, WrittenNames};
use crate::facade::source::Source;
use crate::ir::shape::{Form, KeySpec, Shape};
use crate::ir::yaml;
use crate::layout::options::OptionKind;
use crate::pipeline::Resolved;
use pte_model::data::Origin;
use pte_model::format::ScalarType;
use pte_model::program::EValue;
use pte_operators::kinds::Kinds;
use pte_operators::{Arg, ArgKind, Base, OperatorDescription, Role};
use pte_releases::Release;
use pte_xnnpack::model::UNKNOWN_WORD;
use pte_yaml::repeat::{self, DO, REPEAT};
use pte_yaml::tree::NodeValue;

/// Added to the rank of an item that the word is no prefix of.
const NO_PREFIX: u8 = 6;

/// Number of items of [`Analysis::completions`] at most: more are left out.
pub const MAX_COMPLETIONS: usize = 1000;

/// What an item inserts, with the range that it replaces; `None` if it cannot stand there.
type Replacement = Option<(Range<usize>, String)>;

/// Words that most texts have, by their kinds, the most frequent first.
const COMMON: &[(CompletionKind, &str)] = &[
    (
        CompletionKind::Key,
        "methods values inputs outputs instructions kernel args out tensor sizes datatype data fill random npy file iota \
         numbers safetensors delegate delegates tests external graph nodes int_list",
    ),
    (CompletionKind::Word, "float32 int64 bool float16 int32 uint8 int8 bfloat16 float64 XnnpackBackend"),
    (
        CompletionKind::Operator,
        "aten::add.out aten::mul.out aten::relu.out aten::convolution.out aten::addmm.out aten::mm.out aten::linear.out \
         aten::view_copy.out aten::permute_copy.out aten::cat.out aten::_softmax.out aten::native_layer_norm.out \
         aten::gelu.out aten::sigmoid.out aten::sub.out aten::div.out aten::bmm.out aten::mean.out aten::embedding.out \
         aten::mul.Scalar_out dim_order_ops::_to_dim_order_copy.out",
    ),
];

/// Maximum number of names that a place of a snippet offers.
const MAX_CHOICES: usize = 8;

/// Names and keys of new maps, by their shapes, where they are others than the keys that the shape requires.
const NEW_MAPS: &[(&str, &str, &[&str])] = &[
    ("method", "forward", &["values", "inputs", "outputs", "instructions"]),
    ("instruction", "", &["kernel", "args", "out"]),
    ("instruction", "", &["delegate", "args"]),
    ("instruction", "", &["view", "sizes", "out"]),
    ("data_map", "", &["safetensors", "tensor"]),
    ("data_map", "", &["ptd", "key"]),
    ("data_map", "", &["pte", "key"]),
    ("tensor", "x", &["tensor", "sizes"]),
    ("delegate", "delegate", &["backend", "data"]),
    ("data_map", "data", &["file"]),
    ("named_data", "data", &["data"]),
    ("graph_value", "x", &["datatype", "sizes"]),
    ("test", "", &["inputs", "outputs"]),
    ("test_tensor", "", &["sizes", "data"]),
];

/// A name that may stand at the offset.
struct KnownName<'c> {
    number: usize,
    symbol: &'c Symbol,
    value: Option<&'c EValue>,
    kinds: Kinds,
    /// The value is only written later.
    is_later: bool,
}

/// Texts that can be inserted at one offset.
struct Completions<'a> {
    /// Analysis of the text itself.
    analysis: &'a Analysis,
    /// Document with the mark.
    document: &'a SourceDocument,
    trail: &'a [Place<'a>],
    /// Offset in the document with the mark.
    at: usize,
    slot: Slot,
    /// A map around is JSON: it is in braces and has keys in quotes.
    is_json: bool,
    /// Quote of keys, and of strings in what is inserted beside them.
    quote: &'static str,
    items: Vec<CompletionItem>,
}

impl Analysis {
    /// Returns the texts that can be inserted at an offset, the best ones first.
    pub fn completions(&self, at: usize) -> Vec<CompletionItem> {
        let text = self.text();
        if text.len() > super::analysis::MAX_TEXT {
            return Vec::new();
        }
        let files = self.documents.first().map(|document| document.source.files.clone());
        let (Some(marked), Some(files)) = (insertion::marked(text, at), files) else { return Vec::new() };
        let marked = Analysis::of_files(String::new(), &marked, &files, &self.options);
        let Some((document, inner)) = marked.at(at) else { return Vec::new() };
        let trail = places::trail(&document.syntax, inner);
        let Some(slot) = Slot::new(text, at, &marked, document, &trail) else { return Vec::new() };
        let Trail { places, is_key } = trail;
        let quoted = |place: &&Place<'_>| insertion::has_quoted_keys(&document.syntax, place.node);
        let is_json = places.iter().any(|place| insertion::is_json(&document.syntax, place.node));
        let nearest = places.iter().rev().find(|place| matches!(place.node.value, NodeValue::Map(_)));
        let is_quoted = is_json || is_key && slot.is_double() || nearest.as_ref().is_some_and(quoted);
        let quote = if is_quoted { "\"" } else { "" };
        let (analysis, trail, items) = (self, &*places, Vec::new());
        let mut completions = Completions { analysis, document, trail, at: inner, slot, is_json, quote, items };
        completions.collect(is_key);
        let Completions { mut items, slot: Slot { prefix, .. }, .. } = completions;
        items.sort_by_cached_key(|item| {
            // `aten::add.out` comes before `aten::add.Scalar_out`. Names have an order already.
            let length = if item.kind == CompletionKind::Operator { item.label.len() } else { 0 };
            let label = if item.kind == CompletionKind::Name { "" } else { &*item.label };
            let common = common(item.kind, &item.label);
            (item.rank, item.label != prefix, common, length, label.to_lowercase(), label.to_owned())
        });
        let mut known = HashSet::new();
        items.retain(|item| known.insert(item.label.clone()));
        items.truncate(MAX_COMPLETIONS);
        items
    }
}

impl<'a> Completions<'a> {
    fn collect(&mut self, is_key: bool) {
        let Some((place, above)) = self.trail.split_last() else { return };
        if is_key {
            if let Some(map) = above.last() {
                self.add_keys(map);
            }
            return;
        }
        self.add_names(place);
        self.add_files(place);
        if place.key.is_none() || place.holder.is_none() {
            self.add_repetition(place, &[], self.slot.block.is_none());
        }
        let Some(form) = place.form else { return };
        form.alternatives().into_iter().for_each(|form| self.add_form(place, form));
    }

    /// Adds an item whose replacement is possible here.
    fn add(&mut self, rank: u8, label: &str, (kind, detail): (CompletionKind, &str), replacement: Replacement) {
        let Some((range, snippet)) = replacement else { return };
        let prefix = &self.slot.prefix;
        if !is_subsequence(prefix, label) || label.contains(insertion::MARK) {
            return;
        }
        // Of an operator, people write the name without its namespace.
        let begins =
            label.starts_with(prefix) || label.split_once("::").is_some_and(|(_, name)| name.starts_with(prefix));
        self.items.push(CompletionItem {
            label: label.to_owned(),
            kind,
            detail: detail.to_owned(),
            documentation: String::new(),
            range,
            snippet,
            rank: rank + if begins { 0 } else { NO_PREFIX },
        });
    }

    fn add_word(&mut self, word: &str, detail: &str) {
        self.add(1, word, (CompletionKind::Word, detail), self.slot.replacement(&self.plain(word, word), word, ""));
    }

    /// Returns a string as it is written without quotes, but in JSON with them.
    fn plain(&self, written: &str, text: &str) -> String {
        if self.is_json { yaml::quoted(text) } else { written.to_owned() }
    }

    /// Adds a string that may need quotes.
    fn add_text(&mut self, rank: u8, text: &str, kind: CompletionKind, detail: &str) {
        self.add(rank, text, (kind, detail), self.slot.replacement(&self.plain(&yaml::text(text), text), text, ""));
    }

    /// Adds a key, with a snippet after it unless it has its `:`.
    fn add_key(&mut self, rank: u8, name: &str, detail: &str, rest: &str) {
        let (quote, rest) = (self.quote, if self.slot.has_colon { "" } else { rest });
        let replacement = self.slot.replacement(&format!("{quote}{name}{quote}"), name, rest);
        self.add(rank, name, (CompletionKind::Key, detail), replacement);
    }

    /// Adds the keys that a map does not have.
    fn add_keys(&mut self, map: &Place<'a>) {
        let NodeValue::Map(entries) = &map.node.value else { return };
        let others = entries.iter().filter(|(key, _)| !key.text.contains(insertion::MARK));
        let has: Vec<&str> = others.map(|(key, _)| &*key.text).collect();
        if has.is_empty() || has.iter().any(|key| [REPEAT, DO].contains(key)) {
            self.add_repetition(map, &has, false);
        }
        let Some(form) = map.form.filter(|_| !has.iter().any(|key| [REPEAT, DO].contains(key))) else { return };
        let mut shapes = Vec::new();
        match map.shape.filter(|shape| has.iter().any(|key| shape.key(key).is_some())) {
            Some(shape) => shapes.push(shape),
            None => shapes.extend(form.shapes()),
        }
        shapes.into_iter().for_each(|shape| self.add_keys_of(shape, &has));
        form.find(&mut |form| if let Form::Map(item) = form { Some(*item) } else { None })
            .into_iter()
            .for_each(|item| self.add_entry(item, &has));
    }

    fn add_keys_of(&mut self, shape: &'static Shape, has: &[&str]) {
        let has_one = shape.one_of.iter().any(|key| has.contains(key));
        // Arguments are those of an operator or a delegate.
        let belongs = |spec: &KeySpec| {
            let of_other = |keys: &&[&str]| shape.one_of.contains(&keys[0]) && keys[1..].contains(&spec.name);
            let mut others = new_maps(shape).filter(of_other).peekable();
            others.peek().is_none() || others.any(|keys| has.contains(&keys[0]))
        };
        for spec in shape.keys {
            let is_excluded = has_one && shape.one_of.contains(&spec.name);
            if has.contains(&spec.name) || is_excluded {
                continue;
            }
            let rank = match shape.required.contains(&spec.name) {
                true => 0,
                false if common(CompletionKind::Key, spec.name) < usize::MAX && belongs(spec) => 1,
                false if !has_one && shape.one_of.contains(&spec.name) => 2,
                false => 3,
            };
            let rest = format!(":{}", insertion::value(&spec.form, 0, self.slot.block, self.quote));
            let count = self.items.len();
            self.add_key(rank, spec.name, "", &rest);
            self.items[count..].iter_mut().for_each(|item| item.documentation = hover::key(shape, spec));
        }
    }

    /// Adds an entry of a map of names, with the keys of a new one.
    fn add_entry(&mut self, form: &'static Form, has: &[&str]) {
        for (shape, name, keys) in named_maps(form) {
            let others = (2..=has.len() + 2).map(|number| format!("{name}{number}"));
            let names = std::iter::once(name.to_owned()).chain(others);
            let Some(name) = names.into_iter().find(|name| !has.contains(&&**name)) else { continue };
            let name = &*name;
            let is_long = keys.iter().filter_map(|key| shape.key(key)).any(insertion::has_items);
            let rest = match self.slot.block.map(|column| column + 2).filter(|_| is_long) {
                Some(column) => {
                    let line = insertion::new_line(column);
                    let entries = self.new_entries(shape, keys, &mut 2, Some(column));
                    entries.into_iter().fold(":".to_owned(), |rest, entry| rest + &line + &entry)
                }
                None => format!(": {}", self.new_map(shape, keys, &mut 2)),
            };
            let count = self.items.len();
            self.add_key(1, name, shape.doc, &rest);
            let place = format!("${{1:{name}}}");
            self.items[count..].iter_mut().for_each(|item| item.snippet = item.snippet.replacen(name, &place, 1));
        }
    }

    /// Returns a map in braces with places for the values of keys.
    fn new_map(&self, shape: &'static Shape, keys: &[&str], number: &mut usize) -> String {
        format!("{{{}}}", self.new_entries(shape, keys, number, None).join(", "))
    }

    /// Returns keys with places for their values, whose numbers begin with `number`. The first of new values is an
    /// input.
    fn new_entries(
        &self,
        shape: &'static Shape,
        keys: &[&str],
        number: &mut usize,
        column: Option<usize>,
    ) -> Vec<String> {
        let (quote, mut input) = (self.quote, None);
        let mut entry = |spec: &'static KeySpec| {
            let value = match (&spec.form, &input) {
                (Form::List(_), Some(name)) if spec.name == "inputs" => format!(" [{name}]"),
                (Form::Map(item), _) if let Some((shape, name, keys)) = named_maps(item).next() => {
                    let name = format!("{quote}${{{number}:{name}}}{quote}");
                    *number += 1;
                    let new = format!("{name}: {}", self.new_map(shape, keys, number));
                    input = Some(name);
                    column.map_or_else(|| format!(" {{{new}}}"), |column| insertion::new_line(column + 2) + &new)
                }
                (Form::Shape(shape), _) if column.is_none() && !shape.required.is_empty() => {
                    format!(" {}", self.new_map(shape, shape.required, number))
                }
                (form, _) => {
                    *number += 1;
                    insertion::value(form, *number - 1, column, quote)
                }
            };
            format!("{quote}{}{quote}:{value}", spec.name)
        };
        keys.iter().filter_map(|key| shape.key(key)).map(&mut entry).collect()
    }

    /// Adds the keys of a repetition that a map does not have, where the list or the map around may have one; in braces
    /// if there is no map yet.
    fn add_repetition(&mut self, place: &Place<'a>, has: &[&str], in_braces: bool) {
        let (Some(form), Some(around)) = (place.form, place.around) else { return };
        let is_item = place.item.is_some() && matches!(form.unnamed(), Form::Shape(_));
        let is_entry = place.key.is_some() && place.holder.is_none() && form.shapes().next().is_some();
        if !is_item && !is_entry {
            return;
        }
        let quote = self.quote;
        let repeated = insertion::value(around, 0, self.slot.block, quote);
        let doc = "The same several times, with a counter: $(i).";
        let rest = match has.contains(&DO) {
            true => format!(": {{{quote}i{quote}: ${{1:2}}}}"),
            false => format!(": {{{quote}i{quote}: ${{1:2}}}}{}{quote}{DO}{quote}:{repeated}", self.slot.separator()),
        };
        if in_braces {
            let replacement = self.slot.structure(&format!("{{{quote}{REPEAT}{quote}{rest}}}"));
            self.add(4, &format!("{{{REPEAT}}}"), (CompletionKind::Key, doc), replacement);
        } else if !has.contains(&REPEAT) {
            self.add_key(4, REPEAT, doc, &rest);
        } else if !has.contains(&DO) {
            self.add_key(0, DO, doc, &format!(":{repeated}"));
        }
    }

    /// Adds what a form allows.
    fn add_form(&mut self, place: &Place<'a>, form: &'static Form) {
        match form {
            Form::Bool
                if self.slot.is_plain()
                    // Elements of data are numbers.
                    && !place.is_named("numbers")
                    && self.argument(place).is_none_or(|(kind, _)| matches!(kind.base, Base::Bool | Base::Scalar)) =>
            {
                for word in ["false", "true"] {
                    self.add(1, word, (CompletionKind::Word, ""), self.slot.replacement(word, word, ""));
                }
            }
            Form::Operator => self.add_operators(false),
            Form::Dtype => ScalarType::names().for_each(|name| self.add_word(name, "element type")),
            Form::OneOf(words) | Form::WordOrInt(words) => words.iter().for_each(|word| self.add_word(word, "")),
            Form::Alignment => self.add_word("page", "4096 bytes"),
            Form::Option(option) => match option.kind {
                OptionKind::Words(words) | OptionKind::WordsOrBytes(words, ..) => {
                    words.iter().for_each(|word| self.add_word(word, option.doc));
                }
                OptionKind::Alignment | OptionKind::ForcedAlignment => self.add_word("page", "4096 bytes"),
                OptionKind::Bytes(..) => {}
            },
            Form::Shape(shape) => {
                match self.slot.block {
                    Some(_) => self.add_keys_of(shape, &[]),
                    None if place.is_named("literal") => {}
                    None => self.add_maps(shape),
                }
                if shape.name == "instruction" {
                    self.add_operators(true);
                }
            }
            Form::Map(item) if self.slot.block.is_some() => self.add_entry(item, &[]),
            Form::List(Form::Shape(shape)) if self.slot.block.is_some() => {
                self.add(1, "-", (CompletionKind::Key, shape.doc), self.slot.structure("- $0"));
            }
            Form::List(_) if self.slot.block.is_none() && !place.is_named("literal") => {
                self.add(2, "[…]", (CompletionKind::Key, "a list"), self.slot.structure("[$0]"));
            }
            Form::Text => self.add_texts(place),
            Form::Any
            | Form::Null
            | Form::Bool
            | Form::Int
            | Form::UInt
            | Form::Number
            | Form::Size
            | Form::List(_)
            | Form::Map(_)
            | Form::Either(_)
            | Form::Named(..) => {}
        }
    }

    /// Adds maps in braces with the keys that they need, one for each of alternative keys.
    fn add_maps(&mut self, shape: &'static Shape) {
        let of_key = |key: &'static &str| match new_maps(shape).find(|keys| keys.contains(key)) {
            Some(keys) => keys.to_vec(),
            None => shape.required.iter().chain([key]).copied().collect(),
        };
        let maps = match shape.one_of {
            [] => vec![new_maps(shape).next().unwrap_or(shape.required).to_vec()],
            keys => keys.iter().filter(|key| **key != UNKNOWN_WORD).map(of_key).collect(),
        };
        for keys in maps.into_iter().filter(|keys| !keys.is_empty()) {
            let replacement = self.slot.structure(&self.new_map(shape, &keys, &mut 1));
            let key = shape.key(keys[0]).filter(|_| !shape.one_of.is_empty());
            let (label, doc) = (format!("{{{}: …}}", keys.join(": …, ")), key.map_or(shape.doc, |spec| spec.doc));
            let rank = if common(CompletionKind::Key, &label) < usize::MAX { 1 } else { 3 };
            self.add(rank, &label, (CompletionKind::Key, doc), replacement);
        }
    }

    /// Adds strings of some keys.
    fn add_texts(&mut self, place: &Place<'a>) {
        if place.is_value_of("delegate", "backend") {
            pte_xnnpack::FORMATS.backends().into_iter().for_each(|backend| self.add_word(backend, "backend"));
        }
        if place.is_value_of("document", "runtime") {
            let releases: Vec<String> = Release::known().map(|release| release.version().to_string()).collect();
            for version in releases {
                self.add_text(1, &version, CompletionKind::Word, "release of ExecuTorch");
            }
        }
        let keys = [("tensor", "safetensors"), ("key", "ptd"), ("key", "pte")];
        let Some(map) = self.trail.iter().rev().nth(1) else { return };
        for (_, file) in keys.into_iter().filter(|(key, _)| place.is_value_of("data_map", key)) {
            let Some(NodeValue::Text(name)) = places::entry(map.node, file).map(|node| &node.value) else { continue };
            for key in keys_of(&file_path(self.document, name), self.document) {
                self.add_text(1, &key, CompletionKind::Name, file);
            }
        }
    }

    /// Adds operators, each with the arguments of a call unless the instruction has some; as instructions if there is
    /// none yet.
    fn add_operators(&mut self, is_new: bool) {
        let instruction = self.trail.iter().rev().nth(1).filter(|_| !is_new);
        let has_args = instruction.is_some_and(|place| {
            places::entry(place.node, "args").is_some() || places::entry(place.node, "out").is_some()
        });
        let (syntax, quote) = (&self.document.syntax, self.quote);
        let is_flow = self.trail.iter().rev().skip(1).any(|place| insertion::is_flow(syntax, place.node));
        let start = instruction.map_or(0, |place| syntax.range(place.node.id).start);
        let column = syntax.text()[..start].rsplit('\n').next().map_or(0, |line| line.chars().count());
        let separator = if is_flow || is_new { ", ".to_owned() } else { insertion::new_line(column) };
        let names = self.names(NameKind::Value);
        let mut known: HashMap<u16, String> = HashMap::new();
        let mut choices = |kinds: Kinds| known.entry(kinds.0).or_insert_with(|| choices(&names, kinds)).clone();
        let prefix = self.slot.prefix.clone();
        let mut items = Vec::new();
        for name in OperatorDescription::names().filter(|name| is_subsequence(&prefix, name)) {
            let Some(operator) = OperatorDescription::find(name) else { continue };
            let mut call = || insertion::call(&operator, &separator, quote, &mut choices);
            let replacement = match (is_new, has_args) {
                (true, _) => {
                    let new = format!("{{{quote}kernel{quote}: {quote}{name}{quote}{}}}", call());
                    self.slot.structure(&new)
                }
                (false, true) => self.slot.replacement(&self.plain(name, name), name, ""),
                (false, false) => self.slot.replacement(&self.plain(name, name), name, &call()),
            };
            items.push((name, operator.library, replacement));
        }
        for (name, library, replacement) in items {
            let rank = if is_new { 4 } else { 1 } + u8::from(library.is_some());
            let count = self.items.len();
            self.add(rank, name, (CompletionKind::Operator, library.unwrap_or_default()), replacement);
            let documentation = || calls::markdown(name).unwrap_or_default();
            self.items[count..].iter_mut().for_each(|item| item.documentation = documentation());
        }
    }

    /// Adds the names that may stand here; of values those that the argument takes.
    fn add_names(&mut self, place: &Place<'a>) {
        let Some(kind) = symbols::kind_at(self.trail) else { return };
        let expected = if kind == NameKind::Value { self.argument(place) } else { None };
        let is_repeated = self.trail.iter().any(|place| repeat::parts(place.node).is_some());
        let document = self.document;
        let mut written = WrittenNames::new(&document.syntax);
        for KnownName { number, symbol, value, kinds, is_later } in self.names(kind) {
            if expected.is_some_and(|(_, expected)| !kinds.meets(expected)) {
                continue;
            }
            let detail = value.map_or_else(|| hover::kind_name(kind).to_owned(), pte_inspect::summary::describe);
            // In a repetition, names are those with its counters.
            let mut declarations = document.symbols().of(number);
            let declaration = declarations.find(|name| name.declares && name.is_copy && is_repeated);
            let (name, text) = match declaration.map(|declaration| written.written(declaration)) {
                Some(name) => (name, name.into()),
                None => (&*symbol.name, yaml::text(&symbol.name)),
            };
            let replacement = self.slot.replacement(&self.plain(&text, name), name, "");
            self.add(if is_later { 4 } else { 0 }, name, (CompletionKind::Name, &detail), replacement);
        }
    }

    /// Returns the names in the scope of the offset. Values are in the order of the last results before it, and those
    /// that nothing has written follow, the last declared ones first; other names are in alphabetical order.
    fn names(&self, kind: NameKind) -> Vec<KnownName<'a>> {
        let scope = symbols::scopes(&self.document.syntax, self.at)(kind);
        let index = self.document.symbols();
        let own = self.analysis.at(self.slot.range.start).map(|(document, _)| document);
        let known = own.and_then(|document| document.assembled());
        let end = self.end();
        let mut names = Vec::new();
        for (number, symbol) in index.names(kind, scope) {
            let method = symbol.method.wrapping_sub(1);
            let value = known.and_then(|known| known.evalue(method, known.value(method, &symbol.name)?));
            let kinds = match value {
                Some(value) => Kinds::of_tag(value.tag()),
                None if self.is_tensor(symbol) => Kinds::TENSOR,
                None => Kinds::ANY.without(Kinds::TENSOR),
            };
            let before = |writes: bool| {
                let all = index.of(number).filter(|name| name.writes == writes && (writes || name.step.is_none()));
                all.map(|name| name.range.start).filter(|start| *start < end).max()
            };
            let order = if kind == NameKind::Value { (before(true), before(false)) } else { (None, None) };
            let is_written = kind == NameKind::Value && index.of(number).any(|name| name.writes);
            let is_later = is_written && order.0.is_none();
            names.push((order, KnownName { number, symbol, value, kinds, is_later }));
        }
        names.sort_by(|(a, left), (b, right)| b.cmp(a).then_with(|| left.symbol.name.cmp(&right.symbol.name)));
        names.into_iter().map(|(_, name)| name).collect()
    }

    /// Returns the offset before which values are written that may be read here.
    fn end(&self) -> usize {
        let is_instruction =
            |place: &&Place<'_>| place.form.is_some_and(|form| form.shapes().any(|shape| shape.name == "instruction"));
        match (places::nearest_key(self.trail), self.trail.iter().rev().find(is_instruction)) {
            (_, Some(instruction)) => self.document.syntax.range(instruction.node.id).start,
            (Some((_, spec)), None) if spec.name == "inputs" => 0,
            _ => usize::MAX,
        }
    }

    /// Returns the type of the argument at the mark, and the kinds of values that may stand there: those of the
    /// argument, or of the items of its list.
    fn argument(&self, place: &Place<'a>) -> Option<(ArgKind, Kinds)> {
        let call = SourceCall::around(self.trail)?;
        let operator = OperatorDescription::find(call.name)?;
        let (_, spec) = places::nearest_key(self.trail)?;
        let is_out = spec.name == "out";
        let of_role = |argument: &&Arg| (argument.role == Role::Out) == is_out;
        let mut arguments = operator.arguments.iter().filter(of_role).map(|argument| argument.kind);
        if is_out {
            return arguments.next().map(|kind| (kind, Kinds::TENSOR));
        }
        let args = self.trail.iter().position(|place| place.is_value_of("instruction", "args"))?;
        let kind = arguments.nth(self.trail.get(args + 1).or(Some(place))?.item?)?;
        let is_item = self.trail.len() > args + 2 && kind.list;
        Some((kind, if is_item { kind.item_kinds() } else { kind.kinds() }))
    }

    /// Returns true for a value that is declared as a tensor, or is a result.
    fn is_tensor(&self, symbol: &Symbol) -> bool {
        let index = self.document.symbols();
        let mut occurrences = symbol.occurrences.iter().map(|at| &index.occurrences[*at]);
        let Some(declaration) = occurrences.find(|occurrence| occurrence.declares) else { return true };
        let trail = places::trail(&self.document.syntax, declaration.range.start);
        let shape = trail.places.last().filter(|_| trail.is_key).and_then(|place| place.shape);
        declaration.writes || shape.is_some_and(|shape| shape.name == "tensor")
    }

    /// Adds the files of the folder that the word names.
    fn add_files(&mut self, place: &Place<'a>) {
        let is_file = place.holder.is_some_and(|(shape, spec)| {
            let of_data = shape.name == "data_map" && ["file", "npy", "safetensors", "ptd", "pte"].contains(&spec.name);
            of_data || shape.name == "checkpoint" && spec.name == "safetensors"
        });
        let is_path = self.trail.len() == 3 && self.trail[1].is_value_of("document", "files");
        if is_file || is_path {
            for name in files(self.document, &self.slot.prefix) {
                let replacement = self.slot.replacement(&path(&name), &name, "");
                self.add(1, &name, (CompletionKind::File, ""), replacement);
            }
        }
    }
}

/// Returns the maps with names that a form allows, each with a name and the keys of a new one.
fn named_maps(form: &'static Form) -> impl Iterator<Item = (&'static Shape, &'static str, &'static [&'static str])> {
    let row = |shape: &'static Shape| {
        let row = NEW_MAPS.iter().find(|(known, name, _)| *known == shape.name && !name.is_empty());
        row.map(|(_, name, keys)| (shape, *name, *keys))
    };
    form.shapes().filter_map(row)
}

/// Returns the keys of new maps of a shape; of alternative keys, the first one is in the map.
fn new_maps(shape: &Shape) -> impl Iterator<Item = &'static [&'static str]> {
    NEW_MAPS.iter().filter(|(known, ..)| *known == shape.name).map(|(.., keys)| *keys)
}

/// Returns the position of an item among the common ones.
fn common(kind: CompletionKind, label: &str) -> usize {
    let word = label.strip_prefix('{').and_then(|keys| keys.split(':').next()).unwrap_or(label);
    let mut words = COMMON.iter().filter(|(of, _)| *of == kind).flat_map(|(_, words)| words.split(' '));
    words.position(|known| known == word).unwrap_or(usize::MAX)
}

/// Returns the choices of a snippet among values of some kinds; nothing if there are none.
fn choices(names: &[KnownName<'_>], kinds: Kinds) -> String {
    let suits = |name: &&KnownName<'_>| !name.is_later && kinds != Kinds::ANY && name.kinds.meets(kinds);
    let is_plain = |name: &&str| yaml::text(name) == *name && !name.contains([',', '|', '\\', '$', '}']);
    let names = names.iter().filter(suits).map(|name| &*name.symbol.name).filter(is_plain);
    names.take(MAX_CHOICES).collect::<Vec<_>>().join(",")
}

/// Returns the keys of the data in a file.
fn keys_of(path: &Path, document: &SourceDocument) -> Vec<String> {
    if document.source.files.check(path).is_err() {
        return Vec::new();
    }
    let source = Arc::new(Source::binary(String::new(), Origin::File(path.into())));
    let Ok(resolved) = Resolved::read(&source) else { return Vec::new() };
    let program = resolved.program;
    let external = program.external_data.iter().map(|data| data.key.clone());
    let named = program.named_data.iter().flatten().map(|data| data.key.clone());
    let tensors = program.tensors().filter_map(|(.., tensor)| tensor.name().map(str::to_owned));
    let mut keys: Vec<String> = external.chain(named).chain(tensors).take(MAX_COMPLETIONS).collect();
    keys.sort();
    keys
}

/// Returns the files of a folder that a path begins with, folders with `/` after them.
fn files(document: &SourceDocument, prefix: &str) -> Vec<String> {
    let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = document.source.files.folder.join(folder);
    if document.source.files.check(&path).is_err() {
        return Vec::new();
    }
    let names = pte_model::data::files::names_in(&path, MAX_COMPLETIONS).into_iter();
    names.filter_map(|name| Some(Path::new(folder).join(name).to_str()?.to_owned())).collect()
}

/// Returns the path of a file without quotes if that is safe, else with them.
fn path(name: &str) -> Cow<'_, str> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte));
    let below = name.trim_start_matches("../");
    let first = below.split(['/', '.', '-']).next().unwrap_or_default();
    let is_safe = is_plain && (below.is_empty() || !first.is_empty() && yaml::text(first) == first);
    if is_safe { Cow::Borrowed(name) } else { yaml::quoted(name).into() }
}

/// Returns true if a text has the characters of a word in their order, in any case.
fn is_subsequence(word: &str, text: &str) -> bool {
    let mut characters = text.chars().flat_map(char::to_lowercase);
    word.chars().flat_map(char::to_lowercase).all(|c| characters.any(|other| other == c))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::ops::Range;

    use super::{CompletionItem, CompletionKind};
    use crate::editor::fixtures::{analysis, marked};
    use crate::editor::{Analysis, LanguageOptions};
    use crate::ir::shape::{self, Form, Shape};
    use pte_yaml::tree::{self, NodeValue, SourceNode};

    /// Labels, or the snippet of one label.
    fn labels(text: &str) -> Vec<String> {
        let (text, at) = marked(text);
        analysis(&text).completions(at).into_iter().map(|item| item.label).collect()
    }

    fn snippet(text: &str, label: &str) -> String {
        let (text, at) = marked(text);
        let items = analysis(&text).completions(at);
        items.into_iter().find(|item| item.label == label).unwrap_or_else(|| panic!("no {label}")).snippet
    }

    const METHOD: &str = "methods:\n  f:\n    values:\n      a: {tensor: float32, sizes: [2]}\n      n: 3\n    inputs: [a]\n    instructions:\n";

    #[test]
    fn keys_are_those_of_the_place() {
        assert!(labels("|").contains(&"methods".to_owned()));
        assert_eq!(snippet("meth|", "methods"), "methods:\n  $0");
        let method = labels("methods:\n  f:\n    |\n");
        assert!(method.contains(&"instructions".to_owned()) && !method.contains(&"methods".to_owned()), "{method:?}");
        let rest = labels(&format!("{METHOD}    outp|\n"));
        assert_eq!(rest[0], "outputs");
        assert!(!labels(&format!("{METHOD}    |\n")).contains(&"inputs".to_owned()));
        assert_eq!(labels("named_data: {x: {fil|}}")[..2], ["fill", "file"]);
        assert_eq!(snippet("methods: {f: {inst|", "instructions"), "instructions: [$0]");
        assert_eq!(snippet("meth|: {}", "methods"), "methods");
        assert!(labels("# |").is_empty());
    }

    #[test]
    fn what_is_repeated_has_the_keys_and_names_of_its_surroundings() {
        let text = "methods:\n  f:\n    values:\n      b: {repeat: {i: 2}, do: {b$(i): {tensor: float32, sizes: [2]}}}\n    instructions:\n";
        let repeated = |item: &str| labels(&format!("{text}      - repeat: {{i: 2}}\n        do:\n          - {item}"));
        assert!(repeated("{ker|}").contains(&"kernel".to_owned()));
        let names = repeated("{kernel: aten::relu.out, args: [|]}");
        assert!(names.contains(&"b$(i)".to_owned()) && !names.contains(&"b".to_owned()), "{names:?}");
    }

    #[test]
    fn operators_are_completed_with_arguments() {
        let text = format!("{METHOD}      - {{kernel: reluout|\n");
        assert_eq!(snippet(&text, "aten::relu.out"), "aten::relu.out, args: [${1|a|}], out: ${2:out}");
        let block = format!("{METHOD}      - kernel: addmm|\n");
        assert!(snippet(&block, "aten::addmm.out").contains("\n        args: [${1|a|}, ${2|a|}"));
        let given = format!("{METHOD}      - {{kernel: relu|, args: [a], out: b}}\n");
        assert_eq!(snippet(&given, "aten::relu.out"), "aten::relu.out");
        assert!(labels(&format!("{METHOD}      - |\n")).contains(&"kernel".to_owned()));
        assert_eq!(labels(&format!("{METHOD}      - {{kernel: aten::ad|\n"))[0], "aten::add.out");
        assert_eq!(labels(&format!("{METHOD}      - {{kernel: view|\n"))[0], "aten::view_copy.out");
    }

    #[test]
    fn frequent_items_are_the_first_ones() {
        let method = |text: &str| format!("methods:\n  f:\n    {text}\n");
        let value = |text: &str| method(&format!("values: {{x: {text}}}"));
        let call = |text: &str| format!("{METHOD}      - {text}\n");
        for (text, expected) in [
            ("|".to_owned(), &["methods"][..]),
            (method("|"), &["values", "inputs", "outputs", "instructions"]),
            (value("|"), &["{tensor: …, sizes: …}"]),
            (value("{tens|}"), &["tensor", "tensor_list"]),
            (value("{|}"), &["tensor", "sizes", "data"]),
            (value("{tensor: |}"), &["float32", "int64", "bool"]),
            (value("{tensor: float|}"), &["float32", "float16", "float64"]),
            (value("{tensor: float64, data: {|}}"), &["fill", "random", "npy", "file"]),
            (call("{|}"), &["kernel", "delegate"]),
            (call("{kernel: aten::relu.out, |}"), &["args", "out"]),
            (call("{kernel: |}"), &["aten::add.out", "aten::mul.out", "aten::relu.out"]),
            (call("{kernel: m|}"), &["aten::mul.out", "aten::mm.out"]),
            (value("{tensor: float64, data: {safetensors: x, |}}"), &["tensor"]),
            (method("tests: [{|}]"), &["inputs", "outputs"]),
            ("methods: {f: {delegates: {d: {|}}}}".to_owned(), &["backend", "data"]),
        ] {
            assert_eq!(labels(&text)[..expected.len()], *expected, "{text}");
        }
        for (kind, words) in super::COMMON.iter().filter(|(kind, _)| *kind == CompletionKind::Operator) {
            words
                .split(' ')
                .for_each(|word| assert!(super::OperatorDescription::find(word).is_some(), "{kind:?} {word}"));
        }
    }

    /// Collects the shapes that maps in a form may have, with those inside of them.
    fn collect(form: &'static Form, depth: usize, found: &mut BTreeMap<&'static str, &'static Shape>) {
        for form in form.alternatives() {
            match form {
                // Lists of numbers contain such lists.
                Form::List(item) | Form::Map(item) if depth < 4 => collect(item, depth + 1, found),
                Form::Shape(shape) if found.insert(shape.name, shape).is_none() => {
                    shape.keys.iter().for_each(|key| collect(&key.form, 0, found));
                }
                _ => {}
            }
        }
    }

    #[test]
    fn tables_have_keys_of_the_grammar() {
        let mut shapes = BTreeMap::new();
        static ROOT: Form = Form::Shape(&shape::DOCUMENT);
        collect(&ROOT, 0, &mut shapes);
        for (shape, _, keys) in super::NEW_MAPS {
            keys.iter().for_each(|key| assert!(shapes[shape].key(key).is_some(), "{shape} {key}"));
        }
        let (_, keys) = super::COMMON[0];
        let is_key = |key: &str| shapes.values().any(|shape| shape.key(key).is_some());
        keys.split(' ').for_each(|key| assert!(is_key(key), "{key}"));
    }

    #[test]
    fn data_are_lists_or_maps_with_one_of_the_keys() {
        let data = labels("methods: {f: {values: {x: {tensor: float32, data: |}}}}");
        assert_eq!(data[..4], ["{fill: …}", "{random: …}", "{npy: …}", "{file: …}"]);
        assert!(data.contains(&"[…]".to_owned()));
        let inputs = labels("methods: {f: {tests: [{inputs: [|]}]}}");
        for (all, excluded) in [(&data, "data_map"), (&inputs, "test_tensor")] {
            let is_wrong = |label: &String| ["false", "true"].contains(&&**label) || label.contains(excluded);
            assert!(!all.iter().any(is_wrong), "{all:?}");
        }
        assert!(["{sizes: …, data: …}", "{random: …}", "[…]"].iter().all(|label| inputs.iter().any(|l| l == label)));
        assert!(!labels("methods: {f: {tests: [{inputs: [[|]]}]}}").contains(&"true".to_owned()));
        let snippet = |label| snippet("data: {x: |}", label);
        assert_eq!(snippet("{random: …}"), "{random: {seed: ${1:1}}}");
        assert_eq!(snippet("{fill: …}"), "{fill: $1}");
        assert_eq!(snippet("{safetensors: …, tensor: …}"), "{safetensors: $1, tensor: $2}");
        let instructions = labels("methods: {f: {instructions: [|]}}");
        assert_eq!(instructions[..2], ["{kernel: …, args: …, out: …}", "{delegate: …, args: …}"]);
    }

    #[test]
    fn arguments_are_chosen_from_the_values_that_exist() {
        let line = |out: &str| format!("      - {{kernel: aten::relu.out, args: [a], out: {out}}}\n");
        let (first, last) = (line("b") + &line("c"), line("d"));
        let text = |item: &str| format!("{METHOD}{first}      - {item}\n{last}");
        assert_eq!(labels(&text("{kernel: aten::relu.out, args: [|], out: e}")), ["c", "b", "a", "d", "e"]);
        let call = snippet(&text("{kernel: aten::add.o|}"), "aten::add.out");
        assert_eq!(call, "aten::add.out, args: [${1|c,b,a|}, ${2|c,b,a|}], out: ${3:out}");
        // Values are tensors or not, at most eight, and no name has a character of a choice.
        let text = "methods: {f: {values: {\"a, b\": {tensor: float32}, \"a|b\": {tensor: float32}, n: 1}, instructions: [{kernel: aten::permute_copy.o";
        let many = (0..20).map(|n| format!("t{n}: {{tensor: float32}}, ")).collect::<String>();
        for (text, first) in [
            (text.to_owned(), "${1:self}"),
            (text.replace("n: 1", &(many + "n: 1")), "${1|t19,t18,t17,t16,t15,t14,t13,t12|}"),
        ] {
            let at = text.len();
            let items = analysis(&text).completions(at);
            let item = items.iter().find(|item| item.label == "aten::permute_copy.out").unwrap();
            assert_eq!(item.snippet, format!("aten::permute_copy.out, args: [{first}, [${{2|n|}}]], out: ${{3:out}}"));
        }
        assert_eq!(labels(&format!("{METHOD}{first}    outputs: [|]\n"))[..3], ["c", "b", "a"]);
    }

    #[test]
    fn operators_are_whole_instructions() {
        let expected = "{kernel: aten::relu.out, args: [${1|a|}], out: ${2:out}}";
        assert_eq!(snippet(&format!("{METHOD}      - relu|\n"), "aten::relu.out"), expected);
        assert_eq!(labels(&format!("{METHOD}      - conv|\n"))[0], "aten::convolution.out");
        let json = r#"{"methods": {"f": {"instructions": [relu|]}}}"#;
        assert_eq!(
            snippet(json, "aten::relu.out"),
            r#"{"kernel": "aten::relu.out", "args": ["${1:self}"], "out": "${2:out}"}"#
        );
    }

    #[test]
    fn what_is_inserted_into_json_is_json() {
        for (text, label) in [
            (r#"{"methods": {|}}"#, "forward"),
            (r#"{"name": "a", |}"#, "methods"),
            (r#"{"name": "a", |}"#, "runtime"),
            (r#"{"methods": {"f": {"values": {"x": |}}}}"#, "{tensor: …, sizes: …}"),
            (r#"{"methods": {"f": {"values": {"x": {"tensor": |}}}}}"#, "float32"),
            (r#"{"methods": {"f": {"requires_grad": |}}}"#, "true"),
            (r#"{"methods": {"f": {"instructions": [|]}}}"#, "{repeat}"),
            (r#"{"methods": {"f": {"instructions": [|]}}}"#, "aten::relu.out"),
            (r#"{"methods": {"f": {"instructions": [{"kernel": |}]}}}"#, "aten::relu.out"),
            (r#"{"methods": {"f": {"values": {"x": 1}, "inputs": [|]}}}"#, "x"),
            (r#"{"data": {"x": |}}"#, "{random: …}"),
            (r#"{"data": {"x": |}}"#, "{npy: …}"),
            (r#"{"data": {"x": {"fill": 0}, |}}"#, "data"),
        ] {
            let all = completed(text, label);
            // The places of a number or a list are empty.
            let filled = all.replace(": }", ": 0}").replace(": ,", ": 0,");
            assert!(serde_json::from_str::<serde_json::Value>(&filled).is_ok(), "{label}: {all}");
        }
    }

    #[test]
    fn keys_are_described_once() {
        let (text, at) = marked("methods: {f: {values: {}, inp|}}");
        let item = analysis(&text).completions(at).remove(0);
        assert_eq!((&*item.detail, &*item.documentation), ("", "**inputs** — The inputs, by name."));
    }

    #[test]
    fn names_suit_the_argument() {
        let call = |args: &str| labels(&format!("{METHOD}      - {{kernel: aten::mean.out, args: [{args}"));
        assert_eq!(call("|"), ["a"]);
        assert!(call("a, [|").contains(&"n".to_owned()) && !call("a, [|").contains(&"a".to_owned()));
        // Of a list, itself or its items.
        let text =
            METHOD.replace("    inputs", "      dims: {int_list: [0]}\n      all: {tensor_list: [a]}\n    inputs");
        assert_ne!(text, METHOD);
        let call = |operator: &str, args: &str| labels(&format!("{text}      - {{kernel: {operator}, args: [{args}"));
        assert_eq!(call("aten::cat.out", "|"), ["all"]);
        assert_eq!(call("aten::cat.out", "[|"), ["a"]);
        assert_eq!(call("aten::permute_copy.out", "a, |"), ["dims"]);
        assert_eq!(call("aten::permute_copy.out", "a, [|"), ["n"]);
        assert_eq!(labels(&format!("{METHOD}      - {{jump_false: {{cond: |")), ["a", "n", "false", "true"]);
        let second = format!(
            "{METHOD}      - {{kernel: aten::relu.out, args: [a], out: b}}\n      - {{kernel: aten::relu.out, args: [|]}}\n"
        );
        assert_eq!(labels(&second), ["b", "a"]);
    }

    /// The text after an item was accepted, with the names of places as their values.
    fn accepted(text: &str, item: &CompletionItem) -> String {
        let (mut out, mut rest) = (text[..item.range.start].to_owned(), &*item.snippet);
        while let Some(at) = rest.find(['$', '\\']) {
            out.push_str(&rest[..at]);
            let escape = rest[at..].starts_with('\\');
            let (name, length) = match rest[at + 1..].split_once('}') {
                _ if escape => (&rest[at + 1..at + 2], 2),
                Some((place, _)) if place.starts_with('{') => {
                    let content = place.split_once([':', '|']).unwrap().1;
                    (content.split([',', '|']).next().unwrap(), place.len() + 2)
                }
                _ => ("", 2),
            };
            out.push_str(name);
            rest = &rest[at + length..];
        }
        out + rest + &text[item.range.end..]
    }

    /// The text after the item with a label was accepted.
    fn completed(text: &str, label: &str) -> String {
        let (text, at) = marked(text);
        let items = analysis(&text).completions(at);
        let labels = || items.iter().map(|item| &*item.label).collect::<Vec<_>>().join(" ");
        let item = items.iter().find(|item| item.label == label).unwrap_or_else(|| panic!("{label}: {}", labels()));
        accepted(&text, item)
    }

    #[test]
    fn quotes_around_the_word_are_kept() {
        for (text, label, expected) in [
            (r#"{"meth|"#, "methods", r#"{"methods": {}"#),
            (r#"{"meth|"}"#, "methods", r#"{"methods": {}}"#),
            (r#"{"meth|": {}}"#, "methods", r#"{"methods": {}}"#),
            (r#"{"meth|" : {}}"#, "methods", r#"{"methods" : {}}"#),
            (r#"{"meth|, "name": "a"}"#, "methods", r#"{"methods": {}, "name": "a"}"#),
            (r#"{"name": "a", |}"#, "methods", r#"{"name": "a", "methods": {}}"#),
            ("{'meth|'}", "methods", "{'methods': {}}"),
            ("\"meth|", "methods", "\"methods\":\n  "),
            ("\"meth|\"\n", "methods", "\"methods\":\n  \n"),
            (
                "methods: {f: {instructions: [{kernel: \"aten::relu.o|\"}]}}",
                "aten::relu.out",
                "methods: {f: {instructions: [{kernel: \"aten::relu.out\", args: [self], out: out}]}}",
            ),
            (
                r#"{"methods": {"f": {"instructions": [{"kernel": "aten::relu.o|"#,
                "aten::relu.out",
                r#"{"methods": {"f": {"instructions": [{"kernel": "aten::relu.out", "args": ["self"], "out": "out""#,
            ),
            (
                "methods:\n  f:\n    instructions:\n      - \"kernel\": relu.ou|\n",
                "aten::relu.out",
                "methods:\n  f:\n    instructions:\n      - \"kernel\": aten::relu.out\n        \"args\": [\"self\"]\n        \"out\": \"out\"\n",
            ),
            ("methods:\n  f:\n    \"instr|\n", "instructions", "methods:\n  f:\n    \"instructions\":\n      - \n"),
            ("runtime: \"1.|\"", "1.1.0", "runtime: \"1.1.0\""),
            ("runtime: '1.|'", "1.1.0", "runtime: '1.1.0'"),
            ("runtime: 1.|", "1.1.0", "runtime: \"1.1.0\""),
        ] {
            assert_eq!(completed(text, label), expected, "{text}");
        }
        assert_eq!(labels("# \"|"), [""; 0]);
    }

    #[test]
    fn keys_of_a_text_with_a_byte_order_mark_are_completed() {
        assert_eq!(completed("\u{feff}meth|", "methods"), "\u{feff}methods:\n  ");
        assert_eq!(completed("\u{feff}|name: a\n", "layout"), "\u{feff}layout: a\n");
        assert_eq!(completed("\u{feff}{meth|", "methods"), "\u{feff}{methods: {}");
    }

    #[test]
    fn a_map_of_names_gets_an_entry() {
        assert_eq!(
            completed("methods:\n  |\n", "forward"),
            "methods:\n  forward:\n    values:\n      x: {tensor: float32, sizes: [1]}\n    inputs: [x]\n    outputs: []\n    instructions:\n      - \n"
        );
        assert_eq!(
            completed("methods: {|", "forward"),
            "methods: {forward: {values: {x: {tensor: float32, sizes: [1]}}, inputs: [x], outputs: [], instructions: []}"
        );
        assert_eq!(snippet("data: {|}", "data"), "${1:data}: {file: $2}");
        assert_eq!(
            completed(&METHOD.replace("    inputs", "      |\n    inputs"), "x"),
            METHOD.replace("    inputs", "      x: {tensor: float32, sizes: [1]}\n    inputs")
        );
        assert!(labels("methods: {f: {values: {x: 1, |}}}").contains(&"x2".to_owned()));
        assert_eq!(snippet("methods: {f: {delegates: {|}}}", "delegate"), "${1:delegate}: {backend: $2, data: $3}");
    }

    #[test]
    fn repetitions_are_completed() {
        let list = |item: &str| format!("{METHOD}      - {item}\n");
        assert_eq!(completed(&list("rep|"), "repeat"), list("repeat: {i: 2}\n        do:\n          - "));
        assert_eq!(completed(&list("{rep|}"), "repeat"), list("{repeat: {i: 2}, do: []}"));
        assert_eq!(completed(&list("{\"rep|"), "repeat"), list("{\"repeat\": {\"i\": 2}, \"do\": []"));
        assert_eq!(completed(&list("{repeat: {i: 2}, |}"), "do"), list("{repeat: {i: 2}, do: []}"));
        assert_eq!(
            completed(&list("repeat: {i: 2}\n        |"), "do"),
            list("repeat: {i: 2}\n        do:\n          - ")
        );
        assert_eq!(completed("methods: {f: {instructions: [|]}}", "{repeat}"), {
            "methods: {f: {instructions: [{repeat: {i: 2}, do: []}]}}"
        });
        assert_eq!(completed("methods: {f: {values: {w: {re|}}}}", "repeat"), {
            "methods: {f: {values: {w: {repeat: {i: 2}, do: {}}}}}"
        });
        assert!(!labels("layout: {|}").contains(&"repeat".to_owned()));
    }

    #[test]
    fn arguments_that_are_lists_have_brackets() {
        let text = format!("{METHOD}      - {{kernel: aten::permute_copy.o|\n");
        let expected = "aten::permute_copy.out, args: [${1|a|}, [${2|n|}]], out: ${3:out}";
        assert_eq!(snippet(&text, "aten::permute_copy.out"), expected);
        let split = format!("{METHOD}      - {{kernel: aten::split_copy.Tensor_o|\n");
        assert!(snippet(&split, "aten::split_copy.Tensor_out").ends_with("out: [${3:out}]"));
    }

    #[test]
    fn names_of_files_are_inserted_as_strings() {
        let folder = std::env::temp_dir().join(format!("pte-emit-completion-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let names = ["a b.bin", "a: b.bin", "a'b.bin", "a$(i).bin", "a.bin", "a-b.bin", "a, b.bin", "a#b.bin", "a#"];
        // Not every system has names with these characters.
        let names = names.into_iter().filter(|name| std::fs::write(folder.join(name), "").is_ok());
        let names: Vec<&str> =
            names.chain(Some("a\"b.bin").filter(|name| std::fs::write(folder.join(name), "").is_ok())).collect();
        for written in ["|", "a|", "\"|", "\"a|\"", "\"a| b\"", "'a|'", "'|", "a| "] {
            let (text, at) = marked(&format!("named_data: {{x: {{file: {written}\n}}}}"));
            let analysis = Analysis::new("test.yaml", &text, &folder, &LanguageOptions::default());
            let items = analysis.completions(at);
            let found = |name: &&&str| items.iter().any(|item| item.label == **name);
            assert_eq!(names.iter().filter(found).count(), names.len(), "{written}");
            for item in items {
                let all = accepted(&text, &item);
                let root = tree::parse(&all).unwrap_or_else(|error| panic!("{} {all}", error.message));
                assert!(format!("{root:?}").contains(&format!("Text({:?})", item.label)), "{all}");
            }
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Returns true if a key begins at an offset.
    fn has_key(node: &SourceNode<'_>, ranges: &[Range<usize>], name: &str, at: usize) -> bool {
        match &node.value {
            NodeValue::Map(entries) => entries.iter().any(|(key, value)| {
                key.text == name && ranges[key.id.0 as usize].start == at || has_key(value, ranges, name, at)
            }),
            NodeValue::List(items) => items.iter().any(|item| has_key(item, ranges, name, at)),
            _ => false,
        }
    }

    #[test]
    fn accepted_items_are_yaml() {
        const PLACES: usize = 10;
        const ITEMS: usize = 20;
        // Before and after the cursor.
        const TYPED: [(&str, &str); 8] =
            [("", ""), ("", ""), ("a", ""), ("re", ""), ("in", ""), ("\"", ""), ("'", ""), ("\"", "\"")];
        let mut files: Vec<_> = std::fs::read_dir("examples").unwrap().map(|entry| entry.unwrap().path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
        files.sort();
        let mut random = 1_u64;
        let mut below = |count: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(random >> 33).unwrap() % count
        };
        let (mut count, mut keys, mut wrong) = (0, 0, Vec::new());
        for path in &files {
            let source = std::fs::read_to_string(path).unwrap();
            for _ in 0..PLACES {
                // Most words begin after a space or a bracket.
                let is_begin = |at: &usize| source[..*at].ends_with([' ', '[', '{', '"']);
                // Inside of an indentation, a key has the wrong one.
                let is_any = |at: &usize| {
                    let line = source[..*at].rsplit('\n').next().unwrap();
                    !(source[*at..].starts_with(' ') && line.trim_start().is_empty())
                };
                let is_char = |at: &usize| source.is_char_boundary(*at);
                let last = below(source.len());
                let is_anywhere = below(4) == 0;
                let at =
                    (0..=last).rev().filter(is_char).filter(is_any).find(|at| is_anywhere || is_begin(at)).unwrap_or(0);
                let (typed, end) = TYPED[below(TYPED.len())];
                let (before, after) = source.split_at(at);
                let text = format!("{before}{typed}{end}{after}");
                let items = analysis(&text).completions(at + typed.len());
                let step = 1 + items.len() / ITEMS;
                for item in items.iter().skip(below(step)).step_by(step) {
                    let all = accepted(&text, item);
                    let is_key = item.kind == CompletionKind::Key && !item.label.starts_with(['{', '-', '[']);
                    let start = item.range.start - usize::from(text[..item.range.start].ends_with(['"', '\'']));
                    (count, keys) = (count + 1, keys + usize::from(is_key));
                    let trees: Result<Vec<_>, _> = all.split("\n---").map(tree::parse_with_ranges).collect();
                    let is_right = trees.is_ok_and(|trees| match &trees[..] {
                        [(root, ranges)] if is_key => has_key(root, ranges, &item.label, start),
                        _ => true,
                    });
                    if !is_right {
                        wrong.push(format!("{before}|{typed}|{end}{after}\n{item:?}\n{all}"));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{} of {count} wrong\n{}", wrong.len(), wrong.join("\n=====\n"));
        assert!(count > 400 && keys > 80, "{count} {keys}");
    }

    #[test]
    fn words_and_files_are_completed() {
        assert!(labels("methods: {f: {values: {a: {tensor: flo|").contains(&"float32".to_owned()));
        assert_eq!(labels("layout: {builder: |}"), ["exir", "exir-shared-vtables", "flatc"]);
        assert_eq!(labels("methods: {f: {requires_grad: |}}"), ["false", "true"]);
        let files = labels("named_data: {x: {file: data/line|}}");
        assert!(files.contains(&"data/linear.safetensors".to_owned()), "{files:?}");
        let keys = labels("named_data: {x: {safetensors: data/linear.safetensors, tensor: |}}");
        assert!(keys.contains(&"weight".to_owned()), "{keys:?}");
        assert!(labels("methods: {f: {delegates: {d: {backend: Xn|").contains(&"XnnpackBackend".to_owned()));
    }
}
