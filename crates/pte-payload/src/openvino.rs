//! Payloads of the OpenVINO backend: a compiled model as the plugin of a device exports it.
//!
//! Described only. That of the CPU is a header, constants and a graph (XML), that of the NPU ends with metadata.

use std::borrow::Cow;

use super::description::{DescribeError, Fact, Facts, IntoFact, MAX_LISTED, Tally, UNKNOWN, metadata};
use super::format::PayloadFormat;
use super::rows::{self, Row, number};
use super::signature::{CallRules, CountRule, SizesRule};
use pte_model::data::Blob;
use pte_model::format::ScalarType;

/// The payloads of the OpenVINO backend.
#[derive(Debug)]
pub struct OpenVino;

/// Size in bytes of the header of a payload of the CPU, and its first number.
const HEADER: u64 = 48;

const ROWS: &[Row] = &[
    Row::Part("custom_data", (0, 8), (8, 8)),
    Row::Part("constants", (16, 8), (24, 8)),
    Row::Part("model", (32, 8), (40, 8)),
];

/// Bytes that the CPU's plugin combines with those of the model by XOR, again and again.
const CIPHER: [u8; 12] = [0x30, 0x60, 0x70, 0x02, 0x04, 0x08, 0x3f, 0x6f, 0x72, 0x74, 0x78, 0x7f];

/// Last bytes of a payload of the NPU, after the size of what is before the metadata.
const NPU: &[u8] = b"OVNPU";

/// Largest depth of elements.
const MAX_DEPTH: usize = 64;

static RULES: CallRules = CallRules { count: CountRule::Exact, sizes: SizesRule::Unknown, scalar_types: [TYPES; 2] };

/// Element types by their names in the model: of inputs, and of outputs.
const TYPES: &[(&str, &[ScalarType])] = &[
    ("f32", &[ScalarType::FLOAT]),
    ("f16", &[ScalarType::HALF]),
    ("bf16", &[ScalarType::BFLOAT16]),
    ("f64", &[ScalarType::DOUBLE]),
    ("i8", &[ScalarType::CHAR]),
    ("u8", &[ScalarType::BYTE]),
    ("i16", &[ScalarType::SHORT]),
    ("i32", &[ScalarType::INT]),
    ("i64", &[ScalarType::LONG]),
    ("boolean", &[ScalarType::BOOL]),
    ("FP32", &[ScalarType::FLOAT]),
    ("FP16", &[ScalarType::HALF]),
    ("BF16", &[ScalarType::BFLOAT16]),
    ("FP64", &[ScalarType::DOUBLE]),
    ("I8", &[ScalarType::CHAR]),
    ("U8", &[ScalarType::BYTE]),
    ("I16", &[ScalarType::SHORT]),
    ("I32", &[ScalarType::INT]),
    ("I64", &[ScalarType::LONG]),
    ("BOOL", &[ScalarType::BOOL]),
];

impl PayloadFormat for OpenVino {
    fn name(&self) -> &'static str {
        "OpenVINO"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["OpenvinoBackend"]
    }

    fn has_magic(&self, _head: &[u8]) -> bool {
        false
    }

    fn rules(&self) -> &'static CallRules {
        &RULES
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let head = payload.read_at(0, payload.len().min(HEADER) as usize)?;
        if number(&head, (0, 8)) == Some(HEADER) && head.len() as u64 == HEADER {
            let header = rows::facts(ROWS, &head, 0, payload)?;
            let (at, size) = rows::part(&header, "model").unwrap_or_default();
            let mut xml = metadata(payload, at, size, "a model")?;
            if xml.first() != Some(&b'<') {
                xml.iter_mut().zip(CIPHER.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
            }
            let mut facts = Facts::default();
            facts.add_target(["CPU"]);
            facts.add("header", header);
            return match std::str::from_utf8(&xml) {
                Ok(text) if text.starts_with("<?xml") => {
                    model(text, &mut facts);
                    Ok(facts)
                }
                Ok(_) | Err(_) => Ok(facts.with("model", UNKNOWN)),
            };
        }
        npu(payload)
    }
}

/// Describes a payload of the NPU, or of another device.
fn npu(payload: &Blob) -> Result<Facts, DescribeError> {
    let tail = payload.len().min(8 + NPU.len() as u64);
    let tail = payload.read_at(payload.len() - tail, tail as usize)?;
    let start = number(&tail, (0, 8)).filter(|_| tail.len() == 8 + NPU.len() && tail.ends_with(NPU));
    let Some(start) = start else { return Ok(Facts::default()) };
    let bytes = metadata(payload, start, 10, "metadata")?;
    let word = |at| number(&bytes, (at, 2)).unwrap_or(0);
    let mut facts = Facts::default();
    facts.add_target(["NPU", &*format!("OpenVINO {}.{}.{}", word(4), word(6), word(8))]);
    facts.add_part("model", 0, start);
    facts.add("version", &*format!("{}.{}", word(2), word(0)));
    Ok(facts)
}

/// Adds operations, inputs and outputs of a model. The graphs in its operations are not counted.
fn model(text: &str, facts: &mut Facts) {
    let (mut operations, mut depth, mut layers) = (Tally::default(), 0usize, 0usize);
    let (mut lists, mut totals) = ([Vec::new(), Vec::new()], [0usize; 2]);
    // Argument that the layer is: its list and its name.
    let mut argument: Option<(usize, Facts)> = None;
    for element in text.split('<').skip(1) {
        let (element, content) = element.split_once('>').unwrap_or((element, ""));
        if let Some(name) = element.strip_prefix('/') {
            depth = depth.saturating_sub(1);
            layers -= usize::from(name == "layers" && layers > 0);
            if let ("layer", 1, Some((list, found))) = (name, layers, &mut argument) {
                totals[*list] += 1;
                if lists[*list].len() < MAX_LISTED {
                    lists[*list].push(std::mem::take(found).into_fact());
                }
                argument = None;
            }
            continue;
        }
        let name = element.split([' ', '/', '?']).next().unwrap_or_default();
        if layers == 1 && name == "layer" {
            let ty = attribute(element, "type").unwrap_or(UNKNOWN);
            argument = ["Parameter", "Result"].iter().position(|kind| *kind == ty).map(|list| {
                let name = attribute(element, "name").map_or(Cow::Borrowed(UNKNOWN), unescaped);
                (list, Facts::default().with("name", &*name))
            });
            match argument {
                Some(_) => {}
                None => operations.count(ty.to_owned()),
            }
        }
        if let (1, Some((1, found)), "port" | "dim") = (layers, &mut argument, name) {
            match name {
                "port" => {
                    let precision = attribute(element, "precision").unwrap_or(UNKNOWN);
                    found.add("datatype", precision);
                    found.add("sizes", Fact::List(Vec::new()));
                }
                _ => found.push_size(content.trim().parse().unwrap_or(-1)),
            }
        }
        if let (1, "data", Some((0, found))) = (layers, name, &mut argument) {
            if let Some(ty) = attribute(element, "element_type") {
                found.add("datatype", ty);
            }
            let shape = attribute(element, "shape").unwrap_or_default();
            let sizes = shape.split(',').take(MAX_LISTED).filter(|size| !size.is_empty());
            // A size that is not a number is not known before the call.
            let sizes: Vec<i64> = sizes.map(|size| size.trim().parse().unwrap_or(-1)).collect();
            found.add("sizes", Fact::sizes(sizes.into_iter()));
        }
        if !element.ends_with(['/', '?']) {
            depth += 1;
            layers += usize::from(name == "layers");
        }
        if depth > MAX_DEPTH {
            break;
        }
    }
    facts.add("operations", operations);
    for ((name, list), total) in ["inputs", "outputs"].into_iter().zip(lists).zip(totals) {
        facts.add(name, Fact::list(list, total));
    }
}

/// Returns the value of an attribute.
fn attribute<'e>(element: &'e str, name: &str) -> Option<&'e str> {
    let mut parts = element.split('"');
    let mut found = None;
    while let (None, Some(before), Some(value)) = (found, parts.next(), parts.next()) {
        found = before.trim().strip_suffix('=').is_some_and(|before| before.ends_with(name)).then_some(value);
    }
    found
}

/// Replaces what stands for characters that attributes cannot contain.
fn unescaped(text: &str) -> Cow<'_, str> {
    match text.contains('&') {
        true => text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&").into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(payload: &[u8]) -> Result<String, String> {
        let facts = OpenVino.describe(&Blob::bytes(payload)).map_err(|error| error.to_string())?;
        Ok(serde_json::to_string(&facts.into_fact()).unwrap())
    }

    #[test]
    fn metadata_of_the_npu_have_a_version() {
        let mut payload = b"model".to_vec();
        payload.extend([4u16, 2, 2025, 4, 1, 0].iter().flat_map(|word| word.to_le_bytes()));
        payload.extend(5u64.to_le_bytes());
        payload.extend(NPU);
        let expected = r#"{"target":["NPU","OpenVINO 2025.4.1"],"model":{"offset":0,"size":5},"version":"2.4"}"#;
        assert_eq!(described(&payload).unwrap(), expected);
        let size = payload.len() - 13;
        payload[size..size + 8].fill(0xff);
        assert!(described(&payload).unwrap_err().starts_with("metadata of 10 bytes at byte 0xffffffffffffffff"));
        assert_eq!(described(b"other").unwrap(), "{}");
    }

    #[test]
    fn only_the_outer_graph_is_counted() {
        let xml = r#"<?xml version="1.0"?><net><layers><layer id="0" name="a&amp;b" type="Parameter"><data shape="?,2" element_type="f32" /></layer>
            <layer name="s" type="Subgraph"><body><layers><layer name="i" type="Parameter"/></layers></body></layer>
            <layer name="r" type="Result"><input><port id="0" precision="I64"><dim>-1</dim><dim>2</dim></port></input></layer></layers></net>"#;
        let mut facts = Facts::default();
        model(xml, &mut facts);
        let expected = r#"{"operations":{"Subgraph":1},"inputs":[{"name":"a&b","datatype":"f32","sizes":[-1,2]}],"outputs":[{"name":"r","datatype":"I64","sizes":[-1,2]}]}"#;
        assert_eq!(serde_json::to_string(&facts.into_fact()).unwrap(), expected);
        // Elements that do not end, and attributes that do not.
        for xml in ["<layers>".repeat(10_000), "<layer type=\"".to_owned(), "<".repeat(10_000)] {
            model(&xml, &mut Facts::default());
        }
    }
}
