//! Payloads of the Vulkan backend, which the WebGPU backend also reads: a header, a graph (a FlatBuffer) and constants.
//! Older payloads are only the graph.
//!
//! Described only.

use std::borrow::Cow;

use super::description::{
    self, Arguments, ConstantTally, DescribeError, Fact, Facts, IntoFact, Tally, UNKNOWN, name_of,
};
use super::flat::FlatFormat;
use super::format::PayloadFormat;
use super::header::{HEADER, Sections};
use super::signature::{CallRules, CountRule, SizesRule};
use pte_model::data::Blob;
use pte_model::format::Kind::{Byte, Int, Ints, Table, Tables, Text, UInt, UInts, ULong, UnionTag};
use pte_model::format::ScalarType;
use pte_model::format::flatbuffer::read::{self, TableRef};
use pte_model::format::table::tables;

/// The payloads of the Vulkan backend.
#[derive(Debug)]
pub struct Vulkan;

/// Bytes 4..8 of a payload with a header.
const MAGIC: &[u8; 4] = b"VH00";

/// File identifier of the graph.
const IDENTIFIER: &str = "VK00";

tables! {
    /// Root table.
    GRAPH = graph VkGraph {
        version: Text, chain: Tables(&CALL), values: Tables(&VALUE), input_ids: UInts, output_ids: UInts, constants: Tables(&BYTES),
        shaders: Tables(&BYTES), storage_type_override: Byte, memory_layout_override: Byte,
    }
    /// A call of an operator.
    CALL = call OperatorCall { node_id: UInt, name: Text, args: Ints }
    /// A value. Of the members of the union, only tensors are read.
    VALUE = value VkValue { value_type: UnionTag, value: Table(&TENSOR) }
    /// A tensor.
    TENSOR = tensor VkTensor {
        datatype: Byte, dims: UInts, constant_id: Int, mem_obj_id: Int, storage_type: Byte, memory_layout: Byte, staging_datatype: Byte,
    }
    /// A constant or a shader.
    BYTES = bytes VkBytes { offset: ULong, length: ULong, named_key: Text }
}

/// Members of the union `GraphTypes`, from tag 1.
const VALUE_KINDS: &[&str] = &[
    "Null",
    "Int",
    "Double",
    "Bool",
    "VkTensor",
    "IntList",
    "DoubleList",
    "BoolList",
    "ValueList",
    "String",
    "SymInt",
];

/// Tag of a tensor.
const TENSOR_TAG: u8 = 5;

/// Names of the enum `VkDataType`.
const DATATYPES: &[(u8, &str)] = &[
    (0, "BOOL"),
    (1, "UINT8"),
    (2, "INT8"),
    (3, "INT32"),
    (4, "FLOAT16"),
    (5, "FLOAT32"),
    (6, "FLOAT64"),
    (7, "INT64"),
    (UNSET, "UNSET"),
];

/// Data type of a field that is absent.
const UNSET: u8 = 127;

/// The runtime converts between these types of a tensor and those of the graph, in both directions.
static RULES: CallRules =
    CallRules { count: CountRule::Exact, sizes: SizesRule::Rank, scalar_types: [SCALAR_TYPES; 2] };
const SCALAR_TYPES: &[(&str, &[ScalarType])] = &[
    ("BOOL", &[ScalarType::BOOL]),
    ("UINT8", &[ScalarType::BYTE]),
    ("INT8", &[ScalarType::CHAR]),
    ("INT32", &[ScalarType::INT, ScalarType::LONG]),
    ("FLOAT16", &[ScalarType::HALF]),
    ("FLOAT32", &[ScalarType::FLOAT, ScalarType::DOUBLE, ScalarType::HALF]),
    ("FLOAT64", &[ScalarType::DOUBLE]),
    ("INT64", &[ScalarType::LONG]),
];

/// Names of the enum `VkStorageType`.
const STORAGE_TYPES: &[(u8, &str)] =
    &[(0, "BUFFER"), (1, "TEXTURE_3D"), (2, "TEXTURE_2D"), (DEFAULT, "DEFAULT_STORAGE")];

/// Names of the enum `VkMemoryLayout`.
const MEMORY_LAYOUTS: &[(u8, &str)] = &[
    (0, "TENSOR_WIDTH_PACKED"),
    (1, "TENSOR_HEIGHT_PACKED"),
    (2, "TENSOR_CHANNELS_PACKED"),
    (3, "PACKED_INT8_4W4C"),
    (4, "PACKED_INT8_4H4W"),
    (5, "PACKED_INT8_4W"),
    (6, "PACKED_INT8_4C"),
    (8, "PACKED_INT8_4C1W"),
    (9, "PACKED_INT8_CONV2D"),
    (DEFAULT, "DEFAULT_LAYOUT"),
];

/// Storage type and memory layout of a field that is absent.
const DEFAULT: u8 = 255;

impl PayloadFormat for Vulkan {
    fn name(&self) -> &'static str {
        "Vulkan"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["VulkanBackend"]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.get(4..8).is_some_and(|magic| magic == MAGIC || magic == IDENTIFIER.as_bytes())
    }

    fn rules(&self) -> &'static CallRules {
        &RULES
    }

    fn flat(&self) -> Option<&'static FlatFormat> {
        FlatFormat::of("vulkan")
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let head = payload.read_at(0, payload.len().min(HEADER as u64) as usize)?;
        let sections = Sections::read(MAGIC, &head, payload.len()).map_err(DescribeError::Malformed)?;
        let facts = sections.facts();
        description::flatbuffer(payload, sections.graph, Some(IDENTIFIER), &GRAPH, |root| graph(root, facts))
    }
}

fn name(names: &[(u8, &'static str)], number: u8) -> Cow<'static, str> {
    match names.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => (*name).into(),
        None => format!("{UNKNOWN} {number}").into(),
    }
}

/// Adds the facts of a graph.
fn graph(t: &TableRef<'_, '_>, mut facts: Facts) -> read::Result<Facts> {
    let or_default = |slot| if t.has(slot)? { t.u8(slot) } else { Ok(DEFAULT) };
    facts.add("identifier", IDENTIFIER);
    facts.add("version", &*t.text(graph::version)?.unwrap_or_default());
    let mut operations = Tally::default();
    t.children(graph::chain, &CALL, |t| {
        operations.count(t.text(call::name)?.unwrap_or_default());
        Ok(())
    })?;
    facts.add("operations", operations);
    let mut inputs = Arguments::read(t, graph::input_ids)?;
    let mut outputs = Arguments::read(t, graph::output_ids)?;
    let (mut values, mut number) = (Tally::default(), 0);
    t.children(graph::values, &VALUE, |t| {
        let tag = t.u8(value::value_type)?;
        let kind = name_of(VALUE_KINDS, 1, tag.into());
        for arguments in [&mut inputs, &mut outputs] {
            arguments.take(number, || if tag == TENSOR_TAG { tensor(&t) } else { Ok((&*kind).into_fact()) })?;
        }
        values.count(kind);
        number = number.saturating_add(1);
        Ok(())
    })?;
    facts.add("values", values);
    facts.add("inputs", inputs);
    facts.add("outputs", outputs);
    let mut constants = ConstantTally::default();
    t.children(graph::constants, &BYTES, |t| {
        let size = t.u64(bytes::length)?;
        match t.text(bytes::named_key)?.filter(|key| !key.is_empty()) {
            Some(key) => constants.named(&key, size),
            None => constants.inside(size),
        }
        Ok(())
    })?;
    facts.add("constants", constants);
    facts.add("shaders", t.tables(graph::shaders, &BYTES)?.map_or(0, |shaders| shaders.len));
    facts.add("storage_override", &*name(STORAGE_TYPES, or_default(graph::storage_type_override)?));
    facts.add("memory_layout_override", &*name(MEMORY_LAYOUTS, or_default(graph::memory_layout_override)?));
    Ok(facts)
}

fn tensor(t: &TableRef<'_, '_>) -> read::Result<Fact> {
    let Some(t) = t.child(value::value, &TENSOR)? else { return Ok(UNKNOWN.into_fact()) };
    let dims: Vec<u32> = t.u32s(tensor::dims)?.unwrap_or_default();
    let datatype = name(DATATYPES, t.u8(tensor::datatype)?);
    let facts = Facts::default().with("datatype", &*datatype);
    let facts = facts.with("sizes", Fact::sizes(dims.into_iter().map(i64::from)));
    // Absent, or `UNSET`: that of the tensor. Tensors of the call have it.
    let staging = if t.has(tensor::staging_datatype)? { t.u8(tensor::staging_datatype)? } else { UNSET };
    let staging = name(DATATYPES, staging);
    Ok(match staging == datatype || staging == name(DATATYPES, UNSET) {
        true => facts.into_fact(),
        false => facts.with("staging_datatype", &*staging).into_fact(),
    })
}
