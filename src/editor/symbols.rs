//! Names of a document: what declares them, and what refers to them. A table says which keys of the grammar do.
//!
//! A name without a declaration is none of them: it may be a string.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde::Serialize;

use super::places::{self, Place};
use super::tree::Syntax;
use crate::ir::shape::Form;
use pte_yaml::repeat;
use pte_yaml::tree::{NodeId, NodeValue, SourceNode};

/// Kind of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NameKind {
    /// Method.
    Method,
    /// Value of a method.
    Value,
    /// Label of an instruction.
    Label,
    /// Delegate.
    Delegate,
    /// Entry of `data`.
    Data,
    /// Entry of `files`.
    File,
    /// Entry of `named_data`.
    NamedData,
    /// Value of the graph of a delegate.
    GraphValue,
}

/// What a key does with a name.
#[derive(Clone, Copy)]
enum NameRole {
    /// The keys of its map declare names.
    Keys(NameKind),
    /// Its string declares a name.
    Declares(NameKind),
    /// Its strings refer to a name that is read.
    Reads(NameKind),
    /// Its strings refer to a name that is written.
    Writes(NameKind),
    /// Likewise, and declare names that nothing else declares.
    Results(NameKind),
}

use NameKind::{Data, Delegate, File, GraphValue, Label, Method, NamedData, Value};
use NameRole::{Declares, Keys, Reads, Results, Writes};

/// Keys with names: the shape, and the key.
const ROLES: &[(&str, &str, NameRole)] = &[
    ("instruction", "args", Reads(Value)),
    ("instruction", "out", Results(Value)),
    ("instruction", "label", Declares(Label)),
    ("instruction", "delegate", Reads(Delegate)),
    ("instruction", "free", Writes(Value)),
    ("instruction", "view", Reads(Value)),
    ("instruction", "value", Reads(Value)),
    ("move", "from", Reads(Value)),
    ("move", "to", Writes(Value)),
    ("jump_false", "cond", Reads(Value)),
    ("jump_false", "to", Reads(Label)),
    ("method", "values", Keys(Value)),
    ("method", "inputs", Reads(Value)),
    ("method", "outputs", Reads(Value)),
    ("method", "delegates", Keys(Delegate)),
    ("chain", "inputs", Reads(Value)),
    ("chain", "outputs", Reads(Value)),
    ("tensor", "view_of", Reads(Value)),
    ("literal_map", "int_list", Reads(Value)),
    ("literal_map", "tensor_list", Reads(Value)),
    ("literal_map", "optional_tensor_list", Reads(Value)),
    ("document", "methods", Keys(Method)),
    ("document", "data", Keys(Data)),
    ("document", "files", Keys(File)),
    ("document", "named_data", Keys(NamedData)),
    ("graph", "values", Keys(GraphValue)),
    ("graph", "inputs", Reads(GraphValue)),
    ("graph", "outputs", Reads(GraphValue)),
    ("graph_value", "key", Reads(NamedData)),
    ("graph_scales", "key", Reads(NamedData)),
    ("checkpoint", "safetensors", Reads(File)),
    ("data_map", "file", Reads(File)),
    ("data_map", "npy", Reads(File)),
    ("data_map", "safetensors", Reads(File)),
    ("data_map", "ptd", Reads(File)),
    ("data_map", "pte", Reads(File)),
];

/// Returns what the nearest key of the grammar does with names.
fn role(trail: &[Place<'_>]) -> Option<NameRole> {
    let (shape, spec) = places::nearest_key(trail)?;
    let row = ROLES.iter().find(|(of, key, _)| *of == shape.name && *key == spec.name);
    // Operands of graphs have a form of their own; the schema calls all results `output`.
    let is_operand = matches!(spec.form, Form::Either([Form::Text, Form::UInt, Form::Null]));
    match row {
        Some((.., role)) => Some(*role),
        None if is_operand && spec.name.starts_with("output") => Some(Results(GraphValue)),
        None if is_operand => Some(Reads(GraphValue)),
        None => None,
    }
}

/// Returns the kind of the names that the last node of a trail may be.
pub(super) fn kind_at(trail: &[Place<'_>]) -> Option<NameKind> {
    let place = trail.last()?;
    let kind = match role(trail) {
        Some(Reads(kind) | Writes(kind) | Results(kind)) => Some(kind),
        // The items of a list under `values`.
        Some(Keys(Value)) if place.item.is_some() => Some(Value),
        Some(Keys(_) | Declares(_)) | None => None,
    };
    kind.or_else(|| place.is_named("data").then_some(Data))
}

/// A name in the source.
#[derive(Debug, Clone)]
pub(super) struct Occurrence {
    /// Range in the text of the tree, with quotes.
    pub range: Range<usize>,
    /// Index of the symbol.
    pub symbol: usize,
    /// It declares the name.
    pub declares: bool,
    /// The value is written.
    pub writes: bool,
    /// Number of the instruction in its method, from 0, if it is in one.
    pub step: Option<usize>,
    /// Node in the tree without repetitions.
    pub node: NodeId,
    /// The name in the source has counters of a repetition, of which this is one copy.
    pub is_copy: bool,
}

/// A declared name.
#[derive(Debug)]
pub(super) struct Symbol {
    /// Kind.
    pub kind: NameKind,
    /// Name.
    pub name: String,
    /// Scope: the number of the method, of the list of instructions, or of the graph, or 0.
    pub scope: usize,
    /// Number of the method that it is in.
    pub method: usize,
    /// Indices of its occurrences.
    pub occurrences: Vec<usize>,
}

/// Names of a document.
#[derive(Debug, Default)]
pub(super) struct SymbolIndex {
    /// Names.
    pub symbols: Vec<Symbol>,
    /// Occurrences in the order of the source.
    pub occurrences: Vec<Occurrence>,
    by_name: HashMap<(NameKind, usize, String), usize>,
}

/// A name that may refer to something.
struct Mention<'t> {
    kind: NameKind,
    scope: usize,
    method: usize,
    name: &'t str,
    declares: bool,
    results: bool,
    writes: bool,
    node: NodeId,
    step: Option<usize>,
}

/// State of the walk: numbers of the present method, list of instructions and graph, from 1.
#[derive(Default)]
struct Collector<'t> {
    mentions: Vec<Mention<'t>>,
    method: usize,
    list: usize,
    graph: usize,
    step: Option<usize>,
    next_step: usize,
}

impl<'t> Collector<'t> {
    fn scope(&self, kind: NameKind) -> usize {
        match kind {
            Value | Delegate => self.method,
            Label => self.list,
            GraphValue => self.graph,
            Method | Data | File | NamedData => 0,
        }
    }

    fn add(&mut self, kind: NameKind, role: NameRole, name: &'t str, node: NodeId) {
        self.mentions.push(Mention {
            kind,
            scope: self.scope(kind),
            method: self.method,
            name,
            declares: matches!(role, Keys(_) | Declares(_)),
            results: matches!(role, Results(_)),
            writes: matches!(role, Writes(_) | Results(_)),
            node,
            step: self.step,
        });
    }

    /// Counts methods, lists of instructions, instructions and graphs.
    fn enter(&mut self, trail: &[Place<'t>], place: &Place<'t>) {
        let parent = trail.len().checked_sub(2).and_then(|index| trail.get(index));
        let is_child = |shape, key| parent.is_some_and(|parent| parent.is_value_of(shape, key));
        if is_child("document", "methods") {
            (self.method, self.step, self.next_step) = (self.method + 1, None, 0);
        } else if place.is_value_of("method", "instructions") || place.is_value_of("chain", "instructions") {
            self.list += 1;
        } else if place.is_value_of("delegate", "graph") {
            self.graph += 1;
        } else if place.item.is_some() && (is_child("method", "instructions") || is_child("chain", "instructions")) {
            // A view is no instruction: it belongs to the next one.
            let is_view = places::entry(place.node, "view").is_some();
            (self.step, self.next_step) = (Some(self.next_step), self.next_step + usize::from(!is_view));
        } else if place.holder.is_some_and(|(shape, _)| shape.name == "method") {
            self.step = None;
        }
    }

    fn visit(&mut self, trail: &[Place<'t>]) -> bool {
        let Some(place) = trail.last() else { return false };
        self.enter(trail, place);
        match &place.node.value {
            NodeValue::Map(entries) => {
                let parent = trail.len().checked_sub(2).and_then(|index| trail.get(index));
                let is_repeated = parent.is_some_and(|parent| repeat::parts(parent.node).is_some());
                let own = (is_repeated || place.holder.is_some()).then(|| role(trail)).flatten();
                if let Some(role @ Keys(kind)) = own {
                    let names = entries.iter().filter(|(_, value)| repeat::parts(value).is_none());
                    names.for_each(|(key, _)| self.add(kind, role, &key.text, key.id));
                }
                true
            }
            NodeValue::Text(name) => {
                match role(trail) {
                    Some(role @ (Reads(kind) | Writes(kind) | Results(kind) | Declares(kind))) => {
                        self.add(kind, role, name, place.node.id);
                    }
                    Some(Keys(Value)) if place.item.is_some() => self.add(Value, Reads(Value), name, place.node.id),
                    Some(Keys(_)) | None => {}
                }
                if place.is_named("data") {
                    self.add(Data, Reads(Data), name, place.node.id);
                }
                true
            }
            // Lists of numbers have no names.
            NodeValue::List(items) => {
                let is_number =
                    items.first().is_some_and(|item| matches!(item.value, NodeValue::Float(_) | NodeValue::Int(_)));
                !(is_number && place.is_named("numbers"))
            }
            NodeValue::Null | NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::UInt(_) | NodeValue::Float(_) => true,
        }
    }
}

impl SymbolIndex {
    /// Collects the names of a tree.
    pub fn new(syntax: &Syntax) -> SymbolIndex {
        let mut collector = Collector::default();
        places::walk_copies(syntax, &mut |trail| collector.visit(trail));
        let mut mentions = collector.mentions;
        let mut index = SymbolIndex::default();
        let copies = syntax.source().spans().copies();
        let declare = |index: &mut SymbolIndex, mention: &Mention<'_>| {
            let next = index.symbols.len();
            let key = (mention.kind, mention.scope, mention.name.to_owned());
            *index.by_name.entry(key).or_insert_with(|| {
                let Mention { kind, scope, method, name, .. } = *mention;
                index.symbols.push(Symbol { kind, name: name.to_owned(), scope, method, occurrences: Vec::new() });
                next
            })
        };
        mentions.iter().filter(|mention| mention.declares).for_each(|mention| _ = declare(&mut index, mention));
        for mention in mentions.iter_mut().filter(|mention| mention.results) {
            let before = index.symbols.len();
            // The first result declares a name that is not declared.
            mention.declares = declare(&mut index, mention) == before;
        }
        // Aliases repeat nodes of another part of the source.
        mentions.sort_by_key(|mention| syntax.range(mention.node).start);
        for Mention { kind, scope, name, declares, writes, node, step, .. } in mentions {
            let Some(symbol) = index.find(kind, scope, name) else { continue };
            index.symbols[symbol].occurrences.push(index.occurrences.len());
            let range = syntax.range(node);
            let text = || syntax.text().get(range.clone()).unwrap_or_default();
            let is_copy = copies.turn(node).is_some() && text().contains("$(");
            index.occurrences.push(Occurrence { range, symbol, declares, writes, step, node, is_copy });
        }
        index
    }

    /// Returns the index of a name in a scope.
    pub fn find(&self, kind: NameKind, scope: usize, name: &str) -> Option<usize> {
        self.by_name.get(&(kind, scope, name.to_owned())).copied()
    }

    /// Returns the occurrence at an offset of the text of the tree; of copies, the first one.
    pub fn at(&self, at: usize) -> Option<&Occurrence> {
        self.all_at(at).first()
    }

    /// Returns the occurrences at an offset of the text of the tree: one, or a copy for each value of the counters.
    pub fn all_at(&self, at: usize) -> &[Occurrence] {
        let next = self.occurrences.partition_point(|occurrence| occurrence.range.start <= at);
        let Some(last) = next.checked_sub(1).map(|last| &self.occurrences[last].range) else { return &[] };
        let first = self.occurrences.partition_point(|occurrence| occurrence.range.start < last.start);
        if at <= last.end { &self.occurrences[first..next] } else { &[] }
    }

    /// Returns the names at an offset of the text of the tree, those of copies in their order.
    pub fn symbols_at(&self, at: usize) -> Vec<usize> {
        let mut known = HashSet::new();
        self.all_at(at).iter().map(|occurrence| occurrence.symbol).filter(|symbol| known.insert(*symbol)).collect()
    }

    /// Returns the occurrences in a range.
    pub fn within(&self, range: &Range<usize>) -> &[Occurrence] {
        let start = self.occurrences.partition_point(|occurrence| occurrence.range.end < range.start);
        let end = self.occurrences.partition_point(|occurrence| occurrence.range.start <= range.end);
        self.occurrences.get(start..end.max(start)).unwrap_or_default()
    }

    /// Returns the occurrences of a name.
    pub fn of(&self, symbol: usize) -> impl Iterator<Item = &Occurrence> {
        self.symbols.get(symbol).into_iter().flat_map(|symbol| &symbol.occurrences).map(|at| &self.occurrences[*at])
    }

    /// Returns the names of a kind in the scope of an offset.
    pub fn names(&self, kind: NameKind, scope: usize) -> impl Iterator<Item = (usize, &Symbol)> {
        let symbols = self.symbols.iter().enumerate();
        symbols.filter(move |(_, symbol)| symbol.kind == kind && symbol.scope == scope)
    }
}

/// Strings of names in the source, without quotes, by their offsets.
pub(super) struct WrittenNames<'t> {
    syntax: &'t Syntax,
    names: HashMap<usize, String>,
}

impl<'t> WrittenNames<'t> {
    /// Reads none so far.
    pub fn new(syntax: &'t Syntax) -> WrittenNames<'t> {
        WrittenNames { syntax, names: HashMap::new() }
    }

    /// Returns the string of a name.
    pub fn written(&mut self, occurrence: &Occurrence) -> &str {
        let start = occurrence.range.start;
        self.names.entry(start).or_insert_with(|| {
            let trail = places::trail(self.syntax, start);
            match trail.places.last() {
                Some(Place { key: Some(key), .. }) if trail.is_key => key.text.to_string(),
                Some(Place { node: SourceNode { value: NodeValue::Text(text), .. }, .. }) => text.to_string(),
                _ => String::new(),
            }
        })
    }
}

/// Numbers of the scopes at an offset: of the method, of the list of instructions and of the graph.
pub(super) fn scopes(syntax: &Syntax, at: usize) -> impl Fn(NameKind) -> usize {
    let mut collector = Collector::default();
    places::walk_copies(syntax, &mut |trail| {
        let Some(place) = trail.last() else { return false };
        if syntax.range(place.node.id).start > at {
            return false;
        }
        collector.enter(trail, place);
        trail.len() <= 2
            || place.shape.is_some_and(|shape| matches!(shape.name, "method" | "delegate" | "chain"))
            || place.is_value_of("method", "delegates")
            || place.is_value_of("method", "chains")
    });
    move |kind| collector.scope(kind)
}
