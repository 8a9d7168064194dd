//! Source -> a tree of scalars, lists and maps: YAML from the events of granit-parser and `runs.rs`, JSON with
//! serde_json.
//!
//! Plain scalars have the types of YAML 1.2's core schema, and integers may also be binary and have `_` between digits.
//! Every node has an id, counted in source order. Its byte range is needed for diagnostics only ([`spans`]), which read
//! the events again: most sources are valid. The meaning of keys and values is left to `pte-emit`.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::ops::Range;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, StrInput, Tag};
use pte_model::diagnostics::{Code, Diagnostic, clipped};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::runs::{self, Part, Run, Runs};

/// Id of a node, counted from 0 in source order; keys count, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub u32);

/// A node of the source.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceNode<'a> {
    /// Id.
    pub id: NodeId,
    /// Content.
    pub value: NodeValue<'a>,
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct MapKey<'a> {
    /// Id.
    pub id: NodeId,
    /// Text of the key, without quotes.
    pub text: Cow<'a, str>,
}

/// Content of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue<'a> {
    /// `null` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer that fits 64 bits.
    Int(i64),
    /// An integer beyond `i64`.
    UInt(u64),
    /// A number with fraction or exponent, `.inf`, `.nan`.
    Float(f64),
    /// A string, quoted or not.
    Text(Cow<'a, str>),
    /// A sequence.
    List(Vec<SourceNode<'a>>),
    /// A map in source order.
    Map(Vec<(MapKey<'a>, SourceNode<'a>)>),
}

impl NodeValue<'_> {
    /// Description for messages.
    pub fn describe(&self) -> String {
        match self {
            NodeValue::Null => "null".into(),
            NodeValue::Bool(b) => format!("the bool {b}"),
            NodeValue::Int(n) => format!("the integer {n}"),
            NodeValue::UInt(n) => format!("the integer {n}"),
            NodeValue::Float(x) => format!("the number {x:?}"),
            NodeValue::Text(text) if text.len() <= 40 => format!("the string `{text}`"),
            NodeValue::Text(_) => "a long string".into(),
            NodeValue::List(items) => format!("a list of {}", items.len()),
            NodeValue::Map(_) => "a map".into(),
        }
    }
}

/// A syntax error of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Kind of the error.
    pub code: Code,
    /// Byte range in the source.
    pub span: Range<usize>,
    /// Message.
    pub message: String,
}

impl SyntaxError {
    /// Returns the error as a message.
    pub fn diagnostic(self) -> Diagnostic {
        self.code.error(self.span, self.message)
    }
}

/// Parses a source. JSON is recognised by its first character and parsed by a faster parser; if that fails, the source
/// is parsed as YAML, which includes JSON.
///
/// # Errors
/// The first [`SyntaxError`].
pub fn parse(text: &str) -> Result<SourceNode<'_>, SyntaxError> {
    if !is_json(text) {
        return parse_yaml(text);
    }
    match parse_json(text) {
        // serde_json rounds integers that exceed 64 bits and numbers beyond float64; the other parser reports them.
        Ok((node, has_infinity)) if has_infinity || has_long_digits(text.as_bytes()) => match parse_yaml(text) {
            Err(error) if error.code == Code::NumberLiteral => Err(error),
            Ok(_) | Err(_) => Ok(node),
        },
        Ok((node, _)) => Ok(node),
        // If it is not valid YAML either, report the JSON error, except of a number that serde_json rejects.
        Err(json) => parse_yaml(text).map_err(|yaml| match yaml.code {
            Code::NumberLiteral => yaml,
            _ => json_error(text, &json).unwrap_or(yaml),
        }),
    }
}

/// Parses JSON. The flag is true if a number of the tree is an infinity.
fn parse_json(text: &str) -> Result<(SourceNode<'_>, bool), serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let context = Context::default();
    let node = Seed(&context).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok((node, context.has_infinity.get()))
}

/// Returns true if the digits of an integer are enough to exceed 64 bits. Fractions and strings of digits do not count.
fn has_long_digits(text: &[u8]) -> bool {
    let mut before = b' ';
    text.chunk_by(|left, right| left.is_ascii_digit() == right.is_ascii_digit()).any(|run| {
        let is_inside = matches!(before, b'.' | b'"');
        before = run[run.len() - 1];
        run[0].is_ascii_digit() && run.len() >= 19 && !is_inside
    })
}

fn json_error(text: &str, error: &serde_json::Error) -> Option<SyntaxError> {
    let rendered = error.to_string();
    let message = rendered.split(" at line ").next().unwrap_or(&rendered);
    // The recursion limit is reported by the YAML parser.
    let syntax = (error.is_syntax() && !message.contains("recursion")) || error.is_eof();
    let span = char_span(text, error.line(), error.column());
    syntax.then(|| SyntaxError { code: Code::Syntax, span, message: format!("not JSON: {message}") })
}

/// The character at a line and a column, both counted from 1.
fn char_span(text: &str, line: usize, column: usize) -> Range<usize> {
    let mut start = 0;
    for _ in 1..line {
        start = text[start..].find('\n').map_or(text.len(), |at| start + at + 1);
    }
    let rest = &text[start..];
    let in_line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let at = in_line.char_indices().nth(column.saturating_sub(1)).map_or(in_line.len(), |(at, _)| at);
    let length = in_line[at..].chars().next().map_or(0, char::len_utf8);
    start + at..start + at + length
}

/// Message about a decimal number that rounds to an infinity.
pub fn beyond_float64(written: &str) -> String {
    let (word, json) = if written.starts_with('-') { ("-.inf", "-inf") } else { (".inf", "inf") };
    // A number with hundreds of digits can exceed the range.
    let written = clipped(written);
    format!("{written} is beyond the range of float64; write {word}, in JSON \"{json}\", for an infinity")
}

fn parse_yaml(text: &str) -> Result<SourceNode<'_>, SyntaxError> {
    built(text, false).map(|tree| tree.root)
}

/// Byte ranges of all nodes by id. Empty if the source cannot be parsed.
pub fn spans(text: &str) -> Vec<Range<usize>> {
    built(text, true).map_or_else(|_| Vec::new(), |tree| tree.spans)
}

/// Parses a source, with the byte range of each node by id, from its first character to its last one. A list or map in
/// brackets ends with its bracket, another one with what is last in it, and begins with what is first in it. The range
/// of a node without characters is empty.
///
/// ```
/// let text = "a: [1,\n 2]  # numbers\nb:\n- c\n\n- d: e\n";
/// let (tree, ranges) = pte_yaml::tree::parse_with_ranges(text).unwrap();
/// assert!(matches!(tree.value, pte_yaml::tree::NodeValue::Map(_)));
/// let texts: Vec<&str> = ranges.into_iter().map(|range| &text[range]).collect();
/// assert_eq!(texts[2], "[1,\n 2]");
/// assert_eq!(texts[6], "c\n\n- d: e");
/// ```
///
/// # Errors
/// The first [`SyntaxError`].
pub fn parse_with_ranges(text: &str) -> Result<(SourceNode<'_>, Vec<Range<usize>>), SyntaxError> {
    let LocatedTree { root, spans, ends } = parse_located(text)?;
    Ok((root, spans.into_iter().zip(ends).map(|(span, end)| span.start..end.max(span.start)).collect()))
}

/// A tree with the positions of its nodes by id.
pub struct LocatedTree<'a> {
    /// The same tree as that of [`parse`].
    pub root: SourceNode<'a>,
    /// The ranges of [`spans`].
    pub spans: Vec<Range<usize>>,
    /// Ends of the ranges of [`parse_with_ranges`], which begin as the spans.
    pub ends: Vec<usize>,
}

/// Parses a source once for its tree and the positions of its nodes.
///
/// # Errors
/// The first [`SyntaxError`].
pub fn parse_located(text: &str) -> Result<LocatedTree<'_>, SyntaxError> {
    let mut tree = built(text, true)?;
    if is_json(text) {
        // Some numbers of JSON are rounded in another way.
        tree.root = parse(text)?;
    }
    Ok(tree)
}

/// Parses YAML; positions are empty if they are not requested.
fn built(text: &str, with_spans: bool) -> Result<LocatedTree<'_>, SyntaxError> {
    let runs = Runs::new(text, |scalar| {
        let is_number = scalar.starts_with(|first: char| matches!(first, '0'..='9' | '+' | '-' | '.'));
        !is_number || plain(scalar.into()).is_ok()
    });
    built_with(text, with_spans, runs)
}

fn built_with(text: &str, with_spans: bool, mut runs: Runs) -> Result<LocatedTree<'_>, SyntaxError> {
    loop {
        let mut builder = TreeBuilder::new(text, &runs, with_spans);
        let root = builder.run();
        let TreeBuilder { spans, ends, confirmed, .. } = builder;
        if confirmed == runs.len() {
            return root.map(|root| LocatedTree { root, spans: spans.unwrap_or_default(), ends });
        }
        // The next run is something else, such as lines of a text, or there is an error before it.
        runs.truncate(confirmed);
    }
}

/// Returns true for a source that may be JSON.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Greatest depth of nested lists and maps: a list of a tensor's numbers nests as deep as its rank, 16 at most, and the
/// rest of a document needs ten levels.
const MAX_DEPTH: usize = 64;

/// Greatest length of a key in characters. A plain key may be the name of a value.
const MAX_KEY: usize = 1 << 16;

/// Greatest number of nodes that all anchors define, and that all aliases repeat: it bounds the memory of a source with
/// many aliases.
const MAX_REPEATED: usize = 100_000;

/// Returns a parser of YAML with the limits of sources.
pub(crate) fn parser(text: &str) -> Parser<'_, StrInput<'_>> {
    let options = granit_parser::options! {
        emit_comments: false,
        simple_key_max_lookahead: MAX_KEY,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    Parser::new_from_str_with_options(text, options)
}

/// Returns a parser whose events include comments.
pub(crate) fn parser_with_comments(text: &str) -> Parser<'_, StrInput<'_>> {
    let options = granit_parser::options! {
        max_buffered_comment_events: usize::MAX,
        simple_key_max_lookahead: MAX_KEY,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    };
    Parser::new_from_str_with_options(text, options)
}

/// Builds the tree from the events of the parser, without recursion.
struct TreeBuilder<'a, 'r> {
    text: &'a str,
    /// Runs of lines of which the parser reads the first one.
    runs: &'r Runs,
    /// Number of runs that are in a list or a map.
    confirmed: usize,
    next: u32,
    /// Open lists and maps.
    open: Vec<OpenNode<'a>>,
    /// Items of open lists, and entries of open maps, so that each list is allocated with its exact length.
    items: Vec<SourceNode<'a>>,
    entries: Vec<(MapKey<'a>, SourceNode<'a>)>,
    /// Complete nodes with an anchor, each with its number of nodes and its depth.
    anchors: HashMap<usize, AnchoredNode<'a>>,
    anchored: usize,
    repeated: usize,
    root: Option<SourceNode<'a>>,
    /// Byte ranges by id, if they are requested.
    spans: Option<Vec<Range<usize>>>,
    /// Ends of the nodes by id, if ranges are requested: of a list or map, the end of its last node.
    ends: Vec<usize>,
    /// End of the characters of nodes so far.
    end: usize,
}

/// A node that aliases may repeat.
struct AnchoredNode<'a> {
    node: SourceNode<'a>,
    nodes: usize,
    depth: usize,
}

/// A list or a map whose end is not read yet.
struct OpenNode<'a> {
    id: NodeId,
    /// Number of its anchor; 0 without one.
    anchor: usize,
    /// Index of its first item or entry.
    start: usize,
    /// Of a map: the key whose value is next.
    key: Option<MapKey<'a>>,
    is_map: bool,
    /// It is in brackets.
    is_flow: bool,
    /// It is the item or entry in the first line of a run.
    is_first_of_run: bool,
}

impl<'a, 'r> TreeBuilder<'a, 'r> {
    fn new(text: &'a str, runs: &'r Runs, with_spans: bool) -> TreeBuilder<'a, 'r> {
        TreeBuilder {
            text,
            runs,
            confirmed: 0,
            next: 0,
            open: Vec::new(),
            items: Vec::new(),
            entries: Vec::new(),
            anchors: HashMap::new(),
            anchored: 0,
            repeated: 0,
            root: None,
            spans: with_spans.then(Vec::new),
            ends: Vec::new(),
            end: 0,
        }
    }

    /// Reads all events, and returns the tree.
    fn run(&mut self) -> Result<SourceNode<'a>, SyntaxError> {
        let runs = self.runs;
        let text = runs.shortened(self.text);
        let mut parser = parser(&text);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| {
                let error = not_closed(&text, &error).unwrap_or_else(|| scan_error(&text, &error));
                SyntaxError { span: runs.range(error.span), ..error }
            })?;
            self.event(event, &runs.range(range(&text, &span)))?;
        }
        Ok(self.root.take().unwrap_or_else(|| {
            if let Some(spans) = &mut self.spans {
                spans.push(self.text.len()..self.text.len());
                self.ends.push(self.text.len());
            }
            SourceNode { id: NodeId(0), value: NodeValue::Null }
        }))
    }

    fn event(&mut self, event: Event<'_>, span: &Range<usize>) -> Result<(), SyntaxError> {
        if self.root.is_some() && event.is_node() {
            return Err(self.error(span, "the file has several documents; expected one"));
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let text = self.borrowed(text, span.start);
                if self.is_key() {
                    return self.key(text, style, anchor, tag.as_deref(), span);
                }
                self.scalar(scalar(text, style, tag.as_deref()), anchor, span)
            }
            Event::SequenceStart(_, anchor, tag) => self.begin(false, anchor, tag.as_deref(), span),
            Event::MappingStart(_, anchor, tag) => self.begin(true, anchor, tag.as_deref(), span),
            Event::SequenceEnd | Event::MappingEnd => self.end(span),
            Event::Alias(anchor) => self.alias(anchor, span),
            // Comments, anchors and unresolved aliases are not requested.
            _ => Ok(()),
        }
    }

    /// Returns a part of the shortened text as one of the text: a scalar begins where its node does, or after a quote.
    fn borrowed(&self, part: Cow<'_, str>, start: usize) -> Cow<'a, str> {
        let Cow::Borrowed(part) = part else { return part.into_owned().into() };
        let same = |start| self.text.get(start..start + part.len()).filter(|same| *same == part);
        same(start).or_else(|| same(start + 1)).map_or_else(|| part.to_owned().into(), Cow::Borrowed)
    }

    /// Adds the other lines of a run, after the first one.
    fn lines(&mut self, run: &Run) -> Result<(), SyntaxError> {
        let text = self.text;
        let (mut start, mut found) = (run.others.start, Ok(()));
        for line in text.get(run.others.clone()).unwrap_or_default().split_inclusive('\n') {
            let mut part = |part, range: Range<usize>| {
                let span = start + range.start..start + range.end;
                found = self.part(part, &text[span.clone()], &span);
                found.is_ok().then_some(())
            };
            _ = runs::read(line, &mut part);
            start += line.len();
            found.clone()?;
        }
        found
    }

    fn part(&mut self, part: Part, text: &'a str, span: &Range<usize>) -> Result<(), SyntaxError> {
        match part {
            Part::Begin { is_map } => self.begin(is_map, 0, None, span),
            Part::End => self.end(span),
            Part::Key => self.key(text.into(), ScalarStyle::Plain, 0, None, span),
            Part::Scalar => self.scalar(plain(text.into()), 0, span),
        }
    }

    fn scalar(
        &mut self,
        value: Result<NodeValue<'a>, (Code, String)>,
        anchor: usize,
        span: &Range<usize>,
    ) -> Result<(), SyntaxError> {
        let value = value.map_err(|(code, message)| SyntaxError { code, span: span.clone(), message })?;
        let id = self.id(span);
        self.place(SourceNode { id, value }, anchor, span)
    }

    fn id(&mut self, span: &Range<usize>) -> NodeId {
        let id = NodeId(self.next);
        self.next = self.next.saturating_add(1);
        if let Some(spans) = &mut self.spans {
            self.end = if span.is_empty() { self.end } else { span.end };
            self.ends.push(span.end);
            spans.push(span.clone());
        }
        id
    }

    /// Returns true if the next node is the key of a map.
    fn is_key(&self) -> bool {
        self.open.last().is_some_and(|open| open.is_map && open.key.is_none())
    }

    fn key(
        &mut self,
        text: Cow<'a, str>,
        style: ScalarStyle,
        anchor: usize,
        tag: Option<&Tag>,
        span: &Range<usize>,
    ) -> Result<(), SyntaxError> {
        let is_plain = style == ScalarStyle::Plain && tag.is_none();
        if is_plain && text == "<<" {
            return Err(self.error(span, "`<<` is not supported; write the keys out"));
        }
        // `null: null` is a way to write None; its key is a string like the others.
        let text = if is_plain && is_null(&text) { Cow::Borrowed("null") } else { text };
        let key = MapKey { id: self.id(span), text };
        if anchor > 0 {
            let node = SourceNode { id: key.id, value: NodeValue::Text(key.text.clone()) };
            self.remember(&node, anchor, span)?;
        }
        if let Some(map) = self.open.last_mut() {
            map.key = Some(key);
        }
        Ok(())
    }

    fn begin(
        &mut self,
        is_map: bool,
        anchor: usize,
        tag: Option<&Tag>,
        span: &Range<usize>,
    ) -> Result<(), SyntaxError> {
        if self.is_key() {
            return Err(self.error(span, NOT_A_KEY));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(self.error(span, TOO_DEEP));
        }
        if let Some(tag) = tag.filter(|tag| tag.core_suffix() != Some(if is_map { "map" } else { "seq" })) {
            return Err(self.error(span, &unknown_tag(tag)));
        }
        let start = if is_map { self.entries.len() } else { self.items.len() };
        let id = self.id(span);
        let has_bracket = matches!(self.text.get(span.clone()), Some("[" | "{"));
        let is_first = |run: &Run| run.value == span.start && self.is_parent_of(run);
        let is_first_of_run = has_bracket && self.runs.get(self.confirmed).is_some_and(is_first);
        let is_flow = has_bracket || self.open.last().is_some_and(|parent| parent.is_flow);
        self.open.push(OpenNode { id, anchor, start, key: None, is_map, is_flow, is_first_of_run });
        Ok(())
    }

    /// Returns true if the lines of a run are items or entries of the list or map that is open.
    fn is_parent_of(&self, run: &Run) -> bool {
        let is_parent = |parent: &OpenNode<'_>| !parent.is_flow && parent.is_map != run.is_item;
        self.open.len() + runs::DEPTH <= MAX_DEPTH && self.open.last().is_some_and(is_parent)
    }

    fn end(&mut self, span: &Range<usize>) -> Result<(), SyntaxError> {
        let Some(OpenNode { id, anchor, start, is_map, is_first_of_run, .. }) = self.open.pop() else { return Ok(()) };
        if self.spans.is_some() {
            // Of a list or map without brackets, the end is where the next node begins.
            if matches!(self.text.get(span.clone()), Some("]" | "}")) {
                self.end = span.end;
            }
            if let Some(end) = self.ends.get_mut(id.0 as usize) {
                *end = self.end;
            }
        }
        let value = match is_map {
            true => NodeValue::Map(self.entries.drain(start..).collect()),
            false => NodeValue::List(self.items.drain(start..).collect()),
        };
        self.place(SourceNode { id, value }, anchor, span)?;
        let runs = self.runs;
        match runs.get(self.confirmed).filter(|_| is_first_of_run) {
            Some(run) => {
                self.confirmed += 1;
                self.lines(run)
            }
            None => Ok(()),
        }
    }

    /// Adds a complete node to the list or the map that is open.
    fn place(&mut self, node: SourceNode<'a>, anchor: usize, span: &Range<usize>) -> Result<(), SyntaxError> {
        if anchor > 0 {
            self.remember(&node, anchor, span)?;
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(OpenNode { is_map: false, .. }) => self.items.push(node),
            Some(OpenNode { key, .. }) => self.entries.extend(key.take().map(|key| (key, node))),
        }
        Ok(())
    }

    /// Keeps a copy of a node for aliases.
    fn remember(&mut self, node: &SourceNode<'a>, anchor: usize, span: &Range<usize>) -> Result<(), SyntaxError> {
        let (nodes, depth) = node.measure();
        self.anchored += nodes;
        if self.anchored > MAX_REPEATED {
            return Err(self.error(span, TOO_MANY_ALIASES));
        }
        self.anchors.insert(anchor, AnchoredNode { node: node.clone(), nodes, depth });
        Ok(())
    }

    /// Repeats a node, whose copy has ids of its own and the span of the alias.
    fn alias(&mut self, anchor: usize, span: &Range<usize>) -> Result<(), SyntaxError> {
        let Some(AnchoredNode { node, nodes, depth }) = self.anchors.get(&anchor) else {
            return Err(self.error(span, "an alias inside the list or the map that it refers to"));
        };
        if self.is_key() {
            let NodeValue::Text(text) = &node.value else { return Err(self.error(span, NOT_A_KEY)) };
            let text = text.clone();
            return self.key(text, ScalarStyle::DoubleQuoted, 0, None, span);
        }
        let (mut copy, nodes, depth) = (node.clone(), *nodes, *depth);
        self.repeated += nodes;
        if self.repeated > MAX_REPEATED {
            return Err(self.error(span, TOO_MANY_ALIASES));
        }
        if self.open.len() + depth > MAX_DEPTH {
            return Err(self.error(span, TOO_DEEP));
        }
        copy.renumber(&mut || self.id(span));
        self.place(copy, 0, span)
    }

    fn error(&self, span: &Range<usize>, message: &str) -> SyntaxError {
        SyntaxError { code: Code::Syntax, span: span.clone(), message: message.to_owned() }
    }
}

/// Returns the byte range of a span.
pub(crate) fn range(text: &str, span: &Span) -> Range<usize> {
    let range = span.byte_range().unwrap_or_default();
    range.start.min(text.len())..range.end.min(text.len())
}

impl<'a> SourceNode<'a> {
    /// Returns the items of a list; of a map the values, each with its key. A scalar has none.
    ///
    /// ```
    /// let tree = pte_yaml::tree::parse("{a: [1, 2], b: 3}").unwrap();
    /// let keys: Vec<&str> = tree.children().map(|(key, _)| &*key.unwrap().text).collect();
    /// assert_eq!(keys, ["a", "b"]);
    /// assert_eq!(tree.children().flat_map(|(_, value)| value.children()).count(), 2);
    /// ```
    pub fn children(&self) -> impl Iterator<Item = (Option<&MapKey<'a>>, &SourceNode<'a>)> {
        let (items, entries) = match &self.value {
            NodeValue::List(items) => (&items[..], &[][..]),
            NodeValue::Map(entries) => (&[][..], &entries[..]),
            NodeValue::Null
            | NodeValue::Bool(_)
            | NodeValue::Int(_)
            | NodeValue::UInt(_)
            | NodeValue::Float(_)
            | NodeValue::Text(_) => (&[][..], &[][..]),
        };
        let items = items.iter().map(|item| (None, item));
        items.chain(entries.iter().map(|(key, value)| (Some(key), value)))
    }

    /// Returns the same as [`SourceNode::children`], to change them.
    pub fn children_mut(&mut self) -> impl Iterator<Item = (Option<&mut MapKey<'a>>, &mut SourceNode<'a>)> {
        let (items, entries) = match &mut self.value {
            NodeValue::List(items) => (&mut items[..], &mut [][..]),
            NodeValue::Map(entries) => (&mut [][..], &mut entries[..]),
            NodeValue::Null
            | NodeValue::Bool(_)
            | NodeValue::Int(_)
            | NodeValue::UInt(_)
            | NodeValue::Float(_)
            | NodeValue::Text(_) => (&mut [][..], &mut [][..]),
        };
        let items = items.iter_mut().map(|item| (None, item));
        items.chain(entries.iter_mut().map(|(key, value)| (Some(key), value)))
    }

    /// Returns the number of nodes, keys included, and the number of levels of lists and maps.
    pub fn measure(&self) -> (usize, usize) {
        let own = usize::from(matches!(self.value, NodeValue::List(_) | NodeValue::Map(_)));
        self.children().fold((1, own), |(nodes, depth), (key, child)| {
            let (below, levels) = child.measure();
            (nodes + usize::from(key.is_some()) + below, depth.max(levels + 1))
        })
    }

    /// Gives all nodes new ids, in source order.
    pub(crate) fn renumber(&mut self, id: &mut dyn FnMut() -> NodeId) {
        self.id = id();
        for (key, child) in self.children_mut() {
            key.into_iter().for_each(|key| key.id = id());
            child.renumber(id);
        }
    }
}

const TOO_DEEP: &str = "nested too deeply; the maximum is 64 levels";
const TOO_MANY_ALIASES: &str = "too many repeated aliases";
const NOT_A_KEY: &str = "a key must be a string, not a list or a map";

fn unknown_tag(tag: &Tag) -> String {
    format!("unsupported tag `{}`", clipped(&tag.original()))
}

/// Returns the error of the parser, with its position.
pub(crate) fn scan_error(text: &str, error: &ScanError) -> SyntaxError {
    let marker = error.marker();
    let at = marker.byte_offset().unwrap_or(text.len()).min(text.len());
    let length = text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    let message = match error.kind() {
        ErrorKind::RecursionLimitExceeded => TOO_DEEP.to_owned(),
        ErrorKind::UnknownAnchor => "no anchor before this alias has its name".to_owned(),
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabInIndentation
        | ErrorKind::TabAtBlockScalarStart => {
            "a tab in the indentation of this line: YAML is indented by spaces".to_owned()
        }
        ErrorKind::ExpectedBlockMappingKey | ErrorKind::ExpectedBlockSequenceEntry | ErrorKind::InvalidIndentation => {
            wrong_indentation(text, at)
                .unwrap_or_else(|| "expected a key and `:`, or an item that begins with `-`".to_owned())
        }
        ErrorKind::ExpectedFlowMappingSeparator => "expected `,` or `}` after this item of a map in braces".to_owned(),
        ErrorKind::ExpectedFlowSequenceSeparator => "expected `,` or `]` after this item of a list".to_owned(),
        ErrorKind::UnclosedFlowCollection { open } => format!("the `{open}` here is not closed"),
        ErrorKind::SimpleKeyExpected | ErrorKind::InvalidSimpleKey => {
            "expected `:` after the key, and a space".to_owned()
        }
        ErrorKind::UnclosedQuotedScalar => "the quotation mark here has no end".to_owned(),
        ErrorKind::UnexpectedCharacter { character } if character.is_control() => {
            format!("the control character `{}`, which YAML does not have", character.escape_default())
        }
        ErrorKind::UnexpectedCharacter { character } => {
            format!("`{character}` cannot begin a value here: write text in quotes")
        }
        ErrorKind::MappingValueNotAllowed => {
            "this `:` makes no key here: the `:` before it has no space after it, or text with `: ` has no quotes"
                .to_owned()
        }
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            format!("the `{open}` here is closed by `{close}`")
        }
        ErrorKind::MisplacedFlowCollectionEnd => "this bracket closes nothing".to_owned(),
        kind => kind.to_string(),
    };
    SyntaxError { code: Code::Syntax, span: at..at + length, message }
}

/// Returns the error of a bracket that is open at the start of the line with the error, if this line is indented at
/// most like that of the bracket: then it is no part of the list or map in it.
fn not_closed(text: &str, error: &ScanError) -> Option<SyntaxError> {
    let line_of = |at: usize| text.get(..at)?.rfind('\n').map_or(Some(0), |newline| Some(newline + 1));
    let indentation = |line: usize| text[line..].len() - text[line..].trim_start_matches(' ').len();
    let line = line_of(error.marker().byte_offset()?)?;
    let mut parser = parser(&text[..line]);
    let first = std::iter::from_fn(|| parser.next_event()).find_map(Result::err)?;
    let open = line_of(first.marker().byte_offset()?)?;
    let is_open = matches!(first.kind(), ErrorKind::UnclosedFlowCollection { .. });
    (is_open && indentation(line) <= indentation(open)).then(|| scan_error(text, &first))
}

/// Returns a message about a line whose indentation is that of no block that is open; `None` if it is.
fn wrong_indentation(text: &str, at: usize) -> Option<String> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |newline| newline + 1);
    let indentation = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut open: Vec<usize> = Vec::new();
    for line in
        text[..start].lines().filter(|line| !line.trim_start().is_empty() && !line.trim_start().starts_with('#'))
    {
        let spaces = indentation(line);
        while open.last().is_some_and(|last| *last > spaces) {
            open.pop();
        }
        open.extend(Some(spaces).filter(|spaces| open.last() != Some(spaces)));
    }
    let found = indentation(&text[start..]);
    let expected: Vec<String> = open.iter().map(ToString::to_string).collect();
    let (last, others) = expected.split_last()?;
    let expected = if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) };
    let message = format!("an indentation of {found} spaces, which no block here has: expected {expected}");
    (!open.contains(&found)).then_some(message)
}

/// Returns true for the plain scalars that stand for null.
fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// Returns the value of a scalar, or the code and the message of an error.
fn scalar<'a>(text: Cow<'a, str>, style: ScalarStyle, tag: Option<&Tag>) -> Result<NodeValue<'a>, (Code, String)> {
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain { plain(text) } else { Ok(NodeValue::Text(text)) };
    };
    let value = match tag.core_suffix() {
        Some("str") => return Ok(NodeValue::Text(text)),
        Some("null") if is_null(&text) => return Ok(NodeValue::Null),
        _ => plain(text.clone())?,
    };
    match (tag.core_suffix(), value) {
        (Some("bool"), value @ NodeValue::Bool(_)) => Ok(value),
        (Some("int"), value @ (NodeValue::Int(_) | NodeValue::UInt(_))) => Ok(value),
        (Some("float"), NodeValue::Int(number)) => Ok(NodeValue::Float(number as f64)),
        (Some("float"), NodeValue::UInt(number)) => Ok(NodeValue::Float(number as f64)),
        (Some("float"), value @ NodeValue::Float(_)) => Ok(value),
        (Some("null" | "bool" | "int" | "float"), _) => Err((
            Code::Syntax,
            format!("`{}` is not of the type of its tag {}", clipped(&text), clipped(&tag.original())),
        )),
        (_, _) => Err((Code::Syntax, unknown_tag(tag))),
    }
}

/// Returns the value of a plain scalar.
fn plain(text: Cow<'_, str>) -> Result<NodeValue<'_>, (Code, String)> {
    let Some(first) = text.bytes().next() else { return Ok(NodeValue::Null) };
    let value = match first {
        b'~' | b'n' | b'N' if is_null(&text) => NodeValue::Null,
        b't' | b'T' if matches!(&*text, "true" | "True" | "TRUE") => NodeValue::Bool(true),
        b'f' | b'F' if matches!(&*text, "false" | "False" | "FALSE") => NodeValue::Bool(false),
        b'0'..=b'9' | b'+' | b'-' | b'.' => number(&text)?.unwrap_or(NodeValue::Text(text)),
        _ => NodeValue::Text(text),
    };
    Ok(value)
}

/// Returns the value of a number; `None` for other text.
fn number(text: &str) -> Result<Option<NodeValue<'static>>, (Code, String)> {
    let (is_negative, digits) = match text.as_bytes()[0] {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let wrong = |message: String| Err((Code::NumberLiteral, message));
    let (radix, unprefixed) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0o" | "0O") => (8, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        _ => (10, digits),
    };
    let is_decimal =
        radix == 10 && !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit() || digit == b'_');
    if is_decimal && digits.len() > 1 && digits.starts_with('0') && !digits.contains('_') {
        let octal = digits.bytes().all(|digit| digit < b'8').then(|| digits.trim_start_matches('0'));
        let octal = octal.map_or(String::new(), |digits| format!(", as 0o{digits} if it is octal,"));
        return wrong(format!("`{text}` has a leading zero; write it without{octal} or in quotes if it is a string"));
    }
    if let Some(number) = integer(unprefixed, radix, is_negative) {
        return Ok(Some(number));
    }
    if is_decimal && !digits.contains('_') {
        return wrong(format!("the integer {text} exceeds 64 bits"));
    }
    match digits.to_ascii_lowercase().as_str() {
        ".inf" => return Ok(Some(NodeValue::Float(if is_negative { f64::NEG_INFINITY } else { f64::INFINITY }))),
        ".nan" => return Ok(Some(NodeValue::Float(f64::NAN))),
        _ => {}
    }
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(Some(NodeValue::Float(number))),
        // The words of Rust for an infinity are text.
        Ok(number) if number.is_infinite() && digits.contains(|c: char| c.is_ascii_digit()) => {
            wrong(beyond_float64(text))
        }
        Ok(_) | Err(_) => Ok(None),
    }
}

/// Returns an integer of 64 bits; `_` may separate digits.
fn integer(digits: &str, radix: u32, is_negative: bool) -> Option<NodeValue<'static>> {
    let is_separated = digits.starts_with('_') || digits.ends_with('_') || digits.contains("__");
    if digits.is_empty() || is_separated || digits.starts_with(['+', '-']) {
        return None;
    }
    let plain: Cow<'_, str> = if digits.contains('_') { digits.replace('_', "").into() } else { digits.into() };
    let number = i128::from(u64::from_str_radix(&plain, radix).ok()?);
    let number = if is_negative { -number } else { number };
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => Some(NodeValue::Int(number)),
        (_, Ok(number)) => Some(NodeValue::UInt(number)),
        (Err(_), Err(_)) => None,
    }
}

/// State of a parser: the number of nodes, and stacks that collect the items of lists and maps until their length is
/// known, so that each list is allocated with its exact capacity.
#[derive(Default)]
struct Context<'de> {
    next: Cell<u32>,
    has_infinity: Cell<bool>,
    items: RefCell<Vec<SourceNode<'de>>>,
    entries: RefCell<Vec<(MapKey<'de>, SourceNode<'de>)>>,
}

impl Context<'_> {
    fn count(&self) -> NodeId {
        let id = self.next.get();
        self.next.set(id.saturating_add(1));
        NodeId(id)
    }
}

/// Deserializes a node and its descendants, and assigns their ids.
struct Seed<'c, 'de>(&'c Context<'de>);

impl<'de> DeserializeSeed<'de> for Seed<'_, 'de> {
    type Value = SourceNode<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<SourceNode<'de>, D::Error> {
        let id = self.0.count();
        Ok(SourceNode { id, value: deserializer.deserialize_any(self)? })
    }
}

impl<'de> Visitor<'de> for Seed<'_, 'de> {
    type Value = NodeValue<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scalar, a list or a map")
    }

    fn visit_unit<E>(self) -> Result<NodeValue<'de>, E> {
        Ok(NodeValue::Null)
    }

    fn visit_none<E>(self) -> Result<NodeValue<'de>, E> {
        Ok(NodeValue::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<NodeValue<'de>, E> {
        Ok(NodeValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<NodeValue<'de>, E> {
        Ok(NodeValue::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<NodeValue<'de>, E> {
        Ok(i64::try_from(value).map_or(NodeValue::UInt(value), NodeValue::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<NodeValue<'de>, E> {
        self.0.has_infinity.set(self.0.has_infinity.get() | value.is_infinite());
        Ok(NodeValue::Float(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<NodeValue<'de>, E> {
        Ok(NodeValue::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<NodeValue<'de>, E> {
        Ok(NodeValue::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<NodeValue<'de>, E> {
        Ok(NodeValue::Text(Cow::Owned(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<NodeValue<'de>, A::Error> {
        let start = self.0.items.borrow().len();
        while let Some(item) = seq.next_element_seed(Seed(self.0))? {
            self.0.items.borrow_mut().push(item);
        }
        Ok(NodeValue::List(self.0.items.borrow_mut().drain(start..).collect()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NodeValue<'de>, A::Error> {
        let start = self.0.entries.borrow().len();
        while let Some(key) = map.next_key_seed(KeySeed(self.0))? {
            let value = map.next_value_seed(Seed(self.0))?;
            self.0.entries.borrow_mut().push((key, value));
        }
        Ok(NodeValue::Map(self.0.entries.borrow_mut().drain(start..).collect()))
    }
}

struct KeySeed<'c, 'de>(&'c Context<'de>);

impl<'de> DeserializeSeed<'de> for KeySeed<'_, 'de> {
    type Value = MapKey<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<MapKey<'de>, D::Error> {
        let id = self.0.count();
        Ok(MapKey { id, text: deserializer.deserialize_option(KeyVisitor)? })
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is a string")
    }

    /// `null: null` is a way to write None; its key is a string like the others.
    fn visit_none<E>(self) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed("null"))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(value))
    }
}

/// The JSON form of a source: infinities and NaN are the strings that stand for them in JSON.
impl From<&SourceNode<'_>> for serde_json::Value {
    fn from(node: &SourceNode<'_>) -> serde_json::Value {
        match &node.value {
            NodeValue::Null => serde_json::Value::Null,
            NodeValue::Bool(bool) => (*bool).into(),
            NodeValue::Int(number) => (*number).into(),
            NodeValue::UInt(number) => (*number).into(),
            NodeValue::Float(number) if number.is_finite() => (*number).into(),
            NodeValue::Float(number) => number.to_string().to_lowercase().into(),
            NodeValue::Text(text) => (&**text).into(),
            NodeValue::List(items) => items.iter().map(serde_json::Value::from).collect(),
            NodeValue::Map(entries) => serde_json::Value::Object(
                entries.iter().map(|(key, node)| (key.text.to_string(), node.into())).collect(),
            ),
        }
    }
}

/// Reads a tree from any serde format, for example to compare parsers. [`parse`] reads sources.
impl<'de> Deserialize<'de> for SourceNode<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SourceNode<'de>, D::Error> {
        Seed(&Context::default()).deserialize(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> String {
        let error = parse(text).unwrap_err();
        format!("{:?}: {}", &text[error.span], error.message)
    }

    #[test]
    fn json_and_yaml_give_the_same_tree() {
        let json = r#"{"a": [1, -2, 3.5, true, null, "x y"], "b": {"c": 18446744073709551615}}"#;
        let yaml = "a: [1, -2, 3.5, true, null, 'x y']\nb:\n  c: 18446744073709551615\n";
        assert_eq!(parse(json).unwrap(), parse(yaml).unwrap());
        assert_eq!(parse_json(json).unwrap().0, parse_yaml(json).unwrap());
    }

    #[test]
    fn every_node_has_its_span() {
        let text = "a: [1, x]\n'b c':\n  d: 5\n";
        let found: Vec<&str> = spans(text).into_iter().skip(1).map(|span| &text[span]).collect();
        assert_eq!(found[0], "a");
        assert_eq!(found[2..5], ["1", "x", "'b c'"]);
        assert_eq!(found[6..], ["d", "5"]);
        let node = parse(text).unwrap();
        let NodeValue::Map(entries) = &node.value else { panic!() };
        assert_eq!((entries[0].0.id, entries[1].0.id), (NodeId(1), NodeId(5)));
    }

    #[test]
    fn runs_of_lines_are_read_as_others() {
        let blocks = "a:\n|b: |\n|b: \"\n|\"\n|c: [\n|]\n|? \n|- \n|  - \n|  d:\n|  # x\n|\n|: e\n|...\n|  word\n|d: &x\n|f: *x\n";
        let lines = "- {a: 1, b: [x::y.out, -2, [], {}]}  # 1\n|- [ a , b ]\r\n|x: {a: 1}\n|null: [1.5e3, .5]\n|- {a: 1}: 2\n|- {a: [b}\n|- {a, b}\n|- {a:b}\n|- {a: 017}\n|- {a: b c}\n|- {a: 1},\n|- {a: 'b'}\n|- [a, ]#\n|- [[[[[[[a]]]]]]]\n|- &x {a: 1}\n|- {: a}\n|- a\n|- [1e999]\n|- {a: 1}#\n|...: {a: 1}\n|- [a] # \u{1}\n|- [a:: b]\n|$(i): [$(i)]\n";
        let (blocks, lines): (Vec<&str>, Vec<&str>) = (blocks.split('|').collect(), lines.split('|').collect());
        let mut state = 1_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let (mut runs, mut valid) = (0, 0);
        for _ in 0..20_000 {
            let (mut text, mut line, mut indentation) = (String::new(), "", 0);
            for _ in 0..random(10) {
                match random(8) {
                    0 => text += blocks[random(blocks.len())],
                    1 => indentation = 2 * random(3),
                    // Most lines are like the one before.
                    kind => {
                        line = match kind {
                            2 => lines[random(lines.len())],
                            3 => lines[random(4)],
                            _ => line,
                        };
                        text += &format!("{:indentation$}{line}", "");
                    }
                }
            }
            let found = built(&text, true).map(|tree| (tree.root, tree.spans, tree.ends));
            let all = built_with(&text, true, Runs::default()).map(|tree| (tree.root, tree.spans, tree.ends));
            assert_eq!(found, all, "{text}");
            let has_runs = Runs::new(&text, |_| true).len() > 0;
            (runs, valid) = (runs + usize::from(has_runs), valid + usize::from(has_runs && found.is_ok()));
        }
        assert!(runs > 4000 && valid > 400, "{runs} with runs, {valid} of them valid");
    }

    #[test]
    fn integers_are_not_lost() {
        assert!(message("a: 017").contains("leading zero"));
        assert!(message("a: [18446744073709551616]").contains("exceeds 64 bits"));
        assert!(message("{\"a\": -9223372036854775809}").contains("exceeds 64 bits"));
        assert!(parse("a: 1e30\nb: 0.5\nc: 1.0\nd: a017\ne: '017'").is_ok());
    }

    #[test]
    fn only_integers_of_json_may_exceed_64_bits() {
        for text in ["[18446744073709551616]", "{\"a\": -9223372036854775809, \"b\": 1}"] {
            assert!(has_long_digits(text.as_bytes()) && message(text).contains("exceeds 64 bits"), "{text}");
        }
        for text in ["[0.1234567890123456789012]", "{\"hex\": \"00000000000000000000\"}", "[1234567890]"] {
            assert!(!has_long_digits(text.as_bytes()) && parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn numbers_beyond_float64_are_errors_and_words_are_not() {
        let digits = format!("{}.0", "9".repeat(310));
        for literal in ["1e400", "-1e999", "1.5E400", "1e+309", "17976931348623157e293", &digits] {
            let word = if literal.starts_with('-') {
                "write -.inf, in JSON \"-inf\","
            } else {
                "write .inf, in JSON \"inf\","
            };
            let expected =
                format!("{literal:?}: {} is beyond the range of float64; {word} for an infinity", clipped(literal));
            for text in
                [format!("a: {literal}"), format!("{{\"a\": [0.5, {literal}]}}"), format!("a: &x {literal}\nb: *x\n")]
            {
                assert_eq!(message(&text), expected, "{text}");
            }
        }
        assert!(message("a: +1e400").contains("float64"));
        for text in
            ["a: [.inf, -.inf, +.inf, .Inf, 1.7e308, 1e-400]", "a: x 1e400\nb: .inf\nc: \"1e400\"", "{\"a\": \"inf\"}"]
        {
            assert!(parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn syntax_errors_have_a_span() {
        // The decoder reports duplicate keys.
        for text in ["1: a\n1: b\n", "a: 1\na: 2\n"] {
            assert!(matches!(parse(text).unwrap().value, NodeValue::Map(entries) if entries.len() == 2));
        }
        assert_eq!(message("a: 1\nb: [1, 2\n").lines().count(), 1);
        assert!(parse("a: [1, 2").is_err());
        assert!(parse("a: !!python/object x").is_err());
        assert!(parse(&format!("a: {}1{}", "[".repeat(200), "]".repeat(200))).is_err());
    }

    /// A case of the YAML test suite.
    #[derive(serde::Deserialize)]
    struct SuiteCase {
        id: String,
        yaml: String,
        #[serde(default)]
        fail: bool,
        json: Option<Vec<serde_json::Value>>,
    }

    /// Cases that are accepted although they are not YAML: lines of a flow collection that are not indented.
    const ACCEPTED: &[&str] = &["9C9N", "VJP3-00"];

    /// Words of the errors of cases outside of the subset that sources may use.
    const OUTSIDE: &[&str] =
        &["several documents", "a key must be a string", "unsupported tag", "`<<` is not supported"];

    #[test]
    fn the_yaml_test_suite() {
        let suite = std::fs::read_to_string("tests/yaml/suite.jsonl").unwrap();
        let (mut equal, mut outside, mut wrong) = (0, 0, Vec::new());
        for line in suite.lines() {
            let SuiteCase { id, yaml, fail, json } = serde_json::from_str(line).unwrap();
            let found = parse_yaml(&yaml);
            match (found, json.as_deref()) {
                (Err(error), _) if OUTSIDE.iter().any(|words| error.message.contains(words)) => outside += 1,
                (Err(_), _) if fail => equal += 1,
                (Ok(_), _) if fail && ACCEPTED.contains(&&*id) => equal += 1,
                (Ok(_), _) if fail => wrong.push(format!("{id}: accepted\n{yaml}")),
                (Err(error), _) => wrong.push(format!("{id}: {}\n{yaml}", error.message)),
                // Without a form in JSON there is nothing to compare.
                (Ok(_), None) => outside += 1,
                (Ok(node), Some([])) if node.value == NodeValue::Null => equal += 1,
                (Ok(node), Some([expected])) if serde_json::Value::from(&node) == *expected => equal += 1,
                (Ok(node), Some(expected)) => {
                    wrong
                        .push(format!("{id}: found {}, expected {expected:?}\n{yaml}", serde_json::Value::from(&node)));
                }
            }
        }
        assert!(
            wrong.is_empty(),
            "{} cases, {equal} as expected, {outside} outside\n{}",
            wrong.len(),
            wrong.join("\n")
        );
        assert!(equal > 200 && outside < 120, "{equal} as expected, {outside} outside");
    }
}
