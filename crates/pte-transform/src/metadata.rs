//! Metadata of a program: the values that its constant methods return, and named data whose keys begin with
//! `metadata.`.
//!
//! A new constant method has the form in which the exporter writes `constant_methods` (E-2).

mod value;

use std::io;

use pte_model::data::Blob;
use pte_model::diagnostics::{Code, Diagnostic, clipped, first_names};
use pte_model::program::{
    ContainerMetadata, EValue, ExecutionPlan, METADATA_PREFIX, NamedData, Program, Tensor, TensorData, ValueId,
};
use serde::Serialize;
pub use value::MetadataValue;

use crate::error::EditError;
use crate::pattern::Pattern;
use crate::remap::drop_blobs;
use crate::rename::name_of;

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
    // Lists in lists, and a list of one value, are only known by their structure.
    let structured = structure(plan).and_then(|structure| {
        let (_, structure): (i64, serde_json::Value) = serde_json::from_str(structure).ok()?;
        let mut leaves = values.iter().cloned();
        MetadataValue::structured(&structure, &mut leaves).filter(|_| leaves.next().is_none())
    });
    structured.unwrap_or_else(|| if values.len() == 1 { values.remove(0) } else { MetadataValue::List(values) })
}

/// Returns the structure of the outputs of a method.
fn structure(plan: &ExecutionPlan) -> Option<&str> {
    plan.container_meta_type.as_ref()?.encoded_out_str.as_deref()
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
    let position = position(program, key)?;
    if key.starts_with(METADATA_PREFIX) {
        return Ok(set_named(program, key, text)?);
    }
    let before = position.map(|position| value_of(&program.plans()[position]));
    let invalid = |message: String| EditError::request(format!("`{}`: {message}", clipped(key)));
    let value = match options.verbatim {
        true => MetadataValue::String(text.to_owned()),
        false => {
            let like = before.as_ref().filter(|_| !options.change_type);
            MetadataValue::parse(text, like).map_err(invalid)?
        }
    };
    check_type(key, before.as_ref(), &value, options)?;
    if before.as_ref() != Some(&value) {
        let mut plan = position.map_or_else(|| ExecutionPlan::new(key), |position| program.plans()[position].clone());
        fill(&mut plan, &value, before.as_ref())
            .ok_or_else(|| invalid("expected numbers, bools and strings".into()))?;
        put(program, position, plan);
    }
    Ok(MetadataChange { key: key.to_owned(), before, after: Some(value) })
}

/// Sets an entry to the tensor that the only method of another program returns.
///
/// # Errors
/// As [`set`]; a program with anything else.
pub fn set_tensor(
    program: &mut Program,
    key: &str,
    from: &Program,
    options: &MetadataOptions,
) -> Result<MetadataChange, EditError> {
    let position = position(program, key)?;
    let ([plan], 1) = (from.plans(), from.blobs.len()) else { return Err(no_tensor(key)) };
    if !is_constant_method(plan) || plan.outputs.as_deref() != Some(&[ValueId(0)]) {
        return Err(no_tensor(key));
    }
    let before = position.map(|position| value_of(&program.plans()[position]));
    let value = value_of(plan);
    check_type(key, before.as_ref(), &value, options)?;
    let mut plan = plan.clone();
    let Some([EValue::Tensor(Tensor { data: TensorData::Blob(data), .. })]) = plan.values.as_deref_mut() else {
        return Err(no_tensor(key));
    };
    *data = program.add_blob(from.blob(*data).clone());
    put(program, position, plan);
    Ok(MetadataChange { key: key.to_owned(), before, after: Some(value) })
}

fn no_tensor(key: &str) -> EditError {
    let expected = "expected a tensor with data, as in `{tensor: int64, data: [[1, 8], [5, 5]]}`";
    EditError::request(format!("`{}`: {expected}", clipped(key)))
}

/// Returns the position of a constant method; `None` if there is none, and for named data.
fn position(program: &Program, key: &str) -> Result<Option<usize>, EditError> {
    if program.execution_plan.is_none() {
        return Err(EditError::request(
            "the input has no methods: metadata are constant methods and named data of a program",
        ));
    }
    if key.is_empty() {
        return Err(EditError::request("expected a key, found an empty one"));
    }
    let plans = program.plans();
    let position = program.method_index(Some(key));
    match position.filter(|_| !key.starts_with(METADATA_PREFIX)) {
        Some(at) if !is_constant_method(&plans[at]) => {
            let message = format!("method `{}` has inputs or instructions: it is no constant method", clipped(key));
            Err(EditError::request(message))
        }
        position => Ok(position),
    }
}

/// Replaces a method, or appends it.
fn put(program: &mut Program, position: Option<usize>, plan: ExecutionPlan) {
    let plans = program.execution_plan.get_or_insert_default();
    match position {
        Some(position) => plans[position] = plan,
        None => plans.push(plan),
    }
    drop_blobs(program);
}

/// Checks that a value has the type of the present one, unless types may change.
fn check_type(
    key: &str,
    before: Option<&MetadataValue>,
    value: &MetadataValue,
    options: &MetadataOptions,
) -> Result<(), EditError> {
    let Some(like) = before.filter(|like| !options.change_type && !value.suits(like)) else { return Ok(()) };
    let message = format!("it is {}, found {}", with_article(&like.full_kind()), with_article(&value.full_kind()));
    let wrong = Code::UnmetRequest.whole(format!("`{}`: {message}", clipped(key)));
    Err(vec![wrong.help("`--change-types` changes the type, which the readers of the program must expect")].into())
}

fn with_article(kind: &str) -> String {
    format!("{} {kind}", if kind.starts_with('i') { "an" } else { "a" })
}

/// Sets values, outputs and structure of a constant method. `None` for a value that no method returns.
fn fill(plan: &mut ExecutionPlan, value: &MetadataValue, before: Option<&MetadataValue>) -> Option<()> {
    let values: Vec<EValue> = value.leaves().into_iter().map(MetadataValue::evalue).collect::<Option<_>>()?;
    plan.outputs = Some((0..values.len()).map(ValueId::of).collect());
    // Tuples stay tuples.
    let lists = structure(plan).unwrap_or_default().replace("builtins.tuple", "builtins.list");
    let is_list = |value: &MetadataValue| matches!(value, MetadataValue::List(_));
    let is_kept = match before {
        Some(before) if is_list(before) => lists == format!("[1, {}]", value.structure("list")),
        Some(_) => !is_list(value),
        None => false,
    };
    if !is_kept {
        let is_tuple = before.is_some()
            && structure(plan).is_some_and(|text| text.starts_with(r#"[1, {"type": "builtins.tuple""#));
        plan.container_meta_type = Some(match value {
            MetadataValue::List(_) => ContainerMetadata {
                encoded_inp_str: Some(String::new()),
                encoded_out_str: Some(format!("[1, {}]", value.structure(if is_tuple { "tuple" } else { "list" }))),
            },
            _ => ContainerMetadata::flat(0, 1, true),
        });
    }
    plan.values = Some(values);
    Some(())
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
    let is_method = program.method_index(Some(pattern)).is_some();
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
        for text in ["[[1, 8], [[2]], []]", "[]", "[[]]", "3"] {
            let options = MetadataOptions::default().change_type(true);
            set(&mut program, "get_n", text, &options).unwrap_or_else(|error| panic!("{error:?}"));
            assert_eq!(keys(&program)[0], format!("get_n={text}"));
        }
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
        for text in ["[[1]", "[1]]", "[{}]", "[a]", &format!("{}{}", "[".repeat(17), "]".repeat(17))] {
            assert!(set(&mut program, "i", text, &MetadataOptions::default().change_type(true)).is_err(), "{text}");
        }
        let after = set(&mut program, "l", "[[2], [3]]", &MetadataOptions::default()).unwrap().after;
        assert_eq!(after.unwrap().to_string(), "[[2.0], [3.0]]");
        assert_eq!(
            set(&mut program, "i", "1.5", &MetadataOptions::default().change_type(true)).unwrap().after,
            Some(MetadataValue::Double(1.5))
        );
    }
}
