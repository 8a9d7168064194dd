//! Program model: structs that mirror the FlatBuffers schema, with indices instead of names. An absent list (`None`) is
//! distinct from an empty one. Emitter, reader, printer and validator use it.
//!
//! It has neither names of the YAML nor byte offsets: data are [`Blob`]s, and the `Plan` of `pte-emit` has their
//! offsets.
//!
//! `MethodBuilder` of `pte-emit` and YAML are shorter ways to a program; this is `y = relu(x)` in terms of the schema:
//!
//! ```
//! use pte_model::format::ScalarType;
//! use pte_model::program::{
//!     Args, Chain, ContainerMetadata, EValue, ExecutionPlan, Instruction, Operator, OperatorId, Program, Tensor,
//!     ValueId,
//! };
//!
//! let x = EValue::Tensor(Tensor::new(ScalarType::FLOAT, &[2, 2]));
//! let call = Instruction::KernelCall { op_index: OperatorId(0), args: Some(Args::from(&[0, 1, 1])) };
//! let mut forward = ExecutionPlan::new("forward");
//! forward.container_meta_type = Some(ContainerMetadata::flat(1, 1, false));
//! forward.values = Some(vec![x.clone(), x]);
//! forward.inputs = Some(vec![ValueId(0)]);
//! forward.outputs = Some(vec![ValueId(1)]);
//! forward.chains = Some(vec![Chain::new(vec![call])]);
//! forward.operators = Some(vec![Operator::new("aten::relu.out")]);
//! let program = Program::new(vec![forward]);
//! assert_eq!(program.plans()[0].instructions().count(), 1);
//! assert_eq!((program.tensors().count(), program.delegates().count()), (2, 0));
//! let mut calls = program.plans()[0].instructions_by_chain();
//! assert!(calls.next().is_some_and(|(chain, index, call)| (chain, index) == (0, 0) && call.callee().is_some()));
//! assert_eq!(program.plans()[0].tensors().map(|(_, tensor)| tensor.nbytes()).sum::<Option<u64>>(), Some(32));
//! ```

pub mod attributes;
pub mod element;
mod ids;
pub mod instruction;
mod ints;
mod items;
pub mod memory_plan;
mod newer;
pub mod pools;
pub mod releases;
pub mod tables;
pub mod test_cases;

use std::fmt;

use crate::data::{Blob, BlobId};
pub use crate::format::DimOrder;
use crate::format::ScalarType;
use crate::format::program::KernelType;
pub use crate::format::program::{DeviceType, StorageLayout, TensorDataLocation, TensorShapeDynamism};
use crate::format::table::Union;
pub use crate::format::unknown::{TableStep, UnknownObject, UnknownParts, UnknownTable};
use crate::format::words::words;
pub use ids::{DelegateId, DelegateLocation, OperatorId, ValueId};
pub use instruction::{BranchStep, merged};
pub use instruction::{FieldReference, Instruction, InstructionField, OperandAccess};
pub use ints::{Args, Ints, Sizes};
#[doc(hidden)]
pub use items::ListItems;
pub use memory_plan::MemoryPlan;
#[doc(hidden)]
pub use newer::{NewerParts, NewerSlot};

/// A program: the methods of a model and the data they need (table `Program`).
///
/// A program without methods is a `.ptd`:
///
/// ```
/// use pte_model::data::{Blob, BlobId};
/// use pte_model::format::ScalarType;
/// use pte_model::program::{ExternalData, Program, TensorLayout};
///
/// let mut program = Program::default();
/// let data: BlobId = program.add_blob(Blob::bytes([0, 0, 0, 63, 0, 0, 0, 191]));
/// let mut bias = ExternalData::new("bias", data);
/// bias.tensor_layout = Some(TensorLayout::new(ScalarType::FLOAT, vec![2]));
/// program.external_data.push(bias);
/// assert_eq!(program.blob(data).len(), 8);
/// assert!(program.plans().is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Program {
    /// Schema version. All releases so far write 0; the runtime of ExecuTorch 1.5.1 rejects a program with another
    /// version (rule P-1).
    pub version: u32,
    /// Methods, in the order of the file.
    pub execution_plan: Option<Vec<ExecutionPlan>>,
    /// Keyed blobs for delegates (docs/format.md, "Named data"). An empty list is present in the file, `None` is
    /// absent.
    pub named_data: Option<Vec<NamedData>>,
    /// Keyed blobs and tensors of `.ptd` files that no tensor of a method refers to.
    pub external_data: Vec<ExternalData>,
    /// All data, referred to by [`BlobId`].
    pub blobs: Vec<Blob>,
    /// Parts of a newer schema, which are written again as they are; `None` if there are none.
    #[doc(hidden)]
    pub newer: Option<Box<NewerParts>>,
}

/// A method (table `ExecutionPlan`).
///
/// ```
/// use pte_model::data::Origin;
/// use pte_model::program::{DelegateId, ExecutionPlan, Operator, OperatorId, ValueId};
/// use pte_model::reader;
///
/// let file = Origin::Bytes(pte_model::LINEAR_PTE.into());
/// let program = reader::program::read(&file)?.program;
/// let forward: &ExecutionPlan = &program.plans()[0];
/// let (index, weight) = forward.tensors().next().unwrap();
/// assert_eq!((index, weight.nbytes()), (0, Some(48)));
/// assert_eq!(forward.values()[index].as_tensor(), Some(weight));
/// assert_eq!(forward.is_input().iter().filter(|is_input| **is_input).count(), 1);
/// assert_eq!(forward.value(ValueId::of(index)), Some(&forward.values()[index]));
/// let first: &Operator = forward.operator(OperatorId(0)).unwrap();
/// assert_eq!(first.full_name().as_deref(), Some("aten::permute_copy.out"));
/// assert_eq!(forward.delegate(DelegateId(0)), None);
/// assert!(forward.delegates().is_empty() && forward.instructions().count() == 3);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ExecutionPlan {
    /// Name by which the runtime finds the method.
    pub name: Option<String>,
    /// Structure of the caller's containers before they were flattened.
    pub container_meta_type: Option<ContainerMetadata>,
    /// The values; instructions refer to them by index.
    pub values: Option<Vec<EValue>>,
    /// Indices of the inputs.
    pub inputs: Option<Vec<ValueId>>,
    /// Indices of the outputs.
    pub outputs: Option<Vec<ValueId>>,
    /// The instructions. The exporter writes a single chain (E-3).
    pub chains: Option<Vec<Chain>>,
    /// The operators that instructions refer to by index.
    pub operators: Option<Vec<Operator>>,
    /// The delegates that instructions refer to by index.
    pub delegates: Option<Vec<BackendDelegate>>,
    /// Options of the memory planner.
    pub memory: MemoryRequest,
}

impl ExecutionPlan {
    /// Returns the instructions of all chains, in their order.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.chains.iter().flatten().flat_map(|chain| chain.instructions.iter().flatten())
    }

    /// Returns the instructions of all chains, each with its chain and its index there.
    pub fn instructions_by_chain(&self) -> impl Iterator<Item = (usize, usize, &Instruction)> {
        self.chains.iter().flatten().enumerate().flat_map(|(chain, list)| {
            list.instructions.iter().flatten().enumerate().map(move |(index, call)| (chain, index, call))
        })
    }

    /// Returns, by value, `true` if it is an input. Indices out of range are skipped.
    pub fn is_input(&self) -> Vec<bool> {
        let mut is_input = vec![false; self.values().len()];
        for input in self.inputs.iter().flatten() {
            input.item_mut(&mut is_input).into_iter().for_each(|flag| *flag = true);
        }
        is_input
    }

    /// Returns, by value, `true` if it has content before the first instruction: inputs, values other than tensors, and
    /// tensors for which [`Tensor::has_content`] holds.
    ///
    /// ```
    /// use pte_model::format::ScalarType;
    /// use pte_model::program::{EValue, ExecutionPlan, Tensor};
    ///
    /// let tensor = Tensor::new(ScalarType::FLOAT, &[2]);
    /// assert!(!tensor.has_content(), "neither data nor state");
    /// let values = Some(vec![EValue::Tensor(tensor), EValue::Int(1)]);
    /// let plan = ExecutionPlan { values, ..ExecutionPlan::default() };
    /// assert_eq!(plan.has_content(), [false, true]);
    /// ```
    pub fn has_content(&self) -> Vec<bool> {
        let mut has_content = self.is_input();
        for (content, value) in has_content.iter_mut().zip(self.values()) {
            *content |= value.as_tensor().is_none_or(Tensor::has_content);
        }
        has_content
    }

    /// Returns a value; `None` for an index out of range.
    pub fn value(&self, id: ValueId) -> Option<&EValue> {
        id.item(self.values())
    }

    /// Returns an operator; `None` for an index out of range.
    pub fn operator(&self, id: OperatorId) -> Option<&Operator> {
        id.item(self.operators.as_deref()?)
    }

    /// Returns a delegate; `None` for an index out of range.
    pub fn delegate(&self, id: DelegateId) -> Option<&BackendDelegate> {
        id.item(self.delegates())
    }
}

impl ExecutionPlan {
    /// Returns a method without values and instructions, which the runtime loads: it rejects one without these lists.
    pub fn new(name: impl Into<String>) -> ExecutionPlan {
        ExecutionPlan {
            name: Some(name.into()),
            container_meta_type: Some(ContainerMetadata::flat(0, 0, true)),
            values: Some(Vec::new()),
            inputs: Some(Vec::new()),
            outputs: Some(Vec::new()),
            chains: Some(vec![Chain::new(Vec::new())]),
            operators: Some(Vec::new()),
            delegates: Some(Vec::new()),
            memory: MemoryRequest::default(),
        }
    }
}

impl Default for ExecutionPlan {
    /// Returns [`ExecutionPlan::new`] with the name `forward`.
    fn default() -> ExecutionPlan {
        ExecutionPlan::new("forward")
    }
}

/// Options of the memory planner for a method; the result is a [`MemoryPlan`].
///
/// ```
/// use pte_model::data::Origin;
/// use pte_model::program::{Device, DeviceType, EValue, Memory, MemoryPlanner, NonConstBufferDevice};
/// use pte_model::reader;
///
/// let mut program = reader::program::read(&Origin::Bytes(pte_model::LINEAR_PTE.into()))?.program;
/// let forward = &mut program.execution_plan.as_mut().unwrap()[0];
/// // A file has sizes and offsets, not the options that led to them.
/// assert_eq!(forward.memory.non_const_buffer_sizes, Some(vec![0, 80]));
/// assert_eq!(forward.memory.alignment, None);
///
/// // Plans the memory again: aligned to 64 bytes, in pool 2, on another device.
/// for value in forward.values.iter_mut().flatten() {
///     if let EValue::Tensor(tensor) = value
///         && tensor.memory != Memory::None
///     {
///         tensor.memory = Memory::Auto { pool: Some(2), persistent: false, shared: None };
///     }
/// }
/// let device = Device { device_type: DeviceType::CUDA, index: 0 };
/// forward.memory.non_const_buffer_sizes = None;
/// forward.memory.non_const_buffer_device = Some(vec![NonConstBufferDevice::new(2, device)]);
/// forward.memory.alignment = Some(64);
/// assert_eq!(forward.memory.planner, MemoryPlanner::Greedy);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryRequest {
    /// Sizes of the planned buffers in bytes; index 0 is reserved. `None` if they are computed.
    pub non_const_buffer_sizes: Option<Vec<i64>>,
    /// Devices of the planned buffers; `None` if they are computed from the devices of the tensors.
    pub non_const_buffer_device: Option<Vec<NonConstBufferDevice>>,
    /// Alignment of offsets in bytes; `None` for the exporter's default, which is 16.
    pub alignment: Option<u64>,
    /// Number of bytes that are added to every used buffer; `None` for the exporter's default, which is 64 if an
    /// XNNPACK delegate is called.
    pub padding: Option<u64>,
    /// Algorithm that assigns offsets.
    pub planner: MemoryPlanner,
    /// Bytes reserved at the start of each pool, by pool (docs/format.md, "Submodules").
    pub reserved: Vec<u64>,
    /// Position of the method in the order in which the state that methods share is placed
    /// (docs/format.md, "Shared state"); `None` for its position in the file.
    pub shared_order: Option<u32>,
}

words! {
    /// Algorithm that assigns offsets in planned memory (docs/format.md, "Memory planner").
    ///
    /// ```
    /// use pte_model::program::MemoryPlanner;
    ///
    /// assert_eq!(MemoryPlanner::default(), MemoryPlanner::Greedy);
    /// assert_eq!(MemoryPlanner::ALL.map(MemoryPlanner::word), ["greedy", "naive", "greedy_no_overlap", "minimal"]);
    /// ```
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum MemoryPlanner {
        /// The exporter's default: tensors with disjoint lifetimes share memory, the largest first.
        #[default]
        Greedy "greedy",
        /// No tensors share memory; they are placed in the order of their numbers.
        Naive "naive",
        /// Like `Greedy`, but each object of memory has at most one tensor at a time
        /// (`allow_overlapping_allocations=False`).
        GreedyNoOverlap "greedy_no_overlap",
        /// Not of the exporter: the smallest pools that a search finds (docs/format.md, "Minimal planner").
        Minimal "minimal",
    } fn word;
}

/// Structure of inputs and outputs before they were flattened, as pytree's JSON (table `ContainerMetadata`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerMetadata {
    /// Structure of the inputs.
    pub encoded_inp_str: Option<String>,
    /// Structure of the outputs.
    pub encoded_out_str: Option<String>,
}

impl ContainerMetadata {
    /// Returns the metadata that pytree produces for positional inputs and for one output or a tuple of outputs. A
    /// constant method (`getter`) has no inputs to describe.
    pub fn flat(inputs: usize, outputs: usize, getter: bool) -> ContainerMetadata {
        const LEAF: &str = r#"{"type": null, "context": null, "children_spec": []}"#;
        let tuple = |children: &str| {
            format!(r#"{{"type": "builtins.tuple", "context": "null", "children_spec": [{children}]}}"#)
        };
        let leaves = |count| tuple(&vec![LEAF; count].join(", "));
        let kwargs = r#"{"type": "builtins.dict", "context": "[]", "children_spec": []}"#;
        ContainerMetadata {
            encoded_inp_str: Some(match getter {
                true => String::new(),
                false => format!("[1, {}]", tuple(&format!("{}, {kwargs}", leaves(inputs)))),
            }),
            encoded_out_str: Some(format!("[1, {}]", if outputs == 1 { LEAF.to_owned() } else { leaves(outputs) })),
        }
    }
}

/// A value (table `EValue`, union `KernelTypes`).
///
/// The enum is exhaustive on purpose: a new kind of the schema must be a compile error where values are matched.
///
/// ```
/// use pte_model::program::EValue;
///
/// let value = EValue::IntList(Some(vec![3, 4]));
/// assert_eq!((value.kind(), value.tag()), ("IntList", 7));
/// assert_eq!((value.as_ints(), value.as_tensors(), value.as_tensor()), (&[3, 4][..], &[][..], None));
/// ```
#[derive(Debug, Clone)]
pub enum EValue {
    /// None.
    Null,
    /// An integer. Data types and memory formats are integers, too.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// A floating-point number.
    Double(f64),
    /// A tensor, with or without data.
    Tensor(Tensor),
    /// A string; `None` if the field is absent.
    String(Option<String>),
    /// Indices of Int values (M-7).
    IntList(Option<Vec<i64>>),
    /// Floating-point numbers.
    DoubleList(Option<Vec<f64>>),
    /// Truth values.
    BoolList(Option<Vec<bool>>),
    /// Indices of tensors.
    TensorList(Option<Vec<ValueId>>),
    /// Indices of tensors, with [`ValueId::NONE`] for None.
    OptionalTensorList(Option<Vec<ValueId>>),
    /// A kind of a newer schema, by its tag in the union; [`Program::newer_parts`] have its bytes.
    Unknown(u8),
}

/// A NaN equals one with the same bits: a program equals its copy.
impl PartialEq for EValue {
    fn eq(&self, other: &EValue) -> bool {
        let is_same = |a: &f64, b: &f64| a == b || a.to_bits() == b.to_bits();
        match self {
            EValue::Null => matches!(other, EValue::Null),
            EValue::Int(a) => matches!(other, EValue::Int(b) if a == b),
            EValue::Bool(a) => matches!(other, EValue::Bool(b) if a == b),
            EValue::Double(a) => matches!(other, EValue::Double(b) if is_same(a, b)),
            EValue::Tensor(a) => matches!(other, EValue::Tensor(b) if a == b),
            EValue::String(a) => matches!(other, EValue::String(b) if a == b),
            EValue::IntList(a) => matches!(other, EValue::IntList(b) if a == b),
            EValue::DoubleList(Some(a)) => matches!(other, EValue::DoubleList(Some(b))
                if a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same(a, b))),
            EValue::DoubleList(None) => matches!(other, EValue::DoubleList(None)),
            EValue::BoolList(a) => matches!(other, EValue::BoolList(b) if a == b),
            EValue::TensorList(a) => matches!(other, EValue::TensorList(b) if a == b),
            EValue::OptionalTensorList(a) => matches!(other, EValue::OptionalTensorList(b) if a == b),
            EValue::Unknown(a) => matches!(other, EValue::Unknown(b) if a == b),
        }
    }
}

impl EValue {
    /// Returns the name of the kind in the schema.
    pub fn kind(&self) -> &'static str {
        self.member().map_or("unknown", |member| member.table().name)
    }

    /// Returns the tag in the union `KernelTypes`.
    pub fn tag(&self) -> u8 {
        match self {
            EValue::Unknown(tag) => *tag,
            _ => self.member().map_or(0, Union::tag),
        }
    }

    /// Returns the tensor; `None` for a value of another kind.
    pub fn as_tensor(&self) -> Option<&Tensor> {
        let EValue::Tensor(tensor) = self else { return None };
        Some(tensor)
    }

    /// Returns the tensor, to change it.
    pub fn as_tensor_mut(&mut self) -> Option<&mut Tensor> {
        let EValue::Tensor(tensor) = self else { return None };
        Some(tensor)
    }
}

macro_rules! members {
    ($( $variant:ident = $table:ident $module:ident $field:ident; )*) => {
        impl EValue {
            /// Returns the member of the union; `None` for a kind of a newer schema.
            fn member(&self) -> Option<KernelType> {
                Some(match self {
                    EValue::Null => KernelType::Null,
                    EValue::Tensor(_) => KernelType::Tensor,
                    EValue::Unknown(_) => return None,
                    $( EValue::$variant(_) => KernelType::$variant, )*
                })
            }
        }
    };
}

tables::value_tables!(members);

/// A tensor (table `Tensor`).
///
/// ```
/// use pte_model::format::ScalarType;
/// use pte_model::program::{Device, DimOrder, ExtraTensorInfo, Memory, Tensor, TensorData, TensorDataLocation};
///
/// // An image in channels-last order, of 2 bytes per element.
/// let mut image = Tensor::new(ScalarType::parse("float16").unwrap(), &[1, 3, 8, 8]);
/// image.dim_order = Some(DimOrder::channels_last(4));
/// assert_eq!(image.nbytes(), Some(2 * 3 * 64));
/// assert_eq!(image.device(), Device::CPU);
/// assert_eq!(image.memory, Memory::Auto { pool: None, persistent: false, shared: None });
///
/// // The weights of another file: they need a name, and no planned memory.
/// let mut extra = ExtraTensorInfo::default();
/// extra.fully_qualified_name = Some("conv.weight".to_owned());
/// extra.location = TensorDataLocation::EXTERNAL;
/// let mut weight = Tensor::new(ScalarType::FLOAT, &[4, 3, 3, 3]);
/// weight.data = TensorData::Elsewhere(None);
/// weight.memory = Memory::None;
/// weight.extra_tensor_info = Some(Box::new(extra));
/// assert!(weight.is_external());
/// assert_eq!(weight.name(), Some("conv.weight"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Tensor {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Offset in elements. The runtime supports only 0 (T-1).
    pub storage_offset: i32,
    /// Size of each dimension; its upper bound for a dynamic tensor.
    pub sizes: Option<Sizes>,
    /// Dimensions from the outermost in memory to the innermost.
    pub dim_order: Option<DimOrder>,
    /// Value of `requires_grad` in torch.
    pub requires_grad: bool,
    /// Initial data.
    pub data: TensorData,
    /// Location in planned memory.
    pub memory: Memory,
    /// Storage layout in torch (E-15).
    pub layout: StorageLayout,
    /// Kind of changes that the sizes allow.
    pub shape_dynamism: TensorShapeDynamism,
    /// Optional properties.
    pub extra_tensor_info: Option<Box<ExtraTensorInfo>>,
}

impl Default for Tensor {
    /// Returns a tensor of `uint8` without lists, data and planned memory.
    fn default() -> Tensor {
        Tensor {
            scalar_type: ScalarType::BYTE,
            storage_offset: 0,
            sizes: None,
            dim_order: None,
            requires_grad: false,
            data: TensorData::None,
            memory: Memory::None,
            layout: StorageLayout::STRIDED,
            shape_dynamism: TensorShapeDynamism::STATIC,
            extra_tensor_info: None,
        }
    }
}

impl Tensor {
    /// Returns `true` if it has content before the first instruction that the caller does not set: data, or state that
    /// persists, which has the bytes of the execution before, and zeros in the first one.
    pub fn has_content(&self) -> bool {
        self.data != TensorData::None || matches!(self.memory, Memory::Auto { persistent: true, .. })
    }

    /// Creates a contiguous tensor in planned memory, without data.
    pub fn new(scalar_type: ScalarType, sizes: &[i32]) -> Tensor {
        Tensor {
            scalar_type,
            sizes: Some(sizes.into()),
            dim_order: Some(DimOrder::contiguous(sizes.len())),
            memory: Memory::Auto { pool: None, persistent: false, shared: None },
            ..Tensor::default()
        }
    }

    /// Returns the tensor that the exporter passes for an out that a call does not request (E-7).
    #[doc(hidden)]
    pub fn missing() -> Tensor {
        Tensor { memory: Memory::None, ..Tensor::new(ScalarType::BYTE, &[0]) }
    }

    /// Returns the number of bytes of the tensor: the product of the sizes and the element size. `None` if a size is
    /// negative or absent, the element type is unknown, or the product exceeds `u64` (P-V3, T-12).
    pub fn nbytes(&self) -> Option<u64> {
        nbytes(self.scalar_type, self.sizes.as_deref()?)
    }

    /// Returns the device, which is the CPU by default.
    pub fn device(&self) -> Device {
        self.extra_tensor_info.as_ref().map_or(Device::CPU, |extra| extra.device())
    }

    /// Returns the fully qualified name of a parameter or a buffer of the module, which is also the key of data in a
    /// `.ptd`; `None` without a name.
    pub fn name(&self) -> Option<&str> {
        self.extra_tensor_info.as_ref()?.fully_qualified_name.as_deref()
    }

    /// Returns true for a tensor with planned memory, a name and data. Its initial state is not stored together with
    /// equal ones (E-18).
    #[doc(hidden)]
    pub fn has_lone_state(&self) -> bool {
        self.memory != Memory::None && self.extra_tensor_info.is_some() && matches!(self.data, TensorData::Blob(_))
    }

    /// Returns true if the data are in a `.ptd`.
    pub fn is_external(&self) -> bool {
        self.extra_tensor_info.as_ref().is_some_and(|extra| extra.location == TensorDataLocation::EXTERNAL)
    }
}

/// Maximum number of dimensions of a tensor in the runtime (rules T-8, N-18).
pub const MAX_DIMENSIONS: usize = 16;

/// Returns the number of bytes of a tensor of this type and these sizes; see [`Tensor::nbytes`].
///
/// ```
/// use pte_model::{format::ScalarType, program::nbytes};
///
/// assert_eq!(nbytes(ScalarType::LONG, &[2, 3]), Some(48));
/// assert_eq!(nbytes(ScalarType::LONG, &[2, -1]), None);
/// ```
pub fn nbytes(scalar_type: ScalarType, sizes: &[i32]) -> Option<u64> {
    let element = scalar_type.info()?.size;
    sizes.iter().try_fold(element, |product, size| product.checked_mul(u64::try_from(*size).ok()?))
}

/// Initial data of a tensor. The enum is exhaustive on purpose, like [`EValue`].
#[derive(Debug, Clone, PartialEq)]
pub enum TensorData {
    /// No data: the runtime or the caller writes the tensor (`data_buffer_idx` 0).
    None,
    /// A constant, or the initial state of a mutable tensor if it has planned memory.
    Blob(BlobId),
    /// Data in a `.ptd` that is not written with the program. The number is `data_buffer_idx`, which the runtime
    /// ignores (E-20); `None` to number the data like the exporter does if all data are different.
    Elsewhere(Option<u32>),
}

/// Location of a tensor in planned memory. The enum is exhaustive on purpose, like [`EValue`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// No planned memory: a constant, or memory of the caller.
    None,
    /// Location that the planner assigns.
    Auto {
        /// Pool (`memory_id`), from 1; `None` for the first pool of the device.
        pool: Option<u32>,
        /// The tensor keeps its bytes from one execution to the next: a mutable buffer (docs/format.md, "Lifetimes").
        persistent: bool,
        /// Number of the state if methods share it in a pool other than 1. Tensors with the same number have the same
        /// location in all methods (docs/format.md, "Shared state").
        shared: Option<u32>,
    },
    /// Memory of another tensor: this tensor is a view of it.
    View {
        /// Index of the other tensor, which is not a view.
        base: u32,
    },
    /// Explicit location.
    At {
        /// Pool (`memory_id`), from 1.
        pool: u32,
        /// Offset in the pool in bytes.
        offset: u64,
    },
}

/// Device of a tensor or of a planned buffer. As text, it is `cpu` or `cuda:1`; an unknown type is a number.
///
/// ```
/// use pte_model::program::{Device, DeviceType};
///
/// assert_eq!(Device::default(), Device::CPU);
/// assert_eq!(Device { device_type: DeviceType::CUDA, index: 1 }.to_string(), "cuda:1");
/// assert_eq!(Device { device_type: DeviceType(7), index: 0 }.to_string(), "7");
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device {
    /// Type.
    pub device_type: DeviceType,
    /// Number of the device among those of its type, from 0.
    pub index: i8,
}

impl Device {
    /// The CPU with index 0, the default of all tensors.
    pub const CPU: Device = Device { device_type: DeviceType::CPU, index: 0 };
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            0 => self.device_type.fmt(f),
            index => write!(f, "{}:{index}", self.device_type),
        }
    }
}

/// Optional properties of a tensor (table `ExtraTensorInfo`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtraTensorInfo {
    /// Index that the runtime ignores (docs/format.md, "Location of tensor data").
    pub mutable_data_segments_idx: u64,
    /// Name in the module, which is also the key of external data.
    pub fully_qualified_name: Option<String>,
    /// Location of the data.
    pub location: TensorDataLocation,
    /// Type of the device that the memory is on.
    pub device_type: DeviceType,
    /// Number of this device among those of its type.
    pub device_index: i8,
    /// Tag of the `.ptd` with the data; `None` for the default one. The tag is not stored in the `.pte`.
    pub tag: Option<String>,
}

impl ExtraTensorInfo {
    /// Returns the device that the memory is on.
    pub fn device(&self) -> Device {
        Device { device_type: self.device_type, index: self.device_index }
    }
}

/// Name of an operator (table `Operator`).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Operator {
    /// Name without the overload, such as `aten::add`.
    pub name: Option<String>,
    /// Overload, such as `out`; empty for the default overload.
    pub overload: Option<String>,
}

impl Operator {
    /// Returns the operator of a name with overload as YAML states it: `aten::add.out`. Without a dot the overload is
    /// empty.
    pub fn new(full_name: &str) -> Operator {
        let (name, overload) = full_name.rsplit_once('.').unwrap_or((full_name, ""));
        Operator { name: Some(name.to_owned()), overload: Some(overload.to_owned()) }
    }

    /// Returns the name with the overload, as in YAML: `aten::add.out`. `None` if the name is absent.
    pub fn full_name(&self) -> Option<String> {
        let name = self.name.as_deref()?;
        Some(match self.overload.as_deref() {
            None | Some("") => name.to_owned(),
            Some(overload) => format!("{name}.{overload}"),
        })
    }
}

/// A list of instructions (table `Chain`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chain {
    /// Ignored by the runtime (M-24).
    pub inputs: Option<Vec<ValueId>>,
    /// Ignored by the runtime (M-24).
    pub outputs: Option<Vec<ValueId>>,
    /// Instructions, in the order of execution without jumps.
    pub instructions: Option<Vec<Instruction>>,
    /// Stack trace of each instruction, from the outermost call.
    pub stacktrace: Option<Vec<Option<Vec<StackFrame>>>>,
}

impl Chain {
    /// Returns a chain as the exporter writes it without stack traces: its inputs and outputs are empty lists.
    pub fn new(instructions: Vec<Instruction>) -> Chain {
        let empty = || Some(Vec::new());
        Chain { inputs: empty(), outputs: empty(), instructions: Some(instructions), stacktrace: None }
    }
}

/// One line of a stack trace (table `Frame`).
///
/// ```
/// use pte_model::program::{Chain, Instruction, StackFrame, ValueId};
///
/// let mut frame = StackFrame::default();
/// frame.filename = Some("model.py".to_owned());
/// frame.lineno = 12;
/// frame.name = Some("forward".to_owned());
/// frame.context = Some("return x".to_owned());
/// let mut chain = Chain::new(vec![Instruction::MoveCall { move_from: ValueId(0), move_to: ValueId(1) }]);
/// chain.stacktrace = Some(vec![Some(vec![frame])]);
/// assert_eq!(chain.stacktrace.map(|traces| traces.len()), chain.instructions.map(|list| list.len()));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct StackFrame {
    /// Source file.
    pub filename: Option<String>,
    /// Line number in the file.
    pub lineno: i32,
    /// Name of the function.
    pub name: Option<String>,
    /// Source of the line.
    pub context: Option<String>,
}

/// A delegate (table `BackendDelegate`).
///
/// ```
/// use pte_model::data::Blob;
/// use pte_model::program::{BackendDelegate, CompileSpec, NamedData, Program};
///
/// let mut program = Program::default();
/// let mut delegate = BackendDelegate::new("MyBackend", program.add_blob(Blob::bytes(*b"compiled")));
/// delegate.compile_specs = Some(vec![CompileSpec::new("threads", vec![4])]);
/// // Data that the backend finds by their key.
/// let data = program.add_blob(Blob::bytes([0; 1024]));
/// let mut weights = NamedData::new("weights", data);
/// weights.alignment = 64;
/// program.named_data = Some(vec![weights]);
/// assert_ne!(delegate.processed, data);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct BackendDelegate {
    /// Name of the backend.
    pub id: Option<String>,
    /// Payload.
    pub processed: BlobId,
    /// `true` to store the payload inside the FlatBuffer; `None` for the layout option `delegates`.
    pub inline: Option<bool>,
    /// Options for the backend.
    pub compile_specs: Option<Vec<CompileSpec>>,
}

impl BackendDelegate {
    /// Returns the keys and the values of the compile specs; an absent one is empty.
    #[doc(hidden)]
    pub fn specs(&self) -> Vec<(String, Vec<u8>)> {
        let specs = self.compile_specs.iter().flatten();
        specs.map(|spec| (spec.key.clone().unwrap_or_default(), spec.value.clone().unwrap_or_default())).collect()
    }

    /// Returns a delegate without options, whose payload is stored as the layout option `delegates` states.
    pub fn new(id: impl Into<String>, processed: BlobId) -> BackendDelegate {
        BackendDelegate { id: Some(id.into()), processed, inline: None, compile_specs: Some(Vec::new()) }
    }
}

/// An option for a backend (table `CompileSpec`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompileSpec {
    /// Name.
    pub key: Option<String>,
    /// Bytes, interpreted by the backend.
    pub value: Option<Vec<u8>>,
}

impl CompileSpec {
    /// Returns an option.
    pub fn new(key: impl Into<String>, value: Vec<u8>) -> CompileSpec {
        CompileSpec { key: Some(key.into()), value: Some(value) }
    }
}

/// Device of one planned buffer (table `NonConstBufferDevice`).
///
/// ```
/// use pte_model::program::{Device, DeviceType, NonConstBufferDevice};
///
/// let cuda = Device { device_type: DeviceType::CUDA, index: 0 };
/// assert_eq!(NonConstBufferDevice::new(1, cuda).device(), cuda);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NonConstBufferDevice {
    /// Index into `non_const_buffer_sizes`.
    pub buffer_idx: i32,
    /// Type of the device that the buffer is on.
    pub device_type: DeviceType,
    /// Number of this device among those of its type.
    pub device_index: i8,
}

impl NonConstBufferDevice {
    /// Returns the entry of a buffer.
    pub fn new(buffer_idx: i32, device: Device) -> NonConstBufferDevice {
        let Device { device_type, index } = device;
        NonConstBufferDevice { buffer_idx, device_type, device_index: index }
    }

    /// Returns the device that the buffer is on.
    pub fn device(&self) -> Device {
        Device { device_type: self.device_type, index: self.device_index }
    }
}

/// Prefix of the keys of named data that are metadata.
pub const METADATA_PREFIX: &str = "metadata.";

/// A keyed blob of a `.pte` (table `NamedData`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedData {
    /// Key.
    pub key: String,
    /// Bytes.
    pub data: BlobId,
    /// Minimum alignment of the segment in bytes; 1 for none.
    pub alignment: u64,
}

impl NamedData {
    /// Returns an entry without a minimum alignment.
    pub fn new(key: impl Into<String>, data: BlobId) -> NamedData {
        NamedData { key: key.into(), data, alignment: 1 }
    }
}

/// A keyed blob or tensor of a `.ptd` to which no tensor of a method refers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalData {
    /// Key.
    pub key: String,
    /// Tag of the `.ptd`; `None` for the default one.
    pub tag: Option<String>,
    /// Bytes.
    pub data: BlobId,
    /// Minimum alignment of the segment in bytes; 1 for none.
    pub alignment: u64,
    /// Type and shape, if the data are a tensor.
    pub tensor_layout: Option<TensorLayout>,
}

impl ExternalData {
    /// Returns a blob for the default `.ptd`, without a minimum alignment.
    pub fn new(key: impl Into<String>, data: BlobId) -> ExternalData {
        ExternalData { key: key.into(), tag: None, data, alignment: 1, tensor_layout: None }
    }
}

/// Type and shape of a tensor's data (table `TensorLayout` of `flat_tensor.fbs`).
///
/// ```
/// use pte_model::format::ScalarType;
/// use pte_model::program::{Tensor, TensorLayout};
///
/// let tensor = Tensor::new(ScalarType::FLOAT, &[2, 3]);
/// assert_eq!(TensorLayout::of(&tensor), TensorLayout::new(ScalarType::FLOAT, vec![2, 3]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorLayout {
    /// Element type.
    pub scalar_type: ScalarType,
    /// Size of each dimension.
    pub sizes: Vec<i32>,
    /// Dimensions from the outermost in memory to the innermost.
    pub dim_order: DimOrder,
}

impl TensorLayout {
    /// Returns the layout of contiguous data.
    pub fn new(scalar_type: ScalarType, sizes: Vec<i32>) -> TensorLayout {
        let dim_order = DimOrder::contiguous(sizes.len());
        TensorLayout { scalar_type, sizes, dim_order }
    }

    /// Returns type and shape of a tensor; lists that it lacks are empty.
    pub fn of(tensor: &Tensor) -> TensorLayout {
        TensorLayout {
            scalar_type: tensor.scalar_type,
            sizes: tensor.sizes.as_deref().unwrap_or_default().to_vec(),
            dim_order: tensor.dim_order.clone().unwrap_or_default(),
        }
    }
}

impl Program {
    /// Returns a program of these methods, without data.
    pub fn new(methods: Vec<ExecutionPlan>) -> Program {
        Program { execution_plan: Some(methods), ..Program::default() }
    }

    /// Adds a blob and returns its id.
    pub fn add_blob(&mut self, blob: Blob) -> BlobId {
        self.blobs.push(blob);
        BlobId(u32::try_from(self.blobs.len() - 1).expect("fewer than 2^32 blobs"))
    }

    /// Returns the blob with an id.
    ///
    /// # Panics
    /// The program has no blob with this id.
    pub fn blob(&self, id: BlobId) -> &Blob {
        &self.blobs[id.0 as usize]
    }

    /// Returns the methods; an empty slice if the list is absent.
    pub fn plans(&self) -> &[ExecutionPlan] {
        self.execution_plan.as_deref().unwrap_or_default()
    }

    /// Returns the index of the method of a name; without a name, of `forward`, or of the only method that computes.
    ///
    /// ```
    /// use pte_model::program::{ExecutionPlan, Program};
    ///
    /// let plan = |name: &str| ExecutionPlan { name: Some(name.to_owned()), ..ExecutionPlan::default() };
    /// let program = Program { execution_plan: Some(vec![plan("get_n"), plan("forward")]), ..Program::default() };
    /// let found = [None, Some("get_n"), Some("none")].map(|name| program.method_index(name));
    /// assert_eq!(found, [Some(1), Some(0), None]);
    /// ```
    pub fn method_index(&self, name: Option<&str>) -> Option<usize> {
        let of_name = |name: &str| self.plans().iter().position(|plan| plan.name.as_deref() == Some(name));
        match name {
            Some(name) => of_name(name),
            None => of_name("forward").or_else(|| {
                let computes = |(_, plan): &(usize, &ExecutionPlan)| plan.instructions().next().is_some();
                let mut computing = self.plans().iter().enumerate().filter(computes);
                computing.next().filter(|_| computing.next().is_none()).map(|(index, _)| index)
            }),
        }
    }

    /// Returns the methods, to change them.
    ///
    /// ```
    /// use pte_model::format::ScalarType;
    /// use pte_model::program::{EValue, ExecutionPlan, Program, Tensor};
    ///
    /// let mut program = Program::new(vec![ExecutionPlan::new("forward")]);
    /// let plan = &mut program.plans_mut()[0];
    /// plan.values = Some(vec![EValue::Tensor(Tensor::new(ScalarType::FLOAT, &[2])), EValue::Double(f64::NAN)]);
    /// plan.tensors_mut().for_each(|(_, tensor)| tensor.requires_grad = true);
    /// assert!(plan.tensor_mut(0).is_some_and(|tensor| tensor.requires_grad));
    /// assert!(plan.values.as_mut().unwrap()[1].as_tensor_mut().is_none());
    /// assert_eq!(plan.instructions_mut().count(), 0);
    /// assert_eq!(program, program.clone());
    /// ```
    pub fn plans_mut(&mut self) -> &mut [ExecutionPlan] {
        self.execution_plan.as_deref_mut().unwrap_or_default()
    }

    /// Returns the tensors of all methods, each with the indices of its method and its value.
    pub fn tensors(&self) -> impl Iterator<Item = (usize, usize, &Tensor)> {
        let methods = self.plans().iter().enumerate();
        methods.flat_map(|(method, plan)| plan.tensors().map(move |(value, tensor)| (method, value, tensor)))
    }

    /// Returns the delegates of all methods, each with the indices of its method and of itself.
    pub fn delegates(&self) -> impl Iterator<Item = (usize, usize, &BackendDelegate)> {
        let methods = self.plans().iter().enumerate();
        methods.flat_map(|(method, plan)| {
            plan.delegates().iter().enumerate().map(move |(index, delegate)| (method, index, delegate))
        })
    }

    /// Returns the delegate at a location; `None` if an index is out of range.
    ///
    /// ```
    /// use pte_model::program::{DelegateLocation, Program};
    ///
    /// assert_eq!(Program::default().delegate(DelegateLocation { method: 0, delegate: 0 }), None);
    /// ```
    pub fn delegate(&self, at: DelegateLocation) -> Option<&BackendDelegate> {
        self.plans().get(at.method)?.delegates().get(at.delegate)
    }

    /// Returns the total size of all compile specs in bytes.
    #[doc(hidden)]
    pub fn compile_spec_size(&self) -> u64 {
        let delegates = self.plans().iter().flat_map(ExecutionPlan::delegates);
        let specs = delegates.flat_map(|delegate| delegate.compile_specs.iter().flatten());
        specs.filter_map(|spec| spec.value.as_ref()).map(|value| value.len() as u64).fold(0, u64::saturating_add)
    }
}

impl ExecutionPlan {
    /// Returns the values; an empty slice if the list is absent.
    pub fn values(&self) -> &[EValue] {
        self.values.as_deref().unwrap_or_default()
    }

    /// Returns the tensors with their indices.
    pub fn tensors(&self) -> impl Iterator<Item = (usize, &Tensor)> {
        self.values().iter().enumerate().filter_map(|(index, value)| Some((index, value.as_tensor()?)))
    }

    /// Returns the tensors with their indices, to change them.
    pub fn tensors_mut(&mut self) -> impl Iterator<Item = (usize, &mut Tensor)> {
        let values = self.values.iter_mut().flatten().enumerate();
        values.filter_map(|(index, value)| Some((index, value.as_tensor_mut()?)))
    }

    /// Returns the tensor with an index, to change it.
    pub fn tensor_mut(&mut self, index: usize) -> Option<&mut Tensor> {
        self.values.as_mut()?.get_mut(index)?.as_tensor_mut()
    }

    /// Returns the instructions of all chains, to change them.
    pub fn instructions_mut(&mut self) -> impl Iterator<Item = &mut Instruction> {
        self.chains.iter_mut().flatten().flat_map(|chain| chain.instructions.iter_mut().flatten())
    }

    /// Returns the delegates; an empty slice if the list is absent.
    pub fn delegates(&self) -> &[BackendDelegate] {
        self.delegates.as_deref().unwrap_or_default()
    }
}
