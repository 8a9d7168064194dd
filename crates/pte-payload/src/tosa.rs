//! Payloads that are TOSA graphs: FlatBuffers of the TOSA serialization library.
//!
//! Described only.

use std::borrow::Cow;
use std::collections::HashMap;

use super::description::{
    self, ConstantTally, DescribeError, Fact, Facts, IntoFact, MAX_LISTED, Tally, UNKNOWN, name_of,
};
use super::flat::FlatFormat;
use super::format::PayloadFormat;
use super::signature::CallRules;
use pte_model::data::Blob;
use pte_model::format::Kind::{
    AlignedBytes, Bool, Int, Ints, Table, Tables, Text, UInt, UInts, ULong, Union, UnionTag,
};
use pte_model::format::ScalarType;
use pte_model::format::flatbuffer::read::{self, TableRef};
use pte_model::format::table::tables;

/// The payloads of backends that take TOSA graphs.
#[derive(Debug)]
pub struct Tosa;

/// File identifier of the graph.
const IDENTIFIER: &str = "TOSA";

// Vectors of strings are stated as vectors of their offsets.
tables! {
    /// Root table.
    GRAPH = graph TosaGraph { version: Table(&VERSION), regions: Tables(&REGION) }
    /// Version of the schema.
    VERSION = version Version { _major: Int, _minor: Int, _patch: Int, _draft: Bool }
    /// Blocks.
    REGION = region TosaRegion { name: Text, blocks: Tables(&BLOCK) }
    /// Operations and the tensors that they name.
    BLOCK = block TosaBasicBlock {
        name: Text, operators: Tables(&OPERATOR), tensors: Tables(&TENSOR), inputs: UInts, outputs: UInts, shapes: Tables(&SHAPE),
    }
    /// An operation. Its attributes are not read.
    OPERATOR = operator TosaOperator { op: UInt, attribute_type: UnionTag, attribute: Union(&[]), inputs: UInts, outputs: UInts }
    /// A tensor.
    TENSOR = tensor TosaTensor {
        name: Text, shape: Ints, datatype: UInt, data: AlignedBytes(8), variable: Bool, is_unranked: Bool, variable_name: Text,
        offset: ULong, size: ULong,
    }
    /// A shape that operations take.
    SHAPE = shape TosaShape { name: Text, rank: UInt, data: AlignedBytes(8) }
}

/// Names of the enum `DType`, by number.
#[rustfmt::skip]
const DATATYPES: &[&str] = &[
    "UNKNOWN", "BOOL", "INT4", "INT8", "INT16", "INT32", "INT48", "FP32", "FP16", "BF16", "SHAPE", "FP8E4M3",
    "FP8E5M2", "FP6E2M3", "FP6E3M2", "FP4E2M1", "FP8UE8M0", "INT64", "MXINT8",
];

/// No release has a runtime for graphs.
static RULES: CallRules = CallRules { scalar_types: [SCALAR_TYPES; 2], ..CallRules::UNKNOWN };
const SCALAR_TYPES: &[(&str, &[ScalarType])] = &[
    ("BOOL", &[ScalarType::BOOL]),
    ("INT8", &[ScalarType::CHAR]),
    ("INT16", &[ScalarType::SHORT]),
    ("INT32", &[ScalarType::INT]),
    ("INT64", &[ScalarType::LONG]),
    ("FP32", &[ScalarType::FLOAT]),
    ("FP16", &[ScalarType::HALF]),
    ("BF16", &[ScalarType::BFLOAT16]),
];

/// Names of the enum `Op`, by number.
#[rustfmt::skip]
const OPERATIONS: &[&str] = &[
    "UNKNOWN", "ARGMAX", "AVG_POOL2D", "CONV2D", "CONV3D", "DEPTHWISE_CONV2D", "FFT2D", "MATMUL",
    "MAX_POOL2D", "RFFT2D", "TRANSPOSE_CONV2D", "CLAMP", "ERF", "SIGMOID", "TANH", "ADD",
    "ARITHMETIC_RIGHT_SHIFT", "BITWISE_AND", "BITWISE_OR", "BITWISE_XOR", "INTDIV", "LOGICAL_AND",
    "LOGICAL_LEFT_SHIFT", "LOGICAL_RIGHT_SHIFT", "LOGICAL_OR", "LOGICAL_XOR", "MAXIMUM", "MINIMUM", "MUL",
    "POW", "SUB", "TABLE", "ABS", "BITWISE_NOT", "CEIL", "CLZ", "COS", "EXP", "FLOOR", "LOG", "LOGICAL_NOT",
    "NEGATE", "RECIPROCAL", "RSQRT", "SIN", "SELECT", "EQUAL", "GREATER", "GREATER_EQUAL", "REDUCE_ALL",
    "REDUCE_ANY", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PRODUCT", "REDUCE_SUM", "CONCAT", "PAD", "RESHAPE",
    "REVERSE", "SLICE", "TILE", "TRANSPOSE", "GATHER", "SCATTER", "RESIZE", "CAST", "RESCALE", "CONST",
    "IDENTITY", "CUSTOM", "COND_IF", "WHILE_LOOP", "VARIABLE", "VARIABLE_WRITE", "VARIABLE_READ",
    "CONST_SHAPE", "MATMUL_T_BLOCK_SCALED", "CAST_FROM_BLOCK_SCALED", "CAST_TO_BLOCK_SCALED", "DIM",
    "CONCAT_SHAPE", "ADD_SHAPE", "SUB_SHAPE", "MUL_SHAPE", "SLICE_SHAPE", "EXP2_SHAPE", "LOG2_CEIL_SHAPE",
    "LOG2_FLOOR_SHAPE", "MAX_SHAPE", "MIN_SHAPE", "MOD_SHAPE", "DIV_CEIL_SHAPE", "DIV_FLOOR_SHAPE",
    "ASSERT_EQUAL_SHAPE", "CONV2D_BLOCK_SCALED", "MAX_POOL2D_ADAPTIVE", "AVG_POOL2D_ADAPTIVE",
];

impl PayloadFormat for Tosa {
    fn name(&self) -> &'static str {
        "TOSA"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["TOSABackend"]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.get(4..8) == Some(IDENTIFIER.as_bytes())
    }

    fn rules(&self) -> &'static CallRules {
        &RULES
    }

    fn flat(&self) -> Option<&'static FlatFormat> {
        FlatFormat::of("tosa")
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        description::flatbuffer(payload, (0, payload.len()), Some(IDENTIFIER), &GRAPH, graph)
    }
}

/// Counts of all blocks.
#[derive(Default)]
struct Counts {
    operations: Tally,
    tensors: Tally,
    constants: ConstantTally,
    blocks: usize,
    shapes: usize,
    /// Inputs and outputs of the first block, which is that of the program.
    arguments: Option<[Fact; 2]>,
}

/// Returns the facts of a graph.
fn graph(t: &TableRef<'_, '_>) -> read::Result<Facts> {
    let mut facts = Facts::default().with("identifier", IDENTIFIER);
    facts.add("version", &*version(t)?);
    let (mut counts, mut regions) = (Counts::default(), 0usize);
    t.children(graph::regions, &REGION, |t| {
        regions += 1;
        t.children(region::blocks, &BLOCK, |t| counts.block(&t)).map(drop)
    })?;
    facts.add("regions", regions);
    facts.add("basic_blocks", counts.blocks);
    facts.add("operations", counts.operations);
    facts.add("tensors", counts.tensors);
    facts.add("shapes", counts.shapes);
    if let Some([inputs, outputs]) = counts.arguments {
        facts.add("inputs", inputs);
        facts.add("outputs", outputs);
    }
    facts.add("constants", counts.constants);
    Ok(facts)
}

/// Returns the version, with `draft` if it is one.
fn version(t: &TableRef<'_, '_>) -> read::Result<String> {
    let Some(t) = t.child(graph::version, &VERSION)? else { return Ok(UNKNOWN.into()) };
    // Absent numbers are -1, an absent mark is true.
    let number = |slot| if t.has(slot)? { t.i32(slot) } else { Ok(-1) };
    let (major, minor, patch) = (number(version::_major)?, number(version::_minor)?, number(version::_patch)?);
    let is_draft = !t.has(version::_draft)? || t.bool(version::_draft)?;
    Ok(format!("{major}.{minor}.{patch}{}", if is_draft { " draft" } else { "" }))
}

impl Counts {
    fn block(&mut self, t: &TableRef<'_, '_>) -> read::Result<()> {
        t.children(block::operators, &OPERATOR, |t| {
            self.operations.count(name_of(OPERATIONS, 0, t.u32(operator::op)?.into()));
            Ok(())
        })?;
        let (inputs, input_count) = t.texts(block::inputs, MAX_LISTED)?;
        let (outputs, output_count) = t.texts(block::outputs, MAX_LISTED)?;
        let names = inputs.iter().chain(&outputs);
        let mut found: HashMap<&[u8], Option<(Cow<'static, str>, Fact)>> =
            names.map(|name| (name.as_bytes(), None)).collect();
        let is_first = self.blocks == 0;
        t.children(block::tensors, &TENSOR, |t| {
            self.tensors.count(name_of(DATATYPES, 0, t.u32(tensor::datatype)?.into()));
            match t.range(tensor::data)? {
                Some((_, size)) if size > 0 => self.constants.inside(size),
                Some(_) | None => {}
            }
            if is_first && let Some(fact) = found.get_mut(t.bytes(tensor::name)?.unwrap_or_default()) {
                *fact = Some(tensor(&t)?);
            }
            Ok(())
        })?;
        self.shapes += t.tables(block::shapes, &SHAPE)?.map_or(0, |shapes| shapes.len);
        self.blocks += 1;
        if is_first {
            let fact = |name: &String| {
                let named = Facts::default().with("name", &**name);
                match found.get(name.as_bytes()) {
                    Some(Some((datatype, sizes))) => {
                        named.with("datatype", &**datatype).with("sizes", sizes.clone()).into_fact()
                    }
                    Some(None) | None => named.into_fact(),
                }
            };
            let list = |names: &[String], count| Fact::list(names.iter().map(fact), count);
            self.arguments = Some([list(&inputs, input_count), list(&outputs, output_count)]);
        }
        Ok(())
    }
}

/// Returns the element type and the sizes of a tensor.
fn tensor(t: &TableRef<'_, '_>) -> read::Result<(Cow<'static, str>, Fact)> {
    let shape: Vec<i32> = t.i32s(tensor::shape)?.unwrap_or_default();
    let datatype = name_of(DATATYPES, 0, t.u32(tensor::datatype)?.into());
    let sizes = Fact::sizes(shape.into_iter().map(i64::from));
    Ok((datatype, sizes))
}
