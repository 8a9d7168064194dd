//! Texts that can be inserted at an offset: keys of the map there, operators, names, words, files.
//!
//! The text is parsed with a word at the offset, so that there is a node to complete. Types are those of the text
//! itself.

use std::path::Path;
use std::sync::Arc;

use super::analysis::{Analysis, SourceDocument};
use super::calls;
use super::hover;
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
use pte_operators::kinds::Kinds;
use pte_operators::{Arg, ArgKind, Base, OperatorDescription, Role};
use pte_releases::Release;
use pte_yaml::repeat;
use pte_yaml::tree::NodeValue;

/// Word that stands at the offset.
const MARK: &str = "pteEmitCompletion";

/// Maximum number of items.
const MAX_ITEMS: usize = 1000;

/// Texts that can be inserted at one offset.
struct Completions<'a> {
    /// Analysis of the text itself.
    analysis: &'a Analysis,
    /// Document with the mark.
    document: &'a SourceDocument,
    trail: &'a [Place<'a>],
    /// Offset in the document with the mark.
    at: usize,
    /// Word before the offset.
    prefix: String,
    /// Range of the text that is replaced.
    range: std::ops::Range<usize>,
    /// The word is the first one of its line, and the column that it begins in.
    block: Option<usize>,
    /// A `:` follows.
    has_colon: bool,
    items: Vec<CompletionItem>,
}

impl Analysis {
    /// Returns the texts that can be inserted at an offset, the best ones first.
    pub fn completions(&self, at: usize) -> Vec<CompletionItem> {
        let text = self.text();
        let (Some(before), Some(after)) = (text.get(..at), text.get(at..)) else { return Vec::new() };
        let is_end = |c: char| c.is_whitespace() || "[]{},\"'#".contains(c);
        let start = before.char_indices().rev().find(|(_, c)| is_end(*c)).map_or(0, |(at, c)| at + c.len_utf8());
        let is_colon =
            |at: usize| after[at..].starts_with(':') && after[at + 1..].chars().next().is_none_or(char::is_whitespace);
        let end = after.char_indices().find(|(at, c)| is_end(*c) || is_colon(*at)).map_or(after.len(), |(at, _)| at);
        let line = &before[before.rfind('\n').map_or(0, |newline| newline + 1)..];
        let indent = &line[..line.len() - (at - start)];
        if indent.trim_start().starts_with('#') || text.len() > super::analysis::MAX_TEXT {
            return Vec::new();
        }
        let marked = format!("{before}{MARK}{after}");
        let Some(files) = self.documents.first().map(|document| document.source.files.clone()) else {
            return Vec::new();
        };
        let marked = Analysis::of_files(String::new(), &marked, &files, &self.options);
        let Some((document, inner)) = marked.at(at) else { return Vec::new() };
        let Trail { places, is_key } = places::trail(&document.syntax, inner);
        let mut completions = Completions {
            analysis: self,
            document,
            trail: &places,
            at: inner,
            prefix: before[start..].to_owned(),
            range: start..at + end,
            block: indent.chars().all(|c| c == ' ' || c == '-').then(|| indent.chars().count()),
            has_colon: is_colon(end),
            items: Vec::new(),
        };
        completions.collect(is_key);
        let mut items = completions.items;
        // `aten::add.out` comes before `aten::add.Scalar_out`, and `view_copy` before `view_as_real_copy`.
        let length = |item: &CompletionItem| if item.kind == CompletionKind::Operator { item.label.len() } else { 0 };
        items.sort_by_cached_key(|item| (item.rank, length(item), item.label.to_lowercase(), item.label.clone()));
        items.dedup_by(|a, b| a.label == b.label);
        items.truncate(MAX_ITEMS);
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
        let NodeValue::Text(word) = &place.node.value else { return };
        if !word.contains(MARK) {
            return;
        }
        self.add_names(place);
        self.add_files(place);
        let Some(form) = place.form else { return };
        form.alternatives().into_iter().for_each(|form| self.add_form(place, form));
    }

    fn add(&mut self, rank: u8, label: &str, kind: CompletionKind, detail: &str, documentation: &str, snippet: String) {
        if !is_subsequence(&self.prefix, label) || label.contains(MARK) {
            return;
        }
        // Of an operator, people write the name without its namespace.
        let begins = label.starts_with(&self.prefix)
            || label.split_once("::").is_some_and(|(_, name)| name.starts_with(&self.prefix));
        self.items.push(CompletionItem {
            label: label.to_owned(),
            kind,
            detail: detail.to_owned(),
            documentation: documentation.to_owned(),
            range: self.range.clone(),
            snippet,
            rank: rank.saturating_mul(2) + u8::from(!begins),
        });
    }

    fn add_word(&mut self, word: &str, detail: &str) {
        self.add(1, word, CompletionKind::Word, detail, "", escaped(word));
    }

    /// Adds the keys that a map does not have.
    fn add_keys(&mut self, map: &Place<'a>) {
        let NodeValue::Map(entries) = &map.node.value else { return };
        let (Some(shape), Some(form)) = (map.shape, map.form) else { return };
        let others = entries.iter().filter(|(key, _)| !key.text.contains(MARK));
        let has: Vec<&str> = others.map(|(key, _)| &*key.text).collect();
        let is_block = !self.document.syntax.text()[self.document.syntax.range(map.node.id)].starts_with('{');
        let mut shapes = Vec::new();
        match has.iter().any(|key| shape.key(key).is_some()) {
            true => shapes.push(shape),
            false => shapes.extend(form.shapes()),
        }
        shapes.into_iter().for_each(|shape| self.add_keys_of(shape, &has, is_block));
    }

    fn add_keys_of(&mut self, shape: &'static Shape, has: &[&str], is_block: bool) {
        let has_one = shape.one_of.iter().any(|key| has.contains(key));
        for spec in shape.keys {
            let is_excluded = has_one && shape.one_of.contains(&spec.name);
            if has.contains(&spec.name) || is_excluded {
                continue;
            }
            let rank = match shape.required.contains(&spec.name) {
                true => 0,
                false if !has_one && shape.one_of.contains(&spec.name) => 1,
                false => 2,
            };
            let snippet = match self.has_colon {
                true => spec.name.to_owned(),
                false => key_snippet(spec, self.block.filter(|_| is_block)),
            };
            self.add(rank, spec.name, CompletionKind::Key, spec.doc, &hover::key(shape, spec), snippet);
        }
    }

    /// Adds what a form allows.
    fn add_form(&mut self, place: &Place<'a>, form: &'static Form) {
        match form {
            Form::Bool
                if self.argument(place).is_none_or(|(kind, _)| matches!(kind.base, Base::Bool | Base::Scalar)) =>
            {
                ["false", "true"].into_iter().for_each(|word| self.add_word(word, ""));
            }
            Form::Operator => self.add_operators(),
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
            Form::Shape(shape) if self.block.is_some() => self.add_keys_of(shape, &[], true),
            Form::Shape(shape) => self.add_map(shape),
            Form::List(Form::Shape(shape)) if self.block.is_some() => {
                let doc = shape.doc;
                self.add(1, "-", CompletionKind::Key, doc, "", "- $0".to_owned());
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

    /// Adds a map in braces with the keys that it needs.
    fn add_map(&mut self, shape: &'static Shape) {
        let keys: &[&str] = if shape.name == "instruction" { &["kernel", "args", "out"] } else { shape.required };
        let part = |(index, name): (usize, &&'static str)| {
            let is_list = shape.key(name).is_some_and(|spec| is_list(&spec.form));
            let number = index + 1;
            format!("{name}: {}", if is_list { format!("[${number}]") } else { format!("${number}") })
        };
        let keys: Vec<String> = keys.iter().enumerate().map(part).collect();
        if !keys.is_empty() {
            self.add(
                3,
                &format!("{{{}}}", shape.name),
                CompletionKind::Key,
                shape.doc,
                "",
                format!("{{{}}}", keys.join(", ")),
            );
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
                self.add(1, &version, CompletionKind::Word, "release of ExecuTorch", "", format!("\"{version}\""));
            }
        }
        let keys = [("tensor", "safetensors"), ("key", "ptd"), ("key", "pte")];
        let Some(map) = self.trail.iter().rev().nth(1) else { return };
        for (_, file) in keys.into_iter().filter(|(key, _)| place.is_value_of("data_map", key)) {
            let Some(NodeValue::Text(name)) = places::entry(map.node, file).map(|node| &node.value) else { continue };
            for key in keys_of(&file_path(self.document, name), self.document) {
                self.add(1, &key, CompletionKind::Name, file, "", escaped(&yaml::text(&key)));
            }
        }
    }

    /// Adds operators, each with the arguments of a call unless the instruction has some.
    fn add_operators(&mut self) {
        let instruction = self.trail.iter().rev().nth(1);
        let has_args = instruction.is_some_and(|place| {
            places::entry(place.node, "args").is_some() || places::entry(place.node, "out").is_some()
        });
        let is_flow = instruction.is_some_and(|place| {
            self.document.syntax.text()[self.document.syntax.range(place.node.id)].starts_with('{')
        });
        let column = self.document.syntax.text()[..self.at].rsplit('\n').next().and_then(|line| line.find("kernel"));
        let separator = match (is_flow, column) {
            (false, Some(column)) => format!("\n{}", " ".repeat(column)),
            (true, _) | (false, None) => ", ".to_owned(),
        };
        let prefix = self.prefix.clone();
        for name in OperatorDescription::names().filter(|name| is_subsequence(&prefix, name)) {
            let Some(operator) = OperatorDescription::find(name) else { continue };
            let snippet = if has_args { name.to_owned() } else { call_snippet(&operator, &separator) };
            let rank = 1 + u8::from(operator.library.is_some());
            let documentation = calls::markdown(name).unwrap_or_default();
            self.add(
                rank,
                name,
                CompletionKind::Operator,
                operator.library.unwrap_or_default(),
                &documentation,
                snippet,
            );
        }
    }

    /// Adds the names that may stand here; of values those that the argument takes.
    fn add_names(&mut self, place: &Place<'a>) {
        let Some(kind) = symbols::kind_at(self.trail) else { return };
        let scope = symbols::scopes(&self.document.syntax, self.at)(kind);
        let index = self.document.symbols();
        let expected = if kind == NameKind::Value { self.argument(place) } else { None };
        let own = self.analysis.at(self.range.start).map(|(document, _)| document);
        let known = own.and_then(|document| document.assembled());
        let is_repeated = self.trail.iter().any(|place| repeat::parts(place.node).is_some());
        let mut written = WrittenNames::new(&self.document.syntax);
        for (number, symbol) in index.names(kind, scope) {
            let method = symbol.method.wrapping_sub(1);
            let value = known.and_then(|known| known.evalue(method, known.value(method, &symbol.name)?));
            let kinds = match value {
                Some(value) => Kinds::of_tag(value.tag()),
                None if self.is_tensor(symbol) => Kinds::TENSOR,
                None => Kinds::ANY.without(Kinds::TENSOR),
            };
            if expected.is_some_and(|(_, expected)| !kinds.meets(expected)) {
                continue;
            }
            let detail = value.map_or_else(|| hover::kind_name(kind).to_owned(), pte_inspect::summary::describe);
            // In a repetition, names are those with its counters.
            let declaration = index.of(number).find(|name| name.declares && name.is_copy && is_repeated);
            let (name, text) = match declaration.map(|declaration| written.written(declaration)) {
                Some(name) => (name, name.into()),
                None => (&*symbol.name, yaml::text(&symbol.name)),
            };
            self.add(0, name, CompletionKind::Name, &detail, "", escaped(&text));
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
            for name in files(self.document, &self.prefix) {
                self.add(1, &name, CompletionKind::File, "", "", escaped(&name));
            }
        }
    }
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
    external.chain(named).chain(tensors).take(MAX_ITEMS).collect()
}

/// Returns the files of a folder that a path begins with, folders with `/` after them.
fn files(document: &SourceDocument, prefix: &str) -> Vec<String> {
    let folder = prefix.rsplit_once('/').map_or("", |(folder, _)| folder);
    let path = document.source.files.folder.join(folder);
    if document.source.files.check(&path).is_err() {
        return Vec::new();
    }
    let names = pte_model::data::files::names_in(&path, MAX_ITEMS).into_iter();
    names.filter_map(|name| Some(Path::new(folder).join(name).to_str()?.to_owned())).collect()
}

fn is_list(form: &Form) -> bool {
    form.alternatives().iter().any(|form| matches!(form, Form::List(_)))
}

/// Returns a key with a place for its value. In a block, `column` is that of the key.
fn key_snippet(spec: &'static KeySpec, column: Option<usize>) -> String {
    let (mut is_map, mut is_scalar, mut has_items) = (false, false, false);
    spec.form.alternatives().into_iter().for_each(|form| match form {
        Form::Shape(_) | Form::Map(_) => is_map = true,
        Form::List(Form::Shape(_)) => has_items = true,
        Form::List(_) => {}
        _ => is_scalar = true,
    });
    let name = spec.name;
    match column.map(|column| " ".repeat(column + 2)) {
        Some(indent) if has_items => format!("{name}:\n{indent}- $0"),
        Some(indent) if is_map && !is_scalar => format!("{name}:\n{indent}$0"),
        Some(_) | None if has_items => format!("{name}: [$0]"),
        Some(_) | None if is_map && !is_scalar => format!("{name}: {{$0}}"),
        Some(_) | None if is_list(&spec.form) && !is_scalar => format!("{name}: [$0]"),
        Some(_) | None => format!("{name}: $0"),
    }
}

/// Returns a call of an operator with places for its arguments and results.
fn call_snippet(operator: &OperatorDescription, separator: &str) -> String {
    let is_in = |argument: &&pte_operators::Arg| argument.role != Role::Out;
    let ins: Vec<_> = operator.arguments.iter().filter(is_in).collect();
    let given = ins.iter().rposition(|argument| argument.default.is_none()).map_or(0, |last| last + 1);
    let mut number = 0;
    let mut place = |name: &str| {
        number += 1;
        format!("${{{number}:{name}}}")
    };
    let args: Vec<String> = ins[..given].iter().map(|argument| place(&argument.name)).collect();
    let outs: Vec<String> =
        operator.arguments.iter().filter(|argument| argument.role == Role::Out).map(|out| place(&out.name)).collect();
    let out = match (&outs[..], &operator.returns) {
        ([out], _) => format!("{separator}out: {out}"),
        ([], Some(_)) => format!("{separator}out: {}", place("result")),
        ([], None) => String::new(),
        (outs, _) => format!("{separator}out: [{}]", outs.join(", ")),
    };
    format!("{}{separator}args: [{}]{out}", operator.name, args.join(", "))
}

/// Escapes a text in a snippet.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('$', "\\$").replace('}', "\\}")
}

/// Returns true if a text has the characters of a word in their order, in any case.
fn is_subsequence(word: &str, text: &str) -> bool {
    let mut characters = text.chars().flat_map(char::to_lowercase);
    word.chars().flat_map(char::to_lowercase).all(|c| characters.any(|other| other == c))
}

#[cfg(test)]
mod tests {
    use crate::editor::fixtures::{analysis, marked};

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
        assert_eq!(labels("named_data: {x: {fil|}}").first().map(String::as_str), Some("file"));
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
        assert_eq!(snippet(&text, "aten::relu.out"), "aten::relu.out, args: [${1:self}], out: ${2:out}");
        let block = format!("{METHOD}      - kernel: addmm|\n");
        assert!(snippet(&block, "aten::addmm.out").contains("\n        args: [${1:self}, ${2:mat1}"));
        let given = format!("{METHOD}      - {{kernel: relu|, args: [a], out: b}}\n");
        assert_eq!(snippet(&given, "aten::relu.out"), "aten::relu.out");
        assert!(labels(&format!("{METHOD}      - |\n")).contains(&"kernel".to_owned()));
        assert_eq!(labels(&format!("{METHOD}      - {{kernel: aten::ad|\n"))[0], "aten::add.out");
        assert_eq!(labels(&format!("{METHOD}      - {{kernel: view|\n"))[0], "aten::view_copy.out");
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
        assert_eq!(labels(&second), ["a", "b"]);
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
