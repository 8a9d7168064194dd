//! Text -> a tree of scalars, lists and maps: YAML through serde-saphyr, JSON through serde_json.
//!
//! Every node has a number, counted in the order of the text. Where it stands in the text is looked up only when a
//! message needs it ([`places`]), by reading the text once more: places cost a third of the parsing time, and most
//! texts are right. What keys and values mean is not known here.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;

use crate::diagnostics::Diagnostic;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use serde_saphyr::options::DuplicateKeyPolicy;

/// Number of a node, counted from 0 in the order of the text; keys count, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NodeId(pub u32);

/// A node of the text.
#[derive(Debug, Clone, PartialEq)]
pub struct Node<'a> {
    /// Its number.
    pub id: NodeId,
    /// What it holds.
    pub value: Value<'a>,
}

/// A key of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct Key<'a> {
    /// Its number.
    pub id: NodeId,
    /// The key.
    pub text: Cow<'a, str>,
}

/// What a node holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
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
    /// A text, quoted or not.
    Text(Cow<'a, str>),
    /// A list.
    List(Vec<Node<'a>>),
    /// A map in the order of the text.
    Map(Vec<(Key<'a>, Node<'a>)>),
}

impl Value<'_> {
    /// What it is, for messages.
    pub fn describe(&self) -> String {
        match self {
            Value::Null => "null".into(),
            Value::Bool(b) => format!("the bool {b}"),
            Value::Int(n) => format!("the integer {n}"),
            Value::UInt(n) => format!("the integer {n}"),
            Value::Float(x) => format!("the number {x:?}"),
            Value::Text(text) if text.len() <= 40 => format!("the text `{text}`"),
            Value::Text(_) => "a long text".into(),
            Value::List(items) => format!("a list of {}", items.len()),
            Value::Map(_) => "a map".into(),
        }
    }
}

/// Why a text is no tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Bytes of the text concerned.
    pub place: Range<usize>,
    /// What is wrong.
    pub message: String,
}

impl From<SyntaxError> for Diagnostic {
    fn from(error: SyntaxError) -> Diagnostic {
        Diagnostic::error(error.place, error.message)
    }
}

/// Reads a text. JSON is recognised by its first character and read by a faster parser; what that refuses is read as
/// YAML, of which JSON is a part.
///
/// # Errors
/// The first [`SyntaxError`]: after it nothing can be trusted.
pub fn parse(text: &str) -> Result<Node<'_>, SyntaxError> {
    let node = match text.trim_start().as_bytes().first() {
        Some(b'{' | b'[') => match parse_json(text) {
            Ok(node) => node,
            // What is not even YAML was meant as JSON.
            Err(json) => parse_yaml(text).map_err(|yaml| json_error(text, &json).unwrap_or(yaml))?,
        },
        _ => parse_yaml(text)?,
    };
    refuse_lost_integers(text, &node)?;
    Ok(node)
}

fn parse_json(text: &str) -> Result<Node<'_>, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let node = Seed(&Context::default()).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(node)
}

fn json_error(text: &str, error: &serde_json::Error) -> Option<SyntaxError> {
    let rendered = error.to_string();
    let message = rendered.split(" at line ").next().unwrap_or(&rendered);
    // The recursion limit is no matter of syntax, and our message about it is the YAML parser's.
    let syntax = (error.is_syntax() && !message.contains("recursion")) || error.is_eof();
    let place = place_of(text, error.line(), error.column());
    syntax.then(|| SyntaxError { place, message: format!("not JSON: {message}") })
}

fn parse_yaml(text: &str) -> Result<Node<'_>, SyntaxError> {
    let read = |duplicate_keys| {
        serde_saphyr::with_deserializer_from_str_with_options(text, options(duplicate_keys), |de| {
            Seed(&Context::default()).deserialize(de)
        })
    };
    let error = match read(DuplicateKeyPolicy::Error) {
        Ok(node) => return Ok(node),
        Err(error) => error,
    };
    // Keys that are there twice are reported with both places by whoever knows what they are keys of; unless the library
    // drops one of them, as it does with numbers.
    if error.to_string().contains("duplicate mapping key")
        && let Ok(node) = read(DuplicateKeyPolicy::LastWins)
        && has_duplicate(&node)
    {
        return Ok(node);
    }
    Err(syntax_error(text, &error))
}

fn has_duplicate(node: &Node<'_>) -> bool {
    match &node.value {
        Value::List(items) => items.iter().any(has_duplicate),
        Value::Map(entries) => {
            let mut keys = std::collections::HashSet::new();
            entries.iter().any(|(key, value)| !keys.insert(&*key.text) || has_duplicate(value))
        }
        _ => false,
    }
}

/// Options for YAML: sizes are bounded by the text's own length, nesting and aliases by the parser's limits.
fn options(duplicate_keys: DuplicateKeyPolicy) -> serde_saphyr::Options {
    let budget = serde_saphyr::budget! {
        max_events: usize::MAX,
        max_nodes: usize::MAX,
        max_total_scalar_bytes: usize::MAX,
        simple_key_max_lookahead: 1 << 16,
        // A list of tensors' numbers nests as deep as their rank, 16 at most; the rest of the text needs ten levels.
        max_depth: 64,
        flow_nesting_limit: 64,
        // Aliases save typing; a text of which most is repetition is an attack on memory.
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

/// The library's messages that speak of its options, in words about the text.
const WORDING: &[(&str, &str)] = &[
    ("duplicate mapping key", "a key is there twice"),
    ("multiple", "the text holds several documents; only one is read"),
    ("RecordedAnchor", "anchors and aliases repeat too much"),
    ("alias", "anchors and aliases repeat too much"),
    ("budget breached: Depth", "nested too deeply; 64 levels are read"),
    ("FlowNesting", "nested too deeply; 64 levels are read"),
    ("nesting", "nested too deeply; 64 levels are read"),
    ("recursion limit", "nested too deeply; 64 levels are read"),
    ("merge key", "`<<` is not understood here; write the keys out"),
    ("expected string scalar", "a key must be a text, not a list or a map"),
];

fn syntax_error(text: &str, error: &serde_saphyr::Error) -> SyntaxError {
    let place = error.location().map_or(0..0, |location| match location.span().byte_offset() {
        Some(_) => span_of(text, &location),
        // The scanner's errors know line and column only.
        None => place_of(text, location.line() as usize, location.column() as usize),
    });
    let rendered = error.to_string();
    let message = rendered.lines().find(|line| !line.trim().is_empty()).unwrap_or("not YAML");
    // The library's own position is repeated by ours.
    let message =
        message.split_once(": ").filter(|(head, _)| head.starts_with("line ")).map_or(message, |(_, rest)| rest);
    let message = message.split(" at line ").next().unwrap_or(message).trim_start_matches("error: ");
    let ours = WORDING.iter().find(|(theirs, _)| message.contains(theirs)).map_or(message, |(_, ours)| ours);
    SyntaxError { place, message: ours.to_owned() }
}

fn span_of(text: &str, location: &serde_saphyr::Location) -> Range<usize> {
    let span = location.span();
    let start = span.byte_offset().unwrap_or(0).min(text.len() as u64) as usize;
    let length = span.byte_len().unwrap_or(0) as usize;
    start..start.saturating_add(length).min(text.len())
}

/// The character at a line and a column, both counted from 1.
fn place_of(text: &str, line: usize, column: usize) -> Range<usize> {
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

/// An integer with a leading zero or beyond 64 bits reaches us as a floating point number, in both parsers. The text is
/// scanned for such digits, and only if there are any it is read again to see whether they are numbers.
fn refuse_lost_integers(text: &str, node: &Node<'_>) -> Result<(), SyntaxError> {
    if !has_odd_digits(text.as_bytes()) {
        return Ok(());
    }
    let places = places(text);
    let mut floats = Vec::new();
    collect_floats(node, &mut floats);
    for id in floats {
        let Some(place) = places.get(id.0 as usize) else { continue };
        let digits = text[place.clone()].trim_start_matches(['-', '+']);
        if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'_') {
            let message = if digits.starts_with('0') {
                let octal = digits.bytes().all(|digit| digit < b'8').then(|| digits.trim_start_matches('0'));
                let octal = octal.map_or(String::new(), |digits| format!(", as 0o{digits} if it is octal,"));
                let written = &text[place.clone()];
                format!("`{written}` has a leading zero; write it without{octal} or in quotes if it is a text")
            } else {
                format!("the integer {} does not fit 64 bits", &text[place.clone()])
            };
            return Err(SyntaxError { place: place.clone(), message });
        }
    }
    Ok(())
}

/// Whether a run of digits starts with a zero that is not alone, or is too long for 64 bits, anywhere.
fn has_odd_digits(text: &[u8]) -> bool {
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

fn collect_floats(node: &Node<'_>, found: &mut Vec<NodeId>) {
    match &node.value {
        Value::Float(_) => found.push(node.id),
        Value::List(items) => items.iter().for_each(|item| collect_floats(item, found)),
        Value::Map(entries) => entries.iter().for_each(|(_, value)| collect_floats(value, found)),
        _ => {}
    }
}

/// Where each node stands: byte ranges by number. Empty if the text cannot be read.
pub fn places(text: &str) -> Vec<Range<usize>> {
    let outline =
        serde_saphyr::with_deserializer_from_str_with_options(text, options(DuplicateKeyPolicy::LastWins), |de| {
            Outline::deserialize(de)
        });
    let mut places = Vec::new();
    if let Ok(outline) = outline {
        outline.flatten(text, &mut places);
    }
    places
}

/// What the reading of a text shares: the count of nodes, and stacks on which lists and maps grow until their length is
/// known, so that each gets the room it needs and no more.
#[derive(Default)]
struct Context<'de> {
    next: Cell<u32>,
    items: RefCell<Vec<Node<'de>>>,
    entries: RefCell<Vec<(Key<'de>, Node<'de>)>>,
}

impl Context<'_> {
    fn count(&self) -> NodeId {
        let id = self.next.get();
        self.next.set(id.saturating_add(1));
        NodeId(id)
    }
}

/// Reads a node and everything below it, counting.
struct Seed<'c, 'de>(&'c Context<'de>);

impl<'de> DeserializeSeed<'de> for Seed<'_, 'de> {
    type Value = Node<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node<'de>, D::Error> {
        let id = self.0.count();
        Ok(Node { id, value: deserializer.deserialize_any(self)? })
    }
}

impl<'de> Visitor<'de> for Seed<'_, 'de> {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a scalar, a list or a map")
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value<'de>, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'de>, E> {
        Ok(i64::try_from(value).map_or(Value::UInt(value), Value::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value<'de>, E> {
        Ok(Value::Float(value))
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Borrowed(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<Value<'de>, E> {
        Ok(Value::Text(Cow::Owned(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value<'de>, A::Error> {
        let start = self.0.items.borrow().len();
        while let Some(item) = seq.next_element_seed(Seed(self.0))? {
            self.0.items.borrow_mut().push(item);
        }
        Ok(Value::List(self.0.items.borrow_mut().drain(start..).collect()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        let start = self.0.entries.borrow().len();
        while let Some(key) = map.next_key_seed(KeySeed(self.0))? {
            let value = map.next_value_seed(Seed(self.0))?;
            self.0.entries.borrow_mut().push((key, value));
        }
        Ok(Value::Map(self.0.entries.borrow_mut().drain(start..).collect()))
    }
}

struct KeySeed<'c, 'de>(&'c Context<'de>);

impl<'de> DeserializeSeed<'de> for KeySeed<'_, 'de> {
    type Value = Key<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key<'de>, D::Error> {
        let id = self.0.count();
        Ok(Key { id, text: deserializer.deserialize_option(KeyVisitor)? })
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key that is a text")
    }

    /// `null: null` is a way to write None; its key is a text like the others.
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

/// The shape of a text with places: a node and what is below it, in the order in which [`Seed`] counts.
struct Outline {
    place: serde_saphyr::Location,
    below: Vec<Outline>,
}

impl Outline {
    fn flatten(&self, text: &str, places: &mut Vec<Range<usize>>) {
        places.push(span_of(text, &self.place));
        self.below.iter().for_each(|outline| outline.flatten(text, places));
    }
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Outline, D::Error> {
        let Spanned { value: Below(below), referenced, .. } = Spanned::deserialize(deserializer)?;
        Ok(Outline { place: referenced, below })
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
            below.push(Outline { place: key.referenced, below: Vec::new() });
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
                f.write_str("a key that is a text")
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

/// Reads a tree through any serde format. For comparing parsers in tests; [`parse`] is what reads sources.
#[cfg(feature = "internals")]
#[derive(Debug, PartialEq)]
pub struct Tree<'a>(pub Node<'a>);

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
        format!("{:?}: {}", &text[error.place], error.message)
    }

    #[test]
    fn json_and_yaml_give_the_same_tree() {
        let json = r#"{"a": [1, -2, 3.5, true, null, "x y"], "b": {"c": 18446744073709551615}}"#;
        let yaml = "a: [1, -2, 3.5, true, null, 'x y']\nb:\n  c: 18446744073709551615\n";
        assert_eq!(parse(json).unwrap(), parse(yaml).unwrap());
        assert_eq!(parse_json(json).unwrap(), parse_yaml(json).unwrap());
    }

    #[test]
    fn every_node_has_its_place() {
        let text = "a: [1, x]\n'b c':\n  d: 5\n";
        let found: Vec<&str> = places(text).into_iter().skip(1).map(|place| &text[place]).collect();
        assert_eq!(found[0], "a");
        assert_eq!(found[2..5], ["1", "x", "'b c'"]);
        assert_eq!(found[6..], ["d", "5"]);
        let node = parse(text).unwrap();
        let Value::Map(entries) = &node.value else { panic!() };
        assert_eq!((entries[0].0.id, entries[1].0.id), (NodeId(1), NodeId(5)));
    }

    #[test]
    fn integers_are_not_lost() {
        assert!(message("a: 017").contains("leading zero"));
        assert!(message("a: [18446744073709551616]").contains("does not fit 64 bits"));
        assert!(message("{\"a\": -9223372036854775809}").contains("does not fit 64 bits"));
        assert!(parse("a: 1e30\nb: 0.5\nc: 1.0\nd: a017\ne: '017'").is_ok());
    }

    #[test]
    fn syntax_errors_have_a_place() {
        assert!(message("1: a\n1: b\n").contains("twice"));
        assert!(has_duplicate(&parse("a: 1\na: 2\n").unwrap()));
        assert_eq!(message("a: 1\nb: [1, 2\n").lines().count(), 1);
        assert!(parse("a: [1, 2").is_err());
        assert!(parse("a: !!python/object x").is_err());
        assert!(parse(&format!("a: {}1{}", "[".repeat(200), "]".repeat(200))).is_err());
    }
}
