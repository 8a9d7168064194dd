//! The document as parsed: names, literals, optional keys, each part with the id of its node.
//!
//! Names are not looked up and defaults are not computed here. [`super::decode`] builds a document, [`super::resolve`]
//! resolves it.

use std::borrow::Cow;

use super::tree::{NodeId, SourceNode};
use crate::data::number::NumericValue;
use crate::data::random::Distribution;
use crate::delegate::xnnpack::model::NodeOperation;
use crate::format::ScalarType;
use crate::format::path::FieldPath;
use crate::layout::options::LayoutOptions;
use crate::program::{ContainerMetadata, MemoryPlanner, NonConstBufferDevice, StackFrame};

/// A value with the id of its node.
#[derive(Debug, Clone, PartialEq)]
pub struct At<T> {
    /// Id of the node.
    pub id: NodeId,
    /// The value.
    pub value: T,
}

/// A string with the id of its node.
pub type Word<'a> = At<Cow<'a, str>>;

/// A whole document.
#[derive(Debug, Default)]
pub struct ParsedDocument<'a> {
    /// File name of the outputs, without extension.
    pub name: Option<Word<'a>>,
    /// Schema version.
    pub version: Option<u32>,
    /// Methods; `None` in a document of data only.
    pub methods: Option<Vec<Method<'a>>>,
    /// Payloads by name.
    pub data: Vec<(Word<'a>, Data<'a>)>,
    /// Keyed blobs.
    pub named_data: Option<Vec<ParsedNamedData<'a>>>,
    /// Node of `named_data`.
    pub named_data_at: Option<NodeId>,
    /// `.safetensors` files whose tensors are added to a `.ptd`.
    pub checkpoints: Vec<Checkpoint<'a>>,
    /// Layout options.
    pub layout: Layout,
    /// Overrides that are applied after layout.
    pub raw: ParsedOverrides<'a>,
}

/// The tensors of a `.safetensors` file or of a set of them.
#[derive(Debug)]
pub struct Checkpoint<'a> {
    /// The file, or the index of the set.
    pub safetensors: Word<'a>,
    /// Patterns of names to include; `None` for all.
    pub include: Option<Vec<Word<'a>>>,
    /// Patterns of names to exclude.
    pub exclude: Vec<Word<'a>>,
    /// Prefixes of names, and their replacements.
    pub rename: Vec<(Word<'a>, Word<'a>)>,
    /// The tag of the `.ptd`.
    pub tag: Option<Cow<'a, str>>,
}

/// The `raw` section: overrides that are applied after layout.
#[derive(Debug, Default)]
pub struct ParsedOverrides<'a> {
    /// Paths of fields, and their override values.
    pub fields: Vec<(At<FieldPath>, OverrideSource<'a>)>,
    /// Byte of the padding around segments.
    pub fill: Option<u8>,
    /// Overwritten bytes: offset in the file and content.
    pub patches: Vec<(At<u64>, Data<'a>)>,
    /// Length in bytes that the file is truncated to.
    pub truncate: Option<u64>,
    /// Bytes that are appended to the file.
    pub append: Option<Data<'a>>,
    /// Overrides of the first `.ptd` beside a program.
    pub ptd: Option<Box<ParsedOverrides<'a>>>,
    /// Overrides of the `.bpte` around a program.
    pub bpte: Option<Box<ParsedOverrides<'a>>>,
}

/// An override of a field, as parsed.
#[derive(Debug)]
pub enum OverrideSource<'a> {
    /// An integer.
    Integer(i128),
    /// A floating point number.
    Float(f64),
    /// A string, for an identifier.
    Text(String),
    /// The field is absent.
    Absent,
    /// An offset of zero.
    Null,
    /// An empty vector.
    Empty,
    /// The target of the offset at another path.
    SameAs(FieldPath),
    /// Bytes.
    Bytes(Data<'a>),
}

/// A method.
#[derive(Debug)]
pub struct Method<'a> {
    /// Name.
    pub name: Word<'a>,
    /// Declared values.
    pub values: Vec<Declaration<'a>>,
    /// Inputs.
    pub inputs: Vec<At<Literal<'a>>>,
    /// Outputs.
    pub outputs: Vec<At<Literal<'a>>>,
    /// Instructions.
    pub chains: Vec<ParsedChain<'a>>,
    /// Delegates.
    pub delegates: Vec<Delegate<'a>>,
    /// Operators in the requested order.
    pub operators: Vec<Word<'a>>,
    /// Planned memory.
    pub memory: MethodMemory,
    /// True if constants require gradients unless they state otherwise, and results if an argument does.
    pub requires_grad: bool,
    /// Container metadata: `None` to compute it, `Some(None)` to leave it out.
    pub container_meta: Option<Option<ContainerMetadata>>,
    /// Tests.
    pub tests: Vec<Test<'a>>,
}

/// A declared value.
#[derive(Debug)]
pub struct Declaration<'a> {
    /// Name.
    pub name: Word<'a>,
    /// Requested value index.
    pub index: Option<At<u32>>,
    /// Tensor or literal.
    pub value: Declared<'a>,
}

/// Tensor or literal of a declaration.
#[derive(Debug)]
pub enum Declared<'a> {
    /// A tensor.
    Tensor(Box<ParsedTensor<'a>>),
    /// A literal.
    Other(At<Literal<'a>>),
}

/// A tensor as parsed.
#[derive(Debug, Default)]
pub struct ParsedTensor<'a> {
    /// Element type; `None` to infer it.
    pub scalar_type: Option<At<ScalarType>>,
    /// Sizes.
    pub sizes: Option<At<Vec<i32>>>,
    /// Dimension order.
    pub dim_order: Option<At<Vec<u8>>>,
    /// Data.
    pub data: Option<Data<'a>>,
    /// The tensor whose memory it shares.
    pub view_of: Option<Word<'a>>,
    /// True if it keeps its content from one execution to the next.
    pub mutable: bool,
    /// Placement in planned memory.
    pub memory: Option<MemoryPlacement>,
    /// Data in a `.ptd`: its node, and the tag if one is given.
    pub external: Option<At<Option<Cow<'a, str>>>>,
    /// Fully qualified name.
    pub name: Option<Word<'a>>,
    /// Device type and index.
    pub device: Option<(i8, i8)>,
    /// True if the table of optional properties is present in any case.
    pub extra_tensor_info: bool,
    /// Attributes as indices of [`TENSOR_ATTRIBUTES`](crate::program::attributes::TENSOR_ATTRIBUTES), with their values.
    pub attributes: Vec<(usize, i32)>,
    /// Index of external data that are not given.
    pub data_buffer_idx: Option<At<u32>>,
}

/// Placement in planned memory, as parsed.
#[derive(Debug, Clone, Copy)]
pub enum MemoryPlacement {
    /// In a pool that the memory planner chooses.
    Auto,
    /// Not in planned memory.
    None,
    /// In a pool, at an offset if given.
    In {
        /// Number of the pool.
        pool: u32,
        /// Offset in bytes.
        offset: Option<u64>,
    },
}

/// A literal, a name, or a value by number.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal<'a> {
    /// None.
    Null,
    /// An integer.
    Int(i64),
    /// A floating point number.
    Double(f64),
    /// A truth value.
    Bool(bool),
    /// A bare word: a name, or a string where a string is expected.
    Word(Cow<'a, str>),
    /// A string (`{string: ...}`).
    String(Cow<'a, str>),
    /// An element type, as an Int.
    Dtype(ScalarType),
    /// A memory format, as an Int.
    MemoryFormat(i64),
    /// A list whose kind is inferred from its items.
    List(Vec<At<Literal<'a>>>),
    /// A list of a stated kind.
    Typed(ListKind, Vec<At<Literal<'a>>>),
    /// The value of this index, unchecked.
    Index(i32),
}

/// Kind of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// Ints by index.
    Int,
    /// Doubles.
    Double,
    /// Bools.
    Bool,
    /// Tensors.
    Tensor,
    /// Tensors or None.
    OptionalTensor,
}

/// A list of instructions.
#[derive(Debug, Default)]
pub struct ParsedChain<'a> {
    /// Inputs.
    pub inputs: Vec<At<Literal<'a>>>,
    /// Outputs.
    pub outputs: Vec<At<Literal<'a>>>,
    /// Instructions.
    pub instructions: Vec<ParsedInstruction<'a>>,
    /// Number of stack traces.
    pub stacktraces: Option<At<u32>>,
}

/// Stands among the outs of a kernel for one that the call does not ask for. No value has this name.
pub const MISSING_OUT: &str = "\0";

/// An instruction.
#[derive(Debug)]
pub struct ParsedInstruction<'a> {
    /// Label, for jumps.
    pub label: Option<Word<'a>>,
    /// Stack trace.
    pub stacktrace: Option<Vec<StackFrame>>,
    /// Action; `None` for a label alone.
    pub action: Option<Action<'a>>,
}

/// Action of an instruction.
#[derive(Debug)]
pub enum Action<'a> {
    /// Runs a kernel.
    Kernel {
        /// Operator with overload.
        name: Word<'a>,
        /// Arguments.
        args: Vec<At<Literal<'a>>>,
        /// Written values; `None` if the arguments are the whole stack.
        out: Option<Vec<Word<'a>>>,
    },
    /// Runs a delegate.
    Delegate {
        /// Name or index of the delegate.
        delegate: At<NameOrNumber<'a>>,
        /// Arguments.
        args: Vec<At<Literal<'a>>>,
    },
    /// Makes a value the same as another.
    Move {
        /// Source.
        from: At<Literal<'a>>,
        /// Target.
        to: At<Literal<'a>>,
    },
    /// Jumps if false.
    JumpFalse {
        /// Condition.
        cond: At<Literal<'a>>,
        /// Target.
        to: At<NameOrNumber<'a>>,
    },
    /// Frees a tensor.
    Free(At<Literal<'a>>),
    /// Fixes the position of a view; emits nothing.
    View {
        /// The tensor whose memory the view shares.
        base: Word<'a>,
        /// The view.
        out: Word<'a>,
        /// Sizes, unless they are declared.
        sizes: Option<At<Vec<i32>>>,
    },
    /// Numbers a declared value; emits nothing.
    Value(Word<'a>),
}

impl<'a> Action<'a> {
    /// Returns true if the action is an instruction of the program.
    pub fn emits(&self) -> bool {
        match self {
            Action::Kernel { .. }
            | Action::Delegate { .. }
            | Action::Move { .. }
            | Action::JumpFalse { .. }
            | Action::Free(_) => true,
            Action::View { .. } | Action::Value(_) => false,
        }
    }

    /// The names in `out` of a kernel call; none of any other instruction.
    pub fn outs(&self) -> &[Word<'a>] {
        match self {
            Action::Kernel { out, .. } => out.as_deref().unwrap_or_default(),
            Action::Delegate { .. }
            | Action::Move { .. }
            | Action::JumpFalse { .. }
            | Action::Free(_)
            | Action::View { .. }
            | Action::Value(_) => &[],
        }
    }

    /// The node to which messages about the action as a whole refer.
    pub fn node(&self) -> NodeId {
        match self {
            Action::Kernel { name, .. } | Action::Value(name) => name.id,
            Action::Delegate { delegate, .. } => delegate.id,
            Action::Move { to, .. } => to.id,
            Action::JumpFalse { to, .. } => to.id,
            Action::Free(value) => value.id,
            Action::View { out, .. } => out.id,
        }
    }
}

/// A name, which is checked, or a number, which is not.
#[derive(Debug, Clone, PartialEq)]
pub enum NameOrNumber<'a> {
    /// A name.
    Name(Cow<'a, str>),
    /// A number.
    Number(i32),
}

/// A delegate.
#[derive(Debug)]
pub struct Delegate<'a> {
    /// Name in the source.
    pub name: Word<'a>,
    /// Name of the backend.
    pub backend: Cow<'a, str>,
    /// Payload.
    pub payload: ParsedPayload<'a>,
    /// Options.
    pub compile_specs: Vec<(Cow<'a, str>, Data<'a>)>,
    /// True if the payload is stored in the FlatBuffer.
    pub inline: Option<bool>,
}

/// Payload of a delegate, as parsed.
#[derive(Debug)]
pub enum ParsedPayload<'a> {
    /// Bytes.
    Data(Data<'a>),
    /// A graph.
    Graph(Box<ParsedGraph<'a>>),
}

/// Graph of an XNNPACK delegate, as parsed.
#[derive(Debug)]
pub struct ParsedGraph<'a> {
    /// Node.
    pub id: NodeId,
    /// Values.
    pub values: Vec<ParsedGraphValue<'a>>,
    /// Inputs, in the order of arguments.
    pub inputs: Vec<Word<'a>>,
    /// Outputs, in the order of arguments.
    pub outputs: Vec<Word<'a>>,
    /// Operations.
    pub nodes: Vec<ParsedNode<'a>>,
    /// Identifier, as an index of [`IDENTIFIERS`](crate::delegate::xnnpack::schema::IDENTIFIERS).
    pub identifier: Option<usize>,
    /// False if the payload has no header.
    pub header: Option<bool>,
    /// False if constants have no field for a key.
    pub named_keys: Option<bool>,
    /// Version.
    pub version: Option<Word<'a>>,
    /// Number of arguments.
    pub num_externs: Option<u32>,
    /// Ids of inputs.
    pub input_ids: Option<Vec<u32>>,
    /// Ids of outputs.
    pub output_ids: Option<Vec<u32>>,
    /// Sizes of constants.
    pub mem_buffer_sizes: Option<Vec<u32>>,
    /// As [`Data::copy`].
    pub copy: u32,
}

/// Value of a graph, as parsed.
#[derive(Debug)]
pub struct ParsedGraphValue<'a> {
    /// Name.
    pub name: Word<'a>,
    /// Element type: an index of [`DATATYPES`](crate::delegate::xnnpack::schema::DATATYPES).
    pub datatype: Option<i16>,
    /// Sizes.
    pub sizes: Option<At<Vec<u32>>>,
    /// Content.
    pub constant: Option<ParsedConstant<'a>>,
    /// Quantization.
    pub quantization: Option<At<ParsedQuantization<'a>>>,
    /// Number of dimensions.
    pub num_dims: Option<u32>,
    /// Number of the value.
    pub value_id: Option<u32>,
    /// Number of the argument.
    pub external_id: Option<u32>,
    /// Flags.
    pub flags: Option<u32>,
    /// Element type of a result that is quantized at run time.
    pub dq_datatype: Option<i16>,
}

/// Constant of a graph, as parsed.
#[derive(Debug)]
pub struct ParsedConstant<'a> {
    /// Data, or a key.
    pub source: ParsedConstantSource<'a>,
    /// Size in bytes.
    pub size: Option<u64>,
}

/// Source of a constant.
#[derive(Debug)]
pub enum ParsedConstantSource<'a> {
    /// In the payload.
    Data(Data<'a>),
    /// In named data.
    Key(Word<'a>),
}

/// Quantization of a value, as parsed.
#[derive(Debug)]
pub enum ParsedQuantization<'a> {
    /// One scale and zero point.
    Tensor(f32, i32),
    /// Number of trailing dimensions that share a scale.
    Token(i32),
    /// Scales of channels, or of groups of a channel.
    Channels {
        /// Dimension of the channels; `None` for the first.
        channel_dim: Option<At<i32>>,
        /// Number of elements that share a scale; `None` for a whole channel.
        group_size: Option<At<i32>>,
        /// Scales.
        scales: ParsedScales<'a>,
        /// Number of scales.
        num_scales: Option<u32>,
        /// Scales as bfloat16.
        scale_bf16: Option<Vec<u16>>,
    },
}

/// Scales, as parsed.
#[derive(Debug)]
pub enum ParsedScales<'a> {
    /// In the graph.
    Listed(Vec<f32>),
    /// In a constant.
    Constant(ParsedConstant<'a>),
}

/// Operation of a graph, as parsed.
#[derive(Debug)]
pub struct ParsedNode<'a> {
    /// Node.
    pub id: NodeId,
    /// Operation.
    pub operation: NodeOperation,
    /// Given fields, by slot.
    pub fields: Vec<(usize, At<ParsedField<'a>>)>,
    /// Fields that the schema does not have.
    pub extra: Vec<ParsedExtraField<'a>>,
    /// Bounds of the output.
    pub output_min: Option<f32>,
    /// Upper bound.
    pub output_max: Option<f32>,
    /// Number of the node in the exporter's graph.
    pub debug_handle: Option<u32>,
}

/// Field of an operation that the schema does not have, as parsed.
#[derive(Debug)]
pub struct ParsedExtraField<'a> {
    /// Node.
    pub id: NodeId,
    /// Slot in the table of the operation.
    pub slot: u16,
    /// Size of an item of a vector in bytes; `None` for a number.
    pub width: Option<u8>,
    /// Content.
    pub bytes: Data<'a>,
}

/// Field of an operation, as parsed.
#[derive(Debug)]
pub enum ParsedField<'a> {
    /// Name of a value.
    Value(Cow<'a, str>),
    /// No value.
    NoValue,
    /// Id of a value, unchecked, or a number.
    UInt(u32),
    /// A number.
    Float(f32),
    /// A list.
    UInts(Vec<u32>),
}

/// Planned memory of a method.
#[derive(Debug, Default)]
pub struct MethodMemory {
    /// Sizes of the pools.
    pub sizes: Option<Vec<i64>>,
    /// Devices of the pools.
    pub devices: Option<Vec<NonConstBufferDevice>>,
    /// Alignment of offsets.
    pub alignment: Option<u64>,
    /// Algorithm that assigns offsets.
    pub planner: MemoryPlanner,
    /// Padding after each used pool, in bytes.
    pub padding: Option<u64>,
    /// Bytes left free at each pool's start, from pool 1.
    pub reserved: Vec<u64>,
    /// Position of the method when shared state is placed.
    pub shared_order: Option<u32>,
    /// True if inputs have no planned memory.
    pub unplanned_inputs: bool,
    /// True if outputs have no planned memory.
    pub unplanned_outputs: bool,
}

/// A test.
#[derive(Debug)]
pub struct Test<'a> {
    /// Inputs.
    pub inputs: At<Vec<At<TestValue<'a>>>>,
    /// Outputs.
    pub outputs: Option<At<Vec<At<TestValue<'a>>>>>,
    /// Absolute tolerance.
    pub atol: Option<f64>,
    /// Relative tolerance.
    pub rtol: Option<f64>,
}

/// A value of a test.
#[derive(Debug)]
pub enum TestValue<'a> {
    /// None.
    Null,
    /// A number.
    Number(NumericValue),
    /// A string for a String, or the name of a payload for a tensor.
    Text(Cow<'a, str>),
    /// A tensor's content, with sizes if they differ from the method's.
    Tensor(Option<At<Vec<i32>>>, Data<'a>),
}

/// A keyed blob.
#[derive(Debug)]
pub struct ParsedNamedData<'a> {
    /// Key.
    pub key: Word<'a>,
    /// Content.
    pub data: Data<'a>,
    /// Alignment.
    pub align: Option<u64>,
    /// In a `.ptd`: its node, and the tag if one is given.
    pub external: Option<At<Option<Cow<'a, str>>>>,
    /// Element type, if it is a tensor.
    pub scalar_type: Option<ScalarType>,
    /// Sizes.
    pub sizes: Option<At<Vec<i32>>>,
    /// Dimension order.
    pub dim_order: Option<At<Vec<u8>>>,
}

/// Data as parsed.
#[derive(Debug)]
pub struct Data<'a> {
    /// Node.
    pub id: NodeId,
    /// Source of the bytes.
    pub source: DataSource<'a>,
    /// Alignment, for named data.
    pub align: Option<u64>,
    /// Element type of numbers without a tensor; for a tensor, the element type in the file if it differs.
    pub dtype: Option<ScalarType>,
    /// Equal data share an offset in the file only if this number is equal, too.
    pub copy: u32,
}

/// Source of bytes.
#[derive(Debug)]
pub enum DataSource<'a> {
    /// A payload of `data:`; or, for a compile spec, a string.
    Name(Cow<'a, str>),
    /// Numbers, nested as the tensor or flat.
    Numbers(Vec<SourceNode<'a>>),
    /// Bytes.
    Bytes(Vec<u8>),
    /// A number, repeated; the count is given if there is no tensor.
    Fill(NumericValue, Option<u64>),
    /// A progression.
    Iota(NumericValue, NumericValue),
    /// Random numbers.
    Random(u64, RandomKind),
    /// A file.
    File {
        /// Path, relative to the YAML file.
        path: Word<'a>,
        /// First byte; `None` for 0.
        offset: Option<u64>,
        /// Number of bytes. `None`: with an offset those of the tensor, if there is one; else the rest of the file.
        size: Option<u64>,
    },
    /// A `.npy` file.
    Npy(Word<'a>),
    /// A tensor of a `.safetensors` file.
    Safetensors(Word<'a>, Word<'a>),
    /// Data of a `.ptd` by key.
    Ptd(Word<'a>, Word<'a>),
    /// Data of a `.pte` by key or name.
    Pte(Word<'a>, Word<'a>),
}

impl DataSource<'_> {
    /// Returns true if the bytes are in a file, whose element type may differ from that of the tensor.
    pub fn is_stored(&self) -> bool {
        use DataSource::{File, Npy, Ptd, Pte, Safetensors};
        matches!(self, File { .. } | Npy(_) | Safetensors(..) | Ptd(..) | Pte(..))
    }
}

/// Random distribution as parsed; omitted bounds depend on the element type.
#[derive(Debug, Clone, Copy)]
pub enum RandomKind {
    /// Uniform between two bounds.
    Uniform(Option<NumericValue>, Option<NumericValue>),
    /// A distribution with given parameters.
    Fixed(Distribution),
}

/// Layout options as parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// The options.
    pub options: LayoutOptions,
    /// The node of `header`.
    pub header_at: Option<NodeId>,
}
