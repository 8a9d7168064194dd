//! What the user wrote, in types: names, literals, sugar, almost every key optional, each part with the number of its
//! node. Nothing is looked up or computed yet; [`super::decode`] makes it, [`super::resolve`] uses it.

use std::borrow::Cow;

use super::tree::{Node, NodeId};
use crate::data::number::NumericValue;
use crate::data::random::Distribution;
use crate::format::ScalarType;
use crate::format::path::FieldPath;
use crate::layout::options::OptionOverrides;
use crate::program::{ContainerMetadata, Frame, NonConstBufferDevice};

/// Something with its node.
#[derive(Debug, Clone, PartialEq)]
pub struct At<T> {
    /// Number of the node.
    pub id: NodeId,
    /// What it is.
    pub value: T,
}

/// A text with its node.
pub type Word<'a> = At<Cow<'a, str>>;

/// A whole text.
#[derive(Debug, Default)]
pub struct Document<'a> {
    /// What the outputs are called.
    pub name: Option<Word<'a>>,
    /// Schema version.
    pub version: Option<u32>,
    /// The methods; `None` in a text of data only.
    pub methods: Option<Vec<Method<'a>>>,
    /// Payloads by name.
    pub data: Vec<(Word<'a>, Data<'a>)>,
    /// Keyed blobs.
    pub named_data: Option<Vec<NamedData<'a>>>,
    /// Where they are.
    pub named_data_at: Option<NodeId>,
    /// Whole files of weights.
    pub checkpoints: Vec<Checkpoint<'a>>,
    /// Layout.
    pub layout: Layout,
    /// What is changed in the end.
    pub raw: Raw<'a>,
}

/// The tensors of a `.safetensors` file or of a set of them.
#[derive(Debug)]
pub struct Checkpoint<'a> {
    /// The file, or the index of the set.
    pub safetensors: Word<'a>,
    /// Patterns of which a name must match one; `None` is every name.
    pub include: Option<Vec<Word<'a>>>,
    /// Patterns of which a name must match none.
    pub exclude: Vec<Word<'a>>,
    /// Beginnings of names, and what takes their place.
    pub rename: Vec<(Word<'a>, Word<'a>)>,
    /// The tag of the `.ptd`.
    pub tag: Option<Cow<'a, str>>,
}

/// What is made wrong when all is laid out.
#[derive(Debug, Default)]
pub struct Raw<'a> {
    /// Places and what they are made to say.
    pub sets: Vec<(At<FieldPath>, Lie<'a>)>,
    /// What padding consists of.
    pub fill: Option<u8>,
    /// Bytes that are overwritten: where, and with what.
    pub patches: Vec<(At<u64>, Data<'a>)>,
    /// Where the file is cut off.
    pub truncate: Option<u64>,
    /// Bytes behind the end.
    pub append: Option<Data<'a>>,
    /// The same for the `.ptd` beside a program.
    pub ptd: Option<Box<Raw<'a>>>,
    /// The same for the `.bpte` around one.
    pub bpte: Option<Box<Raw<'a>>>,
}

/// What a place is made to say.
#[derive(Debug)]
pub enum Lie<'a> {
    /// Another integer.
    Integer(i128),
    /// Another number.
    Float(f64),
    /// Another text, for an identifier.
    Text(String),
    /// Nothing: the field is left out.
    Absent,
    /// An offset of zero.
    Null,
    /// No items.
    Empty,
    /// What another place refers to.
    SameAs(FieldPath),
    /// Other bytes.
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
    pub chains: Vec<Chain<'a>>,
    /// Delegates.
    pub delegates: Vec<Delegate<'a>>,
    /// Operators in the order wanted.
    pub operators: Vec<Word<'a>>,
    /// Planned memory.
    pub memory: MethodMemory,
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
    /// Wanted number.
    pub index: Option<At<u32>>,
    /// What it is.
    pub value: Declared<'a>,
}

/// What a declared value is.
#[derive(Debug)]
pub enum Declared<'a> {
    /// A tensor.
    Tensor(Box<Tensor<'a>>),
    /// Anything else.
    Other(At<Literal<'a>>),
}

/// A tensor as written.
#[derive(Debug)]
pub struct Tensor<'a> {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Sizes.
    pub sizes: Option<At<Vec<i32>>>,
    /// Dimension order.
    pub dim_order: Option<At<Vec<u8>>>,
    /// Data.
    pub data: Option<Data<'a>>,
    /// The tensor whose memory it shares.
    pub view_of: Option<Word<'a>>,
    /// Keeps its content.
    pub mutable: bool,
    /// Place.
    pub memory: Option<Place>,
    /// Data in a `.ptd`: its node, and the tag if one is given.
    pub external: Option<At<Option<Cow<'a, str>>>>,
    /// Fully qualified name.
    pub name: Option<Word<'a>>,
    /// Device type and index.
    pub device: Option<(i8, i8)>,
    /// Attributes as indices of [`TENSOR_ATTRIBUTES`](crate::program::attributes::TENSOR_ATTRIBUTES), with their values.
    pub attributes: Vec<(usize, i32)>,
    /// The number of external data that are not given.
    pub data_buffer_idx: Option<At<u32>>,
}

/// A place in memory as written.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// Planned.
    Auto,
    /// Not planned.
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
    /// A bare text: a name, or where a text is expected that text.
    Word(Cow<'a, str>),
    /// A text that says it is one.
    String(Cow<'a, str>),
    /// An element type, as an Int.
    Dtype(ScalarType),
    /// A memory format, as an Int.
    MemoryFormat(i64),
    /// A list whose kind its items tell.
    List(Vec<At<Literal<'a>>>),
    /// A list that says its kind.
    Typed(ListKind, Vec<At<Literal<'a>>>),
    /// The value of this number, whatever it is.
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
pub struct Chain<'a> {
    /// Inputs.
    pub inputs: Vec<At<Literal<'a>>>,
    /// Outputs.
    pub outputs: Vec<At<Literal<'a>>>,
    /// Instructions.
    pub instructions: Vec<Instruction<'a>>,
}

/// An instruction.
#[derive(Debug)]
pub struct Instruction<'a> {
    /// Name of the place.
    pub label: Option<Word<'a>>,
    /// Where it came from.
    pub stacktrace: Option<Vec<Frame>>,
    /// What it does; `None` if it is a label alone.
    pub action: Option<Action<'a>>,
}

/// What an instruction does.
#[derive(Debug)]
pub enum Action<'a> {
    /// Runs a kernel.
    Kernel {
        /// Operator with overload.
        name: Word<'a>,
        /// Arguments.
        args: Vec<At<Literal<'a>>>,
        /// What it writes; `None` if the arguments are the whole stack.
        out: Option<Vec<Word<'a>>>,
    },
    /// Runs a delegate.
    Delegate {
        /// Which one.
        delegate: At<NameOrNumber<'a>>,
        /// Arguments.
        args: Vec<At<Literal<'a>>>,
    },
    /// Copies a value.
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
    /// Name in the text.
    pub name: Word<'a>,
    /// Name of the backend.
    pub backend: Cow<'a, str>,
    /// Payload.
    pub data: Data<'a>,
    /// Options.
    pub compile_specs: Vec<(Cow<'a, str>, Data<'a>)>,
    /// Stays inside the FlatBuffer.
    pub inline: Option<bool>,
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
    /// Bytes behind each used pool.
    pub padding: Option<u64>,
    /// Bytes left free at each pool's start, from pool 1.
    pub reserved: Vec<u64>,
    /// Inputs get no planned memory.
    pub unplanned_inputs: bool,
    /// Outputs get no planned memory.
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
    /// A text for a String, or the name of a payload for a tensor.
    Text(Cow<'a, str>),
    /// A tensor's content, with sizes if they are not the method's.
    Tensor(Option<At<Vec<i32>>>, Data<'a>),
}

/// A keyed blob.
#[derive(Debug)]
pub struct NamedData<'a> {
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

/// Bytes as written.
#[derive(Debug)]
pub struct Data<'a> {
    /// Node.
    pub id: NodeId,
    /// Where from.
    pub source: DataSource<'a>,
    /// Alignment, for named data.
    pub align: Option<u64>,
    /// Element type of numbers that are not a tensor's, and of what a file stores for one, if it is another.
    pub dtype: Option<ScalarType>,
    /// Which copy of equal data this is.
    pub copy: u32,
}

/// Where bytes come from.
#[derive(Debug)]
pub enum DataSource<'a> {
    /// A payload of `data:`; or, for a compile spec, a text.
    Name(Cow<'a, str>),
    /// Numbers, nested as the tensor or flat.
    Numbers(Vec<Node<'a>>),
    /// Bytes.
    Bytes(Vec<u8>),
    /// The same number everywhere, this often if no tensor says how often.
    Fill(NumericValue, Option<u64>),
    /// A progression.
    Iota(NumericValue, NumericValue),
    /// Random numbers.
    Random(u64, RandomKind),
    /// A file.
    File {
        /// Path, relative to the text.
        path: Word<'a>,
        /// First byte.
        offset: u64,
        /// Bytes; `None` for the rest.
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
    /// Whether the bytes are in a file, and may be of another element type than the tensor's.
    pub fn is_stored(&self) -> bool {
        use DataSource::{File, Npy, Ptd, Pte, Safetensors};
        matches!(self, File { .. } | Npy(_) | Safetensors(..) | Ptd(..) | Pte(..))
    }
}

/// Random numbers as written; bounds that are left out depend on the element type.
#[derive(Debug, Clone, Copy)]
pub enum RandomKind {
    /// Evenly between bounds.
    Uniform(Option<NumericValue>, Option<NumericValue>),
    /// This one.
    Fixed(Distribution),
}

/// Layout options as written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// The options.
    pub options: OptionOverrides,
    /// The node of `header`.
    pub header_at: Option<NodeId>,
}
