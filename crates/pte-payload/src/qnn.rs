//! Payloads of the QNN backend: a header and a context binary, or the context binary alone; of older releases a graph
//! that is compiled on the device (QCIR), of later ones a container of the SDK for it (DLC).
//!
//! Described only. The format of context binaries is not public: the version of the SDK is a readable text in them.

use super::description::{ConstantTally, DescribeError, Fact, Facts, IntoFact, MAX_LISTED, Tally, UNKNOWN};
use super::flat::QCIR_FORMAT as FLAT;
use super::flat::view::View;
use super::format::{PayloadFormat, PayloadReleases};
use super::generic;
use super::rows::{self, Row, number};
use super::signature::{CallRules, CountRule, SizesRule};
use pte_model::data::Blob;
use pte_model::diagnostics::counted;
use pte_model::format::ScalarType;

/// The payloads of the QNN backend.
#[derive(Debug)]
pub struct Qnn;

/// First bytes of a payload with a header and a context binary.
const MAGIC: [u8; 4] = 0x5678_abcd_u32.to_le_bytes();

/// First bytes of a payload with a graph.
const GRAPH_MAGIC: [u8; 4] = 0x1234_abcd_u32.to_le_bytes();

/// First bytes of a container of the SDK, a ZIP.
const DLC_MAGIC: &[u8] = b"PK\x03\x04";

/// Sizes in bytes of the header of a context binary, and the releases that write it. All have the first 20 bytes, and
/// nothing but the size of the payload tells them apart.
const HEADERS: [(u64, PayloadReleases); 2] =
    [(20, PayloadReleases { first: "0.6", last: Some("1.1") }), (256, PayloadReleases { first: "1.2", last: None })];

/// Place of the size of the context binary.
const CONTEXT_SIZE: (usize, usize) = (12, 8);

/// Size in bytes of the header of a graph, and its rows.
const GRAPH_HEADER: usize = 16;
const GRAPH_ROWS: &[Row] = &[Row::PartAt("graph", GRAPH_HEADER as u64, (4, 4))];
const DATA_SIZE: (usize, usize) = (8, 8);

/// Bytes of a context binary in which texts are looked for.
const SCANNED: u64 = 1 << 20;

static RULES: CallRules =
    CallRules { count: CountRule::Unchecked, sizes: SizesRule::Unknown, scalar_types: [TYPES; 2] };

/// Element types of a graph, as torch has them; fixed-point numbers have those of their codes.
const TYPES: &[(&str, &[ScalarType])] = &[
    ("INT8", &[ScalarType::CHAR]),
    ("INT16", &[ScalarType::SHORT]),
    ("INT32", &[ScalarType::INT]),
    ("INT64", &[ScalarType::LONG]),
    ("UINT8", &[ScalarType::BYTE]),
    ("FLOAT16", &[ScalarType::HALF]),
    ("FLOAT32", &[ScalarType::FLOAT]),
    ("BOOL", &[ScalarType::BOOL]),
];

/// Text before the release of the SDK in what a payload was compiled for.
pub const SDK: &str = "QNN ";

impl PayloadFormat for Qnn {
    fn name(&self) -> &'static str {
        "QNN"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["QnnBackend"]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.starts_with(&MAGIC) || head.starts_with(&GRAPH_MAGIC)
    }

    fn rules(&self) -> &'static CallRules {
        &RULES
    }

    fn releases(&self, payload: &Blob) -> Result<Option<PayloadReleases>, DescribeError> {
        let head = payload.read_at(0, payload.len().min(MAGIC.len() as u64) as usize)?;
        let header = if head == MAGIC { header(payload)?.1 } else { None };
        Ok(header.map(|(_, releases)| releases))
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let head = payload.read_at(0, payload.len().min(HEADERS[0].0) as usize)?;
        if head.starts_with(&GRAPH_MAGIC) {
            return graph(payload);
        }
        let mut facts = Facts::default();
        if head.starts_with(DLC_MAGIC) {
            return Ok(facts.with("content", "DLC").with("graphs", UNKNOWN));
        }
        let (start, size) = match head.starts_with(&MAGIC) {
            true => {
                let (size, header) = header(payload)?;
                let (header, releases) = header.unwrap_or(HEADERS[1]);
                rows::head(payload, header as usize)?;
                let signature = number(&head, (4, 8)).unwrap_or(0);
                facts.add("releases", &*releases.to_string());
                facts.add("signature", Fact::Number(signature as i64));
                (header, size)
            }
            false => (0, payload.len()),
        };
        let rest = payload.len() - start;
        if size > rest {
            let size = counted(size, "byte");
            let message =
                format!("a context binary of {size} at byte {start:#x} (size at byte 0xc), expected at most {rest}");
            return Err(DescribeError::malformed(message));
        }
        let scanned = payload.read_at(start, size.min(SCANNED) as usize)?;
        let (sdk, soc) = (sdk(&scanned), soc(&scanned));
        let sdk_version = sdk.map(|sdk| SDK.to_owned() + &sdk.splitn(4, '.').take(3).collect::<Vec<_>>().join("."));
        facts.add_target(soc.into_iter().chain(sdk_version.as_deref()));
        let mut context = Facts::default();
        context.add("offset", Fact::Bytes(start));
        context.add("size", Fact::Bytes(size));
        let first = &scanned[..scanned.len().min(generic::FIRST as usize)];
        context.add("first_bytes", &*data_encoding::HEXLOWER.encode(first));
        if let Some(sdk) = sdk {
            context.add("sdk", sdk);
        }
        facts.add("context_binary", context);
        facts.add("graphs", UNKNOWN);
        Ok(facts)
    }
}

/// Returns the size that the header of a context binary states, and which header the payload has; `None` for a payload
/// of another size, which may have either.
fn header(payload: &Blob) -> Result<(u64, Option<(u64, PayloadReleases)>), DescribeError> {
    let size = number(&rows::head(payload, HEADERS[0].0 as usize)?, CONTEXT_SIZE).unwrap_or(0);
    let is_whole = |(header, _): &(u64, PayloadReleases)| header.checked_add(size) == Some(payload.len());
    Ok((size, HEADERS.into_iter().find(is_whole)))
}

/// Returns the readable characters that are first in the bytes.
fn readable(bytes: &[u8], is_part: impl Fn(u8) -> bool) -> &str {
    let end = bytes.iter().position(|byte| !is_part(*byte)).unwrap_or(bytes.len()).min(64);
    std::str::from_utf8(&bytes[..end]).unwrap_or_default()
}

/// Returns the version of the SDK: the first text such as `v2.37.0.250724175447_124859`, without `v`.
fn sdk(bytes: &[u8]) -> Option<&str> {
    let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'_');
    let starts = bytes.windows(3).enumerate().filter(|(_, window)| *window == b"v2.").map(|(at, _)| at + 1);
    // Three numbers, and the time of the build.
    starts.map(|at| readable(&bytes[at..], is_part)).find(|text| text.split('.').count() == 4 && text.contains('_'))
}

/// Returns the chip: the text after the first `soc_type=`.
fn soc(bytes: &[u8]) -> Option<&str> {
    const NAME: &[u8] = b";soc_type=";
    let at = bytes.windows(NAME.len()).position(|window| window == NAME)? + NAME.len();
    Some(readable(&bytes[at..], |byte: u8| byte.is_ascii_alphanumeric())).filter(|text| !text.is_empty())
}

/// Describes a graph that is compiled on the device.
fn graph(payload: &Blob) -> Result<Facts, DescribeError> {
    let head = rows::head(payload, GRAPH_HEADER)?;
    let mut header = rows::facts(GRAPH_ROWS, &head, 0, payload)?;
    let part = rows::part(&header, "graph").unwrap_or_default();
    let (data, size) = (part.0 + part.1, number(&head, DATA_SIZE).unwrap_or(0));
    if size > payload.len() - data {
        let (found, rest) = (counted(size, "byte"), payload.len() - data);
        let message = format!("data of {found} at byte {data:#x} (size at byte 0x8), expected at most {rest}");
        return Err(DescribeError::malformed(message));
    }
    header.add_part("data", data, size);
    FLAT.view(payload, part, |root| tensors(root, header))
}

/// Returns the facts of a graph.
fn tensors(root: View<'_>, header: Facts) -> Result<Facts, DescribeError> {
    let mut facts = Facts::default().with("content", "QCIR").with("releases", "0.6 and 0.7");
    facts.add("header", header);
    let (mut operations, mut constants) = (Tally::default(), ConstantTally::default());
    let (mut lists, mut totals) = ([Vec::new(), Vec::new()], [0usize; 2]);
    for graph in root.children("graphs") {
        graph.children("nodes").for_each(|node| operations.count(node.text("type_name").unwrap_or(UNKNOWN).to_owned()));
        for tensor in graph.children("tensors") {
            // The words are those of the application: it writes inputs.
            let list = match &*tensor.word("type") {
                "WRITE" => 0,
                "READ" => 1,
                "STATIC" => {
                    constants.inside(u64::try_from(tensor.number("size")).unwrap_or(0));
                    continue;
                }
                _ => continue,
            };
            totals[list] += 1;
            if lists[list].len() < MAX_LISTED {
                let named = Facts::default().with("name", tensor.text("name").unwrap_or(UNKNOWN));
                let sizes = Fact::sizes(tensor.numbers("shape")?.into_iter());
                lists[list].push(named.with("datatype", &*tensor.word("dtype")).with("sizes", sizes).into_fact());
            }
        }
    }
    facts.add("operations", operations);
    for ((name, list), total) in ["inputs", "outputs"].into_iter().zip(lists).zip(totals) {
        facts.add(name, Fact::list(list, total));
    }
    facts.add("constants", constants);
    Ok(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(size: u64, context: &[u8]) -> Blob {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((-7i64).to_le_bytes());
        bytes.extend(size.to_le_bytes());
        bytes.resize(256, 0);
        bytes.extend(context);
        Blob::bytes(bytes)
    }

    fn described(payload: &Blob) -> Result<String, String> {
        let facts = Qnn.describe(payload).map_err(|error| error.to_string())?;
        Ok(serde_json::to_string(&facts.into_fact()).unwrap())
    }

    #[test]
    fn a_context_binary_is_behind_the_header_or_alone() {
        let expected = r#"{"offset":256,"size":3,"first_bytes":"010203"},"graphs":"unknown"}"#;
        let found = described(&payload(3, &[1, 2, 3, 4])).unwrap();
        assert_eq!(found, format!(r#"{{"releases":"1.2 and later","signature":-7,"context_binary":{expected}"#));
        let alone = described(&Blob::bytes([1, 2])).unwrap();
        assert_eq!(alone, r#"{"context_binary":{"offset":0,"size":2,"first_bytes":"0102"},"graphs":"unknown"}"#);
    }

    #[test]
    fn a_context_binary_must_fit() {
        let error = described(&payload(u64::MAX, &[1])).unwrap_err();
        assert!(
            error.contains("18446744073709551615 bytes at byte 0x100 (size at byte 0xc), expected at most 1"),
            "{error}"
        );
        let error = described(&Blob::bytes(MAGIC)).unwrap_err();
        assert_eq!(error, "a payload of 4 bytes, expected a header of 20");
    }

    #[test]
    fn releases_are_told_apart_by_size() {
        let mut old = MAGIC.to_vec();
        old.extend(42i64.to_le_bytes());
        old.extend(2u64.to_le_bytes());
        old.extend([1, 2]);
        let expected = r#"{"releases":"0.6 to 1.1","signature":42,"context_binary":{"offset":20,"size":2,"first_bytes":"0102"},"graphs":"unknown"}"#;
        assert_eq!(described(&Blob::bytes(old.clone())).unwrap(), expected);
        old.push(3);
        assert_eq!(described(&Blob::bytes(old)).unwrap_err(), "a payload of 23 bytes, expected a header of 256");
    }

    #[test]
    fn texts_of_a_context_binary_are_facts() {
        let context = b"..v2.x..v2.37.0.250724175447_124859\0;soc_type=SM8650;\0";
        let found = described(&payload(context.len() as u64, context)).unwrap();
        assert!(found.contains(r#""target":["SM8650","QNN 2.37.0"]"#), "{found}");
        assert!(found.contains(r#""sdk":"2.37.0.250724175447_124859""#), "{found}");
        assert_eq!(described(&Blob::bytes(*b"PK\x03\x04")).unwrap(), r#"{"content":"DLC","graphs":"unknown"}"#);
    }

    /// Two tensors and an operation, written by the schema.
    #[test]
    fn a_graph_has_arguments() {
        use crate::flat::value::{Table, Value};
        let table = |fields: Vec<(u16, Value)>| Table { fields, unknown: Vec::new() };
        let text = |text: &str| Value::Text(text.to_owned());
        let shape = || Value::Numbers(Blob::bytes([2, 0, 0, 0, 3, 0, 0, 0]));
        let tensor = |name: &str, kind| {
            table(vec![(0, text(name)), (1, shape()), (3, Value::Number(kind)), (4, Value::Number(9))])
        };
        let constant = table(vec![(0, text("w")), (3, Value::Number(4)), (6, Value::Number(24))]);
        let node = table(vec![(0, text("add")), (2, text("ElementWiseAdd"))]);
        let graph = table(vec![
            (0, text("forward")),
            (1, Value::Tables(vec![node])),
            (2, Value::Tables(vec![tensor("x", 0), tensor("y", 1), constant])),
        ]);
        let root = table(vec![(0, Value::Tables(vec![graph]))]);
        let written = crate::flat::encode(&FLAT.schema(), &root, FLAT.layout, None).unwrap();
        let bytes = written.read_at(0, written.len() as usize).unwrap();
        let head = [&GRAPH_MAGIC[..], &(bytes.len() as u32).to_le_bytes(), &24u64.to_le_bytes()].concat();
        let found = described(&Blob::bytes([&head, &bytes[..], &[0; 24]].concat())).unwrap();
        let expected = r#""operations":{"ElementWiseAdd":1},"inputs":[{"name":"x","datatype":"FLOAT32","sizes":[2,3]}],"outputs":[{"name":"y","datatype":"FLOAT32","sizes":[2,3]}],"constants":{"payload":{"count":1,"size":24}}}"#;
        assert!(found.ends_with(expected), "{found}");
        let error = described(&Blob::bytes([&head, &bytes[..]].concat())).unwrap_err();
        assert!(error.starts_with("data of 24 bytes"), "{error}");
        let error = described(&Blob::bytes(head)).unwrap_err();
        assert!(error.starts_with("graph of"), "{error}");
    }
}
