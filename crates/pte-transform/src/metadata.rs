//! Metadata of a program: the values that its constant methods return, and named data whose keys begin with `metadata.`.
//!
//! A new constant method has the form in which the exporter writes `constant_methods` (E-2).

use std::io;

use pte_model::data::Blob;
use pte_model::diagnostics::{Code, Diagnostic, clipped, first_names};
use pte_model::program::{ContainerMetadata, EValue, ExecutionPlan, NamedData, Program, ValueId};
use serde::{Serialize, Serializer};

use crate::error::EditError;
use crate::pattern::matches;
use crate::prune::drop_blobs;
use crate::rename::name_of;

/// Prefix of the keys of named data that are metadata.
pub const METADATA_PREFIX: &str = "metadata.";

/// Size in bytes up to which named data are read as text.
const MAX_TEXT: u64 = 16 << 20;

/// A value of metadata.
///
/// ```
/// use pte_transform::metadata::MetadataValue;
///
/// assert_eq!(MetadataValue::parse("32000", None), Ok(MetadataValue::Int(32000)));
/// assert_eq!(MetadataValue::parse("1e-5", None), Ok(MetadataValue::Double(1e-5)));
/// assert_eq!(MetadataValue::parse("[1, true]", None).unwrap().to_string(), "[1, true]");
/// assert_eq!(MetadataValue::parse("llama", None).unwrap().to_string(), "\"llama\"");
/// // A number for a key that is a string, or a float, is one of this type.
/// assert_eq!(MetadataValue::parse("2", Some(&MetadataValue::Double(1.0))), Ok(MetadataValue::Double(2.0)));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum MetadataValue {
    /// None.
    Null,
    /// An integer.
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
    /// Parses a value: `true`, `false`, a number, a list in JSON, a string in JSON, or else text. `like` is the present value, whose type a
    /// number and text take.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str, like: Option<&MetadataValue>) -> Result<MetadataValue, String> {
        if let Some(MetadataValue::String(_)) = like {
            return Ok(MetadataValue::String(text.to_owned()));
        }
        let value = match text.strip_prefix('[') {
            Some(items) => MetadataValue::List(MetadataValue::parse_list(items)?),
            None => MetadataValue::parse_item(text)?.unwrap_or_else(|| MetadataValue::String(text.to_owned())),
        };
        Ok(value.like(like))
    }

    /// Parses a value that is no list; `None` for text without quotes.
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

    /// Parses the items of a list, after its opening bracket. Numbers are not left to a parser of JSON, which rounds floats.
    fn parse_list(text: &str) -> Result<Vec<MetadataValue>, String> {
        let text = text.trim_end().strip_suffix(']').ok_or("expected a list in JSON, found no `]` at its end")?;
        let (mut items, mut start, mut quoted, mut escaped) = (Vec::new(), 0, false, false);
        let mut item = |part: &str| {
            let part = part.trim();
            let found = if part.starts_with(['[', '{']) { None } else { MetadataValue::parse_item(part)? };
            let expected = "expected numbers, bools and strings in quotes in a list";
            items.push(found.ok_or_else(|| format!("{expected}, found `{}`", clipped(part)))?);
            Ok::<(), String>(())
        };
        if text.trim().is_empty() {
            return Ok(Vec::new());
        }
        for (at, c) in text.char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = quoted,
                '"' => quoted = !quoted,
                ',' if !quoted => {
                    item(&text[start..at])?;
                    start = at + 1;
                }
                _ => {}
            }
        }
        item(&text[start..])?;
        Ok(items)
    }

    /// Converts integers to floats where the present value has floats.
    fn like(self, like: Option<&MetadataValue>) -> MetadataValue {
        match (self, like) {
            (MetadataValue::Int(number), Some(MetadataValue::Double(_))) => MetadataValue::Double(number as f64),
            (MetadataValue::List(items), Some(MetadataValue::List(present))) => {
                let of = present.iter().find(|item| matches!(item, MetadataValue::Double(_)));
                let of = of.filter(|_| present.iter().all(|item| item.kind() == "float"));
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
    fn full_kind(&self) -> String {
        let MetadataValue::List(items) = self else { return self.kind().to_owned() };
        let mut kinds: Vec<&str> = items.iter().map(MetadataValue::kind).collect();
        kinds.sort_unstable();
        kinds.dedup();
        if kinds.is_empty() { "list".to_owned() } else { format!("list of {}s", kinds.join("s and ")) }
    }

    /// Returns `true` if a value of this type may replace `other` without a change of types.
    fn suits(&self, other: &MetadataValue) -> bool {
        match (self, other) {
            (MetadataValue::List(items), MetadataValue::List(others)) => {
                let has_kind = |item: &MetadataValue| others.iter().any(|other| other.kind() == item.kind());
                others.is_empty() || items.iter().all(has_kind)
            }
            _ => self.kind() == other.kind(),
        }
    }

    fn items(&self) -> &[MetadataValue] {
        if let MetadataValue::List(items) = self { items } else { std::slice::from_ref(self) }
    }

    /// Returns the value of a method; `None` for those that have none.
    fn evalue(&self) -> Option<EValue> {
        Some(match self {
            MetadataValue::Null => EValue::Null,
            MetadataValue::Int(number) => EValue::Int(*number),
            MetadataValue::Double(number) => EValue::Double(*number),
            MetadataValue::Bool(value) => EValue::Bool(*value),
            MetadataValue::String(text) => EValue::String(Some(text.clone())),
            MetadataValue::List(_) | MetadataValue::Bytes(_) | MetadataValue::Tensor(_) => return None,
        })
    }

    fn of_evalue(value: &EValue, values: &[EValue]) -> MetadataValue {
        let list = |items: Vec<MetadataValue>| MetadataValue::List(items);
        match value {
            EValue::Null => MetadataValue::Null,
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
                    // A list is no item of a list; a malformed file may contain itself.
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

impl std::fmt::Display for MetadataValue {
    /// Formats a value as JSON. Numbers that JSON does not have are strings there: `"nan"`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            MetadataValue::List(items) => {
                f.write_str("[")?;
                for (number, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if number == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            MetadataValue::Bytes(count) => write!(f, "{}", pte_model::diagnostics::counted(*count, "byte")),
            MetadataValue::Tensor(description) => f.write_str(description),
            MetadataValue::Null
            | MetadataValue::Int(_)
            | MetadataValue::Double(_)
            | MetadataValue::Bool(_)
            | MetadataValue::String(_) => f.write_str(&serde_json::to_string(self).map_err(|_| std::fmt::Error)?),
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

/// An entry of the metadata of a program.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MetadataEntry {
    /// Name of the constant method, or key of the named data.
    pub key: String,
    /// Value.
    pub value: MetadataValue,
}

/// A change of an entry; `None` before it exists, and after it is removed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct MetadataChange {
    /// Name of the constant method, or key of the named data.
    pub key: String,
    /// Value before the change.
    pub before: Option<MetadataValue>,
    /// Value after the change.
    pub after: Option<MetadataValue>,
}

/// Returns `true` for a method without inputs and instructions: it returns the same values at every call (E-2).
pub fn is_constant_method(plan: &ExecutionPlan) -> bool {
    plan.inputs.as_ref().is_none_or(Vec::is_empty) && plan.instructions().next().is_none()
}

/// Returns the metadata of a program: constant methods, then named data, both in the order of the program.
///
/// # Errors
/// Named data that cannot be read.
pub fn list(program: &Program) -> io::Result<Vec<MetadataEntry>> {
    let methods = program.plans().iter().filter(|plan| is_constant_method(plan));
    let mut entries: Vec<MetadataEntry> =
        methods.map(|plan| MetadataEntry { key: name_of(plan), value: value_of(plan) }).collect();
    for entry in program.named_data.iter().flatten().filter(|entry| entry.key.starts_with(METADATA_PREFIX)) {
        let data = program.blob(entry.data);
        let text = if data.len() <= MAX_TEXT { String::from_utf8(data.to_vec()?).ok() } else { None };
        let value = text.map_or(MetadataValue::Bytes(data.len()), MetadataValue::String);
        entries.push(MetadataEntry { key: entry.key.clone(), value });
    }
    Ok(entries)
}

/// Returns the metadata whose keys match [patterns](crate::pattern).
///
/// # Errors
/// A pattern without an entry; data that cannot be read.
pub fn find(program: &Program, patterns: &[String]) -> Result<Vec<MetadataEntry>, EditError> {
    let mut entries = list(program)?;
    let unmatched = patterns.iter().filter(|pattern| !entries.iter().any(|entry| matches(pattern, &entry.key)));
    let errors: Vec<Diagnostic> = unmatched.map(|pattern| unknown(program, &entries, pattern)).collect();
    if !errors.is_empty() {
        return Err(errors.into());
    }
    entries.retain(|entry| patterns.iter().any(|pattern| matches(pattern, &entry.key)));
    Ok(entries)
}

/// Returns the value of a constant method.
fn value_of(plan: &ExecutionPlan) -> MetadataValue {
    let value = |id: &ValueId| {
        plan.value(*id).map_or(MetadataValue::Null, |value| MetadataValue::of_evalue(value, plan.values()))
    };
    let mut values: Vec<MetadataValue> = plan.outputs.iter().flatten().map(value).collect();
    let structure = plan.container_meta_type.as_ref().and_then(|meta| meta.encoded_out_str.as_deref());
    match values.len() {
        // A list of one value is only known by its structure.
        1 if structure.is_none_or(|structure| !structure.contains("builtins.")) => values.remove(0),
        _ => MetadataValue::List(values),
    }
}

/// Sets an entry: a constant method, or named data if the key begins with `metadata.`. A constant method that exists keeps its place
/// and, unless `force`, its type. `text` is parsed by [`MetadataValue::parse`], unless it is `verbatim`: a string as it is.
///
/// # Errors
/// A value of another type or of a malformed form; a method that is no constant method; a program without methods. Nothing is changed.
pub fn set(
    program: &mut Program,
    key: &str,
    text: &str,
    verbatim: bool,
    force: bool,
) -> Result<MetadataChange, EditError> {
    if program.execution_plan.is_none() {
        return Err(EditError::request("the input has no methods: metadata are constant methods and named data of a program"));
    }
    if key.is_empty() {
        return Err(EditError::request("expected a key, found an empty one"));
    }
    if key.starts_with(METADATA_PREFIX) {
        return Ok(set_named(program, key, text)?);
    }
    let plans = program.execution_plan.get_or_insert_default();
    let position = plans.iter().position(|plan| plan.name.as_deref() == Some(key));
    let before = match position.map(|position| &plans[position]) {
        Some(plan) if !is_constant_method(plan) => {
            let message = format!("method `{}` has inputs or instructions: it is no constant method", clipped(key));
            return Err(EditError::request(message));
        }
        plan => plan.map(value_of),
    };
    let like = before.as_ref().filter(|_| !force);
    let invalid = |message: String| EditError::request(format!("`{}`: {message}", clipped(key)));
    let value = match verbatim {
        true => MetadataValue::String(text.to_owned()),
        false => MetadataValue::parse(text, like).map_err(invalid)?,
    };
    if let Some(like) = like.filter(|like| !value.suits(like)) {
        let message = format!("it is {}, found {}", with_article(&like.full_kind()), with_article(&value.full_kind()));
        let wrong = Code::UnmetRequest.whole(format!("`{}`: {message}", clipped(key)));
        return Err(vec![wrong.help("`--force` changes the type, which the readers of the program must expect")].into());
    }
    if before.as_ref() != Some(&value) {
        let mut plan = match position {
            Some(position) => plans[position].clone(),
            None => ExecutionPlan::new(key),
        };
        fill(&mut plan, &value, before.as_ref()).ok_or_else(|| invalid("expected numbers, bools and strings".into()))?;
        match position {
            Some(position) => plans[position] = plan,
            None => plans.push(plan),
        }
        drop_blobs(program);
    }
    Ok(MetadataChange { key: key.to_owned(), before, after: Some(value) })
}

fn with_article(kind: &str) -> String {
    format!("{} {kind}", if kind.starts_with('i') { "an" } else { "a" })
}

/// Sets values, outputs and structure of a constant method. `None` for a value that no method returns.
fn fill(plan: &mut ExecutionPlan, value: &MetadataValue, before: Option<&MetadataValue>) -> Option<()> {
    let values: Vec<EValue> = value.items().iter().map(MetadataValue::evalue).collect::<Option<_>>()?;
    plan.outputs = Some((0..values.len()).map(ValueId::of).collect());
    let shape = |value: &MetadataValue| (matches!(value, MetadataValue::List(_)), value.items().len());
    if before.map(shape) != Some(shape(value)) {
        let structure = plan.container_meta_type.as_ref().and_then(|meta| meta.encoded_out_str.as_deref());
        let is_tuple = before.is_some() && structure.is_some_and(|text| text.starts_with(r#"[1, {"type": "builtins.tuple""#));
        plan.container_meta_type = Some(match value {
            MetadataValue::List(items) => structure_of_list(items.len(), if is_tuple { "tuple" } else { "list" }),
            _ => ContainerMetadata::flat(0, 1, true),
        });
    }
    plan.values = Some(values);
    Some(())
}

/// Returns the structure that pytree states for a list or tuple of values.
fn structure_of_list(count: usize, kind: &str) -> ContainerMetadata {
    const LEAF: &str = r#"{"type": null, "context": null, "children_spec": []}"#;
    let items = vec![LEAF; count].join(", ");
    ContainerMetadata {
        encoded_inp_str: Some(String::new()),
        encoded_out_str: Some(format!(
            r#"[1, {{"type": "builtins.{kind}", "context": "null", "children_spec": [{items}]}}]"#
        )),
    }
}

fn set_named(program: &mut Program, key: &str, text: &str) -> io::Result<MetadataChange> {
    let before = list(program)?.into_iter().find(|entry| entry.key == key).map(|entry| entry.value);
    let after = MetadataValue::String(text.to_owned());
    if before.as_ref() != Some(&after) {
        let data = program.add_blob(Blob::bytes(text.as_bytes()));
        let entries = program.named_data.get_or_insert_default();
        match entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.data = data,
            None => entries.push(NamedData::new(key, data)),
        }
        drop_blobs(program);
    }
    Ok(MetadataChange { key: key.to_owned(), before, after: Some(after) })
}

/// Removes the entries whose keys match [patterns](crate::pattern).
///
/// # Errors
/// A pattern without an entry; data that cannot be read. Nothing is changed.
pub fn remove(program: &mut Program, patterns: &[String]) -> Result<Vec<MetadataChange>, EditError> {
    let removed = find(program, patterns)?;
    let is_removed = |key: &str| patterns.iter().any(|pattern| matches(pattern, key));
    if let Some(plans) = &mut program.execution_plan {
        plans.retain(|plan| !is_constant_method(plan) || !is_removed(plan.name.as_deref().unwrap_or_default()));
    }
    if let Some(entries) = &mut program.named_data {
        let count = entries.len();
        entries.retain(|entry| !entry.key.starts_with(METADATA_PREFIX) || !is_removed(&entry.key));
        // A program whose last entry is removed has no list, as one that never had an entry.
        if entries.is_empty() && count > 0 {
            program.named_data = None;
        }
    }
    drop_blobs(program);
    let change = |entry: MetadataEntry| MetadataChange { key: entry.key, before: Some(entry.value), after: None };
    Ok(removed.into_iter().map(change).collect())
}

/// Returns the message about a key or pattern that matches no entry.
fn unknown(program: &Program, entries: &[MetadataEntry], pattern: &str) -> Diagnostic {
    let is_method = program.plans().iter().any(|plan| plan.name.as_deref() == Some(pattern));
    let known = entries.iter().map(|entry| entry.key.as_str());
    let list = if entries.is_empty() { "no metadata".to_owned() } else { first_names(known.clone()) };
    let pattern_name = clipped(pattern);
    let message = match is_method {
        true => format!("method `{pattern_name}` has inputs or instructions: it is no constant method"),
        false => format!("no metadata `{pattern_name}`; the program has {list}"),
    };
    Code::UnmetRequest.whole(message).suggest(pattern, known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(program: &Program) -> Vec<String> {
        list(program).unwrap().into_iter().map(|entry| format!("{}={}", entry.key, entry.value)).collect()
    }

    #[test]
    fn entries_are_added_replaced_and_removed() {
        let mut program = Program::new(vec![ExecutionPlan::new("get_n")]);
        program.execution_plan.as_mut().unwrap()[0].values = Some(vec![EValue::Int(1)]);
        program.execution_plan.as_mut().unwrap()[0].outputs = Some(vec![ValueId(0)]);
        for (key, text) in
            [("get_n", "2"), ("get_list", "[1, 2.5, \"a\", true]"), ("get_one", "[7]"), ("metadata.author", "me")]
        {
            set(&mut program, key, text, false, false).unwrap_or_else(|error| panic!("{error:?}"));
        }
        let expected =
            ["get_n=2", "get_list=[1, 2.5, \"a\", true]", "get_one=[7]", "metadata.author=\"me\""];
        assert_eq!(keys(&program), expected);
        let before = program.clone();
        set(&mut program, "get_list", "[1, 2.5, \"a\", true]", false, false).unwrap();
        set(&mut program, "metadata.author", "me", false, false).unwrap();
        assert_eq!(program, before);
        remove(&mut program, &["get_*".into(), "metadata.*".into()]).unwrap();
        assert_eq!((keys(&program).len(), program.blobs.len(), program.named_data), (0, 0, None));
    }

    #[test]
    fn types_are_kept_unless_forced() {
        let mut program = Program::new(Vec::new());
        for (key, text) in [("f", "1.5"), ("s", "\"1\""), ("l", "[1.5]"), ("i", "1")] {
            set(&mut program, key, text, false, false).unwrap();
        }
        for (key, text, expected) in [("f", "2", "2.0"), ("s", "2", "\"2\""), ("l", "[2, 3]", "[2.0, 3.0]")] {
            assert_eq!(set(&mut program, key, text, false, false).unwrap().after.unwrap().to_string(), expected);
        }
        let wrong = |error: EditError| match error {
            EditError::Request(messages) => messages[0].message.clone(),
            EditError::Io(error) => error.to_string(),
        };
        let error = set(&mut program, "i", "1.5", false, false).unwrap_err();
        assert_eq!(wrong(error), "`i`: it is an integer, found a float");
        assert!(set(&mut program, "i", "99999999999999999999", false, false).is_err());
        assert!(set(&mut program, "i", "[[1]]", false, true).is_err());
        assert_eq!(set(&mut program, "i", "1.5", false, true).unwrap().after, Some(MetadataValue::Double(1.5)));
    }
}
