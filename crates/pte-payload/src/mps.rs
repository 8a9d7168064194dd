//! Payloads of the MPS backend: a header, a graph (a FlatBuffer) and constants; older ones are the graph, which
//! contains the constants.
//!
//! Described only.

use super::description::{self, Arguments, ConstantTally, DescribeError, Fact, Facts, Tally, name_of};
use super::flat::FlatFormat;
use super::format::PayloadFormat;
use super::header;
use super::signature::{CallRules, CountRule, SizesRule, TORCH_TYPES};
use pte_model::data::Blob;
use pte_model::format::Kind::{AlignedBytes, Int, Ints, Short, Table, Tables, Text, ULong, Union, UnionTag};
use pte_model::format::flatbuffer::read::{self, TableRef};
use pte_model::format::table::tables;

/// The payloads of the MPS backend.
#[derive(Debug)]
pub struct Mps;

/// File identifier of the graph.
const IDENTIFIER: &str = "MP00";

tables! {
    /// Root table.
    GRAPH = graph MPSGraph {
        version: Text, mps_nodes: Tables(&NODE), mps_values: Tables(&TENSOR), input_ids: Ints, output_ids: Ints, constant_ids: Ints,
        graph_type: Short, constant_segment: Table(&SEGMENT),
    }
    /// An operation. The members of the union are not read.
    NODE = node MPSNode { mpsnode_union_type: UnionTag, mpsnode_union: Union(&[]) }
    /// A value.
    TENSOR = tensor MPSTensor {
        datatype: Short, num_dims: Int, dims: Ints, constant_buffer_size: ULong, constant_buffer: Table(&BUFFER), segment_offset: ULong,
    }
    /// Bytes of a constant inside the graph.
    BUFFER = buffer Buffer { storage: AlignedBytes(16) }
    /// Location of the constants, in the header since there is one.
    SEGMENT = segment DataSegment { offset: ULong, size: ULong }
}

/// Names of the enum `MPSDataType`, by number, without the prefix `mps_data_type_`.
const DATATYPES: &[&str] = &[
    "invalid",
    "float16",
    "float32",
    "float64",
    "bfloat16",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "complex_float16",
    "complex_float32",
];

/// The runtime takes as many tensors as the graph has, those of lists one by one, and rejects others.
static RULES: CallRules =
    CallRules { count: CountRule::Exact, sizes: SizesRule::Unknown, scalar_types: [TORCH_TYPES; 2] };

/// Names of the enum `OpType`, by number.
const GRAPH_TYPES: &[&str] = &["mps_graph", "metal_kernel"];

/// Members of the union `MPSNodeUnion`, from tag 1, without the prefix `MPS`.
#[rustfmt::skip]
const OPERATIONS: &[&str] = &[
    "HardTanh", "ReLU", "GELU", "LeakyReLU", "Softmax", "LogSoftmax", "Add", "Sub", "Mul", "Div", "Fmod",
    "Remainder", "Min", "Max", "Pow", "Atan2", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Minimum", "Exp",
    "Exp2", "Reciprocal", "Sqrt", "Neg", "Log", "Log10", "Log2", "Erf", "Floor", "Ceil", "Rsqrt", "Sigmoid",
    "Sin", "Sign", "Cos", "Tan", "Abs", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh",
    "Atanh", "BitwiseNot", "Isnan", "Isinf", "Round", "LogicalNot", "MatMul", "Addmm", "Full", "FullLike",
    "Clamp", "Where", "IndexSelect", "Embedding", "IndexTensor", "IndexPut", "Scatter", "Mean", "Permute",
    "View", "Expand", "Cat", "Squeeze", "Unsqueeze", "Select", "Slice", "PixelShuffle", "SplitWithSizes",
    "Cast", "Conv2D", "DepthwiseConv2D", "Eq", "Ne", "Ge", "Gt", "Le", "Lt", "BatchNorm", "LayerNorm",
    "MaxPool2DWithIndices", "AvgPool2D", "ConstantPadND", "Arange", "DequantizePerChannelGroup",
];

impl PayloadFormat for Mps {
    fn name(&self) -> &'static str {
        "MPS"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["MPSBackend"]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.get(4..8) == Some(IDENTIFIER.as_bytes())
    }

    fn rules(&self) -> &'static CallRules {
        &RULES
    }

    fn flat(&self) -> Option<&'static FlatFormat> {
        FlatFormat::of("mps")
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        // The magic of the header is the identifier of the graph. A graph without a header begins with the offset of
        // its root, not with 0.
        let has_header = payload.read_at(0, payload.len().min(4) as usize)? == [0; 4];
        let (graph_at, facts) = match has_header {
            true => header::read_short(payload, IDENTIFIER)?,
            false => ((0, payload.len()), Facts::default()),
        };
        description::flatbuffer(payload, graph_at, Some(IDENTIFIER), &GRAPH, |root| graph(root, facts))
    }
}

/// Adds the facts of a graph.
fn graph(t: &TableRef<'_, '_>, mut facts: Facts) -> read::Result<Facts> {
    facts.add("identifier", IDENTIFIER);
    facts.add("version", &*t.text(graph::version)?.unwrap_or_default());
    facts.add("graph_type", &*name_of(GRAPH_TYPES, 0, t.i16(graph::graph_type)?.into()));
    let mut operations = Tally::default();
    t.children(graph::mps_nodes, &NODE, |t| {
        operations.count(name_of(OPERATIONS, 1, t.u8(node::mpsnode_union_type)?.into()));
        Ok(())
    })?;
    facts.add("operations", operations);
    let (mut inputs, mut outputs) = (Arguments::read(t, graph::input_ids)?, Arguments::read(t, graph::output_ids)?);
    let (mut values, mut constants, mut number) = (Tally::default(), ConstantTally::default(), 0);
    t.children(graph::mps_values, &TENSOR, |t| {
        values.count(name_of(DATATYPES, 0, t.i16(tensor::datatype)?.into()));
        inputs.take(number, || tensor(&t))?;
        outputs.take(number, || tensor(&t))?;
        match t.u64(tensor::constant_buffer_size)? {
            0 => {}
            size => constants.inside(size),
        }
        number = number.saturating_add(1);
        Ok(())
    })?;
    facts.add("values", values);
    facts.add("inputs", inputs);
    facts.add("outputs", outputs);
    facts.add("constants", constants);
    Ok(facts)
}

fn tensor(t: &TableRef<'_, '_>) -> read::Result<Fact> {
    let dims: Vec<i32> = t.i32s(tensor::dims)?.unwrap_or_default();
    let datatype = name_of(DATATYPES, 0, t.i16(tensor::datatype)?.into());
    Ok(Fact::tensor(&datatype, dims.into_iter().map(i64::from)))
}
