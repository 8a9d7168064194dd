//! Payloads of the MLX backend: a header, a graph (a FlatBuffer) and data. Constants are in named data.
//!
//! Described only.

use super::description::{self, Arguments, DescribeError, Fact, Facts, IntoFact, Tally, UNKNOWN, name_of};
use super::flat::FlatFormat;
use super::format::PayloadFormat;
use super::header;
use super::signature::{CallRules, CountRule, SizesRule, TORCH_TYPES};
use pte_model::data::Blob;
use pte_model::format::Kind::{Byte, Bytes, Int, Table, Tables, Text, UInt, Union, UnionTag};
use pte_model::format::ScalarType;
use pte_model::format::flatbuffer::read::{self, TableRef};
use pte_model::format::table::tables;

/// The payloads of the MLX backend.
#[derive(Debug)]
pub struct Mlx;

/// Bytes 4..8 of a payload. The FlatBuffer has no identifier.
const MAGIC: &str = "MLX0";

tables! {
    /// Root table.
    GRAPH = graph MLXGraph {
        version: Text, num_constant_tensors: UInt, num_input_tensors: UInt, num_output_tensors: UInt, num_mutable_buffer_tensors: UInt,
        num_temp_tensors: UInt, num_values: UInt, instruction_chains: Tables(&CHAIN), main_chain_idx: UInt, init_chain_idx: Int,
        input_map: Tables(&SLOT), output_map: Tables(&SLOT), mutable_buffer_map: Tables(&SLOT), named_slots: Tables(&NAMED_SLOT),
        tensor_meta: Tables(&META),
    }
    /// Instructions that are executed in order.
    CHAIN = chain InstructionChain { instructions: Tables(&INSTRUCTION) }
    /// An instruction. The members of the union are not read.
    INSTRUCTION = instruction Instruction { op_type: UnionTag, op: Union(&[]) }
    /// A tensor or a value.
    SLOT = slot SlotVariant { idx: UInt, slot_type: Byte }
    /// A key of named data.
    NAMED_SLOT = named_slot NamedSlot { name: Text, slot: Table(&SLOT) }
    /// Element type and sizes of a tensor.
    META = meta TensorMeta { shape: Tables(&DIM), scalar_type: Byte, dim_order: Bytes }
    /// Size of a dimension.
    DIM = dim ShapeDim { value: Int, min_value: Int, max_value: Int }
}

/// Members of the union `OpNode`, from tag 1, without the suffix `Node`.
#[rustfmt::skip]
const OPERATIONS: &[&str] = &[
    "Noop", "IdCopy", "Addmm", "ItemInt", "ExpandDims", "Tile", "TakeAlongAxis", "Take", "RMSNorm",
    "LayerNorm", "Rope", "Sdpa", "Add", "AddInt", "SubtractInt", "MultiplyInt", "FloorDivideInt", "SymSize",
    "Multiply", "Divide", "Subtract", "Conv1D", "Conv2D", "Conv3D", "Gelu", "ARange", "Silu", "Sigmoid",
    "Tanh", "Squeeze", "Split", "Rsqrt", "Maximum", "Minimum", "Log", "Softmax", "BroadcastTo", "Pad",
    "Where", "Reshape", "Transpose", "AsStrided", "Contiguous", "Gather", "Slice", "AsType", "Concatenate",
    "Full", "FullLike", "Argmax", "SliceUpdate", "IndexCopy", "Dequantize", "Less", "LessEqual", "Greater",
    "GreaterEqual", "Equal", "NotEqual", "LogicalNot", "LogicalAnd", "LogicalOr", "Tri", "Tril", "Triu",
    "Floor", "Ceil", "Square", "Exp", "Sin", "Cos", "Tan", "Arcsin", "Arccos", "Arctan", "Sinh", "Cosh",
    "Arcsinh", "Arccosh", "Arctanh", "Log2", "Log10", "Log1p", "Erf", "Expm1", "Round", "Reciprocal", "Sqrt",
    "Abs", "Neg", "Atan2", "LogAddExp", "FloorDivide", "Power", "LogSumExp", "Sum", "Mean", "Var", "Std",
    "Prod", "Max", "Min", "Argmin", "Median", "ModInt", "Remainder", "ConvTranspose1D", "ConvTranspose2D",
    "ConvTranspose3D", "Clip", "Cumsum", "Stack", "Sign", "Any", "All", "Repeat", "Sort", "Argsort",
    "Partition", "ArgPartition", "QuantizedMatmul", "ScatterAdd", "GatherMm", "GatherQmm", "Scan",
    "MetalKernel", "BitwiseInvert", "Roll", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "If", "RandomBits",
    "UpdateAndAttend", "Trunc", "Flip",
];

/// Names of the enum `SlotType`, by number, without the suffix `Slot`.
const SLOT_TYPES: &[&str] = &["Tensor", "IntValue", "FloatValue", "BoolValue"];

/// The runtime resizes tensors, and converts outputs to the type of the tensor.
static RULES: CallRules =
    CallRules { count: CountRule::Exact, sizes: SizesRule::Any, scalar_types: [TORCH_TYPES, &[]] };

/// Number of the slot type of tensors.
const TENSOR: i8 = 0;

/// Counts of the root table that are facts.
const COUNTS: &[(&str, u16)] = &[
    ("constant_tensors", graph::num_constant_tensors),
    ("input_tensors", graph::num_input_tensors),
    ("output_tensors", graph::num_output_tensors),
    ("mutable_buffers", graph::num_mutable_buffer_tensors),
    ("temporary_tensors", graph::num_temp_tensors),
    ("values", graph::num_values),
];

impl PayloadFormat for Mlx {
    fn name(&self) -> &'static str {
        "MLX"
    }

    fn backends(&self) -> &'static [&'static str] {
        &["MLXBackend"]
    }

    fn has_magic(&self, head: &[u8]) -> bool {
        head.get(4..8) == Some(MAGIC.as_bytes())
    }

    fn rules(&self) -> &'static CallRules {
        &RULES
    }

    fn flat(&self) -> Option<&'static FlatFormat> {
        FlatFormat::of("mlx")
    }

    fn describe(&self, payload: &Blob) -> Result<Facts, DescribeError> {
        let (at, facts) = header::read_short(payload, MAGIC)?;
        description::flatbuffer(payload, at, None, &GRAPH, |root| graph(root, facts))
    }
}

/// Adds the facts of a graph.
fn graph(t: &TableRef<'_, '_>, mut facts: Facts) -> read::Result<Facts> {
    facts.add("version", &*t.text(graph::version)?.unwrap_or_default());
    for (name, slot) in COUNTS {
        facts.add(name, t.u32(*slot)?);
    }
    let (mut operations, mut chains) = (Tally::default(), 0usize);
    t.children(graph::instruction_chains, &CHAIN, |t| {
        chains += 1;
        let count = |t: TableRef<'_, '_>| {
            let tag = t.u8(instruction::op_type)?;
            operations.count(name_of(OPERATIONS, 1, tag.into()));
            Ok(())
        };
        t.children(chain::instructions, &INSTRUCTION, count).map(drop)
    })?;
    facts.add("chains", chains);
    facts.add("main_chain", t.u32(graph::main_chain_idx)?);
    // An absent index is -1: none.
    if t.has(graph::init_chain_idx)? && t.i32(graph::init_chain_idx)? >= 0 {
        facts.add("init_chain", Fact::Number(t.i32(graph::init_chain_idx)?.into()));
    }
    facts.add("operations", operations);
    for (name, slot) in [("inputs", graph::input_map), ("outputs", graph::output_map)] {
        let mut slots: Vec<(i8, u32)> = Vec::new();
        t.children(slot, &SLOT, |t| {
            slots.push((t.i8(slot::slot_type)?, t.u32(slot::idx)?));
            Ok(())
        })?;
        let tensors: Vec<u32> = slots.iter().filter(|(kind, _)| *kind == TENSOR).map(|(_, index)| *index).collect();
        let (mut arguments, mut number) = (Arguments::new(&tensors), 0);
        t.children(graph::tensor_meta, &META, |t| {
            arguments.take(number, || tensor(&t))?;
            number += 1;
            Ok(())
        })?;
        let fact = |(kind, index): &(i8, u32)| match *kind {
            TENSOR => arguments.fact(*index),
            kind => (&*name_of(SLOT_TYPES, 0, kind.into())).into_fact(),
        };
        facts.add(name, Fact::list(slots.iter().map(fact), slots.len()));
    }
    let (mut keys, mut count) = (Vec::new(), 0);
    t.children(graph::named_slots, &NAMED_SLOT, |t| {
        if count < description::MAX_LISTED {
            keys.push(t.text(named_slot::name)?.unwrap_or_default().as_str().into_fact());
        }
        count += 1;
        Ok(())
    })?;
    facts.add("named_slots", Facts::default().with("count", count).with("keys", Fact::list(keys, count)));
    Ok(facts)
}

fn tensor(t: &TableRef<'_, '_>) -> read::Result<Fact> {
    // An absent size is -1: dynamic.
    let size = |t: TableRef<'_, '_>| if t.has(dim::value)? { t.i32(dim::value) } else { Ok(-1) };
    let sizes = t.children(meta::shape, &DIM, size)?.unwrap_or_default();
    let datatype = ScalarType(t.i8(meta::scalar_type)?).info().map_or(UNKNOWN, |info| info.name);
    Ok(Fact::tensor(datatype, sizes.into_iter().map(i64::from)))
}
