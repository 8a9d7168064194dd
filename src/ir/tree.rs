//! Source -> a tree of scalars, lists and maps: YAML with serde-saphyr, JSON with serde_json.
//!
//! Every node has an id, counted in source order. Its byte range is computed only for diagnostics ([`spans`]), by
//! parsing the source again: spans cost a third of the parsing time, and most sources are valid. The meaning of keys and
//! values is left to [`super::decode`].

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;

use crate::diagnostics::{Code, Diagnostic, clipped};
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use serde_saphyr::options::DuplicateKeyPolicy;

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
    /// The key.
    pub text: Cow<'a, str>,
}

/// Content of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue<'a> {
    /// `null` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer beyond `i64`.
    UInt(u64),
    /// A number with fraction or exponent, `.inf`, `.nan`.
    Float(f64),
    /// A string, quoted or not.
    Text(Cow<'a, str>),
    /// A list.
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
    pub(crate) fn diagnostic(self) -> Diagnostic {
        self.code.error(self.span, self.message)
    }
}

/// Parses a source. JSON is recognised by its first character and parsed by a faster parser. If that fails, the source
/// is parsed as YAML, of which JSON is a subset.
///
/// # Errors
/// The first [`SyntaxError`].
pub fn parse(text: &str) -> Result<SourceNode<'_>, SyntaxError> {
    let Parsed { node, has_infinity } = match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => match parse_json(text) {
            Ok(parsed) => parsed,
            // If it is not valid YAML either, report the JSON error.
            Err(json) => parse_yaml(text).map_err(|yaml| json_error(text, &json).unwrap_or(yaml))?,
        },
        _ => parse_yaml(text)?,
    };
    check_lost_digits(text, &node, has_infinity)?;
    Ok(node)
}

/// Result of a parser.
struct Parsed<'a> {
    node: SourceNode<'a>,
    /// True if a number of the tree is an infinity.
    has_infinity: bool,
}

fn parse_json(text: &str) -> Result<Parsed<'_>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let context = Context::default();
    let node = Seed(&context).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(Parsed { node, has_infinity: context.has_infinity.get() })
}

fn json_error(text: &str, error: &serde_json::Error) -> Option<SyntaxError> {
    let rendered = error.to_string();
    let message = rendered.split(" at line ").next().unwrap_or(&rendered);
    // The recursion limit is reported by the YAML parser.
    let syntax = (error.is_syntax() && !message.contains("recursion")) || error.is_eof();
    let span = char_span(text, error.line(), error.column());
    syntax.then(|| SyntaxError { code: Code::Syntax, span, message: format!("not JSON: {message}") })
}

fn parse_yaml(text: &str) -> Result<Parsed<'_>, SyntaxError> {
    let read = |duplicate_keys| {
        serde_saphyr::with_deserializer_from_str_with_options(text, options(duplicate_keys), |de| {
            let context = Context::default();
            let node = Seed(&context).deserialize(de)?;
            Ok(Parsed { node, has_infinity: context.has_infinity.get() })
        })
    };
    let error = match read(DuplicateKeyPolicy::Error) {
        Ok(parsed) => return Ok(parsed),
        Err(error) => error,
    };
    // The decoder reports duplicate keys with both spans, unless the library drops one of them, as it does with keys that
    // are numbers.
    if error.to_string().contains("duplicate mapping key")
        && let Ok(parsed) = read(DuplicateKeyPolicy::LastWins)
        && has_duplicate(&parsed.node)
    {
        return Ok(parsed);
    }
    Err(syntax_error(text, &error))
}

fn has_duplicate(node: &SourceNode<'_>) -> bool {
    match &node.value {
        NodeValue::List(items) => items.iter().any(has_duplicate),
        NodeValue::Map(entries) => {
            let mut keys = std::collections::HashSet::new();
            entries.iter().any(|(key, value)| !keys.insert(&*key.text) || has_duplicate(value))
        }
        NodeValue::Null
        | NodeValue::Bool(_)
        | NodeValue::Int(_)
        | NodeValue::UInt(_)
        | NodeValue::Float(_)
        | NodeValue::Text(_) => false,
    }
}

/// Options for YAML: sizes are bounded by the length of the source, nesting and aliases by the parser's limits.
fn options(duplicate_keys: DuplicateKeyPolicy) -> serde_saphyr::Options {
    let budget = serde_saphyr::budget! {
        max_events: usize::MAX,
        max_nodes: usize::MAX,
        max_total_scalar_bytes: usize::MAX,
        simple_key_max_lookahead: 1 << 16,
        // The numbers of a tensor are nested as deep as its rank, at most 16; the rest of a document needs ten levels.
        max_depth: 64,
        flow_nesting_limit: 64,
        // Limits the memory that a source with many aliases can allocate.
        max_recorded_anchor_events: 100_000,
    };
    serde_saphyr::options! {
        budget: budget,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 100_000 },
        duplicate_keys: duplicate_keys,
        strict_booleans: true,
        merge_keys: serde_saphyr::options::MergeKeyPolicy::Error,
        reject_unsupported_tags: true,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    }
}

/// Replacements of messages of the YAML library that refer to its options.
const WORDING: &[(&str, &str)] = &[
    ("duplicate mapping key", "duplicate key"),
    ("multiple", "the file has several documents; expected one"),
    ("RecordedAnchor", "too many repeated aliases"),
    ("alias", "too many repeated aliases"),
    ("budget breached: Depth", "nested too deeply; the maximum is 64 levels"),
    ("FlowNesting", "nested too deeply; the maximum is 64 levels"),
    ("nesting", "nested too deeply; the maximum is 64 levels"),
    ("recursion limit", "nested too deeply; the maximum is 64 levels"),
    ("merge key", "`<<` is not supported; write the keys out"),
    ("expected string scalar", "a key must be a string, not a list or a map"),
];

fn syntax_error(text: &str, error: &serde_saphyr::Error) -> SyntaxError {
    let span = error.location().map_or(0..0, |location| match location.span().byte_offset() {
        Some(_) => span_of(text, &location),
        // The scanner's errors only have line and column.
        None => char_span(text, location.line() as usize, location.column() as usize),
    });
    let rendered = error.to_string();
    let message = rendered.lines().find(|line| !line.trim().is_empty()).unwrap_or("not YAML");
    // Remove the position in the library's message: the diagnostic has a span.
    let message =
        message.split_once(": ").filter(|(head, _)| head.starts_with("line ")).map_or(message, |(_, rest)| rest);
    let message = message.split(" at line ").next().unwrap_or(message).trim_start_matches("error: ");
    let ours = WORDING.iter().find(|(theirs, _)| message.contains(theirs)).map_or(message, |(_, ours)| ours);
    let code = if message.contains("duplicate mapping key") { Code::DuplicateKey } else { Code::Syntax };
    SyntaxError { code, span, message: ours.to_owned() }
}

fn span_of(text: &str, location: &serde_saphyr::Location) -> Range<usize> {
    let span = location.span();
    let start = span.byte_offset().unwrap_or(0).min(text.len() as u64) as usize;
    let length = span.byte_len().unwrap_or(0) as usize;
    start..start.saturating_add(length).min(text.len())
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

/// Reports integers that have a leading zero or exceed 64 bits, which both parsers return as floating point numbers,
/// and numbers beyond the range of float64, which they return as infinities. The source is scanned for such digits.
/// Only if they occur, or the tree has an infinity, it is parsed again to find their nodes.
fn check_lost_digits(text: &str, node: &SourceNode<'_>, has_infinity: bool) -> Result<(), SyntaxError> {
    if !has_infinity && !has_suspect_digits(text.as_bytes()) {
        return Ok(());
    }
    let spans = spans(text);
    let mut floats = Vec::new();
    collect_floats(node, &mut floats);
    for (id, number) in floats {
        let Some(span) = spans.get(id.0 as usize) else { continue };
        let written = &text[span.clone()];
        let digits = written.trim_start_matches(['-', '+']);
        if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
            let message = if digits.starts_with('0') {
                let octal = digits.bytes().all(|digit| digit < b'8').then(|| digits.trim_start_matches('0'));
                let octal = octal.map_or(String::new(), |digits| format!(", as 0o{digits} if it is octal,"));
                format!("`{written}` has a leading zero; write it without{octal} or in quotes if it is a string")
            } else {
                format!("the integer {written} exceeds 64 bits")
            };
            return Err(SyntaxError { code: Code::NumberLiteral, span: span.clone(), message });
        }
        // The words for an infinity have no digits.
        if number.is_infinite() && digits.contains(|c: char| c.is_ascii_digit()) {
            return Err(SyntaxError {
                code: Code::NumberLiteral,
                span: span.clone(),
                message: beyond_float64(written),
            });
        }
    }
    Ok(())
}

/// Message about a decimal number that rounds to an infinity.
pub(crate) fn beyond_float64(written: &str) -> String {
    let (word, json) = if written.starts_with('-') { ("-.inf", "-inf") } else { (".inf", "inf") };
    // A number with hundreds of digits can exceed the range.
    let written = clipped(written);
    format!("{written} is beyond the range of float64; write {word}, in JSON \"{json}\", for an infinity")
}

/// Returns true if a run of digits has a leading zero, or may exceed 64 bits.
fn has_suspect_digits(text: &[u8]) -> bool {
    let mut at = 0;
    while at < text.len() {
        if !text[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let length = text[at..].iter().take_while(|b| b.is_ascii_digit() || **b == b'_').count();
        let inside_word =
            at > 0 && (text[at - 1].is_ascii_alphanumeric() || text[at - 1] == b'.' || text[at - 1] == b'_');
        let fraction = text.get(at + length) == Some(&b'.');
        if !inside_word && !fraction && (length >= 19 || (length > 1 && text[at] == b'0')) {
            return true;
        }
        at += length;
    }
    false
}

fn collect_floats(node: &SourceNode<'_>, found: &mut Vec<(NodeId, f64)>) {
    match &node.value {
        NodeValue::Float(x) => found.push((node.id, *x)),
        NodeValue::List(items) => items.iter().for_each(|item| collect_floats(item, found)),
        NodeValue::Map(entries) => entries.iter().for_each(|(_, value)| collect_floats(value, found)),
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Int(_) | NodeValue::UInt(_) | NodeValue::Text(_) => {}
    }
}

/// Byte ranges of all nodes by id. Empty if the source cannot be parsed.
pub fn spans(text: &str) -> Vec<Range<usize>> {
    let outline =
        serde_saphyr::with_deserializer_from_str_with_options(text, options(DuplicateKeyPolicy::LastWins), |de| {
            Outline::deserialize(de)
        });
    let mut spans = Vec::new();
    if let Ok(outline) = outline {
        outline.flatten(text, &mut spans);
    }
    spans
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

/// A node with its location and its children, in the order in which [`Seed`] assigns ids.
struct Outline {
    location: serde_saphyr::Location,
    below: Vec<Outline>,
}

impl Outline {
    fn flatten(&self, text: &str, spans: &mut Vec<Range<usize>>) {
        spans.push(span_of(text, &self.location));
        self.below.iter().for_each(|outline| outline.flatten(text, spans));
    }
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Outline, D::Error> {
        let Spanned { value: Below(below), referenced, .. } = Spanned::deserialize(deserializer)?;
        Ok(Outline { location: referenced, below })
    }
}

struct Below(Vec<Outline>);

impl<'de> Deserialize<'de> for Below {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Below, D::Error> {
        deserializer.deserialize_any(BelowVisitor).map(Below)
    }
}

struct BelowVisitor;

impl<'de> Visitor<'de> for BelowVisitor {
    type Value = Vec<Outline>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a node")
    }

    fn visit_unit<E>(self) -> Result<Vec<Outline>, E> {
        Ok(Vec::new())
    }

    fn visit_bool<E>(self, _: bool) -> Result<Vec<Outline>, E> {
        Ok(Vec::new())
    }

    fn visit_i64<E>(self, _: i64) -> Result<Vec<Outline>, E> {
        Ok(Vec::new())
    }

    fn visit_u64<E>(self, _: u64) -> Result<Vec<Outline>, E> {
        Ok(Vec::new())
    }

    fn visit_f64<E>(self, _: f64) -> Result<Vec<Outline>, E> {
        Ok(Vec::new())
    }

    fn visit_str<E>(self, _: &str) -> Result<Vec<Outline>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<Outline>, A::Error> {
        let mut below = Vec::new();
        while let Some(item) = seq.next_element()? {
            below.push(item);
        }
        Ok(below)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vec<Outline>, A::Error> {
        let mut below = Vec::new();
        while let Some(key) = map.next_key::<Spanned<KeyText>>()? {
            below.push(Outline { location: key.referenced, below: Vec::new() });
            below.push(map.next_value()?);
        }
        Ok(below)
    }
}

struct KeyText;

impl<'de> Deserialize<'de> for KeyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<KeyText, D::Error> {
        struct Ignore;
        impl<'de> de::Visitor<'de> for Ignore {
            type Value = KeyText;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key that is a string")
            }
            fn visit_none<E>(self) -> Result<KeyText, E> {
                Ok(KeyText)
            }
            fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<KeyText, D::Error> {
                deserializer.deserialize_str(self)
            }
            fn visit_str<E>(self, _: &str) -> Result<KeyText, E> {
                Ok(KeyText)
            }
        }
        deserializer.deserialize_option(Ignore)
    }
}

/// Deserializes a tree from any serde format, to compare parsers in tests. [`parse`] reads sources.
#[cfg(feature = "internals")]
#[derive(Debug, PartialEq)]
pub struct Tree<'a>(pub SourceNode<'a>);

#[cfg(feature = "internals")]
impl<'de> Deserialize<'de> for Tree<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Tree<'de>, D::Error> {
        Seed(&Context::default()).deserialize(deserializer).map(Tree)
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
        assert_eq!(parse_json(json).unwrap().node, parse_yaml(json).unwrap().node);
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
    fn integers_are_not_lost() {
        assert!(message("a: 017").contains("leading zero"));
        assert!(message("a: [18446744073709551616]").contains("exceeds 64 bits"));
        assert!(message("{\"a\": -9223372036854775809}").contains("exceeds 64 bits"));
        assert!(parse("a: 1e30\nb: 0.5\nc: 1.0\nd: a017\ne: '017'").is_ok());
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
        assert!(message("1: a\n1: b\n").contains("duplicate key"));
        assert!(has_duplicate(&parse("a: 1\na: 2\n").unwrap()));
        assert_eq!(message("a: 1\nb: [1, 2\n").lines().count(), 1);
        assert!(parse("a: [1, 2").is_err());
        assert!(parse("a: !!python/object x").is_err());
        assert!(parse(&format!("a: {}1{}", "[".repeat(200), "]".repeat(200))).is_err());
    }
}
