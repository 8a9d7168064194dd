//! The document as parsed: names, literals, optional keys, each part with the id of its node.
//!
//! The structs of maps are expanded from the rows in [`super::grammar`]. Names are not looked up and defaults are not
//! computed here. [`super::decode`] builds a document, [`super::resolve`] resolves it.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::grammar::grammar;
use crate::ir::NodeDiagnostic;
use crate::layout::options::LayoutOptions;
use crate::overrides::OverrideValue;
use pte_model::data::number::NumericValue;
use pte_model::format::path::FieldPath;
use pte_model::format::program::InstructionType;
use pte_model::format::{DimOrder, ScalarType};
use pte_model::program::instruction::FieldRole;
use pte_model::program::{ContainerMetadata, Device, EValue, MemoryPlanner, StackFrame};
use pte_payload::flat::FlatWriter;
use pte_releases::Release;
use pte_xnnpack::model::NodeOperation;
use pte_yaml::tree::{NodeId, SourceNode};

/// A value with the id of its node.
#[derive(Debug, Clone, PartialEq)]
pub struct At<T> {
    /// Id of the node.
    pub id: NodeId,
    /// Value that was parsed at the position.
    pub value: T,
}

/// A value that is not in a source.
impl<T> From<T> for At<T> {
    fn from(value: T) -> At<T> {
        At { id: NodeId::default(), value }
    }
}

impl<'a> From<&'a str> for Word<'a> {
    fn from(text: &'a str) -> Word<'a> {
        Cow::Borrowed(text).into()
    }
}

/// A string with the id of its node.
pub type Word<'a> = At<Cow<'a, str>>;

macro_rules! structs {
    ($( $table:ident = $module:ident $doc:literal required $required:tt one of $one_of:tt $(or $or:tt)? => $struct:tt $rows:tt )*) => {
        $( structs!(@ $doc $struct $rows); )*
    };
    (@ $doc:literal [node #[$attribute:meta] $name:ident $(<$life:lifetime>)? $({ $( $extra:ident: $extra_type:ty ),* })?] {
        $( $field:ident $(($key:literal))? : $form:expr $(=> $type:ty $(as $decoder:ident)? $(= $default:literal)? $(: $what:literal)?)?, $key_doc:literal; )*
    }) => {
        #[doc = $doc]
        #[$attribute]
        #[allow(missing_docs)] // The fields that are no keys.
        pub struct $name $(<$life>)? {
            $($( pub $extra: $extra_type, )*)?
            $($( #[doc = $key_doc] pub $field: $type, )?)*
        }
    };
    (@ $doc:literal [$(model $name:ident)?] $rows:tt) => {};
}

grammar!(structs);

/// An override of a field, as parsed.
#[derive(Debug)]
pub enum OverrideSource<'a> {
    /// Content that the document has.
    Value(OverrideValue),
    /// Bytes.
    Bytes(Data<'a>),
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

impl<'a> Declaration<'a> {
    /// The tensor; `None` of a literal.
    pub fn tensor(&self) -> Option<&ParsedTensor<'a>> {
        match &self.value {
            Declared::Tensor(tensor) => Some(tensor),
            Declared::Other(_) => None,
        }
    }
}

impl<'a> Method<'a> {
    /// What the instructions of all chains do.
    pub fn actions(&self) -> impl Iterator<Item = &Action<'a>> {
        let instructions = self.chains.iter().flat_map(|chain| &chain.instructions);
        instructions.filter_map(|instruction| instruction.action.as_ref())
    }
}

impl ParsedTensor<'_> {
    /// Returns true if the tensor has content, here or in a `.ptd`, that nothing writes.
    pub fn is_constant(&self) -> bool {
        (self.data.is_some() || self.external.is_some()) && !self.mutable
    }
}

/// Tensor or literal of a declaration.
#[derive(Debug)]
pub enum Declared<'a> {
    /// A declared tensor.
    Tensor(Box<ParsedTensor<'a>>),
    /// A literal, such as a number or a list.
    Other(At<Literal<'a>>),
}

/// Placement in planned memory, as parsed.
#[derive(Debug, Clone, Copy)]
pub enum MemoryPlacement {
    /// In a pool that the memory planner chooses.
    Auto,
    /// Not in planned memory.
    None,
    /// In a pool, at an offset if given.
    In(ParsedPlacement),
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
    /// A list of an explicit kind.
    Typed(ListKind, Vec<At<Literal<'a>>>),
    /// The value of this index, unchecked.
    Index(i32),
    /// A value of a newer schema, by its number in the union.
    Unknown(u8),
}

impl Literal<'_> {
    /// The value of a literal of any kind but lists, words and references to values.
    pub fn scalar(&self) -> Option<EValue> {
        Some(match self {
            Literal::Null => EValue::Null,
            Literal::Int(n) | Literal::MemoryFormat(n) => EValue::Int(*n),
            Literal::Dtype(dtype) => EValue::Int(dtype.0.into()),
            Literal::Double(x) => EValue::Double(*x),
            Literal::Bool(b) => EValue::Bool(*b),
            Literal::String(text) => EValue::String(Some(text.to_string())),
            Literal::Unknown(tag) => EValue::Unknown(*tag),
            Literal::Word(_) | Literal::List(_) | Literal::Typed(..) | Literal::Index(_) => return None,
        })
    }
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

/// Name of an out of a kernel that the call does not request. No value has this name.
pub const MISSING_OUT: &str = "\0";

/// An entry under `instructions`.
#[derive(Debug)]
pub struct ParsedInstruction<'a> {
    /// Label, for jumps.
    pub label: Option<Word<'a>>,
    /// Stack trace.
    pub stacktrace: Option<Vec<StackFrame>>,
    /// Action; `None` for a label alone.
    pub action: Option<Action<'a>>,
}

/// Operand of an instruction that is not a call: its role, and a value, or the label or the number of a destination.
pub type Operand<'a> = (FieldRole, At<Literal<'a>>);

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
    /// An instruction that is not a call, with its operands in the order of its fields.
    Plain(InstructionType, Vec<Operand<'a>>),
    /// An instruction of a newer schema, by its number in the union.
    Unknown(At<u8>),
    /// Fixes the position of a view; emits nothing.
    View {
        /// The tensor whose memory the view shares.
        base: Word<'a>,
        /// Name of the view.
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
        !matches!(self, Action::View { .. } | Action::Value(_))
    }

    /// The names in `out` of a kernel call; none of any other instruction.
    pub fn outs(&self) -> &[Word<'a>] {
        let Action::Kernel { out, .. } = self else { return &[] };
        out.as_deref().unwrap_or_default()
    }

    /// Returns the operand with a role of an instruction that is not a call.
    pub(crate) fn operand(&self, role: FieldRole) -> Option<&At<Literal<'a>>> {
        let Action::Plain(_, operands) = self else { return None };
        operands.iter().find(|(other, _)| *other == role).map(|(_, operand)| operand)
    }

    /// The node to which messages about the action as a whole refer.
    pub fn node(&self) -> NodeId {
        match self {
            Action::Kernel { name, .. } | Action::Value(name) => name.id,
            Action::Delegate { delegate, .. } => delegate.id,
            Action::Plain(_, operands) => operands.last().map_or(NodeId::default(), |(_, operand)| operand.id),
            Action::Unknown(tag) => tag.id,
            Action::View { out, .. } => out.id,
        }
    }
}

/// A name, which is checked, or a number, which is not.
#[derive(Debug, Clone, PartialEq)]
pub enum NameOrNumber<'a> {
    /// A name.
    Name(Cow<'a, str>),
    /// A number, also one without a name.
    Number(i32),
}

/// Payload of a delegate, as parsed.
#[derive(Debug)]
pub enum ParsedPayload<'a> {
    /// Bytes.
    Data(Data<'a>),
    /// Graph of a delegate, which is encoded as its payload.
    Graph(Box<ParsedGraph<'a>>),
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

/// A value of a test.
#[derive(Debug)]
pub enum TestValue<'a> {
    /// None.
    Null,
    /// A number that all elements have.
    Number(NumericValue),
    /// A string for a String, or the name of a payload for a tensor.
    Text(Cow<'a, str>),
    /// A tensor's content, with sizes if they differ from the method's.
    Tensor(TestTensor<'a>),
}

impl<'a> Data<'a> {
    /// Creates data with a source only.
    pub fn new(id: NodeId, source: DataSource<'a>) -> Data<'a> {
        Data { id, source, align: None, dtype: None, copy: 0 }
    }
}

/// Data that are not in a source.
impl<'a> From<DataSource<'a>> for Data<'a> {
    fn from(source: DataSource<'a>) -> Data<'a> {
        Data::new(NodeId::default(), source)
    }
}

/// Source of bytes.
#[derive(Debug)]
pub enum DataSource<'a> {
    /// A payload of `data:`; or, for a compile spec, a string.
    Name(Cow<'a, str>),
    /// Numbers, nested as the tensor or flat.
    Numbers(Vec<SourceNode<'a>>),
    /// Bytes.
    Bytes(Arc<[u8]>),
    /// The bytes of a string.
    Text(Cow<'a, str>),
    /// A number, repeated; the count is given if there is no tensor.
    Fill(NumericValue, Option<u64>),
    /// Start and step of an arithmetic progression.
    Iota(NumericValue, NumericValue),
    /// Random numbers.
    Random(u64, RandomKind),
    /// Bytes or a range of bytes of a file.
    File {
        /// Path, relative to the YAML file.
        path: Word<'a>,
        /// First byte; `None` for 0.
        offset: Option<u64>,
        /// Number of bytes. `None` means those of the tensor if there are an offset and a tensor, otherwise the rest of
        /// the file.
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
    /// A FlatBuffer as text.
    FlatBuffer(Box<ParsedFlatBuffer<'a>>),
}

/// A FlatBuffer as text.
#[derive(Debug)]
pub struct ParsedFlatBuffer<'a> {
    /// Name of a schema, or path of a `.bfbs` file.
    pub schema: Word<'a>,
    /// The root table.
    pub root: SourceNode<'a>,
    /// Maps of the tree that may be data, with their errors: only the schema says which of them are.
    pub data: HashMap<NodeId, (Option<Data<'a>>, Vec<NodeDiagnostic>)>,
    /// Bytes after the FlatBuffer.
    pub constants: Option<Data<'a>>,
    /// False without the header of the format.
    pub header: bool,
    /// Order of the parts; `None` for that of the format.
    pub writer: Option<FlatWriter>,
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
    /// Normal, of this mean and standard deviation.
    Normal(f64, f64),
}

/// Layout options as parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    /// Options that the source states.
    pub options: LayoutOptions,
    /// The nodes of the options that are stated, by name.
    pub nodes: BTreeMap<&'static str, NodeId>,
}
