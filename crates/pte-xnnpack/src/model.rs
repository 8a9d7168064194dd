//! The graph of an XNNPACK payload as plain data: values, nodes and constants with all their fields.
//!
//! Nothing is computed or checked here: ids may be unknown, sizes wrong. A node is an operation with the fields of its
//! table, so that no operation has a type of its own.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::schema::{MAX_RANK, Operand, Operation, QuantParams};
use pte_model::data::Blob;
use pte_model::format::TableSchema;
use pte_model::format::table::Union;

/// Location of the constants of a payload.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Container {
    /// After the graph, in a payload with a header.
    #[default]
    Header,
    /// In the graph, which is the payload.
    Bare,
}

/// Sizes of a value: most have at most four dimensions.
pub type Dims = SmallVec<[u32; 4]>;

/// Sizes as 64-bit numbers: of computed values, they may be larger than those of the schema.
pub type Sizes = SmallVec<[u64; MAX_RANK]>;

/// Returns sizes as 64-bit numbers.
pub fn wide(dims: &[u32]) -> Sizes {
    dims.iter().map(|size| u64::from(*size)).collect()
}

/// Fields of a table, by slot: most operations have at most four.
pub type Fields = SmallVec<[FieldContent; 4]>;

/// A payload.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Graph {
    /// Location of the constants.
    pub container: Container,
    /// File identifier: one of [`crate::schema::IDENTIFIERS`].
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
    /// Constants. Index 0 means that a value has no data.
    pub constants: Vec<Constant>,
    /// Size of the constants after the graph, in bytes, with padding.
    pub constants_len: u64,
    /// Sizes in bytes in a field that no release reads.
    pub mem_buffer_sizes: Option<Vec<u32>>,
}

/// Constant data.
#[derive(Debug, Clone, PartialEq)]
pub struct Constant {
    /// Key in the named data of the program. The runtime looks up any key, also an empty one: `None` if the data are in
    /// the payload.
    pub key: Option<String>,
    /// Offset in the constants of the payload; `u64::MAX` for named data, 0 in a graph that contains the constants.
    pub offset: u64,
    /// Size in bytes that the graph states.
    pub size: u64,
    /// Bytes in the payload; empty for named data.
    pub data: Blob,
}

/// A value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GraphValue {
    /// Element type: an index of [`crate::schema::DATATYPES`].
    pub datatype: i16,
    /// Number of dimensions that the graph states.
    pub num_dims: u32,
    /// Size of each dimension.
    pub dims: Dims,
    /// Index of the constant; 0 for none.
    pub constant: u32,
    /// Number of the argument of the delegate, or [`crate::schema::NO_ID`].
    pub external_id: u32,
    /// [`crate::schema::EXTERNAL_INPUT`] and [`crate::schema::EXTERNAL_OUTPUT`].
    pub flags: u32,
    /// Id that nodes refer to.
    pub id: u32,
    /// Element type of the result of a conversion that quantizes at run time, before release 0.4.
    pub dq_datatype: i16,
    /// Quantization; `None` for an `XNNTensorValue`. Boxed, because few values of a large graph have one.
    pub quantization: Option<Box<QuantParamsValue>>,
}

/// Parameters of the quantization of a value: the fields of the members of `XNNQuantParams`.
#[derive(Debug, Clone, PartialEq)]
pub struct QuantParamsValue {
    /// Member of the union.
    pub kind: QuantParams,
    /// By slot of its table.
    pub fields: Fields,
}

/// An operation. Two are equal if they have the same bytes: floats are compared by their bits.
#[derive(Debug, Clone)]
pub struct Node {
    /// Operation.
    pub operation: NodeOperation,
    /// By slot of the table of the operation.
    pub fields: Fields,
    /// Fields that the table of the schema does not have, by ascending slot.
    pub extra: Vec<ExtraContent>,
    /// Number of the node in the exporter's graph.
    pub debug_handle: u32,
    /// Bounds of the output.
    pub output_min_max: Option<[f32; 2]>,
}

/// Member of the union of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeOperation {
    /// One of the schema.
    Known(Operation),
    /// The tag of one that a newer schema has; 0 for none.
    Unknown(u8),
}

/// Table of operations that the schema does not have: all their fields are unknown.
static UNKNOWN: TableSchema = TableSchema { name: "unknown operation", fields: &[] };

impl NodeOperation {
    /// Returns the operation of a tag.
    pub fn of_tag(tag: u8) -> NodeOperation {
        Operation::of_tag(tag).map_or(NodeOperation::Unknown(tag), NodeOperation::Known)
    }

    /// Returns the tag in the union.
    pub fn tag(self) -> u8 {
        match self {
            NodeOperation::Known(operation) => operation.tag(),
            NodeOperation::Unknown(tag) => tag,
        }
    }

    /// Returns the table of the operation; one without fields if it is unknown.
    pub fn table(self) -> &'static TableSchema {
        match self {
            NodeOperation::Known(operation) => operation.table(),
            NodeOperation::Unknown(_) => &UNKNOWN,
        }
    }

    /// Returns the name of a field in the schema; empty if it has none.
    pub fn field_name(self, slot: u16) -> &'static str {
        self.table().fields.get(usize::from(slot)).map_or("", |field| field.name)
    }

    /// Returns the operands, as [`Operation::operands`]; none if the operation is unknown.
    pub fn operands(self) -> impl Iterator<Item = Operand> {
        let known = match self {
            NodeOperation::Known(operation) => Some(operation),
            NodeOperation::Unknown(_) => None,
        };
        known.into_iter().flat_map(Operation::operands)
    }

    /// Returns the name of the operation.
    pub fn word(self) -> &'static str {
        match self {
            NodeOperation::Known(operation) => operation.word(),
            NodeOperation::Unknown(_) => UNKNOWN_WORD,
        }
    }
}

/// Name of an operation that the schema does not have.
pub const UNKNOWN_WORD: &str = "unknown";

/// A field that the schema does not have: its slot and its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraContent {
    /// Slot in the table of the operation.
    pub slot: u16,
    /// Size of an item of a vector in bytes; `None` for a number in the table.
    pub width: Option<u8>,
    /// The number, or the items of the vector.
    pub bytes: Vec<u8>,
}

impl ExtraContent {
    /// Returns `true` if the content is representable: a number of 1, 2, 4 or 8 bytes, or a vector of such items.
    pub fn is_valid(&self) -> bool {
        let is_size = |size: usize| matches!(size, 1 | 2 | 4 | 8);
        match self.width {
            None => is_size(self.bytes.len()),
            Some(width) => is_size(width.into()) && self.bytes.len().is_multiple_of(width.into()),
        }
    }
}

/// Content of a field. Two are equal if they have the same bytes: floats are compared by their bits.
#[derive(Debug, Clone)]
pub enum FieldContent {
    /// `u32`: a parameter, flags, or the id of a value.
    UInt(u32),
    /// `i32`
    Int(i32),
    /// `f32`
    Float(f32),
    /// A vector of `u32`.
    UInts(Box<[u32]>),
    /// A vector of `u16`.
    UShorts(Box<[u16]>),
    /// A vector of `f32`.
    Floats(Box<[f32]>),
    /// A vector that is absent.
    Absent,
}

impl PartialEq for Node {
    fn eq(&self, other: &Node) -> bool {
        let Node { operation, fields, extra, debug_handle, output_min_max } = self;
        let bits = |bounds: &Option<[f32; 2]>| bounds.map(|bounds| bounds.map(f32::to_bits));
        (operation, fields, extra, debug_handle) == (&other.operation, &other.fields, &other.extra, &other.debug_handle)
            && bits(output_min_max) == bits(&other.output_min_max)
    }
}

impl PartialEq for FieldContent {
    fn eq(&self, other: &FieldContent) -> bool {
        use FieldContent::{Absent, Float, Floats, Int, UInt, UInts, UShorts};
        match (self, other) {
            (UInt(one), UInt(other)) => one == other,
            (Int(one), Int(other)) => one == other,
            (Float(one), Float(other)) => one.to_bits() == other.to_bits(),
            (UInts(one), UInts(other)) => one == other,
            (UShorts(one), UShorts(other)) => one == other,
            (Floats(one), Floats(other)) => {
                one.iter().map(|item| item.to_bits()).eq(other.iter().map(|item| item.to_bits()))
            }
            (Absent, Absent) => true,
            (UInt(_) | Int(_) | Float(_) | UInts(_) | UShorts(_) | Floats(_) | Absent, _) => false,
        }
    }
}

impl Graph {
    /// Returns the positions of the values by their ids; the first of several with an id counts.
    pub fn positions(&self) -> HashMap<u32, usize> {
        let mut positions = HashMap::with_capacity(self.values.len());
        for (position, value) in self.values.iter().enumerate() {
            positions.entry(value.id).or_insert(position);
        }
        positions
    }
}

impl GraphValue {
    /// Returns the sizes.
    pub fn sizes(&self) -> Sizes {
        wide(&self.dims)
    }
}

impl Node {
    /// Returns the id or the number in a field; 0 if it has none.
    pub fn uint(&self, slot: u16) -> u32 {
        self.fields.get(usize::from(slot)).map_or(0, FieldContent::uint)
    }

    /// Returns the operands with the ids of their values; none if the operation is unknown.
    pub fn operands(&self) -> impl Iterator<Item = (Operand, u32)> {
        self.operation.operands().map(|operand| (operand, self.uint(operand.slot)))
    }
}

impl QuantParamsValue {
    /// Returns the number in a field; 0 for other content.
    pub fn int(&self, slot: u16) -> i32 {
        match self.fields.get(usize::from(slot)) {
            Some(FieldContent::Int(number)) => *number,
            Some(_) | None => 0,
        }
    }

    /// Returns the fields with the index of the constant that has the scales, and with their number.
    pub fn constant_fields(&mut self) -> Option<&mut [FieldContent; 2]> {
        self.kind.has_scales().then(|| self.fields.last_chunk_mut()).flatten()
    }

    /// Returns the number, or the list of numbers, in a field.
    pub fn floats(&self, slot: u16) -> &[f32] {
        match self.fields.get(usize::from(slot)) {
            Some(FieldContent::Float(number)) => std::slice::from_ref(number),
            Some(FieldContent::Floats(list)) => list,
            Some(_) | None => &[],
        }
    }
}

impl FieldContent {
    /// Returns a `u32`; 0 for other content.
    pub fn uint(&self) -> u32 {
        if let FieldContent::UInt(number) = self { *number } else { 0 }
    }
}

/// Returns the data of named data: none are in the payload.
pub fn no_data() -> Blob {
    Blob::bytes([])
}

impl Default for Constant {
    fn default() -> Constant {
        Constant { key: None, offset: 0, size: 0, data: no_data() }
    }
}

impl Constant {
    /// Returns `true` if the data are in the payload, and not only the mark for no constant.
    pub fn is_inside(&self) -> bool {
        self.key.is_none() && self.size > 0
    }
}
