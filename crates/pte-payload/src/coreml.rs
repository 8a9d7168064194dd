//! Payloads of the Core ML backend: files one after the other with a table of them at the end (JSON, backwards), or a
//! reference to such data in the named data of the program.
//!
//! Described only.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::description::{self, DescribeError, Fact, Facts, IntoFact, MAX_LISTED, Tally, UNKNOWN};
use super::format::PayloadFormat;
use super::protobuf::{Fields, Malformed};
use super::signature::Signature;
use pte_model::data::Blob;
use pte_model::diagnostics::counted;

/// The payloads of the Core ML backend.
#[derive(Debug)]
pub struct CoreMl;

/// First bytes of a reference to named data, before its JSON.
const REFERENCE: &[u8; 4] = b"CMJR";

/// Largest size in bytes of JSON that is read.
const MAX_JSON: u64 = 4 << 20;

/// Size in bytes of the part of the payload in which the table of files is looked for first; it doubles.
const FIRST_TAIL: u64 = 64 << 10;

/// Largest depth of folders.
const MAX_DEPTH: usize = 16;

/// Names of folders in the root, and their contents.
const MODELS: &[(&str, &str)] = &[("model.mlpackage", "model"), ("model.mlmodelc", "compiled_model")];

/// Name of the file in the root with the names of inputs and outputs.
const METADATA: &str = "metadata.json";

/// Path of the model in the root.
const MODEL: [&str; 4] = ["model.mlpackage", "Data", "com.apple.CoreML", "model.mlmodel"];

/// Numbers and names of element types of arrays.
const DATATYPES: &[(u64, &str)] =
    &[(65552, "FLOAT16"), (65568, "FLOAT32"), (65600, "DOUBLE"), (131_080, "INT8"), (131_104, "INT32")];

/// Versions of the specification, and the oldest iOS and macOS that take them.
const SYSTEMS: &[(u64, &str, &str)] = &[
    (4, "13", "10.15"),
    (5, "14", "11"),
    (6, "15", "12"),
    (7, "16", "13"),
    (8, "17", "14"),
    (9, "18", "15"),
    (10, "26", "26"),
];

/// Kind of a node that is a file.
const FILE: u64 = 0;

impl PayloadFormat for CoreMl {
    fn name(&self) -> &'static str {
        "Core ML"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["CoreMLBackend"]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.starts_with(REFERENCE)
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let head = payload.read_at(0, payload.len().min(REFERENCE.len() as u64) as usize)?;
        match self.has_magic(&head) {
            true => reference(payload),
            false => files(payload),
        }
    }

    fn signature(&self, payload: &Blob) -> Result<Option<Signature>, DescribeError> {
        let facts = self.describe(payload)?;
        if let Some(stated) = Signature::of(&facts, self.rules()) {
            return Ok(Some(stated));
        }
        let Some(Fact::Map(metadata)) = facts.get("metadata") else { return Ok(None) };
        let mut found = Signature::of(&Facts::from(metadata.clone()), self.rules());
        // The lists have names.
        let arguments = found.iter_mut().flat_map(|found| found.inputs.iter_mut().chain(&mut found.outputs));
        arguments.for_each(|argument| argument.name = argument.datatype.take());
        Ok(found)
    }
}

/// Parses an object at a position of the payload.
fn object(json: &[u8], at: u64) -> Result<Map<String, Value>, DescribeError> {
    match serde_json::from_slice(json) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(DescribeError::malformed(format!("JSON at byte {at:#x}, expected an object"))),
        Err(error) => Err(DescribeError::malformed(format!("JSON at byte {at:#x}: {error}"))),
    }
}

fn json_size(size: u64, at: u64) -> Result<usize, DescribeError> {
    match size > MAX_JSON {
        true => {
            let size = counted(size, "byte");
            Err(DescribeError::malformed(format!("JSON of {size} at byte {at:#x}, expected at most {MAX_JSON}")))
        }
        false => Ok(size as usize),
    }
}

/// Reads an object of the payload.
///
/// # Errors
/// JSON that is too large or is no object; a payload that cannot be read.
pub fn json(payload: &Blob, at: u64, size: u64) -> Result<Map<String, Value>, DescribeError> {
    json_size(size, at)?;
    object(&description::metadata(payload, at, size, "JSON")?, at)
}

/// Describes a reference to named data.
fn reference(payload: &Blob) -> Result<Facts, DescribeError> {
    let at = REFERENCE.len() as u64;
    let json = payload.read_at(at, json_size(payload.len() - at, at)?)?;
    let object = object(&json, at)?;
    let text = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or(UNKNOWN);
    let mut reference = Facts::default();
    if let Some(version) = object.get("version").and_then(Value::as_i64) {
        reference.add("version", Fact::Number(version));
    }
    reference.add("key", text("key"));
    reference.add("function", text("functionName"));
    Ok(Facts::default().with("named_data", reference))
}

/// Returns the JSON object that ends the payload backwards, and the offset of its last character.
fn table(payload: &Blob) -> Result<(Vec<u8>, u64), DescribeError> {
    let len = payload.len();
    let mut size = FIRST_TAIL;
    loop {
        let tail = size.min(len).min(MAX_JSON);
        let mut json = payload.read_at(len - tail, tail as usize)?;
        json.reverse();
        if json.first() != Some(&b'{') {
            let message =
                format!("no table of files: expected the byte `{{` at the end, at {:#x}", len.saturating_sub(1));
            return Err(DescribeError::malformed(message));
        }
        if let Some(end) = object_end(&json) {
            json.truncate(end);
            return Ok((json, len - end as u64));
        }
        if tail < size {
            let message = format!("the table of files, backwards from the end, does not end within {tail} bytes");
            return Err(DescribeError::malformed(message));
        }
        size *= 2;
    }
}

/// Returns the size of the JSON object that the bytes begin with; `None` if it does not end.
fn object_end(json: &[u8]) -> Option<usize> {
    let (mut depth, mut in_string, mut is_escaped) = (0usize, false, false);
    for (position, byte) in json.iter().enumerate() {
        match byte {
            _ if std::mem::take(&mut is_escaped) => {}
            b'\\' => is_escaped = in_string,
            b'"' => in_string = !in_string,
            b'{' if !in_string => depth += 1,
            b'}' if !in_string => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(position + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// A file of the payload.
struct FileEntry {
    path: String,
    offset: u64,
    size: u64,
}

/// Describes files.
fn files(payload: &Blob) -> Result<Facts, DescribeError> {
    let (json, at) = table(payload)?;
    let object = object(&json, at)?;
    let nodes = match object.get("nodes") {
        Some(Value::Array(nodes)) if !nodes.is_empty() => nodes,
        Some(_) | None => {
            return Err(DescribeError::malformed(format!("the table of files at byte {at:#x} has no nodes")));
        }
    };
    let (files, total, size) = listed(nodes, at, payload.len())?;
    let root = nodes.last().and_then(|node| node.get("children")).and_then(Value::as_object);
    let kinds = MODELS.iter().filter(|(name, _)| root.is_some_and(|root| root.contains_key(*name)));
    let kind = kinds.map(|(_, kind)| *kind).next().unwrap_or(UNKNOWN);
    let mut facts = Facts::default().with("model_type", kind);
    let node = |number: &Value| nodes.get(usize::try_from(number.as_u64()?).ok()?);
    let mut arguments = None;
    if let Some((offset, size)) = root.and_then(|root| node(root.get(METADATA)?)).map(region) {
        json_size(size, offset)?;
        let json = self::object(&description::metadata(payload, offset, size, METADATA)?, offset)?;
        facts.add("metadata", names(&json));
        arguments = Some(json);
    }
    let child = |node: Option<&'_ Value>, name: &&str| node?.get("children")?.as_object()?.get(*name).cloned();
    let model = MODEL.iter().try_fold(nodes.last(), |found, name| child(found, name).map(|number| node(&number)));
    if let Some((offset, size)) = model.flatten().map(region) {
        let bytes = description::metadata(payload, offset, size, MODEL[MODEL.len() - 1])?;
        let malformed = |_| DescribeError::malformed(format!("the model at byte {offset:#x} is no Protocol Buffers"));
        self::model(&bytes, arguments.as_ref(), &mut facts).map_err(malformed)?;
    }
    let fact = |file: &FileEntry| {
        let mut facts = Facts::default().with("path", &*file.path);
        facts.add("offset", Fact::Bytes(file.offset));
        facts.add("size", Fact::Bytes(file.size));
        facts.into_fact()
    };
    facts.add("files", Fact::list(files.iter().map(fact), total));
    facts.add("files_size", Fact::Bytes(size));
    facts.add_part("table", at, json.len() as u64);
    Ok(facts)
}

/// Returns offset and size of the content of a file.
fn region(node: &Value) -> (u64, u64) {
    let word = |key| node.get("dataRegion").and_then(|region| region.get(key)).and_then(Value::as_u64).unwrap_or(0);
    (word("offset"), word("size"))
}

/// Returns the first files of a payload of `len` bytes in alphabetical order of their paths, the number of all, and
/// their size in bytes. The root is the last node.
fn listed(nodes: &[Value], at: u64, len: u64) -> Result<(Vec<FileEntry>, usize, u64), DescribeError> {
    let (mut files, mut total, mut sum) = (Vec::new(), 0, 0u64);
    // Folder and name of each node that was found in one.
    let mut parents: Vec<Option<(usize, &str)>> = vec![None; nodes.len()];
    let root = nodes.len() - 1;
    let mut open = vec![(root, 0)];
    while let Some((number, depth)) = open.pop() {
        let node = &nodes[number];
        if node.get("kind").and_then(Value::as_u64) == Some(FILE) {
            let (offset, size) = region(node);
            if offset.checked_add(size).is_none_or(|end| end > len) {
                let found = format!("file {number} of the table at byte {at:#x} has {}", counted(size, "byte"));
                return Err(DescribeError::malformed(format!(
                    "{found} at {offset:#x}, expected it in {}",
                    counted(len, "byte")
                )));
            }
            total += 1;
            sum = sum.saturating_add(size);
            if files.len() < MAX_LISTED {
                files.push(FileEntry { path: path(&parents, number), offset, size });
            }
            continue;
        }
        let Some(children) = node.get("children").and_then(Value::as_object) else { continue };
        for (name, child) in children.iter().rev() {
            let child = child.as_u64().and_then(|child| usize::try_from(child).ok());
            let Some(child) = child.filter(|child| *child < nodes.len()) else {
                let message = format!("a child of node {number} of the table of files at byte {at:#x} is no node");
                return Err(DescribeError::malformed(message));
            };
            // The runtime takes each node once.
            if child == root || parents[child].is_some() || depth == MAX_DEPTH {
                let message =
                    format!("node {child} of the table of files at byte {at:#x} is in several folders, or too deep");
                return Err(DescribeError::malformed(message));
            }
            parents[child] = Some((number, name));
            open.push((child, depth + 1));
        }
    }
    Ok((files, total, sum))
}

/// Returns the path of a node; the root has none.
fn path(parents: &[Option<(usize, &str)>], mut number: usize) -> String {
    let mut names = Vec::new();
    while let Some((parent, name)) = parents[number] {
        names.push(name);
        number = parent;
    }
    names.reverse();
    names.join("/")
}

/// Returns the identifier, and the names of inputs and outputs.
fn names(metadata: &Map<String, Value>) -> Facts {
    let mut facts = Facts::default();
    if let Some(identifier) = metadata.get("identifier").and_then(Value::as_str) {
        facts.add("identifier", identifier);
    }
    let list = |value: &Value| {
        let names = value.as_array().map(Vec::as_slice).unwrap_or_default();
        Fact::list(names.iter().map(|name| name.as_str().unwrap_or(UNKNOWN).into_fact()), names.len())
    };
    for (key, name) in [("inputNames", "inputs"), ("outputNames", "outputs")] {
        if let Some(value) = metadata.get(key) {
            facts.add(name, list(value));
        }
    }
    if let Some(methods) = metadata.get("methods").and_then(Value::as_object) {
        facts.add("methods", Fact::list(methods.keys().map(|name| name.as_str().into_fact()), methods.len()));
    }
    facts
}

/// Adds the version of a model, its operations and the arguments of its only function, in the order of the metadata.
/// The numbers are those of the fields in the schemas of Core ML.
fn model(bytes: &[u8], metadata: Option<&Map<String, Value>>, facts: &mut Facts) -> Result<(), Malformed> {
    let model = Fields(bytes);
    let version = model.clone().integer(1)?;
    facts.add_target(systems(version).into_iter().flatten());
    facts.add("specification_version", Fact::Number(i64::try_from(version).unwrap_or(i64::MAX)));
    let mut operations = Tally::default();
    model.clone().part(502)?.each(2, |function| {
        Fields(function).part(2)?.each(3, |block| {
            Fields(block).part(2)?.each(3, |operation| {
                operations.count(String::from_utf8_lossy(Fields(operation).part(1)?.0).into_owned());
                Ok(())
            })
        })
    })?;
    facts.add("operations", operations);
    let description = model.part(2)?;
    for (key, name, field) in [("inputNames", "inputs", 1), ("outputNames", "outputs", 10)] {
        let Some(names) = metadata.and_then(|metadata| metadata.get(key)).and_then(Value::as_array) else { continue };
        let listed: Vec<&str> = names.iter().take(MAX_LISTED).map(|name| name.as_str().unwrap_or(UNKNOWN)).collect();
        let mut found = HashMap::new();
        description.clone().each(field, |feature| {
            let name = String::from_utf8_lossy(Fields(feature).part(1)?.0).into_owned();
            if listed.contains(&name.as_str()) {
                found.insert(name, feature_type(Fields(feature).part(3)?.part(5)?)?);
            }
            Ok::<_, Malformed>(())
        })?;
        let fact = |name: &&str| {
            let named = Facts::default().with("name", *name);
            match found.remove(*name) {
                Some((datatype, sizes)) => named.with("datatype", &*datatype).with("sizes", sizes).into_fact(),
                None => named.into_fact(),
            }
        };
        facts.add(name, Fact::list(listed.iter().map(fact), names.len()));
    }
    Ok(())
}

/// Returns element type and sizes of an array.
fn feature_type(array: Fields<'_>) -> Result<(Cow<'static, str>, Fact), Malformed> {
    let number = array.clone().integer(2)?;
    let name = DATATYPES.iter().find(|(known, _)| *known == number).map(|(_, name)| Cow::Borrowed(*name));
    let sizes = array.part(1)?.packed()?;
    Ok((name.unwrap_or_else(|| format!("{UNKNOWN} {number}").into()), Fact::sizes(sizes.into_iter())))
}

/// Returns the oldest systems that take a version of the specification.
pub fn systems(version: u64) -> Option<[String; 2]> {
    let (_, ios, macos) = SYSTEMS.iter().find(|(known, ..)| *known == version)?;
    Some([format!("iOS {ios}"), format!("macOS {macos}")])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(payload: &[u8]) -> Result<String, String> {
        let facts = CoreMl.describe(&Blob::bytes(payload)).map_err(|error| error.to_string())?;
        Ok(serde_json::to_string(&facts.into_fact()).unwrap())
    }

    /// A payload that ends with a table.
    fn payload(table: &str) -> Vec<u8> {
        b"some content".iter().copied().chain(table.bytes().rev()).collect()
    }

    #[test]
    fn a_reference_has_a_key_and_a_function() {
        let json = r#"{"version": 1, "key": "coreml_0", "functionName": "forward"}"#;
        let expected = r#"{"named_data":{"version":1,"key":"coreml_0","function":"forward"}}"#;
        assert_eq!(described(format!("CMJR{json}").as_bytes()).unwrap(), expected);
        assert_eq!(described(b"CMJR{}").unwrap(), r#"{"named_data":{"key":"unknown","function":"unknown"}}"#);
        assert!(described(b"CMJR{").unwrap_err().starts_with("JSON at byte 0x4: EOF"));
        assert_eq!(described(b"CMJR[]").unwrap_err(), "JSON at byte 0x4, expected an object");
        let deep = format!("CMJR{}", r#"{"a":"#.repeat(10_000));
        assert!(described(deep.as_bytes()).unwrap_err().contains("recursion limit"));
    }

    #[test]
    fn a_table_is_read_backwards() {
        let file = r#"{"children":{},"dataRegion":{"offset":0,"size":4},"kind":0,"name":"a } \\\" {"}"#;
        let root = r#"{"children":{"model.mlmodelc":1},"kind":1}, {"children":{"b":0},"kind":1}"#;
        let root = root.split_once(", ").unwrap();
        let text = described(&payload(&format!(r#"{{"nodes":[{file},{},{}]}}"#, root.1, root.0))).unwrap();
        let expected = r#"{"model_type":"compiled_model","files":[{"path":"model.mlmodelc/b","offset":0,"size":4}],"files_size":4,"#;
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn hostile_tables_are_malformed() {
        for (table, expected) in [
            (r#"{"nodes":[]}"#, "has no nodes"),
            (r#"{"nodes":[{"kind":1,"children":{"a":0}}]}"#, "in several folders"),
            (r#"{"nodes":[{"kind":1,"children":{"a":1}},{"kind":1,"children":{"a":0}}]}"#, "in several folders"),
            (r#"{"nodes":[{"kind":0},{"kind":1,"children":{"a":0,"b":0}}]}"#, "in several folders"),
            (r#"{"nodes":[{"kind":1,"children":{"a":4294967296}}]}"#, "is no node"),
            (r#"{"nodes":[{"kind":1,"children":{"a":-1}}]}"#, "is no node"),
            (
                r#"{"nodes":[{"kind":0,"dataRegion":{"offset":4294967296,"size":9}},{"kind":1,"children":{"metadata.json":0}}]}"#,
                "expected it in",
            ),
            (
                r#"{"nodes":[{"kind":0,"dataRegion":{"offset":0,"size":18446744073709551615}},{"kind":1,"children":{"metadata.json":0}}]}"#,
                "expected it in",
            ),
            (
                r#"{"nodes":[{"kind":0,"dataRegion":{"offset":8,"size":4294967296}},{"kind":1,"children":{"a":0}}]}"#,
                "has 4294967296 bytes at 0x8, expected it in",
            ),
            (r#"{"nodes":["#, "does not end"),
            ("}", "no table of files"),
        ] {
            let error = described(&payload(table)).unwrap_err();
            assert!(error.contains(expected), "{table}: {error}");
        }
        assert!(described(&[]).unwrap_err().contains("no table of files"));
        // A folder in a folder, deeper than the limit.
        let nodes: Vec<String> = (0..100_000usize)
            .map(|n| {
                format!(
                    r#"{{"kind":1,"children":{{{}}}}}"#,
                    if n > 0 { format!(r#""a":{}"#, n - 1) } else { String::new() }
                )
            })
            .collect();
        let error = described(&payload(&format!(r#"{{"nodes":[{}]}}"#, nodes.join(",")))).unwrap_err();
        assert!(error.contains("too deep"), "{error}");
    }
}
