//! The graph of an XNNPACK payload as plain data: values, nodes and constants with all their fields.
//!
//! Nothing is computed or checked here: ids may be unknown, sizes wrong. A node is an operation with the fields of its table, so that no
//! operation has a type of its own.

use super::schema::{Operation, QuantParams};
use crate::data::Blob;

/// Location of the constants of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// After the graph, behind a header.
    Header,
    /// In the graph, which is the payload.
    Bare,
}

/// A payload.
#[derive(Debug, Clone, PartialEq)]
pub struct Graph {
    /// Location of the constants.
    pub container: Container,
    /// File identifier: one of [`super::schema::IDENTIFIERS`].
    pub identifier: &'static str,
    /// Version of the schema.
    pub version: String,
    /// Operations, in order.
    pub nodes: Vec<Node>,
    /// Values.
    pub values: Vec<GraphValue>,
    /// Number of arguments of the delegate.
    pub num_externs: u32,
    /// Ids of the values that are inputs.
    pub input_ids: Vec<u32>,
    /// Ids of the values that are outputs.
    pub output_ids: Vec<u32>,
    /// Constants; the first one stands for none.
    pub constants: Vec<Constant>,
    /// Size of the constants after the graph, in bytes, with padding.
    pub constants_len: u64,
    /// Sizes in bytes in a field that no release reads.
    pub mem_buffer_sizes: Option<Vec<u32>>,
}

/// Constant data.
#[derive(Debug, Clone, PartialEq)]
pub struct Constant {
    /// Key in the named data of the program. The runtime looks up any key, also an empty one: `None` if the data are in the payload.
    pub key: Option<String>,
    /// Offset in the constants of the payload; `u64::MAX` for named data, 0 in a graph that contains the constants.
    pub offset: u64,
    /// Size in bytes that the graph states.
    pub size: u64,
    /// Bytes in the payload; empty for named data.
    pub data: Blob,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphValue {
    /// Element type: an index of [`super::schema::DATATYPES`].
    pub datatype: i16,
    /// Number of dimensions that the graph states.
    pub num_dims: u32,
    /// Size of each dimension.
    pub dims: Vec<u32>,
    /// Index of the constant; 0 for none.
    pub constant: u32,
    /// Number of the argument of the delegate, or [`super::schema::NO_ID`].
    pub external_id: u32,
    /// [`super::schema::EXTERNAL_INPUT`] and [`super::schema::EXTERNAL_OUTPUT`].
    pub flags: u32,
    /// Id that nodes refer to.
    pub id: u32,
    /// Element type of the result of a conversion that quantizes at run time, before release 0.4.
    pub dq_datatype: i16,
    /// Quantization; `None` for an `XNNTensorValue`.
    pub quantization: Option<QuantParamsValue>,
}

/// Parameters of the quantization of a value: the fields of the members of `XNNQuantParams`.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantParamsValue {
    /// Member of the union.
    pub kind: QuantParams,
    /// By slot of its table.
    pub fields: Vec<FieldContent>,
}

/// An operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Operation.
    pub operation: Operation,
    /// By slot of the table of the operation.
    pub fields: Vec<FieldContent>,
    /// Number of the node in the exporter's graph.
    pub debug_handle: u32,
    /// Bounds of the output.
    pub output_min_max: Option<[f32; 2]>,
}

/// Content of a field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldContent {
    /// `u32`: a parameter, flags, or the id of a value.
    UInt(u32),
    /// `i32`
    Int(i32),
    /// `f32`
    Float(f32),
    /// A vector of `u32`.
    UInts(Vec<u32>),
    /// A vector of `u16`.
    UShorts(Vec<u16>),
    /// A vector of `f32`.
    Floats(Vec<f32>),
    /// A vector that is absent.
    Absent,
}

impl FieldContent {
    /// Returns a `u32`; 0 for other content.
    pub fn uint(&self) -> u32 {
        match self {
            FieldContent::UInt(number) => *number,
            FieldContent::Int(_)
            | FieldContent::Float(_)
            | FieldContent::UInts(_)
            | FieldContent::UShorts(_)
            | FieldContent::Floats(_)
            | FieldContent::Absent => 0,
        }
    }
}

impl Constant {
    /// Returns `true` if the data are in the payload, and not only the mark for no constant.
    pub fn is_inside(&self) -> bool {
        self.key.is_none() && self.size > 0
    }
}
