//! Values of metadata: their text, their JSON, and the values of a method that they stand for.

use std::fmt;

use pte_model::diagnostics::{clipped, counted};
use pte_model::program::EValue;
use serde::{Serialize, Serializer};

/// Number of lists that a value may have in each other.
const MAX_DEPTH: usize = 16;

/// A value of metadata.
///
/// ```
/// use pte_transform::metadata::MetadataValue;
///
/// assert_eq!(MetadataValue::parse("32000", None), Ok(MetadataValue::Int(32000)));
/// assert_eq!(MetadataValue::parse("1e-5", None), Ok(MetadataValue::Double(1e-5)));
/// assert_eq!(MetadataValue::parse("[[1, 2], true]", None).unwrap().to_string(), "[[1, 2], true]");
/// assert_eq!(MetadataValue::parse("llama", None).unwrap().to_string(), "\"llama\"");
/// // A number for a key that is a string, or a float, is one of this type.
/// assert_eq!(MetadataValue::parse("2", Some(&MetadataValue::Double(1f64))), Ok(MetadataValue::Double(2f64)));
/// assert_eq!(MetadataValue::Bool(true).kind(), "bool");
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MetadataValue {
    /// None.
    Null,
    /// An Int.
    Int(i64),
    /// A floating-point number.
    Double(f64),
    /// A truth value.
    Bool(bool),
    /// Text.
    String(String),
    /// Several values, in order.
    List(Vec<MetadataValue>),
    /// Named data that are not text: their number of bytes.
    Bytes(u64),
    /// A tensor: its element type and sizes.
    Tensor(String),
}

impl MetadataValue {
    /// Parses a value: `true`, `false`, a number, a list in JSON, a string in JSON, or else text. `like` is the present
    /// value, whose type a number and text take.
    ///
    /// # Errors
    /// The form or type that is expected.
    pub fn parse(text: &str, like: Option<&MetadataValue>) -> Result<MetadataValue, String> {
        if let Some(MetadataValue::String(_)) = like {
            return Ok(MetadataValue::String(text.to_owned()));
        }
        let value = match text.strip_prefix('[') {
            Some(_) => MetadataValue::parse_list(text, 0)?,
            None => MetadataValue::parse_item(text)?.unwrap_or_else(|| MetadataValue::String(text.to_owned())),
        };
        Ok(value.like(like))
    }

    /// Parses a value that is not a list; `None` for text without quotes.
    fn parse_item(text: &str) -> Result<Option<MetadataValue>, String> {
        let is_number = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        Ok(Some(match text {
            "true" => MetadataValue::Bool(true),
            "false" => MetadataValue::Bool(false),
            "null" => MetadataValue::Null,
            _ if text.starts_with('"') => MetadataValue::String(
                serde_json::from_str(text).map_err(|error| format!("expected a string in JSON: {error}"))?,
            ),
            _ if is_number => match (text.parse(), text.parse()) {
                (Ok(number), _) => MetadataValue::Int(number),
                (Err(_), Ok(number)) if text.contains(['.', 'e', 'E']) => MetadataValue::Double(number),
                (Err(_), Ok(_)) => return Err(format!("the integer {text} exceeds 64 bits")),
                (Err(_), Err(_)) => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    /// Parses a list in JSON at a depth of nesting. Numbers are not left to a parser of JSON, which rounds floats.
    fn parse_list(text: &str, depth: usize) -> Result<MetadataValue, String> {
        let items = text.strip_prefix('[').and_then(|text| text.trim_end().strip_suffix(']'));
        let text = items.ok_or("expected a list in JSON, found no `]` at its end")?;
        if depth == MAX_DEPTH {
            return Err(format!("expected lists that are nested at most {MAX_DEPTH} deep"));
        }
        let (mut items, mut start, mut quoted, mut escaped, mut open) = (Vec::new(), 0, false, false, 0_usize);
        let mut item = |part: &str| {
            let part = part.trim();
            let found = match part.chars().next() {
                Some('[') => Some(MetadataValue::parse_list(part, depth + 1)?),
                Some('{') => None,
                _ => MetadataValue::parse_item(part)?,
            };
            let expected = "expected numbers, bools, strings in quotes and lists in a list";
            items.push(found.ok_or_else(|| format!("{expected}, found `{}`", clipped(part)))?);
            Ok::<(), String>(())
        };
        if text.trim().is_empty() {
            return Ok(MetadataValue::List(Vec::new()));
        }
        for (at, c) in text.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = quoted,
                '"' => quoted = !quoted,
                '[' if !quoted => open += 1,
                ']' if !quoted => open = open.checked_sub(1).ok_or("expected a list in JSON, found `]` too early")?,
                ',' if !quoted && open == 0 => {
                    item(&text[start..at])?;
                    start = at + 1;
                }
                _ => {}
            }
        }
        item(&text[start..])?;
        Ok(MetadataValue::List(items))
    }

    /// Returns the value of the next outputs of a method in a structure that pytree states: a leaf, or a list or tuple
    /// of structures. `None` for another structure.
    pub(super) fn structured(
        structure: &serde_json::Value,
        leaves: &mut impl Iterator<Item = MetadataValue>,
    ) -> Option<MetadataValue> {
        match structure.get("type")?.as_str() {
            None => leaves.next(),
            Some("builtins.list" | "builtins.tuple") => {
                let items = structure.get("children_spec")?.as_array()?.iter();
                items
                    .map(|item| MetadataValue::structured(item, leaves))
                    .collect::<Option<_>>()
                    .map(MetadataValue::List)
            }
            Some(_) => None,
        }
    }

    /// Returns the structure that pytree states for this value; `kind` is that of the outermost list.
    pub(super) fn structure(&self, kind: &str) -> String {
        let MetadataValue::List(items) = self else {
            return r#"{"type": null, "context": null, "children_spec": []}"#.to_owned();
        };
        let items: Vec<String> = items.iter().map(|item| item.structure("list")).collect();
        format!(r#"{{"type": "builtins.{kind}", "context": "null", "children_spec": [{}]}}"#, items.join(", "))
    }

    /// Converts integers to floats where the present value has floats.
    fn like(self, like: Option<&MetadataValue>) -> MetadataValue {
        match (self, like) {
            (MetadataValue::Int(number), Some(MetadataValue::Double(_))) => MetadataValue::Double(number as f64),
            (MetadataValue::List(items), Some(MetadataValue::List(_) | MetadataValue::Double(_))) => {
                let is_float = |leaf: &&MetadataValue| matches!(leaf, MetadataValue::Double(_));
                let leaves = like.map(MetadataValue::leaves).unwrap_or_default();
                let of = leaves.first().copied().filter(|_| leaves.iter().all(is_float));
                MetadataValue::List(items.into_iter().map(|item| item.like(of)).collect())
            }
            (value, _) => value,
        }
    }

    /// Returns the name of the type.
    pub fn kind(&self) -> &'static str {
        match self {
            MetadataValue::Null => "null",
            MetadataValue::Int(_) => "integer",
            MetadataValue::Double(_) => "float",
            MetadataValue::Bool(_) => "bool",
            MetadataValue::String(_) => "string",
            MetadataValue::List(_) => "list",
            MetadataValue::Bytes(_) => "blob",
            MetadataValue::Tensor(_) => "tensor",
        }
    }

    /// Returns the name of the type, of a list with those of its items.
    pub(super) fn full_kind(&self) -> String {
        let MetadataValue::List(_) = self else { return self.kind().to_owned() };
        let mut kinds: Vec<&str> = self.leaves().into_iter().map(MetadataValue::kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.is_empty() { "list".to_owned() } else { format!("list of {}s", kinds.join("s and ")) }
    }

    /// Returns `true` if a value of this type may replace `other` without a change of types.
    pub(super) fn suits(&self, other: &MetadataValue) -> bool {
        match (self, other) {
            (MetadataValue::List(_), MetadataValue::List(_)) => {
                let others = other.leaves();
                let has_kind = |leaf: &MetadataValue| others.iter().any(|other| other.kind() == leaf.kind());
                others.is_empty() || self.leaves().into_iter().all(has_kind)
            }
            (MetadataValue::Tensor(this), MetadataValue::Tensor(other)) => {
                this.split(' ').next() == other.split(' ').next()
            }
            _ => self.kind() == other.kind(),
        }
    }

    /// Returns the values that are not lists, in order: the outputs of the constant method.
    pub(super) fn leaves(&self) -> Vec<&MetadataValue> {
        match self {
            MetadataValue::List(items) => items.iter().flat_map(MetadataValue::leaves).collect(),
            _ => vec![self],
        }
    }

    /// Returns the value of a method; `None` for those that have none.
    pub(super) fn evalue(&self) -> Option<EValue> {
        Some(match self {
            MetadataValue::Null => EValue::Null,
            MetadataValue::Int(number) => EValue::Int(*number),
            MetadataValue::Double(number) => EValue::Double(*number),
            MetadataValue::Bool(value) => EValue::Bool(*value),
            MetadataValue::String(text) => EValue::String(Some(text.clone())),
            MetadataValue::List(_) | MetadataValue::Bytes(_) | MetadataValue::Tensor(_) => return None,
        })
    }

    pub(super) fn of_evalue(value: &EValue, values: &[EValue]) -> MetadataValue {
        let list = |items: Vec<MetadataValue>| MetadataValue::List(items);
        match value {
            EValue::Null | EValue::Unknown(_) => MetadataValue::Null,
            EValue::Int(number) => MetadataValue::Int(*number),
            EValue::Bool(value) => MetadataValue::Bool(*value),
            EValue::Double(number) => MetadataValue::Double(*number),
            EValue::String(text) => MetadataValue::String(text.clone().unwrap_or_default()),
            EValue::DoubleList(items) => {
                list(items.iter().flatten().map(|item| MetadataValue::Double(*item)).collect())
            }
            EValue::BoolList(items) => list(items.iter().flatten().map(|item| MetadataValue::Bool(*item)).collect()),
            EValue::Tensor(tensor) => {
                let sizes = tensor.sizes.as_deref().unwrap_or_default();
                MetadataValue::Tensor(format!("{} {sizes:?}", tensor.scalar_type))
            }
            EValue::IntList(_) | EValue::TensorList(_) | EValue::OptionalTensorList(_) => {
                let items = value.items().iter().map(|item| {
                    let item = usize::try_from(item).ok().and_then(|item| values.get(item));
                    // A list is not an item of a list; a malformed file may contain itself.
                    match item {
                        Some(item) if item.list_items().is_none() => MetadataValue::of_evalue(item, values),
                        Some(_) | None => MetadataValue::Null,
                    }
                });
                list(items.collect())
            }
        }
    }
}

impl fmt::Display for MetadataValue {
    /// Formats a value as JSON. Numbers that JSON does not have are strings there: `"nan"`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MetadataValue::List(items) => {
                f.write_str("[")?;
                for (number, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if number == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            MetadataValue::Bytes(count) => write!(f, "{}", counted(*count, "byte")),
            MetadataValue::Tensor(description) => f.write_str(description),
            MetadataValue::Null
            | MetadataValue::Int(_)
            | MetadataValue::Double(_)
            | MetadataValue::Bool(_)
            | MetadataValue::String(_) => f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?),
        }
    }
}

impl Serialize for MetadataValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            MetadataValue::Null => serializer.serialize_none(),
            MetadataValue::Int(number) => serializer.serialize_i64(*number),
            MetadataValue::Double(number) if number.is_finite() => serializer.serialize_f64(*number),
            MetadataValue::Double(number) => serializer.serialize_str(&number.to_string().to_lowercase()),
            MetadataValue::Bool(value) => serializer.serialize_bool(*value),
            MetadataValue::String(text) => serializer.serialize_str(text),
            MetadataValue::List(items) => serializer.collect_seq(items),
            MetadataValue::Bytes(count) => serializer.collect_map([("bytes", count)]),
            MetadataValue::Tensor(description) => serializer.collect_map([("tensor", description)]),
        }
    }
}
