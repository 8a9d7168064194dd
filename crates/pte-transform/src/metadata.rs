//! Metadata of a program: the values that its constant methods return, and named data whose keys begin with
//! `metadata.`.
//!
//! A new constant method has the form in which the exporter writes `constant_methods` (E-2).

mod value;

use std::io;

use pte_model::data::Blob;
use pte_model::diagnostics::{Code, Diagnostic, clipped, first_names};
use pte_model::program::{ContainerMetadata, EValue, ExecutionPlan, NamedData, Program, ValueId};
use serde::Serialize;
pub use value::MetadataValue;

use crate::error::EditError;
use crate::pattern::Pattern;
use crate::remap::drop_blobs;
use crate::rename::name_of;

/// Prefix of the keys of named data that are metadata.
pub const METADATA_PREFIX: &str = "metadata.";

/// Size in bytes up to which named data are read as text.
const MAX_TEXT: u64 = 16 << 20;

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
    let unmatched = patterns
        .iter()
        .filter(|pattern| !entries.iter().any(|entry| Pattern::new(pattern.as_str()).matches(&entry.key)));
    let errors: Vec<Diagnostic> = unmatched.map(|pattern| unknown(program, &entries, pattern)).collect();
    if !errors.is_empty() {
        return Err(errors.into());
    }
    entries.retain(|entry| patterns.iter().any(|pattern| Pattern::new(pattern.as_str()).matches(&entry.key)));
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

pte_model::options! {
    /// Options of [`set`].
    ///
    /// ```
    /// assert!(!pte_transform::metadata::MetadataOptions::default().verbatim);
    /// ```
    #[derive(Debug, Clone, Default, PartialEq, Eq)]
    pub struct MetadataOptions {
        /// The text is a string as it is. By default, [`MetadataValue::parse`] reads it.
        pub verbatim: bool,
        /// An entry that exists may get another type.
        pub change_type: bool,
    }
}

/// Sets an entry: a constant method, or named data if the key begins with `metadata.`. A constant method that exists
/// keeps its place.
///
/// # Errors
/// A value of another type or of a malformed form; a method that is not a constant method; a program without methods.
/// Nothing is changed.
pub fn set(
    program: &mut Program,
    key: &str,
    text: &str,
    options: &MetadataOptions,
) -> Result<MetadataChange, EditError> {
    if program.execution_plan.is_none() {
        return Err(EditError::request(
            "the input has no methods: metadata are constant methods and named data of a program",
        ));
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
    let like = before.as_ref().filter(|_| !options.change_type);
    let invalid = |message: String| EditError::request(format!("`{}`: {message}", clipped(key)));
    let value = match options.verbatim {
        true => MetadataValue::String(text.to_owned()),
        false => MetadataValue::parse(text, like).map_err(invalid)?,
    };
    if let Some(like) = like.filter(|like| !value.suits(like)) {
        let message = format!("it is {}, found {}", with_article(&like.full_kind()), with_article(&value.full_kind()));
        let wrong = Code::UnmetRequest.whole(format!("`{}`: {message}", clipped(key)));
        return Err(vec![
            wrong.help("`--change-types` changes the type, which the readers of the program must expect"),
        ]
        .into());
    }
    if before.as_ref() != Some(&value) {
        let mut plan = match position {
            Some(position) => plans[position].clone(),
            None => ExecutionPlan::new(key),
        };
        fill(&mut plan, &value, before.as_ref())
            .ok_or_else(|| invalid("expected numbers, bools and strings".into()))?;
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
        let is_tuple =
            before.is_some() && structure.is_some_and(|text| text.starts_with(r#"[1, {"type": "builtins.tuple""#));
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
    let is_removed = |key: &str| patterns.iter().any(|pattern| Pattern::new(pattern.as_str()).matches(key));
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
        program.execution_plan.as_mut().unwrap()[0].container_meta_type = Some(ContainerMetadata::flat(0, 1, true));
        for (key, text) in
            [("get_n", "2"), ("get_list", "[1, 2.5, \"a\", true]"), ("get_one", "[7]"), ("metadata.author", "me")]
        {
            set(&mut program, key, text, &MetadataOptions::default()).unwrap_or_else(|error| panic!("{error:?}"));
        }
        let expected = ["get_n=2", "get_list=[1, 2.5, \"a\", true]", "get_one=[7]", "metadata.author=\"me\""];
        assert_eq!(keys(&program), expected);
        let before = program.clone();
        set(&mut program, "get_list", "[1, 2.5, \"a\", true]", &MetadataOptions::default()).unwrap();
        set(&mut program, "metadata.author", "me", &MetadataOptions::default()).unwrap();
        assert_eq!(program, before);
        remove(&mut program, &["get_*".into(), "metadata.*".into()]).unwrap();
        assert_eq!((keys(&program).len(), program.blobs.len(), program.named_data), (0, 0, None));
    }

    #[test]
    fn types_are_kept_unless_forced() {
        let mut program = Program::new(Vec::new());
        for (key, text) in [("f", "1.5"), ("s", "\"1\""), ("l", "[1.5]"), ("i", "1")] {
            set(&mut program, key, text, &MetadataOptions::default()).unwrap();
        }
        for (key, text, expected) in [("f", "2", "2.0"), ("s", "2", "\"2\""), ("l", "[2, 3]", "[2.0, 3.0]")] {
            assert_eq!(
                set(&mut program, key, text, &MetadataOptions::default()).unwrap().after.unwrap().to_string(),
                expected
            );
        }
        let wrong = |error: EditError| match error {
            EditError::Request(messages) => messages[0].message.clone(),
            EditError::Io(error) => error.to_string(),
        };
        let error = set(&mut program, "i", "1.5", &MetadataOptions::default()).unwrap_err();
        assert_eq!(wrong(error), "`i`: it is an integer, found a float");
        assert!(set(&mut program, "i", "99999999999999999999", &MetadataOptions::default()).is_err());
        assert!(set(&mut program, "i", "[[1]]", &MetadataOptions::default().change_type(true)).is_err());
        assert_eq!(
            set(&mut program, "i", "1.5", &MetadataOptions::default().change_type(true)).unwrap().after,
            Some(MetadataValue::Double(1.5))
        );
    }
}
