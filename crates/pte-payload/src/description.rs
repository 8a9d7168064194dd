//! Descriptions of payloads: ordered trees of named facts, and functions to collect them from untrusted bytes.
//!
//! The size of a description is bounded for any payload: lists, maps and strings are truncated, with the number of
//! omitted items.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::{fmt, io};

use serde::{Serialize, Serializer};

use pte_model::data::Blob;
use pte_model::diagnostics::counted;
use pte_model::format::TableSchema;
use pte_model::format::flatbuffer::read::{self, Buffer, TableRef};

/// Maximum number of bytes of metadata (FlatBuffer, JSON) that are read from a payload. Constants in a FlatBuffer
/// count.
pub const MAX_METADATA: u64 = 256 << 20;

/// Maximum number of items of a list, and of names of a map, in a description.
pub const MAX_LISTED: usize = 64;

/// Maximum number of keys of named data in a description.
const MAX_KEYS: usize = 1 << 16;

/// Maximum number of characters of a string in a description.
const MAX_TEXT: usize = 200;

/// A fact about a payload, part of a [`Description`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Fact {
    /// A name or a word.
    Text(String),
    /// An integer without a unit.
    Number(i64),
    /// A size or an offset in bytes.
    Bytes(u64),
    /// Facts without names.
    List(Vec<Fact>),
    /// Facts with names, in a fixed order.
    #[serde(serialize_with = "as_map")]
    Map(Vec<(Cow<'static, str>, Fact)>),
}

/// Content of a payload, as far as its format is known: the result of [`Formats::describe`](crate::Formats::describe).
///
/// It implements [`Serialize`]: JSON has the fields `format` and `problem`, and the facts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// Name of the format; `None` if it is unknown.
    pub format: Option<&'static str>,
    /// Size of the payload in bytes.
    pub size: u64,
    /// Facts with their names, in a fixed order.
    pub facts: Vec<(Cow<'static, str>, Fact)>,
    /// Error and its position if the payload cannot be read as its format; `None` otherwise.
    pub problem: Option<String>,
}

/// Names of facts that are counts, with the noun for a summary.
const COUNTED: &[(&str, &str)] =
    &[("operations", "operation"), ("inputs", "input"), ("outputs", "output"), ("blocks", "block"), ("files", "file")];

impl Description {
    /// Creates the description of a payload of `size` bytes with a known format.
    pub(crate) fn new(format: &'static str, size: u64, facts: Facts) -> Description {
        Description { format: Some(format), size, facts: facts.into_list(), problem: None }
    }

    /// Creates the description of a payload of `size` bytes that cannot be read as its format.
    #[doc(hidden)]
    pub fn unreadable(format: Option<&'static str>, size: u64, problem: impl Into<String>) -> Description {
        Description { format, size, facts: Vec::new(), problem: Some(problem.into()) }
    }

    /// Returns the format and the most important counts on one line.
    pub fn summary(&self) -> String {
        let mut summary = self.format.unwrap_or(UNKNOWN).to_owned();
        for (name, noun) in COUNTED {
            if let Some((_, fact)) = self.facts.iter().find(|(fact, _)| fact == name) {
                summary += &format!(", {}", counted(fact.total(), noun));
            }
        }
        summary
    }

    /// Returns what the payload was compiled for, such as chips and systems; empty if it does not say it.
    ///
    /// ```
    /// use pte_payload::pte_model::data::Blob;
    /// use pte_payload::{FORMATS, Formats};
    ///
    /// let manifest = br#"{"packaging": "inline", "platform": "iOS", "min_deployment_version": "27.0"}"#;
    /// let description = Formats(&[FORMATS]).describe("CoreAIBackend", &Blob::bytes(*manifest)).unwrap();
    /// assert_eq!(description.target(), ["iOS 27.0"]);
    /// ```
    pub fn target(&self) -> Vec<String> {
        let Some((_, Fact::List(parts))) = self.facts.iter().find(|(name, _)| name == TARGET) else {
            return Vec::new();
        };
        let text = |part: &'_ Fact| match part {
            Fact::Text(text) => Some(text.clone()),
            Fact::Number(_) | Fact::Bytes(_) | Fact::List(_) | Fact::Map(_) => None,
        };
        parts.iter().filter_map(text).collect()
    }

    /// Returns all facts with their names, including `format` and `problem`.
    pub fn all(&self) -> Vec<(Cow<'static, str>, Fact)> {
        let mut all = Facts::default();
        all.add("format", self.format.unwrap_or(UNKNOWN));
        all.add("size", Fact::Bytes(self.size));
        if let Some(problem) = &self.problem {
            all.add("problem", problem.as_str());
        }
        all.0.extend(self.facts.iter().cloned());
        all.0
    }
}

impl Serialize for Description {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        as_map(&self.all(), serializer)
    }
}

/// The keys of a [`Description`] in JSON; the facts depend on the format.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[allow(dead_code, reason = "only its schema is used")]
struct DescriptionKeys {
    /// Name of the format, or `unknown`.
    format: String,
    /// Size of the payload in bytes.
    size: u64,
    /// Defect of the payload, with its location.
    problem: Option<String>,
    #[serde(flatten)]
    facts: BTreeMap<String, serde_json::Value>,
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Description {
    fn schema_name() -> Cow<'static, str> {
        "Description".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        DescriptionKeys::json_schema(generator)
    }
}

/// Serialises pairs as a map, in their order.
pub fn as_map<K: Serialize, V: Serialize, S: Serializer>(pairs: &[(K, V)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// Value of facts that neither a schema nor public code proves.
pub const UNKNOWN: &str = "unknown";

/// Returns the name of a number of an enum or a union of a schema. `names` are the names of the numbers from `first`
/// on.
pub fn name_of(names: &[&'static str], first: i64, number: i64) -> Cow<'static, str> {
    match usize::try_from(number - first).ok().and_then(|position| names.get(position)) {
        Some(name) => Cow::Borrowed(*name),
        None => format!("{UNKNOWN} {number}").into(),
    }
}

/// Name of the list of what a payload was compiled for.
const TARGET: &str = "target";

/// Name of facts that are keys of named data, or have `keys`.
const NAMED_DATA: &str = "named_data";

/// Name of the number of items or names that a list or a map leaves out.
pub(crate) const MORE: &str = "more";

impl Fact {
    /// Returns the first [`MAX_LISTED`] of `total` items.
    pub(crate) fn list(items: impl IntoIterator<Item = Fact>, total: usize) -> Fact {
        let mut items: Vec<Fact> = items.into_iter().take(MAX_LISTED).collect();
        let more = Fact::more(total - items.len().min(total));
        items.extend(more);
        Fact::List(items)
    }

    /// Returns the last item of a list that leaves out some.
    fn more(count: usize) -> Option<Fact> {
        (count > 0).then(|| Fact::Map(vec![(MORE.into(), count.into_fact())]))
    }

    /// Returns a fact for display. Its lists have at most [`MAX_LISTED`] items, and the number of the others.
    #[doc(hidden)]
    pub fn abridged(&self) -> Fact {
        match self {
            Fact::List(items) if items.len() > MAX_LISTED + 1 => {
                let total = usize::try_from(self.total()).unwrap_or(items.len());
                Fact::list(items.iter().cloned(), total)
            }
            Fact::Map(facts) => Fact::Map(facts.iter().map(|(name, fact)| (name.clone(), fact.abridged())).collect()),
            Fact::List(_) | Fact::Text(_) | Fact::Number(_) | Fact::Bytes(_) => self.clone(),
        }
    }

    /// Returns sizes of dimensions.
    pub(crate) fn sizes(sizes: impl ExactSizeIterator<Item = i64>) -> Fact {
        let total = sizes.len();
        Fact::list(sizes.map(Fact::Number), total)
    }

    /// Returns element type and sizes of a tensor.
    #[doc(hidden)]
    pub fn tensor(datatype: &str, sizes: impl ExactSizeIterator<Item = i64>) -> Fact {
        Facts::default().with("datatype", datatype).with("sizes", Fact::sizes(sizes)).into_fact()
    }

    /// Adds the keys of named data in the fact; returns `false` if they are not complete.
    fn add_keys(&self, is_named: bool, keys: &mut Vec<String>) -> bool {
        let is_key = |name: &str| matches!(name, "key" | "keys");
        match self {
            Fact::Text(text) if is_named => {
                keys.push(text.clone());
                text != UNKNOWN && !(text.len() > MAX_TEXT && text.ends_with("..."))
            }
            Fact::List(items) => items.iter().all(|item| item.add_keys(is_named, keys)),
            Fact::Map(facts) => facts.iter().all(|(name, fact)| match &**name {
                MORE => !is_named,
                name => fact.add_keys(name == NAMED_DATA || (is_named && is_key(name)), keys),
            }),
            Fact::Text(_) | Fact::Number(_) | Fact::Bytes(_) => true,
        }
    }

    /// Returns the count of a fact of [`COUNTED`]: the number of items of a list, or the sum of the numbers of a map.
    fn total(&self) -> i64 {
        match self {
            Fact::List(items) => items.iter().fold(0, |sum, item| match item {
                Fact::Map(more) => match &more[..] {
                    [(name, Fact::Number(number))] if name == MORE => sum.saturating_add(*number),
                    _ => sum.saturating_add(1),
                },
                Fact::Text(_) | Fact::Number(_) | Fact::Bytes(_) | Fact::List(_) => sum.saturating_add(1),
            }),
            Fact::Map(facts) => facts.iter().fold(0, |sum, (_, fact)| sum.saturating_add(fact.total())),
            Fact::Number(number) => *number,
            Fact::Text(_) | Fact::Bytes(_) => 0,
        }
    }
}

/// A value that is a fact. Not `From`, whose implementations would be public with [`Fact`].
pub trait IntoFact {
    /// Returns the fact.
    fn into_fact(self) -> Fact;
}

impl IntoFact for Fact {
    fn into_fact(self) -> Fact {
        self
    }
}

impl IntoFact for &str {
    fn into_fact(self) -> Fact {
        Fact::Text(cut(self))
    }
}

impl IntoFact for u32 {
    fn into_fact(self) -> Fact {
        Fact::Number(self.into())
    }
}

impl IntoFact for usize {
    fn into_fact(self) -> Fact {
        Fact::Number(i64::try_from(self).unwrap_or(i64::MAX))
    }
}

impl IntoFact for Facts {
    fn into_fact(self) -> Fact {
        Fact::Map(self.0)
    }
}

/// Returns the first [`MAX_TEXT`] characters.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_TEXT) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// Facts in order.
#[derive(Debug, Default, Clone)]
pub struct Facts(Vec<(Cow<'static, str>, Fact)>);

impl Facts {
    /// Adds a fact.
    pub fn add(&mut self, name: &'static str, fact: impl IntoFact) {
        self.0.push((name.into(), fact.into_fact()));
    }

    /// Returns the facts with an additional one.
    pub fn with(mut self, name: &'static str, fact: impl IntoFact) -> Facts {
        self.add(name, fact);
        self
    }

    /// Adds what the payload was compiled for, if it says it.
    pub fn add_target<T: AsRef<str>>(&mut self, parts: impl IntoIterator<Item = T>) {
        let parts: Vec<Fact> = parts.into_iter().map(|part| part.as_ref().into_fact()).collect();
        let total = parts.len();
        if total > 0 {
            self.add(TARGET, Fact::list(parts, total));
        }
    }

    /// Adds the offset and the size of a part of the payload, in bytes.
    pub fn add_part(&mut self, name: &'static str, offset: u64, size: u64) {
        self.add(name, Facts::default().with("offset", Fact::Bytes(offset)).with("size", Fact::Bytes(size)));
    }

    /// Adds a size to the last fact, which is a list of sizes; those beyond the limit are left out.
    pub(crate) fn push_size(&mut self, size: i64) {
        if let Some((_, Fact::List(sizes))) = self.0.last_mut()
            && sizes.len() < MAX_LISTED
        {
            sizes.push(Fact::Number(size));
        }
    }

    /// Returns the fact with a name.
    pub(crate) fn get(&self, name: &str) -> Option<&Fact> {
        self.0.iter().find_map(|(known, fact)| (known == name).then_some(fact))
    }

    /// Returns the keys of named data: texts and `keys` of the facts `named_data`. `None` if some are left out, are
    /// shortened or are not known.
    pub(crate) fn keys(&self) -> Option<Vec<String>> {
        let mut keys = Vec::new();
        self.0.iter().all(|(name, fact)| fact.add_keys(name == NAMED_DATA, &mut keys)).then_some(keys)
    }

    /// Returns the facts.
    pub fn into_list(self) -> Vec<(Cow<'static, str>, Fact)> {
        self.0
    }
}

impl From<Vec<(Cow<'static, str>, Fact)>> for Facts {
    fn from(facts: Vec<(Cow<'static, str>, Fact)>) -> Facts {
        Facts(facts)
    }
}

/// Counts by name.
#[derive(Debug, Default)]
pub struct Tally {
    counts: BTreeMap<Cow<'static, str>, i64>,
    /// Count of names beyond the first [`MAX_LISTED`].
    more: i64,
}

impl Tally {
    /// Counts a name.
    pub fn count(&mut self, name: impl Into<Cow<'static, str>>) {
        let name = match name.into() {
            name if name.len() > MAX_TEXT => cut(&name).into(),
            name => name,
        };
        let has_space = self.counts.len() < MAX_LISTED;
        match self.counts.get_mut(&name) {
            Some(count) => *count += 1,
            None if has_space => _ = self.counts.insert(name, 1),
            None => self.more += 1,
        }
    }
}

impl IntoFact for Tally {
    fn into_fact(self) -> Fact {
        let Tally { counts, more } = self;
        let mut facts: Vec<_> = counts.into_iter().map(|(name, count)| (name, Fact::Number(count))).collect();
        if more > 0 {
            facts.push((MORE.into(), Fact::Number(more)));
        }
        Fact::Map(facts)
    }
}

/// Counts of the constants of a graph, by their location.
#[derive(Debug, Default)]
pub struct ConstantTally {
    inside: (usize, u64),
    /// Number of constants in named data.
    uses: usize,
    /// Number of keys, and the size of their data in bytes. Several constants may have the same key.
    named: (usize, u64),
    seen: HashSet<String>,
    keys: Vec<Fact>,
}

impl ConstantTally {
    /// Counts a constant of `size` bytes in the payload.
    pub fn inside(&mut self, size: u64) {
        self.inside = (self.inside.0 + 1, self.inside.1.saturating_add(size));
    }

    /// Counts a constant of `size` bytes in named data.
    pub fn named(&mut self, key: &str, size: u64) {
        self.uses += 1;
        if !self.seen.insert(key.to_owned()) {
            return;
        }
        self.named = (self.named.0 + 1, self.named.1.saturating_add(size));
        if self.keys.len() < MAX_KEYS {
            // Not shortened: `check` looks for it.
            self.keys.push(Fact::Text(key.to_owned()));
        }
    }
}

impl IntoFact for ConstantTally {
    fn into_fact(self) -> Fact {
        let ConstantTally { inside, uses, named, keys, .. } = self;
        let place = |(count, size): (usize, u64)| Facts::default().with("count", count).with("size", Fact::Bytes(size));
        let mut facts = Facts::default().with("payload", place(inside));
        if named.0 > 0 {
            let mut found = place(named);
            if uses > named.0 {
                found.add("uses", uses);
            }
            let more = named.0 - keys.len();
            facts.add(NAMED_DATA, found.with("keys", Fact::List(keys.into_iter().chain(Fact::more(more)).collect())));
        }
        facts.into_fact()
    }
}

/// The arguments of a graph, by the numbers of their values.
#[derive(Debug)]
pub struct Arguments {
    /// The first numbers, in order.
    numbers: Vec<u32>,
    total: usize,
    found: BTreeMap<u32, Fact>,
}

impl Arguments {
    /// Arguments with these numbers.
    pub fn new(numbers: &[u32]) -> Arguments {
        let listed = numbers.iter().copied().take(MAX_LISTED).collect();
        Arguments { numbers: listed, total: numbers.len(), found: BTreeMap::new() }
    }

    /// As [`Arguments::new`]; numbers that are none of values stand for no value.
    pub(crate) fn of(numbers: Vec<i64>) -> Arguments {
        let number = |number: i64| u32::try_from(number).unwrap_or(u32::MAX);
        Arguments::new(&numbers.into_iter().map(number).collect::<Vec<_>>())
    }

    /// Takes the facts of a value if it is one of the arguments; the first of several values with a number counts.
    ///
    /// # Errors
    /// Those of `facts`.
    pub fn take<E>(&mut self, number: u32, facts: impl FnOnce() -> Result<Fact, E>) -> Result<(), E> {
        if self.numbers.contains(&number) && !self.found.contains_key(&number) {
            self.found.insert(number, facts()?);
        }
        Ok(())
    }

    /// Returns the facts of a value.
    pub fn fact(&self, number: u32) -> Fact {
        self.found.get(&number).cloned().unwrap_or_else(|| UNKNOWN.into_fact())
    }
}

impl IntoFact for Arguments {
    fn into_fact(self) -> Fact {
        Fact::list(self.numbers.iter().map(|number| self.fact(*number)), self.total)
    }
}

/// Reason why a payload is not described.
#[derive(Debug)]
pub enum DescribeError {
    /// The payload cannot be read.
    Io(io::Error),
    /// The payload is malformed. The message has the error and its position.
    Malformed(String),
}

impl DescribeError {
    /// Creates the error of a malformed payload.
    pub fn malformed(message: impl Into<String>) -> DescribeError {
        DescribeError::Malformed(message.into())
    }
}

impl fmt::Display for DescribeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DescribeError::Io(error) => error.fmt(f),
            DescribeError::Malformed(message) => f.write_str(message),
        }
    }
}

impl From<io::Error> for DescribeError {
    fn from(error: io::Error) -> DescribeError {
        DescribeError::Io(error)
    }
}

/// Reads `size` bytes of metadata from `offset` on.
///
/// # Errors
/// More than [`MAX_METADATA`], or bytes outside the payload; bytes that cannot be read.
pub fn metadata(payload: &Blob, offset: u64, size: u64, what: &str) -> Result<Vec<u8>, DescribeError> {
    if offset.checked_add(size).is_none_or(|end| end > payload.len()) {
        let (size, len) = (counted(size, "byte"), counted(payload.len(), "byte"));
        return Err(DescribeError::malformed(format!("{what} of {size} at byte {offset:#x}, expected it in {len}")));
    }
    if size > MAX_METADATA {
        let size = counted(size, "byte");
        return Err(DescribeError::malformed(format!("{what} of {size}, expected at most {MAX_METADATA}")));
    }
    Ok(payload.read_at(offset, size as usize)?)
}

/// Reads a FlatBuffer of `size` bytes from `offset` on: calls `read` with its root table. `identifier` is `None` if the
/// schema has none.
///
/// # Errors
/// Those of [`metadata`] and of `read`, at positions in the payload; another identifier.
pub fn flatbuffer<T>(
    payload: &Blob,
    (offset, size): (u64, u64),
    identifier: Option<&str>,
    schema: &'static TableSchema,
    read: impl FnOnce(&TableRef<'_, '_>) -> read::Result<T>,
) -> Result<T, DescribeError> {
    let bytes = metadata(payload, offset, size, "a FlatBuffer")?;
    let buffer = Buffer::new(&bytes);
    let root = match identifier {
        Some(identifier) => buffer.root(identifier, schema),
        None => buffer.unidentified_root(schema),
    };
    root.and_then(|root| read(&root)).map_err(|mut error| {
        error.offset = error.offset.saturating_add(offset);
        DescribeError::Malformed(error.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_are_bounded() {
        let mut tally = Tally::default();
        for number in 0..1000 {
            tally.count(format!("{number} {}", "long".repeat(1000)));
        }
        tally.count("other");
        let Fact::Map(counts) = tally.into_fact() else { panic!() };
        assert_eq!((counts.len(), counts.last()), (MAX_LISTED + 1, Some(&("more".into(), Fact::Number(937)))));
        assert!(counts.iter().all(|(name, _)| name.len() <= MAX_TEXT + 3));

        let numbers: Vec<u32> = (0..1000).collect();
        let mut arguments = Arguments::new(&numbers);
        let ok = |name: &str| Ok::<_, String>(name.into_fact());
        arguments.take(1, || ok("first")).unwrap();
        arguments.take(1, || ok("second")).unwrap();
        arguments.take::<String>(999, || panic!("it is not listed")).unwrap();
        let list = arguments.into_fact();
        assert_eq!(list.total(), 1000);
        let Fact::List(items) = list else { panic!() };
        assert_eq!((items.len(), &items[..2]), (MAX_LISTED + 1, &[UNKNOWN.into_fact(), "first".into_fact()][..]));
    }

    #[test]
    fn keys_are_counted_once_and_abridged_for_people() {
        let mut tally = ConstantTally::default();
        (0..300).for_each(|number| tally.named(&format!("key {}", number % 100), 4));
        let fact = tally.into_fact();
        let text = serde_json::to_string(&fact).unwrap();
        assert!(text.contains(r#""count":100,"size":400,"uses":300,"keys":["key 0","#), "{text}");
        assert!(text.ends_with(r#""key 99"]}}"#), "{text}");
        let text = serde_json::to_string(&fact.abridged()).unwrap();
        assert!(text.ends_with(r#""key 63",{"more":36}]}}"#), "{text}");
    }

    #[test]
    fn metadata_are_inside_and_not_too_large() {
        use pte_model::data::BlobSource;
        let large = Blob::new(u64::MAX, BlobSource::Repeat([0].into()));
        let error = |offset, size| metadata(&large, offset, size, "x").unwrap_err().to_string();
        assert_eq!(
            error(1, u64::MAX),
            "x of 18446744073709551615 bytes at byte 0x1, expected it in 18446744073709551615 bytes"
        );
        assert_eq!(
            error(0, MAX_METADATA + 1),
            format!("x of {} bytes, expected at most {MAX_METADATA}", MAX_METADATA + 1)
        );
        assert_eq!(metadata(&large, u64::MAX - 1, 1, "x").unwrap(), [0]);
    }
}
